# SPDX-License-Identifier: Apache-2.0
"""What the conformance kit says of a failure: its severity, where a process died, and a program
that shows the fault without dlbridge."""

from __future__ import annotations

import pytest
from conformance_runs import SCRATCH, newer_numpy, no_sanitizers, one_run, shown
from dlbridge.conformance import capsules, checks, engine, processes
from dlbridge.conformance.adapters import Chosen
from dlbridge.conformance.outcomes import FAILED, PASSED, SKIPPED

pytest.importorskip("numpy")
pytestmark = no_sanitizers
ROUNDS = 1000


def outcomes(monkeypatch, fault, *names, **options):
    """Checks the library of scratch/planted.py, which has the fault."""
    monkeypatch.setenv("PLANTED", fault)
    chosen = Chosen(file=str(SCRATCH / "planted.py"))
    return engine.run(chosen, names, rounds=ROUNDS, jobs=1, **options).outcomes


# Fault of planted.py -> the checks that find it, and whose programs show it.
SHOWN = {
    "deleter-once": (
        *("deleter-once", "deleter-on-thread", "consumer-leak", "consumer-threads"),
        "hostile-null-strides-version-1.3",
    ),
    "scalar-as-row copied negative-id legacy-bytes": (
        *("shape-and-strides", "not-copied", "struct-valid", "legacy-same", "device-own"),
    ),
    "flushes asks-stream": ("layout-plain", "consumer-stays", "consumer-threads", "stream-none"),
    "used-capsule": ("used-capsule", "foreign-capsule"),
    "copy-apart": ("copy-apart", "copy-true"),
    "detached": ("shares", "seen", "copy-false"),
    "arena": ("outlives-producer", "capsule-many"),
    "kept": ("deleter-releases",),
    "no-destructor": ("capsule-destructor",),
    "leak": ("producer-leak",),
    "deleter-after-exit": ("deleter-after-exit",),
    "shared-extents": ("capsule-many",),
    "main-thread": ("deleter-without-gil",),
    "bytes": ("capsule-many", "capsule-used", "outlives-producer", "values", "shape-and-strides"),
    "cached": ("capsule-many", "capsule-used", "deleter-releases"),
    "device": ("device-tuple",),
    "changes-struct": ("deleter-once", "used-capsule", "struct-unchanged"),
    "errors": ("passes-errors",),
    "view": ("consumer-view",),
    "writes": ("immutable-stays",),
    # What __dlpack__ answers. Faults that do not meet share a run.
    "ignores-version drops-read-only signed": (
        *("version-legacy", "version-old", "read-only-flag", "export-uint8"),
    ),
    "no-version-1.1": ("version-versioned", "version-future"),
    "no-keywords": ("keywords-accepted", "keywords-none"),
    "any-device stream no-int8 read-only second-device not-empty of-the-future": (
        *("device-unknown", "stream-on-cpu", "export-error", "export-standard"),
        *("writable-flag", "device-id", "empty", "version-future"),
    ),
    "null of-the-future": ("strides-present",),
    # What arrives.
    "ignores-strides ignores-offset one-axis": (
        *("layout-transposed", "layout-negative", "layout-broadcast", "layout-gaps"),
        *("layout-byte-offset", "layout-scalar", "layout-scalar-null", "own-layouts"),
    ),
    "rejects": ("layout-plain", "layout-empty", "consumes-versioned", "version-minor"),
    "rejects-and-deletes": ("layout-byte-offset", "rejected-leak"),
    "keeps-name any-version any-ndim anything type-error read-only-imports copies": (
        *("capsule-renamed", "version-major-0", "hostile-major-0", "not-a-capsule"),
        *("hostile-ndim-negative-versioned", "no-protocol", "flags-writable", "consumer-shares"),
    ),
}


# Their checks run in one process, which saves the start of others.
ONE_PROCESS = ("scalar-as-row copied negative-id legacy-bytes", "flushes asks-stream")


def are_shown(found, names, fault):
    """Whether the programs of these failures show the fault, and none of the right library."""
    for name in names:
        assert found[name].status == FAILED, name
        program = found[name].reproducer
        assert "dlbridge" not in program.replace(str(SCRATCH), "")
        assert max(map(len, program.replace(str(SCRATCH), "").splitlines())) <= 76
        status, text = shown(program, fault)
        assert status == 1 and "FAULT: " in text, (name, text)
        status, text = shown(program, "")
        assert status == 0 and "fine: " in text and "FAULT" not in text, (name, text)


@one_run
@pytest.mark.long
@pytest.mark.parametrize("fault", SHOWN)
def test_a_reproducer_shows_the_fault_and_that_a_right_library_has_none(monkeypatch, fault):
    found = outcomes(monkeypatch, fault, *SHOWN[fault], together=fault in ONE_PROCESS)
    are_shown(found, SHOWN[fault], fault)
    if "flushes" in fault:  # wrong values are no fault of threads
        assert found["consumer-threads"].severity == "wrong answer"


# The faults of tabled.py, whose arrays have a C exchange API.
TABLED = {
    "table-name table-version": ("table-capsule", "table-header"),
    "table-null-strides table-dtype table-member deleter-once": (
        *("table-members", "table-export", "table-borrow", "table-allocates", "table-import"),
    ),
}


@one_run
@pytest.mark.long
@pytest.mark.parametrize("fault", TABLED)
def test_the_programs_of_a_table_show_its_fault(monkeypatch, fault):
    monkeypatch.setenv("PLANTED", fault)
    chosen = Chosen(file=str(SCRATCH / "tabled.py"))
    found = engine.run(chosen, TABLED[fault], rounds=ROUNDS, together=True).outcomes
    are_shown(found, TABLED[fault], fault)
    # Only a NULL function is called one, since a consumer that trusts the table calls it.
    assert "crash" not in {one.severity for one in found.values() if one.name != "table-members"}


def test_the_right_library_passes_these_checks(monkeypatch):
    names = [name for found in SHOWN.values() for name in found]
    found = outcomes(monkeypatch, "", *names, "shape-and-strides", "legacy-same", "copy-false")
    found |= outcomes(monkeypatch, "", "struct-valid")
    skipped = {name for name, one in found.items() if one.status == SKIPPED}
    assert {one.status for one in found.values()} == {PASSED, SKIPPED}
    # It rejects what is not compact, as it may, and exports every array in version 1.0.
    layouts = ("transposed", "negative", "broadcast", "gaps")
    assert skipped == {*(f"layout-{name}" for name in layouts), "export-error", "strides-present"}


def test_a_cache_that_fills_once_is_no_leak(monkeypatch):
    found = outcomes(monkeypatch, "cache", "producer-leak")["producer-leak"]
    assert found.status == PASSED, found


def test_a_second_run_of_the_deleter_is_corruption(monkeypatch):
    """In the checks for leaks too."""
    found = outcomes(monkeypatch, "deleter-once", "consumer-leak", "consumer-threads")
    assert [one.severity for one in found.values()] == ["corruption", "corruption"]
    assert found["consumer-threads"].found == "402 runs"


def test_a_used_capsule_that_is_deleted_twice_has_the_program_of_deleters(monkeypatch):
    found = outcomes(monkeypatch, "deleter-once", "used-capsule")["used-capsule"]
    assert "FAULT: the deleter ran 2 times" in shown(found.reproducer, "deleter-once")[1]


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ("flag-3", "a flag bit is unknown: 0x8 (rule FLAGS_UNKNOWN, plain int8)"),
        ("flag-63", "a flag bit is unknown: 0x8000000000000000 (rule FLAGS_UNKNOWN, plain int8)"),
        ("flag-padded", "flags 0x4, 8 bits (plain int8)"),
    ],
)
def test_flags_that_a_struct_cannot_have_are_found(monkeypatch, fault, found):
    outcome = outcomes(monkeypatch, fault, "struct-valid")["struct-valid"]
    assert (outcome.status, outcome.found) == (FAILED, found)


@newer_numpy
@pytest.mark.parametrize(
    ("fault", "kind"), [("bytes", "(16, 4)"), ("compact", "(3, 1)"), ("null", "NULL")]
)
def test_strides_that_do_not_lead_to_the_values_are_found(monkeypatch, fault, kind):
    found = outcomes(monkeypatch, fault, "shape-and-strides")["shape-and-strides"]
    assert found.status == FAILED and kind in found.found, found
    form = {"bytes": "(4, 1), in elements (plain)"}.get(fault, "(1, 4), in elements (transposed)")
    assert found.expected == f"strides {form}"


@newer_numpy
def test_structs_with_other_strides_differ(monkeypatch):
    found = outcomes(monkeypatch, "legacy-bytes", "legacy-same")["legacy-same"]
    assert found.found == "strides (16, 4) in the legacy one"


def test_a_library_of_legacy_capsules_has_nothing_to_compare(monkeypatch):
    found = outcomes(monkeypatch, "legacy-only", "legacy-same")["legacy-same"]
    assert found.reason == "the producer exports legacy capsules only, also for max_version=(1, 3)"


# ------------------------------------------------------------------------------------- adapters

ADAPTER = """\
import numpy
def make(request):
    {made}
    memory = numpy.frombuffer(bytearray(request.bits), request.dtype)
    return request.view(memory.reshape(request.base_shape))
def consume(source): return numpy.from_dlpack(source)
def read(array): return array.tobytes(){cut}
def writable(array): {writable}
"""


@one_run
@pytest.mark.parametrize(
    ("parts", "name", "found"),
    [
        ({"made": "1 / 0"}, "values", "ZeroDivisionError: division by zero (in make, {} line 3)"),
        ({"made": "return"}, "values", "None; return NotImplemented for what the library does not"),
        ({"writable": "1 / 0"}, "shares", "division by zero (in writable, {} line 8)"),
        ({"cut": "[:-16]"}, "layout-plain", "none there; 32 bytes in all"),
    ],
)
def test_a_mistake_of_an_adapter_is_named(tmp_path, parts, name, found):
    file = tmp_path / "mistaken.py"
    right = {"made": "", "cut": "", "writable": "return True"}
    file.write_text(ADAPTER.format(**{**right, **parts}))
    [failure] = engine.run(Chosen(file=str(file)), [name], rounds=100).failures
    assert found.format(f"{tmp_path.name}/mistaken.py") in failure.found
    assert failure.expected != failure.found


def test_flags_have_their_names():
    assert capsules.flags_text(0) == "flags 0x0 (none)"
    assert (
        capsules.flags_text(3 | 1 << 40)
        == "flags 0x10000000003 (READ_ONLY, IS_COPIED, unknown bits)"
    )


# ------------------------------------------------------------------------------ where it happens


def test_a_crash_has_its_place_and_what_was_expected(monkeypatch):
    found = outcomes(monkeypatch, "crash", "copy-false")["copy-false"]
    assert found.expected == "each call returns or raises, and the process lives on"
    assert found.found.startswith("the process died of SIGSEGV in __dlpack__, scratch/planted.py")


def test_a_hang_has_its_place_and_the_time(monkeypatch):
    found = outcomes(monkeypatch, "hang", "copy-false", limit=2, loading=100)["copy-false"]
    assert found.expected == "each call returns or raises within 2 s"
    where = "in __dlpack__, scratch/planted.py"
    assert found.found.startswith(f"the process ran for more than 2 s {where}")


def test_a_crash_in_the_child_of_a_broken_tensor_has_its_place(monkeypatch):
    name = "hostile-ndim-negative-versioned"
    found = outcomes(monkeypatch, "crash-hostile", name)[name]
    assert "the process died of SIGSEGV in consume, scratch/planted.py line" in found.found


def test_threads_that_hang_have_their_places(tmp_path):
    file = tmp_path / "hangs.py"
    file.write_text(
        "import threading, numpy\n"
        "lock = threading.Lock()\n"
        "lock.acquire()\n"
        "def wait(): lock.acquire()\n"
        "def consume(source):\n"
        "    if threading.current_thread() is not threading.main_thread(): wait()\n"
        "    return numpy.from_dlpack(source)\n"
    )
    chosen = Chosen(file=str(file))
    [found] = engine.run(chosen, ["consumer-threads"], limit=2, loading=100).failures
    assert found.expected == "each call returns or raises within 2 s"
    others = f"; other threads: in wait, {tmp_path.name}/hangs.py line 4 (4 threads)"
    assert found.found.endswith(others)
    assert " in _on_threads, conformance/checks_memory.py line " in found.found


def test_a_dead_thread_without_frames_has_no_place():
    assert processes.place("Fatal Python error: Aborted\n\n<no Python frame>\n") == ""


@pytest.mark.parametrize("name", ["copy-false", "layout-plain"])
def test_the_expectation_of_a_check_is_not_its_title(name):
    cell = {"status": processes.CRASH, "why": "died of SIGSEGV", "expected": "a call that returns"}
    outcome = engine.outcome_of(checks()[name], cell)
    assert outcome.expected == "a call that returns" != checks()[name].title


MISBEHAVIOUR = ("bytes-to-stdout", "child-lives", "changes-folder", "no-stdout", "no-environment")


@pytest.mark.parametrize("fault", MISBEHAVIOUR)
def test_what_a_library_does_to_its_process_is_no_fault_of_its_deleter(monkeypatch, fault):
    monkeypatch.setenv("PLANTED", fault)
    monkeypatch.chdir(SCRATCH)
    found = engine.run(Chosen(file="planted.py"), ["deleter-after-exit", "capsule-name"], jobs=1)
    assert [one.status for one in found.outcomes.values()] == [PASSED] * 2, found.failures


@pytest.mark.long
def test_a_thread_that_lives_on_is_no_deleter_that_hangs(monkeypatch):
    found = outcomes(monkeypatch, "thread-lives", "deleter-after-exit", limit=8, loading=100)
    assert found["deleter-after-exit"].reason.startswith("Python does not end, since it waits")


@pytest.mark.parametrize("fault", ["misnamed", "misnamed-with-destructor"])
def test_a_versioned_struct_in_a_capsule_of_the_other_name_is_found_and_harms_nothing(
    monkeypatch, fault
):
    names = ["capsule-*", "deleter-*", "values", "struct-valid", "outlives-producer"]
    found = outcomes(monkeypatch, fault, *names)
    wrong = {name: one.found for name, one in found.items() if one.status == FAILED}
    assert wrong == {"capsule-name": "a capsule named dltensor, with a struct of version 1.0"}
    assert found["struct-valid"].status == PASSED
    assert found["capsule-destructor"].reason.endswith("see capsule-name")


# ------------------------------------------------------------------------- dtypes below a byte

SMALL = """\
import numpy
from dlbridge.conformance import handmade, values
def make(request):
    memory = numpy.frombuffer({bits}, "uint8").copy()
    tensor = {{"data": memory.ctypes.data, "byte_offset": 0, "device": (1, 0)}}
    tensor |= {{"dtype": values.SMALL[request.dtype], "shape": (3, 4), "strides": (4, 1)}}
    return handmade.Export(memory, tensor, flags={flags})
"""


@pytest.mark.parametrize(
    ("bits", "flags", "packed", "padded"),
    [
        ("values.packed(request.dtype)", 0, PASSED, SKIPPED),
        ("request.bits", 4, SKIPPED, PASSED),
        ("request.bits", 0, FAILED, SKIPPED),
        ("values.packed(request.dtype) * 2", 4, SKIPPED, FAILED),
    ],
)
def test_elements_below_a_byte_are_packed_or_flagged(tmp_path, bits, flags, packed, padded):
    file = tmp_path / "small.py"
    file.write_text(SMALL.format(bits=bits, flags=flags))
    names = [f"export-{one}" for one in ("float4-e2m1fn", "float6-e3m2fn", "padded")]
    found = engine.run(Chosen(file=str(file)), names).outcomes
    assert [found[name].status for name in names] == [packed, packed, padded], found
    for one in found.values():
        if one.status == FAILED:
            assert "FAULT: the tensor has other elements" in shown(one.reproducer)[1]


# Memory that changes when its last owner is gone.
SCRUBBED = """\
import ctypes, numpy
from dlbridge.conformance import capsules, values
class Memory(bytearray):
    def __del__(self): self[:] = b"\\xff" * len(self)
def owned(bits): return numpy.frombuffer(Memory(bits), "uint8").reshape(3, 4)
class Array:
    def __init__(self, bits, triple, flags):
        self.values = owned(bits.ljust(12))
        self.triple, self.flags, self.shape = triple, flags, (3, 4)
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, *, max_version=None, copy=None, **rest):
        capsule = {exported}.__dlpack__(max_version=max_version)
        struct = capsules.look(capsule)
        dtype = struct.dl_tensor.dtype
        dtype.code, dtype.bits, dtype.lanes = self.triple
        if max_version: struct.flags = self.flags
        return capsule
def make(request):
    padded = request.dtype == "float4_e2m1fn"
    small = request.dtype in values.SMALL
    bits = values.packed(request.dtype) if small and not padded else request.bits
    return Array(bits, {{**values.DTYPES, **values.SMALL}}[request.dtype], 4 * padded)
def consume(source):
    held = source.__dlpack__(max_version=(1, 3))
    found = capsules.describe(capsules.take(held))
    return Array(found.elements(), found.dtype, found.flags)
"""


@pytest.mark.parametrize("exported", ["self.values", "owned(self.values.tobytes())"])
def test_the_kit_reads_an_export_before_it_releases_it(tmp_path, exported):
    """Also one that is a copy."""
    file = tmp_path / "scrubbed.py"
    file.write_text(SCRUBBED.format(exported=exported))
    names = ["export-padded", "export-float6-e2m3fn", "import-float6-e2m3fn", "import-int8"]
    found = engine.run(Chosen(file=str(file)), names).outcomes
    assert [found[name].status for name in names] == [PASSED] * 4, found


@pytest.mark.parametrize(("kept", "status"), [("source", PASSED), ("Dropped(source)", FAILED)])
def test_a_consumer_that_takes_padded_elements_for_packed_ones_is_found(tmp_path, kept, status):
    file = tmp_path / "small.py"
    file.write_text(
        "import dlbridge\n"
        "from dlbridge.conformance import capsules\n"
        "class Dropped:\n"
        "    def __init__(self, source): self.source = source\n"
        "    def __dlpack_device__(self): return (1, 0)\n"
        "    def __dlpack__(self, **keywords):\n"
        "        capsule = self.source.__dlpack__(**keywords)\n"
        "        capsules.look(capsule).flags = 0\n"
        "        return capsule\n"
        f"def consume(source): return dlbridge.from_dlpack({kept})\n"
    )
    names = ["import-padded", "import-float4-e2m1fn", "import-float6-e2m3fn"]
    found = engine.run(Chosen(file=str(file)), names).outcomes
    assert [found[name].status for name in names] == [status, PASSED, PASSED], found
    if status == FAILED:
        program = found["import-padded"].reproducer
        assert "FAULT: the array differs from the tensor" in shown(program)[1]
