# SPDX-License-Identifier: Apache-2.0
"""Builds the extensions of adapters for this Python.

python build.py FOLDER nanobind    nanobind_arrays.so, against this Python's nanobind
python build.py FOLDER dlpark      dlpark_arrays.so, by cargo
"""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

MODULES = pathlib.Path(__file__).resolve().parent / "modules"


def nanobind(folder):
    import nanobind

    include = pathlib.Path(nanobind.include_dir())
    system = (sysconfig.get_path("include"), include, include.parent / "ext/robin_map/include")
    source = pathlib.Path(nanobind.source_dir(), "nb_combined.cpp")
    sources = (str(MODULES / "nanobind_arrays.cc"), str(source))
    flags = ("-std=c++17", "-O1", "-DNDEBUG", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall")
    headers = [part for one in system for part in ("-isystem", str(one))]
    out = str(folder / "nanobind_arrays.so")
    subprocess.run(("c++", *flags, *headers, *sources, "-o", out), check=True)


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
        {"nanobind": nanobind, "dlpark": dlpark}[library](place)
