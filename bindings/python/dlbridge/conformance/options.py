# SPDX-License-Identifier: Apache-2.0
"""The numbers that options take, of the command and of pytest's plugin."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Callable


def count(text: str) -> int:
    """A number of rounds or of processes."""
    return int(_number(text, int, "a whole number from 1 on"))


def seconds(text: str) -> float:
    return _number(text, float, "a number of seconds above 0")


def _number(text: str, kind: Callable[[str], float], expected: str) -> float:
    with contextlib.suppress(ValueError):
        number = kind(text)
        if 0 < number < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")
