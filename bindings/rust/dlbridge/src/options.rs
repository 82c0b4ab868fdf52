// SPDX-License-Identifier: Apache-2.0
//! How to convert.

use crate::allocator::AllocatorHook;
use crate::policy::Policy;
use crate::values::{Flags, Version};
use dlbridge_sys as sys;
use std::marker::PhantomData;

/// How to convert a tensor. It borrows the policy and the allocator.
#[derive(Clone, Copy, Debug)]
pub struct ConvertOptions<'a> {
    raw: sys::DLBridgeConvertOptions,
    borrowed: PhantomData<(&'a Policy<'a>, &'a AllocatorHook)>,
}

// SAFETY: its pointers are shared borrows of what is Sync.
unsafe impl Send for ConvertOptions<'_> {}
// SAFETY: as above.
unsafe impl Sync for ConvertOptions<'_> {}

impl Default for ConvertOptions<'_> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl<'a> ConvertOptions<'a> {
    /// The default: validate by the default policy, change nothing, lose nothing.
    pub const DEFAULT: Self =
        Self { raw: sys::DLBridgeConvertOptions::INIT, borrowed: PhantomData };

    /// The default, to start from.
    #[must_use]
    pub const fn new() -> Self {
        Self::DEFAULT
    }

    const fn flag(mut self, bit: u32) -> Self {
        self.raw.flags |= bit;
        self
    }

    /// Validate by this policy first.
    #[must_use]
    pub const fn policy(mut self, policy: &'a Policy<'a>) -> Self {
        self.raw.policy = policy.as_raw();
        self
    }

    /// Newest DLPack that the consumer speaks; a tensor that needs more is refused.
    #[must_use]
    pub const fn version(mut self, version: Version) -> Self {
        self.raw.version = version.raw();
        self
    }

    /// DLPack flags that the caller knows of a legacy source, which cannot say them.
    #[must_use]
    pub const fn source_flags(mut self, flags: Flags) -> Self {
        self.raw.source_flags = flags.0;
        self
    }

    /// Memory for [`ConvertOptions::copy`].
    #[must_use]
    pub fn allocator(mut self, allocator: &'a AllocatorHook) -> Self {
        self.raw.allocator = allocator.as_raw();
        self
    }

    /// The caller knows that a legacy source may be written to; else it becomes read-only.
    #[must_use]
    pub const fn writable(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_WRITABLE)
    }

    /// Let dtype codes, device types and flag bits pass that the consumer's version does not know.
    #[must_use]
    pub const fn allow_unknown(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_ALLOW_UNKNOWN)
    }

    /// Write the result in canonical form.
    #[must_use]
    pub const fn canonical(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_CANONICAL)
    }

    /// Add the byte offset to the data's address.
    #[must_use]
    pub const fn fold_byte_offset(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET)
    }

    /// Copy the data; the source is released.
    #[must_use]
    pub const fn copy(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_COPY)
    }

    /// Downgrade: the read-only flag may be lost.
    #[must_use]
    pub const fn drop_read_only(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_DROP_READ_ONLY)
    }

    /// Downgrade: the padded flag may be lost.
    #[must_use]
    pub const fn drop_padded(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_DROP_PADDED)
    }

    /// Downgrade: dtype codes and device types newer than legacy pass.
    #[must_use]
    pub const fn newer_codes(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_NEWER_CODES)
    }

    /// Keep the module of the producer's deleter loaded.
    #[must_use]
    pub const fn pin_producer(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_PIN_PRODUCER)
    }

    /// Skip the validation.
    ///
    /// # Safety
    ///
    /// Every tensor that is converted so would pass the default policy.
    #[must_use]
    pub const unsafe fn skip_validation(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_SKIP_VALIDATION)
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeConvertOptions {
        &self.raw
    }

    /// The struct of the C ABI, to be altered.
    ///
    /// # Safety
    ///
    /// Its pointers stay what the header says and live as long as `'a`; for the flag
    /// `SKIP_VALIDATION` see [`ConvertOptions::skip_validation`].
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgeConvertOptions {
        &mut self.raw
    }
}
