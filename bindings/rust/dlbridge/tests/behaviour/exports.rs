// SPDX-License-Identifier: Apache-2.0
//! Rust's own memory: exported without copies, and returned on failure.

use crate::producer::Runs;
use dlbridge::{
    Buffer, Dtype, Flags, LegacyTensor, Released, Rule, Tensor, UniqueTensor, WrapSpec,
};
use std::sync::Arc;

#[test]
fn a_vector_is_not_copied() {
    let mut vec = Vec::with_capacity(100);
    vec.extend([1_u16, 2, 3, 4]);
    let start = vec.as_ptr();
    let tensor = UniqueTensor::from_vec(vec, &[2, 2]).unwrap();
    assert_eq!(tensor.as_slice::<u16>().unwrap().as_ptr(), start);
    assert_eq!(tensor.flags(), Flags::NONE);
    let legacy = LegacyTensor::from_vec(vec![1_u8, 2, 3], &[3]).unwrap();
    drop(legacy);
}

#[test]
fn a_rejected_vector_is_returned_unchanged() {
    let mut vec = Vec::with_capacity(10);
    vec.push(1_u64);
    let rejected = UniqueTensor::try_from_vec(vec, &[2]).unwrap_err();
    assert_eq!(rejected.error.rule(), Rule::BUFFER_BOUNDS);
    assert_eq!((rejected.value.capacity(), &rejected.value[..]), (10, &[1][..]));
    let rejected = UniqueTensor::try_from_boxed_slice(vec![1_u64].into(), &[-1]).unwrap_err();
    assert_eq!(rejected.error.rule(), Rule::EXTENT_NEGATIVE);
    assert_eq!(&rejected.value[..], [1]);
}

#[test]
fn empty_vectors() {
    let tensor = UniqueTensor::try_from(Vec::<f32>::new()).unwrap();
    assert!(tensor.as_slice::<f32>().unwrap().is_empty());
    let tensor = UniqueTensor::from_vec(Vec::<f32>::with_capacity(9), &[0, 4]).unwrap();
    assert!(tensor.as_slice::<f32>().unwrap().is_empty());
    // Elements outside the shape are freed with the others.
    drop(UniqueTensor::from_vec(vec![1_u8; 1000], &[0]).unwrap());
}

#[test]
fn an_arc_is_shared_and_read_only() {
    let elements: Arc<[f32]> = vec![1.0, 2.0, 3.0].into();
    let tensor = Tensor::from_arc(elements.clone(), &[3]).unwrap();
    assert_eq!(Arc::strong_count(&elements), 2);
    assert_eq!(tensor.as_slice::<f32>().unwrap().as_ptr(), elements.as_ptr());
    assert_eq!(tensor.flags(), Flags::READ_ONLY);
    let shared = tensor.share().unwrap();
    drop(tensor);
    assert_eq!(Arc::strong_count(&elements), 2);
    drop(shared);
    assert_eq!(Arc::strong_count(&elements), 1);
    let rejected = Tensor::try_from_arc(elements, &[4]).unwrap_err();
    assert_eq!(rejected.value[..], [1.0, 2.0, 3.0]);
    assert_eq!(Arc::strong_count(&rejected.value), 1);
}

struct Counted(Vec<i16>, Runs);

impl AsRef<[i16]> for Counted {
    fn as_ref(&self) -> &[i16] {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.add();
    }
}

#[test]
fn any_owner_is_dropped_once() {
    let runs = Runs::default();
    let tensor = Tensor::from_owner(Counted(vec![1, 2], runs.clone()), &[2]).unwrap();
    assert_eq!(tensor.as_slice::<i16>().unwrap(), [1, 2]);
    assert_eq!(runs.get(), 0);
    drop(tensor);
    assert_eq!(runs.get(), 1);
    let rejected = Tensor::try_from_owner(Counted(vec![1], runs.clone()), &[9]).unwrap_err();
    assert_eq!(runs.get(), 1);
    drop(rejected);
    assert_eq!(runs.get(), 2);
    assert!(Tensor::from_owner(Counted(vec![1], runs.clone()), &[9]).is_err());
    assert_eq!(runs.get(), 3);
}

#[test]
fn a_release_is_called_once_or_dropped_uncalled() {
    static DATA: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    let runs = Runs::default();
    let buffer = Buffer::address(&raw const DATA);
    let release = |runs: &Runs| {
        let runs = runs.clone();
        move |given: Released| {
            assert!(given.stream().is_none());
            assert_eq!(given.buffer().value(), (&raw const DATA).addr() as u64);
            runs.add();
        }
    };
    let spec = WrapSpec::new(buffer, Dtype::U8, &[2, 2]).strides(&[4, 1]).buffer_size(8);
    let spec = spec.tensor_flags(Flags::READ_ONLY);
    // SAFETY: static memory, which the flags declare read-only.
    let tensor = unsafe { spec.wrap_with(release(&runs)) }.unwrap();
    let elements = tensor.as_strided::<u8>().unwrap().iter().copied().collect::<Vec<_>>();
    assert_eq!(elements, [1, 2, 5, 6]);
    drop(tensor);
    assert_eq!(runs.get(), 1);
    // SAFETY: as above.
    let error = unsafe { spec.byte_offset(5).wrap_with(release(&runs)) }.unwrap_err();
    assert_eq!(error.rule(), Rule::BUFFER_BOUNDS);
    // SAFETY: as above.
    let error = unsafe { spec.strides(&[1]).wrap() }.unwrap_err();
    assert_eq!(error.rule(), Rule::NONE);
    // SAFETY: as above.
    let error = unsafe { spec.wrap_legacy_with(release(&runs)) }.unwrap_err();
    assert_eq!(error.rule(), Rule::LEGACY_READ_ONLY);
    assert_eq!(runs.get(), 1);
    // Legacy cannot record READ_ONLY, so the memory must be writable.
    let mut data = [1_u8, 2, 3, 4];
    let spec = WrapSpec::new(Buffer::address(&raw mut data), Dtype::U8, &[4]).buffer_size(4);
    let count = runs.clone();
    // SAFETY: memory that outlives the tensor, and that nothing else refers to.
    drop(unsafe { spec.wrap_legacy_with(move |_| count.add()) }.unwrap());
    assert_eq!(runs.get(), 2);
}

struct Panicking(Runs);

impl AsRef<[i16]> for Panicking {
    fn as_ref(&self) -> &[i16] {
        std::panic::resume_unwind(Box::new("no elements"));
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        self.0.add();
    }
}

#[test]
fn an_owner_that_panics_is_dropped() {
    let runs = Runs::default();
    let owner = Panicking(runs.clone());
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Tensor::from_owner::<i16, _>(owner, &[1]).map(drop).is_ok()
    }));
    assert!(caught.is_err());
    assert_eq!(runs.get(), 1);
}

#[cfg(feature = "ndarray")]
mod arrays {
    use dlbridge::{Rule, Tensor, UniqueTensor, ViewSpec};
    use ndarray::{arr2, s, Array1, Array2, ArrayD, IxDyn};

    #[test]
    fn an_array_goes_and_comes_without_copies() {
        let array = arr2(&[[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let start = array.as_ptr();
        let mut tensor = UniqueTensor::from_array(array.clone().reversed_axes()).unwrap();
        assert_eq!((tensor.shape(), tensor.strides()), (&[3, 2][..], Some(&[1, 3][..])));
        tensor.as_array_mut::<f32>().unwrap()[[2, 1]] = 60.0;
        assert_eq!(tensor.as_view().as_array::<f32>().unwrap()[[2, 1]], 60.0);
        let tensor = UniqueTensor::from_array(array).unwrap();
        assert_eq!(tensor.as_view().data().cast::<f32>().cast_const(), start);
    }

    #[test]
    fn strides_of_all_kinds() {
        let array = Array2::from_shape_fn((3, 4), |(i, j)| i * 10 + j);
        let mut array = array.mapv(|n| i64::try_from(n).unwrap());
        array.invert_axis(ndarray::Axis(0));
        let expected = array.clone().into_dyn();
        let tensor = UniqueTensor::from_array(array).unwrap();
        assert_eq!(tensor.strides(), Some(&[-4, 1][..]));
        assert_eq!(tensor.as_view().as_array::<i64>().unwrap(), expected);
        let mut tensor = tensor;
        assert_eq!(tensor.as_array_mut::<i64>().unwrap(), expected);
        let sliced = expected.clone().slice_move(s![1.., ..;2]);
        let tensor = UniqueTensor::from_array(sliced.clone()).unwrap();
        assert_eq!(tensor.as_view().as_array::<i64>().unwrap(), sliced.into_dyn());
        let line = UniqueTensor::from_vec(vec![7_u8], &[1]).unwrap().into_shared();
        let repeated = line.view(&ViewSpec::new(&[3]).strides(&[0])).unwrap();
        let expected = ArrayD::from_elem(IxDyn(&[3]), 7_u8);
        assert_eq!(repeated.as_view().as_array::<u8>().unwrap(), expected);
        let empty = UniqueTensor::from_array(Array2::<u8>::zeros((0, 5))).unwrap();
        assert_eq!(empty.as_view().as_array::<u8>().unwrap().shape(), [0, 5]);
    }

    #[test]
    fn huge_empty_shapes_are_rejected() {
        for shape in [[0, i64::MAX, i64::MAX], [i64::MAX, 0, 2], [i64::MAX, 2, 0]] {
            let mut tensor = UniqueTensor::from_vec(Vec::<u8>::new(), &shape).unwrap();
            let error = tensor.as_view().as_array::<u8>().unwrap_err();
            assert_eq!(error.rule(), Rule::OFFSET_OVERFLOW);
            let error = tensor.as_array_mut::<u8>().unwrap_err();
            assert_eq!(error.rule(), Rule::OFFSET_OVERFLOW);
        }
        let mut tensor = UniqueTensor::from_vec(Vec::<u64>::new(), &[0, i64::MAX]).unwrap();
        assert!(tensor.as_view().as_array::<u64>().unwrap().is_empty());
        assert!(tensor.as_array_mut::<u64>().unwrap().is_empty());
    }

    #[test]
    fn shared_arrays_are_read_only() {
        let array = Array1::from_vec(vec![1_i32, 2, 3]).into_shared();
        let tensor = Tensor::from_arc_array(array.clone()).unwrap();
        assert_eq!(tensor.as_slice::<i32>().unwrap().as_ptr(), array.as_ptr());
        let error = tensor.as_view().as_array::<f32>().unwrap_err();
        assert_eq!(error.rule(), Rule::DTYPE_REJECTED);
    }
}
