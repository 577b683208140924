//===- Driver.cpp - What dist-compile and dist-run share ------------------===//

#include "compiler/Driver.h"
#include "compiler/Register.h"
#include "dialects/dist/IR/Streams.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/SourceText.h"
#include "dist/Mesh.h"
#include "dist/OutputFile.h"
#include "lowering/buffers/Passes.h"
#include "lowering/decompose/Passes.h"
#include "lowering/pipeline/Pipeline.h"
#include "lowering/rt/Passes.h"
#include "lowering/targets/Targets.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/overlap/OverlapProblem.h"
#include "passes/overlap/Passes.h"
#include "passes/report/Simulation.h"
#include "passes/schedule/files/Include.h"
#include "passes/schedule/files/Schedule.h"
#include "passes/schedule/names/ModuleNotes.h"
#include "passes/sizes/Limits.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp>
mlir::dist::loadModule(StringRef path, MLIRContext *context, Stages &stages) {
  stages.begin("parse", "reading " + path.str());
  if (path.ends_with(".onnx")) {
    printError(path + " is an ONNX model; import it first: dist-import " +
               path + " -o MODEL.mlir");
    return nullptr;
  }
  llvm::SourceMgr sources;
  openOnlyText(sources);
  auto buffer = readText(path);
  if (!buffer) {
    printError("cannot read " + path + ": " +
               llvm::toString(buffer.takeError()));
    return nullptr;
  }
  ::dist::noteInput(path.str());
  if (isBytecode((*buffer)->getMemBufferRef())) {
    printError(path +
               " is MLIR bytecode, whose reader takes it on trust; make "
               "text of it: dist-opt " +
               path + " -o MODEL.mlir");
    return nullptr;
  }
  if (std::string deep = findTooDeep((*buffer)->getBuffer()); !deep.empty()) {
    printError(path + ":" + deep);
    return nullptr;
  }
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, context);
  ErrorKeeper keeper(context);
  return parseSourceFile<ModuleOp>(sources, ParserConfig(context));
}

LogicalResult mlir::dist::convertToF64(ModuleOp module, Stages &stages) {
  PassManager passes(module.getContext());
  passes.addPass(createDistConvertToF64());
  return stages.run("f64", passes, module);
}

/// What are whole axes by now is named as such: "tp"(1)2 of an axis that had 4
/// devices and has 2.
static void nameWholeAxes(ModuleOp module, StringRef name, int64_t size) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](AxisRefAttr axis) {
    bool isWhole = axis.getName() == name && axis.isSubAxis() &&
                   axis.getPre() == 1 && axis.getSize() == size;
    return isWhole ? AxisRefAttr::get(axis.getContext(), name, 1, 0) : axis;
  });
  replacer.recursivelyReplaceElementsIn(module);
}

/// Writes the sizes of "tp=4" options into the module's meshes.
static LogicalResult overrideMesh(ModuleOp module,
                                  ArrayRef<std::string> options) {
  llvm::StringSet<> given;
  for (StringRef option : options) {
    auto [name, value] = option.split('=');
    if (!given.insert(name).second) {
      printError("--mesh " + option + ": axis '" + name + "' is given twice");
      return failure();
    }
    int64_t size;
    if (name.empty() || value.getAsInteger(10, size) || size < 1 ||
        size > ::dist::maxRanks) {
      printError("--mesh " + option +
                 ": expected AXIS=SIZE with a size of 1 to " +
                 Twine(::dist::maxRanks) + ", such as tp=4");
      return failure();
    }
    bool found = false;
    std::string known;
    for (MeshOp mesh : module.getOps<MeshOp>()) {
      SmallVector<MeshAxisAttr> axes;
      for (MeshAxisAttr axis : mesh.getAxes()) {
        bool same = axis.getName() == name;
        found |= same;
        known += " " + axis.getName().str();
        axes.push_back(same ? MeshAxisAttr::get(module.getContext(), name, size)
                            : axis);
      }
      mesh.setAxesAttr(MeshAxesAttr::get(module.getContext(), axes));
    }
    if (!found) {
      printError("--mesh " + option + ": no mesh has an axis '" + name + "'" +
                 (known.empty() ? "; a schedule (--schedule) brings a mesh"
                                : "; the axes are:" + known));
      return failure();
    }
    nameWholeAxes(module, name, size);
  }
  return success();
}

FailureOr<std::vector<SizeBinding>>
mlir::dist::parseBindings(ArrayRef<std::string> options) {
  return parseBindings(
      options, [](const Twine &message) { printError("--bind " + message); });
}

/// Programs are on tensors: what goes around them, to memory or to the machine,
/// nothing here can check. And these are of sizes that a machine may have.
static LogicalResult checkProgram(ModuleOp module) {
  WalkResult result = module.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "memref" || dialect == "llvm") {
      op->emitOpError("is on memory; programs of levels 0 to 3 are on tensors");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return result.wasInterrupted() ? failure() : checkTensorSizes(module);
}

/// How many turns the batch is to be done in; 0 where that is not said.
static int64_t countTurns(const OverlapOptions &options) {
  int64_t count = 0;
  return StringRef(options.turns).getAsInteger(10, count) ? 0 : count;
}

/// The axis of the mesh that is done in turns; "" where none is.
static std::string getTurnsAxis(const OverlapOptions &options) {
  return countTurns(options) ? DistSplitBatchOptions().axis : options.turns;
}

/// Whether --turns says something of this program.
static LogicalResult checkTurns(ModuleOp module,
                                const OverlapOptions &options) {
  StringRef turns = options.turns;
  if (turns.empty())
    return success();
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(mesh))
    return failure();
  if (!*mesh)
    return module.emitError("--turns=")
           << turns
           << ": the program has no dist.mesh, so that nothing is sent "
           << "that turns could hide (--schedule)";
  int64_t count = 0;
  if (!turns.getAsInteger(10, count)) {
    if (count < 2)
      return module.emitError("--turns=")
             << turns << ": one turn or more are possible";
    if (getLevel(module) > 1)
      return module.emitError("--turns=")
             << turns << ": the program is placed already; the batch is cut "
             << "before (level 0 or 1)";
    return success();
  }
  if (mesh->getAxisSize(turns) > 0)
    return success();
  InFlightDiagnostic error =
      module.emitError("--turns=")
      << turns << ": neither a number of turns, nor auto, nor an axis of the "
      << "mesh, which has ";
  llvm::interleaveComma(mesh->getAxes(), error, [&](MeshAxisAttr axis) {
    error << '"' << axis.getName() << '"';
  });
  return error;
}

/// Any level to level 3, or 2.
static LogicalResult place(ModuleOp module, const ScheduleOptions &options,
                           Stages &stages) {
  stages.begin("schedule", "applying the schedule");
  if (failed(checkProgram(module)))
    return failure();
  int level = getLevel(module);
  std::string schedule = options.name;
  if (!options.file.empty() && !options.plan.empty())
    return module.emitError("--schedule ")
           << options.file << " and --plan " << options.plan
           << " are two schedules; give one";
  const std::string &file = options.plan.empty() ? options.file : options.plan;
  if (!file.empty()) {
    if (level == 3)
      return module.emitError(
          "is already the program of one device; a schedule "
          "applies to the model (level 0 to 1)");
    for (ScheduleOp own : module.getOps<ScheduleOp>())
      return own.emitError("the module has a schedule of its own, so that ")
             << file << " would be a second one";
    if (!options.plan.empty() && !options.name.empty())
      return module.emitError("--schedule-name ")
             << options.name << ": the plan " << file << " has no name";
    FailureOr<ScheduleOp> loaded =
        options.plan.empty() ? loadSchedule(module, file, options.name)
                             : loadPlan(module, file);
    if (failed(loaded))
      return failure();
    schedule = loaded->getSymName().str();
  }
  if (!options.name.empty() && failed(findSchedule(module, options.name)))
    return failure();
  bool hasSchedule = !module.getOps<ScheduleOp>().empty();
  if (options.f64 && hasSchedule) {
    // Functions come with its file, and with those that it includes.
    FailureOr<ScheduleOp> applied = findSchedule(module, schedule);
    if (failed(applied) || failed(expandIncludes(*applied)) ||
        (!getScheduleFunctions(module).empty() &&
         failed(convertToF64(module, stages))))
      return failure();
  }
  if (level == 3 && !options.mesh.empty())
    return module.emitError("is already the program of one device, for a mesh "
                            "of fixed size; --mesh cannot change it");
  // As its writer placed it, for these sizes: placed again it might come out
  // otherwise.
  bool isPlaced = level == 2 && !hasSchedule && options.mesh.empty() &&
                  options.sizes.empty() && !hasUnknownSizes(module);
  if (failed(overrideMesh(module, options.mesh)))
    return failure();
  if ((!options.sizes.empty() || hasUnknownSizes(module)) &&
      failed(bindSizes(module, options.sizes)))
    return failure();
  if (level == 3) {
    if (failed(checkTurns(module, options.overlap)))
      return failure();
    // As the user's file has it: what the pipeline makes itself, it checks.
    PassManager passes(module.getContext());
    passes.addPass(createVerifySpmdPass());
    if (options.fuseTransposes)
      addFuseTransposes(passes);
    return stages.run("placement", passes, module);
  }
  if (options.allowUnmatched && !hasSchedule)
    return module.emitError("--allow-unmatched: there is no schedule or plan "
                            "that it would apply to");
  if (options.fuseTransposes && level == 0 && !hasSchedule)
    return module.emitError("--fuse-transposes: there is no schedule or plan, "
                            "so that nothing is sent");
  if (level == 0 && !hasSchedule && !options.addPasses)
    return success();
  if (hasSchedule) {
    PassManager passes(module.getContext());
    DistApplySchedulePassOptions apply;
    apply.schedule = schedule;
    apply.allowUnmatched = options.allowUnmatched;
    apply.report = false;
    passes.addPass(createDistApplySchedulePass(apply));
    if (failed(stages.run("schedule", passes, module)))
      return failure();
  }
  if (failed(checkTurns(module, options.overlap)))
    return failure();
  if (int64_t turns = countTurns(options.overlap)) {
    PassManager passes(module.getContext());
    DistSplitBatchOptions split;
    split.turns = turns;
    passes.addPass(createDistSplitBatch(split));
    if (failed(stages.run("schedule", passes, module)))
      return failure();
  }
  if (options.addPasses) {
    PassManager passes(module.getContext());
    options.addPasses(passes);
    if (failed(stages.run("train", passes, module)))
      return failure();
    if (level == 0 && !hasSchedule)
      return success();
  }
  PassManager passes(module.getContext());
  std::string turnsAxis = getTurnsAxis(options.overlap);
  MachineNames on{options.overlap.machine, options.overlap.link};
  // A link alone is what dist-run pretends.
  if (on.machine.empty())
    on.link.clear();
  if (isPlaced) {
    passes.addPass(createVerifyPlacedPass());
    if (!turnsAxis.empty()) {
      WholeSumsPassOptions whole;
      whole.axis = turnsAxis;
      passes.addPass(createWholeSumsPass(whole));
      passes.addPass(createVerifyPlacedPass());
    }
    if (!options.stopPlaced)
      buildPartitionPipeline(passes, options.fuseTransposes, on);
  } else if (options.stopPlaced)
    buildPlacementPipeline(passes, turnsAxis);
  else
    buildSpmdPipeline(passes, options.fuseTransposes, turnsAxis, on);
  return stages.run("placement", passes, module);
}

/// What backward reads of forward is kept, or computed again.
static LogicalResult recompute(ModuleOp module, const std::string &what,
                               Stages &stages) {
  PassManager passes(module.getContext());
  DistRecomputeOptions options;
  options.what = what;
  passes.addPass(createDistRecompute(options));
  return stages.run("placement", passes, module, /*part=*/"recompute");
}

/// What was asked for, as it is written on the command line.
static std::string listAsked(const OverlapOptions &options) {
  SmallVector<std::string> asked;
  auto note = [&](StringRef name, StringRef value) {
    if (!value.empty())
      asked.push_back(("--" + name + "=" + value).str());
  };
  note("overlap", options.mode == "off" ? "" : options.mode);
  note("halos", options.halos);
  note("join-halos", options.joinHalos);
  note("turns", options.turns);
  return llvm::join(asked, ", ");
}

/// A schedule's wish that nothing of what is done here looks at is told.
static LogicalResult warnOfWishes(ModuleOp module) {
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(mesh))
    return failure();
  auto modules = *mesh ? (*mesh)->getAttrOfType<DictionaryAttr>(kOverlapAttr)
                       : DictionaryAttr();
  for (NamedAttribute entry :
       modules ? modules.getValue() : ArrayRef<NamedAttribute>()) {
    auto always = dyn_cast<BoolAttr>(entry.getValue());
    if (always && !always.getValue())
      continue;
    auto chunks = dyn_cast<DictionaryAttr>(entry.getValue());
    Location loc =
        chunks ? Location(chunks.getAs<LocationAttr>("by")) : mesh->getLoc();
    emitWarning(loc) << "dist.overlap: what it says of module \""
                     << getNotedModule(entry.getName()) << "\""
                     << " is done with --overlap=auto only, and not now";
    return success();
  }
  return success();
}

static bool hasStreams(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return op->hasAttr(kStreamAttr) ? WalkResult::interrupt()
                                        : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The bytes of the arena that the program gets. Fails where it cannot be
/// lowered, which is told when it is.
static FailureOr<int64_t> planArena(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(createDistJoinParameters());
  buildLowerPipeline(passes, *getTargets().front(), LowerOptions());
  if (failed(passes.run(*copy)))
    return failure();
  auto bytes = (*copy)->getAttrOfType<IntegerAttr>(kArenaBytesAttr);
  return bytes ? bytes.getInt() : 0;
}

/// Whether the program needs no more memory than is allowed beside that whose
/// arena is `before`. What cannot be planned is not held against it.
static bool fitsMemory(ModuleOp module, FailureOr<int64_t> before,
                       const OverlapOptions &options, const Twine &what) {
  FailureOr<int64_t> now = failure();
  if (succeeded(before))
    now = planArena(module);
  if (failed(now))
    return true;
  bool fits = *now <= options.memory * *before;
  if (options.report)
    module.emitRemark()
        << what << " has an arena of " << *now << " bytes, " << *before
        << " without" << (fits ? "" : ", which is more than allowed")
        << llvm::formatv(" (--overlap-memory {0})", options.memory).str();
  return fits;
}

/// Options of a pass that decides by the machine's figures.
template <typename Options> static Options on(const OverlapOptions &options) {
  Options made;
  made.machineName = options.machine;
  made.link = options.link;
  made.report = options.report;
  return made;
}

/// Collectives beside computation, within `memory` times the bytes that are
/// foreseen for the order given.
static LogicalResult startWithin(ModuleOp module, const OverlapOptions &options,
                                 double memory, Stages &stages) {
  PassManager passes(module.getContext());
  addAttentionAcrossLoops(passes);
  passes.addPass(createDistChunkCollectives());
  passes.addPass(
      createDistBucketReductions(on<DistBucketReductionsOptions>(options)));
  auto rotation = on<DistRotateLoopsOptions>(options);
  rotation.memory = memory;
  passes.addPass(createDistRotateLoops(rotation));
  auto schedule = on<DistScheduleOverlapOptions>(options);
  schedule.memory = memory;
  passes.addPass(createDistScheduleOverlap(schedule));
  return stages.run("overlap", passes, module);
}

/// What is foreseen counts buffers that share memory once they are planned, of
/// the order given as well: so the plan of both is what is compared, and where
/// it is more than allowed less is allowed to be foreseen.
static LogicalResult startAhead(ModuleOp module, const OverlapOptions &options,
                                Stages &stages) {
  if (!(options.memory > 0))
    return module.emitError("--overlap-memory=")
           << options.memory << ": must be more than 0";
  OwningOpRef<ModuleOp> given = module.clone();
  auto restore = [&] {
    OwningOpRef<ModuleOp> copy = given->clone();
    module.getBodyRegion().takeBody(copy->getBodyRegion());
  };
  std::optional<FailureOr<int64_t>> before;
  for (double memory :
       {options.memory, std::min(1.0, options.memory) +
                            std::max(options.memory - 1, 0.0) / 4}) {
    if (before)
      restore();
    if (failed(startWithin(module, options, memory, stages)))
      return failure();
    // Turns were asked for: what they are held to is the program in one turn,
    // which is not at hand.
    if (!hasStreams(module) || !options.turns.empty())
      return success();
    if (!before)
      before = planArena(*given);
    if (fitsMemory(module, *before, options, "what is overlapped"))
      return success();
  }
  // What a schedule asks for stays.
  FailureOr<MeshOp> mesh = findProgramMesh(*given);
  if (failed(mesh))
    return failure();
  if (*mesh && (*mesh)->hasAttr(kOverlapAttr))
    return success();
  restore();
  return success();
}

/// Turns, and collectives beside computation: level 3 to 4.
static LogicalResult overlap(ModuleOp module, const OverlapOptions &options,
                             Stages &stages) {
  bool isWanted = options.getMode() == "auto", isAsked = !options.mode.empty();
  if (!isWanted && options.getMode() != "off")
    return module.emitError("--overlap=")
           << options.mode << ": expected off or auto";
  if (options.mode == "off" && hasStreams(module))
    return module.emitError("--overlap=off: the program has collectives on "
                            "streams already; give the one that it was made "
                            "of");
  // Nothing is sent, or what is sent has its order.
  if (isWanted && !isAsked && (getLevel(module) != 3 || hasStreams(module)))
    isWanted = false;
  if (!isWanted && failed(warnOfWishes(module)))
    return failure();
  if (isWanted && options.machine.empty())
    return module.emitError(
        "--overlap=auto needs --machine, which says on what "
        "it is to pay");
  std::string halos = !options.halos.empty() ? options.halos
                      : isWanted             ? "auto"
                                             : "exchange";
  if (halos == "auto" && options.machine.empty())
    return module.emitError("--halos=auto needs --machine, which says on what "
                            "it is to pay");
  std::string joins = !options.joinHalos.empty() ? options.joinHalos
                      : isWanted && isAsked      ? "auto"
                                                 : "never";
  if (!llvm::is_contained({"auto", "never", "always"}, joins))
    return module.emitError("--join-halos=")
           << joins << ": expected auto, never or always";
  if (joins == "auto" && options.machine.empty())
    return module.emitError("--join-halos=auto needs --machine, which says on "
                            "what it is to pay");
  if (!isWanted && options.turns.empty() && halos == "exchange" &&
      joins == "never")
    return success();
  if (getLevel(module) != 3)
    return module.emitError()
           << listAsked(options)
           << ": there is no schedule or plan, so that the program runs on one "
              "device and nothing is sent; give one with --schedule, or leave "
              "this out";
  PassManager passes(module.getContext());
  if (!options.turns.empty()) {
    DistUnrollAxisOptions turns;
    turns.axis = getTurnsAxis(options);
    passes.addPass(createDistUnrollAxis(turns));
    passes.addPass(createCSEPass());
    passes.addPass(createVerifySpmdPass());
  }
  if (joins != "never") {
    auto joining = on<DistJoinHalosOptions>(options);
    joining.join = joins;
    passes.addPass(createDistJoinHalos(joining));
    passes.addPass(createCSEPass());
    passes.addPass(createVerifySpmdPass());
  }
  auto lowering = on<DistLowerHalosOptions>(options);
  lowering.to = halos;
  passes.addPass(createDistLowerHalos(lowering));
  if (failed(stages.run("overlap", passes, module)))
    return failure();
  return isWanted ? startAhead(module, options, stages) : success();
}

/// What a step of the module is foreseen to take.
static FailureOr<double> foresee(ModuleOp module,
                                 const OverlapOptions &options) {
  FailureOr<Machine> machine = loadMachine(module.getLoc(), "--turns=auto",
                                           options.machine, options.link);
  if (failed(machine))
    return failure();
  FailureOr<Simulation> simulation =
      simulate(module, *machine, /*wantEvents=*/false);
  if (failed(simulation))
    return failure();
  return simulation->time.getTotal();
}

/// The program in one turn or two of the batch, whichever is foreseen to be
/// faster, by as much as orders must be.
static LogicalResult
chooseTurns(ModuleOp module, const ScheduleOptions &options, Stages &stages) {
  if (options.overlap.getMode() != "auto")
    return module.emitError("--turns=auto goes with --overlap=auto, and needs "
                            "--machine, which says on what it is to pay");
  ScheduleOptions one = options, two = options;
  one.overlap.turns = "";
  two.overlap.turns = "2";
  OwningOpRef<ModuleOp> other = module.clone();
  if (failed(distribute(module, one, stages)))
    return failure();
  // Why two are not possible, where they are not.
  std::string why;
  FailureOr<double> seconds = failure();
  {
    ScopedDiagnosticHandler handler(
        module.getContext(), [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              why.empty())
            why = diagnostic.str();
          return success();
        });
    if (succeeded(distribute(*other, two, stages)))
      seconds = foresee(*other, two.overlap);
  }
  FailureOr<double> least = foresee(module, one.overlap);
  if (failed(least))
    return failure();
  double margin = DistScheduleOverlapOptions().margin;
  bool wins = succeeded(seconds) && *seconds < (1 - margin) * *least &&
              fitsMemory(*other, planArena(module), options.overlap,
                         "what is in two turns");
  if (options.overlap.report) {
    InFlightDiagnostic remark =
        module.emitRemark()
        << (wins ? "in two turns of the batch: " : "in one turn: ");
    if (succeeded(seconds))
      remark << llvm::formatv("{0:F3} ms foreseen in one, {1:F3} ms in two, "
                              "which are taken if they save {2}%",
                              *least * 1e3, *seconds * 1e3, 100 * margin)
                    .str();
    else
      remark << "two are not possible: " << why;
  }
  if (wins) {
    module.getBodyRegion().takeBody(other->getBodyRegion());
    module->setDiscardableAttrs(
        other->getOperation()->getDiscardableAttrDictionary());
  }
  return success();
}

LogicalResult mlir::dist::distribute(ModuleOp module,
                                     const ScheduleOptions &options,
                                     Stages &stages) {
  if (options.overlap.turns == "auto")
    return chooseTurns(module, options, stages);
  if (options.overlap.turns == "1") {
    ScheduleOptions one = options;
    one.overlap.turns = "";
    return distribute(module, one, stages);
  }
  // A program of one device has been looked at by who made it.
  bool isFinal = getLevel(module) == 3;
  if (failed(place(module, options, stages)))
    return failure();
  if (!isFinal && !options.stopPlaced &&
      failed(recompute(module, options.recompute, stages)))
    return failure();
  return overlap(module, options.overlap, stages);
}

LogicalResult mlir::dist::eraseAnnotations(ModuleOp module, Stages &stages) {
  if (getLevel(module) == 3)
    return module.emitError("is the program of one device: what it is to be "
                            "compared with must be given (--reference)");
  PassManager passes(module.getContext());
  passes.addPass(createEraseAnnotationsPass());
  return stages.run("schedule", passes, module);
}
