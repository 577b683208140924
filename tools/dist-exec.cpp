//===- dist-exec.cpp - Runs a bundle --------------------------------------===//
//
// Runs what dist-compile made, where no compiler is installed: it links the
// runtime and neither LLVM nor MLIR.
//
//===----------------------------------------------------------------------===//

#include "dist/DryRun.h"
#include "dist/EmulatedLink.h"
#include "dist/Launcher.h"
#include "dist/OptionValues.h"
#include "dist/OutputFile.h"
#include "dist/Outputs.h"
#include "dist/StreamMode.h"
#include "dist/ToolArguments.h"
#include "dist/Version.h"
#include "runtime/mpi/Starter.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

using namespace dist;

namespace {

struct Options {
  std::string output, trace, link, streams;
  std::vector<std::string> bundles, inputs;
  std::string seed; // of inputs that are not given
  bool json = false, isDryRun = false;
  std::string ranks, rankMemory;
  RunOptions run;
};

} // namespace

/// Paths and names may be any bytes, JSON may not.
static std::string dump(const nlohmann::ordered_json &json) {
  return json.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

static std::string describeJson(const Program &program,
                                const RunResult &result) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (const Output &output : result.outputs)
    outputs.push_back({{"name", output.name},
                       {"dtype", dtypeName(output.tensor.dtype)},
                       {"shape", output.tensor.shape}});
  nlohmann::ordered_json all = {{"ok", true},
                                {"ranks", program.manifest.mesh.size()},
                                {"outputs", std::move(outputs)},
                                {"seconds", result.seconds}};
  if (result.profile)
    all["profile"] =
        nlohmann::ordered_json::parse(formatProfileJson(*result.profile));
  return dump(all);
}

/// Says what ranks would do; whether a run would not fail.
static bool showRanks(const Options &options) {
  Program program = loadBundle(options.bundles.front());
  checkInputs(options.inputs, program.manifest);
  std::optional<int64_t> memory;
  if (!options.rankMemory.empty())
    memory = parseMemory(options.rankMemory);
  DryRun found =
      dryRun(program, parseRanks(options.ranks.empty() ? "0" : options.ranks),
             options.run, memory);
  if (options.json) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (const DryRun::Rank &one : found.ranks)
      ranks.push_back({{"rank", one.rank},
                       {"loaded", one.loaded},
                       {"slices", one.slices},
                       {"mapped", one.mapped},
                       {"held", one.held()},
                       {"parameters", one.parameters},
                       {"inputs", one.inputs},
                       {"results", one.results},
                       {"arena", one.arena},
                       {"sent", found.sent},
                       {"collectives", found.collectives},
                       {"more_in_unknown_loops", found.hasUnknownLoop}});
    std::puts(dump({{"ok", found.problems.empty()},
                    {"ranks", std::move(ranks)},
                    {"problems", found.problems}})
                  .c_str());
  } else {
    std::fputs(describeDryRun(found).c_str(), stdout);
  }
  flushStandardOutput();
  for (const std::string &problem : found.problems)
    std::fprintf(stderr, "dist-exec: error: %s\n", problem.c_str());
  return found.problems.empty();
}

static void run(const Options &options) {
  Program program = loadBundle(options.bundles.front());
  RandomInputs random;
  if (!options.seed.empty())
    random.rest = parseSeed(options.seed);
  Inputs inputs = readInputs(options.inputs, program.manifest, random,
                             inputFilesOf(options.run));
  ResultFiles files(options.output, options.trace, program.manifest);
  RunOptions running = options.run;
  running.keepsWholes = false;
  running.sink = files.sink();
  RunResult result = launch(program, inputs, running);
  if (!result.isRoot)
    return;
  files.commit(result.trace);
  std::string text =
      options.json ? describeJson(program, result) + "\n"
                   : describeRun(program, result, !options.output.empty());
  std::fputs(text.c_str(), stdout);
  flushStandardOutput();
}

/// As CLI11 takes them, whatever they begin with: from the last to the first.
static std::vector<std::string>
writeArguments(const std::vector<ToolArgument> &given) {
  std::vector<std::string> texts, models;
  for (const auto &[option, value, text] : given)
    if (option.empty())
      models.push_back(value);
    else if (option.size() == 1)
      texts.push_back("-" + option + value);
    else
      texts.push_back("--" + option + (value.empty() ? "" : "=" + value));
  texts.push_back("--");
  texts.insert(texts.end(), models.begin(), models.end());
  std::reverse(texts.begin(), texts.end());
  return texts;
}

int main(int argc, char **argv) {
  handleSignals("dist-exec");
  Options options;
  auto tell = [&options](const std::string &error) {
    if (options.json) {
      std::puts(dump({{"ok", false}, {"error", error}}).c_str());
      std::fflush(stdout);
    }
    std::fprintf(stderr, "dist-exec: error: %s\n", error.c_str());
  };
  CLI::App app("Runs a bundle made by dist-compile, on as many ranks as its "
               "mesh has devices.",
               "dist-exec");
  app.footer("EXAMPLES:\n"
             "  dist-exec model.dist --random\n"
             "  dist-exec model.dist --input x=x.npy --output results\n"
             "  mpirun -n 4 dist-exec model.dist --backend mpi --random");
  app.set_version_flag("--version", std::string("dist ") + kVersion);
  ToolOptions known = {{"help", {}}, {"h", {}}, {"version", {}}};
  auto add = [&](const std::string &name, auto &variable,
                 const std::string &help, ToolOption kind) {
    known[name.substr(name[1] == '-' ? 2 : 1)] = kind;
    return app.add_option(name, variable, help)->type_name(kind.value);
  };
  using Kind = ToolOption;
  app.add_option("bundle", options.bundles, "The bundle, a folder OUT.dist");
  add("--weights", options.run.weights,
      "Parameters, in place of the bundle's own: also an index of several "
      "files (.json), or their folder",
      {Kind::Text, "FILE.safetensors"});
  add("--input", options.inputs, std::string(inputForms) + rangeHelp,
      {Kind::Text, "NAME=VALUE"})
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--random{0}", options.seed,
               std::string(randomHelp) + "; --random=SEED")
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  known["random"] = {Kind::Flag, "SEED"};
  add("--output", options.output,
      "Folder that receives NAME.npy for each result, whole",
      {Kind::Text, "FOLDER"});
  add("--backend", options.run.backend, backendHelp, {Kind::Text, "NAME"});
  add("-n", options.run.processes, processesHelp, {Kind::Whole, "N"});
  add("--timeout", options.run.timeoutSeconds, timeoutHelp,
      {Kind::Number, "SECONDS"});
  add("--bind-address", options.run.bindAddress, bindAddressHelp,
      {Kind::Text, "ADDRESS"});
  add("--inputs", options.run.inputs, inputsHelp, {Kind::Text, "shared|root"});
  add("--mpi", options.run.mpi, mpiHelp, {Kind::Text, "openmpi|mpich"});
  add("--reductions", options.run.reductions, reductionsHelp,
      {Kind::Text, "place|mpi", {"place", "mpi"}});
  add("--driver", options.run.driver, driverHelp,
      {Kind::Text, "emulated|FILE.so"});
  add("--graph", options.run.graph, graphHelp,
      {Kind::Text, "compute|off", {"compute", "off"}});
  add("--port", options.run.port, portHelp, {Kind::Whole, "N"});
  add("--repeat", options.run.repeat, repeatHelp, {Kind::Whole, "N"});
  add("--trace", options.trace,
      "The last run as a trace, for chrome://tracing or Perfetto, or as a page "
      "for a browser (*.html)",
      {Kind::Text, "FILE.json|FILE.html"});
  app.add_flag("--profile", options.run.profile, profileHelp);
  known["profile"] = {};
  add("--link", options.link, linkHelp, {Kind::Text, linkForm});
  add("--streams", options.streams, streamsHelp, {Kind::Text, "MODE"});
  app.add_flag("--json", options.json, jsonHelp);
  known["json"] = {};
  app.add_flag("--dry-run", options.isDryRun,
               "Say what ranks would load, hold and send, and where they would "
               "fail; run nothing");
  known["dry-run"] = {};
  add("--ranks", options.ranks,
      "With --dry-run: which ranks, as in 0,17,100-103 (0)",
      {Kind::Text, "RANKS"});
  add("--rank-memory", options.rankMemory,
      "With --dry-run: the memory that a rank may hold, as in 64GiB (what this "
      "host has)",
      {Kind::Text, "SIZE"});
  try {
    std::vector<ToolArgument> given =
        readArguments("dist-exec", {argv + 1, argv + argc}, known);
    try {
      app.parse(writeArguments(given));
    } catch (const CLI::Success &error) { // --help
      app.exit(error);
      flushStandardOutput();
      return 0;
    } catch (const CLI::ParseError &error) {
      throw Error(std::string(error.what()) + " (--help lists the options)");
    }
    checkModel(given, "OUT.dist", known);
    if (app.count("-n") > 0 && options.run.processes < 1)
      throw Error("-n " + std::to_string(options.run.processes) +
                  ": must be at least 1");
    if (!options.ranks.empty() && !options.isDryRun)
      throw Error("--ranks is for --dry-run: a run has all ranks");
    if (!options.rankMemory.empty() && !options.isDryRun)
      throw Error("--rank-memory is for --dry-run: a run has what there is");
    options.run.trace = !options.trace.empty();
    if (!options.link.empty())
      options.run.link = parseLink(options.link);
    if (!options.streams.empty())
      options.run.streams = parseStreamMode(options.streams);
    if (options.isDryRun) {
      // One process of MPI's speaks for all.
      std::optional<StartedAs> started = findStartedAs();
      bool isOther = areStartedTogether() && started && started->rank > 0;
      return isOther || showRanks(options) ? 0 : 1;
    }
    begin(options.run, tell);
    run(options);
    return 0;
  } catch (const std::exception &e) {
    endWith(e.what(), tell);
    tell(e.what());
    return 1;
  }
}
