#!/usr/bin/python3
"""Training of GPT-2, and of LLaMA, in examples/ with dist-run --train.

    train.py [REGEX]     only cases whose name matches

- `torch_N_one`, `torch_N_SCHEDULE_RANKS`: losses of some steps and the parameters after them are those that
  record_training.py recorded with PyTorch's optimizers in f64, some over several microbatches; labels that do not count
  are shared unevenly by the ranks and the microbatches; where gradients are clipped by their norm, also under schedules
  by which some are whole on each rank and others in parts; and in stages of a pipeline;
- `ranks_SCHEDULE_RANKS`: 100 steps on a small text give the losses of one rank, in f64;
- `zero`, `bytes`: the same with states in parts; what FSDP and they send is the closed form, however many microbatches
  there are;
- `accumulate_N`: microbatches on N ranks make the steps that the whole batch makes on one, in f64;
- `in_place_NAME`: a step puts parameters and states over the old ones, and makes, bit for bit, what it makes in memory of
  its own; it leaves the file that they come from as it was, and needs no more scratch;
- `masters`: parameters of bf16 follow masters of f32, which are Adam's;
- `resume`: a run that goes on from a checkpoint has the losses of one that was never interrupted, bit for bit on the
  same mesh, and what another mesh reads from it is bit for bit what was written;
- `killed`: a run that is killed leaves whole checkpoints;
- `predicted`: the estimate of a step is of the link that is given;
- `errors`: what cannot be meant is refused.

Programs come from tools/ and models from examples/, below the current folder.
"""

import array
import functools
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy  # noqa: E402
import xunit  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.abspath(os.environ.get("DIST_TOOLS", "tools"))
GPT2 = os.path.abspath("examples/gpt2")
LAYERS = {"gpt2": "transformer.h.*", "llama": "model.layers.*"}
LENGTH, BATCH = 16, 2

# Name of the schedule, axis, ranks.
MESHES = [("tp", "tp", 2), ("tp", "tp", 4), ("fsdp", "dp", 2), ("sp", "tp", 4), ("ring", "cp", 4)]


def run(program, *arguments, fails=False):
    done = subprocess.run(
        [os.path.join(TOOLS, program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout + done.stderr


def write_safetensors(path, dtype, kind, shapes, numbers):
    header, data = {}, b""
    for name, shape in shapes.items():
        start = len(data)
        data += array.array(kind, numbers[name]).tobytes()
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read_checkpoint(folder):
    """The bytes of each tensor, as the index says where they are."""
    with open(os.path.join(folder, "model.safetensors.index.json")) as file:
        index = json.load(file)
    tensors, total = {}, 0
    for shard in sorted(set(index["weight_map"].values())):
        with open(os.path.join(folder, shard), "rb") as file:
            data = file.read()
        (length,) = struct.unpack_from("<Q", data)
        for name, entry in json.loads(data[8 : 8 + length]).items():
            if name == "__metadata__":
                continue
            assert index["weight_map"][name] == shard, name
            begin, end = entry["data_offsets"]
            assert 8 + length + end <= len(data), f"{shard} is cut short"
            tensors[name] = entry["dtype"], entry["shape"], data[8 + length + begin : 8 + length + end]
            total += end - begin
    assert total == index["metadata"]["total_size"]
    assert set(tensors) == set(index["weight_map"])
    return tensors


def read_curve(path):
    with open(path) as file:
        lines = file.read().split()
    assert lines[0] == "step,loss"
    points = [line.split(",") for line in lines[1:]]
    first = int(points[0][0])
    assert [int(step) for step, _ in points] == list(range(first, first + len(points)))
    return [float(loss) for _, loss in points]


def digest(entry):
    flat = array.array("d", entry[2])
    return [
        math.fsum(value * math.cos(0.11 * i + 0.5) for i, value in enumerate(flat)),
        math.sqrt(math.fsum(value * value for value in flat)),
    ]


def make_mlp(batch, ranks, stored):
    """Two layers; over several ranks rows are sharded, parameters stored in parts too if asked."""
    mesh = f'dist.mesh @m ["dp" = {ranks}]' if ranks > 1 else ""

    def attributes(kind, name, *dims):
        sharding = f", dist.sharding = #dist.sharding<@m, [{', '.join(dims)}]>" if ranks > 1 and dims else ""
        return f'{{dist.{kind} = "{name}"{sharding}}}'

    part = ['{"dp"}', "{}"] if stored else []
    return f"""
#rows = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>
module attributes {{dist.weights = "mlp.safetensors"}} {{
{mesh}
func.func @main(%x: tensor<{batch}x6xf64> {attributes("input", "x", '{"dp"}', "{}")},
                %w1: tensor<6x8xf64> {attributes("parameter", "w1", *part)},
                %b1: tensor<8xf64> {attributes("parameter", "b1")},
                %w2: tensor<8x5xf64> {attributes("parameter", "w2", *part)})
    -> (tensor<{batch}x5xf64> {{dist.output = "y"}}) {{
  %0 = arith.constant dense<0.0> : tensor<{batch}x8xf64>
  %1 = linalg.matmul ins(%x, %w1 : tensor<{batch}x6xf64>, tensor<6x8xf64>) outs(%0 : tensor<{batch}x8xf64>)
      -> tensor<{batch}x8xf64>
  %2 = tensor.empty() : tensor<{batch}x8xf64>
  %3 = linalg.generic {{indexing_maps = [#rows, #columns, #rows], iterator_types = ["parallel", "parallel"]}}
      ins(%1, %b1 : tensor<{batch}x8xf64>, tensor<8xf64>) outs(%2 : tensor<{batch}x8xf64>) {{
  ^bb0(%a: f64, %b: f64, %c: f64):
    %s = arith.addf %a, %b : f64
    %t = math.tanh %s : f64
    linalg.yield %t : f64
  }} -> tensor<{batch}x8xf64>
  %4 = arith.constant dense<0.0> : tensor<{batch}x5xf64>
  %5 = linalg.matmul ins(%3, %w2 : tensor<{batch}x8xf64>, tensor<8x5xf64>) outs(%4 : tensor<{batch}x5xf64>)
      -> tensor<{batch}x5xf64>
  return %5 : tensor<{batch}x5xf64>
}}
}}
"""


def make_sum(batch, ranks):
    """The sum of x * w over rows and columns, in bf16."""
    mesh = f'dist.mesh @m ["dp" = {ranks}]' if ranks > 1 else ""
    sharding = ', dist.sharding = #dist.sharding<@m, [{"dp"}, {}]>' if ranks > 1 else ""
    return f"""
module attributes {{dist.weights = "sum.safetensors"}} {{
{mesh}
func.func @main(%x: tensor<{batch}x8xbf16> {{dist.input = "x"{sharding}}},
                %w: tensor<8xbf16> {{dist.parameter = "w"}}) -> (tensor<bf16> {{dist.output = "loss"}}) {{
  %0 = arith.constant dense<0.0> : tensor<bf16>
  %1 = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]}}
      ins(%x, %w : tensor<{batch}x8xbf16>, tensor<8xbf16>) outs(%0 : tensor<bf16>) {{
  ^bb0(%a: bf16, %b: bf16, %c: bf16):
    %p = arith.mulf %a, %b : bf16
    %s = arith.addf %c, %p : bf16
    linalg.yield %s : bf16
  }} -> tensor<bf16>
  return %1 : tensor<bf16>
}}
}}
"""


class Subject:
    def __init__(self, work):
        self.work = work
        self.number = 0
        with open(os.path.join(HERE, "Inputs", "sonnets.txt"), "rb") as file:
            self.text = file.read()
        with open(os.path.join(HERE, "Inputs", "training.json")) as file:
            self.recorded = json.load(file)
        for model, path in ("gpt2", GPT2), ("llama", os.path.join(GPT2, "..", "llama")):
            name = "f32.mlir" if model == "gpt2" else f"{model}_f32.mlir"
            run("dist-import", os.path.join(path, f"{model}.dynamo.onnx"), "-o", self.path(name))
            run("dist-opt", self.path(name), "--dist-convert-to-f64", "-o", self.path(name.replace("f32", "f64")))
        npy.write(self.path("text.npy"), "u8", [len(self.text)], self.text)
        self.one = None
        with open(self.schedule("fsdp", "dp", 2)) as file:
            lines = [line for line in file if "dist.shard parameter" not in line]
        with open(self.path("ddp_2.mlir"), "w") as file:
            file.writelines(lines)

    def path(self, name):
        return os.path.join(self.work, name)

    def folder(self):
        self.number += 1
        return self.path(f"run{self.number}")

    def schedule(self, name, axis, ranks):
        with open(os.path.join(GPT2, name + ".mlir")) as file:
            text = re.sub(rf'(dist\.mesh [^\n]*"{axis}" = )\d+', rf"\g<1>{ranks}", file.read())
        made = self.path(f"{name}_{ranks}.mlir")
        with open(made, "w") as file:
            file.write(text)
        return made

    def train(self, steps, *options, model="f64.mlir", data=None, optimizer="adamw,lr=1e-3"):
        """The losses, and where checkpoints are."""
        folder = self.folder()
        data = data or [f"--data={self.path('text.npy')}"]
        run(
            "dist-run", "--train", self.path(model), f"--steps={steps}", *data, "--input=attention_mask=1",
            f"--optimizer={optimizer}", f"--save={folder}", f"--curve={folder}.csv", *options,
        )  # fmt: skip
        return read_curve(folder + ".csv"), folder

    @staticmethod
    def words(case):
        """The model, the number of microbatches and the optimizer of what was recorded."""
        *rest, optimizer = case.split(" ")
        microbatches = rest.pop() if rest else ""
        return rest[0] if rest else "gpt2", microbatches, optimizer

    def pipeline(self, model, table):
        path = self.path(f"{model}_{table}.mlir")
        with open(path, "w") as file:
            file.write(f'dist.mesh @m ["pp" = 2]\ndist.schedule @s on @m {{\n  dist.pipeline "{table}" over "pp"\n  dist.stages "{LAYERS[model]}"\n}}\n')
        return path

    def check_torch(self, case, expected, options):
        steps = len(expected["losses"])
        model, microbatches, optimizer = self.words(case)
        batch = BATCH * int(microbatches or 1)
        rows = [self.text[i * LENGTH : (i + 1) * LENGTH + 1] for i in range(batch * steps)]
        labels = [list(row[1:]) for row in rows]
        for step in range(steps):
            labels[batch * step + 1][8 + step :] = [-100] * (8 - step)
            for row in range(batch * step + BATCH, min(batch * step + 2 * BATCH, batch * step + batch)):
                labels[row] = [-100] * LENGTH
        tokens = [token for row in rows for token in row[:-1]]
        npy.write(self.path("tokens.npy"), "i64", [len(rows), LENGTH], tokens)
        npy.write(self.path("labels.npy"), "i64", [len(rows), LENGTH], [label for row in labels for label in row])
        data = [f"--data=input_ids={self.path('tokens.npy')}", f"--data=labels={self.path('labels.npy')}"]
        options = [*options, f"--accumulate={microbatches}"] if microbatches else options
        model = "f64.mlir" if model == "gpt2" else f"{model}_f64.mlir"
        losses, folder = self.train(steps, "--in-order", *options, model=model, data=data, optimizer=optimizer)
        for got, wanted in zip(losses, expected["losses"], strict=True):
            assert abs(got - wanted) <= 1e-6, f"losses are {losses} where PyTorch has {expected['losses']}"
        tensors = read_checkpoint(f"{folder}/step-{steps}")
        assert set(tensors) == set(expected["parameters"])
        for name, wanted in expected["parameters"].items():
            got = digest(tensors[name])
            # The exported file has constants in f32.
            allowed = 2e-6 * max(1, wanted[1])
            assert all(abs(a - b) <= allowed for a, b in zip(got, wanted)), f"{name}: {got} where PyTorch has {wanted}"

    def check_ranks(self, name, axis, ranks):
        if self.one is None:
            self.one, _ = self.train(100)
            assert self.one[-1] < 0.6 * self.one[0], f"nothing was learnt: {self.one}"
        losses, _ = self.train(100, f"--schedule={self.schedule(name, axis, ranks)}")
        far = max(abs(a - b) for a, b in zip(self.one, losses, strict=True))
        assert far <= 1e-9, f"losses are up to {far} from those of one rank"

    def check_bytes(self):
        """What a step sends on two ranks that share the batch: with W bytes of parameters, 2(p-1)/p W of ZeRO 1 to 3."""
        for name, optimizer in [("fsdp", "adamw"), ("fsdp", "sgd"), ("ddp", "adamw,zero=dp")]:
            run(
                "dist-opt", self.path("f32.mlir"), f"--dist-apply-schedule=file={self.path(name + '_2.mlir')}",
                f"--dist-train-step=optimizer={optimizer}", "--dist-spmd", "-o", self.path("placed.mlir"),
            )  # fmt: skip
            report = json.loads(run("dist-report", "--json", self.path("placed.mlir")).splitlines()[-1])
            sent = {op: total["bytes_sent_per_rank"] for op, total in report["functions"][0]["totals"].items()}
            half = self.parameter_bytes() // 2
            # Of the gradient of the positions' table only the rows that are looked up move.
            positions = self.parameter_bytes("[^\"]*wpe.weight") // 2
            assert positions > 0
            for op, due in ("all_gather", half), ("reduce_scatter", half - positions):
                assert sent[op] == due, f"{name}: {sent} of {2 * half} bytes of parameters"
            half -= positions // 2
            # The count of labels, the loss; and those rows.
            rest = sum(sent.values()) - 2 * half
            assert rest <= 4 * LENGTH * 64 + 64, f"{name}: {sent}"

        positions_bytes = self.parameter_bytes("[^\"]*wpe.weight")
        for count in 1, 2, 5:
            run(
                "dist-opt", self.path("f32.mlir"), f"--dist-apply-schedule=file={self.path('ddp_2.mlir')}",
                f"--dist-train-step=optimizer=adamw accumulate={count}", "--dist-spmd", "-o", self.path("placed.mlir"),
            )  # fmt: skip
            report = json.loads(run("dist-report", "--json", self.path("placed.mlir")).splitlines()[-1])
            sent = {op: total["bytes_sent_per_rank"] for op, total in report["functions"][0]["totals"].items()}
            # Of the positions' table one microbatch sends the rows that are looked up; the sum of several is all of it.
            due = self.parameter_bytes() - (positions_bytes - 4 * LENGTH * 64 if count == 1 else 0)
            assert set(sent) == {"all_reduce"}, sent
            assert due <= sent["all_reduce"] <= due + 64, f"{count} microbatches: {sent}, and {due} are due"

    def parameter_bytes(self, name='[^"]*'):
        with open(self.path("f32.mlir")) as file:
            types = re.findall(rf'tensor<([x\d]+)xf32> \{{dist\.parameter = "{name}"', file.read())
        return sum(4 * math.prod(int(size) for size in sizes.split("x")) for sizes in types)

    def check_zero(self):
        """States in parts, of parameters that are whole, lose as one rank does."""
        if self.one is None:
            self.one, _ = self.train(100)
        for schedule, axis in [(self.path("ddp_2.mlir"), "dp"), (self.schedule("tp", "tp", 2), "tp")]:
            optimizer = f"adamw,lr=1e-3,zero={axis}"
            losses, _ = self.train(20, f"--schedule={schedule}", optimizer=optimizer)
            far = max(abs(a - b) for a, b in zip(self.one, losses))
            assert far <= 1e-9, f"{schedule}: losses are up to {far} from those of one rank"

    def check_accumulate(self, ranks, stored, recompute="cheap"):
        """Three microbatches of four rows, of which the second has no label that counts, and the third few."""
        microbatches, rows, steps = 3, 4, 8
        numbers = [math.sin(0.37 * i) * 1.5 for i in range(steps * microbatches * rows * 6)]
        labels = [i * i % 5 for i in range(steps * microbatches * rows)]
        for step in range(steps):
            first = step * microbatches * rows
            labels[first + rows : first + 2 * rows] = [-100] * rows
            labels[first + 2 * rows : first + 3 * rows - 1] = [-100] * (rows - 1)
        npy.write(self.path("x.npy"), "f64", [len(labels), 6], numbers)
        npy.write(self.path("classes.npy"), "i64", [len(labels)], labels)
        data = [f"--data=x={self.path('x.npy')}", f"--data=labels={self.path('classes.npy')}"]
        shapes = {"w1": [6, 8], "b1": [8], "w2": [8, 5]}
        weights = {name: [math.cos(i + len(name)) for i in range(math.prod(shape))] for name, shape in shapes.items()}
        write_safetensors(self.path("mlp.safetensors"), "F64", "d", shapes, weights)
        curves, ends = [], []
        for batch, given, count in [(rows * microbatches, 1, 1), (rows, ranks, microbatches)]:
            with open(self.path("mlp.mlir"), "w") as file:
                file.write(make_mlp(batch, given, stored and given > 1))
            folder = self.folder()
            run(
                "dist-run", "--train", self.path("mlp.mlir"), f"--steps={steps}", "--in-order", *data,
                "--optimizer=adamw,lr=0.05,clip=0.2", f"--accumulate={count}", f"--save={folder}",
                f"--curve={folder}.csv", f"--recompute={recompute}",
            )  # fmt: skip
            curves.append(read_curve(folder + ".csv"))
            end = read_checkpoint(f"{folder}/step-{steps}")
            ends.append([value for name in sorted(end) for value in array.array("d", end[name][2])])
        assert curves[0][-1] < curves[0][0], curves[0]
        for one, other in zip(curves, ends):
            assert len(one) > 0 and len(other) > 0
        for one, other in [curves, ends]:
            far = max(abs(a - b) for a, b in zip(one, other, strict=True))
            assert far <= 1e-9, f"{far} from the whole batch"

    def compile_step(self, text, name):
        """The step as a bundle, and its manifest."""
        with open(self.path("step.mlir"), "w") as file:
            file.write(text)
        bundle = self.path(name)
        run("dist-compile", self.path("step.mlir"), "-o", bundle)
        with open(os.path.join(bundle, "manifest.json")) as file:
            return bundle, json.load(file)

    def check_in_place(self, schedule, step):
        passes = [f"--dist-apply-schedule=file={schedule}"] if schedule else []
        run(
            "dist-opt", self.path("f32.mlir"), *passes, f"--dist-train-step={step}", "--dist-spmd",
            "-o", self.path("placed.mlir"),
        )  # fmt: skip
        with open(self.path("placed.mlir")) as file:
            text = file.read()
        in_place, manifest = self.compile_step(text, "in_place.dist")
        # Arguments stay such as change: weights that do not are packed, and oneDNN adds up products of packed ones in
        # another order where there is no AVX-512.
        apart, without = self.compile_step(re.sub(r", dist\.updates = \d+ : i64", "", text), "apart.dist")
        arguments, results = manifest["arguments"], manifest["results"]
        for result in results:
            updated = arguments[result["updates"]]["name"] if "updates" in result else "loss"
            assert updated == result["name"], result
        assert not any("updates" in result for result in without["results"])
        assert manifest["arena_bytes"] <= without["arena_bytes"], (manifest["arena_bytes"], without["arena_bytes"])
        parameters = [one for one in arguments if one["kind"] == "parameter"]
        assert len(results) == len(parameters) + 1
        shapes = {one["name"]: one["global_shape"] for one in parameters}
        numbers = {
            name: [0.01 * abs(math.sin(0.7 * i + len(name))) for i in range(math.prod(shape))]
            for name, shape in shapes.items()
        }
        weights = self.path("weights.safetensors")
        write_safetensors(weights, "F32", "f", shapes, numbers)
        with open(weights, "rb") as file:
            before = file.read()
        made = []
        for bundle in in_place, apart, in_place:
            folder = self.folder()
            run(
                "dist-exec", bundle, "--weights", weights, "--repeat", 2, "--output", folder, "--input", "step=3",
                "--input", "attention_mask=1", "--input", "input_ids=random(0,255):1", "--input",
                "labels=random(0,255):2",
            )  # fmt: skip
            outputs = {}
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), "rb") as file:
                    outputs[name] = file.read()
            assert len(outputs) == len(results)
            made.append(outputs)
        differing = [name for name in made[1] if not made[0][name] == made[1][name] == made[2][name]]
        assert not differing, differing
        with open(weights, "rb") as file:
            assert file.read() == before, "the file of the weights was written to"

    def check_masters(self):
        """Adam on the weight of a sum, whose gradient is known: masters by PyTorch's formulas, parameters rounded."""
        rate, beta1, beta2, epsilon, steps = 1e-3, 0.9, 0.999, 1e-8, 20
        slopes = [[1 + i + 2 * j for j in range(8)] for i in range(4)]
        npy.write(self.path("x.npy"), "u8", [4, 8], [value for row in slopes for value in row])
        gradients = [float(sum(row[j] for row in slopes)) for j in range(8)]
        wanted = []
        for gradient in gradients:
            weight, mean, square = 1.0, 0.0, 0.0
            for step in range(1, steps + 1):
                mean = beta1 * mean + (1 - beta1) * gradient
                square = beta2 * square + (1 - beta2) * gradient**2
                step_size = rate / (1 - beta1**step)
                weight -= step_size * mean / (math.sqrt(square) / math.sqrt(1 - beta2**step) + epsilon)
            wanted.append(weight)
        made = []
        write_safetensors(self.path("sum.safetensors"), "BF16", "H", {"w": [8]}, {"w": [0x3F80] * 8})
        for masters, ranks, count in [("", 1, 1), (",masters", 1, 1), (",masters", 2, 1), (",masters,zero=dp", 2, 2)]:
            with open(self.path("sum.mlir"), "w") as file:
                file.write(make_sum(4 // count, ranks))
            folder = self.folder()
            run(
                "dist-run", "--train", self.path("sum.mlir"), f"--steps={steps}", "--loss=result",
                f"--data=x={self.path('x.npy')}", f"--optimizer=adam,lr={rate}{masters}", f"--accumulate={count}",
                f"--save={folder}",
            )  # fmt: skip
            dtype, _, data = read_checkpoint(f"{folder}/step-{steps}")["w"]
            assert dtype == "BF16", dtype
            state = read_checkpoint(f"{folder}/step-{steps}/optimizer")
            weight = list(array.array("H", data))
            if not masters:
                # Each step is less than what bf16 tells apart.
                assert set(weight) == {0x3F80}, weight
                assert set(state) == {"w.exp_avg", "w.exp_avg_sq"}, state
                continue
            dtype, _, data = state["w.master"]
            assert dtype == "F32", dtype
            far = max(abs(a - b) for a, b in zip(array.array("f", data), wanted, strict=True))
            assert far <= 1e-6, f"masters are {far} from Adam's"
            # Rounded to the nearest, ties to even.
            words = array.array("I", data)
            rounded = [(word + 0x7FFF + (word >> 16 & 1)) >> 16 for word in words]
            assert weight == rounded, (weight, rounded)
            made.append(data)
        # A sum of microbatches is half of each one's mean, and Adam's step the same.
        assert made[0] == made[1], "ranks differ"

    def check_resume(self):
        straight, folder = self.train(12, "--save-every=6", model="f32.mlir")
        half = f"{folder}/step-6"
        again, other = self.train(12, f"--resume={half}", model="f32.mlir")
        # The curve of the second run is of its own steps.
        assert again == straight[6:], (again, straight)
        assert read_checkpoint(f"{folder}/step-12") == read_checkpoint(f"{other}/step-12")
        assert read_checkpoint(f"{folder}/step-12/optimizer") == read_checkpoint(f"{other}/step-12/optimizer")
        for name, axis, ranks in MESHES:
            # A step of no length, so that what was read is written again; small files, so that there are several.
            schedule = f"--schedule={self.schedule(name, axis, ranks)}"
            still, other = self.train(
                7, f"--resume={half}", schedule, "--save-shard=1", model="f32.mlir", optimizer="adamw,lr=0"
            )
            assert read_checkpoint(f"{other}/step-7") == read_checkpoint(half), f"{name} on {ranks}"
            on, _ = self.train(12, f"--resume={half}", schedule, model="f32.mlir")
            far = max(abs(a - b) for a, b in zip(on, straight[6:], strict=True))
            assert far <= 1e-4, f"{name} on {ranks}: {far}"

    def check_killed(self):
        folder = self.folder()
        command = [
            os.path.join(TOOLS, "dist-run"), "--train", self.path("f32.mlir"), "--steps=100000", "--save-every=1",
            f"--data={self.path('text.npy')}", "--input=attention_mask=1", f"--save={folder}",
        ]  # fmt: skip
        for attempt in range(3):
            resume = [f"--resume={folder}"] if attempt else []
            process = subprocess.Popen(command + resume, stdout=subprocess.PIPE, text=True)
            for line in process.stdout:
                if line.startswith("saved"):
                    break
            time.sleep(0.13 * (attempt + 1))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            steps = [name for name in os.listdir(folder) if re.fullmatch(r"step-\d+", name)]
            assert steps, "nothing was saved"
            for name in steps:
                assert read_checkpoint(os.path.join(folder, name)), name
                assert read_checkpoint(os.path.join(folder, name, "optimizer")), name

    def check_ends(self):
        """A loss that is no number ends a run with its curve and no checkpoint; what was left of a killed one goes."""
        folder = self.folder()
        process = subprocess.Popen(["true"])
        process.wait()
        machine = os.uname().nodename
        left = os.path.join(folder, f"step-3.tmp-{process.pid}-00-{machine}")
        alive = os.path.join(folder, f"step-3.tmp-{os.getpid()}-00-{machine}")
        elsewhere = os.path.join(folder, f"step-3.tmp-{process.pid}-00-{machine}x")
        for name in left, alive, elsewhere:
            os.makedirs(name)
        said = run(
            "dist-run", "--train", self.path("f32.mlir"), "--steps=50", "--save-every=25", f"--save={folder}",
            f"--data={self.path('text.npy')}", "--input=attention_mask=1", f"--curve={folder}/loss.csv",
            "--optimizer=sgd,lr=1e300", fails=True,
        )  # fmt: skip
        assert "the loss is no number" in said, said
        kept = {"loss.csv", "loss.svg", os.path.basename(alive), os.path.basename(elsewhere)}
        assert set(os.listdir(folder)) == kept, os.listdir(folder)
        with open(f"{folder}/loss.csv") as file:
            rows = file.read().split("\n")
        assert rows[0] == "step,loss" and "nan" in rows[-2] and "nan" not in rows[1], rows

    def check_predicted(self):
        """The estimate of a step, for --overlap too, is of the link that is given."""
        estimated = []
        for link in [], ["--link=latency=5ms"]:
            said = run(
                "dist-run", "--train", self.path("f32.mlir"), "--steps=1", f"--data={self.path('text.npy')}",
                "--input=attention_mask=1", f"--schedule={self.schedule('tp', 'tp', 2)}", "--machine=cpu",
                "--overlap=auto", "-v", *link,
            )  # fmt: skip
            given = re.search(r"remark: [^:]*: (\S+) ms .* as given", said)
            step = re.search(r"predicted for cpu: (\S+) ms a step", said)
            assert given and step, said
            estimated.append((float(given[1]), float(step[1])))
        short, long = estimated
        assert max(short) < 5 < min(long), estimated

    def check_errors(self):
        data = f"--data={self.path('text.npy')}"
        mask = "--input=attention_mask=1"
        f32 = self.path("f32.mlir")
        tokens, labels = self.path("first.npy"), self.path("wrong.npy")
        npy.write(tokens, "i64", [BATCH, LENGTH], list(self.text[: BATCH * LENGTH]))
        npy.write(labels, "i64", [BATCH, LENGTH], [-100] + [10**6] * (BATCH * LENGTH - 1))
        rows = [f"--data=input_ids={tokens}", f"--data=labels={labels}"]
        made = self.path("made.mlir")
        tp = f"--schedule={self.schedule('tp', 'tp', 2)}"
        run(
            "dist-opt", f32, f"--dist-apply-schedule=file={self.schedule('fsdp', 'dp', 2)}",
            "--dist-train-step=optimizer=sgd", "--dist-spmd", "-o", made,
        )  # fmt: skip
        for options, message in [
            (["--train", f32, data, mask], "--steps N says"),
            (["--train", f32, "--steps=1", mask], "--data says what"),
            (["--train", f32, "--steps=1", data], "attention_mask"),
            (["--train", f32, "--steps=1", data, mask, "--optimizer=lion"], "error: --optimizer lion: 'lion' is no optimizer"),
            (["--train", f32, "--steps=1", data, mask, "--optimizer=adam,momentum=1"], "is no setting of it"),
            (["--train", f32, "--steps=1", data, mask, "--resume=/nowhere"], "no checkpoint"),
            (["--train", f32, "--steps=1", data, mask, "--verify"], "--verify: does not go with --train"),
            (["--train", f32, "--steps=1", data, mask, "--target=step"], "has an argument 'step' already"),
            (["--train", f32, "--steps=1", data, mask, f"--input=labels={labels}"], "'labels' is given already"),
            (["--train", f32, "--steps=1", data, mask, "--accumulate=0"], "takes one batch at least"),
            (["--train", f32, "--steps=1", data, mask, "--optimizer=adam,masters"], "masters are of parameters of 16 bits"),
            (["--train", f32, "--steps=1", data, mask, "--input=step=3"], "--train counts the steps itself"),
            (["--train", f32, "--steps=1", mask, *rows], f"{labels}: row 0: 1000000 is no class of 'labels'"),
            (["--train", f32, "--steps=1", mask, rows[0], f"--input=labels={labels}"], "a label is no class"),
            (["--train", f32, "--steps=1", mask, rows[0]], "inputs not given (--data NAME=FILE.npy: rows"),
            (["--train", f32, "--steps=1", data, mask, "--turns=2"], "there is no schedule or plan, so that the program runs on one device"),
            (["--train", f32, "--steps=1", data, mask, "--turns=7", "--accumulate=2", tp], "cannot be cut into 7 parts"),
            (["--train", f32, "--steps=1", data, mask, "--loss-of=x"], "of=x (dist-run: --loss-of) is no result"),
            (["--train", f32, "--steps=1", data, mask, "--train-parameters=transformer.*"], "(dist-run: --train-parameters)"),
            (["--train", f32, "--steps=1", mask, *rows, f"--data=labels={tokens}"], "'labels' is given already"),
            (["--train", f32, "--steps=1", data, mask, "--resume=/x", "--weights=/y"], "--resume reads the parameters"),
            (["--train", made, "--steps=1", data, mask, "--optimizer=adam"], "--optimizer: " + made + " is the program of one"),
            ([f32, "--steps=1"], "nothing is trained without --train"),
        ]:
            said = run("dist-run", *options, fails=True)
            assert message in said, f"{options}: {said}"


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as work:
        subject = Subject(work)
        cases = {}
        for number, (optimizer, expected) in enumerate(subject.recorded.items()):
            cases[f"torch_{number}_one"] = functools.partial(subject.check_torch, optimizer, expected, [])
            model, microbatches, _ = subject.words(optimizer)
            if microbatches:
                for table in "1f1b", "zb_h1":
                    options = [f"--schedule={subject.pipeline(model, table)}"]
                    cases[f"torch_{number}_{table}"] = functools.partial(subject.check_torch, optimizer, expected, options)
            if model != "gpt2":
                continue
            meshes = [("fsdp", "dp", 2)]
            if "clip" in optimizer:
                # Norms and row biases are whole on each rank, and under sp their gradients sums over all.
                meshes += [("tp", "tp", 2), ("sp", "tp", 4), ("tp_full", "tp", 2)]
            for name, axis, ranks in meshes:
                options = [f"--schedule={subject.schedule(name, axis, ranks)}"]
                cases[f"torch_{number}_{name}_{ranks}"] = functools.partial(subject.check_torch, optimizer, expected, options)
        for mesh in MESHES:
            cases[f"ranks_{mesh[0]}_{mesh[2]}"] = functools.partial(subject.check_ranks, *mesh)
        cases["zero"] = subject.check_zero
        for ranks, stored in [(1, False), (2, False), (2, True), (3, False)]:
            name = f"accumulate_{ranks}" + ("_stored" if stored else "")
            cases[name] = functools.partial(subject.check_accumulate, ranks, stored)
        cases["accumulate_2_gathers"] = functools.partial(subject.check_accumulate, 2, True, "gathers")
        for name, schedule, step in [
            ("one", "", "optimizer=adamw,clip=1"),
            ("accumulate", "", "optimizer=adamw accumulate=2"),
            ("ddp_2", subject.path("ddp_2.mlir"), "optimizer=sgd,momentum=0.9,nesterov"),
            ("zero_2", subject.path("ddp_2.mlir"), "optimizer=adamw,zero=dp"),
            ("fsdp_4", subject.schedule("fsdp", "dp", 4), "optimizer=adamw,clip=1"),
            ("tp_4", subject.schedule("tp", "tp", 4), "optimizer=adamw"),
            ("tp_zero_2", subject.schedule("tp", "tp", 2), "optimizer=adamw,zero=tp,clip=1"),
        ]:
            cases[f"in_place_{name}"] = functools.partial(subject.check_in_place, schedule, step)
        cases["masters"] = subject.check_masters
        cases["bytes"] = subject.check_bytes
        cases["resume"] = subject.check_resume
        cases["killed"] = subject.check_killed
        cases["ends"] = subject.check_ends
        cases["predicted"] = subject.check_predicted
        cases["errors"] = subject.check_errors
        return xunit.run("e2e.train", cases, wanted)


if __name__ == "__main__":
    sys.exit(main())
