// SPDX-License-Identifier: Apache-2.0
//! A borrowed tensor that has not been validated.

use crate::device::Device;
use crate::dtype::Dtype;
use crate::error::{call, Error};
use crate::layout::{Finding, Layout};
use crate::policy::Policy;
use crate::text;
use crate::values::{Flags, Version};
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A borrowed tensor that has not been validated: it can be described and validated, and no element
/// of it can be reached.
#[derive(Clone, Copy)]
pub struct BorrowedTensor<'a> {
    tensor: NonNull<sys::DLTensor>,
    flags: Flags,
    owner: PhantomData<&'a sys::DLTensor>,
}

// SAFETY: it is only read, and foreign structs may be read from any thread.
unsafe impl Send for BorrowedTensor<'_> {}
// SAFETY: as above.
unsafe impl Sync for BorrowedTensor<'_> {}

impl BorrowedTensor<'_> {
    /// Borrows the struct at `tensor`; `flags` are its known flags.
    ///
    /// # Safety
    ///
    /// See [Foreign tensors](crate#foreign-tensors), for as long as `'a`.
    #[must_use]
    pub const unsafe fn from_raw(tensor: NonNull<sys::DLTensor>, flags: Flags) -> Self {
        Self { tensor, flags, owner: PhantomData }
    }

    /// The struct.
    #[must_use]
    pub const fn as_ptr(&self) -> *const sys::DLTensor {
        self.tensor.as_ptr()
    }

    /// Its known flags.
    #[must_use]
    pub const fn flags(&self) -> Flags {
        self.flags
    }

    /// Number of axes that it claims.
    #[must_use]
    pub const fn ndim(&self) -> i32 {
        // SAFETY: the struct is readable.
        unsafe { (*self.tensor.as_ptr()).ndim }
    }

    /// Its dtype.
    #[must_use]
    pub const fn dtype(&self) -> Dtype {
        // SAFETY: the struct is readable.
        Dtype::of(unsafe { (*self.tensor.as_ptr()).dtype })
    }

    /// Its device.
    #[must_use]
    pub const fn device(&self) -> Device {
        // SAFETY: the struct is readable.
        Device::of(unsafe { (*self.tensor.as_ptr()).device })
    }

    /// Its layout in memory. Reads shape and strides.
    ///
    /// # Errors
    ///
    /// A tensor that has no layout.
    pub fn layout(&self) -> Result<Layout, Error> {
        let mut layout = sys::DLBridgeLayout::INIT;
        // SAFETY: the struct is readable.
        call(|error| unsafe {
            sys::dlbridge_layout(self.as_ptr(), self.flags.0, &raw mut layout, error)
        })?;
        Ok(Layout::of(layout))
    }

    /// All findings on it: broken rules and notes.
    ///
    /// # Errors
    ///
    /// Only for an invalid policy.
    pub fn diagnose(&self, policy: &Policy<'_>) -> Result<Vec<Finding>, Error> {
        // SAFETY: the struct is readable.
        unsafe {
            diagnose(self.as_ptr().cast(), sys::DLBRIDGE_KIND_BORROWED, self.flags, policy.as_raw())
        }
    }

    /// The oldest DLPack that can describe it.
    ///
    /// # Errors
    ///
    /// [`Status::UNKNOWN_CODE`](crate::Status::UNKNOWN_CODE) if no release can.
    pub fn required_version(&self) -> Result<Version, Error> {
        let mut out = Version::DEFAULT.raw();
        // SAFETY: the struct is readable.
        call(|error| unsafe {
            sys::dlbridge_required_version(self.as_ptr(), self.flags.0, &raw mut out, error)
        })?;
        Ok(Version::of(out))
    }

    /// One line for logs, also for a broken tensor.
    ///
    /// # Errors
    ///
    /// No known error.
    pub fn describe(&self) -> Result<String, Error> {
        // SAFETY: the struct is readable, the buffer as long as stated.
        text::text(&|buffer, size, length, error| unsafe {
            sys::dlbridge_tensor_format(self.as_ptr(), self.flags.0, buffer, size, length, error)
        })
    }
}

impl fmt::Debug for BorrowedTensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe().map_err(|_| fmt::Error)?)
    }
}

/// The findings on the struct at `tensor`.
///
/// # Safety
///
/// It is readable as a struct of `kind`.
pub(crate) unsafe fn diagnose(
    tensor: *const c_void,
    kind: sys::DLBridgeKind,
    flags: Flags,
    policy: &sys::DLBridgePolicy,
) -> Result<Vec<Finding>, Error> {
    const NOTHING: sys::DLBridgeFinding = sys::DLBridgeFinding {
        rule: 0,
        axis: -1,
        severity: 0,
        status: 0,
        reserved: [0; 2],
        expected: [0; 128],
        found: [0; 96],
    };
    let mut findings = vec![NOTHING; 16];
    loop {
        let mut count = 0;
        let (start, capacity) = (findings.as_mut_ptr(), findings.len());
        // SAFETY: guaranteed by the caller; the array is as long as stated.
        call(|error| unsafe {
            sys::dlbridge_diagnose(
                tensor,
                kind,
                flags.0,
                policy,
                start,
                capacity,
                &raw mut count,
                error,
            )
        })?;
        if count <= findings.len() {
            return Ok(findings[..count].iter().map(Finding::of).collect());
        }
        findings.resize(count, NOTHING);
    }
}
