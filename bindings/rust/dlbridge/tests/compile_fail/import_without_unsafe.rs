// SPDX-License-Identifier: Apache-2.0
// E0133: safe code imports a foreign tensor.
use dlbridge::{import, ConvertOptions, Error, Kind, Tensor};
use std::ffi::c_void;

pub fn take(tensor: *mut c_void) -> Result<Tensor, Error> {
    #[cfg(bad)]
    return import(tensor, Kind::Unknown, &ConvertOptions::DEFAULT);
    // SAFETY: never run.
    #[cfg(not(bad))]
    unsafe {
        import(tensor, Kind::Unknown, &ConvertOptions::DEFAULT)
    }
}
