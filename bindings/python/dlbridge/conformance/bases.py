# SPDX-License-Identifier: Apache-2.0
"""The values of `values` as NumPy arrays."""

from __future__ import annotations

from typing import Any

from . import values
from .forms import SHAPE

# Dtypes that NumPy lacks -> NumPy's dtype of the same size.
BITS = {
    name: f"uint{bits}"
    for name, (code, bits, _) in values.DTYPES.items()
    if code == 4 or 7 <= code <= 17
}
# One element in each byte.
BITS.update(dict.fromkeys(values.SMALL, "uint8"))
SMALL = values.SMALL
TRIPLES = {**values.DTYPES, **values.SMALL}


def base(dtype: str) -> Any:
    """A NumPy array with the bits from which every case of a dtype is made.

    Its values do not survive a change to a narrower dtype.
    """
    import numpy as np

    bits = np.frombuffer(values.bits(dtype), dtype=BITS.get(dtype, dtype))
    return aligned(bits.reshape(SHAPE))


def packed(dtype: str) -> Any:
    """The bytes of a dtype below a byte, without gaps."""
    import numpy as np

    return aligned(np.frombuffer(values.packed(dtype), dtype=np.uint8))


def aligned(array: Any) -> Any:
    """A copy aligned to 64 bytes: some consumers copy unaligned arrays."""
    import numpy as np

    memory = np.empty(array.nbytes + 64, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
