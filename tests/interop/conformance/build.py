# SPDX-License-Identifier: Apache-2.0
"""Builds the extension of nanobind's adapter against the nanobind of this Python.

python build.py FOLDER    writes nanobind_arrays.so into the folder
"""

import pathlib
import subprocess
import sys
import sysconfig

import nanobind

MODULES = pathlib.Path(__file__).resolve().parent / "modules"


def main(folder):
    include = pathlib.Path(nanobind.include_dir())
    system = (sysconfig.get_path("include"), include, include.parent / "ext/robin_map/include")
    sources = (
        MODULES / "nanobind_arrays.cc",
        pathlib.Path(nanobind.source_dir(), "nb_combined.cpp"),
    )
    out = pathlib.Path(folder, "nanobind_arrays.so")
    out.parent.mkdir(parents=True, exist_ok=True)
    flags = ("-std=c++17", "-O1", "-DNDEBUG", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall")
    headers = [part for one in system for part in ("-isystem", str(one))]
    subprocess.run(("c++", *flags, *headers, *map(str, sources), "-o", str(out)), check=True)


if __name__ == "__main__":
    main(sys.argv[1])
