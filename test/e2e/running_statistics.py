#!/usr/bin/python3
"""Running statistics of batch norms in training with dist-run --train.

    running_statistics.py [REGEX]     only cases whose name matches

The model of record_running_statistics.py: a norm, one that is called twice, one in eval mode, one of vectors.

- `torch_K_MESH`: after some steps over K microbatches, in f64, losses, parameters and running statistics are PyTorch's,
  and so is what the eval mode's file makes of the checkpoint; the batch, channels, rows of images and what is stored
  are sharded by 1, 2 and 4 ranks, and modules are computed again;
- `resume`: a run that goes on from a checkpoint makes bit for bit what one makes that was never interrupted; on another
  mesh bit for bit what one makes that begins with these parameters;
- `forward`: one forward run gives the statistics after it, however often it is repeated, and leaves the file as it was.

Programs come from tools/, below the current folder.
"""

import array
import functools
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import npy  # noqa: E402
import xunit  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.abspath(os.environ.get("DIST_TOOLS", "tools"))
STEPS, BATCH, ROWS = 4, 4, 48

IMAGES = 'dist.shard input "x" [{"dp"}, {}, {}, {}]'
MESHES = {
    "one": None,
    "batch_2": (2, [IMAGES]),
    "batch_4": (4, [IMAGES]),
    "channels_2": (2, ['dist.shard "{stem,mix}" column over "dp"']),
    "rows_2": (2, ['dist.shard input "x" [{}, {}, {"dp"}, {}]']),
    "stored_4": (
        4,
        [IMAGES, 'dist.shard parameter "{norm,shared,frozen}.*" [{"dp"}]', 'dist.shard parameter "last.running_*" [{"dp"}]'],
    ),
    "again_2": (2, [IMAGES, 'dist.checkpoint "norm"', 'dist.checkpoint "shared"']),
}


def run(program, *arguments):
    done = subprocess.run([os.path.join(TOOLS, program), *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<Q", data)
    return {
        name: array.array("d", data[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]])
        for name, entry in json.loads(data[8 : 8 + length]).items()
        if name != "__metadata__"
    }


def check_near(what, got, wanted, allowed=1e-10):
    far = max(abs(a - b) / (1 + abs(b)) for a, b in zip(got, wanted, strict=True))
    assert far <= allowed, f"{what} is {far} from PyTorch's: {list(got)[:8]} for {list(wanted)[:8]}"


class Subject:
    def __init__(self, work):
        self.work = work
        self.number = 0
        with open(os.path.join(HERE, "Inputs", "running_statistics.json"), encoding="utf-8") as file:
            self.recorded = json.load(file)
        for mode in "train", "eval":
            run("dist-import", os.path.join(HERE, "Inputs", f"running_statistics.{mode}.onnx"), "-o", self.path(mode + ".mlir"))
        self.rows = [math.sin(0.37 * i) * 1.5 + 0.25 for i in range(ROWS * 108)]
        self.write_rows("all", 0)

    def path(self, name):
        return os.path.join(self.work, name)

    def write_rows(self, name, first):
        npy.write(self.path(name + ".x.npy"), "f64", [ROWS - first, 3, 6, 6], self.rows[first * 108 :])
        npy.write(self.path(name + ".labels.npy"), "i64", [ROWS - first], [i * i % 5 for i in range(first, ROWS)])

    def schedule(self, mesh):
        if not MESHES[mesh]:
            return []
        ranks, directives = MESHES[mesh]
        with open(self.path(mesh + ".mlir"), "w", encoding="utf-8") as file:
            file.write(f'dist.mesh @m ["dp" = {ranks}]\ndist.schedule @s on @m {{\n' + "\n".join(directives) + "\n}\n")
        return [f"--schedule={self.path(mesh + '.mlir')}"]

    def train(self, mesh, *options, steps=STEPS, rows="all"):
        """The folder of checkpoints."""
        self.number += 1
        folder = self.path(f"run{self.number}")
        run(
            "dist-run", "--train", self.path("train.mlir"), f"--steps={steps}", "--in-order", "--optimizer=sgd,lr=0.125",
            f"--data=x={self.path(rows + '.x.npy')}", f"--data=labels={self.path(rows + '.labels.npy')}",
            f"--save={folder}", f"--curve={folder}.csv", *self.schedule(mesh), *options,
        )  # fmt: skip
        return folder

    def weights(self, folder, step):
        return os.path.join(folder, f"step-{step}", "model-00001-of-00001.safetensors")

    def check_torch(self, count, mesh):
        expected = self.recorded[count]
        folder = self.train(mesh, f"--accumulate={count}")
        with open(folder + ".csv", encoding="utf-8") as file:
            losses = [float(line.split(",")[1]) for line in file.read().split()[1:]]
        check_near("the loss", losses, expected["losses"])
        weights = self.weights(folder, STEPS)
        state = read_safetensors(weights)
        assert set(state) == set(expected["state"]), set(state) ^ set(expected["state"])
        for name, wanted in expected["state"].items():
            check_near(name, state[name], wanted)
        npy.write(self.path("x.npy"), "f64", [BATCH, 3, 6, 6], self.rows[: BATCH * 108])
        run(
            "dist-run", self.path("eval.mlir"), "--weights", weights, "--input", f"x={self.path('x.npy')}",
            "--output", folder + ".eval",
        )  # fmt: skip
        check_near("the eval mode's result", npy.read(os.path.join(folder + ".eval", "y.npy"))[2], expected["eval"])

    def check_resume(self):
        straight = self.train("batch_2", "--save-every=2")
        half = f"{straight}/step-2"
        again = self.train("batch_2", f"--resume={half}")
        wanted = read_safetensors(self.weights(straight, 4))
        assert read_safetensors(self.weights(again, 4)) == wanted
        self.write_rows("rest", 2 * BATCH)
        for mesh in "one", "stored_4", "channels_2":
            resumed = self.train(mesh, f"--resume={half}")
            begun = self.train(mesh, f"--weights={self.weights(straight, 2)}", steps=2, rows="rest")
            got = read_safetensors(self.weights(resumed, 4))
            assert got == read_safetensors(self.weights(begun, 2)), mesh
            for name, numbers in wanted.items():
                check_near(name, got[name], numbers)

    def check_forward(self):
        npy.write(self.path("x.npy"), "f64", [BATCH, 3, 6, 6], self.rows[: BATCH * 108])
        with open(self.path("train.safetensors"), "rb") as file:
            before = file.read()
        one = read_safetensors(self.weights(self.train("one", steps=1), 1))
        for options in [], self.schedule("batch_2"), ["--opt-level=0"], ["--repeat=3"]:
            folder = self.path("forward")
            run("dist-run", self.path("train.mlir"), f"--input=x={self.path('x.npy')}", "--output", folder, *options)
            for name in "norm", "shared", "last":
                for kind in "running_mean", "running_var":
                    got = npy.read(os.path.join(folder, f"{name}.{kind}.npy"))[2]
                    check_near(f"{name}.{kind} with {options}", got, one[f"{name}.{kind}"])
            assert not os.path.exists(os.path.join(folder, "frozen.running_mean.npy"))
        with open(self.path("train.safetensors"), "rb") as file:
            assert file.read() == before, "the file of the weights was written to"


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as work:
        subject = Subject(work)
        cases = {f"torch_{count}_{mesh}": functools.partial(subject.check_torch, count, mesh)
                 for count in subject.recorded for mesh in MESHES}  # fmt: skip
        cases["resume"] = subject.check_resume
        cases["forward"] = subject.check_forward
        return xunit.run("e2e.running_statistics", cases, wanted)


if __name__ == "__main__":
    sys.exit(main())
