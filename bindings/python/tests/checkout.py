# SPDX-License-Identifier: Apache-2.0
"""Finds the repository, also for a copy of the tests below it."""

import pathlib

import pytest


def root():
    """The repository that contains this file; skips the test if there is none."""
    for folder in pathlib.Path(__file__).resolve().parents:
        if (folder / "abi" / "symbols.txt").exists():
            return folder
    return pytest.skip("the tests need files of the repository, which does not contain them")
