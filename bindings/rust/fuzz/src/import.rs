// SPDX-License-Identifier: Apache-2.0
//! Makes a foreign tensor of the input and calls everything that accepts one. Every element that
//! validation accepts is read, so that a sanitizer reports reads outside its memory.

use dlbridge::{
    sys, BorrowedTensor, Contiguity, ConvertOptions, CopySpec, DeviceType, Dtype, Element,
    Exported, Flags, Kind, LegacyTensor, Policy, Tensor, UniqueTensor, Version, VersionedTensor,
    ViewSpec,
};
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of the memory of all tensors. Its contents are irrelevant.
const MEMORY: usize = 512;
/// The length of the lists of extents and strides.
const AXES: usize = 8;

/// Reads numbers from the input; zeros past its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Mostly small numbers, sometimes any.
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

/// A producer: the structs, the data that they point to, and the number of runs of its deleter.
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
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // any number is valid
    fn new(input: &mut Input<'_>) -> Box<Self> {
        let mut memory = vec![0x3f80_0000_3f80_0000; MEMORY / 8].into_boxed_slice();
        // Lists are AXES long, so a larger ndim must be rejected: it is above the limit of every
        // policy that is used here.
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

/// The policy for reading elements: all of them are in the memory.
fn policy() -> Policy<'static> {
    Policy::new().buffer_size(MEMORY as u64).max_ndim(64).allow_scalable_lanes()
}

/// Reads every element, up to the number of bytes of the memory.
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

/// Describes it if its lists have `ndim` entries, which a caller must guarantee.
fn look(borrowed: &BorrowedTensor<'_>) {
    if usize::try_from(borrowed.ndim()).is_ok_and(|ndim| ndim > AXES) {
        return;
    }
    let _ = borrowed.layout();
    let _ = borrowed.diagnose(&policy());
    let _ = borrowed.required_version();
    let text = borrowed.describe().expect("any tensor has a description");
    assert!(!text.is_empty());
}

fn use_up(tensor: Tensor, input: &mut Input<'_>) {
    let view = tensor.as_view();
    look(&view.as_borrowed());
    if tensor.validate(&policy()).is_ok() {
        read::<f32>(&tensor);
        read::<u8>(&tensor);
        read::<i64>(&tensor);
        // A driver would interpret the address as a handle.
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
    // SAFETY: this target owns the memory.
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
    if let Some(borrowed) = tensor.as_borrowed() {
        look(&borrowed);
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
            // The layout of another major is unknown, and so is the place of its lists.
            if rejected.value.version().major == 1 {
                import_unknown(rejected.value.into_raw().as_ptr().cast(), Kind::Versioned, input);
            }
        }
    }
}

/// Imports a rejected tensor again, as a pointer of unknown kind.
fn import_unknown(tensor: *mut c_void, kind: Kind, input: &mut Input<'_>) {
    let policy = policy();
    let options = ConvertOptions::new().policy(&policy).allow_unknown();
    // SAFETY: live, and on failure still owned by this function.
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

/// Runs one input; panics, or is stopped by a sanitizer, on an error.
pub fn import(bytes: &[u8]) {
    let mut input = Input(bytes);
    let legacy = input.flag();
    let mut producer = Producer::new(&mut input);
    let has_deleter = producer.legacy.deleter.is_some();
    // SAFETY: the structs outlive the tensors that are made of them, which end in these calls. Only
    // elements inside the memory are read.
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
