// SPDX-License-Identifier: Apache-2.0
//! Copies and releases on streams: those of the host, and what is rejected without a driver.

use crate::producer::{legacy, versioned, Runs};
use dlbridge::{
    collect, pointer_info_with, sys, Allocator, AllocatorHook, Backend, Buffer, CollectOptions,
    ConvertOptions, CopySpec, Device, DeviceType, Dtype, PointerOptions, Status, Stream, Tensor,
    UniqueTensor, WrapSpec,
};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

fn on_host() -> CopySpec<'static> {
    CopySpec::new().stream(Stream::HOST)
}

fn six() -> Tensor {
    let values = vec![0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0];
    UniqueTensor::from_vec(values, &[2, 3]).unwrap().into_shared()
}

#[test]
fn the_host_releases_every_owner_at_once() {
    let runs = Runs::default();
    legacy(&runs).release_after(&[Stream::HOST]).unwrap();
    versioned(&runs, |_| {}).release_after(&[Stream::HOST; 3]).unwrap();
    let tensor = legacy(&runs).upgrade().unwrap();
    let shared = tensor.share().unwrap();
    tensor.release_after(&[Stream::HOST]).unwrap();
    assert_eq!(runs.get(), 2);
    shared.release_after(&[Stream::HOST]).unwrap();
    assert_eq!(runs.get(), 3);
    UniqueTensor::from_vec(vec![1_u8], &[1]).unwrap().release_after(&[Stream::HOST]).unwrap();
    assert_eq!(collect(CollectOptions::new()).unwrap(), 0);
    assert_eq!(collect(CollectOptions::new().wait()).unwrap(), 0);
}

#[test]
fn a_rejected_release_returns_the_tensor() {
    let runs = Runs::default();
    let tensor = versioned(&runs, |_| {}).import(&ConvertOptions::DEFAULT).unwrap();
    let no_sync = Stream::no_sync(Backend::CUDA, Device::new(DeviceType::CUDA, 0));
    let rejected = tensor.release_after(&[Stream::HOST, no_sync]).unwrap_err();
    assert_eq!(rejected.error.status(), Status::INVALID_ARGUMENT);
    assert!(rejected.error.message().contains("streams[1]"), "{}", rejected.error);
    // An empty list names no work.
    let rejected = rejected.value.release_after(&[]).unwrap_err();
    assert!(rejected.error.message().contains("at least 1"), "{}", rejected.error);
    assert_eq!(rejected.value.as_slice::<f32>().unwrap()[5], 5.0);
    assert_eq!(runs.get(), 0);
    rejected.value.release_after(&[Stream::HOST]).unwrap();
    assert_eq!(runs.get(), 1);
    let unique = UniqueTensor::from_vec(vec![7_u8], &[1]).unwrap();
    let mut unique = unique.release_after(&[no_sync]).unwrap_err().value;
    unique.as_mut_slice::<u8>().unwrap()[0] = 8;
    let rejected = legacy(&runs).release_after(&[no_sync]).unwrap_err();
    assert_eq!(runs.get(), 1);
    drop(rejected);
    assert_eq!(runs.get(), 2);
}

#[test]
fn an_unknown_option_of_collect_is_rejected() {
    let error = collect(CollectOptions::from_bits(1 << 20)).unwrap_err();
    assert_eq!(error.status(), Status::TOO_NEW);
    assert_eq!(CollectOptions::new().wait(), CollectOptions::from_bits(sys::DLBRIDGE_COLLECT_WAIT));
}

#[test]
fn a_copy_on_the_host_is_complete() {
    let source = six();
    let pending = source.copy_async(&on_host()).unwrap();
    assert_eq!((pending.shape(), pending.device()), (&[2, 3][..], Device::CPU));
    assert_eq!(pending.stream().as_raw().kind, sys::DLBRIDGE_STREAM_HOST);
    drop(source);
    // The CPU can read it, so the work must have been waited for.
    let rejected = pending.on_device().unwrap_err();
    assert_eq!(rejected.error.status(), Status::UNSUPPORTED);
    let mut copy = rejected.value.synchronize().unwrap();
    copy.as_mut_slice::<f32>().unwrap()[0] = 9.0;
    assert_eq!(copy.as_slice::<f32>().unwrap(), [9.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    // SAFETY: copies on the host are complete.
    let copy = unsafe { six().copy_async(&on_host()).unwrap().assume_done() };
    assert_eq!(copy.as_slice::<f32>().unwrap()[5], 5.0);
    drop(six().copy_async(&on_host()).unwrap());
    assert_eq!(collect(CollectOptions::new()).unwrap(), 0);
}

#[test]
fn copies_that_no_stream_orders_are_rejected() {
    let rejected = |spec: &CopySpec<'_>| six().copy_async(spec).unwrap_err().status();
    assert_eq!(rejected(&CopySpec::new()), Status::INVALID_ARGUMENT);
    assert_eq!(rejected(&on_host().allow_staging()), Status::INVALID_ARGUMENT);
    // SAFETY: no driver uses it, since both sides are on the host.
    let queue = unsafe { Stream::queue(Backend::CUDA, Device::new(DeviceType::CUDA, 0), 4096, 0) };
    assert_eq!(rejected(&CopySpec::new().stream(queue)), Status::UNSUPPORTED);
    let runs = Runs::default();
    let policy = dlbridge::Policy::DEFAULT;
    let foreign = versioned(&runs, |_| {}).into_validated(&policy).unwrap();
    assert_eq!(foreign.copy_async(&on_host()).unwrap_err().status(), Status::FOREIGN_TENSOR);
}

#[test]
fn a_copy_goes_to_the_callers_memory() {
    let runs = Runs::default();
    let mut memory = vec![0.0_f32; 7];
    let target = Buffer::address(memory.as_mut_ptr());
    let counted = runs.clone();
    // SAFETY: nothing else uses the memory until the copy is dropped.
    let copy = unsafe {
        six().copy_into_async(&on_host(), target, 4, 28, move |released| {
            assert!(released.stream().is_none());
            counted.add();
        })
    };
    drop(copy.unwrap());
    assert_eq!((memory[6], runs.get()), (5.0, 1));
    let counted = runs.clone();
    // SAFETY: as above.
    let small = unsafe { six().copy_into_async(&on_host(), target, 8, 28, move |_| counted.add()) };
    assert_eq!(small.unwrap_err().status(), Status::BUFFER_TOO_SMALL);
    assert_eq!(runs.get(), 1);
}

/// Counts the allocations that may be used in the order of a stream.
struct Ordered(Arc<AtomicUsize>);

// SAFETY: Rust's own allocator.
unsafe impl Allocator for Ordered {
    fn allocate(
        &self,
        _: Device,
        bytes: u64,
        alignment: u64,
        stream: Option<&sys::DLBridgeStream>,
    ) -> *mut c_void {
        self.0.fetch_add(usize::from(stream.is_some()), Ordering::SeqCst);
        let layout = layout(bytes, alignment);
        // SAFETY: the size is not 0.
        unsafe { std::alloc::alloc(layout).cast() }
    }

    unsafe fn deallocate(
        &self,
        _: Device,
        memory: *mut c_void,
        bytes: u64,
        alignment: u64,
        _: Option<&sys::DLBridgeStream>,
    ) {
        // SAFETY: the values of the allocation.
        unsafe { std::alloc::dealloc(memory.cast(), layout(bytes, alignment)) };
    }
}

fn layout(bytes: u64, alignment: u64) -> std::alloc::Layout {
    let (bytes, alignment) = (usize::try_from(bytes), usize::try_from(alignment));
    std::alloc::Layout::from_size_align(bytes.unwrap(), alignment.unwrap()).unwrap()
}

#[test]
fn an_allocator_serves_copies_on_the_host() {
    let ordered = Arc::new(AtomicUsize::new(0));
    let hook = AllocatorHook::new(Ordered(ordered.clone()));
    let copy = six().copy_async(&on_host().allocator(&hook)).unwrap().synchronize().unwrap();
    assert_eq!(copy.as_slice::<f32>().unwrap()[4], 4.0);
    // Nothing orders memory by the host.
    assert_eq!(ordered.load(Ordering::SeqCst), 0);
}

#[test]
fn a_release_on_a_stream_runs_once() {
    let runs = Runs::default();
    let memory = [1.0_f32];
    let spec = WrapSpec::new(Buffer::address(memory.as_ptr()), Dtype::F32, &[1]);
    let counted = runs.clone();
    // SAFETY: the memory outlives the tensor, and the callback frees nothing.
    unsafe {
        let spec = spec.tensor_flags(dlbridge::Flags::READ_ONLY).release_on_stream();
        let release = move |released: dlbridge::Released| {
            assert!(released.stream().is_none());
            counted.add();
        };
        spec.wrap_with(release).unwrap().release_after(&[Stream::HOST]).unwrap();
        assert_eq!(runs.get(), 1);
        // Without a callback the option means nothing.
        assert_eq!(spec.wrap().unwrap_err().status(), Status::INVALID_ARGUMENT);
    }
}

#[test]
fn peers_are_unknown_where_no_driver_is_asked() {
    let local = 0_u8;
    let buffer = Buffer::address(&raw const local);
    // SAFETY: an address.
    let ask = |options| unsafe { pointer_info_with(buffer, Device::CPU, options) };
    assert_eq!(ask(PointerOptions::new().peers()).unwrap().peers(), None);
    assert_eq!(ask(PointerOptions::new()).unwrap().peers(), None);
    assert_eq!(ask(PointerOptions::from_bits(1 << 20)).unwrap_err().status(), Status::TOO_NEW);
}
