# SPDX-License-Identifier: Apache-2.0
"""Deleters, destructors of capsules and release functions in Python that use the package, release
other tensors, wait for other threads, or run in a forked child."""

from __future__ import annotations

import gc
import os
import sys
import threading

import dlbridge
import numpy as np
import pytest
from dlbridge import _core, abi, from_dlpack
from producers import legacy, versioned

FLOAT32 = (2, 32, 1)

pytestmark = pytest.mark.usefixtures("balanced")


class Owner:
    """A buffer whose end is noticed, as that of the owner of a tensor."""

    def __init__(self, at_end):
        self.values = np.arange(6, dtype=np.float32)
        self.at_end = at_end

    def lend(self):
        """A tensor that keeps this object."""
        return _core.wrap(self, self.values.ctypes.data, (2, 3), "float32")

    def __del__(self):
        self.at_end()


def use_the_package():
    """One call of each kind."""
    made, old = versioned(), legacy()
    tensor = from_dlpack(made.capsule())
    view = tensor.view((6,))
    assert np.from_dlpack(view.copy())[5] == 5
    assert memoryview(tensor).nbytes == 24
    assert "shape" in repr(from_dlpack(old.capsule()))
    del tensor, view
    assert (made.deleted, old.deleted) == (1, 1)
    dlbridge.collect()


def wrap(release):
    """The address of a tensor whose memory has this release function."""
    values = np.zeros(4, dtype=np.float32)
    buffer = abi.Buffer(abi.Backend.NONE, abi.BufferKind.ADDRESS, values.ctypes.data)

    def released(buffer, stream):
        assert values.size == 4
        release()

    return abi.wrap(buffer, [4], FLOAT32, release=released)


# Ways to own a tensor, each of which ends by `del` or a call: (make(at_end), end).
def lent(at_end):
    return [Owner(at_end).lend()]


def in_capsule(at_end):
    return [Owner(at_end).lend().__dlpack__(max_version=(1, 3))]


def wrapped(at_end):
    return wrap(at_end)


def end(owned):
    if isinstance(owned, int):
        abi.release(owned, abi.Kind.VERSIONED)
    else:
        owned.clear()


WAYS = pytest.mark.parametrize("make", [lent, in_capsule, wrapped])


@WAYS
def test_an_end_that_uses_the_package(make):
    ends = []

    def at_end():
        use_the_package()
        ends.append(1)

    end(make(at_end))
    assert ends == [1]


@WAYS
def test_ends_that_end_others(make):
    ends = []
    last = make(lambda: ends.append(0))
    for number in range(1, 100):

        def at_end(number=number, other=last):
            end(other)
            ends.append(number)

        last = make(at_end)
    end(last)
    assert sorted(ends) == list(range(100))


@WAYS
def test_an_end_that_waits_for_another_thread(make):
    """The other thread needs the interpreter, the library, and the table of contexts."""
    done = threading.Event()

    def work():
        use_the_package()
        known = abi.context_register(abi.Backend.CUDA, (2, 9), native_device=9, context=4711)
        abi.context_unregister(known)
        done.set()

    def at_end():
        thread = threading.Thread(target=work)
        thread.start()
        assert done.wait(60)
        thread.join()

    end(make(at_end))
    assert done.is_set()


@WAYS
def test_an_end_on_another_thread(make):
    ends = []
    owned = make(lambda: ends.append(threading.get_ident()))
    thread = threading.Thread(target=end, args=(owned,))
    del owned
    thread.start()
    thread.join()
    assert len(ends) == 1
    assert ends[0] != threading.get_ident()


@WAYS
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_end_after_a_fork(make):
    """Parent and child each have the tensor, and each releases it once."""
    ends = []

    def at_end():
        use_the_package()
        ends.append(1)

    owned = make(at_end)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            end(owned)
            status = 0 if ends == [1] else 2
        finally:
            os._exit(status)
    end(owned)
    assert os.waitpid(child, 0)[1] == 0
    assert ends == [1]


@WAYS
def test_an_end_that_raises(make, monkeypatch):
    """It is reported as unraisable, and everything goes on."""
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: reported.append(str(one.exc_value)))

    def at_end():
        raise RuntimeError("at the end")

    end(make(at_end))
    gc.collect()
    assert reported == ["at the end"]
    use_the_package()


def test_a_cycle_through_a_tensor_leaks_nothing_else():
    """The collector does not see through a tensor: a cycle is broken by hand."""
    ends = []
    owner = Owner(lambda: ends.append(1))
    owner.tensor = owner.lend()
    place = [owner]
    del owner
    gc.collect()
    assert ends == []
    place[0].tensor = None
    place.clear()
    gc.collect()
    assert ends == [1]
