# SPDX-License-Identifier: Apache-2.0
"""The device functions on a real NVIDIA GPU, with PyTorch, CuPy and JAX if installed.

`./run gpu` runs this file; DLBRIDGE_LIBRARY is the path of the library. Tests of missing frameworks
are skipped with a reason; without a GPU everything is skipped, with exit status 77. If
DLBRIDGE_LIBCUDA is set to the fake driver, the tests that need no framework run with it.
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
    """The test modules; those of missing frameworks are left out, as importing one may load a
    driver."""
    yield "with_driver"
    if os.environ.get("DLBRIDGE_LIBCUDA"):
        print("frameworks: skipped, DLBRIDGE_LIBCUDA names a driver that they do not use")
        return
    for package, module in FRAMEWORKS.items():
        if importlib.util.find_spec(package) is None:
            print(f"{package}: skipped, not installed for {sys.executable}")
        else:
            yield module


def main():
    if not os.environ.get("DLBRIDGE_LIBRARY"):
        skip("DLBRIDGE_LIBRARY is not set")
    info = bindings.load().backend_info()
    if info.state != bindings.STATE_READY:
        skip("CUDA is not available: " + info.reason.decode())
    version, file = info.driver_version.decode(), info.file.decode()
    print(f"driver {version} from {file}, {info.device_count} devices")
    suite = unittest.TestSuite()
    for name in modules():
        suite.addTests(unittest.defaultTestLoader.loadTestsFromName(name))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
