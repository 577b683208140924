#!/usr/bin/python3
"""Tries dist's code on a GPU: whether it runs, whether it is right, how fast it is. pack.py makes the folder that it is in.

    run.py [--driver D] [--minutes 9] [--only KIND,...] [--out FILE]

What matters most comes first, and each line is written as it comes, so that nothing is lost when time is over:

- `machine`: the GPU, its driver, the libraries;
- `right`: every model on one rank, beside results of the CPU; by graphs and without, with the same bits;
- `ranks`: two ranks or more; collectives go by NCCL, or by the host's memory if there are fewer GPUs;
- `random`: random programs in f64, beside the CPU;
- `sanitizer`: some of these under compute-sanitizer, where that is installed: memcheck and racecheck;
- `speed`: GB/s of kernels on 256 MiB beside a copy, TFLOP/s of products beside torch's.

Needs python3 alone; torch for the last. Exit status 1 if anything is wrong.
"""

import argparse
import array
import ast
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LETTERS = {"<f4": "f", "<f8": "d", "<i8": "q", "<i4": "i", "|b1": "b", "|i1": "b"}
# Of the largest number of a result.
TOLERANCE = {"<f4": 2e-4, "<f8": 1e-9}


class Run:
    def __init__(self, options):
        self.options, self.end, self.failed = options, time.monotonic() + 60 * options.minutes, 0
        self.out = open(options.out, "a", encoding="utf-8")  # noqa: SIM115: until the end

    def left(self):
        return self.end - time.monotonic()

    def say(self, kind, name, status, **facts):
        self.failed += status == "failed"
        self.out.write(json.dumps({"kind": kind, "name": name, "status": status, **facts}) + "\n")
        self.out.flush()
        text = " ".join(f"{key}={value}" for key, value in facts.items())
        print(f"{status:7} {kind} {name} {text}", flush=True)

    def execute(self, case, *options, before=(), seconds=60):
        """What a bundle's run prints, as JSON; or what is wrong."""
        command = [*before, os.path.join(HERE, "bin", "dist-exec"), os.path.join(HERE, "bundles", case["name"] + ".dist"), "--backend=cuda"]
        command += [option for option in case["options"]] + ["--random=1", "--json", *options]
        if self.options.driver:
            command.append("--driver=" + self.options.driver)
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(HERE, "lib") + ":" + os.environ.get("LD_LIBRARY_PATH", ""))
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=min(seconds, max(self.left(), 1)), env=environment,
                cwd=HERE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None, f"takes more than {seconds} s"
        if done.returncode:
            return None, (done.stderr or done.stdout)[-600:]
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return (json.loads(lines[-1]), done.stderr) if lines else (None, done.stdout[-600:])


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode())
    return header["descr"], data[10 + length :]


def differ(got, want):
    """None, or how two folders of results differ."""
    for path in sorted(glob.glob(os.path.join(want, "*.npy"))):
        name = os.path.basename(path)
        (kind, expected), (other, data) = read(path), read(os.path.join(got, name))
        if kind != other or len(expected) != len(data):
            return f"{name}: {other} of {len(data)} bytes, not {kind} of {len(expected)}"
        if kind not in TOLERANCE:
            if data != expected and kind in LETTERS:
                return f"{name} differs"
            continue
        xs, ys = array.array(LETTERS[kind], data), array.array(LETTERS[kind], expected)
        finite = [abs(y) for y in ys if abs(y) < 1e300]
        allowed = TOLERANCE[kind] * max(finite, default=0) + 1e-30
        for i, (x, y) in enumerate(zip(xs, ys)):
            # NaN must be NaN, and an infinity itself.
            if not (abs(x - y) <= allowed or x == y or (x != x and y != y)):
                return f"{name}[{i}] is {x}, not {y}"
    return None


def is_same(one, other):
    names = [os.path.basename(path) for path in glob.glob(os.path.join(one, "*.npy"))]
    return bool(names) and all(read(os.path.join(one, name)) == read(os.path.join(other, name)) for name in names)


def check_machine(run, _):
    for command in (["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], ["uname", "-srm"], ["nvcc", "--version"]):
        if shutil.which(command[0]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            run.say("machine", command[0], "ok", says=done.stdout.strip().splitlines()[-1][:100] if done.stdout.strip() else "")


def check_right(run, cases):
    for case in cases:
        if run.left() < 5:
            return run.say(case["kind"], case["name"], "skipped", why="time is over")
        outputs = [os.path.join(HERE, "outputs", f"{case['name']}.{turn}") for turn in (1, 2)]
        start = time.monotonic()
        problem = None
        # By graphs, which are there from the second time on, and without.
        for output, options in zip(outputs, (["--repeat=3"], ["--graph=off"])):
            found, problem = run.execute(case, "--output", output, *options)
            if found is None:
                break
        else:
            problem = differ(outputs[0], os.path.join(HERE, "results", case["name"]))
            if not problem and not is_same(*outputs):
                problem = "two runs differ in bits"
        run.say(case["kind"], case["name"], "failed" if problem else "ok", seconds=round(time.monotonic() - start, 2), **({"why": problem} if problem else {}))


def check_sanitizer(run, cases):
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(sanitizer) or run.options.driver:
        return run.say("sanitizer", "compute-sanitizer", "skipped", why="it is not installed, or there is no GPU")
    for case in cases[:6]:
        for tool in ("memcheck", "racecheck"):
            if run.left() < 20:
                return None
            before = [sanitizer, "--tool", tool, "--target-processes=all", "--error-exitcode=9", "--print-limit=5"]
            found, problem = run.execute(case, before=before, seconds=60)
            run.say("sanitizer", f"{case['name']} {tool}", "ok" if found is not None else "failed", **({} if found is not None else {"why": problem}))
    return None


def seconds_of(found):
    times = found["seconds"] if isinstance(found.get("seconds"), list) else [found.get("seconds", 0)]
    return min(times)


def time_torch(size, kind):
    import torch

    a, b = (torch.randn(size, size, device="cuda", dtype=getattr(torch, kind)) for _ in range(2))
    torch.backends.cuda.matmul.allow_tf32 = False
    best = 1e9
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        a @ b
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def time_copy():
    import torch

    x = torch.empty(1 << 26, device="cuda")
    y = torch.empty_like(x)
    best = 1e9
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        y.copy_(x)
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return 2 * (1 << 28) / best / 1e9


def check_speed(run, cases):
    try:
        copy = time_copy()
        run.say("speed", "copy of 256 MiB by torch", "ok", gb_s=round(copy))
    except Exception as error:  # noqa: BLE001: without torch or a GPU there is nothing to compare with
        copy = None
        run.say("speed", "torch", "skipped", why=str(error)[:200])
    for case in cases:
        if run.left() < 30:
            return run.say("speed", case["name"], "skipped", why="time is over")
        direct, problem = run.execute(case, "--repeat=20", "--graph=off", seconds=120)
        if direct is not None:
            found, problem = run.execute(case, "--repeat=20", "--profile", seconds=120)
        if direct is None or found is None:
            run.say("speed", case["name"], "failed", why=problem)
            continue
        best = seconds_of(found)
        # The last is by the GPU's own clock.
        facts = {"ms": round(1000 * best, 3), "ms_without_graphs": round(1000 * seconds_of(direct), 3), "gpu_ms": round(found["profile"]["us"] / 1000, 3)}
        if "bytes" in case:
            facts["gb_s"] = round(case["bytes"] / best / 1e9)
            if copy:
                facts["of_copy"] = round(facts["gb_s"] / copy, 2)
        if "flops" in case:
            facts["tflop_s"] = round(case["flops"] / best / 1e12, 1)
            if copy:
                facts["of_torch"] = round(time_torch(*case["torch"]) / best, 2)
        run.say("speed", case["name"], "ok", **facts)
    return None


KINDS = {
    "machine": check_machine, "right": check_right, "ranks": check_right, "random": check_right, "sanitizer": check_sanitizer, "speed": check_speed,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default="", help="as of dist-exec: emulated, for a try without a GPU")
    parser.add_argument("--minutes", type=float, default=9, help="after which it ends, whatever is left")
    parser.add_argument("--only", default=",".join(KINDS), help="some of: " + ", ".join(KINDS))
    parser.add_argument("--out", default=os.path.join(HERE, "results.jsonl"), help="where each line goes as well, as JSON")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := [kind for kind in wanted if kind not in KINDS]:
        parser.error(f"--only {unknown[0]}: known are {', '.join(KINDS)}")
    if not os.path.exists(os.path.join(HERE, "bin")):
        with tarfile.open(os.path.join(HERE, "programs.tar.xz")) as archive:
            archive.extractall(HERE)
    with open(os.path.join(HERE, "cases.json"), encoding="utf-8") as file:
        cases = json.load(file)
    run = Run(options)
    for kind in wanted:
        of_kind = [case for case in cases if case["kind"] == ("right" if kind == "sanitizer" else kind)]
        KINDS[kind](run, of_kind)
    print(f"{run.failed} failed")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
