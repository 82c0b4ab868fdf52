// SPDX-License-Identifier: Apache-2.0
// The tensors of one case of the conformance corpus, as C++ owners, and values from and to JSON.
#ifndef DLBRIDGE_CPP_TESTS_CORPUS_WORLD_H_
#define DLBRIDGE_CPP_TESTS_CORPUS_WORLD_H_

#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "conformance/names.h"
#include "dlbridge/dlbridge.hpp"

namespace dlbridge_cpp_test {

namespace db = dlbridge;
using namespace dlbridge::conformance;
using json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

// 64-bit numbers are strings.
inline std::int64_t Signed(const json& value) {
  return value.is_string() ? std::stoll(value.get<std::string>()) : value.get<std::int64_t>();
}
inline std::uint64_t Unsigned(const json& value) {
  return value.is_string() ? std::stoull(value.get<std::string>()) : value.get<std::uint64_t>();
}
inline std::uint64_t NumberOr(const json& spec, const char* key, std::uint64_t otherwise) {
  return spec.contains(key) ? Unsigned(spec[key]) : otherwise;
}
inline std::vector<std::int64_t> Numbers(const json& values) {
  std::vector<std::int64_t> numbers;
  for (const json& value : values) {
    numbers.push_back(Signed(value));
  }
  numbers.reserve(1);  // an empty list is not NULL
  return numbers;
}
inline std::vector<unsigned char> BytesOf(const std::string& hex) {
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}
inline std::string Hex(const void* memory, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(memory);
  std::string hex;
  for (std::size_t i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[bytes[i] >> 4];
    hex += "0123456789abcdef"[bytes[i] & 15];
  }
  return hex;
}

inline db::device DeviceFrom(const json& value) {
  return db::make_device(value[0].get<std::int32_t>(), value[1].get<std::int32_t>());
}
inline json ToJson(const db::device& device) { return {db::device_type(device), device.device_id}; }
inline db::dtype DtypeFrom(const json& value) {
  return {value[0].get<std::uint8_t>(), value[1].get<std::uint8_t>(),
          value[2].get<std::uint16_t>()};
}
inline json ToJson(const db::dtype& dtype) { return {dtype.code, dtype.bits, dtype.lanes}; }
inline db::dlpack_version VersionFrom(const json& value) {
  return {value[0].get<std::uint32_t>(), value[1].get<std::uint32_t>()};
}
inline json ToJson(db::dlpack_version version) { return {version.major, version.minor}; }
inline json Strings(const std::int64_t* values, std::int32_t count) {
  json strings = json::array();
  for (std::int32_t i = 0; i < count; ++i) {
    strings.push_back(std::to_string(values[i]));
  }
  return strings;
}

// The value of a name, or the number itself for a value without a name.
inline std::uint32_t NumberOf(const json& name, const NamedValues& known) {
  for (const auto& one : known) {
    if (name == one.name) {
      return one.value;
    }
  }
  throw std::invalid_argument("no such value: " + name.dump());
}
inline std::int32_t ValueOf(const json& value, const NamedValues& known) {
  return value.is_number() ? value.get<std::int32_t>()
                           : static_cast<std::int32_t>(NumberOf(value, known));
}
template <class Enum>
json NameOf(Enum value, const NamedValues& known) {
  for (const auto& one : known) {
    if (static_cast<std::int32_t>(one.value) == static_cast<std::int32_t>(value)) {
      return one.name;
    }
  }
  return static_cast<std::int32_t>(value);
}
// The bits of a list of names, or the number itself.
inline std::uint32_t BitsOf(const json& value, const NamedValues& known) {
  if (value.is_number()) {
    return value.get<std::uint32_t>();
  }
  std::uint32_t bits = 0;
  for (const json& name : value) {
    bits |= NumberOf(name, known);
  }
  return bits;
}
inline json NamesOf(std::uint32_t bits, const NamedValues& known) {
  json found = json::array();
  for (const auto& one : known) {
    if ((bits & one.value) != 0) {
      found.push_back(one.name);
    }
  }
  return found;
}

// A tensor or memory of the case, whose deleter counts its calls.
class Producer {
 public:
  explicit Producer(const json& spec)
      : has_deleter(spec.value("deleter", false)),
        kind(spec["kind"]),
        bytes_(BytesOf(spec.value("bytes", ""))) {
    const std::uint64_t data = Unsigned(spec["data"]);
    borrowed.data = bytes_.empty() ? reinterpret_cast<void*>(data) : bytes_.data() + data;
    flags = NumberOr(spec, "flags", 0);
    if (kind != "MEMORY") {
      Describe(spec);
    }
    legacy = {borrowed, this, has_deleter ? &Count<DLManagedTensor> : nullptr};
    versioned = {spec.contains("version") ? VersionFrom(spec["version"]) : db::dlpack_version{0, 0},
                 this, has_deleter ? &Count<DLManagedTensorVersioned> : nullptr, flags, borrowed};
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // The release callback of `wrap` and `copy` for a MEMORY.
  static void MemoryReleased(void* self, const DLBridgeBuffer* buffer,
                             const DLBridgeStream* stream) {
    auto* memory = static_cast<Producer*>(self);
    const bool own = buffer->handle == reinterpret_cast<std::uintptr_t>(memory->borrowed.data);
    memory->deletes += own && stream == nullptr ? 1 : 100;
  }

  bool has_deleter;
  std::string kind;
  std::uint64_t flags = 0;
  int deletes = 0;
  DLTensor borrowed{};
  DLManagedTensor legacy{};
  DLManagedTensorVersioned versioned{};

 private:
  template <class Managed>
  static void Count(Managed* self) {
    ++static_cast<Producer*>(self->manager_ctx)->deletes;
  }
  void Describe(const json& spec) {
    shape_ = Numbers(spec["shape"]);
    strides_ = Numbers(spec["strides"]);
    borrowed.device = DeviceFrom(spec["device"]);
    borrowed.ndim = spec["ndim"].get<std::int32_t>();
    borrowed.dtype = DtypeFrom(spec["dtype"]);
    borrowed.shape = spec["shape"].is_null() ? nullptr : shape_.data();
    borrowed.strides = spec["strides"].is_null() ? nullptr : strides_.data();
    borrowed.byte_offset = Unsigned(spec["byte_offset"]);
  }

  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::vector<unsigned char> bytes_;
};

// The current object of a name: one of these.
struct Slot {
  db::foreign_legacy legacy;
  db::foreign_versioned versioned;
  db::foreign_ref borrowed;
  Producer* memory = nullptr;

  void* pointer() const {
    return legacy      ? static_cast<void*>(legacy.get())
           : versioned ? static_cast<void*>(versioned.get())
           : memory    ? static_cast<void*>(memory)
                       : const_cast<DLTensor*>(borrowed.raw());
  }
  // The DLTensor, with its flags, whatever its major.
  db::foreign_ref ref() const {
    return legacy      ? db::foreign_ref(&legacy.get()->dl_tensor)
           : versioned ? db::foreign_ref(&versioned.get()->dl_tensor, versioned.get()->flags)
                       : borrowed;
  }
};

// An allocator for db::allocator: counts its blocks, or throws.
struct Memory {
  void* allocate(db::device /*on*/, std::uint64_t bytes, std::uint64_t alignment) {
    if (fails) {
      throw std::bad_alloc();
    }
    ++blocks;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void deallocate(db::device /*on*/, void* memory, std::uint64_t /*bytes*/,
                  std::uint64_t /*alignment*/) {
    --blocks;
    std::free(memory);
  }
  bool fails = false;
  int blocks = 0;
};

class World {
 public:
  explicit World(const json& objects) {
    for (const auto& [name, spec] : objects.items()) {
      producers_[name] = std::make_unique<Producer>(spec);
      Producer& made = *producers_[name];
      Slot& slot = slots[name];
      if (made.kind == "LEGACY") {
        slot.legacy = db::foreign_legacy(&made.legacy);
      } else if (made.kind == "VERSIONED") {
        slot.versioned = db::foreign_versioned(&made.versioned);
      } else if (made.kind == "BORROWED") {
        slot.borrowed = db::foreign_ref(&made.borrowed, made.flags);
      } else {
        slot.memory = &made;
      }
    }
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (void* storage : storages_) {
      std::free(storage);
    }
  }

  // The name of the tensor or live result that the pointer points to, or "new".
  std::string NameOf(const void* pointer) const {
    for (const auto& [name, producer] : producers_) {
      if (pointer == &producer->legacy || pointer == &producer->versioned) {
        return name;
      }
    }
    for (const auto& [name, known] : made_) {
      if (known == pointer) {
        return name;
      }
    }
    return "new";
  }
  Slot& Put(const std::string& name, Slot&& slot) {
    made_[name] = slot.pointer();
    return slots[name] = std::move(slot);
  }
  // The call consumed the tensor: the name has no object.
  void Take(const std::string& name) {
    slots.erase(name);
    made_.erase(name);
  }
  void Release(const std::string& name) {
    Slot& slot = slots[name];
    if (slot.memory != nullptr && slot.memory->has_deleter) {
      ++slot.memory->deletes;
    }
    Take(name);  // the owners release
  }
  json Deletes() const {
    json counts = json::object();
    for (const auto& [name, producer] : producers_) {
      counts[name] = producer->deletes;
    }
    return counts;
  }

  // Memory for upgrade_into. Its release callback must outlive the tensor.
  void* Storage(std::size_t size) {
    storages_.push_back(std::aligned_alloc(16, (size + 15) / 16 * 16));
    return storages_.back();
  }
  struct StorageFree {
    int in_use = 0;
    void operator()() { --in_use; }
  };
  StorageFree storage_free;
  Memory memory;

  db::allocator Allocator(const json& how) {
    memory.fails = how == "fails";
    return db::allocator(memory);
  }

  // Registrations in the context table, by name.
  std::map<std::string, db::context_registration> entries;
  std::map<std::string, std::uint64_t> ids;
  std::uint64_t IdOf(const std::string& name) const {
    const auto found = ids.find(name);
    return found != ids.end() ? found->second : UINT64_MAX;
  }
  std::string EntryName(std::uint64_t id) const {
    for (const auto& [name, known] : ids) {
      if (known == id) {
        return name;
      }
    }
    return "other";
  }

  // Releases everything that is left, and returns a description of leaks, or "".
  std::string Finish() {
    while (!slots.empty()) {
      Release(std::string(slots.begin()->first));
    }
    entries.clear();
    std::string wrong;
    for (const auto& [name, producer] : producers_) {
      const int expected = producer->has_deleter ? 1 : 0;
      if (producer->deletes != expected) {
        wrong += " deleter of " + name + " ran " + std::to_string(producer->deletes) + " times\n";
      }
    }
    if (storage_free.in_use != 0) {
      wrong += " storage in use: " + std::to_string(storage_free.in_use) + "\n";
    }
    if (memory.blocks != 0) {
      wrong += " blocks of the allocator: " + std::to_string(memory.blocks) + "\n";
    }
    return wrong;
  }

  std::map<std::string, Slot> slots;

 private:
  std::map<std::string, std::unique_ptr<Producer>> producers_;
  std::map<std::string, const void*> made_;
  std::vector<void*> storages_;
};

}  // namespace dlbridge_cpp_test

#endif  // DLBRIDGE_CPP_TESTS_CORPUS_WORLD_H_
