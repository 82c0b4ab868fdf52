# SPDX-License-Identifier: Apache-2.0
"""Order of asynchronous work whose result the host reads.

The adapter's `delayed` starts work that writes an array some 0.1 s later, on a queue, a stream or a
thread of the library. A missing synchronisation then shows as wrong values each time.
checks_order.py checks the order between two streams.
"""

from __future__ import annotations

from typing import Any

from . import answers, capsules
from .adapters import Request, Unsupported
from .kit import Kit, check, consumed, message, shown
from .outcomes import Failure, Skip


def _delayed(kit: Kit, request: Request) -> Any:
    kit.array()  # what is needed once for any array is not part of the delay
    try:
        return kit.adapter.delayed(request)
    except Unsupported as error:
        raise Skip(str(error)) from None


def _final(request: Request, capsule: Any) -> None:
    with consumed(capsule) as struct:
        bits = capsules.describe(struct).elements()
    if bits != request.bits:
        raise Failure("the final values: " + shown(request.bits), shown(bits))


@check("export-waits")
def export_waits(kit: Kit) -> None:
    for turn in range(3):
        request = Request(turn=turn)
        array = _delayed(kit, request)
        keywords: dict[str, Any] = kit.newest
        if int(array.__dlpack_device__()[0]) != 1:
            keywords["dl_device"] = capsules.CPU
        _final(request, kit.export(array, **keywords))


@check("copy-waits")
def copy_waits(kit: Kit) -> None:
    for turn in range(3):
        request = Request(turn=turn)
        array = _delayed(kit, request)
        keywords: dict[str, Any] = {"max_version": capsules.NEWEST, "copy": True}
        if int(array.__dlpack_device__()[0]) != 1:
            keywords["dl_device"] = capsules.CPU
        try:
            capsule = kit.ask(array, **keywords)
        except Exception as error:
            raise Skip(f"no copy: {message(error)}") from None
        _final(request, kit.fresh(capsule))


@check("stream-none")
def stream_none(kit: Kit) -> None:
    source = kit.source(kit.tensor(), program=answers.stream_none)
    kit.consume(source)
    streams = [keywords["stream"] for keywords in source.requests if "stream" in keywords]
    wrong = [stream for stream in streams if stream is not None]
    if wrong:
        raise Failure("stream=None for memory of the CPU", f"stream={wrong[0]!r}")


@check("stream-legal")
def stream_legal(kit: Kit) -> None:
    """Most consumers without a GPU reject the device before they ask for a capsule."""
    source = kit.source(kit.tensor(device=(2, 0)), program=answers.stream_legal)
    try:
        kit.adapter.consume(source)
    except Exception as error:
        if not source.requests:
            raise Skip(f"CUDA memory is rejected before the request: {message(error)}") from None
    streams = [keywords.get("stream") for keywords in source.requests]
    wrong = [stream for stream in streams if stream == 0 or (stream or 0) < -1]
    if wrong:
        raise Failure("a stream that is None, -1 or at least 1", f"stream={wrong[0]!r}")
