#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python passes tensors of NumPy and JAX to Rust, which shares them with Go and C++ in threads. The
owners are released in every order, and each deleter runs once, after the last release. The library
must be built with AddressSanitizer, which reports a use after the release.

    test_languages.py RUST_PLUGIN GO_PLUGIN CPP_PLUGIN [--fault=drop-twice|never-drop]

With a fault in a plugin the run must fail; noxfile.py checks that."""

import ctypes
import gc
import itertools
import pathlib
import sys
import weakref

import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from structs import DLManagedTensor, DLManagedTensorVersioned  # noqa: E402

LEGACY, VERSIONED = 1, 2
THREADS, ROUNDS = 8, 200


class Plugin(ctypes.Structure):
    _fields_ = (
        ("take", ctypes.c_void_p),
        ("share", ctypes.c_void_p),
        ("drop", ctypes.c_void_p),
    )


def capsule_pointer(capsule, name, used):
    """Consumes a capsule as the protocol requires."""
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
    pointer = api.PyCapsule_GetPointer(capsule, name)
    api.PyCapsule_SetName(capsule, used)
    return pointer


class Counted:
    """The tensor of an array, whose deleter counts, then calls the original."""

    def __init__(self, array, kind):
        self.kind = kind
        self.deletes = ctypes.c_int32(0)
        if kind == LEGACY:
            capsule, self.name = array.__dlpack__(), b"used_dltensor"
            pointer = capsule_pointer(capsule, b"dltensor", self.name)
        else:
            capsule, self.name = array.__dlpack__(max_version=(1, 3)), b"used_dltensor_versioned"
            pointer = capsule_pointer(capsule, b"dltensor_versioned", self.name)
        struct = DLManagedTensor if kind == LEGACY else DLManagedTensorVersioned
        self.inner = struct.from_address(pointer)
        self.outer = struct.from_buffer_copy(self.inner)
        self.pointer = pointer
        self.callback = DLManagedTensor.Deleter(self.delete)
        self.outer.deleter = self.callback

    def delete(self, _outer):
        self.deletes.value += 1
        self.inner.deleter(self.pointer)


# The names of capsules must stay in memory as long as the capsules.
NAMES = (b"used_dltensor", b"used_dltensor_versioned")


def numpy_array():
    return np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1)


def read_only_numpy_array():
    array = numpy_array()
    array.flags.writeable = False
    return array


def jax_array():
    return jnp.arange(24, dtype=jnp.float32).reshape(2, 3, 4)


PRODUCERS = (
    ("NumPy, legacy", numpy_array, LEGACY),
    ("NumPy, versioned", numpy_array, VERSIONED),
    ("NumPy, read-only", read_only_numpy_array, VERSIONED),
    ("JAX", jax_array, LEGACY),
)
SUM = float(sum(range(24)))


def load(paths):
    """The library of Rust's plugin, and the functions of all plugins."""
    libraries = [ctypes.CDLL(path) for path in paths]
    plugins = (Plugin * len(paths))()
    for plugin, library, prefix in zip(plugins, libraries, ("rust", "go", "cpp")):
        for function in ("take", "share", "drop"):
            address = ctypes.cast(getattr(library, f"{prefix}_{function}"), ctypes.c_void_p)
            setattr(plugin, function, address)
    return libraries[0], plugins


def put_in_fault(plugins, fault):
    """Puts a fault into the last plugin, which the run must report."""
    good = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(plugins[-1].drop)
    times = {"drop-twice": 2, "never-drop": 0}[fault]

    def drop(holder):
        for _ in range(times):
            good(holder)

    bad = ctypes.CFUNCTYPE(None, ctypes.c_size_t)(drop)
    plugins[-1].drop = ctypes.cast(bad, ctypes.c_void_p)
    return good, bad


def call(function, counted, *arguments):
    """Passes the tensor to a function of Rust; a failure is an exception."""
    message = ctypes.create_string_buffer(512)
    status = function(ctypes.byref(counted.outer), counted.kind, *arguments, message, 512)
    if status != 0:
        raise AssertionError(f"status {status}: {message.value.decode()}")


def check_end(counted, watch, name):
    assert counted.deletes.value == 1, f"{name}: the deleter ran {counted.deletes.value} times"
    del counted
    gc.collect()
    assert watch() is None, f"{name}: the array is still there"


def exchange(rust, plugins, name, make, kind, order):
    array = make()
    counted, watch = Counted(array, kind), weakref.ref(array)
    total = ctypes.c_double(0)
    del array
    call(
        rust.rust_exchange,
        counted,
        plugins,
        len(plugins),
        (ctypes.c_uint32 * len(order))(*order),
        ctypes.byref(counted.deletes),
        ctypes.byref(total),
    )
    assert total.value == SUM, f"{name}: the sum was {total.value}"
    check_end(counted, watch, name)


def storm(rust, plugins, name, make, kind):
    array = make()
    counted, watch = Counted(array, kind), weakref.ref(array)
    del array
    call(
        rust.rust_storm,
        counted,
        plugins,
        len(plugins),
        THREADS,
        ROUNDS,
        ctypes.c_double(SUM),
    )
    check_end(counted, watch, name)


def is_watched():
    """Whether AddressSanitizer is loaded in this process."""
    return hasattr(ctypes.CDLL(None), "__asan_init")


def main():
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    faults = [argument.split("=")[1] for argument in sys.argv[1:] if argument.startswith("--")]
    assert is_watched(), "AddressSanitizer is not loaded"
    rust, plugins = load(paths)
    kept = [put_in_fault(plugins, fault) for fault in faults]
    orders = list(itertools.permutations(range(len(plugins) + 1)))
    for name, make, kind in PRODUCERS:
        for order in orders:
            exchange(rust, plugins, name, make, kind, order)
        storm(rust, plugins, name, make, kind)
        print(f"passed {name}: {len(orders)} orders, {THREADS} threads, each deleter once")
    del kept
    return 0


if __name__ == "__main__":
    sys.exit(main())
