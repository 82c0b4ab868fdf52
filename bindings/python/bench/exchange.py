# SPDX-License-Identifier: Apache-2.0
"""The cost of an exchange beside its peers, in one run.

exchange.py                    CPU time: ratio, its spread, verdict; then instructions
exchange.py --time             CPU time alone
exchange.py --instructions     instructions alone, which other load does not change
exchange.py --own              dlbridge's own instructions in the rows that need NumPy only, as
                               pairs for bench/budget.py
exchange.py -k TEXT            rows whose title contains TEXT
"""

from __future__ import annotations

import argparse

import counting
import timing
from rows import IMPORT_TARGET, ROWS, Row, compiled, names, needs


def report_times(rows: list[Row]) -> None:
    using = names([text for row in rows for text in row.expressions()])
    print("CPU time of one call; the ratio, its quartiles and the target")
    for row in rows:
        runs = [compiled(text, using) for text in row.expressions()]
        if None in runs:
            print(f"{row.title:30} not measured: {row.own} or {row.peer} is not installed")
            continue
        found = timing.compare(*runs)
        first, third = found.quartiles
        print(
            f"{row.title:30}{found.own:8.0f} ns, {found.median:5.2f} ({first:.2f} to {third:.2f}) "
            f"of {found.peer:.0f} ns {row.peer} (target {row.target}): "
            f"{found.verdict(row.target)}",
            flush=True,
        )


def report_import() -> None:
    times, verdict = timing.import_time(IMPORT_TARGET)
    middle = times[len(times) // 2]
    print(
        f"{'import dlbridge':30}{middle:8.1f} ms ({times[0]:.1f} to {times[-1]:.1f}) "
        f"(target {IMPORT_TARGET}): {verdict}"
    )


def report_instructions(rows: list[Row]) -> None:
    """No targets: a share of instructions is not a share of time."""
    texts = sorted({text for row in rows for text in row.expressions()})
    found = counting.count(texts)
    print("Instructions of one call, and the share of the peer's")
    for row in rows:
        if row.own in found and row.peer in found:
            own = found[row.own] - found[row.own_base]
            peer = found[row.peer] - found[row.peer_base]
            print(f"{row.title:30}{own:8.0f}, {own / peer:5.2f} of {peer:.0f} {row.peer}")


def report_own(rows: list[Row]) -> None:
    chosen = [row for row in rows if not needs(row.own)]
    found = counting.count(
        [text for row in chosen for text in (row.own, row.own_base)], counting.own
    )
    for row in chosen:
        print(f"{row.title}={found[row.own] - found[row.own_base]:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--counted", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("-k", default="", metavar="TEXT")
    given = parser.parse_args()
    if given.counted:
        counting.run_counted(given.counted)
        return
    rows = [row for row in ROWS if given.k in row.title]
    if given.own:
        report_own(rows)
        return
    if not given.instructions:
        report_times(rows)
        if given.k in "import dlbridge":
            report_import()
    if not given.time:
        report_instructions(rows)


if __name__ == "__main__":
    main()
