//===- ModuleNotes.cpp - What directives left for later levels ------------===//

#include "passes/schedule/names/ModuleNotes.h"
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace mlir::dist;

static constexpr StringLiteral kWholeModel = "**";

StringRef mlir::dist::getNoteName(StringRef path) {
  return path.empty() ? StringRef(kWholeModel) : path;
}

StringRef mlir::dist::getNotedModule(StringRef name) {
  return name == kWholeModel ? StringRef() : name;
}

const NamedAttribute *mlir::dist::findModuleNote(Operation *op,
                                                 DictionaryAttr modules) {
  if (!modules)
    return nullptr;
  auto find = [&](StringRef name) -> const NamedAttribute * {
    auto [module, isThere] =
        impl::findAttrSorted(modules.begin(), modules.end(), name);
    return isThere ? module : nullptr;
  };
  // The innermost module that is named.
  auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
  for (StringRef path = scope ? scope.strref() : StringRef(); !path.empty();) {
    if (const NamedAttribute *note = find(path))
      return note;
    if (!path.contains('.'))
      break;
    path = path.rsplit('.').first;
  }
  return find(kWholeModel);
}
