# SPDX-License-Identifier: Apache-2.0
"""Runs the checks of each group in a process of its own."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import datetime
import fnmatch
import os
import pathlib
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import frameworks, processes, quirks
from .adapters import Chosen
from .catalogue import Check, checks, groups, severities
from .outcomes import FAILED, PASSED, SKIPPED, UNSTARTED, Outcome

ROUNDS = 100_000
# A check that takes longer hangs, and so does a library that takes longer to load.
LIMIT_SECONDS = 120.0


@dataclasses.dataclass
class Report:
    """The outcomes of a run, in the order of the list."""

    title: str
    version: str
    date: str
    rounds: int
    outcomes: dict[str, Outcome]
    # CPU time of the processes of the run. The elapsed time depends on what else the machine does.
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """A run that has checked nothing proves nothing."""
        return self.count(PASSED) > 0 and all(one.good for one in self.outcomes.values())

    def count(self, status: str) -> int:
        return sum(outcome.status == status for outcome in self.outcomes.values())

    @property
    def known(self) -> int:
        """Failures that are listed as quirks."""
        found = self.outcomes.values()
        return sum(outcome.status == FAILED and outcome.quirk is not None for outcome in found)

    @property
    def stale(self) -> dict[str, list[Outcome]]:
        """Pattern of a quirk that no longer occurs -> the checks that it names."""
        found: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes.values():
            if outcome.status == PASSED and outcome.quirk:
                found.setdefault(outcome.quirk["check"], []).append(outcome)
        return found

    @property
    def idle(self) -> dict[str, list[str]]:
        """Pattern of a quirk -> the checks that it names, if all of them were skipped."""
        found: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes.values():
            if outcome.quirk:
                found.setdefault(outcome.quirk["check"], []).append(outcome)
        return {
            pattern: [one.name for one in named]
            for pattern, named in found.items()
            if all(one.status == SKIPPED for one in named)
        }

    @property
    def failures(self) -> list[Outcome]:
        """The failures, the worst first."""
        order = severities()
        found = [outcome for outcome in self.outcomes.values() if outcome.status == FAILED]
        return sorted(found, key=lambda outcome: order.index(outcome.severity))

    @property
    def hidden(self) -> dict[str, list[str]]:
        """Pattern of `unsupported` -> the checks that it has hidden."""
        found: dict[str, list[str]] = {}
        for outcome in self.outcomes.values():
            if outcome.pattern:
                found.setdefault(outcome.pattern, []).append(outcome.name)
        return found

    @property
    def excused(self) -> dict[str, list[str]]:
        """Pattern of a quirk -> the failures that it names, but for one that is a name itself."""
        found: dict[str, list[str]] = {}
        for outcome in self.failures:
            if outcome.quirk and outcome.quirk["check"] != outcome.name:
                found.setdefault(outcome.quirk["check"], []).append(outcome.name)
        return found

    @property
    def unstarted(self) -> list[Outcome]:
        return [one for one in self.outcomes.values() if one.status == UNSTARTED]

    def summary(self) -> str:
        text = f"{self.count(PASSED)} passed, {self.count(FAILED)} failed"
        if self.known:
            text += f" ({self.known} known)"
        if self.unstarted:
            text += f", {len(self.unstarted)} not run"
        return f"{text}, {self.count(SKIPPED)} skipped"

    def data(self) -> dict[str, Any]:
        table = checks()
        rows = []
        for name, outcome in self.outcomes.items():
            check = dataclasses.asdict(table[name])
            rows.append({**check, "severity": check["severity"], **outcome.data()})
        names = ("title", "version", "date", "rounds", "seconds")
        facts = {name: getattr(self, name) for name in names}
        return {**facts, "hidden": self.hidden, "excused": self.excused, "checks": rows}


def select(patterns: Iterable[str] = ()) -> list[Check]:
    """The checks whose name or group matches one of the patterns; all without patterns."""
    wanted = list(patterns)
    if not wanted:
        return list(checks().values())
    found: set[str] = set()
    for pattern in wanted:
        named = [check.name for check in checks().values() if _matches(check, pattern)]
        if not named:
            raise SystemExit(f"no check or group matches {pattern!r}")
        found.update(named)
    return [check for check in checks().values() if check.name in found]


def _matches(check: Check, pattern: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for name in (check.name, check.group))


def run(
    chosen: Chosen,
    patterns: Iterable[str] = (),
    *,
    rounds: int = ROUNDS,
    limit: float = LIMIT_SECONDS,
    loading: float | None = None,
    jobs: int | None = None,
    together: bool = False,
    known: list[dict[str, str]] | None = None,
    progress: Callable[[Outcome], None] | None = None,
    waiting: Callable[[str], None] | None = None,
) -> Report:
    """Runs the chosen checks. `limit` is the time that one check may take, in seconds, and
    `loading` that of the library to load, which is the same by default. `together` runs all groups
    in one process, which is started again after a crash. `waiting` gets a line if the library takes
    long to load."""
    selected = select(patterns)
    parts = [[check for check in selected if check.group == group] for group in groups()]
    if together:
        parts = [selected]
    processes.open_standard_streams()
    report = Report(chosen.label, "", _today(), rounds, {})
    limits = processes.Limits(limit, limit if loading is None else loading)
    starting = _once_told(chosen, limits, waiting)
    began = _cpu_seconds()
    with _stopping(concurrent.futures.ThreadPoolExecutor(jobs or 2)) as pool:
        started = [
            (pool.submit(_group, chosen, part, rounds, limits, starting), part)
            for part in parts
            if part
        ]
        for future, part in started:
            if report.unstarted:
                # The other groups would not start either.
                future.cancel()
            if future.cancelled():
                why = report.unstarted[0].reason
                outcomes = [Outcome(check.name, UNSTARTED, reason=why) for check in part]
                versions: dict[str, str] = {}
            else:
                outcomes, versions = future.result()
            report.title = versions.get("title", report.title)
            report.version = versions.get("version", report.version)
            for outcome in outcomes:
                report.outcomes[outcome.name] = outcome
                if progress:
                    progress(outcome)
    quirks.enter(report.outcomes, known or [])
    report.seconds = round(_cpu_seconds() - began, 1)
    return report


@contextlib.contextmanager
def _stopping(
    pool: concurrent.futures.ThreadPoolExecutor,
) -> Iterator[concurrent.futures.ThreadPoolExecutor]:
    """Ends the processes of the run if the user or a signal breaks it off."""
    with pool:
        try:
            yield pool
        except BaseException:
            processes.STOP.set()
            pool.shutdown(cancel_futures=True)
            processes.STOP.clear()
            raise


def _once_told(
    chosen: Chosen, limits: processes.Limits, waiting: Callable[[str], None] | None
) -> Callable[[], None]:
    """Tells once what the processes wait for."""
    lines = [f"waiting for {chosen.label} to be loaded, for at most {limits.loading:g} s"]

    def starting() -> None:
        with contextlib.suppress(IndexError):
            line = lines.pop()
            if waiting:
                waiting(line)

    return starting


def _cpu_seconds() -> float:
    """Of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _today() -> str:
    """SOURCE_DATE_EPOCH makes reports reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    zone = datetime.timezone.utc
    when = (
        datetime.datetime.fromtimestamp(int(epoch), zone) if epoch else datetime.datetime.now(zone)
    )
    return when.date().isoformat()


def _environment(chosen: Chosen) -> dict[str, str]:
    """The child imports what this process imports, also from its current folder."""
    package = str(pathlib.Path(__file__).resolve().parents[2])
    paths = [os.path.abspath(path) for path in (*sys.path, os.getcwd()) if path]
    return {
        **os.environ,
        **chosen.environment(),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([*paths, package])),
    }


def _absolute(file: str | None) -> str | None:
    return None if file is None else str(pathlib.Path(file).absolute())


def _group(
    chosen: Chosen,
    part: list[Check],
    rounds: int,
    limits: processes.Limits,
    starting: Callable[[], None],
) -> tuple[list[Outcome], dict[str, str]]:
    plan = {
        # A library may change the folder of its process, from which others are started.
        "chosen": dataclasses.asdict(chosen) | {"file": _absolute(chosen.file)},
        "rounds": rounds,
        "limit": limits.step,
        "steps": [[check.name] for check in part],
        "sides": {check.name: check.side for check in part},
    }
    command = [sys.executable, "-B", "-m", f"{__package__}.worker"]
    prepare = frameworks.use_intel_driver if chosen.framework == "dpnp" else None
    environment = _environment(chosen)
    cells, versions, _ = processes.run(plan, command, environment, limits, prepare, starting)
    return [outcome_of(check, cells[(check.name,)]) for check in part], versions


def outcome_of(check: Check, cell: dict[str, Any]) -> Outcome:
    status = cell["status"]
    if status == processes.CRASH:
        found = f"the process {cell['why']}{cell.get('place', '')}"
        program = cell.get("reproducer", "")
        return Outcome(check.name, FAILED, cell["expected"], found, "crash", program)
    if status == processes.UNSTARTED:
        return Outcome(check.name, UNSTARTED, reason=cell["why"])
    severity = cell.pop("severity", "") or check.severity
    names = {field.name for field in dataclasses.fields(Outcome)}
    fields = {name: value for name, value in cell.items() if name in names}
    return Outcome(check.name, severity=severity if status == FAILED else "", **fields)
