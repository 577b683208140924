"""A stack of transformer layers as a model of one device: for closed forms, in sizes that the models lack.

Each layer has two norms, attention with projections q, k, v (or one, c_attn) and c_proj, and an MLP with c_fc and
c_proj, all with biases; with a vocabulary, a table and a head are before and after them. Directives find the modules as
they find those of an export.
"""


class Emitter:
    def __init__(self):
        self.lines, self.arguments, self.count, self.scope = [], [], 0, ""

    def argument(self, name, shape, kind="parameter", element="f32"):
        value = f"%arg{len(self.arguments)}"
        type_ = f"tensor<{'x'.join(map(str, shape))}x{element}>"
        self.arguments.append(f'{value}: {type_} {{dist.{kind} = "{name}"}}')
        return value, tuple(shape), type_

    def new(self, text, shape, element="f32"):
        self.count += 1
        value = f"%v{self.count}"
        self.lines.append(f"{value} = {text}")
        return value, tuple(shape), f"tensor<{'x'.join(map(str, shape))}x{element}>"

    def init(self, shape, fill):
        type_ = f"tensor<{'x'.join(map(str, shape))}xf32>"
        empty = self.new(f"tensor.empty() : {type_}", shape)
        if fill is None:
            return empty
        zero = self.new(f"arith.constant {fill} : f32", ())
        return self.new(f"linalg.fill ins({zero[0]} : f32) outs({empty[0]} : {type_}) -> {type_}", shape)

    def attributes(self):
        return f'{{dist.scope = "{self.scope}"}}'

    def maps(self, spec):
        inputs, out = spec.split("->")
        loops = out + "".join(sorted(set(inputs) - set(out) - {","}))
        names = ", ".join(loops)
        parts = [f"affine_map<({names}) -> ({', '.join(part)})>" for part in [*inputs.split(","), out]]
        kinds = ", ".join('"parallel"' if loop in out else '"reduction"' for loop in loops)
        return inputs.split(","), out, f"[{', '.join(parts)}]", f"[{kinds}]"

    def sizes(self, inputs, tensors, out):
        known = {loop: size for part, tensor in zip(inputs, tensors) for loop, size in zip(part, tensor[1])}
        return [known[loop] for loop in out]

    def each(self, spec, body, *tensors, fill=None):
        """A linalg.generic: `body` has lines about %a0, %a1, … and %out, and ends in %r."""
        inputs, out, maps, kinds = self.maps(spec)
        shape = self.sizes(inputs, tensors, out)
        init = self.init(shape, fill)
        arguments = ", ".join([f"%a{n}: f32" for n in range(len(tensors))] + ["%out: f32"])
        return self.new(
            f"linalg.generic {{indexing_maps = {maps}, iterator_types = {kinds}}} "
            f"ins({', '.join(t[0] for t in tensors)} : {', '.join(t[2] for t in tensors)}) outs({init[0]} : {init[2]}) "
            f"attrs = {self.attributes()} {{\n^bb0({arguments}):\n" + "\n".join(body) + f"\nlinalg.yield %r : f32\n}} -> {init[2]}",
            shape,
        )

    def total(self, spec, tensor):
        return self.each(spec, ["%r = arith.addf %out, %a0 : f32"], tensor, fill="0.0")

    def contract(self, spec, left, right):
        inputs, out, maps, _ = self.maps(spec)
        shape = self.sizes(inputs, (left, right), out)
        init = self.init(shape, "0.0")
        return self.new(
            f"linalg.contract indexing_maps = {maps} {self.attributes()} "
            f"ins({left[0]}, {right[0]} : {left[2]}, {right[2]}) outs({init[0]} : {init[2]}) -> {init[2]}",
            shape,
        )

    def linear(self, scope, x, inner, outer, parameters):
        self.scope = scope
        weight = self.argument(scope + ".weight", (inner, outer))
        bias = self.argument(scope + ".bias", (outer,))
        parameters += [inner * outer, outer]
        y = self.contract("bsi,io->bso", x, weight)
        return self.each("bso,o->bso", ["%r = arith.addf %a0, %a1 : f32"], y, bias)

    def norm(self, scope, x, hidden, parameters):
        self.scope = scope
        weight, bias = self.argument(scope + ".weight", (hidden,)), self.argument(scope + ".bias", (hidden,))
        parameters += [hidden, hidden]
        count = f"%n = arith.constant {float(hidden)} : f32"
        center = ["%m = arith.divf %a1, %n : f32", "%c = arith.subf %a0, %m : f32"]
        mean = self.total("bsh->bs", x)
        square = [count, *center, "%q = arith.mulf %c, %c : f32", "%r = arith.addf %out, %q : f32"]
        variance = self.each("bsh,bs->bs", square, x, mean, fill="0.0")
        scale = [
            count,
            *center,
            "%e = arith.constant 1.0e-5 : f32",
            "%v = arith.divf %a2, %n : f32",
            "%w = arith.addf %v, %e : f32",
            "%s = math.rsqrt %w : f32",
            "%d = arith.mulf %c, %s : f32",
            "%g = arith.mulf %d, %a3 : f32",
            "%r = arith.addf %g, %a4 : f32",
        ]
        return self.each("bsh,bs,bs,h,h->bsh", scale, x, mean, variance, weight, bias)

    def attention(self, scope, x, heads, fused, parameters):
        b, s, h = x[1]
        if fused:
            packed = self.linear(scope + ".c_attn", x, h, 3 * h, parameters)
            self.scope = scope
            parts = [
                self.new(
                    f"tensor.extract_slice {packed[0]}[0, 0, {i * h}] [{b}, {s}, {h}] [1, 1, 1] {self.attributes()} : "
                    f"{packed[2]} to {x[2]}",
                    (b, s, h),
                )
                for i in range(3)
            ]
        else:
            parts = [self.linear(f"{scope}.{name}", x, h, h, parameters) for name in ("q", "k", "v")]
        self.scope = scope
        split = f"tensor<{b}x{s}x{heads}x{h // heads}xf32>"
        q, k, v = (
            self.new(
                f"tensor.expand_shape {part[0]} [[0], [1], [2, 3]] output_shape [{b}, {s}, {heads}, {h // heads}] "
                f"{self.attributes()} : {part[2]} into {split}",
                (b, s, heads, h // heads),
            )
            for part in parts
        )
        scores = self.contract("bqnd,bknd->bnqk", q, k)
        init = self.init(scores[1], None)
        weights = self.new(
            f"linalg.softmax {self.attributes()} dimension(3) ins({scores[0]} : {scores[2]}) outs({init[0]} : {init[2]})"
            f" -> {init[2]}",
            scores[1],
        )
        mixed = self.contract("bnqk,bknd->bqnd", weights, v)
        joined = self.new(
            f"tensor.collapse_shape {mixed[0]} [[0], [1], [2, 3]] {self.attributes()} : {mixed[2]} into {x[2]}", (b, s, h)
        )
        return self.linear(scope + ".c_proj", joined, h, h, parameters)

    def add(self, scope, x, y):
        self.scope = scope
        return self.each("bsh,bsh->bsh", ["%r = arith.addf %a0, %a1 : f32"], x, y)


def emit(layers=2, batch=4, sequence=64, hidden=64, heads=4, fused=False, vocabulary=0):
    """The module as text, and how many elements each parameter has."""
    e, parameters = Emitter(), []
    if vocabulary:
        ids = e.argument("ids", (batch, sequence), "input", "i64")
        table = e.argument("wte.weight", (vocabulary, hidden))
        parameters.append(vocabulary * hidden)
        e.scope = "wte"
        indices = e.new(
            f"tensor.expand_shape {ids[0]} [[0], [1, 2]] output_shape [{batch}, {sequence}, 1] {e.attributes()} : {ids[2]} "
            f"into tensor<{batch}x{sequence}x1xi64>",
            (batch, sequence, 1),
            "i64",
        )
        x = e.new(
            f"tensor.gather {table[0]}[{indices[0]}] gather_dims([0]) {e.attributes()} : ({table[2]}, {indices[2]}) -> "
            f"tensor<{batch}x{sequence}x{hidden}xf32>",
            (batch, sequence, hidden),
        )
    else:
        x = e.argument("x", (batch, sequence, hidden), "input")
    for layer in range(layers):
        scope = f"h.{layer}"
        y = e.norm(scope + ".ln_1", x, hidden, parameters)
        x = e.add(scope, x, e.attention(scope + ".attn", y, heads, fused, parameters))
        y = e.norm(scope + ".ln_2", x, hidden, parameters)
        y = e.linear(scope + ".mlp.c_fc", y, hidden, 4 * hidden, parameters)
        e.scope = scope + ".mlp"
        y = e.each("bsh->bsh", ["%t = math.tanh %a0 : f32", "%r = arith.mulf %a0, %t : f32"], y)
        x = e.add(scope, x, e.linear(scope + ".mlp.c_proj", y, 4 * hidden, hidden, parameters))
    if vocabulary:
        x = e.linear("head", x, hidden, vocabulary, parameters)
    body = "\n".join(e.lines)
    arguments = ", ".join(e.arguments)
    return (
        f'func.func @main({arguments}) -> ({x[2]} {{dist.output = "y"}}) {{\n{body}\nreturn {x[0]} : {x[2]}\n}}\n',
        parameters,
    )
