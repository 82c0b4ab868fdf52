# SPDX-License-Identifier: Apache-2.0
"""Real tensors of installed frameworks through dlbridge, and what happens without it.

Needs DLBRIDGE_LIBRARY, the path of libdlbridge.so. The demo checks each claim; it prints those that
do not hold, and its exit status is then 1.
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
    """Runs a scene. An unexpected error ends only this scene and is reported as a difference."""
    try:
        scene(show)
    except Exception as error:
        traceback.print_exc()
        show.check(f"{scene.__module__} ended", f"{type(error).__name__}: {error}", "well")


def settled(show):
    """Checks the count of every producer's deleter after all tensors are released."""
    show.deleters.settle(frameworks.settle)
    for deleter in show.deleters.all:
        show.check(f"calls of a deleter of {deleter.producer}", deleter.calls, 1)


def last_line(show):
    shown = show.shown
    return (
        f"Shown: {shown['aliases']} exchanges without a copy, {shown['copies']} by a copy, "
        f"{shown['repairs']} mishaps fixed, {shown['rejections']} rejections; "
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
