// SPDX-License-Identifier: Apache-2.0
//! A borrowed view of a validated tensor.

use crate::borrowed::BorrowedTensor;
use crate::device::{Device, DeviceType};
use crate::dtype::Dtype;
use crate::element::{fills_its_dtype, Element};
use crate::error::{call, Error};
use crate::layout::Layout;
use crate::policy::{Contiguity, Policy};
use crate::strided::Strided;
use crate::values::{Flags, Version};
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::ptr::{addr_of, addr_of_mut, NonNull};

/// Devices whose memory the CPU can read, and whose `data` is an address, so that the policy checks
/// its alignment.
const HOST: [Device; 4] = [
    Device::new(DeviceType::CPU, -1),
    Device::new(DeviceType::CUDA_HOST, -1),
    Device::new(DeviceType::ROCM_HOST, -1),
    Device::new(DeviceType::CUDA_MANAGED, -1),
];

/// A borrowed view of a tensor that was validated. It cannot outlive the tensor, and nothing can
/// be written through it.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    borrowed: BorrowedTensor<'a>,
}

impl<'a> BorrowedTensor<'a> {
    /// Validates it by `policy`; the result may be read.
    ///
    /// # Errors
    ///
    /// The first rule that is broken.
    pub fn validate(&self, policy: &Policy<'_>) -> Result<TensorView<'a>, Error> {
        // SAFETY: the struct is readable.
        call(|error| unsafe {
            sys::dlbridge_validate(self.as_ptr(), self.flags().0, policy.as_raw(), error)
        })?;
        Ok(TensorView { borrowed: *self })
    }
}

impl<'a> TensorView<'a> {
    /// # Safety
    ///
    /// The tensor was validated, and for as long as `'a` it is what
    /// [Foreign tensors](crate#foreign-tensors) lists.
    pub(crate) const unsafe fn new(tensor: NonNull<sys::DLTensor>, flags: Flags) -> Self {
        // SAFETY: guaranteed by the caller.
        Self { borrowed: unsafe { BorrowedTensor::from_raw(tensor, flags) } }
    }

    const fn raw(&self) -> &'a sys::DLTensor {
        // SAFETY: the struct is readable for that long, and is not written to.
        unsafe { &*self.borrowed.as_ptr() }
    }

    /// Returns the tensor as one that is not validated, for a check against another policy.
    #[must_use]
    pub const fn as_borrowed(&self) -> BorrowedTensor<'a> {
        self.borrowed
    }

    /// The struct.
    #[must_use]
    pub const fn as_ptr(&self) -> *const sys::DLTensor {
        self.borrowed.as_ptr()
    }

    /// The address or handle that it carries; element (0,...,0) is [`TensorView::byte_offset`]
    /// bytes after an address.
    #[must_use]
    pub const fn data(&self) -> *mut c_void {
        self.raw().data
    }

    /// Bytes from the address to element (0,...,0).
    #[must_use]
    pub const fn byte_offset(&self) -> u64 {
        self.raw().byte_offset
    }

    /// Number of axes.
    #[must_use]
    pub fn ndim(&self) -> usize {
        usize::try_from(self.raw().ndim).unwrap_or(0)
    }

    /// The extents.
    #[must_use]
    pub fn shape(&self) -> &'a [i64] {
        if self.raw().shape.is_null() {
            return &[];
        }
        // SAFETY: a validated tensor has `ndim` extents; nothing writes to them.
        unsafe { std::slice::from_raw_parts(self.raw().shape, self.ndim()) }
    }

    /// The strides in elements; `None` if the producer gave none: compact, last axis fastest.
    #[must_use]
    pub fn strides(&self) -> Option<&'a [i64]> {
        let strides = NonNull::new(self.raw().strides)?;
        // SAFETY: as above.
        Some(unsafe { std::slice::from_raw_parts(strides.as_ptr(), self.ndim()) })
    }

    /// The dtype of its elements.
    #[must_use]
    pub const fn dtype(&self) -> Dtype {
        self.borrowed.dtype()
    }

    /// The device of its memory.
    #[must_use]
    pub const fn device(&self) -> Device {
        self.borrowed.device()
    }

    /// DLPack's flags.
    #[must_use]
    pub const fn flags(&self) -> Flags {
        self.borrowed.flags()
    }

    /// Its layout in memory.
    ///
    /// # Errors
    ///
    /// A tensor whose shape was not validated ([`Level::Struct`](crate::Level::Struct)) and is
    /// broken.
    pub fn layout(&self) -> Result<Layout, Error> {
        self.borrowed.layout()
    }

    /// The oldest DLPack that can describe it.
    ///
    /// # Errors
    ///
    /// [`Status::UNKNOWN_CODE`](crate::Status::UNKNOWN_CODE) if no release can.
    pub fn required_version(&self) -> Result<Version, Error> {
        self.borrowed.required_version()
    }

    /// Validates it by another policy.
    ///
    /// # Errors
    ///
    /// The first rule that is broken.
    pub fn validate(&self, policy: &Policy<'_>) -> Result<Self, Error> {
        self.borrowed.validate(policy)
    }

    /// Its elements, last axis fastest.
    ///
    /// # Errors
    ///
    /// Elements of another type, not in this order, not aligned for `T`, or in memory that the CPU
    /// cannot read; a flag that no DLPack release knows, as it may change the layout.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T], Error> {
        let start = self.elements::<T>(readable::<T>().contiguity(Contiguity::C))?;
        // SAFETY: the policy has proved dtype, order, alignment and device; `elements` the rest.
        Ok(unsafe { std::slice::from_raw_parts(start.as_ptr(), self.count()) })
    }

    /// Its elements by their strides.
    ///
    /// # Errors
    ///
    /// Elements of another type, not aligned for `T`, or in memory that the CPU cannot read; a flag
    /// that no DLPack release knows.
    pub fn as_strided<T: Element>(&self) -> Result<Strided<'a, T>, Error> {
        let start = self.elements::<T>(readable::<T>())?;
        // SAFETY: the policy has proved dtype, alignment and device.
        Ok(unsafe { Strided::new(start, self.shape(), self.strides()) })
    }

    /// The address of element (0,...,0) if `policy` is met; dangling if there are no elements.
    pub(crate) fn elements<T: Element>(&self, policy: Policy<'_>) -> Result<NonNull<T>, Error> {
        const { assert!(fills_its_dtype::<T>()) };
        let dtypes = [T::DTYPE];
        self.validate(&policy.dtypes(&dtypes).devices(&HOST))?;
        let offset = usize::try_from(self.byte_offset()).unwrap_or(usize::MAX);
        let start = self.data().cast::<u8>().wrapping_add(offset).cast::<T>();
        if self.shape().contains(&0) {
            return Ok(NonNull::dangling());
        }
        Ok(NonNull::new(start).unwrap_or(NonNull::dangling()))
    }

    /// Number of elements. Validation limits it to 63 bits, except for the extents of an empty
    /// tensor.
    pub(crate) fn count(&self) -> usize {
        if self.shape().contains(&0) {
            return 0;
        }
        self.shape().iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).product()
    }
}

/// The requirements for reading elements as `T`. A flag that no release knows may change the
/// layout.
fn readable<T: Element>() -> Policy<'static> {
    Policy::new().allow_null_strides().reject_unknown_flags().alignment(align_of::<T>() as u64)
}

/// The requirements for writing elements as `T`: also no `READ_ONLY` flag, and no shared memory.
pub(crate) fn writable<T: Element>() -> Policy<'static> {
    readable::<T>().require_writable().vouch_writable()
}

/// A view of a versioned tensor.
///
/// # Safety
///
/// It was validated, and lives as long as `'a`.
pub(crate) unsafe fn view_of<'a>(raw: NonNull<sys::DLManagedTensorVersioned>) -> TensorView<'a> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let flags = Flags(addr_of!((*raw.as_ptr()).flags).read());
        let tensor = NonNull::new_unchecked(addr_of_mut!((*raw.as_ptr()).dl_tensor));
        TensorView::new(tensor, flags)
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrowed.fmt(f)
    }
}

/// Methods of every owner of a validated tensor, by its `as_view`.
macro_rules! view_methods {
    () => {
        /// The extents.
        #[must_use]
        pub fn shape(&self) -> &[i64] {
            self.as_view().shape()
        }

        /// The strides in elements; `None`: compact, last axis fastest.
        #[must_use]
        pub fn strides(&self) -> Option<&[i64]> {
            self.as_view().strides()
        }

        /// The dtype of its elements.
        #[must_use]
        pub fn dtype(&self) -> $crate::Dtype {
            self.as_view().dtype()
        }

        /// The device of its memory.
        #[must_use]
        pub fn device(&self) -> $crate::Device {
            self.as_view().device()
        }

        /// DLPack's flags.
        #[must_use]
        pub fn flags(&self) -> $crate::Flags {
            self.as_view().flags()
        }
    };
}

/// Methods that read the elements, for the same owners as `view_methods`.
macro_rules! element_methods {
    () => {
        /// Its elements, last axis fastest.
        ///
        /// # Errors
        ///
        /// See [`TensorView::as_slice`](crate::TensorView::as_slice).
        pub fn as_slice<T: $crate::Element>(&self) -> Result<&[T], $crate::Error> {
            self.as_view().as_slice()
        }

        /// Its elements by their strides.
        ///
        /// # Errors
        ///
        /// See [`TensorView::as_strided`](crate::TensorView::as_strided).
        pub fn as_strided<T: $crate::Element>(
            &self,
        ) -> Result<$crate::Strided<'_, T>, $crate::Error> {
            self.as_view().as_strided()
        }
    };
}
pub(crate) use {element_methods, view_methods};
