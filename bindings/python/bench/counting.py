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
from collections.abc import Callable
from typing import Any

from rows import compiled, names

FEW, MANY = 40, 140  # calls; the difference has no cost of the loop's start
NAME = re.compile(r"^desc: Trigger: Client Request: (.+)$", re.MULTILINE)
COST = re.compile(r"^[+*-]?\d* (\d+)$")
TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)
# The files with dlbridge's own instructions, also those of its header for C.
OWN = re.compile(r"/(_core\.|libdlbridge\.so|exchange_loops\.so)")


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


def total(text: str) -> int:
    """All instructions of a dump: also the interpreter's and NumPy's."""
    return int(TOTAL.search(text).group(1))  # type: ignore[union-attr]


def own(text: str) -> int:
    """The instructions of a dump in dlbridge's own files.

    A line of `calls=` is followed by one with the instructions of the callee, which has its own.
    """
    found, file, callee = 0, "", False
    for line in text.splitlines():
        if line.startswith("ob="):
            file = line
        elif line.startswith("calls="):
            callee = True
        elif cost := COST.match(line):
            found += int(cost.group(1)) if not callee and OWN.search(file) else 0
            callee = False
    return found


def dumps(expressions: list[str], folder: str) -> dict[str, str]:
    out = pathlib.Path(folder) / "callgrind"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--instr-atstart=no"]
    command += ["--compress-strings=no"]  # each line names its file in full
    command += [sys.executable, str(pathlib.Path(__file__).with_name("exchange.py")), "--counted"]
    done = subprocess.run(
        [*command, *expressions],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    texts = (dump.read_text() for dump in pathlib.Path(folder).iterdir())
    return {name.group(1): text for text in texts if (name := NAME.search(text))}


def count(expressions: list[str], read: Callable[[str], int] = total) -> dict[str, float]:
    """Instructions by expression, where every name of the expression is there."""
    with tempfile.TemporaryDirectory() as folder:
        found = {name: read(text) for name, text in dumps(expressions, folder).items()}
    return {
        expression: (found[f"{number} {MANY}"] - found[f"{number} {FEW}"]) / (MANY - FEW)
        for number, expression in enumerate(expressions)
        if f"{number} {FEW}" in found
    }
