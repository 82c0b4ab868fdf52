// SPDX-License-Identifier: Apache-2.0
//! Errors, and rejections that return their argument.

use crate::values::text_of;
use dlbridge_sys as sys;
use std::ffi::CStr;
use std::fmt;
use std::mem::{forget, MaybeUninit};

/// Status of a call of the library. A newer library may return values that this crate does not
/// name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(pub i32);

/// The rule that a tensor broke; [`Rule::NONE`] if the error is not about a rule. A newer library
/// may return values that this crate does not name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rule(pub i32);

macro_rules! named {
    ($type:ident { $($(#[$doc:meta])* $name:ident = $value:ident,)* }) => {
        impl $type {
            $($(#[$doc])* #[doc = concat!("`", stringify!($value), "`")]
            pub const $name: Self = Self(sys::$value);)*
        }
    };
}

named!(Status {
    // [facts/statuses.toml]
    OK = DLBRIDGE_OK,
    INVALID_ARGUMENT = DLBRIDGE_ERROR_INVALID_ARGUMENT,
    TOO_NEW = DLBRIDGE_ERROR_TOO_NEW,
    OUT_OF_MEMORY = DLBRIDGE_ERROR_OUT_OF_MEMORY,
    INVALID_TENSOR = DLBRIDGE_ERROR_INVALID_TENSOR,
    VERSION = DLBRIDGE_ERROR_VERSION,
    POLICY = DLBRIDGE_ERROR_POLICY,
    UNREPRESENTABLE = DLBRIDGE_ERROR_UNREPRESENTABLE,
    UNKNOWN_CODE = DLBRIDGE_ERROR_UNKNOWN_CODE,
    FOREIGN_TENSOR = DLBRIDGE_ERROR_FOREIGN_TENSOR,
    UNSUPPORTED = DLBRIDGE_ERROR_UNSUPPORTED,
    BUFFER_TOO_SMALL = DLBRIDGE_ERROR_BUFFER_TOO_SMALL,
    PARSE = DLBRIDGE_ERROR_PARSE,
    NOT_FOUND = DLBRIDGE_ERROR_NOT_FOUND,
    BOUNDS = DLBRIDGE_ERROR_BOUNDS,
    FORKED = DLBRIDGE_ERROR_FORKED,
    UNAVAILABLE = DLBRIDGE_ERROR_UNAVAILABLE,
    DRIVER = DLBRIDGE_ERROR_DRIVER,
    EXISTS = DLBRIDGE_ERROR_EXISTS,
    CAPTURE = DLBRIDGE_ERROR_CAPTURE,
    DESCRIPTOR = DLBRIDGE_ERROR_DESCRIPTOR,
    AMBIGUOUS = DLBRIDGE_ERROR_AMBIGUOUS,
    // [/facts]
});

named!(Rule {
    // [facts/rules.toml]
    NONE = DLBRIDGE_RULE_NONE,
    VERSION_MAJOR = DLBRIDGE_RULE_VERSION_MAJOR,
    NDIM_NEGATIVE = DLBRIDGE_RULE_NDIM_NEGATIVE,
    NDIM_LIMIT = DLBRIDGE_RULE_NDIM_LIMIT,
    SHAPE_NULL = DLBRIDGE_RULE_SHAPE_NULL,
    STRIDES_NULL = DLBRIDGE_RULE_STRIDES_NULL,
    DTYPE_BITS_ZERO = DLBRIDGE_RULE_DTYPE_BITS_ZERO,
    DTYPE_LANES_ZERO = DLBRIDGE_RULE_DTYPE_LANES_ZERO,
    DTYPE_LANES_SCALABLE = DLBRIDGE_RULE_DTYPE_LANES_SCALABLE,
    DTYPE_BITS_FIXED = DLBRIDGE_RULE_DTYPE_BITS_FIXED,
    DTYPE_UNKNOWN = DLBRIDGE_RULE_DTYPE_UNKNOWN,
    DEVICE_UNKNOWN = DLBRIDGE_RULE_DEVICE_UNKNOWN,
    FLAGS_UNKNOWN = DLBRIDGE_RULE_FLAGS_UNKNOWN,
    DEVICE_ID_NEGATIVE = DLBRIDGE_RULE_DEVICE_ID_NEGATIVE,
    DEVICE_ID_HOST = DLBRIDGE_RULE_DEVICE_ID_HOST,
    EXTENT_NEGATIVE = DLBRIDGE_RULE_EXTENT_NEGATIVE,
    COUNT_OVERFLOW = DLBRIDGE_RULE_COUNT_OVERFLOW,
    SIZE_OVERFLOW = DLBRIDGE_RULE_SIZE_OVERFLOW,
    OFFSET_OVERFLOW = DLBRIDGE_RULE_OFFSET_OVERFLOW,
    DATA_NULL = DLBRIDGE_RULE_DATA_NULL,
    ADDRESS_RANGE = DLBRIDGE_RULE_ADDRESS_RANGE,
    HANDLE_RANGE = DLBRIDGE_RULE_HANDLE_RANGE,
    BUFFER_BOUNDS = DLBRIDGE_RULE_BUFFER_BOUNDS,
    CONTIGUITY = DLBRIDGE_RULE_CONTIGUITY,
    ALIGNMENT = DLBRIDGE_RULE_ALIGNMENT,
    DEVICE_REJECTED = DLBRIDGE_RULE_DEVICE_REJECTED,
    DTYPE_REJECTED = DLBRIDGE_RULE_DTYPE_REJECTED,
    NOT_WRITABLE = DLBRIDGE_RULE_NOT_WRITABLE,
    NEGATIVE_STRIDE = DLBRIDGE_RULE_NEGATIVE_STRIDE,
    ZERO_STRIDE = DLBRIDGE_RULE_ZERO_STRIDE,
    SELF_OVERLAP = DLBRIDGE_RULE_SELF_OVERLAP,
    DATA_UNALIGNED = DLBRIDGE_RULE_DATA_UNALIGNED,
    VERSION_LABEL = DLBRIDGE_RULE_VERSION_LABEL,
    REQUIRED_VERSION = DLBRIDGE_RULE_REQUIRED_VERSION,
    LEGACY_READ_ONLY = DLBRIDGE_RULE_LEGACY_READ_ONLY,
    LEGACY_PADDED = DLBRIDGE_RULE_LEGACY_PADDED,
    LEGACY_DTYPE = DLBRIDGE_RULE_LEGACY_DTYPE,
    LEGACY_DEVICE = DLBRIDGE_RULE_LEGACY_DEVICE,
    OFFSET_FOLD = DLBRIDGE_RULE_OFFSET_FOLD,
    VIEW_BOUNDS = DLBRIDGE_RULE_VIEW_BOUNDS,
    VIEW_OFFSET = DLBRIDGE_RULE_VIEW_OFFSET,
    IN_STORAGE = DLBRIDGE_RULE_IN_STORAGE,
    COPY_DEVICE = DLBRIDGE_RULE_COPY_DEVICE,
    DEVICE_LABEL = DLBRIDGE_RULE_DEVICE_LABEL,
    ALLOCATION_BOUNDS = DLBRIDGE_RULE_ALLOCATION_BOUNDS,
    SHAPE_MISMATCH = DLBRIDGE_RULE_SHAPE_MISMATCH,
    // [/facts]
});

impl Status {
    /// Its name, such as `DLBRIDGE_ERROR_VERSION`.
    #[must_use]
    pub fn name(self) -> &'static str {
        // SAFETY: takes any integer, returns static text.
        unsafe { text_of(sys::dlbridge_status_name(self.0)) }
    }

    /// One English sentence that describes it.
    #[must_use]
    pub fn text(self) -> &'static str {
        // SAFETY: as above.
        unsafe { text_of(sys::dlbridge_status_text(self.0)) }
    }
}

impl Rule {
    /// Its name, such as `NDIM_NEGATIVE`.
    #[must_use]
    pub fn name(self) -> &'static str {
        // SAFETY: takes any integer, returns static text.
        unsafe { text_of(sys::dlbridge_rule_name(self.0)) }
    }

    /// One English phrase that describes the violation.
    #[must_use]
    pub fn text(self) -> &'static str {
        // SAFETY: as above.
        unsafe { text_of(sys::dlbridge_rule_text(self.0)) }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), self.0)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Why a call failed: status, rule, axis, driver's code and message of the library. The operator
/// `?` stores it in a `Box<dyn Error>` or another crate's error type unchanged, so that a downcast
/// finds it:
///
/// ```
/// fn import(tensor: dlbridge::LegacyTensor) -> Result<(), Box<dyn std::error::Error>> {
///     tensor.upgrade()?;
///     Ok(())
/// }
///
/// # let mut shape = [-3];
/// # let mut raw = dlbridge::sys::DLManagedTensor {
/// #     dl_tensor: dlbridge::sys::DLTensor {
/// #         data: std::ptr::null_mut(),
/// #         device: dlbridge::sys::DLDevice { device_type: 1, device_id: 0 },
/// #         ndim: 1,
/// #         dtype: dlbridge::sys::DLDataType { code: 2, bits: 32, lanes: 1 },
/// #         shape: shape.as_mut_ptr(),
/// #         strides: std::ptr::null_mut(),
/// #         byte_offset: 0,
/// #     },
/// #     manager_ctx: std::ptr::null_mut(),
/// #     deleter: None,
/// # };
/// # let broken = unsafe { dlbridge::LegacyTensor::from_raw(std::ptr::NonNull::from(&mut raw)) };
/// let error = import(broken).unwrap_err();
/// let error = error.downcast_ref::<dlbridge::Error>().unwrap();
/// assert_eq!(error.rule(), dlbridge::Rule::EXTENT_NEGATIVE);
/// assert_eq!(error.axis(), Some(0));
/// ```
///
/// The message is on the heap. If there is no memory for it, it is empty; the status remains.
#[derive(Clone)]
pub struct Error {
    status: Status,
    rule: Rule,
    axis: i32,
    native_code: i32,
    message: String,
}

impl Error {
    /// The status that the call returned.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status
    }

    /// The rule that was broken, or [`Rule::NONE`].
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The axis concerned, from 0.
    #[must_use]
    pub fn axis(&self) -> Option<usize> {
        usize::try_from(self.axis).ok()
    }

    /// Code of the driver's call that failed; 0 if none failed.
    #[must_use]
    pub fn native_code(&self) -> i32 {
        self.native_code
    }

    /// What was expected, what was found, and what to do.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// An error that this crate itself reports.
    pub(crate) fn new(status: Status, rule: Rule, text: &str) -> Self {
        let mut error = Self { status, rule, axis: -1, native_code: 0, message: String::new() };
        error.set_message(text);
        error
    }

    /// Does not abort if memory is short, which may be the error itself.
    fn set_message(&mut self, text: &str) {
        if self.message.try_reserve_exact(text.len()).is_ok() {
            self.message.push_str(text);
        }
    }

    #[cold]
    #[inline(never)]
    fn from_raw(status: sys::DLBridgeStatus, raw: &MaybeUninit<sys::DLBridgeError>) -> Self {
        let raw = raw.as_ptr();
        // SAFETY: a failing call writes all fields; the message is read up to its NUL.
        let (rule, message) =
            unsafe { ((*raw).rule, CStr::from_ptr(std::ptr::addr_of!((*raw).message).cast())) };
        let mut error = Self::new(Status(status), Rule(rule), whole_text(message.to_bytes()));
        // SAFETY: as above.
        (error.axis, error.native_code) = unsafe { ((*raw).axis, (*raw).native_code) };
        error
    }
}

/// If the message was cut inside a character, that character is removed.
fn whole_text(bytes: &[u8]) -> &str {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    std::str::from_utf8(&bytes[..valid]).unwrap_or_default()
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("status", &self.status)
            .field("rule", &self.rule)
            .field("axis", &self.axis())
            .field("native_code", &self.native_code)
            .field("message", &self.message())
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_empty() {
            return write!(f, "{}", self.status);
        }
        f.write_str(self.message())
    }
}

impl std::error::Error for Error {}

/// The error of a `try_` call, with the untouched value that the call did not take.
///
/// It does not implement [`std::error::Error`] itself. The operator `?` converts it to its
/// [`Error`], also in a `Box<dyn Error>`, and drops the value, which releases a tensor.
pub struct Rejected<T> {
    /// Why.
    pub error: Error,
    /// The value that the call did not take.
    pub value: T,
}

impl<T> Rejected<T> {
    /// The status of its error.
    #[must_use]
    pub fn status(&self) -> Status {
        self.error.status()
    }

    /// The rule of its error.
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.error.rule()
    }

    /// Converts the value by `f` and keeps the error.
    pub(crate) fn map<U>(self, back: impl FnOnce(T) -> U) -> Rejected<U> {
        Rejected { error: self.error, value: back(self.value) }
    }
}

/// The result of a call that took ownership of `owner` if it succeeded.
#[inline]
pub(crate) fn taken<O, T>(owner: O, made: Result<T, Error>) -> Result<T, Rejected<O>> {
    match made {
        Ok(made) => {
            forget(owner);
            Ok(made)
        }
        Err(error) => Err(Rejected { error, value: owner }),
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<T> From<Rejected<T>> for Error {
    fn from(rejected: Rejected<T>) -> Self {
        rejected.error
    }
}

impl<T> From<Rejected<T>> for Box<dyn std::error::Error> {
    fn from(rejected: Rejected<T>) -> Self {
        rejected.error.into()
    }
}

impl<T> From<Rejected<T>> for Box<dyn std::error::Error + Send + Sync> {
    fn from(rejected: Rejected<T>) -> Self {
        rejected.error.into()
    }
}

/// Calls a function of the library, which writes the error only if it fails.
#[inline(always)]
#[allow(clippy::inline_always)] // else the hot path pays for an error that does not occur
pub(crate) fn call(
    function: impl FnOnce(*mut sys::DLBridgeError) -> sys::DLBridgeStatus,
) -> Result<(), Error> {
    let mut error = MaybeUninit::uninit();
    let status = function(error.as_mut_ptr());
    if status == sys::DLBRIDGE_OK {
        return Ok(());
    }
    Err(Error::from_raw(status, &error))
}

#[cfg(test)]
mod tests {
    use super::{call, sys, Rule, Status};

    #[test]
    fn all_fields_of_a_drivers_error_are_carried() {
        let error = call(|error| {
            let mut raw = sys::DLBridgeError {
                status: sys::DLBRIDGE_ERROR_DRIVER,
                axis: -1,
                ..sys::DLBridgeError::INIT
            };
            raw.rule = sys::DLBRIDGE_RULE_COPY_DEVICE;
            raw.native_code = 700;
            // The second byte of an "ä" is missing.
            for (slot, byte) in raw.message.iter_mut().zip(b"cuMemcpy \xc3") {
                *slot = core::ffi::c_char::from_ne_bytes([*byte]);
            }
            // SAFETY: an error that may be written to.
            unsafe { error.write(raw) };
            sys::DLBRIDGE_ERROR_DRIVER
        })
        .unwrap_err();
        assert_eq!((error.status(), error.rule()), (Status::DRIVER, Rule::COPY_DEVICE));
        assert_eq!((error.native_code(), error.axis()), (700, None));
        assert_eq!(error.to_string(), "cuMemcpy ");
        assert!(format!("{error:?}").contains("native_code: 700"));
    }
}
