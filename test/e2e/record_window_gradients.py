"""Records PyTorch's gradients of attention under windows, for window_gradients.py.

    record_window_gradients.py Inputs

Writes window_gradients.onnx, two layers whose heads share keys by twos: the first one's queries see the keys before them,
as Mistral's do (masks are -inf); the second one's see keys on both sides, as Longformer's do (masks are the least number
of f32). And window_gradients.json: gradients of the input and of all parameters along cos(0.37 k), in f64 of the file's
parameters, as record_gradients.py digests them.
"""

import json
import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from record_gradients import digest  # noqa: E402
from record_learned_scores import numbers  # noqa: E402
from window_gradients import BATCH, FEATURES, GROUPS, HEADS, ROWS, WIDTH, WINDOWS  # noqa: E402


class Layer(torch.nn.Module):
    def __init__(self, left, right, masked):
        super().__init__()
        self.query, self.out = (torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.key, self.value = (torch.nn.Linear(WIDTH, WIDTH // GROUPS) for _ in range(2))
        self.left, self.right, self.masked = left, right, masked

    def split(self, x):
        return x.view(BATCH, ROWS, -1, FEATURES).transpose(1, 2)

    def forward(self, x):
        place = torch.arange(ROWS)
        gap = place[None, :] - place[:, None]
        far = (gap < -self.left) | (gap > self.right)
        key, value = (
            self.split(made)[:, :, None].expand(-1, -1, GROUPS, -1, -1).reshape(BATCH, HEADS, ROWS, FEATURES)
            for made in (self.key(x), self.value(x))
        )
        scores = self.split(self.query(x)) @ key.transpose(2, 3) * FEATURES**-0.5
        means = torch.softmax(scores + torch.zeros(ROWS, ROWS, dtype=x.dtype).masked_fill(far, self.masked), -1) @ value
        return x + self.out(means.transpose(1, 2).reshape(BATCH, ROWS, WIDTH))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        masked = float("-inf"), torch.finfo(torch.float32).min
        self.first, self.second = (Layer(*window, number) for window, number in zip(WINDOWS, masked))

    def forward(self, x):
        return self.second(self.first(x))


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    module = Model()
    with torch.no_grad():
        for number, (_, parameter) in enumerate(sorted(module.named_parameters())):
            parameter.copy_(0.3 * numbers(parameter.shape, 0.61 + 0.1 * number))
    x = numbers((BATCH, ROWS, WIDTH), 0.37).float()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (x,), str(folder / "window_gradients.onnx"), input_names=["x"], output_names=["y"], opset_version=17,
            dynamo=False, do_constant_folding=False,
        )  # fmt: skip
    module.double()
    x = x.double().requires_grad_()
    output = module(x)
    output.backward(torch.cos(0.37 * torch.arange(output.numel(), dtype=torch.float64)).float().double().reshape(x.shape))
    found = {name: digest(value.grad) for name, value in [("x", x), *module.named_parameters()]}
    (folder / "window_gradients.json").write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
