# SPDX-License-Identifier: Apache-2.0
"""Builds the extensions of adapters for this Python.

python build.py FOLDER nanobind    nanobind_arrays.so, against this Python's nanobind
python build.py FOLDER pybind11    pybind11_arrays.so, against its pybind11 and dlbridge
python build.py FOLDER dlpark      dlpark_arrays.so, by cargo
"""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

MODULES = pathlib.Path(__file__).resolve().parent / "modules"


FLAGS = ("-std=c++17", "-O1", "-DNDEBUG", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall")


def compiled(out, sources, headers, *options):
    system = [part for one in headers for part in ("-isystem", str(one))]
    command = ("c++", *FLAGS, *system, *map(str, sources), "-o", str(out), *options)
    subprocess.run(command, check=True)


def nanobind(folder):
    import nanobind

    include = pathlib.Path(nanobind.include_dir())
    headers = (sysconfig.get_path("include"), include, include.parent / "ext/robin_map/include")
    source = pathlib.Path(nanobind.source_dir(), "nb_combined.cpp")
    sources = (MODULES / "nanobind_arrays.cc", source)
    compiled(folder / "nanobind_arrays.so", sources, headers)


def pybind11(folder):
    import dlbridge
    import pybind11

    headers = (sysconfig.get_path("include"), pybind11.get_include(), dlbridge.get_include())
    library = dlbridge.get_library_dir()
    options = (f"-L{library}", "-ldlbridge", f"-Wl,-rpath,{library}")
    compiled(folder / "pybind11_arrays.so", [MODULES / "pybind11_arrays.cc"], headers, *options)


def dlpark(folder):
    target = folder / "dlpark"
    environment = {**os.environ, "PYO3_PYTHON": sys.executable, "CARGO_TARGET_DIR": str(target)}
    command = ("cargo", "build", "--quiet", "--release", "--locked")
    subprocess.run(command, check=True, env=environment, cwd=MODULES / "dlpark")
    shutil.copy(target / "release/libdlpark_arrays.so", folder / "dlpark_arrays.so")


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1]).resolve()
    place.mkdir(parents=True, exist_ok=True)
    for library in sys.argv[2:]:
        {"nanobind": nanobind, "pybind11": pybind11, "dlpark": dlpark}[library](place)
