# SPDX-License-Identifier: Apache-2.0
"""Order between the work on a tensor of CUDA and its next user: every way to pass a tensor on, or
to copy it, while the work that writes it is late. Without an order the user sees zeros."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
from cuda_drivers import NEEDED

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
    assert len(found) == 17 and not wrong
