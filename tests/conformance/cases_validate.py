# SPDX-License-Identifier: Apache-2.0
"""Validation: each rule with accepted and rejected values, on every kind of tensor."""

import model
from corpus import borrowed, ok, step, tensor, versioned

MAX = model.INT64_MAX
KINDS = {"legacy": tensor, "versioned": versioned, "borrowed": borrowed}


def each_kind(corpus, name, want, policy=None, about=None, **fields):
    for kind, make in KINDS.items():
        corpus.validate(f"validate/{name}/{kind}", make(**fields), policy, want, about)


def ndim_and_shape(c):
    each_kind(c, "plain", "NONE")
    each_kind(c, "scalar", "NONE", shape=())
    each_kind(c, "scalar-null-arrays", "NONE", shape=None, strides=None)
    each_kind(c, "ndim-negative", "NDIM_NEGATIVE", ndim=-1)
    each_kind(c, "ndim-minimum", "NDIM_NEGATIVE", ndim=-(2**31), shape=None, strides=None)
    each_kind(c, "ndim-64", "NONE", shape=[1] * 64)
    each_kind(c, "ndim-65", "NDIM_LIMIT", shape=[1] * 65)
    each_kind(c, "ndim-maximum", "NDIM_LIMIT", ndim=2**31 - 1)
    each_kind(c, "ndim-at-limit", "NONE", {"max_ndim": 2})
    each_kind(c, "ndim-above-limit", "NDIM_LIMIT", {"max_ndim": 1})
    each_kind(c, "ndim-limit-0", "NONE", {"max_ndim": 0}, shape=())
    each_kind(c, "ndim-65-at-limit-64", "NDIM_LIMIT", {"max_ndim": 64}, shape=[1] * 65)
    each_kind(c, "ndim-limit-0-exceeded", "NDIM_LIMIT", {"max_ndim": 0}, shape=(1,))
    each_kind(c, "ndim-at-least", "NONE", {"min_ndim": 2})
    each_kind(c, "ndim-below-least", "NDIM_LIMIT", {"min_ndim": 3})
    each_kind(c, "ndim-scalar-below-least", "NDIM_LIMIT", {"min_ndim": 1}, shape=())
    each_kind(c, "ndim-exactly", "NONE", {"min_ndim": 2, "max_ndim": 2})
    each_kind(c, "ndim-least-64", "NONE", {"min_ndim": 64}, shape=[1] * 64)
    c.validate(
        "validate/ndim-struct-level",
        tensor(),
        {"level": "STRUCT", "min_ndim": 3, "max_ndim": 4},
        "NDIM_LIMIT",
    )
    exact_shapes(c)
    each_kind(c, "shape-null", "SHAPE_NULL", shape=None, strides=None, ndim=1)
    each_kind(c, "dim-negative-first", "EXTENT_NEGATIVE", shape=(-1, 3), strides=(3, 1))
    each_kind(c, "dim-negative-last", "EXTENT_NEGATIVE", shape=(2, -3), strides=(3, 1))
    each_kind(c, "dim-minimum", "EXTENT_NEGATIVE", shape=(2, -MAX - 1), strides=(3, 1))
    c.validate(
        "validate/dim-negative-beside-0",
        tensor(shape=(0, -1), strides=(1, 1)),
        want="EXTENT_NEGATIVE",
    )
    c.validate(
        "validate/dim-negative-null-strides",
        tensor(shape=(2, -1), strides=None),
        want="EXTENT_NEGATIVE",
    )
    each_kind(c, "dim-zero", "NONE", shape=(2, 0), strides=(1, 1))


def exact_shapes(c):
    """An exact shape: one number per axis, where 0 means 0 and -1 any extent."""
    for name, shape, given, want in (
        ("equal", ["2", "3"], (2, 3), "NONE"),
        ("first-differs", ["1", "3"], (2, 3), "SHAPE_MISMATCH"),
        ("last-differs", ["2", "4"], (2, 3), "SHAPE_MISMATCH"),
        ("any-first", ["-1", "3"], (2, 3), "NONE"),
        ("any-last", ["2", "-1"], (2, 3), "NONE"),
        ("any-both", ["-1", "-1"], (2, 3), "NONE"),
        ("any-first-differs", ["-1", "4"], (2, 3), "SHAPE_MISMATCH"),
        ("any-takes-0", ["-1", "3"], (0, 3), "NONE"),
        ("zero", ["0", "3"], (0, 3), "NONE"),
        ("zero-is-literal", ["0", "3"], (2, 3), "SHAPE_MISMATCH"),
        ("zero-is-not-1", ["0"], (1,), "SHAPE_MISMATCH"),
        ("scalar", [], (), "NONE"),
        ("scalar-differs", [], (1,), "NDIM_LIMIT"),
        ("fewer-axes", ["2", "3"], (2,), "NDIM_LIMIT"),
        ("more-axes", ["2"], (2, 3), "NDIM_LIMIT"),
        ("maximum", [str(MAX)], (0,), "SHAPE_MISMATCH"),
        ("64-axes", ["1"] * 63 + ["2"], [1] * 63 + [2], "NONE"),
        ("64-axes-last-differs", ["1"] * 64, [1] * 63 + [2], "SHAPE_MISMATCH"),
    ):
        each_kind(c, f"shape-{name}", want, {"shape": shape}, shape=given)
    each_kind(
        c, "shape-null-strides-any", "NONE", {"shape": ["-1", "3"]}, strides="compact", shape=(9, 3)
    )
    c.validate(
        "validate/shape-negative-extent",
        tensor(shape=(-1, 3), strides=(3, 1)),
        {"shape": ["-1", "3"]},
        "EXTENT_NEGATIVE",
    )


def strides(c):
    for minor, want in (
        (0, "NONE"),
        (1, "NONE"),
        (2, "STRIDES_NULL"),
        (3, "STRIDES_NULL"),
        (9, "STRIDES_NULL"),
        (4294967295, "STRIDES_NULL"),
    ):
        c.validate(
            f"validate/null-strides/version-1.{minor}",
            versioned(strides=None, version=[1, minor]),
            want=want,
        )
    c.validate("validate/null-strides/legacy", tensor(strides=None), want="NONE")
    c.validate("validate/null-strides/borrowed", borrowed(strides=None), want="NONE")
    c.validate(
        "validate/null-strides/allowed",
        versioned(strides=None),
        {"options": ["ALLOW_NULL_STRIDES"]},
        "NONE",
    )
    c.validate(
        "validate/null-strides/empty-too", versioned(shape=(0,), strides=None), want="STRIDES_NULL"
    )
    c.validate("validate/null-strides/scalar", versioned(shape=None, strides=None), want="NONE")
    each_kind(c, "negative-stride", "NONE", strides=(3, -1))
    each_kind(c, "zero-stride", "NONE", strides=(0, 1))
    each_kind(
        c,
        "negative-stride-rejected",
        "NEGATIVE_STRIDE",
        {"options": ["REJECT_NEGATIVE_STRIDES"]},
        strides=(3, -1),
    )
    each_kind(
        c,
        "zero-stride-rejected",
        "ZERO_STRIDE",
        {"options": ["REJECT_ZERO_STRIDES"]},
        strides=(0, 1),
    )
    both = {"options": ["REJECT_NEGATIVE_STRIDES", "REJECT_ZERO_STRIDES"]}
    for name, subject in {
        "positive": tensor(strides=(1, 2)),
        "null": tensor(strides=None),
        "empty": tensor(shape=(0, 3), strides=(0, -1)),
        "extent-1-negative": tensor(shape=(1, 3), strides=(-9, 1)),
        "extent-1-zero": tensor(shape=(1, 3), strides=(0, 1)),
    }.items():
        c.validate(f"validate/stride-signs/{name}", subject, both, "NONE")
    c.validate(
        "validate/stride-signs/negative-only",
        tensor(strides=(-3, 0)),
        {"options": ["REJECT_ZERO_STRIDES"]},
        "ZERO_STRIDE",
    )
    c.validate(
        "validate/stride-signs/zero-only",
        tensor(strides=(0, -3)),
        {"options": ["REJECT_NEGATIVE_STRIDES"]},
        "NEGATIVE_STRIDE",
    )
    each_kind(c, "extent-1-stride-minimum", "NONE", shape=(1, 3), strides=(-MAX - 1, 1))
    each_kind(c, "extent-1-stride-maximum", "NONE", shape=(1, 3), strides=(MAX, 1))


def dtypes(c):
    for code, (name, _, fixed) in sorted(model.DTYPES.items()):
        width = fixed or 32
        c.validate(f"validate/dtype/{name}", tensor(dtype=[code, width, 1]), want="NONE")
        other = "DTYPE_BITS_FIXED" if fixed else "NONE"
        c.validate(f"validate/dtype/{name}-wider", tensor(dtype=[code, width + 1, 1]), want=other)
        c.validate(
            f"validate/dtype/{name}-narrower", tensor(dtype=[code, width - 1, 1]), want=other
        )
        c.validate(
            f"validate/dtype/{name}-no-bits", tensor(dtype=[code, 0, 1]), want="DTYPE_BITS_ZERO"
        )
    each_kind(c, "dtype-unknown", "NONE", dtype=[model.NEXT_DTYPE, 8, 1])
    each_kind(c, "dtype-255", "NONE", dtype=[255, 255, 1])
    each_kind(c, "lanes-0", "DTYPE_LANES_ZERO", dtype=[2, 32, 0])
    each_kind(c, "lanes-32767", "NONE", shape=(1, 1), dtype=[2, 32, 32767])
    each_kind(c, "lanes-32768", "DTYPE_LANES_SCALABLE", shape=(1, 1), dtype=[2, 32, 32768])
    each_kind(c, "lanes-65535", "DTYPE_LANES_SCALABLE", shape=(1, 1), dtype=[2, 32, 65535])
    each_kind(
        c,
        "lanes-65535-allowed",
        "NONE",
        {"options": ["ALLOW_SCALABLE_LANES"]},
        shape=(1, 1),
        dtype=[2, 32, 65535],
    )
    for lanes in (1, 2, 4, 16):
        c.validate(
            f"validate/dtype/fp4-lanes-{lanes}", versioned(dtype=[17, 4, lanes]), want="NONE"
        )
    c.validate("validate/dtype/no-bits-no-lanes", tensor(dtype=[2, 0, 0]), want="DTYPE_BITS_ZERO")
    reject = ["REJECT_UNKNOWN_DTYPE"]
    for version in ([1, 0], [1, 1], [1, 3], [0, 8], [0, 5], [0, 3], [1, 77], [0, 0]):
        for code in (0, 4, 5, 6, 7, 17, 18, model.NEXT_DTYPE):
            width = model.DTYPES.get(code, (0, 0, None))[2] or 32
            c.validate(
                f"validate/unknown-dtype/{code}-at-{version[0]}.{version[1]}",
                versioned(dtype=[code, width, 1]),
                {"options": reject, "version": version},
            )
    listed = {"dtypes": [[2, 32, 1], [0, 8, 1]]}
    each_kind(c, "dtype-listed", "NONE", listed)
    for name, dtype in {"code": [0, 32, 1], "bits": [2, 16, 1], "lanes": [2, 32, 2]}.items():
        each_kind(c, f"dtype-not-listed-{name}", "DTYPE_REJECTED", listed, dtype=dtype)


def devices(c):
    for kind, (name, _) in sorted(model.DEVICES.items()):
        c.validate(f"validate/device/{name}", tensor(device=[kind, 0]), want="NONE")
        c.validate(f"validate/device/{name}-id-5", tensor(device=[kind, 5]), want="NONE")
        c.validate(
            f"validate/device/{name}-id-negative",
            tensor(device=[kind, -1]),
            want="DEVICE_ID_NEGATIVE",
        )
    for kind in (0, 5, 6, model.NEXT_DEVICE, 2**31 - 1, -1, -(2**31)):
        c.validate(f"validate/device/number-{kind}", tensor(device=[kind, 0]), want="NONE")
    each_kind(c, "device-id-maximum", "NONE", device=[1, 2**31 - 1])
    each_kind(c, "device-id-minimum", "DEVICE_ID_NEGATIVE", device=[2, -(2**31)])
    for version in ([1, 0], [1, 1], [1, 2], [1, 3], [0, 6], [0, 2], [0, 1]):
        for kind in (1, 7, 11, 14, 17, 18, 19, 5):
            c.validate(
                f"validate/unknown-device/{kind}-at-{version[0]}.{version[1]}",
                versioned(device=[kind, 0]),
                {"options": ["REJECT_UNKNOWN_DEVICE"], "version": version},
            )
    listed = {"devices": [[2, 1], [1, -1]]}
    each_kind(c, "device-listed", "NONE", listed, device=[2, 1])
    each_kind(c, "device-listed-any-id", "NONE", listed, device=[1, 7])
    each_kind(c, "device-other-id", "DEVICE_REJECTED", listed, device=[2, 0])
    each_kind(c, "device-other-type", "DEVICE_REJECTED", listed, device=[10, 1])


def flags_and_version(c):
    for major in (0, 2, 3, 2**32 - 1):
        c.validate(f"validate/major-{major}", versioned(version=[major, 0]), want="VERSION_MAJOR")
        c.validate(
            f"validate/major-{major}-broken-behind",
            versioned(version=[major, 3], ndim=-1, flags=2**64 - 1),
            want="VERSION_MAJOR",
        )
    c.validate(
        "validate/major-2-with-policy", versioned(version=[2, 0]), {"max_ndim": 8}, "VERSION_MAJOR"
    )
    for minor in (0, 1, 2, 3, 4, 98, 99, 100, 2**32 - 1):
        c.validate(f"validate/minor-{minor}", versioned(version=[1, minor]), want="NONE")
    for bit in (0, 1, 2, 3, 4, 31, 32, 63):
        for policy in (
            None,
            {"options": ["REJECT_UNKNOWN_FLAGS"]},
            {"options": ["REJECT_UNKNOWN_FLAGS"], "version": [1, 0]},
        ):
            speaks = "" if policy is None else "-known-to-" + ("1.0" if len(policy) > 1 else "1.3")
            c.validate(f"validate/flag-bit-{bit}{speaks}", versioned(flags=1 << bit), policy)
    c.validate(
        "validate/minor-newer-new-dtype-and-device",
        versioned(version=[1, 7], dtype=[40, 12, 1], device=[40, 3]),
        want="NONE",
    )
    c.validate("validate/all-flags", versioned(flags=2**64 - 1), want="NONE")
    c.validate("validate/padded-byte-sized", versioned(flags=model.PADDED), want="NONE")


def writable(c):
    demand = {"options": ["REQUIRE_WRITABLE"]}
    vouch = {"options": ["REQUIRE_WRITABLE", "VOUCH_WRITABLE"]}
    c.validate("validate/writable/versioned", versioned(), demand, "NONE")
    c.validate("validate/writable/versioned-read-only", versioned(flags=1), demand, "NOT_WRITABLE")
    c.validate("validate/writable/read-only-vouched", versioned(flags=1), vouch, "NOT_WRITABLE")
    c.validate("validate/writable/copied", versioned(flags=2), demand, "NONE")
    for kind, make in (("legacy", tensor), ("borrowed", borrowed)):
        c.validate(f"validate/writable/{kind}", make(), demand, "NOT_WRITABLE")
        c.validate(f"validate/writable/{kind}-vouched", make(), vouch, "NONE")
        c.validate(
            f"validate/writable/{kind}-broadcast", make(strides=(0, 1)), vouch, "SELF_OVERLAP"
        )
    c.validate(
        "validate/writable/borrowed-read-only-vouched", borrowed(flags=1), vouch, "NOT_WRITABLE"
    )
    overlaps = {
        "broadcast": ((2, 3), (0, 1), "SELF_OVERLAP"),
        "rows-meet": ((2, 3), (2, 1), "SELF_OVERLAP"),
        "rows-touch-not": ((2, 3), (3, 1), "NONE"),
        "transposed": ((2, 3), (1, 2), "NONE"),
        "coprime": ((3, 2), (2, 3), "NONE"),
        "coprime-longer": ((4, 3), (2, 3), "SELF_OVERLAP"),
        "interleaved": ((2, 2, 2), (3, 5, 7), "NONE"),
        "interleaved-sum": ((2, 2, 2), (3, 5, 8), "SELF_OVERLAP"),
        "four-axes": ((2, 2, 2, 2), (1, 2, 4, 7), "SELF_OVERLAP"),
        "four-axes-free": ((2, 2, 2, 2), (3, 5, 6, 7), "NONE"),
        "four-axes-long": ((5, 4, 3, 2), (12, 15, 20, 60), "NONE"),
        "negative": ((3, 2), (-2, 3), "NONE"),
        "extent-1": ((1, 3), (0, 1), "NONE"),
        "empty": ((0, 3), (0, 0), "NONE"),
        "equal-strides": ((2, 2), (5, 5), "SELF_OVERLAP"),
        "sliding-window": ((5, 3), (1, 1), "SELF_OVERLAP"),
    }
    for name, (shape, stride, want) in overlaps.items():
        if name.startswith("four-axes") or name == "coprime":
            want = None  # computed by the model
        subject = versioned(shape=shape, strides=stride)
        c.validate(f"validate/overlap/{name}", subject, demand, want)
        c.validate(
            f"validate/overlap/{name}-allowed",
            subject,
            {"options": ["REQUIRE_WRITABLE", "ALLOW_SELF_OVERLAP"]},
            "NONE",
        )
        c.validate(f"validate/overlap/{name}-not-written", subject, None, "NONE")


def sizes(c):
    each_kind(c, "count-maximum-bits", "NONE", shape=(MAX,), dtype=[0, 1, 1])
    each_kind(c, "count-overflow", "COUNT_OVERFLOW", shape=(2**32, 2**32), strides=(2**32, 1))
    each_kind(
        c,
        "count-overflow-by-1",
        "COUNT_OVERFLOW",
        shape=(2, 2**62),
        strides=(1, 1),
        dtype=[0, 1, 1],
    )
    each_kind(c, "count-overflow-but-empty", "NONE", shape=(0, 2**40, 2**40), strides=(1, 1, 1))
    each_kind(c, "count-overflow-empty-last", "NONE", shape=(2**40, 2**40, 0), strides=(1, 1, 1))
    c.validate(
        "validate/count-overflow-null-strides",
        tensor(shape=(2**32, 2**32), strides=None),
        want="COUNT_OVERFLOW",
    )
    c.validate(
        "validate/count-overflow-empty-null-strides",
        tensor(shape=(0, 2**40, 2**40), strides=None),
        want="NONE",
    )
    each_kind(c, "size-fits", "NONE", shape=((MAX - 4096) // 4,))
    each_kind(c, "size-overflow", "SIZE_OVERFLOW", shape=(2**61,), strides=(1,))
    each_kind(c, "size-last-fit", "NONE", shape=(2**61 - 1,))
    each_kind(c, "size-overflow-broadcast", "SIZE_OVERFLOW", shape=(2**62,), strides=(0,))
    each_kind(c, "size-overflow-lanes", "SIZE_OVERFLOW", shape=(2**50,), dtype=[2, 255, 32767])
    each_kind(c, "size-sub-byte-overflow", "SIZE_OVERFLOW", shape=(MAX,), dtype=[0, 12, 1])
    each_kind(c, "extent-overflow-product", "OFFSET_OVERFLOW", strides=(MAX, MAX), shape=(2, 3))
    each_kind(c, "extent-overflow-sum", "OFFSET_OVERFLOW", strides=(MAX, 1), shape=(2, 2))
    each_kind(c, "extent-overflow-limit", "OFFSET_OVERFLOW", strides=(MAX,), shape=(2,))
    each_kind(
        c, "extent-overflow-negative", "OFFSET_OVERFLOW", strides=(-MAX - 1, -1), shape=(2, 2)
    )
    each_kind(c, "extent-overflow-bytes", "OFFSET_OVERFLOW", strides=(2**61,), shape=(2,))
    each_kind(
        c, "extent-overflow-bytes-negative", "OFFSET_OVERFLOW", strides=(-(2**62),), shape=(2,)
    )
    each_kind(c, "extent-far-but-fits", "NONE", strides=(2**60,), shape=(2,))
    c.validate(
        "validate/extent-sub-byte-far",
        tensor(strides=(2**62,), shape=(2,), dtype=[0, 4, 1]),
        want="NONE",
    )
    c.validate(
        "validate/extent-sub-byte-overflow",
        tensor(strides=(2**62,), shape=(2,), dtype=[0, 20, 1]),
        want="OFFSET_OVERFLOW",
    )
    c.validate(
        "validate/extent-sub-byte-overflow-below",
        tensor(strides=(-(2**62),), shape=(2,), dtype=[0, 20, 1]),
        want="OFFSET_OVERFLOW",
    )


def places(c):
    each_kind(c, "data-null", "DATA_NULL", data=0)
    each_kind(c, "data-null-scalar", "DATA_NULL", data=0, shape=())
    each_kind(c, "data-null-offset", "DATA_NULL", data=0, byte_offset=64)
    each_kind(c, "data-null-empty", "NONE", data=0, shape=(0,))
    each_kind(c, "data-given-empty", "NONE", shape=(3, 0))
    each_kind(c, "offset-huge-empty", "NONE", shape=(3, 0), byte_offset=2**64 - 1)
    each_kind(c, "offset-wraps", "ADDRESS_RANGE", byte_offset=2**64 - 1)
    each_kind(c, "offset-wraps-by-1", "ADDRESS_RANGE", byte_offset=2**64 - 4096 - 24)
    each_kind(c, "offset-last-fit", "NONE", byte_offset=2**64 - 4096 - 25)
    each_kind(c, "end-wraps", "ADDRESS_RANGE", data=2**64 - 23)
    each_kind(c, "end-last-fit", "NONE", data=2**64 - 25)
    each_kind(c, "below-0", "ADDRESS_RANGE", data=4, strides=(3, -1), shape=(2, 3))
    each_kind(c, "down-to-0", "NONE", data=8, strides=(3, -1), shape=(2, 3))
    for kind, (name, _) in sorted(model.DEVICES.items()):
        where = {"device": [kind, 0], "strides": (3, -1)}
        c.validate(f"validate/before-data/{name}", tensor(**where))
        c.validate(f"validate/before-data/{name}-offset-7", tensor(byte_offset=7, **where))
        c.validate(f"validate/before-data/{name}-offset-8", tensor(byte_offset=8, **where))
        c.validate(f"validate/high-data/{name}", tensor(device=[kind, 0], data=2**64 - 8))
        c.validate(f"validate/high-offset/{name}", tensor(device=[kind, 0], byte_offset=2**64 - 8))
    for size, want in (
        (23, "BUFFER_BOUNDS"),
        (24, "NONE"),
        (0, "BUFFER_BOUNDS"),
        (2**64 - 2, "NONE"),
    ):
        each_kind(c, f"buffer-{size}", want, {"buffer_size": str(size)})
    c.validate(
        "validate/buffer-offset", tensor(byte_offset=8), {"buffer_size": "31"}, "BUFFER_BOUNDS"
    )
    c.validate("validate/buffer-offset-fits", tensor(byte_offset=8), {"buffer_size": "32"}, "NONE")
    c.validate(
        "validate/buffer-before",
        tensor(strides=(3, -1), byte_offset=7),
        {"buffer_size": "100"},
        "BUFFER_BOUNDS",
    )
    c.validate(
        "validate/buffer-before-fits",
        tensor(strides=(3, -1), byte_offset=8),
        {"buffer_size": "100"},
        "NONE",
    )
    c.validate(
        "validate/buffer-empty", tensor(shape=(0,), byte_offset=99), {"buffer_size": "0"}, "NONE"
    )
    c.validate(
        "validate/buffer-packed", tensor(shape=(3,), dtype=[0, 4, 1]), {"buffer_size": "2"}, "NONE"
    )
    c.validate(
        "validate/buffer-packed-short",
        tensor(shape=(3,), dtype=[0, 4, 1]),
        {"buffer_size": "1"},
        "BUFFER_BOUNDS",
    )
    c.validate(
        "validate/buffer-padded",
        versioned(shape=(3,), dtype=[0, 4, 1], flags=4),
        {"buffer_size": "2"},
        "BUFFER_BOUNDS",
    )


def orders(c):
    layouts = {
        "c": ((2, 3), (3, 1)),
        "f": ((2, 3), (1, 2)),
        "neither": ((2, 3), (6, 2)),
        "both": ((3,), (1,)),
        "null": ((2, 3), None),
        "null-vector": ((1, 3, 1), None),
        "ones": ((1, 3, 1), (77, 1, -5)),
        "empty": ((0, 3), (9, 9)),
        "scalar": ((), ()),
        "reversed": ((3,), (-1,)),
        "broadcast": ((2, 3), (0, 1)),
    }
    for name, (shape, stride) in layouts.items():
        for order in ("ANY", "C", "F", "C_OR_F"):
            c.validate(
                f"validate/contiguity/{name}-as-{order}",
                tensor(shape=shape, strides=stride),
                {"contiguity": order},
            )
    for bytes_, want in ((1, "NONE"), (4096, "NONE"), (8192, "ALIGNMENT"), (2**63, "ALIGNMENT")):
        each_kind(c, f"alignment-{bytes_}", want, {"alignment": str(bytes_)})
    for name, subject in {
        "offset": tensor(byte_offset=4),
        "offset-restores": tensor(data=4092, byte_offset=4),
        "handle": tensor(device=[4, 0], data=4097),
        "handle-offset": tensor(device=[4, 0], byte_offset=12),
        "empty": tensor(shape=(0,), data=4097),
        "odd": tensor(data=4097),
        "odd-on-tpu": tensor(device=[19, 0], data=4097),
        "odd-on-unknown-device": tensor(device=[99, 0], data=4097),
    }.items():
        c.validate(f"validate/alignment/{name}-to-8", subject, {"alignment": "8"})


def levels(c):
    struct = {"level": "STRUCT"}
    c.validate(
        "validate/struct-level/reads-no-shape", tensor(shape=(-1,), strides=(1,)), struct, "NONE"
    )
    c.validate(
        "validate/struct-level/shape-null",
        tensor(shape=None, strides=None, ndim=1),
        struct,
        "SHAPE_NULL",
    )
    c.validate("validate/struct-level/ndim", tensor(ndim=-5), struct, "NDIM_NEGATIVE")
    c.validate("validate/struct-level/data-null", tensor(data=0), struct, "NONE")
    c.validate(
        "validate/struct-level/scalar-data-null", tensor(data=0, shape=()), struct, "DATA_NULL"
    )
    c.validate(
        "validate/struct-level/writable",
        tensor(),
        {"level": "STRUCT", "options": ["REQUIRE_WRITABLE", "ALLOW_SELF_OVERLAP"]},
        "NOT_WRITABLE",
    )
    c.validate(
        "validate/struct-level/devices",
        tensor(),
        {"level": "STRUCT", "devices": [[2, -1]]},
        "DEVICE_REJECTED",
    )
    first = {
        "ndim-before-dtype": (tensor(ndim=-1, dtype=[2, 0, 1]), "NDIM_NEGATIVE"),
        "dtype-before-device": (tensor(dtype=[2, 0, 1], device=[1, -1]), "DTYPE_BITS_ZERO"),
        "device-before-shape": (tensor(device=[1, -1], shape=None, ndim=2), "DEVICE_ID_NEGATIVE"),
        "shape-before-data": (tensor(data=0, shape=(-1, 2)), "EXTENT_NEGATIVE"),
        "major-before-all": (versioned(version=[2, 0], ndim=-1), "VERSION_MAJOR"),
    }
    for name, (subject, want) in first.items():
        c.validate(f"validate/first/{name}", subject, None, want)


def finding(rule, axis=-1, severity="BROKEN"):
    """`expected` and `found` are texts, recorded from the library like messages."""
    return {"rule": rule, "axis": axis, "severity": severity}


def note(rule):
    return finding(rule, severity="NOTE")


def diagnoses(c):
    cases = {
        "clean": (tensor(), None, []),
        "two-negative-extents": (
            tensor(shape=(-1, 2, -3), strides=(1, 1, 1)),
            None,
            [
                finding("EXTENT_NEGATIVE", 0),
                finding("EXTENT_NEGATIVE", 2),
            ],
        ),
        "dtype-device-and-extent": (
            tensor(dtype=[2, 0, 0], device=[1, -2], shape=(-1,), strides=(1,)),
            None,
            [
                finding("DTYPE_BITS_ZERO"),
                finding("DTYPE_LANES_ZERO"),
                finding("DEVICE_ID_NEGATIVE"),
                finding("EXTENT_NEGATIVE", 0),
            ],
        ),
        "width": (
            tensor(dtype=[6, 32, 1]),
            None,
            [finding("DTYPE_BITS_FIXED")],
        ),
        "ndim-stops": (
            tensor(ndim=-1, data=0),
            None,
            [finding("NDIM_NEGATIVE")],
        ),
        "ndim-limit-stops": (
            tensor(shape=(1, 1), data=0),
            {"max_ndim": 1},
            [finding("NDIM_LIMIT")],
        ),
        "shape-null-stops": (
            tensor(shape=None, strides=None, ndim=2, data=0),
            None,
            [finding("SHAPE_NULL")],
        ),
        "major-stops": (
            versioned(version=[2, 1], ndim=-1),
            None,
            [finding("VERSION_MAJOR")],
        ),
        "strides-null-goes-on": (
            versioned(strides=None, data=0),
            None,
            [
                finding("STRIDES_NULL"),
                finding("DATA_NULL"),
            ],
        ),
        "scalar-data-null-once": (
            tensor(shape=(), data=0),
            None,
            [finding("DATA_NULL")],
        ),
        "unknown-dtype": (
            tensor(dtype=[model.NEXT_DTYPE, 8, 1]),
            None,
            [note("DTYPE_UNKNOWN")],
        ),
        "newer-dtype": (
            versioned(dtype=[7, 8, 1]),
            {"version": [1, 0]},
            [note("DTYPE_UNKNOWN")],
        ),
        "unknown-device": (
            tensor(device=[-7, 0]),
            None,
            [note("DEVICE_UNKNOWN")],
        ),
        "unknown-flags": (
            versioned(flags=24),
            None,
            [note("FLAGS_UNKNOWN")],
        ),
        "unknowns-rejected": (
            versioned(flags=8, dtype=[model.NEXT_DTYPE, 8, 1], device=[model.NEXT_DEVICE, 0]),
            {"options": ["REJECT_UNKNOWN_DTYPE", "REJECT_UNKNOWN_DEVICE", "REJECT_UNKNOWN_FLAGS"]},
            [
                finding("DTYPE_UNKNOWN"),
                finding("DEVICE_UNKNOWN"),
                finding("FLAGS_UNKNOWN"),
            ],
        ),
        "host-id": (tensor(device=[1, 3]), None, [note("DEVICE_ID_HOST")]),
        "host-id-pinned": (tensor(device=[3, 1]), None, [note("DEVICE_ID_HOST")]),
        "cuda-id": (tensor(device=[2, 3]), None, []),
        "label-dtype": (
            versioned(version=[1, 0], dtype=[10, 8, 1]),
            None,
            [note("VERSION_LABEL")],
        ),
        "label-flag": (
            versioned(version=[1, 0], flags=4),
            None,
            [note("VERSION_LABEL")],
        ),
        "label-device": (
            versioned(version=[1, 1], device=[18, 0]),
            None,
            [note("VERSION_LABEL")],
        ),
        "label-right": (versioned(version=[1, 1], dtype=[10, 8, 1]), None, []),
        "unaligned": (
            tensor(data=4098),
            None,
            [note("DATA_UNALIGNED")],
        ),
        "unaligned-complex": (
            tensor(data=4100, dtype=[5, 128, 1]),
            None,
            [note("DATA_UNALIGNED")],
        ),
        "aligned-complex": (tensor(data=4104, dtype=[5, 128, 1]), None, []),
        "unaligned-empty": (tensor(data=4097, shape=(0,)), None, []),
        "unaligned-odd-width": (tensor(data=4097, dtype=[0, 24, 1]), None, []),
        "overlap": (
            tensor(strides=(2, 1)),
            None,
            [note("SELF_OVERLAP")],
        ),
        "overlap-rejected": (
            versioned(strides=(0, 1)),
            {"options": ["REQUIRE_WRITABLE"]},
            [finding("SELF_OVERLAP")],
        ),
        "demands": (
            tensor(strides=(0, -1), byte_offset=2, data=4096),
            {
                "options": ["REJECT_ZERO_STRIDES", "REJECT_NEGATIVE_STRIDES", "REQUIRE_WRITABLE"],
                "contiguity": "C",
                "alignment": "16",
                "buffer_size": "4",
                "devices": [[2, -1]],
                "dtypes": [[0, 8, 1]],
            },
            [
                finding("DEVICE_REJECTED"),
                finding("DTYPE_REJECTED"),
                finding("NOT_WRITABLE"),
                finding("BUFFER_BOUNDS"),
                finding("CONTIGUITY"),
                finding("ALIGNMENT"),
                finding("ZERO_STRIDE", 0),
                finding("NEGATIVE_STRIDE", 1),
                finding("SELF_OVERLAP"),
                note("DATA_UNALIGNED"),
            ],
        ),
        "read-only": (
            versioned(flags=1),
            {"options": ["REQUIRE_WRITABLE"]},
            [finding("NOT_WRITABLE")],
        ),
        "overflow": (
            tensor(shape=(2**40, 2**40), strides=(1, 1)),
            None,
            [finding("COUNT_OVERFLOW")],
        ),
        "borrowed-flags": (borrowed(flags=8), None, [note("FLAGS_UNKNOWN")]),
    }
    for name, (subject, policy, findings) in cases.items():
        arguments = {"policy": policy} if policy is not None else {}
        c.add(
            f"diagnose/{name}",
            {"t": subject},
            step("diagnose", ok(findings=findings), **{"in": "t"}, **arguments),
        )


def add(corpus):
    for part in (
        ndim_and_shape,
        strides,
        dtypes,
        devices,
        flags_and_version,
        writable,
        sizes,
        places,
        orders,
        levels,
        diagnoses,
    ):
        part(corpus)
