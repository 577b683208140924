/*===- two_layers.c - A compiled program, written by hand -----------------===*\
 *
 * y = relu(x w1) w2 on the mesh dp = 2, tp = 2: 5 rows of x over dp, the hidden
 * dimension over tp, so y is a sum over tp. What lowering would produce, with
 * the sum on a stream of its own. Its only check
 * fails for an x that begins with 666. Other beginnings have one rank of the
 * first two do what no compiled program does (misbehave).
 *
\*===----------------------------------------------------------------------===*/

#include "dist/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Tests write the manifest here. */
DIST_API const char dist_manifest[8192] = "@dist_manifest@";

/* Whether the rank goes on. */
static int misbehave(dist_rank *rank, int what) {
  int isOther = dist_comm_index(rank, 0) == 1;
  switch (what) {
  case 333: /* leaves the others alone */
    return !isOther;
  case 444: /* computes for long */
    if (isOther)
      sleep(3);
    return 1;
  case 555: /* has last words */
    if (isOther) {
      fputs("I can do no more", stderr);
      abort();
    }
    return 1;
  case 777: /* says what the others say, and something else */
    fprintf(stdout, "how do you do\n");
    fprintf(stdout, isOther ? "very well\n" : "well\n");
    return 1;
  case 888: /* fails while the first computes */
    if (isOther)
      abort();
    for (;;)
      sleep(1);
  }
  return 1;
}

enum { rows = 3, width = 6, hidden = 4 }; /* local */

DIST_API void dist_main(dist_rank *rank, void *const *args,
                        void *const *results, void *arena, int64_t *status) {
  const float *w1 = args[0], *w2 = args[1], *x = args[2];
  float *y = results[0], *h = arena, *partial = h + rows * hidden;
  static const int64_t first[] = {
      DIST_LOOP_M, rows,   width, 0,      hidden, /* i */
      DIST_LOOP_N, hidden, 0,     1,      1,      /* j */
      DIST_LOOP_K, width,  1,     hidden, 0};     /* k */
  static const int64_t second[] = {DIST_LOOP_M, rows,   hidden, 0,     width,
                                   DIST_LOOP_N, width,  0,      1,     1,
                                   DIST_LOOP_K, hidden, 1,      width, 0};
  if (x[0] == 666 && status[0] == 0) {
    status[1] = 666;
    status[0] = 1;
  }
  if (!misbehave(rank, (int)x[0]))
    return;
  dist_contract(rank, DIST_F32, DIST_F32, 0, 3, first, x, w1, h);
  for (int i = 0; i < rows * hidden; ++i)
    h[i] = h[i] > 0 ? h[i] : 0;
  dist_contract(rank, DIST_F32, DIST_F32, 0, 3, second, h, w2, partial);
  dist_event_record(rank, 0, 0);
  dist_stream_wait(rank, 1, 0);
  dist_all_reduce(rank, 0, 1, 0, DIST_F32, DIST_SUM, rows * width, partial, y);
  dist_event_record(rank, 1, 1);
  dist_stream_wait(rank, 0, 1);
}
