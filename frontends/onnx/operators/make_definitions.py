#!/usr/bin/env python3
"""Writes Definitions.inc: what the operators that dist-import converts look like in each opset.

    make_definitions.py OPERATOR... > Definitions.inc    (the names are those of dist-import --operators)

Needs the Python package onnx; the newest there is knows the newest opset. A definition that is new in the output is to
be read and compared with its converter: where that does not follow it yet, kNotFollowed in Definitions.cpp says so.
"""

import sys

import onnx
from onnx import defs

FIRST_OPSET = 13

KINDS = {"INT": "i", "FLOAT": "f", "STRING": "s", "INTS": "I", "FLOATS": "F", "STRINGS": "S", "TENSOR": "t"}


def default(attribute):
    """The default as text, or nothing for an attribute without one."""
    value = attribute.default_value
    if not value.type:
        return ""
    value = onnx.helper.get_attribute_value(value)
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, list):
        value = ",".join(v.decode() if isinstance(v, bytes) else repr(v) for v in value)
    if isinstance(value, float):
        value = f"{value:.9g}"
    return f"={value}"


def describe(schema):
    most = [2147483647 if n > 1000 else n for n in (schema.max_input, schema.max_output)]
    attributes = ";".join(
        f"{name}:{KINDS.get(attribute.type.name, 'o')}{default(attribute)}"
        for name, attribute in sorted(schema.attributes.items()))
    line = f'{{"{schema.name}", {schema.since_version}, {most[0]}, {most[1]},'
    text = f'"{attributes}"}},'
    return f"{line} {text}" if len(line) + len(text) < 80 else f"{line}\n {text}"


def main():
    print(f"// Written by make_definitions.py from onnx {onnx.__version__}.")
    print("// Operator, opset, most inputs, most outputs, attributes as name:kind=default.")
    print(f"// OPSETS {FIRST_OPSET} {defs.onnx_opset_version()}")
    history = [schema for schema in defs.get_all_schemas_with_history() if not schema.domain]
    for name in sorted(sys.argv[1:]):
        schemas = sorted((s for s in history if s.name == name), key=lambda schema: schema.since_version)
        if not schemas:
            sys.exit(f"onnx has no operator {name}")
        old = [s for s in schemas if s.since_version <= FIRST_OPSET]
        for schema in old[-1:] + [s for s in schemas if s.since_version > FIRST_OPSET]:
            print(describe(schema))


if __name__ == "__main__":
    main()
