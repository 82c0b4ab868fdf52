# SPDX-License-Identifier: Apache-2.0
"""Writes a generated file, or checks that it is current."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main(argv, out, text, command):
    """The main function of a program that generates `out`; `text` makes its content."""
    if "--check" not in argv:
        out.write_text(text())
        return 0
    if out.exists() and out.read_text() == text():
        return 0
    print(f"{out.relative_to(ROOT)} is not current; run {command}")
    return 1
