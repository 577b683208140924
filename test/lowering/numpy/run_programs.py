#!/usr/bin/python3
"""Runs the programs of programs/ and compares with what numpy recorded (record.py), bit by bit.

    run_programs.py [--only REGEX]

Each program runs on one rank for every recorded input, and, where it has an input x, on two ranks that have half of x
each, for the last of them. dist-run comes from tools/ below the current folder; numpy is not needed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
import npy  # noqa: E402
import xunit  # noqa: E402

TYPES = {"float32": "f32", "int32": "i32", "int64": "i64", "bool": "i1"}
SCHEDULE = """dist.mesh @m ["r" = 2]
dist.schedule @halves on @m {
  dist.shard input "x" [{"r"}, {}]
}
"""


def run(program, case, schedule):
    """None, or what went wrong."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        command = ["tools/dist-run", program, "--rtol=0", "--atol=0"]
        for kind, tensors in (("input", case["inputs"].items()), ("expect", enumerate(case["results"]))):
            for name, tensor in tensors:
                name = name if kind == "input" else f"result{name}"
                path = os.path.join(folder, f"{kind}-{name}.npy")
                npy.write(path, TYPES[tensor["type"]], tensor["shape"], tensor["data"])
                command += [f"--{kind}", f"{name}={path}"]
        if schedule:
            path = os.path.join(folder, "halves.mlir")
            with open(path, "w", encoding="utf-8") as file:
                file.write(SCHEDULE)
            command += ["--schedule", path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr}"
    equal = done.stdout.count(": equal to ")
    return None if equal == len(case["results"]) else f"{equal} results compared: {done.stdout}"


def main():
    only = re.compile(sys.argv[2] if sys.argv[1:2] == ["--only"] else "")
    with open(os.path.join(HERE, "recorded.json"), encoding="utf-8") as file:
        recorded = json.load(file)
    programs = sorted(name[:-len(".mlir")] for name in os.listdir(os.path.join(HERE, "programs")))
    results = []
    if programs != sorted(recorded):
        results.append(("all_are_recorded", 0, f"recorded are {sorted(recorded)}, there are {programs}"))
    for name in filter(only.search, programs):
        cases = [(case, f"{name}.{i}", False) for i, case in enumerate(recorded[name])]
        if "x" in recorded[name][-1]["inputs"]:
            cases.append((recorded[name][-1], f"{name}.two_ranks", True))
        for case, title, schedule in cases:
            start = time.monotonic()
            problem = run(os.path.join(HERE, "programs", name + ".mlir"), case, schedule)
            results.append((title, time.monotonic() - start, problem))
            if problem:
                print("FAILED", title, problem, flush=True)
    return xunit.finish("lowering.numpy", results)


if __name__ == "__main__":
    sys.exit(main())
