# SPDX-License-Identifier: Apache-2.0
"""Allocations and other calls of the C library fail, once and for good, under the functions of the
package: an exception, nothing leaks, the arguments are as they were, the next call works."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
from checkout import root
from test_capi import compiler

HERE = pathlib.Path(__file__).resolve().parent
# The least number of failures: fewer would mean that calls are not seen.
RUNS = {
    ("corpus", "library", "once"): 150,
    ("corpus", "library", "good"): 150,
    ("package", "library", "once"): 100,
    ("package", "library", "good"): 100,
    # nanobind itself crashes where no memory is left for its message on wrong arguments.
    ("corpus", "python", "once"): 2000,
    ("package", "python", "once"): 300,
    ("package", "python", "good"): 300,
}


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """The path of the extension that makes calls fail."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the hooks are for Linux")
    if "ASAN_OPTIONS" in os.environ:
        pytest.skip("a sanitizer's functions take the place of the hooks")
    tests = root() / "tests"
    path = tmp_path_factory.mktemp("failing") / "failing.so"
    sources = [HERE / "capi" / "failing.c", tests / "faults" / "hooks.c"]
    flags = ["-std=c11", "-shared", "-fPIC", "-O1", "-I", str(tests), "-o", str(path), "-ldl"]
    done = subprocess.run(
        [compiler()[0], *compiler()[1:5], *map(str, sources), *flags],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return path


@pytest.mark.parametrize("run", RUNS, ids=" ".join)
def test_each_call_fails(run, failing):
    if run[1] == "python" and sys.version_info[:2] != (3, 11):
        pytest.skip("where CPython itself keeps memory or locks after a MemoryError differs")
    command = [sys.executable, "-X", "faulthandler", str(HERE / "faults_world.py")]
    command += [str(failing), *run]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["failures"] >= RUNS[run]
