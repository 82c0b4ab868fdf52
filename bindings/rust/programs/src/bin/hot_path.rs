// SPDX-License-Identifier: Apache-2.0
//! Repeats a validated upgrade and its drop as often as the first argument states. `noxfile.py`
//! compares the number of instructions with that of `tools/hot_path.c`.

use dlbridge::{sys, LegacyTensor};
use std::hint::black_box;
use std::ptr::NonNull;

unsafe extern "C" fn delete(tensor: *mut sys::DLManagedTensor) {
    // SAFETY: a producer's own struct.
    unsafe { (*tensor).manager_ctx = (*tensor).manager_ctx.wrapping_byte_add(1) };
}

#[inline(never)]
fn once(raw: NonNull<sys::DLManagedTensor>) {
    // SAFETY: live, and its memory exists.
    let tensor = unsafe { LegacyTensor::from_raw(raw) };
    match tensor.upgrade() {
        Ok(tensor) => drop(black_box(tensor)),
        Err(error) => panic!("{error}"),
    }
}

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000_usize);
    let mut shape = [2, 3, 4, 5];
    let mut strides = [60, 20, 5, 1];
    let mut data = [0.0_f32; 120];
    let mut legacy = sys::DLManagedTensor {
        dl_tensor: sys::DLTensor {
            data: data.as_mut_ptr().cast(),
            device: sys::DLDevice { device_type: sys::kDLCPU, device_id: 0 },
            ndim: 4,
            dtype: sys::DLDataType { code: sys::kDLFloat, bits: 32, lanes: 1 },
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        },
        manager_ctx: std::ptr::null_mut(),
        deleter: Some(delete),
    };
    for _ in 0..count {
        once(black_box(NonNull::from(&mut legacy)));
    }
    assert_eq!(legacy.manager_ctx.addr(), count, "the deleter ran once each");
}
