// SPDX-License-Identifier: Apache-2.0
//! The C callbacks of a [`Project`]. No panic leaves them.

use core::ffi::{c_char, c_void, CStr};
use core::mem::zeroed;
use core::ptr::{copy_nonoverlapping, null};
use core::slice;
use std::any::Any;
use std::ffi::CString;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::{ffi, CheckResult, Managed, Offer, Outcome, Project, Queue, Refusal, Report, Request};
use dlbridge_sys::DLPackExchangeAPIHeader;

const DONE: i32 = 0;
const REJECTED: i32 = 1;
const UNSUPPORTED: i32 = 2;
/// Bytes of a message, with its NUL.
const MESSAGE_SIZE: usize = 256;

/// The description of a project, which borrows it and its name.
pub fn project<P: Project>(project: &P, name: &CString) -> ffi::Project {
    // SAFETY: integers, pointers and optional functions, for which zero is valid.
    let mut given: ffi::Project = unsafe { zeroed() };
    let dtypes = project.dtypes();
    given.struct_size = ffi::size::<ffi::Project>();
    given.name = name.as_ptr();
    given.user = core::ptr::from_ref(project).cast_mut().cast();
    given.make = Some(make::<P>);
    given.consume = Some(consume::<P>);
    given.read = Some(read::<P>);
    given.write = Some(write::<P>);
    given.release = Some(release::<P>);
    given.collect = Some(collect::<P>);
    given.exchange_api = Some(exchange_api::<P>);
    given.live = project.live().map(|_| live::<P> as unsafe extern "C" fn(*mut c_void) -> i64);
    given.dtypes = if dtypes.is_empty() { null() } else { dtypes.as_ptr() };
    given.dtype_count = dtypes.len();
    given.unsupported = project.unsupported();
    if let Some(device) = project.queue_device() {
        given.queue_device = device;
    }
    given
}

fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_default())
}

/// Runs `work`, writes the reason of a refusal to `message`, and returns the answer.
unsafe fn answer(message: *mut c_char, work: impl FnOnce() -> Result<(), Refusal>) -> i32 {
    let outcome = catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(Refusal::Rejected(reason(panic.as_ref()))));
    let (text, number) = match outcome {
        Ok(()) => return DONE,
        Err(Refusal::Rejected(text)) => (text, REJECTED),
        Err(Refusal::Unsupported(text)) => (text, UNSUPPORTED),
    };
    let length = text.len().min(MESSAGE_SIZE - 1);
    // SAFETY: the kit's buffer has MESSAGE_SIZE bytes, all zero.
    unsafe { copy_nonoverlapping(text.as_ptr().cast(), message, length) };
    number
}

/// A slice of the kit's memory; empty if there is none.
unsafe fn slice<'a, T>(data: *const T, length: usize) -> &'a [T] {
    if data.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller has the length from the kit.
    unsafe { slice::from_raw_parts(data, length) }
}

unsafe fn request_of(given: &ffi::Request) -> Request<'_> {
    let ndim = usize::try_from(given.ndim).unwrap_or(0);
    // SAFETY: the kit's arrays have `ndim` entries, and the values their size.
    unsafe {
        Request {
            kind: given.kind,
            shape: slice(given.shape, ndim),
            strides: (!given.strides.is_null()).then(|| slice(given.strides, ndim)),
            dtype: given.dtype,
            device: given.device,
            tensor_flags: given.tensor_flags,
            features: given.features,
            values: slice(given.values.cast(), given.value_bytes),
            queue: Queue::of(given.queue),
            consumer: Queue::of(given.consumer),
        }
    }
}

unsafe extern "C" fn make<P: Project>(
    user: *mut c_void,
    request: *const ffi::Request,
    out: *mut ffi::Export,
    message: *mut c_char,
) -> i32 {
    // SAFETY: `user` is the project of `run`, and the other pointers are the kit's.
    unsafe {
        answer(message, || {
            let (managed, array) = (*user.cast::<P>()).make(&request_of(&*request))?;
            (*out).tensor = managed.tensor;
            (*out).kind = managed.kind;
            if let Some(array) = array {
                (*out).array = Box::into_raw(Box::new(array)).cast();
            }
            Ok(())
        })
    }
}

unsafe extern "C" fn consume<P: Project>(
    user: *mut c_void,
    offer: *const ffi::Offer,
    out: *mut *mut c_void,
    message: *mut c_char,
) -> i32 {
    // SAFETY: as for `make`.
    unsafe {
        answer(message, || {
            let offer = &*offer;
            let array = (*user.cast::<P>()).consume(&Offer {
                managed: Managed { tensor: offer.tensor, kind: offer.kind },
                features: offer.features,
                queue: Queue::of(offer.queue),
            })?;
            *out = Box::into_raw(Box::new(array)).cast();
            Ok(())
        })
    }
}

unsafe extern "C" fn read<P: Project>(
    user: *mut c_void,
    array: *mut c_void,
    out: *mut c_void,
    size: usize,
    written: *mut usize,
    message: *mut c_char,
) -> i32 {
    // SAFETY: `array` is a box of `make` or `consume`, and `out` has `size` bytes.
    unsafe {
        answer(message, || {
            let values = (*user.cast::<P>()).read(&*array.cast::<P::Array>())?;
            *written = values.len();
            copy_nonoverlapping(values.as_ptr(), out.cast(), values.len().min(size));
            Ok(())
        })
    }
}

unsafe extern "C" fn write<P: Project>(
    user: *mut c_void,
    array: *mut c_void,
    values: *const c_void,
    size: usize,
    message: *mut c_char,
) -> i32 {
    // SAFETY: as for `read`.
    unsafe {
        answer(message, || {
            let array = &mut *array.cast::<P::Array>();
            (*user.cast::<P>()).write(array, slice(values.cast(), size))
        })
    }
}

unsafe extern "C" fn release<P: Project>(_user: *mut c_void, array: *mut c_void) {
    // SAFETY: a box of `make` or `consume`, which the kit gives back once. A panic ends the child.
    drop(unsafe { Box::from_raw(array.cast::<P::Array>()) });
}

unsafe extern "C" fn collect<P: Project>(user: *mut c_void) {
    // SAFETY: `user` is the project of `run`. A panic ends the child.
    unsafe { (*user.cast::<P>()).collect() };
}

unsafe extern "C" fn exchange_api<P: Project>(user: *mut c_void) -> *const DLPackExchangeAPIHeader {
    // SAFETY: as for `collect`.
    unsafe { (*user.cast::<P>()).exchange_api() }
}

unsafe extern "C" fn live<P: Project>(user: *mut c_void) -> i64 {
    // SAFETY: `user` is the project of `run`.
    unsafe { (*user.cast::<P>()).live().unwrap_or(0) }
}

unsafe fn text(given: *const c_char) -> String {
    // SAFETY: texts of a result are never NULL.
    unsafe { CStr::from_ptr(given) }.to_string_lossy().into_owned()
}

/// Appends a result to the [`Report`].
pub unsafe extern "C" fn report(user: *mut c_void, result: *const ffi::Result) {
    // SAFETY: `user` is the report of `run`, and the result is the kit's.
    unsafe {
        let result = &*result;
        let outcome = match result.outcome {
            0 => Outcome::Passed,
            2 => Outcome::Known,
            3 => Outcome::Skipped,
            4 => Outcome::Stale,
            _ => Outcome::Failed,
        };
        (*user.cast::<Report>()).results.push(CheckResult {
            check: text(result.check),
            outcome,
            severity: result.severity,
            specification: text(result.specification),
            expected: text(result.expected),
            found: text(result.found),
            reproducer: text(result.reproducer),
        });
    }
}
