// SPDX-License-Identifier: Apache-2.0
//! Modules that must stay loaded.

use crate::error::{call, Error};
use dlbridge_sys as sys;
use std::ffi::c_void;

/// Keeps the module (shared library, plugin) that holds `address` loaded until the process ends, so
/// that a deleter inside it outlives its `dlclose`.
///
/// # Safety
///
/// The module is loaded during the call.
///
/// # Errors
///
/// [`Status::NOT_FOUND`](crate::Status::NOT_FOUND) if no module contains the address;
/// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) if it cannot be kept loaded.
pub unsafe fn module_pin(address: *const c_void) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    call(|error| unsafe { sys::dlbridge_module_pin(address, error) })
}
