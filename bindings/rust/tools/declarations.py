# SPDX-License-Identifier: Apache-2.0
"""What dlbridge.h and dlpack.h declare, which libclang reads (tests/abi/api.py), in the form that
mirrors.py writes."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests/abi"))

import api
from clang.cindex import CursorKind


@dataclass
class Field:
    name: str
    type: str
    doc: str


@dataclass
class Struct:
    name: str
    fields: list
    doc: str


@dataclass
class Constant:
    name: str
    doc: str
    value: object  # an int, or a text as it is written
    enum: str = ""  # name of the enumeration's type, where it has one


@dataclass
class Function:
    name: str
    result: str
    parameters: list  # of Field
    doc: str


@dataclass
class Header:
    structs: list = field(default_factory=list)
    constants: list = field(default_factory=list)
    functions: list = field(default_factory=list)
    pointers: list = field(default_factory=list)  # typedefs of function pointers, as Function
    integers: dict = field(default_factory=dict)  # typedef name -> C type, comment
    initialisers: list = field(default_factory=list)
    names: set = field(default_factory=set)  # everything that the headers declare or define


def clean(comment):
    """The words of a comment, as Markdown that rustdoc reads the same way."""
    text = re.sub(r"^/\*+<?|\*/$", "", comment or "")
    lines = [re.sub(r"^\s*\* ?", "", line).strip() for line in text.strip().split("\n")]
    text = "\n".join(lines).strip()
    if text.startswith("[facts/"):
        return ""
    return escape(re.sub(r"\s*\\since (\S+)", r"\n\nSince \1.", text).strip())


def escape(text):
    """Escapes outside code spans."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\[\]<>*])", r"\\\1", parts[i])
    return "`".join(parts)


def read(folder):
    """What both headers in `folder`/dlbridge declare."""
    header = Header()
    for name in ("dlpack.h", "dlbridge.h"):
        path = folder / "dlbridge" / name
        for cursor in api.cursors(path, "-fparse-all-comments" if name == "dlpack.h" else ""):
            _add(header, cursor)
        _add_macros(header, path)
    return header


def _add(header, cursor):
    kind, name = cursor.kind, cursor.spelling
    if kind == CursorKind.FUNCTION_DECL:
        header.names.add(name)
        if not cursor.is_definition():
            header.functions.append(_function(name, cursor.result_type, cursor))
    elif kind == CursorKind.STRUCT_DECL and cursor.is_definition():
        fields = [
            Field(one.spelling, one.type.spelling, clean(one.raw_comment))
            for one in cursor.type.get_fields()
        ]
        tag = cursor.type.spelling.removeprefix("struct ")
        header.names.add(tag)
        header.structs.append(Struct(tag, fields, clean(cursor.raw_comment)))
    elif kind == CursorKind.ENUM_DECL:
        _add_enumeration(header, cursor)
    elif kind == CursorKind.TYPEDEF_DECL:
        _add_typedef(header, name, cursor)


def _function(name, result, cursor):
    parameters = [one for one in cursor.get_children() if one.kind == CursorKind.PARM_DECL]
    fields = [Field(one.spelling, one.type.spelling, "") for one in parameters]
    return Function(name, result.spelling, fields, clean(cursor.raw_comment))


def _add_enumeration(header, cursor):
    tag = cursor.type.spelling if "unnamed" not in cursor.type.spelling else ""
    for one in cursor.get_children():
        doc = clean(one.raw_comment) or clean(cursor.raw_comment)
        header.constants.append(Constant(one.spelling, doc, one.enum_value, tag))
        header.names.add(one.spelling)


def _add_typedef(header, name, cursor):
    target = cursor.underlying_typedef_type
    header.names.add(name)
    if target.get_pointee().get_result().spelling:
        header.pointers.append(_function(name, target.get_pointee().get_result(), cursor))
    elif target.get_declaration().kind not in (CursorKind.STRUCT_DECL, CursorKind.ENUM_DECL):
        header.integers[name] = (target.spelling, clean(cursor.raw_comment))


def _add_macros(header, path):
    docs = api.macro_comments(path)
    for name, macro in api.read_header(path)["macros"].items():
        header.names.add(name)
        text = macro["text"][0].strip()
        if name.endswith("_INIT"):
            header.initialisers.append(name)
        elif isinstance(macro.get("value"), int) or text.startswith('"'):
            value = macro.get("value", text)
            header.constants.append(Constant(name, clean(docs.get(name)), value))
