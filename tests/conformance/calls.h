// SPDX-License-Identifier: Apache-2.0
// One function of the ABI for each call that a case can name: reads the arguments from the step,
// makes the call, and answers with everything that a case can expect. Calls on devices are in
// device_calls.h.
#ifndef DLBRIDGE_TESTS_CONFORMANCE_CALLS_H_
#define DLBRIDGE_TESTS_CONFORMANCE_CALLS_H_

#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/names.h"
#include "conformance/world.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge::conformance {

// ------------------------------------------------------------------------------ names of values

inline uint32_t BitsOf(const json& names, const NamedValues& known) {
  uint32_t bits = 0;
  for (const json& name : names) {
    for (const NamedValue& one : known) {
      bits |= name == one.name ? one.value : 0;
    }
  }
  return bits;
}
inline json NamesOf(uint32_t bits, const NamedValues& known) {
  json names = json::array();
  for (const NamedValue& one : known) {
    if ((bits & one.value) != 0) {
      names.push_back(one.name);
    }
  }
  return names;
}

// A name, or the number itself where a case uses a value without a name.
inline int32_t ValueOf(const json& value, const NamedValues& known) {
  if (value.is_number()) {
    return value.get<int32_t>();
  }
  for (const NamedValue& one : known) {
    if (value == one.name) {
      return static_cast<int32_t>(one.value);
    }
  }
  return -1;
}
inline json NameOf(int32_t value, const NamedValues& known) {
  for (const NamedValue& one : known) {
    if (static_cast<int32_t>(one.value) == value) {
      return one.name;
    }
  }
  return value;
}

// -------------------------------------------------------------------------------- the arguments

// The arguments of a step; some steps damage them on purpose.
class Arguments {
 public:
  Arguments(const json& step, World* world) : step(step), world(*world) {}

  bool Has(const char* key) const { return step.contains(key); }
  // NULL if the step asks for it, else the pointer.
  template <class T>
  T* Or(const char* name, T* pointer) const {
    // Must not allocate: it runs while allocations are counted and made to fail.
    const auto nulls = step.find("null");
    for (size_t i = 0; nulls != step.end() && i < nulls->size(); ++i) {
      if ((*nulls)[i].get_ref<const std::string&>() == name) {
        return nullptr;
      }
    }
    return pointer;
  }
  Handle In() const {
    const json& name = step["in"];
    return world.Get(name.is_array() ? name[0] : name);
  }

  // The kind that the step gives, else the kind of the object.
  DLBridgeKind Kind(const Handle& in) const {
    return Has("kind") ? ValueOf(step["kind"], kKindNames) : in.kind;
  }

  // A copy of a struct with the damage that the step asks for: another size, a set tail byte, an
  // option bit.
  template <class T>
  T* Damaged(const char* name, T* object) {
    if (!Has("struct") || step["struct"]["name"] != name) {
      return object;
    }
    const json& damage = step["struct"];
    const std::string size = damage.value("size", "");
    room_.assign(sizeof(T) + 32, 0);
    std::memcpy(room_.data(), object, sizeof(T));
    auto* copy = reinterpret_cast<T*>(room_.data());
    if (size == "larger") {
      copy->struct_size = sizeof(T) + 16;
      room_[sizeof(T) + 15] = damage.value("tail", uint8_t{0});
    } else if (size == "huge") {
      copy->struct_size = 4097;
    } else if (!size.empty()) {
      copy->struct_size = size == "zero" ? 0 : sizeof(T) - 1;
    }
    SetOptions(copy, damage.value("options", uint32_t{0}), 0);
    Set(damage.value("set", ""), copy);
    return copy;
  }

  const json& step;
  World& world;

 private:
  template <class T>
  static void Set(const std::string& field, T* object) {
    if constexpr (std::is_same_v<T, DLBridgeAllocator>) {
      object->allocate = field == "no_allocate" ? nullptr : object->allocate;
      object->deallocate = field == "no_deallocate" ? nullptr : object->deallocate;
    }
    SetReserved(object, field, 0);
  }
  // For structs with such a field; other structs use the second overload.
  template <class T>
  static auto SetOptions(T* object, uint32_t bits, int /*preferred*/)
      -> decltype(object->options, void()) {
    object->options |= bits;
  }
  template <class T>
  static void SetOptions(T* /*object*/, uint32_t /*bits*/, char /*otherwise*/) {}
  template <class T>
  static auto SetReserved(T* object, const std::string& field, int /*preferred*/)
      -> decltype(object->reserved[0], void()) {
    for (size_t i = 0; i < std::size(object->reserved); ++i) {
      object->reserved[i] = field == "reserved_" + std::to_string(i) ? 1 : 0;
    }
  }
  template <class T>
  static void SetReserved(T* /*object*/, const std::string& /*field*/, char /*otherwise*/) {}

  alignas(16) std::vector<unsigned char> room_;
};

// A DLBridgePolicy and the memory that it points to.
class PolicyHolder {
 public:
  explicit PolicyHolder(const json& spec) {
    policy_.level = spec.contains("level") ? ValueOf(spec["level"], kLevelNames) : policy_.level;
    if (spec.contains("version")) {
      policy_.version = VersionFrom(spec["version"]);
    }
    policy_.min_ndim = spec.value("min_ndim", 0);
    policy_.max_ndim = spec.value("max_ndim", 0);
    policy_.buffer_size = spec.contains("buffer_size") ? Unsigned(spec["buffer_size"]) : 0;
    policy_.contiguity =
        spec.contains("contiguity") ? ValueOf(spec["contiguity"], kContiguityNames) : 0;
    policy_.alignment = spec.contains("alignment") ? Unsigned(spec["alignment"]) : 0;
    Shape(spec);
    Options(spec);
    Lists(spec);
  }
  DLBridgePolicy* get() { return &policy_; }

 private:
  void Shape(const json& spec) {
    shape_.reserve(1);
    if (spec.contains("shape")) {
      shape_ = Numbers(spec["shape"]);
      shape_.reserve(1);
      policy_.shape = shape_.data();
    }
  }
  // A field implies its option bit, unless the step gives the bits themselves.
  void Options(const json& spec) {
    if (spec.contains("options_raw")) {
      policy_.options = spec["options_raw"].get<uint32_t>();
      return;
    }
    policy_.options = BitsOf(spec.value("options", json::array()), kPolicyNames);
    if (spec.contains("buffer_size")) {
      policy_.options |= DLBRIDGE_POLICY_LIMIT_BUFFER;
    }
    if (spec.contains("min_ndim") || spec.contains("max_ndim") || spec.contains("shape")) {
      policy_.options |= DLBRIDGE_POLICY_LIMIT_NDIM;
      const auto axes = static_cast<int32_t>(shape_.size());
      policy_.min_ndim = spec.value("min_ndim", spec.contains("shape") ? axes : 0);
      policy_.max_ndim = spec.value("max_ndim", spec.contains("shape") ? axes : DLBRIDGE_MAX_NDIM);
    }
  }
  // An empty list is passed as a non-NULL pointer with count 0.
  void Lists(const json& spec) {
    devices_.reserve(1);
    dtypes_.reserve(1);
    if (spec.contains("devices") && spec["devices"].is_string()) {
      policy_.device_count = 1;
    } else if (spec.contains("devices")) {
      for (const json& device : spec["devices"]) {
        devices_.push_back(DeviceFrom(device));
      }
      policy_.devices = devices_.data();
      policy_.device_count = devices_.size();
    }
    if (spec.contains("dtypes") && spec["dtypes"].is_string()) {
      policy_.dtype_count = 1;
    } else if (spec.contains("dtypes")) {
      for (const json& dtype : spec["dtypes"]) {
        dtypes_.push_back(DtypeFrom(dtype));
      }
      policy_.dtypes = dtypes_.data();
      policy_.dtype_count = dtypes_.size();
    }
  }

  DLBridgePolicy policy_ = DLBRIDGE_POLICY_INIT;
  std::vector<DLDevice> devices_;
  std::vector<DLDataType> dtypes_;
  std::vector<int64_t> shape_;
};

// The policy of a step, or NULL if it has none and none is to be damaged.
class PolicyArgument {
 public:
  explicit PolicyArgument(Arguments* arguments) {
    const json& step = arguments->step;
    if (step.contains("policy") ||
        (step.contains("struct") && step["struct"]["name"] == "policy")) {
      holder_.emplace(step.value("policy", json::object()));
      pointer_ = arguments->Damaged("policy", holder_->get());
    }
  }
  const DLBridgePolicy* get() const { return pointer_; }

 private:
  std::optional<PolicyHolder> holder_;
  DLBridgePolicy* pointer_ = nullptr;
};

// The options of a step, in the same way.
class OptionsArgument {
 public:
  explicit OptionsArgument(Arguments* arguments) {
    const json& step = arguments->step;
    if (!step.contains("options") && !step.contains("allocator") &&
        !(step.contains("struct") && step["struct"]["name"] == "options")) {
      return;
    }
    Fill(step.value("options", json::object()));
    if (step.contains("allocator")) {
      allocator_ = arguments->world.Allocator(step["allocator"] == "fails");
      options_.allocator = &allocator_;
    }
    pointer_ = arguments->Damaged("options", &options_);
  }
  const DLBridgeConvertOptions* get() const { return pointer_; }

 private:
  void Fill(const json& spec) {
    options_.options = spec.contains("options_raw")
                           ? spec["options_raw"].get<uint32_t>()
                           : BitsOf(spec.value("options", json::array()), kConvertNames);
    if (spec.contains("version")) {
      options_.version = VersionFrom(spec["version"]);
    }
    options_.tensor_flags = spec.contains("tensor_flags") ? Unsigned(spec["tensor_flags"]) : 0;
    if (spec.contains("policy")) {
      policy_.emplace(spec["policy"]);
      options_.policy = policy_->get();
    }
  }

  DLBridgeConvertOptions options_ = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLBridgeAllocator allocator_ = DLBRIDGE_ALLOCATOR_INIT;
  std::optional<PolicyHolder> policy_;
  DLBridgeConvertOptions* pointer_ = nullptr;
};

// ------------------------------------------------------------------------------- careless owners

// Alters a field of a dlbridge-owned tensor during a call, as a careless consumer might.
class Alteration {
 public:
  Alteration(const json& step, const Handle& handle) : handle_(handle) {
    const auto field = step.find("altered");
    if (field == step.end()) {
      return;
    }
    altered_ = true;
    if (handle.kind == DLBRIDGE_KIND_VERSIONED) {
      versioned_ = *handle.versioned();
      AlterVersioned(*field, handle.versioned());
    } else {
      legacy_ = *handle.legacy();
    }
    AlterTensor(*field, handle.tensor());
  }
  Alteration(const Alteration&) = delete;
  Alteration& operator=(const Alteration&) = delete;

  // Must not be called if the call consumed the tensor.
  void Undo() {
    if (altered_ && handle_.kind == DLBRIDGE_KIND_VERSIONED) {
      *handle_.versioned() = versioned_;
    } else if (altered_) {
      *handle_.legacy() = legacy_;
    }
  }
  void UndoUnless(DLBridgeStatus consumed) {
    if (consumed != DLBRIDGE_OK) {
      Undo();
    }
  }

 private:
  static void AlterVersioned(const json& field, DLManagedTensorVersioned* tensor) {
    tensor->manager_ctx = field == "manager_ctx" ? nullptr : tensor->manager_ctx;
    tensor->deleter = field == "deleter" ? nullptr : tensor->deleter;
    tensor->version.minor += field == "version" ? 1 : 0;
    tensor->flags = field == "flags-cleared" ? 0 : tensor->flags;
    tensor->flags |= field == "flags-added" ? DLPACK_FLAG_BITMASK_IS_COPIED
                     : field == "read-only" ? DLPACK_FLAG_BITMASK_READ_ONLY
                                            : 0;
  }
  void AlterTensor(const json& field, DLTensor* tensor) {
    tensor->ndim += field == "ndim" ? 1 : 0;
    tensor->shape = field == "shape" ? &elsewhere_[0] : tensor->shape;
    tensor->strides = field == "strides" ? &elsewhere_[0] : tensor->strides;
  }

  Handle handle_;
  bool altered_ = false;
  DLManagedTensor legacy_ = {};
  DLManagedTensorVersioned versioned_ = {};
  int64_t elsewhere_[8] = {1, 1, 1, 1, 1, 1, 1, 1};
};

// ---------------------------------------------------------------------------------- the answers

// An error struct that the caller never initialised.
inline DLBridgeError Uninitialised() {
  DLBridgeError error;
  std::memset(&error, 0xff, sizeof error);
  return error;
}

// The fields that a failing call did not write, or "".
inline std::string Unwritten(DLBridgeStatus status, const DLBridgeError& error) {
  if (error.status != status) {
    return "the error has another status than the call";
  }
  if (std::memchr(error.message, 0, sizeof error.message) == nullptr) {
    return "the message is not terminated";
  }
  return error.reserved[0] != 0 || error.reserved[1] != 0 ? "reserved is not 0" : "";
}

// Status, rule, axis and message. The error must agree with the returned status.
inline json Answer(DLBridgeStatus status, const DLBridgeError& error) {
  const std::string name = dlbridge_status_name(status);
  json answer = {{"status", name.substr(std::strlen("DLBRIDGE_"))}};
  if (status == DLBRIDGE_OK) {
    return answer;
  }
  const std::string wrong = Unwritten(status, error);
  if (!wrong.empty()) {
    return {{"status", wrong}};
  }
  answer["rule"] = dlbridge_rule_name(error.rule);
  answer["axis"] = error.axis;
  answer["message"] = error.message;
  return answer;
}

inline json Describe(const Handle& handle, const json& expected) {
  const DLTensor& tensor = *handle.tensor();
  json seen = json::object();
  seen["kind"] = NameOf(handle.kind, kKindNames);
  if (handle.kind == DLBRIDGE_KIND_VERSIONED) {
    seen["version"] = ToJson(handle.versioned()->version);
    seen["flags"] = std::to_string(handle.versioned()->flags);
  }
  // "any": memory that the library allocated, at any address.
  const auto data = reinterpret_cast<uintptr_t>(tensor.data);
  seen["data"] = data != 0 && expected.value("data", "") == "any" ? "any" : std::to_string(data);
  seen["device"] = ToJson(tensor.device);
  seen["ndim"] = tensor.ndim;
  seen["dtype"] = ToJson(tensor.dtype);
  seen["shape"] = Strings(tensor.shape, tensor.ndim);
  seen["strides"] = tensor.strides != nullptr ? Strings(tensor.strides, tensor.ndim) : json();
  seen["byte_offset"] = std::to_string(tensor.byte_offset);
  return seen;
}

// Adds the resulting tensor to the answer, and stores it under its name.
inline void AddResult(const json& step, const std::string& name, void* pointer, DLBridgeKind kind,
                      World* world, json* answer) {
  (*answer)["is"] = world->NameOf(pointer);
  world->Put(name, pointer, kind);
  const Handle handle = world->Get(name);
  const json& expect = step["expect"];
  (*answer)["tensor"] = Describe(handle, expect.value("tensor", json::object()));
  if (expect.contains("bytes")) {
    DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
    const uint64_t flags = handle.kind == DLBRIDGE_KIND_VERSIONED ? handle.flags : 0;
    dlbridge_layout(handle.tensor(), flags, &layout, nullptr);
    const char* data = static_cast<const char*>(handle.tensor()->data);
    (*answer)["bytes"] = Hex(data, static_cast<size_t>(layout.packed_bytes));
  }
}

// ------------------------------------------------------------------------------------ the calls

using Function = std::function<json(Arguments*)>;

inline json CallValidate(Arguments* a) {
  PolicyArgument policy(a);
  DLBridgeError error = Uninitialised();
  const Handle in = a->In();
  Alteration alteration(a->step, in);
  DLBridgeStatus status = DLBRIDGE_OK;
  if (in.kind == DLBRIDGE_KIND_LEGACY) {
    status = dlbridge_validate_legacy(a->Or("tensor", in.legacy()), policy.get(), &error);
  } else if (in.kind == DLBRIDGE_KIND_VERSIONED) {
    status = dlbridge_validate_versioned(a->Or("tensor", in.versioned()), policy.get(), &error);
  } else {
    status = dlbridge_validate(a->Or("tensor", in.tensor()), in.flags, policy.get(), &error);
  }
  alteration.Undo();
  return Answer(status, error);
}

inline json CallDiagnose(Arguments* a) {
  PolicyArgument policy(a);
  DLBridgeError error = Uninitialised();
  const Handle in = a->In();
  std::vector<DLBridgeFinding> findings(64);
  size_t count = 0;
  const DLBridgeKind kind = a->step.value("kind", in.kind);
  const uint64_t flags = a->Has("flags")                  ? Unsigned(a->step["flags"])
                         : kind == DLBRIDGE_KIND_BORROWED ? in.flags
                                                          : 0;
  const DLBridgeStatus status = dlbridge_diagnose(
      a->Or("tensor", in.pointer), kind, flags, policy.get(), a->Or("findings", findings.data()),
      a->step.value("capacity", findings.size()), a->Or("count", &count), &error);
  json answer = Answer(status, error);
  answer["count"] = count;
  answer["findings"] = json::array();
  for (size_t i = 0; i < count && i < findings.size(); ++i) {
    const DLBridgeFinding& finding = findings[i];
    answer["findings"].push_back(
        {{"rule", dlbridge_rule_name(finding.rule)},
         {"axis", finding.axis},
         {"severity", finding.severity == DLBRIDGE_SEVERITY_BROKEN ? "BROKEN" : "NOTE"},
         {"expected", finding.expected},
         {"found", finding.found}});
  }
  return answer;
}

inline json CallLayout(Arguments* a) {
  DLBridgeLayout object = DLBRIDGE_LAYOUT_INIT;
  DLBridgeLayout* layout = a->Damaged("layout", &object);
  DLBridgeError error = Uninitialised();
  const Handle in = a->In();
  json answer = Answer(
      dlbridge_layout(a->Or("tensor", in.tensor()), in.flags, a->Or("out", layout), &error), error);
  answer["layout"] = {{"properties", NamesOf(layout->properties, kLayoutNames)},
                      {"item_bits", layout->item_bits},
                      {"self_overlap", NameOf(layout->self_overlap, kAnswerNames)},
                      {"element_count", std::to_string(layout->element_count)},
                      {"packed_bytes", std::to_string(layout->packed_bytes)},
                      {"begin", std::to_string(layout->begin)},
                      {"end", std::to_string(layout->end)},
                      {"broadcast_axes", std::to_string(layout->broadcast_axes)},
                      {"negative_axes", std::to_string(layout->negative_axes)},
                      {"alignment", std::to_string(layout->alignment)}};
  return answer;
}

// The three functions that format text; `write` calls one of them.
inline json CallFormat(
    Arguments* a,
    const std::function<DLBridgeStatus(char*, size_t, size_t*, DLBridgeError*)>& write) {
  DLBridgeError error = Uninitialised();
  std::vector<char> buffer(4096, '#');
  size_t length = 0;
  const size_t size = a->step.value("size", buffer.size());
  char* into = size != 0 ? a->Or("buffer", buffer.data()) : nullptr;
  json answer = Answer(write(into, size, a->Or("length", &length), &error), error);
  answer["length"] = length;
  answer["text"] = size != 0 && buffer[0] != '#' ? buffer.data() : "";
  if (size < buffer.size() && buffer[size] != '#') {
    answer["status"] = "wrote past the buffer";
  }
  return answer;
}

inline json CallUpgrade(Arguments* a) {
  OptionsArgument options(a);
  DLBridgeError error = Uninitialised();
  DLManagedTensorVersioned* out = nullptr;
  const Handle in = a->In();
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    Alteration alteration(a->step, in);
    const Counted counted(a->step.value("fail", 0));
    status =
        dlbridge_upgrade(a->Or("source", in.legacy()), options.get(), a->Or("out", &out), &error);
    alteration.UndoUnless(status);
  }
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    a->world.Take(a->step["in"]);
    AddResult(a->step, a->step["out"], out, DLBRIDGE_KIND_VERSIONED, &a->world, &answer);
  }
  return answer;
}

inline DLBridgeStorage StorageFor(const Handle& in, Arguments* a) {
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  const std::string how = a->step.value("storage", "exact");
  const int32_t ndim = in.tensor()->ndim;
  storage.size = dlbridge_upgrade_storage_size(ndim > 0 && ndim < 1000 ? ndim : 0);
  storage.memory = a->world.Storage(storage.size + 8);
  if (how == "short") {
    --storage.size;
  } else if (how == "unaligned") {
    storage.memory = static_cast<char*>(storage.memory) + 8;
  } else if (how == "null") {
    storage.memory = nullptr;
  }
  storage.release = World::StorageReleased;
  storage.release_context = &a->world;
  return storage;
}

inline json CallUpgradeInto(Arguments* a) {
  OptionsArgument options(a);
  DLBridgeError error = Uninitialised();
  DLManagedTensorVersioned* out = nullptr;
  const Handle in = a->In();
  DLBridgeStorage object = StorageFor(in, a);
  DLBridgeStorage* storage = a->Damaged("storage", &object);
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    Alteration alteration(a->step, in);
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_upgrade_into(a->Or("source", in.legacy()), options.get(),
                                   a->Or("storage", storage), a->Or("out", &out), &error);
    alteration.UndoUnless(status);
  }
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    a->world.Take(a->step["in"]);
    ++a->world.storages_in_use;
    AddResult(a->step, a->step["out"], out, DLBRIDGE_KIND_VERSIONED, &a->world, &answer);
  }
  return answer;
}

inline std::vector<std::string> NameList(const json& value) {
  return value.is_array() ? value.get<std::vector<std::string>>()
                          : std::vector<std::string>{value.get<std::string>()};
}

inline json CallUpgradeMany(Arguments* a) {
  OptionsArgument options(a);
  DLBridgeError error = Uninitialised();
  const std::vector<std::string> in = NameList(a->step["in"]);
  const std::vector<std::string> out = NameList(a->step["out"]);
  std::vector<DLManagedTensor*> sources;
  sources.reserve(in.size());
  for (const std::string& name : in) {
    sources.push_back(a->Or("source", a->world.Get(name).legacy()));
  }
  std::vector<DLManagedTensorVersioned*> outs(in.size(), nullptr);
  const size_t count = a->Has("count") ? Unsigned(a->step["count"]) : sources.size();
  size_t failed = 12345;
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    Alteration alteration(a->step, in.empty() ? Handle() : a->world.Get(in[0]));
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_upgrade_many(a->Or("sources", sources.data()), count, options.get(),
                                   a->Or("outs", outs.data()), &failed, &error);
    alteration.UndoUnless(status);
  }
  json answer = Answer(status, error);
  answer["failed"] = failed;
  for (size_t i = 0; status == DLBRIDGE_OK && i < in.size(); ++i) {
    a->world.Take(in[i]);
    AddResult(a->step, out[i], outs[i], DLBRIDGE_KIND_VERSIONED, &a->world, &answer);
  }
  return answer;
}

inline json CallDowngrade(Arguments* a) {
  OptionsArgument options(a);
  DLBridgeError error = Uninitialised();
  DLManagedTensor* out = nullptr;
  const Handle in = a->In();
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    Alteration alteration(a->step, in);
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_downgrade(a->Or("source", in.versioned()), options.get(), a->Or("out", &out),
                                &error);
    alteration.UndoUnless(status);
  }
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    a->world.Take(a->step["in"]);
    AddResult(a->step, a->step["out"], out, DLBRIDGE_KIND_LEGACY, &a->world, &answer);
  }
  return answer;
}

inline json CallImport(Arguments* a) {
  OptionsArgument options(a);
  DLBridgeError error = Uninitialised();
  DLManagedTensorVersioned* out = nullptr;
  const Handle in = a->In();
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    Alteration alteration(a->step, in);
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_import(a->Or("tensor", in.pointer), a->Kind(in), options.get(),
                             a->Or("out", &out), &error);
    alteration.UndoUnless(status);
  }
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    AddResult(a->step, a->step["out"], out, DLBRIDGE_KIND_VERSIONED, &a->world, &answer);
    a->world.Take(a->step["in"]);
  }
  return answer;
}

inline json CallExport(Arguments* a) {
  OptionsArgument options(a);
  DLBridgeError error = Uninitialised();
  void* out = nullptr;
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  const Handle in = a->In();
  const DLPackVersion target = VersionFrom(a->step["target"]);
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    Alteration alteration(a->step, in);
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_export(a->Or("tensor", in.pointer), a->Kind(in), target, options.get(),
                             a->Or("out", &out), a->Or("out_kind", &kind), &error);
    alteration.UndoUnless(status);
  }
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    answer["kind"] = NameOf(kind, kKindNames);
    AddResult(a->step, a->step["out"], out, kind, &a->world, &answer);
    a->world.Take(a->step["in"]);
  }
  return answer;
}

inline json FinishOwner(Arguments* a, DLBridgeStatus status, const DLBridgeError& error,
                        DLManagedTensorVersioned* out) {
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    AddResult(a->step, a->step["out"], out, DLBRIDGE_KIND_VERSIONED, &a->world, &answer);
  }
  return answer;
}

inline json CallShare(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLManagedTensorVersioned* out = nullptr;
  const Handle in = a->In();
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    Alteration alteration(a->step, in);
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_share(a->Or("tensor", in.versioned()), a->Or("out", &out), &error);
    alteration.Undo();
  }
  return FinishOwner(a, status, error, out);
}

inline json CallView(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLManagedTensorVersioned* out = nullptr;
  const Handle in = a->In();
  const json& given = a->step["spec"];
  const std::vector<int64_t> shape = Numbers(given["shape"].is_null() ? json() : given["shape"]);
  const std::vector<int64_t> strides = Numbers(given.value("strides", json::array()));
  DLBridgeViewSpec object = DLBRIDGE_VIEW_SPEC_INIT;
  object.ndim = given.value("ndim", static_cast<int32_t>(shape.size()));
  object.shape = given["shape"].is_null() ? nullptr : shape.data();
  object.strides = given.contains("strides") ? strides.data() : nullptr;
  object.offset = given.contains("offset") ? Signed(given["offset"]) : 0;
  object.dtype = given.contains("dtype") ? DtypeFrom(given["dtype"]) : object.dtype;
  DLBridgeViewSpec* spec = a->Damaged("spec", &object);
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    Alteration alteration(a->step, in);
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_view(a->Or("tensor", in.versioned()), a->Or("spec", spec), a->Or("out", &out),
                           &error);
    alteration.Undo();
  }
  return FinishOwner(a, status, error, out);
}

inline json CallAllocate(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLManagedTensorVersioned* out = nullptr;
  const json& given = a->step["spec"];
  const std::vector<int64_t> shape = Numbers(given["shape"].is_null() ? json() : given["shape"]);
  DLBridgeAllocateSpec object = DLBRIDGE_ALLOCATE_SPEC_INIT;
  object.ndim = given.value("ndim", static_cast<int32_t>(shape.size()));
  object.shape = given["shape"].is_null() ? nullptr : shape.data();
  object.device = DeviceFrom(given["device"]);
  object.dtype = DtypeFrom(given["dtype"]);
  object.alignment = given.contains("alignment") ? Unsigned(given["alignment"]) : 0;
  object.tensor_flags = given.contains("tensor_flags") ? Unsigned(given["tensor_flags"]) : 0;
  object.version = given.contains("version") ? VersionFrom(given["version"]) : object.version;
  DLBridgeAllocator allocator = a->world.Allocator(a->step.value("allocator", "") == "fails");
  object.allocator = a->Has("allocator") ? a->Damaged("allocator", &allocator) : nullptr;
  const bool new_damaged = a->Has("struct") && a->step["struct"]["name"] == "new";
  DLBridgeAllocateSpec* spec = new_damaged ? a->Damaged("new", &object) : &object;
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_allocate(a->Or("spec", spec), a->Or("out", &out), &error);
  }
  json answer = FinishOwner(a, status, error, out);
  const uint64_t aligned = object.alignment != 0 ? object.alignment : 256;
  if (status == DLBRIDGE_OK && reinterpret_cast<uintptr_t>(out->dl_tensor.data) % aligned != 0) {
    answer["status"] = "not aligned";
  }
  return answer;
}

inline json CallRequiredVersion(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLPackVersion version = {0, 0};
  const Handle in = a->In();
  json answer = Answer(dlbridge_required_version(a->Or("tensor", in.tensor()), in.flags,
                                                 a->Or("out", &version), &error),
                       error);
  answer["version"] = ToJson(version);
  return answer;
}

inline json CallNegotiate(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
  DLPackVersion version = {0, 0};
  json answer =
      Answer(dlbridge_negotiate(VersionFrom(a->step["producer"]), VersionFrom(a->step["consumer"]),
                                a->Or("kind", &kind), a->Or("version", &version), &error),
             error);
  answer["kind"] = NameOf(kind, kKindNames);
  answer["version"] = ToJson(version);
  return answer;
}

// Functions that only fill the table; they are never called.
inline int NoAllocator(DLTensor* /*prototype*/, DLManagedTensorVersioned** /*out*/,
                       void* /*context*/, void (* /*set_error*/)(void*, const char*, const char*)) {
  return -1;
}
inline int NoFrom(void* /*object*/, DLManagedTensorVersioned** /*out*/) { return -1; }
inline int NoTo(DLManagedTensorVersioned* /*tensor*/, void** /*out*/) { return -1; }
inline int NoBorrow(void* /*object*/, DLTensor* /*out*/) { return -1; }
inline int NoStream(DLDeviceType /*type*/, int32_t /*id*/, void** /*out*/) { return -1; }

inline void Fill(const json& spec, DLPackExchangeAPI* table) {
  *table = {{VersionFrom(spec["version"]), nullptr}, NoAllocator, NoFrom, NoTo, NoBorrow, NoStream};
  for (const json& name : spec.value("missing", json::array())) {
    if (name == "managed_tensor_allocator") {
      table->managed_tensor_allocator = nullptr;
    } else if (name == "managed_tensor_from_py_object_no_sync") {
      table->managed_tensor_from_py_object_no_sync = nullptr;
    } else if (name == "managed_tensor_to_py_object_no_sync") {
      table->managed_tensor_to_py_object_no_sync = nullptr;
    } else if (name == "dltensor_from_py_object_no_sync") {
      table->dltensor_from_py_object_no_sync = nullptr;
    } else {
      table->current_work_stream = nullptr;
    }
  }
}

inline json CallExchange(Arguments* a) {
  DLBridgeError error = Uninitialised();
  std::vector<DLPackExchangeAPI> tables(a->step["chain"].size());
  for (size_t i = 0; i < tables.size(); ++i) {
    Fill(a->step["chain"][i], &tables[i]);
  }
  for (size_t i = 0; i + 1 < tables.size(); ++i) {
    tables[i].header.prev_api = &tables[i + 1].header;
  }
  if (a->step.value("ring", false)) {
    tables.back().header.prev_api = &tables.front().header;
  }
  const DLPackExchangeAPI* found = nullptr;
  json answer = Answer(
      dlbridge_exchange_api_find(a->Or("chain", &tables.front().header),
                                 VersionFrom(a->step["consumer"]), a->Or("out", &found), &error),
      error);
  answer["index"] = found != nullptr ? found - tables.data() : -1;
  return answer;
}

inline json CallParseDtype(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLDataType dtype = {0, 0, 0};
  const std::string text = a->step["text"];
  json answer = Answer(
      dlbridge_dtype_parse(a->Or("text", text.data()), text.size(), a->Or("out", &dtype), &error),
      error);
  answer["dtype"] = ToJson(dtype);
  return answer;
}

inline json CallParseDevice(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLDevice device = DeviceFrom({0, 0});
  const std::string text = a->step["text"];
  json answer = Answer(
      dlbridge_device_parse(a->Or("text", text.data()), text.size(), a->Or("out", &device), &error),
      error);
  answer["device"] = ToJson(device);
  return answer;
}

inline json CallIdentify(Arguments* a) {
  const void* pointer = a->Has("in") ? a->In().pointer : nullptr;
  return {{"status", "OK"}, {"kind", NameOf(dlbridge_identify(pointer), kKindNames)}};
}

// The address of a tensor's data, or of a string in the library.
inline json CallModulePin(Arguments* a) {
  DLBridgeError error = Uninitialised();
  const void* address = a->Has("in") ? a->In().tensor()->data : dlbridge_version_string();
  return Answer(dlbridge_module_pin(a->Or("address", address), &error), error);
}

inline json CallRelease(Arguments* a) {
  DLBridgeStatus status = DLBRIDGE_OK;
  if (!a->Has("in")) {
    status = dlbridge_release(nullptr, ValueOf(a->step["kind"], kKindNames));
  } else if (a->Has("kind")) {
    status = dlbridge_release(a->In().pointer, ValueOf(a->step["kind"], kKindNames));
  } else {
    status = a->world.Release(a->step["in"]);
  }
  const std::string name = dlbridge_status_name(status);
  return {{"status", name.substr(std::strlen("DLBRIDGE_"))}, {"deleters", a->world.Deletes()}};
}

inline json CallTensorFormat(Arguments* a) {
  const Handle in = a->In();
  return CallFormat(a, [&](char* buffer, size_t size, size_t* length, DLBridgeError* error) {
    return dlbridge_tensor_format(a->Or("tensor", in.tensor()), in.flags, buffer, size, length,
                                  error);
  });
}
inline json CallDtypeFormat(Arguments* a) {
  const DLDataType dtype = DtypeFrom(a->step["dtype"]);
  return CallFormat(a, [&](char* buffer, size_t size, size_t* length, DLBridgeError* error) {
    return dlbridge_dtype_format(dtype, buffer, size, length, error);
  });
}
inline json CallDeviceFormat(Arguments* a) {
  const DLDevice device = DeviceFrom(a->step["device"]);
  return CallFormat(a, [&](char* buffer, size_t size, size_t* length, DLBridgeError* error) {
    return dlbridge_device_format(device, buffer, size, length, error);
  });
}
inline json CallHostAccessible(Arguments* a) {
  const auto type = a->step["device_type"].get<int32_t>();
  DLBridgeAnswer answer = -1;
  const int32_t returns = dlbridge_host_accessible(type, &answer);
  if (dlbridge_host_accessible(type, nullptr) != returns) {
    return {{"status", "another answer without the out parameter"}};
  }
  return {{"status", "OK"}, {"returns", returns}, {"answer", NameOf(answer, kAnswerNames)}};
}
inline json CallCheck(Arguments* a) { return {{"status", "OK"}, {"deleters", a->world.Deletes()}}; }

}  // namespace dlbridge::conformance

#endif  // DLBRIDGE_TESTS_CONFORMANCE_CALLS_H_
