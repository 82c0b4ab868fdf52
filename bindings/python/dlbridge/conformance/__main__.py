# SPDX-License-Identifier: Apache-2.0
"""`dlpack-conformance`, or `python -m dlbridge.conformance`."""

from __future__ import annotations

import argparse
import pathlib
import signal
import sys

from . import engine, processes, quirks, report
from .adapters import Chosen
from .catalogue import checks, groups
from .options import count, seconds
from .outcomes import UNSTARTED, Outcome

# The exit status if the library could not be loaded, or what else the options name.
NOT_RUN = 2


_DESCRIPTION = "Checks whether a library exchanges DLPack tensors as the specification demands."


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="dlpack-conformance", description=_DESCRIPTION)
    made.add_argument(
        "--adapter", metavar="FILE", help="a file with make(request), consume(source)"
    )
    made.add_argument("--producer", metavar="NAME", help="such as mylib.asarray")
    made.add_argument("--consumer", metavar="NAME", help="such as mylib.from_dlpack")
    made.add_argument("--framework", metavar="NAME", help="an adapter of the kit, such as numpy")
    made.add_argument(
        "--checks", metavar="PATTERN", action="append", help="checks or groups to run"
    )
    made.add_argument("--quirks", metavar="FILE", help="known deviations")
    made.add_argument(
        "--rounds", type=count, default=engine.ROUNDS, help="of the checks for leaks (%(default)d)"
    )
    made.add_argument(
        "--limit",
        type=seconds,
        metavar="SECONDS",
        default=engine.LIMIT_SECONDS,
        help="that a check may take, and the library to load (%(default)g)",
    )
    made.add_argument(
        "--load-limit",
        type=seconds,
        metavar="SECONDS",
        help="that the library may take to load, if not --limit",
    )
    made.add_argument("--jobs", type=count, default=2, help="processes at a time (%(default)d)")
    made.add_argument("--together", action="store_true", help="one process for all groups")
    made.add_argument("--html", metavar="FILE")
    made.add_argument("--json", metavar="FILE")
    made.add_argument("--badge", metavar="FILE", help="an SVG image")
    made.add_argument("--reproducers", action="store_true", help="shows a program for each failure")
    made.add_argument("--list", action="store_true", help="lists the checks and ends")
    return made


def chosen(arguments: argparse.ArgumentParser, given: argparse.Namespace) -> Chosen:
    ways = (given.adapter, given.framework, given.producer or given.consumer)
    if sum(way is not None for way in ways) != 1:
        arguments.error(
            "name the library: one of --adapter, --framework,\nor --producer and --consumer"
        )
    if given.framework:
        from .bundled import KNOWN

        if given.framework not in KNOWN:
            arguments.error(f"--framework is one of {', '.join(KNOWN)}")
    return Chosen(given.adapter, given.producer, given.consumer, given.framework)


def list_checks() -> None:
    for group, title in groups().items():
        print(f"{group}: {title}")
        for check in checks().values():
            if check.group == group:
                print(f"  {check.name} ({check.side}, {check.severity}): {check.title}")


def write(found: engine.Report, given: argparse.Namespace) -> None:
    from rich.console import Console

    report.terminal(found, Console(), reproducers=given.reproducers)
    if given.html:
        report.write_html(found, given.html)
    if given.json:
        report.write_json(found, given.json)
    if given.badge:
        report.write_badge(found, given.badge)


def waiting(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def end(*_: object) -> None:
    """Ends the processes of the run, which have a session of their own, and removes their files."""
    processes.STOP.set()
    sys.exit(128 + signal.SIGTERM)


def main(argv: list[str] | None = None) -> int:
    try:
        return _run(argv)
    except SystemExit as error:
        if not isinstance(error.code, str):
            raise
        print(error.code, file=sys.stderr)
        return NOT_RUN


def _run(argv: list[str] | None) -> int:
    arguments = parser()
    given = arguments.parse_args(argv)
    if given.list:
        list_checks()
        return 0
    library = chosen(arguments, given)
    library.check()
    for path in filter(None, (given.html, given.json, given.badge)):
        if not pathlib.Path(path).absolute().parent.is_dir():
            arguments.error(f"{path}: there is no such folder")
    signal.signal(signal.SIGTERM, end)
    known = quirks.read(given.quirks, checks()) if given.quirks else []

    def progress(outcome: Outcome) -> None:
        # What did not run is reported once, with its reason.
        if not outcome.good and outcome.status != UNSTARTED:
            mark = ", known" if quirks.names(known, outcome) else ""
            print(f"{outcome.status} {outcome.name}{mark}", file=sys.stderr, flush=True)

    found = engine.run(
        library,
        given.checks or (),
        rounds=given.rounds,
        limit=given.limit,
        loading=given.load_limit,
        jobs=given.jobs,
        together=given.together,
        known=known,
        progress=None if sys.stdout.isatty() else progress,
        waiting=waiting,
    )
    write(found, given)
    if found.unstarted:
        return NOT_RUN
    return 0 if found.good else 1


if __name__ == "__main__":
    sys.exit(main())
