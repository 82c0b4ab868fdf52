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

    /// A legacy source, which cannot say it, must not be written to. It is not, whatever
    /// [`ConvertOptions::writable`] says.
    #[must_use]
    pub const fn source_read_only(mut self) -> Self {
        self.raw.source_flags |= Flags::READ_ONLY.0;
        self
    }

    /// A legacy source, which cannot say it, was copied for this tensor.
    #[must_use]
    pub const fn source_copied(mut self) -> Self {
        self.raw.source_flags |= Flags::IS_COPIED.0;
        self
    }

    /// Any DLPack flags that the caller knows of a legacy source, which cannot say them.
    ///
    /// # Safety
    ///
    /// Every tensor that is converted so lies in memory as the flags say: of one that is said to be
    /// [`Flags::PADDED`], elements of less than a byte fill a whole one.
    #[must_use]
    pub const unsafe fn source_flags(mut self, flags: Flags) -> Self {
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
    ///
    /// # Safety
    ///
    /// The memory of every tensor that is converted so may be written to, by whoever gets the
    /// result from [`Tensor::into_raw`](crate::Tensor::into_raw) too, once nothing here refers to
    /// its elements.
    #[must_use]
    pub const unsafe fn writable(self) -> Self {
        self.flag(sys::DLBRIDGE_CONVERT_VOUCH_WRITABLE)
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
    ///
    /// # Safety
    ///
    /// Nobody who gets such a legacy tensor writes to its memory, though nothing in it says that it
    /// must not be: not while it is read here, and where it is an [`Arc`](std::sync::Arc)'s or
    /// another owner's that lends it out for reading, never.
    #[must_use]
    pub const unsafe fn drop_read_only(self) -> Self {
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
        self.flag(sys::DLBRIDGE_CONVERT_ALLOW_NEWER_CODES)
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
    /// `SKIP_VALIDATION` see [`ConvertOptions::skip_validation`], for `WRITABLE`, `DROP_READ_ONLY` and
    /// the source's flags the methods of their names.
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgeConvertOptions {
        &mut self.raw
    }
}
