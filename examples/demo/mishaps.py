# SPDX-License-Identifier: Apache-2.0
"""Scene 2: exchanges that fail between frameworks, and the same pairs through dlbridge."""

import jax
import numpy as np
import tensorflow as tf
import tvm_ffi
from bridge import COPY, DROP_READ_ONLY, Export, Handover, Rejected, describe
from capsules import IS_COPIED, READ_ONLY, look
from frameworks import JAX, NUMPY, TENSORFLOW, TVM_FFI, VALUES, address, aligned_values

MARK = -1.0


def immutable_without(show):
    array = JAX.make()
    capsule = show.handed_out(JAX, array)
    before = address(look(capsule))
    result = np.from_dlpack(tvm_ffi.from_dlpack(capsule))
    show.check("JAX -> tvm-ffi -> NumPy: writable", result.flags.writeable)
    show.check("JAX -> tvm-ffi -> NumPy: address", result.ctypes.data, before)
    result[0, 0] = MARK
    found = float(JAX.values(array)[0, 0])
    show.check("JAX -> tvm-ffi -> NumPy: first element of the immutable array", found, MARK)
    show.line(
        "without",
        f"NumPy gets a writable array at JAX's own {before:#x}; x[0,0] = {MARK:g} turns the "
        f"immutable JAX array's {VALUES[0, 0]:g} into {found:g}",
    )


def immutable_with(show):
    """tvm-ffi drops READ_ONLY. Its legacy capsule has no flags, and unknown means read-only."""
    array = JAX.make()
    capsule = show.handed_out(JAX, array)
    before = address(look(capsule))
    middle = TVM_FFI.take(Export(show.library, show.library.take(capsule)))
    tensor = show.library.take(show.handed_out(TVM_FFI, middle))
    said = describe(tensor)
    show.check("the same through dlbridge: flags", tensor.flags, READ_ONLY)
    result = np.from_dlpack(Export(show.library, tensor))
    show.check("the same through dlbridge: address", result.ctypes.data, before)
    rejection = show.raises(ValueError, "a write to the result", lambda: result.fill(MARK))
    show.check("the JAX array is unchanged", np.array_equal(JAX.values(array), VALUES))
    show.line(
        "dlbridge",
        f"{said} at the same {before:#x}, nothing copied; x[0,0] = {MARK:g}: {rejection}; the JAX "
        "array is unchanged",
    )


def read_only_array():
    array = aligned_values()
    array.flags.writeable = False
    return array


def read_only_without(show):
    array = read_only_array()
    rejection = show.raises(
        BufferError, "read-only NumPy -> JAX", lambda: jax.dlpack.from_dlpack(array)
    )
    show.line("without", f"BufferError: {rejection}")


def read_only_with(show, how, loss):
    """JAX requests a legacy tensor, which has no READ_ONLY: drop the flag, or copy."""
    array = read_only_array()
    tensor = show.library.take(show.handed_out_versioned(array))
    show.check("read-only NumPy array: flags", tensor.flags, READ_ONLY)
    said = describe(tensor)
    export = Export(show.library, tensor)
    show.raises(Rejected, "downgrade without permission", export.legacy)
    export.loss = loss
    result = JAX.take(export)
    show.check("read-only NumPy -> JAX: values", np.array_equal(JAX.values(result), VALUES))
    there = show.address_in(JAX, result)
    show.check(f"read-only NumPy -> JAX {how}: copied", there != array.ctypes.data, loss == COPY)
    show.check("the NumPy array is still read-only", array.flags.writeable, False)
    place = "copied to" if loss == COPY else "the same"
    show.line("dlbridge", f"{said} at {array.ctypes.data:#x}, {how}: JAX has {place} {there:#x}")


def reversed_array():
    return aligned_values()[::-1, ::-1]


def negative_without(show, name, error, importer):
    capsule = show.handed_out(NUMPY, reversed_array())
    rejection = show.raises(error, f"negative strides -> {name}", lambda: importer(capsule))
    show.line("without", f"{name}: {rejection}")


def negative_with(show, consumer):
    array = reversed_array()
    tensor = show.library.take(show.handed_out(NUMPY, array), COPY)
    said = describe(tensor)
    strides = tensor.dl_tensor.strides[: tensor.dl_tensor.ndim]
    show.check("negative strides: flags of the copy", tensor.flags, IS_COPIED)
    show.check("negative strides: strides of the copy", strides, [4, 1])
    result = consumer.take(Export(show.library, tensor))
    show.check("negative strides: values", np.array_equal(consumer.values(result), array))
    show.line("dlbridge", f"{consumer.name}: {said}, strides [-4, -1] -> {strides}, equal values")


def scene(show):
    show.title("2. Exchanges that fail natively, and the same through dlbridge")
    print("  JAX -> tvm-ffi -> NumPy")
    immutable_without(show)
    immutable_with(show)
    print("  read-only NumPy -> JAX")
    read_only_without(show)
    read_only_with(show, "with permission, since JAX never writes", DROP_READ_ONLY)
    read_only_with(show, "with a copy", COPY)
    print("  NumPy with negative strides -> JAX, TensorFlow")
    negative_without(
        show, "JAX", jax.errors.JaxRuntimeError, lambda c: jax.dlpack.from_dlpack(Handover(c))
    )
    negative_with(show, JAX)
    negative_without(
        show, "TensorFlow", tf.errors.InvalidArgumentError, tf.experimental.dlpack.from_dlpack
    )
    negative_with(show, TENSORFLOW)
    show.shown["repairs"] += 3
