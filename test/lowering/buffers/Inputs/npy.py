"""Small .npy files without numpy: makes inputs, checks results.

    npy.py make FILE DTYPE SHAPE EXPRESSION
    npy.py check FILE EXPRESSION

SHAPE is a list such as 8,128 (empty for a scalar), DTYPE one of f32, f64, i64,
i32, i1. EXPRESSION is Python, evaluated for each element with its indices in i,
j, k; what `check` expects must be equal exactly.
"""

import ast
import itertools
import math
import struct
import sys

TYPES = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "i64": ("<i8", "q"), "i32": ("<i4", "i"), "i1": ("|b1", "?")}


def elements(shape, expression):
    code = compile(expression, "expression", "eval")
    for index in itertools.product(*map(range, shape)):
        yield index, eval(code, {"math": math, **dict(zip("ijk", index))})


def make(path, dtype, shape, expression):
    name, letter = TYPES[dtype]
    shape = tuple(int(size) for size in shape.split(",") if size)
    header = str({"descr": name, "fortran_order": False, "shape": shape})
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    data = b"".join(struct.pack("<" + letter, value) for _, value in elements(shape, expression))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def check(path, expression):
    with open(path, "rb") as file:
        data = file.read()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:end].decode())
    letter = dict(TYPES.values())[header["descr"]]
    shape = header["shape"]
    values = struct.unpack(f"<{math.prod(shape)}{letter}", data[end:])
    wrong = [
        (index, value, expected)
        for value, (index, expected) in zip(values, elements(shape, expression))
        if value != expected
    ]
    for index, value, expected in wrong[:3]:
        print(f"{path}: {list(index)} is {value}, expected {expected}")
    if wrong or not values:
        sys.exit(f"{path}: {len(wrong)} of {len(values)} elements are wrong")


{"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
