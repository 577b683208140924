"""Writes a program of sums, and a schedule that cuts what they leave: 32 rows or columns.

    sums_of_parts.py rows|all LENGTH...

Results after one `dist.fence`, and before the next, may be of one kernel.
"""

import sys

KEPT = 32
LEAST = -30000.0
SUM = "%r = arith.addf %o, %a : f32"
SQUARES = "%m = arith.mulf %a, %a : f32\n  %r = arith.addf %o, %m : f32"
EXPONENTIALS = "%m = math.exp %a : f32\n  %r = arith.addf %o, %m : f32"
# More operations than are written out eight times.
MANY = "".join(f"%e{i} = math.exp %{f'n{i - 1}' if i else 'a'} : f32\n  %n{i} = arith.negf %e{i} : f32\n  " for i in range(5)) + "%r = arith.addf %o, %n4 : f32"
PRODUCT = "%r = arith.mulf %o, %a : f32"
LARGEST = "%r = arith.maximumf %o, %a : f32"
DOT = "%m = arith.mulf %a, %b : f32\n  %r = arith.addf %o, %m : f32"
SHIFTED = "%m = arith.subf %a, %b : f32\n  %r = math.exp %m : f32"
QUOTIENT = "%r = arith.divf %a, %b : f32"
FROM_BOOL = "%m = arith.uitofp %a : i1 to f32\n  %r = arith.addf %m, %o : f32"
POSITIVE = "%z = arith.constant 0.0 : f32\n  %m = arith.cmpf ogt, %a, %z : f32\n  %r = arith.ori %o, %m : i1"


def tensor(shape, kind="f32"):
    return "tensor<" + "".join(f"{size}x" for size in shape) + kind + ">"


class Program:
    def __init__(self):
        self.arguments, self.directives, self.ops, self.results, self.count = [], [], [], [], 0

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def input(self, shape, cut=None):
        """`cut` is the dimension that devices have parts of."""
        name = f"x{len(self.arguments)}"
        self.arguments.append(f'%{name}: {tensor(shape)} {{dist.input = "{name}"}}')
        if cut is not None:
            dims = ", ".join('{"tp"}' if dim == cut else "{}" for dim in range(len(shape)))
            self.directives.append(f'  dist.shard input "{name}" [{dims}]')
        return "%" + name, shape, "f32"

    def generic(self, inputs, maps, body, sizes, start=0.0, onto=None, element="f32"):
        """Maps and sizes name loops by letters; a loop that the last map leaves out is a reduction. It begins with `start`, or `onto`."""
        loops = ", ".join(sizes)
        shape = [sizes[loop] for loop in maps[-1]]
        kinds = ", ".join('"parallel"' if loop in maps[-1] else '"reduction"' for loop in sizes)
        texts = ", ".join(f"affine_map<({loops}) -> ({', '.join(m)})>" for m in maps)
        zero, empty, fill, out = (self.name() for _ in range(4))
        kind = tensor(shape, element)
        operands = f"{', '.join(name for name, _, _ in inputs)} : {', '.join(tensor(s, e) for _, s, e in inputs)}"
        block = ", ".join(f"%{letter}: {e}" for letter, (_, _, e) in zip("ab", inputs))
        if onto:
            fill = onto[0]
        else:
            self.ops.append(
                f"{zero} = arith.constant {start} : {element}\n"
                f"{empty} = tensor.empty() : {kind}\n"
                f"{fill} = linalg.fill ins({zero} : {element}) outs({empty} : {kind}) -> {kind}"
            )
        self.ops.append(
            f"{out} = linalg.generic {{indexing_maps = [{texts}], iterator_types = [{kinds}]}} ins({operands}) outs({fill} : {kind}) {{\n"
            f"^bb0({block}, %o: {element}):\n  {body}\n  linalg.yield %r : {element}\n}} -> {kind}"
        )
        return out, shape, element

    def finish(self, *values):
        self.results += values
        self.ops.append("dist.fence")

    def softmax(self, x, all_loops, kept, sizes):
        largest = self.generic([x], [all_loops, kept], LARGEST, sizes, LEAST)
        shifted = self.generic([x, largest], [all_loops, kept, all_loops], SHIFTED, sizes)
        total = self.generic([shifted], [all_loops, kept], SUM, sizes)
        self.finish(self.generic([shifted, total], [all_loops, kept, all_loops], QUOTIENT, sizes))

    def add_rows(self, length):
        """Whatever else is in the kernel: of one row it is alone in its own."""
        row, maps = {"i": KEPT, "j": length}, ["ij", "i"]
        x = self.input([KEPT, length], 0)
        self.finish(self.generic([x], maps, SUM, row), self.generic([x], maps, SQUARES, row))
        x = self.input([KEPT, length], 0)
        some = self.generic([x], maps, POSITIVE, row, 0, element="i1")
        chosen = self.generic([some], ["i", "i"], FROM_BOOL, {"i": KEPT})
        self.finish(self.generic([x], maps, EXPONENTIALS, row), chosen)
        x, scale, onto = self.input([KEPT, length], 0), self.input([KEPT], 0), self.input([KEPT], 0)
        self.finish(self.generic([x, scale], ["ij", "i", "i"], DOT, row, onto=onto))
        sizes = {"b": 3, "i": KEPT, "j": length}
        self.finish(self.generic([self.input([3, KEPT, length], 1)], ["bij", "i"], SUM, sizes))
        self.softmax(self.input([KEPT, length], 0), "ij", "i", row)

    def add(self, length):
        self.add_rows(length)
        row, column = {"i": KEPT, "j": length}, {"j": length, "i": KEPT}
        for body, start in ((SUM, 0.0), (SQUARES, 0.0), (EXPONENTIALS, 0.0), (PRODUCT, 1.0)):
            self.finish(self.generic([self.input([KEPT, length], 0)], ["ij", "i"], body, row, start))
            self.finish(self.generic([self.input([length, KEPT], 1)], ["ji", "i"], body, column, start))
        # Between two dimensions; over two, the last of them kept, and not.
        sizes = {"b": 4, "j": length, "i": KEPT}
        self.finish(self.generic([self.input([4, length, KEPT], 2)], ["bji", "bi"], SUM, sizes))
        self.finish(self.generic([self.input([4, length, KEPT], 2)], ["bji", "i"], SUM, sizes))
        self.finish(self.generic([self.input([length, KEPT], 1)], ["ji", "i"], MANY, column))
        # Rows times a vector.
        self.finish(self.generic([self.input([KEPT, length], 0), self.input([length])], ["ij", "j", "i"], DOT, row))
        self.softmax(self.input([length, KEPT], 1), "ji", "i", column)

    def text(self):
        kinds = [tensor(shape) for _, shape, _ in self.results]
        outputs = ", ".join(f'{kind} {{dist.output = "y{number}"}}' for number, kind in enumerate(kinds))
        names = ", ".join(name for name, _, _ in self.results)
        return "\n".join(
            ['dist.mesh @m ["tp" = 2]', "dist.schedule @s on @m {", *self.directives, "}"]
            + [f"func.func @main({', '.join(self.arguments)}) -> ({outputs}) {{", *self.ops]
            + [f"return {names} : {', '.join(kinds)}", "}"]
        )


program = Program()
for length in sys.argv[2:]:
    (program.add_rows if sys.argv[1] == "rows" else program.add)(int(length))
print(program.text())
