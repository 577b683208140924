#!/usr/bin/python3
"""What can be checked of the sources without compiling them.

- The banner of a C++ or TableGen file is one line of 80 columns that names it.
- Includes point down only: tools to the compiler and what stands beside it,
  these to lowering, this and the frontends to passes, these to dialects; all
  but dialects to the runtime, which includes nothing of them, nor of LLVM. No
  two folders include each other, not even by way of others.
- A folder has at most 40 files and 9,000 lines.
- Lines of C++ are at most 80 columns wide, but for includes and what stands in
  raw strings, such as programs and tables.
- Comments and texts have the usual words, not the odd ones of ODD_WORDS.
- The name of an attribute of the dialect ("dist.scope") stands in one place, Attributes.inc, of which
  docs/internals/attributes.md has its rows: `check_sources.py --attributes` prints them.
"""

import collections
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test"))
import xunit  # noqa: E402

# What the files of a folder may include, beside their own folder.
MAY_INCLUDE = {
    "dialects": [],
    "passes": ["dialects", "runtime"],
    "lowering": ["passes", "dialects", "runtime"],
    "frontends": ["passes", "dialects", "runtime"],
    "runtime": [],
    "compiler": ["lowering", "passes", "dialects", "runtime"],
    "inputs": ["lowering", "passes", "dialects", "runtime"],
    "train": ["passes", "dialects", "runtime"],
    "verify": ["lowering", "runtime"],
    "tools": ["compiler", "inputs", "train", "verify", "frontends", "lowering", "passes", "dialects", "runtime"],
}
CHECKED = sorted(MAY_INCLUDE) + ["test", "benchmarks"]
MOST_FILES, MOST_LINES = 40, 9000
MOST_COLUMNS = 80
RAW_STRING = re.compile(r'R"([^(\s]*)\(.*?\)\1"', re.DOTALL)
ODD_WORDS = {
    r"fores(?:ee\w*|aw)": "estimate",
    r"shar(?:e|es|ed|ing) out": "shard",
    r"(?:hangs?|hung|hanging) on": "depend on",
}
ATTRIBUTE = re.compile(r'"(dist\.[a-z_]+)"')
# Ops, not attributes.
OPS = {"dist.sync", "dist.manual_reshard", "dist.sharding_constraint", "dist.cotangent"}
ATTRIBUTES_TABLE = "dialects/dist/IR/Attributes.inc"
ATTRIBUTES_PAGE = "docs/internals/attributes.md"


def sources():
    for top in CHECKED:
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                if name.endswith((".cpp", ".h", ".td")) and "/Inputs" not in folder:
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def check_banner(path, text):
    """The problem with the first line, or None."""
    first = text.split("\n", 1)[0]
    name = os.path.basename(path)
    if not first.startswith(f"//===- {name} - "):
        return f"{path}:1: the banner does not start with '//===- {name} - '"
    if not first.endswith("===//") or len(first) != 80:
        return f"{path}:1: the banner is no single line of 80 columns that ends in ===//"
    return None


def includes(text):
    """The folders of this repository that a file includes from, with the line."""
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#?include "([^"]+)"', line)
        if not match:
            continue
        name = match[1]
        if name.startswith("dist/"):
            yield number, "runtime/include/dist"
        elif name.split("/")[0] in CHECKED:
            yield number, os.path.dirname(name)


def check_arrow(path, text):
    """The problem with the first include that points up, or None."""
    top = path.split("/")[0]
    for number, folder in includes(text):
        other = folder.split("/")[0]
        if top in MAY_INCLUDE and other != top and other not in MAY_INCLUDE[top]:
            return f"{path}:{number}: {top}/ may not include from {other}/"
    return None


def check_room(folder, files, lines):
    """The problem with the size of a folder, or None."""
    if folder.split("/")[0] in MAY_INCLUDE and (files > MOST_FILES or lines > MOST_LINES):
        return f"{folder} has {files} files and {lines} lines; at most {MOST_FILES} and {MOST_LINES}"
    return None


def check_columns(path, text):
    """The first line that is too wide, or None."""
    if not path.endswith(".td"):
        text = RAW_STRING.sub(lambda raw: "\n" * raw[0].count("\n"), text)
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > MOST_COLUMNS and not line.startswith("#include"):
                return f"{path}:{number}: {len(line)} columns; at most {MOST_COLUMNS}"
    return None


def check_words(path, text):
    """The first odd word, or None."""
    for odd, usual in ODD_WORDS.items():
        match = re.search(rf"\b{odd}\b", text, re.IGNORECASE)
        if match and path.split("/")[0] in MAY_INCLUDE:
            return f"{path}:{text[: match.start()].count(chr(10)) + 1}: '{match[0]}': the usual word is '{usual}'"
    return None


def attribute_rows(table):
    """The rows that the page has of a table of attributes, in its order."""
    quoted = r'"((?:[^"\\]|\\.)*)"'
    words = {
        (kind, name): text.replace('\\"', '"')
        for kind, name, text in re.findall(rf"(?m)^DIST_(CARRIER|KIND)\((\w+), {quoted}\)$", table)
    }
    return [
        f"| `{name}` | {words['CARRIER', carrier]} | {words['KIND', kind]} | {meaning} |"
        for name, carrier, kind, meaning in re.findall(
            rf"(?m)^DIST_ATTRIBUTE\(\w+, {quoted}, (\w+), (\w+), {quoted}\)$", table
        )
    ]


def check_attributes(places, table, page):
    """Names of attributes in C++ and rows that are not on the page, or too much there, or None."""
    rows = attribute_rows(table)
    present = re.findall(r"(?m)^\| `dist\..*$", page)
    problems = [f"{name} is written out in {', '.join(files)}: {ATTRIBUTES_TABLE} has it" for name, files in sorted(places.items())]
    problems += [f"{ATTRIBUTES_PAGE} lacks {row}" for row in rows if row not in present]
    problems += [f"{ATTRIBUTES_TABLE} does not make {row} of {ATTRIBUTES_PAGE}" for row in present if row not in rows]
    if not rows or (not problems and rows != present):
        problems.append(f"{ATTRIBUTES_PAGE} has another order than {ATTRIBUTES_TABLE}")
    return "\n".join(problems) or None


def check_runtime(path, text):
    """The problem with the first include of LLVM in the runtime, which dist-exec is made of, or None."""
    match = re.search(r'(?m)^#include "(mlir|llvm)/.*$', text)
    return f"{path}: the runtime includes nothing of LLVM: {match[0]}" if path.startswith("runtime/") and match else None


def find_circle(edges):
    """A list of folders that include each other in turn, or None."""
    state, path = {}, []

    def visit(folder):
        state[folder] = "open"
        path.append(folder)
        for other in sorted(edges[folder]):
            if state.get(other) == "open":
                return path[path.index(other):] + [other]
            if other not in state:
                circle = visit(other)
                if circle:
                    return circle
        state[folder] = "done"
        path.pop()
        return None

    for folder in sorted(edges):
        if folder not in state:
            circle = visit(folder)
            if circle:
                return circle
    return None


def main():
    banners, arrows, columns, words, count = [], [], [], [], 0
    attributes = collections.defaultdict(list)
    edges = collections.defaultdict(set)
    files, lines = collections.Counter(), collections.Counter()
    for path in sources():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        count += 1
        banners.append(check_banner(path, text))
        arrows.append(check_arrow(path, text) or check_runtime(path, text))
        columns.append(check_columns(path, text))
        words.append(check_words(path, text))
        folder = os.path.dirname(path)
        if path.split("/")[0] in MAY_INCLUDE and not path.endswith(".td"):
            for name in set(ATTRIBUTE.findall(text)) - OPS:
                attributes[name].append(path)
        files[folder] += 1
        lines[folder] += text.count("\n")
        for _, other in includes(text):
            if other != folder:
                edges[folder].add(other)
                edges[other].update()
    circle = find_circle(edges)

    def read(path):
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read()

    table, attributes_page = read(ATTRIBUTES_TABLE), read(ATTRIBUTES_PAGE)
    if "--attributes" in sys.argv:
        print("\n".join(attribute_rows(table)))
        return 0

    def all_of(problems):
        return "\n".join(filter(None, problems)) or None

    def seen(problem):
        return None if problem else "was not seen"

    results = [
        ("sources are found", 0, None if count > 100 else f"only {count} files under {ROOT}"),
        ("banners", 0, all_of(banners)),
        ("arrows point down", 0, all_of(arrows)),
        ("rooms are small", 0, all_of(check_room(folder, files[folder], lines[folder]) for folder in sorted(files))),
        ("lines are not too wide", 0, all_of(columns)),
        ("words are the usual ones", 0, all_of(words)),
        ("attributes are named once", 0, check_attributes(attributes, table, attributes_page)),
        ("no circle of folders", 0, circle and "folders include each other: " + " -> ".join(circle)),
        # The checks see what they are there for.
        ("a broken banner is seen", 0, seen(check_banner("a/B.cpp", "//===- B.cpp - Text\n//---===//\n"))),
        ("an arrow up is seen", 0, seen(check_arrow("dialects/A.cpp", '#include "passes/B.h"\n'))),
        ("LLVM in the runtime is seen", 0, seen(check_runtime("runtime/A.cpp", '#include "llvm/B.h"\n'))),
        ("a large room is seen", 0, seen(check_room("passes", 41, 1) and check_room("passes", 1, 9001))),
        ("a wide line is seen", 0, seen(check_columns("a/B.cpp", "int a; " * 12))),
        ("an odd word is seen", 0, seen(check_words("passes/B.cpp", "it hangs on that"))),
        ("an attribute's name in C++ is seen", 0, seen(check_attributes({"dist.a": ["B.h"]}, table, attributes_page))),
        ("an attribute that the page lacks is seen", 0, seen(check_attributes({}, table, ""))),
        ("an attribute too much on the page is seen", 0, seen(check_attributes({}, table, attributes_page + "| `dist.a` |"))),
        ("a circle is seen", 0, seen(find_circle(collections.defaultdict(set, a={"b"}, b={"c"}, c={"a"})))),
    ]
    for _, _, problem in results:
        if problem:
            print(problem)
    return xunit.finish("sources", results)


if __name__ == "__main__":
    sys.exit(main())
