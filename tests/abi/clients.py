# SPDX-License-Identifier: Apache-2.0
"""The clients of recorded versions. `source` writes the C program for a header: it calls every
function by its recipe, and compares every entry of the function table with the symbol of that name.
Each recorded version keeps its program. The program is compiled as C99 and as C++11, with the
headers of its version and with today's headers, linked against the new library, and run."""

import pathlib
import platform
import re
import subprocess
import tempfile

import recipes
import rules

HERE = pathlib.Path(__file__).resolve().parent
STANDARDS = {"c99": "c", "c++11": "c++"}
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
EMULATORS = {"aarch64": ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")}

CALL = """\
static int call_{name}(void) {{
  DLBridgeError* const error = NEW(DLBridgeError);
  g_error = error;
  memset(error->message, 0, 1);
{body}
  (void)error;
  return 0;
}}
"""

MAIN = """\
static int table(void) {{
  const DLBridgeApi* const api = dlbridge_get_api(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  CHECK(api != NULL && api->abi == DLBRIDGE_ABI && api->struct_size >= sizeof(DLBridgeApi));
{entries}
  return 0;
}}

int main(void) {{
  static const struct {{
    const char* name;
    int (*call)(void);
  }} calls[] = {{{calls}}};
  int failed = table();
  size_t i;
  for (i = 0; i < sizeof calls / sizeof *calls; ++i) {{
    g_deleted = 0;
    printf("%s\\n", calls[i].name);
    fflush(stdout);
    failed |= calls[i].call();
    if (!untouched()) {{
      printf("%s wrote before an object\\n", calls[i].name);
      failed = 1;
    }}
  }}
  if (!failed) printf("all is well\\n");
  return failed;
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


class ClientError(Exception):
    """A client cannot be built or run."""


def source(header):
    """The client of a header, given as api.py reads it."""
    names = list(header["functions"])
    calls = [CALL.format(name=name, body=body(header, name).rstrip()) for name in names]
    entries = [
        f'  CHECK(DLBRIDGE_API_HAS(api, {name}) && is_symbol("{function}", &api->{name}));'
        for name, function in rules.table(header).items()
    ]
    pairs = [f'{{"{name}", call_{name}}}' for name in names]
    main = MAIN.format(entries="\n".join(entries), calls=",\n      ".join(pairs))
    world = (HERE / "client.h").read_text() + recipes.HELPERS
    return "\n".join([world, *calls, main])


def body(header, name):
    """The recipe of a function. A function without one is called with zeros: NULL pointers, the
    number 0 and structs of zeros. The call may fail but must not crash."""
    if name in recipes.CALLS:
        return recipes.CALLS[name]
    lines, arguments = [], []
    for place, kind in enumerate(parameter_types(header["functions"][name])):
        if kind == "DLBridgeError *":
            arguments.append("error")
        elif kind.endswith("*"):
            arguments.append("NULL")
        else:
            lines.append(f"  {kind} zero{place};\n  memset(&zero{place}, 0, sizeof zero{place});")
            arguments.append(f"zero{place}")
    return "\n".join([*lines, f"  (void){name}({', '.join(arguments)});"])


def parameter_types(function):
    """The types of the parameters, none of which is a function pointer."""
    texts = re.search(r"\((.*)\)$", function["type"])[1].split(", ")
    names = function["parameters"]
    return [text.removesuffix(name).strip() for text, name in zip(texts, names)]


def unknown(header):
    """Complaints on recipes without a function, and on recipes that do not call their function."""
    for name, recipe in recipes.CALLS.items():
        if name not in header["functions"]:
            yield f"tests/abi/recipes.py has {name}, which is not in the header"
        elif not re.search(rf"\b{name}\(", recipe):
            yield f"the recipe of {name} in tests/abi/recipes.py does not call it"


def jobs(tree, build, recorded):
    """The runs of one recorded version's client: pairs of a label and a function that returns the
    error text, empty on success."""
    if not recorded.client.is_file():
        yield f"{recorded.version}", lambda: f"{recorded.client} is not there"
        return
    includes = {recorded.include: "its own headers"}
    if recorded.version != tree.version:
        includes[tree.include] = "today's headers"
    for include, which in includes.items():
        for standard, language in STANDARDS.items():
            label = f"{recorded.version}, {which}, {standard}, {build.machine}"
            name = f"client-{recorded.version}-{len(which)}-{standard}"
            options = (f"-std={standard}", *WARNINGS, "-x", language)
            yield label, _run_client(build, include, name, recorded.client.read_text(), options)


def _run_client(build, include, name, text, options):
    def run():
        try:
            run_program(build, include, name, text, options)
            return ""
        except ClientError as error:
            return str(error)

    return run


def version(tree, build):
    """The version that the library reports, as a number and as text."""
    return run_program(build, tree.include, "version", VERSION)


def run_program(build, include, name, text, options=("-x", "c")):
    """The output of a program, built against the headers of a folder and the new library."""
    compiler = build.cxx if "c++" in options else build.cc
    link = ("-x", "none", build.library, f"-Wl,-rpath,{build.library.parent}", "-ldl")
    emulator = () if build.machine == platform.machine() else EMULATORS[build.machine]
    # A folder of its own: two checks that run side by side may need the same program.
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=build.out) as folder:
        source_file, program = pathlib.Path(folder, f"{name}.c"), pathlib.Path(folder, name)
        source_file.write_text(text)
        _output([*compiler, *options, "-I", include, source_file, *link, "-o", program])
        return _output([*emulator, program])


def _output(command):
    """The output of a command; if it fails, the exception has the end of the output."""
    try:
        words = list(map(str, command))
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired as error:
        raise ClientError("it did not end in time") from error
    if done.returncode != 0:
        printed = (done.stdout + done.stderr).strip()[-1500:]
        raise ClientError(f"exit status {done.returncode}: {printed}")
    return done.stdout
