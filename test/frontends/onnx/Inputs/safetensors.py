"""Prints what a safetensors file holds, sorted by name: type, shape and a digest of the data, or, of up to 12 elements
of float32, the data.

    safetensors.py FILE
"""

import hashlib
import json
import struct
import sys

data = open(sys.argv[1], "rb").read()
(size,) = struct.unpack("<Q", data[:8])
header = json.loads(data[8 : 8 + size])
header.pop("__metadata__", None)
end = 8 + size
assert end % 8 == 0, "the data is not aligned"
assert max(entry["data_offsets"][1] for entry in header.values()) == len(data) - end, "wrong length"
for name, entry in sorted(header.items()):
    first, last = entry["data_offsets"]
    part = data[end + first : end + last]
    if entry["dtype"] == "F32" and len(part) <= 48:
        shown = " ".join(f"{value:g}" for value in struct.unpack(f"<{len(part) // 4}f", part))
    else:
        shown = hashlib.sha256(part).hexdigest()[:16]
    print(name, entry["dtype"], entry["shape"], shown)
