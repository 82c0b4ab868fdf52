# SPDX-License-Identifier: Apache-2.0
"""Runs steps in a child process, and continues after a step that kills it or hangs. `serve` is the
child's side."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import dataclasses
import faulthandler
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO, cast

# The status of steps whose process died before its first step. It proves nothing.
UNSTARTED, CRASH = "unstarted", "crash"
# A user is told that a library takes longer than this to load.
PATIENCE_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Limits:
    """Seconds that a step may take, and that a process may take to load the library before it."""

    step: float
    loading: float


# Bytes of the log that are kept.
_LOGGED = 2**16
Step = tuple[str, ...]
Answers = dict[Step, dict[str, Any]]


def _records(output: BinaryIO) -> list[dict[str, Any]]:
    """The records of a process. The last line of a dead process may be incomplete, and a library
    may write to every descriptor."""
    records: list[dict[str, Any]] = []
    output.seek(0)
    for line in output.read().decode(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            if _is_record(record):
                records.append(record)
    return records


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    steps = [record[name] for name in ("begin", "end") if name in record]
    named = all(
        isinstance(step, list) and all(isinstance(part, str) for part in step) for step in steps
    )
    texts = [record.get("reproducer", ""), *_texts(record.get("versions", {}))]
    if "end" in record:
        cell = record.get("cell")
        texts.append(cell.get("status") if isinstance(cell, dict) else None)
    return named and all(isinstance(text, str) for text in texts)


def _texts(versions: Any) -> list[Any]:
    return list(versions.values()) if isinstance(versions, dict) else [None]


def death(status: int | None, limit: float) -> str:
    if status is None:
        return f"ran for more than {limit:g} s"
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"died of {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _survived(status: int | None, limit: float) -> str:
    """The expectation that a process with this exit status has violated."""
    if status is None:
        return f"each call returns or raises within {limit:g} s"
    return "each call returns or raises, and the process lives on"


# Set to end a run: the main thread learns of a signal, others wait for the processes.
STOP = threading.Event()


class Stopped(Exception):
    """The run was ended by STOP."""


def _wait(
    child: subprocess.Popen[bytes], output: BinaryIO, limits: Limits, starting: Callable[[], None]
) -> int | None:
    """The exit status, or None after the limit without a new record. Calls `starting` if there is
    none for a while."""
    size, began = 0, time.monotonic()
    end, told = began + limits.loading, False
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(timeout=0.1)
        now = os.fstat(output.fileno()).st_size
        if now != size:
            size, end = now, time.monotonic() + limits.step
        if not size and not told and time.monotonic() > began + PATIENCE_SECONDS:
            told = True
            starting()
        if STOP.is_set():
            raise Stopped
        if time.monotonic() > end:
            _ask_for_frames(child)
            return None


def _ask_for_frames(child: subprocess.Popen[bytes]) -> None:
    """Makes faulthandler report where the process hangs."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        child.send_signal(signal.SIGABRT)
        child.wait(timeout=5)


_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
# Names the folder of a process in its environment, and in that of all that it starts.
_MARK = "DLBRIDGE_CONFORMANCE_PROCESS"
_PARENT = "DLBRIDGE_CONFORMANCE_PARENT"


def _end(child: subprocess.Popen[bytes], folder: pathlib.Path) -> None:
    """Ends the process, and those that it has started and left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    # Those that have left its session, where the system shows them.
    mark = f"{_MARK}={folder}".encode()
    for file in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in file.read_bytes().split(b"\0"):
                os.kill(int(file.parent.name), signal.SIGKILL)


def open_standard_streams() -> None:
    """A standard stream that is closed would give its number to a file that processes share."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number


def _end_with_parent(parent: int) -> None:
    """The process dies with the thread that started it, where the system offers that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it has died already


class Files:
    """The plan, the records and the printed text of one process at a time. They have no names: a
    library that empties the folder of temporary files does not reach them."""

    def __init__(self) -> None:
        # A library may have removed the folder itself.
        os.makedirs(tempfile.gettempdir(), exist_ok=True)
        self._opened = contextlib.ExitStack()
        self.plan, self.output, self.log = (self._new() for _ in range(3))

    def _new(self) -> BinaryIO:
        return cast(BinaryIO, self._opened.enter_context(tempfile.TemporaryFile()))

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def begin(self, plan: dict[str, Any]) -> None:
        """Empties the files for a process with this plan."""
        for file in (self.plan, self.output, self.log):
            file.seek(0)
            file.truncate()
        self.plan.write(json.dumps(plan).encode())
        self.plan.flush()

    @property
    def shared(self) -> tuple[int, int]:
        """The descriptors that the process gets. It opens them by their paths."""
        return self.plan.fileno(), self.output.fileno()

    def tail(self) -> str:
        """The end of what a process has printed, which may be more than fits into memory."""
        self.log.seek(max(self.log.seek(0, os.SEEK_END) - _LOGGED, 0))
        return self.log.read().decode(errors="replace")


# What precedes the report of faulthandler, and the frames in it of each thread; the current one
# died or got the signal.
_FAULT = "Fatal Python error"
_THREAD = re.compile(r"(Current thread|Thread) 0x[^\n]*\n((?:  File [^\n]*\n)+)")
_FRAME = re.compile(r'  File "([^"\n]*)", line (\d+) in ([^\n]*)')
_STANDARD = sysconfig.get_paths()["stdlib"]


# Lines of a log that a report shows, and characters of each.
_LINES, _COLUMNS = 12, 300
# Places of threads that a report shows.
_THREADS = 4


def printable(text: str) -> str:
    """A library's messages may have control characters, and lone surrogates."""
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text)


def _said(log: str) -> str:
    """Some lines of a log: faulthandler's report, which names the guilty frame first, or the end of
    it, which is a traceback of Python."""
    fault = log.rfind(_FAULT)
    lines = [printable(line.rstrip()[:_COLUMNS]) for line in log[max(fault, 0) :].splitlines()]
    kept = [line for line in lines if line]
    return "\n".join(kept[:_LINES] if fault >= 0 else kept[-_LINES:])


def place(log: str) -> str:
    """The innermost frame in faulthandler's report that is not of Python's own modules, or nothing.
    The report of a thread that Python does not know has none."""
    current, _ = _places(log)
    return "".join(current[:1])


def places(log: str) -> str:
    """As `place`, with the frames of other threads: a process that hangs may wait for one."""
    current, others = _places(log)
    counted = collections.Counter(others)
    listed = [
        f"{where}{f' ({count} threads)' if count > 1 else ''}" for where, count in counted.items()
    ]
    text = f"; other threads:{','.join(listed[:_THREADS])}" if listed else ""
    return "".join(current[:1]) + text


def _places(log: str) -> tuple[list[str], list[str]]:
    """The places of the current thread, if it is known, and of the others."""
    found: tuple[list[str], list[str]] = ([], [])
    for thread in _THREAD.finditer(log, max(log.rfind(_FAULT), 0)):
        frames = _FRAME.findall(thread[2])
        file, line, function = next((one for one in frames if not _is_standard(one[0])), frames[0])
        name = "/".join(pathlib.PurePath(file).parts[-2:])
        found[thread[1] == "Thread"].append(f" in {function}, {name} line {line}")
    return found


def _is_standard(file: str) -> bool:
    return file.startswith(_STANDARD) and "site-packages" not in file


def _once(
    plan: dict[str, Any],
    files: Files,
    folder: pathlib.Path,
    command: list[str],
    environment: dict[str, str],
    limits: Limits,
    starting: Callable[[], None],
) -> tuple[list[dict[str, Any]], int | None, str]:
    """Runs one process; returns its records, its exit status (None: killed) and its last output."""
    files.begin(plan)
    child = subprocess.Popen(
        [*command, *(f"/dev/fd/{number}" for number in files.shared)],
        stdin=subprocess.DEVNULL,
        stdout=files.log,
        stderr=files.log,
        pass_fds=files.shared,
        env={**environment, _MARK: str(folder), _PARENT: str(os.getpid())},
        start_new_session=True,
    )
    try:
        status = _wait(child, files.output, limits, starting)
    finally:
        _end(child, folder)
    return _records(files.output), status, files.tail()


def run(
    plan: dict[str, Any],
    command: list[str],
    environment: dict[str, str],
    limits: Limits,
    prepare: Callable[[str], dict[str, str]] | None = None,
    starting: Callable[[], None] = lambda: None,
) -> tuple[Answers, dict[str, str], int]:
    """Runs all of plan["steps"]; returns {step: cell}, versions, number of processes.

    The command gets two arguments: a file with the plan, and a file to which it writes a line of
    JSON before ({"begin": step}) and after ({"end": step, "cell": ...}) each step, and in between
    what is to be kept of a step that kills the process ({"reproducer": ...}). `prepare` makes
    variables of the environment for the process' folder. `starting` is called if a process takes
    long to load the library.
    """
    results: Answers = {}
    versions: dict[str, str] = {}
    starts = 0
    steps = [tuple(step) for step in plan["steps"]]
    with (
        Files() as files,
        tempfile.TemporaryDirectory(prefix="dlbridge-steps-", ignore_cleanup_errors=True) as name,
    ):
        if prepare:
            environment = {**environment, **prepare(name)}
        while steps:
            starts += 1
            records, status, log = _once(
                {**plan, "steps": steps},
                files,
                pathlib.Path(name),
                command,
                environment,
                limits,
                starting,
            )
            begun, reproducer = _read(records, results, versions)
            left = [step for step in steps if step not in results]
            why, survived = death(status, limits.step), _survived(status, limits.step)
            if begun is None and left and len(left) == len(steps):
                why, said = death(status, limits.loading), _said(log)
                text = f"before its first step the process {why}" + (f":\n{said}" if said else "")
                unstarted = {"status": UNSTARTED, "why": text}
                return results | dict.fromkeys(left, unstarted), {}, starts
            if begun is not None:
                where = places(log) if status is None else place(log)
                results[begun] = {"status": CRASH, "why": why, "place": where}
                results[begun]["expected"] = survived
                if reproducer:
                    results[begun]["reproducer"] = reproducer
                left = [step for step in left if step != begun]
            elif not left and status != 0:
                # The process finished every step and then died at exit.
                results[steps[-1]] = {"status": CRASH, "why": f"at exit: {why}"}
                results[steps[-1]] |= {"place": place(log), "expected": "exit status 0"}
            steps = left
    return results, versions, starts


def _read(
    records: list[dict[str, Any]], results: Answers, versions: dict[str, str]
) -> tuple[Step | None, str]:
    """Enters the records; returns the step in which the process died, if any, and what was kept
    of it."""
    begun, reproducer = None, ""
    for record in records:
        versions |= record.get("versions", {})
        if "begin" in record:
            begun, reproducer = tuple(record["begin"]), ""
        reproducer = record.get("reproducer", reproducer)
        if "end" in record:
            results[tuple(record["end"])] = record["cell"]
            begun = None
    return begun, reproducer


def _close_inherited(paths: list[str]) -> None:
    """Closes the descriptors of the parent that these paths name: their place in the file is not
    that of the opened one, and a library may write to every descriptor."""
    for path in paths:
        folder, _, number = path.rpartition("/")
        if folder == "/dev/fd":
            os.close(int(number))


def serve(work: Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], None]) -> None:
    """Calls `work` with the plan and a function that writes a record; both files are arguments."""
    _end_with_parent(int(os.environ.get(_PARENT, os.getppid())))
    faulthandler.enable()
    warnings.simplefilter("ignore")
    process = os.getpid()
    plan = json.loads(pathlib.Path(sys.argv[1]).read_text())
    with open(sys.argv[2], "w") as output:
        _close_inherited(sys.argv[1:3])

        def record(one: dict[str, Any]) -> None:
            if os.getpid() != process:
                os._exit(0)  # a library forked, and its child runs on; it has no say
            output.write(json.dumps(one) + "\n")
            output.flush()

        work(plan, record)
