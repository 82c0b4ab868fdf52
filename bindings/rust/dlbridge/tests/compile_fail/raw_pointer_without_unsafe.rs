// SPDX-License-Identifier: Apache-2.0
// E0133: safe code takes ownership of a raw pointer.
use dlbridge::{sys::DLManagedTensor, LegacyTensor};
use std::ptr::NonNull;

pub fn take(raw: NonNull<DLManagedTensor>) -> LegacyTensor {
    #[cfg(bad)]
    return LegacyTensor::from_raw(raw);
    // SAFETY: never run.
    #[cfg(not(bad))]
    unsafe {
        LegacyTensor::from_raw(raw)
    }
}
