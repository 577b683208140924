#!/usr/bin/env python3
"""Prints for each module of window_transformer.py with how many rows of scores, a block of keys each, every rank computes.

count_ring_rows.py SPMD.mlir RANKS: follows the program of level 3 for each rank. What decides over branches is taken from
tables by the rank's coordinate, and "and" and "or" of these; all other conditions ask whether some row has seen no key,
or some number is very large, and are taken not to hold.
"""
import collections
import re
import sys


def evaluate(made, values, rank):
    """A table, its entry for the rank, or whether a condition holds; None for all else."""
    made = re.sub(r" \{dist[^}]*\}", "", made)
    if match := re.match(r"arith\.constant dense<(.*)> : tensor<(\d+)xi64>", made):
        entries = [int(entry) for entry in match[1].strip("[]").split(",")]
        return entries * (int(match[2]) // len(entries))
    if match := re.match(r"tensor\.extract (%\w+)\[%\w+\] : tensor<\d+xi64>", made):
        return values[match[1]][rank]
    if match := re.match(r"arith\.cmpi ne, (%\w+), %\w+ : i64", made):
        return values[match[1]] != 0
    if match := re.match(r"arith\.(andi|ori) (%\w+), (%\w+) : i1", made):
        x, y = (bool(values.get(match[i])) for i in (2, 3))
        return x and y if match[1] == "andi" else x or y
    return None


def count(lines, rank):
    """{module: rows}, in the order of the program."""
    values, regions, rows = {}, [], collections.Counter()
    for line in map(str.strip, lines):
        if line.startswith("}"):
            runs = regions.pop()
            if line.endswith("{"):
                regions.append(not runs if line.startswith("} else") else True)
            continue
        if match := re.match(r"(%\w+) = (.*)", line):
            values[match[1]] = evaluate(match[2], values, rank)
        if match := re.search(r"dist\.attention(_adjoint)?\(.*? : tensor<\d+x(\d+)x.*dist\.scope = \"([^\"]*)\"", line):
            if all(regions):
                rows[match[3] + (" backward" if match[1] else "")] += int(match[2])
        if line.endswith("{"):
            branch = re.match(r"(?:%\w+(?::\d+)? = )?scf\.if (%\w+)", line)
            regions.append(bool(values.get(branch[1])) if branch else True)
    return rows


def main():
    with open(sys.argv[1]) as file:
        lines = file.readlines()
    counts = [count(lines, rank) for rank in range(int(sys.argv[2]))]
    for module in counts[0]:
        print(f"{module}: " + ", ".join(f"rank {rank} {rows[module]}" for rank, rows in enumerate(counts)))


if __name__ == "__main__":
    main()
