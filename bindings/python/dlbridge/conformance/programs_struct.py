# SPDX-License-Identifier: Apache-2.0
"""Programs that judge the fields of exported structs, and elements below a byte."""

from __future__ import annotations

from typing import Any

from . import values
from .answers import IMPORTS, REJECTED
from .reproducers import SHOW, arguments, both_structs, literal, made, offered
from .verdicts import taking

# Of two structs of one array.
_FIELDS = """
def compact(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return strides

def extents(tensor, place):
    arrays = c_int64 * min(max(tensor.ndim, 0), 64)
    return arrays.from_address(place)[:] if place else None

def fields(tensor):
    shape = extents(tensor, tensor.shape) or []
    strides = extents(tensor, tensor.strides)
    found = {
        "data": (tensor.data or 0) + tensor.byte_offset,
        "dtype": (tensor.code, tensor.bits, tensor.lanes),
        "device": tensor.device[:], "shape": shape,
        "strides": compact(shape) if strides is None else strides}
    for axis, extent in enumerate(shape):
        if extent == 1:
            found["strides"][axis] = "any"
    if 0 in shape:
        found["data"] = found["strides"] = "of no elements"
    return found
"""
_SAME = """
first = array.__dlpack__()
second = array.__dlpack__({keywords})
one, other = fields(tensor_of(first)), fields(tensor_of(second))
print(first, one)
print(second, other)
wrong = [name for name in one if one[name] != other[name]]
if wrong:
    sys.exit(f"FAULT: the structs differ: {{', '.join(wrong)}}")
print("fine: both structs say the same")
"""
_NOT_COPIED = """
held = [array.__dlpack__({keywords}) for _ in range(2)]
tensors = [tensor_of(capsule) for capsule in held]
places = [tensor.data + tensor.byte_offset for tensor in tensors]
flags = [getattr(tensor, "flags", 0) for tensor in tensors]
print("expected no flag IS_COPIED (2) of memory that two exports share")
print("found    flags", flags, "and addresses", *map(hex, places))
if places[0] == places[1] and flags[0] & 2:
    sys.exit("FAULT: IS_COPIED, and the memory is shared")
print("fine: the flag says what the exports are")
"""
_VALID = """
held = array.__dlpack__({keywords})
tensor = tensor_of(held)
versioned = isinstance(tensor, Versioned)
flags, version = 0, (1, 0)
if versioned:
    flags, version = tensor.flags, tuple(tensor.version)
    print("version", version, "flags", hex(flags))
shape = extents(tensor, tensor.shape)
strides = extents(tensor, tensor.strides)
kind, number = tensor.device
dtype = tensor.code, tensor.bits, tensor.lanes
print("data", tensor.data, "byte_offset", tensor.byte_offset)
print("ndim", tensor.ndim, "shape", shape, "strides", strides)
print("device", (kind, number), "dtype (code, bits, lanes)", dtype)
fixed = {{4: (16,), 6: (8,), 15: (6,), 16: (6,), 17: (4,)}}
fixed.update({{code: (8,) for code in range(7, 15)}})
has_elements = 0 not in (shape or [])
rules = [
    ("version.major is 1", version[0] == 1),
    ("ndim is 0 to 64", 0 <= tensor.ndim <= 64),
    ("shape is not NULL", shape is not None or not tensor.ndim),
    ("no extent is negative", min(shape or [0]) >= 0),
    ("strides are not NULL from 1.2 on", strides is not None
        or not tensor.ndim or version < (1, 2)),
    ("the dtype has bits", tensor.bits > 0),
    ("the dtype has lanes", tensor.lanes > 0),
    ("the dtype code is one of DLPack's", tensor.code <= 17),
    ("the bits are those of the code",
        tensor.bits in fixed.get(tensor.code, (tensor.bits,))),
    ("the device type is one of DLPack's",
        kind in (*range(1, 5), *range(7, 19))),
    ("the device id is not negative", number >= 0),
    ("no flag bit is unknown", version > (1, 3) or not flags & ~7),
    ("IS_SUBBYTE_TYPE_PADDED is of elements below a byte",
        not flags & 4 or tensor.bits < 8),
    ("data is not NULL", bool(tensor.data) or not has_elements),
]
broken = [rule for rule, is_kept in rules if not is_kept]
if broken:
    sys.exit(f"FAULT: expected that {{'; '.join(broken)}}")
print("fine: the struct keeps these rules")
"""
_DTYPE = """
held = array.__dlpack__({keywords})
tensor = tensor_of(held)
right = tensor.code, tensor.bits, tensor.lanes
try:
    found = tuple(array.dtype.__dlpack_data_type__())
except Exception as error:
    found = f"{{type(error).__name__}}: {{error}}"
print("expected", right)
print("found   ", found)
if found != right:
    sys.exit("FAULT: the dtype says something else than the tensor")
print("fine: the dtype says what the tensor does")
"""
# Elements of {bits} bits, one in each byte.
_CODES = """
def unpacked(found):
    mask = (1 << {bits}) - 1
    if len(found) == 12:
        return bytes(one & mask for one in found)
    whole = int.from_bytes(found, "little")
    return bytes(whole >> i * {bits} & mask for i in range(12))

def exported(tensor):
    if (tensor.code, tensor.bits, tensor.lanes) != {triple}:
        return None
    padded = isinstance(tensor, Versioned) and tensor.flags & 4
    size = 12 if padded else 12 * {bits} // 8
    return unpacked(string_at(tensor.data + tensor.byte_offset, size))

right = (
    {right})
"""
_SMALL_IMPORT = (
    "\n"
    + IMPORTS
    + """try:
    held = array.__dlpack__({keywords})
    found = exported(tensor_of(held))
except Exception:
    found = None
if found is None:
    found = show(array)
    found = unpacked(found) if isinstance(found, bytes) else found
print("expected", right)
print("found   ", found)
if found != right:
    sys.exit("FAULT: the array differs from the tensor")
print("fine: the array has the elements of the tensor")
"""
)
_SMALL_EXPORT = """
tensor = take()
found = exported(tensor)
print("expected", right)
print("found   ", found)
if found is None:
    sys.exit("FAULT: the tensor has another dtype than the array")
if found != right:
    sys.exit("FAULT: the tensor has other elements than the array")
delete(tensor)
print("fine: the tensor has the elements of the array")
"""


def valid(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Judges an exported struct by the rules that need no other library."""
    text = _VALID.format(keywords=arguments(keywords))
    return made(code, request) + _FIELDS + text


def legacy_same(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Compares the legacy and the versioned struct of an array."""
    return made(code, request) + _FIELDS + _SAME.format(keywords=arguments(keywords))


def not_copied(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Compares the memory of two exports with their flags."""
    return made(code, request) + _NOT_COPIED.format(keywords=arguments(keywords))


def dtype_protocol(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Compares what the dtype says with what the array exports."""
    return made(code, request) + _DTYPE.format(keywords=arguments(keywords))


def _codes(dtype: str) -> str:
    right = "\n    ".join(literal(values.bits(dtype)))
    triple = values.SMALL[dtype]
    return _CODES.format(bits=triple[1], triple=triple, right=right)


def small_export(code: str, request: Any, keywords: dict[str, Any]) -> str:
    """Compares exported elements below a byte with those of the array."""
    return taking(code, request, keywords) + _codes(request.dtype) + _SMALL_EXPORT


def small_import(code: str, tensor: Any, keywords: dict[str, Any]) -> str:
    """Compares imported elements below a byte with those of the tensor: those that the array
    exports, else those that the adapter reads."""
    text = _SMALL_IMPORT.format(keywords=arguments(keywords), rejected=REJECTED)
    codes = _codes(values.NAMES[tensor.fields["dtype"]])
    return offered(code, tensor) + SHOW + both_structs() + codes + text
