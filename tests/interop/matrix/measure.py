# SPDX-License-Identifier: Apache-2.0
"""One cell of the matrix: an array of one framework goes to another, and what came of it."""

import dataclasses
import gc
import re
import weakref

from dlbridge import _consumers, adapt, to

from . import cases, handmade

# What a cell may be. `absent`: the producer has no such array or hands it out to nobody.
OK, WRONG, REJECTED, ABSENT, CRASH = "ok", "wrong", "rejected", "absent", "crash"
# Cases that no capsule may show as they are.
UNSEEN = ("conjugated", "negated", "requires-grad")
# Permissions that are asked for one by one, and the cases in which they may be.
LAWFUL = {
    "lazy": lambda case, source: case.name in ("conjugated", "negated"),
    "grad": lambda case, source: case.name == "requires-grad",
    "strides": lambda case, source: case.name in ("transposed", "negative-strides", "broadcast"),
    "readonly": lambda case, source: not source["writable"],
    "device": lambda case, source: source["device"] != handmade.CPU,
}


def message(error):
    """The first line of an error, without what differs from run to run."""
    text = str(error).strip() or type(error).__name__
    line = re.sub(r"\s+", " ", text.split("\n")[0])
    line = re.sub(r"0x[0-9a-fA-F]+|\b\d{9,}\b", "…", line)
    line = re.sub(r"(?<![\w.])/[\w./+-]+/", "", line)
    return f"{type(error).__name__}: {line[:160]}"


def describe_source(producer, source):
    """Where a source's elements are and whether they may be written to."""
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
    """What is wrong with what arrived, and whether it is a copy (None: it has no elements)."""
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
    """Whether `done` comes true once everything that can be released is."""
    for _ in range(3):
        if done():
            return True
        for party in parties:
            party.settle()
        gc.collect()
    return done()


def leaks(producer, consumer, case, hand_over):
    """Whether a deleter of the producer's ran other than once once all is let go of."""
    counted = handmade.Counted(producer.make(case))
    try:
        hand_over(counted)
    except Exception:
        # Rejected: then what was handed out must have been deleted too.
        gc.collect()
    if settles((producer, consumer), lambda: counted.deleted == counted.handed_out):
        return []
    return [f"{counted.deleted} of {counted.handed_out} deleters ran"]


def watch(array):
    """A weak reference, or None for types that allow none."""
    try:
        return weakref.ref(array)
    except TypeError:
        return None


def cell(status, **details):
    return {"status": status, **{name: value for name, value in details.items() if value}}


def made(producer, case):
    """The array, what is known of it, and a cell that says why there is none, if so."""
    try:
        array = producer.make(case)
    except Exception as error:
        return None, None, cell(ABSENT, reason="no-array", why=message(error))
    try:
        return array, describe_plain(producer, case, array), None
    except Exception as error:
        return None, None, cell(ABSENT, reason="not-handed-out", why=message(error))


def native(producer, consumer, case):
    """The consumer's own import of the producer's own array."""
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
    """As describe_source; views that no capsule may show are asked through what can be shown."""
    if case.name in UNSEEN:
        return {
            "address": producer.address(array),
            "writable": producer.writable(array),
            "device": producer.device,
        }
    return describe_source(producer, array)


def permissions_of(error, adapted):
    """What a rejection says would help: {"readonly": "copy"}. Consumers may have wrapped it."""
    while error is not None:
        remedy = getattr(error, "remedy", None)
        if remedy:
            return remedy
        error = error.__cause__ or error.__context__
    return adapted.rejection.remedy if adapted is not None and adapted.rejection else None


def hand_over(array, consumer, may):
    """What arrives by adapt with the least that it asks for, or by `to` where adapt cannot."""
    given, named = {}, consumer.adapted_as
    while True:
        adapted = None
        try:
            adapted = adapt(array, consumer=named, **given)
            return Arrived(consumer.take(adapted), given, adapted.copied)
        except Exception as error:
            remedy = permissions_of(error, adapted)
            if not remedy and named is None:
                named = consumer.name  # nothing told who asks, and that may have been all
                continue
            if not remedy or not remedy.keys() - given.keys():
                return by_import(array, consumer, given, error)
            unlawful = [name for name in remedy if not may(name)]
            if unlawful:
                raise AssertionError(f"{unlawful} asked for without need: {error}") from error
            given |= remedy


def by_import(array, consumer, given, rejection):
    """By dlbridge.to, which has more ways than from_dlpack; else raises `rejection`."""
    try:
        return Arrived(to(array, consumer.name, **given), given, None, "to")
    except Exception:
        raise rejection from None


@dataclasses.dataclass
class Arrived:
    """An array, the permissions that it took, and whether dlbridge copied it (None: not told)."""

    array: object
    given: dict
    copied: bool | None
    way: str = ""


def copies_itself(consumer, source):
    """Whether the consumer copies such an array unasked: facts that proofs.py proves."""
    known = _consumers.CONSUMERS[consumer.name]
    elsewhere = known.moves_to not in (None, source["device"][0])
    return elsewhere or source["address"] % known.alignment != 0


def who_copied(arrived, consumer, source, problems):
    """Whose copy it is; one that nobody accounts for is a problem."""
    if arrived.copied:
        return "dlbridge"
    if copies_itself(consumer, source):
        return consumer.name
    problems.append("copied without a word")
    return None


def bridged(producer, consumer, case):
    """The same by way of dlbridge, with the permissions that it asks for and no more."""
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
        # A stranger, of whom less is known than of the array inside.
        problems = leaks(
            producer, consumer, case, lambda counted: hand_over(counted, consumer, lambda _: True)
        )
    return cell(
        WRONG if problems else OK, problems=problems, copied=by, permissions=permissions, way=way
    )


MODES = {"native": native, "dlbridge": bridged}
