//===- Manifest.cpp - What a bundle says about its program ----------------===//

#include "dist/Manifest.h"

#include "runtime/host/Json.h"
#include "runtime/host/MappedFile.h"
#include "runtime/pipeline/Table.h"

#include <algorithm>
#include <charconv>
#include <set>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace dist;
/// What is read is looked up by name; what is written keeps its order, in which
/// a name is looked for one by one.
using Json = nlohmann::json;
using WrittenJson = nlohmann::ordered_json;

static constexpr int64_t manifestVersion = 2;

/// Limits that no real program reaches; products of smaller numbers do not
/// overflow.
static constexpr int64_t maxElements = int64_t(1) << 46;
static constexpr int64_t maxManifestBytes = int64_t(1) << 30;

Checksum dist::checksumOf(std::string_view data) {
  return {static_cast<int64_t>(data.size()),
          XXH3_64bits(data.data(), data.size())};
}

Checksum dist::checksumOfFile(const std::string &path) {
  MappedFile file = mapFile(path);
  Checksum sum = checksumOf(file.text());
  file.checkUnchanged();
  return sum;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Throws Error for a key that means nothing here.
static void checkKeys(const Json &json,
                      std::initializer_list<std::string_view> known) {
  if (!json.is_object())
    throw Error("an object is expected, not an " +
                std::string(json.type_name()));
  for (const auto &[key, value] : json.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw Error("unknown key '" + key + "'");
}

/// A name that messages, options and files can have.
static std::string readName(const Json &json) {
  std::string name = json.get<std::string>();
  if (name.find('\0') != std::string::npos)
    throw Error("name '" + std::string(name.c_str()) +
                "\\0…' has a zero byte, which no name may have");
  return name;
}

static Mesh readMesh(const Json &json) {
  checkKeys(json, {"axes"});
  Mesh mesh;
  int64_t ranks = 1;
  for (const Json &axis : json.at("axes")) {
    MeshAxis read{axis.at(0).get<std::string>(), integerOf(axis.at(1))};
    if (read.size < 1)
      throw Error("mesh axis " + read.name + " has size " +
                  std::to_string(read.size));
    if (__builtin_mul_overflow(ranks, read.size, &ranks) || ranks > maxRanks)
      throw Error("the mesh has more than " + std::to_string(maxRanks) +
                  " ranks");
    if (mesh.find(read.name) >= 0)
      throw Error("mesh axis " + read.name + " is there twice");
    mesh.axes.push_back(read);
  }
  return mesh;
}

static AxisRef readAxisRef(const Mesh &mesh, const Json &json) {
  checkKeys(json, {"name", "pre", "size"});
  std::string name = json.at("name").get<std::string>();
  int32_t axis = mesh.find(name);
  if (axis < 0)
    throw Error("the mesh has no axis " + name);
  int64_t whole = mesh.axes[axis].size;
  AxisRef ref = mesh.whole(axis);
  if (json.contains("pre"))
    ref.pre = integerOf(json.at("pre"));
  if (json.contains("size"))
    ref.size = integerOf(json.at("size"));
  int64_t product;
  if (ref.pre < 1 || ref.size < 1 ||
      __builtin_mul_overflow(ref.pre, ref.size, &product) ||
      whole % product != 0)
    throw Error("axis " + name + " of size " + std::to_string(whole) +
                " has no part of size " + std::to_string(ref.size) + " after " +
                std::to_string(ref.pre));
  ref.rest = whole / product;
  return ref;
}

/// Adds the axes that `json` lists; all in `seen` are parts of their own.
static std::vector<AxisRef> readAxisRefs(const Mesh &mesh, const Json &json,
                                         std::vector<AxisRef> &seen) {
  std::vector<AxisRef> refs;
  for (const Json &one : json) {
    AxisRef ref = readAxisRef(mesh, one);
    for (const AxisRef &other : seen) {
      // Of two parts, one consists of digits before those of the other.
      auto before = [](const AxisRef &a, const AxisRef &b) {
        return b.pre % (a.pre * a.size) == 0;
      };
      if (ref.axis == other.axis && !before(ref, other) && !before(other, ref))
        throw Error("axis " + mesh.axes[ref.axis].name +
                    " is used twice, or two of its parts overlap");
    }
    seen.push_back(ref);
    refs.push_back(ref);
  }
  return refs;
}

/// A shape whose number of elements can be multiplied by the factors that
/// follow.
static Shape readShape(const Json &json) {
  Shape shape = integersOf(json);
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || extent > maxElements ||
        (extent > 0 && count > maxElements / extent))
      throw Error("impossible shape " + toString(shape));
    count *= std::max<int64_t>(extent, 1);
  }
  return shape;
}

static TensorDesc::Kind readKind(const std::string &kind) {
  if (kind == "parameter")
    return TensorDesc::Parameter;
  if (kind == "constant")
    return TensorDesc::Constant;
  if (kind == "input")
    return TensorDesc::Input;
  if (kind == "output")
    return TensorDesc::Output;
  throw Error("kind '" + kind +
              "'; known are parameter, constant, input, "
              "output");
}

/// The block of a parameter, or of an output, that a tensor is.
static void readPart(const Json &json, TensorDesc &desc) {
  checkKeys(json, {"of", "at"});
  desc.partOf = readShape(json.at("of"));
  desc.partAt = integersOf(json.at("at"));
  size_t dims = desc.globalShape.size();
  bool fits =
      (desc.kind == TensorDesc::Parameter || desc.kind == TensorDesc::Output) &&
      dims > 0 && desc.partOf.size() == dims && desc.partAt.size() == dims;
  for (size_t d = 0; fits && d < dims; ++d)
    fits = desc.partAt[d] >= 0 && desc.globalShape[d] <= desc.partOf[d] &&
           desc.partAt[d] <= desc.partOf[d] - desc.globalShape[d];
  if (!fits)
    throw Error("the block of " + toString(desc.globalShape) + " at " +
                toString(desc.partAt) + " is no part of a parameter of " +
                toString(desc.partOf));
}

/// The argument that a parameter is a piece of.
static void readJoined(const Json &json, TensorDesc &desc) {
  checkKeys(json, {"of", "at"});
  desc.joinedShape = readShape(json.at("of"));
  desc.joinedAt = integersOf(json.at("at"));
  size_t dims = desc.localShape.size(), cut = 0;
  bool fits = desc.kind == TensorDesc::Parameter && dims > 0 &&
              desc.joinedShape.size() == dims && desc.joinedAt.size() == dims;
  for (size_t d = 0; fits && d < dims; ++d) {
    fits = desc.joinedAt[d] >= 0 && desc.localShape[d] > 0 &&
           desc.localShape[d] <= desc.joinedShape[d] &&
           desc.joinedAt[d] <= desc.joinedShape[d] - desc.localShape[d];
    cut += desc.localShape[d] != desc.joinedShape[d];
  }
  if (!fits || cut != 1)
    throw Error("the part of " + toString(desc.localShape) + " at " +
                toString(desc.joinedAt) + " is no piece of an argument of " +
                toString(desc.joinedShape));
}

/// Whether pieces of arguments follow each other without a gap.
static void checkJoined(const std::vector<TensorDesc> &arguments) {
  Shape next; // where the next piece begins
  const TensorDesc *last = nullptr;
  auto check = [&](bool holds, const TensorDesc &desc) {
    if (!holds)
      throw Error("'" + desc.name +
                  "': the pieces of an argument do not follow each other");
  };
  for (const TensorDesc &desc : arguments) {
    if (last)
      check(desc.joinedShape == last->joinedShape &&
                desc.dtype == last->dtype && desc.joinedAt == next,
            desc);
    else
      check(!desc.continuesJoined(), desc);
    last = nullptr;
    next = desc.joinedAt;
    for (size_t d = 0; d < desc.joinedShape.size(); ++d)
      if (desc.localShape[d] != desc.joinedShape[d]) {
        next[d] += desc.localShape[d];
        last = next[d] < desc.joinedShape[d] ? &desc : nullptr;
      }
  }
  if (last)
    check(false, *last);
}

static Shape localShapeOf(const std::vector<std::vector<SubDim>> &dims);

/// How devices shard a tensor of `shape`.
static std::vector<std::vector<SubDim>>
readDims(const Mesh &mesh, const Json &json, const Shape &shape) {
  std::vector<AxisRef> seen;
  std::vector<std::vector<SubDim>> dims;
  for (const Json &dim : json) {
    std::vector<SubDim> subDims;
    for (const Json &sub : dim) {
      checkKeys(sub, {"size", "axes"});
      subDims.push_back({integerOf(sub.at("size")),
                         readAxisRefs(mesh, sub.at("axes"), seen)});
    }
    dims.push_back(std::move(subDims));
  }
  if (dims.size() != shape.size())
    throw Error(std::to_string(dims.size()) + " dims for shape " +
                toString(shape));
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].empty())
      dims[d].push_back({shape[d], {}});
    Shape sizes;
    for (const SubDim &sub : dims[d])
      sizes.push_back(sub.size);
    if (numElements(sizes) != shape[d])
      throw Error("sub-dimensions " + toString(sizes) +
                  " do not make dimension " + std::to_string(d) + " of " +
                  toString(shape));
  }
  return dims;
}

static TensorDesc readTensor(const Mesh &mesh, const Json &json,
                             bool isResult) {
  TensorDesc desc;
  desc.name = readName(json.at("name"));
  try {
    checkKeys(json, {"name", "kind", "dtype", "global_shape", "local_shape",
                     "dims", "part", "joined", "updates", "stage"});
    desc.kind = readKind(json.at("kind").get<std::string>());
    desc.dtype = dtypeFromName(json.at("dtype").get<std::string>());
    if ((desc.kind == TensorDesc::Output) != isResult)
      throw Error("is in the wrong list: results are of kind output, arguments "
                  "are not");
    desc.globalShape = readShape(json.at("global_shape"));
    desc.localShape = readShape(json.at("local_shape"));
    desc.dims = readDims(mesh, json.at("dims"), desc.globalShape);
    if (json.contains("part"))
      readPart(json.at("part"), desc);
    Shape expected = localShapeOf(desc);
    if (desc.localShape != expected)
      throw Error("local shape " + toString(desc.localShape) +
                  ", but the slices of " + toString(desc.globalShape) +
                  " have shape " + toString(expected));
    if (json.contains("joined"))
      readJoined(json.at("joined"), desc);
    if (json.contains("updates") && !isResult)
      throw Error("is an argument, which updates none");
    if (json.contains("updates"))
      desc.updates = integerOf(json.at("updates"));
    if (json.contains("stage"))
      desc.held.emplace().stage = integerOf(json.at("stage"));
  } catch (const std::exception &e) {
    throw Error("'" + desc.name + "': " + e.what());
  }
  return desc;
}

/// Whether each rank has the same part of both.
static bool liesAlike(const TensorDesc &a, const TensorDesc &b) {
  if (a.held.has_value() != b.held.has_value() ||
      (a.held && a.held->stage != b.held->stage))
    return false;
  auto sameAxes = [](const AxisRef &a, const AxisRef &b) {
    return a.axis == b.axis && a.pre == b.pre && a.size == b.size;
  };
  auto sameSub = [&](const SubDim &a, const SubDim &b) {
    return a.size == b.size &&
           std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(),
                      b.axes.end(), sameAxes);
  };
  return std::equal(
      a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
      [&](const std::vector<SubDim> &a, const std::vector<SubDim> &b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), sameSub);
      });
}

std::string dist::findUpdateProblem(const Manifest &manifest) {
  std::vector<const TensorDesc *> updatedBy(manifest.arguments.size());
  for (const TensorDesc &result : manifest.results) {
    if (!result.updates)
      continue;
    if (*result.updates < 0 ||
        *result.updates >= static_cast<int64_t>(updatedBy.size()))
      return "'" + result.name + "': there is no argument " +
             std::to_string(*result.updates) + " that it could update";
    const TensorDesc *&other = updatedBy[*result.updates];
    if (other)
      return "'" + other->name + "' and '" + result.name +
             "' update the same argument";
    other = &result;
    const TensorDesc &argument = manifest.arguments[*result.updates];
    if (argument.kind == TensorDesc::Constant || !argument.joinedShape.empty())
      return "'" + argument.name +
             "': is a constant, or loaded beside others, and not updated";
    if (argument.dtype != result.dtype ||
        argument.globalShape != result.globalShape ||
        argument.localShape != result.localShape ||
        !liesAlike(argument, result))
      return "'" + result.name +
             "' comes out of a step in another type or placement than it goes "
             "in by; the schedule can say how the parameter lies";
  }
  return "";
}

static CollectiveDesc readCollective(const Json &json, size_t communicators) {
  checkKeys(json, {"op", "comm", "axes", "reduce", "dtype", "shape",
                   "bytes_sent_per_rank", "count", "in_unknown_loop", "scope",
                   "cause", "location"});
  CollectiveDesc desc;
  desc.op = json.at("op").get<std::string>();
  int64_t comm = json.contains("comm") ? integerOf(json.at("comm")) : -1;
  if (comm < -1 || comm >= static_cast<int64_t>(communicators))
    throw Error("a collective is on communicator " + std::to_string(comm) +
                " of " + std::to_string(communicators));
  desc.comm = static_cast<int32_t>(comm);
  desc.axes = json.value("axes", std::vector<std::string>());
  desc.reduce = json.value("reduce", "");
  desc.dtype = json.value("dtype", "");
  if (json.contains("shape"))
    desc.shape = readShape(json.at("shape"));
  if (json.contains("bytes_sent_per_rank"))
    desc.bytesSentPerRank = integerOf(json.at("bytes_sent_per_rank"));
  if (json.contains("count"))
    desc.count = integerOf(json.at("count"));
  if (desc.count < 0)
    throw Error("a collective is done " + std::to_string(desc.count) +
                " times");
  desc.inUnknownLoop = json.value("in_unknown_loop", false);
  desc.scope = json.value("scope", "");
  desc.cause = json.value("cause", "");
  desc.location = json.value("location", "");
  return desc;
}

static Shape localShapeOf(const std::vector<std::vector<SubDim>> &dims) {
  Shape shape;
  for (const std::vector<SubDim> &dim : dims) {
    int64_t extent = 1;
    for (const SubDim &sub : dim) {
      std::vector<int64_t> sizes;
      int64_t parts = 1;
      for (const AxisRef &ref : sub.axes) {
        sizes.push_back(ref.size);
        parts *= ref.size;
      }
      if (&sub != &dim.front() && sub.size % parts != 0)
        throw Error("a sub-dimension of size " + std::to_string(sub.size) +
                    " cannot be cut into " + std::to_string(parts) +
                    " parts beside others");
      extent *= blockRows(sizes, sub.size);
    }
    shape.push_back(extent);
  }
  return shape;
}

Shape dist::localShapeOf(const TensorDesc &desc) {
  return ::localShapeOf(desc.dims);
}

static RandomStreamsDesc readRandomStreams(const Mesh &mesh, const Json &json) {
  checkKeys(json, {"operator", "axes", "global_shape", "dims"});
  RandomStreamsDesc desc;
  std::vector<AxisRef> seen;
  desc.number = integerOf(json.at("operator"));
  desc.axes = readAxisRefs(mesh, json.at("axes"), seen);
  desc.globalShape = readShape(json.at("global_shape"));
  desc.dims = readDims(mesh, json.at("dims"), desc.globalShape);
  if (desc.axes.empty())
    throw Error("random streams of operator " + std::to_string(desc.number) +
                " are over no axis");
  ::localShapeOf(desc.dims); // which throws for parts that there cannot be
  return desc;
}

/// The name of a file in the bundle itself.
static std::string readFileName(const Json &json, const char *key) {
  std::string name = json.get<std::string>();
  if (name.empty() || name == "." || name == ".." ||
      name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw Error(std::string(key) + " '" + name +
                "' is not the name of a file in the bundle");
  return name;
}

static Checksum readChecksum(const Json &json) {
  checkKeys(json, {"bytes", "xxh3"});
  Checksum sum;
  sum.bytes = integerOf(json.at("bytes"));
  std::string text = json.at("xxh3").get<std::string>();
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, sum.xxh3, 16);
  if (error != std::errc() || rest != end)
    throw Error("checksum '" + text + "' is no hexadecimal number of 64 bits");
  return sum;
}

static bool has(const Json &json, const char *key) {
  return json.contains(key) && !json.at(key).is_null();
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

static constexpr std::string_view taskKinds[] = {"begin", "forward", "backward",
                                                 "weight", "end"};
static constexpr std::string_view operandKinds[] = {"argument", "result",
                                                    "slot", "microbatch"};

template <class Kind, size_t Count>
static Kind readWord(const Json &json, const std::string_view (&words)[Count]) {
  std::string word = json.get<std::string>();
  for (size_t i = 0; i < Count; ++i)
    if (words[i] == word)
      return static_cast<Kind>(i);
  throw Error("'" + word + "' is no word that is known here");
}

static int64_t readBelow(int64_t number, int64_t end, const char *what) {
  if (number < 0 || number >= end)
    throw Error(std::string(what) + " " + std::to_string(number) + " of " +
                std::to_string(end));
  return number;
}

static TaskDesc::Operand readOperand(const Json &json, const Manifest &manifest,
                                     const PipelineDesc &pipeline,
                                     bool isResult) {
  TaskDesc::Operand operand;
  operand.kind = readWord<TaskDesc::Operand::Kind>(json.at(0), operandKinds);
  bool fits = isResult ? operand.kind != TaskDesc::Operand::Microbatch
                       : operand.kind != TaskDesc::Operand::Result;
  size_t count = operand.kind == TaskDesc::Operand::Microbatch ? 1 : 2;
  if (!fits || json.size() != count)
    throw Error("no such operand of a task: " + json.dump());
  if (operand.kind == TaskDesc::Operand::Microbatch)
    return operand;
  size_t end =
      operand.kind == TaskDesc::Operand::Argument ? manifest.arguments.size()
      : operand.kind == TaskDesc::Operand::Result ? manifest.results.size()
                                                  : pipeline.slots.size();
  operand.index = readBelow(integerOf(json.at(1)), end, "operand");
  return operand;
}

static TaskDesc readTask(const Json &json, const Manifest &manifest,
                         const PipelineDesc &pipeline) {
  checkKeys(json,
            {"kind", "stage", "part", "arena_bytes", "arguments", "results"});
  TaskDesc task;
  task.kind = readWord<TaskDesc::Kind>(json.at("kind"), taskKinds);
  task.stage =
      readBelow(integerOf(json.at("stage")), pipeline.placeOf.size(), "stage");
  if (json.contains("part"))
    task.part = readBelow(integerOf(json.at("part")), maxElements, "part");
  task.arenaBytes = readBelow(integerOf(json.at("arena_bytes")),
                              maxElements + 1, "arena_bytes");
  for (const Json &operand : json.at("arguments"))
    task.arguments.push_back(
        readOperand(operand, manifest, pipeline, /*isResult=*/false));
  for (const Json &operand : json.at("results"))
    task.results.push_back(
        readOperand(operand, manifest, pipeline, /*isResult=*/true));
  return task;
}

/// The values that go from one stage to another in the loop.
static std::vector<pipeline::Transfer> findTransfers(const PipelineDesc &desc) {
  auto convert = [](TaskDesc::Kind kind) {
    return kind == TaskDesc::Forward    ? pipeline::Kind::Forward
           : kind == TaskDesc::Backward ? pipeline::Kind::Backward
                                        : pipeline::Kind::Weight;
  };
  auto isInLoop = [](const TaskDesc &task) {
    return task.kind != TaskDesc::Begin && task.kind != TaskDesc::End;
  };
  std::vector<const TaskDesc *> makers(desc.slots.size());
  for (const TaskDesc &task : desc.tasks)
    for (const TaskDesc::Operand &result : task.results)
      if (isInLoop(task) && result.kind == TaskDesc::Operand::Slot)
        makers[result.index] = &task;
  std::vector<pipeline::Transfer> transfers;
  for (const TaskDesc &task : desc.tasks)
    for (const TaskDesc::Operand &argument : task.arguments) {
      const TaskDesc *maker = argument.kind == TaskDesc::Operand::Slot
                                  ? makers[argument.index]
                                  : nullptr;
      if (maker && isInLoop(task) && maker->stage != task.stage)
        transfers.push_back({convert(maker->kind), int32_t(maker->stage),
                             convert(task.kind), int32_t(task.stage)});
    }
  std::sort(transfers.begin(), transfers.end());
  transfers.erase(std::unique(transfers.begin(), transfers.end()),
                  transfers.end());
  return transfers;
}

/// Throws Error for tasks that cannot be done together.
static void checkTasks(const PipelineDesc &desc, const Manifest &manifest) {
  using Operand = TaskDesc::Operand;
  std::set<std::pair<TaskDesc::Kind, int64_t>> known;
  std::vector<const TaskDesc *> makers(desc.slots.size());
  auto isInLoop = [](const TaskDesc &task) {
    return task.kind != TaskDesc::Begin && task.kind != TaskDesc::End;
  };
  auto fail = [](const std::string &what) {
    throw Error("the tasks cannot be done: " + what);
  };
  for (const TaskDesc &task : desc.tasks) {
    if (size_t(task.stage) >= desc.placeOf.size())
      fail("one is of stage " + std::to_string(task.stage) + " of " +
           std::to_string(desc.placeOf.size()));
    if (isInLoop(task) && !known.insert({task.kind, task.stage}).second)
      fail("stage " + std::to_string(task.stage) + " has two of one kind");
    auto checkHeld = [&](const TensorDesc &tensor) {
      if (tensor.held &&
          desc.placeOf[tensor.held->stage] != desc.placeOf[task.stage])
        fail("one of stage " + std::to_string(task.stage) + " has '" +
             tensor.name + "', which stage " +
             std::to_string(tensor.held->stage) + " holds");
    };
    for (const Operand &argument : task.arguments)
      if (argument.kind == Operand::Argument)
        checkHeld(manifest.arguments[argument.index]);
    for (const Operand &result : task.results) {
      if (result.kind == Operand::Result)
        checkHeld(manifest.results[result.index]);
      if (result.kind != Operand::Slot)
        continue;
      const TaskDesc *&maker = makers[result.index];
      // What a step has is begun with, and updated.
      if (maker && (!desc.slots[result.index].isOfStep ||
                    maker->stage != task.stage || maker == &task))
        fail("slot " + std::to_string(result.index) + " is made twice");
      if (isInLoop(task) && desc.slots[result.index].isOfStep && !maker)
        fail("slot " + std::to_string(result.index) + " begins with nothing");
      if (!isInLoop(task) && !desc.slots[result.index].isOfStep)
        fail("slot " + std::to_string(result.index) + " is of no microbatch");
      maker = &task;
    }
  }
  for (const TaskDesc &task : desc.tasks)
    for (const Operand &argument : task.arguments) {
      if (argument.kind != Operand::Slot)
        continue;
      const TaskDesc *maker = makers[argument.index];
      if (!maker)
        fail("nothing makes slot " + std::to_string(argument.index));
      // It would be sent while it is added to.
      if (isInLoop(*maker) && desc.slots[argument.index].isOfStep &&
          maker->stage != task.stage)
        fail("slot " + std::to_string(argument.index) +
             " is carried by one stage and read by another");
      if (!isInLoop(task) && !desc.slots[argument.index].isOfStep)
        fail("slot " + std::to_string(argument.index) +
             " is read outside of its microbatch");
    }
}

/// Throws Error for a table that the tasks cannot be done by.
static void checkTable(const PipelineDesc &desc, int64_t ranks) {
  pipeline::Table table = pipeline::readTable(desc.table, "the table");
  if (table.ranks() != ranks ||
      table.stages != static_cast<int64_t>(desc.placeOf.size()) ||
      table.microbatches != desc.microbatches ||
      !std::equal(table.rankOf.begin(), table.rankOf.end(),
                  desc.placeOf.begin()))
    throw Error("the table has " + std::to_string(table.ranks()) + " rows, " +
                std::to_string(table.stages) + " stages and " +
                std::to_string(table.microbatches) +
                " microbatches, which are not those of the program");
  std::string fault =
      findFault(table, findTransfers(desc), desc.hasBackward());
  if (!fault.empty())
    throw Error("the table cannot be done: " + fault);
}

static PipelineDesc readPipeline(const Json &json, const Manifest &manifest) {
  checkKeys(json, {"name", "axis", "microbatches", "stages", "slots", "tasks",
                   "table"});
  PipelineDesc desc;
  desc.name = json.at("name").get<std::string>();
  desc.axis = manifest.mesh.find(json.at("axis").get<std::string>());
  if (desc.axis < 0)
    throw Error("the pipeline is along no axis of the mesh");
  int64_t ranks = manifest.mesh.axes[desc.axis].size;
  desc.microbatches =
      readBelow(integerOf(json.at("microbatches")), 1 << 20, "microbatches");
  for (const Json &place : json.at("stages"))
    desc.placeOf.push_back(readBelow(integerOf(place), ranks, "coordinate"));
  for (const Json &slot : json.at("slots")) {
    checkKeys(slot, {"dtype", "shape", "step"});
    desc.slots.push_back({dtypeFromName(slot.at("dtype").get<std::string>()),
                          readShape(slot.at("shape")),
                          slot.value("step", false)});
  }
  for (const Json &task : json.at("tasks"))
    desc.tasks.push_back(readTask(task, manifest, desc));
  for (const auto *list : {&manifest.arguments, &manifest.results})
    for (const TensorDesc &tensor : *list)
      if (tensor.held)
        readBelow(tensor.held->stage, desc.placeOf.size(), "stage");
  checkTasks(desc, manifest);
  desc.table = json.at("table").get<std::string>();
  checkTable(desc, ranks);
  return desc;
}

std::string dist::findPipelineProblem(const Manifest &manifest) {
  try {
    checkTasks(*manifest.pipeline, manifest);
    checkTable(*manifest.pipeline,
               manifest.mesh.axes[manifest.pipeline->axis].size);
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

void dist::placeStages(Manifest &manifest) {
  for (auto *list : {&manifest.arguments, &manifest.results})
    for (TensorDesc &desc : *list) {
      if (!desc.held)
        continue;
      size_t stage = desc.held->stage;
      if (!manifest.pipeline || stage >= manifest.pipeline->placeOf.size())
        throw Error("'" + desc.name + "' is of stage " + std::to_string(stage) +
                    ", which the program has not");
      desc.held->axis = manifest.pipeline->axis;
      desc.held->place = manifest.pipeline->placeOf[stage];
    }
}

bool dist::isHeldBy(const Mesh &mesh, const TensorDesc &desc, int64_t rank) {
  return !desc.held ||
         mesh.coordinate(rank, desc.held->axis) == desc.held->place;
}

static Manifest readManifest(const Json &json) {
  int64_t version = integerOf(json.at("version"));
  if (version != manifestVersion)
    throw Error("version " + std::to_string(version) + "; this program reads " +
                std::to_string(manifestVersion) + ": compile the bundle again");
  int64_t abi = integerOf(json.at("abi"));
  if (abi < DIST_ABI_OLDEST || abi > DIST_ABI_VERSION)
    throw Error("compiled for runtime interface " + std::to_string(abi) +
                "; this is " + std::to_string(DIST_ABI_VERSION) +
                ": compile the bundle again");
  checkKeys(json, {"version", "abi", "target", "program", "mesh",
                   "communicators", "arguments", "results", "arena_bytes",
                   "weights", "constants", "collectives", "checks",
                   "random_streams", "pipeline", "checksums"});
  Manifest manifest;
  manifest.target = json.at("target").get<std::string>();
  manifest.program = readFileName(json.at("program"), "program");
  manifest.mesh = readMesh(json.at("mesh"));
  for (const Json &refs : json.at("communicators")) {
    std::vector<AxisRef> seen;
    manifest.communicators.push_back(readAxisRefs(manifest.mesh, refs, seen));
  }
  for (const Json &tensor : json.at("arguments"))
    manifest.arguments.push_back(
        readTensor(manifest.mesh, tensor, /*isResult=*/false));
  checkJoined(manifest.arguments);
  for (const Json &tensor : json.at("results"))
    manifest.results.push_back(
        readTensor(manifest.mesh, tensor, /*isResult=*/true));
  if (std::string problem = findUpdateProblem(manifest); !problem.empty())
    throw Error(problem);
  manifest.arenaBytes = integerOf(json.at("arena_bytes"));
  if (manifest.arenaBytes < 0 || manifest.arenaBytes > maxElements)
    throw Error("arena_bytes is " + std::to_string(manifest.arenaBytes));
  if (has(json, "weights"))
    manifest.weights = readName(json.at("weights"));
  if (has(json, "constants"))
    manifest.constants = readFileName(json.at("constants"), "constants");
  if (has(json, "collectives"))
    for (const Json &collective : json.at("collectives"))
      manifest.collectives.push_back(
          readCollective(collective, manifest.communicators.size()));
  if (has(json, "checks"))
    for (const Json &check : json.at("checks")) {
      checkKeys(check, {"message", "value"});
      manifest.checks.push_back({check.at("message").get<std::string>(),
                                 check.value("value", false)});
    }
  if (has(json, "random_streams"))
    for (const Json &streams : json.at("random_streams"))
      manifest.randomStreams.push_back(
          readRandomStreams(manifest.mesh, streams));
  if (has(json, "pipeline"))
    manifest.pipeline = readPipeline(json.at("pipeline"), manifest);
  placeStages(manifest);
  const Json &sums = json.at("checksums");
  checkKeys(sums, {"program", "constants"});
  manifest.programChecksum = readChecksum(sums.at("program"));
  if (!manifest.constants.empty())
    manifest.constantsChecksum = readChecksum(sums.at("constants"));
  return manifest;
}

Manifest Manifest::parse(std::string_view text, const std::string &source) {
  try {
    return readManifest(parseJson<Json>(text));
  } catch (const std::exception &e) {
    throw Error(source + ": " + e.what());
  }
}

bool Manifest::isOne(std::string_view text) {
  try {
    Json json = parseJson<Json>(text);
    integerOf(json.at("version"));
    integerOf(json.at("abi"));
    return json.at("program").is_string() &&
           json.at("mesh").at("axes").is_array() &&
           json.at("arguments").is_array() && json.at("results").is_array();
  } catch (const std::exception &) {
    return false;
  }
}

Manifest Manifest::read(const std::string &path) {
  MappedFile file;
  try {
    file = mapFile(path, maxManifestBytes);
  } catch (const Error &error) {
    throw Error(std::string(error.what()) + "; is this a bundle (OUT.dist)?");
  }
  Manifest manifest = parse(file.text(), path);
  file.checkUnchanged();
  return manifest;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static WrittenJson writeAxisRefs(const Mesh &mesh,
                                 const std::vector<AxisRef> &refs) {
  WrittenJson json = WrittenJson::array();
  for (const AxisRef &ref : refs) {
    WrittenJson one = {{"name", mesh.axes[ref.axis].name}};
    if (ref.size != mesh.axes[ref.axis].size) {
      one["pre"] = ref.pre;
      one["size"] = ref.size;
    }
    json.push_back(std::move(one));
  }
  return json;
}

static WrittenJson writeDims(const Mesh &mesh,
                             const std::vector<std::vector<SubDim>> &dims) {
  WrittenJson json = WrittenJson::array();
  for (const std::vector<SubDim> &dim : dims) {
    WrittenJson subDims = WrittenJson::array();
    for (const SubDim &sub : dim)
      subDims.push_back(
          {{"size", sub.size}, {"axes", writeAxisRefs(mesh, sub.axes)}});
    json.push_back(std::move(subDims));
  }
  return json;
}

static WrittenJson writeTensor(const Mesh &mesh, const TensorDesc &desc) {
  static const char *const kinds[] = {"parameter", "constant", "input",
                                      "output"};
  WrittenJson json = {{"name", desc.name},
                      {"kind", kinds[desc.kind]},
                      {"dtype", dtypeName(desc.dtype)},
                      {"global_shape", desc.globalShape},
                      {"local_shape", desc.localShape},
                      {"dims", writeDims(mesh, desc.dims)}};
  if (!desc.partOf.empty())
    json["part"] = {{"of", desc.partOf}, {"at", desc.partAt}};
  if (!desc.joinedShape.empty())
    json["joined"] = {{"of", desc.joinedShape}, {"at", desc.joinedAt}};
  if (desc.updates)
    json["updates"] = *desc.updates;
  if (desc.held)
    json["stage"] = desc.held->stage;
  return json;
}

static WrittenJson writeCollective(const CollectiveDesc &desc) {
  WrittenJson json = {
      {"op", desc.op}, {"comm", desc.comm}, {"axes", desc.axes}};
  if (!desc.reduce.empty())
    json["reduce"] = desc.reduce;
  json["dtype"] = desc.dtype;
  json["shape"] = desc.shape;
  json["bytes_sent_per_rank"] = desc.bytesSentPerRank;
  if (desc.count != 1)
    json["count"] = desc.count;
  if (desc.inUnknownLoop)
    json["in_unknown_loop"] = true;
  json["scope"] = desc.scope;
  json["cause"] = desc.cause;
  json["location"] = desc.location;
  return json;
}

static WrittenJson writePipeline(const Mesh &mesh, const PipelineDesc &desc) {
  WrittenJson json = {{"name", desc.name},
                      {"axis", mesh.axes[desc.axis].name},
                      {"microbatches", desc.microbatches},
                      {"stages", desc.placeOf},
                      {"slots", WrittenJson::array()},
                      {"tasks", WrittenJson::array()},
                      {"table", desc.table}};
  for (const SlotDesc &slot : desc.slots) {
    WrittenJson one = {{"dtype", dtypeName(slot.dtype)}, {"shape", slot.shape}};
    if (slot.isOfStep)
      one["step"] = true;
    json["slots"].push_back(std::move(one));
  }
  auto write = [](const std::vector<TaskDesc::Operand> &operands) {
    WrittenJson list = WrittenJson::array();
    for (const TaskDesc::Operand &operand : operands) {
      WrittenJson one = WrittenJson::array({operandKinds[operand.kind]});
      if (operand.kind != TaskDesc::Operand::Microbatch)
        one.push_back(operand.index);
      list.push_back(std::move(one));
    }
    return list;
  };
  for (const TaskDesc &task : desc.tasks) {
    WrittenJson one = {{"kind", taskKinds[task.kind]}, {"stage", task.stage}};
    if (task.part)
      one["part"] = task.part;
    one["arena_bytes"] = task.arenaBytes;
    one["arguments"] = write(task.arguments);
    one["results"] = write(task.results);
    json["tasks"].push_back(std::move(one));
  }
  return json;
}

static WrittenJson writeChecksum(const Checksum &sum) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(sum.xxh3));
  return {{"bytes", sum.bytes}, {"xxh3", digits}};
}

/// All but the checksums.
static WrittenJson writeManifest(const Manifest &manifest) {
  const Mesh &mesh = manifest.mesh;
  WrittenJson axes = WrittenJson::array();
  for (const MeshAxis &axis : mesh.axes)
    axes.push_back(WrittenJson::array({axis.name, axis.size}));
  auto orNull = [](const std::string &text) {
    return text.empty() ? WrittenJson() : WrittenJson(text);
  };
  WrittenJson json = {{"version", manifestVersion},
                      {"abi", DIST_ABI_VERSION},
                      {"target", manifest.target},
                      {"program", manifest.program},
                      {"mesh", {{"axes", std::move(axes)}}},
                      {"communicators", WrittenJson::array()},
                      {"arguments", WrittenJson::array()},
                      {"results", WrittenJson::array()},
                      {"arena_bytes", manifest.arenaBytes},
                      {"weights", orNull(manifest.weights)},
                      {"constants", orNull(manifest.constants)},
                      {"collectives", WrittenJson::array()},
                      {"checks", WrittenJson::array()}};
  for (const std::vector<AxisRef> &refs : manifest.communicators)
    json["communicators"].push_back(writeAxisRefs(mesh, refs));
  for (const TensorDesc &desc : manifest.arguments)
    json["arguments"].push_back(writeTensor(mesh, desc));
  for (const TensorDesc &desc : manifest.results)
    json["results"].push_back(writeTensor(mesh, desc));
  for (const CollectiveDesc &desc : manifest.collectives)
    json["collectives"].push_back(writeCollective(desc));
  for (const CheckDesc &desc : manifest.checks)
    json["checks"].push_back(
        {{"message", desc.message}, {"value", desc.hasValue}});
  for (const RandomStreamsDesc &desc : manifest.randomStreams)
    json["random_streams"].push_back({{"operator", desc.number},
                                      {"axes", writeAxisRefs(mesh, desc.axes)},
                                      {"global_shape", desc.globalShape},
                                      {"dims", writeDims(mesh, desc.dims)}});
  if (manifest.pipeline)
    json["pipeline"] = writePipeline(mesh, *manifest.pipeline);
  return json;
}

static std::string dump(const WrittenJson &json, int indent) {
  try {
    return json.dump(indent);
  } catch (const WrittenJson::exception &) {
    throw Error("a name or a message of the program is not UTF-8, which a "
                "manifest is written in");
  }
}

std::string Manifest::toJson() const {
  WrittenJson json = writeManifest(*this);
  WrittenJson sums = {{"program", writeChecksum(programChecksum)}};
  if (constantsChecksum)
    sums["constants"] = writeChecksum(*constantsChecksum);
  json["checksums"] = std::move(sums);
  return dump(json, 1) + "\n";
}

std::string Manifest::agreement() const {
  return dump(writeManifest(*this), -1);
}

std::string dist::differingKeys(const std::string &first,
                                const std::string &second) {
  WrittenJson a =
      WrittenJson::parse(first, nullptr, /*allow_exceptions=*/false);
  WrittenJson b =
      WrittenJson::parse(second, nullptr, /*allow_exceptions=*/false);
  if (!a.is_object() || !b.is_object())
    return "everything";
  std::string keys;
  for (const auto &[key, value] : a.items())
    if (!b.contains(key) || b.at(key) != value)
      keys += (keys.empty() ? "" : ", ") + key;
  return keys;
}
