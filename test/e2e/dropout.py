#!/usr/bin/python3
"""Dropout in training mode: what is dropped is what Philox4x32-10 says of the seed, the step, the operator and the
element's place in the whole tensor.

    dropout.py [REGEX]     only cases whose name matches

- `one`: on one rank, for several seeds and steps, both results of two operators are those of the function below, which
  gives the known answers of its authors (Salmon et al. 2011; Random123's kat_vectors);
- `meshes_DIM_RANKS`: the same, bit for bit, with a dimension shared out, unevenly too; and so the gradient, which
  computes the mask again;
- `training`: dropout in training has the curve of one rank on several, another mask in each step and microbatch.

Programs come from tools/ below the current folder; protoc is the system's.
"""

import array
import functools
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import xunit  # noqa: E402

TOOLS = os.path.abspath(os.environ.get("DIST_TOOLS", "tools"))
PROTO = os.path.join(HERE, "..", "frontends", "onnx", "Inputs")
SHAPE = (3, 5, 7)
RATIOS = (0.25, 0.5)


def philox(counter, key):
    """Four words, of four and two."""
    a, b, c, d = counter
    k, l = key
    for _ in range(10):
        p, q = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = q >> 32 ^ b ^ k, q & 0xFFFFFFFF, p >> 32 ^ d ^ l, p & 0xFFFFFFFF
        k, l = (k + 0x9E3779B9) & 0xFFFFFFFF, (l + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


ONES = 0xFFFFFFFF
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def is_kept(seed, step, operator, element, ratio):
    counter = element & ONES, element >> 32, operator, step & ONES
    return philox(counter, (seed & ONES, seed >> 32 & ONES))[0] >= round(ratio * 2**32)


def tensor(name, kind, shape):
    dims = " ".join(f"dim {{ dim_value: {size} }}" for size in shape)
    return f'{{ name: "{name}" type {{ tensor_type {{ elem_type: {kind} shape {{ {dims} }} }} }} }}'


def encode(text):
    command = ["protoc", "--encode=onnx.ModelProto", f"--proto_path={PROTO}", "onnx.proto"]
    return subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


MODEL = f"""
ir_version: 8 opset_import {{ version: 17 }}
graph {{
  input {tensor("x", 1, SHAPE)}
  initializer {{ name: "quarter" data_type: 1 float_data: {RATIOS[0]} }}
  initializer {{ name: "training" data_type: 9 int32_data: 1 }}
  node {{ name: "first" op_type: "Dropout" input: "x" input: "quarter" input: "training" output: "y" output: "mask" }}
  node {{ name: "second" op_type: "Dropout" input: "y" input: "" input: "training" output: "z" }}
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


def run(program, *arguments):
    done = subprocess.run(
        [os.path.join(TOOLS, program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def read_npy(path, letter):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<H", data, 8)
    return list(array.array(letter, data[10 + length :]))


def write_npy(path, shape, kind, letter, numbers):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(array.array(letter, numbers).tobytes())


class Subject:
    def __init__(self, work):
        self.work = work
        for name, text in ("drop", MODEL), ("layer", LAYER):
            with open(self.path(name + ".onnx"), "wb") as file:
                file.write(encode(text))
            run("dist-import", self.path(name + ".onnx"), "-o", self.path(name + ".mlir"))
        count = SHAPE[0] * SHAPE[1] * SHAPE[2]
        self.x = [1.0 + i / 8 for i in range(count)]
        write_npy(self.path("x.npy"), SHAPE, "<f4", "f", self.x)

    def path(self, name):
        return os.path.join(self.work, name)

    def drop(self, module, seed, step, *results):
        folder = self.path("out")
        run(
            "dist-run", self.path(module), f"--input=x={self.path('x.npy')}", f"--input=seed={seed}",
            f"--input=step={step}", *(["--input=dy=1"] if "x.grad" in results else []), f"--output={folder}",
        )  # fmt: skip
        return [read_npy(os.path.join(folder, name + ".npy"), "B" if name == "mask" else "f") for name in results]

    def expect(self, seed, step):
        first = [is_kept(seed, step, 0, i, RATIOS[0]) for i in range(len(self.x))]
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
        with open(schedule, "w") as file:
            file.write(f'dist.mesh @m ["d" = {ranks}]\ndist.schedule @s on @m {{ dist.shard input "x" [{dims}] }}\n')
        run(
            "dist-opt", self.path("drop.mlir"), f"--dist-apply-schedule=file={schedule}",
            "--dist-differentiate=of=z cotangent=dy wrt=x", "-o", self.path("sharded.mlir"),
        )  # fmt: skip
        mask, z, gradient = self.expect(5, 3)
        local = run("dist-opt", self.path("sharded.mlir"), "--dist-spmd")
        part = re.search(r'tensor<([\dx]+)xf32> \{dist.global_type = tensor<3x5x7xf32>, dist.output = "z"', local)
        assert part and part[1] != "3x5x7" and "all_" not in local, local
        assert self.drop("sharded.mlir", 5, 3, "mask", "z", "x.grad") == [mask, z, gradient]

    def check_training(self):
        rows = 24
        write_npy(self.path("rows.npy"), [rows, 6], "<f4", "f", [1.0] * (rows * 6))
        write_npy(self.path("labels.npy"), [rows], "<i8", "q", [i % 3 for i in range(rows)])
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
        return xunit.run("e2e.dropout", cases, wanted)


if __name__ == "__main__":
    sys.exit(main())
