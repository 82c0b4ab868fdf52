# SPDX-License-Identifier: Apache-2.0
"""Facts that nothing uses: a rule or status that no source reports, and what no test names."""

import re

SUFFIXES = (".c", ".cc", ".h")


def unused(root, facts):
    sources, tests = _words(root / "src"), _words(root / "tests")
    given = {f"DLBRIDGE_{rule['status']}" for rule in facts.rules}
    for name, items, prefix in (
        ("rules", facts.rules, "DLBRIDGE_RULE_"),
        ("statuses", facts.statuses, "DLBRIDGE_"),
        ("functions", facts.functions, "dlbridge_"),
    ):
        for one in items:
            if prefix + one.name not in sources | given:
                yield f"src: nothing uses {prefix}{one.name} of facts/{name}.toml"
            if prefix + one.name not in tests:
                yield f"tests: no test names {prefix}{one.name} of facts/{name}.toml"


def _words(folder):
    """The words of the sources of a folder, without what is generated."""
    words = set()
    for path in folder.rglob("*"):
        if path.suffix in SUFFIXES and path.is_file():
            text = path.read_text()
            if not text.startswith("// Generated"):
                words.update(re.findall(r"\w+", re.sub(REGION, "", text)))
    return words


REGION = re.compile(r"\[facts/.*?\[/facts\]", re.DOTALL)
