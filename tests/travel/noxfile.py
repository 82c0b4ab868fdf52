# SPDX-License-Identifier: Apache-2.0
"""Sends tensors between processes with multiprocessing, Dask, Ray and MPI.

nox -f tests/travel/noxfile.py             every program
nox -f tests/travel/noxfile.py -s bench    measures, against pickles of the frameworks' own arrays

The package is the wheel of bindings/python for CPython 3.11. `bench` also measures the packages in
the folder that DLBRIDGE_TRAVEL_EXTRA names, such as one with torch.
"""

import pathlib
import shutil
import sys

import nox

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python/tools"))

from sessions import ROOT, build_wheels, configure, install_pinned, install_wheel  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("shared_memory", "dask", "ray")
# Open MPI as root in a container, on one machine.
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm_rsh_agent": "sh",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
MPIRUN = ("mpirun", "-n", "2", "--oversubscribe")

configure("travel")
PYTHON = ROOT / "build/nox/travel/environment/bin/python"


@nox.session(python="3.11")
def environment(session):
    """The environment of all programs, with the wheel of dlbridge."""
    build_wheels(session)
    install_pinned(session, HERE / "requirements.txt")
    install_wheel(session)


def run(session, script, *before, limit=80, env=None):
    """Runs a program in the environment; it is stopped after `limit` seconds."""
    if not PYTHON.exists():
        session.skip("there is no CPython 3.11")
    stop = ("timeout", "--kill-after=10", str(limit))
    session.run(*stop, *before, str(PYTHON), str(HERE / script), external=True, env=env)


def travel(session):
    run(session, f"{session.name}_travel.py")


for program in PROGRAMS:
    nox.session(travel, name=program, python=False, requires=["environment"])


def need_mpi(session):
    if not shutil.which("mpirun"):
        session.skip("there is no mpirun (Debian: openmpi-bin, libopenmpi-dev)")


@nox.session(python=False, requires=["environment"])
def mpi(session):
    """Two processes of MPI."""
    need_mpi(session)
    run(session, "mpi_travel.py", *MPIRUN, env=MPI)


@nox.session(python=False, requires=["environment"], default=False)
def bench(session):
    """The cost of each way."""
    run(session, "measure.py", limit=600)
    need_mpi(session)
    run(session, "measure_mpi.py", *MPIRUN, limit=600, env=MPI)
