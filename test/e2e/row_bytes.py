#!/usr/bin/env python3
"""Row-parallel products on random shapes, types and machines: what a rank sends, against a closed form.

row_bytes.py [PATTERN]: the cases whose name has the regular expression. The product of each case is summed in f32, and
rounded where the type is of 16 bits; a residual that is whole on all ranks is added. A sum in f32 is completed
everywhere: 2 (p-1)/p of its bytes. One that is rounded is scattered in f32, rounded and gathered: (p-1)/p of the wide
and the narrow bytes, padded as the best of its dimensions needs; or completed everywhere where padding takes more.
"""

import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402

TOOLS = os.path.abspath(os.environ.get("DIST_TOOLS", "tools"))
MACHINES = (None, "cpu", "8xH100")
CASES = 128


class Case:
    """The product x w of a row directive, with x of `shape` x 64."""

    def __init__(self, choose, dp):
        self.type = choose.choice(["bf16", "bf16", "f16", "f32"])
        # Never so small that the number of transfers counts, rather than their bytes.
        while True:
            batch = choose.choice([1, 2, 3, 4, 5, 6, 8, 12])
            rows = [choose.choice([3, 7, 8, 10, 12, 16, 17, 24, 32]) for _ in range(choose.randint(0, 2))]
            self.shape = [batch, *rows, choose.choice([5, 20, 40, 48, 64, 96])]
            if math.prod(self.shape) >= 4096 * dp:
                break

    def module(self):
        rank = len(self.shape)
        loops = [f"d{i}" for i in range(rank)]
        whole = f"({', '.join(loops)}) -> ({', '.join(loops)})"
        every = f"({', '.join(loops)}, k)"
        size = "x".join(map(str, self.shape))
        read = "x".join(map(str, self.shape[:-1] + [64]))
        maps = [f"{every} -> ({', '.join(loops[:-1] + ['k'])})", f"{every} -> (k, {loops[-1]})", f"{every} -> ({', '.join(loops)})"]
        is_narrow = self.type != "f32"
        product, out = f"tensor<{size}xf32>", f"tensor<{size}x{self.type}>"
        lines = [
            f'func.func @main(%x: tensor<{read}x{self.type}> {{dist.input = "x"}}, '
            f'%w: tensor<64x{self.shape[-1]}x{self.type}> {{dist.parameter = "o.weight"}}, '
            f'%r: {out} {{dist.input = "r"}}) -> ({out} {{dist.output = "y"}}) {{',
            "%c = arith.constant 0.0 : f32",
            f"%e = tensor.empty() : {product}",
            f"%o = tensor.empty() : {out}",
            f"%z = linalg.fill ins(%c : f32) outs(%e : {product}) -> {product}",
            f"%h = linalg.contract indexing_maps = [{', '.join(f'affine_map<{m}>' for m in maps)}] {{dist.scope = \"o\"}} "
            f"ins(%x, %w : tensor<{read}x{self.type}>, tensor<64x{self.shape[-1]}x{self.type}>) outs(%z : {product}) -> {product}",
        ]
        if is_narrow:
            lines += self.generic("t", [("h", product, "f32")], out, whole, f"%q = arith.truncf %a0 : f32 to {self.type}", "o")
        term = "t" if is_narrow else "h"
        lines += self.generic(
            "y", [("r", out, self.type), (term, out, self.type)], out, whole, f"%q = arith.addf %a0, %a1 : {self.type}", ""
        )
        return "\n".join(lines + [f"return %y : {out}", "}"]) + "\n"

    def generic(self, name, inputs, out, whole, body, scope):
        maps = ", ".join([f"affine_map<{whole}>"] * (len(inputs) + 1))
        kinds = ", ".join(['"parallel"'] * len(self.shape))
        arguments = ", ".join(f"%a{i}: {element}" for i, (_, _, element) in enumerate(inputs))
        return [
            f"%{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({', '.join('%' + value for value, _, _ in inputs)} : {', '.join(kind for _, kind, _ in inputs)}) "
            f"outs(%o : {out}) attrs = {{dist.scope = \"{scope}\"}} {{",
            f"^bb0({arguments}, %old: {self.type}):",
            body,
            f"linalg.yield %q : {self.type}",
            f"}} -> {out}",
        ]

    def bytes(self, dp, tp):
        local = [math.ceil(self.shape[0] / dp), *self.shape[1:]]
        size = math.prod(local)
        everywhere = 2 * (tp - 1) / tp * size * 4
        if self.type == "f32":
            return everywhere
        # Blocks within the blocks of dp, if it is the dimension that dp shards.
        return min([everywhere, *((tp - 1) * math.ceil(d / tp) * (size // d) * (4 + 2) for d in local)])


def check(work, number):
    choose = random.Random(number)
    machine = MACHINES[number % 3]
    tp, dp = choose.choice([2, 3, 4, 8]), choose.choice([1, 1, 2])
    if dp * tp > 8:
        dp = 1
    case = Case(choose, dp)
    module, schedule = (os.path.join(work, f"{number}.{name}.mlir") for name in ("model", "schedule"))
    with open(module, "w") as file:
        file.write(case.module())
    with open(schedule, "w") as file:
        rows = f'dist.shard input "*" [0 = {{"dp"}}]\n' if dp > 1 else ""
        axes = f'"dp" = {dp}, "tp" = {tp}' if dp > 1 else f'"tp" = {tp}'
        file.write(f'dist.mesh @m [{axes}]\ndist.schedule @s on @m {{\n{rows}dist.shard "o" row over "tp"\n}}\n')
    command = [os.path.join(TOOLS, "dist-report"), module, "--schedule", schedule, "--json"]
    done = subprocess.run(
        command + (["--machine", machine] if machine else []), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    collectives = json.loads(done.stdout)["functions"][0]["collectives"]
    sent = sum(one["bytes_sent_per_rank"] * one["count"] for one in collectives)
    expected = case.bytes(dp, tp)
    assert abs(sent - expected) < 4, (
        f"{case.shape} of {case.type} on dp={dp}, tp={tp}, machine {machine}: {sent} bytes sent, {expected} expected: "
        + ", ".join(f"{one['op']} {one['shape']} {one['dtype']}" for one in collectives)
    )


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as work:
        cases = {f"row_{number}": lambda number=number: check(work, number) for number in range(CASES)}
        return xunit.run("e2e.row_bytes", cases, wanted)


if __name__ == "__main__":
    sys.exit(main())
