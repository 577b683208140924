"""Inputs of transposes.mlir, and a check of its results by their indices.

    transposes.py write FOLDER | transposes.py check INPUTS OUTPUTS
"""

import itertools
import os
import struct
import sys

SHAPES = {"x": ("f", (2, 37, 3, 53)), "d": ("d", (40, 11))}
# Of each result: the input, and where its dimensions come from.
RESULTS = {"y": ("x", (0, 3, 1, 2)), "z": ("x", (0, 3, 2, 1)), "t": ("d", (1, 0)), "n": ("x", (0, 1, 3, 2))}


def size_of(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def write_npy(path, code, shape):
    header = repr({"descr": "<f4" if code == "f" else "<f8", "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{size_of(shape)}{code}", *range(size_of(shape))))


def read_npy(path, code, count):
    with open(path, "rb") as file:
        data = file.read()
    return struct.unpack(f"<{count}{code}", data[10 + struct.unpack("<H", data[8:10])[0]:])


def place(shape, index):
    at = 0
    for extent, i in zip(shape, index):
        at = at * extent + i
    return at


def main():
    if sys.argv[1] == "write":
        os.makedirs(sys.argv[2], exist_ok=True)
        for name, (code, shape) in SHAPES.items():
            write_npy(os.path.join(sys.argv[2], f"{name}.npy"), code, shape)
        return 0
    for name, (source, order) in RESULTS.items():
        code, shape = SHAPES[source]
        out = [shape[dim] for dim in order]
        got = read_npy(os.path.join(sys.argv[3], f"{name}.npy"), code, size_of(shape))
        for number, index in enumerate(itertools.product(*map(range, out))):
            read = [0] * len(shape)
            for dim, i in zip(order, index):
                read[dim] = i
            if got[number] != place(shape, read):
                print(f"{name}{index} is {got[number]}, not {place(shape, read)}")
                return 1
    return 0


sys.exit(main())
