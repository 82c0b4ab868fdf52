// SPDX-License-Identifier: Apache-2.0
//! A producer of foreign tensors, which counts how often each deleter runs.

use dlbridge::{sys, LegacyTensor, VersionedTensor};
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// Counts the runs of a deleter.
#[derive(Clone, Default)]
pub struct Runs(Arc<AtomicUsize>);

impl Runs {
    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Owner<T> {
    managed: T,
    runs: Runs,
    _shape: Vec<i64>,
    _data: Vec<f32>,
}

fn tensor(shape: &mut [i64], data: &mut [f32]) -> sys::DLTensor {
    sys::DLTensor {
        data: data.as_mut_ptr().cast(),
        device: sys::DLDevice { device_type: sys::kDLCPU, device_id: 0 },
        ndim: i32::try_from(shape.len()).unwrap(),
        dtype: sys::DLDataType { code: sys::kDLFloat, bits: 32, lanes: 1 },
        shape: shape.as_mut_ptr(),
        strides: null_mut(),
        byte_offset: 0,
    }
}

unsafe extern "C" fn delete_legacy(raw: *mut sys::DLManagedTensor) {
    // SAFETY: the context is the Box that the struct is in.
    let owner = unsafe { Box::from_raw((*raw).manager_ctx.cast::<Owner<sys::DLManagedTensor>>()) };
    owner.runs.add();
}

unsafe extern "C" fn delete_versioned(raw: *mut sys::DLManagedTensorVersioned) {
    // SAFETY: as above.
    let owner =
        unsafe { Box::from_raw((*raw).manager_ctx.cast::<Owner<sys::DLManagedTensorVersioned>>()) };
    owner.runs.add();
}

/// Six elements, 0 to 5, in shape [2, 3].
pub fn legacy(runs: &Runs) -> LegacyTensor {
    legacy_with(runs, |_| {})
}

pub fn legacy_with(runs: &Runs, alter: impl FnOnce(&mut sys::DLManagedTensor)) -> LegacyTensor {
    let (mut shape, mut data) = (vec![2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let managed = sys::DLManagedTensor {
        dl_tensor: tensor(&mut shape, &mut data),
        manager_ctx: null_mut(),
        deleter: Some(delete_legacy),
    };
    let owner = Box::new(Owner { managed, runs: runs.clone(), _shape: shape, _data: data });
    let owner = Box::into_raw(owner);
    // SAFETY: live until its deleter runs.
    unsafe {
        (*owner).managed.manager_ctx = owner.cast();
        alter(&mut (*owner).managed);
        LegacyTensor::from_raw(NonNull::new_unchecked(&raw mut (*owner).managed))
    }
}

pub fn versioned(
    runs: &Runs,
    alter: impl FnOnce(&mut sys::DLManagedTensorVersioned),
) -> VersionedTensor {
    let (mut shape, mut data) = (vec![2, 3], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let managed = sys::DLManagedTensorVersioned {
        version: sys::DLPackVersion { major: 1, minor: 0 },
        manager_ctx: null_mut(),
        deleter: Some(delete_versioned),
        flags: 0,
        dl_tensor: tensor(&mut shape, &mut data),
    };
    let owner = Box::new(Owner { managed, runs: runs.clone(), _shape: shape, _data: data });
    let owner = Box::into_raw(owner);
    // SAFETY: live until its deleter runs.
    unsafe {
        (*owner).managed.manager_ctx = owner.cast();
        alter(&mut (*owner).managed);
        VersionedTensor::from_raw(NonNull::new_unchecked(&raw mut (*owner).managed))
    }
}
