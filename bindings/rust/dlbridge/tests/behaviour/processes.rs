// SPDX-License-Identifier: Apache-2.0
//! Tensors between processes: here both ends are one, which takes the same way.

use dlbridge::{AllocateSpec, Dtype, Flags, Policy, Status, Tensor};
use std::os::fd::AsFd;

#[test]
fn shareable_memory_is_seen_by_the_other_side() {
    let shape = [3];
    let spec = AllocateSpec::new(Dtype::I32, &shape).shareable();
    let tensor = spec.allocate().unwrap().copied_from(&[1_i32, 2, 3]).unwrap().into_shared();
    let exported = tensor.ipc_export().unwrap();
    let fds = exported.fds.iter().map(AsFd::as_fd).collect::<Vec<_>>();
    // SAFETY: nobody writes.
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

#[test]
fn ordinary_memory_is_refused_with_the_remedy() {
    let tensor = dlbridge::UniqueTensor::try_from(vec![1_u8]).unwrap().into_shared();
    assert_eq!(tensor.ipc_export().unwrap_err().status(), Status::UNSUPPORTED);
    // SAFETY: refused.
    assert!(unsafe { tensor.ipc_export_writable() }.is_err());
}
