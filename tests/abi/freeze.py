# SPDX-License-Identifier: Apache-2.0
"""Writes layout_freeze.c from the value that api.py reads. Every compiler that compiles the file,
on every system, confirms the sizes, offsets, types and constants that libclang found."""

import re
import subprocess

import rules

HEAD = """\
/*
 * SPDX-License-Identifier: Apache-2.0
 * The layout of dlbridge.h and dlpack.h, for the compilers of all systems: size and alignment of
 * every struct, offset and type of every field, value of every constant, type of every function.
 * Compiled, never run. Written by `./run abi record`.
 */
/* clang-format off */
#include "dlbridge/dlbridge.h"

#define SIZE(type, size, align) \\
  _Static_assert(sizeof(type) == (size) && _Alignof(type) == (align), #type " moved")
#define SAME_TYPE(expression, type) _Generic((expression), __typeof__(type)* : 1, default : 0)
#define OFFSET(type, field, offset) \\
  _Static_assert(offsetof(type, field) == (offset), #type "." #field " moved")
#define FIELD(type, field, offset, field_type) \\
  OFFSET(type, field, offset); \\
  _Static_assert(SAME_TYPE(&((type*)0)->field, field_type), #type "." #field " has another type")
/* A member of the function table has the type of the function that it is. */
#define MEMBER(name, offset, function) FIELD(DLBridgeApi, name, offset, &function)
#define VALUE(name, value) _Static_assert((name) == (value), #name " has another value")
#define TYPE(name, type) _Static_assert(SAME_TYPE((name*)0, type), #name " is another type")

/* Another declaration of the same function must say the same. */
"""


def text(headers):
    """The file for the headers of one version."""
    lines = []
    for name in ("dlpack.h", "dlbridge.h"):
        header = headers[name]
        for function, item in header["functions"].items():
            result, _, parameters = item["type"].partition("(")
            lines.append(f"{result.strip()} {function}({parameters};")
        lines += _types(header["types"])
        lines += [f"VALUE({one}, {item['value']});" for one, item in header["constants"].items()]
        for macro, item in header["macros"].items():
            if isinstance(item.get("value"), int) and "VERSION" not in macro:
                lines.append(f"VALUE({macro}, {_literal(item['value'])});")
        for struct, item in header["structs"].items():
            members = rules.table(header) if struct == "DLBridgeApi" else {}
            lines += _struct(struct, item, members)
    return HEAD + "\n".join(lines) + "\n"


def _literal(value):
    """C has no literal for INT64_MIN."""
    return f"({value + 1} - 1)" if value == -(2**63) else f"{value}"


def _types(types):
    for name, item in types.items():
        if "enum" in item:
            yield f"SIZE({name}, 4, 4);"
        elif not item["type"].startswith(("struct ", "union ", "enum ")):
            yield f"TYPE({name}, {item['type']});"


def _struct(name, item, members):
    yield f"SIZE({name}, {item['size']}, {item['align']});"
    for field in item["fields"]:
        place = f"{name}, {field['name']}, {field['offset']}"
        if field["name"] in members:
            yield f"MEMBER({field['name']}, {field['offset']}, {members[field['name']]});"
        elif "fields" in field:
            yield f"OFFSET({place});"
        elif "bits" not in field:
            yield f"FIELD({place}, {field['type']});"


def compile_freeze(cc, include, source):
    """The compiler's errors for the layout freeze with the headers of a folder; empty on
    success."""
    command = [*cc, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    done = subprocess.run(
        [*command, "-I", str(include), str(source)], capture_output=True, text=True
    )
    said = "" if done.returncode == 0 else done.stderr or f"exit status {done.returncode}"
    return re.findall(r"error: (.*)", said) or said.splitlines()
