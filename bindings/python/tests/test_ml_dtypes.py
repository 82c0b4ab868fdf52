# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays of the package ml_dtypes: each value arrives, or the array is rejected."""

import sys

import dlbridge
import numpy as np
import pytest
from dlbridge import _core

ml_dtypes = pytest.importorskip("ml_dtypes")

PADDED = 4
LEGACY = {"consumer": "tvm_ffi"}  # it knows the codes of DLPack 1.1 in legacy capsules too
FOREIGN = ">" if sys.byteorder == "little" else "<"
BITS = {
    **dict.fromkeys(("int1", "uint1"), 1),
    **dict.fromkeys(("int2", "uint2"), 2),
    **dict.fromkeys(("int4", "uint4", "float4_e2m1fn"), 4),
    **dict.fromkeys(("float6_e2m3fn", "float6_e3m2fn"), 6),
    **dict.fromkeys(("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"), 8),
    **dict.fromkeys(("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"), 8),
    "bfloat16": 16,
    "complex32": 32,
}
# The package may be older than some of them.
NAMES = [name for name in BITS if hasattr(ml_dtypes, name)]
SMALL = [name for name in NAMES if BITS[name] < 8]


def codes_of(name):
    """Every code of a dtype below 16 bits; some codes of the others."""
    bits = BITS[name]
    if bits > 8:
        return np.arange(0, 1 << 16, 251, np.uint16 if bits == 16 else np.uint32)
    return np.arange(1 << bits, dtype=np.uint8)


def every(name):
    return codes_of(name).view(getattr(ml_dtypes, name))


def codes(tensor):
    """The codes of a tensor's elements, by DLPack's rules."""
    _, bits, _ = tensor.dtype_triple
    data = memoryview(dlbridge.to_buffer(tensor)).tobytes()
    if bits >= 8:
        return np.frombuffer(data, f"u{bits // 8}").tolist()
    if tensor.flags & PADDED:
        return list(data)
    number = int.from_bytes(data, "little")
    return [number >> i * bits & (1 << bits) - 1 for i in range(tensor.size)]


def test_every_dtype_is_known():
    kinds = [kind for kind in vars(ml_dtypes).values() if isinstance(kind, type)]
    found = {kind.__name__ for kind in kinds if issubclass(kind, np.generic)}
    assert found - {"bcomplex32"} <= set(BITS)


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    array = every(name)
    expected = codes_of(name).tolist()
    tensors = {
        "from_dlpack": dlbridge.from_dlpack(array),
        "adapt": dlbridge.from_dlpack(dlbridge.adapt(array)),
        "to": dlbridge.to(array, dlbridge.Tensor),
        "portable": dlbridge.portable(array),
        "copy": dlbridge.from_dlpack(array, copy=True),
        "copy of adapt": dlbridge.from_dlpack(dlbridge.adapt(array, copy=True)),
    }
    for way, tensor in tensors.items():
        assert (tensor.dtype, tensor.shape) == (name, array.shape), way
        assert bool(tensor.flags & PADDED) == (BITS[name] < 8), way
        assert codes(tensor) == expected, way
    assert tensors["from_dlpack"].data_ptr == array.ctypes.data
    legacy = dlbridge.from_dlpack(dlbridge.adapt(array, copy=True, **LEGACY).__dlpack__())
    assert (legacy.dtype, legacy.flags & PADDED) == (name, 0)
    assert codes(legacy) == expected


@pytest.mark.parametrize("name", SMALL)
def test_padded_elements_are_never_taken_for_packed_ones(name):
    array = every(name)
    for request in ({}, {"max_version": (0, 8)}, {"max_version": (1, 0)}):
        for options in ({}, LEGACY):
            with pytest.raises(dlbridge.Rejection, match="expected packed elements") as caught:
                dlbridge.adapt(array, **options).__dlpack__(**request)
            assert caught.value.remedy == {"copy": True}
        with pytest.raises(BufferError):
            dlbridge.from_dlpack(array).__dlpack__(**request)
    adapted = dlbridge.adapt(array, copy=True, **LEGACY)
    assert codes(dlbridge.from_dlpack(adapted.__dlpack__())) == codes_of(name).tolist()
    assert adapted.report[-1].startswith(f"packed: padded {name}")
    kept = dlbridge.adapt(array).__dlpack__(max_version=(1, 1))
    assert dlbridge.from_dlpack(kept).flags & PADDED


@pytest.mark.parametrize("name", SMALL)
def test_read_only_padded_elements(name):
    array = every(name)
    array.flags.writeable = False
    adapted = dlbridge.adapt(array, readonly="copy", **LEGACY)
    assert codes(dlbridge.from_dlpack(adapted.__dlpack__())) == codes_of(name).tolist()


def test_tvm_ffi_gets_packed_elements():
    tvm_ffi = pytest.importorskip("tvm_ffi")
    array = every("float4_e2m1fn")
    with pytest.raises(dlbridge.Rejection) as caught:
        dlbridge.to(array, tvm_ffi)
    taken = dlbridge.to(array, tvm_ffi, **caught.value.remedy)
    assert codes(dlbridge.from_dlpack(taken)) == list(range(16))


@pytest.mark.parametrize("name", [name for name in NAMES if BITS[name] >= 8])
def test_numpy_gets_its_own_dtype_back(name):
    array = every(name)
    taken = dlbridge.to(array, "numpy")
    assert taken.dtype == array.dtype
    assert np.shares_memory(taken, array)
    assert taken.tobytes() == array.tobytes()


def test_numpy_does_not_get_small_elements():
    """DLPack does not define the padding, and ml_dtypes needs zeros."""
    with pytest.raises(dlbridge.Rejection, match="NumPy has, found int4"):
        dlbridge.to(every("int4"), "numpy")


def calls(array):
    return {
        "from_dlpack": lambda: dlbridge.from_dlpack(array),
        "adapt": lambda: dlbridge.adapt(array),
        "to": lambda: dlbridge.to(array, "numpy"),
        "portable": lambda: dlbridge.portable(array),
        "to_buffer": lambda: dlbridge.to_buffer(array),
    }


def test_layouts():
    array = every("bfloat16")[:240].reshape(4, 6, 10)[:, ::-2].transpose(2, 0, 1)
    tensor = dlbridge.from_dlpack(array)
    assert tensor.strides == (1, 60, -20)
    assert codes(tensor.copy()) == array.view(np.uint16).ravel().tolist()
    assert dlbridge.from_dlpack(array[:0]).shape == (0, 4, 3)


@pytest.mark.parametrize("name", ["bfloat16", "complex32"])
def test_strides_of_no_whole_elements_are_rejected(name):
    records = np.zeros(4, [("tag", "i1"), ("x", getattr(ml_dtypes, name))])
    for way, call in calls(records["x"]).items():
        with pytest.raises(BufferError, match=r"expected strides of whole elements.*copy it"):
            call()
            pytest.fail(way)
    assert dlbridge.from_dlpack(records["x"].copy()).shape == (4,)
    assert dlbridge.from_dlpack(records["x"][:1]).shape == (1,)


@pytest.mark.parametrize("name", ["bfloat16", "complex32"])
def test_the_other_byte_order_is_rejected(name):
    kind = getattr(ml_dtypes, name)
    swapped = every(name).astype(np.dtype(kind).newbyteorder(FOREIGN))
    for way, call in calls(swapped).items():
        with pytest.raises(BufferError, match=f"byte order.*{name}.*astype"):
            call()
            pytest.fail(way)
    assert dlbridge.from_dlpack(swapped.astype(kind)).dtype == name


def test_byte_order_of_single_bytes():
    kind = np.dtype(ml_dtypes.float8_e5m2).newbyteorder(FOREIGN)
    assert dlbridge.from_dlpack(every("float8_e5m2").view(kind)).dtype == "float8_e5m2"


def test_options_of_from_dlpack():
    array = every("bfloat16")[:6].reshape(2, 3)
    assert dlbridge.from_dlpack(array, shape=(None, 3), device="cpu", copy=False).shape == (2, 3)
    assert dlbridge.from_dlpack(array, writable=False).readonly
    copied = dlbridge.from_dlpack(array, copy=True)
    assert copied.data_ptr != array.ctypes.data
    with pytest.raises(BufferError, match="shape"):
        dlbridge.from_dlpack(array, shape=(None, 4))
    with pytest.raises(BufferError, match="expected a copy on the CPU"):
        dlbridge.from_dlpack(array, device="cuda")
    array.flags.writeable = False
    assert dlbridge.from_dlpack(array).readonly
    with pytest.raises(BufferError, match="READ_ONLY"):
        dlbridge.from_dlpack(array, writable=True)


def test_subclasses():
    kind = type("Array", (np.ndarray,), {})
    assert dlbridge.from_dlpack(every("bfloat16").view(kind)).dtype == "bfloat16"
    with pytest.raises(BufferError, match="found a masked one"):
        dlbridge.from_dlpack(np.ma.masked_array(every("bfloat16")))


@pytest.mark.parametrize("name", NAMES)
def test_scalars(name):
    scalar = every(name)[1]
    for call in (dlbridge.from_dlpack, dlbridge.portable):
        tensor = call(scalar)
        assert (tensor.dtype, tensor.shape, tensor.readonly) == (name, (), True)
        assert codes(tensor) == codes_of(name)[1:2].tolist()
    assert dlbridge.adapt(scalar).dtype == name


def test_imports_in_c_name_the_remedy():
    """An extension with a typed argument imports in this way."""
    array = every("bfloat16")
    with pytest.raises(BufferError, match=r"ml_dtypes: pass dlbridge\.adapt\(x\)"):
        _core.to_type(array, dlbridge.Tensor)
    taken = _core.to_type(dlbridge.adapt(array), dlbridge.Tensor)
    assert codes(taken) == codes_of("bfloat16").tolist()


@pytest.mark.skipif(not hasattr(ml_dtypes, "bcomplex32"), reason="ml_dtypes has no bcomplex32")
def test_a_dtype_that_dlpack_lacks():
    array = np.zeros(3, ml_dtypes.bcomplex32)
    for call in calls(array).values():
        with pytest.raises(BufferError, match="DLPack only supports"):
            call()
