// SPDX-License-Identifier: Apache-2.0
// One function for each call of the corpus, through the binding's public API.
#ifndef DLBRIDGE_CPP_TESTS_CORPUS_CALLS_H_
#define DLBRIDGE_CPP_TESTS_CORPUS_CALLS_H_

#include "corpus_arguments.h"

namespace dlbridge_cpp_test {

// Status, rule, axis and message.
inline json Answer(const db::error& error) {
  json answer = {{"status", std::string(db::name(error.status())).substr(sizeof "DLBRIDGE_" - 1)}};
  if (error) {
    answer["rule"] = db::name(error.rule());
    answer["axis"] = error.axis();
    answer["message"] = error.message();
  } else if (error.message()[0] != '\0') {
    answer["status"] = "success has a message";
  }
  return answer;
}

inline json Describe(const Slot& slot, const json& expected) {
  const DLTensor& tensor = *slot.ref().raw();
  json seen = json::object();
  seen["kind"] = slot.legacy ? "LEGACY" : "VERSIONED";
  if (slot.versioned) {
    seen["version"] = ToJson(slot.versioned.get()->version);
    seen["flags"] = std::to_string(slot.versioned.get()->flags);
  }
  const auto data = reinterpret_cast<std::uintptr_t>(tensor.data);
  seen["data"] = data != 0 && expected.value("data", "") == "any" ? "any" : std::to_string(data);
  seen["device"] = ToJson(tensor.device);
  seen["ndim"] = tensor.ndim;
  seen["dtype"] = ToJson(tensor.dtype);
  seen["shape"] = Strings(tensor.shape, tensor.ndim);
  seen["strides"] = tensor.strides != nullptr ? Strings(tensor.strides, tensor.ndim) : json();
  seen["byte_offset"] = std::to_string(tensor.byte_offset);
  return seen;
}

inline Slot SlotOf(DLManagedTensor* tensor) {
  Slot slot;
  slot.legacy = db::foreign_legacy(tensor);
  return slot;
}
inline Slot SlotOf(DLManagedTensorVersioned* tensor) {
  Slot slot;
  slot.versioned = db::foreign_versioned(tensor);
  return slot;
}

// Answers with the tensor that a call made, and stores it under its name.
inline void AddResult(const Arguments& a, const std::string& name, Slot&& made, json* answer) {
  (*answer)["is"] = a.world.NameOf(made.pointer());
  const Slot& slot = a.world.Put(name, std::move(made));
  const json& expect = a.step["expect"];
  (*answer)["tensor"] = Describe(slot, expect.value("tensor", json::object()));
  if (expect.contains("bytes")) {
    const auto layout = db::layout(slot.ref());
    (*answer)["bytes"] =
        Hex(slot.ref().raw()->data, static_cast<std::size_t>(layout->packed_bytes));
  }
}

// Does the same for a result; drops the input's name if the call consumed it.
template <class T>
json Finish(const Arguments& a, db::result<T>&& made, bool takes_before = false,
            bool takes_after = false) {
  json answer = Answer(made.error());
  if (made) {
    if (takes_before) {
      a.world.Take(a.step["in"]);
    }
    AddResult(a, a.step["out"], SlotOf(made->release()), &answer);
    if (takes_after) {
      a.world.Take(a.step["in"]);
    }
  }
  return answer;
}

inline json CallValidate(const Arguments& a) {
  Slot& in = a.In();
  std::optional<PolicyArgument> policy;
  if (a.Has("policy")) {
    policy.emplace(a.step["policy"]);
  }
  if (policy && policy->struct_level) {
    const db::struct_policy by(policy->made);
    return Answer(in.legacy      ? db::inspect_struct(in.legacy.get(), by).error()
                  : in.versioned ? db::inspect_struct(in.versioned.get(), by).error()
                                 : db::inspect_struct(in.borrowed, by).error());
  }
  const db::policy_ref by = policy ? db::policy_ref(policy->made) : db::policy_ref();
  if (in.legacy) {
    auto checked = db::validate(std::move(in.legacy), by);
    if (checked) {
      in.legacy = std::move(*checked);
    }
    return Answer(checked.error());
  }
  if (in.versioned) {
    auto checked = db::validate(std::move(in.versioned), by);
    if (checked) {
      in.versioned = std::move(*checked);
    }
    return Answer(checked.error());
  }
  return Answer(db::validate(in.borrowed, by).error());
}

inline json CallDiagnose(const Arguments& a) {
  const Slot& in = a.In();
  std::optional<PolicyArgument> policy;
  if (a.Has("policy")) {
    policy.emplace(a.step["policy"]);
  }
  const db::policy_ref by = policy ? db::policy_ref(policy->made) : db::policy_ref();
  const auto found = in.legacy      ? db::diagnose(in.legacy, by)
                     : in.versioned ? db::diagnose(in.versioned, by)
                                    : db::diagnose(in.borrowed, by);
  json answer = Answer(found.error());
  answer["count"] = found->size();
  answer["findings"] = json::array();
  for (const db::finding& finding : *found) {
    answer["findings"].push_back(
        {{"rule", db::name(finding.rule())},
         {"axis", finding.axis()},
         {"severity", finding.severity() == db::severity::broken ? "BROKEN" : "NOTE"},
         {"expected", finding.expected()},
         {"found", finding.found()}});
  }
  return answer;
}

inline json CallLayout(const Arguments& a) {
  const auto layout = db::layout(a.In().ref());
  json answer = Answer(layout.error());
  answer["layout"] = {{"properties", NamesOf(layout->properties, kLayoutNames)},
                      {"item_bits", layout->item_bits},
                      {"self_overlap", NameOf(layout->overlaps_itself(), kAnswerNames)},
                      {"element_count", std::to_string(layout->element_count)},
                      {"packed_bytes", std::to_string(layout->packed_bytes)},
                      {"begin", std::to_string(layout->begin)},
                      {"end", std::to_string(layout->end)},
                      {"broadcast_axes", std::to_string(layout->broadcast_axes)},
                      {"negative_axes", std::to_string(layout->negative_axes)},
                      {"alignment", std::to_string(layout->alignment)}};
  return answer;
}

// The three functions that write text, to a buffer and as a string.
template <class Named>
json CallFormat(const Arguments& a, const Named& named) {
  std::vector<char> buffer(4096, '#');
  const std::size_t size = a.step.value("size", buffer.size());
  std::size_t length = 0;
  const auto written = db::format_to(
      size != 0 ? db::span<char>(buffer.data(), size) : db::span<char>(), named, &length);
  json answer = Answer(written.error());
  answer["length"] = length;
  answer["text"] = size != 0 && buffer[0] != '#' ? buffer.data() : "";
  const std::string text = db::to_string(named);
  if (written && size != 0 && (text != buffer.data() || text.size() != length)) {
    answer["status"] = "another string";
  }
  return answer;
}
inline json CallTensorFormat(const Arguments& a) { return CallFormat(a, a.In().ref()); }
inline json CallDtypeFormat(const Arguments& a) {
  return CallFormat(a, DtypeFrom(a.step["dtype"]));
}
inline json CallDeviceFormat(const Arguments& a) {
  return CallFormat(a, DeviceFrom(a.step["device"]));
}
inline json CallDtypeParse(const Arguments& a) {
  const auto parsed = db::parse_dtype(a.step["text"].get<std::string>());
  json answer = Answer(parsed.error());
  answer["dtype"] = ToJson(*parsed);
  return answer;
}
inline json CallDeviceParse(const Arguments& a) {
  const auto parsed = db::parse_device(a.step["text"].get<std::string>());
  json answer = Answer(parsed.error());
  answer["device"] = ToJson(*parsed);
  return answer;
}
inline json CallHostAccessible(const Arguments& a) {
  db::answer detail = db::answer::no;
  const bool yes = db::host_accessible(a.step["device_type"].get<std::int32_t>(), &detail);
  return {{"status", "OK"}, {"returns", yes ? 1 : 0}, {"answer", NameOf(detail, kAnswerNames)}};
}

inline json CallRequiredVersion(const Arguments& a) {
  const auto version = db::required_version(a.In().ref());
  json answer = Answer(version.error());
  answer["version"] = ToJson(*version);
  return answer;
}
inline json CallNegotiate(const Arguments& a) {
  const auto offer =
      db::negotiate(VersionFrom(a.step["producer"]), VersionFrom(a.step["consumer"]));
  json answer = Answer(offer.error());
  answer["kind"] = NameOf(offer->kind, kKindNames);
  answer["version"] = ToJson(offer->version);
  return answer;
}
inline json CallIdentify(const Arguments& a) {
  const void* pointer = a.Has("in") ? a.In().pointer() : nullptr;
  return {{"status", "OK"}, {"kind", NameOf(db::identify(pointer), kKindNames)}};
}
inline json CallModulePin(const Arguments& a) {
  const void* address = a.Has("in") ? a.In().ref().raw()->data : db::library_version_string();
  return Answer(db::module_pin(address).error());
}

// Functions of an exchange table, never called.
inline void FillTable(const json& spec, DLPackExchangeAPI* table) {
  *table = {{VersionFrom(spec["version"]), nullptr},
            [](DLTensor*, DLManagedTensorVersioned**, void*,
               void (*)(void*, const char*, const char*)) { return -1; },
            [](void*, DLManagedTensorVersioned**) { return -1; },
            [](DLManagedTensorVersioned*, void**) { return -1; },
            [](void*, DLTensor*) { return -1; },
            [](DLDeviceType, std::int32_t, void**) { return -1; }};
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
inline json CallExchangeApiFind(const Arguments& a) {
  std::vector<DLPackExchangeAPI> tables(a.step["chain"].size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    FillTable(a.step["chain"][i], &tables[i]);
  }
  for (std::size_t i = 0; i + 1 < tables.size(); ++i) {
    tables[i].header.prev_api = &tables[i + 1].header;
  }
  if (a.step.value("ring", false)) {
    tables.back().header.prev_api = &tables.front().header;
  }
  const auto found = db::exchange_api_find(&tables.front().header, VersionFrom(a.step["consumer"]));
  json answer = Answer(found.error());
  answer["index"] = *found != nullptr ? *found - tables.data() : -1;
  return answer;
}

inline json CallUpgrade(const Arguments& a) {
  return OptionsArgument(a).Pass(
      [&](const auto& how) { return Finish(a, db::upgrade(std::move(a.In().legacy), how), true); });
}

inline db::storage StorageFor(const Arguments& a) {
  const std::string how = a.step.value("storage", "exact");
  const std::int32_t ndim = a.In().ref().raw()->ndim;
  std::size_t size = db::upgrade_storage_size(ndim > 0 && ndim < 1000 ? ndim : 0);
  auto* memory = static_cast<unsigned char*>(a.world.Storage(size + 8));
  size -= how == "short" ? 1 : 0;
  memory += how == "unaligned" ? 8 : 0;
  return db::storage(how == "null" ? nullptr : memory, size).release(a.world.storage_free);
}
inline json CallUpgradeInto(const Arguments& a) {
  return OptionsArgument(a).Pass([&](const auto& how) {
    auto made = db::upgrade_into(std::move(a.In().legacy), StorageFor(a), how);
    a.world.storage_free.in_use += made ? 1 : 0;
    return Finish(a, std::move(made), true);
  });
}

// Empties the name's owner: the call consumed the tensor by its address.
inline void Forget(Slot* slot) {
  static_cast<void>(slot->legacy.release());
  static_cast<void>(slot->versioned.release());
}

inline Names NameList(const json& value) {
  return value.is_array() ? value.get<Names>() : Names{value.get<std::string>()};
}
template <class Out, class How>
json UpgradeMany(const Arguments& a, const How& how) {
  const Names in = NameList(a.step["in"]);
  const Names out = NameList(a.step["out"]);
  std::vector<db::foreign_legacy> sources;
  for (const std::string& name : in) {
    sources.emplace_back(a.world.slots[name].legacy.get());  // a case may pass one tensor twice
  }
  std::vector<Out> outs(in.size());
  std::size_t failed = 12345;
  const auto made = db::upgrade_many(sources, outs, how, &failed);
  json answer = Answer(made.error());
  answer["failed"] = failed;
  for (db::foreign_legacy& source : sources) {
    static_cast<void>(source.release());  // the slot still owns it
  }
  for (std::size_t i = 0; made && i < in.size(); ++i) {
    Forget(&a.world.slots[in[i]]);
    a.world.Take(in[i]);
    AddResult(a, out[i], SlotOf(outs[i].release()), &answer);
  }
  return answer;
}
inline json CallUpgradeMany(const Arguments& a) {
  return OptionsArgument(a).Pass([&](const auto& how) {
    constexpr bool unchecked = std::is_same_v<decltype(how), const db::unchecked_options&>;
    return UpgradeMany<std::conditional_t<unchecked, db::foreign_versioned, db::tensor>>(a, how);
  });
}

inline json CallDowngrade(const Arguments& a) {
  return OptionsArgument(a).Pass([&](const auto& how) {
    return Finish(a, db::downgrade(std::move(a.In().versioned), how), true);
  });
}
// The kind that the step states, else the object's; the type of an owner states its kind.
inline db::kind KindOf(const Arguments& a) {
  return a.Has("kind") ? static_cast<db::kind>(ValueOf(a.step["kind"], kKindNames))
                       : db::kind::borrowed;
}

template <class How>
auto ImportAny(const Arguments& a, const How& how) {
  Slot& in = a.In();
  if (!a.Has("kind") && in.legacy) {
    return db::import(std::move(in.legacy), how);
  }
  if (!a.Has("kind") && in.versioned) {
    return db::import(std::move(in.versioned), how);
  }
  void* const pointer = in.pointer();
  const db::kind kind = KindOf(a);
  auto made = kind == db::kind::unknown ? db::import(pointer, how) : db::import(pointer, kind, how);
  if (made) {
    Forget(&in);
  }
  return made;
}
inline json CallImport(const Arguments& a) {
  return OptionsArgument(a).Pass(
      [&](const auto& how) { return Finish(a, ImportAny(a, how), false, true); });
}

template <class Any>
json FinishAny(const Arguments& a, db::result<Any>&& made) {
  json answer = Answer(made.error());
  if (made) {
    answer["kind"] = NameOf(made->kind(), kKindNames);
    Any any = *std::move(made);
    AddResult(a, a.step["out"],
              any.kind() == db::kind::legacy ? SlotOf(std::move(any).legacy().release())
                                             : SlotOf(std::move(any).versioned().release()),
              &answer);
    a.world.Take(a.step["in"]);
  }
  return answer;
}
template <class How>
auto ExportAny(const Arguments& a, const How& how) {
  const db::dlpack_version target = VersionFrom(a.step["target"]);
  Slot& in = a.In();
  if (!a.Has("kind") && in.legacy) {
    return db::export_to(std::move(in.legacy), target, how);
  }
  if (!a.Has("kind") && in.versioned) {
    return db::export_to(std::move(in.versioned), target, how);
  }
  void* const pointer = in.pointer();
  const db::kind kind = KindOf(a);
  auto made = kind == db::kind::unknown ? db::export_to(pointer, target, how)
                                        : db::export_to(pointer, kind, target, how);
  if (made) {
    Forget(&in);
  }
  return made;
}
inline json CallExport(const Arguments& a) {
  return OptionsArgument(a).Pass([&](const auto& how) { return FinishAny(a, ExportAny(a, how)); });
}

// share and view take a db::tensor; the C library rejects foreign ones.
template <class Call>
json WithTensor(const Arguments& a, Call&& call) {
  Slot& in = a.In();
  const db::tensor owned = db::tensor::assume_validated(in.versioned.get());
  db::result<db::tensor> made = call(owned);
  static_cast<void>(const_cast<db::tensor&>(owned).release());  // the slot keeps it
  return Finish(a, std::move(made));
}
inline json CallShare(const Arguments& a) {
  return WithTensor(a, [](const db::tensor& owned) { return db::share(owned); });
}
inline json CallView(const Arguments& a) {
  const json& given = a.step["spec"];
  const std::vector<std::int64_t> shape = Numbers(given["shape"]);
  const std::vector<std::int64_t> strides = Numbers(given.value("strides", json::array()));
  db::view_spec spec(shape);
  spec = given.contains("strides") ? spec.strides(strides) : spec;
  spec = given.contains("offset") ? spec.offset(Signed(given["offset"])) : spec;
  spec = given.contains("dtype") ? spec.dtype(DtypeFrom(given["dtype"])) : spec;
  if (given["shape"].is_null() || given.contains("ndim")) {
    DLBridgeViewSpec raw = *spec.raw();
    raw.shape = given["shape"].is_null() ? nullptr : raw.shape;
    raw.ndim = given.value("ndim", raw.ndim);
    spec = db::view_spec(raw);
  }
  return WithTensor(a, [&](const db::tensor& owned) { return db::view(owned, spec); });
}

inline json CallAllocate(const Arguments& a) {
  const json& given = a.step["spec"];
  const std::vector<std::int64_t> shape = Numbers(given["shape"]);
  db::allocate_spec spec = db::allocate_spec(DtypeFrom(given["dtype"]), shape)
                               .on(DeviceFrom(given["device"]))
                               .alignment(NumberOr(given, "alignment", 0))
                               .tensor_flags(NumberOr(given, "tensor_flags", 0));
  spec = given.contains("version") ? spec.version(VersionFrom(given["version"])) : spec;
  std::optional<db::allocator> allocator;
  if (a.Has("allocator")) {
    allocator.emplace(a.world.Allocator(a.step["allocator"]));
    spec = spec.allocator(*allocator);
  }
  if (given["shape"].is_null() || given.contains("ndim")) {
    DLBridgeAllocateSpec raw = *spec.raw();
    raw.shape = given["shape"].is_null() ? nullptr : raw.shape;
    raw.ndim = given.value("ndim", raw.ndim);
    spec = db::allocate_spec(raw);
  }
  auto made = db::allocate(spec);
  const std::uint64_t aligned = spec.raw()->alignment != 0 ? spec.raw()->alignment : 256;
  const bool askew = reinterpret_cast<std::uintptr_t>(made->data()) % aligned != 0;
  json answer = Finish(a, std::move(made));
  if (askew) {
    answer["status"] = "not aligned";
  }
  return answer;
}

inline json CallRelease(const Arguments& a) {
  db::result<void> ended;
  if (a.Has("kind")) {
    void* const pointer = a.Has("in") ? a.In().pointer() : nullptr;
    ended = db::release(pointer, KindOf(a));
  } else if (a.world.slots.count(a.step["in"]) != 0) {
    a.world.Release(a.step["in"]);
  } else {  // an earlier step did not make it
    ended = db::release(static_cast<void*>(nullptr), db::kind::unknown);
  }
  json answer = {{"status", Answer(ended.error())["status"]}};
  answer["deleters"] = a.world.Deletes();
  return answer;
}
inline json CallCheck(const Arguments& a) {
  return {{"status", "OK"}, {"deleters", a.world.Deletes()}};
}

}  // namespace dlbridge_cpp_test

#endif  // DLBRIDGE_CPP_TESTS_CORPUS_CALLS_H_
