#!/usr/bin/env python3
"""Forward time of real exported models on one core: onnxruntime, PyTorch (eager and torch.compile) and dist, in turns.

  bazel build -c opt //tools/...
  python benchmarks/real_models.py OUT [--only resnet50,vit]   # needs torch, transformers, onnx, onnxscript, onnxruntime

Models (random weights, torch.onnx.export with dynamo=True) and bundles are made in OUT once. Each turn asks everyone for a few
steps, each of which is timed by the clock; all run on the same core, one at a time. The best step of all turns and, in brackets,
the median are printed, in ms, then the ratio of the best to onnxruntime's: what else runs on the machine can only add.
A processor without AVX-512 is played by --mcpu znver3 with ONEDNN_MAX_CPU_ISA=AVX2 (onnxruntime has no such switch).
The results are compared with onnxruntime's: the last column is the largest difference over the largest element.

Exit status 1 if a model takes longer than onnxruntime does, or gives another result.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from step_time_peers import serve

os.environ["OMP_NUM_THREADS"] = "1"

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ["resnet50", "convnext", "vit", "bert", "llama"]
MAX_RATIO, MAX_DIFFERENCE = 1.0, 1e-4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="folder for models and bundles")
    parser.add_argument("--only", type=lambda text: text.split(","), default=MODELS, metavar="MODEL,...", help=", ".join(MODELS))
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6, help="a turn")
    parser.add_argument("--no-torch", action="store_true", help="onnxruntime and dist only")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "bazel-bin/tools", help="folder of dist-import and the others")
    parser.add_argument("--mcpu", default="", help="processor to compile for, such as znver3, instead of this machine's")
    parser.add_argument("--json", type=pathlib.Path, help="all times, in seconds")
    parser.add_argument("--worker", choices=["eager", "compile", "onnxruntime"], help=argparse.SUPPRESS)
    a = parser.parse_args()
    for name in set(a.only) - set(MODELS):
        parser.error(f"--only: no model '{name}'; the models are {', '.join(MODELS)}")
    return a


def build(name):
    """The model and its input."""
    import torch
    import transformers as t

    class Pick(torch.nn.Module):
        def __init__(self, model, pick):
            super().__init__()
            self.model, self.pick = model, pick

        def forward(self, *x):
            return self.pick(self.model(*x))

    def logits(out):
        return out.logits

    def hidden(out):
        return out.last_hidden_state

    torch.manual_seed(0)
    image = torch.randn(1, 3, 224, 224)
    if name == "resnet50":
        return Pick(t.ResNetForImageClassification(t.ResNetConfig()), logits).eval(), image
    if name == "convnext":
        return Pick(t.ConvNextModel(t.ConvNextConfig()), hidden).eval(), image
    if name == "vit":
        return Pick(t.ViTModel(t.ViTConfig(num_hidden_layers=4), add_pooling_layer=False), hidden).eval(), image
    if name == "bert":
        words = torch.randint(0, 30000, (4, 128))
        return Pick(t.BertModel(t.BertConfig(num_hidden_layers=4), add_pooling_layer=False), hidden).eval(), words
    config = t.LlamaConfig(
        hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, vocab_size=8000, use_cache=False
    )
    return Pick(t.LlamaModel(config), hidden).eval(), torch.randint(0, 8000, (1, 512))


def export(name, folder):
    import numpy
    import torch

    if (folder / "x.npy").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    model, x = build(name)
    torch.onnx.export(model, (x,), folder / "model.onnx", dynamo=True, input_names=["x"], external_data=False)
    numpy.save(folder / "x.npy", x.numpy())


def worker(a):
    """Runs as many steps as each line of standard input says, and prints the time of each."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # libraries print
    import numpy

    name = a.only[0]
    folder = a.out / name
    if a.worker == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
        feed = {"x": numpy.load(folder / "x.npy")}

        def step():
            return session.run(None, feed)[0]
    else:
        import torch

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        model, x = build(name)
        run = torch.compile(model) if a.worker == "compile" else model

        def step():
            return run(x).numpy()

    result = step()
    step()
    if a.worker == "onnxruntime":
        numpy.save(folder / "expected.npy", result)
    serve(step, out)


class Peer:
    def __init__(self, a, who, name):
        command = [sys.executable, __file__, a.out, "--worker", who, "--only", name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit(f"real_models.py: {who} failed on {name}")

    def run(self, steps):
        print(steps, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Dist:
    def __init__(self, a, folder):
        self.folder, self.tool = folder, a.tools / "dist-run"
        program, self.bundle = folder / "model.mlir", folder / "model.dist"
        imported = [a.tools / "dist-import", folder / "model.onnx", "-o", program, "--weights", folder / "model.safetensors"]
        compiled = [a.tools / "dist-compile", program, "-o", self.bundle, *([f"--mcpu={a.mcpu}"] if a.mcpu else [])]
        for command in imported, compiled:
            subprocess.run(command, check=True, capture_output=True)

    def run(self, steps, *options):
        """Times of so many steps, after two to warm up."""
        command = [self.tool, self.bundle, "--json", "--repeat", str(2 + steps), "--input", f"x={self.folder / 'x.npy'}", *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[-1])["seconds"][2:]

    def difference(self):
        import numpy

        with tempfile.TemporaryDirectory() as folder:
            self.run(1, "--output", folder)
            got = numpy.load(next(pathlib.Path(folder).glob("*.npy")))
        expected = numpy.load(self.folder / "expected.npy")
        if got.shape != expected.shape:
            return float("inf")
        return float(numpy.abs(got - expected).max() / numpy.abs(expected).max())


def measure(a, name):
    export(name, a.out / name)
    peers = {"onnxruntime": Peer(a, "onnxruntime", name)}
    if not a.no_torch:
        peers.update({who: Peer(a, who, name) for who in ("eager", "compile")})
    dist = Dist(a, a.out / name)
    everyone = {**peers, "dist": dist}
    times = {who: [] for who in everyone}
    for _ in range(a.turns):
        for who, one in everyone.items():
            times[who] += one.run(a.steps)
    for peer in peers.values():
        peer.close()
    difference = dist.difference()
    ratio = min(times["dist"]) / min(times["onnxruntime"])
    cells = [f"{min(t) * 1e3:.1f} ({statistics.median(t) * 1e3:.1f})" for t in times.values()]
    print(f"| {name} | {' | '.join(cells)} | {ratio:.2f} | {difference:.0e} |", flush=True)
    return times, ratio <= MAX_RATIO and difference <= MAX_DIFFERENCE


def main():
    a = arguments()
    if a.worker:
        return worker(a)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    names = ["onnxruntime"] + ([] if a.no_torch else ["PyTorch eager", "torch.compile"]) + ["dist"]
    print(f"| model | {' | '.join(names)} | ratio | difference |")
    print("|" + "---|" * (len(names) + 3), flush=True)
    results = {name: measure(a, name) for name in a.only}
    if a.json:
        a.json.write_text(json.dumps({name: times for name, (times, _) in results.items()}))
    return 0 if all(ok for _, ok in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
