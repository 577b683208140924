//===- dist-exec.cpp - Runs a bundle --------------------------------------===//
//
// Runs what dist-compile made, where no compiler is installed: it links the
// runtime and neither LLVM nor MLIR.
//
//===----------------------------------------------------------------------===//

#include "dist/DryRun.h"
#include "dist/EmulatedLink.h"
#include "dist/Launcher.h"
#include "dist/ModelArgument.h"
#include "dist/OptionValues.h"
#include "dist/OutputFile.h"
#include "dist/Outputs.h"
#include "dist/StreamMode.h"
#include "dist/Version.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace dist;

namespace {

struct Options {
  std::string output, trace, link, streams;
  std::vector<std::string> bundles, inputs;
  std::string seed; // of inputs that are not given
  bool json = false, isDryRun = false;
  std::string ranks;
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
  for (const RunResult::Output &output : result.outputs)
    outputs.push_back({{"name", output.name},
                       {"dtype", dtypeName(output.tensor.dtype)},
                       {"shape", output.tensor.shape}});
  return dump({{"ok", true},
               {"ranks", program.manifest.mesh.size()},
               {"outputs", std::move(outputs)},
               {"seconds", result.seconds}});
}

[[noreturn]] static void refuseEmpty(const std::string &option) {
  throw Error(option +
              " has an empty value; leave the option out, or give it one");
}

/// Says what ranks would do; whether a run would not fail.
static bool showRanks(const Options &options) {
  Program program = loadBundle(options.bundles.front());
  DryRun found =
      dryRun(program, parseRanks(options.ranks.empty() ? "0" : options.ranks),
             options.run);
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
                       {"sent", found.sent}});
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
  Inputs inputs = readInputs(options.inputs, program.manifest, random);
  RunResult result = launch(program, inputs, options.run);
  if (!result.isRoot)
    return;
  writeOutputs(options.output, options.trace, result);
  std::string text =
      options.json ? describeJson(program, result) + "\n"
                   : describeRun(program, result, !options.output.empty());
  std::fputs(text.c_str(), stdout);
  flushStandardOutput();
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
  app.set_version_flag("--version", std::string("dist ") + kVersion);
  app.add_option("bundle", options.bundles, "The bundle, a folder OUT.dist");
  app.add_option("--weights", options.run.weights,
                 "Parameters (.safetensors), in place of the bundle's own");
  app.add_option("--input", options.inputs, std::string(inputForms) + rangeHelp)
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--random{0}", options.seed,
               std::string(randomHelp) + "; --random=SEED")
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  app.add_option("--output", options.output,
                 "Folder that receives NAME.npy for each result, whole");
  app.add_option("--backend", options.run.backend, backendHelp)
      ->capture_default_str();
  app.add_option("-n", options.run.processes, processesHelp)
      ->excludes("--backend");
  app.add_option("--timeout", options.run.timeoutSeconds, timeoutHelp);
  app.add_option("--bind-address", options.run.bindAddress, bindAddressHelp);
  app.add_option("--mpi", options.run.mpi, mpiHelp);
  app.add_option("--port", options.run.port, portHelp)
      ->check(CLI::Range(0, 65535));
  app.add_option("--repeat", options.run.repeat, repeatHelp)
      ->check([](const std::string &value) {
        int64_t number = 0;
        const char *end = value.data() + value.size();
        auto [rest, error] = std::from_chars(value.data(), end, number);
        return error == std::errc() && rest == end && number >= 1
                   ? ""
                   : value + ": must be a whole number of at least 1, and less "
                             "than 2^63";
      })
      ->capture_default_str();
  app.add_option("--trace", options.trace,
                 "The last run as a trace, for chrome://tracing or Perfetto, "
                 "or as a page for a browser (*.html)");
  app.add_option("--link", options.link,
                 std::string(linkHelp) + ": " + linkForm);
  app.add_option("--streams", options.streams, streamsHelp);
  app.add_flag("--json", options.json, jsonHelp);
  app.add_flag("--dry-run", options.isDryRun,
               "Say what ranks would load, hold and send, and where they would "
               "fail; run nothing");
  app.add_option("--ranks", options.ranks,
                 "With --dry-run: which ranks, as in 0,17,100-103 (0)");
  try {
    // CLI11 would take what follows "--name=" for its value.
    for (std::string text : std::vector<std::string>(argv + 1, argv + argc))
      if (text.rfind("--", 0) == 0 && text.find('=') == text.size() - 1)
        refuseEmpty(text.substr(0, text.size() - 1));
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success &error) { // --help
      app.exit(error);
      flushStandardOutput();
      return 0;
    } catch (const CLI::ParseError &error) {
      throw Error(std::string(error.what()) + " (--help lists the options)");
    }
    for (const CLI::Option *option : app.get_options())
      for (const std::string &value : option->results())
        if (value.empty())
          refuseEmpty(option->get_name());
    if (app.count("-n") > 0 && options.run.processes < 1)
      throw Error("-n: must be at least 1");
    checkModel(options.bundles, "OUT.dist");
    if (!options.ranks.empty() && !options.isDryRun)
      throw Error("--ranks is for --dry-run: a run has all ranks");
    options.run.trace = !options.trace.empty();
    if (!options.link.empty())
      options.run.link = parseLink(options.link);
    if (!options.streams.empty())
      options.run.streams = parseStreamMode(options.streams);
    if (options.isDryRun)
      return showRanks(options) ? 0 : 1;
    begin(options.run, tell);
    run(options);
    return 0;
  } catch (const std::exception &e) {
    endWith(e.what(), tell);
    tell(e.what());
    return 1;
  }
}
