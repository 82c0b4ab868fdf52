# SPDX-License-Identifier: Apache-2.0
"""dlpark with PyO3, by modules/dlpark."""

import dlpark_arrays
from dlbridge.conformance.values import DTYPES, NAMES

title, version = "dlpark", "0.10.0"
code = "from dlpark_arrays import Made, consume\n"


def make(request):
    triple = DTYPES[request.dtype]
    start = request.form.start * triple[1] // 8
    place = (list(request.shape), list(request.strides), start)
    return dlpark_arrays.Made(request.bits, *place, *triple[:2], request.read_only)


def consume(source, **keywords):
    return dlpark_arrays.consume(source, **keywords)


def read(array):
    held = array if isinstance(array, dlpark_arrays.Held) else dlpark_arrays.consume(array)
    return held.read()


def dtype(array):
    return NAMES.get(array.triple, str(array.triple))


def address(array):
    return array.address
