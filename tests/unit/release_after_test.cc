// SPDX-License-Identifier: Apache-2.0
// dlbridge_release_after, dlbridge_collect and dlbridge_copy_async without a driver: streams of the
// host, and what is rejected.
#include <gtest/gtest.h>

#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

DLBridgeStream Stream(int32_t kind, DLBridgeBackend backend = DLBRIDGE_BACKEND_NONE,
                      uint64_t handle = 0) {
  return {backend, kind, Device(kDLCPU), handle, 0, 0};
}
const DLBridgeStream kHost = Stream(DLBRIDGE_STREAM_HOST);

TEST(ReleaseAfter, TheHostReleasesAtOnce) {
  const DLBridgeStream streams[] = {kHost, kHost};
  const VersionedSource versioned;
  const LegacySource legacy;
  Error error;
  EXPECT_EQ(dlbridge_release_after(versioned.get(), DLBRIDGE_KIND_VERSIONED, streams, 2, &error),
            DLBRIDGE_OK);
  EXPECT_EQ(versioned.deletions(), 1);
  EXPECT_EQ(dlbridge_release_after(legacy.get(), DLBRIDGE_KIND_LEGACY, streams, 1, nullptr),
            DLBRIDGE_OK);
  EXPECT_EQ(legacy.deletions(), 1);
  size_t left = 99;
  EXPECT_EQ(dlbridge_collect(0, &left, &error), DLBRIDGE_OK);
  EXPECT_EQ(left, 0U);
}

// The tensor stays the caller's, and the message has the part.
void ExpectRejected(DLBridgeKind kind, const std::vector<DLBridgeStream>& streams,
                    DLBridgeStatus status, const char* part) {
  VersionedSource source;
  Error error;
  EXPECT_EQ(dlbridge_release_after(source.get(), kind, streams.data(), streams.size(), &error),
            status)
      << part;
  EXPECT_EQ(error.status, status);
  EXPECT_TRUE(error.Says(part)) << error.message;
  EXPECT_TRUE(source.Untouched());
  source.Release();
}

TEST(ReleaseAfter, RejectsWhatNamesNoWork) {
  const DLBridgeKind kind = DLBRIDGE_KIND_VERSIONED;
  const DLBridgeStatus invalid = DLBRIDGE_ERROR_INVALID_ARGUMENT;
  for (const DLBridgeKind other :
       {DLBRIDGE_KIND_UNKNOWN, DLBRIDGE_KIND_BORROWED, DLBRIDGE_KIND_AMBIGUOUS}) {
    ExpectRejected(other, {kHost}, invalid, "LEGACY (1) or VERSIONED (2)");
  }
  std::vector<DLBridgeStream> none;
  none.reserve(1);
  ExpectRejected(kind, none, invalid, "at least 1");
  ExpectRejected(kind, {Stream(0)}, invalid, "streams[0] is not set");
  ExpectRejected(kind, {kHost, Stream(DLBRIDGE_STREAM_NO_SYNC)}, invalid, "streams[1]");
  ExpectRejected(kind, {Stream(DLBRIDGE_STREAM_QUEUE, DLBRIDGE_BACKEND_CUDA, 0)}, invalid,
                 "has no handle");
  ExpectRejected(kind, {Stream(99)}, DLBRIDGE_ERROR_TOO_NEW, "99");
}

TEST(ReleaseAfter, RejectsNull) {
  Error error;
  EXPECT_EQ(dlbridge_release_after(nullptr, DLBRIDGE_KIND_VERSIONED, &kHost, 1, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  VersionedSource source;
  EXPECT_EQ(dlbridge_release_after(source.get(), DLBRIDGE_KIND_VERSIONED, nullptr, 1, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("streams")) << error.message;
  source.Release();
}

TEST(Collect, ChecksItsOptions) {
  Error error;
  EXPECT_EQ(dlbridge_collect(0, nullptr, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_collect(DLBRIDGE_COLLECT_WAIT, nullptr, &error), DLBRIDGE_OK);
  EXPECT_EQ(dlbridge_collect(1, nullptr, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(dlbridge_collect(1U << 20, nullptr, &error), DLBRIDGE_ERROR_TOO_NEW);
}

DLManagedTensorVersioned* Owned() {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  const int64_t shape[] = {2, 3};
  spec.shape = shape;
  spec.ndim = 2;
  spec.dtype = Dtype(kDLFloat, 32);
  DLManagedTensorVersioned* tensor = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_allocate(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
  return tensor;
}

TEST(CopyAsync, OnTheHostIsComplete) {
  DLManagedTensorVersioned* source = Owned();
  auto* values = static_cast<float*>(source->dl_tensor.data);
  for (int i = 0; i < 6; ++i) {
    values[i] = static_cast<float>(i);
  }
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream = kHost;
  DLManagedTensorVersioned* copy = nullptr;
  Error error;
  ASSERT_EQ(dlbridge_copy_async(source, &spec, &copy, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(static_cast<float*>(copy->dl_tensor.data)[5], 5.0F);
  EXPECT_NE(copy->dl_tensor.data, source->dl_tensor.data);
  source->deleter(source);
  copy->deleter(copy);
  size_t left = 99;
  EXPECT_EQ(dlbridge_collect(0, &left, &error), DLBRIDGE_OK);
  EXPECT_EQ(left, 0U);
}

TEST(CopyAsync, RejectsWhatNoStreamOrders) {
  DLManagedTensorVersioned* source = Owned();
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned* copy = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_copy_async(source, &spec, &copy, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("spec.stream is not set")) << error.message;
  spec.stream = Stream(DLBRIDGE_STREAM_NO_SYNC);
  EXPECT_EQ(dlbridge_copy_async(source, &spec, &copy, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("NO_SYNC")) << error.message;
  spec.stream = Stream(DLBRIDGE_STREAM_QUEUE, DLBRIDGE_BACKEND_CUDA, 4096);
  EXPECT_EQ(dlbridge_copy_async(source, &spec, &copy, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("dlbridge_copy")) << error.message;
  spec.stream = kHost;
  spec.options = DLBRIDGE_COPY_ALLOW_STAGING;
  EXPECT_EQ(dlbridge_copy_async(source, &spec, &copy, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("ALLOW_STAGING")) << error.message;
  EXPECT_EQ(copy, nullptr);
  source->deleter(source);
}

TEST(CopyAsync, NeedsAnOwnedTensor) {
  VersionedSource source;
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream = kHost;
  DLManagedTensorVersioned* copy = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_copy_async(source.get(), &spec, &copy, &error), DLBRIDGE_ERROR_FOREIGN_TENSOR);
  EXPECT_TRUE(error.Says("dlbridge_import")) << error.message;
  EXPECT_TRUE(source.Untouched());
  source.Release();
}

TEST(WrapOnStream, NeedsACallback) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  float memory = 0;
  spec.options = DLBRIDGE_WRAP_RELEASE_ON_STREAM;
  spec.buffer = dlbridge_buffer_address(&memory);
  spec.device = Device(kDLCPU);
  spec.device.device_type = kDLCPU;
  spec.dtype = Dtype(kDLFloat, 32);
  DLManagedTensorVersioned* tensor = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_wrap(&spec, &tensor, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("DLBRIDGE_WRAP_RELEASE_ON_STREAM")) << error.message;
}

}  // namespace
}  // namespace dlbridge_test
