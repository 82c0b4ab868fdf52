# SPDX-License-Identifier: Apache-2.0
"""The lists of constants of the Rust binding, and the crate dlbridge-sys."""

import shutil
import sys

from .text import Problem

FOLDER = "bindings/rust/dlbridge/src"
SYS = "bindings/rust/dlbridge-sys"


def crate(root):
    """The generated files of dlbridge-sys; none without libclang, rustfmt or a C compiler."""
    if not (shutil.which("rustfmt") and shutil.which("cc")):
        return
    sys.path.insert(0, str(root / "bindings/rust/tools"))
    try:
        import mirrors
    except ImportError:
        return
    try:
        contents = mirrors.contents(root / "include")
    except mirrors.NotMirrored as names:
        raise Problem(f"bindings/rust/tools/mirrors.py mirrors no {names}") from None
    for name, text in contents.items():
        yield f"{SYS}/{name}", text


# The modules that define a type for an enumeration.
TYPES = {"BACKEND": "backend.rs", "MEMORY": "pointer.rs"}


def regions(facts):
    error = f"{FOLDER}/error.rs"
    names = [(one.name.removeprefix("ERROR_"), f"DLBRIDGE_{one.name}") for one in facts.statuses]
    yield error, "facts/statuses.toml", _rows(names)
    names = [(one.name, f"DLBRIDGE_RULE_{one.name}") for one in facts.rules]
    yield error, "facts/rules.toml", _rows(names)
    yield f"{FOLDER}/python.rs", "facts/statuses.toml", _exceptions(facts)
    names = [(one["rust"] or one["name"].upper(), f"kDL{one.name}") for one in facts.devices]
    yield f"{FOLDER}/device.rs", "facts/devices.toml", _rows(names)
    for group in facts.groups:
        if group.name in TYPES:
            mark = f"facts/enums.toml {group.name}"
            yield f"{FOLDER}/{TYPES[group.name]}", mark, _constants(group)


def _exceptions(facts):
    """Arms of a match from status to Python exception; its default is BufferError."""
    kinds = {}
    for one in facts.statuses[1:]:
        kinds.setdefault(one["python"], []).append(f"sys::DLBRIDGE_{one.name}")
    kinds.pop("BufferError", None)
    joint = "\n            | "
    arms = (f"{joint.join(codes)} => Py{kind}::new_err(text)" for kind, codes in kinds.items())
    return "".join(f"            {arm},\n" for arm in arms)


def _rows(names):
    return "".join(f"    {name} = {constant},\n" for name, constant in names)


def _constants(group):
    lines = []
    for one in group.members:
        value = f"sys::{group.prefix}{one.name}"
        lines.append(f"    /// {one.doc}\n    pub const {one.name}: Self = Self({value});\n")
    return "".join(lines)
