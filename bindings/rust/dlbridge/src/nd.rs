// SPDX-License-Identifier: Apache-2.0
//! Arrays of the crate `ndarray`, without copies.

use crate::element::Element;
use crate::error::{Error, Rejected, Rule, Status};
use crate::lend::spec_of;
use crate::tensor::Tensor;
use crate::text::pointer_of;
use crate::unique::UniqueTensor;
use crate::values::Flags;
use crate::view::TensorView;
use crate::wrap::wrap;
use dlbridge_sys as sys;
use ndarray::{
    ArcArray, Array, ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Axis, Dimension, IxDyn,
    ShapeBuilder,
};
use std::ffi::c_void;

/// Extents or strides in DLPack's type.
fn list<T: Copy>(values: &[T]) -> Result<Vec<i64>, Error>
where
    i64: TryFrom<T>,
{
    let number = |&value| i64::try_from(value).map_err(|_| too_large());
    values.iter().map(number).collect()
}

/// An array's elements from element (0,...,0) on. ndarray guarantees that they lie in the array's
/// memory, so no buffer size is checked.
fn spec_of_array<T: Element>(
    start: usize,
    shape: &[i64],
    strides: &[i64],
    flags: Flags,
) -> sys::DLBridgeWrapSpec {
    let mut spec = spec_of(&[] as &[T], shape, flags);
    spec.options = 0;
    spec.buffer_size = 0;
    spec.buffer.handle = start as u64;
    spec.strides = pointer_of(strides);
    spec
}

fn too_large() -> Error {
    Error::new(Status::UNSUPPORTED, Rule::OFFSET_OVERFLOW, "array: expected extents and strides whose product fits isize, found larger ones; use as_strided")
}

impl UniqueTensor {
    /// A tensor of the array's elements, in its shape and strides; the elements are not copied.
    ///
    /// # Errors
    ///
    /// Any rule of the default policy. The array is dropped.
    pub fn from_array<T: Element, D: Dimension + 'static>(
        array: Array<T, D>,
    ) -> Result<Self, Error> {
        Ok(Self::try_from_array(array)?)
    }

    /// As [`UniqueTensor::from_array`], but returns a rejected array in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`UniqueTensor::from_array`].
    pub fn try_from_array<T: Element, D: Dimension + 'static>(
        mut array: Array<T, D>,
    ) -> Result<Self, Rejected<Array<T, D>>> {
        let (shape, strides) = match (list(array.shape()), list(array.strides())) {
            (Ok(shape), Ok(strides)) => (shape, strides),
            (Err(error), _) | (_, Err(error)) => return Err(Rejected { error, value: array }),
        };
        let start = array.as_mut_ptr().expose_provenance();
        let mut spec = spec_of_array::<T>(start, &shape, &strides, Flags::NONE);
        let array = Box::into_raw(Box::new(array));
        spec.release = Some(release_array::<Array<T, D>>);
        spec.release_context = array.cast();
        // SAFETY: the memory lives as long as the array, which the tensor owns.
        unsafe { wrap(&spec) }.map(Self::new).map_err(|error| {
            // SAFETY: a call that fails has not taken it.
            let array = unsafe { Box::from_raw(array) };
            Rejected { error, value: *array }
        })
    }

    /// Its elements as an array, for writing.
    ///
    /// # Errors
    ///
    /// As for [`UniqueTensor::as_mut_strided`].
    pub fn as_array_mut<T: Element>(&mut self) -> Result<ArrayViewMutD<'_, T>, Error> {
        let start = self.as_view().elements::<T>(crate::view::writable::<T>())?;
        let plan = Plan::of(&self.as_view())?;
        // SAFETY: the policy has proved dtype, alignment, device and that no elements overlap;
        // it has no other owner. The plan starts at the lowest address.
        let mut array = unsafe {
            let start = start.as_ptr().offset(plan.lowest);
            ArrayViewMut::from_shape_ptr(IxDyn(&plan.shape).strides(IxDyn(&plan.strides)), start)
        };
        for axis in plan.inverted {
            array.invert_axis(Axis(axis));
        }
        Ok(array)
    }
}

impl Tensor {
    /// A read-only tensor of a shared array, in its shape and strides.
    ///
    /// # Errors
    ///
    /// Any rule of the default policy. The array is dropped.
    pub fn from_arc_array<T: Element, D: Dimension + 'static>(
        array: ArcArray<T, D>,
    ) -> Result<Self, Error> {
        Ok(Self::try_from_arc_array(array)?)
    }

    /// As [`Tensor::from_arc_array`], but returns a rejected array in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`Tensor::from_arc_array`].
    pub fn try_from_arc_array<T: Element, D: Dimension + 'static>(
        array: ArcArray<T, D>,
    ) -> Result<Self, Rejected<ArcArray<T, D>>> {
        let (shape, strides) = match (list(array.shape()), list(array.strides())) {
            (Ok(shape), Ok(strides)) => (shape, strides),
            (Err(error), _) | (_, Err(error)) => return Err(Rejected { error, value: array }),
        };
        let start = array.as_ptr().expose_provenance();
        let mut spec = spec_of_array::<T>(start, &shape, &strides, Flags::READ_ONLY);
        let array = Box::into_raw(Box::new(array));
        spec.release = Some(release_array::<ArcArray<T, D>>);
        spec.release_context = array.cast();
        // SAFETY: the memory lives as long as the array's reference, which the tensor owns.
        unsafe { wrap(&spec) }.map_err(|error| {
            // SAFETY: a call that fails has not taken it.
            let array = unsafe { Box::from_raw(array) };
            Rejected { error, value: *array }
        })
    }
}

/// Drops the boxed array. Its elements need no drop, so nothing panics.
unsafe extern "C" fn release_array<A>(
    context: *mut c_void,
    _buffer: *const sys::DLBridgeBuffer,
    _stream: *const sys::DLBridgeStream,
) {
    // SAFETY: a Box that the tensor owns.
    drop(unsafe { Box::from_raw(context.cast::<A>()) });
}

impl<'a> TensorView<'a> {
    /// Its elements as an array.
    ///
    /// # Errors
    ///
    /// As for [`TensorView::as_strided`].
    pub fn as_array<T: Element>(&self) -> Result<ArrayViewD<'a, T>, Error> {
        let start = self.as_strided::<T>()?.start();
        let plan = Plan::of(self)?;
        // SAFETY: the elements are readable as T for that long. The plan starts at the lowest
        // address.
        let mut array = unsafe {
            let start = start.as_ptr().offset(plan.lowest);
            ArrayView::from_shape_ptr(IxDyn(&plan.shape).strides(IxDyn(&plan.strides)), start)
        };
        for axis in plan.inverted {
            array.invert_axis(Axis(axis));
        }
        Ok(array)
    }
}

/// Shape and strides in the form that ndarray accepts for a pointer: no negative stride, from the
/// lowest address on, and the axes to invert afterwards.
struct Plan {
    shape: Vec<usize>,
    strides: Vec<usize>,
    lowest: isize,
    inverted: Vec<usize>,
}

impl Plan {
    fn of(view: &TensorView<'_>) -> Result<Self, Error> {
        let extents = view.shape();
        let empty = extents.contains(&0);
        let mut plan = Self {
            shape: Vec::with_capacity(extents.len()),
            strides: vec![0; extents.len()],
            lowest: 0,
            inverted: Vec::new(),
        };
        // ndarray limits the product of the extents that are not 0 to the range of isize.
        let mut product = 1_isize;
        for &extent in extents {
            let extent = isize::try_from(extent).map_err(|_| too_large())?;
            product = product.checked_mul(extent.max(1)).ok_or_else(too_large)?;
            plan.shape.push(usize::try_from(extent).map_err(|_| too_large())?);
        }
        let mut compact = 1;
        for axis in (0..extents.len()).rev() {
            let extent = extents[axis];
            // Strides of empty tensors and of axes of extent 1 reach no element and may have any
            // value.
            let counts = extent > 1 && !empty;
            let stride = view.strides().map_or(compact, |strides| strides[axis]);
            let stride =
                if counts { isize::try_from(stride).map_err(|_| too_large())? } else { 0 };
            if stride < 0 {
                let steps = isize::try_from(extent - 1).map_err(|_| too_large())?;
                plan.lowest += stride * steps;
                plan.inverted.push(axis);
            }
            plan.strides[axis] = stride.unsigned_abs();
            if !empty {
                compact *= extent;
            }
        }
        Ok(plan)
    }
}
