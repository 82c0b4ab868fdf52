# SPDX-License-Identifier: Apache-2.0
"""Runs each example as its README.md says, in a copy of its folder, with an installed dlbridge.

    nox -f examples/noxfile.py [-s NAME...]

DLBRIDGE_PREFIX is the folder of the installation. A session is named like its example; what the
commands print must be what README.md shows. Copies are below build/examples.
"""

import os
import pathlib
import sys

import nox

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import stages  # noqa: E402 needs the path above

RUNNER = HERE.parent / "tests/documents/run.py"
nox.options.default_venv_backend = "none"

# `./run test examples_nightly`: these install large packages, or compile the library, which
# packaging/noxfile.py does for each commit.
LARGE = {"libtorch", "mpi_ranks", "onnxruntime", "ray_actors", "vendored"}


def run(session):
    prefix = os.environ.get("DLBRIDGE_PREFIX")
    if not prefix:
        session.error("DLBRIDGE_PREFIX is not set: expected the folder where dlbridge is installed")
    python = stages.environment(session, "docs-venv", "docs/requirements.txt")
    page = f"examples/{session.name}/README.md"
    command = (str(python), "-B", str(RUNNER), "example", prefix, page)
    printed = session.run(*command, external=True, silent=True)
    if printed.startswith("skipped"):
        session.skip(printed.partition(": ")[2].strip())


for path in sorted(HERE.glob("*/README.md")):
    name = path.parent.name
    large = name in LARGE
    tags = ["large"] if large else ["quick"]
    nox.session(run, name=name, tags=tags, default=not large)
