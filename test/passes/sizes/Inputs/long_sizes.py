"""Writes argv[1] ops whose dynamic size is that of the op before, and a slice of all of the last."""
import sys

count, t = int(sys.argv[1]), "tensor<?x4xf32>"
print('dist.mesh @m ["x" = 2]')
print(f"""func.func @main(%v0: {t} {{dist.sharding = #dist.sharding<@m, [{{"x"}}, {{}}]>}}) -> {t} {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %v0, %c0 : {t}""")
for i in range(count):
    print(f"  %v{i + 1} = math.exp %v{i} : {t}")
print(f"""  %s = tensor.extract_slice %v{count}[0, 0] [%n, 4] [1, 1] : {t} to {t}
  return %s : {t}
}}""")
