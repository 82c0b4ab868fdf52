// SPDX-License-Identifier: Apache-2.0
//! The values of a step.

use dlbridge::{
    AllocatorHook, Contiguity, ConvertOptions, Device, DeviceType, Dtype, Flags, Level, Policy,
    Version,
};
use serde_json::{json, Value};

/// 64-bit numbers are strings: JSON readers in other languages keep 53 bits.
pub fn signed(value: &Value, otherwise: i64) -> i64 {
    match value {
        Value::String(text) => text.parse().expect("a number"),
        Value::Null => otherwise,
        number => number.as_i64().expect("a number"),
    }
}

pub fn unsigned(value: &Value, otherwise: u64) -> u64 {
    match value {
        Value::String(text) => text.parse().expect("a number"),
        Value::Null => otherwise,
        number => number.as_u64().expect("a number"),
    }
}

pub fn list(value: &Value) -> Option<Vec<i64>> {
    Some(value.as_array()?.iter().map(|item| signed(item, 0)).collect())
}

pub fn list_or_empty(value: &Value) -> Vec<i64> {
    list(value).unwrap_or_default()
}

fn int(value: &Value) -> i32 {
    i32::try_from(value.as_i64().unwrap_or(0)).expect("32 bits")
}

pub fn device(value: &Value) -> Device {
    Device::new(DeviceType(int(&value[0])), int(&value[1]))
}

pub fn dtype(value: &Value) -> Dtype {
    let byte = |value: &Value| u8::try_from(int(value)).expect("8 bits");
    Dtype::new(byte(&value[0]), byte(&value[1]), u16::try_from(int(&value[2])).expect("16 bits"))
}

pub fn version(value: &Value) -> Version {
    let number = |value: &Value| u32::try_from(value.as_u64().unwrap_or(0)).expect("32 bits");
    Version::new(number(&value[0]), number(&value[1]))
}

pub fn device_json(device: Device) -> Value {
    json!([device.device_type.0, device.id])
}

pub fn dtype_json(dtype: Dtype) -> Value {
    json!([dtype.code, dtype.bits, dtype.lanes])
}

pub fn version_json(version: Version) -> Value {
    json!([version.major, version.minor])
}

pub fn strings(values: &[i64]) -> Value {
    values.iter().map(ToString::to_string).collect()
}

/// Names in a list; empty if there is no list.
pub fn names(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A policy and the lists that it borrows.
pub struct PolicyHolder {
    devices: Option<Vec<Device>>,
    dtypes: Option<Vec<Dtype>>,
    shape: Option<Vec<i64>>,
    spec: Value,
}

impl PolicyHolder {
    pub fn new(spec: &Value) -> Self {
        let devices = spec["devices"].as_array().map(|all| all.iter().map(device).collect());
        let dtypes = spec["dtypes"].as_array().map(|all| all.iter().map(dtype).collect());
        Self { devices, dtypes, shape: list(&spec["shape"]), spec: spec.clone() }
    }

    pub fn get(&self) -> Policy<'_> {
        let spec = &self.spec;
        let mut policy = Policy::new();
        policy = match spec["level"].as_str() {
            Some("STRUCT") => policy.level(Level::Struct),
            Some("DEVICE") => policy.level(Level::Device),
            _ => policy,
        };
        policy = match spec["contiguity"].as_str() {
            Some("C") => policy.contiguity(Contiguity::C),
            Some("F") => policy.contiguity(Contiguity::F),
            Some("C_OR_F") => policy.contiguity(Contiguity::COrF),
            _ => policy,
        };
        policy =
            policy.version(version(&spec["version"])).alignment(unsigned(&spec["alignment"], 0));
        if let Some(shape) = &self.shape {
            policy = policy.shape(shape);
        }
        if !spec["min_ndim"].is_null() {
            policy = policy.min_ndim(int(&spec["min_ndim"]));
        }
        if !spec["max_ndim"].is_null() {
            policy = policy.max_ndim(int(&spec["max_ndim"]));
        }
        if !spec["buffer_size"].is_null() {
            policy = policy.buffer_size(unsigned(&spec["buffer_size"], 0));
        }
        if let Some(devices) = &self.devices {
            policy = policy.devices(devices);
        }
        if let Some(dtypes) = &self.dtypes {
            policy = policy.dtypes(dtypes);
        }
        names(&spec["options"]).into_iter().fold(policy, with_demand)
    }
}

fn with_demand<'a>(policy: Policy<'a>, name: &str) -> Policy<'a> {
    match name {
        // [facts/enums.toml POLICY]
        "REJECT_UNKNOWN_DTYPE" => policy.reject_unknown_dtype(),
        "REJECT_UNKNOWN_DEVICE" => policy.reject_unknown_device(),
        "REJECT_UNKNOWN_FLAGS" => policy.reject_unknown_flags(),
        "REJECT_NEGATIVE_STRIDES" => policy.reject_negative_strides(),
        "REJECT_ZERO_STRIDES" => policy.reject_zero_strides(),
        "ALLOW_NULL_STRIDES" => policy.allow_null_strides(),
        "ALLOW_SCALABLE_LANES" => policy.allow_scalable_lanes(),
        "REQUIRE_WRITABLE" => policy.require_writable(),
        "VOUCH_WRITABLE" => policy.vouch_writable(),
        "ALLOW_SELF_OVERLAP" => policy.allow_self_overlap(),
        // [/facts]
        other => panic!("unknown option of a policy: {other}"),
    }
}

/// Calls `f` with the options of a step.
pub fn with_options<R>(
    step: &Value,
    allocator: Option<&AllocatorHook>,
    f: impl FnOnce(&ConvertOptions<'_>) -> R,
) -> R {
    let spec = &step["options"];
    let holder = PolicyHolder::new(&spec["policy"]);
    let policy = holder.get();
    let options = ConvertOptions::new().version(version(&spec["version"]));
    // SAFETY: elements are read only if the case has bytes, which match its description.
    let mut options = unsafe { options.tensor_flags(Flags(unsigned(&spec["tensor_flags"], 0))) };
    if !spec["policy"].is_null() {
        options = options.policy(&policy);
    }
    if let Some(allocator) = allocator {
        options = options.allocator(allocator);
    }
    let options = names(&spec["options"]).into_iter().fold(options, with_option);
    f(&options)
}

fn with_option<'a>(options: ConvertOptions<'a>, name: &str) -> ConvertOptions<'a> {
    match name {
        // [facts/enums.toml CONVERT]
        // SAFETY: elements are read only if the case has bytes, and nothing writes to them.
        "SKIP_VALIDATION" => unsafe { options.skip_validation() },
        // SAFETY: elements are read only if the case has bytes, and nothing writes to them.
        "VOUCH_WRITABLE" => unsafe { options.vouch_writable() },
        "ALLOW_UNKNOWN" => options.allow_unknown(),
        "CANONICAL" => options.canonical(),
        "FOLD_BYTE_OFFSET" => options.fold_byte_offset(),
        "COPY" => options.copy(),
        // SAFETY: elements are read only if the case has bytes, and nothing writes to them.
        "DROP_READ_ONLY" => unsafe { options.drop_read_only() },
        "DROP_PADDED" => options.drop_padded(),
        "ALLOW_NEWER_CODES" => options.allow_newer_codes(),
        "PIN_PRODUCER" => options.pin_producer(),
        // [/facts]
        other => panic!("unknown option of a conversion: {other}"),
    }
}
