# SPDX-License-Identifier: Apache-2.0
"""Rows of reports of the conformance kit, as the records and the page have them."""

import json
import pathlib
import re

import tomllib

LISTS = pathlib.Path(__file__).resolve().parents[3] / "conformance"
CHECKS = tomllib.loads((LISTS / "checks.toml").read_text(encoding="utf-8"))
# What a row of a report keeps in the record.
KEPT = ("name", "group", "status", "severity", "expected", "found")


def outcome(row, kept=KEPT):
    """Texts have no addresses and no lines of files, which differ from run to run."""
    return {name: lasting(row[name]) for name in kept if row.get(name)}


def lasting(text):
    return re.sub(r"(\.py) line \d+", r"\1", re.sub(r"0x[0-9a-f]{6,}", "0x...", text))


def array(found):
    """Reports by title, as JSON with a line for each."""
    lines = ",\n".join(json.dumps(found[title], ensure_ascii=False) for title in sorted(found))
    return f"[\n{lines}\n]"


def merged(failures):
    """Broken tensors that have the same effect share a row, and variants of one, legacy and
    versioned, a name."""
    found = {}
    for row in failures:
        base, text, expected = row["name"], row.get("found", ""), row.get("expected", "")
        if row["group"] == "hostile":
            base = base.removesuffix("-legacy").removesuffix("-versioned")
            text = re.sub(r" of shape \([^)]*\)| in \S+, \S+\.py", "", text)
            expected = "an exception, and no harm"
        names = found.setdefault((row["severity"], expected, text), [])
        if base not in names:
            names.append(base)
    return found


def escaped(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def failure_rows(rows):
    """Rows of a table of failures, the worst first."""
    order = CHECKS["severities"]
    ordered = sorted(rows, key=lambda row: (order.index(row["severity"]), row["name"]))
    for (severity, expected, found), names in merged(ordered).items():
        checks = ", ".join(f"`{name}`" for name in names)
        yield f"| {severity} | {checks} | {escaped(expected)} | {escaped(found)} |"
