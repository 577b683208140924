#!/usr/bin/python3
"""No estimate is slower with overlap than without: schedules of the examples, on links of many kinds.

    estimated.py [REGEX]     only schedules whose path matches

Each schedule's program is overlapped as `--overlap=auto` does it, for links of 0, 5, 20 and 100 us and 0.2, 1 and 10 GB/s
in place of those of the machine 8xA100, whose starts cost as little as these programs are small. `dist-report
--simulate`, which shares no code with what decides, must estimate no more time than for the program as it was placed, and
less for some.

DIST_ESTIMATED_SCHEDULES says how many schedules (default 5, at equal distances), 0 all of them; DIST_ESTIMATED_MACHINE
another machine. Programs come from tools/ and models from examples/, below the current folder.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402

TOOLS = os.path.abspath("tools")
LINKS = [f"latency={latency}us,bandwidth={bandwidth}GB/s" for latency in (0, 5, 20, 100) for bandwidth in (0.2, 1, 10)]
MACHINE = os.environ.get("DIST_ESTIMATED_MACHINE", "8xA100")
# Small as the examples are, few have something to gain: one that has is among them.
GAINS = "examples/gpt2/fsdp.mlir"


def run(tool, *options):
    done = subprocess.run([os.path.join(TOOLS, tool), *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{tool} {' '.join(options)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def estimate(module, link):
    simulation = json.loads(run("dist-report", module, "--simulate", "--machine", MACHINE, "--link", link, "--json"))["simulation"]
    sent = simulation["communication_seconds"] + simulation["hidden_communication_seconds"]
    return simulation["seconds"], simulation["communication_seconds"], sent


def check(folder, module, schedule):
    """Whether any of the links makes the program faster; what is slower is an error."""
    given, overlapped = (os.path.join(folder, name) for name in ("given.mlir", "overlapped.mlir"))
    run("dist-opt", module, f"--dist-apply-schedule=file={schedule}", "--dist-spmd", "-o", given)
    gains, problems = [], []
    for link in LINKS:
        on = f"machine={MACHINE} link={{{link}}}"
        run("dist-opt", given, f"--dist-bucket-reductions={on}", f"--dist-schedule-overlap={on} memory=1.5", "-o", overlapped)
        before, exposed_before, sent = estimate(given, link)
        after, exposed, _ = estimate(overlapped, link)
        gains.append(before / after)
        if after > before * (1 + 1e-9):
            problems.append(f"{link}: {before * 1e3:.4f} ms as placed, {after * 1e3:.4f} overlapped")
        print(f"{schedule} {link}: {before * 1e3:.4f} ms, {exposed_before * 1e3:.4f} waiting; overlapped {after * 1e3:.4f}, "
              f"{exposed * 1e3:.4f} waiting of {sent * 1e3:.4f}", flush=True)
    if problems:
        raise RuntimeError("estimated slower\n" + "\n".join(problems))
    return max(gains) > 1


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    schedules = [path for path in sorted(glob.glob("examples/*/*.mlir")) if re.search(pattern, path)]
    most = int(os.environ.get("DIST_ESTIMATED_SCHEDULES", "5")) or len(schedules)
    count = min(most, len(schedules))
    chosen = [schedules[i * len(schedules) // count] for i in range(count)]
    if not pattern and GAINS not in chosen:
        chosen.append(GAINS)
    results, faster, models = [], 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for schedule in chosen:
            start, problem = time.time(), None
            model = os.path.basename(os.path.dirname(schedule))
            try:
                if model not in models:
                    module = os.path.join(folder, f"{model}.mlir")
                    run("dist-import", f"examples/{model}/{model}.dynamo.onnx", "-o", module)
                    models[model] = module
                faster += check(folder, models[model], schedule)
            except RuntimeError as error:
                problem = str(error)
                print(problem, file=sys.stderr)
            results.append((schedule, time.time() - start, problem))
    print(f"{len(chosen)} schedules, {faster} of them faster on some link, {sum(bool(r[2]) for r in results)} slower on any")
    if not pattern and not faster:
        results.append(("gains", 0, "overlap gains nothing anywhere"))
    return xunit.finish("e2e.estimated", results)


if __name__ == "__main__":
    sys.exit(main())
