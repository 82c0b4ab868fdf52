# SPDX-License-Identifier: Apache-2.0
"""Tests clients of today's library with libraries of other versions: an older one that lacks the
newest function, and a newer one with an additional function. Both are linked from today's objects.

other_version_test.py --library FILE --objects FILE... --source FOLDER --cc COMPILER
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import header

HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = None

# A program that fails before main prints nothing.
LINKED = """\
#include <stdio.h>
#include "dlbridge/dlbridge.h"
%s
void (*volatile used)(void) = (void (*)(void))%s;
int main(void) { printf("started\\n"); return used == NULL; }
"""
TWICE = "int32_t dlbridge_twice(int32_t value);"
# The function table of a library that lacks the newest function.
OLDER = """\
#include <string.h>
#include "dlbridge/dlbridge.h"
const DLBridgeApi* newer_get_api(uint32_t abi, size_t struct_size);
const DLBridgeApi* dlbridge_get_api(uint32_t abi, size_t struct_size) {
  static DLBridgeApi older;
  const DLBridgeApi* const newer = newer_get_api(abi, struct_size);
  if (newer == NULL) return NULL;
  memcpy(&older, newer, offsetof(DLBridgeApi, %s));
  older.struct_size = offsetof(DLBridgeApi, %s);
  return &older;
}
"""


def run(*command, **environment):
    return subprocess.run(
        [str(part) for part in command],
        env=dict(os.environ, **environment),
        capture_output=True,
        text=True,
    )


def must(*command):
    done = run(*command)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stderr}")


def without(text, function):
    """A version script that does not export a function."""
    line = re.compile(rf"^\s*{function};\n", re.MULTILINE)
    if len(line.findall(text)) != 1:
        raise AssertionError(f"the version script does not name {function} once")
    return line.sub("", text)


class OtherVersion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.soname = OPTIONS.library.name.split(".so.")[0] + ".so." + self.abi()
        self.text = (OPTIONS.source / "include/dlbridge/dlbridge.h").read_text()
        self.map = (OPTIONS.source / "src/dlbridge.map").read_text()
        freeze = (OPTIONS.source / "abi/layout_freeze.c").read_text()
        # The last member of the function table, and its function.
        self.newest, self.function = re.findall(r"^MEMBER\((\w+), \d+, (\w+)\);", freeze, re.M)[-1]

    def abi(self):
        return OPTIONS.library.name.split(".so.")[1].split(".")[0]

    def link(self, name, script, left_out=(), added=()):
        """Links a library of today's objects in a folder of its own; returns its path."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "library.map").write_text(script)
        objects = [path for path in OPTIONS.objects if path.name not in left_out]
        self.assertEqual(len(OPTIONS.objects) - len(objects), len(left_out))
        options = ("-Bsymbolic", "-z,nodelete", "-z,now", f"--version-script={folder}/library.map")
        must(
            *(OPTIONS.cc, "-shared", "-o", folder / self.soname, *objects, *added),
            *(f"-Wl,{option}" for option in (*options, f"-soname,{self.soname}")),
        )
        return folder / self.soname

    def older_library(self):
        """A library without the newest function, whose table ends before it."""
        (defining,) = [path for path in OPTIONS.objects if path.name.startswith("api.")]
        renamed = self.folder / "renamed.o"
        must("objcopy", "--redefine-sym=dlbridge_get_api=newer_get_api", defining, renamed)
        source, older = self.folder / "older.c", self.folder / "older.o"
        source.write_text(OLDER % (self.newest, self.newest))
        exported = "-DDLBRIDGE_BUILDING", f"-I{OPTIONS.source}/include"
        must(OPTIONS.cc, "-fPIC", *exported, "-c", source, "-o", older)
        script = without(self.map, self.function)
        return self.link("older", script, (defining.name,), (renamed, older))

    def newer_library(self):
        """A library with an additional function, in a version node of its own."""
        (self.folder / "twice.c").write_text(
            f"#include <stdint.h>\n{TWICE}\n"
            '__attribute__((visibility("default"))) int32_t dlbridge_twice(int32_t v)'
            " { return 2 * v; }\n"
        )
        must(OPTIONS.cc, "-fPIC", "-c", self.folder / "twice.c", "-o", self.folder / "twice.o")
        script = self.map + "DLBRIDGE_9.9 { global: dlbridge_twice; };\n"
        return self.link("newer", script, added=(self.folder / "twice.o",))

    def linked_client(self, library, declaration, function):
        source, program = self.folder / "linked.c", self.folder / "linked"
        source.write_text(LINKED % (declaration, function))
        must(OPTIONS.cc, f"-I{OPTIONS.source}/include", source, library, "-o", program)
        return program

    def loading_client(self):
        program = self.folder / "loading"
        include = f"-I{OPTIONS.source}/include"
        newest = f"-DNEWEST={self.newest}"
        client = HERE / "loading_client.c"
        must(OPTIONS.cc, "-std=gnu11", include, newest, client, "-o", program, "-ldl")
        return program

    def test_loading_client_finds_every_function(self):
        done = run(self.loading_client(), OPTIONS.library)
        self.assertEqual(done.stdout, "upgrade: DLBRIDGE_OK\nnewest: DLBRIDGE_OK\n")
        self.assertEqual(done.returncode, 0)

    def test_loading_client_does_without_a_missing_function(self):
        done = run(self.loading_client(), self.older_library())
        self.assertEqual(
            done.stdout,
            "upgrade: DLBRIDGE_OK\n"
            f"newest: DLBRIDGE_ERROR_UNSUPPORTED: libdlbridge {header.version(self.text)} has no "
            f"{self.newest}: load a newer one\n",
        )
        self.assertEqual(done.returncode, 0)

    def test_linked_client_starts_with_its_own_library(self):
        program = self.linked_client(OPTIONS.library, "", self.function)
        done = run(program, LD_LIBRARY_PATH=str(OPTIONS.library.parent))
        self.assertEqual((done.stdout, done.stderr), ("started\n", ""))

    def test_linked_client_does_not_start_with_an_older_library(self):
        program = self.linked_client(OPTIONS.library, "", self.function)
        done = run(program, LD_LIBRARY_PATH=str(self.older_library().parent))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn(self.function, done.stderr)

    def test_missing_version_node_is_reported(self):
        program = self.linked_client(self.newer_library(), TWICE, "dlbridge_twice")
        done = run(program, LD_LIBRARY_PATH=str(self.folder / "newer"))
        self.assertEqual((done.stdout, done.stderr), ("started\n", ""))
        done = run(program, LD_LIBRARY_PATH=str(OPTIONS.library.parent))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("version `DLBRIDGE_9.9' not found", done.stderr)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--objects", nargs="+", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--cc", required=True)
    OPTIONS = parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(OtherVersion)
    return 0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
