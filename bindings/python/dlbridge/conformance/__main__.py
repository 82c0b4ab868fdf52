# SPDX-License-Identifier: Apache-2.0
"""`dlpack-conformance`, or `python -m dlbridge.conformance`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator

from . import engine, quirks, report
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


# The options that name a file to write.
WAYS = {"html": report.write_html, "json": report.write_json, "badge": report.write_badge}


def write(found: engine.Report, given: argparse.Namespace) -> None:
    """Writes the files, and then to the terminal, which may have been closed."""
    for name, write_file in WAYS.items():
        path = getattr(given, name)
        try:
            if path:
                write_file(found, path)
        except OSError as error:
            raise SystemExit(f"{path}: {error.strerror}") from None
    with printing():
        from rich.console import Console

        class Terminal(Console):
            def on_broken_pipe(self) -> None:
                raise  # noqa: PLE0704  (in the handler of that exception; rich would end the process)

        report.terminal(found, Terminal(), reproducers=given.reproducers)


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Tolerates a closed or full stdout: output is lost, which is no fault of the library."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (until the end)
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            say(f"the report cannot be printed: {error.strerror}")
        # Python would try to write the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def end(number: int, _: object) -> None:
    """Ends the run, whose processes have sessions of their own. Another signal changes nothing."""
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # the terminal may be gone
        say(f"stopped by {signal.Signals(number).name}: there is no report")
    sys.exit(128 + number)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_at_signals() -> None:
    for one in SIGNALS:
        if signal.getsignal(one) is not signal.SIG_IGN:  # as nohup demands
            signal.signal(one, end)


def main(argv: list[str] | None = None) -> int:
    try:
        return _run(argv)
    except SystemExit as error:
        if not isinstance(error.code, str):
            raise
        say(error.code)
        return NOT_RUN


def _run(argv: list[str] | None) -> int:
    arguments = parser()
    given = arguments.parse_args(argv)
    if given.list:
        with printing():
            list_checks()
        return 0
    library = chosen(arguments, given)
    library.check()
    report.check_files((given.adapter, given.quirks), map(vars(given).get, WAYS))
    end_at_signals()
    known = quirks.read(given.quirks, checks()) if given.quirks else []

    def progress(outcome: Outcome) -> None:
        # What did not run is reported once, with its reason.
        if not outcome.good and outcome.status != UNSTARTED:
            mark = ", known" if quirks.names(known, outcome) else ""
            say(f"{outcome.status} {outcome.name}{mark}")

    found = engine.run(
        library,
        given.checks or (),
        rounds=given.rounds,
        limit=given.limit,
        loading=given.load_limit,
        jobs=given.jobs,
        together=given.together,
        known=known,
        progress=None if sys.stdout is not None and sys.stdout.isatty() else progress,
        waiting=say,
    )
    write(found, given)
    if found.unstarted:
        return NOT_RUN
    return 0 if found.good else 1


if __name__ == "__main__":
    sys.exit(main())
