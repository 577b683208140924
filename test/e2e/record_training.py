"""Records what PyTorch's optimizers make of GPT-2 and LLaMA in examples/, for train.py.

    record_training.py training.json

Needs what examples/make_models.py needs. Everything is in f64, the parameters being those of the exported file. A step
takes two rows of 16 bytes of Inputs/sonnets.txt, one after the other, and the bytes that follow; of the second row
every label from `8 + step` on does not count. A case with microbatches takes as many times two rows, all at once; no
label of the second microbatch counts.
"""

import json
import math
import pathlib
import sys

import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))
import export_model  # noqa: E402
import make_models  # noqa: E402

STEPS = 6
LENGTH = 16


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=3e-3), None


def adam(parameters):
    optimizer = torch.optim.Adam(parameters, lr=2e-3, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)
    return optimizer, transformers.get_linear_schedule_with_warmup(optimizer, 2, 7)


def sgd(parameters):
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)
    return optimizer, transformers.get_cosine_schedule_with_warmup(optimizer, 1, 6)


def plain(parameters):
    return torch.optim.SGD(parameters, lr=0.2), None


# As train.py words them, after the model where it is not GPT-2 and the number of microbatches where there are several;
# and the norm that gradients are scaled to.
CASES = {
    "adamw,lr=3e-3": (adamw, None),
    "adamw,lr=3e-3,clip=0.5": (adamw, 0.5),
    "adam,lr=2e-3,betas=0.8:0.95,eps=1e-6,weight_decay=0.1,schedule=linear,warmup=2,steps=7": (adam, None),
    "sgd,lr=0.1,momentum=0.9,nesterov,weight_decay=0.01,schedule=cosine,warmup=1,clip=1": (sgd, 1),
    "sgd,lr=0.2": (plain, None),
    "3 adamw,lr=3e-3,clip=0.5": (adamw, 0.5, 3),
    "llama 3 adamw,lr=3e-3,clip=0.5": (adamw, 0.5, 3, "llama"),
}


def digest(tensor):
    flat = tensor.detach().double().reshape(-1)
    weights = torch.cos(0.11 * torch.arange(flat.numel(), dtype=torch.float64) + 0.5)
    return [float(flat @ weights), float(math.sqrt(flat @ flat))]


def record(make, clip, microbatches=1, model="gpt2"):
    torch.manual_seed(make_models.SEED)
    module = make_models.MODELS[model]()[0]
    module.eval()
    export_model.randomize(module, make_models.SEED)
    module.double()
    text = torch.tensor(list((HERE / "Inputs" / "sonnets.txt").read_bytes()))
    optimizer, schedule = make(module.parameters())
    losses = []
    count = 2 * microbatches
    for step in range(STEPS):
        rows = [text[i * LENGTH : (i + 1) * LENGTH + 1] for i in range(count * step, count * step + count)]
        tokens, labels = (torch.stack([row[at : at + LENGTH] for row in rows]) for at in (0, 1))
        labels[1, 8 + step :] = -100
        labels[2:4] = -100
        logits = module(tokens, torch.ones_like(tokens))
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()
        if schedule:
            schedule.step()
        losses.append(float(loss.detach()))
    return {"losses": losses, "parameters": {key: digest(value) for key, value in module.named_parameters()}}


def main():
    torch.set_num_threads(1)
    recorded = {text: record(*case) for text, case in CASES.items()}
    with open(sys.argv[1], "w") as file:
        json.dump(recorded, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
