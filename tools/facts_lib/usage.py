# SPDX-License-Identifier: Apache-2.0
"""Finds facts that are not used: items that no source, no test or no model names."""

import re

SUFFIXES = (".c", ".cc", ".h")
# Where a new rule is checked and where its message is tested; each function has a row in one file.
RULE_FILES = ("src/validate/rules.h", "tests/unit/messages_internal_test.cc")
EVERY_FUNCTION = "tests/support/every_function.h"


def unused(root, facts):
    sources, tests = _words(root / "src"), _words(root / "tests")
    given = {f"DLBRIDGE_{rule['status']}" for rule in facts.rules}
    for name, items, prefix, source, test in (
        ("rules", facts.rules, "DLBRIDGE_RULE_", *RULE_FILES),
        ("statuses", facts.statuses, "DLBRIDGE_", "the function that returns it", "its test"),
        ("functions", facts.functions, "dlbridge_", "src/<folder>/<name>.cc", EVERY_FUNCTION),
    ):
        for one in items:
            fact = f"{prefix}{one.name} of facts/{name}.toml"
            if prefix + one.name not in sources | given:
                yield f"src: nothing uses {fact}; edit {source}"
            if prefix + one.name not in tests:
                yield f"tests: no test names {fact}; edit {test}"


# The fuzz targets compare the library with tables that are written by hand.
MODEL = "tests/fuzz/model/codes.h"


def unmodelled(root, facts):
    text = (root / MODEL).read_text()
    for name in ("dtypes", "devices"):
        for one in getattr(facts, name):
            row = f'{{{one.number}, "{one["name"]}",'
            if row not in text:
                yield f"{MODEL}: no row '{row} ...' for {one.name} of facts/{name}.toml; add it"


# The files, written by hand, that state a release of DLPack for users to read.
STATED = {
    "bindings/go/types.go": "{default}",
    "bindings/rust/dlbridge/src/values.rs": "DLPack {default}",
    "bindings/cpp/include/dlbridge/hpp/config.hpp": "DLPack {default}",
    "README.md": "DLPack {newest}",
}
FOLDERS = ("include", "src", "bindings/cpp/include", "bindings/rust/dlbridge/src", "bindings/go")


def stated(root, facts):
    """Complaints on files that state another release, and on other files that state a release."""
    for path, text in STATED.items():
        wanted = text.format(**facts.dlpack)
        if wanted not in (root / path).read_text():
            yield f"{path}: lacks '{wanted}'; facts/dlpack.toml has the numbers"
    release = re.compile(rf"(?<![\d.]){re.escape(facts.dlpack['newest'])}(?![\d.])")
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*"))]
    for path in paths:
        name = str(path.relative_to(root))
        by_hand = path.suffix in (*SUFFIXES, ".hpp", ".rs", ".go") and not _is_exempt(name)
        if by_hand and release.search(re.sub(REGION, "", path.read_text())):
            yield f"{name}: states a release of DLPack, which stands in facts/dlpack.toml"


def _is_exempt(name):
    """Files that may state a release, generated files and tests."""
    ends = ("_test.go", "constants.go", "constant_names.go")
    return name in STATED or name.endswith(ends) or "/internal/" in name


def _words(folder):
    """The words of the sources of a folder, without generated parts."""
    words = set()
    for path in folder.rglob("*"):
        if path.suffix in SUFFIXES and path.is_file():
            text = path.read_text()
            if not text.startswith("// Generated"):
                words.update(re.findall(r"\w+", re.sub(REGION, "", text)))
    return words


REGION = re.compile(r"\[facts/.*?\[/facts\]", re.DOTALL)
