//===- Passes.h - From tensors to buffers in an arena -----------*- C++ -*-===//
//
// The passes of Passes.td: what every target's lowering does first.
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

/// Module attributes that the passes hand to the bundle's manifest: bytes of
/// the arena, and the most bytes of it alive at once.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "rt.arena_bytes";
inline constexpr llvm::StringLiteral kLiveBytesAttr = "rt.live_bytes";

/// How many dist.attention were formed.
inline constexpr llvm::StringLiteral kAttentionsAttr = "rt.attentions";

/// How many of the entry function's buffers are results, the last ones.
inline constexpr llvm::StringLiteral kNumResultsAttr = "rt.num_results";

/// Which results these are, where others lie in arguments (`dist.updates`).
inline constexpr llvm::StringLiteral kResultNumbersAttr = "rt.result_numbers";

/// Registers the interfaces that the passes need of upstream dialects.
void registerBufferExtensions(DialectRegistry &registry);

/// Registers how dist.attention is bufferized.
void registerAttentionModel(DialectRegistry &registry);

/// Symbols of a program that --dist-perturb-rounding has changed: how many
/// calls there were (int64_t, the seed of what comes), and how much of the
/// perturbation is done (double, 0 for none, which it is at first, to 1).
inline constexpr llvm::StringLiteral kPerturbationCounter =
    "dist_perturbation_counter";
inline constexpr llvm::StringLiteral kPerturbationAmplitude =
    "dist_perturbation_amplitude";
/// Two more (int64_t) of a program with loops that are not counted: how often
/// one of them turned at most (0 counts that; else what was counted before),
/// and whether one did not end although its perturbation no longer changed.
inline constexpr llvm::StringLiteral kPerturbationTurns =
    "dist_perturbation_turns";
inline constexpr llvm::StringLiteral kPerturbationStopped =
    "dist_perturbation_stopped";

/// Of the addition of a sum that ranks each have a part of, in bf16: the number
/// of its terms.
inline constexpr llvm::StringLiteral kPartialSumsAttr = "rt.partial_sums";

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_PASSES_H
