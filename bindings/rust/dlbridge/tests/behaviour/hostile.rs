// SPDX-License-Identifier: Apache-2.0
//! What a hostile program can do in safe Rust: contradictory and absurd arguments, owners that misbehave, and
//! the order in which things are dropped. Nothing of it is undefined behaviour: the sessions `valgrind` and
//! `address_sanitizer` run these tests too.

use crate::producer::{legacy, versioned, Runs};
use dlbridge::{
    collect, context_find, context_retain, context_unregister, contexts, AllocateSpec, Backend,
    Bool, CollectOptions, Complex, Contiguity, ConvertOptions, CopySpec, Device, DeviceType, Dtype,
    Error, Flags, HandOff, Level, Policy, Rule, Status, Storage, Stream, Tensor, UniqueTensor,
    Version, ViewSpec,
};
use std::mem::{replace, swap, MaybeUninit};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread;

fn six() -> Tensor {
    UniqueTensor::from_vec(vec![0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0], &[2, 3]).unwrap().into_shared()
}

fn status<T>(result: Result<T, Error>) -> Status {
    result.err().expect("an error").status()
}

// ------------------------------------------------------------------------------------- arguments

/// The library reads as many extents of a policy's shape as its limits state.
#[test]
fn limits_that_contradict_a_shape_are_rejected() {
    let tensor = six();
    let one = [-1];
    let short = Policy::new().shape(&one);
    for policy in [
        short.max_ndim(64).min_ndim(64),
        short.max_ndim(2).min_ndim(2),
        short.max_ndim(64),
        short.min_ndim(0),
        short.max_ndim(0),
        short.max_ndim(0).min_ndim(0),
        short.max_ndim(64).min_ndim(64).max_ndim(2).min_ndim(2),
        short.max_ndim(i32::MAX).min_ndim(i32::MAX),
        short.min_ndim(i32::MIN).max_ndim(i32::MIN),
    ] {
        assert_eq!(status(tensor.validate(&policy)), Status::INVALID_ARGUMENT, "{policy:?}");
    }
    let both = [2, -1];
    let shape = Policy::new().shape(&both);
    assert!(tensor.validate(&shape).is_ok());
    assert!(tensor.validate(&shape.min_ndim(2).max_ndim(2)).is_ok());
    assert!(tensor.validate(&short.shape(&both)).is_ok());
    assert!(tensor.validate(&Policy::new().max_ndim(1).shape(&both)).is_ok());
}

#[test]
fn lists_of_any_length() {
    let tensor = six();
    let long = vec![1; 100_000];
    assert!(tensor.view(&ViewSpec::new(&long)).is_err());
    assert!(tensor.view(&ViewSpec::new(&[2, 3]).strides(&long)).is_err());
    assert_eq!(status(tensor.validate(&Policy::new().shape(&long))), Status::INVALID_ARGUMENT);
    assert!(UniqueTensor::from_vec(vec![1_u8], &long).is_err());
    assert!(AllocateSpec::new(Dtype::U8, &long).allocate().is_err());
    let dtypes = vec![Dtype::U8; 100_000];
    let devices = vec![Device::new(DeviceType(7), 3); 100_000];
    let policy = Policy::new().dtypes(&dtypes);
    assert_eq!(tensor.validate(&policy).unwrap_err().rule(), Rule::DTYPE_REJECTED);
    let policy = Policy::new().devices(&devices);
    assert_eq!(tensor.validate(&policy).unwrap_err().rule(), Rule::DEVICE_REJECTED);
    assert_eq!(status(tensor.validate(&Policy::new().dtypes(&[]))), Status::INVALID_ARGUMENT);
}

#[test]
fn shapes_whose_products_overflow() {
    for shape in [
        [i64::MAX, i64::MAX, i64::MAX],
        [i64::MAX, 2, 1],
        [1 << 32, 1 << 31, 1],
        [-1, 2, 3],
        [i64::MIN, 0, 1],
        [1 << 62, 4, 0],
    ] {
        let vector = UniqueTensor::from_vec(vec![1.0_f64; 3], &shape);
        let fresh = AllocateSpec::new(Dtype::F64, &shape).allocate();
        let empty = shape.contains(&0) && shape.iter().all(|&extent| extent >= 0);
        assert_eq!(vector.is_ok(), fresh.is_ok(), "{shape:?}");
        if let Ok(tensor) = vector {
            assert!(empty, "{shape:?}");
            assert!(tensor.as_slice::<f64>().unwrap().is_empty());
            assert_eq!(tensor.as_strided::<f64>().unwrap().iter().count(), 0);
        }
    }
}

#[test]
fn views_beyond_their_parent() {
    let tensor = six();
    let view = |shape: &[i64], strides: &[i64], offset| {
        status(tensor.view(&ViewSpec::new(shape).strides(strides).offset(offset)))
    };
    for offset in [6, -1, i64::MAX, i64::MIN] {
        assert_eq!(view(&[1], &[1], offset), Status::BOUNDS);
    }
    assert_eq!(view(&[2], &[6], 0), Status::BOUNDS);
    assert_eq!(view(&[2], &[-1], 0), Status::BOUNDS);
    assert!(tensor.view(&ViewSpec::new(&[2]).strides(&[i64::MIN])).is_err());
    assert!(tensor.view(&ViewSpec::new(&[3, 3]).strides(&[i64::MAX, 1])).is_err());
    // A view of a view keeps the limits of the first.
    let last = tensor.view(&ViewSpec::new(&[2]).offset(4)).unwrap();
    assert_eq!(status(last.view(&ViewSpec::new(&[3]))), Status::BOUNDS);
    // Reversed, by a negative stride from the last element.
    let reversed = last.view(&ViewSpec::new(&[2]).strides(&[-1]).offset(1)).unwrap();
    let read = reversed.as_strided::<f32>().unwrap().iter().copied().collect::<Vec<_>>();
    assert_eq!(read, [5.0, 4.0]);
    assert!(reversed.as_slice::<f32>().is_err());
}

#[test]
fn elements_of_another_type() {
    let tensor = six();
    assert!(tensor.as_slice::<f64>().is_err());
    assert!(tensor.as_slice::<u32>().is_err());
    assert!(tensor.as_slice::<Bool>().is_err());
    for dtype in [Dtype::F64, Dtype::U8, Dtype::new(9, 200, 7), Dtype::new(0, 0, 0)] {
        let result = tensor.view(&ViewSpec::new(&[2, 3]).dtype(dtype));
        assert!(result.is_err() || dtype == Dtype::new(0, 0, 0), "{dtype}");
    }
    let bits = tensor.view(&ViewSpec::new(&[6]).dtype(Dtype::U32)).unwrap();
    assert_eq!(bits.as_slice::<u32>().unwrap()[1], 1.0_f32.to_bits());
    // Eight bytes that are aligned to four only as complex numbers.
    let pairs = UniqueTensor::from_vec(vec![Complex { re: 1.0_f32, im: 2.0 }; 3], &[3]).unwrap();
    let pairs = pairs.into_shared().view(&ViewSpec::new(&[3]).dtype(Dtype::F64)).unwrap();
    let read = pairs.as_slice::<f64>();
    let aligned = (pairs.as_view().data() as usize) % align_of::<f64>() == 0;
    assert_eq!(read.is_ok(), aligned);
    // Any byte may become a Bool, but none a bool.
    let bytes = UniqueTensor::from_vec(vec![0_u8, 1, 255], &[3]).unwrap().into_shared();
    let truths = bytes.view(&ViewSpec::new(&[3]).dtype(Dtype::BOOL)).unwrap();
    assert!(truths.as_slice::<Bool>().unwrap()[2].get());
}

#[test]
fn indices_outside_of_the_shape() {
    let tensor = six();
    let elements = tensor.as_strided::<f32>().unwrap();
    let outside: [&[usize]; 6] =
        [&[], &[0], &[2, 0], &[0, 3], &[usize::MAX, usize::MAX], &[0, 0, 0]];
    for index in outside {
        assert_eq!(elements.get(index), None, "{index:?}");
    }
    assert_eq!(elements.get(&[1, 2]), Some(&5.0));
}

#[test]
fn allocations_that_cannot_be() {
    let spec = AllocateSpec::new(Dtype::F32, &[4]);
    for alignment in [3, 1 << 63, u64::MAX] {
        assert!(spec.alignment(alignment).allocate().is_err(), "{alignment}");
    }
    for kind in [2, 4, 17, 99, -1, i32::MIN] {
        assert!(spec.device(Device::new(DeviceType(kind), i32::MAX)).allocate().is_err(), "{kind}");
    }
    assert!(spec.tensor_flags(Flags(u64::MAX)).allocate().is_err());
    assert!(spec.version(Version::new(u32::MAX, u32::MAX)).allocate().is_err());
    assert!(AllocateSpec::new(Dtype::F32, &[1 << 60]).allocate().is_err());
    for dtype in [Dtype::new(255, 255, 65535), Dtype::new(2, 0, 1), Dtype::new(2, 32, 0)] {
        let made = AllocateSpec::new(dtype, &[4]).allocate();
        assert!(made.map_or(true, |tensor| tensor.zeroed().is_ok()), "{dtype}");
    }
}

#[test]
fn tensors_that_must_not_be_written_to() {
    let spec = AllocateSpec::new(Dtype::F32, &[4]).tensor_flags(Flags::READ_ONLY);
    let mut tensor = spec.allocate().unwrap();
    assert!(tensor.as_uninit_slice::<f32>().is_err());
    if let Ok(mut zeros) = tensor.try_zeroed() {
        assert_eq!(zeros.as_mut_slice::<f32>().unwrap_err().rule(), Rule::NOT_WRITABLE);
        assert_eq!(zeros.as_mut_strided::<f32>().err().unwrap().rule(), Rule::NOT_WRITABLE);
    }
}

#[test]
fn copies_to_absurd_targets() {
    let tensor = six();
    for kind in [0, 2, 4, 10, 99, -1, i32::MAX] {
        let spec = CopySpec::new().device(Device::new(DeviceType(kind), -7)).allow_staging();
        assert!(tensor.as_view().copy(&spec).is_err(), "{kind}");
        assert!(tensor.copy_async(&spec.stream(Stream::HOST)).is_err(), "{kind}");
    }
    let none = Stream::no_sync(Backend(99), Device::new(DeviceType(-5), -5));
    assert!(tensor.copy_async(&CopySpec::new().stream(none)).is_err());
    assert!(tensor.as_view().copy(&CopySpec::new().tensor_flags(Flags(u64::MAX))).is_err());
    let copied = tensor.copy_async(&CopySpec::new().stream(Stream::HOST)).unwrap();
    let copied = copied.on_device().unwrap_err().value.synchronize().unwrap();
    assert_eq!(copied.as_slice::<f32>().unwrap(), tensor.as_slice::<f32>().unwrap());
}

#[test]
fn options_of_unknown_bits() {
    assert!(collect(CollectOptions::from_bits(u32::MAX)).is_err());
    let host = Stream::HOST;
    assert!(host.hand_off(&host, HandOff::from_bits(u32::MAX)).is_err());
    assert!(Stream::no_sync(Backend::CUDA, Device::CPU).synchronize().is_err());
    let runs = Runs::default();
    let kept = legacy(&runs).release_after(&[]).unwrap_err().value;
    let kept = kept.release_after(&[Stream::no_sync(Backend(-1), Device::CPU)]).unwrap_err().value;
    assert_eq!(runs.get(), 0);
    kept.release_after(&[host; 70]).map_err(|rejected| rejected.error).unwrap();
    assert_eq!(runs.get(), 1);
}

#[test]
fn texts_that_are_no_names() {
    let long = "x".repeat(100_000);
    for text in ["", "\0", "float32\0", "f\u{1f600}", "cuda:99999999999999999999", &long] {
        assert!(text.parse::<Dtype>().is_err(), "{text}");
        assert!(text.parse::<Device>().is_err(), "{text}");
    }
    let error = "float\u{7f}\u{202e}32".parse::<Dtype>().unwrap_err();
    assert!(!error.message().is_empty());
}

#[test]
fn entries_that_do_not_exist() {
    for id in [0, 1, u64::MAX] {
        assert!(context_retain(id).is_err());
        assert!(context_unregister(id).is_err());
    }
    assert!(context_find(Device::new(DeviceType(-1), -1), u64::MAX).is_err());
    assert!(contexts().take(1_000_000).count() < 1_000_000);
    let mut walk = contexts();
    while walk.next().is_some() {}
    assert!(walk.next().is_none());
}

#[test]
fn policies_of_any_values() {
    let tensor = six();
    let policy = Policy::new().level(Level::Struct).alignment(64).buffer_size(0);
    assert_eq!(status(tensor.validate(&policy)), Status::INVALID_ARGUMENT);
    assert_eq!(status(tensor.validate(&Policy::new().alignment(3))), Status::INVALID_ARGUMENT);
    let policy = Policy::new().buffer_size(u64::MAX).contiguity(Contiguity::COrF);
    assert!(tensor.validate(&policy).is_ok());
    let policy = Policy::new().buffer_size(23);
    assert_eq!(tensor.validate(&policy).unwrap_err().rule(), Rule::BUFFER_BOUNDS);
    let policy = Policy::new().version(Version::new(u32::MAX, u32::MAX));
    assert!(tensor.validate(&policy).is_err());
}

// ------------------------------------------------------------------------- owners that misbehave

/// An owner whose elements differ each time it is asked.
struct Fickle(Mutex<usize>, [Vec<f32>; 2]);

impl AsRef<[f32]> for Fickle {
    fn as_ref(&self) -> &[f32] {
        let mut turn = self.0.lock().unwrap();
        *turn += 1;
        &self.1[*turn % 2]
    }
}

#[test]
fn an_owner_is_asked_once() {
    let owner = Fickle(Mutex::new(0), [vec![], vec![1.0, 2.0]]);
    let tensor = Tensor::from_owner(owner, &[2]).unwrap();
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [1.0, 2.0]);
}

/// An owner that does something when it is dropped.
struct OnDrop<F: FnMut() + Send + Sync>(Vec<f32>, F);

impl<F: FnMut() + Send + Sync> AsRef<[f32]> for OnDrop<F> {
    fn as_ref(&self) -> &[f32] {
        &self.0
    }
}

impl<F: FnMut() + Send + Sync> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.1)();
    }
}

fn lend(on_drop: impl FnMut() + Send + Sync + 'static) -> Tensor {
    Tensor::from_owner(OnDrop(vec![1.0, 2.0], on_drop), &[2]).unwrap()
}

/// One call of each kind.
fn use_the_library() {
    let runs = Runs::default();
    let upgraded = legacy(&runs).upgrade().unwrap();
    let shared = upgraded.share().unwrap();
    assert_eq!(shared.as_view().copy(&CopySpec::new()).unwrap().as_slice::<f32>().unwrap()[5], 5.0);
    drop(versioned(&runs, |_| {}).downgrade(&ConvertOptions::new()));
    drop((upgraded, shared));
    collect(CollectOptions::new().wait()).unwrap();
    assert!(!format!("{:?}", six()).is_empty());
    assert_eq!(runs.get(), 2);
}

#[test]
fn a_drop_that_uses_the_library() {
    let runs = Runs::default();
    let counter = runs.clone();
    drop(lend(move || {
        counter.add();
        use_the_library();
    }));
    assert_eq!(runs.get(), 1);
}

#[test]
fn drops_that_drop_other_tensors() {
    let runs = Runs::default();
    let counter = runs.clone();
    let mut last = lend(move || counter.add());
    for _ in 0..500 {
        let counter = runs.clone();
        let mut next = Some(Mutex::new(last));
        last = lend(move || {
            counter.add();
            drop(next.take());
        });
    }
    let shared = last.share().unwrap();
    drop(last);
    assert_eq!(runs.get(), 0);
    drop(shared);
    assert_eq!(runs.get(), 501);
}

/// No lock of the library is held while a drop runs.
#[test]
fn a_drop_that_waits_for_another_thread() {
    let gate = Arc::new((Mutex::new(0), Condvar::new()));
    let inside = gate.clone();
    let tensor = lend(move || {
        let (state, changed) = &*inside;
        *state.lock().unwrap() = 1;
        changed.notify_all();
        drop(changed.wait_while(state.lock().unwrap(), |state| *state < 2).unwrap());
    });
    let releasing = thread::spawn(move || drop(tensor));
    let (state, changed) = &*gate;
    drop(changed.wait_while(state.lock().unwrap(), |state| *state < 1).unwrap());
    use_the_library();
    *state.lock().unwrap() = 2;
    changed.notify_all();
    releasing.join().unwrap();
}

/// A tensor whose owner keeps the tensor itself is never dropped: a leak, and nothing else.
#[test]
fn a_cycle_leaks() {
    let place = Arc::new(Mutex::new(None));
    let inside = place.clone();
    let tensor = lend(move || drop(inside.lock().unwrap().take()));
    *place.lock().unwrap() = Some(tensor.share().unwrap());
    drop(tensor);
    // Broken by hand, so that tools that look for leaks find none.
    let kept = place.lock().unwrap().take();
    drop(kept);
}

#[cfg(unix)]
#[test]
fn a_drop_after_a_fork() {
    extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let runs = Runs::default();
    let counter = runs.clone();
    let tensor = lend(move || counter.add());
    // SAFETY: the child only drops the tensor and ends.
    unsafe {
        let child = fork();
        drop(tensor);
        if child == 0 {
            _exit(i32::from(runs.get() != 1));
        }
        let mut status = -1;
        assert_eq!(waitpid(child, &raw mut status, 0), child);
        assert_eq!(status, 0);
    }
    assert_eq!(runs.get(), 1);
}

// --------------------------------------------------------------------------- orders of dropping

#[test]
fn owners_that_change_places() {
    let (mut a, mut b) = (six(), lend(|| {}));
    swap(&mut a, &mut b);
    let old = replace(&mut a, b.share().unwrap());
    drop(b);
    assert_eq!(a.as_slice::<f32>().unwrap()[5], 5.0);
    assert_eq!(old.as_slice::<f32>().unwrap(), [1.0, 2.0]);
    let mut pair = (a, Some(old));
    pair.1 = None;
    pair.0 = six();
    assert_eq!(pair.0.shape(), [2, 3]);
}

#[test]
fn storage_is_used_again() {
    let runs = Runs::default();
    let mut storage = Storage::<512>::new();
    for _ in 0..3 {
        let options = ConvertOptions::new();
        let stored = legacy(&runs).upgrade_into(storage.as_bytes(), &options).unwrap();
        assert_eq!(stored.as_slice::<f32>().unwrap()[5], 5.0);
    }
    assert_eq!(runs.get(), 3);
    storage.as_bytes().fill(MaybeUninit::new(0xff));
    // Too short, and not aligned.
    let options = ConvertOptions::new();
    assert!(legacy(&runs).upgrade_into(&mut storage.as_bytes()[..8], &options).is_err());
    assert!(legacy(&runs).upgrade_into(&mut storage.as_bytes()[1..], &options).is_err());
    assert!(legacy(&runs).upgrade_into(&mut [], &options).is_err());
    assert_eq!(runs.get(), 6);
}

#[test]
fn vectors_of_all_kinds() {
    let mut roomy = Vec::with_capacity(100);
    roomy.extend([1_i16, 2, 3]);
    let tensor = UniqueTensor::from_vec(roomy, &[3]).unwrap();
    assert!(UniqueTensor::from_vec(vec![1_i16; 3], &[4]).is_err());
    assert_eq!(tensor.into_shared().as_slice::<i16>().unwrap(), [1, 2, 3]);
    let empty = UniqueTensor::from_vec(Vec::<f64>::new(), &[0]).unwrap();
    assert!(empty.as_slice::<f64>().unwrap().is_empty());
    let scalar = UniqueTensor::from_vec(vec![7_u64], &[]).unwrap();
    assert_eq!(scalar.as_slice::<u64>().unwrap(), [7]);
    let shared: Arc<[f32]> = vec![1.0, 2.0].into();
    let tensor = Tensor::from_arc(shared.clone(), &[2]).unwrap();
    drop(shared);
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [1.0, 2.0]);
    let nothing: Arc<[f32]> = Vec::new().into();
    assert!(Tensor::from_arc(nothing.clone(), &[0]).unwrap().as_slice::<f32>().unwrap().is_empty());
    assert!(Tensor::from_arc(nothing, &[1]).is_err());
}

/// A static is never dropped, one of a thread after everything else of it.
#[test]
fn owners_in_statics() {
    static KEPT: OnceLock<Tensor> = OnceLock::new();
    thread_local!(static OF_THREAD: Mutex<Option<Tensor>> = const { Mutex::new(None) });
    let runs = Runs::default();
    let counter = runs.clone();
    let tensor = KEPT.get_or_init(six).share().unwrap();
    thread::spawn(move || {
        let kept = lend(move || {
            counter.add();
            use_the_library();
        });
        OF_THREAD.with(|place| *place.lock().unwrap() = Some(kept));
    })
    .join()
    .unwrap();
    assert_eq!(runs.get(), 1);
    assert_eq!(tensor.as_slice::<f32>().unwrap().len(), 6);
}

#[test]
fn views_on_many_threads() {
    let tensor = six();
    thread::scope(|scope| {
        for (place, value) in (0..6).zip([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]) {
            let tensor = &tensor;
            scope.spawn(move || {
                for _ in 0..100 {
                    let view = tensor.view(&ViewSpec::new(&[1]).offset(place)).unwrap();
                    assert_eq!(view.as_slice::<f32>().unwrap(), [value]);
                    let _ = format!("{view:?}");
                }
            });
        }
    });
}

/// A mutable slice ends with a panic, and the tensor is usable afterwards.
#[test]
fn a_panic_while_elements_are_written() {
    let mut tensor = UniqueTensor::from_vec(vec![0_i32; 4], &[4]).unwrap();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut written = 0;
        tensor.as_mut_strided::<i32>().unwrap().fill_with(|_| {
            written += 1;
            assert!(written < 3, "the third element");
            written
        });
    }));
    assert!(result.is_err());
    assert_eq!(tensor.as_slice::<i32>().unwrap(), [1, 2, 0, 0]);
}

#[test]
fn a_message_gives_no_right_to_write() {
    use std::io::Write;
    let spec = AllocateSpec::new(Dtype::F32, &[4]).shareable();
    let tensor = spec.allocate().unwrap().zeroed().unwrap().into_shared();
    let mut message = tensor.ipc_export().unwrap();
    let fd = message.fds.pop().unwrap();
    let mut file = std::fs::File::from(fd);
    assert!(file.write_all(&[255; 16]).is_err());
    assert!(file.set_len(0).is_err());
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [0.0; 4]);
}
