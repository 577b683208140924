#!/usr/bin/python3
"""Models of images with the image cut over the ranks, by rows and by rows and columns.

    spatial.py MODEL EXPORTER [REGEX]     only meshes whose name matches

For each mesh: the ranks agree with one device in f64 within 1e-10, and with PyTorch's outputs; collectives are those of
the closed form, to the byte (halo exchanges layer by layer, all_reduces in all; nothing else is sent); and what a rank
computes is at most 1.1 / p of what one device does, times what blocks that do not divide evenly add.
With exchanges of layers that follow each other joined (--join-halos), wherever that can be and where it pays on a slow
link, ranks agree as well.
On some meshes the same of the gradients of all parameters and of the image: exchanges are those of forward, and what
goes home is as many rows of each layer's input.

The closed form is found here rank by rank from what each layer's windows read, not from anything the compiler says.
Programs come from tools/ and models from examples/, below the current folder.
"""

import collections
import glob
import json
import os
import re
import sys
import tempfile
import time
import typing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402
from run_model import Failure, call, compare_npy  # noqa: E402


class Layer(typing.NamedTuple):
    """A layer that reads windows of [channels, rows, columns]."""

    scope: str
    channels: int
    rows: int
    columns: int
    kernel: int = 3
    stride: int = 1
    pad: int = 1


class Model(typing.NamedTuple):
    layers: list
    sums: list  # bytes of what is summed up over all ranks
    height: int
    batch: int = 1
    meshes: tuple = ((2,), (3,), (4,), (1, 2), (2, 2), (3, 2))
    gradients: tuple = ()  # meshes of those
    home: tuple = ()  # layers whose results' rows go home as gradients do
    joins: bool = True  # whether layers on two ranks exchange once; norms over all rows are in between else


def basic_blocks():
    for block in "layer1.0", "layer1.1":
        yield Layer(f"{block}.conv1", 8, 24, 16)
        yield Layer(f"{block}.conv2", 8, 24, 16)
    yield Layer("layer2.0.conv1", 8, 24, 16, stride=2)
    yield Layer("layer2.0.conv2", 16, 12, 8)
    yield Layer("layer2.1.conv1", 16, 12, 8)
    yield Layer("layer2.1.conv2", 16, 12, 8)


def double_convolutions():
    for scope, first, second, rows in [("down0", 3, 8, 48), ("down1", 8, 8, 24), ("middle", 8, 16, 12),
                                       ("merge1", 16, 8, 24), ("merge0", 16, 8, 48)]:
        yield Layer(f"{scope}.conv1", first, rows, rows * 2 // 3)
        yield Layer(f"{scope}.conv2", second, rows, rows * 2 // 3)


MODELS = {
    "resnet": Model([Layer("conv1", 3, 96, 64, 7, 2, 3), Layer("maxpool", 8, 48, 32, 3, 2, 1), *basic_blocks()],
                    [4 * 12], 12, gradients=((4,),)),
    # Strides of kernels of 1 read what a neighbour has where blocks drift apart.
    "wide_resnet": Model([Layer("conv1", 3, 32, 32, 7, 2, 3), Layer("maxpool", 16, 16, 16, 3, 2, 1),
                          Layer("layer1.0.conv2", 16, 8, 8), Layer("layer1.1.conv2", 16, 8, 8),
                          Layer("layer2.0.downsample.0", 32, 8, 8, 1, 2, 0),
                          Layer("layer2.0.conv2", 32, 8, 8, 3, 2, 1), Layer("layer2.1.conv2", 32, 4, 4)],
                         [4 * 2 * 12], 4, batch=2, meshes=((2,), (3,), (4,))),
    # A group norm sums twice, for two groups.
    # Where blocks drift apart, pooling reads what a neighbour has, and what enlarges images makes some of its rows: up1, a
    # transposed convolution, and up0, which repeats columns after that.
    "unet": Model([*double_convolutions(), Layer("pool", 8, 48, 32, 2, 2, 0), Layer("pool", 8, 24, 16, 2, 2, 0)],
                  [4 * 2] * 20, 12, meshes=((2,), (3,), (4,), (5,), (7,), (1, 2), (2, 2), (3, 2)),
                  gradients=((3,), (5,), (2, 2)), home=[Layer("up1", 8, 24, 16, 2, 2, 0), Layer("up0", 8, 48, 16, 2, 2, 0)]),
    "convnext": Model([Layer(f"stage{stage}.{block}.dwconv", 8 << stage, 24 >> stage, 16 >> stage, 7, 1, 3)
                       for stage in (0, 1) for block in (0, 1)], [4 * 16], 12),
}


def exchange(size, layer, ranks):
    """Of one dimension: rows that a rank sends, there or home again, and those that its iterations read."""
    count = (size + 2 * layer.pad - layer.kernel) // layer.stride + 1
    block, iterations = -(-size // ranks), -(-count // ranks)
    low = high = 0
    for rank in range(ranks):
        first, last = rank * iterations, min((rank + 1) * iterations, count)
        if first >= last:
            continue
        begin = max(0, first * layer.stride - layer.pad)
        end = min(size, (last - 1) * layer.stride - layer.pad + layer.kernel)
        low, high = max(low, rank * block - begin), max(high, end - (rank + 1) * block)
    low, high = max(low, 0), max(high, 0)

    def wanted(by, of):
        """Rows of one rank's block among those before and after another's."""
        begin, end = of * block, (of + 1) * block
        before = min(end, by * block) - max(begin, by * block - low)
        after = min(end, (by + 1) * block + high) - max(begin, (by + 1) * block)
        return max(before, 0) + max(after, 0)

    sent = max(sum(wanted(by, of) for by in range(ranks) if by != of) for of in range(ranks))
    return sent, (iterations - 1) * layer.stride + layer.kernel


def closed_form(model, mesh, layers):
    """{scope: bytes that a rank sends} of the halo exchanges, or of what goes home."""
    rows, columns = mesh.get("rows", 1), mesh.get("columns", 1)
    found = collections.Counter()
    for layer in layers:
        sent, read = exchange(layer.rows, layer, rows) if rows > 1 else (0, layer.rows)
        across, _ = exchange(layer.columns, layer, columns) if columns > 1 else (0, 0)
        # Columns take the rows that came along: the corners.
        elements = sent * -(-layer.columns // columns) + across * read
        found[layer.scope] += 4 * model.batch * layer.channels * elements
    return {scope: size for scope, size in found.items() if size}


class Test:
    def __init__(self, name, exporter, scratch):
        self.model, self.folder = MODELS[name], os.path.join(os.path.abspath("examples"), name)
        self.module = os.path.join(scratch, f"{name}.mlir")
        self.scratch = scratch
        call("dist-import", os.path.join(self.folder, f"{name}.{exporter}.onnx"), "-o", self.module)
        (whole,) = json.loads(call(
            "dist-report", self.module, "--schedule", os.path.join(self.folder, "rows.mlir"), "--mesh", "rows=1",
            "--json"))["functions"]
        self.flops = whole["flops_per_rank"]

    def check(self, sizes):
        mesh = dict(zip(("rows", "columns"), sizes))
        ranks = 1
        for size in sizes:
            ranks *= size
        options = ["--schedule", os.path.join(self.folder, "grid.mlir" if len(sizes) > 1 else "rows.mlir"),
                   "--mesh", ",".join(f"{axis}={size}" for axis, size in mesh.items())]
        self.check_results(options, ranks)
        report = json.loads(call("dist-report", self.module, *options, "--json"))
        (function,) = report["functions"]
        halos, home, sums = collections.Counter(), collections.Counter(), 0
        for collective in function["collectives"]:
            size = collective["count"] * collective["bytes_sent_per_rank"]
            if collective["op"] == "halo_exchange":
                halos[collective["scope"]] += size
            elif collective["op"] == "halo_reduce":
                home[collective["scope"]] += size
            elif collective["op"] == "all_reduce":
                sums += size
            else:
                raise Failure(f"sends more than halos and sums: {collective}")
        for found, layers in (halos, self.model.layers), (home, self.model.home):
            expected = closed_form(self.model, mesh, layers)
            if found != expected:
                raise Failure(f"exchanges send {dict(found)}, expected {expected}")
        wanted = sum(2 * (ranks - 1) * size // ranks for size in self.model.sums)
        if sums != wanted:
            raise Failure(f"sums send {sums} bytes, expected {wanted}")
        # Blocks of the smallest image.
        uneven = 1.0
        for size, whole in zip(sizes, (self.model.height, 8)):
            uneven *= -(-whole // size) * size / whole
        bound = 1.1 / ranks * uneven
        if not 1 / ranks <= function["flops_per_rank"] / self.flops <= bound:
            raise Failure(f"a rank does {function['flops_per_rank']} of {self.flops} FLOP, more than {bound:.3f} of it")

        self.check_joined(mesh, options, ranks, function)
        if sizes in self.model.gradients:
            self.check_gradients(mesh, ranks)

    def check_joined(self, mesh, options, ranks, apart):
        for joining in ["--join-halos=always"], ["--join-halos=auto", "--machine", "cpu", "--link", "latency=100us"]:
            self.verify(self.module, [*options, *joining], ranks)
        joined = os.path.join(self.scratch, "joined.mlir")
        call("dist-opt", self.module, f"--dist-apply-schedule=file={self.write_schedule(mesh)}", "--dist-spmd",
             "--dist-join-halos=join=always", "--cse", "--dist-verify-spmd", "-o", joined)
        (function,) = json.loads(call("dist-report", joined, "--json"))["functions"]

        def count(report):
            return sum(c["count"] for c in report["collectives"] if c["op"] == "halo_exchange")

        most = count(apart) - (1 if self.model.joins and mesh == {"rows": 2} else 0)
        if count(function) > most or (not self.model.joins and count(function) != most):
            raise Failure(f"joined there are {count(function)} exchanges of {count(apart)}")
        if function["flops_per_rank"] < apart["flops_per_rank"]:
            raise Failure(f"joined a rank does {function['flops_per_rank']} FLOP of {apart['flops_per_rank']}")

    def write_schedule(self, mesh):
        with open(os.path.join(self.folder, "grid.mlir" if len(mesh) > 1 else "rows.mlir")) as file:
            text = file.read()
        for axis, size in mesh.items():
            text = re.sub(rf'"{axis}" = \d+', f'"{axis}" = {size}', text)
        schedule = os.path.join(self.scratch, "schedule.mlir")
        with open(schedule, "w") as file:
            file.write(text)
        return schedule

    def check_gradients(self, mesh, ranks):
        schedule = self.write_schedule(mesh)
        made, placed = (os.path.join(self.scratch, f"{name}.mlir") for name in ("gradients", "placed"))
        call("dist-opt", self.module, f"--dist-apply-schedule=file={schedule}",
             "--dist-differentiate=cotangent=cotangent wrt=**", "-o", made)
        call("dist-opt", made, "--dist-spmd", "-o", placed)
        self.verify(made, ["--input", "cotangent=random"], ranks)
        self.verify(made, ["--input", "cotangent=random", "--join-halos=always"], ranks)
        (function,) = json.loads(call("dist-report", placed, "--json"))["functions"]
        for op in ("halo_exchange", "halo_reduce"):
            sent = collections.Counter()
            for collective in function["collectives"]:
                if collective["op"] == op:
                    sent[collective["scope"]] += collective["count"] * collective["bytes_sent_per_rank"]
            expected = closed_form(self.model, mesh, [*self.model.layers, *self.model.home])
            if sent != expected:
                raise Failure(f"with gradients {op}s send {dict(sent)}, expected {expected}")
        others = {collective["op"] for collective in function["collectives"]} - {"halo_exchange", "halo_reduce", "all_reduce"}
        if others:
            raise Failure(f"gradients send more than halos and sums: {others}")

    def verify(self, module, options, ranks):
        text = call("dist-run", module, *options, "--input", f"x={self.folder}/inputs0/x.npy", "--verify=f64", xunit.OPT_LEVEL,
                    "--atol=1e-10", "--rtol=1e-10", "--json")
        verdict = json.loads(text.strip().splitlines()[-1])
        if verdict["ok"] is not True or verdict["ranks"] != ranks or not verdict["outputs"]:
            raise Failure(f"not the verdict of {ranks} ranks that agree: {verdict}")

    def check_results(self, options, ranks):
        results = os.path.join(self.scratch, "results")
        self.verify(self.module, [*options, "--output", results], ranks)
        for path in glob.glob(os.path.join(self.folder, "outputs0", "*.npy")):
            compare_npy(os.path.join(results, os.path.basename(path)), path, 1e-4)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    name, exporter, wanted = (sys.argv[1:] + [""])[:3]
    results = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
        test = Test(name, exporter, scratch)
        for sizes in MODELS[name].meshes:
            mesh, start, problem = "x".join(map(str, sizes)), time.monotonic(), None
            if not re.search(wanted, mesh):
                continue
            try:
                test.check(sizes)
            except Failure as failure:
                problem = str(failure)
            results.append((mesh, time.monotonic() - start, problem))
            print("ok" if problem is None else "FAILED", mesh, problem or "", flush=True)
    return xunit.finish(f"e2e.spatial.{name}.{exporter}", results)


if __name__ == "__main__":
    sys.exit(main())
