# SPDX-License-Identifier: Apache-2.0
"""The arrays of nanobind, by modules/nanobind_arrays.cc."""

import nanobind_arrays
from dlbridge.conformance.extensions import address, array_by, dtype, maker, read  # noqa: F401

title, version = "nanobind", nanobind_arrays.version
code = "from nanobind_arrays import consume, make as make_array\n" + array_by("make_array")
make = maker(nanobind_arrays.make)


def consume(source):
    return nanobind_arrays.consume(source)
