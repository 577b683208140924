#!/usr/bin/python3
"""write_unsigned.py FOLDER: .npy files of four numbers, of which those of u64 lie in the upper half of the type."""
import os
import struct
import sys


def write(name, description, letter, values):
    header = f"{{'descr': '{description}', 'fortran_order': False, 'shape': (4,), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<4{letter}", *values))


os.makedirs(sys.argv[1], exist_ok=True)
TOP = (1 << 64) - 1
upper = [TOP, TOP - 1, 1 << 63, (1 << 63) + 77]
write("u64.npy", "<u8", "Q", upper)
write("half64.npy", "<u8", "Q", [value // 2 for value in upper])
write("i64.npy", "<i8", "q", [1, 2, 3, -4])
write("u8.npy", "|u1", "B", [255, 1, 128, 0])
