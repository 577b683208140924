#!/usr/bin/env python3
"""Makes the models in this folder: the original classes of transformers in small, and a few modules of our own.

Two layers each; every parameter drawn at random with a fixed seed, exported by both of PyTorch's ONNX exporters, with
two sets of inputs and PyTorch's outputs for them. Running it again writes the same files. What the files are and what
to do with them: README.md. The versions it is meant for: requirements.txt.

    python make_models.py                 # all of them, into this folder
    python make_models.py gpt2 --to ../build/models
"""

import argparse
import pathlib
import sys

import torch
import transformers

import export_model

SEED = 20
BATCH = 2
SEQUENCE = 16
HIDDEN = 64
VOCABULARY = 256
POSITIONS = 256
LAYERS = 2

# Tensor parallelism over 4 ranks splits heads, hidden, intermediate and vocabulary sizes, sequence parallelism also the
# sequence: all of them are multiples of 4. Embedding tables are above the 8,192 elements up to which the dynamo
# exporter folds what it computes from a constant into another constant; real models never are below.


def token_ids(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, VOCABULARY, (BATCH, SEQUENCE), generator=generator)


def attention_mask(*gaps):
    """All tokens alive but those in `gaps`, each a row and a slice of positions."""
    mask = torch.ones(BATCH, SEQUENCE, dtype=torch.int64)
    for row, positions in gaps:
        mask[row, positions] = 0
    return mask


def text_inputs(**more):
    """Two sets: every token alive; row 0 padded on the right and row 1 in the middle, where later tokens notice."""
    padded = attention_mask((0, slice(11, None)), (1, slice(4, 7)))
    return [
        {"input_ids": token_ids(1), "attention_mask": attention_mask(), **{k: v[0] for k, v in more.items()}},
        {"input_ids": token_ids(2), "attention_mask": padded, **{k: v[1] for k, v in more.items()}},
    ]


def left_padded_inputs():
    """Row 1 padded on the left: under a causal mask its first rows have nothing to look at.

    PyTorch and the script export give such a row zeros (-inf everywhere, softmax makes NaN of it, IsNaN and Where make
    0 of that); the dynamo export has finfo.min for -inf and so gives it the mean of all values.
    """
    return {"input_ids": token_ids(3), "attention_mask": attention_mask((1, slice(0, 3)))}


def gpt2():
    """Fused q|k|v projection, weights stored [in, out] (Conv1D), learned positions, head tied to the embedding."""
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=POSITIONS,
        n_embd=HIDDEN,
        n_layer=LAYERS,
        n_head=4,
        bos_token_id=0,
        eos_token_id=0,
    )
    cls = export_model.returning(
        transformers.GPT2LMHeadModel, ["input_ids", "attention_mask"], "logits", use_cache=False
    )
    return cls(config), text_inputs(), ["logits"], {"left_padded": ("script", left_padded_inputs())}


def bert():
    """Separate q, k, v; norm after the residual; bidirectional; masked-language head tied to the embedding."""
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        intermediate_size=4 * HIDDEN,
        max_position_embeddings=POSITIONS,
    )
    signature = ["input_ids", "attention_mask", "token_type_ids"]
    cls = export_model.returning(transformers.BertForMaskedLM, signature, "logits")
    first = (torch.arange(SEQUENCE) >= 9).long().expand(BATCH, SEQUENCE).contiguous()
    second = (torch.arange(SEQUENCE) >= 6).long().expand(BATCH, SEQUENCE).contiguous()
    return cls(config), text_inputs(token_type_ids=(first, second)), ["logits"], {}


def llama():
    """Grouped-query attention (8 heads on 4 key/value heads), rotary embedding, gated MLP, RMS norm, no biases."""
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=176,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=POSITIONS,
        bos_token_id=0,
        eos_token_id=0,
    )
    cls = export_model.returning(
        transformers.LlamaForCausalLM, ["input_ids", "attention_mask"], "logits", use_cache=False
    )
    return cls(config), text_inputs(), ["logits"], {}


def phi3():
    """q, k and v fused in one projection to 8 heads and 2 key/value heads: blocks of different sizes; gate|up fused."""
    config = transformers.Phi3Config(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=176,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=POSITIONS,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    cls = export_model.returning(
        transformers.Phi3ForCausalLM, ["input_ids", "attention_mask"], "logits", use_cache=False
    )
    return cls(config), text_inputs(), ["logits"], {}


def opt():
    """Separate q, k, v; learned positions, counted by the attention mask; norm before; relu; tied head."""
    config = transformers.OPTConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        ffn_dim=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        max_position_embeddings=POSITIONS,
        word_embed_proj_dim=HIDDEN,
    )
    cls = export_model.returning(
        transformers.OPTForCausalLM, ["input_ids", "attention_mask"], "logits", use_cache=False
    )
    return cls(config), text_inputs(), ["logits"], {}


def t5_of(layers, **config):
    """T5's encoder and decoder, with cross attention, relative positions, RMS norm.

    transformers 5 ties the head to the embedding in all T5, so that encoder, decoder and head share one weight.
    """
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=HIDDEN,
        d_kv=8,
        d_ff=80,
        num_layers=layers,
        num_decoder_layers=layers,
        num_heads=4,
        attn_implementation="eager",  # The dynamo exporter (torch 2.15) fails on a reshape after its sdpa.
        **config,
    )
    signature = ["input_ids", "attention_mask", "decoder_input_ids"]
    cls = export_model.returning(transformers.T5ForConditionalGeneration, signature, "logits", use_cache=False)
    return cls(config), text_inputs(decoder_input_ids=(token_ids(6), token_ids(7))), ["logits"], {}


def t5():
    """T5 1.1: gated MLP, and no scaling before the head."""
    return t5_of(LAYERS, feed_forward_proj="gated-gelu", tie_word_embeddings=False)


def t5_plain():
    """T5 1.0: an MLP of two projections and a relu, what the decoder makes is scaled; one layer each."""
    return t5_of(1, feed_forward_proj="relu", tie_word_embeddings=True)


def mixtral():
    """Grouped-query attention (8 heads on 4 key/value heads), rotary embedding, 2 of 4 gated MLPs for each token."""
    config = transformers.MixtralConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=48,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=4,
        max_position_embeddings=POSITIONS,
        num_local_experts=4,
        num_experts_per_tok=2,
        bos_token_id=0,
        eos_token_id=0,
        experts_implementation="batched_mm",
    )
    cls = export_model.returning(
        transformers.MixtralForCausalLM, ["input_ids", "attention_mask"], "logits", use_cache=False
    )
    return cls(config), text_inputs(), ["logits"], {}


def images():
    """Two sets of images, [batch, channels, height, width]."""
    return [torch.randn(BATCH, 3, 32, 32, generator=torch.Generator().manual_seed(seed)) for seed in (8, 9)]


def vit():
    """Images cut into 16 patches by a convolution and one token more for the class: 17, which ranks do not divide."""
    config = transformers.ViTConfig(
        image_size=32,
        patch_size=8,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        intermediate_size=2 * HIDDEN,
        num_labels=12,
    )
    cls = export_model.returning(transformers.ViTForImageClassification, ["pixel_values"], "logits")
    return cls(config), [{"pixel_values": image} for image in images()], ["logits"], {}


class Bottleneck(torch.nn.Module):
    """torchvision's block of ResNet-50 and up: 1 x 1 to `width` channels, 3 x 3 (strided), 1 x 1 back; with norms."""

    def __init__(self, channels, width, out, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(width)
        self.conv2 = torch.nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(width)
        self.conv3 = torch.nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = torch.nn.BatchNorm2d(out)
        self.relu = torch.nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or channels != out:
            self.downsample = torch.nn.Sequential(
                torch.nn.Conv2d(channels, out, 1, stride, bias=False), torch.nn.BatchNorm2d(out)
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        return self.relu(self.bn3(self.conv3(out)) + identity)


class ResNet(torch.nn.Module):
    """torchvision's ResNet with bottlenecks of twice the width (wide_resnet50_2), in small: two stages, not four.

    Module names are torchvision's. A block of stage i has 8 * 2**i planes, 16 * 2**i channels inside and 32 * 2**i
    channels out, as 64 * 2**i, 128 * 2**i and 256 * 2**i there.
    """

    def __init__(self, blocks, labels):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 16, 7, stride=2, padding=3, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(16)
        self.relu = torch.nn.ReLU(inplace=True)
        self.maxpool = torch.nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self.stage(16, 16, 32, blocks, stride=1)
        self.layer2 = self.stage(32, 32, 64, blocks, stride=2)
        self.avgpool = torch.nn.AdaptiveAvgPool2d((1, 1))
        self.fc = torch.nn.Linear(64, labels)

    @staticmethod
    def stage(channels, width, out, blocks, stride):
        rest = [Bottleneck(out, width, out, 1) for _ in range(1, blocks)]
        return torch.nn.Sequential(Bottleneck(channels, width, out, stride), *rest)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def wide_resnet():
    """Convolutions and batch norms, which the exporters fold into the convolutions, residuals, pooling, one Linear."""
    return ResNet(blocks=LAYERS, labels=12), [{"x": image} for image in images()], ["logits"], {}


class BasicBlock(torch.nn.Module):
    """torchvision's block of ResNet-18 and 34: two convolutions of 3 x 3, the first strided."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, out, 3, stride, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(out)
        self.conv2 = torch.nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(out)
        self.relu = torch.nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or channels != out:
            self.downsample = torch.nn.Sequential(
                torch.nn.Conv2d(channels, out, 1, stride, bias=False), torch.nn.BatchNorm2d(out)
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(out)) + identity)


class SmallResNet(torch.nn.Module):
    """torchvision's ResNet-18 in small: two stages, not four, of 8 and 16 channels."""

    def __init__(self, labels):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(8)
        self.relu = torch.nn.ReLU(inplace=True)
        self.maxpool = torch.nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = torch.nn.Sequential(BasicBlock(8, 8, 1), BasicBlock(8, 8, 1))
        self.layer2 = torch.nn.Sequential(BasicBlock(8, 16, 2), BasicBlock(16, 16, 1))
        self.avgpool = torch.nn.AdaptiveAvgPool2d((1, 1))
        self.fc = torch.nn.Linear(16, labels)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class DoubleConvolution(torch.nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, out, 3, padding=1)
        self.norm1 = torch.nn.GroupNorm(2, out)
        self.conv2 = torch.nn.Conv2d(out, out, 3, padding=1)
        self.norm2 = torch.nn.GroupNorm(2, out)

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(x)))


class UNet(torch.nn.Module):
    """Ronneberger et al. 2015 in small: two levels, up by a transposed convolution and by a resize; group norms."""

    def __init__(self):
        super().__init__()
        self.down0 = DoubleConvolution(3, 8)
        self.down1 = DoubleConvolution(8, 8)
        self.pool = torch.nn.MaxPool2d(2)
        self.middle = DoubleConvolution(8, 16)
        self.up1 = torch.nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.merge1 = DoubleConvolution(16, 8)
        self.up0 = torch.nn.Upsample(scale_factor=2, mode="nearest")
        self.merge0 = DoubleConvolution(16, 8)
        self.head = torch.nn.Conv2d(8, 2, 1)

    def forward(self, x):
        first = self.down0(x)
        second = self.down1(self.pool(first))
        x = self.up1(self.middle(self.pool(second)))
        x = self.up0(self.merge1(torch.cat([second, x], 1)))
        return self.head(self.merge0(torch.cat([first, x], 1)))


class ChannelsNorm(torch.nn.LayerNorm):
    """torchvision's LayerNorm2d: over the channels of [batch, channels, rows, columns]."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.dwconv = torch.nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = torch.nn.LayerNorm(channels, eps=1e-6)
        self.pwconv1 = torch.nn.Linear(channels, 4 * channels)
        self.act = torch.nn.GELU()
        self.pwconv2 = torch.nn.Linear(4 * channels, channels)
        self.gamma = torch.nn.Parameter(torch.ones(channels))

    def forward(self, x):
        y = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        y = self.gamma * self.pwconv2(self.act(self.pwconv1(y)))
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(torch.nn.Module):
    """Liu et al. 2022 in small: a patch stem, two stages of 8 and 16 channels, a patch of 2 x 2 between them."""

    def __init__(self, labels):
        super().__init__()
        self.stem = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 4, stride=4), ChannelsNorm(8, eps=1e-6))
        self.stage0 = torch.nn.Sequential(ConvNeXtBlock(8), ConvNeXtBlock(8))
        self.downsample = torch.nn.Sequential(ChannelsNorm(8, eps=1e-6), torch.nn.Conv2d(8, 16, 2, stride=2))
        self.stage1 = torch.nn.Sequential(ConvNeXtBlock(16), ConvNeXtBlock(16))
        self.norm = torch.nn.LayerNorm(16, eps=1e-6)
        self.head = torch.nn.Linear(16, labels)

    def forward(self, x):
        x = self.stage1(self.downsample(self.stage0(self.stem(x))))
        return self.head(self.norm(x.mean([2, 3])))


def pictures(*sizes):
    return [{"x": torch.randn(1, 3, *sizes, generator=torch.Generator().manual_seed(seed))} for seed in (8, 9)]


def resnet():
    return SmallResNet(labels=12), pictures(96, 64), ["logits"], {}


def unet():
    return UNet(), pictures(48, 32), ["mask"], {}


def convnext():
    return ConvNeXt(labels=12), pictures(96, 64), ["logits"], {}


class TwoLinears(torch.nn.Module):
    """Two projections and a relu: what the `sync` of Slapo (Chen et al. 2023) is tried on."""

    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(30, 30)
        self.fc2 = torch.nn.Linear(30, 30)

    def forward(self, x):
        return torch.relu(self.fc2(self.fc1(x)))


def slapo():
    inputs = [{"x": torch.randn(3, 16, 30, generator=torch.Generator().manual_seed(seed))} for seed in (4, 5)]
    return TwoLinears(), inputs, ["y"], {}


class Interaction(torch.nn.Module):
    """An interaction network (Battaglia et al. 2016): what edges say of their nodes is added up at their targets."""

    def __init__(self, features, edge_features):
        super().__init__()
        self.norm = torch.nn.LayerNorm(features)
        self.message = torch.nn.Linear(2 * features + edge_features, features)
        self.update = torch.nn.Linear(2 * features, features)

    def forward(self, x, source, target, edges):
        y = self.norm(x)
        sent = torch.relu(self.message(torch.cat([y[source], y[target], edges], 1)))
        sums = torch.zeros_like(y).scatter_add(0, target[:, None].expand_as(sent), sent)
        return x + self.update(torch.cat([y, sums], 1))


class GraphNetwork(torch.nn.Module):
    """Message passing over the edges of a graph; the nodes of one part follow each other, and so do its edges."""

    def __init__(self, layers):
        super().__init__()
        self.encoder = torch.nn.Linear(6, 16)
        self.layers = torch.nn.ModuleList(Interaction(16, 4) for _ in range(layers))
        self.decoder = torch.nn.Linear(16, 3)

    def forward(self, x, edge_index, edges):
        source, target = edge_index[0], edge_index[1]
        x = self.encoder(x)
        for layer in self.layers:
            x = layer(x, source, target, edges)
        return self.decoder(x)


def graph():
    """Two sets: four edges to each node, from nodes nearby; any edges."""
    nodes, degree = 24, 4

    def inputs(seed, edge_index):
        generator = torch.Generator().manual_seed(seed)
        return {
            "x": torch.randn(nodes, 6, generator=generator),
            "edge_index": edge_index,
            "edges": torch.randn(nodes * degree, 4, generator=generator),
        }

    target = torch.arange(nodes).repeat_interleave(degree)
    near = torch.stack([(target + torch.tensor([-2, -1, 1, 3]).repeat(nodes)) % nodes, target])
    anywhere = torch.randint(0, nodes, (2, nodes * degree), generator=torch.Generator().manual_seed(10))
    return GraphNetwork(LAYERS), [inputs(11, near), inputs(12, anywhere)], ["y"], {}


MODELS = {
    "gpt2": gpt2,
    "bert": bert,
    "llama": llama,
    "phi3": phi3,
    "opt": opt,
    "t5": t5,
    "t5_plain": t5_plain,
    "mixtral": mixtral,
    "vit": vit,
    "wide_resnet": wide_resnet,
    "resnet": resnet,
    "unet": unet,
    "convnext": convnext,
    "slapo": slapo,
    "graph": graph,
}

# What differs from another model in little is exported by one of them only.
EXPORTERS = {"t5_plain": ("dynamo",)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"which to make: {', '.join(MODELS)}; all of them when none is named"
    )
    parser.add_argument(
        "--to",
        metavar="FOLDER",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parent,
        help="where the models' folders go (default: beside this script)",
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.models if name not in MODELS]
    if unknown:
        parser.error(f"no model named {', '.join(unknown)}; there are {', '.join(MODELS)}")

    torch.set_num_threads(1)
    for name in arguments.models or MODELS:
        torch.manual_seed(SEED)
        module, input_sets, output_names, extra_sets = MODELS[name]()
        exporters = EXPORTERS.get(name, export_model.EXPORTERS)
        try:
            export_model.write(arguments.to / name, module, input_sets, output_names, SEED, extra_sets, exporters)
        except export_model.ExportError as error:
            sys.exit(f"make_models.py: {name}: {error}")


if __name__ == "__main__":
    main()
