#!/usr/bin/python3
"""write_npy.py FILE DTYPE SHAPE [MODULUS [FIRST [RUN]]]: numbers that follow from their places, as in x.npy f4 12,8.

Element i is FIRST + 7 * i modulo MODULUS (11 and 0); of floats a tenth of that. Of several, as in 16,64, RUN elements (1)
have one, the next RUN the next.
"""
import struct
import sys

path, dtype, shape = sys.argv[1:4]
moduli, first, run = (sys.argv[4:] + ["11", "0", "1"][len(sys.argv) - 4 :])[:3]
moduli, first, run = [int(modulus) for modulus in moduli.split(",")], int(first), int(run)
sizes = tuple(int(size) for size in shape.split(","))
count = 1
for size in sizes:
    count *= size
kind = {"f4": "f", "f8": "d", "i1": "b", "u1": "B", "i2": "h", "i4": "i", "i8": "q", "u8": "Q"}[dtype]
numbers = [first + 7 * i % moduli[i // run % len(moduli)] for i in range(count)]
if dtype[0] == "f":
    numbers = [number / 10 for number in numbers]
header = f"{{'descr': '<{dtype}', 'fortran_order': False, 'shape': {sizes!r}, }}".ljust(117) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(f"<{count}{kind}", *numbers))
