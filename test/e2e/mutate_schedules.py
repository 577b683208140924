#!/usr/bin/python3
"""Every schedule of an example with one thing changed: rejected, or the same result. Never a wrong one.

    mutate_schedules.py MODEL [REGEX]     only mutants whose name (SCHEDULE.mlir:LINE: OLD -> NEW) matches

Each directive is deleted; an alternative of its target dropped; its axis made another, dropped or moved; column, row
and heads, and the number of groups changed; a list's entries permuted, emptied and filled; a sync's operation,
dimensions and mode changed. Every axis has two ranks, but the last one has DIST_MUTANT_RANKS where that is set; a
schedule that is rejected for so many as it is gets no mutants. Then a mutant is one of:

- rejected: dist-opt ends with an error that has a location. A signal, no end or no location is a failure;
- the same program: what the schedule itself or an earlier mutant gives, but for the causes of its collectives;
- another program: dist-report names a cause for each of its collectives, and dist-run says that the ranks agree with
  one device within 1e-10, all in f64, on random inputs and the recorded mask. Anything else is a failure.

Also, each axis is made 2, 4, … 64 ranks, which is reported without running: rejected, with a place, only where so many
ranks cannot divide what has to be divided evenly.

All mutants are compiled. Of the other programs DIST_SCHEDULE_MUTANTS are run, 4 unless it is set: those whose names
have the lowest hashes, so each time the same. 1000000 are all. A mutant is compiled in 0.1 s, and run in 1 to 2.5 s.

Programs come from tools/ and models from examples/, below the current folder.
"""

import collections
import glob
import hashlib
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import typing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402

TOOLS = os.path.abspath("tools")
EXAMPLES = os.path.abspath("examples")

DIMENSIONS = range(3)
GROUPS = (1, 2, 3, 4, 6, 8)
KINDS = ("column", "row", "heads")
MODES = ("fwd_pre", "fwd_post", "bwd_post")

AXES = re.compile(r'"\w+"(?:, "\w+")*')
ENTRY = re.compile(r"\{[^}]*\}(?: groups \d+)?")
SYNC = re.compile(r" (?P<mode>\w+) (?P<call>(?P<operation>\w+)(?: dim (?P<dim>\d+))?(?: to (?P<to>\d+))?) over ")
LOCATED = re.compile(r":[1-9]\d*:[1-9]\d*\)*: error: ")
CAUSE = re.compile(r'cause(?: =)? "(?:[^"\\]|\\.)*"')

MESH_SIZES = (2, 4, 8, 16, 32, 64)

COMPILE_SECONDS, RUN_SECONDS = 20, 120  # of processor time: none of these takes a tenth of it


class Failure(Exception):
    """What is wrong with a mutant."""


class Rejection(Exception):
    """The error that a mutant was rejected with."""


class Mutant(typing.NamedTuple):
    schedule: str
    name: str
    text: str


# Each of these yields (start, end, text): that part of the directive in place of which the text is to stand.


def drop_alternatives(line, target_end):
    for match in re.finditer(r"\{([^}]*)\}", line[:target_end]):
        alternatives = match[1].split(",")
        for i in range(len(alternatives)) if len(alternatives) > 1 else ():
            left = alternatives[:i] + alternatives[i + 1:]
            yield *match.span(), "{%s}" % ",".join(left) if len(left) > 1 else left[0]


def change_axes(line, target_end, mesh):
    for match in AXES.finditer(line, target_end):
        axes = match[0].split(", ")
        for i, other in itertools.product(range(len(axes)), mesh):
            if other not in axes:
                yield *match.span(), ", ".join(axes[:i] + [other] + axes[i + 1:])
        if len(axes) > 1:
            yield *match.span(), ", ".join(reversed(axes))
            for i in range(len(axes)):
                yield *match.span(), ", ".join(axes[:i] + axes[i + 1:])


def change_features(line, target_end):
    for match in re.finditer(r" groups (\d+)", line[target_end:]):
        start, end = match.start() + target_end, match.end() + target_end
        yield start, end, ""
        for number in GROUPS:
            if number != int(match[1]):
                yield start, end, f" groups {number}"
    match = re.compile(r' (column|row|heads)( over "[^"]*"(?:, "[^"]*")*)( groups \d+)?').search(line, target_end)
    for kind in KINDS if match else ():
        if kind != match[1]:
            groups = "" if kind == "heads" else match[3] or ""  # heads have none
            yield *match.span(), f" {kind}{match[2]}{groups}"


def change_list(line, target_end, mesh):
    start, end = line.find("[", target_end), line.rfind("]")
    if start < 0:
        return
    entries = ENTRY.findall(line, start, end)
    for permuted in dict.fromkeys(itertools.permutations(entries)):
        yield start, end + 1, f"[{', '.join(permuted)}]"
    for match in ENTRY.finditer(line, start, end):
        if match[0] != "{}":
            yield *match.span(), "{}"
        for axis in mesh if match[0] == "{}" else ():
            if axis not in line[start:end]:
                yield *match.span(), "{%s}" % axis


def change_sync(line, target_end):
    match = SYNC.search(line, target_end)
    for mode in MODES:
        yield *match.span("mode"), mode
    for name in ("dim", "to"):
        for dim in DIMENSIONS if match[name] else ():
            yield match.start(name) - len(name) - 1, match.end(name), f"{name} {dim}"
    for dim in [int(match["dim"])] if match["dim"] else DIMENSIONS:
        calls = [f"all_to_all dim {dim} to {to}" for to in DIMENSIONS if to != dim]
        calls += ["all_reduce", f"all_gather dim {dim}", f"reduce_scatter dim {dim}", f"scatter dim {dim}"]
        for call in calls:
            if call.split()[0] != match["operation"]:
                yield *match.span("call"), call


def changes(line, mesh):
    yield 0, len(line), ""
    if line.startswith("dist.include "):  # what it brings is changed in the file itself
        return
    target_end = line.index('"', line.index('"') + 1) + 1
    yield from drop_alternatives(line, target_end)
    yield from change_axes(line, target_end, mesh)
    if line.startswith("dist.ring "):
        start = line.find(" zigzag", target_end)
        yield (start, start + len(" zigzag"), "") if start >= 0 else (len(line), len(line), " zigzag")
    if line.startswith("dist.sync "):
        yield from change_sync(line, target_end)
    else:
        yield from change_features(line, target_end)
        yield from change_list(line, target_end, mesh)


def with_few_ranks(text):
    """Two on each axis; on the last one as many as are asked for."""
    ranks = os.environ.get("DIST_MUTANT_RANKS", "2")

    def resize(mesh):
        return re.sub(r"= \d+\](?=[^=]*$)", f"= {ranks}]", re.sub(r"= \d+", "= 2", mesh[0]))

    return re.sub(r"dist\.mesh .*", resize, text)


def mutants_of(schedule, text):
    """All mutants of a schedule. Lines keep their numbers; those that are alike count once."""
    lines = text.split("\n")
    mesh = [f'"{axis}"' for axis in re.findall(r'"(\w+)" = \d+', re.search(r"dist\.mesh .*", text)[0])]
    found = {}
    for i, line in enumerate(lines):
        directive = line.strip()
        if not directive.startswith("dist.") or re.match(r"dist\.(mesh|schedule) ", directive):
            continue
        if not re.match(r"dist\.(shard|sync|include|ring) ", directive):
            raise Failure(f"{schedule}:{i + 1}: what can be changed in {directive!r}?")
        for start, end, new in changes(directive, mesh):
            mutated = directive[:start] + new + directive[end:]
            if mutated == directive:
                continue
            change = f"{directive[start:end].strip()} -> {new.strip()}" if mutated else "deleted"
            name = f"{schedule}:{i + 1}: {change}  [{directive}]"
            mutant = Mutant(schedule, name, "\n".join(lines[:i] + ["  " + mutated] + lines[i + 1:]))
            found.setdefault(mutant.text, mutant)
    return list(found.values())


def call(program, *arguments, seconds=COMPILE_SECONDS):
    """Runs one of our programs; gives (exit status, standard output, standard error)."""
    command = [os.path.join(TOOLS, program), *arguments]

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    try:
        # The clock is for what waits for ever.
        run = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit,
                             timeout=30 * seconds)
    except subprocess.TimeoutExpired:
        raise Failure(f"{program} does not end") from None
    if run.returncode < 0:
        raise Failure(f"{program} ended by signal {-run.returncode}:\n{run.stderr[-3000:]}")
    return run.returncode, run.stdout, run.stderr


class Mutations:
    def __init__(self, model, wanted, scratch):
        self.model, self.wanted, self.scratch = model, wanted, scratch
        self.folder = os.path.join(EXAMPLES, model)
        self.module = os.path.join(scratch, "model", f"{model}.mlir")  # a schedule may have the model's name
        self.counts = collections.Counter()
        self.known = {}  # {program: what it communicates}: those that are right or are to be run
        self.to_run = []  # (mutant, what it communicates, what the schedule itself does)

    def import_model(self):
        os.mkdir(os.path.dirname(self.module))
        exported = os.path.join(self.folder, f"{self.model}.dynamo.onnx")
        status, _, error = call("dist-import", exported, "-o", self.module)
        if status:
            raise Failure(error)

    def schedules(self):
        """{name: text}"""
        found = {}
        for path in sorted(glob.glob(os.path.join(self.folder, "*.mlir"))):
            with open(path, encoding="utf-8") as file:
                text = with_few_ranks(file.read())
            # What it includes lies where it lies itself.
            found[os.path.basename(path)] = text.replace('dist.include "', f'dist.include "{self.folder}/')
        return found

    def write(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def compile(self, mutant):
        """(whether the program is a new one, what it communicates)"""
        schedule, spmd = self.write(mutant.schedule, mutant.text), os.path.join(self.scratch, "spmd.mlir")
        status, _, error = call(
            "dist-opt", self.module, f"--dist-apply-schedule=file={schedule}", "--dist-spmd", "-o", spmd)
        if status:
            errors = [line for line in error.splitlines() if "error:" in line]
            if not errors or not LOCATED.search(errors[0]):
                raise Failure(f"rejected without a location:\n{error[-3000:]}")
            raise Rejection(errors[0])
        with open(spmd, encoding="utf-8") as file:
            key = hashlib.sha256(CAUSE.sub("", file.read()).encode()).hexdigest()
        if key in self.known:
            return False, self.known[key]
        self.known[key] = self.traffic(spmd)
        return True, self.known[key]

    def traffic(self, spmd):
        """What dist-report says that a rank sends and holds."""
        status, text, error = call("dist-report", spmd, "--json")
        if status:
            raise Failure(f"dist-report: {error}")
        (function,) = json.loads(text)["functions"]
        for collective in function["collectives"]:
            if not collective["cause"]:
                raise Failure(f"a collective without a cause: {collective}")
        totals = [f"{op} {total['count']} times, {total['bytes_sent_per_rank']} bytes"
                  for op, total in sorted(function["totals"].items())]
        return "; ".join(totals + [f"parameters of {function['parameter_bytes_per_rank']} bytes"])

    def check_schedule(self, schedule, text):
        try:
            _, original = self.compile(Mutant(schedule, schedule, text))
        except Rejection as rejection:
            if "DIST_MUTANT_RANKS" not in os.environ:
                raise
            self.counts["schedules rejected"] += 1
            print("rejected as it is", schedule, "--", rejection, flush=True)
            return
        problems = []
        for mutant in mutants_of(schedule, text):
            if not re.search(self.wanted, mutant.name):
                continue
            self.counts["mutants"] += 1
            try:
                is_new, traffic = self.compile(mutant)
            except Rejection as rejection:
                self.counts["rejected"] += 1
                print("rejected", mutant.name, "--", str(rejection).replace(self.scratch, ""), flush=True)
            except Failure as failure:
                self.counts["wrong"] += 1
                problems.append(f"{mutant.name}: {failure}")
                print("WRONG", problems[-1], flush=True)
            else:
                if is_new:
                    self.to_run.append((mutant, traffic, original))
                else:
                    self.counts["same program"] += 1
                    print("same program", mutant.name, flush=True)
        if problems:
            raise Failure("\n".join(problems))

    def check_sizes(self, schedule, text):
        """Reports on larger meshes. What more ranks cannot divide, twice as many cannot either."""
        path = self.write(schedule, text)
        for axis in re.findall(r'"(\w+)" = \d+', re.search(r"dist\.mesh .*", text)[0]):
            refused = None
            for size in MESH_SIZES:
                status, report, error = call("dist-report", self.module, "--schedule", path, f"--mesh={axis}={size}",
                                             "--json")
                self.counts["reports on larger meshes"] += 1
                if status == 0:
                    if refused:
                        raise Failure(f"{axis} = {size} is compiled, but {refused}")
                    json.loads(report)
                    continue
                errors = [line for line in error.splitlines() if "error:" in line]
                if not errors or not LOCATED.search(errors[0]):
                    raise Failure(f"{axis} = {size} is rejected without a location:\n{error[-3000:]}")
                refused = f"{axis} = {size} is rejected: {errors[0]}"
                if size == MESH_SIZES[0]:
                    raise Failure(refused)

    def inputs(self):
        """Random ones, but for the mask: what is counted in it indexes positions."""
        mask = os.path.join(self.folder, "inputs1", "attention_mask.npy")
        return ["--random", *(["--input", f"attention_mask={mask}"] if os.path.exists(mask) else [])]

    def check_run(self, mutant, traffic, original):
        schedule = self.write(mutant.schedule, mutant.text)
        status, text, error = call("dist-run", self.module, "--schedule", schedule, *self.inputs(), "--verify=f64",
                                   "--opt-level=0", "--atol=1e-10", "--rtol=1e-10", "--json", seconds=RUN_SECONDS)
        verdict = json.loads(text.strip().splitlines()[-1]) if text.strip() else {"ok": False}
        if status or verdict["ok"] is not True or not verdict["outputs"]:
            self.counts["wrong"] += 1
            raise Failure(f"WRONG {mutant.name}\ndist-run, exit status {status}: {verdict}\n{error[-3000:]}")
        self.counts["equal, other communication" if traffic != original else
                    "equal, another program that communicates as much"] += 1
        print("equal", mutant.name, "--", traffic, "-- was", original, flush=True)

    def cases(self, limit):
        """(name, function) of each test, in order; the first is needed by all others."""
        yield "import", self.import_model
        for schedule, text in self.schedules().items():
            yield schedule, lambda s=schedule, t=text: self.check_schedule(s, t)
            if "DIST_MUTANT_RANKS" not in os.environ:
                yield f"{schedule} on larger meshes", lambda s=schedule, t=text: self.check_sizes(s, t)
        self.to_run.sort(key=lambda entry: hashlib.sha256(entry[0].name.encode()).digest())
        self.counts["not run"] = len(self.to_run[limit:])
        for entry in self.to_run[:limit]:
            yield entry[0].name, lambda e=entry: self.check_run(*e)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    model, wanted = (sys.argv[1:] + [""])[:2]
    results = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
        mutations = Mutations(model, wanted, scratch)
        for name, check in mutations.cases(int(os.environ.get("DIST_SCHEDULE_MUTANTS", "4"))):
            start, problem = time.monotonic(), None
            try:
                check()
            except Exception as error:  # a report that lacks a key, say
                problem = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
                print("FAILED", problem, flush=True)
            results.append((name, time.monotonic() - start, problem))
            if name == "import" and problem is not None:
                break
        print(", ".join(f"{name}: {count}" for name, count in mutations.counts.items()))
        if not mutations.counts["mutants"] and not mutations.counts["schedules rejected"]:
            results.append(("mutants", 0, "there are none"))
    return xunit.finish(f"e2e.{model}.schedule_mutants", results)


if __name__ == "__main__":
    sys.exit(main())
