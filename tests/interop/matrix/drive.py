# SPDX-License-Identifier: Apache-2.0
"""Runs each plan of steps in a separate process, and continues after a step that kills it."""

import concurrent.futures
import os
import pathlib
import sys

from dlbridge.conformance import frameworks, processes
from dlbridge.conformance.processes import UNSTARTED

__all__ = ["UNSTARTED"]
# A step is stuck after this time. Imports alone take up to 15 s.
LIMIT_SECONDS = LOADING_SECONDS = 300
# Arguments of Python for the process of a plan.
WORKER = ["-m", f"{__package__}.worker"]


def _environment():
    environment = {**os.environ, **frameworks.ENVIRONMENT}
    paths = [str(pathlib.Path(__file__).absolute().parents[1]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


def run(plan):
    """Runs all steps of a plan; returns {(case, mode): cell}, versions, number of processes."""
    intel = "dpnp" in (plan["producer"], plan["consumer"])
    cells, *rest = processes.run(
        plan,
        [sys.executable, "-B", *WORKER],
        _environment(),
        processes.Limits(LIMIT_SECONDS, LOADING_SECONDS),
        frameworks.use_intel_driver if intel else None,
    )
    return (_recorded(cells), *rest)


def _recorded(cells):
    """The cells without what is not recorded of a crash: the place differs from run to run."""
    return {
        step: {key: cell[key] for key in cell if key not in ("place", "expected")}
        for step, cell in cells.items()
    }


def run_all(plans, jobs=None, progress=None):
    """Runs plans in parallel and returns their results in order; calls `progress` for each."""
    jobs = jobs or os.cpu_count() or 1
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = [(plan, pool.submit(run, plan)) for plan in plans]
        done = []
        for plan, future in waiting:
            done.append((plan, *future.result()))
            if progress:
                progress(*done[-1])
        return done
