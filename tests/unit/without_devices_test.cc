// SPDX-License-Identifier: Apache-2.0
// A library built with DLBRIDGE_DEVICES=OFF: calls that need a driver return UNAVAILABLE and name
// the option; all others work.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

constexpr char kOption[] = "this library was built without drivers (DLBRIDGE_DEVICES=OFF)";

// Each device type that a driver serves.
const std::vector<int32_t> kTypes = {kDLCUDA,     kDLCUDAHost, kDLCUDAManaged, kDLROCM,
                                     kDLROCMHost, kDLOneAPI,   kDLOpenCL};

DLBridgeBackend BackendOf(int32_t type) {
  switch (type) {
    case kDLROCM:
    case kDLROCMHost:
      return DLBRIDGE_BACKEND_HIP;
    case kDLOneAPI:
      return DLBRIDGE_BACKEND_LEVEL_ZERO;
    case kDLOpenCL:
      return DLBRIDGE_BACKEND_OPENCL;
    default:
      return DLBRIDGE_BACKEND_CUDA;
  }
}

void ExpectUnavailable(DLBridgeStatus status, const Error& error, int32_t type) {
  EXPECT_EQ(status, DLBRIDGE_ERROR_UNAVAILABLE) << type;
  EXPECT_TRUE(error.Says(kOption)) << type << ": " << error.message;
}

struct Wrapped {
  explicit Wrapped(int32_t type) {
    DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
    spec.ndim = 1;
    spec.shape = &extent;
    spec.buffer = dlbridge_buffer_address(values);
    spec.buffer.kind = 0;
    spec.device = Device(type);
    spec.dtype = Dtype(kDLFloat, 32);
    Error error;
    EXPECT_EQ(dlbridge_wrap(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
  }
  ~Wrapped() { dlbridge_release_versioned(tensor); }
  Wrapped(const Wrapped&) = delete;
  Wrapped& operator=(const Wrapped&) = delete;

  float values[4] = {0, 1, 2, 3};
  int64_t extent = 4;
  DLManagedTensorVersioned* tensor = nullptr;
};

TEST(WithoutDevices, EachBackendIsAbsentAndNamesTheOption) {
  for (int32_t backend = DLBRIDGE_BACKEND_CUDA; backend <= DLBRIDGE_BACKEND_OPENCL; ++backend) {
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    Error error;
    ASSERT_EQ(dlbridge_backend_info(backend, &info, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(info.state, DLBRIDGE_STATE_ABSENT);
    EXPECT_EQ(info.backend, backend);
    EXPECT_EQ(info.device_count, 0);
    EXPECT_STREQ(info.reason, kOption);
  }
}

TEST(WithoutDevices, TheCpuIsReady) {
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  ASSERT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, &info, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(info.state, DLBRIDGE_STATE_READY);
}

TEST(WithoutDevices, PointerInfoNeedsADriver) {
  int there = 0;
  for (const int32_t type : kTypes) {
    DLBridgeBuffer buffer = dlbridge_buffer_address(&there);
    buffer.kind = type == kDLOpenCL ? DLBRIDGE_BUFFER_CL_MEM : DLBRIDGE_BUFFER_ADDRESS;
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    ExpectUnavailable(dlbridge_pointer_info(&buffer, Device(type), &info, &error), error, type);
  }
}

TEST(WithoutDevices, LevelDeviceNeedsADriver) {
  DLBridgePolicy policy = Policy();
  policy.level = DLBRIDGE_LEVEL_DEVICE;
  for (const int32_t type : kTypes) {
    const Wrapped wrapped(type);
    Error error;
    ExpectUnavailable(dlbridge_validate_versioned(wrapped.tensor, &policy, &error), error, type);
  }
  TensorSpec host;
  VersionedSource source(host);
  EXPECT_EQ(dlbridge_validate_versioned(source.get(), &policy, nullptr), DLBRIDGE_OK);
  source.Release();
}

TEST(WithoutDevices, StreamsNeedADriver) {
  for (const int32_t type : kTypes) {
    const DLBridgeStream one = {BackendOf(type), DLBRIDGE_STREAM_QUEUE, Device(type), 0x10, 1, 0};
    DLBridgeStream other = one;
    other.handle = 0x20;
    Error error;
    ExpectUnavailable(dlbridge_stream_synchronize(&one, &error), error, type);
    ExpectUnavailable(dlbridge_stream_handoff(&one, &other, 0, &error), error, type);
  }
}

TEST(WithoutDevices, ArrayApiIntegersBecomeStreams) {
  DLBridgeStream stream = {0, 0, {kDLCPU, 0}, 0, 0, 0};
  Error error;
  ASSERT_EQ(dlbridge_stream_from_array_api(Device(kDLCUDA, 1), 2, &stream, &error), DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(stream.backend, DLBRIDGE_BACKEND_CUDA);
  EXPECT_EQ(stream.kind, DLBRIDGE_STREAM_QUEUE);
  EXPECT_EQ(stream.handle, 2U);
  EXPECT_EQ(stream.device.device_id, 1);
}

TEST(WithoutDevices, CopiesToTheHostNeedADriver) {
  for (const int32_t type : {kDLCUDA, kDLROCM, kDLOneAPI, kDLOpenCL}) {
    const Wrapped wrapped(type);
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    DLManagedTensorVersioned* out = nullptr;
    Error error;
    ExpectUnavailable(dlbridge_copy(&wrapped.tensor->dl_tensor, 0, &spec, &out, &error), error,
                      type);
    EXPECT_EQ(out, nullptr);
  }
}

TEST(WithoutDevices, CopiesOfTheHostWork) {
  const Wrapped wrapped(kDLCPU);
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  ASSERT_EQ(dlbridge_copy(&wrapped.tensor->dl_tensor, 0, &spec, &out, &error), DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(static_cast<const float*>(out->dl_tensor.data)[3], 3.0F);
  dlbridge_release_versioned(out);
}

TEST(WithoutDevices, ExportsOfDeviceMemoryNeedADriver) {
  for (const int32_t type : {kDLCUDA, kDLROCM, kDLOneAPI}) {
    const Wrapped wrapped(type);
    const DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
    DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
    Error error;
    ExpectUnavailable(dlbridge_ipc_export(wrapped.tensor, &spec, &sizes, &error), error, type);
  }
}

TEST(WithoutDevices, UnregisteredDevicesNeedADriver) {
  for (const int32_t type : kTypes) {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    Error error;
    ExpectUnavailable(dlbridge_context_find(Device(type, 5), 0, &entry, &error), error, type);
  }
}

TEST(WithoutDevices, RegisteredDevicesAreFound) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_OPENCL;
  entry.device = Device(kDLOpenCL, 7);
  entry.platform = 1;
  entry.native_device = 2;
  entry.context = 3;
  uint64_t id = 0;
  Error error;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, &error), DLBRIDGE_OK) << error.message;
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  EXPECT_EQ(dlbridge_context_find(Device(kDLOpenCL, 7), 3, &found, &error), DLBRIDGE_OK)
      << error.message;
  EXPECT_EQ(found.native_device, 2U);
  EXPECT_EQ(dlbridge_context_unregister(id, &error), DLBRIDGE_OK) << error.message;
}

TEST(WithoutDevices, ARetainedHandleNeedsADriver) {
  const int64_t extent = 4;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.ndim = 1;
  spec.shape = &extent;
  spec.buffer.handle = 0x1000;
  spec.device = Device(kDLOpenCL);
  spec.dtype = Dtype(kDLFloat, 32);
  spec.options = DLBRIDGE_WRAP_RETAIN;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  ExpectUnavailable(dlbridge_wrap(&spec, &out, &error), error, kDLOpenCL);
}

}  // namespace
}  // namespace dlbridge_test
