# SPDX-License-Identifier: Apache-2.0
"""Compiles layout_freeze.c, shows that it leaves nothing of the headers out and that it bites.

layout_freeze_test.py --include DIR --freeze FILE --cc COMPILER
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import unittest

import freeze

HEADERS = ("dlbridge.h", "dlpack.h")
OPTIONS = None

# What is changed in a header, into what, and what the compiler must say.
CHANGES = (
    (
        "DLBRIDGE_ERROR_POLICY = 6",
        "DLBRIDGE_ERROR_POLICY = 60",
        "DLBRIDGE_ERROR_POLICY has another",
    ),
    (
        "DLBRIDGE_POLICY_REQUIRE_WRITABLE = 1 << 7",
        "DLBRIDGE_POLICY_REQUIRE_WRITABLE = 1 << 10",
        "DLBRIDGE_POLICY_REQUIRE_WRITABLE has another",
    ),
    ("#define DLBRIDGE_ABI 1", "#define DLBRIDGE_ABI 2", "DLBRIDGE_ABI has another value"),
    ("typedef int32_t DLBridgeKind;", "typedef uint32_t DLBridgeKind;", "DLBridgeKind is another"),
    ("char message[240];", "char message[248];", "DLBridgeError moved"),
    ("  int64_t begin;", "  uint64_t begin;", "DLBridgeLayout.begin has another type"),
    ("  int64_t begin;", "  int32_t begin;", "DLBridgeLayout.begin has another type"),
    ("int32_t max_ndim;", "int32_t max_axes;", "max_ndim"),
    ("  uint64_t source_flags;", "", "source_flags"),
    ("} DLBridgePolicy;", "uint64_t more; } DLBridgePolicy;", "DLBridgePolicy moved"),
    (
        "  DLBridgeKind (*identify)(const void*);",
        "  int64_t (*identify)(const void*);",
        "DLBridgeApi.identify has another type",
    ),
    ("  size_t (*upgrade_storage_size)(int32_t);\n", "", "upgrade_storage_size"),
    (
        "dlbridge_upgrade_storage_size(int32_t ndim);",
        "dlbridge_upgrade_storage_size(int64_t ndim);",
        "conflicting types",
    ),
    ("void dlbridge_release_legacy(", "int dlbridge_release_legacy(", "conflicting types"),
    ("kDLWebGPU = 15,   ", "kDLWebGPU = 22,   ", "kDLWebGPU has another value"),
    ("  int32_t ndim;        /*", "  int64_t ndim;        /*", "DLTensor.ndim has another type"),
    ("DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)", "DLPACK_FLAG_BITMASK_IS_COPIED 8", "IS_COPIED"),
    (
        "typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type,",
        "typedef int (*DLPackCurrentWorkStream)(int64_t device_type,",
        "DLPackCurrentWorkStream is another type",
    ),
)


# What is left out of the freeze, and what is said then.
GAPS = (
    ("VALUE(DLBRIDGE_ERROR_POLICY, 6);\n", "constant not frozen: DLBRIDGE_ERROR_POLICY"),
    ("VALUE(kDLBool, 6);\n", "constant not frozen: kDLBool"),
    ("FIELD(DLBridgePolicy, reserved, 80, uint64_t[2]);\n", "field not frozen: DLBridgePolicy.res"),
    ("FIELD(DLTensor, ndim, 16, int32_t);\n", "field not frozen: DLTensor.ndim"),
    ("MEMBER(share, 208);\n", "field not frozen: DLBridgeApi.share"),
    ("SIZE(DLBridgeFinding, 128, 4);\n", "struct not frozen: DLBridgeFinding"),
    ("GROWS(DLBridgePolicy, 96, 8);\n", "struct not frozen: DLBridgePolicy"),
    ("SIZE(DLDeviceType, 4, 4);\n", "struct not frozen: DLDeviceType"),
    ("TYPE(DLBridgeRule, int32_t);\n", "type not frozen: DLBridgeRule"),
    ("uint32_t dlbridge_version(void);\n", "function not frozen: dlbridge_version"),
)


class LayoutFreeze(unittest.TestCase):
    def test_compiles(self):
        include = OPTIONS.include
        self.assertEqual(freeze.compile_freeze(OPTIONS.cc, include, OPTIONS.freeze), "")
        self.assertEqual(
            freeze.compile_freeze(OPTIONS.cc, include, OPTIONS.freeze, freeze.OLDER), ""
        )

    def test_nothing_is_left_out(self):
        self.assertEqual(freeze.left_out(OPTIONS.freeze.read_text(), headers()), [])

    def test_gaps_are_noticed(self):
        text = OPTIONS.freeze.read_text()
        for line, message in GAPS:
            with self.subTest(line):
                self.assertEqual(text.count(line), 1)
                complaints = freeze.left_out(text.replace(line, ""), headers())
                self.assertEqual(len(complaints), 1, complaints)
                self.assertIn(message, complaints[0])

    def test_what_is_gone_is_noticed(self):
        text = OPTIONS.freeze.read_text() + "VALUE(DLBRIDGE_ERROR_NONE, 99);\n"
        complaints = freeze.left_out(text, headers())
        self.assertEqual(complaints, ["constant only frozen: DLBRIDGE_ERROR_NONE"])

    def test_only_sized_structs_grow(self):
        text = OPTIONS.freeze.read_text().replace("SIZE(DLBridgeFinding", "GROWS(DLBridgeFinding")
        complaints = freeze.left_out(text, headers())
        self.assertEqual(complaints, ["DLBridgeFinding grows without a struct_size"])

    def changed(self, old, new, *options):
        """What the compiler says of the freeze after a change of dlbridge.h or dlpack.h."""
        with tempfile.TemporaryDirectory() as name:
            include = pathlib.Path(name)
            shutil.copytree(OPTIONS.include / "dlbridge", include / "dlbridge")
            (changed,) = [
                path
                for path in (include / "dlbridge").glob("dl*.h")
                if path.read_text().count(old) == 1
            ]
            changed.write_text(changed.read_text().replace(old, new))
            return freeze.compile_freeze(OPTIONS.cc, include, OPTIONS.freeze, *options)

    def test_changes_are_noticed(self):
        for old, new, message in CHANGES:
            with self.subTest(old):
                self.assertIn(message, self.changed(old, new))

    def test_changes_are_noticed_by_the_freeze_of_an_older_release(self):
        for old, new, message in CHANGES:
            if not new.startswith("uint64_t more;"):
                with self.subTest(old):
                    self.assertIn(message, self.changed(old, new, freeze.OLDER))

    def test_an_older_release_allows_growth_behind_struct_size_only(self):
        grown = ("} DLBridgePolicy;", "uint64_t more; } DLBridgePolicy;")
        self.assertEqual(self.changed(*grown, freeze.OLDER), "")
        for name in ("DLBridgeFinding", "DLManagedTensor", "DLPackExchangeAPI"):
            said = self.changed(f"}} {name};", f"uint64_t more; }} {name};", freeze.OLDER)
            self.assertIn(f"{name} moved", said)


def headers():
    return [(OPTIONS.include / "dlbridge" / name).read_text() for name in HEADERS]


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--freeze", type=pathlib.Path, required=True)
    parser.add_argument("--cc", nargs="+", required=True)
    OPTIONS = parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(LayoutFreeze)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
