// SPDX-License-Identifier: Apache-2.0
//! Tensors of the crate `candle-core`, on the CPU.

use crate::copy::CopySpec;
use crate::device::Device;
use crate::dtype::Dtype;
use crate::element::Element;
use crate::error::{Error, Rule, Status};
use crate::tensor::Tensor;
use crate::unique::UniqueTensor;
use crate::values::Flags;
use crate::view::TensorView;
use crate::wrap::{Buffer, WrapSpec};
use candle_core::{CpuStorage, Device as CandleDevice, Storage, Tensor as Candle, WithDType};
use std::ffi::c_void;

/// Runs `$use` with `$type` as the Rust type of a dtype, for each dtype that both crates know.
macro_rules! by_type {
    ($dtype:expr, $use:ident, $otherwise:expr) => {
        match $dtype {
            Dtype::U8 => $use!(u8),
            Dtype::U32 => $use!(u32),
            Dtype::I16 => $use!(i16),
            Dtype::I32 => $use!(i32),
            Dtype::I64 => $use!(i64),
            Dtype::BF16 => $use!(half::bf16),
            Dtype::F16 => $use!(half::f16),
            Dtype::F32 => $use!(f32),
            Dtype::F64 => $use!(f64),
            _ => $otherwise,
        }
    };
}

const KNOWN: &str = "uint8, uint32, int16, int32, int64, bfloat16, float16, float32 or float64";

fn unknown(found: &str) -> Error {
    let text = format!("dtype: expected {KNOWN}, found {found}; convert it before the call");
    Error::new(Status::UNSUPPORTED, Rule::DTYPE_REJECTED, &text)
}

fn start<T: Element>(elements: &[T]) -> (*const c_void, Dtype) {
    (elements.as_ptr().cast(), T::DTYPE)
}

/// The start of the elements of a candle tensor, and their dtype.
fn start_of(storage: &Storage) -> Result<(*const c_void, Dtype), Error> {
    let Storage::Cpu(storage) = storage else {
        let text = "device: expected a candle tensor of the CPU; call to_device(&Device::Cpu)";
        return Err(Error::new(Status::UNSUPPORTED, Rule::DEVICE_REJECTED, text));
    };
    Ok(match storage {
        CpuStorage::U8(elements) => start(elements),
        CpuStorage::U32(elements) => start(elements),
        CpuStorage::I16(elements) => start(elements),
        CpuStorage::I32(elements) => start(elements),
        CpuStorage::I64(elements) => start(elements),
        CpuStorage::BF16(elements) => start(elements),
        CpuStorage::F16(elements) => start(elements),
        CpuStorage::F32(elements) => start(elements),
        CpuStorage::F64(elements) => start(elements),
        _ => return Err(unknown("another one of candle")),
    })
}

/// Calls `make` with a read-only description of the tensor's elements, whose storage is locked.
fn describe<R>(
    tensor: &Candle,
    make: impl FnOnce(&WrapSpec<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let (storage, layout) = tensor.storage_and_layout();
    let (start, dtype) = start_of(&storage)?;
    // The library rejects extents whose product is too large.
    let number = |&value: &usize| i64::try_from(value).unwrap_or(i64::MAX);
    let list = |values: &[usize]| values.iter().map(number).collect::<Vec<_>>();
    let (shape, strides) = (list(layout.dims()), list(layout.stride()));
    let offset = layout.start_offset() as u64 * u64::from(dtype.bits / 8);
    make(
        &WrapSpec::new(Buffer::address(start), dtype, &shape)
            .strides(&strides)
            .byte_offset(offset)
            .tensor_flags(Flags::READ_ONLY),
    )
}

impl UniqueTensor {
    /// A compact copy of a candle tensor, of any layout, on the CPU.
    ///
    /// # Errors
    ///
    /// A tensor of another device; a dtype that [`TensorView::to_candle`] does not list; no memory.
    pub fn from_candle(tensor: &Candle) -> Result<Self, Error> {
        describe(tensor, |spec| {
            // SAFETY: the elements are readable, and locked until the copy is complete.
            let borrowed = unsafe { spec.wrap() }?;
            borrowed.as_view().as_borrowed().copy(&CopySpec::new())
        })
    }
}

impl Tensor {
    /// A read-only tensor of a candle tensor's memory, in its shape and strides; nothing is
    /// copied. The result holds the storage until its last owner is dropped.
    ///
    /// # Safety
    ///
    /// Nothing writes to the candle tensor or to one that shares its storage, such as by `Var::set`
    /// or `inplace_op1`, as long as the result and everything made of it live.
    ///
    /// # Errors
    ///
    /// As for [`UniqueTensor::from_candle`].
    pub unsafe fn share_candle(tensor: &Candle) -> Result<Self, Error> {
        let held = tensor.clone();
        // SAFETY: the memory lives as long as the storage, and the caller guarantees the rest.
        describe(tensor, |spec| unsafe { spec.wrap_with(move |_| drop(held)) })
    }
}

impl TensorView<'_> {
    /// A candle tensor on the CPU with a compact copy of the elements, of any layout and device.
    ///
    /// # Errors
    ///
    /// A dtype other than uint8, uint32, int16, int32, int64, bfloat16, float16, float32, float64;
    /// a driver's call that fails; no memory.
    pub fn to_candle(&self) -> Result<Candle, Error> {
        macro_rules! copy {
            ($type:ty) => {
                self.candle_of::<$type>()
            };
        }
        by_type!(self.dtype(), copy, Err(unknown(&self.dtype().to_string())))
    }

    fn candle_of<T: Element + WithDType>(&self) -> Result<Candle, Error> {
        let shape: Vec<usize> =
            self.shape().iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect();
        let made = if let Ok(elements) = self.as_slice::<T>() {
            Candle::from_slice(elements, shape, &CandleDevice::Cpu)
        } else {
            // Other strides, another device; what is wrong with the tensor is reported again.
            let compact = self.as_borrowed().copy(&CopySpec::new().device(Device::CPU))?;
            Candle::from_slice(compact.as_slice::<T>()?, shape, &CandleDevice::Cpu)
        };
        made.map_err(|error| {
            Error::new(Status::UNSUPPORTED, Rule::NONE, &format!("candle: {error}"))
        })
    }
}
