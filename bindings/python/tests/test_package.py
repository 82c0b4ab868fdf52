# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: its version, and the examples of its README.md."""

import ast
import importlib.metadata
import importlib.util
import re
import runpy
import subprocess
import sys

import dlbridge
from checkout import root
from dlbridge import abi


def test_every_version_is_that_of_the_header():
    names = runpy.run_path(str(root() / "bindings/python/tools/header_version.py"))
    version = names["version"]()
    assert importlib.metadata.version("dlbridge") == version
    assert dlbridge.__version__ == abi.version_string() == version


def blocks():
    text = (root() / "bindings/python/README.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def missing(block):
    """The packages that an example imports and that are not installed."""
    names = {
        (alias.name if isinstance(node, ast.Import) else node.module).partition(".")[0]
        for node in ast.walk(ast.parse(block))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    return [name for name in sorted(names) if importlib.util.find_spec(name) is None]


def test_examples_of_the_readme():
    """Those whose packages are installed; tests/interop runs the examples with frameworks."""
    runnable = [block for block in blocks() if not missing(block)]
    assert len(runnable) >= 5
    for block in runnable:
        # Examples register frameworks, so each has a process of its own.
        done = subprocess.run(
            (sys.executable, "-c", block), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, block + done.stderr


IMPORTED = """
import importlib.util, sys  # the finder of an editable install needs importlib.util
before = set(sys.modules)
import dlbridge
print(*sorted(set(sys.modules) - before))
"""


def test_an_import_loads_the_core_alone():
    """Everything else is loaded at its first use."""
    command = (sys.executable, "-c", IMPORTED)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("dlbridge")} == {
        "dlbridge",
        "dlbridge._core",
    }
    assert not loaded & {"dataclasses", "enum", "functools", "importlib.metadata", "re", "typing"}
