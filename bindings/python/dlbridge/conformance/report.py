# SPDX-License-Identifier: Apache-2.0
"""Writes a report: a table in the terminal, HTML, JSON, a badge."""

from __future__ import annotations

import json
import os
import pathlib
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .catalogue import checks, groups
from .engine import Report
from .outcomes import FAILED, PASSED, SKIPPED, Outcome

if TYPE_CHECKING:
    from rich.console import Console

# Names of checks that a line about a pattern shows.
_SHOWN = 4
# Reasons of skipped checks that the terminal shows.
_REASONS = 12


def check_files(read: Iterable[str | None], written: Iterable[str | None]) -> None:
    """Exits with a message for files that cannot be written, or would overwrite another one."""
    seen = {pathlib.Path(path).resolve() for path in read if path}
    for path in filter(None, written):
        file = pathlib.Path(path).resolve()
        if file in seen:
            raise SystemExit(f"{path}: another option names this file too")
        seen.add(file)
        if file.is_dir():
            raise SystemExit(f"{path} is a folder")
        if not file.parent.is_dir():
            raise SystemExit(f"{path}: there is no such folder")
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise SystemExit(f"{path}: it cannot be written")


def terminal(report: Report, console: Console, *, reproducers: bool = False) -> None:
    """The groups, then each failure with its specification."""
    from rich.table import Table

    title = f"DLPack conformance of {report.title} {report.version}".strip()
    table = Table(
        "group", "passed", "failed", "known", "skipped", title=title, title_justify="left"
    )
    for group in groups():
        rows = _rows(report, group)
        if rows:
            failed = [one for one in rows if one.status == FAILED]
            known = sum(one.quirk is not None for one in failed)
            numbers = [sum(one.status == status for one in rows) for status in (PASSED, SKIPPED)]
            mark = f"[red]{len(failed)}[/red]" if len(failed) > known else str(len(failed))
            table.add_row(group, str(numbers[0]), mark, str(known), str(numbers[1]))
    if len(report.unstarted) < len(report.outcomes):
        console.print(table)
    # Lines are wrapped here, since rich would break programs and addresses.
    for text in (
        *(_text(outcome, console.width, reproducers) for outcome in report.failures),
        *_skips(report, console.width),
        *notes(report, console.width),
    ):
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def _skips(report: Report, width: int) -> list[str]:
    """The reasons of skipped checks, the most frequent first, but for what the adapter declares."""
    reasons: dict[str, list[str]] = {}
    for outcome in report.outcomes.values():
        if outcome.status == SKIPPED and not outcome.pattern:
            reasons.setdefault(outcome.reason, []).append(outcome.name)
    ordered = sorted(reasons.items(), key=lambda item: -len(item[1]))
    lines = [f"skipped: {_counted(names, 'check')}: {reason}" for reason, names in ordered]
    more = len(lines) - _REASONS
    if more > 0:
        lines[_REASONS:] = [f"skipped: {more} more reasons, which --json and --html have"]
    return [_wrapped("", line, width) for line in lines]


def notes(report: Report, width: int) -> list[str]:
    """Remarks on quirks, hidden checks and checks that did not run, and the summary line."""
    lines = list(map(stale, report.stale.values()))
    for pattern, names in report.hidden.items():
        lines.append(f"unsupported: {pattern} hides {_counted(names, 'check')}")
    for pattern, names in report.excused.items():
        lines.append(f"known: {pattern} names {_counted(names, 'failure')}")
    for pattern, names in report.idle.items():
        lines.append(f"known: {pattern} names no failure, but {_counted(names, 'skipped check')}")
    if not report.count(PASSED) and not report.unstarted:
        lines.append("no check passed, so nothing is proved")
    not_run = [_not_run(outcome, width) for outcome in report.unstarted[:1]]
    return not_run + [_wrapped("", line, width) for line in [*lines, report.summary()]]


def stale(passed: list[Outcome]) -> str:
    """A line about a quirk that no longer occurs."""
    quirk = passed[0].quirk or {}
    if quirk["check"] == passed[0].name:
        return f"{passed[0].name} passes now; remove its quirk: {quirk['reason']}"
    names = _counted([one.name for one in passed], "check")
    return f"{quirk['check']} passes now in {names}; remove its quirk: {quirk['reason']}"


def _not_run(outcome: Outcome, width: int) -> str:
    """The reason, and below it what the process has printed, as it is."""
    why, _, said = outcome.reason.partition("\n")
    text = _wrapped("", f"not run: {why}", width)
    return f"{text}\n{textwrap.indent(said, '  ')}" if said else text


def _counted(names: list[str], what: str) -> str:
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return f"{len(names)} {what}{'s' * (len(names) != 1)}: {shown}"


def _wrapped(head: str, text: str, width: int) -> str:
    """A text in lines of at most `width` columns, below each other. Addresses are not broken."""
    return textwrap.fill(
        text,
        max(width, 40),
        initial_indent=head,
        subsequent_indent=" " * (len(head) or 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _rows(report: Report, group: str) -> list[Outcome]:
    return [one for one in report.outcomes.values() if checks()[one.name].group == group]


def _text(outcome: Outcome, width: int, reproducers: bool) -> str:
    """A failure as plain text."""
    check = checks()[outcome.name]
    lines = [
        _wrapped("", f"{outcome.severity.upper()} {outcome.name}: {check.title}", width),
        _wrapped("  expected  ", outcome.expected, width),
        _wrapped("  found     ", outcome.found, width),
        _wrapped("  source    ", check.source, width),
        f"  {check.url}",
    ]
    if outcome.quirk:
        lines.append(_wrapped("  known     ", outcome.quirk["reason"], width))
        lines.append(f"  {outcome.quirk['link']}")
    if reproducers and outcome.reproducer:
        lines += ["", textwrap.indent(outcome.reproducer.rstrip(), "    ")]
    return "\n".join(lines) + "\n"


def failure_text(outcome: Outcome, width: int) -> str:
    """The text of a failure for pytest, with reproducers."""
    return _text(outcome, width, reproducers=True)


def write_json(report: Report, path: str) -> None:
    text = json.dumps(report.data(), indent=1, ensure_ascii=False)
    pathlib.Path(path).write_text(text + "\n", encoding="utf-8")


def write_html(report: Report, path: str) -> None:
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    folder = pathlib.Path(__file__).resolve().parent
    template = environment.from_string((folder / "report.html.j2").read_text(encoding="utf-8"))
    parts = [(group, title, _rows(report, group)) for group, title in groups().items()]
    found = [part for part in parts if part[2]]
    text = template.render(report=report, checks=checks(), parts=found)
    pathlib.Path(path).write_text(text + "\n", encoding="utf-8")


_BADGE = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" \
aria-label="{label}: {value}">
<title>{label}: {value}</title>
<rect width="{width}" height="20" rx="3" fill="#555"/>
<rect x="{left}" width="{right}" height="20" rx="3" fill="{colour}"/>
<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">
<text x="{middle_left}" y="14">{label}</text>
<text x="{middle_right}" y="14">{value}</text>
</g>
</svg>
"""


def write_badge(report: Report, path: str) -> None:
    run = report.count(PASSED) + report.count(FAILED)
    known, stale = report.known, len(report.stale)
    parts = (
        (report.count(PASSED), "passed"),
        (report.count(FAILED) - known, "failed"),
        (known, f"known failure{'s' * (known != 1)}"),
        (stale, f"quirk{'s' * (stale != 1)} to remove"),
        (report.count(SKIPPED), "skipped"),
    )
    value = ", ".join(f"{count} {what}" for count, what in parts if count) if run else "not run"
    colour = "#c33" if not report.good else "#b90" if known else "#4a4"
    left, right = 62, 14 + 7 * len(value)
    pathlib.Path(path).write_text(
        _BADGE.format(
            label="DLPack",
            value=value,
            colour=colour,
            left=left,
            right=right,
            width=left + right,
            middle_left=left // 2,
            middle_right=left + right // 2,
        ),
        encoding="utf-8",
    )
