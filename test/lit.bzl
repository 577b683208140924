"""One Bazel test per folder of lit tests; lit counts and reports each file."""

def lit_test_suite(name, tools = ["//tools:dist-opt"], data = [], size = "medium", tags = []):
    """Tests every .mlir and .test file of this package, subfolders included.

    A new test file needs no edit of a BUILD file. Files under a folder named
    Inputs are data that tests may read, not tests. One test alone:
    `bazel test //test/passes/spmd --test_arg=--filter=propagate`.

    Args:
      name: of the test target.
      tools: programs that the tests call; they are on PATH under their own names.
      data: further files that the tests read, e.g. "//examples:gpt2".
      size: of the whole suite, in Bazel's words.
      tags: Bazel's.
    """
    files = native.glob(["**/*.mlir", "**/*.test"], exclude = ["**/Inputs/**"])
    if not files:
        return
    native.sh_test(
        name = name,
        size = size,
        srcs = ["//test:run-lit"],
        args = [native.package_name()],
        data = files + native.glob(["**/Inputs/**", "**/lit.local.cfg"]) +
               ["//test:lit.cfg.py", "//test:npy.py"] + tools + data,
        tags = tags,
    )
