// SPDX-License-Identifier: Apache-2.0
//! Panics in callbacks are caught.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};

static CAUGHT: AtomicU64 = AtomicU64::new(0);

/// How many panics of callbacks this crate has caught in this process.
///
/// The code that drops the last owner of a tensor calls its callbacks (a release, an allocator's
/// hook), and may be written in another language. A panic in it is caught: it is counted, its
/// payload is dropped, and the callback counts as done; an allocation that panics has failed
/// ([`Status::OUT_OF_MEMORY`](crate::Status::OUT_OF_MEMORY)). The panic hook has run before that,
/// as for every panic. If panics abort, the process aborts in the callback. It also aborts if a
/// value that the callback owns panics while it is dropped by that unwinding.
#[must_use]
pub fn caught_panics() -> u64 {
    CAUGHT.load(Ordering::Relaxed)
}

/// What `callback` returns, or `otherwise` if it panics.
pub(crate) fn contain<T>(otherwise: T, callback: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(callback)) {
        Ok(value) => value,
        Err(payload) => {
            CAUGHT.fetch_add(1, Ordering::Relaxed);
            // Dropping a payload may panic, and so may that panic's payload, which is then
            // leaked.
            if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                CAUGHT.fetch_add(1, Ordering::Relaxed);
                std::mem::forget(second);
            }
            otherwise
        }
    }
}
