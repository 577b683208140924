//===- SourceText.h - Text that MLIR's parser may be given ------*- C++ -*-===//
//
// A device may have no end, and upstream's parser calls itself for what is
// nested, to any depth: what comes from outside is looked at before.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_SOURCETEXT_H
#define DIST_DIALECTS_DIST_IR_SOURCETEXT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace mlir::dist {

/// What is in the file or pipe `path`, or in standard input for "-", of at most
/// `mostBytes`: a copy, which does not change when the file does. A device is
/// refused before it is opened, a file that is too long before it is read. A
/// pipe is waited for while there is somebody who may write to it, and 10
/// seconds for such a one; what it held is kept, for when it is read again.
/// Errors say what is wrong, without the path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readText(StringRef path, uint64_t mostBytes = uint64_t(1) << 31);

/// Why the parser cannot be given `text`, as "LINE: what is wrong": brackets,
/// signs or arrows that are nested more than 512 deep. Empty where it can. One
/// pass over the text.
std::string findTooDeep(StringRef text);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_SOURCETEXT_H
