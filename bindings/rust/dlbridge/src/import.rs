// SPDX-License-Identifier: Apache-2.0
//! A tensor from foreign code, as a pointer of either kind.

use crate::error::{call, Error, Rule, Status};
use crate::options::ConvertOptions;
use crate::tensor::Tensor;
use crate::values::Kind;
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Makes a validated, dlbridge-owned [`Tensor`] of any managed tensor: the function for tensors
/// from foreign code. [`Kind::Unknown`] decides by the bytes, for a channel that carries a `void*`.
///
/// If the kind is known by type, [`LegacyTensor::upgrade`](crate::LegacyTensor::upgrade) and
/// [`VersionedTensor::import`](crate::VersionedTensor::import) do the same.
///
/// # Safety
///
/// `tensor` is NULL or a live tensor of `kind` that the caller owns, and the caller guarantees what
/// [Foreign tensors](crate#foreign-tensors) lists.
///
/// # Errors
///
/// The tensor is untouched, and the caller still owns it. Any rule of the policy;
/// [`Status::AMBIGUOUS`] if the kind is unknown and the bytes can be both kinds or neither;
/// [`Status::INVALID_ARGUMENT`] for NULL and for options that concern legacy results only; no
/// memory.
#[inline]
pub unsafe fn import(
    tensor: *mut c_void,
    kind: Kind,
    options: &ConvertOptions<'_>,
) -> Result<Tensor, Error> {
    let mut out = null_mut();
    // SAFETY: guaranteed by the caller.
    call(|error| unsafe {
        sys::dlbridge_import(tensor, kind.raw(), options.as_raw(), &raw mut out, error)
    })?;
    // SAFETY: on success the result is not NULL and owned by the caller.
    Ok(unsafe { Tensor::from_result(out) })
}

/// Releases a tensor of `kind`, which must not be unknown, that no owner of this crate holds. NULL
/// is accepted.
///
/// # Safety
///
/// `tensor` is NULL or a live tensor of `kind` that the caller owns.
///
/// # Errors
///
/// [`Status::INVALID_ARGUMENT`] for other kinds than [`Kind::Legacy`] and [`Kind::Versioned`];
/// nothing is released then.
pub unsafe fn release(tensor: *mut c_void, kind: Kind) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    match unsafe { sys::dlbridge_release(tensor, kind.raw()) } {
        sys::DLBRIDGE_OK => Ok(()),
        status => Err(Error::new(
            Status(status),
            Rule::NONE,
            &format!("kind: expected Legacy or Versioned, found {kind:?}; nothing was released"),
        )),
    }
}

/// Which managed struct `tensor` points to, by its bytes alone and by exclusion.
///
/// # Safety
///
/// `tensor` is NULL or 64 bytes are readable there.
#[must_use]
pub unsafe fn identify(tensor: *const c_void) -> Kind {
    // SAFETY: guaranteed by the caller.
    Kind::of(unsafe { sys::dlbridge_identify(tensor) })
}
