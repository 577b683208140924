"""Writes an .npy file of i32: write_integers.py FILE VALUE..."""

import struct
import sys

values = [int(value) for value in sys.argv[2:]]
header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(values)},)}}\n".encode()
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    file.write(struct.pack(f"<{len(values)}i", *values))
