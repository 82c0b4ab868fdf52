# SPDX-License-Identifier: Apache-2.0
"""The documents that are tables."""

from .load import UPSTREAM

# Bytes of stack that a function may need if its facts state no other bound.
LEAST_STACK = 4096


def regions(facts):
    yield "docs/functions.md", "facts/functions.toml", _functions(facts)
    yield "docs/platforms.md", "facts/functions.toml", _stack(facts)
    yield "docs/rules.md", "facts/rules.toml", _rules(facts)
    yield "docs/rules.md", "facts/statuses.toml", _statuses(facts)
    yield "docs/dtypes-and-devices.md", "facts/dtypes.toml", _dtypes(facts)
    yield "docs/dtypes-and-devices.md", "facts/devices.toml", _devices(facts)


def _functions(facts):
    rows = [f"| `dlbridge_{one.name}` | {one['purpose']} |" for one in facts.functions]
    return _table(("function", "purpose"), rows)


def _stack(facts):
    names = {}
    for one in sorted(facts.functions, key=lambda one: one.name):
        names.setdefault(one["stack"] or LEAST_STACK, []).append(f"`dlbridge_{one.name}`")
    rows = [f"| {size} bytes | {', '.join(names[size])} |" for size in sorted(names)]
    return _table(("stack", "functions"), rows)


def _table(heads, rows):
    head = f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n"
    return head + "\n".join(rows) + "\n"


def _row(*cells):
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _rules(facts):
    rows = [
        _row(
            one.number,
            f"`{one.name}`",
            one.doc,
            one["source"],
            "note" if one["status"] == "OK" else f"`{one['status']}`",
            one["remedy"],
        )
        for one in facts.rules
        if one.number
    ]
    return _table(("number", "name", "rule", "source", "status", "what to do"), rows)


def _statuses(facts):
    rows = [_row(one.number, f"`DLBRIDGE_{one.name}`", one.doc) for one in facts.statuses]
    return _table(("number", "name", "meaning"), rows)


def _code(one):
    since = "none yet" if one.since == UPSTREAM else one.since
    return (one.number, f"`kDL{one.name}`", f"`{one['name']}`", since)


def _dtypes(facts):
    rows = [_row(*_code(one), one["fixed_bits"] or "any", one.doc) for one in facts.dtypes]
    return _table(("code", "DLPack", "name", "since", "bits", "meaning"), rows)


def _devices(facts):
    rows = [
        _row(*_code(one), one["data"], one["readable"], "yes" if one["host_like"] else "", one.doc)
        for one in facts.devices
    ]
    heads = ("code", "DLPack", "name", "since", "`data`", "CPU reads it", "host-like", "meaning")
    return _table(heads, rows)
