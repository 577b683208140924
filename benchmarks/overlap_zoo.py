#!/usr/bin/env python3
"""Whether overlap ever loses: schedules of the examples on two ranks with pretended links, overlapped beside synchronous.

  bazel build //tools/...
  python benchmarks/overlap_zoo.py --machine own.json --seconds 900

Schedules with one axis run on two ranks, pinned to two cores, on links of 0, 5, 20 and 100 us and 0.2, 1 and 10 GB/s:
each of a sample (--pairs, at equal distances of all that there are) is compiled as it is placed, and with
--overlap=auto. Where both are one program, byte by byte, there is nothing to compare; the others run in turns until their
part of --seconds is spent, and the best step of all counts. Exit status 1
where an overlapped program takes more than --most (1.02) of the time of the synchronous one, or has other bits than one that
joins exchanges as it does and is synchronous otherwise: joined, a device computes other rows at once, and with them other bits.

`//test/e2e:estimated` says what the model estimates for all of them.
"""
import argparse
import filecmp
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

from overlap_time import ROOT, run

LINKS = [f"latency={latency}us,bandwidth={bandwidth}GB/s" for latency in (0, 5, 20, 100) for bandwidth in (0.2, 1, 10)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default="cpu", help="a name, or a file that dist-calibrate wrote")
    parser.add_argument("--seconds", type=float, default=900, help="for all runs; compiling comes on top")
    parser.add_argument("--pairs", type=int, default=48, help="schedules with a link, of all")
    parser.add_argument("--steps", type=int, default=100, help="a turn")
    parser.add_argument("--most", type=float, default=1.02)
    parser.add_argument("--only", default="", help="REGEX of paths")
    parser.add_argument("--links", default="", help="REGEX of links, as in '=(5|20)us,bandwidth=1G'")
    parser.add_argument("--cores", default="", help="two numbers, as in 0,1")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "bazel-bin/tools")
    return parser.parse_args()


def find_schedules(pattern):
    """(path, its axis) of those with one axis."""
    for path in sorted((ROOT / "examples").glob("*/*.mlir")):
        axes = re.findall(r'"(\w+)" = \d+', re.search(r"dist\.mesh .*", path.read_text())[0])
        if len(axes) == 1 and re.search(pattern, str(path)):
            yield path, axes[0]


class Program:
    def __init__(self, a, folder, module, schedule, axis, link, kind):
        self.a, self.link, self.times, self.kind = a, link, [], kind
        self.bundle = folder / f"{kind}.dist"
        machine = ["--machine", a.machine, "--link", link]
        how = {"synchronous": [], "joined": ["--join-halos=auto", *machine], "overlapped": ["--overlap=auto", "--overlap-memory", 1.5, *machine]}[kind]
        run([a.tools / "dist-compile", module, "--schedule", schedule, "--mesh", f"{axis}=2", "-o", self.bundle, *how])
        self.inputs = []
        for path in sorted((schedule.parent / "inputs0").glob("*.npy")):
            self.inputs += ["--input", f"{path.stem}={path}"]

    def step(self, *more):
        return run(["taskset", "-c", self.a.cores, self.a.tools / "dist-run", self.bundle, *self.inputs, "--link", self.link, *more])

    def turn(self):
        out = self.step("--repeat", self.a.steps + 1, "--json")
        self.times += json.loads(out.splitlines()[-1])["seconds"][1:]


class Pair:
    """A schedule on a link, and its programs; None of these where all are the same."""

    def __init__(self, a, folder, module, schedule, axis, link):
        self.name = f"{schedule.parent.name + ' ' + schedule.stem:20s} {link:32s}"
        make = lambda kind: Program(a, folder, module, schedule, axis, link, kind)
        self.programs = [make("synchronous"), make("overlapped")]
        one, other = [program.bundle for program in self.programs]
        files = sorted(os.listdir(one))
        if files == sorted(os.listdir(other)) and sorted(filecmp.cmpfiles(one, other, files, shallow=False)[0]) == files:
            self.programs = None
            shutil.rmtree(folder)
        else:
            self.programs.insert(1, make("joined"))


def compare(pair, folder, seconds):
    """The best steps of both, and whether the bits are the same."""
    synchronous, joined, overlapped = pair.programs
    end = time.monotonic() + seconds
    while not overlapped.times or time.monotonic() < end:
        for program in (synchronous, overlapped):
            program.turn()
    wheres = []
    for program in (joined, overlapped):
        wheres.append(folder / program.kind)
        program.step("--output", wheres[-1])
    files = sorted(os.listdir(wheres[0]))
    same = bool(files) and sorted(filecmp.cmpfiles(*wheres, files, shallow=False)[0]) == files
    return min(synchronous.times), min(overlapped.times), same


def main():
    a = arguments()
    a.cores = a.cores or ",".join(str(core) for core in sorted(os.sched_getaffinity(0))[:2])
    links = [link for link in LINKS if re.search(a.links, link)]
    every = [(schedule, axis, link) for schedule, axis in find_schedules(a.only) for link in links]
    count = min(a.pairs, len(every))
    # Neighbours differ in their links, so that a sample has all of them.
    chosen = [every[(i * len(every) // count + i % len(links)) % len(every)] for i in range(count)]
    bad, modules, pairs = 0, {}, []
    print(f"{count} of {len(every)}; machine {a.machine}, cores {a.cores}; best steps, ms", flush=True)
    with tempfile.TemporaryDirectory() as name:
        for number, (schedule, axis, link) in enumerate(chosen):
            model, folder = schedule.parent.name, pathlib.Path(name) / str(number)
            folder.mkdir()
            if model not in modules:
                modules[model] = pathlib.Path(name) / f"{model}.mlir"
                run([a.tools / "dist-import", schedule.parent / f"{model}.dynamo.onnx", "-o", modules[model]])
            pair = Pair(a, folder, modules[model], schedule, axis, link)
            if pair.programs:
                pairs.append((pair, folder))
            else:
                print(f"holds: {pair.name} one program", flush=True)
        for pair, folder in pairs:
            before, after, same = compare(pair, folder, a.seconds / len(pairs))
            is_bad = after > a.most * before or not same
            bad += is_bad
            print(f"{'FAILS' if is_bad else 'holds'}: {pair.name} {before * 1e3:8.3f} {after * 1e3:8.3f} "
                  f"{after / before:6.3f} {'same bits' if same else 'OTHER BITS'}", flush=True)
    print(f"{bad} of {count} slower than {a.most} of the synchronous time, or with other bits; {count - len(pairs)} are one program with and without")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
