//===- RanksMemory.h - What ranks hold while none of them runs --*- C++ -*-===//
//
// How arguments and results become whole: window by window, so that whoever
// takes them holds no more than that, wherever the ranks are.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LAUNCH_RANKSMEMORY_H
#define DIST_RUNTIME_LAUNCH_RANKSMEMORY_H

#include "dist/Executor.h"

namespace dist {

class RanksMemory : public Holdings {
public:
  /// How many bytes of a whole tensor are taken at once.
  static constexpr int64_t kWindow = 8 << 20;

  explicit RanksMemory(const Manifest &manifest) : manifest(manifest) {}

  void copyArgument(size_t index, Tensor &whole) const override;
  Tensor getResult(size_t index) const override;
  /// Copies the elements of the whole result in `window` to `out`.
  void copyResult(size_t index, Window window, void *out) const {
    copy(true, index, window, out);
  }
  /// A rank's part of a result, padding included, for longer than this object.
  virtual Tensor keep(int64_t rank, size_t index) const = 0;

protected:
  /// The address of these bytes, until the next call.
  virtual const void *read(int64_t rank, const HeldBytes &what) const = 0;
  /// They have been copied.
  virtual void leave(const void *data, int64_t bytes) const {}

  const Manifest &manifest;

private:
  void copy(bool isResult, size_t index, Window window, void *out) const;
  void copyAll(bool isResult, size_t index, Tensor &whole) const;
};

/// Calls take(window) for all of a whole tensor, from front to back.
void forEachWindow(const Tensor &whole,
                   const std::function<void(Window)> &take);

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_RANKSMEMORY_H
