#!/usr/bin/env python3
"""What a pipeline gains: a step of training of a stack of blocks on two ranks, beside the same step on one.

  bazel build //tools/...
  python benchmarks/pipeline_time.py                    # about three minutes
  python benchmarks/pipeline_time.py --microbatches 4,8,16 --rounds 6

The stack is that of test/e2e/stack.py, its step is of SGD over microbatches. It is compiled for one rank, and by two lines
of a schedule for two, under each table. All run by turns, pinned to cores, with --link between ranks; the best step of
all counts. Printed are the times and how many times as fast two ranks are.

The last lines say whether what the project promises holds (exit status 1 if not): 1f1b at least 1.4 times as fast with 4
microbatches and 1.6 with 8, zb_h1 1.65 with 8; one stage on one rank at most 1.03 times the loop's time; and compiling
at most 1.3 times as long as the loop, alike for any number of microbatches.
"""
import argparse
import array
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/e2e"))
import stack  # noqa: E402

GAINS = {("1f1b", 4): 1.4, ("1f1b", 8): 1.6, ("zb_h1", 8): 1.65}
MAX_ONE_STAGE, MAX_COMPILE = 1.03, 1.3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=1, help="rows of a microbatch")
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--microbatches", default="4,8", help="how many, separated by commas")
    parser.add_argument("--tables", default="1f1b,zb_h1", help="separated by commas")
    parser.add_argument("--link", default="latency=20us,bandwidth=1GB/s")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3, help="a turn")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "bazel-bin/tools", help="folder of dist-opt and the others")
    parser.add_argument("--json", type=pathlib.Path, help="all times, in seconds")
    return parser.parse_args()


def write_weights(path, text):
    """Small numbers, for the parameters of a module."""
    header, at = {}, 0
    for sizes, name in re.findall(r'tensor<([\dx]+)xf32> \{dist\.parameter = "([^"]*)"', text):
        shape = [int(size) for size in sizes.split("x")]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * math.prod(shape)]}
        at += 4 * math.prod(shape)
    source = random.Random(1)
    values = array.array("f", [source.gauss(0, 0.02) for _ in range(1 << 16)]).tobytes()
    head = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for _ in range(0, at, len(values)):
            file.write(values)
        file.truncate(8 + len(head) + at)


class Case:
    """A step, compiled; `lines` of a schedule make it a pipeline."""

    def __init__(self, a, folder, name, microbatches, ranks, lines):
        self.a, self.folder, self.ranks, self.best = a, folder, ranks, math.inf
        step, self.bundle = folder / f"{name}.mlir", folder / f"{name}.dist"
        options = []
        if lines:
            schedule = folder / f"{name}_schedule.mlir"
            schedule.write_text(f'dist.mesh @m ["pp" = {ranks}]\ndist.schedule @s on @m {{\n' + "\n".join(lines) + "\n}\n")
            options = [f"--dist-apply-schedule=file={schedule}"]
        start = time.monotonic()
        train = f"--dist-train-step=optimizer=sgd,lr=0.01 loss=mse of=y accumulate={microbatches}"
        subprocess.run([a.tools / "dist-opt", folder / "model.mlir", *options, train, "-o", step], check=True, stderr=subprocess.PIPE)
        subprocess.run([a.tools / "dist-compile", step, "-o", self.bundle], check=True, stderr=subprocess.PIPE)
        self.compile_seconds = time.monotonic() - start

    def turn(self):
        cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[: self.ranks]))
        done = subprocess.run(
            ["taskset", "-c", cores, self.a.tools / "dist-exec", self.bundle, "--weights", self.folder / "model.safetensors", "--random=1",
             f"--repeat={self.a.steps + 1}", f"--link={self.a.link}", "--json"],
            check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        # The first step reads the weights.
        self.best = min(self.best, *json.loads(done.stdout.splitlines()[-1])["seconds"][1:])


def main():
    a = arguments()
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("pipeline_time.py: two cores are needed")
    counts, promises = [int(count) for count in a.microbatches.split(",")], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text, _ = stack.emit(a.layers, a.batch, a.seq, a.hidden, a.heads)
        (folder / "model.mlir").write_text(text)
        write_weights(folder / "model.safetensors", text)
        cases = {}
        for count in counts:
            cases["one", count] = Case(a, folder, f"one_{count}", count, 1, [])
            if count == counts[0]:
                cases["one stage", count] = Case(a, folder, "stage", count, 1, ['dist.pipeline "1f1b" over "pp"', 'dist.stages "h.*"'])
            for table in a.tables.split(","):
                lines = [f'dist.pipeline "{table}" over "pp"' + (" chunks 2" if table == "interleaved" else ""), 'dist.stages "h.*"']
                cases[table, count] = Case(a, folder, f"{table}_{count}", count, 2, lines)
        for _ in range(a.rounds):
            for case in cases.values():
                case.turn()
        print(f"{'table':>12} {'microbatches':>12} {'ms a step':>10} {'times':>6} {'compiled in':>11}")
        for (table, count), case in cases.items():
            one = cases["one", count]
            gain = one.best / case.best
            print(f"{table:>12} {count:>12} {1e3 * case.best:>10.1f} {gain:>6.2f} {case.compile_seconds:>9.1f} s")
            if (table, count) in GAINS:
                promises.append((f"{table} with {count} microbatches: {gain:.2f} times, at least {GAINS[table, count]}", gain >= GAINS[table, count]))
            if table == "one stage":
                promises.append((f"one stage: {1 / gain:.3f} times the loop, at most {MAX_ONE_STAGE}", 1 / gain <= MAX_ONE_STAGE))
            if table != "one":
                more = case.compile_seconds / one.compile_seconds
                promises.append((f"{table} with {count} compiles {more:.2f} times as long, at most {MAX_COMPILE}", more <= MAX_COMPILE))
        if a.json:
            a.json.write_text(json.dumps({f"{table} {count}": case.best for (table, count), case in cases.items()}))
    for what, holds in promises:
        print("ok  " if holds else "NOT ", what)
    return 0 if all(holds for _, holds in promises) else 1


if __name__ == "__main__":
    sys.exit(main())
