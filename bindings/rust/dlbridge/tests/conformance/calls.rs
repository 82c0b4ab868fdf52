// SPDX-License-Identifier: Apache-2.0
//! One function for each call that a case can name: reads the arguments off the step, calls, and
//! answers with everything that a case can expect.

use crate::arguments::{
    device, device_json, dtype, dtype_json, list, strings, unsigned, version, version_json,
    with_options, PolicyHolder,
};
use crate::world::{Live, World};
use dlbridge::{
    sys, AllocateSpec, Answer, ConvertOptions, Device, Dtype, Error, ExchangeApi, Exported, Flags,
    Kind, Layout, LegacyTensor, Severity, StoredTensor, Tensor, Version, ViewSpec,
};
use serde_json::{json, Value};
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut, NonNull};

/// Status, rule, axis and message.
pub fn answer<T>(result: &Result<T, Error>) -> Value {
    match result {
        Ok(_) => json!({"status": "OK"}),
        Err(error) => json!({
            "status": error.status().name().trim_start_matches("DLBRIDGE_"),
            "rule": error.rule().name(),
            "axis": error.axis().map_or(json!(-1), |axis| json!(axis)),
            "message": error.message(),
        }),
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Unknown => "UNKNOWN",
        Kind::Legacy => "LEGACY",
        Kind::Versioned => "VERSIONED",
        Kind::Ambiguous => "AMBIGUOUS",
    }
}

/// The kind that the step gives, else the one that the tensor has.
fn kind_of(step: &Value, live: &Live) -> Kind {
    match (step["kind"].as_str(), live) {
        (Some("UNKNOWN"), _) => Kind::Unknown,
        (Some("VERSIONED"), _) => Kind::Versioned,
        (None, live) if !matches!(live, Live::Legacy(_)) => Kind::Versioned,
        (Some("LEGACY") | None, _) => Kind::Legacy,
        (Some(other), _) => panic!("no managed tensor is of the kind {other}"),
    }
}

fn answer_name(answer: Answer) -> &'static str {
    match answer {
        Answer::No => "NO",
        Answer::Yes => "YES",
        Answer::Undecided => "UNDECIDED",
    }
}

/// The fields of a result.
fn fields(live: &Live, expected: &Value) -> Value {
    let mut seen = json!({"kind": "LEGACY"});
    if !matches!(live, Live::Legacy(_)) {
        // SAFETY: a live versioned tensor.
        let raw = unsafe { &*live.raw_versioned() };
        seen["kind"] = json!("VERSIONED");
        seen["version"] = json!([raw.version.major, raw.version.minor]);
        seen["flags"] = json!(raw.flags.to_string());
    }
    let borrowed = live.borrowed();
    // SAFETY: a live tensor, whose lists are as long as stated.
    let (tensor, shape, strides) = unsafe {
        let tensor = &*borrowed.as_ptr();
        let list = |start: *const i64| {
            let length = if start.is_null() { 0 } else { usize::try_from(tensor.ndim).unwrap() };
            let start = if start.is_null() { NonNull::dangling().as_ptr() } else { start };
            strings(std::slice::from_raw_parts(start, length))
        };
        (tensor, list(tensor.shape), list(tensor.strides))
    };
    let address = tensor.data as usize;
    let any = address != 0 && expected["data"] == "any";
    seen["data"] = if any { json!("any") } else { json!(address.to_string()) };
    seen["device"] = device_json(borrowed.device());
    seen["ndim"] = json!(tensor.ndim);
    seen["dtype"] = dtype_json(borrowed.dtype());
    seen["shape"] = shape;
    seen["strides"] = if tensor.strides.is_null() { Value::Null } else { strides };
    seen["byte_offset"] = json!(tensor.byte_offset.to_string());
    seen
}

/// The compact elements of a result.
fn bytes(live: &Live) -> Value {
    let borrowed = live.borrowed();
    let length = usize::try_from(borrowed.layout().unwrap().packed_bytes()).unwrap();
    // SAFETY: a live tensor, of which the case knows as many bytes.
    let data = unsafe { (*borrowed.as_ptr()).data.cast::<u8>() };
    // SAFETY: as above.
    let hex = |i| format!("{:02x}", unsafe { data.add(i).read() });
    json!((0..length).map(hex).collect::<String>())
}

/// Answers with the tensor that a call made, and gives it its name.
pub fn add_result(step: &Value, name: &Value, live: Live, world: &mut World, answer: &mut Value) {
    answer["is"] = world.name_of(live.pointer());
    // A tensor that is returned as it is, is the one that was taken.
    if !step["in"].is_null() && world.taken == live.pointer() {
        answer["is"] = step["in"].clone();
    }
    answer["tensor"] = fields(&live, &step["expect"]["tensor"]);
    if !step["expect"]["bytes"].is_null() {
        answer["bytes"] = bytes(&live);
    }
    world.put(name, live);
}

/// The result of a call that takes `in`, or the tensor that it returned.
fn converted(step: &Value, world: &mut World, result: Result<Live, (Error, Live)>) -> Value {
    match result {
        Ok(live) => {
            let mut seen = json!({"status": "OK"});
            seen["kind"] =
                json!(if matches!(live, Live::Legacy(_)) { "LEGACY" } else { "VERSIONED" });
            add_result(step, &step["out"], live, world, &mut seen);
            seen
        }
        Err((error, back)) => {
            world.put(&step["in"], back);
            answer::<()>(&Err(error))
        }
    }
}

/// The result of a call that takes no tensor.
pub fn made(step: &Value, world: &mut World, result: Result<Live, Error>) -> Value {
    let mut seen = answer(&result);
    if let Ok(live) = result {
        add_result(step, &step["out"], live, world, &mut seen);
    }
    seen
}

pub fn validate(step: &Value, world: &mut World) -> Value {
    let holder = PolicyHolder::new(&step["policy"]);
    let policy = holder.get();
    match world.get(&step["in"]) {
        Live::Legacy(tensor) => answer(&tensor.validate(&policy)),
        Live::Versioned(tensor) => answer(&tensor.validate(&policy)),
        Live::Tensor(tensor) => answer(&tensor.validate(&policy)),
        Live::Stored(tensor) => answer(&tensor.validate(&policy)),
        Live::Borrowed(tensor) => answer(&tensor.validate(&policy)),
        Live::Memory(name) => panic!("{name} is no tensor"),
    }
}

pub fn diagnose(step: &Value, world: &mut World) -> Value {
    let holder = PolicyHolder::new(&step["policy"]);
    let policy = holder.get();
    let findings = match world.get(&step["in"]) {
        Live::Legacy(tensor) => tensor.diagnose(&policy),
        Live::Versioned(tensor) => tensor.diagnose(&policy),
        other => other.borrowed().diagnose(&policy),
    };
    let mut seen = answer(&findings);
    let findings = findings.unwrap_or_default();
    seen["count"] = json!(findings.len());
    let finding = |finding: &dlbridge::Finding| {
        json!({
            "rule": finding.rule.name(),
            "axis": finding.axis.map_or(json!(-1), |axis| json!(axis)),
            "severity": if finding.severity == Severity::Broken { "BROKEN" } else { "NOTE" },
            "expected": finding.expected,
            "found": finding.found,
        })
    };
    seen["findings"] = findings.iter().map(finding).collect();
    seen
}

/// One of the questions that a layout answers.
type LayoutProperty = fn(&Layout) -> bool;
const LAYOUT_PROPERTIES: &[(&str, LayoutProperty)] = &[
    // [facts/enums.toml LAYOUT]
    ("EMPTY", Layout::is_empty),
    ("C_CONTIGUOUS", Layout::is_c_contiguous),
    ("F_CONTIGUOUS", Layout::is_f_contiguous),
    ("BROADCAST", Layout::is_broadcast),
    ("NEGATIVE_STRIDES", Layout::has_negative_strides),
    ("PADDED", Layout::is_padded),
    ("OPAQUE", Layout::is_opaque),
    // [/facts]
];

pub fn layout(step: &Value, world: &mut World) -> Value {
    let layout = world.get(&step["in"]).borrowed().layout();
    let mut seen = answer(&layout);
    let Ok(layout) = layout else { return seen };
    let set = LAYOUT_PROPERTIES.iter().filter(|(_, is_set)| is_set(&layout)).map(|(name, _)| *name);
    seen["layout"] = json!({
        "properties": set.collect::<Vec<_>>(),
        "item_bits": layout.item_bits(),
        "self_overlap": answer_name(layout.self_overlap()),
        "element_count": layout.element_count().to_string(),
        "packed_bytes": layout.packed_bytes().to_string(),
        "begin": layout.extent().start.to_string(),
        "end": layout.extent().end.to_string(),
        "broadcast_axes": layout.as_raw().broadcast_axes.to_string(),
        "negative_axes": layout.as_raw().negative_axes.to_string(),
        "alignment": layout.alignment().to_string(),
    });
    seen
}

fn text(text: &str) -> Value {
    json!({"status": "OK", "length": text.len(), "text": text})
}

pub fn tensor_format(step: &Value, world: &mut World) -> Value {
    text(&world.get(&step["in"]).borrowed().describe().unwrap())
}

/// Only the raw functions accept a buffer that is too short.
pub fn dtype_format(step: &Value, _world: &mut World) -> Value {
    let dtype = dtype(&step["dtype"]);
    let Some(size) = step["size"].as_u64() else { return text(&dtype.to_string()) };
    let size = usize::try_from(size).unwrap();
    let mut buffer = vec![0_u8; size.max(1)];
    let mut length = 0;
    let mut error = sys::DLBridgeError::INIT;
    let start = if size == 0 { null_mut() } else { buffer.as_mut_ptr().cast() };
    let raw = sys::DLDataType { code: dtype.code, bits: dtype.bits, lanes: dtype.lanes };
    // SAFETY: the buffer is as long as stated.
    let status =
        unsafe { sys::dlbridge_dtype_format(raw, start, size, &raw mut length, &raw mut error) };
    let mut seen = raw_answer(status, &error);
    let written = buffer.iter().take_while(|&&byte| byte != 0).copied().collect();
    seen["length"] = json!(length);
    seen["text"] = json!(String::from_utf8(written).unwrap());
    seen
}

/// As [`answer`], for calls that only the raw functions can make.
pub fn raw_answer(status: sys::DLBridgeStatus, error: &sys::DLBridgeError) -> Value {
    if status == sys::DLBRIDGE_OK {
        return json!({"status": "OK"});
    }
    // SAFETY: a message ends with NUL.
    let message = unsafe { std::ffi::CStr::from_ptr(error.message.as_ptr()) };
    json!({
        "status": dlbridge::Status(status).name().trim_start_matches("DLBRIDGE_"),
        "rule": dlbridge::Rule(error.rule).name(),
        "axis": error.axis,
        "message": message.to_str().unwrap(),
    })
}

pub fn device_format(step: &Value, _world: &mut World) -> Value {
    assert!(step["size"].is_null());
    text(&device(&step["device"]).to_string())
}

pub fn dtype_parse(step: &Value, _world: &mut World) -> Value {
    let parsed = step["text"].as_str().expect("a text").parse::<Dtype>();
    let mut seen = answer(&parsed);
    seen["dtype"] = dtype_json(parsed.unwrap_or(Dtype::new(0, 0, 0)));
    seen
}

pub fn device_parse(step: &Value, _world: &mut World) -> Value {
    let parsed = step["text"].as_str().expect("a text").parse::<Device>();
    let mut seen = answer(&parsed);
    seen["device"] = parsed.map_or(json!([0, 0]), device_json);
    seen
}

pub fn host_accessible(step: &Value, _world: &mut World) -> Value {
    let kind = device(&json!([step["device_type"], 0])).device_type;
    let returns = i32::from(kind.host_accessible());
    json!({"status": "OK", "returns": returns, "answer": answer_name(kind.host_access())})
}

pub fn required_version(step: &Value, world: &mut World) -> Value {
    let required = world.get(&step["in"]).borrowed().required_version();
    let mut seen = answer(&required);
    seen["version"] = version_json(required.unwrap_or_default());
    seen
}

pub fn negotiate(step: &Value, _world: &mut World) -> Value {
    let agreed = dlbridge::negotiate(version(&step["producer"]), version(&step["consumer"]));
    let mut seen = answer(&agreed);
    let (kind, version) = agreed.unwrap_or((Kind::Unknown, Version::DEFAULT));
    seen["kind"] = json!(kind_name(kind));
    seen["version"] = version_json(version);
    seen
}

pub fn identify(step: &Value, world: &mut World) -> Value {
    let pointer = if step["in"].is_null() { null() } else { world.get(&step["in"]).pointer() };
    // SAFETY: NULL or one of the case's structs.
    json!({"status": "OK", "kind": kind_name(unsafe { dlbridge::identify(pointer) })})
}

/// The address is that of a tensor's data, or of a text in the library.
pub fn module_pin(step: &Value, world: &mut World) -> Value {
    let address: *const c_void = if step["in"].is_null() {
        dlbridge::version_string().as_ptr().cast()
    } else {
        // SAFETY: a live tensor.
        unsafe { (*world.get(&step["in"]).borrowed().as_ptr()).data.cast_const() }
    };
    // SAFETY: the library is loaded; other addresses belong to no module.
    answer(&unsafe { dlbridge::module_pin(address) })
}

pub fn upgrade(step: &Value, world: &mut World) -> Value {
    let allocator = step["allocator"].as_str().map(|how| world.allocator(how == "fails"));
    let source = world.take(&step["in"]).into_legacy();
    let result = with_options(step, allocator.as_ref(), |options| source.try_upgrade(options));
    let result = result.map(Live::Tensor);
    let result = result.map_err(|rejected| (rejected.error, Live::Legacy(rejected.value)));
    converted(step, world, result)
}

pub fn upgrade_into(step: &Value, world: &mut World) -> Value {
    let source = world.take(&step["in"]).into_legacy();
    let ndim = source.as_borrowed().ndim();
    let ndim = if ndim > 0 && ndim < 1000 { ndim } else { 0 };
    let mut storage = world.storage(dlbridge::upgrade_storage_size(ndim));
    match step["storage"].as_str().unwrap_or("exact") {
        "short" => storage.size -= 1,
        "unaligned" => storage.memory = storage.memory.wrapping_byte_add(8),
        "null" => storage.memory = null_mut(),
        _ => {}
    }
    // SAFETY: the storages live as long as the world.
    let into =
        |options: &ConvertOptions<'_>| unsafe { source.try_upgrade_into_raw(&storage, options) };
    let result: Result<StoredTensor<'static>, _> = with_options(step, None, into);
    if result.is_ok() {
        world.storage_taken();
    }
    let result = result.map(Live::Stored);
    let result = result.map_err(|rejected| (rejected.error, Live::Legacy(rejected.value)));
    converted(step, world, result)
}

/// One name, or a list of them.
fn name_list(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// The tensors of these names. A name that is given twice gets two owners, which no safe code can
/// make: the library rejects them.
fn sources_of(names: &[Value], world: &mut World) -> Vec<LegacyTensor> {
    let mut sources = Vec::<LegacyTensor>::new();
    for (index, name) in names.iter().enumerate() {
        let source = match names[..index].iter().position(|other| other == name) {
            // SAFETY: live; the call that takes both rejects them.
            Some(first) => unsafe {
                LegacyTensor::from_raw(NonNull::new_unchecked(sources[first].as_ptr()))
            },
            None => world.take(name).into_legacy(),
        };
        sources.push(source);
    }
    sources
}

pub fn upgrade_many(step: &Value, world: &mut World) -> Value {
    let names = name_list(&step["in"]);
    let sources = sources_of(names, world);
    match with_options(step, None, |options| dlbridge::try_upgrade_many(sources, options)) {
        Ok(tensors) => {
            let mut seen = json!({"status": "OK", "failed": names.len()});
            for (tensor, name) in tensors.into_iter().zip(name_list(&step["out"])) {
                add_result(step, name, Live::Tensor(tensor), world, &mut seen);
            }
            seen
        }
        Err(rejected) => {
            for (index, tensor) in rejected.tensors.into_iter().enumerate() {
                if names[..index].contains(&names[index]) {
                    // Its first owner was already returned.
                    std::mem::forget(tensor);
                } else {
                    world.put(&names[index], Live::Legacy(tensor));
                }
            }
            let mut seen = answer::<()>(&Err(rejected.error));
            seen["failed"] = json!(rejected.failed.unwrap_or(names.len()));
            seen
        }
    }
}

pub fn downgrade(step: &Value, world: &mut World) -> Value {
    let source = world.take(&step["in"]);
    let result = with_options(step, None, |options| match source {
        Live::Tensor(tensor) => tensor
            .try_downgrade(options)
            .map_err(|rejected| (rejected.error, Live::Tensor(rejected.value))),
        other => other
            .into_versioned()
            .try_downgrade(options)
            .map_err(|rejected| (rejected.error, Live::Versioned(rejected.value))),
    });
    converted(step, world, result.map(Live::Legacy))
}

/// The tensor as a pointer: if a call fails, the caller still owns it.
pub fn import(step: &Value, world: &mut World) -> Value {
    let source = world.take(&step["in"]);
    let (pointer, kind) = (source.pointer().cast_mut(), kind_of(step, &source));
    // SAFETY: the case's own tensor.
    let result = with_options(step, None, |options| unsafe {
        dlbridge::import(pointer, kind, options).map(Live::Tensor)
    });
    given(step, world, source, result)
}

pub fn export(step: &Value, world: &mut World) -> Value {
    let source = world.take(&step["in"]);
    let (pointer, kind) = (source.pointer().cast_mut(), kind_of(step, &source));
    let target = version(&step["target"]);
    // SAFETY: as above.
    let result = with_options(step, None, |options| unsafe {
        dlbridge::export(pointer, kind, target, options)
    });
    let result = result.map(|exported| match exported {
        Exported::Legacy(tensor) => Live::Legacy(tensor),
        Exported::Versioned(tensor) => Live::Tensor(tensor),
    });
    given(step, world, source, result)
}

/// As [`converted`], for a source that was passed as a pointer: if the call took it, its owner here
/// must not release it.
fn given(step: &Value, world: &mut World, source: Live, result: Result<Live, Error>) -> Value {
    match result {
        Ok(made) => {
            std::mem::forget(source);
            converted(step, world, Ok(made))
        }
        Err(error) => converted(step, world, Err((error, source))),
    }
}

/// Only a validated tensor can be shared in Rust: other tensors use the raw functions.
pub fn share(step: &Value, world: &mut World) -> Value {
    let result = match world.get(&step["in"]) {
        Live::Tensor(tensor) => tensor.share(),
        other => raw_share(other),
    };
    made(step, world, result.map(Live::Tensor))
}

/// Treats a raw owner as validated, so that the crate reports the rejection.
fn raw_share(live: &Live) -> Result<Tensor, Error> {
    with_borrowed(live, Tensor::share)
}

/// Calls `f` with a struct that is not a validated tensor, which the library then rejects.
pub fn with_borrowed<R>(live: &Live, f: impl FnOnce(&Tensor) -> R) -> R {
    let raw = NonNull::new(live.raw_versioned().cast_mut()).unwrap();
    // SAFETY: no element is read, and the owner does not change.
    let borrowed = std::mem::ManuallyDrop::new(unsafe { Tensor::from_raw_validated(raw) });
    f(&borrowed)
}

pub fn view(step: &Value, world: &mut World) -> Value {
    let given = &step["spec"];
    let shape = list(&given["shape"]);
    let strides = list(&given["strides"]);
    let mut spec = ViewSpec::new(shape.as_deref().unwrap_or(&[]));
    spec = spec.offset(crate::arguments::signed(&given["offset"], 0)).dtype(dtype(&given["dtype"]));
    if let Some(ndim) = given["ndim"].as_i64() {
        // SAFETY: the library rejects a wrong number of axes before it reads the lists.
        unsafe { spec.as_raw_mut() }.ndim = i32::try_from(ndim).unwrap();
    }
    if let Some(strides) = &strides {
        // SAFETY: as long as the extents.
        unsafe { spec.as_raw_mut() }.strides = strides.as_ptr();
    }
    let result = match world.get(&step["in"]) {
        Live::Tensor(tensor) => tensor.view(&spec),
        other => with_borrowed(other, |tensor| tensor.view(&spec)),
    };
    made(step, world, result.map(Live::Tensor))
}

pub fn allocate(step: &Value, world: &mut World) -> Value {
    let given = &step["spec"];
    let shape = list(&given["shape"]);
    let allocator = step["allocator"].as_str().map(|how| world.allocator(how == "fails"));
    let mut spec = AllocateSpec::new(dtype(&given["dtype"]), shape.as_deref().unwrap_or(&[]))
        .device(device(&given["device"]))
        .alignment(unsigned(&given["alignment"], 0))
        .tensor_flags(Flags(unsigned(&given["tensor_flags"], 0)))
        .version(version(&given["version"]));
    if let Some(allocator) = &allocator {
        spec = spec.allocator(allocator);
    }
    if let Some(ndim) = given["ndim"].as_i64() {
        // SAFETY: the library rejects a wrong number of axes before it reads the lists.
        unsafe { spec.as_raw_mut() }.ndim = i32::try_from(ndim).unwrap();
    }
    // SAFETY: no element is read.
    let result = spec.allocate().map(|tensor| unsafe { tensor.assume_init() }.into_shared());
    let aligned = match unsigned(&given["alignment"], 0) {
        0 => 256,
        alignment => usize::try_from(alignment).unwrap(),
    };
    let misplaced = result.as_ref().is_ok_and(|t| t.as_view().data() as usize % aligned != 0);
    let mut seen = made(step, world, result.map(Live::Tensor));
    if misplaced {
        seen["status"] = json!("not aligned");
    }
    seen
}

pub fn release(step: &Value, world: &mut World) -> Value {
    world.release(&step["in"]);
    check(step, world)
}

pub fn check(_step: &Value, world: &mut World) -> Value {
    json!({"status": "OK", "deleters": world.deletes()})
}

/// Functions that are never called.
unsafe extern "C" fn no_allocator(
    _prototype: *mut sys::DLTensor,
    _out: *mut *mut sys::DLManagedTensorVersioned,
    _context: *mut c_void,
    _error: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>,
) -> i32 {
    -1
}
unsafe extern "C" fn no_from(
    _object: *mut c_void,
    _out: *mut *mut sys::DLManagedTensorVersioned,
) -> i32 {
    -1
}
unsafe extern "C" fn no_to(
    _tensor: *mut sys::DLManagedTensorVersioned,
    _out: *mut *mut c_void,
) -> i32 {
    -1
}
unsafe extern "C" fn no_borrow(_object: *mut c_void, _out: *mut sys::DLTensor) -> i32 {
    -1
}
unsafe extern "C" fn no_stream(_kind: i32, _id: i32, _out: *mut *mut c_void) -> i32 {
    -1
}

fn table(spec: &Value) -> sys::DLPackExchangeAPI {
    let version = version(&spec["version"]);
    let version = sys::DLPackVersion { major: version.major, minor: version.minor };
    let mut table = sys::DLPackExchangeAPI {
        header: sys::DLPackExchangeAPIHeader { version, prev_api: null_mut() },
        managed_tensor_allocator: Some(no_allocator),
        managed_tensor_from_py_object_no_sync: Some(no_from),
        managed_tensor_to_py_object_no_sync: Some(no_to),
        dltensor_from_py_object_no_sync: Some(no_borrow),
        current_work_stream: Some(no_stream),
    };
    for name in crate::arguments::names(&spec["missing"]) {
        match name {
            "managed_tensor_allocator" => table.managed_tensor_allocator = None,
            "managed_tensor_from_py_object_no_sync" => {
                table.managed_tensor_from_py_object_no_sync = None;
            }
            "managed_tensor_to_py_object_no_sync" => {
                table.managed_tensor_to_py_object_no_sync = None;
            }
            "dltensor_from_py_object_no_sync" => table.dltensor_from_py_object_no_sync = None,
            _ => table.current_work_stream = None,
        }
    }
    table
}

pub fn exchange_api_find(step: &Value, _world: &mut World) -> Value {
    let mut tables =
        step["chain"].as_array().expect("a chain").iter().map(table).collect::<Vec<_>>();
    let start = tables.as_mut_ptr();
    for i in 0..tables.len() {
        let next = if i + 1 < tables.len() { i + 1 } else { 0 };
        if next != 0 || step["ring"] == true {
            // SAFETY: one of the tables.
            tables[i].header.prev_api =
                unsafe { std::ptr::addr_of_mut!((*start.add(next)).header) };
        }
    }
    let chain = NonNull::new(start.cast()).unwrap();
    // SAFETY: the tables live until the end of this call.
    let found = unsafe { ExchangeApi::find(chain, version(&step["consumer"])) };
    let mut seen = answer(&found);
    let at = |found: &ExchangeApi<'_>| {
        tables.iter().position(|table| std::ptr::eq(table, found.as_raw()))
    };
    seen["index"] = found.as_ref().ok().and_then(at).map_or(json!(-1), |index| json!(index));
    seen
}
