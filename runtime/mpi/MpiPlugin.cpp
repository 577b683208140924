//===- MpiPlugin.cpp - MPI, by the headers of one of its libraries --------===//
//
// Built once against each. Where its headers are missing, the plug-in has
// nothing to export, and who loads it says so.
//
//===----------------------------------------------------------------------===//

#include "runtime/mpi/MpiLibrary.h"

#if __has_include(<mpi.h>)
#include <cstring>
#include <mpi.h>
#include <stdexcept>
#include <vector>

using namespace dist;

static void check(int status, const char *what) {
  if (status == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error(std::string("MPI: ") + what + ": " + text);
}

static int64_t numberOf(MPI_Request request) {
  int64_t number = 0;
  static_assert(sizeof request <= sizeof number);
  std::memcpy(&number, &request, sizeof request);
  return number;
}

/// MPI has no 16-bit floats.
static MPI_Datatype typeOf(dist_dtype dtype) {
  switch (dtype) {
  case DIST_F64:
    return MPI_DOUBLE;
  case DIST_F32:
    return MPI_FLOAT;
  case DIST_I64:
    return MPI_INT64_T;
  case DIST_I32:
    return MPI_INT32_T;
  case DIST_I16:
    return MPI_INT16_T;
  case DIST_I8:
    return MPI_INT8_T;
  case DIST_U64:
    return MPI_UINT64_T;
  case DIST_U32:
    return MPI_UINT32_T;
  case DIST_U16:
    return MPI_UINT16_T;
  case DIST_U8:
  case DIST_I1:
    return MPI_UINT8_T;
  case DIST_F16:
  case DIST_BF16:
    break;
  }
  return MPI_DATATYPE_NULL;
}

/// Of floats it has no maximum that is NaN where an operand is. Sums of 8 and
/// 16 bits wrap in MPICH and are clamped by Open MPI 4.1. Booleans are bytes
/// that are 0 or 1.
static MPI_Op operationOf(dist_dtype dtype, dist_op op) {
  bool isBool = dtype == DIST_I1,
       isFloat = dtype == DIST_F64 || dtype == DIST_F32,
       isShort = dtype == DIST_I16 || dtype == DIST_I8 || dtype == DIST_U16 ||
                 dtype == DIST_U8;
  switch (op) {
  case DIST_SUM:
    return isBool ? MPI_BXOR : isShort ? MPI_OP_NULL : MPI_SUM;
  case DIST_PROD:
    return isBool ? MPI_BAND : isShort ? MPI_OP_NULL : MPI_PROD;
  case DIST_MAX:
    return isFloat ? MPI_OP_NULL : isBool ? MPI_BOR : MPI_MAX;
  case DIST_MIN:
    return isFloat ? MPI_OP_NULL : isBool ? MPI_BAND : MPI_MIN;
  case DIST_AND:
    return isFloat ? MPI_OP_NULL : MPI_BAND;
  case DIST_OR:
    return isFloat ? MPI_OP_NULL : MPI_BOR;
  }
  return MPI_OP_NULL;
}

namespace {

class Library final : public MpiLibrary {
public:
  Library() {
    int provided = 0, isThere = 0;
    MPI_Initialized(&isThere);
    if (!isThere)
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided),
            "MPI_Init_thread");
    else
      MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE)
      throw std::runtime_error("this MPI library was built without "
                               "MPI_THREAD_MULTIPLE, which streams need");
    // Messages of this project do not meet those of anybody else.
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN),
          "MPI_Comm_set_errhandler");
    MPI_Comm_rank(world, &ownRank);
    MPI_Comm_size(world, &numRanks);
    MPI_Comm host;
    check(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                              &host),
          "MPI_Comm_split_type");
    MPI_Comm_size(host, &numOfHost);
    MPI_Comm_rank(host, &ownOfHost);
    MPI_Comm_free(&host);
  }

  int64_t rank() const override { return ownRank; }
  int64_t size() const override { return numRanks; }
  int64_t sizeOfHost() const override { return numOfHost; }
  int64_t rankOfHost() const override { return ownOfHost; }

  int64_t send(int64_t rank, int32_t tag, const void *data,
               int64_t bytes) override {
    MPI_Request request;
    check(
        MPI_Isend(data, int(bytes), MPI_BYTE, int(rank), tag, world, &request),
        "MPI_Isend");
    return numberOf(request);
  }
  int64_t receive(int64_t rank, int32_t tag, void *data,
                  int64_t bytes) override {
    MPI_Request request;
    check(
        MPI_Irecv(data, int(bytes), MPI_BYTE, int(rank), tag, world, &request),
        "MPI_Irecv");
    return numberOf(request);
  }
  bool test(int64_t number) override {
    MPI_Request request;
    std::memcpy(&request, &number, sizeof request);
    int isDone = 0;
    check(MPI_Test(&request, &isDone, MPI_STATUS_IGNORE), "MPI_Test");
    return isDone;
  }

  int64_t split(int64_t group, int64_t place) override {
    MPI_Comm comm;
    check(MPI_Comm_split(world, int(group), int(place), &comm),
          "MPI_Comm_split");
    comms.push_back(comm);
    return comms.size() - 1;
  }
  bool canReduce(dist_dtype dtype, dist_op op) const override {
    return typeOf(dtype) != MPI_DATATYPE_NULL &&
           operationOf(dtype, op) != MPI_OP_NULL;
  }
  int64_t allReduce(int64_t comm, dist_dtype dtype, dist_op op, const void *in,
                    void *out, int64_t count) override {
    MPI_Request request;
    check(MPI_Iallreduce(in == out ? MPI_IN_PLACE : in, out, int(count),
                         typeOf(dtype), operationOf(dtype, op), comms.at(comm),
                         &request),
          "MPI_Iallreduce");
    return numberOf(request);
  }
  int64_t reduceScatter(int64_t comm, dist_dtype dtype, dist_op op,
                        const void *in, void *out,
                        const int32_t *counts) override {
    MPI_Request request;
    check(MPI_Ireduce_scatter(in, out, counts, typeOf(dtype),
                              operationOf(dtype, op), comms.at(comm), &request),
          "MPI_Ireduce_scatter");
    return numberOf(request);
  }

  void broadcast(void *data, int64_t bytes) override {
    check(MPI_Bcast(data, int(bytes), MPI_BYTE, 0, world), "MPI_Bcast");
  }
  void finalize() override { check(MPI_Finalize(), "MPI_Finalize"); }

private:
  MPI_Comm world;
  /// Those of `split`.
  std::vector<MPI_Comm> comms;
  int ownRank = 0, numRanks = 1, numOfHost = 1, ownOfHost = 0;
};

} // namespace

extern "C" __attribute__((visibility("default"))) MpiLibrary *makeMpiLibrary();

MpiLibrary *makeMpiLibrary() { return new Library(); }
#endif
