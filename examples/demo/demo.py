# SPDX-License-Identifier: Apache-2.0
"""Real tensors of installed frameworks through dlbridge, and what happens without it.

Needs DLBRIDGE_LIBRARY, the path of libdlbridge.so. Each claim is checked as it is made; the exit
status is 1, with what differed, where one does not hold.
"""

import os
import sys
import traceback

import exchange
import frameworks
import mishaps
import rejections
from bridge import Library
from show import Show


def run(show, scene):
    """An unexpected error ends its scene; what differed so far is told all the same."""
    try:
        scene(show)
    except Exception as error:
        traceback.print_exc()
        show.check(f"{scene.__module__} ended", f"{type(error).__name__}: {error}", "well")


def settled(show):
    """Every producer's deleter, counted when nothing holds a tensor any more."""
    show.deleters.settle(frameworks.settle)
    for deleter in show.deleters.all:
        show.check(f"calls of a deleter of {deleter.producer}", deleter.calls, 1)


def last_line(show):
    shown = show.shown
    return (
        f"Shown: {shown['aliases']} exchanges without a copy, {shown['copies']} by a copy, "
        f"{shown['repairs']} mishaps put right, {shown['rejections']} rejections; "
        f"{len(show.deleters.all)} deleters, each ran exactly once."
    )


def main():
    path = os.environ.get("DLBRIDGE_LIBRARY")
    if not path:
        sys.exit("demo: set DLBRIDGE_LIBRARY to the path of libdlbridge.so")
    show = Show(Library(path))
    version, dlpack = show.library.version()
    print(f"dlbridge {version}, DLPack {dlpack}; {frameworks.versions()}")
    for scene in (exchange.scene, mishaps.scene, rejections.scene):
        run(show, scene)
    settled(show)
    print()
    for difference in show.differed:
        print(f"DIFFERS {difference}")
    if show.differed:
        return 1
    print(last_line(show))
    return 0


if __name__ == "__main__":
    sys.exit(main())
