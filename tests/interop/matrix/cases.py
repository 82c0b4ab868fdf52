# SPDX-License-Identifier: Apache-2.0
"""The cases of the matrix: the properties of each array, and the bytes that must arrive."""

import dataclasses

from dlbridge.conformance.bases import BITS, aligned, base
from dlbridge.conformance.forms import SHAPE
from dlbridge.conformance.values import DTYPES

__all__ = ["BITS", "SHAPE", "aligned", "base"]
# The dtypes of the matrix.
TRIPLES = {
    name: triple
    for name, triple in DTYPES.items()
    if name not in ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e8m0fnu")
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
