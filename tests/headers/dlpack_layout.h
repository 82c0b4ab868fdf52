/*
 * SPDX-License-Identifier: Apache-2.0
 * The facts of DLPack, which the compiler checks against the dlpack.h that was included before.
 * DLPACK_FACTS is the newest release that this header claims to describe, as major * 100 + minor;
 * 199 adds what upstream has added after the newest release. C11 and C++11.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define FACT(condition) static_assert(condition, #condition)
#define ALIGN(type) alignof(type)
#else
#define FACT(condition) _Static_assert(condition, #condition)
#define ALIGN(type) _Alignof(type)
#endif
#define SIZE(type, size, align) FACT(sizeof(type) == (size) && ALIGN(type) == (align))
#define FIELD(type, field, offset, size) \
  FACT(offsetof(type, field) == (offset) && sizeof(((type*)0)->field) == (size))
#define VALUE(name, value) FACT((name) == (value))

SIZE(DLDevice, 8, 4);
FIELD(DLDevice, device_type, 0, 4);
FIELD(DLDevice, device_id, 4, 4);

SIZE(DLDataType, 4, 2);
FIELD(DLDataType, code, 0, 1);
FIELD(DLDataType, bits, 1, 1);
FIELD(DLDataType, lanes, 2, 2);

SIZE(DLTensor, 48, 8);
FIELD(DLTensor, data, 0, 8);
FIELD(DLTensor, device, 8, 8);
FIELD(DLTensor, ndim, 16, 4);
FIELD(DLTensor, dtype, 20, 4);
FIELD(DLTensor, shape, 24, 8);
FIELD(DLTensor, strides, 32, 8);
FIELD(DLTensor, byte_offset, 40, 8);

SIZE(DLManagedTensor, 64, 8);
FIELD(DLManagedTensor, dl_tensor, 0, 48);
FIELD(DLManagedTensor, manager_ctx, 48, 8);
FIELD(DLManagedTensor, deleter, 56, 8);

/* 1.0 and 1.1 declare the versioned struct with a tag only, which matters in C. */
#if DLPACK_FACTS >= 100
SIZE(DLPackVersion, 8, 4);
FIELD(DLPackVersion, major, 0, 4);
FIELD(DLPackVersion, minor, 4, 4);

SIZE(struct DLManagedTensorVersioned, 80, 8);
FIELD(struct DLManagedTensorVersioned, version, 0, 8);
FIELD(struct DLManagedTensorVersioned, manager_ctx, 8, 8);
FIELD(struct DLManagedTensorVersioned, deleter, 16, 8);
FIELD(struct DLManagedTensorVersioned, flags, 24, 8);
FIELD(struct DLManagedTensorVersioned, dl_tensor, 32, 48);
#endif

#if DLPACK_FACTS >= 102
SIZE(DLPackExchangeAPIHeader, 16, 8);
FIELD(DLPackExchangeAPIHeader, version, 0, 8);
FIELD(DLPackExchangeAPIHeader, prev_api, 8, 8);

SIZE(DLPackExchangeAPI, 56, 8);
FIELD(DLPackExchangeAPI, header, 0, 16);
FIELD(DLPackExchangeAPI, managed_tensor_allocator, 16, 8);
FIELD(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync, 24, 8);
FIELD(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync, 32, 8);
FIELD(DLPackExchangeAPI, dltensor_from_py_object_no_sync, 40, 8);
FIELD(DLPackExchangeAPI, current_work_stream, 48, 8);
#endif

/* [facts/dlpack.toml] */
VALUE(kDLCPU, 1);
VALUE(kDLCUDA, 2);
VALUE(kDLCUDAHost, 3);
VALUE(kDLOpenCL, 4);
VALUE(kDLMetal, 8);
VALUE(kDLVPI, 9);
VALUE(kDLROCM, 10);
VALUE(kDLInt, 0);
VALUE(kDLUInt, 1);
VALUE(kDLFloat, 2);
VALUE(kDLVulkan, 7);
VALUE(kDLExtDev, 12);
VALUE(kDLBfloat, 4);
VALUE(kDLOpaqueHandle, 3);
VALUE(kDLComplex, 5);
VALUE(kDLROCMHost, 11);
VALUE(kDLCUDAManaged, 13);
#if DLPACK_FACTS >= 7
VALUE(kDLOneAPI, 14);
VALUE(kDLWebGPU, 15);
VALUE(kDLHexagon, 16);
#endif
#if DLPACK_FACTS >= 8
VALUE(kDLBool, 6);
#endif
#if DLPACK_FACTS >= 100
VALUE(kDLMAIA, 17);
VALUE(DLPACK_FLAG_BITMASK_READ_ONLY, 1);
VALUE(DLPACK_FLAG_BITMASK_IS_COPIED, 2);
#endif
#if DLPACK_FACTS >= 101
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
VALUE(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, 4);
#endif
#if DLPACK_FACTS >= 102
VALUE(kDLTrn, 18);
#endif
#if DLPACK_FACTS >= 199
VALUE(kDLTPU, 19);
VALUE(kDLTPUHost, 20);
VALUE(kDLAscend, 21);
VALUE(kDLBcomplex, 18);
#endif
/* [/facts] */
