// SPDX-License-Identifier: Apache-2.0
//! Panics of callbacks are caught and counted, and never reach the library.

use dlbridge::{
    caught_panics, sys, AllocateSpec, Allocator, AllocatorHook, Buffer, Device, Dtype, Status,
    Tensor, WrapSpec,
};
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());
static DATA: [f32; 2] = [1.0, 2.0];

/// The number of panics that the crate catches while `f` runs. They are not printed.
fn caught(f: impl FnOnce()) -> u64 {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = caught_panics();
    f();
    caught_panics() - before
}

fn panicking() -> Tensor {
    let spec = WrapSpec::new(Buffer::address(&raw const DATA), Dtype::F32, &[2]);
    // SAFETY: static memory.
    unsafe { spec.wrap_with(|_| std::panic::resume_unwind(Box::new("a release"))) }.unwrap()
}

#[test]
fn a_release_that_panics_counts_as_done() {
    assert_eq!(caught(|| drop(panicking())), 1);
    // The callback runs with the last owner, on any thread.
    let elsewhere = || {
        let tensor = panicking();
        let shared = tensor.share().unwrap();
        drop(tensor);
        std::thread::spawn(move || drop(shared)).join().unwrap();
    };
    assert_eq!(caught(elsewhere), 1);
}

#[test]
fn a_release_that_panics_while_unwinding_does_not_abort() {
    let count = caught(|| {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _tensor = panicking();
            std::panic::resume_unwind(Box::new("on the way out"));
        }));
        assert_eq!(*unwound.unwrap_err().downcast::<&str>().unwrap(), "on the way out");
    });
    assert_eq!(count, 1);
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::resume_unwind(Box::new("in a payload's drop"));
        }
    }
}

impl AsRef<[f32]> for Bomb {
    fn as_ref(&self) -> &[f32] {
        &DATA
    }
}

#[test]
fn payloads_and_owners_that_panic_as_they_are_dropped() {
    let spec = WrapSpec::new(Buffer::address(&raw const DATA), Dtype::F32, &[2]);
    // SAFETY: static memory.
    let payload = unsafe { spec.wrap_with(|_| std::panic::resume_unwind(Box::new(Bomb))) }.unwrap();
    assert_eq!(caught(|| drop(payload)), 2);
    let owner = Tensor::from_owner(Bomb, &[2]).unwrap();
    assert_eq!(caught(|| drop(owner)), 1);
}

/// An allocator that panics in one of its hooks.
struct Faulty {
    allocate: bool,
    live: Arc<AtomicUsize>,
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.live.fetch_sub(1, Ordering::SeqCst);
    }
}

fn memory(bytes: u64, alignment: u64) -> std::alloc::Layout {
    let (bytes, alignment) = (usize::try_from(bytes), usize::try_from(alignment));
    std::alloc::Layout::from_size_align(bytes.unwrap(), alignment.unwrap()).unwrap()
}

// SAFETY: Rust's own allocator.
unsafe impl Allocator for Faulty {
    fn allocate(
        &self,
        _: Device,
        bytes: u64,
        alignment: u64,
        _: Option<&sys::DLBridgeStream>,
    ) -> *mut c_void {
        if self.allocate {
            std::panic::resume_unwind(Box::new("in allocate"));
        }
        // SAFETY: the size is not 0.
        unsafe { std::alloc::alloc(memory(bytes, alignment)) }.cast()
    }
    unsafe fn deallocate(
        &self,
        _device: Device,
        start: *mut c_void,
        bytes: u64,
        alignment: u64,
        _stream: Option<&sys::DLBridgeStream>,
    ) {
        // SAFETY: the values of the allocation.
        unsafe { std::alloc::dealloc(start.cast(), memory(bytes, alignment)) };
        std::panic::resume_unwind(Box::new("in deallocate"));
    }
}

#[test]
fn hooks_of_an_allocator_that_panic() {
    let live = Arc::new(AtomicUsize::new(2));
    let hook = |allocate| AllocatorHook::new(Faulty { allocate, live: live.clone() });
    let count = caught(|| {
        let hook = hook(true);
        let error = AllocateSpec::new(Dtype::F32, &[4]).allocator(&hook).allocate().unwrap_err();
        assert_eq!(error.status(), Status::OUT_OF_MEMORY);
    });
    assert_eq!(count, 1);
    assert_eq!(live.load(Ordering::SeqCst), 1);
    let count = caught(|| {
        let hook = hook(false);
        let tensor = AllocateSpec::new(Dtype::F32, &[4]).allocator(&hook).allocate().unwrap();
        // The memory keeps the allocator.
        drop(hook);
        assert_eq!(live.load(Ordering::SeqCst), 1);
        drop(tensor);
    });
    assert_eq!(count, 1);
    assert_eq!(live.load(Ordering::SeqCst), 0);
}
