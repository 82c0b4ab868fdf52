# SPDX-License-Identifier: Apache-2.0
"""What tests of bad input share: nothing is printed, and every deleter runs exactly once."""

from __future__ import annotations

import gc
import sys

import producers
import pytest


def pytest_collection_finish():
    """What there is before the first test is left out of the collections that tests ask for."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def quiet(capfd, monkeypatch):
    """Nothing is printed, by C either, and no exception goes to the hook of last resort.

    The destructors of capsules are Python code here, which must not run as an exception waits: a
    test keeps a capsule that it expects to be rejected."""
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    yield
    gc.collect()
    assert not unraisable
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def balanced(quiet):
    """What a test's producers made is deleted exactly once, unless the test says otherwise."""
    before = set(producers.Made.live)
    yield
    gc.collect()
    made = [one for key, one in producers.Made.live.items() if key not in before]
    for one in made:
        one.forget()
    counts = [one.deleted for one in made if one.struct.deleter]
    assert counts == [1] * len(counts)
