#!/usr/bin/python3
"""Gradients of one exported model: PyTorch's, on one rank and on many.

    check_gradients.py MODEL EXPORTER [REGEX]     only cases whose name matches

- `torch`: the program that --dist-differentiate makes of the import, in f64, has the gradients that
  record_gradients.py recorded, of all parameters and inputs of floats, within 5e-6 of their norm: the exported file
  has constants (square roots, tables of angles) in f32;
- SCHEDULE_RANKS: differentiated after the schedule, all results on its ranks equal those on one, in f64, and so are
  PyTorch's;
- `f32`, of Slapo's case: on its two ranks in f32, PyTorch's within 1e-5.

Programs come from tools/ and models from examples/, below the current folder.
"""

import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy  # noqa: E402
import xunit  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.abspath(os.environ.get("DIST_TOOLS", "tools"))
EXAMPLES = os.path.abspath("examples")

# Some gradients are 0 but for rounding (that of a key's bias): what rounding may change says nothing of them.
TOLERANCE = ["--rtol=1e-9", "--atol=1e-9"]

# Parameters that the import has no argument for: the exporter folded or copied them.
NOT_IMPORTED = {
    "t5": [f"{part}.block.0.layer.0.SelfAttention.relative_attention_bias.weight" for part in ("encoder", "decoder")],
    "vit": ["vit.embeddings.cls_token"],
}


def run(program, *arguments):
    done = subprocess.run(
        [os.path.join(TOOLS, program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout + done.stderr


def digest(flat):
    step = max(1, len(flat) // 5)
    return {
        "sum": math.fsum(value * math.cos(0.11 * i + 0.5) for i, value in enumerate(flat)),
        "norm": math.sqrt(math.fsum(value * value for value in flat)),
        "some": list(flat[::step][:5]),
    }


class Model:
    def __init__(self, name, exporter, work):
        self.name, self.work = name, work
        with open(os.path.join(HERE, "Inputs", "gradients.json")) as file:
            self.recorded = json.load(file)[name]
        self.module = os.path.join(work, name + "_model.mlir")
        run("dist-import", os.path.join(EXAMPLES, name, f"{name}.{exporter}.onnx"), "-o", self.module)
        count = math.prod(self.recorded["shape"])
        self.cotangent = os.path.join(work, "cotangent.npy")
        npy.write(self.cotangent, "f32", self.recorded["shape"], (math.cos(0.37 * i) for i in range(count)))
        self.inputs = {}
        for path in sorted(glob.glob(os.path.join(EXAMPLES, name, "inputs0", "*.npy"))):
            self.inputs[os.path.basename(path)[: -len(".npy")]] = path

    def differentiate(self, passes, label):
        """The module with gradients of all parameters and inputs of floats."""
        made = os.path.join(self.work, label + ".mlir")
        run(
            "dist-opt",
            self.module,
            *passes,
            f"--dist-differentiate=of={self.recorded['output']} cotangent=cotangent wrt=**",
            "-o",
            made,
        )
        return made

    def arguments(self):
        return [f"--input={key}={path}" for key, path in self.inputs.items()] + [f"--input=cotangent={self.cotangent}"]

    def run(self, made, *options):
        """Runs and verifies the module; the folder of its results."""
        out = os.path.join(self.work, "out")
        run("dist-run", made, *self.arguments(), f"--output={out}", *options)
        return out

    def compare(self, out, tolerance):
        """With PyTorch's: `tolerance` is of a gradient's norm, or of 1."""
        compared = 0
        for key, expected in self.recorded["gradients"].items():
            paths = [os.path.join(out, name + ".grad.npy") for name in key.split()]
            paths = [path for path in paths if os.path.exists(path)]
            if not paths:
                assert key in NOT_IMPORTED.get(self.name, ()), f"there is no gradient of {key}"
                continue
            got = digest(npy.read(paths[0])[2])
            allowed = tolerance * max(1, expected["norm"])
            pairs = [(got["sum"], expected["sum"]), (got["norm"], expected["norm"])]
            for a, b in pairs + list(zip(got["some"], expected["some"])):
                assert abs(a - b) <= allowed, f"{key}: {got} where PyTorch has {expected}"
            compared += 1
        assert compared, "nothing was compared"

    def check_torch(self):
        made = self.differentiate([], "one")
        self.compare(self.run(made, "--verify=f64", xunit.OPT_LEVEL, *TOLERANCE), 5e-6)

    def check_schedule(self, path, sizes):
        # Directives place things for the sizes that their mesh has when they are applied. Schedules include others.
        for other in glob.glob(os.path.join(os.path.dirname(path), "*.mlir")):
            with open(other) as file:
                text = file.read()
            for axis, size in sizes.items():
                text = re.sub(rf'(dist\.mesh [^\n]*"{axis}" = )\d+', rf"\g<1>{size}", text)
            with open(os.path.join(self.work, os.path.basename(other)), "w") as file:
                file.write(text)
        resized = os.path.join(self.work, os.path.basename(path))
        made = self.differentiate([f"--dist-apply-schedule=file={resized}"], "scheduled")
        self.compare(self.run(made, "--verify=f64", xunit.OPT_LEVEL, *TOLERANCE), 5e-6)

    def check_f32(self, path):
        """As it would be trained: PyTorch's gradients to 1e-5."""
        made = self.differentiate([f"--dist-apply-schedule=file={path}"], "scheduled")
        self.compare(self.run(made, "--verify"), 1e-5)


def get_meshes(path):
    """As the schedule has it; one axis with 2 and 4 ranks."""
    with open(path) as file:
        axes = re.search(r"dist\.mesh @\w+ \[(.*?)\]", file.read())[1]
    sizes = {axis: int(size) for axis, size in re.findall(r'"(\w+)" = (\d+)', axes)}
    if len(sizes) > 1:
        return [sizes]
    return [{axis: ranks for axis in sizes} for ranks in (2, 4)]


def main():
    model, exporter = sys.argv[1:3]
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    with tempfile.TemporaryDirectory() as work:
        subject = Model(model, exporter, work)
        cases = {"torch": subject.check_torch}
        for path in sorted(glob.glob(os.path.join(EXAMPLES, model, "*.mlir"))):
            label = os.path.basename(path)[: -len(".mlir")]
            for sizes in get_meshes(path):
                name = f"{label}_{math.prod(sizes.values())}"
                cases[name] = lambda path=path, sizes=sizes: subject.check_schedule(path, sizes)
            if model == "slapo":
                cases["f32"] = lambda path=path: subject.check_f32(path)
        return xunit.run(f"e2e.gradients.{model}.{exporter}", cases, wanted)


if __name__ == "__main__":
    sys.exit(main())
