# SPDX-License-Identifier: Apache-2.0
"""Reads dlbridge.h and dlpack.h into plain lists of what they declare."""

import re
from dataclasses import dataclass, field


@dataclass
class Field:
    name: str
    type: str  # C, with "{}" where the name stood in a function pointer or array
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
    integers: dict = field(default_factory=dict)  # typedef name -> C type
    initialisers: list = field(default_factory=list)
    tokens: set = field(default_factory=set)  # every name of the project's or DLPack's in the code


COMMENT = re.compile(r"/\*.*?\*/", re.S)


def clean(comment):
    """The words of a comment, as Markdown that rustdoc reads the same way."""
    text = re.sub(r"^/\*+<?|\*/$", "", comment)
    lines = [re.sub(r"^\s*\* ?", "", line).strip() for line in text.strip().split("\n")]
    text = "\n".join(lines).strip()
    return escape(re.sub(r"\s*\\since (\S+)", r"\n\nSince \1.", text).strip())


def escape(text):
    """Escapes outside code spans."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\[\]<>*])", r"\\\1", parts[i])
    return "`".join(parts)


class Reader:
    """Comments become markers «n», so that one pattern sees code and where its comment stood."""

    def __init__(self, text):
        self.comments = []
        self.text = COMMENT.sub(self._keep, text)
        self.text = self.text.replace("\\\n", " ")

    def _keep(self, match):
        self.comments.append(clean(match.group()))
        return f"«{len(self.comments) - 1}»"

    def doc(self, marks):
        """The text of the last marker in `marks`."""
        found = re.findall(r"«(\d+)»", marks or "")
        return self.comments[int(found[-1])] if found else ""


def without_marks(text):
    return " ".join(re.sub(r"«\d+»", " ", text).split())


def split_declarator(text):
    """("name", "type") of a field or parameter; None where there is no name."""
    text = without_marks(text)
    pointer = re.match(r"(.*)\(\s*\*\s*(\w+)\s*\)\s*\((.*)\)$", text)
    if pointer:
        return pointer[2], f"{pointer[1].strip()} (*{{}})({pointer[3]})"
    array = re.match(r"(.*?)(\w+)\[(\w+)\]$", text)
    if array:
        return array[2], f"{array[1].strip()}[{array[3]}]"
    plain = re.match(r"(.*?[\s*])(\w+)$", text)
    return (plain[2], plain[1].strip()) if plain else ("", text)


def split_parameters(text):
    """Splits at the commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def read_fields(reader, body):
    fields = []
    pattern = r"\s*((?:«\d+»\s*)*)([^;«]+(?:«\d+»[^;«]*)*);[ ]*((?:«\d+»)?)"
    for piece in re.finditer(pattern, body):
        name, ctype = split_declarator(piece[2])
        fields.append(Field(name, ctype, reader.doc(piece[3]) or reader.doc(piece[1])))
    return fields


def read_structs(reader, header):
    pattern = r"((?:«\d+»\s*)?)typedef struct ?(\w*) ?\{(.*?)\n\} (\w+);"
    for match in re.finditer(pattern, reader.text, re.S):
        name = match[4]
        if any(known.name == name for known in header.structs):
            continue
        header.structs.append(Struct(name, read_fields(reader, match[3]), reader.doc(match[1])))


def read_enums(reader, header):
    pattern = r"((?:«\d+»\s*)?)(typedef )?enum\s*\{(.*?)\}\s*(\w*);"
    known = {constant.name for constant in header.constants}
    for match in re.finditer(pattern, reader.text, re.S):
        entry = r"((?:«\d+»\s*)?)(\w+) = [^,«]+,?[ ]*((?:«\d+»)?)"
        for item in re.finditer(entry, match[3]):
            if item[2] not in known:
                doc = reader.doc(item[3]) or reader.doc(item[1]) or reader.doc(match[1])
                header.constants.append(Constant(item[2], doc, match[4]))
                known.add(item[2])


def read_defines(reader, header):
    pattern = r"((?:«\d+»\s*)?)(?:#ifndef \w+\n)?#define (\w+)(\(\w[^)]*\))? +([^\n]+)"
    for match in re.finditer(pattern, reader.text):
        name, value = match[2], without_marks(match[4])
        if name.endswith("_INIT"):
            header.initialisers.append(name)
        elif not match[3] and re.fullmatch(r"\d+|\"[\d.]+\"|INT64_MIN|\(1UL << \dUL\)", value):
            header.constants.append(Constant(name, reader.doc(match[1])))


def read_functions(reader, header):
    pattern = r"((?:«\d+»\s*)?)DLBRIDGE_API\s+([^;(]+?)(\w+)\(([^;]*)\);"
    for match in re.finditer(pattern, reader.text):
        parameters = [Field(*split_declarator(p), "") for p in split_parameters(match[4])]
        header.functions.append(
            Function(match[3], without_marks(match[2]), parameters, reader.doc(match[1]))
        )


def read_typedefs(reader, header):
    for match in re.finditer(r"((?:«\d+»\s*)?)typedef (u?int\d+_t) (\w+);", reader.text):
        header.integers[match[3]] = (match[2], reader.doc(match[1]))
    pattern = r"((?:«\d+»\s*)?)typedef (\w+) \(\*(\w+)\)\((.*?)\);"
    for match in re.finditer(pattern, reader.text, re.S):
        header.pointers.append(
            Function(
                match[3],
                match[2],
                [Field(*split_declarator(p), "") for p in split_parameters(match[4])],
                reader.doc(match[1]),
            )
        )


def read(folder):
    """What both headers in `folder`/dlbridge declare."""
    header = Header()
    for name in ("dlpack.h", "dlbridge.h"):
        text = (folder / "dlbridge" / name).read_text()
        if name == "dlpack.h":
            text = keep_newest(text)
        reader = Reader(text)
        for step in (read_structs, read_enums, read_defines, read_functions, read_typedefs):
            step(reader, header)
        code = without_marks(re.sub(r'"[^"]*"', "", reader.text))
        names = r"\b(?:DLBRIDGE_\w+|DLPACK_\w+|kDL\w+|dlbridge_\w+|DL[A-Z]\w+)\b"
        header.tokens |= set(re.findall(names, code))
    return header


def keep_newest(text):
    """dlpack.h without what it adds to official headers that came first."""
    return re.sub(
        r"#else /\* an official header came first \*/.*?#endif /\* DLPACK_DLPACK_H_ \*/",
        "",
        text,
        flags=re.S,
    )
