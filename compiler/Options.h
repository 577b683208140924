//===- Options.h - Options of the tools that compile ------------*- C++ -*-===//

#ifndef DIST_COMPILER_OPTIONS_H
#define DIST_COMPILER_OPTIONS_H

#include "compiler/Driver.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/CommandLine.h"
#include <string>

namespace mlir::dist {

/// The common options of dist-compile and dist-run; one static object for each
/// tool.
struct CompileOptions {
  explicit CompileOptions(llvm::cl::OptionCategory &category)
      : schedule("schedule", llvm::cl::desc("File with the schedule"),
                 llvm::cl::value_desc("FILE.mlir"), llvm::cl::cat(category)),
        plan("plan",
             llvm::cl::desc("File with a sharding plan, in place of a "
                            "schedule"),
             llvm::cl::value_desc("FILE.json"), llvm::cl::cat(category)),
        allowUnmatched("allow-unmatched",
                       llvm::cl::desc("Warn of a directive or a plan's pattern "
                                      "that matches nothing, and go on"),
                       llvm::cl::cat(category)),
        fuseTransposes("fuse-transposes",
                       llvm::cl::desc("Store tensors so that collectives are "
                                      "on the leading dimension"),
                       llvm::cl::cat(category)),
        assumeMasks("assume-masks",
                    llvm::cl::desc("Scores of attention are at most 4000 in "
                                   "magnitude, and each query sees a key, so "
                                   "that masks of -1e4 or less hide keys, as "
                                   "-inf does"),
                    llvm::cl::cat(category)),
        recompute("recompute",
                  llvm::cl::desc("What backward computes again: cheap, what "
                                 "works element by element or moves data; "
                                 "gathers, also gathers of parameters stored "
                                 "in parts; or asked, only what "
                                 "dist.checkpoint says (default: cheap)"),
                  llvm::cl::init("cheap"),
                  llvm::cl::value_desc("asked|cheap|gathers"),
                  llvm::cl::cat(category)),
        scheduleName("schedule-name",
                     llvm::cl::desc("Which schedule, where the file (or the "
                                    "module) has several"),
                     llvm::cl::value_desc("NAME"), llvm::cl::cat(category)),
        mesh("mesh",
             llvm::cl::desc("Sizes of mesh axes, in place of the schedule's "
                            "own"),
             llvm::cl::value_desc("tp=4,..."), llvm::cl::CommaSeparated,
             llvm::cl::cat(category)),
        bind("bind",
             llvm::cl::desc("Size of a dimension that the module does not know "
                            "(nor an input's file tells); may be repeated"),
             llvm::cl::value_desc("INPUT[DIM]=N"), llvm::cl::cat(category)),
        weights("weights",
                llvm::cl::desc("Parameters, in place of the module's own file: "
                               "also an index of several, or their folder"),
                llvm::cl::value_desc("FILE.safetensors"),
                llvm::cl::cat(category)),
        cpu("mcpu",
            llvm::cl::desc("Processor to compile for (default: this "
                           "machine's)"),
            llvm::cl::init("native"), llvm::cl::value_desc("NAME"),
            llvm::cl::cat(category)),
        optLevel("opt-level", llvm::cl::desc("How far the code is optimised"),
                 llvm::cl::init(llvm::CodeGenOptLevel::Aggressive),
                 llvm::cl::values(
                     clEnumValN(llvm::CodeGenOptLevel::None, "0",
                                "what compiles soonest, to try things out"),
                     clEnumValN(llvm::CodeGenOptLevel::Less, "1", ""),
                     clEnumValN(llvm::CodeGenOptLevel::Default, "2", ""),
                     clEnumValN(llvm::CodeGenOptLevel::Aggressive, "3",
                                "what runs fastest (default)")),
                 llvm::cl::cat(category)),
        overlap("overlap",
                llvm::cl::desc("Whether collectives run beside computation: "
                               "off, or auto, if --machine estimates that "
                               "it pays (default: auto with --machine, else "
                               "off)"),
                llvm::cl::value_desc("off|auto"), llvm::cl::cat(category)),
        halos("halos",
              llvm::cl::desc("How rows of neighbours come: exchange, one call; "
                             "shifts along the devices; gather, of all rows; "
                             "or auto, what --machine estimates is fastest "
                             "(default: auto where --overlap is, else "
                             "exchange)"),
              llvm::cl::value_desc("auto|exchange|gather|shifts"),
              llvm::cl::cat(category)),
        joinHalos("join-halos",
                  llvm::cl::desc("Whether layers that follow each other "
                                 "exchange rows once and compute those at the "
                                 "border twice: auto, if --machine estimates "
                                 "that it pays; never; or always; joined, "
                                 "bits may differ (default: auto where "
                                 "--overlap=auto is said, else never)"),
                  llvm::cl::value_desc("auto|never|always"),
                  llvm::cl::cat(category)),
        machine("machine",
                llvm::cl::desc("What the program runs on: a name or a file, as "
                               "of dist-report"),
                llvm::cl::value_desc("NAME|FILE.json"),
                llvm::cl::cat(category)),
        turns("turns",
              llvm::cl::desc("Each device does its part of the batch in turns, "
                             "so that one is computed while another's data "
                             "travel: how many, auto (two, if --overlap "
                             "estimates that it pays), or an axis of the mesh"),
              llvm::cl::value_desc("N|auto|AXIS"), llvm::cl::cat(category)),
        microbatches("microbatches",
                     llvm::cl::desc("Of a dist.pipeline without gradients: the "
                                    "turns are microbatches, which pass "
                                    "through its stages"),
                     llvm::cl::aliasopt(turns), llvm::cl::NotHidden,
                     llvm::cl::cat(category)),
        overlapMemory("overlap-memory",
                      llvm::cl::desc("With --overlap: how many times the "
                                     "memory of the program without may be "
                                     "needed (default: 1.1)"),
                      llvm::cl::init(1.1), llvm::cl::cat(category)),
        dumpSpmd("dump-spmd",
                 llvm::cl::desc("Also write the program of one device here, as "
                                "dist-opt --dist-distribute does"),
                 llvm::cl::value_desc("FILE.mlir"), llvm::cl::cat(category)),
        verbose("v", llvm::cl::desc("Say how long each stage took"),
                llvm::cl::cat(category)) {}

  /// What distribute() takes, with sizes that are known from elsewhere.
  DistDistributeOptions
  getDistributeOptions(ArrayRef<SizeBinding> sizes) const {
    DistDistributeOptions options;
    options.schedule = schedule;
    options.plan = plan;
    options.scheduleName = scheduleName;
    options.allowUnmatched = allowUnmatched;
    options.places = true;
    options.mesh.assign(mesh.begin(), mesh.end());
    options.bind = formatBindings(sizes);
    options.fuseTransposes = fuseTransposes;
    options.assumeMasks = assumeMasks;
    options.recompute = recompute;
    options.overlap = overlap;
    options.halos = halos;
    options.joinHalos = joinHalos;
    options.machine = machine;
    options.turns = turns;
    options.overlapMemory = overlapMemory;
    options.report = verbose;
    return options;
  }

  unsigned getOptLevel() const {
    return static_cast<unsigned>(optLevel.getValue());
  }

  llvm::cl::opt<std::string> schedule, plan;
  llvm::cl::opt<bool> allowUnmatched, fuseTransposes, assumeMasks;
  llvm::cl::opt<std::string> recompute;
  llvm::cl::opt<std::string> scheduleName;
  llvm::cl::list<std::string> mesh, bind;
  llvm::cl::opt<std::string> weights, cpu;
  llvm::cl::opt<llvm::CodeGenOptLevel> optLevel;
  llvm::cl::opt<std::string> overlap, halos, joinHalos, machine, turns;
  llvm::cl::alias microbatches;
  llvm::cl::opt<double> overlapMemory;
  llvm::cl::opt<std::string> dumpSpmd;
  llvm::cl::opt<bool> verbose;
};

} // namespace mlir::dist

#endif // DIST_COMPILER_OPTIONS_H
