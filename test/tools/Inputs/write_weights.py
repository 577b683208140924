#!/usr/bin/python3
"""write_weights.py FILE [NAME=4x3…]: a safetensors file of these tensors, of random numbers, or of w = [1, 2, 3, 4]."""
import json
import math
import random
import struct
import sys

random.seed(7)
tensors = {"w": ([4], [1, 2, 3, 4])} if len(sys.argv) == 2 else {}
for name, shape in (argument.split("=") for argument in sys.argv[2:]):
    sizes = [int(size) for size in shape.split("x")]
    tensors[name] = (sizes, [random.uniform(-0.5, 0.5) for _ in range(math.prod(sizes))])
header, data = {}, b""
for name, (sizes, numbers) in tensors.items():
    header[name] = {"dtype": "F32", "shape": sizes, "data_offsets": [len(data), len(data) + 4 * len(numbers)]}
    data += struct.pack(f"<{len(numbers)}f", *numbers)
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
