"""Records PyTorch's gradients of the models in examples/ for check_gradients.py.

    record_gradients.py gradients.json

Needs what examples/make_models.py needs (examples/requirements.txt). Everything is in f64, the parameters being those
of the exported file. The cotangent of the output is cos(0.37 k) at its element k; of each gradient g there are its sum
with the weights cos(0.11 k + 0.5), its norm, and some elements: enough to tell another gradient, and small. All names of one parameter are one entry.
"""

import json
import math
import pathlib
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import export_model  # noqa: E402
import make_models  # noqa: E402

MODELS = ["slapo", "gpt2", "bert", "llama", "opt", "phi3", "mixtral", "t5", "vit", "wide_resnet", "unet", "resnet", "convnext",
          "graph"]


def digest(gradient):
    flat = gradient.detach().numpy().astype(np.float64).ravel()
    weights = np.cos(0.11 * np.arange(flat.size) + 0.5)
    step = max(1, flat.size // 5)
    return {
        "sum": float(flat @ weights),
        "norm": float(math.sqrt(flat @ flat)),
        "some": [float(value) for value in flat[::step][:5]],
    }


def fold_norms(module):
    """Batch norms become part of the convolutions before them, as the exporters make them."""
    before = None
    for key, child in list(module.named_children()):
        if isinstance(child, torch.nn.BatchNorm2d):
            setattr(module, before[0], torch.nn.utils.fusion.fuse_conv_bn_eval(before[1], child))
            setattr(module, key, torch.nn.Identity())
        elif isinstance(child, torch.nn.Conv2d):
            before = key, child
        else:
            fold_norms(child)


def record(name):
    torch.manual_seed(make_models.SEED)
    module, input_sets, output_names, _ = make_models.MODELS[name]()
    module.eval()
    export_model.randomize(module, make_models.SEED)
    fold_norms(module)
    module.double()
    inputs = input_sets[0]
    floats = {}
    for key, value in inputs.items():
        if value.is_floating_point():
            floats[key] = inputs[key] = value.double().requires_grad_()
    outputs = module(*inputs.values())
    output = outputs if torch.is_tensor(outputs) else outputs[0]
    cotangent = torch.cos(0.37 * torch.arange(output.numel(), dtype=torch.float64)).reshape(output.shape)
    # dist-run is given it in f32.
    output.backward(cotangent.float().double())
    names = {}  # a parameter may have several
    for key, value in module.named_parameters(remove_duplicate=False):
        if value.grad is not None:
            names.setdefault(value, []).append(key)
    found = {" ".join(keys): digest(value.grad) for value, keys in names.items()}
    found.update({key: digest(value.grad) for key, value in floats.items()})
    return {"output": output_names[0], "shape": list(output.shape), "gradients": found}


def main():
    torch.set_num_threads(1)
    recorded = {name: record(name) for name in MODELS}
    with open(sys.argv[1], "w") as file:
        json.dump(recorded, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
