// SPDX-License-Identifier: Apache-2.0
// The tensors of one case: those that it describes, and those that its calls create.
#ifndef DLBRIDGE_TESTS_CONFORMANCE_WORLD_H_
#define DLBRIDGE_TESTS_CONFORMANCE_WORLD_H_

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/aligned.h"
#include "support/allocations.h"

namespace dlbridge::conformance {

using json = nlohmann::ordered_json;

// 64-bit numbers are strings, because JSON readers of other languages keep only 53 bits.
inline int64_t Signed(const json& value) {
  return value.is_string() ? std::stoll(value.get<std::string>()) : value.get<int64_t>();
}
inline uint64_t Unsigned(const json& value) {
  return value.is_string() ? std::stoull(value.get<std::string>()) : value.get<uint64_t>();
}
inline std::vector<int64_t> Numbers(const json& values) {
  std::vector<int64_t> numbers;
  for (const json& value : values) {
    numbers.push_back(Signed(value));
  }
  return numbers;
}

inline std::vector<unsigned char> BytesOf(const std::string& hex) {
  std::vector<unsigned char> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}
inline std::string Hex(const void* memory, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(memory);
  std::string hex;
  for (size_t i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[bytes[i] >> 4];
    hex += "0123456789abcdef"[bytes[i] & 15];
  }
  return hex;
}

// Copied as bytes: the device type of a case may be any integer.
inline DLDevice DeviceFrom(const json& value) {
  const int32_t fields[2] = {value[0].get<int32_t>(), value[1].get<int32_t>()};
  DLDevice device;
  std::memcpy(&device, fields, sizeof device);
  return device;
}
inline json ToJson(const DLDevice& device) {
  int32_t fields[2];
  std::memcpy(fields, &device, sizeof fields);
  return {fields[0], fields[1]};
}
inline DLDataType DtypeFrom(const json& value) {
  return {value[0].get<uint8_t>(), value[1].get<uint8_t>(), value[2].get<uint16_t>()};
}
inline json ToJson(DLDataType dtype) { return {dtype.code, dtype.bits, dtype.lanes}; }
inline DLPackVersion VersionFrom(const json& value) {
  return {value[0].get<uint32_t>(), value[1].get<uint32_t>()};
}
inline json ToJson(DLPackVersion version) { return {version.major, version.minor}; }

inline json Strings(const int64_t* values, int32_t count) {
  json strings = json::array();
  for (int32_t i = 0; i < count; ++i) {
    strings.push_back(std::to_string(values[i]));
  }
  return strings;
}

// Counts the library's allocations and frees while it lives; allocation number `fail_at`, from 1,
// fails.
class Counted {
 public:
  explicit Counted(int64_t fail_at = 0) : allocations_(fail_at) {}
  ~Counted() { live_blocks += allocations_.live(); }
  static inline int64_t live_blocks = 0;

 private:
  dlbridge_test::Allocations allocations_;
};

// Not a kind of the library: memory that no tensor describes yet.
constexpr DLBridgeKind kMemory = 100;

// A tensor or memory of the case, with a deleter that counts.
class Producer {
 public:
  explicit Producer(const json& spec)
      : has_deleter(spec.value("deleter", false)),
        kind_name(spec["kind"]),
        flags(spec.contains("flags") ? Unsigned(spec["flags"]) : 0),
        bytes_(BytesOf(spec.value("bytes", ""))) {
    std::memset(&borrowed_, 0, sizeof borrowed_);
    std::memset(&legacy_, 0, sizeof legacy_);
    std::memset(&versioned_, 0, sizeof versioned_);
    Describe(spec);
    legacy_ = {borrowed_, this, has_deleter ? DeleteLegacy : nullptr};
    const DLPackVersion version =
        spec.contains("version") ? VersionFrom(spec["version"]) : DLPackVersion{0, 0};
    versioned_ = {version, this, has_deleter ? DeleteVersioned : nullptr, flags, borrowed_};
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  DLBridgeKind kind() const {
    return kind_name == "LEGACY"      ? DLBRIDGE_KIND_LEGACY
           : kind_name == "VERSIONED" ? DLBRIDGE_KIND_VERSIONED
           : kind_name == "MEMORY"    ? kMemory
                                      : DLBRIDGE_KIND_BORROWED;
  }
  void* pointer() {
    return kind_name == "LEGACY"      ? static_cast<void*>(&legacy_)
           : kind_name == "VERSIONED" ? static_cast<void*>(&versioned_)
           : kind_name == "MEMORY"    ? static_cast<void*>(this)
                                      : &borrowed_;
  }
  void* data() const { return borrowed_.data; }

  // The release callbacks of a MEMORY for `wrap`, `copy` and `context_register`.
  static void MemoryReleased(void* self, const DLBridgeBuffer* buffer,
                             const DLBridgeStream* stream) {
    auto* memory = static_cast<Producer*>(self);
    const bool own = buffer->handle == reinterpret_cast<uintptr_t>(memory->data());
    memory->deletes += own && stream == nullptr ? 1 : 100;
  }
  static void EntryReleased(void* self, const DLBridgeContextEntry* entry) {
    static_cast<Producer*>(self)->deletes += entry->release_context == self ? 1 : 100;
  }

  const bool has_deleter;
  const std::string kind_name;
  const uint64_t flags;
  int deletes = 0;

 private:
  static void DeleteLegacy(DLManagedTensor* self) {
    ++static_cast<Producer*>(self->manager_ctx)->deletes;
  }
  static void DeleteVersioned(DLManagedTensorVersioned* self) {
    ++static_cast<Producer*>(self->manager_ctx)->deletes;
  }

  void Describe(const json& spec) {
    const uint64_t data = Unsigned(spec["data"]);
    borrowed_.data = bytes_.empty() ? reinterpret_cast<void*>(data) : bytes_.data() + data;
    if (kind_name == "MEMORY") {
      return;
    }
    shape_ = Numbers(spec["shape"].is_null() ? json::array() : spec["shape"]);
    strides_ = Numbers(spec["strides"].is_null() ? json::array() : spec["strides"]);
    shape_.reserve(1);
    strides_.reserve(1);
    borrowed_.device = DeviceFrom(spec["device"]);
    borrowed_.ndim = spec["ndim"].get<int32_t>();
    borrowed_.dtype = DtypeFrom(spec["dtype"]);
    borrowed_.shape = spec["shape"].is_null() ? nullptr : shape_.data();
    borrowed_.strides = spec["strides"].is_null() ? nullptr : strides_.data();
    borrowed_.byte_offset = Unsigned(spec["byte_offset"]);
  }

  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  std::vector<unsigned char> bytes_;
  DLTensor borrowed_;
  DLManagedTensor legacy_;
  DLManagedTensorVersioned versioned_;
};

// The tensor that a name currently refers to.
struct Handle {
  void* pointer = nullptr;
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  uint64_t flags = 0;

  DLManagedTensor* legacy() const { return static_cast<DLManagedTensor*>(pointer); }
  DLManagedTensorVersioned* versioned() const {
    return static_cast<DLManagedTensorVersioned*>(pointer);
  }
  Producer* memory() const { return static_cast<Producer*>(pointer); }
  DLTensor* tensor() const {
    return kind == DLBRIDGE_KIND_LEGACY      ? &legacy()->dl_tensor
           : kind == DLBRIDGE_KIND_VERSIONED ? &versioned()->dl_tensor
                                             : static_cast<DLTensor*>(pointer);
  }
};

class World {
 public:
  explicit World(const json& objects) {
    Counted::live_blocks = 0;
    for (const auto& [name, spec] : objects.items()) {
      auto& producer = producers_[name] = std::make_unique<Producer>(spec);
      live_[name] = {producer->pointer(), producer->kind(), producer->flags};
    }
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (void* storage : storages_) {
      std::free(storage);
    }
  }

  Handle Get(const std::string& name) const {
    const auto found = live_.find(name);
    return found != live_.end() ? found->second : Handle();
  }
  // The call consumed the tensor: the name refers to nothing any more.
  void Take(const std::string& name) { live_.erase(name); }
  void Put(const std::string& name, void* pointer, DLBridgeKind kind) {
    const uint64_t flags = kind == DLBRIDGE_KIND_VERSIONED
                               ? static_cast<DLManagedTensorVersioned*>(pointer)->flags
                               : 0;
    live_[name] = {pointer, kind, flags};
  }
  DLBridgeStatus Release(const std::string& name) {
    const Handle handle = Get(name);
    Take(name);
    const Counted counted;
    if (handle.kind == kMemory) {
      handle.memory()->deletes += handle.memory()->has_deleter ? 1 : 0;
      return DLBRIDGE_OK;
    }
    // A borrowed tensor has no deleter.
    return handle.kind == DLBRIDGE_KIND_BORROWED ? DLBRIDGE_OK
                                                 : dlbridge_release(handle.pointer, handle.kind);
  }
  // A registration in the context table; it ends with the case at the latest.
  void Register(const std::string& name, uint64_t id) { entries_[name] = id; }
  void Unregistered(const std::string& name) { ended_[name] = true; }
  uint64_t EntryId(const std::string& name) const {
    const auto found = entries_.find(name);
    return found != entries_.end() ? found->second : UINT64_MAX;
  }
  // The name of an entry, or "other".
  std::string EntryName(uint64_t id) const {
    for (const auto& [name, known] : entries_) {
      if (known == id) {
        return name;
      }
    }
    return "other";
  }

  // The name of the case's tensor or live result that has this address, or "new".
  std::string NameOf(const void* pointer) const {
    for (const auto& [name, producer] : producers_) {
      if (producer->pointer() == pointer) {
        return name;
      }
    }
    for (const auto& [name, handle] : live_) {
      if (handle.pointer == pointer) {
        return name;
      }
    }
    return "new";
  }
  json Deletes() const {
    json counts = json::object();
    for (const auto& [name, producer] : producers_) {
      counts[name] = producer->deletes;
    }
    return counts;
  }

  // Memory for dlbridge_upgrade_into, and its release callback.
  void* Storage(size_t size) {
    storages_.push_back(dlbridge_test::AllocateAligned(16, size));
    return storages_.back();
  }
  static void StorageReleased(void* context, void* /*memory*/) {
    --static_cast<World*>(context)->storages_in_use;
  }
  int storages_in_use = 0;

  // The allocator hook: counts its blocks, or fails.
  DLBridgeAllocator Allocator(bool fails) {
    DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
    allocator.context = this;
    allocator.allocate = fails ? RejectMemory : GiveMemory;
    allocator.deallocate = TakeMemory;
    return allocator;
  }

  // Releases all tensors that are left. Returns the errors found, or "".
  std::string Finish() {
    while (!live_.empty()) {
      Release(std::string(live_.begin()->first));
    }
    for (const auto& [name, id] : entries_) {
      if (!ended_[name]) {
        dlbridge_context_unregister(id, nullptr);
      }
    }
    std::string wrong;
    for (const auto& [name, producer] : producers_) {
      const int expected = producer->has_deleter ? 1 : 0;
      if (producer->deletes != expected) {
        wrong += " deleter of " + name + " ran " + std::to_string(producer->deletes) + " times\n";
      }
    }
    if (storages_in_use != 0) {
      wrong += " storage in use: " + std::to_string(storages_in_use) + "\n";
    }
    if (blocks_ != 0) {
      wrong += " blocks of the allocator: " + std::to_string(blocks_) + "\n";
    }
    if (Counted::live_blocks != 0 && dlbridge_test::Allocations::Counts()) {
      wrong += " live objects: " + std::to_string(Counted::live_blocks) + "\n";
    }
    return wrong;
  }

 private:
  static void* GiveMemory(void* context, DLDevice /*device*/, uint64_t bytes, uint64_t alignment,
                          const DLBridgeStream* /*stream*/) {
    ++static_cast<World*>(context)->blocks_;
    return dlbridge_test::AllocateAligned(alignment, bytes);
  }
  static void* RejectMemory(void* /*context*/, DLDevice /*device*/, uint64_t /*bytes*/,
                            uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
    return nullptr;
  }
  static void TakeMemory(void* context, DLDevice /*device*/, void* memory, uint64_t /*bytes*/,
                         uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
    --static_cast<World*>(context)->blocks_;
    dlbridge_test::FreeAligned(memory);
  }

  std::map<std::string, std::unique_ptr<Producer>> producers_;
  std::map<std::string, Handle> live_;
  std::map<std::string, uint64_t> entries_;
  std::map<std::string, bool> ended_;
  std::vector<void*> storages_;
  int blocks_ = 0;
};

}  // namespace dlbridge::conformance

#endif  // DLBRIDGE_TESTS_CONFORMANCE_WORLD_H_
