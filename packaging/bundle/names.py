# SPDX-License-Identifier: Apache-2.0
"""Names of C++ sources that clash in one translation unit: those of unnamed namespaces, and macros.

Reads sources in the repository's format: declarations of a namespace start in the first column, and
`}  // namespace` ends an unnamed one.
"""

import collections
import re

# What is not code, so that a rename leaves it alone.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
PREPROCESSOR = re.compile(r"^#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)|\balignas\(.*?\)", re.DOTALL)
TYPE = re.compile(r"(?:struct|class|union|enum(?: class)?)\s+(\w+)|using\s+(\w+)\s*=")
DEFINED = re.compile(r"^#define (\w+)", re.MULTILINE)
FUNCTION = re.compile(r"\b(\w+)\(")
VARIABLE = re.compile(r"\b(\w+)\s*(?:\[[^\]]*\])*\s*(?:[={;]|$)")
CONTINUES = tuple(" \t}#)")


def _blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def declarations(text):
    """Pairs (is unnamed, name) of what is declared in the first column."""
    code = PREPROCESSOR.sub(_blank, NOT_CODE.sub(_blank, text.replace("}  // namespace\n", "@\n")))
    unnamed, statement = False, ""
    for line in code.splitlines():
        if line == "namespace {":
            unnamed = True
        elif line == "@":
            unnamed = False
        elif re.match(r"namespace\b|extern\b|static_assert\b|DLBRIDGE_\w+\(", line):
            statement = ""
        elif line and not (line.startswith(CONTINUES) and not statement):
            statement += line + " "
            name = _declared(statement)
            if name:
                yield unnamed, name
            if re.search(r"[{;]", line) or name:
                statement = ""


def _without_template(text):
    """The text after `template <...>`."""
    if not text.startswith("template"):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if letter == ">" and depth == 0:
            return text[place + 1 :].strip()
    return ""


def _declared(statement):
    text = _without_template(" ".join(ATTRIBUTE.sub(" ", statement).split()))
    found = TYPE.match(text)
    if found:
        return found[1] or found[2]
    if not re.search(r"[(={;]", text):
        return None
    end = re.search(r"[({=;\[]", text)
    pattern = FUNCTION if end and end[0] == "(" else VARIABLE
    found = pattern.search(text)
    return found[1] if found else None


def clashes(texts):
    """For each file, the names of its unnamed namespaces that another one has, and new names."""
    users = collections.defaultdict(set)
    unnamed = collections.defaultdict(set)
    for name, text in texts.items():
        for is_unnamed, declared in declarations(text):
            users[declared].add(name)
            if is_unnamed:
                unnamed[name].add(declared)
    return {
        name: {old: f"{old}_{_suffix(name)}" for old in sorted(olds) if len(users[old]) > 1}
        for name, olds in unnamed.items()
    }


def _suffix(name):
    return re.sub(r"\W", "_", name.removesuffix(".cc"))


def rename(text, new_names):
    """The code of a file with other names; members of other types keep theirs."""
    if not new_names:
        return text
    word = "|".join(map(re.escape, new_names))
    word = rf"(?:{word})\b"
    before = (r"(?<![\w.>:])", "(?<=dlbridge::)", "(?<=[^-]>)", "(?<=[^:]:)")
    options = "|".join(place + word for place in before)
    pattern = re.compile(f"{NOT_CODE.pattern}|{options}", re.DOTALL)
    return pattern.sub(lambda match: new_names.get(match[0], match[0]), text)


def undefine(text):
    """Removes the macros of a source, which the next one does not expect."""
    names = dict.fromkeys(DEFINED.findall(text))
    return "".join(f"#undef {name}\n" for name in names)
