# SPDX-License-Identifier: Apache-2.0
"""Times of calls beside raw driver calls, and of exchanges beside the frameworks' own.

Both are measured in turn, round after round. Nothing about times is asserted.
"""

import ctypes
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

from checks import Checks
from cuda_driver import Driver

import bindings as b

ROUNDS, CALLS = 15, 200


def compared(other, ours):
    """Medians in nanoseconds, and the ratio of each round: its median, lowest and highest."""
    ratios = sorted(mine / theirs for theirs, mine in zip(other, ours, strict=True))
    return {
        "other_ns": round(statistics.median(other), 1),
        "dlbridge_ns": round(statistics.median(ours), 1),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_lowest": round(ratios[0], 3),
        "ratio_highest": round(ratios[-1], 3),
        "rounds": len(ratios),
    }


def nanoseconds(call):
    began = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - began) / CALLS


def in_turn(other, ours):
    other(), ours()
    rounds = [(nanoseconds(other), nanoseconds(ours)) for _ in range(ROUNDS)]
    return compared(*zip(*rounds, strict=True))


class Timings(Checks):
    def test_driver(self):
        b.need_device()
        program = os.environ.get("DLBRIDGE_GPU_TIMINGS")
        if not program:
            self.skipTest("DLBRIDGE_GPU_TIMINGS does not name the program")
        driver = os.environ.get("DLBRIDGE_LIBCUDA") or "libcuda.so.1"
        command = (program, driver, os.environ["DLBRIDGE_LIBRARY"])
        done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, (raw, ours) in json.loads(done.stdout).items():
            with self.check(f"beside the driver: {name}") as measured:
                measured |= compared(raw, ours)

    def test_frameworks(self):
        """An exchange through dlbridge beside the framework's own."""
        b.need_device()
        self.dlbridge = b.need_package()
        for name, measure in {"torch": self.torch, "cupy": self.cupy, "jax": self.jax}.items():
            with self.check(f"beside {name}") as measured:
                measure(measured, b.need_module(name))

    def torch(self, measured, torch):
        if not torch.cuda.is_available():
            self.skipTest("torch finds no CUDA device")
        array = torch.zeros(24, device="cuda")
        own = torch.from_dlpack
        to = self.dlbridge.to
        measured["to itself"] = in_turn(lambda: own(array), lambda: to(array, torch.Tensor))
        measured["import and release"] = in_turn(
            lambda: torch.utils.dlpack.to_dlpack(array), lambda: self.dlbridge.from_dlpack(array)
        )
        measured["import, asking the driver"] = in_turn(
            lambda: torch.utils.dlpack.to_dlpack(array),
            lambda: self.dlbridge.from_dlpack(array, validate="device"),
        )
        if importlib.util.find_spec("cupy"):
            cupy = b.need_module("cupy")
            theirs = cupy.zeros(24, dtype=cupy.float32)
            measured["from cupy"] = in_turn(lambda: own(theirs), lambda: to(theirs, torch.Tensor))

    def cupy(self, measured, cupy):
        if not cupy.cuda.is_available():
            self.skipTest("cupy finds no CUDA device")
        array = cupy.zeros(24, dtype=cupy.float32)
        measured["to itself"] = in_turn(
            lambda: cupy.from_dlpack(array),
            lambda: cupy.from_dlpack(self.dlbridge.from_dlpack(array)),
        )

    def jax(self, measured, jax):
        try:
            device = jax.devices("cuda")[0]
        except RuntimeError as error:
            self.skipTest(f"jax finds no CUDA device: {error}")
        array = jax.numpy.zeros(24, dtype=jax.numpy.float32, device=device)
        array.block_until_ready()
        own = jax.dlpack.from_dlpack
        measured["to itself"] = in_turn(
            lambda: own(array), lambda: own(self.dlbridge.adapt(array, readonly="drop"))
        )

    def test_python(self):
        """The cost of a call by ctypes, to compare the seconds of other modules with."""
        b.need_device()
        driver, place = Driver(), ctypes.c_int()
        call = driver.result
        reference = ctypes.byref(place)
        self.measured["ns"] = nanoseconds(lambda: call("cuDriverGetVersion", reference))
        self.measured["python"] = sys.version
