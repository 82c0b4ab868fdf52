# SPDX-License-Identifier: Apache-2.0
"""Order between the streams of a producer and a consumer.

A gate holds the producer's work back. A side that does not order the streams then reads or shows
the old values each time. Without a GPU a fake driver of CUDA gives the same answers, see cuda.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from . import capsules, checks_exchange, cuda, late, programs_streams, tensors
from .adapters import Request
from .kit import Kit, check, consumed, message, shown
from .outcomes import Failure, Skip

WRITTEN = "the values that the producer's work writes: "


# ------------------------------------------------------------------------------------- producers


def _late(kit: Kit, request: Request, stream: late.Stream) -> Any:
    """An array whose work waits at the gate."""
    with stream.patiently(late.PREPARING_SECONDS):
        array = kit.adapter.make_on(request, stream)
    if not stream.was_closed:
        raise Failure("make_on(request, stream) calls stream.close()", "it did not")
    if stream.waited:
        raise Failure("make_on(request, stream) returns while its work is late", "it waited")
    return array


def _requests(device: Any) -> Iterator[Request]:
    return (Request(device=device.device, turn=turn) for turn in range(3))


def _showing(
    kit: Kit, program: Callable[..., str], request: Request
) -> contextlib.AbstractContextManager[None]:
    """The programs are those of CUDA; another device has the one that shows the export."""
    if request.device[0] == cuda.DEVICE[0]:
        return kit.showing(program, request)
    return contextlib.nullcontext()


def _exported(kit: Kit, producer: late.Stream, array: Any, keywords: dict[str, Any]) -> Any:
    """Support for streams other than None is optional."""
    export = kit.best if keywords.get("stream") is None else kit.optional
    try:
        with producer.patiently():
            return export(array, **keywords)
    except BaseException:
        producer.open()
        raise


def _read(struct: Any, device: Any, handle: Any) -> late.Reading:
    found = capsules.describe(struct)
    if found.device != device.device:
        raise Failure(f"an export of device {device.device}", f"device {found.device}")
    return device.read(found.places(), found.dtype[1] // 8, handle)


def _exports(kit: Kit, reader: int | None, **keywords: Any) -> None:
    """The work of the consumer's stream `reader`, or of a new one, sees the producer's."""
    device = kit.device("make_on") if reader is None else kit.cuda("make_on")
    program = programs_streams.exports(reader, keywords)
    for request in _requests(device):
        producer = device.stream()
        handle = reader or device.stream().handle
        asked = keywords if reader else {"stream": handle}
        with _showing(kit, program, request):
            array = _late(kit, request, producer)
            capsule = _exported(kit, producer, array, asked)
        with consumed(capsule) as struct:
            bits = _read(struct, device, handle).finish(producer)
            device.synchronize(producer.handle)
        if bits != request.bits:
            raise Failure(WRITTEN + shown(request.bits), shown(bits))


@check("stream-export")
def stream_export(kit: Kit) -> None:
    _exports(kit, None)


@check("stream-default")
def stream_default(kit: Kit) -> None:
    _exports(kit, cuda.LEGACY)
    _exports(kit, cuda.LEGACY, stream=None)


@check("stream-legacy")
def stream_legacy(kit: Kit) -> None:
    _exports(kit, cuda.LEGACY, stream=1)


@check("stream-per-thread")
def stream_per_thread(kit: Kit) -> None:
    _exports(kit, cuda.PER_THREAD, stream=2)


@check("stream-unordered")
def stream_unordered(kit: Kit) -> None:
    device = kit.cuda("make_on")
    producer, request = device.stream(), next(_requests(device))
    with kit.showing(programs_streams.unordered, request):
        array = _late(kit, request, producer)
        pending = device.mark(producer.handle)
        capsule = _exported(kit, producer, array, {"stream": -1})
    ran = device.is_done(pending)
    producer.open()
    device.synchronize(producer.handle)
    capsules.delete(capsules.take(capsule))
    if producer.waited or ran:
        raise Failure("stream=-1: an export that does not wait", "it waited for the work")


@check("stream-zero")
def stream_zero(kit: Kit) -> None:
    device = kit.cuda("make_on")
    producer, request = device.stream(), next(_requests(device))
    array = _late(kit, request, producer)
    try:
        with kit.showing(programs_streams.rejected, request), producer.patiently():
            capsule = kit.ask(array, stream=0)
    except Exception:
        return
    finally:
        producer.open()
        device.synchronize(producer.handle)
    raise Failure("an exception for stream=0", capsules.label(capsule))


@check("stream-to-host")
def stream_to_host(kit: Kit) -> None:
    device = kit.device("make_on")
    for request in _requests(device):
        producer = device.stream()
        array = _late(kit, request, producer)
        try:
            with _showing(kit, programs_streams.to_host, request), producer.patiently():
                capsule = kit.optional(array, dl_device=capsules.CPU)
            with consumed(capsule) as struct:
                bits = capsules.describe(struct).elements()
        finally:
            producer.open()
            device.synchronize(producer.handle)
        if bits != request.bits:
            raise Failure(WRITTEN + shown(request.bits), shown(bits))


@check("table-current-stream")
def table_current_stream(kit: Kit) -> None:
    device = kit.cuda("make_on")
    if not kit.adapter.has("use"):
        raise Skip("the adapter has no use(stream)")
    streams, request = [device.stream(), device.stream()], next(_requests(device))
    array = _late(kit, request, streams[0])
    streams[0].open()
    device.synchronize(streams[0].handle)
    for stream in streams:
        with kit.showing(programs_streams.in_use, request), kit.adapter.use(stream):
            found = checks_exchange.current_stream(array, device.device)
        if found != stream.handle:
            raise Failure(f"the stream in use, {stream.handle:#x}", f"{found:#x}")


# ------------------------------------------------------------------------------------- consumers


def _tensor(address: int, kind: str) -> tensors.Tensor:
    return tensors.of_form("plain", kind=kind, device=cuda.DEVICE, data=address)


class _Ordering(tensors.Source):
    """A producer that is right: it orders the stream that is asked for after its own."""

    def __init__(self, address: int, device: Any, own: late.Stream) -> None:
        super().__init__(_tensor(address, "versioned"))
        self._address, self._device, self._own = address, device, own

    def __dlpack__(self, **keywords: Any) -> Any:
        stream = keywords.get("stream")
        if stream == 0 or (stream or 0) < -1:
            raise ValueError(f"stream={stream} is no stream of CUDA")
        if stream != -1:
            self._device.order(stream or cuda.LEGACY, self._own)
        if not keywords.get("max_version"):
            self.tensor = _tensor(self._address, "legacy")
        return super().__dlpack__(**keywords)


@check("stream-import")
def stream_import(kit: Kit) -> None:
    device = kit.cuda("read_on")
    for turn in range(3):
        request = Request(turn=turn)
        producer, consumer = device.stream(), device.stream()
        address = device.allocate(len(request.bits))
        producer.close()
        device.write(address, request.bits, producer)
        source = _Ordering(address, device, producer)
        with kit.showing(programs_streams.imports, request):
            bits = _received(kit, source, producer, consumer)
        device.synchronize(producer.handle)
        if bits != request.bits:
            raise Failure(WRITTEN + shown(request.bits), shown(bits))
        kit.ends(source.tensor)


def _received(kit: Kit, source: _Ordering, producer: late.Stream, consumer: late.Stream) -> bytes:
    try:
        with producer.patiently():
            bits = kit.adapter.read_on(source, consumer)
    except (Failure, Skip):
        raise
    except Exception as error:
        raise Failure("the tensor of CUDA is imported and read", message(error)) from error
    finally:
        producer.open()
    if not isinstance(bits, (bytes, bytearray, memoryview)):
        raise Failure("read_on(source, stream) returns bytes", type(bits).__name__)
    return bytes(bits)
