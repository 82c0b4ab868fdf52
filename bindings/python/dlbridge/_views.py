# SPDX-License-Identifier: Apache-2.0
"""Views of tensors that are not C-contiguous: their strides, and the elements that they reach."""

from __future__ import annotations

import math
import typing

if typing.TYPE_CHECKING:
    from . import Tensor

# An axis: its extent and its stride in elements.
_Axis = tuple[int, int]


def strides_of(
    tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None, offset: int
) -> tuple[int, ...] | None:
    """The strides of a view; None if dlbridge_view rejects it or its strides are unused.

    Called by Tensor.view if the tensor is not C-contiguous."""
    if min(shape, default=1) <= 0:
        return strides
    axes = list(zip(tensor.shape, tensor.strides))
    if strides is not None:
        _check_elements(axes, list(zip(shape, strides)), offset)
        return strides
    if offset != 0 or math.prod(shape) != tensor.size:
        raise ValueError(
            f"expected a shape of {tensor.size} elements and no offset, since the tensor is not "
            f"C-contiguous, found shape {shape} and offset {offset}; pass strides, or take copy() "
            "first"
        )
    found = _same_order(axes, shape)
    if found is None:
        raise ValueError(
            f"expected a shape that the tensor's memory has in C order, found {shape} for a tensor "
            f"of shape {tensor.shape} and strides {tensor.strides}; take copy() first"
        )
    return found


def _same_order(axes: list[_Axis], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides with which `shape` has the elements of `axes` in C order; None if none do."""
    runs: list[_Axis] = []
    for extent, stride in axes:
        if extent == 1:
            continue
        if runs and runs[-1][1] == stride * extent:
            runs[-1] = (runs[-1][0] * extent, stride)
        else:
            runs.append((extent, stride))
    result = []
    left, step = 1, 1
    for extent in reversed(shape):
        if extent != 1 and left == 1:
            left, step = runs.pop()
        if left % extent:
            return None
        result.append(step)
        left //= extent
        step *= extent
    return tuple(reversed(result))


def _check_elements(axes: list[_Axis], view: list[_Axis], offset: int) -> None:
    """Rejects a view that is not known to have elements of `axes` only.

    dlbridge_view rejects one that exceeds the range from the lowest to the highest of them.
    """
    lowest, highest = _range(axes)
    first, last = _range(view)
    if offset + first < lowest or offset + last > highest:
        return
    steps = _merged(axes)
    start = _place(steps, offset - lowest)
    least, most = list(start or ()), list(start or ())
    for extent, stride in view:
        if start is None or extent == 1 or stride == 0:
            continue
        # The next element along the axis shows how far a step goes on each axis of the tensor.
        after = _place(steps, offset + stride - lowest)
        if after is None:
            start = None
            break
        for axis, (old, new) in enumerate(zip(start, after)):
            least[axis] += min(new - old, 0) * (extent - 1)
            most[axis] += max(new - old, 0) * (extent - 1)
    inside = all(low >= 0 for low in least) and all(
        high < extent for high, (extent, _) in zip(most, steps)
    )
    if start is None or not inside:
        raise ValueError(
            "expected a view of the tensor's elements, found one that reaches memory between them: "
            f"shape {tuple(n for n, _ in view)}, strides {tuple(s for _, s in view)}, offset "
            f"{offset}; correct them, or take copy() first"
        )


def _range(axes: list[_Axis]) -> _Axis:
    """The lowest and the highest element, from element (0, ..., 0)."""
    ends = [(extent - 1) * stride for extent, stride in axes]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def _merged(axes: list[_Axis]) -> list[_Axis]:
    """Axes of the same elements with positive strides, the largest first, as few as possible."""
    result: list[_Axis] = []
    for stride, extent in sorted((abs(s), n) for n, s in axes if n != 1 and s != 0):
        if result and stride % result[-1][1] == 0 and stride // result[-1][1] <= result[-1][0]:
            inner, step = result[-1]
            result[-1] = ((extent - 1) * (stride // step) + inner, step)
        else:
            result.append((extent, stride))
    return result[::-1]


def _place(steps: list[_Axis], element: int) -> list[int] | None:
    """The index of an element, counted from the lowest one; None if there is none."""
    result = []
    for extent, stride in steps:
        index = min(element // stride, extent - 1)
        result.append(index)
        element -= index * stride
    return result if element == 0 and min(result, default=0) >= 0 else None
