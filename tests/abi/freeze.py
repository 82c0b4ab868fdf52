# SPDX-License-Identifier: Apache-2.0
"""The layout freeze: compiles a layout_freeze.c against headers, and finds what one leaves out."""

import re
import subprocess

import header

OLDER = "-DDLBRIDGE_FREEZE_OF_OLDER"


def compile_freeze(cc, include, source, *options):
    """What the compiler says of the freeze against the headers of a folder; empty when it holds."""
    command = [*cc, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        [*command, *options, "-I", str(include), str(source)], capture_output=True, text=True
    )
    return "" if done.returncode == 0 else done.stderr or f"exit status {done.returncode}"


def left_out(source, headers):
    """Complaints on what the headers declare and the freeze does not state, or the reverse."""
    text = header.without_comments(source)
    kinds = {
        "constant": (_frozen_constants(text), _constants(headers)),
        "struct": (_frozen_structs(text), _structs(headers)),
        "field": (_frozen_fields(text), _fields(headers)),
        "function": (_frozen_functions(text), _functions(headers)),
        "type": (_frozen_as("TYPE", text), set().union(*map(header.aliases, headers))),
    }
    complaints = []
    for kind, (frozen, declared) in kinds.items():
        complaints += [f"{kind} not frozen: {_text(name)}" for name in sorted(declared - frozen)]
        complaints += [f"{kind} only frozen: {_text(name)}" for name in sorted(frozen - declared)]
    return complaints + _wrongly_growing(text, headers)


def growing(source):
    """Names of the structs that a freeze lets grow."""
    return _frozen_as("GROWS", header.without_comments(source))


def _text(name):
    return name if isinstance(name, str) else ".".join(name)


def _frozen_as(macro, text):
    return set(re.findall(rf"^{macro}\((\w+),", text, re.MULTILINE))


def _frozen_constants(text):
    return _frozen_as("VALUE", text)


def _constants(headers):
    return set().union({"DLBRIDGE_ABI"}, *map(header.constants, headers))


def _frozen_structs(text):
    return _frozen_as("SIZE", text) | _frozen_as("GROWS", text)


def _structs(headers):
    return set().union(*map(header.structs, headers), *map(header.enumerations, headers))


def _frozen_fields(text):
    fields = set(re.findall(r"^FIELD\((\w+), (\w+),", text, re.MULTILINE))
    return fields | {("DLBridgeApi", name) for name in _frozen_as("MEMBER", text)}


def _fields(headers):
    structs = {name: fields for text in headers for name, fields in header.structs(text).items()}
    return {(name, field) for name, fields in structs.items() for field in fields}


def _frozen_functions(text):
    return set(re.findall(r"^\w[^#;()]*?\b(dlbridge_\w+)\([^;]*?\);", text, re.MULTILINE))


def _functions(headers):
    return {name for text in headers for name in header.functions(text)}


def _wrongly_growing(text, headers):
    """A struct without struct_size has no way to grow."""
    structs = {name: fields for part in headers for name, fields in header.structs(part).items()}
    return [
        f"{name} grows without a struct_size"
        for name in sorted(_frozen_as("GROWS", text))
        if structs.get(name, ["struct_size"])[0] != "struct_size"
    ]
