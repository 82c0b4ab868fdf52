// SPDX-License-Identifier: Apache-2.0
//! The feature `candle`: tensors of candle-core, both ways.
#![cfg(feature = "candle")]
// Tests compare elements with the same values.
#![allow(clippy::float_cmp)]

use candle_core::{DType, Device, Tensor as Candle, Var};
use dlbridge::{Dtype, Flags, Rule, Tensor, UniqueTensor, ViewSpec};

fn six() -> Candle {
    Candle::arange(0_f32, 6.0, &Device::Cpu).unwrap().reshape((2, 3)).unwrap()
}

#[test]
fn a_candle_tensor_is_copied() {
    let candle = six();
    let tensor = UniqueTensor::from_candle(&candle).unwrap();
    assert_eq!((tensor.shape(), tensor.dtype()), (&[2_i64, 3][..], Dtype::F32));
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    // Any layout: transposed, and a part that starts inside the storage.
    let turned = UniqueTensor::from_candle(&candle.t().unwrap()).unwrap();
    assert_eq!(turned.as_slice::<f32>().unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let part = UniqueTensor::from_candle(&candle.narrow(1, 1, 2).unwrap()).unwrap();
    assert_eq!(part.as_slice::<f32>().unwrap(), [1.0, 2.0, 4.0, 5.0]);
    let scalar = Candle::new(7_i64, &Device::Cpu).unwrap();
    assert_eq!(UniqueTensor::from_candle(&scalar).unwrap().as_slice::<i64>().unwrap(), [7]);
    // The copy is not the variable.
    let variable = Var::from_tensor(&candle).unwrap();
    let copy = UniqueTensor::from_candle(&variable).unwrap();
    variable.set(&candle.zeros_like().unwrap()).unwrap();
    assert_eq!(copy.as_slice::<f32>().unwrap()[5], 5.0);
}

#[test]
fn a_candle_tensor_is_shared() {
    let candle = six();
    // SAFETY: nothing writes to the candle tensor.
    let tensor = unsafe { Tensor::share_candle(&candle.t().unwrap()) }.unwrap();
    assert!(tensor.flags().contains(Flags::READ_ONLY));
    assert_eq!((tensor.shape(), tensor.strides()), (&[3_i64, 2][..], Some(&[1_i64, 3][..])));
    drop(candle);
    assert_eq!(tensor.as_strided::<f32>().unwrap()[&[2, 1]], 5.0);
    std::thread::spawn(move || drop(tensor)).join().unwrap();
}

#[test]
fn all_dtypes_go_both_ways() {
    let known = [
        (DType::U8, Dtype::U8),
        (DType::U32, Dtype::U32),
        (DType::I16, Dtype::I16),
        (DType::I32, Dtype::I32),
        (DType::I64, Dtype::I64),
        (DType::BF16, Dtype::BF16),
        (DType::F16, Dtype::F16),
        (DType::F32, Dtype::F32),
        (DType::F64, Dtype::F64),
    ];
    for (candle, dtype) in known {
        let source = six().to_dtype(candle).unwrap();
        let tensor = UniqueTensor::from_candle(&source).unwrap();
        assert_eq!(tensor.dtype(), dtype);
        let back = tensor.as_view().to_candle().unwrap();
        assert_eq!((back.dtype(), back.dims()), (candle, &[2, 3][..]));
        let values: Vec<f64> =
            back.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap();
        assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }
    let float8 = six().to_dtype(DType::F8E4M3).unwrap();
    assert_eq!(UniqueTensor::from_candle(&float8).unwrap_err().rule(), Rule::DTYPE_REJECTED);
    let tensor = UniqueTensor::from_vec(vec![1_u16], &[1]).unwrap();
    let error = tensor.as_view().to_candle().unwrap_err();
    assert_eq!(error.rule(), Rule::DTYPE_REJECTED);
    assert!(error.to_string().contains("found uint16"), "{error}");
}

#[test]
fn any_layout_becomes_compact() {
    let tensor = UniqueTensor::from_candle(&six()).unwrap().into_shared();
    let backwards = tensor.view(&ViewSpec::new(&[3, 2]).strides(&[-1, -3]).offset(5)).unwrap();
    let candle = backwards.as_view().to_candle().unwrap();
    assert!(candle.is_contiguous());
    let rows: Vec<Vec<f32>> = candle.to_vec2().unwrap();
    assert_eq!(rows, [[5.0, 2.0], [4.0, 1.0], [3.0, 0.0]]);
    let empty = tensor.view(&ViewSpec::new(&[0, 3])).unwrap();
    assert_eq!(empty.as_view().to_candle().unwrap().dims(), [0, 3]);
}
