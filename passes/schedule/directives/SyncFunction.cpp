//===- SyncFunction.cpp - A sync by a user's own function -----------------===//

#include "passes/schedule/directives/SyncFunction.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/IRMapping.h"
#include "passes/schedule/directives/ScheduleFunctions.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<SyncFunction> SyncFunction::find(SyncOp directive,
                                           ScheduleApplication &application) {
  SyncFunction result(directive, application);
  FailureOr<FunctionOpInterface> forward =
      application.getFunctions().find(directive, directive.getFunctionAttr());
  if (failed(forward))
    return failure();
  result.forward = *forward;
  if (failed(result.checkForward()))
    return failure();
  if (FlatSymbolRefAttr name = directive.getBackwardAttr()) {
    FailureOr<FunctionOpInterface> backward =
        application.getFunctions().find(directive, name);
    if (failed(backward))
      return failure();
    result.backward = *backward;
    if (failed(result.checkBackward()))
      return failure();
  }
  return result;
}

FailureOr<ShardingAttr> SyncFunction::getPlacement(Attribute attr,
                                                   const Twine &what) {
  auto placement = llvm::dyn_cast_or_null<ShardingAttr>(attr);
  if (!placement)
    return emitError(directive.getLoc())
           << what << " of " << directive.getFunctionAttr() << " has no '"
           << kShardingAttr << "', which says how the sync's value is placed";
  if (placement.getMesh() != application.getLayout().getName())
    return emitError(directive.getLoc())
           << what << " of " << directive.getFunctionAttr() << " is placed as "
           << placement << ", but the schedule is on mesh "
           << application.getLayout().getName();
  return placement;
}

/// It is the program of one device, and has one tensor in and out.
LogicalResult SyncFunction::checkBody(FunctionOpInterface function,
                                      FlatSymbolRefAttr name) {
  TypeRange arguments = function.getArgumentTypes(),
            results = function.getResultTypes();
  if (arguments.size() != 1 || results.size() != 1 ||
      !isa<RankedTensorType>(arguments[0]) ||
      !isa<RankedTensorType>(results[0]))
    return emitError(directive.getLoc())
           << name << " is " << describeSignature(arguments, results)
           << ", but a sync's function takes a tensor and gives one";
  WalkResult result = function.getFunctionBody().walk([&](Operation *op) {
    if (!isa<ShardingConstraintOp, SyncOp, ReshardOp, ManualReshardOp>(op) &&
        !op->hasAttr(kShardingsAttr))
      return WalkResult::advance();
    InFlightDiagnostic error = emitError(directive.getLoc())
                               << name << " holds '" << op->getName()
                               << "', which places values; a sync's function "
                                  "is the program of one device (level 3)";
    error.attachNote(op->getLoc()) << "this op";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult SyncFunction::checkForward() {
  FlatSymbolRefAttr name = directive.getFunctionAttr();
  if (failed(checkBody(forward, name)))
    return failure();
  FailureOr<ShardingAttr> in =
      getPlacement(forward.getArgAttr(0, kShardingAttr), "the argument");
  FailureOr<ShardingAttr> out =
      succeeded(in)
          ? getPlacement(forward.getResultAttr(0, kShardingAttr), "the result")
          : FailureOr<ShardingAttr>();
  if (failed(out))
    return failure();
  source = *in;
  sharding = *out;
  Block &body = forward.getFunctionBody().front();
  if (source != sharding &&
      body.getTerminator()->getOperand(0) == body.getArgument(0))
    return emitError(directive.getLoc())
           << name << " gives its argument back as it is, which cannot bring a "
           << "value from " << source << " to " << sharding;
  return success();
}

LogicalResult SyncFunction::checkBackward() {
  FlatSymbolRefAttr name = directive.getBackwardAttr();
  if (failed(checkBody(backward, name)))
    return failure();
  if (backward.getArgumentTypes()[0] == forward.getResultTypes()[0] &&
      backward.getResultTypes()[0] == forward.getArgumentTypes()[0])
    return success();
  return emitError(directive.getLoc())
         << name << " is "
         << describeSignature(backward.getArgumentTypes(),
                              backward.getResultTypes())
         << ", but the backward of " << directive.getFunctionAttr()
         << " takes what that gives and gives what that takes: "
         << describeSignature(forward.getResultTypes(),
                              forward.getArgumentTypes());
}

LogicalResult SyncFunction::checkType(Value value, Type part,
                                      ShardingAttr placement, TypeAttr global,
                                      StringRef what) {
  const MeshLayout &layout = application.getLayout();
  auto type = cast<RankedTensorType>(value.getType());
  if (failed(placement.verifyFor(type.getShape(), layout.getAxes(), [&] {
        return emitError(directive.getLoc())
               << directive.getFunctionAttr() << " " << what << " ";
      })))
    return failure();
  RankedTensorType local = layout.localType(type, placement);
  if (local == part && (!global || global.getValue() == type))
    return success();
  InFlightDiagnostic error = emitError(directive.getLoc())
                             << directive.getFunctionAttr() << " " << what
                             << " ";
  if (local != part)
    error << part << ", but of " << type << " placed as " << placement
          << " a device holds " << local;
  else
    error << "a part of " << global.getValue() << ", but the value is " << type;
  error.attachNote(value.getLoc()) << "this value";
  return error;
}

void SyncFunction::fill(OpBuilder &builder, Region &region,
                        FunctionOpInterface function) {
  OpBuilder::InsertionGuard guard(builder);
  Block &body = function.getFunctionBody().front();
  Block *block = builder.createBlock(&region, {}, body.getArgumentTypes(),
                                     {body.getArgument(0).getLoc()});
  IRMapping mapping;
  mapping.map(body.getArgument(0), block->getArgument(0));
  FlatSymbolRefAttr mesh = application.getNeededMesh();
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping)->walk([&](Operation *nested) {
      // In its own file there was one mesh only.
      if (mesh && isa<CollectiveOpInterface, AxisIndexOp>(nested) &&
          !nested->hasAttr("mesh"))
        nested->setAttr("mesh", mesh);
    });
  Operation *terminator = body.getTerminator();
  YieldOp::create(builder, terminator->getLoc(),
                  mapping.lookupOrDefault(terminator->getOperand(0)));
}

FailureOr<ManualReshardOp> SyncFunction::apply(OpBuilder &builder, Location loc,
                                               Value value) {
  if (failed(checkType(value, forward.getArgumentTypes()[0], source,
                       forward.getArgAttrOfType<TypeAttr>(0, kGlobalTypeAttr),
                       "takes")) ||
      failed(checkType(
          value, forward.getResultTypes()[0], sharding,
          forward.getResultAttrOfType<TypeAttr>(0, kGlobalTypeAttr), "gives")))
    return failure();
  auto manual =
      ManualReshardOp::create(builder, loc, value.getType(), value, source,
                              sharding, application.getCause(directive));
  fill(builder, manual.getBody(), forward);
  if (backward)
    fill(builder, manual.getBackward(), backward);
  return manual;
}
