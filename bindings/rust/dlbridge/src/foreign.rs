// SPDX-License-Identifier: Apache-2.0
//! Owners of tensors that nobody has validated.

use crate::bare::{diagnose, BareTensor};
use crate::error::{call, Error, Refused};
use crate::layout::Finding;
use crate::options::ConvertOptions;
use crate::policy::Policy;
use crate::tensor::Tensor;
use crate::values::{Flags, Kind, Version};
use crate::view::TensorView;
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::mem::forget;
use std::ptr::{addr_of, addr_of_mut, null, null_mut, NonNull};

/// Owns a legacy tensor, of DLPack before 1.0, that nobody has validated. No element of it can be
/// reached: [`LegacyTensor::upgrade`] it, or [`validate`](LegacyTensor::validate) it.
///
/// Dropping it calls its deleter once, on the thread that drops it.
pub struct LegacyTensor {
    raw: NonNull<sys::DLManagedTensor>,
}

/// Owns a versioned tensor that nobody has validated. No element of it can be reached:
/// [`VersionedTensor::adopt`] it, or [`validate`](VersionedTensor::validate) it.
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
    /// Takes the tensor at `raw`.
    ///
    /// # Safety
    ///
    /// It is the caller's to give, and what [Foreign tensors](crate#foreign-tensors) says.
    #[must_use]
    #[inline]
    pub const unsafe fn from_raw(raw: NonNull<sys::DLManagedTensor>) -> Self {
        Self { raw }
    }

    /// Gives the tensor away, to be released once by whoever gets it.
    ///
    /// Legacy cannot say read-only, so whoever gets it may take its memory for memory that may be
    /// written to. Who passes the pointer on vouches that this is so, and that nothing is written
    /// while another owner lends out a slice of the same memory here: see [`Tensor::into_raw`].
    #[must_use]
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::DLManagedTensor> {
        let raw = self.raw;
        forget(self);
        raw
    }

    /// The struct, which stays this owner's.
    #[must_use]
    #[inline]
    pub const fn as_ptr(&self) -> *mut sys::DLManagedTensor {
        self.raw.as_ptr()
    }

    /// The tensor inside, to be described. Legacy has no flags.
    #[must_use]
    pub fn as_bare(&self) -> BareTensor<'_> {
        // SAFETY: not NULL, and readable for as long as this owner.
        unsafe {
            let tensor = NonNull::new_unchecked(addr_of_mut!((*self.as_ptr()).dl_tensor));
            BareTensor::from_raw(tensor, Flags::NONE)
        }
    }

    /// Validates it: what `policy` lets pass may be looked at.
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
            TensorView::new(NonNull::new_unchecked(self.as_bare().as_ptr().cast_mut()), Flags::NONE)
        })
    }

    /// Everything that is wrong with it or worth knowing.
    ///
    /// # Errors
    ///
    /// About the policy only.
    pub fn diagnose(&self, policy: &Policy<'_>) -> Result<Vec<Finding>, Error> {
        let tensor = self.as_ptr().cast_const().cast();
        // SAFETY: the struct is readable.
        unsafe { diagnose(tensor, sys::DLBRIDGE_KIND_LEGACY, Flags::NONE, policy.as_raw()) }
    }

    /// Validates it by the default policy and makes a versioned tensor of it, without copying.
    /// Nothing says whether it may be written to, so the result is read-only.
    ///
    /// # Errors
    ///
    /// Any rule of the default policy; unknown codes; no memory. The tensor is handed back.
    #[inline]
    pub fn upgrade(self) -> Result<Tensor, Refused<Self>> {
        self.upgrade_by(null())
    }

    /// The same by `options`.
    ///
    /// # Errors
    ///
    /// Any rule of the policy; what the options do not allow; no memory. The tensor is handed back.
    #[inline]
    pub fn upgrade_with(self, options: &ConvertOptions<'_>) -> Result<Tensor, Refused<Self>> {
        self.upgrade_by(options.as_raw())
    }

    #[inline]
    fn upgrade_by(
        self,
        options: *const sys::DLBridgeConvertOptions,
    ) -> Result<Tensor, Refused<Self>> {
        let mut out = null_mut();
        // SAFETY: the tensor is live and owned; the options are NULL or readable.
        let result = call(|error| unsafe {
            sys::dlbridge_upgrade(self.as_ptr(), options, &raw mut out, error)
        });
        match result {
            Ok(()) => {
                forget(self);
                // SAFETY: on success the result is the caller's and not NULL.
                Ok(unsafe { Tensor::from_result(out) })
            }
            Err(error) => Err(Refused { error, value: self }),
        }
    }

    /// Makes what a consumer of DLPack `target` reads: legacy where its major is 0, else versioned.
    ///
    /// # Errors
    ///
    /// As for upgrading. The tensor is handed back.
    pub fn convert(
        self,
        target: Version,
        options: &ConvertOptions<'_>,
    ) -> Result<Converted, Refused<Self>> {
        // SAFETY: live, owned, and of that kind.
        match unsafe { convert(self.as_ptr().cast(), sys::DLBRIDGE_KIND_LEGACY, target, options) } {
            Ok(converted) => {
                forget(self);
                Ok(converted)
            }
            Err(error) => Err(Refused { error, value: self }),
        }
    }
}

impl VersionedTensor {
    /// Takes the tensor at `raw`.
    ///
    /// # Safety
    ///
    /// It is the caller's to give, and what [Foreign tensors](crate#foreign-tensors) says.
    #[must_use]
    #[inline]
    pub const unsafe fn from_raw(raw: NonNull<sys::DLManagedTensorVersioned>) -> Self {
        Self { raw }
    }

    /// Gives the tensor away, to be released once by whoever gets it, who may write to memory that
    /// is not [`Flags::READ_ONLY`]: see [`Tensor::into_raw`].
    #[must_use]
    #[inline]
    pub fn into_raw(self) -> NonNull<sys::DLManagedTensorVersioned> {
        let raw = self.raw;
        forget(self);
        raw
    }

    /// The struct, which stays this owner's.
    #[must_use]
    #[inline]
    pub const fn as_ptr(&self) -> *mut sys::DLManagedTensorVersioned {
        self.raw.as_ptr()
    }

    /// The version that it says. Of a major other than 1 nothing else may be read.
    #[must_use]
    pub fn version(&self) -> Version {
        // SAFETY: every major begins with its version.
        Version::of(unsafe { addr_of!((*self.as_ptr()).version).read() })
    }

    /// The tensor inside, to be described; `None` where the major is not 1.
    #[must_use]
    pub fn as_bare(&self) -> Option<BareTensor<'_>> {
        if self.version().major != 1 {
            return None;
        }
        // SAFETY: not NULL, of major 1, and readable for as long as this owner.
        unsafe {
            let flags = Flags(addr_of!((*self.as_ptr()).flags).read());
            let tensor = NonNull::new_unchecked(addr_of_mut!((*self.as_ptr()).dl_tensor));
            Some(BareTensor::from_raw(tensor, flags))
        }
    }

    /// Validates it: what `policy` lets pass may be looked at.
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

    /// Validates it for good: it may be looked at from now on. It stays the producer's struct; see
    /// [`VersionedTensor::adopt`] for one that can be shared.
    ///
    /// # Errors
    ///
    /// The first rule that is broken. The tensor is handed back.
    pub fn into_validated(self, policy: &Policy<'_>) -> Result<Tensor, Refused<Self>> {
        match self.validate(policy).map(drop) {
            // SAFETY: it was validated, and is owned.
            Ok(()) => Ok(unsafe { Tensor::from_result(self.into_raw().as_ptr()) }),
            Err(error) => Err(Refused { error, value: self }),
        }
    }

    /// Everything that is wrong with it or worth knowing.
    ///
    /// # Errors
    ///
    /// About the policy only.
    pub fn diagnose(&self, policy: &Policy<'_>) -> Result<Vec<Finding>, Error> {
        let tensor = self.as_ptr().cast_const().cast();
        // SAFETY: the struct is readable.
        unsafe { diagnose(tensor, sys::DLBRIDGE_KIND_VERSIONED, Flags::NONE, policy.as_raw()) }
    }

    /// Makes it one of the library's own, which can be shared and viewed.
    ///
    /// # Errors
    ///
    /// Any rule of the policy; what the options do not allow; no memory. The tensor is handed back.
    #[inline]
    pub fn adopt(self, options: &ConvertOptions<'_>) -> Result<Tensor, Refused<Self>> {
        let mut out = null_mut();
        // SAFETY: live and owned.
        let result = call(|error| unsafe {
            sys::dlbridge_adopt(self.as_ptr(), options.as_raw(), &raw mut out, error)
        });
        match result {
            Ok(()) => {
                forget(self);
                // SAFETY: on success the result is the caller's and not NULL.
                Ok(unsafe { Tensor::from_result(out) })
            }
            Err(error) => Err(Refused { error, value: self }),
        }
    }

    /// Makes a legacy tensor of it. What legacy cannot say is refused unless the options allow it.
    ///
    /// # Errors
    ///
    /// Any rule of the policy; [`Status::UNREPRESENTABLE`](crate::Status::UNREPRESENTABLE); no
    /// memory. The tensor is handed back.
    #[inline]
    pub fn downgrade(self, options: &ConvertOptions<'_>) -> Result<LegacyTensor, Refused<Self>> {
        let mut out = null_mut();
        // SAFETY: live and owned.
        let result = call(|error| unsafe {
            sys::dlbridge_downgrade(self.as_ptr(), options.as_raw(), &raw mut out, error)
        });
        match result {
            Ok(()) => {
                forget(self);
                // SAFETY: on success the result is the caller's and not NULL.
                Ok(unsafe { LegacyTensor::from_raw(NonNull::new_unchecked(out)) })
            }
            Err(error) => Err(Refused { error, value: self }),
        }
    }

    /// Makes what a consumer of DLPack `target` reads: legacy where its major is 0, else versioned.
    ///
    /// # Errors
    ///
    /// As for downgrading. The tensor is handed back.
    pub fn convert(
        self,
        target: Version,
        options: &ConvertOptions<'_>,
    ) -> Result<Converted, Refused<Self>> {
        let source = self.as_ptr().cast();
        // SAFETY: live, owned, and of that kind.
        match unsafe { convert(source, sys::DLBRIDGE_KIND_VERSIONED, target, options) } {
            Ok(converted) => {
                forget(self);
                Ok(converted)
            }
            Err(error) => Err(Refused { error, value: self }),
        }
    }
}

/// A look at a versioned tensor.
///
/// # Safety
///
/// It was validated, and lives as long as `'a`.
pub(crate) unsafe fn view_of<'a>(raw: NonNull<sys::DLManagedTensorVersioned>) -> TensorView<'a> {
    // SAFETY: the caller's word.
    unsafe {
        let flags = Flags(addr_of!((*raw.as_ptr()).flags).read());
        let tensor = NonNull::new_unchecked(addr_of_mut!((*raw.as_ptr()).dl_tensor));
        TensorView::new(tensor, flags)
    }
}

/// What [`LegacyTensor::convert`] and [`VersionedTensor::convert`] made.
#[derive(Debug)]
pub enum Converted {
    /// For a consumer of DLPack before 1.0.
    Legacy(LegacyTensor),
    /// For a consumer of 1.0 or later. It was validated.
    Versioned(Tensor),
}

/// # Safety
///
/// `source` is a live tensor of `kind`, the caller's to give. It was given where this succeeds.
unsafe fn convert(
    source: *mut c_void,
    kind: sys::DLBridgeKind,
    target: Version,
    options: &ConvertOptions<'_>,
) -> Result<Converted, Error> {
    let mut out = null_mut();
    let mut out_kind = sys::DLBRIDGE_KIND_AMBIGUOUS;
    // SAFETY: the caller's word.
    call(|error| unsafe {
        let options = options.as_raw();
        sys::dlbridge_convert(
            source,
            kind,
            target.raw(),
            options,
            &raw mut out,
            &raw mut out_kind,
            error,
        )
    })?;
    // SAFETY: on success the result is the caller's, not NULL, and of the kind that was told.
    unsafe {
        Ok(match Kind::of(out_kind) {
            Kind::Legacy => {
                Converted::Legacy(LegacyTensor::from_raw(NonNull::new_unchecked(out.cast())))
            }
            _ => Converted::Versioned(Tensor::from_result(out.cast())),
        })
    }
}

/// A tensor that came through a channel that carries pointers without a type.
#[derive(Debug)]
pub enum Foreign {
    /// A legacy one.
    Legacy(LegacyTensor),
    /// A versioned one.
    Versioned(VersionedTensor),
}

impl Foreign {
    /// Takes the tensor at `tensor`, told by its bytes alone; `None`, and nothing taken, where they
    /// do not tell.
    ///
    /// # Safety
    ///
    /// `tensor` is NULL, or points to a tensor of either kind that is the caller's to give and is
    /// what [Foreign tensors](crate#foreign-tensors) says.
    #[must_use]
    pub unsafe fn from_void(tensor: *mut c_void) -> Option<Self> {
        let pointer = NonNull::new(tensor)?;
        // SAFETY: the caller's word.
        unsafe {
            match identify(tensor) {
                Kind::Legacy => Some(Self::Legacy(LegacyTensor::from_raw(pointer.cast()))),
                Kind::Versioned => Some(Self::Versioned(VersionedTensor::from_raw(pointer.cast()))),
                Kind::Ambiguous => None,
            }
        }
    }
}

/// Tells a legacy from a versioned tensor by its bytes alone. It never guesses.
///
/// # Safety
///
/// `tensor` is NULL or 64 bytes are readable there.
#[must_use]
pub unsafe fn identify(tensor: *const c_void) -> Kind {
    // SAFETY: the caller's word.
    Kind::of(unsafe { sys::dlbridge_identify(tensor) })
}

impl fmt::Debug for LegacyTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LegacyTensor({:?})", self.as_bare())
    }
}

impl fmt::Debug for VersionedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_bare() {
            Some(bare) => write!(f, "VersionedTensor({} {bare:?})", self.version()),
            None => write!(f, "VersionedTensor({})", self.version()),
        }
    }
}
