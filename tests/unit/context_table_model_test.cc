// SPDX-License-Identifier: Apache-2.0
// The context table against a model that follows docs/context-table.md literally. Each step is a
// random registration, end or retain, after which the whole table is compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

constexpr int32_t kFirstDevice = 300;
constexpr int64_t kDevices = 5;
constexpr int64_t kNatives = 2;
constexpr int64_t kContexts = 6;

struct Known {
  DLBridgeContextEntry entry;
  int retains = 0;
  bool registered = true;
};

struct Model {
  std::map<uint64_t, Known> known;                   // registered or retained
  std::map<int32_t, std::vector<uint64_t>> devices;  // registered, in order
  std::vector<uint64_t> released;
};

void Release(void* user, const DLBridgeContextEntry* entry) {
  static_cast<std::vector<uint64_t>*>(user)->push_back(entry->id);
}

bool IsEnumerated(const DLBridgeContextEntry& entry) {
  return (entry.properties & DLBRIDGE_CONTEXT_ENUMERATED) != 0;
}

class ContextTableModel : public testing::Test {
 protected:
  static bool GivesWay(const DLBridgeContextEntry& old, const DLBridgeContextEntry& added) {
    const bool other = old.native_device != added.native_device;
    if (IsEnumerated(added)) {
      return false;
    }
    return IsEnumerated(old) ? other || old.context == added.context
                             : other && (added.properties & DLBRIDGE_CONTEXT_REPLACE) != 0;
  }

  DLBridgeContextEntry RandomEntry() {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
    entry.device =
        Device(kDLOneAPI, kFirstDevice + static_cast<int32_t>(random_.Between(0, kDevices - 1)));
    entry.native_device = static_cast<uint64_t>(random_.Between(1, kNatives));
    entry.context = static_cast<uint64_t>(random_.Between(1, kContexts));
    static const uint32_t kFlags[] = {0,
                                      0,
                                      DLBRIDGE_CONTEXT_DEFAULT,
                                      DLBRIDGE_CONTEXT_REPLACE,
                                      DLBRIDGE_CONTEXT_REPLACE | DLBRIDGE_CONTEXT_DEFAULT,
                                      DLBRIDGE_CONTEXT_ENUMERATED,
                                      DLBRIDGE_CONTEXT_ENUMERATED | DLBRIDGE_CONTEXT_DEFAULT,
                                      DLBRIDGE_CONTEXT_PRIVATE};
    entry.properties = random_.Pick(kFlags);
    entry.release = Release;
    entry.release_context = &released_;
    return entry;
  }

  bool Conflicts(const DLBridgeContextEntry& added) {
    for (const uint64_t id : model_.devices[added.device.device_id]) {
      const DLBridgeContextEntry& old = model_.known[id].entry;
      if (!GivesWay(old, added) &&
          (old.native_device != added.native_device || old.context == added.context)) {
        return true;
      }
    }
    return false;
  }

  // Releases the entry if neither its registration nor a retain is left.
  void Settle(uint64_t id) {
    const Known& known = model_.known[id];
    if (!known.registered && known.retains == 0) {
      model_.released.push_back(id);
      model_.known.erase(id);
    }
  }

  void EndRegistration(uint64_t id) {
    Known& known = model_.known[id];
    std::vector<uint64_t>& list = model_.devices[known.entry.device.device_id];
    list.erase(std::find(list.begin(), list.end(), id));
    known.registered = false;
    Settle(id);
  }

  void Insert(DLBridgeContextEntry added) {
    std::vector<uint64_t>& list = model_.devices[added.device.device_id];
    for (const uint64_t id : std::vector<uint64_t>(list)) {
      if (GivesWay(model_.known[id].entry, added)) {
        EndRegistration(id);
      }
    }
    const bool first = (added.properties & DLBRIDGE_CONTEXT_DEFAULT) != 0;
    auto place = std::find_if(list.begin(), list.end(), [&](uint64_t id) {
      const bool enumerated = IsEnumerated(model_.known[id].entry);
      return first && IsEnumerated(added) ? enumerated
                                          : first || (enumerated && !IsEnumerated(added));
    });
    list.insert(place, added.id);
    added.properties &= ~uint32_t{DLBRIDGE_CONTEXT_DEFAULT | DLBRIDGE_CONTEXT_REPLACE};
    model_.known[added.id].entry = added;
  }

  void Register() {
    DLBridgeContextEntry entry = RandomEntry();
    uint64_t id = 0;
    const DLBridgeStatus status = dlbridge_context_register(&entry, &id, nullptr);
    if (Conflicts(entry)) {
      EXPECT_EQ(status, DLBRIDGE_ERROR_EXISTS);
      return;
    }
    ASSERT_EQ(status, DLBRIDGE_OK);
    EXPECT_GT(id, last_id_);
    last_id_ = id;
    entry.id = id;
    Insert(entry);
  }

  // A random entry that is registered or retained, or 0.
  uint64_t AnyId() {
    if (model_.known.empty()) {
      return 0;
    }
    auto at = model_.known.begin();
    std::advance(at, random_.Between(0, static_cast<int64_t>(model_.known.size()) - 1));
    return at->first;
  }

  void Unregister(uint64_t id) {
    const bool registered = model_.known[id].registered;
    EXPECT_EQ(dlbridge_context_unregister(id, nullptr),
              registered ? DLBRIDGE_OK : DLBRIDGE_ERROR_NOT_FOUND);
    if (registered) {
      EndRegistration(id);
    }
  }

  void Retain(uint64_t id) {
    const bool registered = model_.known[id].registered;
    EXPECT_EQ(dlbridge_context_retain(id, nullptr),
              registered ? DLBRIDGE_OK : DLBRIDGE_ERROR_NOT_FOUND);
    model_.known[id].retains += registered ? 1 : 0;
  }

  void EndRetain(uint64_t id) {
    const bool kept = model_.known[id].retains > 0;
    EXPECT_EQ(dlbridge_context_release(id, nullptr), kept ? DLBRIDGE_OK : DLBRIDGE_ERROR_NOT_FOUND);
    if (kept) {
      --model_.known[id].retains;
      Settle(id);
    }
  }

  void Step() {
    const uint64_t id = AnyId();
    const int64_t choice = random_.Between(0, 9);
    if (id == 0 || choice < 5) {
      Register();
    } else if (choice < 7) {
      Unregister(id);
    } else if (choice < 8) {
      Retain(id);
    } else {
      EndRetain(id);
    }
  }

  void ExpectSame(const DLBridgeContextEntry& found, uint64_t id, bool first) {
    DLBridgeContextEntry expected = model_.known[id].entry;
    expected.properties |= first ? uint32_t{DLBRIDGE_CONTEXT_DEFAULT} : 0;
    EXPECT_EQ(std::memcmp(&found, &expected, sizeof found), 0) << id << " " << found.id;
  }

  void CheckFind(int32_t device, uint64_t context) {
    const std::vector<uint64_t>& list = model_.devices[device];
    const auto at = std::find_if(list.begin(), list.end(), [&](uint64_t id) {
      return context == 0 || model_.known[id].entry.context == context;
    });
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    const DLBridgeStatus status =
        dlbridge_context_table_v1()->find(Device(kDLOneAPI, device), context, &found);
    ASSERT_EQ(status, at == list.end() ? DLBRIDGE_ERROR_NOT_FOUND : DLBRIDGE_OK);
    if (at != list.end()) {
      ExpectSame(found, *at, at == list.begin());
    }
  }

  void CheckNext() {
    uint64_t cursor = 0;
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    for (const auto& [id, known] : model_.known) {
      if (known.registered) {
        ASSERT_EQ(dlbridge_context_next(&cursor, &found, nullptr), DLBRIDGE_OK);
        EXPECT_EQ(cursor, id);
        ExpectSame(found, id, model_.devices[known.entry.device.device_id].front() == id);
      }
    }
    EXPECT_EQ(dlbridge_context_next(&cursor, &found, nullptr), DLBRIDGE_ERROR_NOT_FOUND);
  }

  void Check() {
    for (int32_t device = kFirstDevice; device < kFirstDevice + kDevices; ++device) {
      for (uint64_t context = 0; context <= kContexts; ++context) {
        CheckFind(device, context);
      }
    }
    CheckNext();
    std::sort(released_.begin(), released_.end());
    std::sort(model_.released.begin(), model_.released.end());
    EXPECT_EQ(released_, model_.released);
    released_.clear();
    model_.released.clear();
  }

  Random random_{13};
  Model model_;
  std::vector<uint64_t> released_;
  uint64_t last_id_ = 0;
};

TEST_F(ContextTableModel, AgreesAfterEachStep) {
  for (size_t i = 0; i < Scaled(20000) && !HasFailure(); ++i) {
    Step();
    Check();
  }
  while (!model_.known.empty()) {
    const uint64_t id = AnyId();
    if (model_.known[id].registered) {
      Unregister(id);
    } else {
      EndRetain(id);
    }
  }
  Check();
}

}  // namespace
}  // namespace dlbridge_test
