"""How lit runs this project's tests: called by test/run-lit inside Bazel's runfiles.

A test sees on PATH the tools its suite declared, and LLVM's own (FileCheck,
not, count, split-file, mlir-opt). %S and %s are its folder and file, %t a path
of its own to write to.
"""

import os

import lit.formats

LLVM_BIN = "/usr/lib/llvm-22/bin"

config.name = "dist"
# lit's own shell: the same everywhere, and no process for the shell itself.
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]

# The runfiles: every file the suite declared, and nothing else.
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
config.test_source_root = os.path.join(root, "test")
config.test_exec_root = os.path.join(
    os.environ.get("TEST_TMPDIR", os.path.join(root, "build")), "lit"
)

config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(root, "tools"),
        os.path.join(root, "test", "generator", "fuzz"),
        LLVM_BIN,
        "/usr/bin",
        "/bin",
    ]
)
# What tests write in Python may import npy.
config.environment["PYTHONPATH"] = os.path.join(root, "test")
# A variable captured in one CHECK-LABEL block must not leak into the next, and
# a prefix that matches no line of the test is a misspelling.
config.environment["FILECHECK_OPTS"] = (
    "-enable-var-scope --allow-unused-prefixes=false --dump-input-filter=error"
)
config.substitutions.append(("%{root}", root))
config.substitutions.append(("%{npy}", "/usr/bin/python3 " + os.path.join(root, "test", "npy.py")))
# Of what is run for its numbers; --config=long (.bazelrc) optimises it, too.
level = os.environ.get("DIST_OPT_LEVEL", "0")
config.substitutions.append(("%{opt}", "--opt-level=" + level))
# The same where code that is not optimised takes longer to run than other code to compile.
config.substitutions.append(("%{opt1}", f"--opt-level={max(int(level), 1)}"))
config.substitutions.append(("%{examples}", os.path.join(root, "examples")))
