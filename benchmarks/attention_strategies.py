#!/usr/bin/env python3
"""Ways to shard the sequence of an attention, over its window and the number of ranks, on pretended links.

  bazel build //tools/...
  python benchmarks/attention_strategies.py                       # about 4 minutes, no other packages

A transformer of sliding windows (or causal attention to all keys before: window "all") is compiled for

  halo    the sequence is cut, neighbours' rows come by halo exchanges (windows alone)
  heads   heads are cut inside of attention, by all_to_all of q, k, v and o (Ulysses)
  ring    keys and values go round (dist.ring); once as it is placed, once with --overlap=auto ("ring +")
  zigzag  the same, and ranks exchange halves of their queries (causal attention to all keys alone); and "zigzag +"
  gather  keys and values are gathered (causal attention to all keys alone)

and all of them run in turns with --link, pinned to two cores, until --seconds are spent. Printed are the best step of
each, ms, and what a rank sends, MiB; the best of a row has a star. More than two ranks share the cores: their
computation takes its turns, so what differs from row to row is what is sent, and how much is computed by all together.
The results of all ways are compared with those of one rank.
"""
import argparse
import array
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = ROOT / "test/passes/attention/Inputs/window_transformer.py"
SEQUENCE = '  dist.shard input "x" [{}, {"sp"}, {}]\n'
WAYS = {
    "halo": SEQUENCE,
    "heads": SEQUENCE + """  dist.sync "layers.*.attention.{q,k,v}" fwd_post all_to_all dim 1 to 2 over "sp"
  dist.sync "layers.*.attention.o" fwd_pre all_to_all dim 2 to 1 over "sp"
""",
    "ring": SEQUENCE + '  dist.ring "layers.*.attention" over "sp"\n',
    "zigzag": SEQUENCE + '  dist.ring "layers.*.attention" over "sp" zigzag\n',
    "gather": SEQUENCE,
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("layers", 2), ("batch", 1), ("sequence", 2048), ("features", 512), ("heads", 8), ("steps", 4)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--windows", default="64,256,1024,all", help="keys before a query")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--link", default="latency=20us,bandwidth=1GB/s")
    parser.add_argument("--machine", default="cpu", help="for --overlap=auto: a name, or a file that dist-calibrate wrote")
    parser.add_argument("--seconds", type=float, default=200, help="for all runs; compiling comes on top")
    parser.add_argument("--cores", default="", help="two numbers, as in 0,1")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "bazel-bin/tools")
    return parser.parse_args()


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit("attention_strategies.py: " + " ".join(map(str, command)) + " failed:\n" + done.stderr)
    return done.stdout


def write_weights(path, model):
    """Numbers from -1 to 1 for each parameter."""
    draw, header, data = random.Random(0), {}, array.array("f")
    for sizes, name in re.findall(r'tensor<([\dx]+)xf32> \{dist\.parameter = "(\w+)"', model):
        shape, start = [int(size) for size in sizes.split("x")], len(data)
        data.extend(draw.uniform(-1, 1) for _ in range(shape[0] * shape[1]))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [4 * start, 4 * len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data.tobytes())


class Way:
    def __init__(self, a, folder, model, name, ranks):
        self.a, self.name, self.times, self.weights = a, name, [], model.with_suffix(".safetensors")
        schedule = folder / "schedule.mlir"
        kind = name.split()[0]
        schedule.write_text(f'dist.mesh @m ["sp" = {ranks}]\ndist.schedule @s on @m {{\n{WAYS[kind]}}}\n')
        how = [model, "--schedule", schedule]
        report = json.loads(run([a.tools / "dist-report", *how, "--json"]))
        self.sent = sum(c["count"] * c["bytes_sent_per_rank"] for c in report["functions"][0]["collectives"])
        self.bundle = folder / f"{ranks}.{kind}{len(name.split())}.{model.stem}.dist"
        overlap = ["--overlap=auto", "--machine", a.machine, "--link", a.link] if name != kind else []
        run([a.tools / "dist-compile", *how, *overlap, "-o", self.bundle])

    def step(self, *more):
        return json.loads(run(["taskset", "-c", self.a.cores, self.a.tools / "dist-run", self.bundle, "--random", "--json",
                               "--weights", self.weights, *more]).splitlines()[-1])

    def turn(self):
        self.times += self.step("--link", self.a.link, "--repeat", self.a.steps + 1)["seconds"][1:]

    def check(self, folder, expected):
        self.step("--expect", f"y={expected}/y.npy")


def main():
    a = arguments()
    a.cores = a.cores or ",".join(str(core) for core in sorted(os.sched_getaffinity(0))[:2])
    rows = [(window, int(ranks)) for window in a.windows.split(",") for ranks in a.ranks.split(",")]
    names = ["halo", "heads", "ring", "ring +", "zigzag", "zigzag +", "gather"]
    print(f"{a.layers} layers, batch {a.batch}, sequence {a.sequence}, features {a.features}, {a.heads} heads; link {a.link}; "
          f"cores {a.cores}; best steps, ms (MiB that a rank sends)")
    print(f"{'window':>7s} {'ranks':>5s}" + "".join(f"{name:>18s}" for name in names))
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for window, ranks in rows:
            model = folder / f"window_{window}.mlir"
            left = a.sequence if window == "all" else int(window)
            text = run([sys.executable, MODEL, "--layers", a.layers, "--batch", a.batch, "--sequence", a.sequence,
                        "--features", a.features, "--heads", a.heads, "--kv_heads", a.heads, "--left", left])
            # Weights are parameters: what is said of a module's inputs is not said of them.
            model.write_text(text.replace('dist.input = "w_', 'dist.parameter = "w_'))
            write_weights(model.with_suffix(".safetensors"), model.read_text())
            skipped = ["halo"] if window == "all" else ["zigzag", "gather"]
            ways = [Way(a, folder, model, name, ranks) for name in names if name.split()[0] not in skipped]
            expected = folder / f"expected_{window}"
            if not expected.exists():
                run([a.tools / "dist-run", model, "--weights", model.with_suffix(".safetensors"), "--random",
                     "--output", expected])
            for way in ways:
                way.check(folder, expected)
            end = time.monotonic() + a.seconds / len(rows)
            while True:
                for way in ways:
                    way.turn()
                if time.monotonic() > end:
                    break
            best = {way.name: min(way.times) for way in ways}
            sent = {way.name: way.sent for way in ways}
            cells = []
            for name in names:
                star = "*" if name in best and best[name] == min(best.values()) else ""
                cells.append(f"{best[name] * 1e3:.1f}{star} ({sent[name] / 2**20:.2f})" if name in best else "-")
            print(f"{window:>7s} {ranks:>5d}" + "".join(f"{cell:>18s}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
