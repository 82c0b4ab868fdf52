// SPDX-License-Identifier: Apache-2.0
//! The static initialisers and inline functions of dlbridge.h.

#[allow(clippy::wildcard_imports)] // nearly all of it
use crate::mirrors::*;
use core::ffi::c_void;
use core::mem::MaybeUninit;

/// `sizeof` in the type of `struct_size`.
#[allow(clippy::cast_possible_truncation)] // no struct of the ABI has 4 GiB
const fn size<T>() -> u32 {
    size_of::<T>() as u32
}

/// Zero is the default of every struct that starts with its size.
macro_rules! initialisers {
    ($($type:ident = $name:literal,)*) => {
        $(impl $type {
            #[doc = concat!("`", $name, "`: zero except the size.")]
            pub const INIT: Self = {
                // SAFETY: integers, raw pointers and optional functions, for which zero is valid.
                let mut value: Self = unsafe { MaybeUninit::zeroed().assume_init() };
                value.struct_size = size::<Self>();
                value
            };
        })*
    };
}

initialisers! {
    DLBridgeLayout = "DLBRIDGE_LAYOUT_INIT",
    DLBridgePolicy = "DLBRIDGE_POLICY_INIT",
    DLBridgeAllocator = "DLBRIDGE_ALLOCATOR_INIT",
    DLBridgeConvertOptions = "DLBRIDGE_CONVERT_OPTIONS_INIT",
    DLBridgeStorage = "DLBRIDGE_STORAGE_INIT",
    DLBridgeViewSpec = "DLBRIDGE_VIEW_SPEC_INIT",
    DLBridgeAllocateSpec = "DLBRIDGE_ALLOCATE_SPEC_INIT",
    DLBridgeBackendInfo = "DLBRIDGE_BACKEND_INFO_INIT",
    DLBridgePointerInfo = "DLBRIDGE_POINTER_INFO_INIT",
    DLBridgeWrapSpec = "DLBRIDGE_WRAP_SPEC_INIT",
    DLBridgeContextEntry = "DLBRIDGE_CONTEXT_ENTRY_INIT",
    DLBridgeCopySpec = "DLBRIDGE_COPY_SPEC_INIT",
    DLBridgeIpcExportSpec = "DLBRIDGE_IPC_EXPORT_SPEC_INIT",
    DLBridgeIpcSizes = "DLBRIDGE_IPC_SIZES_INIT",
    DLBridgeIpcImportSpec = "DLBRIDGE_IPC_IMPORT_SPEC_INIT",
}

impl DLBridgeError {
    /// `DLBRIDGE_ERROR_INIT`. No call needs it: an uninitialised error may be passed.
    pub const INIT: Self = Self {
        status: DLBRIDGE_OK,
        rule: DLBRIDGE_RULE_NONE,
        axis: -1,
        native_code: 0,
        reserved: [0; 2],
        message: [0; 224],
    };
}

impl DLBridgeBuffer {
    /// `DLBRIDGE_BUFFER_INIT`: nothing is set.
    pub const INIT: Self =
        Self { backend: DLBRIDGE_BACKEND_NONE, kind: 0, handle: 0, context: 0, reserved: 0 };

    /// `dlbridge_buffer_address`: a buffer of an address, backend and context not set.
    #[must_use]
    pub fn address(address: *const c_void) -> Self {
        Self { kind: DLBRIDGE_BUFFER_ADDRESS, handle: address as usize as u64, ..Self::INIT }
    }
}

impl DLBridgeStream {
    /// `DLBRIDGE_STREAM_INIT`: nothing is set.
    pub const INIT: Self = Self {
        backend: DLBRIDGE_BACKEND_NONE,
        kind: 0,
        // SAFETY: two integers.
        device: unsafe { MaybeUninit::zeroed().assume_init() },
        handle: 0,
        context: 0,
        reserved: 0,
    };
}
