# SPDX-License-Identifier: Apache-2.0
"""Runs one module and writes each of its checks as a line of JSON.

checks.py MODULE FILE    the checks of check_MODULE.py; the lines are appended to FILE

A line has `module`, `check`, `result` (passed, failed, skipped), `reason`, `measured`, `seconds`.
"""

import contextlib
import faulthandler
import json
import os
import pathlib
import sys
import time
import traceback
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class Checks(unittest.TestCase):
    """A test method is a check, or has one check per row of its matrix."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.measured = {}

    @contextlib.contextmanager
    def check(self, name):
        """A row of a matrix. A failure in it is its result, and the next row runs."""
        measured = {}
        with self.subTest(name=name, measured=measured, began=time.monotonic()):
            print(f"{name} ...", file=sys.stderr, flush=True)
            yield measured


def reason_of(error):
    """The kind of an exception and the first line of its text."""
    text = str(error[1]).strip()
    return f"{error[0].__name__}: {text.splitlines()[0]}" if text else error[0].__name__


def name_of(test):
    """The name of a test method; that of a set-up is "setUpClass (module.Class)"."""
    whole = test.id()
    return whole.split()[0] if " " in whole else whole.rpartition(".")[2].removeprefix("test_")


class Lines(unittest.TestResult):
    """Writes a line as soon as a check has ended: a later check may end the process."""

    def __init__(self, module, file):
        super().__init__()
        self._module, self._file = module, file
        self._began, self._rows = time.monotonic(), 0

    def startTest(self, test):  # noqa: N802 unittest's name
        super().startTest(test)
        self._began, self._rows = time.monotonic(), 0

    def _write(self, test, result, reason=""):
        """`test` is a test method, a row of one, or unittest's stand-in for a module's set-up."""
        params = getattr(test, "params", {})
        self._rows += 1
        name = params.get("name") or name_of(test)
        line = {
            "module": self._module,
            "check": name,
            "result": result,
            "reason": reason,
            "measured": params.get("measured", getattr(test, "measured", {})),
            "seconds": round(time.monotonic() - params.get("began", self._began), 4),
        }
        self._file.write(json.dumps(line, default=str) + "\n")
        self._file.flush()

    def _write_failure(self, test, error):
        traceback.print_exception(*error)
        self._write(test, "failed", reason_of(error))

    def addSubTest(self, test, subtest, err):  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is None:
            self._write(subtest, "passed")
        else:
            self._write_failure(subtest, err)

    def addSuccess(self, test):  # noqa: N802
        super().addSuccess(test)
        if not self._rows:
            self._write(test, "passed")

    def addFailure(self, test, err):  # noqa: N802
        super().addFailure(test, err)
        self._write_failure(test, err)

    def addError(self, test, err):  # noqa: N802
        super().addError(test, err)
        self._write_failure(test, err)

    def addSkip(self, test, reason):  # noqa: N802
        super().addSkip(test, reason)
        self._write(test, "skipped", reason)


class Module:
    """Stands for a module whose import was skipped."""

    def id(self):
        return "module"


def load(module, result):
    """The tests of a module, or none if its import skips it."""
    try:
        return unittest.defaultTestLoader.loadTestsFromName(f"check_{module}")
    except unittest.SkipTest as reason:
        result.addSkip(Module(), str(reason))
        return unittest.TestSuite()


def main():
    module, path = sys.argv[1:]
    faulthandler.enable()
    # Logs the stack of a module that hangs, before the runner ends it.
    faulthandler.dump_traceback_later(0.9 * float(os.environ.get("DLBRIDGE_GPU_LIMIT", "60")))
    sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
    # Modules import this file by its name; without this they would get a copy.
    sys.modules["checks"] = sys.modules["__main__"]
    with open(path, "a", encoding="utf-8") as file:
        result = Lines(module, file)
        load(module, result).run(result)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
