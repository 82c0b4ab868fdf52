#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/entry_points.py finds each fault that it checks for, in small trees."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parent.parent.parent / "tools/entry_points.py"
HEADER = """\
/* A comment with dlbridge_not_a_function(int x). */
DLBRIDGE_API int dlbridge_one_call(void);
DLBRIDGE_API int dlbridge_two(int value,
                              int other);
"""
TREE = {
    "include/dlbridge/dlbridge.h": HEADER,
    "src/support/text.h": "",
    "src/describe/one_call.cc": """\
#include "support/text.h"
int dlbridge_one_call(void) { return 1; }
""",
    "src/device/two.cc": "int dlbridge_two(int value,\n    int other) {\n  return value;\n}\n",
}


class EntryPointsTest(unittest.TestCase):
    def run_in(self, folder, files):
        for name, text in files.items():
            if text is not None:
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        command = [sys.executable, "-B", TOOL, "--root", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def check(self, changes, code, expected):
        with tempfile.TemporaryDirectory() as folder:
            result, output = self.run_in(Path(folder), TREE | changes)
        self.assertEqual(result, code, output)
        self.assertIn(expected, output)

    def test_a_sound_tree(self):
        self.check({}, 0, "2 entry points, 4 files: 0 misplaced entry points, 0 undeclared")

    def test_a_function_in_a_file_of_another_name(self):
        moved = {"src/device/two.cc": None, "src/device/three.cc": TREE["src/device/two.cc"]}
        self.check(moved, 1, "dlbridge_two: src/device/three.cc is not the beginning of its name")

    def test_a_function_in_a_file_of_a_part_of_its_name(self):
        for function, wrong, right in (
            ("ipc_export", "src/protocol/export.cc", "src/native/ipc.cc"),
            ("release_after", "src/tensor/release.cc", "src/native/release_after.cc"),
            ("get_api", "src/describe/get.cc", "src/protocol/api.cc"),
        ):
            code = f"int dlbridge_{function}(void) {{ return 0; }}\n"
            header = f"{HEADER}DLBRIDGE_API int dlbridge_{function}(void);\n"
            tree = {"include/dlbridge/dlbridge.h": header, right: code}
            self.check(tree, 0, "0 misplaced")
            expected = f"dlbridge_{function}: expected in {Path(right).name}, found in {wrong}"
            self.check(tree | {right: "", wrong: code}, 1, expected)

    def test_a_function_that_is_not_declared(self):
        for code in (
            "int dlbridge_text(void) {\n  return 0;\n}\n",
            "DLBRIDGE_API int dlbridge_text(void);\n",
            'extern "C" DLBRIDGE_API const char* text(void) { return nullptr; }\n',
        ):
            self.check(
                {"src/support/text.cc": code}, 1, "text: src/support/text.cc has it, and dlb"
            )

    def test_a_function_that_is_not_defined(self):
        self.check({"src/device/two.cc": None}, 1, "dlbridge_two: expected one definition")

    def test_a_function_that_is_defined_twice(self):
        twice = {"src/describe/two.cc": TREE["src/device/two.cc"]}
        self.check(twice, 1, "dlbridge_two: expected one definition in src/, found 2")

    def test_a_header_without_functions(self):
        self.check({"include/dlbridge/dlbridge.h": ""}, 1, "0 entry points")

    def test_an_upward_include(self):
        upward = {"src/device/backend.h": "", "src/support/text.h": '#include "device/backend.h"\n'}
        message = (
            "src/support/text.h includes src/device/backend.h, and device is not below support"
        )
        self.check(upward, 1, message)

    def test_each_form_of_an_upward_include(self):
        for file, line in (
            ("text.h", '#include "../device/backend.h"'),
            ("text.h", '#include "../../src/device/backend.h"'),
            ("text.h", '#  include "device/backend.h"'),
            ("text.h", "  # include <device/backend.h>"),
            ("text.h", '#include"device/backend.h"'),
            ("text.inc", '#include "device/backend.h"'),
        ):
            tree = {"src/device/backend.h": "", f"src/support/{file}": f"{line}\n"}
            self.check(tree, 1, f"src/support/{file} includes src/device/backend.h, and device is")

    def test_a_public_header_that_includes_the_library(self):
        tree = {"include/dlbridge/dlpack.h": '#include "../../src/support/text.h"\n'}
        self.check(tree, 1, "include/dlbridge/dlpack.h includes src/support/text.h, and support is")

    def test_an_include_of_a_file_outside_of_the_library(self):
        tree = {"tests/fake.h": "", "src/support/text.h": '#include "../../tests/fake.h"\n'}
        self.check(tree, 1, "src/support/text.h includes tests/fake.h, which is in no layer")

    def test_a_driver_that_includes_another(self):
        files = {"src/device/cuda/streams.cc": '#include "device/hip/internal.h"\n'}
        files |= {"src/device/hip/internal.h": '#include "device/pool.h"\n'}
        message = "src/device/cuda/streams.cc includes src/device/hip/internal.h, and device/hip is"
        self.check(files | {"src/device/pool.h": ""}, 1, f"{message} not below device/cuda\n")
        files |= {"src/device/pool.h": '#include "device/hip/internal.h"\n'}
        self.check(files, 1, "src/device/pool.h includes src/device/hip/internal.h, and device/hip")

    def test_a_cycle(self):
        cycle = {
            "src/support/text.h": '#include "support/load.h"\n',
            "src/support/load.h": '#include "support/text.h"\n',
        }
        self.check(cycle, 1, "src/support/text.h -> src/support/load.h -> src/support/text.h")

    def test_cycles_by_names_relative_to_the_file_and_of_public_headers(self):
        for folder in ("src/support", "include/dlbridge"):
            one, two = f"{folder}/rules.h", f"{folder}/one.h"
            cycle = {one: '#include "one.h"\n', two: '#include "rules.h"\n'}
            self.check(cycle, 1, f"{two} -> {one} -> {two}")
        cycle = {
            "include/dlbridge/rules.h": "#include <dlbridge/one.h>\n",
            "include/dlbridge/one.h": '#include "dlbridge/rules.h"\n',
        }
        self.check(cycle, 1, "1 include cycles")

    def test_a_file_in_no_folder(self):
        self.check({"src/other.h": ""}, 1, "src/other.h is in no folder")

    def test_a_folder_that_is_no_layer(self):
        self.check({"src/other/other.h": ""}, 1, "src/other/other.h: other is not one of support")

    def test_a_driver_without_a_file(self):
        table = "constexpr Backend kBackend = {1, one::Start, nullptr};\n"
        files = ["copies.cc", "devices.cc", "driver.h", "events.cc", "internal.h"]
        files += ["memory.cc", "results.cc", "streams.cc"]
        driver = {f"src/device/one/{name}": "" for name in files}
        silent = driver | {"src/device/one/backend.cc": table}
        self.check(silent, 1, "src/device/one has no ipc.cc, and its backend.cc does not say so")
        noted = driver | {"src/device/one/backend.cc": "// there is no ipc.cc\n" + table}
        self.check(noted, 0, "0 differences between drivers")

    def test_drivers_whose_functions_have_different_names(self):
        table = "constexpr Backend kBackend = {1, %s, nullptr};\n"
        drivers = {
            "src/device/one/backend.cc": table % "one::Start",
            "src/device/two/backend.cc": table % "two::Begin",
        }
        self.check(drivers, 1, "one function of the drivers has several names: Begin, Start")


if __name__ == "__main__":
    unittest.main()
