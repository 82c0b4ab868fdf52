// SPDX-License-Identifier: Apache-2.0
//! The static initialisers and inline functions of dlbridge.h.

#[allow(clippy::wildcard_imports)] // nearly all of it
use crate::mirrors::*;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{addr_of_mut, null, null_mut};

/// `sizeof` as the structs carry it.
#[allow(clippy::cast_possible_truncation)] // no struct of the ABI has 4 GiB
const fn size<T>() -> u32 {
    size_of::<T>() as u32
}

const NO_VERSION: DLPackVersion = DLPackVersion { major: 0, minor: 0 };
const CPU: DLDevice = DLDevice { device_type: kDLCPU, device_id: 0 };
const FLOAT32: DLDataType = DLDataType { code: kDLFloat, bits: 32, lanes: 1 };

impl DLBridgeError {
    /// `DLBRIDGE_ERROR_INIT`. It clears 256 bytes: in a hot path use [`DLBridgeError::prepare`].
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        status: DLBRIDGE_OK,
        rule: DLBRIDGE_RULE_NONE,
        axis: -1,
        message: [0; 240],
    };

    /// `dlbridge_error_init`: makes `error` ready for a call; writes its first fields only.
    #[inline]
    pub fn prepare(error: &mut MaybeUninit<Self>) -> *mut Self {
        let error = error.as_mut_ptr();
        // SAFETY: `error` may be written to.
        unsafe {
            addr_of_mut!((*error).struct_size).write(size::<Self>());
            addr_of_mut!((*error).status).write(DLBRIDGE_OK);
            addr_of_mut!((*error).rule).write(DLBRIDGE_RULE_NONE);
            addr_of_mut!((*error).axis).write(-1);
            addr_of_mut!((*error).message[0]).write(0);
        }
        error
    }
}

impl DLBridgeLayout {
    /// `DLBRIDGE_LAYOUT_INIT`.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        flags: 0,
        item_bits: 0,
        self_overlap: DLBRIDGE_NO,
        element_count: 0,
        packed_bytes: 0,
        begin: 0,
        end: 0,
        broadcast_axes: 0,
        negative_axes: 0,
        alignment: 0,
    };
}

impl DLBridgePolicy {
    /// `DLBRIDGE_POLICY_INIT`: the default policy.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        level: DLBRIDGE_LEVEL_METADATA,
        version: NO_VERSION,
        flags: 0,
        max_ndim: 64,
        contiguity: DLBRIDGE_CONTIGUITY_ANY,
        reserved0: 0,
        alignment: 0,
        buffer_size: u64::MAX,
        devices: null(),
        device_count: 0,
        dtypes: null(),
        dtype_count: 0,
        reserved: [0; 2],
    };
}

impl DLBridgeAllocator {
    /// `DLBRIDGE_ALLOCATOR_INIT`.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        reserved0: 0,
        context: null_mut(),
        allocate: None,
        deallocate: None,
    };
}

impl DLBridgeConvertOptions {
    /// `DLBRIDGE_CONVERT_OPTIONS_INIT`.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        flags: 0,
        version: NO_VERSION,
        source_flags: 0,
        policy: null(),
        allocator: null(),
        reserved: [0; 2],
    };
}

impl DLBridgeStorage {
    /// `DLBRIDGE_STORAGE_INIT`.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        reserved0: 0,
        memory: null_mut(),
        size: 0,
        released: None,
        context: null_mut(),
    };
}

impl DLBridgeViewSpec {
    /// `DLBRIDGE_VIEW_SPEC_INIT`.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        ndim: 0,
        shape: null(),
        strides: null(),
        offset: 0,
        reserved: [0; 2],
    };
}

impl DLBridgeAllocateSpec {
    /// `DLBRIDGE_ALLOCATE_SPEC_INIT`: a float32 scalar on the CPU.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        ndim: 0,
        shape: null(),
        device: CPU,
        dtype: FLOAT32,
        reserved0: 0,
        alignment: 0,
        flags: 0,
        version: NO_VERSION,
        allocator: null(),
        reserved: [0; 2],
        options: 0,
        reserved1: 0,
    };
}

impl DLBridgeBackendInfo {
    /// `DLBRIDGE_BACKEND_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        backend: DLBRIDGE_BACKEND_NONE,
        state: 0,
        device_count: 0,
        driver_code: 0,
        reserved0: 0,
        driver_version: [0; 64],
        runtime_version: [0; 64],
        file: [0; 256],
        reason: [0; 616],
    };
}

impl DLBridgeBuffer {
    /// No buffer.
    pub const NONE: Self = Self { backend: DLBRIDGE_BACKEND_NONE, kind: 0, handle: 0, context: 0 };

    /// `dlbridge_buffer_address`: a buffer of an address, backend and context not said.
    #[must_use]
    pub fn address(address: *const c_void) -> Self {
        Self { kind: DLBRIDGE_BUFFER_ADDRESS, handle: address as usize as u64, ..Self::NONE }
    }
}

impl DLBridgePointerInfo {
    /// `DLBRIDGE_POINTER_INFO_INIT`.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        backend: DLBRIDGE_BACKEND_NONE,
        device: CPU,
        memory: 0,
        native_device: -1,
        flags: 0,
        reserved0: 0,
        base: 0,
        size: 0,
        context: 0,
    };
}

impl DLBridgeWrapSpec {
    /// `DLBRIDGE_WRAP_SPEC_INIT`: a float32 scalar at a NULL address, which is not valid yet.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        ndim: 0,
        shape: null(),
        strides: null(),
        buffer: DLBridgeBuffer { kind: DLBRIDGE_BUFFER_ADDRESS, ..DLBridgeBuffer::NONE },
        byte_offset: 0,
        buffer_size: u64::MAX,
        device: CPU,
        dtype: FLOAT32,
        options: 0,
        flags: 0,
        version: NO_VERSION,
        release: None,
        release_context: null_mut(),
        policy: null(),
        reserved: [0; 2],
    };
}

impl DLBridgeContextEntry {
    /// `DLBRIDGE_CONTEXT_ENTRY_INIT`.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        backend: DLBRIDGE_BACKEND_NONE,
        device: CPU,
        id: 0,
        platform: 0,
        native_device: 0,
        context: 0,
        queue: 0,
        queue_kind: 0,
        flags: 0,
        uuid: [0; 16],
        release: None,
        user: null_mut(),
        reserved: [0; 4],
    };
}

impl DLBridgeCopySpec {
    /// `DLBRIDGE_COPY_SPEC_INIT`: to new memory of the host.
    pub const INIT: Self = Self {
        struct_size: size::<Self>(),
        options: 0,
        device: CPU,
        stream: DLBridgeStream {
            backend: DLBRIDGE_BACKEND_NONE,
            kind: 0,
            device: CPU,
            handle: 0,
            context: 0,
        },
        target: DLBridgeBuffer::NONE,
        target_offset: 0,
        target_size: 0,
        release: None,
        release_context: null_mut(),
        allocator: null(),
        flags: 0,
        version: NO_VERSION,
        policy: null(),
        reserved: [0; 4],
    };
}
