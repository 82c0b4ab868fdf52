# SPDX-License-Identifier: Apache-2.0
"""Where the repository is, also for a copy of the tests that stands somewhere below it."""

import pathlib

import pytest


def root():
    """The repository around this file, or a skip where the tests stand outside of one."""
    for folder in pathlib.Path(__file__).resolve().parents:
        if (folder / "abi" / "symbols.txt").exists():
            return folder
    return pytest.skip("these tests stand outside the repository, whose files they need")
