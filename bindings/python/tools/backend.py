# SPDX-License-Identifier: Apache-2.0
"""The build backend: scikit-build-core, which older Pythons can neither install nor import.

pyproject.toml requires it for Python 3.10 and later only, so that `pip install` of a source folder or
of a source distribution reaches this file with every Python and shows this message. Without it, pip
reports that it finds no matching version of scikit-build-core.
"""

import sys

if sys.version_info < (3, 10):
    sys.exit("dlbridge needs Python 3.10 or later, found Python %d.%d" % sys.version_info[:2])

from scikit_build_core.build import *  # noqa: E402, F403
