# SPDX-License-Identifier: Apache-2.0
"""The constants of the Go binding."""

import re

from .c import rule_doc
from .load import UPSTREAM
from .text import line_comment

# Words that Go does not write with one capital.
WORDS = {word.upper(): word for word in (
    "CL", "CPU", "CUDA", "DType", "HIP", "ID", "IPC", "NDim", "OK", "OpenCL", "SVM", "USM",
)}  # fmt: skip
HEAD = """\
// Code generated from facts/ by tools/facts.py. DO NOT EDIT.
// SPDX-License-Identifier: Apache-2.0
// The constants of dlbridge.h and dlpack.h.

package dlbridge

// MaxNDim is the largest ndim that any function accepts; no policy raises it.
const MaxNDim = 64
"""
NEWER = "Values that are not listed may come from a newer library."


def camel(name):
    return "".join(WORDS.get(word, word.capitalize()) for word in name.split("_"))


def constants(facts):
    names = {f"dlbridge_{one.name}": one["go"] for one in facts.functions if one["go"]}
    parts = [HEAD]
    rows = [(f"Status{camel(one.name.removeprefix('ERROR_'))}", one.number, one.doc)
            for one in facts.statuses]  # fmt: skip
    parts.append(_block("Status", rows, names))
    rows = [(f"Rule{camel(one.name)}", one.number, rule_doc(one)) for one in facts.rules]
    parts.append(_block("Rule", rows, names))
    for group in facts.groups:
        parts.append(_group(group, names))
    about = "DeviceType is the kind of device that memory belongs to. Foreign code may pass any integer."
    rows = [(f"Device{one.name}", one.number, _dated(one)) for one in facts.devices]
    parts.append(_typed("DeviceType", "int32", about, rows, names))
    about = "DTypeCode is the kind of one lane of an element. Foreign code may pass any byte."
    rows = [(f"Code{_code(one.name)}", one.number, _dated(one)) for one in facts.dtypes]
    parts.append(_typed("DTypeCode", "uint8", about, rows, names))
    about = "TensorFlags are DLPack's flags of a tensor. Foreign code may set any bit."
    rows = [(f"Flag{camel(one.name)}", f"1 << {one.number}", one.doc) for one in facts.flags]
    parts.append(_typed("TensorFlags", "uint64", about, rows, names))
    return "\n".join(parts)


def _group(group, names):
    go = group["go"]
    value = "1 << {}" if group["bits"] else "{}"
    rows = [(camel(group.name) + camel(one.name), value.format(one.number), one.doc)
            for one in group.members]  # fmt: skip
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
    """A comment of the header with the names that Go has for what it names."""
    doc = re.sub(r"\bdlbridge_\w+", lambda m: f"[{names[m[0]]}]" if m[0] in names else m[0], doc)
    doc = doc.replace("DLBRIDGE_MAX_NDIM", "[MaxNDim]")
    return re.sub(r"\b(must be|a) NULL", r"\1 nil", doc)


def _code(name):
    kind, _, form = name.partition("_")
    return kind + form.upper()


def _dated(one):
    since = "in no release yet" if one.since == UPSTREAM else f"since {one.since}"
    return one.doc if one.since == "0.2" else f"{one.doc.rstrip('.')}; {since}."
