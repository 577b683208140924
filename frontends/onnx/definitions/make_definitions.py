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


# Elements that a program can hold. A letter stands for its three or four sizes.
FAMILIES = {
    "f": {"float16": "f16", "float": "f32", "double": "f64"},
    "i": {f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    "u": {f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    "bf16": {"bfloat16": "bf16"},
    "bool": {"bool": "bool"},
    "string": {"string": "string"},
}


def types(parameters):
    """The types of inputs or outputs: "T:f i32;T;I:i64". A * stands before elements of sequences."""
    seen, described = set(), []
    for parameter in parameters:
        variable = parameter.type_str if "(" not in parameter.type_str else ""
        words = []
        for prefix, form in (("", "tensor(%s)"), ("*", "seq(tensor(%s))")):
            for family, members in FAMILIES.items():
                taken = [short for full, short in members.items() if form % full in parameter.types]
                words += [prefix + word for word in ([family] if len(taken) == len(members) else taken)]
        described.append(variable if variable in seen else f"{variable}:{' '.join(words)}")
        seen.add(variable or None)
    return ";".join(described)


def describe(schema):
    most = [2147483647 if n > 1000 else n for n in (schema.max_input, schema.max_output)]
    attributes = ";".join(
        f"{name}:{KINDS.get(attribute.type.name, 'o')}{default(attribute)}"
        for name, attribute in sorted(schema.attributes.items()))
    line = f'{{"{schema.name}", {schema.since_version}, {most[0]}, {most[1]},'
    text = f'"{attributes}",'
    line = f"{line} {text}" if len(line) + len(text) < 80 else f"{line}\n {text}"
    return f'{line}\n "{types(schema.inputs)}", "{types(schema.outputs)}"}},'


def main():
    print(f"// Written by make_definitions.py from onnx {onnx.__version__}.")
    print("// Operator, opset, most inputs, most outputs, attributes as name:kind=default,")
    print("// the inputs' types, the outputs'.")
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
