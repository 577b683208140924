#!/usr/bin/python3
"""Runs the commands that the documentation shows.

    run_docs.py FILE.md|FOLDER...

Every block fenced as `sh` is run by bash, in order, each page in a scratch copy
of the repository of its own in which the tools are built (bazel-bin/tools), and
must succeed; variables and the current folder carry over from block to block. A
block fenced as `output` right after one shows lines of what it prints, in order;
`…` in such a line stands for anything. What is not to be run is fenced as
something else (text, mlir, json, …). A fence must say which it is.

Each block is a test of its own.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import xunit  # noqa: E402

COPIED = ["README.md", "quickstart", "docs", "examples", "third_party"]


class Block:
    def __init__(self, page, line, language, text):
        self.page, self.line, self.language, self.text = page, line, language, text
        self.output = None

    @property
    def name(self):
        return f"{self.page}:{self.line}"


def read_blocks(page):
    """The fenced blocks of a page; an `output` block is attached to the one before."""
    blocks, current = [], None
    with open(page, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            fence = re.match(r"( *)(```+)(.*)$", line)
            if current is None and fence:
                current = Block(page, number, fence[3].strip(), "")
                indent, marks = fence[1], fence[2]
            elif current is not None and fence and fence[2] == marks and not fence[3].strip():
                if current.language == "output" and blocks and blocks[-1].language == "sh":
                    blocks[-1].output = current.text
                else:
                    blocks.append(current)
                current = None
            elif current is not None:
                current.text += line.removeprefix(indent)
    if current is not None:
        raise ValueError(f"{page}:{current.line}: this fence is not closed")
    return blocks


def missing_line(expected, printed):
    """The first line of `expected` that does not follow in `printed`, or None."""
    rest = iter(printed.splitlines())
    for line in expected.splitlines():
        if not line.strip() or line.strip() == "…":
            continue
        pattern = re.compile(".*".join(re.escape(part.strip()) for part in line.strip().split("…")))
        if not any(pattern.search(candidate) for candidate in rest):
            return line.strip()
    return None


def run_block(block, scratch, environment):
    """Why the block failed, or None."""
    state = os.path.join(scratch, ".state")
    folder = os.path.join(scratch, ".folder")
    script = "set -euo pipefail -o allexport\n"
    script += f"[ ! -e {state} ] || source {state}\n[ ! -e {folder} ] || cd \"$(cat {folder})\"\n"
    script += block.text
    script += f"\n{{ export -p >{state}; pwd >{folder}; }}\n"
    run = subprocess.run(["/bin/bash", "-c", script], cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if run.returncode:
        return f"{block.text}\nexit status {run.returncode}:\n{run.stdout[-5000:]}"
    if block.output is not None:
        missing = missing_line(block.output, run.stdout)
        if missing is not None:
            return f"{block.text}\nprints no such line (in this order):\n  {missing}\nbut:\n{run.stdout[-5000:]}"
    return None


def make_scratch(scratch):
    root = os.getcwd()
    for name in COPIED:
        source, target = os.path.join(root, name), os.path.join(scratch, name)
        if os.path.isdir(source):
            shutil.copytree(source, target)
        elif os.path.exists(source):
            shutil.copy(source, target)
    os.makedirs(os.path.join(scratch, "bazel-bin"))
    os.symlink(os.path.join(root, "tools"), os.path.join(scratch, "bazel-bin", "tools"))


def run_page(page):
    """(name, seconds, problem) of each block to run."""
    results = []
    blocks = read_blocks(page)
    for block in blocks:
        if not block.language:
            results.append((block.name, 0.0, "this fence does not say what it holds: sh (is run), output, text, …"))
    to_run = [block for block in blocks if block.language == "sh"]
    if not to_run:
        return results
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
        make_scratch(scratch)
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": scratch,
            "TMPDIR": scratch,
            "LANG": "C.UTF-8",
            # quickstart then neither installs nor builds.
            "DIST_TOOLS": os.path.join(os.getcwd(), "tools"),
        }
        for block in to_run:
            start = time.monotonic()
            problem = run_block(block, scratch, environment)
            results.append((block.name, time.monotonic() - start, problem))
    return results


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pages = []
    for argument in sys.argv[1:]:
        if os.path.isdir(argument):
            pages += sorted(glob.glob(os.path.join(argument, "**", "*.md"), recursive=True))
        else:
            pages.append(argument)
    results = []
    for page in pages:
        try:
            results += run_page(page)
        except (OSError, ValueError) as error:
            results.append((page, 0.0, str(error)))
    for name, _, problem in results:
        print("ok    " if problem is None else "FAILED", name, problem or "")
    return xunit.finish("docs", results)


if __name__ == "__main__":
    sys.exit(main())
