# SPDX-License-Identifier: Apache-2.0
"""README's table of functions, and the documents that are tables."""

from .load import UPSTREAM

LICENCE = "<!-- Generated from facts/ by tools/facts.py; do not edit. -->\n"


def functions(facts):
    rows = [f"| `dlbridge_{one.name}` | {one['purpose']} |" for one in facts.functions]
    return _table(("function", "purpose"), rows)


def _table(heads, rows):
    head = f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n"
    return head + "\n".join(rows) + "\n"


def _row(*cells):
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def rules(facts):
    statuses = [
        _row(one.number, f"`DLBRIDGE_{one.name}`", one.doc) for one in facts.statuses
    ]
    found = [
        _row(
            one.number,
            f"`{one.name}`",
            f"{one.doc}",
            one["source"],
            "note" if one["status"] == "OK" else f"`{one['status']}`",
            one["remedy"] or "",
        )
        for one in facts.rules
        if one.number
    ]
    return (
        f"{LICENCE}# Rules and statuses\n\n"
        "A call that rejects a tensor returns a status, and names the rule that the tensor broke in\n"
        "`DLBridgeError::rule`. `dlbridge_diagnose` reports every broken rule, and notes. Numbers never\n"
        "change; values that are not listed may come from a newer library.\n\n"
        "## Rules\n\n"
        'A rule is `DLBRIDGE_RULE_<name>`. Source: "DLPack" is the specification, "policy" a field of\n'
        '`DLBridgePolicy`, "dlbridge" a decision of this library; other words name what applies the rule.\n\n'
        + _table(("number", "name", "rule", "source", "status", "what to do"), found)
        + "\n## Statuses\n\n"
        + _table(("number", "name", "meaning"), statuses)
    )


def _since(since):
    return "none yet" if since == UPSTREAM else since


def codes(facts):
    dtypes = [
        _row(one.number, f"`kDL{one.name}`", f"`{one['name']}`", _since(one.since),
             one["fixed_bits"] or "any", one.doc)
        for one in facts.dtypes
    ]  # fmt: skip
    devices = [
        _row(one.number, f"`kDL{one.name}`", f"`{one['name']}`", _since(one.since), one["data"],
             one["readable"], "yes" if one["host_like"] else "", one.doc)
        for one in facts.devices
    ]  # fmt: skip
    newest = facts.dlpack["newest"]
    return (
        f"{LICENCE}# Dtypes and devices\n\n"
        f"dlbridge knows DLPack {newest} and the constants that upstream has added since, which are in no\n"
        "release yet. Other codes are passed through or rejected, as the policy says.\n\n"
        "## Dtype codes\n\n"
        "`dlbridge_dtype_format` writes a name, the bits where the width varies, and the lanes: `float32`,\n"
        "`bfloat16x4`, `float8_e4m3fn`.\n\n"
        + _table(("code", "DLPack", "name", "since", "bits", ""), dtypes)
        + "\n## Device types\n\n"
        "`data` is an address, to which offsets are added, or a handle, which is opaque; \"unknown\": not\n"
        "specified, so that nothing is added and nothing assumed. \"undecided\": whether the CPU can read the\n"
        "memory depends on the allocation, or is not specified. Host-like memory has device id 0.\n\n"
        + _table(("code", "DLPack", "name", "since", "data", "CPU reads it", "host-like", ""), devices)
    )
