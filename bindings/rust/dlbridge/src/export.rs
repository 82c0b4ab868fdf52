// SPDX-License-Identifier: Apache-2.0
//! A tensor for a consumer of some DLPack version.

use crate::error::{call, taken, Error, Rejected};
use crate::foreign::{LegacyTensor, VersionedTensor};
use crate::options::ConvertOptions;
use crate::tensor::Tensor;
use crate::values::{Kind, Version};
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::ptr::{null_mut, NonNull};

/// What an export made.
#[derive(Debug)]
pub enum Exported {
    /// For a consumer of DLPack before 1.0.
    Legacy(LegacyTensor),
    /// For a consumer of 1.0 or later. It was validated.
    Versioned(Tensor),
}

impl Exported {
    /// Transfers ownership to the receiver, which must release the tensor once, by its kind. What
    /// [`Tensor::into_raw`] requires applies here too.
    #[must_use]
    pub fn into_raw(self) -> (NonNull<c_void>, Kind) {
        match self {
            Self::Legacy(tensor) => (tensor.into_raw().cast(), Kind::Legacy),
            Self::Versioned(tensor) => (tensor.into_raw().cast(), Kind::Versioned),
        }
    }
}

/// Converts a tensor for a consumer of DLPack `target`: to legacy if its major is 0, else to
/// versioned. A tensor that the consumer can already read is returned as it is. The owners have it
/// as a method: [`Tensor::export`].
///
/// # Safety
///
/// As for [`import`](crate::import()).
///
/// # Errors
///
/// The tensor is untouched, and the caller still owns it. As for [`import`](crate::import());
/// [`Status::UNREPRESENTABLE`](crate::Status::UNREPRESENTABLE) for a property that legacy cannot
/// record; [`Status::INVALID_ARGUMENT`](crate::Status::INVALID_ARGUMENT) for a target of 0.0.
pub unsafe fn export(
    tensor: *mut c_void,
    kind: Kind,
    target: Version,
    options: &ConvertOptions<'_>,
) -> Result<Exported, Error> {
    let mut out = null_mut();
    let mut out_kind = sys::DLBRIDGE_KIND_UNKNOWN;
    let options = options.as_raw();
    // SAFETY: guaranteed by the caller.
    call(|error| unsafe {
        let (out, out_kind) = (&raw mut out, &raw mut out_kind);
        sys::dlbridge_export(tensor, kind.raw(), target.raw(), options, out, out_kind, error)
    })?;
    // SAFETY: on success the result is not NULL, owned by the caller, and of the reported kind.
    unsafe {
        Ok(match Kind::of(out_kind) {
            Kind::Legacy => {
                Exported::Legacy(LegacyTensor::from_raw(NonNull::new_unchecked(out.cast())))
            }
            _ => Exported::Versioned(Tensor::from_result(out.cast())),
        })
    }
}

impl LegacyTensor {
    /// Converts it for a consumer of DLPack `target`: to legacy if its major is 0, else to
    /// versioned.
    ///
    /// # Errors
    ///
    /// See [`export`](crate::export()). The tensor is released.
    pub fn export(self, target: Version, options: &ConvertOptions<'_>) -> Result<Exported, Error> {
        Ok(self.try_export(target, options)?)
    }

    /// As [`LegacyTensor::export`], but returns a rejected tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`LegacyTensor::export`].
    pub fn try_export(
        self,
        target: Version,
        options: &ConvertOptions<'_>,
    ) -> Result<Exported, Rejected<Self>> {
        // SAFETY: live, owned, and of that kind.
        let made = unsafe { export(self.as_ptr().cast(), Kind::Legacy, target, options) };
        taken(self, made)
    }
}

impl VersionedTensor {
    /// Converts it for a consumer of DLPack `target`: to legacy if its major is 0, else to
    /// versioned.
    ///
    /// # Errors
    ///
    /// See [`export`](crate::export()). The tensor is released.
    pub fn export(self, target: Version, options: &ConvertOptions<'_>) -> Result<Exported, Error> {
        Ok(self.try_export(target, options)?)
    }

    /// As [`VersionedTensor::export`], but returns a rejected tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`VersionedTensor::export`].
    pub fn try_export(
        self,
        target: Version,
        options: &ConvertOptions<'_>,
    ) -> Result<Exported, Rejected<Self>> {
        // SAFETY: live, owned, and of that kind.
        let made = unsafe { export(self.as_ptr().cast(), Kind::Versioned, target, options) };
        taken(self, made)
    }
}

impl Tensor {
    /// Converts it for a consumer of DLPack `target`: to legacy if its major is 0, else to
    /// versioned.
    ///
    /// # Errors
    ///
    /// See [`export`](crate::export()). The tensor is released.
    pub fn export(self, target: Version, options: &ConvertOptions<'_>) -> Result<Exported, Error> {
        self.into_versioned().export(target, options)
    }

    /// As [`Tensor::export`], but returns a rejected tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`Tensor::export`].
    pub fn try_export(
        self,
        target: Version,
        options: &ConvertOptions<'_>,
    ) -> Result<Exported, Rejected<Self>> {
        self.into_versioned().try_export(target, options).map_err(Self::back)
    }
}
