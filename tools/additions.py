# SPDX-License-Identifier: Apache-2.0
"""The edits by hand that add a rule, a status, a dtype code, a device type and a C function: the
smallest set that a developer would make. adding.py counts and checks them; the test of the gate
(tests/abi/gate_changes.py) adds the same function."""

from typing import NamedTuple, Optional

HEADER = "include/dlbridge/dlbridge.h"
CHANGELOG = "CHANGELOG.md"
MODEL = "tests/fuzz/model/codes.h"


class Edit(NamedTuple):
    """Inserts `text` before `anchor`, or after it, or at the end of the file without an anchor."""

    path: str
    text: str
    anchor: Optional[str] = None
    after: bool = False
    what: str = ""  # the purpose of the edit: fact, check, test ...

    def apply(self, old):
        if self.anchor is None:
            return old + self.text
        if self.anchor not in old:
            raise ValueError(f"{self.path} lacks: {self.anchor}")
        new = self.anchor + self.text if self.after else self.text + self.anchor
        return old.replace(self.anchor, new, 1)


# By default no tensor breaks a new rule. This one explains a rejection that had none, at a level
# that a policy must ask for. The model of the fuzz targets needs no edit: they ask no driver.
RULE = (
    Edit(
        "facts/rules.toml",
        '\n[HANDLE_DRIVER]\nnumber = 46\nsince = "0.3.0"\nstatus = "ERROR_UNSUPPORTED"\n'
        'doc = "A driver describes the handle of the tensor"\nsource = "level DEVICE"\n'
        'text = "no driver describes the handle"\nexpected = "an address or a cl_mem"\n'
        'found = "a handle of %d"\nremedy = "validate it at a lower level"\n'
        'why = "Only OpenCL describes its handles."\nfix = "Validate the metadata."\n',
        what="fact",
    ),
    Edit(
        "src/validate/rules.h",
        "  const int32_t type = TypeOf(tensor.device);\n"
        "  if (DeviceTypeOf(type).data == DataIs::kHandle && type != kDLOpenCL &&\n"
        "      sink->Broken({DLBRIDGE_RULE_HANDLE_DRIVER, kNoAxis, 0, Bits(type)})) {\n"
        "    return false;\n  }\n",
        "  const TouchedMemory memory = {",
        what="check",
    ),
    Edit(
        "tests/unit/messages_internal_test.cc",
        '    {DLBRIDGE_RULE_HANDLE_DRIVER, "an address or a cl_mem", "a handle of metal",\n'
        '     "validate it at a lower level",\n'
        "     [](Error* error) {\n"
        "       DLBridgePolicy policy = Policy();\n"
        "       policy.level = DLBRIDGE_LEVEL_DEVICE;\n"
        "       return Validate(SpecOf(Dtype(kDLFloat, 32), Device(kDLMetal)), error, policy);\n"
        "     }},\n",
        "    {DLBRIDGE_RULE_SHAPE_MISMATCH,",
        what="test",
    ),
)

STATUS = (
    Edit(
        "facts/statuses.toml",
        '\n[ERROR_TIRED]\nnumber = 22\nsince = "0.3.0"\ndoc = "The library is tired."\n'
        'text = "The library is tired."\npython = "RuntimeError"\nfix = "Wait."\n',
        what="fact",
    ),
    Edit(
        "src/protocol/api.cc",
        'static_assert(DLBRIDGE_ERROR_TIRED != 0, "a status that something reports");\n\n',
        "namespace {\n\n",
        after=True,
        what="check",
    ),
    Edit(
        "tests/unit/error_test.cc",
        "TEST(Names, OfTheNewStatus) {\n"
        '  EXPECT_STREQ(dlbridge_status_text(DLBRIDGE_ERROR_TIRED), "The library is tired.");\n'
        "}\n\n",
        "TEST(Names, ",
        what="test",
    ),
)

DTYPE = (
    Edit(
        "facts/dtypes.toml",
        '\n[Float3_e1m1fn]\ncode = 19\nsince = "upstream"\ndoc = "Three bits."\n'
        'name = "float3_e1m1fn"\nfixed_bits = 3\n',
        what="fact",
    ),
    Edit(
        MODEL,
        '    {19, "float3_e1m1fn", kNever, 3},\n',
        '    {18, "bcomplex", kNever, 0},\n',
        after=True,
        what="model",
    ),
    Edit(
        "tests/unit/decisions_test.cc",
        "TEST(DtypeWidth, IsFixedForTheNewCode) {\n"
        "  EXPECT_EQ(LegacyRule(DtypeSpec(Dtype(kDLFloat3_e1m1fn, 4))),\n"
        "            DLBRIDGE_RULE_DTYPE_BITS_FIXED);\n"
        "}\n\n",
        "TEST(DtypeWidth, ",
        what="test",
    ),
)

DEVICE = (
    Edit(
        "facts/devices.toml",
        '\n[Abacus]\ncode = 22\nsince = "upstream"\ndoc = "Beads on wires."\nname = "abacus"\n'
        'data = "unknown"\nhost_like = false\nreadable = "no"\n',
        what="fact",
    ),
    Edit(
        MODEL,
        "    {22, \"abacus\", kNever, '?', DLBRIDGE_NO},\n",
        "    {21, \"ascend\", kNever, '?', DLBRIDGE_UNDECIDED},\n",
        after=True,
        what="model",
    ),
    Edit(
        "tests/unit/decisions_test.cc",
        "TEST(UnknownCodes, AcceptTheNewDevice) {\n"
        "  EXPECT_EQ(VersionedRule(DeviceSpec(kDLAbacus)), DLBRIDGE_RULE_NONE);\n"
        "}\n\n",
        "TEST(UnknownCodes, ",
        what="test",
    ),
)

PROTOTYPE = "int32_t dlbridge_version_twice(int32_t value)"


def function(version):
    """dlbridge_version_twice, new in `version`."""
    return (
        Edit(
            HEADER,
            f"\n/** Twice the value. \\since {version} */\nDLBRIDGE_API {PROTOTYPE};\n",
            "dlbridge_get_api(uint32_t abi, size_t struct_size);\n",
            after=True,
            what="declaration",
        ),
        Edit(
            "src/describe/version.cc",
            f"{PROTOTYPE} {{ return 2 * value; }}\n\n",
            "const char* dlbridge_version_string(void)",
            what="definition",
        ),
        Edit(
            "tests/support/every_function.h",
            "  call([] { EXPECT_EQ(dlbridge_version_twice(2), 4); });\n",
            "inline void CallConstants(const Caller& call) {\n",
            after=True,
            what="test",
        ),
        Edit(
            "tests/support/every_function.h",
            "version_twice ",
            "upgrade_storage_size version version_string",
            what="test",
        ),
        Edit(
            CHANGELOG,
            "- `dlbridge_version_twice`.\n",
            " (unreleased)\n\n",
            after=True,
            what="changelog",
        ),
        Edit(
            "bindings/cpp/include/dlbridge/hpp/describe.hpp",
            "\n/// Twice the value.\n"
            "inline std::int32_t version_twice(std::int32_t value) noexcept {\n"
            "  return abi::version_twice(value);\n}\n",
            "newest_dlpack() noexcept { return abi::dlpack_version(); }\n",
            after=True,
            what="C++",
        ),
        Edit(
            "bindings/rust/dlbridge/src/values.rs",
            "    /// Twice the value.\n    #[must_use]\n    pub fn twice(value: i32) -> i32 {\n"
            "        // SAFETY: takes any integer.\n"
            "        unsafe { sys::dlbridge_version_twice(value) }\n    }\n\n",
            "impl Version {\n",
            after=True,
            what="Rust",
        ),
        Edit(
            "bindings/go/protocol.go",
            "\n// Twice is twice the value.\n"
            "func Twice(value int32) int32 {\n"
            "\treturn int32(C.dlbridge_version_twice(C.int32_t(value)))\n}\n",
            "func NewestVersion() Version { return versionOf(C.dlbridge_dlpack_version()) }\n",
            after=True,
            what="Go",
        ),
        Edit(
            "bindings/python/src/describe/text.cc",
            '  module->def("version_twice", dlbridge_version_twice, nb::arg("value"),\n'
            '              "Twice the value.");\n',
            '  module->def("status_name",',
            what="Python",
        ),
    )


def all_of(version):
    return {
        "rule": RULE,
        "status": STATUS,
        "dtype code": DTYPE,
        "device type": DEVICE,
        "C function": function(version),
    }
