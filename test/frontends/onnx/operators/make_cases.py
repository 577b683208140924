#!/usr/bin/env python3
"""Writes cases/*.json: single ONNX operators with inputs, and what they compute.

    python make_cases.py            needs onnx, onnxruntime and numpy (examples/requirements.txt)

What is expected comes from onnx's reference evaluator, and from onnxruntime, which must agree wherever it has the
operator; cases on which the two differ are listed in DIFFERENT with whose word counts and why. Numbers have few
digits, so that the files stay readable. run_cases.py reads the files; it needs nothing but Python.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

FOLDER = pathlib.Path(__file__).resolve().parent / "cases"

# name: (whose word counts, why)
DIFFERENT = {
    "resize_align_corners_scales": ("onnxruntime", "the reference takes the length before it is rounded"),
    "rnn_lengths": ("onnxruntime", "the reference does not look at the lengths"),
    "gru_lengths": ("onnxruntime", "the reference does not look at the lengths"),
    "lstm_lengths": ("onnxruntime", "the reference does not look at the lengths"),
    "lpnormalization_l1": ("onnxruntime", "the reference sums the numbers, not their magnitudes"),
    "lrn_default": ("onnxruntime", "the reference normalises the first channel only"),
    "lrn_numbers": ("onnxruntime", "the reference normalises the first channel only"),
    "lppool_ceil": ("onnxruntime", "the reference repeats numbers in the window that the input ends in"),
    "maxpool_u8": ("onnxruntime", "the reference pads at both ends"),
    "mod_u64_like_c": ("reference", "onnxruntime divides in f64"),
    "gridsample_cubic_border_0": ("onnxruntime", "the reference clamps the position, onnxruntime and PyTorch each tap"),
    "gridsample_cubic_border_1": ("onnxruntime", "the reference clamps the position, onnxruntime and PyTorch each tap"),
}

FAMILIES = {}
family = None
rng = np.random.RandomState(7)


def start(name):
    global family, rng
    family = FAMILIES.setdefault(name, [])
    rng = np.random.RandomState(len(FAMILIES))


def f(*shape, low=-2.0, high=2.0, dtype=np.float32):
    """Random numbers with two decimals."""
    return np.round(rng.uniform(low, high, shape), 2).astype(dtype)


def i(*shape, low=-5, high=6, dtype=np.int64):
    return rng.randint(low, high, shape).astype(dtype)


def b(*shape):
    return rng.rand(*shape) < 0.5


def ints(*values):
    return np.array(values, np.int64)


def case(op, inputs, name, opset=17, known=(), outputs=1, tolerance=None, **attributes):
    """`known`: inputs that are always given with the model; others are, too, in half of the runs."""
    family.append(dict(op=op, inputs=list(inputs), name=f"{op.lower()}_{name}", opset=opset, known=list(known),
                       outputs=outputs, tolerance=tolerance, attributes=attributes))


def elementwise():
    start("elementwise")
    x, y = f(2, 3), f(2, 3)
    for op in ["Add", "Sub", "Mul", "Div"]:
        case(op, [x, y], "same")
        case(op, [f(2, 1, 3), f(4, 1)], "broadcast")
        case(op, [f(2, 3), np.float32(1.5)], "scalar")
        case(op, [i(2, 3), i(2, 3, low=1)], "i64")
    case("Div", [np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)], "truncates")
    case("Add", [i(3, dtype=np.int32), i(3, dtype=np.int32)], "i32")
    case("Mod", [np.array([5, -5, 5, -5]), np.array([3, 3, -3, -3])], "floor")
    case("Mod", [np.array([5, -5, 5, -5]), np.array([3, 3, -3, -3])], "like_c", fmod=1)
    case("Mod", [f(5, high=9), f(5, low=0.5)], "float", fmod=1)
    for p in [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 1.7]:
        case("Pow", [f(2, 3, low=0.1), np.float32(p)], f"to_{p}".replace(".", "_").replace("-", "minus_"))
    case("Pow", [f(2, 3, low=0.1), f(3)], "broadcast")
    case("Pow", [i(4), np.array([0, 1, 2, 3])], "i64")
    case("Pow", [np.array([2, -3, 4], np.int32), np.float32(2)], "i32_to_f32", known=[1])
    for op in ["Max", "Min", "Sum", "Mean"]:
        case(op, [f(2, 3), f(3), f(2, 1)], "three")
        case(op, [f(2, 3)], "one")
    case("Max", [np.array([1, np.nan, -np.inf], np.float32), np.array([np.nan, 0, 1], np.float32)], "nan")
    case("Max", [i(3), i(3)], "i64")
    case("Min", [np.array([1, np.inf], np.float32), np.array([2, 3], np.float32)], "inf")
    case("Neg", [f(3)], "f32")
    case("Neg", [i(3)], "i64")
    case("Abs", [f(3)], "f32")
    case("Abs", [i(4)], "i64")
    case("Sign", [np.array([-2, 0, 3, -0.0], np.float32)], "f32")
    case("Sign", [i(5)], "i64")
    case("Clip", [f(2, 4), np.float32(-1), np.float32(0.5)], "both")
    case("Clip", [f(2, 4), None, np.float32(0.5)], "high")
    case("Clip", [f(2, 4), np.float32(-1)], "low")
    case("Clip", [f(2, 4), np.float32(1), np.float32(-1)], "crossed")
    case("Clip", [i(4), np.int64(-2), np.int64(2)], "i64")
    for op in ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]:
        case(op, [np.array([1, 2, 3], np.float32), np.array([[2], [3]], np.float32)], "broadcast")
        case(op, [np.array([np.nan, 1], np.float32), np.array([np.nan, 1], np.float32)], "nan")
        case(op, [i(6), i(6)], "i64")
    case("Equal", [b(4), b(4)], "bool")
    for op in ["And", "Or", "Xor"]:
        case(op, [b(2, 3), b(3)], "broadcast")
    case("Not", [b(4)], "bool")
    for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
        case(op, [i(2, 3), i(3)], "i64", opset=18)
    case("BitwiseNot", [i(4, dtype=np.int32)], "i32", opset=18)
    case("BitShift", [np.array([1, 2, 200], np.uint8), np.array([1, 2, 3], np.uint8)], "left", direction="LEFT")
    case("BitShift", [np.array([16, 200, 255], np.uint8), np.array([1, 2, 3], np.uint8)], "right", direction="RIGHT")
    case("Where", [b(2, 1), f(2, 3), f(3)], "broadcast")
    case("Where", [b(3), i(3), i(3)], "i64")
    case("IsNaN", [np.array([1, np.nan, np.inf], np.float32)], "f32")
    infinities = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    case("IsInf", [infinities], "both")
    case("IsInf", [infinities], "positive", detect_negative=0)
    case("IsInf", [infinities], "negative", detect_positive=0)
    T = onnx.TensorProto
    numbers = np.array([-1.7, -0.5, 0.0, 0.5, 1.5, 2.7], np.float32)
    for to in ["INT64", "INT32", "BOOL", "DOUBLE"]:
        case("Cast", [numbers], f"f32_to_{to.lower()}", to=getattr(T, to))
    case("Cast", [np.array([0.1, 1000.5, 65504], np.float32)], "f32_to_f16_to", to=T.FLOAT16)
    case("Cast", [np.array([200, 255, 3], np.uint8)], "u8_to_f32", to=T.FLOAT)
    case("Cast", [np.array([200, 255, 3], np.uint8)], "u8_to_i64", to=T.INT64)
    case("Cast", [np.array([300, -1, 5])], "i64_to_i8", to=T.INT8)
    case("Cast", [b(3)], "bool_to_f32", to=T.FLOAT)
    case("Cast", [i(3)], "i64_to_f32", to=T.FLOAT)
    case("CastLike", [f(3), i(1)], "to_i64")


def functions():
    start("functions")
    x = np.array([[-2.5, -1.0, -0.3, 0.0], [0.4, 1.0, 2.0, 3.5]], np.float32)
    for op in ["Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Sin", "Sinh", "Tan", "Tanh", "Sigmoid", "Relu", "Softplus",
               "Softsign", "Atan", "Asinh", "HardSwish", "Reciprocal"]:
        case(op, [x if op != "Reciprocal" else x + 0.05], "plain")
    case("Round", [np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.3, 0.7], np.float32)], "half_to_even")
    for op in ["Log", "Sqrt"]:
        case(op, [f(2, 3, low=0.1)], "plain")
    for op in ["Acos", "Asin", "Atanh"]:
        case(op, [f(2, 3, low=-0.9, high=0.9)], "plain")
    case("Acosh", [f(2, 3, low=1.1, high=4)], "plain")
    case("Exp", [f(3, dtype=np.float64)], "f64")
    case("Tanh", [f(3, dtype=np.float64)], "f64")
    case("LeakyRelu", [x], "default")
    case("LeakyRelu", [x], "alpha", alpha=0.2)
    case("PRelu", [x, f(4, low=0.1)], "slopes")
    case("PRelu", [x, np.array([0.3], np.float32)], "one")
    case("Elu", [x], "default")
    case("Elu", [x], "alpha", alpha=2.0)
    case("Celu", [x], "alpha", alpha=2.0)
    case("Selu", [x], "default")
    case("Selu", [x], "numbers", alpha=2.0, gamma=3.0)
    case("HardSigmoid", [x], "default")
    case("HardSigmoid", [x], "numbers", alpha=0.5, beta=0.6)
    case("Mish", [x], "plain", opset=18)
    case("ThresholdedRelu", [x], "default")
    case("ThresholdedRelu", [x], "alpha", alpha=0.5)
    case("Shrink", [x], "default")
    case("Shrink", [x], "numbers", bias=1.0, lambd=1.5)
    case("Gelu", [x], "exact", opset=20)
    case("Gelu", [x], "tanh", opset=20, approximate="tanh")
    for axis in [0, 1, -1, -2]:
        case("Softmax", [f(2, 3, 4)], f"axis_{axis}".replace("-", "minus_"), axis=axis)
        case("LogSoftmax", [f(2, 3, 4)], f"axis_{axis}".replace("-", "minus_"), axis=axis)
        case("Hardmax", [f(2, 3, 4)], f"axis_{axis}".replace("-", "minus_"), axis=axis)
    case("Softmax", [f(2, 3)], "default", opset=13)
    case("Softmax", [np.array([[1000, 1001], [-1000, -1001]], np.float32)], "large")
    case("Hardmax", [np.array([[3, 3, 1], [0, 2, 2]], np.float32)], "ties")


def shapes():
    start("shapes")
    x = f(2, 3, 4)
    for target in [[6, 4], [-1], [2, -1], [0, 12], [4, 3, 2], [1, 2, 1, 3, 4], [0, 0, -1]]:
        case("Reshape", [x, ints(*target)], "to_" + "_".join(map(str, target)).replace("-", "m"), known=[1])
    case("Reshape", [f(2, 3), ints(3, 2)], "allowzero", known=[1], allowzero=1)
    for axis in [0, 1, 2, 3, -1]:
        case("Flatten", [x], f"axis_{axis}".replace("-", "m"), axis=axis)
    case("Squeeze", [f(1, 3, 1), ints(0)], "first", known=[1])
    case("Squeeze", [f(1, 3, 1), ints(-1)], "last", known=[1])
    case("Squeeze", [f(1, 3, 1)], "all")
    case("Unsqueeze", [f(3), ints(0, 2)], "two", known=[1])
    case("Unsqueeze", [f(3, 2), ints(-1, 0)], "negative", known=[1])
    case("Unsqueeze", [f(3, 2), ints(2, 0)], "unsorted", known=[1])
    case("Transpose", [x], "default")
    case("Transpose", [x], "perm", perm=[1, 2, 0])
    case("Shape", [x], "whole")
    case("Shape", [x], "part", start=1, end=-1)
    case("Shape", [x], "beyond", start=-9, end=9)
    case("Size", [x], "count")
    case("Expand", [f(3, 1), ints(2, 1, 4)], "both_ways", known=[1])
    case("Expand", [f(3), ints(1)], "smaller", known=[1])
    case("Tile", [f(2, 3), ints(2, 3)], "two", known=[1])
    case("Tile", [f(2, 1), ints(1, 4)], "unit", known=[1])
    case("ConstantOfShape", [ints(2, 3)], "default", known=[0])
    case("ConstantOfShape", [ints(2)], "value", known=[0], value=numpy_helper.from_array(np.array([7], np.int64)))
    case("ConstantOfShape", [np.zeros(0, np.int64)], "scalar", known=[0])
    case("Range", [np.int64(1), np.int64(10), np.int64(3)], "i64", known=[0, 1, 2])
    case("Range", [np.int64(10), np.int64(1), np.int64(-4)], "down", known=[0, 1, 2])
    case("Range", [np.float32(0.5), np.float32(2), np.float32(0.5)], "f32", known=[0, 1, 2])
    case("EyeLike", [i(3, 4)], "plain")
    case("EyeLike", [f(3, 4)], "above", k=1)
    case("EyeLike", [f(3, 4)], "below", k=-1, dtype=onnx.TensorProto.INT64)
    for axis in [0, 1, -1]:
        case("Concat", [f(2, 3), f(2, 3), f(2, 3)], f"axis_{axis}".replace("-", "m"), axis=axis)
    case("Concat", [f(2, 1), f(2, 3)], "uneven", axis=1)
    for name, starts, ends, axes, steps in [
        ("plain", [1, 0], [3, 2], [0, 2], None), ("negative", [-2], [-1], [1], None), ("far", [1], [1000], [0], None),
        ("steps", [0, 0], [9, 9], [1, 2], [2, 3]), ("backwards", [-1], [-9], [2], [-1]),
        ("back_by_two", [3], [0], [2], [-2]), ("negative_axis", [1], [2], [-1], None),
        ("before_start", [-99], [2], [0], None), ("all", [0], [2**63 - 1], [2], None)]:
        given = [f(3, 3, 4), ints(*starts), ints(*ends), ints(*axes)] + ([ints(*steps)] if steps else [])
        case("Slice", given, name, known=range(1, len(given)))
    case("Slice", [f(3, 4), ints(1, 1), ints(2, 3)], "no_axes", known=[1, 2])
    case("Slice", [f(3, 4), ints(1), ints(2), None, ints(1)], "steps_without_axes", known=[1, 2, 4])
    case("Split", [f(6, 2)], "even", outputs=3, opset=13)
    case("Split", [f(2, 6), ints(1, 2, 3)], "lengths", outputs=3, known=[1], axis=-1)
    case("Split", [f(7, 2)], "uneven", outputs=3, opset=18, num_outputs=3)
    for mode in ["constant", "reflect", "edge"]:
        case("Pad", [f(3, 4), ints(1, 2, 0, 1)], mode, known=[1], mode=mode)
    case("Pad", [f(3, 4), ints(1, 2, 2, 5)], "wrap", known=[1], mode="wrap", opset=19)
    case("Pad", [f(3, 4), ints(1, 0, 0, 2), np.float32(9)], "value", known=[1, 2])
    case("Pad", [f(3, 4), ints(-1, 1, 0, -2)], "cuts", known=[1])
    case("Pad", [f(3, 4), ints(1, 2), None, ints(-1)], "axes", known=[1, 3], opset=18)
    case("Pad", [i(3), ints(1, 1), np.int64(4)], "i64", known=[1, 2])
    case("DepthToSpace", [f(1, 8, 2, 3)], "dcr", blocksize=2)
    case("DepthToSpace", [f(1, 8, 2, 3)], "crd", blocksize=2, mode="CRD")
    case("SpaceToDepth", [f(1, 2, 4, 6)], "plain", blocksize=2)
    case("CenterCropPad", [f(5, 3), ints(3, 6)], "both", known=[1], opset=18)
    case("CenterCropPad", [f(4, 5, 2), ints(7)], "axes", known=[1], opset=18, axes=[-2])
    case("Identity", [x], "same")
    case("Dropout", [x], "inference", opset=13)


def indexing():
    start("indexing")
    x = f(3, 4, 2)
    for axis in [0, 1, -1]:
        case("Gather", [x, ints(1, 0, -1)], f"axis_{axis}".replace("-", "m"), axis=axis)
    case("Gather", [x, np.int64(2)], "scalar")
    case("Gather", [x, np.array([[0, 2], [1, 1]], np.int32)], "matrix", axis=0)
    case("GatherElements", [f(3, 3), np.array([[1, 2, 0], [2, 0, -1]])], "rows", axis=0)
    case("GatherElements", [f(3, 3), np.array([[1], [2], [-3]])], "columns", axis=-1)
    case("GatherND", [x, np.array([[0, 1], [2, -1]])], "rows")
    case("GatherND", [x, np.array([[[0]], [[2]]])], "slices")
    case("GatherND", [f(2, 3, 2), np.array([[1], [2]])], "batch", batch_dims=1)
    case("ScatterElements", [f(3, 3), np.array([[1, 0, 2], [0, 2, 1]]), f(2, 3)], "rows", axis=0)
    case("ScatterElements", [f(1, 5), np.array([[1, -2]]), f(1, 2)], "negative", axis=1)
    for kind in ["add", "mul"]:
        case("ScatterElements", [f(1, 5), np.array([[1, 1, 3]]), f(1, 3)], kind, axis=-1, opset=16, reduction=kind)
        case("ScatterND", [f(4, 2), np.array([[1], [1]]), f(2, 2)], kind, opset=16, reduction=kind)
    for kind in ["max", "min"]:
        case("ScatterElements", [f(1, 5), np.array([[1, 1, 3]]), f(1, 3)], kind, axis=1, opset=18, reduction=kind)
        case("ScatterND", [f(4, 2), np.array([[1], [1]]), f(2, 2)], kind, opset=18, reduction=kind)
    case("ScatterND", [f(4, 2), np.array([[2], [0]]), f(2, 2)], "rows")
    case("ScatterND", [f(3, 3), np.array([[0, 1], [-1, 2]]), f(2)], "elements")
    case("OneHot", [np.array([0, 2, -1]), np.int64(3), np.array([2, 5], np.float32)], "last", known=[1])
    case("OneHot", [np.array([[1, 0]]), np.array([3]), np.array([0, 1])], "axis", known=[1], axis=1)
    case("Trilu", [f(2, 3, 4)], "upper")
    case("Trilu", [f(3, 4)], "lower", upper=0)
    case("Trilu", [f(3, 4), np.int64(1)], "above", known=[1])
    case("Trilu", [f(3, 4), np.int64(-1)], "below", known=[1], upper=0)
    case("ReverseSequence", [f(4, 3), ints(4, 1, 3)], "time_first", time_axis=0, batch_axis=1)
    case("ReverseSequence", [f(3, 4, 2), ints(2, 4, 1)], "batch_first", time_axis=1, batch_axis=0)
    case("TopK", [f(3, 5), ints(2)], "largest", known=[1], outputs=2)
    case("TopK", [f(3, 5), ints(3)], "smallest", known=[1], outputs=2, largest=0)
    case("TopK", [f(4, 3), ints(2)], "axis", known=[1], outputs=2, axis=0)
    case("NonZero", [np.array([[1, 0, 2], [0, 0, 3]], np.float32)], "known", known=[0])
    # Updates of places that follow each other, or nearly so.
    rows = np.broadcast_to(np.array([[1], [2]]), (2, 3)).copy()
    for kind, opset in [("none", 16), ("add", 16), ("mul", 16), ("max", 18), ("min", 18)]:
        case("ScatterElements", [f(4, 3), rows, f(2, 3)], f"run_{kind}", known=[1], opset=opset, axis=0, reduction=kind)
        case("ScatterND", [f(4, 3), np.array([[2], [3]]), f(2, 3)], f"run_{kind}", known=[1], opset=opset, reduction=kind)
    runs = {"part": np.array([[3, 4]] * 2), "apart": np.array([[0, 2, -1]] * 3), "one": np.array([[2]] * 3),
            "twice": np.array([[1, 1]] * 3), "back": np.array([[3, 2]] * 3), "uneven": np.array([[0, 1, 3]] * 3),
            "crossed": np.array([[0, 1], [1, 2], [0, 1]])}
    for name, where in runs.items():
        case("ScatterElements", [f(3, 5), where, f(*where.shape)], f"run_{name}", known=[1], axis=1)
    grid = np.stack(np.meshgrid([0, 2], [1, 2, 3], indexing="ij"), -1)
    case("ScatterND", [f(3, 5), grid, f(2, 3)], "grid", known=[1])
    case("ScatterND", [f(5, 3), grid[..., ::-1].copy(), f(2, 3)], "grid_crossed", known=[1])
    case("ScatterND", [f(3, 5, 2), grid, f(2, 3, 2)], "grid_of_rows", known=[1])
    case("ScatterND", [f(3, 5), np.array([[[1, 2], [1, 3]]]), f(1, 2)], "grid_in_row", known=[1])
    case("ScatterND", [f(3, 5), np.array([[[0, 4]], [[-1, 4]]]), f(2, 1)], "grid_in_column", known=[1])
    case("ScatterND", [f(3, 5), np.array([[0, 1], [1, 2]]), f(2)], "grid_diagonal", known=[1])
    case("ScatterND", [f(3, 5), np.array([[1, 1], [1, 1]]), f(2)], "grid_twice", known=[1])
    case("ScatterND", [f(3), np.array([2]), f()], "grid_single", known=[1])


def reductions():
    start("reductions")
    positive = f(2, 3, 4, low=0.2)
    for op in ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
               "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]:
        x = positive if op == "ReduceLogSum" else f(2, 3, 4)
        case(op, [x, ints(1)], "input", opset=18, known=[1])
        case(op, [x, ints(-1, 0)], "two_input", opset=18, known=[1], keepdims=0)
        case(op, [x], "all", opset=18)
        case(op, [x], "noop", opset=18, noop_with_empty_axes=1) if op not in ("ReduceLogSum", "ReduceLogSumExp",
             "ReduceL1", "ReduceL2", "ReduceSumSquare") else None
        if op != "ReduceSum":
            case(op, [x], "attribute", opset=13, axes=[1])
            case(op, [x], "negative_attribute", opset=13, axes=[-2, 0], keepdims=0)
    case("ReduceSum", [f(2, 3), ints(1)], "opset13", opset=13, known=[1], keepdims=0)
    case("ReduceSum", [i(2, 3), ints(0)], "i64", known=[1])
    case("ReduceMax", [i(2, 3)], "i64", opset=13, axes=[1])
    case("ReduceMax", [b(2, 3), ints(1)], "bool", opset=20, known=[1])
    case("ReduceMean", [i(2, 3, low=0, dtype=np.int32)], "i32", opset=13, axes=[1])
    for op in ["ArgMax", "ArgMin"]:
        ties = np.array([[2, 1, 2, 1], [0, 3, 3, 0]], np.float32)
        case(op, [ties], "first", axis=1)
        case(op, [ties], "last", axis=1, select_last_index=1)
        case(op, [ties], "dropped", axis=-1, keepdims=0)
        case(op, [ties], "default")
    case("CumSum", [f(3, 4), np.int64(1)], "plain", known=[1])
    case("CumSum", [f(3, 4), np.int64(0)], "exclusive", known=[1], exclusive=1)
    case("CumSum", [f(3, 4), np.int64(-1)], "reverse", known=[1], reverse=1)
    case("CumSum", [i(5), np.int64(0)], "both", known=[1], reverse=1, exclusive=1)
    # In blocks: that fill the axis, that do not, and blocks of blocks.
    case("CumSum", [f(2, 96), np.int64(1)], "blocks", known=[1])
    case("CumSum", [f(67, 2), np.int64(0)], "padded", known=[1], exclusive=1)
    case("CumSum", [f(2, 67, 1), np.int64(1)], "padded_reverse", known=[1], reverse=1)
    case("CumSum", [i(4162), np.int64(0)], "nested", known=[1], reverse=1, exclusive=1)


def contractions():
    start("contractions")
    for name, left, right in [("matrices", (2, 3), (3, 4)), ("batch", (2, 2, 3), (2, 3, 4)),
                              ("broadcast", (2, 1, 2, 3), (3, 3, 2)), ("left_vector", (3,), (3, 2)),
                              ("right_vector", (2, 3), (3,)), ("vectors", (3,), (3,)),
                              ("batch_vector", (2, 4, 3), (3,)), ("one", (1, 1), (1, 1))]:
        case("MatMul", [f(*left), f(*right)], name)
    case("MatMul", [i(2, 3), i(3, 2)], "i64")
    case("MatMul", [f(2, 3, dtype=np.float64), f(3, 2, dtype=np.float64)], "f64")
    case("MatMul", [f(8, 16, dtype=np.float16), f(16, 16, dtype=np.float16)], "f16")
    case("Gemm", [f(2, 3), f(3, 4)], "plain")
    case("Gemm", [f(2, 3), f(3, 4), f(4)], "bias")
    case("Gemm", [f(3, 2), f(4, 3), f(2, 1)], "all", transA=1, transB=1, alpha=0.5, beta=2.0)
    case("Gemm", [f(2, 3), f(3, 4), np.float32(0.5)], "scalar_bias")
    for name, equation, shapes in [
        ("product", "ij,jk->ik", [(2, 3), (3, 4)]), ("implicit", "ij,jk", [(2, 3), (3, 4)]),
        ("transpose", "ij->ji", [(2, 3)]), ("sum", "ij->i", [(2, 3)]), ("diagonal", "ii->i", [(3, 3)]),
        ("batch", "bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]), ("ellipsis", "...ij,...jk->...ik", [(2, 2, 3), (2, 3, 2)]),
        ("outer", "i,j->ij", [(2,), (3,)]), ("three", "ij,jk,kl->il", [(2, 3), (3, 2), (2, 2)]),
        ("spaces", "b h q d, b h k d -> b h q k", [(1, 2, 3, 2), (1, 2, 2, 2)]), ("inner", "i,i->", [(3,), (3,)])]:
        case("Einsum", [f(*shape) for shape in shapes], name, equation=equation)
    case("MatMulInteger", [i(2, 3, low=0, high=200, dtype=np.uint8), i(3, 2, dtype=np.int8), np.uint8(12),
                           np.int8(-3)], "zero_points")
    case("QLinearMatMul", [i(2, 3, low=0, high=200, dtype=np.uint8), np.float32(0.02), np.uint8(99),
                           i(3, 2, low=0, high=200, dtype=np.uint8), np.float32(0.01), np.uint8(101), np.float32(0.03),
                           np.uint8(120)], "u8")
    case("QuantizeLinear", [f(2, 4), np.float32(0.03), np.uint8(128)], "u8")
    case("QuantizeLinear", [f(2, 3), f(3, low=0.01, high=0.1), np.array([0, 5, -9], np.int8)], "per_axis", axis=1)
    case("DequantizeLinear", [i(2, 4, low=0, high=255, dtype=np.uint8), np.float32(0.03), np.uint8(128)], "u8")
    case("DequantizeLinear", [i(2, 3, low=-100, high=99, dtype=np.int8), f(2, low=0.01)], "per_axis", axis=0)
    case("DequantizeLinear", [i(2, 4, low=-100, high=99, dtype=np.int8), f(2, 2, low=0.01)], "blocked", opset=21,
         axis=1, block_size=2)
    case("DynamicQuantizeLinear", [f(2, 4)], "plain", outputs=3)


def normalizations():
    start("normalizations")
    x = f(2, 4, 3, 3)
    c = lambda n=4, low=-2.0: f(n, low=low)
    case("BatchNormalization", [x, c(), c(), c(), c(low=0.2)], "plain", opset=15)
    case("BatchNormalization", [x, c(), c(), c(), c(low=0.2)], "epsilon", opset=15, epsilon=0.1)
    case("BatchNormalization", [x, c(), c(), c(), c(low=0.2)], "training", opset=15, training_mode=1, outputs=3,
         momentum=0.8)
    case("InstanceNormalization", [x, c(), c()], "plain")
    for axis in [-1, 1, 2]:
        shape = (2, 3, 4)[axis:]
        case("LayerNormalization", [f(2, 3, 4), f(*shape), f(*shape)], f"axis_{axis}".replace("-", "m"), axis=axis)
    case("LayerNormalization", [f(2, 3, 4), f(4)], "no_bias")
    case("LayerNormalization", [f(2, 3, 4), f(4), f(4)], "statistics", outputs=3, epsilon=0.01)
    case("RMSNormalization", [f(2, 3, 4), f(4)], "plain", opset=23)
    case("RMSNormalization", [f(2, 3, 4), f(3, 4)], "axis", opset=23, axis=-2, epsilon=0.1)
    case("GroupNormalization", [x, f(4), f(4)], "by_channel", opset=21, num_groups=2)
    case("LpNormalization", [f(2, 3)], "l2")
    case("LpNormalization", [f(2, 3)], "l1", p=1, axis=0)
    case("MeanVarianceNormalization", [x], "plain")
    case("LRN", [f(1, 5, 2, 2)], "default", size=3)
    case("LRN", [f(1, 5, 2, 2)], "numbers", size=5, alpha=0.1, beta=0.5, bias=2.0)


def windows():
    start("windows")
    x, w = f(1, 2, 6, 5), f(3, 2, 3, 2)
    case("Conv", [x, w], "plain")
    case("Conv", [x, w, f(3)], "bias", pads=[1, 0, 2, 1], strides=[2, 1])
    case("Conv", [x, w], "dilated", dilations=[2, 1])
    for auto in ["SAME_UPPER", "SAME_LOWER", "VALID"]:
        case("Conv", [x, w], auto.lower(), auto_pad=auto, strides=[2, 2])
    case("Conv", [f(1, 4, 5, 5), f(6, 2, 3, 3)], "groups", group=2)
    case("Conv", [f(1, 3, 5, 5), f(3, 1, 3, 3)], "depthwise", group=3, pads=[1, 1, 1, 1])
    case("Conv", [f(2, 2, 7), f(3, 2, 3)], "1d", strides=[2])
    case("Conv", [f(1, 1, 3, 4, 3), f(2, 1, 2, 2, 2)], "3d")
    t, v = f(1, 2, 3, 3), f(2, 3, 3, 2)
    case("ConvTranspose", [t, v], "plain")
    case("ConvTranspose", [t, v, f(3)], "strides", strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 0])
    case("ConvTranspose", [t, v], "dilated", dilations=[2, 1])
    case("ConvTranspose", [f(1, 4, 3), f(4, 2, 2)], "groups", group=2, strides=[2])
    case("ConvTranspose", [t, v], "same_upper", auto_pad="SAME_UPPER", strides=[2, 2])
    case("ConvTranspose", [t, v], "output_shape", output_shape=[8, 7], strides=[2, 2])
    image = f(1, 2, 5, 6)
    for op in ["MaxPool", "AveragePool", "LpPool"]:
        opset = 18 if op == "LpPool" else 17
        case(op, [image], "plain", kernel_shape=[2, 3], opset=opset)
        case(op, [image], "padded", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], opset=opset)
        case(op, [image], "ceil", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, opset=opset)
        case(op, [image], "same", kernel_shape=[2, 2], auto_pad="SAME_UPPER", opset=opset)
        case(op, [f(1, 1, 8)], "1d", kernel_shape=[3], strides=[2], opset=opset)
    case("AveragePool", [image], "counts_padding", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    case("AveragePool", [image], "dilated", kernel_shape=[2, 2], dilations=[2, 2], opset=19)
    case("MaxPool", [image], "dilated", kernel_shape=[2, 2], dilations=[2, 2])
    case("MaxPool", [image], "positions", kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    case("MaxPool", [i(1, 1, 4, 4, dtype=np.int8)], "i8", kernel_shape=[2, 2])
    for op in ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]:
        case(op, [image], "plain")
    case("Col2Im", [f(1, 8, 4), ints(4, 4), ints(2, 2)], "strides", opset=18, known=[1, 2], strides=[2, 2])
    case("Col2Im", [f(1, 4, 9), ints(4, 4), ints(2, 2)], "overlaps", opset=18, known=[1, 2])
    small = f(1, 1, 3, 4)
    empty = np.zeros(0, np.float32)
    for mode in ["nearest", "linear", "cubic"]:
        for transform in ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]:
            case("Resize", [small, None, None, ints(1, 1, 6, 7)], f"{mode}_{transform}", known=[3], mode=mode,
                 coordinate_transformation_mode=transform)
    for rounding in ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]:
        case("Resize", [small, None, np.array([1, 1, 2, 1.5], np.float32)], rounding, known=[2], mode="nearest",
             nearest_mode=rounding)
    case("Resize", [small, None, np.array([1, 1, 0.6, 0.6], np.float32)], "align_corners_scales", known=[2],
         mode="linear", coordinate_transformation_mode="align_corners")
    case("Resize", [small, empty, np.array([2, 0.5], np.float32)], "axes", known=[1, 2], opset=18, mode="linear",
         axes=[3, 2])
    case("Resize", [small, None, None, ints(1, 1, 6, 8)], "exclude_outside", known=[3], mode="cubic",
         cubic_coeff_a=-0.5, exclude_outside=1)
    grid = f(1, 3, 2, 2, low=-1.3, high=1.3)
    for mode, old in [("nearest", "nearest"), ("linear", "bilinear"), ("cubic", "bicubic")]:
        for padding in ["zeros", "border", "reflection"]:
            for align in [0, 1]:
                case("GridSample", [f(1, 2, 3, 4), grid], f"{mode}_{padding}_{align}", opset=20, mode=mode,
                     padding_mode=padding, align_corners=align)
        case("GridSample", [f(1, 2, 3, 4), grid], old + "_opset16", opset=16, mode=old)
    case("GridSample", [f(1, 1, 2, 3, 2), f(1, 2, 1, 2, 3, low=-1, high=1)], "3d", opset=20)
    # What is not finite reaches the results whose window has it, and no other.
    t, v = f(1, 2, 4, 3), f(2, 3, 4, 3)
    t[0, 0, 1, 1], t[0, 1, 2, 0], t[0, 1, 3, 2] = np.inf, np.nan, -np.inf
    case("ConvTranspose", [t, v, f(3)], "infinite", strides=[2, 2], pads=[1, 1, 1, 1])
    case("ConvTranspose", [t, v], "infinite_dilated", strides=[2, 3], dilations=[2, 2], pads=[1, 0, 0, 2])
    case("ConvTranspose", [t, f(2, 2, 2, 2)], "infinite_apart", strides=[3, 4], group=2, output_padding=[2, 1])
    case("ConvTranspose", [t, f(2, 3, 3, 3)], "infinite_cut", strides=[2, 2], pads=[2, 2, 3, 1])
    case("ConvTranspose", [t, f(2, 1, 2, 4)], "infinite_patches", strides=[2, 4])
    columns = f(1, 12, 6)
    columns[0, 1, 2], columns[0, 6, 4], columns[0, 11, 0] = np.inf, np.nan, -np.inf
    case("Col2Im", [columns, ints(4, 4), ints(3, 2)], "infinite", opset=18, known=[1, 2])
    case("Col2Im", [columns, ints(4, 6), ints(2, 3)], "infinite_strides", opset=18, known=[1, 2], strides=[2, 2],
         pads=[0, 1, 1, 0])
    case("Col2Im", [columns, ints(6, 5), ints(3, 2)], "infinite_dilated", opset=18, known=[1, 2], dilations=[2, 2])


def sequences():
    start("sequences")
    x, steps = f(4, 2, 3), 4
    for op, gates in [("RNN", 1), ("GRU", 3), ("LSTM", 4)]:
        outputs = 3 if op == "LSTM" else 2
        def weights(directions):
            return [f(directions, gates * 2, 3), f(directions, gates * 2, 2)]
        case(op, [x, *weights(1)], "plain", outputs=outputs, hidden_size=2)
        case(op, [x, *weights(1), f(1, gates * 4), None, f(1, 2, 2)], "bias_state", outputs=outputs, hidden_size=2)
        case(op, [x, *weights(1), f(1, gates * 4)], "reverse", outputs=outputs, hidden_size=2, direction="reverse")
        case(op, [x, *weights(2), f(2, gates * 4)], "both", outputs=outputs, hidden_size=2, direction="bidirectional")
        case(op, [x, *weights(1), f(1, gates * 4), np.array([4, 2], np.int32)], "lengths", outputs=outputs,
             hidden_size=2)
    case("GRU", [x, f(1, 6, 3), f(1, 6, 2), f(1, 12)], "reset_after", outputs=2, hidden_size=2, linear_before_reset=1)
    case("LSTM", [x, f(1, 8, 3), f(1, 8, 2), f(1, 16), None, f(1, 2, 2), f(1, 2, 2), f(1, 6)], "peepholes", outputs=3,
         hidden_size=2)
    case("RNN", [x, f(1, 2, 3), f(1, 2, 2)], "relu", outputs=2, hidden_size=2, activations=["Relu"])
    case("DFT", [f(1, 6, 1)], "real", axis=1)
    case("DFT", [f(1, 5, 3, 2)], "complex", axis=1)
    case("DFT", [f(2, 5, 2)], "inverse", axis=1, inverse=1)
    case("DFT", [f(1, 6, 1)], "onesided", axis=1, onesided=1)
    case("DFT", [f(1, 4, 6, 1), None, np.int64(-2)], "axis_input", opset=20, known=[2])
    case("DFT", [f(1, 6, 1), np.int64(4)], "length", known=[1], axis=1)
    case("STFT", [f(1, 16, 1), np.int64(4), f(8, low=0.1)], "window", known=[1])
    for op in ["HannWindow", "HammingWindow", "BlackmanWindow"]:
        case(op, [np.int64(7)], "periodic", known=[0])
        case(op, [np.int64(7)], "symmetric", known=[0], periodic=0)


def attentions():
    start("attentions")
    q, k, v = f(1, 4, 3, 2), f(1, 4, 5, 2), f(1, 4, 5, 2)
    case("Attention", [q, k, v], "plain", opset=23)
    case("Attention", [q, k, v], "scale", opset=23, scale=0.3)
    case("Attention", [q, k, v], "causal", opset=23, is_causal=1)
    case("Attention", [q, k, v, b(3, 5) | np.eye(3, 5, dtype=bool)], "bool_mask", opset=23)
    case("Attention", [q, k, v, f(1, 4, 3, 5)], "float_mask", opset=23)
    case("Attention", [q, f(1, 2, 5, 2), f(1, 2, 5, 3)], "grouped", opset=23)
    case("Attention", [f(1, 3, 8), f(1, 5, 4), f(1, 5, 4)], "flat", opset=23, q_num_heads=4, kv_num_heads=2)
    case("Attention", [q, k, v, None, f(1, 4, 2, 2), f(1, 4, 2, 2)], "past", opset=23, outputs=3)
    case("Attention", [q, k, v], "softcap", opset=23, softcap=0.7)
    for mode in [0, 3]:
        case("Attention", [q, k, v], f"shows_{mode}", opset=23, outputs=4, qk_matmul_output_mode=mode)
    half = f(1, 5, 2)
    case("RotaryEmbedding", [f(1, 2, 5, 4), half, f(1, 5, 2)], "plain", opset=23)
    case("RotaryEmbedding", [f(1, 2, 5, 4), half, f(1, 5, 2)], "interleaved", opset=23, interleaved=1)
    case("RotaryEmbedding", [f(1, 2, 5, 6), half, f(1, 5, 2)], "partial", opset=23, rotary_embedding_dim=4)
    case("RotaryEmbedding", [f(1, 5, 8), f(9, 2), f(9, 2), ints(0, 3, 1, 8, 2).reshape(1, 5)], "positions", opset=23,
         num_heads=2)
    # Heads that share keys, with all that scores go through.
    k, v = f(1, 2, 5, 2), f(1, 2, 5, 3)
    case("Attention", [q, k, v], "grouped_causal", opset=23, is_causal=1, softcap=0.7)
    case("Attention", [q, k, v, f(4, 3, 5)], "grouped_mask", opset=23)
    case("Attention", [q, k, v, f(1, 1, 3, 5)], "grouped_shared_mask", opset=23, is_causal=1)
    case("Attention", [q, k, v], "grouped_shows", opset=23, outputs=4, qk_matmul_output_mode=3)


def unsigned():
    """Numbers of the upper half of each type, which would be negative if they had a sign."""
    start("unsigned")
    T = onnx.TensorProto
    kinds = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}
    for kind, dtype in kinds.items():
        top = int(np.iinfo(dtype).max)
        def u(*values, shape=None):
            return np.array([v % (top + 1) for v in values], dtype).reshape(shape or len(values))
        x, y = u(top, top // 2 + 1, 3, 200, 0, 129), u(2, 3, top, 200, top // 2 + 1, 7)
        for op in ["Add", "Sub", "Mul", "Div"]:
            case(op, [x, y.clip(1)], kind, opset=14)
        case("Mod", [x, y], kind)
        case("Mod", [x, y], kind + "_like_c", fmod=1)
        for op in ["Max", "Min"]:
            case(op, [x, y, u(top - 5)], kind)
        case("Clip", [x, u(5, shape=()), u(top - 3, shape=())], kind)
        case("Abs", [x], kind)
        case("Sign", [x], kind)
        for op in ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]:
            case(op, [x, y], kind, opset=19)
        for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
            case(op, [x, y], kind, opset=18)
        case("BitwiseNot", [x], kind, opset=18)
        for direction in ["LEFT", "RIGHT"]:
            case("BitShift", [x, u(1, 2, 3, 7, 0, 8 * dtype().itemsize)], f"{kind}_{direction.lower()}",
                 direction=direction)
        case("Where", [np.array([1, 0, 1, 0, 1, 0], bool), x, y], kind)
        # To and from every type.
        case("Cast", [x], kind + "_to_f64", to=T.DOUBLE)
        case("Cast", [u(top, top // 2 + 1, 5)], kind + "_to_f32", to=T.FLOAT)
        case("Cast", [u(0, 1, 100)], kind + "_to_f16", to=T.FLOAT16)
        for to in ["INT64", "INT32", "INT8", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"]:
            case("Cast", [x], f"{kind}_to_{to.lower()}", to=getattr(T, to))
        case("Cast", [np.array([-1, 0, 5, 300, -(2**40), 2**40 + 77])], f"i64_to_{kind}", to=getattr(T, "UINT" + kind[1:]))
        case("Cast", [np.array([-1, 7, -128], np.int8)], f"i8_to_{kind}", to=getattr(T, "UINT" + kind[1:]))
        case("Cast", [b(4)], f"bool_to_{kind}", to=getattr(T, "UINT" + kind[1:]))
        case("Cast", [np.array([0.0, 1.9, 127.5, 200.25], np.float32)], f"f32_to_{kind}", to=getattr(T, "UINT" + kind[1:]))
        case("Cast", [np.array([0.0, float(top // 2 + 1), 3.7])], f"f64_to_{kind}", to=getattr(T, "UINT" + kind[1:]))
        case("CastLike", [f(3, low=0), u(1)], "to_" + kind)
        m, n = u(top, 1, 7, 3, top // 2 + 1, 200, shape=(2, 3)), u(9, top, 4, 2, top - 1, 0, shape=(2, 3))
        for op in ["ReduceMax", "ReduceMin"]:
            if kind != "u16":
                case(op, [m, ints(1)], kind, opset=18, known=[1])
        if kind in ("u32", "u64"):
            # The reference divides u64 in f64, and squares u32 in u64.
            other = "ReduceMean" if kind == "u32" else "ReduceSumSquare"
            for op in ["ReduceSum", "ReduceProd", "ReduceL1", other]:
                case(op, [m // 4, ints(1)], kind, opset=18, known=[1], keepdims=0)
            case("CumSum", [m, np.int64(1)], kind, known=[1])
            case("MatMul", [m, n.reshape(3, 2)], kind)
            case("Einsum", [m, n], kind, equation="ij,kj->ik")
        for op in ["ArgMax", "ArgMin"]:
            case(op, [m], kind, axis=1)
        case("TopK", [m, ints(2)], kind, known=[1], outputs=2)
        for kind_of in ["max", "min", "add", "mul"]:
            case("ScatterElements", [m, np.array([[1, 0, 1], [0, 1, 0]]), n], f"{kind}_{kind_of}", opset=18,
                 reduction=kind_of)
        case("ScatterND", [m, np.array([[1]]), u(1, 2, top, shape=(1, 3))], kind + "_max", opset=18, reduction="max")
        case("Gather", [m, ints(1, 0)], kind, axis=1)
        case("GatherElements", [m, np.array([[1, 1, 0]])], kind)
        case("GatherND", [m, np.array([[1, 2], [0, 0]])], kind)
        case("OneHot", [u(1, 200, 0), np.int64(3), u(4, top)], kind, known=[1])
        case("Concat", [m, n], kind, axis=1)
        case("Slice", [m, ints(1), ints(3), ints(1)], kind, known=[1, 2, 3])
        case("Split", [m], kind, outputs=2, axis=0, opset=13)
        case("Pad", [m, ints(0, 1, 1, 0), u(top, shape=())], kind, known=[1, 2])
        case("Transpose", [m], kind)
        case("Reshape", [m, ints(3, 2)], kind, known=[1])
        case("Expand", [u(top, 1), ints(3, 2)], kind, known=[1])
        case("Tile", [m, ints(1, 2)], kind, known=[1])
        case("Squeeze", [u(top, shape=(1, 1)), ints(0)], kind, known=[1])
        case("Unsqueeze", [u(top), ints(0)], kind, known=[1])
        case("Flatten", [m], kind)
        case("Identity", [m], kind)
        case("Trilu", [m], kind)
        case("EyeLike", [m], kind)
        case("NonZero", [m], kind, known=[0])
        case("ReverseSequence", [m, ints(2, 1)], kind, time_axis=1, batch_axis=0)
        case("ConstantOfShape", [ints(2)], kind, known=[0], value=numpy_helper.from_array(np.array([top], dtype)))
        case("DepthToSpace", [u(*range(top - 7, top + 1), shape=(1, 4, 1, 2))], kind, blocksize=2)
        if kind == "u32":  # the reference multiplies with alpha, in f64
            case("Gemm", [m, u(1, 0, 0, 1, 0, 0, shape=(3, 2)), u(0, 5)], kind)
        if kind == "u8":
            case("MaxPool", [u(*range(248, 256), 0, 1, 2, 3, 127, 128, 129, 4, shape=(1, 1, 4, 4))], kind,
                 kernel_shape=[2, 2], pads=[1, 1, 0, 0])


def losses():
    start("losses")
    for op in ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"]:
        for reduction in ["mean", "sum", "none"]:
            case(op, [f(5, 4), i(5, low=0, high=4)], f"{reduction}", reduction=reduction)
            case(op, [f(5, 4), i(5, low=0, high=4), f(4, low=0.1)], f"{reduction}_weights", reduction=reduction)
            case(op, [f(2, 4, 3), i(2, 3, low=0, high=4)], f"{reduction}_3d", reduction=reduction)
            case(op, [f(2, 4, 3), np.array([[0, -100, 3], [-100, 1, 2]])], f"{reduction}_ignored", reduction=reduction,
                 ignore_index=-100)
            case(op, [f(2, 4, 3), np.array([[0, 1, 3], [1, 1, 2]]), f(4, low=0.1)], f"{reduction}_ignored_weights",
                 reduction=reduction, ignore_index=1)
        case(op, [f(3, 4), np.array([2, 0, 1], np.int32)], "i32_labels")
        case(op, [f(3, 4), np.array([2, 0, 1])], "default", opset=13)
    case("SoftmaxCrossEntropyLoss", [f(3, 4), np.array([2, 0, 1])], "log_probabilities", outputs=2)
    case("SoftmaxCrossEntropyLoss", [np.array([[1000, -1000, 0], [-1000, 1000, 999]], np.float32), np.array([0, 2])],
         "large", reduction="none")
    case("SoftmaxCrossEntropyLoss", [f(2, 4, 2, 3), i(2, 2, 3, low=0, high=4)], "4d", reduction="none")
    case("SoftmaxCrossEntropyLoss", [f(3, 4, dtype=np.float16), np.array([2, 0, 1])], "f16")


def make_model(entry):
    names = [f"in{n}" if value is not None else "" for n, value in enumerate(entry["inputs"])]
    outputs = [f"out{n}" for n in range(entry["outputs"])]
    node = helper.make_node(entry["op"], names, outputs, **entry["attributes"])
    given = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
             for n, value in zip(names, entry["inputs"]) if value is not None]
    results = [helper.make_value_info(n, onnx.TypeProto()) for n in outputs]
    graph = helper.make_graph([node], "g", given, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", entry["opset"])], ir_version=10)
    inferred = onnx.shape_inference.infer_shapes(model)
    for mine, theirs in zip(model.graph.output, inferred.graph.output):
        mine.CopyFrom(theirs)
    return model


def close(one, other, entry):
    tolerance = entry["tolerance"] or (2e-3 if one.dtype == np.float16 else 2e-5)
    return one.shape == other.shape and np.allclose(one.astype(np.float64), other.astype(np.float64), rtol=tolerance,
                                                    atol=tolerance, equal_nan=True)


def evaluate(entry):
    """The expected results: onnxruntime's and the reference's, which agree."""
    model = make_model(entry)
    feeds = {f"in{n}": value for n, value in enumerate(entry["inputs"]) if value is not None}
    found = {}
    problems = {}
    try:
        found["reference"] = [np.asarray(r) for r in ReferenceEvaluator(model).run(None, feeds)]
    except Exception as error:  # an operator variant that it lacks
        problems["reference"] = error
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found["onnxruntime"] = [np.asarray(r) for r in session.run(None, feeds)]
    except Exception as error:
        problems["onnxruntime"] = error
    if not found:
        sys.exit(f"{entry['name']}: nobody computes it: {problems}")
    if entry["name"] in DIFFERENT:
        return found[DIFFERENT[entry["name"]][0]], "one"
    values = list(found.values())
    if len(values) == 2 and not all(close(a, b, entry) for a, b in zip(*values)):
        print(f"{entry['name']}: the reference and onnxruntime differ:\n{values[0]}\n{values[1]}")
        return None, "differ"
    return values[0], "both" if len(values) == 2 else "one"


TYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16",
         "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool"}


def to_json(value):
    if value is None:
        return None
    value = np.asarray(value)
    flat = value.reshape(-1)
    if flat.dtype.kind == "f":
        digits = 17 if flat.dtype == np.float64 else 8
        numbers = [str(x) if not np.isfinite(x) else float(f"{float(x):.{digits}g}") for x in flat]
    else:
        numbers = [int(x) for x in flat]
    return {"type": TYPES[value.dtype.name], "shape": list(value.shape), "data": numbers}


def attribute_to_json(value):
    if isinstance(value, onnx.TensorProto):
        return to_json(numpy_helper.to_array(value))
    return value


def main():
    for build in [elementwise, functions, shapes, indexing, reductions, contractions, normalizations, windows, sequences,
                  attentions, unsigned, losses]:
        build()
    FOLDER.mkdir(exist_ok=True)
    agreed = alone = 0
    bad = []
    for name, entries in FAMILIES.items():
        lines, seen = [], set()
        for entry in entries:
            if entry["name"] in seen:
                sys.exit(f"two cases {entry['name']}")
            seen.add(entry["name"])
            entry["inputs"] = [None if v is None else np.asarray(v) for v in entry["inputs"]]
            expected, how = evaluate(entry)
            if expected is None:
                bad.append(entry["name"])
                continue
            agreed += how == "both"
            alone += how == "one"
            record = {"name": entry["name"], "op": entry["op"], "opset": entry["opset"], "known": entry["known"],
                      "attributes": {k: attribute_to_json(v) for k, v in entry["attributes"].items()},
                      "inputs": [to_json(v) for v in entry["inputs"]], "outputs": [to_json(v) for v in expected]}
            if entry["tolerance"]:
                record["tolerance"] = entry["tolerance"]
            lines.append(json.dumps(record, separators=(",", ":")))
        (FOLDER / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{agreed} cases on which onnx and onnxruntime agree, {alone} of one alone, {len(bad)} left out: {bad}")


if __name__ == "__main__":
    main()
