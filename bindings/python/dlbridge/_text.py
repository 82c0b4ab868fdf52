# SPDX-License-Identifier: Apache-2.0
"""The text of a tensor: its layout in one line, and its values if the CPU can read them."""

from __future__ import annotations

import struct
import typing
from collections.abc import Callable
from typing import Any

from ._core import wrap

if typing.TYPE_CHECKING:
    from . import Tensor

EDGE = 3  # entries shown at both ends of a long axis
LIMIT = 7  # axes up to this length are shown in full
MOST = 1000  # elements shown in all, as NumPy's threshold


def text_of(tensor: Tensor) -> str:
    """The text of ``repr(tensor)``."""
    head = f"dlbridge.Tensor({_layout(tensor)}"
    values = _values(tensor)
    return f"{head})" if values is None else f"{head},\n{_indent(values)})"


def _layout(tensor: Tensor) -> str:
    parts = [f"shape={tensor.shape}", f"dtype={tensor.dtype}", f"device={tensor.device}"]
    if tensor.strides != _compact(tensor.shape):
        parts.append(f"strides={tensor.strides}")
    if tensor.byte_offset:
        parts.append(f"byte_offset={tensor.byte_offset}")
    parts.extend(word for word, said in _words(tensor) if said)
    return ", ".join(parts)


def _words(tensor: Tensor) -> list[tuple[str, bool]]:
    return [("read-only", tensor.readonly), ("copied", tensor.copied)]


def _compact(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _values(tensor: Tensor) -> str | None:
    """The values, one line per innermost axis; None if they cannot be read."""
    try:
        view = memoryview(tensor)
    except BufferError:
        return None
    if view.format not in tuple("bhiqBHIQefd?"):
        return None
    if view.format == "e":
        # Before CPython 3.12, a memoryview cannot read float16.
        return _axis(memoryview(_bits_of(tensor)), _half, _shown(tensor.shape), ())
    return _axis(view, None, _shown(tensor.shape), ())


def _bits_of(tensor: Tensor) -> Tensor:
    return wrap(
        tensor,
        tensor.data_ptr + tensor.byte_offset,
        tensor.shape,
        "uint16",
        strides=tensor.strides,
        device=tensor.__dlpack_device__(),
        readonly=tensor.readonly,
    )


def _half(bits: int) -> float:
    value: float = struct.unpack("=e", struct.pack("=H", bits))[0]
    return value


def _axis(
    view: memoryview,
    convert: Callable[[Any], object] | None,
    shown: list[list[int | None]],
    index: tuple[int, ...],
) -> str:
    if len(index) == len(shown):
        value = view[index] if index else view[()]
        return _scalar(convert(value) if convert is not None else value)
    entries = [
        "..." if at is None else _axis(view, convert, shown, (*index, at))
        for at in shown[len(index)]
    ]
    innermost = len(index) == len(shown) - 1
    return f"[{(', ' if innermost else ',' + chr(10) + ' ' * (len(index) + 1)).join(entries)}]"


def _shown(shape: tuple[int, ...]) -> list[list[int | None]]:
    """The indices that are shown on each axis; None stands for those that are left out.

    The inner axes come first: they leave room for at least one entry of each outer axis.
    """
    shown: list[list[int | None]] = []
    room = MOST
    for extent in reversed(shape):
        count = 2 * EDGE if extent > LIMIT else extent
        if count > room:
            count = room
            shown.append([*range(count), None])
        elif count < extent:
            shown.append([*range(EDGE), None, *range(extent - EDGE, extent)])
        else:
            shown.append(list(range(extent)))
        room //= max(count, 1)
    return shown[::-1]


def _scalar(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
