# SPDX-License-Identifier: Apache-2.0
"""Cases on devices, none of which needs a driver: wrap, copy, pointer information,
streams, the context table."""

import model
from cases_convert import made, made_legacy
from corpus import (
    bad_argument,
    borrowed,
    error,
    ok,
    rejected,
    step,
    tensor,
    versioned,
)

IS_COPIED, PADDED, READ_ONLY = model.IS_COPIED, model.PADDED, model.READ_ONLY
UINT64_MAX = model.UINT64 - 1


def memory(data=4096, size=None, deleter=True):
    """Memory at an address that is never read, or `size` real bytes with increasing values."""
    if size is None:
        return {"kind": "MEMORY", "data": str(data), "deleter": deleter}
    text = bytes(i % 251 for i in range(size)).hex()
    return {"kind": "MEMORY", "data": "0", "bytes": text, "deleter": deleter}


def wrap_spec(shape=(2, 3), **fields):
    made = {
        "shape": None if shape is None else [str(n) for n in shape],
        "device": [1, 0],
        "dtype": [2, 32, 1],
    }
    for key, value in fields.items():
        numbers = key in ("byte_offset", "buffer_size", "tensor_flags")
        made[key] = str(value) if numbers else value
    if "strides" in made and made["strides"] is not None:
        made["strides"] = [str(n) for n in made["strides"]]
    return made


def described(spec, data=4096, **changes):
    """The tensor that a spec describes, as the model reads it."""
    shape = [int(n) for n in spec["shape"] or []]
    strides = spec.get("strides") or [str(n) for n in model.compact_strides(shape)]
    made = borrowed(
        shape=shape,
        data=data,
        device=spec["device"],
        dtype=spec["dtype"],
        byte_offset=spec.get("byte_offset", "0"),
        flags=spec.get("tensor_flags", "0"),
    )
    made.update(strides=strides, shape=spec["shape"], ndim=spec.get("ndim", len(shape)))
    made.update(changes)
    return made


def wrapped(spec, version=(1, 3), **changes):
    return made(described(spec), version, spec.get("tensor_flags", "0"), **changes)


def add_wrap(c, name, spec, expect, about=None, call="wrap", **more):
    """One wrap, and the release of its result if it succeeds."""
    steps = [step(call, expect, **{"in": "m"}, out="v", spec=spec, **more)]
    if expect["status"] == "OK":
        steps.append(step("release", ok(deleters={"m": 1}), **{"in": "v"}))
    else:
        steps.append(step("check", ok(deleters={"m": 0})))
    c.add(f"{call}/{name}", {"m": memory()}, *steps, about=about)


def wraps(c):
    def case(name, spec, expect=None, **more):
        add_wrap(c, name, spec, expect or wrapped(spec), **more)

    case("plain", wrap_spec())
    case("scalar", wrap_spec(()))
    case("strided", wrap_spec(strides=(1, 2)))
    case("negative-strides", wrap_spec(strides=(-3, -1), byte_offset=20))
    case("broadcast", wrap_spec(strides=(0, 1)))
    case("offset", wrap_spec(byte_offset=64), about="The offset is written, never added to data.")
    case("read-only", wrap_spec(tensor_flags=READ_ONLY))
    case("padded", wrap_spec(dtype=[17, 4, 1], tensor_flags=PADDED))
    case("packed", wrap_spec(dtype=[17, 4, 1]))
    case("cuda", wrap_spec(device=[2, 3]))
    case("rocm", wrap_spec(device=[10, 1]))
    case("oneapi", wrap_spec(device=[14, 0]))
    case("pinned-id", wrap_spec(device=[3, 2]), wrapped(wrap_spec(), device=[3, 0]))
    case("vulkan", wrap_spec(device=[7, 0], buffer={"kind": "HANDLE"}))
    case("opencl", wrap_spec(device=[4, 0], buffer={"kind": "CL_MEM"}))
    case("kind-of-the-device", wrap_spec(device=[4, 0], buffer={"kind": "DEFAULT"}))
    case("kind-of-vulkan", wrap_spec(device=[7, 0], buffer={"kind": "DEFAULT"}))
    case("kind-of-cuda", wrap_spec(device=[2, 0], buffer={"kind": "DEFAULT"}))
    case("opencl-offset", wrap_spec(device=[4, 0], buffer={"kind": "CL_MEM"}, byte_offset=4096))
    case("backend-said", wrap_spec(device=[2, 0], buffer={"backend": "CUDA"}))
    case("version-1.0", wrap_spec(version=[1, 0]), wrapped(wrap_spec(), version=(1, 0)))
    case("vouched", wrap_spec(strides=(7, 1), options=["SKIP_VALIDATION"]))
    case("buffer-size-exact", wrap_spec(buffer_size=24))
    empty = wrap_spec((0, 3), strides=(5, 7))
    case("empty", empty, wrapped(empty, data=0, strides=["3", "1"]))
    rejections_of_wrap(case)


def rejections_of_wrap(case):
    case("device-not-set", wrap_spec(device=[0, 0]), bad_argument())
    case("dtype-not-set", wrap_spec(dtype=[0, 0, 0]), bad_argument())
    case("cpu-id-negative", wrap_spec(device=[1, -1]), rejected("DEVICE_ID_NEGATIVE"))
    case("ndim-65", wrap_spec([1] * 65), rejected("NDIM_LIMIT"))
    case("buffer-size-0", wrap_spec(buffer_size=0), rejected("BUFFER_BOUNDS"))
    case("buffer-size", wrap_spec(buffer_size=23), rejected("BUFFER_BOUNDS"))
    case("before-the-buffer", wrap_spec(strides=(-3, 1), buffer_size=24), rejected("BUFFER_BOUNDS"))
    case(
        "handle-range",
        wrap_spec(device=[7, 0], buffer={"kind": "HANDLE"}, strides=(-3, 1)),
        rejected("HANDLE_RANGE"),
    )
    case("dim-negative", wrap_spec((2, -3)), rejected("EXTENT_NEGATIVE", 1))
    case("ndim-negative", wrap_spec(ndim=-1), rejected("NDIM_NEGATIVE"))
    case("shape-null", wrap_spec(None, ndim=2), rejected("SHAPE_NULL"))
    case("no-bits", wrap_spec(dtype=[2, 0, 1]), rejected("DTYPE_BITS_ZERO"))
    case("count", wrap_spec((2**40, 2**40)), rejected("COUNT_OVERFLOW"))
    case("id-negative", wrap_spec(device=[2, -1]), rejected("DEVICE_ID_NEGATIVE"))
    case("device-unknown", wrap_spec(device=[99, 0]), rejected("DEVICE_UNKNOWN"))
    case("dtype-unknown", wrap_spec(dtype=[99, 8, 1]), rejected("DTYPE_UNKNOWN"))
    case("flags-unknown", wrap_spec(tensor_flags=8), rejected("FLAGS_UNKNOWN"))
    case(
        "padded-too-new", wrap_spec(dtype=[17, 4, 1], version=[1, 0]), rejected("REQUIRED_VERSION")
    )
    case("policy", wrap_spec(strides=(1, 2), policy={"contiguity": "C"}), rejected("CONTIGUITY"))
    case("policy-dtype", wrap_spec(policy={"dtypes": [[2, 64, 1]]}), rejected("DTYPE_REJECTED"))
    case("policy-and-vouched", wrap_spec(policy={}, options=["SKIP_VALIDATION"]), bad_argument())
    case("size-and-vouched", wrap_spec(buffer_size=24, options=["SKIP_VALIDATION"]), bad_argument())
    case("kind-of-another", wrap_spec(buffer={"kind": "CL_MEM"}), bad_argument())
    case("address-of-opencl", wrap_spec(device=[4, 0]), bad_argument())
    case("kind-unknown", wrap_spec(buffer={"kind": 9}), error("ERROR_TOO_NEW"))
    case("backend-of-another", wrap_spec(device=[2, 0], buffer={"backend": "HIP"}), bad_argument())
    case("retain-of-address", wrap_spec(options=["RETAIN"]), bad_argument())
    case("options-unknown", wrap_spec(options=1 << 13), error("ERROR_TOO_NEW"))
    case("flag-as-option", wrap_spec(options=1), bad_argument())
    case("size-without-limit", wrap_spec(buffer_size=24, options=0), bad_argument())
    case("version-2.0", wrap_spec(version=[2, 0]), bad_argument())
    case("version-0.8", wrap_spec(version=[0, 8]), bad_argument())


def wraps_legacy(c):
    def legacy(spec, **changes):
        return made_legacy(described(spec), **changes)

    def case(name, spec, expect=None):
        add_wrap(c, name, spec, expect or legacy(spec), call="wrap_legacy")

    case("plain", wrap_spec())
    case("strided", wrap_spec(strides=(1, 2)))
    case("cuda", wrap_spec(device=[2, 1]))
    case("is-copied", wrap_spec(tensor_flags=IS_COPIED))
    case("read-only", wrap_spec(tensor_flags=READ_ONLY), rejected("LEGACY_READ_ONLY"))
    case("padded", wrap_spec(dtype=[0, 4, 1], tensor_flags=PADDED), rejected("LEGACY_PADDED"))
    case("float8", wrap_spec(dtype=[10, 8, 1]), rejected("LEGACY_DTYPE"))
    case("maia", wrap_spec(device=[17, 0]), rejected("LEGACY_DEVICE"))
    case("version", wrap_spec(version=[1, 0]), bad_argument())
    case("dim-negative", wrap_spec((2, -3)), rejected("EXTENT_NEGATIVE", 1))
    empty = wrap_spec((0, 3))
    case("empty", empty, legacy(empty, data=0))
    c.add(
        "wrap_legacy/upgraded",
        {"m": memory()},
        step("wrap_legacy", legacy(wrap_spec()), **{"in": "m"}, out="l", spec=wrap_spec()),
        step(
            "upgrade",
            made(described(wrap_spec()), flags=0),
            **{"in": "l"},
            out="v",
        ),
        step("release", ok(deleters={"m": 1}), **{"in": "v"}),
        about="What wrap knows is not forgotten: the memory may be written to.",
    )


def owners_of_wrapped(c):
    plain = wrapped(wrap_spec())
    c.add(
        "wrap/shared",
        {"m": memory()},
        step("wrap", plain, **{"in": "m"}, out="v", spec=wrap_spec()),
        step("share", ok(**{"is": "new"}), **{"in": "v"}, out="s"),
        step("release", ok(deleters={"m": 0}), **{"in": "v"}),
        step("release", ok(deleters={"m": 1}), **{"in": "s"}),
    )
    c.add(
        "wrap/no-release",
        {"m": memory(deleter=False)},
        step("wrap", plain, **{"in": "m"}, out="v", spec=wrap_spec()),
        step("release", ok(deleters={"m": 0}), **{"in": "v"}),
    )
    c.add(
        "wrap/viewed",
        {"m": memory()},
        step("wrap", plain, **{"in": "m"}, out="v", spec=wrap_spec()),
        step("view", ok(**{"is": "new"}), **{"in": "v"}, out="w", spec={"shape": ["3"]}),
        step("release", ok(deleters={"m": 0}), **{"in": "v"}),
        step("release", ok(deleters={"m": 1}), **{"in": "w"}),
    )


# ----------------------------------------------------------------------------------------- copy


def element_bytes(source, data):
    """The bytes of whole-byte elements in the order of the shape."""
    layout = model.Layout(source, 0)
    size = layout.bits // 8
    places = [int(source["byte_offset"])]
    for extent, stride in zip(layout.shape, layout.strides):
        places = [place + i * stride * size for place in places for i in range(extent)]
    return b"".join(data[place : place + size] for place in places).hex()


def copied(source, version=(1, 3), flags=IS_COPIED, data="any", **changes):
    shape = [int(n) for n in source["shape"]]
    strides = [str(n) for n in model.compact_strides(shape)]
    fields = {"strides": strides, "byte_offset": 0, "device": [1, 0], **changes}
    return made(source, version, flags, data=data, **fields)


COUNTING = bytes(i % 251 for i in range(512))


def real(kind="BORROWED", **fields):
    return tensor(kind, data=0, bytes=COUNTING.hex(), **fields)


def copies(c):
    host = {"device": [1, 0]}

    def case(name, source, spec=None, expect=None, allocator=None, **changes):
        more = {"allocator": allocator} if allocator else {}
        if expect is None:
            expect = {**copied(source, **changes), "bytes": element_bytes(source, COUNTING)}
        c.add(
            f"copy-of/{name}",
            {"t": source},
            step("copy", expect, **{"in": "t"}, out="v", spec={**host, **(spec or {})}, **more),
        )

    case("compact", real())
    case("device-not-set", real(), {"device": [0, 0]})
    case("scalar", real(shape=()))
    case("transposed", real(strides=["1", "2"]))
    case("reversed", real(strides=["-3", "-1"], byte_offset=20))
    case("broadcast", real(strides=["0", "1"]))
    case("every-second", real(shape=(4,), strides=["2"]))
    case("byte-offset", real(byte_offset=4))
    case("four-axes", real(shape=(2, 3, 2, 4), strides=["1", "20", "10", "2"]))
    for size in (8, 16, 64):
        case(f"items-of-{size}-bits", real(dtype=[0, size, 1], strides=["1", "2"]))
    case("complex128", real(dtype=[5, 128, 1], strides=["1", "2"]))
    case("three-lanes", real(dtype=[1, 8, 3], strides=["1", "2"]))
    case("versioned", real("VERSIONED", strides=["1", "2"]))
    case("legacy", real("LEGACY", strides=["1", "2"]))
    case("read-only", real("VERSIONED", flags=READ_ONLY))
    case(
        "padded-to-padded",
        real("VERSIONED", dtype=[17, 4, 1], flags=PADDED),
        {"tensor_flags": str(PADDED)},
        {**copied(real(dtype=[17, 4, 1]), flags=IS_COPIED | PADDED), "bytes": "000102030405"},
    )
    case(
        "padded-to-packed",
        real("VERSIONED", dtype=[17, 4, 1], flags=PADDED),
        {},
        {**copied(real(dtype=[17, 4, 1])), "bytes": "103254"},
    )
    case(
        "packed-to-packed",
        real(dtype=[17, 4, 1]),
        {},
        {**copied(real(dtype=[17, 4, 1])), "bytes": "000102"},
    )
    case("by-allocator", real(strides=["1", "2"]), allocator="counts")
    case("allocator-fails", real(), {}, error("ERROR_OUT_OF_MEMORY"), allocator="fails")
    case("version-1.0", real(), {"version": [1, 0]}, version=(1, 0))
    case("flags", real(), {"tensor_flags": "1"}, flags=IS_COPIED | READ_ONLY)
    empty = real(shape=(0, 3))
    case("empty", empty, {}, copied(empty, data=0))
    rejections_of_copy(case)
    targets(c)


def rejections_of_copy(case):
    case("broken", real(shape=(2, -3)), {}, rejected("EXTENT_NEGATIVE", 1))
    case("null", borrowed(data=0), {}, rejected("DATA_NULL"))
    case(
        "policy", real(strides=["1", "2"]), {"policy": {"contiguity": "C"}}, rejected("CONTIGUITY")
    )
    case("version-2.0", real(), {"version": [2, 0]}, bad_argument())
    case("options-unknown", real(), {"options": 1 << 10}, error("ERROR_TOO_NEW"))
    case("flag-as-option", real(), {"options": 1}, bad_argument())
    for bit in (3, 4, 31, 63):
        unknown = real("VERSIONED", flags=1 << bit)
        case(f"flag-{bit}-of-the-source", unknown, {}, rejected("FLAGS_UNKNOWN"))
    case("flag-unknown", real(), {"tensor_flags": "8"}, rejected("FLAGS_UNKNOWN"))
    case(
        "shareable-by-allocator",
        real(),
        {"options": ["SHAREABLE"]},
        bad_argument(),
        allocator="counts",
    )
    case("to-webgpu", real(), {"device": [15, 0]}, error("ERROR_UNSUPPORTED"))
    case("from-webgpu", borrowed(device=[15, 0]), {}, error("ERROR_UNSUPPORTED"))


def targets(c):
    def case(name, size, expect, source=None, **spec):
        source = source or real(strides=["1", "2"])
        target = {"device": [1, 0], "target": "m", **spec}
        steps = [step("copy", expect, **{"in": "t"}, out="v", spec=target)]
        if expect["status"] == "OK":
            steps.append(step("release", ok(deleters={"m": 1, "t": 0}), **{"in": "v"}))
        else:
            steps.append(step("check", ok(deleters={"m": 0, "t": 0})))
        c.add(f"copy-of/target-{name}", {"t": source, "m": memory(size=size)}, *steps)

    transposed = real(strides=["1", "2"])
    whole = {**copied(transposed), "bytes": element_bytes(transposed, COUNTING)}
    case("exact", 24, whole, target_size="24")
    case("larger", 64, whole, target_size="64")
    behind = copied(transposed, byte_offset=8)
    case("offset", 64, behind, target_size="64", target_offset="8")
    case("short", 24, error("ERROR_BUFFER_TOO_SMALL"), target_size="23")
    case(
        "offset-leaves-too-little",
        24,
        error("ERROR_BUFFER_TOO_SMALL"),
        target_size="24",
        target_offset="1",
    )
    case(
        "offset-behind",
        24,
        bad_argument(),
        target_size="24",
        target_offset=str(UINT64_MAX),
    )
    case("kind-of-another", 24, bad_argument(), target_size="24", buffer={"kind": "CL_MEM"})
    case("shareable", 24, bad_argument(), target_size="24", options=["SHAREABLE"])


# ------------------------------------------------------------------------------------ pointer info


def places(c):
    host = {
        "backend": "CPU",
        "device": [1, 0],
        "memory": "HOST",
        "native_device": -1,
        "base": "0",
        "size": "0",
        "context": "0",
    }

    def case(name, expect, device=(1, 0), **buffer):
        arguments = {"buffer": buffer} if buffer else {}
        c.add(
            f"pointer_info/{name}",
            {"m": memory(size=16)},
            step("pointer_info", expect, **{"in": "m"}, device=list(device), **arguments),
        )

    case("host", ok(info=host))
    case("host-asked-of-the-cpu", ok(info=host), backend="CPU")
    case("cl-mem-of-the-cpu", bad_argument(), kind="CL_MEM", backend="CPU")
    case("kind-unknown", error("ERROR_TOO_NEW"), kind=9)
    case("kind-negative", bad_argument(), kind=-1)
    case("backend-unknown", error("ERROR_TOO_NEW"), backend=9)
    case("backend-negative", bad_argument(), backend=-1)
    case("webgpu", error("ERROR_UNSUPPORTED"), device=(15, 0))
    case("device-unknown", error("ERROR_UNSUPPORTED"), device=(99, 0))


def backends(c):
    c.add(
        "backend_info/cpu",
        {},
        step(
            "backend_info",
            ok(
                info={
                    "backend": "CPU",
                    "state": "READY",
                    "device_count": 1,
                    "driver_code": 0,
                    "driver_version": "",
                    "runtime_version": "",
                    "file": "",
                    "reason": "",
                }
            ),
            backend="CPU",
        ),
    )
    for backend, expect in (
        ("NONE", bad_argument()),
        (-1, bad_argument()),
        (6, error("ERROR_TOO_NEW")),
        (2**31 - 1, error("ERROR_TOO_NEW")),
    ):
        c.add(f"backend_info/{backend}", {}, step("backend_info", expect, backend=backend))


# ----------------------------------------------------------------------------------------- streams


def stream(backend, kind, device, handle=0):
    return {
        "backend": backend,
        "kind": kind,
        "device": list(device),
        "handle": str(handle),
        "context": "0",
    }


def array_api_streams(c):
    def case(name, device, number, expect):
        value = None if number is None else str(number)
        c.add(
            f"stream_from_array_api/{name}",
            {},
            step("stream_from_array_api", expect, device=list(device), stream=value),
        )

    cuda, rocm, cpu, opencl, metal = (2, 1), (10, 2), (1, 0), (4, 0), (8, 0)
    for number, handle in ((None, 1), (1, 1), (2, 2), (3, 3), (2**63 - 1, 2**63 - 1)):
        case(f"cuda-{number}", cuda, number, ok(stream=stream("CUDA", "QUEUE", cuda, handle)))
    case("cuda--1", cuda, -1, ok(stream=stream("CUDA", "NO_SYNC", cuda)))
    for number in (0, -2, -(2**63) + 1):
        case(f"cuda-{number}", cuda, number, bad_argument())
    for number, handle in ((None, 0), (0, 0), (3, 3)):
        case(f"rocm-{number}", rocm, number, ok(stream=stream("HIP", "QUEUE", rocm, handle)))
    case("rocm--1", rocm, -1, ok(stream=stream("HIP", "NO_SYNC", rocm)))
    for number in (1, 2, -2):
        case(f"rocm-{number}", rocm, number, bad_argument())
    case("cpu-None", cpu, None, ok(stream=stream("CPU", "HOST", cpu)))
    for number in (-1, 0, 1):
        case(f"cpu-{number}", cpu, number, bad_argument())
    case("opencl-None", opencl, None, ok(stream=stream("OPENCL", "HOST", opencl)))
    case("opencl--1", opencl, -1, ok(stream=stream("OPENCL", "NO_SYNC", opencl)))
    case("opencl-5", opencl, 5, error("ERROR_UNSUPPORTED"))
    case("metal-None", metal, None, ok(stream=stream("NONE", "HOST", metal)))
    case("metal-1", metal, 1, error("ERROR_UNSUPPORTED"))


def handoffs(c):
    host = {"kind": "HOST"}
    no_sync = {"kind": "NO_SYNC"}
    queue = {"backend": "CUDA", "kind": "QUEUE", "device": [2, 0], "handle": "4096"}
    other = {"backend": "HIP", "kind": "QUEUE", "device": [10, 0], "handle": "4096"}

    def case(name, producer, consumer, expect, **more):
        c.add(
            f"stream_handoff/{name}",
            {},
            step("stream_handoff", expect, producer=producer, consumer=consumer, **more),
        )

    case("host-to-host", host, host, ok())
    case("host-to-queue", host, queue, ok())
    case("no-sync-to-queue", no_sync, queue, ok())
    case("queue-to-no-sync", queue, no_sync, ok())
    case("queue-to-itself", queue, queue, ok())
    case("two-backends", queue, other, error("ERROR_UNSUPPORTED"))
    case("kind-unknown", {"kind": 9}, host, error("ERROR_TOO_NEW"))
    case("kind-unknown-consumer", host, {"kind": 0}, bad_argument())
    case("queue-of-the-cpu", {**queue, "backend": "CPU"}, host, bad_argument())
    case("queue-of-nobody", {**queue, "backend": "NONE"}, host, bad_argument())
    case("cuda-handle-0", {**queue, "handle": "0"}, host, bad_argument())
    case("list-of-cuda", {**queue, "kind": "IMMEDIATE_LIST"}, host, bad_argument())
    case("options-unknown", host, host, error("ERROR_TOO_NEW"), handoff=1 << 10)
    case("flag-as-option", host, host, bad_argument(), handoff=1)
    case("options", host, host, ok(), handoff=["ALLOW_HOST_WAIT", "ALLOW_CAPTURE"])

    def wait(name, on, expect):
        c.add(f"stream_synchronize/{name}", {}, step("stream_synchronize", expect, stream=on))

    wait("host", host, ok())
    wait("no-sync", no_sync, bad_argument())
    wait("kind-unknown", {"kind": 9}, error("ERROR_TOO_NEW"))
    wait("queue-of-the-cpu", {**queue, "backend": "CPU"}, bad_argument())


# ------------------------------------------------------------------------------- the context table


def entry(context, device=(14, 9000), **fields):
    made = {
        "backend": "LEVEL_ZERO",
        "device": list(device),
        "platform": "11",
        "native_device": "22",
        "context": str(context),
        "queue": "33",
        "queue_kind": "QUEUE",
        "properties": [],
        "uuid": "000102030405060708090a0b0c0d0e0f",
    }
    return {**made, **fields}


def register(out, what, expect=None, **more):
    return step("context_register", expect or ok(), entry=what, out=out, **more)


def lookup(device, expect, **more):
    return step("context_find", expect, device=list(device), **more)


def on(call, name, expect=None):
    return step(call, expect or ok(), entry=name)


def tables(c):
    device = (14, 9000)
    one, two = entry(1), entry(2)
    held = {"m": memory()}
    c.add(
        "context_register/found-by-device-and-by-context",
        {},
        register("one", one),
        register("two", two),
        lookup(device, ok(**{"is": "one"}, entry=entry(1, properties=["DEFAULT"]))),
        lookup(device, ok(**{"is": "two"}, entry=two), context="2"),
        lookup(device, error("ERROR_NOT_FOUND"), context="3"),
        step("context_next", error("ERROR_NOT_FOUND", entries=["one", "two"])),
        on("context_unregister", "one"),
        lookup(device, ok(**{"is": "two"}, entry=entry(2, properties=["DEFAULT"]))),
    )
    c.add(
        "context_register/default",
        {},
        register("one", one),
        register("two", entry(2, properties=["DEFAULT"])),
        lookup(device, ok(**{"is": "two"})),
    )
    c.add(
        "context_register/exists",
        held,
        register("one", one),
        register("again", one, error("ERROR_EXISTS"), **{"in": "m"}),
        register("other", entry(2, native_device="23"), error("ERROR_EXISTS")),
        step("check", ok(deleters={"m": 0})),
    )
    c.add(
        "context_register/replace",
        held,
        register("one", one, **{"in": "m"}),
        register("other", entry(2, native_device="23", properties=["REPLACE"])),
        step("check", ok(deleters={"m": 1})),
        lookup(device, ok(**{"is": "other"})),
        on("context_unregister", "one", error("ERROR_NOT_FOUND")),
    )
    c.add(
        "context_unregister/releases",
        held,
        register("one", one, **{"in": "m"}),
        on("context_unregister", "one", ok(deleters={"m": 1})),
        on("context_unregister", "one", error("ERROR_NOT_FOUND", deleters={"m": 1})),
        on("context_retain", "one", error("ERROR_NOT_FOUND")),
        on("context_release", "one", error("ERROR_NOT_FOUND")),
    )
    c.add(
        "context_retain/outlives-the-registration",
        held,
        register("one", one, **{"in": "m"}),
        on("context_retain", "one"),
        on("context_unregister", "one", ok(deleters={"m": 0})),
        on("context_release", "one", ok(deleters={"m": 1})),
        on("context_release", "one", error("ERROR_NOT_FOUND", deleters={"m": 1})),
    )
    rejections_of_tables(c)
    kept_by_a_tensor(c)


def rejections_of_tables(c):
    def case(name, what, expect=None):
        c.add(
            f"context_register/{name}",
            {"m": memory()},
            register("one", what, expect or bad_argument(), **{"in": "m"}),
            step("check", ok(deleters={"m": 0})),
        )

    case("cpu", entry(1, (1, 0), backend="CPU"))
    case("backend-unknown", entry(1, backend=9))
    case("backend-of-another", entry(1, backend="CUDA"))
    case("context-null", entry(0))
    case("properties-unknown", entry(1, properties=16), error("ERROR_TOO_NEW"))
    case("queue-kind-unknown", entry(1, queue_kind=9))
    case("queue-kind-without-queue", entry(1, queue="0"))
    case("id-negative", entry(1, (14, -1)))
    c.add(
        "context_find/no-backend",
        {},
        lookup((8, 0), error("ERROR_UNSUPPORTED")),
        lookup((99, 0), error("ERROR_UNSUPPORTED")),
    )
    for call in ("context_retain", "context_release", "context_unregister"):
        c.add(f"{call}/unknown", {}, on(call, "nobody", error("ERROR_NOT_FOUND")))


def kept_by_a_tensor(c):
    spec = wrap_spec(device=[14, 9000], buffer={"context": "1"})
    c.add(
        "wrap/keeps-its-context",
        {"m": memory(), "e": memory()},
        register("one", entry(1), **{"in": "e"}),
        step("wrap", ok(**{"is": "new"}), **{"in": "m"}, out="v", spec=spec),
        on("context_unregister", "one", ok(deleters={"e": 0, "m": 0})),
        step("release", ok(deleters={"e": 1, "m": 1}), **{"in": "v"}),
    )
    other = wrap_spec(device=[14, 9000], buffer={"context": "2"})
    c.add(
        "wrap/another-context",
        {"m": memory()},
        register("one", entry(1)),
        step("wrap", error("ERROR_NOT_FOUND"), **{"in": "m"}, out="v", spec=other),
    )


def levels(c):
    c.validate("validate/level-device/host", versioned(), None, "NONE")
    c.cases[-1]["steps"][0]["policy"] = {"level": "DEVICE"}


def releases_after(c):
    host = {"kind": "HOST"}
    queue = {"backend": "CUDA", "kind": "QUEUE", "device": [2, 0], "handle": "4096"}

    def case(name, streams, expect=None, source=None, **more):
        deleters = {"t": 0 if expect else 1}
        c.add(
            f"release_after/{name}",
            {"t": source or real("VERSIONED")},
            step(
                "release_after",
                {**(expect or ok()), "deleters": deleters},
                **{"in": "t"},
                streams=streams,
                **more,
            ),
            step("collect", ok(left=0)),
        )

    case("host", [host])
    case("host-twice", [host, host])
    case("legacy", [host], source=real("LEGACY"))
    case("no-stream", [], bad_argument())
    case("not-set", [{"kind": 0}], bad_argument())
    case("no-sync", [{"kind": "NO_SYNC"}], bad_argument())
    case("second-no-sync", [host, {"kind": "NO_SYNC"}], bad_argument())
    case("kind-unknown", [{"kind": 9}], error("ERROR_TOO_NEW"))
    case("queue-of-the-cpu", [{**queue, "backend": "CPU"}], bad_argument())
    case("queue-without-a-handle", [{**queue, "handle": "0"}], bad_argument())
    c.add("collect/nothing", {}, step("collect", ok(left=0)))
    c.add("collect/wait", {}, step("collect", ok(left=0), collect=["WAIT"]))
    c.add("collect/flag-as-option", {}, step("collect", bad_argument(), collect=1))
    c.add("collect/option-unknown", {}, step("collect", error("ERROR_TOO_NEW"), collect=1 << 9))


def copies_async(c):
    host = {"kind": "HOST"}
    queue = {"backend": "CUDA", "kind": "QUEUE", "device": [2, 0], "handle": "4096"}

    def case(name, stream, expect, **spec):
        source = real("VERSIONED", strides=["1", "2"])
        given = {"device": [1, 0], **({"stream": stream} if stream else {}), **spec}
        c.add(
            f"copy_async/{name}",
            {"t": source},
            step("import", ok(), **{"in": "t"}, out="o"),
            step("copy_async", expect, **{"in": "o"}, out="v", spec=given),
            step("collect", ok(left=0)),
        )

    transposed = real("VERSIONED", strides=["1", "2"])
    whole = {**copied(transposed), "bytes": element_bytes(transposed, COUNTING)}
    case("host", host, whole)
    case("not-set", None, bad_argument())
    case("no-sync", {"kind": "NO_SYNC"}, bad_argument())
    case("staging", host, bad_argument(), options=["ALLOW_STAGING"])
    case("host-memory-on-a-queue", queue, error("ERROR_UNSUPPORTED"))
    case("version-2.0", host, bad_argument(), version=[2, 0])
    c.add(
        "copy_async/foreign",
        {"t": real("VERSIONED")},
        step(
            "copy_async",
            error("ERROR_FOREIGN_TENSOR"),
            **{"in": "t"},
            out="v",
            spec={"device": [1, 0], "stream": host},
        ),
    )


def misuse_of_streams(c):
    host = {"kind": "HOST"}

    def case(call, name, expect, **arguments):
        c.add(
            f"{call}/misuse-{name}",
            {"t": real("VERSIONED")},
            step(call, expect, **{"in": "t"}, **arguments),
            abi=True,
        )

    for null in ("tensor", "streams"):
        case("release_after", f"null-{null}", bad_argument(), null=[null], streams=[host])
    for kind in ("UNKNOWN", "BORROWED", "AMBIGUOUS"):
        case("release_after", f"kind-{kind}", bad_argument(), kind=kind, streams=[host])
    no_memory = error("ERROR_OUT_OF_MEMORY")
    case("release_after", "no-memory", no_memory, streams=[host], fail=1)
    for null in ("source", "spec", "out"):
        case(
            "copy_async",
            f"null-{null}",
            bad_argument(),
            null=[null],
            out="v",
            spec={"device": [1, 0], "stream": host},
        )


def misuse(c):
    def case(call, name, expect=None, objects=None, **arguments):
        c.add(
            f"{call}/misuse-{name}",
            objects or {},
            step(call, expect or bad_argument(), **arguments),
            abi=True,
        )

    of_memory = {"objects": {"m": memory()}, "in": "m", "out": "v", "spec": wrap_spec()}
    for call in ("wrap", "wrap_legacy"):
        for null in ("spec", "out"):
            case(call, f"null-{null}", null=[null], **of_memory)
        case(call, "smaller", struct={"name": "wrap", "size": "smaller"}, **of_memory)
        case(call, "huge", struct={"name": "wrap", "size": "huge"}, **of_memory)
        case(call, "flag-0", struct={"name": "wrap", "options": 1}, **of_memory)
        too_new = error("ERROR_TOO_NEW")
        for bit in (13, 30, 31):
            damage = {"name": "wrap", "options": 1 << bit}
            case(call, f"option-{bit}", too_new, struct=damage, **of_memory)
        case(
            call,
            "newer",
            error("ERROR_TOO_NEW"),
            struct={"name": "wrap", "size": "larger", "tail": 1},
            **of_memory,
        )
        case(call, "no-memory", error("ERROR_OUT_OF_MEMORY"), fail=1, **of_memory)
    of_copy = {"objects": {"t": real()}, "in": "t", "out": "v", "spec": {"device": [1, 0]}}
    for null in ("source", "spec", "out"):
        case("copy", f"null-{null}", null=[null], **of_copy)
    case("copy", "smaller", struct={"name": "copy", "size": "smaller"}, **of_copy)
    case("copy", "huge", struct={"name": "copy", "size": "huge"}, **of_copy)
    case("copy", "flag-0", struct={"name": "copy", "options": 1}, **of_copy)
    for bit in (10, 30, 31):
        damage = {"name": "copy", "options": 1 << bit}
        case("copy", f"option-{bit}", error("ERROR_TOO_NEW"), struct=damage, **of_copy)
    case(
        "copy",
        "newer",
        error("ERROR_TOO_NEW"),
        struct={"name": "copy", "size": "larger", "tail": 1},
        **of_copy,
    )
    case("copy", "no-memory", error("ERROR_OUT_OF_MEMORY"), fail=1, **of_copy)
    case("backend_info", "null", null=["out"], backend="CPU")
    for null in ("buffer", "out"):
        case(
            "pointer_info",
            f"null-{null}",
            null=[null],
            objects={"m": memory()},
            device=[1, 0],
            **{"in": "m"},
        )
    case("stream_from_array_api", "null", null=["out"], device=[2, 0], stream="1")
    for null in ("producer", "consumer"):
        case(
            "stream_handoff",
            f"null-{null}",
            null=[null],
            producer={"kind": "HOST"},
            consumer={"kind": "HOST"},
        )
    case("stream_synchronize", "null", null=["stream"], stream={"kind": "HOST"})
    for null in ("entry", "id"):
        case("context_register", f"null-{null}", null=[null], entry=entry(1), out="one")
    case(
        "context_register",
        "smaller",
        struct={"name": "entry", "size": "smaller"},
        entry=entry(1),
        out="one",
    )
    for reserved in range(4):
        case(
            "context_register",
            f"reserved-{reserved}",
            error("ERROR_TOO_NEW"),
            struct={"name": "entry", "set": f"reserved_{reserved}"},
            entry=entry(1),
            out="one",
        )
    case("context_find", "null", null=["out"], device=[14, 9000])
    for null in ("cursor", "out"):
        case("context_next", f"null-{null}", null=[null])


def add(corpus):
    wraps(corpus)
    wraps_legacy(corpus)
    owners_of_wrapped(corpus)
    copies(corpus)
    places(corpus)
    backends(corpus)
    array_api_streams(corpus)
    handoffs(corpus)
    tables(corpus)
    levels(corpus)
    releases_after(corpus)
    copies_async(corpus)
    misuse(corpus)
    misuse_of_streams(corpus)
