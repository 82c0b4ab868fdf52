// SPDX-License-Identifier: Apache-2.0
//! Owners of validated tensors.

use crate::builder::set_fields;
use crate::dtype::Dtype;
use crate::error::{call, Error};
use crate::policy::Policy;
use crate::text::{axes, check_strides, pointer_of, WRONG_STRIDES};
use crate::values::Version;
use crate::view::{element_methods, view_methods, view_of, TensorView};
use dlbridge_sys as sys;
use std::fmt;
use std::marker::PhantomData;
use std::mem::forget;
use std::ptr::{addr_of, null_mut, NonNull};

/// Owns a validated, versioned tensor: the result of an import, an upgrade, a share or a view.
///
/// Other owners of the same memory may exist, so it can be read and not written to; a
/// [`UniqueTensor`](crate::UniqueTensor) has no other owner. It is one pointer wide. Dropping it
/// calls the deleter once, on the thread that drops it.
pub struct Tensor {
    raw: NonNull<sys::DLManagedTensorVersioned>,
}

// SAFETY: DLPack lets a tensor be read and released on any thread, and so does the library.
unsafe impl Send for Tensor {}
// SAFETY: as above; sharing and viewing may be done by several threads at once.
unsafe impl Sync for Tensor {}

impl Drop for Tensor {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: live and owned.
        unsafe { sys::dlbridge_release_versioned(self.raw.as_ptr()) }
    }
}

impl Tensor {
    /// Takes ownership of a tensor that was validated.
    ///
    /// # Safety
    ///
    /// The caller owns it, the default policy would accept it, and the caller guarantees what
    /// [Foreign tensors](crate#foreign-tensors) lists.
    #[must_use]
    #[inline]
    pub const unsafe fn from_raw_validated(raw: NonNull<sys::DLManagedTensorVersioned>) -> Self {
        Self { raw }
    }

    /// The result of a call of the library.
    ///
    /// # Safety
    ///
    /// As above, and not NULL.
    #[inline]
    pub(crate) const unsafe fn from_result(raw: *mut sys::DLManagedTensorVersioned) -> Self {
        // SAFETY: guaranteed by the caller.
        Self { raw: unsafe { NonNull::new_unchecked(raw) } }
    }

    /// Transfers ownership to the receiver, which must release the tensor once.
    ///
    /// The receiver may assume that memory that is not
    /// [`Flags::READ_ONLY`](crate::Flags::READ_ONLY) may be written to. Other owners
    /// ([`Tensor::share`], [`Tensor::view`]) may have slices of the same memory here. The code that
    /// passes the pointer on, to an unsafe function ([`import`](crate::import()), a foreign
    /// function), guarantees that nothing is written while such a slice is in use. Tensors of an
    /// `Arc` or of an owner are read-only.
    #[must_use]
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::DLManagedTensorVersioned> {
        let raw = self.raw;
        forget(self);
        raw
    }

    /// The struct, still owned by this value.
    #[must_use]
    #[inline]
    pub const fn as_ptr(&self) -> *mut sys::DLManagedTensorVersioned {
        self.raw.as_ptr()
    }

    /// The DLPack version that it carries.
    #[must_use]
    pub fn version(&self) -> Version {
        // SAFETY: the struct is readable.
        Version::of(unsafe { addr_of!((*self.as_ptr()).version).read() })
    }

    /// A view of it, which cannot outlive this owner.
    #[must_use]
    #[inline]
    pub fn as_view(&self) -> TensorView<'_> {
        // SAFETY: it was validated, and lives as long as this owner.
        unsafe { view_of(self.raw) }
    }

    view_methods!();
    element_methods!();

    /// Validates it by another policy, with the version that it carries.
    ///
    /// # Errors
    ///
    /// The first rule that is broken.
    pub fn validate(&self, policy: &Policy<'_>) -> Result<TensorView<'_>, Error> {
        // SAFETY: the struct is readable.
        call(|error| unsafe {
            sys::dlbridge_validate_versioned(self.as_ptr(), policy.as_raw(), error)
        })?;
        Ok(self.as_view())
    }

    /// Another owner of the same data, which lives as long as its last owner.
    ///
    /// # Errors
    ///
    /// [`Status::FOREIGN_TENSOR`](crate::Status::FOREIGN_TENSOR) if the struct is the producer's,
    /// after a round trip or
    /// [`VersionedTensor::into_validated`](crate::VersionedTensor::into_validated): import it
    /// first. No memory.
    pub fn share(&self) -> Result<Self, Error> {
        let mut out = null_mut();
        // SAFETY: live for the call.
        call(|error| unsafe { sys::dlbridge_share(self.as_ptr(), &raw mut out, error) })?;
        // SAFETY: on success the result is not NULL and owned by the caller.
        Ok(unsafe { Self::from_result(out) })
    }

    /// Another owner of the same data, with its own shape, strides and offset.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::share`]; [`Status::BOUNDS`](crate::Status::BOUNDS) if the view would
    /// reach beyond the elements of this tensor.
    pub fn view(&self, spec: &ViewSpec<'_>) -> Result<Self, Error> {
        check_strides(spec.raw.ndim)?;
        let mut out = null_mut();
        // SAFETY: live for the call, as are the lists of the spec.
        call(|error| unsafe {
            sys::dlbridge_view(self.as_ptr(), &raw const spec.raw, &raw mut out, error)
        })?;
        // SAFETY: on success the result is not NULL and owned by the caller.
        Ok(unsafe { Self::from_result(out) })
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({} {:?})", self.version(), self.as_view())
    }
}

/// A shape, strides and an offset on the data of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct ViewSpec<'a> {
    raw: sys::DLBridgeViewSpec,
    lists: PhantomData<&'a [i64]>,
}

// SAFETY: its pointers are shared borrows of Sync values; handles are integers.
unsafe impl Send for ViewSpec<'_> {}
// SAFETY: as above.
unsafe impl Sync for ViewSpec<'_> {}

impl<'a> ViewSpec<'a> {
    /// Compact, last axis fastest, from the parent's element (0,...,0).
    #[must_use]
    pub fn new(shape: &'a [i64]) -> Self {
        let mut raw = sys::DLBridgeViewSpec::INIT;
        raw.ndim = axes(shape);
        raw.shape = pointer_of(shape);
        Self { raw, lists: PhantomData }
    }

    /// Strides in elements. [`Tensor::view`] rejects a number of strides that differs from the
    /// number of extents.
    #[must_use]
    pub fn strides(mut self, strides: &'a [i64]) -> Self {
        if axes(strides) == self.raw.ndim {
            self.raw.strides = pointer_of(strides);
        } else {
            self.raw.ndim = WRONG_STRIDES;
        }
        self
    }

    set_fields! {
        /// Elements from the parent's (0,...,0) to the view's.
        offset(elements: i64) = elements;

        /// Dtype of the view, with as many bits as the parent's.
        dtype(dtype: Dtype) = dtype.raw();
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeViewSpec {
        &self.raw
    }

    /// The struct of the C ABI, for changes.
    ///
    /// # Safety
    ///
    /// Its pointers meet the header's requirements, live as long as `'a` and may be used on any
    /// thread.
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgeViewSpec {
        &mut self.raw
    }
}
