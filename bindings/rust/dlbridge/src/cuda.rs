// SPDX-License-Identifier: Apache-2.0
//! Device slices of the crate `cudarc`.

use crate::backend::Backend;
use crate::device::{Device, DeviceType};
use crate::element::Element;
use crate::error::{Error, Rejected, Rule, Status};
use crate::policy::{Contiguity, Policy};
use crate::stream::Stream;
use crate::tensor::Tensor;
use crate::unique::UniqueTensor;
use crate::wrap::{Buffer, WrapSpec};
use cudarc::driver::{CudaSlice, CudaStream, CudaViewMut, DevicePtr, DriverError};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::without_provenance;
use std::sync::Arc;

fn failed(error: DriverError) -> Error {
    Error::new(Status::DRIVER, Rule::NONE, &format!("cudarc: {error}"))
}

fn device_of(stream: &CudaStream) -> Device {
    let ordinal = i32::try_from(stream.context().ordinal()).unwrap_or(-1);
    Device::new(DeviceType::CUDA, ordinal)
}

#[allow(clippy::cast_possible_truncation)] // targets have 64 bits
const fn address_of(device: u64) -> usize {
    device as usize
}

/// The stream as dlbridge knows it.
fn queue_of(stream: &CudaStream) -> Stream {
    // The driver's default stream is a handle of 0, which the array API calls 1.
    let handle = stream.cu_stream() as usize as u64;
    let handle = if handle == 0 { 1 } else { handle };
    // SAFETY: a live stream of cudarc; its users keep the Arc.
    unsafe { Stream::queue(Backend::CUDA, device_of(stream), handle, 0) }
}

impl UniqueTensor {
    /// A tensor of a device slice in `shape`, last axis fastest; nothing is copied. It waits for
    /// the work on the slice, so that consumers on any stream may read it. The slice is dropped
    /// with the last owner.
    ///
    /// # Errors
    ///
    /// A shape of more elements than there are
    /// ([`Rule::BUFFER_BOUNDS`](crate::Rule::BUFFER_BOUNDS)); a call of the driver that fails. The
    /// slice is dropped.
    pub fn from_cuda_slice<T: Element>(slice: CudaSlice<T>, shape: &[i64]) -> Result<Self, Error> {
        let stream = slice.stream().clone();
        // The address, after the writes of other streams.
        let (address, reading) = slice.device_ptr(&stream);
        drop(reading);
        stream.synchronize().map_err(failed)?;
        let bytes = slice.num_bytes() as u64;
        let memory = Buffer::address(without_provenance::<c_void>(address_of(address)));
        let spec =
            WrapSpec::new(memory, T::DTYPE, shape).device(device_of(&stream)).buffer_size(bytes);
        // SAFETY: the memory lives as long as the slice, which the tensor owns.
        unsafe { spec.wrap_with(move |_| drop(slice)) }.map(Self::new)
    }
}

/// The policy of a slice of `T` on the device.
fn demands<'a, T: Element>(dtypes: &'a [crate::Dtype; 1], on: &'a [Device; 1]) -> Policy<'a> {
    Policy::new()
        .dtypes(dtypes)
        .devices(on)
        .contiguity(Contiguity::C)
        .alignment(align_of::<T>() as u64)
        .reject_unknown_flags()
}

/// A tensor as a device slice, for reading: it dereferences to `CudaSlice<T>`. Nothing is copied,
/// and the memory stays the tensor's. Dropping it releases the tensor once the work on its stream
/// is over.
pub struct CudaTensor<T> {
    slice: ManuallyDrop<CudaSlice<T>>,
    tensor: ManuallyDrop<Tensor>,
    stream: Arc<CudaStream>,
}

impl<T: Element> CudaTensor<T> {
    fn new(tensor: Tensor, stream: &Arc<CudaStream>) -> Self {
        let view = tensor.as_view();
        let address = view.data() as usize as u64 + view.byte_offset();
        // SAFETY: the tensor has that many elements there, and outlives the slice, which is leaked
        // and never frees the memory.
        let slice = unsafe { stream.upgrade_device_ptr::<T>(address, view.count()) };
        Self {
            slice: ManuallyDrop::new(slice),
            tensor: ManuallyDrop::new(tensor),
            stream: stream.clone(),
        }
    }
}

impl<T> Deref for CudaTensor<T> {
    type Target = CudaSlice<T>;
    fn deref(&self) -> &CudaSlice<T> {
        &self.slice
    }
}

impl<T> Drop for CudaTensor<T> {
    fn drop(&mut self) {
        // SAFETY: neither is used again.
        let (slice, tensor) =
            unsafe { (ManuallyDrop::take(&mut self.slice), ManuallyDrop::take(&mut self.tensor)) };
        // The stream waits for the work of other streams on the slice.
        slice.leak();
        if let Err(rejected) = tensor.release_after(&[queue_of(&self.stream)]) {
            if self.stream.synchronize().is_err() {
                // The work may still run: leak the tensor instead of freeing its memory.
                std::mem::forget(rejected.value);
            }
        }
    }
}

/// As [`CudaTensor`], for a tensor without another owner, for reading and writing.
pub struct CudaTensorMut<T> {
    tensor: CudaTensor<T>,
}

impl<T> CudaTensorMut<T> {
    /// The elements, for writing.
    #[must_use]
    pub fn as_view_mut(&mut self) -> CudaViewMut<'_, T> {
        // Not `&mut CudaSlice`: a slice that was swapped with another would free this memory.
        self.tensor.slice.as_view_mut()
    }
}

impl<T> Deref for CudaTensorMut<T> {
    type Target = CudaSlice<T>;
    fn deref(&self) -> &CudaSlice<T> {
        &self.tensor
    }
}

impl Tensor {
    /// Its elements as a device slice of cudarc, for reading on `stream` and on streams that cudarc
    /// orders after it. Nothing is copied. Work that other code has enqueued on the memory must be
    /// ordered before `stream`, by [`Stream::hand_off`] or a wait.
    ///
    /// # Errors
    ///
    /// Another dtype, device or order of elements than a slice of `T` on the stream's device. The
    /// tensor is returned in [`Rejected`].
    ///
    /// # Panics
    ///
    /// If the driver cannot create an event.
    pub fn into_cuda_slice<T: Element>(
        self,
        stream: &Arc<CudaStream>,
    ) -> Result<CudaTensor<T>, Rejected<Self>> {
        let (dtypes, on) = ([T::DTYPE], [device_of(stream)]);
        match self.validate(&demands::<T>(&dtypes, &on)) {
            Ok(_) => Ok(CudaTensor::new(self, stream)),
            Err(error) => Err(Rejected { error, value: self }),
        }
    }
}

impl UniqueTensor {
    /// As [`Tensor::into_cuda_slice`], for reading and writing.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::into_cuda_slice`]; a read-only tensor.
    ///
    /// # Panics
    ///
    /// If the driver cannot create an event.
    pub fn into_cuda_slice<T: Element>(
        self,
        stream: &Arc<CudaStream>,
    ) -> Result<CudaTensorMut<T>, Rejected<Self>> {
        let (dtypes, on) = ([T::DTYPE], [device_of(stream)]);
        let demands = demands::<T>(&dtypes, &on).require_writable();
        match self.as_view().as_borrowed().validate(&demands.vouch_writable()) {
            Ok(_) => Ok(CudaTensorMut { tensor: CudaTensor::new(self.into_shared(), stream) }),
            Err(error) => Err(Rejected { error, value: self }),
        }
    }
}
