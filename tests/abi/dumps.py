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


def check_compliance(old, new, report):
    """Complaints of abi-compliance-checker; its report in HTML stays."""
    report.unlink(missing_ok=True)
    command = ("abi-compliance-checker", "-l", "dlbridge", "-old", old, "-new", new)
    log = report.with_suffix(".log")
    # Exit status 1: the report says that something is incompatible.
    said = tool([*command, "-report-path", report, "-log-path", log], report.parent, (0, 1))
    complaints = []
    for kind in ("Binary", "Source"):
        rate = re.search(rf"{kind} compatibility: (\S+)", said)
        count = rf"Total {kind.lower()} compatibility problems: (\d+), warnings: (\d+)"
        problems = re.search(count, said)
        if not rate or not problems:
            raise ToolError(f"abi-compliance-checker does not say how compatible: {said}")
        if rate[1] != "100%" or problems.group(1, 2) != ("0", "0"):
            complaints.append(f"{kind.lower()} compatibility {rate[1]}: see {report.name}")
    return complaints


SUMMARY = re.compile(
    r"^((?:Functions|Variables|Function symbols|Variable symbols) changes|Unreachable types)"
    r" summary: (\d+) [Rr]emoved.*?, (\d+) [Cc]hanged.*?, (\d+) [Aa]dded",
    re.MULTILINE,
)


def check_abidiff(old, new, suppressions, exactly):
    """Complaints of abidiff. Its exit status says the same of a break and of an addition, so its
    output counts: nothing removed and nothing changed, and nothing added where the two must be
    `exactly` the same."""
    command = ("abidiff", "--non-reachable-types", "--no-show-locs", "--no-default-suppression")
    # Of the bits of its exit status 4 says that there are changes and 8 that some surely break.
    accepted = (0, 4, 12)
    said = tool([*command, "--suppressions", suppressions, old, new], old.parent, accepted)
    if not said.strip():
        return []
    summaries = SUMMARY.findall(said)
    if not {"Functions changes", "Unreachable types"} <= {summary[0] for summary in summaries}:
        raise ToolError(f"abidiff does not say what changed: {said}")
    counted = slice(1, 4) if exactly else slice(1, 3)
    if any(int(count) for summary in summaries for count in summary[counted]):
        return [line for line in said.splitlines() if line.strip()]
    return []
