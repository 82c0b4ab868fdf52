# SPDX-License-Identifier: Apache-2.0
"""The bytes of every default value in dlbridge.h, from each initialiser macro and each
dlbridge_<struct>_init(); a program that prints them is compiled and run."""

import re

import clients

PROGRAM = """\
#include <stdio.h>
#include <string.h>
#include "dlbridge/dlbridge.h"
static void print(const char* name, const void* value, size_t size) {
  size_t i;
  printf("%%s ", name);
  for (i = 0; i < size; ++i) printf("%%02x", ((const unsigned char*)value)[i]);
  printf("\\n");
}
int main(void) {
%s
  return 0;
}
"""


def of_headers(build, include, header):
    """Maps the name of each default to its struct and its bytes."""
    structs = {**_of_macros(header), **_of_functions(header)}
    lines = []
    for name, struct in structs.items():
        value = name if name.isupper() else f"{name}()"
        lines.append(
            f"  {{ static {struct} v; const {struct} w = {value}; memcpy(&v, &w, sizeof v);"
            f' print("{name}", &v, sizeof v); }}'
        )
    said = clients.run_program(build, include, "defaults", PROGRAM % "\n".join(lines))
    rows = dict(line.split() for line in said.splitlines())
    return {name: {"struct": structs[name], "bytes": rows[name]} for name in structs}


def _of_macros(header):
    """An initialiser names its struct in a sizeof, or by its own name."""
    structs = {name.upper(): name for name in header["structs"]}
    found = {}
    for name, macro in header["macros"].items():
        if name.endswith("_INIT") and macro["text"][0].strip().startswith("{"):
            sized = re.search(r"sizeof\((\w+)\)", macro["text"][0])
            named = structs.get(name.removesuffix("_INIT").replace("_", ""))
            found[name] = sized[1] if sized else named
    return {name: struct for name, struct in found.items() if struct}


def _of_functions(header):
    found = {}
    for name, function in header["inlines"].items():
        struct, _, parameters = function["canonical"].removeprefix("struct ").partition(" ")
        if name.endswith("_init") and parameters == "(void)":
            found[name] = struct
    return found
