# SPDX-License-Identifier: Apache-2.0
"""The list of checks: checks.toml, and hostile.json for the broken tensors."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = pathlib.Path(__file__).resolve().parent
# A check of a broken tensor that the consumer must reject has this severity if it is accepted.
HOSTILE_SEVERITY = {"reject": "wrong answer", "harmless": "crash"}
HOSTILE_TITLE = {
    "reject": "a tensor that breaks {rule} is rejected with an exception, without harm",
    "harmless": "a tensor that breaks {rule} is rejected or imported, without harm",
}


@dataclasses.dataclass(frozen=True)
class Check:
    """A row of the list. `side` is "producer" or "consumer"."""

    name: str
    group: str
    side: str
    title: str
    severity: str
    source: str
    url: str


def data(name: str) -> str:
    """The text of a file of the list. A checkout has it in its top folder."""
    for folder in (HERE, HERE.parents[3] / "conformance"):
        if (folder / name).exists():
            return (folder / name).read_text(encoding="utf-8")
    raise FileNotFoundError(f"{name} is not in {HERE}; install dlbridge again")


@functools.cache
def _toml() -> dict[str, Any]:
    return tomllib.loads(data("checks.toml"))


def severities() -> list[str]:
    """From the worst to the least."""
    return list(_toml()["severities"])


def groups() -> dict[str, str]:
    """Name -> title."""
    return dict(_toml()["groups"])


@functools.cache
def hostile() -> dict[str, dict[str, Any]]:
    """Name -> broken tensor."""
    return {tensor["name"]: tensor for tensor in json.loads(data("hostile.json"))}


def _row(row: dict[str, Any]) -> Check:
    source = _toml()["sources"][row["source"]]
    names = ("name", "group", "side", "title", "severity")
    return Check(**{name: row[name] for name in names}, source=source["text"], url=source["url"])


@functools.cache
def checks() -> dict[str, Check]:
    """Name -> check, in the order of their groups."""
    rows = [row for row in _toml()["check"] if "python" in row["kits"]]
    for tensor in hostile().values():
        expect = tensor["expect"]
        rows.append(
            {
                "name": tensor["name"],
                "group": "hostile",
                "side": "consumer",
                "title": HOSTILE_TITLE[expect].format(rule=tensor["rule"]),
                "severity": HOSTILE_SEVERITY[expect],
                "source": tensor["source"],
            }
        )
    order = list(groups())
    made = sorted(map(_row, rows), key=lambda check: order.index(check.group))
    return {check.name: check for check in made}
