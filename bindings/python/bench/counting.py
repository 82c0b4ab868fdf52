# SPDX-License-Identifier: Apache-2.0
"""Instructions of one evaluation of an expression, by callgrind: they do not depend on the load of
the machine."""

from __future__ import annotations

import gc
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any

from rows import compiled, names

FEW, MANY = 40, 140  # calls; the difference has no cost of the loop's start
NAME = re.compile(r"^desc: Trigger: Client Request: (.+)$", re.MULTILINE)
TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)


def run_counted(expressions: list[str]) -> None:
    """Runs under callgrind: one dump for each expression and number of calls."""
    using: dict[str, Any] = names(expressions)
    loops = using["loops"]
    gc.collect()
    gc.freeze()
    gc.disable()
    for number, expression in enumerate(expressions):
        run = compiled(expression, using)
        if run is None:
            continue
        run(itertools.repeat(None, 30))
        for count in (FEW, MANY):
            each = itertools.repeat(None, count)
            loops.count_start()
            run(each)
            loops.count_write(f"{number} {count}")


def totals(expressions: list[str], folder: str) -> dict[str, int]:
    out = pathlib.Path(folder) / "callgrind"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--instr-atstart=no"]
    command += [sys.executable, str(pathlib.Path(__file__).with_name("exchange.py")), "--counted"]
    done = subprocess.run(
        [*command, *expressions],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found = {}
    for dump in pathlib.Path(folder).iterdir():
        text = dump.read_text()
        if name := NAME.search(text):
            found[name.group(1)] = int(TOTAL.search(text).group(1))  # type: ignore[union-attr]
    return found


def count(expressions: list[str]) -> dict[str, float]:
    """Instructions by expression, where every name of the expression is there."""
    with tempfile.TemporaryDirectory() as folder:
        found = totals(expressions, folder)
    return {
        expression: (found[f"{number} {MANY}"] - found[f"{number} {FEW}"]) / (MANY - FEW)
        for number, expression in enumerate(expressions)
        if f"{number} {FEW}" in found
    }
