// SPDX-License-Identifier: Apache-2.0
//! Names of dtypes and devices, and the line that describes a tensor.

use crate::error::{call, Error, Rule, Status};
use dlbridge_sys as sys;
use std::ffi::c_char;
use std::ptr::{null, null_mut};

/// A function that writes text into a buffer.
type Writer<'a> =
    &'a dyn Fn(*mut c_char, usize, *mut usize, *mut sys::DLBridgeError) -> sys::DLBridgeStatus;

/// The text that `write` writes.
pub(crate) fn text(write: Writer<'_>) -> Result<String, Error> {
    let mut buffer = vec![0_u8; 128];
    loop {
        let mut length = 0;
        let status = write(buffer.as_mut_ptr().cast(), buffer.len(), &raw mut length, null_mut());
        if status == sys::DLBRIDGE_ERROR_BUFFER_TOO_SMALL && length >= buffer.len() {
            buffer.resize(length + 1, 0);
            continue;
        }
        if status != sys::DLBRIDGE_OK {
            // Call again for the message.
            call(|error| write(buffer.as_mut_ptr().cast(), buffer.len(), &raw mut length, error))?;
        }
        buffer.truncate(length);
        return Ok(String::from_utf8_lossy(&buffer).into_owned());
    }
}

pub(crate) fn dtype(value: sys::DLDataType) -> Result<String, Error> {
    // SAFETY: the buffer is as long as stated.
    text(&|buffer, size, length, error| unsafe {
        sys::dlbridge_dtype_format(value, buffer, size, length, error)
    })
}

pub(crate) fn device(value: sys::DLDevice) -> Result<String, Error> {
    // SAFETY: the buffer is as long as stated.
    text(&|buffer, size, length, error| unsafe {
        sys::dlbridge_device_format(value, buffer, size, length, error)
    })
}

pub(crate) fn parse_dtype(name: &str) -> Result<sys::DLDataType, Error> {
    let mut out = sys::DLDataType { code: 0, bits: 0, lanes: 0 };
    // SAFETY: the text is as long as stated.
    call(|error| unsafe {
        sys::dlbridge_dtype_parse(start_of(name), name.len(), &raw mut out, error)
    })?;
    Ok(out)
}

pub(crate) fn parse_device(name: &str) -> Result<sys::DLDevice, Error> {
    let mut out = sys::DLDevice { device_type: 0, device_id: 0 };
    // SAFETY: the text is as long as stated.
    call(|error| unsafe {
        sys::dlbridge_device_parse(start_of(name), name.len(), &raw mut out, error)
    })?;
    Ok(out)
}

/// The start of a text, never dangling: an empty text has a valid pointer, too.
fn start_of(text: &str) -> *const c_char {
    if text.is_empty() {
        return c"".as_ptr();
    }
    text.as_ptr().cast()
}

/// The start of a slice; NULL if it is empty.
pub(crate) fn pointer_of<T>(slice: &[T]) -> *const T {
    if slice.is_empty() {
        null()
    } else {
        slice.as_ptr()
    }
}

/// The number of axes that stands for strides whose number is wrong, until a call reports it.
pub(crate) const WRONG_STRIDES: i32 = i32::MIN;

/// Reports strides whose number differs from that of the extents.
pub(crate) fn check_strides(ndim: i32) -> Result<(), Error> {
    if ndim != WRONG_STRIDES {
        return Ok(());
    }
    let text = "strides: expected one for each extent of the shape, found another number of them";
    Err(Error::new(Status::INVALID_ARGUMENT, Rule::NONE, text))
}

/// The number of axes for the library, which rejects `i32::MAX`.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // compared before
pub(crate) const fn axes(list: &[i64]) -> i32 {
    if list.len() > i32::MAX as usize {
        return i32::MAX;
    }
    list.len() as i32
}
