# SPDX-License-Identifier: Apache-2.0
"""The rules for structs of dlbridge.h, applied to the value that api.py reads: which structs may
grow, and how they are laid out to allow it."""

import re

# Structs that begin with struct_size, but whose size is part of the contract.
FIXED = {"DLBridgeContextEntry"}
# Tables of functions: the second member is the ABI number or the version of the table.
TABLES = {"DLBridgeApi", "DLBridgeContextTable"}


def grows(name, struct):
    """Is this a struct to which later versions may append fields?"""
    first = (struct["fields"] or [{}])[0]
    sized = (first.get("name"), first.get("canonical")) == ("struct_size", "unsigned int")
    return sized and name not in FIXED


def table(header):
    """Members of the function table in order, each with its function. If the function's name
    without its prefix is a C++ keyword, the member's name ends in _tensor."""
    members = [one for one in header["structs"]["DLBridgeApi"]["fields"] if "(*)" in one["type"]]
    names = [one["name"] for one in members]
    functions = {name: f"dlbridge_{name}" for name in names}
    for name in names:
        if functions[name] not in header["functions"]:
            functions[name] = f"dlbridge_{name.removesuffix('_tensor')}"
    return functions


def check(headers):
    """Complaints on the layout of structs, on growable structs that are passed by value, and on
    macros that hide another name."""
    for name, header in headers.items():
        yield from (f"{name}: {text}" for text in _macros(header))
    structs = headers["dlbridge.h"]["structs"]
    growing = {name for name, struct in structs.items() if grows(name, struct)}
    for name, struct in structs.items():
        yield from (f"{name}: {text}" for text in _padding(struct))
        if name in growing:
            yield from (f"{name}: {text}" for text in _growable(name, struct))
        for field in struct["fields"]:
            yield from _by_value(f"{name}.{field['name']}", field, growing)
    for name, function in headers["dlbridge.h"]["functions"].items():
        yield from _by_value(name, function, growing)


def _macros(header):
    kinds = ("functions", "inlines", "structs", "constants", "types")
    for name in header["macros"]:
        if not name.startswith(("DLBRIDGE_", "DLPACK_")):
            yield f"the macro {name} does not have a prefix of this library"
        yield from (
            f"the macro {name} hides one of {kind}" for kind in kinds if name in header[kind]
        )


def _padding(struct):
    """Bytes that belong to no field: an older caller may leave garbage where a later field would
    be."""
    end = 0
    for field in struct["fields"]:
        if "bits" in field:
            yield f"{field['name']} is a bit-field, whose layout compilers choose"
            return
        if field["offset"] != end:
            yield f"{field['offset'] - end} bytes of padding before {field['name']}"
        end = field["offset"] + field["size"]
    if end != struct["size"]:
        yield f"{struct['size'] - end} bytes of padding at the end"


def _growable(name, struct):
    if struct["size"] % 8:
        yield f"its size of {struct['size']} is not a multiple of 8"
    second = struct["fields"][1] if len(struct["fields"]) > 1 else {}
    if name not in TABLES and (second.get("name"), second.get("type")) != ("options", "uint32_t"):
        yield f"its second field is {second.get('type')} {second.get('name')}, not uint32_t options"


def _by_value(where, item, growing):
    """If a growable struct is a member, result or parameter, its growth changes the ABI of its
    user."""
    for text in re.split(r"[(),]", item["type"]):
        found = growing.intersection(re.findall(r"\w+", text))
        if found and "*" not in text:
            yield f"{where}: {found.pop()} may grow, but is not passed by pointer"
