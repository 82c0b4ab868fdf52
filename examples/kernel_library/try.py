# SPDX-License-Identifier: Apache-2.0
"""Gives the kernel arrays of two frameworks, and one that it must not write to."""

import kernels
import numpy
import tvm_ffi

x = numpy.ones((2, 3), dtype="float32")
kernels.scale(x, 2)  # NumPy's own memory
kernels.scale(x.T[::2], 10)  # any strides
kernels.scale(tvm_ffi.from_dlpack(x), 2)  # tvm-ffi's tensor of the same memory
print(x)

x.flags.writeable = False
for wrong in (x, x.astype("float64"), numpy.zeros(3, dtype="float32")):
    try:
        kernels.scale(wrong, 2)
    except BufferError as error:
        print(error.rule)
