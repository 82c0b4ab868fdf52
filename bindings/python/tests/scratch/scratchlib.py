# SPDX-License-Identifier: Apache-2.0
"""An array library of an outside project: a producer that is right, and one with eight faults.

The arrays are NumPy's. A delayed array is written by a thread, which stands for a queue.
"""

from __future__ import annotations

import ctypes
import threading
import time

import numpy

__version__ = "1.0"
float32 = numpy.float32


def check_device(dl_device) -> None:
    # NumPy before 2.3 raises a ValueError.
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError("the array is on the CPU")


class Array:
    """A producer that is right."""

    def __init__(self, values: numpy.ndarray, work: threading.Thread | None = None) -> None:
        self.values, self.work = values, work

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def wait(self) -> None:
        if self.work:
            self.work.join()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.wait()
        check_device(dl_device)
        if max_version is not None and max_version[0] < 1:
            max_version = None
        return self.values.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


class Struct(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
leaked = []


class Faulty(Array):
    """Each fault has its number in a comment."""

    def wait(self) -> None:
        pass  # 1: exports an array before it is computed

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.wait()
        check_device(dl_device)
        max_version = max_version or (1, 0)  # 2: a versioned capsule for a consumer of legacy ones
        leaked.append(self)  # 3: the array is never released
        capsule = self.values.__dlpack__(
            stream=stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=None,  # 4: copy=True does not copy
        )
        tensor = Struct.from_address(pointer(capsule, b"dltensor_versioned"))
        tensor.flags &= ~1  # 5: an immutable array is exported as writable
        tensor.device_id = 1  # 6: host memory has a device id
        if tensor.code == 1:
            tensor.code = 0  # 7: unsigned integers are exported as signed
        compact = 1
        for axis in reversed(range(tensor.ndim)):
            tensor.strides[axis] = compact  # 8: a view is exported as if it were compact
            compact *= tensor.shape[axis]
        return capsule


def late(values: numpy.ndarray, kind: type) -> Array:
    """An array that a thread computes."""
    computed = numpy.zeros_like(values)

    def work() -> None:
        time.sleep(0.2)
        computed[...] = values

    thread = threading.Thread(target=work)
    thread.start()
    return kind(computed, thread)


def asarray(values: object, dtype: object = None) -> Array:
    return Array(numpy.asarray(values, dtype=dtype))


def from_dlpack(source: object, **keywords: object) -> Array:
    return Array(numpy.from_dlpack(source, **keywords))
