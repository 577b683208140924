"""Writes programs that are small, and were not so to the compiler: `nested.py loops N`, `nested.py calls N`."""

import sys

TENSOR = "tensor<4xf32>"


def loops(levels):
    """Loops of three iterations within each other, each of which carries a tensor on."""
    lines = ["  %zero = arith.constant 0 : index", "  %one = arith.constant 1 : index", "  %three = arith.constant 3 : index"]
    value = "%a"
    for i in range(levels):
        lines.append(f"  %l{i} = scf.for %i{i} = %zero to %three step %one iter_args(%c{i} = {value}) -> {TENSOR} {{")
        value = f"%c{i}"
    lines.append(f"  %y = arith.addf {value}, {value} : {TENSOR}")
    value = "%y"
    for i in reversed(range(levels)):
        lines += [f"  scf.yield {value} : {TENSOR}", "  }"]
        value = f"%l{i}"
    return [function("main", lines, value)]


def calls(levels):
    """Each function calls the next one twice, the last one adds."""
    text = [function("main", [call("%0", "f0", "%a")], "%0")]
    for i in range(levels - 1):
        text.append(function(f"f{i}", [call("%0", f"f{i + 1}", "%a"), call("%1", f"f{i + 1}", "%0")], "%1"))
    text.append(function(f"f{levels - 1}", [f"  %0 = arith.addf %a, %a : {TENSOR}"], "%0"))
    return text


def call(result, name, operand):
    return f"  {result} = call @{name}({operand}) : ({TENSOR}) -> {TENSOR}"


def function(name, lines, value):
    if name == "main":
        head = f'func.func @main(%a: {TENSOR} {{dist.input = "a"}}) -> ({TENSOR} {{dist.output = "y"}}) {{'
    else:
        head = f"func.func private @{name}(%a: {TENSOR}) -> {TENSOR} {{"
    return "\n".join([head, *lines, f"  return {value} : {TENSOR}", "}"])


print("\n".join({"loops": loops, "calls": calls}[sys.argv[1]](int(sys.argv[2]))))
