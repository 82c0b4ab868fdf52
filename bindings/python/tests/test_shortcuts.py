# SPDX-License-Identifier: Apache-2.0
"""The common cases of adapt and to in C: the same results as those of Python code, and no case of
theirs that needs a decision."""

import sys
import types

import dlbridge
import numpy as np
import pytest
from dlbridge import _adapt, _core, _to
from producers import CUDA, Producer

SLOTS = ("_options", "copied", "report", "rejection", "shape", "dtype", "device")
NUMPY_DTYPES = ("?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d", "F", "D")


@pytest.fixture
def level():
    """Restores the level of the shortcuts."""
    before = _core.shortcuts()
    yield
    _core.shortcuts(before)


@pytest.fixture
def no_python(monkeypatch):
    """Python code is not entered."""

    def entered(*arguments, **options):
        raise AssertionError("Python code was entered")

    dlbridge.adapt(np.zeros(2))  # loads the modules
    np.from_dlpack(dlbridge.adapt(np.zeros(2)))  # recognises NumPy
    monkeypatch.setattr(_adapt, "adapt", entered)
    monkeypatch.setattr(_to, "to", entered)
    monkeypatch.setattr(_adapt.Adapted, "_export", entered)


def cases():
    array = np.arange(24, dtype="f4").reshape(2, 3, 4)
    yield from (array, array[:, ::-1], array[0, 1], array[:0], array.T, np.array(5))
    for code in NUMPY_DTYPES:
        yield np.zeros(3, code)
    yield dlbridge.from_dlpack(array)


@pytest.mark.parametrize("array", list(cases()))
def test_common_arrays_need_no_python_code(array, no_python):
    made = np.from_dlpack(dlbridge.adapt(array))
    source = np.from_dlpack(array)
    assert np.shares_memory(made, source) or source.size == 0
    for target in ("numpy", np, np.ndarray):
        again = dlbridge.to(array, target)
        assert type(again) is np.ndarray
        assert again.dtype == source.dtype and again.strides == made.strides
        assert np.shares_memory(again, source) or source.size == 0


def test_arrays_of_cupy_need_no_python_code(level, monkeypatch):
    """A stand-in for CuPy, whose arrays are on a GPU."""
    kind = type("ndarray", (Producer,), {})
    made = types.ModuleType("cupy")
    made.ndarray = kind
    monkeypatch.setitem(sys.modules, "cupy", made)

    def entered(*arguments, **options):
        raise AssertionError("Python code was entered")

    monkeypatch.setattr(_to, "to", entered)
    array = kind(data=4096, device=(CUDA, 0))
    tensor = dlbridge.to(array, _core.Tensor)
    assert (tensor.device, tensor.data_ptr) == ("cuda:0", 4096)
    assert array.asked == [{"max_version": (1, 3)}]
    _core.shortcuts(1)  # as after facts about a framework were registered
    with pytest.raises(AssertionError, match="Python code"):
        dlbridge.to(array, _core.Tensor)


@pytest.mark.parametrize("array", list(cases()))
def test_adapt_makes_what_the_constructor_makes(array, level):
    short = dlbridge.adapt(array)
    _core.shortcuts(0)
    long = dlbridge.adapt(array)
    assert type(short) is type(long) is _adapt.Adapted
    for name in SLOTS:
        assert getattr(short, name) == getattr(long, name), name
    assert short._array is long._array is array
    assert not short._resolved and not long._resolved


def test_an_export_resets_the_record():
    array = np.zeros(3)
    array.flags.writeable = False
    adapted = dlbridge.adapt(array)
    with pytest.raises(dlbridge.Rejection):
        adapted.__dlpack__()
    assert adapted.rejection is not None
    np.from_dlpack(adapted)
    assert adapted.rejection is None

    plain = dlbridge.adapt(np.zeros(3))
    np.from_dlpack(plain)
    plain.rejection, plain.copied, plain.report = ValueError(), True, ("copied",)
    np.from_dlpack(plain)
    assert (plain.rejection, plain.copied, plain.report) == (None, False, ())


def frozen():
    array = np.zeros(3)
    array.flags.writeable = False
    return array


class Subclass(np.ndarray):
    pass


UNCOMMON = {
    "read-only": frozen(),
    "subclass": np.zeros(3).view(Subclass),
    "masked": np.ma.masked_array([1, 2], [True, False]),
    "foreign order": np.zeros(3, ">f4"),
    "objects": np.array([object()]),
    "read-only tensor": dlbridge.from_dlpack(np.zeros(3), writable=False),
    "bfloat16": _core.wrap(None, 0, (0,), "bfloat16"),
    "another": "text",
}


@pytest.mark.parametrize("name", UNCOMMON)
@pytest.mark.parametrize("target", ["numpy", np.ndarray, _core.Tensor])
def test_other_arrays_get_the_same_answer(name, target, level):
    def answer(call):
        try:
            found = call()
        except Exception as error:
            return type(error), str(error)
        readonly = found.readonly if isinstance(found, _core.Tensor) else not found.flags.writeable
        return type(found), str(found.dtype), readonly

    for call in (
        lambda: dlbridge.to(UNCOMMON[name], target),
        lambda: np.from_dlpack(dlbridge.adapt(UNCOMMON[name])),
    ):
        _core.shortcuts(2)
        short = answer(call)
        _core.shortcuts(0)
        assert short == answer(call)


def test_a_module_that_only_has_the_name_is_not_the_framework(monkeypatch):
    """Targets are looked up in each call."""
    fake = types.ModuleType("numpy")
    fake.from_dlpack = lambda tensor: ("fake", tensor)
    array = np.zeros(3)
    monkeypatch.setitem(sys.modules, "numpy", fake)
    assert dlbridge.to(array, "numpy")[0] == "fake"
    monkeypatch.undo()
    assert type(dlbridge.to(array, "numpy")) is np.ndarray


def test_registered_facts_end_the_shortcuts(level, monkeypatch):
    for module, names in (
        (dlbridge._consumers, ("CONSUMERS", "_PACKAGES", "_by_name_of_module")),
        (dlbridge._producers, ("PRODUCERS", "_PACKAGES", "_by_name_of_module")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name))
    _core.shortcuts(2)
    dlbridge.register_consumer("unrelated")
    assert _core.shortcuts() == 1
    dlbridge.register_producer("numpy", immutable=True, replace=True)
    assert _core.shortcuts() == 0


def test_an_exception_that_is_no_rejection_passes(monkeypatch):
    def interrupted(tensor):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "from_dlpack", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dlbridge.to(np.zeros(3), "numpy")


def test_a_released_tensor_is_an_error():
    tensor = dlbridge.from_dlpack(np.zeros(3))
    adapted = dlbridge.adapt(tensor)
    np.from_dlpack(adapted)
    tensor.release_after(None)
    for call in (
        lambda: np.from_dlpack(adapted),
        lambda: dlbridge.to(tensor, "numpy"),
        lambda: tensor.__dlpack__(max_version=(1, 0)),
    ):
        with pytest.raises(ValueError, match="release_after"):
            call()


@pytest.mark.parametrize("attribute", ["_tensor", "_options", "report"])
def test_a_damaged_object_is_no_crash(attribute):
    adapted = dlbridge.adapt(np.zeros(3))
    delattr(adapted, attribute)
    try:
        np.from_dlpack(adapted)
    except (AttributeError, AssertionError):
        assert attribute != "report"


def test_share_adapted_checks_the_class():
    class Larger(_core.Exporter):
        __slots__ = ("more",)

    for wrong in (int, Larger, 3):
        with pytest.raises(TypeError, match="expected a class below Exporter"):
            _core.share_adapted(wrong, None)


def test_cycles_through_the_object_are_collected():
    import gc
    import weakref

    class Owner:
        pass

    owner = Owner()
    adapted = dlbridge.adapt(np.zeros(3))
    adapted.report, owner.adapted = (owner,), adapted
    seen = weakref.ref(owner)
    del owner, adapted
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("version", [(1, 0), (1, 1), (1, 3), (2, 0), (True, 0)])
def test_capsules_are_at_most_of_the_requested_version(version):
    tensor = dlbridge.from_dlpack(np.zeros(3))
    for _ in range(2):
        found = dlbridge.from_dlpack(tensor.__dlpack__(max_version=version))
        assert found.shape == (3,)


def test_a_version_that_is_too_large_is_an_error():
    tensor = dlbridge.from_dlpack(np.zeros(3))
    with pytest.raises(ValueError, match="max_version"):
        tensor.__dlpack__(max_version=(1, 2**40))
