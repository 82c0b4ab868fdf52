# SPDX-License-Identifier: Apache-2.0
"""Runs the modules, each in a process of its own, and sums up their checks.

runner.py [FOLDER [MODULE...]]    FOLDER: gpu-results; gets results.jsonl, summary.txt, log.txt

Status 0: nothing failed. 1: a check failed. 2: there is no CUDA driver or no device. Environment:
DLBRIDGE_LIBRARY names the library, DLBRIDGE_GPU_LIMIT the seconds that a module may take (60). With
DLBRIDGE_GPU_LARGE=1 a check may use more memory than the system reports as free.
"""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

HERE = pathlib.Path(__file__).resolve().parent
MODULES = (
    "backend_info",
    "pointers",
    "captures",
    "contexts",
    "copies",
    "ordering",
    "package",
    "torch",
    "cupy",
    "jax",
    "numba",
    "cuda_core",
    "ipc",
    "ipc_torch",
    "conformance",
    "timings",
    "sanitizer",
)
FRAMEWORKS = ("torch", "cupy", "jax", "numba", "cuda_core", "ipc_torch", "conformance", "timings")
VARIABLES = {
    # JAX would take most of the device's memory at its start.
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    # Streams that share a connection wait for each other, the closed gate of a test included.
    "CUDA_DEVICE_MAX_CONNECTIONS": "32",
}
# Loading a kernel at its first use may wait for those that run. Frameworks have too many for that.
WITHOUT_FRAMEWORKS = {"CUDA_MODULE_LOADING": "EAGER"}
KINDS = ("passed", "failed", "skipped")
WIDTH = 80
LIMIT = float(os.environ.get("DLBRIDGE_GPU_LIMIT", "60"))


def ending(process):
    """How a process ended, if not by itself after its last check."""
    try:
        status = process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"did not end within {LIMIT:g} seconds"
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return "" if status in (0, 1) else f"ended with status {status}"


def read_lines(path):
    """The lines of a module. A process that was killed may leave a line unfinished."""
    lines = []
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            print(f"not a line of JSON: {text[:200]}", file=sys.stderr)
    return lines


def run_module(module, folder, log):
    """The checks of a module; a process that breaks off is a failed check of its own."""
    path = folder / f"{module}.part"
    path.unlink(missing_ok=True)
    began = time.monotonic()
    log.write(f"==> {module}\n")
    log.flush()
    command = (sys.executable, "-B", str(HERE / "checks.py"), module, str(path))
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        env=os.environ | VARIABLES | ({} if module in FRAMEWORKS else WITHOUT_FRAMEWORKS),
    )
    reason = ending(process)
    lines = read_lines(path)
    path.unlink(missing_ok=True)
    if process.returncode != 0 and all(line["result"] != "failed" for line in lines):
        reason = reason or "ended with status 1 but reported no failed check"
    if not reason and not lines:
        reason = "reported no check"
    seconds = round(time.monotonic() - began, 4)
    line = {"module": module, "check": "process", "measured": {"status": process.returncode}}
    line |= {"result": "failed" if reason else "passed", "reason": reason, "seconds": seconds}
    return [*lines, line]


def is_driver_missing(lines):
    """Whether the check of backend_info that looks for a driver failed."""
    wanted = ("backend_info", "driver", "failed")
    return any((one["module"], one["check"], one["result"]) == wanted for one in lines)


def table(lines):
    """One row per module."""
    yield f"{'module':<44}" + "".join(f"{kind:>9}" for kind in (*KINDS, "seconds"))
    total = collections.Counter()
    for module in dict.fromkeys(line["module"] for line in lines):
        mine = [line for line in lines if line["module"] == module]
        found = collections.Counter(line["result"] for line in mine)
        total += found
        row = "".join(f"{found[kind]:>9}" for kind in KINDS)
        yield f"{module:<44}{row}{mine[-1]['seconds']:>9.1f}"
    seconds = sum(line["seconds"] for line in lines if line["check"] == "process")
    yield f"{'all':<44}" + "".join(f"{total[kind]:>9}" for kind in KINDS) + f"{seconds:>9.1f}"


def notes(lines):
    """What failed, and how many checks were skipped for which reason."""
    for line in lines:
        if line["result"] == "failed":
            yield f"failed: {line['module']}, {line['check']}: {line['reason']}"
    skipped = ((line["module"], line["reason"]) for line in lines if line["result"] == "skipped")
    for (module, reason), count in collections.Counter(skipped).items():
        yield f"skipped: {module}, {count} check{'s' * (count > 1)}: {reason}"


def wrapped(text):
    return textwrap.wrap(text, WIDTH, subsequent_indent="    ")


def status_of(lines):
    if is_driver_missing(lines):
        return 2
    return 1 if any(line["result"] == "failed" for line in lines) else 0


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "gpu-results").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    with (
        (folder / "log.txt").open("w") as log,
        (folder / "results.jsonl").open("w") as results,
    ):
        for module in sys.argv[2:] or MODULES:
            print(f"{module} ...", flush=True)
            found = run_module(module, folder, log)
            results.writelines(json.dumps(line) + "\n" for line in found)
            results.flush()
            lines += found
    text = (
        "\n".join((*table(lines), *(row for note in notes(lines) for row in wrapped(note)))) + "\n"
    )
    (folder / "summary.txt").write_text(text)
    print(text, end="")
    sys.exit(status_of(lines))


if __name__ == "__main__":
    main()
