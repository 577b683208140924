//===- VectorClones.h - Loops for the processor at hand ---------*- C++ -*-===//

#ifndef DIST_RUNTIME_CPU_VECTORCLONES_H
#define DIST_RUNTIME_CPU_VECTORCLONES_H

// One binary for every x86-64: the loops are compiled three times and the
// loader picks.
#if defined(__x86_64__) && defined(__linux__)
#define DIST_VECTOR_CLONES                                                     \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define DIST_VECTOR_CLONES
#endif

#endif // DIST_RUNTIME_CPU_VECTORCLONES_H
