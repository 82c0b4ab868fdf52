# SPDX-License-Identifier: Apache-2.0
"""The cases of the matrix: the properties of each array, and the bytes that must arrive."""

import dataclasses

SHAPE = (3, 4)
# Dtypes that NumPy lacks -> NumPy's dtype of the same size.
BITS = {
    "bfloat16": "uint16",
    "float8_e4m3fn": "uint8",
    "float8_e5m2": "uint8",
    "float8_e4m3fnuz": "uint8",
    "float8_e5m2fnuz": "uint8",
}
# Bits of 12 values: zeros, small integers, the largest and smallest numbers, and subnormal ones.
PATTERNS = {
    "bfloat16": [
        *(0x0000, 0x8000, 0x3F80, 0x4000, 0x4040, 0xC080),
        *(0x7F7F, 0xFF7F, 0x0080, 0x0001, 0x8001, 0x7F80),
    ],
    "float8_e4m3fn": [
        *(0x00, 0x80, 0x38, 0x40, 0x44, 0xC8),
        *(0x7E, 0xFE, 0x08, 0x01, 0x81, 0x53),
    ],
    "float8_e5m2": [
        *(0x00, 0x80, 0x3C, 0x40, 0x42, 0xC4),
        *(0x7B, 0xFB, 0x04, 0x01, 0x81, 0x7C),
    ],
    "float8_e4m3fnuz": [
        *(0x00, 0x40, 0x48, 0x4C, 0x50, 0xD2),
        *(0x7F, 0xFF, 0x08, 0x01, 0x81, 0x5B),
    ],
    "float8_e5m2fnuz": [
        *(0x00, 0x40, 0x44, 0x46, 0x48, 0xC9),
        *(0x7F, 0xFF, 0x04, 0x01, 0x81, 0x4F),
    ],
}
TRIPLES = {
    **{f"int{bits}": (0, bits, 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits, 1) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits, 1) for bits in (16, 32, 64)},
    "complex64": (5, 64, 1),
    "complex128": (5, 128, 1),
    "bool": (6, 8, 1),
    "bfloat16": (4, 16, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "float8_e4m3fnuz": (11, 8, 1),
    "float8_e5m2fnuz": (13, 8, 1),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A kind of array; `form` names the method of a framework that makes it from a plain one."""

    name: str
    title: str
    dtype: str = "float32"
    form: str = "plain"


CASES = [
    Case("plain", "C-contiguous float32"),
    Case("conjugated", "lazily conjugated complex64 (`conj()`)", "complex64", "conjugated"),
    Case("negated", "lazily negated float32 (`conj().imag`)", "complex64", "negated"),
    Case("requires-grad", "float32 that takes part in differentiation", form="requires_grad"),
    Case("transposed", "transposed float32", form="transposed"),
    Case("negative-strides", "float32 reversed along both axes", form="reversed"),
    Case("broadcast", "one row of float32, repeated by a stride of 0", form="broadcast"),
    Case("empty", "float32 of shape (0, 4)", form="empty"),
    Case("scalar", "float32 of no axes", form="scalar"),
    Case("read-only", "float32 that may not be written to", form="read_only"),
    Case("bool", "C-contiguous bool", "bool"),
    *(
        Case(name, f"C-contiguous {name}", name)
        for name in TRIPLES
        if name not in ("float32", "complex64", "bool") and not name.startswith("float8")
    ),
    *(
        Case(name.replace("_", "-"), f"C-contiguous {name}", name)
        for name in TRIPLES
        if name.startswith("float8")
    ),
    Case("complex", "C-contiguous complex64", "complex64"),
    Case("slice", "float32 from the second row on", form="sliced"),
    Case("byte-offset", "float32 whose struct has `byte_offset` 16", form="byte_offset"),
]
BY_NAME = {case.name: case for case in CASES}


def base(dtype):
    """A NumPy array with the bits from which every case of a dtype is made.

    Its values do not survive a change to a narrower dtype.
    """
    import numpy as np

    if dtype in PATTERNS:
        bits = np.array(PATTERNS[dtype], dtype=BITS[dtype])
    elif dtype == "bool":
        bits = np.arange(12) % 3 == 1
    elif np.dtype(dtype).kind in "iu":
        bits = _integers(np.iinfo(dtype))
    elif np.dtype(dtype).kind == "f":
        bits = _floats(np.finfo(dtype))
    else:
        part = _floats(np.finfo(dtype))
        bits = np.empty(12, dtype=dtype)
        bits.real, bits.imag = part, part[::-1]
    return aligned(bits.reshape(SHAPE))


def _integers(limits):
    """The ends of the range, the values beside them, and values that need every byte."""
    import numpy as np

    low, high = int(limits.min), int(limits.max)
    middle = high // 2
    values = [0, 1, 2, 3, middle, middle + 1, middle + 3, high - 1, high, low, low + 1, high // 3]
    return np.array(values, dtype=limits.dtype)


def _floats(limits):
    """Ends of the range, the smallest normal and subnormal numbers, and one with all digits."""
    import numpy as np

    small, tiny = limits.tiny, limits.smallest_subnormal
    third = limits.dtype.type(1) / limits.dtype.type(3)
    values = [0, -0.0, 1, 2, third, -third, limits.max, limits.min, small, tiny, -tiny, np.inf]
    return np.array(values, dtype=limits.dtype)


def aligned(array):
    """A copy aligned to 64 bytes: some consumers copy unaligned arrays."""
    import numpy as np

    memory = np.empty(array.nbytes + 64, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def reference(case):
    """A NumPy array with the bits that must arrive."""
    array = base(case.dtype)
    forms = {
        "conjugated": lambda: array.conj(),
        "negated": lambda: array.conj().imag,
        "transposed": lambda: array.T,
        "reversed": lambda: array[::-1, ::-1],
        "broadcast": lambda: array[:1].repeat(3, axis=0),
        "empty": lambda: array[:0],
        "scalar": lambda: array[1, 1],
        "sliced": lambda: array[1:],
        "byte_offset": lambda: array[1:],
    }
    import numpy as np

    return np.ascontiguousarray(forms.get(case.form, lambda: array)()).reshape(
        np.shape(forms.get(case.form, lambda: array)())
    )


def dtype_of(case):
    """The dtype that arrives: the imaginary part of a complex array is real."""
    return "float32" if case.form == "negated" else case.dtype
