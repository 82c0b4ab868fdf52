# SPDX-License-Identifier: Apache-2.0
"""One function for each call that a case of the corpus can name. It returns everything that a case
can expect. A failed call raises; `answer` converts that to status, rule, axis and message."""

import ctypes

from corpus_world import bits, number, numbers, texts
from dlbridge import abi

# The exception for each status; the types are part of the API.
EXCEPTIONS = {
    # [facts/statuses.toml]
    "INVALID_ARGUMENT": ValueError,
    "TOO_NEW": ValueError,
    "OUT_OF_MEMORY": MemoryError,
    "INVALID_TENSOR": BufferError,
    "VERSION": BufferError,
    "POLICY": BufferError,
    "UNREPRESENTABLE": BufferError,
    "UNKNOWN_CODE": BufferError,
    "FOREIGN_TENSOR": BufferError,
    "UNSUPPORTED": BufferError,
    "BUFFER_TOO_SMALL": ValueError,
    "PARSE": ValueError,
    "NOT_FOUND": ValueError,
    "BOUNDS": ValueError,
    "FORKED": RuntimeError,
    "UNAVAILABLE": RuntimeError,
    "DRIVER": RuntimeError,
    "EXISTS": ValueError,
    "CAPTURE": RuntimeError,
    "DESCRIPTOR": ValueError,
    "AMBIGUOUS": ValueError,
    # [/facts]
}


def rejected(error):
    """The fields of an exception of the library, or why it is not one."""
    status = getattr(error, "status", None)
    if type(error) is not EXCEPTIONS.get(status):
        return {"status": f"{type(error).__name__}({error}) with status {status}"}
    return {
        "status": "ERROR_" + status,
        "rule": error.rule or "NONE",
        "axis": -1 if error.axis is None else error.axis,
        "message": str(error),
    }


def answer(world, step):
    try:
        return {"status": "OK", **CALLS[step["call"]](world, step)}
    except Exception as error:
        more = {key: getattr(error, key) for key in ("failed", "length") if hasattr(error, key)}
        more.update(getattr(error, "more", {}))
        return {**rejected(error), **more, "deleters": world.deletes()}


# ----------------------------------------------------------------------------------- the arguments


def option_bits(spec, kind):
    """The sum of the named options, or the number given instead of names."""
    if "options_raw" in spec:
        return number(spec["options_raw"])
    return sum(kind[name] for name in spec.get("options", []))


def limits_of(spec):
    """The limits of a policy, and the options that they imply unless the options are a number."""
    given = {key: spec[key] for key in ("min_ndim", "max_ndim") if key in spec}
    if "buffer_size" in spec:
        given["buffer_size"] = number(spec["buffer_size"])
    if "shape" in spec:
        given["shape"] = numbers(spec["shape"])
    implied = abi.PolicyOption.LIMIT_BUFFER if "buffer_size" in spec else 0
    if "options_raw" in spec:
        return given, 0
    if "shape" in spec:
        given["min_ndim"] = given["max_ndim"] = len(spec["shape"])
    elif "min_ndim" in spec or "max_ndim" in spec:
        given = {"max_ndim": 64, **given}
    return given, implied | (abi.PolicyOption.LIMIT_NDIM if "max_ndim" in given else 0)


def policy_of(spec):
    if spec is None:
        return None
    given, implied = limits_of(spec)
    given.update({key: spec[key] for key in ("version", "devices", "dtypes") if key in spec})
    if "alignment" in spec:
        given["alignment"] = number(spec["alignment"])
    if "level" in spec:
        given["level"] = value_of(spec["level"], abi.Level)
    if "contiguity" in spec:
        given["contiguity"] = value_of(spec["contiguity"], abi.Contiguity)
    return abi.Policy(options=option_bits(spec, abi.PolicyOption) | implied, **given)


def options_of(world, step):
    if "options" not in step and "allocator" not in step:
        return None
    spec = step.get("options", {})
    return abi.ConvertOptions(
        options=option_bits(spec, abi.ConvertOption),
        version=spec.get("version", (0, 0)),
        tensor_flags=number(spec.get("tensor_flags", 0)),
        policy=policy_of(spec.get("policy")),
        allocator=world.allocator(step["allocator"]) if "allocator" in step else None,
    )


def kind_of(step, handle):
    """The kind that the step passes: UNKNOWN, or the object's kind."""
    return abi.Kind[step["kind"]] if "kind" in step else handle.kind


def value_of(value, kind):
    return value if isinstance(value, int) else kind[value]


def buffer_of(spec, data):
    return abi.Buffer(
        value_of(spec.get("backend", "NONE"), abi.Backend),
        value_of(spec.get("kind", "ADDRESS"), abi.BufferKind),
        data,
        number(spec.get("context", 0)),
    )


def stream_of(spec):
    return abi.Stream(
        value_of(spec.get("backend", "NONE"), abi.Backend),
        value_of(spec["kind"], abi.StreamKind),
        tuple(spec.get("device", (1, 0))),
        number(spec.get("handle", 0)),
        number(spec.get("context", 0)),
    )


# ------------------------------------------------------------------------------------- the answers


def described(handle, expected):
    fields = handle.fields
    ndim = fields.ndim
    data = str(fields.data or 0)
    seen = {
        "kind": handle.kind.name,
        "data": "any" if data != "0" and expected.get("data") == "any" else data,
        "device": [fields.device.device_type, fields.device.device_id],
        "ndim": ndim,
        "dtype": [fields.dtype.code, fields.dtype.bits, fields.dtype.lanes],
        "shape": texts(fields.shape[:ndim]) if ndim else [],
        "strides": texts(fields.strides[:ndim]) if fields.strides else None,
        "byte_offset": str(fields.byte_offset),
    }
    if handle.kind == abi.Kind.VERSIONED:
        managed = abi.DLManagedTensorVersioned.from_address(handle.address)
        seen["version"] = [managed.version.major, managed.version.minor]
        seen["flags"] = str(managed.flags)
    return seen


def result(world, step, name, address, kind=abi.Kind.VERSIONED):
    """Returns the tensor that a call made, and stores its name."""
    expect = step["expect"]
    out = {"is": world.name_of(address)}
    world.put(name, address, abi.Kind(kind))
    handle = world.live[name]
    out["tensor"] = described(handle, expect.get("tensor", {}))
    if "bytes" in expect:
        size = abi.layout(handle.tensor, handle.flags)["packed_bytes"]
        out["bytes"] = ctypes.string_at(handle.fields.data or 0, size).hex() if size else ""
    return out


# --------------------------------------------------------------------------------- looking at them


def call_validate(world, step):
    handle, policy = world.live[step["in"]], policy_of(step.get("policy"))
    if handle.kind == abi.Kind.LEGACY:
        abi.validate_legacy(handle.address, policy)
    elif handle.kind == abi.Kind.VERSIONED:
        abi.validate_versioned(handle.address, policy)
    else:
        abi.validate(handle.address, handle.flags, policy)
    return {}


def call_diagnose(world, step):
    handle = world.live[step["in"]]
    flags = handle.flags if handle.kind == abi.Kind.BORROWED else 0
    found = abi.diagnose(handle.address, handle.kind, flags, policy_of(step.get("policy")))
    findings = [
        {
            "rule": one["rule"],
            "axis": -1 if one["axis"] is None else one["axis"],
            "severity": abi.Severity(one["severity"]).name,
            "expected": one["expected"],
            "found": one["found"],
        }
        for one in found
    ]
    return {"findings": findings, "count": len(findings)}


def call_layout(world, step):
    handle = world.live[step["in"]]
    layout = abi.layout(handle.tensor, handle.flags)
    assert layout.pop("ndim") == handle.fields.ndim  # the case states it
    layout["properties"] = abi.names_of(abi.LayoutProperty, layout["properties"])
    layout["self_overlap"] = abi.Answer(layout["self_overlap"]).name
    wide = {"element_count", "packed_bytes", "begin", "end", "broadcast_axes", "negative_axes"}
    return {"layout": {k: str(v) if k in wide | {"alignment"} else v for k, v in layout.items()}}


def formatted(step, write):
    """The returned text, or the text written to a buffer of the step's size."""
    if "size" not in step:
        text = write(None)
        return {"text": text, "length": len(text.encode())}
    buffer = bytearray(b"#" * step["size"])
    try:
        return {"length": write(buffer), "text": buffer.split(b"\0")[0].decode()}
    except ValueError as error:
        error.more = {"text": buffer.split(b"\0")[0].decode()}
        raise


def call_tensor_format(world, step):
    handle = world.live[step["in"]]
    return formatted(step, lambda to: abi.tensor_format(handle.tensor, handle.flags, to))


def call_required_version(world, step):
    handle = world.live[step["in"]]
    return {"version": list(abi.required_version(handle.tensor, handle.flags))}


def call_negotiate(_world, step):
    kind, version = abi.negotiate(step["producer"], step["consumer"])
    return {"kind": abi.Kind(kind).name, "version": list(version)}


def call_exchange(_world, step):
    tables = (abi.DLPackExchangeAPI * len(step["chain"]))()
    functions = [name for name, _ in abi.DLPackExchangeAPI._fields_[1:]]
    for table, spec in zip(tables, step["chain"]):
        table.header.version = abi.DLPackVersion(*spec["version"])
        for name in set(functions) - set(spec.get("missing", [])):
            setattr(table, name, 1)  # a marker to look for
    links = list(range(1, len(tables))) + ([0] if step.get("ring") else [])
    for table, link in zip(tables, links):
        table.header.prev_api = ctypes.pointer(tables[link].header)
    start = ctypes.addressof(tables)
    found = abi.exchange_api_find(start, step["consumer"])
    return {"index": (found - start) // ctypes.sizeof(abi.DLPackExchangeAPI)}


def call_host_accessible(_world, step):
    device_type = step["device_type"]
    answer = abi.Answer(abi.host_accessible_answer(device_type)).name
    return {"returns": int(abi.host_accessible(device_type)), "answer": answer}


def call_module_pin(world, step):
    # Without a tensor: static data of the library, such as its table.
    inside = world.live[step["in"]].fields.data if "in" in step else abi.get_api()
    abi.module_pin(inside or 0)
    return {}


# ------------------------------------------------------------------------------------- conversions


def call_upgrade(world, step):
    source = world.live[step["in"]].address
    out = abi.upgrade(source, options_of(world, step))
    world.take(step["in"])
    return result(world, step, step["out"], out)


def call_upgrade_into(world, step):
    handle = world.live[step["in"]]
    ndim = handle.fields.ndim
    size = abi.upgrade_storage_size(ndim if 0 < ndim < 1000 else 0)
    memory = world.storage(size + 8)
    how = step.get("storage", "exact")
    memory += 8 if how == "unaligned" else 0
    out = abi.upgrade_into(
        handle.address,
        0 if how == "null" else memory,
        size - (how == "short"),
        world.storage_released,
        options_of(world, step),
    )
    world.take(step["in"])
    world.storages_in_use += 1
    return result(world, step, step["out"], out)


def call_upgrade_many(world, step):
    names = step["in"] if isinstance(step["in"], list) else [step["in"]]
    outs = step["out"] if isinstance(step["out"], list) else [step["out"]]
    made = abi.upgrade_many([world.live[one].address for one in names], options_of(world, step))
    answers = {"failed": len(names)}  # no tensor is the cause
    for name, out, address in zip(names, outs, made):
        world.take(name)
        answers.update(result(world, step, out, address))
    return answers


def call_downgrade(world, step):
    out = abi.downgrade(world.live[step["in"]].address, options_of(world, step))
    world.take(step["in"])
    return result(world, step, step["out"], out, abi.Kind.LEGACY)


def kept_name(world, step, out, kind=abi.Kind.VERSIONED):
    """The result may be the source itself, so the source keeps its name until then."""
    made = result(world, step, step["out"], out, kind)
    world.take(step["in"])
    return made


def call_import(world, step):
    handle = world.live[step["in"]]
    out = abi.import_tensor(handle.address, kind_of(step, handle), options_of(world, step))
    return kept_name(world, step, out)


def call_export(world, step):
    handle = world.live[step["in"]]
    given = kind_of(step, handle)
    out, kind = abi.export_tensor(handle.address, given, step["target"], options_of(world, step))
    return {"kind": abi.Kind(kind).name, **kept_name(world, step, out, kind)}


# ----------------------------------------------------------------------------- making and releasing


def shape_and_ndim(spec):
    return {"shape": numbers(spec.get("shape")), "ndim": spec.get("ndim")}


def call_view(world, step):
    spec = step["spec"]
    out = abi.view(
        world.live[step["in"]].address,
        strides=numbers(spec.get("strides")),
        offset=number(spec.get("offset", 0)),
        dtype=spec.get("dtype", (0, 0, 0)),
        **shape_and_ndim(spec),
    )
    return result(world, step, step["out"], out)


def call_allocate(world, step):
    spec = step["spec"]
    alignment = number(spec.get("alignment", 0))
    out = abi.allocate(
        dtype=spec.get("dtype", (0, 0, 0)),
        device=spec.get("device", (0, 0)),
        alignment=alignment,
        tensor_flags=number(spec.get("tensor_flags", 0)),
        version=spec.get("version", (0, 0)),
        allocator=world.allocator(step["allocator"]) if "allocator" in step else None,
        **shape_and_ndim(spec),
    )
    made = result(world, step, step["out"], out)
    if (world.live[step["out"]].fields.data or 0) % (alignment or 256):
        made["status"] = "not aligned"
    return made


def wrap_options(spec):
    """A number implies no further options."""
    given = spec.get("options", [])
    if isinstance(given, int):
        return given
    return bits(given, abi.WrapOption) | (
        abi.WrapOption.LIMIT_BUFFER if "buffer_size" in spec else 0
    )


def wrap_with(function, kind):
    def call(world, step):
        spec = step["spec"]
        memory = world.producers[step["in"]]
        out = function(
            buffer_of(spec.get("buffer", {}), memory.data),
            dtype=spec.get("dtype", (0, 0, 0)),
            strides=numbers(spec.get("strides")),
            device=spec.get("device", (0, 0)),
            byte_offset=number(spec.get("byte_offset", 0)),
            buffer_size=number(spec.get("buffer_size", 0)),
            options=wrap_options(spec),
            tensor_flags=number(spec.get("tensor_flags", 0)),
            version=spec.get("version", (0, 0)),
            release=memory.release,
            policy=policy_of(spec.get("policy")),
            **shape_and_ndim(spec),
        )
        world.take(step["in"])
        return result(world, step, step["out"], out, kind)

    return call


def copied(world, step, function, *arguments):
    """Calls a copying function with the spec of a step, which takes its target over."""
    spec = step["spec"]
    more = {}
    if "target" in spec:
        memory = world.producers[spec["target"]]
        more = {
            "target": buffer_of(spec.get("buffer", {}), memory.data),
            "target_offset": number(spec.get("target_offset", 0)),
            "target_size": number(spec.get("target_size", 0)),
            "release": memory.release,
        }
    if "stream" in spec:
        more["stream"] = stream_of(spec["stream"])
    out = function(
        *arguments,
        spec.get("device", (0, 0)),
        options=bits(spec.get("options"), abi.CopyOption),
        tensor_flags=number(spec.get("tensor_flags", 0)),
        version=spec.get("version", (0, 0)),
        policy=policy_of(spec.get("policy")),
        allocator=world.allocator(step["allocator"]) if "allocator" in step else None,
        **more,
    )
    if "target" in spec:
        world.take(spec["target"])
    return result(world, step, step["out"], out)


def call_copy(world, step):
    handle = world.live[step["in"]]
    return copied(world, step, abi.copy, handle.tensor, handle.flags)


def call_copy_async(world, step):
    return copied(world, step, abi.copy_async, world.live[step["in"]].address)


def call_release_after(world, step):
    handle = world.live[step["in"]]
    streams = [stream_of(stream) for stream in step["streams"]]
    try:
        abi.release_after(handle.address, handle.kind, streams)
    except (BufferError, MemoryError, RuntimeError, ValueError) as error:
        error.more = {"deleters": world.deletes()}
        raise
    world.take(step["in"])
    return {"deleters": world.deletes()}


def call_collect(_world, step):
    return {"left": abi.collect(bits(step.get("collect"), abi.CollectOption))}


def call_release(world, step):
    if "kind" in step:  # of another struct
        abi.release(world.live[step["in"]].address, abi.Kind[step["kind"]])
    world.release(step["in"])
    return {"deleters": world.deletes()}


# ----------------------------------------------------------------------------------------- devices


def call_backend_info(_world, step):
    info = abi.backend_info(value_of(step["backend"], abi.Backend))
    info["backend"] = abi.name_of(abi.Backend, info["backend"])
    info["state"] = abi.name_of(abi.State, info["state"])
    return {"info": info}


def call_pointer_info(world, step):
    name = step["in"]
    data = world.live[name].fields.data or 0 if name in world.live else world.producers[name].data
    info = abi.pointer_info(buffer_of(step.get("buffer", {}), data), step["device"])
    return {
        "info": {
            "backend": abi.name_of(abi.Backend, info["backend"]),
            "device": list(info["device"]),
            "memory": abi.name_of(abi.Memory, info["memory"]),
            "native_device": info["native_device"],
            "base": str(info["base"]),
            "size": str(info["size"]),
            "context": str(info["context"]),
        }
    }


def call_stream_from_array_api(_world, step):
    given = None if step["stream"] is None else number(step["stream"])
    stream = abi.Stream(*abi.stream_from_array_api(step["device"], given))
    return {
        "stream": {
            "backend": abi.name_of(abi.Backend, stream.backend),
            "kind": abi.name_of(abi.StreamKind, stream.kind),
            "device": list(stream.device),
            "handle": str(stream.handle),
            "context": str(stream.context),
        }
    }


def call_stream_handoff(_world, step):
    options = bits(step.get("handoff"), abi.HandoffOption)
    abi.stream_handoff(stream_of(step["producer"]), stream_of(step["consumer"]), options)
    return {}


def call_stream_synchronize(_world, step):
    abi.stream_synchronize(stream_of(step["stream"]))
    return {}


def call_context_register(world, step):
    spec = step["entry"]
    wide = ("platform", "native_device", "context", "queue")
    known = abi.context_register(
        value_of(spec["backend"], abi.Backend),
        spec["device"],
        **{key: number(spec[key]) for key in wide if key in spec},
        queue_kind=value_of(spec.get("queue_kind") or 0, abi.StreamKind),
        properties=bits(spec.get("properties"), abi.ContextProperty),
        uuid=bytes.fromhex(spec.get("uuid", "")),
        release=world.producers[step["in"]].entry_released if "in" in step else None,
    )
    world.entries[step["out"]] = known
    world.take(step.get("in"))
    return {}


def call_context_find(world, step):
    entry = abi.context_find(step["device"], number(step.get("context", 0)))
    kind = entry["queue_kind"]
    return {
        "is": world.entry_name(entry["id"]),
        "entry": {
            "backend": abi.name_of(abi.Backend, entry["backend"]),
            "device": list(entry["device"]),
            **{k: str(entry[k]) for k in ("platform", "native_device", "context", "queue")},
            "queue_kind": abi.name_of(abi.StreamKind, kind) if kind else None,
            "properties": abi.names_of(abi.ContextProperty, entry["properties"]),
            "uuid": entry["uuid"].hex(),
        },
    }


def call_context_next(world, _step):
    """Walks the table; returns the entries of the case that it finds, and how the walk ends."""
    cursor, met = 0, []
    try:
        while True:
            cursor, entry = abi.context_next(cursor)
            met.append(world.entry_name(entry["id"]))
    except ValueError as end:
        end.more = {"entries": [name for name in met if name != "other"]}
        raise


def on_entry(function):
    def call(world, step):
        function(world.entry_id(step["entry"]))
        if function is abi.context_unregister:
            world.ended.add(step["entry"])
        return {"deleters": world.deletes()}

    return call


CALLS = {
    "validate": call_validate,
    "diagnose": call_diagnose,
    "layout": call_layout,
    "tensor_format": call_tensor_format,
    "dtype_format": lambda _, step: formatted(step, lambda to: abi.dtype_format(step["dtype"], to)),
    "dtype_parse": lambda _, step: {"dtype": list(abi.dtype_parse(step["text"]))},
    "device_format": lambda _, step: formatted(
        step, lambda to: abi.device_format(step["device"], to)
    ),
    "device_parse": lambda _, step: {"device": list(abi.device_parse(step["text"]))},
    "host_accessible": call_host_accessible,
    "required_version": call_required_version,
    "negotiate": call_negotiate,
    "exchange_api_find": call_exchange,
    "identify": lambda world, step: {
        "kind": abi.Kind(abi.identify(world.live[step["in"]].address)).name
    },
    "module_pin": call_module_pin,
    "upgrade": call_upgrade,
    "upgrade_into": call_upgrade_into,
    "upgrade_many": call_upgrade_many,
    "downgrade": call_downgrade,
    "import": call_import,
    "export": call_export,
    "share": lambda world, step: result(
        world, step, step["out"], abi.share(world.live[step["in"]].address)
    ),
    "view": call_view,
    "allocate": call_allocate,
    "release": call_release,
    "backend_info": call_backend_info,
    "pointer_info": call_pointer_info,
    "wrap": wrap_with(abi.wrap, abi.Kind.VERSIONED),
    "wrap_legacy": wrap_with(abi.wrap_legacy, abi.Kind.LEGACY),
    "copy": call_copy,
    "copy_async": call_copy_async,
    "release_after": call_release_after,
    "collect": call_collect,
    "stream_from_array_api": call_stream_from_array_api,
    "stream_handoff": call_stream_handoff,
    "stream_synchronize": call_stream_synchronize,
    "context_register": call_context_register,
    "context_find": call_context_find,
    "context_next": call_context_next,
    "context_retain": on_entry(abi.context_retain),
    "context_release": on_entry(abi.context_release),
    "context_unregister": on_entry(abi.context_unregister),
    "check": lambda world, _: {"deleters": world.deletes()},
}
