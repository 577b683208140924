#!/usr/bin/python3
"""Random programs through the whole compiler: placed, lowered to code, run on as many ranks as their mesh has.

    run_lowered.py [--gpu] FIRST_SEED COUNT [OPTION OF DIST-FUZZ …]

The generator's programs (dist-fuzz --print) are run by `dist-run --verify=f64`: every result must be what the same
program computes on one rank, within 1e-10, or placement must have refused the program with a place in it. What the
lowering makes of programs is compared with the interpreter in test/lowering/oracle; this checks the way from file to file.

With --gpu they run on the emulated driver, each in one of three orders. What they are compared with is the CPU's.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy  # noqa: E402
import xunit  # noqa: E402

FUZZ = os.path.abspath("test/generator/fuzz/dist-fuzz")
RUN = os.path.abspath("tools/dist-run")
SECONDS = 60
LIBRARY = "/usr/lib/clc/nvptx64--.bc"  # of Debian's package libclc-22
# Most programs must go through.
MOST_REFUSED = 0.1

INTEGERS = {"i1": "i1", "i8": "i8", "i32": "i32", "i64": "i64", "index": "i64"}


def inputs_of(module, folder):
    """Options that give @main what its arguments may be: integers, as divisors and indices allow."""
    signature = re.search(r"func\.func @main\((.*?)\) ->", module, re.S)[1]
    options = []
    for part in filter(None, re.split(r", (?=%arg)", signature)):
        match = re.match(r"%(arg\d+): tensor<((?:\d+x)*)(\w+)>", part)
        if not match:
            raise ValueError(f"not an argument: {part}")
        name, shape, element = match[1], tuple(int(d) for d in match[2].split("x")[:-1]), match[3]
        if element not in INTEGERS:
            options += ["--input", f"{name}=random:{len(options) + 1}"]
            continue
        below = re.search(r"test\.below = (\d+)", part)
        low, high = (0, int(below[1]) - 1) if below else (1, 3)
        if element == "i1":
            low, high = 0, 1
        count = 1
        for size in shape:
            count *= size
        source = random.Random(len(options))
        path = os.path.join(folder, f"{name}.npy")
        values = [source.randint(low, max(low, high)) for _ in range(count)]
        if once := re.search(r"test\.permutation = (\d+)", part):
            values = source.sample(range(int(once[1])), count)
        npy.write(path, INTEGERS[element], shape, values)
        options += ["--input", f"{name}={path}"]
    return options


def check(module, *options):
    """None, "refused", or what went wrong."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        path = os.path.join(folder, "case.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(module)
        # Random programs divide by zero and take logarithms of it: what is infinite must be so on both sides.
        run = subprocess.Popen([RUN, path, "--verify=f64", "--allow-nonfinite", *options, *inputs_of(module, folder)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            _, errors = run.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            run.terminate()  # which removes its temporary folder
            run.communicate()
            return f"hangs: more than {SECONDS} s"
    if run.returncode == 0:
        return None
    if run.returncode == 1 and "could not be partitioned" in errors and re.search(r'case\.mlir"?:', errors):
        return "refused"
    lines = [line for line in errors.splitlines() if "error" in line] or errors.splitlines()[-3:]
    return f"status {run.returncode}: " + " | ".join(lines[:3])


def main():
    is_on_gpu = "--gpu" in sys.argv
    if is_on_gpu:
        sys.argv.remove("--gpu")
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if is_on_gpu and not os.path.exists(LIBRARY):
        print("skipped: libclc-22 is not installed")
        return xunit.finish("lowered.gpu", [("is_skipped", 0, None)])
    first, count = int(sys.argv[1]), int(sys.argv[2])
    text = subprocess.run([FUZZ, f"--seed={first}", f"--count={count}", "--print", *sys.argv[3:]], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^// seed (\d+)$", text, flags=re.M)[1:]
    modules = dict(zip(map(int, parts[::2]), parts[1::2]))
    if len(modules) != count:
        sys.exit(f"run_lowered.py: dist-fuzz printed {len(modules)} modules, not {count}")
    results, refused = [], 0
    for seed, module in modules.items():
        start = time.monotonic()
        options = ["--backend=cuda", "--driver=emulated" + ["", ":reverse", f":{seed}"][seed % 3], xunit.OPT_LEVEL] if is_on_gpu else []
        problem = check(module, *options)
        # What is zero but for rounding has the CPU's bits on the CPU alone.
        if is_on_gpu and problem and "is not told from" in problem:
            problem = check(module, *options, "--rtol=1e-9", "--atol=1e-9")
        if problem == "refused":
            refused, problem = refused + 1, None
        if problem:
            problem += f"\ndist-fuzz --seed={seed} --count=1 --print\n{module}"
        results.append((f"seed_{seed}", time.monotonic() - start, problem))
        if problem:
            print("FAILED", seed, problem.splitlines()[0], flush=True)
    problem = f"{refused} of {count} programs were refused" if refused > MOST_REFUSED * count else None
    results.append(("few_are_refused", 0, problem))
    print(f"{count} programs, {refused} refused, {sum(1 for r in results if r[2])} failed")
    return xunit.finish(f"lowered.{'gpu.' if is_on_gpu else ''}{first}", results)


if __name__ == "__main__":
    sys.exit(main())
