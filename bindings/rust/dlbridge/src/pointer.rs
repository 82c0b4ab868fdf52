// SPDX-License-Identifier: Apache-2.0
//! The memory that a pointer refers to, as its driver reports it.

use crate::backend::Backend;
use crate::builder::bit_set;
use crate::device::Device;
use crate::error::{call, Error};
use crate::wrap::Buffer;
use dlbridge_sys as sys;

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

/// The memory that a pointer refers to.
#[derive(Clone, Copy, Debug)]
pub struct PointerInfo {
    raw: sys::DLBridgePointerInfo,
}

impl PointerInfo {
    /// The backend that knows it; [`Backend::CPU`] if no driver does.
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

    /// Did the library assume the context, since none was registered or given?
    #[must_use]
    pub const fn context_assumed(&self) -> bool {
        self.raw.properties & sys::DLBRIDGE_POINTER_CONTEXT_ASSUMED != 0
    }

    /// Start of the allocation; 0 if unknown.
    #[must_use]
    pub const fn base(&self) -> u64 {
        self.raw.base
    }

    /// Bytes of the allocation; 0 if unknown.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.raw.size
    }

    /// The native context; 0 if none is known.
    #[must_use]
    pub const fn context(&self) -> u64 {
        self.raw.context
    }

    /// The devices of the backend that can access the memory, directly or once peer access is
    /// enabled: bit i for device i, at most 64. `None` unless
    /// [`PointerOptions::peers`] asked and the driver can tell.
    #[must_use]
    pub const fn peers(&self) -> Option<u64> {
        if self.raw.properties & sys::DLBRIDGE_POINTER_PEERS_KNOWN == 0 {
            return None;
        }
        Some(self.raw.peers)
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgePointerInfo {
        &self.raw
    }
}

bit_set! {
    /// What [`pointer_info_with`] asks for.
    pub struct PointerOptions;

    /// The place of the memory only.
    new;

    /// Also [`PointerInfo::peers`], by one call per device.
    peers = DLBRIDGE_POINTER_INFO_PEERS;
}

/// Asks the driver what memory `buffer` is; `device` is its label ([`Device::CPU`] assumes
/// nothing). Classifying a host pointer starts no driver.
///
/// # Safety
///
/// If the buffer is a handle, it is live.
///
/// # Errors
///
/// A driver that cannot be asked; [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) for device
/// types without a backend.
pub unsafe fn pointer_info(buffer: Buffer, device: Device) -> Result<PointerInfo, Error> {
    // SAFETY: guaranteed by the caller.
    unsafe { pointer_info_with(buffer, device, PointerOptions::new()) }
}

/// As [`pointer_info`], with `options`.
///
/// # Safety
///
/// As for [`pointer_info`].
///
/// # Errors
///
/// As for [`pointer_info`].
pub unsafe fn pointer_info_with(
    buffer: Buffer,
    device: Device,
    options: PointerOptions,
) -> Result<PointerInfo, Error> {
    let mut raw = sys::DLBridgePointerInfo::INIT;
    raw.options = options.bits;
    // SAFETY: guaranteed by the caller.
    call(|error| unsafe {
        sys::dlbridge_pointer_info(buffer.as_raw(), device.raw(), &raw mut raw, error)
    })?;
    Ok(PointerInfo { raw })
}
