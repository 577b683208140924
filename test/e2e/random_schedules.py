#!/usr/bin/python3
"""Schedules drawn at random for an exported model: each directive is rejected with a place, or the result is the same.

    random_schedules.py MODEL.onnx [FIRST_SEED]      MODEL.onnx: from the current folder

A seed is a mesh and up to five directives of all kinds: parameters, inputs, outputs, values by name and activations
with lists of axes, parts of axes, groups and pending sums; column, row, heads, experts and groups of other sizes;
syncs by every operation, with groups, and by a function; linear layers taken apart. One that is rejected is left out,
so that the others still say something. Then

- dist-run says that the ranks agree with one device within 1e-10, in f64, on random inputs; for every third seed with
  --fuse-transposes;
- for every second seed the plan that dist-report writes of it does so as well. (A layer taken apart has modules that
  the model has not: no plan names these.)

DIST_RANDOM_SCHEDULES seeds are tried, 4 unless it is set. Programs come from tools/, below the current folder.
"""

import collections
import os
import random
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import xunit  # noqa: E402
from mutate_schedules import LOCATED, RUN_SECONDS, Failure, call  # noqa: E402

MESHES = ({"tp": 2}, {"tp": 2, "dp": 2}, {"tp": 4}, {"tp": 3}, {"a": 2, "b": 3})
OPERATIONS = ("all_gather dim {}", "reduce_scatter dim {}", "all_reduce", "scatter dim {}", "all_to_all dim {} to {}")
MOST_DIRECTIVES, MOST_TRIES = 5, 12

TYPED = re.compile(r"(?:->|into|:) tensor<([^>]*)> loc\((#loc\d+)\)$")
LINEAR = re.compile(r'linalg\.contract .*dist\.scope = "([^"]+)".*-> tensor<([^>]*)> loc\(')


def sizes(text):
    """The sizes of `4x?x8xf32`; None where one is not known."""
    parts = text.split("x")
    dims = [int(part) for part in parts if part.isdigit()]
    return dims if len(dims) + 1 == len(parts) else None


class Names:
    """What a schedule can name in an imported module, with the sizes of tensors."""

    def __init__(self, text):
        nodes = dict(re.findall(r'^(#loc\d+) = loc\("([^"]+)"\(', text, re.M))
        head = re.search(r"func\.func @main\(.*", text)[0]
        self.tensors = {kind: {} for kind in ("parameter", "input", "output", "value")}
        for kind in ("parameter", "input", "output"):
            for dims, attributes in re.findall(r"tensor<([^>]*)> \{([^{}]*)\}", head):
                name = re.search(rf'dist\.{kind} = "([^"]*)"', attributes)
                if name and sizes(dims) is not None:
                    self.tensors[kind][name[1]] = sizes(dims)
        self.linear = {}  # {module: sizes of what its contraction makes}
        for line in text.splitlines():
            made = TYPED.search(line)
            if made and made[2] in nodes and sizes(made[1]):
                self.tensors["value"][nodes[made[2]]] = sizes(made[1])
            linear = LINEAR.search(line)
            if linear and sizes(linear[2]):
                self.linear[linear[1]] = sizes(linear[2])
        paths = {tuple(path.split(".")) for path in re.findall(r'dist\.scope = "([^"]+)"', text)}
        self.modules = sorted({".".join(path[:n + 1]) for path in paths for n in range(len(path))})


class Schedule:
    """A schedule that grows."""

    def __init__(self, names, seed):
        self.names, self.random = names, random.Random(seed)
        self.mesh = self.random.choice(MESHES)
        self.directives, self.functions = [], []
        self.wanted = self.random.randint(1, MOST_DIRECTIVES)

    def text(self):
        mesh = ", ".join(f'"{axis}" = {size}' for axis, size in self.mesh.items())
        lines = [f"dist.mesh @m [{mesh}]", "dist.schedule @s on @m {", *("  " + one for one in self.directives), "}"]
        return "\n".join(lines + self.functions) + "\n"

    def chance(self, probability):
        return self.random.random() < probability

    def axis(self):
        """An axis, or half of one."""
        name = self.random.choice(list(self.mesh))
        return f'"{name}"({self.random.choice((1, 2))})2' if self.mesh[name] == 4 and self.chance(0.3) else f'"{name}"'

    def axes(self):
        both = [f'"{name}"' for name in self.mesh]
        self.random.shuffle(both)
        return ", ".join(both) if self.chance(0.2) else self.axis()

    def dims(self, rank):
        """A list of `rank` entries, and the axes in it."""
        if self.chance(0.08):
            return "replicate", ""
        entries = [[] for _ in range(rank)]
        groups = [""] * rank
        free = list(self.mesh)
        self.random.shuffle(free)
        for name in free if rank else ():
            if self.chance(0.75):
                dim = self.random.randrange(rank)
                part = self.mesh[name] == 4 and not entries[dim] and self.chance(0.25)
                entries[dim].append(f'"{name}"(1)2' if part else f'"{name}"')
                if len(entries[dim]) == 1 and self.chance(0.15):
                    groups[dim] = f" groups {self.random.choice((2, 3, 4))}"
        used = " ".join(sum(entries, []))
        for dim in range(rank):
            if not entries[dim] and self.chance(0.15):
                entries[dim].append("?")
        dims = ["{%s}%s" % (", ".join(entry), group) for entry, group in zip(entries, groups)]
        return f"[{', '.join(dims)}]", used

    def listed(self, rank, may_be_pending):
        text, used = self.dims(rank)
        free = [axis for axis in self.mesh if f'"{axis}"' not in used]
        pending = may_be_pending and free and self.chance(0.15)
        return text + (f' partial = sum {{"{self.random.choice(free)}"}}' if pending else "")

    def target(self):
        path = self.random.choice(self.names.modules)
        return re.sub(r"\.\d+\b", ".*", path) if self.chance(0.3) else path

    def tensor(self, kind):
        if not self.names.tensors[kind]:
            return None
        name, dims = self.random.choice(list(self.names.tensors[kind].items()))
        return f'dist.shard {kind} "{name}" {self.listed(len(dims), kind == "value")}'

    def activation(self):
        number = self.random.choice(("", "", "0 ", "1 "))
        rank = self.random.choice((2, 3, 3, 4))
        kind = self.random.choice(("input", "output"))
        return f'dist.shard "{self.target()}" {kind} {number}{self.listed(rank, True)}'

    def features(self):
        kind = self.random.choice(("column", "column", "row", "row", "heads", "experts"))
        groups = ("",) * 5 + (" groups 2", " groups 3", " groups [2, 1, 1]", " groups [1, 2]")
        return f'dist.shard "{self.target()}" {kind} over {self.axes()}' + (
            self.random.choice(groups) if kind == "column" else "")

    def sync(self):
        operation = self.random.choice(OPERATIONS).format(*self.random.sample(range(3), 2))
        groups = f" groups {self.random.choice((2, 3))}" if "dim" in operation and self.chance(0.2) else ""
        mode = self.random.choice(("fwd_post",) * 4 + ("fwd_pre",) * 2 + ("bwd_post",))
        return f'dist.sync "{self.target()}" {mode} {operation} over {self.axes()}{groups}'

    def summed(self):
        """Part of a sum, and what completes it: an operation, or a function with its backward."""
        if not self.names.linear:
            return None
        path, dims = self.random.choice(list(self.names.linear.items()))
        axis = self.random.choice(list(self.mesh))
        row = f'dist.shard "{path}" row over "{axis}"'
        dim = self.random.randrange(len(dims))
        if self.chance(0.5) or dims[dim] % self.mesh[axis]:
            return f'{row}\n  dist.sync "{path}" fwd_post reduce_scatter dim {dim} over "{axis}"'
        number = len(self.functions)
        self.functions.append(self.function(number, dims, dim, axis))
        return f'{row}\n  dist.sync "{path}" fwd_post @there{number} backward @back{number}'

    def function(self, number, dims, dim, axis):
        local = list(dims)
        local[dim] //= self.mesh[axis]
        whole, part = (f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in (dims, local))
        before = "[%s]" % ", ".join("{}" for _ in dims)
        after = "[%s]" % ", ".join('{"%s"}' % axis if i == dim else "{}" for i in range(len(dims)))
        return f"""func.func private @there{number}(
    %x: {whole} {{dist.sharding = #dist.sharding<@m, {before}, partial = sum {{"{axis}"}}>}})
    -> ({part} {{dist.sharding = #dist.sharding<@m, {after}>}}) {{
  %0 = dist.reduce_scatter %x sum dim {dim} over "{axis}" : {whole} -> {part}
  return %0 : {part}
}}
func.func private @back{number}(%x: {part}) -> {whole} {{
  %0 = dist.all_gather %x dim {dim} over "{axis}" : {part} -> {whole}
  return %0 : {whole}
}}"""

    def draw(self):
        kinds = (lambda: self.tensor("parameter"), lambda: self.tensor("input"), lambda: self.tensor("output"),
                 lambda: self.tensor("value"), lambda: self.tensor("value"), self.activation, self.activation,
                 self.features, self.features, self.features, self.sync, self.sync, self.summed, self.summed,
                 lambda: f'dist.decompose "{self.target()}"')
        return self.random.choice(kinds)()


class Trial:
    variable, default, suite = "DIST_RANDOM_SCHEDULES", 4, "e2e.random_schedules"

    def __init__(self, exported, scratch):
        self.exported, self.scratch = exported, scratch
        self.module = os.path.join(scratch, "imported.mlir")
        self.counts = collections.Counter()

    def import_model(self):
        status, _, error = call("dist-import", self.exported, "-o", self.module)
        if status:
            raise Failure(error)
        with open(self.module, encoding="utf-8") as file:
            self.names = Names(file.read())

    def write(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def accepts(self, schedule):
        path = self.write("schedule.mlir", schedule.text())
        status, _, error = call("dist-opt", self.module, f"--dist-apply-schedule=file={path}", "--dist-spmd",
                                "-o", os.path.join(self.scratch, "spmd.mlir"))
        if status == 0:
            return True
        errors = [line for line in error.splitlines() if "error:" in line]
        if status != 1 or not errors or not LOCATED.search(errors[0]):
            raise Failure(f"rejected without a location:\n{schedule.text()}{error[-3000:]}")
        return False

    def build(self, seed):
        return self.widen(Schedule(self.names, seed))

    def widen(self, schedule):
        """Adds directives until there are as many as wanted."""
        for _ in range(MOST_TRIES):
            if len(schedule.directives) == schedule.wanted:
                break
            functions = len(schedule.functions)
            directive = schedule.draw()
            if directive is None:
                continue
            schedule.directives.append(directive)
            self.counts["directives"] += 1
            if not self.accepts(schedule):
                self.counts["rejected"] += 1
                schedule.directives.pop()
                del schedule.functions[functions:]
        return schedule

    def verify(self, what, *arguments, refused=None):
        """None, or the error with which it is rejected: one with a place, or of that text; fails where a result is wrong."""
        status, text, error = call("dist-run", *arguments, "--random", "--verify=f64", xunit.OPT_LEVEL, "--atol=1e-10",
                                   "--rtol=1e-10", seconds=RUN_SECONDS)
        errors = [line for line in error.splitlines() if "error:" in line]
        if status and errors and (LOCATED.search(errors[0]) or (refused and refused in errors[0])):
            return errors[0]
        if status:
            raise Failure(f"WRONG, exit status {status}:\n{what}{text}{error[-3000:]}")
        return None

    def check(self, seed):
        schedule = self.build(seed)
        path = self.write("schedule.mlir", schedule.text())
        error = self.verify(schedule.text(), self.module, "--schedule", path, *(["--fuse-transposes"] if seed % 3 == 0 else []))
        if error:
            raise Failure(f"dist-run rejects what dist-opt accepts: {error}\n{schedule.text()}")
        self.counts["schedules"] += 1
        if seed % 2 or "dist.decompose" in schedule.text():
            return
        plan = os.path.join(self.scratch, "plan.json")
        status, _, error = call("dist-report", self.module, "--schedule", path, "--plan", "-o", plan)
        if status:
            raise Failure(f"no plan can be written of\n{schedule.text()}{error}")
        with open(plan, encoding="utf-8") as file:
            text = schedule.text() + file.read()
        error = self.verify(text, self.module, "--plan", plan)
        if error:
            raise Failure(f"{error}\n{text}")
        self.counts["plans"] += 1


def run_seeds(kind, usage):
    """Tries seeds on the model that the command line names."""
    if len(sys.argv) not in (2, 3):
        sys.exit(usage)
    first, count = int((sys.argv + ["1"])[2]), int(os.environ.get(kind.variable, kind.default))
    results = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
        trial = kind(sys.argv[1], scratch)
        cases = [("import", trial.import_model)]
        cases += [(f"seed {seed}", lambda s=seed: trial.check(s)) for seed in range(first, first + count)]
        for name, check in cases:
            start, problem = time.monotonic(), None
            try:
                check()
            except Exception as error:
                problem = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
                print("FAILED", name, problem, flush=True)
            results.append((name, time.monotonic() - start, problem))
            if name == "import" and problem is not None:
                break
        print(", ".join(f"{name}: {number}" for name, number in trial.counts.items()))
        if not trial.counts["schedules"]:
            results.append(("schedules", 0, "none was run"))
    return xunit.finish(kind.suite, results)


if __name__ == "__main__":
    sys.exit(run_seeds(Trial, __doc__))
