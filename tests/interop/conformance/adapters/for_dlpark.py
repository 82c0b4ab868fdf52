# SPDX-License-Identifier: Apache-2.0
"""dlpark with PyO3, by modules/dlpark."""

import dlpark_arrays
from dlbridge.conformance import extensions
from dlbridge.conformance.extensions import address, array_by, dtype, maker  # noqa: F401

title, version = "dlpark", "0.10.0"
code = "from dlpark_arrays import Made, consume\n" + array_by("Made")
make = maker(dlpark_arrays.Made)


def consume(source, **keywords):
    return dlpark_arrays.consume(source, **keywords)


def read(array):
    held = array if isinstance(array, dlpark_arrays.Held) else dlpark_arrays.consume(array)
    return extensions.read(held)
