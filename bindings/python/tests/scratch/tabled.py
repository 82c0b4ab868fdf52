# SPDX-License-Identifier: Apache-2.0
"""An adapter whose arrays have a C exchange API, which is right or has the faults that the variable
PLANTED names. The functions of the table are written in Python, which cannot report errors."""

import ctypes

import planted
from planted import consume, faults, make, read, writable, write  # noqa: F401  (the adapter)
from scratchlib import Struct


class Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        *((f"place{i}", ctypes.c_void_p) for i in range(6)),
    ]


place, number, thing = ctypes.c_void_p, ctypes.c_int32, ctypes.py_object
TENSOR = 48  # bytes of a DLTensor


def taken(array):
    """The address of the struct of a new export."""
    capsule = planted.export(array, max_version=(1, 3))
    address = planted.pointer(capsule, planted.name_of(capsule))
    planted.rename(capsule, planted.USED)
    if "table-null-strides" in faults:
        Struct.from_address(address).strides = None
    if "table-values" in faults:
        ctypes.memset(Struct.from_address(address).data, 7, 4)
    return address


def give(out, address):
    place.from_address(out).value = address
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, place, place, place, place)
def allocate(prototype, out, context, report):
    array = planted.numpy.zeros((3, 4), "float64" if "table-dtype" in faults else "float32")
    return give(out, taken(planted.Array(array)))


@ctypes.PYFUNCTYPE(ctypes.c_int, thing, place)
def managed_from(array, out):
    return give(out, taken(array))


@ctypes.PYFUNCTYPE(ctypes.c_int, place, place)
def managed_to(tensor, out):
    array = planted.Imported(Struct.from_address(tensor))
    keep = ctypes.PYFUNCTYPE(None, thing)(("Py_IncRef", ctypes.pythonapi))
    keep(array)
    return give(out, id(array))


@ctypes.PYFUNCTYPE(ctypes.c_int, thing, place)
def borrow(array, out):
    struct = Struct.from_address(taken(array))
    ctypes.memmove(out, ctypes.addressof(struct) + Struct.data.offset, TENSOR)
    return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, number, number, place)
def stream(kind, identity, out):
    return give(out, None)


table = Table()
table.version[:] = (0, 3) if "table-version" in faults else (1, 3)
functions = (None, allocate, managed_from, managed_to, borrow, stream)
for index, one in enumerate(functions):
    setattr(table, f"place{index}", one and ctypes.cast(one, place))
if "table-member" in faults:
    table.place5 = None
name = ctypes.create_string_buffer(b"table" if "table-name" in faults else b"dlpack_exchange_api")
new = planted.function("PyCapsule_New", thing, place, place, place)
planted.Array.__dlpack_c_exchange_api__ = new(ctypes.addressof(table), ctypes.addressof(name), None)
