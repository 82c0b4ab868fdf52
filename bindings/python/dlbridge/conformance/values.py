# SPDX-License-Identifier: Apache-2.0
"""Twelve values of every dtype, as bits. They do not survive a change to a narrower dtype."""

from __future__ import annotations

import struct

# Name -> code, bits and lanes in DLPack.
DTYPES = {
    **{f"int{bits}": (0, bits, 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits, 1) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits, 1) for bits in (16, 32, 64)},
    "complex64": (5, 64, 1),
    "complex128": (5, 128, 1),
    "bool": (6, 8, 1),
    "bfloat16": (4, 16, 1),
    "float8_e3m4": (7, 8, 1),
    "float8_e4m3": (8, 8, 1),
    "float8_e4m3b11fnuz": (9, 8, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e4m3fnuz": (11, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "float8_e5m2fnuz": (13, 8, 1),
    "float8_e8m0fnu": (14, 8, 1),
}
# Dtypes below a byte, which only a few checks have.
SMALL = {"float4_e2m1fn": (17, 4, 1), "float6_e2m3fn": (15, 6, 1), "float6_e3m2fn": (16, 6, 1)}
NAMES = {triple: name for name, triple in {**DTYPES, **SMALL}.items()}
# The formats of struct for values that Python can print.
FORMATS = {
    **{f"int{bits}": code for bits, code in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))},
    **{f"uint{bits}": code for bits, code in ((8, "B"), (16, "H"), (32, "I"), (64, "Q"))},
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "bool": "?",
}
# Exponent and mantissa bits.
_FLOATS = {"float16": (5, 10), "float32": (8, 23), "float64": (11, 52), "bfloat16": (8, 7)}


def size(dtype: str) -> int:
    """Bytes of an element; one below a byte is padded to it."""
    return 1 if dtype in SMALL else DTYPES[dtype][1] // 8


def bits(dtype: str) -> bytes:
    """The twelve values, in the order of memory."""
    if dtype in SMALL:
        # Every code is finite; both ends are among them.
        return bytes(i * ((1 << SMALL[dtype][1]) - 1) // 11 for i in range(12))
    if dtype == "bool":
        return bytes(i % 3 == 1 for i in range(12))
    code, width, _ = DTYPES[dtype]
    if code in (0, 1):
        return b"".join(_integer(value, width) for value in _integers(width, code == 0))
    if code == 5:
        part = _float_bits(f"float{width // 2}")
        return b"".join(a + b for a, b in zip(part, reversed(part)))
    if dtype in _FLOATS:
        return b"".join(_float_bits(dtype))
    # All values of the float8 types are finite here; both ends of the codes are among them.
    return bytes((0x00, 0x01, 0x38, 0x40, 0x44, 0x48, 0x4C, 0x53, 0x76, 0x08, 0x41, 0x10))


def packed(dtype: str) -> bytes:
    """The twelve values of a dtype below a byte without gaps, the lowest bits first."""
    width = SMALL[dtype][1]
    whole = sum(code << (place * width) for place, code in enumerate(bits(dtype)))
    return whole.to_bytes(12 * width // 8, "little")


def unpacked(found: bytes, dtype: str, padded: bool) -> bytes:
    """Elements below a byte, one in each byte."""
    width = SMALL[dtype][1]
    mask = (1 << width) - 1
    if padded:
        return bytes(one & mask for one in found)
    whole = int.from_bytes(found, "little")
    return bytes(whole >> start & mask for start in range(0, len(found) * 8 - width + 1, width))


def _integer(value: int, width: int) -> bytes:
    return (value % (1 << width)).to_bytes(width // 8, "little")


def _integers(width: int, signed: bool) -> list[int]:
    """The ends of the range, the values beside them, and values that need every byte."""
    low = -(1 << (width - 1)) if signed else 0
    high = low + (1 << width) - 1
    middle = high // 2
    return [0, 1, 2, 3, middle, middle + 1, middle + 3, high - 1, high, low, low + 1, high // 3]


def _float_bits(dtype: str) -> list[bytes]:
    """Zeros, ones, a number with all digits, the ends of the range, subnormals, infinity."""
    exponent, mantissa = _FLOATS[dtype]
    width = 1 + exponent + mantissa
    sign, one = 1 << (width - 1), ((1 << (exponent - 1)) - 1) << mantissa
    top = ((1 << exponent) - 1) << mantissa
    # One third: 1.0101... times 2**-2.
    third = one - (2 << mantissa) + int("01" * 32, 2) % (1 << 64) * (1 << mantissa) // (1 << 64)
    codes = [0, sign, one, one + (1 << mantissa), third, sign | third, top - 1, sign | (top - 1)]
    codes += [1 << mantissa, 1, sign | 1, top]
    return [code.to_bytes(width // 8, "little") for code in codes]


def elements(dtype: str) -> list[bytes]:
    whole, step = bits(dtype), size(dtype)
    return [whole[start : start + step] for start in range(0, len(whole), step)]


def numbers(dtype: str) -> list[int | float | complex | bool] | None:
    """The values as Python's numbers, or None for a dtype that Python has no number for."""
    if dtype in FORMATS:
        return list(struct.unpack(f"<12{FORMATS[dtype]}", bits(dtype)))
    if dtype.startswith("complex"):
        part = struct.unpack(f"<24{FORMATS[f'float{DTYPES[dtype][1] // 2}']}", bits(dtype))
        return [complex(a, b) for a, b in zip(part[::2], part[1::2])]
    return None
