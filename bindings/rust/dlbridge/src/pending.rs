// SPDX-License-Identifier: Apache-2.0
//! Copies and releases that streams order: the host does not wait, and the library holds what a
//! stream still uses.

use crate::builder::bit_set;
use crate::copy::{with_target, CopySpec};
use crate::error::{call, taken, Error, Rejected, Rule, Status};
use crate::foreign::{LegacyTensor, VersionedTensor};
use crate::stream::Stream;
use crate::tensor::Tensor;
use crate::unique::UniqueTensor;
use crate::values::Kind;
use crate::view::{view_methods, TensorView};
use crate::wrap::{Buffer, Released};
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::ptr::null_mut;

/// A copy that a stream is still making ([`Tensor::copy_async`]): its elements can be reached once
/// the stream has done the work. Dropping it releases the copy; the library holds the memory until
/// then.
#[derive(Debug)]
pub struct PendingCopy {
    tensor: Tensor,
    stream: Stream,
}

impl PendingCopy {
    /// A view of its description. Its elements must not be read.
    fn as_view(&self) -> TensorView<'_> {
        self.tensor.as_view()
    }

    view_methods!();

    /// The struct, still owned by this value, for work on [`PendingCopy::stream`].
    #[must_use]
    pub const fn as_ptr(&self) -> *mut sys::DLManagedTensorVersioned {
        self.tensor.as_ptr()
    }

    /// The stream that makes the copy.
    #[must_use]
    pub const fn stream(&self) -> Stream {
        self.stream
    }

    /// Waits on the host until the stream has made the copy.
    ///
    /// # Errors
    ///
    /// As for [`Stream::synchronize`]. The copy is released.
    pub fn synchronize(self) -> Result<UniqueTensor, Error> {
        Ok(self.try_synchronize()?)
    }

    /// As [`PendingCopy::synchronize`], but on failure returns the copy in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`PendingCopy::synchronize`].
    pub fn try_synchronize(self) -> Result<UniqueTensor, Rejected<Self>> {
        match self.stream.synchronize() {
            Ok(()) => Ok(UniqueTensor::new(self.tensor)),
            Err(error) => Err(Rejected { error, value: self }),
        }
    }

    /// The copy at once, for later work on the stream, if the CPU cannot read it. Work on other
    /// streams needs a [`Stream::hand_off`] first.
    ///
    /// # Errors
    ///
    /// [`Status::UNSUPPORTED`] if the CPU can read the memory. The copy is returned in
    /// [`Rejected`].
    pub fn on_device(self) -> Result<UniqueTensor, Rejected<Self>> {
        let device = self.device();
        if !device.device_type.host_accessible() {
            return Ok(UniqueTensor::new(self.tensor));
        }
        let error = Error::new(
            Status::UNSUPPORTED,
            Rule::NONE,
            &format!(
                "device: expected memory that the CPU cannot read, found {device}: synchronize"
            ),
        );
        Err(Rejected { error, value: self })
    }

    /// The copy at once.
    ///
    /// # Safety
    ///
    /// The stream has made the copy, or the CPU reads and writes no element before it has.
    #[must_use]
    pub unsafe fn assume_done(self) -> UniqueTensor {
        UniqueTensor::new(self.tensor)
    }
}

impl Tensor {
    /// Enqueues a copy to compact memory on the spec's stream, a queue of the one driver that
    /// copies, and returns. The library holds this tensor's memory and the copy until the stream has
    /// done the work, so both may be dropped at once. With [`Stream::HOST`] the copy is complete.
    ///
    /// # Errors
    ///
    /// As for [`TensorView::copy`]; a spec without a stream or with
    /// [`CopySpec::allow_staging`]; [`Status::UNSUPPORTED`] for copies that must wait;
    /// [`Status::CAPTURE`] for a stream that captures a graph; [`Status::FOREIGN_TENSOR`] as for
    /// [`Tensor::share`].
    pub fn copy_async(&self, spec: &CopySpec<'_>) -> Result<PendingCopy, Error> {
        // SAFETY: the values that the spec borrows are live.
        unsafe { copy_async(self, spec.as_raw()) }
    }

    /// As [`Tensor::copy_async`], but copies to the caller's memory: `size` bytes at `target`, from
    /// byte `offset` on. `release` is called once after the last owner of the copy, the library
    /// included, is gone; if the call fails, it is dropped without being called.
    ///
    /// # Safety
    ///
    /// `target` has that many bytes on the spec's device, and only work on the spec's stream uses
    /// them until `release` is called. After [`Status::DRIVER`] the driver may still use source and target: both stay
    /// live, and the target unused, until the device was synchronised.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::copy_async`]; a target that is too small. Its bytes are unspecified then.
    pub unsafe fn copy_into_async<F: FnOnce(Released) + Send + 'static>(
        &self,
        spec: &CopySpec<'_>,
        target: Buffer,
        offset: u64,
        size: u64,
        release: F,
    ) -> Result<PendingCopy, Error> {
        // SAFETY: guaranteed by the caller.
        with_target(spec, target, offset, size, release, |spec| unsafe { copy_async(self, spec) })
    }
}

/// # Safety
///
/// The spec's pointers meet the header's requirements, and the caller owns the target, if any.
unsafe fn copy_async(source: &Tensor, spec: &sys::DLBridgeCopySpec) -> Result<PendingCopy, Error> {
    let mut out = null_mut();
    // SAFETY: the source is live; the caller guarantees the spec.
    call(|error| unsafe { sys::dlbridge_copy_async(source.as_ptr(), spec, &raw mut out, error) })?;
    // SAFETY: on success the result is not NULL and owned by the caller; the code that made the
    // stream guarantees its handle.
    let (tensor, stream) = unsafe { (Tensor::from_result(out), Stream::from_raw(spec.stream)) };
    Ok(PendingCopy { tensor, stream })
}

/// # Safety
///
/// `tensor` is a live tensor of `kind` that the caller owns. On success it is the library's.
unsafe fn release_after(tensor: *mut c_void, kind: Kind, streams: &[Stream]) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller. A stream is the C struct, and the list is as long as stated.
    call(|error| unsafe {
        let first = streams.as_ptr().cast::<sys::DLBridgeStream>();
        sys::dlbridge_release_after(tensor, kind.raw(), first, streams.len(), error)
    })
}

/// `release_after` of each owner that the library may hold for an unknown time.
macro_rules! release_after {
    ($owner:ty, $kind:expr, $pointer:expr) => {
        impl $owner {
            /// Releases it when the work that is on the streams now is over; the host does not
            /// wait. On success the library holds the tensor, and its deleter runs in a later
            /// [`Tensor::copy_async`], `release_after` or [`collect`], on the thread of that call;
            /// with [`Stream::HOST`] alone it runs now.
            ///
            /// # Errors
            ///
            /// The tensor is returned in [`Rejected`], since the work may still use it: drop it
            /// only after that work. (The operator `?` drops it at once.) No stream,
            /// [`Stream::no_sync`], a stream that captures a graph ([`Status::CAPTURE`]), no memory,
            /// a driver's call that fails.
            pub fn release_after(self, streams: &[Stream]) -> Result<(), Rejected<Self>> {
                // SAFETY: live, owned, and of that kind.
                let result = unsafe { release_after($pointer(&self).cast(), $kind, streams) };
                taken(self, result)
            }
        }
    };
}

release_after!(LegacyTensor, Kind::Legacy, LegacyTensor::as_ptr);
release_after!(VersionedTensor, Kind::Versioned, VersionedTensor::as_ptr);
release_after!(Tensor, Kind::Versioned, Tensor::as_ptr);

impl UniqueTensor {
    /// As [`Tensor::release_after`].
    ///
    /// # Errors
    ///
    /// As for [`Tensor::release_after`]. The tensor is returned in [`Rejected`].
    pub fn release_after(self, streams: &[Stream]) -> Result<(), Rejected<Self>> {
        self.into_shared().release_after(streams).map_err(|rejected| rejected.map(Self::new))
    }
}

bit_set! {
    /// What [`collect`] does besides releasing the tensors whose work is over.
    pub struct CollectOptions;

    /// Do not wait for work.
    new;

    /// First wait for the work of all tensors that are held now.
    wait = DLBRIDGE_COLLECT_WAIT;
}

/// Releases the tensors that the library holds and whose work is over, on this thread, and returns
/// the number that is still held. Call it where a tensor's memory is needed again, or now and then.
///
/// # Errors
///
/// [`Status::DRIVER`] if a driver cannot tell whether work is over: that tensor stays held, and the
/// others have been released.
pub fn collect(options: CollectOptions) -> Result<usize, Error> {
    let mut left = 0;
    // SAFETY: the output is writable.
    call(|error| unsafe { sys::dlbridge_collect(options.bits, &raw mut left, error) })?;
    Ok(left)
}
