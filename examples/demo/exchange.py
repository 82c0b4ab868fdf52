# SPDX-License-Identifier: Apache-2.0
"""Scene 1: the legacy capsule of each framework, upgraded and imported by each of the others."""

import numpy as np
from bridge import COPY, Export, describe
from capsules import READ_ONLY, look
from frameworks import CONSUMERS, NUMPY, ONNX, PRODUCERS, TVM_FFI, VALUES, address

MARK = -1.0
ROW = "    {:<14}{:<16}{:<15}{:<11}{:<10}{}"


def write(consumer, taken):
    """Whether a write to the consumer's tensor succeeds."""
    try:
        if consumer is ONNX:
            taken.update_inplace(np.full_like(VALUES, MARK))
        else:
            taken[0, 0] = MARK
    except (TypeError, ValueError):
        return False
    return True


def written(show, pair, producer, consumer, value, taken, copied):
    """Whether the consumer can write, with a check that the producer's tensor changes only then."""
    if consumer is TVM_FFI:
        return "unknown"  # it drops the flag; scene 2 shows how the flag comes back
    wrote = write(consumer, taken)
    may = bool(producer.writable) if consumer is NUMPY else consumer is ONNX
    show.check(f"{pair}: written to", wrote, may)
    changed = not np.array_equal(producer.values(value), VALUES)
    show.check(f"{pair}: the producer's tensor changed", changed, wrote and not copied)
    return "yes" if wrote else "no"


def upgraded(show, pair, producer, value):
    """The upgraded tensor of the producer's capsule, and the address in the capsule."""
    capsule = show.handed_out(producer, value)
    before = address(look(capsule))
    tensor = show.library.take(capsule, producer.writable)
    flags = 0 if producer.writable else READ_ONLY
    show.check(f"{pair}: flags", tensor.flags, flags)
    version = f"{tensor.version.major}.{tensor.version.minor}"
    show.check(f"{pair}: version", version, show.library.version()[1])
    show.check(f"{pair}: address after the upgrade", address(tensor), before)
    return tensor, before


def exchange(show, producer, consumer):
    pair = f"{producer.name} -> {consumer.name}"
    value = producer.make()
    tensor, before = upgraded(show, pair, producer, value)
    after = describe(tensor)
    loss = consumer.loss if tensor.flags & READ_ONLY else 0
    copied = loss == COPY

    export = Export(show.library, tensor, loss)
    taken = consumer.take(export)
    there = show.address_in(consumer, taken)
    show.check(f"{pair}: values", np.array_equal(consumer.values(taken), VALUES))
    show.check(f"{pair}: same address", there == before, not copied)
    wrote = written(show, pair, producer, consumer, value, taken, copied)

    show.shown["copies" if copied else "aliases"] += 1
    place = f"{there:#x} {'copied' if copied else 'same'}"
    print(ROW.format(consumer.name, f"{before:#x}", after, export.passed_as, wrote, place))


def scene(show):
    show.title("1. Legacy capsules of frameworks, upgraded and imported by other frameworks")
    for producer in PRODUCERS:
        knowledge = "the caller vouches" if producer.writable else "the caller does not vouch"
        print(
            f"  {producer.name}: dltensor, no version, no flags, writability unknown; {knowledge}"
        )
        print(
            ROW.format("to", "exported at", "upgraded to", "passed as", "writable", "imported at")
        )
        for consumer in CONSUMERS:
            if consumer is not producer:
                exchange(show, producer, consumer)
