# SPDX-License-Identifier: Apache-2.0
"""The texts of the command-line tool that the library does not have: those of `dlbridge explain`,
and the names of flags, properties and states. Also the facts in the files that the tool writes."""

import re

from .c import string

PATH = "tool/src/facts_table.h"

TABLE = """\
// Generated from facts/*.toml by tools/facts.py; do not edit.
// SPDX-License-Identifier: Apache-2.0
// What `dlbridge explain` prints, and the names of bits and states.
#ifndef DLBRIDGE_TOOL_SRC_FACTS_TABLE_H_
#define DLBRIDGE_TOOL_SRC_FACTS_TABLE_H_

#include "fact.h"

namespace dlbridge::tool {{

// clang-format off

inline constexpr Fact kStatuses[] = {{
{statuses}}};

inline constexpr Fact kRules[] = {{
{rules}}};

inline constexpr Named kFlags[] = {{
{flags}}};

{groups}// The oldest and the newest release of DLPack whose tensors are legacy.
inline constexpr char kOldestLegacy[] = "{oldest}";
inline constexpr char kNewestLegacy[] = "{legacy}";
// The version of a policy that names none.
inline constexpr char kDefaultVersion[] = "{default}";

// clang-format on

}}  // namespace dlbridge::tool

#endif  // DLBRIDGE_TOOL_SRC_FACTS_TABLE_H_
"""
# The enumerations whose constants the tool prints, and their tables.
GROUPS = {"LAYOUT": "kLayoutProperties", "BACKEND": "kBackends", "STATE": "kStates"}


def table(facts):
    statuses = [_status(one) for one in facts.statuses]
    rules = [_rule(one) for one in facts.rules if one.number]
    return TABLE.format(
        statuses="".join(statuses),
        rules="".join(rules),
        oldest=facts.dlpack["oldest"],
        legacy=facts.dlpack["legacy"],
        default=facts.dlpack["default"],
        flags=_names(facts.flags, bits=True),
        groups="".join(
            f"inline constexpr Named {name}[] = {{\n{_names(group.members, group['bits'])}}};\n\n"
            for name, group in ((name, facts.group(key)) for key, name in GROUPS.items())
        ),
    )


def _fact(one, constant, *texts):
    lines = ",\n   ".join(string(text) for text in (constant, one.since, *texts))
    return f"  {{{one.number}, {string(one.name)}, {lines}}},\n"


def _status(one):
    texts = ("", "", "", "", one["fix"], "", "", one["python"])
    return _fact(one, f"DLBRIDGE_{one.name}", one.doc, *texts)


def _rule(one):
    message = (_value(one["expected"]), _value(one["found"]), one["remedy"])
    status = "" if one["status"] == "OK" else one["status"]
    texts = (*message, one["why"], one["fix"], one["source"], status, "")
    return _fact(one, f"DLBRIDGE_RULE_{one.name}", f"{one.doc}.", *texts)


def _value(text):
    """Half of a message, with dots where the library writes a value."""
    return re.sub(r"%[A-Za-z]", "...", text)


def _names(items, bits):
    return "".join(
        f"  {{{f'1U << {one.number}' if bits else one.number}, {string(one.name)},"
        f" {string(one.doc)}}},\n"
        for one in items
    )


# Files that the built tool writes. Two parts of them are facts, which this script keeps up to date:
# the words that complete `dlbridge explain`, and the default of `dlbridge check --dlpack`.
SCRIPTS = tuple(f"tool/generated/dlbridge.{name}" for name in ("bash", "fish", "zsh", "1"))


def scripts(root, facts):
    names = " ".join(one.name for one in (*facts.rules[1:], *facts.statuses))
    for path in SCRIPTS:
        text = re.sub(r"[A-Z0-9_]+(?: [A-Z0-9_]+){9,}", names, (root / path).read_text())
        yield path, re.sub(r"(\(default\\?: )[\d.]+", rf"\g<1>{facts.dlpack['default']}", text)
