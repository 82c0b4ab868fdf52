// SPDX-License-Identifier: Apache-2.0
//! What drivers know.

use crate::device::Device;
use crate::error::{call, Error};
use crate::values::array_text;
use crate::wrap::Buffer;
use dlbridge_sys as sys;

/// The driver that knows a device: an integer, since a newer library may know more.
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
    /// OpenCL: kDLOpenCL, and kDLOneAPI where SYCL runs on it.
    pub const OPENCL: Self = Self(sys::DLBRIDGE_BACKEND_OPENCL);
    // [/facts]
}

/// How far a backend got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendState {
    /// Loaded, initialised, at least one device.
    Ready,
    /// No driver library could be loaded.
    Absent,
    /// Loaded, but it does not initialise or has no device.
    Unusable,
}

/// What is known of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendInfo {
    /// The backend.
    pub backend: Backend,
    /// How far it got.
    pub state: BackendState,
    /// Devices of this process; 0 unless ready.
    pub device_count: i32,
    /// What the driver's initialisation returned.
    pub driver_code: i32,
    /// Version of the driver; empty where unknown.
    pub driver_version: String,
    /// Version of the loader or runtime; empty where there is none.
    pub runtime_version: String,
    /// The library in use; empty where absent.
    pub file: String,
    /// Where it is not ready: each path tried with the loader's reason, or the driver's call.
    pub reason: String,
}

/// Starts `backend` unless that was tried before, and reports the outcome. An absent driver is no
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

/// Kind of memory: an integer, since a newer library may know more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Memory(pub i32);

impl Memory {
    // [facts/enums.toml MEMORY]
    /// Ordinary host memory: no driver knows it.
    pub const HOST: Self = Self(sys::DLBRIDGE_MEMORY_HOST);
    /// Device memory of CUDA or HIP.
    pub const DEVICE: Self = Self(sys::DLBRIDGE_MEMORY_DEVICE);
    /// Host memory that CUDA or HIP has pinned or registered.
    pub const PINNED: Self = Self(sys::DLBRIDGE_MEMORY_PINNED);
    /// Managed memory of CUDA or HIP.
    pub const MANAGED: Self = Self(sys::DLBRIDGE_MEMORY_MANAGED);
    /// Host USM of Level Zero or OpenCL.
    pub const USM_HOST: Self = Self(sys::DLBRIDGE_MEMORY_USM_HOST);
    /// Device USM.
    pub const USM_DEVICE: Self = Self(sys::DLBRIDGE_MEMORY_USM_DEVICE);
    /// Shared USM.
    pub const USM_SHARED: Self = Self(sys::DLBRIDGE_MEMORY_USM_SHARED);
    /// OpenCL shared virtual memory (under a cl_mem).
    pub const SVM: Self = Self(sys::DLBRIDGE_MEMORY_SVM);
    /// An OpenCL buffer object.
    pub const CL_MEM: Self = Self(sys::DLBRIDGE_MEMORY_CL_MEM);
    // [/facts]
}

/// Where memory is.
#[derive(Clone, Copy, Debug)]
pub struct PointerInfo {
    raw: sys::DLBridgePointerInfo,
}

impl PointerInfo {
    /// The backend that knows it; [`Backend::CPU`] where no driver does.
    #[must_use]
    pub const fn backend(&self) -> Backend {
        Backend(self.raw.backend)
    }

    /// The device as DLPack labels it.
    #[must_use]
    pub const fn device(&self) -> Device {
        Device::of(self.raw.device)
    }

    /// The kind of memory.
    #[must_use]
    pub const fn memory(&self) -> Memory {
        Memory(self.raw.memory)
    }

    /// Index of the driver's device for it.
    #[must_use]
    pub fn native_device(&self) -> Option<u32> {
        u32::try_from(self.raw.native_device).ok()
    }

    /// Was the context one that was neither registered nor named?
    #[must_use]
    pub const fn context_assumed(&self) -> bool {
        self.raw.properties & sys::DLBRIDGE_POINTER_CONTEXT_ASSUMED != 0
    }

    /// Start of the allocation; 0 where unknown.
    #[must_use]
    pub const fn base(&self) -> u64 {
        self.raw.base
    }

    /// Bytes of the allocation; 0 where unknown.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.raw.size
    }

    /// The native context; 0 where none is known.
    #[must_use]
    pub const fn context(&self) -> u64 {
        self.raw.context
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgePointerInfo {
        &self.raw
    }
}

/// Asks the driver where `buffer` is, whose label is `device` ([`Device::CPU`] assumes nothing).
/// Classifying a host pointer starts no driver.
///
/// # Safety
///
/// A handle is live.
///
/// # Errors
///
/// A driver that cannot be asked; [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) for device
/// types without a backend.
pub unsafe fn pointer_info(buffer: Buffer, device: Device) -> Result<PointerInfo, Error> {
    let mut raw = sys::DLBridgePointerInfo::INIT;
    // SAFETY: the caller's word.
    call(|error| unsafe {
        sys::dlbridge_pointer_info(buffer.as_raw(), device.raw(), &raw mut raw, error)
    })?;
    Ok(PointerInfo { raw })
}
