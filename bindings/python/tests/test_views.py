# SPDX-License-Identifier: Apache-2.0
"""Tensor.view has the values of the tensor, and reaches no other elements."""

import itertools

import dlbridge
import numpy as np
import pytest
from dlbridge import _views

BASE = np.arange(24).reshape(2, 3, 4)
LAYOUTS = {
    "compact": BASE,
    "transposed": BASE.transpose(2, 0, 1),
    "rows reversed": BASE[:, ::-1],
    "reversed": BASE[::-1, ::-1, ::-1],
    "stepped": BASE[:, :, ::2],
    "columns": BASE[:, :, 1:3],
    "one axis stepped": BASE.reshape(24)[::3],
    "broadcast": np.broadcast_to(BASE[0], (5, 3, 4)),
    "broadcast column": np.broadcast_to(BASE[:, :, :1], (2, 3, 4)),
    "axes of one": BASE[:, :1, ::3],
    "fortran": np.asfortranarray(BASE),
}


def shapes(size):
    """Shapes of this many elements, with axes of one index."""
    extents = [n for n in range(1, size + 1) if size % n == 0]
    for count in (1, 2, 3):
        for shape in itertools.product(extents, repeat=count):
            if np.prod(shape) == size:
                yield shape


def elements(array):
    """The elements of an array by their address."""
    start = BASE.ctypes.data
    offsets = np.full(array.shape, array.__array_interface__["data"][0] - start)
    for axis, stride in enumerate(array.strides):
        along = [1] * array.ndim
        along[axis] = -1
        offsets = offsets + stride * np.arange(array.shape[axis]).reshape(along)
    return set((offsets.ravel() // array.itemsize).tolist())


def without_copy(array, shape):
    """NumPy's view of another shape, or None if that needs a copy."""
    view = array.view()
    try:
        view.shape = shape
    except AttributeError:
        return None
    return view


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_shape_alone_keeps_the_values(layout):
    array = LAYOUTS[layout]
    tensor = dlbridge.from_dlpack(array)
    assert np.asarray(tensor.view(array.shape)).tolist() == array.tolist()
    possible = 0
    for shape in shapes(array.size):
        expected = without_copy(array, shape)
        if expected is None:
            with pytest.raises(ValueError, match=r"in C order, found .*; take copy\(\) first$"):
                tensor.view(shape)
        else:
            assert np.asarray(tensor.view(shape)).tolist() == expected.tolist()
            possible += 1
    assert possible
    assert tensor.view((0, 4)).size == 0


def test_a_part_needs_strides_if_the_tensor_is_not_compact():
    tensor = dlbridge.from_dlpack(np.arange(12)[::2])
    for shape, offset in [((5,), 0), ((1,), 1), ((6,), 1), ((11,), 0), ((), 0)]:
        with pytest.raises(ValueError, match="a shape of 6 elements and no offset"):
            tensor.view(shape, None, offset)
    compact = dlbridge.from_dlpack(np.arange(12))
    assert np.asarray(compact.view((2, 2), offset=4)).tolist() == [[4, 5], [6, 7]]


def test_strides_reach_no_other_elements():
    tensor = dlbridge.from_dlpack(np.arange(12)[::2])
    assert np.asarray(tensor.view((2, 3), (6, 2))).tolist() == [[0, 2, 4], [6, 8, 10]]
    assert np.asarray(tensor.view((3,), (-4,), 10)).tolist() == [10, 6, 2]
    assert np.asarray(tensor.view((2, 9), (2, 0), 8)).tolist() == [[8] * 9, [10] * 9]
    for shape, strides, offset in [((1,), (1,), 1), ((2,), (1,), 0), ((3,), (-1,), 4), ((), (), 3)]:
        with pytest.raises(ValueError, match=r"memory between them: shape .*take copy\(\) first$"):
            tensor.view(shape, strides, offset)
    with pytest.raises(ValueError, match="the view exceeds its parent"):
        tensor.view((2,), (12,))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_accepted_view_has_elements_of_the_tensor(layout):
    """Small views in two axes: those of slices are accepted, those of other elements are not."""
    array = LAYOUTS[layout]
    axes = list(zip(array.shape, (stride // array.itemsize for stride in array.strides)))
    start = (array.__array_interface__["data"][0] - BASE.ctypes.data) // array.itemsize
    own = {element - start for element in elements(array)}
    strides = (-12, -8, -5, -4, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12)
    for shape in [(1, 2), (2, 2), (3, 2), (2, 4)]:
        for steps in itertools.product(strides, repeat=2):
            for offset in range(min(own), max(own) + 1):
                reached = {
                    offset + i * steps[0] + j * steps[1]
                    for i in range(shape[0])
                    for j in range(shape[1])
                }
                inside = min(own) <= min(reached) and max(reached) <= max(own)
                try:
                    _views._check_elements(axes, list(zip(shape, steps)), offset)
                except ValueError:
                    assert inside
                else:
                    assert not inside or reached <= own
    for part in (array[1:], array[..., :2], array[::-1], array[:1][..., ::-1], array.T):
        first = (part.__array_interface__["data"][0] - BASE.ctypes.data) // part.itemsize - start
        steps = tuple(stride // part.itemsize for stride in part.strides)
        tensor = dlbridge.from_dlpack(array).view(part.shape, steps, first)
        assert np.asarray(tensor).tolist() == part.tolist()


def test_overlapping_tensors():
    """Windows that overlap, as of numpy.lib.stride_tricks."""
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(10), 4)
    tensor = dlbridge.from_dlpack(windows)
    assert np.asarray(tensor.view(windows.shape)).tolist() == windows.tolist()
    assert np.asarray(tensor.view((10,), (1,))).tolist() == list(range(10))
    with pytest.raises(ValueError, match="in C order"):
        tensor.view((28,))


def test_shape_can_be_a_keyword():
    tensor = dlbridge.from_dlpack(np.arange(6))
    assert tensor.view(shape=(2, 3)).shape == (2, 3)
    assert tensor.view(offset=1, shape=(2,), strides=(3,)).strides == (3,)
