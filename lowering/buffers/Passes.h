//===- Passes.h - From tensors to buffers in an arena -----------*- C++ -*-===//
//
// The passes of Passes.td, which every target's lowering starts with.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_PASSES_H
#define DIST_LOWERING_BUFFERS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::dist {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lowering/buffers/Passes.h.inc"

/// Module attributes for the bundle's manifest: bytes of the arena, and the
/// most bytes of it alive at once.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "rt.arena_bytes";
inline constexpr llvm::StringLiteral kLiveBytesAttr = "rt.live_bytes";

/// How many dist.attention were formed.
inline constexpr llvm::StringLiteral kAttentionsAttr = "rt.attentions";

/// How many of the entry function's buffers are results, the last ones.
inline constexpr llvm::StringLiteral kNumResultsAttr = "rt.num_results";

/// For which results these are, if others are in arguments (`dist.updates`).
inline constexpr llvm::StringLiteral kResultNumbersAttr = "rt.result_numbers";

/// Registers the interfaces of upstream dialects that the passes need.
void registerBufferExtensions(DialectRegistry &registry);

/// Registers how dist.attention is bufferized.
void registerAttentionModel(DialectRegistry &registry);

/// Symbols of a program after --dist-perturb-rounding: the number of calls so
/// far (int64_t, the seed), and the amplitude of the perturbation (double, from
/// 0, the initial value, to 1).
inline constexpr llvm::StringLiteral kPerturbationCounter =
    "dist_perturbation_counter";
inline constexpr llvm::StringLiteral kPerturbationAmplitude =
    "dist_perturbation_amplitude";
/// Two more (int64_t) for programs with loops whose number of iterations
/// depends on data. The first is the most iterations of one of them, which is
/// counted at amplitude 0. The second says whether one did not end although its
/// perturbation no longer changed.
inline constexpr llvm::StringLiteral kPerturbationTurns =
    "dist_perturbation_turns";
inline constexpr llvm::StringLiteral kPerturbationStopped =
    "dist_perturbation_stopped";

/// On the addition of a sum of which each rank has a part, in bf16: the number
/// of its terms.
inline constexpr llvm::StringLiteral kPartialSumsAttr = "rt.partial_sums";

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_PASSES_H
