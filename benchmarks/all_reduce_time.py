#!/usr/bin/env python3
"""The time of an all_reduce of f32 over two ranks, by each backend.

all_reduce_time.py [BYTES]...: for each number of bytes, 4 to 64 MiB unless given, the median of some runs by threads,
processes, Open MPI and MPICH, in microseconds. By MPI three times: in place order, with `--reductions mpi`, and MPI's own
blocking MPI_Allreduce in a program of its own (all_reduce_mpi.c). All take turns, five each, and the best turn counts. A
starter that is not installed is left out. Programs come from bazel-bin/tools.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bazel-bin", "tools")
MODULE = """
dist.mesh @m ["x" = 2]
func.func @main(%a: {type} {{dist.input = "a", dist.global_type = {type}, dist.sharding = #dist.sharding<@m, [{{}}]>}})
    -> ({type} {{dist.output = "b", dist.global_type = {type}, dist.sharding = #dist.sharding<@m, [{{}}]>}}) {{
  %b = dist.all_reduce %a sum over "x" : {type}
  return %b : {type}
}}
"""
FAMILIES = {"Open MPI": ("mpirun.openmpi", "mpicc.openmpi"), "MPICH": ("mpiexec.mpich", "mpicc.mpich")}
TURNS = 5


def compile_program(size, folder):
    module, bundle = os.path.join(folder, f"{size}.mlir"), os.path.join(folder, f"{size}.dist")
    with open(module, "w", encoding="utf-8") as file:
        file.write(MODULE.format(type=f"tensor<{size // 4}xf32>"))
    subprocess.run([os.path.join(TOOLS, "dist-compile"), module, "-o", bundle], check=True)
    return bundle


def repeats(size):
    return max(30, min(20000, 2**28 // size))


def find_ways(folder):
    """By name: a function of a number of bytes and a bundle that takes the time of a turn."""

    def run(command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]

    def ours(before, *options):
        def measure(size, bundle):
            command = [*before, os.path.join(TOOLS, "dist-exec"), bundle, "--random=1", f"--repeat={repeats(size)}", "--json", *options]
            return statistics.median(json.loads(run(command))["seconds"]) * 1e6

        return measure

    ways = {"threads": ours([]), "processes": ours([], "-n", "2")}
    for family, (starter, compiler) in FAMILIES.items():
        if not shutil.which(starter):
            continue
        start = [starter, "-n", "2"]
        ways[family] = ours(start, "--backend=mpi")
        ways[f"{family}, `--reductions mpi`"] = ours(start, "--backend=mpi", "--reductions=mpi")
        own = os.path.join(folder, starter)
        if shutil.which(compiler):
            subprocess.run([compiler, "-O2", os.path.join(os.path.dirname(os.path.abspath(__file__)), "all_reduce_mpi.c"), "-o", own], check=True)
            ways[f"{family}'s own"] = lambda size, bundle, command=(*start, own): float(run([*command, str(size), str(repeats(size))]))
    return ways


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    sizes = [int(size) for size in sys.argv[1:]] or [4, 1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26]
    with tempfile.TemporaryDirectory() as folder:
        ways = find_ways(folder)
        print("| bytes | " + " | ".join(ways) + " |\n|" + "---|" * (1 + len(ways)))
        for size in sizes:
            bundle = compile_program(size, folder)
            turns = [[way(size, bundle) for way in ways.values()] for _ in range(TURNS)]
            print(f"| {size} | " + " | ".join(f"{min(times):.1f}" for times in zip(*turns)) + " |", flush=True)


if __name__ == "__main__":
    main()
