"""Pages of the reference, written by mlir-tblgen from the .td files and committed."""

def reference_pages(name, pages):
    """Generates the pages, tests that the committed ones equal them, and refreshes those by `bazel run`.

    Args:
      name: of the target that refreshes the committed pages.
      pages: {"dialect": {"td": [paths], "deps": [labels], "options": "…", "title": "…"}}; page
        `dialect` is dialect.md; without "title" mlir-tblgen writes one.
    """
    for page, source in pages.items():
        generated = "generated/%s.md" % page

        # [TOC] means something to MLIR's own website only; pages of passes have no title.
        edits = "-e '/^\\[TOC\\]$$/d'"
        if "title" in source:
            edits += " -e '1a\\\n\\n# %s'" % source["title"]
        native.genrule(
            name = page,
            srcs = source["deps"],
            outs = [generated],
            cmd = "printf 'include \"%%s\"\\n' %s | /usr/lib/llvm-22/bin/mlir-tblgen %s -I /usr/lib/llvm-22/include -I . | sed %s > $@" %
                  (" ".join(source["td"]), source["options"], edits),
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
