// SPDX-License-Identifier: Apache-2.0
// dlbridge_copy between the host and HIP: whole, or nothing.
#include <cstring>
#include <vector>

#include "hip_world.h"

namespace dlbridge_test {
namespace {

constexpr int64_t kRows = 6;
constexpr int64_t kColumns = 8;

struct Matrix {
  int64_t shape[2];
  int64_t strides[2];
  DLTensor tensor;
};

// float32, `data` on the host or on a device.
void Fill(Matrix* matrix, void* data, DLDevice device, int64_t row_stride, int64_t column_stride) {
  *matrix = {{kRows, kColumns}, {row_stride, column_stride}, {}};
  matrix->tensor.data = data;
  matrix->tensor.device = device;
  matrix->tensor.ndim = 2;
  matrix->tensor.dtype = {kDLFloat, 32, 1};
  matrix->tensor.shape = matrix->shape;
  matrix->tensor.strides = matrix->strides;
}

std::vector<float> Compact(const float* data, int64_t row_stride, int64_t column_stride) {
  std::vector<float> result;
  result.reserve(kRows * kColumns);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t column = 0; column < kColumns; ++column) {
      result.push_back(data[row * row_stride + column * column_stride]);
    }
  }
  return result;
}

struct Source {
  void* memory;
  float* values;
};

Source MakeSource(const FakeHip& fake) {
  void* memory = fake.allocate(kFakeDevice, 1, 4096);
  auto* values = static_cast<float*>(fake.bytes(memory));
  for (int i = 0; i < 1024; ++i) {
    values[i] = static_cast<float>(i);
  }
  return {memory, values};
}

void ExpectCopied(const Matrix& matrix, const std::vector<float>& expected, uint32_t options) {
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.options = options;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(dlbridge_copy(&matrix.tensor, 0, &spec, &copy, &error), DLBRIDGE_OK) << error.message;
  EXPECT_NE(copy->flags & DLPACK_FLAG_BITMASK_IS_COPIED, 0U);
  EXPECT_EQ(std::memcmp(copy->dl_tensor.data, expected.data(), expected.size() * sizeof(float)), 0);
  copy->deleter(copy);
}

HIP_TEST(HipTensorCopy, RowsOfAMatrixToTheHost) {
  const Source source = MakeSource(fake);
  StartHip(fake);
  Matrix matrix;
  Fill(&matrix, source.memory, dlbridge_device_hip(1), 20, 1);
  ExpectCopied(matrix, Compact(source.values, 20, 1), 0);
  EXPECT_TRUE(Contains(fake.log(), "hipMemcpy2DAsync(32,80,32,6,2,s1)")) << fake.log();
}

// Columns are rectangles of single elements; the host permutes nothing.
HIP_TEST(HipTensorCopy, ATransposedMatrixToTheHost) {
  const Source source = MakeSource(fake);
  StartHip(fake);
  Matrix matrix;
  Fill(&matrix, source.memory, dlbridge_device_hip(1), 1, kRows);
  ExpectCopied(matrix, Compact(source.values, 1, kRows), 0);
}

HIP_TEST(HipTensorCopy, WhatNoRectanglesAreGoesThroughTheHost) {
  constexpr int64_t kCount = 5000;
  void* memory = fake.allocate(kFakeDevice, 1, kCount * sizeof(float));
  auto* values = static_cast<float*>(fake.bytes(memory));
  std::vector<float> reversed(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    values[i] = static_cast<float>(i);
    reversed[static_cast<size_t>(kCount - 1 - i)] = values[i];
  }
  StartHip(fake);
  Matrix matrix;
  Fill(&matrix, memory, dlbridge_device_hip(1), 1, -1);
  matrix.shape[0] = 1;
  matrix.shape[1] = kCount;
  matrix.tensor.byte_offset = (kCount - 1) * sizeof(float);
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned* copy = nullptr;
  EXPECT_EQ(dlbridge_copy(&matrix.tensor, 0, &spec, &copy, nullptr), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_EQ(copy, nullptr);
  ExpectCopied(matrix, reversed, DLBRIDGE_COPY_ALLOW_STAGING);
}

HIP_TEST(HipTensorCopy, ToTheDevice) {
  const Source target = MakeSource(fake);
  StartHip(fake);
  std::vector<float> values(200);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(1000 + i);
  }
  Matrix matrix;
  Fill(&matrix, values.data(), {kDLCPU, 0}, 20, 1);
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.device = dlbridge_device_hip(1);
  spec.stream = dlbridge_stream_hip(static_cast<hipStream_t>(fake.stream(1)), 1);
  spec.target = dlbridge_buffer_hip(target.memory);
  spec.target_size = 4096;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(dlbridge_copy(&matrix.tensor, 0, &spec, &copy, &error), DLBRIDGE_OK) << error.message;
  const std::vector<float> expected = Compact(values.data(), 20, 1);
  EXPECT_EQ(std::memcmp(target.values, expected.data(), expected.size() * sizeof(float)), 0);
  EXPECT_EQ(copy->dl_tensor.data, target.memory);
  EXPECT_EQ(copy->dl_tensor.device.device_id, 1);
  copy->deleter(copy);
}

HIP_TEST(HipTensorCopy, ACallThatFailsLeavesNothing) {
  const Source source = MakeSource(fake);
  StartHip(fake);
  Matrix matrix;
  Fill(&matrix, source.memory, dlbridge_device_hip(1), 20, 1);
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  for (const char* function :
       {"hipStreamCreateWithFlags", "hipMemcpy2DAsync", "hipStreamSynchronize"}) {
    fake.fail(function, 999, 1);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    DLManagedTensorVersioned* copy = nullptr;
    EXPECT_EQ(dlbridge_copy(&matrix.tensor, 0, &spec, &copy, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
    EXPECT_EQ(copy, nullptr);
  }
}

}  // namespace
}  // namespace dlbridge_test
