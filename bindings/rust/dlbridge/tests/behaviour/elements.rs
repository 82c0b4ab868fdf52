// SPDX-License-Identifier: Apache-2.0
//! Access to elements, and its rejections.

use crate::producer::{legacy, Runs};
use dlbridge::{
    sys, AllocateSpec, Bool, BorrowedTensor, Complex, Contiguity, CopySpec, Device, DeviceType,
    Dtype, Flags, Policy, Rule, Status, UniqueTensor, ViewSpec,
};
use std::ptr::NonNull;

fn matrix() -> UniqueTensor {
    UniqueTensor::from_vec(vec![0_i32, 1, 2, 3, 4, 5], &[2, 3]).unwrap()
}

#[test]
fn a_slice_requires_the_right_type_and_order() {
    let tensor = matrix().into_shared();
    assert_eq!(tensor.as_slice::<i32>().unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(tensor.as_slice::<u32>().unwrap_err().rule(), Rule::DTYPE_REJECTED);
    let turned = tensor.view(&ViewSpec::new(&[3, 2]).strides(&[1, 3])).unwrap();
    assert_eq!(turned.as_slice::<i32>().unwrap_err().rule(), Rule::CONTIGUITY);
    assert_eq!(turned.as_strided::<i32>().unwrap()[&[2, 1]], 5);
}

#[test]
fn strides_of_all_kinds() {
    let tensor = matrix().into_shared();
    let backwards = ViewSpec::new(&[2, 3]).strides(&[-3, -1]).offset(5);
    let backwards = tensor.view(&backwards).unwrap();
    let elements = |tensor: &dlbridge::Tensor| {
        tensor.as_strided::<i32>().unwrap().iter().copied().collect::<Vec<_>>()
    };
    assert_eq!(elements(&backwards), [5, 4, 3, 2, 1, 0]);
    let repeated = tensor.view(&ViewSpec::new(&[2, 2]).strides(&[0, 1])).unwrap();
    assert_eq!(elements(&repeated), [0, 1, 0, 1]);
    let scalar = tensor.view(&ViewSpec::new(&[]).offset(4)).unwrap();
    assert_eq!(elements(&scalar), [4]);
    let strided = scalar.as_strided::<i32>().unwrap();
    assert_eq!((strided.get(&[]), strided.get(&[0])), (Some(&4), None));
    let empty = tensor.view(&ViewSpec::new(&[0, i64::MAX]).strides(&[1, i64::MAX])).unwrap();
    let strided = empty.as_strided::<i32>().unwrap();
    assert!(strided.is_empty() && strided.get(&[0, 9]).is_none());
    assert!(empty.as_slice::<i32>().unwrap().is_empty());
    // Found by the fuzz target: the product of an empty tensor's extents may be anything.
    let huge = [i64::MAX, i64::MAX, 0];
    let empty = tensor.view(&ViewSpec::new(&huge).strides(&[0, 0, 0])).unwrap();
    let strided = empty.as_strided::<i32>().unwrap();
    assert_eq!((strided.len(), strided.iter().count()), (0, 0));
    assert!(empty.as_slice::<i32>().unwrap().is_empty());
    #[cfg(feature = "ndarray")]
    assert_eq!(empty.as_view().as_array::<i32>().unwrap_err().rule(), Rule::OFFSET_OVERFLOW);
}

#[test]
fn unknown_flags_may_change_the_layout() {
    let runs = Runs::default();
    let tensor = crate::producer::versioned(&runs, |raw| raw.flags = 1 << 40);
    let tensor = tensor.into_validated(&Policy::DEFAULT).unwrap();
    assert_eq!(tensor.as_slice::<f32>().unwrap_err().rule(), Rule::FLAGS_UNKNOWN);
    assert_eq!(tensor.as_strided::<f32>().unwrap_err().rule(), Rule::FLAGS_UNKNOWN);
    #[cfg(feature = "ndarray")]
    assert_eq!(tensor.as_view().as_array::<f32>().unwrap_err().rule(), Rule::FLAGS_UNKNOWN);
    // SAFETY: no other code uses the memory, which may be written to.
    let mut tensor = unsafe { tensor.assume_unique() };
    assert_eq!(tensor.as_mut_slice::<f32>().unwrap_err().rule(), Rule::FLAGS_UNKNOWN);
    assert_eq!(tensor.as_mut_strided::<f32>().unwrap_err().rule(), Rule::FLAGS_UNKNOWN);
}

#[test]
fn as_many_axes_as_the_library_accepts() {
    let runs = Runs::default();
    let mut shape = vec![1_i64; 100];
    let mut strides = shape.clone();
    let tensor = crate::producer::versioned(&runs, |raw| {
        raw.dl_tensor.ndim = 100;
        raw.dl_tensor.shape = shape.as_mut_ptr();
        raw.dl_tensor.strides = strides.as_mut_ptr();
    });
    let error = tensor.validate(&Policy::DEFAULT).unwrap_err();
    assert_eq!(error.rule(), Rule::NDIM_LIMIT);
    let error = tensor.validate(&Policy::new().max_ndim(100)).unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
    drop(tensor);
    let tensor = crate::producer::versioned(&runs, |raw| {
        raw.dl_tensor.ndim = 64;
        raw.dl_tensor.shape = shape.as_mut_ptr();
        raw.dl_tensor.strides = strides.as_mut_ptr();
    });
    let tensor = tensor.into_validated(&Policy::DEFAULT).unwrap();
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [0.0]);
    assert_eq!(tensor.as_strided::<f32>().unwrap()[&[0; 64]], 0.0);
}

#[test]
fn a_policy_limits_ndim_and_shape() {
    let tensor = matrix().into_shared();
    let rule = |policy: &Policy<'_>| match tensor.validate(policy) {
        Ok(_) => (Rule::NONE, None),
        Err(error) => (error.rule(), error.axis()),
    };
    let limit = (Rule::NDIM_LIMIT, None);
    assert_eq!(rule(&Policy::new().min_ndim(2).max_ndim(2)), (Rule::NONE, None));
    assert_eq!(rule(&Policy::new().min_ndim(1)), (Rule::NONE, None));
    assert_eq!(rule(&Policy::new().min_ndim(3)), limit);
    assert_eq!(rule(&Policy::new().max_ndim(1)), limit);
    // Zero axes are a valid limit.
    assert_eq!(rule(&Policy::new().max_ndim(0)), limit);
    assert_eq!(rule(&Policy::new().shape(&[])), limit);
    assert_eq!(rule(&Policy::new().shape(&[2, 3])), (Rule::NONE, None));
    assert_eq!(rule(&Policy::new().shape(&[-1, 3])), (Rule::NONE, None));
    assert_eq!(rule(&Policy::new().shape(&[-1, 4])), (Rule::SHAPE_MISMATCH, Some(1)));
    // An extent of 0 is compared like any other.
    assert_eq!(rule(&Policy::new().shape(&[0, 3])), (Rule::SHAPE_MISMATCH, Some(0)));
    assert_eq!(rule(&Policy::new().shape(&[6])), limit);
    let error = tensor.validate(&Policy::new().devices(&[])).unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
}

#[test]
fn a_view_may_have_another_dtype() {
    let tensor = UniqueTensor::try_from(vec![1.0_f32, -2.0]).unwrap().into_shared();
    let bits = tensor.view(&ViewSpec::new(&[2]).dtype(Dtype::U32)).unwrap();
    assert_eq!(bits.as_slice::<u32>().unwrap(), [1.0_f32.to_bits(), (-2.0_f32).to_bits()]);
    let error = tensor.view(&ViewSpec::new(&[2]).dtype(Dtype::U8)).unwrap_err();
    assert_ne!(error.status(), Status::OK);
    assert!(tensor.as_slice::<f32>().is_ok());
}

/// Two elements of four bits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Nibbles(u8);

// SAFETY: a byte, as two lanes of four bits are.
unsafe impl dlbridge::Element for Nibbles {
    const DTYPE: Dtype = Dtype::new(dlbridge::sys::kDLUInt, 4, 2);
}

#[test]
fn lanes_of_less_than_a_byte_fill_an_element() {
    let packed = UniqueTensor::try_from(vec![Nibbles(0x21), Nibbles(0x43)]).unwrap();
    assert_eq!(packed.as_slice::<Nibbles>().unwrap(), [Nibbles(0x21), Nibbles(0x43)]);
    assert_eq!(packed.as_slice::<u8>().unwrap_err().rule(), Rule::DTYPE_REJECTED);
    // The padded flag does not change the layout of elements of whole bytes.
    let shape = [2];
    let spec = AllocateSpec::new(packed.dtype(), &shape).tensor_flags(Flags::PADDED);
    let padded = spec.allocate().unwrap().zeroed().unwrap();
    assert_eq!(padded.as_view().layout().unwrap().item_bits(), 8);
    assert_eq!(padded.as_slice::<Nibbles>().unwrap(), [Nibbles(0); 2]);
}

#[test]
fn an_index_outside_is_none() {
    let tensor = matrix();
    let strided = tensor.as_strided::<i32>().unwrap();
    assert_eq!(strided.get(&[1, 2]), Some(&5));
    assert_eq!(strided.get(&[2, 0]), None);
    assert_eq!(strided.get(&[0, usize::MAX]), None);
    assert_eq!(strided.get(&[0]), None);
    assert_eq!((strided.len(), strided.shape()), (6, &[2, 3][..]));
}

#[test]
fn a_unique_tensor_may_be_written_to() {
    let mut tensor = matrix();
    tensor.as_mut_slice::<i32>().unwrap()[4] = 40;
    let mut strided = tensor.as_mut_strided::<i32>().unwrap();
    strided[&[0, 0]] += 7;
    *strided.get_mut(&[1, 2]).unwrap() = 50;
    assert_eq!(strided.as_strided().get(&[1, 1]), Some(&40));
    assert_eq!(tensor.as_slice::<i32>().unwrap(), [7, 1, 2, 3, 40, 50]);
    tensor.as_mut_strided::<i32>().unwrap().fill_with(|index| i32::try_from(index[1]).unwrap());
    assert_eq!(tensor.as_slice::<i32>().unwrap(), [0, 1, 2, 0, 1, 2]);
    let mut empty = UniqueTensor::from_vec(vec![0_i32], &[i64::MAX, i64::MAX, 0]).unwrap();
    empty.as_mut_strided::<i32>().unwrap().fill_with(|_| panic!("there is no element"));
    assert!(empty.as_mut_slice::<i32>().unwrap().is_empty());
}

#[test]
fn read_only_is_never_written_to() {
    let copy = CopySpec::new().tensor_flags(Flags::READ_ONLY);
    let mut tensor = matrix().as_view().copy(&copy).unwrap();
    assert!(tensor.flags().contains(Flags::READ_ONLY | Flags::IS_COPIED));
    assert_eq!(tensor.as_mut_slice::<i32>().unwrap_err().rule(), Rule::NOT_WRITABLE);
    assert_eq!(tensor.as_mut_strided::<i32>().unwrap_err().rule(), Rule::NOT_WRITABLE);
    assert_eq!(tensor.as_slice::<i32>().unwrap()[5], 5);
}

#[test]
fn overlapping_elements_are_never_written_to() {
    let view = ViewSpec::new(&[2, 2]).strides(&[0, 1]);
    let repeated = matrix().into_shared().view(&view).unwrap();
    // SAFETY: the view is the only owner left.
    let mut repeated = unsafe { repeated.assume_unique() };
    assert_eq!(repeated.as_mut_strided::<i32>().unwrap_err().rule(), Rule::SELF_OVERLAP);
}

#[test]
fn device_memory_is_rejected() {
    let runs = Runs::default();
    let tensor = crate::producer::versioned(&runs, |raw| raw.dl_tensor.device.device_type = 2);
    let tensor = tensor.into_validated(&Policy::DEFAULT).unwrap();
    assert_eq!(tensor.device(), Device::new(DeviceType::CUDA, 0));
    assert_eq!(tensor.as_slice::<f32>().unwrap_err().rule(), Rule::DEVICE_REJECTED);
    assert_eq!(tensor.device().to_string(), "cuda:0");
}

#[test]
fn unaligned_elements_are_rejected() {
    let bytes = UniqueTensor::from_vec(vec![0_u8; 64], &[64]).unwrap();
    let start = bytes.as_view().data().cast::<u8>();
    let odd = start.wrapping_add(usize::from(start.addr() % 2 == 0));
    let spec = dlbridge::WrapSpec::new(dlbridge::Buffer::address(odd), Dtype::F32, &[4]);
    // SAFETY: inside the bytes, which live longer.
    let tensor = unsafe { spec.wrap() }.unwrap();
    assert_eq!(tensor.as_slice::<f32>().unwrap_err().rule(), Rule::ALIGNMENT);
    assert_eq!(tensor.as_strided::<f32>().unwrap_err().rule(), Rule::ALIGNMENT);
}

#[test]
fn a_borrowed_tensor_is_described() {
    let runs = Runs::default();
    let tensor = legacy(&runs);
    let policy = Policy::new().contiguity(Contiguity::C).dtypes(&[Dtype::F32]);
    let view = tensor.validate(&policy).unwrap();
    assert_eq!((view.shape(), view.strides(), view.ndim()), (&[2, 3][..], None, 2));
    assert_eq!(view.as_slice::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(view.as_strided::<f32>().unwrap()[&[1, 0]], 3.0);
    assert!(tensor.validate(&Policy::new().require_writable()).is_err());
    let layout = view.layout().unwrap();
    assert!(layout.is_c_contiguous() && !layout.is_empty());
    assert_eq!((layout.element_count(), layout.extent()), (6, 0..24));
}

#[test]
fn new_tensors_are_written_before_they_are_read() {
    let shape = [2, 2];
    let spec = AllocateSpec::new(Dtype::F64, &shape);
    let zeros = spec.allocate().unwrap().zeroed().unwrap();
    assert_eq!(zeros.as_slice::<f64>().unwrap(), [0.0; 4]);
    let filled = spec.allocate().unwrap().copied_from(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    assert_eq!(filled.as_slice::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let rejected = spec.allocate().unwrap().try_copied_from(&[1.0]).unwrap_err();
    assert_eq!(rejected.error.status(), Status::INVALID_ARGUMENT);
    assert_eq!(rejected.error.message(), "elements: expected 4, found 1");
    let error = rejected.value.copied_from(&[1_i64; 4]).unwrap_err();
    assert_eq!(error.rule(), Rule::DTYPE_REJECTED);
    let empty = AllocateSpec::new(Dtype::I8, &[0, 3]).allocate().unwrap().zeroed().unwrap();
    assert!(empty.as_slice::<i8>().unwrap().is_empty());
}

#[test]
fn a_copy_is_compact() {
    let tensor = matrix().into_shared();
    let column = tensor.view(&ViewSpec::new(&[2]).strides(&[3]).offset(2)).unwrap();
    let copy = column.as_view().copy(&CopySpec::new()).unwrap();
    assert_eq!(copy.as_slice::<i32>().unwrap(), [2, 5]);
    assert!(copy.flags().contains(Flags::IS_COPIED));
}

#[test]
fn other_types_of_elements() {
    let flags = UniqueTensor::try_from(vec![Bool::from(true), Bool(7), Bool::from(false)]).unwrap();
    let read: Vec<bool> = flags.as_slice::<Bool>().unwrap().iter().map(|b| b.get()).collect();
    assert_eq!((flags.dtype(), read), (Dtype::BOOL, vec![true, true, false]));
    let number = Complex { re: 1.0_f32, im: -1.0 };
    let numbers = UniqueTensor::try_from(vec![number]).unwrap();
    assert_eq!(numbers.dtype().to_string(), "complex64");
    assert_eq!(numbers.as_slice::<Complex<f32>>().unwrap(), [number]);
}

#[cfg(feature = "half")]
#[test]
fn half_precision_elements() {
    let values = vec![half::bf16::from_f32(1.5); 2];
    let tensor = UniqueTensor::try_from(values.clone()).unwrap();
    assert_eq!(tensor.dtype().to_string(), "bfloat16");
    assert_eq!(tensor.as_slice::<half::bf16>().unwrap(), values);
    let tensor = UniqueTensor::try_from(vec![half::f16::from_f32(0.5)]).unwrap();
    assert_eq!(tensor.dtype(), Dtype::F16);
}

#[test]
fn names_are_read_back() {
    for name in ["float32", "bfloat16x4", "bool", "float8_e4m3fn"] {
        assert_eq!(name.parse::<Dtype>().unwrap().to_string(), name);
    }
    assert_eq!("cuda".parse::<Device>().unwrap(), Device::new(DeviceType::CUDA, 0));
    assert_eq!("".parse::<Dtype>().unwrap_err().status(), Status::PARSE);
    assert_eq!("nonsense".parse::<Device>().unwrap_err().status(), Status::PARSE);
}

/// No device type lets safe code see elements that are not aligned for their type.
#[test]
fn no_device_gives_a_slice_that_is_not_aligned() {
    let mut bytes = [0_u64; 8];
    for device_type in 0..40 {
        let (mut shape, mut strides) = ([2_i64], [1_i64]);
        let mut raw = sys::DLTensor {
            data: bytes.as_mut_ptr().cast::<u8>().wrapping_add(3).cast(),
            device: sys::DLDevice { device_type, device_id: 0 },
            ndim: 1,
            dtype: sys::DLDataType { code: 2, bits: 32, lanes: 1 },
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        };
        // SAFETY: the struct, its arrays and its data are live.
        let tensor = unsafe { BorrowedTensor::from_raw(NonNull::from(&mut raw), Flags::NONE) };
        if let Ok(view) = tensor.validate(&Policy::new()) {
            assert!(view.as_slice::<f32>().is_err(), "device type {device_type}");
            assert!(view.as_strided::<f32>().is_err(), "device type {device_type}");
        }
    }
}

#[test]
fn strides_of_another_number_than_extents_are_named() {
    let tensor = UniqueTensor::from_vec(vec![0_f32; 6], &[2, 3]).unwrap().into_shared();
    let error = tensor.view(&ViewSpec::new(&[2, 3]).strides(&[1])).unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
    assert!(error.message().starts_with("strides: expected one for each extent"), "{error}");
}
