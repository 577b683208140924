//===- FuzzMain.cpp - dist-fuzz: random modules from the command line -----===//
//
// Runs any number of cases from any seed, tells what came out by kind, and
// shrinks failures.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Fuzz.h"
#include "test/generator/RandomProgram.h"
#include "test/lowering/oracle/CheckLowered.h"
#include "test/lowering/oracle/LimitProgram.h"
#include "test/lowering/oracle/ScheduleMutants.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir::dist::test;
using llvm::outs;
namespace cl = llvm::cl;

static cl::OptionCategory category("dist-fuzz");
static cl::opt<uint64_t> seedFlag("seed", cl::init(1),
                                  cl::desc("Seed of the first case"),
                                  cl::cat(category));
static cl::opt<uint64_t> countFlag("count", cl::init(100),
                                   cl::desc("Number of cases, one a seed"),
                                   cl::cat(category));
static cl::opt<std::string>
    onlyFlag("only", cl::desc("Some families of ops, with commas between"),
             cl::cat(category));
static cl::opt<unsigned> stepsFlag("steps", cl::init(9),
                                   cl::desc("Most families of ops a module"),
                                   cl::cat(category));
static cl::opt<bool>
    shrinkFlag("shrink",
               cl::desc("Shrink the first failure of each kind, and print it"),
               cl::cat(category));
static cl::opt<bool> printFlag("print",
                               cl::desc("Print the modules, and check nothing"),
                               cl::cat(category));
static cl::opt<std::string>
    keepFlag("keep", cl::desc("Write failing modules to this folder"),
             cl::value_desc("dir"), cl::cat(category));
static cl::opt<unsigned> timeFlag("timeout", cl::init(20),
                                  cl::desc("Seconds after which a case hangs"),
                                  cl::cat(category));
static cl::list<std::string>
    placeFlag("place",
              cl::desc("Place the programs of these files, which have no "
                       "placements, instead of random ones"),
              cl::value_desc("file.mlir"), cl::CommaSeparated,
              cl::cat(category));
static cl::opt<bool>
    forgetFlag("forget-sizes",
               cl::desc("Hide sizes from every program, not from some"),
               cl::cat(category));
static cl::opt<bool> fuseFlag(
    "fuse-transposes",
    cl::desc("Store the tensors of every program, not of some, so that "
             "collectives are on the leading dimension"),
    cl::cat(category));
static cl::opt<bool>
    joinFlag("join-halos",
             cl::desc("Layers that follow each other exchange rows once, "
                      "wherever they can"),
             cl::cat(category));
static cl::opt<bool>
    turnsFlag("turns",
              cl::desc("One axis of the mesh is done by one device in turns"),
              cl::cat(category));
static cl::opt<bool>
    loweredFlag("lowered",
                cl::desc("Compile and run what is placed, instead of "
                         "interpreting it"),
                cl::cat(category));
static cl::opt<bool>
    buffersFlag("buffers",
                cl::desc("Programs that are hard on buffers, compiled for one "
                         "rank and run"),
                cl::cat(category));
static cl::opt<bool> scheduledFlag(
    "scheduled",
    cl::desc("Order what is placed at random, with collectives on streams, and "
             "run it in every mode of streams"),
    cl::cat(category));
static cl::opt<bool> limitsFlag(
    "limits",
    cl::desc("Programs with static numbers at and beyond what their tensors "
             "have, compiled for one rank and run"),
    cl::cat(category));
static cl::opt<std::string> inputFlag(cl::Positional,
                                      cl::desc("[modules to check instead]"),
                                      cl::cat(category));

/// Checks the modules of a file, each with several arguments and kinds of
/// garbage, and through text.
static int checkFile() {
  bool allAgree = true;
  for (std::string text : readPrograms(inputFlag)) {
    CheckOptions options;
    Verdict verdict;
    for (uint64_t i = 0; i < 8; ++i) {
      options.seed = seedFlag + i;
      options.throughText = i == 7;
      options.forgetsSizes = forgetFlag;
      options.fusesTransposes = fuseFlag;
      options.joinsHalos = joinFlag;
      options.takesTurns = turnsFlag;
      if (limitsFlag)
        options.run = checkLimits;
      else if (scheduledFlag)
        options.run = checkScheduled;
      else if (loweredFlag || buffersFlag)
        options.run = checkLowered;
      verdict = checkApart(text, options, timeFlag);
      if (verdict.outcome != Outcome::Agrees)
        break;
    }
    allAgree &= verdict.outcome == Outcome::Agrees;
    if (shrinkFlag && verdict.isFailure()) {
      text = shrinkText(text, options, verdict, timeFlag);
      verdict = checkApart(text, options, timeFlag);
      outs() << text;
    }
    outs() << getName(verdict.outcome);
    if (verdict.outcome != Outcome::Agrees)
      outs() << " in " << verdict.pass << ": " << verdict.detail;
    outs() << "\n";
  }
  return !allAgree;
}

static void keep(const FuzzCase &fuzzCase, llvm::StringRef text,
                 const Verdict &verdict) {
  if (keepFlag.empty())
    return;
  llvm::sys::fs::create_directories(keepFlag);
  llvm::SmallString<128> path(keepFlag.getValue());
  llvm::sys::path::append(path,
                          "seed" + std::to_string(fuzzCase.seed) + ".mlir");
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  file << "// seed " << fuzzCase.seed << ": " << getName(verdict.outcome)
       << " in " << verdict.pass << ": "
       << llvm::StringRef(verdict.detail).split('\n').first << "\n"
       << text;
}

/// The case of a seed: a random program, or the next of those to be placed.
static FuzzCase make(uint64_t seed) {
  if (limitsFlag)
    return makeLimitCase(seed);
  static const std::vector<std::string> programs = [] {
    std::vector<std::string> out;
    for (const std::string &path : placeFlag)
      llvm::append_range(out, readPrograms(path));
    return out;
  }();
  FuzzCase out = !programs.empty()
                     ? makePlacedCase(seed, programs[seed % programs.size()])
                 : buffersFlag ? makeBufferCase(seed, onlyFlag, stepsFlag)
                               : makeCase(seed, onlyFlag, stepsFlag);
  out.options.forgetsSizes |= forgetFlag;
  out.options.fusesTransposes |= fuseFlag;
  out.options.joinsHalos = joinFlag;
  out.options.takesTurns = turnsFlag;
  if (scheduledFlag)
    out.options.run = checkScheduled;
  else if (loweredFlag || buffersFlag)
    out.options.run = checkLowered;
  return out;
}

/// Ends the program where --only names a family that there is not.
static void checkFamilies() {
  llvm::SmallVector<llvm::StringRef> given;
  if (!onlyFlag.empty())
    llvm::StringRef(onlyFlag).split(given, ',');
  auto families = buffersFlag ? getBufferFamilies() : getFamilies();
  auto getFamilyName = [](const NamedFamily &family) { return family.name; };
  auto names = llvm::map_range(families, getFamilyName);
  for (llvm::StringRef name : given)
    if (!llvm::is_contained(names, name)) {
      llvm::errs() << "dist-fuzz: error: --only=" << onlyFlag
                   << ": no family is '" << name << "'; there are "
                   << llvm::join(names, ", ") << "\n";
      std::exit(1);
    }
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Random modules through --dist-spmd, compared with one device\n");
  checkFamilies();
  if (!inputFlag.empty())
    return checkFile();
  if (printFlag) {
    for (uint64_t i = 0; i < countFlag; ++i)
      outs() << "// seed " << seedFlag + i << "\n"
             << make(seedFlag + i).text << "\n";
    return 0;
  }
  std::map<std::string, std::vector<uint64_t>> kinds;
  std::map<std::string, uint64_t> outcomes;
  bool anyFailure = false;
  uint64_t joined = 0;
  auto makeCheck = [&](size_t i) {
    FuzzCase fuzzCase = make(seedFlag + i);
    return CheckCase{fuzzCase.text, fuzzCase.options};
  };
  checkAllApart(
      countFlag, timeFlag, makeCheck, [&](size_t i, const Verdict &verdict) {
        ++outcomes[getName(verdict.outcome).str()];
        if (verdict.outcome == Outcome::Agrees) {
          joined += !verdict.detail.empty();
          return;
        }
        uint64_t seed = seedFlag + i;
        std::vector<uint64_t> &seeds = kinds[verdict.getKind()];
        seeds.push_back(seed);
        if (!verdict.isFailure())
          return;
        anyFailure = true;
        FuzzCase fuzzCase = make(seed);
        std::string text = fuzzCase.text;
        if (shrinkFlag && seeds.size() == 1) {
          text = shrinkCase(fuzzCase, verdict, timeFlag);
          Verdict small = checkApart(text, fuzzCase.options, timeFlag);
          outs() << "// seed " << seed << " shrunk: " << getName(small.outcome)
                 << " in " << small.pass << ": " << small.detail << "\n"
                 << text << "\n";
          outs().flush();
        }
        keep(fuzzCase, text, verdict);
      });
  for (auto &[kind, seeds] : kinds) {
    outs() << seeds.size() << " x " << kind << " (seeds";
    for (uint64_t seed : llvm::ArrayRef(seeds).take_front(6))
      outs() << " " << seed;
    outs() << ")\n";
  }
  outs() << countFlag << " cases";
  for (auto &[name, count] : outcomes)
    outs() << ", " << count << " " << name;
  if (joinFlag)
    outs() << "; in " << joined << " exchanges were joined";
  outs() << "\n";
  return anyFailure;
}
