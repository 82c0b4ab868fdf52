// SPDX-License-Identifier: Apache-2.0
// Marks of a queue's work, and copies that end with a mark. A user event that the test sets holds
// back the work.
#include <vector>

#include "device/opencl_world.h"
#include "native/backend.h"
#include "support/child.h"

namespace dlbridge_test {
namespace {

using dlbridge::CopyBox;
using dlbridge::CopyJob;
using dlbridge::StreamMark;
using Bytes = std::vector<uint8_t>;

constexpr size_t kSize = 4096;

const dlbridge::Backend& OpenCl() { return dlbridge::kOpenClBackend; }

class OpenClMark : public World {
 protected:
  static DLBridgeStream Stream(cl_command_queue queue) {
    return dlbridge_stream_opencl(queue, {kDLOpenCL, 0});
  }

  cl_event Gate() {
    cl_int code = CL_SUCCESS;
    cl_event gate = CL(clCreateUserEvent)(context_, &code);
    EXPECT_EQ(code, CL_SUCCESS);
    return gate;
  }

  static void Open(cl_event gate) {
    EXPECT_EQ(CL(clSetUserEventStatus)(gate, CL_COMPLETE), CL_SUCCESS);
    EXPECT_EQ(CL(clReleaseEvent)(gate), CL_SUCCESS);
  }

  // Fills the buffer once the gate opens.
  static void Fill(cl_command_queue queue, cl_mem mem, cl_event gate, const Bytes& bytes) {
    EXPECT_EQ(
        CL(clEnqueueWriteBuffer)(queue, mem, CL_FALSE, 0, kSize, bytes.data(), 1, &gate, nullptr),
        CL_SUCCESS);
  }

  static StreamMark MarkOf(cl_command_queue queue) {
    StreamMark mark = {};
    Error error;
    EXPECT_EQ(OpenCl().mark(Stream(queue), "stream", &mark, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(mark.backend, DLBRIDGE_BACKEND_OPENCL);
    return mark;
  }

  static bool IsOver(const StreamMark& mark) {
    bool over = false;
    Error error;
    EXPECT_EQ(OpenCl().mark_query(mark, &over, &error), DLBRIDGE_OK) << error.message;
    return over;
  }

  static void Await(const StreamMark& mark) {
    Error error;
    EXPECT_EQ(OpenCl().mark_wait(mark, &error), DLBRIDGE_OK) << error.message;
  }

  CopyJob Job(cl_mem from, Bytes* to, cl_command_queue queue) const {
    CopyJob job = {};
    job.from = {false, {kDLOpenCL, IndexOf(device_)}, dlbridge_buffer_cl_mem(from, nullptr)};
    job.to = {true, {kDLCPU, 0}, dlbridge_buffer_address(to->data())};
    job.stream = Stream(queue);
    return job;
  }

  static void Begin(CopyJob* job) {
    Error error;
    ASSERT_EQ(OpenCl().copy_begin(job, &error), DLBRIDGE_OK) << error.message;
    const CopyBox box = {kSize, 1, 1, 0, 0, 0, 0, 0, 0};
    ASSERT_EQ(OpenCl().copy_box(job, box, &error), DLBRIDGE_OK) << error.message;
  }

  const Bytes after_ = Bytes(kSize, 7);
};

TEST_F(OpenClMark, IsOverWhenAllEarlierWorkIs) {
  for (const bool out_of_order : {false, true}) {
    cl_command_queue queue = MakeQueue(context_, out_of_order);
    cl_mem mem = MakeBuffer(context_, kSize);
    cl_event gate = Gate();
    Fill(queue, mem, gate, after_);
    SHIM(shim_reset)();
    const StreamMark mark = MarkOf(queue);
    EXPECT_EQ(Calls(), "clEnqueueMarkerWithWaitList clFlush");
    EXPECT_FALSE(IsOver(mark));
    EXPECT_FALSE(IsOver(mark));
    Open(gate);
    // The mark submitted the work: neither the test nor the wait flushes the queue.
    EXPECT_TRUE(Settles([&] { return IsOver(mark); }));
    Await(mark);
    EXPECT_TRUE(IsOver(mark));
    OpenCl().mark_free(mark);
    ExpectNothingLive();
  }
}

TEST_F(OpenClMark, OfAnEmptyQueueIsOverSoon) {
  const StreamMark mark = MarkOf(MakeQueue(context_));
  SHIM(shim_reset)();
  Await(mark);
  EXPECT_TRUE(IsOver(mark));
  EXPECT_EQ(Calls(), "clWaitForEvents clGetEventInfo");
  OpenCl().mark_free(mark);
  ExpectNothingLive();
}

TEST_F(OpenClMark, IsFreedBeforeItsWorkIsOver) {
  cl_command_queue queue = MakeQueue(context_);
  cl_event gate = Gate();
  Fill(queue, MakeBuffer(context_, kSize), gate, after_);
  OpenCl().mark_free(MarkOf(queue));
  ExpectNothingLive();
  Open(gate);
}

TEST_F(OpenClMark, DoesNotHoldBackLaterWork) {
  cl_command_queue queue = MakeQueue(context_, true);
  cl_event gate = Gate();
  Fill(queue, MakeBuffer(context_, kSize), gate, after_);
  const StreamMark mark = MarkOf(queue);
  cl_event later = nullptr;
  cl_mem other = MakeBuffer(context_, kSize);
  EXPECT_EQ(
      CL(clEnqueueWriteBuffer)(queue, other, CL_FALSE, 0, kSize, after_.data(), 0, nullptr, &later),
      CL_SUCCESS);
  EXPECT_EQ(CL(clWaitForEvents)(1, &later), CL_SUCCESS);
  EXPECT_FALSE(IsOver(mark));
  Open(gate);
  OpenCl().mark_free(mark);
  EXPECT_EQ(CL(clReleaseEvent)(later), CL_SUCCESS);
}

// PoCL 3.1 ends the process when an event fails.
TEST_F(OpenClMark, OfFailedWorkIsOver) {
  if (!HasUsm(platform_)) {
    GTEST_SKIP() << "PoCL does not survive an event that fails";
  }
  cl_event failed = Gate();
  const StreamMark mark = {DLBRIDGE_BACKEND_OPENCL, {reinterpret_cast<uintptr_t>(failed), 0, 0, 0}};
  EXPECT_FALSE(IsOver(mark));
  EXPECT_EQ(CL(clSetUserEventStatus)(failed, CL_OUT_OF_RESOURCES), CL_SUCCESS);
  EXPECT_TRUE(IsOver(mark));
  EXPECT_EQ(CL(clWaitForEvents)(1, &failed), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  Await(mark);
  EXPECT_EQ(CL(clReleaseEvent)(failed), CL_SUCCESS);
}

TEST_F(OpenClMark, EachCallThatFailsIsReportedAndLeaksNothing) {
  cl_command_queue queue = MakeQueue(context_);
  for (const char* function : {"clEnqueueMarkerWithWaitList", "clFlush"}) {
    SHIM(shim_fail)(function, CL_OUT_OF_RESOURCES, 1);
    StreamMark mark = {};
    Error error;
    EXPECT_EQ(OpenCl().mark(Stream(queue), "stream", &mark, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.message, std::string(function) + " failed with -5 (CL_OUT_OF_RESOURCES)");
    ExpectNothingLive();
  }
  const StreamMark mark = MarkOf(queue);
  Error error;
  bool over = false;
  SHIM(shim_fail)("clGetEventInfo", CL_INVALID_EVENT, 1);
  EXPECT_EQ(OpenCl().mark_query(mark, &over, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_STREQ(error.message, "clGetEventInfo failed with -58 (CL_INVALID_EVENT)");
  SHIM(shim_fail)("clWaitForEvents", CL_INVALID_EVENT, 1);
  EXPECT_EQ(OpenCl().mark_wait(mark, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_STREQ(error.message, "clWaitForEvents failed with -58 (CL_INVALID_EVENT)");
  OpenCl().mark_free(mark);
  ExpectNothingLive();
}

TEST_F(OpenClMark, AForkedChildCallsNoDriver) {
  const StreamMark mark = MarkOf(MakeQueue(context_));
  SHIM(shim_reset)();
  EXPECT_TRUE(InChild([&] {
    OpenCl().mark_free(mark);
    EXPECT_EQ(Calls(), "");
  }));
  Await(mark);
  OpenCl().mark_free(mark);
}

// ------------------------------------------------------------------------------ submitted copies

TEST_F(OpenClMark, ACopyIsSubmittedWithoutAWait) {
  for (const bool out_of_order : {false, true}) {
    cl_command_queue queue = MakeQueue(context_, out_of_order);
    cl_mem mem = MakeBuffer(context_, kSize);
    cl_event gate = Gate();
    Fill(queue, mem, gate, after_);
    Bytes host(kSize);
    CopyJob job = Job(mem, &host, queue);
    Begin(&job);
    SHIM(shim_reset)();
    StreamMark mark = {};
    Error error;
    ASSERT_EQ(OpenCl().copy_submit(&job, &mark, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(Calls(), out_of_order ? "clEnqueueBarrierWithWaitList clFlush"
                                    : "clEnqueueMarkerWithWaitList clFlush");
    EXPECT_FALSE(IsOver(mark));
    EXPECT_EQ(host, Bytes(kSize));
    Open(gate);
    Await(mark);
    EXPECT_EQ(host, after_);
    OpenCl().mark_free(mark);
    ExpectNothingLive();
  }
}

// On an in-order queue the only command of a copy marks it.
TEST_F(OpenClMark, ACopyOfOneCommandNeedsNoMarker) {
  cl_command_queue queue = MakeQueue(context_);
  cl_mem mem = MakeBuffer(context_, kSize);
  for (const int commands : {1, 2}) {
    cl_event gate = Gate();
    Fill(queue, mem, gate, after_);
    Bytes host(kSize);
    CopyJob job = Job(mem, &host, queue);
    job.marked = true;
    Error error;
    ASSERT_EQ(OpenCl().copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    SHIM(shim_reset)();
    for (int i = 0; i < commands; ++i) {
      const uint64_t bytes = kSize / static_cast<uint64_t>(commands);
      const uint64_t offset = bytes * static_cast<uint64_t>(i);
      ASSERT_EQ(OpenCl().copy_box(&job, {bytes, 1, 1, offset, 0, 0, offset, 0, 0}, &error),
                DLBRIDGE_OK);
    }
    StreamMark mark = {};
    ASSERT_EQ(OpenCl().copy_submit(&job, &mark, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(Calls(), commands == 1 ? "clEnqueueReadBuffer clFlush"
                                     : "clEnqueueReadBuffer clReleaseEvent clEnqueueReadBuffer "
                                       "clEnqueueMarkerWithWaitList clFlush");
    EXPECT_FALSE(IsOver(mark));
    Open(gate);
    Await(mark);
    EXPECT_EQ(host, after_);
    OpenCl().mark_free(mark);
    ExpectNothingLive();
  }
}

// A copy that fails after its first command leaves no event.
TEST_F(OpenClMark, TheEventOfACopyThatFailsIsReleased) {
  cl_command_queue queue = MakeQueue(context_);
  Bytes host(kSize);
  CopyJob job = Job(MakeBuffer(context_, kSize, host.data()), &host, queue);
  job.marked = true;
  Begin(&job);
  EXPECT_EQ(OpenCl().copy_finish(&job, nullptr), DLBRIDGE_OK);
  ExpectNothingLive();
}

// Also on an out-of-order queue, where only the library's barriers order the three commands.
TEST_F(OpenClMark, LaterWorkOfTheStreamSeesTheCopy) {
  cl_command_queue queue = MakeQueue(context_, true);
  cl_mem from = MakeBuffer(context_, kSize);
  Bytes zeros(kSize);
  cl_mem to = MakeBuffer(context_, kSize, zeros.data());
  cl_event gate = Gate();
  Fill(queue, from, gate, after_);
  Bytes unused;
  CopyJob job = Job(from, &unused, queue);
  job.to = {false, job.from.device, dlbridge_buffer_cl_mem(to, nullptr)};
  Begin(&job);
  StreamMark mark = {};
  ASSERT_EQ(OpenCl().copy_submit(&job, &mark, nullptr), DLBRIDGE_OK);
  Bytes seen(kSize);
  EXPECT_EQ(
      CL(clEnqueueReadBuffer)(queue, to, CL_FALSE, 0, kSize, seen.data(), 0, nullptr, nullptr),
      CL_SUCCESS);
  EXPECT_EQ(CL(clFlush)(queue), CL_SUCCESS);
  Open(gate);
  EXPECT_EQ(CL(clFinish)(queue), CL_SUCCESS);
  EXPECT_EQ(seen, after_);
  OpenCl().mark_free(mark);
}

// The driver keeps temporary buffers and events until the commands that use them are done.
TEST_F(OpenClMark, ACopyThroughATemporaryBufferLeavesNothing) {
  cl_command_queue queue = MakeQueue(context_, true);
  cl_mem mem = MakeBufferOf(context_, CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, kSize, nullptr);
  Bytes content = after_;
  cl_mem source = MakeBuffer(context_, kSize, content.data());
  cl_event gate = Gate();
  EXPECT_EQ(CL(clEnqueueCopyBuffer)(queue, source, mem, 0, 0, kSize, 1, &gate, nullptr),
            CL_SUCCESS);
  Bytes host(kSize);
  CopyJob job = Job(mem, &host, queue);
  Begin(&job);
  StreamMark mark = {};
  ASSERT_EQ(OpenCl().copy_submit(&job, &mark, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(Live().events, 1);  // the mark's
  EXPECT_EQ(Live().mems, 0);
  EXPECT_EQ(host, Bytes(kSize));
  EXPECT_FALSE(IsOver(mark));
  Open(gate);
  Await(mark);
  EXPECT_EQ(host, after_);
  OpenCl().mark_free(mark);
  ExpectNothingLive();
}

TEST_F(OpenClMark, ACopyThatCannotBeMarkedIsWaitedFor) {
  Bytes content = after_;
  cl_mem mem = MakeBuffer(context_, kSize, content.data());
  struct Case {
    const char* function;
    bool out_of_order;
    bool marked;
  };
  for (const Case& one : {Case{"clEnqueueBarrierWithWaitList", true, true},
                          Case{"clEnqueueMarkerWithWaitList", false, false},
                          Case{"clFlush", false, true}, Case{"clFlush", true, true}}) {
    Bytes host(kSize);
    CopyJob job = Job(mem, &host, MakeQueue(context_, one.out_of_order));
    job.marked = one.marked;
    Begin(&job);
    SHIM(shim_fail)(one.function, CL_OUT_OF_RESOURCES, 1);
    StreamMark mark = {};
    Error error;
    EXPECT_EQ(OpenCl().copy_submit(&job, &mark, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.message, std::string(one.function) + " failed with -5 (CL_OUT_OF_RESOURCES)");
    EXPECT_EQ(host, after_);
    ExpectNothingLive();
  }
}

}  // namespace
}  // namespace dlbridge_test
