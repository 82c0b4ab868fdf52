# SPDX-License-Identifier: Apache-2.0
"""Which branches of src the seeds of the fuzz targets take.

coverage.py check BUILD   fails below a floor of uncovered.toml, or if its numbers are out of date
coverage.py list BUILD    writes the numbers again; a new file gets the reason ""

Both write each branch that no seed takes to BUILD/uncovered.txt. uncovered.toml has their number
for each file and the reason. llvm-cov counts; a condition that the compiler has decided is no
branch, and a branch in several instances of a template is taken if one of them takes it.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from fuzz import ROOT, SEEDS, environment, targets  # noqa: E402 needs the path above

LIST = ROOT / "tests/fuzz/uncovered.toml"
# Addresses, and threads of a driver, decide a few branches of a file.
SLACK = 16
FOLDED = re.compile(r"Branch \((\d+):(\d+)\): \[Folded - Ignored\]")


def replay(build):
    """Replays all seeds in a build with coverage; returns the merged profile."""
    raw = build / "coverage"
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir()
    for name, program in targets(build).items():
        variables = environment(name, LLVM_PROFILE_FILE=f"{raw}/{name}-%m.profraw")
        command = [str(program), str(SEEDS / name)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=variables)
    profiles, merged = map(str, raw.glob("*.profraw")), raw / "all.profdata"
    subprocess.run(["llvm-profdata", "merge", "-o", str(merged), *profiles], check=True)
    return merged


def llvm_cov(build, profile, command, *options):
    library = build / "src/libdlbridge.so"
    words = ["llvm-cov", command, f"-instr-profile={profile}", str(library), *options]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def folded(build, profile):
    """The conditions that the compiler decides: {(file, line, column)}."""
    found, path = set(), None
    for line in llvm_cov(build, profile, "show", "--show-branches=count").splitlines():
        path = line[:-1] if line.startswith("/") and line.endswith(":") else path
        match = FOLDED.search(line)
        if match:
            found.add((path, int(match[1]), int(match[2])))
    return found


def outcomes(file):
    """The outcomes of each condition of a file: position -> [taken true, taken false]."""
    found = collections.defaultdict(lambda: [0, 0])
    # A template has an entry for each instance.
    for line, column, _, _, true, false, *_ in file["branches"]:
        found[line, column][0] += true
        found[line, column][1] += false
    return found


def measure(build):
    """Returns {part: [taken, total]}, the same by folder, and {file: lines of places not taken}."""
    profile = replay(build)
    exported = json.loads(llvm_cov(build, profile, "export", str(ROOT / "src")))
    parts = {"core": [0, 0], "device": [0, 0]}
    folders = collections.defaultdict(lambda: [0, 0])
    missing = collections.defaultdict(list)
    decided = folded(build, profile)
    for file in exported["data"][0]["files"]:
        full = pathlib.Path(file["filename"]).resolve()
        path = full.relative_to(ROOT)
        lines = full.read_text().splitlines()
        for (line, column), taken in sorted(outcomes(file).items()):
            if taken == [0, 0] and (str(full), line, column) in decided:
                continue
            part = parts["device" if path.parts[1] == "device" else "core"]
            for count in (part, folders["/".join(path.parts[:-1])]):
                count[0] += sum(outcome > 0 for outcome in taken)
                count[1] += 2
            for outcome, count in zip(("true", "false"), taken):
                if count == 0:
                    text = lines[line - 1].strip()
                    missing[str(path)].append(f"{path}:{line}:{column}: never {outcome}: {text}")
    report = build / "uncovered.txt"
    report.write_text("\n".join(line for found in missing.values() for line in found) + "\n")
    for name, (taken, total) in (*sorted(folders.items()), *parts.items()):
        print(f"{name}: {taken} of {total} branches taken ({100 * taken / max(total, 1):.1f} %)")
    print(f"branches that are not taken: {report}")
    return parts, missing


def is_listed(path, found, listed):
    """Is the number of a file the listed one, as far as threads and processors do not change it?"""
    if path.startswith("src/copy/"):
        return found <= listed  # the list is of a processor without AVX-512
    slack = SLACK if path.startswith(("src/device/", "src/native/")) else 0
    return abs(found - listed) <= slack


def check(build):
    parts, missing = measure(build)
    listed = tomllib.loads(LIST.read_text())
    faults = []
    for name, floor in listed["floors"].items():
        taken, total = parts[name]
        if 100 * taken < floor * total:
            faults.append(f"{name}: expected at least {floor} % of the branches; add seeds")
    files = listed["files"]
    for path in sorted({*missing, *files}):
        found, entry = len(missing.get(path, ())), files.get(path, {"uncovered": 0, "reason": ""})
        if not is_listed(path, found, entry["uncovered"]):
            faults.append(
                f"{path}: expected {entry['uncovered']} branches not taken, found {found}"
            )
        if found and path in files and not entry["reason"]:
            faults.append(f"{path}: state in {LIST.name} why seeds do not take {found} branches")
    print(*faults, sep="\n")
    print(f"{'FAILED' if faults else 'passed'} coverage of the seeds: {len(faults)} faults")
    if faults:
        print("add seeds, or update the list: ./run fuzz --coverage list")
    return bool(faults)


def write(build):
    _, missing = measure(build)
    listed = tomllib.loads(LIST.read_text())
    out = [LIST.read_text().partition("[files.")[0].rstrip()]
    for path, found in sorted(missing.items()):
        reason = listed.get("files", {}).get(path, {}).get("reason", "")
        name, text = (json.dumps(word, ensure_ascii=False) for word in (path, reason))
        out += ["", f"[files.{name}]", f"uncovered = {len(found)}", f"reason = {text}"]
    LIST.write_text("\n".join(out) + "\n")
    return False


def main():
    style = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("command", choices=("check", "list"))
    parser.add_argument("build", type=pathlib.Path)
    arguments = parser.parse_args()
    return int((check if arguments.command == "check" else write)(arguments.build))


if __name__ == "__main__":
    sys.exit(main())
