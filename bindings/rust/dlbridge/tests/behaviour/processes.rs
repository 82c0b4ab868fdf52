// SPDX-License-Identifier: Apache-2.0
//! Tensors between processes: here one process is both exporter and importer, with the same calls.

use dlbridge::{
    AllocateSpec, Dtype, Error, Flags, IpcExport, Policy, Rule, Status, Stream, Tensor,
};
use std::os::fd::AsFd;

#[test]
fn the_importer_reads_shareable_memory() {
    let tensor = shareable();
    let exported = tensor.ipc_export().unwrap();
    let fds = exported.fds.iter().map(AsFd::as_fd).collect::<Vec<_>>();
    // SAFETY: nothing writes.
    let seen = unsafe { Tensor::ipc_import(&exported.bytes, &fds, &Policy::DEFAULT) }.unwrap();
    drop(tensor);
    assert_eq!(seen.as_slice::<i32>().unwrap(), [1, 2, 3]);
    assert!(seen.flags().contains(Flags::READ_ONLY));
    let cut = &exported.bytes[..10];
    // SAFETY: as above.
    let error = unsafe { Tensor::ipc_import(cut, &fds, &Policy::DEFAULT) }.unwrap_err();
    assert_eq!(error.status(), Status::DESCRIPTOR);
    // SAFETY: as above.
    let error = unsafe { Tensor::ipc_import_writable(&exported.bytes, &[], &Policy::DEFAULT) };
    assert_eq!(error.unwrap_err().status(), Status::DESCRIPTOR);
}

/// Three elements in memory that can be shared with other processes.
fn shareable() -> Tensor {
    let shape = [3];
    let spec = AllocateSpec::new(Dtype::I32, &shape).shareable();
    spec.allocate().unwrap().copied_from(&[1_i32, 2, 3]).unwrap().into_shared()
}

/// The importer, which asks for the right to write.
fn imported(exported: &IpcExport) -> Result<Tensor, Error> {
    let fds = exported.fds.iter().map(AsFd::as_fd).collect::<Vec<_>>();
    // SAFETY: nothing writes while references to elements exist.
    unsafe { Tensor::ipc_import_writable(&exported.bytes, &fds, &Policy::DEFAULT) }
}

#[test]
fn a_read_only_export_cannot_be_written_to() {
    let tensor = shareable();
    // Asking for the right to write does not grant it.
    match imported(&tensor.ipc_export().unwrap()) {
        Ok(seen) => {
            assert!(seen.flags().contains(Flags::READ_ONLY));
            // SAFETY: nothing writes.
            let mut seen = unsafe { seen.assume_unique() };
            assert_eq!(seen.as_mut_slice::<i32>().unwrap_err().rule(), Rule::NOT_WRITABLE);
        }
        Err(error) => assert_eq!(error.status(), Status::DESCRIPTOR),
    }
    assert_eq!(tensor.as_slice::<i32>().unwrap(), [1, 2, 3]);
}

#[test]
fn a_writable_export_can_be_written_to() {
    let tensor = shareable();
    // SAFETY: no reference to an element exists while the importer writes.
    let exported = unsafe { tensor.ipc_export_writable() }.unwrap();
    let seen = imported(&exported).unwrap();
    assert!(!seen.flags().contains(Flags::READ_ONLY));
    // SAFETY: as above, and the memory was exported for writing.
    let mut seen = unsafe { seen.assume_unique() };
    seen.as_mut_slice::<i32>().unwrap().copy_from_slice(&[4, 5, 6]);
    drop(seen);
    assert_eq!(tensor.as_slice::<i32>().unwrap(), [4, 5, 6]);
}

/// The host's work is finished; the calls read the streams that they are given.
#[test]
fn streams_order_an_export_and_an_import() {
    let exported = shareable().ipc_export_after(&Stream::HOST).unwrap();
    let fds = exported.fds.iter().map(AsFd::as_fd).collect::<Vec<_>>();
    let (bytes, policy) = (&exported.bytes, &Policy::DEFAULT);
    // SAFETY: nothing writes.
    let seen = unsafe { Tensor::ipc_import_on(bytes, &fds, policy, &Stream::HOST) }.unwrap();
    assert_eq!(seen.as_slice::<i32>().unwrap(), [1, 2, 3]);
    // SAFETY: as above.
    let writable = unsafe { shareable().ipc_export_writable_after(&Stream::HOST) }.unwrap();
    let fds = writable.fds.iter().map(AsFd::as_fd).collect::<Vec<_>>();
    // SAFETY: as above.
    let seen =
        unsafe { Tensor::ipc_import_writable_on(&writable.bytes, &fds, policy, &Stream::HOST) };
    assert!(!seen.unwrap().flags().contains(Flags::READ_ONLY));
    // SAFETY: no stream, which is rejected.
    let unset = unsafe { Stream::from_raw(dlbridge::sys::DLBridgeStream::INIT) };
    assert_eq!(
        shareable().ipc_export_after(&unset).unwrap_err().status(),
        Status::INVALID_ARGUMENT
    );
    // SAFETY: as above.
    let rejected = unsafe { Tensor::ipc_import_on(bytes, &fds, policy, &unset) };
    assert_eq!(rejected.unwrap_err().status(), Status::INVALID_ARGUMENT);
}

#[test]
fn ordinary_memory_is_rejected_with_the_remedy() {
    let tensor = dlbridge::UniqueTensor::try_from(vec![1_u8]).unwrap().into_shared();
    assert_eq!(tensor.ipc_export().unwrap_err().status(), Status::UNSUPPORTED);
    // SAFETY: rejected.
    assert!(unsafe { tensor.ipc_export_writable() }.is_err());
}
