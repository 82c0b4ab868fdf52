// SPDX-License-Identifier: Apache-2.0
//! Options of conversions.

use crate::allocator::AllocatorHook;
use crate::builder::{set_bits, set_fields};
use crate::policy::Policy;
use crate::values::{Flags, Version};
use dlbridge_sys as sys;
use std::marker::PhantomData;

/// Options of a conversion. They borrow the policy and the allocator.
#[derive(Clone, Copy, Debug)]
pub struct ConvertOptions<'a> {
    raw: sys::DLBridgeConvertOptions,
    borrowed: PhantomData<(&'a Policy<'a>, &'a AllocatorHook)>,
}

// SAFETY: its pointers are shared borrows of Sync values.
unsafe impl Send for ConvertOptions<'_> {}
// SAFETY: as above.
unsafe impl Sync for ConvertOptions<'_> {}

impl Default for ConvertOptions<'_> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl<'a> ConvertOptions<'a> {
    /// The default: validate by the default policy, change nothing, lose no flag.
    pub const DEFAULT: Self =
        Self { raw: sys::DLBridgeConvertOptions::INIT, borrowed: PhantomData };

    /// The default, to start from.
    #[must_use]
    pub const fn new() -> Self {
        Self::DEFAULT
    }

    const fn option(mut self, bit: u32) -> Self {
        self.raw.options |= bit;
        self
    }

    set_fields! {
        /// Validate by this policy first.
        policy(policy: &'a Policy<'a>) = policy.as_raw();

        /// Newest DLPack that the consumer reads; a tensor that needs more is rejected. Of major 1
        /// for a versioned result, of major 0 for
        /// [`VersionedTensor::downgrade`](crate::VersionedTensor::downgrade). An export takes its
        /// target instead.
        version(version: Version) = version.raw();

        /// Memory for [`ConvertOptions::copy`].
        allocator(allocator: &'a AllocatorHook) = allocator.as_raw();
    }

    /// A legacy source, which cannot record this, must not be written to. It overrides
    /// [`ConvertOptions::vouch_writable`].
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.raw.tensor_flags |= Flags::READ_ONLY.0;
        self
    }

    /// A legacy source, which cannot record this, was copied for this tensor.
    #[must_use]
    pub const fn copied(mut self) -> Self {
        self.raw.tensor_flags |= Flags::IS_COPIED.0;
        self
    }

    /// DLPack flags of a legacy source that the caller knows and the source cannot record.
    ///
    /// # Safety
    ///
    /// The flags are true for every tensor that is converted with them: with [`Flags::PADDED`],
    /// elements of less than a byte fill a whole one.
    #[must_use]
    pub const unsafe fn tensor_flags(mut self, flags: Flags) -> Self {
        self.raw.tensor_flags = flags.0;
        self
    }

    /// The caller knows that a legacy source may be written to; without it the result is read-only.
    ///
    /// # Safety
    ///
    /// The memory of every tensor that is converted with this option may be written to once no
    /// reference to its elements exists here, also by a receiver of
    /// [`Tensor::into_raw`](crate::Tensor::into_raw).
    #[must_use]
    pub const unsafe fn vouch_writable(self) -> Self {
        self.option(sys::DLBRIDGE_CONVERT_VOUCH_WRITABLE)
    }

    set_bits! { options:
        /// Accept dtype codes, device types and flag bits that the consumer's version does not
        /// know.
        allow_unknown = DLBRIDGE_CONVERT_ALLOW_UNKNOWN;

        /// Write the result in canonical form.
        canonical = DLBRIDGE_CONVERT_CANONICAL;

        /// Add the byte offset to the data's address.
        fold_byte_offset = DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET;

        /// Copy the data; the source is released.
        copy = DLBRIDGE_CONVERT_COPY;

        /// To legacy: the padded flag may be lost.
        drop_padded = DLBRIDGE_CONVERT_DROP_PADDED;

        /// To legacy: accept dtype codes and device types newer than the legacy version.
        allow_newer_codes = DLBRIDGE_CONVERT_ALLOW_NEWER_CODES;

        /// Keep the module of the producer's deleter loaded.
        pin_producer = DLBRIDGE_CONVERT_PIN_PRODUCER;
    }

    /// To legacy: the read-only flag may be lost.
    ///
    /// # Safety
    ///
    /// No receiver of the legacy tensor writes to its memory, although the tensor does not record
    /// that this is forbidden: not while it is read here, and never if an [`Arc`](std::sync::Arc)
    /// or another owner shares it for reading.
    #[must_use]
    pub const unsafe fn drop_read_only(self) -> Self {
        self.option(sys::DLBRIDGE_CONVERT_DROP_READ_ONLY)
    }

    /// Skip the validation.
    ///
    /// # Safety
    ///
    /// Every tensor that is converted with this option would pass the default policy.
    #[must_use]
    pub const unsafe fn skip_validation(self) -> Self {
        self.option(sys::DLBRIDGE_CONVERT_SKIP_VALIDATION)
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeConvertOptions {
        &self.raw
    }

    /// The struct of the C ABI, for changes.
    ///
    /// # Safety
    ///
    /// Its pointers meet the header's requirements and live as long as `'a`; for `SKIP_VALIDATION`,
    /// `VOUCH_WRITABLE`, `DROP_READ_ONLY` and `tensor_flags` see the methods of their names.
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgeConvertOptions {
        &mut self.raw
    }
}
