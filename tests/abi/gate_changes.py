# SPDX-License-Identifier: Apache-2.0
"""Changes of the library, each with the checks of the gate that must notice it; none where the ABI
allows it. A change gets a Copy (gate_test.py) to edit. With `recorded` it is made in a version
after the present one, whose folder is recorded then, as anybody would: what is left to notice it
are the comparisons with the versions before.

abi-compliance-checker is named only where it gives less than 100 %. It does not for another value
of a constant, a reserved field dropped, a sign changed, or a field appended to a fixed struct.
"""

from collections import namedtuple

import header

Change = namedtuple("Change", "name noticed_by edit recorded aarch64")
CHANGES = []
HEADER = "include/dlbridge/dlbridge.h"
BOUNDARY = "src/support/boundary.h"
FREEZE = "abi/layout_freeze.c"
MAP = "src/dlbridge.map"


def change(name, *noticed_by, recorded=False, aarch64=False):
    def add(edit):
        CHANGES.append(Change(name, set(noticed_by), edit, recorded, aarch64))
        return edit

    return add


# ---- Legal --------------------------------------------------------------------------------------


@change("nothing changed", aarch64=True)
def nothing(copy):
    del copy


@change("a comment reworded")
def comment_reworded(copy):
    copy.replace(HEADER, "Number of the ABI that this header describes", "The ABI's number")


@change("a function added", recorded=True)
def function_added(copy):
    declare(copy)
    copy.append("abi/symbols.txt", f"dlbridge_twice@@{copy.node()}")
    name_in_changelog(copy, "dlbridge_twice")


def declare(copy):
    """A new function everywhere but in the symbol list and the changelog."""
    next_version(copy)
    copy.replace(
        HEADER,
        "/** The library's table, static;",
        f"/** Twice the value. \\since {copy.version()} */\n"
        "DLBRIDGE_API int32_t dlbridge_twice(int32_t value);\n\n"
        "/** The library's table, static;",
    )
    copy.replace(HEADER, "\n} DLBridgeApi;", "\n  int32_t (*twice)(int32_t);\n} DLBridgeApi;")
    last = header.table(copy.read(HEADER))[-2]
    copy.replace("src/api.cc", f"dlbridge_{last}}};", f"dlbridge_{last}, dlbridge_twice}};")
    copy.append("src/version.cc", 'extern "C" int32_t dlbridge_twice(int32_t v) { return 2 * v; }')
    copy.append(MAP, f"{copy.node()} {{ global: dlbridge_twice; }} {copy.last_node()};")
    copy.replace(
        "README.md", "| `dlbridge_get_api` |", "| `dlbridge_twice` | |\n| `dlbridge_get_api` |"
    )
    size = copy.frozen_size("DLBridgeApi")
    copy.replace(FREEZE, f"GROWS(DLBridgeApi, {size}, 8);", f"GROWS(DLBridgeApi, {size + 8}, 8);")
    copy.append(FREEZE, f"int32_t dlbridge_twice(int32_t);\nMEMBER(twice, {size});")
    within_reach(copy)


def within_reach(copy):
    """What is exported can be called through each binding."""
    copy.append(
        "bindings/cpp/include/dlbridge/hpp/abi.hpp",
        "DLBRIDGE_HPP_FUNCTION(twice, dlbridge_twice)",
    )
    copy.append(
        "bindings/rust/dlbridge/src/values.rs", "const _: usize = sys::dlbridge_twice as usize;"
    )
    copy.append("bindings/go/describe.go", "var _ = C.dlbridge_twice(1)")


def next_version(copy):
    """The header and the changelog go on to the next minor version."""
    before = copy.version()
    major, minor, patch = before.split(".")
    after = f"{major}.{int(minor) + 1}.0"
    copy.replace(HEADER, f"VERSION_MINOR {minor}\n", f"VERSION_MINOR {int(minor) + 1}\n")
    copy.replace(HEADER, f"VERSION_PATCH {patch}\n", "VERSION_PATCH 0\n")
    copy.replace(HEADER, f'STRING "{before}"', f'STRING "{after}"')
    copy.replace("CHANGELOG.md", f"## {before}", f"## {after} (unreleased)\n\n## {before}")


def name_in_changelog(copy, name):
    copy.replace(
        "CHANGELOG.md", " (unreleased)\n\n", f" (unreleased)\n\n- `{name}`.\n\n", first=True
    )


@change("a struct grown behind struct_size, and a constant added", recorded=True)
def struct_grown(copy):
    grow_view_spec(copy)
    copy.replace(
        "src/view.cc",
        'CheckStruct(&spec, "spec", error)',
        'CheckStructSize(&spec, spec.struct_size, 48, sizeof spec, "spec", error)',
    )
    copy.replace(
        HEADER,
        "  DLBRIDGE_CONTIGUITY_C_OR_F = 3\n",
        "  DLBRIDGE_CONTIGUITY_C_OR_F = 3,\n  DLBRIDGE_CONTIGUITY_NEW = 4\n",
    )
    copy.append(FREEZE, "VALUE(DLBRIDGE_CONTIGUITY_NEW, 4);")


def grow_view_spec(copy):
    next_version(copy)
    copy.replace(HEADER, "\n} DLBridgeViewSpec;", "\n  uint64_t more;\n} DLBridgeViewSpec;")
    copy.replace(
        HEADER,
        "(DLBridgeViewSpec), 0, NULL, NULL, 0, {0, 0}}",
        "(DLBridgeViewSpec), 0, NULL, NULL, 0, {0, 0}, 0}",
    )
    copy.replace(FREEZE, "GROWS(DLBridgeViewSpec, 48, 8);", "GROWS(DLBridgeViewSpec, 56, 8);")
    copy.append(FREEZE, "FIELD(DLBridgeViewSpec, more, 48, uint64_t);")


@change("a struct that the library fills grown, and filled up to the smaller size", recorded=True)
def filled_struct_grown(copy):
    say_first_size(copy, grow_layout(copy))


def say_first_size(copy, first):
    """The library goes on to take the layout as it was first, and fills that."""
    check = "template <class T>\nDLBRIDGE_INLINE DLBridgeStatus CheckStruct("
    size = "template <>\nconstexpr size_t FirstSize<DLBridgeLayout>() {\n  return %d;\n}\n\n"
    copy.replace(BOUNDARY, check, size % int(first) + check)


def grow_layout(copy):
    """What is filled in has one more field; its size before."""
    next_version(copy)
    first = copy.frozen_size("DLBridgeLayout")
    copy.replace(HEADER, "\n} DLBridgeLayout;", "\n  uint64_t more;\n} DLBridgeLayout;")
    copy.replace(
        HEADER, "DLBRIDGE_NO, 0, 0, 0, 0, 0, 0, 0}", "DLBRIDGE_NO, 0, 0, 0, 0, 0, 0, 0, 0}"
    )
    grown = f"GROWS(DLBridgeLayout, {first + 8}, 8);"
    copy.replace(FREEZE, f"GROWS(DLBridgeLayout, {first}, 8);", grown)
    copy.append(FREEZE, f"FIELD(DLBridgeLayout, more, {first}, uint64_t);")
    return first


# ---- Functions ----------------------------------------------------------------------------------


@change(
    "a function removed",
    "layout-freeze",
    "symbols",
    "frozen-clients",
    "acc-x86_64",
    "abidiff-x86_64",
)
def function_removed(copy):
    name = "dlbridge_host_accessible"
    copy.replace(HEADER, f"DLBRIDGE_API DLBridgeAnswer {name}(", f"DLBridgeAnswer {name}(")
    copy.replace(MAP, f"    {name};\n", "")
    copy.remove_line("abi/symbols.txt", name)
    copy.remove_line("README.md", f"| `{name}` |")


@change(
    "a parameter's type changed",
    "layout-freeze",
    "acc-x86_64",
    "acc-aarch64",
    "abidiff-x86_64",
    "abidiff-aarch64",
    recorded=True,
    aarch64=True,
)
def parameter_changed(copy):
    next_version(copy)
    copy.replace(HEADER, "storage_size(int32_t ndim)", "storage_size(int64_t ndim)")
    copy.replace(HEADER, "(*upgrade_storage_size)(int32_t)", "(*upgrade_storage_size)(int64_t)")
    copy.replace("src/upgrade.cc", "storage_size(int32_t ndim)", "storage_size(int64_t ndim)")
    copy.replace(FREEZE, "storage_size(int32_t)", "storage_size(int64_t)")


@change("a function added without its since-tag", "repository", "version-node", recorded=True)
def added_without_since(copy):
    function_added(copy)
    copy.replace(HEADER, f"Twice the value. \\since {copy.version()} ", "Twice the value. ")


@change("a function added without the symbol list", "symbols", recorded=True)
def added_without_symbol_list(copy):
    declare(copy)
    name_in_changelog(copy, "dlbridge_twice")


@change("a function added without the changelog", "changelog", recorded=True)
def added_without_changelog(copy):
    declare(copy)
    copy.append("abi/symbols.txt", f"dlbridge_twice@@{copy.node()}")


@change(
    "a function added to a version that is recorded", "baseline", "acc-x86_64", "abidiff-x86_64"
)
def added_without_version(copy):
    before = copy.version()
    function_added(copy)
    after = copy.version()
    for name in (HEADER, "CHANGELOG.md"):
        copy.write(name, copy.read(name).replace(after, before))
    copy.replace(HEADER, f"MINOR {after.split('.')[1]}", f"MINOR {before.split('.')[1]}")
    copy.replace(HEADER, f"PATCH {after.split('.')[2]}", f"PATCH {before.split('.')[2]}")


@change("a function moved to another version node", "symbols", "version-node")
def node_changed(copy):
    copy.replace(MAP, f"{copy.last_node()} {{", "DLBRIDGE_9.9 {")


# ---- Structs and constants ----------------------------------------------------------------------


@change("fields reordered", "layout-freeze", "abidiff-x86_64", "acc-x86_64", recorded=True)
def fields_reordered(copy):
    next_version(copy)
    copy.swap(HEADER, r"  int64_t begin; [^\n]*\n", r"  int64_t end; [^\n]*\n")
    copy.replace(FREEZE, "begin, 32, int64_t", "begin, 40, int64_t")
    copy.replace(FREEZE, "end, 40, int64_t", "end, 32, int64_t")


@change("a field grown", "layout-freeze", "abidiff-x86_64", recorded=True)
def field_grown(copy):
    next_version(copy)
    copy.replace(HEADER, "char message[240];", "char message[248];")
    copy.replace(FREEZE, "SIZE(DLBridgeError, 256, 4);", "SIZE(DLBridgeError, 264, 4);")
    copy.replace(FREEZE, "message, 16, char[240]", "message, 16, char[248]")


@change("a field's sign changed", "layout-freeze", "abidiff-x86_64", recorded=True)
def sign_changed(copy):
    next_version(copy)
    copy.replace(HEADER, "  int64_t begin;", "  uint64_t begin;")
    copy.replace(FREEZE, "begin, 32, int64_t", "begin, 32, uint64_t")


@change(
    "a field appended to a struct that cannot grow",
    "layout-freeze",
    "abidiff-x86_64",
    recorded=True,
)
def fixed_struct_grown(copy):
    next_version(copy)
    copy.replace(HEADER, "\n} DLBridgeFinding;", "\n  int32_t more;\n} DLBridgeFinding;")
    copy.replace(FREEZE, "SIZE(DLBridgeFinding, 128, 4);", "SIZE(DLBridgeFinding, 132, 4);")
    copy.append(FREEZE, "FIELD(DLBridgeFinding, more, 128, int32_t);")


@change("a field added before others", "layout-freeze", "abidiff-x86_64", recorded=True)
def field_inserted(copy):
    grow_view_spec(copy)
    copy.replace(HEADER, "\n  uint64_t more;\n}", "\n}")
    copy.replace(
        HEADER,
        "  int64_t offset;         /**< Elements",
        "  uint64_t more;\n  int64_t offset;         /**< Elements",
    )


@change("a struct grown, and its first size forgotten", "frozen-clients", recorded=True)
def first_size_forgotten(copy):
    grow_view_spec(copy)


@change(
    "a struct that the library fills grown, and filled as a whole", "frozen-clients", recorded=True
)
def filled_as_a_whole(copy):
    say_first_size(copy, grow_layout(copy))
    copy.replace(BOUNDARY, "if (DLBRIDGE_LIKELY(size >= sizeof value)) {", "if (size != 0) {")


@change("a reserved field dropped", "layout-freeze", "abidiff-x86_64", recorded=True)
def reserved_dropped(copy):
    next_version(copy)
    copy.replace(HEADER, "  uint32_t reserved0;   /**< 0 */\n  void* memory;", "  void* memory;")
    copy.replace(HEADER, "(DLBridgeStorage), 0, NULL, 0,", "(DLBridgeStorage), NULL, 0,")
    copy.replace("src/upgrade.cc", "storage.reserved0 != 0", "false")
    copy.remove_line(FREEZE, "FIELD(DLBridgeStorage, reserved0")


@change("a constant's value changed", "layout-freeze", "abidiff-x86_64", recorded=True)
def constant_changed(copy):
    next_version(copy)
    copy.replace(HEADER, "DLBRIDGE_SEVERITY_NOTE = 2 ", "DLBRIDGE_SEVERITY_NOTE = 3 ")
    copy.replace(FREEZE, "VALUE(DLBRIDGE_SEVERITY_NOTE, 2)", "VALUE(DLBRIDGE_SEVERITY_NOTE, 3)")


@change("a constant of DLPack changed", "layout-freeze", "abidiff-x86_64", recorded=True)
def dlpack_changed(copy):
    next_version(copy)
    copy.replace("include/dlbridge/dlpack.h", "kDLAscend = 21       /*", "kDLAscend = 22       /*")
    copy.replace(FREEZE, "VALUE(kDLAscend, 21)", "VALUE(kDLAscend, 22)")


@change("a field left out of the freeze", "layout-freeze", recorded=True)
def freeze_incomplete(copy):
    struct_grown(copy)
    copy.remove_line(FREEZE, "FIELD(DLBridgeViewSpec, more")


@change("an initialiser removed", "frozen-clients", recorded=True)
def initialiser_removed(copy):
    next_version(copy)
    copy.replace(HEADER, "#define DLBRIDGE_STORAGE_INIT {", "#define DLBRIDGE_STORAGE_EMPTY {")


# ---- The file -----------------------------------------------------------------------------------


@change("a symbol leaked without prefix", "symbols")
def symbol_leaked(copy):
    copy.append(
        "src/version.cc",
        'extern "C" __attribute__((visibility("default"))) int leaked() { return 1; }',
    )
    copy.replace(MAP, "    dlbridge_version;\n", "    dlbridge_version;\n    leaked;\n")


@change("a C++ symbol leaked", "symbols")
def cxx_symbol_leaked(copy):
    copy.append(
        "src/version.cc",
        'namespace dlbridge { __attribute__((visibility("default"))) int Leaked() { return 1; } }',
    )
    copy.replace(MAP, "    dlbridge_version;\n", "    dlbridge_version;\n    _ZN8dlbridge*;\n")


@change("libstdc++ needed", "needed")
def libstdcxx_needed(copy):
    copy.append("src/version.cc", "#include <new>\nvoid* volatile made = new int;")
    copy.append(
        "src/CMakeLists.txt", "set_target_properties(dlbridge PROPERTIES LINKER_LANGUAGE CXX)"
    )
    copy.replace(
        "cmake/library.cmake", 'set(CMAKE_CXX_IMPLICIT_LINK_LIBRARIES "" PARENT_SCOPE)', ""
    )


@change("the SONAME changed", "soname")
def soname_changed(copy):
    copy.replace("cmake/library.cmake", "SOVERSION ${DLBRIDGE_HEADER_ABI}", "SOVERSION 9")


@change("the ABI's number changed", "layout-freeze", "baseline")
def abi_number_changed(copy):
    copy.replace(HEADER, "#define DLBRIDGE_ABI 1\n", "#define DLBRIDGE_ABI 9\n")
    since = "set(DLBRIDGE_ABI_{}_SINCE "
    copy.replace("cmake/install.cmake", since.format(1), since.format(9))


@change("a newer glibc symbol pulled in", "glibc")
def newer_glibc(copy):
    start = "uint32_t dlbridge_version(void) {\n"
    name = "src/version.cc"
    copy.replace(name, '#include "version.h"\n', '#include "version.h"\n#include <stdlib.h>\n')
    copy.replace(name, start, start + "  if (arc4random() == 0) return 0;\n")


# ---- Versions -----------------------------------------------------------------------------------


@change("the library states another version", "version")
def version_disagrees(copy):
    copy.replace("src/version.cc", "return DLBRIDGE_VERSION_STRING;", 'return "9.9.9";')


@change("CMake states another version", "version")
def cmake_disagrees(copy):
    copy.replace("CMakeLists.txt", "VERSION ${DLBRIDGE_HEADER_VERSION}", "VERSION 9.9.9")


@change("a version without its section of the changelog", "version", "repository", recorded=True)
def version_without_changelog(copy):
    next_version(copy)
    copy.replace("CHANGELOG.md", f"## {copy.version()} (unreleased)\n\n", "")


@change("a released version altered", "released")
def release_altered(copy):
    copy.append("abi/1/0.1.0/layout_freeze.c", "/* Written later. */")


@change("a released folder removed", "released")
def release_removed(copy):
    next_version(copy)
    for path in sorted((copy.root / "abi/1/0.1.0").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (copy.root / "abi/1/0.1.0").rmdir()


@change("a released folder altered together with its date", "released")
def release_dated_anew(copy):
    release_altered(copy)
    copy.replace("CHANGELOG.md", "## 0.1.0, 20", "## 0.1.0, 21")


@change("a version that is not recorded", "baseline")
def version_not_recorded(copy):
    next_version(copy)
