//===- Pipeline.cpp - Models cut into stages ------------------------------===//

#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Directive.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::dist;

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistPipeline.cpp.inc"

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static constexpr StringRef kTables[] = {"gpipe", "1f1b", "interleaved", "zb_h1",
                                        "zb_v"};

int64_t mlir::dist::countChunks(StringRef table, int64_t chunks) {
  return table == "zb_v" ? 2 : chunks;
}

bool mlir::dist::splitsBackward(StringRef table) {
  return table == "zb_h1" || table == "zb_v";
}

std::optional<PipelineNote> PipelineNote::get(MeshOp mesh) {
  auto dictionary = mesh ? mesh->getAttrOfType<DictionaryAttr>(kPipelineAttr)
                         : DictionaryAttr();
  if (!dictionary)
    return std::nullopt;
  PipelineNote note;
  note.table = dictionary.getAs<StringAttr>("table");
  note.axis = dictionary.getAs<StringAttr>("axis");
  note.text = dictionary.getAs<StringAttr>("text");
  note.chunks = dictionary.getAs<IntegerAttr>("chunks").getInt();
  note.split = dictionary.contains("split");
  if (auto balance = dictionary.getAs<IntegerAttr>("balance"))
    note.balance = balance.getInt();
  note.by = dictionary.getAs<LocationAttr>("by");
  for (Attribute stage : dictionary.getAs<ArrayAttr>("stages"))
    note.stages.push_back(
        llvm::to_vector(cast<ArrayAttr>(stage).getAsRange<StringAttr>()));
  return note;
}

DictionaryAttr PipelineNote::toAttr(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<Attribute> lists;
  for (ArrayRef<StringAttr> stage : stages)
    lists.push_back(builder.getArrayAttr(
        SmallVector<Attribute>(stage.begin(), stage.end())));
  NamedAttrList list;
  list.set("table", table);
  list.set("axis", axis);
  if (text)
    list.set("text", text);
  list.set("chunks", builder.getI64IntegerAttr(chunks));
  if (split)
    list.set("split", builder.getUnitAttr());
  if (balance)
    list.set("balance", builder.getI64IntegerAttr(balance));
  list.set("stages", builder.getArrayAttr(lists));
  list.set("by", by);
  return list.getDictionary(context);
}

//===----------------------------------------------------------------------===//
// dist.pipeline
//===----------------------------------------------------------------------===//

ParseResult PipelineOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  std::string table;
  ArrayAttr axes;
  if (succeeded(parser.parseOptionalKeyword("table")))
    result.addAttribute("file", builder.getUnitAttr());
  if (parseName(parser, table, "a table", "1f1b") ||
      parser.parseKeyword("over") || parseAxisList(parser, axes))
    return failure();
  result.addAttribute("table", builder.getStringAttr(table));
  result.addAttribute("axes", axes);
  if (succeeded(parser.parseOptionalKeyword("chunks"))) {
    int64_t chunks = 0;
    if (parser.parseInteger(chunks))
      return failure();
    result.addAttribute("chunks", builder.getI64IntegerAttr(chunks));
  }
  if (succeeded(parser.parseOptionalKeyword("split")))
    result.addAttribute("split", builder.getUnitAttr());
  return parser.parseOptionalAttrDict(result.attributes);
}

void PipelineOp::print(OpAsmPrinter &printer) {
  printer << (getFile() ? " table " : " ");
  printer.printAttribute(getTableAttr());
  printer << " over ";
  printAxisList(printer, *this, getAxes());
  if (getChunks() != 1)
    printer << " chunks " << getChunks();
  if (getSplit())
    printer << " split";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"table", "axes", "chunks",
                                                      "split", "file", "text"});
}

LogicalResult PipelineOp::verify() {
  SmallVector<AxisRefAttr> axes = getAxisRefs(getAxes());
  if (failed(verifyDirectiveAxes(*this, axes)))
    return failure();
  if (axes.size() != 1 || axes.front().isSubAxis())
    return emitOpError() << "is over one axis of the mesh, which it has whole";
  if (getFile()) {
    if (getChunks() != 1 || getSplit())
      return emitOpError() << "has a table of its own, which says what chunks "
                              "and split would";
    return success();
  }
  if (!llvm::is_contained(kTables, getTable()))
    return emitOpError() << "has no table \"" << getTable() << "\": known are "
                         << llvm::interleaved(kTables)
                         << ", and files: table \"mine.csv\"";
  // Stages are numbers of 32 bits.
  constexpr int64_t kMostChunks = 1 << 10;
  if (int64_t(getChunks()) > kMostChunks)
    return emitOpError() << "has " << getChunks() << " chunks; at most "
                         << kMostChunks << " are";
  bool isInterleaved = getTable() == "interleaved";
  if (isInterleaved && int64_t(getChunks()) < 2)
    return emitOpError() << "\"interleaved\" wants at least 2 chunks, as in "
                            "'chunks 2': each device has so many stages";
  if (!isInterleaved && getChunks() != 1)
    return emitOpError() << "\"" << getTable() << "\" has no chunks"
                         << (getTable() == "zb_v" ? " but its two" : "")
                         << ": \"interleaved\" has";
  return success();
}

//===----------------------------------------------------------------------===//
// dist.stages
//===----------------------------------------------------------------------===//

ParseResult StagesOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  std::string target;
  if (parseTarget(parser, target))
    return failure();
  result.addAttribute("target", builder.getStringAttr(target));
  if (succeeded(parser.parseOptionalKeyword("sizes"))) {
    SmallVector<int64_t> sizes;
    auto parseSize = [&] { return parser.parseInteger(sizes.emplace_back()); };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize))
      return failure();
    result.addAttribute("sizes", builder.getDenseI64ArrayAttr(sizes));
  }
  if (succeeded(parser.parseOptionalKeyword("balance")))
    result.addAttribute("balance", builder.getUnitAttr());
  if (parseCount(parser, result))
    return failure();
  return parser.parseOptionalAttrDict(result.attributes);
}

void StagesOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttribute(getTargetAttr());
  if (std::optional<ArrayRef<int64_t>> sizes = getSizes())
    printer << " sizes [" << llvm::interleaved(*sizes) << "]";
  if (getBalance())
    printer << " balance";
  printCount(printer, *this);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {"target", "sizes", "balance", "except", "optional", "expect"});
}

LogicalResult StagesOp::verify() {
  if (getBalance() && getSizes())
    return emitOpError() << "has sizes, and is to be balanced: give either";
  if (std::optional<ArrayRef<int64_t>> sizes = getSizes())
    for (int64_t size : *sizes)
      if (size < 1)
        return emitOpError()
               << "sizes has " << size << ": a stage has at least one module";
  return verifyCount(*this);
}

//===----------------------------------------------------------------------===//
// dist.cut_pipeline_stage
//===----------------------------------------------------------------------===//

ParseResult CutPipelineStageOp::parse(OpAsmParser &parser,
                                      OperationState &result) {
  std::string target;
  if (parseTarget(parser, target) || parseCount(parser, result))
    return failure();
  result.addAttribute("target", parser.getBuilder().getStringAttr(target));
  return parser.parseOptionalAttrDict(result.attributes);
}

void CutPipelineStageOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttribute(getTargetAttr());
  printCount(printer, *this);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"target", "except", "optional", "expect"});
}

LogicalResult CutPipelineStageOp::verify() { return verifyCount(*this); }

//===----------------------------------------------------------------------===//
// Tasks and transfers
//===----------------------------------------------------------------------===//

/// Whether a task of `stage` may read `value`: what another task makes comes by
/// a transfer.
static LogicalResult verifyRead(TaskOp task, Value value) {
  uint64_t stage = task.getStage();
  Operation *def = value.getDefiningOp();
  if (auto other = dyn_cast_or_null<TaskOp>(def);
      other && other.getStage() != stage)
    return task.emitOpError()
           << "of stage " << stage << " reads a value of stage "
           << other.getStage() << " without a dist.transfer";
  if (auto transfer = dyn_cast_or_null<TransferOp>(def);
      transfer && transfer.getTarget() != stage)
    return task.emitOpError()
           << "of stage " << stage << " reads a transfer to stage "
           << transfer.getTarget();
  return success();
}

LogicalResult TaskOp::verifyRegions() {
  if (int64_t(getStage()) < 0 || int64_t(getPart()) < 0)
    return emitOpError() << "has a negative stage or part";
  if (getPart() != 0 && getKind() != TaskKind::End)
    return emitOpError() << "has a part, which only 'end' has";
  auto yield = dyn_cast<TaskYieldOp>(getBody().front().back());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "does not end with a dist.task_yield of its "
                            "results' types";
  for (Type type : getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return emitOpError() << "has a result of type " << type
                           << ", which is no tensor of static sizes";
  }
  SetVector<Value> reads;
  getUsedValuesDefinedAbove(getBody(), reads);
  for (Value read : reads)
    if (failed(verifyRead(*this, read)))
      return failure();
  return success();
}

LogicalResult TransferOp::verify() {
  int64_t source = getSource(), target = getTarget();
  if (source < 0 || target < 0 || source == target)
    return emitOpError() << "from stage " << source << " to " << target
                         << ": two stages are wanted";
  auto task = getOperand().getDefiningOp<TaskOp>();
  if (task && task.getStage() != getSource())
    return emitOpError() << "from stage " << source << " has a value of stage "
                         << task.getStage();
  return success();
}
