//===- MemoryDescriptors.h - Strided operands for oneDNN --------*- C++ -*-===//

#ifndef DIST_RUNTIME_CPU_MEMORYDESCRIPTORS_H
#define DIST_RUNTIME_CPU_MEMORYDESCRIPTORS_H

#include <oneapi/dnnl/dnnl.hpp>

namespace dist {

/// A description by strides of which those of extents of 1 do not matter:
/// oneDNN refuses some that do not go with the others.
dnnl::memory::desc describeApart(const dnnl::memory::dims &extents,
                                 dnnl::memory::dims strides);

/// A description by strides. oneDNN's fast code recognises layouts by all of
/// them, also those of extents of 1: they are made those of the layout that the
/// others have, channels innermost if both will do.
dnnl::memory::desc describe(const dnnl::memory::dims &extents,
                            const dnnl::memory::dims &strides);

} // namespace dist

#endif // DIST_RUNTIME_CPU_MEMORYDESCRIPTORS_H
