//===- SourceText.h - Text that MLIR's parser may be given ------*- C++ -*-===//
//
// Upstream's parser calls itself for what is nested, to any depth: text from
// outside is looked at before.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_SOURCETEXT_H
#define DIST_DIALECTS_DIST_IR_SOURCETEXT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::dist {

/// Why the parser cannot be given `text`, as "LINE: what is wrong": brackets,
/// signs or arrows that are nested more than 512 deep. Empty where it can. One
/// pass over the text.
std::string findTooDeep(StringRef text);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_SOURCETEXT_H
