# SPDX-License-Identifier: Apache-2.0
"""Faults of a library that exports and imports legacy tensors, copies and immutable arrays: each is
found by its check, and the right library has none."""

from __future__ import annotations

import sys

import pytest
from conformance_runs import SCRATCH, no_sanitizers, shown
from dlbridge.conformance import engine
from dlbridge.conformance.adapters import Chosen
from dlbridge.conformance.outcomes import FAILED, PASSED

pytest.importorskip("numpy")
pytestmark = [
    no_sanitizers,
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="one version of Python is enough"),
]
ROUNDS = 500

# Faults that do not meet share a run. Fault -> check, severity, and a part of what is found.
RUNS = (
    {
        "legacy-never": ("deleter-once", "leak", "it ran 0 times"),
        "no-legacy-copies": ("copy-true", "corruption", "the array's memory"),
        "writable-if-shared": ("read-only-flag", "corruption", "flags 0"),
        "legacy-offset": ("layout-byte-offset", "wrong answer", ""),
        "leaks-copies": ("export-leak", "leak", "objects of Python more"),
        "leaks-errors": ("error-then-works", "leak", "objects of Python more"),
        "any-gpu": ("device-other", "wrong answer", "a capsule of device (1, 0)"),
        "streams": ("stream-on-cpu", "deviation", "a capsule named dltensor"),
        "float-device": ("device-tuple", "deviation", "(1, 0.0)"),
        "row-null": ("strides-present", "deviation", "NULL"),
        "row-writable": ("immutable-stays", "corruption", "a writable array"),
        "renames-rejected": ("version-major-2", "crash", "a capsule named dltensor"),
    },
    {
        "legacy-twice": ("deleter-on-thread", "corruption", "it ran 2 times"),
        "no-read-only-copies": ("copy-true", "corruption", "the array's memory"),
        "read-only-slices": ("read-only-flag", "corruption", "flags 0"),
        "scalar-offset": ("layout-byte-offset", "wrong answer", ""),
        "leaks-legacy": ("export-leak", "leak", "objects of Python more"),
    },
    {
        "used-legacy": ("used-capsule", "crash", "an array"),
        "compact-copies": ("copy-true", "corruption", "the array's memory"),
        "compact-read-only": ("read-only-flag", "wrong answer", ""),
        "leaks-devices": ("export-leak", "leak", "objects of Python more"),
        "keeps-sources": ("import-leak", "leak", "16 are referenced"),
        "row-bytes": ("shape-and-strides", "wrong answer", "strides (4,)"),
    },
    {
        "copies-of-memory": ("copy-true", "wrong answer", "..."),
        "leaks-arrays": ("export-leak", "leak", "objects of Python more"),
        "keeps-rejected": ("import-leak", "leak", "16 are referenced"),
    },
    {
        "keeps-copied": ("import-leak", "leak", "16 are referenced"),
        "leaks-legacy-arrays": ("export-leak", "leak", "bytes of malloc"),
    },
)
# Their programs are those of other faults.
SAME_PROGRAM = ("legacy-twice", "no-read-only-copies", "compact-copies", "leaks-legacy")
SAME_PROGRAM += ("leaks-legacy-arrays", "keeps-copied", "keeps-rejected")


def found_with(monkeypatch, faults, names):
    monkeypatch.setenv("PLANTED", " ".join(faults))
    chosen = Chosen(file=str(SCRATCH / "altered.py"))
    return engine.run(chosen, names, rounds=ROUNDS, jobs=1, together=True).outcomes


@pytest.mark.long
@pytest.mark.parametrize("planted", RUNS, ids=range(len(RUNS)))
def test_a_fault_is_found_and_its_program_shows_it(monkeypatch, planted):
    outcomes = found_with(monkeypatch, planted, [name for name, *_ in planted.values()])
    for fault, (name, severity, text) in planted.items():
        found = outcomes[name]
        assert (found.status, found.severity) == (FAILED, severity), (fault, found)
        assert text in found.found, (fault, found)
        if fault in SAME_PROGRAM:
            continue
        status, printed = shown(found.reproducer, fault)
        assert status == 1 and "FAULT: " in printed, (fault, printed)


def test_the_right_library_has_no_fault(monkeypatch):
    found = found_with(monkeypatch, (), [name for run in RUNS for name, *_ in run.values()])
    for one in found.values():
        assert one.status == PASSED, one
