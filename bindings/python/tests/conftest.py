# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of bad input: nothing is printed, and every deleter runs exactly once."""

from __future__ import annotations

import gc
import sys

import producers
import pytest
from cuda_drivers import driver, fake  # noqa: F401 fixtures of some modules
from dlbridge import _consumers, _core, _producers


def pytest_configure(config):
    for line in (
        "long: takes seconds; a commit's tests leave it out",
        "kit: of the conformance kit, which starts many processes; `./run test` leaves it out",
        "compiled: runs a compiler on headers for extensions; `./run test` leaves it out",
    ):
        config.addinivalue_line("markers", line)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem.startswith("test_conformance_"):
            item.add_marker("kit")


def pytest_collection_finish():
    """Excludes objects created before the first test from the collections that tests start."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def quiet(capfd, monkeypatch):
    """Nothing is printed, not by C either, and no exception is unraisable.

    The destructors of capsules are Python code here, which must not run while an exception is set:
    a test keeps a capsule that it expects to be rejected."""
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    yield
    gc.collect()
    assert not unraisable
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def balanced(quiet):
    """Every struct of a test's producers is deleted exactly once, unless the test forgets it."""
    before = set(producers.Made.live)
    yield
    gc.collect()
    made = [one for key, one in producers.Made.live.items() if key not in before]
    for one in made:
        one.forget()
    counts = [one.deleted for one in made if one.struct.deleter]
    assert counts == [1] * len(counts)


@pytest.fixture
def registry(monkeypatch):
    """Restores the facts about consumers and producers."""
    for module, names in (
        (_consumers, ("CONSUMERS", "_PACKAGES", "_by_name_of_module")),
        (_producers, ("PRODUCERS", "_PACKAGES", "_by_name_of_module")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name))
    level = _core.shortcuts()
    yield
    _core.shortcuts(level)
    _core.share_immutable(None)
