# SPDX-License-Identifier: Apache-2.0
"""The engine of the matrix reports faults, survives crashes, and demands proofs of reasons."""

import copy
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from dlbridge.conformance import frameworks, handmade

from . import cases, drive, measure, proofs, report, results


class Consumer(frameworks.NumPy):
    """NumPy with one fault."""

    def __init__(self, fault=None):
        super().__init__()
        self.fault = fault
        self.kept = []

    def take(self, source):
        array = super().take(source)
        if self.fault == "values":
            array = array + 1
        if self.fault == "copies":
            array = array.copy()
        if self.fault == "leaks":
            self.kept.append(array)
        if self.fault == "rejects":
            raise ValueError("no")
        return array

    def writable(self, array):
        return True if self.fault == "writable" else super().writable(array)


def bridged(fault, case="plain"):
    return measure.bridged(frameworks.NumPy(), Consumer(fault), cases.BY_NAME[case])


def test_a_good_cell():
    assert bridged(None) == {"status": "ok"}
    assert measure.native(frameworks.NumPy(), Consumer(), cases.BY_NAME["plain"]) == {
        "status": "ok"
    }


@pytest.mark.parametrize(
    ("fault", "case", "problem"),
    [
        ("values", "plain", "values differ"),
        ("copies", "plain", "copied silently"),
        ("leaks", "plain", "the source is never released"),
        ("writable", "read-only", "an immutable array arrived writable"),
    ],
)
def test_faults_are_reported(fault, case, problem):
    cell = bridged(fault, case)
    assert cell["status"] == "wrong"
    assert problem in cell["problems"]


def test_a_rejection_is_reported(monkeypatch):
    assert bridged("rejects") == {"status": "ok", "way": "to"}

    def to(*args, **options):
        raise BufferError("neither")

    monkeypatch.setattr(measure, "to", to)
    rejected = {"status": "rejected", "why": "ValueError: no"}
    assert bridged("rejects") == rejected
    plain = cases.BY_NAME["plain"]
    assert measure.native(frameworks.NumPy(), Consumer("rejects"), plain) == rejected


def test_unneeded_permissions_are_reported(monkeypatch):
    class Greedy:
        def __init__(self, array, **options):
            error = BufferError("more")
            error.remedy = {"strides": "compact"}
            raise error

    monkeypatch.setattr(measure, "adapt", Greedy)
    assert "demanded without need" in bridged(None)["why"]


def test_deleters_are_counted():
    counted = handmade.Counted(np.arange(3.0))
    capsule = counted.__dlpack__()
    assert (counted.handed_out, counted.deleted) == (1, 0)
    del capsule
    assert counted.deleted == 1


def test_handmade_tensors_can_be_read_back():
    bits = cases.base("float32")
    tensor = handmade.describe(handmade.look(capsule := bits[::-1].__dlpack__()))
    assert handmade.elements(tensor) == bits[::-1].tobytes()
    assert handmade.kind(capsule) == handmade.LEGACY
    before = handmade.alive()
    array = np.from_dlpack(handmade.Export(bits, tensor))
    assert handmade.alive() == before + 1
    np.testing.assert_array_equal(array, bits[::-1])
    del array
    assert handmade.alive() == before


def test_numpy_proves_that_it_lacks_bfloat16():
    numpy = frameworks.NumPy()
    proof = proofs.prove(numpy, numpy, cases.BY_NAME["bfloat16"])
    assert (proof["status"], proof["reason"]) == (proofs.PROVED, "no-dtype")
    assert proofs.prove(numpy, numpy, cases.BY_NAME["scalar"])["status"] == proofs.UNPROVED


def test_the_table_describes_numpy():
    numpy = frameworks.NumPy()
    for name in proofs.FACTS:
        assert proofs.fact(numpy, numpy, name)["status"] == "ok", name


def made_up(status, **details):
    ours = {"status": status, **details}
    return {
        "versions": {"numpy": "2"},
        "pairs": {"numpy>numpy": {"plain": {"native": {"status": "ok"}, "dlbridge": ours}}},
        "proofs": {},
        "facts": {},
    }


def test_verdicts():
    assert not list(results.failures(made_up("ok")))
    assert list(results.failures(made_up("wrong", problems=["values differ"])))
    assert list(results.failures(made_up("crash", why="died")))
    assert not list(results.failures(made_up("absent", reason="no-array", why="Lacks: it")))
    rejected = made_up("rejected", why="no")
    assert list(results.failures(rejected)), "a reason needs a proof"
    rejected["proofs"] = {"numpy": {"plain": {"status": proofs.UNPROVED, "accepted": ["legacy"]}}}
    assert list(results.failures(rejected))
    proved = copy.deepcopy(rejected)
    proved["proofs"]["numpy"]["plain"] = {"status": proofs.PROVED, "reason": "no-dtype"}
    assert not list(results.failures(proved))
    wrong = made_up("ok")
    wrong["facts"] = {"numpy": {"is immutable": {"status": "wrong", "found": True, "table": False}}}
    assert list(results.failures(wrong)) == [
        "numpy: is immutable: expected False as the table says, found True"
    ]


def test_results_survive_a_round_trip():
    found = made_up("ok", permissions=["readonly=copy"])
    assert json.loads(results.dump(found)) == found
    assert results.dump(found) == results.dump(json.loads(results.dump(found)))


def test_reports_show_failures():
    broken = made_up("wrong", problems=["values differ"])
    assert "FAILED: wrong" in "\n".join(report.text(broken))
    assert "FAILED: wrong" in "\n".join(report.markdown_tables(broken))
    assert 'class="failed"' in "\n".join(report.page(broken))
    marked = made_up("ok", permissions=["readonly=copy"], copied="dlbridge")
    assert "ok → copy (r)" in "\n".join(report.text(marked))


WORKER = """
    import json, os, sys
    plan = json.load(open(sys.argv[1]))
    with open(sys.argv[2], "w") as output:
        for step in plan["steps"]:
            print(json.dumps({"begin": step}), file=output, flush=True)
            if step[0] == "dies":
                os.abort()
            print(json.dumps({"end": step, "cell": {"status": "ok"}}), file=output, flush=True)
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Replaces the worker by a script that dies in the step "dies"."""
    script = tmp_path / "worker.py"

    def use(text):
        script.write_text(textwrap.dedent(text))
        monkeypatch.setattr(drive, "WORKER", [str(script)])

    use(WORKER)
    return use


def plan(*steps):
    return {"producer": "numpy", "consumer": "numpy", "steps": [[step, "native"] for step in steps]}


def test_a_crash_costs_one_step(worker):
    cells, _, starts = drive.run(plan("first", "dies", "second", "third"))
    assert starts == 2
    assert cells["first", "native"] == cells["third", "native"] == {"status": "ok"}
    assert cells["dies", "native"] == {"status": "crash", "why": "died of SIGABRT"}


def test_a_death_before_the_first_step_proves_nothing(worker):
    worker("raise SystemExit('no such framework')")
    cells, _, starts = drive.run(plan("first"))
    assert starts == 1
    cell = cells["first", "native"]
    assert cell["status"] == drive.UNSTARTED
    assert "no such framework" in cell["why"]
    found = made_up("ok")
    results._sort("numpy", {("plain", "proof"): cell, ("is immutable", "fact"): cell}, found)
    assert found["proofs"]["numpy"]["plain"]["status"] != proofs.PROVED
    assert list(results.failures(found))
    assert list(results.failures(made_up(**cell)))


def test_a_death_at_exit_proves_nothing():
    found = made_up("ok")
    at_exit = {"status": "crash", "why": "at exit: died of SIGSEGV"}
    results._sort("numpy", {("bool", "proof"): at_exit}, found)
    assert found["proofs"]["numpy"]["bool"]["status"] == proofs.UNPROVED
    died = {"status": "crash", "why": "died of SIGSEGV"}
    results._sort("numpy", {("bool", "proof"): died}, found)
    assert found["proofs"]["numpy"]["bool"]["status"] == proofs.PROVED


def test_a_death_at_exit_is_reported(worker):
    worker(WORKER + "\n    os.abort()")
    cells, _, _ = drive.run(plan("first", "second"))
    assert cells["second", "native"]["why"] == "at exit: died of SIGABRT"


def test_a_process_that_never_ends_is_killed(worker, monkeypatch):
    worker(WORKER.replace("os.abort()", "while True: pass"))
    monkeypatch.setattr(drive, "LIMIT_SECONDS", 5)
    cells, _, _ = drive.run(plan("dies", "second"))
    assert "more than 5 s" in cells["dies", "native"]["why"]
    assert cells["second", "native"] == {"status": "ok"}


def command(*arguments):
    path = os.pathsep.join([str(pathlib.Path(__file__).parents[1]), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, "-B", "-m", "matrix", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_the_command(tmp_path):
    page, found = tmp_path / "matrix.html", tmp_path / "matrix.json"
    ran = command("measure", found, "numpy", "--case", "plain", "--no-facts")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    assert "1 cells: 1 work natively, 1 through dlbridge" in ran.stdout
    assert set(json.loads(found.read_text())["pairs"]) == {"numpy>numpy"}
    assert command("page", found, page).returncode == 0
    assert "<table>" in page.read_text(encoding="utf-8")
    rejected = command("measure", found, "nope")
    assert rejected.returncode == 2
    assert "nope" in rejected.stderr
