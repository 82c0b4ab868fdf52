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
FLAGS = ("TensorFlags",)


def names(facts):
    """The methods String of the types in constants.go."""
    parts = [NAMES_HEAD]
    for group in facts.groups:
        parts.append(_string(group["go"]["type"], _rows(group), group["bits"]))
    for name, rows in _dlpack(facts).items():
        parts.append(_string(name, rows, name in FLAGS))
    return "\n".join(parts)


def _string(kind, rows, bits):
    """A method that returns the names of the constants, and numbers for other values. The list of
    names has its indices only where the numbers do not count up."""
    first = rows[0][0]
    comment = f'// String is the name of the constant, such as "{first}".'
    if bits:
        comment = f'// String has the names of the bits, such as "{first}", joined by "|".'
    call, table = "bitNames" if bits else "valueName", f"namesOf{kind}"
    method = f"func (v {kind}) String() string {{\n\treturn {call}(v, {table})\n}}\n"
    indices = ["" if number == after else f"{number}: " for _, number, after, _ in _runs(rows)]
    names = "".join(f'\t{index}"{row[0]}",\n' for index, row in zip(indices, rows, strict=True))
    return f"{comment}\n{method}\nvar {table} = []string{{\n{names}}}\n"


def _runs(rows):
    """The rows with the number that would continue a count from 0."""
    after = 0
    for name, number, doc in rows:
        yield name, number, after, doc
        after = number + 1


def constants(facts):
    names = {f"dlbridge_{one.name}": one["go"] for one in facts.functions if one["go"]}
    statuses = [
        _row("Status", camel(one.name.removeprefix("ERROR_")), one) for one in facts.statuses
    ]
    rules = [(f"Rule{camel(one.name)}", one.number, rule_doc(one)) for one in facts.rules]
    parts = [HEAD, _block("Status", statuses, False, names), _block("Rule", rules, False, names)]
    parts += [_group(group, names) for group in facts.groups]
    for name, rows in _dlpack(facts).items():
        kind, meaning, value = TYPES[name]
        about = f"{name} {meaning}. Foreign code may pass any {value}."
        parts.append(_typed(name, kind, about, rows, name in FLAGS, names))
    return "\n".join(parts)


def _dlpack(facts):
    """The constants of each type of dlpack.h."""
    return {
        "DeviceType": [_row("Device", one.name, one) for one in facts.devices],
        "DTypeCode": [_row("Code", _code(one.name), one) for one in facts.dtypes],
        "TensorFlags": [_row("Flag", camel(one.name), one) for one in facts.flags],
    }


def _row(prefix, name, one):
    return prefix + name, one.number, _dated(one)


def _rows(group):
    prefix = camel(group.name)
    return [(prefix + camel(one.name), one.number, one.doc) for one in group.members]


def _group(group, names):
    go = group["go"]
    about = go["doc"] if group["bits"] else f"{go['doc']} {NEWER}"
    kind = "uint32" if group["bits"] else "int32"
    return _typed(go["type"], kind, about, _rows(group), group["bits"], names)


def _typed(name, kind, about, rows, bits, names):
    comment = "\n".join(line_comment(about, "// "))
    return f"{comment}\ntype {name} {kind}\n\n{_block(name, rows, bits, names)}"


def _block(kind, rows, bits, names):
    """The constants. Type and number stand where a count begins; a constant without them has the
    next number."""
    lines = ["const ("]
    for index, (name, number, after, doc) in enumerate(_runs(rows)):
        begins = index == 0 or number != after
        value = f" {kind} = {_value(number, index, bits, len(rows))}" if begins else ""
        lines += [*line_comment(_doc(doc, names), "\t// "), f"\t{name}{value}"]
    return "\n".join([*lines, ")", ""])


def _value(number, index, bits, count):
    """The expression of a constant, and of those after it that count on; or a number, if it is the
    only one."""
    if count == 1:
        return f"1 << {number}" if bits else f"{number}"
    shift = f" + {number - index}" if number != index else ""
    if not bits:
        return f"iota{shift}"
    return f"1 << (iota{shift})" if shift else "1 << iota"


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
