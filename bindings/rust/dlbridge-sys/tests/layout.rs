// SPDX-License-Identifier: Apache-2.0
//! The mirrors compared with what a C compiler reports on the headers.
//!
//! Generated from the C headers by tools/facts.py; do not edit.
#![allow(clippy::too_many_lines, clippy::wildcard_imports, clippy::cast_lossless)]
#![allow(clippy::unreadable_literal, clippy::no_effect_underscore_binding)]
use core::mem::{align_of, offset_of, size_of};
use dlbridge_sys::*;

/// Size of the field that `_get` looks at.
fn field<S, F>(_get: fn(&S) -> &F) -> usize {
    size_of::<F>()
}

fn hex<T>(value: &T) -> String {
    let start = core::ptr::from_ref(value).cast::<u8>();
    // SAFETY: no struct of the ABI has padding, which the layout tests prove.
    let bytes = unsafe { core::slice::from_raw_parts(start, size_of::<T>()) };
    let digit = |d: u8| char::from(b"0123456789abcdef"[d as usize]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[test]
fn layout_dldevice() {
    assert_eq!(size_of::<DLDevice>(), 8);
    assert_eq!(align_of::<DLDevice>(), 4);
    assert_eq!(offset_of!(DLDevice, device_type), 0);
    assert_eq!(field(|s: &DLDevice| &s.device_type), 4);
    assert_eq!(offset_of!(DLDevice, device_id), 4);
    assert_eq!(field(|s: &DLDevice| &s.device_id), 4);
    let _all = |s: DLDevice| {
        let DLDevice { device_type: _, device_id: _ } = s;
    };
}

#[test]
fn layout_dldata_type() {
    assert_eq!(size_of::<DLDataType>(), 4);
    assert_eq!(align_of::<DLDataType>(), 2);
    assert_eq!(offset_of!(DLDataType, code), 0);
    assert_eq!(field(|s: &DLDataType| &s.code), 1);
    assert_eq!(offset_of!(DLDataType, bits), 1);
    assert_eq!(field(|s: &DLDataType| &s.bits), 1);
    assert_eq!(offset_of!(DLDataType, lanes), 2);
    assert_eq!(field(|s: &DLDataType| &s.lanes), 2);
    let _all = |s: DLDataType| {
        let DLDataType { code: _, bits: _, lanes: _ } = s;
    };
}

#[test]
fn layout_dltensor() {
    assert_eq!(size_of::<DLTensor>(), 48);
    assert_eq!(align_of::<DLTensor>(), 8);
    assert_eq!(offset_of!(DLTensor, data), 0);
    assert_eq!(field(|s: &DLTensor| &s.data), 8);
    assert_eq!(offset_of!(DLTensor, device), 8);
    assert_eq!(field(|s: &DLTensor| &s.device), 8);
    assert_eq!(offset_of!(DLTensor, ndim), 16);
    assert_eq!(field(|s: &DLTensor| &s.ndim), 4);
    assert_eq!(offset_of!(DLTensor, dtype), 20);
    assert_eq!(field(|s: &DLTensor| &s.dtype), 4);
    assert_eq!(offset_of!(DLTensor, shape), 24);
    assert_eq!(field(|s: &DLTensor| &s.shape), 8);
    assert_eq!(offset_of!(DLTensor, strides), 32);
    assert_eq!(field(|s: &DLTensor| &s.strides), 8);
    assert_eq!(offset_of!(DLTensor, byte_offset), 40);
    assert_eq!(field(|s: &DLTensor| &s.byte_offset), 8);
    let _all = |s: DLTensor| {
        let DLTensor {
            data: _,
            device: _,
            ndim: _,
            dtype: _,
            shape: _,
            strides: _,
            byte_offset: _,
        } = s;
    };
}

#[test]
fn layout_dlmanaged_tensor() {
    assert_eq!(size_of::<DLManagedTensor>(), 64);
    assert_eq!(align_of::<DLManagedTensor>(), 8);
    assert_eq!(offset_of!(DLManagedTensor, dl_tensor), 0);
    assert_eq!(field(|s: &DLManagedTensor| &s.dl_tensor), 48);
    assert_eq!(offset_of!(DLManagedTensor, manager_ctx), 48);
    assert_eq!(field(|s: &DLManagedTensor| &s.manager_ctx), 8);
    assert_eq!(offset_of!(DLManagedTensor, deleter), 56);
    assert_eq!(field(|s: &DLManagedTensor| &s.deleter), 8);
    let _all = |s: DLManagedTensor| {
        let DLManagedTensor { dl_tensor: _, manager_ctx: _, deleter: _ } = s;
    };
}

#[test]
fn layout_dlpack_version() {
    assert_eq!(size_of::<DLPackVersion>(), 8);
    assert_eq!(align_of::<DLPackVersion>(), 4);
    assert_eq!(offset_of!(DLPackVersion, major), 0);
    assert_eq!(field(|s: &DLPackVersion| &s.major), 4);
    assert_eq!(offset_of!(DLPackVersion, minor), 4);
    assert_eq!(field(|s: &DLPackVersion| &s.minor), 4);
    let _all = |s: DLPackVersion| {
        let DLPackVersion { major: _, minor: _ } = s;
    };
}

#[test]
fn layout_dlmanaged_tensor_versioned() {
    assert_eq!(size_of::<DLManagedTensorVersioned>(), 80);
    assert_eq!(align_of::<DLManagedTensorVersioned>(), 8);
    assert_eq!(offset_of!(DLManagedTensorVersioned, version), 0);
    assert_eq!(field(|s: &DLManagedTensorVersioned| &s.version), 8);
    assert_eq!(offset_of!(DLManagedTensorVersioned, manager_ctx), 8);
    assert_eq!(field(|s: &DLManagedTensorVersioned| &s.manager_ctx), 8);
    assert_eq!(offset_of!(DLManagedTensorVersioned, deleter), 16);
    assert_eq!(field(|s: &DLManagedTensorVersioned| &s.deleter), 8);
    assert_eq!(offset_of!(DLManagedTensorVersioned, flags), 24);
    assert_eq!(field(|s: &DLManagedTensorVersioned| &s.flags), 8);
    assert_eq!(offset_of!(DLManagedTensorVersioned, dl_tensor), 32);
    assert_eq!(field(|s: &DLManagedTensorVersioned| &s.dl_tensor), 48);
    let _all = |s: DLManagedTensorVersioned| {
        let DLManagedTensorVersioned {
            version: _,
            manager_ctx: _,
            deleter: _,
            flags: _,
            dl_tensor: _,
        } = s;
    };
}

#[test]
fn layout_dlpack_exchange_apiheader() {
    assert_eq!(size_of::<DLPackExchangeAPIHeader>(), 16);
    assert_eq!(align_of::<DLPackExchangeAPIHeader>(), 8);
    assert_eq!(offset_of!(DLPackExchangeAPIHeader, version), 0);
    assert_eq!(field(|s: &DLPackExchangeAPIHeader| &s.version), 8);
    assert_eq!(offset_of!(DLPackExchangeAPIHeader, prev_api), 8);
    assert_eq!(field(|s: &DLPackExchangeAPIHeader| &s.prev_api), 8);
    let _all = |s: DLPackExchangeAPIHeader| {
        let DLPackExchangeAPIHeader { version: _, prev_api: _ } = s;
    };
}

#[test]
fn layout_dlpack_exchange_api() {
    assert_eq!(size_of::<DLPackExchangeAPI>(), 56);
    assert_eq!(align_of::<DLPackExchangeAPI>(), 8);
    assert_eq!(offset_of!(DLPackExchangeAPI, header), 0);
    assert_eq!(field(|s: &DLPackExchangeAPI| &s.header), 16);
    assert_eq!(offset_of!(DLPackExchangeAPI, managed_tensor_allocator), 16);
    assert_eq!(field(|s: &DLPackExchangeAPI| &s.managed_tensor_allocator), 8);
    assert_eq!(offset_of!(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync), 24);
    assert_eq!(field(|s: &DLPackExchangeAPI| &s.managed_tensor_from_py_object_no_sync), 8);
    assert_eq!(offset_of!(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync), 32);
    assert_eq!(field(|s: &DLPackExchangeAPI| &s.managed_tensor_to_py_object_no_sync), 8);
    assert_eq!(offset_of!(DLPackExchangeAPI, dltensor_from_py_object_no_sync), 40);
    assert_eq!(field(|s: &DLPackExchangeAPI| &s.dltensor_from_py_object_no_sync), 8);
    assert_eq!(offset_of!(DLPackExchangeAPI, current_work_stream), 48);
    assert_eq!(field(|s: &DLPackExchangeAPI| &s.current_work_stream), 8);
    let _all = |s: DLPackExchangeAPI| {
        let DLPackExchangeAPI {
            header: _,
            managed_tensor_allocator: _,
            managed_tensor_from_py_object_no_sync: _,
            managed_tensor_to_py_object_no_sync: _,
            dltensor_from_py_object_no_sync: _,
            current_work_stream: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_error() {
    assert_eq!(size_of::<DLBridgeError>(), 256);
    assert_eq!(align_of::<DLBridgeError>(), 8);
    assert_eq!(offset_of!(DLBridgeError, status), 0);
    assert_eq!(field(|s: &DLBridgeError| &s.status), 4);
    assert_eq!(offset_of!(DLBridgeError, rule), 4);
    assert_eq!(field(|s: &DLBridgeError| &s.rule), 4);
    assert_eq!(offset_of!(DLBridgeError, axis), 8);
    assert_eq!(field(|s: &DLBridgeError| &s.axis), 4);
    assert_eq!(offset_of!(DLBridgeError, native_code), 12);
    assert_eq!(field(|s: &DLBridgeError| &s.native_code), 4);
    assert_eq!(offset_of!(DLBridgeError, reserved), 16);
    assert_eq!(field(|s: &DLBridgeError| &s.reserved), 16);
    assert_eq!(offset_of!(DLBridgeError, message), 32);
    assert_eq!(field(|s: &DLBridgeError| &s.message), 224);
    let _all = |s: DLBridgeError| {
        let DLBridgeError { status: _, rule: _, axis: _, native_code: _, reserved: _, message: _ } =
            s;
    };
}

#[test]
fn layout_dlbridge_layout() {
    assert_eq!(size_of::<DLBridgeLayout>(), 80);
    assert_eq!(align_of::<DLBridgeLayout>(), 8);
    assert_eq!(offset_of!(DLBridgeLayout, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeLayout| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeLayout, options), 4);
    assert_eq!(field(|s: &DLBridgeLayout| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeLayout, properties), 8);
    assert_eq!(field(|s: &DLBridgeLayout| &s.properties), 4);
    assert_eq!(offset_of!(DLBridgeLayout, item_bits), 12);
    assert_eq!(field(|s: &DLBridgeLayout| &s.item_bits), 4);
    assert_eq!(offset_of!(DLBridgeLayout, self_overlap), 16);
    assert_eq!(field(|s: &DLBridgeLayout| &s.self_overlap), 4);
    assert_eq!(offset_of!(DLBridgeLayout, ndim), 20);
    assert_eq!(field(|s: &DLBridgeLayout| &s.ndim), 4);
    assert_eq!(offset_of!(DLBridgeLayout, element_count), 24);
    assert_eq!(field(|s: &DLBridgeLayout| &s.element_count), 8);
    assert_eq!(offset_of!(DLBridgeLayout, packed_bytes), 32);
    assert_eq!(field(|s: &DLBridgeLayout| &s.packed_bytes), 8);
    assert_eq!(offset_of!(DLBridgeLayout, begin), 40);
    assert_eq!(field(|s: &DLBridgeLayout| &s.begin), 8);
    assert_eq!(offset_of!(DLBridgeLayout, end), 48);
    assert_eq!(field(|s: &DLBridgeLayout| &s.end), 8);
    assert_eq!(offset_of!(DLBridgeLayout, broadcast_axes), 56);
    assert_eq!(field(|s: &DLBridgeLayout| &s.broadcast_axes), 8);
    assert_eq!(offset_of!(DLBridgeLayout, negative_axes), 64);
    assert_eq!(field(|s: &DLBridgeLayout| &s.negative_axes), 8);
    assert_eq!(offset_of!(DLBridgeLayout, alignment), 72);
    assert_eq!(field(|s: &DLBridgeLayout| &s.alignment), 8);
    let _all = |s: DLBridgeLayout| {
        let DLBridgeLayout {
            struct_size: _,
            options: _,
            properties: _,
            item_bits: _,
            self_overlap: _,
            ndim: _,
            element_count: _,
            packed_bytes: _,
            begin: _,
            end: _,
            broadcast_axes: _,
            negative_axes: _,
            alignment: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_policy() {
    assert_eq!(size_of::<DLBridgePolicy>(), 88);
    assert_eq!(align_of::<DLBridgePolicy>(), 8);
    assert_eq!(offset_of!(DLBridgePolicy, struct_size), 0);
    assert_eq!(field(|s: &DLBridgePolicy| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgePolicy, options), 4);
    assert_eq!(field(|s: &DLBridgePolicy| &s.options), 4);
    assert_eq!(offset_of!(DLBridgePolicy, version), 8);
    assert_eq!(field(|s: &DLBridgePolicy| &s.version), 8);
    assert_eq!(offset_of!(DLBridgePolicy, level), 16);
    assert_eq!(field(|s: &DLBridgePolicy| &s.level), 4);
    assert_eq!(offset_of!(DLBridgePolicy, contiguity), 20);
    assert_eq!(field(|s: &DLBridgePolicy| &s.contiguity), 4);
    assert_eq!(offset_of!(DLBridgePolicy, min_ndim), 24);
    assert_eq!(field(|s: &DLBridgePolicy| &s.min_ndim), 4);
    assert_eq!(offset_of!(DLBridgePolicy, max_ndim), 28);
    assert_eq!(field(|s: &DLBridgePolicy| &s.max_ndim), 4);
    assert_eq!(offset_of!(DLBridgePolicy, alignment), 32);
    assert_eq!(field(|s: &DLBridgePolicy| &s.alignment), 8);
    assert_eq!(offset_of!(DLBridgePolicy, buffer_size), 40);
    assert_eq!(field(|s: &DLBridgePolicy| &s.buffer_size), 8);
    assert_eq!(offset_of!(DLBridgePolicy, devices), 48);
    assert_eq!(field(|s: &DLBridgePolicy| &s.devices), 8);
    assert_eq!(offset_of!(DLBridgePolicy, device_count), 56);
    assert_eq!(field(|s: &DLBridgePolicy| &s.device_count), 8);
    assert_eq!(offset_of!(DLBridgePolicy, dtypes), 64);
    assert_eq!(field(|s: &DLBridgePolicy| &s.dtypes), 8);
    assert_eq!(offset_of!(DLBridgePolicy, dtype_count), 72);
    assert_eq!(field(|s: &DLBridgePolicy| &s.dtype_count), 8);
    assert_eq!(offset_of!(DLBridgePolicy, shape), 80);
    assert_eq!(field(|s: &DLBridgePolicy| &s.shape), 8);
    let _all = |s: DLBridgePolicy| {
        let DLBridgePolicy {
            struct_size: _,
            options: _,
            version: _,
            level: _,
            contiguity: _,
            min_ndim: _,
            max_ndim: _,
            alignment: _,
            buffer_size: _,
            devices: _,
            device_count: _,
            dtypes: _,
            dtype_count: _,
            shape: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_finding() {
    assert_eq!(size_of::<DLBridgeFinding>(), 256);
    assert_eq!(align_of::<DLBridgeFinding>(), 8);
    assert_eq!(offset_of!(DLBridgeFinding, rule), 0);
    assert_eq!(field(|s: &DLBridgeFinding| &s.rule), 4);
    assert_eq!(offset_of!(DLBridgeFinding, axis), 4);
    assert_eq!(field(|s: &DLBridgeFinding| &s.axis), 4);
    assert_eq!(offset_of!(DLBridgeFinding, severity), 8);
    assert_eq!(field(|s: &DLBridgeFinding| &s.severity), 4);
    assert_eq!(offset_of!(DLBridgeFinding, status), 12);
    assert_eq!(field(|s: &DLBridgeFinding| &s.status), 4);
    assert_eq!(offset_of!(DLBridgeFinding, reserved), 16);
    assert_eq!(field(|s: &DLBridgeFinding| &s.reserved), 16);
    assert_eq!(offset_of!(DLBridgeFinding, expected), 32);
    assert_eq!(field(|s: &DLBridgeFinding| &s.expected), 128);
    assert_eq!(offset_of!(DLBridgeFinding, found), 160);
    assert_eq!(field(|s: &DLBridgeFinding| &s.found), 96);
    let _all = |s: DLBridgeFinding| {
        let DLBridgeFinding {
            rule: _,
            axis: _,
            severity: _,
            status: _,
            reserved: _,
            expected: _,
            found: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_allocator() {
    assert_eq!(size_of::<DLBridgeAllocator>(), 32);
    assert_eq!(align_of::<DLBridgeAllocator>(), 8);
    assert_eq!(offset_of!(DLBridgeAllocator, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeAllocator| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeAllocator, options), 4);
    assert_eq!(field(|s: &DLBridgeAllocator| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeAllocator, context), 8);
    assert_eq!(field(|s: &DLBridgeAllocator| &s.context), 8);
    assert_eq!(offset_of!(DLBridgeAllocator, allocate), 16);
    assert_eq!(field(|s: &DLBridgeAllocator| &s.allocate), 8);
    assert_eq!(offset_of!(DLBridgeAllocator, deallocate), 24);
    assert_eq!(field(|s: &DLBridgeAllocator| &s.deallocate), 8);
    let _all = |s: DLBridgeAllocator| {
        let DLBridgeAllocator {
            struct_size: _,
            options: _,
            context: _,
            allocate: _,
            deallocate: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_convert_options() {
    assert_eq!(size_of::<DLBridgeConvertOptions>(), 40);
    assert_eq!(align_of::<DLBridgeConvertOptions>(), 8);
    assert_eq!(offset_of!(DLBridgeConvertOptions, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeConvertOptions| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeConvertOptions, options), 4);
    assert_eq!(field(|s: &DLBridgeConvertOptions| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeConvertOptions, version), 8);
    assert_eq!(field(|s: &DLBridgeConvertOptions| &s.version), 8);
    assert_eq!(offset_of!(DLBridgeConvertOptions, tensor_flags), 16);
    assert_eq!(field(|s: &DLBridgeConvertOptions| &s.tensor_flags), 8);
    assert_eq!(offset_of!(DLBridgeConvertOptions, policy), 24);
    assert_eq!(field(|s: &DLBridgeConvertOptions| &s.policy), 8);
    assert_eq!(offset_of!(DLBridgeConvertOptions, allocator), 32);
    assert_eq!(field(|s: &DLBridgeConvertOptions| &s.allocator), 8);
    let _all = |s: DLBridgeConvertOptions| {
        let DLBridgeConvertOptions {
            struct_size: _,
            options: _,
            version: _,
            tensor_flags: _,
            policy: _,
            allocator: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_storage() {
    assert_eq!(size_of::<DLBridgeStorage>(), 40);
    assert_eq!(align_of::<DLBridgeStorage>(), 8);
    assert_eq!(offset_of!(DLBridgeStorage, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeStorage| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeStorage, options), 4);
    assert_eq!(field(|s: &DLBridgeStorage| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeStorage, memory), 8);
    assert_eq!(field(|s: &DLBridgeStorage| &s.memory), 8);
    assert_eq!(offset_of!(DLBridgeStorage, size), 16);
    assert_eq!(field(|s: &DLBridgeStorage| &s.size), 8);
    assert_eq!(offset_of!(DLBridgeStorage, release), 24);
    assert_eq!(field(|s: &DLBridgeStorage| &s.release), 8);
    assert_eq!(offset_of!(DLBridgeStorage, release_context), 32);
    assert_eq!(field(|s: &DLBridgeStorage| &s.release_context), 8);
    let _all = |s: DLBridgeStorage| {
        let DLBridgeStorage {
            struct_size: _,
            options: _,
            memory: _,
            size: _,
            release: _,
            release_context: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_view_spec() {
    assert_eq!(size_of::<DLBridgeViewSpec>(), 40);
    assert_eq!(align_of::<DLBridgeViewSpec>(), 8);
    assert_eq!(offset_of!(DLBridgeViewSpec, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeViewSpec| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeViewSpec, options), 4);
    assert_eq!(field(|s: &DLBridgeViewSpec| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeViewSpec, ndim), 8);
    assert_eq!(field(|s: &DLBridgeViewSpec| &s.ndim), 4);
    assert_eq!(offset_of!(DLBridgeViewSpec, dtype), 12);
    assert_eq!(field(|s: &DLBridgeViewSpec| &s.dtype), 4);
    assert_eq!(offset_of!(DLBridgeViewSpec, shape), 16);
    assert_eq!(field(|s: &DLBridgeViewSpec| &s.shape), 8);
    assert_eq!(offset_of!(DLBridgeViewSpec, strides), 24);
    assert_eq!(field(|s: &DLBridgeViewSpec| &s.strides), 8);
    assert_eq!(offset_of!(DLBridgeViewSpec, offset), 32);
    assert_eq!(field(|s: &DLBridgeViewSpec| &s.offset), 8);
    let _all = |s: DLBridgeViewSpec| {
        let DLBridgeViewSpec {
            struct_size: _,
            options: _,
            ndim: _,
            dtype: _,
            shape: _,
            strides: _,
            offset: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_allocate_spec() {
    assert_eq!(size_of::<DLBridgeAllocateSpec>(), 64);
    assert_eq!(align_of::<DLBridgeAllocateSpec>(), 8);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, options), 4);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, shape), 8);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.shape), 8);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, ndim), 16);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.ndim), 4);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, dtype), 20);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.dtype), 4);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, device), 24);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.device), 8);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, alignment), 32);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.alignment), 8);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, tensor_flags), 40);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.tensor_flags), 8);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, version), 48);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.version), 8);
    assert_eq!(offset_of!(DLBridgeAllocateSpec, allocator), 56);
    assert_eq!(field(|s: &DLBridgeAllocateSpec| &s.allocator), 8);
    let _all = |s: DLBridgeAllocateSpec| {
        let DLBridgeAllocateSpec {
            struct_size: _,
            options: _,
            shape: _,
            ndim: _,
            dtype: _,
            device: _,
            alignment: _,
            tensor_flags: _,
            version: _,
            allocator: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_backend_info() {
    assert_eq!(size_of::<DLBridgeBackendInfo>(), 1024);
    assert_eq!(align_of::<DLBridgeBackendInfo>(), 4);
    assert_eq!(offset_of!(DLBridgeBackendInfo, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeBackendInfo, options), 4);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeBackendInfo, backend), 8);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.backend), 4);
    assert_eq!(offset_of!(DLBridgeBackendInfo, state), 12);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.state), 4);
    assert_eq!(offset_of!(DLBridgeBackendInfo, device_count), 16);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.device_count), 4);
    assert_eq!(offset_of!(DLBridgeBackendInfo, driver_code), 20);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.driver_code), 4);
    assert_eq!(offset_of!(DLBridgeBackendInfo, driver_version), 24);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.driver_version), 64);
    assert_eq!(offset_of!(DLBridgeBackendInfo, runtime_version), 88);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.runtime_version), 64);
    assert_eq!(offset_of!(DLBridgeBackendInfo, file), 152);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.file), 256);
    assert_eq!(offset_of!(DLBridgeBackendInfo, reason), 408);
    assert_eq!(field(|s: &DLBridgeBackendInfo| &s.reason), 616);
    let _all = |s: DLBridgeBackendInfo| {
        let DLBridgeBackendInfo {
            struct_size: _,
            options: _,
            backend: _,
            state: _,
            device_count: _,
            driver_code: _,
            driver_version: _,
            runtime_version: _,
            file: _,
            reason: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_buffer() {
    assert_eq!(size_of::<DLBridgeBuffer>(), 32);
    assert_eq!(align_of::<DLBridgeBuffer>(), 8);
    assert_eq!(offset_of!(DLBridgeBuffer, backend), 0);
    assert_eq!(field(|s: &DLBridgeBuffer| &s.backend), 4);
    assert_eq!(offset_of!(DLBridgeBuffer, kind), 4);
    assert_eq!(field(|s: &DLBridgeBuffer| &s.kind), 4);
    assert_eq!(offset_of!(DLBridgeBuffer, handle), 8);
    assert_eq!(field(|s: &DLBridgeBuffer| &s.handle), 8);
    assert_eq!(offset_of!(DLBridgeBuffer, context), 16);
    assert_eq!(field(|s: &DLBridgeBuffer| &s.context), 8);
    assert_eq!(offset_of!(DLBridgeBuffer, reserved), 24);
    assert_eq!(field(|s: &DLBridgeBuffer| &s.reserved), 8);
    let _all = |s: DLBridgeBuffer| {
        let DLBridgeBuffer { backend: _, kind: _, handle: _, context: _, reserved: _ } = s;
    };
}

#[test]
fn layout_dlbridge_pointer_info() {
    assert_eq!(size_of::<DLBridgePointerInfo>(), 64);
    assert_eq!(align_of::<DLBridgePointerInfo>(), 8);
    assert_eq!(offset_of!(DLBridgePointerInfo, struct_size), 0);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgePointerInfo, options), 4);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.options), 4);
    assert_eq!(offset_of!(DLBridgePointerInfo, backend), 8);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.backend), 4);
    assert_eq!(offset_of!(DLBridgePointerInfo, memory), 12);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.memory), 4);
    assert_eq!(offset_of!(DLBridgePointerInfo, device), 16);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.device), 8);
    assert_eq!(offset_of!(DLBridgePointerInfo, native_device), 24);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.native_device), 4);
    assert_eq!(offset_of!(DLBridgePointerInfo, properties), 28);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.properties), 4);
    assert_eq!(offset_of!(DLBridgePointerInfo, base), 32);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.base), 8);
    assert_eq!(offset_of!(DLBridgePointerInfo, size), 40);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.size), 8);
    assert_eq!(offset_of!(DLBridgePointerInfo, context), 48);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.context), 8);
    assert_eq!(offset_of!(DLBridgePointerInfo, peers), 56);
    assert_eq!(field(|s: &DLBridgePointerInfo| &s.peers), 8);
    let _all = |s: DLBridgePointerInfo| {
        let DLBridgePointerInfo {
            struct_size: _,
            options: _,
            backend: _,
            memory: _,
            device: _,
            native_device: _,
            properties: _,
            base: _,
            size: _,
            context: _,
            peers: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_wrap_spec() {
    assert_eq!(size_of::<DLBridgeWrapSpec>(), 128);
    assert_eq!(align_of::<DLBridgeWrapSpec>(), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeWrapSpec, options), 4);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeWrapSpec, shape), 8);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.shape), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, strides), 16);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.strides), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, buffer), 24);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.buffer), 32);
    assert_eq!(offset_of!(DLBridgeWrapSpec, byte_offset), 56);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.byte_offset), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, buffer_size), 64);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.buffer_size), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, device), 72);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.device), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, ndim), 80);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.ndim), 4);
    assert_eq!(offset_of!(DLBridgeWrapSpec, dtype), 84);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.dtype), 4);
    assert_eq!(offset_of!(DLBridgeWrapSpec, tensor_flags), 88);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.tensor_flags), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, version), 96);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.version), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, release), 104);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.release), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, release_context), 112);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.release_context), 8);
    assert_eq!(offset_of!(DLBridgeWrapSpec, policy), 120);
    assert_eq!(field(|s: &DLBridgeWrapSpec| &s.policy), 8);
    let _all = |s: DLBridgeWrapSpec| {
        let DLBridgeWrapSpec {
            struct_size: _,
            options: _,
            shape: _,
            strides: _,
            buffer: _,
            byte_offset: _,
            buffer_size: _,
            device: _,
            ndim: _,
            dtype: _,
            tensor_flags: _,
            version: _,
            release: _,
            release_context: _,
            policy: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_stream() {
    assert_eq!(size_of::<DLBridgeStream>(), 40);
    assert_eq!(align_of::<DLBridgeStream>(), 8);
    assert_eq!(offset_of!(DLBridgeStream, backend), 0);
    assert_eq!(field(|s: &DLBridgeStream| &s.backend), 4);
    assert_eq!(offset_of!(DLBridgeStream, kind), 4);
    assert_eq!(field(|s: &DLBridgeStream| &s.kind), 4);
    assert_eq!(offset_of!(DLBridgeStream, device), 8);
    assert_eq!(field(|s: &DLBridgeStream| &s.device), 8);
    assert_eq!(offset_of!(DLBridgeStream, handle), 16);
    assert_eq!(field(|s: &DLBridgeStream| &s.handle), 8);
    assert_eq!(offset_of!(DLBridgeStream, context), 24);
    assert_eq!(field(|s: &DLBridgeStream| &s.context), 8);
    assert_eq!(offset_of!(DLBridgeStream, reserved), 32);
    assert_eq!(field(|s: &DLBridgeStream| &s.reserved), 8);
    let _all = |s: DLBridgeStream| {
        let DLBridgeStream { backend: _, kind: _, device: _, handle: _, context: _, reserved: _ } =
            s;
    };
}

#[test]
fn layout_dlbridge_context_entry() {
    assert_eq!(size_of::<DLBridgeContextEntry>(), 128);
    assert_eq!(align_of::<DLBridgeContextEntry>(), 8);
    assert_eq!(offset_of!(DLBridgeContextEntry, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeContextEntry, backend), 4);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.backend), 4);
    assert_eq!(offset_of!(DLBridgeContextEntry, device), 8);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.device), 8);
    assert_eq!(offset_of!(DLBridgeContextEntry, id), 16);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.id), 8);
    assert_eq!(offset_of!(DLBridgeContextEntry, platform), 24);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.platform), 8);
    assert_eq!(offset_of!(DLBridgeContextEntry, native_device), 32);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.native_device), 8);
    assert_eq!(offset_of!(DLBridgeContextEntry, context), 40);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.context), 8);
    assert_eq!(offset_of!(DLBridgeContextEntry, queue), 48);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.queue), 8);
    assert_eq!(offset_of!(DLBridgeContextEntry, queue_kind), 56);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.queue_kind), 4);
    assert_eq!(offset_of!(DLBridgeContextEntry, properties), 60);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.properties), 4);
    assert_eq!(offset_of!(DLBridgeContextEntry, uuid), 64);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.uuid), 16);
    assert_eq!(offset_of!(DLBridgeContextEntry, release), 80);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.release), 8);
    assert_eq!(offset_of!(DLBridgeContextEntry, release_context), 88);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.release_context), 8);
    assert_eq!(offset_of!(DLBridgeContextEntry, reserved), 96);
    assert_eq!(field(|s: &DLBridgeContextEntry| &s.reserved), 32);
    let _all = |s: DLBridgeContextEntry| {
        let DLBridgeContextEntry {
            struct_size: _,
            backend: _,
            device: _,
            id: _,
            platform: _,
            native_device: _,
            context: _,
            queue: _,
            queue_kind: _,
            properties: _,
            uuid: _,
            release: _,
            release_context: _,
            reserved: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_context_table() {
    assert_eq!(size_of::<DLBridgeContextTable>(), 56);
    assert_eq!(align_of::<DLBridgeContextTable>(), 8);
    assert_eq!(offset_of!(DLBridgeContextTable, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeContextTable| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeContextTable, version), 4);
    assert_eq!(field(|s: &DLBridgeContextTable| &s.version), 4);
    assert_eq!(offset_of!(DLBridgeContextTable, add), 8);
    assert_eq!(field(|s: &DLBridgeContextTable| &s.add), 8);
    assert_eq!(offset_of!(DLBridgeContextTable, find), 16);
    assert_eq!(field(|s: &DLBridgeContextTable| &s.find), 8);
    assert_eq!(offset_of!(DLBridgeContextTable, next), 24);
    assert_eq!(field(|s: &DLBridgeContextTable| &s.next), 8);
    assert_eq!(offset_of!(DLBridgeContextTable, retain), 32);
    assert_eq!(field(|s: &DLBridgeContextTable| &s.retain), 8);
    assert_eq!(offset_of!(DLBridgeContextTable, release), 40);
    assert_eq!(field(|s: &DLBridgeContextTable| &s.release), 8);
    assert_eq!(offset_of!(DLBridgeContextTable, remove), 48);
    assert_eq!(field(|s: &DLBridgeContextTable| &s.remove), 8);
    let _all = |s: DLBridgeContextTable| {
        let DLBridgeContextTable {
            struct_size: _,
            version: _,
            add: _,
            find: _,
            next: _,
            retain: _,
            release: _,
            remove: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_copy_spec() {
    assert_eq!(size_of::<DLBridgeCopySpec>(), 152);
    assert_eq!(align_of::<DLBridgeCopySpec>(), 8);
    assert_eq!(offset_of!(DLBridgeCopySpec, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeCopySpec, options), 4);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeCopySpec, device), 8);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.device), 8);
    assert_eq!(offset_of!(DLBridgeCopySpec, stream), 16);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.stream), 40);
    assert_eq!(offset_of!(DLBridgeCopySpec, target), 56);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.target), 32);
    assert_eq!(offset_of!(DLBridgeCopySpec, target_offset), 88);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.target_offset), 8);
    assert_eq!(offset_of!(DLBridgeCopySpec, target_size), 96);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.target_size), 8);
    assert_eq!(offset_of!(DLBridgeCopySpec, release), 104);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.release), 8);
    assert_eq!(offset_of!(DLBridgeCopySpec, release_context), 112);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.release_context), 8);
    assert_eq!(offset_of!(DLBridgeCopySpec, allocator), 120);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.allocator), 8);
    assert_eq!(offset_of!(DLBridgeCopySpec, tensor_flags), 128);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.tensor_flags), 8);
    assert_eq!(offset_of!(DLBridgeCopySpec, version), 136);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.version), 8);
    assert_eq!(offset_of!(DLBridgeCopySpec, policy), 144);
    assert_eq!(field(|s: &DLBridgeCopySpec| &s.policy), 8);
    let _all = |s: DLBridgeCopySpec| {
        let DLBridgeCopySpec {
            struct_size: _,
            options: _,
            device: _,
            stream: _,
            target: _,
            target_offset: _,
            target_size: _,
            release: _,
            release_context: _,
            allocator: _,
            tensor_flags: _,
            version: _,
            policy: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_ipc_export_spec() {
    assert_eq!(size_of::<DLBridgeIpcExportSpec>(), 48);
    assert_eq!(align_of::<DLBridgeIpcExportSpec>(), 8);
    assert_eq!(offset_of!(DLBridgeIpcExportSpec, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeIpcExportSpec| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeIpcExportSpec, options), 4);
    assert_eq!(field(|s: &DLBridgeIpcExportSpec| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeIpcExportSpec, buffer), 8);
    assert_eq!(field(|s: &DLBridgeIpcExportSpec| &s.buffer), 8);
    assert_eq!(offset_of!(DLBridgeIpcExportSpec, buffer_size), 16);
    assert_eq!(field(|s: &DLBridgeIpcExportSpec| &s.buffer_size), 8);
    assert_eq!(offset_of!(DLBridgeIpcExportSpec, fds), 24);
    assert_eq!(field(|s: &DLBridgeIpcExportSpec| &s.fds), 8);
    assert_eq!(offset_of!(DLBridgeIpcExportSpec, fd_capacity), 32);
    assert_eq!(field(|s: &DLBridgeIpcExportSpec| &s.fd_capacity), 8);
    assert_eq!(offset_of!(DLBridgeIpcExportSpec, stream), 40);
    assert_eq!(field(|s: &DLBridgeIpcExportSpec| &s.stream), 8);
    let _all = |s: DLBridgeIpcExportSpec| {
        let DLBridgeIpcExportSpec {
            struct_size: _,
            options: _,
            buffer: _,
            buffer_size: _,
            fds: _,
            fd_capacity: _,
            stream: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_ipc_sizes() {
    assert_eq!(size_of::<DLBridgeIpcSizes>(), 24);
    assert_eq!(align_of::<DLBridgeIpcSizes>(), 8);
    assert_eq!(offset_of!(DLBridgeIpcSizes, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeIpcSizes| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeIpcSizes, options), 4);
    assert_eq!(field(|s: &DLBridgeIpcSizes| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeIpcSizes, buffer_size), 8);
    assert_eq!(field(|s: &DLBridgeIpcSizes| &s.buffer_size), 8);
    assert_eq!(offset_of!(DLBridgeIpcSizes, fd_count), 16);
    assert_eq!(field(|s: &DLBridgeIpcSizes| &s.fd_count), 8);
    let _all = |s: DLBridgeIpcSizes| {
        let DLBridgeIpcSizes { struct_size: _, options: _, buffer_size: _, fd_count: _ } = s;
    };
}

#[test]
fn layout_dlbridge_ipc_import_spec() {
    assert_eq!(size_of::<DLBridgeIpcImportSpec>(), 56);
    assert_eq!(align_of::<DLBridgeIpcImportSpec>(), 8);
    assert_eq!(offset_of!(DLBridgeIpcImportSpec, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeIpcImportSpec| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeIpcImportSpec, options), 4);
    assert_eq!(field(|s: &DLBridgeIpcImportSpec| &s.options), 4);
    assert_eq!(offset_of!(DLBridgeIpcImportSpec, buffer), 8);
    assert_eq!(field(|s: &DLBridgeIpcImportSpec| &s.buffer), 8);
    assert_eq!(offset_of!(DLBridgeIpcImportSpec, buffer_size), 16);
    assert_eq!(field(|s: &DLBridgeIpcImportSpec| &s.buffer_size), 8);
    assert_eq!(offset_of!(DLBridgeIpcImportSpec, fds), 24);
    assert_eq!(field(|s: &DLBridgeIpcImportSpec| &s.fds), 8);
    assert_eq!(offset_of!(DLBridgeIpcImportSpec, fd_count), 32);
    assert_eq!(field(|s: &DLBridgeIpcImportSpec| &s.fd_count), 8);
    assert_eq!(offset_of!(DLBridgeIpcImportSpec, policy), 40);
    assert_eq!(field(|s: &DLBridgeIpcImportSpec| &s.policy), 8);
    assert_eq!(offset_of!(DLBridgeIpcImportSpec, stream), 48);
    assert_eq!(field(|s: &DLBridgeIpcImportSpec| &s.stream), 8);
    let _all = |s: DLBridgeIpcImportSpec| {
        let DLBridgeIpcImportSpec {
            struct_size: _,
            options: _,
            buffer: _,
            buffer_size: _,
            fds: _,
            fd_count: _,
            policy: _,
            stream: _,
        } = s;
    };
}

#[test]
fn layout_dlbridge_api() {
    assert_eq!(size_of::<DLBridgeApi>(), 456);
    assert_eq!(align_of::<DLBridgeApi>(), 8);
    assert_eq!(offset_of!(DLBridgeApi, struct_size), 0);
    assert_eq!(field(|s: &DLBridgeApi| &s.struct_size), 4);
    assert_eq!(offset_of!(DLBridgeApi, abi), 4);
    assert_eq!(field(|s: &DLBridgeApi| &s.abi), 4);
    assert_eq!(offset_of!(DLBridgeApi, version), 8);
    assert_eq!(field(|s: &DLBridgeApi| &s.version), 8);
    assert_eq!(offset_of!(DLBridgeApi, version_string), 16);
    assert_eq!(field(|s: &DLBridgeApi| &s.version_string), 8);
    assert_eq!(offset_of!(DLBridgeApi, dlpack_version), 24);
    assert_eq!(field(|s: &DLBridgeApi| &s.dlpack_version), 8);
    assert_eq!(offset_of!(DLBridgeApi, status_name), 32);
    assert_eq!(field(|s: &DLBridgeApi| &s.status_name), 8);
    assert_eq!(offset_of!(DLBridgeApi, status_text), 40);
    assert_eq!(field(|s: &DLBridgeApi| &s.status_text), 8);
    assert_eq!(offset_of!(DLBridgeApi, rule_name), 48);
    assert_eq!(field(|s: &DLBridgeApi| &s.rule_name), 8);
    assert_eq!(offset_of!(DLBridgeApi, rule_text), 56);
    assert_eq!(field(|s: &DLBridgeApi| &s.rule_text), 8);
    assert_eq!(offset_of!(DLBridgeApi, layout), 64);
    assert_eq!(field(|s: &DLBridgeApi| &s.layout), 8);
    assert_eq!(offset_of!(DLBridgeApi, dtype_format), 72);
    assert_eq!(field(|s: &DLBridgeApi| &s.dtype_format), 8);
    assert_eq!(offset_of!(DLBridgeApi, dtype_parse), 80);
    assert_eq!(field(|s: &DLBridgeApi| &s.dtype_parse), 8);
    assert_eq!(offset_of!(DLBridgeApi, device_format), 88);
    assert_eq!(field(|s: &DLBridgeApi| &s.device_format), 8);
    assert_eq!(offset_of!(DLBridgeApi, device_parse), 96);
    assert_eq!(field(|s: &DLBridgeApi| &s.device_parse), 8);
    assert_eq!(offset_of!(DLBridgeApi, tensor_format), 104);
    assert_eq!(field(|s: &DLBridgeApi| &s.tensor_format), 8);
    assert_eq!(offset_of!(DLBridgeApi, host_accessible), 112);
    assert_eq!(field(|s: &DLBridgeApi| &s.host_accessible), 8);
    assert_eq!(offset_of!(DLBridgeApi, import_tensor), 120);
    assert_eq!(field(|s: &DLBridgeApi| &s.import_tensor), 8);
    assert_eq!(offset_of!(DLBridgeApi, export_tensor), 128);
    assert_eq!(field(|s: &DLBridgeApi| &s.export_tensor), 8);
    assert_eq!(offset_of!(DLBridgeApi, release), 136);
    assert_eq!(field(|s: &DLBridgeApi| &s.release), 8);
    assert_eq!(offset_of!(DLBridgeApi, release_legacy), 144);
    assert_eq!(field(|s: &DLBridgeApi| &s.release_legacy), 8);
    assert_eq!(offset_of!(DLBridgeApi, release_versioned), 152);
    assert_eq!(field(|s: &DLBridgeApi| &s.release_versioned), 8);
    assert_eq!(offset_of!(DLBridgeApi, validate), 160);
    assert_eq!(field(|s: &DLBridgeApi| &s.validate), 8);
    assert_eq!(offset_of!(DLBridgeApi, validate_legacy), 168);
    assert_eq!(field(|s: &DLBridgeApi| &s.validate_legacy), 8);
    assert_eq!(offset_of!(DLBridgeApi, validate_versioned), 176);
    assert_eq!(field(|s: &DLBridgeApi| &s.validate_versioned), 8);
    assert_eq!(offset_of!(DLBridgeApi, diagnose), 184);
    assert_eq!(field(|s: &DLBridgeApi| &s.diagnose), 8);
    assert_eq!(offset_of!(DLBridgeApi, upgrade), 192);
    assert_eq!(field(|s: &DLBridgeApi| &s.upgrade), 8);
    assert_eq!(offset_of!(DLBridgeApi, upgrade_storage_size), 200);
    assert_eq!(field(|s: &DLBridgeApi| &s.upgrade_storage_size), 8);
    assert_eq!(offset_of!(DLBridgeApi, upgrade_into), 208);
    assert_eq!(field(|s: &DLBridgeApi| &s.upgrade_into), 8);
    assert_eq!(offset_of!(DLBridgeApi, upgrade_many), 216);
    assert_eq!(field(|s: &DLBridgeApi| &s.upgrade_many), 8);
    assert_eq!(offset_of!(DLBridgeApi, downgrade), 224);
    assert_eq!(field(|s: &DLBridgeApi| &s.downgrade), 8);
    assert_eq!(offset_of!(DLBridgeApi, share), 232);
    assert_eq!(field(|s: &DLBridgeApi| &s.share), 8);
    assert_eq!(offset_of!(DLBridgeApi, view), 240);
    assert_eq!(field(|s: &DLBridgeApi| &s.view), 8);
    assert_eq!(offset_of!(DLBridgeApi, allocate), 248);
    assert_eq!(field(|s: &DLBridgeApi| &s.allocate), 8);
    assert_eq!(offset_of!(DLBridgeApi, required_version), 256);
    assert_eq!(field(|s: &DLBridgeApi| &s.required_version), 8);
    assert_eq!(offset_of!(DLBridgeApi, negotiate), 264);
    assert_eq!(field(|s: &DLBridgeApi| &s.negotiate), 8);
    assert_eq!(offset_of!(DLBridgeApi, exchange_api_find), 272);
    assert_eq!(field(|s: &DLBridgeApi| &s.exchange_api_find), 8);
    assert_eq!(offset_of!(DLBridgeApi, identify), 280);
    assert_eq!(field(|s: &DLBridgeApi| &s.identify), 8);
    assert_eq!(offset_of!(DLBridgeApi, module_pin), 288);
    assert_eq!(field(|s: &DLBridgeApi| &s.module_pin), 8);
    assert_eq!(offset_of!(DLBridgeApi, backend_info), 296);
    assert_eq!(field(|s: &DLBridgeApi| &s.backend_info), 8);
    assert_eq!(offset_of!(DLBridgeApi, pointer_info), 304);
    assert_eq!(field(|s: &DLBridgeApi| &s.pointer_info), 8);
    assert_eq!(offset_of!(DLBridgeApi, wrap), 312);
    assert_eq!(field(|s: &DLBridgeApi| &s.wrap), 8);
    assert_eq!(offset_of!(DLBridgeApi, wrap_legacy), 320);
    assert_eq!(field(|s: &DLBridgeApi| &s.wrap_legacy), 8);
    assert_eq!(offset_of!(DLBridgeApi, stream_from_array_api), 328);
    assert_eq!(field(|s: &DLBridgeApi| &s.stream_from_array_api), 8);
    assert_eq!(offset_of!(DLBridgeApi, stream_handoff), 336);
    assert_eq!(field(|s: &DLBridgeApi| &s.stream_handoff), 8);
    assert_eq!(offset_of!(DLBridgeApi, stream_synchronize), 344);
    assert_eq!(field(|s: &DLBridgeApi| &s.stream_synchronize), 8);
    assert_eq!(offset_of!(DLBridgeApi, context_register), 352);
    assert_eq!(field(|s: &DLBridgeApi| &s.context_register), 8);
    assert_eq!(offset_of!(DLBridgeApi, context_find), 360);
    assert_eq!(field(|s: &DLBridgeApi| &s.context_find), 8);
    assert_eq!(offset_of!(DLBridgeApi, context_next), 368);
    assert_eq!(field(|s: &DLBridgeApi| &s.context_next), 8);
    assert_eq!(offset_of!(DLBridgeApi, context_retain), 376);
    assert_eq!(field(|s: &DLBridgeApi| &s.context_retain), 8);
    assert_eq!(offset_of!(DLBridgeApi, context_release), 384);
    assert_eq!(field(|s: &DLBridgeApi| &s.context_release), 8);
    assert_eq!(offset_of!(DLBridgeApi, context_unregister), 392);
    assert_eq!(field(|s: &DLBridgeApi| &s.context_unregister), 8);
    assert_eq!(offset_of!(DLBridgeApi, context_table_v1), 400);
    assert_eq!(field(|s: &DLBridgeApi| &s.context_table_v1), 8);
    assert_eq!(offset_of!(DLBridgeApi, copy), 408);
    assert_eq!(field(|s: &DLBridgeApi| &s.copy), 8);
    assert_eq!(offset_of!(DLBridgeApi, ipc_export), 416);
    assert_eq!(field(|s: &DLBridgeApi| &s.ipc_export), 8);
    assert_eq!(offset_of!(DLBridgeApi, ipc_import), 424);
    assert_eq!(field(|s: &DLBridgeApi| &s.ipc_import), 8);
    assert_eq!(offset_of!(DLBridgeApi, copy_async), 432);
    assert_eq!(field(|s: &DLBridgeApi| &s.copy_async), 8);
    assert_eq!(offset_of!(DLBridgeApi, release_after), 440);
    assert_eq!(field(|s: &DLBridgeApi| &s.release_after), 8);
    assert_eq!(offset_of!(DLBridgeApi, collect), 448);
    assert_eq!(field(|s: &DLBridgeApi| &s.collect), 8);
    let _all = |s: DLBridgeApi| {
        let DLBridgeApi {
            struct_size: _,
            abi: _,
            version: _,
            version_string: _,
            dlpack_version: _,
            status_name: _,
            status_text: _,
            rule_name: _,
            rule_text: _,
            layout: _,
            dtype_format: _,
            dtype_parse: _,
            device_format: _,
            device_parse: _,
            tensor_format: _,
            host_accessible: _,
            import_tensor: _,
            export_tensor: _,
            release: _,
            release_legacy: _,
            release_versioned: _,
            validate: _,
            validate_legacy: _,
            validate_versioned: _,
            diagnose: _,
            upgrade: _,
            upgrade_storage_size: _,
            upgrade_into: _,
            upgrade_many: _,
            downgrade: _,
            share: _,
            view: _,
            allocate: _,
            required_version: _,
            negotiate: _,
            exchange_api_find: _,
            identify: _,
            module_pin: _,
            backend_info: _,
            pointer_info: _,
            wrap: _,
            wrap_legacy: _,
            stream_from_array_api: _,
            stream_handoff: _,
            stream_synchronize: _,
            context_register: _,
            context_find: _,
            context_next: _,
            context_retain: _,
            context_release: _,
            context_unregister: _,
            context_table_v1: _,
            copy: _,
            ipc_export: _,
            ipc_import: _,
            copy_async: _,
            release_after: _,
            collect: _,
        } = s;
    };
}

#[test]
fn constants() {
    assert_eq!(kDLCPU as i128, 1);
    assert_eq!(kDLCUDA as i128, 2);
    assert_eq!(kDLCUDAHost as i128, 3);
    assert_eq!(kDLOpenCL as i128, 4);
    assert_eq!(kDLVulkan as i128, 7);
    assert_eq!(kDLMetal as i128, 8);
    assert_eq!(kDLVPI as i128, 9);
    assert_eq!(kDLROCM as i128, 10);
    assert_eq!(kDLROCMHost as i128, 11);
    assert_eq!(kDLExtDev as i128, 12);
    assert_eq!(kDLCUDAManaged as i128, 13);
    assert_eq!(kDLOneAPI as i128, 14);
    assert_eq!(kDLWebGPU as i128, 15);
    assert_eq!(kDLHexagon as i128, 16);
    assert_eq!(kDLMAIA as i128, 17);
    assert_eq!(kDLTrn as i128, 18);
    assert_eq!(kDLTPU as i128, 19);
    assert_eq!(kDLTPUHost as i128, 20);
    assert_eq!(kDLAscend as i128, 21);
    assert_eq!(kDLInt as i128, 0);
    assert_eq!(kDLUInt as i128, 1);
    assert_eq!(kDLFloat as i128, 2);
    assert_eq!(kDLOpaqueHandle as i128, 3);
    assert_eq!(kDLBfloat as i128, 4);
    assert_eq!(kDLComplex as i128, 5);
    assert_eq!(kDLBool as i128, 6);
    assert_eq!(kDLFloat8_e3m4 as i128, 7);
    assert_eq!(kDLFloat8_e4m3 as i128, 8);
    assert_eq!(kDLFloat8_e4m3b11fnuz as i128, 9);
    assert_eq!(kDLFloat8_e4m3fn as i128, 10);
    assert_eq!(kDLFloat8_e4m3fnuz as i128, 11);
    assert_eq!(kDLFloat8_e5m2 as i128, 12);
    assert_eq!(kDLFloat8_e5m2fnuz as i128, 13);
    assert_eq!(kDLFloat8_e8m0fnu as i128, 14);
    assert_eq!(kDLFloat6_e2m3fn as i128, 15);
    assert_eq!(kDLFloat6_e3m2fn as i128, 16);
    assert_eq!(kDLFloat4_e2m1fn as i128, 17);
    assert_eq!(kDLBcomplex as i128, 18);
    assert_eq!(DLPACK_MAJOR_VERSION as i128, 1);
    assert_eq!(DLPACK_MINOR_VERSION as i128, 3);
    assert_eq!(DLPACK_FLAG_BITMASK_READ_ONLY as i128, 1);
    assert_eq!(DLPACK_FLAG_BITMASK_IS_COPIED as i128, 2);
    assert_eq!(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED as i128, 4);
    assert_eq!(DLBRIDGE_OK as i128, 0);
    assert_eq!(DLBRIDGE_ERROR_INVALID_ARGUMENT as i128, 1);
    assert_eq!(DLBRIDGE_ERROR_TOO_NEW as i128, 2);
    assert_eq!(DLBRIDGE_ERROR_OUT_OF_MEMORY as i128, 3);
    assert_eq!(DLBRIDGE_ERROR_INVALID_TENSOR as i128, 4);
    assert_eq!(DLBRIDGE_ERROR_VERSION as i128, 5);
    assert_eq!(DLBRIDGE_ERROR_POLICY as i128, 6);
    assert_eq!(DLBRIDGE_ERROR_UNREPRESENTABLE as i128, 7);
    assert_eq!(DLBRIDGE_ERROR_UNKNOWN_CODE as i128, 8);
    assert_eq!(DLBRIDGE_ERROR_FOREIGN_TENSOR as i128, 9);
    assert_eq!(DLBRIDGE_ERROR_UNSUPPORTED as i128, 10);
    assert_eq!(DLBRIDGE_ERROR_BUFFER_TOO_SMALL as i128, 11);
    assert_eq!(DLBRIDGE_ERROR_PARSE as i128, 12);
    assert_eq!(DLBRIDGE_ERROR_NOT_FOUND as i128, 13);
    assert_eq!(DLBRIDGE_ERROR_BOUNDS as i128, 14);
    assert_eq!(DLBRIDGE_ERROR_FORKED as i128, 15);
    assert_eq!(DLBRIDGE_ERROR_UNAVAILABLE as i128, 16);
    assert_eq!(DLBRIDGE_ERROR_DRIVER as i128, 17);
    assert_eq!(DLBRIDGE_ERROR_EXISTS as i128, 18);
    assert_eq!(DLBRIDGE_ERROR_CAPTURE as i128, 19);
    assert_eq!(DLBRIDGE_ERROR_DESCRIPTOR as i128, 20);
    assert_eq!(DLBRIDGE_ERROR_AMBIGUOUS as i128, 21);
    assert_eq!(DLBRIDGE_RULE_NONE as i128, 0);
    assert_eq!(DLBRIDGE_RULE_VERSION_MAJOR as i128, 1);
    assert_eq!(DLBRIDGE_RULE_NDIM_NEGATIVE as i128, 2);
    assert_eq!(DLBRIDGE_RULE_NDIM_LIMIT as i128, 3);
    assert_eq!(DLBRIDGE_RULE_SHAPE_NULL as i128, 4);
    assert_eq!(DLBRIDGE_RULE_STRIDES_NULL as i128, 5);
    assert_eq!(DLBRIDGE_RULE_DTYPE_BITS_ZERO as i128, 6);
    assert_eq!(DLBRIDGE_RULE_DTYPE_LANES_ZERO as i128, 7);
    assert_eq!(DLBRIDGE_RULE_DTYPE_LANES_SCALABLE as i128, 8);
    assert_eq!(DLBRIDGE_RULE_DTYPE_BITS_FIXED as i128, 9);
    assert_eq!(DLBRIDGE_RULE_DTYPE_UNKNOWN as i128, 10);
    assert_eq!(DLBRIDGE_RULE_DEVICE_UNKNOWN as i128, 11);
    assert_eq!(DLBRIDGE_RULE_FLAGS_UNKNOWN as i128, 12);
    assert_eq!(DLBRIDGE_RULE_DEVICE_ID_NEGATIVE as i128, 13);
    assert_eq!(DLBRIDGE_RULE_DEVICE_ID_HOST as i128, 14);
    assert_eq!(DLBRIDGE_RULE_EXTENT_NEGATIVE as i128, 15);
    assert_eq!(DLBRIDGE_RULE_COUNT_OVERFLOW as i128, 16);
    assert_eq!(DLBRIDGE_RULE_SIZE_OVERFLOW as i128, 17);
    assert_eq!(DLBRIDGE_RULE_OFFSET_OVERFLOW as i128, 18);
    assert_eq!(DLBRIDGE_RULE_DATA_NULL as i128, 19);
    assert_eq!(DLBRIDGE_RULE_ADDRESS_RANGE as i128, 20);
    assert_eq!(DLBRIDGE_RULE_HANDLE_RANGE as i128, 21);
    assert_eq!(DLBRIDGE_RULE_BUFFER_BOUNDS as i128, 22);
    assert_eq!(DLBRIDGE_RULE_CONTIGUITY as i128, 23);
    assert_eq!(DLBRIDGE_RULE_ALIGNMENT as i128, 24);
    assert_eq!(DLBRIDGE_RULE_DEVICE_REJECTED as i128, 25);
    assert_eq!(DLBRIDGE_RULE_DTYPE_REJECTED as i128, 26);
    assert_eq!(DLBRIDGE_RULE_NOT_WRITABLE as i128, 27);
    assert_eq!(DLBRIDGE_RULE_NEGATIVE_STRIDE as i128, 28);
    assert_eq!(DLBRIDGE_RULE_ZERO_STRIDE as i128, 29);
    assert_eq!(DLBRIDGE_RULE_SELF_OVERLAP as i128, 30);
    assert_eq!(DLBRIDGE_RULE_DATA_UNALIGNED as i128, 31);
    assert_eq!(DLBRIDGE_RULE_VERSION_LABEL as i128, 32);
    assert_eq!(DLBRIDGE_RULE_REQUIRED_VERSION as i128, 33);
    assert_eq!(DLBRIDGE_RULE_LEGACY_READ_ONLY as i128, 34);
    assert_eq!(DLBRIDGE_RULE_LEGACY_PADDED as i128, 35);
    assert_eq!(DLBRIDGE_RULE_LEGACY_DTYPE as i128, 36);
    assert_eq!(DLBRIDGE_RULE_LEGACY_DEVICE as i128, 37);
    assert_eq!(DLBRIDGE_RULE_OFFSET_FOLD as i128, 38);
    assert_eq!(DLBRIDGE_RULE_VIEW_BOUNDS as i128, 39);
    assert_eq!(DLBRIDGE_RULE_VIEW_OFFSET as i128, 40);
    assert_eq!(DLBRIDGE_RULE_IN_STORAGE as i128, 41);
    assert_eq!(DLBRIDGE_RULE_COPY_DEVICE as i128, 42);
    assert_eq!(DLBRIDGE_RULE_DEVICE_LABEL as i128, 43);
    assert_eq!(DLBRIDGE_RULE_ALLOCATION_BOUNDS as i128, 44);
    assert_eq!(DLBRIDGE_RULE_SHAPE_MISMATCH as i128, 45);
    assert_eq!(DLBRIDGE_KIND_UNKNOWN as i128, 0);
    assert_eq!(DLBRIDGE_KIND_LEGACY as i128, 1);
    assert_eq!(DLBRIDGE_KIND_VERSIONED as i128, 2);
    assert_eq!(DLBRIDGE_KIND_BORROWED as i128, 3);
    assert_eq!(DLBRIDGE_KIND_AMBIGUOUS as i128, 4);
    assert_eq!(DLBRIDGE_NO as i128, 0);
    assert_eq!(DLBRIDGE_YES as i128, 1);
    assert_eq!(DLBRIDGE_UNDECIDED as i128, 2);
    assert_eq!(DLBRIDGE_LAYOUT_EMPTY as i128, 1);
    assert_eq!(DLBRIDGE_LAYOUT_C_CONTIGUOUS as i128, 2);
    assert_eq!(DLBRIDGE_LAYOUT_F_CONTIGUOUS as i128, 4);
    assert_eq!(DLBRIDGE_LAYOUT_BROADCAST as i128, 8);
    assert_eq!(DLBRIDGE_LAYOUT_NEGATIVE_STRIDES as i128, 16);
    assert_eq!(DLBRIDGE_LAYOUT_PADDED as i128, 32);
    assert_eq!(DLBRIDGE_LAYOUT_OPAQUE as i128, 64);
    assert_eq!(DLBRIDGE_LEVEL_DEFAULT as i128, 0);
    assert_eq!(DLBRIDGE_LEVEL_STRUCT as i128, 1);
    assert_eq!(DLBRIDGE_LEVEL_METADATA as i128, 2);
    assert_eq!(DLBRIDGE_LEVEL_DEVICE as i128, 3);
    assert_eq!(DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE as i128, 256);
    assert_eq!(DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE as i128, 512);
    assert_eq!(DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS as i128, 1024);
    assert_eq!(DLBRIDGE_POLICY_REJECT_NEGATIVE_STRIDES as i128, 2048);
    assert_eq!(DLBRIDGE_POLICY_REJECT_ZERO_STRIDES as i128, 4096);
    assert_eq!(DLBRIDGE_POLICY_ALLOW_NULL_STRIDES as i128, 8192);
    assert_eq!(DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES as i128, 16384);
    assert_eq!(DLBRIDGE_POLICY_REQUIRE_WRITABLE as i128, 32768);
    assert_eq!(DLBRIDGE_POLICY_VOUCH_WRITABLE as i128, 65536);
    assert_eq!(DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP as i128, 131072);
    assert_eq!(DLBRIDGE_POLICY_LIMIT_NDIM as i128, 262144);
    assert_eq!(DLBRIDGE_POLICY_LIMIT_BUFFER as i128, 524288);
    assert_eq!(DLBRIDGE_CONTIGUITY_ANY as i128, 0);
    assert_eq!(DLBRIDGE_CONTIGUITY_C as i128, 1);
    assert_eq!(DLBRIDGE_CONTIGUITY_F as i128, 2);
    assert_eq!(DLBRIDGE_CONTIGUITY_C_OR_F as i128, 3);
    assert_eq!(DLBRIDGE_SEVERITY_BROKEN as i128, 1);
    assert_eq!(DLBRIDGE_SEVERITY_NOTE as i128, 2);
    assert_eq!(DLBRIDGE_CONVERT_SKIP_VALIDATION as i128, 256);
    assert_eq!(DLBRIDGE_CONVERT_VOUCH_WRITABLE as i128, 512);
    assert_eq!(DLBRIDGE_CONVERT_ALLOW_UNKNOWN as i128, 1024);
    assert_eq!(DLBRIDGE_CONVERT_CANONICAL as i128, 2048);
    assert_eq!(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET as i128, 4096);
    assert_eq!(DLBRIDGE_CONVERT_COPY as i128, 8192);
    assert_eq!(DLBRIDGE_CONVERT_DROP_READ_ONLY as i128, 16384);
    assert_eq!(DLBRIDGE_CONVERT_DROP_PADDED as i128, 32768);
    assert_eq!(DLBRIDGE_CONVERT_ALLOW_NEWER_CODES as i128, 65536);
    assert_eq!(DLBRIDGE_CONVERT_PIN_PRODUCER as i128, 131072);
    assert_eq!(DLBRIDGE_ALLOCATE_SHAREABLE as i128, 256);
    assert_eq!(DLBRIDGE_BACKEND_NONE as i128, 0);
    assert_eq!(DLBRIDGE_BACKEND_CPU as i128, 1);
    assert_eq!(DLBRIDGE_BACKEND_CUDA as i128, 2);
    assert_eq!(DLBRIDGE_BACKEND_HIP as i128, 3);
    assert_eq!(DLBRIDGE_BACKEND_LEVEL_ZERO as i128, 4);
    assert_eq!(DLBRIDGE_BACKEND_OPENCL as i128, 5);
    assert_eq!(DLBRIDGE_STATE_READY as i128, 1);
    assert_eq!(DLBRIDGE_STATE_ABSENT as i128, 2);
    assert_eq!(DLBRIDGE_STATE_UNUSABLE as i128, 3);
    assert_eq!(DLBRIDGE_BUFFER_DEFAULT as i128, 0);
    assert_eq!(DLBRIDGE_BUFFER_ADDRESS as i128, 1);
    assert_eq!(DLBRIDGE_BUFFER_CL_MEM as i128, 2);
    assert_eq!(DLBRIDGE_BUFFER_HANDLE as i128, 3);
    assert_eq!(DLBRIDGE_MEMORY_HOST as i128, 1);
    assert_eq!(DLBRIDGE_MEMORY_DEVICE as i128, 2);
    assert_eq!(DLBRIDGE_MEMORY_PINNED as i128, 3);
    assert_eq!(DLBRIDGE_MEMORY_MANAGED as i128, 4);
    assert_eq!(DLBRIDGE_MEMORY_USM_HOST as i128, 5);
    assert_eq!(DLBRIDGE_MEMORY_USM_DEVICE as i128, 6);
    assert_eq!(DLBRIDGE_MEMORY_USM_SHARED as i128, 7);
    assert_eq!(DLBRIDGE_MEMORY_SVM as i128, 8);
    assert_eq!(DLBRIDGE_MEMORY_CL_MEM as i128, 9);
    assert_eq!(DLBRIDGE_POINTER_CONTEXT_ASSUMED as i128, 1);
    assert_eq!(DLBRIDGE_POINTER_PEERS_KNOWN as i128, 2);
    assert_eq!(DLBRIDGE_POINTER_INFO_PEERS as i128, 256);
    assert_eq!(DLBRIDGE_WRAP_SKIP_VALIDATION as i128, 256);
    assert_eq!(DLBRIDGE_WRAP_PIN_PRODUCER as i128, 512);
    assert_eq!(DLBRIDGE_WRAP_RETAIN as i128, 1024);
    assert_eq!(DLBRIDGE_WRAP_LIMIT_BUFFER as i128, 2048);
    assert_eq!(DLBRIDGE_WRAP_RELEASE_ON_STREAM as i128, 4096);
    assert_eq!(DLBRIDGE_STREAM_HOST as i128, 1);
    assert_eq!(DLBRIDGE_STREAM_NO_SYNC as i128, 2);
    assert_eq!(DLBRIDGE_STREAM_QUEUE as i128, 3);
    assert_eq!(DLBRIDGE_STREAM_IMMEDIATE_LIST as i128, 4);
    assert_eq!(DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT as i128, 256);
    assert_eq!(DLBRIDGE_HANDOFF_ALLOW_CAPTURE as i128, 512);
    assert_eq!(DLBRIDGE_CONTEXT_DEFAULT as i128, 1);
    assert_eq!(DLBRIDGE_CONTEXT_REPLACE as i128, 2);
    assert_eq!(DLBRIDGE_CONTEXT_ENUMERATED as i128, 4);
    assert_eq!(DLBRIDGE_CONTEXT_PRIVATE as i128, 8);
    assert_eq!(DLBRIDGE_COPY_ALLOW_STAGING as i128, 256);
    assert_eq!(DLBRIDGE_COPY_SHAREABLE as i128, 512);
    assert_eq!(DLBRIDGE_COLLECT_WAIT as i128, 256);
    assert_eq!(DLBRIDGE_IPC_READ_ONLY as i128, 256);
    assert_eq!(DLBRIDGE_VERSION_MAJOR as i128, 0);
    assert_eq!(DLBRIDGE_VERSION_MINOR as i128, 4);
    assert_eq!(DLBRIDGE_VERSION_PATCH as i128, 0);
    assert_eq!(DLBRIDGE_VERSION_STRING, c"0.4.0");
    assert_eq!(DLBRIDGE_ABI as i128, 1);
    assert_eq!(DLBRIDGE_MAX_NDIM as i128, 64);
    assert_eq!(DLBRIDGE_ARRAY_API_STREAM_NONE as i128, -9223372036854775808);
}

#[test]
fn initialisers() {
    assert_eq!(hex(&DLBridgeError::INIT), "0000000000000000ffffffff00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(hex(&DLBridgeLayout::INIT), "5000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(hex(&DLBridgePolicy::INIT), "58000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(
        hex(&DLBridgeAllocator::INIT),
        "2000000000000000000000000000000000000000000000000000000000000000"
    );
    assert_eq!(
        hex(&DLBridgeConvertOptions::INIT),
        "28000000000000000000000000000000000000000000000000000000000000000000000000000000"
    );
    assert_eq!(
        hex(&DLBridgeStorage::INIT),
        "28000000000000000000000000000000000000000000000000000000000000000000000000000000"
    );
    assert_eq!(
        hex(&DLBridgeViewSpec::INIT),
        "28000000000000000000000000000000000000000000000000000000000000000000000000000000"
    );
    assert_eq!(hex(&DLBridgeAllocateSpec::INIT), "40000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(hex(&DLBridgeBackendInfo::INIT), "00040000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(
        hex(&DLBridgeBuffer::INIT),
        "0000000000000000000000000000000000000000000000000000000000000000"
    );
    assert_eq!(hex(&DLBridgePointerInfo::INIT), "40000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(hex(&DLBridgeWrapSpec::INIT), "8000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(
        hex(&DLBridgeStream::INIT),
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
    );
    assert_eq!(hex(&DLBridgeContextEntry::INIT), "8000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(hex(&DLBridgeCopySpec::INIT), "9800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(hex(&DLBridgeIpcExportSpec::INIT), "300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
    assert_eq!(hex(&DLBridgeIpcSizes::INIT), "180000000000000000000000000000000000000000000000");
    assert_eq!(hex(&DLBridgeIpcImportSpec::INIT), "3800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000");
}

#[cfg(feature = "link")]
#[test]
fn functions() {
    use core::ffi::{c_char, c_void};
    let _: unsafe extern "C" fn() -> u32 = dlbridge_version;
    let _: unsafe extern "C" fn() -> *const c_char = dlbridge_version_string;
    let _: unsafe extern "C" fn() -> DLPackVersion = dlbridge_dlpack_version;
    let _: unsafe extern "C" fn(DLBridgeStatus) -> *const c_char = dlbridge_status_name;
    let _: unsafe extern "C" fn(DLBridgeStatus) -> *const c_char = dlbridge_status_text;
    let _: unsafe extern "C" fn(DLBridgeRule) -> *const c_char = dlbridge_rule_name;
    let _: unsafe extern "C" fn(DLBridgeRule) -> *const c_char = dlbridge_rule_text;
    let _: unsafe extern "C" fn(
        *const DLTensor,
        u64,
        *mut DLBridgeLayout,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_layout;
    let _: unsafe extern "C" fn(
        DLDataType,
        *mut c_char,
        usize,
        *mut usize,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_dtype_format;
    let _: unsafe extern "C" fn(
        *const c_char,
        usize,
        *mut DLDataType,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_dtype_parse;
    let _: unsafe extern "C" fn(
        DLDevice,
        *mut c_char,
        usize,
        *mut usize,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_device_format;
    let _: unsafe extern "C" fn(
        *const c_char,
        usize,
        *mut DLDevice,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_device_parse;
    let _: unsafe extern "C" fn(
        *const DLTensor,
        u64,
        *mut c_char,
        usize,
        *mut usize,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_tensor_format;
    let _: unsafe extern "C" fn(i32, *mut DLBridgeAnswer) -> i32 = dlbridge_host_accessible;
    let _: unsafe extern "C" fn(
        *const DLTensor,
        u64,
        *const DLBridgePolicy,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_validate;
    let _: unsafe extern "C" fn(
        *const DLManagedTensor,
        *const DLBridgePolicy,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_validate_legacy;
    let _: unsafe extern "C" fn(
        *const DLManagedTensorVersioned,
        *const DLBridgePolicy,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_validate_versioned;
    let _: unsafe extern "C" fn(
        *const c_void,
        DLBridgeKind,
        u64,
        *const DLBridgePolicy,
        *mut DLBridgeFinding,
        usize,
        *mut usize,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_diagnose;
    let _: unsafe extern "C" fn(
        *mut c_void,
        DLBridgeKind,
        *const DLBridgeConvertOptions,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_import;
    let _: unsafe extern "C" fn(
        *mut c_void,
        DLBridgeKind,
        DLPackVersion,
        *const DLBridgeConvertOptions,
        *mut *mut c_void,
        *mut DLBridgeKind,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_export;
    let _: unsafe extern "C" fn(*mut c_void, DLBridgeKind) -> DLBridgeStatus = dlbridge_release;
    let _: unsafe extern "C" fn(*mut DLManagedTensor) = dlbridge_release_legacy;
    let _: unsafe extern "C" fn(*mut DLManagedTensorVersioned) = dlbridge_release_versioned;
    let _: unsafe extern "C" fn(
        *mut DLManagedTensor,
        *const DLBridgeConvertOptions,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_upgrade;
    let _: unsafe extern "C" fn(i32) -> usize = dlbridge_upgrade_storage_size;
    let _: unsafe extern "C" fn(
        *mut DLManagedTensor,
        *const DLBridgeConvertOptions,
        *const DLBridgeStorage,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_upgrade_into;
    let _: unsafe extern "C" fn(
        *const *mut DLManagedTensor,
        usize,
        *const DLBridgeConvertOptions,
        *mut *mut DLManagedTensorVersioned,
        *mut usize,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_upgrade_many;
    let _: unsafe extern "C" fn(
        *mut DLManagedTensorVersioned,
        *const DLBridgeConvertOptions,
        *mut *mut DLManagedTensor,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_downgrade;
    let _: unsafe extern "C" fn(
        *const DLManagedTensorVersioned,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_share;
    let _: unsafe extern "C" fn(
        *const DLManagedTensorVersioned,
        *const DLBridgeViewSpec,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_view;
    let _: unsafe extern "C" fn(
        *const DLBridgeAllocateSpec,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_allocate;
    let _: unsafe extern "C" fn(
        *const DLTensor,
        u64,
        *mut DLPackVersion,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_required_version;
    let _: unsafe extern "C" fn(
        DLPackVersion,
        DLPackVersion,
        *mut DLBridgeKind,
        *mut DLPackVersion,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_negotiate;
    let _: unsafe extern "C" fn(
        *const DLPackExchangeAPIHeader,
        DLPackVersion,
        *mut *const DLPackExchangeAPI,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_exchange_api_find;
    let _: unsafe extern "C" fn(*const c_void) -> DLBridgeKind = dlbridge_identify;
    let _: unsafe extern "C" fn(*const c_void, *mut DLBridgeError) -> DLBridgeStatus =
        dlbridge_module_pin;
    let _: unsafe extern "C" fn(
        DLBridgeBackend,
        *mut DLBridgeBackendInfo,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_backend_info;
    let _: unsafe extern "C" fn(
        *const DLBridgeBuffer,
        DLDevice,
        *mut DLBridgePointerInfo,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_pointer_info;
    let _: unsafe extern "C" fn(
        *const DLBridgeWrapSpec,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_wrap;
    let _: unsafe extern "C" fn(
        *const DLBridgeWrapSpec,
        *mut *mut DLManagedTensor,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_wrap_legacy;
    let _: unsafe extern "C" fn(
        DLDevice,
        i64,
        *mut DLBridgeStream,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_stream_from_array_api;
    let _: unsafe extern "C" fn(
        *const DLBridgeStream,
        *const DLBridgeStream,
        u32,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_stream_handoff;
    let _: unsafe extern "C" fn(*const DLBridgeStream, *mut DLBridgeError) -> DLBridgeStatus =
        dlbridge_stream_synchronize;
    let _: unsafe extern "C" fn(
        *const DLBridgeContextEntry,
        *mut u64,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_context_register;
    let _: unsafe extern "C" fn(
        DLDevice,
        u64,
        *mut DLBridgeContextEntry,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_context_find;
    let _: unsafe extern "C" fn(
        *mut u64,
        *mut DLBridgeContextEntry,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_context_next;
    let _: unsafe extern "C" fn(u64, *mut DLBridgeError) -> DLBridgeStatus =
        dlbridge_context_retain;
    let _: unsafe extern "C" fn(u64, *mut DLBridgeError) -> DLBridgeStatus =
        dlbridge_context_release;
    let _: unsafe extern "C" fn(u64, *mut DLBridgeError) -> DLBridgeStatus =
        dlbridge_context_unregister;
    let _: unsafe extern "C" fn() -> *const DLBridgeContextTable = dlbridge_context_table_v1;
    let _: unsafe extern "C" fn(
        *const DLTensor,
        u64,
        *const DLBridgeCopySpec,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_copy;
    let _: unsafe extern "C" fn(
        *const DLManagedTensorVersioned,
        *const DLBridgeCopySpec,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_copy_async;
    let _: unsafe extern "C" fn(
        *mut c_void,
        DLBridgeKind,
        *const DLBridgeStream,
        usize,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_release_after;
    let _: unsafe extern "C" fn(u32, *mut usize, *mut DLBridgeError) -> DLBridgeStatus =
        dlbridge_collect;
    let _: unsafe extern "C" fn(
        *const DLManagedTensorVersioned,
        *const DLBridgeIpcExportSpec,
        *mut DLBridgeIpcSizes,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_ipc_export;
    let _: unsafe extern "C" fn(
        *const DLBridgeIpcImportSpec,
        *mut *mut DLManagedTensorVersioned,
        *mut DLBridgeError,
    ) -> DLBridgeStatus = dlbridge_ipc_import;
    let _: unsafe extern "C" fn(u32, usize) -> *const DLBridgeApi = dlbridge_get_api;
}
