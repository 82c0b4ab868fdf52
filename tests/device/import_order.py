# SPDX-License-Identifier: Apache-2.0
"""A framework brings its own HIP, as PyTorch's packages do, before or after the program asks for
HIP's devices. Both orders find them.

Usage: import_order.py LIBDLBRIDGE LIBAMDHIP64
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from structs import DLBridgeBackendInfo  # noqa: E402 needs the path above

BACKEND_HIP, READY = 3, 1


def hip(library):
    """The state of HIP, its number of devices and its file."""
    info = DLBridgeBackendInfo(struct_size=ctypes.sizeof(DLBridgeBackendInfo))
    status = library.dlbridge_backend_info(BACKEND_HIP, ctypes.byref(info), None)
    if status != 0:
        raise RuntimeError(f"dlbridge_backend_info: {status}")
    return info.state, info.device_count, info.file.decode()


def program(library, framework, order):
    """Runs in a process of its own: a driver is started once per process."""
    library = ctypes.CDLL(library)
    if order == "ask first":
        print(*hip(library), sep="\n")
    ctypes.CDLL(framework)
    print(*hip(library), sep="\n")


class ImportOrder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.framework = pathlib.Path(folder.name) / "torch/lib/libamdhip64.so"
        self.framework.parent.mkdir(parents=True)
        shutil.copy(HIP, self.framework)

    def lines(self, order):
        arguments = ["--program", LIBRARY, self.framework, order]
        environment = {**os.environ, "DLBRIDGE_LIBHIP": ""}
        return subprocess.run(
            [sys.executable, "-B", __file__, *arguments],
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.splitlines()

    def test_both_orders_find_the_devices(self):
        found = [str(READY), "2", str(self.framework)]
        self.assertEqual(self.lines("import first"), found)
        asked_first = self.lines("ask first")
        if asked_first[0] == str(READY):
            self.skipTest("this machine has an AMD GPU, whose runtime is found first")
        self.assertEqual(asked_first[3:], found)


if __name__ == "__main__":
    if sys.argv[1] == "--program":
        program(*sys.argv[2:])
    else:
        LIBRARY, HIP = sys.argv[1:]
        unittest.main(argv=sys.argv[:1])
