"""One PyTorch module into an examples folder: both ONNX exports, inputs, and PyTorch's own outputs.

Used by make_models.py; the models themselves are listed there. For a module `gpt2` the folder becomes

    gpt2/gpt2.script.onnx          torch.onnx.export(dynamo=False)
    gpt2/gpt2.dynamo.onnx          torch.onnx.export(dynamo=True)
    gpt2/inputs0/input_ids.npy     one file for each graph input, one folder for each set of inputs
    gpt2/outputs0/logits.npy       what PyTorch computes from them, one file for each graph output

Some have one more set, `inputs_LABEL`, that only one exporter's file gets right. Every ONNX file is run by onnxruntime
on its sets of inputs before it counts as written.
"""

import hashlib
import io
import logging
import pathlib
import re
import warnings

import numpy as np
import onnx
import onnxruntime
import torch

# The opsets that each exporter is normally used with.
SCRIPT_OPSET = 17
DYNAMO_OPSET = 20

EXPORTERS = ("script", "dynamo")

# Largest difference between onnxruntime and PyTorch that still counts as the same model, absolute plus relative.
TOLERANCE = 1e-5


class ExportError(Exception):
    """An export that was written but is not the model it was made from."""


def returning(cls, signature, result, **fixed):
    """A subclass of the transformers class `cls` whose forward takes just `signature` and returns just `result`.

    The exporters make a graph input of every parameter of forward that they can (`logits_to_keep`) and an output of
    every field (`past_key_values`). A wrapper module would hide them, but put its own name before every scope and
    parameter; a subclass with the same name leaves all of them as they are in the original.

    signature: names of the inputs, in order; `fixed`: keyword arguments of the original forward held constant.
    result: name of the output field to return, or a tuple of names.
    """
    body = (
        f"def forward(self, {', '.join(signature)}):\n"
        f"    out = super(derived, self).forward({', '.join(f'{n}={n}' for n in signature)}, **fixed)\n"
        f"    return {result_expression(result)}\n"
    )
    scope = {"fixed": fixed}
    exec(compile(body, "export_model.py", "exec"), scope)
    derived = type(cls.__name__, (cls,), {"forward": scope["forward"], "__module__": cls.__module__})
    scope["derived"] = derived
    return derived


def result_expression(result):
    names = (result,) if isinstance(result, str) else tuple(result)
    return ", ".join(f"out.{name}" for name in names)


def randomize(module, seed):
    """Draws every parameter apart, from a generator seeded by `seed` and the parameter's name.

    Nothing keeps the value that an initialiser likes (bias 0, norm weight 1, running variance 1), so that a bias which
    is added twice or a norm weight which is dropped changes the outputs. Scales keep activations around 1 through any
    depth.
    """
    norms = {
        f"{name}.weight" if name else "weight"
        for name, child in module.named_modules()
        if "norm" in type(child).__name__.lower()
    }

    def draw(name, shape):
        digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))
        return torch.randn(shape, generator=generator, dtype=torch.float32)

    with torch.no_grad():
        for name, parameter in module.named_parameters():
            noise = draw(name, parameter.shape)
            if name in norms:
                value = 1 + 0.1 * noise
            elif parameter.dim() < 2:
                value = 0.1 * noise
            else:
                value = noise * fan_in(parameter) ** -0.5
            parameter.copy_(value)
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(0.1 * draw(name, buffer.shape))
            elif name.endswith("running_var"):
                buffer.copy_(torch.exp(0.2 * draw(name, buffer.shape)))


def fan_in(parameter):
    """How many terms a sum with this weight has: [out, in] of Linear, [out, in, height, width] of Conv2d."""
    return parameter[0].numel() if parameter.dim() == 4 else parameter.shape[-1]


def export_script(module, inputs, output_names, opset=SCRIPT_OPSET, **options):
    """The bytes of torch.onnx.export(dynamo=False)."""
    buffer = io.BytesIO()
    # A TransformerEncoder's fast path is one operator that ONNX does not have.
    torch.backends.mha.set_fastpath_enabled(False)
    with quiet():
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            buffer,
            input_names=list(inputs),
            output_names=output_names,
            opset_version=opset,
            dynamo=False,
            **options,
        )
    return onnx.load_from_string(buffer.getvalue())


def export_dynamo(module, inputs, output_names, opset=DYNAMO_OPSET, **options):
    """The model that torch.onnx.export(dynamo=True) makes."""
    with quiet():
        program = torch.onnx.export(
            module,
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=output_names,
            opset_version=opset,
            dynamo=True,
            verbose=False,
            **options,
        )
    return program.model_proto


class quiet:
    """Keeps the exporters' advice and deprecation notices off the terminal."""

    def __enter__(self):
        self.warnings = warnings.catch_warnings()
        self.warnings.__enter__()
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)

    def __exit__(self, *exception):
        logging.disable(logging.NOTSET)
        return self.warnings.__exit__(*exception)


def strip_paths(model):
    """Shortens the file names in the stack traces that the dynamo exporter leaves on each node.

    They are absolute paths of the machine that exported, so the files would differ from one machine to the next.
    What follows site-packages stays; of a path elsewhere only the file's own name does.
    """

    def short(match):
        path = match.group(1)
        for root in ("/site-packages/", "/dist-packages/"):
            if root in path:
                return f'File "{path.split(root)[-1]}"'
        return f'File "{path.rsplit("/", 1)[-1]}"'

    for node in model.graph.node:
        for entry in node.metadata_props:
            if entry.key == "pkg.torch.onnx.stack_trace":
                entry.value = re.sub(r'File "([^"]+)"', short, entry.value)


def evaluate(module, inputs, output_names):
    """PyTorch's outputs by name."""
    with torch.no_grad():
        results = module(*inputs.values())
    results = results if isinstance(results, (tuple, list)) else (results,)
    if len(results) != len(output_names):
        raise ExportError(f"the module returns {len(results)} tensors for the output names {output_names}")
    return {name: result.numpy() for name, result in zip(output_names, results)}


def check(data, inputs, expected):
    """Runs the ONNX bytes `data` in onnxruntime and returns the largest difference from `expected`."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    # The exporters may drop an input that the graph does not use.
    taken = {value.name for value in session.get_inputs()}
    missing = taken - set(inputs)
    if missing:
        raise ExportError(f"the export takes inputs that it was not given: {sorted(missing)}")
    feeds = {name: value.numpy() for name, value in inputs.items() if name in taken}
    results = dict(zip([value.name for value in session.get_outputs()], session.run(None, feeds)))
    worst = 0.0
    for name, want in expected.items():
        got = results[name]
        if got.shape != want.shape or got.dtype != want.dtype:
            raise ExportError(f"output {name} is {got.dtype}{got.shape}, PyTorch's is {want.dtype}{want.shape}")
        if not np.isfinite(want).all():
            raise ExportError(f"PyTorch's output {name} is not finite everywhere")
        difference = np.abs(got.astype(np.float64) - want.astype(np.float64))
        if not (difference <= TOLERANCE * (1 + np.abs(want))).all():
            raise ExportError(f"output {name} differs from PyTorch's by {difference.max():.3g}, allowed {TOLERANCE:g}")
        worst = max(worst, float(difference.max(initial=0)))
    return worst


def save_arrays(folder, arrays):
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.npy"):
        stale.unlink()
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def write(folder, module, input_sets, output_names, seed, extra_sets=None, exporters=EXPORTERS, say=print, **options):
    """Exports `module` (parameters drawn from `seed`; seed None: as they are) into `folder`.

    input_sets: a list of {name: tensor}, all of the same names and shapes; the first one is what is traced.
    extra_sets: {label: (exporter, {name: tensor})}, sets of inputs that only the one exporter's file gets right.
    options: passed on to the exporters, by exporter: script={...}, dynamo={...}.
    Raises ExportError when a file does not compute what PyTorch does.
    """
    folder = pathlib.Path(folder)
    name = folder.name
    module.eval()
    if seed is not None:
        randomize(module, seed)
    count = sum(parameter.numel() for parameter in module.parameters())
    say(f"{name}: {type(module).__name__}, {count:,} parameters")

    cases = [(str(index), exporters, inputs) for index, inputs in enumerate(input_sets)]
    cases += [(f"_{label}", [exporter], inputs) for label, (exporter, inputs) in (extra_sets or {}).items()]
    expected = {}
    for label, _, inputs in cases:
        expected[label] = evaluate(module, inputs, output_names)
        save_arrays(folder / f"inputs{label}", {key: value.numpy() for key, value in inputs.items()})
        save_arrays(folder / f"outputs{label}", expected[label])

    for exporter in exporters:
        export = {"script": export_script, "dynamo": export_dynamo}[exporter]
        model = export(module, input_sets[0], output_names, **options.get(exporter, {}))
        strip_paths(model)
        data = model.SerializeToString(deterministic=True)
        worst = max(check(data, inputs, expected[label]) for label, served, inputs in cases if exporter in served)
        path = folder / f"{name}.{exporter}.onnx"
        path.write_bytes(data)
        say(
            f"  {path.name}: opset {model.opset_import[0].version}, {len(model.graph.node)} nodes, "
            f"{len(data) / 1e6:.2f} MB, onnxruntime within {worst:.1e} of PyTorch"
        )
