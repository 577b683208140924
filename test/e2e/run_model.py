#!/usr/bin/python3
"""One exported model, end to end: imported, scheduled, reported, run on many ranks.

    run_model.py MODEL EXPORTER [REGEX]     only cases whose name matches, and the import

For every schedule and size of its mesh, each of these is a test of its own:

- `outputs`: on every recorded set of inputs the results equal PyTorch's within 1e-4
  (the Slapo case: 1e-5);
- `verify`: the ranks agree with one device within what rounding changes; with the program converted
  to f64 also within 1e-10 (code is optimised for the last schedule only: LLVM takes most of a run);
- `plan`, of each schedule once: what was decided, written as a plan and read again, sends the same;
- `collectives`: what dist-report counts is what the schedule promises, to the byte;
- `fused`: with `--fuse-transposes` the ranks agree with one device in f64, send the same, and copy as little around
  collectives as can be.

Where a model has many schedules, most are checked by `f64` in place of the first two: one run in f64, on inputs with
padding if the model takes any, agrees with one device within 1e-10 and with PyTorch as above.

Programs come from tools/ and models from examples/, below the current folder.
"""

import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import typing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy  # noqa: E402
import xunit  # noqa: E402

TOOLS = os.path.abspath("tools")
# Numbers, not how their code is optimised.
IN_F64 = ["--verify=f64", "--atol=1e-10", "--rtol=1e-10", xunit.OPT_LEVEL, "--json"]
EXAMPLES = os.path.abspath("examples")

TRANSFORMER_RUNS = [
    ("tp", 1), ("tp", 2), ("tp", 4),
    ("sp", 2), ("sp", 4),
    ("tp_full", 2), ("tp_full", 4),
    ("fsdp", 2),
]
ULYSSES_RUNS = [("ulysses", 2), ("ulysses", 4)]

# Schedules that complete sums of a layer's activation: with which operations.
SUMS = {
    "tp": ["all_reduce"],
    "tp_full": ["all_reduce"],
    "tp_kv": ["all_reduce"],
    "tp_dp": ["all_reduce"],
    "tp_cp_dp": ["all_reduce"],
    "sp": ["reduce_scatter", "all_gather"],
    "slapo": ["reduce_scatter", "all_gather"],
}


class Layer(typing.NamedTuple):
    """What a layer has: row-parallel projections, attentions, sequences from elsewhere that it is the first to take."""

    sums: int = 2
    attentions: int = 1
    sequences: int = 0


class Model:
    """An example: the (schedule, sizes of its mesh) to run, how near to PyTorch, and what a layer is."""

    def __init__(self, runs, tolerance, layers, scope, activation, heads=(), query_heads=0, f64_runs=(),
                 ops_of_its_own=False):
        # In `f64_runs` once, in f64; in `runs` on every set of inputs, in f32 and f64.
        self.runs, self.f64_runs, self.tolerance, self.layers = runs, f64_runs, tolerance, layers
        self.scope = re.compile(scope)  # of the ops of a layer, whose name is group 1
        self.activation = activation  # [batch, sequence, features] between layers
        # What an attention cuts into heads: parts of the activation (q, k, v, output).
        self.heads, self.query_heads = heads, query_heads
        self.ops_of_its_own = ops_of_its_own  # some are of no module within the model, so their scope is ""

    def activation_bytes(self, sequence_parts):
        """With the sequence in so many parts, which are of one size: the last one is padded."""
        batch, sequence, features = self.activation
        return 4 * batch * -(-sequence // sequence_parts) * sequence_parts * features

    def closed_form(self, schedule, mesh, name, parameters):
        """What a layer communicates, forward: {operation: [count, bytes a rank sends]}. `parameters`: {name: bytes}."""
        layer, ranks = self.layers[name], math.prod(mesh.values())
        if schedule == "dp":
            return {}
        if schedule == "fsdp":
            return self.gathered_parameters(ranks, name, parameters)
        if schedule == "fsdp_tp":  # of the norms all, of what the columns and rows leave one part
            parameters = {path: size if "norm" in path else size // mesh["tp"] for path, size in parameters.items()}
            return {
                **self.gathered_parameters(mesh["dp"], name, parameters),
                **self.closed_form("tp_dp", mesh, name, parameters),
            }
        if schedule == "ep":  # what the experts make of the tokens is added up once
            return {"all_reduce": [1, 2 * self.activation_bytes(1) * (ranks - 1) // ranks]}
        if schedule == "ep_dp":  # where the tokens come from, which are gathered before
            part = self.activation_bytes(1) * (ranks - 1) // ranks
            return {"all_gather": [1, part], "reduce_scatter": [1, part]}
        if schedule == "ulysses":  # each rank sends all but one part of what it holds
            held = sum(int(self.activation_bytes(ranks) * part) for part in self.heads) // ranks
            count = layer.attentions * len(self.heads)
            return {"all_to_all": [count, layer.attentions * held * (ranks - 1) // ranks]}
        if schedule == "ring":  # a rank passes on a block of k and v to the next, all but its own last one
            held = sum(int(self.activation_bytes(ranks) * part) for part in self.heads[1:3]) // ranks
            return {"send_recv": [2 * layer.attentions * (ranks - 1), layer.attentions * held * (ranks - 1)]}
        if schedule == "ring_zigzag":  # and half a block of queries and means, two numbers a row of these, and one more;
            batch, sequence, features = self.activation  # and of the mask a byte for each score
            half = -(-sequence // ranks) // 2
            sent = 4 * (batch * half * (features * int(self.heads[0] + self.heads[3]) + 2 * self.query_heads) + 1)
            sent += half * sequence
            more = {"collective_permute": [5 * layer.attentions, layer.attentions * sent]}
            return {**self.closed_form("ring", mesh, name, parameters), **more}
        found = {}
        if "cp" in mesh:  # each rank sends all that it holds of k and v to all others along the axis
            held = sum(int(self.activation_bytes(mesh["cp"]) * part) for part in self.heads[1:3]) // ranks
            found["all_gather"] = [2 * layer.attentions, layer.attentions * held * (mesh["cp"] - 1)]
        # A reduce_scatter or an all_gather sends (p-1)/p of the activation, of which "dp" and "cp" leave a part; an
        # all_reduce is both.
        tensor = ranks if schedule == "tp_kv" else mesh.get("tp", 1)
        parts = tensor if schedule in ("sp", "slapo") else mesh.get("cp", 1)
        held = self.activation_bytes(parts) * tensor // ranks
        for op in SUMS.get(schedule, []):
            count = layer.sums + (layer.sequences if op == "all_gather" else 0)
            times = 2 if op == "all_reduce" else 1
            found[op] = [count, count * (times * held * (tensor - 1) // tensor)]
        return found

    def gathered_parameters(self, ranks, name, parameters):
        """Each parameter is gathered once."""
        sizes = [size for path, size in parameters.items() if (m := self.scope.match(path)) and m[1] == name]
        return {"all_gather": [len(sizes), sum(sizes) * (ranks - 1) // ranks]}


class ConvolutionModel(Model):
    """Blocks of three convolutions: two of `inner` features, one of `outer`, on `area` places."""

    def closed_form(self, schedule, mesh, name, parameters):
        inner, outer, area = self.layers[name]
        ranks, tensor = math.prod(mesh.values()), mesh.get("tp", 1)
        if schedule == "dp":
            return {}
        if schedule == "fsdp":
            return self.gathered_parameters(ranks, name, parameters)
        # The second convolution's sum is completed; in tp_full the block's result is gathered.
        bytes_a_feature = 4 * self.activation[0] * area * tensor // ranks
        found = {"all_reduce": [1, 2 * inner * bytes_a_feature * (tensor - 1) // tensor]}
        if schedule == "tp_full":
            found["all_gather"] = [1, outer * bytes_a_feature * (tensor - 1) // tensor]
        return found


# The lines that Slapo takes for a model (Chen et al. 2023), for any of its schedules: none here is longer.
SLAPO_LINES = {"bert": 21, "gpt2": 10, "opt": 10, "t5": 11, "t5_plain": 11, "llama": 11, "wide_resnet": 12}

CONTEXT_RUNS = [("cp", 2), ("cp", 4), ("tp_cp_dp", (2, 2, 2)), ("ring", 2), ("ring", 4)]

ZIGZAG_RUNS = [("ring_zigzag", 2), ("ring_zigzag", 3), ("ring_zigzag", 4), ("ring_zigzag", 8)]

# All schedules of xunit.OPT_LEVEL, with the sizes in the order of the schedule's mesh.
OPT_RUNS = [
    ("tp", 2), ("tp", 3), ("tp_full", 2), ("tp_full", 4), ("sp", 2), ("sp", 4), ("fsdp", 2), ("fsdp", 4), ("dp", 2),
    ("tp_dp", (2, 2)), ("ulysses", 2), ("ulysses", 4), ("cp", 2), ("cp", 4), ("tp_cp_dp", (2, 2, 2)),
    ("ring", 2), ("ring", 3), ("ring", 4),
]

TWO_LAYERS = {"0": Layer(), "1": Layer()}

MODELS = {
    "gpt2": Model(TRANSFORMER_RUNS, 1e-4, TWO_LAYERS, r"transformer\.h\.(\d+)(?:\.|$)", (2, 16, 64),
                  heads=(1, 1, 1, 1), query_heads=4, f64_runs=CONTEXT_RUNS + ZIGZAG_RUNS),
    "bert": Model(TRANSFORMER_RUNS + ULYSSES_RUNS, 1e-4, TWO_LAYERS, r"bert\.encoder\.layer\.(\d+)(?:\.|$)",
                  (2, 16, 64), heads=(1, 1, 1, 1), f64_runs=[("cp", 2), ("cp", 4), ("ring", 2), ("ring", 4)]),
    "llama": Model(TRANSFORMER_RUNS + ULYSSES_RUNS, 1e-4, TWO_LAYERS, r"model\.layers\.(\d+)(?:\.|$)", (2, 16, 64),
                   heads=(1, 0.5, 0.5, 1), query_heads=8,
                   f64_runs=[*CONTEXT_RUNS, *ZIGZAG_RUNS, ("fsdp_tp", (2, 2)), ("tp_kv", (4, 2))]),
    "opt": Model([("tp", 4)], 1e-4, TWO_LAYERS, r"model\.decoder\.layers\.(\d+)(?:\.|$)", (2, 16, 64),
                 heads=(1, 1, 1, 1), f64_runs=OPT_RUNS),
    "phi3": Model([("tp", 4)], 1e-4, TWO_LAYERS, r"model\.layers\.(\d+)(?:\.|$)", (2, 16, 64), f64_runs=[
        ("tp", 2), ("tp_full", 2), ("sp", 2), ("sp", 4), ("tp_dp", (2, 2)),
    ]),
    "mixtral": Model([("tp", 4)], 1e-4, TWO_LAYERS, r"model\.layers\.(\d+)(?:\.|$)", (2, 16, 64),
                     heads=(1, 0.5, 0.5, 1), f64_runs=[
        ("tp", 2), ("tp_full", 2), ("tp_full", 4), ("sp", 2), ("sp", 4), ("fsdp", 2), ("dp", 2), ("tp_dp", (2, 2)),
        ("ulysses", 2), ("ulysses", 4), ("cp", 2), ("cp", 4), ("ep", 2), ("ep", 3), ("ep", 4), ("ep_dp", 2),
        ("tp_cp_dp", (2, 2, 2)), ("ring", 4),
    ]),
    # Decoders attend twice, the second time to the encoder's result, which the first of them gathers for all.
    "t5": Model([("tp", 4)], 1e-4, {
        "encoder.block.0": Layer(), "encoder.block.1": Layer(),
        "decoder.block.0": Layer(sums=3, attentions=2, sequences=1), "decoder.block.1": Layer(sums=3, attentions=2),
    }, r"((?:en|de)coder\.block\.\d+)(?:\.|$)", (2, 16, 64), heads=(0.5, 0.5, 0.5, 0.5), f64_runs=[
        ("tp", 2), ("tp_full", 2), ("tp_full", 4), ("sp", 2), ("sp", 4), ("fsdp", 2), ("dp", 2), ("tp_dp", (2, 2)),
        ("ulysses", 2), ("ulysses", 4), ("cp", 2), ("cp", 4), ("ring", 2), ("ring", 4),
    ]),
    # T5 1.0: what its plain MLP differs in.
    "t5_plain": Model([], 1e-4, {
        "encoder.block.0": Layer(), "decoder.block.0": Layer(sums=3, attentions=2, sequences=1),
    }, r"((?:en|de)coder\.block\.\d+)(?:\.|$)", (2, 16, 64), f64_runs=[("tp", 2), ("sp", 2)]),
    # 16 patches and the class token: no number of ranks divides them.
    "vit": Model([("tp", 4)], 1e-4, TWO_LAYERS, r"vit\.layers\.(\d+)(?:\.|$)", (2, 17, 64), heads=(1, 1, 1, 1),
                 f64_runs=[
        ("tp", 2), ("tp", 3), ("tp_full", 2), ("tp_full", 4), ("sp", 2), ("sp", 4), ("fsdp", 2), ("dp", 2),
        ("tp_dp", (2, 2)), ("ulysses", 2), ("ulysses", 4), ("cp", 2), ("cp", 4),
        ("ring", 2), ("ring", 3), ("ring", 4),
    ], ops_of_its_own=True),
    "wide_resnet": ConvolutionModel([("tp", 4)], 1e-4, {
        "layer1.0": (16, 32, 8 * 8), "layer1.1": (16, 32, 8 * 8),
        "layer2.0": (32, 64, 4 * 4), "layer2.1": (32, 64, 4 * 4),
    }, r"(layer\d\.\d)(?:\.|$)", (2,), f64_runs=[
        ("tp", 2), ("tp", 3), ("tp_full", 2), ("tp_full", 4), ("fsdp", 2), ("dp", 2), ("tp_dp", (2, 2)),
    ]),
    # Chen et al. 2023: the whole model is the layer.
    "slapo": Model([("slapo", 2)], 1e-5, {"fc": Layer(sums=1)}, r"(fc)[12]", (3, 16, 30)),
}



class Failure(Exception):
    """A test that failed, and why."""


def compare_npy(actual_path, expected_path, tolerance):
    _, actual_shape, actual = npy.read(actual_path)
    _, expected_shape, expected = npy.read(expected_path)
    if actual_shape != expected_shape:
        raise Failure(f"{actual_path}: shape {actual_shape}, expected {expected_shape}")
    # A NaN is as far off as can be.
    errors = [abs(a - b) if a == a and b == b else (0.0 if a != a and b != b else math.inf)
              for a, b in zip(actual, expected)]
    worst = max(range(len(errors)), key=errors.__getitem__)
    if not errors[worst] <= tolerance:
        raise Failure(
            f"{os.path.basename(actual_path)}: element {worst} of {len(errors)} is {actual[worst]!r}, expected "
            f"{expected[worst]!r}: off by {errors[worst]:.3g}, allowed {tolerance:.0e}")


def call(program, *arguments):
    """Runs one of our programs; gives its standard output."""
    command = [os.path.join(TOOLS, program), *arguments]
    print("+", program, *arguments, flush=True)
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        raise Failure(f"{' '.join([program, *arguments])}\nexit status {run.returncode}\n"
                      f"{run.stdout[-3000:]}{run.stderr[-6000:]}")
    return run.stdout


class ModelTest:
    def __init__(self, model, exporter, scratch):
        self.model, self.exporter, self.scratch = model, exporter, scratch
        self.facts = MODELS[model]
        self.folder = os.path.join(EXAMPLES, model)
        self.module = os.path.join(scratch, f"{model}.mlir")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def cases(self):
        """(name, function) of each test, in order; the first is needed by all others."""
        yield "import", self.check_import
        yield "unscheduled.outputs", lambda: self.check_outputs("one", [], True)
        if self.exporter == "dynamo" and self.model in SLAPO_LINES:
            yield "directives", self.check_directives
        # How plans and orders of dimensions are found does not depend on the exporter, nor on the number of ranks.
        planned = set()
        for full, runs in (True, self.facts.runs), (False, self.facts.f64_runs):
            for schedule, sizes in runs:
                mesh = self.mesh_of(schedule, sizes)
                name = f"{schedule}@{'x'.join(map(str, mesh.values()))}"
                options = ["--schedule", os.path.join(self.folder, f"{schedule}.mlir"),
                           "--mesh", ",".join(f"{axis}={size}" for axis, size in mesh.items())]
                ranks = math.prod(mesh.values())
                if full:
                    optimized = schedule == self.facts.runs[-1][0]
                    yield f"{name}.outputs", lambda n=name, o=options, c=optimized: self.check_outputs(n, o, c)
                    yield f"{name}.verify", lambda o=options, r=ranks, c=optimized: self.check_verify(o, r, c)
                else:
                    yield f"{name}.f64", lambda n=name, o=options, r=ranks: self.check_f64(n, o, r)
                if ranks > 1 and self.exporter == "dynamo" and schedule not in planned:
                    planned.add(schedule)
                    yield f"{name}.plan", lambda s=schedule, o=options: self.check_plan(s, o)
                if ranks == 2 and self.exporter == "dynamo" and schedule in ("sp", "ulysses", "cp", "ring", "ring_zigzag"):
                    yield f"{name}.fused", lambda o=options, r=ranks: self.check_fused(o, r)
                yield f"{name}.collectives", lambda s=schedule, m=mesh: self.check_collectives(s, m)

    def check_import(self):
        call("dist-import", os.path.join(self.folder, f"{self.model}.{self.exporter}.onnx"), "-o", self.module)

    def check_directives(self):
        for path in sorted(glob.glob(os.path.join(self.folder, "*.mlir"))):
            with open(path, encoding="utf-8") as file:
                lines = [line for line in file if re.match(r"\s+dist\.", line)]
            if not 0 < len(lines) <= SLAPO_LINES[self.model]:
                raise Failure(f"{path} has {len(lines)} directives; Slapo takes {SLAPO_LINES[self.model]}")

    def input_sets(self):
        """(inputs, outputs) folders. The set padded on the left is PyTorch's and the script export's word only."""
        for inputs in sorted(glob.glob(os.path.join(self.folder, "inputs*"))):
            if inputs.endswith("_left_padded") and self.exporter != "script":
                continue
            yield inputs, os.path.join(self.folder, os.path.basename(inputs).replace("inputs", "outputs"))

    def input_options(self, folder):
        options = []
        for path in sorted(glob.glob(os.path.join(folder, "*.npy"))):
            options += ["--input", f"{os.path.basename(path).removesuffix('.npy')}={path}"]
        return options

    def check_outputs(self, name, options, optimized):
        bundle = self.path(f"{name}.dist")
        call("dist-compile", self.module, *options, *([] if optimized else [xunit.OPT_LEVEL]), "-o", bundle)
        for inputs, outputs in self.input_sets():
            results = self.path(f"{name}.{os.path.basename(inputs)}")
            call("dist-run", bundle, *self.input_options(inputs), "--output", results)
            self.compare_with_recorded(results, outputs)

    def compare_with_recorded(self, results, outputs):
        expected = sorted(glob.glob(os.path.join(outputs, "*.npy")))
        if not expected:
            raise Failure(f"no recorded outputs in {outputs}")
        for path in expected:
            compare_npy(os.path.join(results, os.path.basename(path)), path, self.facts.tolerance)

    def check_f64(self, name, options, ranks):
        inputs, outputs = [folders for folders in self.input_sets() if not folders[0].endswith("_left_padded")][-1]
        results = self.path(f"{name}.f64")
        text = call("dist-run", self.module, *options, *self.input_options(inputs), *IN_F64, "--output", results)
        verdict = json.loads(text.strip().splitlines()[-1])
        if verdict["ok"] is not True or verdict["ranks"] != ranks or not verdict["outputs"]:
            raise Failure(f"not the verdict of {ranks} ranks that agree: {verdict}")
        self.compare_with_recorded(results, outputs)

    def check_verify(self, options, ranks, optimized):
        for i, (inputs, _) in enumerate(self.input_sets()):
            # Within what rounding changes: in f32 once, and where there is padding in f64.
            text = call("dist-run", self.module, *options, *self.input_options(inputs),
                        *(["--verify=f64"] if i > 0 else ["--verify"]),
                        *([] if optimized and i == 0 else [xunit.OPT_LEVEL]),
                        "--json")
            verdict = json.loads(text.strip().splitlines()[-1])
            if verdict["ok"] is not True or verdict["ranks"] != ranks or not verdict["outputs"]:
                raise Failure(f"not the verdict of {ranks} ranks that agree: {verdict}")
            for output in verdict["outputs"]:
                bound = 1e-10 if i > 0 else self.facts.tolerance
                if not output["max_abs_err"] <= bound:
                    raise Failure(f"{output['name']}: max_abs_err {output['max_abs_err']} > {bound}")
                # One next to 0 may have no certain digit; more than one in a thousand would say nothing.
                if output.get("undetermined", 0) * 1000 > output["compared"]:
                    raise Failure(f"{output['name']}: rounding decides {output['undetermined']} of {output['compared']} elements")

    def check_collectives(self, schedule, mesh):
        spmd = self.path(f"{schedule}.spmd.mlir")
        sized = self.schedule_for(schedule, mesh)
        call("dist-opt", self.module, f"--dist-apply-schedule=file={sized}", "--dist-spmd", "-o", spmd)
        report = json.loads(call("dist-report", spmd, "--json"))
        if report["mesh"]["axes"] != mesh:
            raise Failure(f"the mesh is {report['mesh']}, not {mesh}")
        (function,) = report["functions"]
        collectives = function["collectives"]
        listing = "\n".join(json.dumps(c) for c in collectives)
        if math.prod(mesh.values()) == 1:
            if any(c["bytes_sent_per_rank"] for c in collectives):
                raise Failure(f"one rank sends something:\n{listing}")
            return
        by_layer = {layer: {} for layer in self.facts.layers}
        for collective in collectives:
            if not collective["cause"] or not (collective["scope"] or self.facts.ops_of_its_own):
                raise Failure(f"a collective without cause or scope: {collective}")
            match = self.facts.scope.match(collective["scope"])
            if match:
                entry = by_layer[match[1]].setdefault(collective["op"], [0, 0])
                entry[0] += collective["count"]
                entry[1] += collective["bytes_sent_per_rank"] * collective["count"]
        parameters = self.parameter_bytes()
        for layer, found in by_layer.items():
            expected = self.facts.closed_form(schedule, mesh, layer, parameters)
            if found != expected:
                raise Failure(f"layer {layer} has {found}, expected {expected} (count, bytes per rank):\n{listing}")
        # The totals say the same as the list.
        totals = {}
        for collective in collectives:
            entry = totals.setdefault(
                collective["op"], {"count": 0, "bytes_sent_per_rank": 0, "packed_bytes_per_rank": 0})
            entry["count"] += collective["count"]
            for figure in "bytes_sent_per_rank", "packed_bytes_per_rank":
                entry[figure] += collective[figure] * collective["count"]
        if function["totals"] != totals:
            raise Failure(f"totals {function['totals']} are not the sums of the list, {totals}")

    def check_plan(self, schedule, options):
        """What was decided, written as a plan and applied in place of the schedule, sends the same."""
        plan = self.path("written.json")
        written = subprocess.run([os.path.join(TOOLS, "dist-report"), self.module, *options, "--plan", "-o", plan],
                                 capture_output=True, text=True)
        if written.returncode:
            raise Failure(f"dist-report --plan fails:\n{written.stderr}")
        sent = []
        for how in (options, ["--schedule", plan]):
            report = json.loads(call("dist-report", self.module, *how, "--json"))
            collectives = report["functions"][0]["collectives"]
            sent.append(sorted((c["op"], c["axes"], c["reduce"], c["count"], c["bytes_sent_per_rank"])
                               for c in collectives))
        if sent[0] != sent[1]:
            raise Failure(f"the schedule sends\n{sent[0]}\nits plan\n{sent[1]}")

    def check_fused(self, options, ranks):
        """With collectives on the leading dimension all is as before, but for what is copied around collectives."""
        inputs, _ = next(self.input_sets())
        text = call("dist-run", self.module, *options, *self.input_options(inputs), "--fuse-transposes", "--verify=f64",
                    xunit.OPT_LEVEL, "--json")
        verdict = json.loads(text.strip().splitlines()[-1])
        if verdict["ok"] is not True or verdict["ranks"] != ranks or not verdict["outputs"]:
            raise Failure(f"not the verdict of {ranks} ranks that agree: {verdict}")
        plain, fused = (
            json.loads(call("dist-report", self.module, *options, "--json", *flag))["functions"][0]
            for flag in ([], ["--fuse-transposes"]))
        sent = [{op: total["bytes_sent_per_rank"] for op, total in f["totals"].items()} for f in (plain, fused)]
        if sent[0] != sent[1]:
            raise Failure(f"sends {sent[1]}, not {sent[0]}")
        if fused["packed_bytes_per_rank"] > plain["packed_bytes_per_rank"]:
            raise Failure(f"copies {fused['packed_bytes_per_rank']} bytes, more than {plain['packed_bytes_per_rank']}")
        # Of transposing before a collective and after it, each layer does one at most.
        for collective in fused["collectives"]:
            whole = 4 * math.prod(collective["shape"]) * (ranks if collective["op"] == "all_gather" else 1)
            if self.facts.scope.match(collective["scope"]) and collective["packed_bytes_per_rank"] > whole:
                raise Failure(f"copies more than once: {collective}")

    def parameter_bytes(self):
        """{name: bytes} of the program's f32 parameters, as the import wrote them."""
        with open(self.module, encoding="utf-8") as file:
            found = re.findall(r'tensor<([0-9x]*)xf32> \{dist\.parameter = "([^"]+)"', file.read())
        return {name: 4 * math.prod(map(int, shape.split("x"))) for shape, name in found}

    def mesh_of(self, schedule, sizes):
        """{axis: size} of the mesh that a schedule declares, with these sizes (one number for a mesh of one axis)."""
        with open(os.path.join(self.folder, f"{schedule}.mlir"), encoding="utf-8") as file:
            (axes,) = re.findall(r"dist\.mesh @\w+ \[(.*)\]", file.read())
        sizes = sizes if isinstance(sizes, tuple) else (sizes,)
        return dict(zip(re.findall(r'"(\w+)" = \d+', axes), sizes, strict=True))

    def schedule_for(self, schedule, mesh):
        """The schedule with its mesh resized: dist-opt takes a schedule as it is."""
        axes = ", ".join(f'"{axis}" = {size}' for axis, size in mesh.items())
        with open(os.path.join(self.folder, f"{schedule}.mlir"), encoding="utf-8") as file:
            text = re.sub(r"(dist\.mesh @\w+ )\[.*\]", rf"\g<1>[{axes}]", file.read())
        # What it includes lies where it lies itself.
        text = text.replace('dist.include "', f'dist.include "{self.folder}/')
        path = self.path(f"{schedule}.sized.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    model, exporter, wanted = (sys.argv[1:] + [""])[:3]
    results = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
        for name, check in ModelTest(model, exporter, scratch).cases():
            if results and not re.search(wanted, name):
                continue
            start, problem = time.monotonic(), None
            if results and results[0][2] is not None:
                problem = "not run: the import failed"
            else:
                try:
                    check()
                except Failure as failure:
                    problem = str(failure)
                except Exception as error:  # a report that lacks a key, say
                    problem = f"{type(error).__name__}: {error}"
            results.append((name, time.monotonic() - start, problem))
            print("ok" if problem is None else "FAILED", name, problem or "", flush=True)
    return xunit.finish(f"e2e.{model}.{exporter}", results)


if __name__ == "__main__":
    sys.exit(main())
