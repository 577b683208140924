//===- ModuleNotes.cpp - What directives left for level 3 -----------------===//

#include "passes/spmd/ModuleNotes.h"
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace mlir::dist;

const NamedAttribute *mlir::dist::findModuleNote(Operation *op,
                                                 DictionaryAttr modules) {
  auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
  if (!modules || !scope)
    return nullptr;
  // The innermost module that is named.
  for (StringRef path = scope; !path.empty();) {
    auto [module, isThere] =
        impl::findAttrSorted(modules.begin(), modules.end(), path);
    if (isThere)
      return module;
    if (!path.contains('.'))
      break;
    path = path.rsplit('.').first;
  }
  return nullptr;
}
