// SPDX-License-Identifier: Apache-2.0
//! The calls of the corpus that concern devices. None needs a driver.

use crate::arguments::{device, device_json, dtype, list, names, unsigned, version, PolicyHolder};
use crate::calls::{answer, made, raw_answer, with_borrowed};
use crate::names::{self, Names};
use crate::world::{bytes_of, Live, Producer, World};
use dlbridge::{
    sys, Backend, BackendState, Buffer, CollectOptions, ContextInfo, ContextSpec, CopySpec, Error,
    Flags, HandOff, Released, Stream, Tensor, UniqueTensor, WrapSpec,
};
use serde_json::{json, Value};
use std::sync::atomic::Ordering;

/// The number of a name, or the number itself for values without a name.
fn value_of(value: &Value, known: &Names, otherwise: i32) -> i32 {
    match value {
        Value::Null => otherwise,
        Value::String(name) => number_of(name, known).map_or(-1, |n| i32::try_from(n).unwrap()),
        number => i32::try_from(number.as_i64().unwrap()).unwrap(),
    }
}

fn number_of(name: &str, known: &Names) -> Option<u32> {
    known.iter().find(|(other, _)| *other == name).map(|(_, number)| *number)
}

fn name_of(value: i32, known: &Names) -> Value {
    let name = known.iter().find(|(_, number)| i32::try_from(*number) == Ok(value));
    name.map_or(json!(value), |(name, _)| json!(name))
}

/// The bits of a list of names, or the number itself.
fn bits_of(value: &Value, known: &Names) -> u32 {
    if let Some(number) = value.as_u64() {
        return u32::try_from(number).unwrap();
    }
    let bit = |name| number_of(name, known).expect("a known bit");
    names(value).into_iter().map(bit).fold(0, |all, bit| all | bit)
}

fn bit_names(bits: u32, known: &Names) -> Value {
    known.iter().filter(|(_, bit)| bits & bit != 0).map(|(name, _)| *name).collect()
}

fn buffer_of(spec: &Value, data: *const std::ffi::c_void) -> Buffer {
    let mut raw = *Buffer::address(data).as_raw();
    raw.backend = value_of(&spec["backend"], names::BACKEND, 0);
    raw.kind = value_of(&spec["kind"], names::BUFFER, 1);
    raw.context = unsigned(&spec["context"], 0);
    Buffer::from_raw(raw)
}

fn stream_of(spec: &Value) -> Stream {
    let device = match &spec["device"] {
        Value::Null => json!([1, 0]),
        given => given.clone(),
    };
    let raw = sys::DLBridgeStream {
        backend: value_of(&spec["backend"], names::BACKEND, 0),
        kind: value_of(&spec["kind"], names::STREAM, 0),
        device: raw_device(&device),
        handle: unsigned(&spec["handle"], 0),
        context: unsigned(&spec["context"], 0),
        reserved: 0,
    };
    // SAFETY: no driver uses it.
    unsafe { Stream::from_raw(raw) }
}

fn raw_device(value: &Value) -> sys::DLDevice {
    let device = device(value);
    sys::DLDevice { device_type: device.device_type.0, device_id: device.id }
}

fn stream_json(stream: &Stream) -> Value {
    let raw = stream.as_raw();
    json!({
        "backend": name_of(raw.backend, names::BACKEND),
        "kind": name_of(raw.kind, names::STREAM),
        "device": [raw.device.device_type, raw.device.device_id],
        "handle": raw.handle.to_string(),
        "context": raw.context.to_string(),
    })
}

fn entry_json(info: &ContextInfo) -> Value {
    let kind = info.as_raw().queue_kind;
    let hex = info.uuid().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    json!({
        "backend": name_of(info.backend().0, names::BACKEND),
        "device": device_json(info.device()),
        "platform": info.platform().to_string(),
        "native_device": info.native_device().to_string(),
        "context": info.context().to_string(),
        "queue": info.queue().to_string(),
        "queue_kind": if kind == 0 { Value::Null } else { name_of(kind, names::STREAM) },
        "properties": bit_names(info.as_raw().properties, names::CONTEXT),
        "uuid": hex,
    })
}

pub fn backend_info(step: &Value, _world: &mut World) -> Value {
    let info = dlbridge::backend_info(Backend(value_of(&step["backend"], names::BACKEND, 0)));
    let mut seen = answer(&info);
    let Ok(info) = info else { return seen };
    seen["info"] = json!({
        "backend": name_of(info.backend.0, names::BACKEND),
        "state": match info.state {
            BackendState::Ready => "READY",
            BackendState::Absent => "ABSENT",
            BackendState::Unusable => "UNUSABLE",
        },
        "device_count": info.device_count,
        "driver_code": info.driver_code,
        "driver_version": info.driver_version,
        "runtime_version": info.runtime_version,
        "file": info.file,
        "reason": info.reason,
    });
    seen
}

pub fn pointer_info(step: &Value, world: &mut World) -> Value {
    let data = match world.get(&step["in"]) {
        Live::Memory(_) => world.memory(&step["in"]).data(),
        // SAFETY: a live tensor.
        other => unsafe { (*other.borrowed().as_ptr()).data },
    };
    let buffer = buffer_of(&step["buffer"], data);
    // SAFETY: no driver uses it.
    let info = unsafe { dlbridge::pointer_info(buffer, device(&step["device"])) };
    let mut seen = answer(&info);
    let Ok(info) = info else { return seen };
    seen["info"] = json!({
        "backend": name_of(info.backend().0, names::BACKEND),
        "device": device_json(info.device()),
        "memory": name_of(info.memory().0, names::MEMORY),
        "native_device": info.as_raw().native_device,
        "base": info.base().to_string(),
        "size": info.size().to_string(),
        "context": info.context().to_string(),
    });
    seen
}

/// Counts for a producer that its memory was released.
fn counter(producer: &Producer) -> impl FnOnce(Released) + Send + 'static {
    let deletes = producer.deletes.clone();
    let address = producer.data() as u64;
    move |released| {
        let own = released.buffer().value() == address && released.stream().is_none();
        deletes.fetch_add(if own { 1 } else { 100 }, Ordering::Relaxed);
    }
}

/// Calls `make` with the spec of a step and the release of its memory, if it has one.
fn with_wrap<R>(
    step: &Value,
    world: &World,
    make: impl FnOnce(&WrapSpec<'_>, Option<Box<dyn FnOnce(Released) + Send>>) -> R,
) -> R {
    let given = &step["spec"];
    let memory = world.memory(&step["in"]);
    let shape = list(&given["shape"]);
    let strides = list(&given["strides"]);
    let holder = PolicyHolder::new(&given["policy"]);
    let policy = holder.get();
    let buffer = buffer_of(&given["buffer"], memory.data());
    let mut spec = WrapSpec::new(buffer, dtype(&given["dtype"]), shape.as_deref().unwrap_or(&[]))
        .byte_offset(unsigned(&given["byte_offset"], 0))
        .device(device(&given["device"]))
        .tensor_flags(Flags(unsigned(&given["tensor_flags"], 0)))
        .version(version(&given["version"]));
    if !given["buffer_size"].is_null() {
        spec = spec.buffer_size(unsigned(&given["buffer_size"], 0));
    }
    if !given["policy"].is_null() {
        spec = spec.policy(&policy);
    }
    // SAFETY: the library rejects a wrong number of axes before it reads the lists; elements are
    // read only if the case has bytes.
    let raw = unsafe { spec.as_raw_mut() };
    let options = bits_of(&given["options"], names::WRAP);
    // A number replaces all options; names are added to those that the methods have set.
    raw.options = if given["options"].is_number() { options } else { raw.options | options };
    if let Some(ndim) = given["ndim"].as_i64() {
        raw.ndim = i32::try_from(ndim).unwrap();
    }
    if let Some(strides) = &strides {
        raw.strides = strides.as_ptr();
    }
    let release = memory.has_deleter.then(|| Box::new(counter(memory)) as Box<_>);
    make(&spec, release)
}

pub fn wrap(step: &Value, world: &mut World) -> Value {
    // SAFETY: as above.
    let result = with_wrap(step, world, |spec, release| unsafe {
        match release {
            Some(release) => spec.wrap_with(release),
            None => spec.wrap(),
        }
    });
    if result.is_ok() {
        drop(world.take(&step["in"]));
    }
    made(step, world, result.map(Live::Tensor))
}

pub fn wrap_legacy(step: &Value, world: &mut World) -> Value {
    // SAFETY: as above.
    let result = with_wrap(step, world, |spec, release| unsafe {
        match release {
            Some(release) => spec.wrap_legacy_with(release),
            None => spec.wrap_legacy(),
        }
    });
    if result.is_ok() {
        drop(world.take(&step["in"]));
    }
    made(step, world, result.map(Live::Legacy))
}

/// Calls `make` with the spec of a step and its target, if it has one: buffer, offset, size, and
/// what counts its release.
fn with_copy<R>(
    step: &Value,
    world: &World,
    make: impl FnOnce(&CopySpec<'_>, Option<Target<'_>>) -> R,
) -> R {
    let given = &step["spec"];
    let allocator = step["allocator"].as_str().map(|how| world.allocator(how == "fails"));
    let holder = PolicyHolder::new(&given["policy"]);
    let policy = holder.get();
    let mut spec = CopySpec::new()
        .device(device(&given["device"]))
        .tensor_flags(Flags(unsigned(&given["tensor_flags"], 0)))
        .version(version(&given["version"]));
    if !given["policy"].is_null() {
        spec = spec.policy(&policy);
    }
    if let Some(allocator) = &allocator {
        spec = spec.allocator(allocator);
    }
    if !given["stream"].is_null() {
        spec = spec.stream(stream_of(&given["stream"]));
    }
    // SAFETY: no pointer is altered.
    unsafe { spec.as_raw_mut() }.options = bits_of(&given["options"], names::COPY);
    let target = (!given["target"].is_null()).then(|| {
        let memory = world.memory(&given["target"]);
        Target {
            buffer: buffer_of(&given["buffer"], memory.data()),
            offset: unsigned(&given["target_offset"], 0),
            size: unsigned(&given["target_size"], 0),
            memory,
        }
    });
    make(&spec, target)
}

/// The memory that a step copies to.
struct Target<'a> {
    buffer: Buffer,
    offset: u64,
    size: u64,
    memory: &'a Producer,
}

/// The answer of a copy, which takes its target over.
fn copied(step: &Value, world: &mut World, result: Result<Tensor, Error>) -> Value {
    let target = &step["spec"]["target"];
    if result.is_ok() && !target.is_null() {
        drop(world.take(target));
    }
    made(step, world, result.map(Live::Tensor))
}

pub fn copy(step: &Value, world: &mut World) -> Value {
    let source = world.get(&step["in"]).borrowed();
    let result = with_copy(step, world, |spec, target| match target {
        None => source.copy(spec),
        Some(to) => {
            let release = counter(to.memory);
            // SAFETY: the case owns the memory.
            unsafe { source.copy_into(spec, to.buffer, to.offset, to.size, release) }
        }
    });
    copied(step, world, result.map(UniqueTensor::into_shared))
}

/// Only a validated tensor can be copied so in Rust: other tensors are treated as one, which the
/// library rejects.
pub fn copy_async(step: &Value, world: &mut World) -> Value {
    let result = with_borrowed(world.get(&step["in"]), |source| {
        with_copy(step, world, |spec, target| match target {
            None => source.copy_async(spec),
            Some(to) => {
                let release = counter(to.memory);
                // SAFETY: the case owns the memory.
                unsafe { source.copy_into_async(spec, to.buffer, to.offset, to.size, release) }
            }
        })
    });
    // SAFETY: no driver makes a copy of the corpus, so each is complete.
    let done = result.map(|pending| unsafe { pending.assume_done() }.into_shared());
    copied(step, world, done)
}

pub fn release_after(step: &Value, world: &mut World) -> Value {
    let streams = step["streams"].as_array().expect("streams").iter().map(stream_of);
    let streams = streams.collect::<Vec<_>>();
    let result = match world.take(&step["in"]) {
        Live::Legacy(tensor) => {
            tensor.release_after(&streams).map_err(|back| (back.error, Live::Legacy(back.value)))
        }
        Live::Tensor(tensor) => {
            tensor.release_after(&streams).map_err(|back| (back.error, Live::Tensor(back.value)))
        }
        other => other
            .into_versioned()
            .release_after(&streams)
            .map_err(|back| (back.error, Live::Versioned(back.value))),
    };
    let result = result.map_err(|(error, live)| {
        world.put(&step["in"], live);
        error
    });
    let mut seen = answer(&result);
    seen["deleters"] = world.deletes();
    seen
}

pub fn collect(step: &Value, _world: &mut World) -> Value {
    let options = CollectOptions::from_bits(bits_of(&step["collect"], names::COLLECT));
    let left = dlbridge::collect(options);
    let mut seen = answer(&left);
    seen["left"] = json!(left.unwrap_or(0));
    seen
}

pub fn stream_from_array_api(step: &Value, _world: &mut World) -> Value {
    let number = (!step["stream"].is_null()).then(|| crate::arguments::signed(&step["stream"], 0));
    // SAFETY: no driver uses it.
    let stream = unsafe { Stream::from_array_api(device(&step["device"]), number) };
    let mut seen = answer(&stream);
    if let Ok(stream) = &stream {
        seen["stream"] = stream_json(stream);
    }
    seen
}

pub fn stream_handoff(step: &Value, _world: &mut World) -> Value {
    let options = HandOff::from_bits(bits_of(&step["handoff"], names::HANDOFF));
    answer(&stream_of(&step["producer"]).hand_off(&stream_of(&step["consumer"]), options))
}

pub fn stream_synchronize(step: &Value, _world: &mut World) -> Value {
    answer(&stream_of(&step["stream"]).synchronize())
}

pub fn context_register(step: &Value, world: &mut World) -> Value {
    let given = &step["entry"];
    let mut spec = ContextSpec::new(
        Backend(value_of(&given["backend"], names::BACKEND, 0)),
        device(&given["device"]),
        unsigned(&given["native_device"], 0),
        unsigned(&given["context"], 0),
    )
    .platform(unsigned(&given["platform"], 0));
    let uuid = bytes_of(given["uuid"].as_str().unwrap_or(""));
    let mut whole = [0; 16];
    whole[..uuid.len().min(16)].copy_from_slice(&uuid[..uuid.len().min(16)]);
    spec = spec.uuid(whole);
    // SAFETY: no pointer is altered.
    let raw = unsafe { spec.as_raw_mut() };
    raw.queue = unsigned(&given["queue"], 0);
    raw.queue_kind = value_of(&given["queue_kind"], names::STREAM, 0);
    raw.properties = bits_of(&given["properties"], names::CONTEXT);
    let deletes = (!step["in"].is_null()).then(|| world.memory(&step["in"]).deletes.clone());
    let release = move |_: &ContextInfo| {
        if let Some(deletes) = deletes {
            deletes.fetch_add(1, Ordering::Relaxed);
        }
    };
    // SAFETY: no driver uses it.
    let result = unsafe { spec.register(release) };
    let seen = answer(&result);
    if let Ok(registration) = result {
        world.register(&step["out"], registration);
        if !step["in"].is_null() {
            drop(world.take(&step["in"]));
        }
    }
    seen
}

pub fn context_find(step: &Value, world: &mut World) -> Value {
    let found = dlbridge::context_find(device(&step["device"]), unsigned(&step["context"], 0));
    let mut seen = answer(&found);
    if let Ok(info) = &found {
        seen["is"] = json!(world.entry_name(info.id()));
        seen["entry"] = entry_json(info);
    }
    seen
}

/// Walks the whole table: which of the case's entries it returns, and how the walk ends, which only
/// the raw functions report.
pub fn context_next(_step: &Value, world: &mut World) -> Value {
    let met = dlbridge::contexts().map(|info| info.expect("an entry").id());
    let met = met.map(|id| world.entry_name(id)).filter(|name| *name != "other").collect::<Value>();
    let mut cursor = u64::MAX;
    let mut entry = sys::DLBridgeContextEntry::INIT;
    let mut error = sys::DLBridgeError::INIT;
    // SAFETY: all outputs are writable.
    let status =
        unsafe { sys::dlbridge_context_next(&raw mut cursor, &raw mut entry, &raw mut error) };
    let mut seen = raw_answer(status, &error);
    seen["entries"] = met;
    seen
}

pub fn context_retain(step: &Value, world: &mut World) -> Value {
    let kept = dlbridge::context_retain(world.entry_id(&step["entry"]));
    let mut seen = answer(&kept);
    if let Ok(kept) = kept {
        world.keep(&step["entry"], kept);
    }
    seen["deleters"] = world.deletes();
    seen
}

/// Only a retained entry can be released in Rust; other entries use the raw functions.
pub fn context_release(step: &Value, world: &mut World) -> Value {
    let mut seen = if let Some(kept) = world.kept(&step["entry"]) {
        answer(&kept.release())
    } else {
        let mut error = sys::DLBridgeError::INIT;
        let id = world.entry_id(&step["entry"]);
        // SAFETY: takes any integer.
        let status = unsafe { sys::dlbridge_context_release(id, &raw mut error) };
        raw_answer(status, &error)
    };
    seen["deleters"] = world.deletes();
    seen
}

pub fn context_unregister(step: &Value, world: &mut World) -> Value {
    let result = match world.registration(&step["entry"]) {
        Some(registration) => registration.unregister(),
        None => dlbridge::context_unregister(world.entry_id(&step["entry"])),
    };
    let mut seen = answer(&result);
    seen["deleters"] = world.deletes();
    seen
}
