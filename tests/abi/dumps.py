# SPDX-License-Identifier: Apache-2.0
"""Three dumps of a build's ABI, and the tools that compare them.

- `dump`: what abi-dumper reads from the library's debug information, for abi-compliance-checker;
- `interface.xml`: what abidw reads from it: exported functions and the types that they reach;
- `types.xml`: what abidw reads of every type that the public headers declare, used or not. Its
  source is a C file that includes the headers, built with -fno-eliminate-unused-debug-types; in the
  library itself, the types of the C++ library would outnumber them. Only this dump has unnamed
  enumerations. Each is named after its first constant: abidw numbers them, and a new one would
  change the numbers of the others.
"""

import concurrent.futures
import contextlib
import hashlib
import os
import re
import signal
import subprocess
import tempfile

import header

ABIDW = ("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--load-all-types")
TYPES = '#include "dlbridge/dlbridge.h"\nint dlbridge_public_types;\n'
TIME_LIMIT = 300  # seconds, for one run of a tool on a busy machine
KINDS = ("dump", "interface.xml", "types.xml")


class ToolError(Exception):
    """A tool failed or gave unexpected output."""


def tool(command, folder, accepted=(0,)):
    """Output of a command whose exit status must be one of those accepted. abi-compliance-checker
    walks hashes in an order that perl chooses, and with some orders it does not end. So the seed of
    the order is fixed, and the next one is tried after a timeout."""
    command = [str(word) for word in command]
    for seed in range(3):
        environment = dict(os.environ, LC_ALL="C", PERL_HASH_SEED=str(seed), PERL_PERTURB_KEYS="0")
        status, said = _ended(command, folder, environment)
        if status is not None:
            break
    if status not in accepted:
        raise ToolError(f"{' '.join(command)}: exit status {status}: {said[-2000:].strip()}")
    return said


def _ended(command, folder, environment):
    """Exit status and output; the status is None if the command did not end in time."""
    options = {"cwd": folder, "env": environment, "start_new_session": True}
    with tempfile.TemporaryFile("w+") as output:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)
        try:
            status = child.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            status = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        output.seek(0)
        return status, output.read()


def write(build, include, version, folder):
    """Writes the three dumps of a build into `folder`, named after its architecture. Existing dumps
    of the same library and headers are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {kind: folder / f"{build.machine}.{kind}" for kind in KINDS}
    headers = include / "dlbridge"
    key = digest(build.library, *sorted(headers.rglob("*.h")))
    stamp = folder / f"{build.machine}.dumps"
    if stamp.is_file() and stamp.read_text() == key and all(p.is_file() for p in paths.values()):
        return paths
    for path in (stamp, *paths.values()):
        path.unlink(missing_ok=True)
    abi_dumper = ("abi-dumper", build.library, "-o", paths["dump"], "-lver", version, "-sort")
    only_public = ("--exported-interfaces-only", "--drop-private-types", "--headers-dir", headers)
    interface = (*ABIDW, *only_public, build.library, "--out-file", paths["interface.xml"])
    types = (*ABIDW, _build_types(build, headers, folder), "--out-file", paths["types.xml"])
    commands = ((*abi_dumper, "-public-headers", headers), interface, types)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda command: tool(command, folder), commands))
    missing = [path.name for path in paths.values() if not path.is_file()]
    if missing:
        raise ToolError(f"not written: {', '.join(missing)}")
    stamp.write_text(key)
    return paths


def digest(*paths):
    """One digest of the contents of several files."""
    found = hashlib.sha256()
    for path in paths:
        found.update(f"{path.name} {path.stat().st_size}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


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
    """Complaints of abi-compliance-checker, whose HTML report is kept. A rate of 100 % may come
    with problems that it rates as harmless; if the two dumps are `exactly` the same, there must be
    none. Its output for the same two dumps is cached next to the report."""
    key = digest(old, new)
    kept = report.with_suffix(".said")
    if not kept.is_file() or not kept.read_text().startswith(key) or not report.is_file():
        kept.write_text(key + "\n" + _compare(old, new, report))
    said = kept.read_text()
    return [
        complaint
        for kind in ("Binary", "Source")
        for complaint in _judge_compliance(kind, said, report.name, exactly)
    ]


def _compare(old, new, report):
    report.unlink(missing_ok=True)
    command = ("abi-compliance-checker", "-l", "dlbridge", "-old", old, "-new", new)
    places = ("-report-path", report, "-log-path", report.with_suffix(".log"))
    # Exit status 1: something is incompatible.
    return tool([*command, *places], report.parent, (0, 1))


def _judge_compliance(kind, said, report, exactly):
    rate = re.search(rf"^{kind} compatibility: (\S+)", said, re.MULTILINE)
    count = rf"^Total {kind.lower()} compatibility problems: (\d+), warnings: (\d+)"
    problems = re.search(count, said, re.MULTILINE)
    if not rate or not problems:
        raise ToolError(f"abi-compliance-checker printed no compatibility rate: {said}")
    if rate[1] != "100%":
        yield f"{kind.lower()} compatibility {rate[1]}: see {report}"
    elif exactly and problems.group(1, 2) != ("0", "0"):
        yield f"{kind.lower()}: {problems[1]} problems, {problems[2]} warnings: see {report}"
