//===- runtime.h - What a compiled SPMD program calls -------------*- C -*-===//
//
// The only interface between generated code and the machine that it runs on. A
// backend (threads, MPI, CUDA with NCCL) implements it; generated code and the
// backends share nothing else. It is C, so that LLVM IR can call it with plain
// scalars and pointers.
//
// Conventions
//   - A program is compiled once; every rank runs the same `dist_main`.
//     Shapes, communicators and the order of the calls are static.
//   - Tensors are contiguous and row-major; extents and counts are in elements
//     unless a name says bytes. i1 is stored as one byte, 0 or 1.
//   - A collective acts on the view [outer, n, inner] of a tensor: n is the
//     dimension in question, outer and inner the products of the dimensions
//     before and after it. Every dimension is as good as the first.
//   - `in` and `out` must not overlap except where stated. Pointers are in the
//     memory that the backend computes on (device memory under CUDA).
//   - Ranks, communicators, streams and events are named by small integers, so
//     that nothing need be created in generated code.
//
// Errors
//   Every function returns 0, or a non-zero status. Below `dist_main` a call
//   that fails does not return: the backend leaves `dist_main` and ends the run
//   on every rank. So generated code need check nothing. (It must hold no
//   resource across a call, except the arena.) The status matters to code that
//   calls the interface from elsewhere, such as tests. There the failure is
//   sticky: every later call on any rank of the run fails at once.
//
// Order
//   All members of a communicator must make the same calls on it, in the same
//   order, on the same stream, with equal operation, dtype and sizes. The
//   threads backend checks this and reports the two ranks that differ.
//   Work on one stream is done in order; work on different streams is ordered
//   by events alone (CUDA's rules). Under a CPU backend work on stream 0 is
//   complete when the call returns; elsewhere that is no promise.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_H
#define DIST_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIST_ABI_VERSION 6
/// Programs of this version and later ones are run: the rest was added to it.
#define DIST_ABI_OLDEST 5
/// Stack of the thread that runs dist_main, at least. Generated code takes up
/// to an eighth of it, what it calls the rest.
#define DIST_STACK_BYTES (8 << 20)
#define DIST_API __attribute__((visibility("default")))

/// One rank of a running program: its position in the mesh, its streams, events
/// and failure state. Created by the host, passed through by generated code.
typedef struct dist_rank dist_rank;

/// Element types; values are part of the ABI.
typedef enum dist_dtype {
  DIST_F64 = 0,
  DIST_F32 = 1,
  DIST_F16 = 2,
  DIST_BF16 = 3,
  DIST_I64 = 4,
  DIST_I32 = 5,
  DIST_I16 = 6,
  DIST_I8 = 7,
  DIST_U8 = 8,
  DIST_I1 = 9,
  DIST_U16 = 10,
  DIST_U32 = 11,
  DIST_U64 = 12
} dist_dtype;

/// Reductions; values are part of the ABI. The operands are combined in the
/// order of the members' indices in the communicator, the same on every run.
/// f16 and bf16 are combined in f32 and rounded once. Integer sum and prod wrap
/// (sum on i1 is xor, prod is and). max and min return NaN if an operand is
/// NaN, and are signed except for the unsigned types and i1. And, or: integers
/// only, bitwise.
typedef enum dist_op {
  DIST_SUM = 0,
  DIST_PROD = 1,
  DIST_MAX = 2,
  DIST_MIN = 3,
  DIST_AND = 4,
  DIST_OR = 5
} dist_op;

//===----------------------------------------------------------------------===//
// The program's entry point
//===----------------------------------------------------------------------===//

/// Exported by a compiled program. `args` and `results` point to the local
/// tensors in the order of the manifest, aligned to 64 bytes. An arg in the
/// mapped weights file has only the alignment of its element type. args are
/// never written and may overlap each other. No result overlaps an arg, another
/// result, the arena or the status words. Exception: a result that updates an
/// arg is that arg's memory. It overlaps nothing else, and the program writes
/// it by either name. `arena` is scratch memory of the manifest's
/// `arena_bytes`, aligned to 64 bytes, undefined on entry.
///
/// `status` holds 1 + the number of the manifest's `checks` words, zero on
/// entry. Check i may fail: an index is out of range, or an assertion fails. If
/// status[0] is still zero then, the program writes the value that it tested to
/// status[1 + i], and then 1 + i to status[0]. It continues with values that
/// are safe and wrong. These are plain stores: a kernel on a device needs no
/// call.
///
/// The runtime reads status[0] at each dist_check, before each collective
/// and when dist_main returns. It ends the run on all ranks with the check's
/// message, so no result of a failed check is returned.
typedef void (*dist_main_fn)(dist_rank *rank, void *const *args,
                             void *const *results, void *arena,
                             int64_t *status);

//===----------------------------------------------------------------------===//
// Place in the mesh, failure
//===----------------------------------------------------------------------===//

/// This rank's index in its group of communicator `comm` (index in the
/// manifest's communicators): row-major over the communicator's axes in their
/// order. Members differ in these axes only. An empty list of axes is a group
/// of one.
DIST_API int64_t dist_comm_index(dist_rank *rank, int32_t comm);

/// Copies what the program must know on the host: waits for stream 0. Where the
/// two share their memory, programs load instead.
DIST_API int32_t dist_read(dist_rank *rank, const void *from, int64_t bytes,
                           void *to);

/// The other way: what the program has computed on the host, after the work of
/// stream 0 so far.
DIST_API int32_t dist_write(dist_rank *rank, void *to, int64_t bytes,
                            const void *from);

/// Where the device has `bytes` of the program's constants. Does not return
/// without them.
DIST_API const void *dist_constant(dist_rank *rank, const void *from,
                                   int64_t bytes);

/// Launches kernel `kernel` of the program's device code, on stream 0. Argument
/// i is the first bytes of values[i], whose other bytes are zero.
DIST_API int32_t dist_launch(dist_rank *rank, int32_t kernel, int32_t count,
                             const uint64_t *values);

/// Ends the run on all ranks if a check has failed. To be called where control
/// flow depends on values that a failed check has made wrong. Does not return
/// then.
DIST_API int32_t dist_check(dist_rank *rank);

//===----------------------------------------------------------------------===//
// Streams, events
//===----------------------------------------------------------------------===//
// Stream 0 is the rank's compute stream, 1 to 15 are communication streams;
// events are 0 to 4095. Both exist from first use. To run a collective beside
// compute:
//   dist_event_record(rank, e, 0);        // operands are ready
//   dist_stream_wait(rank, 1, e);
//   dist_all_reduce(rank, comm, 1, ...);
//   dist_event_record(rank, f, 1);
//   ...compute that needs neither operand nor result...
//   dist_stream_wait(rank, 0, f);         // result is ready

/// The event becomes all work issued on `stream` so far. An event may be
/// recorded again; a wait refers to the latest record before it.
DIST_API int32_t dist_event_record(dist_rank *rank, int32_t event,
                                   int32_t stream);

/// Later work on `stream` starts after `event`. Waiting for an event that was
/// never recorded returns at once.
DIST_API int32_t dist_stream_wait(dist_rank *rank, int32_t stream,
                                  int32_t event);

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//
// `site` is the collective's index in the manifest's `collectives`, for
// messages and traces; -1 if it has none. `p` is the communicator's size.
//
// Uneven dimensions: the runtime splits a whole dimension into blocks as in
// docs/internals/levels.md ("Layout of a sharded dimension": nested cuts, each
// ceil(rows / axis size)). All blocks are stored with the same number of rows,
// block_rows. Padding is dropped on gathering and zero after scattering.

/// out = reduction of the members' in. `in` may be `out`.
DIST_API int32_t dist_all_reduce(dist_rank *rank, int32_t comm, int32_t stream,
                                 int32_t site, int32_t dtype, int32_t op,
                                 int64_t count, const void *in, void *out);

/// in [outer, block_rows(whole), inner] of each member -> out [outer, whole,
/// inner] on all.
DIST_API int32_t dist_all_gather(dist_rank *rank, int32_t comm, int32_t stream,
                                 int32_t site, int32_t dtype, int64_t outer,
                                 int64_t whole, int64_t inner, const void *in,
                                 void *out);

/// in [outer, whole, inner] of each member, reduced; out [outer,
/// block_rows(whole), inner] is this member's block.
DIST_API int32_t dist_reduce_scatter(dist_rank *rank, int32_t comm,
                                     int32_t stream, int32_t site,
                                     int32_t dtype, int32_t op, int64_t outer,
                                     int64_t whole, int64_t inner,
                                     const void *in, void *out);

/// Moves the sharding from one dimension (concat) to another (split). The
/// tensor is viewed as [outer, first, middle, second, inner]. `first` and
/// `second` are the two dimensions in memory order. `split_first` says which of
/// them is split. split_whole and concat_whole are their extents when whole.
///   in:  split dimension whole, concat dimension one block
///   out: split dimension one block, concat dimension whole
/// (each block stored with block_rows of its whole.) An exchange along a single
/// dimension is [outer, p, 1, 1, rest] with split_first = 1, split_whole =
/// concat_whole = p.
DIST_API int32_t dist_all_to_all(dist_rank *rank, int32_t comm, int32_t stream,
                                 int32_t site, int32_t dtype,
                                 int32_t split_first, int64_t outer,
                                 int64_t split_whole, int64_t middle,
                                 int64_t concat_whole, int64_t inner,
                                 const void *in, void *out);

/// out on all = in of member `root`. `in` may be `out`.
DIST_API int32_t dist_broadcast(dist_rank *rank, int32_t comm, int32_t stream,
                                int32_t site, int32_t dtype, int64_t root,
                                int64_t count, const void *in, void *out);

/// `pairs` holds num_pairs times {source, target}, indices in `comm`. No member
/// is a source twice, or a target twice. out on a target = in of its source,
/// zero on a member that is no target. The pairs must be equal on all members
/// and stay readable until the work is done.
DIST_API int32_t dist_collective_permute(dist_rank *rank, int32_t comm,
                                         int32_t stream, int32_t site,
                                         int32_t dtype, int64_t num_pairs,
                                         const int64_t *pairs, int64_t count,
                                         const void *in, void *out);

/// Rows outside of a dimension; values are part of the ABI.
typedef enum dist_boundary {
  DIST_BOUNDARY_ZERO = 0,
  DIST_BOUNDARY_CONSTANT = 1,
  /// They are not written.
  DIST_BOUNDARY_NONE = 2,
  /// The rows of the other end.
  DIST_BOUNDARY_PERIODIC = 3
} dist_boundary;

/// in [outer, block_rows(whole), inner] -> out [outer, low + block_rows(whole)
/// + high, inner]. Row i of out is row block_start - low + i of the whole
/// dimension, whichever member owns it. Outside of [0, whole) it is as
/// `boundary` says; the bits of a constant are the low bits of `fill`. If rows
/// are periodic, up to `high` rows after the last row of a block that is not
/// padding are filled. Further ones are zero, as is all of out if a block is
/// empty.
DIST_API int32_t dist_halo_exchange(dist_rank *rank, int32_t comm,
                                    int32_t stream, int32_t site, int32_t dtype,
                                    int64_t outer, int64_t whole, int64_t inner,
                                    int64_t low, int64_t high, int32_t boundary,
                                    int64_t fill, const void *in, void *out);

/// The adjoint: in [outer, low + block_rows(whole) + high, inner] -> out
/// [outer, block_rows(whole), inner]. dist_halo_exchange copies a row of a
/// block to rows of several members. Each row of out is the sum of these rows
/// of in: its own first, then those of the others by index. Rows of in that are
/// outside of [0, whole) add nothing, unless `periodic`. In a ring, rows that
/// are padding add nothing. Padding of out is zero.
DIST_API int32_t dist_halo_reduce(dist_rank *rank, int32_t comm, int32_t stream,
                                  int32_t site, int32_t dtype, int64_t outer,
                                  int64_t whole, int64_t inner, int64_t low,
                                  int64_t high, int32_t periodic,
                                  const void *in, void *out);

//===----------------------------------------------------------------------===//
// Rows that indices name
//===----------------------------------------------------------------------===//
// A dimension of `whole` rows is sharded over a communicator's members. Each
// member has indices of rows of any members: the edges of its part of a graph.
// A plan lists the owners of these rows. Plans are 0 to 255, each rank's own,
// and exist after the call that makes them.

/// `plan` becomes the plan for `count` indices. They are copied. If the plan is
/// for the same indices already, nothing is done. An index that is not in [0,
/// whole) ends the run as soon as a collective uses the plan. Nothing is sent.
/// `site` is that of a call that the plan is for.
DIST_API int32_t dist_plan_rows(dist_rank *rank, int32_t comm, int32_t site,
                                int32_t plan, int64_t whole, int64_t count,
                                const int64_t *indices);

/// in [outer, block_rows(whole), inner] -> out [count, outer, inner]: out[i] is
/// row indices[i] of the whole dimension. A member sends each row once to each
/// other that names it.
DIST_API int32_t dist_gather_rows(dist_rank *rank, int32_t comm, int32_t stream,
                                  int32_t site, int32_t dtype, int32_t plan,
                                  int64_t outer, int64_t whole, int64_t inner,
                                  const void *in, void *out);

/// The adjoint: in [count, outer, inner] -> out [outer, block_rows(whole),
/// inner]. Each row of out is the sum of the rows of in whose index names it.
/// Each member adds its own rows in the order of its indices, rounded to
/// `dtype`; then these sums are added by member. Rows that no index names, and
/// padding, are zero.
DIST_API int32_t dist_reduce_rows(dist_rank *rank, int32_t comm, int32_t stream,
                                  int32_t site, int32_t dtype, int32_t plan,
                                  int64_t outer, int64_t whole, int64_t inner,
                                  const void *in, void *out);

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

/// Kinds of loops of a contraction, by the operands that depend on the loop.
typedef enum dist_loop_kind {
  DIST_LOOP_BATCH = 0, // a, b and c
  DIST_LOOP_M = 1,     // a and c
  DIST_LOOP_N = 2,     // b and c
  DIST_LOOP_K = 3      // a and b: summed over
} dist_loop_kind;

/// Flags of dist_contract.
typedef enum dist_contract_flags {
  /// The product is added to c.
  DIST_CONTRACT_ACCUMULATE = 1,
  /// a (or b) holds the same data at this address in all calls of the run. So
  /// it may be packed once.
  DIST_CONTRACT_CONSTANT_A = 2,
  DIST_CONTRACT_CONSTANT_B = 4,
  /// Besides: nothing but calls with this table reads it. So its memory may be
  /// given back once it is packed.
  DIST_CONTRACT_ONLY_A = 8,
  DIST_CONTRACT_ONLY_B = 16
} dist_contract_flags;

/// Number of int64 per loop in the table that dist_contract takes.
#define DIST_LOOP_FIELDS 5

/// c[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n]; with a flag
/// it is added to c. `loops` holds num_loops times
///   {kind, extent, stride in a, stride in b, stride in c}
/// in any order, strides in elements. It is only read during the call. The
/// stride in the operand that does not depend on the loop is ignored. Zero
/// extents are legal (an empty sum is 0). A kind without a loop has an extent
/// of 1.
///
/// Any strides are allowed, also 0 and transposed. Operands need not be
/// contiguous, but no two points of c may coincide.
///
/// a and b are of `in_dtype`, c of `out_dtype`: f32/f32, bf16/bf16 or bf16/f32;
/// products are summed in f32. Others fail (the compiler generates loops for
/// them). Runs on stream 0, on one core.
DIST_API int32_t dist_contract(dist_rank *rank, int32_t in_dtype,
                               int32_t out_dtype, int32_t flags,
                               int32_t num_loops, const int64_t *loops,
                               const void *a, const void *b, void *c);

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// Flags of dist_convolve.
typedef enum dist_convolve_flags {
  /// The result is added to what `out` holds.
  DIST_CONVOLVE_ACCUMULATE = 1,
  /// The kernel holds the same data at this address in all calls of the run. So
  /// it may be packed once.
  DIST_CONVOLVE_CONSTANT_KERNEL = 2,
  /// The result is bounded by `low` and `high`.
  DIST_CONVOLVE_CLAMP = 4
} dist_convolve_flags;

/// Number of int64 in the table of dist_convolve: before those of the windows,
/// and for each window.
#define DIST_CONVOLVE_FIELDS 13
#define DIST_WINDOW_FIELDS 9

/// out[n, g, f, y...] = bias[g, f] + sum over c, t... of
///   image[n, g, c, (y * stride + t * dilation - low)...] *
///   kernel[g, f, c, t...]
///
/// The image is zero outside of its bounds. (An infinity in the kernel makes
/// NaN of such a zero, as of others.)
///
/// `table` holds
///   batch {extent, stride in image, in out},
///   groups {extent, stride in image, in kernel, in out},
///   channels {extent, stride in image, in kernel},
///   features {extent, stride in kernel, in out},
/// and num_windows (1 to 3) times
///   {extent of the image, extent of out, taps, stride, dilation, low, stride
///   in image, in kernel, in out}.
/// It is only read during the call. All extents are at least 1. Strides of
/// memory are in elements; operands must not overlap themselves.
///
/// With DIST_CONVOLVE_CLAMP the result is minimum(maximum(out, low), high), in
/// which a NaN stays a NaN. `low` is at most `high`. It may be -inf, but not
/// -0; `high` may be inf, but not 0.
///
/// `bias` may be null; it is contiguous. All are of `dtype`, f32. Others fail
/// (the compiler generates loops for them). Runs on stream 0, on one core.
DIST_API int32_t dist_convolve(dist_rank *rank, int32_t dtype, int32_t flags,
                               int32_t num_windows, const int64_t *table,
                               const void *image, const void *kernel,
                               const void *bias, void *out, float low,
                               float high);

//===----------------------------------------------------------------------===//
// Traces
//===----------------------------------------------------------------------===//

/// Names the module of the model that the next contraction or convolution
/// belongs to, or the program's own code from here to its next call ("" if
/// unknown). It has an effect only in a traced run. The text stays readable
/// while the program runs.
DIST_API void dist_mark(dist_rank *rank, const char *module);

#ifdef __cplusplus
}
#endif

#endif // DIST_RUNTIME_H
