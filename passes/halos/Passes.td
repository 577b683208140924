//===- Passes.td - Rows of neighbouring devices ------------*- tablegen -*-===//

#ifndef DIST_PASSES_HALOS_PASSES_TD
#define DIST_PASSES_HALOS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistJoinHalos : Pass<"dist-join-halos", "::mlir::ModuleOp"> {
  let summary = "Consecutive layers exchange halos once: level 3";
  let description = [{
    Needs a program of level 3. Where layers that read windows (convolutions,
    poolings) follow each other, one exchange can bring the rows that all of them
    need of the first input. The values in between are then computed for more
    rows. Rows at a border are computed by both neighbours.

    ```mlir
    %1 = dist.halo_exchange %x dim 0 low 1 high 1 over "sp" : tensor<8xf32> -> tensor<10xf32>
    %2 = "convolution"(%1) : (tensor<10xf32>) -> tensor<8xf32>
    %3 = dist.halo_exchange %2 dim 0 low 1 high 1 over "sp" : tensor<8xf32> -> tensor<10xf32>
    %4 = "convolution"(%3) : (tensor<10xf32>) -> tensor<8xf32>
    ```
    becomes
    ```mlir
    %1 = dist.halo_exchange %x dim 0 low 2 high 2 over "sp" : tensor<8xf32> -> tensor<12xf32>
    %2 = "convolution"(%1) : (tensor<12xf32>) -> tensor<10xf32>
    %3 = linalg.generic … ins(%2)        // zero where the row is none of the dimension's
    %4 = "convolution"(%3) : (tensor<10xf32>) -> tensor<8xf32>
    ```
    No number changes. Rows past the ends of the line keep the values that the
    removed exchange gave them; they are not computed from the padding of the
    layer before. Readers of a value's own rows, such as gradients, take a slice.

    Between the exchanges of a chain there may be:

    - ops that work row by row, also with values that are equal on all devices of
      the line, such as the statistics of a norm;
    - windows of any stride;
    - slices whose offset moves along the line, and reshapes of rows;
    - exchanges of other dimensions, which then send more.

    A device's neighbour must compute the same for the rows that follow. The pass
    checks that: from device to device, the first row must move by the length of a
    block of the exchanged value. All else ends a chain: collectives, sums over
    rows, padding that each device adds to its rows, rings, exchanges that a
    `dist.sync` asked for. So does a halo that would be wider than a block.

    If several exchanges need rows of the same value, one exchange brings them
    all.

    `join=auto` minimizes the estimated time by dynamic programming over each
    chain: latency and bytes of the exchanges against arithmetic and memory of the
    rows that are computed twice. `join=always` leaves as few exchanges as
    possible. An exchange's cause also names the layers that it serves, and the
    number of rows that are computed twice.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"join", "join", "std::string", "\"auto\"",
           "When to join: auto, or always">,
    Option<"layers", "layers", "unsigned", "8",
           "The most layers that one exchange serves">,
    Option<"machineName", "machine", "std::string", "",
           "For auto, the machine: a name or a file, as in dist-report">,
    Option<"link", "link", "std::string", "",
           "As in --dist-schedule-overlap">,
    Option<"report", "report", "bool", "false",
           "Report each chain's estimate, and why other layers form no chain, as "
           "remarks">
  ];
}

def DistLowerHalos : Pass<"dist-lower-halos", "::mlir::ModuleOp"> {
  let summary = "Halo exchanges become shifts or a gather: level 3";
  let description = [{
    A `dist.halo_exchange` is one call, in which every device sends to the
    neighbours that need its rows. Libraries run it as a group of sends and
    receives. It can become instead

    - shifts: one `dist.send_recv` for each neighbour whose rows are needed. The
      received rows are concatenated with the device's own; at the ends the
      boundary's rows are selected.
    - a gather: the whole dimension by `dist.all_gather`; each device slices its
      window.

    ```mlir
    %1 = dist.halo_exchange %0 dim 0 low 1 high 1 over "sp" : tensor<4x8xf32> -> tensor<6x8xf32>
    ```
    becomes, by shifts,
    ```mlir
    %l = tensor.extract_slice %0[3, 0] [1, 8] [1, 1] : …
    %a = dist.send_recv %l shift 1 over "sp" : tensor<1x8xf32>
    %h = tensor.extract_slice %0[0, 0] [1, 8] [1, 1] : …
    %b = dist.send_recv %h shift -1 over "sp" : tensor<1x8xf32>
    %1 = tensor.concat dim(0) %a, %0, %b : …
    ```
    No arithmetic is done, so all three give the same bits, except in padding.
    `auto` takes the form whose estimated time is smallest, and prefers the
    exchange if times are equal. Shifts need blocks that begin equally far apart.
    So uneven blocks along several axes, or on a ring, cannot use them;
    `to=shifts` is then an error.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"to", "to", "std::string", "\"auto\"",
           "What exchanges become: auto, exchange, gather or shifts">,
    Option<"machineName", "machine", "std::string", "",
           "For auto, the machine: a name or a file, as in dist-report">,
    Option<"link", "link", "std::string", "",
           "As in --dist-schedule-overlap">,
    Option<"report", "report", "bool", "false",
           "Report each exchange's estimate, as a remark">
  ];
}

#endif // DIST_PASSES_HALOS_PASSES_TD
