# SPDX-License-Identifier: Apache-2.0
"""The cases of check_contexts.py: one process each, with a context that is destroyed or reset.

dead_contexts.py CASE END    prints the measured values as JSON
"""

import ctypes
import json
import sys

from cuda_driver import ADDRESS, HANDLE, Driver, out

import bindings as b

SIZE = 1 << 16


def answer(function, *arguments):
    """OK, or the status of a rejected call with its rule and the driver's code."""
    try:
        function(*arguments)
    except b.Rejected as error:
        return [error.status, error.rule, error.native_code]
    return ["OK"]


def context_id(driver, context):
    place, reference = out(ctypes.c_uint64)
    return [driver.result("cuCtxGetId", HANDLE(context), reference), place.value]


class World:
    """The library and the driver; memory and a stream of the context that will end."""

    def __init__(self):
        self.library, self.driver = b.load(), Driver()

    def fill(self):
        self.address = self.driver.allocate(SIZE)
        self.stream = self.driver.make_stream()

    def managed(self):
        """A tensor on the memory, with its place for the release callback."""
        self.released = []
        release = b.RELEASE(lambda *_: self.released.append(1))
        self.keep = release
        return self.library.wrap(self.address, b.CUDA, [SIZE], release=release)

    def look(self):
        """What the library answers about the memory."""
        return {
            "pointer_info": answer(self.library.pointer_info, self.address),
            "validate": answer(self.library.validate, b.tensor(self.address, b.CUDA, [SIZE])),
        }


def ids(end):
    """cuCtxGetId before and after the end of a context, and of the one that follows it."""
    driver = World().driver
    context, finish = end(driver)
    measured = {"before": context_id(driver, context)}
    finish()
    measured["after"] = context_id(driver, context)
    following, _ = end(driver)
    measured["same_handle"] = following == context
    measured["next"] = context_id(driver, following)
    return measured


def destroyed(driver):
    context = driver.make_context()
    return context, lambda: driver.call("cuCtxDestroy_v2", HANDLE(context))


def reset(driver):
    context = driver.use_primary_context()

    def finish():
        driver.pop()
        driver.call("cuDevicePrimaryCtxReset_v2", 0)

    return context, finish


def memory_after(end):
    """A tensor whose memory's context has ended: released once, and no answer crashes."""
    world = World()
    world.driver.use_primary_context()
    _, finish = end(world.driver)
    world.fill()
    managed = world.managed()
    measured = {"before": world.look()}
    finish()
    measured["after"] = world.look()
    world.library.release(managed)
    measured["released"] = len(world.released)
    return measured


def handoff_after(end):
    """Hand-offs in a context and in those that follow it: no event of an earlier one is used."""
    world = World()
    measured = {}
    for turn in ("first", "second", "third"):
        _, finish = end(world.driver)
        streams = [b.stream_of(world.driver.make_stream()) for _ in range(2)]
        measured[turn] = answer(world.library.handoff, *streams)
        finish()
    return measured


def special_after(end):
    """The legacy stream of a device whose primary context was reset."""
    world = World()
    measured = {}
    for turn in ("first", "second"):
        _, finish = end(world.driver)
        other = b.stream_of(world.driver.make_stream())
        measured[turn] = [
            answer(world.library.handoff, b.stream_of(1), other),
            answer(world.library.synchronize, b.stream_of(1)),
        ]
        finish()
    measured["no context"] = answer(world.library.synchronize, b.stream_of(1))
    return measured


def stream_after(end):
    """A stream of a context that has ended: a caller's mistake. The driver may crash."""
    world = World()
    world.driver.use_primary_context()
    _, finish = end(world.driver)
    world.fill()
    finish()
    return {
        "handoff": answer(world.library.handoff, b.stream_of(world.stream), b.stream_of(1)),
        "synchronize": answer(world.library.synchronize, b.stream_of(world.stream)),
    }


def pointer_query(end):
    """The raw query of memory whose context has ended."""
    world = World()
    world.driver.use_primary_context()
    _, finish = end(world.driver)
    world.fill()
    finish()
    place, reference = out(ctypes.c_uint64)
    code = world.driver.result("cuPointerGetAttribute", reference, 2, ADDRESS(world.address))
    return {"MEMORY_TYPE": [code, place.value]}


ENDS = {"destroyed": destroyed, "reset": reset}
CASES = {"memory_after": memory_after, "handoff_after": handoff_after}
CASES |= {"special_after": special_after}
# The driver's documents leave these undefined: the results are recorded, a crash included.
UNDEFINED = {"ids": ids, "pointer_query": pointer_query, "stream_after": stream_after}


def main():
    case, end = sys.argv[1:]
    print(json.dumps({**CASES, **UNDEFINED}[case](ENDS[end])))


if __name__ == "__main__":
    main()
