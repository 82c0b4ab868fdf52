# SPDX-License-Identifier: Apache-2.0
"""Measures one cell of the matrix: an array of one framework is imported by another."""

import dataclasses
import gc
import re
import weakref

from dlbridge import _consumers, adapt, to
from dlbridge.conformance import handmade

from . import cases

# The status of a cell. `absent`: the producer has no such array or does not export it.
OK, WRONG, REJECTED, ABSENT, CRASH = "ok", "wrong", "rejected", "absent", "crash"
# Cases that no capsule can represent.
UNSEEN = ("conjugated", "negated", "requires-grad")
# Permission -> whether dlbridge may demand it for a case.
LAWFUL = {
    "lazy": lambda case, source: case.name in ("conjugated", "negated"),
    "grad": lambda case, source: case.name == "requires-grad",
    "strides": lambda case, source: case.name in ("transposed", "negative-strides", "broadcast"),
    "readonly": lambda case, source: not source["writable"],
    "device": lambda case, source: source["device"] != handmade.CPU,
    "dtype": lambda case, source: False,
}
# The setting that makes a consumer keep the values, recorded beside the permissions.
X64 = ("x64", "enabled")


def message(error):
    """The first line of an error, without parts that differ between runs."""
    text = str(error).strip() or type(error).__name__
    line = re.sub(r"\s+", " ", text.split("\n")[0])
    line = re.sub(r"0x[0-9a-fA-F]+|\b\d{9,}\b", "…", line)
    line = re.sub(r"(?<![\w.])/[\w./+-]+/", "", line)
    return f"{type(error).__name__}: {line[:160]}"


def describe_source(producer, source):
    """The address, writability and device of a source."""
    if isinstance(source, handmade.Export):
        tensor = source.tensor
        return {
            "address": handmade.address(tensor),
            "writable": not source.flags & handmade.READ_ONLY,
            "device": tensor["device"],
        }
    return {
        "address": producer.address(source),
        "writable": producer.writable(source),
        "device": producer.device,
    }


def judge(case, source, consumer, array):
    """Returns the problems of the imported array, and whether it is a copy (None: it is empty)."""
    wanted = cases.reference(case)
    dtype = cases.dtype_of(case)
    problems = []
    if consumer.shape(array) != wanted.shape:
        problems.append(f"shape {consumer.shape(array)}")
    if consumer.dtype(array) != dtype:
        problems.append(f"dtype {consumer.dtype(array)}")
    elif consumer.bits(array, dtype) != wanted.tobytes():
        problems.append("values differ")
    copied = None if not wanted.size else consumer.address(array) != source["address"]
    if not source["writable"] and copied is False and consumer.writable(array):
        problems.append("an immutable array arrived writable")
    return problems, copied


def settles(parties, done):
    """Whether `done` becomes true after everything is released."""
    for _ in range(3):
        if done():
            return True
        for party in parties:
            party.settle()
        gc.collect()
    return done()


def leaks(producer, consumer, case, hand_over):
    """Problems if a deleter of the producer did not run exactly once after all is released."""
    counted = handmade.Counted(producer.make(case))
    try:
        hand_over(counted)
    except Exception:
        # After a rejection, every exported struct must have been deleted too.
        gc.collect()
    if settles((producer, consumer), lambda: counted.deleted == counted.handed_out):
        return []
    return [f"{counted.deleted} of {counted.handed_out} deleters ran"]


def watch(array):
    """A weak reference, or None if the type does not support them."""
    try:
        return weakref.ref(array)
    except TypeError:
        return None


def cell(status, **details):
    return {"status": status, **{name: value for name, value in details.items() if value}}


def made(producer, case):
    """Returns the array, its description, and a cell with the reason if there is no array."""
    try:
        array = producer.make(case)
    except Exception as error:
        return None, None, cell(ABSENT, reason="no-array", why=message(error))
    try:
        return array, describe_plain(producer, case, array), None
    except Exception as error:
        return None, None, cell(ABSENT, reason="not-handed-out", why=message(error))


def native(producer, consumer, case):
    """The consumer imports the producer's array without dlbridge."""
    array, source, absent = made(producer, case)
    if absent:
        return absent
    watched = watch(array)
    try:
        taken = consumer.take(array)
    except Exception as error:
        return cell(REJECTED, why=message(error))
    problems, copied = judge(case, source, consumer, taken)
    del taken, array
    if not settles((producer, consumer), lambda: watched is None or watched() is None):
        problems.append("the source is never released")
    if not problems:
        problems = leaks(producer, consumer, case, consumer.take)
    return cell(WRONG if problems else OK, problems=problems, copied=copied)


def describe_plain(producer, case, array):
    """Like describe_source; for cases that no capsule can represent, asks the framework."""
    if case.name in UNSEEN:
        return {
            "address": producer.address(array),
            "writable": producer.writable(array),
            "device": producer.device,
        }
    return describe_source(producer, array)


def permissions_of(error, adapted):
    """The remedy of a rejection, such as {"readonly": "copy"}. Consumers may wrap the exception."""
    while error is not None:
        remedy = getattr(error, "remedy", None)
        if remedy:
            return remedy
        error = error.__cause__ or error.__context__
    return adapted.rejection.remedy if adapted is not None and adapted.rejection else None


def hand_over(array, consumer, may):
    """Imports through adapt with only the demanded permissions, or through `to` if adapt fails."""
    given, named, widened = {}, consumer.adapted_as, {}
    while True:
        adapted = None
        try:
            adapted = adapt(array, consumer=named, **given)
            return Arrived(consumer.take(adapted), {**given, **widened}, adapted.copied)
        except Exception as error:
            remedy = permissions_of(error, adapted)
            if not remedy and named is None:
                named = consumer.name  # the consumer may not have been identified
                continue
            if remedy and "dtype" in remedy and consumer.widen():
                widened = dict([X64])
                continue
            if not remedy or not remedy.keys() - given.keys():
                return by_import(array, consumer, given, error)
            unlawful = [name for name in remedy if not may(name)]
            if unlawful:
                raise AssertionError(f"{unlawful} demanded without need: {error}") from error
            given |= remedy


def by_import(array, consumer, given, rejection):
    """Imports through dlbridge.to, which has more ways than from_dlpack, or raises `rejection`."""
    try:
        return Arrived(to(array, consumer.name, **given), given, None, "to")
    except Exception:
        raise rejection from None


@dataclasses.dataclass
class Arrived:
    """An array, the permissions used, and whether dlbridge copied it (None: unknown)."""

    array: object
    given: dict
    copied: bool | None
    way: str = ""


def copies_itself(consumer, source):
    """Whether the consumer silently copies such an array; proofs.py proves these facts."""
    known = _consumers.CONSUMERS[consumer.name]
    elsewhere = known.moves_to not in (None, source["device"][0])
    return elsewhere or source["address"] % known.alignment != 0


def who_copied(arrived, consumer, source, problems):
    """Who made the copy. An unexplained copy is a problem."""
    if arrived.copied:
        return "dlbridge"
    if copies_itself(consumer, source):
        return consumer.name
    problems.append("copied silently")
    return None


def bridged(producer, consumer, case):
    """The consumer imports the array through dlbridge, with only the demanded permissions."""
    try:
        return _bridged(producer, consumer, case)
    finally:
        consumer.narrow()


def _bridged(producer, consumer, case):
    array, source, absent = made(producer, case)
    if absent:
        return absent
    watched = watch(array)

    def may(permission):
        return LAWFUL[permission](case, source)

    try:
        arrived = hand_over(array, consumer, may)
    except Exception as error:
        return cell(REJECTED, why=message(error))
    problems, copied = judge(case, source, consumer, arrived.array)
    by = who_copied(arrived, consumer, source, problems) if copied else None
    permissions = sorted(f"{name}={value}" for name, value in arrived.given.items())
    way = arrived.way
    del arrived, array
    if not settles((producer, consumer), lambda: watched is None or watched() is None):
        problems.append("the source is never released")
    if not problems and case.name not in UNSEEN:
        # The counting wrapper is an unknown producer, so it may need more permissions.
        problems = leaks(
            producer, consumer, case, lambda counted: hand_over(counted, consumer, lambda _: True)
        )
    return cell(
        WRONG if problems else OK, problems=problems, copied=by, permissions=permissions, way=way
    )


MODES = {"native": native, "dlbridge": bridged}
