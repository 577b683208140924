//===- FuzzMain.cpp - dist-fuzz: random modules from the command line -----===//
//
// Runs any number of cases from any seed, tells what came out by kind, and
// shrinks failures.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Fuzz.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
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
static cl::opt<std::string> onlyFlag("only", cl::desc("One family of ops"),
                                     cl::cat(category));
static cl::opt<bool>
    shrinkFlag("shrink",
               cl::desc("Shrink the first failure of each kind, and print it"),
               cl::cat(category));
static cl::opt<bool> printFlag("print", cl::desc("Print every module"),
                               cl::cat(category));
static cl::opt<std::string>
    keepFlag("keep", cl::desc("Write failing modules to this folder"),
             cl::value_desc("dir"), cl::cat(category));
static cl::opt<unsigned> timeFlag("timeout", cl::init(20),
                                  cl::desc("Seconds after which a case hangs"),
                                  cl::cat(category));
static cl::opt<std::string> inputFlag(cl::Positional,
                                      cl::desc("[module to check instead]"),
                                      cl::cat(category));

static int checkFile() {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(inputFlag);
  if (!buffer) {
    llvm::errs() << inputFlag << ": " << buffer.getError().message() << "\n";
    return 1;
  }
  CheckOptions options;
  options.seed = seedFlag;
  std::string text = (*buffer)->getBuffer().str();
  Verdict verdict = checkApart(text, options, timeFlag);
  if (shrinkFlag && verdict.isFailure()) {
    text = shrinkText(text, options, verdict, timeFlag);
    verdict = checkApart(text, options, timeFlag);
    outs() << text;
  }
  outs() << getName(verdict.outcome) << " in " << verdict.pass << ": "
         << verdict.detail << "\n";
  return verdict.isFailure();
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

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Random modules through --dist-spmd, compared with one device\n");
  if (!inputFlag.empty())
    return checkFile();
  std::map<std::string, std::vector<uint64_t>> kinds;
  std::map<std::string, uint64_t> outcomes;
  bool anyFailure = false;
  for (uint64_t seed = seedFlag; seed < seedFlag + countFlag; ++seed) {
    FuzzCase fuzzCase = makeCase(seed, onlyFlag);
    if (printFlag)
      outs() << "// seed " << seed << "\n" << fuzzCase.text << "\n";
    Verdict verdict = checkApart(fuzzCase.text, fuzzCase.options, timeFlag);
    ++outcomes[getName(verdict.outcome).str()];
    if (verdict.outcome == Outcome::Agrees)
      continue;
    std::vector<uint64_t> &seeds = kinds[verdict.getKind()];
    seeds.push_back(seed);
    if (!verdict.isFailure())
      continue;
    anyFailure = true;
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
  }
  for (auto &[kind, seeds] : kinds) {
    outs() << seeds.size() << " x " << kind << " (seeds";
    for (uint64_t seed : llvm::ArrayRef(seeds).take_front(6))
      outs() << " " << seed;
    outs() << ")\n";
  }
  outs() << countFlag << " cases";
  for (auto &[name, count] : outcomes)
    outs() << ", " << count << " " << name;
  outs() << "\n";
  return anyFailure;
}
