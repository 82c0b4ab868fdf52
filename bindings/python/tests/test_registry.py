# SPDX-License-Identifier: Apache-2.0
"""register_consumer and register_producer: checked facts that to, adapt and inspect use."""

import sys
import threading
import types

import dlbridge
import numpy as np
import producers
import pytest
from dlbridge import _consumers, _core, _doctor, _producers

pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture
def mine(monkeypatch):
    """A framework: a consumer that keeps a tensor, and a producer of versioned capsules."""
    module = types.ModuleType("mine")
    space = {"__name__": "mine.io", "keep": _core.from_dlpack}
    exec("def load(x):\n    return keep(x.__dlpack__(max_version=(1, 0)))", space)
    module.load = space["load"]

    class Array:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return (1, 0)

    Array.__module__ = "mine.arrays"
    module.Array = Array
    monkeypatch.setitem(sys.modules, "mine", module)
    return module


def frozen():
    array = np.arange(3, dtype=np.float32)
    array.flags.writeable = False
    return array


def test_without_facts_a_consumer_is_unknown(mine):
    with pytest.raises(ValueError, match="expected a t"):
        dlbridge.to(frozen(), "mine")


def test_a_consumer_that_forgets_read_only(mine):
    dlbridge.register_consumer("mine", title="Mine", importer="load", max_version=(1, 0))
    with pytest.raises(dlbridge.Rejection, match="Mine ignores the flag.*readonly='copy'"):
        dlbridge.to(frozen(), "mine")
    assert not dlbridge.to(frozen(), mine, readonly="copy").readonly
    with pytest.raises(BufferError, match="Mine"):
        mine.load(dlbridge.adapt(frozen()))
    report = dlbridge.inspect(frozen())
    assert "writable" in report.consumers["mine"]
    assert "readonly='copy'" in report.bridged["mine"]
    assert "mine" in _doctor.names()


def test_a_consumer_that_keeps_it(mine):
    dlbridge.register_consumer("mine", importer="load", max_version=(1, 0), keeps_read_only=True)
    array = frozen()
    taken = dlbridge.to(array, "mine")
    assert taken.readonly
    assert taken.data_ptr == array.__array_interface__["data"][0]
    assert dlbridge.inspect(array).bridged["mine"] is None


def test_facts_about_layout_dtypes_devices_and_values(mine):
    dlbridge.register_consumer(
        "mine",
        importer="load",
        max_version=(1, 0),
        strides="compact",
        dtypes=["float32", "int64", "int32"],
        devices=["cpu"],
        narrows={"int64": "int32"},
        keeps_by="mine.keep_wide()",
    )
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(dlbridge.Rejection, match="strides='compact'"):
        dlbridge.to(plain.T, "mine")
    with pytest.raises(dlbridge.Rejection, match="a dtype that mine has, found uint8"):
        dlbridge.to(plain.astype(np.uint8), "mine")
    with pytest.raises(dlbridge.Rejection, match=r"mine.keep_wide\(\) makes it keep int64"):
        dlbridge.to(plain.astype(np.int64), "mine")
    there = _core.wrap(None, 4096, (3,), "float32", device="cuda")
    with pytest.raises(dlbridge.Rejection, match="device='cpu'"):
        dlbridge.adapt(there, consumer="mine").__dlpack__(max_version=(1, 0))


def test_a_consumer_that_needs_alignment(mine):
    dlbridge.register_consumer(
        "mine", importer="load", max_version=(1, 0), keeps_read_only=True, needs_alignment=256
    )
    memory = np.zeros(512 + 8, np.uint8)
    beside = memory[-memory.ctypes.data % 256 + 8 :][:8]
    assert dlbridge.to(beside, "mine").data_ptr % 256 == 0
    with pytest.raises(dlbridge.Rejection, match="multiple of 256.*copy=None"):
        dlbridge.to(beside, "mine", copy=False)


def test_whether_it_narrows_is_asked_at_each_call(mine):
    state = {"narrows": True}
    dlbridge.register_consumer(
        "mine",
        importer="load",
        narrows={"int64": "int32"},
        narrows_now=lambda: state["narrows"],
        keeps_read_only=True,
        max_version=(1, 0),
    )
    with pytest.raises(dlbridge.Rejection, match="dtype='narrow'"):
        dlbridge.to(np.arange(3), "mine")
    state["narrows"] = False
    assert dlbridge.to(np.arange(3), "mine").dtype == "int64"


def test_an_immutable_producer(mine):
    array = mine.Array(np.arange(3, dtype=np.float32))
    assert np.from_dlpack(dlbridge.adapt(array)).flags.writeable
    dlbridge.register_producer("mine", title="Mine", immutable=True)
    assert not np.from_dlpack(dlbridge.adapt(array)).flags.writeable
    assert dlbridge.to(array, dlbridge.Tensor).readonly, "the fast path uses the facts too"
    report = dlbridge.inspect(array)
    assert report.immutable and report.framework == "mine"
    assert "readonly='copy'" in report.bridged["torch"]
    assert _doctor.hands_out("mine", "1.0").immutable


def test_from_dlpack_uses_that_fact(mine):
    array = mine.Array(np.arange(3, dtype=np.float32))
    assert not dlbridge.from_dlpack(array).readonly
    dlbridge.register_producer("mine", immutable=True)
    assert dlbridge.from_dlpack(array).readonly
    assert dlbridge.from_dlpack(array, shape=(3,)).readonly
    assert not dlbridge.from_dlpack(array, copy=True).readonly
    with pytest.raises(BufferError, match="memory is immutable; use copy=True") as caught:
        dlbridge.from_dlpack(array, writable=True)
    assert caught.value.rule == "NOT_WRITABLE"
    assert not dlbridge.from_dlpack(array.array).readonly, "of another producer"
    asked = []
    _core.share_immutable(lambda kind: asked.append(kind) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        dlbridge.from_dlpack(array)
    assert asked == [mine.Array]


def test_each_type_is_asked_once_until_the_next_registration(mine):
    asked = []
    kinds = [type(f"Array{number}", (mine.Array,), {}) for number in range(4)]
    _core.share_immutable(lambda kind: asked.append(kind) or kind is kinds[0])
    for _ in range(3):
        for kind in kinds:
            array = kind(np.arange(3, dtype=np.float32))
            assert dlbridge.from_dlpack(array).readonly == (kind is kinds[0])
    assert asked == kinds
    for number in range(20):  # more types than are remembered
        dlbridge.from_dlpack(type(f"Other{number}", (mine.Array,), {})(np.arange(3)))
    assert dlbridge.from_dlpack(kinds[0](np.arange(3))).readonly
    _core.share_immutable(None)
    assert not dlbridge.from_dlpack(kinds[0](np.arange(3))).readonly


def test_a_later_registration_may_take_the_fact_back(mine):
    array = mine.Array(np.arange(3, dtype=np.float32))
    dlbridge.register_producer("mine", immutable=True)
    assert dlbridge.from_dlpack(array).readonly
    dlbridge.register_producer("mine", replace=True)
    assert not dlbridge.from_dlpack(array).readonly


def test_a_writable_producer_of_legacy_capsules(mine):
    class Legacy(mine.Array):
        def __dlpack__(self):
            return self.array.__dlpack__()

    array = Legacy(np.arange(3, dtype=np.float32))
    assert not np.from_dlpack(dlbridge.adapt(array)).flags.writeable
    dlbridge.register_producer("mine", writable=True, versioned=False)
    assert np.from_dlpack(dlbridge.adapt(array)).flags.writeable
    read_only = mine.Array(frozen())
    assert not np.from_dlpack(dlbridge.adapt(read_only)).flags.writeable


def test_known_names_need_replace():
    for register in (dlbridge.register_consumer, dlbridge.register_producer):
        for name in ("torch", "numpy"):
            with pytest.raises(ValueError, match=f"found '{name}'; replace=True"):
                register(name)
        register("mine")
        with pytest.raises(ValueError, match="replace=True"):
            register("mine")
        register("mine", replace=True)
    before = _consumers.by_name("paddle")
    dlbridge.register_consumer("paddle", keeps_read_only=True, max_version=(1, 3), replace=True)
    assert before is not _consumers.by_name("paddle")
    assert _consumers.by_module("paddle.utils.dlpack") is _consumers.by_name("paddle")


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"title": 3}, TypeError),
        ({"importer": "a b"}, ValueError),
        ({"importer": None}, TypeError),
        ({"takes_capsules": 1}, TypeError),
        ({"max_version": "1.0"}, TypeError),
        ({"max_version": (1,)}, TypeError),
        ({"max_version": (0, 8)}, ValueError),
        ({"max_version": (1, True)}, TypeError),
        ({"keeps_read_only": None}, TypeError),
        ({"never_writes": "no"}, TypeError),
        ({"strides": "some"}, ValueError),
        ({"strides": None}, ValueError),
        ({"dtypes": "float32"}, TypeError),
        ({"dtypes": ["flout32"]}, ValueError),
        ({"dtypes": [3]}, TypeError),
        ({"devices": ["nowhere"]}, ValueError),
        ({"devices": 3}, TypeError),
        ({"alignment": 3}, ValueError),
        ({"alignment": 0}, ValueError),
        ({"alignment": "4"}, TypeError),
        ({"needs_alignment": 48}, ValueError),
        ({"needs_alignment": None}, TypeError),
        ({"narrows": ["int64"]}, TypeError),
        ({"narrows": {"int64": "wide"}}, ValueError),
        ({"narrows_now": True}, TypeError),
        ({"keeps_by": 1}, TypeError),
        ({"exchange_type": "a..b"}, ValueError),
        ({"packages": "pkg"}, TypeError),
        ({"packages": ["a.b"]}, ValueError),
        ({"replace": "yes"}, TypeError),
        ({"unknown": 1}, TypeError),
    ],
)
def test_facts_of_consumers_are_checked(facts, error):
    with pytest.raises(error):
        dlbridge.register_consumer("mine", **facts)
    assert "mine" not in _consumers.CONSUMERS


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"immutable": True, "writable": True}, ValueError),
        ({"immutable": 1}, TypeError),
        ({"versioned": None}, TypeError),
        ({"device": "nowhere"}, ValueError),
        ({"device": 1}, TypeError),
        ({"packages": [""]}, ValueError),
    ],
)
def test_facts_of_producers_are_checked(facts, error):
    with pytest.raises(error):
        dlbridge.register_producer("mine", **facts)
    assert "mine" not in _producers.PRODUCERS


@pytest.mark.parametrize("name", ["", "a.b", "1a", 3, None])
def test_names_are_checked(name):
    for register in (dlbridge.register_consumer, dlbridge.register_producer):
        with pytest.raises((TypeError, ValueError), match="expected name to be"):
            register(name)


def test_threads_may_register():
    """Each name is registered once, and none is lost."""
    taken, rejected = [], []

    def register():
        for index in range(50):
            try:
                dlbridge.register_consumer(f"mine{index}")
            except ValueError:
                rejected.append(index)
            else:
                taken.append(index)
            assert _consumers.by_module(f"mine{index}.io").name == f"mine{index}"

    threads = [threading.Thread(target=register) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(50))
    assert len(rejected) == 150


FOREIGN = """
import ctypes
import sys

api = ctypes.pythonapi
api.PyInterpreterState_Get.restype = ctypes.c_void_p
api.PyInterpreterState_GetDict.restype = ctypes.c_void_p
api.PyInterpreterState_GetDict.argtypes = [ctypes.c_void_p]
place = ctypes.c_void_p(api.PyInterpreterState_GetDict(api.PyInterpreterState_Get()))
ctypes.cast(place, ctypes.py_object).value[sys.argv[1]] = 3
try:
    import dlbridge
    dlbridge.from_dlpack(b"abc")
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize("key", ["dlbridge.consumers", "dlbridge.producers"])
def test_an_entry_of_something_else_in_the_place_of_a_list(key):
    expected = f"expected a list as '{key}' of this interpreter, found <class 'int'>\n"
    assert producers.run(FOREIGN, key) == expected
