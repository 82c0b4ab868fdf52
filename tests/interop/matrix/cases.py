# SPDX-License-Identifier: Apache-2.0
"""The cases of the matrix: the properties of each array, and the bytes that must arrive."""

import dataclasses

SHAPE = (3, 4)
# Dtypes that NumPy lacks -> NumPy's dtype of the same size.
BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
# The bits of 0 ... 11 in bfloat16 and of some values in the two forms of float8.
PATTERNS = {
    "bfloat16": [
        *(0x0000, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0),
        *(0x40C0, 0x40E0, 0x4100, 0x4110, 0x4120, 0x4130),
    ],
    "float8_e4m3fn": [
        *(0x00, 0x38, 0x40, 0x44, 0x48, 0x4A),
        *(0x4C, 0x4E, 0x50, 0x51, 0x52, 0x53),
    ],
    "float8_e5m2": [
        *(0x00, 0x3C, 0x40, 0x42, 0x44, 0x45),
        *(0x46, 0x47, 0x48, 0x49, 0x4A, 0x4B),
    ],
}
TRIPLES = {
    "float32": (2, 32, 1),
    "complex64": (5, 64, 1),
    "bool": (6, 8, 1),
    "bfloat16": (4, 16, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e5m2": (12, 8, 1),
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
    Case("bfloat16", "C-contiguous bfloat16", "bfloat16"),
    Case("float8-e4m3fn", "C-contiguous float8_e4m3fn", "float8_e4m3fn"),
    Case("float8-e5m2", "C-contiguous float8_e5m2", "float8_e5m2"),
    Case("complex", "C-contiguous complex64", "complex64"),
    Case("slice", "float32 from the second row on", form="sliced"),
    Case("byte-offset", "float32 whose struct has `byte_offset` 16", form="byte_offset"),
]
BY_NAME = {case.name: case for case in CASES}


def base(dtype):
    """A NumPy array with the bits from which every case of a dtype is made."""
    import numpy as np

    if dtype in PATTERNS:
        bits = np.array(PATTERNS[dtype], dtype=BITS[dtype])
    elif dtype == "bool":
        bits = np.arange(12) % 3 == 1
    elif dtype == "complex64":
        bits = (np.arange(12) + 1j * (np.arange(12) - 5)).astype(np.complex64)
    else:
        bits = np.arange(12, dtype=np.float32)
    return aligned(bits.reshape(SHAPE))


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
