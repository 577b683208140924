"""Records PyTorch's gradients of what attention adds to its scores, for learned_scores.py.

    record_learned_scores.py Inputs

Writes learned_scores.onnx, two layers of attention as T5 and ALiBi have it: a bias from a table, by distance, which both
layers share; factors of the first layer's heads; slopes of the second's, which is causal. And learned_scores.json:
gradients of all parameters along cos(0.37 k), in f64 of the file's parameters, as record_gradients.py digests them.
"""

import json
import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from record_gradients import digest  # noqa: E402

HEADS, FEATURES, ROWS, BUCKETS = 4, 8, 1050, 32
WIDTH = HEADS * FEATURES


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def split(self, x):
        return x.view(1, ROWS, HEADS, FEATURES).transpose(1, 2)

    def scores(self, x):
        return self.split(self.query(x)) @ self.split(self.key(x)).transpose(2, 3)

    def forward(self, x, scores):
        means = torch.softmax(scores, -1) @ self.split(self.value(x))
        return x + self.out(means.transpose(1, 2).reshape(1, ROWS, WIDTH))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(BUCKETS, HEADS)
        self.factors = torch.nn.Parameter(torch.zeros(HEADS))
        self.slopes = torch.nn.Parameter(torch.zeros(HEADS))
        self.first, self.second = Layer(), Layer()

    def forward(self, x, buckets, distances, mask):
        bias = self.table(buckets).permute(2, 0, 1).unsqueeze(0)
        scores = self.first.scores(x) * self.factors.view(1, HEADS, 1, 1) + bias
        x = self.first(x, scores)
        scores = self.second.scores(x) + self.slopes.view(1, HEADS, 1, 1) * distances + bias
        return self.second(x, scores.masked_fill(mask, float("-inf")))


def numbers(shape, rate):
    count = torch.Size(shape).numel()
    return torch.sin(rate * torch.arange(count, dtype=torch.float64) + rate).reshape(shape)


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    module = Model()
    with torch.no_grad():
        for number, (_, parameter) in enumerate(sorted(module.named_parameters())):
            parameter.copy_(0.3 * numbers(parameter.shape, 0.61 + 0.1 * number))
    place = torch.arange(ROWS)
    gap = place[None, :] - place[:, None]
    inputs = (
        numbers((1, ROWS, WIDTH), 0.37),
        (gap.clamp(-60, 60) + 60) * (BUCKETS - 1) // 120,
        gap.abs().double() / 128,
        gap > 0,
    )
    example = (inputs[0].float(), inputs[1], inputs[2].float(), inputs[3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, example, str(folder / "learned_scores.onnx"), input_names=["x", "buckets", "distances", "mask"],
            output_names=["y"], opset_version=17, dynamo=False, do_constant_folding=False,
        )  # fmt: skip
    module.double()
    output = module(example[0].double(), inputs[1], example[2].double(), inputs[3])
    output.backward(torch.cos(0.37 * torch.arange(output.numel(), dtype=torch.float64)).reshape(output.shape))
    found = {name: digest(value.grad) for name, value in module.named_parameters()}
    (folder / "learned_scores.json").write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
