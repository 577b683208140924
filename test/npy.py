"""Reads and writes .npy files without numpy. For lit tests a program, %{npy}:

    npy.py make FILE TYPE SHAPE EXPRESSION
    npy.py check FILE EXPRESSION

SHAPE is a list such as 8,128 (empty for a scalar), TYPE a key of TYPES. EXPRESSION is Python, evaluated for each element
with its indices in i, j, k, l and its number in n; what `check` expects must be equal exactly. `random` draws the same
numbers in each file.
"""

import ast
import itertools
import math
import random
import struct
import sys

# By name: numpy's, and the letter of struct and array.
TYPES = {
    "f16": ("<f2", "e"),
    "f32": ("<f4", "f"),
    "f64": ("<f8", "d"),
    "i1": ("|b1", "?"),
    "i8": ("|i1", "b"),
    "i16": ("<i2", "h"),
    "i32": ("<i4", "i"),
    "i64": ("<i8", "q"),
    "u8": ("|u1", "B"),
    "u16": ("<u2", "H"),
    "u32": ("<u4", "I"),
    "u64": ("<u8", "Q"),
}


def write(path, kind, shape, values):
    """`values` are numbers, or the bytes of them."""
    description, letter = TYPES[kind]
    if not isinstance(values, bytes):
        values = list(values)
        values = struct.pack(f"<{len(values)}{letter}", *values)
    header = f"{{'descr': '{description}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)


def read(path):
    """The type, the shape and the numbers of a file."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode())
    (kind,) = (kind for kind, (description, _) in TYPES.items() if description == header["descr"])
    shape = header["shape"]
    return kind, shape, list(struct.unpack(f"<{math.prod(shape)}{TYPES[kind][1]}", data[10 + length :]))


def compute(shape, expression):
    """By element: its indices, and what the expression says."""
    code = compile(expression, "expression", "eval")
    names = {"math": math, "random": random.Random(3)}
    for number, index in enumerate(itertools.product(*map(range, shape))):
        yield index, eval(code, {**names, "n": number, **dict(zip("ijkl", index))})


def make(path, kind, shape, expression):
    shape = [int(size) for size in shape.split(",") if size]
    write(path, kind, shape, (value for _, value in compute(shape, expression)))


def check(path, expression):
    _, shape, values = read(path)
    wrong = [
        (index, value, expected)
        for value, (index, expected) in zip(values, compute(shape, expression))
        if value != expected
    ]
    for index, value, expected in wrong[:3]:
        print(f"{path}: {list(index)} is {value}, expected {expected}")
    if wrong or not values:
        sys.exit(f"{path}: {len(wrong)} of {len(values)} elements are wrong")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
