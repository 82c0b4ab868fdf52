# SPDX-License-Identifier: Apache-2.0
"""Patterns of names, in an adapter's `unsupported` and in a file of known deviations.

A pattern that hides too much makes a run green that proves little.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from . import catalogue, values
from .forms import FORMS

# What nearly every check needs.
_NEEDED = ("float32", "plain")


def check_unsupported(path: str, pattern: str) -> None:
    """Exits with a message for a pattern that matches nothing, or hides a group or all."""
    for name in fnmatch.filter(_NEEDED, pattern):
        raise SystemExit(
            f"{path}: unsupported: {pattern!r} matches {name}, which nearly every check needs; "
            "name what the library lacks"
        )
    known = (*catalogue.checks(), *values.DTYPES, *values.SMALL, *FORMS)
    if not fnmatch.filter(known, pattern):
        raise SystemExit(
            f"{path}: unsupported: {pattern!r} matches no check, no dtype and no layout; "
            "`dlpack-conformance --list` lists the checks"
        )
    _check_groups(f"{path}: unsupported: {pattern!r}", pattern)


def check_quirk(path: str, pattern: str, names: Iterable[str]) -> None:
    """Exits with a message for a quirk whose pattern matches no check, or a whole group."""
    if not fnmatch.filter(names, pattern):
        raise SystemExit(f"{path}: no check is named {pattern}")
    _check_groups(f"{path}: the quirk {pattern!r}", pattern)


def _check_groups(where: str, pattern: str) -> None:
    for group in catalogue.groups():
        names = [one.name for one in catalogue.checks().values() if one.group == group]
        if len(fnmatch.filter(names, pattern)) == len(names):
            raise SystemExit(
                f"{where} matches all {len(names)} checks of the group {group}; name the checks, "
                "or choose what runs with --checks or -k"
            )
