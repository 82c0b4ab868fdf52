// SPDX-License-Identifier: Apache-2.0
//! Rust's own memory as tensors, without copies.

use crate::device::Device;
use crate::element::{fills_its_dtype, Element};
use crate::error::Rejected;
use crate::foreign::LegacyTensor;
use crate::panics::contain;
use crate::tensor::Tensor;
use crate::text::{axes, pointer_of};
use crate::unique::UniqueTensor;
use crate::values::Flags;
use crate::wrap::{wrap, wrap_legacy};
use crate::Error;
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::mem::{forget, ManuallyDrop};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut, without_provenance_mut};
use std::sync::Arc;

/// Elements at `elements` in this shape, compact, or by `strides`.
pub(crate) fn spec_of<T: Element>(
    elements: *const [T],
    shape: &[i64],
    flags: Flags,
) -> sys::DLBridgeWrapSpec {
    const { assert!(fills_its_dtype::<T>()) };
    let mut spec = sys::DLBridgeWrapSpec::INIT;
    spec.options = sys::DLBRIDGE_WRAP_LIMIT_BUFFER;
    spec.buffer = sys::DLBridgeBuffer::address(elements.cast());
    spec.buffer_size = (elements.len() * size_of::<T>()) as u64;
    spec.device = Device::CPU.raw();
    spec.dtype = T::DTYPE.raw();
    spec.ndim = axes(shape);
    spec.shape = pointer_of(shape);
    spec.tensor_flags = flags.0;
    spec
}

/// The address in `buffer`.
///
/// # Safety
///
/// It is readable.
#[allow(clippy::cast_possible_truncation)] // targets have 64 bits
unsafe fn address_of(buffer: *const sys::DLBridgeBuffer) -> usize {
    // SAFETY: guaranteed by the caller.
    unsafe { (*buffer).handle as usize }
}

/// Frees a `Vec<T>`: `context` is its capacity, which needs no allocation.
pub(crate) unsafe extern "C" fn release_vec<T: Element>(
    context: *mut c_void,
    buffer: *const sys::DLBridgeBuffer,
    _stream: *const sys::DLBridgeStream,
) {
    // SAFETY: the buffer is readable.
    let start = with_exposed_provenance_mut::<T>(unsafe { address_of(buffer) });
    // SAFETY: the parts of a Vec that the tensor owns. Elements need no drop.
    drop(unsafe { Vec::from_raw_parts(start, 0, context.addr()) });
}

/// Drops one count of an `Arc<[T]>`: `context` is its length.
unsafe extern "C" fn release_arc<T: Element>(
    context: *mut c_void,
    buffer: *const sys::DLBridgeBuffer,
    _stream: *const sys::DLBridgeStream,
) {
    // SAFETY: the buffer is readable.
    let start = with_exposed_provenance::<T>(unsafe { address_of(buffer) });
    // SAFETY: the tensor owns one count of the Arc.
    drop(unsafe { Arc::from_raw(std::ptr::slice_from_raw_parts(start, context.addr())) });
}

/// Drops the boxed owner.
unsafe extern "C" fn release_owner<O>(
    context: *mut c_void,
    _buffer: *const sys::DLBridgeBuffer,
    _stream: *const sys::DLBridgeStream,
) {
    // SAFETY: a Box<O> that the tensor owns.
    let owner = unsafe { Box::from_raw(context.cast::<O>()) };
    contain((), || drop(owner));
}

/// Drops a boxed owner whose `as_ref` panics.
struct Guard<O>(*mut O);

impl<O> Drop for Guard<O> {
    fn drop(&mut self) {
        // SAFETY: a Box that has no other owner.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Passes the ownership of `vec` to the result of `make`, or returns it on failure.
pub(crate) fn give_vec<T: Element, R>(
    vec: Vec<T>,
    spec: impl FnOnce(&[T]) -> sys::DLBridgeWrapSpec,
    make: impl FnOnce(&sys::DLBridgeWrapSpec) -> Result<R, Error>,
) -> Result<R, Rejected<Vec<T>>> {
    let mut vec = ManuallyDrop::new(vec);
    let mut spec = spec(&vec);
    // The pointer that the elements may be written through.
    spec.buffer.handle = vec.as_mut_ptr().expose_provenance() as u64;
    // A vector without memory has nothing to free.
    if vec.capacity() != 0 {
        spec.release = Some(release_vec::<T>);
        spec.release_context = without_provenance_mut(vec.capacity());
    }
    make(&spec).map_err(|error| Rejected { error, value: ManuallyDrop::into_inner(vec) })
}

impl UniqueTensor {
    /// A tensor of the vector's elements in `shape`, last axis fastest; nothing is copied, and
    /// only the tensor's node is allocated.
    ///
    /// # Errors
    ///
    /// A shape of more elements than there are
    /// ([`Rule::BUFFER_BOUNDS`](crate::Rule::BUFFER_BOUNDS)), or any other rule. The vector is
    /// dropped.
    pub fn from_vec<T: Element>(vec: Vec<T>, shape: &[i64]) -> Result<Self, Error> {
        Ok(Self::try_from_vec(vec, shape)?)
    }

    /// As [`UniqueTensor::from_vec`], but returns a rejected vector in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`UniqueTensor::from_vec`].
    pub fn try_from_vec<T: Element>(vec: Vec<T>, shape: &[i64]) -> Result<Self, Rejected<Vec<T>>> {
        let spec = |elements: &[T]| spec_of(elements, shape, Flags::NONE);
        // SAFETY: the memory belongs to the vector, which the tensor will own.
        give_vec(vec, spec, |spec| unsafe { wrap(spec) }).map(Self::new)
    }

    /// As [`UniqueTensor::from_vec`], for a boxed slice.
    ///
    /// # Errors
    ///
    /// As for [`UniqueTensor::from_vec`]. The slice is dropped.
    pub fn from_boxed_slice<T: Element>(slice: Box<[T]>, shape: &[i64]) -> Result<Self, Error> {
        Self::from_vec(slice.into_vec(), shape)
    }

    /// As [`UniqueTensor::from_boxed_slice`], but returns a rejected slice in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`UniqueTensor::from_boxed_slice`].
    pub fn try_from_boxed_slice<T: Element>(
        slice: Box<[T]>,
        shape: &[i64],
    ) -> Result<Self, Rejected<Box<[T]>>> {
        // Without spare capacity the vector becomes the same box again.
        Self::try_from_vec(slice.into_vec(), shape)
            .map_err(|rejected| rejected.map(Vec::into_boxed_slice))
    }
}

impl<T: Element> TryFrom<Vec<T>> for UniqueTensor {
    type Error = Error;
    /// One axis.
    fn try_from(vec: Vec<T>) -> Result<Self, Error> {
        let shape = [i64::try_from(vec.len()).unwrap_or(i64::MAX)];
        Self::from_vec(vec, &shape)
    }
}

impl LegacyTensor {
    /// As [`UniqueTensor::from_vec`], for a consumer of DLPack before 1.0.
    ///
    /// # Errors
    ///
    /// As for [`UniqueTensor::from_vec`].
    pub fn from_vec<T: Element>(vec: Vec<T>, shape: &[i64]) -> Result<Self, Error> {
        Ok(Self::try_from_vec(vec, shape)?)
    }

    /// As [`LegacyTensor::from_vec`], but returns a rejected vector in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`LegacyTensor::from_vec`].
    pub fn try_from_vec<T: Element>(vec: Vec<T>, shape: &[i64]) -> Result<Self, Rejected<Vec<T>>> {
        let spec = |elements: &[T]| spec_of(elements, shape, Flags::NONE);
        // SAFETY: the memory belongs to the vector, which the tensor will own.
        give_vec(vec, spec, |spec| unsafe { wrap_legacy(spec) })
    }
}

impl Tensor {
    /// A read-only tensor of shared elements; nothing is copied, and only the
    /// tensor's node is allocated.
    ///
    /// # Errors
    ///
    /// As for [`UniqueTensor::from_vec`]. The `Arc` is dropped.
    pub fn from_arc<T: Element>(elements: Arc<[T]>, shape: &[i64]) -> Result<Self, Error> {
        Ok(Self::try_from_arc(elements, shape)?)
    }

    /// As [`Tensor::from_arc`], but on failure returns the `Arc` in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`Tensor::from_arc`].
    pub fn try_from_arc<T: Element>(
        elements: Arc<[T]>,
        shape: &[i64],
    ) -> Result<Self, Rejected<Arc<[T]>>> {
        let raw = Arc::into_raw(elements);
        let mut spec = spec_of(raw, shape, Flags::READ_ONLY);
        spec.release = Some(release_arc::<T>);
        spec.release_context = without_provenance_mut(raw.len());
        // SAFETY: the tensor gets one count of the Arc.
        unsafe { wrap(&spec) }.map_err(|error| {
            // SAFETY: a call that fails has not taken it.
            let value = unsafe { Arc::from_raw(raw) };
            Rejected { error, value }
        })
    }

    /// A read-only tensor of what `owner` refers to. The owner is boxed, and dropped with the last
    /// owner of the tensor, on that thread; a panic in its drop is caught
    /// ([`caught_panics`](crate::caught_panics)).
    ///
    /// ```compile_fail,E0277
    /// // An Rc cannot be dropped on another thread.
    /// let owner = std::rc::Rc::new([1.0_f32, 2.0]);
    /// let tensor = dlbridge::Tensor::from_owner::<f32, _>(owner, &[2]);
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`UniqueTensor::from_vec`]. The owner is dropped.
    ///
    /// # Panics
    ///
    /// If `as_ref` panics. The owner is dropped then.
    pub fn from_owner<T: Element, O: AsRef<[T]> + Send + Sync + 'static>(
        owner: O,
        shape: &[i64],
    ) -> Result<Self, Error> {
        Ok(Self::try_from_owner(owner, shape)?)
    }

    /// As [`Tensor::from_owner`], but returns a rejected owner in [`Rejected`], boxed.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::from_owner`].
    ///
    /// # Panics
    ///
    /// As for [`Tensor::from_owner`].
    pub fn try_from_owner<T: Element, O: AsRef<[T]> + Send + Sync + 'static>(
        owner: O,
        shape: &[i64],
    ) -> Result<Self, Rejected<Box<O>>> {
        let guard = Guard(Box::into_raw(Box::new(owner)));
        // SAFETY: the box does not move, and only shared references to it exist.
        let elements: *const [T] = unsafe { (*guard.0).as_ref() };
        let owner = guard.0;
        forget(guard);
        let mut spec = spec_of(elements, shape, Flags::READ_ONLY);
        spec.release = Some(release_owner::<O>);
        spec.release_context = owner.cast();
        // SAFETY: the memory lives as long as the owner, which the tensor owns.
        unsafe { wrap(&spec) }.map_err(|error| {
            // SAFETY: a call that fails has not taken it.
            let value = unsafe { Box::from_raw(owner) };
            Rejected { error, value }
        })
    }
}
