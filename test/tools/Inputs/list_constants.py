"""Lists the constants among the arguments of a bundle (argv[1]), and its files of data."""
import json
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
manifest = json.loads((folder / "manifest.json").read_text())
for number, argument in enumerate(manifest["arguments"]):
    if argument["kind"] == "constant":
        print(f'argument {number}: {argument["name"]} {argument["dtype"]} {argument["global_shape"]}, a rank has {argument["local_shape"]}')
if manifest["constants"]:
    raw = (folder / manifest["constants"]).read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    header.pop("__metadata__", None)
    for name, entry in sorted(header.items()):
        print(f'{manifest["constants"]}: {name} {entry["dtype"]} {entry["shape"]} at {entry["data_offsets"]}')
    print(f"{len(raw) - 8 - length} bytes of data")
print("files:", *sorted(path.name for path in folder.iterdir()))
