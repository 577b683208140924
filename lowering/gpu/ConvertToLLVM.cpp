//===- ConvertToLLVM.cpp - The LLVM dialect on both sides -----------------===//
//
// --dist-gpu-convert-to-llvm.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "lowering/gpu/DeviceCode.h"
#include "lowering/gpu/Launch.h"
#include "lowering/gpu/Passes.h"
#include "lowering/host/HostToLLVM.h"
#include "lowering/rt/Rt.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTGPUCONVERTTOLLVM
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Of a kernel's declaration, by its name, its number.
using Numbers = DenseMap<StringAttr, int64_t>;

/// Memory for the arguments of launches, in the function's first block: a loop
/// must not take more stack with each turn.
static Value getSlots(OpBuilder &builder, Block &entry, int64_t most) {
  constexpr llvm::StringLiteral kSlots = "rt.slots";
  for (auto known : entry.getOps<LLVM::AllocaOp>())
    if (known->hasAttr(kSlots))
      return known;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&entry);
  Location loc = builder.getUnknownLoc();
  Value count = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                         builder.getI64IntegerAttr(most));
  auto slots = LLVM::AllocaOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
      builder.getI64Type(), count);
  slots->setAttr(kSlots, builder.getUnitAttr());
  return slots;
}

namespace {

struct LaunchKernel : ConvertOpToLLVMPattern<func::CallOp> {
  LaunchKernel(const LLVMTypeConverter &converter, const Numbers &numbers,
               int64_t most, rt::RuntimeSymbols &symbols)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/10), numbers(numbers),
        most(most), symbols(symbols) {}

  LogicalResult
  matchAndRewrite(func::CallOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto number = numbers.find(op.getCalleeAttr().getAttr());
    if (number == numbers.end())
      return failure();
    Location loc = op.getLoc();
    auto function = op->getParentOfType<FunctionOpInterface>();
    Value slots = getSlots(rewriter, function.getFunctionBody().front(), most);
    SmallVector<Value> values = getTypeConverter()->promoteOperands(
        loc, op.getOperands(), adaptor.getOperands(), rewriter,
        /*useBarePtrCallConv=*/true);
    for (auto [i, value] : llvm::enumerate(values)) {
      // The bits beyond are zero: the same call has the same values.
      Type type = value.getType();
      if (!isa<LLVM::LLVMPointerType>(type)) {
        Type bits = rewriter.getIntegerType(type.getIntOrFloatBitWidth());
        if (type != bits)
          value = LLVM::BitcastOp::create(rewriter, loc, bits, value);
        if (!bits.isInteger(64))
          value =
              LLVM::ZExtOp::create(rewriter, loc, rewriter.getI64Type(), value);
      }
      Value slot = LLVM::GEPOp::create(rewriter, loc, slots.getType(),
                                       rewriter.getI64Type(), slots,
                                       ArrayRef<LLVM::GEPArg>{int32_t(i)});
      LLVM::StoreOp::create(rewriter, loc, value, slot);
    }
    Type i32 = rewriter.getI32Type();
    auto constant = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, loc, i32,
                                      rewriter.getI32IntegerAttr(value));
    };
    Value arguments[] = {function.getArgument(0), constant(number->second),
                         constant(values.size()), slots};
    LLVM::LLVMFuncOp launch =
        symbols.function("dist_launch", i32, ValueRange(arguments).getTypes());
    LLVM::CallOp::create(rewriter, loc, launch, arguments);
    rewriter.eraseOp(op);
    return success();
  }

  const Numbers &numbers;
  const int64_t most;
  rt::RuntimeSymbols &symbols;
};

} // namespace

/// Whether the host's own code has this buffer: tables of the program, and what
/// the host keeps for itself.
static bool isOfHost(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  Operation *root = buffer.getDefiningOp();
  return isa_and_nonnull<memref::GetGlobalOp, memref::AllocaOp>(root) &&
         !root->hasAttr(kOnDeviceAttr);
}

namespace {

/// What host code loads from the device's memory, or stores there.
template <class Op> struct TransferElement : ConvertOpToLLVMPattern<Op> {
  TransferElement(const LLVMTypeConverter &converter, int64_t most,
                  rt::RuntimeSymbols &symbols)
      : ConvertOpToLLVMPattern<Op>(converter, /*benefit=*/20), most(most),
        symbols(symbols) {}

  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (isOfHost(op.getMemRef()))
      return failure();
    Location loc = op.getLoc();
    auto function = op->template getParentOfType<FunctionOpInterface>();
    Value rank = function.getArgument(0);
    Value slot = getSlots(rewriter, function.getFunctionBody().front(), most);
    Value address =
        this->getStridedElementPtr(rewriter, loc, op.getMemRefType(),
                                   adaptor.getMemref(), adaptor.getIndices());
    Type type = this->getTypeConverter()->convertType(
        op.getMemRefType().getElementType());
    bool isBool = type.isInteger(1);
    if (isBool)
      type = rewriter.getI8Type();
    int64_t bytes = llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
    Value size = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64Type(),
                                          rewriter.getI64IntegerAttr(bytes));
    auto call = [&](StringRef name, ValueRange arguments) {
      LLVM::CallOp::create(
          rewriter, loc,
          symbols.function(name, rewriter.getI32Type(), arguments.getTypes()),
          arguments);
    };
    if constexpr (std::is_same_v<Op, memref::LoadOp>) {
      call("dist_read", {rank, address, size, slot});
      Value value = LLVM::LoadOp::create(rewriter, loc, type, slot);
      if (isBool)
        value =
            LLVM::TruncOp::create(rewriter, loc, rewriter.getI1Type(), value);
      rewriter.replaceOp(op, value);
    } else {
      Value value = adaptor.getValue();
      if (isBool)
        value = LLVM::ZExtOp::create(rewriter, loc, type, value);
      LLVM::StoreOp::create(rewriter, loc, value, slot);
      call("dist_write", {rank, address, size, slot});
      rewriter.eraseOp(op);
    }
    return success();
  }

  const int64_t most;
  rt::RuntimeSymbols &symbols;
};

/// A check of the host's own code: its words are on the device.
struct HostCheck {
  HostCheck(ConversionPatternRewriter &rewriter, Operation *op, Value status,
            int64_t most, rt::RuntimeSymbols &symbols)
      : rewriter(rewriter), loc(op->getLoc()), status(status),
        symbols(symbols) {
    auto function = op->getParentOfType<FunctionOpInterface>();
    rank = function.getArgument(0);
    slot = getSlots(rewriter, function.getFunctionBody().front(), most);
  }

  void transfer(StringRef name, Value address) {
    Value arguments[] = {rank, address, constant(8), slot};
    LLVM::CallOp::create(rewriter, loc,
                         symbols.function(name, rewriter.getI32Type(),
                                          ValueRange(arguments).getTypes()),
                         arguments);
  }
  /// Whether the first word says that a check has failed.
  Value hasFailed() {
    transfer("dist_read", status);
    Value first =
        LLVM::LoadOp::create(rewriter, loc, rewriter.getI64Type(), slot);
    return LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::ne, first,
                                constant(0));
  }
  void write(int32_t word, Value value) {
    LLVM::StoreOp::create(rewriter, loc, value, slot);
    transfer("dist_write", LLVM::GEPOp::create(rewriter, loc, status.getType(),
                                               rewriter.getI64Type(), status,
                                               ArrayRef<LLVM::GEPArg>{word}));
  }
  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64Type(),
                                    rewriter.getI64IntegerAttr(value));
  }

  ConversionPatternRewriter &rewriter;
  Location loc;
  Value status, rank, slot;
  rt::RuntimeSymbols &symbols;
};

template <class Op> struct LowerHostCheck : ConvertOpToLLVMPattern<Op> {
  LowerHostCheck(const LLVMTypeConverter &converter, int64_t most,
                 rt::RuntimeSymbols &symbols)
      : ConvertOpToLLVMPattern<Op>(converter, /*benefit=*/20), most(most),
        symbols(symbols) {}

  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    HostCheck check(rewriter, op, adaptor.getStatus(), most, symbols);
    if constexpr (std::is_same_v<Op, rt::FailedOp>) {
      rewriter.replaceOp(op, check.hasFailed());
    } else {
      int32_t number = symbols.check(op.getMessageAttr(), bool(op.getValue()));
      Value isLate = check.hasFailed();
      Block *before = op->getBlock();
      Block *after = rewriter.splitBlock(before, op->getIterator());
      Block *first = rewriter.createBlock(after);
      if (op.getValue())
        check.write(1 + number, adaptor.getValue());
      check.write(0, check.constant(1 + number));
      LLVM::BrOp::create(rewriter, op.getLoc(), ValueRange(), after);
      rewriter.setInsertionPointToEnd(before);
      LLVM::CondBrOp::create(rewriter, op.getLoc(), isLate, after, ValueRange(),
                             first, ValueRange());
      rewriter.eraseOp(op);
    }
    return success();
  }

  const int64_t most;
  rt::RuntimeSymbols &symbols;
};

/// The device's copy of a constant.
struct GetConstant : ConvertOpToLLVMPattern<memref::GetGlobalOp> {
  GetConstant(const LLVMTypeConverter &converter, rt::RuntimeSymbols &symbols)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/20), symbols(symbols) {}

  LogicalResult
  matchAndRewrite(memref::GetGlobalOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op->hasAttr(kOnDeviceAttr))
      return failure();
    Location loc = op.getLoc();
    MemRefType type = op.getType();
    auto pointer = LLVM::LLVMPointerType::get(getContext());
    int64_t bytes =
        type.getNumElements() * getElementBytes(type.getElementType());
    Value arguments[] = {
        op->getParentOfType<FunctionOpInterface>().getArgument(0),
        LLVM::AddressOfOp::create(rewriter, loc, pointer, op.getName()),
        LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64Type(),
                                 rewriter.getI64IntegerAttr(bytes))};
    LLVM::LLVMFuncOp function = symbols.function(
        "dist_constant", pointer, ValueRange(arguments).getTypes());
    auto call = LLVM::CallOp::create(rewriter, loc, function, arguments);
    rewriter.replaceOp(
        op, Value(MemRefDescriptor::fromStaticShape(
                rewriter, loc, *getTypeConverter(), type, call.getResult())));
    return success();
  }

  rt::RuntimeSymbols &symbols;
};

} // namespace

/// The functions that are instructions, or few of them.
static bool hasForm(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::RoundEvenOp,
             math::RsqrtOp, math::SqrtOp, math::TruncOp>(op);
}

/// The others are called by name, from a library (DeviceCode.h).
static LogicalResult callFunctions(ModuleOp device) {
  SmallVector<Operation *> calls;
  device.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) && !hasForm(op))
      calls.push_back(op);
  });
  for (Operation *op : calls) {
    OpBuilder builder(op);
    Type type = op->getResult(0).getType();
    bool isKnown = op->getNumResults() == 1 && (type.isF32() || type.isF64()) &&
                   llvm::all_equal(op->getOperandTypes()) &&
                   op->getOperand(0).getType() == type;
    if (!isKnown)
      return op->emitOpError("of ") << type << " has no form for target cuda";
    StringRef math = op->getName().stripDialect();
    std::string name = getLibraryFunction(math == "powf" ? "pow" : math, type,
                                          op->getNumOperands());
    auto function = device.lookupSymbol<func::FuncOp>(name);
    if (!function) {
      OpBuilder outside = OpBuilder::atBlockBegin(device.getBody());
      function = func::FuncOp::create(
          outside, op->getLoc(), name,
          builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
      function.setPrivate();
    }
    // Some look up a table by what their argument is, which NaN has no number
    // for. What is no number stays so.
    Value isNumber, x = op->getOperand(0);
    SmallVector<Value> operands(op->getOperands());
    if (operands.size() == 1) {
      isNumber = arith::CmpFOp::create(builder, op->getLoc(),
                                       arith::CmpFPredicate::ORD, x, x);
      Value zero = arith::ConstantOp::create(builder, op->getLoc(),
                                             builder.getFloatAttr(type, 0));
      operands[0] =
          arith::SelectOp::create(builder, op->getLoc(), isNumber, x, zero);
    }
    Value result =
        func::CallOp::create(builder, op->getLoc(), function, operands)
            .getResult(0);
    if (isNumber)
      result =
          arith::SelectOp::create(builder, op->getLoc(), isNumber, result, x);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
  return success();
}

static LogicalResult convertDevice(ModuleOp device,
                                   rt::RuntimeSymbols &symbols) {
  if (failed(callFunctions(device)))
    return failure();
  for (auto kernel : device.getOps<func::FuncOp>())
    if (8 * kernel.getNumArguments() > kMostArgumentBytes)
      return kernel.emitOpError("takes ")
             << kernel.getNumArguments() << " arguments, of which a GPU takes "
             << kMostArgumentBytes / 8;
  MLIRContext *context = device.getContext();
  LLVMTypeConverter converter(context, getLLVMOptions(context));
  RewritePatternSet patterns(context);
  populateCodePatterns(converter, symbols, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  target.addLegalDialect<NVVM::NVVMDialect>();
  if (failed(applyFullConversion(device, target, std::move(patterns))))
    return failure();
  Builder builder(context);
  for (auto kernel : device.getOps<LLVM::LLVMFuncOp>())
    if (kernel->hasAttr(kBlocksAttr)) {
      kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                      builder.getUnitAttr());
      kernel->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                      builder.getDenseI32ArrayAttr({int32_t(kThreads)}));
    }
  return success();
}

namespace {

struct ConvertToLLVM : dist::impl::DistGpuConvertToLLVMBase<ConvertToLLVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    rt::RuntimeSymbols symbols(module);
    auto device = module.lookupSymbol<ModuleOp>(kDeviceModule);
    if (device && failed(convertDevice(device, symbols)))
      return signalPassFailure();
    Numbers numbers;
    int64_t most = 1;
    for (auto kernel : module.getOps<func::FuncOp>())
      if (auto number = kernel->getAttrOfType<IntegerAttr>(kNumberAttr)) {
        numbers[kernel.getSymNameAttr()] = number.getInt();
        most = std::max<int64_t>(most, kernel.getNumArguments());
      }
    FailureOr<LLVM::LLVMFuncOp> program = convertHostToLLVM(
        module, symbols,
        [&](const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
          patterns.add<LaunchKernel>(converter, numbers, most, symbols);
          patterns.add<TransferElement<memref::LoadOp>,
                       TransferElement<memref::StoreOp>>(converter, most,
                                                         symbols);
          patterns
              .add<LowerHostCheck<rt::FailOp>, LowerHostCheck<rt::FailedOp>>(
                  converter, most, symbols);
          patterns.add<GetConstant>(converter, symbols);
        });
    if (failed(program))
      return signalPassFailure();
    for (auto &[name, number] : numbers)
      module.lookupSymbol(name)->erase();
    fuseProducts(module);
    if (failed(makeEntryPoint(module, *program)))
      signalPassFailure();
  }
};

} // namespace
