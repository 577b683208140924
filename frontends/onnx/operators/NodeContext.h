//===- NodeContext.h - What converting one node sees ------------*- C++ -*-===//
//
// A node's inputs (tensors, many of them known), its attributes, the emitter,
// and the results. Data movement is done on the host where the data is known.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_OPERATORS_NODECONTEXT_H
#define DIST_FRONTENDS_ONNX_OPERATORS_NODECONTEXT_H

#include "frontends/onnx/emitting/Emitter.h"
#include "frontends/onnx/emitting/Progressions.h"
#include "frontends/onnx/reading/Model.h"

#include "llvm/ADT/StringSet.h"

namespace mlir::dist::frontend {

struct RunningStatistics;

/// A value of the ONNX graph while importing.
struct Tensor {
  DType type = DType::Undefined;
  Shape shape;
  /// Known now; else `value` is.
  std::optional<HostTensor> known;
  /// A parameter's data: it stays a value of the program, but may also say how
  /// many and where (the scales of a Resize).
  std::shared_ptr<const HostTensor> recorded;
  /// The SSA value; made on demand of known tensors.
  Value value;
  /// A sequence of tensors (SplitToSequence); the rest is unset.
  bool isSequence = false;
  std::vector<Tensor> elements;

  int64_t rank() const { return shape.size(); }
};

class NodeContext {
public:
  NodeContext(const Node &node, int64_t opset, Emitter &emitter,
              RunningStatistics &statistics, std::vector<Tensor *> inputs)
      : node(node), opset(opset), emitter(emitter), statistics(statistics),
        inputs(std::move(inputs)), readInputs(this->inputs.size()),
        results(node.outputs.size()) {}

  const Node &node;
  const int64_t opset;
  Emitter &emitter;
  RunningStatistics &statistics;

  /// Inputs. Reading one that is absent gives an empty tensor and an error.
  size_t numInputs() const { return inputs.size(); }
  bool has(size_t i) const {
    if (i >= inputs.size() || !inputs[i])
      return false;
    readInputs[i] = true;
    return true;
  }
  const Tensor &in(size_t i);
  /// As a tensor value; known ones become constants.
  Value value(size_t i);
  /// As a scalar where a single number is known, else as a tensor.
  Value operand(size_t i);
  /// The data of an input that is known or a parameter, or null.
  const HostTensor *data(size_t i) const;
  /// The integers of such an input; none where they depend on open sizes.
  std::optional<SmallVector<int64_t>> ints(size_t i);
  /// The same with those that do, for who asks what they are.
  std::optional<SmallVector<int64_t>> openInts(size_t i);
  /// The single number of such an input.
  std::optional<double> number(size_t i);
  /// Such integers as indices into `size`, where they follow each other; if
  /// `component` is not -1, those with that index along the last dimension.
  std::optional<Progression> progression(size_t i, int64_t size,
                                         int64_t component = -1);

  /// Attributes; one of another kind than asked for is an error. What is not
  /// asked for at all, of attributes and inputs, is told by wasRead().
  bool hasAttr(StringRef name) { return attribute(name) != nullptr; }
  int64_t intAttr(StringRef name, int64_t otherwise);
  bool boolAttr(StringRef name, bool otherwise);
  double floatAttr(StringRef name, double otherwise);
  StringRef stringAttr(StringRef name, StringRef otherwise);
  std::optional<SmallVector<int64_t>> intsAttr(StringRef name);
  std::optional<SmallVector<double>> floatsAttr(StringRef name);
  std::optional<SmallVector<StringRef>> stringsAttr(StringRef name);
  std::optional<HostTensor> tensorAttr(StringRef name);
  /// An attribute up to some opset, an input (`index`) since.
  std::optional<SmallVector<int64_t>> intsAttrOrInput(StringRef name,
                                                      size_t index);

  /// Results.
  void set(size_t i, Value value, DType type);
  void set(size_t i, HostTensor value);
  void set(size_t i, Tensor value);
  /// Whether anything may read result `i`.
  bool wants(size_t i) const {
    return i < node.outputs.size() && !node.outputs[i].empty();
  }
  std::vector<Tensor> &getResults() { return results; }

  /// Data movement; of known tensors that are not too large it is done now. The
  /// element counts, dimensions and bounds must be right.
  Value valueOf(const Tensor &tensor);
  Tensor reshape(const Tensor &tensor, ArrayRef<int64_t> shape);
  Tensor transpose(const Tensor &tensor, ArrayRef<int64_t> permutation);
  Tensor slice(const Tensor &tensor, ArrayRef<int64_t> offsets,
               ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides);
  Tensor concat(ArrayRef<Tensor> tensors, int64_t dim);
  Tensor broadcast(const Tensor &tensor, ArrayRef<int64_t> shape);
  /// The positions `indices` along `dim`, all in range.
  Tensor take(const Tensor &tensor, int64_t dim, ArrayRef<int64_t> indices);

  /// `axis` counted from the front, or an error.
  FailureOr<int64_t> axis(int64_t axis, int64_t rank);
  /// The same for several, sorted; repeated ones are an error.
  FailureOr<SmallVector<int64_t>> axes(ArrayRef<int64_t> axes, int64_t rank);

  /// The file asks for something this importer lacks; collected.
  LogicalResult unsupported(const Twine &what);
  /// The file contradicts itself.
  LogicalResult invalid(const Twine &what);
  /// The requested value depends on an open size; the names of these are
  /// collected.
  LogicalResult open(const Twine &what, ArrayRef<int64_t> sizes);
  /// The sizes contradict each other; or perhaps do, where they are open.
  LogicalResult disagree(const Twine &what, ArrayRef<int64_t> a,
                         ArrayRef<int64_t> b);
  /// Indices of shape `part` are to lie within `whole`, but along `axis`.
  LogicalResult checkWithin(ArrayRef<int64_t> part, ArrayRef<int64_t> whole,
                            int64_t axis);

  /// Arithmetic on sizes, and what is known of open ones.
  Sizes &sizes() { return emitter.sizes; }
  /// NumPy's broadcasting, or an error.
  FailureOr<Shape> broadcastOf(ArrayRef<int64_t> a, ArrayRef<int64_t> b);
  /// Whether some tensor could have that shape, as far as that is known.
  static bool isPossible(ArrayRef<int64_t> shape);
  /// Whether an input has an open size, or integers that depend on one.
  bool hasOpenInput() const;
  /// Limits of open sizes within which the node could be imported.
  const std::vector<SizeLimit> &getLimits() const { return limits; }
  /// Names of open sizes without which the node could be imported.
  const std::set<std::string> &getOpenNames() const { return openNames; }

  bool wasRead(StringRef attribute) const {
    return readAttributes.contains(attribute);
  }
  bool wasRead(size_t input) const { return readInputs[input]; }
  /// An attempt came to nothing: what it read does not count.
  void forgetReads() {
    readAttributes.clear();
    readInputs.assign(inputs.size(), false);
  }

  bool isUnsupported() const { return lacks; }
  const std::string &getMessage() const { return message; }

private:
  const AttributeValue *attribute(StringRef name);

  std::vector<Tensor *> inputs;
  llvm::StringSet<> readAttributes;
  mutable SmallVector<bool> readInputs;
  std::vector<Tensor> results;
  std::string message;
  std::set<std::string> openNames;
  std::vector<SizeLimit> limits;
  bool lacks = false;
};

/// Whether a tensor of this size is worth computing while importing; PyTorch's
/// own constant folding stops at as many numbers.
inline bool isSmall(DType type, int64_t count) {
  return count <= (isFloat(type) ? 8192 : 65536);
}

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_OPERATORS_NODECONTEXT_H
