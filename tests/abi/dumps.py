# SPDX-License-Identifier: Apache-2.0
"""Three dumps of a build's ABI, and the tools that compare them.

- `dump`: what abi-dumper reads of the library's debug information, for abi-compliance-checker;
- `interface.xml`: what abidw reads of it, exported functions and the types that they reach;
- `types.xml`: what abidw reads of all that the public headers declare, used or not. It comes from a
  C file that includes them, built with -fno-eliminate-unused-debug-types: in the whole library the
  types of the C++ library would drown them. Only here nameless enumerations are seen. Each bears
  the name of its first constant, since abidw numbers them, and a new one would shift the numbers.
"""

import os
import re
import subprocess

import header

ABIDW = ("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--load-all-types")
TYPES = '#include "dlbridge/dlbridge.h"\nint dlbridge_public_types;\n'
KINDS = ("dump", "interface.xml", "types.xml")


class ToolError(Exception):
    """A tool did not do what it was called for."""


def tool(command, folder, accepted=(0,)):
    """Output of a command whose exit status is one of those accepted."""
    command = [str(word) for word in command]
    environment = dict(os.environ, LC_ALL="C")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in accepted:
        said = (done.stdout + done.stderr).strip()
        raise ToolError(f"{' '.join(command)}: exit status {done.returncode}: {said[-2000:]}")
    return done.stdout


def write(build, include, version, folder):
    """Writes the three dumps of a build into `folder`, named after its architecture."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {kind: folder / f"{build.machine}.{kind}" for kind in KINDS}
    for path in paths.values():
        path.unlink(missing_ok=True)
    headers = include / "dlbridge"
    abi_dumper = ("abi-dumper", build.library, "-o", paths["dump"], "-lver", version, "-sort")
    tool([*abi_dumper, "-public-headers", headers], folder)
    only_public = ("--exported-interfaces-only", "--drop-private-types", "--headers-dir", headers)
    tool([*ABIDW, *only_public, build.library, "--out-file", paths["interface.xml"]], folder)
    types = _build_types(build, headers, folder)
    tool([*ABIDW, types, "--out-file", paths["types.xml"]], folder)
    missing = [path.name for path in paths.values() if not path.is_file()]
    if missing:
        raise ToolError(f"not written: {', '.join(missing)}")
    return paths


def _build_types(build, headers, folder):
    """A library without functions, whose debug information has every type of the public headers."""
    include = folder / f"{build.machine}-types"
    (include / "dlbridge").mkdir(parents=True, exist_ok=True)
    for path in headers.glob("*.h"):
        (include / "dlbridge" / path.name).write_text(header.name_enumerations(path.read_text()))
    (include / "types.c").write_text(TYPES)
    library = include / "types.so"
    debug = ("-g", "-fno-eliminate-unused-debug-types", f"-ffile-prefix-map={include}/=")
    options = ("-std=c11", "-fPIC", "-shared", "-nostdlib", "-I", include)
    tool([*build.cc, *debug, *options, "-o", library, include / "types.c"], folder)
    return library


def check_compliance(old, new, report, exactly=False):
    """Complaints of abi-compliance-checker; its report in HTML stays. A rate of 100 % may come with
    problems that it holds to be harmless; where the two are `exactly` the same there are none."""
    report.unlink(missing_ok=True)
    command = ("abi-compliance-checker", "-l", "dlbridge", "-old", old, "-new", new)
    places = ("-report-path", report, "-log-path", report.with_suffix(".log"))
    # Exit status 1: something is incompatible.
    said = tool([*command, *places], report.parent, (0, 1))
    return [
        complaint
        for kind in ("Binary", "Source")
        for complaint in _judge_compliance(kind, said, report.name, exactly)
    ]


def _judge_compliance(kind, said, report, exactly):
    rate = re.search(rf"^{kind} compatibility: (\S+)", said, re.MULTILINE)
    count = rf"^Total {kind.lower()} compatibility problems: (\d+), warnings: (\d+)"
    problems = re.search(count, said, re.MULTILINE)
    if not rate or not problems:
        raise ToolError(f"abi-compliance-checker does not say how compatible: {said}")
    if rate[1] != "100%":
        yield f"{kind.lower()} compatibility {rate[1]}: see {report}"
    elif exactly and problems.group(1, 2) != ("0", "0"):
        yield f"{kind.lower()}: {problems[1]} problems, {problems[2]} warnings: see {report}"
