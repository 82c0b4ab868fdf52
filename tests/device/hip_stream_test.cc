// SPDX-License-Identifier: Apache-2.0
// Handoffs between HIP streams: order, driver calls, and rejected handoffs.
#include <thread>
#include <vector>

#include "hip_world.h"

namespace dlbridge_test {
namespace {

DLBridgeStream On(void* stream, int device) {
  return dlbridge_stream_hip(static_cast<hipStream_t>(stream), device);
}

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options = 0, DLBridgeError* error = nullptr) {
  return dlbridge_stream_handoff(&producer, &consumer, options, error);
}

void ExpectHandoff(const DLBridgeStream& producer, const DLBridgeStream& consumer) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Handoff(producer, consumer, 0, &error), DLBRIDGE_OK) << error.message;
}

// The calls of a second handoff, for which the first one left an event in the pool.
std::string WarmCalls(const FakeHip& fake, const DLBridgeStream& producer,
                      const DLBridgeStream& consumer) {
  ExpectHandoff(producer, consumer);
  fake.clear_log();
  ExpectHandoff(producer, consumer);
  return fake.log();
}

HIP_TEST(HipStream, TwoStreamsOfOneDevice) {
  StartHip(fake);
  const DLBridgeStream producer = On(fake.stream(0), 0);
  const DLBridgeStream consumer = On(fake.stream(0), 0);
  EXPECT_EQ(WarmCalls(fake, producer, consumer),
            "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) hipStreamIsCapturing(s2) "
            "hipEventRecord(e1,s1) hipStreamWaitEvent(s2,e1,0)");
}

HIP_TEST(HipStream, TheFirstHandoffMakesAnEvent) {
  StartHip(fake);
  fake.set_device(1);
  const DLBridgeStream producer = On(fake.stream(0), 0);
  ExpectHandoff(producer, On(fake.stream(0), 0));
  EXPECT_EQ(fake.log(),
            "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) hipStreamIsCapturing(s2) "
            "hipGetDevice() hipSetDevice(0) " +
                Relaxed("hipEventCreateWithFlags(2)") +
                " hipEventRecord(e1,s1) hipStreamWaitEvent(s2,e1,0) hipSetDevice(1)");
}

// Only creations and default streams depend on the thread's device.
HIP_TEST(HipStream, TwoDevices) {
  StartHip(fake);
  const DLBridgeStream producer = On(fake.stream(1), 1);
  const DLBridgeStream consumer = On(fake.stream(0), 0);
  EXPECT_EQ(WarmCalls(fake, producer, consumer),
            "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) hipStreamIsCapturing(s2) "
            "hipEventRecord(e1,s1) hipStreamWaitEvent(s2,e1,0)");
}

HIP_TEST(HipStream, TheDefaultStreamOfTheThreadsDevice) {
  StartHip(fake);
  const DLBridgeStream stream = On(fake.stream(0), 0);
  EXPECT_EQ(WarmCalls(fake, On(nullptr, 0), stream),
            "hipStreamIsCapturing(NULL) hipStreamIsCapturing(s1) hipGetDevice() "
            "hipEventRecord(e1,NULL) hipStreamWaitEvent(s1,e1,0)");
  EXPECT_EQ(WarmCalls(fake, stream, On(nullptr, 0)),
            "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) hipStreamIsCapturing(NULL) "
            "hipEventRecord(e1,s1) hipGetDevice() hipStreamWaitEvent(NULL,e1,0)");
}

HIP_TEST(HipStream, TheDefaultStreamOfAnotherDevice) {
  StartHip(fake);
  const DLBridgeStream stream = On(fake.stream(0), 0);
  EXPECT_EQ(WarmCalls(fake, On(nullptr, 1), stream),
            "hipStreamIsCapturing(NULL) hipStreamIsCapturing(s1) hipGetDevice() hipSetDevice(1) "
            "hipEventRecord(e1,NULL) hipStreamWaitEvent(s1,e1,0) hipSetDevice(0)");
  EXPECT_EQ(WarmCalls(fake, stream, On(nullptr, 1)),
            "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) hipStreamIsCapturing(NULL) "
            "hipEventRecord(e2,s1) hipGetDevice() hipSetDevice(1) hipStreamWaitEvent(NULL,e2,0) "
            "hipSetDevice(0)");
  EXPECT_EQ(WarmCalls(fake, On(nullptr, 1), On(nullptr, 0)),
            "hipStreamIsCapturing(NULL) hipStreamIsCapturing(NULL) hipGetDevice() hipSetDevice(1) "
            "hipEventRecord(e1,NULL) hipSetDevice(0) hipStreamWaitEvent(NULL,e1,0)");
}

HIP_TEST(HipStream, OneStreamNeedsNoCall) {
  StartHip(fake);
  const DLBridgeStream stream = On(fake.stream(1), 1);
  ExpectHandoff(stream, stream);
  ExpectHandoff(On(nullptr, 1), On(nullptr, 1));
  DLBridgeStream none = stream;
  none.kind = DLBRIDGE_STREAM_NO_SYNC;
  ExpectHandoff(stream, none);
  ExpectHandoff(none, stream);
  EXPECT_STREQ(fake.log(), "");
}

HIP_TEST(HipStream, TheArrayApisIntegers) {
  StartHip(fake);
  void* native = fake.stream(1);
  DLBridgeStream producer;
  DLBridgeStream consumer;
  const DLDevice device = dlbridge_device_hip(1);
  EXPECT_EQ(
      dlbridge_stream_from_array_api(
          device, static_cast<int64_t>(reinterpret_cast<intptr_t>(native)), &producer, nullptr),
      DLBRIDGE_OK);
  EXPECT_EQ(
      dlbridge_stream_from_array_api(device, DLBRIDGE_ARRAY_API_STREAM_NONE, &consumer, nullptr),
      DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_hip_stream(&producer), native);
  ExpectHandoff(producer, consumer);
  EXPECT_TRUE(Contains(fake.log(), "hipSetDevice(1)")) << fake.log();
}

// Only the consumer's stream waits for the producer.
HIP_TEST(HipStream, WorkIsOrdered) {
  for (const int producer_device : {0, 1}) {
    for (const bool is_default : {false, true}) {
      StartHip(fake);
      int value = 0;
      int seen = -1;
      void* producer = is_default ? nullptr : fake.stream(producer_device);
      void* consumer = fake.stream(0);
      struct Both {
        int* value;
        int* seen;
      } both = {&value, &seen};
      fake.enqueue(
          producer, producer_device, [](void* work) { *static_cast<int*>(work) = 7; }, &value);
      ExpectHandoff(On(producer, producer_device), On(consumer, 0));
      fake.enqueue(
          consumer, 0,
          [](void* work) {
            auto* copy = static_cast<Both*>(work);
            *copy->seen = *copy->value;
          },
          &both);
      EXPECT_EQ(value, 0);
      const DLBridgeStream stream = On(consumer, 0);
      EXPECT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_OK);
      EXPECT_EQ(seen, 7);
    }
  }
}

// The event of an earlier handoff may be reused before its wait has ended.
HIP_TEST(HipStream, AnEventIsReusedAtOnce) {
  StartHip(fake);
  int values[2] = {0, 0};
  void* producers[2] = {fake.stream(0), fake.stream(0)};
  void* consumers[2] = {fake.stream(0), fake.stream(0)};
  for (int i = 0; i < 2; ++i) {
    fake.enqueue(
        producers[i], 0, [](void* work) { *static_cast<int*>(work) = 1; }, &values[i]);
    ExpectHandoff(On(producers[i], 0), On(consumers[i], 0));
  }
  EXPECT_EQ(fake.live_events(), 1U);
  const DLBridgeStream first = On(consumers[0], 0);
  EXPECT_EQ(dlbridge_stream_synchronize(&first, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 0);
}

HIP_TEST(HipStream, ManyThreads) {
  StartHip(fake);
  std::vector<std::thread> threads;
  threads.reserve(4);
  void* streams[16];
  for (int i = 0; i < 16; ++i) {
    streams[i] = fake.stream(i % 2);
  }
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 100; ++i) {
        const int from = (thread * 4 + i) % 16;
        const int to = (from + 1 + i % 7) % 16;
        EXPECT_EQ(Handoff(On(streams[from], from % 2), On(streams[to], to % 2)), DLBRIDGE_OK);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_LE(fake.live_events(), 8U);
}

HIP_TEST(HipStream, WrongDevices) {
  StartHip(fake);
  void* stream = fake.stream(1);
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Handoff(On(stream, 0), On(nullptr, 0), 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "producer names device 0, but its queue runs on device 1");
  for (const int id : {-1, 2}) {
    EXPECT_EQ(Handoff(On(nullptr, id), On(stream, 1), 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(Contains(error.message, "expected 0 to 1, the devices that HIP has"))
        << error.message;
    EXPECT_EQ(Handoff(On(stream, 1), On(nullptr, id), 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    const DLBridgeStream wrong = On(nullptr, id);
    EXPECT_EQ(dlbridge_stream_synchronize(&wrong, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  for (const uintptr_t handle : {1, 2}) {
    const DLBridgeStream wrong = On(reinterpret_cast<void*>(handle), 2);
    EXPECT_EQ(Handoff(wrong, On(stream, 1)), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(Handoff(On(stream, 1), wrong), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(dlbridge_stream_synchronize(&wrong, nullptr), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_FALSE(Contains(fake.log(), "Event")) << fake.log();
}

// The special streams of another device than the thread's, and of the thread's.
HIP_TEST(HipStream, ThePerThreadStream) {
  StartHip(fake);
  const DLBridgeStream stream = On(fake.stream(0), 0);
  const DLBridgeStream own = On(hipStreamPerThread, 1);
  EXPECT_EQ(WarmCalls(fake, own, stream),
            "hipGetDevice() hipSetDevice(1) hipStreamIsCapturing(2) hipStreamIsCapturing(s1) "
            "hipEventRecord(e1,2) hipStreamWaitEvent(s1,e1,0) hipSetDevice(0)");
  EXPECT_EQ(WarmCalls(fake, stream, own),
            "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) hipGetDevice() hipSetDevice(1) "
            "hipStreamIsCapturing(2) hipEventRecord(e2,s1) hipStreamWaitEvent(2,e2,0) "
            "hipSetDevice(0)");
  fake.clear_log();
  EXPECT_EQ(dlbridge_stream_synchronize(&own, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(fake.log(), "hipGetDevice() hipSetDevice(1) hipStreamIsCapturing(2) " +
                            Relaxed("hipStreamSynchronize(2)") + " hipSetDevice(0)");
  fake.clear_log();
  ExpectHandoff(own, own);
  EXPECT_STREQ(fake.log(), "");
  ExpectHandoff(own, On(hipStreamPerThread, 0));
}

// The library uses the stream of the calling thread and of the label's device.
TEST(HipStream, ThePerThreadStreamIsOrdered) {
  for (const char* library : {DLBRIDGE_FAKE_HIP0, DLBRIDGE_FAKE_HIP5, DLBRIDGE_FAKE_HIP6}) {
    EXPECT_TRUE(WithFakeHip(library, [](const FakeHip& fake) {
      StartHip(fake);
      int value = 0;
      const auto enqueue = [&] {
        fake.enqueue(
            hipStreamPerThread, 1, [](void* work) { *static_cast<int*>(work) += 7; }, &value);
      };
      enqueue();
      const DLBridgeStream stream = On(fake.stream(0), 0);
      ExpectHandoff(On(hipStreamPerThread, 0), stream);
      EXPECT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_OK);
      std::thread([&] {
        ExpectHandoff(On(hipStreamPerThread, 1), stream);
        EXPECT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_OK);
      }).join();
      EXPECT_EQ(value, 0);
      ExpectHandoff(On(hipStreamPerThread, 1), stream);
      EXPECT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_OK);
      EXPECT_EQ(value, 7);
      enqueue();
      const DLBridgeStream own = On(hipStreamPerThread, 1);
      EXPECT_EQ(dlbridge_stream_synchronize(&own, nullptr), DLBRIDGE_OK);
      EXPECT_EQ(value, 14);
    }));
  }
}

// hipStreamLegacy is the default stream, in runtimes that know it.
HIP_TEST(HipStream, TheLegacyStream) {
  StartHip(fake);
  const DLBridgeStream stream = On(fake.stream(0), 0);
  auto* const legacy = reinterpret_cast<void*>(uintptr_t{1});
  EXPECT_EQ(WarmCalls(fake, On(legacy, 1), stream),
            "hipStreamIsCapturing(1) hipStreamIsCapturing(s1) hipGetDevice() hipSetDevice(1) "
            "hipEventRecord(e1,1) hipStreamWaitEvent(s1,e1,0) hipSetDevice(0)");
  int value = 0;
  fake.enqueue(
      nullptr, 1, [](void* work) { *static_cast<int*>(work) = 7; }, &value);
  const DLBridgeStream other = On(legacy, 1);
  EXPECT_EQ(dlbridge_stream_synchronize(&other, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(value, 7);
}

HIP_TEST(HipStream, TheLegacyStreamOfARuntimeThatFollowsIt) {
  fake.set_version(kHip62);
  StartHip(fake);
  const DLBridgeStream stream = On(fake.stream(0), 0);
  const DLBridgeStream legacy = On(reinterpret_cast<void*>(uintptr_t{1}), 0);
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Handoff(legacy, stream, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(Contains(error.message, "producer has the handle 1 (hipStreamLegacy), which HIP "))
      << error.message;
  EXPECT_TRUE(Contains(error.message, "or a hipStream_t, found 1")) << error.message;
  EXPECT_EQ(Handoff(stream, legacy, 0, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(Contains(error.message, "consumer has the handle 1")) << error.message;
  EXPECT_EQ(dlbridge_stream_synchronize(&legacy, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_FALSE(Contains(fake.log(), "IsCapturing(1)")) << fake.log();
}

// The array API's integers are those of the standard, which has no names for these streams.
HIP_TEST(HipStream, TheArrayApiHasNoSpecialStreams) {
  StartHip(fake);
  DLBridgeStream out;
  for (const int64_t stream : {1, 2}) {
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(dlbridge_stream_from_array_api(dlbridge_device_hip(0), stream, &out, &error),
              DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(Contains(error.message, ("found " + std::to_string(stream)).c_str()))
        << error.message;
  }
}

// Pinned memory has device 0 by convention, whatever the device of its stream is.
HIP_TEST(HipStream, TheDeviceOfPinnedMemoryIsNotCompared) {
  StartHip(fake);
  DLBridgeStream producer = On(fake.stream(1), 0);
  producer.device.device_type = kDLROCMHost;
  ExpectHandoff(producer, On(fake.stream(0), 0));
}

HIP_TEST(HipStream, EachCallThatFails) {
  StartHip(fake);
  void* producer = fake.stream(1);
  const char* functions[] = {"hipStreamGetDevice",
                             "hipStreamIsCapturing",
                             "hipGetDevice",
                             "hipSetDevice",
                             "hipThreadExchangeStreamCaptureMode",
                             "hipEventRecord",
                             "hipStreamWaitEvent",
                             "hipEventCreateWithFlags"};
  for (const char* function : functions) {
    fake.fail(function, 999, 1);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Handoff(On(producer, 1), On(nullptr, 0), 0, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
    EXPECT_EQ(fake.live_events(), 0U) << function;
    fake.settle(0, 0, 0);
    EXPECT_STREQ(fake.violations(), "") << function;
  }
  // The second call of each: the capture state of the consumer, and the restored device.
  for (const char* function : {"hipStreamIsCapturing", "hipSetDevice"}) {
    fake.fail(function, 999, 2);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Handoff(On(producer, 1), On(nullptr, 0), 0, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
  }
  fake.set_device(0);
}

// The error has the runtime's code, also if a capture is the reason.
HIP_TEST(HipStream, TheCodeOfEachError) {
  StartHip(fake);
  const DLBridgeStream stream = On(fake.stream(0), 0);
  for (const int code : {1, 17, 100, 101, 400, 700, 709, 719, 900, 901, 902, 903, 904, 905, 906,
                         907, 908, 909, 999}) {
    const bool capture = code >= 900 && code <= 908;
    fake.fail("hipEventRecord", code, 1);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Handoff(stream, On(fake.stream(0), 0), 0, &error),
              capture ? DLBRIDGE_ERROR_CAPTURE : DLBRIDGE_ERROR_DRIVER);
    EXPECT_EQ(error.native_code, code);
    EXPECT_TRUE(Contains(error.message, std::to_string(code).c_str())) << error.message;
    EXPECT_EQ(fake.last_error(), 0);
  }
}

// The library can only clear the thread's error.
HIP_TEST(HipStream, AnEventThatCannotBeDestroyed) {
  StartHip(fake);
  fake.fail("hipEventRecord", 999, 1);
  fake.fail("hipEventDestroy", 998, 1);
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Handoff(On(fake.stream(0), 0), On(fake.stream(0), 0), 0, &error),
            DLBRIDGE_ERROR_DRIVER);
  EXPECT_TRUE(Contains(error.message, "hipEventRecord failed with 999")) << error.message;
  EXPECT_EQ(fake.last_error(), 0);
}

TEST(HipStream, OldRuntimesReportTheDeviceByAnotherFunction) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP5, [](const FakeHip& fake) {
    StartHip(fake);
    const DLBridgeStream producer = On(fake.stream(1), 1);
    const DLBridgeStream consumer = On(fake.stream(0), 0);
    EXPECT_EQ(WarmCalls(fake, producer, consumer),
              "hipGetStreamDeviceId(s1) hipStreamIsCapturing(s1) hipStreamIsCapturing(s2) "
              "hipEventRecord(e1,s1) hipStreamWaitEvent(s2,e1,0)");
    fake.fail("hipGetStreamDeviceId", 999, 1);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Handoff(producer, consumer, 0, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, "hipGetStreamDeviceId failed with -1")) << error.message;
  }));
}

TEST(HipStream, TheMinimalRuntimeUsesTheGivenDevice) {
  EXPECT_TRUE(WithFakeHip(DLBRIDGE_FAKE_HIP0, [](const FakeHip& fake) {
    StartHip(fake);
    const DLBridgeStream producer = On(fake.stream(1), 1);
    const DLBridgeStream consumer = On(fake.stream(0), 0);
    EXPECT_EQ(WarmCalls(fake, producer, consumer),
              "hipEventRecord(e1,s1) hipStreamWaitEvent(s2,e1,0)");
    EXPECT_EQ(Handoff(On(fake.stream(1), 7), consumer), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }));
}

HIP_TEST(HipStream, Synchronize) {
  StartHip(fake);
  const DLBridgeStream stream = On(fake.stream(1), 1);
  const DLBridgeStream other = On(nullptr, 1);
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(fake.log(), "hipStreamIsCapturing(s1) " + Relaxed("hipStreamSynchronize(s1)"));
  fake.clear_log();
  EXPECT_EQ(dlbridge_stream_synchronize(&other, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(fake.log(), "hipStreamIsCapturing(NULL) hipGetDevice() hipSetDevice(1) " +
                            Relaxed("hipStreamSynchronize(NULL)") + " hipSetDevice(0)");
  for (const char* function : {"hipStreamIsCapturing", "hipGetDevice", "hipSetDevice",
                               "hipThreadExchangeStreamCaptureMode", "hipStreamSynchronize"}) {
    fake.fail(function, 999, 1);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(dlbridge_stream_synchronize(&other, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(Contains(error.message, function)) << error.message;
    fake.settle(0, 0, 0);
    EXPECT_STREQ(fake.violations(), "");
  }
}

HIP_TEST(HipStream, AHostConsumerWaits) {
  StartHip(fake);
  int value = 0;
  void* producer = fake.stream(0);
  fake.enqueue(
      producer, 0, [](void* work) { *static_cast<int*>(work) = 7; }, &value);
  DLBridgeStream host = {};
  host.kind = DLBRIDGE_STREAM_HOST;
  ExpectHandoff(On(producer, 0), host);
  EXPECT_EQ(value, 7);
}

// Captures: the states of producer and consumer, and the expected result.
struct Capture {
  int producer;
  unsigned long long producer_graph;
  int consumer;
  unsigned long long consumer_graph;
  uint32_t options;
  DLBridgeStatus status;
  const char* message;
};

HIP_TEST(HipStream, Captures) {
  StartHip(fake);
  const uint32_t allow = DLBRIDGE_HANDOFF_ALLOW_CAPTURE;
  const Capture cases[] = {
      {1, 5, 1, 5, 0, DLBRIDGE_OK, ""},
      {1, 5, 1, 6, allow, DLBRIDGE_ERROR_CAPTURE, "are not known to capture the same graph"},
      {1, 5, 0, 0, 0, DLBRIDGE_ERROR_CAPTURE, "DLBRIDGE_HANDOFF_ALLOW_CAPTURE"},
      {1, 5, 0, 0, allow, DLBRIDGE_OK, ""},
      {0, 0, 1, 5, allow, DLBRIDGE_ERROR_CAPTURE, "consumer is capturing a graph"},
      {2, 5, 0, 0, allow, DLBRIDGE_ERROR_CAPTURE, "producer has a capture that was invalidated"},
      {1, 5, 2, 5, allow, DLBRIDGE_ERROR_CAPTURE, "consumer has a capture that was invalidated"}};
  for (const Capture& entry : cases) {
    void* producer = fake.stream(0);
    void* consumer = fake.stream(1);
    fake.capture(producer, entry.producer, entry.producer_graph);
    fake.capture(consumer, entry.consumer, entry.consumer_graph);
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    EXPECT_EQ(Handoff(On(producer, 0), On(consumer, 1), entry.options, &error), entry.status)
        << error.message;
    EXPECT_TRUE(entry.status == DLBRIDGE_OK || Contains(error.message, entry.message))
        << error.message;
    const bool drawn_in = entry.status == DLBRIDGE_OK;
    EXPECT_EQ(fake.capture_state(consumer), drawn_in ? 1 : entry.consumer);
    EXPECT_EQ(fake.live_events(), 0U);
    fake.capture(producer, 0, 0);
    fake.capture(consumer, 0, 0);
  }
}

HIP_TEST(HipStream, TheCallsOfAHandoffWithinAGraph) {
  StartHip(fake);
  void* producer = fake.stream(0);
  void* consumer = fake.stream(0);
  ExpectHandoff(On(producer, 0),
                On(consumer, 0));  // leaves an event in the pool, which graphs do not use
  fake.capture(producer, 1, 5);
  fake.capture(consumer, 1, 5);
  fake.clear_log();
  ExpectHandoff(On(producer, 0), On(consumer, 0));
  EXPECT_EQ(fake.log(),
            "hipStreamGetDevice(s1) hipStreamIsCapturing(s1) hipStreamIsCapturing(s2) "
            "hipStreamGetCaptureInfo(s1) hipStreamGetCaptureInfo(s2) hipGetDevice() " +
                Relaxed("hipEventCreateWithFlags(2)") +
                " hipEventRecord(e2,s1) hipStreamWaitEvent(s2,e2,0) " +
                Relaxed("hipEventDestroy(e2)"));
  fake.fail("hipStreamGetCaptureInfo", 999, 2);
  EXPECT_EQ(Handoff(On(producer, 0), On(consumer, 0)), DLBRIDGE_ERROR_DRIVER);
  fake.capture(producer, 0, 0);
  fake.capture(consumer, 0, 0);
  ExpectHandoff(On(producer, 0), On(consumer, 0));  // the event in the pool belongs to no graph
}

// The default stream cannot be used while a blocking stream captures.
HIP_TEST(HipStream, TheDefaultStreamDuringACapture) {
  StartHip(fake);
  void* capturing = fake.stream(0);
  fake.capture(capturing, 1, 5);
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(Handoff(On(nullptr, 0), On(fake.stream(0), 0), 0, &error), DLBRIDGE_ERROR_CAPTURE);
  EXPECT_TRUE(Contains(error.message, "906 (hipErrorStreamCaptureImplicit)")) << error.message;
  const DLBridgeStream stream = On(nullptr, 0);
  EXPECT_EQ(dlbridge_stream_synchronize(&stream, &error), DLBRIDGE_ERROR_CAPTURE);
  const DLBridgeStream captured = On(capturing, 0);
  EXPECT_EQ(dlbridge_stream_synchronize(&captured, &error), DLBRIDGE_ERROR_CAPTURE);
  EXPECT_TRUE(Contains(error.message, "no wait for it is allowed")) << error.message;
  EXPECT_EQ(fake.capture_state(capturing), 1);
  fake.capture(capturing, 0, 0);
}

// Devices beyond the number of pools get a new event for each call.
HIP_TEST(HipStream, DevicesWithoutAPool) {
  fake.set_device_count(40);
  StartHip(fake);
  for (int i = 0; i < 3; ++i) {
    ExpectHandoff(On(fake.stream(39), 39), On(fake.stream(0), 0));
    EXPECT_EQ(fake.live_events(), 0U);
  }
}

}  // namespace
}  // namespace dlbridge_test
