# SPDX-License-Identifier: Apache-2.0
"""The notes of a release: its section of the changelog, and its files."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import changelog  # noqa: E402 needs the path above
import versions  # noqa: E402


def size(path):
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"


def make(root, folder, files):
    version = versions.read(root)
    earlier = changelog.sections((root / "CHANGELOG.md").read_text())[1:]
    before = [one.version for one in earlier if one.date]
    frozen = f"; programs built with {' and '.join(before)} run with it" if before else ""
    rows = [f"| `{path.relative_to(folder)}` | {size(path)} |" for path in files]
    return (
        f"# dlbridge {version.status}\n\nABI {version.abi}{frozen}.\n\n"
        f"## Changes\n\n{version.section.text}\n"
        "## Files\n\n`sha256sum --check SHA256SUMS` checks them.\n\n"
        "| file | size |\n|---|---|\n" + "\n".join(rows) + "\n"
    )
