// SPDX-License-Identifier: Apache-2.0
// The program of devices/program.h on the strict fake of a Level Zero driver, under the real
// loader.
#include "device/level_zero_world.h"
#include "fuzz/devices/program.h"

namespace dlbridge_fuzz {
namespace {

using dlbridge_test::OneApi;

void CheckZe(ze_result_t result) {
  CheckEqual("the driver's result", 0U, static_cast<uint32_t>(result));
}
uint8_t* At(const DLBridgeBuffer& buffer) {
  return static_cast<uint8_t*>(dlbridge_level_zero_address(buffer));
}

// Both devices are in one context. The first stream of a device is an immediate list, the second a
// queue.
class LevelZero final : public Driver {
 public:
  LevelZero() : world_(*Make()), context_(world_.MakeContext()) {
    for (int device = 0; device < kDevices; ++device) {
      const auto index = static_cast<size_t>(device);
      world_.Register(device, index, context_);
      lists_[device] = world_.MakeImmediate(context_, world_.devices[index]);
      queues_[device] = world_.MakeQueue(context_, world_.devices[index]);
    }
    Start();
  }

  DLBridgeBackend backend() const override { return DLBRIDGE_BACKEND_LEVEL_ZERO; }
  DLDevice Label(int device) const override { return OneApi(device); }
  DLBridgeStream Stream(size_t i) const override {
    return i % 2 == 0
               ? dlbridge_stream_level_zero(lists_[i / 2], context_, Label(static_cast<int>(i / 2)))
               : dlbridge_stream_level_zero_queue(queues_[i / 2], context_,
                                                  Label(static_cast<int>(i / 2)));
  }

  bool knows_devices() const override { return false; }
  bool opens_own_memory() const override { return true; }

  DLBridgeBuffer Allocate(int device, size_t bytes) override {
    const ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0,
                                             0};
    void* made = nullptr;
    CheckZe(world_.ze.zeMemAllocDevice(context_, &desc, bytes, 64,
                                       world_.devices[static_cast<size_t>(device)], &made));
    return dlbridge_buffer_level_zero(made, context_);
  }
  void Free(const DLBridgeBuffer& buffer) override {
    CheckZe(world_.ze.zeMemFree(context_, At(buffer)));
  }
  // The fake's device memory is host memory.
  void Poke(const DLBridgeBuffer& buffer, const Bytes& bytes) override {
    std::memcpy(At(buffer), bytes.data(), bytes.size());
  }
  Bytes Peek(const DLBridgeBuffer& buffer, size_t size) override {
    return {At(buffer), At(buffer) + size};
  }
  void Enqueue(size_t stream, const DLBridgeBuffer& to, size_t at, const Bytes& bytes) override {
    if (stream % 2 == 0) {
      CheckZe(world_.ze.zeCommandListAppendMemoryCopy(lists_[stream / 2], At(to) + at, bytes.data(),
                                                      bytes.size(), nullptr, 0, nullptr));
      return;
    }
    ze_command_list_handle_t list = nullptr;
    const ze_command_list_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, nullptr, 0, 0};
    CheckZe(world_.ze.zeCommandListCreate(context_, world_.devices[stream / 2], &desc, &list));
    CheckZe(world_.ze.zeCommandListAppendMemoryCopy(list, At(to) + at, bytes.data(), bytes.size(),
                                                    nullptr, 0, nullptr));
    CheckZe(world_.ze.zeCommandListClose(list));
    CheckZe(world_.ze.zeCommandQueueExecuteCommandLists(queues_[stream / 2], 1, &list, nullptr));
    works_.push_back(list);
  }

  std::string FailAny(int nth, bool for_good) override {
    char names[1 << 14];
    world_.fake.fake_ze_failed(names, sizeof names);
    if (for_good) {
      world_.fake.fake_ze_fail_all(kUnknown, static_cast<uint32_t>(nth));
    } else {
      world_.fake.fake_ze_fail_all(kUnknown, 0);
      world_.fake.fake_ze_fail(nullptr, kUnknown, static_cast<uint32_t>(nth));
    }
    return names;
  }

  void Begin() override {
    world_.fake.Log();
    pools_ = world_.fake.fake_ze_live("pool");
  }
  void CheckEnd(bool lost) override {
    for (ze_command_list_handle_t list : works_) {
      CheckZe(world_.ze.zeCommandListDestroy(list));
    }
    works_.clear();
    lost_ = lost_ || lost;
    CheckEqual("violations of the driver's rules", std::string(), world_.fake.Violation());
    if (!lost_) {
      Check("pools of events, one per device", world_.fake.fake_ze_live("pool") <= kDevices);
      // The library keeps lists for marks.
      Check("lists", world_.fake.fake_ze_live("list") <= kDevices + kDevices * 32);
    }
  }

 private:
  static constexpr uint32_t kUnknown = 0x7ffffffe;

  static dlbridge_test::World* Make() {
    ThrowOnFailures();
    dlbridge_test::SetEnvironment({});
    return new dlbridge_test::World;
  }

  dlbridge_test::World& world_;
  ze_context_handle_t context_;
  ze_command_list_handle_t lists_[kDevices];
  ze_command_queue_handle_t queues_[kDevices];
  std::vector<ze_command_list_handle_t> works_;
  size_t pools_ = 0;
  bool lost_ = false;  // objects that could not be destroyed stay
};

}  // namespace
}  // namespace dlbridge_fuzz

DLBRIDGE_FUZZ_DRIVER(LevelZero)
