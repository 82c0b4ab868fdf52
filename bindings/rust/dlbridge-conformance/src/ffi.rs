// SPDX-License-Identifier: Apache-2.0
//! The structs of `dlbridge/conformance.h`. `tests/layout.rs` here and `conformance/c/tests/layout.c`
//! state the same offsets.

use core::ffi::{c_char, c_void};
use dlbridge_sys::{
    DLBridgeError, DLBridgeKind, DLBridgeStatus, DLDataType, DLDevice, DLPackExchangeAPIHeader,
    DLPackVersion,
};

#[repr(C)]
pub struct Request {
    pub struct_size: u32,
    pub options: u32,
    pub kind: DLBridgeKind,
    pub ndim: i32,
    pub shape: *const i64,
    pub strides: *const i64,
    pub dtype: DLDataType,
    pub features: u32,
    pub device: DLDevice,
    pub tensor_flags: u64,
    pub max_version: DLPackVersion,
    pub values: *const c_void,
    pub value_bytes: usize,
    pub queue: *mut c_void,
    pub consumer: *mut c_void,
}

#[repr(C)]
pub struct Export {
    pub struct_size: u32,
    pub options: u32,
    pub tensor: *mut c_void,
    pub array: *mut c_void,
    pub kind: DLBridgeKind,
    pub reserved: u32,
}

#[repr(C)]
pub struct Offer {
    pub struct_size: u32,
    pub options: u32,
    pub tensor: *mut c_void,
    pub kind: DLBridgeKind,
    pub features: u32,
    pub queue: *mut c_void,
}

pub type Read = unsafe extern "C" fn(
    *mut c_void,
    *mut c_void,
    *mut c_void,
    usize,
    *mut usize,
    *mut c_char,
) -> i32;
pub type Write =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_void, usize, *mut c_char) -> i32;

#[repr(C)]
pub struct Project {
    pub struct_size: u32,
    pub options: u32,
    pub name: *const c_char,
    pub user: *mut c_void,
    pub make:
        Option<unsafe extern "C" fn(*mut c_void, *const Request, *mut Export, *mut c_char) -> i32>,
    pub consume: Option<
        unsafe extern "C" fn(*mut c_void, *const Offer, *mut *mut c_void, *mut c_char) -> i32,
    >,
    pub read: Option<Read>,
    pub write: Option<Write>,
    pub release: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    pub collect: Option<unsafe extern "C" fn(*mut c_void)>,
    pub live: Option<unsafe extern "C" fn(*mut c_void) -> i64>,
    pub exchange_api: Option<unsafe extern "C" fn(*mut c_void) -> *const DLPackExchangeAPIHeader>,
    pub dtypes: *const DLDataType,
    pub dtype_count: usize,
    pub device: DLDevice,
    pub queue_device: DLDevice,
    pub unsupported: u32,
    pub producer_unsupported: u32,
    pub consumer_unsupported: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Result {
    pub struct_size: u32,
    pub options: u32,
    pub outcome: i32,
    pub severity: i32,
    pub check: *const c_char,
    pub title: *const c_char,
    pub specification: *const c_char,
    pub expected: *const c_char,
    pub found: *const c_char,
    pub reproducer: *const c_char,
    pub reason: *const c_char,
    pub link: *const c_char,
}

#[repr(C)]
pub struct Settings {
    pub struct_size: u32,
    pub options: u32,
    pub isolation: u32,
    pub time_limit_ms: u32,
    pub rounds: u32,
    pub quirk_count: u32,
    pub quirks: *const c_void,
    pub quirks_path: *const c_char,
    pub only: *const c_char,
    pub tap_path: *const c_char,
    pub junit_path: *const c_char,
    pub command: *const *const c_char,
    pub report: Option<unsafe extern "C" fn(*mut c_void, *const Result)>,
    pub report_user: *mut c_void,
}

#[repr(C)]
pub struct Summary {
    pub struct_size: u32,
    pub options: u32,
    pub passed: u32,
    pub failed: u32,
    pub known: u32,
    pub skipped: u32,
    pub stale: u32,
    pub isolation: u32,
}

unsafe extern "C" {
    pub fn dlbridge_conformance_queue_submit(
        queue: *mut c_void,
        work: unsafe extern "C" fn(*mut c_void),
        context: *mut c_void,
    ) -> i32;
    pub fn dlbridge_conformance_queue_wait(queue: *mut c_void, other: *mut c_void) -> i32;
    pub fn dlbridge_conformance_queue_synchronize(queue: *mut c_void);
    pub fn dlbridge_conformance_run(
        project: *const Project,
        settings: *const Settings,
        out: *mut Summary,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
}

/// `struct_size` of a struct.
#[allow(clippy::cast_possible_truncation)] // no struct of the kit has 4 GiB
#[must_use]
pub const fn size<T>() -> u32 {
    size_of::<T>() as u32
}
