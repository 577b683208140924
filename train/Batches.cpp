//===- Batches.cpp - What each step of training is fed --------------------===//

#include "train/Batches.h"
#include "dialects/dist/IR/Attributes.h"
#include "dist/Npy.h"
#include "dist/OptionValues.h"
#include "dist/OutputFile.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstring>
#include <numeric>

using namespace mlir::dist;
namespace host = ::dist;

static bool isInteger(dist_dtype type) {
  return !host::isFloat(type) && type != DIST_I1;
}

static const host::TensorDesc *find(const host::Manifest &manifest,
                                    const std::string &name) {
  for (const host::TensorDesc &desc : manifest.arguments)
    if (desc.kind == host::TensorDesc::Input && desc.name == name)
      return &desc;
  return nullptr;
}

/// Elements of what follows the first dimension.
static int64_t rowElements(const host::Shape &shape) {
  return host::numElements({shape.begin() + 1, shape.end()});
}

Batches::Batches(const std::vector<std::string> &files,
                 const host::Manifest &manifest, const std::string &target,
                 const StepArguments &arguments, const host::Inputs &given,
                 uint64_t seed, bool inOrder, int64_t microbatches)
    : microbatches(microbatches), seed(seed), inOrder(inOrder) {
  std::vector<std::string> names;
  for (const host::TensorDesc &desc : manifest.arguments)
    if (desc.kind == host::TensorDesc::Input)
      names.push_back(desc.name);
  for (const std::string &text : files) {
    auto [name, file] = host::splitNamed(text, names);
    if (file.empty())
      addTokens(text, manifest, target, given);
    else
      addRows(name, file, manifest, given);
  }
  for (const Source &source : sources) {
    if (auto labels = arguments.classes.find(source.name);
        labels != arguments.classes.end())
      checkLabels(source, labels->second);
    if (auto range = arguments.ranges.find(source.name);
        range != arguments.ranges.end())
      checkRange(source, range->second.first, range->second.second);
  }
  if (sources.empty())
    throw host::Error("--train: nothing to learn from; --data says what");
  if (batch > samples)
    llvm::errs() << "dist-run: warning: --data has " << samples
                 << " samples, of which a step takes " << batch
                 << ": some more than once\n";
}

bool Batches::gives(const std::string &name) const {
  return std::any_of(sources.begin(), sources.end(),
                     [&](const Source &source) { return source.name == name; });
}

template <class Check>
void Batches::checkIntegers(const Source &source, Check check) const {
  const host::Tensor &data = source.data;
  // Tokens in rows are one more than the input and the labels.
  bool hasRows = data.shape.size() > 1;
  int64_t count = source.stride - (isTokens && hasRows ? 1 : 0);
  for (int64_t sample = 0; sample < samples; ++sample)
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = source.first + sample * source.stride + i, value;
      host::convert(data.dtype,
                    static_cast<const char *>(data.data) +
                        place * host::dtypeBytes(data.dtype),
                    DIST_I64, &value, 1);
      std::string wrong = check(value);
      if (wrong.empty())
        continue;
      throw host::Error(source.file +
                        (isTokens && !hasRows
                             ? ": token " + std::to_string(place)
                             : ": row " + std::to_string(sample)) +
                        ": " + std::to_string(value) + wrong);
    }
}

/// Throws Error where a label is no class, before the first step.
void Batches::checkLabels(const Source &source, int64_t classes) const {
  checkIntegers(source, [&](int64_t label) -> std::string {
    if ((label >= 0 && label < classes) || label == kIgnoredLabel)
      return "";
    return " is no class of '" + source.name +
           "': it must be at least 0 and less than " + std::to_string(classes) +
           ", or " + std::to_string(kIgnoredLabel) + ", which does not count";
  });
}

/// Throws Error if the model cannot look up an integer.
void Batches::checkRange(const Source &source, int64_t low,
                         int64_t high) const {
  checkIntegers(source, [&](int64_t value) -> std::string {
    if (value >= low && value <= high)
      return "";
    return " is no place that the model can look up by '" + source.name +
           "': it must be at least " + std::to_string(low) + " and at most " +
           std::to_string(high);
  });
}

void Batches::add(Source source, const std::string &option,
                  const host::Inputs &given) {
  bool isKnown = given.count(source.name) != 0;
  for (const Source &other : sources)
    isKnown |= other.name == source.name;
  if (isKnown || source.name == "step")
    throw host::Error(
        option + ": '" + source.name +
        (isKnown ? "' is given already" : "' is what --train counts itself"));
  sources.push_back(std::move(source));
}

/// Throws Error where a token is no value of what it is to become.
static void checkTokens(const std::string &file, const host::Tensor &tokens,
                        const host::TensorDesc &desc) {
  const char *at = static_cast<const char *>(tokens.data);
  int64_t bytes = host::dtypeBytes(tokens.dtype);
  for (int64_t i = 0, e = tokens.count(); i < e; ++i, at += bytes) {
    int64_t before, after;
    char value[8] = {};
    host::convert(tokens.dtype, at, DIST_I64, &before, 1);
    host::convert(tokens.dtype, at, desc.dtype, value, 1);
    host::convert(desc.dtype, value, DIST_I64, &after, 1);
    // The upper half of u64 is negative in i64.
    bool wasNegative = before < 0 && tokens.dtype != DIST_U64;
    bool isNegative = after < 0 && desc.dtype != DIST_U64;
    if (wasNegative)
      throw host::Error(file + ": token " + std::to_string(i) + " is " +
                        std::to_string(before) +
                        ", and tokens are what the model reads, too; labels "
                        "that do not count come with --data NAME=FILE.npy");
    if (before != after || isNegative)
      throw host::Error(file + ": token " + std::to_string(i) + " is " +
                        std::to_string(static_cast<uint64_t>(before)) +
                        ", which is no value of '" + desc.name + "', of type " +
                        host::dtypeName(desc.dtype));
  }
}

void Batches::addTokens(const std::string &file, const host::Manifest &manifest,
                        const std::string &target, const host::Inputs &given) {
  if (!sources.empty())
    throw host::Error("--data " + file +
                      ": a file of tokens gives all that changes, and another "
                      "--data is given (NAME=FILE.npy: rows of one input)");
  const host::TensorDesc *labels = find(manifest, target);
  if (!labels || labels->globalShape.empty() || !isInteger(labels->dtype))
    throw host::Error("--data " + file + ": the step has no integers '" +
                      target +
                      "' that tokens could be; NAME=FILE.npy gives "
                      "rows of an input");
  const host::TensorDesc *input = nullptr;
  std::string candidates;
  for (const host::TensorDesc &desc : manifest.arguments) {
    if (desc.kind != host::TensorDesc::Input || &desc == labels ||
        !isInteger(desc.dtype) || desc.globalShape != labels->globalShape ||
        given.count(desc.name))
      continue;
    input = &desc;
    candidates += " " + desc.name;
  }
  if (!input || candidates != " " + input->name)
    throw host::Error(
        "--data " + file +
        ": tokens go to the one input of integers of shape " +
        host::toString(labels->globalShape) + " that --input does not give" +
        (input ? ", and these are:" + candidates : ", and there is none"));
  host::noteInput(file);
  host::Tensor tokens = host::readNpy(file);
  int64_t length = labels->globalShape.back();
  if (!isInteger(tokens.dtype) || tokens.shape.empty() ||
      tokens.shape.size() > 2)
    throw host::Error(file + ": is " + host::dtypeName(tokens.dtype) +
                      host::toString(tokens.shape) +
                      "; tokens are a row of integers, or rows of " +
                      std::to_string(length + 1));
  bool isText = tokens.shape.size() == 1;
  if (!isText && tokens.shape[1] != length + 1)
    throw host::Error(file + ": has rows of " +
                      std::to_string(tokens.shape[1]) +
                      " tokens; a sample is one more than the " +
                      std::to_string(length) + " that the model takes");
  samples = isText ? (tokens.count() - 1) / std::max<int64_t>(length, 1)
                   : tokens.shape[0];
  if (length < 1 || samples < 1)
    throw host::Error(file + ": has " + std::to_string(tokens.count()) +
                      " tokens; one sample takes " +
                      std::to_string(length + 1));
  batch = labels->globalShape.size() == (microbatches > 1 ? 2 : 1)
              ? microbatches
              : host::numElements(labels->globalShape) / length;
  checkTokens(file, tokens, *input);
  checkTokens(file, tokens, *labels);
  int64_t stride = isText ? length : length + 1;
  add({input->name, *input, file, tokens, 0, stride}, "--data " + file, given);
  add({target, *labels, file, tokens, 1, stride}, "--data " + file, given);
  units = batch * length;
  isTokens = true;
}

void Batches::addRows(const std::string &name, const std::string &file,
                      const host::Manifest &manifest,
                      const host::Inputs &given) {
  const host::TensorDesc *desc = find(manifest, name);
  std::string option = "--data " + name + "=" + file;
  if (!desc) {
    std::string known;
    for (const host::TensorDesc &one : manifest.arguments)
      if (one.kind == host::TensorDesc::Input)
        known += " " + one.name;
    throw host::Error(option +
                      ": the step has no such input; its inputs are:" + known);
  }
  if (isTokens)
    throw host::Error(option + ": a file of tokens is given, too, which gives "
                               "all that changes");
  if (desc->globalShape.empty())
    throw host::Error(option + ": a single number has no rows");
  host::noteInput(file);
  host::Tensor rows = host::readNpy(file);
  host::Shape wanted = desc->globalShape;
  int64_t first = wanted[0];
  if (microbatches > 1) {
    wanted.erase(wanted.begin());
    first = wanted.empty() ? microbatches : microbatches * wanted[0];
  }
  std::string whole = host::toString(wanted);
  if (rows.shape.size() == wanted.size() && !wanted.empty())
    wanted[0] = rows.shape[0];
  std::optional<std::string> inexact = host::findInexact(rows, desc->dtype);
  if (rows.shape != wanted || rows.shape.empty() || rows.shape[0] < 1 ||
      inexact)
    throw host::Error(
        option + ": is " + host::dtypeName(rows.dtype) +
        host::toString(rows.shape) + inexact.value_or(std::string()) +
        ", but a step takes " + host::dtypeName(desc->dtype) + whole +
        "; the file holds any number of such rows");
  if (!sources.empty() && (rows.shape[0] != samples || first != batch))
    throw host::Error(option + ": has " + std::to_string(rows.shape[0]) +
                      " rows, of which a step takes " + std::to_string(first) +
                      "; '" + sources.front().name + "' has " +
                      std::to_string(samples) + " and takes " +
                      std::to_string(batch));
  samples = rows.shape[0];
  units = batch = first;
  add({name, *desc, file, rows, 0, rowElements(rows.shape)}, option, given);
}

/// SplitMix64 (Steele, Lea and Flood 2014).
static uint64_t mix(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// Each epoch goes through all samples, in an order of its own.
int64_t Batches::sampleAt(int64_t place) {
  if (inOrder)
    return place % samples;
  if (place / samples != epoch) {
    epoch = place / samples;
    order.resize(samples);
    std::iota(order.begin(), order.end(), 0);
    uint64_t state = seed;
    state = mix(state) + epoch;
    for (int64_t i = samples - 1; i > 0; --i)
      std::swap(order[i], order[mix(state) % (i + 1)]);
  }
  return order[place % samples];
}

void Batches::fill(int64_t step, host::Inputs &inputs) {
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < batch; ++i)
    chosen.push_back(sampleAt(step * batch + i));
  for (const Source &source : sources) {
    host::Tensor &tensor = inputs[source.name];
    if (!tensor.data)
      tensor = host::Tensor::zeros(source.desc.dtype, source.desc.globalShape);
    int64_t count = batch ? tensor.count() / batch : 0;
    int64_t from = host::dtypeBytes(source.data.dtype);
    int64_t to = host::dtypeBytes(tensor.dtype);
    for (int64_t i = 0; i < batch; ++i)
      host::convert(source.data.dtype,
                    static_cast<const char *>(source.data.data) +
                        (source.first + chosen[i] * source.stride) * from,
                    tensor.dtype,
                    static_cast<char *>(tensor.data) + i * count * to, count);
  }
}
