#!/usr/bin/python3
"""Ranks that are processes, beside ranks that are threads.

processes.py [REGEX]: only cases whose name matches.

- `bits_MODEL`: forward and gradients of a model give the same bits on both;
- `train`: a run of training has the same losses and checkpoints, bit for bit; each goes on from what the other saved;
- `pipeline`: so does one of stages, whose parameters are sharded;
- `ends_SIGNAL`: a rank's process that is killed or stopped at any moment ends the run (after --timeout, if it is
  stopped), with one message that names the rank, and nothing is left;
- `leaves_nothing`: nor is it if the first process is told to end, or killed;
- `results`: results are written slice by slice, and no process holds a whole one (by threads and by processes);
- `memory`: a rank holds what `dist-report` says, within 5 %, of weights that are larger than that;
- `packed_memory`, `packed_numbers`: also of weights that products pack, by threads and by processes, with right results;
- `full_disk`: a disk that is full when results, a trace or a checkpoint are written is told once, and nothing half-written
  is left;
- `no_addresses`: so is `ulimit -v`;
- `two_at_once`: two runs on one host do not meet, and leave nothing in /dev/shm nor TMPDIR;
- `data_fails`: what a rank finds wrong is said once, as by threads.

DIST_MOMENTS=50 tries as many moments of each end, in place of 6; DIST_PATIENCE=2 says within how many seconds each must
end, on a machine that does nothing else. DIST_RUNS=100 are the runs of `two_at_once`. DIST_MODEL_GIB=10 is the size of the
model of `memory`; with it `packed_memory` has 1, 2 and 4 ranks.

Programs come from tools/ and models from examples/, below the current folder.
"""

import array
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy  # noqa: E402
import xunit  # noqa: E402
from bits import MODELS, read  # noqa: E402

EXEC = os.path.abspath("tools/dist-exec")
# Seconds that an end may take: two, as promised, when ends are looked at by hand; more on a machine that does ten things
# at a time.
PATIENCE = float(os.environ.get("DIST_PATIENCE", "30"))
# Moments at which a process is killed.
MOMENTS = int(os.environ.get("DIST_MOMENTS", "6"))
RUNS = int(os.environ.get("DIST_RUNS", "3"))
MODEL_GIB = int(os.environ.get("DIST_MODEL_GIB", "1"))


def succeed(command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}{done.stdout[-2000:]}"
    return done.stdout


def run(tool, *arguments):
    return succeed([os.path.abspath(os.path.join("tools", tool)), *arguments])


def examples(model):
    return os.path.join(os.path.abspath("examples"), model)


def import_model(model, work):
    module = os.path.join(work, "model.mlir")
    (onnx,) = glob.glob(os.path.join(examples(model), f"{model}.dynamo.onnx"))
    run("dist-import", onnx, "-o", module)
    return module


def check_bits(model, schedule, work, *ways):
    def compare(want, got, way):
        assert want == got, f"threads and {way} differ"

    check_results(model, schedule, work, compare, *ways)


def check_results(model, schedule, work, compare, *ways):
    """Forward and gradients, by threads and in each of `ways`: functions of the number of ranks, that give what stands
    before a command and which options it has."""
    module, placed, bundle = (os.path.join(work, name) for name in ("model.mlir", "gradients.mlir", "gradients.dist"))
    import_model(model, work)
    outputs = re.findall(r'tensor<[\dx]*xf32> \{dist\.output = "([^"]*)"', open(module, encoding="utf-8").read())
    run(
        "dist-opt", module, f"--dist-apply-schedule=file={os.path.join(examples(model), schedule + '.mlir')}",
        f"--dist-differentiate=of={outputs[0]} cotangent=cotangent", "-o", placed,
    )  # fmt: skip
    run("dist-compile", placed, "-o", bundle, xunit.OPT_LEVEL)
    inputs = []
    for path in sorted(glob.glob(os.path.join(examples(model), "inputs0", "*.npy"))):
        inputs += ["--input", f"{os.path.basename(path).removesuffix('.npy')}={path}"]
    results = []

    def execute(before, *options):
        folder = os.path.join(work, f"run{len(results)}")
        command = [*before, EXEC, bundle, *inputs, "--random=1", "--json", "--output", folder, *options]
        results.append(folder)
        return json.loads(succeed(command).splitlines()[-1])["ranks"]

    ranks = execute([])
    for way in ways:
        execute(*way(ranks))
    first, *others = [read(folder) for folder in results]
    for way, values in zip(ways, others):
        compare(first, values, way(ranks))


WAYS = [lambda ranks: ([], "-n", str(ranks)), lambda ranks: ([], "--backend=processes", "--streams=late")]


class Training:
    def __init__(self, work, mesh=None, lines=(), options=()):
        """By the schedule of fsdp, on another mesh and with more directives if given."""
        self.work, self.options = work, options
        self.module = import_model("gpt2", work)
        self.schedule = os.path.join(work, "schedule.mlir")
        with open(os.path.join(examples("gpt2"), "fsdp.mlir"), encoding="utf-8") as file:
            text = file.read()
        if mesh:
            text = re.sub(r"(dist\.mesh @m )\[.*\]", rf"\1[{mesh}]", text)
        with open(self.schedule, "w", encoding="utf-8") as file:
            file.write(re.sub(r"(on @m {\n)", lambda match: match[0] + "".join(f"  {line}\n" for line in lines), text))
        self.text = os.path.join(work, "text.npy")
        source = random.Random(3)
        data = bytes(source.randrange(97, 123) for _ in range(4000))
        npy.write(self.text, "u8", [len(data)], data)

    def command(self, name, steps, *options):
        folder = os.path.join(self.work, name)
        return [
            os.path.abspath("tools/dist-run"), "--train", self.module, "--schedule", self.schedule, f"--steps={steps}",
            f"--data={self.text}", "--input=attention_mask=1", "--optimizer=adamw,lr=1e-3", f"--save={folder}",
            f"--curve={folder}.csv", xunit.OPT_LEVEL, *self.options, *options,
        ]  # fmt: skip

    def train(self, name, steps, *options, before=()):
        folder = os.path.join(self.work, name)
        succeed([*before, *self.command(name, steps, *options)])
        files = {}
        for path in glob.glob(os.path.join(folder, f"step-{steps}", "*.safetensors")):
            with open(path, "rb") as file:
                files[os.path.basename(path)] = file.read()
        assert files, os.listdir(folder)
        with open(folder + ".csv", encoding="utf-8") as file:
            return [line.split(",")[:2] for line in file], files

    def check(self, *ways):
        """`ways` say what stands before a command, and which options it has."""
        threads = self.train("threads", 6, "--save-every=3")

        def resume(*path):
            return "--resume=" + os.path.join(self.work, *path)

        for number, (before, *options) in enumerate(ways):
            name = f"others{number}"
            others = self.train(name, 6, "--save-every=3", *options, before=before)
            assert threads == others, f"{threads[0]} by threads, {others[0]} by {before} {options}"
            # A run that has all its steps ends well, in all processes.
            assert others[1] == self.train(name, 6, resume(name), *options, before=before)[1]
            # Each goes on from what the other has saved.
            _, files = self.train(f"{name}_threads", 6, resume(name, "step-3"))
            assert files == threads[1], f"what {before} {options} wrote and threads go on from is another run"
            _, files = self.train(f"threads_{name}", 6, resume("threads", "step-3"), *options, before=before)
            assert files == threads[1], f"what threads wrote and {before} {options} go on from is another run"


PIPELINE = ('"pp" = 2, "dp" = 2', ['dist.pipeline "1f1b" over "pp"', 'dist.stages "transformer.h.*"'], ["--accumulate=4"])


def write_stages(work):
    """A step of training on two stages."""
    training = Training(work, '"pp" = 2, "dp" = 1', PIPELINE[1])
    step = os.path.join(work, "step.mlir")
    run("dist-opt", training.module, f"--dist-apply-schedule=file={training.schedule}", "--dist-train-step=optimizer=sgd accumulate=4", "-o", step)
    return step


# Runs what follows where $1 is a disk of $2 KiB, and lists what is on it at the end in $3.
SMALL_DISK = """
mount -t tmpfs -o size=$2k tmpfs "$1" || exit 99
disk=$1 files=$3
shift 3
"$@"
status=$?
find "$disk" -mindepth 1 -printf '%P\\n' > "$files"
exit $status
"""
NAMESPACE = ["unshare", "--map-root-user", "--mount"]


def has_small_disks():
    try:
        return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def on_small_disk(disk, kib, work, command, **options):
    """What has run, and what it has left there."""
    files = os.path.join(work, "files")
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", SMALL_DISK, "sh", disk, str(kib), files, *command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode != 99, done
    with open(files, encoding="utf-8") as file:
        return done, file.read().split("\n")[:-1]


def check_full_disk(work, *ways):
    """`ways` are functions of the number of ranks, as of `check_results`."""
    disk = os.path.join(work, "disk")
    os.mkdir(disk)
    # A result of 4 MiB, and a page of its header; a checkpoint of 1.6 MiB.
    bundle, x, _, _ = write_columns(work, 64)
    execute = [EXEC, bundle, f"--input=x={x}", f"--output={disk}/results"]
    train = Training(work).command("disk/run", 3, "--save-every=1")
    for way in ways:
        for ranks, kib, command, full in (
            (4, 2048, execute, "results/y.npy"),
            (4, 4100, [*execute, f"--trace={disk}/trace.html"], "trace.html"),
            (2, 2600, train, "run/step-2.tmp-"),
        ):
            before, *options = way(ranks)
            done, left = on_small_disk(disk, kib, work, [*before, *command, *options])
            # Those that MPI's starters give.
            assert done.returncode == 1 or before and done.returncode == 9, done
            (line,) = [line for line in done.stderr.splitlines() if "error: " in line]
            assert f"{disk}/{full}" in line and "cannot be written: No space left on device" in line, line
            whole = [name for name in left if not name.startswith("run.")]
            if command == train:
                assert "run/step-1/training.json" in whole, left
                whole = [name for name in whole if name != "run" and not (name + "/").startswith("run/step-1/")]
            assert not whole, left


def check_no_addresses(work):
    """Ranks of 512 MiB."""
    bundle, x, _, _ = write_columns(work, 1 << 15)
    done = subprocess.run(
        ["prlimit", "--as=1000000000", EXEC, bundle, f"--input=x={x}", "-n", "4", f"--output={work}/results"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and not os.path.exists(f"{work}/results"), done
    (line,) = done.stderr.splitlines()
    assert "bytes of memory that processes share: Cannot allocate memory; " in line and "ulimit -v" in line, line


TWICE = """
for i in $(seq $0); do
  TMPDIR=$TMPDIR/first "$@" & first=$!
  TMPDIR=$TMPDIR/second "$@" & wait $! && wait $first || exit 1
done
"""


def check_two_at_once(work, *ways):
    """Each of `ways` is what stands before a command, and its options."""
    bundle, temporary = Failures(work).bundle, os.path.join(work, "temporary")
    # Of two mpiruns, one may remove the folder that both have there while the other makes it.
    folders = [os.path.join(temporary, name) for name in ("first", "second")]
    for folder in folders:
        os.makedirs(folder)
    for before, *options in ways:
        command = [*before, EXEC, bundle, "--random=1", "--repeat=300", *options]
        done, left = on_small_disk("/dev/shm", 1 << 20, work, ["sh", "-c", TWICE, str(RUNS), *command], env=dict(os.environ, TMPDIR=temporary))
        assert done.returncode == 0 and done.stdout.count("2 ranks, 300 runs") == 2 * RUNS, done
        left += [name for folder in folders for name in os.listdir(folder)]
        assert not left, f"{before} {options}: {left}"


def write_indices(work, values):
    path = os.path.join(work, "i.npy")
    npy.write(path, "i64", [len(values), 1], values)
    return path


class Failures:
    """A program of two ranks that runs for long: one that is given, or a loop."""

    def __init__(self, work, *options, module=None, axis="x"):
        self.work, self.axis, self.bundle = work, axis, os.path.join(work, "loop.dist")
        if not module:
            module = os.path.join(work, "loop.mlir")
            with open(module, "w", encoding="utf-8") as file:
                file.write(LOOP)
        run("dist-compile", module, "-o", self.bundle, *options)

    def start(self, *options):
        # A session of its own, by which its processes are found.
        return subprocess.Popen(
            [EXEC, self.bundle, "-n", "2", "--random=1", "--repeat=1000000000", *options], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    @staticmethod
    def members(session):
        """The processes of a session that are no zombies."""
        found = []
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path, encoding="utf-8") as file:
                    name, rest = file.read().rsplit(")", 1)
            except OSError:
                continue
            state, _, _, own = rest.split()[:4]
            if int(own) == session and state != "Z":
                found.append(int(name.split()[0]))
        return sorted(found)

    def wait_for_ranks(self, process):
        end = time.monotonic() + 120
        while len(self.members(process.pid)) < 3:
            assert time.monotonic() < end and process.poll() is None, process.communicate()
            time.sleep(0.005)
        return [member for member in self.members(process.pid) if member != process.pid]

    def assert_gone(self, process):
        end = time.monotonic() + PATIENCE
        while self.members(process.pid):
            assert time.monotonic() < end, "processes are left"
            time.sleep(0.005)

    def end(self, number, *options, least=0.0):
        source = random.Random(number)
        for moment in range(MOMENTS):
            process = self.start(*options)
            ranks = self.wait_for_ranks(process)
            time.sleep(source.random() * 0.2)
            rank = source.randrange(2)
            begin = time.monotonic()
            os.kill(ranks[rank], number)
            out, errors = process.communicate(timeout=120)
            took = time.monotonic() - begin
            assert process.returncode == 1, (process.returncode, errors)
            assert least <= took < least + PATIENCE, f"took {took} seconds"
            (line,) = errors.splitlines()
            assert f"error: rank {rank} ({self.axis}={rank}" in line and f"): its process {ranks[rank]} on " in line, line
            self.assert_gone(process)

    def check_leaves_nothing(self):
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGKILL:
            process = self.start()
            self.wait_for_ranks(process)
            os.kill(process.pid, number)
            process.communicate(timeout=120)
            assert process.returncode == (-number if number == signal.SIGKILL else 128 + number), process.returncode
            self.assert_gone(process)

    def fails(self, name, text, said, *options):
        module = os.path.join(self.work, name + ".mlir")
        with open(module, "w", encoding="utf-8") as file:
            file.write(text)
        messages = []
        for backend in "threads", "processes":
            done = subprocess.run(
                [os.path.abspath("tools/dist-run"), module, f"--backend={backend}", *options], capture_output=True, text=True
            )
            assert done.returncode == 1, done
            messages.append(done.stderr.replace("dist-run: generating code ...\n", ""))
        assert messages[0] == messages[1], messages
        assert said in messages[0] and messages[0].count("error:") == 1, messages[0]


def write_large(work, type, ranks, layers, batch, width, hidden):
    """A program whose weights are columns, which are copied, and rows, which stay in the file, in turn. The file is sparse."""
    header, arguments, steps, last, bytes = {}, [], [], "x", {"f32": 4, "f64": 8}[type]
    for number in range(2 * layers):
        rows, columns = (width, hidden) if number % 2 == 0 else (hidden, width)
        dims = '[{}, {"x"}]' if number % 2 == 0 else '[{"x"}, {}]'
        size = rows * columns * bytes
        header[f"w{number}"] = {"dtype": type.upper(), "shape": [rows, columns], "data_offsets": [number * size, (number + 1) * size]}
        weight, result = f"tensor<{rows}x{columns}x{type}>", f"tensor<{batch}x{columns}x{type}>"
        arguments.append(f'%w{number}: {weight} {{dist.parameter = "w{number}", dist.sharding = #dist.sharding<@m, {dims}>}}')
        steps.append(
            f"%e{number} = tensor.empty() : {result}\n"
            f"%z{number} = linalg.fill ins(%zero : {type}) outs(%e{number} : {result}) -> {result}\n"
            f"%r{number} = linalg.matmul ins(%{last}, %w{number} : tensor<{batch}x{rows}x{type}>, {weight}) outs(%z{number} : {result}) -> {result}"
        )
        last = f"r{number}"
    module, bundle, data = os.path.join(work, "large.mlir"), os.path.join(work, "large.dist"), f"tensor<{batch}x{width}x{type}>"
    with open(module, "w", encoding="utf-8") as file:
        file.write(
            f'module attributes {{dist.weights = "large.safetensors"}} {{\ndist.mesh @m ["x" = {ranks}]\n'
            f'func.func @main(%x: {data} {{dist.input = "x"}}, {", ".join(arguments)}) -> ({data} {{dist.output = "y"}}) {{\n'
            f"%zero = arith.constant 0.0 : {type}\n" + "\n".join(steps) + f"\nreturn %{last} : {data}\n}}\n}}\n"
        )
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 4096)
    with open(os.path.join(work, "large.safetensors"), "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + 2 * layers * width * hidden * bytes)
    run("dist-compile", module, "-o", bundle)
    (function,) = json.loads(run("dist-report", "--json", module))["functions"]
    return bundle, function["peak_bytes_per_rank"] / 2**20


def find_processes(program, argument):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read().split("\0")
        except OSError:
            continue
        if words[0] == program and argument in words:
            found.append(int(name))
    return sorted(found)


def hold(bundle, ranks, before=(), *options, least, most):
    """MiB that each process of a run holds at most, once that is `least`; never more than `most`."""
    command = [*before, EXEC, bundle, "--random", "--repeat=1000000000", *options]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    count = ranks if options else 1

    def look():
        # Besides ranks there are processes that hold next to nothing.
        held = sorted(filter(None, map(most_held, find_processes(EXEC, bundle))))[-count:]
        assert not held or held[-1] <= most, f"{held} MiB, where {most} are allowed"
        return held if len(held) == count else [0]

    try:
        ends = time.monotonic() + 240 * MODEL_GIB
        while look()[0] < least:
            assert time.monotonic() < ends and process.poll() is None, look()
            time.sleep(0.1)
        # Nothing comes after it.
        time.sleep(2)
        return look()
    finally:
        os.kill(process.pid, signal.SIGTERM)
        process.wait()


def check_memory(work, *ways):
    """Weights of 1 GiB, of which a rank holds a fourth. What a process holds without weights is not counted."""
    folder, small = os.path.join(work, "large"), os.path.join(work, "small")
    os.mkdir(folder), os.mkdir(small)
    bundle, reported = write_large(folder, "f64", 4, 8 * MODEL_GIB, 1, 2048, 4096)
    tiny, _ = write_large(small, "f64", 4, 8 * MODEL_GIB, 1, 32, 64)
    assert reported > MODEL_GIB * 256, reported
    for way in ways:
        base = max(hold(tiny, 4, *way(4), least=1, most=500))
        held = hold(bundle, 4, *way(4), least=base + 0.95 * reported, most=base + 1.05 * reported)
        print(f"{way(4)}: {base:.0f} MiB without weights, {held} with {MODEL_GIB} GiB; {reported:.0f} reported")


def check_packed_numbers(work):
    """Results are right, also when weights that are packed have gone back."""
    write_large(work, "f32", 2, 1, 32, 384, 768)
    with open(os.path.join(work, "large.safetensors"), "r+b") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        file.seek(start)
        source = random.Random(5)
        file.write(array.array("f", (source.uniform(-1, 1) for _ in range(2 * 384 * 768))).tobytes())
    for options in [], ["-n", "2"]:
        said = run("dist-run", os.path.join(work, "large.mlir"), "--random", "--verify", "--repeat=3", xunit.OPT_LEVEL, *options)
        assert "y: equal to the program on one rank" in said, said


def check_packed_memory(work, *cases):
    """Weights of 0.5 GiB of f32, which products pack: what is packed does not stay twice. Columns are multiples of 48, in
    which oneDNN packs them. What a process holds without weights is not counted. `cases` are a number of ranks, and what
    stands before a command and its options."""
    written = {}
    for ranks, *way in cases:
        if ranks not in written:
            folder, small = os.path.join(work, str(ranks)), os.path.join(work, f"{ranks}small")
            os.mkdir(folder), os.mkdir(small)
            bundle, reported = write_large(folder, "f32", ranks, 56, 32, 768, 1536)
            tiny, _ = write_large(small, "f32", ranks, 56, 32, 48, 96)
            written[ranks] = bundle, tiny, reported
        bundle, tiny, reported = written[ranks]
        share = 1 if way[1:] else ranks
        base = max(hold(tiny, ranks, *way, least=1, most=500))
        hold(bundle, ranks, *way, least=base + 0.95 * reported * share, most=base + 1.05 * reported * share)


def packed_cases(way, few):
    """Of `way`, a function of the number of ranks, on few numbers of them."""
    return [(ranks, *way(ranks)) for ranks in ([1, 2, 4] if MODEL_GIB > 1 else few)]


def most_held(process):
    """The most MiB of memory that a process has held so far; 0 if it has ended."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8") as file:
            found = re.search(r"VmHWM:\s+(\d+) kB", file.read())
    except OSError:
        return 0
    return int(found.group(1)) / 1024 if found else 0


def write_columns(work, rows=4096, columns=16384):
    """A bundle of four ranks whose result, of 256 MiB, has its input in each row. Each has a fourth of the columns."""
    module, bundle, x = (os.path.join(work, name) for name in ("columns.mlir", "columns.dist", "x.npy"))
    with open(module, "w", encoding="utf-8") as file:
        file.write(COLUMNS.replace("ROWS", str(rows)).replace("COLUMNS", str(columns)))
    run("dist-compile", module, "-o", bundle)
    row = array.array("f", range(columns)).tobytes()
    npy.write(x, "f32", [columns], row)
    return bundle, x, rows, row


def check_rows(folder, rows, row):
    assert os.listdir(folder) == ["y.npy"], os.listdir(folder)
    with open(os.path.join(folder, "y.npy"), "rb") as file:
        assert b"'<f4'" in file.read(128)
        assert all(file.read(len(row)) == row for _ in range(rows)) and not file.read(1), "other values"
    os.remove(os.path.join(folder, "y.npy"))


def check_result_windows(work, ways):
    """`ways` say what stands before a command, which options it has, and how many MiB a process may hold."""
    bundle, x, rows, row = write_columns(work)
    for number, (before, options, most) in enumerate(ways):
        folder = os.path.join(work, f"results{number}")
        process = subprocess.Popen([*before, EXEC, bundle, f"--input=x={x}", f"--output={folder}", *options])
        # Of the process and all that it has waited for, the largest.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        assert status == 0, f"{before} {options}: status {status}"
        held = usage.ru_maxrss / 1024
        assert held < most, f"{before} {options}: {held} MiB, more than {most}"
        check_rows(folder, rows, row)


# Threads have all parts in one process, and no whole.
RESULTS = [([], [], 256 + 128), ([], ["-n4"], 150)]

COLUMNS = """
dist.mesh @m ["x" = 4]
func.func @main(%x: tensor<COLUMNSxf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> (tensor<ROWSxCOLUMNSxf32> {dist.output = "y"}) {
  %e = tensor.empty() : tensor<ROWSxCOLUMNSxf32>
  %y = linalg.broadcast ins(%x : tensor<COLUMNSxf32>) outs(%e : tensor<ROWSxCOLUMNSxf32>) dimensions = [0]
  return %y : tensor<ROWSxCOLUMNSxf32>
}
"""

LOOP = """
dist.mesh @m ["x" = 2]
func.func @main(%a: tensor<64xf32> {dist.input = "a", dist.global_type = tensor<64xf32>, dist.sharding = #dist.sharding<@m, [{}]>})
    -> (tensor<64xf32> {dist.output = "b", dist.global_type = tensor<64xf32>, dist.sharding = #dist.sharding<@m, [{}]>}) {
  %b = dist.all_reduce %a sum over "x" : tensor<64xf32>
  return %b : tensor<64xf32>
}
"""

# On one rank of two the index is out of range.
LOOKUP = """
dist.mesh @m ["x" = 2]
func.func @main(%t: tensor<8x4xf32> {dist.input = "t"}, %i: tensor<2x1xi64> {dist.input = "i", dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<2x4xf32> {dist.output = "b"}) {
  %b = tensor.gather %t[%i] gather_dims([0]) : (tensor<8x4xf32>, tensor<2x1xi64>) -> tensor<2x4xf32>
  return %b : tensor<2x4xf32>
}
"""


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    # Whoever starts this in the background may have it ignored, and so would the processes that are interrupted here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        cases = {}

        def add(name, check):
            work = os.path.join(folder, name)
            os.mkdir(work)
            cases[name] = lambda: check(work)

        for name in MODELS:
            model, schedule = name.split("/")
            add(f"bits_{model}_{schedule}", lambda work, model=model, schedule=schedule: check_bits(model, schedule, work, *WAYS))
        add("train", lambda work: Training(work).check(([], "--backend=processes")))
        late = ["--streams=late", "--link=latency=50us,bandwidth=1GB/s"]
        add("pipeline", lambda work: Training(work, *PIPELINE).check(([], "--backend=processes"), ([], "--backend=processes", *late)))
        for number in signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV:
            add(f"ends_{number.name}", lambda work, number=number: Failures(work).end(number))
        add("ends_pipeline", lambda work: Failures(work, module=write_stages(work), axis="pp").end(signal.SIGKILL))
        add("ends_SIGSTOP", lambda work: Failures(work).end(signal.SIGSTOP, "--timeout=0.5", least=0.5))
        add("results", lambda work: check_result_windows(work, RESULTS))
        add("memory", lambda work: check_memory(work, WAYS[0]))
        packed = packed_cases(lambda _: [[]], [1]) + packed_cases(WAYS[0], [4])
        add("packed_numbers", check_packed_numbers)
        add("packed_memory", lambda work: check_packed_memory(work, *packed))
        if has_small_disks():
            add("full_disk", lambda work: check_full_disk(work, WAYS[0]))
            add("two_at_once", lambda work: check_two_at_once(work, WAYS[0](2)))
        else:
            print("left out: full_disk and two_at_once, which take namespaces (unshare)")
        add("no_addresses", check_no_addresses)
        add("leaves_nothing", lambda work: Failures(work).check_leaves_nothing())
        add(
            "data_fails",
            lambda work: Failures(work).fails("lookup", LOOKUP, "an index of the gather", f"--input=i={write_indices(work, [3, 9])}", "--random=1"),
        )
        return xunit.run("e2e.processes", cases, pattern)


if __name__ == "__main__":
    sys.exit(main())
