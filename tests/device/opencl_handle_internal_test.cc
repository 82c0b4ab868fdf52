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
  static cl_uint MemReferences(cl_mem mem) {
    return References(mem, CL(clGetMemObjectInfo), CL_MEM_REFERENCE_COUNT);
  }
};

TEST_F(OpenClHandle, ABufferIsAccepted) {
  cl_mem mem = MakeBuffer(context_, 64);
  Error error;
  EXPECT_EQ(OpenCl().check_handle(dlbridge_buffer_cl_mem(mem, nullptr), &error), DLBRIDGE_OK);
  EXPECT_EQ(OpenCl().check_handle(dlbridge_buffer_cl_mem(mem, context_), &error), DLBRIDGE_OK);
  EXPECT_EQ(Calls(), "clGetMemObjectInfo clGetMemObjectInfo clGetMemObjectInfo clGetMemObjectInfo");
}

TEST_F(OpenClHandle, ABufferOfAnotherContextIsRejected) {
  cl_mem mem = MakeBuffer(context_, 64);
  cl_context other = MakeContext();
  Error error;
  EXPECT_EQ(OpenCl().check_handle(dlbridge_buffer_cl_mem(mem, other), &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  char expected[200];
  snprintf(expected, sizeof expected,
           "buffer.context is not the context of this cl_mem: expected %p, found %p",
           static_cast<void*>(context_), static_cast<void*>(other));
  EXPECT_STREQ(error.message, expected);
}

TEST_F(OpenClHandle, AnImageIsRejected) {
  const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
  cl_image_desc description = {};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 16;
  description.image_height = 16;
  cl_int code = CL_SUCCESS;
  mems_.push_back(
      CL(clCreateImage)(context_, CL_MEM_READ_WRITE, &format, &description, nullptr, &code));
  ASSERT_EQ(code, CL_SUCCESS);
  Error error;
  EXPECT_EQ(OpenCl().check_handle(dlbridge_buffer_cl_mem(mems_.back(), nullptr), &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(
      error.message,
      "buffer.handle is a cl_mem of another type: expected a buffer, not an image or pipe");
}

TEST_F(OpenClHandle, AQueryThatFailsIsReported) {
  const DLBridgeBuffer buffer = dlbridge_buffer_cl_mem(MakeBuffer(context_, 64), context_);
  for (int nth = 1; nth <= 2; ++nth) {
    SHIM(shim_fail)("clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, nth);
    Error error;
    EXPECT_EQ(OpenCl().check_handle(buffer, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_STREQ(error.message, "clGetMemObjectInfo failed with -38 (CL_INVALID_MEM_OBJECT)");
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
