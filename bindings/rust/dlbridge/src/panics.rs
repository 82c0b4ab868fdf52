// SPDX-License-Identifier: Apache-2.0
//! Panics stop where the library calls back.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};

static CAUGHT: AtomicU64 = AtomicU64::new(0);

/// How many panics of callbacks this crate has caught in this process.
///
/// A callback (a release, an allocator's hook) may be called by the code that drops the last owner of a
/// tensor, which may be code of another language. A panic in it goes no further: it is counted, its
/// payload is dropped, and the callback counts as done; an allocation that panics has failed
/// ([`Status::OUT_OF_MEMORY`](crate::Status::OUT_OF_MEMORY)). The panic hook has run before that,
/// as for every panic. Where panics abort, the process aborts in the callback; so it
/// does where a value that the callback owns panics as it is dropped by that unwinding, which Rust
/// never lets pass.
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
            // A payload may panic as it is dropped, and that panic's payload again: it is lost
            // then.
            if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
                CAUGHT.fetch_add(1, Ordering::Relaxed);
                std::mem::forget(second);
            }
            otherwise
        }
    }
}
