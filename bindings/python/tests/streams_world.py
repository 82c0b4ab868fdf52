# SPDX-License-Identifier: Apache-2.0
"""What the next user of a tensor of CUDA sees while the work that writes it is late.

streams_world.py    prints a line of JSON: the values that each case found, or its exception

The process has a driver of its own, DLBRIDGE_LIBCUDA or the machine's.
"""

from __future__ import annotations

import ctypes
import json
import struct
import time

import dlbridge
import producers
from dlbridge import _core, abi
from dlbridge.conformance import cuda

CUDA = cuda.DEVICE
SHAPE = (2, 3)
VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
BYTES = struct.pack("6f", *VALUES)

device = cuda.Device()


class Late:
    """Memory that a stream writes once its gate is open, and a tensor that is ordered by it."""

    def __init__(self):
        self.stream = device.stream()
        self.address = device.allocate(len(BYTES))
        self.stream.close()
        device.write(self.address, BYTES, self.stream)
        self.tensor = _core.wrap(
            self, self.address, SHAPE, "float32", device=CUDA, stream=self.stream.handle
        )

    def __dlpack_device__(self):
        return CUDA

    def __dlpack__(self, *, stream=None, max_version=None):
        """A producer that does not know `dl_device` and `copy`."""
        return self.tensor.__dlpack__(stream=stream, max_version=max_version)


def on_host(tensor):
    return list(struct.unpack("6f", memoryview(tensor).cast("B")))


def seen_by(handle, late, address):
    """What the work of a stream reads."""
    reading = device.read([address + 4 * place for place in range(6)], 4, handle)
    found = list(struct.unpack("6f", reading.finish(late.stream)))
    device.synchronize(late.stream.handle)
    return found


def patiently(late, call):
    """The result of a call that may wait for the work: the gate is opened meanwhile."""
    with late.stream.patiently(0.1):
        return call()


# ----------------------------------------------------------------------------- copies to the host


def copied(late):
    return on_host(patiently(late, lambda: late.tensor.copy(device="cpu")))


def imported_to_the_host(late):
    return on_host(patiently(late, lambda: dlbridge.from_dlpack(late, device="cpu")))


def imported_from_a_tensor(late):
    return on_host(patiently(late, lambda: dlbridge.from_dlpack(late.tensor, device="cpu")))


def exported_to_the_host(late):
    keywords = {"dl_device": (1, 0), "max_version": (1, 0)}
    capsule = patiently(late, lambda: late.tensor.__dlpack__(**keywords))
    return on_host(dlbridge.from_dlpack(capsule))


def adapted_to_the_host(late):
    made = dlbridge.adapt(late, device="cpu")
    capsule = patiently(late, lambda: made.__dlpack__(max_version=(1, 0)))
    return on_host(dlbridge.from_dlpack(capsule))


def imported_from_torch(late):
    """torch's `__dlpack__` does not order anything unless a stream is named."""

    def export(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
        return late.tensor.__dlpack__(stream=stream, max_version=max_version)

    names = {"__module__": "torch", "__dlpack__": export}
    names |= {name: lambda self: False for name in ("is_conj", "is_neg")}
    names["requires_grad"] = property(lambda self: False)
    kind = type("Tensor", (), names)
    tensor = dlbridge.from_dlpack(kind())
    return on_host(patiently(late, lambda: tensor.copy(device="cpu")))


def as_numpy(late):
    return patiently(late, lambda: dlbridge.to(late, "numpy", device="cpu")).ravel().tolist()


# ------------------------------------------------------------------------------ exports on streams


def through_its_table(late):
    """The table names the legacy default stream as the one of the type."""
    shared = dlbridge.from_dlpack(late.tensor)
    return seen_by(cuda.LEGACY, late, shared.data_ptr)


def through_its_table_on_a_stream(late):
    consumer = device.stream()
    shared = dlbridge.from_dlpack(late.tensor, stream=consumer.handle)
    return seen_by(consumer.handle, late, shared.data_ptr)


def lent_by_its_table(late):
    _, address = abi.capsule(_core.Tensor.__dlpack_c_exchange_api__)
    table = abi.DLPackExchangeAPI.from_address(address)
    lend = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
    place = producers.DLTensor()
    call = lend(table.dltensor_from_py_object_no_sync)
    assert call(late.tensor, ctypes.addressof(place)) == 0
    return seen_by(cuda.LEGACY, late, place.data)


def adapted(late):
    capsule = dlbridge.adapt(late.tensor).__dlpack__(max_version=(1, 0))
    with_struct = dlbridge.from_dlpack(capsule)
    return seen_by(cuda.LEGACY, late, with_struct.data_ptr)


def adapted_before_the_work(late):
    """The export orders the work that the array has by then."""
    source = Late()
    source.stream.open()
    device.synchronize(source.stream.handle)
    made = dlbridge.adapt(source)
    source.stream, source.address, source.tensor = late.stream, late.address, late.tensor
    found = dlbridge.from_dlpack(made.__dlpack__(max_version=(1, 0)))
    return seen_by(cuda.LEGACY, late, found.data_ptr)


def adapted_on_a_stream(late):
    consumer = device.stream()
    made = dlbridge.adapt(late.tensor)
    capsule = made.__dlpack__(max_version=(1, 0), stream=consumer.handle)
    return seen_by(consumer.handle, late, dlbridge.from_dlpack(capsule).data_ptr)


# ------------------------------------------------------------------- objects of another framework


class Framework:
    """A type whose table names a stream; None: its function fails."""

    def __init__(self, handle):
        self.handle = handle
        self.made = []
        functions = {"to_object": producers._TO(self._to_object)}
        functions["stream"] = producers._STREAM(self._stream)
        self._kept = functions
        table = producers.table_capsule(producers.table(**functions))
        self.kind = producers.tabled_type(__dlpack_c_exchange_api__=table)

    def _stream(self, device_type, device_id, out):
        out[0] = self.handle
        return 0 if self.handle is not None else -1

    def _to_object(self, address, out):
        found = self.kind()
        found.struct = producers.Versioned.from_address(address)
        self.made.append(found)
        producers._incref(found)
        out[0] = id(found)
        return 0


def converted(late, source, handle, convert=dlbridge.to):
    framework = Framework(handle)
    found = (
        patiently(late, lambda: convert(source, framework.kind))
        if handle is None
        else convert(source, framework.kind)
    )
    return seen_by(handle or device.stream().handle, late, found.struct.dl_tensor.data)


def to_of_a_tensor(late):
    return converted(late, late.tensor, device.stream().handle)


def to_of_a_producer(late):
    return converted(late, late, device.stream().handle)


def to_type_of_a_producer(late):
    return converted(late, late, device.stream().handle, _core.to_type)


def to_of_its_own_stream(late):
    return converted(late, late.tensor, late.stream.handle)


def to_where_no_stream_is_named(late):
    """The host waits, and lets other threads of Python run, such as the one that opens the gate."""
    began = time.monotonic()
    found = converted(late, late.tensor, None)
    assert time.monotonic() - began < 3, "the GIL was held"
    return found


def to_of_an_array_with_a_table(late):
    """Both frameworks have tables; the producer works on the late stream."""
    source = Framework(late.stream.handle).kind(data=late.address, device=CUDA)
    return converted(late, source, device.stream().handle, _core.to_type)


CASES = (
    *(copied, imported_to_the_host, imported_from_a_tensor, exported_to_the_host),
    *(imported_from_torch, adapted_to_the_host, as_numpy),
    *(through_its_table, through_its_table_on_a_stream, lent_by_its_table),
    *(adapted, adapted_before_the_work, adapted_on_a_stream),
    *(to_of_a_tensor, to_of_a_producer, to_type_of_a_producer, to_of_its_own_stream),
    *(to_where_no_stream_is_named, to_of_an_array_with_a_table),
)


def outcome(case):
    late = Late()
    try:
        return case(late)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        late.stream.open()
        device.synchronize(late.stream.handle)


def main():
    print(json.dumps({case.__name__: outcome(case) for case in CASES}))


if __name__ == "__main__":
    main()
