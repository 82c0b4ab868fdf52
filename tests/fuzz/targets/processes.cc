// SPDX-License-Identifier: Apache-2.0
// One context table for all libraries of a process, and what is left of it in forked children. Each
// input has a process of its own, which loads modules that export tables, some of them wrong, then
// the library, and registers devices. Children are forked in the middle, also by release callbacks.
// A model has the entries of each process by docs/context-table.md. libFuzzer does not see what a
// child reaches, so the seeds are named. The program does not link the library: it must not be the
// first.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/support/check.h"
#include "fuzz/support/child.h"
#include "fuzz/support/hidden_drivers.h"
#include "fuzz/support/input.h"

namespace dlbridge_fuzz {
namespace {

constexpr int kDevices = 40;
constexpr int kMostSteps = 60;
// Each child goes on with the rest of the steps, so that their number grows with that of the forks.
constexpr int kMostDepth = 3;
constexpr int kMostForks = 6;

// ---------------------------------------------------------------------------------------- modules

using Answer = int (*)(DLBridgeStatus next);

// A loaded module that exports a table.
struct Module {
  void* handle;
  Answer answer;  // NULL: a copy of the library
  bool is_table;
};

const char* TakeWrong(Input* input) {
  static const char* const kWrong[] = {"s", "v", "n", "0", "1", "2", "3", "4", "5"};
  return kWrong[input->Below(sizeof kWrong / sizeof kWrong[0])];
}

Module Load(Input* input) {
  static const char* const kFiles[] = {FUZZ_TABLE_A,    FUZZ_TABLE_B,    FUZZ_TABLE_OLD,
                                       FUZZ_TABLE_DATA, FUZZ_TABLE_USED, FUZZ_COPY};
  const size_t file = input->Below(sizeof kFiles / sizeof kFiles[0]);
  const char* wrong = input->Flag() ? TakeWrong(input) : "g";
  setenv("FUZZ_TABLE", wrong, 1);
  const bool loaded_before = dlopen(kFiles[file], RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  Module module = {dlopen(kFiles[file], RTLD_LAZY | RTLD_LOCAL), nullptr, true};
  Check([&] { return std::string("a module: ") + dlerror(); }, module.handle != nullptr);
  module.answer = reinterpret_cast<Answer>(dlsym(module.handle, "fuzz_table_answer"));
  module.is_table = !loaded_before && (file == 5 || (file < 3 && *wrong == 'g'));
  return module;
}

// --------------------------------------------------------------------------------------- the model

struct Entry {
  uint64_t id;
  int device;
  uint64_t context;
  uint64_t native;
  int retains = 0;
  bool registered = true;
  bool stale = false;
};

class Program {
 public:
  // `table` is that of the process, maybe of another copy of the library.
  Program(Input* input, const DLBridgeApi* api, const DLBridgeContextTable* table)
      : input_(*input), api_(*api), table_(*table) {
    g_program_ = this;
  }

  void Run() {
    for (; steps_ < kMostSteps && !input_.empty(); ++steps_) {
      Step();
    }
    Iterate();
  }

 private:
  static constexpr DLBridgeStatus kOk = DLBRIDGE_OK;
  static constexpr DLBridgeStatus kMissing = DLBRIDGE_ERROR_NOT_FOUND;
  static constexpr DLBridgeStatus kForked = DLBRIDGE_ERROR_FORKED;

  // ----------------------------------------------------------------------------------- processes

  // In a child all entries are stale, and none of them is ever released there.
  void BecomeChild() {
    for (Entry& entry : entries_) {
      entry.stale = true;
    }
    ++depth_;
  }
  // Counts a fork, if there may be another one.
  bool TakeFork() { return depth_ < kMostDepth && ++forks_ <= kMostForks; }
  void Fork() {
    if (!TakeFork()) {
      return;
    }
    const pid_t child = StartChild();
    if (child != 0) {
      Await(child);
      return;
    }
    BecomeChild();
  }

  // ------------------------------------------------------------------------------------- entries

  DLBridgeContextEntry Made(int device, uint64_t context, uint64_t native) {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
    entry.device = {kDLOneAPI, 300 + device};
    entry.context = context;
    entry.native_device = native;
    entry.release = Release;
    return entry;
  }

  std::vector<Entry*> Of(int device) {
    std::vector<Entry*> found;
    for (Entry& entry : entries_) {
      if (entry.registered && entry.device == device) {
        found.push_back(&entry);
      }
    }
    return found;
  }

  void Register() {
    const auto device = static_cast<int>(input_.Below(kDevices));
    const uint64_t context = 1 + input_.Below(3);
    const uint64_t native = 1 + input_.Below(2);
    const bool replace = input_.Flag();
    Add(device, context, native, replace);
  }

  void Add(int device, uint64_t context, uint64_t native, bool replace) {
    Trace() += "add " + std::to_string(device) + ", context " + std::to_string(context) +
               ", native " + std::to_string(native) + (replace ? ", replace\n" : "\n");
    DLBridgeContextEntry entry = Made(device, context, native);
    entry.properties = replace ? DLBRIDGE_CONTEXT_REPLACE : 0;
    bool exists = false;
    std::vector<uint64_t> gone;
    for (const Entry* old : Of(device)) {
      if (!old->stale && (old->native != native ? !replace : old->context == context)) {
        exists = true;
      }
      if (old->stale || old->native != native) {
        gone.push_back(old->id);
      }
    }
    const size_t released = released_.size();
    uint64_t id = 0;
    in_call_ = true;
    const DLBridgeStatus status = api_.context_register(&entry, &id, nullptr);
    in_call_ = false;
    CheckEqual("register", static_cast<DLBridgeStatus>(exists ? DLBRIDGE_ERROR_EXISTS : kOk),
               status);
    if (status != kOk) {
      return;
    }
    const int depth = depth_;
    Displace(device, gone, released);
    Check("an id is above all earlier ones", entries_.empty() || id > entries_.back().id);
    // A child that was forked by a callback is younger than the entry.
    entries_.push_back({id, device, context, native, 0, true, depth != depth_});
  }

  // The entries of another native device have ended, and those from before a fork are dropped.
  void Displace(int device, const std::vector<uint64_t>& gone, size_t released) {
    const bool in_new_child = became_child_;
    if (became_child_) {
      BecomeChild();
      became_child_ = false;
    }
    std::vector<uint64_t> expected;
    for (Entry* old : Of(device)) {
      if (std::find(gone.begin(), gone.end(), old->id) == gone.end()) {
        continue;
      }
      old->registered = false;
      if (!old->stale && old->retains == 0) {
        expected.push_back(old->id);
      }
    }
    std::vector<uint64_t> found(released_.begin() + static_cast<int64_t>(released),
                                released_.end());
    std::sort(found.begin(), found.end());
    // A child that a callback has forked leaves the rest to its parent.
    Check("displaced entries are released", found == expected || in_new_child);
  }

  Entry* Take() { return entries_.empty() ? nullptr : &entries_[input_.Below(entries_.size())]; }
  DLBridgeStatus Expect(const Entry& entry, bool holds) const {
    return entry.stale ? kForked : (holds ? kOk : kMissing);
  }

  void Unregister() {
    Entry* entry = Take();
    if (entry == nullptr) {
      return;
    }
    const DLBridgeStatus expected = Expect(*entry, entry->registered);
    const uint64_t id = entry->id;
    Trace() += "unregister entry " + std::to_string(id) + " of device " +
               std::to_string(entry->device) + "\n";
    const bool ends = expected == kOk && entry->retains == 0;
    if (expected == kOk) {
      entry->registered = false;
    }
    Settle(id, ends, expected, [&] { return api_.context_unregister(id, nullptr); });
  }
  void Retain() {
    Entry* entry = Take();
    if (entry == nullptr) {
      return;
    }
    const DLBridgeStatus expected = Expect(*entry, entry->registered);
    CheckEqual("retain", expected, api_.context_retain(entry->id, nullptr));
    entry->retains += expected == kOk ? 1 : 0;
  }
  void EndRetain() {
    Entry* entry = Take();
    if (entry == nullptr) {
      return;
    }
    const DLBridgeStatus expected = Expect(*entry, entry->retains > 0);
    const uint64_t id = entry->id;
    entry->retains -= expected == kOk ? 1 : 0;
    const bool ends = expected == kOk && entry->retains == 0 && !entry->registered;
    Settle(id, ends, expected, [&] { return api_.context_release(id, nullptr); });
  }
  template <class Call>
  void Settle(uint64_t id, bool ends, DLBridgeStatus expected, Call call) {
    const size_t released = released_.size();
    in_call_ = true;
    const DLBridgeStatus status = call();
    in_call_ = false;
    CheckEqual("the status", expected, status);
    CheckEqual("releases", released + (ends ? 1 : 0), released_.size());
    Check("the released entry", !ends || released_.back() == id);
    if (became_child_) {
      BecomeChild();
      became_child_ = false;
    }
  }

  // An id that no entry has had.
  void UseUnknown() {
    const uint64_t id = (uint64_t{1} << 60) + input_.Byte();
    CheckEqual("retain", kMissing, api_.context_retain(id, nullptr));
    CheckEqual("unregister", kMissing, api_.context_unregister(id, nullptr));
  }

  // Many entries, for which the table needs more memory.
  void RegisterMany() {
    const auto count = static_cast<int>(input_.Below(uint64_t{2} * kDevices));
    for (int i = 0; i < count; ++i) {
      Add(i % kDevices, 1 + static_cast<uint64_t>(i / kDevices), 1, false);
    }
  }

  void Find() {
    const auto device = static_cast<int>(input_.Below(kDevices));
    Trace() += "find " + std::to_string(device) + "\n";
    const std::vector<Entry*> all = Of(device);
    const auto live =
        std::find_if(all.begin(), all.end(), [](const Entry* entry) { return !entry->stale; });
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    const DLBridgeStatus status = table_.find({kDLOneAPI, 300 + device}, 0, &found);
    CheckEqual("find", live != all.end() ? kOk : (all.empty() ? kMissing : kForked), status);
    if (status == kOk) {
      CheckEqual("the default entry", (*live)->id, found.id);
    }
    // An error of the table is explained; only if there is no entry, the driver is asked.
    DLBridgeError error;
    if (!all.empty()) {
      CheckEqual("dlbridge_context_find", status,
                 api_.context_find({kDLOneAPI, 300 + device}, 0, &found, &error));
    }
  }

  void Iterate() {
    uint64_t cursor = 0;
    DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
    for (const Entry& entry : entries_) {
      if (!entry.registered || entry.stale) {
        continue;
      }
      CheckEqual("next", kOk, api_.context_next(&cursor, &found, nullptr));
      CheckEqual("the next entry", entry.id, found.id);
    }
    CheckEqual("after the last entry", kMissing, api_.context_next(&cursor, &found, nullptr));
  }

  // Where there is a driver: a child must not use what its parent has started.
  void UseDriver() {
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    const DLBridgeStatus status = api_.backend_info(DLBRIDGE_BACKEND_CUDA, &info, nullptr);
    const bool inherited = started_in_ >= 0 && started_in_ != depth_;
    CheckEqual("a driver", inherited ? kForked : kOk, status);
    if (status == kOk) {
      CheckEqual("its state", int32_t{DLBRIDGE_STATE_READY}, info.state);
      started_in_ = depth_;
    }
    CheckEqual("the host needs no driver", kOk,
               api_.backend_info(DLBRIDGE_BACKEND_CPU, &info, nullptr));
    int value = 0;
    const DLBridgeBuffer buffer = dlbridge_buffer_address(&value);
    DLBridgePointerInfo pointer = DLBRIDGE_POINTER_INFO_INIT;
    const DLBridgeStatus asked = api_.pointer_info(&buffer, {kDLCUDA, 0}, &pointer, nullptr);
    Check("memory of the host", inherited ? asked == kForked : asked == kOk);
  }

  void Step() {
    const auto choice = input_.Below(14);
    Trace() += "depth " + std::to_string(depth_) + ", step " + std::to_string(choice) + "\n";
    switch (choice) {
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
        return Find();
      case 8:
        return Iterate();
      case 9:
        return Fork();
      case 10:
        return RegisterMany();
      case 11:
        callback_forks_ = !callback_forks_;
        return;
      case 12:
        return UseDriver();
      default:
        return UseUnknown();
    }
  }

  static void Release(void* /*context*/, const DLBridgeContextEntry* entry) {
    Program& self = *g_program_;
    Check("a release inside a call", self.in_call_);
    self.released_.push_back(entry->id);
    if (self.callback_forks_ && !self.became_child_ && self.TakeFork()) {
      const pid_t child = StartChild();
      if (child != 0) {
        return Await(child);
      }
      self.became_child_ = true;
    }
  }

  static Program* g_program_;
  Input& input_;
  const DLBridgeApi& api_;
  const DLBridgeContextTable& table_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> released_;
  int depth_ = 0;  // of forks
  int forks_ = 0;  // of this process and, before it was forked, of its parents
  int started_in_ = -1;
  int steps_ = 0;
  bool in_call_ = false;
  bool callback_forks_ = false;
  bool became_child_ = false;
};
Program* Program::g_program_ = nullptr;

// The table of a module answers each call, whatever it says.
void UseForeign(Input* input, const DLBridgeApi& api, const std::vector<Module>& modules,
                const Module& chosen) {
  for (int step = 0; step < 12 && !input->empty(); ++step) {
    const auto status = input->Pick<DLBridgeStatus>({DLBRIDGE_OK, DLBRIDGE_ERROR_OUT_OF_MEMORY,
                                                     DLBRIDGE_ERROR_FORKED, DLBRIDGE_ERROR_EXISTS,
                                                     DLBRIDGE_ERROR_NOT_FOUND, 4711});
    const int before = chosen.answer(status);
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
    entry.device = {kDLOneAPI, 1};
    entry.context = entry.native_device = 1;
    uint64_t word = 0;
    DLBridgeStatus found = DLBRIDGE_OK;
    DLBridgeError error;
    std::memset(&error, 0, sizeof error);
    const auto call = input->Below(5);
    switch (call) {
      case 0:
        found = api.context_register(&entry, &word, &error);
        break;
      case 1:
        found = api.context_next(&word, &entry, &error);
        break;
      case 2:
        found = api.context_retain(3, &error);
        break;
      case 3:
        found = api.context_release(3, &error);
        break;
      default:
        found = api.context_unregister(3, &error);
    }
    CheckEqual("the status of the table", status, found);
    Check("an error has a text", status == DLBRIDGE_OK || error.message[0] != '\0');
    CheckEqual("calls of the table", before + 1, chosen.answer(DLBRIDGE_OK));
  }
  for (const Module& module : modules) {
    Check("no other table is used", &module == &chosen || module.answer == nullptr ||
                                        module.answer(DLBRIDGE_OK) == 0 ||
                                        module.handle == chosen.handle);
  }
}

void Run(Input* input) {
  std::vector<Module> modules;
  for (uint64_t count = input->Below(4); count != 0; --count) {
    modules.push_back(Load(input));
  }
  if (!modules.empty() && input->OneIn(4) && modules.front().answer != nullptr) {
    dlclose(modules.front().handle);  // before the library looks for a table
    for (size_t i = 1; i < modules.size(); ++i) {
      Check("a module that stays", modules[i].handle != nullptr);
    }
    if (std::none_of(modules.begin() + 1, modules.end(), [&](const Module& module) {
          return module.handle == modules.front().handle;
        })) {
      modules.erase(modules.begin());
    }
  }
  void* library = dlopen(FUZZ_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  Check([] { return std::string("the library: ") + dlerror(); }, library != nullptr);
  const auto get = reinterpret_cast<const DLBridgeApi* (*)(uint32_t, size_t)>(
      dlsym(library, "dlbridge_get_api"));
  const DLBridgeApi* api = get(DLBRIDGE_ABI, sizeof(DLBridgeApi));
  const auto chosen = std::find_if(modules.begin(), modules.end(),
                                   [](const Module& module) { return module.is_table; });
  if (chosen != modules.end() && chosen->answer != nullptr) {
    UseForeign(input, *api, modules, *chosen);
  } else {
    const bool is_copy = chosen != modules.end();
    const auto table = reinterpret_cast<const DLBridgeContextTable* (*)()>(
        dlsym(is_copy ? chosen->handle : library, "dlbridge_context_table_v1"));
    Program(input, api, table()).Run();
  }
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::HideDrivers();
  setenv("DLBRIDGE_LIBCUDA", FUZZ_CUDA, 1);
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::InChild([&] { dlbridge_fuzz::Run(&input); });
  return 0;
}
