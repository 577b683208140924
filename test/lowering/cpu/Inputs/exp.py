"""Inputs of exp.mlir, and a check of its results with the C library's exp in f64.

    exp.py write FOLDER | exp.py check INPUTS OUTPUTS
"""

import math
import os
import random
import sys

import npy

COUNT = 4096
# The largest number whose exponential is one, and what lies around the ends.
ENDS = [0.0, -0.0, math.inf, -math.inf, math.nan, 88.72283, 88.7229, 88.37, 88.38, 100.0, 3e38, -87.3365, -87.3366, -90.0, -3.4028235e38, 1e-45, 0.34657, 0.34658]


def check(x, y):
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    if x > 88.7229:
        return y == math.inf
    expected = math.exp(x)
    if x < -87.3366:
        return y == 0
    # One ulp; above 2^127 some more (docs/internals/kernels.md).
    ulps = 1.5 if x < 88.37 else 8
    return y == math.inf if expected > 3.4028236e38 else abs(y - expected) <= ulps * expected * 2.0**-23


def main():
    if sys.argv[1] == "write":
        os.makedirs(sys.argv[2], exist_ok=True)
        rng = random.Random(7)
        values = ENDS + [rng.uniform(-89, 89) if i % 2 else rng.gauss(0, 1) for i in range(COUNT - len(ENDS))]
        npy.write(os.path.join(sys.argv[2], "x.npy"), "f32", [COUNT], values)
        return 0
    x = npy.read(os.path.join(sys.argv[2], "x.npy"))[2]
    y = npy.read(os.path.join(sys.argv[3], "y.npy"))[2]
    wrong = [(a, b) for a, b in zip(x, y) if not check(a, b)]
    if wrong or len(x) != COUNT or len(y) != COUNT:
        print(f"{len(wrong)} of {len(y)} wrong, the first: exp{wrong[:4]}")
        return 1
    return 0


sys.exit(main())
