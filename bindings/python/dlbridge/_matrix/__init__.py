# SPDX-License-Identifier: Apache-2.0
"""`python -m dlbridge matrix`: every pair of frameworks, natively and through dlbridge."""

import argparse
import sys


def _arguments(argv):
    from . import cases, frameworks

    parser = argparse.ArgumentParser(prog="python -m dlbridge matrix", description=__doc__)
    parser.add_argument("--only", help="names of frameworks, separated by commas")
    parser.add_argument("--case", action="append", choices=list(cases.BY_NAME), help="a case")
    parser.add_argument("--html", metavar="FILE", help="writes the table there")
    parser.add_argument("--json", metavar="FILE", help="writes the results there")
    parser.add_argument("--jobs", type=int, help="processes at a time")
    parser.add_argument("--quiet", action="store_true", help="prints what failed and the totals")
    given = parser.parse_args(argv)
    given.names = frameworks.installed()
    if given.only:
        chosen = given.only.split(",")
        unknown = [name for name in chosen if name not in given.names]
        if unknown:
            parser.error(f"not installed, or unknown: {', '.join(unknown)}")
        given.names = [name for name in given.names if name in chosen]
    return given


def main(argv: list[str]) -> int:
    from . import frameworks, report, results

    given = _arguments(argv)
    if results.HELPER not in frameworks.installed():
        print("the matrix needs NumPy, in whose memory it makes its arrays", file=sys.stderr)
        return 2
    found = results.run(given.names, given.case, given.jobs, _progress())
    for path, words in ((given.html, report.page), (given.json, lambda r: [results.dump(r)])):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(words(found)))
    print("\n".join([report.total_line(found)] if given.quiet else report.text(found)))
    failures = list(results.failures(found))
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def _progress():
    """Says which pair is done, where somebody looks."""
    if not sys.stderr.isatty():
        return None

    def told(plan, cells, versions, starts):
        del versions
        deaths = f", {starts - 1} times restarted" if starts > 1 else ""
        print(
            f"{plan['producer']} to {plan['consumer']}: {len(cells)} steps{deaths}", file=sys.stderr
        )

    return told
