# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays of adapted arrays, with the dtypes of the package ml_dtypes."""

import dataclasses
import importlib
from typing import Any

from . import _consumers, _core, _producers
from ._memory import is_choice, short


class _ForNumPy:
    """An Adapted whose consumer is NumPy, whatever its options say."""

    def __init__(self, array: Any, framework: _consumers.Consumer) -> None:
        self.array, self.framework = array, framework

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        return self.array.export_for(self.framework, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_consumers.CPU, 0)  # the export rejects memory elsewhere, and names the remedy


def numpy_array(array: Any) -> Any:
    """The NumPy array of an Adapted."""
    numpy = importlib.import_module("numpy")
    framework = _consumers.by_name("numpy")
    if _consumers.takes_dtype(framework, array.dtype):
        return numpy.from_dlpack(_ForNumPy(array, framework))
    return _as_ml_dtype(numpy, array, framework)


def _ml_dtype(array: Any) -> Any:
    """The dtype of ml_dtypes; None if there is none of whole bytes."""
    if array.bits % 8:
        return None
    try:
        return getattr(importlib.import_module("ml_dtypes"), array.dtype, None)
    except ImportError:
        return None


def _bits_for(array: Any, framework: _consumers.Consumer, dtype: Any) -> _core.Tensor:
    """The tensor for NumPy, as unsigned integers if its dtype is of ml_dtypes."""
    if dtype is None:
        return array.tensor_for(framework)[0]  # rejects the dtype
    tensor, _ = array.tensor_for(dataclasses.replace(framework, dtypes=None))
    return _producers.relabelled(tensor, f"uint{array.bits}")


def _as_ml_dtype(numpy: Any, array: Any, framework: _consumers.Consumer) -> Any:
    """An array of a dtype of ml_dtypes; its bits are exchanged as unsigned integers."""
    dtype = _ml_dtype(array)
    return numpy.from_dlpack(_bits_for(array, framework, dtype)).view(dtype)


def check(array: Any) -> None:
    """Raises the error of numpy_array, without an import of NumPy."""
    framework = _consumers.by_name("numpy")
    if _consumers.takes_dtype(framework, array.dtype):
        array.export_for(framework, None, framework.newest, None, None)
    else:
        _bits_for(array, framework, _ml_dtype(array))


def as_array(array: Any, dtype: Any, copy: bool | None) -> Any:
    """The result of __array__ as NumPy 2 defines it."""
    if not is_choice(copy):
        raise TypeError(f"expected copy to be None, True or False, found {short(copy)}")
    made = numpy_array(array)
    if dtype is None or made.dtype == dtype:
        return made.copy() if copy else made
    if copy is False:
        raise ValueError(
            f"expected dtype {made.dtype}, which needs no copy, found dtype={dtype} and copy=False"
        )
    return made.astype(dtype)


def interface_of(array: Any) -> Any:
    """The __array_interface__ of an Adapted, which owns the memory; AttributeError without one."""
    if not _consumers.takes_dtype(_consumers.by_name("numpy"), array.dtype):
        raise AttributeError(f"__array_interface__ has no dtype {array.dtype}")
    try:
        made = numpy_array(array)
    except BufferError as error:
        raise AttributeError(f"no __array_interface__: {error}") from error
    if made.size and made.ctypes.data != array.address:
        # The consumer keeps `array` alive, and the copy would be freed before it is read.
        raise AttributeError("__array_interface__ cannot own the copies of an export")
    return made.__array_interface__
