#!/usr/bin/python3
"""write_weights.py FILE [NAME...]: a safetensors file of tensors that are [1, 2, 3, 4]; of one, w, where none is named."""
import json
import struct
import sys

names = sys.argv[2:] or ["w"]
entries = {name: {"dtype": "F32", "shape": [4], "data_offsets": [16 * i, 16 * i + 16]} for i, name in enumerate(names)}
header = json.dumps(entries).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + struct.pack("<4f", 1, 2, 3, 4) * len(names))
