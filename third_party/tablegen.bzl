"""Runs mlir-tblgen: generated files, or one page of documentation."""

def mlir_tblgen(name, td, outs, deps = [], dialect_docs = None):
    """Generates `outs`, a map of file name to the list of mlir-tblgen options, from `td`.

    Args:
      name: of the filegroup with all outputs.
      td: the TableGen source.
      outs: {"DistOps.h.inc": ["-gen-op-decls"], ...}
      deps: further .td files or filegroups that `td` includes.
    """
    for out, opts in outs.items():
        native.genrule(
            name = name + "_" + out.replace(".", "_").replace("/", "_"),
            srcs = [td] + deps,
            outs = [out],
            cmd = "/usr/lib/llvm-22/bin/mlir-tblgen %s -I /usr/lib/llvm-22/include -I . $(location %s) -o $@" % (" ".join(opts), td),
        )
    native.filegroup(name = name, srcs = outs.keys())

def mlir_passes(group):
    """The passes that Passes.td of this folder declares.

    `:td` is that file, for documentation; `:passes_inc` is Passes.h.inc.

    Args:
      group: registerGROUPPasses registers all of them.
    """
    native.filegroup(name = "td", srcs = ["Passes.td"])
    mlir_tblgen(
        name = "passes_inc",
        td = "Passes.td",
        outs = {"Passes.h.inc": ["-gen-pass-decls", "-name=" + group]},
    )
