// SPDX-License-Identifier: Apache-2.0
// Copies between real memory, compared with the same copies made byte by byte.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "device/opencl_world.h"
#include "native/backend.h"
#include "support/scale.h"

namespace dlbridge_test {
namespace {

using dlbridge::CopyBox;
using dlbridge::CopyJob;
using dlbridge::CopySide;
using Bytes = std::vector<uint8_t>;

constexpr size_t kSize = 8192;

Bytes Pattern(uint64_t seed) {
  Random random(seed);
  Bytes bytes(kSize);
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(random.Bits());
  }
  return bytes;
}

CopyBox Line(uint64_t bytes, uint64_t from, uint64_t to) {
  return {bytes, 1, 1, from, 0, 0, to, 0, 0};
}

// The expected result of a copy.
void CopyByHand(const CopyBox& box, const Bytes& from, Bytes* to) {
  for (uint64_t plane = 0; plane < box.planes; ++plane) {
    for (uint64_t row = 0; row < box.rows; ++row) {
      std::memcpy(&(*to)[box.to_offset + plane * box.to_plane_pitch + row * box.to_row_pitch],
                  &from[box.from_offset + plane * box.from_plane_pitch + row * box.from_row_pitch],
                  box.bytes);
    }
  }
}

class OpenClCopy : public World {
 protected:
  static const dlbridge::Backend& OpenCl() { return dlbridge::kOpenClBackend; }

  DLDevice Device() const { return {kDLOpenCL, IndexOf(device_)}; }

  static CopySide Host(Bytes* bytes) {
    return {true, {kDLCPU, 0}, dlbridge_buffer_address(bytes->data())};
  }
  CopySide Mem(cl_mem mem) const { return {false, Device(), dlbridge_buffer_cl_mem(mem, nullptr)}; }

  cl_mem MakeMem(const Bytes& bytes, cl_context context = nullptr) {
    Bytes content = bytes;
    return MakeBuffer(context != nullptr ? context : context_, content.size(), content.data());
  }

  Bytes Content(cl_mem mem, cl_context context = nullptr) {
    if (reader_ == nullptr) {
      reader_ = MakeQueue(context != nullptr ? context : context_);
    }
    Bytes bytes(kSize);
    EXPECT_EQ(
        CL(clEnqueueReadBuffer)(reader_, mem, CL_TRUE, 0, kSize, bytes.data(), 0, nullptr, nullptr),
        CL_SUCCESS);
    return bytes;
  }

  static CopyJob Job(const CopySide& from, const CopySide& to, cl_command_queue queue = nullptr) {
    CopyJob job = {};
    job.from = from;
    job.to = to;
    if (queue != nullptr) {
      job.stream = dlbridge_stream_opencl(queue, {kDLOpenCL, 0});
    }
    return job;
  }

  DLBridgeStatus Begin(const CopySide& from, const CopySide& to, Error* error) {
    CopyJob job = Job(from, to);
    return OpenCl().copy_begin(&job, error);
  }

  void Copy(const CopySide& from, const CopySide& to, const std::vector<CopyBox>& boxes,
            cl_command_queue queue = nullptr) {
    CopyJob job = Job(from, to, queue);
    Error error;
    ASSERT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    for (const CopyBox& box : boxes) {
      EXPECT_EQ(OpenCl().copy_box(&job, box, &error), DLBRIDGE_OK) << error.message;
    }
    EXPECT_EQ(OpenCl().copy_finish(&job, &error), DLBRIDGE_OK) << error.message;
  }

  // Checks the copy in all three directions.
  void Check(const CopyBox& box) {
    const Bytes source = Pattern(1);
    const Bytes target = Pattern(2);
    Bytes expected = target;
    CopyByHand(box, source, &expected);

    Bytes host = source;
    cl_mem mem = MakeMem(target);
    Copy(Host(&host), Mem(mem), {box});
    EXPECT_EQ(Content(mem), expected);

    host = target;
    Copy(Mem(MakeMem(source)), Host(&host), {box});
    EXPECT_EQ(host, expected);

    mem = MakeMem(target);
    Copy(Mem(MakeMem(source)), Mem(mem), {box});
    EXPECT_EQ(Content(mem), expected);
    ExpectNothingLive();
  }

  cl_command_queue reader_ = nullptr;
};

TEST_F(OpenClCopy, Runs) {
  Check(Line(kSize, 0, 0));
  Check(Line(1, kSize - 1, 17));
  Check(Line(1000, 3, 1001));
}

TEST_F(OpenClCopy, Rectangles) {
  Check({16, 20, 1, 100, 64, 0, 7, 16, 0});
  Check({16, 4, 5, 100, 32, 128, 7, 16, 64});
  Check({16, 4, 5, 100, 32, 256, 1000, 48, 240});
}

TEST_F(OpenClCopy, ARectangleIsOneCall) {
  Bytes host(kSize);
  cl_mem mem = MakeMem(host);
  Copy(Host(&host), Mem(mem), {{16, 4, 5, 0, 32, 128, 0, 16, 64}});
  EXPECT_EQ(
      Calls(),
      "clGetMemObjectInfo clGetMemObjectInfo clGetMemObjectInfo clGetMemObjectInfo "
      "clGetContextInfo clGetContextInfo clCreateCommandQueue clSetMemObjectDestructorCallback "
      "clEnqueueWriteBufferRect clFinish");
}

TEST_F(OpenClCopy, PlanesOfOneRowAreARectangle) {
  Check({16, 1, 5, 100, 0, 128, 7, 0, 64});
  SHIM(shim_reset)();
  Bytes host(kSize);
  Copy(Mem(MakeMem(host)), Host(&host), {{16, 1, 5, 100, 0, 128, 7, 0, 64}});
  EXPECT_NE(Calls().find("clEnqueueReadBufferRect clFinish"), std::string::npos) << Calls();
}

TEST_F(OpenClCopy, BoxesThatOpenClCannotCopyAreSplit) {
  Check({16, 4, 5, 100, 32, 130, 7, 16, 64});  // plane pitch is not a multiple of the row pitch
  Check({16, 4, 5, 100, 32, 64, 7, 16, 64});   // planes overlap
  Check({16, 4, 5, 100, 8, 64, 7, 16, 64});    // rows overlap
  Check({16, 4, 5, 100, 0, 0, 7, 16, 64});     // a repeated row
}

// OpenCL rejects such a copy (CL_INVALID_VALUE) unless the pitches are equal.
TEST_F(OpenClCopy, RectanglesInsideOneBuffer) {
  for (const CopyBox& box :
       {CopyBox{16, 20, 1, 100, 64, 0, 4000, 16, 0}, CopyBox{16, 20, 1, 100, 64, 0, 4000, 64, 0},
        CopyBox{16, 4, 5, 100, 32, 128, 4000, 32, 160},
        CopyBox{16, 4, 5, 100, 32, 256, 4000, 48, 240}}) {
    const Bytes before = Pattern(1);
    Bytes expected = before;
    CopyByHand(box, before, &expected);
    cl_mem mem = MakeMem(before);
    Copy(Mem(mem), Mem(mem), {box});
    EXPECT_EQ(Content(mem), expected);
    ExpectNothingLive();
  }
}

TEST_F(OpenClCopy, RandomBoxes) {
  Random random(7);
  for (size_t round = 0; round < Scaled(150); ++round) {
    CopyBox box = {};
    box.bytes = static_cast<uint64_t>(random.Between(1, 64));
    box.rows = static_cast<uint64_t>(random.Between(1, 6));
    box.planes = static_cast<uint64_t>(random.Between(1, 4));
    box.from_offset = static_cast<uint64_t>(random.Between(0, 1000));
    box.to_offset = static_cast<uint64_t>(random.Between(0, 1000));
    box.from_row_pitch = static_cast<uint64_t>(random.Between(0, 100));
    box.from_plane_pitch = static_cast<uint64_t>(random.Between(0, 1000));
    // Rows of the target must not overlap: otherwise the result depends on the order.
    box.to_row_pitch = box.bytes + static_cast<uint64_t>(random.Between(0, 10));
    box.to_plane_pitch = box.rows * box.to_row_pitch + static_cast<uint64_t>(random.Between(0, 9));
    Check(box);
  }
}

TEST_F(OpenClCopy, ManyBoxesAreOneJob) {
  const Bytes source = Pattern(1);
  Bytes host = source;
  cl_mem mem = MakeMem(Bytes(kSize));
  std::vector<CopyBox> boxes;
  for (uint64_t i = 0; i < 32; ++i) {
    boxes.push_back(Line(kSize / 32, i * kSize / 32, i * kSize / 32));
  }
  Copy(Host(&host), Mem(mem), boxes);
  EXPECT_EQ(Content(mem), source);
}

TEST_F(OpenClCopy, TheCallersQueueOrdersTheCopyAfterItsWork) {
  const Bytes after = Pattern(3);
  cl_command_queue queue = MakeQueue(context_, true);
  cl_mem mem = MakeMem(Bytes(kSize));
  cl_int code = CL_SUCCESS;
  cl_event gate = CL(clCreateUserEvent)(context_, &code);
  EXPECT_EQ(
      CL(clEnqueueWriteBuffer)(queue, mem, CL_FALSE, 0, kSize, after.data(), 1, &gate, nullptr),
      CL_SUCCESS);
  Bytes host(kSize);
  CopyJob job = Job(Mem(mem), Host(&host), queue);
  Error error;
  ASSERT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
  ASSERT_EQ(OpenCl().copy_box(&job, Line(kSize, 0, 0), &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(CL(clSetUserEventStatus)(gate, CL_COMPLETE), CL_SUCCESS);
  ASSERT_EQ(OpenCl().copy_finish(&job, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(host, after);
  EXPECT_EQ(Calls(),
            "clGetMemObjectInfo clGetMemObjectInfo clGetMemObjectInfo clGetCommandQueueInfo "
            "clGetMemObjectInfo clGetCommandQueueInfo clEnqueueBarrierWithWaitList "
            "clEnqueueReadBuffer clFinish");
  EXPECT_EQ(CL(clReleaseEvent)(gate), CL_SUCCESS);
}

TEST_F(OpenClCopy, AnInOrderQueueNeedsNoBarrier) {
  Bytes host = Pattern(1);
  cl_mem mem = MakeMem(Bytes(kSize));
  Copy(Host(&host), Mem(mem), {Line(kSize, 0, 0)}, MakeQueue(context_));
  EXPECT_EQ(Calls(),
            "clGetMemObjectInfo clGetMemObjectInfo clGetMemObjectInfo clGetCommandQueueInfo "
            "clGetMemObjectInfo clGetCommandQueueInfo clEnqueueWriteBuffer clFinish");
  EXPECT_EQ(Content(mem), host);
}

// The driver may give the handle of a released queue to the next one.
TEST_F(OpenClCopy, TheOrderOfAQueueIsAskedEachTime) {
  Bytes host = Pattern(1);
  cl_mem mem = MakeMem(Bytes(kSize));
  for (int i = 0; i < 20; ++i) {
    const bool out_of_order = i % 2 != 0;
    const cl_queue_properties properties[] = {
        CL_QUEUE_PROPERTIES,
        out_of_order ? cl_queue_properties(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) : 0, 0};
    cl_int code = CL_SUCCESS;
    cl_command_queue queue =
        CL(clCreateCommandQueueWithProperties)(context_, device_, properties, &code);
    ASSERT_EQ(code, CL_SUCCESS);
    SHIM(shim_reset)();
    Copy(Host(&host), Mem(mem), {Line(kSize, 0, 0)}, queue);
    EXPECT_EQ(Calls().find("clEnqueueBarrierWithWaitList") != std::string::npos, out_of_order);
    EXPECT_EQ(CL(clReleaseCommandQueue)(queue), CL_SUCCESS);
  }
}

TEST_F(OpenClCopy, TheDefaultQueueOfTheTableIsUsed) {
  cl_command_queue queue = MakeQueue(context_);
  const DLBridgeContextEntry entry =
      dlbridge_context_entry_opencl(Device(), platform_, device_, context_, queue);
  uint64_t id = 0;
  Error error;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, &error), DLBRIDGE_OK) << error.message;
  Bytes host = Pattern(1);
  cl_mem mem = MakeMem(Bytes(kSize));
  Copy(Host(&host), Mem(mem), {Line(kSize, 0, 0)});
  EXPECT_EQ(Calls(),
            "clGetMemObjectInfo clGetMemObjectInfo clGetContextInfo clGetContextInfo "
            "clGetMemObjectInfo clGetMemObjectInfo clGetCommandQueueInfo clEnqueueWriteBuffer "
            "clFinish");
  EXPECT_EQ(Content(mem), Pattern(1));
  SHIM(shim_fail)("clGetCommandQueueInfo", CL_OUT_OF_RESOURCES, 1);
  EXPECT_EQ(Begin(Host(&host), Mem(mem), &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_EQ(dlbridge_context_unregister(id, &error), DLBRIDGE_OK) << error.message;
  // No reference to the entry is left.
  EXPECT_EQ(dlbridge_context_release(id, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
}

TEST_F(OpenClCopy, AnImageIsRejected) {
  cl_mem image = MakeImage(context_);
  Bytes host(kSize);
  Error error;
  EXPECT_EQ(Begin(Mem(image), Host(&host), &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message,
               "source.data is a cl_mem of another type: expected a buffer, not an image or pipe");
  EXPECT_EQ(Begin(Host(&host), Mem(image), &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message,
               "spec.target.handle is a cl_mem of another type: expected a buffer, not an image or "
               "pipe");
  ExpectNothingLive();
}

TEST_F(OpenClCopy, AContextThatIsNotTheMemorysIsRejected) {
  Bytes host(kSize);
  CopySide side = Mem(MakeMem(host));
  cl_context other = MakeContext();
  side.buffer.context = reinterpret_cast<uintptr_t>(other);
  char expected[120];
  snprintf(expected, sizeof expected, "is not the context of this cl_mem: expected %p, found %p",
           static_cast<void*>(context_), static_cast<void*>(other));
  Error error;
  EXPECT_EQ(Begin(Host(&host), side, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, std::string("spec.target.context ") + expected);
  EXPECT_EQ(Begin(side, Host(&host), &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, std::string("the source's context ") + expected);
  ExpectNothingLive();
  side.buffer.context = reinterpret_cast<uintptr_t>(context_);
  Copy(Host(&host), side, {Line(kSize, 0, 0)});
}

TEST_F(OpenClCopy, ATargetLabelOfNoDeviceIsRejected) {
  Bytes host(kSize);
  cl_mem mem = MakeMem(host);
  CopySide side = Mem(mem);
  side.device.device_id = static_cast<int32_t>(devices_.size()) + 4;
  for (cl_command_queue queue : {static_cast<cl_command_queue>(nullptr), MakeQueue(context_)}) {
    CopyJob job = Job(Host(&host), side, queue);
    Error error;
    EXPECT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL) << error.message;
    EXPECT_NE(std::string(error.message).find("opencl:" + std::to_string(side.device.device_id)),
              std::string::npos)
        << error.message;
  }
  ExpectNothingLive();
  // The label of a source is the producer's, and not the result's.
  Copy(side, Host(&host), {Line(kSize, 0, 0)});
}

TEST_F(OpenClCopy, TwoContextsAreRejected) {
  cl_mem mem = MakeMem(Bytes(kSize));
  cl_mem other = MakeMem(Bytes(kSize), MakeContext());
  Error error;
  EXPECT_EQ(Begin(Mem(mem), Mem(other), &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("between two contexts"), std::string::npos)
      << error.message;
  ExpectNothingLive();
}

TEST_F(OpenClCopy, EachCallOfTheBeginningThatFailsLeaksNothing) {
  Bytes host(kSize);
  cl_mem mem = MakeMem(host);
  cl_mem other = MakeMem(host);
  struct Failure {
    const char* function;
    int nth;
  };
  for (const Failure& failure : {Failure{"clGetMemObjectInfo", 1}, Failure{"clGetMemObjectInfo", 2},
                                 Failure{"clGetMemObjectInfo", 3}, Failure{"clGetMemObjectInfo", 4},
                                 Failure{"clGetMemObjectInfo", 5}, Failure{"clGetMemObjectInfo", 6},
                                 Failure{"clGetContextInfo", 1}, Failure{"clGetContextInfo", 2},
                                 Failure{"clCreateCommandQueue", 1}}) {
    SHIM(shim_fail)(failure.function, CL_OUT_OF_HOST_MEMORY, failure.nth);
    Error error;
    EXPECT_EQ(Begin(Mem(mem), Mem(other), &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.message,
              std::string(failure.function) + " failed with -6 (CL_OUT_OF_HOST_MEMORY)");
    EXPECT_EQ(SHIM(shim_failed)(), 1);
    ExpectNothingLive();
  }
  SHIM(shim_fail)("clGetMemObjectInfo", CL_OUT_OF_HOST_MEMORY, 2);
  EXPECT_EQ(Begin(Host(&host), Mem(mem), nullptr), DLBRIDGE_ERROR_DRIVER);
  ExpectNothingLive();
  cl_command_queue queue = MakeQueue(context_, true);
  for (const Failure& failure :
       {Failure{"clGetCommandQueueInfo", 1}, Failure{"clGetCommandQueueInfo", 2},
        Failure{"clEnqueueBarrierWithWaitList", 1}}) {
    SHIM(shim_fail)(failure.function, CL_OUT_OF_HOST_MEMORY, failure.nth);
    CopyJob job = Job(Host(&host), Mem(mem), queue);
    Error error;
    EXPECT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.message,
              std::string(failure.function) + " failed with -6 (CL_OUT_OF_HOST_MEMORY)");
  }
}

TEST_F(OpenClCopy, EachCallOfABoxThatFailsIsReported) {
  Bytes host(kSize);
  const CopySide at_host = Host(&host);
  const CopySide one = Mem(MakeMem(host));
  const CopySide other = Mem(MakeMem(host));
  const CopyBox line = Line(64, 0, 0);
  const CopyBox box = {16, 4, 1, 0, 32, 0, 0, 16, 0};
  struct Case {
    const char* function;
    CopySide from;
    CopySide to;
    CopyBox box;
  };
  const Case cases[] = {{"clEnqueueWriteBuffer", at_host, one, line},
                        {"clEnqueueReadBuffer", one, at_host, line},
                        {"clEnqueueCopyBuffer", one, other, line},
                        {"clEnqueueWriteBufferRect", at_host, one, box},
                        {"clEnqueueReadBufferRect", one, at_host, box},
                        {"clEnqueueCopyBufferRect", one, other, box}};
  for (const Case& one_case : cases) {
    CopyJob job = Job(one_case.from, one_case.to);
    Error error;
    ASSERT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    SHIM(shim_fail)(one_case.function, CL_MEM_OBJECT_ALLOCATION_FAILURE, 1);
    EXPECT_EQ(OpenCl().copy_box(&job, one_case.box, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.message, std::string(one_case.function) +
                                 " failed with -4 (CL_MEM_OBJECT_ALLOCATION_FAILURE)");
    EXPECT_EQ(SHIM(shim_failed)(), 1);
    EXPECT_EQ(OpenCl().copy_finish(&job, &error), DLBRIDGE_OK);
    ExpectNothingLive();
  }
}

TEST_F(OpenClCopy, EachCallOfTheEndThatFailsIsReportedAndLeaksNothing) {
  Bytes host(kSize);
  cl_mem mem = MakeMem(host);
  for (const char* function : {"clFinish", "clReleaseCommandQueue"}) {
    CopyJob job = Job(Host(&host), Mem(mem));
    Error error;
    // So that the queue is not kept.
    SHIM(shim_fail)("clSetMemObjectDestructorCallback", CL_OUT_OF_HOST_MEMORY, 1);
    ASSERT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    SHIM(shim_fail)(function, CL_OUT_OF_RESOURCES, 1);
    EXPECT_EQ(OpenCl().copy_finish(&job, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.message, std::string(function) + " failed with -5 (CL_OUT_OF_RESOURCES)");
    ExpectNothingLive();
  }
}

// ------------------------------------------------------------------------------------ kept queues

TEST_F(OpenClCopy, AQueueIsKeptForTheNextCopy) {
  Bytes host = Pattern(1);
  cl_mem mem = MakeMem(Bytes(kSize));
  for (int i = 0; i < 3; ++i) {
    SHIM(shim_reset)();
    Copy(Host(&host), Mem(mem), {Line(kSize, 0, 0)});
    EXPECT_EQ(Calls().find("clCreateCommandQueue") != std::string::npos, i == 0) << Calls();
    EXPECT_EQ(Calls().find("clReleaseCommandQueue"), std::string::npos) << Calls();
    EXPECT_EQ(KeptQueues(), 1);
  }
  EXPECT_EQ(Content(mem), host);
}

TEST_F(OpenClCopy, OneQueueIsKeptForEachContext) {
  Bytes host = Pattern(1);
  cl_context other = MakeContext();
  cl_mem mems[] = {MakeMem(Bytes(kSize)), MakeMem(Bytes(kSize)), MakeMem(Bytes(kSize), other)};
  for (int i = 0; i < 3; ++i) {
    for (cl_mem mem : mems) {
      Copy(Host(&host), Mem(mem), {Line(kSize, 0, 0)});
    }
    EXPECT_EQ(KeptQueues(), 2);
  }
}

void CL_CALLBACK CountContext(cl_context /*context*/, void* count) {
  ++*static_cast<std::atomic<int>*>(count);
}

// The context of a kept queue ends with the application's last object in it.
TEST_F(OpenClCopy, AKeptQueueDoesNotKeepItsContext) {
  Bytes host = Pattern(1);
  std::atomic<int> ended = {0};
  for (int i = 0; i < 40; ++i) {
    cl_int code = CL_SUCCESS;
    cl_context context = CL(clCreateContext)(nullptr, 1, &device_, nullptr, nullptr, &code);
    ASSERT_EQ(code, CL_SUCCESS);
    ASSERT_EQ(CL(clSetContextDestructorCallback)(context, CountContext, &ended), CL_SUCCESS);
    cl_mem first = CL(clCreateBuffer)(context, CL_MEM_READ_WRITE, kSize, nullptr, &code);
    cl_mem second = CL(clCreateBuffer)(context, CL_MEM_READ_WRITE, kSize, nullptr, &code);
    Copy(Host(&host), Mem(first), {Line(kSize, 0, 0)});
    Copy(Host(&host), Mem(second), {Line(kSize, 0, 0)});
    EXPECT_EQ(KeptQueues(), 1);
    // The queue is tied to the first buffer; the second still keeps the context.
    EXPECT_EQ(CL(clReleaseMemObject)(first), CL_SUCCESS);
    EXPECT_TRUE(Settles([&] { return KeptQueues() == 0; }));
    Copy(Host(&host), Mem(second), {Line(kSize, 0, 0)});
    EXPECT_EQ(KeptQueues(), 1);
    EXPECT_EQ(CL(clReleaseContext)(context), CL_SUCCESS);
    EXPECT_EQ(ended, i);
    EXPECT_EQ(CL(clReleaseMemObject)(second), CL_SUCCESS);
    EXPECT_TRUE(Settles([&] { return ended == i + 1; }));
    EXPECT_EQ(KeptQueues(), 0);
  }
}

TEST_F(OpenClCopy, AQueueThatIsInUseWhenItsBufferEndsIsReleasedAfterTheCopy) {
  Bytes host = Pattern(1);
  cl_int code = CL_SUCCESS;
  cl_mem first = CL(clCreateBuffer)(context_, CL_MEM_READ_WRITE, kSize, nullptr, &code);
  cl_mem second = MakeMem(Bytes(kSize));
  Copy(Host(&host), Mem(first), {Line(kSize, 0, 0)});
  CopyJob job = Job(Host(&host), Mem(second));
  Error error;
  ASSERT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(CL(clReleaseMemObject)(first), CL_SUCCESS);
  EXPECT_EQ(OpenCl().copy_box(&job, Line(kSize, 0, 0), &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(KeptQueues(), 1);
  EXPECT_EQ(OpenCl().copy_finish(&job, &error), DLBRIDGE_OK) << error.message;
  EXPECT_TRUE(Settles([&] { return KeptQueues() == 0; }));
  EXPECT_EQ(Content(second), host);
}

TEST_F(OpenClCopy, AKeptQueueThatFailsIsReleased) {
  Bytes host = Pattern(1);
  cl_mem mem = MakeMem(Bytes(kSize));
  Copy(Host(&host), Mem(mem), {Line(kSize, 0, 0)});
  CopyJob job = Job(Host(&host), Mem(mem));
  Error error;
  ASSERT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
  SHIM(shim_fail)("clFinish", CL_OUT_OF_RESOURCES, 1);
  EXPECT_EQ(OpenCl().copy_finish(&job, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_EQ(KeptQueues(), 0);
  Copy(Host(&host), Mem(mem), {Line(kSize, 0, 0)});
  EXPECT_EQ(KeptQueues(), 0);  // until the buffer ends
  EXPECT_EQ(Content(mem), host);
}

TEST_F(OpenClCopy, ManyContextsKeepFewQueues) {
  Bytes host = Pattern(1);
  for (int i = 0; i < 30; ++i) {
    Copy(Host(&host), Mem(MakeMem(Bytes(kSize), MakeContext())), {Line(kSize, 0, 0)});
  }
  EXPECT_EQ(KeptQueues(), 16);
}

TEST_F(OpenClCopy, ThreadsShareTheKeptQueue) {
  const Bytes source = Pattern(1);
  std::vector<std::thread> threads;
  std::atomic<int> failures = {0};
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Bytes from = source;
        Bytes to(kSize);
        cl_int code = CL_SUCCESS;
        cl_mem mem = CL(clCreateBuffer)(context_, CL_MEM_READ_WRITE, kSize, nullptr, &code);
        Copy(Host(&from), Mem(mem), {Line(kSize, 0, 0)});
        Copy(Mem(mem), Host(&to), {Line(kSize, 0, 0)});
        failures += to == source ? 0 : 1;
        failures += CL(clReleaseMemObject)(mem) == CL_SUCCESS ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, 0);
  EXPECT_TRUE(Settles([&] { return KeptQueues() == 0; }));
}

class OpenClUsmCopy : public OpenClCopy {
 protected:
  void SetUp() override {
    World::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (!HasUsm(platform_)) {
      GTEST_SKIP() << "this driver has no unified shared memory";
    }
    one_ = Allocate();
    other_ = Allocate();
  }
  void TearDown() override {
    for (void* memory : {one_, other_}) {
      if (memory != nullptr) {
        EXPECT_EQ(Extension<clMemBlockingFreeINTEL_fn>("clMemBlockingFreeINTEL")(context_, memory),
                  CL_SUCCESS);
      }
    }
    World::TearDown();
  }

  template <class Function>
  Function Extension(const char* name) {
    return reinterpret_cast<Function>(
        CL(clGetExtensionFunctionAddressForPlatform)(platform_, name));
  }

  void* Allocate() {
    void* memory = Extension<clDeviceMemAllocINTEL_fn>("clDeviceMemAllocINTEL")(
        context_, device_, nullptr, kSize, 0, nullptr);
    EXPECT_NE(memory, nullptr);
    return memory;
  }

  CopySide Usm(void* memory, cl_context context) const {
    return {false, {kDLOneAPI, 0}, dlbridge_buffer_cl_usm(memory, context)};
  }

  void* one_ = nullptr;
  void* other_ = nullptr;
};

TEST_F(OpenClUsmCopy, RunsAndRows) {
  for (const CopyBox& box :
       {Line(kSize, 0, 0), Line(1000, 3, 77), CopyBox{16, 20, 1, 100, 64, 0, 7, 16, 0},
        CopyBox{16, 4, 5, 100, 32, 128, 7, 16, 64}, CopyBox{16, 1, 5, 100, 0, 128, 7, 0, 64}}) {
    Bytes source = Pattern(1);
    Bytes target = Pattern(2);
    Bytes expected = target;
    CopyByHand(box, source, &expected);
    // The box is applied once on each of three ways: within the device, to it, and from it.
    Copy(Host(&source), Usm(one_, context_), {Line(kSize, 0, 0)});
    Copy(Host(&target), Usm(other_, context_), {Line(kSize, 0, 0)});
    Copy(Usm(one_, context_), Usm(other_, context_), {box});
    Bytes seen(kSize);
    Copy(Usm(other_, context_), Host(&seen), {Line(kSize, 0, 0)});
    EXPECT_EQ(seen, expected);

    Copy(Host(&target), Usm(other_, context_), {Line(kSize, 0, 0)});
    Copy(Host(&source), Usm(other_, context_), {box});
    Copy(Usm(other_, context_), Host(&seen), {Line(kSize, 0, 0)});
    EXPECT_EQ(seen, expected);

    seen = target;
    Copy(Usm(one_, context_), Host(&seen), {box});
    EXPECT_EQ(seen, expected);
  }
  ExpectNothingLive();
}

TEST_F(OpenClUsmCopy, AContextIsNeededUnlessAQueueIsGiven) {
  Bytes host = Pattern(1);
  Error error;
  EXPECT_EQ(Begin(Host(&host), Usm(one_, nullptr), &error), DLBRIDGE_ERROR_NOT_FOUND);
  EXPECT_NE(std::string(error.message).find("register the one"), std::string::npos)
      << error.message;
  Copy(Host(&host), Usm(one_, nullptr), {Line(kSize, 0, 0)}, MakeQueue(context_));
  Bytes seen(kSize);
  Copy(Usm(one_, context_), Host(&seen), {Line(kSize, 0, 0)});
  EXPECT_EQ(seen, host);
}

TEST_F(OpenClUsmCopy, AQueueOfAnotherContextThanTheNamedOneIsRejected) {
  Bytes host(kSize);
  CopyJob job = Job(Host(&host), Usm(one_, MakeContext()), MakeQueue(context_));
  Error error;
  EXPECT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("another cl_context than the memory"),
            std::string::npos)
      << error.message;
}

TEST_F(OpenClUsmCopy, BetweenUsmAndABufferIsRejected) {
  cl_mem mem = MakeMem(Bytes(kSize));
  Error error;
  EXPECT_EQ(Begin(Usm(one_, context_), Mem(mem), &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("between a cl_mem and USM"), std::string::npos)
      << error.message;
  EXPECT_EQ(Begin(Mem(mem), Usm(one_, context_), &error), DLBRIDGE_ERROR_UNSUPPORTED);
}

TEST_F(OpenClUsmCopy, EachCallThatFailsIsReported) {
  Bytes host(kSize);
  for (int nth = 1; nth <= 4; ++nth) {
    SHIM(shim_fail)("clGetMemAllocInfoINTEL", CL_OUT_OF_RESOURCES, nth);
    Error error;
    EXPECT_EQ(Begin(Host(&host), Usm(one_, context_), &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(SHIM(shim_failed)(), 1);
  }
  CopyJob job = Job(Host(&host), Usm(one_, context_));
  Error error;
  ASSERT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
  SHIM(shim_fail)("clEnqueueMemcpyINTEL", CL_OUT_OF_RESOURCES, 2);
  EXPECT_EQ(OpenCl().copy_box(&job, {16, 4, 1, 0, 32, 0, 0, 16, 0}, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_STREQ(error.message, "clEnqueueMemcpyINTEL failed with -5 (CL_OUT_OF_RESOURCES)");
  EXPECT_EQ(OpenCl().copy_finish(&job, &error), DLBRIDGE_OK);
  ExpectNothingLive();
}

}  // namespace
}  // namespace dlbridge_test
