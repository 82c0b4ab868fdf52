# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: its version, and the examples of its README.md."""

import importlib.metadata
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


def test_examples_of_the_readme():
    text = (root() / "bindings/python/README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 2
    names = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


IMPORTED = """
import sys
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
