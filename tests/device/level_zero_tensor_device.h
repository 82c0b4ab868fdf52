// SPDX-License-Identifier: Apache-2.0
// Device USM and a queue of the fake Level Zero driver for the common tensor checks.
#ifndef DLBRIDGE_TESTS_DEVICE_LEVEL_ZERO_TENSOR_DEVICE_H_
#define DLBRIDGE_TESTS_DEVICE_LEVEL_ZERO_TENSOR_DEVICE_H_

#include <cstring>

#include "level_zero_world.h"
#include "tensor_checks.h"

namespace dlbridge_test {

// Its context is registered for the device {kDLOneAPI, id}.
class LevelZeroDevice final : public TensorDevice {
 public:
  enum Streams : uint8_t { kImmediate, kQueue };

  LevelZeroDevice(World* world, int32_t id, size_t device, ze_context_handle_t context,
                  Streams streams = kImmediate)
      : world_(*world), id_(id), device_(world->devices[device]), context_(context) {
    stream_ = streams == kImmediate ? dlbridge_stream_level_zero(
                                          world->MakeImmediate(context, device_), context, label())
                                    : dlbridge_stream_level_zero_queue(
                                          world->MakeQueue(context, device_), context, label());
  }

  World& world() { return world_; }

  DLDevice label() override { return OneApi(id_); }
  DLBridgeStream stream() override { return stream_; }
  DLBridgeBuffer Allocate(size_t bytes) override {
    const ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0,
                                             0};
    void* made = nullptr;
    EXPECT_EQ(world_.ze.zeMemAllocDevice(context_, &desc, bytes, 64, device_, &made),
              ZE_RESULT_SUCCESS);
    return dlbridge_buffer_address(made);
  }
  void Free(const DLBridgeBuffer& buffer) override {
    EXPECT_EQ(world_.ze.zeMemFree(context_, At(buffer)), ZE_RESULT_SUCCESS);
  }
  // The fake's device memory is host memory.
  void Fill(const DLBridgeBuffer& buffer, const TensorBytes& bytes) override {
    std::memcpy(At(buffer), bytes.data(), bytes.size());
  }
  TensorBytes Read(const DLBridgeBuffer& buffer, size_t bytes) override {
    return {At(buffer), At(buffer) + bytes};
  }
  void Fail(const char* function, int nth) override {
    world_.fake.fake_ze_fail(function, kDeviceLost, static_cast<uint32_t>(nth));
  }

 private:
  static unsigned char* At(const DLBridgeBuffer& buffer) {
    return static_cast<unsigned char*>(dlbridge_level_zero_address(buffer));
  }

  World& world_;
  int32_t id_;
  ze_device_handle_t device_;
  ze_context_handle_t context_;
  DLBridgeStream stream_ = {};
};

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_LEVEL_ZERO_TENSOR_DEVICE_H_
