// SPDX-License-Identifier: Apache-2.0
// Information on OpenCL memory: buffers, shared virtual memory, USM.
#include <cstring>
#include <string>
#include <vector>

#include "device/opencl_world.h"

namespace dlbridge_test {
namespace {

constexpr DLDevice kHost = {kDLCPU, 0};

class OpenClPointer : public World {
 protected:
  void TearDown() override {
    for (uint64_t id : entries_) {
      EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
    }
    World::TearDown();
  }

  DLBridgePointerInfo Info(const DLBridgeBuffer& buffer, DLDevice label) {
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, label, &info, &error), DLBRIDGE_OK) << error.message;
    return info;
  }

  void Register(DLDevice device, cl_device_id native, cl_context context, bool platform = true) {
    cl_platform_id its = nullptr;
    CL(clGetDeviceInfo)(native, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &its, nullptr);
    const DLBridgeContextEntry entry =
        dlbridge_context_entry_opencl(device, platform ? its : nullptr, native, context, nullptr);
    Error error;
    entries_.push_back(0);
    EXPECT_EQ(dlbridge_context_register(&entry, &entries_.back(), &error), DLBRIDGE_OK)
        << error.message;
  }

  // A device of another platform, or NULL.
  cl_device_id OtherDevice() {
    for (cl_platform_id platform : platforms_) {
      if (platform != platform_) {
        return FirstDevice(platform);
      }
    }
    return nullptr;
  }

  int32_t Index() const { return IndexOf(device_); }

  std::vector<uint64_t> entries_;
};

DLBridgeStatus Validate(void* data, DLDevice device, int64_t count, Error* error) {
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.level = DLBRIDGE_LEVEL_DEVICE;
  int64_t stride = 1;
  const DLTensor tensor = {data, device, 1, {kDLFloat, 32, 1}, &count, &stride, 0};
  return dlbridge_validate(&tensor, 0, &policy, error);
}

TEST_F(OpenClPointer, ABufferIsOnTheDeviceOfItsContext) {
  cl_mem mem = MakeBuffer(context_, 1000);
  const cl_uint references = References(context_, CL(clGetContextInfo), CL_CONTEXT_REFERENCE_COUNT);
  const DLBridgePointerInfo info = Info(dlbridge_buffer_cl_mem(mem, nullptr), {kDLOpenCL, Index()});
  EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_OPENCL);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_CL_MEM);
  EXPECT_EQ(info.device.device_type, kDLOpenCL);
  EXPECT_EQ(info.device.device_id, Index());
  EXPECT_EQ(info.native_device, Index());
  EXPECT_EQ(info.base, 0U);
  EXPECT_EQ(info.size, 1000U);
  EXPECT_EQ(info.properties, 0U);
  EXPECT_EQ(info.context, reinterpret_cast<uintptr_t>(context_));
  EXPECT_EQ(References(context_, CL(clGetContextInfo), CL_CONTEXT_REFERENCE_COUNT), references);
  ExpectNothingLive();
}

TEST_F(OpenClPointer, AnIdThatNoDeviceHasIsRejected) {
  cl_mem mem = MakeBuffer(context_, 64);
  const DLBridgePointerInfo info = Info(dlbridge_buffer_cl_mem(mem, nullptr), {kDLOpenCL, 77});
  EXPECT_EQ(info.device.device_id, Index());
  EXPECT_EQ(info.native_device, Index());
  Error error;
  EXPECT_EQ(Validate(mem, {kDLOpenCL, 77}, 16, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL);
  EXPECT_NE(std::string(error.message).find("opencl:77"), std::string::npos) << error.message;
}

TEST_F(OpenClPointer, AnIdThatTheApplicationRegisteredIsAccepted) {
  cl_mem mem = MakeBuffer(context_, 64);
  Register({kDLOpenCL, 77}, device_, context_);
  const DLBridgePointerInfo info = Info(dlbridge_buffer_cl_mem(mem, nullptr), {kDLOpenCL, 77});
  EXPECT_EQ(info.device.device_id, 77);
  EXPECT_EQ(info.native_device, Index());
  Error error;
  EXPECT_EQ(Validate(mem, {kDLOpenCL, 77}, 16, &error), DLBRIDGE_OK) << error.message;
}

// Level DEVICE: kernels must not write to the memory, so the tensor must be READ_ONLY.
TEST_F(OpenClPointer, AWritableTensorOfAReadOnlyBufferIsRejected) {
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.level = DLBRIDGE_LEVEL_DEVICE;
  int64_t count = 16;
  int64_t stride = 1;
  DLManagedTensorVersioned tensor = {};
  tensor.version = {1, 3};
  tensor.dl_tensor = {MakeBufferOf(context_, CL_MEM_READ_ONLY, 64, nullptr),
                      {kDLOpenCL, Index()},
                      1,
                      {kDLFloat, 32, 1},
                      &count,
                      &stride,
                      0};
  Error error;
  EXPECT_EQ(dlbridge_validate_versioned(&tensor, &policy, &error), DLBRIDGE_ERROR_POLICY);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_NOT_WRITABLE);
  EXPECT_NE(std::string(error.message).find("CL_MEM_READ_ONLY: set READ_ONLY"), std::string::npos)
      << error.message;
  tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  EXPECT_EQ(dlbridge_validate_versioned(&tensor, &policy, &error), DLBRIDGE_OK) << error.message;
  tensor.flags = 0;
  tensor.dl_tensor.data = MakeBuffer(context_, 64);
  EXPECT_EQ(dlbridge_validate_versioned(&tensor, &policy, &error), DLBRIDGE_OK) << error.message;
}

TEST_F(OpenClPointer, WithoutADeviceTheIdIsTheEnumeratedOne) {
  cl_mem mem = MakeBuffer(context_, 8);
  const DLBridgePointerInfo info = Info(dlbridge_buffer_cl_mem(mem, nullptr), kHost);
  EXPECT_EQ(info.device.device_type, kDLOpenCL);
  EXPECT_EQ(info.device.device_id, Index());
}

TEST_F(OpenClPointer, ASubBufferHasItsOwnSize) {
  cl_mem mem = MakeBuffer(context_, 4096);
  const cl_buffer_region region = {2048, 1000};
  cl_int code = CL_SUCCESS;
  cl_mem sub = CL(clCreateSubBuffer)(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  ASSERT_EQ(code, CL_SUCCESS);
  const DLBridgePointerInfo info = Info(dlbridge_buffer_cl_mem(sub, nullptr), {kDLOpenCL, Index()});
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_CL_MEM);
  EXPECT_EQ(info.size, 1000U);
  EXPECT_EQ(CL(clReleaseMemObject)(sub), CL_SUCCESS);
}

TEST_F(OpenClPointer, AnImageIsRejected) {
  cl_mem image = MakeImage(context_);
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_mem(image, nullptr);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  Error error;
  EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLOpenCL, 0}, &info, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("expected a buffer, not an image"), std::string::npos)
      << error.message;
}

TEST_F(OpenClPointer, SharedVirtualMemoryOfABufferIsReported) {
  void* svm = CL(clSVMAlloc)(context_, CL_MEM_READ_WRITE, 4096, 0);
  ASSERT_NE(svm, nullptr);
  cl_int code = CL_SUCCESS;
  cl_mem mem = CL(clCreateBuffer)(context_, CL_MEM_USE_HOST_PTR, 4096, svm, &code);
  ASSERT_EQ(code, CL_SUCCESS);
  const DLBridgePointerInfo info = Info(dlbridge_buffer_cl_mem(mem, nullptr), {kDLOpenCL, Index()});
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_SVM);
  EXPECT_EQ(info.base, reinterpret_cast<uintptr_t>(svm));
  EXPECT_EQ(info.size, 4096U);
  EXPECT_EQ(CL(clReleaseMemObject)(mem), CL_SUCCESS);
  CL(clSVMFree)(context_, svm);
}

TEST_F(OpenClPointer, ASubDeviceCountsAsItsRoot) {
  const cl_device_partition_property properties[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_device_id parts[64] = {};
  cl_uint count = 0;
  if (CL(clCreateSubDevices)(device_, properties, 64, parts, &count) != CL_SUCCESS) {
    GTEST_SKIP() << "this device has no parts";
  }
  cl_context context = MakeContext(parts[0]);
  cl_mem mem = MakeBuffer(context, 64);
  const DLBridgePointerInfo info = Info(dlbridge_buffer_cl_mem(mem, nullptr), {kDLOpenCL, Index()});
  EXPECT_EQ(info.native_device, Index());
  EXPECT_EQ(info.device.device_id, Index());
  Register({kDLOpenCL, 40}, device_, context_);
  Error error;
  EXPECT_EQ(Validate(mem, {kDLOpenCL, 40}, 16, &error), DLBRIDGE_OK) << error.message;
  for (cl_uint i = 0; i < count; ++i) {
    EXPECT_EQ(CL(clReleaseDevice)(parts[i]), CL_SUCCESS);
  }
}

TEST_F(OpenClPointer, AnExtentThatLeavesTheBufferIsRejected) {
  cl_mem mem = MakeBuffer(context_, 64);
  Error error;
  EXPECT_EQ(Validate(mem, {kDLOpenCL, Index()}, 16, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(mem, {kDLOpenCL, Index()}, 17, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS);
  EXPECT_NE(std::string(error.message).find("64"), std::string::npos) << error.message;
}

TEST_F(OpenClPointer, AnIdRegisteredForAnotherDeviceIsRejected) {
  cl_device_id other = OtherDevice();
  if (other == nullptr) {
    GTEST_SKIP() << "there is one device only";
  }
  Register({kDLOpenCL, 30}, other, MakeContext(other));
  Register({kDLOpenCL, 31}, device_, context_);
  cl_mem mem = MakeBuffer(context_, 64);
  Error error;
  EXPECT_EQ(Validate(mem, {kDLOpenCL, 31}, 16, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(mem, {kDLOpenCL, 30}, 16, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL);
  EXPECT_NE(std::string(error.message).find("opencl:30"), std::string::npos) << error.message;
  EXPECT_NE(std::string(error.message).find("opencl:31"), std::string::npos) << error.message;
}

TEST_F(OpenClPointer, EachQueryOfABufferThatFailsIsReported) {
  cl_mem mem = MakeBuffer(context_, 64);
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_mem(mem, nullptr);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLOpenCL, Index()}, &info, nullptr), DLBRIDGE_OK);
  struct Failure {
    const char* function;
    int nth;
  };
  for (const Failure& failure : {Failure{"clGetMemObjectInfo", 1}, Failure{"clGetMemObjectInfo", 2},
                                 Failure{"clGetMemObjectInfo", 3}, Failure{"clGetContextInfo", 1},
                                 Failure{"clGetContextInfo", 2}}) {
    SHIM(shim_fail)(failure.function, CL_OUT_OF_RESOURCES, failure.nth);
    DLBridgePointerInfo untouched = DLBRIDGE_POINTER_INFO_INIT;
    untouched.size = 5;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLOpenCL, Index()}, &untouched, &error),
              DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(SHIM(shim_failed)(), 1);
    EXPECT_EQ(untouched.size, 5U);
    EXPECT_NE(std::string(error.message).find(failure.function), std::string::npos);
    EXPECT_NE(std::string(error.message).find("-5 (CL_OUT_OF_RESOURCES)"), std::string::npos)
        << error.message;
  }
  // Only drivers since 2.0 support the SVM query, so its failure is not an error.
  SHIM(shim_fail)("clGetMemObjectInfo", CL_INVALID_VALUE, 4);
  EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLOpenCL, Index()}, &info, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_CL_MEM);
  EXPECT_EQ(SHIM(shim_failed)(), 1);
  ExpectNothingLive();
}

TEST_F(OpenClPointer, DevicesAreEnumeratedWithAPrivateContext) {
  for (size_t i = 0; i < devices_.size(); ++i) {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    Error error;
    ASSERT_EQ(dlbridge_context_find({kDLOpenCL, static_cast<int32_t>(i)}, 0, &entry, &error),
              DLBRIDGE_OK)
        << error.message;
    EXPECT_EQ(entry.backend, DLBRIDGE_BACKEND_OPENCL);
    EXPECT_EQ(dlbridge_opencl_device(&entry), devices_[i]);
    EXPECT_EQ(dlbridge_opencl_queue(&entry), nullptr);
    EXPECT_EQ(entry.properties & (DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_PRIVATE),
              DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_PRIVATE);
    EXPECT_EQ(References(dlbridge_opencl_context(&entry), CL(clGetContextInfo),
                         CL_CONTEXT_REFERENCE_COUNT),
              1U);
    cl_platform_id platform = nullptr;
    CL(clGetDeviceInfo)
    (devices_[i], CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &platform, nullptr);
    EXPECT_EQ(dlbridge_opencl_platform(&entry), platform);
    uint8_t uuid[16] = {0};
    CL(clGetDeviceInfo)(devices_[i], CL_DEVICE_UUID_KHR, sizeof uuid, uuid, nullptr);
    EXPECT_EQ(std::memcmp(entry.uuid, uuid, sizeof uuid), 0);
  }
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  const auto beyond = static_cast<int32_t>(devices_.size());
  EXPECT_EQ(dlbridge_context_find({kDLOpenCL, beyond}, 0, &entry, nullptr),
            DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_EQ(Live().contexts, static_cast<int>(platforms_.size()));
}

// Memory that only drivers with Intel's extension have.
class OpenClUsm : public OpenClPointer {
 protected:
  void SetUp() override {
    World::SetUp();
    if (!IsSkipped() && !HasUsm(platform_)) {
      GTEST_SKIP() << "this driver has no unified shared memory";
    }
  }
  void TearDown() override {
    for (void* memory : usm_) {
      EXPECT_EQ(Extension<clMemFreeINTEL_fn>("clMemFreeINTEL")(context_, memory), CL_SUCCESS);
    }
    OpenClPointer::TearDown();
  }

  template <class Function>
  Function Extension(const char* name) {
    return reinterpret_cast<Function>(
        CL(clGetExtensionFunctionAddressForPlatform)(platform_, name));
  }

  char* Keep(void* memory) {
    EXPECT_NE(memory, nullptr);
    usm_.push_back(memory);
    return static_cast<char*>(memory);
  }
  char* HostUsm(size_t size) {
    return Keep(Extension<clHostMemAllocINTEL_fn>("clHostMemAllocINTEL")(context_, nullptr, size, 0,
                                                                         nullptr));
  }
  char* DeviceUsm(size_t size) {
    return Keep(Extension<clDeviceMemAllocINTEL_fn>("clDeviceMemAllocINTEL")(
        context_, device_, nullptr, size, 0, nullptr));
  }
  char* SharedUsm(size_t size) {
    return Keep(Extension<clSharedMemAllocINTEL_fn>("clSharedMemAllocINTEL")(
        context_, device_, nullptr, size, 0, nullptr));
  }

  std::vector<void*> usm_;
};

TEST_F(OpenClUsm, KindsAreReported) {
  struct Case {
    char* memory;
    int32_t kind;
    int32_t native;
  };
  const Case cases[] = {{DeviceUsm(1000), DLBRIDGE_MEMORY_USM_DEVICE, Index()},
                        {SharedUsm(1000), DLBRIDGE_MEMORY_USM_SHARED, Index()},
                        {HostUsm(1000), DLBRIDGE_MEMORY_USM_HOST, -1}};
  for (const Case& one : cases) {
    for (const int offset : {0, 500, 999}) {
      const DLBridgePointerInfo info =
          Info(dlbridge_buffer_cl_usm(one.memory + offset, context_), {kDLOneAPI, 3});
      EXPECT_EQ(info.backend, DLBRIDGE_BACKEND_OPENCL);
      EXPECT_EQ(info.memory, one.kind);
      EXPECT_EQ(info.device.device_type, kDLOneAPI);
      EXPECT_EQ(info.device.device_id, 3);
      EXPECT_EQ(info.native_device, one.native);
      EXPECT_EQ(info.base, reinterpret_cast<uintptr_t>(one.memory));
      EXPECT_EQ(info.size, 1000U);
      EXPECT_EQ(info.context, reinterpret_cast<uintptr_t>(context_));
      EXPECT_EQ(info.properties, 0U);
    }
    const DLBridgePointerInfo behind =
        Info(dlbridge_buffer_cl_usm(one.memory + 1000, context_), {kDLOneAPI, 3});
    EXPECT_EQ(behind.memory, DLBRIDGE_MEMORY_HOST);
  }
}

TEST_F(OpenClUsm, ARegisteredContextIsAsked) {
  char* memory = DeviceUsm(1000);
  const DLDevice label = {kDLOneAPI, 4};
  DLBridgeBuffer buffer = dlbridge_buffer_cl_usm(memory + 8, nullptr);
  EXPECT_EQ(Info(buffer, label).memory, DLBRIDGE_MEMORY_HOST);
  Register(label, device_, context_);
  DLBridgePointerInfo info = Info(buffer, label);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_USM_DEVICE);
  EXPECT_EQ(info.properties, 0U);
  // With the device alone, which Level Zero's devices have as well; with another device id; with a
  // CPU device.
  buffer.backend = DLBRIDGE_BACKEND_NONE;
  EXPECT_EQ(Info(buffer, label).memory, DLBRIDGE_MEMORY_USM_DEVICE);
  EXPECT_EQ(Info(buffer, {kDLOneAPI, 5}).memory, DLBRIDGE_MEMORY_USM_DEVICE);
  info = Info(buffer, kHost);
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_USM_DEVICE);
  EXPECT_EQ(info.device.device_id, 4);
}

TEST_F(OpenClUsm, AnEntryWithoutAPlatformIsSufficient) {
  char* memory = SharedUsm(64);
  Register({kDLOneAPI, 0}, device_, context_, false);
  EXPECT_EQ(Info(dlbridge_buffer_cl_usm(memory, nullptr), {kDLOneAPI, 0}).memory,
            DLBRIDGE_MEMORY_USM_SHARED);
}

TEST_F(OpenClUsm, AnEnumeratedContextIsAssumed) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  ASSERT_EQ(dlbridge_context_find({kDLOpenCL, Index()}, 0, &entry, nullptr), DLBRIDGE_OK);
  cl_context context = dlbridge_opencl_context(&entry);
  void* memory = Extension<clDeviceMemAllocINTEL_fn>("clDeviceMemAllocINTEL")(
      context, device_, nullptr, 64, 0, nullptr);
  ASSERT_NE(memory, nullptr);
  const DLBridgePointerInfo info = Info(dlbridge_buffer_cl_usm(memory, nullptr), {kDLOneAPI, 0});
  EXPECT_EQ(info.memory, DLBRIDGE_MEMORY_USM_DEVICE);
  EXPECT_EQ(info.properties, static_cast<uint32_t>(DLBRIDGE_POINTER_CONTEXT_ASSUMED));
  EXPECT_EQ(info.context, entry.context);
  EXPECT_EQ(Extension<clMemFreeINTEL_fn>("clMemFreeINTEL")(context, memory), CL_SUCCESS);
}

TEST_F(OpenClUsm, UnknownMemoryIsHostMemory) {
  Register({kDLOneAPI, 0}, device_, context_);
  std::vector<char> memory(64);
  EXPECT_EQ(Info(dlbridge_buffer_cl_usm(memory.data(), context_), {kDLOneAPI, 0}).memory,
            DLBRIDGE_MEMORY_HOST);
  EXPECT_EQ(Info(dlbridge_buffer_cl_usm(nullptr, context_), {kDLOneAPI, 0}).memory,
            DLBRIDGE_MEMORY_HOST);
}

TEST_F(OpenClUsm, AWrongDeviceIsRejected) {
  Register({kDLOneAPI, 0}, device_, context_);
  Error error;
  std::vector<float> host(16);
  EXPECT_EQ(Validate(host.data(), {kDLOneAPI, 0}, 16, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL);
  EXPECT_NE(std::string(error.message).find("oneapi:0"), std::string::npos) << error.message;
  EXPECT_NE(std::string(error.message).find("unregistered host memory"), std::string::npos)
      << error.message;
  EXPECT_EQ(Validate(DeviceUsm(64), kHost, 16, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL);
  EXPECT_EQ(Validate(HostUsm(64), kHost, 16, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(SharedUsm(64), kHost, 16, &error), DLBRIDGE_OK) << error.message;
}

TEST_F(OpenClUsm, AnExtentThatLeavesTheAllocationIsRejected) {
  Register({kDLOneAPI, 0}, device_, context_);
  char* memory = DeviceUsm(64);
  Error error;
  EXPECT_EQ(Validate(memory, {kDLOneAPI, 0}, 16, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(memory + 32, {kDLOneAPI, 0}, 8, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(memory, {kDLOneAPI, 0}, 17, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS);
  EXPECT_EQ(Validate(memory + 32, {kDLOneAPI, 0}, 9, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_ALLOCATION_BOUNDS);
}

TEST_F(OpenClUsm, AnIdRegisteredForAnotherDeviceIsRejected) {
  cl_device_id other = OtherDevice();
  if (other == nullptr) {
    GTEST_SKIP() << "there is one device only";
  }
  Register({kDLOneAPI, 0}, other, MakeContext(other));
  Register({kDLOneAPI, 1}, device_, context_);
  char* memory = DeviceUsm(64);
  Error error;
  EXPECT_EQ(Validate(memory, {kDLOneAPI, 1}, 16, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Validate(memory, {kDLOneAPI, 0}, 16, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL);
  EXPECT_NE(std::string(error.message).find("oneapi:1"), std::string::npos) << error.message;
}

TEST_F(OpenClUsm, EachQueryThatFailsIsReported) {
  char* memory = DeviceUsm(64);
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_usm(memory, context_);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLOneAPI, 0}, &info, nullptr), DLBRIDGE_OK);
  for (int nth = 1; nth <= 4; ++nth) {
    SHIM(shim_fail)("clGetMemAllocInfoINTEL", CL_INVALID_CONTEXT, nth);
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLOneAPI, 0}, &info, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(SHIM(shim_failed)(), 1);
    EXPECT_NE(std::string(error.message)
                  .find("clGetMemAllocInfoINTEL failed with -34 (CL_INVALID_CONTEXT)"),
              std::string::npos)
        << error.message;
  }
}

TEST_F(OpenClUsm, TheContextsPlatformMustBeKnown) {
  if (platforms_.size() < 2) {
    GTEST_SKIP() << "there is one platform only";
  }
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_usm(SharedUsm(64), context_);
  for (const char* function : {"clGetContextInfo", "clGetDeviceInfo"}) {
    SHIM(shim_fail)(function, CL_OUT_OF_RESOURCES, 1);
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Error error;
    EXPECT_EQ(dlbridge_pointer_info(&buffer, {kDLOneAPI, 0}, &info, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(SHIM(shim_failed)(), 1);
    EXPECT_NE(std::string(error.message).find(function), std::string::npos) << error.message;
  }
  // The other platform has no USM, so no USM function may be called with its context.
  cl_context other = MakeContext(OtherDevice());
  EXPECT_EQ(Info(dlbridge_buffer_cl_usm(SharedUsm(64), other), {kDLOneAPI, 9}).memory,
            DLBRIDGE_MEMORY_HOST);
}

}  // namespace
}  // namespace dlbridge_test
