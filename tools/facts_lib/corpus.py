# SPDX-License-Identifier: Apache-2.0
"""The names by which cases of the corpus state values and bits, for its reader in each language.
Python's reader takes them from the constants of its binding.

C and C++ share one table of names and values, Go and Rust have their own. Where the builders of C++
and Rust have a method for an option, their readers map the name to the method."""

from . import c, go

# The groups that cases name. Rust's reader asks methods for the others, see its regions below.
NAMED = (
    "KIND", "ANSWER", "LAYOUT", "LEVEL", "POLICY", "CONTIGUITY", "CONVERT", "ALLOCATE", "BACKEND",
    "STATE", "BUFFER", "MEMORY", "WRAP", "STREAM", "HANDOFF", "CONTEXT", "COPY", "COLLECT",
)  # fmt: skip
RUST = ("BACKEND", "BUFFER", "MEMORY", "WRAP", "STREAM", "HANDOFF", "CONTEXT", "COPY", "COLLECT")

CPP_FOLDER = "bindings/cpp/tests"
RUST_FOLDER = "bindings/rust/dlbridge/tests/conformance"

C_NAMES = """\
// Generated from facts/enums.toml by tools/facts.py; do not edit.
// SPDX-License-Identifier: Apache-2.0
// The names by which cases state values and bits, also for the reader of the C++ binding. A field
// that is not set has the name "" if its enumeration has no 0.
#ifndef DLBRIDGE_TESTS_CONFORMANCE_NAMES_H_
#define DLBRIDGE_TESTS_CONFORMANCE_NAMES_H_

#include <cstdint>
#include <vector>

#include "dlbridge/dlbridge.h"

namespace dlbridge::conformance {{

struct NamedValue {{
  const char* name;
  std::uint32_t value;
}};
using NamedValues = std::vector<NamedValue>;

// clang-format off

{tables}
// clang-format on

}}  // namespace dlbridge::conformance

#endif  // DLBRIDGE_TESTS_CONFORMANCE_NAMES_H_
"""
GO_UNSET = '\t{"", 0},\n'
GO_NAMES = """\
// Code generated from facts/ by tools/facts.py. DO NOT EDIT.
// SPDX-License-Identifier: Apache-2.0
// The names by which cases of the corpus state values and bits. A field that is not set has the
// name "" if its enumeration has no 0.

package dlbridge_test

import dlbridge "dlbridge/bindings/go"

// named is the name of a value or of a bit.
type named struct {{
	name  string
	value uint32
}}

{tables}"""
RUST_UNSET = '    ("", 0),\n'
RUST_NAMES = """\
// Generated from facts/enums.toml by tools/facts.py; do not edit.
// SPDX-License-Identifier: Apache-2.0
//! The names by which cases state values and bits. A field that is not set has the name "" if its
//! enumeration has no 0.

/// Names and the values or bits that they stand for.
pub type Names = [(&'static str, u32)];

{tables}"""

# An option of a conversion that is a type in C++, not a method.
CPP_TYPES = ("SKIP_VALIDATION",)
# The methods of Rust's ConvertOptions that are unsafe, and the one of Layout that is not is_....
RUST_UNSAFE = ("SKIP_VALIDATION", "VOUCH_WRITABLE", "DROP_READ_ONLY")
RUST_SAFETY = "// SAFETY: elements are read only if the case has bytes, and nothing writes to them."
RUST_METHODS = {"NEGATIVE_STRIDES": "has_negative_strides"}


def files(facts):
    yield "tests/conformance/names.h", C_NAMES.format(tables=_tables(facts, NAMED, _c))
    yield (
        "bindings/go/conformance_names_test.go",
        GO_NAMES.format(tables=_tables(facts, NAMED, _go)),
    )
    yield f"{RUST_FOLDER}/names.rs", RUST_NAMES.format(tables=_tables(facts, RUST, _rust))


def regions(facts):
    policy, convert, layout = (facts.group(name) for name in ("POLICY", "CONVERT", "LAYOUT"))
    path = f"{CPP_FOLDER}/corpus_arguments.h"
    yield path, "facts/enums.toml POLICY", _cpp_methods(policy, "policy")
    yield path, "facts/enums.toml CONVERT", _cpp_methods(convert, "convert_options")
    path = f"{RUST_FOLDER}/arguments.rs"
    arms = [_arm(one, f"policy.{one.name.lower()}()") for one in _stated(policy)]
    yield path, "facts/enums.toml POLICY", "".join(arms)
    yield path, "facts/enums.toml CONVERT", "".join(map(_conversion, _stated(convert)))
    rows = (
        f'    ("{one.name}", Layout::{RUST_METHODS.get(one.name, f"is_{one.name.lower()}")}),\n'
        for one in layout.members
    )
    yield f"{RUST_FOLDER}/calls.rs", "facts/enums.toml LAYOUT", "".join(rows)


def _tables(facts, names, write):
    return "\n".join(write(facts.group(name)) for name in names)


def _rows(group, row, empty):
    """A row for each constant, and one for a value that is not set if 0 has no name."""
    unset = not group["bits"] and group.members[0].number != 0
    return (empty if unset else "") + "".join(row(one) for one in group.members)


def _c(group):
    rows = _rows(
        group, lambda one: f'  {{"{one.name}", {group.prefix}{one.name}}},\n', '  {"", 0},\n'
    )
    return f"inline const NamedValues k{c.camel(group.name)}Names = {{\n{rows}}};\n"


def _go(group):
    prefix = go.camel(group.name)

    def row(one):
        return f'\t{{"{one.name}", uint32(dlbridge.{prefix}{go.camel(one.name)})}},\n'

    name = prefix[0].lower() + prefix[1:]
    return f"var {name}Names = []named{{\n{_rows(group, row, GO_UNSET)}}}\n"


def _rust(group):
    value = "1 << {}" if group["bits"] else "{}"
    rows = _rows(
        group, lambda one: f'    ("{one.name}", {value.format(one.number)}),\n', RUST_UNSET
    )
    skip = "#[rustfmt::skip] // a row for each name"
    return f"{skip}\npub const {group.name}: &Names = &[\n{rows}];\n"


def _stated(group):
    """The options that cases name. The others are implied by fields."""
    return [one for one in group.members if not one["implied"]]


def _cpp_methods(group, kind):
    options = [one for one in _stated(group) if one.name not in CPP_TYPES]
    return "".join(
        f'        {{"{one.name}", &db::{kind}::{one.name.lower()}}},\n' for one in options
    )


def _conversion(one):
    call = f"options.{one.name.lower()}()"
    if one.name not in RUST_UNSAFE:
        return _arm(one, call)
    return f"        {RUST_SAFETY}\n" + _arm(one, f"unsafe {{ {call} }}")


def _arm(one, result):
    return f'        "{one.name}" => {result},\n'
