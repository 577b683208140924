#!/usr/bin/env python3
"""Time of single operators of ONNX on one core: onnxruntime and dist, in turns.

  bazel build -c opt //tools/...
  python benchmarks/single_operators.py [--only maxpool,resize_linear]   # needs onnx, onnxruntime

Each operator is a model of its own, with an input of random numbers. Each turn asks both for a few steps; the best step and, in
brackets, the median are printed, in ms by the clock, then the ratio of the best to onnxruntime's, and the largest difference of the
results over the largest element. Arguments and results have their channels outside of space, as in the file.

Exit status 1 if results differ.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_DIFFERENCE = 1e-4
IMAGE, LARGE, ODD = [1, 64, 56, 56], [1, 64, 112, 112], [1, 64, 100, 100]
POOL = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
# Operator, shapes of argument and result, attributes, further inputs.
OPERATORS = {
    "maxpool": ("MaxPool", LARGE, IMAGE, dict(POOL, strides=[2, 2]), []),
    "maxpool_dense": ("MaxPool", IMAGE, IMAGE, POOL, []),
    "averagepool": ("AveragePool", LARGE, IMAGE, dict(POOL, strides=[2, 2]), []),
    "maxpool_unpadded": ("MaxPool", LARGE, IMAGE, dict(kernel_shape=[2, 2], strides=[2, 2]), []),
    "resize_nearest": ("Resize", IMAGE, LARGE, dict(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"), ["", "", LARGE]),
    "resize_linear": ("Resize", IMAGE, LARGE, dict(mode="linear"), ["", "", LARGE]),
    "resize_nearest_odd": ("Resize", IMAGE, ODD, dict(mode="nearest"), ["", "", ODD]),
    "resize_linear_odd": ("Resize", IMAGE, ODD, dict(mode="linear"), ["", "", ODD]),
    "cumsum": ("CumSum", [16, 4096], [16, 4096], {}, [1]),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(OPERATORS), metavar="NAME,...", help=", ".join(OPERATORS))
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--steps", type=int, default=25, help="a turn")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "bazel-bin/tools", help="folder of dist-import and the others")
    a = parser.parse_args()
    for name in set(a.only) - set(OPERATORS):
        parser.error(f"--only: no operator '{name}'; they are {', '.join(OPERATORS)}")
    return a


def make(name, folder):
    """The model and its input."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    op, shape, result, attributes, more = OPERATORS[name]
    constants, inputs = [], ["x"]
    for number, value in enumerate(more):
        inputs.append(f"c{number}" if value != "" else "")
        if value != "":
            constants.append(numpy_helper.from_array(numpy.array(value, numpy.int64), inputs[-1]))
    graph = helper.make_graph(
        [helper.make_node(op, inputs, ["y"], **attributes)],
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, folder / "model.onnx")
    numpy.save(folder / "x.npy", numpy.random.default_rng(0).standard_normal(shape).astype(numpy.float32))


def measure(a, name, folder):
    import numpy
    import onnxruntime

    make(name, folder)
    program, bundle = folder / "model.mlir", folder / "model.dist"
    subprocess.run([a.tools / "dist-import", folder / "model.onnx", "-o", program], check=True, capture_output=True)
    subprocess.run([a.tools / "dist-compile", program, "-o", bundle], check=True, capture_output=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    feed = {"x": numpy.load(folder / "x.npy")}
    theirs, ours = [], []
    for _ in range(a.turns):
        for step in range(a.steps + 3):
            start = time.perf_counter()
            expected = session.run(None, feed)[0]
            if step >= 3:
                theirs.append(time.perf_counter() - start)
        command = [a.tools / "dist-run", bundle, "--json", "--repeat", str(a.steps + 3), "--input", f"x={folder / 'x.npy'}", "--output", folder / "out"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        ours += json.loads(done.stdout.splitlines()[-1])["seconds"][3:]
    got = numpy.load(next((folder / "out").glob("*.npy")))
    difference = float(numpy.abs(got - expected).max() / numpy.abs(expected).max()) if got.shape == expected.shape else float("inf")
    cells = [f"{min(times) * 1e3:.2f} ({statistics.median(times) * 1e3:.2f})" for times in (theirs, ours)]
    print(f"| {name} | {' | '.join(cells)} | {min(ours) / min(theirs):.2f} | {difference:.0e} |", flush=True)
    return difference <= MAX_DIFFERENCE


def main():
    a = arguments()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("| operator | onnxruntime | dist | ratio | difference |\n|---|---|---|---|---|", flush=True)
    ok = True
    for name in a.only:
        with tempfile.TemporaryDirectory() as folder:
            ok &= measure(a, name, pathlib.Path(folder))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
