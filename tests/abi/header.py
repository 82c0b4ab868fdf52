# SPDX-License-Identifier: Apache-2.0
"""What the public headers declare, read from their text. They are laid out for this: a declaration
starts its line, a struct ends with its name, a comment stands before what it is about."""

import re


def code(text):
    """Text without comments, one blank for any: two texts are equal here when the code is."""
    return re.sub(r"\s+", " ", without_comments(text)).strip()


def without_comments(text):
    """Text without comments, line for line."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def define(text, name):
    """Value of a macro, as it is written."""
    return re.search(rf"^#define {name} (.*)$", text, re.MULTILINE)[1]


def version(text):
    """The version that the numbers state, such as '0.1.0'."""
    parts = ("MAJOR", "MINOR", "PATCH")
    return ".".join(define(text, f"DLBRIDGE_VERSION_{part}") for part in parts)


def abi(text):
    return int(define(text, "DLBRIDGE_ABI"))


def functions(text):
    """The functions that the header exports, in its order."""
    return re.findall(r"^DLBRIDGE_API\b[^;]*?\b(dlbridge_\w+)\(", text, re.MULTILINE)


def table(text):
    """The function members of DLBridgeApi, in order."""
    body = re.search(r"typedef struct DLBridgeApi \{(.*?)\n\} DLBridgeApi;", text, re.DOTALL)
    return re.findall(r"\(\*(\w+)\)\(", body[1])


def items(text):
    """Name and comment of each exported item: functions, types, enumerations, macros."""
    item = re.compile(
        r"/\*\*(?P<comment>(?:(?!\*/).)*)\*/\n"
        r"(?:DLBRIDGE_API [^;]*?(?P<function>dlbridge_\w+)\(|static inline [^;]*?"
        r"(?P<inline>dlbridge_\w+)\(|typedef (?:struct )?(?P<type>[^;{]*)"
        r"|(?P<enumeration>enum) \{|#define (?P<macro>DLBRIDGE_\w+)|#if (?P<condition>[^\n]*))",
        re.DOTALL,
    )
    for match in item.finditer(text):
        yield next(name for name in match.groups()[1:] if name).strip(), match["comment"]


def since(text):
    """Version that brought each exported item whose comment says so."""
    tag = re.compile(r"\\since (\d+\.\d+\.\d+)")
    found = ((name, tag.search(comment)) for name, comment in items(text))
    return {name.split()[-1]: match[1] for name, match in found if match}


def constants(text):
    """Every enumerator, and DLPack's flags."""
    text = without_comments(text)
    bodies = re.findall(r"^(?:typedef )?enum \{(.*?)\}", text, re.DOTALL | re.MULTILINE)
    names = {name for body in bodies for name in re.findall(r"(\w+)\s*=", body)}
    return names | set(re.findall(r"#define (DLPACK_FLAG_BITMASK_\w+)", text))


def structs(text):
    """Every struct with its fields in order: name to names."""
    text = without_comments(text)
    # A body holds no brace, and so does the name of the field that a declaration ends with.
    found = re.findall(r"^typedef struct(?: \w+)? \{([^{}]*)\} (\w+);", text, re.MULTILINE)
    return {name: _fields(body) for body, name in found}


def _fields(body):
    name = re.compile(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])?$")
    found = (name.search(line.strip()) for line in body.split(";") if line.strip())
    return [match[1] or match[2] for match in found]


def aliases(text):
    """Names of types that are neither struct nor enumeration: integers and function pointers."""
    text = without_comments(text)
    integers = re.findall(r"^typedef u?int\d+_t (\w+);", text, re.MULTILINE)
    return set(integers) | set(re.findall(r"^typedef \w+ \(\*(\w+)\)\(", text, re.MULTILINE))


def enumerations(text):
    """Names of enumerated types."""
    text = without_comments(text)
    return set(re.findall(r"^typedef enum \{[^{}]*\} (\w+);", text, re.MULTILINE))


def initialisers(text):
    """The static initialisers: macro to the struct that it initialises."""
    macro = r"^#define (DLBRIDGE_\w+_INIT)\b[^{]*\{\(uint32_t\)sizeof\((\w+)\)"
    return dict(re.findall(macro, text, re.MULTILINE))


def name_enumerations(text):
    """The same text whose nameless enumerations bear the name of their first constant."""
    nameless = re.compile(r"^enum \{(?=(?:\s|/\*(?:(?!\*/).)*\*/)*(\w+))", re.DOTALL | re.MULTILINE)
    return nameless.sub(r"enum of_\1 {", text)
