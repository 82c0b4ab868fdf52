# SPDX-License-Identifier: Apache-2.0
"""Threads share tensors without a lock of their own. With the GIL these tests check the order of
operations; in free-threaded builds, and under ThreadSanitizer, they also check the locks."""

from __future__ import annotations

import array
import contextlib
import gc
import sysconfig
import threading
import time

import dlbridge
import producers
import pytest
from dlbridge import _core, from_dlpack

THREADS = 6
ROUNDS = 30
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def together(work, threads=THREADS):
    """Runs work(number) on each thread, starting at the same time; returns the results."""
    barrier = threading.Barrier(threads)
    results, failures = [None] * threads, []

    def run(number):
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:  # noqa: BLE001 - reported by the test's thread
            failures.append(error)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for one in started:
        one.start()
    for one in started:
        one.join()
    if failures:
        raise failures[0]
    return results


def tensor_of(values=6):
    return dlbridge.from_buffer(array.array("d", range(values)))


def tensor_is_released(tensor):
    return repr(tensor) == "dlbridge.Tensor(released)"


def text_of(tensor):
    """Its repr; ValueError once the tensor is released, as other uses raise it."""
    if tensor_is_released(tensor):
        raise ValueError("release_after has released the tensor")
    return repr(tensor)


# Each use of a tensor that another thread may release at any time: it works, or it is rejected
# because the tensor has been released.
USES = {
    "attributes": lambda t: (t.shape, t.strides, t.nbytes, t.dtype, t.device, t.flags, t.size),
    "capsule": lambda t: t.__dlpack__(max_version=(1, 0)),
    "device": lambda t: t.__dlpack_device__(),
    "copy": lambda t: t.copy().nbytes,
    "view": lambda t: t.view((2, 3)).shape,
    "buffer": lambda t: memoryview(t).tolist(),
    "repr": text_of,
    "import": lambda t: from_dlpack(t).shape,
    "export": lambda t: _core.export(t),
    "to_type": lambda t: _core.to_type(t, _core.Tensor).shape,
    "wrap": lambda t: _core.wrap(t, t.data_ptr, (1,), "float64").shape,
}


@pytest.mark.skipif(not FREE_THREADED, reason="needs a free-threaded build of CPython")
def test_the_import_leaves_the_gil_disabled():
    program = """
import sys, dlbridge, dlbridge.abi
assert not sys._is_gil_enabled()
"""
    assert producers.run(program) == ""


@pytest.mark.parametrize("name", USES)
def test_a_tensor_is_used_while_another_thread_releases_it(name, balanced):
    use = USES[name]

    def use_until_released(tensor):
        try:
            for _ in range(200):  # a limit: a buffer in use prevents the release
                use(tensor)
        except ValueError as error:
            assert "release_after has released" in str(error), error

    def release(tensor):
        time.sleep(0.0005)  # until the others use it
        while not tensor_is_released(tensor):
            try:
                tensor.release_after(None)
            except BufferError as error:  # another thread has a buffer of it
                assert "buffers are released" in str(error), error

    def work(number):
        for tensor in tensors:
            barrier.wait()
            (use_until_released if number else release)(tensor)

    barrier = threading.Barrier(THREADS)

    tensors = [from_dlpack(producers.versioned().capsule()) for _ in range(ROUNDS)]
    if name in ("wrap", "buffer"):
        tensors = [tensor_of() for _ in range(ROUNDS)]
    together(work)


def test_one_of_many_threads_releases_a_tensor(balanced):
    def work(_):
        done = 0
        for tensor in tensors:
            try:
                tensor.release_after(None)
                done += 1
            except ValueError as error:
                assert "release_after has released" in str(error)
        return done

    tensors = [from_dlpack(producers.versioned().capsule()) for _ in range(ROUNDS)]
    assert sum(together(work)) == ROUNDS


def test_buffers_are_counted():
    """The count of buffers in use returns to zero, else release_after would reject the tensor."""
    tensor = tensor_of()

    def work(_):
        for _ in range(40 * ROUNDS):
            with memoryview(tensor) as one, memoryview(tensor) as other:
                assert one[0] == other[0] == 0.0

    together(work)
    tensor.release_after(None)


def test_a_capsule_is_imported_once(balanced):
    """The consumer renames the capsule and takes its tensor in one step."""

    def work(_):
        done = 0
        for capsule in capsules:
            with contextlib.suppress(BufferError, TypeError, ValueError):
                done += from_dlpack(capsule).shape == (2, 3)
        return done

    made = [producers.versioned() for _ in range(ROUNDS)]
    capsules = [one.capsule() for one in made]
    assert sum(together(work)) == ROUNDS
    capsules.clear()
    gc.collect()
    assert [one.deleted for one in made] == [1] * ROUNDS


def test_owners_are_released_by_several_threads(balanced):
    def work(_):
        return [[from_dlpack(tensor) for tensor in tensors] for _ in range(5)] and None

    tensors = [from_dlpack(producers.versioned().capsule()) for _ in range(20)]
    together(work)


def test_more_types_than_the_cache_holds_are_seen_first_by_many_threads():
    """Each class is inspected, cached or not, and its tensors are imported."""

    def speaker(number):
        tensor = tensor_of()
        body = {"__dlpack__": lambda self, **keywords: tensor.__dlpack__(**keywords)}
        return type(f"Speaker{number}", (), body)()

    speakers = [speaker(number) for number in range(40)]

    def work(number):
        for index in range(len(speakers)):
            assert from_dlpack(speakers[(index + number) % len(speakers)]).shape == (6,)

    together(work)


def test_classes_change_while_they_are_looked_up():
    class Speaker:
        def __dlpack__(self, **keywords):
            return tensor.__dlpack__(**keywords)

    tensor = tensor_of()

    def work(number):
        for index in range(ROUNDS):
            if number == 0:
                Speaker.attribute = index
            assert from_dlpack(Speaker()).shape == (6,)

    together(work)


def test_an_allocator_reports_each_thread_an_exception():
    """The exception of `allocate` replaces the library's error; none is lost or freed twice."""

    from dlbridge import abi

    def fail(*_):
        raise LookupError("no memory for tests")

    allocator = abi.Allocator(fail, lambda *_: None)

    def work(_):
        for _ in range(ROUNDS):
            with pytest.raises((LookupError, MemoryError)):
                abi.allocate([2, 3], (2, 32, 1), allocator=allocator)

    together(work)


def test_adapt_and_to_by_many_threads():
    tensor = tensor_of()

    def work(_):
        for _ in range(ROUNDS):
            assert from_dlpack(dlbridge.adapt(tensor)).shape == (6,)
            assert dlbridge.to(tensor, dlbridge.Tensor).shape == (6,)

    together(work)


def test_first_uses_of_lazy_names_by_many_threads():
    program = """
import threading, dlbridge
names = ["adapt", "to", "inspect", "from_buffer", "to_buffer", "portable", "get_include"]
barrier = threading.Barrier(8)
failures = []
def work(number):
    barrier.wait()
    try:
        for name in names[number:] + names[:number]:
            getattr(dlbridge, name)
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
"""
    assert producers.run(program) == ""
