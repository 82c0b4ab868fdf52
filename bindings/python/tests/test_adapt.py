# SPDX-License-Identifier: Apache-2.0
"""adapt: each consumer gets a tensor that it accepts; losses and copies need permission."""

import gc
import itertools
import sys
import threading
import types
import weakref

import dlbridge
import numpy as np
import pytest
from dlbridge import _consumers, _core
from dlbridge._adapt import Considered, Options, Rejection

BASE = np.arange(12, dtype=np.float32).reshape(3, 4)
NUMPY_ASKS = {"max_version": (1, 0), "dl_device": None, "copy": None}
ALIGNED = _consumers.Consumer("", "it", needs_alignment=64)
# The module and the keywords with which each framework calls __dlpack__.
ASKS = {
    "torch": ("torch.utils.dlpack", {"max_version": (1, 0)}),
    "jax": ("jax._src.dlpack", {"stream": None}),
    "paddle": ("paddle.utils.dlpack", {"max_version": (1, 2)}),
    "onnxruntime": ("onnxruntime.capi.onnxruntime_inference_collection", {}),
    "dpnp": ("dpnp.dpnp_iface_arraycreation", NUMPY_ASKS),
}


def frozen(array=BASE):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def ask(adapted, name):
    """Calls __dlpack__ like a framework: from a module of its name, with its keywords."""
    module, keywords = ASKS[name]
    space = {"__name__": module}
    exec("def ask(array, keywords):\n    return array.__dlpack__(**keywords)", space)
    return space["ask"](adapted, keywords)


def look(capsule, writable=None):
    return _core.from_dlpack(capsule, writable=writable)


def address(array):
    return array.__array_interface__["data"][0]


def test_numpy_accepts_it():
    array = BASE[::-1, ::-1]
    adapted = dlbridge.adapt(array)
    taken = np.from_dlpack(adapted)
    assert address(taken) == address(array)
    np.testing.assert_array_equal(taken, array)
    assert not adapted.copied
    assert adapted.report == ()


@pytest.mark.parametrize("name", ASKS)
def test_a_plain_array_is_exported_unchanged_to_every_consumer(name):
    array = BASE.copy()
    adapted = dlbridge.adapt(array)
    tensor = look(ask(adapted, name), writable=True)
    assert tensor.data_ptr == address(array)
    assert not tensor.readonly
    assert not adapted.copied


@pytest.mark.parametrize("name", ["torch", "paddle", "onnxruntime"])
def test_a_consumer_that_ignores_read_only_is_rejected(name):
    adapted = dlbridge.adapt(frozen())
    with pytest.raises(BufferError, match=r"read-only.*readonly='copy'.*readonly='drop'") as error:
        ask(adapted, name)
    assert error.value.remedy == {"readonly": "copy"}
    assert str(adapted.rejection) == str(error.value)
    assert adapted.rejection.remedy == error.value.remedy


def test_a_rejection_does_not_keep_the_array():
    """Reference counts end the array: there is no cycle through the frames of a traceback."""

    class Array(np.ndarray):
        pass

    array = frozen().view(Array)
    gone = weakref.ref(array)
    adapted = dlbridge.adapt(array)
    del array
    gc.collect()
    gc.disable()
    try:
        try:
            ask(adapted, "torch")
        except Rejection:
            del adapted
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("array", "name", "words"),
    [
        (frozen(), "torch", "readonly='copy'"),
        (np.arange(3.0)[::-1], "paddle", "strides='compact'"),
    ],
)
def test_a_remedy_beside_copy_false_permits_the_copy(array, name, words):
    options = {"consumer": name, "copy": False}
    with pytest.raises(dlbridge.Rejection, match=f"{words}.*copy=None") as error:
        dlbridge.adapt(array, **options).__dlpack__()
    options.update(error.value.remedy)
    assert look(dlbridge.adapt(array, **options).__dlpack__()).shape == array.shape


def test_a_legacy_capsule_cannot_keep_read_only():
    adapted = dlbridge.adapt(frozen(), readonly="keep")
    with pytest.raises(dlbridge.Rejection, match=r"max_version=\(1, 0\)") as error:
        adapted.__dlpack__()
    assert "readonly='copy' or readonly='drop' allows it" in str(error.value)
    assert look(adapted.__dlpack__(max_version=(1, 0))).readonly
    assert dlbridge.adapt(frozen(), **error.value.remedy).__dlpack__() is not None


@pytest.mark.parametrize("name", ["torch", "paddle", "onnxruntime"])
def test_a_copy_is_writable(name):
    array = frozen()
    adapted = dlbridge.adapt(array, readonly="copy")
    tensor = look(ask(adapted, name), writable=True)
    assert tensor.data_ptr != address(array)
    assert not tensor.readonly
    assert adapted.copied
    assert "read-only" in adapted.report[0]


@pytest.mark.parametrize("name", ["torch", "paddle", "onnxruntime"])
def test_the_caller_may_drop_read_only(name):
    array = frozen()
    adapted = dlbridge.adapt(array, readonly="drop")
    tensor = look(ask(adapted, name))
    assert tensor.data_ptr == address(array)
    assert not adapted.copied
    assert "READ_ONLY dropped" in adapted.report[0]


@pytest.mark.parametrize("asked", [None, (1, 0)])
def test_dropped_read_only_is_dropped_for_dlbridge_too(asked):
    array = frozen()
    adapted = dlbridge.adapt(array, readonly="drop")
    tensor = dlbridge.from_dlpack(adapted.__dlpack__(max_version=asked), writable=True)
    assert (tensor.data_ptr, tensor.readonly) == (address(array), False)


def test_the_array_is_judged_when_adapt_is_called():
    array = BASE.copy()
    before = dlbridge.adapt(array)
    array.flags.writeable = False
    assert not look(before.__dlpack__(max_version=(1, 0))).readonly
    with pytest.raises(dlbridge.Rejection):
        dlbridge.adapt(array).__dlpack__()
    assert "call adapt again" in dlbridge.adapt.__doc__


def test_an_immutable_consumer_needs_no_permission():
    array = frozen()
    adapted = dlbridge.adapt(array, consumer="jax")
    assert look(adapted.__dlpack__(stream=None)).data_ptr == address(array)
    assert "never writes" in adapted.report[0]
    capsule = dlbridge.adapt(array, consumer="tensorflow").__dlpack__()
    assert _core.capsule_kind(capsule) == "legacy"


def test_a_consumer_that_supports_read_only_gets_the_flag():
    assert not np.from_dlpack(dlbridge.adapt(frozen())).flags.writeable
    adapted = dlbridge.adapt(frozen(), consumer="dpnp")
    assert look(adapted.__dlpack__(max_version=(1, 0))).readonly


def test_a_frame_is_no_permission():
    """The caller may be a function that forwards the request of another consumer."""
    for name in ASKS:
        with pytest.raises(BufferError, match="known to keep READ_ONLY"):
            ask(dlbridge.adapt(frozen()), name)


def test_an_unknown_consumer_gets_read_only_memory_only_if_the_caller_says_so():
    adapted = dlbridge.adapt(frozen())
    for version in ((1, 0), (1, 3), (0, 8), None):
        with pytest.raises(BufferError, match="found an unknown consumer"):
            adapted.__dlpack__(max_version=version)
    array = frozen()
    kept = dlbridge.adapt(array, readonly="keep")
    tensor = look(kept.__dlpack__(max_version=(1, 0)))
    assert tensor.readonly
    assert tensor.data_ptr == address(array)
    assert kept.report == ("READ_ONLY kept: the caller states that the consumer keeps it",)
    with pytest.raises(BufferError, match="legacy capsule"):
        kept.__dlpack__()
    with pytest.raises(BufferError, match="legacy capsule"):
        kept.__dlpack__(max_version=(0, 8))


def test_an_unknown_consumer_gets_no_code_newer_than_its_version():
    tensor = _core.wrap(BASE, address(BASE), (3, 4), "float8_e5m2")
    adapted = dlbridge.adapt(tensor)
    for version in (None, (0, 8), (1, 0)):
        with pytest.raises(BufferError):
            adapted.__dlpack__(max_version=version)
    assert look(adapted.__dlpack__(max_version=(1, 1))).dtype == "float8_e5m2"


def test_a_known_consumer_gets_the_codes_that_it_supports():
    tensor = _core.wrap(BASE, address(BASE), (3, 4), "float8_e5m2")
    for name in ("torch", "jax", "paddle"):
        assert look(ask(dlbridge.adapt(tensor), name)).dtype == "float8_e5m2"


@pytest.mark.parametrize(
    ("name", "rejected"),
    [
        ("torch", {"reversed"}),
        ("paddle", {"reversed"}),
        ("jax", {"reversed", "broadcast", "stepped"}),
        ("onnxruntime", {"reversed", "broadcast", "stepped", "transposed"}),
    ],
)
def test_strides_that_a_consumer_rejects_need_permission(name, rejected):
    views = {
        "plain": BASE,
        "reversed": BASE[::-1, ::-1],
        "broadcast": _core.from_dlpack(BASE.copy()).view((3, 4), (0, 1)),
        "stepped": BASE[:, ::2],
        "transposed": BASE.T,
        "empty": BASE[:0, ::-1],
    }
    for kind, view in views.items():
        adapted = dlbridge.adapt(view)
        if kind not in rejected:
            ask(adapted, name)
            assert not adapted.copied, kind
            continue
        with pytest.raises(BufferError, match="strides='compact' allows it") as error:
            ask(adapted, name)
        assert error.value.remedy == {"strides": "compact"}
        consented = dlbridge.adapt(view, strides="compact")
        tensor = look(ask(consented, name))
        np.testing.assert_array_equal(np.from_dlpack(tensor), np.from_dlpack(dlbridge.adapt(view)))
        assert consented.copied


def test_one_copy_serves_two_reasons():
    adapted = dlbridge.adapt(frozen()[::-1], strides="compact", readonly="copy")
    tensor = look(ask(adapted, "torch"), writable=True)
    assert not tensor.readonly
    assert len(adapted.report) == 1


@pytest.mark.parametrize("strides", ["keep", "compact"])
def test_negative_strides_that_lead_nowhere(strides):
    """PyArrow rejects them, although an axis of one index needs no stride; nothing is copied."""
    one = np.ones((1, 3), np.float32)[::-1]
    empty = _core.wrap(None, 0, (0, 2), "float32", strides=(-1, -1))
    for array, expected in ((one, (3, 1)), (one.T, (1, 1)), (empty, (2, 1)), (BASE.T, (1, 4))):
        adapted = dlbridge.adapt(array, consumer="pyarrow", strides=strides)
        tensor = _core.from_dlpack(adapted.__dlpack__(max_version=(1, 0)))
        assert (tensor.shape, tensor.strides, tensor.readonly) == (array.shape, expected, False)
        assert tensor.data_ptr == adapted.address and not adapted.copied
        report = dlbridge.inspect(array)
        assert (report.consumers["pyarrow"] is None) == (min(array.strides) >= 0)
        assert report.consumers["torch"] is None and report.bridged["pyarrow"] is None
    with pytest.raises(dlbridge.Rejection, match="strides='compact'"):
        dlbridge.adapt(BASE[::-1], consumer="pyarrow").__dlpack__(max_version=(1, 0))


def test_pyarrow_takes_an_axis_of_one_index_with_a_negative_stride():
    pyarrow = pytest.importorskip("pyarrow")
    array = np.ones((1, 3), np.float32)[::-1]
    for options in ({}, {"strides": "compact"}):
        assert dlbridge.to(array, pyarrow, **options).is_contiguous


def test_byte_offset_is_folded():
    array = BASE.copy()
    tensor = _core.wrap(array, address(array), (2, 4), "float32", byte_offset=16)
    arrived = look(ask(dlbridge.adapt(tensor), "onnxruntime"))
    assert arrived.byte_offset == 0
    assert arrived.data_ptr == address(array) + 16


def test_a_dtype_that_the_consumer_lacks_is_rejected_by_name():
    with pytest.raises(BufferError, match="ONNX Runtime has, found complex64") as error:
        ask(dlbridge.adapt(BASE.astype(np.complex64)), "onnxruntime")
    assert error.value.remedy == {}


def imported_onnxruntime(monkeypatch, keeps):
    """A module onnxruntime is imported, whose OrtValue imports bool and float8, or neither."""

    class OrtValue:
        @staticmethod
        def from_dlpack(capsule):
            if not keeps:
                raise RuntimeError("Unsupported code 6")
            return dlbridge.from_dlpack(capsule)

    module = types.ModuleType("onnxruntime")
    module.OrtValue = OrtValue
    monkeypatch.setitem(sys.modules, "onnxruntime", module)


@pytest.mark.parametrize(("keeps", "arrives"), [(False, "uint8"), (True, "bool")])
def test_onnxruntime_gets_bool_as_it_reads_it(monkeypatch, keeps, arrives):
    imported_onnxruntime(monkeypatch, keeps)
    adapted = dlbridge.adapt(BASE > 3)
    assert look(ask(adapted, "onnxruntime")).dtype == arrives
    assert adapted.dtype == "bool"
    assert bool(adapted.report) != keeps


@pytest.mark.parametrize("dtype", sorted(_consumers.ONNXRUNTIME_NEWER - {"bool"}))
def test_onnxruntime_gets_the_dtypes_that_it_imports(monkeypatch, dtype):
    memory = np.zeros(4, np.uint8)
    tensor = _core.wrap(memory, address(memory), (4,), dtype)
    imported_onnxruntime(monkeypatch, True)
    assert look(ask(dlbridge.adapt(tensor), "onnxruntime")).dtype == dtype
    imported_onnxruntime(monkeypatch, False)
    with pytest.raises(BufferError, match=f"ONNX Runtime has, found {dtype}"):
        ask(dlbridge.adapt(tensor), "onnxruntime")


@pytest.mark.parametrize(("version", "keeps"), [("1.31.1", False), ("1.32.0", True), ("2.0", True)])
def test_onnxruntime_that_is_not_imported_is_judged_by_its_version(monkeypatch, version, keeps):
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    monkeypatch.setattr(_consumers.importlib.metadata, "version", lambda _: version)
    assert look(ask(dlbridge.adapt(BASE > 3), "onnxruntime")).dtype == (
        "bool" if keeps else "uint8"
    )
    consumer = _consumers.by_name("onnxruntime")
    assert _consumers.takes_dtype(consumer, "float8_e5m2") == keeps
    assert not _consumers.takes_dtype(consumer, "complex64")


def test_the_installed_onnxruntime_keeps_bool():
    make = pytest.importorskip("onnxruntime").OrtValue
    array = np.array([True, False])
    for source in (array, make.ortvalue_from_numpy(array), dlbridge.from_dlpack(array)):
        value = dlbridge.to(source, "onnxruntime")
        assert value.data_type() == "tensor(bool)"
        assert value.data_ptr() == address(array)
    consumer = _consumers.by_name("onnxruntime")
    for dtype in sorted(_consumers.ONNXRUNTIME_NEWER - {"bool"}):
        memory = np.zeros(4, np.uint8)
        tensor = _core.wrap(memory, address(memory), (4,), dtype)
        if _consumers.takes_dtype(consumer, dtype):
            value = dlbridge.to(tensor, "onnxruntime")
            assert dlbridge.to(value, dlbridge.Tensor).dtype == dtype
        else:
            with pytest.raises(BufferError, match=f"ONNX Runtime has, found {dtype}"):
                dlbridge.to(tensor, "onnxruntime")


def test_requested_copies():
    array = BASE.copy()
    adapted = dlbridge.adapt(array, copy=True)
    assert address(np.from_dlpack(adapted)) != address(array)
    assert adapted.copied
    plain = dlbridge.adapt(array)
    assert look(plain.__dlpack__(copy=True)).data_ptr != address(array)
    assert plain.copied
    np.from_dlpack(plain)
    assert not plain.copied, "the report describes the last export"


def test_forbidden_copies():
    with pytest.raises(BufferError, match="copy=False"):
        dlbridge.adapt(frozen(), readonly="copy", consumer="torch").__dlpack__(
            max_version=(1, 0), copy=False
        )
    for option in ({"readonly": "copy"}, {"strides": "compact"}, {"lazy": "resolve"}):
        with pytest.raises(ValueError, match="found both"):
            dlbridge.adapt(BASE, copy=False, **option)
    assert address(np.from_dlpack(dlbridge.adapt(BASE, copy=False))) == address(BASE)


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ({"readonly": "maybe"}, ValueError),
        ({"strides": None}, ValueError),
        ({"grad": "drop"}, ValueError),
        ({"lazy": 1}, ValueError),
        ({"copy": "yes"}, TypeError),
        ({"copy": BASE}, TypeError),
        ({"copy": 1}, TypeError),
        ({"readonly": BASE}, ValueError),
        ({"dtype": ["keep"]}, ValueError),
        ({"consumer": "mxnet"}, ValueError),
        ({"consumer": []}, TypeError),
        ({"consumer": BASE}, TypeError),
        ({"device": "nowhere"}, ValueError),
        ({"device": 3.5}, TypeError),
        ({"device": (1.9, 0)}, TypeError),
        ({"device": (1, 0.0)}, TypeError),
        ({"device": BASE}, TypeError),
        ({"unknown": 1}, TypeError),
    ],
)
def test_bad_options(option, error):
    name = next(iter(option))
    with pytest.raises(error, match=f"expected .*{name}|unexpected .*{name}|nowhere") as caught:
        dlbridge.adapt(BASE, **option)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options", [5, None, BASE, {"copy": True}])
def test_the_class_is_not_for_callers(options):
    with pytest.raises(TypeError, match=r"made by dlbridge.adapt\(x\), found options"):
        dlbridge.Adapted(BASE, options)


def test_bad_requests():
    adapted = dlbridge.adapt(BASE)
    with pytest.raises(TypeError, match="two integers"):
        adapted.__dlpack__(max_version="1.0")
    with pytest.raises(ValueError, match="at least"):
        adapted.__dlpack__(max_version=(-1, 0))
    with pytest.raises(TypeError, match="two integers"):
        adapted.__dlpack__(max_version=(1.5, 0))
    for copy in ("x", 1, BASE):
        with pytest.raises(TypeError, match="expected copy to be None, True or False, found"):
            adapted.__dlpack__(copy=copy)
        with pytest.raises(TypeError, match="expected copy to be None, True or False, found"):
            adapted.__array__(copy=copy)
    with pytest.raises(TypeError, match="a device as text or"):
        adapted.__dlpack__(dl_device=(1.9, 0))
    with pytest.raises(ValueError, match="stream=None"):
        adapted.__dlpack__(stream=2)
    with pytest.raises(BufferError, match="device"):
        adapted.__dlpack__(max_version=(1, 0), dl_device=(14, 0))
    with pytest.raises(TypeError):
        dlbridge.adapt(3)


def test_errors_of_the_producer_pass_through():
    class Raises:
        def __dlpack__(self, **keywords):
            raise ZeroDivisionError("of the producer")

        def __dlpack_device__(self):
            return (1, 0)

    with pytest.raises(ZeroDivisionError, match="of the producer"):
        dlbridge.adapt(Raises())


class Lazy:
    """A torch tensor as adapt uses it; its memory does not show its lazy operations."""

    __module__ = "torch.fake"
    requires_grad = False

    def __init__(self, array, conjugated=False, negated=False, requires_grad=False):
        self.array, self.requires_grad = array, requires_grad
        self.conjugated, self.negated = conjugated, negated

    def is_conj(self):
        return self.conjugated

    def is_neg(self):
        return self.negated

    def resolve_conj(self):
        return Lazy(self.array.conj(), negated=self.negated)

    def resolve_neg(self):
        return Lazy(-self.array if self.negated else self.array)

    def detach(self):
        return Lazy(self.array, self.conjugated, self.negated)

    def __dlpack__(self, **keywords):
        assert not (self.requires_grad or self.conjugated or self.negated)
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)


def test_lazy_operations_need_permission():
    values = np.arange(3) + 1j * np.arange(3)
    for marks in ({"conjugated": True}, {"negated": True}):
        with pytest.raises(BufferError, match=f"{[*marks][0]} on reading.*lazy='resolve'"):
            dlbridge.adapt(Lazy(values, **marks))
    adapted = dlbridge.adapt(Lazy(values, conjugated=True, negated=True), lazy="resolve")
    np.testing.assert_array_equal(np.from_dlpack(adapted), -values.conj())
    assert adapted.copied
    with pytest.raises(BufferError, match="copy=False"):
        adapted.__dlpack__(max_version=(1, 0), copy=False)


def test_gradients_need_permission():
    values = np.arange(3.0)
    with pytest.raises(BufferError, match="grad='detach'"):
        dlbridge.adapt(Lazy(values, requires_grad=True))
    taken = np.from_dlpack(dlbridge.adapt(Lazy(values, requires_grad=True), grad="detach"))
    assert address(taken) == address(values)


def test_no_reference_is_kept():
    array = BASE.copy()
    watched = weakref.ref(array)
    adapted = dlbridge.adapt(array)
    taken = np.from_dlpack(adapted)
    for name in ASKS:
        ask(adapted, name)
    del adapted, array
    assert watched() is not None
    np.testing.assert_array_equal(taken, BASE)
    del taken
    gc.collect()
    assert watched() is None


def test_an_adapted_capsule_serves_many_requests():
    array = BASE.copy()
    adapted = dlbridge.adapt(array.__dlpack__(max_version=(1, 0)))
    for _ in range(2):
        assert address(np.from_dlpack(adapted)) == address(array)


def test_a_call_without_a_python_frame():
    """C calls without a Python frame below; the search must not leave the stack."""
    adapted = dlbridge.adapt(BASE)
    asked = []
    thread = threading.Thread(target=lambda: asked.append(adapted.__dlpack__(max_version=(1, 0))))
    thread.start()
    thread.join()
    assert look(asked[0]).shape == (3, 4)
    assert _consumers.by_asking(10_000, None) is _consumers.STRANGER


def test_rejections_keep_no_reference():
    array = frozen()
    before = sys.getrefcount(array)
    for _ in range(10):
        with pytest.raises(Rejection):
            ask(dlbridge.adapt(array), "torch")
    gc.collect()
    assert sys.getrefcount(array) == before


def test_every_consumer_is_found_by_its_modules():
    for name in _consumers.CONSUMERS:
        assert _consumers.by_module(name).name == name
        assert _consumers.by_module(f"{name}.inner.part").name == name
    assert _consumers.by_module("torchvision") is None
    assert _consumers.by_module(None) is None


def test_takes_returns_the_reason():
    def export(**changes):
        plain = {
            "legacy": True,
            "versioned": True,
            "keywords": True,
            "readonly": False,
            "dtype": "float32",
            "device": (1, 0),
            "shape": [3, 4],
            "strides": [4, 1],
            "byte_offset": 0,
            "alignment": 64,
        }
        return types.SimpleNamespace(**{**plain, **changes})

    for name, consumer in _consumers.CONSUMERS.items():
        device = (2, 0) if name == "cupy" else (1, 0)
        assert consumer.takes(export(device=device)) is None
        assert consumer.takes(export(device=device, strides=None)) is None
    tensorflow = _consumers.by_name("tensorflow")
    assert "multiple of 64" in tensorflow.takes(export(alignment=32))
    assert tensorflow.takes(export(alignment=32, shape=[3, 0])) is None
    said = {
        "torch": export(readonly=True),
        "jax": export(strides=[0, 1]),
        "tensorflow": export(byte_offset=16),
        "numpy": export(dtype="bfloat16"),
        "paddle": export(device=(14, 0)),
        "tvm_ffi": export(legacy=False),
        "pyarrow": export(versioned=False),
        "cupy": export(),
    }
    for name, broken in said.items():
        assert _consumers.CONSUMERS[name].takes(broken), name


def test_strides_by_kind():
    """Compared with a walk over all positions: a compact array has each place once, no gaps."""
    for shape in itertools.product((1, 2, 3), repeat=2):
        for strides in itertools.product((-2, -1, 0, 1, 2, 3), repeat=2):
            places = [
                i * strides[0] + j * strides[1] for i in range(shape[0]) for j in range(shape[1])
            ]
            permuted = sorted(places) == list(range(len(places)))
            compact = places == list(range(len(places)))
            for name, expected in (("jax", permuted), ("tensorflow", compact)):
                consumer = _consumers.by_name(name)
                found = _consumers.takes_strides(consumer, 1, shape, strides)
                assert found == expected, (name, shape, strides)


def aligned_and_beside():
    """Two arrays of 16 float32: at a multiple of 64, and 4 bytes past it."""
    block = np.zeros(192, np.uint8)
    start = -address(block) % 64
    return (block[start + past : start + past + 64].view(np.float32) for past in (0, 4))


def test_a_consumer_that_copies_memory_that_is_not_aligned():
    """copy=False rejects what JAX would copy silently."""
    aligned, beside = aligned_and_beside()
    assert ask(dlbridge.adapt(aligned, consumer="jax", copy=False), "jax") is not None
    with pytest.raises(Rejection, match="not a multiple of 64; copy=None allows it") as caught:
        ask(dlbridge.adapt(beside, consumer="jax", copy=False), "jax")
    assert caught.value.remedy == {"copy": None}
    assert ask(dlbridge.adapt(beside, consumer="jax"), "jax") is not None
    assert ask(dlbridge.adapt(beside[:0], consumer="jax", copy=False), "jax") is not None


def test_a_consumer_that_cannot_compute_with_memory_that_is_not_aligned():
    """TensorFlow imports it and ends the process later, so it gets a copy."""
    aligned, beside = aligned_and_beside()
    beside[:] = range(16)
    adapted = dlbridge.adapt(aligned, consumer="tensorflow", copy=False)
    assert look(adapted.__dlpack__()).data_ptr == address(aligned)
    adapted = dlbridge.adapt(beside, consumer="tensorflow")
    copy = look(adapted.__dlpack__())
    assert copy.data_ptr % 64 == 0
    assert memoryview(copy).tolist() == list(range(16))
    assert adapted.copied
    assert "multiple of 64" in adapted.report[0]
    shared = dlbridge.adapt(beside[:0], consumer="tensorflow", copy=False)
    assert look(shared.__dlpack__()).size == 0
    with pytest.raises(Rejection, match="ends the process.*; copy=None allows it") as caught:
        dlbridge.adapt(beside, consumer="tensorflow", copy=False).__dlpack__()
    assert caught.value.remedy == {"copy": None}


def test_one_copy_aligns_and_protects():
    """A read-only array at an odd address, for a consumer that forgets READ_ONLY."""
    _, beside = aligned_and_beside()
    beside.flags.writeable = False
    adapted = dlbridge.adapt(beside, consumer="tensorflow")
    copy = look(adapted.__dlpack__(), writable=True)
    assert copy.data_ptr % 64 == 0
    assert len(adapted.report) == 1


def test_inspect_assumes_a_copy_and_makes_none():
    _, beside = aligned_and_beside()
    report = dlbridge.inspect(beside)
    assert "multiple of 64" in report.consumers["tensorflow"]
    assert report.bridged["tensorflow"] is None
    beside.flags.writeable = False
    empty = np.zeros(0, np.float32)
    huge = np.lib.stride_tricks.as_strided(beside, (1 << 44,), (0,))  # too large for a copy
    considered = Considered(_core.from_dlpack(huge), Options())
    assert considered.export_for(ALIGNED, None, None, None, None) is not None
    assert considered.copied
    assert dlbridge.inspect(empty).consumers["tensorflow"] is None


# ------------------------------------------------------------------------------- padded elements


def padded(**named):
    """int4 elements 0 to 5, each in a byte of its own."""
    codes = np.arange(6, dtype=np.uint8)
    return _core.wrap(codes, codes.ctypes.data, (6,), "int4", tensor_flags=4, **named)


@pytest.mark.parametrize("request_", [{}, {"max_version": (0, 8)}, {"max_version": (1, 0)}])
def test_requests_that_cannot_record_padding(request_):
    with pytest.raises(dlbridge.Rejection, match="expected packed elements") as caught:
        dlbridge.adapt(padded()).__dlpack__(**request_)
    adapted = dlbridge.adapt(padded(), **caught.value.remedy)
    tensor = dlbridge.from_dlpack(adapted.__dlpack__(**request_))
    assert tensor.flags & 4 == 0
    assert bytes(dlbridge.to_buffer(tensor)) == b"\x10\x32\x54"
    assert adapted.report[-1].startswith("packed: padded int4")
    copied = dlbridge.adapt(padded()).__dlpack__(copy=True, **request_)
    assert bytes(dlbridge.to_buffer(dlbridge.from_dlpack(copied))) == b"\x10\x32\x54"
    once = dlbridge.adapt(padded(readonly=True), readonly="copy").__dlpack__(**request_)
    assert bytes(dlbridge.to_buffer(dlbridge.from_dlpack(once))) == b"\x10\x32\x54"


def test_padding_is_kept_where_the_capsule_records_it():
    for options in ({}, {"copy": True}):
        capsule = dlbridge.adapt(padded(), **options).__dlpack__(max_version=(1, 1))
        assert dlbridge.from_dlpack(capsule).flags & 4
    whole = np.zeros(3, np.uint8)
    tensor = _core.wrap(whole, whole.ctypes.data, (3,), "uint8", tensor_flags=4)
    assert dlbridge.from_dlpack(dlbridge.adapt(tensor).__dlpack__()).dtype == "uint8"


def test_padding_on_another_device():
    there = _core.wrap(None, 4096, (6,), "int4", tensor_flags=4, device="cuda")
    with pytest.raises(dlbridge.Rejection, match="expected packed elements") as caught:
        dlbridge.adapt(there).__dlpack__()
    assert caught.value.remedy == {}


def test_packing_needs_a_tensor():
    with pytest.raises(TypeError, match="expected a dlbridge.Tensor"):
        _core.packed(3)
    there = _core.wrap(None, 4096, (6,), "int4", tensor_flags=4, device="cuda")
    with pytest.raises((BufferError, RuntimeError)):
        _core.packed(there)
