# SPDX-License-Identifier: Apache-2.0
"""Dask distributed: its frames are the tensor's memory, and two workers pass the tensor on."""

import os

import dlbridge
import numpy as np
from checks import Checks, expect
from distributed import Client, LocalCluster
from distributed.protocol import deserialize, dumps, loads, serialize, to_serialize

ROWS, COLUMNS = 512, 1024


def address_of(frame):
    return dlbridge.from_buffer(memoryview(frame)).data_ptr


def source_of(layout):
    values = np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS)
    return {"C": values, "F": values.T, "reversed": values[::-1]}[layout]


def frames_are_the_memory(layout):
    source = source_of(layout)
    tensor = dlbridge.portable(source)
    header, frames = serialize(tensor)
    expect(header["serializer"] == "pickle", header)
    expect(len(frames) == 2, len(frames))
    lowest = source.ctypes.data + min(0, source.strides[0]) * (source.shape[0] - 1)
    expect(address_of(frames[1]) == lowest, layout)
    expect(memoryview(frames[1]).nbytes == source.nbytes)
    arrived = deserialize(header, frames)
    expect(arrived.data_ptr == source.ctypes.data and arrived.strides == tensor.strides)
    expect(arrived.readonly == tensor.readonly)


def adapted_arrays_too():
    source = source_of("F")
    header, frames = serialize(dlbridge.adapt(source))
    expect(address_of(frames[1]) == source.ctypes.data, len(frames))
    arrived = deserialize(header, frames)
    expect(isinstance(arrived, dlbridge.Tensor) and arrived.data_ptr == source.ctypes.data)


def messages_are_the_memory():
    source = source_of("C")
    frames = dumps({"x": to_serialize(dlbridge.portable(source))})
    sent = [frame for frame in frames if memoryview(frame).nbytes >= source.nbytes]
    expect(len(sent) == 1 and address_of(sent[0]) == source.ctypes.data, len(frames))
    arrived = loads(frames)["x"]
    expect(arrived.data_ptr == source.ctypes.data)


def read_only_stays_so():
    source = source_of("C")
    source.flags.writeable = False
    header, frames = serialize(dlbridge.portable(source))
    expect(memoryview(frames[1]).readonly)
    expect(deserialize(header, frames).readonly)
    expect(deserialize(header, [bytearray(frame) for frame in frames]).readonly)


def make(layout):
    return dlbridge.portable(source_of(layout))


def look(tensor):
    return {
        "process": os.getpid(),
        "type": type(tensor).__name__,
        "readonly": tensor.readonly,
        "strides": tensor.strides,
        "sum": float(np.from_dlpack(tensor)[1].sum()),
    }


def double(tensor):
    """Writes to the received tensor and returns it."""
    np.from_dlpack(tensor)[...] *= 2
    return tensor


def process_of():
    return os.getpid()


def between_workers(client, layout):
    first, second = sorted(client.scheduler_info()["workers"])
    made = client.submit(make, layout, workers=[first], pure=False)
    seen = client.submit(look, made, workers=[second], pure=False).result()
    maker = client.submit(process_of, workers=[first], pure=False).result()
    expect(seen["process"] not in (maker, os.getpid()), seen)
    source = source_of(layout)
    expect(seen["type"] == "Tensor" and not seen["readonly"], seen)
    expect(seen["strides"] == dlbridge.portable(source).strides, seen)
    expect(seen["sum"] == float(source[1].sum()), seen)
    doubled = client.submit(double, made, workers=[second], pure=False)
    arrived = client.submit(look, doubled, workers=[first], pure=False).result()
    expect(arrived["process"] == maker and arrived["sum"] == 2 * seen["sum"], arrived)


def every_dtype(client):
    for dtype in ("bfloat16", "float8_e4m3fn", "int4", "float6_e2m3fn"):
        tensor = dlbridge.from_buffer(bytes(range(96)), dtype=dtype)
        arrived = client.submit(lambda found: found, tensor, pure=False).result()
        expect((arrived.dtype, arrived.shape) == (dtype, tensor.shape), arrived)
        expect(dlbridge.to_buffer(arrived).tobytes() == bytes(range(96)), dtype)


def workers(check):
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        for layout in ("C", "F", "reversed"):
            check(f"two workers hand a tensor on, layout {layout}", between_workers, client, layout)
        check("bfloat16, float8 and packed elements arrive", every_dtype, client)


if __name__ == "__main__":
    check = Checks("dask")
    for layout in ("C", "F", "reversed"):
        check(f"the frame is the memory, layout {layout}", frames_are_the_memory, layout)
    check("the frame of an adapted array is its memory", adapted_arrays_too)
    check("a whole message's frame is the memory", messages_are_the_memory)
    check("read-only stays so", read_only_stays_so)
    workers(check)
    check.leave()
