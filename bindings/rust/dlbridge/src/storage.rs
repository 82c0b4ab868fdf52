// SPDX-License-Identifier: Apache-2.0
//! Upgrades into the caller's memory.

use crate::error::{call, taken, Error, Rejected};
use crate::foreign::LegacyTensor;
use crate::options::ConvertOptions;
use crate::policy::Policy;
use crate::view::{element_methods, view_methods, view_of, TensorView};
use dlbridge_sys as sys;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{forget, MaybeUninit};
use std::ptr::{null_mut, NonNull};

/// Bytes of storage that an upgrade of `ndim` axes needs; 0 for an invalid number.
#[must_use]
pub fn upgrade_storage_size(ndim: i32) -> usize {
    // SAFETY: takes any integer.
    unsafe { sys::dlbridge_upgrade_storage_size(ndim) }
}

/// Storage of `N` bytes, aligned as an upgrade needs it.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Storage<const N: usize> {
    bytes: [MaybeUninit<u8>; N],
}

impl<const N: usize> Storage<N> {
    /// Storage whose bytes are unspecified.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [MaybeUninit::uninit(); N] }
    }

    /// The bytes.
    pub fn as_bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.bytes
    }
}

impl<const N: usize> Default for Storage<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Debug for Storage<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({N} bytes)")
    }
}

/// Owns an upgraded tensor in the caller's storage, which it borrows. It cannot be shared. If it is
/// forgotten instead of dropped, its source leaks.
pub struct StoredTensor<'s> {
    raw: NonNull<sys::DLManagedTensorVersioned>,
    storage: PhantomData<&'s mut [MaybeUninit<u8>]>,
}

// SAFETY: DLPack lets a tensor be read and released on any thread; the storage is plain bytes.
unsafe impl Send for StoredTensor<'_> {}
// SAFETY: as above.
unsafe impl Sync for StoredTensor<'_> {}

impl Drop for StoredTensor<'_> {
    fn drop(&mut self) {
        // SAFETY: live and owned.
        unsafe { sys::dlbridge_release_versioned(self.raw.as_ptr()) }
    }
}

impl StoredTensor<'_> {
    /// A view of it, which cannot outlive this owner.
    #[must_use]
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

    /// The struct, still owned by this value.
    #[must_use]
    pub const fn as_ptr(&self) -> *mut sys::DLManagedTensorVersioned {
        self.raw.as_ptr()
    }

    /// Transfers ownership to the receiver, which releases it once and may write to memory that is
    /// not [`Flags::READ_ONLY`](crate::Flags::READ_ONLY).
    ///
    /// # Safety
    ///
    /// The storage stays and is not used otherwise until the receiver has released the tensor.
    #[must_use]
    pub unsafe fn into_raw(self) -> NonNull<sys::DLManagedTensorVersioned> {
        let raw = self.raw;
        forget(self);
        raw
    }
}

impl fmt::Debug for StoredTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredTensor({:?})", self.as_view())
    }
}

impl LegacyTensor {
    /// As [`LegacyTensor::upgrade_with`], into `storage` and without allocating. The storage is
    /// aligned to 16 bytes and [`upgrade_storage_size`] long; see [`Storage`].
    ///
    /// # Errors
    ///
    /// As for [`LegacyTensor::upgrade_with`]; storage that is too short or not aligned. The tensor
    /// is released.
    pub fn upgrade_into<'s>(
        self,
        storage: &'s mut [MaybeUninit<u8>],
        options: &ConvertOptions<'_>,
    ) -> Result<StoredTensor<'s>, Error> {
        Ok(self.try_upgrade_into(storage, options)?)
    }

    /// As [`LegacyTensor::upgrade_into`], but returns a rejected tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`LegacyTensor::upgrade_into`].
    pub fn try_upgrade_into<'s>(
        self,
        storage: &'s mut [MaybeUninit<u8>],
        options: &ConvertOptions<'_>,
    ) -> Result<StoredTensor<'s>, Rejected<Self>> {
        let storage = sys::DLBridgeStorage {
            memory: storage.as_mut_ptr().cast(),
            size: storage.len(),
            ..sys::DLBridgeStorage::INIT
        };
        // SAFETY: the storage is borrowed as long as the result lives.
        unsafe { self.try_upgrade_into_raw(&storage, options) }
    }

    /// As [`LegacyTensor::try_upgrade_into`], with storage as the C ABI describes it, which may
    /// have a callback.
    ///
    /// # Safety
    ///
    /// The caller owns the storage, which is writable and stays until the result was released; the
    /// callback may be called on any thread and does not unwind.
    ///
    /// # Errors
    ///
    /// As for [`LegacyTensor::try_upgrade_into`].
    pub unsafe fn try_upgrade_into_raw<'s>(
        self,
        storage: &sys::DLBridgeStorage,
        options: &ConvertOptions<'_>,
    ) -> Result<StoredTensor<'s>, Rejected<Self>> {
        let mut out = null_mut();
        let options = options.as_raw();
        // SAFETY: live and owned; the caller guarantees the storage.
        let result = call(|error| unsafe {
            sys::dlbridge_upgrade_into(self.as_ptr(), options, storage, &raw mut out, error)
        });
        // SAFETY: on success the result is not NULL and owned by the caller.
        let raw = |()| unsafe { NonNull::new_unchecked(out) };
        taken(self, result.map(raw).map(|raw| StoredTensor { raw, storage: PhantomData }))
    }
}
