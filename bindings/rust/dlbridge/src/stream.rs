// SPDX-License-Identifier: Apache-2.0
//! Queues of work, and order between them.

use crate::backend::Backend;
use crate::builder::bit_set;
use crate::device::Device;
use crate::error::{call, Error};
use dlbridge_sys as sys;

/// A borrowed queue of work: the code that makes it of a handle guarantees that the queue lives as
/// long as any copy of this value is used.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)] // a list of streams is a list of the C struct
pub struct Stream {
    raw: sys::DLBridgeStream,
}

impl Stream {
    /// No queue: work is complete when a call returns.
    pub const HOST: Self =
        Self::with_kind(Backend::CPU, sys::DLBRIDGE_STREAM_HOST, Device::CPU, 0, 0);

    const fn with_kind(
        backend: Backend,
        kind: i32,
        device: Device,
        handle: u64,
        context: u64,
    ) -> Self {
        let device = device.raw();
        let backend = backend.0;
        Self { raw: sys::DLBridgeStream { backend, kind, device, handle, context, reserved: 0 } }
    }

    /// The consumer orders its work itself.
    #[must_use]
    pub const fn no_sync(backend: Backend, device: Device) -> Self {
        Self::with_kind(backend, sys::DLBRIDGE_STREAM_NO_SYNC, device, 0, 0)
    }

    /// A `CUstream`, `hipStream_t`, `cl_command_queue` or `ze_command_queue_handle_t`; for the
    /// last, `context` is its `ze_context_handle_t`, else 0.
    ///
    /// # Safety
    ///
    /// The handle is such a queue, and lives as long as this value and its copies are used.
    #[must_use]
    pub const unsafe fn queue(backend: Backend, device: Device, handle: u64, context: u64) -> Self {
        Self::with_kind(backend, sys::DLBRIDGE_STREAM_QUEUE, device, handle, context)
    }

    /// An immediate `ze_command_list_handle_t` of a context.
    ///
    /// # Safety
    ///
    /// As for [`Stream::queue`].
    #[must_use]
    pub const unsafe fn immediate_list(device: Device, handle: u64, context: u64) -> Self {
        let kind = sys::DLBRIDGE_STREAM_IMMEDIATE_LIST;
        Self::with_kind(Backend::LEVEL_ZERO, kind, device, handle, context)
    }

    /// The `stream` of the Python array API's `__dlpack__`, to the letter; `None` is Python's
    /// `None`.
    ///
    /// # Safety
    ///
    /// A stream above 2 is a handle as for [`Stream::queue`].
    ///
    /// # Errors
    ///
    /// Integers that mean nothing on the device.
    pub unsafe fn from_array_api(device: Device, stream: Option<i64>) -> Result<Self, Error> {
        let stream = stream.unwrap_or(sys::DLBRIDGE_ARRAY_API_STREAM_NONE);
        let mut raw = Self::HOST.raw;
        // SAFETY: calls no driver.
        call(|error| unsafe {
            sys::dlbridge_stream_from_array_api(device.raw(), stream, &raw mut raw, error)
        })?;
        Ok(Self { raw })
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeStream {
        &self.raw
    }

    /// A stream as the C ABI describes it.
    ///
    /// # Safety
    ///
    /// As for [`Stream::queue`].
    #[must_use]
    pub const unsafe fn from_raw(raw: sys::DLBridgeStream) -> Self {
        Self { raw }
    }

    /// Work that was put on this stream happens before work that is put on `consumer` from now on;
    /// the host does not wait unless the options allow it.
    ///
    /// # Errors
    ///
    /// A driver's call that fails; a stream that captures a graph; queues that no driver can order.
    pub fn hand_off(&self, consumer: &Self, options: HandOff) -> Result<(), Error> {
        // SAFETY: guaranteed by the code that made the streams.
        call(|error| unsafe {
            sys::dlbridge_stream_handoff(
                &raw const self.raw,
                &raw const consumer.raw,
                options.bits,
                error,
            )
        })
    }

    /// Waits on the host until all work that was put on this stream is done.
    ///
    /// # Errors
    ///
    /// A driver's call that fails; a stream that captures a graph; [`Stream::no_sync`].
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: guaranteed by the code that made the stream.
        call(|error| unsafe { sys::dlbridge_stream_synchronize(&raw const self.raw, error) })
    }
}

bit_set! {
    /// What [`Stream::hand_off`] may do.
    pub struct HandOff;

    /// Order the queues, and nothing else.
    new;

    /// The host may wait if no driver can order the two queues.
    allow_host_wait = DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT;

    /// A wait may draw the consumer's stream into the graph that the producer's is capturing.
    allow_capture = DLBRIDGE_HANDOFF_ALLOW_CAPTURE;
}
