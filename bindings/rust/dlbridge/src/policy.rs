// SPDX-License-Identifier: Apache-2.0
//! The requirements of a consumer.

use crate::builder::{set_bits, set_fields};
use crate::device::Device;
use crate::dtype::Dtype;
use crate::text::axes;
use crate::values::Version;
use dlbridge_sys as sys;
use std::marker::PhantomData;
use std::ptr::null;

/// How much memory a validation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// The struct itself.
    Struct,
    /// Also shape and strides; the default.
    Metadata,
    /// Also asks the driver for the place of the data, which may start the driver.
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

/// The requirements of a consumer. It borrows its lists. Each method sets one requirement:
///
/// ```
/// use dlbridge::{Contiguity, Device, Policy, Rule, UniqueTensor};
///
/// let policy = Policy::new().contiguity(Contiguity::C).devices(&[Device::CPU]).shape(&[-1, 3]);
/// let tensor = UniqueTensor::from_vec(vec![0_u8; 6], &[2, 3])?;
/// assert!(tensor.as_view().validate(&policy).is_ok());
/// let tensor = UniqueTensor::from_vec(vec![0_u8; 6], &[3, 2])?;
/// let error = tensor.as_view().validate(&policy).unwrap_err();
/// assert_eq!((error.rule(), error.axis()), (Rule::SHAPE_MISMATCH, Some(1)));
/// # Ok::<(), dlbridge::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    raw: sys::DLBridgePolicy,
    lists: PhantomData<(&'a [Device], &'a [Dtype], &'a [i64])>,
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
    /// The default: valid metadata, and nothing else.
    pub const DEFAULT: Self = Self { raw: sys::DLBridgePolicy::INIT, lists: PhantomData };

    /// The default, to start from.
    #[must_use]
    pub const fn new() -> Self {
        Self::DEFAULT
    }

    const fn option(mut self, bit: u32) -> Self {
        self.raw.options |= bit;
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

    set_fields! {
        /// Newest DLPack that the consumer reads.
        version(version: Version) = version.raw();

        /// Bytes, a power of two, that the address of element (0,...,0) must be a multiple of; 0:
        /// any.
        alignment(bytes: u64) = bytes;
    }

    /// Smallest number of axes.
    #[must_use]
    pub const fn min_ndim(self, axes: i32) -> Self {
        let max = self.limits().1;
        self.ndim(axes, max)
    }

    /// Largest number of axes. No policy accepts more than
    /// [`DLBRIDGE_MAX_NDIM`](dlbridge_sys::DLBRIDGE_MAX_NDIM).
    #[must_use]
    pub const fn max_ndim(self, axes: i32) -> Self {
        let min = self.limits().0;
        self.ndim(min, axes)
    }

    /// The exact extent of each axis, and so their number; -1: any extent. Later limits that
    /// contradict it make the policy an invalid argument.
    #[must_use]
    pub const fn shape(self, shape: &'a [i64]) -> Self {
        let mut policy = self;
        policy.raw.shape = null();
        policy = policy.ndim(axes(shape), axes(shape));
        policy.raw.shape = if shape.is_empty() { null() } else { shape.as_ptr() };
        policy
    }

    /// The current limits.
    const fn limits(&self) -> (i32, i32) {
        if self.raw.options & sys::DLBRIDGE_POLICY_LIMIT_NDIM == 0 {
            (0, sys::DLBRIDGE_MAX_NDIM)
        } else {
            (self.raw.min_ndim, self.raw.max_ndim)
        }
    }

    /// The library reads `max_ndim` extents of a shape, and rejects limits that differ. Limits that
    /// are equal to each other, but not to the shape's number of extents, become such limits.
    const fn ndim(mut self, min: i32, max: i32) -> Self {
        let contradict = !self.raw.shape.is_null()
            && min == max
            && (min != self.raw.min_ndim || max != self.raw.max_ndim);
        (self.raw.min_ndim, self.raw.max_ndim) = match contradict {
            true if max > 0 => (0, max),
            true => (0, 1),
            false => (min, max),
        };
        self.option(sys::DLBRIDGE_POLICY_LIMIT_NDIM)
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

    /// Bytes at `data` that all elements must lie inside.
    #[must_use]
    pub const fn buffer_size(mut self, bytes: u64) -> Self {
        self.raw.buffer_size = bytes;
        self.option(sys::DLBRIDGE_POLICY_LIMIT_BUFFER)
    }

    /// Devices accepted, with id -1 for any id. An empty list is an invalid argument.
    #[must_use]
    pub const fn devices(mut self, devices: &'a [Device]) -> Self {
        self.raw.devices = devices.as_ptr().cast();
        self.raw.device_count = devices.len();
        self
    }

    /// Dtypes accepted. An empty list is an invalid argument.
    #[must_use]
    pub const fn dtypes(mut self, dtypes: &'a [Dtype]) -> Self {
        self.raw.dtypes = dtypes.as_ptr().cast();
        self.raw.dtype_count = dtypes.len();
        self
    }

    set_bits! { options:
        /// Reject dtype codes that [`Policy::version`] does not know.
        reject_unknown_dtype = DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE;

        /// Reject device types that [`Policy::version`] does not know.
        reject_unknown_device = DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE;

        /// Reject flag bits that [`Policy::version`] does not know.
        reject_unknown_flags = DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS;

        /// Reject negative strides.
        reject_negative_strides = DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES;

        /// Reject zero strides on axes longer than 1.
        reject_zero_strides = DLBRIDGE_POLICY_REJECT_ZERO_STRIDES;

        /// Accept NULL strides also on tensors of version 1.2 or later.
        allow_null_strides = DLBRIDGE_POLICY_ALLOW_NULL_STRIDES;

        /// Read lanes of 0x8000 and more as a number, not as a marker of scalable vectors.
        allow_scalable_lanes = DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES;

        /// Require that the tensor may be written to: not read-only, and no two elements share
        /// memory.
        require_writable = DLBRIDGE_POLICY_REQUIRE_WRITABLE;

        /// The caller assumes that a legacy or borrowed tensor, which cannot record it, is writable.
        vouch_writable = DLBRIDGE_POLICY_VOUCH_WRITABLE;

        /// Elements may share memory even where a writable tensor is required.
        allow_self_overlap = DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP;
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgePolicy {
        &self.raw
    }

    /// The struct of the C ABI, for changes.
    ///
    /// # Safety
    ///
    /// Its pointers meet the header's requirements: borrowed lists that live as long as `'a`.
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgePolicy {
        &mut self.raw
    }
}
