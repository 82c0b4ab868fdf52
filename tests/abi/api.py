# SPDX-License-Identifier: Apache-2.0
"""The public API of the headers as libclang reads it, as one value for api.json.

Each C header has functions, inline functions, structs, constants, types and macros. A type is
recorded as written and, where a typedef hides more, in canonical form. `inactive` holds the code
that this configuration of the preprocessor skips. dlbridge.hpp has the public names of namespace
dlbridge with their signatures, and the sizes of the classes.
"""

import ctypes
import pathlib
import re
import subprocess

import clang.cindex as clang
from clang.cindex import CursorKind, TokenKind

HERE = pathlib.Path(__file__).resolve().parent
# The core headers are parsed without a C library. The other headers are parsed with this machine's
# C library, and with declarations of the vendors' types in place of the vendors' headers.
CORE = ("dlpack.h", "dlbridge.h")
TARGETS = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
UNNAMED = re.compile(r"(?:struct |union |enum )?\((?:unnamed|anonymous)[^)]*\)")
DETAILED = clang.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD


class ParseError(Exception):
    """libclang does not accept a header."""


def read(include, cpp, machine="x86_64"):
    """The API of the headers in `include`, and of dlbridge.hpp in `cpp` where that is given."""
    names = [path.name for path in sorted((include / "dlbridge").glob("*.h"))]
    headers = {name: read_header(include / "dlbridge" / name, machine) for name in names}
    return {"headers": headers, **({"c++": read_cpp(include, cpp)} if cpp else {})}


def read_header(path, machine="x86_64"):
    """The API of a header and of its parts, as if they were one file."""
    unit = _parse(path, _options(path, machine), strict=path.name in CORE)
    api = {key: {} for key in ("functions", "inlines", "structs", "constants", "types")}
    files = parts(path)
    names = set(map(str, files))
    for cursor in unit.cursor.get_children():
        if cursor.location.file and cursor.location.file.name in names:
            _add(api, cursor)
    inactive = {text for one in files for text in _inactive(unit, one)}
    return {**api, "macros": _macros(path, machine), "inactive": sorted(inactive)}


def parts(path):
    """A header, and the headers that only it includes: cpython_api.h has its parts in cpython/."""
    return [path, *sorted((path.parent / path.stem.removesuffix("_api")).glob("*.h"))]


def declarations(path, text=None):
    """Result, (type, name) of the parameters and comment of each function that a header declares.
    Errors in the text are ignored, since its generated parts may be out of date."""
    unit = _parse(path, _options(path, "x86_64"), strict=False, text=text)
    found = {}
    for one in _of_file(unit, path):
        if one.kind == CursorKind.FUNCTION_DECL and not one.is_definition():
            parameters = [(_clean(p.type.spelling), p.spelling) for p in one.get_arguments()]
            found[one.spelling] = {
                "result": one.result_type.spelling,
                "parameters": parameters,
                "comment": one.raw_comment or "",
            }
    return found


def cursors(path, *options):
    """The declarations of a header, for code that reads its comments and types."""
    unit = _parse(path, [*_options(path, "x86_64"), *filter(None, options)])
    # A cursor is valid as long as its unit, so the list retains the unit.
    return Cursors(unit, _of_file(unit, path))


class Cursors(list):
    def __init__(self, unit, found):
        super().__init__(found)
        self.unit = unit


def _of_file(unit, path):
    for cursor in unit.cursor.get_children():
        if cursor.location.file and cursor.location.file.name == str(path):
            yield cursor


def _options(path, machine):
    include = [f"-I{path.parent.parent}", f"--target={TARGETS[machine]}", "-std=c11"]
    builtin = ["-isystem", _compiler_headers()]
    if path.name in CORE:
        return [*include, "-ffreestanding", "-nostdinc", *builtin, "-fvisibility=hidden"]
    return [*include, *builtin, f"-I{HERE / 'vendor'}", "-fvisibility=hidden"]


def _compiler_headers():
    command = ("gcc", "-print-file-name=include")
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _parse(path, options, strict=True, text=None):
    unsaved = [(str(path), text)] if text else None
    options = ["-xc", "-ferror-limit=0", *options]
    unit = clang.Index.create().parse(str(path), options, unsaved, DETAILED)
    bad = [one for one in unit.diagnostics if one.severity >= clang.Diagnostic.Error]
    missing = [one for one in bad if one.spelling.endswith("file not found")]
    if missing:
        # Its types would be read as int.
        line, fault = missing[0].location.line, missing[0].spelling
        raise ParseError(f"{path.name}: {line}: {fault}: tests/abi/vendor needs its types")
    if strict and bad:
        raise ParseError(f"{path.name}: {bad[0].location.line}: {bad[0].spelling}")
    return unit


def _add(api, cursor):
    kind = cursor.kind
    if kind == CursorKind.FUNCTION_DECL:
        _add_function(api, cursor)
    elif kind in (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL) and cursor.is_definition():
        api["structs"][_tag(cursor)] = _record(cursor)
    elif kind == CursorKind.ENUM_DECL:
        _add_enumeration(api, cursor)
    elif kind == CursorKind.TYPEDEF_DECL:
        found = _type(cursor.underlying_typedef_type, cursor)
        api["types"][cursor.spelling] = {**found, **api["types"].get(cursor.spelling, {})}
    elif kind == CursorKind.LINKAGE_SPEC:
        for child in cursor.get_children():
            _add(api, child)


def _add_function(api, cursor):
    found = {"type": _signature(cursor), "canonical": _clean(cursor.type.get_canonical().spelling)}
    found["parameters"] = [one.spelling for one in cursor.get_arguments()]
    attributes = [one for one in cursor.get_children() if one.kind.is_attribute()]
    found["attributes"] = sorted(f"{one.kind.name} {one.spelling}".strip() for one in attributes)
    if cursor.is_definition():
        found["text"] = code(cursor)
    api["inlines" if cursor.is_definition() else "functions"][cursor.spelling] = found


def _signature(cursor):
    """The declaration without its name: result and parameters, with their names."""
    parameters = [_declared(one) for one in cursor.get_arguments()]
    if cursor.type.is_function_variadic():
        parameters.append("...")
    return f"{cursor.result_type.spelling} ({', '.join(parameters)})"


def _declared(cursor):
    return f"{_clean(cursor.type.spelling)} {cursor.spelling}".strip()


def _add_enumeration(api, cursor):
    for one in cursor.get_children():
        if one.kind == CursorKind.ENUM_CONSTANT_DECL:
            value = {"value": one.enum_value, "type": cursor.enum_type.spelling}
            api["constants"][one.spelling] = value
    if cursor.spelling and "unnamed" not in cursor.spelling:
        api["types"][_tag(cursor)] = {"enum": cursor.enum_type.spelling}


def _tag(cursor):
    return re.sub(r"^(struct|union|enum) ", "", cursor.type.spelling)


def _record(cursor):
    kind = cursor.type
    fields = [_field(one) for one in kind.get_fields()]
    return {"size": kind.get_size(), "align": kind.get_align(), "fields": fields}


def _field(cursor):
    found = {"name": cursor.spelling, "offset": cursor.get_field_offsetof() / 8}
    found["offset"] = int(found["offset"]) if found["offset"].is_integer() else found["offset"]
    found.update(size=cursor.type.get_size(), **_type(cursor.type, cursor))
    if cursor.is_bitfield():
        found["bits"] = cursor.get_bitfield_width()
    return found


def _type(kind, cursor):
    """A type as written and in canonical form; for a callback, the names of its parameters; for an
    unnamed struct, its fields."""
    found = {"type": _clean(kind.spelling)}
    canonical = _clean(kind.get_canonical().spelling)
    if canonical != found["type"]:
        found["canonical"] = canonical
    names = [one.spelling for one in cursor.get_children() if one.kind == CursorKind.PARM_DECL]
    if names:
        found["parameters"] = names
    element = _innermost(kind)
    declaration = element.get_declaration()
    if declaration.is_anonymous() and "unnamed" in element.get_canonical().spelling:
        found["fields"] = [_field(one) for one in element.get_fields()]
    return found


def _innermost(kind):
    while kind.get_array_size() >= 0:
        kind = kind.get_array_element_type()
    return kind


def _clean(text):
    """Replaces the file position that libclang puts into the name of an unnamed type."""
    return UNNAMED.sub("(unnamed)", text)


def code(cursor):
    """The source text of a cursor as tokens separated by single blanks, without comments."""
    return _text(cursor.get_tokens())


def _text(tokens):
    return " ".join(token.spelling for token in tokens if token.kind != TokenKind.COMMENT)


# ---- Macros -------------------------------------------------------------------------------------


def _macros(path, machine):
    """Every macro that the header defines under any condition: its texts, and its value if it has
    one in this configuration."""
    texts = {}
    for one in parts(path):
        for name, text in _definitions(one.read_text()):
            texts.setdefault(name, []).append(text)
    texts = {name: text for name, text in texts.items() if not name.endswith("_H_")}
    plain = [
        name for name, found in texts.items() if any(not text.startswith("(") for text in found)
    ]
    values = _values(path, machine, plain)
    return {name: {"text": text, **values.get(name, {})} for name, text in texts.items()}


def _definitions(text):
    """Pairs of name and body; the body of a function-like macro begins with its parameters."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text.replace("\\\n", " "), flags=re.DOTALL)
    for name, body in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*)$", text, re.MULTILINE):
        yield name, " ".join(body.split()) if body[:1] == "(" else f" {' '.join(body.split())}"


def _values(path, machine, names):
    """Value and type of the macros that are constant expressions; only the type of the others."""
    lines = [
        f"enum {{ value_{name} = ({name}) }};\ntypedef __typeof__({name}) type_{name};"
        for name in names
    ]
    probe = f'#include "dlbridge/{path.name}"\n' + "\n".join(lines)
    unit = _parse(path.parent / "probe.c", _options(path, machine), False, probe)
    wrong = {
        one.location.line for one in unit.diagnostics if one.severity >= clang.Diagnostic.Error
    }
    found = {}
    for cursor in unit.cursor.get_children():
        if str(cursor.location.file) != str(path.parent / "probe.c"):
            continue
        name = cursor.spelling.removeprefix("type_")
        if cursor.kind == CursorKind.TYPEDEF_DECL and cursor.location.line not in wrong:
            found.setdefault(name, {})["type"] = (
                cursor.underlying_typedef_type.get_canonical().spelling
            )
        for one in cursor.get_children():
            if one.kind == CursorKind.ENUM_CONSTANT_DECL and one.location.line not in wrong:
                found.setdefault(one.spelling.removeprefix("value_"), {})["value"] = one.enum_value
    return found


# ---- Code that the preprocessor skips -----------------------------------------------------------


class _Ranges(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint), ("ranges", ctypes.POINTER(clang.SourceRange)))


def _inactive(unit, path):
    skipped = clang.conf.lib.clang_getSkippedRanges
    skipped.argtypes = (clang.TranslationUnit, clang.c_object_p)
    skipped.restype = ctypes.POINTER(_Ranges)
    found = skipped(unit, unit.get_file(str(path))).contents
    ranges = [found.ranges[place] for place in range(found.count)]
    lines = path.read_text().splitlines()
    texts = ["\n".join(lines[one.start.line : one.end.line - 1]) for one in ranges]
    texts = [re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL) for text in texts]
    return sorted(filter(None, (" ".join(text.split()) for text in texts)))


# ---- C++ ----------------------------------------------------------------------------------------

CLASSES = (CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.CLASS_TEMPLATE)
CALLABLE = (
    CursorKind.FUNCTION_DECL,
    CursorKind.FUNCTION_TEMPLATE,
    CursorKind.CXX_METHOD,
    CursorKind.CONSTRUCTOR,
    CursorKind.DESTRUCTOR,
    CursorKind.CONVERSION_FUNCTION,
)
VALUES = (CursorKind.VAR_DECL, CursorKind.FIELD_DECL, CursorKind.ENUM_CONSTANT_DECL)
ALIASES = (CursorKind.TYPE_ALIAS_DECL, CursorKind.TYPEDEF_DECL, CursorKind.TYPE_ALIAS_TEMPLATE_DECL)
PRIVATE = (clang.AccessSpecifier.PRIVATE, clang.AccessSpecifier.PROTECTED)


def read_cpp(include, cpp):
    """Maps each public name to its declarations: signatures, aliases, sizes of classes."""
    path = cpp / "dlbridge/dlbridge.hpp"
    options = [f"-I{cpp}", f"-I{include}", f"--target={TARGETS['x86_64']}", "-xc++", "-std=c++17"]
    unit = clang.Index.create().parse(str(path), [*options, "-isystem", _compiler_headers()])
    bad = [one for one in unit.diagnostics if one.severity >= clang.Diagnostic.Error]
    if bad:
        raise ParseError(f"{bad[0].location.file}: {bad[0].location.line}: {bad[0].spelling}")
    found = {}
    for cursor in unit.cursor.get_children():
        if cursor.kind == CursorKind.NAMESPACE and str(cursor.location.file).startswith(str(cpp)):
            _add_cpp(found, cursor, cursor.spelling)
    return {name: sorted(set(one)) for name, one in sorted(found.items())}


def _add_cpp(found, scope, prefix):
    for cursor in scope.get_children():
        name = f"{prefix}::{cursor.spelling}"
        if cursor.access_specifier in PRIVATE or "detail" in name:
            continue
        if cursor.kind == CursorKind.NAMESPACE:
            # Users do not write the name of an inline namespace.
            _add_cpp(found, cursor, prefix if _is_inline(cursor) else name)
        elif cursor.kind in CLASSES and cursor.is_definition():
            found.setdefault(name, []).append(_class(cursor))
            _add_cpp(found, cursor, name)
        elif cursor.kind == CursorKind.ENUM_DECL:
            found.setdefault(name, []).append(f"enum {cursor.enum_type.spelling}")
            _add_cpp(found, cursor, name)
        elif cursor.kind in CALLABLE:
            found.setdefault(name, []).append(_callable(cursor))
        elif cursor.kind in VALUES:
            value = (
                f" = {cursor.enum_value}" if cursor.kind == CursorKind.ENUM_CONSTANT_DECL else ""
            )
            found.setdefault(name, []).append(f"{_clean(cursor.type.spelling)}{value}")
        elif cursor.kind in ALIASES:
            found.setdefault(name, []).append(code(cursor))


def _is_inline(cursor):
    return bool(clang.conf.lib.clang_Cursor_isInlineNamespace(cursor))


def _class(cursor):
    """The size of a class, without the growable C structs that it contains."""
    size = cursor.type.get_size()
    if size < 0:
        return "class template"
    held = sorted(_held(cursor.type))
    names = [name.rpartition(" ")[2] for name, _ in held]
    return " and ".join([f"class, {size - sum(bytes_ for _, bytes_ in held)} bytes", *names])


def _held(kind):
    """Name and size of the structs that begin with struct_size, in fields and bases."""
    declaration = kind.get_canonical().get_declaration()
    bases = [one for one in declaration.get_children() if one.kind == CursorKind.CXX_BASE_SPECIFIER]
    for one in [*kind.get_canonical().get_fields(), *bases]:
        member = _innermost(one.type.get_canonical())
        first = next(iter(member.get_fields()), None)
        if first is not None and first.spelling == "struct_size":
            yield member.spelling, one.type.get_size()
        else:
            yield from _held(member)


def _callable(cursor):
    """The declaration up to the body: template, result, parameters with names, qualifiers."""
    tokens, depth = [], 0
    for token in cursor.get_tokens():
        word = token.spelling
        initialisers = word == ":" and tokens[-1] in (")", "noexcept")
        if token.kind == TokenKind.COMMENT:
            continue
        if depth == 0 and (word in ("{", ";") or initialisers):
            break
        depth += (word in ("(", "<")) - (word in (")", ">")) - 2 * (word == ">>")
        tokens.append(word)
    return " ".join(tokens)


# ---- Comments -----------------------------------------------------------------------------------


DOCUMENTED = (
    *(CursorKind.FUNCTION_DECL, CursorKind.STRUCT_DECL, CursorKind.TYPEDEF_DECL),
    CursorKind.ENUM_DECL,
)


def comments(path):
    """The comment of each exported item. An unnamed enumeration is listed under its first constant,
    a group of macros under the first one."""
    unit = _parse(path, _options(path, "x86_64"))
    found = {}
    for cursor in unit.cursor.get_children():
        if not cursor.location.file or cursor.location.file.name != str(path):
            continue
        if cursor.kind in DOCUMENTED and not _is_declared_only(cursor):
            name = _documented(cursor)
            found[name] = found.get(name) or cursor.raw_comment or ""
        for one in cursor.get_children():
            if one.kind == CursorKind.ENUM_CONSTANT_DECL:
                found[one.spelling] = one.raw_comment or ""
    return {**found, **macro_comments(path)}


def macro_comments(path):
    """The comment before each macro that has one. libclang attaches none to macros."""
    macro = re.compile(r"(/\*(?:(?!\*/).)*\*/)\n(?:#if[^\n]*\n)?#define (\w+)", re.DOTALL)
    found = {name: text for text, name in macro.findall(path.read_text())}
    return {name: text for name, text in found.items() if not name.endswith("_H_")}


def _is_declared_only(cursor):
    return cursor.kind == CursorKind.STRUCT_DECL and not cursor.is_definition()


def _documented(cursor):
    if cursor.kind == CursorKind.ENUM_DECL and "unnamed" in cursor.type.spelling:
        return "enum " + next(cursor.get_children()).spelling
    return cursor.spelling if "unnamed" not in cursor.spelling else cursor.type.spelling
