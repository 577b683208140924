#!/usr/bin/python3
"""Pipelines drawn at random for an exported model: each schedule is rejected with a place, or the result is the same.

    random_pipelines.py MODEL.onnx [FIRST_SEED]      MODEL.onnx: from the current folder

A seed is a table, stages of modules that are drawn too, and up to three directives of random_schedules.py over the
mesh's other axes. Then dist-run says that the ranks agree with one device within 1e-10, in f64, on random inputs: a
forward pass, or a step of training over 1 to 5 microbatches.

DIST_RANDOM_PIPELINES seeds are tried, 3 unless it is set. Programs come from tools/, below the current folder.
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mutate_schedules import LOCATED, Failure, call  # noqa: E402
from random_schedules import Schedule, Trial, run_seeds  # noqa: E402

OTHERS = ({}, {}, {"tp": 2}, {"dp": 2}, {"tp": 2, "dp": 2})
TABLES = ('"gpipe"', '"gpipe"{} split', '"1f1b"', '"1f1b"{} split', '"interleaved"{} chunks 2', '"interleaved"{} chunks 3', '"zb_h1"', '"zb_v"')  # fmt: skip
MOST_TRIES = 20


class Pipeline(Schedule):
    """A schedule that begins with a pipeline."""

    def __init__(self, names, seed):
        super().__init__(names, seed)
        self.mesh = self.random.choice(OTHERS)
        self.ranks = self.random.choice((2, 2, 3, 4))
        self.position = self.random.randint(0, len(self.mesh))
        self.table = self.random.choice(TABLES)
        self.wanted = self.random.randint(1, 4) if self.mesh else 1
        self.groups = {}  # {target: modules that it matches}
        for path in names.modules:
            target = re.sub(r"(^|\.)\d+(?=\.|$)", r"\1*", path)
            if target.endswith("*"):
                self.groups.setdefault(target, []).append(path)
            parent, _, _ = path.rpartition(".")
            self.groups.setdefault(f"{parent}.*" if parent else "*", []).append(path)

    def text(self):
        axes = list(self.mesh.items())
        axes.insert(self.position, ("pp", self.ranks))
        mesh = ", ".join(f'"{axis}" = {size}' for axis, size in axes)
        table = self.table if "{}" in self.table else self.table + "{}"
        lines = [f"dist.mesh @m [{mesh}]", "dist.schedule @s on @m {", "  dist.pipeline " + table.format(' over "pp"')]
        lines += ["  " + one for one in self.directives]
        return "\n".join([*lines, "}", *self.functions]) + "\n"

    def stages(self):
        """One line for all stages, or a line for each but the first."""
        chunks = re.search(r"chunks (\d)", self.table)
        count = self.ranks * (int(chunks[1]) if chunks else 2 if "zb_v" in self.table else 1)
        target, modules = self.random.choice([item for item in self.groups.items() if len(item[1]) > 1])
        if len(modules) >= count and self.chance(0.3):
            return "\n  ".join(f'dist.cut_pipeline_stage "{path}"' for path in self.random.sample(modules, count - 1))
        if len(modules) >= count and self.chance(0.3):
            ends = sorted(self.random.sample(range(1, len(modules)), count - 1))
            sizes = [end - start for start, end in zip([0, *ends], [*ends, len(modules)])]
            return f'dist.stages "{target}" sizes {sizes}'
        return f'dist.stages "{target}"'


class PipelineTrial(Trial):
    variable, default, suite = "DIST_RANDOM_PIPELINES", 3, "e2e.random_pipelines"

    def build(self, seed):
        schedule = Pipeline(self.names, seed)
        for _ in range(MOST_TRIES):
            schedule.directives = [schedule.stages()]
            self.counts["directives"] += 1
            if self.accepts(schedule):
                return self.widen(schedule)
            self.counts["rejected"] += 1
            schedule.table = schedule.random.choice(TABLES)
            schedule.ranks = schedule.random.choice((2, 2, 3, 4))
        return None

    def check(self, seed):
        schedule = self.build(seed)
        if not schedule:
            return
        path = self.write("schedule.mlir", schedule.text())
        order = f"--streams={schedule.random.choice(('late', 'eager', f'seed={seed}'))}"
        if seed % 4 == 0 and "zb_" not in schedule.table:
            rows = next(iter(self.names.tensors["input"].values()))[0]
            count = schedule.random.choice([count for count in range(1, rows + 1) if rows % count == 0])
            error = self.verify(schedule.text(), self.module, "--schedule", path, f"--microbatches={count}", order, refused="cannot be cut into")
        else:
            microbatches = schedule.random.randint(1, 5)
            options = schedule.random.choice(("", ",clip=0.5"))
            step = os.path.join(self.scratch, "step.mlir")
            (output, *_) = self.names.tensors["output"]
            train = f"--dist-train-step=optimizer=sgd,lr=0.1{options} loss=mse of={output} accumulate={microbatches}"
            status, _, error = call("dist-opt", self.module, f"--dist-apply-schedule=file={path}", train, "-o", step)
            text = f"{schedule.text()}{train}\n"
            if status and "docs/train-export.md" in error:
                self.counts["not for training"] += 1
                return
            if status and not LOCATED.search(error):
                raise Failure(f"rejected without a location:\n{text}{error[-3000:]}")
            error = error if status else self.verify(text, step, order)
        self.counts["rejected steps" if error else "schedules"] += 1
        if error:
            print(f"seed {seed}: {error}", flush=True)


if __name__ == "__main__":
    sys.exit(run_seeds(PipelineTrial, __doc__))
