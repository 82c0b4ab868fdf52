# SPDX-License-Identifier: Apache-2.0
"""Functions that only describe: layout, names, versions, kinds."""

import model
from corpus import borrowed, error, ok, rejected, step, tensor, versioned

MAX = model.INT64_MAX


def layouts(c):
    def layout(name, subject, overlap=None):
        c.add(
            f"layout/{name}",
            {"t": subject},
            step("layout", ok(layout=model.describe(subject, overlap)), **{"in": "t"}),
        )

    for kind, make in {"legacy": tensor, "versioned": versioned, "borrowed": borrowed}.items():
        layout(f"compact/{kind}", make())
    for name, fields in {
        "scalar": {"shape": ()},
        "scalar-null": {"shape": None, "strides": None},
        "vector": {"shape": (5,)},
        "null-strides": {"strides": None},
        "null-strides-vector": {"shape": (1, 4, 1), "strides": None},
        "f-order": {"strides": (1, 2)},
        "gaps": {"strides": (8, 2)},
        "reversed": {"shape": (4,), "strides": (-1,)},
        "both-signs": {"shape": (3, 4), "strides": (-4, 1)},
        "broadcast": {"strides": (0, 1)},
        "broadcast-all": {"strides": (0, 0)},
        "extent-1": {"shape": (1, 3, 1), "strides": (-9, 1, 0)},
        "empty": {"shape": (3, 0), "strides": (-7, 0)},
        "empty-null": {"shape": (0,), "strides": None, "data": 0},
        "three-axes": {"shape": (2, 3, 4), "strides": (1, 8, 2)},
        "transposed-3": {"shape": (4, 3, 2), "strides": (1, 4, 12)},
        "overlap-window": {"shape": (3, 3), "strides": (1, 1)},
        "offset": {"byte_offset": 20},
        "offset-to-odd": {"byte_offset": 3},
        "address-0": {"data": 0, "shape": ()},
        "handle": {"device": [4, 0], "byte_offset": 64},
        "handle-no-offset": {"device": [8, 0]},
        "unknown-device": {"device": [99, 0], "byte_offset": 2},
        "unknown-device-odd": {"device": [99, 0], "data": 4097},
        "ndim-64": {"shape": [1] * 60 + [2, 1, 3, 1]},
        "stride-minimum": {"shape": (2,), "strides": (-MAX - 1,), "dtype": [0, 8, 1]},
        "late-axes": {"shape": [1] * 62 + [2, 2], "strides": [1] * 62 + [0, -1]},
    }.items():
        layout(name, tensor(**fields))
    for name, dtype in {
        "bool": [6, 8, 1],
        "int4": [0, 4, 1],
        "uint1": [1, 1, 1],
        "fp6": [15, 6, 1],
        "fp4x2": [17, 4, 2],
        "float32x4": [2, 32, 4],
        "int7": [0, 7, 1],
        "complex128": [5, 128, 1],
        "wide": [2, 255, 32767],
        "scalable": [2, 32, 65535],
        "unknown": [200, 3, 5],
    }.items():
        for flags in (0, model.PADDED):
            for shape, strides in (((3,), (1,)), ((2, 3), (-3, 2))):
                subject = versioned(dtype=dtype, flags=flags, shape=shape, strides=strides)
                layout(f"dtype/{name}-{'padded' if flags else 'packed'}-{len(shape)}d", subject)
    # Too large to list; the answers follow from the strides.
    layout("overlap-huge-free", tensor(shape=(2**20, 2**20), strides=(2**20 + 1, 1)), "NO")
    layout(
        "overlap-huge-coprime", tensor(shape=(2**20, 2**20), strides=(2**20 + 7, 2**20 + 6)), "NO"
    )
    layout(
        "overlap-huge-coprime-meets",
        tensor(shape=(2**20, 2**20), strides=(2**20 - 2, 2**20 - 1)),
        "YES",
    )
    # 2^30 + 3 = 32767 * (2^15 + 1) + 4.
    layout(
        "overlap-huge-3",
        tensor(shape=(2**15, 2**15, 2**15), strides=(2**30 + 3, 2**15 + 1, 1)),
        "YES",
    )
    # 1000003 * 3 = 7 * 428572 + 5 * 1: d = (3, -428572, -5) is inside.
    layout("overlap-planted-3", tensor(shape=(4, 500000, 6), strides=(1000003, 7, 1)), "YES")
    layout(
        "overlap-planted-4",
        tensor(
            shape=(2, 1001, 1001, 1001),
            strides=(10**12 + 10**9 + 10**6, 10**9, 10**6, 1000),
            dtype=[0, 8, 1],
        ),
        "YES",
    )
    layout("overlap-crowded", tensor(shape=(10**5, 10**5), strides=(3, 5)), "YES")
    for name, rule, axis, subject in (
        ("ndim-negative", "NDIM_NEGATIVE", -1, tensor(ndim=-2)),
        ("ndim-65", "NDIM_LIMIT", -1, tensor(shape=[1] * 65)),
        ("ndim-maximum", "NDIM_LIMIT", -1, tensor(ndim=2**31 - 1)),
        ("no-bits", "DTYPE_BITS_ZERO", -1, tensor(dtype=[2, 0, 1])),
        ("no-lanes", "DTYPE_LANES_ZERO", -1, tensor(dtype=[2, 8, 0])),
        ("width", "DTYPE_BITS_FIXED", -1, tensor(dtype=[6, 1, 1])),
        ("shape-null", "SHAPE_NULL", -1, tensor(shape=None, strides=None, ndim=3)),
        ("dim-negative", "EXTENT_NEGATIVE", 1, tensor(shape=(2, -3), strides=(1, 1))),
        ("count", "COUNT_OVERFLOW", -1, tensor(shape=(2**40, 2**40), strides=(1, 1))),
        ("size", "SIZE_OVERFLOW", -1, tensor(shape=(2**61,), strides=(1,))),
        ("extent", "OFFSET_OVERFLOW", -1, tensor(shape=(3,), strides=(MAX,))),
    ):
        c.add(
            f"layout/rejected/{name}",
            {"t": subject},
            step("layout", rejected(rule, axis), **{"in": "t"}),
        )


def texts(c):
    c.add(
        "format/tensor/plain",
        {"t": tensor()},
        step(
            "tensor_format",
            ok(text="float32 shape=[2, 3] strides=[3, 1] cpu:0 data=0x1000 byte_offset=0"),
            **{"in": "t"},
        ),
    )
    for name, subject, text in (
        (
            "flags",
            versioned(flags=7),
            "float32 shape=[2, 3] strides=[3, 1] cpu:0 data=0x1000 byte_offset=0 READ_ONLY "
            "IS_COPIED PADDED",
        ),
        (
            "unknown-flags",
            versioned(flags=2**63 + 1),
            "float32 shape=[2, 3] strides=[3, 1] cpu:0 data=0x1000 byte_offset=0 READ_ONLY "
            "flags=0x8000000000000000",
        ),
        (
            "null",
            tensor(data=0, strides=None, byte_offset=2**64 - 1),
            "float32 shape=[2, 3] strides=NULL cpu:0 data=NULL byte_offset=18446744073709551615",
        ),
        (
            "scalar",
            borrowed(shape=None, strides=None, dtype=[5, 64, 1]),
            "complex64 shape=[] strides=[] cpu:0 data=0x1000 byte_offset=0",
        ),
        (
            "shape-null",
            tensor(shape=None, strides=None, ndim=2),
            "float32 shape=NULL strides=NULL cpu:0 data=0x1000 byte_offset=0",
        ),
        (
            "ndim-negative",
            tensor(ndim=-4, dtype=[77, 3, 2], device=[-3, -9]),
            "dtype(77,3,2) ndim=-4 device(-3):-9 data=0x1000 byte_offset=0",
        ),
        (
            "extremes",
            tensor(shape=(MAX, -MAX - 1), strides=(-MAX - 1, MAX)),
            "float32 shape=[9223372036854775807, -9223372036854775808] "
            "strides=[-9223372036854775808, 9223372036854775807] cpu:0 data=0x1000 byte_offset=0",
        ),
        (
            "many-axes",
            tensor(shape=[1] * 65),
            "float32 shape=["
            + ", ".join(["1"] * 64)
            + ", ...] strides=["
            + ", ".join(["1"] * 64)
            + ", ...] cpu:0 data=0x1000 byte_offset=0",
        ),
    ):
        c.add(
            f"format/tensor/{name}",
            {"t": subject},
            step("tensor_format", ok(text=text), **{"in": "t"}),
        )
    for size, text in ((1, ""), (4, "flo"), (7, "float3"), (8, "float32"), (9, "float32")):
        expect = ok(text=text) if size > 7 else error("ERROR_BUFFER_TOO_SMALL", text=text)
        c.add(
            f"format/buffer-of-{size}",
            {},
            step("dtype_format", {**expect, "length": 7}, dtype=[2, 32, 1], size=size),
        )
    c.add("format/length-only", {}, step("dtype_format", ok(length=7), dtype=[2, 32, 1], size=0))


def names(c):
    def dtype(name, value):
        text = model.dtype_name(value)
        c.add(
            f"dtype/{name}",
            {},
            step("dtype_format", ok(text=text), dtype=value),
            step("dtype_parse", ok(dtype=value), text=text),
        )

    for code, (name, _, fixed) in sorted(model.DTYPES.items()):
        dtype(f"{name}", [code, fixed or 64, 1])
        dtype(f"{name}-lanes-2", [code, fixed or 8, 2])
        dtype(f"{name}-other-width", [code, 3, 1])
        dtype(f"{name}-no-lanes", [code, fixed or 8, 0])
        dtype(f"{name}-no-bits", [code, 0, 1])
    for value in (
        [model.NEXT_DTYPE, 8, 1],
        [255, 255, 65535],
        [2, 16, 32768],
        [2, 255, 65535],
        [0, 1, 1],
    ):
        dtype("numbers-" + "-".join(map(str, value)), value)
    for text in (
        "",
        "float",
        "float0",
        "float032",
        "float256",
        "float32 ",
        " float32",
        "Float32",
        "float32x",
        "float32x0",
        "float32x1",
        "float32x01",
        "float32x65536",
        "bool8",
        "bfloat",
        "bfloat8",
        "float8_e4m3fn2",
        "int-8",
        "dtype(2,32)",
        "dtype(2,32,1",
        "dtype(256,1,1)",
        "dtype(1,256,1)",
        "dtype(1,1,65536)",
        "dtype(02,32,1)",
        "dtype(2,32,1)x",
        "dtype(2, 32,1)",
        "int99999999999999999999",
        "f",
        "x2",
    ):
        c.add(
            f"dtype/rejected/{text or 'nothing'}",
            {},
            step("dtype_parse", error("ERROR_PARSE"), text=text),
        )
    for kind in [*sorted(model.DEVICES), 0, 5, 6, model.NEXT_DEVICE, 2**31 - 1, -1, -(2**31)]:
        for index in (0, 7, 2**31 - 1, -1, -(2**31)):
            value = [kind, index]
            text = model.device_name(value)
            c.add(
                f"device/{text}",
                {},
                step("device_format", ok(text=text), device=value),
                step("device_parse", ok(device=value), text=text),
            )
    for kind, (name, _) in sorted(model.DEVICES.items()):
        c.add(
            f"device/without-id/{name}", {}, step("device_parse", ok(device=[kind, 0]), text=name)
        )
    c.add(
        "device/without-id/number", {}, step("device_parse", ok(device=[77, 0]), text="device(77)")
    )
    for text in (
        "",
        "cpu:",
        "cpu:x",
        "cpu:1x",
        "cpu:01",
        "cpu:-0",
        "cpu:2147483648",
        "cpu:-2147483649",
        "CPU:0",
        "gpu:0",
        " cpu",
        "cpu ",
        "cuda_hos",
        "cuda_host_",
        "device(1",
        "device()",
        "device(2147483648)",
        "device(1):",
        "device(-0)",
        ":0",
        "cpu:99999999999999999999",
    ):
        c.add(
            f"device/rejected/{text or 'nothing'}",
            {},
            step("device_parse", error("ERROR_PARSE"), text=text),
        )
    for kind in [*sorted(model.DEVICES), 0, 5, 6, model.NEXT_DEVICE, -1, 2**31 - 1]:
        answer = model.READABLE.get(kind, "UNDECIDED")
        c.add(
            f"host-accessible/{kind}",
            {},
            step(
                "host_accessible", ok(returns=int(answer == "YES"), answer=answer), device_type=kind
            ),
        )


def versions(c):
    def needs(name, subject):
        version = model.required(subject, int(subject.get("flags", 0)))
        if version == model.NO_RELEASE:
            expect = rejected(model.unknown_rule(subject))
        else:
            expect = ok(version=list(version))
        c.add(
            f"required-version/{name}",
            {"t": subject},
            step("required_version", expect, **{"in": "t"}),
        )

    for code, (name, _, fixed) in sorted(model.DTYPES.items()):
        needs(f"dtype-{name}", borrowed(dtype=[code, fixed or 32, 1]))
    for kind, (name, _) in sorted(model.DEVICES.items()):
        needs(f"device-{name}", borrowed(device=[kind, 0]))
    for flags in range(8):
        needs(f"flags-{flags}", borrowed(flags=flags))
    for name, fields in {
        f"dtype-number-{model.NEXT_DTYPE}": {"dtype": [model.NEXT_DTYPE, 8, 1]},
        "device-number-5": {"device": [5, 0]},
        "device-negative": {"device": [-1, 0]},
        "flag-8": {"flags": 8},
        "flag-top": {"flags": 2**63},
        "dtype-newer-than-device": {"dtype": [7, 8, 1], "device": [17, 0]},
        "device-newer-than-flags": {"device": [18, 0], "flags": 4},
        "flags-newer-than-device": {"device": [17, 0], "flags": 4},
        "null-strides": {"strides": None},
        "broken": {"ndim": -1},
    }.items():
        needs(name, borrowed(**fields))
    for producer, consumer, kind, version in (
        ([1, 3], [1, 3], "VERSIONED", [1, 3]),
        ([1, 3], [1, 1], "VERSIONED", [1, 1]),
        ([1, 0], [1, 3], "VERSIONED", [1, 0]),
        ([1, 9], [1, 3], "VERSIONED", [1, 3]),
        ([1, 3], [2, 0], "VERSIONED", [1, 3]),
        ([2, 1], [2, 5], "VERSIONED", [2, 1]),
        ([1, 3], [0, 8], "LEGACY", [0, 8]),
        ([1, 3], [0, 5], "LEGACY", [0, 5]),
        ([1, 3], [0, 0], "LEGACY", [0, 0]),
        ([0, 6], [1, 3], "LEGACY", [0, 6]),
        ([0, 8], [0, 6], "LEGACY", [0, 6]),
        ([1, 3], [0, 99], "LEGACY", [0, 8]),
        ([2, 0], [0, 8], "LEGACY", [0, 8]),
        ([0, 99], [2, 0], "LEGACY", [0, 8]),
        ([1, 2**32 - 1], [1, 2**32 - 1], "VERSIONED", [1, 2**32 - 1]),
        ([2, 0], [1, 3], None, None),
        ([3, 0], [2, 9], None, None),
    ):
        expect = ok(kind=kind, version=version) if kind else error("ERROR_VERSION")
        name = ".".join(map(str, producer)) + "-to-" + ".".join(map(str, consumer))
        c.add(
            f"negotiate/{name}", {}, step("negotiate", expect, producer=producer, consumer=consumer)
        )


def chains(c):
    whole = {"version": [1, 3]}
    functions = [
        "managed_tensor_allocator",
        "managed_tensor_from_py_object_no_sync",
        "managed_tensor_to_py_object_no_sync",
        "current_work_stream",
    ]
    found = [
        ("one", [whole], 0),
        ("optional-missing", [{**whole, "missing": ["dltensor_from_py_object_no_sync"]}], 0),
        ("newest-first", [whole, {"version": [1, 2]}], 0),
        ("newest-last", [{"version": [1, 2]}, whole], 1),
        ("minor-unknown", [{"version": [1, 77]}, whole], 0),
        ("other-major-first", [{"version": [2, 0]}, whole], 1),
        ("major-0-first", [{"version": [0, 9]}, whole], 1),
        ("same-version-twice", [whole, whole], 0),
        ("table-64", [{"version": [2, 0]}] * 63 + [whole], 63),
    ]
    for function in functions:
        found.append(
            (f"broken-{function}", [{**whole, "missing": [function]}, {"version": [1, 2]}], 1)
        )
    for name, chain, index in found:
        c.add(
            f"exchange/{name}",
            {},
            step("exchange_api_find", ok(index=index), chain=chain, consumer=[1, 3]),
        )
    for name, chain in (
        ("none-of-major-1", [{"version": [2, 0]}, {"version": [0, 1]}]),
        ("table-65", [{"version": [2, 0]}] * 64 + [whole]),
        *[(f"only-without-{f}", [{**whole, "missing": [f]}]) for f in functions],
    ):
        c.add(
            f"exchange/nothing/{name}",
            {},
            step("exchange_api_find", error("ERROR_NOT_FOUND"), chain=chain, consumer=[1, 3]),
        )
    ring = [{"version": [2, 0]}] * 3
    c.add(
        "exchange/ring",
        {},
        step("exchange_api_find", error("ERROR_NOT_FOUND"), chain=ring, ring=True, consumer=[1, 3]),
    )
    c.add(
        "exchange/ring-with-table",
        {},
        step(
            "exchange_api_find", ok(index=2), chain=[*ring[:2], whole], ring=True, consumer=[1, 0]
        ),
    )
    for major in (0, 2):
        c.add(
            f"exchange/consumer-major-{major}",
            {},
            step("exchange_api_find", error("ERROR_VERSION"), chain=[whole], consumer=[major, 0]),
        )


def kinds(c):
    def identify(name, subject, kind=None):
        kind = kind or subject["kind"]
        c.add(f"identify/{name}", {"t": subject}, step("identify", ok(kind=kind), **{"in": "t"}))

    heap, mapped, device = 0x55D0C0A81010, 0x7F32A8C01040, 0x302000000
    for where, data in {"heap": heap, "mapped": mapped, "device": device, "null": 0}.items():
        for make, kind in ((tensor, "legacy"), (versioned, "versioned")):
            shape = (0, 3) if data == 0 else (2, 3)
            identify(f"{kind}/{where}", make(data=data, shape=shape))
            identify(f"{kind}/{where}-no-deleter", make(data=data, shape=shape, deleter=False))
            identify(f"{kind}/{where}-cuda", make(data=data, shape=shape, device=[2, 1]))
            identify(f"{kind}/{where}-offset", make(data=data, shape=shape, byte_offset=64))
    identify("legacy/null-strides", tensor(data=mapped, strides=None))
    identify("legacy/scalar", tensor(data=mapped, shape=None, strides=None))
    identify("versioned/scalar", versioned(data=mapped, shape=None, strides=None))
    for minor in range(5):
        identify(f"versioned/minor-{minor}", versioned(version=[1, minor], data=mapped))
    identify("legacy/scalar-any-arrays", tensor(data=mapped, shape=(), strides=()))
    identify("versioned/flags", versioned(flags=7, data=mapped))
    identify("versioned/major-2", versioned(version=[2, 0], data=mapped))
    # A data pointer that reads as a version: the other fields distinguish the two kinds.
    identify("sure/data-as-version", tensor(data=(3 << 32) | 2, shape=None, strides=None), "LEGACY")
    identify(
        "neither/legacy-with-a-version", tensor(data=(3 << 32) | 2, dtype=[2, 0, 1]), "UNKNOWN"
    )
    identify("sure/data-as-major-0", tensor(data=3 << 32, shape=None, strides=None), "LEGACY")
    identify(
        "sure/data-as-huge-version",
        tensor(data=(3 << 32) | 256, shape=None, strides=None),
        "LEGACY",
    )
    identify(
        "sure/data-as-huge-minor", tensor(data=(256 << 32) | 2, shape=None, strides=None), "LEGACY"
    )
    # The first word of these cannot be a version, so they are legacy, however invalid they are.
    for name, subject in {
        "type-0": tensor(device=[0, 0]),
        "id-negative": tensor(device=[1, -1]),
        "ndim-negative": tensor(ndim=-1),
        "no-bits": tensor(dtype=[2, 0, 1]),
        "no-lanes": tensor(dtype=[2, 32, 0]),
        "shape-null": tensor(shape=None, strides=None, ndim=2),
        "data-null": tensor(data=0),
    }.items():
        identify(f"broken-legacy/{name}", subject, "LEGACY")
    for name, version in {
        "major-0": [0, 8],
        "0.0": [0, 0],
        "major-256": [256, 0],
        "minor-256": [1, 256],
    }.items():
        identify(f"no-version/{name}", versioned(version=version), "LEGACY")
    for name, subject in {
        "type-0": versioned(device=[0, 0]),
        "id-negative": versioned(device=[1, -1]),
        "ndim-negative": versioned(ndim=-1),
        "no-bits": versioned(dtype=[2, 0, 1]),
        "no-lanes": versioned(dtype=[2, 32, 0]),
        "shape-null": versioned(shape=None, strides=None, ndim=2),
    }.items():
        identify(f"neither/{name}", subject, "UNKNOWN")


def add(corpus):
    for part in (layouts, texts, names, versions, chains, kinds):
        part(corpus)
