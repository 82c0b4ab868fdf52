// SPDX-License-Identifier: Apache-2.0
// The typed veneer with the real ONNX Runtime.
#include "dlbridge/onnxruntime_api.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

const OrtApi* Api() {
  static const OrtApi* const api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  return api;
}

void Must(OrtStatus* status) { ASSERT_EQ(status, nullptr) << Api()->GetErrorMessage(status); }

// Elements of a test, and how often they were released.
struct Memory {
  alignas(16) std::uint8_t bytes[256] = {};
  int released = 0;
};

DLManagedTensorVersioned* Wrap(Memory* memory, DLDataType dtype, std::vector<std::int64_t> shape,
                               DLDevice device = {kDLCPU, 0}, std::uint64_t flags = 0,
                               const std::int64_t* strides = nullptr, std::uint64_t offset = 0) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.shape = shape.data();
  spec.ndim = static_cast<std::int32_t>(shape.size());
  spec.strides = strides;
  spec.byte_offset = offset;
  spec.buffer = dlbridge_buffer_address(memory->bytes);
  spec.device = device;
  spec.dtype = dtype;
  spec.tensor_flags = flags;
  spec.release = [](void* context, const DLBridgeBuffer*, const DLBridgeStream*) {
    ++static_cast<Memory*>(context)->released;
  };
  spec.release_context = memory;
  DLManagedTensorVersioned* tensor = nullptr;
  DLBridgeError error;
  EXPECT_EQ(dlbridge_wrap(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
  return tensor;
}

constexpr DLDataType kFloat32 = {kDLFloat, 32, 1};

OrtValue* Export(DLManagedTensorVersioned* tensor, std::uint32_t options = 0) {
  OrtValue* value = nullptr;
  DLBridgeError error;
  EXPECT_EQ(dlbridge_export_ort(Api(), tensor, options, &value, &error), DLBRIDGE_OK)
      << error.message;
  return value;
}

DLManagedTensorVersioned* Import(OrtValue* value, std::uint32_t options = 0) {
  DLManagedTensorVersioned* tensor = nullptr;
  DLBridgeError error;
  EXPECT_EQ(dlbridge_import_ort(Api(), value, options, &tensor, &error), DLBRIDGE_OK)
      << error.message;
  return tensor;
}

class Dtypes : public testing::TestWithParam<int> {};

TEST_P(Dtypes, GoThereAndBackInTheSameMemory) {
  const auto type = static_cast<ONNXTensorElementDataType>(GetParam());
  const DLDataType dtype = dlbridge_dtype_ort(type);
  ASSERT_NE(dtype.bits, 0);
  EXPECT_EQ(dlbridge_ort_dtype(dtype), type);
  Memory memory;
  DLManagedTensorVersioned* back = Import(Export(Wrap(&memory, dtype, {2, 8})));
  ASSERT_NE(back, nullptr);
  const DLTensor& tensor = back->dl_tensor;
  EXPECT_EQ(tensor.data, memory.bytes);
  EXPECT_EQ(tensor.ndim, 2);
  EXPECT_EQ(tensor.shape[0] * 10 + tensor.shape[1], 28);
  EXPECT_EQ(tensor.dtype.code, dtype.code);
  EXPECT_EQ(tensor.dtype.bits, dtype.bits);
  EXPECT_EQ(memory.released, 0);
  dlbridge_release_versioned(back);
  EXPECT_EQ(memory.released, 1);
}
INSTANTIATE_TEST_SUITE_P(Onnx, Dtypes,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20,
                                         21, 22, 23, 24, 25));

TEST(Shapes, ScalarsEmptyTensorsAndOffsets) {
  Memory memory;
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {0}, {2, 0, 3}, {1, 1, 1, 1, 1, 1}}) {
    memory.released = 0;
    DLManagedTensorVersioned* back = Import(Export(Wrap(&memory, kFloat32, shape)));
    ASSERT_NE(back, nullptr);
    const DLTensor& tensor = back->dl_tensor;
    EXPECT_EQ(std::vector<std::int64_t>(tensor.shape, tensor.shape + tensor.ndim), shape);
    dlbridge_release_versioned(back);
    EXPECT_EQ(memory.released, 1);
  }
  DLManagedTensorVersioned* back =
      Import(Export(Wrap(&memory, kFloat32, {3}, {kDLCPU, 0}, 0, nullptr, 64)));
  EXPECT_EQ(back->dl_tensor.data, memory.bytes + 64);
  dlbridge_release_versioned(back);
}

TEST(Devices, AreLabels) {
  for (const DLDevice device : {DLDevice{kDLCPU, 0}, {kDLCUDA, 3}, {kDLCUDAHost, 0}}) {
    Memory memory;
    DLManagedTensorVersioned* back = Import(Export(Wrap(&memory, kFloat32, {2}, device)));
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(back->dl_tensor.device.device_type, device.device_type);
    EXPECT_EQ(back->dl_tensor.device.device_id, device.device_id);
    dlbridge_release_versioned(back);
    EXPECT_EQ(memory.released, 1);
  }
}

TEST(Flags, AnOrtValueIsReadOnlyUnlessTheCallerVouches) {
  Memory memory;
  DLManagedTensorVersioned* tensor = Import(Export(Wrap(&memory, kFloat32, {2})));
  EXPECT_EQ(tensor->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  DLManagedTensorVersioned* writable =
      Import(Export(tensor, DLBRIDGE_CONVERT_DROP_READ_ONLY), DLBRIDGE_CONVERT_VOUCH_WRITABLE);
  EXPECT_EQ(writable->flags, 0U);
  dlbridge_release_versioned(writable);
  EXPECT_EQ(memory.released, 1);
}

// A tensor that is rejected is untouched and the caller's.
void ExpectRejected(DLManagedTensorVersioned* tensor, Memory* memory, DLBridgeStatus status,
                    const std::string& message, std::uint32_t options = 0) {
  OrtValue* value = nullptr;
  DLBridgeError error;
  EXPECT_EQ(dlbridge_export_ort(Api(), tensor, options, &value, &error), status) << message;
  EXPECT_EQ(error.status, status);
  EXPECT_NE(std::string(error.message).find(message), std::string::npos) << error.message;
  EXPECT_EQ(dlbridge_export_ort(Api(), tensor, options, &value, nullptr), status);
  EXPECT_EQ(value, nullptr);
  EXPECT_EQ(memory->released, 0);
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(memory->released, 1);
  memory->released = 0;
}

TEST(Export, Rejects) {
  Memory memory;
  const DLDevice cpu = {kDLCPU, 0};
  const std::int64_t strides[] = {1, 2};
  ExpectRejected(Wrap(&memory, kFloat32, {2, 2}, cpu, 0, strides), &memory, DLBRIDGE_ERROR_POLICY,
                 "dlbridge_copy makes C order");
  ExpectRejected(Wrap(&memory, kFloat32, {2}, cpu, DLPACK_FLAG_BITMASK_READ_ONLY), &memory,
                 DLBRIDGE_ERROR_POLICY, "READ_ONLY");
  ExpectRejected(Wrap(&memory, kFloat32, {2}, cpu, 0, nullptr, 2), &memory, DLBRIDGE_ERROR_POLICY,
                 "4");
  ExpectRejected(Wrap(&memory, {kDLFloat6_e2m3fn, 6, 1}, {2}), &memory, DLBRIDGE_ERROR_POLICY,
                 "dtype");
  ExpectRejected(Wrap(&memory, {kDLComplex, 64, 1}, {2}), &memory, DLBRIDGE_ERROR_POLICY, "dtype");
  ExpectRejected(Wrap(&memory, {kDLFloat, 32, 2}, {2}), &memory, DLBRIDGE_ERROR_POLICY, "dtype");
  ExpectRejected(Wrap(&memory, kFloat32, {2}, {kDLOneAPI, 0}), &memory, DLBRIDGE_ERROR_POLICY,
                 "device");
  ExpectRejected(
      Wrap(&memory, {kDLInt, 4, 1}, {2}, cpu, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED), &memory,
      DLBRIDGE_ERROR_UNSUPPORTED, "expected packed elements");
  ExpectRejected(Wrap(&memory, kFloat32, {2}), &memory, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                 "expected 0 or DLBRIDGE_CONVERT_DROP_READ_ONLY", 1 << 30);
  DLBridgeError error;
  OrtValue* value = nullptr;
  EXPECT_EQ(dlbridge_export_ort(Api(), nullptr, 0, &value, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

void ExpectNotImported(OrtValue* value, DLBridgeStatus status, const std::string& message,
                       std::uint32_t options = 0) {
  DLManagedTensorVersioned* tensor = nullptr;
  DLBridgeError error;
  EXPECT_EQ(dlbridge_import_ort(Api(), value, options, &tensor, &error), status);
  EXPECT_NE(std::string(error.message).find(message), std::string::npos) << error.message;
  EXPECT_EQ(tensor, nullptr);
}

TEST(Import, RejectsWhatIsNoTensorOfNumbers) {
  OrtAllocator* allocator = nullptr;
  Must(Api()->GetAllocatorWithDefaultOptions(&allocator));
  const std::int64_t shape[] = {2};
  OrtValue* strings = nullptr;
  Must(Api()->CreateTensorAsOrtValue(allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
                                     &strings));
  ExpectNotImported(strings, DLBRIDGE_ERROR_UNSUPPORTED, "found strings");
  Api()->ReleaseValue(strings);

  Memory memory;
  OrtValue* element = Export(Wrap(&memory, kFloat32, {2}));
  ExpectNotImported(element, DLBRIDGE_ERROR_INVALID_ARGUMENT, "VOUCH_WRITABLE", 1 << 30);
  ExpectNotImported(nullptr, DLBRIDGE_ERROR_INVALID_ARGUMENT, "must not be NULL");
  OrtValue* sequence = nullptr;
  Must(Api()->CreateValue(&element, 1, ONNX_TYPE_SEQUENCE, &sequence));
  ExpectNotImported(sequence, DLBRIDGE_ERROR_UNSUPPORTED, "take the elements");
  Api()->ReleaseValue(sequence);
  Api()->ReleaseValue(element);
  EXPECT_EQ(memory.released, 1);
}

TEST(Import, NamesMemoryThatItDoesNotKnow) {
  OrtMemoryInfo* info = nullptr;
  Must(Api()->CreateMemoryInfo_V2("Elsewhere", OrtMemoryInfoDeviceType_NPU, 0x1234, 0,
                                  OrtDeviceMemoryType_DEFAULT, 0, OrtDeviceAllocator, &info));
  Memory memory;
  const std::int64_t shape[] = {2};
  OrtValue* value = nullptr;
  Must(Api()->CreateTensorWithDataAsOrtValue(info, memory.bytes, 8, shape, 1,
                                             ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  ExpectNotImported(value, DLBRIDGE_ERROR_UNSUPPORTED, "found memory named Elsewhere");
  Api()->ReleaseValue(value);
  Api()->ReleaseMemoryInfo(info);
}

// The model y = x + 1 in ONNX's format, with the axes n and m.
const std::uint8_t kModel[] = {
    0x08, 0x08, 0x12, 0x00, 0x3a, 0x54, 0x0a, 0x10, 0x0a, 0x01, 0x78, 0x0a, 0x03, 0x6f, 0x6e, 0x65,
    0x12, 0x01, 0x79, 0x22, 0x03, 0x41, 0x64, 0x64, 0x12, 0x01, 0x67, 0x2a, 0x0f, 0x08, 0x01, 0x10,
    0x01, 0x22, 0x04, 0x00, 0x00, 0x80, 0x3f, 0x42, 0x03, 0x6f, 0x6e, 0x65, 0x5a, 0x15, 0x0a, 0x01,
    0x78, 0x12, 0x10, 0x0a, 0x0e, 0x08, 0x01, 0x12, 0x0a, 0x0a, 0x03, 0x12, 0x01, 0x6e, 0x0a, 0x03,
    0x12, 0x01, 0x6d, 0x62, 0x15, 0x0a, 0x01, 0x79, 0x12, 0x10, 0x0a, 0x0e, 0x08, 0x01, 0x12, 0x0a,
    0x0a, 0x03, 0x12, 0x01, 0x6e, 0x0a, 0x03, 0x12, 0x01, 0x6d, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x0d};

TEST(Session, ReadsATensorAndItsResultOutlivesIt) {
  OrtEnv* env = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  Must(Api()->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "test", &env));
  Must(Api()->CreateSessionOptions(&options));
  Must(Api()->CreateSessionFromArray(env, kModel, sizeof kModel, options, &session));
  Memory memory;
  auto* elements = reinterpret_cast<float*>(memory.bytes);
  for (int i = 0; i < 6; ++i) elements[i] = static_cast<float>(i);
  OrtValue* input = Export(Wrap(&memory, kFloat32, {2, 3}));
  const char* x = "x";
  const char* y = "y";
  OrtValue* output = nullptr;
  Must(Api()->Run(session, nullptr, &x, &input, 1, &y, 1, &output));
  DLManagedTensorVersioned* result = Import(output);
  Api()->ReleaseValue(input);
  EXPECT_EQ(memory.released, 1);
  Api()->ReleaseSession(session);
  Api()->ReleaseSessionOptions(options);
  const auto* values = static_cast<const float*>(result->dl_tensor.data);
  EXPECT_EQ(result->dl_tensor.shape[0] * 10 + result->dl_tensor.shape[1], 23);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(values[i], static_cast<float>(i + 1));
  dlbridge_release_versioned(result);
  Api()->ReleaseEnv(env);
}

}  // namespace
