# SPDX-License-Identifier: Apache-2.0
"""copy_peer.py numpy|torch [SOURCE_MIB TARGET_MIB]: runs the copies that copy_report.py requests.

It uses one thread. The lines are those of copy_bench.cc, the contestants here "into" (memory that
is already mapped) and "copy" (the framework allocates). The answer is nanoseconds of CPU time, or
"-" for a layout that the framework does not support. The first line written is the framework's
version.
"""

import ctypes
import mmap
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

HUGE_PAGE = 2 << 20
KEPT = []


def map_warm(size):
    """Mapped as in copy_bench.cc: huge pages, all touched."""
    memory = mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    skip = -address % HUGE_PAGE
    memory.madvise(mmap.MADV_HUGEPAGE, (skip + 4095) // 4096 * 4096, size)
    ctypes.memset(address + skip, 1, size)
    KEPT.append(memory)
    return memoryview(memory)[skip : skip + size]


class NumPy:
    def __init__(self):
        import numpy

        self.numpy = numpy
        self.version = f"NumPy {numpy.__version__}"

    def source(self, memory, item, shape, strides):
        start = -item * sum(min(0, (e - 1) * s) for e, s in zip(shape, strides))
        steps = tuple(s * item for s in strides)
        return self.numpy.ndarray(shape, self.dtype(item), memory, start, steps)

    def target(self, memory, item, shape):
        return self.numpy.ndarray(shape, self.dtype(item), memory)

    def dtype(self, item):
        return {1: "u1", 2: "f2", 4: "f4", 8: "c8", 16: "c16"}[item]

    def into(self, source, target):
        return lambda: self.numpy.copyto(target, source)

    def copy(self, source):
        return lambda: source.copy("C")


class Torch:
    def __init__(self):
        import torch

        torch.set_num_threads(1)
        self.torch = torch
        self.version = f"PyTorch {torch.__version__}"

    def source(self, memory, item, shape, strides):
        if min(strides, default=0) < 0:
            return None
        flat = self.torch.frombuffer(memory, dtype=self.dtype(item))
        return self.torch.as_strided(flat, shape, strides)

    def target(self, memory, item, shape):
        count = 1
        for extent in shape:
            count *= extent
        return self.torch.frombuffer(memory, dtype=self.dtype(item), count=count).view(shape)

    def dtype(self, item):
        torch = self.torch
        names = {1: "uint8", 2: "float16", 4: "float32", 8: "complex64", 16: "complex128"}
        return getattr(torch, names[item])

    def into(self, source, target):
        return lambda: target.copy_(source)

    def copy(self, source):
        return lambda: source.clone(memory_format=self.torch.contiguous_format)


def measure(peer, words, memories):
    contestant, (iterations, item, ndim, *axes) = words[0], map(int, words[1:])
    shape, strides = tuple(axes[:ndim]), tuple(axes[ndim:])
    source = peer.source(memories[0], item, shape, strides)
    if source is None:
        return "-"
    if contestant == "into":
        operation = peer.into(source, peer.target(memories[1], item, shape))
    else:
        operation = peer.copy(source)
    operation()  # is not counted, as in copy_bench.cc
    start = time.thread_time_ns()
    for _ in range(iterations):
        operation()
    return (time.thread_time_ns() - start) / iterations


def main():
    try:
        peer = {"numpy": NumPy, "torch": Torch}[sys.argv[1]]()
    except ImportError as missing:
        sys.exit(str(missing))
    print(peer.version, flush=True)
    memories = [map_warm(int(mib) << 20) for mib in sys.argv[2:4] or (160, 80)]
    for line in sys.stdin:
        print(measure(peer, line.split(), memories), flush=True)


if __name__ == "__main__":
    main()
