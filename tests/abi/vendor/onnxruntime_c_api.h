/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's types that onnxruntime_api.h names, for tests/abi/api.py and tests/headers. */
#include <stddef.h>
#include <stdint.h>

#define ORT_API_VERSION 22
#define ORT_API_CALL

typedef struct OrtStatus OrtStatus;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtValue OrtValue;
typedef enum ONNXTensorElementDataType {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING = 8
} ONNXTensorElementDataType;
typedef enum OrtErrorCode { ORT_OK } OrtErrorCode;
typedef enum OrtAllocatorType { OrtDeviceAllocator = 0 } OrtAllocatorType;
typedef enum OrtMemType { OrtMemTypeCPUOutput = -1, OrtMemTypeDefault = 0 } OrtMemType;

typedef struct OrtAllocator {
  uint32_t version;
  void* (*Alloc)(struct OrtAllocator* self, size_t size);
  void (*Free)(struct OrtAllocator* self, void* data);
  const OrtMemoryInfo* (*Info)(const struct OrtAllocator* self);
} OrtAllocator;

typedef struct OrtApi {
  OrtErrorCode (*GetErrorCode)(const OrtStatus* status);
  const char* (*GetErrorMessage)(const OrtStatus* status);
  void (*ReleaseStatus)(OrtStatus* status);
  void (*ReleaseValue)(OrtValue* value);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo* memory);
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo* info);
  OrtStatus* (*IsTensor)(const OrtValue* value, int* out);
  OrtStatus* (*GetTensorMutableData)(OrtValue* value, void** out);
  OrtStatus* (*GetTensorMemoryInfo)(const OrtValue* value, const OrtMemoryInfo** out);
  OrtStatus* (*MemoryInfoGetName)(const OrtMemoryInfo* memory, const char** out);
  OrtStatus* (*MemoryInfoGetId)(const OrtMemoryInfo* memory, int* out);
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue* value, OrtTensorTypeAndShapeInfo** out);
  OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo* info,
                                     ONNXTensorElementDataType* out);
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo* info, size_t* out);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo* info, int64_t* shape, size_t ndim);
  OrtStatus* (*CreateMemoryInfo)(const char* name, OrtAllocatorType type, int id, OrtMemType kind,
                                 OrtMemoryInfo** out);
  OrtStatus* (*CreateTensorWithDataAndDeleterAsOrtValue)(OrtAllocator* deleter, void* data,
                                                         size_t size, const int64_t* shape,
                                                         size_t ndim,
                                                         ONNXTensorElementDataType type,
                                                         OrtValue** out);
} OrtApi;
