# SPDX-License-Identifier: Apache-2.0
"""A kernel that keeps a stream busy until the host opens it.

The driver compiles the text of the kernel: no compiler is needed. A gate that is not opened gives
up after some seconds and records that: a mistake cannot block the device. tests/gpu reads this file
without the package, so it imports nothing of it.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

SECONDS = 5
MOST = 1000  # gates of one object
COMPUTE_MAJOR, COMPUTE_MINOR = 75, 76  # CUdevice_attribute
_HANDLE = ctypes.c_void_p
# `flag` is in pinned host memory: a volatile load sees what the host writes.
PTX = """
.version 6.4
.target sm_{target}
.address_size 64
.visible .entry gate(.param .u64 flag, .param .u64 limit)
{{
  .reg .pred %p<3>;
  .reg .u32 %r<3>;
  .reg .u64 %rd<6>;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [limit];
  mov.u64 %rd3, %globaltimer;
WAIT:
  ld.volatile.u32 %r1, [%rd1];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  mov.u64 %rd4, %globaltimer;
  sub.u64 %rd5, %rd4, %rd3;
  setp.lt.u64 %p2, %rd5, %rd2;
  @%p2 bra WAIT;
  mov.u32 %r2, 1;
  st.volatile.u32 [%rd1+4], %r2;
DONE:
  ret;
}}
"""


class Gates:
    """Loads the kernel into the current context. `driver` has call, get, attribute and
    allocate_pinned."""

    def __init__(self, driver: Any, seconds: int = SECONDS) -> None:
        self._driver, self._seconds = driver, seconds
        text = PTX.format(target=self._target()).encode()
        module = driver.get(_HANDLE, "cuModuleLoadData", ctypes.c_char_p(text))
        self._kernel = driver.get(_HANDLE, "cuModuleGetFunction", _HANDLE(module), b"gate")
        # All at once: allocating pinned memory may wait for the kernels that run.
        self._flags = driver.allocate_pinned(8 * MOST)
        self._used = 0

    def _target(self) -> int:
        """Kernels for sm_75 run on all later devices; older devices need their own number."""
        major, minor = (self._driver.attribute(number) for number in (COMPUTE_MAJOR, COMPUTE_MINOR))
        return min(75, 10 * (major or 9) + (minor or 0))

    def close(self, stream: int) -> Gate:
        """Enqueues a gate. It is closed."""
        flags = self._flags + 8 * self._used
        self._used += 1
        ctypes.memset(flags, 0, 8)
        address, limit = ctypes.c_uint64(flags), ctypes.c_uint64(self._seconds * 10**9)
        places = [ctypes.cast(ctypes.pointer(one), _HANDLE) for one in (address, limit)]
        parameters = (_HANDLE * 2)(*places)
        shape = [ctypes.c_uint(1)] * 6 + [ctypes.c_uint(0)]
        self._driver.call(
            "cuLaunchKernel", _HANDLE(self._kernel), *shape, _HANDLE(stream), parameters, None
        )
        return Gate(flags, self._seconds)


class Gate:
    def __init__(self, flags: int, seconds: int) -> None:
        self._seconds = seconds
        self._flags = ctypes.c_uint32.from_address(flags)
        self._gave_up = ctypes.c_uint32.from_address(flags + 4)
        self._closed_at = time.monotonic()

    def open(self) -> None:
        self._flags.value = 1

    def held(self) -> bool:
        """False if the gate was not closed all the time until now: a result proves nothing then."""
        in_time = time.monotonic() - self._closed_at < self._seconds
        return in_time and not self._gave_up.value
