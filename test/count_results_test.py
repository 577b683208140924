#!/usr/bin/python3
"""Tests count_results.py on event files like those that Bazel writes."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "count_results.py")

LIT_XML = """<testsuites><testsuite name="dist" tests="4" failures="1" skipped="2">
<testcase classname="dist.passes" name="a.mlir" time="0.1"/>
<testcase classname="dist.passes" name="b.mlir"><failure><![CDATA[expected string
not found]]></failure></testcase>
<testcase classname="dist.passes" name="c.mlir"><skipped message="Test not selected (--filter, --max-tests)"/></testcase>
<testcase classname="dist.passes" name="d.mlir"><skipped message="Unsupported configuration"/></testcase>
</testsuite></testsuites>"""

GTEST_XML = """<testsuites tests="3"><testsuite name="A">
<testcase name="ok" status="run" classname="A"/>
<testcase name="ok2" status="run" classname="A"/>
<testcase name="DISABLED_x" status="notrun" classname="A"/>
</testsuite></testsuites>"""


class CountResults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.events = []

    def tearDown(self):
        self.folder.cleanup()

    def result(self, label, status, xml=None, attempt=1):
        outputs = []
        if xml is not None:
            path = os.path.join(self.folder.name, f"{len(self.events)}.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(xml)
            outputs = [{"name": "test.xml", "uri": "file://" + path}]
        self.events.append({
            "id": {"testResult": {"label": label, "run": 1, "shard": 1, "attempt": attempt}},
            "testResult": {"status": status, "testActionOutput": outputs},
        })

    def completed(self, label, **payload):
        self.events.append({"id": {"targetCompleted": {"label": label}}, **payload})

    def count(self, bazel_status, cut=""):
        path = os.path.join(self.folder.name, "events.json")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(event) + "\n" for event in self.events)
            file.write(cut)
        run = subprocess.run([sys.executable, "-B", SCRIPT, path, str(bazel_status)],
                             stdout=subprocess.PIPE, text=True, check=False)
        return run.stdout, run.stdout.splitlines()[-1], run.returncode

    def test_single_cases_are_counted(self):
        self.result("//test/passes:passes", "FAILED", LIT_XML)
        self.result("//test/runtime:runtime", "PASSED", GTEST_XML)
        text, last, status = self.count(3)
        self.assertEqual((last, status), ("3 passed, 1 failed", 1))
        self.assertIn("FAILED //test/passes:passes dist.passes.b.mlir\n    expected string", text)
        self.assertIn("2 skipped", text)

    def test_all_passed(self):
        self.result("//a:a", "PASSED", GTEST_XML)
        self.assertEqual(self.count(0)[1:], ("2 passed, 0 failed", 0))

    def test_what_does_not_build_has_failed(self):
        self.result("//a:a", "PASSED", GTEST_XML)
        self.completed("//a:a", completed={"success": True})
        self.completed("//b:b", completed={})
        self.completed("//c:c", aborted={"reason": "ANALYSIS_FAILURE"})
        self.assertEqual(self.count(1)[1:], ("2 passed, 2 failed", 1))

    def test_a_target_that_dies_without_a_report_has_failed(self):
        self.result("//a:a", "TIMEOUT")
        self.result("//b:b", "FAILED", GTEST_XML)
        self.assertEqual(self.count(3)[1:], ("2 passed, 2 failed", 1))

    def test_the_last_attempt_counts(self):
        self.result("//a:a", "FAILED", LIT_XML, attempt=1)
        self.result("//a:a", "PASSED", GTEST_XML, attempt=2)
        self.assertEqual(self.count(0)[1:], ("2 passed, 0 failed", 0))

    def test_an_interrupted_run_has_failed(self):
        self.result("//a:a", "PASSED", GTEST_XML)
        self.completed("//b:b", aborted={"reason": "USER_INTERRUPTED"})
        text, last, status = self.count(8, cut='{"id": {"testRes')
        self.assertEqual((last, status), ("2 passed, 1 failed", 1))
        self.assertIn("Interrupted", text)

    def test_nothing_ran(self):
        self.assertEqual(self.count(4)[1:], ("0 passed, 0 failed", 1))
        self.assertEqual(self.count(1)[1:], ("0 passed, 1 failed", 1))

    def test_several_runs_are_summed(self):
        paths = []
        for status, xml in (("PASSED", GTEST_XML), ("FAILED", LIT_XML), ("PASSED", GTEST_XML)):
            self.events = []
            self.result("//a:a", status, xml)
            paths.append(os.path.join(self.folder.name, f"events{len(paths)}.json"))
            os.rename(os.path.join(self.folder.name, "0.xml"), paths[-1] + ".xml")
            text = json.dumps(self.events[0]).replace("0.xml", os.path.basename(paths[-1]) + ".xml")
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(text + "\n")

        def run(*statuses):
            arguments = [paths[0], statuses[0], "asan", paths[1], statuses[1], "tsan", paths[2], statuses[2]]
            done = subprocess.run([sys.executable, "-B", SCRIPT, *arguments], stdout=subprocess.PIPE, text=True, check=False)
            return done.stdout, done.stdout.splitlines()[-1], done.returncode

        text, last, status = run("0", "3", "0")
        self.assertEqual((last, status), ("5 passed, 1 failed", 1))
        self.assertIn("FAILED asan //a:a dist.passes.b.mlir", text)
        # A run that Bazel calls failed, although its tests passed.
        text, last, status = run("0", "3", "1")
        self.assertEqual((last, status), ("5 passed, 2 failed", 1))
        self.assertIn("tsan: Bazel failed with status 1", text)

    def test_no_event_file(self):
        run = subprocess.run([sys.executable, "-B", SCRIPT, "/no/such/file", "37"],
                             stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(run.stdout.splitlines()[-1], "0 passed, 1 failed")
        self.assertEqual(run.returncode, 1)


if __name__ == "__main__":
    unittest.main()
