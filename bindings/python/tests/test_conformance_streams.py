# SPDX-License-Identifier: Apache-2.0
"""The checks of the order of CUDA streams: a library that orders them passes, and one that does not
fails each of them every time. The driver is the fake of tests/fakes, or that of the machine."""

from __future__ import annotations

import pathlib

import pytest
from conformance_runs import shown
from cuda_drivers import NEEDED
from dlbridge.conformance import engine
from dlbridge.conformance.adapters import Chosen
from dlbridge.conformance.outcomes import FAILED, PASSED, SKIPPED

HERE = pathlib.Path(__file__).resolve().parent
CHECKS = ["stream-export", "stream-default", "stream-legacy", "stream-per-thread"]
CHECKS += [
    "stream-unordered",
    "stream-to-host",
    "stream-zero",
    "stream-import",
    "table-current-stream",
]
pytestmark = NEEDED


def statuses(adapter):
    report = engine.run(Chosen(file=str(HERE / f"scratch/{adapter}.py")), CHECKS)
    return {name: one.status for name, one in report.outcomes.items()}, report


def test_a_library_that_orders_streams_passes(driver):
    found, report = statuses("cuda_right")
    assert found == dict.fromkeys(CHECKS, PASSED), [one.data() for one in report.failures]


def test_a_library_that_does_not_order_streams_fails_each_time(driver):
    for _ in range(3):
        found, report = statuses("cuda_wrong")
        assert found == dict.fromkeys(CHECKS, FAILED)
    texts = {one.name: one.found for one in report.failures}
    assert texts["stream-unordered"] == "it waited for the work"
    assert texts["stream-zero"] == "a capsule named dltensor"
    assert texts["table-current-stream"] == "0x1"
    others = ("stream-unordered", "stream-zero", "table-current-stream")
    late = [name for name in CHECKS if name not in others]
    assert all(texts[name].startswith("00 00 00 00") for name in late), texts


@pytest.mark.long
def test_the_programs_show_whether_streams_are_ordered(driver):
    """The program of each failure, with the wrong library and with the right one."""
    _, report = statuses("cuda_wrong")
    for name, one in report.outcomes.items():
        status, printed = shown(one.reproducer)
        assert status == 1 and "FAULT: " in printed, (name, printed)
        status, printed = shown(one.reproducer.replace("from cuda_wrong", "from cuda_right"))
        assert status == 0 and "fine: " in printed, (name, printed)


def test_without_a_driver_the_reason_is_stated(monkeypatch):
    monkeypatch.setenv("DLBRIDGE_LIBCUDA", "/nonexistent/libcuda.so.1")
    found, report = statuses("cuda_right")
    assert set(found.values()) == {SKIPPED}
    reasons = {one.reason for one in report.outcomes.values()}
    assert any("DLBRIDGE_LIBCUDA names none" in reason for reason in reasons), reasons


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("return 1", "make_on(request, stream) calls stream.close()"),
        ("stream.close(); wait(stream)", "make_on(request, stream) returns while its work is late"),
    ],
)
def test_a_make_on_that_shows_nothing_is_reported(monkeypatch, fake, tmp_path, body, text):
    monkeypatch.setenv("DLBRIDGE_LIBCUDA", str(fake))
    file = tmp_path / "adapter.py"
    file.write_text(
        "import ctypes, os\n"
        "def make(request): return NotImplemented\n"
        "def wait(stream):\n"
        "    driver = ctypes.CDLL(os.environ['DLBRIDGE_LIBCUDA'])\n"
        "    driver.cuStreamSynchronize(ctypes.c_void_p(stream.handle))\n"
        f"def make_on(request, stream): {body}\n"
    )
    report = engine.run(Chosen(file=str(file)), ["stream-export"])
    assert report.outcomes["stream-export"].expected == text


def test_a_make_on_may_prepare_for_a_while(monkeypatch, fake, tmp_path):
    """As on a machine that does much else, or with kernels that are compiled first."""
    monkeypatch.setenv("DLBRIDGE_LIBCUDA", str(fake))
    file = tmp_path / "adapter.py"
    file.write_text(
        f"import sys, time\nsys.path.insert(0, {str(HERE / 'scratch')!r})\n"
        "import cuda_right\n"
        "from cuda_right import *\n"
        "def make_on(request, stream):\n"
        "    time.sleep(0.6)\n"
        "    return cuda_right.make_on(request, stream)\n"
    )
    report = engine.run(Chosen(file=str(file)), ["stream-export"])
    assert report.outcomes["stream-export"].status == PASSED, report.failures
