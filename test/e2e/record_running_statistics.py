"""Records what PyTorch's batch norms keep of training, for running_statistics.py.

    record_running_statistics.py Inputs

Writes running_statistics.train.onnx and .eval.onnx, one module in both modes, and running_statistics.json: losses,
parameters and running statistics after some steps in f64, over one or several microbatches, and what the trained module
makes of rows in eval mode. Momenta and epsilons are numbers that the exported file has without rounding.
"""

import copy
import json
import pathlib
import sys
import warnings

import torch

STEPS, BATCH, ROWS = 4, 4, 48
CASES = {"1": 1, "3": 3}


class Norms(torch.nn.Module):
    """A norm, one that is called twice, one that stays in eval mode, and one of vectors without scale."""

    def __init__(self):
        super().__init__()
        kind = {"eps": 2.0**-10}
        self.stem = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4, momentum=0.25, **kind)
        self.mix = torch.nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.shared = torch.nn.BatchNorm2d(4, momentum=0.125, **kind)
        self.frozen = torch.nn.BatchNorm2d(4, momentum=0.5, **kind)
        self.head = torch.nn.Linear(4, 5)
        self.last = torch.nn.BatchNorm1d(5, momentum=0.5, affine=False, **kind)

    def forward(self, x):
        x = torch.relu(self.norm(self.stem(x)))
        x = self.shared(self.mix(torch.tanh(self.shared(self.mix(x)))))
        x = torch.tanh(self.frozen(x))
        return self.last(self.head(x.mean((2, 3))))


def fill(count, rate):
    return torch.sin(rate * torch.arange(count, dtype=torch.float64)) * 1.5 + 0.25


def make():
    module = Norms().double()
    with torch.no_grad():
        for number, (name, value) in enumerate(sorted(module.state_dict().items())):
            if value.is_floating_point():
                numbers = fill(value.numel(), 0.61 + 0.1 * number).reshape(value.shape)
                value.copy_(numbers.abs() + 0.5 if name.endswith("running_var") else numbers)
    module.train()
    module.frozen.eval()
    return module


def export(module, path):
    """Tracing runs a module, so that running statistics in the file are those after the example."""
    torch.onnx.export(
        module, (torch.zeros(BATCH, 3, 6, 6, dtype=torch.float64),), path, dynamo=False, input_names=["x"],
        output_names=["y"], training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
    )  # fmt: skip


def record(start, microbatches, rows, labels):
    module = make()
    module.load_state_dict(start)
    # PyTorch's default leaves frozen.weight and .bias trained.
    optimizer = torch.optim.SGD(module.parameters(), lr=0.125)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        total = 0.0
        for at in range(step * microbatches, (step + 1) * microbatches):
            chosen = slice(at * BATCH, (at + 1) * BATCH)
            loss = torch.nn.functional.cross_entropy(module(rows[chosen]), labels[chosen]) / microbatches
            loss.backward()
            total += float(loss.detach())
        optimizer.step()
        losses.append(total)
    state = {name: value for name, value in module.state_dict().items() if value.is_floating_point()}
    module.eval()
    return {
        "losses": losses,
        "state": {name: value.flatten().tolist() for name, value in state.items()},
        "eval": module(rows[:BATCH]).flatten().tolist(),
    }


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    rows = fill(ROWS * 108, 0.37).reshape(ROWS, 3, 6, 6)
    labels = torch.tensor([i * i % 5 for i in range(ROWS)])
    module = make()
    export(module, folder / "running_statistics.train.onnx")
    start = copy.deepcopy(module.state_dict())
    export(make().eval(), folder / "running_statistics.eval.onnx")
    with open(folder / "running_statistics.json", "w") as file:
        json.dump({name: record(start, count, rows, labels) for name, count in CASES.items()}, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
