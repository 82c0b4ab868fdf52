# SPDX-License-Identifier: Apache-2.0
"""The public headers, the tables in src, the version script and the list of symbols."""

import re

from .load import UPSTREAM, version
from .text import c_comment

WIDTH = 105


def enumeration(names, doc, since):
    """An enumeration of (name, value, doc). Comments follow the constants if all fit, else they
    precede them."""
    about = f"{doc} \\since {since}".strip()
    width = max(len(f"  {name} = {value},") for name, value, _ in names)
    last = len(names) - 1
    lines = [*c_comment(about, ""), "enum {"]
    after = all(width + len(f" /**< {text} */") <= WIDTH for _, _, text in names)
    for i, (name, value, text) in enumerate(names):
        constant = f"  {name} = {value}{',' if i < last else ''}"
        if after:
            lines.append(f"{constant:<{width}} /**< {text} */")
        else:
            lines += [*c_comment(text), constant]
    return "\n".join([*lines, "};", ""])


def _dated(item, doc, since):
    """A comment, with the version if the item is newer than its enumeration."""
    return doc if item.since == since else f"{doc} \\since {item.since}"


def statuses(facts):
    first = facts.statuses[0].since
    names = [
        (f"DLBRIDGE_{one.name}", one.number, _dated(one, one.doc, first)) for one in facts.statuses
    ]
    return enumeration(names, "", first)


def rule_doc(rule):
    return f"{rule.doc} ({rule['source']})." if rule["source"] else f"{rule.doc}."


RULES = (
    'After each rule its source: "DLPack" is the specification, "policy" a field of'
    ' DLBridgePolicy, "dlbridge" a decision of this library; other words name the functions that'
    " apply it."
)


def rules(facts):
    first = facts.rules[0].since
    names = [
        (f"DLBRIDGE_RULE_{one.name}", one.number, _dated(one, rule_doc(one), first))
        for one in facts.rules
    ]
    return enumeration(names, RULES, first)


def group(one):
    value = "1 << {}" if one["bits"] else "{}"
    names = [
        (one.prefix + item.name, value.format(item.number), _dated(item, item.doc, one["since"]))
        for item in one.members
    ]
    return enumeration(names, one["doc"], one["since"])


def exceptions(facts):
    """Cases of a switch from status to Python exception; its default is BufferError."""
    kinds = {}
    for one in facts.statuses[1:]:
        kinds.setdefault(one["python"], []).append(f"    case DLBRIDGE_{one.name}:\n")
    kinds.pop("BufferError", None)
    return "".join(f"{''.join(cases)}      return PyExc_{kind};\n" for kind, cases in kinds.items())


# ---- The function table -------------------------------------------------------------------------


def in_table(facts):
    return [one for one in facts.functions if one["table"] is not False]


def member(function):
    return function["member"] or function.name


def api_members(facts, declarations):
    """The members of DLBridgeApi, from the declarations of the functions."""
    lines = []
    for one in in_table(facts):
        declared = declarations.get(f"dlbridge_{one.name}")
        if declared is None:
            raise KeyError(one.name)
        lines += _pointer(member(one), declared)
    return "\n".join(lines) + "\n"


def _spelling(kind):
    kind = re.sub(r"\s*\*\s*", "*", kind)
    return kind.replace("*const", "* const")


def _pointer(name, declared):
    head = f"  {_spelling(declared['result'])} (*{name})("
    parameters = [f"{_spelling(kind)} {what}" for kind, what in declared["parameters"]] or ["void"]
    lines, line = [], head
    for i, parameter in enumerate(parameters):
        piece = parameter + (");" if i + 1 == len(parameters) else ",")
        blank = "" if line.endswith("(") or not line.strip() else " "
        if len(line + blank + piece) > 100 and line.strip() != head.strip():
            lines.append(line)
            line, blank = " " * len(head), ""
        line += blank + piece
    return [*lines, line]


def api_initialiser(facts):
    return "".join(f"    dlbridge_{one.name},\n" for one in in_table(facts))


VERSION_SCRIPT = """\
/* Generated from facts/functions.toml by tools/facts.py; do not edit.
 * SPDX-License-Identifier: Apache-2.0
 * The exports of the shared library. Every function is listed by name, so that a program that needs
 * a newer library fails when it is loaded and not at its first call. Nodes of releases never
 * change.
 */
"""


def version_script(facts):
    """One node per minor version of dlbridge."""
    nodes = {}
    for one in facts.functions:
        nodes.setdefault(_node(one), []).append(f"    dlbridge_{one.name};\n")
    text, before = VERSION_SCRIPT, ""
    for name, functions in nodes.items():
        local = "" if before else "  local:\n    *;\n"
        text += f"{name} {{\n  global:\n{''.join(functions)}{local}}}{before};\n"
        before = f" {name}"
    return text


def _node(function):
    return "DLBRIDGE_" + ".".join(function.since.split(".")[:2])


def symbols(facts):
    return "".join(sorted(f"dlbridge_{one.name}@@{_node(one)}\n" for one in facts.functions))


def debian_symbols(facts, header):
    """The dependency of a program's package, for dpkg-shlibdeps. An option, a level or a member of
    a struct may be newer than the function that takes it, and only minor versions add them. So a
    program needs the minor version that it was built with, whichever functions it calls."""
    major, minor, abi = (
        re.search(rf"^#define DLBRIDGE_{name} (\d+)$", header, re.MULTILINE)[1]
        for name in ("VERSION_MAJOR", "VERSION_MINOR", "ABI")
    )
    lines = {f" {_node(one)}@{_node(one)}" for one in facts.functions}
    lines |= {f" dlbridge_{one.name}@{_node(one)}" for one in facts.functions}
    return (
        "# Generated from facts/functions.toml by tools/facts.py; do not edit.\n"
        f"libdlbridge.so.{abi} libdlbridge{abi} #MINVER#\n"
        "* Build-Depends-Package: libdlbridge-dev\n"
        + "".join(f"{line} {major}.{minor}.0\n" for line in sorted(lines))
    )


# ---- dlpack.h -----------------------------------------------------------------------------------


def _dlpack_doc(item):
    text = item.doc.rstrip(".")
    return f"{text}; {since_words(item.since)}" if since_words(item.since) else text


def since_words(since):
    """The release in words; empty for items that DLPack had from its first release."""
    return {"0.2": "", UPSTREAM: "in no release yet"}.get(since, f"since {since}")


def dlpack_enum(items, suffix=""):
    width = max(len(f"  kDL{one.name} = {one.number}{suffix},") for one in items)
    lines = []
    for i, one in enumerate(items):
        constant = f"  kDL{one.name} = {one.number}{suffix}{',' if i + 1 < len(items) else ''}"
        lines.append(f"{constant:<{width}} /* {_dlpack_doc(one)} */\n")
    return "".join(lines)


def dlpack_added(facts):
    """The constants that official headers of older releases lack, by release."""
    newest = version(facts.dlpack["newest"])
    added = {}
    for items, suffix in ((facts.devices, ""), (facts.dtypes, "U")):
        for one in items:
            known = version(one.since) or newest
            if known > 6:
                added.setdefault(known, []).append(f"kDL{one.name} = {one.number}{suffix}")
    return "".join(
        f"#if DLBRIDGE_OFFICIAL_DLPACK_ < {known}\n{_enum_lines(added[known])}#endif\n"
        for known in sorted(added)
    )


def _enum_lines(constants):
    line = f"enum {{ {', '.join(constants)} }};\n"
    if len(line) <= 101:
        return line
    return "enum {\n" + ",\n".join(f"  {one}" for one in constants) + "\n};\n"


def dlpack_version(facts):
    major, minor = facts.dlpack["newest"].split(".")
    about = "/* Newest DLPack release that this file describes. */\n"
    return f"{about}#define DLPACK_MAJOR_VERSION {major}\n#define DLPACK_MINOR_VERSION {minor}\n"


def default_version(facts):
    default = facts.dlpack["default"]
    return (
        f" * The default of a version, {{0, 0}}, is DLPack {default} in all of ABI 1, since a\n"
        " * newer library must not change what a compiled caller receives.\n"
    )


def asked_version(facts):
    numbers = facts.dlpack["newest"].replace(".", ", ")
    return f'  py->version = Py_BuildValue("(ii)", {numbers});\n'


def dlpack_flags(facts):
    lines = []
    for one in facts.flags:
        lines.append(f"/* {one.doc.rstrip('.')}; since {one.since}. */\n")
        name = f"DLPACK_FLAG_BITMASK_{one.name}"
        lines.append(f"#ifndef {name}\n#define {name} (1UL << {one.number}UL)\n#endif\n")
    return "".join(lines)


# ---- src ----------------------------------------------------------------------------------------


def string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


STATUS_TABLE = """\
// Generated from facts/statuses.toml and facts/rules.toml by tools/facts.py; do not edit.
// SPDX-License-Identifier: Apache-2.0
// The table of statuses and the table of rules.
#ifndef {guard}
#define {guard}

// clang-format off

// X(name, text), in the order of their numbers.
#define DLBRIDGE_STATUSES(X) \\
{statuses}

// X(name, status, text, expected, found, remedy), in the order of their numbers. facts/rules.toml
// explains the placeholders in `expected` and `found`.
#define DLBRIDGE_RULES(X) \\
{rules}

// clang-format on

#endif  // {guard}
"""


def status_table(facts, path):
    rows = [f"  X({one.name}, {string(one['text'])})" for one in facts.statuses]
    keys = ("text", "expected", "found", "remedy")
    rules_ = [
        f"  X({one.name}, {one['status']},"
        + ",".join(f" \\\n    {string(one[key])}" for key in keys)
        + ")"
        for one in facts.rules
    ]
    tables = {"statuses": " \\\n".join(rows), "rules": " \\\n".join(rules_)}
    return STATUS_TABLE.format(guard=_guard(path), **tables)


def _version(since):
    return "kNoRelease" if since == UPSTREAM else str(version(since))


def dtype_table(facts):
    return "".join(
        f"    {{{string(one['name'])}, {_version(one.since)}, {one['fixed_bits'] or 0}}},\n"
        for one in facts.dtypes
    )


def device_table(facts):
    """The rows of all codes from 0 on, including codes that were never assigned."""
    none = "    {nullptr, kNoRelease, DataIs::kUnknown, false, DLBRIDGE_UNDECIDED},\n"
    by_code = {one.number: one for one in facts.devices}
    return "".join(
        _device_row(by_code[code]) if code in by_code else none for code in range(max(by_code) + 1)
    )


def _device_row(one):
    host = "true" if one["host_like"] else "false"
    data = f"DataIs::k{one['data'].capitalize()}"
    answer = f"DLBRIDGE_{one['readable'].upper()}"
    return f"    {{{string(one['name'])}, {_version(one.since)}, {data}, {host}, {answer}}},\n"


KNOWN_VALUES = """\
// Generated from facts/enums.toml by tools/facts.py; do not edit.
// SPDX-License-Identifier: Apache-2.0
// The bits and values that callers can pass. Others are errors, TOO_NEW if a newer library may know
// them.
#ifndef {guard}
#define {guard}

#include "dlbridge/dlbridge.h"

// clang-format off

namespace dlbridge {{

// All bits of a set.
{masks}
// The greatest value of an enumeration.
{last}
}}  // namespace dlbridge

// Lists for messages.
{lists}
// clang-format on

#endif  // {guard}
"""
# The groups whose constants messages list.
LISTED = ("KIND", "LEVEL", "CONTIGUITY", "BACKEND", "STREAM", "CONTEXT")
# Names of the value 0 of a field that is not set.
UNSET = ("UNKNOWN", "NONE")
LONGEST_LIST = 4


def known_values(facts, path):
    passed = [one for one in facts.groups if not one["returned"]]
    masks = [_constant("Known", one, "Bits", hex(_mask(one)), "uint32_t")
             for one in passed if one["bits"]]  # fmt: skip
    last = [_constant("Last", one, "", one.prefix + _in_order(one)[-1].name, "int32_t")
            for one in passed if not one["bits"]]  # fmt: skip
    lists = [(name, _accepted(facts.group(name))) for name in LISTED]
    return KNOWN_VALUES.format(
        guard=_guard(path),
        masks="".join(masks),
        last="".join(last),
        lists="".join(_list(name, text) for name, text in [*lists, _drivers(facts)]),
    )


def _guard(path):
    return f"DLBRIDGE_{re.sub(r'[^A-Z]', '_', path.upper())}_"


def _in_order(group):
    return sorted(group.members, key=lambda one: one.number)


def _mask(group):
    return sum(1 << one.number for one in group.members)


def _constant(first, group, last, value, kind):
    return f"constexpr {kind} k{first}{camel(group.name)}{last} = {value};\n"


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def _list(name, text):
    return f"#define DLBRIDGE_LIST_{name} {string(text)}\n"


def _accepted(group):
    """The names of bits, or the names and numbers of values. A field that is not set has the value
    DEFAULT, whose comment is the name of the value that it stands for."""
    passed = [one for one in _in_order(group) if not one["returned"]]
    members = [one for one in passed if one.name not in UNSET]
    if group["bits"]:
        return ", ".join(one.name for one in members)
    default = [one for one in members if one.name == "DEFAULT"]
    texts = [_labelled(one) for one in members if one not in default]
    return _alternatives(texts + [f"0 for {one.doc.rstrip('.')}" for one in default])


def _drivers(facts):
    """The backends other than the host, which call a driver."""
    backends = [one for one in facts.group("BACKEND").members if one.name not in (*UNSET, "CPU")]
    return "DRIVER", _alternatives([_labelled(one) for one in backends])


def _labelled(one):
    return f"{one.name} ({one.number})"


def _alternatives(texts):
    """All alternatives, or the ends of the range if there are too many for a message."""
    if len(texts) > LONGEST_LIST:
        return f"{texts[0]} to {texts[-1]}"
    return f"{', '.join(texts[:-1])} or {texts[-1]}"


def versions(facts):
    rows = (
        ("kOldestVersion", "oldest", "the first with DLManagedTensor"),
        ("kLegacyVersion", "legacy", "the last legacy one"),
        ("kStridesSince", "strides_since", "strides must not be NULL"),
        ("kNewestVersion", "newest", "the newest that this library knows"),
        ("kDefaultVersion", "default", "the meaning of {0, 0} in all of ABI 1"),
    )
    known = [(name, facts.dlpack[key], text) for name, key, text in rows]
    known += [("kPaddedFlagSince", facts.flags[-1].since, "the padded flag")]
    lines = [
        (f"constexpr Version {name} = {version(since)};", f"{since}: {text}")
        for name, since, text in known
    ]
    width = max(len(line) for line, _ in lines)
    macro = f'#define DLBRIDGE_DEFAULT_DLPACK "{facts.dlpack["default"]}"\n'
    return macro + "".join(f"{line:<{width}}  // {text}\n" for line, text in lines)
