// SPDX-License-Identifier: Apache-2.0
// The calls of the corpus on devices, like those in calls.h. None needs a driver.
#ifndef DLBRIDGE_TESTS_CONFORMANCE_DEVICE_CALLS_H_
#define DLBRIDGE_TESTS_CONFORMANCE_DEVICE_CALLS_H_

#include <string>
#include <vector>

#include "conformance/calls.h"
#include "dlbridge/dlbridge.h"

namespace dlbridge::conformance {

inline uint32_t OptionsOf(const json& spec, const char* key, const NamedValues& known) {
  const json value = spec.value(key, json::array());
  return value.is_number() ? value.get<uint32_t>() : BitsOf(value, known);
}
inline uint64_t NumberOr(const json& spec, const char* key, uint64_t otherwise) {
  return spec.contains(key) ? Unsigned(spec[key]) : otherwise;
}

// ---------------------------------------------------------------------------------- descriptions

inline DLBridgeBuffer BufferOf(const json& spec, const void* data) {
  DLBridgeBuffer buffer = dlbridge_buffer_address(data);
  buffer.backend = ValueOf(spec.value("backend", json("NONE")), kBackendNames);
  buffer.kind = ValueOf(spec.value("kind", json("ADDRESS")), kBufferNames);
  buffer.context = NumberOr(spec, "context", 0);
  return buffer;
}

inline DLBridgeStream StreamOf(const json& spec) {
  return {ValueOf(spec.value("backend", json("NONE")), kBackendNames),
          ValueOf(spec["kind"], kStreamNames),
          DeviceFrom(spec.value("device", json({1, 0}))),
          NumberOr(spec, "handle", 0),
          NumberOr(spec, "context", 0),
          0};
}

inline json ToJson(const DLBridgeStream& stream) {
  return {{"backend", NameOf(stream.backend, kBackendNames)},
          {"kind", NameOf(stream.kind, kStreamNames)},
          {"device", ToJson(stream.device)},
          {"handle", std::to_string(stream.handle)},
          {"context", std::to_string(stream.context)}};
}

inline json ToJson(const DLBridgeContextEntry& entry) {
  return {{"backend", NameOf(entry.backend, kBackendNames)},
          {"device", ToJson(entry.device)},
          {"platform", std::to_string(entry.platform)},
          {"native_device", std::to_string(entry.native_device)},
          {"context", std::to_string(entry.context)},
          {"queue", std::to_string(entry.queue)},
          {"queue_kind", entry.queue_kind == 0 ? json() : NameOf(entry.queue_kind, kStreamNames)},
          {"properties", NamesOf(entry.properties, kContextNames)},
          {"uuid", Hex(entry.uuid, sizeof entry.uuid)}};
}

// ------------------------------------------------------------------------------------ the calls

inline json CallBackendInfo(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
  const DLBridgeBackend backend = ValueOf(a->step["backend"], kBackendNames);
  json answer = Answer(dlbridge_backend_info(backend, a->Or("out", &info), &error), error);
  answer["info"] = {{"backend", NameOf(info.backend, kBackendNames)},
                    {"state", NameOf(info.state, kStateNames)},
                    {"device_count", info.device_count},
                    {"driver_code", info.driver_code},
                    {"driver_version", info.driver_version},
                    {"runtime_version", info.runtime_version},
                    {"file", info.file},
                    {"reason", info.reason}};
  return answer;
}

inline const void* DataOf(const Handle& handle) {
  return handle.kind == kMemory ? handle.memory()->data() : handle.tensor()->data;
}

inline json CallPointerInfo(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
  const DLBridgeBuffer buffer = BufferOf(a->step.value("buffer", json::object()), DataOf(a->In()));
  json answer =
      Answer(dlbridge_pointer_info(a->Or("buffer", &buffer), DeviceFrom(a->step["device"]),
                                   a->Or("out", &info), &error),
             error);
  answer["info"] = {{"backend", NameOf(info.backend, kBackendNames)},
                    {"device", ToJson(info.device)},
                    {"memory", NameOf(info.memory, kMemoryNames)},
                    {"native_device", info.native_device},
                    {"base", std::to_string(info.base)},
                    {"size", std::to_string(info.size)},
                    {"context", std::to_string(info.context)}};
  return answer;
}

// The DLBridgeWrapSpec of a step and the memory that it points to.
class WrapArgument {
 public:
  explicit WrapArgument(Arguments* a) {
    const json& given = a->step["spec"];
    Producer* memory = a->In().memory();
    shape_ = Numbers(given["shape"].is_null() ? json() : given["shape"]);
    strides_ = Numbers(given.value("strides", json::array()));
    spec_.ndim = given.value("ndim", static_cast<int32_t>(shape_.size()));
    spec_.shape = given["shape"].is_null() ? nullptr : shape_.data();
    spec_.strides = given.contains("strides") ? strides_.data() : nullptr;
    spec_.buffer = BufferOf(given.value("buffer", json::object()), memory->data());
    spec_.byte_offset = NumberOr(given, "byte_offset", 0);
    spec_.buffer_size = NumberOr(given, "buffer_size", 0);
    spec_.device = DeviceFrom(given["device"]);
    spec_.dtype = DtypeFrom(given["dtype"]);
    spec_.options = OptionsOf(given, "options", kWrapNames);
    if (given.contains("buffer_size") && !given.value("options", json()).is_number()) {
      spec_.options |= DLBRIDGE_WRAP_LIMIT_BUFFER;
    }
    spec_.tensor_flags = NumberOr(given, "tensor_flags", 0);
    spec_.version = given.contains("version") ? VersionFrom(given["version"]) : spec_.version;
    spec_.release = memory->has_deleter ? Producer::MemoryReleased : nullptr;
    spec_.release_context = memory;
    if (given.contains("policy")) {
      policy_.emplace(given["policy"]);
      spec_.policy = policy_->get();
    }
    pointer_ = a->Damaged("wrap", &spec_);
  }
  const DLBridgeWrapSpec* get() const { return pointer_; }

 private:
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  std::optional<PolicyHolder> policy_;
  DLBridgeWrapSpec spec_ = DLBRIDGE_WRAP_SPEC_INIT;
  DLBridgeWrapSpec* pointer_ = nullptr;
};

inline json CallWrap(Arguments* a) {
  const WrapArgument spec(a);
  DLBridgeError error = Uninitialised();
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_wrap(a->Or("spec", spec.get()), a->Or("out", &out), &error);
  }
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    a->world.Take(a->step["in"]);
    AddResult(a->step, a->step["out"], out, DLBRIDGE_KIND_VERSIONED, &a->world, &answer);
  }
  return answer;
}

inline json CallWrapLegacy(Arguments* a) {
  const WrapArgument spec(a);
  DLBridgeError error = Uninitialised();
  DLManagedTensor* out = nullptr;
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_wrap_legacy(a->Or("spec", spec.get()), a->Or("out", &out), &error);
  }
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    a->world.Take(a->step["in"]);
    AddResult(a->step, a->step["out"], out, DLBRIDGE_KIND_LEGACY, &a->world, &answer);
  }
  return answer;
}

// The DLBridgeCopySpec of a step and the memory that it points to.
class CopyArgument {
 public:
  explicit CopyArgument(Arguments* a) {
    const json& given = a->step["spec"];
    spec_.options = OptionsOf(given, "options", kCopyNames);
    spec_.device = DeviceFrom(given["device"]);
    spec_.tensor_flags = NumberOr(given, "tensor_flags", 0);
    spec_.version = given.contains("version") ? VersionFrom(given["version"]) : spec_.version;
    if (given.contains("target")) {
      Producer* memory = a->world.Get(given["target"]).memory();
      spec_.target = BufferOf(given.value("buffer", json::object()), memory->data());
      spec_.target_offset = NumberOr(given, "target_offset", 0);
      spec_.target_size = NumberOr(given, "target_size", 0);
      spec_.release = memory->has_deleter ? Producer::MemoryReleased : nullptr;
      spec_.release_context = memory;
    }
    if (given.contains("policy")) {
      policy_.emplace(given["policy"]);
      spec_.policy = policy_->get();
    }
    if (a->Has("allocator")) {
      allocator_ = a->world.Allocator(a->step["allocator"] == "fails");
      spec_.allocator = &allocator_;
    }
    pointer_ = a->Damaged("copy", &spec_);
  }
  const DLBridgeCopySpec* get() const { return pointer_; }

 private:
  std::optional<PolicyHolder> policy_;
  DLBridgeAllocator allocator_ = DLBRIDGE_ALLOCATOR_INIT;
  DLBridgeCopySpec spec_ = DLBRIDGE_COPY_SPEC_INIT;
  DLBridgeCopySpec* pointer_ = nullptr;
};

inline json CallCopy(Arguments* a) {
  const CopyArgument spec(a);
  DLBridgeError error = Uninitialised();
  DLManagedTensorVersioned* out = nullptr;
  const Handle in = a->In();
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_copy(a->Or("source", in.tensor()), in.flags, a->Or("spec", spec.get()),
                           a->Or("out", &out), &error);
  }
  if (status == DLBRIDGE_OK && a->step["spec"].contains("target")) {
    a->world.Take(a->step["spec"]["target"]);
  }
  return FinishOwner(a, status, error, out);
}

inline json CallCopyAsync(Arguments* a) {
  const CopyArgument spec(a);
  DLBridgeCopySpec filled = *spec.get();
  if (a->step["spec"].contains("stream")) {
    filled.stream = StreamOf(a->step["spec"]["stream"]);
  }
  DLBridgeError error = Uninitialised();
  DLManagedTensorVersioned* out = nullptr;
  const auto* in = static_cast<const DLManagedTensorVersioned*>(a->In().pointer);
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_copy_async(a->Or("source", in), a->Or("spec", &filled), a->Or("out", &out),
                                 &error);
  }
  if (status == DLBRIDGE_OK && a->step["spec"].contains("target")) {
    a->world.Take(a->step["spec"]["target"]);
  }
  return FinishOwner(a, status, error, out);
}

inline json CallReleaseAfter(Arguments* a) {
  DLBridgeError error = Uninitialised();
  std::vector<DLBridgeStream> streams;
  for (const json& stream : a->step["streams"]) {
    streams.push_back(StreamOf(stream));
  }
  const DLBridgeStream unused = DLBRIDGE_STREAM_INIT;
  const DLBridgeStream* first = streams.empty() ? &unused : streams.data();
  const Handle in = a->In();
  const DLBridgeKind kind = a->Has("kind") ? ValueOf(a->step["kind"], kKindNames) : in.kind;
  DLBridgeStatus status = DLBRIDGE_OK;
  {
    const Counted counted(a->step.value("fail", 0));
    status = dlbridge_release_after(a->Or("tensor", in.pointer), kind, a->Or("streams", first),
                                    streams.size(), &error);
  }
  if (status == DLBRIDGE_OK) {
    a->world.Take(a->step["in"]);
  }
  json answer = Answer(status, error);
  answer["deleters"] = a->world.Deletes();
  return answer;
}

inline json CallCollect(Arguments* a) {
  DLBridgeError error = Uninitialised();
  size_t left = 0;
  const uint32_t options = OptionsOf(a->step, "collect", kCollectNames);
  json answer = Answer(dlbridge_collect(options, &left, &error), error);
  answer["left"] = left;
  return answer;
}

inline json CallStreamFromArrayApi(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLBridgeStream stream = {0, 0, DeviceFrom({0, 0}), 0, 0, 0};
  const json& value = a->step["stream"];
  const int64_t number = value.is_null() ? DLBRIDGE_ARRAY_API_STREAM_NONE : Signed(value);
  const DLBridgeStatus status = dlbridge_stream_from_array_api(
      DeviceFrom(a->step["device"]), number, a->Or("out", &stream), &error);
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    answer["stream"] = ToJson(stream);
  }
  return answer;
}

inline json CallStreamHandoff(Arguments* a) {
  DLBridgeError error = Uninitialised();
  const DLBridgeStream producer = StreamOf(a->step["producer"]);
  const DLBridgeStream consumer = StreamOf(a->step["consumer"]);
  const uint32_t options = OptionsOf(a->step, "handoff", kHandoffNames);
  return Answer(dlbridge_stream_handoff(a->Or("producer", &producer), a->Or("consumer", &consumer),
                                        options, &error),
                error);
}

inline json CallStreamSynchronize(Arguments* a) {
  DLBridgeError error = Uninitialised();
  const DLBridgeStream stream = StreamOf(a->step["stream"]);
  return Answer(dlbridge_stream_synchronize(a->Or("stream", &stream), &error), error);
}

inline DLBridgeContextEntry EntryOf(const json& given) {
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = ValueOf(given["backend"], kBackendNames);
  entry.device = DeviceFrom(given["device"]);
  entry.platform = NumberOr(given, "platform", 0);
  entry.native_device = NumberOr(given, "native_device", 0);
  entry.context = NumberOr(given, "context", 0);
  entry.queue = NumberOr(given, "queue", 0);
  entry.queue_kind = given.contains("queue_kind") ? ValueOf(given["queue_kind"], kStreamNames) : 0;
  const json properties = given.value("properties", json::array());
  entry.properties =
      properties.is_number() ? properties.get<uint32_t>() : BitsOf(properties, kContextNames);
  const std::vector<unsigned char> uuid = BytesOf(given.value("uuid", ""));
  std::memcpy(entry.uuid, uuid.data(), std::min(uuid.size(), sizeof entry.uuid));
  return entry;
}

inline json CallContextRegister(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLBridgeContextEntry object = EntryOf(a->step["entry"]);
  if (a->Has("in")) {
    object.release_context = a->In().memory();
    object.release = Producer::EntryReleased;
  }
  const DLBridgeContextEntry* entry = a->Damaged("entry", &object);
  uint64_t id = 0;
  const DLBridgeStatus status =
      dlbridge_context_register(a->Or("entry", entry), a->Or("id", &id), &error);
  if (status == DLBRIDGE_OK) {
    a->world.Register(a->step["out"], id);
  }
  if (status == DLBRIDGE_OK && a->Has("in")) {
    a->world.Take(a->step["in"]);
  }
  return Answer(status, error);
}

inline json CallContextFind(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  const DLBridgeStatus status = dlbridge_context_find(
      DeviceFrom(a->step["device"]), NumberOr(a->step, "context", 0), a->Or("out", &entry), &error);
  json answer = Answer(status, error);
  if (status == DLBRIDGE_OK) {
    answer["is"] = a->world.EntryName(entry.id);
    answer["entry"] = ToJson(entry);
  }
  return answer;
}

// Walks the whole table; answers with the case's own entries and the status that ends the walk.
inline json CallContextNext(Arguments* a) {
  DLBridgeError error = Uninitialised();
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  uint64_t cursor = 0;
  json entries = json::array();
  DLBridgeStatus status = DLBRIDGE_OK;
  while (status == DLBRIDGE_OK) {
    status = dlbridge_context_next(a->Or("cursor", &cursor), a->Or("out", &entry), &error);
    const std::string name = status == DLBRIDGE_OK ? a->world.EntryName(entry.id) : "other";
    if (name != "other") {
      entries.push_back(name);
    }
  }
  json answer = Answer(status, error);
  answer["entries"] = entries;
  return answer;
}

inline json CallOnEntry(Arguments* a, DLBridgeStatus (*function)(uint64_t, DLBridgeError*)) {
  DLBridgeError error = Uninitialised();
  const DLBridgeStatus status = function(a->world.EntryId(a->step["entry"]), &error);
  json answer = Answer(status, error);
  answer["deleters"] = a->world.Deletes();
  return answer;
}
inline json CallContextRetain(Arguments* a) { return CallOnEntry(a, dlbridge_context_retain); }
inline json CallContextRelease(Arguments* a) { return CallOnEntry(a, dlbridge_context_release); }
inline json CallContextUnregister(Arguments* a) {
  json answer = CallOnEntry(a, dlbridge_context_unregister);
  if (answer["status"] == "OK") {
    a->world.Unregistered(a->step["entry"]);
  }
  return answer;
}

}  // namespace dlbridge::conformance

#endif  // DLBRIDGE_TESTS_CONFORMANCE_DEVICE_CALLS_H_
