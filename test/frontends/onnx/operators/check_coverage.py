#!/usr/bin/python3
"""Every operator that dist-import lists has a case in cases/, or a test that is named here.

    check_coverage.py CASES.json...
"""

import json
import subprocess
import sys

# Operators that a case of a single node cannot show.
ELSEWHERE = {
    "Constant": "every case with constants",
    "If": "branches.test",
    **{name: "test/e2e/random_numbers.py" for name in [
        "Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"]},
    **{name: "sequences.test" for name in [
        "ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceLength",
        "SplitToSequence"]},
}


def main():
    listing = subprocess.run(["tools/dist-import", "--operators"], stdout=subprocess.PIPE, text=True, check=True).stdout
    supported = set(listing.split(":", 1)[1].split())
    tested = set()
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            tested |= {case["op"] for case in json.load(file)}
    missing = supported - tested - set(ELSEWHERE)
    stale = (tested | set(ELSEWHERE)) - supported
    print(f"{len(supported)} operators, {len(supported & tested)} with cases")
    if missing or stale:
        sys.exit(f"without a case: {sorted(missing)}; tested, but not listed: {sorted(stale)}")


if __name__ == "__main__":
    main()
