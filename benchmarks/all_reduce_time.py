#!/usr/bin/env python3
"""The time of an all_reduce of f32 over two ranks, by each backend.

all_reduce_time.py [BYTES]...: for each number of bytes, 4 to 64 MiB unless given, the median of some runs by threads,
processes, Open MPI and MPICH, in microseconds. A starter that is not installed is left out. Programs come from
bazel-bin/tools.
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
WAYS = {
    "threads": ([], []),
    "processes": ([], ["-n", "2"]),
    "Open MPI": (["mpirun.openmpi", "-n", "2"], ["--backend=mpi"]),
    "MPICH": (["mpiexec.mpich", "-n", "2"], ["--backend=mpi"]),
}


def measure(size, before, options, folder):
    module, bundle = os.path.join(folder, "m.mlir"), os.path.join(folder, "m.dist")
    with open(module, "w", encoding="utf-8") as file:
        file.write(MODULE.format(type=f"tensor<{size // 4}xf32>"))
    subprocess.run([os.path.join(TOOLS, "dist-compile"), module, "-o", bundle], check=True)
    repeat = max(30, min(20000, 2**28 // size))
    command = [*before, os.path.join(TOOLS, "dist-exec"), bundle, "--random=1", f"--repeat={repeat}", "--json", *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return statistics.median(json.loads(done.stdout.splitlines()[-1])["seconds"]) * 1e6


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    ways = {name: way for name, way in WAYS.items() if not way[0] or shutil.which(way[0][0])}
    sizes = [int(size) for size in sys.argv[1:]] or [4, 1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26]
    print("| bytes | " + " | ".join(ways) + " |\n|" + "---|" * (1 + len(ways)))
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            times = [measure(size, *way, folder) for way in ways.values()]
            print(f"| {size} | " + " | ".join(f"{time:.1f}" for time in times) + " |", flush=True)


if __name__ == "__main__":
    main()
