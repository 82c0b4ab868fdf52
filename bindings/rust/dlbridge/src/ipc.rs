// SPDX-License-Identifier: Apache-2.0
//! Tensors between processes of one host.

use crate::error::{call, Error};
use crate::policy::Policy;
use crate::tensor::Tensor;
use dlbridge_sys as sys;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

/// A tensor described for another process: bytes, and file descriptors that go with them in their
/// order.
#[derive(Debug)]
pub struct Exported {
    /// The description.
    pub bytes: Vec<u8>,
    /// To be passed on by `SCM_RIGHTS`; closed when dropped.
    pub fds: Vec<OwnedFd>,
}

impl Tensor {
    /// Describes it for another process, which gets no right to write. Host memory must be
    /// shareable; a device's memory stays this process's, which keeps the tensor until the other is
    /// done.
    ///
    /// # Errors
    ///
    /// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) with the remedy.
    pub fn ipc_export(&self) -> Result<Exported, Error> {
        // SAFETY: nobody gets the right to write.
        unsafe { self.export_by(sys::DLBRIDGE_IPC_READ_ONLY) }
    }

    /// The same for a process that may write, unless the tensor says that it is read-only.
    ///
    /// # Safety
    ///
    /// The other process writes to no element while anyone here refers to it.
    ///
    /// # Errors
    ///
    /// As above.
    pub unsafe fn ipc_export_writable(&self) -> Result<Exported, Error> {
        // SAFETY: the caller's word.
        unsafe { self.export_by(0) }
    }

    unsafe fn export_by(&self, options: u32) -> Result<Exported, Error> {
        let mut bytes = vec![0_u8; sys::DLBRIDGE_IPC_MAX_SIZE];
        let mut fds = [-1; sys::DLBRIDGE_IPC_MAX_FDS];
        let (mut length, mut count) = (0, 0);
        // SAFETY: the tensor is live, the lists as long as is said.
        call(|error| unsafe {
            sys::dlbridge_ipc_export(
                self.as_ptr(),
                options,
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                &raw mut length,
                fds.as_mut_ptr(),
                fds.len(),
                &raw mut count,
                error,
            )
        })?;
        bytes.truncate(length);
        // SAFETY: they are this call's caller's, each once.
        let fds = fds[..count].iter().map(|&fd| unsafe { OwnedFd::from_raw_fd(fd) }).collect();
        Ok(Exported { bytes, fds })
    }

    /// Makes a tensor of what another process exported, and does not ask for the right to write.
    /// It is validated by `policy`.
    ///
    /// # Safety
    ///
    /// No process writes to an element while anyone here refers to it.
    ///
    /// # Errors
    ///
    /// [`Status::DESCRIPTOR`](crate::Status::DESCRIPTOR); any rule of the policy; a driver.
    pub unsafe fn ipc_import(
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
        policy: &Policy<'_>,
    ) -> Result<Self, Error> {
        // SAFETY: the caller's word.
        unsafe { import(bytes, fds, sys::DLBRIDGE_IPC_READ_ONLY, policy) }
    }

    /// The same with the right to write, where it was exported so.
    ///
    /// # Safety
    ///
    /// As above.
    ///
    /// # Errors
    ///
    /// As above.
    pub unsafe fn ipc_import_writable(
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
        policy: &Policy<'_>,
    ) -> Result<Self, Error> {
        // SAFETY: the caller's word.
        unsafe { import(bytes, fds, 0, policy) }
    }
}

/// # Safety
///
/// No process writes to an element while anyone here refers to it.
unsafe fn import(
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    options: u32,
    policy: &Policy<'_>,
) -> Result<Tensor, Error> {
    let fds = fds.iter().map(AsRawFd::as_raw_fd).collect::<Vec<_>>();
    let mut out = null_mut();
    // SAFETY: the lists are as long as is said, and stay the caller's.
    call(|error| unsafe {
        sys::dlbridge_ipc_import(
            bytes.as_ptr().cast(),
            bytes.len(),
            fds.as_ptr(),
            fds.len(),
            options,
            policy.as_raw(),
            &raw mut out,
            error,
        )
    })?;
    // SAFETY: on success the result is the caller's and not NULL.
    Ok(unsafe { Tensor::from_result(out) })
}
