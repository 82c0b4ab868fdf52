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
    Case("4096x4096 float32 transposed", 4, (4096, 4096), (1, 4096), 0.7),
    Case("64x64x64x64 float32 axes reversed", 4, (64,) * 4, (1, 64, 4096, 262144), 0.5),
    Case("float32 backwards, 64 MiB", 4, (16 * MI,), (-1,), 0.95),
    Case("every second float32, 64 MiB", 4, (16 * MI,), (2,), 0.6),
    Case("row of 4096 float32 4096 times", 4, (4096, 4096), (0, 1), 1.1),
    Case("256x256 float32 transposed", 4, (256, 256), (1, 256), 0.65),
    Case("4096x4096 float32 as it is", 4, (4096, 4096), (4096, 1)),
    Case("8192x8192 uint8 transposed", 1, (8192, 8192), (1, 8192)),
    Case("4096x4096 float16 transposed", 2, (4096, 4096), (1, 4096), 0.6),
    Case("2048x2048 complex64 transposed", 8, (2048, 2048), (1, 2048)),
    Case("3000x3001 float32 transposed", 4, (3000, 3001), (1, 3000)),
    Case("32x3x224x224 float32 from NHWC", 4, (32, 3, 224, 224), (150528, 1, 672, 3)),
    Case("32x224x224x3 float32 from NCHW", 4, (32, 224, 224, 3), (150528, 224, 1, 50176)),
    Case("256x256 float32 out of 512x512", 4, (256, 256), (512, 1)),
    Case("float32 backwards, 256 KiB", 4, (65536,), (-1,)),
    Case("every second float32, 256 KiB", 4, (65536,), (2,)),
    Case("32x32 float32 transposed", 4, (32, 32), (1, 32)),
    Case("uint8 1080x1920x3 to planes", 1, (3, 1080, 1920), (1, 5760, 3), 0.6),
    Case("uint8 3 planes of 1080x1920 to HWC", 1, (1080, 1920, 3), (1920, 1, 2073600), 0.5),
    Case("uint8 1080x1920 RGBA to 3 planes", 1, (3, 1080, 1920), (1, 7680, 4), 0.5),
    Case("uint8 1080x1920 BGR to RGB", 1, (1080, 1920, 3), (5760, 3, -1), 0.5),
    Case("8x3x224x224 float32 from NHWC", 4, (8, 3, 224, 224), (150528, 1, 672, 3), 0.7),
    Case("bfloat16 heads, 8x16x512x64 of 0213", 2, (8, 16, 512, 64), (524288, 64, 1024, 1), 0.55),
    Case("every fourth float32, 16 MiB", 4, (4 * MI,), (4,), 0.37),
    Case("float32, 1 KiB", 4, (256,), (1,)),
    Case("4096x4096 uint8 transposed", 1, (4096, 4096), (1, 4096), 0.5),
    Case("8x8 float32 transposed", 4, (8, 8), (1, 8)),
]

# As multiples of malloc + free of 128 bytes, release included.
SMALL = [
    Case("3x4 float32", 4, (3, 4), (4, 1), 5),
    Case("3x4 float32 transposed", 4, (3, 4), (1, 3), 5),
    Case("8x8 float32 transposed", 4, (8, 8), (1, 8)),
    Case("float32, 1 KiB", 4, (256,), (1,)),
]
