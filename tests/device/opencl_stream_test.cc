// SPDX-License-Identifier: Apache-2.0
// Handoffs between real queues. A user event that the test sets holds back the producer's work, so
// that the order is observed without waiting for a time.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "device/opencl_world.h"

// Intel's driver keeps the names of a kernel's arguments, and PoCL keeps LLVM's context once it has
// compiled a kernel that its cache lacks. The tests count the references to objects of OpenCL,
// which LeakSanitizer then overlooks. It asks for this text, if it is part of the program.
extern "C" const char* __lsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:Intel::OpenCL::\nleak:libpocl";
}

namespace dlbridge_test {
namespace {

constexpr char kSameContext[] =
    "clGetCommandQueueInfo clGetCommandQueueInfo clEnqueueMarkerWithWaitList clFlush "
    "clEnqueueBarrierWithWaitList clReleaseEvent";
constexpr char kTwoContexts[] =
    "clGetCommandQueueInfo clGetCommandQueueInfo clEnqueueMarkerWithWaitList clFlush "
    "clCreateUserEvent clEnqueueBarrierWithWaitList clSetEventCallback clReleaseEvent";
constexpr char kCallback[] = " clSetUserEventStatus clReleaseEvent";

constexpr size_t kSize = 4096;
constexpr char kBefore = 1;
constexpr char kAfter = 2;

class OpenClStream : public World {
 protected:
  void TearDown() override {
    ReleaseEvents();
    World::TearDown();
  }

  void ReleaseEvents() {
    for (cl_event event : events_) {
      EXPECT_EQ(CL(clReleaseEvent)(event), CL_SUCCESS);
    }
    events_.clear();
  }

  static DLBridgeStream Stream(cl_command_queue queue) {
    return dlbridge_stream_opencl(queue, {kDLOpenCL, 0});
  }

  static DLBridgeStatus Handoff(cl_command_queue producer, cl_command_queue consumer,
                                Error* error) {
    const DLBridgeStream from = Stream(producer);
    const DLBridgeStream to = Stream(consumer);
    return dlbridge_stream_handoff(&from, &to, 0, error);
  }

  void ExpectHandoff(cl_command_queue producer, cl_command_queue consumer) {
    Error error;
    EXPECT_EQ(Handoff(producer, consumer, &error), DLBRIDGE_OK) << error.message;
  }

  cl_event Gate(cl_context context) {
    cl_int code = CL_SUCCESS;
    events_.push_back(CL(clCreateUserEvent)(context, &code));
    EXPECT_EQ(code, CL_SUCCESS);
    return events_.back();
  }

  static void Open(cl_event gate) {
    EXPECT_EQ(CL(clSetUserEventStatus)(gate, CL_COMPLETE), CL_SUCCESS);
  }

  // The producer changes host memory once the gate opens.
  void Produce(cl_command_queue queue, cl_context context, cl_event gate) {
    std::vector<char> content(kSize, kAfter);
    cl_mem mem = MakeBuffer(context, kSize, content.data());
    EXPECT_EQ(
        CL(clEnqueueReadBuffer)(queue, mem, CL_FALSE, 0, kSize, shared_.data(), 1, &gate, nullptr),
        CL_SUCCESS);
  }

  // The consumer copies the host memory to a buffer and back; returns the event of the last step.
  cl_event Consume(cl_command_queue queue, cl_context context) {
    cl_mem mem = MakeBuffer(context, kSize);
    cl_event written = nullptr;
    cl_event read = nullptr;
    EXPECT_EQ(CL(clEnqueueWriteBuffer)(queue, mem, CL_FALSE, 0, kSize, shared_.data(), 0, nullptr,
                                       &written),
              CL_SUCCESS);
    EXPECT_EQ(
        CL(clEnqueueReadBuffer)(queue, mem, CL_FALSE, 0, kSize, seen_.data(), 1, &written, &read),
        CL_SUCCESS);
    EXPECT_EQ(CL(clFlush)(queue), CL_SUCCESS);
    events_.push_back(written);
    events_.push_back(read);
    return read;
  }

  static cl_int StatusOf(cl_event event) {
    cl_int status = 0;
    EXPECT_EQ(CL(clGetEventInfo)(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                 nullptr),
              CL_SUCCESS);
    return status;
  }

  // The callback of a handoff may still be running.
  void AwaitNothingLive() {
    EXPECT_TRUE(Settles([this] { return Live().events == events_before_; }));
    ExpectNothingLive();
  }

  void CheckOrder(cl_context producer, cl_context consumer, bool out_of_order,
                  cl_device_id consumer_device = nullptr) {
    events_before_ = Live().events;
    cl_command_queue from = MakeQueue(producer, out_of_order);
    cl_command_queue to = MakeQueue(consumer, out_of_order, consumer_device);
    cl_event gate = Gate(producer);
    Produce(from, producer, gate);
    ExpectHandoff(from, to);
    const std::string calls = Calls();
    cl_event done = Consume(to, consumer);
    EXPECT_GT(StatusOf(done), CL_COMPLETE);
    Open(gate);
    EXPECT_EQ(CL(clWaitForEvents)(1, &done), CL_SUCCESS);
    EXPECT_EQ(seen_, std::vector<char>(kSize, kAfter));
    AwaitNothingLive();
    if (producer == consumer) {
      EXPECT_EQ(calls, kSameContext);
      EXPECT_EQ(Calls(), kSameContext);
    } else {
      EXPECT_EQ(calls, kTwoContexts);
      EXPECT_EQ(Calls(), std::string(kTwoContexts) + kCallback);
    }
  }

  // Makes one call of a handoff fail; nothing may leak, and both queues continue.
  void CheckFailure(const char* function, int nth, cl_context producer, cl_context consumer) {
    events_before_ = Live().events;
    cl_command_queue from = MakeQueue(producer);
    cl_command_queue to = MakeQueue(consumer);
    cl_event gate = Gate(producer);
    Produce(from, producer, gate);
    SHIM(shim_fail)(function, CL_OUT_OF_RESOURCES, nth);
    Error error;
    EXPECT_EQ(Handoff(from, to, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.message, std::string(function) + " failed with -5 (CL_OUT_OF_RESOURCES)");
    EXPECT_EQ(SHIM(shim_failed)(), 1);
    // The consumer does not wait for a handoff that failed.
    Consume(to, consumer);
    EXPECT_EQ(CL(clFinish)(to), CL_SUCCESS);
    EXPECT_EQ(seen_, std::vector<char>(kSize, kBefore));
    ExpectNothingLive();
    Open(gate);
    EXPECT_EQ(CL(clFinish)(from), CL_SUCCESS);
    ExpectNothingLive();
    shared_.assign(kSize, kBefore);
    seen_.assign(kSize, 0);
  }

  std::vector<char> shared_ = std::vector<char>(kSize, kBefore);
  std::vector<char> seen_ = std::vector<char>(kSize, 0);
  std::vector<cl_event> events_;
  int events_before_ = 0;
};

TEST_F(OpenClStream, InOrderQueuesOfOneContext) { CheckOrder(context_, context_, false); }

TEST_F(OpenClStream, OutOfOrderQueuesOfOneContext) { CheckOrder(context_, context_, true); }

TEST_F(OpenClStream, InOrderQueuesOfTwoContexts) { CheckOrder(context_, MakeContext(), false); }

TEST_F(OpenClStream, OutOfOrderQueuesOfTwoContexts) { CheckOrder(context_, MakeContext(), true); }

TEST_F(OpenClStream, QueuesOfTwoDrivers) {
  for (cl_platform_id platform : platforms_) {
    if (platform != platform_) {
      cl_device_id device = FirstDevice(platform);
      CheckOrder(context_, MakeContext(device), false, device);
      return;
    }
  }
  GTEST_SKIP() << "there is one driver only";
}

TEST_F(OpenClStream, AnInOrderQueueNeedsNoBarrierForItself) {
  cl_command_queue queue = MakeQueue(context_);
  ExpectHandoff(queue, queue);
  EXPECT_EQ(Calls(), "clGetCommandQueueInfo");
}

TEST_F(OpenClStream, AnOutOfOrderQueueWaitsForItself) {
  cl_command_queue queue = MakeQueue(context_, true);
  cl_event gate = Gate(context_);
  Produce(queue, context_, gate);
  ExpectHandoff(queue, queue);
  EXPECT_EQ(Calls(), "clGetCommandQueueInfo clEnqueueBarrierWithWaitList");
  cl_event done = Consume(queue, context_);
  EXPECT_GT(StatusOf(done), CL_COMPLETE);
  Open(gate);
  EXPECT_EQ(CL(clWaitForEvents)(1, &done), CL_SUCCESS);
  EXPECT_EQ(seen_, std::vector<char>(kSize, kAfter));
  ExpectNothingLive();
}

TEST_F(OpenClStream, EachCallForTheSameQueueThatFailsIsReported) {
  cl_command_queue queue = MakeQueue(context_, true);
  for (const char* function : {"clGetCommandQueueInfo", "clEnqueueBarrierWithWaitList"}) {
    SHIM(shim_fail)(function, CL_OUT_OF_RESOURCES, 1);
    Error error;
    EXPECT_EQ(Handoff(queue, queue, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.message, std::string(function) + " failed with -5 (CL_OUT_OF_RESOURCES)");
  }
}

// A kernel that takes long writes 7 to every element; the consumer reads without any other order.
class OpenClKernel : public OpenClStream {
 protected:
  static constexpr size_t kItems = 4096;

  void SetUp() override {
    OpenClStream::SetUp();
    if (IsSkipped()) {
      return;
    }
    const char* source =
        "__kernel void slow(__global int* out, int rounds) {"
        "  int i = get_global_id(0), value = i;"
        "  for (int k = 0; k < rounds; ++k) value = value * 1664525 + 1013904223;"
        "  out[i] = value == 12345 ? 1 : 7;"
        "}";
    cl_int code = CL_SUCCESS;
    program_ = CL(clCreateProgramWithSource)(context_, 1, &source, nullptr, &code);
    ASSERT_EQ(CL(clBuildProgram)(program_, 1, &device_, "", nullptr, nullptr), CL_SUCCESS);
    kernel_ = CL(clCreateKernel)(program_, "slow", &code);
    ASSERT_EQ(code, CL_SUCCESS);
    mem_ = MakeBuffer(context_, kItems * sizeof(cl_int));
    const cl_int rounds = 500;
    CL(clSetKernelArg)(kernel_, 0, sizeof(cl_mem), &mem_);
    CL(clSetKernelArg)(kernel_, 1, sizeof rounds, &rounds);
  }

  void TearDown() override {
    if (kernel_ != nullptr) {
      EXPECT_EQ(CL(clReleaseKernel)(kernel_), CL_SUCCESS);
      EXPECT_EQ(CL(clReleaseProgram)(program_), CL_SUCCESS);
    }
    OpenClStream::TearDown();
  }

  // Returns the number of elements that the consumer sees without the kernel's result.
  int WrongOnce(cl_command_queue producer, cl_command_queue consumer) {
    const cl_int zero = 0;
    const size_t items = kItems;
    EXPECT_EQ(CL(clEnqueueFillBuffer)(producer, mem_, &zero, sizeof zero, 0, kItems * sizeof zero,
                                      0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(CL(clFinish)(producer), CL_SUCCESS);
    EXPECT_EQ(CL(clEnqueueNDRangeKernel)(producer, kernel_, 1, nullptr, &items, nullptr, 0, nullptr,
                                         nullptr),
              CL_SUCCESS);
    EXPECT_EQ(CL(clFlush)(producer), CL_SUCCESS);
    ExpectHandoff(producer, consumer);
    std::vector<cl_int> seen(kItems);
    EXPECT_EQ(CL(clEnqueueReadBuffer)(consumer, mem_, CL_TRUE, 0, kItems * sizeof(cl_int),
                                      seen.data(), 0, nullptr, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(CL(clFinish)(producer), CL_SUCCESS);
    int wrong = 0;
    for (const cl_int value : seen) {
      wrong += value != 7 ? 1 : 0;
    }
    return wrong;
  }

  int WrongIn100Runs(cl_command_queue producer, cl_command_queue consumer) {
    int wrong = 0;
    for (int run = 0; run < 100; ++run) {
      wrong += WrongOnce(producer, consumer);
    }
    return wrong;
  }

 private:
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  cl_mem mem_ = nullptr;
};

TEST_F(OpenClKernel, AnOutOfOrderQueueSeesItsOwnWork) {
  cl_command_queue queue = MakeQueue(context_, true);
  EXPECT_EQ(WrongIn100Runs(queue, queue), 0);
}

TEST_F(OpenClKernel, AnotherQueueSeesTheWork) {
  EXPECT_EQ(WrongIn100Runs(MakeQueue(context_, true), MakeQueue(context_, true)), 0);
}

// The names that each operation gives a stream with a false label.
TEST_F(OpenClStream, ADeviceThatDoesNotExistIsRejected) {
  const DLDevice unknown = {kDLOpenCL, static_cast<int32_t>(devices_.size()) + 4};
  const DLBridgeStream good = dlbridge_stream_opencl(MakeQueue(context_), {kDLOpenCL, 0});
  const DLBridgeStream other = dlbridge_stream_opencl(MakeQueue(context_), {kDLOpenCL, 0});
  DLBridgeStream bad = dlbridge_stream_opencl(MakeQueue(context_), unknown);
  const std::string expected =
      " must name the device of its queue, opencl:" + std::to_string(IndexOf(device_)) +
      ", found opencl:" + std::to_string(unknown.device_id);
  Error error;
  EXPECT_EQ(dlbridge_stream_handoff(&bad, &good, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, "producer" + expected);
  EXPECT_EQ(dlbridge_stream_handoff(&good, &bad, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, "consumer" + expected);
  EXPECT_EQ(dlbridge_stream_handoff(&bad, &bad, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, "stream" + expected);
  EXPECT_EQ(dlbridge_stream_synchronize(&bad, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, "stream" + expected);
  char unused = 0;
  const DLBridgeStream streams[] = {good, other, bad};
  EXPECT_EQ(dlbridge_release_after(&unused, DLBRIDGE_KIND_VERSIONED, streams, 3, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, "streams[2]" + expected);
  EXPECT_EQ(Calls().find("clEnqueueBarrier"), std::string::npos) << Calls();
  ExpectNothingLive();
  // A stream need not name its device.
  bad.device = {static_cast<DLDeviceType>(0), 0};
  EXPECT_EQ(dlbridge_stream_handoff(&bad, &good, 0, &error), DLBRIDGE_OK) << error.message;
}

TEST_F(OpenClStream, ADeviceThatWasRegisteredForAnotherIsRejected) {
  cl_device_id other = nullptr;
  for (cl_device_id device : devices_) {
    other = device != device_ ? device : other;
  }
  if (other == nullptr) {
    GTEST_SKIP() << "there is one device only";
  }
  const DLDevice label = {kDLOpenCL, 30};
  const DLBridgeContextEntry entry =
      dlbridge_context_entry_opencl(label, nullptr, other, MakeContext(other), nullptr);
  uint64_t id = 0;
  Error error;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, &error), DLBRIDGE_OK) << error.message;
  const DLBridgeStream stream = dlbridge_stream_opencl(MakeQueue(context_), label);
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, "stream must name the device of its queue, opencl:" +
                               std::to_string(IndexOf(device_)) + ", found opencl:30");
  SHIM(shim_fail)("clGetCommandQueueInfo", CL_INVALID_COMMAND_QUEUE, 1);
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
}

TEST_F(OpenClStream, AContextThatIsNotTheQueuesIsRejected) {
  const DLBridgeStream good = dlbridge_stream_opencl(MakeQueue(context_), {kDLOpenCL, 0});
  DLBridgeStream stream = dlbridge_stream_opencl(MakeQueue(context_), {kDLOpenCL, 0});
  cl_context other = MakeContext();
  stream.context = reinterpret_cast<uintptr_t>(other);
  char expected[160];
  snprintf(expected, sizeof expected, " must have the context of its queue, %p, or 0, found %p",
           static_cast<void*>(context_), static_cast<void*>(other));
  Error error;
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, std::string("stream") + expected);
  EXPECT_EQ(dlbridge_stream_handoff(&good, &stream, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.message, std::string("consumer") + expected);
  stream.context = reinterpret_cast<uintptr_t>(context_);
  EXPECT_EQ(dlbridge_stream_handoff(&good, &stream, 0, &error), DLBRIDGE_OK) << error.message;
}

TEST_F(OpenClStream, TheHostWaits) {
  cl_command_queue queue = MakeQueue(context_);
  const DLBridgeStream from = Stream(queue);
  const DLBridgeStream host = {DLBRIDGE_BACKEND_NONE, DLBRIDGE_STREAM_HOST, {kDLCPU, 0}, 0, 0, 0};
  Error error;
  EXPECT_EQ(dlbridge_stream_synchronize(&from, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Calls(), "clFinish");
  SHIM(shim_reset)();
  EXPECT_EQ(dlbridge_stream_handoff(&from, &host, 0, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Calls(), "clFinish");
  SHIM(shim_fail)("clFinish", CL_INVALID_COMMAND_QUEUE, 1);
  EXPECT_EQ(dlbridge_stream_synchronize(&from, &error), DLBRIDGE_ERROR_DRIVER);
  EXPECT_STREQ(error.message, "clFinish failed with -36 (CL_INVALID_COMMAND_QUEUE)");
}

// The further fate of the consumer's work depends on the driver: Intel's runs it, PoCL 3.1 ends the
// process when an event fails. The test only checks that the wait ends.
TEST_F(OpenClStream, TheConsumersWaitEndsWhenTheProducerFails) {
  if (!HasUsm(platform_)) {
    GTEST_SKIP() << "PoCL does not survive an event that fails";
  }
  events_before_ = Live().events;
  cl_context other = MakeContext();
  cl_command_queue from = MakeQueue(context_);
  cl_command_queue to = MakeQueue(other);
  cl_event gate = Gate(context_);
  Produce(from, context_, gate);
  SHIM(shim_fail_event)(CL_OUT_OF_RESOURCES);
  ExpectHandoff(from, to);
  Consume(to, other);
  Open(gate);
  EXPECT_EQ(CL(clFinish)(to), CL_SUCCESS);
  EXPECT_EQ(SHIM(shim_user_event_status)(), CL_OUT_OF_RESOURCES);
  AwaitNothingLive();
}

TEST_F(OpenClStream, ReferencesDoNotAccumulate) {
  for (cl_context consumer : {context_, MakeContext()}) {
    events_before_ = Live().events;
    cl_command_queue from = MakeQueue(context_);
    cl_command_queue to = MakeQueue(consumer);
    using Counts = std::vector<cl_uint>;
    const auto counts = [&] {
      return Counts{References(from, CL(clGetCommandQueueInfo), CL_QUEUE_REFERENCE_COUNT),
                    References(to, CL(clGetCommandQueueInfo), CL_QUEUE_REFERENCE_COUNT),
                    References(context_, CL(clGetContextInfo), CL_CONTEXT_REFERENCE_COUNT),
                    References(consumer, CL(clGetContextInfo), CL_CONTEXT_REFERENCE_COUNT)};
    };
    const Counts before = counts();
    for (int round = 0; round < 100; ++round) {
      ExpectHandoff(from, to);
      EXPECT_EQ(CL(clFinish)(to), CL_SUCCESS);
      EXPECT_EQ(CL(clFinish)(from), CL_SUCCESS);
      AwaitNothingLive();
    }
    EXPECT_TRUE(Settles([&] { return counts() == before; }));
  }
}

TEST_F(OpenClStream, EachCallThatFailsLeaksNothing) {
  CheckFailure("clGetCommandQueueInfo", 1, context_, context_);
  CheckFailure("clGetCommandQueueInfo", 2, context_, context_);
  CheckFailure("clEnqueueMarkerWithWaitList", 1, context_, context_);
  CheckFailure("clFlush", 1, context_, context_);
  CheckFailure("clEnqueueBarrierWithWaitList", 1, context_, context_);
}

TEST_F(OpenClStream, EachCallThatFailsLeaksNothingInTwoContexts) {
  cl_context other = MakeContext();
  CheckFailure("clEnqueueMarkerWithWaitList", 1, context_, other);
  CheckFailure("clFlush", 1, context_, other);
  CheckFailure("clCreateUserEvent", 1, context_, other);
  CheckFailure("clEnqueueBarrierWithWaitList", 1, context_, other);
  CheckFailure("clSetEventCallback", 1, context_, other);
}

TEST_F(OpenClStream, AFailedReleaseIsIgnored) {
  cl_command_queue from = MakeQueue(context_);
  cl_command_queue to = MakeQueue(context_);
  ExpectHandoff(from, to);
  SHIM(shim_fail)("clReleaseEvent", CL_INVALID_EVENT, 1);
  ExpectHandoff(from, to);
  EXPECT_EQ(SHIM(shim_failed)(), 1);
  ExpectNothingLive();
}

TEST_F(OpenClStream, ManyThreadsHandOverConcurrently) {
  cl_context other = MakeContext();
  cl_command_queue from = MakeQueue(context_);
  cl_command_queue to = MakeQueue(other);
  std::atomic<int> failures = {0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Error error;
        failures += Handoff(from, to, &error) != DLBRIDGE_OK ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(CL(clFinish)(from), CL_SUCCESS);
  EXPECT_EQ(CL(clFinish)(to), CL_SUCCESS);
  AwaitNothingLive();
}

}  // namespace
}  // namespace dlbridge_test
