//===- Convolve.cpp - Convolutions through oneDNN -------------------------===//
//
// oneDNN has fast code for images whose channels are innermost, which is what
// the compiler chooses if possible (lowering/kernels/ChooseLayouts.cpp), and
// for layouts of its own. For other layouts it has matrix products on unfolded
// images, and reference code that is slower than any loop. The first that is
// possible is taken: fast code on the operands in place; fast code on copies in
// its order; products on copies in the order n, channels, space.
//
// Before all of these come Winograd's minimal products for constant kernels of
// 3 x 3 taps, in tiles of 2 x 2 positions. They take 16 multiplications for 36
// (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016).
// Tiles of 4 x 4 are not used: their fractions make sums of integers inexact,
// and elements outside of a window influence its rounding. With 2 x 2, elements
// outside of a window cancel, unless they are not finite, and halves are exact.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Convolve.h"
#include "dist/Tensor.h"
#include "runtime/cpu/Clamp.h"
#include "runtime/cpu/ConvolveSizes.h"
#include "runtime/cpu/Dnnl.h"
#include "runtime/cpu/Magnitudes.h"
#include "runtime/cpu/MemoryDescriptors.h"
#include "runtime/cpu/Staging.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace dist;
using dnnl::memory;

using Tag = memory::format_tag;
constexpr auto f32 = memory::data_type::f32;

namespace {

/// How good oneDNN's code for a description is.
enum class Quality { None, Reference, Product, Fast };

} // namespace

static memory::desc withTag(const memory::desc &like, Tag tag) {
  return {like.dims(), f32, tag};
}

/// Whether it is Winograd's with tiles of 2 x 2 places.
static bool
isWinograd(const dnnl::convolution_forward::primitive_desc &description) {
  return std::strstr(description.impl_info_str(), "wino_2x3");
}

static Quality
qualityOf(const dnnl::convolution_forward::primitive_desc &description) {
  const char *name = description.impl_info_str();
  if (std::strstr(name, "ref"))
    return Quality::Reference;
  return std::strstr(name, "gemm:") ? Quality::Product : Quality::Fast;
}

/// Whether oneDNN has code for that.
static bool canReorder(const memory::desc &from, const memory::desc &to) {
  try {
    dnnl::reorder::primitive_desc(cpuEngine(), from, cpuEngine(), to);
    return true;
  } catch (const dnnl::error &) {
    return false;
  }
}

namespace dist {

class ConvolvePlan {
public:
  /// Whether it `mayAssume` that numbers are of ordinary size, and look at them
  /// before each call.
  ConvolvePlan(const ConvolveCall &call, OperandPool &pool, bool mayAssume);
  void run(const ConvolveCall &call);
  double flops() const { return totalFlops; }

private:
  using Description = dnnl::convolution_forward::primitive_desc;

  template <typename Test>
  std::optional<Description> makeDescription(const memory::desc &imageLayout,
                                             const memory::desc &outLayout,
                                             const memory::desc &kernelLayout,
                                             Test isWanted,
                                             dnnl::algorithm algorithm);
  std::optional<Description> makeDirect(const memory::desc &kernelLayout);
  std::optional<Description> makeWinograd(const memory::desc &kernelLayout);
  void choose(bool fusing);
  bool runGroups(const ConvolveCall &call);
  bool runGroup(const char *image, const char *kernel, const char *bias,
                char *out);
  int32_t getLargestOfKernel(const float *kernel);
  bool areAsAssumed(const memory &image, const float *kernel,
                    const memory &out);
  const memory &packKernel(const char *kernel);
  bool isFinite(const float *kernel);

  OperandPool &pool;
  Sizes shape;
  /// Whether code may be taken that is right for ordinary numbers only, and
  /// whether that is Winograd's products.
  bool mayAssume, transforms = false;
  /// What is computed for all others, once there were some.
  std::unique_ptr<ConvolvePlan> direct;
  /// Bounds of the result, and whether the primitive applies them.
  std::optional<Clamp> clamp;
  bool fusesClamp = false;
  /// Whether oneDNN adds the bias, or we before it.
  bool hasBias, addsBiasFirst = false;
  bool accumulate, isConstant;
  /// Whether no tap reaches the image anywhere, and whether some do not.
  bool isAllPadding = false, hasPadding = false;
  /// Groups that a call of the primitive does; the others follow one by one.
  int64_t together = 1;
  double totalFlops;
  memory::dims strides, dilations, low, high;
  /// Operands as they are given.
  memory::desc imageDesc, kernelDesc, biasDesc, outDesc;
  Staging imageStage, kernelStage, outStage;
  /// The kernel as the primitive reads it.
  memory::desc packedDesc;

  dnnl::stream stream{cpuEngine()};
  std::optional<dnnl::convolution_forward> primitive;
  /// Where the operands lie, and, if the primitive wants another order, copies
  /// in that order.
  memory image, kernel, bias, out;
  std::optional<memory> imageCopy, kernelCopy, outCopy;
  std::optional<dnnl::reorder> takeImage, takeKernel, takeOut, giveOut;
  /// What is known of constant kernels, by their address.
  std::unordered_map<const float *, bool> finite;
  std::unordered_map<const float *, int32_t> largest;
  bool isSameKernel;
  /// Constant kernels in the primitive's order, by their address.
  std::unordered_map<const char *, memory> packed;
};

} // namespace dist

ConvolvePlan::ConvolvePlan(const ConvolveCall &call, OperandPool &pool,
                           bool mayAssume)
    : pool(pool), shape(call), mayAssume(mayAssume), hasBias(call.bias),
      accumulate(call.flags & DIST_CONVOLVE_ACCUMULATE),
      isConstant(call.flags & DIST_CONVOLVE_CONSTANT_KERNEL),
      isSameKernel(isConstant) {
  if (call.flags & DIST_CONVOLVE_CLAMP)
    clamp.emplace(call.low, call.high);
  int64_t groups = shape.groups.extent, channels = shape.channels.extent,
          features = shape.features.extent;
  // oneDNN takes groups as parts of the channels, one after the other.
  auto follow = [](int64_t count, int64_t group, int64_t step) {
    return count == 1 || group == count * step;
  };
  if (follow(channels, shape.groups.image, shape.channels.image) &&
      follow(features, shape.groups.out, shape.features.out))
    together = groups;
  auto stepOf = [&](int64_t count, int64_t group, int64_t step) {
    return count == 1 && together > 1 ? group : step;
  };
  memory::dims in{shape.batch.extent, together * channels},
      inStrides{shape.batch.image,
                stepOf(channels, shape.groups.image, shape.channels.image)},
      result{shape.batch.extent, together * features},
      resultStrides{shape.batch.out,
                    stepOf(features, shape.groups.out, shape.features.out)},
      weights{features, channels},
      weightStrides{shape.features.kernel, shape.channels.kernel};
  if (together > 1) {
    weights.insert(weights.begin(), together);
    weightStrides.insert(weightStrides.begin(), shape.groups.kernel);
  }
  double terms = channels;
  totalFlops = 2.0 * shape.batch.extent * groups * channels * features;
  for (const Window &w : shape.windows) {
    // Elements that no window reaches are ignored: oneDNN needs to know how far
    // the last window reaches beyond the image, and requires that this is less
    // than a stride.
    int64_t end = (w.out - 1) * w.stride + (w.taps - 1) * w.dilation + 1;
    int64_t used = w.in;
    if (end - w.low - w.in <= -w.stride)
      used = std::max<int64_t>(end - w.low, 1);
    in.push_back(used);
    inStrides.push_back(w.imageStride);
    result.push_back(w.out);
    resultStrides.push_back(w.outStride);
    weights.push_back(w.taps);
    weightStrides.push_back(w.kernelStride);
    strides.push_back(w.stride);
    dilations.push_back(w.dilation - 1);
    low.push_back(w.low);
    high.push_back(end - w.low - used);
    terms *= w.taps;
    totalFlops *= double(w.out) * w.taps;
  }
  // oneDNN 2.6 forgets the bias where a sum is added to and no tap reaches the
  // image.
  for (const Window &w : shape.windows) {
    int64_t count = w.countPlacesInImage();
    isAllPadding |= count == 0;
    hasPadding |= w.readsPadding();
    addsBiasFirst |= count < w.out && hasBias && accumulate;
  }
  hasBias &= !addsBiasFirst;
  if (isAllPadding)
    return;
  imageStage.set(in, inStrides);
  outStage.set(result, resultStrides);
  kernelStage.set(weights, weightStrides);
  isConstant &= !kernelStage.isUsed();
  imageDesc = describe(in, inStrides);
  outDesc = describe(result, resultStrides);
  kernelDesc = describeApart(weights, weightStrides);
  biasDesc = memory::desc({together * features}, f32, Tag::x);
  // What a sum is added to is gone when a NaN is noticed: there must be none.
  bool canExcludeNaN = mayAssume && !addsBiasFirst && together == groups &&
                       terms <= kMostModestTerms;
  choose(/*fusing=*/clamp && (!accumulate || canExcludeNaN));
}

/// The best code for these layouts that is wanted, if oneDNN has any.
template <typename Test>
std::optional<ConvolvePlan::Description>
ConvolvePlan::makeDescription(const memory::desc &imageLayout,
                              const memory::desc &outLayout,
                              const memory::desc &kernelLayout, Test isWanted,
                              dnnl::algorithm algorithm) {
  dnnl::post_ops behind;
  if (accumulate)
    behind.append_sum(1.0f);
  if (fusesClamp)
    clamp->appendTo(behind);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(behind);
  try {
    auto kind = dnnl::prop_kind::forward_inference;
    using Desc = dnnl::convolution_forward::desc;
    Desc desc = hasBias
                    ? Desc(kind, algorithm, imageLayout, kernelLayout, biasDesc,
                           outLayout, strides, dilations, low, high)
                    : Desc(kind, algorithm, imageLayout, kernelLayout,
                           outLayout, strides, dilations, low, high);
    // next_impl() reads `desc`.
    Description description(desc, attributes, cpuEngine());
    do
      if (isWanted(description))
        return description;
    while (description.next_impl());
  } catch (const dnnl::error &) {
  }
  return std::nullopt;
}

/// Winograd's products, if oneDNN has them here and they pay.
std::optional<ConvolvePlan::Description>
ConvolvePlan::makeWinograd(const memory::desc &kernelLayout) {
  // Few channels are filled up to 16. Kernels become larger and are slow to
  // make: few places do not pay for that.
  constexpr int64_t fewestChannels = 16, fewestRows = 8, fewestPlaces = 128;
  if (!mayAssume || !isConstant || addsBiasFirst || shape.groups.extent != 1 ||
      shape.windows.size() != 2 ||
      std::min(shape.channels.extent, shape.features.extent) < fewestChannels)
    return std::nullopt;
  int64_t places = shape.batch.extent;
  for (const Window &w : shape.windows) {
    if (w.taps != 3 || w.stride != 1 || w.dilation != 1 || w.out < fewestRows)
      return std::nullopt;
    places *= w.out;
  }
  if (places < fewestPlaces)
    return std::nullopt;
  std::optional<Description> found = makeDescription(
      withTag(imageDesc, Tag::any), withTag(outDesc, Tag::any), kernelLayout,
      isWinograd, dnnl::algorithm::convolution_winograd);
  // There are kernels that oneDNN cannot bring into this order.
  if (found && !canReorder(kernelDesc, found->weights_desc()))
    found.reset();
  return found;
}

/// The best code that multiplies each element of a window.
std::optional<ConvolvePlan::Description>
ConvolvePlan::makeDirect(const memory::desc &kernelLayout) {
  const Tag planes[] = {Tag::ncw, Tag::nchw, Tag::ncdhw};
  Tag plane = planes[shape.windows.size() - 1];
  struct {
    memory::desc image, out;
  } layouts[] = {
      {imageDesc, outDesc},
      {withTag(imageDesc, Tag::any), outDesc},
      {withTag(imageDesc, Tag::any), withTag(outDesc, Tag::any)},
      {withTag(imageDesc, plane), withTag(outDesc, plane)},
  };
  std::optional<Description> best;
  Quality quality = Quality::None;
  for (const auto &[imageLayout, outLayout] : layouts) {
    std::optional<Description> one = makeDescription(
        imageLayout, outLayout, kernelLayout,
        [](const Description &) { return true; },
        dnnl::algorithm::convolution_direct);
    if (!one || qualityOf(*one) <= quality)
      continue;
    quality = qualityOf(*one);
    best = std::move(one);
    if (quality == Quality::Fast)
      break;
  }
  return best;
}

/// Chooses oneDNN's code. If it is `fusing`, that applies the bounds where it
/// is fast and tells of a NaN.
void ConvolvePlan::choose(bool fusing) {
  memory::desc anyKernel = withTag(kernelDesc, Tag::any);
  auto make = [&](auto maker) -> std::optional<Description> {
    if (fusing) {
      fusesClamp = true;
      std::optional<Description> found = (this->*maker)(anyKernel);
      if (found && qualityOf(*found) == Quality::Fast &&
          clamp->isNoticedBy(*found, stream))
        return found;
    }
    fusesClamp = false;
    return (this->*maker)(anyKernel);
  };
  std::optional<Description> best = make(&ConvolvePlan::makeWinograd);
  transforms = best.has_value();
  if (!best)
    best = make(&ConvolvePlan::makeDirect);
  if (!best)
    throw Error("dist_convolve: oneDNN has no code for this convolution");
  primitive.emplace(*best);
  for (std::optional<dnnl::reorder> *reorder :
       {&takeImage, &takeKernel, &takeOut, &giveOut})
    reorder->reset();
  for (std::optional<memory> *copy : {&imageCopy, &kernelCopy, &outCopy})
    copy->reset();
  packed.clear();

  const dnnl::engine &engine = cpuEngine();
  image = memory(imageDesc, engine, nullptr);
  kernel = memory(kernelDesc, engine, nullptr);
  bias = memory(biasDesc, engine, nullptr);
  out = memory(outDesc, engine, nullptr);
  if (best->src_desc() != imageDesc) {
    imageCopy.emplace(best->src_desc(), engine);
    takeImage.emplace(image, *imageCopy);
  }
  if (best->dst_desc() != outDesc) {
    outCopy.emplace(best->dst_desc(), engine);
    giveOut.emplace(*outCopy, out);
    if (accumulate)
      takeOut.emplace(out, *outCopy);
  }
  packedDesc = best->weights_desc();
  if (packedDesc != kernelDesc) {
    if (!isConstant)
      kernelCopy.emplace(packedDesc, engine);
    takeKernel.emplace(kernel, memory(packedDesc, engine, nullptr));
  }
}

const memory &ConvolvePlan::packKernel(const char *from) {
  kernel.set_data_handle(const_cast<char *>(from));
  if (!takeKernel)
    return kernel;
  if (!isConstant) {
    takeKernel->execute(stream, kernel, *kernelCopy);
    return *kernelCopy;
  }
  auto found = packed.find(from);
  if (found == packed.end()) {
    memory copy = pool.make(packedDesc);
    takeKernel->execute(stream, kernel, copy);
    // Direct code may read it later.
    pool.release(kernel, /*isOnly=*/false);
    found = packed.emplace(from, copy).first;
  }
  return found->second;
}

bool ConvolvePlan::isFinite(const float *kernel) {
  if (!isSameKernel)
    return shape.isFinite(kernel);
  auto [known, isNew] = finite.try_emplace(kernel, false);
  if (isNew)
    known->second = shape.isFinite(kernel);
  return known->second;
}

int32_t ConvolvePlan::getLargestOfKernel(const float *kernel) {
  if (!isSameKernel)
    return shape.getLargest(kernel);
  auto [known, isNew] = largest.try_emplace(kernel, 0);
  if (isNew)
    known->second = shape.getLargest(kernel);
  return known->second;
}

/// Whether Winograd's products of these numbers neither overflow nor become
/// subnormal; and whether there is no NaN, nor a sum that overflows to one,
/// where it would be lost.
bool ConvolvePlan::areAsAssumed(const memory &image, const float *kernel,
                                const memory &out) {
  auto getLargest = [](const memory &operand) {
    return getLargestMagnitudeBits(
        static_cast<const float *>(operand.get_data_handle()),
        operand.get_desc().get_size() / sizeof(float));
  };
  bool losesNaN = fusesClamp && accumulate;
  if (!transforms && !losesNaN)
    return true;
  int32_t ofImage = getLargest(image), ofKernel = getLargestOfKernel(kernel);
  if (transforms && !(areOrdinary(ofImage) && areOrdinary(ofKernel)))
    return false;
  return !losesNaN || (isModest(ofImage) && isModest(ofKernel) &&
                       isModest(getLargest(out)) &&
                       (!hasBias || isModest(getLargest(bias))));
}

/// False if the numbers are not as assumed; nothing is written then.
bool ConvolvePlan::runGroup(const char *imageData, const char *kernelData,
                            const char *biasData, char *outData) {
  kernelData = kernelStage.take(kernelData);
  image.set_data_handle(const_cast<char *>(imageStage.take(imageData)));
  bias.set_data_handle(const_cast<char *>(biasData));
  out.set_data_handle(const_cast<char *>(outStage.take(outData)));
  if (takeImage)
    takeImage->execute(stream, image, *imageCopy);
  if (takeOut)
    takeOut->execute(stream, out, *outCopy);
  if (!areAsAssumed(takeImage ? *imageCopy : image,
                    reinterpret_cast<const float *>(kernelData),
                    takeOut ? *outCopy : out))
    return false;
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, takeImage ? *imageCopy : image},
      {DNNL_ARG_WEIGHTS, packKernel(kernelData)},
      {DNNL_ARG_DST, giveOut ? *outCopy : out}};
  if (hasBias)
    arguments.insert({DNNL_ARG_BIAS, bias});
  primitive->execute(stream, arguments);
  if (giveOut)
    giveOut->execute(stream, *outCopy, out);
  outStage.give(outData);
  return true;
}

bool ConvolvePlan::runGroups(const ConvolveCall &call) {
  auto *imageData = static_cast<const char *>(call.image);
  auto *kernelData = static_cast<const char *>(call.kernel);
  auto *biasData = static_cast<const char *>(call.bias);
  auto *outData = static_cast<char *>(call.out);
  constexpr int64_t bytes = sizeof(float);
  for (int64_t g = 0; g < shape.groups.extent; g += together) {
    const char *biasHere =
        hasBias ? biasData + g * shape.features.extent * bytes : nullptr;
    if (!runGroup(imageData + g * shape.groups.image * bytes,
                  kernelData + g * shape.groups.kernel * bytes, biasHere,
                  outData + g * shape.groups.out * bytes))
      return false;
  }
  return true;
}

void ConvolvePlan::run(const ConvolveCall &call) {
  auto *out = static_cast<float *>(call.out);
  if (addsBiasFirst || isAllPadding)
    shape.start(static_cast<const float *>(call.bias), out, accumulate);
  if (!isAllPadding) {
    clearInvalid();
    if (!runGroups(call)) {
      if (!direct)
        direct = std::make_unique<ConvolvePlan>(call, pool,
                                                /*mayAssume=*/false);
      return direct->run(call);
    }
    // Perhaps a NaN, perhaps something else: from here on the bounds are
    // applied behind it.
    if (fusesClamp && !accumulate && sawInvalid()) {
      choose(/*fusing=*/false);
      runGroups(call);
    }
  }
  auto *kernelData = static_cast<const float *>(call.kernel);
  if (hasPadding && !isFinite(kernelData))
    shape.multiplyPadding(kernelData, out);
  if (!clamp || fusesClamp)
    return;
  memory::dims extents{shape.batch.extent, shape.groups.extent,
                       shape.features.extent},
      strides{shape.batch.out, shape.groups.out, shape.features.out};
  for (const Window &w : shape.windows) {
    extents.push_back(w.out);
    strides.push_back(w.outStride);
  }
  clamp->apply(out, extents, strides);
}

Convolutions::Convolutions(bool direct, OperandPool::TakeBack takeBack)
    : direct(direct), pool(std::make_unique<OperandPool>(std::move(takeBack))) {
}
Convolutions::~Convolutions() = default;

ConvolvePlan &Convolutions::plan(const ConvolveCall &call) {
  key.assign({call.numWindows, call.flags, call.bias != nullptr});
  if (call.flags & DIST_CONVOLVE_CLAMP)
    for (float bound : {call.low, call.high}) {
      int32_t bits;
      std::memcpy(&bits, &bound, sizeof bits);
      key.push_back(bits);
    }
  key.insert(key.end(), call.table,
             call.table + DIST_CONVOLVE_FIELDS +
                 int64_t(call.numWindows) * DIST_WINDOW_FIELDS);
  std::unique_ptr<ConvolvePlan> &known = plans[key];
  if (!known) {
    try {
      known = std::make_unique<ConvolvePlan>(call, *pool,
                                             /*mayAssume=*/!direct);
    } catch (...) {
      plans.erase(key);
      throw;
    }
  }
  return *known;
}

double Convolutions::run(const ConvolveCall &call) {
  if (call.dtype != DIST_F32)
    throw Error("dist_convolve: no convolution of dtype " +
                std::to_string(call.dtype) +
                "; the compiler has to generate loops for it");
  if (call.numWindows < 1 || call.numWindows > 3)
    throw Error("dist_convolve: " + std::to_string(call.numWindows) +
                " windows; 1 to 3 are known");
  useOneThread();
  ConvolvePlan &plan = this->plan(call);
  try {
    plan.run(call);
  } catch (const dnnl::error &error) {
    throw Error(std::string("dist_convolve: oneDNN: ") + error.what());
  }
  return plan.flops();
}
