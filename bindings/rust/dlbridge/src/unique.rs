// SPDX-License-Identifier: Apache-2.0
//! Tensors that have no other owner, and new ones whose elements are not yet written.

use crate::allocator::AllocatorHook;
use crate::builder::{set_bits, set_fields};
use crate::device::Device;
use crate::dtype::Dtype;
use crate::element::Element;
use crate::error::{call, Error, Rejected};
use crate::tensor::Tensor;
use crate::text::{axes, pointer_of};
use crate::values::{Flags, Version};
use crate::view::{element_methods, view_methods, writable, TensorView};
use crate::{Contiguity, Rule, Status, StridedMut};
use dlbridge_sys as sys;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{null_mut, write_bytes};

/// Owns a validated tensor whose memory no other code reads or writes, so that it may be written to
/// if its flags allow it. New tensors, copies and tensors of Rust's own memory are of this type.
#[derive(Debug)]
pub struct UniqueTensor {
    tensor: Tensor,
}

impl UniqueTensor {
    pub(crate) const fn new(tensor: Tensor) -> Self {
        Self { tensor }
    }

    /// Converts it to a tensor that may be shared and viewed, and no longer written to.
    #[must_use]
    pub fn into_shared(self) -> Tensor {
        self.tensor
    }

    /// A view of it, which cannot outlive this owner.
    #[must_use]
    pub fn as_view(&self) -> TensorView<'_> {
        self.tensor.as_view()
    }

    view_methods!();
    element_methods!();

    /// Its elements, last axis fastest, for writing.
    ///
    /// # Errors
    ///
    /// As for [`TensorView::as_slice`]; a read-only tensor ([`Rule::NOT_WRITABLE`]).
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], Error> {
        let view = self.as_view();
        let start = view.elements::<T>(writable::<T>().contiguity(Contiguity::C))?;
        let count = view.count();
        // SAFETY: the policy has proved dtype, order, alignment and device; it has no other owner.
        Ok(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), count) })
    }

    /// Its elements by their strides, for writing.
    ///
    /// # Errors
    ///
    /// As for [`TensorView::as_strided`]; a read-only tensor ([`Rule::NOT_WRITABLE`]); one whose
    /// elements share memory ([`Rule::SELF_OVERLAP`]).
    pub fn as_mut_strided<T: Element>(&mut self) -> Result<StridedMut<'_, T>, Error> {
        let view = self.as_view();
        let start = view.elements::<T>(writable::<T>())?;
        // SAFETY: the policy has proved dtype, alignment, device and that none overlap; it has no
        // other owner.
        Ok(unsafe { StridedMut::new(start, view.shape(), view.strides()) })
    }
}

impl Tensor {
    /// Asserts that the memory has no other owner, so that it may be written to.
    ///
    /// # Safety
    ///
    /// No other code reads or writes the memory for as long as the result lives; and it may be
    /// written to: it is not constant data, not a read-only mapping, and not memory that its
    /// producer shares for reading only, even if the flags do not record that.
    #[must_use]
    pub const unsafe fn assume_unique(self) -> UniqueTensor {
        UniqueTensor::new(self)
    }
}

impl From<UniqueTensor> for Tensor {
    fn from(tensor: UniqueTensor) -> Self {
        tensor.into_shared()
    }
}

/// Owns a new tensor whose elements are not yet written.
#[derive(Debug)]
pub struct UninitTensor {
    tensor: Tensor,
}

impl UninitTensor {
    /// A view of its description. Its elements must not be read.
    fn as_view(&self) -> TensorView<'_> {
        self.tensor.as_view()
    }

    view_methods!();

    /// The struct, still owned by this value, for code that writes the elements.
    #[must_use]
    pub const fn as_ptr(&self) -> *mut sys::DLManagedTensorVersioned {
        self.tensor.as_ptr()
    }

    /// Its elements, for writing.
    ///
    /// # Errors
    ///
    /// As for [`TensorView::as_slice`].
    pub fn as_uninit_slice<T: Element>(&mut self) -> Result<&mut [MaybeUninit<T>], Error> {
        let view = self.as_view();
        let policy = writable::<T>().contiguity(Contiguity::C);
        let start = view.elements::<T>(policy)?.cast::<MaybeUninit<T>>();
        let count = view.count();
        // SAFETY: the policy has proved dtype, order, alignment and device; it has no other owner.
        Ok(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), count) })
    }

    /// Asserts that all elements are written.
    ///
    /// # Safety
    ///
    /// All elements are written, or the CPU cannot read them.
    #[must_use]
    pub unsafe fn assume_init(self) -> UniqueTensor {
        UniqueTensor::new(self.tensor)
    }

    /// Writes zeros.
    ///
    /// # Errors
    ///
    /// Memory that the CPU cannot write. The tensor is released.
    pub fn zeroed(self) -> Result<UniqueTensor, Error> {
        Ok(self.try_zeroed()?)
    }

    /// As [`UninitTensor::zeroed`], but on failure returns the tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`UninitTensor::zeroed`].
    pub fn try_zeroed(self) -> Result<UniqueTensor, Rejected<Self>> {
        let view = self.as_view();
        if !view.device().device_type.host_accessible() {
            let error = Error::new(
                Status::UNSUPPORTED,
                Rule::COPY_DEVICE,
                &format!("device: expected memory that the CPU can write, found {}", view.device()),
            );
            return Err(Rejected { error, value: self });
        }
        let bytes = match view.layout() {
            Ok(layout) => usize::try_from(layout.packed_bytes()).unwrap_or(0),
            Err(error) => return Err(Rejected { error, value: self }),
        };
        if bytes > 0 {
            // SAFETY: a new tensor is compact, of that many bytes, and has no other owner.
            unsafe { write_bytes(view.data().cast::<u8>(), 0, bytes) };
        }
        // SAFETY: just written.
        Ok(unsafe { self.assume_init() })
    }

    /// Writes `elements`, last axis fastest.
    ///
    /// # Errors
    ///
    /// As for [`TensorView::as_slice`]; another number of elements. The tensor is released.
    pub fn copied_from<T: Element>(self, elements: &[T]) -> Result<UniqueTensor, Error> {
        Ok(self.try_copied_from(elements)?)
    }

    /// As [`UninitTensor::copied_from`], but on failure returns the tensor in [`Rejected`].
    ///
    /// # Errors
    ///
    /// As for [`UninitTensor::copied_from`].
    pub fn try_copied_from<T: Element>(
        mut self,
        elements: &[T],
    ) -> Result<UniqueTensor, Rejected<Self>> {
        let error = match self.as_uninit_slice::<T>() {
            Ok(target) if target.len() == elements.len() => {
                for (slot, &element) in target.iter_mut().zip(elements) {
                    slot.write(element);
                }
                // SAFETY: just written.
                return Ok(unsafe { self.assume_init() });
            }
            Ok(target) => Error::new(
                Status::INVALID_ARGUMENT,
                Rule::NONE,
                &format!("elements: expected {}, found {}", target.len(), elements.len()),
            ),
            Err(error) => error,
        };
        Err(Rejected { error, value: self })
    }
}

/// A tensor to allocate.
#[derive(Clone, Copy, Debug)]
pub struct AllocateSpec<'a> {
    raw: sys::DLBridgeAllocateSpec,
    borrowed: PhantomData<(&'a [i64], &'a AllocatorHook)>,
}

// SAFETY: its pointers are shared borrows of Sync values; handles are integers.
unsafe impl Send for AllocateSpec<'_> {}
// SAFETY: as above.
unsafe impl Sync for AllocateSpec<'_> {}

impl<'a> AllocateSpec<'a> {
    /// On the host, 256-byte aligned.
    #[must_use]
    pub fn new(dtype: Dtype, shape: &'a [i64]) -> Self {
        let mut raw = sys::DLBridgeAllocateSpec::INIT;
        raw.dtype = dtype.raw();
        raw.ndim = axes(shape);
        raw.shape = pointer_of(shape);
        Self { raw, borrowed: PhantomData }
    }

    set_fields! {
        /// The device; a device other than the host needs an allocator.
        device(device: Device) = device.raw();

        /// Bytes, a power of two; 0: 256.
        alignment(bytes: u64) = bytes;

        /// DLPack flags of the result, such as [`Flags::PADDED`].
        tensor_flags(flags: Flags) = flags.0;

        /// Newest DLPack that the consumer reads.
        version(version: Version) = version.raw();

        /// The allocator of its memory.
        allocator(allocator: &'a AllocatorHook) = allocator.as_raw();
    }

    set_bits! { options:
        /// In memory that can be shared with other processes.
        shareable = DLBRIDGE_ALLOCATE_SHAREABLE;
    }

    /// Allocates it.
    ///
    /// # Errors
    ///
    /// Any rule on the shape, dtype or device; no memory; a device without an allocator.
    pub fn allocate(&self) -> Result<UninitTensor, Error> {
        let mut out = null_mut();
        // SAFETY: the lists of the spec are readable.
        call(|error| unsafe { sys::dlbridge_allocate(&raw const self.raw, &raw mut out, error) })?;
        // SAFETY: on success the result is not NULL and owned by the caller.
        Ok(UninitTensor { tensor: unsafe { Tensor::from_result(out) } })
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeAllocateSpec {
        &self.raw
    }

    /// The struct of the C ABI, for changes.
    ///
    /// # Safety
    ///
    /// Its pointers meet the header's requirements, live as long as `'a` and may be used on any
    /// thread.
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgeAllocateSpec {
        &mut self.raw
    }
}
