# SPDX-License-Identifier: Apache-2.0
"""Handmade exchange tables: chains, broken and failing tables, types that change or die or exceed
the cache, and the guards against exports of torch's table."""

from __future__ import annotations

import gc
import sys
import weakref

import dlbridge
import producers
import pytest
from dlbridge import _core, from_dlpack
from producers import Producer, Tabled, rejected, table, table_capsule, tabled_type, versioned

pytestmark = pytest.mark.usefixtures("balanced")

# A table function int (PyObject*, ...) whose result is that of __bool__.
TRUTH = producers.address_of("PyObject_IsTrue")
MANDATORY = ["allocator", "from_object", "to_object", "stream"]
VERSION_TAGS = "abi3" not in _core.__file__  # the limited API has none


def offering(newest, name=b"dlpack_exchange_api", **attributes):
    return tabled_type(__dlpack_c_exchange_api__=table_capsule(newest, name), **attributes)


def asked_by(x):
    """Imports x; returns whether the table or __dlpack__ was called."""
    tensor = from_dlpack(x)
    assert memoryview(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (x.tabled, len(x.asked)) in ((1, 0), (0, 1))
    return "table" if x.tabled else "method"


# --- Which table is used --------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(1, 0), (1, 2), (1, 3), (1, 99)])
def test_a_table_of_major_1_is_used(version):
    kind = offering(table(version))
    assert asked_by(kind()) == "table"
    assert _core.exchange_versions(kind) == [version]


@pytest.mark.parametrize("version", [(0, 8), (2, 0), (99, 1)])
def test_a_table_of_another_major_is_not_used(version):
    """Nothing past its header is known."""
    newest = table(version, **dict.fromkeys([*MANDATORY, "lend"], 1))
    assert asked_by(offering(newest)()) == "method"


def test_the_chain_is_walked():
    oldest = table((1, 3))
    chain = table((3, 0), before=table((2, 1), before=oldest, from_object=1), from_object=1)
    kind = offering(chain)
    assert _core.exchange_versions(kind) == [(3, 0), (2, 1), (1, 3)]
    assert asked_by(kind()) == "table"


@pytest.mark.parametrize("missing", MANDATORY)
def test_a_table_without_a_mandatory_function_is_skipped(missing):
    broken = table((1, 3), **{missing: None})
    assert asked_by(offering(broken)()) == "method"
    broken = table((1, 4), before=table((1, 2)), **{missing: None})
    assert asked_by(offering(broken)()) == "table"


def test_a_cyclic_chain_ends():
    first = table((2, 0))
    second = table((2, 1), before=first)
    producers.link(first, second)
    kind = offering(first)
    assert asked_by(kind()) == "method"
    assert set(_core.exchange_versions(kind)) == {(2, 0), (2, 1)}


def test_a_long_chain_is_abandoned():
    chain = table((1, 3))
    for _ in range(100):
        chain = table((2, 0), before=chain)
    assert asked_by(offering(chain)()) == "method"


@pytest.mark.parametrize("name", [b"dlpack_exchange_api_v2", b"dltensor", None])
def test_a_capsule_of_another_name_is_ignored(name):
    kind = offering(table(), name=name)
    assert asked_by(kind()) == "method"
    assert _core.exchange_versions(kind) == []


@pytest.mark.parametrize("value", [None, 3, "table", object(), property(lambda self: None)])
def test_an_object_that_is_not_a_capsule_is_ignored(value):
    kind = tabled_type(__dlpack_c_exchange_api__=value)
    assert asked_by(kind()) == "method"
    assert _core.exchange_versions(kind) == []


def test_a_table_of_the_instance_is_ignored():
    """Only the type's table is used."""
    x = Producer()
    x.__dlpack_c_exchange_api__ = table_capsule(table(from_object=1))
    from_dlpack(x)
    assert x.asked == [{"max_version": (1, 3)}]


def test_a_requested_device_is_passed_to_the_method():
    """The table has no parameter for a device."""
    x = tabled_type()()
    from_dlpack(x, device="cpu")
    assert (x.tabled, len(x.asked)) == (0, 1)


# --- Tables that fail -----------------------------------------------------------------------------


class Rejection(Exception):
    pass


@pytest.mark.parametrize(
    "error", [Rejection("x"), BufferError("x"), KeyboardInterrupt("x"), AttributeError("x")]
)
def test_an_exception_of_a_table_passes_unchanged(error):
    def truth(self):
        raise error

    x = offering(table(from_object=TRUTH), __bool__=truth)()
    with pytest.raises(type(error)) as caught:
        from_dlpack(x)
    assert caught.value is error
    assert x.asked == []
    error.__traceback__ = None


@pytest.mark.parametrize("answer", [True, False])
def test_a_failure_without_exception_gets_one(answer):
    """The function fails without an exception, or succeeds without a tensor."""
    x = offering(table(from_object=TRUTH), __bool__=lambda self: answer)()
    with rejected(BufferError, "failed without setting an exception", status="INVALID_TENSOR"):
        from_dlpack(x)


def test_a_null_from_a_working_function_is_a_failure():
    kind = tabled_type(by_table=lambda self: None)
    with rejected(BufferError, "exchange table of .*Array.*failed", status="INVALID_TENSOR"):
        from_dlpack(kind())


def test_a_broken_tensor_of_a_table_is_released():
    for fields, rule in [
        ({"ndim": -1}, "NDIM_NEGATIVE"),
        ({"version": (2, 0)}, "VERSION_MAJOR"),
        ({"version": (0, 9), "shape": None}, "VERSION_MAJOR"),
        ({"data": None}, "DATA_NULL"),
    ]:
        x = tabled_type()(**fields)
        with pytest.raises(BufferError) as caught:
            from_dlpack(x)
        assert caught.value.rule == rule
        assert x.deleted == 1
        assert x.asked == []


# --- Types that change, and types that are many ---------------------------------------------------


def test_a_table_that_is_replaced_later():
    """With version tags the new table is used at once. Without them the old one stays in use; its
    capsule is kept."""
    kind = tabled_type()
    assert asked_by(kind()) == "table"
    kind.__dlpack_c_exchange_api__ = table_capsule(table((2, 0)))
    gc.collect()
    assert asked_by(kind()) == ("method" if VERSION_TAGS else "table")


def test_a_table_that_is_removed_later():
    kind = tabled_type()
    assert asked_by(kind()) == "table"
    del kind.__dlpack_c_exchange_api__
    assert asked_by(kind()) == ("method" if VERSION_TAGS else "table")


def test_a_table_that_is_offered_later():
    kind = type("Late", (Tabled,), {})
    assert asked_by(kind()) == "method"
    kind.__dlpack_c_exchange_api__ = table_capsule(table())
    assert asked_by(kind()) == "table"


def test_a_base_that_offers_its_table_later():
    base = type("Base", (Tabled,), {})
    kind = type("Derived", (base,), {})
    assert asked_by(kind()) == "method"
    base.__dlpack_c_exchange_api__ = table_capsule(table())
    assert asked_by(kind()) == "table"


def test_a_subclass_inherits_the_table():
    assert asked_by(type("Derived", (tabled_type(),), {})()) == "table"


def test_a_subclass_that_redefines_dlpack_is_called():
    """The subclass may have properties that the table ignores."""

    def dlpack(self, **keywords):
        return Producer.__dlpack__(self, **keywords)

    kind = type("Derived", (tabled_type(),), {"__dlpack__": dlpack})
    assert asked_by(kind()) == "method"
    below = type("Below", (kind,), {})
    assert asked_by(below()) == "method"
    again = type("Again", (kind,), {"__dlpack_c_exchange_api__": table_capsule(table())})
    assert asked_by(again()) == "table"


def test_more_types_than_the_cache_holds():
    kinds = [tabled_type(f"Array{i}") for i in range(20)]
    plain = [type(f"Plain{i}", (Producer,), {}) for i in range(20)]
    for _ in range(3):
        for kind, other in zip(kinds, plain):
            assert asked_by(kind()) == "table"
            assert from_dlpack(other()).shape == (2, 3)


def test_types_may_die():
    """The cache keeps a few types and evicts older ones."""
    gone = []
    for i in range(40):
        kind = tabled_type(f"Array{i}")
        gone.append(weakref.ref(kind))
        assert asked_by(kind()) == "table"
    del kind
    gc.collect()
    assert sum(one() is not None for one in gone) <= 8


def test_a_look_up_may_trigger_others():
    """Code of a metaclass runs during a look-up and fills the cache with other types: the table of
    the type must still be used."""
    busy = []

    class Meta(type):
        def __getattr__(cls, name):
            if name == "__dlpack_c_exchange_api__" and not busy:
                busy.append(name)
                for i in range(9):
                    assert asked_by(tabled_type(f"Other{i}")()) == "table"
                busy.clear()
            raise AttributeError(name)

    class Plain(Producer, metaclass=Meta):
        tabled = 0

    for _ in range(3):
        assert asked_by(Plain()) == "method"


def test_references_of_types_are_exact():
    kind = tabled_type()
    capsule = kind.__dlpack_c_exchange_api__
    from_dlpack(kind())
    before = sys.getrefcount(kind), sys.getrefcount(capsule)
    for _ in range(1000):
        from_dlpack(kind())
    assert (sys.getrefcount(kind), sys.getrefcount(capsule)) == before


# --- Guards ---------------------------------------------------------------------------------------


def torch_tensor(**answers):
    """A type that the guard takes for torch's."""
    said = {"requires_grad": False, "is_conj": False, "is_neg": False, **answers}
    attributes = {"__module__": "torch", "requires_grad": said["requires_grad"]}
    for name in ("is_conj", "is_neg"):
        attributes[name] = lambda self, name=name: said[name]
    return attributes


def test_a_fake_tensor_of_torch_is_rejected():
    kind = tabled_type("FakeTensor", __module__="torch._subclasses.fake_tensor")
    for x in (kind(), type("Derived", (kind,), {})()):
        with rejected(BufferError, "fake tensor", status="INVALID_TENSOR", rule="DATA_NULL"):
            from_dlpack(x)
        assert (x.tabled, x.asked) == (0, [])


def run_guard(capability, **fields):
    """In a new process, since the descriptors of the first type are kept for ever."""
    program = f"""
import producers, sys, types
from dlbridge import from_dlpack
sys.modules["torch"] = types.SimpleNamespace(int4="torch.int4")
class Tensor(producers.Tabled):
    __dlpack_c_exchange_api__ = producers.table_capsule(producers.table())
    requires_grad = property(lambda self: {capability.get("requires_grad", False)})
    def is_conj(self): return {capability.get("is_conj", False)}
    def is_neg(self): return {capability.get("is_neg", False)}
    dtype = property(lambda self: {capability.get("dtype", "torch.int8")!r})
Tensor.__module__ = "torch"
x = Tensor(**{fields!r})
try:
    tensor = from_dlpack(x)
    print(x.tabled, len(x.asked), tensor.dtype)
    del tensor
except BufferError as error:
    print(error.status, error)
    del error
assert x.deleted == len(x.made), x.deleted
"""
    return producers.run(program)


def test_torch_is_guarded_where_its_table_would_not_reject():
    assert run_guard({}) == "1 0 float32\n"
    assert "found one that requires a gradient" in run_guard({"requires_grad": True})
    complex64 = {"dtype": (5, 64, 1), "shape": (3,), "strides": (1,)}
    assert run_guard({}, **complex64) == "1 0 complex64\n"
    assert "conjugated on reading" in run_guard({"is_conj": True}, **complex64)
    assert run_guard({"is_neg": True}).startswith("UNREPRESENTABLE expected a tensor whose memory")
    int8 = {"dtype": (0, 8, 1), "shape": (3,), "strides": (1,)}
    assert run_guard({}, **int8) == "1 0 int8\n"
    assert "found one of 1 to 7 bits" in run_guard({"dtype": "torch.int4"}, **int8)


# --- To a type ------------------------------------------------------------------------------------


def test_to_type_passes_the_tensor():
    kind = tabled_type()
    made = versioned()
    got = _core.to_type(made.capsule(), kind)
    assert type(got) is producers.Received
    struct = producers.Versioned.from_address(got.tensor)
    assert (struct.version.major, struct.dl_tensor.data) == (1, made.struct.dl_tensor.data)
    assert made.deleted == 0
    producers.release(got.tensor)
    assert made.deleted == 1


def test_to_type_without_a_table_is_none():
    made = versioned()
    capsule = made.capsule()
    assert _core.to_type(capsule, Producer) is None
    assert _core.to_type(capsule, int) is None
    assert producers.get_name(capsule) == producers.VERSIONED


def test_to_type_rejects_a_read_only_tensor():
    for fields in ({"flags": producers.READ_ONLY}, {}):
        x = Producer(**fields) if fields else producers.LegacyProducer()
        with pytest.raises(BufferError, match="read-only"):
            _core.to_type(x, tabled_type())
        assert x.deleted == 1
    made = versioned(flags=producers.READ_ONLY)
    got = _core.to_type(made.capsule(), tabled_type(), drop_read_only=True)
    producers.release(got.tensor)


@pytest.mark.parametrize("answer", [True, False])
def test_to_type_that_fails_releases_the_tensor(answer):
    """The function gets the tensor and fails or returns nothing; the tensor is released once."""
    made = versioned()
    kind = offering(table(to_object=producers.address_of("Py_IsInitialized")))
    if not answer:
        kind = offering(table(to_object=producers.address_of("PyErr_BadArgument")))
    capsule = made.capsule()
    with pytest.raises((BufferError, TypeError)):
        _core.to_type(capsule, kind)
    assert made.deleted == 1


def test_to_type_of_dlbridge():
    made = versioned()
    tensor = _core.to_type(made.capsule(), dlbridge.Tensor)
    assert type(tensor) is dlbridge.Tensor
    assert memoryview(tensor).tolist() == [[0, 1, 2], [3, 4, 5]]
    other = _core.to_type(tensor, dlbridge.Tensor)
    del tensor
    assert made.deleted == 0
    del other
    assert made.deleted == 1
