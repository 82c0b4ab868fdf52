# SPDX-License-Identifier: Apache-2.0
"""What the programs here share: lines of results, and where in which file memory is mapped."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, Callable, NamedTuple


class Checks:
    """Prints one line for each check that a function makes; `leave` ends the program."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.failed = 0

    def __call__(self, name: str, check: Callable[..., Any], *arguments: Any) -> Any:
        try:
            result = check(*arguments)
        except Exception:  # noqa: BLE001 - whatever it was, it is shown and counted
            self.failed += 1
            print(f"FAILED travel: {self.subject}: {name}", flush=True)
            traceback.print_exc(file=sys.stdout)
            return None
        print(f"passed travel: {self.subject}: {name}", flush=True)
        return result

    def leave(self) -> None:
        sys.exit(1 if self.failed else 0)


def expect(truth: object, *facts: Any) -> None:
    if not truth:
        raise AssertionError(f"found {facts}")


class Place(NamedTuple):
    """Where memory is: the same in two processes says that it is the same memory."""

    file: str
    device: str
    inode: int
    offset: int  # of the address in the file
    writable: bool


def place_of(address: int) -> Place:
    """What is mapped at an address of this process."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            ends, access, offset, device, inode, *file = line.split(maxsplit=5)
            first, last = (int(end, 16) for end in ends.split("-"))
            if first <= address < last:
                name = file[0].strip() if file else ""
                at = int(offset, 16) + address - first
                return Place(name, device, int(inode), at, "w" in access)
    raise AssertionError(f"nothing is mapped at {address:#x} of process {os.getpid()}")
