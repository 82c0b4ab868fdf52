// SPDX-License-Identifier: Apache-2.0
//! Structs, constants and functions of the C ABI.
//!
//! Generated from the C headers by tools/facts.py; do not edit.
use core::ffi::{c_char, c_int, c_void, CStr};

/// Kind of a device; any integer may arrive.
pub type DLDeviceType = i32;
/// Kind of one lane of an element; any integer may arrive.
pub type DLDataTypeCode = u8;
/// Outcome of a call; 0 is success. Values this header does not list may come from a newer library.
///
/// Since 0.3.0.
pub type DLBridgeStatus = i32;
/// Which rule a tensor broke, or 0. Values this header does not list may come from a newer library.
///
/// Since 0.3.0.
pub type DLBridgeRule = i32;
/// The struct that a pointer refers to.
///
/// Since 0.3.0.
pub type DLBridgeKind = i32;
/// Answer to a question that cannot always be answered.
///
/// Since 0.3.0.
pub type DLBridgeAnswer = i32;
/// The driver of a device.
///
/// Since 0.3.0.
pub type DLBridgeBackend = i32;
/// Allocates a tensor like `prototype`; calls `SetError` with `error_ctx` on failure.
pub type DLPackManagedTensorAllocator = Option<
    unsafe extern "C" fn(
        *mut DLTensor,
        *mut *mut DLManagedTensorVersioned,
        *mut c_void,
        Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>,
    ) -> c_int,
>;
/// Exports a Python object; the caller owns `*out`.
pub type DLPackManagedTensorFromPyObjectNoSync =
    Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>;
/// Fills `*out` with a borrowed tensor, which is valid as long as the Python object.
pub type DLPackDLTensorFromPyObjectNoSync =
    Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>;
/// Returns the stream that the framework uses now.
pub type DLPackCurrentWorkStream =
    Option<unsafe extern "C" fn(DLDeviceType, i32, *mut *mut c_void) -> c_int>;
/// Imports a tensor; the new Python object owns it.
pub type DLPackManagedTensorToPyObjectNoSync =
    Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>;

/// Which device. `device_id` is 0 for CPU, pinned and managed memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLDevice {
    /// offset 0, 32 bits
    pub device_type: DLDeviceType,
    /// offset 4; 0 is the first device
    pub device_id: i32,
}

/// Type of one element: `lanes` values of `bits` bits each.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLDataType {
    /// offset 0: a DLDataTypeCode
    pub code: u8,
    /// offset 1: width of one lane in bits
    pub bits: u8,
    /// offset 2: lanes per element, 1 for plain types
    pub lanes: u16,
}

/// A strided array without an owner. Element (0,...,0) is at `data + byte_offset`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// offset 0: address, or an opaque handle on OpenCL, Vulkan, Metal, VPI, WebGPU
    pub data: *mut c_void,
    /// offset 8
    pub device: DLDevice,
    /// offset 16: number of axes
    pub ndim: i32,
    /// offset 20
    pub dtype: DLDataType,
    /// offset 24: `ndim` extents; may be NULL when ndim is 0
    pub shape: *mut i64,
    /// offset 32: `ndim` strides in elements; NULL means compact row-major,
    /// which versioned tensors of 1.2 and later must not use when ndim is not 0
    pub strides: *mut i64,
    /// offset 40: bytes from `data` to element (0,...,0)
    pub byte_offset: u64,
}

/// The legacy exchange struct, of DLPack before 1.0: no version, no flags.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensor {
    /// offset 0
    pub dl_tensor: DLTensor,
    /// offset 48: for the producer's use
    pub manager_ctx: *mut c_void,
    /// Offset 56: frees the data and this struct. Called once, on any thread; may be NULL.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A DLPack version. A different major has a different layout; a higher minor only adds values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLPackVersion {
    /// offset 0
    pub major: u32,
    /// offset 4
    pub minor: u32,
}

/// The exchange struct since 1.0. The fields up to and including `flags` have the same offsets in every
/// major, so a consumer can always call the deleter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLManagedTensorVersioned {
    /// offset 0
    pub version: DLPackVersion,
    /// offset 8: for the producer's use
    pub manager_ctx: *mut c_void,
    /// Offset 16: frees the data and this struct. Called once, on any thread; may be NULL.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// offset 24: DLPACK_FLAG_BITMASK_\*
    pub flags: u64,
    /// offset 32
    pub dl_tensor: DLTensor,
}

/// Start of every table, across majors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLPackExchangeAPIHeader {
    /// offset 0: of this table
    pub version: DLPackVersion,
    /// offset 8: an older table, or NULL
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

/// The table of major 1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLPackExchangeAPI {
    /// offset 0
    pub header: DLPackExchangeAPIHeader,
    /// offset 16
    pub managed_tensor_allocator: DLPackManagedTensorAllocator,
    /// offset 24
    pub managed_tensor_from_py_object_no_sync: DLPackManagedTensorFromPyObjectNoSync,
    /// offset 32
    pub managed_tensor_to_py_object_no_sync: DLPackManagedTensorToPyObjectNoSync,
    /// offset 40: may be NULL
    pub dltensor_from_py_object_no_sync: DLPackDLTensorFromPyObjectNoSync,
    /// offset 48
    pub current_work_stream: DLPackCurrentWorkStream,
}

/// What went wrong; the caller's memory, nothing to free. 256 bytes for ever. It needs no
/// initialisation: a failing call writes every field and a NUL-terminated message, whose unused bytes
/// mean nothing. After success no field means anything.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeError {
    /// The status that the call returned.
    pub status: DLBridgeStatus,
    /// The rule broken, or DLBRIDGE_RULE_NONE.
    pub rule: DLBridgeRule,
    /// Axis concerned, from 0; -1 where none applies.
    pub axis: i32,
    /// Code of the driver's call that failed; 0 where none did.
    pub native_code: i32,
    /// 0
    pub reserved: [u64; 2],
    /// UTF-8, NUL-terminated: expected, found, what to do.
    pub message: [c_char; 224],
}

/// How a tensor lies in memory. Axes of extent 1 never count, whatever their stride.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeLayout {
    /// In: sizeof(DLBridgeLayout). Out: bytes filled.
    pub struct_size: u32,
    /// In: 0.
    pub options: u32,
    /// DLBRIDGE_LAYOUT_\*
    pub properties: u32,
    /// Bits from one element to the next: bits \* lanes, rounded up to
    /// whole bytes where the padded flag is set.
    pub item_bits: u32,
    /// Do two elements share memory? NO and YES are exact; UNDECIDED
    /// after a bounded effort.
    pub self_overlap: DLBridgeAnswer,
    /// Number of axes.
    pub ndim: i32,
    /// Product of the extents; 1 for a scalar.
    pub element_count: i64,
    /// Bytes of the same elements laid out compactly.
    pub packed_bytes: i64,
    /// First byte touched, relative to data + byte_offset; \<= 0.
    pub begin: i64,
    /// One past the last byte touched; 0, 0 when empty.
    pub end: i64,
    /// Bit i: axis i is longer than 1 and has stride 0.
    pub broadcast_axes: u64,
    /// Bit i: axis i is longer than 1, stride negative.
    pub negative_axes: u64,
    /// Largest power of two that divides the address of element
    /// (0,...,0); of byte_offset where `data` is a handle; 0 if that
    /// address is 0.
    pub alignment: u64,
}

/// A consumer's requirements. The arrays are borrowed for the call. At DLBRIDGE_LEVEL_STRUCT a
/// requirement on shape or strides is an invalid argument; it is never ignored.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgePolicy {
    /// sizeof(DLBridgePolicy)
    pub struct_size: u32,
    /// DLBRIDGE_POLICY_\*
    pub options: u32,
    /// Newest DLPack that the consumer reads; {0, 0}: the default.
    pub version: DLPackVersion,
    /// DLBRIDGE_LEVEL_\*; 0: METADATA.
    pub level: i32,
    /// DLBRIDGE_CONTIGUITY_\*
    pub contiguity: i32,
    /// Smallest and largest ndim accepted, 0 to DLBRIDGE_MAX_NDIM. Read
    pub min_ndim: i32,
    /// with LIMIT_NDIM; must be 0 without it.
    pub max_ndim: i32,
    /// Bytes, a power of two, that the address of element (0,...,0) must be a
    /// multiple of; 0: any. An empty tensor meets any.
    pub alignment: u64,
    /// Bytes at `data` that all elements must lie inside. Read with
    /// LIMIT_BUFFER; must be 0 without it.
    pub buffer_size: u64,
    /// Devices accepted, with id -1 for any id; NULL: all.
    pub devices: *const DLDevice,
    /// Entries of `devices`, 0 exactly where that is NULL.
    pub device_count: usize,
    /// Dtypes accepted, compared exactly; NULL: all.
    pub dtypes: *const DLDataType,
    /// Entries of `dtypes`, 0 exactly where that is NULL.
    pub dtype_count: usize,
    /// `max_ndim` extents that the tensor must have, -1 for any; needs
    /// LIMIT_NDIM with min_ndim equal to max_ndim. NULL: any.
    pub shape: *const i64,
}

/// One finding about a tensor; 256 bytes for ever.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeFinding {
    /// DLBRIDGE_RULE_\*
    pub rule: DLBridgeRule,
    /// Axis concerned, or -1.
    pub axis: i32,
    /// DLBRIDGE_SEVERITY_\*
    pub severity: i32,
    /// What dlbridge_validate would return for it; 0 for a note.
    pub status: DLBridgeStatus,
    /// 0
    pub reserved: [u64; 2],
    /// Such as "at least 0"; NUL-terminated.
    pub expected: [c_char; 128],
    /// Such as "-3"; NUL-terminated.
    pub found: [c_char; 96],
}

/// An allocator of the caller. Both functions are copied from this struct; `context` must outlive
/// the memory.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeAllocator {
    /// sizeof(DLBridgeAllocator)
    pub struct_size: u32,
    /// 0
    pub options: u32,
    /// Passed to both functions; may be NULL.
    pub context: *mut c_void,
    /// Returns `bytes` (never 0) of memory of `device`, aligned to `alignment` (a power of two), or NULL.
    /// The memory may be used by work on `stream`; NULL: by anything from now on. Not NULL.
    pub allocate: Option<
        unsafe extern "C" fn(*mut c_void, DLDevice, u64, u64, *const DLBridgeStream) -> *mut c_void,
    >,
    /// Called once per allocation with the same values, on any thread, possibly much later. The memory
    /// may be reused when the work enqueued on `stream` so far is done; NULL: now. Not NULL.
    pub deallocate: Option<
        unsafe extern "C" fn(*mut c_void, DLDevice, *mut c_void, u64, u64, *const DLBridgeStream),
    >,
}

/// How to convert. All pointers are borrowed for the call.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeConvertOptions {
    /// sizeof(DLBridgeConvertOptions)
    pub struct_size: u32,
    /// DLBRIDGE_CONVERT_\*
    pub options: u32,
    /// Newest DLPack that the consumer reads. To versioned: of major
    /// 1, {0, 0}: the default; the result carries the smaller of it
    /// and the library's. dlbridge_downgrade: of major 0, {0, 0}: the
    /// last legacy one. dlbridge_export: {0, 0}; its target decides.
    /// A tensor that needs a newer version is rejected.
    pub version: DLPackVersion,
    /// DLPack flags that the caller knows of a legacy source, which
    /// cannot record them. Unused for a versioned one.
    pub tensor_flags: u64,
    /// Validate by it first; NULL: the default policy.
    pub policy: *const DLBridgePolicy,
    /// Memory for COPY; NULL: the system's, 256-byte aligned.
    pub allocator: *const DLBridgeAllocator,
}

/// The caller's memory for dlbridge_upgrade_into.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeStorage {
    /// sizeof(DLBridgeStorage)
    pub struct_size: u32,
    /// 0
    pub options: u32,
    /// Aligned to 16 bytes, apart from the source's struct, shape and strides
    /// (checked) and its data (not checked); must stay until `release` ran, or
    /// the tensor ended.
    pub memory: *mut c_void,
    /// At least dlbridge_upgrade_storage_size(ndim).
    pub size: usize,
    /// Called once when the storage is free again, on the thread of the last release, after the source's
    /// deleter; may be NULL.
    pub release: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
    /// Passed to `release`; may be NULL.
    pub release_context: *mut c_void,
}

/// Another shape on the data of a tensor. All zero: its first element as a scalar.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeViewSpec {
    /// sizeof(DLBridgeViewSpec)
    pub struct_size: u32,
    /// 0
    pub options: u32,
    /// Axes of the view.
    pub ndim: i32,
    /// Dtype of the view, of as many bits as the parent's; {0, 0, 0}: the
    /// parent's.
    pub dtype: DLDataType,
    /// `ndim` extents; NULL where ndim is 0.
    pub shape: *const i64,
    /// `ndim` strides in elements; NULL: compact, last axis fastest.
    pub strides: *const i64,
    /// Elements from the parent's (0,...,0) to the view's.
    pub offset: i64,
}

/// A tensor to allocate.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeAllocateSpec {
    /// sizeof(DLBridgeAllocateSpec)
    pub struct_size: u32,
    /// DLBRIDGE_ALLOCATE_\*
    pub options: u32,
    /// `ndim` extents; NULL where ndim is 0.
    pub shape: *const i64,
    /// Number of axes; 0: a scalar.
    pub ndim: i32,
    /// Any dtype that validation accepts; must be set.
    pub dtype: DLDataType,
    /// {0, 0}: the CPU; another one needs an allocator.
    pub device: DLDevice,
    /// Bytes, a power of two; 0: 256.
    pub alignment: u64,
    /// DLPack flags of the result, such as the padded one.
    pub tensor_flags: u64,
    /// Newest DLPack that the consumer reads; {0, 0}: the default.
    pub version: DLPackVersion,
    /// NULL: the system's.
    pub allocator: *const DLBridgeAllocator,
}

/// State of a backend. Texts are NUL-terminated and cut where they do not fit.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeBackendInfo {
    /// In: sizeof(DLBridgeBackendInfo). Out: bytes filled.
    pub struct_size: u32,
    /// In: 0.
    pub options: u32,
    /// The backend asked for.
    pub backend: DLBridgeBackend,
    /// DLBRIDGE_STATE_\*
    pub state: i32,
    /// Devices of this process; 0 unless READY.
    pub device_count: i32,
    /// What the driver's initialisation returned; 0 where none was called.
    pub driver_code: i32,
    /// As the driver reports it: "12.2"; empty where unknown.
    pub driver_version: [c_char; 64],
    /// Of the loader or runtime: "1.8.12"; empty where there is none.
    pub runtime_version: [c_char; 64],
    /// The library in use, or that `reason` is about; empty where ABSENT.
    pub file: [c_char; 256],
    /// Not READY: each path tried with the loader's reason, or the driver's
    /// call and code. Empty where READY.
    pub reason: [c_char; 616],
}

/// Memory of a device, as its driver names it; 32 bytes for ever.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeBuffer {
    /// Whose memory; NONE: not set.
    pub backend: DLBridgeBackend,
    /// DLBRIDGE_BUFFER_\*
    pub kind: i32,
    /// The address or handle.
    pub handle: u64,
    /// ze_context_handle_t or cl_context that it belongs to; 0: not set.
    pub context: u64,
    /// 0
    pub reserved: u64,
}

/// Where memory is.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgePointerInfo {
    /// In: sizeof(DLBridgePointerInfo). Out: bytes filled.
    pub struct_size: u32,
    /// In: DLBRIDGE_POINTER_INFO_\*.
    pub options: u32,
    /// Which driver knows it; CPU where none does.
    pub backend: DLBridgeBackend,
    /// DLBRIDGE_MEMORY_\*
    pub memory: i32,
    /// As DLPack labels it; id 0 on host, pinned and managed memory.
    pub device: DLDevice,
    /// Index of the driver's device for it, also of pinned and managed memory;
    /// -1 where there is none.
    pub native_device: i32,
    /// DLBRIDGE_POINTER_\*
    pub properties: u32,
    /// Start of the allocation; for a cl_mem 0; 0 also where unknown.
    pub base: u64,
    /// Bytes of the allocation; 0: unknown.
    pub size: u64,
    /// CUcontext, ze_context_handle_t or cl_context; 0 where none is known.
    pub context: u64,
    /// Bit i: device i of the backend can access memory of `native_device`,
    /// directly or once peer access is enabled; the device itself included, at
    /// most 64 devices. Valid with PEERS_KNOWN.
    ///
    /// Since 0.4.0.
    pub peers: u64,
}

/// Native memory to make a tensor of. The arrays are borrowed for the call.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeWrapSpec {
    /// sizeof(DLBridgeWrapSpec)
    pub struct_size: u32,
    /// DLBRIDGE_WRAP_\*
    pub options: u32,
    /// `ndim` extents; NULL where ndim is 0.
    pub shape: *const i64,
    /// `ndim` strides in elements; NULL: compact, last axis fastest.
    pub strides: *const i64,
    /// The memory. Backend: NONE, or the one of `device`.
    pub buffer: DLBridgeBuffer,
    /// Bytes from the handle to element (0,...,0); written to the tensor,
    /// never added to `data`.
    pub byte_offset: u64,
    /// Bytes at the handle that all elements must lie inside. Read with
    /// LIMIT_BUFFER; must be 0 without it.
    pub buffer_size: u64,
    /// The label; must be set. The id of host-like memory is written as
    /// 0.
    pub device: DLDevice,
    /// Number of axes; 0: a scalar.
    pub ndim: i32,
    /// Dtype of the elements; must be set.
    pub dtype: DLDataType,
    /// DLPack flags of the tensor.
    pub tensor_flags: u64,
    /// Newest DLPack that the consumer reads; {0, 0}: the default.
    pub version: DLPackVersion,
    /// Called once when the last owner is gone, on that thread; NULL: nothing to call. Work on `stream`
    /// may still use the memory; NULL: none does, as always without RELEASE_ON_STREAM. `buffer` is the one
    /// given here; both are valid for the call only.
    pub release:
        Option<unsafe extern "C" fn(*mut c_void, *const DLBridgeBuffer, *const DLBridgeStream)>,
    /// Passed to `release`; may be NULL.
    pub release_context: *mut c_void,
    /// Validate by it; NULL: the default policy.
    pub policy: *const DLBridgePolicy,
}

/// A queue of work, borrowed; 40 bytes for ever.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeStream {
    /// Whose queue.
    pub backend: DLBridgeBackend,
    /// DLBRIDGE_STREAM_\*
    pub kind: i32,
    /// Device that it runs on; needed for CUDA's special streams and HIP. A
    /// label that the driver contradicts is rejected.
    pub device: DLDevice,
    /// The queue.
    pub handle: u64,
    /// Level Zero: the ze_context_handle_t of the queue. OpenCL: 0, or the
    /// cl_context of the queue. Else 0.
    pub context: u64,
    /// 0
    pub reserved: u64,
}

/// One context of one device; 128 bytes for ever.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeContextEntry {
    /// 128
    pub struct_size: u32,
    /// CUDA to OPENCL.
    pub backend: DLBridgeBackend,
    /// Key: kDLCUDA, kDLROCM, kDLOpenCL or kDLOneAPI.
    pub device: DLDevice,
    /// Out: of the entry, above 0 and never used again. In: 0.
    pub id: u64,
    /// ze_driver_handle_t or cl_platform_id; else 0.
    pub platform: u64,
    /// ze_device_handle_t, cl_device_id, or the ordinal in CUDA and HIP.
    pub native_device: u64,
    /// CUcontext, ze_context_handle_t, cl_context; HIP: 0. CUDA: 0 stands for
    /// the primary context.
    pub context: u64,
    /// Default queue, borrowed; 0: none.
    pub queue: u64,
    /// DLBRIDGE_STREAM_QUEUE or _IMMEDIATE_LIST; 0 where there is none.
    pub queue_kind: i32,
    /// DLBRIDGE_CONTEXT_\*
    pub properties: u32,
    /// Of the device; zero where unknown.
    pub uuid: [u8; 16],
    /// Called once when the entry is unregistered and no tensor keeps it, on the thread that ended it,
    /// outside all locks; NULL: the handles are borrowed and must outlive their use.
    pub release: Option<unsafe extern "C" fn(*mut c_void, *const DLBridgeContextEntry)>,
    /// Passed to `release`.
    pub release_context: *mut c_void,
    /// 0
    pub reserved: [u64; 4],
}

/// The table as other copies and libraries use it; docs/context-table.md is its specification. Every
/// function returns a DLBridgeStatus of this header and may be called from any thread.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeContextTable {
    /// Of the table; members are only ever added.
    pub struct_size: u32,
    /// 1
    pub version: u32,
    /// `add`.
    pub add: Option<unsafe extern "C" fn(*const DLBridgeContextEntry, *mut u64) -> DLBridgeStatus>,
    /// `find`.
    pub find:
        Option<unsafe extern "C" fn(DLDevice, u64, *mut DLBridgeContextEntry) -> DLBridgeStatus>,
    /// `next`.
    pub next: Option<unsafe extern "C" fn(*mut u64, *mut DLBridgeContextEntry) -> DLBridgeStatus>,
    /// `retain`.
    pub retain: Option<unsafe extern "C" fn(u64) -> DLBridgeStatus>,
    /// `release`.
    pub release: Option<unsafe extern "C" fn(u64) -> DLBridgeStatus>,
    /// `remove`.
    pub remove: Option<unsafe extern "C" fn(u64) -> DLBridgeStatus>,
}

/// Destination and ordering of a copy. All zero: to new host memory.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeCopySpec {
    /// sizeof(DLBridgeCopySpec)
    pub struct_size: u32,
    /// DLBRIDGE_COPY_\*
    pub options: u32,
    /// Device of the copy; {0, 0}: the CPU.
    pub device: DLDevice,
    /// Queue that orders the copy after earlier work on it; kind 0:
    /// all work on the source is done, and the library chooses the
    /// driver's queue.
    pub stream: DLBridgeStream,
    /// Memory of the caller's, apart from all bytes between the
    /// first and the last of the source; all zero: allocate.
    pub target: DLBridgeBuffer,
    /// Bytes from the handle to the copy.
    pub target_offset: u64,
    /// Bytes at the handle; 0 without a target.
    pub target_size: u64,
    /// As in DLBridgeWrapSpec, for memory of the caller's; may be NULL.
    pub release:
        Option<unsafe extern "C" fn(*mut c_void, *const DLBridgeBuffer, *const DLBridgeStream)>,
    /// Passed to `release`.
    pub release_context: *mut c_void,
    /// Memory of `device`; NULL: the system's, on the host.
    pub allocator: *const DLBridgeAllocator,
    /// DLPack flags of the copy; IS_COPIED is added, and READ_ONLY
    /// where the target is an OpenCL buffer that kernels may only
    /// read.
    pub tensor_flags: u64,
    /// Newest DLPack that the consumer reads; {0, 0}: the default.
    pub version: DLPackVersion,
    /// Validate the source by it; NULL: the default policy.
    pub policy: *const DLBridgePolicy,
}

/// Output of an export. All zero: ask for the sizes.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeIpcExportSpec {
    /// sizeof(DLBridgeIpcExportSpec)
    pub struct_size: u32,
    /// DLBRIDGE_IPC_\*
    pub options: u32,
    /// Receives the descriptor; NULL where `buffer_size` is 0.
    pub buffer: *mut c_void,
    /// Bytes at `buffer`.
    pub buffer_size: usize,
    /// Receives file descriptors; NULL where `fd_capacity` is 0.
    pub fds: *mut i32,
    /// Entries of `fds`.
    pub fd_capacity: usize,
    /// Queue whose work enqueued so far the importer will wait for; NULL or of kind HOST: the work on the
    /// tensor is finished.
    ///
    /// Since 0.4.0.
    pub stream: *const DLBridgeStream,
}

/// Sizes that an export needs.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeIpcSizes {
    /// In: sizeof(DLBridgeIpcSizes). Out: bytes filled.
    pub struct_size: u32,
    /// In: 0.
    pub options: u32,
    /// Bytes of the descriptor.
    pub buffer_size: u64,
    /// Number of file descriptors.
    pub fd_count: u64,
}

/// Input of an import: what another process sent.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeIpcImportSpec {
    /// sizeof(DLBridgeIpcImportSpec)
    pub struct_size: u32,
    /// DLBRIDGE_IPC_\*
    pub options: u32,
    /// The descriptor; must be set.
    pub buffer: *const c_void,
    /// Its bytes.
    pub buffer_size: usize,
    /// The file descriptors; NULL where `fd_count` is 0.
    pub fds: *const i32,
    /// Their number.
    pub fd_count: usize,
    /// Validate by it; NULL: the default policy.
    pub policy: *const DLBridgePolicy,
    /// Queue that waits for the exporter's work, if the export named a stream; NULL or of kind HOST: the
    /// call waits.
    ///
    /// Since 0.4.0.
    pub stream: *const DLBridgeStream,
}

/// All functions in one table. It grows at the end only.
///
/// Since 0.3.0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLBridgeApi {
    /// Of the library's table: ask DLBRIDGE_API_HAS before a call.
    pub struct_size: u32,
    /// DLBRIDGE_ABI of the library.
    pub abi: u32,
    /// `dlbridge_version`.
    pub version: Option<unsafe extern "C" fn() -> u32>,
    /// `dlbridge_version_string`.
    pub version_string: Option<unsafe extern "C" fn() -> *const c_char>,
    /// `dlbridge_dlpack_version`.
    pub dlpack_version: Option<unsafe extern "C" fn() -> DLPackVersion>,
    /// `dlbridge_status_name`.
    pub status_name: Option<unsafe extern "C" fn(DLBridgeStatus) -> *const c_char>,
    /// `dlbridge_status_text`.
    pub status_text: Option<unsafe extern "C" fn(DLBridgeStatus) -> *const c_char>,
    /// `dlbridge_rule_name`.
    pub rule_name: Option<unsafe extern "C" fn(DLBridgeRule) -> *const c_char>,
    /// `dlbridge_rule_text`.
    pub rule_text: Option<unsafe extern "C" fn(DLBridgeRule) -> *const c_char>,
    /// `dlbridge_layout`.
    pub layout: Option<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *mut DLBridgeLayout,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_dtype_format`.
    pub dtype_format: Option<
        unsafe extern "C" fn(
            DLDataType,
            *mut c_char,
            usize,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_dtype_parse`.
    pub dtype_parse: Option<
        unsafe extern "C" fn(
            *const c_char,
            usize,
            *mut DLDataType,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_device_format`.
    pub device_format: Option<
        unsafe extern "C" fn(
            DLDevice,
            *mut c_char,
            usize,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_device_parse`.
    pub device_parse: Option<
        unsafe extern "C" fn(
            *const c_char,
            usize,
            *mut DLDevice,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_tensor_format`.
    pub tensor_format: Option<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *mut c_char,
            usize,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_host_accessible`.
    pub host_accessible: Option<unsafe extern "C" fn(i32, *mut DLBridgeAnswer) -> i32>,
    /// `dlbridge_import_tensor`.
    pub import_tensor: Option<
        unsafe extern "C" fn(
            *mut c_void,
            DLBridgeKind,
            *const DLBridgeConvertOptions,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_export_tensor`.
    pub export_tensor: Option<
        unsafe extern "C" fn(
            *mut c_void,
            DLBridgeKind,
            DLPackVersion,
            *const DLBridgeConvertOptions,
            *mut *mut c_void,
            *mut DLBridgeKind,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_release`.
    pub release: Option<unsafe extern "C" fn(*mut c_void, DLBridgeKind) -> DLBridgeStatus>,
    /// `dlbridge_release_legacy`.
    pub release_legacy: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
    /// `dlbridge_release_versioned`.
    pub release_versioned: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// `dlbridge_validate`.
    pub validate: Option<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *const DLBridgePolicy,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_validate_legacy`.
    pub validate_legacy: Option<
        unsafe extern "C" fn(
            *const DLManagedTensor,
            *const DLBridgePolicy,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_validate_versioned`.
    pub validate_versioned: Option<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *const DLBridgePolicy,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_diagnose`.
    pub diagnose: Option<
        unsafe extern "C" fn(
            *const c_void,
            DLBridgeKind,
            u64,
            *const DLBridgePolicy,
            *mut DLBridgeFinding,
            usize,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_upgrade`.
    pub upgrade: Option<
        unsafe extern "C" fn(
            *mut DLManagedTensor,
            *const DLBridgeConvertOptions,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_upgrade_storage_size`.
    pub upgrade_storage_size: Option<unsafe extern "C" fn(i32) -> usize>,
    /// `dlbridge_upgrade_into`.
    pub upgrade_into: Option<
        unsafe extern "C" fn(
            *mut DLManagedTensor,
            *const DLBridgeConvertOptions,
            *const DLBridgeStorage,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_upgrade_many`.
    pub upgrade_many: Option<
        unsafe extern "C" fn(
            *const *mut DLManagedTensor,
            usize,
            *const DLBridgeConvertOptions,
            *mut *mut DLManagedTensorVersioned,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_downgrade`.
    pub downgrade: Option<
        unsafe extern "C" fn(
            *mut DLManagedTensorVersioned,
            *const DLBridgeConvertOptions,
            *mut *mut DLManagedTensor,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_share`.
    pub share: Option<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_view`.
    pub view: Option<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *const DLBridgeViewSpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_allocate`.
    pub allocate: Option<
        unsafe extern "C" fn(
            *const DLBridgeAllocateSpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_required_version`.
    pub required_version: Option<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *mut DLPackVersion,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_negotiate`.
    pub negotiate: Option<
        unsafe extern "C" fn(
            DLPackVersion,
            DLPackVersion,
            *mut DLBridgeKind,
            *mut DLPackVersion,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_exchange_api_find`.
    pub exchange_api_find: Option<
        unsafe extern "C" fn(
            *const DLPackExchangeAPIHeader,
            DLPackVersion,
            *mut *const DLPackExchangeAPI,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_identify`.
    pub identify: Option<unsafe extern "C" fn(*const c_void) -> DLBridgeKind>,
    /// `dlbridge_module_pin`.
    pub module_pin:
        Option<unsafe extern "C" fn(*const c_void, *mut DLBridgeError) -> DLBridgeStatus>,
    /// `dlbridge_backend_info`.
    pub backend_info: Option<
        unsafe extern "C" fn(
            DLBridgeBackend,
            *mut DLBridgeBackendInfo,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_pointer_info`.
    pub pointer_info: Option<
        unsafe extern "C" fn(
            *const DLBridgeBuffer,
            DLDevice,
            *mut DLBridgePointerInfo,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_wrap`.
    pub wrap: Option<
        unsafe extern "C" fn(
            *const DLBridgeWrapSpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_wrap_legacy`.
    pub wrap_legacy: Option<
        unsafe extern "C" fn(
            *const DLBridgeWrapSpec,
            *mut *mut DLManagedTensor,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_stream_from_array_api`.
    pub stream_from_array_api: Option<
        unsafe extern "C" fn(
            DLDevice,
            i64,
            *mut DLBridgeStream,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_stream_handoff`.
    pub stream_handoff: Option<
        unsafe extern "C" fn(
            *const DLBridgeStream,
            *const DLBridgeStream,
            u32,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_stream_synchronize`.
    pub stream_synchronize:
        Option<unsafe extern "C" fn(*const DLBridgeStream, *mut DLBridgeError) -> DLBridgeStatus>,
    /// `dlbridge_context_register`.
    pub context_register: Option<
        unsafe extern "C" fn(
            *const DLBridgeContextEntry,
            *mut u64,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_context_find`.
    pub context_find: Option<
        unsafe extern "C" fn(
            DLDevice,
            u64,
            *mut DLBridgeContextEntry,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_context_next`.
    pub context_next: Option<
        unsafe extern "C" fn(
            *mut u64,
            *mut DLBridgeContextEntry,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_context_retain`.
    pub context_retain: Option<unsafe extern "C" fn(u64, *mut DLBridgeError) -> DLBridgeStatus>,
    /// `dlbridge_context_release`.
    pub context_release: Option<unsafe extern "C" fn(u64, *mut DLBridgeError) -> DLBridgeStatus>,
    /// `dlbridge_context_unregister`.
    pub context_unregister: Option<unsafe extern "C" fn(u64, *mut DLBridgeError) -> DLBridgeStatus>,
    /// `dlbridge_context_table_v1`.
    pub context_table_v1: Option<unsafe extern "C" fn() -> *const DLBridgeContextTable>,
    /// `dlbridge_copy`.
    pub copy: Option<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *const DLBridgeCopySpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_ipc_export`.
    pub ipc_export: Option<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *const DLBridgeIpcExportSpec,
            *mut DLBridgeIpcSizes,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_ipc_import`.
    pub ipc_import: Option<
        unsafe extern "C" fn(
            *const DLBridgeIpcImportSpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_copy_async`.
    pub copy_async: Option<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *const DLBridgeCopySpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_release_after`.
    pub release_after: Option<
        unsafe extern "C" fn(
            *mut c_void,
            DLBridgeKind,
            *const DLBridgeStream,
            usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
    >,
    /// `dlbridge_collect`.
    pub collect:
        Option<unsafe extern "C" fn(u32, *mut usize, *mut DLBridgeError) -> DLBridgeStatus>,
}

/// Host memory
pub const kDLCPU: DLDeviceType = 1;
/// NVIDIA GPU memory
pub const kDLCUDA: DLDeviceType = 2;
/// Host memory pinned by CUDA
pub const kDLCUDAHost: DLDeviceType = 3;
/// An OpenCL cl_mem, a handle
pub const kDLOpenCL: DLDeviceType = 4;
/// Vulkan buffer handle; since 0.3
pub const kDLVulkan: DLDeviceType = 7;
/// Metal buffer handle
pub const kDLMetal: DLDeviceType = 8;
/// Simulator buffer handle
pub const kDLVPI: DLDeviceType = 9;
/// AMD GPU memory
pub const kDLROCM: DLDeviceType = 10;
/// Host memory pinned by ROCm; since 0.6
pub const kDLROCMHost: DLDeviceType = 11;
/// Reserved for extension devices; since 0.3
pub const kDLExtDev: DLDeviceType = 12;
/// CUDA managed memory, host and device; since 0.6
pub const kDLCUDAManaged: DLDeviceType = 13;
/// Unified shared memory of oneAPI; since 0.7
pub const kDLOneAPI: DLDeviceType = 14;
/// WebGPU buffer handle; since 0.7
pub const kDLWebGPU: DLDeviceType = 15;
/// Qualcomm Hexagon; since 0.7
pub const kDLHexagon: DLDeviceType = 16;
/// Microsoft MAIA; since 1.0
pub const kDLMAIA: DLDeviceType = 17;
/// AWS Trainium; since 1.2
pub const kDLTrn: DLDeviceType = 18;
/// Google TPU; in no release yet
pub const kDLTPU: DLDeviceType = 19;
/// Host memory pinned for TPU; in no release yet
pub const kDLTPUHost: DLDeviceType = 20;
/// Huawei Ascend; in no release yet
pub const kDLAscend: DLDeviceType = 21;
/// Signed integer, two's complement
pub const kDLInt: DLDataTypeCode = 0;
/// Unsigned integer
pub const kDLUInt: DLDataTypeCode = 1;
/// IEEE 754 binary
pub const kDLFloat: DLDataTypeCode = 2;
/// Opaque handle; since 0.4
pub const kDLOpaqueHandle: DLDataTypeCode = 3;
/// Bfloat16; since 0.3
pub const kDLBfloat: DLDataTypeCode = 4;
/// Complex: `bits` counts both parts; since 0.4
pub const kDLComplex: DLDataTypeCode = 5;
/// Boolean in one byte; since 0.8
pub const kDLBool: DLDataTypeCode = 6;
/// Eight bits; since 1.1
pub const kDLFloat8_e3m4: DLDataTypeCode = 7;
/// Eight bits; since 1.1
pub const kDLFloat8_e4m3: DLDataTypeCode = 8;
/// Eight bits; since 1.1
pub const kDLFloat8_e4m3b11fnuz: DLDataTypeCode = 9;
/// Eight bits; since 1.1
pub const kDLFloat8_e4m3fn: DLDataTypeCode = 10;
/// Eight bits; since 1.1
pub const kDLFloat8_e4m3fnuz: DLDataTypeCode = 11;
/// Eight bits; since 1.1
pub const kDLFloat8_e5m2: DLDataTypeCode = 12;
/// Eight bits; since 1.1
pub const kDLFloat8_e5m2fnuz: DLDataTypeCode = 13;
/// Eight bits; since 1.1
pub const kDLFloat8_e8m0fnu: DLDataTypeCode = 14;
/// Six bits, packed unless flagged as padded; since 1.1
pub const kDLFloat6_e2m3fn: DLDataTypeCode = 15;
/// Six bits, packed unless flagged as padded; since 1.1
pub const kDLFloat6_e3m2fn: DLDataTypeCode = 16;
/// Four bits, packed unless flagged as padded; since 1.1
pub const kDLFloat4_e2m1fn: DLDataTypeCode = 17;
/// Complex of two bfloats; in no release yet
pub const kDLBcomplex: DLDataTypeCode = 18;
/// Newest DLPack release that this file describes.
pub const DLPACK_MAJOR_VERSION: u32 = 1;
/// `DLPACK_MINOR_VERSION`.
pub const DLPACK_MINOR_VERSION: u32 = 3;
/// The tensor must not be written to; since 1.0.
pub const DLPACK_FLAG_BITMASK_READ_ONLY: u64 = 1;
/// The producer has made a copy for this consumer; since 1.0.
pub const DLPACK_FLAG_BITMASK_IS_COPIED: u64 = 2;
/// Sub-byte elements are padded to whole bytes; since 1.1.
pub const DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED: u64 = 4;
/// Success.
pub const DLBRIDGE_OK: DLBridgeStatus = 0;
/// The caller's fault: a NULL that is not allowed, a struct_size or option out of range, or a changed
/// dlbridge-owned struct. The message names the argument.
pub const DLBRIDGE_ERROR_INVALID_ARGUMENT: DLBridgeStatus = 1;
/// The caller is newer than the library: it asks for an option, value or field that this library does
/// not know. Such a request is never ignored.
pub const DLBRIDGE_ERROR_TOO_NEW: DLBridgeStatus = 2;
/// The allocator of the system or of the caller returned NULL.
pub const DLBRIDGE_ERROR_OUT_OF_MEMORY: DLBridgeStatus = 3;
/// The producer's fault: the tensor breaks a rule of DLPack; `rule` names it.
pub const DLBRIDGE_ERROR_INVALID_TENSOR: DLBridgeStatus = 4;
/// Wrong major version, or the tensor needs a newer DLPack version than the consumer reads.
pub const DLBRIDGE_ERROR_VERSION: DLBridgeStatus = 5;
/// The tensor is legal, but the policy of this consumer rejects it; `rule` names the demand.
pub const DLBRIDGE_ERROR_POLICY: DLBridgeStatus = 6;
/// The source has a property that the target cannot represent, and the options do not allow the
/// loss.
pub const DLBRIDGE_ERROR_UNREPRESENTABLE: DLBridgeStatus = 7;
/// The consumer's DLPack release does not know a dtype code, device type or flag bit that it needs to
/// know.
pub const DLBRIDGE_ERROR_UNKNOWN_CODE: DLBridgeStatus = 8;
/// The function works on dlbridge-owned tensors only: call dlbridge_import first.
pub const DLBRIDGE_ERROR_FOREIGN_TENSOR: DLBridgeStatus = 9;
/// The request is legal, but this build cannot do it. Example: copying memory that the CPU cannot
/// read.
pub const DLBRIDGE_ERROR_UNSUPPORTED: DLBridgeStatus = 10;
/// The caller's buffer or storage is too small; the message has the needed size.
pub const DLBRIDGE_ERROR_BUFFER_TOO_SMALL: DLBridgeStatus = 11;
/// A text is not the name of a dtype or device.
pub const DLBRIDGE_ERROR_PARSE: DLBridgeStatus = 12;
/// Nothing suitable was found, such as a table in an exchange API chain.
pub const DLBRIDGE_ERROR_NOT_FOUND: DLBridgeStatus = 13;
/// A view would leave the elements of its parent.
pub const DLBRIDGE_ERROR_BOUNDS: DLBridgeStatus = 14;
/// The process was forked after the backend had been started; start it in the child only.
pub const DLBRIDGE_ERROR_FORKED: DLBridgeStatus = 15;
/// There is no driver for the device, or the driver has no device; dlbridge_backend_info reports the
/// reason.
pub const DLBRIDGE_ERROR_UNAVAILABLE: DLBridgeStatus = 16;
/// A driver call failed; the message has its name, `native_code` its code.
pub const DLBRIDGE_ERROR_DRIVER: DLBridgeStatus = 17;
/// The context table has another entry for that device or context.
pub const DLBRIDGE_ERROR_EXISTS: DLBridgeStatus = 18;
/// A stream is capturing a graph, which the call does not allow.
pub const DLBRIDGE_ERROR_CAPTURE: DLBridgeStatus = 19;
/// The bytes or file descriptors from another process are not a valid export.
pub const DLBRIDGE_ERROR_DESCRIPTOR: DLBridgeStatus = 20;
/// The kind of a managed tensor was not given, and its bytes do not decide it: pass its kind.
pub const DLBRIDGE_ERROR_AMBIGUOUS: DLBridgeStatus = 21;
/// No rule is broken.
pub const DLBRIDGE_RULE_NONE: DLBridgeRule = 0;
/// version.major is 1; with another major no field after `flags` is read (DLPack).
pub const DLBRIDGE_RULE_VERSION_MAJOR: DLBridgeRule = 1;
/// ndim \>= 0 (DLPack).
pub const DLBRIDGE_RULE_NDIM_NEGATIVE: DLBridgeRule = 2;
/// ndim \<= DLBRIDGE_MAX_NDIM and within the limits of the policy (dlbridge, policy).
pub const DLBRIDGE_RULE_NDIM_LIMIT: DLBridgeRule = 3;
/// shape is not NULL if ndim \> 0 (DLPack).
pub const DLBRIDGE_RULE_SHAPE_NULL: DLBridgeRule = 4;
/// strides are not NULL if ndim \> 0 and the tensor's version is 1.2 or later (DLPack 1.2).
pub const DLBRIDGE_RULE_STRIDES_NULL: DLBridgeRule = 5;
/// bits \>= 1 (dlbridge).
pub const DLBRIDGE_RULE_DTYPE_BITS_ZERO: DLBridgeRule = 6;
/// lanes \>= 1 (dlbridge).
pub const DLBRIDGE_RULE_DTYPE_LANES_ZERO: DLBridgeRule = 7;
/// lanes \< 0x8000: more is a scalable vector in TVM, whose size is not known (dlbridge).
pub const DLBRIDGE_RULE_DTYPE_LANES_SCALABLE: DLBridgeRule = 8;
/// bool and float8 have 8 bits, float6 6, float4 4, bfloat 16 (DLPack).
pub const DLBRIDGE_RULE_DTYPE_BITS_FIXED: DLBridgeRule = 9;
/// The dtype code is known to the consumer's version (policy, conversions).
pub const DLBRIDGE_RULE_DTYPE_UNKNOWN: DLBridgeRule = 10;
/// The device type is known to the consumer's version (policy, conversions).
pub const DLBRIDGE_RULE_DEVICE_UNKNOWN: DLBridgeRule = 11;
/// All flag bits are known to the consumer's version (policy, conversions).
pub const DLBRIDGE_RULE_FLAGS_UNKNOWN: DLBridgeRule = 12;
/// device_id \>= 0 (dlbridge).
pub const DLBRIDGE_RULE_DEVICE_ID_NEGATIVE: DLBridgeRule = 13;
/// device_id is 0 on host-like memory; only a note, since producers differ (DLPack).
pub const DLBRIDGE_RULE_DEVICE_ID_HOST: DLBridgeRule = 14;
/// Each extent \>= 0 (DLPack).
pub const DLBRIDGE_RULE_EXTENT_NEGATIVE: DLBridgeRule = 15;
/// The number of elements fits 63 bits (dlbridge).
pub const DLBRIDGE_RULE_COUNT_OVERFLOW: DLBridgeRule = 16;
/// The packed size in bytes fits 63 bits (dlbridge).
pub const DLBRIDGE_RULE_SIZE_OVERFLOW: DLBridgeRule = 17;
/// The offsets of the first and last element, and of their bytes, fit 63 bits and a sign
/// (dlbridge).
pub const DLBRIDGE_RULE_OFFSET_OVERFLOW: DLBridgeRule = 18;
/// data is not NULL unless the tensor is empty (DLPack).
pub const DLBRIDGE_RULE_DATA_NULL: DLBridgeRule = 19;
/// All bytes from data + byte_offset lie inside the address space (dlbridge).
pub const DLBRIDGE_RULE_ADDRESS_RANGE: DLBridgeRule = 20;
/// No element lies before the start of an opaque handle (dlbridge).
pub const DLBRIDGE_RULE_HANDLE_RANGE: DLBridgeRule = 21;
/// All elements lie inside `buffer_size` bytes from `data` (policy).
pub const DLBRIDGE_RULE_BUFFER_BOUNDS: DLBridgeRule = 22;
/// The layout has the required contiguity (policy).
pub const DLBRIDGE_RULE_CONTIGUITY: DLBridgeRule = 23;
/// Element (0,...,0) has the required alignment (policy).
pub const DLBRIDGE_RULE_ALIGNMENT: DLBridgeRule = 24;
/// The policy lists the device (policy).
pub const DLBRIDGE_RULE_DEVICE_REJECTED: DLBridgeRule = 25;
/// The policy lists the dtype (policy).
pub const DLBRIDGE_RULE_DTYPE_REJECTED: DLBridgeRule = 26;
/// The tensor may be written to (policy).
pub const DLBRIDGE_RULE_NOT_WRITABLE: DLBridgeRule = 27;
/// No negative strides (policy).
pub const DLBRIDGE_RULE_NEGATIVE_STRIDE: DLBridgeRule = 28;
/// No zero strides on axes longer than 1 (policy).
pub const DLBRIDGE_RULE_ZERO_STRIDE: DLBridgeRule = 29;
/// No two elements share memory if the policy demands a writable tensor (policy).
pub const DLBRIDGE_RULE_SELF_OVERLAP: DLBridgeRule = 30;
/// Element (0,...,0) is aligned to the size of its lane; only a note (dlbridge).
pub const DLBRIDGE_RULE_DATA_UNALIGNED: DLBridgeRule = 31;
/// The version that a tensor carries has all codes and flags that it uses; only a note (DLPack).
pub const DLBRIDGE_RULE_VERSION_LABEL: DLBridgeRule = 32;
/// The consumer's version can describe the tensor (conversions).
pub const DLBRIDGE_RULE_REQUIRED_VERSION: DLBridgeRule = 33;
/// The tensor is not READ_ONLY, which a legacy tensor cannot record (downgrade).
pub const DLBRIDGE_RULE_LEGACY_READ_ONLY: DLBridgeRule = 34;
/// Sub-byte elements are not padded, which a legacy tensor cannot record (downgrade).
pub const DLBRIDGE_RULE_LEGACY_PADDED: DLBridgeRule = 35;
/// The legacy version knows the dtype code: codes up to bool (downgrade).
pub const DLBRIDGE_RULE_LEGACY_DTYPE: DLBridgeRule = 36;
/// The legacy version knows the device type: types up to Hexagon (downgrade).
pub const DLBRIDGE_RULE_LEGACY_DEVICE: DLBridgeRule = 37;
/// byte_offset is folded only if `data` is an address (conversions).
pub const DLBRIDGE_RULE_OFFSET_FOLD: DLBridgeRule = 38;
/// All elements of a view lie inside the range of its parent (views).
pub const DLBRIDGE_RULE_VIEW_BOUNDS: DLBridgeRule = 39;
/// A view of packed sub-byte elements starts at a whole byte (views).
pub const DLBRIDGE_RULE_VIEW_OFFSET: DLBridgeRule = 40;
/// The tensor does not live in the caller's storage (upgrade_into), which cannot have a second owner
/// (owners).
pub const DLBRIDGE_RULE_IN_STORAGE: DLBridgeRule = 41;
/// The CPU can read the memory to copy (copies).
pub const DLBRIDGE_RULE_COPY_DEVICE: DLBridgeRule = 42;
/// The driver reports the memory on the device that the label names (level DEVICE).
pub const DLBRIDGE_RULE_DEVICE_LABEL: DLBridgeRule = 43;
/// All elements lie inside the allocation that the driver reports (level DEVICE).
pub const DLBRIDGE_RULE_ALLOCATION_BOUNDS: DLBridgeRule = 44;
/// Each extent equals the one in the policy's shape (policy).
pub const DLBRIDGE_RULE_SHAPE_MISMATCH: DLBridgeRule = 45;
/// As an argument: the bytes decide. As the answer of dlbridge_identify: the bytes fit neither
/// kind.
pub const DLBRIDGE_KIND_UNKNOWN: DLBridgeKind = 0;
/// A DLManagedTensor.
pub const DLBRIDGE_KIND_LEGACY: DLBridgeKind = 1;
/// A DLManagedTensorVersioned.
pub const DLBRIDGE_KIND_VERSIONED: DLBridgeKind = 2;
/// A DLTensor, which has no owner (dlbridge_diagnose).
pub const DLBRIDGE_KIND_BORROWED: DLBridgeKind = 3;
/// Only an answer, never an argument: the bytes fit both managed kinds.
pub const DLBRIDGE_KIND_AMBIGUOUS: DLBridgeKind = 4;
/// No.
pub const DLBRIDGE_NO: DLBridgeAnswer = 0;
/// Yes.
pub const DLBRIDGE_YES: DLBridgeAnswer = 1;
/// It cannot be decided.
pub const DLBRIDGE_UNDECIDED: DLBridgeAnswer = 2;
/// An extent is 0.
pub const DLBRIDGE_LAYOUT_EMPTY: u32 = 1;
/// Compact, last axis fastest; always set if empty.
pub const DLBRIDGE_LAYOUT_C_CONTIGUOUS: u32 = 2;
/// Compact, first axis fastest; always set if empty.
pub const DLBRIDGE_LAYOUT_F_CONTIGUOUS: u32 = 4;
/// Some axis longer than 1 has stride 0.
pub const DLBRIDGE_LAYOUT_BROADCAST: u32 = 8;
/// Some axis longer than 1 has a negative stride.
pub const DLBRIDGE_LAYOUT_NEGATIVE_STRIDES: u32 = 16;
/// Sub-byte elements are padded to whole bytes.
pub const DLBRIDGE_LAYOUT_PADDED: u32 = 32;
/// `data` is a handle, not an address.
pub const DLBRIDGE_LAYOUT_OPAQUE: u32 = 64;
/// METADATA.
pub const DLBRIDGE_LEVEL_DEFAULT: i32 = 0;
/// The struct itself: version, ndim, dtype, device, flags, and which pointers are NULL.
pub const DLBRIDGE_LEVEL_STRUCT: i32 = 1;
/// Also the `ndim` entries of shape and strides.
pub const DLBRIDGE_LEVEL_METADATA: i32 = 2;
/// Also asks the driver about `data`, which may start the driver. Rejects a wrong device label,
/// elements outside the allocation or the mapped memory, a writable tensor of memory that kernels
/// must not write to, and memory that no driver can be asked about (UNAVAILABLE, UNSUPPORTED). For
/// kDLCPU only drivers that are already started are asked. The size is not checked if no driver knows
/// it.
pub const DLBRIDGE_LEVEL_DEVICE: i32 = 3;
/// Rejects dtype codes that `version` does not know.
pub const DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE: u32 = 256;
/// Rejects device types that `version` does not know.
pub const DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE: u32 = 512;
/// Rejects flag bits that `version` does not know.
pub const DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS: u32 = 1024;
/// Rejects negative strides.
pub const DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES: u32 = 2048;
/// Rejects zero strides on axes longer than 1.
pub const DLBRIDGE_POLICY_REJECT_ZERO_STRIDES: u32 = 4096;
/// Accepts NULL strides also on tensors of version 1.2 or later.
pub const DLBRIDGE_POLICY_ALLOW_NULL_STRIDES: u32 = 8192;
/// Accepts lanes \>= 0x8000 as that many lanes.
pub const DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES: u32 = 16384;
/// Rejects READ_ONLY tensors, and tensors with elements that overlap.
pub const DLBRIDGE_POLICY_REQUIRE_WRITABLE: u32 = 32768;
/// The caller knows that a legacy or borrowed tensor is writable; READ_ONLY still binds.
pub const DLBRIDGE_POLICY_VOUCH_WRITABLE: u32 = 65536;
/// Accepts elements that overlap, even if a writable tensor is required.
pub const DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP: u32 = 131072;
/// `min_ndim` and `max_ndim` are read.
pub const DLBRIDGE_POLICY_LIMIT_NDIM: u32 = 262144;
/// `buffer_size` is read.
pub const DLBRIDGE_POLICY_LIMIT_BUFFER: u32 = 524288;
/// Any layout.
pub const DLBRIDGE_CONTIGUITY_ANY: i32 = 0;
/// Compact, last axis fastest.
pub const DLBRIDGE_CONTIGUITY_C: i32 = 1;
/// Compact, first axis fastest.
pub const DLBRIDGE_CONTIGUITY_F: i32 = 2;
/// Either of the two.
pub const DLBRIDGE_CONTIGUITY_C_OR_F: i32 = 3;
/// A broken rule, for which dlbridge_validate rejects the tensor.
pub const DLBRIDGE_SEVERITY_BROKEN: i32 = 1;
/// For information only.
pub const DLBRIDGE_SEVERITY_NOTE: i32 = 2;
/// Skip validation: the caller knows that the tensor is valid. Only ndim and a NULL shape are
/// checked. The policy must be NULL. A COPY is validated nevertheless, since it depends on the
/// layout.
pub const DLBRIDGE_CONVERT_SKIP_VALIDATION: u32 = 256;
/// The caller knows that a legacy source is writable. Without this bit the result is READ_ONLY. A
/// recorded READ_ONLY stays.
pub const DLBRIDGE_CONVERT_VOUCH_WRITABLE: u32 = 512;
/// Accept dtype codes, device types and flag bits that the consumer's version does not know. A
/// versioned source then keeps its version, since an unknown bit may change the layout.
pub const DLBRIDGE_CONVERT_ALLOW_UNKNOWN: u32 = 1024;
/// Write the result in canonical form: compact strides on empty tensors and on axes of extent 1, NULL
/// data if empty, device id 0 on host-like memory.
pub const DLBRIDGE_CONVERT_CANONICAL: u32 = 2048;
/// Add byte_offset to data. Rejected if `data` is not an address.
pub const DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET: u32 = 4096;
/// Copy the data to compact memory of the allocator; the CPU must be able to read it. The result is
/// writable; a versioned result has IS_COPIED. The source is released. A downgrade with COPY also
/// accepts READ_ONLY and padded tensors. Unknown flag bits are always rejected, since they may change
/// the layout.
pub const DLBRIDGE_CONVERT_COPY: u32 = 8192;
/// To legacy: READ_ONLY may be lost.
pub const DLBRIDGE_CONVERT_DROP_READ_ONLY: u32 = 16384;
/// To legacy: the padded flag may be lost.
pub const DLBRIDGE_CONVERT_DROP_PADDED: u32 = 32768;
/// To legacy: accept dtype codes and device types newer than the legacy version.
pub const DLBRIDGE_CONVERT_ALLOW_NEWER_CODES: u32 = 65536;
/// Keep the module of the producer's deleter loaded, as dlbridge_module_pin does: for producers in
/// plugins. For a dlbridge-owned tensor this is the module of its source's deleter, or of the
/// `deallocate` of its memory. This is the last step: a source that is rejected for another reason
/// pins nothing. In a batch, modules pinned before the failing one stay pinned. Nothing is pinned for
/// a NULL deleter or a COPY.
pub const DLBRIDGE_CONVERT_PIN_PRODUCER: u32 = 131072;
/// Allocate memory that dlbridge_ipc_export can share with other processes: an anonymous memory file,
/// sealed against changes of its size. Only on the CPU and without an allocator.
pub const DLBRIDGE_ALLOCATE_SHAREABLE: u32 = 256;
/// Not set: the backend that the device implies.
pub const DLBRIDGE_BACKEND_NONE: DLBridgeBackend = 0;
/// The host.
pub const DLBRIDGE_BACKEND_CPU: DLBridgeBackend = 1;
/// CUDA driver API: kDLCUDA, kDLCUDAHost, kDLCUDAManaged.
pub const DLBRIDGE_BACKEND_CUDA: DLBridgeBackend = 2;
/// HIP runtime: kDLROCM, kDLROCMHost.
pub const DLBRIDGE_BACKEND_HIP: DLBridgeBackend = 3;
/// Level Zero: kDLOneAPI.
pub const DLBRIDGE_BACKEND_LEVEL_ZERO: DLBridgeBackend = 4;
/// OpenCL: kDLOpenCL, and kDLOneAPI if SYCL uses OpenCL.
pub const DLBRIDGE_BACKEND_OPENCL: DLBridgeBackend = 5;
/// Loaded and initialised, with at least one device.
pub const DLBRIDGE_STATE_READY: i32 = 1;
/// No driver library could be loaded.
pub const DLBRIDGE_STATE_ABSENT: i32 = 2;
/// Loaded, but it does not initialise or has no device.
pub const DLBRIDGE_STATE_UNUSABLE: i32 = 3;
/// The kind that the device implies: CL_MEM for kDLOpenCL, HANDLE for kDLVulkan, kDLMetal, kDLWebGPU
/// and kDLVPI, else ADDRESS.
pub const DLBRIDGE_BUFFER_DEFAULT: i32 = 0;
/// An address: host memory, CUdeviceptr, HIP, USM or SVM pointer, pinned or managed memory.
pub const DLBRIDGE_BUFFER_ADDRESS: i32 = 1;
/// A cl_mem, which is a handle: no offset is ever added to it.
pub const DLBRIDGE_BUFFER_CL_MEM: i32 = 2;
/// Another opaque handle: Vulkan, Metal, WebGPU, VPI. No driver is asked about it.
pub const DLBRIDGE_BUFFER_HANDLE: i32 = 3;
/// Ordinary host memory: no driver knows it.
pub const DLBRIDGE_MEMORY_HOST: i32 = 1;
/// Device memory of CUDA or HIP.
pub const DLBRIDGE_MEMORY_DEVICE: i32 = 2;
/// Host memory that CUDA or HIP has pinned or registered.
pub const DLBRIDGE_MEMORY_PINNED: i32 = 3;
/// Managed memory of CUDA or HIP.
pub const DLBRIDGE_MEMORY_MANAGED: i32 = 4;
/// Host USM of Level Zero or OpenCL.
pub const DLBRIDGE_MEMORY_USM_HOST: i32 = 5;
/// Device USM.
pub const DLBRIDGE_MEMORY_USM_DEVICE: i32 = 6;
/// Shared USM.
pub const DLBRIDGE_MEMORY_USM_SHARED: i32 = 7;
/// OpenCL shared virtual memory (under a cl_mem).
pub const DLBRIDGE_MEMORY_SVM: i32 = 8;
/// An OpenCL buffer object.
pub const DLBRIDGE_MEMORY_CL_MEM: i32 = 9;
/// The context that knows the memory was neither registered nor named by the caller. On Level Zero
/// any context of a driver may know the memory, so it need not be the one that allocated it.
pub const DLBRIDGE_POINTER_CONTEXT_ASSUMED: u32 = 1;
/// `peers` has the driver's answer: it was asked for, the memory is on a device, and the driver can
/// tell.
///
/// Since 0.4.0.
pub const DLBRIDGE_POINTER_PEERS_KNOWN: u32 = 2;
/// Ask the driver for `peers`, by one call per device.
pub const DLBRIDGE_POINTER_INFO_PEERS: u32 = 256;
/// Skip validation: the caller knows that the layout is valid. Of the layout only ndim and a NULL
/// shape are checked, and an empty tensor is not changed. `policy` must be NULL and LIMIT_BUFFER not
/// set.
pub const DLBRIDGE_WRAP_SKIP_VALIDATION: u32 = 256;
/// Keep the module of `release` loaded, as dlbridge_module_pin does.
pub const DLBRIDGE_WRAP_PIN_PRODUCER: u32 = 512;
/// CL_MEM: the tensor holds its own reference to the cl_mem (clRetainMemObject), which also keeps its
/// context.
pub const DLBRIDGE_WRAP_RETAIN: u32 = 1024;
/// `buffer_size` is read.
pub const DLBRIDGE_WRAP_LIMIT_BUFFER: u32 = 2048;
/// `release` orders the end of the memory after the work of the stream that it receives, for instance
/// by freeing it on that stream: dlbridge_release_after may call it before that work is over. \since
/// 0.4.0
pub const DLBRIDGE_WRAP_RELEASE_ON_STREAM: u32 = 4096;
/// No queue: the work of a call is complete when it returns.
pub const DLBRIDGE_STREAM_HOST: i32 = 1;
/// The consumer orders its work itself.
pub const DLBRIDGE_STREAM_NO_SYNC: i32 = 2;
/// CUstream (1 and 2 are CUDA's special streams, 0 is rejected), hipStream_t (0: the default stream,
/// 2: that of the calling thread, 1 from HIP 6.4: the legacy one), cl_command_queue,
/// ze_command_queue_handle_t.
pub const DLBRIDGE_STREAM_QUEUE: i32 = 3;
/// Level Zero: an immediate ze_command_list_handle_t.
pub const DLBRIDGE_STREAM_IMMEDIATE_LIST: i32 = 4;
/// Allow the host to wait if no driver can order the two queues: queues of two backends, or of two
/// Level Zero contexts.
pub const DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT: u32 = 256;
/// Allow a wait that adds the consumer's stream to the graph that the producer's stream is capturing.
/// The caller must join the streams again.
pub const DLBRIDGE_HANDOFF_ALLOW_CAPTURE: u32 = 512;
/// In: the entry becomes the default of its device. The first entry of a device always is.
pub const DLBRIDGE_CONTEXT_DEFAULT: u32 = 1;
/// In: removes entries of the same device with another native device.
pub const DLBRIDGE_CONTEXT_REPLACE: u32 = 2;
/// A library found the device itself. A registration by an application takes precedence.
pub const DLBRIDGE_CONTEXT_ENUMERATED: u32 = 4;
/// The context was made for the table: no other library uses it unless it asks the table.
pub const DLBRIDGE_CONTEXT_PRIVATE: u32 = 8;
/// Allow a copy through host memory for layouts that need more than 4096 driver copies, and between
/// two backends.
pub const DLBRIDGE_COPY_ALLOW_STAGING: u32 = 256;
/// Copy into memory that dlbridge_ipc_export can share. Only on the host, without target or
/// allocator.
pub const DLBRIDGE_COPY_SHAREABLE: u32 = 512;
/// First wait for the work of all tensors that are held now.
pub const DLBRIDGE_COLLECT_WAIT: u32 = 256;
/// Export: the importer gets no right to write, and on the host a process of another user cannot gain
/// it. Import: do not ask for that right. A READ_ONLY tensor is always exported this way.
pub const DLBRIDGE_IPC_READ_ONLY: u32 = 256;
/// Version of this header, semantic.
///
/// Since 0.3.0.
pub const DLBRIDGE_VERSION_MAJOR: u32 = 0;
/// `DLBRIDGE_VERSION_MINOR`.
pub const DLBRIDGE_VERSION_MINOR: u32 = 4;
/// `DLBRIDGE_VERSION_PATCH`.
pub const DLBRIDGE_VERSION_PATCH: u32 = 0;
/// `DLBRIDGE_VERSION_STRING`.
pub const DLBRIDGE_VERSION_STRING: &CStr = c"0.4.0";
/// Number of the ABI that this header describes.
///
/// Since 0.3.0.
pub const DLBRIDGE_ABI: u32 = 1;
/// Largest ndim that any function accepts; no policy raises it.
///
/// Since 0.3.0.
pub const DLBRIDGE_MAX_NDIM: i32 = 64;
/// `None` among the array API's integers.
///
/// Since 0.3.0.
pub const DLBRIDGE_ARRAY_API_STREAM_NONE: i64 = -9223372036854775808;

#[cfg(feature = "link")]
unsafe extern "C" {
    /// Version of the library that is loaded, as major \* 10000 + minor \* 100 + patch.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_version() -> u32;
    /// As dlbridge_version, as text such as "0.3.0"; static, never NULL.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_version_string() -> *const c_char;
    /// Newest DLPack release that the library knows.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_dlpack_version() -> DLPackVersion;
    /// Name of a status such as "DLBRIDGE_ERROR_VERSION", for logs; static, never NULL ("UNKNOWN_STATUS"
    /// for other integers).
    ///
    /// Since 0.3.0.
    pub fn dlbridge_status_name(status: DLBridgeStatus) -> *const c_char;
    /// One English sentence on a status; static, never NULL.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_status_text(status: DLBridgeStatus) -> *const c_char;
    /// Name of a rule such as "NDIM_NEGATIVE"; static, never NULL ("UNKNOWN_RULE" for other integers).
    ///
    /// Since 0.3.0.
    pub fn dlbridge_rule_name(rule: DLBridgeRule) -> *const c_char;
    /// One English phrase on what is wrong when a rule is broken; static, never NULL.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_rule_text(rule: DLBridgeRule) -> *const c_char;
    /// Describes the layout of `tensor`; `tensor_flags` are those of its versioned struct, or 0. Reads shape
    /// and strides. Rejects a tensor without a layout (rules on ndim, dtype bits and lanes, shape, overflow).
    /// Accepts any device, id, data pointer and version, and lanes of scalable vectors (0x8000 and above),
    /// which it counts as that many lanes. Any tensor error.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_layout(
        tensor: *const DLTensor,
        tensor_flags: u64,
        out: *mut DLBridgeLayout,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Writes the name of `dtype`: "float32", "bfloat16x4", "float8_e4m3fn", "bool", "complex64",
    /// "opaque64"; a dtype without a name as "dtype(code,bits,lanes)". dlbridge_dtype_parse reads each.
    ///
    /// `buffer` of `size` bytes receives text and NUL; it may be NULL where size is 0, to ask for the
    /// length. `*length`, unless NULL, receives the length without NUL, also when the text did not fit:
    /// then as much as fits is written, with NUL, and the status is DLBRIDGE_ERROR_BUFFER_TOO_SMALL.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_dtype_format(
        dtype: DLDataType,
        buffer: *mut c_char,
        size: usize,
        length: *mut usize,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Reads a name of `length` bytes as dlbridge_dtype_format writes it. Errors: PARSE.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_dtype_parse(
        text: *const c_char,
        length: usize,
        out: *mut DLDataType,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Writes the name of `device`, "cpu:0", "cuda:1", "rocm_host:0"; a type without a name as
    /// "device(99):0". Buffer and length as for dlbridge_dtype_format.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_device_format(
        device: DLDevice,
        buffer: *mut c_char,
        size: usize,
        length: *mut usize,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Reads a name of `length` bytes as dlbridge_device_format writes it; "cuda" means "cuda:0".
    /// Errors: PARSE.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_device_parse(
        text: *const c_char,
        length: usize,
        out: *mut DLDevice,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Writes one line on `tensor` for logs: dtype, shape, strides, device, data, byte offset, flags.
    /// Accepts broken tensors too (it reads no shape where ndim is negative, and at most 64 axes). Buffer
    /// and length as for dlbridge_dtype_format.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_tensor_format(
        tensor: *const DLTensor,
        tensor_flags: u64,
        buffer: *mut c_char,
        size: usize,
        length: *mut usize,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Returns 1 if the CPU can certainly read memory of this device type, else 0. `*answer`, unless NULL,
    /// is YES, NO or UNDECIDED. UNDECIDED: it depends on the allocation (oneAPI), or no DLPack release
    /// defines the type.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_host_accessible(device_type: i32, answer: *mut DLBridgeAnswer) -> i32;
    /// Checks a borrowed tensor. `tensor_flags` are its DLPack flags, 0 if unknown. `policy` may be NULL.
    /// Stops at the first broken rule. The tensor is only read. Any tensor error.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_validate(
        tensor: *const DLTensor,
        tensor_flags: u64,
        policy: *const DLBridgePolicy,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// As dlbridge_validate, for a legacy tensor, which has no flags.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_validate_legacy(
        tensor: *const DLManagedTensor,
        policy: *const DLBridgePolicy,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// As dlbridge_validate, for a versioned tensor. If its major is not 1, only `version` is read.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_validate_versioned(
        tensor: *const DLManagedTensorVersioned,
        policy: *const DLBridgePolicy,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Reports every finding on `tensor`, a struct of `kind` (LEGACY, VERSIONED or BORROWED;
    /// `tensor_flags` is for BORROWED and 0 otherwise). Fills up to `capacity` entries of `findings` (NULL
    /// where capacity is 0) and sets `*count` to the number of findings, which may be larger. A finding that
    /// makes the rest unreadable is the last. Returns DLBRIDGE_OK for a broken tensor too: errors are about
    /// the arguments only.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_diagnose(
        tensor: *const c_void,
        kind: DLBridgeKind,
        tensor_flags: u64,
        policy: *const DLBridgePolicy,
        findings: *mut DLBridgeFinding,
        capacity: usize,
        count: *mut usize,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Turns any managed tensor into a validated, dlbridge-owned versioned tensor: THE FUNCTION FOR TENSORS
    /// FROM FOREIGN CODE. `kind` is LEGACY, VERSIONED, or UNKNOWN for a channel that carries a void\*.
    ///
    /// UNKNOWN decides by exclusion. If the first bytes cannot be a version, the tensor is legacy, and its
    /// broken rule is reported. A tensor that can be both kinds, or neither, is rejected with AMBIGUOUS.
    ///
    /// Success: `tensor` belongs to the library; `*out` is the caller's, is released once, and can be shared
    /// and viewed. Shape and strides are copied, NULL strides filled in; the struct of the source is never
    /// written to and is released with the last owner of the result. A dlbridge-owned heap tensor that
    /// satisfies the options is handed back. A legacy source without VOUCH_WRITABLE becomes READ_ONLY.
    /// Failure: `tensor` is untouched and the caller's. Any tensor error; AMBIGUOUS; OUT_OF_MEMORY;
    /// UNKNOWN_CODE; UNSUPPORTED (copy of device memory); INVALID_ARGUMENT also for options that concern
    /// legacy results only (DROP_\*, ALLOW_NEWER_CODES). `options` may be NULL.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_import(
        tensor: *mut c_void,
        kind: DLBridgeKind,
        options: *const DLBridgeConvertOptions,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Converts `tensor`, a struct of `kind` (LEGACY, VERSIONED or UNKNOWN, as for dlbridge_import), to the
    /// struct that a consumer of DLPack `target` reads: legacy if target.major is 0, else versioned.
    /// `*out_kind` is LEGACY or VERSIONED, the struct that `*out` is.
    ///
    /// | source    | target 0.m (legacy)                    | target 1.m (versioned)                   |
    /// |-----------|----------------------------------------|------------------------------------------|
    /// | legacy    | handed back if codes are known to 0.m  | as dlbridge_upgrade                      |
    /// | versioned | as dlbridge_downgrade to 0.m           | handed back if its version is at most    |
    /// |           |                                        | 1.m, else a new node of version 1.m      |
    ///
    /// With CANONICAL, FOLD_BYTE_OFFSET or COPY a new tensor is made in every cell. Every tensor is
    /// validated first. ALLOW_UNKNOWN lets unknown codes and flag bits pass, ALLOW_NEWER_CODES newer codes;
    /// DROP_READ_ONLY, DROP_PADDED and COPY let known flags be lost in legacy. In a legacy target m above
    /// 8 means 8; {0, 0} is rejected.
    /// Ownership and errors as for dlbridge_upgrade and dlbridge_downgrade. `options` may be NULL.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_export(
        tensor: *mut c_void,
        kind: DLBridgeKind,
        target: DLPackVersion,
        options: *const DLBridgeConvertOptions,
        out: *mut *mut c_void,
        out_kind: *mut DLBridgeKind,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Calls the deleter of `tensor`, a struct of `kind` (LEGACY or VERSIONED), if it has one. NULL is
    /// accepted. Any other kind returns INVALID_ARGUMENT and calls nothing.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_release(tensor: *mut c_void, kind: DLBridgeKind) -> DLBridgeStatus;
    /// Calls the deleter of `tensor`, where it has one. NULL is accepted.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_release_legacy(tensor: *mut DLManagedTensor);
    /// As dlbridge_release_legacy, for a versioned tensor of any major: nothing after `deleter` is read.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_release_versioned(tensor: *mut DLManagedTensorVersioned);
    /// Converts a legacy tensor to a versioned one. Copies data only with DLBRIDGE_CONVERT_COPY.
    ///
    /// Success and failure as for dlbridge_import. If dlbridge_downgrade made the source and the source has
    /// no other owner, the result is the tensor that dlbridge_downgrade was given, if it satisfies the
    /// options. Otherwise the result carries everything that tensor carried.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_upgrade(
        source: *mut DLManagedTensor,
        options: *const DLBridgeConvertOptions,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Bytes of storage that dlbridge_upgrade_into needs for `ndim` axes; 0 for an ndim below 0 or above
    /// DLBRIDGE_MAX_NDIM.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_upgrade_storage_size(ndim: i32) -> usize;
    /// As dlbridge_upgrade, but into the caller's storage and without allocating. The result is at the
    /// start of the storage; dlbridge_share and dlbridge_view reject it (rule IN_STORAGE). COPY is an
    /// invalid argument. A source made by dlbridge_downgrade keeps all flags, but the original itself is
    /// not handed back: the result is always in the storage. Failure: BUFFER_TOO_SMALL with the needed size,
    /// and what dlbridge_upgrade returns; the storage is free, its bytes unspecified.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_upgrade_into(
        source: *mut DLManagedTensor,
        options: *const DLBridgeConvertOptions,
        storage: *const DLBridgeStorage,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Upgrades `count` tensors, all or nothing. Success: as dlbridge_upgrade for each. Failure: all
    /// sources are the caller's and untouched, `outs` is unwritten, and `*failed`, unless NULL, is the
    /// index of the tensor that was rejected (`count` where none caused it). A tensor given twice is an
    /// invalid argument. COPY is an invalid argument. `outs` may overlap `sources`.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_upgrade_many(
        sources: *const *mut DLManagedTensor,
        count: usize,
        options: *const DLBridgeConvertOptions,
        outs: *mut *mut DLManagedTensorVersioned,
        failed: *mut usize,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Converts a versioned tensor to a legacy one. Rejects a tensor that legacy cannot record (rules
    /// LEGACY_\*), unless the options allow that loss or ask for a copy; IS_COPIED is dropped. The result is
    /// always a new dlbridge-owned tensor. It remembers all flags and its writability, and upgrading it
    /// restores them. Ownership as for dlbridge_upgrade. Any tensor error; UNREPRESENTABLE; UNKNOWN_CODE;
    /// OUT_OF_MEMORY; UNSUPPORTED.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_downgrade(
        source: *mut DLManagedTensorVersioned,
        options: *const DLBridgeConvertOptions,
        out: *mut *mut DLManagedTensor,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Adds an independent owner of the same data. `tensor` must be dlbridge-owned, stays the
    /// caller's, and must stay live for the call; it may be shared from several threads at once. `*out` is
    /// the caller's and may outlive `tensor`: the data is released with its last owner. Errors:
    /// FOREIGN_TENSOR, UNSUPPORTED with rule IN_STORAGE, INVALID_ARGUMENT where the struct was changed,
    /// OUT_OF_MEMORY.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_share(
        tensor: *const DLManagedTensorVersioned,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// As dlbridge_share, with another shape, strides and offset. The elements of the view must lie between
    /// the parent's lowest and highest element (an empty view is always inside). Device and flags are the
    /// parent's. Errors: also BOUNDS with rules VIEW_BOUNDS and VIEW_OFFSET, and any tensor error.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_view(
        tensor: *const DLManagedTensorVersioned,
        spec: *const DLBridgeViewSpec,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Allocates a compact dlbridge-owned tensor; its bytes are unspecified. An empty one has NULL data and
    /// allocates none. Errors: any tensor error, OUT_OF_MEMORY, UNSUPPORTED (a device other than the CPU
    /// without an allocator, SHAREABLE on a system without memory files), VERSION.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_allocate(
        spec: *const DLBridgeAllocateSpec,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// The oldest DLPack version that can describe `tensor` with `tensor_flags`, at least 0.2: decided by
    /// dtype code, device type and flags; shape and strides are not read. Errors: UNKNOWN_CODE where no
    /// release knows one of them.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_required_version(
        tensor: *const DLTensor,
        tensor_flags: u64,
        out: *mut DLPackVersion,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Decides which struct a producer that supports versions up to `producer` hands to a consumer that
    /// reads versions up to `consumer`, as the Python array API standard defines: legacy ({0, 8} at most) if
    /// either is older than 1.0, else versioned with the smaller version. Errors: VERSION where a producer of
    /// a higher major meets a versioned consumer of a lower one. `kind` and `version` are outputs.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_negotiate(
        producer: DLPackVersion,
        consumer: DLPackVersion,
        kind: *mut DLBridgeKind,
        version: *mut DLPackVersion,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Finds the newest table of a DLPackExchangeAPI chain that has the major `consumer.major` (1) and all
    /// four mandatory functions. Other tables are skipped. At most 64 tables are read, so a ring
    /// ends. `*out` is borrowed from the chain, for as long as its type lives. Errors: NOT_FOUND; VERSION
    /// where consumer.major is not 1.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_exchange_api_find(
        chain: *const DLPackExchangeAPIHeader,
        consumer: DLPackVersion,
        out: *mut *const DLPackExchangeAPI,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Decides by its bytes which managed struct `tensor` points to. Reads 64 bytes, the size of the smaller
    /// struct, and follows no pointer. LEGACY, VERSIONED: the bytes cannot be the other kind (the tensor may
    /// still be broken). AMBIGUOUS: the bytes can be both. UNKNOWN: they can be neither, or `tensor` is NULL.
    /// dlbridge-owned tensors are always recognised. docs/identify.md lists the ambiguous bytes.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_identify(tensor: *const c_void) -> DLBridgeKind;
    /// Keeps the module (shared library, plugin, DLL) that holds `address` loaded until the process ends,
    /// with all that it needs, so that a deleter and static data inside it outlive its dlclose. Any address
    /// inside works: the deleter, or static data where C forbids that conversion. The module must be
    /// loaded during the call. The main program and libdlbridge.so are never unloaded, and both may be
    /// named; a plugin that contains the static library must pin itself if its tensors can outlive it.
    /// Repeating the call is harmless; it cannot be undone. It takes the lock of the system's loader, which
    /// allocates. Errors: NOT_FOUND where no module holds the address (heap, stack, code made at run time);
    /// UNSUPPORTED where the module cannot be kept, such as one in a linker namespace of its own.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_module_pin(address: *const c_void, error: *mut DLBridgeError)
        -> DLBridgeStatus;
    /// Starts `backend` (CPU to OPENCL) unless it is READY, and reports the outcome. An absent driver is no
    /// error, and is found by a later call once any library has loaded it into the process; so is a copy
    /// that works where another copy does not. Errors: FORKED; INVALID_ARGUMENT for NONE and below, TOO_NEW
    /// above OPENCL.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_backend_info(
        backend: DLBridgeBackend,
        out: *mut DLBridgeBackendInfo,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Asks the driver where `buffer` lies; it may point inside an allocation. `device` is its label; kDLCPU
    /// and {0, 0} assume nothing. Asks the backend of `buffer->backend` or of `device`, and starts it if
    /// needed. Without either it asks the backends that are already started: classifying a host pointer
    /// starts no driver. Memory that no backend knows is HOST; that is an answer, not an error. Of virtual
    /// memory, `base` and `size` are those of the mapped piece. Errors: INVALID_ARGUMENT, also for virtual
    /// memory that is reserved but not mapped; UNSUPPORTED for device types without a backend.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_pointer_info(
        buffer: *const DLBridgeBuffer,
        device: DLDevice,
        out: *mut DLBridgePointerInfo,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Makes a dlbridge-owned tensor from native memory. An empty one gets NULL data and compact strides.
    /// If `buffer.context` is given, the context table must have it for that device, so that a consumer can
    /// find it; the tensor retains that entry. A CL_MEM needs no entry: its driver confirms the context, and
    /// the tensor keeps a reference to the cl_mem as with RETAIN. A CL_MEM of another context is rejected, as
    /// is one that kernels must not write to for a tensor without READ_ONLY. No driver is called unless a
    /// context is given, RETAIN is asked for, or the policy's level is DEVICE.
    /// Success: the memory belongs to the tensor until `release` runs. Failure: everything is the caller's
    /// and `release` has not been called. Any tensor error; UNKNOWN_CODE; NOT_FOUND (context);
    /// OUT_OF_MEMORY.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_wrap(
        spec: *const DLBridgeWrapSpec,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// As dlbridge_wrap, but makes a legacy tensor; `version` must be {0, 0}. Flags and codes that legacy
    /// cannot record are rejected (rules LEGACY_\*), except IS_COPIED, which is dropped. Upgrading the result
    /// restores all flags.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_wrap_legacy(
        spec: *const DLBridgeWrapSpec,
        out: *mut *mut DLManagedTensor,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Turns the `stream` of the Python array API's __dlpack__ into a stream, to the letter. CUDA: None and
    /// 1 the legacy default stream, 2 the per-thread one, above 2 a CUstream, -1 NO_SYNC; 0 and less than -1
    /// are errors. ROCm: None and 0 the default stream, above 2 a hipStream_t, -1 NO_SYNC; 1 and 2 are
    /// errors. CPU: None is HOST, all else an error. Other devices: None is HOST, -1 NO_SYNC, other integers
    /// mean nothing there: UNSUPPORTED. No driver is called.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_stream_from_array_api(
        device: DLDevice,
        stream: i64,
        out: *mut DLBridgeStream,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Orders all work enqueued on `producer` so far before all work enqueued on `consumer` from now on; the
    /// host does not wait. If both are one queue, which may run its work out of order, its later work waits
    /// for its earlier work. Does nothing if the producer is HOST or NO_SYNC, or the consumer is NO_SYNC.
    /// For a consumer HOST it is dlbridge_stream_synchronize(producer). docs/streams.md lists the driver's
    /// calls. Errors: CAPTURE, UNSUPPORTED (see the options), INVALID_ARGUMENT.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_stream_handoff(
        producer: *const DLBridgeStream,
        consumer: *const DLBridgeStream,
        options: u32,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Blocks the host until all work enqueued on `stream` is done. HOST: nothing to wait for.
    /// NO_SYNC is an invalid argument. Errors: CAPTURE.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_stream_synchronize(
        stream: *const DLBridgeStream,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Adds `entry`. A device may have several contexts, of one native device. Success: `*id` names the
    /// entry, and `release` will run once. Failure: nothing is kept and `release` is not called. An
    /// application's registration replaces entries of that device that a library ENUMERATED. Errors: EXISTS
    /// where another registration has the same device and context, or the device with another native device
    /// and REPLACE is not asked for; INVALID_ARGUMENT; TOO_NEW. No driver is called.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_context_register(
        entry: *const DLBridgeContextEntry,
        id: *mut u64,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Finds the entry of `device` with `context`, or the default entry if `context` is 0. If the table has
    /// no entry for the device, its backend is started and its devices are added: Level Zero with
    /// zeDriverGetDefaultContext where the driver has it, else a PRIVATE context per driver; OpenCL a PRIVATE
    /// context per platform; CUDA and HIP with none. Pinned and managed memory share the entry of kDLCUDA or
    /// kDLROCM. `*out` is a copy, whose handles live as long as the entry: keep that with
    /// dlbridge_context_retain. Errors: NOT_FOUND, UNSUPPORTED for device types without a backend.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_context_find(
        device: DLDevice,
        context: u64,
        out: *mut DLBridgeContextEntry,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Copies the entry that follows `*cursor` (0: the first) and moves the cursor to it. Entries that are
    /// added or removed meanwhile may be met or not; no entry is met twice. It adds no entries itself.
    /// Errors: NOT_FOUND after the last.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_context_next(
        cursor: *mut u64,
        out: *mut DLBridgeContextEntry,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Keeps entry `id` from being released. Errors: NOT_FOUND where it is no longer registered.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_context_retain(id: u64, error: *mut DLBridgeError) -> DLBridgeStatus;
    /// Ends one dlbridge_context_retain; the last, of an entry that was unregistered, runs its `release`.
    /// Errors: NOT_FOUND where the entry is not retained.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_context_release(id: u64, error: *mut DLBridgeError) -> DLBridgeStatus;
    /// Removes entry `id` from look-ups at once. Its `release` runs when nothing retains it any more,
    /// possibly during this call. Allocates no memory. Errors: NOT_FOUND.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_context_unregister(id: u64, error: *mut DLBridgeError) -> DLBridgeStatus;
    /// This copy's own table. A library that looks for the table of the process takes the first loaded
    /// module that exports this symbol, as the functions above do.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_context_table_v1() -> *const DLBridgeContextTable;
    /// Copies `source` (any strides; `tensor_flags` as in its versioned struct) to compact memory, last axis
    /// fastest. The source is only read and stays the caller's; the call returns when the copy is whole.
    /// Host to host: any layout and dtype; sub-byte elements become packed, or padded if
    /// `spec->tensor_flags` has the padded flag. Host and device, or within one backend: by contiguous runs
    /// and rectangular copies. A layout that needs more than 4096 of these, and a copy between two backends,
    /// go through host memory if ALLOW_STAGING is set. Pinned and managed memory counts as the host's.
    /// Success: `*out` is the caller's. Failure: no output, `release` not called, memory of the allocator
    /// given back; the target's bytes are unspecified, and after DRIVER, if waiting failed too, the
    /// driver may still be working on both. Any tensor error; UNKNOWN_CODE (also for a flag bit of the
    /// source that no release knows); UNSUPPORTED (no allocator, staging not allowed); BUFFER_TOO_SMALL;
    /// OUT_OF_MEMORY; CAPTURE.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_copy(
        source: *const DLTensor,
        tensor_flags: u64,
        spec: *const DLBridgeCopySpec,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// As dlbridge_copy of a dlbridge-owned tensor, but returns as soon as the copy is enqueued on
    /// `spec->stream`, a queue of the one driver that copies (HOST: the copy is complete on return). The
    /// library holds source and copy until the queue has done the work: the caller may release both at once,
    /// and dlbridge_collect frees what is held. `*out` may be used by later work on that queue; other queues
    /// need dlbridge_stream_handoff, and the host dlbridge_stream_synchronize. Host memory on either side
    /// must not be written, and that of the copy not be read, before the queue has done the work. The
    /// allocator receives the stream. Success and failure as for dlbridge_copy; a failure has waited for the
    /// work that was enqueued. Errors: those of dlbridge_copy and dlbridge_share; UNSUPPORTED where the copy
    /// needs host memory in between or both sides are on the host; CAPTURE where the stream is capturing a
    /// graph; INVALID_ARGUMENT for ALLOW_STAGING and streams of kind NO_SYNC.
    ///
    /// Since 0.4.0.
    pub fn dlbridge_copy_async(
        source: *const DLManagedTensorVersioned,
        spec: *const DLBridgeCopySpec,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Releases `tensor`, a managed tensor of any maker (`kind` LEGACY or VERSIONED), when the work enqueued
    /// so far on each of the `count` streams is over; the host does not wait. Streams of kind HOST have no
    /// work: with these alone the tensor is released at once. So is the last owner of a tensor of
    /// dlbridge_wrap with RELEASE_ON_STREAM, if one queue of its own backend is given and it keeps no context
    /// of the table and no handle: its callback receives the queue. Else the library holds the tensor; this
    /// call also releases up to 8 tensors held before, whose work is over. Work that a fault of the device
    /// has ended is over. Success: the tensor belongs to the library. Failure: the tensor is the caller's and
    /// nothing is held; after a fault of the device, release it by dlbridge_release. Errors: INVALID_ARGUMENT
    /// (also for count 0 and kind NO_SYNC), CAPTURE where a stream is capturing a graph, OUT_OF_MEMORY.
    ///
    /// Since 0.4.0.
    pub fn dlbridge_release_after(
        tensor: *mut c_void,
        kind: DLBridgeKind,
        streams: *const DLBridgeStream,
        count: usize,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Releases the tensors that the library holds whose work is over. `options` 0 does not wait for work.
    /// `*left`, unless NULL, receives the number of tensors and copies that are still held or being released
    /// by any thread, also on failure. Call it where a tensor's memory is needed again, or now and then.
    /// Called by a deleter that one of these functions runs, it releases nothing: the outer call goes on with
    /// what is held. Errors: DRIVER where a driver cannot tell whether work is over, CAPTURE where a stream
    /// began a capture meanwhile (HIP); that tensor stays held, and the others have been released.
    ///
    /// Since 0.4.0.
    pub fn dlbridge_collect(
        options: u32,
        left: *mut usize,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Describes `tensor` for another process: a descriptor in `spec->buffer` and file descriptors in
    /// `spec->fds`. The file descriptors belong to the caller, who sends them in this order (SCM_RIGHTS) and
    /// then closes its own. `*sizes` has both sizes, also on BUFFER_TOO_SMALL, which writes nothing else.
    /// The host's memory must be SHAREABLE (dlbridge_allocate, dlbridge_copy) and lives until the last
    /// process releases it; a device's memory stays the exporter's, which keeps the tensor until the
    /// importer is done. Work on the tensor must be finished, unless `spec->stream` names its queue. The
    /// tensor stays the caller's. IS_COPIED is not carried. A device's handle may open the whole allocation
    /// that the tensor lies in: docs/ipc.md. Errors: any tensor error; UNSUPPORTED with the remedy; CAPTURE;
    /// BUFFER_TOO_SMALL.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_ipc_export(
        tensor: *const DLManagedTensorVersioned,
        spec: *const DLBridgeIpcExportSpec,
        sizes: *mut DLBridgeIpcSizes,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// Makes a dlbridge-owned tensor from another process's export; descriptor and file descriptors stay the
    /// caller's in every case. The tensor is validated like any foreign one. Host memory must be sealed and
    /// must have pages for every byte described, so that no peer can make a reader fault. Errors: DESCRIPTOR
    /// if the descriptor is truncated, altered, of a newer version, or does not match the file descriptors;
    /// any tensor error; UNAVAILABLE; CAPTURE; DRIVER where the exporter is gone.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_ipc_import(
        spec: *const DLBridgeIpcImportSpec,
        out: *mut *mut DLManagedTensorVersioned,
        error: *mut DLBridgeError,
    ) -> DLBridgeStatus;
    /// The library's table, static; NULL where the library's ABI is not `abi` (pass DLBRIDGE_ABI) or
    /// where `struct_size` (pass sizeof(DLBridgeApi)) is smaller than the first version of the table. A
    /// client that is newer than the library gets the library's shorter table.
    ///
    /// Since 0.3.0.
    pub fn dlbridge_get_api(abi: u32, struct_size: usize) -> *const DLBridgeApi;
}
