#!/usr/bin/python3
"""Functions of 16-bit floats at all of their values, against Python's, which are in f64.

write FOLDER: functions.mlir and operators.txt (an ONNX model) apply each function to all values, bits.npy and values.npy.
check FOLDER OUTPUTS: each result is within an ulp, with its sign.
"""
import array
import math
import pathlib
import struct
import sys

import npy

INF, NAN = math.inf, math.nan
COUNT = 1 << 16
# Of a type: digits, smallest exponent, number in ONNX.
TYPES = {"f16": (11, -14, 10), "bf16": (8, -126, 16)}
# Powers are looked at in f32, too, at the values of bf16; roots of roots are rounded twice, as if they had a digit less.
POWERS = TYPES | {"f32": (23, -126, 1)}
INFINITIES = {"f16": ("0x7C00", "0xFC00"), "bf16": ("0x7F80", "0xFF80"), "f32": ("0x7F800000", "0xFF800000")}


def guard(function, **poles):
    """The function with its limits where Python's raises an error."""

    def call(x):
        if x == 0 and "zero" in poles:
            return math.copysign(poles["zero"], x) if poles["zero"] > 0 else poles["zero"]
        if abs(x) == 1 and "one" in poles:
            return math.copysign(poles["one"], x)
        if x == -1 and "minus_one" in poles:
            return poles["minus_one"]
        try:
            return function(x)
        except OverflowError:
            return INF
        except ValueError:
            return NAN

    return call


def whole(function):
    """A rounding: the sign of zero stays."""
    return lambda x: math.copysign(float(function(x)), x) if math.isfinite(x) else x


def odd(function):
    return lambda x: math.copysign(function(abs(x)), x)


def power(exponent):
    """As IEEE 754 has it; None for the zeroth of NaN, which is 1 or, if that signals, NaN."""

    def call(x):
        if x != x and exponent == 0:
            return None
        if x == 0 and exponent < 0:
            return math.copysign(INF, x) if exponent % 2 == 1 else INF
        if x < 0 and abs(x) < INF and abs(exponent) < INF and exponent % 1:
            return NAN
        try:
            return math.pow(x, exponent)
        except OverflowError:
            return math.copysign(INF, x) if exponent % 2 == 1 else INF

    return call


FUNCTIONS = {
    "absf": abs,
    "acos": guard(math.acos),
    "acosh": guard(math.acosh),
    "asin": guard(math.asin),
    "asinh": math.asinh,
    "atan": math.atan,
    "atanh": guard(math.atanh, one=INF),
    "cbrt": odd(lambda x: x ** (1 / 3)),
    "ceil": whole(math.ceil),
    "cos": guard(math.cos),
    "cosh": guard(math.cosh),
    "erf": math.erf,
    "erfc": math.erfc,
    "exp": guard(math.exp),
    "exp2": guard(lambda x: 2.0**x),
    "expm1": guard(math.expm1),
    "floor": whole(math.floor),
    "log": guard(math.log, zero=-INF),
    "log10": guard(math.log10, zero=-INF),
    "log1p": guard(math.log1p, minus_one=-INF),
    "log2": guard(math.log2, zero=-INF),
    "round": whole(lambda x: math.copysign(math.floor(abs(x) + 0.5), x)),
    "roundeven": whole(round),
    "rsqrt": guard(lambda x: 1 / math.sqrt(x), zero=INF),
    "sin": guard(math.sin),
    "sinh": odd(guard(math.sinh)),
    "sqrt": guard(math.sqrt),
    "tan": guard(math.tan),
    "tanh": math.tanh,
    "trunc": whole(math.trunc),
}
# Powers and the roots that they may be computed by differ at -0 and -infinity; odd and even ones in their signs.
EXPONENTS = [-INF, -3.0, -2.5, -2.0, -1.0, -0.75, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, INF]


def gelu(x):
    return x / 2 * math.erfc(-x * math.sqrt(0.5)) if x != -INF else NAN


def gelu_tanh(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return x / (1 + guard(math.exp)(-2 * inner)) if x != -INF else NAN


def sigmoid(x):
    return 1 / (1 + guard(math.exp)(-x))


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x))) if x == x else x


def elu(x, alpha=1.0, scale=1.0, width=1.0):
    return scale * (x if x >= 0 or x != x else alpha * math.expm1(x / width))


def hard_sigmoid(x, alpha=0.2, beta=0.5):
    return min(max(alpha * x + beta, 0.0), 1.0) if x == x else x


# Operators of ONNX that are made of several functions: attributes, value, and what f32 leaves of the formula's terms.
OPERATORS = {
    "Celu": ([("alpha", 0.5)], lambda x: elu(x, 0.5, 1.0, 0.5), 0),
    "Elu": ([("alpha", 1.5)], lambda x: elu(x, 1.5), 0),
    "Gelu": ([], gelu, 0),
    "GeluTanh": ([("approximate", "tanh")], gelu_tanh, 0),
    "HardSigmoid": ([], hard_sigmoid, 0),
    "HardSwish": ([], lambda x: x * hard_sigmoid(x, 1 / 6) if x > -INF else NAN, 0),
    "LeakyRelu": ([("alpha", 0.1)], lambda x: x if x >= 0 else 0.1 * x, 0),
    "Mish": ([], lambda x: x * math.tanh(softplus(x)) if x > -INF else NAN, 2.0**-126),
    "Reciprocal": ([], guard(lambda x: 1 / x if x else math.copysign(INF, x)), 0),
    "Selu": ([], lambda x: elu(x, 1.67326319217681884765625, 1.05070102214813232421875), 0),
    "Sigmoid": ([], sigmoid, 0),
    "Softplus": ([], softplus, 0),
    "Softsign": ([], lambda x: x / (1 + abs(x)) if abs(x) < INF else NAN, 0),
}


def decode(kind, words):
    if kind == "f16":
        return struct.unpack(f"<{len(words)}e", words.tobytes())
    return struct.unpack(f"<{len(words)}f", array.array("I", (word << 16 for word in words)).tobytes())


def ulp(kind, exact):
    """The distance of the type's numbers around one."""
    digits, least, _ = POWERS[kind]
    return 2.0 ** (max(math.frexp(exact)[1] - 1, least) - digits + 1)


def is_near(kind, got, exact, more):
    if math.isnan(exact):
        return math.isnan(got)
    # Infinity stands for the number after the largest.
    after = 2.0 ** (2 - POWERS[kind][1])
    got, exact = (math.copysign(min(abs(x), after), x) for x in (got, exact))
    if math.copysign(1, got) != math.copysign(1, exact) and not more:
        return False
    return abs(got - exact) <= ulp(kind, min(abs(exact), after / 2)) + more


def write_functions(path):
    """On bits, which no file's type limits."""
    lines, results = [], {}
    bits = f"tensor<{COUNT}xi16>"

    def add(kind, name, op):
        tensor = f"tensor<{COUNT}x{kind}>"
        result = f"{kind}_{name}"
        results[result] = bits if kind in TYPES else tensor
        if kind in TYPES:
            lines.append(f"  %value_{result} = {op} : {tensor}")
            op, tensor = f"arith.bitcast %value_{result}", f"{tensor} to {bits}"
        lines.append(f"  %{result} = {op} : {tensor}")

    for kind in POWERS:
        tensor = f"tensor<{COUNT}x{kind}>"
        if kind in TYPES:
            lines.append(f"  %{kind} = arith.bitcast %bits : {bits} to {tensor}")
            for name in FUNCTIONS:
                add(kind, name, f"math.{name} %{kind}")
        else:
            lines.append(f"  %{kind} = arith.extf %bf16 : tensor<{COUNT}xbf16> to {tensor}")
        for number, exponent in enumerate(EXPONENTS):
            constant = exponent if abs(exponent) < INF else INFINITIES[kind][exponent < 0]
            lines.append(f"  %{kind}_c{number} = arith.constant dense<{constant}> : {tensor}")
            add(kind, f"pow{number}", f"math.powf %{kind}, %{kind}_c{number}")
    types = ", ".join(f'{type} {{dist.output = "{result}"}}' for result, type in results.items())
    values = ", ".join("%" + result for result in results)
    path.write_text(
        f'func.func @main(%bits: {bits} {{dist.input = "bits"}}) -> ({types}) {{\n'
        + "\n".join(lines)
        + f"\n  return {values} : {', '.join(results.values())}\n}}\n"
    )


def write_operators(path):
    """On f32, from and to which casts go."""
    nodes, outputs = [], []

    def node(op, source, result, attributes=()):
        text = ""
        for key, value in attributes:
            kind, field = {float: (1, "f"), int: (2, "i"), str: (3, "s")}[type(value)]
            text += f' attribute {{ name: "{key}" type: {kind} {field}: {value if kind < 3 else chr(34) + value + chr(34)} }}'
        sources = " ".join(f'input: "{name}"' for name in source.split())
        nodes.append(f'  node {{ op_type: "{op}" {sources} output: "{result}"{text} }}')

    tensor = f"type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: {COUNT} }} }} }} }}"

    def add(kind, op, name, sources, attributes):
        node(op, sources, f"{kind}_{name}_16", attributes)
        node("Cast", f"{kind}_{name}_16", f"{kind}_{name}", [("to", 1)])
        outputs.append(f'  output {{ name: "{kind}_{name}" {tensor} }}')

    for kind, (_, _, number) in POWERS.items():
        node("Cast", f"{kind.replace('f32', 'bf16')}_values", kind, [("to", number)])
        for name, (attributes, _, _) in OPERATORS.items() if kind in TYPES else []:
            add(kind, name.replace("GeluTanh", "Gelu"), name, kind, attributes)
        for place, exponent in enumerate(EXPONENTS):
            constant = f"{kind}_c{place}"
            node("Constant", "", f"{constant}_f32", [("value_float", exponent)])
            node("Cast", f"{constant}_f32", constant, [("to", number)])
            add(kind, "Pow", f"Pow{place}", f"{kind} {constant}", [])
    inputs = [f'  input {{ name: "{kind}_values" {tensor} }}' for kind in TYPES]
    body = "\n".join(nodes + inputs + outputs)
    path.write_text(f'ir_version: 10\nopset_import {{ version: 28 }}\ngraph {{\n  name: "g"\n{body}\n}}\n')


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    write_functions(folder / "functions.mlir")
    write_operators(folder / "operators.txt")
    words = array.array("H", range(COUNT))
    npy.write(folder / "bits.npy", "i16", [COUNT], words.tobytes())
    for kind in TYPES:
        npy.write(folder / f"{kind}.npy", "f32", [COUNT], array.array("f", decode(kind, words)).tobytes())


def check(outputs):
    words = array.array("H", range(COUNT))
    wrong = 0
    for kind, (digits, _, _) in POWERS.items():
        inputs = decode(kind, words)
        cases = [(name, function, 0) for name, function in FUNCTIONS.items() if kind in TYPES]
        cases += [(f"{pow}{place}", power(exponent), 0) for place, exponent in enumerate(EXPONENTS) for pow in ("pow", "Pow")]
        cases += [(name, function, left) for name, (_, function, left) in OPERATORS.items() if kind in TYPES]
        for name, function, left in cases:
            data = (outputs / f"{kind}_{name}.npy").read_bytes()
            isBits = name[0].islower() and kind in TYPES
            results = (
                decode(kind, array.array("H", data[-2 * COUNT :])) if isBits else array.array("f", data[-4 * COUNT :])
            )
            near = 2.0**-digits
            # Operators may lose what is less than f32's smallest normal number.
            lost = 0 if name[0].islower() else 2.0**-126
            bad = [
                (x, got, exact)
                for x, got, exact in zip(inputs, results, map(function, inputs))
                if exact is not None
                and not abs(got - exact) < near * abs(exact)
                and not is_near(kind, got, exact, left * abs(x) if left else lost)
            ]
            if bad:
                wrong += 1
                x, got, exact = bad[0]
                print(f"{name} of {kind}: {len(bad)} values, as at {x:.8g}: {got:.8g} instead of {exact:.8g}")
    sys.exit(wrong > 0)


if sys.argv[1] == "write":
    write(pathlib.Path(sys.argv[2]))
else:
    check(pathlib.Path(sys.argv[2]))
