# SPDX-License-Identifier: Apache-2.0
"""The values that dlbridge.h defines on single lines, read from its text; api.py reads the rest."""

import re


def code(text):
    """Text without comments and with single blanks, to compare the code of two texts."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)).strip()


def define(text, name):
    """Value of a macro, as written."""
    return re.search(rf"^#define {name} (.*)$", text, re.MULTILINE)[1]


def version(text):
    """The version from its three numbers, such as '0.1.0'."""
    parts = ("MAJOR", "MINOR", "PATCH")
    return ".".join(define(text, f"DLBRIDGE_VERSION_{part}") for part in parts)


def abi(text):
    return int(define(text, "DLBRIDGE_ABI"))


def name_enumerations(text):
    """Names unnamed enumerations of the text after their first constant."""
    nameless = re.compile(r"\benum\s*\{(?=(?:\s|/\*(?:(?!\*/).)*\*/)*(\w+))", re.DOTALL)
    named = re.compile(r"typedef\s+$")
    return nameless.sub(
        lambda match: match[0] if named.search(text[: match.start()]) else f"enum of_{match[1]} {{",
        text,
    )
