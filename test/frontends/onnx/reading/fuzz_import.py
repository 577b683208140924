#!/usr/bin/env python3
"""Feeds dist-import damaged ONNX files: it must import them or say what is wrong, never crash or hang.

    fuzz_import.py DIST_IMPORT MODEL.onnx... [--cases N] [--seed S] [--keep FOLDER]

Half of the cases are damaged bytes (cut off, overwritten, moved), half are files that protobuf reads but that say
something else: the wire format is taken apart, one or a few fields are changed, dropped, doubled or swapped, and the
lengths around them are made right again. Exit 1 when any case ends in anything but status 0 or 1.
"""

import argparse
import copy
import pathlib
import random
import subprocess
import sys
import tempfile

TIMEOUT = 60

# Numbers that break arithmetic: signs, powers of two, the limits of 32 and 64 bits.
NUMBERS = [0, 1, 2, 3, 7, 8, 16, 127, 255, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 46, (1 << 63) - 1, 1 << 63,
           (1 << 64) - 1, (1 << 64) - 2, (1 << 64) - 100]


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("varint too long")


def write_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse(data, depth=0):
    """A message as a list of [field number, wire type, value]; nested messages as lists, where bytes read as such."""
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("field 0")
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 1:
            value, at = data[at : at + 8], at + 8
        elif kind == 5:
            value, at = data[at : at + 4], at + 4
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
            if len(value) != size:
                raise ValueError("too short")
            if depth < 8 and 0 < size < 1 << 20:
                try:
                    value = parse(value, depth + 1)
                except (ValueError, IndexError):
                    pass
        else:
            raise ValueError(f"wire type {kind}")
        fields.append([number, kind, value])
    return fields


def render(fields):
    out = bytearray()
    for number, kind, value in fields:
        out += write_varint(number << 3 | kind)
        if kind == 0:
            out += write_varint(value)
        elif kind == 2:
            body = render(value) if isinstance(value, list) else value
            out += write_varint(len(body)) + body
        else:
            out += value
    return bytes(out)


def messages(fields):
    """All messages in the tree, the root included."""
    yield fields
    for _, _, value in fields:
        if isinstance(value, list):
            yield from messages(value)


def change_field(rng, tree):
    parents = [message for message in messages(tree) if message]
    # Small messages are the interesting ones: shapes, attributes, nodes.
    parent = rng.choice(parents)
    index = rng.randrange(len(parent))
    number, kind, value = parent[index]
    action = rng.choice(["value", "value", "value", "drop", "double", "swap", "number", "borrow"])
    if action == "drop":
        del parent[index]
    elif action == "double":
        parent.insert(index, [number, kind, value])
    elif action == "swap":
        other = rng.randrange(len(parent))
        parent[index], parent[other] = parent[other], parent[index]
    elif action == "number":
        parent[index][0] = rng.randrange(1, 30)
    elif action == "borrow":
        source = rng.choice(parents)
        parent.append(copy.deepcopy(rng.choice(source)))  # perhaps of what holds the parent
    elif kind == 0:
        parent[index][2] = rng.choice(NUMBERS) if rng.random() < 0.7 else (value + rng.choice([1, -1])) % (1 << 64)
    elif isinstance(value, list):
        change_field(rng, value) if value else None
    elif value:
        parent[index][2] = change_bytes(rng, bytes(value))


def change_bytes(rng, data):
    data = bytearray(data)
    action = rng.choice(["cut", "set", "set", "move", "insert", "delete"])
    at = rng.randrange(len(data)) if data else 0
    if action == "cut":
        del data[at:]
    elif action == "set":
        for _ in range(rng.choice([1, 1, 2, 8])):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif action == "move":
        size, to = rng.randrange(1, 64), rng.randrange(len(data))
        data[to : to + size] = data[at : at + size]
    elif action == "insert":
        data[at:at] = rng.randbytes(rng.randrange(1, 16))
    else:
        del data[at : at + rng.randrange(1, 64)]
    return bytes(data)


def damage(rng, data):
    if rng.random() < 0.4:
        # Most of a file is weights, which nothing can go wrong with: damage the rest as often.
        return change_bytes(rng, data)
    tree = parse(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        change_field(rng, tree)
    return render(tree)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="dist-import")
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="where files that broke it go")
    arguments = parser.parse_args()
    originals = [model.read_bytes() for model in arguments.models]
    imported = rejected = broken = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "case.onnx"
        for case in range(arguments.seed, arguments.seed + arguments.cases):
            rng = random.Random(case)
            which = rng.randrange(len(originals))
            data = damage(rng, originals[which])
            path.write_bytes(data)
            try:
                run = subprocess.run(
                    [arguments.program, path, "-o", path.with_suffix(".mlir")], capture_output=True, timeout=TIMEOUT
                )
                status, said = run.returncode, run.stderr.decode(errors="replace")
            except subprocess.TimeoutExpired:
                status, said = "timeout", ""
            if status == 0:
                imported += 1
            elif status == 1 and "dist-import" in said and "malformed (see above)" not in said:
                rejected += 1
            else:
                broken += 1
                print(f"seed {case}, {arguments.models[which]}: status {status}\n{said[-2000:]}")
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"{case}.onnx").write_bytes(data)
    print(f"{arguments.cases} cases: {imported} imported, {rejected} rejected, {broken} broken")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
