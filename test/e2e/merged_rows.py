#!/usr/bin/python3
"""Rows that are merged, taken apart or padded by rows of their own, over ranks that do not divide them.

    merged_rows.py [REGEX]     only cases whose name matches

For each case, forward and with gradients: the ranks agree with one device in f64 within 1e-10, and what a rank sends
forward is the closed form, to the byte. That is found rank by rank from which rows each op reads (see spatial.py), not
from anything the compiler says. Programs come from tools/ below the current folder.
"""

import collections
import json
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402
from run_model import Failure, call  # noqa: E402
from spatial import Layer, exchange  # noqa: E402

COLUMNS = 2
ROW = 8 * COLUMNS  # bytes


def rows_sent(size, kernel, stride, pad, ranks):
    sent, _ = exchange(size, Layer("", COLUMNS, size, COLUMNS, kernel, stride, pad), ranks)
    return sent


def tensor(rows):
    return f"tensor<{rows}x{COLUMNS}xf64>"


def windows(value, rows, pad):
    """Sums of three rows each, weighed, of a value padded by zeros."""
    text = ""
    if pad:
        text = f"""
  %zero = arith.constant 0.0 : f64
  %padded = tensor.pad {value} low[{pad}, 0] high[{pad}, 0] {{
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f64
  }} : {tensor(rows)} to {tensor(rows + 2 * pad)}"""
        value, rows = "%padded", rows + 2 * pad
    return text + f"""
  %f = arith.constant dense<0.0> : {tensor(rows - 2)}
  %y = linalg.generic {{indexing_maps = [affine_map<(o, c, k) -> (o + k, c)>, affine_map<(o, c, k) -> (k)>, affine_map<(o, c, k) -> (o, c)>],
      iterator_types = ["parallel", "parallel", "reduction"]}} ins({value}, %w : {tensor(rows)}, tensor<3xf64>) outs(%f : {tensor(rows - 2)}) {{
  ^bb0(%a: f64, %b: f64, %c: f64):
    %m = arith.mulf %a, %b : f64
    %n = arith.addf %c, %m : f64
    linalg.yield %n : f64
  }} -> {tensor(rows - 2)}"""


def module(rows, ranks, body, out):
    return f"""dist.mesh @m ["rows" = {ranks}]
func.func @main(%x: {tensor(rows)} {{dist.sharding = #dist.sharding<@m, [{{"rows"}}, {{}}]>, dist.input = "x"}},
                %w: tensor<3xf64> {{dist.input = "w"}}) -> ({tensor(out)} {{dist.output = "y"}}) {{{body}
  return %y : {tensor(out)}
}}
"""


def repeated(rows, period, ranks):
    """Each row so many times, as upsampling to the nearest."""
    apart, merged = f"tensor<{rows}x{period}x{COLUMNS}xf64>", rows * period
    body = f"""
  %e = tensor.empty() : {apart}
  %t = linalg.generic {{indexing_maps = [affine_map<(n, r, c) -> (n, c)>, affine_map<(n, r, c) -> (n, r, c)>],
      iterator_types = ["parallel", "parallel", "parallel"]}} ins(%x : {tensor(rows)}) outs(%e : {apart}) {{
  ^bb0(%a: f64, %b: f64):
    linalg.yield %a : f64
  }} -> {apart}
  %v = tensor.collapse_shape %t [[0, 1], [2]] : {apart} into {tensor(merged)}"""
    sent = {"halo_reduce": rows_sent(merged, period, period, 0, ranks), "halo_exchange": rows_sent(merged, 3, 1, 1, ranks)}
    return module(rows, ranks, body + windows("%v", merged, 1), merged), sent


def apart(rows, period, ranks):
    """The first of each period's rows."""
    apart, merged = f"tensor<{rows}x{period}x{COLUMNS}xf64>", rows * period
    body = f"""
  %t = tensor.expand_shape %x [[0, 1], [2]] output_shape [{rows}, {period}, {COLUMNS}] : {tensor(merged)} into {apart}
  %v = tensor.extract_slice %t[0, 0, 0] [{rows}, 1, {COLUMNS}] [1, 1, 1] : {apart} to {tensor(rows)}"""
    sent = {"halo_exchange": rows_sent(merged, period, period, 0, ranks) + rows_sent(rows, 3, 1, 1, ranks)}
    return module(merged, ranks, body + windows("%v", rows, 1), rows), sent


def padded(rows, kind, ranks):
    """One row on each side: of the other end, mirrored, or the last one again."""
    before, after = {"circular": (rows - 1, 0), "reflected": (1, rows - 2), "repeated": (0, rows - 1)}[kind]
    body = f"""
  %before = tensor.extract_slice %x[{before}, 0] [1, {COLUMNS}] [1, 1] : {tensor(rows)} to {tensor(1)}
  %after = tensor.extract_slice %x[{after}, 0] [1, {COLUMNS}] [1, 1] : {tensor(rows)} to {tensor(1)}
  %v = tensor.concat dim(0) %before, %x, %after : ({tensor(1)}, {tensor(rows)}, {tensor(1)}) -> {tensor(rows + 2)}"""
    sent = {"halo_exchange": rows_sent(rows, 1, 1, 1, ranks) + rows_sent(rows + 2, 3, 1, 0, ranks),
            "all_reduce": 2 * 2 * (ranks - 1) / ranks}
    return module(rows, ranks, body + windows("%v", rows + 2, 0), rows), sent


def grouped(rows, ranks):
    """A sync before channels are taken apart brings what their windows read."""
    text = f"""dist.mesh @m ["rows" = {ranks}]
func.func @main(%x: tensor<8x{rows}xf64> {{dist.sharding = #dist.sharding<@m, [{{}}, {{"rows"}}]>, dist.input = "x"}},
                %w: tensor<4x2x3xf64> {{dist.input = "w"}}) -> (tensor<4x{rows}xf64> {{dist.output = "y"}}) {{
  %zero = arith.constant 0.0 : f64
  %s = dist.sync %x fwd_pre halo dim 1 low 1 high 1 over "rows" : tensor<8x{rows}xf64>
  %t = tensor.expand_shape %s [[0, 1], [2]] output_shape [4, 2, {rows}] : tensor<8x{rows}xf64> into tensor<4x2x{rows}xf64>
  %p = tensor.pad %t low[0, 0, 1] high[0, 0, 1] {{
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f64
  }} : tensor<4x2x{rows}xf64> to tensor<4x2x{rows + 2}xf64>
  %f = arith.constant dense<0.0> : tensor<4x{rows}xf64>
  %y = linalg.generic {{indexing_maps = [affine_map<(g, o, c, k) -> (g, c, o + k)>, affine_map<(g, o, c, k) -> (g, c, k)>, affine_map<(g, o, c, k) -> (g, o)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}} ins(%p, %w : tensor<4x2x{rows + 2}xf64>, tensor<4x2x3xf64>) outs(%f : tensor<4x{rows}xf64>) {{
  ^bb0(%a: f64, %b: f64, %c: f64):
    %m = arith.mulf %a, %b : f64
    %n = arith.addf %c, %m : f64
    linalg.yield %n : f64
  }} -> tensor<4x{rows}xf64>
  return %y : tensor<4x{rows}xf64>
}}
"""
    return text, {"halo_exchange": 8 / COLUMNS * rows_sent(rows, 3, 1, 1, ranks)}


def cases():
    for ranks in 2, 3, 4:
        # Some are aligned: 32 rows on 3 ranks are blocks of 11, and 64 are blocks of 22.
        for rows in 31, 32, 33, 41:
            for period in 2, 3:
                yield f"repeated.{rows}x{period}.{ranks}", repeated(rows, period, ranks)
                yield f"apart.{rows}x{period}.{ranks}", apart(rows, period, ranks)
        for rows in 61, 64:
            for kind in "circular", "reflected", "repeated":
                yield f"padded.{rows}.{kind}.{ranks}", padded(rows, kind, ranks)
        for rows in 12, 13:
            yield f"grouped.{rows}.{ranks}", grouped(rows, ranks)


def check(text, expected, scratch, name):
    source, placed, made = (os.path.join(scratch, f"{part}.mlir") for part in ("module", "placed", "gradients"))
    with open(source, "w") as file:
        file.write(text)

    def verify(path, *inputs):
        output = call("dist-run", path, "--input", "x=random", "--input", "w=random", *inputs, "--verify=f64", xunit.OPT_LEVEL, "--atol=1e-10",
                      "--rtol=1e-10", "--json")
        verdict = json.loads(output.strip().splitlines()[-1])
        if verdict["ok"] is not True or not verdict["outputs"]:
            raise Failure(f"ranks do not agree: {verdict}")

    verify(source)
    call("dist-opt", source, "--dist-spmd", "-o", placed)
    (function,) = json.loads(call("dist-report", placed, "--json"))["functions"]
    sent = collections.Counter()
    for collective in function["collectives"]:
        sent[collective["op"]] += collective["count"] * collective["bytes_sent_per_rank"]
    wanted = {op: int(rows * ROW) for op, rows in expected.items() if rows}
    if {op: size for op, size in sent.items() if size} != wanted:
        raise Failure(f"a rank sends {dict(sent)}, expected {wanted}")
    if not name.startswith("grouped"):
        call("dist-opt", source, "--dist-differentiate=cotangent=cotangent wrt=x,w", "-o", made)
        verify(made, "--input", "cotangent=random")


def main():
    wanted = (sys.argv[1:] + [""])[0]
    results = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
        for name, (text, expected) in cases():
            if not re.search(wanted, name):
                continue
            start, problem = time.monotonic(), None
            try:
                check(text, expected, scratch, name)
            except Failure as failure:
                problem = str(failure)
            results.append((name, time.monotonic() - start, problem))
            if problem:
                print("FAILED", name, problem, flush=True)
    return xunit.finish("e2e.merged_rows", results)


if __name__ == "__main__":
    sys.exit(main())
