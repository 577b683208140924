//===- Converter.h - The operators that are converted -----------*- C++ -*-===//
//
// One table of converters, filled by one function a family of operators.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_OPERATORS_CONVERTER_H
#define DIST_FRONTENDS_ONNX_OPERATORS_CONVERTER_H

#include "NodeContext.h"

#include "llvm/ADT/StringMap.h"

namespace mlir::dist::frontend {

using Convert = LogicalResult (*)(NodeContext &);

struct Converter {
  Convert convert = nullptr;
  /// The inputs that must be there; all are tensors unless it says otherwise.
  unsigned required = 0;
  bool takesSequences = false;
  /// Whether its inputs may have open sizes.
  bool takesOpenSizes = false;
};

class ConverterTable {
public:
  /// Every operator of the standard domain that is converted.
  ConverterTable();
  const Converter *find(StringRef op) const;
  /// All of them, sorted.
  std::vector<std::string> names() const;
  void add(StringRef op, unsigned required, Convert convert,
           bool takesSequences = false);
  /// Says of operators that are there that their inputs may have open sizes.
  void takeOpenSizes(ArrayRef<StringRef> ops);

private:
  llvm::StringMap<Converter> converters;
};

/// softmax (or its logarithm) along `axis`, in the type of `value`.
Value emitSoftmax(Emitter &emitter, Value value, int64_t axis, bool logarithm);

/// NumPy's matmul: the last two dimensions are multiplied, those before are
/// broadcast, and a vector is a row or a column.
FailureOr<Value> emitMatMul(NodeContext &c, Value a, Value b);

void addElementwiseConverters(ConverterTable &table);
void addActivationConverters(ConverterTable &table);
void addShapeConverters(ConverterTable &table);
void addConstantConverters(ConverterTable &table);
void addSliceConverters(ConverterTable &table);
void addContractionConverters(ConverterTable &table);
void addReductionConverters(ConverterTable &table);
void addNormalizationConverters(ConverterTable &table);
void addGatherConverters(ConverterTable &table);
void addScatterConverters(ConverterTable &table);
void addMaskConverters(ConverterTable &table);
void addConvolutionConverters(ConverterTable &table);
void addTransposedConvolutionConverters(ConverterTable &table);
void addPoolConverters(ConverterTable &table);
void addResizeConverters(ConverterTable &table);
void addAttentionConverters(ConverterTable &table);
void addSpectralConverters(ConverterTable &table);
void addRecurrentConverters(ConverterTable &table);
void addQuantizationConverters(ConverterTable &table);
void addSamplingConverters(ConverterTable &table);
void addRandomConverters(ConverterTable &table);
void addBranchConverters(ConverterTable &table);
void addSequenceConverters(ConverterTable &table);
void addLossConverters(ConverterTable &table);

/// Computes a node whose inputs are all known, where it is small and this
/// knows how; leaves the results unset where not.
LogicalResult foldNode(NodeContext &context);

/// The same of integers that depend on open sizes.
void foldOpen(NodeContext &context);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_OPERATORS_CONVERTER_H
