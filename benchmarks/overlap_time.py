#!/usr/bin/env python3
"""What overlap gains: step time of a GPT block stack on two ranks with pretended links, overlapped beside synchronous.

  bazel build //tools/...
  python benchmarks/overlap_time.py              # about 5 minutes; needs torch, onnx, onnxscript for the model's export
  python benchmarks/overlap_time.py --model gpt.mlir --input x.npy      # one exported before (--keep says where)
  python benchmarks/overlap_time.py --model gpt.mlir --input x.npy --gradients --seconds 600   # forward and backward

The model is that of step_time.py. For tensor parallelism (tp), sequence parallelism (sp), Ulysses and fully sharded
data parallelism (fsdp) it is compiled twice: as it is placed, and with --overlap=auto, in two turns by batch where that
is what there is to compute meanwhile. With --gradients the program is forward and backward, with gradients of all
parameters, and data parallelism (ddp) is there as well. All run by turns in one go, pinned to two cores, with --link; the best step of
all counts. Printed are the ratio of both, the communication that is exposed (the overlapped step, less what the
synchronous program computes, over what its links take), and the time that the machine's model foresaw for each
(--machine, made by dist-calibrate, or the preset cpu). The results of both are compared bit by bit.

With --seconds rounds end when so much time is spent, however many --rounds says.

Without --machine the predictions are those of the preset and will be off; ratios need none.
"""
import argparse
import filecmp
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import step_time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Where the batch and the sequence of the input lie, and the rest of the schedule.
SCHEDULES = {
    "tp": ("", "", step_time.TP),
    "sp": ("", "", step_time.SP),
    "ulysses": ("", '"tp"', """  dist.sync "h.*.attn.{wq,wk,wv}" fwd_post all_to_all dim 1 to 2 over "tp"
  dist.sync "h.*.attn.wo" fwd_pre all_to_all dim 2 to 1 over "tp"
"""),
    "fsdp": ('"tp"', "", """  dist.shard parameter "h.*.{attn,mlp}.*.weight" [0 = {"tp"}]
"""),
    "ddp": ('"tp"', "", ""),
}
# Turns of attention alone: only the exchange after it lacks something to compute beside it.
ATTENTION = {
    "ulysses": """  dist.sync "h.*.attn.{wq,wk,wv}" fwd_post all_to_all dim 1 to 2 over "tp"
  dist.sync "h.*.attn.{wq,wk,wv}" fwd_post scatter dim 0 over "chunk"
  dist.sync "h.*.attn.wo" fwd_pre all_to_all dim 2 to 1 over "tp"
  dist.sync "h.*.attn.wo" fwd_post all_gather dim 0 over "chunk"
""",
}
# Of the synchronous time, and exposed of what is sent.
GOALS = {"tp": (0.86, 0.27), "sp": (0.86, 0.27), "ulysses": (0.93, 0.27), "fsdp": (0.78, 0.17)}
GRADIENT_GOALS = {"tp": (0.90, 1), "sp": (0.89, 1), "ulysses": (0.96, 1), "fsdp": (0.76, 1), "ddp": (0.82, 1)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("layers", 2), ("batch", 4), ("seq", 256), ("hidden", 512), ("heads", 8), ("rounds", 8), ("steps", 12)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--link", default="latency=20us,bandwidth=1GB/s")
    parser.add_argument("--machine", default="cpu", help="a name, or a file that dist-calibrate wrote")
    parser.add_argument("--only", help="which schedules (default: all that send anything)")
    parser.add_argument("--gradients", action="store_true", help="forward and backward")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for rounds, at most")
    parser.add_argument("--turns", help="numbers of turns by batch, the fastest of which counts; attention: two, of attention alone "
                        "(default 1,2,attention; 1,2 with --gradients)")
    parser.add_argument("--memory", default="1.5", help="as of --overlap-memory")
    parser.add_argument("--recompute", default="cheap", help="as of dist-compile: gathers has backward gather parameters again, as fully "
                        "sharded ones are elsewhere")
    parser.add_argument("--model", type=pathlib.Path, help="imported before")
    parser.add_argument("--input", type=pathlib.Path, help="its input x")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the imported model and its input")
    parser.add_argument("--cores", default="", help="two numbers, as in 0,1")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "bazel-bin/tools")
    parser.add_argument("--json", type=pathlib.Path, help="all times, in seconds")
    a = parser.parse_args()
    a.only = a.only or ",".join(GRADIENT_GOALS if a.gradients else GOALS)
    a.turns = (a.turns or ("1,2" if a.gradients else "1,2,attention")).split(",")
    return a


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit("overlap_time.py: " + " ".join(map(str, command)) + " failed:\n" + done.stderr)
    return done.stdout


def export(a, folder):
    import numpy
    import torch

    model, x = step_time.make_model(a)
    with torch.no_grad():
        torch.onnx.export(model, (x,), folder / "gpt.onnx", dynamo=True, input_names=["x"], output_names=["y"], external_data=False)
    numpy.save(folder / "x.npy", x.numpy())
    run([a.tools / "dist-import", folder / "gpt.onnx", "-o", folder / "gpt.mlir"])
    return folder / "gpt.mlir", folder / "x.npy"


class Program:
    """One way to run a schedule: `turns` of the batch, overlapped or not."""

    def __init__(self, a, folder, schedule, turns, overlapped):
        self.a, self.name = a, f"{schedule}.{turns}.{'overlapped' if overlapped else 'synchronous'}"
        text = folder / f"{self.name}.mlir"
        batch, sequence, body = SCHEDULES[schedule]
        mesh = '"tp" = 2'
        if turns == "attention":
            mesh, body = '"chunk" = 2, ' + mesh, ATTENTION[schedule]
        elif turns != "1":
            mesh = f'"chunk" = {turns}, ' + mesh
            batch = ", ".join(filter(None, [batch, '"chunk"']))
        body = f'  dist.shard input "x" [{{{batch}}}, {{{sequence}}}, {{}}]\n' + body
        text.write_text(f"dist.mesh @m [{mesh}]\ndist.schedule @s on @m {{\n{body}}}\n")
        self.model, self.schedule = a.model, ["--schedule", text]
        if a.gradients:
            # Scheduled before it is differentiated; placed when it is compiled.
            self.model, self.schedule = folder / f"{self.name}.gradients.mlir", []
            run([a.tools / "dist-opt", a.model, f"--dist-apply-schedule=file={text}", "--dist-differentiate=cotangent=dy",
                 "-o", self.model])
        self.options = self.schedule + ["--recompute", a.recompute] + (["--turns", "chunk"] if turns != "1" else [])
        if overlapped:
            self.options += ["--overlap=auto", "--machine", a.machine, "--overlap-memory", a.memory]
        self.bundle = folder / f"{self.name}.dist"
        link = ["--link", a.link] if overlapped else []
        run([a.tools / "dist-compile", self.model, "-o", self.bundle, *self.options, *link])
        self.times = []
        self.inputs = ["--input", f"x={a.input}"] + (["--input", f"dy={a.input}"] if a.gradients else [])

    def step(self, *more, link=True):
        return run(["taskset", "-c", self.a.cores, self.a.tools / "dist-run", self.bundle, *self.inputs, "--json",
                    *(["--link", self.a.link] if link else []), *more]).splitlines()[-1]

    def turn(self):
        self.times += json.loads(self.step("--repeat", self.a.steps + 1))["seconds"][1:]

    def predict(self):
        machine = [] if "--machine" in self.options else ["--machine", self.a.machine]
        out = run([self.a.tools / "dist-run", self.model, *self.options, *machine, "--link", self.a.link, *self.inputs, "--json"])
        return json.loads(out.splitlines()[-1])["predicted_seconds"]

    def results(self, folder):
        where = folder / (self.name + ".out")
        self.step("--output", where)
        return where

    def placed(self):
        where = self.bundle.with_suffix(".placed.mlir")
        apply = [f"--dist-apply-schedule=file={self.schedule[1]}"] if self.schedule else []
        run([self.a.tools / "dist-opt", self.model, *apply, "--dist-spmd", f"--dist-recompute=what={self.a.recompute}", "-o", where])
        return where

    def waits(self):
        """What the links take of a step, were nothing beside it."""
        report = json.loads(run([self.a.tools / "dist-report", self.placed(), "--json"]))
        main = next(function for function in report["functions"] if function["runs"])
        latency, bandwidth = 20e-6, 1e9
        for part in self.a.link.split(","):
            key, value = part.split("=")
            number = float("".join(c for c in value if c in "0123456789."))
            if key == "latency":
                latency = number * {"us": 1e-6, "ms": 1e-3, "ns": 1e-9}.get(value[-2:], 1)
            else:
                bandwidth = number * {"GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3}.get(value[-4:], 1)
        return sum(one["count"] * (latency + one["bytes_sent_per_rank"] / bandwidth) for one in main["collectives"])


def main():
    a = arguments()
    a.cores = a.cores or ",".join(str(core) for core in sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if not a.model:
            if a.keep:
                a.keep.mkdir(parents=True, exist_ok=True)
            a.model, a.input = export(a, a.keep or folder)
        programs = {}
        for schedule in a.only.split(","):
            programs[schedule] = [Program(a, folder, schedule, "1", False)]
            programs[schedule] += [Program(a, folder, schedule, turns, True)
                                   for turns in a.turns if turns != "attention" or schedule in ATTENTION]
            print(f"# {schedule} compiled", flush=True)
        end = time.monotonic() + a.seconds
        for number in range(a.rounds):
            if time.monotonic() > end:
                break
            print(f"# round {number + 1} of {a.rounds}", flush=True)
            for group in programs.values():
                for program in group:
                    program.turn()
        print(f"link {a.link}, machine {a.machine}, cores {a.cores}; best steps, ms")
        print(f"{'':24s} {'measured':>9s} {'ratio':>6s} {'exposed':>8s} {'estimated':>9s} {'estimated/measured':>18s} {'bits':>6s}")
        ok = True
        for schedule, group in programs.items():
            synchronous = group[0]
            base, links = min(synchronous.times), synchronous.waits()
            expected = synchronous.results(folder)
            best = (2.0, 2.0)
            for program in group:
                measured, estimated = min(program.times), program.predict()
                ratio, exposed = measured / base, (measured - (base - links)) / links
                files, got = sorted(os.listdir(expected)), program.results(folder)
                same = bool(files) and sorted(filecmp.cmpfiles(expected, got, files, shallow=False)[0]) == files
                ok &= same
                print(f"{program.name:24s} {measured * 1e3:9.2f} {ratio:6.3f} {exposed:8.0%} {estimated * 1e3:9.2f} {estimated / measured:18.2f} {'same' if same else 'OTHER':>6s}")
                if program is not synchronous:
                    best = min(best, (ratio, exposed))
            goal = (GRADIENT_GOALS if a.gradients else GOALS)[schedule]
            holds = best[0] <= goal[0] and best[1] <= goal[1]
            ok &= holds
            print(f"{'holds' if holds else 'FAILS'}: {schedule} {best[0]:.3f} of the synchronous time (at most {goal[0]}), {best[1]:.0%} exposed (at most {goal[1]:.0%})")
        if a.json:
            a.json.write_text(json.dumps({program.name: program.times for group in programs.values() for program in group}))
        return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
