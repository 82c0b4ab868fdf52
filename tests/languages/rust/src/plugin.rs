// SPDX-License-Identifier: Apache-2.0
//! The plugin of plugin.h in Rust, and the functions that Python calls to share a tensor with all
//! plugins.

mod exchange;

use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;

use dlbridge::sys::DLManagedTensorVersioned;
use dlbridge::{import, ConvertOptions, Error, Kind, Tensor, VersionedTensor};

/// `DLBRIDGE_KIND_LEGACY`
const LEGACY: i32 = 1;
/// The status after a panic.
const PANICKED: i32 = -1;

fn status_of(error: &Error) -> i32 {
    error.status().0
}

/// The sum of a tensor of float32.
fn sum_of(tensor: &Tensor) -> Result<f64, Error> {
    Ok(tensor.as_strided::<f32>()?.iter().map(|value| f64::from(*value)).sum())
}

/// Imports a foreign tensor; the caller still owns a rejected one.
fn receive(managed: NonNull<c_void>, kind: i32) -> Result<Tensor, Error> {
    let kind = if kind == LEGACY { Kind::Legacy } else { Kind::Versioned };
    // SAFETY: the caller guarantees that it is a live tensor of that kind that it owns.
    unsafe { import(managed.as_ptr(), kind, &ConvertOptions::DEFAULT) }
}

fn take(tensor: NonNull<DLManagedTensorVersioned>) -> Result<(Box<Tensor>, f64), Error> {
    // SAFETY: the caller guarantees that it is a live tensor, and transfers its ownership.
    let foreign = unsafe { VersionedTensor::from_raw(tensor) };
    let tensor = foreign.import(&ConvertOptions::DEFAULT)?;
    let sum = sum_of(&tensor)?;
    Ok((Box::new(tensor), sum))
}

/// # Safety
///
/// As `TakeFunction` of plugin.h requires.
#[no_mangle]
pub unsafe extern "C" fn rust_take(
    tensor: NonNull<DLManagedTensorVersioned>,
    holder: *mut usize,
    sum: *mut f64,
) -> i32 {
    match catch_unwind(|| take(tensor)) {
        Ok(Ok((owner, total))) => {
            // SAFETY: the caller passes writable places.
            unsafe {
                *sum = total;
                *holder = Box::into_raw(owner) as usize;
            }
            0
        }
        Ok(Err(error)) => status_of(&error),
        Err(_) => PANICKED,
    }
}

/// # Safety
///
/// As `ShareFunction` of plugin.h requires.
#[no_mangle]
pub unsafe extern "C" fn rust_share(holder: usize, out: *mut *mut DLManagedTensorVersioned) -> i32 {
    // SAFETY: a holder is what `rust_take` made, and not yet dropped.
    let owner = unsafe { &*(holder as *const Tensor) };
    match owner.share() {
        Ok(shared) => {
            // SAFETY: the caller passes a writable place.
            unsafe { *out = shared.into_raw().as_ptr() };
            0
        }
        Err(error) => status_of(&error),
    }
}

/// # Safety
///
/// As `DropFunction` of plugin.h requires.
#[no_mangle]
pub unsafe extern "C" fn rust_drop(holder: usize) {
    // SAFETY: a holder is what `rust_take` made, and dropped once.
    drop(unsafe { Box::from_raw(holder as *mut Tensor) });
}

/// The result of a call for C: 0, or 1 and a message.
///
/// # Safety
///
/// `size` bytes at `message` are writable.
unsafe fn report(call: impl FnOnce() -> Result<(), String>, message: *mut u8, size: u32) -> i32 {
    let problem = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return 0,
        Ok(Err(problem)) => problem,
        Err(_) => "a panic".to_owned(),
    };
    let length = problem.len().min(size as usize - 1);
    // SAFETY: it fits, with its NUL.
    unsafe {
        message.copy_from_nonoverlapping(problem.as_ptr(), length);
        *message.add(length) = 0;
    }
    1
}

/// # Safety
///
/// As `ExchangeFunction` of plugin.h requires.
#[no_mangle]
pub unsafe extern "C" fn rust_exchange(
    managed: NonNull<c_void>,
    kind: i32,
    plugins: *const exchange::Plugin,
    count: u32,
    order: *const u32,
    deletes: *const i32,
    sum: *mut f64,
    message: *mut u8,
    size: u32,
) -> i32 {
    // SAFETY: the caller gives all of them as plugin.h requires.
    unsafe {
        let plugins = std::slice::from_raw_parts(plugins, count as usize);
        let order = std::slice::from_raw_parts(order, count as usize + 1);
        let deletes = exchange::Deletes::new(deletes);
        let call = || {
            let tensor = receive(managed, kind).map_err(|error| error.to_string())?;
            *sum = exchange::in_order(tensor, plugins, order, &deletes)?;
            Ok(())
        };
        report(call, message, size)
    }
}

/// # Safety
///
/// As `StormFunction` of plugin.h requires.
#[no_mangle]
pub unsafe extern "C" fn rust_storm(
    managed: NonNull<c_void>,
    kind: i32,
    plugins: *const exchange::Plugin,
    count: u32,
    threads: u32,
    rounds: u32,
    sum: f64,
    message: *mut u8,
    size: u32,
) -> i32 {
    // SAFETY: the caller gives all of them as plugin.h requires.
    unsafe {
        let plugins = std::slice::from_raw_parts(plugins, count as usize);
        let call = || {
            let tensor = receive(managed, kind).map_err(|error| error.to_string())?;
            exchange::storm(&tensor, plugins, threads as usize, rounds as usize, sum)
        };
        report(call, message, size)
    }
}
