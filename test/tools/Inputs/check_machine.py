"""Checks the figures of a machine file against the link that was pretended when they were measured.

    check_machine.py FILE.json --latency SECONDS --bandwidth BYTES_PER_SECOND

The link is pretended by waiting, so that it is a bound: no call is faster. How much slower calls are is the machine's
affair, but not ten times.
"""
import argparse
import json
import math

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--latency", type=float)
parser.add_argument("--bandwidth", type=float)
options = parser.parse_args()
machine = json.load(open(options.file, encoding="utf-8"))


def check(what, holds):
    if not holds:
        raise SystemExit(f"{options.file}: {what} is not as it must be:\n{json.dumps(machine, indent=2)}")


device, (link,) = machine["device"], machine["links"]
check("the element types", sorted(device["flops_per_second"]) == ["bf16", "f16", "f32", "f64"])
for name, value in {**device, **device["flops_per_second"], **link, **machine}.items():
    if name.endswith(("_per_second", "_seconds", "_bytes")) and not isinstance(value, dict) or name in ("f32", "f64", "f16", "bf16"):
        check(name, math.isfinite(value) and (value > 0 or name in ("step_seconds", "cache_bytes") and value == 0))
for name in ("start_seconds", "slowdown"):
    check(name, math.isfinite(machine["overlap"][name]) and machine["overlap"][name] >= 0)
for place in (machine, device, machine["overlap"], link):
    check("source", "dist-calibrate" in place["source"])
check("call_seconds", options.latency <= machine["call_seconds"] < 10 * options.latency)
# Of a difference of two times, each of which is somewhat too long.
check("bytes_per_second", options.bandwidth / 10 < link["bytes_per_second"] < 2 * options.bandwidth)
