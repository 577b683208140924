//===- RuntimeChecks.cpp - Checks of a program's data ---------------------===//

#include "lowering/buffers/RuntimeChecks.h"
#include "dialects/dist/Utils/Program.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dist;

std::string mlir::dist::describePlace(Location loc) {
  std::string place = describeLocation(loc);
  return place.empty() ? "unknown location" : place;
}

Value mlir::dist::createStatus(OpBuilder &builder, func::FuncOp function) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  return rt::StatusOp::create(builder, function.getLoc(),
                              LLVM::LLVMPointerType::get(builder.getContext()));
}

void mlir::dist::createFailIf(OpBuilder &builder, Location loc, Value bad,
                              Value status, StringRef message, Value judged) {
  scf::IfOp::create(builder, loc, bad, [&](OpBuilder &then, Location at) {
    if (judged && !judged.getType().isIndex())
      judged =
          arith::IndexCastOp::create(then, at, then.getIndexType(), judged);
    rt::FailOp::create(then, at, status, message, judged);
    scf::YieldOp::create(then, at);
  });
}
