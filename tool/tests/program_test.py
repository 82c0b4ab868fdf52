# SPDX-License-Identifier: Apache-2.0
"""The program as a user or a script calls it.

program_test.py PROGRAM          runs the tests
program_test.py PROGRAM write    writes tool/generated
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
GENERATED = HERE.parent / "generated"
CORPUS = HERE.parents[1] / "tests/conformance/cases.json"
PAGE = HERE.parents[1] / "docs/tool.md"
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "dlbridge"
TENSOR = {
    "kind": "VERSIONED", "version": [1, 3], "data": "4096", "device": [1, 0], "ndim": 1,
    "dtype": [2, 32, 1], "shape": ["3"], "strides": ["1"], "byte_offset": "0",
}  # fmt: skip
WRITERS = {
    "dlbridge.1": ("manual",),
    **{f"dlbridge.{shell}": ("completion", shell) for shell in ("bash", "zsh", "fish")},
}


def run(*arguments, given=b"", **variables):
    environment = {**os.environ, "LC_ALL": "C", **variables}
    done = subprocess.run([PROGRAM, *arguments], input=given, capture_output=True, env=environment)
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done


def on_terminal(*arguments, **variables):
    """Output to a pseudo-terminal."""
    import pty

    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **variables}
    done = subprocess.Popen([PROGRAM, *arguments], stdout=other, env=environment)
    os.close(other)
    output = b""
    try:
        while part := os.read(main, 65536):
            output += part
    except OSError:  # the end, on Linux
        pass
    os.close(main)
    done.wait()
    return output.decode()


class ExitStatus(unittest.TestCase):
    def expect(self, status, arguments, message="", given=b""):
        done = run(*arguments, given=given)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(message, done.stderr if status > 1 else done.stdout)
        if status > 1:
            self.assertTrue(done.stderr.startswith("dlbridge: "), done.stderr)
            self.assertEqual(done.stdout, "")

    def test_fine(self):
        for arguments in (["--version"], ["--help"], ["check", "--help"], ["info"], ["explain"]):
            self.expect(0, arguments)
        self.expect(0, ["check", "-"], "verdict       fine", json.dumps(TENSOR).encode())

    def test_broken(self):
        broken = json.dumps({**TENSOR, "ndim": -1}).encode()
        self.expect(1, ["check", "-"], "NDIM_NEGATIVE", broken)
        self.expect(1, ["check", str(CORPUS)])

    def test_usage(self):
        self.expect(2, [], "expected a command (info, explain, check), found none")
        self.expect(2, ["chek"], "found 'chek'")
        self.expect(2, ["explain", "NDIN"], "did you mean NDIM_NEGATIVE")
        self.expect(2, ["explain", "--rules", "--statuses"], "excludes")
        self.expect(2, ["check"], "FILE")
        self.expect(2, ["check", "--nonsense", "file"], "--nonsense")
        self.expect(2, ["check", "--align", "3", "file"], "power of two")
        self.expect(2, ["check", "--contiguous", "x", "file"], "--contiguous")
        self.expect(2, ["completion", "csh"], "csh")

    def test_unreadable(self):
        with tempfile.TemporaryDirectory() as folder:
            self.expect(3, ["check", folder], "cannot read")
            self.expect(3, ["check", f"{folder}/none"], "No such file")
            large = pathlib.Path(folder) / "large"
            with large.open("wb") as file:
                file.truncate(1 << 30)
            self.expect(3, ["check", str(large)], "expected at most 16 MiB")
        self.expect(3, ["check", "-"], "standard input: not JSON", b"\0")
        self.expect(3, ["check", "-"], "standard input: not JSON", b'{"kind": "\xff"}')

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "explain"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr[:10]), (3, b"dlbridge: "))


class Output(unittest.TestCase):
    def test_json(self):
        given = json.dumps(TENSOR).encode()
        for arguments in (["info"], ["explain"], ["explain", "2"], ["check", "-"]):
            found = json.loads(run(*arguments, "--json", given=given).stdout)
            self.assertEqual(found["schema"], 1)

    def test_fields_are_documented(self):
        page = PAGE.read_text()
        given = json.dumps({**TENSOR, "shape": ["-3"]}).encode()
        for arguments in (["info"], ["explain", "2"], ["check", "-"]):
            found = json.loads(run(*arguments, "--json", given=given).stdout)
            for name in members(found):
                self.assertIn(f"`{name}`", page, arguments)

    @unittest.skipIf(sys.platform == "win32", "there is no pseudo-terminal")
    def test_colour_only_on_a_terminal(self):
        self.assertNotIn("\033", run("explain", "NDIM_LIMIT").stdout)
        self.assertIn("\033[", on_terminal("explain", "NDIM_LIMIT"))
        self.assertNotIn("\033", on_terminal("explain", "NDIM_LIMIT", NO_COLOR="1"))
        self.assertNotIn("\033", on_terminal("explain", "NDIM_LIMIT", TERM="dumb"))
        self.assertNotIn("\033", on_terminal("explain", "NDIM_LIMIT", "--json"))

    def test_80_columns(self):
        for arguments in (
            ["--help"], ["info", "--help"], ["explain", "--help"], ["check", "--help"],
            ["explain"], ["info"],
        ):  # fmt: skip
            for line in run(*arguments).stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)


def members(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from members(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner)


class Generated(unittest.TestCase):
    """tool/generated has what the program writes, and both have what the parser accepts."""

    def test_current(self):
        self.assertEqual({path.name for path in GENERATED.iterdir()}, set(WRITERS))
        for name, arguments in WRITERS.items():
            stale = f"run `python3 tool/tests/program_test.py {PROGRAM} write`"
            self.assertEqual((GENERATED / name).read_text(), run(*arguments).stdout, stale)

    def options(self, command):
        return set(re.findall(r"^  .*?(--[a-z-]+)", run(command, "--help").stdout, re.MULTILINE))

    def test_each_option(self):
        manual = (GENERATED / "dlbridge.1").read_text().replace("\\-", "-")
        page = PAGE.read_text()
        for command in ("info", "explain", "check"):
            options = self.options(command)
            self.assertIn("--json", options)
            section = manual.partition(f".SS \\fBdlbridge {command}\\fR")[2].partition("\n.S")[0]
            named = re.findall(r"^\\fB(?:-h\\fR, \\fB)?(--[a-z-]+)", section, re.MULTILINE)
            self.assertEqual(set(named), options)
            for option in options - {"--help"}:
                self.assertIn(f"`{option}", page)
                self.assertIn(f"-l {option[2:]}", (GENERATED / "dlbridge.fish").read_text())
                self.assertIn(f"'{option}[", (GENERATED / "dlbridge.zsh").read_text())

    @unittest.skipUnless(shutil.which("bash"), "there is no bash")
    def test_bash(self):
        def complete(*words):
            script = (
                f'. {GENERATED}/dlbridge.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                '_dlbridge; printf "%s\\n" "${COMPREPLY[@]}"'
            )
            command = ("bash", "-c", script, "bash", "dlbridge", *words)
            return subprocess.run(command, capture_output=True, text=True).stdout.split()

        self.assertEqual(complete("e"), ["explain"])
        self.assertIn("--version", complete("--"))
        self.assertEqual(complete("explain", "NDIM_N"), ["NDIM_NEGATIVE"])
        self.assertEqual(complete("check", "--contiguous", ""), ["c", "f", "either"])
        self.assertEqual(complete("check", "--s"), ["--strict"])
        scripts = f"{GENERATED}/dlbridge."
        self.assertEqual(complete("check", f"{scripts}z"), [f"{scripts}zsh"])

    def test_shells_read_the_scripts(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                subprocess.run([shell, "-n", f"{GENERATED}/dlbridge.{shell}"], check=True)

    @unittest.skipUnless(shutil.which("fish"), "there is no fish")
    def test_fish(self):
        script = f"source {GENERATED}/dlbridge.fish; complete -C 'dlbridge check --con'"
        found = subprocess.run(["fish", "-c", script], capture_output=True, text=True).stdout
        self.assertTrue(found.startswith("--contiguous"), found)

    @unittest.skipUnless(shutil.which("groff"), "there is no groff")
    def test_manual_page(self):
        command = ("groff", "-man", "-ww", "-z", GENERATED / "dlbridge.1")
        found = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((found.returncode, found.stderr), (0, ""))


def write():
    for name, arguments in WRITERS.items():
        (GENERATED / name).write_text(run(*arguments).stdout)


if __name__ == "__main__":
    if sys.argv[2:] == ["write"]:
        write()
    else:
        unittest.main(argv=sys.argv[:1])
