# SPDX-License-Identifier: Apache-2.0
"""clang-tidy on the files of a compile database, side by side; prints each complaint once.

tidy.py BUILD library    the library, without the static analyzer
tidy.py BUILD deep       the library with all checks of .clang-tidy; the command-line tool
tidy.py BUILD tests      all other files with the checks that fit tests
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OTHERS = ("tests/", "bench/")
# The analyzer takes four fifths of the time, and is left to the night.
LIBRARY = "-clang-analyzer-*"
# What tests are looked at for: the analyzer would follow the macros of GoogleTest for minutes, and
# of the kinds of bugs those are left out that matter in a library.
TESTS = (
    "-clang-analyzer-*,-bugprone-*,bugprone-use-after-move,bugprone-sizeof-*,bugprone-suspicious-*,"
    "bugprone-string-*,bugprone-copy-*,bugprone-macro-*,bugprone-unused-raii,bugprone-misplaced-*"
)
# The tool's header-only libraries take as long as the whole library, and the analyzer would follow
# them for minutes. The tool joins short texts, where `a + b` reads better than `append`.
TOOL = f"{LIBRARY},-performance-inefficient-string-concatenation"


def database(build):
    """The files of the compile database, relative to the repository."""
    commands = json.loads((build / "compile_commands.json").read_text())
    paths = {pathlib.Path(one["file"]) for one in commands}
    return sorted(str(path.relative_to(ROOT)) for path in paths if path.is_relative_to(ROOT))


def scripted():
    """The programs that scripts compile."""
    patterns = ("tests/abi/*_client.c", "tests/consumers/program.*")
    return sorted(str(path.relative_to(ROOT)) for one in patterns for path in ROOT.glob(one))


def jobs(build, mode):
    """Pairs of a file and the options for it."""
    files = database(build)
    project = ["-p", str(build), "--extra-arg=-Wno-unknown-warning-option"]

    def checked(folders, *options):
        return [(name, [*project, *options]) for name in files if name.startswith(folders)]

    if mode == "library":
        return checked("src/", f"--checks={LIBRARY}")
    if mode == "deep":
        return checked("tool/src/", f"--checks={TOOL}") + checked("src/")
    found = checked(OTHERS, f"--checks={TESTS}")
    return found + [(name, ["--", "-Iinclude"]) for name in scripted()]


def tidy(job):
    name, options = job
    command = ["clang-tidy", "--quiet", "--warnings-as-errors=*", name, *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return name, done.returncode, done.stdout


def main():
    build, mode = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    bad, complaints = [], set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status, said in pool.map(tidy, jobs(build, mode)):
            complaints.update(re.findall(r"^.*(?:error|warning): .*$", said, re.MULTILINE))
            if status != 0:
                bad.append(name)
    print(*sorted(complaints), sep="\n")
    print(f"clang-tidy: {len(bad)} files with complaints: {' '.join(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
