// SPDX-License-Identifier: Apache-2.0
//! Export, share, view, downgrade, upgrade.

use dlbridge::{ConvertOptions, Flags, Rule, Status, Tensor, UniqueTensor, ViewSpec};

#[test]
fn round_trip() {
    let mut tensor =
        UniqueTensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    tensor.as_mut_slice::<f32>().unwrap()[0] = 10.0;
    let tensor = tensor.into_shared();
    let shared = tensor.share().unwrap();
    let view = shared.view(&ViewSpec::new(&[2]).strides(&[3]).offset(1)).unwrap();
    drop(shared);
    let elements: Vec<f32> = view.as_strided::<f32>().unwrap().iter().copied().collect();
    assert_eq!(elements, [2.0, 5.0]);
    drop(view);
    let legacy = tensor.downgrade(&ConvertOptions::DEFAULT).unwrap();
    let tensor = legacy.upgrade().unwrap();
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [10.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(tensor.flags(), Flags::NONE);
    let error = tensor.as_slice::<f64>().unwrap_err();
    assert_eq!((error.status(), error.rule()), (Status::POLICY, Rule::DTYPE_REFUSED));
}

#[test]
fn refused_vector_comes_back() {
    let refused = UniqueTensor::from_vec(vec![1_i32, 2], &[3]).unwrap_err();
    assert_eq!(refused.error.rule(), Rule::BUFFER_BOUNDS);
    assert_eq!(refused.value, [1, 2]);
    let tensor = Tensor::from_arc::<u8>(vec![1, 2, 3].into(), &[3]).unwrap();
    assert_eq!(tensor.flags(), Flags::READ_ONLY);
}
