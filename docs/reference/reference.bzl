"""Pages of the reference, written by mlir-tblgen from the .td files and committed."""

def reference_pages(name, pages):
    """Generates the pages, tests that the committed ones equal them, and refreshes those by `bazel run`.

    Args:
      name: of the target that refreshes the committed pages.
      pages: {"dialect": {"td": path, "deps": label, "options": "…"}}; page `dialect` is dialect.md.
    """
    for page, source in pages.items():
        generated = "generated/%s.md" % page
        native.genrule(
            name = page,
            srcs = [source["deps"]],
            outs = [generated],
            cmd = ("/usr/lib/llvm-22/bin/mlir-tblgen %s -I /usr/lib/llvm-22/include -I . %s | grep -v '^\\[TOC\\]' > $@" %
                   (source["options"], source["td"])),
        )
        native.sh_test(
            name = page + "_test",
            size = "small",
            srcs = ["refresh.sh"],
            args = [page],
            data = [generated, page + ".md"],
        )
    native.sh_binary(
        name = name,
        srcs = ["refresh.sh"],
        args = pages.keys(),
        data = ["generated/%s.md" % page for page in pages],
    )
