# SPDX-License-Identifier: Apache-2.0
"""The capsule protocol: names, ownership, and deleters."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from typing import IO

from . import answers, capsules, tensors, verdicts
from .checks_memory import foreign_thread_releases
from .forms import FORMS
from .kit import Kit, check, consumed, expected, message
from .outcomes import Failure, Skip

# ------------------------------------------------------------------------------------- producer


@check("capsule-name")
def capsule_name(kit: Kit) -> None:
    kit.best(kit.array())
    for capsule in kit.both(kit.array()):
        kit.shows(answers.named)
        struct = capsules.look(capsule)
        if capsules.is_misnamed(capsule):
            raise Failure(
                "a capsule named dltensor_versioned for a DLManagedTensorVersioned",
                f"a capsule named dltensor, with a struct of {_version(struct)}",
                "crash",
            )
        if capsules.kind(capsule) == capsules.VERSIONED and struct.version.major != 1:
            raise Failure("version.major 1 in a capsule named dltensor_versioned", _version(struct))


def _version(struct: object) -> str:
    version = getattr(struct, "version", None)
    return "no version" if version is None else f"version {version.major}.{version.minor}"


def _watch(kit: Kit) -> tuple[object, weakref.ref[object]]:
    array = kit.array()
    try:
        return array, weakref.ref(array)
    except TypeError:
        raise Skip("the arrays cannot be watched by weak references") from None


def _counted(struct: object) -> list[int]:
    """Replaces the deleter by one that counts and calls it."""
    runs: list[int] = []
    original = capsules.deleter_of(struct)

    def delete(address: int) -> None:
        runs.append(address)
        if original:
            original(address)

    capsules.replace_deleter(struct, delete)
    return runs


@check("capsule-destructor")
def capsule_destructor(kit: Kit) -> None:
    kit.best(kit.array())
    held = list(map(_Held, kit.both(kit.array())))
    kit.shows(verdicts.destructor)
    counts = [_dropped(kit, held.pop()) for _ in range(len(held))]
    if not all(counts):
        # It may call a function of its own instead, which does the same.
        raise Skip("the destructor does not read the struct's deleter; producer-leak counts memory")


class _Held:
    """The only owner of a capsule."""

    def __init__(self, capsule: object) -> None:
        self.capsule: object = capsule


def _dropped(kit: Kit, held: _Held) -> int:
    """The runs of the deleter after an unconsumed capsule is gone: one, or none that is seen."""
    if capsules.is_misnamed(held.capsule):
        raise Skip("the capsule has another struct than its name says, see capsule-name")
    if capsules.destructor(held.capsule) is None:
        name = capsules.label(held.capsule)
        raise Failure(f"{name}, with a destructor", "no destructor", "leak")
    runs = _counted(capsules.look(held.capsule))
    held.capsule = None
    kit.settle(lambda: bool(runs))
    if len(runs) > 1:
        raise Failure("one run of the deleter", f"{len(runs)} runs", "corruption")
    return len(runs)


@check("capsule-used")
def capsule_used(kit: Kit) -> None:
    array = kit.array()
    with kit.showing(verdicts.capsule_used):
        kit.best(array)
        _used_deletes_nothing(kit, array)


def _used_deletes_nothing(kit: Kit, array: object) -> None:
    for held in map(_Held, kit.both(array)):
        struct = capsules.take(held.capsule)
        runs = _counted(struct)
        held.capsule = None
        gc.collect()
        early = len(runs)
        if early:
            raise Failure("no run of the deleter by a capsule that was consumed", f"{early} runs")
        bits = capsules.describe(struct).elements()
        capsules.delete(struct)
        if bits != expected("plain"):
            raise Failure("the tensor stays valid after its used capsule is gone", "other values")


@check("capsule-many")
def capsule_many(kit: Kit) -> None:
    array = kit.array()
    with kit.showing(verdicts.many):
        taken = [capsules.take(kit.best(array)) for _ in range(3)]
        del array
        gc.collect()
        for order in (1, 0):
            capsules.delete(taken.pop(order))
            gc.collect()
        found = capsules.describe(taken[0]).elements()
        capsules.delete(taken[0])
    if found != expected("plain"):
        raise Failure("the last export stays valid after the others", "other values")
    _exports_stay(kit)


def _exports_stay(kit: Kit) -> None:
    """Exports of arrays of several shapes keep their fields: none of them shares its shape, its
    strides or its struct with the others."""
    made = []
    for form in FORMS:
        with contextlib.suppress(Skip):
            struct = capsules.take(kit.optional(kit.array(form)))
            kit.shows(verdicts.exports_stay)
            made.append((form, struct, capsules.describe(struct), kit.reproducer))
    now = [capsules.describe(struct) for _, struct, *_ in made]
    for _, struct, *_ in made:
        capsules.delete(struct)
    for (form, _, before, program), after in zip(made, now):
        if before == after:
            continue
        kit.reproducer = program
        raise Failure(
            f"shape {before.shape} and strides {before.strides} of an export ({form}) until its "
            "deleter runs",
            f"shape {after.shape} and strides {after.strides} after exports of other arrays",
        )


@check("deleter-releases")
def deleter_releases(kit: Kit) -> None:
    array, watched = _watch(kit)
    with kit.showing(verdicts.releases):
        kit.best(array)
        taken = [capsules.take(capsule) for capsule in kit.both(array)]
        del array
        for struct in taken:
            capsules.delete(struct)
    if not kit.settle(lambda: watched() is None):
        raise Failure("the array is released by the deleter", "it is still alive")


@check("deleter-without-gil")
def deleter_without_gil(kit: Kit) -> None:
    struct = capsules.take(kit.best(kit.array()))
    kit.shows(verdicts.foreign_thread)
    capsules.delete_on_foreign_thread(struct)
    foreign_thread_releases(kit)


# Runs in a process of its own. The deleter runs among the handlers of exit(), which come after the
# end of the interpreter. Before it, Python waits for threads. Each step writes a word to `steps`,
# since the library may have replaced sys.stdout.
_AT_EXIT = """
import atexit, ctypes, os
from dlbridge.conformance import worker, capsules
kit = worker.kit_of({chosen!r})
struct = capsules.take(kit.best(kit.array()))
libc = ctypes.CDLL(None)
register = libc.__cxa_atexit
register.argtypes = [ctypes.c_void_p] * 3
register(ctypes.cast(struct.deleter, ctypes.c_void_p).value, ctypes.addressof(struct), None)
atexit.register(os.write, {steps}, b"ending ")
os.write({steps}, b"registered ")
"""


@check("deleter-after-exit")
def deleter_after_exit(kit: Kit) -> None:
    if kit.chosen is None:
        raise Skip("needs a process of its own")
    struct = capsules.take(kit.best(kit.array()))
    kit.shows(verdicts.after_exit)
    has_deleter = capsules.deleter_of(struct) is not None
    capsules.delete(struct)
    if not has_deleter:
        raise Skip("the deleter is NULL")
    status, steps, log = _at_exit(kit)
    if "registered" not in steps:
        why = "in time" if status is None else f": {log.strip()[-200:]}"
        raise Skip(f"the process could not start {why}")
    if status is None:
        if "ending" not in steps:
            raise Skip("Python does not end, since it waits for a thread that is no daemon")
        raise Failure("the process ends", "it hangs in the deleter")
    if status:
        raise Failure("exit status 0", f"exit status {status}")


def _at_exit(kit: Kit) -> tuple[int | None, str, str]:
    """The exit status, or None after the limit; the steps that it has done, and its output. Files
    take both: a child of the process that lives on would keep a pipe open."""
    with tempfile.TemporaryFile() as steps, tempfile.TemporaryFile() as log:
        program = _AT_EXIT.format(chosen=kit.chosen, steps=steps.fileno())
        with subprocess.Popen(
            [sys.executable, "-B", "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=kit.environment,
            pass_fds=[steps.fileno()],
        ) as process:
            status: int | None = None
            try:
                status = process.wait(timeout=kit.limit)
            except subprocess.TimeoutExpired:
                process.kill()
        return status, _text(steps), _text(log)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


@check("outlives-producer")
def outlives_producer(kit: Kit) -> None:
    array = kit.array()
    with kit.showing(verdicts.outlives), consumed(kit.best(array)) as struct:
        del array
        for _ in range(3):
            kit.settle(lambda: False)
            _disturb(kit)
        found = capsules.describe(struct).elements()
    if found != expected("plain"):
        raise Failure("the values of the array", "other values after the array was released")


def _disturb(kit: Kit) -> None:
    """Makes arrays of the same size with other values, which would reuse freed memory."""
    for form in ("transposed", "negative"):
        try:
            for _ in range(32):
                kit.adapter.read(kit.array(form))
        except (Skip, Failure, Exception):
            continue


# ------------------------------------------------------------------------------------- consumer


@check("consumes-legacy")
def consumes_legacy(kit: Kit) -> None:
    _consumes(kit, "legacy")


@check("consumes-versioned")
def consumes_versioned(kit: Kit) -> None:
    _consumes(kit, "versioned")


def _consumes(kit: Kit, kind: str) -> None:
    tensor = tensors.of_form("plain", kind=kind)
    must = kind == kit.kind
    program = answers.arrives if must else answers.arrives_or_is_rejected
    array, error = kit.attempt(tensor, program)
    if error is None:
        kit.compare(array, expected("plain"), (3, 4))
    elif must:
        raise Failure(f"a {kind} tensor is imported", message(error))
    else:
        # A consumer that asks for one kind may know that kind alone.
        raise Skip(f"asks for {kit.kind} capsules: {message(error)}")


def _with_each_kind(function: Callable[[Kit, tensors.Tensor], None]) -> Callable[[Kit], None]:
    """The check with a tensor of each kind that the consumer imports."""

    def run(kit: Kit) -> None:
        for kind in kit.kinds:
            function(kit, kit.tensor(kind=kind))

    return run


@check("capsule-renamed")
@_with_each_kind
def capsule_renamed(kit: Kit, tensor: tensors.Tensor) -> None:
    array = kit.consume(kit.source(tensor, program=answers.renamed))
    names = ", ".join(map(capsules.label, tensor.handed_out))
    renamed = any(capsules.name(one) == b"used_" + tensor.name for one in tensor.handed_out)
    del array
    if renamed:
        return
    # Without a destructor, the tensor is not deleted twice.
    cleared = any(capsules.destructor(one) is None for one in tensor.handed_out)
    raise Failure(
        f"a capsule named used_{tensor.name.decode()}",
        f"{names}{', without a destructor' if cleared else ''}",
        "deviation" if cleared else "",
    )


class _Capsule:
    """Returns the same thing from each __dlpack__."""

    shape, dtype = (3, 4), "float32"

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __dlpack__(self, **keywords: object) -> object:
        return self.thing

    def __dlpack_device__(self) -> tuple[int, int]:
        return capsules.CPU


@check("used-capsule")
@_with_each_kind
def used_capsule(kit: Kit, tensor: tensors.Tensor) -> None:
    kit.source(tensor, program=verdicts.used_capsule)
    capsule = tensor.capsule()
    first = kit.consume(_Capsule(capsule))
    try:
        second = kit.taken(_Capsule(capsule))
    except (Skip, Failure):
        raise
    except Exception:
        del first
        kit.source(tensor, program=verdicts.deleters)
        kit.ends(tensor)
        return
    shared = kit.read(second) == expected("plain")
    raise Failure("an exception", "an array" if shared else "an array of other values", "crash")


@check("foreign-capsule")
def foreign_capsule(kit: Kit) -> None:
    tensor = kit.tensor()
    kit.source(tensor, program=answers.foreign)
    capsule = tensor.capsule(b"dltensor_unknown")
    try:
        kit.taken(_Capsule(capsule))
    except (Skip, Failure):
        raise
    except Exception:
        if capsules.name(capsule) != b"dltensor_unknown":
            found = capsules.label(capsule)
            raise Failure("the foreign capsule keeps its name", found) from None
        return
    raise Failure("an exception for a capsule named dltensor_unknown", "an array")


@check("not-a-capsule")
def not_a_capsule(kit: Kit) -> None:
    kit.reproducer = answers.not_a_capsule(kit.adapter.code)
    for thing in (None, 7, "dltensor", object()):
        try:
            array = kit.taken(_Capsule(thing))
        except Failure as failure:
            raise Failure("an exception", failure.found) from None
        except Skip:
            raise
        except Exception:
            continue
        raise Failure(f"an exception for {thing!r}", f"{type(array).__name__}", "wrong answer")


@check("deleter-once")
@_with_each_kind
def deleter_once(kit: Kit, tensor: tensors.Tensor) -> None:
    array = kit.consume(kit.source(tensor, program=verdicts.deleters))
    if tensor.deleted and kit.adapter.address(array) == tensor.memory.address:
        raise Failure("the deleter runs after the last use", "it ran at the import", "corruption")
    del array
    kit.ends(tensor)


@check("deleter-null")
def deleter_null(kit: Kit) -> None:
    tensor = kit.tensor(deleter=False)
    array = kit.arrives(tensor, expected("plain"), (3, 4))
    del array
    kit.settle(lambda: False)


@check("context-null")
def context_null(kit: Kit) -> None:
    tensor = kit.tensor(context=False)
    array = kit.arrives(tensor, expected("plain"), (3, 4))
    kit.source(tensor, program=verdicts.deleters)
    del array
    kit.ends(tensor)


@check("deleter-on-thread")
@_with_each_kind
def deleter_on_thread(kit: Kit, tensor: tensors.Tensor) -> None:
    held = [kit.consume(kit.source(tensor, program=verdicts.deleters_on_thread))]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    kit.ends(tensor)
