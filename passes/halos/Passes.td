//===- Passes.td - Rows of neighbouring devices ------------*- tablegen -*-===//

#ifndef DIST_PASSES_HALOS_PASSES_TD
#define DIST_PASSES_HALOS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistJoinHalos : Pass<"dist-join-halos", "::mlir::ModuleOp"> {
  let summary = "Layers that follow each other exchange once: level 3";
  let description = [{
    Where layers that read windows (convolutions, poolings) follow each other, one
    exchange may bring the rows that all of them need of the first one's input. What is in
    between is computed of more rows, those at the border by both neighbours.

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
    No number changes. Rows past the ends of the line are what the exchange that is
    gone would have filled in, not what the layer before computes of its padding. Who
    reads a value's own rows, as gradients do, takes a slice.

    In between there may be ops that work row by row (also with what all devices of
    the line agree on, as the statistics of a norm are), windows of any stride,
    slices that drift along the line, reshapes of rows, and exchanges of other
    dimensions, which then send more. A device's neighbour must do the same to the rows that follow;
    that is checked: where rows begin moves from device to device by as much as blocks
    of what was exchanged are long. Everything else ends a chain: collectives, sums
    over rows, padding that each device adds to its rows, rings, an exchange that a
    `dist.sync` asked for, a halo that would be wider than a block. What several
    exchanges need of one value comes at once.

    `join=auto` takes what the machine's figures say is fastest: latency and bytes of
    the exchanges against arithmetic and memory of what is computed twice, by dynamic
    programming over each chain. `join=always` leaves as few exchanges as there can be.
    The exchange's cause names the layers that it is for as well, and how many rows
    are computed twice.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"join", "join", "std::string", "\"auto\"",
           "Where: auto, or always">,
    Option<"layers", "layers", "unsigned", "8",
           "The most layers that one exchange is for">,
    Option<"machineName", "machine", "std::string", "",
           "For auto, what it runs on: a name or a file, as of dist-report">,
    Option<"link", "link", "std::string", "",
           "As of --dist-schedule-overlap">,
    Option<"report", "report", "bool", "false",
           "Say of each chain what was foreseen, and why others are none, as "
           "remarks">
  ];
}

def DistLowerHalos : Pass<"dist-lower-halos", "::mlir::ModuleOp"> {
  let summary = "Halos by shifts or a gather in place of one exchange: level 3";
  let description = [{
    `dist.halo_exchange` is one call in which every device sends to the neighbours
    that lack its rows: a group of sends and receives, where the library has such.
    It may as well be

    - shifts: one `dist.send_recv` for each neighbour whose rows are wanted, put
      together with the device's own, and what the boundary says chosen at the ends;
    - a gather: the whole dimension by `dist.all_gather`, of which each device takes
      its window.

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
    Nothing is computed, so that all three give the same bits; what is padding may
    differ. `auto` takes what the machine's figures say is fastest, and leaves the
    exchange where it is as fast as any. Shifts are not possible where blocks do not begin
    equally far apart: uneven ones along several axes, or on a ring. Asked for
    there, they are an error.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"to", "to", "std::string", "\"auto\"",
           "What exchanges become: auto, exchange, gather or shifts">,
    Option<"machineName", "machine", "std::string", "",
           "For auto, what it runs on: a name or a file, as of dist-report">,
    Option<"link", "link", "std::string", "",
           "As of --dist-schedule-overlap">,
    Option<"report", "report", "bool", "false",
           "Say of each exchange what was foreseen, as a remark">
  ];
}

#endif // DIST_PASSES_HALOS_PASSES_TD
