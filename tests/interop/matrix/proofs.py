# SPDX-License-Identifier: Apache-2.0
"""Proves, with the consumer itself, why a cell cannot work, and the facts of its table.

The tensors here are handmade, without dlbridge: compact, aligned, on the host, and of both kinds,
so that only the property in question can cause a rejection.
"""

from dlbridge import _consumers
from dlbridge.conformance import handmade

from . import cases, measure

PROVED, UNPROVED = "proved", "unproved"
# The closed list of reasons for a cell that cannot work.
REASONS = {
    "no-array": "the producer has no such array (creating one fails or is impossible)",
    "not-handed-out": "the producer does not export such an array (its own export fails)",
    "no-dtype": "the consumer has no such dtype (it rejects a tensor of it made by hand)",
    "no-shape": "the consumer takes no array of that shape (it rejects one made by hand)",
}


def _handmade(bits, dtype, **changes):
    """A compact tensor over a NumPy array, as `handmade.Export` takes it."""
    tensor = {
        "data": bits.__array_interface__["data"][0],
        "byte_offset": 0,
        "device": handmade.CPU,
        "dtype": cases.TRIPLES[dtype],
        "shape": bits.shape,
        "strides": handmade.compact(bits.shape),
    }
    return {**tensor, **changes}


def _take(consumer, bits, tensor, versioned, *, bare=False, flags=0, dtype="float32"):
    export = handmade.Export(bits, tensor, versioned=versioned, flags=flags, dtype=dtype)
    return consumer.take(export.__dlpack__() if bare else export)


def _accepted(consumer, bits, dtype, expected):
    """Returns the ways in which the consumer accepts a handmade tensor, and its other answers."""
    accepted, rejected = [], {}
    tensor = _handmade(bits, dtype)
    for versioned in (False, True):
        for bare in (False, True):
            if bare and consumer.name == "dpnp":
                continue  # its from_dlpack accepts no capsules
            way = f"{'versioned' if versioned else 'legacy'}{' capsule' if bare else ''}"
            try:
                array = _take(consumer, bits, tensor, versioned, bare=bare, dtype=dtype)
                if consumer.bits(array, dtype) == expected and consumer.dtype(array) == dtype:
                    accepted.append(way)
                else:
                    rejected[way] = "other values or another dtype arrive"
            except Exception as error:
                rejected[way] = measure.message(error)
    return accepted, rejected


def prove(producer, consumer, case):
    """Proves that the consumer rejects the case's dtype or its shape."""
    del producer
    dtype = cases.dtype_of(case)
    plain = cases.base(dtype)
    accepted, rejected = _accepted(consumer, plain, dtype, plain.tobytes())
    if not accepted:
        return {"status": PROVED, "reason": "no-dtype", "rejected": rejected}
    shaped = cases.aligned(cases.reference(case))
    accepted, rejected = _accepted(consumer, shaped, dtype, shaped.tobytes())
    if not accepted:
        return {"status": PROVED, "reason": "no-shape", "rejected": rejected}
    return {"status": UNPROVED, "accepted": accepted}


def _view(consumer, shape, strides, start=0, **how):
    """Whether an array of float32 laid out so over the base's memory arrives, and shares it."""
    bits = cases.base("float32")
    place = bits.__array_interface__["data"][0] + 4 * start
    tensor = _handmade(bits, "float32", data=place, shape=shape, strides=strides)
    known = _consumers.CONSUMERS[consumer.name]
    array = _take(consumer, bits, tensor, known.newest is not None, **how)
    return array, tensor, consumer.bits(array, "float32") == handmade.elements(tensor)


def _takes_strides(shape, strides, start=0):
    def ask(consumer):
        try:
            return _view(consumer, shape, strides, start)[2]
        except Exception:
            return False

    def expected(known):
        return _consumers.takes_strides(known, _consumers.CPU, shape, strides)

    return ask, expected


def _takes_dtype(dtype):
    def ask(consumer):
        bits = cases.base(dtype)
        return bool(_accepted(consumer, bits, dtype, bits.tobytes())[0])

    def expected(known):
        relabelled = _consumers.relabels(known, dtype)
        kept = _consumers.narrowed(known, dtype) is None
        return _consumers.takes_dtype(known, dtype) and kept and not relabelled

    return ask, expected


def _keeps_read_only(consumer):
    try:
        array, *_ = _view(consumer, (12,), (1,), flags=handmade.READ_ONLY)
    except Exception:
        return False
    return not consumer.immutable and not consumer.writable(array)


def _never_writes(consumer):
    """Whether the consumer's arrays reject assignment."""
    array = _view(consumer, (12,), (1,))[0]
    try:
        array[0] = 1
    except TypeError:
        return hasattr(array, "__getitem__")
    except Exception:
        return False
    return False


def _copies_unaligned(consumer):
    array, tensor, same = _view(consumer, (3,), (1,), 1)
    return same and consumer.address(array) != handmade.address(tensor)


def _computes_with_unaligned(consumer):
    """A consumer whose process ends here does not have this property."""
    array, *_ = _view(consumer, (3,), (1,), 1)
    consumer.compute(array)
    return True


def _adds_byte_offset(consumer):
    bits = cases.base("float32")
    tensor = _handmade(bits, "float32", shape=(2, 4), strides=(4, 1), byte_offset=16)
    known = _consumers.CONSUMERS[consumer.name]
    try:
        array = _take(consumer, bits, tensor, known.newest is not None)
    except Exception:
        return False
    return consumer.bits(array, "float32") == bits[1:].tobytes()


# Name of a fact -> (function that measures it, function that reads it from the table).
FACTS = {
    "transposed strides": _takes_strides((4, 3), (1, 4)),
    "broadcast strides": _takes_strides((3, 4), (0, 1)),
    "strides with gaps": _takes_strides((3, 2), (4, 1)),
    "negative strides": _takes_strides((3, 4), (-4, -1), 11),
    **{f"dtype {dtype}": _takes_dtype(dtype) for dtype in cases.TRIPLES},
    "keeps READ_ONLY": (
        _keeps_read_only,
        lambda known: known.honours_read_only and known.moves_to is None,
    ),
    "is immutable": (_never_writes, lambda known: known.immutable),
    "copies unaligned data": (
        _copies_unaligned,
        lambda known: known.alignment > 4 or known.moves_to is not None,
    ),
    "computes with unaligned data": (
        _computes_with_unaligned,
        lambda known: known.needs_alignment == 1,
    ),
    "adds byte_offset": (
        _adds_byte_offset,
        lambda known: known.name not in _consumers.NO_BYTE_OFFSET,
    ),
}


def fact(producer, consumer, name):
    """Compares a measured fact with the table."""
    del producer
    ask, expected = FACTS[name]
    known = _consumers.CONSUMERS[consumer.name]
    found, table = bool(ask(consumer)), bool(expected(known))
    return {"status": "ok" if found == table else "wrong", "found": found, "table": table}


def fact_of_crash(consumer, name):
    """A consumer that crashes does not have the property."""
    table = bool(FACTS[name][1](_consumers.CONSUMERS[consumer]))
    return {"status": "wrong" if table else "ok", "found": "crash", "table": table}
