# SPDX-License-Identifier: Apache-2.0
"""Shows that each check of check_repo.py can fail: a copy of the repository, a fault at a time."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import checkout  # noqa: E402 needs the path above

CPP = "bindings/cpp/include/dlbridge/hpp/describe.hpp"
WRAP = "bindings/cpp/include/dlbridge/hpp/wrap.hpp"
HEADER = "include/dlbridge/dlbridge.h"
SINCE = r" \since 0.3.0 */"
BITS = "/** Bits of DLBridgePolicy::options."
INSTALL = "docs/start/install.md"
MACHINE = "/" + "root/"

# File, what is replaced, by what, and what the check says then.
FAULTS = (
    (
        HEADER,
        "/** The struct that a pointer refers to." + SINCE,
        "/** What it is. */",
        "has no \\since",
    ),
    (
        HEADER,
        BITS + SINCE,
        "/** Bits. */",
        "enum DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE has no \\since",
    ),
    (HEADER, BITS + SINCE, "", "enum DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE has no comment"),
    (HEADER, "/** A consumer's requirements.", "/* ", "DLBridgePolicy has no comment"),
    (HEADER, "/** Calls the deleter of", "/* ", "dlbridge_release has no comment"),
    (HEADER, "#ifdef __cplusplus", f"#ifdef __cplusplus{' ' * 100}/* */", "columns"),
    ("bindings/rust/Cargo.toml", 'version = "', 'version = "9', "Cargo.toml: expected"),
    (
        "src/tensor/view.cc",
        "if (first < parent.first) {",
        "if (parent.first > first) {",
        "view_below: src/tensor/view.cc has 0 places",
    ),
    ("README.md", "return tensor;", "return 0;", "is not in examples/first_import/import.c"),
    (
        "examples/first_import/import.c",
        "return tensor;",
        "return 0;",
        "is not in examples/first_import/import.c",
    ),
    (
        "examples/first_import/import.c",
        "int main",
        "int unused;\n" * 60 + "int main",
        "examples/first_import: 85 lines of code, expected at most 60",
    ),
    (
        "docs/guides/two-processes.md",
        "return failed();",
        "return 1;",
        "share.c is not that of examples/two_processes/share.c",
    ),
    (
        "examples/README.md",
        "(first_import/README.md)",
        "(first_import)",
        "the table lacks first_import",
    ),
    ("README.md", "## Limits", "\n" * 150 + "## Limits", "expected at most 150"),
    (INSTALL, "add_subdirectory(dlbridge)", "add_subdirectory(dl)", "no line 'add_sub"),
    ("docs/site/python_pages.py", '"portable"', '"portables"', "portable is in only one of"),
    ("docs/faq.md", "(identify.md)", "(identity.md)", "nothing is at identity.md"),
    (".github/workflows/ci.yml", "          - test asan\n", "", "no job runs asan, which .ci/run"),
    (".github/workflows/nightly.yml", "static without", "without", "no job runs static"),
    ("CONTRIBUTING.md", "`./run mutants`, ", "", "nightly.yml differ in mutants"),
    ("run", "set -euo pipefail", f"set -euo pipefail # {MACHINE}", "a path of one machine"),
    ("run", "set -euo pipefail", "set -euo pipefail  ", "blanks at the end"),
    (CPP, "abi::identify(", "abi::identifies(", "C++: nothing calls dlbridge_identify"),
    (CPP, "return static_cast<kind>(abi::identify(", "// abi::identify(", "C++: nothing calls dlb"),
    (WRAP, "DLBRIDGE_WRAP_RETAIN", "1U << 10", "C++: the binding lacks DLBRIDGE_WRAP_RETAIN"),
    ("CMakeLists.txt", "# SPDX-License-Identifier: Apache-2.0", "#", "no SPDX line"),
    ("README.md", "(docs/identify.md)", "(docs/identity.md)", "nothing is at docs/identity.md"),
    ("SECURITY.md", "md#hardening)", "md#softening)", "is called docs/platforms.md#soft"),
    (
        "tests/unit/decisions_test.cc",
        "TEST(NegativeStrides, AreValid",
        "TEST(NegativeStrides, AreInvalid",
        "has no test NegativeStrides.AreValidReportedAndRejectedByPolicyOnly",
    ),
    ("docs/building.md", "| `tsan` |", "| `msan` |", "the table lacks the preset tsan"),
    (
        "include/dlbridge/hip_api.h",
        "<hip/hip_runtime_api.h>",
        "<hip/other.h>",
        "'hip/other.h' file not found: tests/abi/vendor needs its types",
    ),
    (
        "tests/device/opencl.cmake",
        "opencl_memory_test.cc",
        "opencl_other_test.cc",
        "no .cmake file builds opencl_memory_test.cc",
    ),
    (
        "src/CMakeLists.txt",
        "  copy/fill.cc\n",
        "",
        "no line of its own has copy/fill.cc",
    ),
    (
        "src/CMakeLists.txt",
        "  copy/fill.cc\n",
        "  copy/fill.cc\n  copy/filled.cc\n",
        "there is no file copy/filled.cc",
    ),
    (
        "src/CMakeLists.txt",
        "unoptimised copy/plane_copy.cc ",
        "unoptimised\n    copy/plane_copy.cc\n    ",
        "copy/plane_copy.cc has several lines",
    ),
    (".pre-commit-config.yaml", "[ruff==0.", "[ruff==1.", ".pre-commit-config.yaml: ruff==1."),
)


class CheckRepo(unittest.TestCase):
    def test_each_fault_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            checkout.copy(root)
            subprocess.run(["git", "init", "--quiet", folder], check=True)
            for name, old, new, message in FAULTS:
                with self.subTest(f"{name}: {message}"):
                    text = (root / name).read_text()
                    self.assertTrue(old in text, f"{name} lacks: {old}")
                    (root / name).write_text(text.replace(old, new, 1))
                    done = subprocess.run(
                        [sys.executable, "-B", root / "tests/lint/check_repo.py"],
                        capture_output=True,
                        text=True,
                    )
                    (root / name).write_text(text)
                    self.assertEqual(done.returncode, 1)
                    self.assertIn(message, done.stdout)


if __name__ == "__main__":
    unittest.main()
