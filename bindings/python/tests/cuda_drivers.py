# SPDX-License-Identifier: Apache-2.0
"""Drivers of CUDA for tests: the fake of tests/fakes, or that of the machine."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILT = ROOT / "build/dev/tests/fakes/fake_cuda/libcuda.so.1"
NEEDED = [
    pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="no sanitizers"),
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="one version of Python is enough"),
]


def compiled(folder):
    """The fake, compiled against NVIDIA's header."""
    found = sorted(ROOT.glob("build/cuda-venv/lib/python3*/site-packages/nvidia/*/include/cuda.h"))
    compiler = shutil.which("c++")
    if not found or not compiler:
        pytest.skip(
            "the fake CUDA driver is not built, and cuda.h or c++ is missing: ./run test bindings"
        )
    sources = sorted(map(str, (ROOT / "tests/fakes/cuda").glob("*.cc")))
    out = folder / "libcuda.so.1"
    flags = ("-std=c++17", "-shared", "-fPIC", "-pthread", f"-I{ROOT}/tests/fakes/cuda")
    command = (compiler, *flags, "-isystem", found[0].parent, *sources, "-o", out)
    subprocess.run(list(map(str, command)), check=True)
    return out


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    return BUILT if BUILT.exists() else compiled(tmp_path_factory.mktemp("fake"))


def devices():
    """The number of GPUs that the machine's driver has."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    return 0 if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) else count.value


@pytest.fixture(params=["fake", "machine"])
def driver(request, monkeypatch):
    """The child processes load this driver."""
    if request.param == "fake":
        monkeypatch.setenv("DLBRIDGE_LIBCUDA", str(request.getfixturevalue("fake")))
    elif not devices():
        pytest.skip("this machine has no GPU of CUDA")
    else:
        monkeypatch.delenv("DLBRIDGE_LIBCUDA", raising=False)
    return request.param
