//===- Program.cpp - What a whole module says -----------------------------===//
//
// Its level, its entry function, its mesh, and the places of its ops as text.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dist;

/// Calls `visit` for the attributes of the arguments and results of `function`.
static void walkValueAttrs(FunctionOpInterface function,
                           function_ref<void(NamedAttribute)> visit) {
  auto visitAll = [&](ArrayAttr lists) {
    if (lists)
      for (Attribute list : lists)
        for (NamedAttribute attr : cast<DictionaryAttr>(list))
          visit(attr);
  };
  visitAll(function.getAllArgAttrs());
  visitAll(function.getAllResultAttrs());
}

SmallVector<FunctionOpInterface>
mlir::dist::getScheduleFunctions(ModuleOp module) {
  llvm::DenseSet<Attribute> names;
  for (auto schedule : module.getOps<ScheduleOp>())
    for (Operation &directive : schedule.getBody().front())
      for (FlatSymbolRefAttr name : getFunctionNames(&directive))
        names.insert(name.getAttr());
  SmallVector<FunctionOpInterface> functions;
  if (!names.empty())
    for (auto function : module.getOps<FunctionOpInterface>())
      if (function.isPrivate() && names.contains(function.getNameAttr()))
        functions.push_back(function);
  return functions;
}

SmallVector<FlatSymbolRefAttr, 2>
mlir::dist::getFunctionNames(Operation *directive) {
  SmallVector<FlatSymbolRefAttr, 2> names;
  if (auto replace = dyn_cast<ReplaceOp>(directive))
    names.push_back(replace.getFunctionAttr());
  if (auto sync = dyn_cast<SyncOp>(directive))
    for (FlatSymbolRefAttr name :
         {sync.getFunctionAttr(), sync.getBackwardAttr()})
      if (name)
        names.push_back(name);
  return names;
}

int mlir::dist::getLevel(ModuleOp module) {
  int level = 0;
  // Functions of a schedule are not part of the program yet.
  llvm::SmallPtrSet<Operation *, 4> apart;
  for (FunctionOpInterface function : getScheduleFunctions(module))
    apart.insert(function);
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!apart.contains(function))
      walkValueAttrs(function, [&](NamedAttribute attr) {
        if (attr.getName() == kGlobalTypeAttr)
          level = 3;
        else if (attr.getName() == kShardingAttr)
          level = std::max(level, 1);
      });
  if (level == 3)
    return level;
  auto shardings = StringAttr::get(module.getContext(), kShardingsAttr);
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (apart.contains(op))
      return WalkResult::skip();
    if (isa<CollectiveOpInterface, AxisIndexOp, LocalConstantOp>(op)) {
      level = 3;
      return WalkResult::interrupt();
    }
    if (isa<ReshardOp>(op) || op->getDiscardableAttr(shardings))
      level = 2;
    else if (isa<MeshOp, ShardingConstraintOp, FollowOp, ManualReshardOp>(op) ||
             (isa<SyncOp>(op) && !isa<ScheduleOp>(op->getParentOp())))
      level = std::max(level, 1);
    // Within it is the program of one device.
    return isa<ManualReshardOp>(op) ? WalkResult::skip()
                                    : WalkResult::advance();
  });
  return level;
}

Operation *mlir::dist::getEntryFunction(Operation *module) {
  FunctionOpInterface only;
  int count = 0;
  for (auto function : module->getRegion(0).getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    if (function.getName() == "main")
      return function;
    if (function.isPublic()) {
      only = function;
      ++count;
    }
  }
  return count == 1 ? only : FunctionOpInterface();
}

FailureOr<FunctionOpInterface> mlir::dist::findEntryFunction(ModuleOp module) {
  if (Operation *entry = getEntryFunction(module))
    return cast<FunctionOpInterface>(entry);
  SmallVector<FunctionOpInterface> candidates;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal() && function.isPublic())
      candidates.push_back(function);
  if (candidates.empty())
    return emitError(module.getLoc())
           << "no entry function: @main, or one public function with a body, "
              "is needed";
  InFlightDiagnostic diagnostic =
      emitError(candidates[1].getLoc())
      << "@" << candidates[0].getName() << " and @" << candidates[1].getName()
      << (candidates.size() > 2 ? " (and more)" : "")
      << " are public, and no function is @main: which one runs cannot be "
         "told; call it @main, or make the others private";
  diagnostic.attachNote(candidates[0].getLoc())
      << "@" << candidates[0].getName() << " is here";
  return diagnostic;
}

FailureOr<MeshOp> mlir::dist::findProgramMesh(ModuleOp module) {
  SmallVector<MeshOp> meshes(module.getOps<MeshOp>());
  if (meshes.size() <= 1)
    return meshes.empty() ? MeshOp() : meshes.front();
  // The first use of each mesh.
  llvm::MapVector<StringAttr, Location> uses;
  auto use = [&](FlatSymbolRefAttr mesh, Location at) {
    if (mesh)
      uses.insert({mesh.getAttr(), at});
  };
  auto useAttr = [&](Attribute attr, Location at) {
    if (auto sharding = llvm::dyn_cast_or_null<ShardingAttr>(attr))
      use(sharding.getMesh(), at);
  };
  auto shardings = StringAttr::get(module.getContext(), kShardingsAttr);
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      walkValueAttrs(function, [&](NamedAttribute attr) {
        useAttr(attr.getValue(), function.getLoc());
      });
    else if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      use(collective.getMeshAttr(), op->getLoc());
    else if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
      useAttr(constraint.getShardingAttr(), op->getLoc());
    else if (auto sync = dyn_cast<SyncOp>(op); sync && sync.getOperand())
      use(sync.getMeshAttr(), op->getLoc());
    else if (auto reshard = dyn_cast<ReshardOp>(op))
      useAttr(reshard.getShardingAttr(), op->getLoc());
    else if (auto manual = dyn_cast<ManualReshardOp>(op))
      useAttr(manual.getShardingAttr(), op->getLoc());
    else if (auto constant = dyn_cast<LocalConstantOp>(op))
      useAttr(constant.getShardingAttr(), op->getLoc());
    if (auto all = llvm::dyn_cast_or_null<ArrayAttr>(
            op->getDiscardableAttr(shardings)))
      for (Attribute sharding : all)
        useAttr(sharding, op->getLoc());
  });
  if (uses.empty())
    return MeshOp();
  if (uses.size() > 1) {
    auto &[first, firstAt] = uses.front();
    auto &[second, secondAt] = *std::next(uses.begin());
    InFlightDiagnostic diagnostic = emitError(secondAt)
                                    << "uses mesh @" << second.getValue()
                                    << ", while the program is on mesh @"
                                    << first.getValue()
                                    << " elsewhere; a program runs on one mesh";
    diagnostic.attachNote(firstAt) << "used here";
    return diagnostic;
  }
  auto mesh = module.lookupSymbol<MeshOp>(uses.front().first);
  if (!mesh)
    return emitError(uses.front().second)
           << "@" << uses.front().first.getValue() << " is no mesh";
  return mesh;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string mlir::dist::describeFileLine(Location location) {
  auto file = location->findInstanceOf<FileLineColLoc>();
  return file ? (file.getFilename().getValue() + ":" + Twine(file.getLine()))
                    .str()
              : "";
}

std::string mlir::dist::describeLocation(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return (file.getFilename().getValue() + ":" + Twine(file.getStartLine()) +
            ":" + Twine(file.getStartColumn()))
        .str();
  if (auto name = dyn_cast<NameLoc>(location)) {
    std::string child = describeLocation(name.getChildLoc());
    return name.getName().str() + (child.empty() ? "" : " (" + child + ")");
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return describeLocation(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    SmallVector<std::string> parts;
    for (Location part : fused.getLocations())
      if (std::string text = describeLocation(part);
          !text.empty() && !llvm::is_contained(parts, text))
        parts.push_back(text);
    return llvm::join(parts, ", ");
  }
  return "";
}

std::string mlir::dist::describeOutOfRange(StringRef what,
                                           ArrayRef<int64_t> sizes) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "an index of " << what
      << " is out of range: coordinates must be at least 0 and less than [";
  llvm::interleaveComma(sizes, out, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      out << "?";
    else
      out << size;
  });
  out << "]";
  return text;
}
