//===- MemoryDescriptors.h - Strided operands for oneDNN --------*- C++ -*-===//

#ifndef DIST_RUNTIME_CPU_MEMORYDESCRIPTORS_H
#define DIST_RUNTIME_CPU_MEMORYDESCRIPTORS_H

#include <oneapi/dnnl/dnnl.hpp>

namespace dist {

/// A description by strides of which those of extents of 1 do not matter:
/// oneDNN refuses some that do not go with the others.
dnnl::memory::desc describeApart(const dnnl::memory::dims &extents,
                                 dnnl::memory::dims strides);

/// A description by strides. oneDNN's fast code recognizes layouts by all
/// strides, also those of extents of 1. These are set as in the layout that the
/// others have, with channels innermost if there is a choice.
dnnl::memory::desc describe(const dnnl::memory::dims &extents,
                            const dnnl::memory::dims &strides);

} // namespace dist

#endif // DIST_RUNTIME_CPU_MEMORYDESCRIPTORS_H
