# SPDX-License-Identifier: Apache-2.0
"""The measured copies: layouts of the source, in elements, and the targets."""

import math
from typing import NamedTuple, Optional


class Case(NamedTuple):
    title: str
    item: int  # bytes
    shape: tuple
    strides: tuple
    target: Optional[float] = None  # a fraction of memcpy of the result's bytes

    def bytes(self):
        return self.item * math.prod(self.shape)

    def start(self):
        """Offset in bytes of the first element if the lowest is at 0."""
        back = (min(0, (e - 1) * s) for e, s in zip(self.shape, self.strides))
        return -self.item * sum(back)

    def words(self):
        return [self.item, len(self.shape), *self.shape, *self.strides]


MI = 1 << 20

CASES = [
    Case("4096x4096 float32 transposed", 4, (4096, 4096), (1, 4096), 0.38),
    Case("64x64x64x64 float32 axes reversed", 4, (64,) * 4, (1, 64, 4096, 262144), 0.27),
    Case("float32 backwards, 64 MiB", 4, (16 * MI,), (-1,), 0.95),
    Case("every second float32, 64 MiB", 4, (16 * MI,), (2,), 0.6),
    Case("row of 4096 float32 4096 times", 4, (4096, 4096), (0, 1), 1.1),
    Case("256x256 float32 transposed", 4, (256, 256), (1, 256), 0.65),
    Case("4096x4096 float32 as it is", 4, (4096, 4096), (4096, 1)),
    Case("8192x8192 uint8 transposed", 1, (8192, 8192), (1, 8192)),
    Case("4096x4096 float16 transposed", 2, (4096, 4096), (1, 4096)),
    Case("2048x2048 complex64 transposed", 8, (2048, 2048), (1, 2048)),
    Case("3000x3001 float32 transposed", 4, (3000, 3001), (1, 3000)),
    Case("32x3x224x224 float32 from NHWC", 4, (32, 3, 224, 224), (150528, 1, 672, 3)),
    Case("32x224x224x3 float32 from NCHW", 4, (32, 224, 224, 3), (150528, 224, 1, 50176)),
    Case("256x256 float32 out of 512x512", 4, (256, 256), (512, 1)),
    Case("float32 backwards, 256 KiB", 4, (65536,), (-1,)),
    Case("every second float32, 256 KiB", 4, (65536,), (2,)),
    Case("32x32 float32 transposed", 4, (32, 32), (1, 32)),
]

# As multiples of malloc + free of 128 bytes, release included.
SMALL = [
    Case("3x4 float32", 4, (3, 4), (4, 1), 5),
    Case("3x4 float32 transposed", 4, (3, 4), (1, 3), 5),
]
