//===- Converter.cpp - The operators that are converted -------------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

ConverterTable::ConverterTable() {
  addElementwiseConverters(*this);
  addActivationConverters(*this);
  addShapeConverters(*this);
  addConstantConverters(*this);
  addSliceConverters(*this);
  addContractionConverters(*this);
  addReductionConverters(*this);
  addNormalizationConverters(*this);
  addGatherConverters(*this);
  addScatterConverters(*this);
  addMaskConverters(*this);
  addConvolutionConverters(*this);
  addTransposedConvolutionConverters(*this);
  addPoolConverters(*this);
  addResizeConverters(*this);
  addAttentionConverters(*this);
  addSpectralConverters(*this);
  addRecurrentConverters(*this);
  addQuantizationConverters(*this);
  addSamplingConverters(*this);
  addRandomConverters(*this);
  addBranchConverters(*this);
  addSequenceConverters(*this);
  addLossConverters(*this);
}

void ConverterTable::takeOpenSizes(ArrayRef<StringRef> ops) {
  for (StringRef op : ops)
    converters.find(op)->second.takesOpenSizes = true;
}

const Converter *ConverterTable::find(StringRef op) const {
  auto it = converters.find(op);
  return it == converters.end() ? nullptr : &it->second;
}

std::vector<std::string> ConverterTable::names() const {
  std::vector<std::string> names;
  for (StringRef name : converters.keys())
    names.push_back(name.str());
  llvm::sort(names);
  return names;
}

void ConverterTable::add(StringRef op, unsigned required, Convert convert,
                         bool takesSequences) {
  converters[op] = {convert, required, takesSequences};
}
