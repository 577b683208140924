"""Peers of step_time.py: one step of its model in PyTorch, alone, in two processes, and in JAX.

A worker (step_time.py --worker KIND) makes a step, compares what it computes with what PyTorch's own step has recorded,
says "ready", and then runs as many steps as each line of standard input says. Kinds:

  eager, compile    PyTorch, on as many threads as it has cores
  ddp               DistributedDataParallel over gloo, in two processes: each has half of the batch
  tp, sp            DTensor's tensor parallelism, and sequence parallelism, likewise
  jax_tp, jax_sp, jax_dp    JAX with two host devices of one thread each: shardings of parameters and input, and under
                    sp of the residual stream
"""
import importlib.util
import json
import math
import os
import pathlib
import sys
import time

# Of gradients up to 200, in f32.
TOLERANCE = 1e-2


def missing(kind):
    """What is not installed that a peer needs; empty if it can run."""
    return "JAX" if kind.startswith("jax") and not importlib.util.find_spec("jax") else ""


def load(folder, name):
    import numpy

    return numpy.load(folder / f"{name}.npy")


def check(name, got, wanted):
    error = float(abs(got - wanted).max()) if got.shape == wanted.shape else math.inf
    if not error <= TOLERANCE:
        raise SystemExit(f"step_time.py: {name} is {error:.1e} from PyTorch's")


def parallelize(model, kind):
    """Megatron's tensor parallelism, or that with sequence parallelism, by DTensor's own styles."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module,
    )  # fmt: skip

    mesh = init_device_mesh("cpu", (2,))
    styles = {f"attn.{name}": ColwiseParallel() for name in ("wq", "wk", "wv")} | {"mlp.fc": ColwiseParallel()}
    if kind == "tp":
        styles |= {"attn.wo": RowwiseParallel(), "mlp.proj": RowwiseParallel()}
    else:
        gather = dict(input_layouts=Shard(1), desired_input_layouts=Replicate())
        styles |= {name: RowwiseParallel(output_layouts=Shard(1)) for name in ("attn.wo", "mlp.proj")}
        styles |= {name: SequenceParallel() for name in ("ln1", "ln2")}
        styles |= {name: PrepareModuleInput(**gather) for name in ("attn", "mlp")}
    for block in model.h:
        parallelize_module(block, mesh, styles)
    return model


def make_torch_step(kind, a, folder, model):
    """A step, and what checks it."""
    import torch

    x, dy = (torch.from_numpy(load(folder, name)) for name in ("x", "dy"))
    run, scale, dim = model, 1, None
    if kind in ("ddp", "tp", "sp"):
        torch.distributed.init_process_group("gloo")
    if kind == "compile":
        run = torch.compile(model)
    elif kind == "ddp":
        # Gradients are means over the processes.
        run, scale, dim = torch.nn.parallel.DistributedDataParallel(model), 2, 0
    elif kind in ("tp", "sp"):
        run, dim = parallelize(model, kind), 1 if kind == "sp" else None
    y = torch.from_numpy(load(folder, "y"))
    if dim is not None:
        x, dy, y = (value.chunk(2, dim)[int(os.environ["RANK"])].contiguous() for value in (x, dy, y))

    def step():
        if not a.gradients:
            with torch.no_grad():
                return run(x)
        for parameter in model.parameters():
            parameter.grad = None
        made = run(x)
        made.backward(dy)
        return made

    def compare():
        check("y", step().detach().numpy(), y.numpy())
        for name, parameter in model.named_parameters() if a.gradients else ():
            gradient = parameter.grad
            gradient = gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient
            check(f"{kind}'s gradient of {name}", scale * gradient.numpy(), load(folder / "gradients", name))

    return step, compare


def make_jax_step(kind, a, folder):
    """The same stack in JAX, by names of PyTorch's parameters."""
    import jax
    import jax.numpy as jnp
    import numpy
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(numpy.array(jax.devices()), ("x",))
    place = lambda *axes: NamedSharding(mesh, PartitionSpec(*axes))
    names = sorted(path.stem for path in (folder / "parameters").iterdir())
    # Weights are [in, out], as in JAX's libraries.
    parameters = {name: load(folder / "parameters", name).T.copy() for name in names}
    kind = kind.removeprefix("jax_")

    def place_parameter(name):
        layer, what = name.split(".")[-2:]
        if kind == "dp" or layer in ("ln1", "ln2"):
            return place()
        if layer in ("wq", "wk", "wv", "fc"):
            return place(None, "x") if what == "weight" else place("x")
        return place("x", None) if what == "weight" else place()

    placed = {name: place_parameter(name) for name in names}
    stream = {"tp": place(), "sp": place(None, "x", None), "dp": place("x", None, None)}[kind]
    constrain = jax.lax.with_sharding_constraint

    def norm(x, p, name):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]

    def linear(x, p, name):
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    def attend(x, p, name):
        shape = (*x.shape[:2], a.heads, -1)
        q, k, v = (linear(x, p, f"{name}.{one}").reshape(shape) for one in ("wq", "wk", "wv"))
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return linear(y.reshape(x.shape), p, f"{name}.wo")

    def stack(p, x):
        for layer in range(a.layers):
            h = f"h.{layer}"
            x = constrain(x + attend(norm(x, p, f"{h}.ln1"), p, f"{h}.attn"), stream)
            inner = jax.nn.gelu(linear(norm(x, p, f"{h}.ln2"), p, f"{h}.mlp.fc"), approximate=True)
            x = constrain(x + linear(inner, p, f"{h}.mlp.proj"), stream)
        return x

    def differentiate(p, x, dy):
        y, back = jax.vjp(lambda q: stack(q, x), p)
        return y, back(dy)[0]

    p = jax.device_put(parameters, placed)
    x, dy = (jax.device_put(load(folder, name), stream) for name in ("x", "dy"))
    if a.gradients:
        program = jax.jit(differentiate, in_shardings=(placed, stream, stream), out_shardings=(stream, placed))
        step = lambda: jax.block_until_ready(program(p, x, dy))
    else:
        program = jax.jit(stack, in_shardings=(placed, stream), out_shardings=stream)
        step = lambda: jax.block_until_ready(program(p, x))

    def compare():
        y, gradients = step() if a.gradients else (step(), {})
        check("y", numpy.asarray(y), load(folder, "y"))
        for name, gradient in gradients.items():
            check(f"JAX's gradient of {name}", numpy.asarray(gradient).T, load(folder / "gradients", name))

    return step, compare


def serve(step, out):
    """Says "ready", then makes as many steps as each line of standard input says, and prints the time of each."""
    print("ready", file=out)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        print(json.dumps(times), file=out)


def work(kind, a, folder, make_model):
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # libraries print
    if kind.startswith("jax"):
        step, compare = make_jax_step(kind, a, folder)
    else:
        import torch

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        step, compare = make_torch_step(kind, a, folder, make_model(a)[0])
    compare()
    for _ in range(5):
        step()
    # The peak of memory from here on: what compiled is over.
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    serve(step, out)
    os._exit(0)
