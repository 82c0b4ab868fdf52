# SPDX-License-Identifier: Apache-2.0
"""Calls of the package while allocations and other calls of the C library fail.

faults_world.py FAILING corpus|package library|python once|good

FAILING is the path of the extension capi/failing.c. `corpus` runs the conformance corpus through
dlbridge.abi, `package` the functions of dlbridge itself. `library` fails the calls that
libdlbridge.so makes, `python` those of Python's allocators. Prints {"failures": N, "problems":
[...]} as JSON. A process of its own, since hooks stay, and so that first uses fail too.

A call that fails leaves its arguments as they were, so it is simply made again, with the next
allocation failing, until nothing fails any more.
"""

import collections
import ctypes
import functools
import gc
import importlib.util
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
MOST = 3000  # failures of one call
CASES = 12  # of the corpus for each function
LIBRARY, PYTHON = 1, 2
SOURCES = {"library": LIBRARY, "python": PYTHON}
# nanobind says this of every failed conversion of an argument, whatever failed.
NOT_CONVERTED = "incompatible function arguments"
# What a failure of the system may look like; Python's own failures are MemoryError only.
STATUSES = {"OUT_OF_MEMORY", "UNSUPPORTED", "UNAVAILABLE", "NOT_FOUND", "DESCRIPTOR"}


def load(path):
    spec = importlib.util.spec_from_file_location("failing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Failures:
    """Makes calls again and again, each time with the next allocation failing."""

    def __init__(self, failing, source, forever):
        self.failing, self.source, self.forever = failing, source, forever
        self.count = 0
        self.problems = []
        self.untouched = lambda: None  # what a failed call must not change

    def is_proper(self, error):
        status = getattr(error, "status", None)
        if self.source == PYTHON and NOT_CONVERTED in str(error):
            return True
        if self.source == PYTHON or status is None:
            return type(error) is MemoryError
        return status in STATUSES and error.rule is None and str(error) != ""

    def call(self, function, *args, **keywords):
        before = self.untouched()
        for nth in range(1, MOST):
            error = result = None
            try:
                how = (self.source, nth, self.forever)
                result = self.failing.call(*how, function, args, keywords)
            except Exception as caught:
                error = caught
            failed = self.failing.failed()[0]
            self.count += failed
            if failed and error is not None and self.is_proper(error):
                error = None
                if self.untouched() != before:
                    self.problems.append(f"{function.__name__}: a failed call released a tensor")
                continue
            if error is not None:
                raise error
            return result
        raise AssertionError(f"{function.__name__} does not end")


# Functions that run callbacks in Python: without memory these cannot run, so these calls fail only
# inside the library.
RUN_PYTHON = {
    "release", "release_after", "release_legacy", "release_versioned", "collect",
    "context_release", "context_unregister",
}  # fmt: skip


def wrap_abi(abi, failures):
    """Each function of dlbridge.abi goes through `failures`."""

    def failing(name, function):
        @functools.wraps(function)
        def call(*args, **keywords):
            python = failures.source == PYTHON
            replaces = keywords.get("properties", 0) & abi.ContextProperty.REPLACE
            if python and (name in RUN_PYTHON or replaces or keywords.get("allocator")):
                return function(*args, **keywords)
            return failures.call(function, *args, **keywords)

        return call

    for name in dir(abi._describe):
        function = getattr(abi._describe, name)
        if callable(function) and not isinstance(function, type) and hasattr(abi, name):
            setattr(abi, name, failing(name, function))


def count_in_c(world_type, producer_type, failing):
    """Deleters that need no memory, and their counts as the World sees them."""
    legacy, versioned = failing.deleters()
    make = producer_type.__init__

    def init(self, spec):
        self.counter = ctypes.c_int64(0)
        make(self, spec)
        if self.has_deleter and hasattr(self, "struct"):
            is_legacy = type(self.struct).__name__ == "DLManagedTensor"
            kind = type(self.struct.deleter)
            self.struct.deleter = kind(legacy if is_legacy else versioned)
            self.struct.manager_ctx = ctypes.addressof(self.counter)

    producer_type.__init__ = init
    producer_type.deletes = property(
        lambda self: self.counter.value, lambda self, value: setattr(self.counter, "value", value)
    )


def chosen(cases):
    """The first cases of each function, apart those that need damaged arguments."""
    seen = collections.Counter()
    for case in cases:
        names = {step["call"] for step in case["steps"]}
        if not case.get("abi") and any(seen[name] < CASES for name in names):
            seen.update(names)
            yield case


def run_corpus(failures):
    from dlbridge import abi

    wrap_abi(abi, failures)
    sys.path.insert(0, str(HERE))
    import corpus_world
    import test_conformance

    count_in_c(corpus_world.World, corpus_world.Producer, failures.failing)
    cases = list(chosen(test_conformance.cases()))
    for case in cases:
        run_case(failures, test_conformance, case)
    send_tensor(failures, abi)
    if failures.source == PYTHON:
        check_python_memory(
            failures, lambda: [run_case(failures, test_conformance, c) for c in cases]
        )


def run_case(failures, runner, case):
    held = failures.failing.live()
    _, problems = runner.run_case(case)
    if not problems and failures.failing.live() != held:
        # What is made once for the process is not made a second time.
        held = failures.failing.live()
        _, problems = runner.run_case(case)
        if failures.failing.live() != held:
            problems.append(f"the library kept {held} and keeps {failures.failing.live()}")
    failures.problems += [f"{case['name']}: {problem}" for problem in problems]


def send_tensor(failures, abi):
    """The functions that the corpus has no cases for: messages to other processes."""
    files = len(os.listdir("/proc/self/fd"))
    tensor = abi.allocate([3], (2, 32, 1), options=abi.AllocateOption.SHAREABLE)
    message, fds = abi.ipc_export(tensor)
    abi.release_versioned(abi.ipc_import(message, fds))
    abi.release_versioned(tensor)
    for fd in fds:
        os.close(fd)
    if len(os.listdir("/proc/self/fd")) != files:
        failures.problems.append("file descriptors are left")


def check_python_memory(failures, run):
    """A failed call that kept a block would keep as many blocks as there were failures."""
    counts = []
    for _ in range(3):
        before = failures.count
        run()
        gc.collect()
        counts.append(sys.getallocatedblocks())
        failed = failures.count - before
    if counts[2] - counts[1] > failed // 20 + 50:
        failures.problems.append(f"blocks of Python grow: {counts}, {failed} failures each")


# ------------------------------------------------------------------------------------- the package


class Lender:
    """A producer whose capsules were made before."""

    def __init__(self, made):
        self.made = made
        self.capsule = made.capsule(destructor=False)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        return self.capsule


def package_calls(tensor):
    """Calls that leave their tensor as it was; their results are dropped."""
    import dlbridge
    from dlbridge import _core

    owner = bytearray(24)
    address = _core.buffer_address(owner)
    exported = tensor.__dlpack__(max_version=(1, 3))
    return {
        **{
            name: functools.partial(getattr, tensor, name)
            for name in ("shape", "strides", "dtype", "dtype_triple", "device", "version", "flags",
                         "nbytes", "size", "data_ptr", "managed_ptr")
        },
        "repr": functools.partial(repr, tensor),
        "legacy": tensor.__dlpack__,
        "versioned": functools.partial(tensor.__dlpack__, max_version=(1, 3)),
        "copied": functools.partial(tensor.__dlpack__, max_version=(1, 3), copy=True),
        "to a device": functools.partial(tensor.__dlpack__, dl_device=(1, 0)),
        "view": functools.partial(tensor.view, (3, 2), (1, 3), 0),
        "copy": tensor.copy,
        "memoryview": functools.partial(memoryview, tensor),
        "from_dlpack": functools.partial(_core.from_dlpack, tensor),
        "from_dlpack copy": functools.partial(_core.from_dlpack, tensor, copy=True),
        "from_dlpack rules": functools.partial(
            _core.from_dlpack, tensor, shape=(2, None), device="cpu", writable=True
        ),
        "from_dlpack buffer": functools.partial(_core.from_dlpack, owner),
        "wrap": functools.partial(_core.wrap, owner, address, (2, 3), "float32"),
        "wrap strided": functools.partial(
            _core.wrap, owner, address, (2, 3), (2, 32, 1), strides=(1, 2), device="cpu", nbytes=24
        ),
        "export": functools.partial(_core.export, tensor),
        "export versioned": functools.partial(_core.export, tensor, (1, 3)),
        "to": functools.partial(dlbridge.to, tensor, _core.Tensor),
        "adapt": functools.partial(dlbridge.adapt, tensor),
        "to_type": functools.partial(_core.to_type, tensor, _core.Tensor),
        "capsule_kind": functools.partial(_core.capsule_kind, exported),
        "exchange_versions": functools.partial(_core.exchange_versions, _core.Tensor),
        "device": tensor.__dlpack_device__,
    }  # fmt: skip


def count_deletes(made, failing):
    """The counter of a struct, whose deleter needs no Python any more."""
    counter = ctypes.c_int64(0)
    deleters = dict(zip(("DLManagedTensor", "DLManagedTensorVersioned"), failing.deleters()))
    made.struct.deleter = type(made.struct.deleter)(deleters[type(made.struct).__name__])
    made.struct.manager_ctx = ctypes.addressof(counter)
    made.parts.append(counter)
    return counter


def import_from(failures, make, producers):
    """from_dlpack of capsules: a failed call leaves the capsule to its owner, or takes the tensor
    and releases it."""
    from dlbridge import _core

    while True:
        made = make()
        counter = count_deletes(made, failures.failing)
        lender = Lender(made)
        name = producers.get_name(lender.capsule)
        nth = import_from.__dict__.setdefault("nth", 0) + 1
        import_from.nth = nth
        how = (failures.source, nth, failures.forever)
        try:
            tensor = failures.failing.call(*how, _core.from_dlpack, (lender,), {"writable": True})
        except MemoryError:
            failures.count += failures.failing.failed()[0]
            taken = producers.get_name(lender.capsule) != name
            if counter.value != taken:
                failures.problems.append(f"from_dlpack {nth}: {taken=}, {counter.value} deletes")
            made.forget()
            continue
        if failures.failing.failed()[0] == 0:
            import_from.nth = 0
            return tensor, counter, made
        del tensor
        made.forget()


def use_tensor(failures, tensor, counter):
    references = sys.getrefcount(tensor)
    failures.untouched = lambda: counter.value
    calls = package_calls(tensor)
    if failures.source == PYTHON:
        del calls["repr"]  # CPython keeps the arguments of a function in Python for want of a frame
    for name, call in calls.items():
        called = functools.partial(call)
        called.__name__ = name
        called()  # an import that fails may keep a lock of CPython's import system
        before = sys.getrefcount(tensor)
        failures.call(called)
        if counter.value != 0 or sys.getrefcount(tensor) != before:
            failures.problems.append(f"{name}: the tensor was released, or is kept by more objects")
    del call, called
    calls.clear()
    gc.collect()
    if sys.getrefcount(tensor) != references:
        failures.problems.append("the tensor has another number of references")
    failures.untouched = lambda: None


def run_package(failures):
    sys.path.insert(0, str(HERE))
    import producers

    def run():
        for make in (producers.versioned, producers.legacy):
            tensor, counter, made = import_from(failures, make, producers)
            use_tensor(failures, tensor, counter)
            del tensor
            gc.collect()
            if counter.value != 1:
                failures.problems.append(f"the deleter ran {counter.value} times")
            made.forget()

    run()
    held = failures.failing.live()
    run()
    if failures.failing.live() != held:
        failures.problems.append(f"the library kept {held} and keeps {failures.failing.live()}")
    check_python_memory(failures, run)


def main(path, what, source, how):
    os.environ["DLBRIDGE_LIBCUDA"] = "/nonexistent/libcuda.so"
    failing = load(path)
    failures = Failures(failing, SOURCES[source], how == "good")
    # Before the hooks, which need the loaded library. Calls of _core import the others: without
    # memory, CPython's import may search for ever.
    import dlbridge.abi  # noqa: F401
    from dlbridge import _producers, _views  # noqa: F401

    if failing.install() < 10:
        failures.problems.append("the library's calls are not seen")
    {"corpus": run_corpus, "package": run_package}[what](failures)
    print(json.dumps({"failures": failures.count, "problems": failures.problems[:20]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
