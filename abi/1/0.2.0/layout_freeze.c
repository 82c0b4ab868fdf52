/*
 * SPDX-License-Identifier: Apache-2.0
 * The ABI of dlbridge.h and dlpack.h, frozen: size and alignment of every struct, offset and type
 * of every field, value of every constant, type of every function. Compiled, never run. What a
 * release has written here never changes; what a later one adds comes behind it.
 * tests/abi/freeze.py sees to it that nothing is left out.
 *
 * Each release keeps its copy, which is compiled with DLBRIDGE_FREEZE_OF_OLDER against all later
 * headers of the same ABI number: then a struct that begins with struct_size may have grown.
 */
#include "dlbridge/dlbridge.h"

#define SIZE(type, size, align) \
  _Static_assert(sizeof(type) == (size) && _Alignof(type) == (align), #type " moved")
#ifdef DLBRIDGE_FREEZE_OF_OLDER
#define GROWS(type, size, align) \
  _Static_assert(sizeof(type) >= (size) && _Alignof(type) == (align), #type " shrank")
#else
#define GROWS(type, size, align) SIZE(type, size, align)
#endif
#define SAME_TYPE(expression, type) _Generic((expression), __typeof__(type)* : 1, default : 0)
#define FIELD(type, field, offset, field_type)                                  \
  _Static_assert(offsetof(type, field) == (offset), #type "." #field " moved"); \
  _Static_assert(SAME_TYPE(&((type*)0)->field, field_type), #type "." #field " has another type")
/* A member of the function table has the type of the function whose name it bears. */
#define MEMBER(name, offset) FIELD(DLBridgeApi, name, offset, &dlbridge_##name)
#define VALUE(name, value) _Static_assert((name) == (value), #name " has another value")
#define TYPE(name, type) _Static_assert(SAME_TYPE((name*)0, type), #name " is another type")

TYPE(DLBridgeStatus, int32_t);
TYPE(DLBridgeRule, int32_t);
TYPE(DLBridgeKind, int32_t);
TYPE(DLBridgeAnswer, int32_t);
TYPE(DLBridgeBackend, int32_t);

/* Another declaration of the same function must say the same. */
uint32_t dlbridge_version(void);
const char* dlbridge_version_string(void);
DLPackVersion dlbridge_dlpack_version(void);
const char* dlbridge_status_name(DLBridgeStatus);
const char* dlbridge_status_text(DLBridgeStatus);
const char* dlbridge_rule_name(DLBridgeRule);
const char* dlbridge_rule_text(DLBridgeRule);
DLBridgeStatus dlbridge_layout(const DLTensor*, uint64_t, DLBridgeLayout*, DLBridgeError*);
DLBridgeStatus dlbridge_dtype_format(DLDataType, char*, size_t, size_t*, DLBridgeError*);
DLBridgeStatus dlbridge_dtype_parse(const char*, size_t, DLDataType*, DLBridgeError*);
DLBridgeStatus dlbridge_device_format(DLDevice, char*, size_t, size_t*, DLBridgeError*);
DLBridgeStatus dlbridge_device_parse(const char*, size_t, DLDevice*, DLBridgeError*);
DLBridgeStatus dlbridge_tensor_format(const DLTensor*, uint64_t, char*, size_t, size_t*,
                                      DLBridgeError*);
DLBridgeAnswer dlbridge_host_accessible(int32_t);
DLBridgeStatus dlbridge_validate(const DLTensor*, uint64_t, const DLBridgePolicy*, DLBridgeError*);
DLBridgeStatus dlbridge_validate_legacy(const DLManagedTensor*, const DLBridgePolicy*,
                                        DLBridgeError*);
DLBridgeStatus dlbridge_validate_versioned(const DLManagedTensorVersioned*, const DLBridgePolicy*,
                                           DLBridgeError*);
DLBridgeStatus dlbridge_diagnose(const void*, DLBridgeKind, uint64_t, const DLBridgePolicy*,
                                 DLBridgeFinding*, size_t, size_t*, DLBridgeError*);
DLBridgeStatus dlbridge_upgrade(DLManagedTensor*, const DLBridgeConvertOptions*,
                                DLManagedTensorVersioned**, DLBridgeError*);
size_t dlbridge_upgrade_storage_size(int32_t);
DLBridgeStatus dlbridge_upgrade_into(DLManagedTensor*, const DLBridgeConvertOptions*,
                                     const DLBridgeStorage*, DLManagedTensorVersioned**,
                                     DLBridgeError*);
DLBridgeStatus dlbridge_upgrade_many(DLManagedTensor* const*, size_t, const DLBridgeConvertOptions*,
                                     DLManagedTensorVersioned**, size_t*, DLBridgeError*);
DLBridgeStatus dlbridge_downgrade(DLManagedTensorVersioned*, const DLBridgeConvertOptions*,
                                  DLManagedTensor**, DLBridgeError*);
DLBridgeStatus dlbridge_convert(void*, DLBridgeKind, DLPackVersion, const DLBridgeConvertOptions*,
                                void**, DLBridgeKind*, DLBridgeError*);
DLBridgeStatus dlbridge_adopt(DLManagedTensorVersioned*, const DLBridgeConvertOptions*,
                              DLManagedTensorVersioned**, DLBridgeError*);
DLBridgeStatus dlbridge_share(const DLManagedTensorVersioned*, DLManagedTensorVersioned**,
                              DLBridgeError*);
DLBridgeStatus dlbridge_view(const DLManagedTensorVersioned*, const DLBridgeViewSpec*,
                             DLManagedTensorVersioned**, DLBridgeError*);
DLBridgeStatus dlbridge_allocate(const DLBridgeAllocateSpec*, DLManagedTensorVersioned**,
                                 DLBridgeError*);
void dlbridge_release_legacy(DLManagedTensor*);
void dlbridge_release_versioned(DLManagedTensorVersioned*);
DLBridgeStatus dlbridge_required_version(const DLTensor*, uint64_t, DLPackVersion*, DLBridgeError*);
DLBridgeStatus dlbridge_negotiate(DLPackVersion, DLPackVersion, DLBridgeKind*, DLPackVersion*,
                                  DLBridgeError*);
DLBridgeStatus dlbridge_exchange_api_find(const DLPackExchangeAPIHeader*, DLPackVersion,
                                          const DLPackExchangeAPI**, DLBridgeError*);
DLBridgeKind dlbridge_identify(const void*);
DLBridgeStatus dlbridge_pin_module(const void*, DLBridgeError*);
const DLBridgeApi* dlbridge_get_api(uint32_t, size_t);
DLBridgeStatus dlbridge_backend_info(DLBridgeBackend, DLBridgeBackendInfo*, DLBridgeError*);
DLBridgeStatus dlbridge_pointer_info(const DLBridgeBuffer*, DLDevice, DLBridgePointerInfo*,
                                     DLBridgeError*);
DLBridgeStatus dlbridge_wrap(const DLBridgeWrapSpec*, DLManagedTensorVersioned**, DLBridgeError*);
DLBridgeStatus dlbridge_wrap_legacy(const DLBridgeWrapSpec*, DLManagedTensor**, DLBridgeError*);
DLBridgeStatus dlbridge_stream_from_array_api(DLDevice, int64_t, DLBridgeStream*, DLBridgeError*);
DLBridgeStatus dlbridge_stream_handoff(const DLBridgeStream*, const DLBridgeStream*, uint32_t,
                                       DLBridgeError*);
DLBridgeStatus dlbridge_stream_synchronize(const DLBridgeStream*, DLBridgeError*);
DLBridgeStatus dlbridge_device_register(const DLBridgeContextEntry*, uint64_t*, DLBridgeError*);
DLBridgeStatus dlbridge_device_lookup(DLDevice, uint64_t, DLBridgeContextEntry*, DLBridgeError*);
DLBridgeStatus dlbridge_device_next(uint64_t*, DLBridgeContextEntry*, DLBridgeError*);
DLBridgeStatus dlbridge_device_retain(uint64_t, DLBridgeError*);
DLBridgeStatus dlbridge_device_release(uint64_t, DLBridgeError*);
DLBridgeStatus dlbridge_device_unregister(uint64_t, DLBridgeError*);
const DLBridgeContextTable* dlbridge_context_table_v1(void);
DLBridgeStatus dlbridge_copy(const DLTensor*, uint64_t, const DLBridgeCopySpec*,
                             DLManagedTensorVersioned**, DLBridgeError*);
DLBridgeStatus dlbridge_ipc_export(const DLManagedTensorVersioned*, uint32_t, void*, size_t,
                                   size_t*, int32_t*, size_t, size_t*, DLBridgeError*);
DLBridgeStatus dlbridge_ipc_import(const void*, size_t, const int32_t*, size_t, uint32_t,
                                   const DLBridgePolicy*, DLManagedTensorVersioned**,
                                   DLBridgeError*);

VALUE(DLBRIDGE_ABI, 1);

SIZE(DLBridgeError, 256, 4);
FIELD(DLBridgeError, struct_size, 0, uint32_t);
FIELD(DLBridgeError, status, 4, DLBridgeStatus);
FIELD(DLBridgeError, rule, 8, DLBridgeRule);
FIELD(DLBridgeError, axis, 12, int32_t);
FIELD(DLBridgeError, message, 16, char[240]);

GROWS(DLBridgeLayout, 72, 8);
FIELD(DLBridgeLayout, struct_size, 0, uint32_t);
FIELD(DLBridgeLayout, flags, 4, uint32_t);
FIELD(DLBridgeLayout, item_bits, 8, uint32_t);
FIELD(DLBridgeLayout, self_overlap, 12, DLBridgeAnswer);
FIELD(DLBridgeLayout, element_count, 16, int64_t);
FIELD(DLBridgeLayout, packed_bytes, 24, int64_t);
FIELD(DLBridgeLayout, begin, 32, int64_t);
FIELD(DLBridgeLayout, end, 40, int64_t);
FIELD(DLBridgeLayout, broadcast_axes, 48, uint64_t);
FIELD(DLBridgeLayout, negative_axes, 56, uint64_t);
FIELD(DLBridgeLayout, alignment, 64, uint64_t);

GROWS(DLBridgePolicy, 96, 8);
FIELD(DLBridgePolicy, struct_size, 0, uint32_t);
FIELD(DLBridgePolicy, level, 4, int32_t);
FIELD(DLBridgePolicy, version, 8, DLPackVersion);
FIELD(DLBridgePolicy, flags, 16, uint32_t);
FIELD(DLBridgePolicy, max_ndim, 20, int32_t);
FIELD(DLBridgePolicy, contiguity, 24, int32_t);
FIELD(DLBridgePolicy, reserved0, 28, uint32_t);
FIELD(DLBridgePolicy, alignment, 32, uint64_t);
FIELD(DLBridgePolicy, buffer_size, 40, uint64_t);
FIELD(DLBridgePolicy, devices, 48, const DLDevice*);
FIELD(DLBridgePolicy, device_count, 56, size_t);
FIELD(DLBridgePolicy, dtypes, 64, const DLDataType*);
FIELD(DLBridgePolicy, dtype_count, 72, size_t);
FIELD(DLBridgePolicy, reserved, 80, uint64_t[2]);

SIZE(DLBridgeFinding, 128, 4);
FIELD(DLBridgeFinding, rule, 0, DLBridgeRule);
FIELD(DLBridgeFinding, axis, 4, int32_t);
FIELD(DLBridgeFinding, severity, 8, int32_t);
FIELD(DLBridgeFinding, status, 12, DLBridgeStatus);
FIELD(DLBridgeFinding, expected, 16, char[56]);
FIELD(DLBridgeFinding, found, 72, char[56]);

GROWS(DLBridgeAllocator, 32, 8);
FIELD(DLBridgeAllocator, struct_size, 0, uint32_t);
FIELD(DLBridgeAllocator, reserved0, 4, uint32_t);
FIELD(DLBridgeAllocator, context, 8, void*);
FIELD(DLBridgeAllocator, allocate, 16, void* (*)(void*, DLDevice, uint64_t, uint64_t));
FIELD(DLBridgeAllocator, deallocate, 24, void (*)(void*, DLDevice, void*, uint64_t, uint64_t));

GROWS(DLBridgeConvertOptions, 56, 8);
FIELD(DLBridgeConvertOptions, struct_size, 0, uint32_t);
FIELD(DLBridgeConvertOptions, flags, 4, uint32_t);
FIELD(DLBridgeConvertOptions, version, 8, DLPackVersion);
FIELD(DLBridgeConvertOptions, source_flags, 16, uint64_t);
FIELD(DLBridgeConvertOptions, policy, 24, const DLBridgePolicy*);
FIELD(DLBridgeConvertOptions, allocator, 32, const DLBridgeAllocator*);
FIELD(DLBridgeConvertOptions, reserved, 40, uint64_t[2]);

GROWS(DLBridgeStorage, 40, 8);
FIELD(DLBridgeStorage, struct_size, 0, uint32_t);
FIELD(DLBridgeStorage, reserved0, 4, uint32_t);
FIELD(DLBridgeStorage, memory, 8, void*);
FIELD(DLBridgeStorage, size, 16, size_t);
FIELD(DLBridgeStorage, released, 24, void (*)(void*, void*));
FIELD(DLBridgeStorage, context, 32, void*);

GROWS(DLBridgeViewSpec, 48, 8);
FIELD(DLBridgeViewSpec, struct_size, 0, uint32_t);
FIELD(DLBridgeViewSpec, ndim, 4, int32_t);
FIELD(DLBridgeViewSpec, shape, 8, const int64_t*);
FIELD(DLBridgeViewSpec, strides, 16, const int64_t*);
FIELD(DLBridgeViewSpec, offset, 24, int64_t);
FIELD(DLBridgeViewSpec, reserved, 32, uint64_t[2]);

GROWS(DLBridgeAllocateSpec, 88, 8);
FIELD(DLBridgeAllocateSpec, struct_size, 0, uint32_t);
FIELD(DLBridgeAllocateSpec, ndim, 4, int32_t);
FIELD(DLBridgeAllocateSpec, shape, 8, const int64_t*);
FIELD(DLBridgeAllocateSpec, device, 16, DLDevice);
FIELD(DLBridgeAllocateSpec, dtype, 24, DLDataType);
FIELD(DLBridgeAllocateSpec, reserved0, 28, uint32_t);
FIELD(DLBridgeAllocateSpec, alignment, 32, uint64_t);
FIELD(DLBridgeAllocateSpec, flags, 40, uint64_t);
FIELD(DLBridgeAllocateSpec, version, 48, DLPackVersion);
FIELD(DLBridgeAllocateSpec, allocator, 56, const DLBridgeAllocator*);
FIELD(DLBridgeAllocateSpec, reserved, 64, uint64_t[2]);
FIELD(DLBridgeAllocateSpec, options, 80, uint32_t);
FIELD(DLBridgeAllocateSpec, reserved1, 84, uint32_t);

GROWS(DLBridgeBackendInfo, 1024, 4);
FIELD(DLBridgeBackendInfo, struct_size, 0, uint32_t);
FIELD(DLBridgeBackendInfo, backend, 4, DLBridgeBackend);
FIELD(DLBridgeBackendInfo, state, 8, int32_t);
FIELD(DLBridgeBackendInfo, device_count, 12, int32_t);
FIELD(DLBridgeBackendInfo, driver_code, 16, int32_t);
FIELD(DLBridgeBackendInfo, reserved0, 20, uint32_t);
FIELD(DLBridgeBackendInfo, driver_version, 24, char[64]);
FIELD(DLBridgeBackendInfo, runtime_version, 88, char[64]);
FIELD(DLBridgeBackendInfo, file, 152, char[256]);
FIELD(DLBridgeBackendInfo, reason, 408, char[616]);

SIZE(DLBridgeBuffer, 24, 8);
FIELD(DLBridgeBuffer, backend, 0, DLBridgeBackend);
FIELD(DLBridgeBuffer, kind, 4, int32_t);
FIELD(DLBridgeBuffer, handle, 8, uint64_t);
FIELD(DLBridgeBuffer, context, 16, uint64_t);

GROWS(DLBridgePointerInfo, 56, 8);
FIELD(DLBridgePointerInfo, struct_size, 0, uint32_t);
FIELD(DLBridgePointerInfo, backend, 4, DLBridgeBackend);
FIELD(DLBridgePointerInfo, device, 8, DLDevice);
FIELD(DLBridgePointerInfo, memory, 16, int32_t);
FIELD(DLBridgePointerInfo, native_device, 20, int32_t);
FIELD(DLBridgePointerInfo, flags, 24, uint32_t);
FIELD(DLBridgePointerInfo, reserved0, 28, uint32_t);
FIELD(DLBridgePointerInfo, base, 32, uint64_t);
FIELD(DLBridgePointerInfo, size, 40, uint64_t);
FIELD(DLBridgePointerInfo, context, 48, uint64_t);

GROWS(DLBridgeWrapSpec, 136, 8);
FIELD(DLBridgeWrapSpec, struct_size, 0, uint32_t);
FIELD(DLBridgeWrapSpec, ndim, 4, int32_t);
FIELD(DLBridgeWrapSpec, shape, 8, const int64_t*);
FIELD(DLBridgeWrapSpec, strides, 16, const int64_t*);
FIELD(DLBridgeWrapSpec, buffer, 24, DLBridgeBuffer);
FIELD(DLBridgeWrapSpec, byte_offset, 48, uint64_t);
FIELD(DLBridgeWrapSpec, buffer_size, 56, uint64_t);
FIELD(DLBridgeWrapSpec, device, 64, DLDevice);
FIELD(DLBridgeWrapSpec, dtype, 72, DLDataType);
FIELD(DLBridgeWrapSpec, options, 76, uint32_t);
FIELD(DLBridgeWrapSpec, flags, 80, uint64_t);
FIELD(DLBridgeWrapSpec, version, 88, DLPackVersion);
FIELD(DLBridgeWrapSpec, release, 96, void (*)(void*, DLBridgeBuffer));
FIELD(DLBridgeWrapSpec, release_context, 104, void*);
FIELD(DLBridgeWrapSpec, policy, 112, const DLBridgePolicy*);
FIELD(DLBridgeWrapSpec, reserved, 120, uint64_t[2]);

SIZE(DLBridgeStream, 32, 8);
FIELD(DLBridgeStream, backend, 0, DLBridgeBackend);
FIELD(DLBridgeStream, kind, 4, int32_t);
FIELD(DLBridgeStream, device, 8, DLDevice);
FIELD(DLBridgeStream, handle, 16, uint64_t);
FIELD(DLBridgeStream, context, 24, uint64_t);

SIZE(DLBridgeContextEntry, 128, 8);
FIELD(DLBridgeContextEntry, struct_size, 0, uint32_t);
FIELD(DLBridgeContextEntry, backend, 4, DLBridgeBackend);
FIELD(DLBridgeContextEntry, device, 8, DLDevice);
FIELD(DLBridgeContextEntry, id, 16, uint64_t);
FIELD(DLBridgeContextEntry, platform, 24, uint64_t);
FIELD(DLBridgeContextEntry, native_device, 32, uint64_t);
FIELD(DLBridgeContextEntry, context, 40, uint64_t);
FIELD(DLBridgeContextEntry, queue, 48, uint64_t);
FIELD(DLBridgeContextEntry, queue_kind, 56, int32_t);
FIELD(DLBridgeContextEntry, flags, 60, uint32_t);
FIELD(DLBridgeContextEntry, uuid, 64, uint8_t[16]);
FIELD(DLBridgeContextEntry, release, 80, void (*)(void*, const DLBridgeContextEntry*));
FIELD(DLBridgeContextEntry, user, 88, void*);
FIELD(DLBridgeContextEntry, reserved, 96, uint64_t[4]);

GROWS(DLBridgeContextTable, 56, 8);
FIELD(DLBridgeContextTable, struct_size, 0, uint32_t);
FIELD(DLBridgeContextTable, version, 4, uint32_t);
FIELD(DLBridgeContextTable, add, 8, DLBridgeStatus (*)(const DLBridgeContextEntry*, uint64_t*));
FIELD(DLBridgeContextTable, find, 16,
      DLBridgeStatus (*)(DLDevice, uint64_t, DLBridgeContextEntry*));
FIELD(DLBridgeContextTable, next, 24, DLBridgeStatus (*)(uint64_t*, DLBridgeContextEntry*));
FIELD(DLBridgeContextTable, retain, 32, DLBridgeStatus (*)(uint64_t));
FIELD(DLBridgeContextTable, release, 40, DLBridgeStatus (*)(uint64_t));
FIELD(DLBridgeContextTable, remove, 48, DLBridgeStatus (*)(uint64_t));

GROWS(DLBridgeCopySpec, 168, 8);
FIELD(DLBridgeCopySpec, struct_size, 0, uint32_t);
FIELD(DLBridgeCopySpec, options, 4, uint32_t);
FIELD(DLBridgeCopySpec, device, 8, DLDevice);
FIELD(DLBridgeCopySpec, stream, 16, DLBridgeStream);
FIELD(DLBridgeCopySpec, target, 48, DLBridgeBuffer);
FIELD(DLBridgeCopySpec, target_offset, 72, uint64_t);
FIELD(DLBridgeCopySpec, target_size, 80, uint64_t);
FIELD(DLBridgeCopySpec, release, 88, void (*)(void*, DLBridgeBuffer));
FIELD(DLBridgeCopySpec, release_context, 96, void*);
FIELD(DLBridgeCopySpec, allocator, 104, const DLBridgeAllocator*);
FIELD(DLBridgeCopySpec, flags, 112, uint64_t);
FIELD(DLBridgeCopySpec, version, 120, DLPackVersion);
FIELD(DLBridgeCopySpec, policy, 128, const DLBridgePolicy*);
FIELD(DLBridgeCopySpec, reserved, 136, uint64_t[4]);

GROWS(DLBridgeApi, 424, 8);
FIELD(DLBridgeApi, struct_size, 0, uint32_t);
FIELD(DLBridgeApi, abi, 4, uint32_t);
MEMBER(version, 8);
MEMBER(version_string, 16);
MEMBER(dlpack_version, 24);
MEMBER(status_name, 32);
MEMBER(status_text, 40);
MEMBER(rule_name, 48);
MEMBER(rule_text, 56);
MEMBER(layout, 64);
MEMBER(dtype_format, 72);
MEMBER(dtype_parse, 80);
MEMBER(device_format, 88);
MEMBER(device_parse, 96);
MEMBER(tensor_format, 104);
MEMBER(host_accessible, 112);
MEMBER(validate, 120);
MEMBER(validate_legacy, 128);
MEMBER(validate_versioned, 136);
MEMBER(diagnose, 144);
MEMBER(upgrade, 152);
MEMBER(upgrade_storage_size, 160);
MEMBER(upgrade_into, 168);
MEMBER(upgrade_many, 176);
MEMBER(downgrade, 184);
MEMBER(convert, 192);
MEMBER(adopt, 200);
MEMBER(share, 208);
MEMBER(view, 216);
MEMBER(allocate, 224);
MEMBER(release_legacy, 232);
MEMBER(release_versioned, 240);
MEMBER(required_version, 248);
MEMBER(negotiate, 256);
MEMBER(exchange_api_find, 264);
MEMBER(identify, 272);
MEMBER(pin_module, 280);
MEMBER(backend_info, 288);
MEMBER(pointer_info, 296);
MEMBER(wrap, 304);
MEMBER(wrap_legacy, 312);
MEMBER(stream_from_array_api, 320);
MEMBER(stream_handoff, 328);
MEMBER(stream_synchronize, 336);
MEMBER(device_register, 344);
MEMBER(device_lookup, 352);
MEMBER(device_next, 360);
MEMBER(device_retain, 368);
MEMBER(device_release, 376);
MEMBER(device_unregister, 384);
MEMBER(context_table_v1, 392);
MEMBER(copy, 400);
MEMBER(ipc_export, 408);
MEMBER(ipc_import, 416);

VALUE(DLBRIDGE_OK, 0);
VALUE(DLBRIDGE_ERROR_INVALID_ARGUMENT, 1);
VALUE(DLBRIDGE_ERROR_STRUCT_TOO_NEW, 2);
VALUE(DLBRIDGE_ERROR_OUT_OF_MEMORY, 3);
VALUE(DLBRIDGE_ERROR_INVALID_TENSOR, 4);
VALUE(DLBRIDGE_ERROR_VERSION, 5);
VALUE(DLBRIDGE_ERROR_POLICY, 6);
VALUE(DLBRIDGE_ERROR_UNREPRESENTABLE, 7);
VALUE(DLBRIDGE_ERROR_UNKNOWN_CODE, 8);
VALUE(DLBRIDGE_ERROR_NOT_OURS, 9);
VALUE(DLBRIDGE_ERROR_UNSUPPORTED, 10);
VALUE(DLBRIDGE_ERROR_BUFFER_TOO_SMALL, 11);
VALUE(DLBRIDGE_ERROR_PARSE, 12);
VALUE(DLBRIDGE_ERROR_NOT_FOUND, 13);
VALUE(DLBRIDGE_ERROR_BOUNDS, 14);
VALUE(DLBRIDGE_ERROR_FORKED, 15);
VALUE(DLBRIDGE_ERROR_UNAVAILABLE, 16);
VALUE(DLBRIDGE_ERROR_DRIVER, 17);
VALUE(DLBRIDGE_ERROR_EXISTS, 18);
VALUE(DLBRIDGE_ERROR_CAPTURE, 19);
VALUE(DLBRIDGE_ERROR_DESCRIPTOR, 20);

VALUE(DLBRIDGE_RULE_NONE, 0);
VALUE(DLBRIDGE_RULE_VERSION_MAJOR, 1);
VALUE(DLBRIDGE_RULE_NDIM_NEGATIVE, 2);
VALUE(DLBRIDGE_RULE_NDIM_LIMIT, 3);
VALUE(DLBRIDGE_RULE_SHAPE_NULL, 4);
VALUE(DLBRIDGE_RULE_STRIDES_NULL, 5);
VALUE(DLBRIDGE_RULE_DTYPE_BITS_ZERO, 6);
VALUE(DLBRIDGE_RULE_DTYPE_LANES_ZERO, 7);
VALUE(DLBRIDGE_RULE_DTYPE_LANES_SCALABLE, 8);
VALUE(DLBRIDGE_RULE_DTYPE_BITS_FIXED, 9);
VALUE(DLBRIDGE_RULE_DTYPE_UNKNOWN, 10);
VALUE(DLBRIDGE_RULE_DEVICE_UNKNOWN, 11);
VALUE(DLBRIDGE_RULE_FLAGS_UNKNOWN, 12);
VALUE(DLBRIDGE_RULE_DEVICE_ID_NEGATIVE, 13);
VALUE(DLBRIDGE_RULE_DEVICE_ID_HOST, 14);
VALUE(DLBRIDGE_RULE_DIM_NEGATIVE, 15);
VALUE(DLBRIDGE_RULE_COUNT_OVERFLOW, 16);
VALUE(DLBRIDGE_RULE_SIZE_OVERFLOW, 17);
VALUE(DLBRIDGE_RULE_EXTENT_OVERFLOW, 18);
VALUE(DLBRIDGE_RULE_DATA_NULL, 19);
VALUE(DLBRIDGE_RULE_ADDRESS_RANGE, 20);
VALUE(DLBRIDGE_RULE_HANDLE_RANGE, 21);
VALUE(DLBRIDGE_RULE_BUFFER_BOUNDS, 22);
VALUE(DLBRIDGE_RULE_CONTIGUITY, 23);
VALUE(DLBRIDGE_RULE_ALIGNMENT, 24);
VALUE(DLBRIDGE_RULE_DEVICE_REFUSED, 25);
VALUE(DLBRIDGE_RULE_DTYPE_REFUSED, 26);
VALUE(DLBRIDGE_RULE_NOT_WRITABLE, 27);
VALUE(DLBRIDGE_RULE_NEGATIVE_STRIDE, 28);
VALUE(DLBRIDGE_RULE_ZERO_STRIDE, 29);
VALUE(DLBRIDGE_RULE_SELF_OVERLAP, 30);
VALUE(DLBRIDGE_RULE_DATA_UNALIGNED, 31);
VALUE(DLBRIDGE_RULE_VERSION_LABEL, 32);
VALUE(DLBRIDGE_RULE_REQUIRED_VERSION, 33);
VALUE(DLBRIDGE_RULE_LEGACY_READ_ONLY, 34);
VALUE(DLBRIDGE_RULE_LEGACY_PADDED, 35);
VALUE(DLBRIDGE_RULE_LEGACY_DTYPE, 36);
VALUE(DLBRIDGE_RULE_LEGACY_DEVICE, 37);
VALUE(DLBRIDGE_RULE_OFFSET_FOLD, 38);
VALUE(DLBRIDGE_RULE_VIEW_BOUNDS, 39);
VALUE(DLBRIDGE_RULE_VIEW_OFFSET, 40);
VALUE(DLBRIDGE_RULE_IN_STORAGE, 41);
VALUE(DLBRIDGE_RULE_COPY_DEVICE, 42);
VALUE(DLBRIDGE_RULE_DEVICE_LABEL, 43);
VALUE(DLBRIDGE_RULE_ALLOCATION_BOUNDS, 44);

VALUE(DLBRIDGE_KIND_AMBIGUOUS, 0);
VALUE(DLBRIDGE_KIND_LEGACY, 1);
VALUE(DLBRIDGE_KIND_VERSIONED, 2);
VALUE(DLBRIDGE_KIND_BARE, 3);

VALUE(DLBRIDGE_NO, 0);
VALUE(DLBRIDGE_YES, 1);
VALUE(DLBRIDGE_UNDECIDED, 2);

VALUE(DLBRIDGE_LAYOUT_EMPTY, 1);
VALUE(DLBRIDGE_LAYOUT_C_CONTIGUOUS, 2);
VALUE(DLBRIDGE_LAYOUT_F_CONTIGUOUS, 4);
VALUE(DLBRIDGE_LAYOUT_BROADCAST, 8);
VALUE(DLBRIDGE_LAYOUT_NEGATIVE_STRIDES, 16);
VALUE(DLBRIDGE_LAYOUT_PADDED, 32);
VALUE(DLBRIDGE_LAYOUT_OPAQUE, 64);

VALUE(DLBRIDGE_LEVEL_STRUCT, 1);
VALUE(DLBRIDGE_LEVEL_METADATA, 2);
VALUE(DLBRIDGE_LEVEL_DEVICE, 3);

VALUE(DLBRIDGE_POLICY_REFUSE_UNKNOWN_DTYPE, 1);
VALUE(DLBRIDGE_POLICY_REFUSE_UNKNOWN_DEVICE, 2);
VALUE(DLBRIDGE_POLICY_REFUSE_UNKNOWN_FLAGS, 4);
VALUE(DLBRIDGE_POLICY_REFUSE_NEGATIVE_STRIDES, 8);
VALUE(DLBRIDGE_POLICY_REFUSE_ZERO_STRIDES, 16);
VALUE(DLBRIDGE_POLICY_ALLOW_NULL_STRIDES, 32);
VALUE(DLBRIDGE_POLICY_ALLOW_SCALABLE_LANES, 64);
VALUE(DLBRIDGE_POLICY_REQUIRE_WRITABLE, 128);
VALUE(DLBRIDGE_POLICY_VOUCH_WRITABLE, 256);
VALUE(DLBRIDGE_POLICY_ALLOW_SELF_OVERLAP, 512);

VALUE(DLBRIDGE_CONTIGUITY_ANY, 0);
VALUE(DLBRIDGE_CONTIGUITY_C, 1);
VALUE(DLBRIDGE_CONTIGUITY_F, 2);
VALUE(DLBRIDGE_CONTIGUITY_C_OR_F, 3);

VALUE(DLBRIDGE_SEVERITY_BROKEN, 1);
VALUE(DLBRIDGE_SEVERITY_NOTE, 2);

VALUE(DLBRIDGE_CONVERT_SKIP_VALIDATION, 1);
VALUE(DLBRIDGE_CONVERT_WRITABLE, 2);
VALUE(DLBRIDGE_CONVERT_ALLOW_UNKNOWN, 4);
VALUE(DLBRIDGE_CONVERT_CANONICAL, 8);
VALUE(DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET, 16);
VALUE(DLBRIDGE_CONVERT_COPY, 32);
VALUE(DLBRIDGE_CONVERT_DROP_READ_ONLY, 64);
VALUE(DLBRIDGE_CONVERT_DROP_PADDED, 128);
VALUE(DLBRIDGE_CONVERT_NEWER_CODES, 256);
VALUE(DLBRIDGE_CONVERT_PIN_PRODUCER, 512);

VALUE(DLBRIDGE_ALLOCATE_SHAREABLE, 1);
VALUE(DLBRIDGE_BACKEND_NONE, 0);
VALUE(DLBRIDGE_BACKEND_CPU, 1);
VALUE(DLBRIDGE_BACKEND_CUDA, 2);
VALUE(DLBRIDGE_BACKEND_HIP, 3);
VALUE(DLBRIDGE_BACKEND_LEVEL_ZERO, 4);
VALUE(DLBRIDGE_BACKEND_OPENCL, 5);
VALUE(DLBRIDGE_STATE_READY, 1);
VALUE(DLBRIDGE_STATE_ABSENT, 2);
VALUE(DLBRIDGE_STATE_UNUSABLE, 3);
VALUE(DLBRIDGE_BUFFER_ADDRESS, 1);
VALUE(DLBRIDGE_BUFFER_CL_MEM, 2);
VALUE(DLBRIDGE_BUFFER_HANDLE, 3);
VALUE(DLBRIDGE_MEMORY_HOST, 1);
VALUE(DLBRIDGE_MEMORY_DEVICE, 2);
VALUE(DLBRIDGE_MEMORY_PINNED, 3);
VALUE(DLBRIDGE_MEMORY_MANAGED, 4);
VALUE(DLBRIDGE_MEMORY_USM_HOST, 5);
VALUE(DLBRIDGE_MEMORY_USM_DEVICE, 6);
VALUE(DLBRIDGE_MEMORY_USM_SHARED, 7);
VALUE(DLBRIDGE_MEMORY_SVM, 8);
VALUE(DLBRIDGE_MEMORY_CL_MEM, 9);
VALUE(DLBRIDGE_POINTER_CONTEXT_ASSUMED, 1);
VALUE(DLBRIDGE_WRAP_SKIP_VALIDATION, 1);
VALUE(DLBRIDGE_WRAP_PIN_PRODUCER, 2);
VALUE(DLBRIDGE_WRAP_RETAIN, 4);
VALUE(DLBRIDGE_STREAM_HOST, 1);
VALUE(DLBRIDGE_STREAM_NO_SYNC, 2);
VALUE(DLBRIDGE_STREAM_QUEUE, 3);
VALUE(DLBRIDGE_STREAM_IMMEDIATE_LIST, 4);
VALUE(DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT, 1);
VALUE(DLBRIDGE_HANDOFF_ALLOW_CAPTURE, 2);
VALUE(DLBRIDGE_CONTEXT_DEFAULT, 1);
VALUE(DLBRIDGE_CONTEXT_REPLACE, 2);
VALUE(DLBRIDGE_CONTEXT_ENUMERATED, 4);
VALUE(DLBRIDGE_CONTEXT_PRIVATE, 8);
VALUE(DLBRIDGE_COPY_ALLOW_STAGING, 1);
VALUE(DLBRIDGE_COPY_SHAREABLE, 2);
VALUE(DLBRIDGE_IPC_MAX_SIZE, 2048);
VALUE(DLBRIDGE_IPC_MAX_FDS, 4);
VALUE(DLBRIDGE_IPC_READ_ONLY, 1);

/* DLPack's own. None of its structs ever grows. */
SIZE(DLDeviceType, 4, 4);
SIZE(DLDataTypeCode, 4, 4);

SIZE(DLDevice, 8, 4);
FIELD(DLDevice, device_type, 0, DLDeviceType);
FIELD(DLDevice, device_id, 4, int32_t);

SIZE(DLDataType, 4, 2);
FIELD(DLDataType, code, 0, uint8_t);
FIELD(DLDataType, bits, 1, uint8_t);
FIELD(DLDataType, lanes, 2, uint16_t);

SIZE(DLTensor, 48, 8);
FIELD(DLTensor, data, 0, void*);
FIELD(DLTensor, device, 8, DLDevice);
FIELD(DLTensor, ndim, 16, int32_t);
FIELD(DLTensor, dtype, 20, DLDataType);
FIELD(DLTensor, shape, 24, int64_t*);
FIELD(DLTensor, strides, 32, int64_t*);
FIELD(DLTensor, byte_offset, 40, uint64_t);

SIZE(DLManagedTensor, 64, 8);
FIELD(DLManagedTensor, dl_tensor, 0, DLTensor);
FIELD(DLManagedTensor, manager_ctx, 48, void*);
FIELD(DLManagedTensor, deleter, 56, void (*)(DLManagedTensor*));

SIZE(DLPackVersion, 8, 4);
FIELD(DLPackVersion, major, 0, uint32_t);
FIELD(DLPackVersion, minor, 4, uint32_t);

SIZE(DLManagedTensorVersioned, 80, 8);
FIELD(DLManagedTensorVersioned, version, 0, DLPackVersion);
FIELD(DLManagedTensorVersioned, manager_ctx, 8, void*);
FIELD(DLManagedTensorVersioned, deleter, 16, void (*)(DLManagedTensorVersioned*));
FIELD(DLManagedTensorVersioned, flags, 24, uint64_t);
FIELD(DLManagedTensorVersioned, dl_tensor, 32, DLTensor);

TYPE(DLPackManagedTensorAllocator, int (*)(DLTensor*, DLManagedTensorVersioned**, void*,
                                           void (*)(void*, const char*, const char*)));
TYPE(DLPackManagedTensorFromPyObjectNoSync, int (*)(void*, DLManagedTensorVersioned**));
TYPE(DLPackDLTensorFromPyObjectNoSync, int (*)(void*, DLTensor*));
TYPE(DLPackCurrentWorkStream, int (*)(DLDeviceType, int32_t, void**));
TYPE(DLPackManagedTensorToPyObjectNoSync, int (*)(DLManagedTensorVersioned*, void**));

SIZE(DLPackExchangeAPIHeader, 16, 8);
FIELD(DLPackExchangeAPIHeader, version, 0, DLPackVersion);
FIELD(DLPackExchangeAPIHeader, prev_api, 8, DLPackExchangeAPIHeader*);

SIZE(DLPackExchangeAPI, 56, 8);
FIELD(DLPackExchangeAPI, header, 0, DLPackExchangeAPIHeader);
FIELD(DLPackExchangeAPI, managed_tensor_allocator, 16, DLPackManagedTensorAllocator);
FIELD(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, 24,
      DLPackManagedTensorFromPyObjectNoSync);
FIELD(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, 32,
      DLPackManagedTensorToPyObjectNoSync);
FIELD(DLPackExchangeAPI, dltensor_from_py_object_no_sync, 40, DLPackDLTensorFromPyObjectNoSync);
FIELD(DLPackExchangeAPI, current_work_stream, 48, DLPackCurrentWorkStream);

VALUE(DLPACK_FLAG_BITMASK_READ_ONLY, 1);
VALUE(DLPACK_FLAG_BITMASK_IS_COPIED, 2);
VALUE(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, 4);

VALUE(kDLCPU, 1);
VALUE(kDLCUDA, 2);
VALUE(kDLCUDAHost, 3);
VALUE(kDLOpenCL, 4);
VALUE(kDLVulkan, 7);
VALUE(kDLMetal, 8);
VALUE(kDLVPI, 9);
VALUE(kDLROCM, 10);
VALUE(kDLROCMHost, 11);
VALUE(kDLExtDev, 12);
VALUE(kDLCUDAManaged, 13);
VALUE(kDLOneAPI, 14);
VALUE(kDLWebGPU, 15);
VALUE(kDLHexagon, 16);
VALUE(kDLMAIA, 17);
VALUE(kDLTrn, 18);
VALUE(kDLTPU, 19);
VALUE(kDLTPUHost, 20);
VALUE(kDLAscend, 21);

VALUE(kDLInt, 0);
VALUE(kDLUInt, 1);
VALUE(kDLFloat, 2);
VALUE(kDLOpaqueHandle, 3);
VALUE(kDLBfloat, 4);
VALUE(kDLComplex, 5);
VALUE(kDLBool, 6);
VALUE(kDLFloat8_e3m4, 7);
VALUE(kDLFloat8_e4m3, 8);
VALUE(kDLFloat8_e4m3b11fnuz, 9);
VALUE(kDLFloat8_e4m3fn, 10);
VALUE(kDLFloat8_e4m3fnuz, 11);
VALUE(kDLFloat8_e5m2, 12);
VALUE(kDLFloat8_e5m2fnuz, 13);
VALUE(kDLFloat8_e8m0fnu, 14);
VALUE(kDLFloat6_e2m3fn, 15);
VALUE(kDLFloat6_e3m2fn, 16);
VALUE(kDLFloat4_e2m1fn, 17);
VALUE(kDLBcomplex, 18);
