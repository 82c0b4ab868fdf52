// SPDX-License-Identifier: Apache-2.0
//! Tensors of native memory.

use crate::builder::{set_bits, set_fields};
use crate::device::Device;
use crate::dtype::Dtype;
use crate::error::{call, Error};
use crate::foreign::LegacyTensor;
use crate::panics::contain;
use crate::policy::Policy;
use crate::tensor::Tensor;
use crate::text::{axes, check_strides, pointer_of, WRONG_STRIDES};
use crate::values::{Flags, Version};
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{null_mut, NonNull};

/// Memory of a device: an address or a driver's handle.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    raw: sys::DLBridgeBuffer,
}

impl Buffer {
    /// An address: of the host, of CUDA, HIP, USM or SVM; pinned or managed memory.
    #[must_use]
    pub fn address<T: ?Sized>(address: *const T) -> Self {
        Self { raw: sys::DLBridgeBuffer::address(address.cast()) }
    }

    /// A `cl_mem`.
    #[must_use]
    pub const fn cl_mem(handle: u64) -> Self {
        Self::with_kind(sys::DLBRIDGE_BUFFER_CL_MEM, handle)
    }

    /// Another opaque handle: of Vulkan, Metal, WebGPU, VPI.
    #[must_use]
    pub const fn handle(handle: u64) -> Self {
        Self::with_kind(sys::DLBRIDGE_BUFFER_HANDLE, handle)
    }

    const fn with_kind(kind: i32, handle: u64) -> Self {
        Self { raw: sys::DLBridgeBuffer { kind, handle, ..sys::DLBridgeBuffer::INIT } }
    }

    set_fields! {
        /// The backend whose memory it is.
        backend(backend: crate::Backend) = backend.0;

        /// The `ze_context_handle_t` or `cl_context` that it belongs to.
        context(context: u64) = context;
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeBuffer {
        &self.raw
    }

    /// A buffer as the C ABI describes it.
    #[must_use]
    pub const fn from_raw(raw: sys::DLBridgeBuffer) -> Self {
        Self { raw }
    }

    /// The address or handle.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.raw.handle
    }
}

/// The argument of a release callback: memory that is no longer used.
#[derive(Clone, Copy, Debug)]
pub struct Released {
    buffer: Buffer,
    stream: Option<sys::DLBridgeStream>,
}

impl Released {
    /// The memory that was wrapped.
    #[must_use]
    pub const fn buffer(&self) -> Buffer {
        self.buffer
    }

    /// The queue whose work may still use the memory, live for the call; `None` if no work does, as
    /// always without [`WrapSpec::release_on_stream`].
    /// [`Stream::from_raw`](crate::Stream::from_raw) makes it usable.
    #[must_use]
    pub const fn stream(&self) -> Option<&sys::DLBridgeStream> {
        self.stream.as_ref()
    }
}

/// A description of native memory, to make a tensor of it.
#[derive(Clone, Copy, Debug)]
pub struct WrapSpec<'a> {
    raw: sys::DLBridgeWrapSpec,
    borrowed: PhantomData<(&'a [i64], &'a Policy<'a>)>,
}

// SAFETY: its pointers are shared borrows of Sync values; handles are integers.
unsafe impl Send for WrapSpec<'_> {}
// SAFETY: as above.
unsafe impl Sync for WrapSpec<'_> {}

impl<'a> WrapSpec<'a> {
    /// Compact, last axis fastest, on the host.
    #[must_use]
    pub fn new(buffer: Buffer, dtype: Dtype, shape: &'a [i64]) -> Self {
        let mut raw = sys::DLBridgeWrapSpec::INIT;
        raw.buffer = buffer.raw;
        raw.device = Device::CPU.raw();
        raw.dtype = dtype.raw();
        raw.ndim = axes(shape);
        raw.shape = pointer_of(shape);
        Self { raw, borrowed: PhantomData }
    }

    /// Strides in elements. [`WrapSpec::wrap`] rejects a number of strides that differs from that
    /// of extents.
    #[must_use]
    pub fn strides(mut self, strides: &'a [i64]) -> Self {
        if axes(strides) == self.raw.ndim {
            self.raw.strides = pointer_of(strides);
        } else {
            self.raw.ndim = WRONG_STRIDES;
        }
        self
    }

    set_fields! {
        /// The device label of the tensor.
        device(device: Device) = device.raw();

        /// Bytes from the address or handle to element (0,...,0).
        byte_offset(bytes: u64) = bytes;

        /// DLPack flags of the tensor. Without [`Flags::READ_ONLY`] its consumers may write to the
        /// memory.
        tensor_flags(flags: Flags) = flags.0;

        /// Newest DLPack that the consumer reads.
        version(version: Version) = version.raw();

        /// Validate by it.
        policy(policy: &'a Policy<'a>) = policy.as_raw();
    }

    /// Bytes at the address or handle that all elements must lie inside.
    #[must_use]
    pub const fn buffer_size(mut self, bytes: u64) -> Self {
        self.raw.buffer_size = bytes;
        self.raw.options |= sys::DLBRIDGE_WRAP_LIMIT_BUFFER;
        self
    }

    set_bits! { options:
        /// Keep the module of the release callback loaded.
        pin_producer = DLBRIDGE_WRAP_PIN_PRODUCER;

        /// The tensor holds its own reference to the `cl_mem`.
        retain = DLBRIDGE_WRAP_RETAIN;
    }

    /// The release callback orders the end of the memory after the work of
    /// [`Released::stream`], for instance by freeing it on that stream:
    /// [`Tensor::release_after`] may call it before that work is over.
    ///
    /// # Safety
    ///
    /// Every callback that is passed with this spec does so.
    #[must_use]
    pub const unsafe fn release_on_stream(mut self) -> Self {
        self.raw.options |= sys::DLBRIDGE_WRAP_RELEASE_ON_STREAM;
        self
    }

    /// Skip the validation.
    ///
    /// # Safety
    ///
    /// The layout would pass the validation.
    #[must_use]
    pub const unsafe fn skip_validation(mut self) -> Self {
        self.raw.options |= sys::DLBRIDGE_WRAP_SKIP_VALIDATION;
        self
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeWrapSpec {
        &self.raw
    }

    /// The struct of the C ABI, for changes.
    ///
    /// # Safety
    ///
    /// Its pointers meet the header's requirements, live as long as `'a` and may be used on any
    /// thread.
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgeWrapSpec {
        &mut self.raw
    }

    /// Makes a tensor of the memory, without a release callback.
    ///
    /// # Safety
    ///
    /// The memory is what the spec describes and stays as long as the tensor; if its flags lack
    /// [`Flags::READ_ONLY`], it may be written to. See [Foreign tensors](crate#foreign-tensors).
    ///
    /// # Errors
    ///
    /// Any rule on the spec; an unknown context; no memory.
    pub unsafe fn wrap(&self) -> Result<Tensor, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { wrap(&self.raw) }
    }

    /// Makes a tensor of the memory. `release` is called once, on the thread that drops the last
    /// owner; a panic in it is caught ([`caught_panics`](crate::caught_panics)). If the
    /// call fails, it is dropped without being called.
    ///
    /// # Safety
    ///
    /// As for [`WrapSpec::wrap`], until `release` is called.
    ///
    /// # Errors
    ///
    /// As for [`WrapSpec::wrap`].
    pub unsafe fn wrap_with(
        &self,
        release: impl FnOnce(Released) + Send + 'static,
    ) -> Result<Tensor, Error> {
        // SAFETY: guaranteed by the caller.
        self.with_release(release, |spec| unsafe { wrap(spec) })
    }

    /// As [`WrapSpec::wrap`], as a legacy tensor. A property that legacy cannot record is an error.
    ///
    /// # Safety
    ///
    /// As for [`WrapSpec::wrap`].
    ///
    /// # Errors
    ///
    /// As for [`WrapSpec::wrap`]; [`Status::UNREPRESENTABLE`](crate::Status::UNREPRESENTABLE).
    pub unsafe fn wrap_legacy(&self) -> Result<LegacyTensor, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { wrap_legacy(&self.raw) }
    }

    /// As [`WrapSpec::wrap_with`], as a legacy tensor.
    ///
    /// # Safety
    ///
    /// As for [`WrapSpec::wrap_with`].
    ///
    /// # Errors
    ///
    /// As for [`WrapSpec::wrap_with`]; [`Status::UNREPRESENTABLE`](crate::Status::UNREPRESENTABLE).
    pub unsafe fn wrap_legacy_with(
        &self,
        release: impl FnOnce(Released) + Send + 'static,
    ) -> Result<LegacyTensor, Error> {
        // SAFETY: guaranteed by the caller.
        self.with_release(release, |spec| unsafe { wrap_legacy(spec) })
    }

    /// Calls `make` with a spec that owns `release`.
    fn with_release<F: FnOnce(Released) + Send + 'static, T>(
        &self,
        release: F,
        make: impl FnOnce(&sys::DLBridgeWrapSpec) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let context = Box::into_raw(Box::new(release));
        let mut spec = self.raw;
        spec.release = Some(call_release::<F>);
        spec.release_context = context.cast();
        // SAFETY: a call that fails has not taken the callback.
        make(&spec).inspect_err(|_| drop(unsafe { Box::from_raw(context) }))
    }
}

/// # Safety
///
/// The spec's pointers meet the header's requirements, and the caller owns the memory.
pub(crate) unsafe fn wrap(spec: &sys::DLBridgeWrapSpec) -> Result<Tensor, Error> {
    check_strides(spec.ndim)?;
    let mut out = null_mut();
    // SAFETY: guaranteed by the caller.
    call(|error| unsafe { sys::dlbridge_wrap(spec, &raw mut out, error) })?;
    // SAFETY: on success the result is not NULL and owned by the caller.
    Ok(unsafe { Tensor::from_result(out) })
}

/// # Safety
///
/// As above.
pub(crate) unsafe fn wrap_legacy(spec: &sys::DLBridgeWrapSpec) -> Result<LegacyTensor, Error> {
    check_strides(spec.ndim)?;
    let mut out = null_mut();
    // SAFETY: guaranteed by the caller.
    call(|error| unsafe { sys::dlbridge_wrap_legacy(spec, &raw mut out, error) })?;
    // SAFETY: on success the result is not NULL and owned by the caller.
    Ok(unsafe { LegacyTensor::from_raw(NonNull::new_unchecked(out)) })
}

/// Calls the closure at `context`.
pub(crate) unsafe extern "C" fn call_release<F: FnOnce(Released)>(
    context: *mut c_void,
    buffer: *const sys::DLBridgeBuffer,
    stream: *const sys::DLBridgeStream,
) {
    // SAFETY: the context is a Box<F> that this call, the only one, is given.
    let release = unsafe { Box::from_raw(context.cast::<F>()) };
    // SAFETY: the buffer is readable for the call; the stream is NULL or live.
    let (buffer, stream) = unsafe { (Buffer::from_raw(*buffer), stream.as_ref().copied()) };
    contain((), || release(Released { buffer, stream }));
}
