# SPDX-License-Identifier: Apache-2.0
"""Judges the report of abidiff on two dumps, line by line. Its exit status is the same for an
incompatible change and for a legal addition, and its suppression rule for growth
(has_data_member_inserted_at) also hides reordered fields and changed types.

Legal between two versions: additions; a new constant; growth at the end of a struct that begins
with struct_size. Every other change is a complaint, unless a reviewed entry of abi/abidiff.suppr
covers it.
"""

import re

from dumps import ToolError, tool

# Report a type where it changes itself, and not again at each use.
OPTIONS = ("--leaf-changes-only", "--non-reachable-types", "--no-show-locs")
# Bits of the exit status: 4 means that something changed, 8 that something is incompatible.
UNDERSTOOD = (0, 4, 12)

HEADING = re.compile(r"(?:  \[C\] |)'(.*)' (?:changed|has some sub-type changes):")
COUNT = re.compile(r"(\d+)(?: \w+){0,2}? (removed|changed|added)\b", re.IGNORECASE)


def compare(old, new, suppressions, may_grow, exactly=False):
    """Complaints. If `exactly`, the two must be the same, and additions are complaints too.
    `may_grow`: names of the structs that may grow at their end."""
    command = ("abidiff", *OPTIONS, "--no-default-suppression", "--suppressions", suppressions)
    return judge(tool([*command, old, new], new.parent, UNDERSTOOD), may_grow, exactly)


def judge(said, may_grow, exactly):
    if not said.strip():
        return []
    lines = said.splitlines()
    removed = [line.strip() for line in lines if line.startswith("  [D] ")]
    added = [line.strip() for line in lines if line.startswith("  [A] ")]
    changed = list(_blocks(lines))
    expect = _summary(lines)
    if expect != (len(removed), len(changed), len(added)):
        raise ToolError(f"abidiff reported something unknown: {said}")
    complaints = [line.strip() for line in lines if "ELF SONAME changed" in line]
    complaints += removed + (added if exactly else [])
    # An item that changed only through a type that it points to has no lines of its own; the type
    # is reported separately.
    caused = not exactly and any(body for _, body in changed)
    for what, body in changed:
        follows = caused and not body
        if not follows and (exactly or not _is_legal(what, body, may_grow)):
            complaints += [f"{what} changed:", *body]
    return complaints


def _summary(lines):
    """How many items were removed, changed and added, according to the lines at the top."""
    total = {"removed": 0, "changed": 0, "added": 0}
    summaries = [line.split(" summary: ") for line in lines if " summary: " in line]
    if not summaries:
        raise ToolError(f"abidiff printed no summary: {lines}")
    for name, text in summaries:
        # The first line is the sum of the others.
        if not name.startswith("Leaf changes"):
            for number, kind in COUNT.findall(text):
                total[kind.lower()] += int(number)
    return tuple(total.values())


def _blocks(lines):
    """Name of each changed item, and the lines that describe the change."""
    for start, line in enumerate(lines):
        heading = HEADING.fullmatch(line)
        if heading:
            indent = len(line) - len(line.lstrip())
            body = []
            for other in lines[start + 1 :]:
                if len(other) - len(other.lstrip()) <= indent:
                    break
                body.append(other)
            yield heading[1], body


def _is_legal(what, body, may_grow):
    kind, _, name = what.partition(" ")
    if not body:
        return False
    if kind == "enum":
        return _only_insertions(
            body, "enumerator", r"'.*' value '-?\d+'", r"type size hasn't changed"
        )
    if kind != "struct" or name not in may_grow:
        return False
    size = re.fullmatch(r"\s*type size changed from (\d+) to (\d+) \(in bits\)", body[0])
    offsets = re.findall(r"', at offset (\d+) \(in bits\)$", "\n".join(body), re.MULTILINE)
    return (
        _only_insertions(body, "data member", r"'.*', at offset \d+ \(in bits\)", r"type size .*")
        and size is not None
        and all(int(offset) >= int(size[1]) for offset in offsets)
    )


def _only_insertions(body, kind, entry, first):
    patterns = (first, rf"\d+ {kind} insertions?:", entry)
    return all(any(re.fullmatch(p, line.strip()) for p in patterns) for line in body)
