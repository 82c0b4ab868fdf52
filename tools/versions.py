#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the version stands. The public header states it; CMake, the Python package, the archives
and the tests read it there. Files that tools read alone have to repeat it: this script knows them.

versions.py check   compares them with the header; exit status 1 if one disagrees
versions.py write   writes the header's version into them
"""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/abi")]

import changelog  # noqa: E402 needs the path above
import header  # noqa: E402

WRITE = "run tools/versions.py write"
FACTS = "run tools/facts.py write"


@dataclass
class Version:
    """The version and ABI that the header states, and the newest section of the changelog."""

    text: str
    abi: int
    section: changelog.Section

    @property
    def least(self):
        """The oldest library that has everything that this header declares."""
        return self.text.rpartition(".")[0] + ".0"

    @property
    def status(self):
        return f"{self.text}, {self.section.date or 'unreleased'}"


@dataclass
class Place:
    """Each match of the pattern's group must be the expected text. What another tool generates or a
    person decides is not written here: `remedy` names the way."""

    path: str
    pattern: str
    expected: object = lambda version: version.text
    remedy: str = WRITE


def least(version):
    return version.least


# The crates of the workspace in a lock file.
LOCKED = r'^name = "dlbridge(?:-sys|-conformance)?"\nversion = "(.*)"$'
HEADER = "include/dlbridge/dlbridge.h"
PLACES = (
    Place(HEADER, r'^#define DLBRIDGE_VERSION_STRING "(.*)"$', remedy=f"edit {HEADER}"),
    Place(
        "CMakeLists.txt",
        r"^project\(dlbridge\n +VERSION (\S+)$",
        lambda version: "${DLBRIDGE_HEADER_VERSION}",
        "let it read the header",
    ),
    Place(
        "bindings/python/pyproject.toml",
        r"^dynamic = \[(.*)\]$",
        lambda version: '"version"',
        "let it read the header",
    ),
    Place("CHANGELOG.md", r"\A(?:(?!^## ).*\n)*## ([\d.]+)", remedy="add a section"),
    Place("meson.build", r"^  version: '(.*)',$"),
    Place("README.md", r"^\| version \| ([^:\n]*):", lambda version: version.status),
    Place("bindings/rust/Cargo.toml", r'^version = "(.*)"$'),
    Place("bindings/rust/Cargo.toml", r'^dlbridge-sys = \{ version = "(.*?)"'),
    Place("bindings/rust/Cargo.lock", LOCKED),
    Place("bindings/rust/bench/Cargo.lock", LOCKED),
    Place("bindings/rust/fuzz/Cargo.lock", LOCKED),
    Place("tests/languages/rust/Cargo.lock", LOCKED),
    Place("bindings/rust/dlbridge/README.md", r"pkg-config finds \((\S+)\s", least),
    Place("bindings/rust/dlbridge-sys/README.md", r"pkg-config finds \((\S+)\s", least),
    Place(
        "bindings/rust/dlbridge-sys/src/mirrors.rs",
        r'^pub const DLBRIDGE_VERSION_STRING: &CStr = c"(.*)";$',
        remedy=FACTS,
    ),
    Place("debian/libdlbridge*.symbols", r"^ dlbridge_\w+@\S+ (\S+)$", least, FACTS),
)


def read(root):
    text = (root / HEADER).read_text()
    newest = changelog.sections((root / "CHANGELOG.md").read_text())[0]
    return Version(header.version(text), header.abi(text), newest)


def matches(root, place):
    """Pairs of a file and the matches of the place in it."""
    for path in sorted(root.glob(place.path)):
        yield path, list(re.finditer(place.pattern, path.read_text(), re.MULTILINE))


def wrong(root, version, place):
    expected, paths = place.expected(version), list(matches(root, place))
    if not any(found for _, found in paths):
        yield f"{place.path}: expected {expected}, found no version; {place.remedy}"
    for path, found in paths:
        for value in sorted({match[1] for match in found} - {expected}):
            name = path.relative_to(root)
            yield f"{name}: expected {expected}, found {value}; {place.remedy}"


def disagreements(root):
    """Lists disagreements with the header: place, expected, found, what to do."""
    version = read(root)
    for place in PLACES:
        yield from wrong(root, version, place)
    if not (root / f"abi/{version.abi}/{version.text}").is_dir():
        yield f"abi/{version.abi}: expected {version.text}, found no record; ./run abi record"
    if not version.section.date and not version.section.unreleased:
        state = version.section.state.strip(", ")
        yield f"CHANGELOG.md: expected {changelog.UNRELEASED} or a date, found '{state}'"
    path = root / "debian/changelog"
    if path.read_text() != changelog.debian((root / "CHANGELOG.md").read_text()):
        yield f"debian/changelog: does not repeat the versions of CHANGELOG.md; {WRITE}"


def replaced(text, pattern, value):
    """The text with the group of each match replaced."""
    for match in reversed(list(re.finditer(pattern, text, re.MULTILINE))):
        text = text[: match.start(1)] + value + text[match.end(1) :]
    return text


def write(root):
    version = read(root)
    changed = {root / "debian/changelog": changelog.debian((root / "CHANGELOG.md").read_text())}
    for place in PLACES:
        for path in root.glob(place.path) if place.remedy == WRITE else ():
            text = changed.get(path) or path.read_text()
            changed[path] = replaced(text, place.pattern, place.expected(version))
    for path, text in changed.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path.relative_to(root)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("check", "write"))
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args()
    if options.command == "write":
        write(options.root)
    complaints = list(disagreements(options.root))
    version = read(options.root)
    print("\n".join(complaints) or f"versions.py {options.command}: all places have {version.text}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
