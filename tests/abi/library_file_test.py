# SPDX-License-Identifier: Apache-2.0
"""Runs library_checks on the built library, and tests that each check can fail.

library_file_test.py --library FILE [--static] --symbols FILE --needed FILE --soname NAME
                     --cc COMPILER
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import unittest

import elf
import library_checks as checks

OPTIONS = None

# The needed versions depend on the glibc of this machine; tests/abi/gate.py compares those of the
# artefacts with their lists.
SHARED_CHECKS = {name: check for name, check in checks.SHARED_CHECKS.items() if name != "glibc"}

# Not static, so that the compiler cannot treat it as a constant; the size of the array is known.
TINY = """#include <stdlib.h>
#include <string.h>
unsigned long length __attribute__((visibility("hidden"))) = 1;
char bytes[8] __attribute__((visibility("hidden")));
void* fake_one(void) {
  char copied[8];
  memcpy(copied, bytes, length);
  memcpy(bytes, copied, length);
  return malloc(1);
}
"""
TINY_MAP = "FAKE_0.1 { global: fake_one; local: *; };\n"
LEAKY_MAP = "FAKE_0.1 { global: fake_one; leaked; local: *; };\n"
TWO_MAP = TINY_MAP + "FAKE_0.2 { global: leaked; } FAKE_0.1;\n"
# On aarch64 the stack protector's reference value is a variable of the loader.
TINY_NEEDED = {
    "x86_64": {"libc.so.6": set()},
    "aarch64": {"libc.so.6": set(), "ld-linux-aarch64.so.1": set()},
}
TINY_LINK = (
    "-Wl,-soname,libfake.so.1",
    "-Wl,-Bsymbolic",
    "-Wl,-z,nodelete",
    "-Wl,-z,now",
    "-Wl,-z,relro",
    "-Wl,-z,noexecstack",
    "-fstack-protector-strong",
    "-D_FORTIFY_SOURCE=2",
)
# The same options as in cmake/harden.cmake.
HARDEN = {
    "x86_64": (
        "-fcf-protection=full",
        "-Wl,-z,ibt,-z,shstk",
        "-Wl,-init=fake_no_init,-fini=fake_no_fini",
    ),
    "aarch64": ("-mbranch-protection=standard",),
}
TABLE = TINY + "void* (*volatile table)(void) = fake_one;\n"
LEAK = TINY + "void* leaked(void) { return calloc(2, 2); }\n"
HOOK = (
    TINY + "static volatile int hooked;\n__attribute__((%s)) static void f(void) { hooked = 1; }\n"
)
# An absolute address in code needs a relocation in the text segment.
TEXTREL = TINY + '__asm__(".text\\n.p2align 3\\n.quad fake_one\\n");\n'

# name: (source, version script, options left out, options added, checks that must complain)
WRONG_SHARED = {
    "leaked symbol": (LEAK, LEAKY_MAP, (), (), {"symbols"}),
    "missing symbol": (LEAK.replace("fake_one", "fake_two"), TINY_MAP, (), (), {"symbols"}),
    "no version script": (TINY, None, (), (), {"symbols", "version-node"}),
    "one node too many": (LEAK, TWO_MAP, (), (), {"symbols", "version-node"}),
    "needs libm": (TINY, TINY_MAP, (), ("-Wl,--no-as-needed", "-lm"), {"needed"}),
    "other soname": (TINY, TINY_MAP, TINY_LINK[:1], ("-Wl,-soname,libfake.so.2",), {"soname"}),
    "no soname": (TINY, TINY_MAP, TINY_LINK[:1], (), {"soname"}),
    "no nodelete": (TINY, TINY_MAP, ("-Wl,-z,nodelete",), (), {"nodelete"}),
    "runpath": (TINY, TINY_MAP, (), ("-Wl,-rpath,/nowhere,--enable-new-dtags",), {"runpath"}),
    "rpath": (TINY, TINY_MAP, (), ("-Wl,-rpath,/nowhere,--disable-new-dtags",), {"runpath"}),
    "constructor": (HOOK % "constructor", TINY_MAP, (), (), {"constructors"}),
    "destructor": (HOOK % "destructor", TINY_MAP, (), (), {"constructors"}),
    "thread-local": (
        "static __thread int count;\n" + TINY.replace("malloc(1)", "malloc(++count)"),
        TINY_MAP,
        (),
        ("-ftls-model=initial-exec",),
        {"tls"},
    ),
    "executable stack": (TINY, TINY_MAP, ("-Wl,-z,noexecstack",), ("-Wl,-z,execstack",), {"stack"}),
    "text relocation": (TEXTREL, TINY_MAP, (), ("-Wl,-z,notext",), {"text-relocations"}),
    "no relro": (TINY, TINY_MAP, ("-Wl,-z,relro",), ("-Wl,-z,norelro",), {"relro"}),
    "lazy": (TINY, TINY_MAP, ("-Wl,-z,now",), ("-Wl,-z,lazy",), {"relro"}),
    "bound by name": (TABLE, TINY_MAP, ("-Wl,-Bsymbolic",), (), {"binding"}),
    "no fortify": (TINY, TINY_MAP, TINY_LINK[-1:], (), {"fortify"}),
    "foreign symbol": (
        "int stranger(void);\n" + TINY.replace("malloc(1)", "malloc(stranger())"),
        TINY_MAP,
        (),
        (),
        {"undefined"},
    ),
    "weak foreign symbol": (
        "extern __attribute__((weak)) int stranger;\n"
        + TINY.replace("malloc(1)", "malloc(&stranger ? 1 : 2)"),
        TINY_MAP,
        (),
        (),
        {"undefined"},
    ),
}

# As WRONG_SHARED, for single machines.
WRONG_BY_MACHINE = {
    "x86_64": {
        "no branch protection": (
            HARDEN["x86_64"],
            ("-fcf-protection=none",),
            {"landing pads", "shadow stack"},
        ),
        "no landing pads": (HARDEN["x86_64"][:1], (), {"landing pads"}),
        "no declaration": (HARDEN["x86_64"][1:2], (), {"shadow stack"}),
        "start files": (HARDEN["x86_64"][2:], (), {"shadow stack"}),
        "no stack protector": (TINY_LINK[-2:-1], (), {"stack protector"}),
    },
    "aarch64": {
        "no landing pads": (HARDEN["aarch64"], (), {"landing pads"}),
        "no stack protector": (TINY_LINK[-2:-1], (), {"stack protector", "needed"}),
    },
}

GOOD_CXX = """
namespace dlbridge { int inside(int a) { return a + 1; } }
extern "C" __attribute__((visibility("hidden"))) int fake_one(void) {
  return dlbridge::inside(1);
}
"""
WRONG_ARCHIVE = {
    "leaked name": (GOOD_CXX + 'extern "C" int leaked() { return 0; }', {"globals"}),
    "other namespace": (GOOD_CXX + "namespace other { int f() { return 0; } }", {"globals"}),
    "visible inside": (
        GOOD_CXX + "namespace dlbridge {\n"
        '__attribute__((visibility("default"))) int seen() { return 0; } }',
        {"globals"},
    ),
    "visible prefix": (
        GOOD_CXX + 'extern "C" __attribute__((visibility("default")))\n'
        "int dlbridge_unlisted() { return 0; }",
        {"globals"},
    ),
    "visible function": (GOOD_CXX.replace("hidden", "default"), {"globals"}),
    "missing function": (GOOD_CXX.replace("fake_one", "dlbridge_two"), {"globals"}),
    "operator new": (
        GOOD_CXX + "namespace dlbridge { int* make() { return new int; } }",
        {"undefined"},
    ),
    "constructor": (
        GOOD_CXX + "namespace dlbridge { int g(); int v = g(); }",
        {"constructors", "undefined"},
    ),
    "thread-local": (GOOD_CXX + "namespace dlbridge { thread_local int t = 1; }", {"constructors"}),
}


# Checks that accept every file on the machine.
ELSEWHERE = {"x86_64": set(), "aarch64": {"shadow stack"}}


def wrong_shared():
    """All faults for this machine's files, in the form of WRONG_SHARED."""
    branches = WRONG_BY_MACHINE[elf.machine(OPTIONS.library)].items()
    return WRONG_SHARED | {label: (TINY, TINY_MAP, *fault) for label, fault in branches}


def tiny_expected():
    needed = TINY_NEEDED[elf.machine(OPTIONS.library)]
    return checks.Expected("libfake.so.1", needed, {"fake_one@@FAKE_0.1"})


def build(*arguments):
    """Runs the compiler; its output is shown only when it fails."""
    done = subprocess.run([*OPTIONS.cc, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.stderr}")


def build_shared(folder, source, script, left_out=(), added=()):
    code, library = folder / "tiny.c", folder / "libfake.so"
    code.write_text(source)
    machine = elf.machine(OPTIONS.library)
    options = [o for o in TINY_LINK + HARDEN[machine] if o not in left_out]
    options += added
    if script:
        (folder / "tiny.map").write_text(script)
        options.append(f"-Wl,--version-script={folder / 'tiny.map'}")
    build("-shared", "-fPIC", "-O1", "-o", library, code, *options)
    return library


def build_archive(folder, source):
    code, member, library = folder / "tiny.cc", folder / "tiny.o", folder / "libfake.a"
    code.write_text(source)
    library.unlink(missing_ok=True)
    build("-c", "-fPIC", "-O1", "-fvisibility=hidden", "-fno-exceptions", "-o", member, code)
    subprocess.run(["ar", "qc", library, member], check=True)
    return library


class Shared(unittest.TestCase):
    def test_library(self):
        self.assertEqual(checks.run(SHARED_CHECKS, OPTIONS.library, expected()), {})

    def test_a_correct_file_passes(self):
        with tempfile.TemporaryDirectory() as name:
            library = build_shared(pathlib.Path(name), TINY, TINY_MAP)
            self.assertEqual(checks.run(SHARED_CHECKS, library, tiny_expected()), {})

    def test_every_check_can_fail(self):
        seen = set()
        for label, (source, script, left_out, added, failing) in wrong_shared().items():
            with self.subTest(label), tempfile.TemporaryDirectory() as name:
                library = build_shared(pathlib.Path(name), source, script, left_out, added)
                found = checks.run(SHARED_CHECKS, library, tiny_expected())
                self.assertEqual(set(found), failing, found)
                seen |= failing
        self.assertEqual(seen, set(SHARED_CHECKS) - ELSEWHERE[elf.machine(OPTIONS.library)])

    def test_versions_must_match_the_list(self):
        with tempfile.TemporaryDirectory() as name:
            library = build_shared(pathlib.Path(name), TINY, TINY_MAP)
            versions = {file: set(users) for file, users in elf.needed_versions(library).items()}
            others = {file: users for file, users in versions.items() if file != "libc.so.6"}
            self.assertEqual(sorted(versions), sorted(tiny_expected().needed))

            def complaints(needed):
                expected = tiny_expected()._replace(needed=others | needed)
                return checks.check_glibc(library, expected)

            self.assertEqual(complaints({"libc.so.6": versions["libc.so.6"]}), [])
            self.assertRegex(complaints({"libc.so.6": set()})[0], "needs GLIBC_.* for .*malloc")
            self.assertRegex(complaints({})[0], "needs GLIBC_.* of libc.so.6 for .*malloc")
            newer = {"libc.so.6": versions["libc.so.6"] | {"GLIBC_9.9"}}
            self.assertEqual(complaints(newer), ["GLIBC_9.9 of libc.so.6 is not needed"])


class Archive(unittest.TestCase):
    def test_library(self):
        self.assertEqual(checks.run(checks.ARCHIVE_CHECKS, OPTIONS.library, expected()), {})

    def test_program_in_c_needs_libc_only(self):
        with tempfile.TemporaryDirectory() as name:
            code, program = pathlib.Path(name) / "user.c", pathlib.Path(name) / "user"
            code.write_text("int main(void) { return 0; }\n")
            build(
                "-o",
                program,
                code,
                "-Wl,--no-as-needed",
                "-Wl,--whole-archive",
                OPTIONS.library,
                "-Wl,--no-whole-archive",
            )
            self.assertEqual(elf.dynamic(program)["NEEDED"], list(expected().needed))
            subprocess.run([program], check=True)

    def test_a_correct_file_passes(self):
        with tempfile.TemporaryDirectory() as name:
            library = build_archive(pathlib.Path(name), GOOD_CXX)
            self.assertEqual(checks.run(checks.ARCHIVE_CHECKS, library, tiny_expected()), {})

    def test_every_check_can_fail(self):
        seen = set()
        for label, (source, failing) in WRONG_ARCHIVE.items():
            with self.subTest(label), tempfile.TemporaryDirectory() as name:
                library = build_archive(pathlib.Path(name), source)
                found = checks.run(checks.ARCHIVE_CHECKS, library, tiny_expected())
                self.assertEqual(set(found), failing, found)
                seen |= failing
        self.assertEqual(seen, set(checks.ARCHIVE_CHECKS))


def expected():
    needed, symbols = checks.read_needed(OPTIONS.needed), checks.read_symbols(OPTIONS.symbols)
    return checks.Expected(OPTIONS.soname, needed, symbols)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--static", action="store_true")
    parser.add_argument("--symbols", type=pathlib.Path, required=True)
    parser.add_argument("--needed", type=pathlib.Path, required=True)
    parser.add_argument("--soname", required=True)
    parser.add_argument("--cc", nargs="+", required=True)
    OPTIONS = parser.parse_args()
    case = Archive if OPTIONS.static else Shared
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
