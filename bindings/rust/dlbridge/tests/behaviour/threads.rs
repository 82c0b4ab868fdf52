// SPDX-License-Identifier: Apache-2.0
//! Types that may cross threads, and their use there.

use crate::producer::{legacy, Runs};
use dlbridge::{
    sys, AllocateSpec, AllocatorHook, BorrowedTensor, ContextInfo, ContextSpec, ConvertOptions,
    CopySpec, Error, ExchangeApi, LegacyTensor, Policy, Registration, RetainedContext,
    StoredTensor, Stream, Strided, StridedMut, Tensor, TensorView, UninitTensor, UniqueTensor,
    VersionedTensor, ViewSpec, WrapSpec,
};

/// Whether `$type` is `$trait`: an inherent item takes precedence over that of a trait.
macro_rules! is {
    ($type:ty: $trait:ident) => {{
        #[allow(dead_code)]
        trait Otherwise {
            const IS: bool = false;
        }
        impl<T: ?Sized> Otherwise for Probe<T> {}
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $trait> Probe<T> {
            const IS: bool = true;
        }
        <Probe<$type>>::IS
    }};
}

macro_rules! both {
    ($($type:ty),* $(,)?) => {
        $(const { assert!(is!($type: Send) && is!($type: Sync)) };)*
    };
}

macro_rules! neither {
    ($($type:ty),* $(,)?) => {
        $(const { assert!(!is!($type: Send) && !is!($type: Sync)) };)*
    };
}

#[test]
fn send_and_sync_follow_the_contract() {
    // Any thread may read and release a tensor.
    both!(LegacyTensor, VersionedTensor, Tensor, UniqueTensor, UninitTensor, StoredTensor<'static>);
    both!(
        BorrowedTensor<'static>,
        TensorView<'static>,
        Strided<'static, f32>,
        StridedMut<'static, f32>
    );
    both!(Policy<'static>, ConvertOptions<'static>, AllocatorHook, Error);
    both!(
        AllocateSpec<'static>,
        CopySpec<'static>,
        ViewSpec<'static>,
        WrapSpec<'static>,
        ContextSpec
    );
    both!(Stream, ContextInfo, Registration, RetainedContext);
    // Python's tables require the interpreter's lock; raw structs have no owner.
    neither!(ExchangeApi<'static>, sys::DLManagedTensor, sys::DLTensor);
    const { assert!(!is!(std::rc::Rc<u8>: Send) && is!(u8: Send)) };
}

#[test]
fn owners_are_shared_and_dropped_on_many_threads() {
    let runs = Runs::default();
    let tensor = legacy(&runs).upgrade().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let shared = tensor.share().unwrap();
                    assert_eq!(shared.as_slice::<f32>().unwrap()[5], 5.0);
                }
            });
        }
    });
    assert_eq!(runs.get(), 0);
    std::thread::spawn(move || drop(tensor)).join().unwrap();
    assert_eq!(runs.get(), 1);
}
