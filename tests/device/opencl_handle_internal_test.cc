// SPDX-License-Identifier: Apache-2.0
// The driver queries for a tensor of a cl_mem: whether the handle is a buffer, and its references.
#include <string>

#include "device/opencl_world.h"
#include "native/backend.h"
#include "support/child.h"

namespace dlbridge_test {
namespace {

const dlbridge::Backend& OpenCl() { return dlbridge::kOpenClBackend; }

class OpenClHandle : public World {
 protected:
  DLDevice Label() const { return {kDLOpenCL, IndexOf(device_)}; }

  // For a writable tensor with the true label.
  DLBridgeStatus CheckHandle(cl_mem mem, cl_context context, Error* error) {
    return OpenCl().check_handle(dlbridge_buffer_cl_mem(mem, context), Label(), true, error);
  }

  static cl_uint MemReferences(cl_mem mem) {
    return References(mem, CL(clGetMemObjectInfo), CL_MEM_REFERENCE_COUNT);
  }
};

TEST_F(OpenClHandle, ABufferIsAccepted) {
  cl_mem mem = MakeBuffer(context_, 64);
  Error error;
  EXPECT_EQ(CheckHandle(mem, nullptr, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(CheckHandle(mem, context_, &error), DLBRIDGE_OK) << error.message;
  SHIM(shim_reset)();
  EXPECT_EQ(OpenCl().check_handle(dlbridge_buffer_cl_mem(mem, context_), Label(), false, &error),
            DLBRIDGE_OK);
  EXPECT_EQ(Calls(), "clGetMemObjectInfo clGetMemObjectInfo");
}

TEST_F(OpenClHandle, ABufferOfAnotherContextIsRejected) {
  cl_mem mem = MakeBuffer(context_, 64);
  cl_context other = MakeContext();
  Error error;
  EXPECT_EQ(CheckHandle(mem, other, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  char expected[200];
  snprintf(expected, sizeof expected,
           "buffer.context is not the context of this cl_mem: expected %p, found %p",
           static_cast<void*>(context_), static_cast<void*>(other));
  EXPECT_STREQ(error.message, expected);
}

TEST_F(OpenClHandle, AnImageIsRejected) {
  cl_mem image = MakeImage(context_);
  Error error;
  EXPECT_EQ(CheckHandle(image, nullptr, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(
      error.message,
      "buffer.handle is a cl_mem of another type: expected a buffer, not an image or pipe");
}

TEST_F(OpenClHandle, AQueryThatFailsIsReported) {
  cl_mem mem = MakeBuffer(context_, 64);
  for (int nth = 1; nth <= 3; ++nth) {
    SHIM(shim_fail)("clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, nth);
    Error error;
    EXPECT_EQ(CheckHandle(mem, context_, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_STREQ(error.message, "clGetMemObjectInfo failed with -38 (CL_INVALID_MEM_OBJECT)");
  }
  SHIM(shim_fail)("clGetContextInfo", CL_INVALID_CONTEXT, 1);
  const DLDevice unknown = {kDLOpenCL, static_cast<int32_t>(devices_.size())};
  Error error;
  EXPECT_EQ(OpenCl().check_handle(dlbridge_buffer_cl_mem(mem, context_), unknown, true, &error),
            DLBRIDGE_ERROR_DRIVER);
  EXPECT_STREQ(error.message, "clGetContextInfo failed with -34 (CL_INVALID_CONTEXT)");
}

TEST_F(OpenClHandle, AnUnknownDeviceIsRejected) {
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_mem(MakeBuffer(context_, 64), nullptr);
  const DLDevice unknown = {kDLOpenCL, static_cast<int32_t>(devices_.size())};
  Error error;
  EXPECT_EQ(OpenCl().check_handle(buffer, unknown, true, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL);
  EXPECT_NE(std::string(error.message).find("opencl:" + std::to_string(devices_.size())),
            std::string::npos)
      << error.message;
  EXPECT_NE(std::string(error.message).find("opencl:" + std::to_string(Label().device_id)),
            std::string::npos)
      << error.message;
}

TEST_F(OpenClHandle, AReadOnlyBufferIsAcceptedForAReadOnlyTensor) {
  cl_mem mem = MakeBufferOf(context_, CL_MEM_READ_ONLY, 4096, nullptr);
  for (cl_mem handle : {mem, MakeSubBuffer(mem, SubBufferStep(), 64)}) {
    const DLBridgeBuffer buffer = dlbridge_buffer_cl_mem(handle, nullptr);
    Error error;
    EXPECT_EQ(OpenCl().check_handle(buffer, Label(), false, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(OpenCl().check_handle(buffer, Label(), true, &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.message).find("CL_MEM_READ_ONLY"), std::string::npos)
        << error.message;
    EXPECT_NE(std::string(error.message).find("DLPACK_FLAG_BITMASK_READ_ONLY"), std::string::npos)
        << error.message;
  }
}

TEST_F(OpenClHandle, TheMemoryOfAHandleIsDescribed) {
  const auto describe = [](cl_mem mem) {
    dlbridge::HandleFacts facts = {};
    Error error;
    EXPECT_EQ(OpenCl().describe_handle(dlbridge_buffer_cl_mem(mem, nullptr), &facts, &error),
              DLBRIDGE_OK)
        << error.message;
    return facts;
  };
  const size_t step = SubBufferStep();
  cl_mem mem = MakeBuffer(context_, 4 * step);
  dlbridge::HandleFacts facts = describe(mem);
  EXPECT_EQ(facts.memory.handle, reinterpret_cast<uintptr_t>(mem));
  EXPECT_EQ(facts.memory.kind, DLBRIDGE_BUFFER_CL_MEM);
  EXPECT_EQ(facts.offset, 0U);
  EXPECT_FALSE(facts.read_only);
  facts = describe(MakeSubBuffer(mem, 2 * step, step));
  EXPECT_EQ(facts.memory.handle, reinterpret_cast<uintptr_t>(mem));
  EXPECT_EQ(facts.offset, 2 * step);

  cl_mem fixed = MakeBufferOf(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, step,
                              std::string(step, 'x').data());
  EXPECT_TRUE(describe(fixed).read_only);
  EXPECT_EQ(describe(fixed).memory.kind, DLBRIDGE_BUFFER_CL_MEM);

  alignas(4096) static char host[4096 * 4];
  cl_mem shared = MakeBufferOf(context_, CL_MEM_USE_HOST_PTR, sizeof host, host);
  facts = describe(shared);
  EXPECT_EQ(facts.memory.kind, DLBRIDGE_BUFFER_ADDRESS);
  EXPECT_EQ(facts.memory.handle, reinterpret_cast<uintptr_t>(host));
  facts = describe(MakeSubBuffer(shared, step, step));
  EXPECT_EQ(facts.memory.kind, DLBRIDGE_BUFFER_ADDRESS);
  EXPECT_EQ(facts.memory.handle, reinterpret_cast<uintptr_t>(host));
  EXPECT_EQ(facts.offset, step);
}

TEST_F(OpenClHandle, EachQueryOfTheMemoryThatFailsIsReported) {
  const size_t step = SubBufferStep();
  alignas(4096) static char host[4096 * 4];
  cl_mem shared = MakeBufferOf(context_, CL_MEM_USE_HOST_PTR, sizeof host, host);
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_mem(MakeSubBuffer(shared, step, step), nullptr);
  for (int nth = 1; nth <= 4; ++nth) {
    SHIM(shim_fail)("clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, nth);
    dlbridge::HandleFacts facts = {};
    Error error;
    EXPECT_EQ(OpenCl().describe_handle(buffer, &facts, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(SHIM(shim_failed)(), 1);
  }
}

TEST_F(OpenClHandle, AReferenceIsRetainedAndReleased) {
  cl_mem mem = MakeBuffer(context_, 64);
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_mem(mem, nullptr);
  Error error;
  EXPECT_EQ(OpenCl().retain_handle(buffer, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(MemReferences(mem), 2U);
  OpenCl().release_handle(buffer);
  EXPECT_EQ(MemReferences(mem), 1U);
  SHIM(shim_fail)("clRetainMemObject", CL_INVALID_MEM_OBJECT, 1);
  EXPECT_EQ(OpenCl().retain_handle(buffer, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_STREQ(error.message, "clRetainMemObject failed with -38 (CL_INVALID_MEM_OBJECT)");
  EXPECT_EQ(MemReferences(mem), 1U);
  ExpectNothingLive();
}

TEST_F(OpenClHandle, AForkedChildCallsNoDriver) {
  cl_mem mem = MakeBuffer(context_, 64);
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_mem(mem, nullptr);
  ASSERT_EQ(OpenCl().retain_handle(buffer, nullptr), DLBRIDGE_OK);
  SHIM(shim_reset)();
  EXPECT_TRUE(InChild([&] {
    OpenCl().release_handle(buffer);
    EXPECT_EQ(Calls(), "");
  }));
  EXPECT_EQ(MemReferences(mem), 2U);
  OpenCl().release_handle(buffer);
}

}  // namespace
}  // namespace dlbridge_test
