"""The report that Bazel keeps of a test, for tests that are scripts: a case each."""

import os
import re
import sys
import time
from xml.sax.saxutils import escape, quoteattr

# For what is run for its numbers alone: LLVM takes most of a small run. --config=long (.bazelrc) optimises it, too.
OPT_LEVEL = "--opt-level=" + os.environ.get("DIST_OPT_LEVEL", "0")


def run(suite, cases, pattern=""):
    """Calls those of `cases`, functions by name, whose name matches; gives the exit status."""
    results = []
    for name, case in cases.items():
        if not re.search(pattern, name):
            continue
        start, problem = time.monotonic(), None
        try:
            case()
        except Exception as error:  # noqa: BLE001: whatever it is, the other cases run
            problem = f"{type(error).__name__}: {error}"
        results.append((name, time.monotonic() - start, problem))
        print("ok" if problem is None else "FAILED", name, problem or "", flush=True)
    return finish(suite, results)


def finish(suite, results):
    """Prints and writes the results, a list of (name, seconds, problem or None); gives the exit status."""
    failed = [name for name, _, problem in results if problem is not None]
    if "XML_OUTPUT_FILE" in os.environ:
        with open(os.environ["XML_OUTPUT_FILE"], "w", encoding="utf-8") as file:
            file.write(f"<testsuites><testsuite name={quoteattr(suite)} tests=\"{len(results)}\">\n")
            for name, seconds, problem in results:
                file.write(f"<testcase classname={quoteattr(suite)} name={quoteattr(name)} time=\"{seconds:.3f}\">")
                if problem is not None:
                    printable = re.sub(r"[^ -~\n]", "?", problem)  # XML 1.0 has no control characters
                    file.write(f"<failure>{escape(printable)}</failure>")
                file.write("</testcase>\n")
            file.write("</testsuite></testsuites>\n")
    for name in failed:
        print("FAILED", name, file=sys.stderr)
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not results else 0
