#!/usr/bin/env python3
"""Time of a GPT block stack: dist on one and on two ranks beside PyTorch, interleaved in one run.

  bazel build //tools/...
  python benchmarks/step_time.py                # forward; needs torch, onnx, onnxscript (examples/requirements.txt)
  python benchmarks/step_time.py --gradients    # forward and backward: gradients of all parameters

The model is written here in PyTorch (pre-LN blocks: causal attention, tanh-GELU MLP), exported by torch.onnx.export,
and taken through dist-import and dist-compile: once for one rank, once tensor parallel for two, with --gradients also sequence
and data parallel. Then turns of a few steps each go round: PyTorch, one rank, two ranks. With --gradients also torch.compile,
on one and on two threads, and on two cores DistributedDataParallel, DTensor's tensor and sequence parallelism (two processes
over gloo) and JAX (two host devices), which is left out where it is not installed (step_time_peers.py). The best step of all turns counts, since what else runs on the
machine can only add; the median is printed beside it. Threads are pinned: PyTorch and one rank on the first core,
two ranks and two threads on two.

Peak MB is the most memory that a peer's processes held at once while it made steps, with their libraries (VmHWM): of dist, all of dist-run.

"eager +" is PyTorch with its fast path: on processors that are not Intel's, MKL takes AVX2 code unless it is told
otherwise, 2.2 times slower on AVX-512 machines.

The last lines say whether what the project promises holds (exit status 1 if not): one rank within 1.3 times "eager +", two ranks at least
1.6 times as fast as one, the arena at most 1.5 times the bytes of the values alive at once, and equal results. With --gradients: one rank within 0.9
times torch.compile on one thread, each schedule of two ranks within 0.9 times the best of all on two cores, and less memory
than PyTorch, however it uses as many cores.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import step_time_peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_AGAINST_EAGER, MIN_SPEEDUP, MAX_MEMORY = 1.3, 1.6, 1.5
MAX_AGAINST_PEERS = 0.9

TP = """  dist.shard "h.*.attn.{wq,wk,wv}" column over "tp"
  dist.shard "h.*.mlp.fc" column over "tp"
"""
SP = TP + """  dist.shard "h.*.attn.wo" row over "tp"
  dist.shard "h.*.mlp.proj" row over "tp"
  dist.sync "h.*.attn.wo" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "h.*.mlp.proj" fwd_post reduce_scatter dim 1 over "tp"
"""
DP = """  dist.shard input "x" [{"tp"}, {}, {}]
"""


MKL_SHIM = "int mkl_serv_intel_cpu_true(void) { return 1; }\nint mkl_serv_intel_cpu(void) { return 1; }\n"


def write_schedule(file, directives):
    file.write_text('dist.mesh @m ["tp" = 2]\ndist.schedule @s on @m {\n' + directives + "}\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=10, help="a turn")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "bazel-bin/tools", help="folder of dist-import and the others")
    parser.add_argument("--json", type=pathlib.Path, help="all times, in seconds")
    parser.add_argument("--gradients", action="store_true", help="forward and backward")
    parser.add_argument("--mcpu", default="native", help="the processor that dist-compile compiles for")
    parser.add_argument("--worker", nargs=2, metavar=("KIND", "FOLDER"), help=argparse.SUPPRESS)
    return parser.parse_args()


def make_model(a):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.wq, self.wk, self.wv, self.wo = (nn.Linear(a.hidden, a.hidden) for _ in range(4))

        def forward(self, x):
            def heads(y):
                # As many heads, and as much of the batch, as this process has.
                return y.view(x.shape[0], a.seq, -1, a.hidden // a.heads).transpose(1, 2)

            q, k, v = (heads(w(x)) for w in (self.wq, self.wk, self.wv))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.wo(y.transpose(1, 2).reshape(x.shape[0], a.seq, -1))

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.proj = nn.Linear(a.hidden, 4 * a.hidden), nn.Linear(4 * a.hidden, a.hidden)

        def forward(self, x):
            return self.proj(F.gelu(self.fc(x), approximate="tanh"))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.attn, self.ln2, self.mlp = nn.LayerNorm(a.hidden), Attention(), nn.LayerNorm(a.hidden), Mlp()

        def forward(self, x):
            x = x + self.attn(self.ln1(x))
            return x + self.mlp(self.ln2(x))

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.h = nn.ModuleList(Block() for _ in range(a.layers))

        def forward(self, x):
            for block in self.h:
                x = block(x)
            return x

    torch.manual_seed(0)
    return Stack().eval(), torch.randn(a.batch, a.seq, a.hidden)


def export(a, folder):
    """The model's file, and what a step makes of it, with its parameters."""
    import numpy
    import torch

    torch.set_num_threads(1)
    model, x = make_model(a)
    dy = torch.randn(x.shape)
    with torch.no_grad():
        torch.onnx.export(model, (x,), folder / "gpt.onnx", dynamo=True, input_names=["x"], output_names=["y"], external_data=False)
        y = model(x)
    model(x).backward(dy)
    for name, value in (("x", x), ("y", y), ("dy", dy)):
        numpy.save(folder / f"{name}.npy", value.numpy())
    for kind in ("gradients", "parameters"):
        (folder / kind).mkdir()
    for name, parameter in model.named_parameters():
        numpy.save(folder / "gradients" / f"{name}.npy", parameter.grad.numpy())
        numpy.save(folder / "parameters" / f"{name}.npy", parameter.detach().numpy())


class Peer:
    """Workers of one kind, as many as `cores` lists: each has those that are named there."""

    ports = 29500 + os.getpid() % 1000

    def __init__(self, folder, kind, cores, fast=True):
        Peer.ports += 1
        self.kind, self.count = kind, sum(len(core.split(",")) for core in cores)
        environment = dict(
            os.environ, TORCHINDUCTOR_COMPILE_THREADS="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(Peer.ports),
            WORLD_SIZE=str(len(cores)), GLOO_SOCKET_IFNAME="lo", JAX_PLATFORMS="cpu",
            XLA_FLAGS="--xla_force_host_platform_device_count=2 --xla_cpu_multi_thread_eigen=false",
        )  # fmt: skip
        if fast and not kind.startswith("jax"):
            source, library = folder / "shim.c", folder / "shim.so"
            source.write_text(MKL_SHIM)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
            environment["LD_PRELOAD"] = str(library)
        self.processes = [
            subprocess.Popen(
                ["taskset", "-c", core, sys.executable, __file__, *sys.argv[1:], "--worker", kind, str(folder)],
                env=dict(environment, RANK=str(rank), OMP_NUM_THREADS=str(len(core.split(",")))),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank, core in enumerate(cores)
        ]  # fmt: skip
        for process in self.processes:
            if process.stdout.readline().strip() != "ready":
                for other in self.processes:
                    other.kill()
                sys.exit(f"step_time.py: the peer {kind} failed:\n{process.stderr.read()[-3000:]}")
            # Nobody reads what it says from here on.
            process.stderr.close()

    def turn(self, steps):
        for process in self.processes:
            print(steps, file=process.stdin, flush=True)
        return [max(all) for all in zip(*(json.loads(process.stdout.readline()) for process in self.processes))]

    def peak(self):
        """Bytes that all of them held at most while they made steps."""
        texts = [pathlib.Path(f"/proc/{process.pid}/status").read_text() for process in self.processes]
        return sum(1024 * int(re.search(r"VmHWM:\s*(\d+) kB", text)[1]) for text in texts)

    def end(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()


class Dist:
    def __init__(self, a, folder, cores, name="one", directives=None):
        self.tools, self.folder, self.cores, self.count, self.most = a.tools, folder, cores, len(cores), 0
        self.bundle = folder / f"{name}.dist"
        program, schedule = folder / "gpt.mlir", []
        if directives:
            write_schedule(folder / f"{name}.mlir", directives)
            schedule = ["--schedule", folder / f"{name}.mlir"]
        self.inputs = ["--input", f"x={folder / 'x.npy'}"]
        expected = [f"y={folder / 'y.npy'}"]
        if a.gradients:
            # Scheduled before it is differentiated; placed when it is compiled.
            program = folder / f"{name}.gradients.mlir"
            apply = [f"--dist-apply-schedule=file={schedule[1]}"] if schedule else []
            subprocess.run([a.tools / "dist-opt", folder / "gpt.mlir", *apply, "--dist-differentiate=cotangent=dy", "-o", program],
                           check=True)
            schedule = []
            self.inputs += ["--input", f"dy={folder / 'dy.npy'}"]
            expected += [f"{file.stem}.grad={file}" for file in sorted((folder / "gradients").iterdir())]
        command = [a.tools / "dist-compile", program, "-o", self.bundle, "--mcpu", a.mcpu, "--statistics", *schedule]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        self.arena, self.alive = map(int, re.search(r"arena (\d+) bytes, alive at once (\d+)", done.stdout + done.stderr).groups())
        outputs = self.run(2, *(word for text in expected for word in ("--expect", text)), "--rtol", "0", "--atol", "1e-2")[0]["outputs"]
        self.error = max(output["max_abs_err"] for output in outputs)

    def run(self, steps, *more):
        command = ["taskset", "-c", ",".join(self.cores), self.tools / "dist-run", self.bundle, *self.inputs, "--repeat", str(steps), "--json", *more]
        with open(self.folder / "said", "w+") as said:
            process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read()
        if process.returncode:
            sys.exit(f"step_time.py: dist-run failed:\n{text}")
        return json.loads(text.splitlines()[-1]), 1024 * used.ru_maxrss

    def turn(self, steps):
        done, bytes = self.run(steps + 1)
        self.most = max(self.most, bytes)
        return done["seconds"][1:]  # the first step reads the weights

    def peak(self):
        return self.most

    def end(self):
        pass


def make_peers(a, folder, cores):
    """By what they are called; those on one core first."""
    both = [",".join(cores)]
    peers = {"torch eager, 1 thread": ("eager", cores[:1], False), "torch eager +, 1 thread": ("eager", cores[:1])}
    if a.gradients:
        peers |= {
            "torch.compile +, 1 thread": ("compile", cores[:1]), "torch.compile +, 2 threads": ("compile", both),
            "DDP +, 2 processes": ("ddp", cores), "DTensor + TP, 2 processes": ("tp", cores),
            "DTensor + SP, 2 processes": ("sp", cores), "JAX TP, 2 devices": ("jax_tp", both),
            "JAX SP, 2 devices": ("jax_sp", both), "JAX DP, 2 devices": ("jax_dp", both),
        }  # fmt: skip
    made = {}
    for name, (kind, *rest) in peers.items():
        if lacking := step_time_peers.missing(kind):
            print(f"# {name} is left out: {lacking} is not installed", flush=True)
        else:
            made[name] = Peer(folder, kind, *rest)
    return made


def judge(a, who, least, ours):
    """What the project promises, and whether it holds."""
    single, double = least["dist, 1 rank"], least["dist, 2 ranks, TP"]
    eager = least["torch eager +, 1 thread"]
    arena, error = max(d.arena / d.alive for d in ours.values()), max(d.error for d in ours.values())
    bound = step_time_peers.TOLERANCE if a.gradients else 1e-4
    if not a.gradients:
        yield f"one rank takes {single / eager:.2f} of eager + (at most {MAX_AGAINST_EAGER})", single / eager <= MAX_AGAINST_EAGER
        yield f"two ranks are {single / double:.2f} times as fast as one (at least {MIN_SPEEDUP})", single / double >= MIN_SPEEDUP
    for name, mine in ours.items() if a.gradients else ():
        peers = [other for other, worker in who.items() if other not in ours and worker.count == mine.count]
        best = min((peer for peer in peers if who[peer].kind != "eager"), key=least.get)
        part = least[name] / least[best]
        yield f"{name} takes {part:.2f} of {best} (at most {MAX_AGAINST_PEERS})", part <= MAX_AGAINST_PEERS
        small = min((peer for peer in peers if not peer.startswith("JAX")), key=lambda peer: who[peer].peak())
        part = mine.peak() / who[small].peak()
        yield f"{name} holds {part:.2f} of the memory of {small} (less than 1)", part < 1
    yield f"the arena is {arena:.2f} of what is alive at once (at most {MAX_MEMORY})", arena <= MAX_MEMORY
    yield f"largest difference to PyTorch {error:.1e} (at most {bound})", error <= bound


def main():
    a = arguments()
    if a.worker:
        kind, folder = a.worker[0], pathlib.Path(a.worker[1])
        return export(a, folder) if kind == "export" else step_time_peers.work(kind, a, folder, make_model)
    if not (a.tools / "dist-run").exists():
        sys.exit(f"step_time.py: no dist-run in {a.tools}; bazel build //tools/...")
    cores = [str(core) for core in sorted(os.sched_getaffinity(0))[:2]]
    if len(cores) < 2:
        sys.exit("step_time.py: two cores are needed for two ranks")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print("# exporting, importing, compiling", flush=True)
        command = [sys.executable, __file__, *sys.argv[1:], "--worker", "export", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"step_time.py: PyTorch's export failed:\n{done.stderr[-3000:]}")
        who = make_peers(a, folder, cores)
        subprocess.run([a.tools / "dist-import", folder / "gpt.onnx", "-o", folder / "gpt.mlir"], check=True)
        who["dist, 1 rank"] = Dist(a, folder, cores[:1])
        for name, directives in (("TP", TP), ("SP", SP), ("DP", DP)) if a.gradients else (("TP", TP),):
            who[f"dist, 2 ranks, {name}"] = Dist(a, folder, cores, name, directives)
        times = {name: [] for name in who}
        for number in range(a.rounds):
            print(f"# round {number + 1} of {a.rounds}", flush=True)
            for name, worker in who.items():
                times[name] += worker.turn(a.steps)
        flops = a.layers * (24 * a.batch * a.seq * a.hidden**2 + 4 * a.batch * a.seq**2 * a.hidden) * (3 if a.gradients else 1)
        print(f"layers {a.layers} batch {a.batch} sequence {a.seq} hidden {a.hidden} heads {a.heads}: {flops / 1e9:.2f} GFLOP forward"
              + (" and backward" if a.gradients else ""))
        print(f"{'':26s} {'best ms':>9s} {'median':>9s} {'GF/s':>7s} {'against eager +':>16s} {'peak MB':>8s} {'arena MB':>9s} {'alive MB':>9s}")
        least = {name: min(all) for name, all in times.items()}
        eager = least["torch eager +, 1 thread"]
        for name, worker in who.items():
            best, median = least[name], sorted(times[name])[len(times[name]) // 2]
            memory = f"{worker.arena / 1e6:9.1f} {worker.alive / 1e6:9.1f}" if isinstance(worker, Dist) else ""
            print(f"{name:26s} {best * 1e3:9.2f} {median * 1e3:9.2f} {flops / best / 1e9:7.1f} {best / eager:16.2f} {worker.peak() / 1e6:8.1f} {memory}")
        if a.json:
            a.json.write_text(json.dumps(times))
        ours = {name: worker for name, worker in who.items() if isinstance(worker, Dist)}
        claims = list(judge(a, who, least, ours))
        for worker in who.values():
            worker.end()
        for text, holds in claims:
            print(("holds: " if holds else "FAILS: ") + text)
        return 0 if all(holds for _, holds in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
