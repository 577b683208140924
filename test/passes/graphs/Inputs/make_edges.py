"""Writes an .npy file of indices: make_edges.py FILE ROWS COLUMNS BELOW, the last of which is there."""
import random
import struct
import sys

path, rows, columns, below = sys.argv[1], *map(int, sys.argv[2:])
generator = random.Random(3)
numbers = [generator.randrange(below) for _ in range(rows * columns)]
numbers[-1] = below - 1
header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(f"<{len(numbers)}q", *numbers))
