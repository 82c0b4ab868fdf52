// SPDX-License-Identifier: Apache-2.0
//! The table of the C exchange API of the library in `library.rs`, whose objects are boxed tensors.

use core::ffi::{c_char, c_int, c_void, CStr};
use core::mem::zeroed;
use core::ptr::null_mut;

use dlbridge_conformance::sys::{
    self, DLBridgeAllocateSpec, DLBridgeError, DLDeviceType, DLManagedTensorVersioned,
    DLPackExchangeAPI, DLPackExchangeAPIHeader, DLPackVersion, DLTensor, DLBRIDGE_KIND_VERSIONED,
    DLBRIDGE_OK,
};

use super::Tensor;

/// A table, which has a pointer to an older one.
pub struct Table(pub DLPackExchangeAPI);

// SAFETY: nothing changes a table.
unsafe impl Sync for Table {}

pub static WHOLE: Table = Table(DLPackExchangeAPI { current_work_stream: Some(stream), ..MADE });
pub static WITHOUT_STREAM: Table = Table(MADE);

const MADE: DLPackExchangeAPI = DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader {
        version: DLPackVersion { major: 1, minor: 3 },
        prev_api: null_mut(),
    },
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(from_object),
    managed_tensor_to_py_object_no_sync: Some(to_object),
    dltensor_from_py_object_no_sync: Some(borrow),
    current_work_stream: None,
};

type SetError = Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>;

unsafe extern "C" fn allocate(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    set_error: SetError,
) -> c_int {
    // SAFETY: the kit's pointers are valid.
    unsafe {
        let mut error: DLBridgeError = zeroed();
        let spec = DLBridgeAllocateSpec {
            shape: (*prototype).shape,
            ndim: (*prototype).ndim,
            dtype: (*prototype).dtype,
            ..DLBridgeAllocateSpec::INIT
        };
        if sys::dlbridge_allocate(&raw const spec, out, &raw mut error) == DLBRIDGE_OK {
            return 0;
        }
        let kind: &CStr = c"ValueError";
        set_error.unwrap()(context, kind.as_ptr(), error.message.as_ptr());
        -1
    }
}

unsafe extern "C" fn from_object(
    object: *mut c_void,
    out: *mut *mut DLManagedTensorVersioned,
) -> c_int {
    // SAFETY: an object is a boxed tensor.
    unsafe { sys::dlbridge_share((*object.cast::<Tensor>()).0, out, null_mut()) }
}

unsafe extern "C" fn to_object(
    tensor: *mut DLManagedTensorVersioned,
    out: *mut *mut c_void,
) -> c_int {
    let mut imported = null_mut();
    // SAFETY: the tensor is the kit's, and live.
    let status = unsafe {
        let kind = DLBRIDGE_KIND_VERSIONED;
        let tensor = tensor.cast();
        sys::dlbridge_import(tensor, kind, core::ptr::null(), &raw mut imported, null_mut())
    };
    if status == DLBRIDGE_OK {
        // SAFETY: the kit's place for the object.
        unsafe { *out = Box::into_raw(Box::new(Tensor(imported, None))).cast() };
    }
    status
}

unsafe extern "C" fn borrow(object: *mut c_void, out: *mut DLTensor) -> c_int {
    // SAFETY: an object is a boxed tensor.
    unsafe { *out = (*(*object.cast::<Tensor>()).0).dl_tensor };
    0
}

unsafe extern "C" fn stream(kind: DLDeviceType, id: i32, out: *mut *mut c_void) -> c_int {
    // SAFETY: the kit's place for the stream.
    unsafe { *out = null_mut() };
    if kind == sys::kDLCPU && id == 0 {
        0
    } else {
        -1
    }
}
