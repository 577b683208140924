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
    MPI_Comm_free(&host);
  }

  int64_t rank() const override { return ownRank; }
  int64_t size() const override { return numRanks; }
  int64_t sizeOfHost() const override { return numOfHost; }

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

  void broadcast(void *data, int64_t bytes) override {
    check(MPI_Bcast(data, int(bytes), MPI_BYTE, 0, world), "MPI_Bcast");
  }
  void finalize() override { check(MPI_Finalize(), "MPI_Finalize"); }
  void abort(int status) override { MPI_Abort(world, status); }

private:
  MPI_Comm world;
  int ownRank = 0, numRanks = 1, numOfHost = 1;
};

} // namespace

extern "C" __attribute__((visibility("default"))) MpiLibrary *makeMpiLibrary();

MpiLibrary *makeMpiLibrary() { return new Library(); }
#endif
