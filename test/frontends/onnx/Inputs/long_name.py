"""Prints a model as text: a Split with a long name and many results.

    long_name.py BYTES RESULTS
"""

import sys

length, count = map(int, sys.argv[1:])
outputs = " ".join(f'output: "y{i}"' for i in range(count))
print(
    f"""ir_version: 8 opset_import {{ version: 17 }}
graph {{
  input {{ name: "x" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: {count} }} }} }} }} }}
  node {{ name: "{'a' * length}" op_type: "Split" input: "x" {outputs} }}
  output {{ name: "y0" }}
}}"""
)
