/*
 * SPDX-License-Identifier: Apache-2.0
 * DLPack's structs and constants in this project's own words.
 *
 * The names, values and layouts are the public facts of DLPack's newest release and of the constants
 * that upstream has added since. This header carries the official header's include guard, so that one
 * program can include both in either order:
 *
 *  - this one first: the official header finds its guard set and adds nothing;
 *  - an official one first (0.6 or later): this header adds only the items that version lacks. Missing
 *    enumerators are added as anonymous enumerations: the same names and values, of
 *    another type in C++. Upstream added constants after the newest release without a new version
 *    number, so an official header of that release may or may not have them. They are not added then:
 *    use the integer.
 *
 * All layouts are those of 64-bit little-endian targets; other targets are a compile-time error.
 */
#ifndef DLBRIDGE_DLPACK_H_
#define DLBRIDGE_DLPACK_H_

#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "dlbridge supports 64-bit targets only"
#endif
#if defined(__BYTE_ORDER__) && defined(__ORDER_LITTLE_ENDIAN__) && \
    __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "dlbridge supports little-endian targets only"
#endif

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

/* [facts/dlpack.toml version] */
/* Newest DLPack release that this file describes. */
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3
/* [/facts] */

/* Code written for the official header may use these two. */
#ifdef __cplusplus
#define DLPACK_EXTERN_C extern "C"
#else
#define DLPACK_EXTERN_C
#endif
#ifndef DLPACK_DLL
#define DLPACK_DLL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Kind of device that `DLTensor::data` belongs to. 5 and 6 were never assigned.
 * Foreign code may store any integer here: read the field with memcpy, and give every switch a
 * default. */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  /* [facts/devices.toml] */
  kDLCPU = 1,          /* Host memory */
  kDLCUDA = 2,         /* NVIDIA GPU memory */
  kDLCUDAHost = 3,     /* Host memory pinned by CUDA */
  kDLOpenCL = 4,       /* An OpenCL cl_mem, a handle */
  kDLVulkan = 7,       /* Vulkan buffer handle; since 0.3 */
  kDLMetal = 8,        /* Metal buffer handle */
  kDLVPI = 9,          /* Simulator buffer handle */
  kDLROCM = 10,        /* AMD GPU memory */
  kDLROCMHost = 11,    /* Host memory pinned by ROCm; since 0.6 */
  kDLExtDev = 12,      /* Reserved for extension devices; since 0.3 */
  kDLCUDAManaged = 13, /* CUDA managed memory, host and device; since 0.6 */
  kDLOneAPI = 14,      /* Unified shared memory of oneAPI; since 0.7 */
  kDLWebGPU = 15,      /* WebGPU buffer handle; since 0.7 */
  kDLHexagon = 16,     /* Qualcomm Hexagon; since 0.7 */
  kDLMAIA = 17,        /* Microsoft MAIA; since 1.0 */
  kDLTrn = 18,         /* AWS Trainium; since 1.2 */
  kDLTPU = 19,         /* Google TPU; in no release yet */
  kDLTPUHost = 20,     /* Host memory pinned for TPU; in no release yet */
  kDLAscend = 21       /* Huawei Ascend; in no release yet */
  /* [/facts] */
} DLDeviceType;

/* Which device. `device_id` is 0 for CPU, pinned and managed memory. */
typedef struct {
  DLDeviceType device_type; /* offset 0, 32 bits */
  int32_t device_id;        /* offset 4; 0 is the first device */
} DLDevice;

/* Kind of one lane of an element; its width is `DLDataType::bits`. */
typedef enum {
  /* [facts/dtypes.toml] */
  kDLInt = 0U,                /* Signed integer, two's complement */
  kDLUInt = 1U,               /* Unsigned integer */
  kDLFloat = 2U,              /* IEEE 754 binary */
  kDLOpaqueHandle = 3U,       /* Opaque handle; since 0.4 */
  kDLBfloat = 4U,             /* Bfloat16; since 0.3 */
  kDLComplex = 5U,            /* Complex: `bits` counts both parts; since 0.4 */
  kDLBool = 6U,               /* Boolean in one byte; since 0.8 */
  kDLFloat8_e3m4 = 7U,        /* Eight bits; since 1.1 */
  kDLFloat8_e4m3 = 8U,        /* Eight bits; since 1.1 */
  kDLFloat8_e4m3b11fnuz = 9U, /* Eight bits; since 1.1 */
  kDLFloat8_e4m3fn = 10U,     /* Eight bits; since 1.1 */
  kDLFloat8_e4m3fnuz = 11U,   /* Eight bits; since 1.1 */
  kDLFloat8_e5m2 = 12U,       /* Eight bits; since 1.1 */
  kDLFloat8_e5m2fnuz = 13U,   /* Eight bits; since 1.1 */
  kDLFloat8_e8m0fnu = 14U,    /* Eight bits; since 1.1 */
  kDLFloat6_e2m3fn = 15U,     /* Six bits, packed unless flagged as padded; since 1.1 */
  kDLFloat6_e3m2fn = 16U,     /* Six bits, packed unless flagged as padded; since 1.1 */
  kDLFloat4_e2m1fn = 17U,     /* Four bits, packed unless flagged as padded; since 1.1 */
  kDLBcomplex = 18U           /* Complex of two bfloats; in no release yet */
  /* [/facts] */
} DLDataTypeCode;

/* Type of one element: `lanes` values of `bits` bits each. */
typedef struct {
  uint8_t code;   /* offset 0: a DLDataTypeCode */
  uint8_t bits;   /* offset 1: width of one lane in bits */
  uint16_t lanes; /* offset 2: lanes per element, 1 for plain types */
} DLDataType;

/* A strided array without an owner. Element (0,...,0) is at `data + byte_offset`. */
typedef struct {
  void* data;          /* offset 0: address, or an opaque handle on OpenCL, Vulkan, Metal, VPI, WebGPU */
  DLDevice device;     /* offset 8 */
  int32_t ndim;        /* offset 16: number of axes */
  DLDataType dtype;    /* offset 20 */
  int64_t* shape;      /* offset 24: `ndim` extents; may be NULL when ndim is 0 */
  int64_t* strides;    /* offset 32: `ndim` strides in elements; NULL means compact row-major,
                          which versioned tensors of 1.2 and later must not use when ndim is not 0 */
  uint64_t byte_offset; /* offset 40: bytes from `data` to element (0,...,0) */
} DLTensor;

/* The legacy exchange struct, of DLPack before 1.0: no version, no flags. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor; /* offset 0 */
  void* manager_ctx;  /* offset 48: for the producer's use */
  /* Offset 56: frees the data and this struct. Called once, on any thread; may be NULL. */
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

#ifdef __cplusplus
}
#endif

#else /* an official header came first */

/* Its version as one number: 100 * major + minor. 0.x has no DLPACK_MAJOR_VERSION but DLPACK_VERSION,
 * which is ten times the minor. */
#ifdef DLPACK_MAJOR_VERSION
#define DLBRIDGE_OFFICIAL_DLPACK_ (DLPACK_MAJOR_VERSION * 100 + DLPACK_MINOR_VERSION)
#else
#define DLBRIDGE_OFFICIAL_DLPACK_ (DLPACK_VERSION / 10)
#endif
#if DLBRIDGE_OFFICIAL_DLPACK_ < 6
#error "dlbridge: the dlpack.h included before this header is older than 0.6"
#endif

/* [facts/dlpack.toml added] */
#if DLBRIDGE_OFFICIAL_DLPACK_ < 7
enum { kDLOneAPI = 14, kDLWebGPU = 15, kDLHexagon = 16 };
#endif
#if DLBRIDGE_OFFICIAL_DLPACK_ < 8
enum { kDLBool = 6U };
#endif
#if DLBRIDGE_OFFICIAL_DLPACK_ < 100
enum { kDLMAIA = 17 };
#endif
#if DLBRIDGE_OFFICIAL_DLPACK_ < 101
enum {
  kDLFloat8_e3m4 = 7U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3b11fnuz = 9U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U,
  kDLFloat6_e2m3fn = 15U,
  kDLFloat6_e3m2fn = 16U,
  kDLFloat4_e2m1fn = 17U
};
#endif
#if DLBRIDGE_OFFICIAL_DLPACK_ < 102
enum { kDLTrn = 18 };
#endif
#if DLBRIDGE_OFFICIAL_DLPACK_ < 103
enum { kDLTPU = 19, kDLTPUHost = 20, kDLAscend = 21, kDLBcomplex = 18U };
#endif
/* [/facts] */

#endif /* DLPACK_DLPACK_H_ */

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of DLManagedTensorVersioned. */
/* [facts/dlpack.toml flags] */
/* The tensor must not be written to; since 1.0. */
#ifndef DLPACK_FLAG_BITMASK_READ_ONLY
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#endif
/* The producer has made a copy for this consumer; since 1.0. */
#ifndef DLPACK_FLAG_BITMASK_IS_COPIED
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#endif
/* Sub-byte elements are padded to whole bytes; since 1.1. */
#ifndef DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)
#endif
/* [/facts] */

#if !defined(DLBRIDGE_OFFICIAL_DLPACK_) || DLBRIDGE_OFFICIAL_DLPACK_ < 100
/* A DLPack version. A different major has a different layout; a higher minor only adds values. */
typedef struct {
  uint32_t major; /* offset 0 */
  uint32_t minor; /* offset 4 */
} DLPackVersion;

/* The exchange struct since 1.0. The fields up to and including `flags` have the same offsets in every
 * major, so a consumer can always call the deleter. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version; /* offset 0 */
  void* manager_ctx;     /* offset 8: for the producer's use */
  /* Offset 16: frees the data and this struct. Called once, on any thread; may be NULL. */
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;     /* offset 24: DLPACK_FLAG_BITMASK_* */
  DLTensor dl_tensor; /* offset 32 */
} DLManagedTensorVersioned;
#elif DLBRIDGE_OFFICIAL_DLPACK_ < 102 && !defined(__cplusplus)
/* 1.0 and 1.1 name the struct by its tag only. */
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;
#endif

#if !defined(DLBRIDGE_OFFICIAL_DLPACK_) || DLBRIDGE_OFFICIAL_DLPACK_ < 102
/* The C exchange API: a table that a Python type offers in `__dlpack_c_exchange_api__`. All its
 * functions return 0 on success; none of them synchronises streams. */

/* Allocates a tensor like `prototype`; calls `SetError` with `error_ctx` on failure. */
typedef int (*DLPackManagedTensorAllocator)(DLTensor* prototype, DLManagedTensorVersioned** out,
                                            void* error_ctx,
                                            void (*SetError)(void* error_ctx, const char* kind,
                                                             const char* message));
/* Exports a Python object; the caller owns `*out`. */
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void* py_object,
                                                     DLManagedTensorVersioned** out);
/* Fills `*out` with a borrowed tensor, which is valid as long as the Python object. */
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void* py_object, DLTensor* out);
/* Returns the stream that the framework uses now. */
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id,
                                       void** out_current_stream);
/* Imports a tensor; the new Python object owns it. */
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned* tensor,
                                                   void** out_py_object);

/* Start of every table, across majors. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;                    /* offset 0: of this table */
  struct DLPackExchangeAPIHeader* prev_api; /* offset 8: an older table, or NULL */
} DLPackExchangeAPIHeader;

/* The table of major 1. */
typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;                                              /* offset 0 */
  DLPackManagedTensorAllocator managed_tensor_allocator;                       /* offset 16 */
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync; /* offset 24 */
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;     /* offset 32 */
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync; /* offset 40: may be NULL */
  DLPackCurrentWorkStream current_work_stream;                      /* offset 48 */
} DLPackExchangeAPI;
#endif

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_DLPACK_H_ */
