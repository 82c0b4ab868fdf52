# SPDX-License-Identifier: Apache-2.0
"""Leaks that few rounds show: the allocators count what stays, and references tell what is kept.

The resident memory that checks_memory.py measures needs many rounds, but sees every allocator.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

from . import capsules
from .kit import Kit, forgotten
from .outcomes import Failure, Skip
from .reproducers import arguments, made, offered, with_array
from .tensors import Source, Tensor
from .verdicts import RELEASED, RESIDENT, taking

ROUNDS, LEAST_ROUNDS = 500, 100
# Growth is a leak if it comes in each of these stretches of `ROUNDS`: the allocators and caches of
# some libraries grow during the first 10,000 rounds.
_STRETCHES = (1, 1, 1, 10, 10, 10, 10)
# What stays of each round, and what else may stay: blocks of Python, bytes of malloc.
_BLOCKS, _MORE_BLOCKS = 0.5, 50
_BYTES, _MORE_BYTES = 12, 2**14
# Imports whose capsules and sources are looked for, and rounds of a program.
KEPT, SHOWN = 16, 20_000


class _Info(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@functools.cache
def _mallinfo() -> Callable[[], Any] | None:
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return None
    function.restype = _Info
    found: Callable[[], Any] = function
    return found


def _counts() -> tuple[int, int]:
    """The blocks of Python's allocator that are in use, and the bytes of malloc."""
    blocks = getattr(sys, "getallocatedblocks", int)()
    info = _mallinfo()
    if info is None:
        return blocks, 0
    found = info()
    return blocks, found.uordblks + found.hblkhd


def grows(kit: Kit, once: Callable[[], None]) -> str:
    """A text about the memory that each round leaves allocated; empty if there is none."""
    rounds = max(min(kit.rounds, ROUNDS), LEAST_ROUNDS)
    for _ in range(rounds // 5):
        once()
    found = ""
    for times in _STRETCHES:
        found = _growth(kit, once, rounds * times)
        if not found:
            break
    return found


def _growth(kit: Kit, once: Callable[[], None], rounds: int) -> str:
    kit.settle(lambda: False)
    before = _counts()
    for _ in range(rounds):
        once()
    kit.settle(lambda: False)
    blocks, bytes_ = (after - first for after, first in zip(_counts(), before))
    if blocks <= _BLOCKS * rounds + _MORE_BLOCKS and bytes_ <= _BYTES * rounds + _MORE_BYTES:
        return ""
    return f"{bytes_ // rounds} bytes of malloc and {blocks / rounds:.1f} objects of Python more"


def fails(kit: Kit, once: Callable[[], None], what: str) -> None:
    """A failure if the rounds leave memory behind."""
    found = grows(kit, once)
    if found:
        raise Failure(f"memory that does not grow with {what}", f"{found} after each", "leak")


# ------------------------------------------------------------------------------------- producers


def of_rejections(kit: Kit, array: Any, keywords: dict[str, Any]) -> None:
    """Of requests that the producer rejects."""

    def once() -> None:
        try:
            kit.adapter.export(array, **keywords)
        except Exception as error:
            forgotten(error)

    fails(kit, once, f"rejected calls of __dlpack__({arguments(keywords)})")


def of_exports(kit: Kit, array: Any, keywords: dict[str, Any], consumed: bool) -> None:
    """Of exports that are deleted, or whose capsules are dropped."""
    export = kit.adapter.export
    try:
        struct = capsules.look(export(array, **keywords))
    except Exception:
        return  # another check's
    if capsules.is_misnamed(struct.capsule):
        return
    del struct
    kit.shows(functools.partial(repeated, asked=keywords, consumed=consumed))

    def once() -> None:
        if consumed:
            capsules.delete(capsules.take(export(array, **keywords)))
        else:
            export(array, **keywords)

    end = "exports" if consumed else "dropped capsules"
    fails(kit, once, f"{end} of __dlpack__({arguments(keywords)})")


def of_new_arrays(kit: Kit, request: Any, keywords: dict[str, Any]) -> None:
    """Of exports of arrays that are made anew: their memory goes with the last of its owners.
    What stays of arrays that are not exported is no fault of the export."""
    make, export = kit.adapter.make, kit.adapter.export
    try:
        capsule = export(make(request), **keywords)
    except Exception:
        return  # another check's
    if capsules.is_misnamed(capsule):
        return
    del capsule
    kit.shows(functools.partial(repeated, asked=keywords, consumed=True, anew=True))

    def once() -> None:
        capsules.delete(capsules.take(export(make(request), **keywords)))

    def only_made() -> None:
        make(request)

    if grows(kit, once) and not grows(kit, only_made):
        fails(kit, once, f"exports of new arrays by __dlpack__({arguments(keywords)})")


def of_devices(kit: Kit, array: Any) -> None:
    kit.shows(_devices)

    def once() -> None:
        array.__dlpack_device__()

    fails(kit, once, "calls of __dlpack_device__()")


# ------------------------------------------------------------------------------------- consumers


def of_imports(
    kit: Kit,
    make: Callable[[], Tensor],
    keywords: dict[str, Any],
    rejected: bool,
    measured: bool = True,
) -> None:
    """Of imports, or of rejected ones: what keeps the capsules and sources, and the memory if it
    is to be measured. Skips tensors that the consumer answers in the other way."""
    tensor = make()
    source = kit.source(tensor, program=functools.partial(kept, keywords=keywords))
    if _is_rejected(kit, source, keywords) != rejected or not tensor.handed_out:
        raise Skip("imported" if rejected else "rejected")
    tensor.forget()
    what = f"{'rejected ' * rejected}imports of {tensor.kind} tensors"
    if keywords:
        what += f" with {arguments(keywords)}"
    _capsules_and_sources(kit, make, keywords, what)
    if measured:
        _memory(kit, make(), keywords, what)


def _memory(kit: Kit, tensor: Tensor, keywords: dict[str, Any], what: str) -> None:
    source = Source(tensor)

    def once() -> None:
        source.requests.clear()
        tensor.handed_out.clear()
        _is_rejected(kit, source, keywords)

    fails(kit, once, what)
    tensor.forget()


def _is_rejected(kit: Kit, source: Source, keywords: dict[str, Any]) -> bool:
    try:
        kit.taken(source, **keywords)
    except (Skip, Failure):
        raise
    except Exception as error:
        forgotten(error)
        return True
    return False


def _references(things: list[Any]) -> list[int]:
    return [sys.getrefcount(thing) for thing in things]


def _capsules_and_sources(
    kit: Kit, make: Callable[[], Tensor], keywords: dict[str, Any], what: str
) -> None:
    tensors, sources = [make() for _ in range(KEPT)], []
    for tensor in tensors:
        source = Source(tensor)
        sources.append(weakref.ref(source))
        _is_rejected(kit, source, keywords)
        del source
    kit.settle(lambda: all(source() is None for source in sources))
    [free] = _references([capsules.new(tensors[0].address, b"dltensor_free", None)])
    held = [one for tensor in tensors for one in _references(tensor.handed_out) if one > free]
    alive = [source for source in sources if source() is not None]
    for tensor in tensors:
        tensor.forget()
    for found, name in ((held, "capsules"), (alive, "sources")):
        if len(found) > KEPT // 2:
            wanted = f"no reference to the {name} of {KEPT} {what}"
            raise Failure(wanted, f"{len(found)} are referenced", "leak")


# -------------------------------------------------------------------------------------- programs

_GROWS = """
for done in range({rounds}):
    {once}
    if done == {rounds} // 10:
        before = resident()
gc.collect()
grown = (resident() - before) // {rounds}
print(grown, "bytes in each round")
if grown > 12:
    sys.exit("FAULT: the memory of {what} is not released")
print("fine: the memory does not grow")
"""
_REJECTED = """try:
        array.__dlpack__({arguments})
    except Exception:
        pass"""
_KEPT = """
import weakref
sources, fresh = [], [new(addressof(tensor), b"dltensor_free", None)]

def import_once():
    source = Source()
    sources.append(weakref.ref(source))
    try:
        consume(source{keywords})
    except Exception as error:
        print(f"{{type(error).__name__}}: {{error}}"[:70])

for done in range({rounds}):
    import_once()
{released}
free = [sys.getrefcount(one) for one in fresh][0]
held = sum(sys.getrefcount(one) > free for one in capsules)
alive = sum(source() is not None for source in sources)
print(held, "capsules and", alive, "sources are referenced")
if max(held, alive) > {rounds} // 2:
    sys.exit("FAULT: expected no references after the imports")

for done in range({many}):
    try:
        consume(Source(){keywords})
    except Exception:
        pass
    del capsules[:], runs[:]
    if done == {many} // 10:
        base = resident()
{released}
grown = (resident() - base) // {many}
print(grown, "bytes in each round")
if grown > 24:
    sys.exit("FAULT: the memory of imports is not released")
print("fine: nothing is kept")
"""


def _growing(code: str, request: Any, once: str, what: str) -> str:
    text = _GROWS.format(rounds=SHOWN, once=once, what=what)
    return made(code, request) + RESIDENT + text


def rejected_requests(
    code: str, request: Any, keywords: dict[str, Any], asked: dict[str, Any]
) -> str:
    """Asks many times for what the producer rejects."""
    once = _REJECTED.format(arguments=arguments(asked))
    return _growing(code, request, once, "rejected requests")


def repeated(
    code: str,
    request: Any,
    keywords: dict[str, Any],
    asked: dict[str, Any],
    consumed: bool,
    anew: bool = False,
) -> str:
    """Exports many times, also arrays that are made anew."""
    once = f"array.__dlpack__({arguments(asked)})"
    if consumed:
        once = f"delete(take(dict({arguments(asked)})))"
    if anew:
        line = [line for line in with_array(code, request).splitlines() if "array = " in line][-1]
        once = f"{line.strip()}\n    {once}"
    text = _GROWS.format(rounds=SHOWN, once=once, what="exports")
    return taking(code, request, keywords) + RESIDENT + text


def _devices(code: str, request: Any, keywords: dict[str, Any]) -> str:
    return _growing(code, request, "array.__dlpack_device__()", "__dlpack_device__")


def kept(code: str, tensor: Any, keywords: dict[str, Any]) -> str:
    """Imports a tensor some times, and looks for its capsules and sources."""
    asked = f", {arguments(keywords)}" if keywords else ""
    text = _KEPT.format(keywords=asked, rounds=KEPT, many=SHOWN, released=RELEASED.strip())
    return offered(code, tensor) + RESIDENT + text
