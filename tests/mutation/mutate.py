#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the corpus bite? Removes and inverts each check in src/, one at a time, in a copy of the
tree, and runs the conformance corpus on the result, which must fail.

    python3 tests/mutation/mutate.py --work build/mutation [--list] [--only TEXT]

A check is a condition that decides over a refusal: the `if` around one, the guard before
`sink->Broken(...)`, a DLBRIDGE_REQUIRE, a DLBRIDGE_TRY of another check. equivalent.json names the
mutants that change nothing that can be observed, with the reason.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFUSALS = re.compile(
    r"\b(?:sink->Broken|sink\.Broken|Refuse|RefuseArgument|RefuseStatus|RefuseMemory|RefuseNdim|"
    r"RefuseNegativeExtents|RefuseCodes|RefuseCopyHere|CheckOddDtype|CheckOddAddresses)\("
)
EQUIVALENT = json.loads(pathlib.Path(__file__).with_name("equivalent.json").read_text())


def close(text, at):
    """Index behind the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    raise ValueError("unbalanced")


def statement_start(text, at):
    """Behind the last ; { or } before `at` that is in no parenthesis and no initialiser list."""
    depth = 0
    for i in range(at - 1, -1, -1):
        if text[i] in ")":
            depth += 1
        elif text[i] == "(":
            depth -= 1
        elif text[i] in ";{}" and depth <= 0:
            return i + 1
    return 0


def enclosing_if(text, start):
    """The condition, as a span, of the `if` whose body begins right before `start`, or None."""
    before = text[:start].rstrip()
    if not before.endswith("{"):
        return None
    opening = before[:-1].rstrip()
    if not opening.endswith(")"):
        return None
    for match in reversed(list(re.finditer(r"\bif (?:constexpr )?\(", opening))):
        first = match.end() - 1
        if close(text, first) == len(opening):
            return first + 1, len(opening) - 1
    return None


def condition_mutants(text, span):
    condition = text[span[0] : span[1]]
    yield "removed", span, f"false && ({condition})"
    yield "inverted", span, f"!({condition})"


def guard_mutants(text, start, at):
    """`if (guard && sink->Broken(...))` and `return guard || !sink->Broken(...)`."""
    head = text[start:at]
    found = re.match(r"\s*if \(", head)
    if found and "&&" in head:
        first = start + found.end()
        end = start + head.rindex("&&")
        yield "removed", (first, end), "false "
        yield "inverted", (first, end), f"!({text[first:end].strip()}) "
    found = re.match(r"\s*return ", head)
    if found and "||" in head:
        first = start + found.end()
        end = start + head.rindex("||")
        yield "removed", (first, end), f"({text[first:end].strip()}) || true "
        yield "inverted", (first, end), f"!({text[first:end].strip()}) "


def mutants_of(text):
    for match in REFUSALS.finditer(text):
        start = statement_start(text, match.start())
        if (
            "DLBRIDGE_COLD" in text[start : match.start()]
            or "#define" in text[start : match.start()]
        ):
            continue
        span = enclosing_if(text, start)
        guards = list(guard_mutants(text, start, match.start()))
        yield from guards
        if span and not guards:
            yield from condition_mutants(text, span)
    for match in re.finditer(r"^ *DLBRIDGE_(?:REQUIRE|TRY)\(", text, re.MULTILINE):
        end = close(text, match.end() - 1)
        call = text[match.start() : end + 1]
        if "DLBRIDGE_REQUIRE" in call or re.search(r"\b(?:Check|Validate)\w*\(", call):
            yield "removed", (match.start(), end + 1), " " * 4


def all_mutants(root):
    seen = set()
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".cc", ".h") or path.name in ("status.h", "boundary.h"):
            continue
        text = path.read_text()
        for kind, span, replacement in mutants_of(text):
            line = text[: span[0]].count("\n") + 1
            was = " ".join(text[span[0] : span[1]].split())
            key = (path.name, span, kind)
            if key not in seen:
                seen.add(key)
                yield path, kind, span, replacement, line, was


def prepare(work):
    tree = work / "tree"
    shutil.rmtree(work, ignore_errors=True)  # objects of an earlier run would look up to date
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
    subprocess.run(
        [
            "cmake",
            "-S",
            tree,
            "-B",
            work / "build",
            "-G",
            "Ninja",
            "-DCMAKE_BUILD_TYPE=Debug",
            "-DDLBRIDGE_STATIC=ON",
            "-DDLBRIDGE_BUILD_TESTS=ON",
            "-DDLBRIDGE_BUILD_BENCH=OFF",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return tree


def verdict(work):
    """What the corpus says of the tree as it is: survived, killed by how many cases, no build."""
    built = subprocess.run(
        ["cmake", "--build", work / "build", "--target", "runner_test"],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        return "does not compile"
    try:
        run = subprocess.run(
            [work / "build/tests/conformance/runner_test", "--gtest_filter=*AllCases"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "killed: hangs"
    if run.returncode == 0:
        return "SURVIVED"
    count = re.search(r"cases, (\d+) failed", run.stdout)
    return f"killed: {count[1]} cases" if count else f"killed: status {run.returncode}"


def run(work, only):
    tree = prepare(work)
    if verdict(work) != "SURVIVED":
        print("the corpus fails before anything is changed")
        return 1
    counts = {"killed": 0, "SURVIVED": 0, "equivalent": 0, "does": 0}
    # From the copy: the tree itself may be worked on meanwhile.
    for path, kind, span, replacement, line, was in list(all_mutants(tree)):
        name = f"{path.relative_to(tree / 'src')}: {kind}: {was}"
        if only and only not in name:
            continue
        text = path.read_text()
        path.write_text(text[: span[0]] + replacement + text[span[1] :])
        result = verdict(work)
        if result == "SURVIVED" and name in EQUIVALENT:
            result = "equivalent: " + EQUIVALENT[name]
        path.write_text(text)
        counts[result.split(":")[0].split(" ")[0]] += 1
        print(
            f"{path.relative_to(tree / 'src')}:{line}: {kind}: {was[:100]} -> {result}", flush=True
        )
    print(
        f"{counts['killed']} killed, {counts['equivalent']} equivalent, "
        f"{counts['SURVIVED']} survived, {counts['does']} do not compile"
    )
    return 1 if counts["SURVIVED"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/mutation")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", help="only mutants whose name has this in it")
    arguments = parser.parse_args()
    if arguments.list:
        for path, kind, _, _, line, was in all_mutants(ROOT):
            print(f"{path.name}:{line}: {kind}: {was}")
        return 0
    return run(arguments.work.resolve(), arguments.only)


if __name__ == "__main__":
    sys.exit(main())
