# SPDX-License-Identifier: Apache-2.0
"""Helpers to write cases. README.md in this folder documents the schema."""

import model

# The status of a broken rule; rules that are only reported as notes are not listed.
STATUS = {
    # [facts/rules.toml]
    "VERSION_MAJOR": "ERROR_VERSION",
    "NDIM_NEGATIVE": "ERROR_INVALID_TENSOR",
    "NDIM_LIMIT": "ERROR_POLICY",
    "SHAPE_NULL": "ERROR_INVALID_TENSOR",
    "STRIDES_NULL": "ERROR_INVALID_TENSOR",
    "DTYPE_BITS_ZERO": "ERROR_INVALID_TENSOR",
    "DTYPE_LANES_ZERO": "ERROR_INVALID_TENSOR",
    "DTYPE_LANES_SCALABLE": "ERROR_INVALID_TENSOR",
    "DTYPE_BITS_FIXED": "ERROR_INVALID_TENSOR",
    "DTYPE_UNKNOWN": "ERROR_UNKNOWN_CODE",
    "DEVICE_UNKNOWN": "ERROR_UNKNOWN_CODE",
    "FLAGS_UNKNOWN": "ERROR_UNKNOWN_CODE",
    "DEVICE_ID_NEGATIVE": "ERROR_INVALID_TENSOR",
    "EXTENT_NEGATIVE": "ERROR_INVALID_TENSOR",
    "COUNT_OVERFLOW": "ERROR_INVALID_TENSOR",
    "SIZE_OVERFLOW": "ERROR_INVALID_TENSOR",
    "OFFSET_OVERFLOW": "ERROR_INVALID_TENSOR",
    "DATA_NULL": "ERROR_INVALID_TENSOR",
    "ADDRESS_RANGE": "ERROR_INVALID_TENSOR",
    "HANDLE_RANGE": "ERROR_INVALID_TENSOR",
    "BUFFER_BOUNDS": "ERROR_POLICY",
    "CONTIGUITY": "ERROR_POLICY",
    "ALIGNMENT": "ERROR_POLICY",
    "DEVICE_REJECTED": "ERROR_POLICY",
    "DTYPE_REJECTED": "ERROR_POLICY",
    "NOT_WRITABLE": "ERROR_POLICY",
    "NEGATIVE_STRIDE": "ERROR_POLICY",
    "ZERO_STRIDE": "ERROR_POLICY",
    "SELF_OVERLAP": "ERROR_POLICY",
    "REQUIRED_VERSION": "ERROR_VERSION",
    "LEGACY_READ_ONLY": "ERROR_UNREPRESENTABLE",
    "LEGACY_PADDED": "ERROR_UNREPRESENTABLE",
    "LEGACY_DTYPE": "ERROR_UNREPRESENTABLE",
    "LEGACY_DEVICE": "ERROR_UNREPRESENTABLE",
    "OFFSET_FOLD": "ERROR_UNSUPPORTED",
    "VIEW_BOUNDS": "ERROR_BOUNDS",
    "VIEW_OFFSET": "ERROR_BOUNDS",
    "IN_STORAGE": "ERROR_UNSUPPORTED",
    "COPY_DEVICE": "ERROR_UNSUPPORTED",
    "DEVICE_LABEL": "ERROR_INVALID_TENSOR",
    "ALLOCATION_BOUNDS": "ERROR_INVALID_TENSOR",
    "SHAPE_MISMATCH": "ERROR_POLICY",
    # [/facts]
}


def status_of(rule):
    return STATUS[rule]


def ok(**more):
    return {"status": "OK", **more}


def rejected(rule, axis=-1, **more):
    return {"status": status_of(rule), "rule": rule, "axis": axis, **more}


def error(status, **more):
    return {"status": status, "rule": "NONE", "axis": -1, **more}


def bad_argument(**more):
    return error("ERROR_INVALID_ARGUMENT", **more)


def tensor(kind="LEGACY", shape=(2, 3), strides="compact", **fields):
    """A float32 matrix on the CPU at an address that is never read; `fields` override it."""
    shape = None if shape is None else [int(n) for n in shape]
    if isinstance(strides, str):
        strides = model.compact_strides(shape or [])
    made = {
        "kind": kind,
        "data": "4096",
        "device": [1, 0],
        "ndim": len(shape or []),
        "dtype": [2, 32, 1],
        "shape": None if shape is None else [str(n) for n in shape],
        "strides": None if strides is None else [str(n) for n in strides],
        "byte_offset": "0",
        "flags": "0",
    }
    if kind == "VERSIONED":
        made["version"] = list(model.NEWEST)
    if kind != "BORROWED":
        made["deleter"] = True
    if kind == "LEGACY":
        del made["flags"]
    for key, value in fields.items():
        made[key] = value if key not in ("data", "byte_offset", "flags") else str(value)
    return made


def versioned(**fields):
    return tensor("VERSIONED", **fields)


def borrowed(**fields):
    return tensor("BORROWED", **fields)


def step(call, expect, **arguments):
    return {"call": call, **arguments, "expect": expect}


def becomes(source, **changes):
    """The fields of a result: those of its source with the changes."""
    shape = [int(n) for n in source["shape"] or []]
    result = {
        "data": source["data"],
        "device": source["device"],
        "ndim": source["ndim"],
        "dtype": source["dtype"],
        "shape": [str(n) for n in shape],
        "strides": source["strides"] or [str(n) for n in model.compact_strides(shape)],
        "byte_offset": source["byte_offset"],
    }
    for key, value in changes.items():
        result[key] = value if key not in ("data", "byte_offset", "flags") else str(value)
    return result


class Corpus:
    def __init__(self):
        self.cases = []
        self.names = set()

    def add(self, name, objects, *steps, about=None, abi=False):
        assert name not in self.names, name
        self.names.add(name)
        case = {"name": name}
        if about:
            case["about"] = about
        if abi:
            case["abi"] = True
        self.cases.append({**case, "objects": objects, "steps": list(steps)})

    def validate(self, name, subject, policy=None, want=None, about=None):
        """One validation; `want` is the rule that the author expects from the model."""
        rule, axis = model.validate(subject, policy)
        assert want is None or want == rule, (name, want, rule)
        expect = ok() if rule == "NONE" else rejected(rule, axis)
        arguments = {"policy": policy} if policy is not None else {}
        self.add(
            name, {"t": subject}, step("validate", expect, **{"in": "t"}, **arguments), about=about
        )
