// SPDX-License-Identifier: Apache-2.0
// A real OpenCL driver for tests: its choice, its requirements, and the shim between library and
// driver. Tests call the real libOpenCL directly, so that the shim logs only the library's calls.
#ifndef DLBRIDGE_TESTS_DEVICE_OPENCL_WORLD_H_
#define DLBRIDGE_TESTS_DEVICE_OPENCL_WORLD_H_

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "../fakes/opencl/shim.h"
#include "dlbridge/opencl_api.h"
#include "support/error.h"

#if defined(__SANITIZE_THREAD__)
#define DLBRIDGE_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DLBRIDGE_TEST_TSAN 1
#endif
#endif
#ifndef DLBRIDGE_TEST_TSAN
#define DLBRIDGE_TEST_TSAN 0
#endif

namespace dlbridge_test {

// The drivers that ctest selects: intel, both, or by default pocl.
inline std::string Drivers() {
  const char* drivers = std::getenv("DLBRIDGE_TEST_OPENCL");
  return drivers != nullptr ? drivers : "pocl";
}

inline void UseDrivers(const std::string& drivers) {
  setenv("OCL_ICD_VENDORS", (std::string(DLBRIDGE_OPENCL_ICD) + "/" + drivers + "/").c_str(), 1);
}

// Must be called before the first device call of the process.
inline void UseShim() {
  UseDrivers(Drivers());
  setenv("DLBRIDGE_LIBOPENCL", DLBRIDGE_OPENCL_SHIM, 1);
}

inline void* LibrarySymbol(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

// A function of the real library, with the vendor's prototype.
#define CL(name) \
  (reinterpret_cast<decltype(&(name))>(::dlbridge_test::LibrarySymbol("libOpenCL.so.1", #name)))
#define SHIM(name) \
  (reinterpret_cast<decltype(&(name))>(::dlbridge_test::LibrarySymbol(DLBRIDGE_OPENCL_SHIM, #name)))

inline std::string Calls() {
  std::vector<char> calls(1 << 16);
  SHIM(shim_calls)(calls.data(), calls.size());
  return calls.data();
}

inline ShimLive Live() {
  ShimLive live = {};
  SHIM(shim_live)(&live);
  return live;
}

// The reason why no test can run here, or NULL, as far as it is known without a call.
inline const char* WhyNoDriver() {
  if (std::getenv("DLBRIDGE_SLOW_MACHINE") != nullptr) {
    return "valgrind reports the threads that these drivers never join; AddressSanitizer "
           "covers this";
  }
  if (DLBRIDGE_TEST_TSAN != 0 && Drivers() != "pocl") {
    return "ThreadSanitizer does not see how Intel's driver orders its threads";
  }
  if (LibrarySymbol("libOpenCL.so.1", "clGetPlatformIDs") == nullptr) {
    return "there is no libOpenCL.so.1 (package ocl-icd-libopencl1)";
  }
  return nullptr;
}

inline const char* WhyNot() {
  if (const char* reason = WhyNoDriver()) {
    return reason;
  }
  cl_uint count = 0;
  if (CL(clGetPlatformIDs)(0, nullptr, &count) != CL_SUCCESS || count == 0) {
    return "OpenCL has no platform (package pocl-opencl-icd)";
  }
  return nullptr;
}

// A driver thread may release a reference shortly after the command is complete. Returns true once
// `done` does, false if it never does.
template <class Done>
bool Settles(Done done) {
  for (int i = 0; i < 5000000; ++i) {
    if (done()) {
      return true;
    }
    sched_yield();
  }
  return false;
}

template <class Handle, class Ask>
cl_uint References(Handle handle, Ask ask, cl_uint what) {
  cl_uint count = 0;
  EXPECT_EQ(ask(handle, what, sizeof count, &count, nullptr), CL_SUCCESS);
  return count;
}

// The driver's platforms and devices, and objects that are released at the end of the test.
class World : public testing::Test {
 protected:
  void SetUp() override {
    UseShim();
    if (const char* reason = WhyNot()) {
      GTEST_SKIP() << reason;
    }
    cl_uint count = 0;
    ASSERT_EQ(CL(clGetPlatformIDs)(0, nullptr, &count), CL_SUCCESS);
    platforms_.resize(count);
    ASSERT_EQ(CL(clGetPlatformIDs)(count, platforms_.data(), nullptr), CL_SUCCESS);
    for (cl_platform_id platform : platforms_) {
      AddDevices(platform);
    }
    ASSERT_FALSE(devices_.empty());
    // The platform under test: with both drivers, the one with USM.
    platform_ = platforms_[0];
    for (cl_platform_id platform : platforms_) {
      platform_ = HasUsm(platform) ? platform : platform_;
    }
    device_ = FirstDevice(platform_);
    context_ = MakeContext();
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    ASSERT_EQ(dlbridge_backend_info(DLBRIDGE_BACKEND_OPENCL, &info, nullptr), DLBRIDGE_OK);
    SHIM(shim_reset)();
    live_ = Live();
  }

  void TearDown() override {
    for (auto queue = queues_.rbegin(); queue != queues_.rend(); ++queue) {
      EXPECT_EQ(CL(clFinish)(*queue), CL_SUCCESS);
      EXPECT_EQ(CL(clReleaseCommandQueue)(*queue), CL_SUCCESS);
    }
    for (cl_mem mem : mems_) {
      EXPECT_TRUE(Settles(
          [&] { return References(mem, CL(clGetMemObjectInfo), CL_MEM_REFERENCE_COUNT) == 1; }));
      EXPECT_EQ(CL(clReleaseMemObject)(mem), CL_SUCCESS);
    }
    for (cl_context context : contexts_) {
      EXPECT_EQ(CL(clReleaseContext)(context), CL_SUCCESS);
    }
    if (!contexts_.empty()) {
      EXPECT_TRUE(Settles([this] { return Live().queues == live_.queues; }))
          << "a queue outlives the buffer that it is tied to";
      SHIM(shim_reset)();
    }
  }

  // Checks that the library released everything that it created and retained since the test began,
  // except for one queue per context, which it keeps as long as the test's buffers live.
  void ExpectNothingLive() {
    const ShimLive live = Live();
    EXPECT_EQ(live.events, live_.events);
    EXPECT_GE(live.queues, live_.queues);
    EXPECT_LE(live.queues, live_.queues + static_cast<int>(contexts_.size()));
    EXPECT_EQ(live.mems, live_.mems);
  }

  int KeptQueues() const { return Live().queues - live_.queues; }

  static bool HasUsm(cl_platform_id platform) {
    return CL(clGetExtensionFunctionAddressForPlatform)(platform, "clGetMemAllocInfoINTEL") !=
           nullptr;
  }

  static cl_device_id FirstDevice(cl_platform_id platform) {
    cl_device_id device = nullptr;
    EXPECT_EQ(CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), CL_SUCCESS);
    return device;
  }

  int32_t IndexOf(cl_device_id device) const {
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i] == device) {
        return static_cast<int32_t>(i);
      }
    }
    return -1;
  }

  cl_context MakeContext(cl_device_id device = nullptr) {
    cl_int code = CL_SUCCESS;
    cl_device_id chosen = device != nullptr ? device : device_;
    contexts_.push_back(CL(clCreateContext)(nullptr, 1, &chosen, nullptr, nullptr, &code));
    EXPECT_EQ(code, CL_SUCCESS);
    return contexts_.back();
  }

  cl_command_queue MakeQueue(cl_context context, bool out_of_order = false,
                             cl_device_id device = nullptr) {
    const cl_queue_properties properties[] = {
        CL_QUEUE_PROPERTIES,
        out_of_order ? cl_queue_properties(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) : 0, 0};
    cl_int code = CL_SUCCESS;
    queues_.push_back(CL(clCreateCommandQueueWithProperties)(
        context, device != nullptr ? device : device_, properties, &code));
    EXPECT_EQ(code, CL_SUCCESS);
    return queues_.back();
  }

  cl_mem MakeBuffer(cl_context context, size_t size, void* content = nullptr) {
    return MakeBufferOf(context,
                        CL_MEM_READ_WRITE | (content != nullptr ? CL_MEM_COPY_HOST_PTR : 0), size,
                        content);
  }

  cl_mem MakeBufferOf(cl_context context, cl_mem_flags flags, size_t size, void* host) {
    cl_int code = CL_SUCCESS;
    mems_.push_back(CL(clCreateBuffer)(context, flags, size, host, &code));
    EXPECT_EQ(code, CL_SUCCESS);
    return mems_.back();
  }

  // 16 x 16 pixels, which dlbridge rejects: it is no buffer.
  cl_mem MakeImage(cl_context context) {
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc description = {};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = 16;
    description.image_height = 16;
    cl_int code = CL_SUCCESS;
    mems_.push_back(
        CL(clCreateImage)(context, CL_MEM_READ_WRITE, &format, &description, nullptr, &code));
    EXPECT_EQ(code, CL_SUCCESS);
    return mems_.back();
  }

  // Released before its parent.
  cl_mem MakeSubBuffer(cl_mem parent, size_t offset, size_t size) {
    const cl_buffer_region region = {offset, size};
    cl_int code = CL_SUCCESS;
    mems_.insert(mems_.begin(),
                 CL(clCreateSubBuffer)(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
    EXPECT_EQ(code, CL_SUCCESS);
    return mems_.front();
  }

  // The smallest offset of a sub-buffer but 0.
  size_t SubBufferStep() const {
    cl_uint bits = 0;
    EXPECT_EQ(
        CL(clGetDeviceInfo)(device_, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, nullptr),
        CL_SUCCESS);
    return bits / 8;
  }

  std::vector<cl_platform_id> platforms_;
  std::vector<cl_device_id> devices_;
  cl_platform_id platform_ = nullptr;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  std::vector<cl_context> contexts_;
  std::vector<cl_command_queue> queues_;
  std::vector<cl_mem> mems_;

 private:
  void AddDevices(cl_platform_id platform) {
    cl_uint count = 0;
    if (CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) == CL_SUCCESS) {
      devices_.resize(devices_.size() + count);
      CL(clGetDeviceIDs)
      (platform, CL_DEVICE_TYPE_ALL, count, &devices_[devices_.size() - count], nullptr);
    }
  }

  ShimLive live_ = {};
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_OPENCL_WORLD_H_
