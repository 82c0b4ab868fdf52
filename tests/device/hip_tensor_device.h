// SPDX-License-Identifier: Apache-2.0
// Memory and a stream of the fake HIP runtime for the common tensor checks.
#ifndef DLBRIDGE_TESTS_DEVICE_HIP_TENSOR_DEVICE_H_
#define DLBRIDGE_TESTS_DEVICE_HIP_TENSOR_DEVICE_H_

#include <cstring>

#include "hip_world.h"
#include "tensor_checks.h"

namespace dlbridge_test {

class HipDevice final : public TensorDevice {
 public:
  HipDevice(const FakeHip& fake, int ordinal)
      : fake_(fake), ordinal_(ordinal), stream_(fake.stream(ordinal)) {}
  HipDevice(const HipDevice&) = delete;
  HipDevice& operator=(const HipDevice&) = delete;
  ~HipDevice() override { fake_.destroy_stream(stream_); }

  void* native_stream() const { return stream_; }

  DLDevice label() override { return dlbridge_device_hip(ordinal_); }
  DLBridgeStream stream() override {
    return dlbridge_stream_hip(static_cast<hipStream_t>(stream_), ordinal_);
  }
  DLBridgeBuffer Allocate(size_t bytes) override {
    return dlbridge_buffer_hip(fake_.allocate(kFakeDevice, ordinal_, bytes));
  }
  void Free(const DLBridgeBuffer& buffer) override { fake_.free(At(buffer)); }
  void Fill(const DLBridgeBuffer& buffer, const TensorBytes& bytes) override {
    std::memcpy(fake_.bytes(At(buffer)), bytes.data(), bytes.size());
  }
  TensorBytes Read(const DLBridgeBuffer& buffer, size_t bytes) override {
    const auto* begin = static_cast<const unsigned char*>(fake_.bytes(At(buffer)));
    return {begin, begin + bytes};
  }
  void Fail(const char* function, int nth) override { fake_.fail(function, hipErrorUnknown, nth); }

 private:
  static void* At(const DLBridgeBuffer& buffer) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(buffer.handle));
  }

  const FakeHip& fake_;
  int ordinal_;
  void* stream_;
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_HIP_TENSOR_DEVICE_H_
