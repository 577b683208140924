#!/usr/bin/python3
"""Gradients of what attention adds to its scores: a table of biases, slopes, factors (record_learned_scores.py).

    learned_scores.py [REGEX]     only cases whose name matches

- `tiles`: both attentions and their adjoints become tiles, which keep no scores;
- `torch_SCHEDULE`: gradients in f32 are PyTorch's in f64 within 2e-5 of their norm, on one rank, on 2 that shard
  the heads, and on 4 that shard 1,050 rows.

Programs come from tools/, below the current folder.
"""

import array
import functools
import json
import math
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import npy  # noqa: E402
import xunit  # noqa: E402
from philox import run  # noqa: E402

ROWS, WIDTH, BUCKETS, TOLERANCE = 1050, 32, 32, 2e-5
LAYERS = '"{first,second}.'
SCHEDULES = {
    "one": None,
    "heads_2": (2, [f'dist.shard {LAYERS}{{query,key,value}}" column over "d"', f'dist.shard {LAYERS}out" row over "d"']),
    "rows_4": (4, ['dist.shard input "x" [{}, {"d"}, {}]']),
}


def differentiate(work, schedule):
    imported, made = os.path.join(work, "model.mlir"), os.path.join(work, "gradients.mlir")
    run("dist-import", os.path.join(HERE, "Inputs/learned_scores.onnx"), "-o", imported)
    placed = []
    if schedule:
        size, directives = schedule
        path = os.path.join(work, "schedule.mlir")
        with open(path, "w") as file:
            file.write(f'dist.mesh @m ["d" = {size}]\ndist.schedule @s on @m {{\n')
            file.write("".join(f"  {directive}\n" for directive in directives) + "}\n")
        placed = [f"--dist-apply-schedule=file={path}"]
    run("dist-opt", imported, *placed, "--dist-differentiate=cotangent=dy wrt=first.**,second.**,table.weight,factors,slopes", "-o", made)
    return made


def check_tiles():
    with tempfile.TemporaryDirectory() as work:
        passes = ["--dist-spmd", "--dist-recompute", "--dist-decompose-ops", "--canonicalize", "--cse"]
        text = run("dist-opt", differentiate(work, None), *passes, "--dist-form-attention=min-scores=4194304")
        assert "rt.attentions = 2" in text, "not both attentions are formed"
        assert text.count("dist.attention_adjoint(") == 2
        products = [line for line in text.splitlines() if re.search(r"linalg\.contract.*x4x1050x1050", line)]
        assert not products, f"a product makes all scores: {products[0]}"


def check_torch(schedule):
    with open(os.path.join(HERE, "Inputs/learned_scores.json")) as file:
        recorded = json.load(file)
    with tempfile.TemporaryDirectory() as work:
        gaps = [j - i for i in range(ROWS) for j in range(ROWS)]
        inputs = {
            "x": ((1, ROWS, WIDTH), "f32", [math.sin(0.37 * k + 0.37) for k in range(ROWS * WIDTH)]),
            "dy": ((1, ROWS, WIDTH), "f32", [math.cos(0.37 * k) for k in range(ROWS * WIDTH)]),
            "buckets": ((ROWS, ROWS), "i64", [(min(max(gap, -60), 60) + 60) * (BUCKETS - 1) // 120 for gap in gaps]),
            "distances": ((ROWS, ROWS), "f32", [abs(gap) / 128 for gap in gaps]),
            "mask": ((ROWS, ROWS), "i1", [gap > 0 for gap in gaps]),
        }
        given = []
        for name, (shape, kind, values) in inputs.items():
            path = os.path.join(work, name + ".npy")
            npy.write(path, kind, shape, values)
            given.append(f"--input={name}={path}")
        weights, out = os.path.join(work, "model.safetensors"), os.path.join(work, "out")
        run("dist-run", differentiate(work, schedule), *given, f"--weights={weights}", f"--output={out}")
        for name, wanted in recorded.items():
            got = array.array("d", npy.read(os.path.join(out, name + ".grad.npy"))[2])
            norm = math.sqrt(math.fsum(value * value for value in got))
            total = math.fsum(value * math.cos(0.11 * k + 0.5) for k, value in enumerate(got))
            some = got[:: max(1, len(got) // 5)][:5]
            pairs = [(norm, wanted["norm"]), (total, wanted["sum"]), *zip(some, wanted["some"])]
            for a, b in pairs:
                # Written so that NaN is no match.
                assert abs(a - b) <= TOLERANCE * wanted["norm"], f"{name}: {a}, PyTorch has {b}"


def main():
    cases = {"tiles": check_tiles}
    for name, schedule in SCHEDULES.items():
        cases["torch_" + name] = functools.partial(check_torch, schedule)
    return xunit.run("e2e.learned_scores", cases, sys.argv[1] if len(sys.argv) > 1 else "")


if __name__ == "__main__":
    sys.exit(main())
