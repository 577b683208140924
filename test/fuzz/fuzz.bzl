"""A fuzz target: NameFuzz.cpp, which reads the files of corpus/name."""

load("//third_party:mlir.bzl", "cc_binary")

def fuzz_test(name, deps, tags = []):
    """Declares the test `name`, of a bounded number of inputs.

    Args:
      name: of the test, and of the folder below corpus/.
      deps: what the target calls.
      tags: Bazel's.
    """
    parts = [part.capitalize() for part in name.split("_")]
    cc_binary(
        name = name + "_fuzzer",
        testonly = True,
        srcs = ["".join(parts) + "Fuzz.cpp"],
        linkopts = select({
            "//test/fuzz:with_libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = deps + ["//test/fuzz", "//test/fuzz:main"],
    )
    native.sh_test(
        name = name,
        size = "medium",
        srcs = ["run-fuzzer"],
        args = [name],
        data = [":" + name + "_fuzzer"] + native.glob(["corpus/" + name + "/**"]),
        tags = tags,
    )
