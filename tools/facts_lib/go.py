# SPDX-License-Identifier: Apache-2.0
"""The constants of the Go binding."""

import re

from .c import rule_doc
from .load import UPSTREAM
from .text import line_comment

# Words that are not written with exactly one capital in Go.
WORDS = "CL CPU CUDA DType HIP ID IPC NDim OK OpenCL SVM USM"
CAPITALS = {word.upper(): word for word in WORDS.split()}
HEAD = """\
// Code generated from facts/ by tools/facts.py. DO NOT EDIT.
// SPDX-License-Identifier: Apache-2.0
// The constants of dlbridge.h and dlpack.h.

package dlbridge
"""
NAMES_HEAD = """\
// Code generated from facts/ by tools/facts.py. DO NOT EDIT.
// SPDX-License-Identifier: Apache-2.0
// The names of the constants in constants.go.

package dlbridge
"""
NEWER = "Values that are not listed may come from a newer library."


def camel(name):
    return "".join(CAPITALS.get(word, word.capitalize()) for word in name.split("_"))


TYPES = {
    "DeviceType": ("int32", "is the kind of device that memory belongs to", "integer"),
    "DTypeCode": ("uint8", "is the kind of one lane of an element", "byte"),
    "TensorFlags": ("uint64", "are DLPack's flags of a tensor", "bit"),
}


def names(facts):
    """The methods String of the types in constants.go."""
    parts = [NAMES_HEAD]
    for group in facts.groups:
        prefix = camel(group.name)
        rows = [prefix + camel(one.name) for one in group.members]
        parts.append(_string(group["go"]["type"], rows, group["bits"]))
    for name, rows in _dlpack(facts).items():
        parts.append(_string(name, [row[0] for row in rows], name == "TensorFlags"))
    return "\n".join(parts)


def _string(kind, rows, bits):
    """A method that returns the names of the constants, and numbers for other values."""
    comment = f'// String is the name of the constant, such as "{rows[0]}".'
    if bits:
        comment = f'// String has the names of the bits, such as "{rows[0]}", joined by "|".'
    pairs = "".join(f'\t\t{{uint64({name}), "{name}"}},\n' for name in rows)
    call = "bitNames" if bits else "valueName"
    body = f'\treturn {call}("{kind}", uint64(v), []named{{\n{pairs}\t}})\n'
    return f"{comment}\nfunc (v {kind}) String() string {{\n{body}}}\n"


def constants(facts):
    names = {f"dlbridge_{one.name}": one["go"] for one in facts.functions if one["go"]}
    statuses = [
        _row("Status", camel(one.name.removeprefix("ERROR_")), one) for one in facts.statuses
    ]
    rules = [(f"Rule{camel(one.name)}", one.number, rule_doc(one)) for one in facts.rules]
    parts = [HEAD, _block("Status", statuses, names), _block("Rule", rules, names)]
    parts += [_group(group, names) for group in facts.groups]
    for name, rows in _dlpack(facts).items():
        kind, meaning, value = TYPES[name]
        about = f"{name} {meaning}. Foreign code may pass any {value}."
        parts.append(_typed(name, kind, about, rows, names))
    return "\n".join(parts)


def _dlpack(facts):
    """The constants of each type of dlpack.h."""
    return {
        "DeviceType": [_row("Device", one.name, one) for one in facts.devices],
        "DTypeCode": [_row("Code", _code(one.name), one) for one in facts.dtypes],
        "TensorFlags": [_row("Flag", camel(one.name), one, "1 << {}") for one in facts.flags],
    }


def _row(prefix, name, one, value="{}"):
    return prefix + name, value.format(one.number), _dated(one)


def _group(group, names):
    go = group["go"]
    value = "1 << {}" if group["bits"] else "{}"
    prefix = camel(group.name)
    rows = [(prefix + camel(one.name), value.format(one.number), one.doc) for one in group.members]
    about = go["doc"] if group["bits"] else f"{go['doc']} {NEWER}"
    kind = "uint32" if group["bits"] else "int32"
    return _typed(go["type"], kind, about, rows, names)


def _typed(name, kind, about, rows, names):
    comment = "\n".join(line_comment(about, "// "))
    return f"{comment}\ntype {name} {kind}\n\n{_block(name, rows, names)}"


def _block(kind, rows, names):
    lines = ["const ("]
    for name, value, doc in rows:
        lines += [*line_comment(_doc(doc, names), "\t// "), f"\t{name} {kind} = {value}"]
    return "\n".join([*lines, ")", ""])


def _doc(doc, names):
    """A comment of the header, with Go's names for functions and constants."""
    doc = re.sub(r"\bdlbridge_\w+", lambda m: f"[{names[m[0]]}]" if m[0] in names else m[0], doc)
    doc = doc.replace("DLBRIDGE_MAX_NDIM", "[MaxNDim]")
    return re.sub(r"\b(must be|a) NULL", r"\1 nil", doc)


def _code(name):
    kind, _, form = name.partition("_")
    return kind + form.upper()


def _dated(one):
    """The comment of a DLPack code with the release that added it; other comments unchanged."""
    if "name" not in one.more or one.since == "0.2":
        return one.doc
    since = "in no release yet" if one.since == UPSTREAM else f"since {one.since}"
    return f"{one.doc.rstrip('.')}; {since}."
