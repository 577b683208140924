"""Philox4x32-10 in Python, and what the tests of random numbers share. Programs come from tools/ below the current
folder; protoc is the system's.
"""

import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.abspath(os.environ.get("DIST_TOOLS", "tools"))
PROTO = os.path.join(HERE, "..", "frontends", "onnx", "Inputs")
ONES = 0xFFFFFFFF

# The answers that its authors give (Salmon et al. 2011; Random123's kat_vectors): counter, key, words.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def philox(counter, key):
    """Four words, of four and two."""
    a, b, c, d = counter
    k, l = key
    for _ in range(10):
        p, q = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = q >> 32 ^ b ^ k, q & ONES, p >> 32 ^ d ^ l, p & ONES
        k, l = (k + 0x9E3779B9) & ONES, (l + 0xBB67AE85) & ONES
    return a, b, c, d


def words_of(seed, step, operator, element, stream=None):
    """What a program draws for an element; from a stream of a device's own, if there is one."""
    upper = (seed >> 32) + (0 if stream is None else 1 + stream)
    return philox((element & ONES, element >> 32, operator, step & ONES), (seed & ONES, upper & ONES))


def tensor(name, kind, shape):
    dims = " ".join(f"dim {{ dim_value: {size} }}" for size in shape)
    return f'{{ name: "{name}" type {{ tensor_type {{ elem_type: {kind} shape {{ {dims} }} }} }} }}'


def encode(text):
    command = ["protoc", "--encode=onnx.ModelProto", f"--proto_path={PROTO}", "onnx.proto"]
    return subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


def run(program, *arguments):
    done = subprocess.run(
        [os.path.join(TOOLS, program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout
