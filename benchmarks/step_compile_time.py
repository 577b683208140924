#!/usr/bin/env python3
"""Compile time of a step of training, pass by pass, at two sizes.

  bazel build //tools:dist-opt //tools:dist-compile //benchmarks:libprocessor_clock.so
  python benchmarks/step_compile_time.py [SMALL LARGE]

Makes the step (AdamW) of a transformer of SMALL and of LARGE layers (24 and 240), and compiles it on one core. Prints the
milliseconds of each pass at both sizes, and how many times as long the large one takes. A pass is marked if that is more
than 1.1 times as often as it has layers, and the pass counts: what is linear is not marked. Times are of the processor,
the least of three runs. Other work on the machine makes them longer all the same, as caches are shared.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import long_programs

BUILT = pathlib.Path(__file__).resolve().parent.parent / "bazel-bin"
TOOLS = BUILT / "tools"
CLOCK = BUILT / "benchmarks" / "libprocessor_clock.so"
RUNS = 3
LINE = re.compile(r"^\s+(\d+\.\d+) \(\s*\d+\.\d+%\)\s+(.*\S)$")
# Of the large size: shorter ones are not judged.
LEAST_SHARE = 0.01


def run(*command):
    """The milliseconds of each pass of a tool that prints them."""
    core = min(os.sched_getaffinity(0))
    done = subprocess.run([*command, "--mlir-timing", "--mlir-timing-display=list"], check=True, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, "LD_PRELOAD": str(CLOCK)},
                          preexec_fn=lambda: os.sched_setaffinity(0, {core}))
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
    # In turns, so that other work meets both sizes.
    runs = [(measure(small), measure(large)) for _ in range(RUNS)]
    first, second = (
        {name: min(run.get(name, 0) for run in of_size) for name in of_size[0]} for of_size in zip(*runs))
    print(f"{'pass':>36} {small:>9} {large:>9}   times")
    for name in sorted(second, key=second.get, reverse=True):
        if name == "Rest" or second[name] < LEAST_SHARE * second["Total"]:
            continue
        times = second[name] / max(first.get(name, 0), 0.05)
        mark = "  <--" if times > 1.1 * large / small else ""
        print(f"{name:>36} {first.get(name, 0):9.1f} {second[name]:9.1f} {times:7.1f}{mark}")


if __name__ == "__main__":
    main()
