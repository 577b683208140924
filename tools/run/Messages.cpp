//===- Messages.cpp - What dist-run says ----------------------------------===//

#include "tools/run/Messages.h"
#include "compiler/Diagnostics.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

void mlir::dist::sayError(StringRef error, bool json, bool isPrinted) {
  if (json) {
    using llvm::json::fixUTF8;
    llvm::json::Object object{{"ok", false}, {"error", fixUTF8(error)}};
    llvm::json::Array causes;
    for (const std::string &cause : getErrors())
      causes.push_back(fixUTF8(cause));
    if (!causes.empty())
      object["causes"] = std::move(causes);
    llvm::outs() << llvm::json::Value(std::move(object)) << "\n";
  }
  if (!isPrinted)
    llvm::errs() << "dist-run: error: " << error << "\n";
}

void mlir::dist::sayPredicted(const std::optional<Simulation> &predicted,
                              const std::string &machine) {
  if (!predicted)
    return;
  llvm::outs() << "predicted for " << machine << ": "
               << llvm::format("%.3f", 1e3 * predicted->time.getTotal())
               << " ms a step";
  if (predicted->idleShare > 0)
    llvm::outs() << llvm::format(", in which %.1f%% of the ranks' time for "
                                 "products is idle",
                                 100 * predicted->idleShare);
  llvm::outs() << "\n";
}

void mlir::dist::sayStreams(RunCompiler &compiler) {
  if (std::string text = compiler.describeStreams(); !text.empty())
    llvm::outs() << text << "\n";
}
