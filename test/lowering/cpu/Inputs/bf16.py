"""Inputs of bf16.mlir, and a check of its results with exact rational numbers.

    bf16.py write FOLDER | bf16.py check INPUTS OUTPUTS
"""

import os
import random
import struct
import sys
from fractions import Fraction

import npy

COUNT = 4096


def to_bf16(number):
    """A rational number rounded to 8 bits of precision, to nearest and even; small numbers to multiples of 2^-133."""
    if number == 0:
        return Fraction(0)
    exponent = 0
    while abs(number) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(number) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - 7, -133)
    return round(number / unit) * unit  # round() of a Fraction goes to even


def write(folder):
    os.makedirs(folder, exist_ok=True)
    chance = random.Random(7)
    x = [chance.uniform(-4, 4) * 2.0 ** chance.randint(-20, 20) for _ in range(COUNT)]
    # Near the middle of two bf16 numbers, on either side by less than f32 can tell, and on it.
    d = []
    for i in range(COUNT):
        base = (1 + chance.randint(0, 127) / 128) * 2.0 ** chance.randint(-100, 20)
        off = [0, 2.0 ** -40, -(2.0 ** -40), 2.0 ** -20, chance.uniform(-1, 1) * 2.0 ** -8][i % 5]
        d.append(chance.choice([1, -1]) * base * (1 + 2.0 ** -8 + off) if i % 7 else base * 2.0 ** -30)
    d[0] = 1 + 2.0 ** -8 + 2.0 ** -40
    npy.write(os.path.join(folder, "x.npy"), "f32", [COUNT], [struct.unpack("<f", struct.pack("<f", v))[0] for v in x])
    npy.write(os.path.join(folder, "d.npy"), "f64", [COUNT], d)


def check(inputs, outputs):
    x, d = (npy.read(os.path.join(inputs, name))[2] for name in ("x.npy", "d.npy"))
    total, rounded = (npy.read(os.path.join(outputs, name))[2] for name in ("sum.npy", "rounded.npy"))
    for i in range(COUNT):
        a, b = to_bf16(Fraction(x[i])), to_bf16(Fraction(d[i]))
        if Fraction(rounded[i]) != b:
            sys.exit(f"rounded[{i}] of {d[i]!r} is {rounded[i]!r}, not {float(b)!r}")
        if Fraction(total[i]) != to_bf16(a + b):
            sys.exit(f"sum[{i}] of {x[i]!r} and {d[i]!r} is {total[i]!r}, not {float(to_bf16(a + b))!r}")


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
    else:
        check(*sys.argv[2:])
