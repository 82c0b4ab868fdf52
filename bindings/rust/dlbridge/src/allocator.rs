// SPDX-License-Identifier: Apache-2.0
//! Memory of the caller's choice.

use crate::device::Device;
use crate::panics::contain;
use dlbridge_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

/// Allocates and frees the memory of copies and new tensors, on any thread, possibly much later.
///
/// # Safety
///
/// `allocate` returns NULL, or memory of `device` with the requested size and alignment, which only
/// its caller uses until `deallocate` receives the same values.
pub unsafe trait Allocator: Send + Sync + 'static {
    /// `bytes` is never 0, `alignment` a power of two. NULL, or a panic, is
    /// [`Status::OUT_OF_MEMORY`](crate::Status::OUT_OF_MEMORY). Work on `stream`, which is live for
    /// the call, may use the memory; `None`: any code may use it from now on.
    fn allocate(
        &self,
        device: Device,
        bytes: u64,
        alignment: u64,
        stream: Option<&sys::DLBridgeStream>,
    ) -> *mut c_void;

    /// Frees what `allocate` returned; called once.
    ///
    /// # Safety
    ///
    /// The values are those of that call. Only work enqueued on `stream` until now may still use
    /// the memory; `None`: no work does.
    unsafe fn deallocate(
        &self,
        device: Device,
        memory: *mut c_void,
        bytes: u64,
        alignment: u64,
        stream: Option<&sys::DLBridgeStream>,
    );
}

/// An [`Allocator`] in the form that the library calls. It lives as long as the memory that it
/// allocated.
pub struct AllocatorHook {
    raw: sys::DLBridgeAllocator,
    drop_context: unsafe fn(*mut c_void),
}

// SAFETY: the context is an Arc of a Send and Sync value.
unsafe impl Send for AllocatorHook {}
// SAFETY: as above.
unsafe impl Sync for AllocatorHook {}

impl AllocatorHook {
    /// Wraps `allocator` for the library.
    pub fn new<A: Allocator>(allocator: A) -> Self {
        Self::from_arc(Arc::new(allocator))
    }

    /// As [`AllocatorHook::new`], for an allocator that the caller shares.
    pub fn from_arc<A: Allocator>(allocator: Arc<A>) -> Self {
        Self {
            raw: sys::DLBridgeAllocator {
                context: Arc::into_raw(allocator).cast_mut().cast(),
                allocate: Some(allocate::<A>),
                deallocate: Some(deallocate::<A>),
                ..sys::DLBridgeAllocator::INIT
            },
            drop_context: drop_context::<A>,
        }
    }

    pub(crate) const fn as_raw(&self) -> &sys::DLBridgeAllocator {
        &self.raw
    }
}

impl fmt::Debug for AllocatorHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllocatorHook").finish_non_exhaustive()
    }
}

impl Drop for AllocatorHook {
    fn drop(&mut self) {
        // SAFETY: the hook's own count of the Arc.
        unsafe { (self.drop_context)(self.raw.context) };
    }
}

unsafe fn drop_context<A: Allocator>(context: *mut c_void) {
    // SAFETY: the context is an Arc<A>, of which the caller passes a count.
    drop(unsafe { Arc::from_raw(context.cast_const().cast::<A>()) });
}

unsafe extern "C" fn allocate<A: Allocator>(
    context: *mut c_void,
    device: sys::DLDevice,
    bytes: u64,
    alignment: u64,
    stream: *const sys::DLBridgeStream,
) -> *mut c_void {
    let allocator = context.cast_const().cast::<A>();
    // SAFETY: NULL or live for the call.
    let stream = unsafe { stream.as_ref() };
    contain(null_mut(), || {
        // SAFETY: the context is an Arc<A> that lives as long as the hook or its memory.
        let memory = unsafe { &*allocator }.allocate(Device::of(device), bytes, alignment, stream);
        if !memory.is_null() {
            // SAFETY: as above. The memory keeps a count of its own.
            unsafe { Arc::increment_strong_count(allocator) };
        }
        memory
    })
}

unsafe extern "C" fn deallocate<A: Allocator>(
    context: *mut c_void,
    device: sys::DLDevice,
    memory: *mut c_void,
    bytes: u64,
    alignment: u64,
    stream: *const sys::DLBridgeStream,
) {
    // SAFETY: NULL or live for the call.
    let stream = unsafe { stream.as_ref() };
    // SAFETY: the count that the memory has kept.
    let allocator = unsafe { Arc::from_raw(context.cast_const().cast::<A>()) };
    contain((), || {
        // SAFETY: the library passes the values of the allocation, once.
        unsafe { allocator.deallocate(Device::of(device), memory, bytes, alignment, stream) };
    });
    contain((), || drop(allocator));
}
