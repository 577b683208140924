/*===- all_reduce_mpi.c - MPI's own all_reduce -------------------------------===
 *
 * all_reduce_mpi BYTES REPEAT: the median microseconds of MPI_Allreduce of f32,
 * of the slowest rank in each turn. For all_reduce_time.py.
 *
 *===----------------------------------------------------------------------===*/

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int count = argc > 2 ? atoi(argv[1]) / 4 : 1,
      repeat = argc > 2 ? atoi(argv[2]) : 1, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  float *in = calloc(count, 4), *out = calloc(count, 4);
  double *times = malloc(repeat * sizeof *times);
  for (int i = 0; i < count; ++i)
    in[i] = i % 7;
  for (int i = 0; i < repeat; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    times[i] = MPI_Wtime() - begin;
  }
  MPI_Allreduce(MPI_IN_PLACE, times, repeat, MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  qsort(times, repeat, sizeof *times, compare);
  if (rank == 0)
    printf("%.3f\n", times[repeat / 2] * 1e6);
  MPI_Finalize();
  return 0;
}
