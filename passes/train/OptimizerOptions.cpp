//===- OptimizerOptions.cpp - Optimizers as users word them ---------------===//

#include "mlir/IR/BuiltinTypes.h"
#include "passes/train/Optimizer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Reads one optimizer; the first error stays.
class Reader {
public:
  Reader(Optimizer &optimizer, std::string &error)
      : optimizer(optimizer), error(error) {}

  bool readKind(StringRef name);
  bool readSetting(StringRef text);
  bool check();

private:
  bool fail(const Twine &message) {
    error = message.str();
    return false;
  }
  /// A number of [low, high), or of [low, high] where `high` is infinite.
  bool read(StringRef key, StringRef text, double low, double high,
            double &number);
  bool read(StringRef key, StringRef text, int64_t &number);
  bool readSchedule(StringRef text);

  Optimizer &optimizer;
  std::string &error;
  llvm::StringSet<> seen;
};
} // namespace

bool Reader::readKind(StringRef name) {
  if (name == "sgd") {
    optimizer.kind = Optimizer::Kind::Sgd;
  } else if (name == "adam") {
    optimizer.kind = Optimizer::Kind::Adam;
  } else if (name == "adamw") {
    optimizer.kind = Optimizer::Kind::AdamW;
    optimizer.weightDecay = 1e-2;
  } else {
    return fail("'" + name + "' is no optimizer: sgd, adam or adamw");
  }
  return true;
}

bool Reader::read(StringRef key, StringRef text, double low, double high,
                  double &number) {
  // Of no text llvm::to_float makes 0.
  if (text.empty() || !llvm::to_float(text, number) || !std::isfinite(number) ||
      number < low || number >= high)
    return fail(key + "=" + text + ": expected a number of at least " +
                llvm::formatv("{0:f0}", low).str() +
                (std::isfinite(high)
                     ? " and less than " + llvm::formatv("{0:f0}", high).str()
                     : ""));
  return true;
}

bool Reader::read(StringRef key, StringRef text, int64_t &number) {
  if (text.getAsInteger(10, number) || number < 0)
    return fail(key + "=" + text + ": expected a number of steps");
  return true;
}

bool Reader::readSchedule(StringRef text) {
  if (text == "constant")
    optimizer.schedule = Optimizer::Schedule::Constant;
  else if (text == "linear")
    optimizer.schedule = Optimizer::Schedule::Linear;
  else if (text == "cosine")
    optimizer.schedule = Optimizer::Schedule::Cosine;
  else
    return fail("schedule=" + text + ": expected constant, linear or cosine");
  return true;
}

bool Reader::readSetting(StringRef text) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  auto [key, value] = text.split('=');
  if (!seen.insert(key).second)
    return fail(key + " is given twice");
  bool isSgd = optimizer.kind == Optimizer::Kind::Sgd;
  if (key == "lr")
    return read(key, value, 0, kAny, optimizer.rate);
  if (key == "weight_decay")
    return read(key, value, 0, kAny, optimizer.weightDecay);
  if (key == "clip")
    return read(key, value, 0, kAny, optimizer.clip);
  if (key == "min_lr")
    return read(key, value, 0, kAny, optimizer.minRate);
  if (key == "warmup")
    return read(key, value, optimizer.warmup);
  if (key == "steps")
    return read(key, value, optimizer.steps);
  if (key == "zero") {
    optimizer.zero = value.str();
    return !value.empty() || fail("zero=AXIS: names no axis of the mesh");
  }
  if (key == "schedule")
    return readSchedule(value);
  if (key == "masters" && value.empty())
    return optimizer.masters = true;
  if (isSgd && key == "momentum")
    return read(key, value, 0, kAny, optimizer.momentum);
  if (isSgd && key == "nesterov" && value.empty())
    return optimizer.nesterov = true;
  if (!isSgd && key == "eps")
    return read(key, value, 0, kAny, optimizer.epsilon);
  if (!isSgd && key == "betas") {
    auto [first, second] = value.split(':');
    if (first.empty() || second.empty() || second.contains(':'))
      return fail(text + ": expected two numbers, as in betas=0.9:0.999");
    return read("betas, the first", first, 0, 1, optimizer.beta1) &&
           read("betas, the second", second, 0, 1, optimizer.beta2);
  }
  return fail("'" + text + "' is no setting of it: lr, weight_decay, " +
              (isSgd ? "momentum, nesterov" : "betas=0.9:0.999, eps") +
              ", clip, masters, zero=AXIS, schedule, warmup, steps, min_lr");
}

bool Reader::check() {
  if (optimizer.nesterov && optimizer.momentum == 0)
    return fail("nesterov needs a momentum");
  bool falls = optimizer.schedule != Optimizer::Schedule::Constant;
  if (falls && optimizer.steps <= optimizer.warmup)
    return fail("the schedule falls from step " + Twine(optimizer.warmup) +
                " (warmup) to step " + Twine(optimizer.steps) +
                " (steps): steps must be more");
  if (!falls && (seen.contains("steps") || seen.contains("min_lr")))
    return fail("steps and min_lr are of schedule=linear and schedule=cosine");
  if (optimizer.minRate > optimizer.rate)
    return fail("min_lr is more than lr");
  return true;
}

std::optional<Optimizer> Optimizer::parse(StringRef text, std::string &error) {
  Optimizer optimizer;
  Reader reader(optimizer, error);
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  if (!reader.readKind(parts.front()))
    return std::nullopt;
  for (StringRef part : llvm::drop_begin(parts))
    if (!reader.readSetting(part))
      return std::nullopt;
  if (!reader.check())
    return std::nullopt;
  return optimizer;
}

SmallVector<StringRef> Optimizer::getStates(Type element) const {
  SmallVector<StringRef> states;
  if (kind != Kind::Sgd)
    states = {"exp_avg", "exp_avg_sq"};
  else if (momentum != 0)
    states = {"momentum_buffer"};
  if (hasMaster(element))
    states.push_back("master");
  return states;
}
