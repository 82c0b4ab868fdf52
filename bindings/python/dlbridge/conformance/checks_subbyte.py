# SPDX-License-Identifier: Apache-2.0
"""Dtypes below a byte: packed, or one element in each byte with IS_SUBBYTE_TYPE_PADDED."""

from __future__ import annotations

from typing import Any

from . import capsules, programs_struct, values
from .kit import Kit, apart, check, consumed, message
from .outcomes import Failure, Skip
from .tensors import Memory, Tensor

# The dtype of the checks of padded elements.
_PADDED = "float4_e2m1fn"


def _exports(kit: Kit, dtype: str, padded: bool) -> None:
    """The library exports an array of the dtype with its values, in this way or in the other."""
    with consumed(kit.optional(kit.array(dtype=dtype))) as struct:
        kit.shows(programs_struct.small_export)
        found = capsules.describe(struct)
        if found.dtype != values.SMALL[dtype]:
            raise Failure(f"dtype {values.SMALL[dtype]}", f"dtype {found.dtype}")
        if found.is_padded != padded:
            raise Skip(
                "the elements are packed"
                if padded
                else "the elements are padded, see export-padded"
            )
        codes = values.unpacked(found.elements(), dtype, padded)
    if codes != values.bits(dtype):
        raise Failure(*apart(values.bits(dtype), codes))


def _export(dtype: str) -> Any:
    return lambda kit: _exports(kit, dtype, False)


@check("export-padded")
def export_padded(kit: Kit) -> None:
    _exports(kit, _PADDED, True)


def _tensor(kit: Kit, dtype: str, padded: bool) -> Tensor:
    memory = Memory(values.bits(dtype) if padded else values.packed(dtype))
    return Tensor(
        kind=kit.kind,
        flags=capsules.IS_PADDED if padded else 0,
        data=memory.address,
        dtype=values.SMALL[dtype],
        shape=(3, 4),
        strides=(4, 1),
        memory=memory,
    )


def _arrives(kit: Kit, dtype: str, padded: bool) -> None:
    kit.adapter.needs(dtype)
    tensor = _tensor(kit, dtype, padded)

    def program(code: str, tensor: Tensor) -> str:
        return programs_struct.small_import(code, tensor, kit.newest)

    array, error = kit.attempt(tensor, program)
    if error is not None:
        raise Skip(f"rejected: {message(error)}")
    if kit.shape(array) != (3, 4):
        raise Failure("an array of shape (3, 4)", f"shape {kit.shape(array)}")
    with kit.fixed():
        codes = _codes(kit, array, dtype)
    if codes != values.bits(dtype):
        raise Failure(*apart(values.bits(dtype), codes))


def _codes(kit: Kit, array: Any, dtype: str) -> bytes:
    """The elements of an imported array, one in each byte: by its export, else as the adapter reads
    them."""
    try:
        struct = capsules.look(kit.adapter.export(array, **kit.newest))  # holds the capsule
        found = capsules.describe(struct)
        if found.dtype == values.SMALL[dtype]:
            return values.unpacked(found.elements(), dtype, found.is_padded)
    except Exception:
        pass  # the library imports such arrays, but does not export them
    bits = kit.read(array)
    if len(bits) not in (len(values.bits(dtype)), len(values.packed(dtype))):
        raise Skip(f"read(array) of the adapter does not read elements of {dtype}")
    return values.unpacked(bits, dtype, len(bits) == len(values.bits(dtype)))


def _import(dtype: str) -> Any:
    return lambda kit: _arrives(kit, dtype, False)


@check("import-padded")
def import_padded(kit: Kit) -> None:
    if kit.kind != "versioned":
        raise Skip("the consumer asks for legacy capsules, which have no flags")
    _arrives(kit, _PADDED, True)


for _dtype in values.SMALL:
    check(f"export-{_dtype.replace('_', '-')}")(_export(_dtype))
    check(f"import-{_dtype.replace('_', '-')}")(_import(_dtype))
