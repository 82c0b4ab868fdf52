# SPDX-License-Identifier: Apache-2.0
"""Broken tensors for consumers. Each runs in a child of its own, with guard pages around memory."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any

from . import answers, capsules, catalogue, processes, values
from .kit import Kit, check, message
from .outcomes import Failure, Skip
from .tensors import Memory, Tensor

# A child that takes longer hangs. It only imports one tensor.
LIMIT_SECONDS = 20
# Arrays that should not have been imported are read up to this count.
LARGEST = 10**6


def tensor_of(fields: dict[str, Any]) -> Tensor:
    memory = Memory(values.bits("float32")[:24], aligned=8) if fields["data"] == "memory" else None
    return Tensor(
        kind=fields["kind"],
        version=tuple(fields["version"]),
        flags=fields["flags"],
        data=memory.address if memory else None,
        device=tuple(fields["device"]),
        dtype=tuple(fields["dtype"]),
        shape=None if fields["shape"] is None else tuple(fields["shape"]),
        strides=None if fields["strides"] is None else tuple(fields["strides"]),
        ndim=fields["ndim"],
        byte_offset=fields["byte_offset"],
        memory=memory,
    )


def judge(kit: Kit, fields: dict[str, Any], accepted: Callable[[str], None]) -> None:
    """Imports the tensor in this process; calls `accepted` before it reads what it should not
    have got."""
    tensor = tensor_of(fields)
    array, error = kit.attempt(tensor, _program(fields))
    if error is not None:
        if not str(error).strip():
            raise Failure("an exception with a message", type(error).__name__, "deviation")
        return
    if fields["expect"] == "reject":
        found = _description(kit, array)
        accepted(found)
        with contextlib.suppress(Exception):
            if 0 <= capsules.product(kit.shape(array)) <= LARGEST:
                kit.adapter.read(array)
        raise Failure(_wanted(fields), found)
    del array
    kit.ends(tensor)


def _program(fields: dict[str, Any]) -> Callable[[str, Tensor], str]:
    return answers.rejects_saying if fields["expect"] == "reject" else answers.harmless


def _description(kit: Kit, array: Any) -> str:
    try:
        return f"an array of shape {kit.shape(array)}"
    except Exception as error:
        return f"{type(array).__name__} without a shape: {message(error)}"


def _wanted(fields: dict[str, Any]) -> str:
    broken = f"the tensor breaks {fields['rule']}"
    if fields["expect"] == "reject":
        return f"an exception, because {broken}"
    return f"an exception or an array; {broken}"


def _in_child(kit: Kit, fields: dict[str, Any]) -> None:
    """Runs `judge` in a child of fork()."""
    read, write = os.pipe()
    # A library that ignores the end of its children would take the status of this one away.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.close(read)
        _child(kit, fields, write)
    os.close(write)
    try:
        answer, status = _answer(read, child)
    finally:
        os.close(read)
    accepted, _, answer = answer.rpartition("\x1e")
    where = processes.place(answer)
    after = f"{accepted}; reading it: " if accepted else ""
    if status is None:
        found = f"{after}it hangs for more than {LIMIT_SECONDS} s{where}"
        raise Failure(_wanted(fields), found, "crash")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        found = f"{after}the process died of {name}{where}"
        raise Failure(_wanted(fields), found, "crash")
    if not answer:
        found = f"{after}the process ended with status {os.waitstatus_to_exitcode(status)}"
        raise Failure(_wanted(fields), found, "crash")
    kind, *parts = answer.split("\x1f")
    if kind == "failed":
        raise Failure(*parts)
    if kind == "skipped":
        raise Skip(parts[0])


def _child(kit: Kit, fields: dict[str, Any], write: int) -> None:
    def accepted(found: str) -> None:
        os.write(write, f"{found}\x1e".encode())

    faulthandler.enable(write)  # a report of a crash is the end of the answer
    try:
        judge(kit, fields, accepted)
        answer = ["passed"]
    except Failure as failure:
        answer = ["failed", failure.expected, failure.found, failure.severity]
    except Skip as skip:
        answer = ["skipped", str(skip)]
    except BaseException as error:
        answer = ["failed", "an answer of the adapter", message(error), ""]
    os.write(write, "\x1f".join(answer).encode()[:60000])
    os._exit(0)


def _answer(read: int, child: int) -> tuple[str, int | None]:
    """The child's answer and exit status; None if it was killed."""
    parts: list[bytes] = []
    end = time.monotonic() + LIMIT_SECONDS

    def text() -> str:
        return b"".join(parts).decode(errors="replace")

    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([read], [], [], left)[0]:
            os.kill(child, signal.SIGABRT)  # makes faulthandler report where it hangs
            if select.select([read], [], [], 5)[0]:
                parts.append(os.read(read, 65536))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return text(), None
        part = os.read(read, 65536)
        if not part:
            return text(), os.waitpid(child, 0)[1]
        parts.append(part)


def _check(fields: dict[str, Any]) -> Any:
    def run(kit: Kit) -> None:
        _ = kit.kind  # asks the consumer once, not in each child
        kit.source(tensor := tensor_of(fields), program=_program(fields))
        tensor.forget()
        if kit.adapter.forks:
            _in_child(kit, fields)
        else:
            judge(kit, fields, lambda found: None)

    return run


for _name, _fields in catalogue.hostile().items():
    check(_name)(_check(_fields))
