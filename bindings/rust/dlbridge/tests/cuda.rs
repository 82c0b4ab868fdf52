// SPDX-License-Identifier: Apache-2.0
//! The feature `cudarc`: device slices, both ways. Without a CUDA device the tests are skipped; with
//! `DLBRIDGE_CUDA` set they fail then.
#![cfg(feature = "cudarc")]
// Tests compare elements with the same values.
#![allow(clippy::float_cmp)]

use cudarc::driver::{CudaContext, CudaStream};
use dlbridge::{
    collect, CollectOptions, CopySpec, Device, DeviceType, Rule, UniqueTensor, ViewSpec,
};
use std::sync::Arc;

fn stream() -> Option<Arc<CudaStream>> {
    // cudarc panics where there is no driver.
    let context = std::panic::catch_unwind(|| CudaContext::new(0)).ok().and_then(Result::ok);
    if context.is_none() {
        assert!(std::env::var_os("DLBRIDGE_CUDA").is_none(), "there is no CUDA device");
        eprintln!("skipped: there is no CUDA device");
    }
    context.map(|context| context.new_stream().unwrap())
}

#[test]
fn a_slice_goes_out_and_comes_back() {
    let Some(stream) = stream() else { return };
    let slice = stream.clone_htod(&[0_f32, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    let tensor = UniqueTensor::from_cuda_slice(slice, &[2, 3]).unwrap();
    assert_eq!(tensor.device(), Device::new(DeviceType::CUDA, 0));
    let host = tensor.as_view().as_borrowed().copy(&CopySpec::new()).unwrap();
    assert_eq!(host.as_slice::<f32>().unwrap()[5], 5.0);

    let mut back = tensor.into_cuda_slice::<f32>(&stream).unwrap();
    stream.memset_zeros(&mut back.as_view_mut()).unwrap();
    assert_eq!(stream.clone_dtoh(&*back).unwrap(), [0.0; 6]);
    drop(back);
    assert_eq!(collect(CollectOptions::new().wait()).unwrap(), 0);
}

#[test]
fn a_shared_tensor_is_read() {
    let Some(stream) = stream() else { return };
    let slice = stream.clone_htod(&[0_i32, 1, 2, 3, 4, 5]).unwrap();
    let tensor = UniqueTensor::from_cuda_slice(slice, &[2, 3]).unwrap().into_shared();
    let row = tensor.view(&ViewSpec::new(&[3]).offset(3)).unwrap();
    let columns = tensor.view(&ViewSpec::new(&[3, 2]).strides(&[1, 3])).unwrap();
    let row = row.into_cuda_slice::<i32>(&stream).unwrap();
    drop(tensor);
    assert_eq!(stream.clone_dtoh(&*row).unwrap(), [3, 4, 5]);
    // A rejected tensor comes back.
    let rejected = columns.into_cuda_slice::<i32>(&stream).err().unwrap();
    assert_eq!(rejected.error.rule(), Rule::CONTIGUITY);
    let rejected = rejected.value.into_cuda_slice::<u32>(&stream).err().unwrap();
    assert_eq!(rejected.error.rule(), Rule::DTYPE_REJECTED);
}

#[test]
fn what_does_not_fit_is_rejected() {
    let Some(stream) = stream() else { return };
    let slice = stream.clone_htod(&[1_u8, 2, 3]).unwrap();
    let error = UniqueTensor::from_cuda_slice(slice, &[4]).unwrap_err();
    assert_eq!(error.rule(), Rule::BUFFER_BOUNDS);
    let host = UniqueTensor::from_vec(vec![1_u8], &[1]).unwrap();
    let rejected = host.into_cuda_slice::<u8>(&stream).err().unwrap();
    assert_eq!(rejected.error.rule(), Rule::DEVICE_REJECTED);
}
