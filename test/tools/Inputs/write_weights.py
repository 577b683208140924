#!/usr/bin/python3
"""write_weights.py FILE [NAME | NAME=4x3…]: a safetensors file of these tensors: [1, 2, 3, 4], or random numbers of a shape; of w alone."""
import json
import math
import random
import struct
import sys

random.seed(7)
tensors = {}
for argument in sys.argv[2:] or ["w"]:
    name, _, shape = argument.partition("=")
    sizes = [int(size) for size in shape.split("x")] if shape else [4]
    numbers = [random.uniform(-0.5, 0.5) for _ in range(math.prod(sizes))] if shape else [1, 2, 3, 4]
    tensors[name] = (sizes, numbers)
header, data = {}, b""
for name, (sizes, numbers) in tensors.items():
    header[name] = {"dtype": "F32", "shape": sizes, "data_offsets": [len(data), len(data) + 4 * len(numbers)]}
    data += struct.pack(f"<{len(numbers)}f", *numbers)
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
