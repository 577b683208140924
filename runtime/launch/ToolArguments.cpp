//===- ToolArguments.cpp - What the tools are given -----------------------===//

#include "dist/ToolArguments.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <utility>

using namespace dist;

/// The options of each tool, but --help and --version; those of dist-opt are
/// passes. A test compares them with what --help says.
static constexpr struct {
  const char *tool, *options;
} kOptionsOfTools[] = {
    {"dist-calibrate", "link o ranks"},
    {"dist-compile",
     "allow-unmatched assume-masks bind dump-asm dump-llvm dump-ptx dump-spmd "
     "f64 fuse-transposes halos join-halos link machine mcpu mesh microbatches "
     "o opt-level overlap overlap-memory plan recompute schedule schedule-name "
     "statistics "
     "target turns v weights"},
    {"dist-exec",
     "backend bind-address driver dry-run graph input inputs json link mpi n "
     "output "
     "port profile random rank-memory ranks reductions repeat streams timeout "
     "trace weights"},
    {"dist-import", "bind locations o operators weights"},
    {"dist-report",
     "all assume-masks bind compare fuse-transposes join-halos json link "
     "machine mesh microbatches o overlap overlap-memory pipeline-table plan "
     "print-machine recompute "
     "schedule schedule-name simulate timeline turns v"},
    {"dist-run",
     "accumulate allow-nonfinite allow-unmatched assume-masks atol backend "
     "bind bind-address curve data driver dump-spmd expect fuse-transposes "
     "graph "
     "halos "
     "in-order input inputs join-halos json link loss loss-of machine mcpu "
     "mesh microbatches mpi n opt-level optimizer output overlap "
     "overlap-memory "
     "perturbed-runs plan port profile random recompute reductions reference "
     "repeat "
     "resume rtol save save-every save-shard schedule schedule-name seed steps "
     "streams target timeout trace train train-parameters turns v verify "
     "weights"}};

/// What other programs call options, and what to write if the tool has
/// `option`.
static constexpr struct {
  const char *names, *option, *advice;
} kElsewhere[] = {
    {"np nproc nprocs nproc-per-node num-processes ntasks ranks world-size",
     "n", "-n N starts N processes, as many as the mesh has devices"},
    {"learning-rate lr momentum weight-decay", "optimizer",
     "it is a number of the optimizer: --optimizer adamw,lr=3e-4"},
    {"epochs iterations max-steps num-steps", "steps",
     "--steps N says at which step training ends"},
    {"debug verbose", "v", "-v says how long each stage took"}};

static std::string dashed(const std::string &option) {
  return (option.size() > 1 ? "--" : "-") + option;
}

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

static const char *const kHelp = " (--help lists the options)";

/// "a, b and c".
static std::string join(const std::vector<std::string> &words,
                        const char *last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 < words.size() ? ", " : last) + words[i];
  return text;
}

static bool hasWord(const std::string &words, const std::string &word) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

/// "dist-compile, dist-report and dist-run".
static std::string findOwners(const std::string &option) {
  std::vector<std::string> owners;
  for (const auto &[tool, options] : kOptionsOfTools)
    if (hasWord(options, option))
      owners.push_back(tool);
  return join(owners, " and ");
}

/// Levenshtein's.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j)
      diagonal = std::exchange(
          row[j + 1],
          std::min({row[j] + 1, row[j + 1] + 1, diagonal + (a[i] != b[j])}));
  }
  return row.back();
}

/// An option that `name` may be meant for; "" if none is like it. One mistake
/// in four letters is likely, or more letters than the option has, or fewer.
static std::string findNear(const std::string &name,
                            const ToolOptions &options) {
  constexpr size_t kFewest = 3;
  std::string best;
  size_t least = name.size() / 4 + 1;
  for (const auto &[known, option] : options) {
    if (std::min(known.size(), name.size()) < kFewest)
      continue;
    size_t distance = editDistance(name, known);
    if (distance < least) {
      least = distance;
      best = known;
    }
  }
  auto begins = [](const std::string &text, const std::string &part) {
    return part.size() >= kFewest && text.compare(0, part.size(), part) == 0;
  };
  for (const auto &[known, option] : options)
    if (best.empty() && (begins(known, name) || begins(name, known + "-")))
      best = known;
  return best;
}

[[noreturn]] static void failUnknown(const std::string &tool,
                                     const std::string &text, std::string name,
                                     const ToolOptions &options) {
  for (char &c : name)
    c = c == '_' ? '-' : std::tolower(static_cast<unsigned char>(c));
  std::string shown = text.substr(0, text.find('='));
  // The number may follow at once.
  std::string letters = name.substr(0, name.find_first_of("0123456789"));
  for (const auto &[names, option, advice] : kElsewhere)
    if (options.count(option) && !letters.empty() && hasWord(names, letters))
      throw Error("no option " + shown + ": " + advice + kHelp);
  if (std::string owners = findOwners(name);
      !owners.empty() && !options.count(name)) {
    std::vector<std::string> passes; // of dist-opt
    for (const auto &[known, option] : options)
      if (known.rfind("dist-", 0) == 0 && endsWith(known, "-" + name))
        passes.push_back(dashed(known));
    throw Error(shown + " is an option of " + owners + ", not of " + tool +
                (passes.empty() ? "" : "; there is " + join(passes, " and ")) +
                kHelp);
  }
  if (name.rfind("dist-", 0) == 0 && tool != "dist-opt")
    throw Error("no option " + shown + ": passes are those of dist-opt" +
                kHelp);
  std::string near = options.count(name) ? name : findNear(name, options);
  throw Error("no option " + shown +
              (near.empty() ? "" : "; did you mean " + dashed(near) + "?") +
              kHelp);
}

/// A number of seconds for one with a unit, such as "1.5h".
static std::string findSeconds(const std::string &text) {
  static constexpr struct {
    const char *unit;
    double seconds;
  } kUnits[] = {{"ms", 1e-3}, {"s", 1},    {"sec", 1},  {"m", 60},
                {"min", 60},  {"h", 3600}, {"d", 86400}};
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  for (const auto &[unit, seconds] : kUnits)
    if (end != text.c_str() && std::string(end) == unit) {
      std::ostringstream stream;
      stream << number * seconds;
      return stream.str();
    }
  return "";
}

/// A whole number in decimal digits, as one writes it.
static bool isWhole(const std::string &text, bool hasSign) {
  size_t first = hasSign && text[0] == '-' ? 1 : 0;
  return text.size() > first &&
         std::all_of(text.begin() + first, text.end(),
                     [](unsigned char c) { return std::isdigit(c); }) &&
         (text[first] != '0' || text.size() == first + 1);
}

static void checkNumber(const std::string &name, const ToolOption &option,
                        const std::string &text) {
  std::string place = dashed(name) + " " + text + ": ";
  if (option.kind == ToolOption::Number) {
    char *end = nullptr;
    bool isDecimal =
        text.find_first_not_of("0123456789.eE+-") == std::string::npos;
    double number = std::strtod(text.c_str(), &end);
    if (isDecimal && !*end && std::isfinite(number))
      return;
    bool isTime = option.value == "SECONDS";
    std::string seconds = isTime ? findSeconds(text) : "";
    throw Error(place + "expected a finite number" +
                (isTime ? " of seconds" : "") +
                (seconds.empty() ? "" : ": write " + seconds));
  }
  bool hasSign = option.kind == ToolOption::Whole;
  if (isWhole(text, hasSign)) {
    errno = 0;
    if (hasSign)
      std::strtoll(text.c_str(), nullptr, 10);
    else
      std::strtoull(text.c_str(), nullptr, 10);
    if (errno == 0)
      return;
    throw Error(place + "expected a whole number below 2^" +
                (hasSign ? "63" : "64"));
  }
  std::string bare =
      text.substr(std::min(text.find_first_not_of("+0"), text.size()));
  throw Error(place + "expected a whole number" +
              (!hasSign && isWhole(text, true) ? " of at least 0" : "") +
              (isWhole(bare, hasSign) ? ": write " + bare : ""));
}

namespace {
/// Goes through the arguments.
class ArgumentReader {
public:
  ArgumentReader(const std::string &tool,
                 const std::vector<std::string> &arguments,
                 const ToolOptions &options)
      : tool(tool), arguments(arguments), options(options) {}

  std::vector<ToolArgument> read() {
    bool isOnlyModels = false;
    while (next < arguments.size()) {
      const std::string &text = arguments[next++];
      if (!isOnlyModels && text == "--")
        isOnlyModels = true;
      else if (isOnlyModels || text.size() < 2 || text[0] != '-')
        given.push_back({"", text, text});
      else
        readOption(text);
    }
    return std::move(given);
  }

private:
  static std::string nameOf(const std::string &text) {
    size_t begin = text.rfind("--", 0) == 0 ? 2 : 1;
    return text.substr(begin, text.find('=') - begin);
  }
  bool isOption(const std::string &text) const {
    return text.size() > 1 && text[0] == '-' && options.count(nameOf(text));
  }
  void readOption(const std::string &text);

  const std::string &tool;
  const std::vector<std::string> &arguments;
  const ToolOptions &options;
  std::vector<ToolArgument> given;
  size_t next = 0;
};
} // namespace

void ArgumentReader::readOption(const std::string &text) {
  std::string name = nameOf(text);
  size_t equals = text.find('=');
  bool hasValue = equals != std::string::npos;
  std::string value = hasValue ? text.substr(equals + 1) : "";
  auto found = options.find(name);
  if (found == options.end() && !hasValue && text[1] != '-') { // -n4
    auto letter = options.find(name.substr(0, 1));
    if (letter != options.end() && letter->second.kind == ToolOption::Whole &&
        std::isdigit(static_cast<unsigned char>(name[1]))) {
      found = letter;
      hasValue = true;
      value = name.substr(1);
    }
  }
  if (found == options.end())
    failUnknown(tool, text, name, options);
  const auto &[known, option] = *found;
  if (option.kind != ToolOption::Flag && !hasValue) {
    std::string form = dashed(known) + " " + option.value;
    if (next == arguments.size())
      throw Error(dashed(known) + " has no value: give " + form);
    value = arguments[next++];
    if (isOption(value))
      throw Error(dashed(known) + " has no value, as '" + value +
                  "' is an option: give " + form);
    hasValue = true;
  }
  if (hasValue && value.empty())
    throw Error(dashed(known) +
                " has an empty value; leave the option out, or give it one");
  const std::vector<std::string> &choices = option.choices;
  if (!choices.empty() &&
      std::find(choices.begin(), choices.end(), value) == choices.end())
    throw Error(dashed(known) + " " + value + ": expected " +
                join(choices, " or "));
  if (option.kind != ToolOption::Flag && option.kind != ToolOption::Text)
    checkNumber(known, option, value);
  given.push_back({known, value, text});
}

std::vector<ToolArgument>
dist::readArguments(const std::string &tool,
                    const std::vector<std::string> &arguments,
                    const ToolOptions &options) {
  return ArgumentReader(tool, arguments, options).read();
}

void dist::checkModel(const std::vector<ToolArgument> &given,
                      const std::string &forms, const ToolOptions &options) {
  const ToolArgument *first = nullptr, *before = nullptr;
  for (const ToolArgument &argument : given) {
    if (!argument.option.empty()) {
      before = &argument;
      continue;
    }
    if (!first) {
      first = &argument;
      before = nullptr;
      continue;
    }
    std::string remedy;
    bool wantsPair =
        before &&
        options.at(before->option).value.find('=') != std::string::npos &&
        before->value.find('=') == std::string::npos;
    if (wantsPair)
      remedy = "; write " + dashed(before->option) + " " + before->value + "=" +
               argument.value;
    // Of --random and --verify, which may go without.
    else if (before && before->value.empty() &&
             (options.at(before->option).value == argument.value ||
              isWhole(argument.value, false)))
      remedy = "; a value of " + before->text +
               " is joined to it: " + before->text + "=" + argument.value;
    else if (options.count("schedule"))
      remedy = "; a schedule follows --schedule";
    throw Error("'" + first->value + "' and '" + argument.value +
                "' are two models: give one" + remedy + kHelp);
  }
  if (!first)
    throw Error("no model: give " + forms + kHelp);
}
