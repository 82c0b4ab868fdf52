# SPDX-License-Identifier: Apache-2.0
"""Runs each plan of steps in a separate process, and continues after a step that kills it."""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from . import frameworks

# A process is stuck after this time. Imports alone take up to 15 s.
LIMIT_SECONDS = 300
# The status of steps whose process died before its first step. It proves nothing.
UNSTARTED = "unstarted"
# Arguments of Python for the process of a plan.
WORKER = ["-m", f"{__package__}.worker"]


def _records(path):
    """The records of a process. The last line of a dead process may be incomplete."""
    records = []
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                records.append(json.loads(line))
            except ValueError:
                break
    return records


def _death(status):
    if status is None:
        return f"ran for more than {LIMIT_SECONDS} s"
    if status < 0:
        return f"died of {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _once(plan, folder, environment):
    """Runs one process; returns its records, its exit status (None: killed) and its last output."""
    (folder / "plan.json").write_text(json.dumps(plan))
    output = folder / "output"
    output.unlink(missing_ok=True)
    command = [sys.executable, "-B", *WORKER]
    with (folder / "log").open("w+") as log:
        try:
            status = subprocess.run(
                [*command, str(folder / "plan.json"), str(output)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                timeout=LIMIT_SECONDS,
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
        log.seek(0)
        return _records(output), status, log.read()[-4000:]


def _environment(folder, names):
    environment = {**os.environ, **frameworks.ENVIRONMENT}
    paths = [str(pathlib.Path(__file__).absolute().parents[1]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    if "dpnp" in names:
        environment.update(frameworks.use_intel_driver(str(folder)))
    return environment


def run(plan):
    """Runs all steps of a plan; returns {(case, mode): cell}, versions, number of processes."""
    results, versions, starts = {}, {}, 0
    steps = [tuple(step) for step in plan["steps"]]
    with tempfile.TemporaryDirectory(prefix="dlbridge-matrix-") as name:
        folder = pathlib.Path(name)
        environment = _environment(folder, (plan["producer"], plan["consumer"]))
        while steps:
            starts += 1
            records, status, log = _once({**plan, "steps": steps}, folder, environment)
            begun = None
            for record in records:
                versions |= record.get("versions", {})
                begun = tuple(record["begin"]) if "begin" in record else begun
                if "end" in record:
                    results[tuple(record["end"])] = record["cell"]
                    begun = None
            left = [step for step in steps if step not in results]
            if begun is None and left and len(left) == len(steps):
                why = f"before its first step {_death(status)}: {' '.join(log.split())[-300:]}"
                return results | dict.fromkeys(left, {"status": UNSTARTED, "why": why}), {}, starts
            if begun is not None:
                results[begun] = {"status": "crash", "why": _death(status)}
                left = [step for step in left if step != begun]
            elif not left and status != 0:
                # The process finished every step and then died at exit.
                results[steps[-1]] = {"status": "crash", "why": f"at exit: {_death(status)}"}
            steps = left
    return results, versions, starts


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
