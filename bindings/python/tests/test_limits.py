# SPDX-License-Identifier: Apache-2.0
"""`ndim` and `shape` of from_dlpack: what they accept, how they reject, and bad arguments."""

from __future__ import annotations

import pytest
from dlbridge import from_dlpack
from producers import LegacyProducer, Producer, legacy, rejected, tabled_type, versioned

pytestmark = pytest.mark.usefixtures("balanced")

PRODUCERS = [Producer, LegacyProducer, tabled_type()]
ACCEPTED = [
    {"ndim": 2},
    {"ndim": (2, 2)},
    {"ndim": (1, 3)},
    {"ndim": (None, 2)},
    {"ndim": (2, None)},
    {"ndim": (None, None)},
    {"ndim": (0, 64)},
    {"ndim": None, "shape": None},
    {"shape": (2, 3)},
    {"shape": [None, 3]},
    {"shape": (2, None)},
    {"shape": (None, None)},
    {"shape": range(2, 4)},
]


@pytest.mark.parametrize("kind", PRODUCERS)
@pytest.mark.parametrize("limits", ACCEPTED, ids=str)
def test_tensors_within_the_limits_are_accepted(kind, limits):
    assert from_dlpack(kind(), **limits).shape == (2, 3)


@pytest.mark.parametrize("kind", PRODUCERS)
@pytest.mark.parametrize("ndim", [0, 1, 3, 64, (0, 1), (3, None), (None, 1), (3, 64)], ids=str)
def test_another_number_of_axes_is_rejected(kind, ndim):
    x = kind()
    with rejected(BufferError, "found 2", status="POLICY", rule="NDIM_LIMIT"):
        from_dlpack(x, ndim=ndim)
    assert x.deleted == 1


@pytest.mark.parametrize("kind", PRODUCERS)
@pytest.mark.parametrize(
    ("shape", "axis", "message"),
    [
        ((2, 4), 1, "expected 4, found 3"),
        ((None, 0), 1, "expected 0, found 3"),
        ((1, None), 0, "expected 1, found 2"),
        ((0, 3), 0, "expected 0, found 2"),
        ((2**63 - 1, 3), 0, f"expected {2**63 - 1}, found 2"),
    ],
)
def test_another_extent_is_rejected_with_its_axis(kind, shape, axis, message):
    x = kind()
    with rejected(BufferError, message, status="POLICY", rule="SHAPE_MISMATCH", axis=axis):
        from_dlpack(x, shape=shape)
    assert x.deleted == 1


@pytest.mark.parametrize("shape", [(), (2,), (2, 3, 1), (None,) * 64], ids=len)
def test_a_shape_implies_its_number_of_axes(shape):
    with rejected(BufferError, "found 2", status="POLICY", rule="NDIM_LIMIT"):
        from_dlpack(Producer(), shape=shape)


def test_a_scalar_and_an_empty_tensor():
    assert from_dlpack(Producer(shape=()), shape=()).ndim == 0
    assert from_dlpack(Producer(shape=()), ndim=0).ndim == 0
    assert from_dlpack(Producer(shape=(0, 3)), shape=(0, None)).size == 0


@pytest.mark.parametrize("make", [legacy, versioned])
def test_a_capsule_that_is_rejected_still_owns_its_tensor(make):
    made = make()
    capsule = made.capsule()
    with rejected(BufferError, "found 2", status="POLICY", rule="NDIM_LIMIT"):
        from_dlpack(capsule, ndim=3)
    assert made.deleted == 0
    assert from_dlpack(capsule, ndim=2).shape == (2, 3)
    assert made.deleted == 1


def test_limits_combine_with_every_other_keyword():
    given = {"copy": True, "writable": True, "device": "cpu", "stream": None}
    assert from_dlpack(Producer(), shape=(2, 3), **given).copied
    with rejected(BufferError, "found 3", status="POLICY", rule="SHAPE_MISMATCH", axis=1):
        from_dlpack(Producer(), shape=(2, 4), **given)
    assert from_dlpack(LegacyProducer(), ndim=2, writable=False).readonly
    assert from_dlpack(Producer(), validate="struct", ndim=2).ndim == 2
    with rejected(BufferError, "found 2", status="POLICY", rule="NDIM_LIMIT"):
        from_dlpack(Producer(), validate="struct", ndim=1)


def test_a_shape_needs_a_validation_that_reads_it():
    with rejected(ValueError, "shape", status="INVALID_ARGUMENT"):
        from_dlpack(Producer(), validate="struct", shape=(2, 3))
    for limits in ({"ndim": 2}, {"shape": (2, 3)}):
        with pytest.raises(ValueError, match="some validation for ndim and shape"):
            from_dlpack(Producer(), validate="none", **limits)


@pytest.mark.parametrize(
    ("limits", "kind", "message"),
    [
        ({"ndim": -1}, ValueError, "ndim from 0 to 64, found -1"),
        ({"ndim": 65}, ValueError, "ndim from 0 to 64, found 65"),
        ({"ndim": 2**80}, ValueError, "ndim"),
        ({"ndim": (0, 65)}, ValueError, "ndim from 0 to 64, found 65"),
        ({"ndim": (-1, 2)}, ValueError, "ndim from 0 to 64, found -1"),
        ({"ndim": (3, 2)}, ValueError, r"\(least, most\), found \(3, 2\)"),
        ({"ndim": (1, 2, 3)}, TypeError, "an integer or"),
        ({"ndim": [1, 2]}, TypeError, "an integer or"),
        ({"ndim": "2"}, TypeError, "an integer or"),
        ({"ndim": 2.0}, TypeError, "an integer or"),
        ({"ndim": True}, TypeError, "an integer or"),
        ({"ndim": ("1", 2)}, TypeError, "int"),
        ({"shape": 2}, TypeError, "a sequence of integers, None for any"),
        ({"shape": "23"}, TypeError, "a sequence of integers, None for any"),
        ({"shape": b"23"}, TypeError, "a sequence of integers, None for any"),
        ({"shape": {2, 3}}, TypeError, "a sequence of integers, None for any"),
        ({"shape": (2, "3")}, TypeError, "int"),
        ({"shape": (2, 3.0)}, TypeError, "int"),
        ({"shape": (2, -1)}, ValueError, "found -1: None accepts any"),
        ({"shape": (2, 2**63)}, ValueError, "64 bits"),
        ({"shape": (1,) * 65}, ValueError, "at most 64 axes, found 65"),
        ({"shape": (2, 3), "ndim": 2}, ValueError, "ndim or shape, found both"),
        ({"ndim": 2, "shape": (2, 3)}, ValueError, "ndim or shape, found both"),
    ],
)
def test_bad_limits_are_rejected_before_the_producer_is_called(limits, kind, message):
    x = Producer()
    with pytest.raises(kind, match=message):
        from_dlpack(x, **limits)
    assert x.asked == []


def test_errors_of_a_shape_pass_through():
    class Broken:
        def __len__(self):
            return 2

        def __getitem__(self, index):
            raise LookupError(f"no extent {index}")

    with pytest.raises(LookupError, match="no extent 0"):
        from_dlpack(Producer(), shape=Broken())
