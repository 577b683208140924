"""Prints the inputs, parameters, outputs and scopes of an imported module, one a line, sorted within each kind.

    outline.py MODULE.mlir
"""

import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
signature = text[text.index("func.func @main") : text.index("{\n", text.index("func.func @main"))]
values = re.findall(r"(tensor<[^>]*>) \{dist\.(input|parameter|output) = \"([^\"]*)\"", signature)
for kind in ["input", "parameter", "output"]:
    names = [f"{kind} {name} {shape}" for shape, found, name in values if found == kind]
    print("\n".join(sorted(names) if kind == "parameter" else names))
print("\n".join(sorted({"scope " + name for name in re.findall(r'dist\.scope = "([^"]*)"', text)})))
