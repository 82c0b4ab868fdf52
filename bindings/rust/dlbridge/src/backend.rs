// SPDX-License-Identifier: Apache-2.0
//! The drivers that the library supports, and their state.

use crate::error::{call, Error};
use crate::values::array_text;
use dlbridge_sys as sys;

/// The driver of a device: an integer, since a newer library may support more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backend(pub i32);

impl Backend {
    // [facts/enums.toml BACKEND]
    /// Not set: the backend that the device implies.
    pub const NONE: Self = Self(sys::DLBRIDGE_BACKEND_NONE);
    /// The host.
    pub const CPU: Self = Self(sys::DLBRIDGE_BACKEND_CPU);
    /// CUDA driver API: kDLCUDA, kDLCUDAHost, kDLCUDAManaged.
    pub const CUDA: Self = Self(sys::DLBRIDGE_BACKEND_CUDA);
    /// HIP runtime: kDLROCM, kDLROCMHost.
    pub const HIP: Self = Self(sys::DLBRIDGE_BACKEND_HIP);
    /// Level Zero: kDLOneAPI.
    pub const LEVEL_ZERO: Self = Self(sys::DLBRIDGE_BACKEND_LEVEL_ZERO);
    /// OpenCL: kDLOpenCL, and kDLOneAPI if SYCL uses OpenCL.
    pub const OPENCL: Self = Self(sys::DLBRIDGE_BACKEND_OPENCL);
    // [/facts]
}

/// The state of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendState {
    /// Loaded, initialised, at least one device.
    Ready,
    /// No driver library could be loaded.
    Absent,
    /// Loaded, but its initialisation failed or it has no device.
    Unusable,
}

/// The properties of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendInfo {
    /// The backend.
    pub backend: Backend,
    /// Its state.
    pub state: BackendState,
    /// Devices of this process; 0 unless ready.
    pub device_count: i32,
    /// What the driver's initialisation returned.
    pub driver_code: i32,
    /// Version of the driver; empty if unknown.
    pub driver_version: String,
    /// Version of the loader or runtime; empty if there is none.
    pub runtime_version: String,
    /// The library in use; empty if absent.
    pub file: String,
    /// If it is not ready: each path tried with the loader's reason, or the driver's call.
    pub reason: String,
}

/// Starts `backend` unless that was tried before, and reports its state. An absent driver is not an
/// error.
///
/// # Errors
///
/// [`Status::FORKED`](crate::Status::FORKED) in the child of a process that had started it; a
/// backend that the library does not know.
pub fn backend_info(backend: Backend) -> Result<BackendInfo, Error> {
    let mut raw = sys::DLBridgeBackendInfo::INIT;
    // SAFETY: the output is writable.
    call(|error| unsafe { sys::dlbridge_backend_info(backend.0, &raw mut raw, error) })?;
    Ok(BackendInfo {
        backend: Backend(raw.backend),
        state: match raw.state {
            sys::DLBRIDGE_STATE_READY => BackendState::Ready,
            sys::DLBRIDGE_STATE_ABSENT => BackendState::Absent,
            _ => BackendState::Unusable,
        },
        device_count: raw.device_count,
        driver_code: raw.driver_code,
        driver_version: array_text(&raw.driver_version),
        runtime_version: array_text(&raw.runtime_version),
        file: array_text(&raw.file),
        reason: array_text(&raw.reason),
    })
}
