//===- ScheduleFunctions.cpp - Functions beside a schedule ----------------===//

#include "passes/schedule/directives/ScheduleFunctions.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

void mlir::dist::moveFunctions(ScheduleOp schedule, ModuleOp holder,
                               ModuleOp module) {
  SymbolTable there(holder), here(module);
  llvm::DenseMap<Attribute, FlatSymbolRefAttr> moved;
  for (Operation &directive : schedule.getBody().front()) {
    for (FlatSymbolRefAttr name : getFunctionNames(&directive)) {
      auto function = there.lookup<FunctionOpInterface>(name.getAttr());
      if (!function)
        continue; // moved already, or an error where it is used
      there.remove(function);
      function->remove();
      function.setPrivate();
      // The program may have a function of this name: then it gets another.
      moved[name] = FlatSymbolRefAttr::get(here.insert(function));
    }
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](FlatSymbolRefAttr name) -> std::optional<Attribute> {
          auto found = moved.find(name);
          return found == moved.end() ? name : found->second;
        });
    if (!getFunctionNames(&directive).empty())
      replacer.replaceElementsIn(&directive);
  }
}

ScheduleFunctions::ScheduleFunctions(ModuleOp module) {
  for (FunctionOpInterface function : getScheduleFunctions(module)) {
    function->remove();
    byName[function.getNameAttr()] = function;
    functions.push_back(function.getOperation());
  }
}

FailureOr<FunctionOpInterface>
ScheduleFunctions::find(Operation *directive, FlatSymbolRefAttr name) const {
  auto found = byName.find(name.getAttr());
  if (found == byName.end())
    return emitError(directive->getLoc())
           << name
           << " is no function beside the schedule (a private one, where that "
              "is in the program's own module)";
  auto function = cast<FunctionOpInterface>(found->second);
  auto refuse = [&](Operation *at, const Twine &why) -> LogicalResult {
    InFlightDiagnostic error = emitError(directive->getLoc())
                               << name << " " << why.str();
    error.attachNote(at->getLoc()) << "here";
    return error;
  };
  if (function.isExternal() || !function.getFunctionBody().hasOneBlock())
    return refuse(function, function.isExternal()
                                ? "has no body"
                                : "has several blocks; use scf");
  Block &body = function.getFunctionBody().front();
  if (!body.mightHaveTerminator() ||
      !body.getTerminator()->hasTrait<OpTrait::ReturnLike>())
    return refuse(function, "does not return");
  WalkResult result = function.getFunctionBody().walk([&](Operation *op) {
    bool hasSymbol = false;
    op->getAttrDictionary().walk([&](FlatSymbolRefAttr symbol) {
      hasSymbol |= byName.count(symbol.getAttr()) != 0;
    });
    if (!hasSymbol && !isa<CallOpInterface>(op))
      return WalkResult::advance();
    (void)refuse(op, "uses another function; its ops must be in it");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  return function;
}

std::string mlir::dist::describeSignature(TypeRange arguments,
                                          TypeRange results) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "(";
  llvm::interleaveComma(arguments, out);
  out << ") -> ";
  if (results.size() != 1)
    out << "(";
  llvm::interleaveComma(results, out);
  if (results.size() != 1)
    out << ")";
  return text;
}
