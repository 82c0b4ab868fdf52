// SPDX-License-Identifier: Apache-2.0
// Programs of registrations, look-ups and retains against a model that follows
// docs/context-table.md literally. For some inputs a second thread runs a program of its own on
// other devices, and reads the entries of the first: each one that it finds must be whole.
#include <algorithm>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/model/codes.h"
#include "fuzz/support/check.h"
#include "fuzz/support/hidden_drivers.h"
#include "fuzz/support/input.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

constexpr int32_t kFirstDevice = 700;
constexpr int32_t kDevicesOfThread = 3;
constexpr int kMostSteps = 60;
constexpr uint32_t kLasting = DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_PRIVATE;

// The type of the entries of a device.
int32_t KeyOf(int32_t type) {
  if (type == kDLCUDAHost || type == kDLCUDAManaged) {
    return kDLCUDA;
  }
  return type == kDLROCMHost ? kDLROCM : type;
}

bool IsEnumerated(const DLBridgeContextEntry& entry) {
  return (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) != 0;
}

// The uuid repeats other fields, so that a reader sees whether an entry is whole.
void Mark(DLBridgeContextEntry* entry) {
  const uint64_t words[] = {entry->native_device * 31 + entry->context, entry->queue ^ 0x55};
  std::memcpy(entry->uuid, words, sizeof words);
}
void CheckWhole(const DLBridgeContextEntry& entry) {
  DLBridgeContextEntry again = entry;
  Mark(&again);
  Check("an entry is whole", std::memcmp(again.uuid, entry.uuid, sizeof entry.uuid) == 0);
}

struct Known {
  DLBridgeContextEntry entry;
  int retains = 0;
  bool registered = true;
};

// A program on the devices of one thread, and its model.
class Program {
 public:
  Program(Input* input, int32_t thread)
      : input_(*input), first_device_(kFirstDevice + 100 * thread) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Run() {
    for (int step = 0; step < kMostSteps && !input_.empty(); ++step) {
      Step();
      CheckReleases();
    }
    EndAll();
    CheckReleases();
    Check("all entries have ended", known_.empty());
  }

 private:
  using List = std::vector<uint64_t>;

  // ------------------------------------------------------------------------------------ the model

  static bool GivesWay(const DLBridgeContextEntry& old, const DLBridgeContextEntry& added) {
    const bool other = !SameNative(old, added);
    if (IsEnumerated(added)) {
      return false;
    }
    if (IsEnumerated(old) && (other || old.context == added.context)) {
      return true;
    }
    return other && (added.properties & DLBRIDGE_CONTEXT_REPLACE) != 0;
  }
  static bool SameNative(const DLBridgeContextEntry& a, const DLBridgeContextEntry& b) {
    return a.backend == b.backend && a.native_device == b.native_device;
  }

  List* ListOf(const DLDevice& device) {
    return &devices_[{static_cast<int32_t>(device.device_type), device.device_id}];
  }

  bool Conflicts(const DLBridgeContextEntry& added) {
    const List& list = *ListOf(added.device);
    return std::any_of(list.begin(), list.end(), [&](uint64_t id) {
      const DLBridgeContextEntry& old = known_[id].entry;
      return !GivesWay(old, added) && (!SameNative(old, added) || old.context == added.context);
    });
  }

  void Settle(uint64_t id) {
    const Known& known = known_[id];
    if (!known.registered && known.retains == 0) {
      if (known.entry.release != nullptr) {
        expected_.push_back(id);
      }
      ended_.push_back(id);
      known_.erase(id);
    }
  }

  void EndRegistration(uint64_t id) {
    List* list = ListOf(known_[id].entry.device);
    list->erase(std::find(list->begin(), list->end(), id));
    known_[id].registered = false;
    Settle(id);
  }

  void Add(DLBridgeContextEntry added) {
    List* list = ListOf(added.device);
    for (const uint64_t id : List(*list)) {
      if (GivesWay(known_[id].entry, added)) {
        EndRegistration(id);
      }
    }
    // Entries of applications come first, then the enumerated ones.
    const auto enumerated = std::find_if(
        list->begin(), list->end(), [&](uint64_t id) { return IsEnumerated(known_[id].entry); });
    const bool first = (added.properties & DLBRIDGE_CONTEXT_DEFAULT) != 0;
    const auto place = IsEnumerated(added) ? (first ? enumerated : list->end())
                                           : (first ? list->begin() : enumerated);
    list->insert(place, added.id);
    added.properties &= kLasting;
    known_[added.id].entry = added;
  }

  // ------------------------------------------------------------------------------------ the steps

  DLBridgeContextEntry TakeEntry() {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    struct Kind {
      int32_t backend;
      int32_t type;
    };
    const Kind kind = input_.Pick<Kind>({{DLBRIDGE_BACKEND_LEVEL_ZERO, kDLOneAPI},
                                         {DLBRIDGE_BACKEND_OPENCL, kDLOneAPI},
                                         {DLBRIDGE_BACKEND_OPENCL, kDLOpenCL},
                                         {DLBRIDGE_BACKEND_CUDA, kDLCUDA},
                                         {DLBRIDGE_BACKEND_HIP, kDLROCM}});
    entry.backend = kind.backend;
    entry.device = ToDevice(kind.type, TakeId());
    entry.native_device = 1 + input_.Below(2);
    const bool ordinals = kind.backend <= DLBRIDGE_BACKEND_HIP;
    entry.context = kind.backend == DLBRIDGE_BACKEND_HIP
                        ? 0
                        : input_.Below(4) + (kind.backend == DLBRIDGE_BACKEND_CUDA ? 0 : 1);
    entry.platform = ordinals ? 0 : input_.Below(3);
    entry.queue = input_.Below(3);
    entry.queue_kind = entry.queue != 0 ? DLBRIDGE_STREAM_QUEUE : 0;
    entry.properties = static_cast<uint32_t>(input_.Pick<uint64_t>({0, 0, 1, 2, 3, 4, 5, 8, 12}));
    entry.release = input_.OneIn(8) ? nullptr : Release;
    entry.release_context = this;
    Mark(&entry);
    return entry;
  }

  int32_t TakeId() { return first_device_ + static_cast<int32_t>(input_.Below(kDevicesOfThread)); }

  // Makes an entry wrong in one way; returns what `add` then answers.
  DLBridgeStatus Spoil(DLBridgeContextEntry* entry) {
    switch (input_.Below(10)) {
      case 0:
        entry->struct_size =
            static_cast<uint32_t>(input_.Pick<uint64_t>({0, 120, 136, UINT32_MAX}));
        return DLBRIDGE_ERROR_INVALID_ARGUMENT;
      case 1:
        entry->id = 1 + input_.Byte();
        return DLBRIDGE_ERROR_INVALID_ARGUMENT;
      case 2:
        entry->reserved[input_.Below(4)] = uint64_t{1} << input_.Below(64);
        return DLBRIDGE_ERROR_TOO_NEW;
      case 3:
        entry->properties |= 16U << input_.Below(28);
        return DLBRIDGE_ERROR_TOO_NEW;
      case 4:
        entry->properties = DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_REPLACE;
        return DLBRIDGE_ERROR_INVALID_ARGUMENT;
      case 5:
        entry->device = ToDevice(input_.Pick({kDLCPU, kDLCUDAHost, kDLMetal}), 1);
        return DLBRIDGE_ERROR_INVALID_ARGUMENT;
      case 6:
        entry->device.device_id = -1 - static_cast<int32_t>(input_.Byte());
        return DLBRIDGE_ERROR_INVALID_ARGUMENT;
      case 7:
        entry->backend = input_.Pick<int32_t>({DLBRIDGE_BACKEND_NONE, DLBRIDGE_BACKEND_CPU, 6});
        return DLBRIDGE_ERROR_INVALID_ARGUMENT;
      case 8:
        entry->queue_kind = entry->queue != 0 ? 0 : DLBRIDGE_STREAM_QUEUE;
        return DLBRIDGE_ERROR_INVALID_ARGUMENT;
      default:
        (entry->backend <= DLBRIDGE_BACKEND_HIP ? entry->platform : entry->native_device) =
            entry->backend <= DLBRIDGE_BACKEND_HIP ? 1 : 0;
        return DLBRIDGE_ERROR_INVALID_ARGUMENT;
    }
  }

  void Register() {
    DLBridgeContextEntry entry = TakeEntry();
    DLBridgeStatus expected = Conflicts(entry) ? DLBRIDGE_ERROR_EXISTS : DLBRIDGE_OK;
    if (input_.OneIn(8)) {
      expected = Spoil(&entry);
    }
    uint64_t id = 0;
    DLBridgeError error = GarbageError();
    const bool direct = input_.Flag();
    const DLBridgeStatus status = direct ? dlbridge_context_table_v1()->add(&entry, &id)
                                         : dlbridge_context_register(&entry, &id, &error);
    CheckStatus(expected, status);
    if (status != DLBRIDGE_OK) {
      CheckEqual("the id of no entry", uint64_t{0}, id);
      if (!direct) {
        CheckError(status, error);
      }
      return;
    }
    Check("an id is above all earlier ones", id > last_id_);
    last_id_ = id;
    entry.id = id;
    Add(entry);
  }

  // An id that is registered, retained, has ended, or never existed.
  uint64_t TakeEntryId() {
    const uint8_t choice = input_.Byte();
    if (choice >= 250) {
      return input_.Any<uint64_t>() | uint64_t{1} << 63;
    }
    if (choice >= 220 && !ended_.empty()) {
      return ended_[choice % ended_.size()];
    }
    if (known_.empty()) {
      return 0;
    }
    auto at = known_.begin();
    std::advance(at, static_cast<int64_t>(choice % known_.size()));
    return at->first;
  }

  void Unregister() {
    const uint64_t id = TakeEntryId();
    const bool registered = known_.count(id) != 0 && known_[id].registered;
    CheckStatus(registered ? DLBRIDGE_OK : DLBRIDGE_ERROR_NOT_FOUND,
                dlbridge_context_unregister(id, nullptr));
    if (registered) {
      EndRegistration(id);
    }
  }

  void Retain() {
    const uint64_t id = TakeEntryId();
    const bool registered = known_.count(id) != 0 && known_[id].registered;
    CheckStatus(registered ? DLBRIDGE_OK : DLBRIDGE_ERROR_NOT_FOUND,
                dlbridge_context_retain(id, nullptr));
    if (registered) {
      ++known_[id].retains;
    }
  }

  void EndRetain() {
    const uint64_t id = TakeEntryId();
    const bool retained = known_.count(id) != 0 && known_[id].retains > 0;
    CheckStatus(retained ? DLBRIDGE_OK : DLBRIDGE_ERROR_NOT_FOUND,
                dlbridge_context_release(id, nullptr));
    if (retained) {
      --known_[id].retains;
      Settle(id);
    }
  }

  void CheckSame(const DLBridgeContextEntry& found, uint64_t id, bool first) {
    DLBridgeContextEntry expected = known_[id].entry;
    expected.properties |= first ? uint32_t{DLBRIDGE_CONTEXT_DEFAULT} : 0;
    CheckEqual("the id of an entry", id, found.id);
    Check("a copy of the entry", std::memcmp(&found, &expected, sizeof found) == 0);
  }

  void Find() {
    const int32_t type = input_.Pick(
        {kDLOneAPI, kDLOpenCL, kDLCUDA, kDLROCM, kDLCUDAHost, kDLCUDAManaged, kDLROCMHost, kDLCPU});
    const DLDevice device = ToDevice(type, TakeId());
    const uint64_t context = input_.Below(5);
    const List& list = *ListOf(ToDevice(KeyOf(type), device.device_id));
    const auto at = std::find_if(list.begin(), list.end(), [&](uint64_t id) {
      return context == 0 || known_[id].entry.context == context;
    });
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    // dlbridge_context_find would look for a driver.
    const bool direct = at == list.end() || input_.Flag();
    const DLBridgeStatus status = direct
                                      ? dlbridge_context_table_v1()->find(device, context, &found)
                                      : dlbridge_context_find(device, context, &found, nullptr);
    CheckStatus(at == list.end() ? DLBRIDGE_ERROR_NOT_FOUND : DLBRIDGE_OK, status);
    if (at != list.end()) {
      CheckSame(found, *at, at == list.begin());
    }
  }

  bool IsMine(const DLDevice& device) const {
    return device.device_id >= first_device_ && device.device_id < first_device_ + kDevicesOfThread;
  }

  // Meets each registered entry of this thread once, in the order of their ids.
  void Iterate() {
    uint64_t cursor = 0;
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    auto at = known_.begin();
    for (;;) {
      at = std::find_if(at, known_.end(), [](const auto& one) { return one.second.registered; });
      uint64_t before = cursor;
      const DLBridgeStatus status = dlbridge_context_next(&cursor, &found, nullptr);
      if (status != DLBRIDGE_OK) {
        CheckStatus(DLBRIDGE_ERROR_NOT_FOUND, status);
        return Check("every entry was met", at == known_.end());
      }
      Check("ids grow", cursor > before && cursor == found.id);
      CheckWhole(found);
      if (IsMine(found.device)) {
        Check("an entry that is registered", at != known_.end());
        CheckSame(found, at->first, ListOf(found.device)->front() == at->first);
        ++at;
      }
    }
  }

  // Reads the devices of the other thread.
  void Peek() {
    const int32_t other = 2 * kFirstDevice + 100 - first_device_;
    const DLDevice device = ToDevice(kDLOneAPI, other + static_cast<int32_t>(input_.Below(3)));
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    const DLBridgeStatus status =
        dlbridge_context_table_v1()->find(device, input_.Below(4), &found);
    if (status == DLBRIDGE_OK) {
      CheckWhole(found);
      CheckEqual("the device id", device.device_id, found.device.device_id);
    } else {
      CheckStatus(DLBRIDGE_ERROR_NOT_FOUND, status);
    }
  }

  void Step() {
    switch (input_.Below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Register();
      case 4:
        return Unregister();
      case 5:
        return Retain();
      case 6:
        return EndRetain();
      case 7:
      case 8:
        return Find();
      case 9:
        return Iterate();
      case 10:
        return Peek();
      default:
        nests_ = !nests_;
    }
  }

  void EndAll() {
    while (!known_.empty()) {
      const uint64_t id = known_.begin()->first;
      if (known_[id].registered) {
        CheckStatus(DLBRIDGE_OK, dlbridge_context_unregister(id, nullptr));
        EndRegistration(id);
      } else {
        CheckStatus(DLBRIDGE_OK, dlbridge_context_release(id, nullptr));
        --known_[id].retains;
        Settle(id);
      }
    }
  }

  // ------------------------------------------------------------------------------------- callbacks

  static void Release(void* user, const DLBridgeContextEntry* entry) {
    auto* self = static_cast<Program*>(user);
    self->released_.push_back(entry->id);
    CheckWhole(*entry);
    // A callback may use the table.
    if (self->nests_) {
      DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
      uint64_t cursor = entry->id - 1;
      const DLBridgeStatus status = dlbridge_context_next(&cursor, &found, nullptr);
      Check("the entry has ended", status != DLBRIDGE_OK || found.id != entry->id);
      CheckStatus(DLBRIDGE_ERROR_NOT_FOUND, dlbridge_context_retain(entry->id, nullptr));
    }
  }

  void CheckReleases() {
    std::sort(released_.begin(), released_.end());
    std::sort(expected_.begin(), expected_.end());
    Check("entries are released once, when nothing keeps them", released_ == expected_);
    released_.clear();
    expected_.clear();
  }

  Input& input_;
  int32_t first_device_;
  std::map<uint64_t, Known> known_;  // registered or retained
  std::map<std::pair<int32_t, int32_t>, List> devices_;
  List released_;
  List expected_;
  List ended_;
  uint64_t last_id_ = 0;
  bool nests_ = false;
};

void RunBoth(const uint8_t* data, size_t size) {
  Input first(data, size / 2);
  Input second(data + size / 2, size - size / 2);
  std::thread other([&] { Program(&second, 1).Run(); });
  Program(&first, 0).Run();
  other.join();
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::HideDrivers();
  if (size > 1 && data[0] % 8 == 7) {
    dlbridge_fuzz::RunBoth(data + 1, size - 1);
  } else {
    dlbridge_fuzz::Input input(data, size);
    dlbridge_fuzz::Program(&input, 0).Run();
  }
  return 0;
}
