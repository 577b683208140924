#!/usr/bin/python3
"""Random programs cut into random stages: what a pipeline computes is what one device computes.

    random_stacks.py [FIRST_SEED]

A seed is a program of 2 to 6 modules in f64. Each module has some ops on matrices, which read any value made before: so
there are skips over several stages, parameters that several stages read, values of several stages that meet, results of
any stage, ops of modules that no stage lists, and sometimes a statistic that each microbatch updates. Its schedule has a
table, maybe an axis "dp" that shards rows, ZeRO and checkpoints. dist-run then says that a step of training, and a
forward pass, agree with one device within 1e-10; in any order of streams, on threads or processes.

DIST_RANDOM_STACKS seeds are tried, 16 unless it is set. Programs come from tools/, below the current folder.
"""

import math
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import xunit  # noqa: E402
from mutate_schedules import LOCATED, RUN_SECONDS, Failure, call  # noqa: E402
from train import write_safetensors  # noqa: E402

ROWS, COLUMNS = 4, 8
MATRIX, WEIGHT, ROW = (f"tensor<{shape}xf64>" for shape in (f"{ROWS}x{COLUMNS}", f"{COLUMNS}x{COLUMNS}", f"{COLUMNS}"))
WHOLE, OF_COLUMNS = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (j)>"


class Program:
    """A program that grows. Values are names; `types` are theirs."""

    def __init__(self, source):
        self.source, self.lines, self.arguments, self.types = source, [], [], {}
        self.parameters = {}  # {name: shape}
        self.scope = ""

    def argument(self, name, type_, attributes):
        self.types[f"%{name}"] = type_
        self.arguments.append(f"%{name}: {type_} {{{attributes}}}")
        return f"%{name}"

    def parameter(self, name, type_, attributes=""):
        self.parameters[name] = [COLUMNS, COLUMNS] if type_ == WEIGHT else [COLUMNS]
        return self.argument(name, type_, f'dist.parameter = "{name}"{attributes}')

    def new(self, type_, text):
        value = f"%v{len(self.types)}"
        self.types[value] = type_
        self.lines.append(f"{value} = {text}")
        return value

    def attributes(self):
        return f'{{dist.scope = "{self.scope}"}}' if self.scope else ""

    def empty(self, type_):
        return self.new(type_, f"tensor.empty() : {type_}")

    def zeros(self, type_):
        return self.new(type_, f"linalg.fill ins(%zero : f64) outs({self.empty(type_)} : {type_}) -> {type_}")

    def named(self, op, *values):
        """An op of linalg on values of one type."""
        type_ = self.types[values[0]]
        ins = f"{', '.join(values)} : {', '.join([type_] * len(values))}"
        return self.new(type_, f"linalg.{op} {self.attributes()} ins({ins}) outs({self.empty(type_)} : {type_}) -> {type_}")

    def product(self, value, weight):
        ins = f"{value}, {weight} : {MATRIX}, {WEIGHT}"
        return self.new(MATRIX, f"linalg.matmul {self.attributes()} ins({ins}) outs({self.zeros(MATRIX)} : {MATRIX}) -> {MATRIX}")

    def transposed(self, weight):
        init = self.empty(WEIGHT)
        return self.new(WEIGHT, f"linalg.transpose ins({weight} : {WEIGHT}) outs({init} : {WEIGHT}) permutation = [1, 0] {self.attributes()}")

    def scaled(self, value, row):
        init = self.empty(MATRIX)
        return self.new(MATRIX, f"""linalg.generic {{indexing_maps = [{WHOLE}, {OF_COLUMNS}, {WHOLE}], iterator_types = ["parallel", "parallel"]}}
    ins({value}, {row} : {MATRIX}, {ROW}) outs({init} : {MATRIX}) attrs = {self.attributes() or "{}"} {{
  ^bb0(%a: f64, %b: f64, %c: f64):
    %r = arith.mulf %a, %b : f64
    linalg.yield %r : f64
  }} -> {MATRIX}""")

    def mean(self, value):
        """Of the rows."""
        init = self.zeros(ROW)
        return self.new(ROW, f"""linalg.generic {{indexing_maps = [{WHOLE}, {OF_COLUMNS}], iterator_types = ["reduction", "parallel"]}}
    ins({value} : {MATRIX}) outs({init} : {ROW}) attrs = {self.attributes() or "{}"} {{
  ^bb0(%a: f64, %b: f64):
    %n = arith.constant {1 / ROWS} : f64
    %m = arith.mulf %a, %n : f64
    %r = arith.addf %b, %m : f64
    linalg.yield %r : f64
  }} -> {ROW}""")

    def compute(self, value, other, weight, gain):
        kinds = {
            "layer": lambda: self.named("tanh", self.product(value, weight)),
            "tied": lambda: self.product(value, self.transposed(weight)),
            "made": lambda: self.named("add", value, self.product(value, self.named("tanh", weight))),
            "add": lambda: self.named("add", value, other),
            "mul": lambda: self.named("mul", value, other),
            "gain": lambda: self.scaled(value, gain),
            "centre": lambda: self.scaled(value, self.mean(value)),
        }
        return self.source.choices(list(kinds.values()), weights=[9, 2, 2, 2, 2, 2, 1])[0]()


def build(source, stages):
    """The text of a program of modules h.0, h.1, …; its parameters, and whether it updates a statistic."""
    program = Program(source)
    x = program.argument("x", MATRIX, 'dist.input = "x"')
    weights = [program.parameter(f"w{n}", WEIGHT) for n in range(source.randint(1, stages + 1))]
    gains = [program.parameter(f"g{n}", ROW) for n in range(2)]
    statistic = program.parameter("statistic", ROW, ", dist.buffer") if source.random() < 0.3 else None
    made, results, updated = [[x]], [], None
    for stage in range(stages):
        own = []
        for number in range(source.randint(1, 3)):
            program.scope = f"h.{stage}"
            if number and source.random() < 0.25:
                program.scope = source.choice([f"h.{stage}.sub", "aux", ""])
            near = own + made[-1]
            far = [value for values in made for value in values] + own
            pool = near if source.random() < 0.7 else far
            value = own[-1] if own and source.random() < 0.6 else source.choice(pool)
            own.append(program.compute(value, source.choice(pool), source.choice(weights), source.choice(gains)))
        program.scope = f"h.{stage}"
        if statistic and not updated and source.random() < 0.4:
            if source.random() < 0.5:
                own.append(program.scaled(own[-1], statistic))
            updated = program.named("add", statistic, program.mean(own[-1]))
        made.append(own)
    program.scope = source.choice(["", "head"])
    y = made[-1][-1]
    if source.random() < 0.4:
        y = program.named(source.choice(["add", "mul"]), y, source.choice(source.choice(made)))
    results.append((y, 'dist.output = "y"'))
    results += [(source.choice(source.choice(made[1:])), f'dist.output = "z{n}"') for n in range(source.randint(0, 2))]
    if updated:
        number = [argument.split(":")[0] for argument in program.arguments].index(statistic)
        results.append((updated, f'dist.output = "statistic", dist.updates = {number} : i64'))
    types = ", ".join(f"{program.types[value]} {{{attributes}}}" for value, attributes in results)
    body = "\n  ".join(["%zero = arith.constant 0.0 : f64", *program.lines])
    values = ", ".join(value for value, _ in results)
    text = f"func.func @main({', '.join(program.arguments)}) -> ({types}) {{\n  {body}\n  return {values} : {', '.join(program.types[value] for value, _ in results)}\n}}\n"
    return text, program.parameters, updated


class Trial:
    def __init__(self, scratch):
        self.scratch = scratch
        self.counts = {"steps": 0, "forward passes": 0, "rejected": 0}

    def path(self, name, text=None):
        path = os.path.join(self.scratch, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def run(self, what, kind, program, *arguments):
        """Whether it has run; fails where it is wrong, or rejected without a place."""
        status, text, error = call(program, *arguments, seconds=RUN_SECONDS)
        if status == 0:
            self.counts[kind] += kind != "rejected"
            return True
        errors = [line for line in error.splitlines() if "error:" in line]
        if not errors or not LOCATED.search(errors[0]):
            raise Failure(f"exit status {status}:\n{what}{text}{error[-3000:]}")
        self.counts["rejected"] += 1
        print(errors[0], flush=True)
        return False

    def check(self, seed):
        source = random.Random(seed)
        stages = source.choice((2, 3, 4, 6))
        text, parameters, updated = build(source, stages)
        chunks = 2 if stages >= 4 and source.random() < 0.4 else 1
        tables = ['"gpipe"', '"1f1b"', '"gpipe" split', '"1f1b" split', '"zb_h1"'] if chunks == 1 else ['"interleaved"', '"interleaved" split', '"zb_v"']  # fmt: skip
        name, _, more = source.choice(tables).partition(" ")
        ranks = stages // chunks
        mesh, lines = [("pp", ranks)], ['dist.stages "h.*"']
        if source.random() < 0.3:
            mesh.insert(source.randint(0, 1), ("dp", 2))
            lines.append('dist.shard input "x" [{"dp"}, {}]')
        if source.random() < 0.15:
            lines.append('dist.checkpoint "h.*"')

        def schedule(file, table, more):
            axes = ", ".join(f'"{axis}" = {size}' for axis, size in mesh)
            more = f" chunks 2 {more}" if table == '"interleaved"' else f" {more}"
            return self.path(file, f'dist.mesh @m [{axes}]\ndist.schedule @s on @m {{\n  dist.pipeline {table} over "pp"{more}\n  ' + "\n  ".join(lines) + "\n}\n")

        model, weights, step = self.path("model.mlir", text), self.path("weights.safetensors"), self.path("step.mlir")
        numbers = {one: [0.5 * math.cos(n * n + len(one)) for n in range(math.prod(shape))] for one, shape in parameters.items()}
        write_safetensors(weights, "F64", "d", parameters, numbers)
        zero = ",zero=dp" if len(mesh) > 1 and source.random() < 0.3 else ""
        train = f"--dist-train-step=optimizer=sgd,lr=0.1{source.choice(('', ',clip=0.5'))}{zero} loss=mse of=y accumulate={source.choice((1, 3, 6))}"
        order = source.choice(("--streams=eager", "--streams=late", f"--streams=seed={seed}", "--backend=processes", "--recompute=asked"))
        verify = ("--weights", weights, "--random=1", "--verify=f64", "--atol=1e-10", "--rtol=1e-10", xunit.OPT_LEVEL)
        given = schedule("schedule.mlir", name, more)
        with open(given, encoding="utf-8") as file:
            what = f"{file.read()}{train} {order}\n{text}"
        if self.run(what, "rejected", "dist-opt", model, f"--dist-apply-schedule=file={given}", train, "-o", step):
            self.run(what, "steps", "dist-run", step, *verify, order)
        table = '"gpipe"' if chunks == 1 else '"interleaved"'
        count = source.choice((1, 2)) if not updated else 1
        self.run(what, "forward passes", "dist-run", model, "--schedule", schedule("forward.mlir", table, ""), *verify, f"--microbatches={count}")


def main():
    first, count = int((sys.argv + ["1"])[1]), int(os.environ.get("DIST_RANDOM_STACKS", "16"))
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
        trial = Trial(scratch)
        cases = {f"seed {seed}": lambda seed=seed: trial.check(seed) for seed in range(first, first + count)}
        status = xunit.run("e2e.random_stacks", cases, "")
        print(", ".join(f"{name}: {number}" for name, number in trial.counts.items()))
        return status or not trial.counts["steps"] or not trial.counts["forward passes"]


if __name__ == "__main__":
    sys.exit(main())
