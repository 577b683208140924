//===- Passes.td - What every pass does ---------------------*- tablegen -*-===//

#ifndef DIST_PASSES_PASSES_TD
#define DIST_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistApplySchedulePass : Pass<"dist-apply-schedule", "ModuleOp"> {
  let summary = "Writes the directives of a schedule into the program: level 0 to 1";
  let description = [{
    Reads the schedule of `file` (else that of the module), moves its mesh into
    the module, and turns each directive into shardings of arguments and results,
    sharding constraints, and value-level syncs. A directive that matches nothing
    and is not `optional`, or that cannot be used, is an error at its own line.

    ```mlir
    dist.shard "fc" column over "tp"
    ```

    on a module whose path is `fc`,

    ```mlir
    func.func @main(%w: tensor<8x16xf32> {dist.parameter = "fc.weight"}, …) {
      …
      %1 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : …) outs(%0 : …) -> tensor<4x16xf32>
    ```

    makes

    ```mlir
    func.func @main(%w: tensor<8x16xf32> {dist.parameter = "fc.weight",
                                          dist.sharding = #dist.sharding<@m, [{?}, {"tp"} ]>}, …) {
      …
      %1 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : …) outs(%0 : …) -> tensor<4x16xf32>
      %2 = dist.sharding_constraint %1 <@m, [{?}, {"tp"} ]>
             cause "s.mlir:3: dist.shard \"fc\" column over \"tp\"" {dist.scope = "fc"} : tensor<4x16xf32>
    ```

    A path stands for the module's own ops and those of the modules within it.

    - `column` shards the output features of the contractions of activations with
      a parameter: the parameter's dimension and the result's; `row` the input
      features: the parameter's dimension and the activations'. Which dimensions
      these are follows from the contraction's factors, also through reshapes and
      transposes of the parameter. Modules without parameters that a glob matches
      on the way are passed over; one that has parameters, but no contraction, is
      an error.
    - `parameter`, `input` and `output` place what has that name. Several
      directives on one tensor add up, where they shard different dimensions over
      different axes; else they are an error.
    - a sync `fwd_pre` acts on the module's inputs: what its weights are applied
      to, else all tensors that it reads and that are no parameters. Only ops of
      the module see the result; modules that read the same value share one sync.
    - a sync `fwd_post` acts on the module's outputs; `reduce_scatter` and
      `all_reduce` go to where the sum is pending, which is before a bias is
      added. `dim` counts the dimensions of the output.

    For each directive a line on standard error says how many places it applied
    to.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"",
           "File with the schedule; without it, the module has it">,
    Option<"schedule", "schedule", "std::string", "\"\"",
           "Name of the schedule, where there are several">,
    Option<"report", "report", "bool", "true",
           "Print how many places each directive applied to">,
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::tensor::TensorDialect"];
}

#endif // DIST_PASSES_PASSES_TD
