# SPDX-License-Identifier: Apache-2.0
"""The example program as a user runs it: TAP, JUnit XML, options, exit status.

reports_test.py PROGRAM
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM = sys.argv.pop()
QUIRK = '[[quirk]]\ncheck = "values"\nreason = "one # two"\nlink = "https://example.org/1"\n'


def run(*options):
    command = (PROGRAM, "--rounds", "1000", *options)
    return subprocess.run(command, capture_output=True, text=True)


class Reports(unittest.TestCase):
    def test_tap(self):
        done = run()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "TAP version 14")
        results = [line for line in lines if re.match(r"(not )?ok ", line)]
        self.assertEqual(lines[-2:], [f"1..{len(results)}", f"# {len(results)} passed, 0 failed"])
        for number, line in enumerate(results, 1):
            self.assertRegex(line, rf"^ok {number} - [a-z0-9.-]+$")

    def test_junit(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.xml"
            done = run("--junit", str(path))
            suite = xml.etree.ElementTree.parse(path).getroot().find("testsuite")
        self.assertEqual(suite.get("name"), "array")
        cases = suite.findall("testcase")
        self.assertEqual(len(cases), len(re.findall(r"^ok ", done.stdout, re.MULTILINE)))
        self.assertIn("dlpack.hostile", {case.get("classname") for case in cases})
        self.assertEqual(suite.findall(".//failure"), [])

    def test_a_stale_quirk_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            quirks = pathlib.Path(folder) / "quirks.toml"
            report = quirks.with_name("report.xml")
            quirks.write_text(QUIRK)
            done = run("--quirks", str(quirks), "--only", "values", "--junit", str(report))
            failure = xml.etree.ElementTree.parse(report).getroot().find(".//failure")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not ok 2 - values\n", done.stdout)
        self.assertIn('found: "the check passes: remove the quirk"', done.stdout)
        self.assertEqual(failure.get("type"), "deviation")

    def test_the_terminal_has_the_counts_if_a_file_has_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            quirks = pathlib.Path(folder) / "quirks.toml"
            quirks.write_text(QUIRK)
            report = quirks.with_name("report.tap")
            done = run("--quirks", str(quirks), "--only", "values", "--tap", str(report))
            last = report.read_text().splitlines()[-1]
        self.assertEqual(done.stdout, "1 passed, 0 failed, 1 quirk to remove\n")
        self.assertEqual(last, f"# {done.stdout.rstrip()}")

    def test_list(self):
        done = run("--list")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"(?m)^strides-present +strides are not NULL")

    def test_help(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--quirks FILE", done.stdout)

    def test_wrong_options(self):
        for options in (
            ("--nonsense",),
            ("--rounds", "many"),
            ("--rounds", "0"),
            ("extra",),
            ("--only", "no such check"),
            ("--quirks", "/nonexistent/quirks.toml"),
            ("--junit", "/nonexistent/report.xml"),
        ):
            done = run(*options)
            self.assertEqual(done.returncode, 2, options)
            self.assertNotEqual(done.stderr, "", options)

    def test_without_fork(self):
        done = run("--no-fork", "--only", "layout-")
        self.assertEqual(done.returncode, 0)
        self.assertIn("# isolation: none: a crash of a check ends the run\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
