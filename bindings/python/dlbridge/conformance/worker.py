# SPDX-License-Identifier: Apache-2.0
"""The process of one group: `python -m dlbridge.conformance.worker PLAN OUTPUT`."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from . import (  # noqa: F401  (each registers its checks)
    checks_capsule,
    checks_consumer,
    checks_exchange,
    checks_hostile,
    checks_keywords,
    checks_memory,
    checks_order,
    checks_streams,
    checks_struct,
    checks_subbyte,
    processes,
)
from .adapters import Chosen
from .kit import CHECKS, Kit, message, place
from .outcomes import FAILED, PASSED, SKIPPED, Declared, Failure, Skip

# Characters of a text in a report.
LONGEST = 8000


def kit_of(chosen: dict[str, Any], rounds: int = 100_000) -> Kit:
    kit = Kit(Chosen(**chosen).load(), rounds)
    kit.chosen = chosen
    return kit


def printable(text: str) -> str:
    return processes.printable(text[:LONGEST])


def judged(kit: Kit, name: str) -> dict[str, Any]:
    """Runs one check; any exception is its outcome."""
    began = time.monotonic()
    kit.reproducer = ""
    try:
        kit.adapter.needs(name)
        CHECKS[name](kit)
        cell: dict[str, Any] = {"status": PASSED}
    except Declared as skip:
        cell = {"status": SKIPPED, "reason": str(skip), "pattern": skip.pattern}
    except Skip as skip:
        cell = {"status": SKIPPED, "reason": str(skip)}
    except Failure as failure:
        cell = {"status": FAILED, "expected": failure.expected, "found": failure.found}
        cell |= {"severity": failure.severity, "reproducer": kit.reproducer}
    except BaseException as error:  # also SystemExit and KeyboardInterrupt of an adapter
        cell = {"status": FAILED, "expected": "an answer of the library and its adapter"}
        found = message(error) + place(error)
        cell |= {"found": found, "severity": "", "reproducer": kit.reproducer}
    cell = {name: printable(text) for name, text in cell.items()}
    return {**cell, "seconds": round(time.monotonic() - began, 3)}


def _print_of_library(error: Exception) -> None:
    """Prints the traceback without the frames of the kit and of Python's import."""
    own = (os.path.dirname(os.path.abspath(__file__)), "<frozen ")
    frames = traceback.extract_tb(error.__traceback__)
    kept = [frame for frame in frames if not frame.filename.startswith(own)]
    lines = traceback.format_list(kept) + traceback.format_exception_only(type(error), error)
    print("".join(lines), end="", file=sys.stderr)


def run(plan: dict[str, Any], record: Callable[[dict[str, Any]], None]) -> None:
    try:
        kit = kit_of(plan["chosen"], plan["rounds"])
    except SystemExit as error:
        # Of the kit with a message, or of the adapter.
        if not isinstance(error.code, str):
            sys.exit(f"{error!r} while the library was loaded")
        raise
    except Exception as error:
        _print_of_library(error)
        sys.exit(1)
    kit.limit = plan["limit"] * 0.8
    # Checks collect garbage often. What the library made while it was loaded, which may be millions
    # of objects, is not looked at each time.
    gc.collect()
    gc.freeze()
    versions = {"title": kit.adapter.title, "version": kit.adapter.version()}
    record({"versions": {name: printable(text) for name, text in versions.items()}})
    sides = {"producer": kit.adapter.has_producer, "consumer": kit.adapter.has_consumer}
    kit.announce = lambda text: record({"reproducer": printable(text)})
    for (name,) in plan["steps"]:
        record({"begin": [name]})
        if not sides[plan["sides"][name]]:
            cell = {"status": SKIPPED, "reason": f"there is no {plan['sides'][name]}"}
        else:
            cell = judged(kit, name)
        record({"end": [name], "cell": cell})


def main() -> None:
    processes.serve(run)
    with contextlib.suppress(Exception):  # the library may have closed it
        sys.stdout.flush()
    # Deleters of the kit are callbacks of Python, which must not run after its end.
    os._exit(0)


if __name__ == "__main__":
    main()
