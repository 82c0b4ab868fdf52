/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Converts between ONNX Runtime's OrtValue and managed tensors, without copying elements. ONNX Runtime's
 * C API has no DLPack. All functions are inline: nothing but dlbridge is linked, and ONNX Runtime is
 * called through the OrtApi that the caller gives. C99 and C++11; ONNX Runtime 1.22 or later.
 *
 * A tensor of an OrtValue keeps the OrtValue, and an OrtValue of a tensor keeps the tensor, until its
 * last owner is gone; that may be on a thread of ONNX Runtime. Its OrtEnv must outlive both.
 * \since 0.4.0
 */
#ifndef DLBRIDGE_ONNXRUNTIME_API_H_
#define DLBRIDGE_ONNXRUNTIME_API_H_

#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dlbridge/dlbridge.h"

#if ORT_API_VERSION < 22
#error "dlbridge/onnxruntime_api.h: expected the headers of ONNX Runtime 1.22 or later"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A dtype of ONNX (TensorProto.DataType) and of DLPack. */
typedef struct DLBridgeOrtDType_ {
  int32_t onnx;
  DLDataType dtype;
} DLBridgeOrtDType_;

/* The rows of dtypes, by index; {0, ...} past the last. Strings have no row, nor have complex numbers,
 * of which ONNX Runtime makes no tensors. Some enumerators are newer than the oldest header that is
 * supported, so all are numbers. */
static inline DLBridgeOrtDType_ dlbridge_ort_row_(size_t index) {
  static const DLBridgeOrtDType_ rows[] = {
      {1, {kDLFloat, 32, 1}},         {2, {kDLUInt, 8, 1}},           {3, {kDLInt, 8, 1}},
      {4, {kDLUInt, 16, 1}},          {5, {kDLInt, 16, 1}},           {6, {kDLInt, 32, 1}},
      {7, {kDLInt, 64, 1}},           {9, {kDLBool, 8, 1}},           {10, {kDLFloat, 16, 1}},
      {11, {kDLFloat, 64, 1}},        {12, {kDLUInt, 32, 1}},         {13, {kDLUInt, 64, 1}},
      {16, {kDLBfloat, 16, 1}},       {17, {kDLFloat8_e4m3fn, 8, 1}}, {18, {kDLFloat8_e4m3fnuz, 8, 1}},
      {19, {kDLFloat8_e5m2, 8, 1}},   {20, {kDLFloat8_e5m2fnuz, 8, 1}},
      {21, {kDLUInt, 4, 1}},          {22, {kDLInt, 4, 1}},           {23, {kDLFloat4_e2m1fn, 4, 1}},
      {24, {kDLUInt, 2, 1}},          {25, {kDLInt, 2, 1}},           {0, {0, 0, 0}}};
  const size_t last = sizeof rows / sizeof rows[0] - 1;
  return rows[index < last ? index : last];
}

/* A name of OrtMemoryInfo and the device type that it is; {NULL, ...} past the last. */
typedef struct DLBridgeOrtMemory_ {
  const char* name;
  DLDeviceType device_type;
  OrtMemType kind;
} DLBridgeOrtMemory_;

static inline DLBridgeOrtMemory_ dlbridge_ort_memory_(size_t index) {
  static const DLBridgeOrtMemory_ rows[] = {{"Cpu", kDLCPU, OrtMemTypeDefault},
                                            {"Cuda", kDLCUDA, OrtMemTypeDefault},
                                            {"CudaPinned", kDLCUDAHost, OrtMemTypeCPUOutput},
                                            {NULL, kDLCPU, OrtMemTypeDefault}};
  const size_t last = sizeof rows / sizeof rows[0] - 1;
  return rows[index < last ? index : last];
}

/** The dtype of elements of an OrtValue; {0, 0, 0} for strings, complex numbers and types newer
 * than this header. \since 0.4.0 */
static inline DLDataType dlbridge_dtype_ort(ONNXTensorElementDataType type) {
  size_t i = 0;
  while (dlbridge_ort_row_(i).onnx != 0 && dlbridge_ort_row_(i).onnx != (int32_t)type) ++i;
  return dlbridge_ort_row_(i).dtype;
}

/** The type of elements in an OrtValue; ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED if it has none.
 * \since 0.4.0 */
static inline ONNXTensorElementDataType dlbridge_ort_dtype(DLDataType dtype) {
  for (size_t i = 0;; ++i) {
    const DLBridgeOrtDType_ row = dlbridge_ort_row_(i);
    if (row.onnx == 0 || (row.dtype.code == dtype.code && row.dtype.bits == dtype.bits &&
                          row.dtype.lanes == dtype.lanes)) {
      return (ONNXTensorElementDataType)row.onnx;
    }
  }
}

/* Writes an error; `error` may be NULL. Returns the status. */
static inline DLBridgeStatus dlbridge_ort_reject_(DLBridgeError* error, DLBridgeStatus status,
                                                  int32_t native_code, const char* text,
                                                  const char* found) {
  if (error != NULL) {
    memset(error, 0, sizeof *error);
    error->status = status;
    error->axis = -1;
    error->native_code = native_code;
    snprintf(error->message, sizeof error->message, "%s%s", text, found);
  }
  return status;
}

/* Turns a failure of ONNX Runtime into an error and releases it; NULL is success. */
static inline DLBridgeStatus dlbridge_ort_check_(const OrtApi* api, OrtStatus* failure,
                                                 DLBridgeError* error) {
  DLBridgeStatus status = DLBRIDGE_OK;
  if (failure != NULL) {
    status = dlbridge_ort_reject_(error, DLBRIDGE_ERROR_DRIVER, (int32_t)api->GetErrorCode(failure),
                                  "ONNX Runtime: ", api->GetErrorMessage(failure));
    api->ReleaseStatus(failure);
  }
  return status;
}

/* What a tensor of an OrtValue keeps. */
typedef struct DLBridgeOrtKept_ {
  const OrtApi* api;
  OrtValue* value;
} DLBridgeOrtKept_;

static inline void dlbridge_ort_let_go_(void* context, const DLBridgeBuffer* buffer,
                                        const struct DLBridgeStream* stream) {
  DLBridgeOrtKept_* kept = (DLBridgeOrtKept_*)context;
  (void)buffer;
  (void)stream;
  kept->api->ReleaseValue(kept->value);
  free(kept);
}

/* Where the elements of a value are. */
static inline DLBridgeStatus dlbridge_ort_device_(const OrtApi* api, const OrtValue* value,
                                                  DLDevice* device, DLBridgeError* error) {
  const OrtMemoryInfo* memory = NULL;
  const char* name = NULL;
  int id = 0;
  size_t i = 0;
  DLBridgeStatus status =
      dlbridge_ort_check_(api, api->GetTensorMemoryInfo(value, &memory), error);
  if (status == DLBRIDGE_OK) {
    status = dlbridge_ort_check_(api, api->MemoryInfoGetName(memory, &name), error);
  }
  if (status == DLBRIDGE_OK) {
    status = dlbridge_ort_check_(api, api->MemoryInfoGetId(memory, &id), error);
  }
  if (status != DLBRIDGE_OK) {
    return status;
  }
  while (dlbridge_ort_memory_(i).name != NULL && strcmp(dlbridge_ort_memory_(i).name, name) != 0) ++i;
  if (dlbridge_ort_memory_(i).name == NULL) {
    return dlbridge_ort_reject_(error, DLBRIDGE_ERROR_UNSUPPORTED, 0,
                                "expected an OrtValue in memory named Cpu, Cuda or CudaPinned (copy it "
                                "there with IoBinding), found memory named ",
                                name);
  }
  device->device_type = dlbridge_ort_memory_(i).device_type;
  device->device_id = device->device_type == kDLCUDA ? id : 0;
  return DLBRIDGE_OK;
}

/* Reads dtype and shape of a tensor; `shape` has room for DLBRIDGE_MAX_NDIM extents. */
static inline DLBridgeStatus dlbridge_ort_shape_(const OrtApi* api, const OrtValue* value,
                                                 DLBridgeWrapSpec* spec, int64_t* shape,
                                                 DLBridgeError* error) {
  OrtTensorTypeAndShapeInfo* info = NULL;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t ndim = 0;
  DLBridgeStatus status =
      dlbridge_ort_check_(api, api->GetTensorTypeAndShape(value, &info), error);
  if (status != DLBRIDGE_OK) {
    return status;
  }
  status = dlbridge_ort_check_(api, api->GetTensorElementType(info, &type), error);
  if (status == DLBRIDGE_OK) {
    status = dlbridge_ort_check_(api, api->GetDimensionsCount(info, &ndim), error);
  }
  if (status == DLBRIDGE_OK && ndim > DLBRIDGE_MAX_NDIM) {
    status = dlbridge_ort_reject_(error, DLBRIDGE_ERROR_UNSUPPORTED, 0,
                                  "expected an OrtValue with at most 64 axes, found more", "");
  }
  if (status == DLBRIDGE_OK) {
    status = dlbridge_ort_check_(api, api->GetDimensions(info, shape, ndim), error);
  }
  api->ReleaseTensorTypeAndShapeInfo(info);
  spec->shape = shape;
  spec->ndim = (int32_t)ndim;
  spec->dtype = dlbridge_dtype_ort(type);
  if (status == DLBRIDGE_OK && spec->dtype.bits == 0) {
    return dlbridge_ort_reject_(error, DLBRIDGE_ERROR_UNSUPPORTED, 0,
                                "expected an OrtValue of numbers or bools, found ",
                                type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING
                                    ? "strings, which DLPack cannot describe"
                                    : "an element type that this header does not know");
  }
  return status;
}

/** Makes a tensor of the elements of `value`, on the CPU, in memory of CUDA, or in CUDA's pinned memory.
 * An OrtValue does not record whether it may be written to: it may share its memory with an input or
 * a constant of the model. So the tensor is READ_ONLY unless `options` is
 * DLBRIDGE_CONVERT_VOUCH_WRITABLE; else 0. No stream is waited for: on CUDA, synchronize the work that
 * writes `value` first. Success: `value` belongs to the tensor, and `*out` is dlbridge-owned. Failure:
 * `value` is the caller's; UNSUPPORTED for strings, sequences, maps and sparse tensors and for other
 * memory; DRIVER with the code and message of ONNX Runtime; any error of dlbridge_wrap. \since 0.4.0 */
static inline DLBridgeStatus dlbridge_import_ort(const OrtApi* api, OrtValue* value, uint32_t options,
                                                 DLManagedTensorVersioned** out,
                                                 DLBridgeError* error) {
  int64_t shape[DLBRIDGE_MAX_NDIM];
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  DLBridgeOrtKept_* kept = NULL;
  void* data = NULL;
  int is_tensor = 0;
  DLBridgeStatus status;
  if (api == NULL || value == NULL || out == NULL) {
    return dlbridge_ort_reject_(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, 0,
                                "api, value and out must not be NULL", "");
  }
  if ((options & ~(uint32_t)DLBRIDGE_CONVERT_VOUCH_WRITABLE) != 0) {
    return dlbridge_ort_reject_(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, 0,
                                "options: expected 0 or DLBRIDGE_CONVERT_VOUCH_WRITABLE", "");
  }
  status = dlbridge_ort_check_(api, api->IsTensor(value, &is_tensor), error);
  if (status == DLBRIDGE_OK && !is_tensor) {
    status = dlbridge_ort_reject_(error, DLBRIDGE_ERROR_UNSUPPORTED, 0,
                                  "expected an OrtValue that is a dense tensor; take the elements of a "
                                  "sequence or map with OrtApi::GetValue",
                                  "");
  }
  if (status == DLBRIDGE_OK) status = dlbridge_ort_shape_(api, value, &spec, shape, error);
  if (status == DLBRIDGE_OK) status = dlbridge_ort_device_(api, value, &spec.device, error);
  if (status == DLBRIDGE_OK) {
    status = dlbridge_ort_check_(api, api->GetTensorMutableData(value, &data), error);
  }
  if (status != DLBRIDGE_OK) {
    return status;
  }
  kept = (DLBridgeOrtKept_*)malloc(sizeof *kept);
  if (kept == NULL) {
    return dlbridge_ort_reject_(error, DLBRIDGE_ERROR_OUT_OF_MEMORY, 0, "out of memory", "");
  }
  kept->api = api;
  kept->value = value;
  spec.buffer = dlbridge_buffer_address(data);
  spec.tensor_flags =
      (options & DLBRIDGE_CONVERT_VOUCH_WRITABLE) != 0 ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
  spec.release = dlbridge_ort_let_go_;
  spec.release_context = kept;
  status = dlbridge_wrap(&spec, out, error);
  if (status != DLBRIDGE_OK) free(kept);
  return status;
}

/* What an OrtValue keeps: the allocator whose Free ends its memory, first. */
typedef struct DLBridgeOrtOwner_ {
  OrtAllocator allocator;
  const OrtApi* api;
  OrtMemoryInfo* memory;
  DLManagedTensorVersioned* tensor; /* NULL until the OrtValue exists */
} DLBridgeOrtOwner_;

static inline void dlbridge_ort_end_(DLBridgeOrtOwner_* owner) {
  owner->api->ReleaseMemoryInfo(owner->memory);
  free(owner);
}

/* OrtAllocator::Free, which ONNX Runtime calls once, when the last OrtValue of the memory is gone. A
 * failing call may do so, too, before there is an OrtValue: its caller then ends the owner. */
static inline void ORT_API_CALL dlbridge_ort_free_(OrtAllocator* self, void* data) {
  DLBridgeOrtOwner_* owner = (DLBridgeOrtOwner_*)(void*)self;
  (void)data;
  if (owner->tensor != NULL) {
    dlbridge_release_versioned(owner->tensor);
    dlbridge_ort_end_(owner);
  }
}

static inline const OrtMemoryInfo* ORT_API_CALL dlbridge_ort_info_(const OrtAllocator* self) {
  return ((const DLBridgeOrtOwner_*)(const void*)self)->memory;
}

static inline void* ORT_API_CALL dlbridge_ort_allocate_(OrtAllocator* self, size_t size) {
  (void)self;
  (void)size;
  return NULL;
}

/* Checks that ONNX Runtime can use the tensor: it knows no strides, and elements are aligned. */
static inline DLBridgeStatus dlbridge_ort_validate_(const DLManagedTensorVersioned* tensor,
                                                    uint32_t options, DLBridgeError* error) {
  static const DLDevice devices[] = {{kDLCPU, -1}, {kDLCUDA, -1}, {kDLCUDAHost, -1}};
  DLDataType dtypes[32];
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  const DLDataType dtype = tensor->dl_tensor.dtype;
  DLBridgeStatus status;
  policy.options = DLBRIDGE_POLICY_REJECT_UNKNOWN_FLAGS;
  if ((options & DLBRIDGE_CONVERT_DROP_READ_ONLY) == 0) {
    policy.options |= DLBRIDGE_POLICY_REQUIRE_WRITABLE;
  }
  policy.contiguity = DLBRIDGE_CONTIGUITY_C;
  policy.devices = devices;
  policy.device_count = sizeof devices / sizeof devices[0];
  policy.dtypes = dtypes;
  while (dlbridge_ort_row_(policy.dtype_count).onnx != 0) {
    dtypes[policy.dtype_count] = dlbridge_ort_row_(policy.dtype_count).dtype;
    ++policy.dtype_count;
  }
  policy.alignment = dtype.bits >= 64 ? 8 : dtype.bits >= 32 ? 4 : dtype.bits >= 16 ? 2 : 1;
  status = dlbridge_validate_versioned(tensor, &policy, error);
  if (status == DLBRIDGE_OK && (tensor->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0 &&
      dtype.bits < 8) {
    return dlbridge_ort_reject_(error, DLBRIDGE_ERROR_UNSUPPORTED, 0,
                                "expected packed elements of less than a byte, found padded ones; pack "
                                "them with dlbridge_copy",
                                "");
  }
  return status;
}

/* Makes an owner without a tensor, for memory of a device that dlbridge_ort_validate_ has accepted. */
static inline DLBridgeStatus dlbridge_ort_owner_(const OrtApi* api, DLDevice device,
                                                 DLBridgeOrtOwner_** out, DLBridgeError* error) {
  DLBridgeOrtOwner_* owner = (DLBridgeOrtOwner_*)calloc(1, sizeof *owner);
  DLBridgeOrtMemory_ row = dlbridge_ort_memory_(0);
  DLBridgeStatus status;
  if (owner == NULL) {
    return dlbridge_ort_reject_(error, DLBRIDGE_ERROR_OUT_OF_MEMORY, 0, "out of memory", "");
  }
  for (size_t i = 1; row.device_type != device.device_type; ++i) row = dlbridge_ort_memory_(i);
  owner->allocator.version = ORT_API_VERSION;
  owner->allocator.Alloc = dlbridge_ort_allocate_;
  owner->allocator.Free = dlbridge_ort_free_;
  owner->allocator.Info = dlbridge_ort_info_;
  owner->api = api;
  status = dlbridge_ort_check_(api,
                               api->CreateMemoryInfo(row.name, OrtDeviceAllocator, device.device_id,
                                                     row.kind, &owner->memory),
                               error);
  if (status != DLBRIDGE_OK) {
    free(owner);
    return status;
  }
  *out = owner;
  return DLBRIDGE_OK;
}

/** Makes an OrtValue of the elements of `tensor`, which must be compact (C order), aligned, of a dtype
 * of ONNX, and on the CPU, on CUDA or in CUDA's pinned memory; dlbridge_copy makes such a copy. Any
 * managed tensor becomes a versioned one by dlbridge_import first. An OrtValue cannot record READ_ONLY:
 * such a tensor is rejected (NOT_WRITABLE) unless `options` is DLBRIDGE_CONVERT_DROP_READ_ONLY, for a
 * value that is only an input: ONNX Runtime does not write to inputs. Else 0. No stream is waited for.
 * Success: `tensor` belongs to `*out` and is released with the last owner of its memory; `*out` is the
 * caller's (OrtApi::ReleaseValue). `api` must stay valid until then. Failure: `tensor` is the caller's.
 * Any tensor error; UNSUPPORTED; OUT_OF_MEMORY; DRIVER with the code and message of ONNX Runtime.
 * \since 0.4.0 */
static inline DLBridgeStatus dlbridge_export_ort(const OrtApi* api, DLManagedTensorVersioned* tensor,
                                                 uint32_t options, OrtValue** out,
                                                 DLBridgeError* error) {
  DLBridgeLayout layout;
  DLBridgeOrtOwner_* owner = NULL;
  OrtValue* value = NULL;
  const DLTensor* view = NULL;
  DLBridgeStatus status;
  if (api == NULL || tensor == NULL || out == NULL) {
    return dlbridge_ort_reject_(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, 0,
                                "api, tensor and out must not be NULL", "");
  }
  if ((options & ~(uint32_t)DLBRIDGE_CONVERT_DROP_READ_ONLY) != 0) {
    return dlbridge_ort_reject_(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, 0,
                                "options: expected 0 or DLBRIDGE_CONVERT_DROP_READ_ONLY", "");
  }
  view = &tensor->dl_tensor;
  layout = dlbridge_layout_init();
  status = dlbridge_ort_validate_(tensor, options, error);
  if (status == DLBRIDGE_OK) status = dlbridge_layout(view, tensor->flags, &layout, error);
  if (status == DLBRIDGE_OK) status = dlbridge_ort_owner_(api, view->device, &owner, error);
  if (status != DLBRIDGE_OK) {
    return status;
  }
  /* An empty tensor may have no data, and ONNX Runtime calls Free for an address only. */
  status = dlbridge_ort_check_(
      api,
      api->CreateTensorWithDataAndDeleterAsOrtValue(
          &owner->allocator,
          layout.packed_bytes != 0 ? (void*)((char*)view->data + view->byte_offset) : (void*)owner,
          (size_t)layout.packed_bytes, view->shape, (size_t)view->ndim, dlbridge_ort_dtype(view->dtype),
          &value),
      error);
  if (status != DLBRIDGE_OK) {
    dlbridge_ort_end_(owner);
    return status;
  }
  owner->tensor = tensor;
  *out = value;
  return DLBRIDGE_OK;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_ONNXRUNTIME_API_H_ */
