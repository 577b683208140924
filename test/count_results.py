#!/usr/bin/python3
"""Counts single tests from the event files of `bazel test`: each lit file, each GoogleTest case.

Prints a line per Bazel target, what failed and why, and as the last line
`N passed, N failed`. Exits 0 only if something ran and nothing failed. A target
that did not build, timed out or died counts as one failure; so does a run that
Bazel itself calls failed although no test says so. Of several runs, each after
the first has a name, which stands before its targets.

usage: count_results.py EVENTS.json BAZEL_EXIT_STATUS [NAME EVENTS.json BAZEL_EXIT_STATUS]...
"""

import json
import sys
import traceback
import urllib.parse
import xml.etree.ElementTree as ElementTree

DETAILED_FAILURES = 25
DETAIL_LINES = 60


class Case:
    """One test: a lit file, a GoogleTest case, or a whole target that has no finer count."""

    def __init__(self, name, state, detail=""):
        self.name, self.state, self.detail = name, state, detail


def read_events(path):
    """The events that Bazel got to write: after an interrupt the last line may be cut."""
    events = []
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                try:
                    events.append(json.loads(line))
                except ValueError:
                    break
    except OSError:
        pass
    return events


def local_path(uri):
    return urllib.parse.unquote(urllib.parse.urlparse(uri).path)


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def cases_of_xml(path):
    """The test cases of one test.xml, or None where it cannot be read."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    cases = []
    for element in root.iter("testcase"):
        class_name, name = element.get("classname", ""), element.get("name", "?")
        skipped = element.find("skipped")
        if skipped is not None and skipped.get("message", "").startswith("Test not selected"):
            continue
        problem = element.find("failure")
        if problem is None:
            problem = element.find("error")
        if problem is not None:
            state = "failed"
        elif skipped is not None or element.get("status") == "notrun":
            state = "skipped"
        else:
            state = "passed"
        detail = ""
        if problem is not None:
            detail = (problem.text or "").strip() or problem.get("message", "")
        cases.append(Case(f"{class_name}.{name}" if class_name else name, state, detail))
    return cases


def cases_of_result(result):
    """The cases of one run (or shard) of a test target."""
    outputs = {o["name"]: local_path(o.get("uri", "")) for o in result.get("testActionOutput", [])}
    status = result.get("status", "NO_STATUS")
    cases = cases_of_xml(outputs.get("test.xml", "")) or []
    if status not in ("PASSED", "FLAKY") and not any(c.state == "failed" for c in cases):
        cases.append(Case("(the whole target)", "failed", status))
    for case in cases:
        # Bazel's own report says only "exited with error code N": the log says more.
        if case.state == "failed" and len(case.detail.splitlines()) < 2:
            case.detail += "\n" + read_text(outputs.get("test.log", ""))
    return cases


def collect(events):
    """Cases by target label, and the labels of other targets that did not build."""
    kinds, runs, broken = {}, {}, {}
    for event in events:
        kind, key = next(iter(event["id"].items()))
        label = key.get("label", "") if isinstance(key, dict) else ""
        if kind == "targetConfigured" and "configured" in event:
            kinds[label] = event["configured"].get("targetKind", "")
        elif kind == "targetCompleted":
            if "aborted" in event:
                broken[label] = event["aborted"].get("reason", "ABORTED")
            elif not event.get("completed", {}).get("success"):
                broken[label] = "FAILED TO BUILD"
        elif kind == "testResult" and "testResult" in event:
            # A later attempt of the same run replaces an earlier one.
            runs.setdefault(label, {})[(key.get("run"), key.get("shard"))] = event["testResult"]
    targets = {
        label: [case for result in results.values() for case in cases_of_result(result)]
        for label, results in runs.items()
    }
    for label, reason in broken.items():
        # Those that an interrupt kept from being built did not fail.
        if label not in targets and reason not in ("USER_INTERRUPTED", "INCOMPLETE", "SKIPPED"):
            targets[label] = [Case("(did not build)", "failed", reason)]
    return targets


def count(cases, state):
    return sum(case.state == state for case in cases)


def ended_badly(status, targets):
    """What Bazel's exit status says that no test of the run says; None if there is nothing."""
    cases = [case for cases in targets.values() for case in cases]
    passed, failed = count(cases, "passed"), count(cases, "failed")
    if not status or failed or (status == 4 and not passed):
        return None  # 4: no test matched, told by the zero below
    if status == 8:
        return "Interrupted: not all tests ran."
    return f"Bazel failed with status {status}: its messages stand above."


def main():
    arguments = sys.argv[1:]
    if len(arguments) < 2 or len(arguments) % 3 != 2:
        sys.exit(__doc__)
    arguments.insert(0, "")
    targets, problems = {}, []
    for name, path, status in zip(*[iter(arguments)] * 3):
        found = collect(read_events(path))
        problem = ended_badly(int(status), found)
        if problem:
            problems.append(f"{name}: {problem}" if name else problem)
        targets.update({f"{name} {label}".lstrip(): cases for label, cases in found.items()})
    failures = []
    for label, cases in sorted(targets.items()):
        passed, failed, skipped = (count(cases, s) for s in ("passed", "failed", "skipped"))
        line = f"{'FAIL' if failed else 'ok':4}  {label.replace('//', '', 1):45} {passed:5} passed"
        line += f", {failed} failed" if failed else ""
        line += f", {skipped} skipped" if skipped else ""
        print(line)
        failures += [(label, case) for case in cases if case.state == "failed"]

    for index, (label, case) in enumerate(failures):
        print(f"\nFAILED {label} {case.name}")
        if index < DETAILED_FAILURES:
            lines = case.detail.strip().splitlines()
            if len(lines) > DETAIL_LINES:
                lines = lines[:10] + ["  …"] + lines[-(DETAIL_LINES - 10):]
            print("\n".join("    " + line for line in lines))

    everything = [case for cases in targets.values() for case in cases]
    passed, failed, skipped = (count(everything, s) for s in ("passed", "failed", "skipped"))
    for problem in problems:
        print("\n" + problem)
    failed += len(problems)
    if skipped:
        print(f"\n{skipped} skipped")
    print(f"\n{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # the last line stays true even then
        traceback.print_exc()
        print("\n0 passed, 1 failed")
        sys.exit(1)
