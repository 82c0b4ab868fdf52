# SPDX-License-Identifier: Apache-2.0
"""The machine: driver, devices, Python and frameworks."""

import ctypes
import os
import platform
import shutil
import sys
from importlib import metadata

from checks import Checks
from cuda_driver import Driver

import bindings as b

PACKAGES = ("torch", "cupy-cuda13x", "cupy-cuda12x", "jax", "jaxlib", "numba-cuda", "cuda-core")
ATTRIBUTES = {
    "compute_major": 75,
    "compute_minor": 76,
    "max_pitch": 11,
    "unified_addressing": 41,
    "concurrent_managed_access": 89,
    "virtual_memory": 102,
    "posix_file_descriptors": 103,
    "memory_pools": 115,
    "pool_handle_types": 119,
}


def version_of(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


class BackendInfo(Checks):
    def test_driver(self):
        info = b.load().backend_info()
        for name in ("driver_version", "runtime_version", "file", "reason"):
            self.measured[name] = getattr(info, name).decode()
        self.measured["devices"] = info.device_count
        self.assertEqual(b.State(info.state), b.State.READY, info.reason.decode())
        self.assertGreater(info.device_count, 0)

    def test_machine(self):
        self.measured |= {name: version_of(name) for name in PACKAGES}
        self.measured |= {
            "python": sys.version,
            "kernel": platform.release(),
            "processors": os.cpu_count(),
            "compute_sanitizer": shutil.which("compute-sanitizer"),
        }

    def test_devices(self):
        b.need_device()
        driver = Driver()
        for device in range(driver.get(ctypes.c_int, "cuDeviceGetCount")):
            with self.check(f"device {device}") as measured:
                for name, number in ATTRIBUTES.items():
                    measured[name] = driver.attribute(number, device)
                if driver.has("cuDeviceGetName"):
                    text = ctypes.create_string_buffer(256)
                    driver.call("cuDeviceGetName", text, len(text), device)
                    measured["name"] = text.value.decode()

    def test_starting_creates_no_context(self):
        library = b.need_device()
        place = ctypes.create_string_buffer(64)
        library.pointer_info(ctypes.addressof(place))
        self.assertFalse(Driver(start=False).has_primary_context())

    def test_a_forked_child(self):
        library = b.need_device()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                library.pointer_info(64)
            except b.Rejected as error:
                code = 0 if error.status == "FORKED" else 2
            os._exit(code)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
