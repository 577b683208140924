#!/usr/bin/python3
"""Steps of training by pipelines, beside one device.

pipeline.py [REGEX]: only cases whose name matches.

- `equal_MODEL_TABLE_MICROBATCHES_MESH`: three steps of AdamW with a clipped norm, in f64, give the losses, parameters and
  states of one device;
- `sharded_NAME`: so do pipelines over a mesh with other axes, under FSDP, ZeRO, sequence parallelism and checkpoints;
- `bits`: tables of one cut have the same bits, whatever the order and the link, and go on from a checkpoint with them;
- `random_tables_MODEL`: so has any legal table, wherever the stages are;
- `table`: a table that dist-report has written, and one that is changed, gives the same bits; faults are told at their place;
- `forward_MODEL`: a forward pass in stages agrees with one device, also of a batch in microbatches;
- `frozen`: weights that are not trained stay as they are;
- `plan`: so does the plan that dist-report writes;
- `faults`: a bundle whose table is edited or cut short is refused;
- `trace`: a trace and a simulation have each task once and in its row, and what is sent is what dist-report says;
- `bytes_MODEL`: what crosses each border, and what stages hold, is the closed form.

Programs come from tools/ and models from examples/, below the current folder.
"""

import array
import json
import math
import os
import random
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy  # noqa: E402
import stack  # noqa: E402
import xunit  # noqa: E402
from processes import examples, import_model, run  # noqa: E402
from train import read_checkpoint, read_curve, write_safetensors  # noqa: E402

# By model: its modules, what it is trained on, and further lines of a schedule for an axis "tp".
MODELS = {
    "gpt2": ("transformer.h.*", ["--loss=cross_entropy"], ['dist.shard "transformer.h.*.mlp.c_fc" column over "tp"', 'dist.shard "transformer.h.*.mlp.c_proj" row over "tp"']),
    "llama": ("model.layers.*", ["--loss=cross_entropy"], ['dist.shard "model.layers.*.self_attn" heads over "tp"']),
    "bert": ("bert.encoder.layer.*", ["--loss=mse", "--optimizer=sgd,lr=1e-2,momentum=0.9,clip=0.5"], []),
    "t5": ("{encoder,decoder}.block.*", ["--loss=cross_entropy"], []),
    "mixtral": ("model.layers.*", ["--loss=cross_entropy"], []),
    "unet": ("{down*,middle,merge*}", ["--loss=mse"], []),
    "stack": ("h.*", ["--loss=mse"], ['dist.shard "h.*.mlp.c_fc" column over "tp"', 'dist.shard "h.*.mlp.c_proj" row over "tp"']),
}  # fmt: skip
STEPS = 3


def write_schedule(path, table, mesh, lines):
    axes = ", ".join(f'"{name}" = {size}' for name, size in mesh.items())
    with open(path, "w", encoding="utf-8") as file:
        name = re.match(r'(?:table )?"[^"]*"', table)[0]
        more = table[len(name) :]
        file.write(f"dist.mesh @m [{axes}]\ndist.schedule @s on @m {{\n  dist.pipeline {name} over \"pp\"{more}\n")
        file.write("".join(f"  {line}\n" for line in lines) + "}\n")


def make_stack(work, layers=8, hidden=16):
    path = os.path.join(work, "stack.mlir")
    text, _ = stack.emit(layers=layers, batch=2, sequence=8, hidden=hidden, heads=2)
    shapes = {name: [int(size) for size in sizes.split("x")] for sizes, name in re.findall(r'tensor<([\dx]+)xf32> \{dist\.parameter = "([^"]*)"', text)}
    numbers = {name: [0.3 * math.cos(n + len(name)) for n in range(math.prod(shape))] for name, shape in shapes.items()}
    write_safetensors(os.path.join(work, "stack.safetensors"), "F32", "f", shapes, numbers)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'module attributes {{dist.weights = "stack.safetensors"}} {{\n{text}}}\n')
    return path


class Subject:
    """A model in f64, and rows of data for it."""

    def __init__(self, model, work):
        self.model, self.work, self.number = model, work, 0
        self.modules, self.options, self.sharded = MODELS[model]
        self.module = os.path.join(work, "f64.mlir")
        self.f32 = import_model(model, work) if model != "stack" else make_stack(work)
        run("dist-opt", self.f32, "--dist-convert-to-f64", "-o", self.module)
        with open(self.module, encoding="utf-8") as file:
            text = file.read()
        self.data, self.batch = [], 0
        inputs = re.findall(r'tensor<([\dx]+)x(\w+)> \{[^{}]*dist\.input = "([^"]*)"', text)
        self.outputs = re.findall(r'tensor<([\dx]+)xf64> \{dist\.output = "([^"]*)"', text)
        for sizes, kind, name in inputs:
            shape = [int(size) for size in sizes.split("x")]
            self.batch = shape[0]
            self.add(name, kind, shape)

    def add(self, name, kind, shape):
        rows = 8 * self.batch * STEPS
        count = rows * math.prod(shape[1:])
        if "mask" in name:
            values = [1] * count
        elif "type" in name:
            values = [n % 2 for n in range(count)]
        elif kind == "i64":
            values = [(7 * n * n + 3 * n) % 61 + 1 for n in range(count)]
        else:
            values = [math.sin(0.37 * n) for n in range(count)]
        path = os.path.join(self.work, name + ".npy")
        npy.write(path, kind, [rows, *shape[1:]], values)
        self.data.append(f"--data={name}={path}")

    def folder(self):
        self.number += 1
        return os.path.join(self.work, f"run{self.number}")

    def schedule(self, table, mesh, more=(), sharded=True):
        path = os.path.join(self.work, f"schedule{self.number}.mlir")
        lines = [f'dist.stages "{self.modules}"', *more]
        lines += self.sharded if "tp" in mesh and sharded else []
        write_schedule(path, table, mesh, lines)
        return f"--schedule={path}"

    def target(self):
        sizes, name = self.outputs[0]
        shape = [int(size) for size in sizes.split("x")]
        if "--loss=mse" in self.options:
            return name, "f64", shape
        return name, "i64", shape[:-1]

    def train(self, microbatches, *options, steps=STEPS):
        output, kind, shape = self.target()
        if not any(one.startswith("--data=labels=") for one in self.data):
            self.add("labels", kind, shape)
        folder = self.folder()
        run(
            "dist-run", "--train", self.module, *self.data, *self.options, f"--loss-of={output}", f"--accumulate={microbatches}", f"--steps={steps}",
            *([] if any("--optimizer" in one for one in [*self.options, *options]) else ["--optimizer=adamw,lr=1e-2,clip=0.5"]),
            "--in-order", f"--save={folder}", f"--curve={folder}.csv", xunit.OPT_LEVEL, *options,
        )  # fmt: skip
        tensors = {}
        for part in ("", "optimizer"):
            path = os.path.join(folder, f"step-{steps}", part)
            if os.path.exists(os.path.join(path, "model.safetensors.index.json")):
                tensors.update({(part, name): entry for name, entry in read_checkpoint(path).items()})
        return read_curve(folder + ".csv"), tensors


    def report(self, microbatches, schedule, *options, path=None, optimizer="adamw,clip=1"):
        step = path or os.path.join(self.work, "step.mlir")
        loss, of = ("mse" if "--loss=mse" in self.options else "cross_entropy"), self.outputs[0][1]
        run(
            "dist-opt", self.module, schedule.replace("--schedule=", "--dist-apply-schedule=file="),
            f"--dist-train-step=optimizer={optimizer} loss={loss} of={of} accumulate={microbatches}", "-o", step,
        )  # fmt: skip
        return json.loads(run("dist-report", step, "--json", *options))


def check_bytes(of, ranks, forward, back, holders):
    """By border: how many activations go on, and gradients back; which stages hold a tied parameter, and how often."""
    report = of.report(4, of.schedule('"1f1b"', {"pp": ranks}))
    pipeline = report["pipeline"]
    borders = {(one["source"], one["target"], one["what"]): one for one in pipeline["transfers"]}
    for what, counts, step in (("forward", forward, 1), ("back", back, -1)):
        for border, count in enumerate(counts):
            crossing = [one for (source, target, kind), one in borders.items() if kind == what and min(source, target) <= border < max(source, target)]
            assert sum(one["values"] for one in crossing) == count, f"{what} over border {border}: {crossing}"
            assert all(one["count"] == 4 for one in crossing), crossing
    (function,) = report["functions"]
    held = sum(stage["parameter_bytes"] for stage in pipeline["stages"])
    assert held == function["parameter_bytes_per_rank"], (held, function["parameter_bytes_per_rank"])
    with open(of.module, encoding="utf-8") as file:
        shapes = re.findall(r'tensor<([\dx]+)x[fi]64> \{[^{}]*?dist\.parameter = "([^"]*)"', file.read())
    bytes_of = {name: 8 * math.prod(int(size) for size in shape.split("x")) for shape, name in shapes}
    assert held == sum(bytes_of.values()) + sum(bytes_of[name] * (count - 1) for name, count in holders.items()), held
    at_end = sum(one["bytes_sent_per_rank"] for one in pipeline["transfers"] if one["what"] == "end")
    # Each holder's gradients, one way or the other; squares and their sum besides.
    tied = sum(bytes_of[name] * 2 * (count - 1) for name, count in holders.items())
    assert tied <= at_end <= tied + 8 * 4 * len(bytes_of), (at_end, tied)


def check_bits(of):
    mesh = {"pp": 2}
    options = [[], ["--link=latency=100us,bandwidth=1GB/s"], ["--streams=late"]]
    results = {}
    for table in ('"gpipe" split', '"1f1b" split', '"zb_h1"'):
        for more in options if table == '"zb_h1"' else options[:1]:
            results[table, *more] = of.train(4, of.schedule(table, mesh), *more)
    first = results['"1f1b" split',]
    for name, result in results.items():
        assert result == first, f"{name} has other bits"


def draw_table(source, stages, ranks, microbatches):
    """A legal table: tasks in an order in which one device might do them all, each on the rank of its stage."""
    places = [*range(ranks), *(source.randrange(ranks) for _ in range(stages - ranks))]
    source.shuffle(places)
    done, rows = {kind: [0] * stages for kind in "FIW"}, [[] for _ in range(ranks)]
    while True:
        ready = []
        for stage in range(stages):
            limits = {
                "F": done["F"][stage - 1] if stage else microbatches,
                "I": min(done["F"][stage], done["I"][stage + 1] if stage + 1 < stages else microbatches),
                "W": done["I"][stage],
            }
            ready += [(kind, stage) for kind, limit in limits.items() if done[kind][stage] < limit]
        if not ready:
            return rows
        kind, stage = source.choice(ready)
        rows[places[stage]].append(f"{stage}{kind}{done[kind][stage]}")
        done[kind][stage] += 1


def check_random_tables(of, table, stages, ranks, microbatches):
    """DIST_RANDOM_TABLES of them, 4 unless it is set."""
    mesh = {"pp": ranks}
    expected = of.train(microbatches, of.schedule(table, mesh))
    for seed in range(int(os.environ.get("DIST_RANDOM_TABLES", "4"))):
        source = random.Random(seed)
        rows = draw_table(source, stages, ranks, microbatches)
        text = "".join(",".join(row) + "\n" for row in rows)
        with open(os.path.join(of.work, "own.csv"), "w", encoding="utf-8") as file:
            file.write(text)
        options = [f"--streams={source.choice(('late', 'eager', f'seed={seed}'))}"]
        options += ["--link=latency=100us,bandwidth=1GB/s"] if source.random() < 0.3 else []
        assert of.train(microbatches, of.schedule('table "own.csv"', mesh), *options) == expected, f"{options} has other bits\n{text}"


def check_table(of):
    mesh = {"pp": 2}
    expected = of.train(4, of.schedule('"1f1b" split', mesh))
    of.report(4, of.schedule('"zb_h1"', mesh), "--pipeline-table", os.path.join(of.work, "own.csv"))
    with open(os.path.join(of.work, "own.csv"), encoding="utf-8") as file:
        rows = [line.strip().split(",") for line in file]
    assert [len(row) for row in rows] == [12, 12], rows
    # The first rank's weights at the end.
    rows[0] = [cell for cell in rows[0] if "W" not in cell] + [cell for cell in rows[0] if "W" in cell]

    def write(rows):
        with open(os.path.join(of.work, "own.csv"), "w", encoding="utf-8") as file:
            file.writelines(",".join(row) + "\n" for row in rows)

    write(rows)
    assert of.train(4, of.schedule('table "own.csv"', mesh)) == expected

    def fails(rows, text, microbatches=4):
        write(rows)
        try:
            of.train(microbatches, of.schedule('table "own.csv"', mesh))
        except AssertionError as error:
            assert text in str(error), f"{text} is not in {error}"
        else:
            raise AssertionError(f"{text}: nothing is said")

    fails([rows[0], rows[1][:-1]], "is missing on rank 1")
    fails([rows[0][1:] + rows[0][:1], rows[1]], "tasks wait for each other")
    fails([rows[0], ["1F0x", *rows[1][1:]]], "own.csv:2:4")
    fails([rows[0]], "has 1 row, and there are 2 devices")
    fails(rows, "is of 2 devices and 4 microbatches, but 2 devices do 3", microbatches=3)


def check_frozen(work):
    """Weights that are not trained, of which each rank has some columns in memory of its own: forward and backward read
    them, in tasks of their own."""
    model, outputs = make_stack(work, layers=4, hidden=256), []
    for lines in [], ['dist.pipeline "1f1b" over "pp"', 'dist.stages "h.*"', 'dist.shard "h.*.mlp.c_fc" column over "tp"']:
        step, bundle, schedule, folder = (os.path.join(work, name) for name in ("step.mlir", "step.dist", "schedule.mlir", f"out{len(lines)}"))
        with open(schedule, "w", encoding="utf-8") as file:
            file.write('dist.mesh @m ["pp" = 2, "tp" = 2]\ndist.schedule @s on @m {\n' + "\n".join(lines) + "\n}\n")
        train = "--dist-train-step=optimizer=sgd loss=mse of=y accumulate=3 parameters=h.**.bias"
        run("dist-opt", model, *([f"--dist-apply-schedule=file={schedule}"] if lines else []), train, "-o", step)
        run("dist-compile", step, "-o", bundle)
        run("dist-exec", bundle, "--weights", os.path.join(work, "stack.safetensors"), "--random=1", "--repeat=2", f"--output={folder}")
        outputs.append({name: npy.read(os.path.join(folder, name))[2] for name in os.listdir(folder)})
    one, other = outputs
    assert one.keys() == other.keys() and len(one) > 4, one.keys() ^ other.keys()
    for name, want in one.items():
        most = max(map(abs, want))
        worst = max(abs(a - b) for a, b in zip(other[name], want, strict=True))
        assert worst <= 1e-5 * most, f"{name} differs by {worst}, of at most {most}"


def check_plan(of):
    """The plan that dist-report writes of a schedule gives the same numbers."""
    expected = of.train(4, of.schedule('"zb_h1"', {"pp": 2}))
    plan = os.path.join(of.work, "plan.json")
    run("dist-report", of.module, of.schedule('"zb_h1"', {"pp": 2}), "--plan", "-o", plan)
    with open(plan, encoding="utf-8") as file:
        assert json.load(file)["pipeline"] == {"table": "zb_h1", "axis": "pp", "stages": r"transformer\.h\.\d+"}
    assert_near("plan", of.train(4, f"--plan={plan}"), expected)


def check_faults(of):
    """A bundle whose table was edited or cut short is refused; a file of a task that is missing too."""
    step, bundle = os.path.join(of.work, "faults.mlir"), os.path.join(of.work, "faults.dist")
    of.report(4, of.schedule('"zb_h1"', {"pp": 2}), path=step, optimizer="sgd")
    run("dist-compile", step, "-o", bundle, xunit.OPT_LEVEL)
    path = os.path.join(bundle, "manifest.json")
    with open(path, encoding="utf-8") as file:
        whole = file.read()

    def fails(text, *said):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            run("dist-exec", bundle, "--random=1")
        except AssertionError as error:
            assert all(one in str(error) for one in said), error
        else:
            raise AssertionError(f"nothing is said: {said}")

    for seed in range(40):
        source, edited = random.Random(seed), json.loads(whole)
        rows = [row.split(",") for row in edited["pipeline"]["table"].split()]
        row = source.choice(rows)
        if seed % 4 == 0:
            del row[source.randrange(len(row))]
        elif seed % 4 == 1:
            row.append(source.choice(row))
        elif seed % 4 == 2:
            rows.reverse()
        else:
            row.reverse()
        edited["pipeline"]["table"] = "".join(",".join(row) + "\n" for row in rows)
        fails(json.dumps(edited), "manifest.json", "table")
    for seed in range(10):
        fails(whole[: len(whole) * seed // 10], "manifest.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(whole)
    run("dist-exec", bundle, "--random=1")


def check_trace(of):
    step, bundle, trace, drawn = (os.path.join(of.work, name) for name in ("step.mlir", "step.dist", "trace.json", "drawn.json"))
    report = of.report(4, of.schedule('"zb_h1"', {"pp": 2}), optimizer="sgd")["pipeline"]
    run("dist-compile", step, "-o", bundle, xunit.OPT_LEVEL)
    said = run("dist-exec", bundle, "--random=1", "--trace", trace, "--profile", "--json")
    simulated = json.loads(run("dist-report", step, "--simulate", "--machine=8xH100", "--timeline", drawn, "--json"))["simulation"]
    for path in trace, drawn:
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        arrows = {}
        for event in events:
            if event["ph"] in "sf":
                arrows.setdefault(event["id"], {})[event["ph"]] = event
        assert arrows, path
        for number, ends in arrows.items():
            assert ends["s"]["pid"] != ends["f"]["pid"] and ends["s"]["ts"] <= ends["f"]["ts"], (path, number, ends)
        for place, stage in enumerate(report["stages"]):
            tasks = [event for event in events if event["ph"] == "X" and event["pid"] == place and event["cat"] in ("forward", "backward", "weight", "waiting")]
            tasks.sort(key=lambda event: event["ts"])
            assert all(one["ts"] + one["dur"] <= other["ts"] + 1e-3 for one, other in zip(tasks, tasks[1:])), (path, tasks)
            names = [event["name"] for event in tasks if event["cat"] != "waiting"]
            # The first stage sends no gradients.
            wanted = [f"{kind}{i} stage {place}" for kind in ("FW" if place == 0 else "FBW") for i in range(4)]
            assert sorted(names) == sorted(wanted), (path, names)
    with open(drawn, encoding="utf-8") as file:
        last = max(event["ts"] + event["dur"] for event in json.load(file)["traceEvents"] if event["ph"] == "X")
    assert abs(last * 1e-6 - simulated["seconds"]) <= 1e-6 * simulated["seconds"], (last, simulated)
    with open(trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    for place in range(2):
        sent = sum(event["args"].get("bytes_sent", 0) for event in events if event["ph"] == "X" and event["pid"] == place and event["name"] == "send to stage")
        assert sent == sum(one["bytes_sent_per_rank"] * one["count"] for one in report["transfers"] if one["source"] == place), (place, sent, report["transfers"])
    rows = {row["what"] for row in json.loads(said.splitlines()[-1])["profile"]["rows"]}
    assert {"wait for another stage", "send to stage"} <= rows, rows
    page = os.path.join(of.work, "drawn.html")
    run("dist-report", step, "--machine=8xH100", "--timeline", page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    assert 'class="weight"' in text and "<line x1=" in text and "bubble: " in text, text[:2000]


def check_forward(of, table, ranks, microbatches):
    command = ["dist-run", of.f32, of.schedule(table, {"pp": ranks}), "--random=1", "--verify", xunit.OPT_LEVEL]
    run(*command)
    run(*command, f"--microbatches={microbatches}")


def assert_near(what, one, other):
    (losses, tensors), (wanted, expected) = one, other
    for got, want in zip(losses, wanted, strict=True):
        assert abs(got - want) <= 1e-9 * abs(want), f"{what}: losses {losses}, {wanted} on one device"
    assert tensors.keys() == expected.keys(), tensors.keys() ^ expected.keys()
    numbers = {name: array.array("d", data) for name, (_, _, data) in expected.items()}
    largest = max(abs(value) for values in numbers.values() for value in values)
    for name, (kind, shape, _) in expected.items():
        assert tensors[name][:2] == (kind, shape), name
        got, want = array.array("d", tensors[name][2]), numbers[name]
        # Some gradients are zero but for rounding.
        most = max([*map(abs, want), 1e-4 * largest])
        worst = max((abs(a - b) for a, b in zip(got, want)), default=0)
        assert worst <= 1e-9 * most, f"{what}: {name} differs by {worst}, of at most {most}"


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as work:
        subjects, ones = {}, {}

        def subject(model):
            if model not in subjects:
                folder = os.path.join(work, model)
                os.makedirs(folder)
                subjects[model] = Subject(model, folder)
            return subjects[model]

        def one(model, microbatches):
            key = model, microbatches
            if key not in ones:
                ones[key] = subject(model).train(microbatches)
            return ones[key]

        def equal(model, table, microbatches, mesh, *more):
            of = subject(model)
            got = of.train(microbatches, of.schedule(table, mesh, more=more))
            assert_near(f"{model} {table} {mesh}", got, one(model, microbatches))

        cases = {}
        for model, table, microbatches, mesh in [
            ("gpt2", '"1f1b"', 4, {"pp": 2}),
            ("gpt2", '"gpipe"', 3, {"pp": 2}),
            ("gpt2", '"zb_h1"', 2, {"pp": 2}),
            ("gpt2", '"1f1b"', 2, {"pp": 2, "tp": 2}),
            ("llama", '"1f1b"', 4, {"pp": 2}),
            ("llama", '"zb_h1"', 4, {"pp": 2, "tp": 2}),
            ("t5", '"1f1b"', 4, {"pp": 4}),
            ("t5", '"interleaved"', 3, {"pp": 2}),
            ("t5", '"zb_v"', 4, {"pp": 2}),
            ("bert", '"1f1b"', 2, {"pp": 2}),
            ("mixtral", '"1f1b"', 2, {"pp": 2}),
            ("unet", '"1f1b"', 4, {"pp": 5}),
            ("stack", '"1f1b"', 8, {"pp": 8}),
            ("stack", '"1f1b"', 3, {"pp": 4, "tp": 2}),
            ("stack", '"gpipe"', 1, {"pp": 8}),
            ("stack", '"interleaved"', 3, {"pp": 4}),
            ("stack", '"interleaved"', 8, {"pp": 2}),
            ("stack", '"zb_h1"', 8, {"pp": 4}),
            ("stack", '"zb_v"', 3, {"pp": 4}),
            ("stack", '"zb_v"', 8, {"pp": 4}),
        ]:
            name = "_".join(["equal", model, table.strip('"'), str(microbatches), *(f"{axis}{size}" for axis, size in mesh.items())])
            if table == '"interleaved"':
                table += " chunks 2"
            cases[name] = lambda model=model, table=table, microbatches=microbatches, mesh=mesh: equal(model, table, microbatches, mesh)
        data = 'dist.shard input "{input_ids,attention_mask}" [{"dp"}, {} ]'
        adamw = "--optimizer=adamw,lr=1e-2,clip=0.5"

        def sharded(mesh, lines, *options):
            of = subject("gpt2")
            schedule = of.schedule('"1f1b"', {"pp": 2, **mesh} if "last" not in options else {**mesh, "pp": 2}, more=lines, sharded=False)
            got = of.train(4, schedule, *(one for one in options if one != "last"))
            assert_near(str(options), got, one("gpt2", 4))

        def example(name):
            with open(os.path.join(examples("gpt2"), name + ".mlir"), encoding="utf-8") as file:
                lines = [line.strip() for line in file]
            return [line for line in lines if line.startswith(("dist.shard ", "dist.sync "))]

        cases["sharded_fsdp"] = lambda: sharded({"dp": 2}, example("fsdp"))
        cases["sharded_fsdp_last"] = lambda: sharded({"dp": 2}, example("fsdp"), "last", "--recompute=gathers")
        cases["sharded_sequence"] = lambda: sharded({"tp": 2}, example("sp"))
        cases["sharded_zero"] = lambda: sharded({"dp": 2}, [data], adamw + ",zero=dp")
        cases["sharded_zero_tp"] = lambda: sharded({"dp": 2, "tp": 2}, [data, *subject("gpt2").sharded], adamw + ",zero=dp")
        cases["sharded_checkpoint"] = lambda: sharded({}, ['dist.checkpoint "transformer.h.*"'])
        cases["bits"] = lambda: check_bits(subject("gpt2"))
        cases["random_tables_gpt2"] = lambda: check_random_tables(subject("gpt2"), '"1f1b" split', 2, 2, 5)
        cases["random_tables_t5"] = lambda: check_random_tables(subject("t5"), '"interleaved" chunks 2 split', 4, 2, 3)
        cases["table"] = lambda: check_table(subject("gpt2"))
        cases["frozen"] = lambda: check_frozen(tempfile.mkdtemp(dir=work))
        cases["plan"] = lambda: check_plan(subject("gpt2"))
        cases["faults"] = lambda: check_faults(subject("gpt2"))
        cases["trace"] = lambda: check_trace(subject("gpt2"))
        cases["one_microbatch"] = lambda: equal("gpt2", '"1f1b"', 1, {"pp": 2})
        for model, *how in [("gpt2", '"gpipe"', 2, 2), ("llama", '"1f1b"', 2, 2), ("t5", '"interleaved" chunks 2', 2, 2), ("unet", '"gpipe"', 5, 1)]:
            cases["forward_" + model] = lambda model=model, how=how: check_forward(subject(model), *how)
        cases["bytes_gpt2"] = lambda: check_bytes(subject("gpt2"), 2, [1], [1], {"transformer.wte.weight": 2})
        cases["bytes_llama"] = lambda: check_bytes(subject("llama"), 2, [1], [1], {})
        # The encoder's result goes to both stages of the decoder.
        cases["bytes_bert"] = lambda: check_bytes(subject("bert"), 2, [1], [1], {"bert.embeddings.word_embeddings.weight": 2})
        cases["bytes_t5"] = lambda: check_bytes(subject("t5"), 4, [1, 2, 2], [1, 1, 2], {"encoder.embed_tokens.weight": 3})
        return xunit.run("e2e.pipeline", cases, pattern)


if __name__ == "__main__":
    sys.exit(main())
