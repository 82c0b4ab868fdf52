# SPDX-License-Identifier: Apache-2.0
"""The device functions on a real NVIDIA GPU, with PyTorch, CuPy and JAX where they are installed.

`./run gpu` runs it; DLBRIDGE_LIBRARY names the library. What is missing is skipped with the reason;
without a GPU all of it is, with exit status 77. With DLBRIDGE_LIBCUDA set to the fake driver what
needs no framework runs on that.
"""

import importlib.util
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bindings  # noqa: E402

FRAMEWORKS = {"torch": "with_torch", "cupy": "with_cupy", "jax": "with_jax"}


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def modules():
    """Each framework's tests only where it is there: to import it may load a driver."""
    yield "with_driver"
    if os.environ.get("DLBRIDGE_LIBCUDA"):
        print("frameworks: left out, DLBRIDGE_LIBCUDA names another driver than theirs")
        return
    for package, module in FRAMEWORKS.items():
        if importlib.util.find_spec(package) is None:
            print(f"{package}: skipped, it is not installed for {sys.executable}")
        else:
            yield module


def main():
    if not os.environ.get("DLBRIDGE_LIBRARY"):
        skip("DLBRIDGE_LIBRARY does not name the library to test")
    info = bindings.load().backend_info()
    if info.state != bindings.STATE_READY:
        skip("CUDA is not there: " + info.reason.decode())
    version, file = info.driver_version.decode(), info.file.decode()
    print(f"driver {version} of {file}, {info.device_count} devices")
    suite = unittest.TestSuite()
    for name in modules():
        suite.addTests(unittest.defaultTestLoader.loadTestsFromName(name))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
