// SPDX-License-Identifier: Apache-2.0
//! Copies: strided to compact, host to device and back.

use crate::allocator::AllocatorHook;
use crate::borrowed::BorrowedTensor;
use crate::builder::{set_bits, set_fields};
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

// SAFETY: its pointers are shared borrows of Sync values; handles are integers.
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

    set_fields! {
        /// Device of the copy.
        device(device: Device) = device.raw();

        /// Queue that orders the copy after earlier work on it.
        stream(stream: Stream) = *stream.as_raw();

        /// The allocator of its memory.
        allocator(allocator: &'a AllocatorHook) = allocator.as_raw();

        /// DLPack flags of the copy; [`Flags::IS_COPIED`] is added.
        tensor_flags(flags: Flags) = flags.0;

        /// Newest DLPack that the consumer reads.
        version(version: Version) = version.raw();

        /// Validate the source by it.
        policy(policy: &'a Policy<'a>) = policy.as_raw();
    }

    set_bits! { options:
        /// Copies that the driver cannot express may go through host memory.
        allow_staging = DLBRIDGE_COPY_ALLOW_STAGING;

        /// Into memory that can be shared with other processes.
        shareable = DLBRIDGE_COPY_SHAREABLE;
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
    /// Its pointers meet the header's requirements, live as long as `'a` and may be used on any
    /// thread; for a target see [`BorrowedTensor::copy_into`].
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgeCopySpec {
        &mut self.raw
    }
}

/// # Safety
///
/// The spec's pointers meet the header's requirements, and the caller owns the target, if any.
unsafe fn copy(
    source: &BorrowedTensor<'_>,
    spec: &sys::DLBridgeCopySpec,
) -> Result<UniqueTensor, Error> {
    let mut out = null_mut();
    let flags = source.flags().0;
    // SAFETY: the source is readable, and so is its memory; the caller guarantees the spec.
    call(|error| unsafe { sys::dlbridge_copy(source.as_ptr(), flags, spec, &raw mut out, error) })?;
    // SAFETY: on success the result is not NULL and owned by the caller.
    Ok(UniqueTensor::new(unsafe { Tensor::from_result(out) }))
}

impl BorrowedTensor<'_> {
    /// Copies it to compact memory, last axis fastest; it is validated first.
    ///
    /// # Errors
    ///
    /// Any rule on the tensor; a layout that no driver can copy; no memory;
    /// [`Status::DRIVER`](crate::Status::DRIVER), after which the driver may still read the source:
    /// its owner is then kept, or leaked, until the device was synchronised.
    pub fn copy(&self, spec: &CopySpec<'_>) -> Result<UniqueTensor, Error> {
        // SAFETY: the values that the spec borrows are live.
        unsafe { copy(self, &spec.raw) }
    }

    /// Copies it to the caller's memory: `size` bytes at `target`, from byte `offset` on. `release`
    /// is called once after the last owner of the copy is dropped; if the call fails, it is dropped
    /// without being called.
    ///
    /// # Safety
    ///
    /// The target is such memory of the spec's device, and no other code uses it until then. After
    /// [`Status::DRIVER`](crate::Status::DRIVER) the driver may still use source and target:
    /// both stay live, and the target unused, until the device was synchronised.
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
        // SAFETY: guaranteed by the caller.
        with_target(spec, target, offset, size, release, |spec| unsafe { copy(self, spec) })
    }
}

/// Calls `make` with a spec that has the target and owns `release`.
pub(crate) fn with_target<F: FnOnce(Released) + Send + 'static, T>(
    spec: &CopySpec<'_>,
    target: Buffer,
    offset: u64,
    size: u64,
    release: F,
    make: impl FnOnce(&sys::DLBridgeCopySpec) -> Result<T, Error>,
) -> Result<T, Error> {
    let context = Box::into_raw(Box::new(release));
    let spec = sys::DLBridgeCopySpec {
        target: *target.as_raw(),
        target_offset: offset,
        target_size: size,
        release: Some(call_release::<F>),
        release_context: context.cast(),
        ..spec.raw
    };
    // SAFETY: a call that fails has not taken the callback.
    make(&spec).inspect_err(|_| drop(unsafe { Box::from_raw(context) }))
}

impl TensorView<'_> {
    /// Copies it to compact memory, last axis fastest.
    ///
    /// # Errors
    ///
    /// A layout that no driver can copy; no memory; [`Status::DRIVER`](crate::Status::DRIVER),
    /// after which the driver may still read the source: see [`BorrowedTensor::copy`].
    pub fn copy(&self, spec: &CopySpec<'_>) -> Result<UniqueTensor, Error> {
        self.as_borrowed().copy(spec)
    }
}
