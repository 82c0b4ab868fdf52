// SPDX-License-Identifier: Apache-2.0
//! Copies: strided to compact, host to device and back.

use crate::allocator::AllocatorHook;
use crate::borrowed::BorrowedTensor;
use crate::device::Device;
use crate::error::{call, Error};
use crate::policy::Policy;
use crate::stream::Stream;
use crate::tensor::Tensor;
use crate::unique::UniqueTensor;
use crate::values::{Flags, Version};
use crate::view::TensorView;
use crate::wrap::{call_release, Buffer, Released};
use dlbridge_sys as sys;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// Where to copy to, and how.
#[derive(Clone, Copy, Debug)]
pub struct CopySpec<'a> {
    raw: sys::DLBridgeCopySpec,
    borrowed: PhantomData<(&'a Policy<'a>, &'a AllocatorHook)>,
}

// SAFETY: its pointers are shared borrows of what is Sync; handles are integers.
unsafe impl Send for CopySpec<'_> {}
// SAFETY: as above.
unsafe impl Sync for CopySpec<'_> {}

impl Default for CopySpec<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> CopySpec<'a> {
    /// To new memory of the host.
    #[must_use]
    pub const fn new() -> Self {
        Self { raw: sys::DLBridgeCopySpec::INIT, borrowed: PhantomData }
    }

    /// Device of the copy.
    #[must_use]
    pub const fn device(mut self, device: Device) -> Self {
        self.raw.device = device.raw();
        self
    }

    /// Queue that orders the copy after earlier work on it.
    #[must_use]
    pub const fn stream(mut self, stream: Stream) -> Self {
        self.raw.stream = *stream.as_raw();
        self
    }

    /// The allocator of its memory.
    #[must_use]
    pub fn allocator(mut self, allocator: &'a AllocatorHook) -> Self {
        self.raw.allocator = allocator.as_raw();
        self
    }

    /// DLPack flags of the copy; [`Flags::IS_COPIED`] is added.
    #[must_use]
    pub const fn tensor_flags(mut self, flags: Flags) -> Self {
        self.raw.tensor_flags = flags.0;
        self
    }

    /// Newest DLPack that the consumer reads.
    #[must_use]
    pub const fn version(mut self, version: Version) -> Self {
        self.raw.version = version.raw();
        self
    }

    /// Validate the source by it.
    #[must_use]
    pub const fn policy(mut self, policy: &'a Policy<'a>) -> Self {
        self.raw.policy = policy.as_raw();
        self
    }

    /// Copies that the driver cannot express may go through host memory.
    #[must_use]
    pub const fn allow_staging(mut self) -> Self {
        self.raw.options |= sys::DLBRIDGE_COPY_ALLOW_STAGING;
        self
    }

    /// Into memory that can be shared with other processes.
    #[must_use]
    pub const fn shareable(mut self) -> Self {
        self.raw.options |= sys::DLBRIDGE_COPY_SHAREABLE;
        self
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeCopySpec {
        &self.raw
    }

    /// The struct of the C ABI, for changes.
    ///
    /// # Safety
    ///
    /// Its pointers stay what the header states, live as long as `'a` and may be used on any thread;
    /// for a target see [`BorrowedTensor::copy_into`].
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgeCopySpec {
        &mut self.raw
    }
}

/// # Safety
///
/// The spec's pointers are what the header states, and a target is the caller's to give.
unsafe fn copy(
    source: &BorrowedTensor<'_>,
    spec: &sys::DLBridgeCopySpec,
) -> Result<UniqueTensor, Error> {
    let mut out = null_mut();
    let flags = source.flags().0;
    // SAFETY: the source is readable, and so is its memory; the spec is the caller's word.
    call(|error| unsafe { sys::dlbridge_copy(source.as_ptr(), flags, spec, &raw mut out, error) })?;
    // SAFETY: on success the result is the caller's and not NULL.
    Ok(UniqueTensor::new(unsafe { Tensor::from_result(out) }))
}

impl BorrowedTensor<'_> {
    /// Copies it to compact memory, last axis fastest; it is validated first.
    ///
    /// # Errors
    ///
    /// Any rule on the tensor; what no driver can copy; no memory;
    /// [`Status::DRIVER`](crate::Status::DRIVER), after which the driver may still read the source:
    /// its owner is then kept, or leaked, until the device was synchronised.
    pub fn copy(&self, spec: &CopySpec<'_>) -> Result<UniqueTensor, Error> {
        // SAFETY: what the spec borrows lives.
        unsafe { copy(self, &spec.raw) }
    }

    /// Copies it to memory of the caller's: `size` bytes at `target`, from byte `offset` on.
    /// `release` is called once when the last owner of the copy is gone; where the call fails it is
    /// dropped without being called.
    ///
    /// # Safety
    ///
    /// The target is such memory of the spec's device, and no other code uses it until then. After
    /// [`Status::DRIVER`](crate::Status::DRIVER) the driver may still be at work on source and
    /// target: both stay, and the target is not used, until the device was synchronised.
    ///
    /// # Errors
    ///
    /// As for [`BorrowedTensor::copy`]; a target that is too small. Its bytes are unspecified then.
    pub unsafe fn copy_into<F: FnOnce(Released) + Send + 'static>(
        &self,
        spec: &CopySpec<'_>,
        target: Buffer,
        offset: u64,
        size: u64,
        release: F,
    ) -> Result<UniqueTensor, Error> {
        let context = Box::into_raw(Box::new(release));
        let spec = sys::DLBridgeCopySpec {
            target: *target.as_raw(),
            target_offset: offset,
            target_size: size,
            release: Some(call_release::<F>),
            release_context: context.cast(),
            ..spec.raw
        };
        // SAFETY: the caller's word; a call that fails has not taken the callback.
        unsafe { copy(self, &spec).inspect_err(|_| drop(Box::from_raw(context))) }
    }
}

impl TensorView<'_> {
    /// Copies it to compact memory, last axis fastest.
    ///
    /// # Errors
    ///
    /// What no driver can copy; no memory; [`Status::DRIVER`](crate::Status::DRIVER), after which
    /// the driver may still read the source: see [`BorrowedTensor::copy`].
    pub fn copy(&self, spec: &CopySpec<'_>) -> Result<UniqueTensor, Error> {
        self.as_borrowed().copy(spec)
    }
}
