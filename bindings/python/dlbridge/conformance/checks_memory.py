# SPDX-License-Identifier: Apache-2.0
"""Sharing, copies, lifetimes, threads and leaks."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import resource
import struct as packing
import threading
import time
from collections.abc import Callable
from typing import Any

from . import answers, capsules, leaks, tensors, values, verdicts
from .adapters import Request, Unsupported
from .forms import FORMS
from .kit import Kit, Program, apart, check, consumed, expected, forgotten, message
from .outcomes import Failure, Skip
from .tensors import Memory, Tensor

# A leak of this many bytes in each round is seen in 100,000 rounds.
BYTES_PER_ROUND = 24
SLACK = 2**20
# Leak and rounds for deletions on a thread that Python does not know, of which there are fewer.
FOREIGN_BYTES, FOREIGN_ROUNDS = 24, 2_000
# Rounds of a program that shows a leak.
SHOWN_ROUNDS = 50_000
THREADS, THREAD_ROUNDS = 4, 200
# Rounds end after this processor time, or on a busy machine this time, however many there were.
SECONDS, BUSY_SECONDS = 20, 45


def _number(address: int) -> float:
    return float(packing.unpack("<f", ctypes.string_at(address, 4))[0])


def _writable(kit: Kit) -> Any:
    array = kit.array()
    if kit.adapter.writable(array) is False:
        raise Skip("the library's arrays are immutable")
    return array


@check("shares")
def shares(kit: Kit) -> None:
    array = _writable(kit)
    with consumed(kit.best(array)) as struct:
        found = capsules.describe(struct)
        if found.flags & (capsules.READ_ONLY | capsules.IS_COPIED):
            raise Skip("the exported memory must not be written to, or is a copy")
        found.need_host()
        kit.shows(verdicts.shared)
        ctypes.memmove(found.address, packing.pack("<f", 42.0), 4)
        bits = kit.read(array)
    if bits[:4] != packing.pack("<f", 42.0):
        raise Failure("the written value 42 in the array", f"{packing.unpack('<f', bits[:4])[0]}")


def _written(kit: Kit, array: Any) -> None:
    try:
        kit.adapter.write(array, (0, 0), 42.0)
    except (Unsupported, TypeError, NotImplementedError, AttributeError) as error:
        raise Skip(f"the library does not write to arrays: {message(error)}") from None


@check("seen")
def seen(kit: Kit) -> None:
    array = _writable(kit)
    with consumed(kit.best(array)) as struct:
        found = capsules.describe(struct)
        if found.flags & capsules.IS_COPIED:
            raise Skip("the export is a copy")
        found.need_host()
        kit.shows(verdicts.seen)
        _written(kit, array)
        number = _number(found.address)
    if number != 42.0:
        raise Failure("the written value 42 in the exported memory", f"{number}")


@check("copy-apart")
def copy_apart(kit: Kit) -> None:
    array = kit.array()
    try:
        capsule = kit.fresh(kit.ask(array, max_version=capsules.NEWEST, copy=True))
    except (Skip, Failure):
        raise
    except Exception as error:
        raise Skip(f"no copy: {message(error)}") from None
    kit.shows(verdicts.copy_apart)
    with consumed(capsule) as struct:
        found = capsules.describe(struct)
        found.need_host()
        ctypes.memmove(found.address, packing.pack("<f", 42.0), 4)
    if kit.read(array) != expected("plain"):
        raise Failure("the array keeps its values", "a write to the copy is seen in the array")


# ---------------------------------------------------------------------------------------- leaks


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _repeated(kit: Kit, once: Callable[[], None]) -> None:
    """Fails if the memory of the process grows with the rounds, twice in a row: a cache that fills
    once is no leak."""
    for _ in range(max(kit.rounds // 50, 200)):
        once()
    kit.settle(lambda: False)
    for _ in range(2):
        grown, done = _growth(kit, once)
        if grown <= SLACK + BYTES_PER_ROUND * done:
            return
    raise Failure(
        f"memory that does not grow in {done} rounds",
        f"{grown // 1024} KiB more, {grown // done} bytes in each round",
        "leak",
    )


def _growth(kit: Kit, once: Callable[[], None]) -> tuple[int, int]:
    """The bytes that the process takes more after many rounds, and the number of these."""
    before, done = _resident(), 0
    end, busy_end = time.process_time() + SECONDS, time.monotonic() + BUSY_SECONDS
    while done < kit.rounds and time.process_time() < end and time.monotonic() < busy_end:
        for _ in range(min(500, kit.rounds)):
            once()
        done += min(500, kit.rounds)
        kit.adapter.settle()
    gc.collect()
    return _resident() - before, done


def foreign_thread_releases(kit: Kit) -> None:
    """Fails if the deleter releases memory on a thread of Python only. Where it does so on none,
    the other checks for leaks have found that."""
    array = kit.array()
    kit.best(array)
    keywords = kit.newest
    kit.shows(verdicts.foreign_thread)
    export, rounds = kit.adapter.export, min(kit.rounds, FOREIGN_ROUNDS)

    def grown(delete: Callable[[Any], None]) -> int:
        """The bytes of a round in which this function deletes the export."""
        before = _resident()
        for done in range(rounds):
            delete(capsules.take(export(array, **keywords)))
            if done % 500 == 499:
                kit.adapter.settle()
        gc.collect()
        return (_resident() - before) // rounds

    def leaked() -> int:
        return grown(capsules.delete_on_foreign_thread)

    # A cache that fills once, and the memory of the first threads, are no leak.
    allowed = FOREIGN_BYTES + SLACK // 4 // rounds
    if leaked() <= allowed or (found := leaked()) <= allowed:
        return
    own = grown(capsules.delete)
    if found - own > allowed:
        raise Failure(
            "the deleter releases the memory on every thread",
            f"{found} bytes stay of each export that a thread unknown to Python deletes, and {own} "
            "of one that a thread of Python deletes",
            "leak",
        )


def _exports(code: str, request: Any, keywords: dict[str, Any]) -> str:
    return verdicts.exports(code, request, keywords, 2 * SHOWN_ROUNDS)


@check("producer-leak")
def producer_leak(kit: Kit) -> None:
    array = kit.array()
    first = kit.best(array)
    keywords = kit.newest
    kit.shows(_exports)
    export = kit.adapter.export

    def once() -> None:
        capsules.delete(capsules.take(export(array, **keywords)))

    _repeated(kit, once)
    if not capsules.is_misnamed(first):
        _repeated(kit, lambda: export(array, **keywords) and None)


def _rounds(code: str, tensor: Any) -> str:
    return verdicts.rounds(code, tensor, SHOWN_ROUNDS, 2 * BYTES_PER_ROUND)


def _rejected_rounds(code: str, tensor: Any) -> str:
    return verdicts.rejected_rounds(code, tensor, SHOWN_ROUNDS, 2 * BYTES_PER_ROUND)


def _consumer_threads(code: str, tensor: Any) -> str:
    return verdicts.consumer_threads(code, tensor, THREADS, THREAD_ROUNDS)


def _producer_threads(code: str, request: Any, keywords: dict[str, Any]) -> str:
    return verdicts.producer_threads(code, request, keywords, THREADS, THREAD_ROUNDS)


@check("export-leak")
def export_leak(kit: Kit) -> None:
    """Of what `producer_leak` does not ask for."""
    array = kit.array()
    kit.best(array)
    newest = {"max_version": capsules.NEWEST} if kit.knows_versions else {}
    if newest:
        for consumed_ in (True, False):
            leaks.of_exports(kit, array, {}, consumed_)
    for more in ({"copy": True}, {"copy": False}, {"dl_device": capsules.CPU}):
        leaks.of_exports(kit, array, {**newest, **more}, True)
    leaks.of_devices(kit, array)
    leaks.of_new_arrays(kit, Request(), newest)
    if newest:
        leaks.of_new_arrays(kit, Request(), {})


class _Pool:
    """Tensors that are used again after their deleter has run, so that a round is short."""

    def __init__(self, kit: Kit, program: Program = _rounds, **changes: Any) -> None:
        self.tensor = kit.tensor(**changes)
        self.source = kit.source(self.tensor, program=program)
        self.rounds = 0

    def next(self) -> Any:
        self.rounds += 1
        self.tensor.handed_out.clear()
        return self.source


def _each_deleted(kit: Kit, pools: list[_Pool]) -> None:
    """Each round has run the deleter once."""
    kit.settle(lambda: all(pool.tensor.deleted == pool.rounds for pool in pools))
    # A second run corrupts memory, which is worse than a leak.
    for pool in sorted(pools, key=lambda pool: pool.rounds - pool.tensor.deleted):
        deleted = pool.tensor.deleted
        if deleted != pool.rounds:
            severity = "corruption" if deleted > pool.rounds else "leak"
            raise Failure(f"{pool.rounds} runs of the deleter", f"{deleted} runs", severity)


@check("consumer-leak")
def consumer_leak(kit: Kit) -> None:
    pool = _Pool(kit)
    kit.consume(pool.next())

    def once() -> None:
        pool.source.requests.clear()
        kit.adapter.consume(pool.next())

    _repeated(kit, once)
    _each_deleted(kit, [pool])


@check("rejected-leak")
def rejected_leak(kit: Kit) -> None:
    pool = _Pool(kit, _rejected_rounds, dtype="float32", data=None)
    claimed = 0

    def once() -> None:
        nonlocal claimed
        pool.source.requests.clear()
        with contextlib.suppress(Exception):
            kit.adapter.consume(pool.next())
        claimed += pool.tensor.claimed

    try:
        kit.taken(pool.next())
    except (Skip, Failure):
        raise
    except Exception as error:
        forgotten(error)
    else:
        raise Skip("a tensor with NULL data is not rejected")
    kit.settle(lambda: False)
    pool.tensor.deleted = 0
    limit, kit.rounds = kit.rounds, max(kit.rounds // 10, 100)
    try:
        _repeated(kit, once)
    finally:
        kit.rounds = limit
    kit.settle(lambda: pool.tensor.deleted == claimed)
    if pool.tensor.deleted != claimed:
        severity = "leak" if pool.tensor.deleted < claimed else "corruption"
        wanted = f"{claimed} runs of the deleter, one for each capsule that was renamed"
        raise Failure(wanted, f"{pool.tensor.deleted} runs", severity)


def _of_another_dtype(kind: str) -> Tensor:
    memory = Memory(values.bits("float32"))
    place = {"data": memory.address, "shape": (3, 4), "strides": (4, 1)}
    return Tensor(kind=kind, memory=memory, dtype=(200, 32, 1), **place)


def _of_another_major(kind: str) -> Tensor:
    return tensors.of_form("plain", kind=kind, version=(2, 0))


# What many consumers reject; each other field is right. NULL data is that of `rejected_leak`.
_REJECTED = (_of_another_dtype, _of_another_major)


@check("import-leak")
def import_leak(kit: Kit) -> None:
    """Of what `consumer_leak` does not import, whose memory it measures."""
    for kind in kit.kinds:
        make = functools.partial(kit.tensor, kind=kind)
        leaks.of_imports(kit, make, {}, False, measured=kind != kit.kind)
    with contextlib.suppress(Skip):
        leaks.of_imports(kit, kit.tensor, {"copy": True}, False)
    for broken in _REJECTED:
        for kind in kit.kinds:
            with contextlib.suppress(Skip):
                leaks.of_imports(kit, functools.partial(broken, kind), {}, True)


# -------------------------------------------------------------------------------------- threads


def _on_threads(once: Callable[[int], None], rounds: int) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(rounds):
                once(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors and isinstance(errors[0], Failure):
        raise errors[0]
    if errors:
        raise Failure("no error on any thread", message(errors[0])) from errors[0]


@check("producer-threads")
def producer_threads(kit: Kit) -> None:
    array = kit.array()
    kit.best(array)
    wanted = expected("plain")
    keywords = kit.newest
    kit.shows(_producer_threads)

    def once(number: int) -> None:
        struct = capsules.take(kit.adapter.export(array, **keywords))
        bits = capsules.describe(struct).elements()
        if number % 2:
            capsules.delete(struct)
        else:
            thread = threading.Thread(target=capsules.delete, args=(struct,))
            thread.start()
            thread.join()
        if bits != wanted:
            raise Failure("the values of the array", "other values", "corruption")

    _on_threads(once, THREAD_ROUNDS)


@check("consumer-threads")
def consumer_threads(kit: Kit) -> None:
    pools = [_Pool(kit, _consumer_threads) for _ in range(THREADS)]
    first = kit.read(kit.consume(pools[0].next()))
    if first != expected("plain"):
        wanted, found = apart(expected("plain"), first)
        raise Failure(wanted, f"{found}, also on one thread; see layout-plain", "wrong answer")

    def once(number: int) -> None:
        array = kit.adapter.consume(pools[number].next())
        if kit.read(array) != expected("plain"):
            raise Failure("the values of the tensor", "other values", "corruption")

    _on_threads(once, THREAD_ROUNDS)
    _each_deleted(kit, pools)


# ------------------------------------------------------------------------------------- consumer


def _on_host(kit: Kit, array: Any) -> None:
    """Host memory cannot be shared with an array on another device."""
    try:
        device = kit.adapter.describe(array).device
    except Exception:
        return
    if device != capsules.CPU:
        raise Skip(f"the array is on device {device}")


@check("consumer-shares")
def consumer_shares(kit: Kit) -> None:
    tensor = kit.tensor()
    array = kit.consume(kit.source(tensor, program=answers.shares))
    _on_host(kit, array)
    kit.read(array)
    tensor.memory.write(packing.pack("<f", 42.0))
    bits = kit.read(array)
    if bits[:4] != packing.pack("<f", 42.0):
        raise Failure("the memory of the tensor", "a copy")


@check("consumer-stays")
def consumer_stays(kit: Kit) -> None:
    tensor = kit.tensor()
    source = kit.source(tensor, program=verdicts.deleters)
    array = kit.consume(source)
    shared = kit.adapter.address(array) == tensor.memory.address
    tensor.handed_out.clear()
    del source
    kit.settle(lambda: False)
    if shared and tensor.deleted:
        raise Failure("the deleter runs after the array is released", "it ran before")
    kit.compare(array, expected("plain"), (3, 4))


@check("consumer-view")
def consumer_view(kit: Kit) -> None:
    tensor = kit.tensor()
    array = kit.consume(kit.source(tensor, program=verdicts.view))
    try:
        view = array[1:]
    except Exception as error:
        raise Skip(f"no views: {message(error)}") from None
    shared = kit.adapter.address(view) == tensor.memory.address + 16
    del array
    kit.settle(lambda: False)
    if shared and tensor.deleted:
        raise Failure("the deleter runs after the view is released", "it ran before")
    if kit.read(view) != expected("sliced"):
        raise Failure("the values of the view", "other values")


def _has_read_only_arrays(kit: Kit) -> bool:
    try:
        return kit.adapter.writable(kit.array(read_only=True)) is False
    except Skip:
        return False


@check("immutable-stays")
def immutable_stays(kit: Kit) -> None:
    if kit.kind != "versioned":
        raise Skip("the consumer asks for legacy capsules, which have no flags")
    _stays(kit, "plain")
    for form in ("row", "scalar"):
        with contextlib.suppress(Skip):
            _stays(kit, form)


def _stays(kit: Kit, form: str) -> None:
    tensor = kit.tensor(form, flags=capsules.READ_ONLY)
    array = kit.consume(kit.source(tensor, program=verdicts.immutable))
    with kit.fixed():
        _is_not_written(kit, array, tensor, (0,) * len(FORMS[form].shape))


def _is_not_written(kit: Kit, array: Any, tensor: Any, place: tuple[int, ...]) -> None:
    kit.read(array)
    # The standard lets a library without read-only arrays ignore the flag; then the user is
    # responsible for writes. A library that reports the array as immutable must not write to it.
    writable, shared = kit.adapter.writable(array), _is_shared(kit, array, tensor)
    with contextlib.suppress(Exception):
        kit.adapter.write(array, place, 42.0)
    written = tensor.memory.content() != values.bits("float32")
    if writable is False:
        if written:
            raise Failure("the memory of a READ_ONLY tensor as it was", "changed bytes")
    elif (shared or written) and _has_read_only_arrays(kit):
        raise Failure("an array that the library does not write to", "a writable array")
    elif writable is None:
        raise Skip("writable(array) of the adapter does not tell")
    elif not shared:
        raise Skip("the import is a copy, which may be written to")
    else:
        raise Skip("the library has no read-only arrays and ignores the flag, as it may")


def _is_shared(kit: Kit, array: Any, tensor: Any) -> bool:
    """Whether the array is known to use the tensor's memory."""
    try:
        return kit.adapter.address(array) == tensor.struct.dl_tensor.data
    except Exception:
        return False
