#!/usr/bin/env python3
"""Writes an input of f32, of which one row of the sequence is larger than the others: with_large_row.py FILE ROWS FEATURES ROW SIZE."""

import array
import math
import struct
import sys

path, rows, features, large, size = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
numbers = array.array("f", (math.sin(0.7 * i) * (size if i // features == large else 1) for i in range(rows * features)))
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {rows}, {features}), }}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers.tobytes())
