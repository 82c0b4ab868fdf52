// SPDX-License-Identifier: Apache-2.0
// Streams without a driver: the integers of the array API, and handoffs that are rejected or need
// no work.
#include <gtest/gtest.h>

#include <initializer_list>

#include "dlbridge/dlbridge.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

constexpr int64_t kNone = DLBRIDGE_ARRAY_API_STREAM_NONE;

struct Answer {
  DLBridgeStatus status = DLBRIDGE_OK;
  DLBridgeStream stream = {-1, -1, {kDLCPU, -1}, 77, 77, 77};
  Error error;
};

Answer Ask(int32_t type, int64_t integer, int32_t id = 0) {
  Answer answer;
  answer.status =
      dlbridge_stream_from_array_api(Device(type, id), integer, &answer.stream, &answer.error);
  return answer;
}

void ExpectQueue(const Answer& answer, DLBridgeBackend backend, uint64_t handle) {
  EXPECT_EQ(answer.status, DLBRIDGE_OK) << answer.error.message;
  EXPECT_EQ(answer.stream.backend, backend);
  EXPECT_EQ(answer.stream.kind, DLBRIDGE_STREAM_QUEUE);
  EXPECT_EQ(answer.stream.handle, handle);
  EXPECT_EQ(answer.stream.context, 0U);
}

void ExpectKind(const Answer& answer, int32_t kind) {
  EXPECT_EQ(answer.status, DLBRIDGE_OK) << answer.error.message;
  EXPECT_EQ(answer.stream.kind, kind);
}

void ExpectRefused(const Answer& answer, DLBridgeStatus status) {
  EXPECT_EQ(answer.status, status);
  EXPECT_EQ(answer.error.status, status);
  EXPECT_TRUE(answer.error.Says("stream")) << answer.error.message;
  EXPECT_EQ(answer.stream.kind, -1) << "an output was written on failure";
}

TEST(StreamFromArrayApi, CudaFollowsTheStandard) {
  for (const int32_t type : {kDLCUDA, kDLCUDAHost, kDLCUDAManaged}) {
    ExpectQueue(Ask(type, kNone), DLBRIDGE_BACKEND_CUDA, 1);
    ExpectQueue(Ask(type, 1), DLBRIDGE_BACKEND_CUDA, 1);
    ExpectQueue(Ask(type, 2), DLBRIDGE_BACKEND_CUDA, 2);
    ExpectQueue(Ask(type, 3), DLBRIDGE_BACKEND_CUDA, 3);
    ExpectQueue(Ask(type, INT64_MAX), DLBRIDGE_BACKEND_CUDA, INT64_MAX);
    ExpectKind(Ask(type, -1), DLBRIDGE_STREAM_NO_SYNC);
    ExpectRefused(Ask(type, 0), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    ExpectRefused(Ask(type, -2), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    ExpectRefused(Ask(type, kNone + 1), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(Ask(kDLCUDA, 1, 5).stream.device.device_id, 5);
}

TEST(StreamFromArrayApi, RocmFollowsTheStandard) {
  for (const int32_t type : {kDLROCM, kDLROCMHost}) {
    ExpectQueue(Ask(type, kNone), DLBRIDGE_BACKEND_HIP, 0);
    ExpectQueue(Ask(type, 0), DLBRIDGE_BACKEND_HIP, 0);
    ExpectQueue(Ask(type, 3), DLBRIDGE_BACKEND_HIP, 3);
    ExpectKind(Ask(type, -1), DLBRIDGE_STREAM_NO_SYNC);
    for (const int64_t wrong : {int64_t{1}, int64_t{2}, int64_t{-2}}) {
      ExpectRefused(Ask(type, wrong), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    }
  }
}

TEST(StreamFromArrayApi, TheCpuAcceptsOnlyNone) {
  ExpectKind(Ask(kDLCPU, kNone), DLBRIDGE_STREAM_HOST);
  for (const int64_t wrong : {int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{4096}}) {
    ExpectRefused(Ask(kDLCPU, wrong), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
}

TEST(StreamFromArrayApi, OtherDevicesRejectIntegers) {
  for (const int32_t type : {int32_t{kDLOneAPI}, int32_t{kDLOpenCL}, int32_t{kDLMetal}, 99, -5}) {
    ExpectKind(Ask(type, kNone), DLBRIDGE_STREAM_HOST);
    ExpectKind(Ask(type, -1), DLBRIDGE_STREAM_NO_SYNC);
    ExpectRefused(Ask(type, 0), DLBRIDGE_ERROR_UNSUPPORTED);
    ExpectRefused(Ask(type, 4096), DLBRIDGE_ERROR_UNSUPPORTED);
  }
}

TEST(StreamFromArrayApi, RejectsANullOutput) {
  Error error;
  EXPECT_EQ(dlbridge_stream_from_array_api(Device(kDLCPU), kNone, nullptr, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
}

DLBridgeStream Stream(DLBridgeBackend backend, int32_t kind, uint64_t handle) {
  return {backend, kind, Device(kDLCPU), handle, 0, 0};
}

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer, Error* error,
                       uint32_t options = 0) {
  return dlbridge_stream_handoff(&producer, &consumer, options, error);
}

const DLBridgeStream kHost = {DLBRIDGE_BACKEND_CPU, DLBRIDGE_STREAM_HOST, {kDLCPU, 0}, 0, 0, 0};
const DLBridgeStream kNoSync = {
    DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_NO_SYNC, {kDLCUDA, 0}, 0, 0, 0};

// The handles are not queues of any driver: a call with them would crash.
TEST(Handoff, NeedsNoDriverWithoutWork) {
  Error error;
  // CUDA's streams are in order.
  const DLBridgeStream queue = Stream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, 64);
  EXPECT_EQ(Handoff(queue, queue, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Handoff(kHost, queue, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Handoff(kNoSync, queue, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Handoff(queue, kNoSync, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Handoff(kHost, kHost, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(dlbridge_stream_synchronize(&kHost, &error), DLBRIDGE_OK) << error.message;
}

void ExpectBothRefuse(const DLBridgeStream& stream, const char* says) {
  Error as_producer;
  EXPECT_EQ(Handoff(stream, kNoSync, &as_producer), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(as_producer.Says("producer")) << as_producer.message;
  EXPECT_TRUE(as_producer.Says(says)) << as_producer.message;
  Error as_consumer;
  EXPECT_EQ(Handoff(kHost, stream, &as_consumer), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(as_consumer.Says("consumer")) << as_consumer.message;
  Error alone;
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &alone), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(alone.Says(says)) << alone.message;
}

TEST(Handoff, RejectsInvalidQueues) {
  const int32_t queue = DLBRIDGE_STREAM_QUEUE;
  ExpectBothRefuse(Stream(DLBRIDGE_BACKEND_CUDA, queue, 0), "legacy default stream");
  ExpectBothRefuse(Stream(DLBRIDGE_BACKEND_OPENCL, queue, 0), "no handle");
  ExpectBothRefuse(Stream(DLBRIDGE_BACKEND_LEVEL_ZERO, queue, 0), "no handle");
  ExpectBothRefuse(Stream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_IMMEDIATE_LIST, 64), "LEVEL_ZERO");
  ExpectBothRefuse(Stream(DLBRIDGE_BACKEND_NONE, queue, 64), "the backend of its queue");
  ExpectBothRefuse(Stream(DLBRIDGE_BACKEND_CPU, queue, 64), "the backend of its queue");
  ExpectBothRefuse(Stream(-1, queue, 64), "the backend of its queue");
  ExpectBothRefuse(Stream(DLBRIDGE_BACKEND_CUDA, 0, 64), "is not set");
  ExpectBothRefuse(Stream(DLBRIDGE_BACKEND_CUDA, -1, 64), "HOST (1)");
  Error error;
  EXPECT_EQ(Handoff(Stream(DLBRIDGE_BACKEND_CUDA, 5, 64), kNoSync, &error), DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_TRUE(error.Says("found 5")) << error.message;
  EXPECT_EQ(Handoff(Stream(99, queue, 64), kNoSync, &error), DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_TRUE(error.Says("found 99")) << error.message;
}

TEST(Handoff, RejectsUnknownOptionsAndMissingArguments) {
  Error error;
  EXPECT_EQ(Handoff(kHost, kHost, &error, 4), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("options"));
  EXPECT_EQ(Handoff(kHost, kHost, &error, 1U << 10), DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_TRUE(error.Says("options"));
  EXPECT_EQ(dlbridge_stream_handoff(nullptr, &kHost, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_stream_handoff(&kHost, nullptr, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_stream_synchronize(nullptr, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_stream_synchronize(&kNoSync, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("NO_SYNC"));
}

TEST(Handoff, BetweenTwoBackendsRequiresAnOption) {
  Error error;
  const DLBridgeStream cuda = Stream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, 1);
  const DLBridgeStream opencl = Stream(DLBRIDGE_BACKEND_OPENCL, DLBRIDGE_STREAM_QUEUE, 64);
  EXPECT_EQ(Handoff(cuda, opencl, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT")) << error.message;
}

}  // namespace
}  // namespace dlbridge_test
