//===- Code.h - Decoded PTX -------------------------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_EMULATED_CODE_H
#define DIST_RUNTIME_EMULATED_CODE_H

#include "runtime/emulated/Executor.h"

#include <cstdlib>
#include <unordered_map>

namespace dist::emulated {

constexpr unsigned kLanes = 32;
constexpr uint32_t kAllLanes = ~0u;

/// Windows of generic addresses, where no address of the host is.
constexpr uint64_t kSharedWindow = uint64_t(1) << 56;
constexpr uint64_t kLocalWindow = uint64_t(2) << 56;
constexpr uint64_t kParamWindow = uint64_t(3) << 56;
constexpr uint64_t kWindowBytes = uint64_t(1) << 32;
/// Where dynamic shared memory begins at the earliest: behind all static one,
/// and a multiple of what the banks repeat after.
constexpr uint64_t kDynamicShared = 1 << 20;
/// Where a kernel's local memory begins, behind that of functions.
constexpr uint64_t kKernelLocal = 1 << 24;

/// PTX's fundamental types, and packed ones.
enum class Type : uint8_t {
  Pred, B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64,
  F16, F16x2, BF16, BF16x2, F32, F32x2, F64
};
unsigned bitsOf(Type type);
bool isSigned(Type type);
bool isFloat(Type type); // also packed ones
inline unsigned bytesOf(Type type) { return (bitsOf(type) + 7) / 8; }

enum class Space : uint8_t { Generic, Global, Shared, Local, Param, Const };

enum class Rounding : uint8_t { Nearest, Zero, Down, Up, Away };

/// 32 values side by side, or the mask of a predicate: 2 bits of which memory
/// they lie in, 30 bits of an offset there.
using Slot = uint32_t;
enum SlotBase : uint32_t { RegisterBase, ConstantBase, SpecialBase };
constexpr Slot kNoSlot = ~0u;
constexpr Slot slotAt(SlotBase base, uint32_t offset) {
  return uint32_t(base) << 30 | offset;
}

/// The special registers that lie in memory as registers do, 128 bytes each.
enum Special : uint32_t {
  TidX, TidY, TidZ, NtidX, NtidY, NtidZ, CtaidX, CtaidY, CtaidZ,
  NctaidX, NctaidY, NctaidZ, LaneId, WarpId, WarpCount,
  LaneEq, LaneLe, LaneLt, LaneGe, LaneGt, DynamicShared, TotalShared,
  SpecialCount
};

enum class Kind : uint8_t {
  Lanes,    // d = function(a, b, c)
  Compare,  // predicates d and e = comparison of a and b, with predicate c
  Select,   // d = c ? a : b
  Logic,    // predicates: and, or, xor, not, mov
  MoveBits, // packs a vector into d, or unpacks a
  Divide,   // integers, which may divide by zero
  Carry,    // add and sub with a carry
  Insert,   // d = b with e bits of a from c on
  Clock,
  ActiveMask,
  IsSpace,
  Fence,
  Nothing,
  Load,
  Store,
  Atomic,
  LoadParam, // of a call's or function's own parameters
  StoreParam,
  // From here on which lanes run may change.
  Shuffle,
  Vote,
  Match,
  Reduce,
  WarpSync,
  Barrier,
  Branch,
  BranchTable,
  Call,
  Return,
  Exit,
  Trap,
};

struct Operation;
/// Computes all lanes and writes those of `mask`.
using LaneFunction = void (*)(const Operation &op, void *d, const void *a,
                              const void *b, const void *c, uint32_t mask);
/// A mask of 32 comparisons; all lanes are compared.
using CompareFunction = uint32_t (*)(const Operation &op, const void *a,
                                     const void *b);

enum class AtomicOp : uint8_t {
  Add, Min, Max, And, Or, Xor, Exchange, Cas, Inc, Dec
};
enum class BoolOp : uint8_t { None, And, Or, Xor, Not, Move };
enum class ShuffleMode : uint8_t { Up, Down, Butterfly, Index };
enum class VoteMode : uint8_t { All, Any, Uni, Ballot };
enum class BarrierMode : uint8_t { Sync, Arrive, ReduceAnd, ReduceOr, Popc };

struct Operation {
  Kind kind = Kind::Nothing;
  Type type = Type::B32, from = Type::B32;
  /// Bytes of a register in `d`, or of each of a vector.
  uint8_t registerBytes = 4;
  /// Elements; of a comparison a BoolOp.
  uint8_t vector = 1;
  Space space = Space::Generic;
  Rounding rounding = Rounding::Nearest;
  /// AtomicOp, BoolOp, ShuffleMode, VoteMode or BarrierMode, or what a
  /// LaneFunction wants.
  uint8_t mode = 0;
  bool isFlushed : 1 = false;       // .ftz
  bool isOfPairs : 1 = false;       // .f16x2, in a comparison
  bool isSaturated : 1 = false;     // .sat
  bool isRectified : 1 = false;     // .relu
  bool isInteger : 1 = false;       // .rni and so on
  bool keepsNaN : 1 = false;        // .NaN
  bool isNonCoherent : 1 = false;   // .nc
  bool isStrong : 1 = false;        // volatile, relaxed, acquire, release
  bool isAligned : 1 = false;       // .aligned
  bool isNegated : 1 = false;       // @!p
  bool writesCarry : 1 = false, readsCarry : 1 = false;
  bool negatesC : 1 = false;        // of a predicate operand
  bool negatesA : 1 = false, negatesB : 1 = false;
  bool addressIsNarrow : 1 = false; // in a register of 32 bits
  /// The variable's alignment does not promise that of the access.
  bool exceedsAlignment : 1 = false;
  /// The predicate that guards it.
  Slot guard = kNoSlot;
  Slot d = kNoSlot, e = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot;
  int64_t offset = 0;
  /// Of a branch an operation's index; otherwise a place in the function's
  /// lists: vectors, targets of a table, calls.
  uint32_t target = 0;
  uint32_t line = 0, location = 0;
  union {
    LaneFunction function = nullptr;
    CompareFunction compare;
  };
};

struct CallSite {
  uint32_t function = 0;
  /// Offsets in the caller's memory for parameters, and bytes.
  std::vector<std::pair<uint32_t, uint32_t>> arguments, results;
};

/// A place of a source file.
struct SourceLocation {
  uint32_t file = 0, line = 0, column = 0;
};

/// 32 equal values, at the alignment of vectors.
struct alignas(64) Broadcast {
  std::array<uint8_t, 256> bytes;
};

struct Function {
  Kernel interface;
  bool isKernel = false, isDefined = false;
  std::vector<Operation> operations;
  std::vector<Broadcast> constants;
  std::vector<Slot> vectors;
  std::vector<std::vector<uint32_t>> tables;
  std::vector<CallSite> calls;
  /// Bytes of registers (the mask of carries first), of a kernel's own local
  /// memory, and of parameters: its own, results, and those of its calls.
  uint32_t registerBytes = 0, localBytes = 0, paramBytes = 0;
  /// Where results stand in its memory for parameters.
  std::vector<Parameter> results;
  /// The fewest bytes that an access to global and to shared memory moves, at
  /// most 16: nothing smaller need be told apart.
  uint32_t globalGranule = 16, sharedGranule = 16;
  uint32_t line = 0;
};

struct Variable {
  Space space = Space::Global;
  uint64_t address = 0, bytes = 0;
  uint32_t alignment = 1;
};

struct Code {
  std::string name;
  std::vector<Function> functions;
  std::unordered_map<std::string, uint32_t> functionIndex;
  std::unordered_map<std::string, Variable> variables;
  std::vector<void *> buffers;
  std::map<uint32_t, std::string> files;
  std::vector<SourceLocation> locations{{}};
  /// Shared memory that belongs to the module rather than to a function, then
  /// that of functions; the alignment that dynamic shared memory asks for.
  uint32_t sharedBytes = 0, dynamicAlignment = 0;
  /// Local memory of all functions that are no kernels.
  uint32_t localBytes = 0;
};

/// Where a variable of this alignment goes that begins at `offset` at the
/// earliest: never better aligned than it asks for, so that an access that
/// needs more is seen.
uint64_t placeVariable(uint64_t offset, uint64_t alignment);

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_CODE_H
