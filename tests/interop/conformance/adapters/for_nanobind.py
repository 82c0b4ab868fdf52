# SPDX-License-Identifier: Apache-2.0
"""The arrays of nanobind, by modules/nanobind_arrays.cc."""

import nanobind_arrays
from dlbridge.conformance.values import DTYPES, NAMES

title, version = "nanobind", nanobind_arrays.version
code = "from nanobind_arrays import consume, make as make_array\n"


def make(request):
    triple = DTYPES[request.dtype]
    start = request.form.start * triple[1] // 8
    place = (list(request.shape), list(request.strides), start)
    return nanobind_arrays.make(request.bits, *place, *triple[:2], request.read_only)


def consume(source):
    return nanobind_arrays.consume(source)


def read(array):
    return array.read()


def dtype(array):
    return NAMES.get(array.triple, str(array.triple))


def address(array):
    return array.address
