# SPDX-License-Identifier: Apache-2.0
"""Compiles layout_freeze.c, shows that it leaves nothing of the header out and that it bites.

layout_freeze_test.py --header FILE --cc COMPILER
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FREEZE = pathlib.Path(__file__).resolve().with_name("layout_freeze.c")
OPTIONS = None

# What is changed in the header, into what, and what the compiler must say.
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
)


def compile_freeze(include):
    command = [
        *OPTIONS.cc,
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-fsyntax-only",
        "-I",
        str(include),
        str(FREEZE),
    ]
    return subprocess.run(command, capture_output=True, text=True)


def code(text):
    """Text without comments."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


class LayoutFreeze(unittest.TestCase):
    def setUp(self):
        self.header = code(OPTIONS.header.read_text())
        self.frozen = code(FREEZE.read_text())

    def frozen_as(self, macro):
        return set(re.findall(rf"^{macro}\((\w+),", self.frozen, re.MULTILINE))

    def test_compiles(self):
        done = compile_freeze(OPTIONS.header.parent.parent)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_constant_is_frozen(self):
        bodies = re.findall(r"^enum \{(.*?)\};", self.header, re.DOTALL | re.MULTILINE)
        names = {name for body in bodies for name in re.findall(r"(DLBRIDGE_\w+)\s*=", body)}
        self.assertGreater(len(names), 90)
        self.assertEqual(self.frozen_as("VALUE"), names | {"DLBRIDGE_ABI"})

    def test_every_field_is_frozen(self):
        structs = re.findall(r"typedef struct (\w+) \{(.*?)\n\} \1;", self.header, re.DOTALL)
        self.assertEqual(self.frozen_as("SIZE"), {name for name, _ in structs})
        found = re.findall(r"^FIELD\((\w+), (\w+),", self.frozen, re.MULTILINE)
        found += [("DLBridgeApi", name) for name in self.frozen_as("MEMBER")]
        fields = [
            (name, re.search(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])?$", field.strip()).group(1, 2))
            for name, body in structs
            for field in body.split(";")
            if field.strip()
        ]
        self.assertEqual(sorted(found), sorted((name, a or b) for name, (a, b) in fields))

    def test_every_function_is_frozen(self):
        names = re.findall(r"^DLBRIDGE_API\b[^;]*?\b(dlbridge_\w+)\(", self.header, re.MULTILINE)
        found = re.findall(r"^\w[^#;()]*?\b(dlbridge_\w+)\([^;]*?\);", self.frozen, re.MULTILINE)
        self.assertEqual(found, names)

    def test_every_alias_is_frozen(self):
        names = re.findall(r"^typedef int32_t (\w+);", self.header, re.MULTILINE)
        self.assertEqual(self.frozen_as("TYPE"), set(names))

    def test_changes_are_noticed(self):
        text = OPTIONS.header.read_text()
        for old, new, message in CHANGES:
            with self.subTest(old), tempfile.TemporaryDirectory() as name:
                self.assertEqual(text.count(old), 1)
                include = pathlib.Path(name)
                shutil.copytree(OPTIONS.header.parent, include / "dlbridge")
                (include / "dlbridge" / OPTIONS.header.name).write_text(text.replace(old, new))
                done = compile_freeze(include)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(message, done.stderr)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--header", type=pathlib.Path, required=True)
    parser.add_argument("--cc", nargs="+", required=True)
    OPTIONS = parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(LayoutFreeze)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
