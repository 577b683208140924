#!/usr/bin/env python3
"""Collectives of forward and backward against closed forms, which this file counts from shapes alone.

gradient_bytes.py [PATTERN]: the cases whose name has the regular expression. Each applies a schedule, differentiates,
places, and compares how often each collective occurs and what a rank sends with what the literature says of the
strategy (Shoeybi et al. 2019, Korthikanti et al. 2022, Rajbhandari et al. 2020, Jacobs et al. 2023). First on a stack
of transformer layers as stack.py writes it, then on the models in examples/. Bytes are those of ring algorithms:
a rank sends (p-1)/p of what is gathered or scattered, twice that for a sum.
"""

import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stack  # noqa: E402

TOOLS = os.path.abspath(os.environ.get("DIST_TOOLS", "tools"))
EXAMPLES = os.path.abspath("examples")


def run(program, *arguments):
    done = subprocess.run(
        [os.path.join(TOOLS, program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


class Counts:
    """Collectives by kind and axes: how often, and the bytes that a rank sends."""

    def __init__(self):
        self.times, self.bytes = collections.Counter(), collections.Counter()

    def add(self, kind, axes, sent, times=1):
        if sent:
            self.times[kind, axes] += times
            self.bytes[kind, axes] += round(sent * times)
        return self

    def __eq__(self, other):
        return self.times == other.times and self.bytes == other.bytes

    __hash__ = None

    def __str__(self):
        return "; ".join(f"{k} {a}: {n} times, {self.bytes[k, a]} bytes" for (k, a), n in sorted(self.times.items()))


def gather(counts, axes, p, size, times=1):
    return counts.add("all_gather", axes, (p - 1) / p * size, times)


def scatter(counts, axes, p, size, times=1):
    return counts.add("reduce_scatter", axes, (p - 1) / p * size, times)


def reduce(counts, axes, p, size, times=1):
    return counts.add("all_reduce", axes, 2 * (p - 1) / p * size, times)


def swap(counts, axes, p, size, times=1):
    """An all_to_all of a tensor of `size` bytes in all: a rank has 1/p of it and keeps 1/p of that."""
    return counts.add("all_to_all", axes, (p - 1) / p / p * size, times)


def go_round(counts, axes, p, size, times=1):
    """Blocks of keys, and of values, of `size` bytes in all: p - 1 times forward; backward once more, and with them what
    is added up of their cotangents (Liu et al. 2023)."""
    return counts.add("send_recv", axes, size / p, 3 * (p - 1) * times)


LAYERS, BATCH, SEQUENCE, HIDDEN, HEADS, VOCABULARY = 2, 4, 64, 64, 4, 512
FLOAT = 4
LLAMA_HEADS = 8  # of queries in examples/llama
EXPERTS = 2  # of a token in examples/mixtral


def place(work, module, schedule, options="", recompute="cheap"):
    """What `schedule`, differentiation and placement make of `module`."""
    path, placed = os.path.join(work, "schedule.mlir"), os.path.join(work, "placed.mlir")
    with open(path, "w") as file:
        file.write(schedule)
    passes = [f"--dist-apply-schedule=file={path}", f"--dist-differentiate=cotangent=cotangent {options}", "--dist-spmd"]
    run("dist-opt", module, *passes, f"--dist-recompute=what={recompute}", "-o", placed)
    (function,) = json.loads(run("dist-report", "--json", placed))["functions"]
    got = Counts()
    for made in function["collectives"]:
        got.add(made["op"], ",".join(made["axes"]), made["bytes_sent_per_rank"], made["count"])
    return got


def on(mesh, *directives):
    axes = ", ".join(f'"{axis}" = {size}' for axis, size in mesh.items())
    return f"dist.mesh @m [{axes}]\ndist.schedule @s on @m {{\n" + "\n".join(directives) + "\n}\n"


COLUMNS_AND_ROWS = [
    'dist.shard "h.*.mlp.c_fc" column over "tp"',
    'dist.shard "h.*.{attn,mlp}.c_proj" row over "tp"',
]
SEPARATE = ['dist.shard "h.*.attn.{q,k,v}" column over "tp"', *COLUMNS_AND_ROWS]
FUSED = ['dist.shard "h.*.attn.c_attn" column over "tp" groups 3', *COLUMNS_AND_ROWS]
SCATTERED = ['dist.sync "h.*.{attn,mlp}.c_proj" fwd_post reduce_scatter dim 1 over "tp"']


class Stack:
    """Cases on the stack of stack.py."""

    def __init__(self, work):
        self.work = work
        self.all = BATCH * SEQUENCE * HIDDEN * FLOAT

    def place(self, schedule, recompute="cheap", **kind):
        text, self.parameters = stack.emit(LAYERS, BATCH, SEQUENCE, HIDDEN, HEADS, **kind)
        module = os.path.join(self.work, "stack.mlir")
        with open(module, "w") as file:
            file.write(text)
        return place(self.work, module, schedule, recompute=recompute)

    def tp(self, p, fused):
        """Two all_reduces a layer forward, two backward (Shoeybi et al. 2019)."""
        got = self.place(on({"tp": p}, *(FUSED if fused else SEPARATE)), fused=fused)
        return got, reduce(Counts(), "tp", p, self.all, 4 * LAYERS)

    def sp(self, p, fused):
        """The same bytes as all_gathers and reduce_scatters (Korthikanti et al. 2022), and the gradients of what is
        computed of a part of the sequence: norms and the biases of row-parallel layers, each once."""
        schedule = ['dist.shard input "x" [{}, {"tp"}, {}]', *(FUSED if fused else SEPARATE), *SCATTERED]
        got = self.place(on({"tp": p}, *schedule), fused=fused)
        expected = gather(Counts(), "tp", p, self.all, 4 * LAYERS)
        scatter(expected, "tp", p, self.all, 4 * LAYERS)
        return got, reduce(expected, "tp", p, HIDDEN * FLOAT, 6 * LAYERS)

    def sp_dp(self, p, fused):
        """Two axes: each sends what it does alone of its part."""
        schedule = ['dist.shard input "x" [{"dp"}, {"tp"}, {}]', *(FUSED if fused else SEPARATE), *SCATTERED]
        got = self.place(on({"dp": 2, "tp": p}, *schedule), fused=fused)
        expected = gather(Counts(), "tp", p, self.all / 2, 4 * LAYERS)
        scatter(expected, "tp", p, self.all / 2, 4 * LAYERS)
        reduce(expected, "dp,tp", 2 * p, HIDDEN * FLOAT, 6 * LAYERS)
        square, row = HIDDEN * HIDDEN * FLOAT, HIDDEN * FLOAT
        parts = [3 * square, 3 * row] if fused else 3 * [square, row]
        for size in [*parts, square, 4 * square, 4 * row, 4 * square]:
            reduce(expected, "dp", 2, size / p, LAYERS)
        return got, expected

    def ulysses(self, p):
        """Four all_to_alls a layer forward, four backward (Jacobs et al. 2023); gradients as those of data parallelism."""
        got = self.place(
            on(
                {"sp": p},
                'dist.shard input "x" [{}, {"sp"}, {}]',
                'dist.sync "h.*.attn.{q,k,v}" fwd_post all_to_all dim 1 to 2 over "sp"',
                'dist.sync "h.*.attn.c_proj" fwd_pre all_to_all dim 2 to 1 over "sp"',
            )
        )
        expected = swap(Counts(), "sp", p, self.all, 8 * LAYERS)
        for count in self.parameters:
            reduce(expected, "sp", p, count * FLOAT)
        return got, expected

    def ring(self, p):
        """Keys and values go round, forward and backward; gradients as those of data parallelism."""
        got = self.place(on({"sp": p}, 'dist.shard input "x" [{}, {"sp"}, {}]', 'dist.ring "h.*.attn" over "sp"'))
        expected = go_round(Counts(), "sp", p, self.all, 2 * LAYERS)
        for count in self.parameters:
            reduce(expected, "sp", p, count * FLOAT)
        return got, expected

    def ddp(self, p):
        """2(p-1)/p W."""
        got = self.place(on({"dp": p}, 'dist.shard input "x" [{"dp"}, {}, {}]'))
        expected = Counts()
        for count in self.parameters:
            reduce(expected, "dp", p, count * FLOAT)
        return got, expected

    def fsdp(self, p, again):
        """2(p-1)/p W where gathered parameters are kept, 3(p-1)/p W where backward gathers them again (Rajbhandari et
        al. 2020): those that it reads, which are not the biases of linear layers; but where layers are computed again,
        all that they need, which is these too, but for the last one, of which only the layer's result is made."""
        schedule = [
            'dist.shard input "x" [{"dp"}, {}, {}]',
            'dist.shard parameter "h.*.{attn,mlp}.*.weight" [{"dp"}, {}]',
            'dist.shard parameter "h.*.{ln_1,ln_2}.weight" [{"dp"}]',
            'dist.shard parameter "h.**.bias" [{"dp"}]',
        ]
        if again == "checkpoint":
            got = self.place(on({"dp": p}, *schedule, 'dist.checkpoint "h.*"'))
        else:
            got = self.place(on({"dp": p}, *schedule), recompute="gathers" if again else "cheap")
        expected = Counts()
        for count in self.parameters:
            gather(expected, "dp", p, count * FLOAT)
            scatter(expected, "dp", p, count * FLOAT)
        square, row = HIDDEN * HIDDEN * FLOAT, HIDDEN * FLOAT
        if again == "checkpoint":
            for count in self.parameters:
                gather(expected, "dp", p, count * FLOAT)
            gather(expected, "dp", p, row, -LAYERS)
        elif again:
            # What norms make is computed again, from their own parameters.
            for size in [*4 * [row], *4 * [square], 4 * square, 4 * square]:
                gather(expected, "dp", p, size, LAYERS)
        return got, expected

    def vocabulary(self, p):
        """The sum of looked up rows forward, that of the head's input backward, and nothing for the tables."""
        got = self.place(
            on(
                {"tp": p},
                *SEPARATE,
                'dist.shard parameter "wte.weight" [{"tp"}, {}]',
                'dist.shard "head" column over "tp"',
                'dist.shard output "y" [{}, {}, {"tp"}]',
            ),
            vocabulary=VOCABULARY,
        )
        return got, reduce(Counts(), "tp", p, self.all, 4 * LAYERS + 2)


class Example:
    """Cases on a model of examples/ with its own schedules, of which `p` replaces the mesh's size."""

    def __init__(self, work, name, exporter):
        self.work, self.name = work, name
        self.module = os.path.join(work, name + ".mlir")
        run("dist-import", os.path.join(EXAMPLES, name, f"{name}.{exporter}.onnx"), "-o", self.module)
        with open(self.module) as file:
            text = file.read()
        found = re.findall(r'tensor<([\dx]+)xf32> \{dist\.parameter = "([^"]*)"', text)
        self.parameters = {name: math.prod(map(int, shape.split("x"))) * FLOAT for shape, name in found}
        (batch, self.sequence) = map(int, re.search(r"tensor<(\d+)x(\d+)xi64> \{dist\.input", text).groups())
        self.tokens = batch * self.sequence
        self.layers = 2
        self.all = self.tokens * HIDDEN * FLOAT

    def place(self, schedule, p):
        with open(os.path.join(EXAMPLES, self.name, schedule + ".mlir")) as file:
            text = re.sub(r'(dist\.mesh [^\n]*" = )\d+', rf"\g<1>{p}", file.read())
        return place(self.work, self.module, text, "of=logits")

    def tp(self, p):
        return self.place("tp", p), reduce(Counts(), "tp", p, self.all, 4 * self.layers)

    def tp_full(self, p):
        return self.place("tp_full", p), reduce(Counts(), "tp", p, self.all, 4 * self.layers + 2)

    def tp_kv(self, p):
        """Each of 4 key heads is with p ranks, whose gradients of it are added up; that of what q, k and v are made of
        is one sum over all ranks."""
        expected = reduce(Counts(), "kv,q", 4 * p, self.all, 4 * self.layers)
        for name, size in self.parameters.items():
            if re.search(r"self_attn\.[kv]_proj", name):
                reduce(expected, "q", p, self.tokens * size // HIDDEN // 4)
        return self.place("tp_kv", p), expected

    def sp(self, p):
        """Also the gradients of norms, row biases and of tables, which all ranks have whole and read parts of; of
        positions each rank has some rows, which nobody adds to."""
        expected = gather(Counts(), "tp", p, self.all, 4 * self.layers)
        scatter(expected, "tp", p, self.all, 4 * self.layers)
        for name, size in self.parameters.items():
            if name == "transformer.wpe.weight":
                gather(expected, "tp", p, self.sequence * HIDDEN * FLOAT)
            elif re.search(r"ln_|norm|c_proj\.bias|wte|embed_tokens|lm_head", name):
                reduce(expected, "tp", p, size)
        return self.place("sp", p), expected

    def ulysses(self, p):
        expected = Counts()
        for name, size in self.parameters.items():
            reduce(expected, "sp", p, size)
            if re.search(r"self_attn\.", name):
                width = size // HIDDEN // FLOAT
                swap(expected, "sp", p, self.tokens * width * FLOAT, 2)
        return self.place("ulysses", p), expected

    def ring(self, p):
        expected = Counts()
        for name, size in self.parameters.items():
            reduce(expected, "cp", p, size)
            if re.search(r"self_attn\.[kv]_proj", name):
                go_round(expected, "cp", p, self.tokens * size // HIDDEN)
        return self.place("ring", p), expected

    def ring_zigzag(self, p):
        """As ring, and of half a block of queries a layer, forward: queries, means, two numbers a row and one in all;
        backward: results and their cotangents, two numbers a row, cotangents of queries. Forward's queries are kept, and
        what came for them of the mask, a byte for each of their scores."""
        _, expected = self.ring(p)
        expected.add("collective_permute", "cp", self.sequence // p // 2 * self.sequence, self.layers)
        for name, size in self.parameters.items():
            if re.search(r"self_attn\.q_proj", name):
                half = self.tokens * size // HIDDEN // p // 2
                rows = FLOAT * self.tokens * LLAMA_HEADS // p // 2
                for sent in (half, half, 2 * rows, FLOAT, half, half, 2 * rows, half):
                    expected.add("collective_permute", "cp", sent)
        return self.place("ring_zigzag", p), expected

    def ep(self, p):
        """What a token's experts make is added up forward, and backward the cotangents of what they take, and of the
        numbers by which the router weighs them. Nothing is completed in between: a rank has the rows of its experts."""
        expected = reduce(Counts(), "ep", p, self.all, 2 * self.layers)
        return self.place("ep", p), reduce(expected, "ep", p, self.tokens * EXPERTS * FLOAT, self.layers)

    def ep_dp(self, p):
        """Tokens come from all ranks, and what experts make goes back; cotangents likewise. Of parameters that all ranks
        have, all but the router's, which sees all tokens, are computed of a part of the batch."""
        expected = gather(Counts(), "dp", p, self.all, 2 * self.layers)
        scatter(expected, "dp", p, self.all, 2 * self.layers)
        reduce(expected, "dp", p, self.tokens * EXPERTS * FLOAT, self.layers)
        for name, size in self.parameters.items():
            if not re.search(r"mlp\.(experts|gate)", name):
                reduce(expected, "dp", p, size)
        return self.place("ep_dp", p), expected

    def fsdp(self, p):
        expected = Counts()
        for size in self.parameters.values():
            gather(expected, "dp", p, size)
            scatter(expected, "dp", p, size)
        return self.place("fsdp", p), expected


def check(make):
    got, expected = make()
    assert got == expected, f"\n  there are {got}\n  expected  {expected}"


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as work:
        subject = Stack(work)
        cases = {}
        for p in (2, 4):
            for fused in (False, True):
                label = f"{'fused' if fused else 'separate'}_{p}"
                for name in ("tp", "sp", "sp_dp"):
                    cases[f"stack_{name}_{label}"] = lambda name=name, p=p, fused=fused: getattr(subject, name)(p, fused)
            for name in ("ulysses", "ring", "ddp", "vocabulary"):
                cases[f"stack_{name}_{p}"] = lambda name=name, p=p: getattr(subject, name)(p)
            for again in ("", "gathers", "checkpoint"):
                cases[f"stack_fsdp_{again or 'kept'}_{p}"] = lambda p=p, again=again: subject.fsdp(p, again)
            for model, exporter, strategies in (
                ("gpt2", "dynamo", ["tp", "sp"]),
                ("llama", "dynamo", ["tp", "tp_full", "sp", "ulysses", "ring", "ring_zigzag", "fsdp"]),
                ("mixtral", "dynamo", ["ep"]),
                ("mixtral", "script", ["ep"]),
            ):
                for name in strategies:
                    cases[f"{model}_{exporter}_{name}_{p}"] = lambda name=name, p=p, model=model, exporter=exporter: getattr(
                        Example(work, model, exporter), name
                    )(p)
        for exporter in ("dynamo", "script"):
            cases[f"mixtral_{exporter}_ep_dp_2"] = lambda exporter=exporter: Example(work, "mixtral", exporter).ep_dp(2)
        cases["llama_dynamo_tp_kv_2"] = lambda: Example(work, "llama", "dynamo").tp_kv(2)
        return xunit.run(
            "e2e.gradient_bytes", {name: lambda case=case: check(case) for name, case in cases.items()}, wanted
        )


if __name__ == "__main__":
    sys.exit(main())
