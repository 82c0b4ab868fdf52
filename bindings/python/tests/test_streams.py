# SPDX-License-Identifier: Apache-2.0
"""Order between the work on a tensor of CUDA and its next user: every way to pass a tensor on, or
to copy it, while the work that writes it is late. Without an order the user sees zeros."""

from __future__ import annotations

import array
import json
import os
import pathlib
import subprocess
import sys

import dlbridge
import pytest
from cuda_drivers import NEEDED, devices
from dlbridge import _core

WORLD = pathlib.Path(__file__).with_name("streams_world.py")
pytestmark = NEEDED


@pytest.fixture
def found(driver):
    command = (sys.executable, "-B", str(WORLD))
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_next_user_sees_what_late_work_writes(found):
    wrong = {name: values for name, values in found.items() if values != [1, 2, 3, 4, 5, 6]}
    assert len(found) == 19 and not wrong


@pytest.mark.skipif(devices() > 0, reason="this machine has a driver")
def test_without_a_driver_managed_memory_is_read():
    """There is no work to wait for."""
    values = array.array("f", [1.0, 2.0])
    address, _ = values.buffer_info()
    for device in ((13, 0), (3, 0)):
        tensor = _core.wrap(values, address, (2,), "float32", device=device)
        assert memoryview(tensor).tolist() == [1.0, 2.0]
        for made in (tensor.copy(device="cpu"), dlbridge.from_dlpack(tensor, device="cpu")):
            assert memoryview(made).tolist() == [1.0, 2.0]
