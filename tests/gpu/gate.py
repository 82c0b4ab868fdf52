# SPDX-License-Identifier: Apache-2.0
"""The gates of the package's conformance kit, read without the package."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from structs import module_of_package  # noqa: E402

Gates = module_of_package("conformance/gates").Gates
