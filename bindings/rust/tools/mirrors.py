# SPDX-License-Identifier: Apache-2.0
"""What dlbridge-sys takes from the C headers: the mirrors, the table of functions, and the layout
tests, whose numbers come from a C compiler. tools/facts.py writes and checks the files.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

import declarations

HERE = Path(__file__).resolve().parent
NOTICE = """// SPDX-License-Identifier: Apache-2.0
//! {what}
//!
//! Generated from the C headers by tools/facts.py; do not edit.
"""

INTEGERS = {
    "int32_t": "i32",
    "int64_t": "i64",
    "uint8_t": "u8",
    "uint16_t": "u16",
    "uint32_t": "u32",
    "uint64_t": "u64",
    "size_t": "usize",
    "int": "c_int",
    "char": "c_char",
    "void": "c_void",
}

# Types of constants, by the beginnings of their names; the first that fits. An enumeration of C has
# no size of its own to speak of, so each takes the type of the field that holds it.
CONSTANT_TYPES = [
    ("DLBRIDGE_VERSION_STRING", "&CStr"),
    ("DLBRIDGE_ARRAY_API_STREAM_NONE", "i64"),
    ("DLPACK_FLAG_", "u64"),
    ("DLPACK_", "u32"),
    ("DLBRIDGE_VERSION_", "u32"),
    ("DLBRIDGE_ABI", "u32"),
    ("DLBRIDGE_OK", "DLBridgeStatus"),
    ("DLBRIDGE_ERROR_", "DLBridgeStatus"),
    ("DLBRIDGE_RULE_", "DLBridgeRule"),
    ("DLBRIDGE_KIND_", "DLBridgeKind"),
    ("DLBRIDGE_BACKEND_", "DLBridgeBackend"),
    ("DLBRIDGE_NO", "DLBridgeAnswer"),
    ("DLBRIDGE_YES", "DLBridgeAnswer"),
    ("DLBRIDGE_UNDECIDED", "DLBridgeAnswer"),
    ("DLBRIDGE_MAX_NDIM", "i32"),
    ("DLBRIDGE_LEVEL_", "i32"),
    ("DLBRIDGE_CONTIGUITY_", "i32"),
    ("DLBRIDGE_SEVERITY_", "i32"),
    ("DLBRIDGE_STATE_", "i32"),
    ("DLBRIDGE_BUFFER_", "i32"),
    ("DLBRIDGE_MEMORY_", "i32"),
    ("DLBRIDGE_STREAM_", "i32"),
    ("DLBRIDGE_", "u32"),
]

# Names of the headers that need no mirror: guards, linkage and macros; and inline functions, which
# src/initial.rs has by hand. The inline functions that return an initialiser are found by name.
NOT_MIRRORED = {
    "DLBRIDGE_API",
    "DLBRIDGE_API_HAS",
    "DLBRIDGE_BUILDING",
    "DLBRIDGE_DLBRIDGE_H_",
    "DLBRIDGE_DLPACK_H_",
    "DLBRIDGE_NO_DEVICE",
    "DLBRIDGE_OFFICIAL_DLPACK_",
    "DLBRIDGE_STATIC",
    "DLPACK_DLL",
    "DLPACK_DLPACK_H_",
    "DLPACK_EXTERN_C",
    "dlbridge_buffer_address",
}


def rust_type(ctype):
    """The Rust type of a C type, as libclang spells it."""
    ctype = ctype.replace("struct ", "").strip()
    pointer = re.match(r"(.*?)\(\*\)\((.*)\)$", ctype)
    if pointer:
        types = ", ".join(map(rust_type, split_parameters(pointer[2])))
        return f'Option<unsafe extern "C" fn({types}){arrow(pointer[1])}>'
    array = re.match(r"(.*)\[(\d+)\]$", ctype)
    if array:
        return f"[{rust_type(array[1])}; {array[2]}]"
    if ctype.endswith("*const"):  # a pointer that is constant itself, which Rust does not say
        return rust_type(ctype[:-5])
    if ctype.endswith("*"):
        target = ctype[:-1].strip()
        constant = target.endswith("*const") or (target.startswith("const ") and "*" not in target)
        return f"*{'const' if constant else 'mut'} {rust_type(target)}"
    ctype = ctype.removeprefix("const ").strip()
    return INTEGERS.get(ctype, ctype)


def split_parameters(text):
    """Splits at the commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def arrow(result):
    return "" if result.strip() == "void" else f" -> {rust_type(result)}"


def doc(text, indent=""):
    lines = (text or "").split("\n")
    return "".join(f"{indent}/// {line}".rstrip() + "\n" for line in lines)


def constant_type(constant):
    if constant.enum:
        return constant.enum
    return next(kind for start, kind in CONSTANT_TYPES if constant.name.startswith(start))


def struct_text(struct):
    lines = [doc(struct.doc or "A struct of the C ABI.")]
    lines.append("#[repr(C)]\n#[derive(Clone, Copy, Debug)]\n")
    lines.append(f"pub struct {struct.name} {{\n")
    for item in struct.fields:
        text = item.doc or (
            f"`dlbridge_{item.name}`." if struct.name == "DLBridgeApi" else f"`{item.name}`."
        )
        lines.append(doc(text, "    "))
        lines.append(f"    pub {item.name}: {rust_type(item.type)},\n")
    lines.append("}\n\n")
    return "".join(lines)


def pointer_text(pointer):
    types = ", ".join(rust_type(p.type) for p in pointer.parameters)
    signature = f'unsafe extern "C" fn({types}){arrow(pointer.result)}'
    return f"{doc(pointer.doc)}pub type {pointer.name} = Option<{signature}>;\n"


def mirrors_text(header):
    parts = [
        NOTICE.format(what="Structs, constants and functions of the C ABI."),
        "use core::ffi::{CStr, c_char, c_int, c_void};\n\n",
        "/// Kind of a device; any integer may arrive.\npub type DLDeviceType = i32;\n",
        "/// Kind of one lane of an element; any integer may arrive.\n",
        "pub type DLDataTypeCode = u8;\n",
    ]
    for name, (ctype, text) in header.integers.items():
        parts.append(f"{doc(text)}pub type {name} = {rust_type(ctype)};\n")
    parts += [pointer_text(pointer) for pointer in header.pointers]
    parts.append("\n")
    parts += [struct_text(struct) for struct in header.structs]
    for constant in header.constants:
        text = constant.doc or f"`{constant.name}`."
        value = constant.value
        kind = constant_type(constant)
        value = f"c{value}" if kind == "&CStr" else value
        parts.append(f"{doc(text)}pub const {constant.name}: {kind} = {value};\n")
    parts.append('\n#[cfg(feature = "link")]\nunsafe extern "C" {\n')
    for function in header.functions:
        arguments = ", ".join(f"{p.name}: {rust_type(p.type)}" for p in function.parameters)
        parts.append(doc(function.doc, "    "))
        parts.append(f"    pub fn {function.name}({arguments}){arrow(function.result)};\n")
    parts.append("}\n")
    return "".join(parts)


def members(header):
    """The functions of the table, in order."""
    table = next(struct for struct in header.structs if struct.name == "DLBridgeApi")
    return [item for item in table.fields if "(*)" in item.type]


def table_text(header):
    parts = [
        NOTICE.format(what="The members of a table of functions."),
        "use super::{MissingFunction, Table};\n#[allow(clippy::wildcard_imports)]\n",
        "use crate::mirrors::*;\n",
        "use core::ffi::{c_char, c_void};\n\nimpl Table {\n",
    ]
    for item in members(header):
        kind = rust_type(item.type).removeprefix("Option<").removesuffix(">")
        parts.append(f"    /// `dlbridge_{item.name}`.\n    ///\n    /// # Errors\n    ///\n")
        parts.append("    /// The library is older and lacks it.\n")
        parts.append(f"    pub fn {item.name}(self) -> Result<{kind}, MissingFunction> {{\n")
        parts.append(f"        member!(self, {item.name})\n    }}\n\n")
    parts.append("}\n")
    return "".join(parts)


# ------------------------------------------------------------------------------- the C compiler


def probe_text(header):
    """A C program that prints what only a compiler knows."""
    lines = ["#include <stdio.h>", "#include <string.h>", "#include <dlbridge/dlbridge.h>"]
    lines.append("#define A(T) offsetof(struct { char c; T t; }, t)")
    lines.append("static void hex(const char* n, const void* p, size_t s) {")
    lines.append('  printf("init %s ", n);')
    lines.append("  for (size_t i = 0; i < s; ++i)")
    lines.append('    printf("%02x", ((const unsigned char*)p)[i]);')
    lines.append('  printf("\\n"); }')
    lines.append("int main(void) {")
    for struct in header.structs:
        n = struct.name
        lines.append(f'printf("struct {n} %zu %zu\\n", sizeof({n}), A({n}));')
        for item in struct.fields:
            place = f"{n}, {item.name}"
            size = f"sizeof((({n}*)0)->{item.name})"
            lines.append(f'printf("field {n}.{item.name} %zu %zu\\n", offsetof({place}), {size});')
    for constant in header.constants:
        n = constant.name
        if constant_type(constant) == "&CStr":
            lines.append(f'printf("const {n} \\"%s\\"\\n", {n});')
        else:
            lines.append(f'printf("const {n} %lld\\n", (long long){n});')
    for name in header.initialisers:
        n = initialised(name, header)
        lines.append(f'{{ static const {n} v = {name}; hex("{n}", &v, sizeof v); }}')
    lines.append("return 0; }")
    return "\n".join(lines) + "\n"


def initialised(macro, header):
    """The struct that an initialiser is for: DLBRIDGE_VIEW_SPEC_INIT is for DLBridgeViewSpec."""
    words = macro.removeprefix("DLBRIDGE_").removesuffix("_INIT")
    wanted = "dlbridge" + words.replace("_", "").lower()
    return next(struct.name for struct in header.structs if struct.name.lower() == wanted)


def probe(header, include):
    """What the program prints, as lists of words by their first two."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "probe.c"), Path(folder, "probe")
        source.write_text(probe_text(header))
        command = [os.environ.get("CC", "cc"), "-w", f"-I{include}", str(source), "-o"]
        subprocess.run([*command, str(program)], check=True)
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    seen = {"struct": {}, "field": {}, "const": {}, "init": {}}
    for line in output.splitlines():
        kind, name, *rest = line.split(" ")
        seen[kind][name] = rest
    return seen


# ------------------------------------------------------------------------------ the layout tests


def layout_text(header, seen):
    parts = [
        NOTICE.format(what="The mirrors compared with what a C compiler reports on the headers."),
        "#![allow(clippy::too_many_lines, clippy::wildcard_imports, clippy::cast_lossless)]\n",
        "#![allow(clippy::unreadable_literal, clippy::no_effect_underscore_binding)]\n",
        "use core::mem::{align_of, offset_of, size_of};\n",
        "use dlbridge_sys::*;\n\n",
        "/// Size of the field that `_get` looks at.\n",
        "fn field<S, F>(_get: fn(&S) -> &F) -> usize {\n    size_of::<F>()\n}\n\n",
        "fn hex<T>(value: &T) -> String {\n",
        "    let start = core::ptr::from_ref(value).cast::<u8>();\n",
        "    // SAFETY: no struct of the ABI has padding, which the layout tests prove.\n",
        "    let bytes = unsafe { core::slice::from_raw_parts(start, size_of::<T>()) };\n",
        '    let digit = |d: u8| char::from(b"0123456789abcdef"[d as usize]);\n',
        "    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()\n}\n\n",
    ]
    parts += [layout_of(struct, seen) for struct in header.structs]
    parts.append("#[test]\nfn constants() {\n")
    for constant in header.constants:
        value = seen["const"][constant.name][0]
        if constant_type(constant) == "&CStr":
            parts.append(f"    assert_eq!({constant.name}, c{value});\n")
        else:
            parts.append(f"    assert_eq!({constant.name} as i128, {value});\n")
    parts.append("}\n\n#[test]\nfn initialisers() {\n")
    for name, (value,) in seen["init"].items():
        parts.append(f'    assert_eq!(hex(&{name}::INIT), "{value}");\n')
    parts.append('}\n\n#[cfg(feature = "link")]\n#[test]\nfn functions() {\n')
    parts.append("    use core::ffi::{c_char, c_void};\n")
    for function in header.functions:
        types = ", ".join(rust_type(p.type) for p in function.parameters)
        kind = f'unsafe extern "C" fn({types}){arrow(function.result)}'
        parts.append(f"    let _: {kind} = {function.name};\n")
    parts.append("}\n")
    return "".join(parts)


def layout_of(struct, seen):
    name = struct.name
    size, align = seen["struct"][name]
    lines = [f"#[test]\nfn layout_{snake(name)}() {{\n"]
    lines.append(f"    assert_eq!(size_of::<{name}>(), {size});\n")
    lines.append(f"    assert_eq!(align_of::<{name}>(), {align});\n")
    for item in struct.fields:
        offset, length = seen["field"][f"{name}.{item.name}"]
        lines.append(f"    assert_eq!(offset_of!({name}, {item.name}), {offset});\n")
        lines.append(f"    assert_eq!(field(|s: &{name}| &s.{item.name}), {length});\n")
    # A field that the header lacks does not compile.
    pattern = ", ".join(f"{item.name}: _" for item in struct.fields)
    lines.append(f"    let _all = |s: {name}| {{ let {name} {{ {pattern} }} = s; }};\n}}\n\n")
    return "".join(lines)


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


# ----------------------------------------------------------------------------------- the command


def unknown(header):
    """Names that the headers declare and nothing above has mirrored."""
    taken = NOT_MIRRORED | set(header.integers) | set(header.initialisers)
    taken |= {name.lower() for name in header.initialisers}
    taken |= {"DLDeviceType", "DLDataTypeCode"}
    for group in (header.structs, header.constants, header.functions, header.pointers):
        taken |= {item.name for item in group}
    return sorted(header.names - taken)


def formatted(text):
    command = ["rustfmt", "--edition", "2021", "--emit", "stdout"]
    command += ["--config-path", str(HERE.parents[2])]
    result = subprocess.run(command, input=text, check=True, capture_output=True, text=True)
    return result.stdout


class NotMirrored(Exception):
    """The headers declare something that the crate would lack."""


def contents(include):
    """Path in the crate and text of each generated file."""
    header = declarations.read(include)
    left = unknown(header)
    if left:
        raise NotMirrored(", ".join(left))
    seen = probe(header, include)
    return {
        "src/mirrors.rs": formatted(mirrors_text(header)),
        "src/table/members.rs": formatted(table_text(header)),
        "tests/layout.rs": formatted(layout_text(header, seen)),
    }
