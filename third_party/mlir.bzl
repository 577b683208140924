"""cc_library, cc_binary and cc_test, with a precompiled header for what includes MLIR.

MLIR's headers are four fifths of a file's compile time. A target that lists
@llvm//:mlir in its deps gets them parsed already; nothing else changes for it.
docs/develop/build.md says how, and how missing includes are found all the same.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@rules_cc//cc:defs.bzl", _cc_binary = "cc_binary", _cc_library = "cc_library", _cc_test = "cc_test")

_PRECOMPILED = "//third_party:mlir_precompiled"

def _mlir_precompiled_header_impl(ctx):
    if ctx.var.get("precompiled") == "off":
        return [CcInfo(), platform_common.TemplateVariableInfo({"MLIR_PRECOMPILED": ""})]
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = CPP_COMPILE_ACTION_NAME,
        variables = cc_common.create_compile_variables(
            feature_configuration = features,
            cc_toolchain = toolchain,
            user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
            use_pic = True,
        ),
    )
    output = ctx.actions.declare_file(ctx.label.name + ".pch")

    # A precompiled header holds the absolute paths of its files: those of the
    # package are the same in every checkout, and so are its bytes. Without times,
    # as packages are installed when they are.
    arguments = ctx.actions.args()
    arguments.add_all(flags)
    for header in ctx.attr.headers:
        arguments.add_all(["-include", header])
    arguments.add_all(["-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp"])
    arguments.add_all(["-x", "c++-header", ctx.attr.main, "-o", output])
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        arguments = [arguments],
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = cc_common.empty_variables(),
        ),
        inputs = depset(ctx.files.tracked, transitive = [toolchain.all_files]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling MLIR's headers",
    )

    # clang does not name it among what a file was made of; Bazel wants to read it there.
    use = "-include-pch {path} -Xclang -fdepfile-entry={path}".format(path = output.path)
    return [
        DefaultInfo(files = depset([output])),
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset([output]))),
        platform_common.TemplateVariableInfo({"MLIR_PRECOMPILED": use}),
    ]

mlir_precompiled_header = rule(
    implementation = _mlir_precompiled_header_impl,
    attrs = {
        "headers": attr.string_list(doc = "What is precompiled, as it would be included."),
        "main": attr.string(doc = "A small header with an absolute path; clang needs a main file."),
        "tracked": attr.label_list(allow_files = True, doc = "Headers that, once changed, are precompiled again."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _precompiled(attributes):
    if "@llvm//:mlir" in attributes.get("deps", []):
        attributes["deps"] = attributes["deps"] + [_PRECOMPILED]
        attributes["copts"] = ["$(MLIR_PRECOMPILED)"] + attributes.get("copts", [])
        attributes["toolchains"] = [_PRECOMPILED]
    return attributes

def cc_library(**attributes):
    _cc_library(**_precompiled(attributes))

def cc_binary(**attributes):
    _cc_binary(**_precompiled(attributes))

def cc_test(**attributes):
    _cc_test(**_precompiled(attributes))
