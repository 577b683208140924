#!/usr/bin/python3
"""GPUs' code on the emulated driver, beside threads of the CPU.

gpu.py [REGEX]: only cases whose name matches.

- `verify_MODEL_SCHEDULE`: each example's program agrees with one device of the CPU; the executor reports nothing;
- `gradients_MODEL_SCHEDULE`: so do gradients, which have the same bits in each of three orders of blocks and streams;
- `train`: a run of training has the losses and the checkpoints of threads, but for rounding, and goes on from both;
- `pipeline`: so does one of stages;
- `trace`: a trace has each launch, product and collective, one after the other, and all bytes that are sent;
- `functions`: functions of f32 and f64 are those of Python, within some units of the last place;
- `ends_SIGNAL`: a rank's process that is killed ends the run, with one message that names the rank;
- `errors`: what cannot run is told in one line.

Without Debian's package libclc-22 only the last two are there. Programs come from tools/ and models from examples/, below
the current folder.
"""

import array
import glob
import json
import math
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy  # noqa: E402
import xunit  # noqa: E402
from bits import MODELS, TOLERANCE, numbers, read  # noqa: E402
from processes import PIPELINE, Training, examples, import_model, run  # noqa: E402

ORDERS = ["", ":reverse", ":7"]
LIBRARY = "/usr/lib/clc/nvptx64--.bc"  # of Debian's package libclc-22


def on_gpu(order=""):
    return ["--backend=cuda", "--driver=emulated" + order]


class Zoo:
    """Models are imported once."""

    def __init__(self, work):
        self.work, self.modules = work, {}

    def folder(self, name):
        path = os.path.join(self.work, name)
        os.makedirs(path, exist_ok=True)
        return path

    def module(self, model):
        if model not in self.modules:
            self.modules[model] = import_model(model, self.folder(model))
        return self.modules[model]

    def verify(self, model, schedule, order):
        path = os.path.join(examples(model), schedule + ".mlir")
        run("dist-run", self.module(model), "--schedule", path, *on_gpu(order), "--random", "--verify", xunit.OPT_LEVEL)

    def gradients(self, model, schedule):
        module, work = self.module(model), self.folder(model + "_" + schedule)
        placed = os.path.join(work, "gradients.mlir")
        with open(module, encoding="utf-8") as file:
            outputs = re.findall(r'tensor<[\dx]*xf32> \{dist\.output = "([^"]*)"', file.read())
        run(
            "dist-opt", module, f"--dist-apply-schedule=file={os.path.join(examples(model), schedule + '.mlir')}",
            f"--dist-differentiate=of={outputs[0]} cotangent=cotangent", "-o", placed,
        )  # fmt: skip
        inputs = []
        for path in sorted(glob.glob(os.path.join(examples(model), "inputs0", "*.npy"))):
            inputs += ["--input", f"{os.path.basename(path).removesuffix('.npy')}={path}"]
        bundles = {target: os.path.join(work, target + ".dist") for target in ("cpu", "cuda")}
        for target, bundle in bundles.items():
            run("dist-compile", placed, "--target", target, "-o", bundle, xunit.OPT_LEVEL)
        results = []
        for target, options in [("cpu", [])] + [("cuda", on_gpu(order)) for order in ORDERS]:
            output = os.path.join(work, f"run{len(results)}")
            run("dist-exec", bundles[target], *inputs, "--random=1", "--output", output, *options)
            results.append(read(output))
        cpu, first, *others = results
        for order, other in zip(ORDERS[1:], others):
            assert first == other, f"the order {order} changes bits"
        largest = {name: max(map(abs, numbers(data)), default=0) for name, data in cpu.items()}
        for name, data in cpu.items():
            # Some gradients are zero but for rounding.
            allowed = TOLERANCE * max(largest[name], 0.1 * max(largest.values()))
            worst = max((abs(a - b) for a, b in zip(numbers(data), numbers(first[name]))), default=0)
            assert worst <= allowed, f"{name} differs by {worst}, {allowed} is allowed"


def check_training(work, *pipeline):
    training = Training(work, *pipeline)

    def near(what, one, other):
        (losses, files), (others, theirs) = one, other
        assert losses[0] == others[0] and len(losses) == len(others), (losses, others)
        for (step, loss), (_, theirs_loss) in zip(losses[1:], others[1:]):
            assert abs(float(loss) - float(theirs_loss)) < 1e-4, f"{what}: step {step}: {loss}, {theirs_loss}"
        assert files.keys() == theirs.keys()
        for name, data in files.items():
            (length,) = struct.unpack_from("<Q", data)
            assert data[: 8 + length] == theirs[name][: 8 + length], name
            got, want = (array.array("f", raw[8 + length :]) for raw in (data, theirs[name]))
            worst = max((abs(a - b) for a, b in zip(got, want)), default=0)
            # Adam moves a parameter by lr, however small its gradient is.
            assert worst < 3e-3, f"{what}: {name} differs by {worst}"

    def resume(*path):
        return "--resume=" + os.path.join(work, *path)

    threads = training.train("threads", 4, "--save-every=2")
    gpu = training.train("gpu", 4, "--save-every=2", *on_gpu())
    near("the GPU", gpu, threads)
    assert gpu == training.train("gpu_direct", 4, "--save-every=2", *on_gpu(), "--graph=off"), "graphs change bits"
    # From its own checkpoint it goes on with the same bits.
    assert gpu[1] == training.train("gpu_again", 4, resume("gpu", "step-2"), *on_gpu(":reverse"))[1]
    near("the GPU goes on from threads", (threads[0], training.train("gpu_threads", 4, resume("threads", "step-2"), *on_gpu())[1]), threads)


def check_trace(work, zoo):
    bundle, trace, host = (os.path.join(work, name) for name in ("gpt2.dist", "trace.json", "host.ll"))
    options = ["--schedule", os.path.join(examples("gpt2"), "sp.mlir"), "--mesh=tp=2"]
    model = zoo.module("gpt2")
    run("dist-compile", model, *options, "--target=cuda", "-o", bundle, "--dump-llvm", host, "--opt-level=0")
    done = run("dist-exec", bundle, *on_gpu(":reverse"), "--random=1", "--trace", trace, "--profile", "--json")
    with open(host, encoding="utf-8") as file:
        calls = re.findall(r"call .*@dist_(\w+)", file.read())
    with open(trace, encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    (report,) = json.loads(run("dist-report", model, *options, "--json"))["functions"]
    sent = sum(one["bytes_sent_per_rank"] * one["count"] for one in report["collectives"])
    for rank in range(2):
        own = sorted((event for event in events if event["pid"] == rank), key=lambda event: event["ts"])
        for name, call in (("kernel", "launch"), ("contract", "contract"), ("all_gather", "all_gather"), ("reduce_scatter", "reduce_scatter")):
            assert sum(event["name"].startswith(name) for event in own) == calls.count(call) > 0, (rank, name, calls)
        assert all(event["args"]["scope"] for event in own), own
        # All is on one stream.
        assert all(one["ts"] + one["dur"] <= other["ts"] + 1 for one, other in zip(own, own[1:])), own
        assert sum(event["args"].get("bytes_sent", 0) for event in own) == sent, (sent, own)
    profile = json.loads(done.splitlines()[-1])["profile"]
    assert sum(row["calls"] for row in profile["rows"]) == len(events) / 2, profile


# Of the dialect math: Python's, where arguments are drawn from, and how many units of the last place results may be away.
FUNCTIONS = {
    "exp": (math.exp, -80, 80, 2), "exp2": (lambda x: 2.0**x, -80, 80, 2), "expm1": (math.expm1, -3, 3, 2), "log": (math.log, 1e-3, 1e3, 2),
    "log2": (math.log2, 1e-3, 1e3, 2), "log10": (math.log10, 1e-3, 1e3, 2), "log1p": (math.log1p, -0.5, 10, 2), "sin": (math.sin, -9, 9, 2),
    "cos": (math.cos, -9, 9, 2), "tan": (math.tan, -1.5, 1.5, 2), "sinh": (math.sinh, -9, 9, 2), "cosh": (math.cosh, -9, 9, 2),
    "tanh": (math.tanh, -9, 9, 4), "atan": (math.atan, -9, 9, 2), "erf": (math.erf, -4, 4, 4), "sqrt": (math.sqrt, 0, 99, 0.5),
    "powf": (lambda x: x**x, 0.1, 9, 2),
}  # fmt: skip


def check_functions(work):
    count, source = 500, random.Random(5)
    for kind in ("f32", "f64"):
        names = list(FUNCTIONS)
        tensor = f"tensor<{count}x{kind}>"
        arguments = [f'%{name}: {tensor} {{dist.input = "{name}"}}' for name in names]
        body = []
        for name in names:
            operands = f"%{name}, %{name}" if name == "powf" else f"%{name}"
            body.append(f"%r_{name} = math.{name} {operands} : {tensor}")
        results = [f'{tensor} {{dist.output = "{name}"}}' for name in names]
        path = os.path.join(work, kind + ".mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n" + "\n".join(body) + "\n"
                f"return {', '.join('%r_' + name for name in names)} : {', '.join([tensor] * len(names))}\n}}\n"
            )
        inputs, expected = [], {}
        for name in names:
            function, low, high, _ = FUNCTIONS[name]
            xs = [source.uniform(low, high) for _ in range(count)]
            if kind == "f32":
                xs = list(array.array("f", xs))
            npy.write(os.path.join(work, name + ".npy"), kind, [count], xs)
            inputs.append(f"--input={name}={work}/{name}.npy")
            expected[name] = [function(x) for x in xs]
        output = os.path.join(work, kind)
        run("dist-run", path, *on_gpu(), *inputs, "--output", output, xunit.OPT_LEVEL)
        for name, want in expected.items():
            got = numbers(read(output)[name + ".npy"])
            digits = 24 if kind == "f32" else 53
            worst = max(abs(a - b) / max(math.ldexp(1, math.frexp(b)[1] - digits), 1e-300) for a, b in zip(got, want))
            allowed = FUNCTIONS[name][3]
            assert worst <= allowed, f"{name} of {kind}: {worst} units of the last place"


def check_end(work, zoo):
    bundle = os.path.join(work, "gpt2.dist")
    schedule = os.path.join(examples("gpt2"), "tp.mlir")
    run("dist-compile", zoo.module("gpt2"), "--schedule", schedule, "--target=cuda", "-o", bundle, xunit.OPT_LEVEL)
    child = subprocess.Popen(
        [os.path.abspath("tools/dist-exec"), bundle, *on_gpu(), "--random=1", "--repeat=1000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    own = f"/proc/{child.pid}/task/{child.pid}/children"
    ranks = []
    while len(ranks) < 2 and child.poll() is None:
        with open(own, encoding="utf-8") as file:
            ranks = file.read().split()
    time.sleep(1)
    os.kill(int(ranks[1]), signal.SIGKILL)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 1 and errors.count("error:") == 1 and "rank 1 (tp=1)" in errors, (child.returncode, errors)
    assert not any(os.path.exists(f"/proc/{rank}") for rank in ranks)


def check_errors(work, zoo):
    def fails(expected, tool, *arguments):
        done = subprocess.run([os.path.abspath("tools/" + tool), *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 1, (arguments, done)
        assert re.search(expected, done.stderr), f"{arguments}: {expected} is not in {done.stderr}"
        assert done.stderr.count("error:") == 1, done.stderr

    model = zoo.module("gpt2")
    bundles = {target: os.path.join(work, target + ".dist") for target in ("cpu", "cuda")}
    for target, path in bundles.items():
        run("dist-compile", model, "--target", target, "-o", path, xunit.OPT_LEVEL)
    fails("is compiled for target cpu: --backend cuda runs what dist-compile --target cuda makes", "dist-exec", bundles["cpu"], "--random=1", *on_gpu())
    fails("is compiled for target cuda: give --backend cuda", "dist-exec", bundles["cuda"], "--random=1")
    fails("after the colon stands an order", "dist-exec", bundles["cuda"], "--random=1", *on_gpu(":sideways"))
    fails("nothing.so: cannot open", "dist-exec", bundles["cuda"], "--random=1", "--backend=cuda", "--driver=nothing.so")
    fails("has no cuGetProcAddress_v2", "dist-exec", bundles["cuda"], "--random=1", "--backend=cuda", "--driver=libm.so.6")
    fails("--link is for ranks on CPUs", "dist-exec", bundles["cuda"], "--random=1", *on_gpu(), "--link=bandwidth=1MB/s")
    fails("--driver is for GPUs", "dist-exec", bundles["cpu"], "--random=1", "--driver=emulated")
    fails("-n 3: no schedule was given", "dist-exec", bundles["cuda"], "--random=1", *on_gpu(), "-n", "3")
    fails("--target cuda:sm_90: known are cpu, cuda. The code of cuda is PTX for sm_80", "dist-compile", model, "--target=cuda:sm_90", "-o", "none.dist")
    fails("gives it 1.0 KiB of memory", "dist-exec", bundles["cuda"], "--dry-run", "--rank-memory=1KiB")
    # What a GPU has is not what this host has.
    asked = subprocess.run([os.path.abspath("tools/dist-exec"), bundles["cuda"], "--dry-run"], capture_output=True, text=True, check=True)
    assert "for a GPU's memory, say how much it has: --rank-memory 80GiB" in asked.stdout, asked
    if not os.path.exists("/dev/nvidiactl"):
        fails("NVIDIA's driver is not installed here; --driver emulated", "dist-exec", bundles["cuda"], "--random=1", "--backend=cuda")


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as folder:
        zoo = Zoo(folder)
        cases = {}
        schedules = sorted(glob.glob(os.path.join(os.path.abspath("examples"), "*", "*.mlir")))
        for number, path in enumerate(schedules):
            model, schedule = path.removesuffix(".mlir").split("/")[-2:]
            order = ORDERS[number % len(ORDERS)]
            cases[f"verify_{model}_{schedule}"] = lambda model=model, schedule=schedule, order=order: zoo.verify(model, schedule, order)
        for name in MODELS:
            model, schedule = name.split("/")
            cases[f"gradients_{model}_{schedule}"] = lambda model=model, schedule=schedule: zoo.gradients(model, schedule)
        cases["train"] = lambda: check_training(zoo.folder("train"))
        cases["pipeline"] = lambda: check_training(zoo.folder("pipeline"), *PIPELINE)
        cases["trace"] = lambda: check_trace(zoo.folder("trace"), zoo)
        cases["functions"] = lambda: check_functions(zoo.folder("functions"))
        cases["ends_KILL"] = lambda: check_end(zoo.folder("end"), zoo)
        cases["errors"] = lambda: check_errors(zoo.folder("errors"), zoo)
        if not os.path.exists(LIBRARY):
            print("skipped, but for ends and errors: libclc-22 is not installed")
            cases = {name: case for name, case in cases.items() if name.startswith(("ends", "errors"))}
            pattern = ""
        return xunit.run("e2e.gpu", cases, pattern)


if __name__ == "__main__":
    sys.exit(main())
