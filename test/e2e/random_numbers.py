#!/usr/bin/python3
"""Random operators of ONNX: what they draw is what Philox4x32-10 says of the seed, the step, the operator and the
element's place, by the formulas of docs/internals/training.md.

    random_numbers.py [REGEX]     only cases whose name matches

- `one`: on one rank, each operator and type, for several seeds and steps; a node's own seed is in place of the program's;
- `meshes_DIM_RANKS`: the same bits with a dimension sharded, unevenly too; of what rounds (`off` below), the same
  within that;
- `paths_RANKS`: stochastic depth as PyTorch exports it, and its gradient, which draws the mask again;
- `moments`: of many numbers mean and deviation are those that were asked for.
"""

import functools
import math
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import npy  # noqa: E402
import xunit  # noqa: E402
from philox import encode, run, tensor, words_of  # noqa: E402

SHAPE = (3, 5)
COUNT = SHAPE[0] * SHAPE[1]
F32, F16, F64, BOOL, I64 = 1, 10, 11, 9, 7
LETTERS = {F32: "f", F16: "e", F64: "d", BOOL: "B", I64: "q"}
OWN_SEED = 2.5


def rounded(kind, value):
    return struct.unpack(LETTERS[kind], struct.pack(LETTERS[kind], value))[0]


def f32(value):
    return rounded(F32, value)


def uniform(words, kind, low=0.0, high=1.0):
    if kind == F64:
        return ((words[0] >> 5) * 2**26 + (words[1] >> 6)) * 2.0**-53 * (high - low) + low
    return rounded(kind, f32(f32((words[0] >> 8) * 2.0**-24 * (high - low)) + low))


def normal(words, kind, mean=0.0, scale=1.0):
    if kind == F64:
        radius, turn = 1 - uniform(words[:2], F64), uniform(words[2:], F64)
    else:
        radius, turn = f32((words[0] + 1) * 2.0**-32), (words[1] >> 8) * 2.0**-24
    return math.sqrt(-2 * math.log(radius)) * math.cos(2 * math.pi * turn) * scale + mean


def bernoulli(words, probability):
    return int(words[0] * 2.0**-32 < probability)


# The result, the operator, its input, attributes, its kind, what it draws of the words and x, and how far off it may be.
def shaped(**more):
    return {"shape": SHAPE, **more}


OPERATORS = [
    ("u", "RandomUniform", "", shaped(low=-1.0, high=3.0), F32, lambda w, x: uniform(w, F32, -1.0, 3.0), 0),
    ("v", "RandomUniform", "", shaped(low=2.0, high=3.5, dtype=F64), F64, lambda w, x: uniform(w, F64, 2.0, 3.5), 1e-15),
    ("h", "RandomUniformLike", "x", {"dtype": F16}, F16, lambda w, x: uniform(w, F16), 0),
    ("l", "RandomUniformLike", "x", {}, F32, lambda w, x: uniform(w, F32), 0),
    ("n", "RandomNormal", "", shaped(mean=1.0, scale=0.5), F32, lambda w, x: normal(w, F32, 1.0, 0.5), 4e-6),
    ("m", "RandomNormalLike", "x", {"dtype": F64}, F64, lambda w, x: normal(w, F64), 1e-14),
    ("k", "RandomNormalLike", "x", {"scale": 2.0}, F32, lambda w, x: normal(w, F32, 0.0, 2.0), 1e-5),
    ("b", "Bernoulli", "x", {}, F32, lambda w, x: bernoulli(w, x), 0),
    ("c", "Bernoulli", "x", {"dtype": BOOL}, BOOL, lambda w, x: bernoulli(w, x), 0),
    ("d", "Bernoulli", "x", {"dtype": I64}, I64, lambda w, x: bernoulli(w, x), 0),
    ("s", "RandomUniform", "", shaped(seed=OWN_SEED), F32, lambda w, x: uniform(w, F32), 0),
    ("t", "Bernoulli", "x", {"seed": OWN_SEED}, F32, lambda w, x: bernoulli(w, x), 0),
]


def attribute(name, value):
    if isinstance(value, tuple):
        return f'attribute {{ name: "{name}" type: 7 {" ".join(f"ints: {v}" for v in value)} }}'
    return f'attribute {{ name: "{name}" ' + (
        f"type: 1 f: {value} }}" if isinstance(value, float) else f"type: 2 i: {value} }}"
    )


def node(result, operator, read, attributes):
    given = f'input: "{read}"' if read else ""
    said = " ".join(attribute(name, value) for name, value in attributes.items())
    return f'node {{ name: "{result}" op_type: "{operator}" {given} output: "{result}" {said} }}'


MODEL = f"""
ir_version: 8 opset_import {{ version: 17 }}
graph {{
  input {tensor("x", F32, SHAPE)}
  {" ".join(node(*one[:4]) for one in OPERATORS)}
  {" ".join(f"output {tensor(one[0], one[4], SHAPE)}" for one in OPERATORS)}
}}
"""

# torchvision's and timm's stochastic depth, a row at a time, as both of PyTorch's exporters write it.
KEPT = 0.75
PATHS = f"""
ir_version: 8 opset_import {{ version: 17 }}
graph {{
  input {tensor("x", F32, (6, 4))}
  initializer {{ name: "rows" data_type: 7 dims: 2 int64_data: [6, 1] }}
  initializer {{ name: "kept" data_type: 1 float_data: {KEPT} }}
  node {{ name: "zeros" op_type: "ConstantOfShape" input: "rows" output: "zeros" }}
  node {{ name: "drawn" op_type: "RandomUniformLike" input: "zeros" output: "drawn" }}
  node {{ name: "less" op_type: "Less" input: "drawn" input: "kept" output: "less" }}
  node {{ name: "cast" op_type: "Cast" input: "less" output: "mask" {attribute("to", F32)} }}
  node {{ name: "div" op_type: "Div" input: "mask" input: "kept" output: "scale" }}
  node {{ name: "mul" op_type: "Mul" input: "x" input: "scale" output: "y" }}
  output {tensor("y", F32, (6, 4))}
}}
"""

MANY = f"""
ir_version: 8 opset_import {{ version: 17 }}
graph {{
  {node("n", "RandomNormal", "", {"shape": (200, 500), "mean": 3.0, "scale": 2.0})}
  {node("u", "RandomUniform", "", {"shape": (200, 500), "low": -1.0, "high": 5.0})}
  output {tensor("n", F32, (200, 500))} output {tensor("u", F32, (200, 500))}
}}
"""


class Subject:
    def __init__(self, work):
        self.work = work
        for name, text in ("all", MODEL), ("paths", PATHS), ("many", MANY):
            with open(self.path(name + ".onnx"), "wb") as file:
                file.write(encode(text))
            run("dist-import", self.path(name + ".onnx"), "-o", self.path(name + ".mlir"))
        self.x = [f32((i + 0.5) / COUNT) for i in range(COUNT)]
        npy.write(self.path("x.npy"), "f32", SHAPE, self.x)

    def path(self, name):
        return os.path.join(self.work, name)

    def draw(self, module, seed, step, kinds, *more):
        folder = self.path("out")
        run("dist-run", self.path(module), f"--input=seed={seed}", f"--input=step={step}", f"--output={folder}", *more)
        return {name: npy.read(os.path.join(folder, name + ".npy"))[2] for name in kinds}

    def draw_all(self, module, seed, step, *more):
        kinds = {one[0]: one[4] for one in OPERATORS}
        return self.draw(module, seed, step, kinds, f"--input=x={self.path('x.npy')}", *more)

    def check_one(self):
        own = struct.unpack("<I", struct.pack("<f", OWN_SEED))[0]
        for seed, step in [(0, 0), (5, 3), (0x299F31D0A4093822, 2**32 + 5)]:
            drawn = self.draw_all("all.mlir", seed, step)
            for number, (name, _, _, attributes, _, function, off) in enumerate(OPERATORS):
                key = own if "seed" in attributes else seed
                for i, (value, x) in enumerate(zip(drawn[name], self.x, strict=True)):
                    wanted = function(words_of(key, step, number, i), x)
                    assert abs(value - wanted) <= off, f"{name}[{i}] = {value}, not {wanted}: seed {seed}, step {step}"

    def check_mesh(self, dim, ranks):
        dims = ", ".join('{"d"}' if i == dim else "{}" for i in range(len(SHAPE)))
        places = "".join(f'  dist.shard value "{one[0]}" [{dims} ]\n' for one in OPERATORS)
        schedule = self.path("schedule.mlir")
        with open(schedule, "w") as file:
            file.write(f'dist.mesh @m ["d" = {ranks}]\ndist.schedule @s on @m {{\n{places}}}\n')
        local = run(
            "dist-opt", self.path("all.mlir"), f"--dist-apply-schedule=file={schedule}", "--dist-spmd", "-o", "-"
        )
        assert "all_" not in local, local
        many = self.draw_all("all.mlir", 5, 3, f"--schedule={schedule}")
        one = self.draw_all("all.mlir", 5, 3)
        for name, _, _, _, _, _, off in OPERATORS:
            for i, (value, wanted) in enumerate(zip(many[name], one[name], strict=True)):
                assert abs(value - wanted) <= off, f"{name}[{i}] is {value} on {ranks} ranks, {wanted} on one"

    def check_paths(self, ranks):
        schedule = self.path("rows.mlir")
        with open(schedule, "w") as file:
            file.write(f'dist.mesh @m ["d" = {ranks}]\ndist.schedule @s on @m {{ dist.shard input "x" [{{"d"}}, {{}} ] }}\n')
        run(
            "dist-opt", self.path("paths.mlir"), f"--dist-apply-schedule=file={schedule}",
            "--dist-differentiate=of=y cotangent=dy wrt=x", "-o", self.path("gradient.mlir"),
        )  # fmt: skip
        kept = [uniform(words_of(5, 3, 0, row), F32) < f32(KEPT) for row in range(6)]
        assert 0 < sum(kept) < 6, kept
        scale = f32(1 / f32(KEPT))
        wanted = [scale if one else 0.0 for one in kept for _ in range(4)]
        drawn = self.draw("gradient.mlir", 5, 3, {"y": F32, "x.grad": F32}, "--input=x=1", "--input=dy=1")
        assert drawn == {"y": wanted, "x.grad": wanted}, drawn

    def check_moments(self):
        drawn = self.draw("many.mlir", 1, 0, {"n": F32, "u": F32})
        for name, mean, deviation in ("n", 3, 2), ("u", 2, 6 / math.sqrt(12)):
            values = drawn[name]
            found = sum(values) / len(values)
            spread = math.sqrt(sum((value - found) ** 2 for value in values) / len(values))
            # Five times what a mean of 100,000 numbers is off by.
            assert abs(found - mean) < 5 * deviation / math.sqrt(len(values)), found
            assert abs(spread / deviation - 1) < 5 / math.sqrt(len(values)), spread
        inside = sum(abs(value - 3) < 2 for value in drawn["n"]) / len(drawn["n"])
        assert abs(inside - math.erf(1 / math.sqrt(2))) < 0.008, inside


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as work:
        subject = Subject(work)
        cases = {"one": subject.check_one, "moments": subject.check_moments}
        for ranks in 1, 2, 4:
            cases[f"paths_{ranks}"] = functools.partial(subject.check_paths, ranks)
        for dim in range(len(SHAPE)):
            for ranks in 2, 3, 4:
                cases[f"meshes_{dim}_{ranks}"] = functools.partial(subject.check_mesh, dim, ranks)
        return xunit.run("e2e.random_numbers", cases, wanted)


if __name__ == "__main__":
    sys.exit(main())
