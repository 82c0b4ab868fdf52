# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: one test for each check of a library that options name.

The checks run in child processes when the first test of their group runs.
"""

from __future__ import annotations

import fnmatch
from typing import Any

import pytest

_OPTIONS = {
    "--dlpack-adapter": "a Python file with make(request) and consume(source)",
    "--dlpack-producer": "the dotted name of a function such as mylib.asarray",
    "--dlpack-consumer": "the dotted name of a function such as mylib.from_dlpack",
    "--dlpack-framework": "an adapter of the kit, such as numpy",
    "--dlpack-quirks": "a TOML file of known deviations",
    "--dlpack-rounds": "rounds of the checks for leaks (100000)",
    "--dlpack-limit": "seconds that one check may take, and the library to load (120)",
    "--dlpack-load-limit": "seconds that the library may take to load, if not --dlpack-limit",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dlpack", "conformance with DLPack (dlbridge)")
    for option, text in _OPTIONS.items():
        group.addoption(option, default=None, metavar="VALUE", help=text)
    group.addoption("--dlpack-html", default=None, metavar="FILE", help="writes a report")


def _option(config: pytest.Config, name: str) -> Any:
    return config.getoption(f"--dlpack-{name}")


def _number(config: pytest.Config, name: str, read: Any, default: Any) -> Any:
    """The value of an option, read by the same rules as on the command line."""
    import argparse

    given = _option(config, name)
    try:
        return default if given is None else read(given)
    except argparse.ArgumentTypeError as error:
        raise pytest.UsageError(f"--dlpack-{name}: {error}") from None


def _chosen(config: pytest.Config) -> Any:
    from .adapters import Chosen

    names = ("adapter", "producer", "consumer", "framework")
    values = [_option(config, name) for name in names]
    if not any(values):
        return None
    if sum(map(bool, (values[0], values[1] or values[2], values[3]))) != 1:
        raise pytest.UsageError(
            "name the library: one of --dlpack-adapter, --dlpack-framework,\n"
            "or --dlpack-producer and --dlpack-consumer"
        )
    return Chosen(*values)


def pytest_configure(config: pytest.Config) -> None:
    chosen = _chosen(config)
    if chosen is not None:
        try:
            chosen.check()
            config.stash[_RUNS] = _Runs(config, chosen)
        except SystemExit as error:
            raise pytest.UsageError(str(error)) from None


class _Runs:
    """Runs each group once, when its first outcome is needed."""

    def __init__(self, config: pytest.Config, chosen: Any) -> None:
        from . import catalogue, options, quirks, report

        read = (chosen.file, _option(config, "quirks"))
        report.check_files(read, (_option(config, "html"),))
        self.chosen = chosen
        self.rounds = _number(config, "rounds", options.count, 100_000)
        self.limit = _number(config, "limit", options.seconds, 120.0)
        self.loading = _number(config, "load-limit", options.seconds, self.limit)
        path = _option(config, "quirks")
        self.known = quirks.read(path, catalogue.checks()) if path else []
        self.wanted: dict[str, list[str]] = {}
        self.outcomes: dict[str, Any] = {}
        self.report: Any = None

    def _groups(self, group: str) -> set[str]:
        """The groups that run with this one: all checks that a quirk names judge its pattern."""
        found = {group}
        named = [
            {other for other, names in self.wanted.items() if fnmatch.filter(names, one["check"])}
            for one in self.known
        ]
        while more := set().union(*(groups for groups in named if groups & found)) - found:
            found |= more
        return found

    def stale(self, outcome: Any) -> str:
        """A line about the quirk of a check that passes, for the first check that it names."""
        from .report import stale

        passed = self.report.stale[outcome.quirk["check"]]
        return stale(passed) if passed[0].name == outcome.name else ""

    def outcome(self, name: str, group: str) -> Any:
        if name not in self.outcomes:
            from . import engine

            wanted = (self.wanted.get(one, [name]) for one in sorted(self._groups(group)))
            names = [one for found in wanted for one in found]
            report = engine.run(
                self.chosen,
                names,
                rounds=self.rounds,
                limit=self.limit,
                loading=self.loading,
                known=self.known,
            )
            self.outcomes.update(report.outcomes)
            if self.report is None:
                self.report = report
            self.report.outcomes.update(report.outcomes)
        return self.outcomes[name]


_RUNS = pytest.StashKey[_Runs]()


class CheckItem(pytest.Item):
    def __init__(self, *, check: Any, runs: _Runs, **rest: Any) -> None:
        super().__init__(**rest)
        self.check, self.runs = check, runs

    def runtest(self) -> None:
        outcome = self.runs.outcome(self.check.name, self.check.group)
        if outcome.status == "skipped":
            pytest.skip(outcome.reason)
        if outcome.status == "failed" and outcome.quirk:
            pytest.xfail(f"{outcome.quirk['reason']} ({outcome.quirk['link']}): {outcome.found}")
        if outcome.status != "passed":
            raise _Failed(outcome)
        if outcome.quirk and (text := self.runs.stale(outcome)):
            pytest.fail(text, pytrace=False)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, _Failed):
            outcome = excinfo.value.outcome
            if outcome.status != "failed":
                return f"not run: {outcome.reason}"
            from .report import failure_text

            return failure_text(outcome, self.config.get_terminal_writer().fullwidth)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> Any:
        return "dlpack", None, f"{self.check.group}: {self.check.name}"


class _Failed(Exception):
    def __init__(self, outcome: Any) -> None:
        super().__init__(outcome.found)
        self.outcome = outcome


class _Collector(pytest.Collector):
    def collect(self) -> Any:
        from .catalogue import checks

        for check in checks().values():
            name = f"{check.group}::{check.name}"
            yield CheckItem.from_parent(self, name=name, check=check, runs=self.config.stash[_RUNS])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    if _RUNS not in config.stash:
        return
    collector = _Collector.from_parent(session, name="dlpack", nodeid="dlpack")
    found = list(collector.collect())
    items.extend(found)
    # The terminal counts what is collected by these reports.
    report = pytest.CollectReport("dlpack", "passed", longrepr=None, result=found)
    config.hook.pytest_collectreport(report=report)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Groups run only the checks that -k has left."""
    if _RUNS not in session.config.stash:
        return
    runs = session.config.stash[_RUNS]
    for item in session.items:
        if isinstance(item, CheckItem):
            runs.wanted.setdefault(item.check.group, []).append(item.check.name)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if _RUNS not in config.stash or config.stash[_RUNS].report is None:
        return
    from .report import notes

    report = config.stash[_RUNS].report
    terminalreporter.section("DLPack conformance")
    name = f"{report.title} {report.version}".strip()
    terminalreporter.write_line(name)
    for line in notes(report, config.get_terminal_writer().fullwidth):
        terminalreporter.write_line(line)
    if _option(config, "html"):
        from .report import write_html

        write_html(report, _option(config, "html"))
