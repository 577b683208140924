//===- PlacedProgram.cpp - The placements of a level-2 program ------------===//

#include "passes/spmd/graph/PlacedProgram.h"
#include "dialects/dist/Utils/Program.h"

using namespace mlir;
using namespace mlir::dist;

void PlacedProgram::readArguments(FunctionOpInterface function) {
  for (BlockArgument argument : function.getArguments())
    if (auto sharding = function.getArgAttrOfType<ShardingAttr>(
            argument.getArgNumber(), kShardingAttr))
      arguments[argument] = sharding;
}

void PlacedProgram::readInputs(const RegionBranchSuccessorMapping &targets,
                               Operation *from) {
  for (OpOperand &operand : from->getOpOperands())
    if (auto found = targets.find(&operand); found != targets.end())
      for (Value input : found->second)
        if (isa<BlockArgument>(input) && isa<RankedTensorType>(input.getType()))
          if (ShardingAttr now = getPlacement(operand.get()))
            arguments.try_emplace(input, now);
}

/// What flows into regions is known before they are read. What one region
/// yields may enter the next one.
void PlacedProgram::readOp(Operation *op) {
  RegionBranchSuccessorMapping targets;
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    branch.getSuccessorOperandInputMapping(targets);
    readInputs(targets, op);
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block) {
        readOp(&inner);
        if (!targets.empty() && inner.hasTrait<OpTrait::IsTerminator>())
          readInputs(targets, &inner);
      }
}

void PlacedProgram::read(FunctionOpInterface function) {
  readArguments(function);
  readOp(function);
}

bool PlacedProgram::isStored(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  return function &&
         function.getArgAttr(argument.getArgNumber(), kStoredAttr) != nullptr;
}

FailureOr<bool> mlir::dist::visitPlacedFunctions(
    ModuleOp module,
    function_ref<void(FunctionOpInterface, PlacedProgram &)> visit) {
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(mesh))
    return failure();
  if (!*mesh)
    return false;
  MeshLayout layout(*mesh);
  PlacedProgram program(layout);
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal()) {
      program.read(function);
      visit(function, program);
    }
  return program.hasChanged();
}
