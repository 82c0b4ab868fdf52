// SPDX-License-Identifier: Apache-2.0
//! Devices.

use crate::error::Error;
use crate::text;
use crate::values::Answer;
use dlbridge_sys as sys;
use std::fmt;
use std::str::FromStr;

/// Kind of a device: an integer, since foreign code may pass any value.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceType(pub i32);

macro_rules! device_types {
    ($($name:ident = $value:ident,)*) => {
        impl DeviceType {
            $(#[doc = concat!("`", stringify!($value), "`")]
            pub const $name: Self = Self(sys::$value);)*
        }
    };
}

device_types! {
    // [facts/devices.toml]
    CPU = kDLCPU,
    CUDA = kDLCUDA,
    CUDA_HOST = kDLCUDAHost,
    OPENCL = kDLOpenCL,
    VULKAN = kDLVulkan,
    METAL = kDLMetal,
    VPI = kDLVPI,
    ROCM = kDLROCM,
    ROCM_HOST = kDLROCMHost,
    EXT_DEV = kDLExtDev,
    CUDA_MANAGED = kDLCUDAManaged,
    ONE_API = kDLOneAPI,
    WEB_GPU = kDLWebGPU,
    HEXAGON = kDLHexagon,
    MAIA = kDLMAIA,
    TRN = kDLTrn,
    TPU = kDLTPU,
    TPU_HOST = kDLTPUHost,
    ASCEND = kDLAscend,
    // [/facts]
}

impl DeviceType {
    /// Can the CPU certainly read memory of this type?
    #[must_use]
    pub fn host_accessible(self) -> bool {
        self.host_access() == Answer::Yes
    }

    /// Can the CPU read memory of this type? [`Answer::Undecided`] if it depends on the
    /// allocation, and for types that no DLPack release defines.
    #[must_use]
    pub fn host_access(self) -> Answer {
        let mut answer = sys::DLBRIDGE_UNDECIDED;
        // SAFETY: takes any integer; the output is writable.
        unsafe { sys::dlbridge_host_accessible(self.0, &raw mut answer) };
        Answer::of(answer)
    }
}

/// A device. Its text form is `cuda:1`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    /// Its kind.
    pub device_type: DeviceType,
    /// Its number among devices of its kind; 0 for host memory. In a policy, -1 means any.
    pub id: i32,
}

impl Device {
    /// The host.
    pub const CPU: Self = Self::new(DeviceType::CPU, 0);

    /// Device `id` of a kind.
    #[must_use]
    pub const fn new(device_type: DeviceType, id: i32) -> Self {
        Self { device_type, id }
    }

    pub(crate) const fn raw(self) -> sys::DLDevice {
        sys::DLDevice { device_type: self.device_type.0, device_id: self.id }
    }

    pub(crate) const fn of(raw: sys::DLDevice) -> Self {
        Self::new(DeviceType(raw.device_type), raw.device_id)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::device(self.raw()).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Device {
    type Err = Error;
    /// Errors: [`Status::PARSE`](crate::Status::PARSE).
    fn from_str(name: &str) -> Result<Self, Error> {
        text::parse_device(name).map(Self::of)
    }
}

// Slices of devices are lent to the library.
const _: () = assert!(size_of::<Device>() == size_of::<sys::DLDevice>());
const _: () = assert!(align_of::<Device>() == align_of::<sys::DLDevice>());
