#!/usr/bin/python3
"""Runs single operators through dist-import and dist-run: see make_cases.py for where cases/*.json come from.

    run_cases.py FAMILY.json... [--only REGEX]

Each case runs three times: with its inputs as the model's inputs; as constants of the model, which the importer may
compute with itself; and as inputs whose sizes the model leaves open, those of one size under one name, which running
tells. A case whose import asks for some of the sizes gets these, and only those that NEEDS_SIZES names may ask.
Many cases share one model, to be quick; when that model is rejected, or its run fails, each case runs alone. Programs
come from tools/ below the current folder.
"""

import argparse
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
import npy  # noqa: E402
import xunit  # noqa: E402

TOOLS = os.path.abspath("tools")

# name: number in TensorProto.DataType, letter of array, type in an .npy file
TYPES = {"f32": (1, "f"), "u8": (2, "B"), "i8": (3, "b"), "u16": (4, "H"),
         "i16": (5, "h"), "i32": (6, "i"), "i64": (7, "q"), "bool": (9, "B"),
         "f16": (10, "e"), "f64": (11, "d"), "u32": (12, "I"), "u64": (13, "Q")}


# Operators, or regular expressions on names of cases, whose import asks for sizes: those that a number of the model is
# compared with, or that say how many nodes there would be; and operators that take no open sizes at all.
NEEDS_SIZES = [
    "Split", "DepthToSpace", "SpaceToDepth", "TopK", "OneHot", "BatchNormalization", "InstanceNormalization",
    "GroupNormalization", "Attention", "RotaryEmbedding", "Conv", "MaxPool", "AveragePool", "LpPool",
    r"reshape_(to_(6_4|2_m1|0_12|4_3_2|1_2_1_3_4)|allowzero|u\d+)", "squeeze_all", "slice_back.*", r"expand_u\d+",
    "pad_(reflect|edge|cuts|wrap)", r"gathernd_(rows|u\d+)", r"scatter.*_(elements|run_.*|grid|grid_[^s].*)", "dequantizelinear_blocked",
    # none at all
    "CenterCropPad", "Col2Im", "ConvTranspose", "DFT", "GRU", "GridSample", "LSTM", "RNN", "Resize", "ReverseSequence",
    "STFT",
]


class Failure(Exception):
    """A case that failed, and why."""


# Protobuf's wire format, as far as a model of onnx.proto needs it.


def varint(value):
    value %= 1 << 64
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def real(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


def raw_data(tensor):
    letter = TYPES[tensor["type"]][1]
    values = [float(x) for x in tensor["data"]] if letter in "fde" else tensor["data"]
    return struct.pack(f"<{len(values)}{letter}", *values)


def tensor_proto(tensor, name=""):
    dims = b"".join(number(1, size) for size in tensor["shape"])
    return dims + number(2, TYPES[tensor["type"]][0]) + text(8, name) + text(9, raw_data(tensor))


def attribute_proto(name, value):
    body = text(1, name)
    if isinstance(value, dict):
        return body + text(5, tensor_proto(value)) + number(20, 4)
    if isinstance(value, str):
        return body + text(4, value) + number(20, 3)
    if isinstance(value, float):
        return body + real(2, value) + number(20, 1)
    if isinstance(value, int):
        return body + number(3, value) + number(20, 2)
    if value and isinstance(value[0], str):
        return body + b"".join(text(9, v) for v in value) + number(20, 8)
    if value and isinstance(value[0], float):
        return body + b"".join(real(7, v) for v in value) + number(20, 6)
    return body + b"".join(number(8, v) for v in value) + number(20, 7)


def node_proto(op, inputs, outputs, name, attributes):
    return (b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in outputs) + text(3, name) + text(4, op)
            + b"".join(text(5, attribute_proto(k, v)) for k, v in attributes.items()))


def value_info(name, kind, shape=None):
    """A size that is text is open, and has that name."""
    dims = b"".join(text(1, text(2, size) if isinstance(size, str) else number(1, size)) for size in shape or [])
    return text(1, name) + text(2, text(1, number(1, TYPES[kind][0]) + (b"" if shape is None else text(2, dims))))


class Model:
    """A model of several cases, and the inputs and outputs that it is run with."""

    def __init__(self, opset, mode, needed=None):
        """`needed`: by case, sizes that are not left open."""
        self.opset, self.mode, self.needed = opset, mode, needed or {}
        self.body, self.inputs, self.outputs = b"", {}, {}

    def add(self, case):
        names = []
        for index, value in enumerate(case["inputs"]):
            name = f"{case['name']}.in{index}" if value is not None else ""
            names.append(name)
            if value is None:
                continue
            if self.mode == "constants" or index in case["known"]:
                # A constant: an initialiser of numbers would be a parameter.
                self.body += text(1, node_proto("Constant", [], [name], name, {"value": value}))
                continue
            self.inputs[name] = value
            shape = value["shape"]
            if self.mode == "open":  # but 1 is what is broadcast
                given = {0, 1} | self.needed.get(case["name"], set())
                shape = [size if size in given else f"{case['name']}.{size}" for size in shape]
            self.body += text(11, value_info(name, value["type"], shape))
        results = []
        for index, value in enumerate(case["outputs"]):
            name = f"{case['name']}.out{index}"
            results.append(name)
            self.outputs[name] = value
            self.body += text(12, value_info(name, value["type"], None if self.mode == "open" else value["shape"]))
        self.body += text(1, node_proto(case["op"], names, results, case["name"], case["attributes"]))

    def to_bytes(self):
        return number(1, 10) + text(7, self.body) + text(8, text(1, "") + number(2, self.opset))

    def run(self, folder):
        """The results by name."""
        path = os.path.join(folder, "case.onnx")
        with open(path, "wb") as file:
            file.write(self.to_bytes())
        module, results = os.path.join(folder, "case.mlir"), os.path.join(folder, "results")
        call("dist-import", path, "-o", module)
        options = []
        for index, (name, value) in enumerate(self.inputs.items()):
            path = os.path.join(folder, f"{index}.npy")
            npy.write(path, {"bool": "i1"}.get(value["type"], value["type"]), value["shape"], raw_data(value))
            options += ["--input", f"{name}={path}"]
        call("dist-run", module, *options, "--output", results)
        return {name: npy.read(os.path.join(results, name + ".npy")) for name in self.outputs}


def call(program, *arguments):
    run = subprocess.run([os.path.join(TOOLS, program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False)
    if run.returncode:
        raise Failure(f"{program}: exit status {run.returncode}\n{run.stdout[-3000:]}")


def compare(case, results):
    for index, _ in enumerate(case["outputs"]):
        name = f"{case['name']}.out{index}"
        expected = case["outputs"][index]
        kind, shape, values = results[name]
        kind = {"i1": "bool"}.get(kind, kind)
        if (kind, list(shape)) != (expected["type"], expected["shape"]):
            raise Failure(f"{name} is {kind} {shape}, not {expected['type']} {expected['shape']}")
        tolerance = case.get("tolerance", {"f32": 2e-5, "f16": 2e-3, "f64": 1e-10}.get(kind, 0))
        number_of = float if TYPES[kind][1] in "fde" else int
        for at, (got, want) in enumerate(zip(values, map(number_of, expected["data"]))):
            same = got == want or (got != got and want != want)
            if not same and not (tolerance and abs(got - want) <= tolerance * (1 + abs(want))):
                raise Failure(f"{name}: element {at} of shape {shape} is {got!r}, expected {want!r}\n{json.dumps(case)}")


def find_needed(cases, opset, folder):
    """By case: the sizes that its import asks for, one after the other."""
    needed = {case["name"]: set() for case in cases}
    while True:
        model = Model(opset, "open", needed)
        for case in cases:
            model.add(case)
        path = os.path.join(folder, "open.onnx")
        with open(path, "wb") as file:
            file.write(model.to_bytes())
        try:
            call("dist-import", path, "-o", os.path.join(folder, "open.mlir"))
            return needed
        except Failure as failure:
            asked = re.findall(r"--bind (\S+)\.(\d+)=N", str(failure))
            if all(int(size) in needed[name] for name, size in asked):
                return needed
            for name, size in asked:
                needed[name].add(int(size))


def run_open(cases, opset, folder):
    """Problems by case: what asks for sizes must be expected to, and is right once it has them."""
    needed = find_needed(cases, opset, folder)
    problems = run_together(cases, opset, "open", folder, needed)
    for case in cases:
        expected = any(re.fullmatch(pattern, key) for pattern in NEEDS_SIZES for key in (case["op"], case["name"]))
        if needed[case["name"]] and not expected:
            problems.setdefault(case["name"], f"needs the sizes {sorted(needed[case['name']])}")
        if not needed[case["name"]] and expected:
            problems.setdefault(case["name"], "needs no sizes any more: take it out of NEEDS_SIZES")
    return problems


def run_together(cases, opset, mode, folder, needed=None):
    """Problems by case; all cases in one model if that works."""
    model = Model(opset, mode, needed)
    for case in cases:
        model.add(case)
    try:
        results = model.run(folder)
    except Failure as failure:
        if len(cases) == 1:
            return {cases[0]["name"]: str(failure)}
        half = len(cases) // 2
        return {**run_together(cases[:half], opset, mode, folder, needed),
                **run_together(cases[half:], opset, mode, folder, needed)}
    problems = {}
    for case in cases:
        try:
            compare(case, results)
        except Failure as failure:
            problems[case["name"]] = str(failure)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="+")
    parser.add_argument("--only", default="", help="regular expression on names of cases")
    parser.add_argument("--modes", default="inputs,constants,open", help="how the cases run")
    arguments = parser.parse_args()
    outcomes = []
    for path in arguments.families:
        with open(path, encoding="utf-8") as file:
            cases = [case for case in json.load(file) if re.search(arguments.only, case["name"])]
        by_opset = collections.defaultdict(list)
        for case in cases:
            by_opset[case["opset"]].append(case)
        for opset, group in sorted(by_opset.items()):
            for mode in arguments.modes.split(","):
                with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
                    problems = (run_open(group, opset, folder) if mode == "open" else
                                run_together(group, opset, mode, folder))
                for case in group:
                    name = f"{case['name']}.{mode}"
                    problem = problems.get(case["name"])
                    outcomes.append((name, 0.0, problem))
                    if problem:
                        print("FAILED", name, problem, flush=True)
    suite = "operators." + "_".join(os.path.basename(path).removesuffix(".json") for path in arguments.families)
    return xunit.finish(suite, outcomes)


if __name__ == "__main__":
    sys.exit(main())
