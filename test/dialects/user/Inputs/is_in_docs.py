"""Fails unless each C++ block of the page argv[2] is, word for word, in the file argv[1]."""
import re
import sys

code, page = (open(path).read() for path in sys.argv[1:3])
blocks = re.findall(r"```cpp\n(.*?)```", page, re.S)
missing = [block for block in blocks if block not in code]
if not blocks or missing:
    sys.exit("not in %s:\n%s" % (sys.argv[1], "".join(missing) or "no block at all"))
