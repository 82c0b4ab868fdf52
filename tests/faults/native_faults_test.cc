// SPDX-License-Identifier: Apache-2.0
// Backends without a driver, pointers, streams of the host, and the context table.
#include <gtest/gtest.h>

#include <cstdlib>

#include "faults/attempt.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

// Drivers of this machine are not tried: their own libraries would decide the outcome.
void HideDrivers() {
  for (const char* name :
       {"DLBRIDGE_LIBCUDA", "DLBRIDGE_LIBHIP", "DLBRIDGE_LIBZE", "DLBRIDGE_LIBOPENCL"}) {
    setenv(name, "/nonexistent/driver.so", 1);
  }
}

std::function<void(Attempt&)> BackendInfo(DLBridgeBackend backend) {
  return [backend](Attempt& attempt) {
    HideDrivers();
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    if (attempt(
            [&](DLBridgeError* error) { return dlbridge_backend_info(backend, &info, error); })) {
      const bool cpu = backend == DLBRIDGE_BACKEND_CPU;
      EXPECT_EQ(info.state, cpu ? DLBRIDGE_STATE_READY : DLBRIDGE_STATE_ABSENT) << info.reason;
    }
  };
}

void PointerInfo(Attempt& attempt) {
  HideDrivers();
  float memory[4];
  const DLBridgeBuffer buffer = dlbridge_buffer_address(memory);
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  attempt([&](DLBridgeError* error) {
    return dlbridge_pointer_info(&buffer, Device(kDLCPU), &info, error);
  });
}

DLBridgeStream HostStream() {
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  stream.kind = DLBRIDGE_STREAM_HOST;
  return stream;
}

void Streams(Attempt& attempt) {
  const DLBridgeStream host = HostStream();
  attempt([&](DLBridgeError* error) { return dlbridge_stream_handoff(&host, &host, 0, error); });
}

void Synchronize(Attempt& attempt) {
  const DLBridgeStream host = HostStream();
  attempt([&](DLBridgeError* error) { return dlbridge_stream_synchronize(&host, error); });
}

void FromArrayApi(Attempt& attempt) {
  HideDrivers();
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  attempt([&](DLBridgeError* error) {
    return dlbridge_stream_from_array_api(Device(kDLCUDA), 1, &stream, error);
  });
}

void ReleaseAfter(Attempt& attempt) {
  VersionedSource source;
  const DLBridgeStream host = HostStream();
  const bool done = attempt([&](DLBridgeError* error) {
    return dlbridge_release_after(source.get(), DLBRIDGE_KIND_VERSIONED, &host, 1, error);
  });
  if (!done) {
    EXPECT_TRUE(source.Untouched());
    source.Release();
  }
}

void Collect(Attempt& attempt) {
  size_t left = 99;
  EXPECT_TRUE(attempt([&](DLBridgeError* error) { return dlbridge_collect(0, &left, error); }));
  EXPECT_EQ(left, 0U);
  EXPECT_EQ(attempt.failed(), 0);
}

void CountRelease(void* count, const DLBridgeContextEntry* /*entry*/) {
  ++*static_cast<int*>(count);
}

DLBridgeContextEntry Entry(int* released) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_CUDA;
  entry.device = Device(kDLCUDA, 3);
  entry.native_device = 3;
  entry.context = 77;
  entry.release = CountRelease;
  entry.release_context = released;
  return entry;
}

void Register(Attempt& attempt) {
  int released = 0;
  const DLBridgeContextEntry entry = Entry(&released);
  uint64_t id = 0;
  if (!attempt(
          [&](DLBridgeError* error) { return dlbridge_context_register(&entry, &id, error); })) {
    EXPECT_EQ(id, 0U);
    EXPECT_EQ(released, 0) << "the entry is still the caller's";
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    EXPECT_NE(dlbridge_context_find(entry.device, 77, &found, nullptr), DLBRIDGE_OK);
    return;
  }
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(released, 1);
}

// The table grows by doubling, so one of these registrations allocates.
void RegisterMany(Attempt& attempt) {
  int released = 0;
  DLBridgeContextEntry entry = Entry(&released);
  std::vector<uint64_t> ids;
  attempt([&](DLBridgeError* error) -> DLBridgeStatus {
    for (uint64_t context = 1; context <= 300; ++context) {
      entry.context = context;
      uint64_t id = 0;
      const DLBridgeStatus status = dlbridge_context_register(&entry, &id, error);
      if (status != DLBRIDGE_OK) {
        return status;
      }
      ids.push_back(id);
    }
    return DLBRIDGE_OK;
  });
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(dlbridge_context_find(entry.device, i + 1, &found, nullptr), DLBRIDGE_OK);
    EXPECT_EQ(dlbridge_context_unregister(ids[i], nullptr), DLBRIDGE_OK);
  }
  EXPECT_EQ(released, static_cast<int>(ids.size()));
}

// Everything that is done with an entry, in one attempt: none of it needs anything.
void UseEntry(Attempt& attempt) {
  int released = 0;
  const DLBridgeContextEntry entry = Entry(&released);
  uint64_t id = 0;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  EXPECT_TRUE(attempt([&](DLBridgeError* error) {
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    uint64_t cursor = 0;
    EXPECT_EQ(dlbridge_context_find(entry.device, 77, &found, error), DLBRIDGE_OK);
    EXPECT_EQ(dlbridge_context_next(&cursor, &found, error), DLBRIDGE_OK);
    EXPECT_EQ(dlbridge_context_retain(id, error), DLBRIDGE_OK);
    EXPECT_EQ(dlbridge_context_unregister(id, error), DLBRIDGE_OK);
    EXPECT_EQ(released, 0);
    return dlbridge_context_release(id, error);
  }));
  EXPECT_EQ(attempt.failed(), 0);
  EXPECT_EQ(released, 1);
}

void Table(Attempt& attempt) {
  const DLBridgeContextTable* table = nullptr;
  EXPECT_TRUE(attempt([&](DLBridgeError* /*error*/) {
    table = dlbridge_context_table_v1();
    return DLBRIDGE_OK;
  }));
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->version, 1U);
}

// A wrapped tensor of a device keeps its context's entry.
void WrapWithEntry(Attempt& attempt) {
  HideDrivers();
  int released = 0;
  const DLBridgeContextEntry entry = Entry(&released);
  uint64_t id = 0;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  const int64_t shape = 4;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.buffer = dlbridge_buffer_address(reinterpret_cast<void*>(0x1000));
  spec.buffer.backend = DLBRIDGE_BACKEND_CUDA;
  spec.buffer.context = 77;
  spec.device = entry.device;
  spec.dtype = Dtype(kDLFloat, 32);
  spec.ndim = 1;
  spec.shape = &shape;
  DLManagedTensorVersioned* out = nullptr;
  attempt([&](DLBridgeError* error) { return dlbridge_wrap(&spec, &out, error); });
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(released, out != nullptr ? 0 : 1);
  dlbridge_release_versioned(out);
  EXPECT_EQ(released, 1);
}

const std::vector<Scenario> kScenarios = {
    {"BackendInfoCpu", BackendInfo(DLBRIDGE_BACKEND_CPU)},
    {"BackendInfoCuda", BackendInfo(DLBRIDGE_BACKEND_CUDA)},
    {"BackendInfoHip", BackendInfo(DLBRIDGE_BACKEND_HIP)},
    {"BackendInfoLevelZero", BackendInfo(DLBRIDGE_BACKEND_LEVEL_ZERO)},
    {"BackendInfoOpenCl", BackendInfo(DLBRIDGE_BACKEND_OPENCL)},
    {"PointerInfo", PointerInfo},
    {"StreamHandoff", Streams},
    {"StreamSynchronize", Synchronize},
    {"StreamFromArrayApi", FromArrayApi},
    {"ReleaseAfter", ReleaseAfter},
    {"Collect", Collect},
    {"ContextRegister", Register},
    {"ContextRegisterMany", RegisterMany},
    {"ContextUse", UseEntry},
    {"ContextTable", Table},
    {"WrapWithContext", WrapWithEntry},
};

DLBRIDGE_FAIL_EACH_CALL(Native, kScenarios);

}  // namespace
}  // namespace dlbridge_test
