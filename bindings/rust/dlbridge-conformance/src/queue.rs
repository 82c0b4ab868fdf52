// SPDX-License-Identifier: Apache-2.0
//! Queues of the emulated device.

use core::ffi::c_void;
use core::ptr::NonNull;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::ffi;

/// A queue of work on an emulated device in host memory. Nothing runs before [`Queue::synchronize`]:
/// missing order between two queues shows as wrong values every time.
///
/// The kit owns the queue, which lives until the end of the check. Submitted work must not use what
/// lives shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(NonNull<c_void>);

impl Queue {
    pub(crate) fn of(pointer: *mut c_void) -> Option<Self> {
        NonNull::new(pointer).map(Self)
    }

    /// Appends work, which runs once, on the thread that synchronizes. A panic in it ends the
    /// process of the check.
    ///
    /// # Panics
    /// Without memory.
    pub fn submit(&self, work: impl FnOnce() + 'static) {
        let boxed: Box<dyn FnOnce()> = Box::new(work);
        let context = Box::into_raw(Box::new(boxed)).cast();
        // SAFETY: the queue is the kit's; `run` takes the box over.
        let result =
            unsafe { ffi::dlbridge_conformance_queue_submit(self.0.as_ptr(), run, context) };
        assert!(result == 0, "the queue has no memory");
    }

    /// Orders later work of this queue after all work that `other` has now.
    ///
    /// # Panics
    /// Without memory.
    pub fn wait(&self, other: &Queue) {
        // SAFETY: both queues are the kit's.
        let result =
            unsafe { ffi::dlbridge_conformance_queue_wait(self.0.as_ptr(), other.0.as_ptr()) };
        assert!(result == 0, "the queue has no memory");
    }

    /// Runs all work of the queue, and the work that it waits for.
    pub fn synchronize(&self) {
        // SAFETY: the queue is the kit's.
        unsafe { ffi::dlbridge_conformance_queue_synchronize(self.0.as_ptr()) };
    }
}

unsafe extern "C" fn run(context: *mut c_void) {
    // SAFETY: a box of `submit`, which runs once.
    let work = unsafe { Box::from_raw(context.cast::<Box<dyn FnOnce()>>()) };
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        std::process::abort();
    }
}
