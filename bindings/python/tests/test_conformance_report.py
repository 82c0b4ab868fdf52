# SPDX-License-Identifier: Apache-2.0
"""The reports of the conformance kit fit into a terminal, and name what patterns hide."""

from __future__ import annotations

import io

import pytest
from conformance_runs import SCRATCH, no_sanitizers
from dlbridge.conformance import capsules, checks, engine, quirks, report, reproducers, tensors
from dlbridge.conformance.adapters import Chosen, Request
from dlbridge.conformance.outcomes import FAILED, PASSED, SKIPPED, Outcome

pytestmark = no_sanitizers
WIDTH = 80


def report_of(*outcomes):
    return engine.Report("title", "1", "2026-01-01", 1, {one.name: one for one in outcomes})


def printed(found):
    """The lines of a report in the terminal."""
    console = pytest.importorskip("rich.console").Console(width=WIDTH, file=io.StringIO())
    report.terminal(found, console, reproducers=True)
    return console.file.getvalue().splitlines()


# -------------------------------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("*", "matches float32, which nearly every check needs"),
        ("float*", "matches float32, which nearly every check needs"),
        ("pl*", "matches plain, which nearly every check needs"),
        ("hostile-*", "matches all .* checks of the group hostile"),
        ("*or*-im[pq]*", "matches no check, no dtype and no layout"),
    ],
)
def test_a_pattern_of_unsupported_that_hides_too_much_or_nothing_is_rejected(
    tmp_path, pattern, message
):
    file = tmp_path / "wide.py"
    file.write_text(f"unsupported = [{pattern!r}]\ndef make(request): ...\n")
    with pytest.raises(SystemExit, match=message):
        Chosen(file=str(file)).load()


def test_a_rejected_pattern_is_reported_by_a_run(tmp_path):
    file = tmp_path / "wide.py"
    file.write_text("unsupported = ['float*']\ndef make(request): ...\n")
    found = engine.run(Chosen(file=str(file)), ["values"])
    assert not found.good and "matches float32" in found.outcomes["values"].reason


def test_a_quirk_of_a_whole_group_is_rejected(tmp_path):
    file = tmp_path / "quirks.toml"
    file.write_text("[[quirk]]\ncheck = 'hostile-*'\nreason = 'why'\nlink = 'https://x'\n")
    with pytest.raises(SystemExit, match="choose what runs with --checks or -k"):
        quirks.read(str(file), checks())


def test_a_run_names_the_checks_that_each_pattern_hides(monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.syspath_prepend(str(SCRATCH))
    chosen = Chosen(file=str(SCRATCH / "right.py"))
    found = engine.run(chosen, ["export-float*", "export-bfloat16"])
    assert found.hidden["bfloat16"] == ["export-bfloat16"] and len(found.hidden["float8*"]) == 8
    assert found.data()["hidden"] == found.hidden
    lines = printed(found)
    assert "unsupported: bfloat16 hides 1 check: export-bfloat16" in lines
    assert any(line.startswith("unsupported: float8* hides 8 checks: ") for line in lines)


def test_a_report_names_the_failures_of_each_quirk(tmp_path):
    pytest.importorskip("jinja2")
    names = ("copy-true", "copy-false", "copy-none")
    found = report_of(*(Outcome(one, FAILED, severity="deviation") for one in names))
    quirks.enter(found.outcomes, [{"check": "copy-*", "reason": "why", "link": "https://x"}])
    assert list(found.excused.values()) == [list(names)]
    line = "known: copy-* names 3 failures: copy-true, copy-false, copy-none"
    assert line in printed(found)
    report.write_html(found, str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "names 3 failures: copy-true, copy-false, copy-none" in page


def test_a_report_groups_the_reasons_of_skipped_checks(tmp_path):
    names = list(checks())
    found = report_of(
        Outcome(names[0], PASSED),
        Outcome(names[1], SKIPPED, reason="a rare reason"),
        *(Outcome(name, SKIPPED, reason="a reason") for name in names[2:4]),
        Outcome(names[4], SKIPPED, reason="declared", pattern=names[4]),
    )
    lines = [line for line in printed(found) if line.startswith("skipped: ")]
    assert lines == [
        f"skipped: 2 checks: {names[2]}, {names[3]}: a reason",
        f"skipped: 1 check: {names[1]}: a rare reason",
    ]
    several = [Outcome(name, SKIPPED, reason=f"because of {name}") for name in names[:14]]
    assert "skipped: 2 more reasons, which --json and --html have" in printed(report_of(*several))


@pytest.mark.parametrize(
    ("statuses", "known", "text", "colour"),
    [
        ([PASSED, PASSED, SKIPPED], "", "2 passed, 1 skipped", "#4a4"),
        ([PASSED, FAILED], "", "1 passed, 1 failed", "#c33"),
        ([PASSED, FAILED], "copy-true", "1 passed, 1 known failure", "#b90"),
        ([PASSED, PASSED], "copy-true", "2 passed, 1 quirk to remove", "#c33"),
        ([SKIPPED, SKIPPED], "", "not run", "#c33"),
    ],
)
def test_a_badge_says_what_its_numbers_count(tmp_path, statuses, known, text, colour):
    names = ("copy-none", "copy-true", "copy-false")
    found = report_of(*(Outcome(*one, severity="deviation") for one in zip(names, statuses)))
    if known:
        quirks.enter(found.outcomes, [{"check": known, "reason": "why", "link": "https://x"}])
    report.write_badge(found, str(tmp_path / "badge.svg"))
    badge = (tmp_path / "badge.svg").read_text()
    assert f"DLPack: {text}" in badge and f'fill="{colour}"' in badge


def test_a_pattern_whose_checks_all_pass_is_one_line(tmp_path):
    names = ("copy-true", "copy-false", "copy-none")
    found = report_of(*(Outcome(one, PASSED) for one in names))
    quirks.enter(found.outcomes, [{"check": "copy-*", "reason": "why", "link": "https://x"}])
    lines = " ".join(line.strip() for line in printed(found))
    assert lines.count("remove its quirk") == 1
    text = "copy-* passes now in 3 checks: copy-true, copy-false, copy-none; remove its quirk: why"
    assert text in lines
    pytest.importorskip("jinja2")
    report.write_html(found, str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert page.count("remove this known deviation") == 1
    assert "in 3 checks: copy-true, copy-false, copy-none. Its reason was: why" in page


# --------------------------------------------------------------------------------------- texts


def test_lines_fit_into_the_terminal_except_for_addresses():
    tensor = tensors.of_form("plain")
    program = reproducers.consumer("import numpy\nconsume = numpy.from_dlpack\n", tensor)
    quirk = {"check": "values", "reason": "a long reason " * 20, "link": "https://x"}
    outcomes = [
        Outcome(
            "copy-true", FAILED, "expected " * 40, "found " * 40, "crash", program, quirk=quirk
        ),
        Outcome("values", PASSED, quirk=quirk),
        Outcome("copy-false", SKIPPED, reason="a reason", pattern="copy-false"),
    ]
    lines = printed(report_of(*outcomes))
    wide = [line for line in lines if len(line) > WIDTH]
    assert wide == [f"  {checks()['copy-true'].url}"]
    assert any(line.startswith("            expected expected") for line in lines)


def test_programs_of_producers_fit_too():
    keywords = {"max_version": (1, 3), "dl_device": (5, 0)}
    made = [how("", Request(), keywords) for how in (reproducers.producer, reproducers.both)]
    assert max(len(line) for text in made for line in text.splitlines()) <= WIDTH - 4


def test_no_text_of_a_check_has_the_bytes_of_a_name():
    tensor = tensors.of_form("plain")
    capsule = tensor.capsule(b"\xff\n")
    assert capsules.label(capsule) == "a capsule named \\xff\n"
    assert capsules.label(tensor.capsule()) == "a capsule named dltensor_versioned"
    assert capsules.label(b"dltensor") == "an object of type bytes"
