//===- ConvertRtToLLVM.cpp - Runtime calls in the LLVM dialect ------------===//

#include "lowering/rt/ConvertRtToLLVM.h"
#include "dialects/dist/IR/Dist.h"
#include "lowering/rt/Rt.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::rt;

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

RuntimeSymbols::RuntimeSymbols(ModuleOp module) : module(module) {
  for (Operation &op : *module.getBody())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      functions[symbol.getName()] = &op;
  // Those of the tasks before this one, of which a pipeline consists.
  if (auto known = module->getAttrOfType<ArrayAttr>(kChecksAttr))
    for (DictionaryAttr check : known.getAsRange<DictionaryAttr>())
      checks.insert({check, checks.size()});
  int32_t numPlans = 0;
  if (auto known = module->getAttrOfType<IntegerAttr>(kRowPlansAttr))
    numPlans = known.getInt();
  module.walk([&](Operation *op) {
    auto collective = dyn_cast<rt::CollectiveOpInterface>(op);
    if (isa<EventRecordOp>(op) || (collective && collective.getToken()))
      events.insert({op, events.size()});
    if (isa<PlanRowsOp>(op))
      rowPlans.insert({op, numPlans++});
    if (auto fail = dyn_cast<FailOp>(op))
      checks.insert({describe(fail.getMessageAttr(), bool(fail.getValue())),
                     checks.size()});
  });
  SmallVector<Attribute> list;
  for (auto &[check, number] : checks)
    list.push_back(check);
  Builder builder(module.getContext());
  module->setAttr(kChecksAttr, builder.getArrayAttr(list));
  if (numPlans > 0)
    module->setAttr(kRowPlansAttr, builder.getI64IntegerAttr(numPlans));
}

DictionaryAttr RuntimeSymbols::describe(StringAttr message, bool hasValue) {
  Builder builder(message.getContext());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("message", message),
       builder.getNamedAttr("value", builder.getBoolAttr(hasValue))});
}

LLVM::LLVMFuncOp RuntimeSymbols::function(StringRef name, Type result,
                                          TypeRange arguments) {
  Operation *&known = functions[name];
  if (!known) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    known = LLVM::LLVMFuncOp::create(
        builder, module.getLoc(), name,
        LLVM::LLVMFunctionType::get(result, SmallVector<Type>(arguments)));
  }
  return cast<LLVM::LLVMFuncOp>(known);
}

Value RuntimeSymbols::table(OpBuilder &builder, Location loc,
                            ArrayRef<int64_t> values) {
  LLVM::GlobalOp &global = tables[builder.getDenseI64ArrayAttr(values)];
  if (!global) {
    OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), values.size());
    auto data = DenseElementsAttr::get(
        RankedTensorType::get({int64_t(values.size())}, builder.getI64Type()),
        values);
    global = LLVM::GlobalOp::create(
        atStart, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
        "table_" + std::to_string(tables.size() - 1), data);
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

Value RuntimeSymbols::text(OpBuilder &builder, Location loc, StringRef value) {
  LLVM::GlobalOp &global = texts[value];
  if (!global) {
    OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
    std::string data = value.str();
    data.push_back(0);
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), data.size());
    global = LLVM::GlobalOp::create(atStart, loc, type, /*isConstant=*/true,
                                    LLVM::Linkage::Internal,
                                    "text_" + std::to_string(texts.size() - 1),
                                    builder.getStringAttr(data));
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

void mlir::rt::markModules(FunctionOpInterface program,
                           RuntimeSymbols &symbols) {
  SmallVector<Operation *> calls;
  bool isNamed = false;
  program->walk([&](Operation *op) {
    if (!isa<ContractOp, ConvolveOp, CallOpInterface>(op))
      return;
    calls.push_back(op);
    isNamed |= op->hasAttr(dist::kScopeAttr);
  });
  if (!isNamed)
    return;
  Type pointer = LLVM::LLVMPointerType::get(program.getContext());
  LLVM::LLVMFuncOp mark = symbols.function(
      "dist_mark", LLVM::LLVMVoidType::get(program.getContext()),
      {pointer, pointer});
  for (Operation *op : calls) {
    OpBuilder builder(op);
    auto scope = op->getAttrOfType<StringAttr>(dist::kScopeAttr);
    Value text =
        symbols.text(builder, op->getLoc(), scope ? scope.getValue() : "");
    LLVM::CallOp::create(builder, op->getLoc(), mark,
                         ValueRange{program.getArgument(0), text});
    op->removeAttr(dist::kScopeAttr);
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

/// A call under construction: its arguments, in order.
class Call {
public:
  Call(RuntimeSymbols &symbols, OpBuilder &builder, Operation *op)
      : symbols(symbols), builder(builder), op(op), loc(op->getLoc()) {
    add(op->getParentOfType<FunctionOpInterface>().getArgument(0));
  }

  Call &add(Value value) {
    arguments.push_back(value);
    return *this;
  }
  Call &i32(int32_t value) {
    return add(LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                        builder.getI32IntegerAttr(value)));
  }
  Call &f32(float value) {
    return add(LLVM::ConstantOp::create(builder, loc, builder.getF32Type(),
                                        builder.getF32FloatAttr(value)));
  }
  Call &i64(int64_t value) {
    return add(LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                        builder.getI64IntegerAttr(value)));
  }
  Call &table(ArrayRef<int64_t> values) {
    return add(symbols.table(builder, loc, values));
  }
  /// Number of the elements' type in the C interface.
  LogicalResult dtype(Value buffer) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    FailureOr<int32_t> value = getDtype(element);
    if (failed(value))
      return op->emitOpError("the runtime has no element type ") << element;
    i32(*value);
    return success();
  }
  /// The function has the name of the op, with the prefix `dist_`.
  Value emit(Type result) {
    LLVM::LLVMFuncOp function =
        symbols.function(("dist_" + op->getName().stripDialect()).str(), result,
                         ValueRange(arguments).getTypes());
    return LLVM::CallOp::create(builder, loc, function, arguments).getResult();
  }
  /// A call that returns a status. A failing one does not return below
  /// dist_main: nobody reads it.
  void emit() { emit(builder.getI32Type()); }
  /// Likewise, of another function.
  void emit(StringRef function) {
    LLVM::CallOp::create(builder, loc,
                         symbols.function(function, builder.getI32Type(),
                                          ValueRange(arguments).getTypes()),
                         arguments);
  }

private:
  RuntimeSymbols &symbols;
  OpBuilder &builder;
  Operation *op;
  Location loc;
  SmallVector<Value> arguments;
};

template <typename Op> struct RuntimePattern : ConvertOpToLLVMPattern<Op> {
  RuntimePattern(const LLVMTypeConverter &converter, RuntimeSymbols &symbols)
      : ConvertOpToLLVMPattern<Op>(converter), symbols(symbols) {}

  /// The address of the first element of a buffer.
  Value getPointer(ConversionPatternRewriter &rewriter, Value original,
                   Value converted) const {
    return MemRefDescriptor(converted).bufferPtr(
        rewriter, original.getLoc(), *this->getTypeConverter(),
        cast<MemRefType>(original.getType()));
  }

  RuntimeSymbols &symbols;
};

} // namespace

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static int64_t countOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getNumElements();
}

// The parameters between dtype and the pointers, in the order of runtime.h.

static void addParameters(Call &call, AllReduceOp op) {
  call.i32(static_cast<int32_t>(op.getReduction())).i64(countOf(op.getInput()));
}
static void addParameters(Call &call, AllGatherOp op) {
  call.i64(op.getOuter()).i64(op.getWhole()).i64(op.getInner());
}
static void addParameters(Call &call, ReduceScatterOp op) {
  call.i32(static_cast<int32_t>(op.getReduction()));
  call.i64(op.getOuter()).i64(op.getWhole()).i64(op.getInner());
}
static void addParameters(Call &call, AllToAllOp op) {
  call.i32(op.getSplitFirst()).i64(op.getOuter()).i64(op.getSplitWhole());
  call.i64(op.getMiddle()).i64(op.getConcatWhole()).i64(op.getInner());
}
static void addParameters(Call &call, BroadcastOp op) {
  call.i64(op.getRoot()).i64(countOf(op.getInput()));
}
static void addParameters(Call &call, CollectivePermuteOp op) {
  call.i64(op.getPairs().size() / 2).table(op.getPairs());
  call.i64(countOf(op.getInput()));
}
static void addParameters(Call &call, HaloExchangeOp op) {
  call.i64(op.getOuter()).i64(op.getWhole()).i64(op.getInner());
  call.i64(op.getLow()).i64(op.getHigh());
  call.i32(static_cast<int32_t>(op.getBoundary())).i64(op.getFill());
}
static void addParameters(Call &call, HaloReduceOp op) {
  call.i64(op.getOuter()).i64(op.getWhole()).i64(op.getInner());
  call.i64(op.getLow()).i64(op.getHigh()).i32(op.getPeriodic());
}
template <typename RowsOp>
static void addRowsParameters(Call &call, RowsOp op) {
  call.i64(op.getOuter()).i64(op.getWhole()).i64(op.getInner());
}
static void addParameters(Call &call, GatherRowsOp op) {
  addRowsParameters(call, op);
}
static void addParameters(Call &call, ReduceRowsOp op) {
  addRowsParameters(call, op);
}

namespace {

template <typename Op> struct LowerCollective : RuntimePattern<Op> {
  using RuntimePattern<Op>::RuntimePattern;
  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    // For a collective that is only started: it runs after all that has been
    // issued so far. One event marks that, and then its end.
    int32_t stream = op.getStream(), number = -1;
    if (op.getToken()) {
      number = this->symbols.event(op);
      if (number > kMaxEvent)
        return op.emitOpError("a program records at most ")
               << kMaxEvent + 1 << " events, one for each collective that is "
               << "started";
      record(rewriter, op, number, /*stream=*/0);
      Call(this->symbols, rewriter, op)
          .i32(stream)
          .i32(number)
          .emit("dist_stream_wait");
    }
    Call call(this->symbols, rewriter, op);
    call.i32(op.getComm()).i32(op.getStream()).i32(op.getSite());
    if (failed(call.dtype(op.getInput())))
      return failure();
    for (auto [original, converted] :
         llvm::zip_equal(op->getOperands(), adaptor.getOperands()))
      if (isa<RowPlanType>(original.getType()))
        call.add(converted);
    addParameters(call, op);
    for (auto [original, converted] :
         llvm::zip_equal(op->getOperands(), adaptor.getOperands()))
      if (!isa<RowPlanType>(original.getType()))
        call.add(this->getPointer(rewriter, original, converted));
    call.emit();
    if (!op.getToken()) {
      rewriter.eraseOp(op);
      return success();
    }
    record(rewriter, op, number, stream);
    rewriter.replaceOpWithNewOp<LLVM::ConstantOp>(
        op, rewriter.getI32Type(), rewriter.getI32IntegerAttr(number));
    return success();
  }

private:
  void record(OpBuilder &builder, Operation *op, int32_t event,
              int32_t stream) const {
    Call(this->symbols, builder, op)
        .i32(event)
        .i32(stream)
        .emit("dist_event_record");
  }
};

struct LowerPlanRows : RuntimePattern<PlanRowsOp> {
  using RuntimePattern::RuntimePattern;
  LogicalResult
  matchAndRewrite(PlanRowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    int32_t number = symbols.rowPlan(op);
    if (number > kMaxRowPlan)
      return op.emitOpError("a program has at most ")
             << kMaxRowPlan + 1
             << " plans of rows, one for each tensor of indices";
    Call(symbols, rewriter, op)
        .i32(op.getComm())
        .i32(op.getSite())
        .i32(number)
        .i64(op.getWhole())
        .i64(countOf(op.getIndices()))
        .add(getPointer(rewriter, op.getIndices(), adaptor.getIndices()))
        .emit();
    rewriter.replaceOpWithNewOp<LLVM::ConstantOp>(
        op, rewriter.getI32Type(), rewriter.getI32IntegerAttr(number));
    return success();
  }
};

struct LowerWait : RuntimePattern<WaitOp> {
  using RuntimePattern::RuntimePattern;
  LogicalResult
  matchAndRewrite(WaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Call(symbols, rewriter, op)
        .i32(0)
        .add(adaptor.getToken())
        .emit("dist_stream_wait");
    rewriter.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

struct LowerEventRecord : RuntimePattern<EventRecordOp> {
  using RuntimePattern::RuntimePattern;
  LogicalResult
  matchAndRewrite(EventRecordOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    int32_t number = symbols.event(op);
    if (number > kMaxEvent)
      return op.emitOpError("a program records at most ")
             << kMaxEvent + 1 << " events";
    Call(symbols, rewriter, op).i32(number).i32(op.getStream()).emit();
    rewriter.replaceOpWithNewOp<LLVM::ConstantOp>(
        op, rewriter.getI32Type(), rewriter.getI32IntegerAttr(number));
    return success();
  }
};

struct LowerStreamWait : RuntimePattern<StreamWaitOp> {
  using RuntimePattern::RuntimePattern;
  LogicalResult
  matchAndRewrite(StreamWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Call(symbols, rewriter, op)
        .i32(op.getStream())
        .add(adaptor.getEvent())
        .emit();
    rewriter.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Computation, place, failure
//===----------------------------------------------------------------------===//

struct LowerContract : RuntimePattern<ContractOp> {
  using RuntimePattern::RuntimePattern;
  LogicalResult
  matchAndRewrite(ContractOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<int64_t> table;
    for (LoopAttr loop : op.getLoops().getAsRange<LoopAttr>())
      table.append({static_cast<int64_t>(loop.getKind()), loop.getExtent(),
                    loop.getA(), loop.getB(), loop.getC()});
    Call call(symbols, rewriter, op);
    if (failed(call.dtype(op.getA())) || failed(call.dtype(op.getC())))
      return failure();
    // dist_contract_flags
    int32_t flags = (op.getAccumulate() ? 1 : 0) | (op.getConstantA() ? 2 : 0) |
                    (op.getConstantB() ? 4 : 0) | (op.getOnlyA() ? 8 : 0) |
                    (op.getOnlyB() ? 16 : 0);
    call.i32(flags).i32(op.getLoops().size()).table(table);
    call.add(getPointer(rewriter, op.getA(), adaptor.getA()))
        .add(getPointer(rewriter, op.getB(), adaptor.getB()))
        .add(getPointer(rewriter, op.getC(), adaptor.getC()))
        .emit();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerConvolve : RuntimePattern<ConvolveOp> {
  using RuntimePattern::RuntimePattern;

  /// dist_convolve's table.
  static FailureOr<SmallVector<int64_t>> makeTable(ConvolveOp op) {
    enum { Image, Kernel, Out };
    Value operands[] = {op.getImage(), op.getKernel(), op.getInit()};
    ArrayRef<int64_t> shapes[3];
    SmallVector<int64_t> strides[3];
    for (int i : {Image, Kernel, Out}) {
      auto type = cast<MemRefType>(operands[i].getType());
      shapes[i] = type.getShape();
      int64_t offset;
      if (failed(type.getStridesAndOffset(strides[i], offset)) ||
          llvm::is_contained(strides[i], ShapedType::kDynamic))
        return op.emitOpError("operand of type ")
               << type << " has no static strides";
    }
    SmallVector<int64_t> table;
    auto add = [&](ArrayRef<int64_t> dims, ArrayRef<int> of) {
      table.push_back(dims.empty() ? 1 : shapes[of[0]][dims[0]]);
      for (auto [index, operand] : llvm::enumerate(of))
        table.push_back(dims.empty() ? 0 : strides[operand][dims[index]]);
    };
    add(op.getBatch(), {Image, Out});
    add(op.getGroup(), {Image, Kernel, Out});
    add(op.getChannel(), {Image, Kernel});
    add(op.getFeature(), {Kernel, Out});
    for (WindowAttr window : op.getWindows().getAsRange<WindowAttr>()) {
      int64_t image = window.getImage(), kernel = window.getKernel(),
              out = window.getOut();
      table.append(
          {shapes[Image][image], shapes[Out][out], shapes[Kernel][kernel],
           window.getStride(), window.getDilation(), window.getLow(),
           strides[Image][image], strides[Kernel][kernel], strides[Out][out]});
    }
    return table;
  }

  LogicalResult
  matchAndRewrite(ConvolveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<SmallVector<int64_t>> table = makeTable(op);
    Call call(symbols, rewriter, op);
    if (failed(table) || failed(call.dtype(op.getInit())))
      return failure();
    // dist_convolve_flags
    std::optional<ArrayRef<float>> clamp = op.getClamp();
    int32_t flags = (op.getAccumulate() ? 1 : 0) | (op.getConstant() ? 2 : 0) |
                    (clamp ? 4 : 0);
    call.i32(flags).i32(op.getWindows().size()).table(*table);
    call.add(getPointer(rewriter, op.getImage(), adaptor.getImage()))
        .add(getPointer(rewriter, op.getKernel(), adaptor.getKernel()))
        .add(op.getBias()
                 ? getPointer(rewriter, op.getBias(), adaptor.getBias())
                 : LLVM::ZeroOp::create(
                       rewriter, op.getLoc(),
                       LLVM::LLVMPointerType::get(op.getContext())))
        .add(getPointer(rewriter, op.getInit(), adaptor.getInit()))
        .f32(clamp ? clamp->front() : 0)
        .f32(clamp ? clamp->back() : 0)
        .emit();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerCommIndex : RuntimePattern<CommIndexOp> {
  using RuntimePattern::RuntimePattern;
  LogicalResult
  matchAndRewrite(CommIndexOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, Call(symbols, rewriter, op)
                               .i32(op.getComm())
                               .emit(rewriter.getI64Type()));
    return success();
  }
};

struct LowerCheck : RuntimePattern<CheckOp> {
  using RuntimePattern::RuntimePattern;
  LogicalResult
  matchAndRewrite(CheckOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Call(symbols, rewriter, op).emit();
    rewriter.eraseOp(op);
    return success();
  }
};

/// The first failure stays, also among the threads of a kernel: one of them
/// wins, and the others write nothing.
struct LowerFail : RuntimePattern<FailOp> {
  using RuntimePattern::RuntimePattern;
  LogicalResult
  matchAndRewrite(FailOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type i64 = rewriter.getI64Type();
    int32_t check = symbols.check(op.getMessageAttr(), bool(op.getValue()));
    auto constant = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, loc, i64,
                                      rewriter.getI64IntegerAttr(value));
    };
    Value first = adaptor.getStatus();
    Value result = LLVM::AtomicCmpXchgOp::create(
        rewriter, loc, first, constant(0), constant(1 + check),
        LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic);
    if (op.getValue()) {
      Value isFirst = LLVM::ExtractValueOp::create(rewriter, loc, result,
                                                   ArrayRef<int64_t>{1});
      Block *before = op->getBlock();
      Block *after = rewriter.splitBlock(before, op->getIterator());
      Block *won = rewriter.createBlock(after);
      Value slot =
          LLVM::GEPOp::create(rewriter, loc, first.getType(), i64, first,
                              ArrayRef<LLVM::GEPArg>{1 + check});
      LLVM::StoreOp::create(rewriter, loc, adaptor.getValue(), slot);
      LLVM::BrOp::create(rewriter, loc, ValueRange(), after);
      rewriter.setInsertionPointToEnd(before);
      LLVM::CondBrOp::create(rewriter, loc, isFirst, won, ValueRange(), after,
                             ValueRange());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerFailed : RuntimePattern<FailedOp> {
  using RuntimePattern::RuntimePattern;
  LogicalResult
  matchAndRewrite(FailedOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type i64 = rewriter.getI64Type();
    Value first =
        LLVM::LoadOp::create(rewriter, op.getLoc(), i64, adaptor.getStatus());
    Value none = LLVM::ConstantOp::create(rewriter, op.getLoc(), i64,
                                          rewriter.getI64IntegerAttr(0));
    rewriter.replaceOpWithNewOp<LLVM::ICmpOp>(op, LLVM::ICmpPredicate::ne,
                                              first, none);
    return success();
  }
};

} // namespace

void mlir::rt::populateRtToLLVMPatterns(const LLVMTypeConverter &converter,
                                        RuntimeSymbols &symbols,
                                        RewritePatternSet &patterns) {
  patterns
      .add<LowerCollective<AllReduceOp>, LowerCollective<AllGatherOp>,
           LowerCollective<ReduceScatterOp>, LowerCollective<AllToAllOp>,
           LowerCollective<BroadcastOp>, LowerCollective<CollectivePermuteOp>,
           LowerCollective<HaloExchangeOp>, LowerCollective<HaloReduceOp>,
           LowerCollective<GatherRowsOp>, LowerCollective<ReduceRowsOp>,
           LowerPlanRows, LowerWait, LowerEventRecord, LowerStreamWait,
           LowerContract, LowerConvolve, LowerCommIndex, LowerCheck, LowerFail,
           LowerFailed>(converter, symbols);
}
