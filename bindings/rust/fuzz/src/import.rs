// SPDX-License-Identifier: Apache-2.0
//! A foreign tensor that is made of any bytes, and everything that Rust does to one. Every element
//! that validation accepts is read: a sanitizer would see memory that does not exist.

use dlbridge::{
    sys, BorrowedTensor, Contiguity, ConvertOptions, CopySpec, DeviceType, Dtype, Element,
    Exported, Flags, Kind, LegacyTensor, Policy, Tensor, UniqueTensor, Version, VersionedTensor,
    ViewSpec,
};
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that tensors lie in. Their contents do not matter.
const MEMORY: usize = 512;
/// Most axes that lists are long enough for.
const AXES: usize = 8;

/// Takes numbers off the input; zeros past its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Small ones mostly, and sometimes any.
    fn number(&mut self) -> i64 {
        match self.byte() {
            255 => i64::from_le_bytes(std::array::from_fn(|_| self.byte())),
            254 => i64::MAX,
            253 => i64::MIN,
            small => i64::from(i8::from_ne_bytes([small])),
        }
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }
}

/// A producer: the structs, what they point to, and how often its deleter ran.
struct Producer {
    deletes: AtomicUsize,
    legacy: sys::DLManagedTensor,
    versioned: sys::DLManagedTensorVersioned,
    shape: [i64; AXES],
    strides: [i64; AXES],
    memory: Box<[u64]>,
}

unsafe extern "C" fn delete_legacy(tensor: *mut sys::DLManagedTensor) {
    // SAFETY: the context is the producer's counter.
    unsafe { &*(*tensor).manager_ctx.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn delete_versioned(tensor: *mut sys::DLManagedTensorVersioned) {
    // SAFETY: as above.
    unsafe { &*(*tensor).manager_ctx.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
}

impl Producer {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // any number will do
    fn new(input: &mut Input<'_>) -> Box<Self> {
        let mut memory = vec![0x3f80_0000_3f80_0000; MEMORY / 8].into_boxed_slice();
        // Lists are AXES long, so ndim may only claim more where that is rejected: above the limit
        // of every policy that is used here.
        let ndim = match input.byte() {
            255 => -1,
            254 => i32::MAX,
            small => i32::from(small % (AXES as u8 + 1)),
        };
        let dtype = match input.byte() % 6 {
            0 => Dtype::F32,
            1 => Dtype::U8,
            2 => Dtype::I64,
            3 => Dtype::FLOAT4_E2M1FN,
            4 => Dtype::COMPLEX128,
            _ => Dtype::new(input.byte(), input.byte(), input.number() as u16),
        };
        let device_type = if input.flag() { 1 } else { input.number() as i32 };
        let data = if input.byte() == 255 { null_mut() } else { memory.as_mut_ptr().cast() };
        let tensor = sys::DLTensor {
            data,
            device: sys::DLDevice { device_type, device_id: i32::from(input.byte() == 255) },
            ndim,
            dtype: sys::DLDataType { code: dtype.code, bits: dtype.bits, lanes: dtype.lanes },
            shape: null_mut(),
            strides: null_mut(),
            byte_offset: input.number() as u64,
        };
        let version = sys::DLPackVersion {
            major: u32::from(input.byte() != 255),
            minor: u32::from(input.byte() % 5),
        };
        let mut producer = Box::new(Self {
            deletes: AtomicUsize::new(0),
            legacy: sys::DLManagedTensor {
                dl_tensor: tensor,
                manager_ctx: null_mut(),
                deleter: None,
            },
            versioned: sys::DLManagedTensorVersioned {
                version,
                manager_ctx: null_mut(),
                deleter: None,
                flags: input.number() as u64,
                dl_tensor: tensor,
            },
            shape: std::array::from_fn(|_| input.number()),
            strides: std::array::from_fn(|_| input.number()),
            memory,
        });
        let shape = if input.byte() == 255 { null_mut() } else { producer.shape.as_mut_ptr() };
        let strides = if input.flag() { null_mut() } else { producer.strides.as_mut_ptr() };
        let context = std::ptr::from_ref(&producer.deletes).cast_mut().cast();
        let (legacy, versioned) = (&mut producer.legacy, &mut producer.versioned);
        (legacy.manager_ctx, versioned.manager_ctx) = (context, context);
        (legacy.dl_tensor.shape, versioned.dl_tensor.shape) = (shape, shape);
        (legacy.dl_tensor.strides, versioned.dl_tensor.strides) = (strides, strides);
        if input.byte() != 255 {
            legacy.deleter = Some(delete_legacy);
            versioned.deleter = Some(delete_versioned);
        }
        producer
    }
}

/// What a validated tensor must meet before an element is read: all of it is in the memory.
fn policy() -> Policy<'static> {
    Policy::new().buffer_size(MEMORY as u64).max_ndim(64).allow_scalable_lanes()
}

/// Reads every element, up to as many as there are different ones in the memory.
fn read<T: Element>(tensor: &Tensor) {
    if let Ok(elements) = tensor.as_slice::<T>() {
        for element in elements {
            black_box(*element);
        }
    }
    if let Ok(elements) = tensor.as_strided::<T>() {
        for element in elements.iter().take(10_000) {
            black_box(*element);
        }
    }
}

/// Describes it, where its lists are as long as it states: that much a caller guarantees.
fn look(bare: &BorrowedTensor<'_>) {
    if usize::try_from(bare.ndim()).is_ok_and(|ndim| ndim > AXES) {
        return;
    }
    let _ = bare.layout();
    let _ = bare.diagnose(&policy());
    let _ = bare.required_version();
    let text = bare.describe().expect("any tensor has a description");
    assert!(!text.is_empty());
}

fn use_up(tensor: Tensor, input: &mut Input<'_>) {
    let view = tensor.as_view();
    look(&view.as_borrowed());
    if tensor.validate(&policy()).is_ok() {
        read::<f32>(&tensor);
        read::<u8>(&tensor);
        read::<i64>(&tensor);
        // A driver would take the address for what it is not.
        let small = view.layout().is_ok_and(|layout| layout.packed_bytes() < 1 << 16);
        if small && view.device().device_type == DeviceType::CPU {
            let _ = view.copy(&CopySpec::new()).map(UniqueTensor::into_shared);
        }
    }
    let shape = [input.number(), input.number()];
    let strides = [input.number(), input.number()];
    let spec = ViewSpec::new(&shape).offset(input.number());
    let spec = if input.flag() { spec.strides(&strides) } else { spec };
    if let Ok(part) = tensor.view(&spec) {
        if part.validate(&policy()).is_ok() {
            read::<f32>(&part);
            read::<u8>(&part);
        }
    }
    let shared = tensor.share();
    // SAFETY: nothing writes to it.
    let loss = unsafe { ConvertOptions::new().drop_read_only() }.drop_padded().allow_newer_codes();
    let minor = u32::from(input.byte() % 10);
    match tensor.try_export(Version::new(0, minor), &loss) {
        Ok(Exported::Legacy(legacy)) => drop(legacy.upgrade()),
        Ok(Exported::Versioned(_)) => panic!("a legacy target got a versioned tensor"),
        Err(rejected) => {
            drop(rejected.value.export(Version::new(1, minor), &ConvertOptions::DEFAULT));
        }
    }
    drop(shared);
}

fn import_legacy(tensor: LegacyTensor, input: &mut Input<'_>) {
    look(&tensor.as_borrowed());
    let _ = tensor.validate(&policy());
    let _ = tensor.diagnose(&policy().contiguity(Contiguity::C).require_writable());
    let policy = policy();
    let options = ConvertOptions::new().policy(&policy);
    // SAFETY: the memory is this target's own.
    let writable = unsafe { options.vouch_writable() };
    let options = if input.flag() { writable.canonical() } else { options };
    let options = if input.flag() { options.allow_unknown() } else { options };
    let flags = Flags(u64::from(input.byte()));
    // SAFETY: the layout is checked against the size of the memory.
    let options = unsafe { options.tensor_flags(flags) };
    match tensor.try_upgrade(&options) {
        Ok(tensor) => use_up(tensor, input),
        Err(rejected) => {
            assert!(!rejected.error.message().is_empty());
            import_unknown(rejected.value.into_raw().as_ptr().cast(), Kind::Legacy, input);
        }
    }
}

fn import_versioned(tensor: VersionedTensor, input: &mut Input<'_>) {
    if let Some(bare) = tensor.as_borrowed() {
        look(&bare);
    }
    let _ = tensor.diagnose(&policy());
    let policy = policy().allow_null_strides();
    let options = ConvertOptions::new().policy(&policy);
    let options = if input.flag() { options.canonical() } else { options };
    let options = if input.flag() { options.version(Version::new(1, 0)) } else { options };
    let options = if input.flag() { options.allow_unknown() } else { options };
    match tensor.try_import(&options) {
        Ok(tensor) => use_up(tensor, input),
        Err(rejected) => {
            assert!(!rejected.error.message().is_empty());
            // Of another major nothing is known, also not where its lists are.
            if rejected.value.version().major == 1 {
                import_unknown(rejected.value.into_raw().as_ptr().cast(), Kind::Versioned, input);
            }
        }
    }
}

/// Imports a tensor that was rejected once more, as a pointer of a kind that is not given.
fn import_unknown(tensor: *mut c_void, kind: Kind, input: &mut Input<'_>) {
    let policy = policy();
    let options = ConvertOptions::new().policy(&policy).allow_unknown();
    // SAFETY: live, and on failure still this function's.
    unsafe {
        let seen = dlbridge::identify(tensor);
        match dlbridge::import(tensor, Kind::Unknown, &options) {
            Ok(tensor) => {
                assert_eq!(seen, kind);
                use_up(tensor, input);
            }
            Err(error) => {
                assert!(!error.message().is_empty());
                dlbridge::release(tensor, kind).expect("a managed kind");
            }
        }
    }
}

/// Does all of it; panics, or a sanitizer stops it, where something is wrong.
pub fn import(bytes: &[u8]) {
    let mut input = Input(bytes);
    let legacy = input.flag();
    let mut producer = Producer::new(&mut input);
    let has_deleter = producer.legacy.deleter.is_some();
    // SAFETY: the structs outlive the tensors that are made of them, which end in these calls. What
    // the metadata claims is read only where it lies in the memory.
    unsafe {
        if legacy {
            let raw = NonNull::from(&mut producer.legacy);
            assert_ne!(dlbridge::identify(raw.as_ptr().cast()), Kind::Versioned);
            import_legacy(LegacyTensor::from_raw(raw), &mut input);
        } else {
            let raw = NonNull::from(&mut producer.versioned);
            let _ = dlbridge::identify(raw.as_ptr().cast());
            import_versioned(VersionedTensor::from_raw(raw), &mut input);
        }
    }
    assert_eq!(producer.deletes.load(Ordering::Relaxed), usize::from(has_deleter));
    assert_eq!(producer.memory.len(), MEMORY / 8);
}
