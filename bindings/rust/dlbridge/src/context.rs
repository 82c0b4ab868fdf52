// SPDX-License-Identifier: Apache-2.0
//! The table of contexts: device, native device, context, default queue. A process has one table,
//! also if it loads several copies of the library.

use crate::backend::Backend;
use crate::builder::{set_bits, set_fields};
use crate::device::Device;
use crate::error::{call, Error, Status};
use crate::panics::contain;
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::mem::forget;

/// An entry of the table: one context of one device. Its handles live as long as the entry, which
/// [`ContextInfo::retain`] keeps.
#[derive(Clone, Copy, Debug)]
pub struct ContextInfo {
    raw: sys::DLBridgeContextEntry,
}

// SAFETY: handles are integers; the entry's own callback and its argument are never used here.
unsafe impl Send for ContextInfo {}
// SAFETY: as above.
unsafe impl Sync for ContextInfo {}

impl ContextInfo {
    /// The entry's number, never used again.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.raw.id
    }

    /// The backend.
    #[must_use]
    pub const fn backend(&self) -> Backend {
        Backend(self.raw.backend)
    }

    /// The device that it belongs to.
    #[must_use]
    pub const fn device(&self) -> Device {
        Device::of(self.raw.device)
    }

    /// `ze_driver_handle_t` or `cl_platform_id`; else 0.
    #[must_use]
    pub const fn platform(&self) -> u64 {
        self.raw.platform
    }

    /// `ze_device_handle_t`, `cl_device_id`, or the ordinal in CUDA and HIP.
    #[must_use]
    pub const fn native_device(&self) -> u64 {
        self.raw.native_device
    }

    /// `CUcontext`, `ze_context_handle_t` or `cl_context`; 0 for HIP.
    #[must_use]
    pub const fn context(&self) -> u64 {
        self.raw.context
    }

    /// The default queue, borrowed; 0: none.
    #[must_use]
    pub const fn queue(&self) -> u64 {
        self.raw.queue
    }

    /// UUID of the device; zeros where unknown.
    #[must_use]
    pub const fn uuid(&self) -> &[u8; 16] {
        &self.raw.uuid
    }

    /// Is it the default of its device?
    #[must_use]
    pub const fn is_default(&self) -> bool {
        self.raw.properties & sys::DLBRIDGE_CONTEXT_DEFAULT != 0
    }

    /// Did a library find the device itself?
    #[must_use]
    pub const fn is_enumerated(&self) -> bool {
        self.raw.properties & sys::DLBRIDGE_CONTEXT_ENUMERATED != 0
    }

    /// Was the context made for the table?
    #[must_use]
    pub const fn is_private(&self) -> bool {
        self.raw.properties & sys::DLBRIDGE_CONTEXT_PRIVATE != 0
    }

    /// The struct of the C ABI.
    #[must_use]
    pub const fn as_raw(&self) -> &sys::DLBridgeContextEntry {
        &self.raw
    }

    /// Keeps the entry, and so its handles, until the result is dropped.
    ///
    /// # Errors
    ///
    /// [`Status::NOT_FOUND`] if it is no longer registered.
    pub fn retain(&self) -> Result<RetainedContext, Error> {
        context_retain(self.id())
    }
}

/// Keeps entry `id`, and so its handles, until the result is dropped.
///
/// # Errors
///
/// [`Status::NOT_FOUND`] if it is no longer registered.
pub fn context_retain(id: u64) -> Result<RetainedContext, Error> {
    // SAFETY: takes any integer.
    call(|error| unsafe { sys::dlbridge_context_retain(id, error) })?;
    Ok(RetainedContext { id })
}

/// A retained entry, which is not released before this value is dropped.
#[derive(Debug)]
pub struct RetainedContext {
    id: u64,
}

impl RetainedContext {
    /// The entry's number.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// Ends the retention.
    ///
    /// # Errors
    ///
    /// No known error: this value retains the entry.
    pub fn release(self) -> Result<(), Error> {
        let id = self.id;
        forget(self);
        // SAFETY: takes any integer.
        call(|error| unsafe { sys::dlbridge_context_release(id, error) })
    }
}

impl Drop for RetainedContext {
    fn drop(&mut self) {
        // The entry is kept by this value, so there is nothing that could fail.
        // SAFETY: takes any integer.
        let _ = call(|error| unsafe { sys::dlbridge_context_release(self.id, error) });
    }
}

/// A context to register.
#[derive(Clone, Copy, Debug)]
pub struct ContextSpec {
    raw: sys::DLBridgeContextEntry,
}

// SAFETY: handles are integers; `release` and `release_context` stay NULL.
unsafe impl Send for ContextSpec {}
// SAFETY: as above.
unsafe impl Sync for ContextSpec {}

impl ContextSpec {
    /// A context of `native_device`, for tensors of `device`.
    #[must_use]
    pub const fn new(backend: Backend, device: Device, native_device: u64, context: u64) -> Self {
        let mut raw = sys::DLBridgeContextEntry::INIT;
        raw.backend = backend.0;
        raw.device = device.raw();
        raw.native_device = native_device;
        raw.context = context;
        Self { raw }
    }

    set_fields! {
        /// `ze_driver_handle_t` or `cl_platform_id`.
        platform(platform: u64) = platform;

        /// UUID of the device.
        uuid(uuid: [u8; 16]) = uuid;
    }

    /// The default queue.
    #[must_use]
    pub const fn queue(mut self, queue: u64) -> Self {
        self.raw.queue = queue;
        self.raw.queue_kind = sys::DLBRIDGE_STREAM_QUEUE;
        self
    }

    /// An immediate command list as the default queue.
    #[must_use]
    pub const fn immediate_list(mut self, list: u64) -> Self {
        self.raw.queue = list;
        self.raw.queue_kind = sys::DLBRIDGE_STREAM_IMMEDIATE_LIST;
        self
    }

    set_bits! { properties:
        /// It becomes the default of its device.
        make_default = DLBRIDGE_CONTEXT_DEFAULT;

        /// Removes entries of the same device with another native device.
        replace = DLBRIDGE_CONTEXT_REPLACE;
    }

    /// The struct of the C ABI, for changes.
    ///
    /// # Safety
    ///
    /// `release` and `release_context` stay NULL: [`ContextSpec::register`] sets them.
    pub const unsafe fn as_raw_mut(&mut self) -> &mut sys::DLBridgeContextEntry {
        &mut self.raw
    }

    /// Registers it. `release` is called once, after the entry was unregistered and is not
    /// retained, on the thread that dropped the last reference; a panic in it is caught
    /// ([`caught_panics`](crate::caught_panics)). If the call fails, it is dropped without being
    /// called.
    ///
    /// # Safety
    ///
    /// The handles are what the spec describes and live until `release` is called.
    ///
    /// # Errors
    ///
    /// [`Status::EXISTS`]; [`Status::INVALID_ARGUMENT`].
    pub unsafe fn register<F: FnOnce(&ContextInfo) + Send + 'static>(
        &self,
        release: F,
    ) -> Result<Registration, Error> {
        let context = Box::into_raw(Box::new(release));
        let mut entry = self.raw;
        entry.release = Some(call_release::<F>);
        entry.release_context = context.cast();
        let mut id = 0;
        // SAFETY: guaranteed by the caller.
        let result = call(|error| unsafe {
            sys::dlbridge_context_register(&raw const entry, &raw mut id, error)
        });
        // SAFETY: a call that fails has not taken the callback.
        result.inspect_err(|_| drop(unsafe { Box::from_raw(context) }))?;
        Ok(Registration { id })
    }
}

unsafe extern "C" fn call_release<F: FnOnce(&ContextInfo)>(
    context: *mut c_void,
    entry: *const sys::DLBridgeContextEntry,
) {
    // SAFETY: a Box<F> that this call, the only one, is given; the entry is readable.
    let (release, info) =
        unsafe { (Box::from_raw(context.cast::<F>()), ContextInfo { raw: *entry }) };
    contain((), || release(&info));
}

/// A registered context. Dropping it takes the entry out of the table; it is released when it is no
/// longer retained.
#[derive(Debug)]
pub struct Registration {
    id: u64,
}

impl Registration {
    /// The entry's number.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// Takes the entry out of the table.
    ///
    /// # Errors
    ///
    /// [`Status::NOT_FOUND`] if another registration has replaced it.
    pub fn unregister(self) -> Result<(), Error> {
        context_unregister(self.leave())
    }

    /// Leaves the entry in the table until the process ends, or its number is unregistered.
    #[must_use]
    pub fn leave(self) -> u64 {
        let id = self.id;
        forget(self);
        id
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Only a registration that was replaced is no longer there.
        let _ = context_unregister(self.id);
    }
}

/// Takes entry `id` out of the table, as dropping its [`Registration`] does.
///
/// # Errors
///
/// [`Status::NOT_FOUND`].
pub fn context_unregister(id: u64) -> Result<(), Error> {
    // SAFETY: takes any integer.
    call(|error| unsafe { sys::dlbridge_context_unregister(id, error) })
}

/// The entry of `device` with `context`, or its default where `context` is 0. If the table has
/// no entry for the device, its backend is started and its devices are entered.
///
/// # Errors
///
/// [`Status::NOT_FOUND`]; a driver that cannot be started; [`Status::UNSUPPORTED`] for device types
/// without a backend.
pub fn context_find(device: Device, context: u64) -> Result<ContextInfo, Error> {
    let mut raw = sys::DLBridgeContextEntry::INIT;
    // SAFETY: the output is writable.
    call(|error| unsafe {
        sys::dlbridge_context_find(device.raw(), context, &raw mut raw, error)
    })?;
    Ok(ContextInfo { raw })
}

/// All entries of the table. An entry that is added or removed meanwhile may or may not be
/// returned.
#[must_use]
pub fn contexts() -> Contexts {
    Contexts { cursor: 0, done: false }
}

/// See [`contexts`].
#[derive(Clone, Debug)]
pub struct Contexts {
    cursor: u64,
    done: bool,
}

impl Iterator for Contexts {
    type Item = Result<ContextInfo, Error>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let mut raw = sys::DLBridgeContextEntry::INIT;
        // SAFETY: cursor and output are writable.
        let found = call(|error| unsafe {
            sys::dlbridge_context_next(&raw mut self.cursor, &raw mut raw, error)
        });
        self.done = found.is_err();
        match found {
            Ok(()) => Some(Ok(ContextInfo { raw })),
            Err(error) if error.status() == Status::NOT_FOUND => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl std::iter::FusedIterator for Contexts {}

/// The table that all copies of the library share.
#[must_use]
pub fn context_table() -> &'static sys::DLBridgeContextTable {
    // SAFETY: static, never NULL.
    unsafe { &*sys::dlbridge_context_table_v1() }
}
