//===- OptionValues.cpp - Values of shared command-line options -----------===//

#include "dist/OptionValues.h"
#include "dist/Npy.h"
#include "dist/OnnxTensor.h"

#include <cstdlib>

using namespace dist;

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

static const TensorDesc &findInput(const Manifest &manifest,
                                   const std::string &option,
                                   const std::string &name) {
  std::string known;
  for (const TensorDesc &desc : manifest.arguments) {
    if (desc.kind != TensorDesc::Input)
      continue;
    if (desc.name == name)
      return desc;
    known += " " + desc.name;
  }
  throw Error("--input " + option + ": the program has no input '" + name +
              "'; its inputs are:" + (known.empty() ? " none" : known));
}

/// Reads `value` if it names a file of a kind that holds a tensor.
static bool readTensorFile(const std::string &value, Tensor &tensor) {
  if (endsWith(value, ".npy"))
    tensor = readNpy(value);
  else if (endsWith(value, ".pb"))
    tensor = readOnnxTensor(value);
  else
    return false;
  return true;
}

static Tensor readInput(const std::string &option, const std::string &value,
                        const TensorDesc &desc) {
  Tensor tensor;
  if (readTensorFile(value, tensor))
    return tensor;
  if (value.rfind("random", 0) == 0) {
    std::string seed = value.substr(6);
    char *end = nullptr;
    uint64_t number =
        seed.size() > 1 ? std::strtoull(seed.c_str() + 1, &end, 10) : 0;
    if (seed.empty() || (seed[0] == ':' && end && !*end))
      return randomTensor(desc.dtype, desc.globalShape, number);
  }
  throw Error("--input " + option +
              ": expected NAME=FILE.npy, NAME=FILE.pb or NAME=random[:SEED]");
}

Inputs dist::readInputs(const std::vector<std::string> &options,
                        const Manifest &manifest) {
  Inputs inputs;
  for (const std::string &option : options) {
    size_t equal = option.find('=');
    if (equal == std::string::npos)
      throw Error("--input " + option +
                  ": expected NAME=FILE.npy, NAME=FILE.pb or "
                  "NAME=random[:SEED]");
    std::string name = option.substr(0, equal);
    const TensorDesc &desc = findInput(manifest, option, name);
    if (inputs.count(name))
      throw Error("--input " + name + " is given twice");
    inputs[name] = readInput(option, option.substr(equal + 1), desc);
  }
  return inputs;
}

std::map<std::string, Shape>
dist::readInputShapes(const std::vector<std::string> &options) {
  std::map<std::string, Shape> shapes;
  for (const std::string &option : options) {
    size_t equal = option.find('=');
    Tensor tensor;
    if (equal != std::string::npos &&
        readTensorFile(option.substr(equal + 1), tensor))
      shapes[option.substr(0, equal)] = tensor.shape;
  }
  return shapes;
}
