#!/usr/bin/python3
"""What an import does not follow is refused: no node of cases/*.json may say more than its operator's definition.

    check_strictness.py DEFINITIONS.inc CASES.json...

One case of each operator is imported with an attribute that no operator has, with a value that no string attribute
knows, with an input too many, and with each input of each type that ONNX does not give it. Each must be refused by
name. Many go into one model, as all that is refused is listed at once; what contradicts the file ends the import, and
is then left out of the next.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_cases  # noqa: E402

VARIADIC = (1 << 31) - 1

# String attributes that change nothing for the types that there are: kHarmless in Definitions.cpp says why.
HARMLESS = {("Cast", "round_mode"), ("CastLike", "round_mode")}


# Types that exporters write all the same: kTakenTypes in Definitions.cpp.
TAKEN = {("CumSum", 0, "bool")}

TYPES = {"f16": "float16", "f32": "float", "f64": "double", "bool": "bool",
         **{f"{letter}{bits}": f"{name}{bits}" for letter, name in (("i", "int"), ("u", "uint"))
            for bits in (8, 16, 32, 64)}}


def read_types(described):
    """[(variable, types)] of the inputs."""
    sets, found = {}, []
    for entry in described.split(";") if described else []:
        variable, colon, words = entry.partition(":")
        types = {kind for kind in TYPES for word in words.split() if word in (kind, kind[0])}
        found.append((variable, sets.setdefault(variable, types) if variable else types))
        assert colon or variable in sets
    return found


def read_definitions(path):
    """{operator: [(opset, most inputs, [string attribute], types of inputs)]}, opsets rising."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    definitions = collections.defaultdict(list)
    entry = r'\{"(\w+)", (\d+), (\d+), \d+,\s*"([^"]*)",\s*"([^"]*)",\s*"[^"]*"\}'
    for name, since, inputs, attributes, types in re.findall(entry, text):
        kinds = [entry.split(":") for entry in attributes.split(";") if entry]
        definitions[name].append((int(since), int(inputs), [key for key, kind in kinds if kind[0] == "s"],
                                  read_types(types)))
    return definitions


def retyped(tensor, kind):
    return dict(tensor, type=kind, data=[1] * len(tensor["data"]))


def of_other_types(case, types):
    """(what, changed case) of inputs whose types the operator does not have, alone or beside others."""
    inputs = case["inputs"]
    for index, value in enumerate(inputs):
        variable, allowed = types[min(index, len(types) - 1)]
        alike = [i for i in range(len(inputs)) if variable and types[min(i, len(types) - 1)][0] == variable]
        for kind in TYPES if value else ():
            if kind not in allowed and (case["op"], index, kind) not in TAKEN:
                changed = [retyped(v, kind) if v and (i == index or i in alike) else v for i, v in enumerate(inputs)]
                first = min([i for i in alike if inputs[i]], default=index)
                yield f"input {first} of type {TYPES[kind]}", dict(case, inputs=changed)
            elif kind in allowed and kind != value["type"] and sum(1 for i in alike if inputs[i]) > 1:
                changed = [retyped(v, kind) if i == index else v for i, v in enumerate(inputs)]
                yield f"type {TYPES[kind]}", dict(case, inputs=changed)


def mutants(case, definition):
    """(what, changed case); every one is to be refused."""
    _, most, strings, types = definition
    yield from of_other_types(case, types)
    yield "attribute 'bogus'", dict(case, attributes=dict(case["attributes"], bogus=3))
    for name in strings:
        if (case["op"], name) not in HARMLESS and case["op"] != "Constant":
            yield f"{name} 'nonsense'", dict(case, attributes=dict(case["attributes"], **{name: "nonsense"}))
    if most != VARIADIC:
        inputs = case["inputs"] + [None] * (most - len(case["inputs"]))
        extra = {"type": "f32", "shape": [1], "data": [1.0]}
        yield f"input {most}", dict(case, inputs=inputs + [extra])


def refused(cases, opset, folder):
    """{case's name: what dist-import says} of those that it says something of."""
    model = run_cases.Model(opset, "inputs")
    for case in cases:
        model.add(case)
    path = os.path.join(folder, "mutants.onnx")
    with open(path, "wb") as file:
        file.write(model.to_bytes())
    run = subprocess.run(["tools/dist-import", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"exit status {run.returncode} of dist-import\n{run.stderr[-3000:]}")
    found = {}
    for what, name in re.findall(r"^  \d+ x (.*), first in '([^']*)' \(node \d+\)$", run.stderr, re.MULTILINE):
        found[name] = found.get(name, "") + what + "\n"
    if run.returncode and not found:
        match = re.search(r": node '([^']*)' (.*)", run.stderr)
        if not match:
            sys.exit(f"an error that names no node:\n{run.stderr[-3000:]}")
        found[match[1]] = match[2]
    return found


def main():
    definitions = read_definitions(sys.argv[1])
    picked = {}
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            for case in json.load(file):
                picked.setdefault(case["op"], case)
    waiting = collections.defaultdict(dict)  # (opset, round) -> {name: (what, case)}
    for op, case in picked.items():
        definition = [d for d in definitions[op] if d[0] <= case["opset"]][-1]
        for index, (what, mutant) in enumerate(mutants(case, definition)):
            name = f"{op}.{index}"
            waiting[case["opset"]][name] = (what, dict(mutant, name=name))
    total, accepted, vague = 0, [], []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        for opset, left in sorted(waiting.items()):
            total += len(left)
            while left:
                found = refused([case for _, case in left.values()], opset, folder)
                if not found:
                    accepted += [f"{name}: {left[name][0]}" for name in left]
                    break
                for name, message in found.items():
                    what, _ = left.pop(name)
                    if not all(word.strip("'") in message for word in what.split()):
                        vague.append(f"{name}: {what}: {message}")
    print(f"{len(picked)} operators, {total} mutants, {total - len(accepted)} refused")
    for line in accepted:
        print("ACCEPTED", line)
    for line in vague:
        print("VAGUE", line)
    if accepted or vague:
        sys.exit(1)


if __name__ == "__main__":
    main()
