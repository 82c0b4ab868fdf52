# SPDX-License-Identifier: Apache-2.0
"""The adapter of a producer with eight faults."""

import right
import scratchlib
from right import delayed, make, read, title, unsupported, version, writable, write  # noqa: F401

right.kind = scratchlib.Faulty
