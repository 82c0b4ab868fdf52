// SPDX-License-Identifier: Apache-2.0
// The program of devices/program.h on the strict fake of a Level Zero driver, under the real
// loader.
#include "device/level_zero_world.h"
#include "fuzz/devices/whole_program.h"

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
  LevelZero()
      : world_(*Make()),
        context_(world_.MakeContext()),
        second_(world_.MakeContext()),
        unregistered_(world_.MakeContext()) {
    for (int device = 0; device < kDevices; ++device) {
      const auto index = static_cast<size_t>(device);
      world_.Register(device, index, context_);
      world_.Register(device, index, second_);
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

  // ----------------------------------------------------------------------- other kinds of memory

  enum Kind : size_t {
    kShared,
    kHost,
    kSubDevice,
    kNoContext,
    kSecondContext,  // of the same label
    kOtherLabel,     // which the table does not have
    kUnregistered,
    kUnknown,
    kKinds
  };
  size_t odd_kinds() const override { return kKinds; }

  OddMemory AllocateOdd(size_t kind, int device, size_t bytes) override {
    const ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0,
                                             0};
    const ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    const auto index = static_cast<size_t>(device);
    ze_device_handle_t native = world_.devices[index];
    OddMemory made = DescribeOdd(kind, device, DLBRIDGE_MEMORY_USM_DEVICE);
    void* pointer = nullptr;
    switch (kind) {
      case kShared:
        made.found = DLBRIDGE_MEMORY_USM_SHARED;
        CheckZe(world_.ze.zeMemAllocShared(context_, &desc, &host, bytes, 64, native, &pointer));
        break;
      case kHost:
        made.found = DLBRIDGE_MEMORY_USM_HOST;
        CheckZe(world_.ze.zeMemAllocHost(context_, &host, bytes, 64, &pointer));
        break;
      case kSubDevice:
        native = world_.parts[index].empty() ? native : world_.parts[index][0];
        CheckZe(world_.ze.zeMemAllocDevice(context_, &desc, bytes, 64, native, &pointer));
        break;
      default:
        CheckZe(world_.ze.zeMemAllocDevice(ContextOf(kind), &desc, bytes, 64, native, &pointer));
    }
    const bool named = kind != kNoContext && kind != kOtherLabel && kind != kUnknown;
    made.memory = dlbridge_buffer_level_zero(pointer, named ? ContextOf(kind) : nullptr);
    if (kind == kOtherLabel) {
      made.label = Label(device + 2 * kDevices);
      made.is_registered = false;
      made.is_copied = false;
    }
    // The variant's driver knows the memory in the context of the stream, too, where the library
    // then uses it.
    made.is_copied = made.is_copied && !(kind == kSecondContext && IsVariant("next"));
    if (kind >= kUnregistered) {
      made.found = 0;
      made.is_copied = false;
      // The label's context of the variant's driver knows the memory, and nothing tells the library
      // that it is not the context that allocated it.
      made.is_wrapped = kind == kUnknown && !IsVariant("next");
      made.is_rejected = made.is_wrapped;
    }
    return made;
  }
  void FreeOdd(const OddMemory& memory) override {
    CheckZe(world_.ze.zeMemFree(ContextOf(memory.kind), At(memory.memory)));
  }

  // -------------------------------------------------------------------------- contexts that end

  // Registered with a callback, which ends the context, or without one.
  struct Ending {
    LevelZero* self;
    ze_context_handle_t context;
    ze_command_list_handle_t list;
    void* memory;
    int losses;         // of the device, when it was made; after another one nothing is destroyed
    bool lost = false;  // work may be left, so that nothing can be destroyed
    static void Run(void* context, const DLBridgeContextEntry* /*entry*/) {
      auto* ending = static_cast<Ending*>(context);
      const auto& ze = ending->self->world_.ze;
      if (!ending->lost && ending->losses == ending->self->losses_) {
        CheckZe(ze.zeMemFree(ending->context, ending->memory));
        CheckZe(ze.zeCommandListDestroy(ending->list));
        CheckZe(ze.zeContextDestroy(ending->context));
      }
      --ending->self->endings_;
      delete ending;
    }
  };
  bool MakePassing(int device, unsigned variant, Passing* out) override {
    const auto index = static_cast<size_t>(device);
    auto* ending = new Ending{this, nullptr, nullptr, nullptr, losses_};
    const ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    CheckZe(world_.ze.zeContextCreate(world_.drivers[0], &desc, &ending->context));
    const ze_command_queue_desc_t queue = dlbridge_test::World::QueueDesc(0);
    CheckZe(world_.ze.zeCommandListCreateImmediate(ending->context, world_.devices[index], &queue,
                                                   &ending->list));
    const ze_device_mem_alloc_desc_t mem = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    CheckZe(world_.ze.zeMemAllocDevice(ending->context, &mem, kSize, 64, world_.devices[index],
                                       &ending->memory));
    DLBridgeContextEntry entry = dlbridge_context_entry_level_zero(
        device, world_.driver_of[index], world_.devices[index], ending->context);
    out->needs_wait = variant % 2 == 0;
    if (!out->needs_wait) {
      entry.release = Ending::Run;
      entry.release_context = ending;
    }
    DLBridgeError error = GarbageError();
    const DLBridgeStatus status = dlbridge_context_register(&entry, &out->entry, &error);
    Check([&] { return std::string("a registration: ") + error.message; }, status == DLBRIDGE_OK);
    ++endings_;
    // Any context of the variant's driver knows the memory, and the library asks the label's.
    out->is_found = !IsVariant("next");
    out->device = device;
    out->label = Label(device);
    out->stream = dlbridge_stream_level_zero(ending->list, ending->context, out->label);
    out->memory = dlbridge_buffer_level_zero(ending->memory, ending->context);
    out->context = ending;
    return true;
  }
  void EndPassing(Passing* passing, bool lost) override {
    static_cast<Ending*>(passing->context)->lost = lost;
    CheckStatus(DLBRIDGE_OK, dlbridge_context_unregister(passing->entry, nullptr));
    if (passing->needs_wait) {
      Ending::Run(passing->context, nullptr);
    }
  }

  bool Break(int /*device*/, unsigned how) override {
    // Lists that the fake has lost stay unusable in one process: rare, so that others are tried.
    if (how != 7) {
      return false;
    }
    world_.fake.fake_ze_lose(1);
    ++losses_;
    return true;
  }
  void Mend(int /*device*/) override { world_.fake.fake_ze_lose(0); }
  bool loses_work() const override { return true; }

  void SetCode(size_t choice) override {
    constexpr uint32_t kCodes[] = {kUnknownCode,
                                   ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                                   ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                                   ZE_RESULT_ERROR_INVALID_ARGUMENT,
                                   ZE_RESULT_ERROR_UNSUPPORTED_VERSION,
                                   ZE_RESULT_ERROR_DEVICE_LOST,
                                   ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE};
    code_ = kCodes[choice % (sizeof kCodes / sizeof kCodes[0])];
  }
  std::string FailAny(int nth, bool for_good) override {
    char names[1 << 14];
    world_.fake.fake_ze_failed(names, sizeof names);
    if (for_good) {
      world_.fake.fake_ze_fail_all(code_, static_cast<uint32_t>(nth));
    } else {
      world_.fake.fake_ze_fail_all(code_, 0);
      world_.fake.fake_ze_fail(nullptr, code_, static_cast<uint32_t>(nth));
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
      CheckEqual("contexts that the library still holds", size_t{0}, endings_);
      Check("pools of events, one per device", world_.fake.fake_ze_live("pool") <= kDevices + 1);
      // The library keeps lists for marks.
      Check("lists", world_.fake.fake_ze_live("list") <= kDevices + kDevices * 32);
    }
  }

 private:
  // Of an odd kind of memory.
  ze_context_handle_t ContextOf(size_t kind) const {
    return kind >= kUnregistered ? unregistered_ : (kind == kSecondContext ? second_ : context_);
  }

  static constexpr uint32_t kUnknownCode = 0x7ffffffe;

  static dlbridge_test::World* Make() {
    ThrowOnFailures();
    if (IsVariant("next")) {
      // A newer loader, and a driver whose contexts know all memory.
      setenv("DLBRIDGE_LIBZE", FAKE_LEVEL_ZERO_LOADER, 1);
      dlbridge_test::SetEnvironment(
          {{"FAKE_ZE_TABLE", "driver"}, {"FAKE_ZE_IPC", "process"}, {"FAKE_ZE_PEERS", "0>1"}});
      return new dlbridge_test::World(FAKE_LEVEL_ZERO_LOADER);
    }
    dlbridge_test::SetEnvironment({});
    return new dlbridge_test::World;
  }

  dlbridge_test::World& world_;
  ze_context_handle_t context_;  // the default of both labels
  ze_context_handle_t second_;
  ze_context_handle_t unregistered_;
  uint32_t code_ = kUnknownCode;
  size_t endings_ = 0;  // contexts whose end has not come
  ze_command_list_handle_t lists_[kDevices];
  ze_command_queue_handle_t queues_[kDevices];
  std::vector<ze_command_list_handle_t> works_;
  size_t pools_ = 0;
  int losses_ = 0;     // how often Break lost the device
  bool lost_ = false;  // objects that could not be destroyed stay
};

}  // namespace
}  // namespace dlbridge_fuzz

DLBRIDGE_FUZZ_DRIVER(LevelZero)
