#!/usr/bin/python3
"""Streams change no bit: the schedules of a model, overlapped, in every mode of streams.

    overlap.py MODEL EXPORTER [REGEX]     only schedules whose name matches

Each schedule's program, and forward and backward of some, is overlapped for links so slow that whatever can be is, with
small reductions in buckets; forward and backward in two turns of the batch, too, where nothing may be sent twice. Results of
`dist-run --streams threads|late|eager|seed=1` equal to the bit those of the program as it was placed, without streams
and in its own order; and in f64 the overlapped program agrees with the model on one device. Overlapped collectives
are counted, so that the comparison is of something.

Programs come from tools/ and models from examples/, below the current folder.
"""

import filecmp
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402

TOOLS = os.path.abspath("tools")
LINK = "machine=%s link={latency=1ms,bandwidth=10MB/s}"
BUCKETS = "--dist-bucket-reductions=" + LINK
OVERLAP = "--dist-schedule-overlap=" + LINK + " margin=0 memory=100"
SPLIT = "--dist-split-batch"
MODES = ["threads", "late", "eager", "seed=1"]
# In programs of these schedules something can be computed beside a collective.
OVERLAPPED = {"fsdp", "fsdp_tp", "ulysses"}
# Of these with gradients, too; and where some reductions are small, these are joined.
GRADIENTS = {"fsdp", "sp"}
JOINED = {"sp.gradients"}
# In two turns, with gradients: what sums over the batch is done whole.
TURNS = {"sp", "tp", "ulysses"}


def run(tool, *options):
    done = subprocess.run([os.path.join(TOOLS, tool), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{tool} {' '.join(options)}: exit status {done.returncode}\n{done.stdout}")


def write_machine(path):
    """A machine on which starting costs nothing."""
    run("dist-report", "--machine", "cpu", "--print-machine", "-o", path)
    with open(path, encoding="utf-8") as file:
        machine = json.load(file)
    machine["overlap"]["start_seconds"] = 0
    with open(path, "w", encoding="utf-8") as file:
        json.dump(machine, file)


def count_bytes(path):
    """What a rank sends in a step."""
    done = subprocess.run([os.path.join(TOOLS, "dist-report"), path, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return sum(one["count"] * one["bytes_sent_per_rank"] for function in json.loads(done.stdout)["functions"] if function["runs"]
               for one in function["collectives"])


def count_reductions(path):
    with open(path, encoding="utf-8") as file:
        return len(re.findall(r"dist\.all_reduce ", file.read()))


def check(folder, module, machine, name, inputs, source, turns=()):
    """`source` is what makes the program from the module, and `turns` one in turns: options of dist-opt."""
    given, placed, overlapped = (os.path.join(folder, f"{name}.{kind}.mlir") for kind in ("given", "placed", "overlapped"))
    run("dist-opt", module, *(option for option in source if option != SPLIT), "--dist-spmd", "-o", given)
    run("dist-opt", module, *source, *(turns or ["--dist-spmd"]), "-o", placed)
    if count_bytes(placed) != count_bytes(given):
        raise RuntimeError(f"{count_bytes(placed)} bytes are sent in turns, {count_bytes(given)} without")
    run("dist-opt", placed, BUCKETS % machine, OVERLAP % machine, "--dist-verify-schedule", "--dist-verify-spmd", "-o", overlapped)
    with open(overlapped, encoding="utf-8") as file:
        started = len(re.findall(r"dist\.stream = \d+ : i32", file.read()))
    is_gradients = ".gradients" in name
    if (name in OVERLAPPED or is_gradients) and started == 0:
        raise RuntimeError("nothing is overlapped")
    if name in JOINED and count_reductions(overlapped) >= count_reductions(given):
        raise RuntimeError("no reductions are joined")
    if started == 0:
        return
    if not is_gradients:
        run("dist-run", overlapped, *inputs, "--reference", module, "--verify=f64", xunit.OPT_LEVEL)
    expected = os.path.join(folder, name)
    run("dist-run", placed, *inputs, "--output", expected)
    if turns:
        # Of so few rows a library makes the products of half of them otherwise.
        files = sorted(os.listdir(expected))
        run("dist-run", given, *inputs, *(f"--expect={file.removesuffix('.npy')}={os.path.join(expected, file)}" for file in files),
            "--rtol=1e-3", "--atol=1e-4")
    bundle = os.path.join(folder, f"{name}.dist")
    run("dist-compile", overlapped, "-o", bundle)
    for mode in MODES:
        got = os.path.join(folder, f"{name}.{mode}")
        run("dist-run", bundle, *inputs, "--streams", mode, "--output", got)
        files = sorted(os.listdir(expected))
        same, _, _ = filecmp.cmpfiles(expected, got, files, shallow=False)
        if not files or sorted(same) != files:
            raise RuntimeError(f"--streams {mode}: other bits in {sorted(set(files) - set(same))}")


def main():
    model, exporter = sys.argv[1:3]
    pattern = sys.argv[3] if len(sys.argv) > 3 else ""
    examples = os.path.join(os.path.abspath("examples"), model)
    inputs = []
    for path in sorted(glob.glob(os.path.join(examples, "inputs0", "*.npy"))):
        inputs += ["--input", f"{os.path.basename(path).removesuffix('.npy')}={path}"]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "model.mlir")
        machine = os.path.join(folder, "machine.json")
        write_machine(machine)
        run("dist-import", os.path.join(examples, f"{model}.{exporter}.onnx"), "-o", module)
        for schedule in sorted(glob.glob(os.path.join(examples, "*.mlir"))):
            if not re.search(pattern, os.path.basename(schedule)):
                continue
            name = os.path.basename(schedule).removesuffix(".mlir")
            programs = {name: [f"--dist-apply-schedule=file={schedule}"]}
            if name in GRADIENTS:
                programs[name + ".gradients"] = [*programs[name], "--dist-differentiate=cotangent=cotangent"]
            turns = {}
            if name in TURNS:
                programs[name + ".gradients.turns"] = [*programs[name], "--dist-differentiate=cotangent=cotangent", SPLIT]
                turns[name + ".gradients.turns"] = ["--dist-spmd=turns=turn", "--dist-unroll-axis=axis=turn", "--cse", "--dist-verify-spmd"]
            for name, source in programs.items():
                start, problem = time.time(), None
                try:
                    check(folder, module, machine, name, inputs + (["--random=1"] if ".gradients" in name else []), source, turns.get(name, []))
                except RuntimeError as error:
                    problem = str(error)
                    print(problem, file=sys.stderr)
                results.append((name, time.time() - start, problem))
    return xunit.finish(f"e2e.overlap.{model}.{exporter}", results)


if __name__ == "__main__":
    sys.exit(main())
