"""Wrote the *.script.onnx here that have modules of nn.ModuleDict without biases, names that end in numbers, a table that
is tied and a batch norm that is folded; with torch 2.15.

    make_script_exports.py
"""

import torch
from torch import nn

D = 8


class NormsWithoutBias(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([
            nn.ModuleDict({"a": nn.Linear(D, 12, bias=False), "b": nn.Linear(12, D, bias=False), "n": nn.LayerNorm(D)})
            for _ in range(3)])

    def forward(self, x):
        for layer in self.layers:
            x = x + layer["b"](torch.relu(layer["a"](layer["n"](x))))
        return x


class NumberedNames(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc_1, self.fc_2, self.fc = (nn.Linear(D, D, bias=False) for _ in range(3))

    def forward(self, x):
        return self.fc(torch.relu(self.fc_2(torch.relu(self.fc_1(x)))))


class Part(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.embed_tokens, self.fc, self.pos = table, nn.Linear(D, D), nn.Embedding(20, D)

    def forward(self, ids):
        return self.fc(self.embed_tokens(ids) + self.pos(torch.arange(ids.shape[1]) + 2))


class TiedTable(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Embedding(64, D)
        self.encoder, self.decoder = Part(self.shared), Part(self.shared)
        self.lm_head = nn.Linear(D, 64, bias=False)
        self.lm_head.weight = self.shared.weight

    def forward(self, i, j):
        return self.lm_head(self.encoder(i) + self.decoder(j))


class FoldedBatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.bn = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.c2, self.bn2 = nn.Conv2d(8, 8, 3, bias=False), nn.BatchNorm2d(8)
        self.c3, self.fc = nn.Conv2d(8, 8, 3), nn.Linear(8, 4)

    def forward(self, x):
        x = torch.relu(self.bn(self.c(x)))
        return self.fc(self.c3(torch.relu(self.bn2(self.c2(x)))).mean((2, 3)))


x, image, ids = torch.randn(2, 5, D), torch.randn(2, 3, 12, 12), torch.randint(0, 64, (2, 5))
for name, model, inputs in [
        ("norms_without_bias", NormsWithoutBias(), (x,)), ("numbered_names", NumberedNames(), (x,)),
        ("tied_table", TiedTable(), (ids, ids)), ("folded_batch_norm", FoldedBatchNorm(), (image,))]:
    torch.onnx.export(model.eval(), inputs, f"{name}.script.onnx", dynamo=False, opset_version=17)
