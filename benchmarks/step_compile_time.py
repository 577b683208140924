#!/usr/bin/env python3
"""Compile time of a step of training, pass by pass, at two sizes.

  bazel build //tools:dist-opt //tools:dist-compile
  python benchmarks/step_compile_time.py [SMALL LARGE]

Makes the step (AdamW) of a transformer of SMALL and of LARGE layers (24 and 240), and compiles it on one core. Prints the
milliseconds of each pass at both sizes, and how many times as long the large one takes. A pass is marked if that is more
than 1.1 times as often as it has layers, and the pass counts: what is linear is not marked. Run it on a machine that does
nothing else.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import long_programs

TOOLS = pathlib.Path(__file__).resolve().parent.parent / "bazel-bin" / "tools"
LINE = re.compile(r"^\s+(\d+\.\d+) \(\s*\d+\.\d+%\)\s+(.*\S)$")
# Of the large size: shorter ones are not judged.
LEAST_SHARE = 0.01


def run(*command):
    """The milliseconds of each pass of a tool that prints them."""
    core = min(os.sched_getaffinity(0))
    done = subprocess.run([*command, "--mlir-timing", "--mlir-timing-display=list"], check=True, stderr=subprocess.PIPE,
                          text=True, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    return {m[2]: 1e3 * float(m[1]) for m in map(LINE.match, done.stderr.splitlines()) if m}


def measure(layers):
    with tempfile.TemporaryDirectory() as folder:
        model, step, bundle = (os.path.join(folder, name) for name in ("model.mlir", "step.mlir", "step.dist"))
        with open(model, "w", encoding="utf-8") as file:
            file.write(long_programs.transformer(layers))
        made = run(TOOLS / "dist-opt", model, "--dist-train-step=optimizer=adamw loss=mse", "-o", step)
        compiled = run(TOOLS / "dist-compile", step, "-o", bundle)
    compiled["DistTrainStepPass"] = made["DistTrainStepPass"]
    return compiled


def main():
    small, large = map(int, sys.argv[1:]) if len(sys.argv) == 3 else (24, 240)
    first, second = measure(small), measure(large)
    print(f"{'pass':>36} {small:>9} {large:>9}   times")
    for name in sorted(second, key=second.get, reverse=True):
        if name == "Rest" or second[name] < LEAST_SHARE * second["Total"]:
            continue
        times = second[name] / max(first.get(name, 0), 0.05)
        mark = "  <--" if times > 1.1 * large / small else ""
        print(f"{name:>36} {first.get(name, 0):9.1f} {second[name]:9.1f} {times:7.1f}{mark}")


if __name__ == "__main__":
    main()
