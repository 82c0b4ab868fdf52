// SPDX-License-Identifier: Apache-2.0
//! What a consumer demands of a tensor.

use crate::device::Device;
use crate::dtype::Dtype;
use crate::values::Version;
use dlbridge_sys as sys;
use std::marker::PhantomData;

/// How much memory a validation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// The struct itself.
    Struct,
    /// Also shape and strides; the default.
    Metadata,
    /// Also asks the driver where the data lies, which may start it.
    Device,
}

/// A required order of elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contiguity {
    /// Any strides; the default.
    Any,
    /// Compact, last axis fastest.
    C,
    /// Compact, first axis fastest.
    F,
    /// One of the two.
    COrF,
}

/// What a consumer demands. It borrows the lists that it is given. Each method sets one demand:
///
/// ```
/// use dlbridge::{Contiguity, Device, Dtype, Policy};
///
/// let policy = Policy::new().contiguity(Contiguity::C).devices(&[Device::CPU]).writable();
/// # let _ = policy;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    raw: sys::DLBridgePolicy,
    lists: PhantomData<(&'a [Device], &'a [Dtype])>,
}

// SAFETY: its pointers are shared borrows of plain values.
unsafe impl Send for Policy<'_> {}
// SAFETY: as above.
unsafe impl Sync for Policy<'_> {}

impl Default for Policy<'_> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl<'a> Policy<'a> {
    /// The default: sound metadata, and nothing else.
    pub const DEFAULT: Self = Self { raw: sys::DLBridgePolicy::INIT, lists: PhantomData };

    /// The default, to start from.
    #[must_use]
    pub const fn new() -> Self {
        Self::DEFAULT
    }

    const fn flag(mut self, bit: u32) -> Self {
        self.raw.flags |= bit;
        self
    }

    /// How much memory is read.
    #[must_use]
    pub const fn level(mut self, level: Level) -> Self {
        self.raw.level = match level {
            Level::Struct => sys::DLBRIDGE_LEVEL_STRUCT,
            Level::Metadata => sys::DLBRIDGE_LEVEL_METADATA,
            Level::Device => sys::DLBRIDGE_LEVEL_DEVICE,
        };
        self
    }

    /// Newest DLPack that the consumer speaks.
    #[must_use]
    pub const fn version(mut self, version: Version) -> Self {
        self.raw.version = version.raw();
        self
    }

    /// Largest number of axes; 64 by default.
    #[must_use]
    pub const fn max_ndim(mut self, axes: i32) -> Self {
        self.raw.max_ndim = axes;
        self
    }

    /// The order of elements.
    #[must_use]
    pub const fn contiguity(mut self, contiguity: Contiguity) -> Self {
        self.raw.contiguity = match contiguity {
            Contiguity::Any => sys::DLBRIDGE_CONTIGUITY_ANY,
            Contiguity::C => sys::DLBRIDGE_CONTIGUITY_C,
            Contiguity::F => sys::DLBRIDGE_CONTIGUITY_F,
            Contiguity::COrF => sys::DLBRIDGE_CONTIGUITY_C_OR_F,
        };
        self
    }

    /// Bytes, a power of two, that the address of element (0,...,0) is a multiple of; 0: any.
    #[must_use]
    pub const fn alignment(mut self, bytes: u64) -> Self {
        self.raw.alignment = bytes;
        self
    }

    /// Bytes at `data` that the extent stays inside.
    #[must_use]
    pub const fn buffer_size(mut self, bytes: u64) -> Self {
        self.raw.buffer_size = bytes;
        self
    }

    /// Devices accepted, with id -1 for any id. An empty list accepts none.
    #[must_use]
    pub const fn devices(mut self, devices: &'a [Device]) -> Self {
        self.raw.devices = devices.as_ptr().cast();
        self.raw.device_count = devices.len();
        self
    }

    /// Dtypes accepted. An empty list accepts none.
    #[must_use]
    pub const fn dtypes(mut self, dtypes: &'a [Dtype]) -> Self {
        self.raw.dtypes = dtypes.as_ptr().cast();
        self.raw.dtype_count = dtypes.len();
        self
    }

    /// Refuse dtype codes that [`Policy::version`] does not know.
    #[must_use]
    pub const fn refuse_unknown_dtype(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE)
    }

    /// Refuse device types that [`Policy::version`] does not know.
    #[must_use]
    pub const fn refuse_unknown_device(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE)
    }

    /// Refuse flag bits that [`Policy::version`] does not know.
    #[must_use]
    pub const fn refuse_unknown_flags(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS)
    }

    /// Refuse negative strides.
    #[must_use]
    pub const fn refuse_negative_strides(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES)
    }

    /// Refuse zero strides on axes longer than 1.
    #[must_use]
    pub const fn refuse_zero_strides(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_REJECT_ZERO_STRIDES)
    }

    /// Accept NULL strides also of a tensor that says DLPack 1.2 or later.
    #[must_use]
    pub const fn allow_null_strides(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_ALLOW_NULL_STRIDES)
    }

    /// Take 0x8000 lanes and more at face value.
    #[must_use]
    pub const fn allow_scalable_lanes(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES)
    }

    /// Demand that the tensor may be written to: not read-only, and no two elements share memory.
    #[must_use]
    pub const fn writable(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_REQUIRE_WRITABLE)
    }

    /// The caller knows that a legacy or bare tensor may be written to, which cannot say so.
    #[must_use]
    pub const fn vouch_writable(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_VOUCH_WRITABLE)
    }

    /// Elements may share memory even where the tensor is to be writable.
    #[must_use]
    pub const fn allow_self_overlap(self) -> Self {
        self.flag(sys::DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP)
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgePolicy {
        &self.raw
    }

    /// The struct of the C ABI, to be altered.
    ///
    /// # Safety
    ///
    /// Its pointers stay what the header says: borrowed lists that live as long as `'a`.
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgePolicy {
        &mut self.raw
    }
}
