# SPDX-License-Identifier: Apache-2.0
"""The build backend: scikit-build-core, which older Pythons can neither install nor import.

pyproject.toml requires it for Python 3.10 and later only, so that `pip install` of a source folder
or of a source distribution reaches this file with every Python and shows this message. Otherwise
pip would report that it finds no matching version of scikit-build-core.
"""

import sys

if sys.version_info < (3, 10):
    found = ".".join(str(part) for part in sys.version_info[:2])
    sys.exit("dlbridge needs Python 3.10 or later, found Python " + found)

from scikit_build_core.build import *  # noqa: E402, F403
