#!/usr/bin/env python3
"""Compile time of whole programs, per op: dist-compile on long programs, code generation included.

  bazel build //tools:dist-compile
  python benchmarks/lowering_time.py [KIND …]

Runs each program of long_programs.py at two sizes, on one core, and prints the processor's time in ms an op and the peak
of memory. Processor time, not the clock's: other work on the machine adds little to it. What is linear costs the same an
op at both sizes. The best of three runs counts.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import long_programs

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILE = ROOT / "bazel-bin" / "tools" / "dist-compile"
RUNS = 3
SIZES = {"layers": (1000, 10000), "chain": (1000, 10000), "fanout": (330, 3300), "inserts": (330, 3300), "triangle": (64, 256),
         "lstm": (32, 256), "loops": (20, 200), "rows_of_loops": (100, 1000), "carried": (100, 1000), "results": (300, 3000), "same_result": (300, 3000), "arguments": (2000, 20000)}


def compile_once(program, folder):
    """Processor seconds and peak MiB."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(COMPILE, [str(COMPILE), program, "-o", os.path.join(folder, "out.dist")])
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"dist-compile {program} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    print(f"{'program':>12} {'ops':>7} {'seconds':>8} {'ms/op':>7} {'MiB':>6}")
    for kind in sys.argv[1:] or SIZES:
        for size in SIZES[kind]:
            with tempfile.TemporaryDirectory() as folder:
                program = os.path.join(folder, "program.mlir")
                text = long_programs.KINDS[kind](size)
                with open(program, "w", encoding="utf-8") as file:
                    file.write(text)
                ops = max(text.count(" = "), size)
                runs = [compile_once(program, folder) for _ in range(RUNS)]
            seconds = min(run[0] for run in runs)
            memory = max(run[1] for run in runs)
            print(f"{kind:>12} {ops:>7} {seconds:8.2f} {1000 * seconds / ops:7.3f} {memory:6.0f}", flush=True)


if __name__ == "__main__":
    main()
