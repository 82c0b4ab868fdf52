# SPDX-License-Identifier: Apache-2.0
"""Clients of recorded versions: compiled with the headers of a version, and with today's where its
sources must still compile, linked against the fresh library, and run."""

import pathlib
import platform
import subprocess

import header

HERE = pathlib.Path(__file__).resolve().parent
CLIENT = HERE / "frozen_client.c"
STANDARDS = {"c99": "c", "c++11": "c++"}
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
EMULATORS = {"aarch64": ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")}

REFERENCES = """\
#include "dlbridge/dlbridge.h"
typedef void (*Any)(void);
int references(void);
int references(void) {{
  const Any functions[] = {{{functions}}};
  const DLBridgeApi* const api = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  size_t i;
{initialisers}
  for (i = 0; i < sizeof functions / sizeof *functions; ++i) {{
    if (functions[i] == NULL) return 2;
  }}
  if (api == NULL || api->abi != DLBRIDGE_ABI || api->struct_size < sizeof(DLBridgeApi)) return 3;
{members}
  return 0;
}}
"""

VERSION = """\
#include <stdio.h>
#include "dlbridge/dlbridge.h"
int main(void) {
  const unsigned v = dlbridge_version();
  printf("%u.%u.%u %s", v / 10000, v / 100 % 100, v % 100, dlbridge_version_string());
  return 0;
}
"""


def references(text):
    """C that takes the address of every function of a header, asks the library's table for every
    member, and initialises every struct that has an initialiser."""
    inits = header.initialisers(text).items()
    return REFERENCES.format(
        functions=", ".join(f"(Any){name}" for name in header.functions(text)),
        members="\n".join(
            f"  if (!DLBRIDGE_API_HAS(api, {name})) return 4;" for name in header.table(text)
        ),
        initialisers="\n".join(
            f"  {{ const {name} v = {macro}; if (v.struct_size != sizeof v) return 5; }}"
            for macro, name in inits
        ),
    )


def check(tree, build, recorded):
    """Complaints on the clients of one recorded version."""
    folder = build.out / f"client-{recorded.version}"
    folder.mkdir(exist_ok=True)
    source = folder / "references.c"
    source.write_text(references(recorded.header()))
    includes = {recorded.include: "its own headers"}
    if recorded.version != tree.version:
        includes[tree.include] = "today's headers"
    complaints = []
    for include, which in includes.items():
        for standard in STANDARDS:
            said = _compile_and_run(build, include, standard, source)
            if said:
                what = f"{recorded.version}, {which}, {standard}, {build.machine}"
                complaints.append(f"{what}: {said}")
    return complaints


def version(tree, build):
    """The version that the library states, as a number and as text."""
    source, program = build.out / "version.c", build.out / "version"
    source.write_text(VERSION)
    link = (build.library, f"-Wl,-rpath,{build.library.parent}")
    said = _run([*build.cc, "-I", tree.include, source, *link, "-o", program])
    return said or _output([*_emulator(build.machine), program])


def _compile_and_run(build, include, standard, source):
    program = source.with_name(f"client-{standard}")
    compiler = build.cc if STANDARDS[standard] == "c" else build.cxx
    command = [*compiler, f"-std={standard}", *WARNINGS, "-I", include, "-x", STANDARDS[standard]]
    link = ["-x", "none", build.library, f"-Wl,-rpath,{build.library.parent}"]
    said = _run([*command, CLIENT, source, *link, "-o", program])
    return said or _run([*_emulator(build.machine), program])


def _emulator(machine):
    return () if machine == platform.machine() else EMULATORS[machine]


def _output(command):
    """What a command says."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()


def _run(command):
    """What a command that fails says."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip()
    return "" if done.returncode == 0 else said or f"{command[0]}: exit status {done.returncode}"
