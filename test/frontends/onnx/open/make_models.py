#!/usr/bin/env python3
"""Makes the models in Inputs/: GPT-2, BERT and LLaMA of one small layer whose batch and sequence are open.

Exported by both of PyTorch's ONNX exporters with dynamic axes, with two sets of inputs of different sizes and PyTorch's
outputs for them. Needs what examples/requirements.txt says.

    python make_models.py
"""

import pathlib
import sys

import torch
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[3] / "examples"))
import export_model  # noqa: E402

SEED = 21
VOCABULARY = 48
SMALL = dict(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, max_position_embeddings=24)


def inputs(seed, batch, sequence, gap, *names):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.ones(batch, sequence, dtype=torch.int64)
    mask[-1, gap] = 0
    every = {
        "input_ids": torch.randint(0, VOCABULARY, (batch, sequence), generator=generator),
        "attention_mask": mask,
        "token_type_ids": (torch.arange(sequence) >= 3).long().expand(batch, sequence).contiguous(),
    }
    return {name: every[name] for name in names}


def gpt2():
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=24, n_embd=16, n_layer=1, n_head=2,
                                     bos_token_id=0, eos_token_id=0)
    names = ["input_ids", "attention_mask"]
    return export_model.returning(transformers.GPT2LMHeadModel, names, "logits", use_cache=False)(config), names


def bert():
    config = transformers.BertConfig(num_hidden_layers=1, num_attention_heads=2, **SMALL)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    return export_model.returning(transformers.BertForMaskedLM, names, "logits")(config), names


def llama():
    config = transformers.LlamaConfig(num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                                      bos_token_id=0, eos_token_id=0, **SMALL)
    names = ["input_ids", "attention_mask"]
    return export_model.returning(transformers.LlamaForCausalLM, names, "logits", use_cache=False)(config), names


def main():
    torch.set_num_threads(1)
    batch, sequence = torch.export.Dim("batch"), torch.export.Dim("sequence", max=24)
    for make in [gpt2, bert, llama]:
        torch.manual_seed(SEED)
        module, names = make()
        sets = [inputs(1, 2, 8, slice(6, None), *names), inputs(2, 3, 5, slice(1, 3), *names)]
        axes = {name: {0: "batch", 1: "sequence"} for name in [*names, "logits"]}
        export_model.write(
            FOLDER / "Inputs" / make.__name__, module, sets, ["logits"], SEED,
            script={"dynamic_axes": axes},
            dynamo={"dynamic_shapes": tuple({0: batch, 1: sequence} for _ in names)},
        )


if __name__ == "__main__":
    main()
