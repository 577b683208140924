#!/usr/bin/env python3
"""Signals at random moments: every tool ends at once with its status, and leaves whole files only.

    signals.py [--trials N] [--seed S]      (SIGNAL_TRIALS, SIGNAL_LIMIT)

Each trial starts a tool over files that an earlier run has left, sends it a signal at some moment of its run, and
looks at what is there afterwards: the earlier files or the new ones, whole, and nothing temporary.
"""

import argparse
import math
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.path.abspath(__file__)).parents[2]  # the runfiles
sys.path.insert(0, str(ROOT / "test"))
import npy  # noqa: E402
import xunit  # noqa: E402

TOOLS = ROOT / "tools"
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ]
# What "at once" may take on a machine that does other things; beyond it the tool hangs. SIGNAL_LIMIT=1 is what users
# are promised, and holds where the machine does nothing else.
LIMIT = float(os.environ.get("SIGNAL_LIMIT", "60"))
# From the signal to the end of each trial, in seconds, and in seconds of work: these do not depend on what else the
# machine does.
TIMES, WORK = [], []
MOST_WORK = 1

MODEL = """
module attributes {dist.weights = "model.safetensors"} {
  func.func @main(%x: tensor<8x64xf32> {dist.input = "x"}, %w: tensor<64x64xf32> {dist.parameter = "w"})
      -> (tensor<8x64xf32> {dist.output = "y"}) {
    %c = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x64xf32>
    %0 = linalg.fill ins(%c : f32) outs(%e : tensor<8x64xf32>) -> tensor<8x64xf32>
    %1 = linalg.matmul {dist.scope = "fc"} ins(%x, %w : tensor<8x64xf32>, tensor<64x64xf32>)
        outs(%0 : tensor<8x64xf32>) -> tensor<8x64xf32>
    %2 = math.tanh %1 : tensor<8x64xf32>
    // The product's weights are packed by the first run; these are read by each.
    %3 = tensor.extract_slice %w[0, 0] [8, 64] [1, 1] : tensor<64x64xf32> to tensor<8x64xf32>
    %4 = arith.addf %2, %3 : tensor<8x64xf32>
    return %4 : tensor<8x64xf32>
  }
}
"""
SCHEDULE = """
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" column over "tp"
}
"""


def write_weights(path):
    # The data is aligned, so that a rank reads it where it lies.
    header = b'{"w":{"dtype":"F32","shape":[64,64],"data_offsets":[0,16384]}}'.ljust(64)
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(16384))


def write_rows(path):
    """An .npy file of 32 rows of 64 floats."""
    npy.write(path, "f32", (32, 64), bytes(32 * 64 * 4))


def tree(folder):
    """The files below a folder: path and content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class Tool:
    """A command that writes to the folder it runs in."""

    def __init__(self, name, *arguments):
        self.name, self.arguments = name, arguments
        self.label = " ".join([name, *(one for one in arguments if one in ("--train", "--resume", "--timeline"))])

    def start(self, folder, **options):
        environment = dict(os.environ, TMPDIR=str(folder / "tmp"))
        return subprocess.Popen([str(TOOLS / self.name), *self.arguments], cwd=folder / "work", env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                start_new_session=True, **options)


COMMANDS = [
    Tool("dist-opt", "model.mlir", "--dist-apply-schedule=file=schedule.mlir", "--dist-spmd", "-o", "spmd.mlir"),
    Tool("dist-report", "model.mlir", "--schedule", "schedule.mlir", "--json", "-o", "report.json"),
    Tool("dist-compile", "model.mlir", "--schedule", "schedule.mlir", "-o", "model.dist", "--dump-llvm", "model.ll",
         "--dump-asm", "model.s"),
    Tool("dist-exec", "model.dist", "--input", "x=random", "--output", "results", "--trace", "trace.json", "--repeat",
         "2000"),
    Tool("dist-run", "model.mlir", "--schedule", "schedule.mlir", "--input", "x=random", "--verify", "--output",
         "results", "--trace", "trace.json"),
    Tool("dist-run", "--train", "model.mlir", "--loss", "mse", "--data", "x=x.npy", "--data", "labels=x.npy", "--steps",
         "200", "--save", "run", "--save-every", "50", "--curve", "loss.csv"),
    Tool("dist-run", "--train", "model.mlir", "--schedule", "schedule.mlir", "--loss", "mse", "--data", "x=x.npy",
         "--data", "labels=x.npy", "--resume", "run", "--steps", "300", "--save", "resumed", "--save-every", "20"),
    Tool("dist-report", "model.mlir", "--schedule", "schedule.mlir", "--simulate", "--machine", "cpu", "--timeline",
         "step.html", "-o", "step.txt"),
    Tool("dist-import", str(ROOT / "examples/gpt2/gpt2.dynamo.onnx"), "-o", "gpt2.mlir"),
]

# It measures for seconds: in longer runs only.
CALIBRATE = Tool("dist-calibrate", "--ranks", "2", "-o", "own.json")
LONG_RUN = 500


def copy(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    (target / "tmp").mkdir(exist_ok=True)


def is_whole(name, content, before, after):
    """Whether a file is what an earlier or a finished run has written; times of a run are its own."""
    if name.endswith("trace.json"):
        return content.endswith(b"]}\n")
    if name == "own.json":
        return content.endswith(b"}\n")
    # Written at each checkpoint, with more steps each time.
    if name.endswith(".csv"):
        return content.startswith(b"step,loss\n") and content.endswith(b"\n")
    if name.endswith(".svg"):
        return content.endswith(b"</svg>\n")
    return content in (before.get(name), after.get(name))


def processor_time(process):
    """Seconds that the process has worked; what it had when it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return math.inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_time():
    """Seconds that all processes have worked that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def interrupt(tool, good, folder, kind, moment, after):
    """Runs `tool` over a copy of `good`; a problem, or None."""
    copy(good, folder)
    process = tool.start(folder)
    time.sleep(moment)
    before, sent = children_time() + processor_time(process), time.monotonic()
    process.send_signal(kind)
    try:
        errors = process.communicate(timeout=LIMIT)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"still runs {LIMIT} s after {kind.name} at {moment:.3f} s"
    took, work = time.monotonic() - sent, children_time() - before
    TIMES.append(took)
    WORK.append(work)
    if work > MOST_WORK:
        return f"worked {work:.2f} s after {kind.name} at {moment:.3f} s"
    # Before main has begun the kernel ends it: a shell sees the same status.
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    if status not in (0, 128 + kind):
        return f"status {status} after {kind.name} at {moment:.3f} s: {errors}"
    if leftovers := tree(folder / "tmp"):
        return f"left {list(leftovers)} in the temporary folder after {kind.name} at {moment:.3f} s"
    # What a child has not noticed yet.
    before, found = tree(good / "work"), tree(folder / "work")
    if unknown := set(found) - set(before) - set(after):
        return f"left {sorted(unknown)} after {kind.name} at {moment:.3f} s"
    if lost := set(before) - set(found):
        return f"lost {sorted(lost)} after {kind.name} at {moment:.3f} s"
    half = [name for name, content in found.items() if not is_whole(name, content, before, after)]
    if half:
        return f"half-written: {half} after {kind.name} at {moment:.3f} s, which took {took:.3f} s"
    return None


def prepare(folder, commands):
    """Runs every command once; the folder that trials begin with."""
    work = folder / "work"
    work.mkdir(parents=True)
    (folder / "tmp").mkdir()
    (work / "model.mlir").write_text(MODEL)
    (work / "schedule.mlir").write_text(SCHEDULE)
    write_weights(work / "model.safetensors")
    write_rows(work / "x.npy")
    durations = {}
    for tool in commands:
        began = time.monotonic()
        process = tool.start(folder)
        errors = process.communicate()[1].decode(errors="replace")
        durations[tool.label] = time.monotonic() - began
        if process.returncode != 0:
            raise SystemExit(f"{tool.name} failed without a signal: {errors}")
    return durations


def test_signals(trials, seed, scratch):
    good, folder = scratch / "good", scratch / "trial"
    commands = COMMANDS + ([CALIBRATE] if trials >= LONG_RUN else [])
    durations = prepare(good, commands)
    # What earlier runs left differs from what a new one writes.
    after = tree(good / "work")
    results = []
    for tool in commands:
        rng = random.Random(f"{seed} {tool.label}")
        problems, began = [], time.monotonic()
        for _ in range(max(1, trials // len(commands))):
            kind, moment = rng.choice(SIGNALS), rng.uniform(0, 1.1 * durations[tool.label])
            if problem := interrupt(tool, good, folder, kind, moment, after):
                problems.append(problem)
        results.append((f"signals to {tool.label}", time.monotonic() - began, "\n".join(problems) or None))
    return results, good


def test_ignored(good, scratch):
    """A signal that the caller ignores (nohup) stays ignored."""
    results = []
    for tool in (COMMANDS[0], COMMANDS[3]):
        copy(good, scratch / "ignored")
        process = tool.start(scratch / "ignored", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        while process.poll() is None:
            process.send_signal(signal.SIGHUP)
            time.sleep(0.01)
        process.communicate()
        problem = None if process.returncode == 0 else f"status {process.returncode}"
        results.append((f"{tool.name} under nohup", 0, problem))
    return results


def has_open(process, file):
    """Whether the process has the file open."""
    links = pathlib.Path(f"/proc/{process.pid}/fd")
    try:
        return any(os.readlink(link) == str(file) for link in links.iterdir())
    except FileNotFoundError:  # one that was closed meanwhile, or the process has ended
        return False


def test_waiting(good, scratch):
    """A tool that waits for a pipe, which somebody holds open and says nothing, ends as at any other moment."""
    folder = (scratch / "waiting").resolve()
    results = []
    for tool in [Tool("dist-opt", "pipe"), Tool("dist-report", "model.mlir", "--schedule", "pipe"),
                 Tool("dist-compile", "model.mlir", "--schedule", "pipe", "-o", "model.dist"),
                 Tool("dist-run", "model.mlir", "--plan", "pipe", "--random")]:
        problems = []
        for kind in SIGNALS:
            copy(good, folder)
            pipe = folder / "work/pipe"
            os.mkfifo(pipe)
            silent = os.open(pipe, os.O_RDWR)
            process = tool.start(folder)
            while process.poll() is None and not has_open(process, pipe):
                time.sleep(0.01)
            process.send_signal(kind)
            sent = time.monotonic()
            try:
                process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            TIMES.append(time.monotonic() - sent)
            os.close(silent)
            if process.returncode != 128 + kind:
                problems.append(f"status {process.returncode} after {kind.name}")
        results.append((f"signals to {tool.name}, which waits for a pipe", 0, "\n".join(problems) or None))
    return results


def test_full_disk(good, scratch):
    """A full standard output, and a file that may not grow, are errors with the file's name."""
    results = []
    folder = scratch / "full"
    cases = [
        (["dist-opt", "model.mlir"], None),
        (["dist-report", "model.mlir", "--schedule", "schedule.mlir"], None),
        (["dist-exec", "model.dist", "--input", "x=random"], None),
        (["dist-exec", "model.dist", "--input", "x=random", "--json"], None),
        (["dist-run", "model.mlir", "--input", "x=random"], None),
        (["dist-compile", "model.mlir", "-o", "model.dist", "--statistics"], None),
        (["dist-import", str(ROOT / "examples/gpt2/gpt2.dynamo.onnx")], None),
        (["dist-import", "--operators"], None),
        (["dist-import", str(ROOT / "examples/gpt2/gpt2.dynamo.onnx"), "-o", "gpt2.mlir"], "gpt2.safetensors"),
        (["dist-exec", "model.dist", "--input", "x=random", "--output", "results"], "y.npy"),
        (["dist-compile", "model.mlir", "-o", "model.dist", "--dump-asm", "model.s"], "model.s"),
    ]
    for command, limited in cases:
        copy(good, folder)
        before, problem = tree(folder / "work"), None
        with open("/dev/full", "wb") as full:
            limit = ["prlimit", "--fsize=1024"] if limited else []
            run = subprocess.run([*limit, str(TOOLS / command[0]), *command[1:]], cwd=folder / "work",
                                 env=dict(os.environ, TMPDIR=str(folder / "tmp")), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL if limited else full, stderr=subprocess.PIPE, check=False)
        errors = run.stderr.decode(errors="replace")
        if run.returncode != 1:
            problem = f"status {run.returncode}: {errors}"
        elif (limited or "standard output") not in errors:
            problem = f"no word of {limited or 'standard output'}: {errors}"
        elif limited and tree(folder / "work") != before:
            problem = "earlier files were changed"
        name = f"{' '.join(command[:1] + command[-2:])} to a {'limited file' if limited else 'full standard output'}"
        results.append((name, 0, problem))
    return results


def wait_until_mapped(process, file):
    """Until the process reads the file through memory, or has ended."""
    maps = pathlib.Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and file.name not in maps.read_text():
        time.sleep(0.01)


def wait_until_worked(process, seconds):
    """Until it has worked so much more, however busy the machine is, or has ended."""
    until = processor_time(process) + seconds
    while process.poll() is None and processor_time(process) < until:
        time.sleep(0.01)


def test_cut_short(good, scratch):
    """Weights that are cut short, or written to, while a program reads them: an error that names the file."""
    folder = scratch / "cut"
    copy(good, folder)
    weights = folder / "work/model.safetensors"
    whole = weights.read_bytes()
    subprocess.run([str(TOOLS / "dist-compile"), "model.mlir", "-o", "one.dist"], cwd=folder / "work", check=True)

    def cut():
        os.truncate(weights, 0)

    def overwrite():
        weights.write_bytes(whole)  # a new time, and none of it for a moment

    results = []
    for bundle, change, expected in [("one.dist", cut, "cannot be read: the file was cut short"),
                                     ("model.dist", cut, "it was written to while it was in use"),
                                     ("model.dist", overwrite, "was written to while it was in use")]:
        write_weights(weights)
        # The first ends when the file is cut, the others look at it when they have run.
        repeat = "100000000" if bundle == "one.dist" else "300000"
        process = subprocess.Popen([str(TOOLS / "dist-exec"), bundle, "--input", "x=random", "--output", "results",
                                    "--repeat", repeat], cwd=folder / "work", stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until_mapped(process, weights)
        wait_until_worked(process, 0.2)  # all ranks have begun, which takes a few milliseconds
        change()
        try:
            errors = process.communicate(timeout=120)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.kill()
            errors = "it goes on: " + process.communicate()[1].decode(errors="replace")
        problem = None
        if process.returncode != 1 or "model.safetensors" not in errors or expected not in errors:
            problem = f"status {process.returncode}: {errors}"
        results.append((f"weights of {bundle}: {change.__name__}", 0, problem))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=int(os.environ.get("SIGNAL_TRIALS", "60")))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # What is ignored here (under nohup, or behind a shell's &) the tools would ignore, too.
    for kind in (signal.SIGHUP, signal.SIGINT):
        signal.signal(kind, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as scratch:
        results, good = test_signals(options.trials, options.seed, pathlib.Path(scratch))
        results += test_ignored(good, pathlib.Path(scratch))
        results += test_waiting(good, pathlib.Path(scratch))
        results += test_full_disk(good, pathlib.Path(scratch))
        results += test_cut_short(good, pathlib.Path(scratch))
    for name, _, problem in results:
        if problem:
            print(f"{name}: {problem}")
    times = sorted(TIMES)
    if times:
        print(f"{len(times)} signals; from the signal to the end {times[len(times) // 2]:.3f} s (median), {times[-1]:.3f} s at most, "
              f"{max(WORK):.2f} s of work at most")
    return xunit.finish("signals", results)


if __name__ == "__main__":
    sys.exit(main())
