# SPDX-License-Identifier: Apache-2.0
"""Compares instructions with the budget in budget.json, which belongs to the same commit.

budget.py check BUILD           counts and compares; prints `passed` or `FAILED` for each operation
budget.py record BUILD          writes the counts of the core into the budget
budget.py compare SECTION KEY=COUNT...    the same as `check`, for counts of a binding
budget.py record-section SECTION KEY=COUNT...
budget.py selftest              shows that a changed cost is found

BUILD is the build folder of a preset with the program core_instructions. Counts depend on compiler,
C library and processor architecture, but not on the load of the machine: on another toolchain than
the recorded one the check is skipped.
"""

import argparse
import json
import pathlib
import platform
import re
import sys

FILE = pathlib.Path(__file__).resolve().with_name("budget.json")
PERCENT = 3
# A change of one or two instructions of a short operation is not a regression.
SLACK = 2
# Sections, and the commands that record them. A binding adds its section here and calls `compare`
# where it counts. Go has none: callgrind would also count the threads of its runtime.
SECTIONS = {
    "core": "python3 -B bench/budget.py record build/budget",
    "rust": "nox -f bindings/rust/noxfile.py -s instructions -- record",
    "python": "DLBRIDGE_WHEELS=native DLBRIDGE_PYTHONS=3.11 nox -f bindings/python/noxfile.py "
    "-s instructions -- record",
}


def limit(recorded):
    return recorded + max(recorded * PERCENT / 100, SLACK)


def judge(section, budget, found):
    """A line for each operation: `passed` or `FAILED`, and a note on what got cheaper."""
    how = f"run `{SECTIONS[section]}` and commit bench/budget.json with the change"
    for name in sorted(budget.keys() | found.keys()):
        if name not in found:
            yield f"FAILED {section} {name}: is in the budget but was not counted; {how}"
        elif name not in budget:
            yield f"FAILED {section} {name}: found {found[name]}, but it has no budget; {how}"
        elif found[name] > limit(budget[name]):
            more = 100 * (found[name] / budget[name] - 1)
            yield (
                f"FAILED {section} {name}: expected at most {limit(budget[name]):.0f} instructions "
                f"({budget[name]} + {PERCENT} %), found {found[name]} (+{more:.1f} %); if the "
                f"change is worth it, {how}"
            )
        else:
            cheaper = found[name] < budget[name] - max(budget[name] * PERCENT / 100, SLACK)
            note = f"; cheaper than its budget of {budget[name]}: {how}" if cheaper else ""
            yield f"passed {section} {name}: {found[name]}{note}"


def toolchain(build):
    """What the counts depend on."""
    describing = next(pathlib.Path(build).glob("CMakeFiles/*/CMakeCXXCompiler.cmake")).read_text()

    def setting(name):
        return re.search(rf'set\({name} "(.*)"\)', describing)[1]

    version = setting("CMAKE_CXX_COMPILER_VERSION").split(".")
    return {
        "machine": platform.machine(),
        "compiler": f"{setting('CMAKE_CXX_COMPILER_ID')} {'.'.join(version[:2])}",
        "libc": " ".join(platform.libc_ver()),
    }


def counted(build):
    """Instructions of the core's operations, and of the C++ binding's."""
    from instructions import count  # which needs valgrind

    found = count(pathlib.Path(build) / "bench/core_instructions", "--budget")
    # operation/ndim/strides/extent -> operation/ndim, and the strides unless they are given
    names = {name: name.rsplit("/", 1)[0].removesuffix("/given") for name in found}
    ours = (name for name in sorted(found) if name != "nothing" and not name.startswith("tvm"))
    return {names[name]: round(found[name]) for name in ours}


def load():
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def save(budget):
    FILE.write_text(json.dumps(budget, indent=2, sort_keys=True) + "\n")


def report(lines):
    lines = list(lines)
    print(*lines, sep="\n", flush=True)
    return 1 if any(line.startswith("FAILED") for line in lines) else 0


def check(build):
    budget, here = load(), toolchain(build)
    if budget.get("toolchain") != here:
        print(f"skipped budget: recorded with {budget.get('toolchain')}, this is {here}")
        return 0
    return report(judge("core", budget["core"], counted(build)))


def record(build):
    save({**load(), "toolchain": toolchain(build), "core": counted(build)})


def pairs(words):
    return {key: round(float(value)) for key, value in (word.rsplit("=", 1) for word in words)}


def compare(section, words):
    recorded = load().get("toolchain", {})
    here = {"machine": platform.machine(), "libc": " ".join(platform.libc_ver())}
    if any(recorded.get(key) != value for key, value in here.items()):
        print(f"skipped {section}: recorded with {recorded}, this is {here}")
        return 0
    return report(judge(section, load().get(section, {}), pairs(words)))


def record_section(section, words):
    save({**load(), section: pairs(words)})


def selftest():
    """Each change of one cost is found, by the name of the operation; a change below 3 % is not."""
    budget = load()["core"]
    name = "upgrade/4"
    cost = budget[name]
    cases = [
        ("an unchanged cost", {}, None),
        ("a cost 2 % higher", {name: round(cost * 1.02)}, None),
        ("a cost 4 % higher", {name: round(cost * 1.04)}, f"FAILED core {name}: expected at most"),
        ("a cost 4 % lower", {name: round(cost * 0.96)}, None),
        ("an operation without a budget", {"new/4": 9}, "FAILED core new/4: found 9, but"),
        ("an operation that is not counted", {name: None}, f"FAILED core {name}: is in the"),
    ]
    status = 0
    for title, changes, expected in cases:
        merged = {**budget, **changes}
        found = {key: value for key, value in merged.items() if value is not None}
        failed = [line for line in judge("core", budget, found) if line.startswith("FAILED")]
        good = failed == [] if expected is None else len(failed) == 1
        good = good and all(line.startswith(expected or "") for line in failed)
        print("passed" if good else "FAILED", f"{title}: {failed or 'accepted'}")
        status |= not good
    return status


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "task", choices=("check", "record", "compare", "record-section", "selftest")
    )
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    tasks = {
        "check": lambda words: check(words[0]),
        "record": lambda words: record(words[0]),
        "compare": lambda words: compare(words[0], words[1:]),
        "record-section": lambda words: record_section(words[0], words[1:]),
        "selftest": lambda words: selftest(),
    }
    return tasks[arguments.task](arguments.words)


if __name__ == "__main__":
    sys.exit(main())
