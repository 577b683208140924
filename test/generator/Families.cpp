//===- Families.cpp - The op families and how often they come -------------===//

#include "test/generator/RandomProgram.h"

using namespace mlir::dist::test;

static const NamedFamily kFamilies[] = {
    {"elementwise", 6, makeElementwise},
    {"whole-tensor", 5, makeWholeTensor},
    {"contraction", 7, makeContraction},
    {"reduction", 6, makeReduction},
    {"mixed-reduction", 2, makeMixedReduction},
    {"argmax", 1, makeArgMax},
    {"normalization", 2, makeNormalization},
    {"transpose", 2, makeTranspose},
    {"broadcast", 2, makeBroadcast},
    {"reshape", 5, makeReshape},
    {"slice", 4, makeSlice},
    {"insert", 2, makeInsert},
    {"concat", 3, makeConcat},
    {"pad", 2, makePad},
    {"gather", 3, makeGather},
    {"scatter", 1, makeScatter},
    {"window", 2, makeWindow},
    {"constant", 2, makeConstant},
    {"element", 1, makeElement},
    {"division", 1, makeDivision},
    {"lookup", 1, makeLookup},
    {"loop", 1, makeLoop},
    {"while", 1, makeWhile},
    {"branch", 1, makeBranch},
    {"call", 1, makeCall},
    {"constraint", 3, makeConstraint},
    {"sync", 1, makeSync},
};

llvm::ArrayRef<NamedFamily> mlir::dist::test::getFamilies() {
  return kFamilies;
}
