// SPDX-License-Identifier: Apache-2.0
//! Tensors between processes of one host.

use crate::error::{call, Error, Status};
use crate::policy::Policy;
use crate::stream::Stream;
use crate::tensor::Tensor;
use crate::text::pointer_of;
use dlbridge_sys as sys;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};

/// A tensor described for another process: bytes, and file descriptors that go with them in their
/// order.
#[derive(Debug)]
pub struct IpcExport {
    /// The description.
    pub bytes: Vec<u8>,
    /// To be sent with `SCM_RIGHTS`; closed when dropped.
    pub fds: Vec<OwnedFd>,
}

impl Tensor {
    /// Describes it for another process, which may not write. Host memory must be shareable. Device
    /// memory still belongs to this process, which must keep the tensor until the other process no
    /// longer uses it.
    ///
    /// # Errors
    ///
    /// [`Status::UNSUPPORTED`](crate::Status::UNSUPPORTED) with the remedy.
    pub fn ipc_export(&self) -> Result<IpcExport, Error> {
        // SAFETY: no process gets the right to write.
        unsafe { self.export_by(sys::DLBRIDGE_IPC_READ_ONLY, None) }
    }

    /// As [`Tensor::ipc_export`], while work on the tensor may still be on `stream`: the importer
    /// waits for what was put on it so far.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::ipc_export`]; a stream that captures a graph, or whose driver has no events for
    /// other processes.
    pub fn ipc_export_after(&self, stream: &Stream) -> Result<IpcExport, Error> {
        // SAFETY: as above.
        unsafe { self.export_by(sys::DLBRIDGE_IPC_READ_ONLY, Some(stream)) }
    }

    /// As [`Tensor::ipc_export`], for a process that may write, unless the tensor is read-only.
    ///
    /// # Safety
    ///
    /// The other process writes to no element while it is in use here.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::ipc_export`].
    pub unsafe fn ipc_export_writable(&self) -> Result<IpcExport, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.export_by(0, None) }
    }

    /// As [`Tensor::ipc_export_writable`], after `stream` as [`Tensor::ipc_export_after`].
    ///
    /// # Safety
    ///
    /// As for [`Tensor::ipc_export_writable`].
    ///
    /// # Errors
    ///
    /// As for [`Tensor::ipc_export_after`].
    pub unsafe fn ipc_export_writable_after(&self, stream: &Stream) -> Result<IpcExport, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.export_by(0, Some(stream)) }
    }

    unsafe fn export_by(&self, options: u32, stream: Option<&Stream>) -> Result<IpcExport, Error> {
        // Enough for today's exports; the library reports a larger size if it needs one.
        let (mut bytes, mut fds) = (vec![0_u8; 1024], vec![-1_i32; 4]);
        loop {
            let spec = sys::DLBridgeIpcExportSpec {
                options,
                buffer: bytes.as_mut_ptr().cast(),
                buffer_size: bytes.len(),
                fds: fds.as_mut_ptr(),
                fd_capacity: fds.len(),
                stream: stream.map_or(null(), |stream| stream.as_raw()),
                ..sys::DLBridgeIpcExportSpec::INIT
            };
            let mut sizes = sys::DLBridgeIpcSizes::INIT;
            // SAFETY: the tensor is live, the lists as long as the spec states.
            let result = call(|error| unsafe {
                sys::dlbridge_ipc_export(self.as_ptr(), &raw const spec, &raw mut sizes, error)
            });
            let length = usize::try_from(sizes.buffer_size).unwrap_or(usize::MAX);
            let count = usize::try_from(sizes.fd_count).unwrap_or(usize::MAX);
            match result {
                Ok(()) => {
                    bytes.truncate(length);
                    fds.truncate(count);
                    // SAFETY: this call owns each of them.
                    let owned = |fd| unsafe { OwnedFd::from_raw_fd(fd) };
                    return Ok(IpcExport { bytes, fds: fds.into_iter().map(owned).collect() });
                }
                Err(error) if error.status() != Status::BUFFER_TOO_SMALL => return Err(error),
                // Without larger sizes this loop would not end.
                Err(error) if length <= bytes.len() && count <= fds.len() => return Err(error),
                Err(_) => {
                    bytes.resize(length.max(bytes.len()), 0);
                    fds.resize(count.max(fds.len()), -1);
                }
            }
        }
    }

    /// Makes a read-only tensor of what another process exported, and validates it by `policy`.
    ///
    /// # Safety
    ///
    /// No process writes to an element while it is in use here.
    ///
    /// # Errors
    ///
    /// [`Status::DESCRIPTOR`](crate::Status::DESCRIPTOR); any rule of the policy; a driver.
    pub unsafe fn ipc_import(
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
        policy: &Policy<'_>,
    ) -> Result<Self, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { import(bytes, fds, sys::DLBRIDGE_IPC_READ_ONLY, policy, None) }
    }

    /// As [`Tensor::ipc_import`]. If the export named a stream, `stream` waits for the exporter's
    /// work; [`Tensor::ipc_import`] waits on the host.
    ///
    /// # Safety
    ///
    /// As for [`Tensor::ipc_import`]. The CPU reads no element before `stream` was synchronised.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::ipc_import`].
    pub unsafe fn ipc_import_on(
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
        policy: &Policy<'_>,
        stream: &Stream,
    ) -> Result<Self, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { import(bytes, fds, sys::DLBRIDGE_IPC_READ_ONLY, policy, Some(stream)) }
    }

    /// As [`Tensor::ipc_import`], but the tensor is writable if it was exported so.
    ///
    /// # Safety
    ///
    /// As for [`Tensor::ipc_import`].
    ///
    /// # Errors
    ///
    /// As for [`Tensor::ipc_import`].
    pub unsafe fn ipc_import_writable(
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
        policy: &Policy<'_>,
    ) -> Result<Self, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { import(bytes, fds, 0, policy, None) }
    }

    /// As [`Tensor::ipc_import_writable`], on `stream` as [`Tensor::ipc_import_on`].
    ///
    /// # Safety
    ///
    /// As for [`Tensor::ipc_import_on`].
    ///
    /// # Errors
    ///
    /// As for [`Tensor::ipc_import`].
    pub unsafe fn ipc_import_writable_on(
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
        policy: &Policy<'_>,
        stream: &Stream,
    ) -> Result<Self, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { import(bytes, fds, 0, policy, Some(stream)) }
    }
}

/// # Safety
///
/// No process writes to an element while it is in use here.
unsafe fn import(
    bytes: &[u8],
    fds: &[BorrowedFd<'_>],
    options: u32,
    policy: &Policy<'_>,
    stream: Option<&Stream>,
) -> Result<Tensor, Error> {
    let fds = fds.iter().map(AsRawFd::as_raw_fd).collect::<Vec<_>>();
    let spec = sys::DLBridgeIpcImportSpec {
        options,
        buffer: bytes.as_ptr().cast(),
        buffer_size: bytes.len(),
        fds: pointer_of(&fds),
        fd_count: fds.len(),
        policy: policy.as_raw(),
        stream: stream.map_or(null(), |stream| stream.as_raw()),
        ..sys::DLBridgeIpcImportSpec::INIT
    };
    let mut out = null_mut();
    // SAFETY: the lists are as long as the spec states, and the caller still owns them.
    call(|error| unsafe { sys::dlbridge_ipc_import(&raw const spec, &raw mut out, error) })?;
    // SAFETY: on success the result is not NULL and owned by the caller.
    Ok(unsafe { Tensor::from_result(out) })
}
