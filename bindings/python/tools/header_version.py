# SPDX-License-Identifier: Apache-2.0
"""The version for scikit-build-core: that of the library's header, in a checkout or in a source
distribution."""

import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parents[1]
HEADER = "include/dlbridge/dlbridge.h"


def version():
    for folder in (HERE / "library", HERE.parents[1]):
        if (folder / HEADER).exists():
            text = (folder / HEADER).read_text()
            return re.search(r'^#define DLBRIDGE_VERSION_STRING "(.+)"$', text, re.MULTILINE)[1]
    raise FileNotFoundError(f"{HEADER} is neither in library/ nor in the repository around it")


def dynamic_metadata(settings, project):
    return {"version": version()}
