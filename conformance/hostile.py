#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes conformance/hostile.json, the broken tensors of the conformance kits, from the corpus.

python3 conformance/hostile.py            writes the file
python3 conformance/hostile.py --check    fails if the file is not current
"""

import collections
import json
import pathlib
import re
import sys

import generated

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE.parent / "tests/conformance/cases.json"
OUT = HERE / "hostile.json"
# An address in the corpus that is never read; the kits use guarded memory instead.
ADDRESS = "4096"
# Rule -> (what the consumer may do, source of checks.toml). `reject`: no array can represent the
# tensor. `harmless`: the specification lets a consumer accept it.
RULES = {
    "NDIM_NEGATIVE": ("reject", "struct"),
    "NDIM_LIMIT": ("harmless", "struct"),
    "SHAPE_NULL": ("reject", "struct"),
    "EXTENT_NEGATIVE": ("reject", "struct"),
    "STRIDES_NULL": ("harmless", "strides"),
    "DTYPE_BITS_ZERO": ("reject", "dtype"),
    "DTYPE_BITS_FIXED": ("reject", "dtype"),
    "DTYPE_LANES_ZERO": ("reject", "dtype"),
    "DTYPE_LANES_SCALABLE": ("harmless", "dtype"),
    "DTYPE_UNKNOWN": ("reject", "version"),
    "DEVICE_UNKNOWN": ("reject", "version"),
    "DEVICE_ID_NEGATIVE": ("harmless", "device"),
    "FLAGS_UNKNOWN": ("harmless", "flags"),
    "VERSION_MAJOR": ("reject", "version"),
    "COUNT_OVERFLOW": ("reject", "data"),
    "SIZE_OVERFLOW": ("reject", "data"),
    "OFFSET_OVERFLOW": ("reject", "strides"),
    "ADDRESS_RANGE": ("reject", "byte_offset"),
    "DATA_NULL": ("reject", "data"),
}
# The validator rejects unknown values only if its policy says so. Rule -> whether no release of
# DLPack knows the value.
OPT_IN = {
    "DEVICE_UNKNOWN": lambda thing: thing["device"][0] == 5,
    "DTYPE_UNKNOWN": lambda thing: thing["dtype"][0] > 18,
    "FLAGS_UNKNOWN": lambda thing: int(thing.get("flags", "0")) > 7,
}
# Cases of one rule that differ in one value only: this many are sufficient.
LIMIT = 6


def selected(case):
    """The only object and rule of a case that the kits can use, or None."""
    step = case["steps"][0]
    thing, rule = case["objects"].get("t"), step["expect"].get("rule")
    if len(case["steps"]) != 1 or step["call"] != "validate" or rule not in RULES:
        return None
    if "policy" in step and rule not in OPT_IN:
        return None
    if thing is None or thing["kind"] not in ("LEGACY", "VERSIONED"):
        return None
    # These cases break several rules, to show which one is reported.
    if "/first/" in case["name"]:
        return None
    if thing["data"] not in (ADDRESS, "0") or (rule in OPT_IN and not OPT_IN[rule](thing)):
        return None
    # Without an address of 4096 only a large offset leaves the address space.
    if rule == "ADDRESS_RANGE" and int(thing["byte_offset"]) < 2**63:
        return None
    # The shape of a tensor with a false ndim has fewer elements than ndim; no consumer can see
    # that.
    if rule == "NDIM_LIMIT" and len(thing["shape"] or ()) != thing["ndim"]:
        return None
    # Other device types than the CPU's are rejected for a reason of their own.
    if rule != "DEVICE_UNKNOWN" and thing["device"][0] != 1:
        return None
    return thing, rule


def entry(case, thing, rule):
    name = case["name"].removeprefix("validate/").replace("/", "-").replace("_", "-")
    name = re.sub("-(known-to|at)-.*", "", name)
    integers = {name: int(thing.get(name, "0")) for name in ("byte_offset", "flags")}
    arrays = {
        name: None if thing[name] is None else [int(value) for value in thing[name]]
        for name in ("shape", "strides")
    }
    return {
        "name": f"hostile-{name}",
        "rule": rule,
        "expect": RULES[rule][0],
        "source": RULES[rule][1],
        "kind": thing["kind"].lower(),
        "version": thing.get("version", [0, 8]),
        "data": "memory" if thing["data"] == ADDRESS else "null",
        "device": thing["device"],
        "ndim": thing["ndim"],
        "dtype": thing["dtype"],
        **arrays,
        **integers,
    }


def entries():
    found = collections.defaultdict(dict)
    for case in json.loads(CORPUS.read_text())["cases"]:
        usable = selected(case)
        if usable and len(found[usable[1]]) < LIMIT:
            one = entry(case, *usable)
            found[usable[1]].setdefault(one["name"], one)
    missing = set(RULES) - set(found)
    if missing:
        sys.exit(f"the corpus has no case that breaks {', '.join(sorted(missing))}")
    return [one for cases in found.values() for one in cases.values()]


def text():
    lines = ",\n".join(json.dumps(one) for one in entries())
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    sys.exit(generated.main(sys.argv[1:], OUT, text, "python3 conformance/hostile.py"))
