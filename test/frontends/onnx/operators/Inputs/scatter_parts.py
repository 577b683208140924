"""Scatters by more than 65,536 indices, as text: argv[1].{file,other,repeated}.txt."""

import itertools
import sys


def value(kind, name, shape, element=1):
    dims = " ".join(f"dim {{ dim_value: {size} }}" for size in shape)
    return f'  {kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: {element} shape {{ {dims} }} }} }} }}\n'


def data(name, shape, numbers):
    dims = " ".join(f"dims: {size}" for size in shape)
    return f'  initializer {{ name: "{name}" data_type: 7 {dims} int64_data: {list(numbers)} }}\n'


def node(op, inputs, output, attribute=""):
    names = " ".join(f'input: "{name}"' for name in inputs)
    return f'  node {{ op_type: "{op}" {names} output: "{output}" {attribute} }}\n'


def write(kind, *lines):
    with open(f"{sys.argv[1]}.{kind}.txt", "w") as file:
        file.write("ir_version: 8\nopset_import { version: 18 }\ngraph {\n" + "".join(lines) + "}\n")


# Rows 1, 3, … of 12,001, counted from the end.
tuples = [[b, 1 + 2 * i - 12001, j] for b, i, j in itertools.product(range(2), range(6000), range(6))]
for kind in ("file", "other"):
    write(
        kind,
        value("input", "x", [2, 12001, 6]),
        value("input", "u", [2, 6000, 6]),
        data("at", [2, 6000, 6, 3], itertools.chain(*tuples)),
        node("ScatterND", ["x", "at", "u"], "y"),
        '  output { name: "y" }\n',
    )
    tuples[-1][1] += 1

parts = {"b": [[2, 1, 1], range(2)], "i": [[149, 1], range(2, 300, 2)], "j": [[256], range(256)]}
write(
    "repeated",
    value("input", "x", [2, 400, 300]),
    value("input", "u", [2, 149, 256]),
    value("input", "v", [2, 149, 300]),
    data("shape", [3], [2, 149, 256]),
    data("whole", [3], [2, 149, 300]),
    data("last", [1], [3]),
    *(data(name, *part) for name, part in parts.items()),
    *(node("Expand", [name, "shape"], name + "1") for name in parts),
    *(node("Unsqueeze", [name + "1", "last"], name + "2") for name in parts),
    node("Concat", ["b2", "i2", "j2"], "at", 'attribute { name: "axis" type: 2 i: 3 }'),
    node("ScatterND", ["x", "at", "u"], "y"),
    node("GatherND", ["y", "at"], "z"),
    node("Expand", ["i", "whole"], "rows"),
    node("ScatterElements", ["y", "rows", "v"], "w", 'attribute { name: "axis" type: 2 i: 1 }'),
    '  output { name: "w" }\n  output { name: "z" }\n',
)
