#!/usr/bin/python3
"""Which options change bits, on small models with gradients.

bits.py [REGEX]: only models whose name matches.

- Overlap changes none: with a machine on which whatever can be overlapped is, a run with `--overlap=off` gives the same.
- A machine chooses ways between placements, `--recompute` what kernels are formed of, and `--overlap=auto` joins halo
  exchanges: sums may be added in another order, so results agree within rounding.

Programs come from tools/ and models from examples/, below the current folder.
"""

import array
import glob
import os
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402
from overlap import run, write_machine  # noqa: E402

# Of each strategy some, and of each model one.
MODELS = [
    "bert/fsdp", "bert/ulysses", "convnext/rows", "gpt2/tp_cp_dp", "gpt2/fsdp", "graph/parts", "llama/fsdp_tp", "llama/ring",
    "mixtral/ep_dp", "opt/ring", "opt/sp", "phi3/sp", "phi3/tp_dp", "resnet/grid", "slapo/slapo", "t5/cp", "unet/grid", "unet/rows",
    "vit/tp_full", "wide_resnet/tp_dp",
]  # fmt: skip
# Of the largest number of a result.
TOLERANCE = 1e-5


def read(folder):
    results = {}
    for path in glob.glob(os.path.join(folder, "*.npy")):
        with open(path, "rb") as file:
            results[os.path.basename(path)] = file.read()
    assert results, folder
    return results


def numbers(data):
    (length,) = struct.unpack("<H", data[8:10])
    kind = {"<f4": "f", "<f8": "d", "<i8": "q", "|b1": "b"}[re.search(rb"'descr': '(.*?)'", data[10 : 10 + length])[1].decode()]
    return array.array(kind, data[10 + length :])


def check_near(what, results, expected):
    for name, data in expected.items():
        want, got = numbers(data), numbers(results[name])
        allowed = TOLERANCE * max(map(abs, want), default=0)
        worst = max((abs(a - b) for a, b in zip(want, got)), default=0)
        assert worst <= allowed, f"{what}: {name} differs by {worst}, {allowed} is allowed"


def check(model, schedule, work, machine):
    examples = os.path.join(os.path.abspath("examples"), model)
    module, placed = os.path.join(work, "model.mlir"), os.path.join(work, "gradients.mlir")
    (onnx,) = glob.glob(os.path.join(examples, f"{model}.dynamo.onnx"))
    run("dist-import", onnx, "-o", module)
    outputs = re.findall(r'tensor<[\dx]*xf32> \{dist\.output = "([^"]*)"', open(module, encoding="utf-8").read())
    run(
        "dist-opt", module, f"--dist-apply-schedule=file={os.path.join(examples, schedule + '.mlir')}",
        f"--dist-differentiate=of={outputs[0]} cotangent=cotangent", "-o", placed,
    )  # fmt: skip
    inputs = []
    for path in sorted(glob.glob(os.path.join(examples, "inputs0", "*.npy"))):
        inputs += ["--input", f"{os.path.basename(path).removesuffix('.npy')}={path}"]

    def results(name, *options):
        folder = os.path.join(work, name)
        run("dist-run", placed, *inputs, "--random=1", "--output", folder, xunit.OPT_LEVEL, *options)
        return read(folder)

    usual = results("usual")
    on = ["--machine", machine, "--link", "latency=1ms,bandwidth=10MB/s"]
    off, overlapped = results("off", *on, "--overlap=off"), results("on", *on, "--overlap-memory=100")
    different = [name for name, data in off.items() if overlapped[name] != data]
    assert not different, f"overlap changes {different}"
    check_near("--overlap=auto", results("auto", *on, "--overlap=auto"), usual)
    check_near("--machine", off, usual)
    check_near("--recompute=asked", results("asked", "--recompute=asked"), usual)


def main():
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as folder:
        machine = os.path.join(folder, "machine.json")
        write_machine(machine)
        cases = {}
        for name in MODELS:
            model, schedule = name.split("/")
            work = os.path.join(folder, model + "_" + schedule)
            os.mkdir(work)
            cases[name] = lambda model=model, schedule=schedule, work=work: check(model, schedule, work, machine)
        return xunit.run("e2e.bits", cases, pattern)


if __name__ == "__main__":
    sys.exit(main())
