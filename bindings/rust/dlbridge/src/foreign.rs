// SPDX-License-Identifier: Apache-2.0
//! Owners of foreign tensors that have not been validated.

use crate::borrowed::{diagnose, BorrowedTensor};
use crate::error::{call, taken, Error, Rejected};
use crate::import::import;
use crate::layout::Finding;
use crate::options::ConvertOptions;
use crate::policy::Policy;
use crate::tensor::Tensor;
use crate::values::{Flags, Kind, Version};
use crate::view::{view_of, TensorView};
use dlbridge_sys as sys;
use std::fmt;
use std::mem::forget;
use std::ptr::{addr_of, addr_of_mut, null, null_mut, NonNull};

/// Owns a legacy tensor, of DLPack before 1.0, that has not been validated. No element of it can be
/// reached: [`LegacyTensor::upgrade`] it, or [`validate`](LegacyTensor::validate) it.
///
/// Dropping it calls its deleter once, on the thread that drops it.
pub struct LegacyTensor {
    raw: NonNull<sys::DLManagedTensor>,
}

/// Owns a versioned tensor that has not been validated. No element of it can be reached:
/// [`VersionedTensor::import`] it, or [`validate`](VersionedTensor::validate) it.
///
/// Dropping it calls its deleter once, on the thread that drops it, whatever its version.
pub struct VersionedTensor {
    raw: NonNull<sys::DLManagedTensorVersioned>,
}

// SAFETY: DLPack lets a tensor be read and released on any thread.
unsafe impl Send for LegacyTensor {}
// SAFETY: as above.
unsafe impl Sync for LegacyTensor {}
// SAFETY: as above.
unsafe impl Send for VersionedTensor {}
// SAFETY: as above.
unsafe impl Sync for VersionedTensor {}

impl Drop for LegacyTensor {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: live and owned.
        unsafe { sys::dlbridge_release_legacy(self.raw.as_ptr()) }
    }
}

impl Drop for VersionedTensor {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: live and owned.
        unsafe { sys::dlbridge_release_versioned(self.raw.as_ptr()) }
    }
}

impl LegacyTensor {
    /// Takes ownership of the tensor at `raw`.
    ///
    /// # Safety
    ///
    /// The caller owns it and guarantees what [Foreign tensors](crate#foreign-tensors) lists.
    #[must_use]
    #[inline]
    pub const unsafe fn from_raw(raw: NonNull<sys::DLManagedTensor>) -> Self {
        Self { raw }
    }

    /// Transfers ownership to the receiver, which must release the tensor once.
    ///
    /// Legacy cannot record `READ_ONLY`, so its receiver may assume that the memory may be written
    /// to. The code that passes the pointer on guarantees that it may, and that nothing is written
    /// while a slice of the same memory is in use here: see [`Tensor::into_raw`].
    #[must_use]
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::DLManagedTensor> {
        let raw = self.raw;
        forget(self);
        raw
    }

    /// The struct, still owned by this value.
    #[must_use]
    #[inline]
    pub const fn as_ptr(&self) -> *mut sys::DLManagedTensor {
        self.raw.as_ptr()
    }

    /// The tensor inside, for its description. Legacy has no flags.
    #[must_use]
    pub fn as_borrowed(&self) -> BorrowedTensor<'_> {
        // SAFETY: not NULL, and readable for as long as this owner.
        unsafe {
            let tensor = NonNull::new_unchecked(addr_of_mut!((*self.as_ptr()).dl_tensor));
            BorrowedTensor::from_raw(tensor, Flags::NONE)
        }
    }

    /// Validates it by `policy`; the result may be read.
    ///
    /// # Errors
    ///
    /// The first rule that is broken.
    pub fn validate(&self, policy: &Policy<'_>) -> Result<TensorView<'_>, Error> {
        // SAFETY: the struct is readable.
        call(|error| unsafe {
            sys::dlbridge_validate_legacy(self.as_ptr(), policy.as_raw(), error)
        })?;
        // SAFETY: it was validated.
        Ok(unsafe {
            TensorView::new(
                NonNull::new_unchecked(self.as_borrowed().as_ptr().cast_mut()),
                Flags::NONE,
            )
        })
    }

    /// All findings on it: broken rules and notes.
    ///
    /// # Errors
    ///
    /// Only for an invalid policy.
    pub fn diagnose(&self, policy: &Policy<'_>) -> Result<Vec<Finding>, Error> {
        let tensor = self.as_ptr().cast_const().cast();
        // SAFETY: the struct is readable.
        unsafe { diagnose(tensor, sys::DLBRIDGE_KIND_LEGACY, Flags::NONE, policy.as_raw()) }
    }

    /// Validates it by the default policy and makes a versioned tensor of it, without copying. A
    /// legacy tensor does not record whether it may be written to, so the result is read-only.
    ///
    /// # Errors
    ///
    /// Any rule of the default policy; unknown codes; no memory. The tensor is released.
    #[inline]
    pub fn upgrade(self) -> Result<Tensor, Error> {
        let made = self.upgrade_by(null())?;
        forget(self);
        Ok(made)
    }

    /// As [`LegacyTensor::upgrade`], with `options`.
    ///
    /// # Errors
    ///
    /// Any rule of the policy; a loss that the options do not allow; no memory. The tensor is
    /// released.
    #[inline]
    pub fn upgrade_with(self, options: &ConvertOptions<'_>) -> Result<Tensor, Error> {
        let made = self.upgrade_by(options.as_raw())?;
        forget(self);
        Ok(made)
    }

    /// As [`LegacyTensor::upgrade_with`], but returns a rejected tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`LegacyTensor::upgrade_with`].
    #[inline]
    pub fn try_upgrade(self, options: &ConvertOptions<'_>) -> Result<Tensor, Rejected<Self>> {
        let made = self.upgrade_by(options.as_raw());
        taken(self, made)
    }

    /// On success the tensor belongs to the result, and its owner must be forgotten.
    #[inline]
    fn upgrade_by(&self, options: *const sys::DLBridgeConvertOptions) -> Result<Tensor, Error> {
        let mut out = null_mut();
        // SAFETY: the tensor is live and owned; the options are NULL or readable.
        call(|error| unsafe {
            sys::dlbridge_upgrade(self.as_ptr(), options, &raw mut out, error)
        })?;
        // SAFETY: on success the result is not NULL and owned by the caller.
        Ok(unsafe { Tensor::from_result(out) })
    }
}

impl VersionedTensor {
    /// Takes ownership of the tensor at `raw`.
    ///
    /// # Safety
    ///
    /// The caller owns it and guarantees what [Foreign tensors](crate#foreign-tensors) lists.
    #[must_use]
    #[inline]
    pub const unsafe fn from_raw(raw: NonNull<sys::DLManagedTensorVersioned>) -> Self {
        Self { raw }
    }

    /// Transfers ownership to the receiver, which releases it once and may write to memory that is
    /// not [`Flags::READ_ONLY`]: see [`Tensor::into_raw`].
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

    /// The version that it carries. If its major is not 1, nothing else may be read.
    #[must_use]
    pub fn version(&self) -> Version {
        // SAFETY: every major begins with its version.
        Version::of(unsafe { addr_of!((*self.as_ptr()).version).read() })
    }

    /// The tensor inside, for its description; `None` if the major is not 1.
    #[must_use]
    pub fn as_borrowed(&self) -> Option<BorrowedTensor<'_>> {
        if self.version().major != 1 {
            return None;
        }
        // SAFETY: not NULL, of major 1, and readable for as long as this owner.
        unsafe {
            let flags = Flags(addr_of!((*self.as_ptr()).flags).read());
            let tensor = NonNull::new_unchecked(addr_of_mut!((*self.as_ptr()).dl_tensor));
            Some(BorrowedTensor::from_raw(tensor, flags))
        }
    }

    /// Validates it by `policy`; the result may be read.
    ///
    /// # Errors
    ///
    /// The first rule that is broken.
    pub fn validate(&self, policy: &Policy<'_>) -> Result<TensorView<'_>, Error> {
        // SAFETY: the struct is readable.
        call(|error| unsafe {
            sys::dlbridge_validate_versioned(self.as_ptr(), policy.as_raw(), error)
        })?;
        // SAFETY: it was validated, so its major is 1.
        Ok(unsafe { view_of(self.raw) })
    }

    /// Validates it once, so that it may be read from now on. The struct remains the producer's;
    /// use [`VersionedTensor::import`] for a tensor that can be shared.
    ///
    /// # Errors
    ///
    /// The first rule that is broken. The tensor is released.
    pub fn into_validated(self, policy: &Policy<'_>) -> Result<Tensor, Error> {
        self.validate(policy)?;
        // SAFETY: it was validated, and is owned.
        Ok(unsafe { Tensor::from_result(self.into_raw().as_ptr()) })
    }

    /// All findings on it: broken rules and notes.
    ///
    /// # Errors
    ///
    /// Only for an invalid policy.
    pub fn diagnose(&self, policy: &Policy<'_>) -> Result<Vec<Finding>, Error> {
        let tensor = self.as_ptr().cast_const().cast();
        // SAFETY: the struct is readable.
        unsafe { diagnose(tensor, sys::DLBRIDGE_KIND_VERSIONED, Flags::NONE, policy.as_raw()) }
    }

    /// Makes a dlbridge-owned tensor of it, which can be shared and viewed.
    ///
    /// # Errors
    ///
    /// See [`import`](crate::import()). The tensor is released.
    #[inline]
    pub fn import(self, options: &ConvertOptions<'_>) -> Result<Tensor, Error> {
        Ok(self.try_import(options)?)
    }

    /// As [`VersionedTensor::import`], but returns a rejected tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`VersionedTensor::import`].
    #[inline]
    pub fn try_import(self, options: &ConvertOptions<'_>) -> Result<Tensor, Rejected<Self>> {
        // SAFETY: live, owned, and of that kind.
        let made = unsafe { import(self.as_ptr().cast(), Kind::Versioned, options) };
        taken(self, made)
    }

    /// Makes a legacy tensor of it. A property that legacy cannot record is an error unless the
    /// options allow its loss.
    ///
    /// # Errors
    ///
    /// Any rule of the policy; [`Status::UNREPRESENTABLE`](crate::Status::UNREPRESENTABLE); no
    /// memory. The tensor is released.
    #[inline]
    pub fn downgrade(self, options: &ConvertOptions<'_>) -> Result<LegacyTensor, Error> {
        Ok(self.try_downgrade(options)?)
    }

    /// As [`VersionedTensor::downgrade`], but returns a rejected tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`VersionedTensor::downgrade`].
    #[inline]
    pub fn try_downgrade(
        self,
        options: &ConvertOptions<'_>,
    ) -> Result<LegacyTensor, Rejected<Self>> {
        let mut out = null_mut();
        // SAFETY: live and owned.
        let result = call(|error| unsafe {
            sys::dlbridge_downgrade(self.as_ptr(), options.as_raw(), &raw mut out, error)
        });
        // SAFETY: on success the result is not NULL and owned by the caller.
        let legacy = |()| unsafe { LegacyTensor::from_raw(NonNull::new_unchecked(out)) };
        taken(self, result.map(legacy))
    }
}

impl Tensor {
    /// Returns it as a [`VersionedTensor`], which counts as not validated.
    #[must_use]
    pub fn into_versioned(self) -> VersionedTensor {
        // SAFETY: this value owned it.
        unsafe { VersionedTensor::from_raw(self.into_raw()) }
    }

    /// Makes a legacy tensor of it. A property that legacy cannot record is an error unless the
    /// options allow its loss.
    ///
    /// # Errors
    ///
    /// See [`VersionedTensor::downgrade`]. The tensor is released.
    #[inline]
    pub fn downgrade(self, options: &ConvertOptions<'_>) -> Result<LegacyTensor, Error> {
        self.into_versioned().downgrade(options)
    }

    /// As [`Tensor::downgrade`], but returns a rejected tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`Tensor::downgrade`].
    pub fn try_downgrade(
        self,
        options: &ConvertOptions<'_>,
    ) -> Result<LegacyTensor, Rejected<Self>> {
        self.into_versioned().try_downgrade(options).map_err(Self::back)
    }

    /// The tensor of a rejection, which was validated before.
    pub(crate) fn back(rejected: Rejected<VersionedTensor>) -> Rejected<Self> {
        // SAFETY: it was validated before, and nothing has changed it.
        rejected.map(|tensor| unsafe { Self::from_raw_validated(tensor.into_raw()) })
    }
}

impl fmt::Debug for LegacyTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LegacyTensor({:?})", self.as_borrowed())
    }
}

impl fmt::Debug for VersionedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_borrowed() {
            Some(borrowed) => write!(f, "VersionedTensor({} {borrowed:?})", self.version()),
            None => write!(f, "VersionedTensor({})", self.version()),
        }
    }
}
