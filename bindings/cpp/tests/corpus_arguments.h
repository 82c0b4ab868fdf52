// SPDX-License-Identifier: Apache-2.0
// The arguments of a step, made with the binding's builders.
#ifndef DLBRIDGE_CPP_TESTS_CORPUS_ARGUMENTS_H_
#define DLBRIDGE_CPP_TESTS_CORPUS_ARGUMENTS_H_

#include <optional>

#include "corpus_world.h"

namespace dlbridge_cpp_test {

struct Arguments {
  const json& step;
  World& world;

  bool Has(const char* key) const { return step.contains(key); }
  Slot& In() const {
    const json& name = step["in"];
    return world.slots[name.is_array() ? name[0] : name];
  }
};

// A policy and the arrays that it points to.
class PolicyArgument {
 public:
  explicit PolicyArgument(const json& spec)
      : struct_level(spec.value("level", "METADATA") == "STRUCT") {
    if (spec.value("level", "METADATA") == "DEVICE") {
      made = made.ask_driver();
    }
    if (spec.contains("version")) {
      made = made.version(VersionFrom(spec["version"]));
    }
    made = made.alignment(NumberOr(spec, "alignment", 0));
    if (spec.contains("buffer_size")) {
      made = made.buffer_size(Unsigned(spec["buffer_size"]));
    }
    Axes(spec);
    made = made.contiguity(static_cast<db::contiguity>(
        ValueOf(spec.value("contiguity", json("ANY")), kContiguityNames)));
    for (const json& name : spec.value("options", json::array())) {
      Option(name);
    }
    Lists(spec);
  }
  PolicyArgument(const PolicyArgument&) = delete;
  PolicyArgument& operator=(const PolicyArgument&) = delete;

  db::policy made;
  bool struct_level;

 private:
  void Axes(const json& spec) {
    if (spec.contains("shape")) {
      shape_ = Numbers(spec["shape"]);
      made = made.shape(shape_);
    }
    made = spec.contains("min_ndim") ? made.min_ndim(spec["min_ndim"]) : made;
    made = spec.contains("max_ndim") ? made.max_ndim(spec["max_ndim"]) : made;
  }
  void Option(const std::string& name) {
    using Function = db::policy (db::policy::*)() const noexcept;
    static const std::map<std::string, Function> functions = {
        // [facts/enums.toml POLICY]
        {"REJECT_UNKNOWN_DTYPE", &db::policy::reject_unknown_dtype},
        {"REJECT_UNKNOWN_DEVICE", &db::policy::reject_unknown_device},
        {"REJECT_UNKNOWN_FLAGS", &db::policy::reject_unknown_flags},
        {"REJECT_NEGATIVE_STRIDES", &db::policy::reject_negative_strides},
        {"REJECT_ZERO_STRIDES", &db::policy::reject_zero_strides},
        {"ALLOW_NULL_STRIDES", &db::policy::allow_null_strides},
        {"ALLOW_SCALABLE_LANES", &db::policy::allow_scalable_lanes},
        {"REQUIRE_WRITABLE", &db::policy::require_writable},
        {"VOUCH_WRITABLE", &db::policy::vouch_writable},
        {"ALLOW_SELF_OVERLAP", &db::policy::allow_self_overlap},
        // [/facts]
    };
    made = (made.*functions.at(name))();
  }
  void Lists(const json& spec) {
    devices_.reserve(1);
    dtypes_.reserve(1);
    if (spec.contains("devices")) {
      for (const json& device : spec["devices"]) {
        devices_.push_back(DeviceFrom(device));
      }
      made = made.devices(devices_);
    }
    if (spec.contains("dtypes")) {
      for (const json& dtype : spec["dtypes"]) {
        dtypes_.push_back(DtypeFrom(dtype));
      }
      made = made.dtypes(dtypes_);
    }
  }

  std::vector<std::int64_t> shape_;
  std::vector<db::device> devices_;
  std::vector<db::dtype> dtypes_;
};

// The options of a converter, of either type; omitted if the step has none.
class OptionsArgument {
 public:
  explicit OptionsArgument(const Arguments& a) : given_(a.Has("options") || a.Has("allocator")) {
    const json spec = a.step.value("options", json::object());
    if (spec.contains("version")) {
      checked_ = checked_.version(VersionFrom(spec["version"]));
    }
    checked_ = checked_.tensor_flags(NumberOr(spec, "tensor_flags", 0));
    for (const json& name : spec.value("options", json::array())) {
      Option(name);
    }
    if (a.Has("allocator")) {
      allocator_.emplace(a.world.Allocator(a.step["allocator"]));
      checked_ = checked_.allocator(*allocator_);
    }
    if (spec.contains("policy")) {
      policy_.emplace(spec["policy"]);
      struct_policy_ = db::struct_policy(policy_->made);
      checked_ = policy_->struct_level ? checked_ : checked_.policy(policy_->made);
    }
  }

  // Calls f(convert_options_ref) or f(unchecked_options), as the step demands.
  template <class F>
  json Pass(F&& f) const {
    if (skip_) {
      return f(db::unchecked_options(checked_));
    }
    if (policy_ && policy_->struct_level) {
      return f(db::unchecked_options(checked_, struct_policy_));
    }
    return given_ ? f(db::convert_options_ref(checked_)) : f(db::convert_options_ref());
  }

 private:
  void Option(const std::string& name) {
    using Function = db::convert_options (db::convert_options::*)() const noexcept;
    static const std::map<std::string, Function> functions = {
        // [facts/enums.toml CONVERT]
        {"VOUCH_WRITABLE", &db::convert_options::vouch_writable},
        {"ALLOW_UNKNOWN", &db::convert_options::allow_unknown},
        {"CANONICAL", &db::convert_options::canonical},
        {"FOLD_BYTE_OFFSET", &db::convert_options::fold_byte_offset},
        {"COPY", &db::convert_options::copy},
        {"DROP_READ_ONLY", &db::convert_options::drop_read_only},
        {"DROP_PADDED", &db::convert_options::drop_padded},
        {"ALLOW_NEWER_CODES", &db::convert_options::allow_newer_codes},
        {"PIN_PRODUCER", &db::convert_options::pin_producer},
        // [/facts]
    };
    if (name == "SKIP_VALIDATION") {
      skip_ = true;
    } else {
      checked_ = (checked_.*functions.at(name))();
    }
  }

  bool given_;
  bool skip_ = false;
  db::convert_options checked_;
  std::optional<db::allocator> allocator_;
  std::optional<PolicyArgument> policy_;
  db::struct_policy struct_policy_;
};

inline db::buffer BufferOf(const json& spec, const void* data) {
  return db::make_buffer(
      static_cast<db::backend>(ValueOf(spec.value("backend", json("NONE")), kBackendNames)),
      static_cast<db::buffer_kind>(ValueOf(spec.value("kind", json("ADDRESS")), kBufferNames)),
      reinterpret_cast<std::uintptr_t>(data), NumberOr(spec, "context", 0));
}

inline db::stream StreamOf(const json& spec) {
  const auto backend =
      static_cast<db::backend>(ValueOf(spec.value("backend", json("NONE")), kBackendNames));
  return db::stream({static_cast<DLBridgeBackend>(backend), ValueOf(spec["kind"], kStreamNames),
                     DeviceFrom(spec.value("device", json({1, 0}))), NumberOr(spec, "handle", 0),
                     NumberOr(spec, "context", 0), 0});
}

// A wrap_spec and the arrays that it points to. Counts that contradict pointers, and unnamed bits,
// are set in the C struct.
class WrapArgument {
 public:
  explicit WrapArgument(const Arguments& a)
      : given_(a.step["spec"]),
        shape_(Numbers(given_["shape"])),
        strides_(Numbers(given_.value("strides", json::array()))),
        spec(BufferOf(given_.value("buffer", json::object()), a.In().memory->borrowed.data),
             DeviceFrom(given_["device"]), DtypeFrom(given_["dtype"]), shape_) {
    if (given_.contains("strides")) {
      spec = spec.strides(strides_);
    }
    spec = spec.byte_offset(NumberOr(given_, "byte_offset", 0))
               .tensor_flags(NumberOr(given_, "tensor_flags", 0));
    if (given_.contains("buffer_size")) {
      spec = spec.buffer_size(Unsigned(given_["buffer_size"]));
    }
    if (given_.contains("version")) {
      spec = spec.version(VersionFrom(given_["version"]));
    }
    if (a.In().memory->has_deleter) {
      spec = spec.release(&Producer::MemoryReleased, a.In().memory);
    }
    if (given_.contains("policy")) {
      policy_.emplace(given_["policy"]);
      spec = spec.policy(policy_->made);
    }
    Options(given_.value("options", json::array()));
    if (given_["shape"].is_null() || given_.contains("ndim")) {
      DLBridgeWrapSpec raw = *spec.raw();
      raw.shape = given_["shape"].is_null() ? nullptr : raw.shape;
      raw.ndim = given_.value("ndim", raw.ndim);
      spec = db::wrap_spec(raw);
    }
  }
  WrapArgument(const WrapArgument&) = delete;
  WrapArgument& operator=(const WrapArgument&) = delete;

 private:
  void Options(const json& value) {
    const std::uint32_t bits = BitsOf(value, kWrapNames);
    spec = (bits & DLBRIDGE_WRAP_SKIP_VALIDATION) != 0 ? spec.assume_valid() : spec;
    spec = (bits & DLBRIDGE_WRAP_PIN_PRODUCER) != 0 ? spec.pin_producer() : spec;
    spec = (bits & DLBRIDGE_WRAP_RETAIN) != 0 ? spec.retain() : spec;
    spec = (bits & DLBRIDGE_WRAP_RELEASE_ON_STREAM) != 0 ? spec.release_on_stream() : spec;
    if (value.is_number()) {
      DLBridgeWrapSpec raw = *spec.raw();
      raw.options = bits;
      spec = db::wrap_spec(raw);
    }
  }

  const json& given_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::optional<PolicyArgument> policy_;

 public:
  db::wrap_spec spec;
};

class CopyArgument {
 public:
  explicit CopyArgument(const Arguments& a) {
    const json& given = a.step["spec"];
    spec = spec.to(DeviceFrom(given["device"])).tensor_flags(NumberOr(given, "tensor_flags", 0));
    if (given.contains("version")) {
      spec = spec.version(VersionFrom(given["version"]));
    }
    if (given.contains("target")) {
      Producer* memory = a.world.slots[given["target"]].memory;
      spec = spec.into(BufferOf(given.value("buffer", json::object()), memory->borrowed.data),
                       NumberOr(given, "target_size", 0), NumberOr(given, "target_offset", 0),
                       memory->has_deleter ? &Producer::MemoryReleased : nullptr, memory);
    }
    if (given.contains("policy")) {
      policy_.emplace(given["policy"]);
      spec = spec.policy(policy_->made);
    }
    if (a.Has("allocator")) {
      allocator_.emplace(a.world.Allocator(a.step["allocator"]));
      spec = spec.allocator(*allocator_);
    }
    spec = given.contains("stream") ? spec.on(StreamOf(given["stream"])) : spec;
    const json options = given.value("options", json::array());
    const std::uint32_t bits = BitsOf(options, kCopyNames);
    spec = (bits & DLBRIDGE_COPY_ALLOW_STAGING) != 0 ? spec.allow_staging() : spec;
    spec = (bits & DLBRIDGE_COPY_SHAREABLE) != 0 ? spec.shareable() : spec;
    if (options.is_number()) {
      DLBridgeCopySpec raw = *spec.raw();
      raw.options = bits;
      spec = db::copy_spec(raw);
    }
  }
  CopyArgument(const CopyArgument&) = delete;
  CopyArgument& operator=(const CopyArgument&) = delete;

  db::copy_spec spec;

 private:
  std::optional<PolicyArgument> policy_;
  std::optional<db::allocator> allocator_;
};

}  // namespace dlbridge_cpp_test

#endif  // DLBRIDGE_CPP_TESTS_CORPUS_ARGUMENTS_H_
