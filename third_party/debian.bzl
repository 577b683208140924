"""Repository rules that make Debian 12's packages usable from Bazel 4.2.3."""

_RULES_CC = "/usr/share/bazel/rules/cc"

def _debian_rules_cc_impl(ctx):
    # rules_cc 0.0.4 imports use_cpp_toolchain, which Bazel 4.2.3 lacks: copy the
    # package and write the toolchain type where the function was called.
    result = ctx.execute(["cp", "-rL", _RULES_CC + "/.", "."])
    if result.return_code:
        fail("%s is missing: apt-get install bazel-rules-cc (%s)" % (_RULES_CC, result.stderr))
    for name in ["compiler_flag", "cc_flags_supplier"]:
        path = "cc/private/rules_impl/%s.bzl" % name
        text = ctx.read(path)
        text = text.replace(", \"use_cpp_toolchain\"", "")
        text = text.replace("use_cpp_toolchain()", "[\"@bazel_tools//tools/cpp:toolchain_type\"]")
        ctx.file(path, text, executable = False)

debian_rules_cc = repository_rule(implementation = _debian_rules_cc_impl, local = False)

def _debian_system_impl(ctx):
    ctx.symlink(ctx.attr.build_file, "BUILD")

debian_system = repository_rule(
    implementation = _debian_system_impl,
    attrs = {"build_file": attr.label(allow_single_file = True)},
)

def _no_coverage_tools_impl(ctx):
    # Every test depends on Bazel's coverage tools, which it would download,
    # although only `bazel coverage` runs them.
    ctx.file("BUILD", "filegroup(name = \"coverage_report_generator\", visibility = [\"//visibility:public\"])\n")

no_coverage_tools = repository_rule(implementation = _no_coverage_tools_impl)
