//===- SourceText.h - Checks of text before it is parsed --------*- C++ -*-===//
//
// Text from outside is checked before it is parsed. A device file may have no
// end, and upstream's parser is recursive: nested input may overflow the stack.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_UTILS_SOURCETEXT_H
#define DIST_DIALECTS_DIST_UTILS_SOURCETEXT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace mlir::dist {

/// The contents of the file or pipe `path`, or of standard input for "-", of at
/// most `mostBytes`. It is a copy, which does not change when the file does. A
/// device is rejected before it is opened, a file that is too long before it is
/// read. A pipe is read until all writers have closed it; the first writer is
/// waited for 10 seconds. The contents of a pipe are kept, in case it is read
/// again. Errors describe the problem, without the path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readText(StringRef path, uint64_t mostBytes = uint64_t(1) << 31);

/// Whether `contents` begin like text: no control characters but white space.
bool isText(StringRef contents);

/// Of the file `path` that holds no program or schedule as text, as others do
/// that the tools read: what it is, and which option or tool takes it. Empty
/// for text.
std::string describeForeign(StringRef path, StringRef contents);

/// Why the parser must not be given `text`, as "LINE: problem": brackets, signs
/// or arrows that are nested more than 512 deep. Empty if the text is fine. One
/// pass over the text.
std::string findTooDeep(StringRef text);

/// Line and column, from 1 on.
struct SourcePlace {
  unsigned line, column;
};
/// The last '{' that no '}' closes, if there is one.
std::optional<SourcePlace> findUnclosed(StringRef text);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_SOURCETEXT_H
