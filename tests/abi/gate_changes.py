# SPDX-License-Identifier: Apache-2.0
"""Changes of the library, each with the gate checks that must fail after it; none if the ABI allows
the change. A change gets a Copy (gate_test.py) to edit. A change with `recorded` is made in the
next version, whose folder is then recorded, so only the comparisons with earlier versions can
detect it. A change that only the check `api` must detect needs no build.

abi-compliance-checker is listed only for changes to which it gives less than 100 %. It gives 100 %
to a changed value of a constant, a reserved field dropped, a changed sign, and a field appended to
a fixed-size struct.
"""

import pathlib
import re
import shutil
import sys
from collections import namedtuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import additions

Change = namedtuple("Change", "name noticed_by edit recorded aarch64 item checks")
Change.__doc__ = """item: a name that a complaint must contain; checks: for a legal change, the
checks to run, if not all of them."""
CHANGES = []
HEADER = "include/dlbridge/dlbridge.h"
BOUNDARY = "src/describe/boundary.h"
REVIEWED = "abi/reviewed.txt"
MAP = "src/dlbridge.map"
DLPACK = "include/dlbridge/dlpack.h"
VENEER = "include/dlbridge/cuda_api.h"
CPYTHON = "include/dlbridge/cpython"
CPP = "bindings/cpp/include/dlbridge/hpp/describe.hpp"


def change(name, *noticed_by, recorded=False, aarch64=False, checks=()):
    def add(edit):
        CHANGES.append(Change(name, set(noticed_by), edit, recorded, aarch64, "", set(checks)))
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
def function_added(copy, left_out=()):
    """Adds a function like additions.py, in a new version; the generator writes the other files."""
    next_version(copy)
    for edit in additions.function(copy.version()):
        if edit.path not in left_out:
            copy.write(edit.path, edit.apply(copy.read(edit.path)))
    copy.regenerate()


def next_version(copy, patch=False):
    """The next minor or patch version: in the header, the changelog and where it is repeated."""
    before = copy.version()
    major, minor, last = map(int, before.split("."))
    after = (major, minor, last + 1) if patch else (major, minor + 1, 0)
    copy.replace(HEADER, f"VERSION_MINOR {minor}\n", f"VERSION_MINOR {after[1]}\n")
    copy.replace(HEADER, f"VERSION_PATCH {last}\n", f"VERSION_PATCH {after[2]}\n")
    text = ".".join(map(str, after))
    copy.replace(HEADER, f'STRING "{before}"', f'STRING "{text}"')
    copy.replace(
        "CHANGELOG.md", f"## {before}", f"## {text} (unreleased)\n\n## {before}", first=True
    )
    copy.repeat_version()


def name_in_changelog(copy, name):
    copy.replace(
        "CHANGELOG.md", " (unreleased)\n\n", f" (unreleased)\n\n- `{name}`.\n\n", first=True
    )


@change("a struct grown at its end, and a constant added", recorded=True)
def struct_grown(copy):
    review(copy, "unit:StructGrowth.OfViewSpec")
    review(copy, "case:policy/rejected/contiguity-4")
    grow_view_spec(copy)
    keep_view_spec(copy)
    last = "[CONTIGUITY.C_OR_F]\nvalue = 3\n"
    copy.replace(
        "facts/enums.toml", last, f'[CONTIGUITY.NEWEST]\nvalue = 4\ndoc = "A new one."\n\n{last}'
    )
    copy.regenerate()


def grow_view_spec(copy, default="0"):
    next_version(copy)
    copy.replace(HEADER, "\n} DLBridgeViewSpec;", "\n  uint64_t more;\n} DLBridgeViewSpec;")
    copy.replace(
        HEADER, "{0, 0, 0}, NULL, NULL, 0}\n", f"{{0, 0, 0}}, NULL, NULL, 0, {default}}}\n"
    )


def review(copy, test):
    """Accepts that a test of each recorded version will fail: it checks a complete set, which
    grows, or that the next number is not known yet."""
    for version in copy.recorded_versions():
        line = f"{version} {test} -"
        if line not in copy.read(REVIEWED):
            copy.append(REVIEWED, line)


def keep_view_spec(copy):
    keep_first_size(copy, "DLBridgeViewSpec")
    checked = 'CheckStructSize(spec, FirstSize<DLBridgeViewSpec>(), sizeof *spec, "spec", error)'
    copy.replace("src/tensor/view.cc", 'CheckStruct(spec, "spec", error)', checked)


@change("a struct that the library fills grown, and filled up to the smaller size", recorded=True)
def filled_struct_grown(copy):
    review(copy, "unit:Layout.IsWrittenUpToTheSmallerSize")
    review(copy, "unit:StructGrowth.OfOutputStructs")
    grow_layout(copy)
    keep_first_size(copy, "DLBridgeLayout")


def keep_first_size(copy, struct):
    """Makes the library still accept a struct of the size that it first had."""
    check = "template <class T>\nDLBRIDGE_INLINE DLBridgeStatus CheckStruct("
    size = f"template <>\nconstexpr uint32_t FirstSize<{struct}>() {{\n  return %d;\n}}\n\n"
    copy.replace(BOUNDARY, check, size % copy.first_size(struct) + check)


def grow_layout(copy):
    next_version(copy)
    copy.replace(HEADER, "\n} DLBridgeLayout;", "\n  uint64_t more;\n} DLBridgeLayout;")
    copy.replace(
        HEADER, "DLBRIDGE_NO, 0, 0, 0, 0, 0, 0, 0, 0}", "DLBRIDGE_NO, 0, 0, 0, 0, 0, 0, 0, 0, 0}"
    )


@change("a struct of all that C allows added", recorded=True)
def legal_c_added(copy):
    next_version(copy)
    copy.replace(
        HEADER,
        "/** True if the table has",
        f"/** New. \\since {copy.version()} */\n"
        "typedef struct DLBridgeNew {\n  uint32_t struct_size;\n  uint32_t options;\n"
        "  double grid[2][3];\n  char text[16 + 1], rest[7];\n  int32_t a, b;\n"
        "  struct {\n    int32_t x, y;\n  } place;\n  union {\n    double real;\n"
        "    uint64_t bits;\n  } either;\n"
        "  int (*pick[2])(const char* const* names, int (*less)(int, int));\n} DLBridgeNew;\n\n"
        "/** True if the table has",
    )
    copy.append("bindings/cpp/include/dlbridge/hpp/abi.hpp", "using added = ::DLBridgeNew;")
    name_in_changelog(copy, "DLBridgeNew")


@change("a reserved field gets a name, and is reviewed", checks=("api",))
def reserved_named_reviewed(copy):
    accept(copy, "structs:DLBridgeFinding.reserved", *RESERVED)


@change("an inline function corrected, and reviewed", checks=("api",))
def inline_reviewed(copy):
    mended = (
        "  buffer.kind = DLBRIDGE_BUFFER_ADDRESS;",
        "  buffer.kind = (int32_t)DLBRIDGE_BUFFER_ADDRESS;",
    )
    accept(copy, "inlines:dlbridge_buffer_address", *mended)


# A field of a fixed-size struct, which has been reserved as zero until now.
RESERVED = (
    "  uint64_t reserved[2];  /**< 0 */\n  char expected[128];",
    "  uint64_t position[2];  /**< 0: none */\n  char expected[128];",
)


def accept(copy, item, old, new):
    """Edits the header, and adds the review line that the check prints."""
    if not copy.is_built(("abi",)):
        copy.build(("abi",))
    next_version(copy)
    copy.replace(HEADER, old, new)
    said = copy.gate("check", ("abi",), ("api",)).stdout
    lines = [line for line in said.splitlines() if f"dlbridge.h:{item}:" in line]
    copy.append(REVIEWED, "\n".join(line.split("(to accept it: '")[1][:-2] for line in lines))


@change("the same API in another notation", checks=("api", "structs"))
def written_otherwise(copy):
    next_version(copy)
    copy.replace(HEADER, "MAX_NDIM 64", "MAX_NDIM (32 + 32)")
    copy.replace(HEADER, "  DLBRIDGE_NO = 0,", "  DLBRIDGE_NO = 1 - 1,")
    copy.replace(HEADER, "char message[224]; ", "char message[0xe0];")
    copy.replace(HEADER, "  int32_t severity; ", "  DLBridgeStatus severity; ")
    copy.replace(HEADER, "storage_size(int32_t ndim)", "storage_size(DLBridgeStatus ndim)")
    copy.replace(HEADER, "/** The struct that a pointer refers to.", "/** The kind of a tensor.")


@change("declarations drafted", checks=("draft", "api", "structs"))
def drafted(copy):
    copy.write_new("abi/draft/9.9.0.h", "DLBRIDGE_API int32_t dlbridge_twice(int32_t value);\n")


# ---- Functions ----------------------------------------------------------------------------------


@change("a function removed", "api", "symbols", "frozen-clients", "acc-x86_64", "abidiff-x86_64")
def function_removed(copy):
    name = "dlbridge_host_accessible"
    copy.replace(HEADER, f"DLBRIDGE_API int32_t {name}(", f"int32_t {name}(")
    copy.replace(MAP, f"    {name};\n", "")
    copy.remove_line("abi/symbols.txt", name)
    copy.remove_line("docs/functions.md", f"| `{name}` |")


@change(
    "a parameter's type changed",
    "api",
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
    copy.replace(HEADER, "(*upgrade_storage_size)(int32_t", "(*upgrade_storage_size)(int64_t")
    copy.replace(
        "src/protocol/upgrade.cc", "storage_size(int32_t ndim)", "storage_size(int64_t ndim)"
    )


@change("a function added without its since-tag", "repository", "version-node", recorded=True)
def added_without_since(copy):
    function_added(copy)
    copy.replace(HEADER, f"Twice the value. \\since {copy.version()} ", "Twice the value. ")


@change("a function added without the symbol list", "symbols", recorded=True)
def added_without_symbol_list(copy):
    function_added(copy)
    copy.remove_line("abi/symbols.txt", "dlbridge_version_twice")


@change("a function added without the changelog", "changelog", recorded=True)
def added_without_changelog(copy):
    function_added(copy, left_out=(additions.CHANGELOG,))


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


@change("two entries of the function table exchanged", "frozen-clients")
def entries_exchanged(copy):
    copy.replace(
        "src/protocol/api.cc",
        "    dlbridge_status_name,\n    dlbridge_status_text,",
        "    dlbridge_status_text,\n    dlbridge_status_name,",
    )


# ---- What the headers say -----------------------------------------------------------------------

# Name of a change, the file, the old text and the new text; a complaint of `api` must name the
# item.
EDITS = (
    (
        "parameters of one type swapped",
        HEADER,
        "negotiate(DLPackVersion producer, DLPackVersion consumer,",
        "negotiate(DLPackVersion consumer, DLPackVersion producer,",
        "dlbridge_negotiate",
    ),
    (
        "parameters of a callback swapped",
        HEADER,
        "void* (*allocate)(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,",
        "void* (*allocate)(void* context, DLDevice device, uint64_t alignment, uint64_t bytes,",
        "DLBridgeAllocator.allocate",
    ),
    (
        "parameters of a table's entry swapped",
        HEADER,
        "(*find)(DLDevice device, uint64_t context, DLBridgeContextEntry* out)",
        "(*find)(DLDevice context, uint64_t device, DLBridgeContextEntry* out)",
        "DLBridgeContextTable.find",
    ),
    ("a macro's value changed", HEADER, "MAX_NDIM 64", "MAX_NDIM 32", "DLBRIDGE_MAX_NDIM"),
    (
        "a macro removed",
        HEADER,
        "#define DLBRIDGE_ARRAY_API_STREAM_NONE INT64_MIN",
        "",
        "DLBRIDGE_ARRAY_API_STREAM_NONE",
    ),
    ("a macro's type changed", HEADER, "MAX_NDIM 64", "MAX_NDIM 64L", "DLBRIDGE_MAX_NDIM"),
    (
        "a macro with parameters changed",
        HEADER,
        "((api)->struct_size >= offsetof",
        "((api)->struct_size > offsetof",
        "DLBRIDGE_API_HAS",
    ),
    ("a macro of another system changed", HEADER, "__declspec(dllimport)", "", "DLBRIDGE_API"),
    (
        "an initialiser's value changed",
        HEADER,
        "{sizeof(DLBridgeStorage), 0, NULL, 0, NULL, NULL}",
        "{sizeof(DLBridgeStorage), 0, NULL, 1, NULL, NULL}",
        "DLBRIDGE_STORAGE_INIT",
    ),
    (
        "an initialiser removed",
        HEADER,
        "#define DLBRIDGE_ERROR_INIT {",
        "#define DLBRIDGE_ERROR_NEW {",
        "DLBRIDGE_ERROR_INIT",
    ),
    (
        "a function for a default changed",
        HEADER,
        "DLBridgePolicy value = DLBRIDGE_POLICY_INIT;",
        "DLBridgePolicy value = DLBRIDGE_POLICY_INIT;\n  value.alignment = 64;",
        "dlbridge_policy_init",
    ),
    (
        "an inline function removed",
        HEADER,
        "dlbridge_buffer_address(const void* address)",
        "dlbridge_buffer_at(const void* address)",
        "dlbridge_buffer_address",
    ),
    (
        "an inline function exported",
        HEADER,
        "static inline DLBridgeBuffer dlbridge_buffer_address",
        "inline DLBridgeBuffer dlbridge_buffer_address",
        "dlbridge_buffer_address",
    ),
    (
        "const dropped from a parameter",
        HEADER,
        "DLBridgeStatus dlbridge_share(const DLManagedTensorVersioned* tensor",
        "DLBridgeStatus dlbridge_share(DLManagedTensorVersioned* tensor",
        "dlbridge_share",
    ),
    (
        "const dropped from a callback",
        HEADER,
        "(*release)(void* release_context, const struct DLBridgeContextEntry*",
        "(*release)(void* release_context, struct DLBridgeContextEntry*",
        "DLBridgeContextEntry.release",
    ),
    (
        "const dropped from a field",
        HEADER,
        "  const DLDevice* devices;",
        "  DLDevice* devices;",
        "DLBridgePolicy.devices",
    ),
    (
        "default visibility lost",
        HEADER,
        "DLBRIDGE_API DLBridgeStatus dlbridge_share(",
        "DLBridgeStatus dlbridge_share(",
        "dlbridge_share",
    ),
    (
        "an integer type widened",
        HEADER,
        "typedef int32_t DLBridgeRule;",
        "typedef int64_t DLBridgeRule;",
        "DLBridgeRule",
    ),
    (
        "an integer type unsigned",
        HEADER,
        "typedef int32_t DLBridgeKind;",
        "typedef uint32_t DLBridgeKind;",
        "DLBridgeKind",
    ),
    (
        "a constant gone",
        HEADER,
        "DLBRIDGE_CONTIGUITY_F = 2",
        "DLBRIDGE_CONTIGUITY_FORTRAN = 2",
        "DLBRIDGE_CONTIGUITY_F",
    ),
    (
        "an enumeration of another type",
        HEADER,
        "  DLBRIDGE_NO = 0,",
        "  DLBRIDGE_NEVER = -1, DLBRIDGE_NO = 0,",
        "DLBRIDGE_NO",
    ),
    (
        "a named enumeration of another type",
        DLPACK,
        "kDLAscend = 21 ",
        "kDLBefore = -1, kDLAscend = 21 ",
        "DLDeviceType",
    ),
    ("a constant of DLPack changed", DLPACK, "kDLAscend = 21 ", "kDLAscend = 22 ", "kDLAscend"),
    (
        "a flag of DLPack changed",
        DLPACK,
        "IS_COPIED (1UL << 1UL)",
        "IS_COPIED (1UL << 3UL)",
        "DLPACK_FLAG_BITMASK_IS_COPIED",
    ),
    (
        "a callback type of DLPack changed",
        DLPACK,
        "(*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id,",
        "(*DLPackCurrentWorkStream)(int32_t device_id, DLDeviceType device_type,",
        "DLPackCurrentWorkStream",
    ),
    (
        "a struct packed",
        HEADER,
        "\n} DLBridgeStream;",
        "\n} __attribute__((packed)) DLBridgeStream;",
        "DLBridgeStream",
    ),
    (
        "a struct aligned",
        HEADER,
        "\n} DLBridgeStream;",
        "\n} __attribute__((aligned(64))) DLBridgeStream;",
        "DLBridgeStream",
    ),
    (
        "a struct's tag dropped",
        HEADER,
        "typedef struct DLBridgeViewSpec {",
        "typedef struct {",
        "DLBridgeViewSpec",
    ),
    (
        "a field renamed",
        HEADER,
        "  int64_t packed_bytes; ",
        "  int64_t compact_bytes; ",
        "DLBridgeLayout.packed_bytes",
    ),
    ("a reserved field gets a name without review", HEADER, *RESERVED, "DLBridgeFinding.reserved"),
    ("C linkage lost", HEADER, 'extern "C" {', 'extern "C++" {', "inactive"),
    (
        "a veneer's function renamed",
        VENEER,
        "dlbridge_cuda_address(",
        "dlbridge_cuda_pointer(",
        "dlbridge_cuda_address",
    ),
    (
        "a veneer's function changed",
        VENEER,
        "const uintptr_t null_stream = 2;",
        "const uintptr_t null_stream = 1;",
        "dlbridge_stream_cuda",
    ),
    (
        "a function of cpython_api.h changed",
        f"{CPYTHON}/errors.h",
        "case DLBRIDGE_ERROR_OUT_OF_MEMORY:\n      return PyExc_MemoryError;",
        "case DLBRIDGE_ERROR_OUT_OF_MEMORY:\n      return PyExc_ValueError;",
        "dlbridge_py_error_type",
    ),
    (
        "code of cpython_api.h for another compiler changed",
        f"{CPYTHON}/atomic.h",
        "_InterlockedExchangeAdd64((volatile __int64*)value, more) + more;",
        "_InterlockedExchangeAdd64((volatile __int64*)value, more);",
        "inactive",
    ),
    (
        "a method of the C++ binding renamed",
        CPP,
        "is_broadcast(",
        "is_broadcasted(",
        "is_broadcast",
    ),
)


def edit_of(file, old, new):
    def edit(copy):
        next_version(copy)
        copy.replace(file, old, new, first=True)

    return edit


for name, file, old, new, item in EDITS:
    CHANGES.append(Change(name, {"api"}, edit_of(file, old, new), False, False, item, set()))


@change("a constant added in a patch version", "api")
def added_in_patch(copy):
    next_version(copy, patch=True)
    copy.replace(
        HEADER,
        "  DLBRIDGE_CONTIGUITY_C_OR_F = 3 ",
        "  DLBRIDGE_CONTIGUITY_C_OR_F = 3,\n  DLBRIDGE_CONTIGUITY_NEW = 4 ",
    )


@change("an inline function changed", "api")
def change_inline(copy):
    copy.replace(HEADER, "  buffer.kind = DLBRIDGE_BUFFER_ADDRESS;\n", "  buffer.kind = 3;\n")


@change("a header removed", "api")
def header_removed(copy):
    next_version(copy)
    (copy.root / "include/dlbridge/hip_api.h").unlink()


@change("a review that accepts nothing", "api")
def stale_review(copy):
    copy.append(
        REVIEWED, f"{copy.version()} dlbridge.h:inlines:dlbridge_buffer_address 0123456789ab"
    )


@change("a struct grown with another default", "api")
def default_not_zero(copy):
    grow_view_spec(copy, default="1")


# Fields of a new struct; the check `structs` must reject them.
LAYOUTS = {
    "a growable struct with padding": "uint32_t options; int32_t a; uint64_t b;",
    "a growable struct padded at its end": "uint32_t options; uint64_t a; int32_t b;",
    "a growable struct of 12 bytes": "uint32_t options; int32_t a;",
    "a growable struct without options": "uint32_t mode; uint64_t a;",
    "a growable struct with a bit-field": "uint32_t options; uint64_t a : 3;",
    "a growable struct inside another": "uint32_t options; DLBridgePolicy policy;",
    "a growable struct given to a callback": "uint32_t options; void (*call)(DLBridgePolicy one);",
}


def struct_of(fields):
    def edit(copy):
        copy.replace(
            HEADER,
            "/** True if the table has",
            f"/** New. \\since {copy.version()} */\n"
            f"typedef struct DLBridgeNew {{ uint32_t struct_size; {fields} }} DLBridgeNew;\n\n"
            "/** True if the table has",
        )

    return edit


for name, fields in LAYOUTS.items():
    CHANGES.append(Change(name, {"structs"}, struct_of(fields), False, False, "DLBridgeNew", set()))


@change("a growable struct passed by value", "structs")
def passed_by_value(copy):
    copy.replace(
        HEADER,
        "dlbridge_share(const DLManagedTensorVersioned* tensor,",
        "dlbridge_share(DLBridgePolicy policy, const DLManagedTensorVersioned* tensor,",
    )


@change("a macro takes a function's name", "structs")
def function_hidden(copy):
    copy.replace(
        HEADER,
        "#ifdef __cplusplus\n}",
        "#define dlbridge_share dlbridge_view\n#ifdef __cplusplus\n}",
    )


@change("a draft that is no addition", "draft")
def draft_changes(copy):
    copy.write_new("abi/draft/9.9.0.h", "DLBRIDGE_API int64_t dlbridge_version(void);\n")


@change("a draft that could not grow", "draft")
def draft_without_options(copy):
    copy.write_new(
        "abi/draft/9.9.0.h",
        "typedef struct DLBridgeNew { uint32_t struct_size; int32_t a; } DLBridgeNew;\n",
    )


# ---- Structs and constants ----------------------------------------------------------------------


@change("fields reordered", "api", "abidiff-x86_64", "acc-x86_64", recorded=True)
def fields_reordered(copy):
    next_version(copy)
    copy.swap(HEADER, r"  int64_t begin; [^\n]*\n", r"  int64_t end; [^\n]*\n")


@change("a field grown", "api", "abidiff-x86_64", recorded=True)
def field_grown(copy):
    next_version(copy)
    copy.replace(HEADER, "char message[224];", "char message[232];")


@change("a field's sign changed", "api", "abidiff-x86_64", recorded=True)
def sign_changed(copy):
    next_version(copy)
    copy.replace(HEADER, "  int64_t begin;", "  uint64_t begin;")


@change("a field appended to a struct that cannot grow", "api", "abidiff-x86_64", recorded=True)
def fixed_struct_grown(copy):
    next_version(copy)
    copy.replace(HEADER, "\n} DLBridgeFinding;", "\n  uint64_t more;\n} DLBridgeFinding;")


@change("a field added before others", "api", "abidiff-x86_64", recorded=True)
def field_inserted(copy):
    grow_view_spec(copy)
    keep_view_spec(copy)
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
    filled_struct_grown(copy)
    copy.replace(
        BOUNDARY,
        "const uint32_t filled = size < sizeof value ? size : sizeof value;",
        "const uint32_t filled = size == 0 ? 0 : sizeof value;",
    )


@change("a reserved field dropped", "api", "abidiff-x86_64", recorded=True)
def reserved_dropped(copy):
    next_version(copy)
    copy.replace(HEADER, RESERVED[0], "  char expected[144];")
    for entry in (0, 1):
        copy.replace("src/validate/diagnose.cc", f"finding.reserved[{entry}] = 0;", "")


@change("a constant's value changed", "api", "abidiff-x86_64", recorded=True)
def constant_changed(copy):
    next_version(copy)
    copy.replace(HEADER, "DLBRIDGE_SEVERITY_NOTE = 2 ", "DLBRIDGE_SEVERITY_NOTE = 3 ")


# ---- The file -----------------------------------------------------------------------------------


@change("a symbol leaked without prefix", "symbols")
def symbol_leaked(copy):
    copy.append(
        "src/describe/version.cc",
        'extern "C" __attribute__((visibility("default"))) int leaked() { return 1; }',
    )
    copy.replace(MAP, "    dlbridge_version;\n", "    dlbridge_version;\n    leaked;\n")


@change("a C++ symbol leaked", "symbols")
def cxx_symbol_leaked(copy):
    copy.append(
        "src/describe/version.cc",
        'namespace dlbridge { __attribute__((visibility("default"))) int Leaked() { return 1; } }',
    )
    copy.replace(MAP, "    dlbridge_version;\n", "    dlbridge_version;\n    _ZN8dlbridge*;\n")


@change("libstdc++ needed", "needed")
def libstdcxx_needed(copy):
    copy.append("src/describe/version.cc", "#include <new>\nvoid* volatile made = new int;")
    copy.append(
        "src/CMakeLists.txt", "set_target_properties(dlbridge PROPERTIES LINKER_LANGUAGE CXX)"
    )
    copy.replace(
        "cmake/library.cmake", 'set(CMAKE_CXX_IMPLICIT_LINK_LIBRARIES "" PARENT_SCOPE)', ""
    )


@change("the SONAME changed", "soname")
def soname_changed(copy):
    copy.replace("cmake/library.cmake", "SOVERSION ${DLBRIDGE_HEADER_ABI}", "SOVERSION 9")


@change("the ABI's number changed", "baseline", "layout-freeze")
def abi_number_changed(copy):
    copy.replace(HEADER, "#define DLBRIDGE_ABI 1\n", "#define DLBRIDGE_ABI 9\n")
    since = "set(DLBRIDGE_ABI_{}_SINCE "
    copy.replace("cmake/version.cmake", since.format(1), since.format(9))


@change("a newer glibc symbol pulled in", "glibc", "floor")
def newer_glibc(copy):
    start = "uint32_t dlbridge_version(void) {\n"
    name = "src/describe/version.cc"
    copy.replace(
        name,
        '#include "describe/version.h"\n',
        '#include "describe/version.h"\n#include <stdlib.h>\n',
    )
    copy.replace(name, start, start + "  if (arc4random() == 0) return 0;\n")


@change("a newer glibc symbol pulled in, and listed", "floor")
def newer_glibc_listed(copy):
    newer_glibc(copy)
    copy.append("abi/needed/debian12-x86_64.txt", "libc.so.6 GLIBC_2.36")


@change("a newer glibc allowed for the release files", "floor")
def newer_glibc_allowed(copy):
    copy.append("abi/needed/glibc2.17-x86_64.txt", "libc.so.6 GLIBC_2.18")


@change("-z nodelete dropped", "nodelete")
def nodelete_dropped(copy):
    copy.replace("cmake/library.cmake", "-Wl,-z,nodelete", "")


@change("the nodes of the map in another order", "node-chain", recorded=True)
def nodes_reordered(copy):
    function_added(copy)
    last = f"{copy.node()} {{\n  global:\n    dlbridge_version_twice;\n}}"
    before = re.findall(r"^(DLBRIDGE_\d+\.\d+) \{", copy.read(MAP), re.MULTILINE)[-2]
    copy.replace(MAP, f"{last} {before};", "")
    copy.write(MAP, f"{last};\n{copy.read(MAP)}")


@change("a recorded test fails", "suite")
def behaviour_changed(copy):
    copy.replace("src/describe/version.cc", "return DLBRIDGE_VERSION_STRING;", 'return "";')


# ---- Versions -----------------------------------------------------------------------------------


@change("the library states another version", "version")
def version_disagrees(copy):
    copy.replace("src/describe/version.cc", "return DLBRIDGE_VERSION_STRING;", 'return "9.9.9";')


@change("CMake states another version", "version")
def cmake_disagrees(copy):
    copy.replace("CMakeLists.txt", "VERSION ${DLBRIDGE_HEADER_VERSION}", "VERSION 9.9.9")


@change("a version without its section of the changelog", "version", "repository", recorded=True)
def version_without_changelog(copy):
    next_version(copy)
    copy.replace("CHANGELOG.md", f"## {copy.version()} (unreleased)\n\n", "")


@change("a released version altered", "released")
def release_altered(copy):
    copy.release()
    copy.append(f"abi/1/{copy.version()}/api.json", " ")


@change("a released folder removed", "released")
def release_removed(copy):
    copy.release()
    shutil.rmtree(copy.root / f"abi/1/{copy.version()}")


@change("a released folder altered together with its date", "released")
def release_dated_anew(copy):
    release_altered(copy)
    copy.replace("CHANGELOG.md", f"## {copy.version()}, 20", f"## {copy.version()}, 21")


@change("a version that is not recorded", "baseline")
def version_not_recorded(copy):
    next_version(copy)
