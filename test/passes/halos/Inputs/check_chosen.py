#!/usr/bin/python3
"""Compares what --dist-join-halos chose for a chain with equal groups of every size, by its remark on standard input."""

import re
import sys

text = sys.stdin.read()
by_size = {int(size): float(time) for size, time in re.findall(r"by (\d+) ([\d.]+)", text)}
chosen = float(re.search(r"as chosen ([\d.]+)", text).group(1))
faster = {size: time for size, time in by_size.items() if time < chosen}
print(f"{len(by_size)} sizes, " + (f"of which {faster} are faster than {chosen}" if faster else "none is faster"))
