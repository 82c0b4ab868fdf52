# SPDX-License-Identifier: Apache-2.0
"""Known deviations: a TOML file that names failing checks, each with a reason and a link.

[[quirk]]
check = "layout-negative"
reason = "negative strides are not implemented"
link = "https://example.org/issues/1"
"""

from __future__ import annotations

import fnmatch
import pathlib
from collections.abc import Mapping
from typing import Any

from . import patterns
from .catalogue import tomllib
from .outcomes import SKIPPED, Outcome

_KEYS = {"check", "reason", "link"}


def read(path: str, names: Mapping[str, Any]) -> list[dict[str, str]]:
    """The quirks of a file. Exits with a message for a file that is wrong."""
    try:
        table = tomllib.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # also of the encoding
        raise SystemExit(f"{path}: {error}") from None
    quirks = table.pop("quirk", [])
    if table:
        raise SystemExit(f"{path}: expected tables [[quirk]] alone, found {', '.join(table)}")
    if not isinstance(quirks, list) or not all(isinstance(quirk, dict) for quirk in quirks):
        raise SystemExit(f"{path}: expected tables [[quirk]], found quirk = {quirks!r}")
    for quirk in quirks:
        missing = sorted(name for name in _KEYS if not quirk.get(name))
        if missing:
            raise SystemExit(f"{path}: a quirk lacks {', '.join(missing)}: {quirk}")
        unknown = sorted(set(quirk) - _KEYS)
        if unknown:
            raise SystemExit(
                f"{path}: a quirk has {', '.join(unknown)}, which means nothing: {quirk}"
            )
        wrong = sorted(name for name in quirk if not isinstance(quirk[name], str))
        if wrong:
            raise SystemExit(f"{path}: {', '.join(wrong)} of a quirk is no text: {quirk}")
        patterns.check_quirk(path, quirk["check"], names)
    return list(quirks)


def enter(outcomes: Mapping[str, Outcome], quirks: list[dict[str, str]]) -> None:
    """Gives each outcome the quirk that names it."""
    for quirk in quirks:
        names = fnmatch.filter(outcomes, quirk["check"])
        failing = [name for name in names if not _passed(outcomes[name])]
        # A pattern is current as long as one of its checks still fails.
        for name in failing or names:
            outcomes[name].quirk = quirk


def names(quirks: list[dict[str, str]], outcome: Outcome) -> bool:
    """Whether a failure is known."""
    return any(fnmatch.fnmatch(outcome.name, quirk["check"]) for quirk in quirks)


def _passed(outcome: Outcome) -> bool:
    return outcome.status not in ("failed", SKIPPED)
