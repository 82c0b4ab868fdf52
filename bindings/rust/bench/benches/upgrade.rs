// SPDX-License-Identifier: Apache-2.0
//! A validated upgrade of a foreign legacy tensor and its drop, ndim 4: malloc and free of 128
//! bytes, the C functions, this crate, and dlpark in two forms: as documented, and its fastest.

use criterion::{criterion_group, criterion_main, Criterion};
use dlbridge::{sys, ConvertOptions, LegacyTensor, Storage};
use dlpark::ffi::{DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::{Dynamic, Fixed};
use dlpark::{legacy, versioned, OpaqueContext};
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{null, null_mut, NonNull};

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

unsafe extern "C" fn delete(tensor: *mut sys::DLManagedTensor) {
    // SAFETY: a producer's own struct.
    unsafe { (*tensor).manager_ctx = (*tensor).manager_ctx.wrapping_byte_add(1) };
}

/// A producer's tensor, which is never freed.
fn producer() -> NonNull<sys::DLManagedTensor> {
    let shape = Box::leak(Box::new([2_i64, 3, 4, 5]));
    let strides = Box::leak(Box::new([60_i64, 20, 5, 1]));
    let data = Box::leak(Box::new([0.0_f32; 120]));
    NonNull::from(Box::leak(Box::new(sys::DLManagedTensor {
        dl_tensor: sys::DLTensor {
            data: data.as_mut_ptr().cast(),
            device: sys::DLDevice { device_type: sys::kDLCPU, device_id: 0 },
            ndim: 4,
            dtype: sys::DLDataType { code: sys::kDLFloat, bits: 32, lanes: 1 },
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        },
        manager_ctx: null_mut(),
        deleter: Some(delete),
    })))
}

fn in_c(raw: NonNull<sys::DLManagedTensor>) {
    let mut error = std::mem::MaybeUninit::uninit();
    let mut out = null_mut();
    // SAFETY: live, as the functions require.
    unsafe {
        let error: *mut sys::DLBridgeError = error.as_mut_ptr();
        assert_eq!(sys::dlbridge_upgrade(raw.as_ptr(), null(), &raw mut out, error), 0);
        sys::dlbridge_release_versioned(black_box(out));
    }
}

/// dlpark's own owner of a foreign legacy tensor.
fn dlpark_legacy(raw: NonNull<sys::DLManagedTensor>) -> legacy::Dlpack {
    // SAFETY: live; both crates mirror the same struct.
    unsafe { legacy::Dlpack::from_raw(raw.as_ptr().cast::<DLManagedTensor>()) }.unwrap()
}

/// As its documentation shows: the boxed imported tensor is the context of the new one.
fn dlpark_boxed(raw: NonNull<sys::DLManagedTensor>) -> versioned::Dlpack {
    let imported = dlpark_legacy(raw);
    let tensor = imported.validate().unwrap();
    let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().unwrap().to_vec());
    // SAFETY: live.
    let fields = *unsafe { imported.tensor() };
    let mut made = Dynamic::new(shape, strides)
        .initialize_as::<DLManagedTensorVersioned>(Box::new(imported))
        .unwrap();
    made.set_data(fields.data).set_device(fields.device).set_dtype(fields.dtype);
    made.set_byte_offset(fields.byte_offset);
    // SAFETY: the fields are those of a valid tensor.
    unsafe { made.finish() }
}

/// The pointer itself as the context.
struct Imported(*mut c_void);

// SAFETY: a deleter may run on any thread.
unsafe impl OpaqueContext for Imported {
    fn into_raw(self) -> *mut c_void {
        self.0
    }
    unsafe fn drop_raw(raw: *mut c_void) {
        // SAFETY: the result of `into_raw`.
        drop(unsafe { legacy::Dlpack::from_raw(raw.cast()) });
    }
}

/// Its best path: a known number of axes, and no box.
fn dlpark_best(raw: NonNull<sys::DLManagedTensor>) -> versioned::Dlpack {
    let imported = dlpark_legacy(raw);
    let tensor = imported.validate().unwrap();
    let shape: &[i64; 4] = tensor.shape().try_into().unwrap();
    let strides: &[i64; 4] = tensor.strides().unwrap().try_into().unwrap();
    // SAFETY: live.
    let fields = *unsafe { imported.tensor() };
    let prepared = Fixed::new(shape, strides).prepare_as::<DLManagedTensorVersioned>().unwrap();
    let mut made = prepared.initialize(Imported(imported.into_raw().cast()));
    made.set_data(fields.data).set_device(fields.device).set_dtype(fields.dtype);
    made.set_byte_offset(fields.byte_offset);
    // SAFETY: the fields are those of a valid tensor.
    unsafe { made.finish() }
}

fn upgrade(criterion: &mut Criterion) {
    let raw = producer();
    // SAFETY: live, and its memory exists; each owner is released before the next is made.
    let owner = || unsafe { LegacyTensor::from_raw(black_box(raw)) };
    let mut group = criterion.benchmark_group("upgrade");
    // SAFETY: memory of the C library, freed at once.
    group.bench_function("malloc_free_128", |b| b.iter(|| unsafe { free(black_box(malloc(128))) }));
    group.bench_function("c", |b| b.iter(|| in_c(black_box(raw))));
    group.bench_function("dlbridge", |b| b.iter(|| black_box(owner().upgrade()).is_ok()));
    let mut storage = Storage::<256>::new();
    group.bench_function("dlbridge_into", |b| {
        b.iter(|| {
            let options = ConvertOptions::DEFAULT;
            black_box(owner().upgrade_into(storage.as_bytes(), &options)).is_ok()
        });
    });
    group.bench_function("dlbridge_many_64", |b| {
        b.iter(|| {
            let tensors = (0..64).map(|_| owner()).collect();
            dlbridge::upgrade_many(tensors, &ConvertOptions::DEFAULT).is_ok()
        });
    });
    let tensor = owner().upgrade().unwrap();
    group.bench_function("dlbridge_share", |b| b.iter(|| black_box(tensor.share()).is_ok()));
    group.bench_function("dlbridge_as_slice", |b| b.iter(|| tensor.as_slice::<f32>().is_ok()));
    group.bench_function("dlpark_user", |b| b.iter(|| black_box(dlpark_boxed(black_box(raw)))));
    group.bench_function("dlpark_best", |b| b.iter(|| black_box(dlpark_best(black_box(raw)))));
    group.finish();
}

criterion_group!(benches, upgrade);
criterion_main!(benches);
