//===- UserOps.td - A dialect of a user's own --------------*- tablegen -*-===//
//
// Joins dist through its interfaces alone: no pass knows these ops.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_DIALECTS_USER_USEROPS_TD
#define DIST_TEST_DIALECTS_USER_USEROPS_TD

include "dialects/dist/IR/ScheduleDirectiveOpInterface.td"
include "dialects/dist/Interfaces/DifferentiableOpInterface.td"
include "dialects/dist/Interfaces/ShardingRuleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def User_Dialect : Dialect {
  let name = "user";
  let cppNamespace = "::user";
}

class User_Op<string mnemonic, list<Trait> traits = []>
    : Op<User_Dialect, mnemonic, !listconcat([Pure], traits)>;

class User_RuledOp<string mnemonic, list<string> methods>
    : User_Op<mnemonic, [DeclareOpInterfaceMethods<
                            Dist_ShardingRuleOpInterface, methods>]>;

def User_ScaleOp : User_Op<"scale", [
    DeclareOpInterfaceMethods<Dist_ShardingRuleOpInterface, ["getPartialResult"]>,
    DeclareOpInterfaceMethods<Dist_DifferentiableOpInterface>]> {
  let summary = "Every element times a number: any dimension may be sharded, sums may be pending";
  let arguments = (ins AnyRankedTensor:$operand, F64Attr:$factor);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand `by` $factor attr-dict `:` type($operand) `->` type($result)";
}

def User_ScanOp : User_RuledOp<"scan", []> {
  let summary = "Running sums along the last dimension, which is needed whole";
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def User_PairSumsOp : User_RuledOp<"pair_sums", []> {
  let summary = "[n, k], [m, k] to [n, m]: sums over k of |a - b|";
  let arguments = (ins AnyRankedTensor:$left, AnyRankedTensor:$right);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$left `,` $right attr-dict `:` type($left) `,` type($right) `->` type($result)";
}

def User_IotaOp : User_RuledOp<"iota", ["makeLocal"]> {
  let summary = "Counts the rows of its operand from `start`: on each device from where its rows begin";
  let arguments = (ins AnyRankedTensor:$operand, Index:$start);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand `from` $start attr-dict `:` type($operand) `->` type($result)";
}

def User_SumAndPeakOp : User_RuledOp<"sum_and_peak", []> {
  let summary = "[n, k], [n, j] to [n], [n]: sums over k of the one, the largest over j of the other";
  let arguments = (ins AnyRankedTensor:$left, AnyRankedTensor:$right);
  let results = (outs AnyRankedTensor:$sums, AnyRankedTensor:$peaks);
  let assemblyFormat = "$left `,` $right attr-dict `:` type($left) `,` type($right) `->` type($sums) `,` type($peaks)";
}

def User_RangesOp : User_RuledOp<"ranges", []> {
  let summary = "[n, k] to [n], [n]: the smallest and the largest over k";
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$least, AnyRankedTensor:$most);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($least) `,` type($most)";
}

def User_AnyAndMostOp : User_RuledOp<"any_and_most", []> {
  let summary = "[n, k], [n, j] to [n]: combines k in one way, j in another";
  let arguments = (ins AnyRankedTensor:$left, AnyRankedTensor:$right);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$left `,` $right attr-dict `:` type($left) `,` type($right) `->` type($result)";
}

def User_ClipOp : User_Op<"clip"> {
  let summary = "[n, m], [m]: every element limited by its column's; has its rule from an external model";
  let arguments = (ins AnyRankedTensor:$operand, AnyRankedTensor:$limits);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand `by` $limits attr-dict `:` type($operand) `,` type($limits) `->` type($result)";
}

def User_OpaqueOp : User_Op<"opaque"> {
  let summary = "Says nothing about its dimensions";
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def User_ReplicateOp
    : Op<User_Dialect, "replicate", [DeclareOpInterfaceMethods<
                                        Dist_ScheduleDirectiveOpInterface>]> {
  let summary = "Directive: every device holds all that the modules compute";
  let arguments = (ins StrAttr:$target, UnitAttr:$optional);
  let assemblyFormat = "$target (`optional` $optional^)? attr-dict";
}

#endif // DIST_TEST_DIALECTS_USER_USEROPS_TD
