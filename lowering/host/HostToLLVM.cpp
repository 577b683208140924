//===- HostToLLVM.cpp - The host's half of a program in LLVM's dialect ----===//

#include "lowering/host/HostToLLVM.h"
#include "dialects/dist/Utils/Program.h"
#include "lowering/buffers/Passes.h"
#include "lowering/rt/ConvertRtToLLVM.h"
#include "lowering/rt/Rt.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

//===----------------------------------------------------------------------===//
// i1 in memory is a byte
//===----------------------------------------------------------------------===//
// LLVM does not vectorize accesses to i1, whose vectors are packed bits.

struct LoadBool : ConvertOpToLLVMPattern<memref::LoadOp> {
  explicit LoadBool(const LLVMTypeConverter &converter)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/10) {}
  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().isInteger(1))
      return failure();
    Value address =
        getStridedElementPtr(rewriter, op.getLoc(), op.getMemRefType(),
                             adaptor.getMemref(), adaptor.getIndices());
    Value byte = LLVM::LoadOp::create(rewriter, op.getLoc(),
                                      rewriter.getI8Type(), address);
    Value zero = LLVM::ConstantOp::create(rewriter, op.getLoc(),
                                          rewriter.getI8IntegerAttr(0));
    rewriter.replaceOpWithNewOp<LLVM::ICmpOp>(op, LLVM::ICmpPredicate::ne, byte,
                                              zero);
    return success();
  }
};

struct StoreBool : ConvertOpToLLVMPattern<memref::StoreOp> {
  explicit StoreBool(const LLVMTypeConverter &converter)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/10) {}
  LogicalResult
  matchAndRewrite(memref::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getMemRefType().getElementType().isInteger(1))
      return failure();
    Value address =
        getStridedElementPtr(rewriter, op.getLoc(), op.getMemRefType(),
                             adaptor.getMemref(), adaptor.getIndices());
    Value byte = LLVM::ZExtOp::create(rewriter, op.getLoc(),
                                      rewriter.getI8Type(), adaptor.getValue());
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, byte, address);
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Empty buffers get one dimension: MLIR has no strides for `5x0x6`, which a
/// bare pointer needs. Nothing reads or writes them.
static void flattenEmptyBuffers(ModuleOp module) {
  auto flatten = [](Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (type && type.hasStaticShape() && type.getNumElements() == 0 &&
        type.getRank() != 1)
      value.setType(MemRefType::get({0}, type.getElementType()));
  };
  module.walk([&](Operation *op) {
    for (Value result : op->getResults())
      flatten(result);
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        flatten(argument);
    if (auto function = dyn_cast<func::FuncOp>(op);
        function && !function.isExternal())
      function.setFunctionType(FunctionType::get(
          op->getContext(), function.getBody().getArgumentTypes(),
          function.getResultTypes()));
  });
}

/// The dialect's attributes of arguments and results are in the manifest by
/// now. The translation to LLVM IR would warn of each.
static void dropDistAttrs(ModuleOp module) {
  auto drop = [](ArrayAttr lists) -> ArrayAttr {
    if (!lists)
      return {};
    return ArrayAttr::get(
        lists.getContext(),
        llvm::map_to_vector(lists, [](Attribute list) -> Attribute {
          SmallVector<NamedAttribute> kept(llvm::make_filter_range(
              cast<DictionaryAttr>(list), [](NamedAttribute attr) {
                return !isa_and_nonnull<DistDialect>(attr.getNameDialect());
              }));
          return DictionaryAttr::get(list.getContext(), kept);
        }));
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    if (ArrayAttr kept = drop(function.getArgAttrsAttr()))
      function.setArgAttrsAttr(kept);
    if (ArrayAttr kept = drop(function.getResAttrsAttr()))
      function.setResAttrsAttr(kept);
  }
}

/// Calls of libm for functions for which upstream's expansion loses all digits:
/// expm1 of small numbers as exp(x) - 1.
static LogicalResult callAccurateFunctions(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateMathToLibmConversionPatterns(patterns);
  ConversionTarget target(*module.getContext());
  target.addIllegalOp<math::ExpM1Op>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

LowerToLLVMOptions mlir::dist::getLLVMOptions(MLIRContext *context) {
  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  options.overrideIndexBitwidth(64);
  return options;
}

void mlir::dist::populateCodePatterns(const LLVMTypeConverter &converter,
                                      rt::RuntimeSymbols &symbols,
                                      RewritePatternSet &patterns) {
  rt::populateRtToLLVMPatterns(converter, symbols, patterns);
  patterns.add<LoadBool, StoreBool>(converter);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  // Before libm: an intrinsic is vectorized, a call is not.
  populateMathToLLVMConversionPatterns(
      converter, patterns, /*approximateLog1p=*/false, /*benefit=*/2);
}

FailureOr<LLVM::LLVMFuncOp>
mlir::dist::convertHostToLLVM(ModuleOp module, rt::RuntimeSymbols &symbols,
                              AddPatterns addPatterns) {
  flattenEmptyBuffers(module);
  MLIRContext *context = module.getContext();
  FailureOr<FunctionOpInterface> entry = findEntryFunction(module);
  if (failed(entry))
    return failure();
  auto program = dyn_cast<func::FuncOp>(entry->getOperation());
  if (!program || program.getNumArguments() < 3) {
    entry->emitError("is no entry function that memory was planned for");
    return failure();
  }
  dropDistAttrs(module);
  StringAttr name = program.getSymNameAttr();

  if (failed(callAccurateFunctions(module)))
    return failure();
  LLVMTypeConverter converter(context, getLLVMOptions(context));
  auto toHandle = [](Type type) -> Type {
    return IntegerType::get(type.getContext(), 32);
  };
  converter.addConversion([=](rt::RowPlanType type) { return toHandle(type); });
  converter.addConversion([=](rt::EventType type) { return toHandle(type); });
  converter.addConversion([=](rt::TokenType type) { return toHandle(type); });
  rt::markModules(program, symbols);
  RewritePatternSet patterns(context);
  populateCodePatterns(converter, symbols, patterns);
  populateMathToLibmConversionPatterns(patterns);
  if (addPatterns)
    addPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  target.markOpRecursivelyLegal<ModuleOp>(
      [](ModuleOp op) { return op->getParentOp() != nullptr; });
  if (failed(applyFullConversion(module, target, std::move(patterns))))
    return failure();
  return module.lookupSymbol<LLVM::LLVMFuncOp>(name);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether a product and a sum with this flag are one fused operation.
static bool isContracted(LLVM::FastmathFlags flags) {
  return bitEnumContainsAll(flags, LLVM::FastmathFlags::contract);
}

void mlir::dist::fuseProducts(ModuleOp module) {
  auto fuse = [](auto sum, bool isDifference) {
    if (!isContracted(sum.getFastmathFlags()))
      return;
    for (OpOperand &operand : sum->getOpOperands()) {
      auto product = operand.get().getDefiningOp<LLVM::FMulOp>();
      if (!product || !product->hasOneUse() ||
          product->getBlock() != sum->getBlock() ||
          !isContracted(product.getFastmathFlags()))
        continue;
      bool isFirst = operand.getOperandNumber() == 0;
      OpBuilder builder(sum);
      Location loc = sum.getLoc();
      Value a = product.getLhs(), b = product.getRhs();
      Value c = sum->getOperand(isFirst ? 1 : 0);
      if (isDifference) {
        Value &negated = isFirst ? c : a;
        negated = LLVM::FNegOp::create(builder, loc, negated);
      }
      auto fused =
          LLVM::FMulAddOp::create(builder, loc, sum.getType(), a, b, c);
      fused.setFastmathFlags(sum.getFastmathFlags() ^
                             LLVM::FastmathFlags::contract);
      sum.replaceAllUsesWith(fused.getResult());
      sum.erase();
      product.erase();
      return;
    }
  };
  SmallVector<Operation *> sums;
  module.walk([&](Operation *op) {
    if (isa<LLVM::FAddOp, LLVM::FSubOp>(op))
      sums.push_back(op);
  });
  for (Operation *op : sums) {
    if (auto sum = dyn_cast<LLVM::FAddOp>(op))
      fuse(sum, /*isDifference=*/false);
    else
      fuse(cast<LLVM::FSubOp>(op), /*isDifference=*/true);
  }
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

/// The numbers of the results that have buffers of their own.
static SmallVector<int64_t> getResultNumbers(ModuleOp module) {
  if (auto numbers =
          module->getAttrOfType<DenseI64ArrayAttr>(kResultNumbersAttr))
    return SmallVector<int64_t>(numbers.asArrayRef());
  auto count = module->getAttrOfType<IntegerAttr>(kNumResultsAttr);
  return llvm::to_vector(llvm::seq<int64_t>(0, count ? count.getInt() : 0));
}

/// Takes tables of arguments and results instead of their buffers. A buffer's
/// address is read from its table where it is used. Thousands of addresses that
/// live through the whole program would be spilled, in time quadratic in their
/// number. `results` has the numbers of the results whose buffers are the last
/// ones.
static void readTables(LLVM::LLVMFuncOp program, ArrayRef<int64_t> results) {
  OpBuilder builder(program->getContext());
  Location loc = program.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Block &entry = program.getBody().front();
  unsigned numBuffers = entry.getNumArguments() - 3;
  unsigned numArgs = numBuffers - results.size();
  // rank, args, results, the buffers, arena, status
  Value args = entry.insertArgument(1u, pointer, loc);
  Value places = entry.insertArgument(2u, pointer, loc);
  for (unsigned i = 0; i < numBuffers; ++i) {
    bool isArg = i < numArgs;
    Value buffer = entry.getArgument(3 + i);
    for (OpOperand &use : llvm::make_early_inc_range(buffer.getUses())) {
      builder.setInsertionPoint(use.getOwner());
      Location here = use.getOwner()->getLoc();
      Value slot = LLVM::GEPOp::create(
          builder, here, pointer, pointer, isArg ? args : places,
          ArrayRef<LLVM::GEPArg>{int32_t(isArg ? i : results[i - numArgs])});
      use.set(LLVM::LoadOp::create(builder, here, pointer, slot));
    }
  }
  entry.eraseArguments(3, numBuffers);
  program.removeArgAttrsAttr();
  program.setFunctionType(LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()),
      {pointer, pointer, pointer, pointer, pointer}));
  program.setLinkage(LLVM::Linkage::External);
}

LogicalResult mlir::dist::makeEntryPoint(ModuleOp module,
                                         LLVM::LLVMFuncOp program) {
  if (failed(SymbolTable::replaceAllSymbolUses(
          program, StringAttr::get(module.getContext(), "dist_main"), module)))
    return failure();
  program.setSymName("dist_main");
  // Descriptors fold away: the rest uses the bare addresses.
  (void)applyPatternsGreedily(program, FrozenRewritePatternSet());
  readTables(program, getResultNumbers(module));
  for (LLVM::LLVMFuncOp function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal() || function == program)
      continue;
    // Code once, at its own place in a profile.
    function.setLinkage(LLVM::Linkage::Internal);
    function.setNoInline(true);
  }
  return success();
}
