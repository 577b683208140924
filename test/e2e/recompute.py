#!/usr/bin/env python3
"""What backward keeps of forward and computes again: memory against bounds, results bit for bit those without.

recompute.py [PATTERN]: the cases whose name has the regular expression, on the stack of stack.py.

- `peak_…`: fully sharded parameters on 4 ranks, gathered again for backward, take at most 0.45 of what data parallelism
  takes where parameters are most of it, and else with `dist.checkpoint`;
- `bits_…`: gradients of a program that computes again of its own accord are those of one that keeps all, bit for bit;
- `verify_…`: those of one with `dist.checkpoint`, where sums of neighbours that are one kernel may be rounded otherwise
  than the first time, are within rounding those of one rank that keeps all;
- `kept`, `added`: what `dist-report` says of it is what shapes say.
"""

import array
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stack  # noqa: E402

TOOLS = os.path.abspath(os.environ.get("DIST_TOOLS", "tools"))
FLOAT = 4


def run(program, *arguments):
    done = subprocess.run(
        [os.path.join(TOOLS, program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


DATA = ['dist.shard input "x" [{"dp"}, {}, {}]']
FULLY = [
    *DATA,
    'dist.shard parameter "h.*.{attn,mlp}.*.weight" [{"dp"}, {}]',
    'dist.shard parameter "h.*.{ln_1,ln_2}.weight" [{"dp"}]',
    'dist.shard parameter "h.**.bias" [{"dp"}]',
]
TENSOR = [
    'dist.shard "h.*.attn.{q,k,v}" column over "dp"',
    'dist.shard "h.*.mlp.c_fc" column over "dp"',
    'dist.shard "h.*.{attn,mlp}.c_proj" row over "dp"',
]
SEQUENCE = [
    'dist.shard input "x" [{}, {"dp"}, {}]',
    *TENSOR,
    'dist.sync "h.*.{attn,mlp}.c_proj" fwd_post reduce_scatter dim 1 over "dp"',
]
CHECKPOINT = ['dist.checkpoint "h.*"']


class Stack:
    def __init__(self, work, layers, batch, sequence, hidden, heads=4):
        self.work, self.layers, self.batch, self.sequence, self.hidden, self.heads = (
            work, layers, batch, sequence, hidden, heads,
        )  # fmt: skip
        text, parameters = stack.emit(layers, batch, sequence, hidden, heads)
        self.weights = FLOAT * sum(parameters)
        self.module = os.path.join(work, f"stack_{layers}_{batch}_{sequence}_{hidden}.mlir")
        with open(self.module, "w") as file:
            file.write(text)

    def write_weights(self):
        """Random parameters, as a safetensors file."""
        with open(self.module) as file:
            found = re.findall(r'tensor<([\dx]+)xf32> \{dist\.parameter = "([^"]*)"', file.read())
        source, header, data = random.Random(3), {}, array.array("f")
        for text, name in found:
            shape, begin = [int(size) for size in text.split("x")], FLOAT * len(data)
            data.extend(source.gauss(0, 0.3) for _ in range(math.prod(shape)))
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, FLOAT * len(data)]}
        text = json.dumps(header).encode()
        path = os.path.join(self.work, "weights.safetensors")
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + data.tobytes())
        return path

    def write_schedule(self, directives, ranks):
        path = os.path.join(self.work, "schedule.mlir")
        with open(path, "w") as file:
            file.write(f'dist.mesh @m ["dp" = {ranks}]\ndist.schedule @s on @m {{\n' + "\n".join(directives) + "\n}\n")
        return path

    def place(self, directives, ranks, what, name="placed"):
        """A file with the program of forward and backward."""
        schedule, placed = self.write_schedule(directives, ranks), os.path.join(self.work, name + ".mlir")
        run(
            "dist-opt", self.module, f"--dist-apply-schedule=file={schedule}",
            "--dist-differentiate=cotangent=cotangent", "--dist-spmd", f"--dist-recompute=what={what}", "-o", placed,
        )  # fmt: skip
        return placed

    def report(self, *arguments):
        (function,) = json.loads(run("dist-report", "--json", self.place(*arguments)))["functions"]
        function["kept"] = sum(use["kept_bytes"] for use in function["backward"])
        return function


def peak(work, sizes, is_weights, ranks=4):
    model = Stack(work, 8, *sizes)
    data = model.report(DATA, ranks, "cheap")
    fully = model.report(FULLY, ranks, "gathers")
    kept = model.report(FULLY, ranks, "cheap")
    checkpoint = model.report(FULLY + CHECKPOINT, ranks, "cheap")
    figures = {
        name: report["peak_bytes_per_rank"]
        for name, report in (("data", data), ("fully", fully), ("kept", kept), ("checkpoint", checkpoint))
    }
    print(sizes, figures, {name: round(value / figures["data"], 3) for name, value in figures.items()}, flush=True)
    if is_weights:
        assert figures["fully"] <= 0.45 * figures["data"], figures
    assert figures["checkpoint"] <= 0.45 * figures["data"], figures
    assert figures["fully"] < figures["kept"], figures


def kept(work, ranks=2):
    """Of a layer: what the norms read, their sums, q, k, v, the scores, their largest elements and sums, what c_proj
    reads, and what c_fc made; of a checkpointed layer what it reads alone."""
    model = Stack(work, 4, 4, 32, 64)
    rows = model.batch // ranks * model.sequence
    value, row = rows * model.hidden * FLOAT, rows * FLOAT
    scores = rows * model.sequence * model.heads * FLOAT
    most = model.layers * (2 * value + 4 * row + 3 * value + scores + 2 * row * model.heads + value + 4 * value)
    found = model.report(DATA, ranks, "cheap")
    assert found["kept"] <= most, (found["kept"], most)
    found = model.report(DATA + CHECKPOINT, ranks, "cheap")
    # The first one reads an input of the program.
    assert found["kept"] <= (model.layers - 1) * value, (found["kept"], value)
    everything = model.report(DATA, ranks, "asked")
    assert everything["kept"] > 1.4 * most, (everything["kept"], most)
    assert all(use["added_bytes"] == 0 for use in everything["backward"]), everything["backward"]


def added(work, ranks=2):
    """A checkpointed layer repeats its products but the last one, and what row-parallel layers send but the last."""
    model = Stack(work, 2, 4, 32, 64)
    rows = model.batch * model.sequence
    report = model.report(TENSOR + CHECKPOINT, ranks, "cheap")
    layer = {use["scope"]: use for use in report["backward"]}
    square = 2 * rows * model.hidden * model.hidden // ranks
    for number in range(model.layers):
        flops = sum(use["added_flops"] for scope, use in layer.items() if scope.startswith(f"h.{number}."))
        scores = 2 * rows * model.sequence * model.hidden // ranks
        assert flops == 4 * square + 2 * scores + 4 * square, (number, flops, square, scores)
        sent = sum(use["added_bytes_sent"] for scope, use in layer.items() if scope.startswith(f"h.{number}"))
        assert sent == 2 * (ranks - 1) * rows * model.hidden * FLOAT // ranks, (number, sent)


def bits(work, directives, what):
    model = Stack(work, 2, 4, 16, 32)
    weights = model.write_weights()
    folders = []
    for kind in ("asked", what):
        placed = model.place(directives, 2, kind, kind)
        with open(placed) as file:
            assert ("dist.recomputed" in file.read()) == (kind == what), placed
        folders.append(os.path.join(work, "out_" + kind))
        run("dist-run", placed, "--weights", weights, "--random=7", "--output", folders[-1])
    first, second = (sorted(os.listdir(folder)) for folder in folders)
    assert first == second and len(first) > 10, (first, second)
    for name in first:
        contents = []
        for folder in folders:
            with open(os.path.join(folder, name), "rb") as file:
                contents.append(file.read())
        assert contents[0] == contents[1], f"{name} differs"


def verify(work, directives, ranks, *options):
    """Against the program on one rank, which computes nothing again."""
    model = Stack(work, 2, 4, 16, 32)
    gradients = os.path.join(work, "gradients.mlir")
    schedule = model.write_schedule(directives, ranks)
    run(
        "dist-opt", model.module, f"--dist-apply-schedule=file={schedule}",
        "--dist-differentiate=cotangent=cotangent", "-o", gradients,
    )  # fmt: skip
    run("dist-run", gradients, "--weights", model.write_weights(), "--random=7", "--verify=f64", xunit.OPT_LEVEL, "--rtol=1e-10", "--atol=1e-10", *options)


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as work:
        cases = {
            "peak_weights": lambda: peak(work, (4, 64, 256), True),
            "peak_activations": lambda: peak(work, (16, 64, 64), False),
            "kept": lambda: kept(work),
            "added": lambda: added(work),
        }
        for name, directives in (("ddp", DATA), ("fsdp", FULLY), ("tp", TENSOR), ("sp", SEQUENCE)):
            for what in ("cheap", "gathers") if name == "fsdp" else ("cheap",):
                cases[f"bits_{name}_{what}"] = lambda d=directives, w=what: bits(work, d, w)
            for ranks in (1, 2, 4):
                cases[f"verify_{name}_checkpoint_{ranks}"] = lambda d=directives, r=ranks: verify(work, d + CHECKPOINT, r)
        cases["verify_fsdp_gathers"] = lambda: verify(work, FULLY, 2, "--recompute=gathers")
        return xunit.run("e2e.recompute", cases, wanted)


if __name__ == "__main__":
    sys.exit(main())
