#!/usr/bin/python3
"""Layers that follow each other exchange rows once (--join-halos), on chains of convolutions and poolings.

    joined_halos.py [REGEX]     only cases whose name matches

Each chain, cut by rows or by rows and columns, on 2, 3 and 4 ranks: with joining forced, and on 2 with
joining chosen for a slow link, the ranks agree with one device in f64 within 1e-10. Forced, there is one exchange for each dimension that is
cut; its rows are the sum of what the layers reach over, worked out here from kernels, strides and dilations alone, and
its bytes those of that many rows. What a rank computes is what the rows say, to the operation.

Programs come from tools/ below the current folder.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
import typing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402


class Layer(typing.NamedTuple):
    kernel: int = 3
    stride: int = 1
    dilation: int = 1
    pad: int = 1
    is_pooling: bool = False
    channels: int = 4

    @property
    def reach(self):
        return (self.kernel - 1) * self.dilation + 1

    def count(self, size):
        return (size + 2 * self.pad - self.reach) // self.stride + 1


CONV, STRIDED, DILATED = Layer(), Layer(stride=2), Layer(dilation=2, pad=2)
POOL = Layer(is_pooling=True, stride=2)
SMOOTH = Layer(is_pooling=True)
WIDE = Layer(kernel=5, pad=2, channels=2)
# Layers, and the whole size of each dimension: even on 2, 3 and 4 ranks in every layer, but for "uneven".
CHAINS = {
    "two": ([CONV] * 2, 24),
    "three": ([CONV] * 3, 24),
    "five": ([CONV] * 5, 24),
    "uneven": ([CONV] * 3, 23),
    "strided": ([CONV, STRIDED, CONV], 48),
    "dilated": ([DILATED, CONV, DILATED], 48),
    "pooled": ([CONV, POOL, CONV], 48),
    "smooth": ([SMOOTH, WIDE, SMOOTH], 24),
}
GRIDS = [(2,), (3,), (4,), (2, 2)]


def call(*command):
    done = subprocess.run([os.path.join("tools", command[0]), *command[1:]], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.stderr}{done.stdout}")
    return done.stdout


def tensor(shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def write(layers, sizes, grid):
    """A program of level 1: the image is cut, each layer has a bias and a relu, so that rows of padding are not zero."""
    axes = ["rows", "columns"][:len(grid)]
    placed = ", ".join(["{}", "{}"] + [f'{{"{axis}"}}' for axis in axes] + ["{}"] * (len(sizes) - len(axes)))
    shape = [2, 3, *sizes]
    ports = [f'%x: {tensor(shape)} {{dist.input = "x", dist.sharding = #dist.sharding<@m, [{placed}]>}}']
    rank, body, value = len(sizes), [], "%x"
    dims = ", ".join(f"d{i}" for i in range(rank + 2))
    for number, layer in enumerate(layers):
        fill = "0xFF800000" if layer.is_pooling else "0.0"
        body.append(f"  %fill{number} = arith.constant {fill} : f32")
        if layer.pad:
            padded = shape[:2] + [size + 2 * layer.pad for size in shape[2:]]
            pads = ", ".join(["0", "0"] + [str(layer.pad)] * rank)
            names = ", ".join(f"%i{i}: index" for i in range(rank + 2))
            body.append(f"  %p{number} = tensor.pad {value} low[{pads}] high[{pads}] {{\n  ^bb0({names}):\n"
                        f"    tensor.yield %fill{number} : f32\n  }} : {tensor(shape)} to {tensor(padded)}")
            value, shape = f"%p{number}", padded
        channels = shape[1] if layer.is_pooling else layer.channels
        out = [2, channels] + [(size - layer.reach) // layer.stride + 1 for size in shape[2:]]
        kernel = [layer.kernel] * rank
        body.append(f"  %e{number} = tensor.empty() : {tensor(out)}")
        body.append(f"  %s{number} = linalg.fill ins(%fill{number} : f32) outs(%e{number} : {tensor(out)}) -> {tensor(out)}")
        if layer.is_pooling:
            other, name = tensor(kernel), "pooling_nchw_max" if rank == 2 else "pooling_ncw_max"
            body.append(f"  %w{number} = tensor.empty() : {other}")
        else:
            other, name = tensor([channels, shape[1], *kernel]), "conv_2d_nchw_fchw" if rank == 2 else "conv_1d_ncw_fcw"
            ports.append(f'%w{number}: {other} {{dist.input = "w{number}"}}')
        ports.append(f'%b{number}: tensor<{channels}xf32> {{dist.input = "b{number}"}}')
        attributes = f"dilations = dense<{layer.dilation}> : tensor<{rank}xi64>, strides = dense<{layer.stride}> : tensor<{rank}xi64>"
        body.append(f"  %c{number} = linalg.{name} {{{attributes}, dist.scope = \"l{number}\"}} ins({value}, %w{number} : {tensor(shape)}, {other})"
                    f" outs(%s{number} : {tensor(out)}) -> {tensor(out)}")
        body.append(f"""  %r{number} = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>, affine_map<({dims}) -> (d1)>, affine_map<({dims}) -> ({dims})>],
      iterator_types = [{', '.join(['"parallel"'] * (rank + 2))}], dist.scope = "l{number}"}} ins(%c{number}, %b{number} : {tensor(out)}, tensor<{channels}xf32>) outs(%e{number} : {tensor(out)}) {{
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = math.absf %0 : f32
    linalg.yield %1 : f32
  }} -> {tensor(out)}""")
        value, shape = f"%r{number}", out
    mesh = ", ".join(f'"{axis}" = {size}' for axis, size in zip(axes, grid))
    return (f"dist.mesh @m [{mesh}]\nfunc.func @main({', '.join(ports)}) -> ({tensor(shape)} {{dist.output = \"y\"}}) {{\n" +
            "\n".join(body) + f"\n  return {value} : {tensor(shape)}\n}}\n")


def needed(layers, block, wanted):
    """Rows before and after a block of the first layer's input that `wanted` = (low, high) rows beside a block of the last
    one's result are made of; and of each layer, how many rows of its result are computed."""
    sizes = [block]
    for layer in layers:
        sizes.append(-(-sizes[-1] // layer.stride))
    low, high = wanted
    rows = []
    for layer, size, before in zip(reversed(layers), reversed(sizes[1:]), reversed(sizes[:-1])):
        rows.append(low + size + high)
        low = low * layer.stride + layer.pad
        high = max(0, (size + high - 1) * layer.stride - layer.pad + layer.reach - before)
    return low, high, rows[::-1]


def sent(block, devices, low, high):
    """Rows that the busiest of a line sends: brute force over who wants what of whom."""
    most = 0
    for of in range(devices):
        begin, end, rows = of * block, (of + 1) * block, 0
        for by in range(devices):
            if by == of:
                continue
            rows += max(0, min(end, by * block) - max(begin, by * block - low))
            rows += max(0, min(end, (by + 1) * block + high) - max(begin, (by + 1) * block))
        most = max(most, rows)
    return most


def check(layers, sizes, grid, folder):
    program, placed, joined = (os.path.join(folder, f"{name}.mlir") for name in ("program", "placed", "joined"))
    with open(program, "w") as file:
        file.write(write(layers, sizes, grid))
    ranks = 1
    for size in grid:
        ranks *= size
    options = [["--join-halos=always"]]
    if grid == (2,):
        options.append(["--join-halos=auto", "--machine", "cpu", "--link", "latency=100us"])
    for option in options:
        text = call("dist-run", program, "--random=3", *option, "--verify=f64", xunit.OPT_LEVEL, "--atol=1e-10", "--rtol=1e-10", "--json")
        verdict = json.loads(text.strip().splitlines()[-1])
        if verdict["ok"] is not True or verdict["ranks"] != ranks or not verdict["outputs"]:
            raise AssertionError(f"{option}: {verdict}")
    call("dist-opt", program, "--dist-spmd", "-o", placed)
    call("dist-opt", placed, "--dist-join-halos=join=always", "--cse", "--dist-verify-spmd", "-o", joined)
    (apart,), (once,) = (json.loads(call("dist-report", path, "--json"))["functions"] for path in (placed, joined))

    blocks = [-(-size // count) for size, count in zip(sizes, grid)]
    around = [needed(layers, block, (0, 0)) for block in blocks]
    fits = all(max(low, high) <= block for (low, high, _), block in zip(around, blocks))
    halos = [c for c in once["collectives"] if c["op"] == "halo_exchange"]
    count = sum(c["count"] for c in halos)
    if not fits:
        # Not wider than a block: in as many as it takes, and fewer than before.
        before = sum(c["count"] for c in apart["collectives"])
        if not len(grid) < count < before:
            raise AssertionError(f"{count} exchanges of {before}")
        return
    if count != len(grid):
        raise AssertionError(f"{count} exchanges, expected one for each of {grid}")
    expected, shape = [], [2, 3, *blocks, *sizes[len(grid):]]
    for dim, ((low, high, _), block, devices) in enumerate(zip(around, blocks, grid)):
        elements = 1
        for d, size in enumerate(shape):
            elements *= sent(block, devices, low, high) if d == dim + 2 else size
        expected.append(4 * elements)
        shape[dim + 2] += low + high  # the corners
    found = [c["bytes_sent_per_rank"] for c in halos]
    if sorted(found) != sorted(expected):
        raise AssertionError(f"exchanges send {found}, expected {expected}")
    if not any(f"{len(layers) - 1} layer" in c["cause"] for c in halos):
        raise AssertionError(f"causes do not say for whom: {[c['cause'] for c in halos]}")

    # Operations: of each convolution, rows of its result as they are computed.
    def flops(rows):
        sum, channels, whole = 0, 3, list(sizes)
        for number, layer in enumerate(layers):
            whole = [layer.count(size) for size in whole]
            if not layer.is_pooling:
                work = 2 * 2 * layer.channels * channels * layer.kernel ** len(sizes)
                for d, size in enumerate(whole):
                    work *= rows[d][number] if d < len(grid) else size
                sum += work
                channels = layer.channels
        return sum

    wide = flops([rows for _, _, rows in around])
    if once["flops_per_rank"] != wide:
        raise AssertionError(f"a rank does {once['flops_per_rank']} FLOP, expected {wide} (apart: {apart['flops_per_rank']})")
    if not apart["flops_per_rank"] <= wide:
        raise AssertionError("nothing is computed twice")


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    cases = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        for name, (layers, size) in CHAINS.items():
            for grid in GRIDS:
                for rank in (1, 2):
                    if len(grid) <= rank:
                        sizes = [size, 16][:rank] if len(grid) == 1 else [size, size]
                        cases[f"{name} {rank}-d on {'x'.join(map(str, grid))}"] = (
                            lambda a=layers, b=sizes, c=grid: check(a, b, c, folder))
        # Without padding results are smaller, and blocks drift along the line.
        narrow = [Layer(pad=0)] * 3
        for grid in GRIDS[:3]:
            cases[f"unpadded on {grid[0]}"] = lambda c=grid: check_results(narrow, [30], c, folder)
        for ranks in (2, 4):
            cases[f"group norm on {ranks}"] = lambda c=ranks: check_norm(c, folder)
        return xunit.run("e2e.joined_halos", cases, *sys.argv[1:])


def write_norm(size, ranks):
    """Two convolutions with a group norm in between, as frameworks write it: rows are merged into its two groups."""
    image, groups, flat = "tensor<2x4x%dx6xf64>" % size, "tensor<2x2xf64>", "tensor<2x2x%dxf64>" % (12 * size)
    wide, weights = "tensor<2x4x%dx8xf64>" % (size + 2), "tensor<4x4x3x3xf64>"
    whole, row = "affine_map<(a, b, c) -> (a, b, c)>", "affine_map<(a, b, c) -> (a, b)>"
    count = 12.0 * size

    def convolve(number, value):
        return f"""  %p{number} = tensor.pad {value} low[0, 0, 1, 1] high[0, 0, 1, 1] {{
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f64
  }} : {image} to {wide}
  %c{number} = linalg.conv_2d_nchw_fchw {{dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}} ins(%p{number}, %w{number} : {wide}, {weights}) outs(%f : {image}) -> {image}"""

    def add_up(name, value):
        return f"""  %{name} = linalg.generic {{indexing_maps = [{whole}, {row}], iterator_types = ["parallel", "parallel", "reduction"]}} ins({value} : {flat}) outs(%g : {groups}) {{
  ^bb0(%a: f64, %o: f64):
    %0 = arith.addf %a, %o : f64
    linalg.yield %0 : f64
  }} -> {groups}"""

    def apply(name, value, other, body):
        return f"""  %{name} = linalg.generic {{indexing_maps = [{whole}, {row}, {whole}], iterator_types = ["parallel", "parallel", "parallel"]}} ins({value}, {other} : {flat}, {groups}) outs(%h : {flat}) {{
  ^bb0(%a: f64, %b: f64, %o: f64):
{body}
  }} -> {flat}"""

    centre = f"""    %n = arith.constant {count} : f64
    %0 = arith.divf %b, %n : f64
    %1 = arith.subf %a, %0 : f64
    linalg.yield %1 : f64"""
    scale = f"""    %n = arith.constant {count} : f64
    %0 = arith.divf %b, %n : f64
    %1 = math.rsqrt %0 : f64
    %2 = arith.mulf %a, %1 : f64
    linalg.yield %2 : f64"""
    square = """    %0 = arith.mulf %a, %a : f64
    linalg.yield %0 : f64"""
    body = "\n".join([
        convolve(0, "%x"),
        f"  %m = tensor.collapse_shape %c0 [[0], [1, 2, 3]] : {image} into tensor<2x{24 * size}xf64>",
        f"  %r = tensor.expand_shape %m [[0], [1, 2]] output_shape [2, 2, {12 * size}] : tensor<2x{24 * size}xf64> into {flat}",
        add_up("sum", "%r"), apply("d", "%r", "%sum", centre), apply("q", "%d", "%sum", square), add_up("v", "%q"),
        apply("s", "%d", "%v", scale),
        f"  %t = tensor.expand_shape %s [[0], [1], [2, 3, 4]] output_shape [2, 2, 2, {size}, 6] : {flat} into tensor<2x2x2x{size}x6xf64>",
        f"  %u = tensor.collapse_shape %t [[0], [1, 2], [3], [4]] : tensor<2x2x2x{size}x6xf64> into {image}",
        convolve(1, "%u")])
    return f"""dist.mesh @m ["rows" = {ranks}]
func.func @main(%x: {image} {{dist.input = "x", dist.sharding = #dist.sharding<@m, [{{}}, {{}}, {{"rows"}}, {{}}]>}}, %w0: {weights} {{dist.input = "w0"}}, %w1: {weights} {{dist.input = "w1"}}) -> ({image} {{dist.output = "y"}}) {{
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : {image}
  %f = linalg.fill ins(%zero : f64) outs(%e : {image}) -> {image}
  %ge = tensor.empty() : {groups}
  %g = linalg.fill ins(%zero : f64) outs(%ge : {groups}) -> {groups}
  %h = tensor.empty() : {flat}
{body}
  return %c1 : {image}
}}
"""


def check_norm(ranks, folder):
    """Through a group norm: its sums add up each rank's own rows, once, and its elements are computed of more."""
    program = os.path.join(folder, "norm.mlir")
    with open(program, "w") as file:
        file.write(write_norm(24, ranks))
    text = call("dist-run", program, "--random=3", "--join-halos=always", "--verify=f64", xunit.OPT_LEVEL, "--atol=1e-10", "--rtol=1e-10", "--json")
    verdict = json.loads(text.strip().splitlines()[-1])
    if verdict["ok"] is not True or verdict["ranks"] != ranks:
        raise AssertionError(text)
    apart, once = (collections.Counter(), collections.Counter())
    for found, option in ((apart, "never"), (once, "always")):
        (function,) = json.loads(call("dist-report", program, "--mesh", f"rows={ranks}", f"--join-halos={option}", "--json"))["functions"]
        for collective in function["collectives"]:
            found[collective["op"]] += collective["count"]
    if apart != {"halo_exchange": 2, "all_reduce": 2} or once != {"halo_exchange": 1, "all_reduce": 2}:
        raise AssertionError(f"joined there are {dict(once)}, apart {dict(apart)}")


def check_results(layers, sizes, grid, folder):
    program = os.path.join(folder, "program.mlir")
    with open(program, "w") as file:
        file.write(write(layers, sizes, grid))
    text = call("dist-run", program, "--random=3", "--join-halos=always", "--verify=f64", xunit.OPT_LEVEL, "--atol=1e-10", "--rtol=1e-10", "--json")
    if json.loads(text.strip().splitlines()[-1])["ok"] is not True:
        raise AssertionError(text)


if __name__ == "__main__":
    sys.exit(main())
