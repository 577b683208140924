#!/usr/bin/python3
"""Ranks that are processes of MPI, beside ranks that are threads.

mpi.py [REGEX]: only cases whose name matches.

- `bits_MODEL`: forward and gradients of a model have the bits of threads, by Open MPI and by MPICH;
- `reductions`: `--reductions mpi` gives integers as they are, and floats but for rounding, also gradients of a model;
- `train`: a run of training has the same losses and checkpoints; each goes on from what the other saved;
- `pipeline`: so does one of stages, whose parameters are sharded;
- `gpus`: ranks on emulated GPUs have the same bits whoever starts them, forward and in training, and end with one message;
- `results`: no process holds a whole result that is written;
- `memory`, `packed_memory`: a rank holds what `dist-report` says, within 5 %;
- `full_disk`: as with processes of one host;
- `trace_and_port`: all ranks are in a trace; rank 0 listens at `--port`;
- `lacks_weights`, `lacks_memory`: the message names the rank;
- `inputs`: a host that lacks a file of --input is named, and sent its part with --inputs=root;
- `compiles_once`: rank 0 compiles for all, which need neither model nor schedule; nothing temporary is left, whenever a
  rank is killed;
- `ends_SIGNAL_RANK`: a process that is killed or stopped ends the run, with one message that names the rank, and nothing
  is left;
- `goes_on_RANK`: a process that is stopped for some beats of the control channel, and goes on, is no deadlock;
- `interrupted`: Ctrl-C and SIGTERM leave nothing of the results' files, and say nothing;
- `is_told_once`: what is wrong with a program, its inputs or its start is said by one process, in the words of threads;
- `is_missed`: a process that never comes to MPI is named;
- `two_at_once`: two runs on one host do not meet, and leave nothing in /dev/shm nor TMPDIR;
- `three_hosts`: hosts are network namespaces of this one, with names and addresses of their own: the bits of threads, and
  the message when one is cut off (as root, with iproute2; else left out by name).

DIST_MOMENTS=50 tries as many moments of each end, in place of 2 (1 of those that wait for --timeout). DIST_MPI_MODELS=all
has `bits_MODEL` for all that processes.py has, which tells of more such variables. A family of MPI that is not installed is
left out by name. Programs come from tools/ and models from examples/, below the current folder.
"""

import contextlib
import glob
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy  # noqa: E402
import processes  # noqa: E402
import xunit  # noqa: E402
from bits import MODELS, check_near, read  # noqa: E402

# Open MPI does not start as root, nor more ranks than cores, unless told.
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
STARTERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "mpich": ["mpiexec.mpich"]}
FAMILIES = [family for family, (name, *_) in STARTERS.items() if shutil.which(name)]
NAMES = {"openmpi": "mpirun", "mpich": "mpiexec"}
SLURM = {
    family: f"SLURM_PROCID=${rank} SLURM_STEP_NUM_TASKS=${size} SLURM_STEP_TASKS_PER_NODE=${size}"
    for family, rank, size in (("openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("mpich", "PMI_RANK", "PMI_SIZE"))
}
# Of each strategy one.
SOME = ["bert/ulysses", "convnext/rows", "gpt2/tp_cp_dp", "graph/parts", "llama/ring", "mixtral/ep_dp", "t5/cp", "wide_resnet/tp_dp"]
if os.environ.get("DIST_MPI_MODELS") == "all":
    SOME = MODELS
MOMENTS = int(os.environ.get("DIST_MOMENTS", "2"))
BACKEND = "--backend=mpi"
GPUS = ["--backend=cuda", "--driver=emulated"]


def start(family, ranks):
    return [*STARTERS[family], "-n", str(ranks)]


def ways(families):
    return [lambda ranks, family=family: (start(family, ranks), BACKEND) for family in families]


def write_reductions(path):
    """Reductions of each kind, over all of four ranks and over two, also on streams. Returns the results that MPI may round
    otherwise, and those that it must not change."""
    rounded, exact, arguments, lines, results, returned = set(), set(), [], [], [], []

    def add(kind, type, op, over, dim, stream):
        number = len(results)
        devices = 4 if len(over) == 2 else 2
        shape = f"tensor<2x12x700x{type}>"
        local = {None: [2, 12, 700], 0: [2 // devices, 12, 700], 1: [2, 12 // devices, 700]}[dim]
        result = f"tensor<{'x'.join(map(str, local))}x{type}>"
        axes = ", ".join(f'"{axis}"' for axis in over)
        cut = "[" + ", ".join(f"{{{axes}}}" if i == dim else "{}" for i in range(3)) + "]"
        arguments.append(
            f'%a{number}: {shape} {{dist.input = "a{number}", dist.global_type = tensor<8x12x700x{type}>, dist.sharding = #dist.sharding<@m, [{{"x", "y"}}, {{}}, {{}}]>}}'
        )
        where = f" {{dist.stream = {stream} : i32}}" if stream else ""
        shapes = f"dim {dim} over {axes}{where} : {shape} -> {result}" if dim is not None else f"over {axes}{where} : {shape}"
        lines.append(f"  %r{number} = dist.{kind} %a{number} {op} {shapes}")
        # Over one axis, those along the other differ: each has a part of its own.
        whole, others = shape, [axis for axis in "xy" if axis not in over]
        if others:
            lines.append(f'  %w{number} = dist.all_gather %r{number} dim 2 over "{others[0]}" : {result} -> {result.replace("700", "1400")}')
            result, whole = result.replace("700", "1400"), shape.replace("700", "1400")
        returned.append((f"%{'w' if others else 'r'}{number}", result))
        name = f"{kind}{number}_{op}_{type}_over_{'_'.join(over)}_dim_{dim}_stream_{stream}"
        results.append(f'{result} {{dist.output = "{name}", dist.global_type = {whole}, dist.sharding = #dist.sharding<@m, {cut}>}}')
        (rounded if type in ("f32", "f64") and op == "sum" else exact).add(name + ".npy")

    kinds = [("f32", "sum"), ("f64", "sum"), ("bf16", "sum"), ("f32", "max"), ("i64", "sum"), ("i32", "max"), ("i16", "min"), ("i8", "sum"), ("i1", "sum")]
    # What is on a stream comes last: it is in flight to the end.
    for stream in 0, 1:
        for over in "xy", "y":
            for type, op in kinds:
                for kind, dim in ("all_reduce", None), ("reduce_scatter", 0), ("reduce_scatter", 1):
                    if dim != 0 or len(over) == 1:
                        add(kind, type, op, over, dim, stream * len(over))
    values = ", ".join(value for value, _ in returned)
    types = ", ".join(type for _, type in returned)
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            'dist.mesh @m ["x" = 2, "y" = 2]\n'
            f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n" + "\n".join(lines) + f"\n  return {values} : {types}\n}}\n"
        )
    return rounded, exact


def check_reductions(work):
    module, bundle = os.path.join(work, "reduce.mlir"), os.path.join(work, "reduce.dist")
    rounded, exact = write_reductions(module)
    processes.run("dist-compile", module, "-o", bundle)

    def execute(name, *command):
        folder = os.path.join(work, name)
        processes.succeed([*command, "--random=1", f"--output={folder}"])
        return folder

    own = [processes.EXEC, bundle]
    expected = execute("threads", *own)
    for family in FAMILIES:
        found = execute(family, *start(family, 4), *own, BACKEND, "--reductions=mpi")
        for name in exact:
            assert npy.read(os.path.join(found, name)) == npy.read(os.path.join(expected, name)), f"{family}: {name}"
        changed = 0
        for name in rounded:
            _, _, want = npy.read(os.path.join(expected, name))
            _, _, got = npy.read(os.path.join(found, name))
            largest = max(map(abs, want))
            assert all(abs(a - b) <= 1e-6 * largest for a, b in zip(want, got)), f"{family}: {name}"
            changed += want != got
        # Or nobody has asked MPI.
        assert changed > 0, f"{family} adds in the order of places"
    said = subprocess.run([*own, "--random=1", "--reductions=mpi"], capture_output=True, text=True)
    assert said.returncode == 1 and "--reductions mpi: these are MPI's own: give --backend mpi" in said.stderr, said
    near = [lambda ranks, family=family: (start(family, ranks), BACKEND, "--reductions=mpi", "--streams=late") for family in FAMILIES]
    processes.check_results("gpt2", "tp_cp_dp", work, lambda want, got, way: check_near(way, got, want), *near)


class Ends(processes.Failures):
    backend = [BACKEND]

    def begin(self, family, *options):
        return subprocess.Popen(
            [*start(family, 2), processes.EXEC, self.bundle, *self.backend, "--random=1", "--repeat=1000000000", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def find(self, rank):
        """The process of a rank, once it runs the program: a thread has the rank's name then."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            for process in self.ours():
                for path in glob.glob(f"/proc/{process}/task/*/comm"):
                    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
                        if file.read() == f"rank {rank} (x={rank})\n":
                            return process
            time.sleep(0.02)
        raise AssertionError(f"rank {rank} is not there")

    def ours(self):
        return processes.find_processes(processes.EXEC, self.bundle)

    def end_rank(self, number, rank, said, *options, family="openmpi", least=0.0, moments=MOMENTS):
        source = random.Random(number)
        folder = os.path.join(self.work, "results")
        for _ in range(moments):
            process = self.begin(family, *options, f"--output={folder}")
            # Before all are there, another message is right.
            victim = [self.find(0), self.find(1)][rank]
            time.sleep(source.random() * 0.5)
            begin = time.monotonic()
            os.kill(victim, number)
            _, errors = process.communicate(timeout=120)
            took = time.monotonic() - begin
            assert process.returncode in ([1, 128 + number] if family == "openmpi" else [1, 9, number]), (process.returncode, errors)
            # mpirun itself takes up to two.
            assert took < least + 1 + processes.PATIENCE, f"took {took} seconds"
            lines = [line for line in errors.splitlines() if "error: " in line]
            assert len(lines) == 1 and said in lines[0], errors
            end = time.monotonic() + processes.PATIENCE
            while self.ours() or os.path.exists(folder):
                assert time.monotonic() < end, "processes are left" if self.ours() else os.listdir(folder)
                time.sleep(0.02)

    def check_goes_on(self, rank):
        process = self.begin("openmpi")
        victim = [self.find(0), self.find(1)][rank]
        for _ in range(min(MOMENTS, 3)):
            os.kill(victim, signal.SIGSTOP)
            time.sleep(2.5)
            os.kill(victim, signal.SIGCONT)
            time.sleep(1)
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)

    @staticmethod
    def say(command, *parts, marker="error: "):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode != 0, command
        lines = [line for line in done.stderr.splitlines() if marker in line]
        assert len(lines) == 1, done.stderr
        for part in parts:
            assert part in lines[0], lines[0]

    def check_told_once(self):
        lookup, bundle = os.path.join(self.work, "lookup.mlir"), os.path.join(self.work, "lookup.dist")
        with open(lookup, "w", encoding="utf-8") as file:
            file.write(processes.LOOKUP)
        processes.run("dist-compile", lookup, "-o", bundle)
        indices = processes.write_indices(self.work, [3, 9])
        for family in FAMILIES:
            execute = [processes.EXEC, bundle, BACKEND]
            self.say([*start(family, 2), *execute, "--random=1", f"--input=i={indices}"], "rank 1 (x=1)", "an index of the gather")
            self.say([*start(family, 2), *execute], "inputs not given")
            self.say([*start(family, 3), *execute, "--random=1"], "has 2 devices, and MPI has started 3 processes: mpirun -n 2")
            said = subprocess.run([*start(family, 2), *execute, "--dry-run"], capture_output=True, text=True, check=True).stdout
            assert said.count("nothing was found") == 1, said
            self.say([*start(family, 2), *execute, "--random=1", "--bind-address=here"], "--bind-address here: must be an IPv4 address")
            ranks = [*start(family, 1), *execute, "--random=1", ":", "-n", "1", *execute]
            self.say([*ranks, "--random=2"], "rank 1 has other values of 't' than rank 0")
            self.say([*ranks, "--random=1", "--streams=late"], "rank 1 has another program than rank 0, or runs it another way")
            self.say([*ranks, "--random=1", "--reductions=mpi"], "rank 1 has another program than rank 0, or runs it another way")
            self.say([*ranks, "--random=1", "--repeat=2"], "rank 1 has another program than rank 0, or runs it another way")
            for options, said in (["--repeat=x"], "--repeat x: expected a whole number"), ([BACKEND, "--random=1", "--repeat=0"], "--repeat 0: must be at least 1"), (["--backend=mpi", "--timeout=0"], "--timeout 0: must be more than 0"):
                self.say([*start(family, 2), processes.EXEC, bundle, *options], said)
            compiler = [os.path.abspath("tools/dist-run"), lookup, BACKEND, "--random=1"]
            for option in "--repeat=x", "--no-such-option", "--input=":
                self.say([*start(family, 2), *compiler, option], option.strip("=").removesuffix("=x"), marker=option.strip("=").removesuffix("=x"))
            self.say([*start(family, 1), *compiler, ":", "-n", "1", *compiler, "--repeat=x"], "rank 1 on ", "--repeat", marker="dist-run: error: ")
            bundles = [os.path.abspath("tools/dist-run"), bundle, BACKEND, "--random=1"]
            nowhere = [os.path.abspath("tools/dist-run"), "nowhere.dist", BACKEND, "--random=1"]
            self.say([*start(family, 1), *bundles, ":", "-n", "1", *nowhere], "rank 1", "rank 0 runs a bundle", "has no folder of that name")
            self.say([*start(family, 1), *compiler, ":", "-n", "1", *bundles], "rank 0 has sent a program that it has compiled", "has a bundle")
            self.say([*start(family, 2), processes.EXEC, bundle, "--random=1"], f"{NAMES[family]} has started 2 of these processes", "give --backend mpi")
            # As srun --mpi=pmix, or pmi2, starts processes: together if that is asked for.
            srun = [*start(family, 2), self.slurm(), "-c", f'{SLURM[family]} "$@"; exit $?', "-"]
            self.say([*srun, processes.EXEC, bundle, "--backend", "mpi", "--no-such"], "no option --no-such")
            self.say([*srun, *compiler, f"--mpi={family}", "--repeat=x"], "--repeat", marker="--repeat")
            said = subprocess.run([*srun, processes.EXEC, bundle, "--random=1"], capture_output=True, text=True).stderr
            assert said.count("error: srun has started 2 of these processes (SLURM_STEP_NUM_TASKS)") == 2, said
        # Whoever starts processes without MPI.
        step = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"}
        for variables, starter in ({"WORLD_SIZE": "2", "RANK": "0", "LOCAL_WORLD_SIZE": "2"}, "torchrun"), (step, "srun"):
            words = ["env", *(f"{name}={value}" for name, value in variables.items())]
            self.say([*words, *execute, "--random=1"], f"{starter} has started 2 processes, and MPI knows of 1", "mpirun -n 2")
            for options in [], ["-n", "2"]:
                self.say([*words, processes.EXEC, bundle, "--random=1", *options], f"{starter} has started 2 of these processes (", "--backend mpi")
        # A shell of sbatch or salloc, in which one process has started.
        processes.succeed(["env", "SLURM_NTASKS=2", "SLURM_PROCID=0", processes.EXEC, self.bundle, "--random=1"])

    def slurm(self):
        """A shell that looks like Slurm's daemon."""
        path = os.path.join(self.work, "slurmstepd")
        shutil.copy(os.path.realpath("/bin/sh"), path)
        return path

    def check_missed(self):
        for family in FAMILIES:
            here = [processes.EXEC, self.bundle, BACKEND, "--random=1", "--timeout=4"]
            self.say([*start(family, 1), *here, ":", "-n", "1", "sleep", "1000"], "MPI still waits for 1 of the 2", "rank 1 is not there")
            self.say([*start(family, 1), "sleep", "1000", ":", "-n", "2", *here], "MPI still waits for 1 of the 3", "rank 0 is not there")
            done = subprocess.run([*start(family, 2), *here, f"--mpi={'mpich' if family == 'openmpi' else 'openmpi'}"], capture_output=True, text=True)
            assert done.returncode != 0 and "has started this process: leave --mpi out" in done.stderr, done
        if len(FAMILIES) == 2:
            # The nearest starter decides, whatever the environment says.
            inner = " ".join([*start("mpich", 2), processes.EXEC, self.bundle, BACKEND, "--random=1"])
            done = subprocess.run([*start("openmpi", 1), "sh", "-c", inner], capture_output=True, text=True)
            assert done.returncode == 0 and "2 ranks" in done.stdout, done

    def check_interrupted(self):
        folder = os.path.join(self.work, "results")
        for family in FAMILIES:
            for number in signal.SIGINT, signal.SIGTERM:
                command = [*start(family, 2), processes.EXEC, self.bundle, BACKEND, "--random=1", "--repeat=1000000000", f"--output={folder}"]
                process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                end = time.monotonic() + 120
                while not (os.path.exists(folder) and os.listdir(folder)):
                    assert time.monotonic() < end and process.poll() is None, process.communicate()
                    time.sleep(0.01)
                time.sleep(0.5)
                process.send_signal(number)
                _, errors = process.communicate(timeout=120)
                # MPICH may end before it has heard of those of ranks; a rank aborts if it reads the memory of one that has ended.
                expected = [1] if family == "openmpi" else [128 + number, 0, 6, 9]
                assert process.returncode in expected, f"{family}, {number}: {process.returncode} {errors}"
                assert "error: " not in errors, f"{family}, {number}: {errors}"
                assert not os.path.exists(folder), f"{family}, {number}: {os.listdir(folder)}"

    def check_trace_and_port(self):
        trace = os.path.join(self.work, "trace.json")
        for family in FAMILIES:
            with socket.create_server(("127.0.0.1", 0)) as taken:
                port = taken.getsockname()[1]
                command = [*start(family, 2), processes.EXEC, self.bundle, BACKEND, "--random=1", f"--port={port}", f"--trace={trace}"]
                self.say(command, f"127.0.0.1 port {port} ", "Address already in use")
            assert not os.path.exists(trace), family
            processes.succeed(command)
            with open(trace, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            os.remove(trace)
            named = {event["args"]["name"]: event["pid"] for event in events if event["name"] == "process_name"}
            assert list(named) == ["rank 0 (x=0)", "rank 1 (x=1)"], named
            for rank, number in named.items():
                assert any(event["pid"] == number and event["name"].startswith("all_reduce") for event in events), rank


class EndsOnGpus(Ends):
    backend = GPUS

    def __init__(self, work):
        super().__init__(work, "--target=cuda")


def check_gpus(work):
    def execute(name, bundle, *before):
        folder = os.path.join(work, name)
        said = processes.succeed([*before, processes.EXEC, bundle, *GPUS, "--random=1", f"--output={folder}", "--profile", "--json"])
        assert json.loads(said.splitlines()[-1])["profile"]["ranks"] == 2, said
        return read(folder)

    # One of them gathers rows, which go by MPI.
    for model, schedule in ("gpt2", "sp"), ("graph", "parts"):
        folder, bundle = os.path.join(work, model), os.path.join(work, model + ".dist")
        os.mkdir(folder)
        path = os.path.join(processes.examples(model), schedule + ".mlir")
        with open(path, encoding="utf-8") as file:
            axis = re.search(r'dist\.mesh @\w+ \["(\w+)"', file.read()).group(1)
        module = processes.import_model(model, folder)
        processes.run("dist-compile", module, "--schedule", path, f"--mesh={axis}=2", "--target=cuda", "-o", bundle, xunit.OPT_LEVEL)
        alone = execute(model + "_alone", bundle)
        for family in FAMILIES:
            assert alone == execute(f"{model}_{family}", bundle, *start(family, 2)), (model, family)
    for ranks, pipeline in (2, ()), (4, processes.PIPELINE):
        training = processes.Training(work, *pipeline)
        alone = training.train(f"alone{ranks}", 4, "--save-every=2", *GPUS)
        for family in FAMILIES:
            assert alone == training.train(f"{family}{ranks}", 4, "--save-every=2", *GPUS, before=start(family, ranks)), family
    for family in FAMILIES:
        compiler = [*start(family, 2), os.path.abspath("tools/dist-run"), module, *GPUS, "--random=1"]
        Ends.say([*compiler, "--verify"], "--verify needs the ranks of one host")
        Ends.say([*start(family, 2), processes.EXEC, bundle, *GPUS, "-n", "2"], "-n with --backend cuda: mpirun starts the ranks")
        Ends.say([*start(family, 2), processes.EXEC, bundle, *GPUS, "--reductions=mpi"], "--reductions mpi: these are MPI's own: give --backend mpi")
        Ends.say([*start(family, 3), processes.EXEC, bundle, *GPUS, "--random=1"], "has 2 devices, and MPI has started 3 processes: mpirun -n 2")
        ends = EndsOnGpus(os.path.join(work, f"{family}2"))
        for rank in range(2):
            ends.end_rank(signal.SIGKILL, rank, f"rank {rank} (x={rank}): its process ", family=family, moments=1)
        ends.end_rank(signal.SIGSTOP, 1, "rank 1 (x=1): its process ", "--timeout=4", family=family, least=4.0, moments=1)


def check_lacks_weights(work):
    processes.write_large(work, "f32", 2, 1, 1, 64, 64)
    index = os.path.join(work, "part.json")
    with open(index, "w", encoding="utf-8") as file:
        json.dump({"weight_map": {"w0": "large.safetensors", "w1": "other.safetensors"}}, file)
    host = os.uname().nodename
    for family in FAMILIES:
        for weights, lacking in ("nowhere.safetensors", "nowhere.safetensors"), (index, os.path.join(work, "other.safetensors")):
            one = [processes.EXEC, os.path.join(work, "large.dist"), BACKEND, "--random=1"]
            command = [*start(family, 1), *one, ":", "-n", "1", *one, f"--weights={weights}"]
            Ends.say(command, f"rank 1 on {host}: ", f"{lacking}: cannot open: No such file", "they must be on all hosts, under the same path")


def check_lacks_memory(work):
    """A rank takes 512 MiB."""
    bundle, x, _, _ = processes.write_columns(work, 1 << 15)
    for family in FAMILIES:
        one = [processes.EXEC, bundle, BACKEND, f"--input=x={x}", f"--output={work}/results"]
        Ends.say([*start(family, 3), *one, ":", "-n", "1", "prlimit", "--as=700000000", *one], "rank 3 (x=3): out of memory: 536870912 bytes")
        assert not os.path.exists(f"{work}/results"), os.listdir(f"{work}/results")


def check_inputs(work):
    # More than a piece of what is sent.
    bundle, x, rows, row = processes.write_columns(work, 1, 12_000_000)
    for family in FAMILIES:
        folder = os.path.join(work, family)

        def command(*options):
            here = [processes.EXEC, bundle, BACKEND, f"--output={folder}", *options]
            return [*start(family, 1), *here, f"--input=x={x}", ":", "-n", "3", *here, "--input=x=nowhere.npy"]

        Ends.say(command(), "rank ", "nowhere.npy: cannot open", "--inputs=root")
        assert not os.path.exists(folder), os.listdir(folder)
        processes.succeed(command("--inputs=root"))
        processes.check_rows(folder, rows, row)


def check_compiles_once(work):
    module = processes.import_model("gpt2", work)
    temporary = os.path.join(work, "temporary")
    os.mkdir(temporary)
    compiler, schedule = os.path.abspath("tools/dist-run"), os.path.join(processes.examples("gpt2"), "tp.mlir")
    processes.run("dist-run", module, f"--schedule={schedule}", "--random=1", f"--output={work}/threads", xunit.OPT_LEVEL)
    # Of another name, as far as it can be had: it is sent what the host of rank 0 has as a file.
    host = ["unshare", "--uts", "sh", "-c", 'hostname another; exec "$@"', "sh"] if has_namespaces() else []
    for family in FAMILIES:

        def command(number, *options, host=()):
            root = ["env", f"TMPDIR={temporary}", compiler, module, f"--schedule={schedule}", *options]
            other = ["env", f"TMPDIR={temporary}", *host, compiler, "nowhere.mlir", *options]
            return [*start(family, 1), *root, ":", "-n", str(number), *other]

        for one in [], host:
            folder = os.path.join(work, "ranks")
            processes.succeed(command(3, BACKEND, "--random=1", f"--output={folder}", xunit.OPT_LEVEL, host=one))
            assert read(folder) == read(os.path.join(work, "threads")), f"{family}: other bits"
            assert not os.listdir(temporary), os.listdir(temporary)
        Ends.say(command(3, BACKEND, "--random=1", "--mesh=tp=7"), "error", marker="error: ")
        assert not os.listdir(temporary), os.listdir(temporary)
    source = random.Random(1)
    for _ in range(MOMENTS):
        process = subprocess.Popen(
            [*start("openmpi" if "openmpi" in FAMILIES else "mpich", 2), "env", f"TMPDIR={temporary}", compiler, module,
             f"--schedule={schedule}", "--mesh=tp=2", BACKEND, "--random=1", "--repeat=1000000"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(0.5 + source.random() * 2)
        for rank in processes.find_processes(compiler, module)[1:]:
            os.kill(rank, signal.SIGKILL)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=120)
        end = time.monotonic() + processes.PATIENCE
        while processes.find_processes(compiler, module) or os.listdir(temporary):
            assert time.monotonic() < end, os.listdir(temporary)
            time.sleep(0.02)


class Hosts:
    """Network namespaces on a bridge, and how Open MPI gets there."""

    def __init__(self, work, number):
        self.name = f"dn{os.getpid() % 100000}"
        self.agent = os.path.join(work, "agent")
        self.names = [f"{self.name}h{i}" for i in range(number)]
        self.network = f"10.77.{os.getpid() % 250}"
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nhost=$1\nshift\nexec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"\n')
        os.chmod(self.agent, 0o755)

    @staticmethod
    def ip(*words, check=True):
        subprocess.run(["ip", *words], check=check, capture_output=True, text=True)

    def __enter__(self):
        self.ip("link", "add", "name", self.name, "type", "bridge")
        self.ip("link", "set", self.name, "up")
        for i, host in enumerate(self.names):
            self.ip("netns", "add", host)
            self.ip("link", "add", f"{self.name}v{i}", "type", "veth", "peer", "name", "eth0", "netns", host)
            self.ip("link", "set", f"{self.name}v{i}", "master", self.name, "up")
            self.ip("-n", host, "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
            self.ip("-n", host, "link", "set", "eth0", "up")
            self.ip("-n", host, "link", "set", "lo", "up")
        return self

    def __exit__(self, *unused):
        for host in self.names:
            pids = subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True).stdout.split()
            subprocess.run(["kill", "-KILL", *pids], check=False, capture_output=True)
            self.ip("netns", "delete", host, check=False)
        self.ip("link", "delete", self.name, check=False)

    def address(self, i):
        return f"{self.network}.{i + 1}"

    def start(self, ranks):
        """What stands before a command: so many ranks on each host."""
        hosts = ",".join(f"{host}:{count}" for host, count in zip(self.names, ranks) if count)
        words = [
            "mpirun.openmpi", "--host", hosts, "--mca", "plm_rsh_agent", self.agent, "--mca", "btl", "tcp,self",
            "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0", "-n", str(sum(ranks)),
        ]  # fmt: skip
        return [self.agent, self.names[0], "exec", *words]

    def cut_off(self, i):
        self.ip("link", "set", f"{self.name}v{i}", "down")


def check_three_hosts(work):
    ends = Ends(work)
    with Hosts(work, 3) as hosts:
        here = f"--bind-address={hosts.address(0)}"
        processes.check_bits("gpt2", "tp_cp_dp", work, lambda ranks: (hosts.start([ranks - 4, 2, 2]), BACKEND, here))
        loop = [processes.EXEC, ends.bundle, BACKEND, "--random=1"]
        ends.say([*hosts.start([1, 1, 0]), *loop], "several hosts: give them the address of rank 0's (--bind-address")
        # Others need neither the module nor the input.
        compiler = [os.path.abspath("tools/dist-run"), BACKEND, here, "--inputs=root", f"--output={work}/ranks"]
        module, x = os.path.join(work, "loop.mlir"), os.path.join(work, "a.npy")
        npy.write(x, "f32", [64], range(64))
        processes.succeed([
            *hosts.start([1, 1, 0])[:-1], "1", *compiler, module, f"--input=a={x}", ":", "-n", "1", *compiler, "nowhere.mlir", "--input=a=nowhere.npy",
        ])  # fmt: skip
        assert npy.read(os.path.join(work, "ranks", "b.npy"))[2] == [2 * i for i in range(64)]
        process = subprocess.Popen(
            [*hosts.start([1, 0, 1]), *loop, "--repeat=1000000000", "--timeout=10", here], stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        ends.find(0), ends.find(1)
        hosts.cut_off(2)
        begin = time.monotonic()
        line = process.stderr.readline()
        took = time.monotonic() - begin
        assert "rank 1 (x=1): its process " in line and f"on {hosts.names[2]} has said nothing for 10 s" in line, line
        assert took < 10 + processes.PATIENCE, f"took {took} seconds"
        end = time.monotonic() + processes.PATIENCE
        while ends.ours():
            assert time.monotonic() < end, "processes are left"
            time.sleep(0.02)
        # Open MPI waits for its own daemon on the host that is gone.
        process.kill()
        process.stderr.close()
        process.wait()


def has_namespaces():
    return os.getuid() == 0 and all(shutil.which(name) for name in ("ip", "unshare")) and os.path.isdir("/sys/class/net")


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    for family in STARTERS:
        if family not in FAMILIES:
            print(f"left out: {family} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        cases = {}

        def add(name, check):
            work = os.path.join(folder, name)
            os.mkdir(work)
            cases[name] = lambda: check(work)

        for name in SOME:
            assert name in MODELS, name
            model, schedule = name.split("/")
            add(
                f"bits_{model}_{schedule}",
                lambda work, model=model, schedule=schedule: processes.check_bits(model, schedule, work, *ways(FAMILIES)),
            )
        if FAMILIES:
            add("reductions", check_reductions)
            both = ways(FAMILIES)
            add("train", lambda work: processes.Training(work).check(*(way(2) for way in both)))
            add("pipeline", lambda work: processes.Training(work, *processes.PIPELINE).check(*(way(4) for way in both)))
            add("gpus", check_gpus)
            add("results", lambda work: processes.check_result_windows(work, [(start(family, 4), [BACKEND], 170) for family in FAMILIES]))
            add("inputs", check_inputs)
            add("compiles_once", check_compiles_once)
            add("is_told_once", lambda work: Ends(work).check_told_once())
            add("is_missed", lambda work: Ends(work).check_missed())
            add("interrupted", lambda work: Ends(work).check_interrupted())
            # What takes as long for each family.
            some = both if processes.MODEL_GIB > 1 else both[:1]
            add("trace_and_port", lambda work: Ends(work).check_trace_and_port())
            add("lacks_weights", check_lacks_weights)
            add("lacks_memory", check_lacks_memory)
            add("memory", lambda work: processes.check_memory(work, *some))
            packed = [case for way in some for case in processes.packed_cases(way, [2])]
            add("packed_memory", lambda work: processes.check_packed_memory(work, *packed))
            if processes.has_small_disks():
                add("full_disk", lambda work: processes.check_full_disk(work, *both))
                add("two_at_once", lambda work: processes.check_two_at_once(work, *(way(2) for way in both)))
            else:
                print("left out: full_disk and two_at_once, which take namespaces (unshare)")
        for family in FAMILIES:
            for number, rank in (signal.SIGKILL, 0), (signal.SIGKILL, 1), (signal.SIGSEGV, 1):
                add(
                    f"ends_{family}_{number.name}_{rank}",
                    lambda work, number=number, rank=rank, family=family: Ends(work).end_rank(
                        number, rank, f"rank {rank} (x={rank}): its process ", family=family
                    ),
                )
            for rank in range(2):
                add(
                    f"ends_{family}_SIGSTOP_{rank}",
                    lambda work, rank=rank, family=family: Ends(work).end_rank(
                        signal.SIGSTOP, rank, ["the process of rank 0", "rank 1 (x=1): its process "][rank], "--timeout=4", family=family, least=4.0, moments=(MOMENTS + 1) // 2
                    ),
                )
        if "openmpi" in FAMILIES:
            for rank in range(2):
                add(f"goes_on_{rank}", lambda work, rank=rank: Ends(work).check_goes_on(rank))
            if has_namespaces():
                add("three_hosts", check_three_hosts)
            else:
                print("left out: three_hosts, which takes root and iproute2")
        return xunit.run("e2e.mpi", cases, pattern)


if __name__ == "__main__":
    sys.exit(main())
