# SPDX-License-Identifier: Apache-2.0
"""Typed arguments of C++ extensions (dlbridge/python.hpp, pybind11.hpp, nanobind.hpp): extensions
that are built against the installed package behave as the headers state."""

from __future__ import annotations

import array
import ctypes
import gc
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import threading

import dlbridge
import numpy as np
import pytest
from producers import READ_ONLY, LegacyProducer, Producer, legacy, tabled_type, versioned

pytestmark = [pytest.mark.usefixtures("balanced"), pytest.mark.compiled]

SOURCES = pathlib.Path(__file__).with_name("typed")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]


def compiler():
    """The compiler command for C++17; headers of other projects are system headers."""
    found = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    headers = sysconfig.get_path("include")
    if found is None or not pathlib.Path(headers, "Python.h").exists():
        pytest.skip("no C++ compiler, or no headers of CPython")
    return [found, "-std=c++17", "-isystem", headers, "-isystem", dlbridge.get_include()]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def build(folder, name, *options):
    """Builds and imports typed_NAME of NAME.cc."""
    objects = [pathlib.Path(option) for option in options if str(option).endswith(".o")]
    options = [option for option in options if not str(option).endswith(".o")]
    file = folder / f"typed_{name}.so"
    flags = ["-shared", "-fPIC", "-O1", "-pthread", "-fvisibility=hidden", *STRICT, *options]
    link = [f"-L{dlbridge.get_library_dir()}", "-ldlbridge"]
    link += [f"-Wl,-rpath,{dlbridge.get_library_dir()}", "-o", file]
    run(*compiler(), *flags, SOURCES / f"{name}.cc", *objects, *link)
    spec = importlib.util.spec_from_file_location(f"typed_{name}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return build(tmp_path_factory.mktemp("plain"), "plain")


@pytest.fixture(scope="module")
def with_pybind11(tmp_path_factory):
    pybind11 = pytest.importorskip("pybind11")
    headers = ["-isystem", pybind11.get_include()]
    return build(tmp_path_factory.mktemp("pybind11"), "pybind11", *headers)


@pytest.fixture(scope="module")
def with_nanobind(tmp_path_factory):
    nanobind = pytest.importorskip("nanobind")
    folder = tmp_path_factory.mktemp("nanobind")
    include = pathlib.Path(nanobind.include_dir())
    source = pathlib.Path(nanobind.source_dir(), "nb_combined.cpp")
    robin_map = include.parent / "ext/robin_map/include"
    flags = ["-fPIC", "-O0", "-fvisibility=hidden", "-isystem", robin_map, "-isystem", include]
    run(*compiler(), *flags, "-c", source, "-o", folder / "nanobind.o")
    return build(folder, "nanobind", "-isystem", include, folder / "nanobind.o")


@pytest.fixture(params=["plain", "with_pybind11", "with_nanobind"])
def any_module(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["with_pybind11", "with_nanobind"])
def casting(request):
    """A module whose functions have casters."""
    return request.getfixturevalue(request.param)


def rejected(function, *arguments):
    with pytest.raises(BufferError) as caught:
        function(*arguments)
    return caught.value


ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


# ------------------------------------------------------------------------------ for every module


@pytest.mark.parametrize("kind", [Producer, LegacyProducer, tabled_type()])
def test_it_imports_each_kind_of_producer_and_releases_it(any_module, kind):
    producer = kind()
    assert any_module.sum(producer) == 15
    assert producer.deleted == len(producer.made) == 1


def test_it_imports_arrays_capsules_and_buffers(any_module):
    assert any_module.sum(ROWS) == 15
    assert any_module.sum(ROWS[::-1]) == any_module.sum(np.asfortranarray(ROWS)) == 15
    assert any_module.sum(dlbridge.from_dlpack(ROWS)) == 15
    made = versioned()
    assert any_module.sum(made.capsule()) == 15
    assert made.deleted == 1
    flat = array.array("f", range(6))
    assert any_module.sum(memoryview(flat).cast("B").cast("f", (2, 3))) == 15
    assert any_module.sum(np.empty((0, 3), np.float32)) == 0


def test_an_error_names_rule_expected_and_found(any_module):
    dtype = rejected(any_module.sum, ROWS.astype(np.float64))
    assert (dtype.status, dtype.rule, dtype.axis) == ("POLICY", "DTYPE_REJECTED", None)
    assert "expected float32, found float64" in str(dtype)
    shape = rejected(any_module.sum, ROWS.T)
    assert (shape.rule, shape.axis) == ("SHAPE_MISMATCH", 1)
    assert "expected 3, found 2" in str(shape)
    assert rejected(any_module.sum, ROWS[0]).rule == "NDIM_LIMIT"
    unaligned = np.frombuffer(bytearray(28), np.uint8)[2:26].view(np.float32).reshape(2, 3)
    assert rejected(any_module.sum, unaligned).rule == "ALIGNMENT"


def test_a_rejected_capsule_still_owns_its_tensor(any_module):
    made = versioned(shape=(3, 2))
    capsule = made.capsule()
    assert rejected(any_module.sum, capsule).rule == "SHAPE_MISMATCH"
    assert made.deleted == 0
    assert dlbridge.from_dlpack(capsule).shape == (3, 2)


@pytest.mark.parametrize("other", [None, 3, "text", [[1.0, 2.0, 3.0]], object(), ROWS.dtype])
def test_an_object_that_is_no_array_is_a_type_error(any_module, other):
    with pytest.raises(TypeError):
        any_module.sum(other)


def test_only_a_writable_tensor_can_be_written_to(any_module):
    mine = ROWS.copy()
    any_module.negate(mine)
    assert (mine == -ROWS).all()
    mine.flags.writeable = False
    assert any_module.sum(mine) == -15  # const T takes it
    assert rejected(any_module.negate, mine).rule == "NOT_WRITABLE"
    unknown = LegacyProducer()
    assert rejected(any_module.negate, unknown).rule == "NOT_WRITABLE"
    buffer = memoryview(bytes(24)).cast("f", (2, 3))
    assert rejected(any_module.negate, buffer).rule == "NOT_WRITABLE"
    overlapping = np.lib.stride_tricks.as_strided(mine.copy(), (2, 3), (4, 4), writeable=True)
    assert rejected(any_module.negate, overlapping).rule == "SELF_OVERLAP"


def test_one_of_several_dtypes(any_module):
    for dtype in (np.float32, np.float64, np.int64):
        found = any_module.numbers(np.arange(5).astype(dtype)[::2])
        assert (found[0] if isinstance(found, tuple) else found) == 6
    error = rejected(any_module.numbers, np.arange(5, dtype=np.int32))
    assert error.rule == "DTYPE_REJECTED"
    assert "float32, float64 or int64" in str(error)
    raw = np.frombuffer(bytearray(28), np.uint8)[4:]
    half_aligned = raw[raw.ctypes.data % 8 == 0 and 4 or 0 :][:16]
    assert half_aligned.ctypes.data % 8 == 4
    assert rejected(any_module.numbers, half_aligned.view(np.float64)).rule == "ALIGNMENT"
    assert any_module.numbers(half_aligned.view(np.float32)) is not None


def test_an_index_out_of_its_extent_is_an_error(any_module):
    assert any_module.element(ROWS, 1, 2) == 5
    with pytest.raises(ValueError, match="axis 1: expected below 3, found 3") as caught:
        any_module.element(ROWS, 0, 3)
    assert (caught.value.status, caught.value.axis) == ("BOUNDS", 1)


class Failing:
    """Raises an exception of its own, from all that a consumer may call first."""

    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **_):
        raise self.error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, RuntimeError, BufferError])
def test_the_producers_exception_passes_through(any_module, kind):
    with pytest.raises(kind, match="of the producer"):
        any_module.sum(Failing(kind("of the producer")))


def test_a_release_without_the_gil(any_module):
    producer = Producer()
    any_module.release(producer)
    assert producer.deleted == 1
    owner = memoryview(bytearray(24)).cast("f", (2, 3))
    any_module.release(owner)
    owner.release()  # nothing exports it any more


def test_threads_may_import_at_once(any_module):
    results = []

    def work():
        results.extend(any_module.sum(ROWS) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [15] * 800


def test_a_result_is_a_tensor_that_keeps_its_flags(any_module):
    for given in (ROWS.copy(), ROWS[::-1]):
        given.flags.writeable = False
        for name in ("forward", "pass_on"):
            made = getattr(any_module, name)(given)
            assert type(made) is dlbridge.Tensor
            assert made.readonly
            taken = np.from_dlpack(made)
            assert (taken == given).all()
            assert not taken.flags.writeable
    producer = Producer()
    made = any_module.forward(producer)
    assert producer.deleted == 0
    del made
    gc.collect()
    assert producer.deleted == 1


# --------------------------------------------------------------------------- the C API of CPython


def test_demands_of_order_and_device(plain):
    assert plain.rows(ROWS)
    assert plain.columns(np.asfortranarray(ROWS))
    assert rejected(plain.rows, np.asfortranarray(ROWS)).rule == "CONTIGUITY"
    assert rejected(plain.columns, ROWS).rule == "CONTIGUITY"
    assert rejected(plain.on_cuda, ROWS).rule == "DEVICE_REJECTED"
    assert plain.on_cuda(versioned(device=(2, 0)).capsule())
    assert rejected(plain.sum, versioned(device=(2, 0)).capsule()).rule == "DEVICE_REJECTED"


def test_vouching_for_a_legacy_tensor(plain):
    made = legacy()
    plain.negate_vouched(made.capsule())
    assert made.parts[0][5] == -5
    assert (
        rejected(plain.negate_vouched, versioned(flags=READ_ONLY).capsule()).rule == "NOT_WRITABLE"
    )


def test_the_remedy_is_one_of_python(plain):
    frozen = ROWS.copy()
    frozen.flags.writeable = False
    for take, x in ((plain.negate, frozen), (plain.negate, np.broadcast_to(frozen[0], (2, 3)))):
        text = str(rejected(take, x))
        assert text.endswith("; pass a copy, dlbridge.from_dlpack(x, copy=True)")
        take(dlbridge.from_dlpack(x, copy=True))


@pytest.mark.usefixtures("registry")
def test_arrays_of_a_registered_immutable_producer(plain):
    array = type("Array", (Producer,), {"__module__": "mine"})()
    plain.negate(array)
    dlbridge.register_producer("mine", immutable=True)
    for negate in (plain.negate, plain.negate_vouched):
        error = rejected(negate, array)
        assert error.rule == "NOT_WRITABLE"
        assert "memory is immutable; use copy=True of dlbridge.from_dlpack" in str(error)
        assert array.made[-1].parts[0][5] == 5, "the array was written to"
    assert plain.sum(array) == 15
    plain.negate(dlbridge.from_dlpack(array, copy=True))


def test_scalars_and_types_of_several_elements(plain):
    assert plain.value(np.array(-7)) == -7
    assert plain.numbers(np.arange(3.0)) == (3, 1, 3, 3)
    assert plain.numbers(np.array([], np.int64)) == (0, 2, 0, 0)


def test_buffers(plain):
    assert plain.byte_count(b"12345") == plain.byte_count(bytearray(5)) == 5
    assert plain.byte_count(memoryview(b"123456")[::2]) == 3
    assert plain.numbers(array.array("d", [1, 2]))[:2] == (3, 1)
    assert plain.numbers(memoryview(array.array("q", [1, 2, 3]))[::-2])[0] == 4
    assert rejected(plain.numbers, array.array("i", [1])).rule == "DTYPE_REJECTED"
    assert rejected(plain.byte_count, (ctypes.c_uint16.__ctype_be__ * 3)()).rule == "DTYPE_REJECTED"

    class Pair(ctypes.Structure):
        _fields_ = [("first", ctypes.c_uint8), ("second", ctypes.c_uint8)]

    assert rejected(plain.byte_count, (Pair * 3)()).rule == "DTYPE_REJECTED"


def test_an_arg_keeps_the_memory_alive(plain):
    producer = Producer()
    assert plain.keep(producer) == 15
    assert producer.deleted == 0
    producer.made[0].parts[0][0] = 100
    assert plain.sum_kept() == 115
    other = Producer()
    plain.keep(other)
    assert (producer.deleted, other.deleted) == (1, 0)
    plain.drop()
    assert (other.deleted, plain.sum_kept()) == (1, 0)


def test_an_arg_may_outlive_the_interpreter(plain):
    """As in a static variable, which is destroyed after the interpreter."""
    code = f"""
import importlib.util, numpy
spec = importlib.util.spec_from_file_location("typed_plain", {plain.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
assert module.keep(numpy.ones((2, 3), numpy.float32)) == 6
"""
    run(sys.executable, "-c", code)


def test_the_functions_exception_survives_the_release(plain):
    """The deleter is Python code here, which must not run while an exception is set."""
    producer = Producer()
    with pytest.raises(KeyError, match="of the function"):
        plain.fails(producer)
    assert producer.deleted == 1


def test_exceptions_of_cxx_become_python_exceptions(plain):
    with pytest.raises(RuntimeError, match="of the author"):
        plain.throws()
    with pytest.raises(SystemError, match="found NULL"):
        plain.import_null()


def test_an_interpreter_has_its_own_state(plain):
    interpreters = pytest.importorskip(
        "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    )
    text = f"""
import array, importlib.util
spec = importlib.util.spec_from_file_location("typed_plain", {plain.__file__!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
assert module.numbers(array.array("d", [1, 2]))[0] == 3
class Producer:
    def __dlpack__(self, **_):
        raise BufferError("mine")
try:
    module.sum(Producer())
    raise SystemError
except BufferError:
    pass
"""
    for _ in range(3):
        created = interpreters.create()
        failed = interpreters.run_string(created, text)
        interpreters.destroy(created)
        assert failed is None
    assert plain.sum(ROWS) == 15


@pytest.mark.parametrize("limited", ["0x030c0000", "0x030d0000"])
def test_it_compiles_with_the_limited_api(limited):
    if sys.version_info < (3, int(limited[4:6], 16)):
        pytest.skip("this CPython is older than that limited API")
    syntax = [*STRICT, "-fsyntax-only", f"-DPy_LIMITED_API={limited}"]
    run(*compiler(), *syntax, SOURCES / "plain.cc")


@pytest.mark.parametrize("standard", ["17", "20"])
def test_the_headers_have_no_warnings(standard, tmp_path):
    """Optimised, since compilers warn of more then. -Wold-style-cast is left out, since
    cpython_api.h is C."""
    command = [part for part in compiler() if part != "-std=c++17"]
    command[command.index(dlbridge.get_include()) - 1] = "-I"
    flags = [*STRICT, "-Wshadow", "-Wnon-virtual-dtor", f"-std=c++{standard}", "-O2", "-c"]
    run(*command, *flags, SOURCES / "plain.cc", "-o", tmp_path / "plain.o")


MISUSES = re.findall(r"MISUSE == (\d+)\n// says: (.*)\n", (SOURCES / "plain.cc").read_text())


@pytest.mark.parametrize(("number", "reason"), MISUSES)
def test_the_compiler_rejects_misuse(number, reason):
    command = [*compiler(), "-fsyntax-only", f"-DMISUSE={number}", str(SOURCES / "plain.cc")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert re.search(f"error: .*({reason})", done.stderr), done.stderr


def test_every_misuse_is_listed():
    assert [number for number, _ in MISUSES] == [str(n) for n in range(1, 10)]


# -------------------------------------------------------------------------- pybind11 and nanobind


def test_overloads_are_chosen_by_dtype(casting):
    assert casting.which(ROWS) == "float"
    assert casting.which(ROWS.astype(np.float64)) == "double"
    assert casting.which("text") == "str"
    assert casting.which(1.5) == casting.which(1) == "number"
    error = rejected(casting.which, ROWS.astype(np.int32))  # that of the first overload
    assert (error.rule, "expected float32" in str(error)) == ("DTYPE_REJECTED", True)
    with pytest.raises(KeyboardInterrupt):
        casting.which(Failing(KeyboardInterrupt()))
    made = versioned(dtype=(2, 64, 1), shape=(1, 3))
    assert casting.which(made.capsule()) == "double"  # the first overload leaves the capsule
    assert made.deleted == 1


def test_an_optional_argument(casting):
    assert casting.maybe(None) == -1
    assert casting.maybe(ROWS) == 15
    with pytest.raises((BufferError, TypeError)):  # nanobind's casters do not pass errors on
        casting.maybe(ROWS.T)


def test_a_list_of_arguments(with_nanobind):
    assert with_nanobind.count([ROWS, ROWS]) == 2
    with pytest.raises(TypeError, match="incompatible function arguments"):
        with_nanobind.count([ROWS, ROWS.T])


def test_the_signature_states_the_demands(casting):
    assert 'typing.Annotated[object, "float32[-1, 3]"]' in casting.sum.__doc__
    assert 'typing.Annotated[object, "float32[-1, 3], writable"]' in casting.negate.__doc__
    assert '"float32 | float64 | int64[-1]"' in casting.numbers.__doc__
    assert "-> dlbridge.Tensor" in casting.pass_on.__doc__


def test_functions_that_release_the_gil(casting):
    for name in ("unlocked", "unlocked_copy"):
        producer = Producer()
        assert getattr(casting, name)(producer) == 15
        assert producer.deleted == 1


def test_results_that_share_and_results_without_a_tensor(casting):
    producer = Producer()
    made = casting.share(producer)
    assert (type(made), made.shape) == (dlbridge.Tensor, (2, 3))
    assert producer.deleted == 0
    with pytest.raises(ValueError, match="found an empty owner"):
        casting.empty()


def test_a_result_without_the_package(casting, monkeypatch):
    monkeypatch.setitem(sys.modules, "dlbridge", None)
    producer = Producer()
    with pytest.raises(ImportError, match="expected the Python package dlbridge"):
        casting.forward(producer)
    gc.collect()
    assert producer.deleted == 1
