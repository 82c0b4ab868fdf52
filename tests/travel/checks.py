# SPDX-License-Identifier: Apache-2.0
"""Shared by the programs: lines of results, and the file and offset of mapped memory."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, Callable, NamedTuple


class Checks:
    """Runs checks and prints a line for each; `leave` ends the program."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.failed = 0

    def __call__(self, name: str, check: Callable[..., Any], *arguments: Any) -> Any:
        try:
            result = check(*arguments)
        except Exception:  # noqa: BLE001 - every error is shown and counted
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
    """The place of memory in a file. Equal places in two processes are the same memory."""

    file: str
    device: str
    inode: int
    offset: int  # the address's offset in the file
    writable: bool


def place_of(address: int) -> Place:
    """The place that is mapped at an address of this process."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            ends, access, offset, device, inode, *file = line.split(maxsplit=5)
            first, last = (int(end, 16) for end in ends.split("-"))
            if first <= address < last:
                name = file[0].strip() if file else ""
                at = int(offset, 16) + address - first
                return Place(name, device, int(inode), at, "w" in access)
    raise AssertionError(f"nothing is mapped at {address:#x} of process {os.getpid()}")
