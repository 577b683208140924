#!/usr/bin/python3
"""Dropout in training mode: what is dropped is what Philox4x32-10 says of the seed, the step, the operator and the
element's place in the whole tensor; or in a device's part, where dist.random_streams says so.

    dropout.py [REGEX]     only cases whose name matches

- `one`: on one rank, for several seeds and steps, both results of two operators are those of the function in philox.py,
  which gives the known answers of its authors;
- `meshes_DIM_RANKS`: the same, bit for bit, with a dimension sharded, unevenly too; and so the gradient, which
  computes the mask again, also under dist.checkpoint;
- `streams_DIM_RANKS`, `streams_AXES`: with streams of devices' own, over one axis and over some of two; and --verify
  finds the same, of a bundle too;
- `training`: dropout in training has the curve of one rank on several, another mask in each step and microbatch.
"""

import functools
import itertools
import os
import re
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import npy  # noqa: E402
import xunit  # noqa: E402
from philox import KNOWN, encode, philox, run, tensor, words_of  # noqa: E402

SHAPE = (3, 5, 7)
RATIOS = (0.25, 0.5)


def is_kept(seed, step, operator, element, ratio, stream=None):
    return words_of(seed, step, operator, element, stream)[0] >= round(ratio * 2**32)


def place_in_stream(place, layout, streams):
    """The number of an element, and which stream it is of, where each dimension is cut over the axes that `layout` has
    for it, (name, size) from major to minor, and the devices along `streams` have streams of their own. A dimension that
    is cut unevenly has blocks of its upper half size, level by level."""
    number, coordinates = 0, {}
    for index, size, axes in zip(place, SHAPE, layout):
        block = size
        own, ownSize = 0, 1
        for name, count in axes:
            block = -(-block // count)
            if name in streams:
                coordinates[name] = index // block
            else:
                own, ownSize = own * count + index // block, ownSize * count
            index %= block
        number = number * (ownSize * block) + own * block + index
    sizes = {name: count for axes in layout for name, count in axes}
    stream = 0
    for name in streams:
        stream = stream * sizes[name] + coordinates[name]
    return number, stream


MODEL = f"""
ir_version: 8 opset_import {{ version: 17 }}
graph {{
  input {tensor("x", 1, SHAPE)}
  initializer {{ name: "quarter" data_type: 1 float_data: {RATIOS[0]} }}
  initializer {{ name: "training" data_type: 9 int32_data: 1 }}
  node {{ name: "/first/Dropout" op_type: "Dropout" input: "x" input: "quarter" input: "training" output: "y" output: "mask" }}
  node {{ name: "/second/Dropout" op_type: "Dropout" input: "y" input: "" input: "training" output: "z" }}
  output {tensor("mask", 9, SHAPE)} output {tensor("z", 1, SHAPE)}
}}
"""

# Rows of x, some elements of which are dropped, times a weight.
LAYER = f"""
ir_version: 8 opset_import {{ version: 17 }}
graph {{
  input {tensor("x", 1, (4, 6))}
  initializer {{ name: "w" data_type: 1 dims: 6 dims: 3 float_data: [{", ".join(str(i % 5 - 2) for i in range(18))}] }}
  initializer {{ name: "training" data_type: 9 int32_data: 1 }}
  node {{ name: "drop" op_type: "Dropout" input: "x" input: "" input: "training" output: "d" }}
  node {{ name: "layer" op_type: "MatMul" input: "d" input: "w" output: "y" }}
  output {tensor("y", 1, (4, 3))}
}}
"""


class Subject:
    def __init__(self, work):
        self.work = work
        for name, text in ("drop", MODEL), ("layer", LAYER):
            with open(self.path(name + ".onnx"), "wb") as file:
                file.write(encode(text))
            run("dist-import", self.path(name + ".onnx"), "-o", self.path(name + ".mlir"))
        count = SHAPE[0] * SHAPE[1] * SHAPE[2]
        self.x = [1.0 + i / 8 for i in range(count)]
        npy.write(self.path("x.npy"), "f32", SHAPE, self.x)

    def path(self, name):
        return os.path.join(self.work, name)

    def drop(self, module, seed, step, *results):
        folder = self.path("out")
        run(
            "dist-run", self.path(module), f"--input=x={self.path('x.npy')}", f"--input=seed={seed}",
            f"--input=step={step}", *(["--input=dy=1"] if "x.grad" in results else []), f"--output={folder}",
        )  # fmt: skip
        return [npy.read(os.path.join(folder, name + ".npy"))[2] for name in results]

    def expect(self, seed, step, layout=None, streams=()):
        """The mask, the result and the gradient; with `streams`, of the first operator alone."""
        first = [is_kept(seed, step, 0, i, RATIOS[0]) for i in range(len(self.x))]
        if streams:
            places = itertools.product(*map(range, SHAPE))
            numbers = [place_in_stream(place, layout, streams) for place in places]
            first = [is_kept(seed, step, 0, i, RATIOS[0], stream) for i, stream in numbers]
        second = [is_kept(seed, step, 1, i, RATIOS[1]) for i in range(len(self.x))]
        scale = struct.unpack("f", struct.pack("f", 1 / (1 - RATIOS[0])))[0]
        y = [struct.unpack("f", struct.pack("f", x * scale))[0] if kept else 0.0 for x, kept in zip(self.x, first)]
        gradient = [2 * scale if a and b else 0.0 for a, b in zip(first, second)]
        return [int(kept) for kept in first], [2 * v if kept else 0.0 for v, kept in zip(y, second)], gradient

    def check_one(self):
        for counter, key, words in KNOWN:
            assert philox(counter, key) == words
        assert [is_kept(0, 0, 0, 0, 0x6627E8D5 / 2**32), is_kept(0, 0, 0, 0, 0x6627E8D6 / 2**32)] == [True, False]
        seen = set()
        for seed, step in [(0, 0), (1, 0), (0, 1), (0x299F31D0A4093822, 0x03707344), (-1, 2**32 + 5)]:
            mask, z, _ = self.expect(seed, step)
            assert self.drop("drop.mlir", seed, step, "mask", "z") == [mask, z], f"seed {seed}, step {step}"
            seen.add(tuple(mask))
        assert len(seen) == 5
        kept = sum(map(sum, seen)) / (5 * len(self.x))
        assert abs(kept - (1 - RATIOS[0])) < 0.08, kept

    def check_mesh(self, dim, ranks):
        dims = ", ".join('{"d"}' if i == dim else "{}" for i in range(len(SHAPE)))
        schedule = self.path("schedule.mlir")
        mask, z, gradient = self.expect(5, 3)
        for again in "", 'dist.checkpoint "{first,second}"':
            with open(schedule, "w") as file:
                file.write(f'dist.mesh @m ["d" = {ranks}]\ndist.schedule @s on @m {{\n')
                file.write(f'  dist.shard input "x" [{dims}]\n  {again}\n}}\n')
            run(
                "dist-opt", self.path("drop.mlir"), f"--dist-apply-schedule=file={schedule}",
                "--dist-differentiate=of=z cotangent=dy wrt=x", "-o", self.path("sharded.mlir"),
            )  # fmt: skip
            local = run("dist-opt", self.path("sharded.mlir"), "--dist-spmd")
            part = re.search(r'tensor<([\dx]+)xf32> \{dist.global_type = tensor<3x5x7xf32>, dist.output = "z"', local)
            assert part and part[1] != "3x5x7" and "all_" not in local, local
            assert self.drop("sharded.mlir", 5, 3, "mask", "z", "x.grad") == [mask, z, gradient], again

    def check_streams(self, layout, streams):
        axes = {name: size for dim in layout for name, size in dim}
        mesh = ", ".join(f'"{name}" = {size}' for name, size in axes.items())
        dims = ", ".join("{" + ", ".join(f'"{name}"' for name, _ in dim) + "}" for dim in layout)
        over = ", ".join(f'"{name}"' for name in streams)
        schedule = self.path("schedule.mlir")
        with open(schedule, "w") as file:
            file.write(
                f"dist.mesh @m [{mesh}]\ndist.schedule @s on @m {{\n"
                f'  dist.shard input "x" [{dims} ]\n  dist.random_streams "first" over {over} expect 1\n}}\n'
            )
        run(
            "dist-opt", self.path("drop.mlir"), f"--dist-apply-schedule=file={schedule}",
            "--dist-differentiate=of=z cotangent=dy wrt=x", "-o", self.path("streams.mlir"),
        )  # fmt: skip
        seed, step = 2**32 * 7 + 5, 3
        expected = self.expect(seed, step, layout, streams)
        assert expected[0] != self.expect(seed, step)[0]
        assert self.drop("streams.mlir", seed, step, "mask", "z", "x.grad") == list(expected)
        bundle = self.path("streams.dist")
        run("dist-compile", self.path("drop.mlir"), f"--schedule={schedule}", "-o", bundle)
        for program in (
            [self.path("drop.mlir"), f"--schedule={schedule}", "--verify"],
            [bundle, f"--reference={self.path('drop.mlir')}"],
        ):
            said = run(
                "dist-run", *program, f"--input=x={self.path('x.npy')}", f"--input=seed={seed}", f"--input=step={step}"
            )
            assert f"random numbers of 1 operator come from streams of each device along {over}: on another" in said, said
            for name in "mask", "z":
                assert f"{name}: equal to the program on one rank that draws from the same streams" in said, said

    def check_training(self):
        rows = 24
        npy.write(self.path("rows.npy"), "f32", [rows, 6], [1.0] * (rows * 6))
        npy.write(self.path("labels.npy"), "i64", [rows], [i % 3 for i in range(rows)])
        schedule = self.path("rows.mlir")
        with open(schedule, "w") as file:
            file.write('dist.mesh @m ["d" = 3]\ndist.schedule @s on @m { dist.shard input "x" [{"d"}, {}] }\n')
        curves = []
        for options in [], [f"--schedule={schedule}"], ["--seed=1"]:
            curve = self.path("curve.csv")
            if os.path.exists(curve):
                os.remove(curve)
            run(
                "dist-run", "--train", self.path("layer.mlir"), "--steps=3", "--in-order", "--accumulate=2",
                f"--data=x={self.path('rows.npy')}", f"--data=labels={self.path('labels.npy')}",
                "--optimizer=sgd,lr=0", f"--curve={curve}", *options,
            )  # fmt: skip
            with open(curve) as file:
                curves.append([float(line.split(",")[1]) for line in file.read().split()[1:]])
        # All rows are alike, nothing is learnt: losses differ by what is dropped, and by the labels.
        one, many, other = curves
        assert max(abs(a - b) for a, b in zip(one, many, strict=True)) < 1e-5, curves
        assert all(abs(a - b) > 1e-4 for a, b in zip(one, other)), curves
        assert len(set(one)) == 3, one


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as work:
        subject = Subject(work)
        cases = {"one": subject.check_one, "training": subject.check_training}
        for dim in range(len(SHAPE)):
            for ranks in 2, 3, 4:
                cases[f"meshes_{dim}_{ranks}"] = functools.partial(subject.check_mesh, dim, ranks)
        for dim in range(len(SHAPE)):
            for ranks in 2, 3, 4:
                layout = [[("d", ranks)] if i == dim else [] for i in range(len(SHAPE))]
                cases[f"streams_{dim}_{ranks}"] = functools.partial(subject.check_streams, layout, ["d"])
        both = [("dp", 2), ("tp", 2)]
        for streams in ["tp"], ["dp"], ["dp", "tp"], ["tp", "dp"]:
            name = "_".join(streams)
            cases[f"streams_{name}"] = functools.partial(subject.check_streams, [[], both, []], streams)
            apart = [both[:1], [], both[1:]]
            cases[f"streams_{name}_apart"] = functools.partial(subject.check_streams, apart, streams)
        return xunit.run("e2e.dropout", cases, wanted)


if __name__ == "__main__":
    sys.exit(main())
