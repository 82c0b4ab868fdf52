# SPDX-License-Identifier: Apache-2.0
"""Copies in shapes that drivers may reject: odd pitches, rows of a byte, many rows, over 4 GiB.

The pitches that the driver itself accepts for rectangles on the device are measured.
"""

import ctypes
import os

from checks import Checks
from cuda_driver import ADDRESS, DEVICE, HANDLE, SIZE, Copy2D, Driver

import bindings as b

GIB = 1 << 30
MANY = 65_537
# Bytes without a period that a pitch could share: a shifted row differs from its neighbours.
PRIME = 251


class Layout:
    """A box of bytes: its extents, its strides, and the offset of its first byte."""

    def __init__(self, shape, strides, offset=0):
        self.shape, self.strides, self.offset = shape, strides, offset
        self.size = (
            offset
            + 1
            + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
        )

    def runs(self):
        """The offset of each run of the last axis."""
        offsets = [self.offset]
        for extent, stride in zip(self.shape[:-1], self.strides[:-1], strict=True):
            offsets = [start + i * stride for start in offsets for i in range(extent)]
        return offsets

    def packed(self, data):
        """The elements in C order."""
        width, step = self.shape[-1], self.strides[-1]
        return b"".join(data[at : at + (width - 1) * step + 1 : step] for at in self.runs())


LAYOUTS = {
    "flat": Layout([4096], [1]),
    "2-D, even pitch": Layout([16, 64], [256, 1]),
    "2-D, pitch 257": Layout([16, 64], [257, 1]),
    "2-D, pitch 3, rows of 2": Layout([1000, 2], [3, 1]),
    "2-D, odd offset and pitch": Layout([33, 61], [127, 1], 3),
    "2-D, rows of 1 byte": Layout([4000, 1], [3, 1]),
    "2-D, step 2": Layout([1000], [2]),
    "2-D, more than 65,535 rows": Layout([MANY, 5], [7, 1]),
    "2-D, more than 65,535 rows of 1 byte": Layout([MANY, 1], [2, 1]),
    "2-D, a pitch of 2 MiB": Layout([3, 5], [(1 << 21) + 1, 1]),
    "3-D, odd pitches": Layout([5, 7, 11], [401, 13, 1]),
    "3-D, rows of 1 byte": Layout([20, 30, 1], [101, 3, 1]),
    "3-D, planes that are whole rows": Layout([5, 7, 11], [7 * 13, 13, 1], 1),
    "3-D, more than 65,535 planes": Layout([MANY, 2, 3], [11, 4, 1]),
    "4-D": Layout([3, 4, 5, 6], [1009, 211, 31, 1]),
    "transposed": Layout([60, 50], [1, 64]),
    "broadcast": Layout([8, 16], [0, 1]),
}
DIRECTIONS = ("to the host", "to the device", "on the device")
PITCHES = (1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 100, 127, 128, 255, 256, 257, 511, 512, 513, 1 << 20)


def pattern(size):
    return (bytes(range(PRIME)) * (size // PRIME + 1))[:size]


class Copies(Checks):
    @classmethod
    def setUpClass(cls):
        cls.library = b.need_device()
        cls.driver = Driver()
        cls.driver.use_primary_context()
        cls.stream = cls.driver.make_stream()

    def on_device(self, data):
        address = self.driver.allocate(len(data))
        self.addCleanup(self.driver.free, address)
        self.driver.write(address, data, self.stream)
        self.driver.synchronize(self.stream)
        return address

    def copied(self, layout, data, direction, queue):
        """The bytes that the library copied."""
        place = ctypes.create_string_buffer(data, len(data))
        on_host = direction == "to the device"
        address = ctypes.addressof(place) if on_host else self.on_device(data)
        device = b.CPU if on_host else b.CUDA
        source = b.tensor(address, device, layout.shape, layout.strides, byte_offset=layout.offset)
        if direction == "to the host":
            managed = self.library.copy(source, queue=queue, staging=True)
            found = b.content(managed)
        else:
            size = len(layout.packed(data))
            target = self.on_device(bytes(size))
            options = {"device": b.CUDA, "target": target, "size": size, "queue": queue}
            managed = self.library.copy(source, staging=True, **options)
            found = self.driver.read(target, size, self.stream)
        self.library.release(managed)
        return found

    def test_layouts(self):
        for name, layout in LAYOUTS.items():
            data = pattern(layout.size)
            expected = layout.packed(data)
            for direction in DIRECTIONS:
                with self.check(f"{name}, {direction}") as measured:
                    measured["bytes"] = len(expected)
                    self.compare(self.copied(layout, data, direction, None), expected, measured)

    def compare(self, found, expected, measured):
        wrong = sum(1 for x, y in zip(found, expected, strict=False) if x != y)
        measured["wrong"] = wrong + abs(len(found) - len(expected)) if found != expected else 0
        self.assertEqual(measured["wrong"], 0)

    def test_streams(self):
        layout = LAYOUTS["2-D, odd offset and pitch"]
        data = pattern(layout.size)
        queues = {"a stream": self.stream, "the legacy stream": 1, "the per-thread stream": 2}
        for name, queue in queues.items():
            for direction in DIRECTIONS:
                with self.check(f"{name}, {direction}") as measured:
                    found = self.copied(layout, data, direction, b.stream_of(queue))
                    self.compare(found, layout.packed(data), measured)

    # ------------------------------------------------------------------------- pitches, measured

    def raw_2d(self, source_pitch, target_pitch, width, height):
        """The code of a rectangular copy on the device."""
        size = max(source_pitch, target_pitch) * height
        source, target = self.on_device(pattern(size)), self.on_device(bytes(size))
        what = Copy2D(src_type=DEVICE, src_device=source, src_pitch=source_pitch)
        what.dst_type, what.dst_device, what.dst_pitch = DEVICE, target, target_pitch
        what.width, what.height = width, height
        reference = ctypes.byref(what)
        code = self.driver.result("cuMemcpy2DAsync_v2", reference, HANDLE(self.stream))
        self.driver.synchronize(self.stream)
        return code

    def test_pitches_of_the_driver(self):
        for height in (2, 3):
            for pitch in PITCHES:
                with self.check(
                    f"cuMemcpy2DAsync on the device, {height} rows, pitch {pitch}"
                ) as m:
                    m["to equal pitch"] = self.raw_2d(pitch, pitch, pitch, height)
                    m["to rows of one byte"] = self.raw_2d(pitch, 1, 1, height)
                    m["to a pitch of 512"] = self.raw_2d(pitch, 512, min(pitch, 512), height)

    # ------------------------------------------------------------------------------ many bytes

    def big(self, size):
        """Device memory of zeros, where the device has twice as much free."""
        if os.environ.get("DLBRIDGE_GPU_SANITIZER"):
            self.skipTest("too slow under compute-sanitizer")
        free = self.driver.free_bytes()
        if free < 2 * size + GIB:
            self.skipTest(
                f"the device has {free >> 20} MiB free, {2 * size + GIB >> 20} are needed"
            )
        address = self.driver.allocate(size)
        self.addCleanup(self.driver.free, address)
        zero = ctypes.c_uint8(0)
        arguments = ADDRESS(address), zero, SIZE(size), HANDLE(self.stream)
        self.driver.call("cuMemsetD8Async", *arguments)
        self.driver.synchronize(self.stream)
        return address

    def mark(self, address, offsets):
        """A byte of its own at each of the offsets."""
        for i, offset in enumerate(offsets):
            self.driver.write(address + offset, bytes([i + 1]), self.stream)
        self.driver.synchronize(self.stream)

    def marks(self, address, offsets):
        return [self.driver.read(address + offset, 1, self.stream)[0] for offset in offsets]

    def test_more_than_4_gib_on_the_device(self):
        size = 4 * GIB + 4097
        source, target = self.big(size), self.big(size)
        offsets = [0, 4 * GIB - 1, 4 * GIB, size - 1]
        self.mark(source, offsets)
        what = b.tensor(source, b.CUDA, [size])
        managed = self.library.copy(what, device=b.CUDA, target=target, size=size)
        self.library.release(managed)
        self.measured["marks"] = self.marks(target, offsets)
        self.assertEqual(self.measured["marks"], [1, 2, 3, 4])

    def test_rows_more_than_4_gib_apart(self):
        pitch = (4 * GIB + 4096) // 4
        source = self.big(5 * pitch)
        rows = [row * pitch for row in range(5)]
        self.mark(source, rows)
        managed = self.library.copy(b.tensor(source, b.CUDA, [5, 1], [pitch, 1]), staging=True)
        self.measured["marks"] = list(b.content(managed))
        self.library.release(managed)
        self.assertEqual(self.measured["marks"], [1, 2, 3, 4, 5])

    def test_more_than_4_gib_to_the_host(self):
        size = 4 * GIB + 4097
        available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if available < size + 2 * GIB and not os.environ.get("DLBRIDGE_GPU_LARGE"):
            self.skipTest(f"the host has {available >> 20} MiB free")
        source = self.big(size)
        offsets = [0, 4 * GIB - 1, 4 * GIB, size - 1]
        self.mark(source, offsets)
        managed = self.library.copy(b.tensor(source, b.CUDA, [size]))
        first = b.address_of(managed)
        self.measured["marks"] = [ctypes.string_at(first + at, 1)[0] for at in offsets]
        self.library.release(managed)
        self.assertEqual(self.measured["marks"], [1, 2, 3, 4])
