// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]

mod callbacks;
#[doc(hidden)]
pub mod ffi;
mod queue;

use core::ffi::{c_void, CStr};
use core::mem::zeroed;
use core::ptr::null;
use std::ffi::CString;
use std::path::PathBuf;

pub use dlbridge_sys as sys;
pub use queue::Queue;
use sys::{DLBridgeError, DLBridgeKind, DLDataType, DLDevice, DLPackExchangeAPIHeader};

/// Features of `dlbridge/conformance.h`, as bits.
#[allow(missing_docs)] // the header describes them
pub mod feature {
    pub const LEGACY: u32 = 1 << 0;
    pub const VERSIONED: u32 = 1 << 1;
    pub const STRIDES: u32 = 1 << 2;
    pub const NEGATIVE_STRIDES: u32 = 1 << 3;
    pub const ZERO_STRIDES: u32 = 1 << 4;
    pub const BYTE_OFFSET: u32 = 1 << 5;
    pub const SCALAR: u32 = 1 << 6;
    pub const EMPTY: u32 = 1 << 7;
    pub const READ_ONLY: u32 = 1 << 8;
    pub const COPY: u32 = 1 << 9;
    pub const SUB_BYTE: u32 = 1 << 10;
    pub const PADDED: u32 = 1 << 11;
    pub const UNALIGNED: u32 = 1 << 12;
    pub const SHARING: u32 = 1 << 13;
    pub const NULL_DELETER: u32 = 1 << 14;
    pub const EXCHANGE_OBJECTS: u32 = 1 << 15;
}

/// Why a callback does not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The project rejects the tensor or the request, for this reason.
    Rejected(String),
    /// The project lacks a feature that the request needs, which it has to declare.
    Unsupported(String),
}

/// A tensor that the project is to make.
#[derive(Debug)]
pub struct Request<'a> {
    /// `DLBRIDGE_KIND_LEGACY` or `DLBRIDGE_KIND_VERSIONED`.
    pub kind: DLBridgeKind,
    /// The extents.
    pub shape: &'a [i64],
    /// Strides in elements; none: compact, last axis fastest.
    pub strides: Option<&'a [i64]>,
    /// One of the project's dtypes.
    pub dtype: DLDataType,
    /// The project's device.
    pub device: DLDevice,
    /// `READ_ONLY`: of an immutable array. `IS_COPIED`: export a copy. Padded: elements of less than
    /// 8 bits are padded.
    pub tensor_flags: u64,
    /// The features that the request needs.
    pub features: u32,
    /// The elements in row-major order without gaps.
    pub values: &'a [u8],
    /// The queue on which the project has to write the values, as a device would.
    pub queue: Option<Queue>,
    /// With `queue`: the consumer's queue, whose later work must see the values. None: the values
    /// must be there at return.
    pub consumer: Option<Queue>,
}

/// A tensor for the project to consume.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The tensor.
    pub managed: Managed,
    /// The features that the tensor needs.
    pub features: u32,
    /// The queue on which the project has to read. Work on it sees the values, and the memory must
    /// live until that work is done.
    pub queue: Option<Queue>,
}

/// A managed tensor and which struct it is.
#[derive(Clone, Copy, Debug)]
pub struct Managed {
    /// The `DLManagedTensor` or `DLManagedTensorVersioned`.
    pub tensor: *mut c_void,
    /// `DLBRIDGE_KIND_LEGACY` or `DLBRIDGE_KIND_VERSIONED`.
    pub kind: DLBridgeKind,
}

/// A library to check. Methods may panic: a panic rejects the tensor with its message.
pub trait Project {
    /// An array of the library.
    type Array;

    /// The name of the project in the reports.
    fn name(&self) -> &str;

    /// Makes an array, and a managed tensor of it that the kit owns.
    ///
    /// # Errors
    /// The reason why there is none.
    fn make(&self, request: &Request) -> Result<(Managed, Option<Self::Array>), Refusal>;

    /// Takes a managed tensor over, which is live. After an error it is untouched, and the kit's.
    ///
    /// # Errors
    /// The reason why it is rejected.
    fn consume(&self, offer: &Offer) -> Result<Self::Array, Refusal>;

    /// The elements in row-major order without gaps.
    ///
    /// # Errors
    /// The reason why they cannot be read.
    fn read(&self, array: &Self::Array) -> Result<Vec<u8>, Refusal>;

    /// Overwrites the elements.
    ///
    /// # Errors
    /// The reason why they cannot be written.
    fn write(&self, array: &mut Self::Array, values: &[u8]) -> Result<(), Refusal> {
        let _ = (array, values);
        Err(Refusal::Rejected("the project has no write".into()))
    }

    /// The number of live arrays, if the library counts them.
    fn live(&self) -> Option<i64> {
        None
    }

    /// Frees what dropped arrays and deleters have left for later.
    fn collect(&self) {}

    /// The newest table of the C exchange API, which lives as long as the process; NULL: none.
    ///
    /// The table's objects are arrays here: `*mut Self::Array`, in a box of its own where the table
    /// makes one. A table that needs Python's objects declares [`feature::EXCHANGE_OBJECTS`].
    fn exchange_api(&self) -> *const DLPackExchangeAPIHeader {
        null()
    }

    /// The device of the queues, in host memory; none: the order of work is not checked.
    fn queue_device(&self) -> Option<DLDevice> {
        None
    }

    /// Features that the project lacks, of [`feature`].
    fn unsupported(&self) -> u32 {
        0
    }

    /// The supported dtypes; empty: all.
    fn dtypes(&self) -> &[DLDataType] {
        &[]
    }
}

/// How to run the checks. The default runs all of them and writes no report.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Run the checks whose names contain this text.
    pub only: Option<String>,
    /// Rounds of the checks for leaks; 0: 100,000.
    pub rounds: u32,
    /// Milliseconds for each check; 0: 10,000.
    pub time_limit_ms: u32,
    /// Write TAP 14 to this file.
    pub tap: Option<PathBuf>,
    /// Write `JUnit` XML to this file.
    pub junit: Option<PathBuf>,
    /// A file of known deviations.
    pub quirks: Option<PathBuf>,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It failed as the quirks say.
    Known,
    /// It did not run.
    Skipped,
    /// A quirk that no longer occurs.
    Stale,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct CheckResult {
    /// Its name in `conformance/checks.toml`.
    pub check: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// 1 crash, 2 corruption, 3 leak, 4 wrong answer, 5 deviation; 0 unless it failed.
    pub severity: i32,
    /// The text that demands it.
    pub specification: String,
    /// What was expected, after a failure.
    pub expected: String,
    /// What was found, after a failure; the reason of a skipped check.
    pub found: String,
    /// A few lines of C, after a failure.
    pub reproducer: String,
}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each check.
    pub results: Vec<CheckResult>,
}

impl Report {
    /// The results of failed checks and stale quirks.
    pub fn failures(&self) -> impl Iterator<Item = &CheckResult> {
        self.results.iter().filter(|one| matches!(one.outcome, Outcome::Failed | Outcome::Stale))
    }

    /// No check failed, and at least one passed.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures().next().is_none()
            && self.results.iter().any(|one| one.outcome == Outcome::Passed)
    }

    /// Panics unless the run was a success, with a line for each failure.
    ///
    /// # Panics
    /// As described.
    pub fn assert_success(&self) {
        let lines: Vec<_> = self
            .failures()
            .map(|one| format!("{}: expected {}, found {}", one.check, one.expected, one.found))
            .collect();
        assert!(self.is_success(), "the library does not conform to DLPack:\n{}", lines.join("\n"));
    }
}

fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("a text with a NUL: {text:?}"))
}

fn c_path(path: Option<&PathBuf>) -> Result<Option<CString>, String> {
    path.map(|path| c_string(&path.to_string_lossy())).transpose()
}

fn pointer(text: Option<&CString>) -> *const core::ffi::c_char {
    text.map_or(null(), |text| text.as_ptr())
}

/// Runs the checks, each in a forked process where the system has fork.
///
/// # Errors
/// The message of `dlbridge_conformance_run`: a wrong setting, an unreadable file of quirks, or a
/// report that cannot be written. What the checks find is in the report.
pub fn run<P: Project>(project: &P, settings: &Settings) -> Result<Report, String> {
    let name = c_string(project.name())?;
    let only = settings.only.as_deref().map(c_string).transpose()?;
    let tap = c_path(settings.tap.as_ref())?;
    let junit = c_path(settings.junit.as_ref())?;
    let quirks = c_path(settings.quirks.as_ref())?;
    let mut report = Report::default();
    let given = callbacks::project(project, &name);
    // SAFETY: integers, pointers and optional functions, for which zero is valid.
    let (mut how, mut summary, mut error) =
        unsafe { (zeroed::<ffi::Settings>(), zeroed::<ffi::Summary>(), zeroed::<DLBridgeError>()) };
    how.struct_size = ffi::size::<ffi::Settings>();
    how.rounds = settings.rounds;
    how.time_limit_ms = settings.time_limit_ms;
    how.only = pointer(only.as_ref());
    how.tap_path = pointer(tap.as_ref());
    how.junit_path = pointer(junit.as_ref());
    how.quirks_path = pointer(quirks.as_ref());
    how.report = Some(callbacks::report);
    how.report_user = (&raw mut report).cast();
    summary.struct_size = ffi::size::<ffi::Summary>();
    // SAFETY: the structs are filled in as the header says, and outlive the call.
    let status = unsafe {
        ffi::dlbridge_conformance_run(
            &raw const given,
            &raw const how,
            &raw mut summary,
            &raw mut error,
        )
    };
    if status == sys::DLBRIDGE_OK {
        return Ok(report);
    }
    // SAFETY: a failing call writes a message that ends with a NUL.
    Err(unsafe { CStr::from_ptr(error.message.as_ptr()) }.to_string_lossy().into_owned())
}
