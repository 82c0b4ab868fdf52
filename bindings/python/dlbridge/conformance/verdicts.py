# SPDX-License-Identifier: Apache-2.0
"""Programs that judge themselves, for faults that no printed field shows.

Each prints FAULT and ends with status 1, or prints that all is fine.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from . import tensors
from .forms import FORMS
from .reproducers import SHOW, arguments, literal, made, offered, with_array

# Rounds of a program that compares threads.
FOREIGN_ROUNDS = 10_000

RELEASED = """
for _ in range(4):
    gc.collect()
    if "settle" in globals():
        settle()
"""
_ON_THREAD = """
import threading
held = [array]
del array
thread = threading.Thread(target=held.clear)
thread.start()
thread.join()
"""
_DELETERS = """
def state():
    extents = bytes(shape or b"") + bytes(strides or b"")
    return string_at(addressof(tensor), sizeof(tensor)) + extents

untouched = state()
array = consume(Source())
early, before, right = len(runs), show(array), bytes(memory[:48])
if isinstance(before, bytes) and before != right:
    print("expected", right)
    print("found   ", before)
    sys.exit("FAULT: the array differs from the tensor")
memset(addressof(memory), 7, 64)
shared = show(array) != before
{release}
if len(runs) != 1:
    sys.exit(f"FAULT: the deleter ran {{len(runs)}} times, expected once")
if early and shared:
    sys.exit("FAULT: the deleter ran while the array uses the memory")
if state() != untouched:
    sys.exit("FAULT: the consumer has changed the struct of the producer")
print("fine: the deleter ran once")
"""
_VIEW = """
array = consume(Source())
view = array[1:]
del array
gc.collect()
early, before, right = len(runs), show(view), bytes(memory[16:48])
memset(addressof(memory), 7, 64)
shared = show(view) != before
if early and shared:
    sys.exit("FAULT: the deleter ran while a view uses the memory")
if isinstance(before, bytes) and before != right:
    sys.exit(f"FAULT: the view is {before}, expected {right}")
print("fine: the view keeps the memory")
"""
_IMMUTABLE = """
import operator
array = consume(Source())
before = bytes(memory)
try:
    globals().get("write", operator.setitem)(array, (0, 0), 42.0)
except Exception as error:
    print(f"{type(error).__name__}: {error}")
if bytes(memory) != before:
    sys.exit("FAULT: the memory of a READ_ONLY tensor was written to")
seen = show(array)
memset(addressof(memory), 7, 64)
if show(array) != seen and "writable" in globals() and writable(array):
    sys.exit("FAULT: the array of a READ_ONLY tensor is writable")
print("fine: the memory was not written to")
"""
_ERRORS = """
class Odd(Exception):
    pass

def failing(self, **keywords):
    raise error

Source.__dlpack__ = failing
for error in BufferError("cannot be exported"), Odd("of the producer"):
    try:
        array = consume(Source())
    except type(error):
        continue
    except Exception as other:
        found = f"{type(other).__name__}: {other}"
    else:
        found = type(array)
    sys.exit(f"FAULT: expected {error!r} of __dlpack__, found {found}")
print("fine: the errors of __dlpack__ pass through")
"""
_USED = """
first = consume(Source())
Source.__dlpack__ = lambda self, **keywords: capsules[-1]
found = "fine: the used capsule is rejected"
try:
    second = consume(Source())
    found = f"FAULT: {capsules[-1]} is imported again: {type(second)}"
    del second
except Exception as error:
    print(type(error).__name__, error)
del first
gc.collect()
print(found)
sys.exit(found.startswith("FAULT"))
"""
_COPYING = """
other = (c_uint8 * 64)(*memory)

class Copying(Source):
    def __dlpack__(self, **keywords):
        if keywords.get("copy"):
            tensor.data = addressof(other)
        return super().__dlpack__(**keywords)

array = consume(Copying(), copy={copy})
before, right = show(array), bytes(memory[:48])
if isinstance(before, bytes) and before != right:
    print("expected", right)
    print("found   ", before)
    sys.exit("FAULT: the array differs from the tensor")
memset(addressof(memory), 7, 64)
shared = show(array) != before
if shared == {copy}:
    sys.exit(f"FAULT: copy={copy}, and the memory is shared: {{shared}}")
print(f"fine: the memory is shared: {{shared}}")
"""
_ADDRESS = """
def address(capsule):
    tensor = tensor_of(capsule)
    return tensor.data + tensor.byte_offset
"""
_SAME = """
first = array.__dlpack__({keywords})
for copy in (False, None):
    try:
        other = array.__dlpack__({keywords}copy=copy)
    except BufferError as error:
        print(f"copy={{copy}} is rejected: {{error}}")
        continue
    if address(other) != address(first):
        sys.exit(f"FAULT: copy={{copy}} has other memory")
print("fine: the memory is shared")
"""
_SHARED = """
capsule = array.__dlpack__({keywords})
place = address(capsule)
before = show(array)
memset(place, string_at(place, 1)[0] ^ 255, 4)
if show(array) == before:
    sys.exit("FAULT: a write to the exported memory is not in the array")
print("fine: the array has the written bytes")
"""
_SEEN = """
import operator
capsule = array.__dlpack__({keywords})
place = address(capsule)
before = string_at(place, 4)
set_item = globals().get("write", operator.setitem)
set_item(array, (0,) * tensor_of(capsule).ndim, 42.0)
if string_at(place, 4) == before:
    sys.exit("FAULT: a write to the array is not in the exported memory")
print("fine: the exported memory has the written number")
"""
_APART = """
own = array.__dlpack__({own})
copy = array.__dlpack__({copy})
before = string_at(address(own), 4)
memset(address(copy), before[0] ^ 255, 4)
if string_at(address(own), 4) != before:
    sys.exit("FAULT: a write to the copy is seen in the array")
copied = tensor_of(copy)
if isinstance(copied, Versioned) and not copied.flags & 2:
    sys.exit("FAULT: the copy lacks the flag IS_COPIED")
print("fine: the copy has other memory")
"""
_PARENT = """\
import os, signal, sys
_ends, child = os.pipe(), os.fork()
if child:
    os.close(_ends[1])
    has_begun = os.read(_ends[0], 1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not has_begun:
        sys.exit("no verdict: the array is not exported, see above")
    if status:
        sys.exit(f"FAULT: the process ended with status {status}")
    print("fine: the deleter ran after the end of Python")
    sys.exit()
"""
_TAKEN = """
rename = pythonapi.PyCapsule_SetName
rename.argtypes = [py_object, c_char_p]
used = {True: b"used_dltensor_versioned", False: b"used_dltensor"}

def take(keywords=dict(ARGUMENTS)):
    capsule = array.__dlpack__(**keywords)
    if name(capsule) not in (b"dltensor", b"dltensor_versioned"):
        sys.exit(f"FAULT: expected a new capsule, found {capsule}")
    tensor = tensor_of(capsule)
    rename(capsule, used[isinstance(tensor, Versioned)])
    return tensor

def delete(tensor):
    CFUNCTYPE(None, c_void_p)(tensor.deleter)(addressof(tensor))
"""
RESIDENT = """
import resource

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
"""
_AT_EXIT = """
tensor = take()
register = CDLL(None).__cxa_atexit  # runs after the interpreter's end
register.argtypes = [c_void_p] * 3
register(tensor.deleter, addressof(tensor), None)
signal.alarm(60)
os.write(_ends[1], b"x")
"""
_ROUNDS = """
import itertools
numbers = itertools.count()
counter = CFUNCTYPE(None, c_void_p)(lambda address: next(numbers))
tensor.deleter = cast(counter, c_void_p)
Source.__dlpack__ = lambda self, **keywords: new(
    addressof(tensor), {name!r}, nothing)

for done in range({rounds}):
    consume(Source())
    if done == {rounds} // 50:
        before = resident()
{release}
grown, runs = (resident() - before) // {rounds}, next(numbers)
print(runs, "runs of the deleter,", grown, "bytes in each round")
if runs != {rounds} or grown > {allowed}:
    sys.exit("FAULT: expected {rounds} runs, and memory that does not grow")
print("fine: one run in each round")
"""
# A consumer that has renamed the capsule of a tensor owns it, also if it rejects it.
_REJECTED_ROUNDS = """
made, renamed = [], 0

def fresh(self, **keywords):
    made[:] = [new(addressof(tensor), {name!r}, nothing)]
    return made[0]

Source.__dlpack__ = fresh
for done in range({rounds}):
    try:
        consume(Source())
        sys.exit("no verdict: the tensor is imported")
    except Exception as error:
        text = f"{{type(error).__name__}}: {{error}}"
    renamed += "used_" in repr(made)
    if done == {rounds} // 50:
        before = resident()
{release}
grown = (resident() - before) // {rounds}
print("rejected:", text)
print(renamed, "capsules renamed,", len(runs), "runs of the deleter,",
    grown, "bytes in each round")
if len(runs) != renamed:
    sys.exit("FAULT: expected one run for each capsule that was renamed")
if grown > {allowed}:
    sys.exit("FAULT: expected memory that does not grow")
print("fine: rejected tensors leave nothing")
"""
_CONSUMER_THREADS = """
import itertools, threading
numbers = itertools.count()
counter = CFUNCTYPE(None, c_void_p)(lambda address: next(numbers))
tensor.deleter = cast(counter, c_void_p)
Source.__dlpack__ = lambda self, **keywords: new(
    addressof(tensor), {name!r}, nothing)
right, wrong = bytes(memory[:48]), []

def work():
    try:
        for _ in range({rounds}):
            found = show(consume(Source()))
            if isinstance(found, bytes) and found != right:
                wrong.append("an array differs from the tensor")
    except BaseException as error:
        wrong.append(f"{{type(error).__name__}}: {{error}}")

threads = [threading.Thread(target=work) for _ in range({threads})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
{release}
runs, wanted = next(numbers), {rounds} * {threads}
print(runs, "runs of the deleter")
if wrong:
    sys.exit(f"FAULT: {{wrong[0]}}")
if runs != wanted:
    sys.exit(f"FAULT: expected {{wanted}} runs")
print("fine: one run in each round, and the values of the tensor")
"""


# The elements of a tensor, or what is wrong with its shape.
_CONTENT = """
import math

def content(tensor):
    axes = range(tensor.ndim)
    if tensor.ndim > 64:
        return f"ndim {tensor.ndim}"
    arrays = c_int64 * len(axes)
    shape = arrays.from_address(tensor.shape)[:] if tensor.shape else []
    if not all(0 <= extent < 1000 for extent in shape):
        return f"shape {shape}"
    strides = [math.prod(shape[axis + 1:]) for axis in axes]
    if tensor.strides:
        strides = arrays.from_address(tensor.strides)[:]
    size = tensor.bits * tensor.lanes // 8
    places = [(tensor.data or 0) + tensor.byte_offset]
    for extent, stride in zip(shape, strides):
        places = [
            at + i * stride * size for at in places for i in range(extent)]
    return b"".join(string_at(place, size) for place in places)

def compare(tensor):
    found = content(tensor)
    print("expected", wanted)
    print("found   ", found)
    if found != wanted:
        sys.exit("FAULT: the tensor has other values than the array")
"""
_WANTED = """
wanted = show(array)
if isinstance(wanted, str):
    wanted = content(take())
"""
_OUTLIVES = """
tensor = take()
del array
gc.collect()
others = [bytearray(len(wanted)) for _ in range(1000)]
if "make" in globals():
    request.bits = bytes(len(request.bits))
    request.values = [[0] * 4 for _ in range(3)]
    others += [make(request) for _ in range(32)]
compare(tensor)
print("fine: the tensor stays valid")
"""
_MANY = """
taken = [take() for _ in range(3)]
del array
for order in 1, 0:
    delete(taken.pop(order))
    gc.collect()
compare(taken[0])
print("fine: the last export stays valid after the others")
"""
_VALUES = """
tensor = take()
del array
gc.collect()
arrays = c_int64 * max(tensor.ndim, 0)
shape = arrays.from_address(tensor.shape)[:] if tensor.shape else []
print("expected the shape", {shape})
print("found             ", shape)
if shape != {shape}:
    sys.exit("FAULT: the tensor has another shape than the array")
compare(tensor)
print("fine: the tensor has the values of the array")
"""
_ON_HOST = """
try:
    tensor = take(dict(max_version=(1, 3), dl_device=(1, 0)))
except Exception as error:
    text = f"{type(error).__name__}: {error}"
    sys.exit(f"FAULT: expected a capsule of host memory, found {text}")
print("device", tensor.device[:])
if tensor.device[0] != 1:
    sys.exit("FAULT: expected device type 1")
compare(tensor)
print("fine: a tensor of host memory with the values of the array")
"""
_AFTER_ERRORS = """
for name_, value in (
        ("dl_device", (5, 0)), ("stream", "no stream"), ("max_version", "1.0")):
    for _ in range(3):
        try:
            array.__dlpack__(**{name_: value})
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            print(f"{name_}={value!r}: {text}")
try:
    tensor = take()
except Exception as error:
    text = f"{type(error).__name__}: {error}"
    sys.exit(f"FAULT: expected an export after the errors, found {text}")
compare(tensor)
print("fine: the array is exported after the errors")
"""
_CAPSULE_USED = """
for keywords in {kinds}:
    try:
        capsule = array.__dlpack__(**keywords)
    except BufferError as error:
        print(f"no export: {{error}}")
        continue
    if name(capsule) not in (b"dltensor", b"dltensor_versioned"):
        sys.exit(f"FAULT: expected a new capsule, found {{capsule}}")
    tensor, runs = tensor_of(capsule), []
    rename(capsule, used[isinstance(tensor, Versioned)])
    original, kept = tensor.deleter, CFUNCTYPE(None, c_void_p)(runs.append)
    tensor.deleter = cast(kept, c_void_p)
    del capsule
    gc.collect()
    if runs:
        sys.exit("FAULT: a capsule that was consumed ran the deleter")
    compare(tensor)
    tensor.deleter = original
    delete(tensor)
print("fine: a capsule that was consumed deletes nothing")
"""
_PRODUCER_THREADS = """
import threading
wrong = []

def work(number):
    try:
        for _ in range({rounds}):
            tensor = take()
            found = content(tensor)
            if number % 2:
                delete(tensor)
            else:
                other = threading.Thread(target=delete, args=(tensor,))
                other.start()
                other.join()
            if found != wanted:
                wrong.append("an export differs from the array")
    except BaseException as error:
        wrong.append(f"{{type(error).__name__}}: {{error}}")

threads = [
    threading.Thread(target=work, args=(number,))
    for number in range({threads})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if wrong:
    sys.exit(f"FAULT: {{wrong[0]}}")
print("fine: each export has the values of the array")
"""
_DEVICE = """
found, tensor = array.__dlpack_device__(), take()
print("__dlpack_device__:", found, "exported:", tensor.device[:])
whole = [hasattr(part, "__index__") for part in found]
if not isinstance(found, tuple) or whole != [True, True]:
    sys.exit("FAULT: __dlpack_device__ is no tuple of two integers")
if [int(part) for part in found] != tensor.device[:]:
    sys.exit("FAULT: __dlpack_device__ is not the exported device")
print("fine: the devices are the same")
"""
_RELEASES = """
import weakref
watched = weakref.ref(array)
taken = []
for keywords in KINDS * 2:
    try:
        taken.append(take(keywords))
    except BufferError as error:
        print(f"no export: {error}")
del array
for tensor in taken:
    delete(tensor)
RELEASED
if watched() is not None:
    sys.exit("FAULT: the array is alive after its tensor was deleted")
print("fine: the deleter releases the array")
"""
_EXPORTS = """
for done in range({rounds}):
    if done % 2:
        delete(take())
    else:
        array.__dlpack__({arguments})
    if done == {rounds} // 50:
        before = resident()
gc.collect()
grown = (resident() - before) // {rounds}
print(grown, "bytes in each round")
if grown > 12:
    sys.exit("FAULT: the memory of exports is not released")
print("fine: the memory does not grow")
"""
_FOREIGN = """
create, join = CDLL(None).pthread_create, CDLL(None).pthread_join
create.argtypes, join.argtypes = [c_void_p] * 4, [c_ulong, c_void_p]

def delete_on_foreign_thread(tensor):
    thread = c_ulong()
    create(addressof(thread), None, tensor.deleter, addressof(tensor))
    join(thread, None)

def grown(delete):
    for done in range({rounds}):
        if done == {rounds} // 50:
            before = resident()
        delete(take())
    gc.collect()
    return (resident() - before) // {rounds}

own, foreign = grown(delete), grown(delete_on_foreign_thread)
print(own, "bytes stay of each export that a thread of Python deletes")
print(foreign, "bytes of one that another thread deletes")
if foreign - own > 100:
    sys.exit("FAULT: the deleter releases nothing on another thread")
print("fine: the memory is released on both")
"""
_FIELDS = """
def fields(tensor):
    arrays = c_int64 * tensor.ndim
    return [tensor.data, tensor.ndim, *(
        arrays.from_address(place)[:] if place else place
        for place in (tensor.shape, tensor.strides))]

tensor = take()
kept, before = array, fields(tensor)
"""
_STAYS = """
other = take()
print("shape and strides of the first export:", before[2:])
print("after the second:", fields(tensor)[2:])
if fields(tensor) != before:
    sys.exit("FAULT: an export changes the export of another array")
print("fine: the exports are apart")
"""
_DROPPED = """
destructor = pythonapi.PyCapsule_GetDestructor
destructor.restype, destructor.argtypes = c_void_p, [py_object]
for keywords in {kinds}:
    capsule = array.__dlpack__(**keywords)
    if destructor(capsule) is None:
        sys.exit(f"FAULT: {{capsule}} has no destructor")
    tensor, runs = tensor_of(capsule), []
    original = CFUNCTYPE(None, c_void_p)(tensor.deleter)
    counting = CFUNCTYPE(None, c_void_p)(
        lambda address: (runs.append(address), original(address))[1])
    tensor.deleter = cast(counting, c_void_p)
    del capsule
    gc.collect()
    if len(runs) > 1:
        sys.exit(f"FAULT: the deleter ran {{len(runs)}} times")
print("fine: each capsule has a destructor")
"""


def deleters(code: str, tensor: Any) -> str:
    """Counts the runs of the deleter of an imported tensor."""
    text = _DELETERS.format(release="del array" + RELEASED)
    return offered(code, tensor) + SHOW + text


def deleters_on_thread(code: str, tensor: Any) -> str:
    """As `deleters`, but another thread releases the array."""
    text = _DELETERS.format(release=_ON_THREAD.strip() + RELEASED)
    return offered(code, tensor) + SHOW + text


def copied(code: str, tensor: Any) -> str:
    """Imports with copy=True."""
    return offered(code, tensor) + SHOW + _COPYING.format(copy=True)


def not_copied(code: str, tensor: Any) -> str:
    """Imports with copy=False."""
    return offered(code, tensor) + SHOW + _COPYING.format(copy=False)


def view(code: str, tensor: Any) -> str:
    """Releases an imported array of which a view is left."""
    return offered(code, tensor) + SHOW + _VIEW


def immutable(code: str, tensor: Any) -> str:
    """Writes to the import of a READ_ONLY tensor."""
    return offered(code, tensor) + SHOW + _IMMUTABLE


def errors(code: str, tensor: Any) -> str:
    """Imports from a producer whose __dlpack__ raises."""
    return offered(code, tensor) + _ERRORS


def used_capsule(code: str, tensor: Any) -> str:
    """Imports a capsule again."""
    return offered(code, tensor) + _USED


def rounds(code: str, tensor: Any, count: int, allowed: int) -> str:
    """Imports a tensor many times; `allowed` is the growth in bytes of a round."""
    text = _ROUNDS.format(name=tensor.name, rounds=count, allowed=allowed, release=RELEASED)
    return offered(code, tensor) + RESIDENT + text


def rejected_rounds(code: str, tensor: Any, count: int, allowed: int) -> str:
    """Imports a tensor many times that the consumer rejects."""
    text = _REJECTED_ROUNDS.format(
        name=tensor.name, rounds=count, allowed=allowed, release=RELEASED
    )
    return offered(code, tensor) + RESIDENT + text


def consumer_threads(code: str, tensor: Any, threads: int, count: int) -> str:
    """Imports and reads a tensor on several threads."""
    how = {"name": tensor.name, "threads": threads, "rounds": count}
    text = _CONSUMER_THREADS.format(**how, release=RELEASED)
    return offered(code, tensor) + SHOW + text


def producer_threads(
    code: str, request: Any, keywords: dict[str, Any], threads: int, count: int
) -> str:
    """Exports an array on several threads; another thread deletes every second export."""
    text = _PRODUCER_THREADS.format(threads=threads, rounds=count)
    return _comparing(code, request, keywords) + text


def copy_apart(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Writes to the copy of an array."""
    own, copy = arguments(keywords), arguments({**keywords, "copy": True})
    return made(code, request) + _ADDRESS + _APART.format(own=own, copy=copy)


def same_memory(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Compares the memory of exports that must not be copies."""
    text = _SAME.format(keywords=arguments(keywords) + ", " * bool(keywords))
    return made(code, request) + _ADDRESS + text


def shared(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Writes to the exported memory."""
    text = SHOW + _SHARED.format(keywords=arguments(keywords))
    return made(code, request) + _ADDRESS + text


def seen(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Writes to the array."""
    return made(code, request) + _ADDRESS + _SEEN.format(keywords=arguments(keywords))


def after_exit(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Calls the deleter among the handlers of exit()."""
    return _PARENT + taking(code, request, keywords) + _AT_EXIT


def taking(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Defines `take`, which consumes an export of the array, and `delete`."""
    return made(code, request) + _TAKEN.replace("ARGUMENTS", arguments(keywords))


def outlives(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Reads the memory of an array that was released."""
    return _comparing(code, request, keywords) + _OUTLIVES


def _comparing(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Defines the function that compares the values of a tensor."""
    return SHOW.join((taking(code, request, keywords), _CONTENT + _right(code, request)))


def _right(code: str, request: Any) -> str:
    """Lines that name the elements of the array: those of the request where the adapter made it."""
    if request is None or "array =" in code:
        return _WANTED
    lines = "\n    ".join(literal(tensors.expected(request.form, request.dtype)))
    return f"\nwanted = (\n    {lines})\n"


def many(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Releases exports of an array in another order."""
    return _comparing(code, request, keywords) + _MANY


def values(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Compares the values of an export."""
    text = _VALUES.format(shape=list(request.shape))
    return _comparing(code, request, keywords) + text


def on_host(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Asks for host memory, and compares its values."""
    return _comparing(code, request, keywords) + _ON_HOST


def after_errors(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Exports an array after requests that it must reject."""
    return _comparing(code, request, keywords) + _AFTER_ERRORS


def capsule_used(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Drops used capsules of both kinds."""
    text = _CAPSULE_USED.format(kinds=_kinds(keywords))
    return _comparing(code, request, keywords) + text


def device(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Compares the device of an array with the exported one."""
    return taking(code, request, keywords) + _DEVICE


def releases(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Watches an array whose export is deleted."""
    return taking(code, request, keywords) + _RELEASES.replace("RELEASED", RELEASED).replace(
        "KINDS", _kinds(keywords)
    )


def exports(code: str, request: Any, keywords: dict[str, Any], count: int) -> str:
    """Exports an array many times; every second capsule is consumed."""
    text = _EXPORTS.format(arguments=arguments(keywords), rounds=count)
    return taking(code, request, keywords) + RESIDENT + text


def foreign_thread(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Compares the memory that deleters leave on a thread of Python and on another one."""
    text = _FOREIGN.format(rounds=FOREIGN_ROUNDS)
    return taking(code, request, keywords) + RESIDENT + text


def exports_stay(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Looks at an export after that of an array of another shape."""
    form = "transposed" if request.form.name == "plain" else "plain"
    other = dataclasses.replace(request, form=FORMS[form])
    second = with_array(code, other)
    return taking(code, request, keywords) + _FIELDS + second + _STAYS


def destructor(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Drops unconsumed capsules of both kinds."""
    return made(code, request) + _DROPPED.format(kinds=_kinds(keywords))


def _kinds(keywords: dict[str, Any]) -> str:
    return f"[dict(), dict({arguments(keywords)})]" if keywords else "[dict()]"
