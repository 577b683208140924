"""The report that Bazel keeps of a test, for tests that are scripts: a case each."""

import os
import re
import sys
from xml.sax.saxutils import escape, quoteattr


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
