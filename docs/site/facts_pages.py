# SPDX-License-Identifier: Apache-2.0
"""One page for each rule and status, from facts/*.toml and the corpus."""

import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))

from facts_lib import load  # noqa: E402 needs the path above

SOURCES = {
    "DLPack": "the DLPack specification",
    "dlbridge": "a decision of this library",
    "policy": "a demand of the consumer's policy",
}
FIELDS = (
    "data", "device", "ndim", "dtype", "shape", "strides", "byte_offset", "flags", "version",
)  # fmt: skip


def slug(name):
    return name.lower().replace("_", "-")


def cases(root):
    """The shortest case of the corpus for each rule and each status, with the step that fails."""
    corpus = json.loads((root / "tests/conformance/cases.json").read_text())["cases"]
    found = {}
    for case in corpus:
        for step in case["steps"]:
            expected = step.get("expect")
            if not isinstance(expected, dict) or len(case["steps"]) > 4:
                continue
            names = {f"ERROR:{expected.get('status')}"}
            # A finding of dlbridge_diagnose names its rule in a list.
            for one in (expected, *expected.get("findings", ())):
                if isinstance(one, dict) and one.get("rule", "NONE") != "NONE":
                    names.add(one["rule"])
            for name in names:
                before = found.get(name)
                if before is None or size(case) < size(before[0]):
                    found[name] = (case, step)
    return found


def size(case):
    """Cases with a tensor of a producer are shown first, then short ones."""
    return (not case.get("objects"), len(case["steps"]), len(json.dumps(case)))


def _object(name, one):
    rows = [f"| `{name}`: {one.get('kind', 'tensor').lower()} | |", "|---|---|"]
    for field in FIELDS:
        if field in one and isinstance(one[field], (int, str, list, type(None))):
            rows.append(f"| `{field}` | `{json.dumps(one[field])}` |")
    return "\n".join(rows) if len(rows) > 2 else ""


def _example(found):
    case, step = found
    lines = [f"The case `{case['name']}` of the corpus:", ""]
    for name, one in case.get("objects", {}).items():
        table = _object(name, one)
        if table:
            lines += [table, ""]
    call = {key: value for key, value in step.items() if key not in ("expect",)}
    lines += ["The call, and what every language answers:", ""]
    lines += ["```json", json.dumps(call), "```", ""]
    message = step["expect"].get("message")
    shown = message or json.dumps(step["expect"])
    return "\n".join([*lines, "```text", shown, "```"])


def _value(text):
    """Half of a message, with dots where a value is written."""
    return re.sub(r"%[A-Za-z]", "…", text) or "…"


def rule(one, found):
    level = "note" if one["status"] == "OK" else f"status `DLBRIDGE_{one['status']}`"
    source = ", ".join(SOURCES.get(word.split()[0], word) for word in one["source"].split(", "))
    link = "" if one["status"] == "OK" else f" ([page](../statuses/{slug(one['status'])}.md))"
    parts = [
        f"# {one.name}",
        f"**{one.doc}.**",
        f"Rule {one.number}, `DLBRIDGE_RULE_{one.name}`: {level}{link}; since {one.since}; source: "
        f"{source}.",
        "## What a message says",
        f"> {one['text']}: expected {_value(one['expected'])}, found {_value(one['found'])}"
        + (f"; {one['remedy']}" if one["remedy"] else ""),
        "## Why",
        one["why"],
        "## A tensor that breaks it",
        _example(found)
        if found
        else "Only a driver can decide it, so the corpus, which runs "
        "everywhere, has no case; the tests of the backends have.",
        "## How to fix it",
        one["fix"],
    ]
    return "\n\n".join(parts) + "\n"


def status(one, found, rules):
    using = [rule for rule in rules if rule["status"] == one.name and rule.number]
    names = ", ".join(f"[{rule.name}](../rules/{slug(rule.name)}.md)" for rule in using)
    parts = [
        f"# {one.name}",
        f"**{one.doc}**",
        f"Status {one.number}, `DLBRIDGE_{one.name}`, since {one.since}"
        + (f"; in Python a `{one['python']}`" if one["python"] else "")
        + ".",
        "## What to do",
        one["fix"],
    ]
    if names:
        parts += ["## Rules that return it", names + "."]
    if found and one.number:
        parts += ["## An example", _example(found)]
    return "\n\n".join(parts) + "\n"


def pages(root):
    """Pairs of a path in the site's tree and the page's text."""
    facts = load.read(root)
    found = cases(root)
    rules = [one for one in facts.rules if one.number]
    for one in rules:
        yield f"rules/{slug(one.name)}.md", rule(one, found.get(one.name))
    for one in facts.statuses:
        example = found.get(f"ERROR:{one.name}")
        yield f"statuses/{slug(one.name)}.md", status(one, example, facts.rules)
