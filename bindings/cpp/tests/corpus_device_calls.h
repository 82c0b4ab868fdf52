// SPDX-License-Identifier: Apache-2.0
// The calls of the corpus that concern devices.
#ifndef DLBRIDGE_CPP_TESTS_CORPUS_DEVICE_CALLS_H_
#define DLBRIDGE_CPP_TESTS_CORPUS_DEVICE_CALLS_H_

#include "corpus_calls.h"

namespace dlbridge_cpp_test {

inline json CallBackendInfo(const Arguments& a) {
  const auto info =
      db::backend_info(static_cast<db::backend>(ValueOf(a.step["backend"], kBackendNames)));
  json answer = Answer(info.error());
  answer["info"] = {{"backend", NameOf(info->backend, kBackendNames)},
                    {"state", NameOf(info->is(), kStateNames)},
                    {"device_count", info->device_count},
                    {"driver_code", info->driver_code},
                    {"driver_version", info->driver_version},
                    {"runtime_version", info->runtime_version},
                    {"file", info->file},
                    {"reason", info->reason}};
  return answer;
}

inline json CallPointerInfo(const Arguments& a) {
  const Slot& in = a.In();
  const void* data = in.memory != nullptr ? in.memory->borrowed.data : in.ref().raw()->data;
  const auto info = db::pointer_info(BufferOf(a.step.value("buffer", json::object()), data),
                                     DeviceFrom(a.step["device"]));
  json answer = Answer(info.error());
  answer["info"] = {{"backend", NameOf(info->backend, kBackendNames)},
                    {"device", ToJson(info->device)},
                    {"memory", NameOf(info->is(), kMemoryNames)},
                    {"native_device", info->native_device},
                    {"base", std::to_string(info->base)},
                    {"size", std::to_string(info->size)},
                    {"context", std::to_string(info->context)}};
  return answer;
}

inline json CallWrap(const Arguments& a) {
  const WrapArgument argument(a);
  return Finish(a, db::wrap(argument.spec), true);
}
inline json CallWrapLegacy(const Arguments& a) {
  const WrapArgument argument(a);
  return Finish(a, db::wrap_legacy(argument.spec), true);
}
inline json CallCopy(const Arguments& a) {
  const CopyArgument argument(a);
  auto made = db::copy(a.In().ref(), argument.spec);
  if (made && a.step["spec"].contains("target")) {
    a.world.Take(a.step["spec"]["target"]);
  }
  return Finish(a, std::move(made));
}
inline json CallCopyAsync(const Arguments& a) {
  const CopyArgument argument(a);
  const bool into = a.step["spec"].contains("target");
  return WithTensor(a, [&](const db::tensor& owned) {
    auto made = db::copy_async(owned, argument.spec);
    if (made && into) {
      a.world.Take(a.step["spec"]["target"]);
    }
    return made;
  });
}

inline json CallReleaseAfter(const Arguments& a) {
  std::vector<db::stream> queues;
  for (const json& queue : a.step["streams"]) {
    queues.push_back(StreamOf(queue));
  }
  Slot& in = a.In();
  const auto ended = in.legacy ? db::release_after(std::move(in.legacy), queues)
                               : db::release_after(std::move(in.versioned), queues);
  if (ended) {
    a.world.Take(a.step["in"]);
  }
  json answer = Answer(ended.error());
  answer["deleters"] = a.world.Deletes();
  return answer;
}
inline json CallCollect(const Arguments& a) {
  const std::uint32_t how = BitsOf(a.step.value("collect", json::array()), kCollectNames);
  std::size_t left = 99;
  const auto held = db::collect(static_cast<db::collect_options>(how), &left);
  json answer = Answer(held.error());
  answer["left"] = held ? *held : left;
  return answer;
}

inline json CallStreamFromArrayApi(const Arguments& a) {
  const json& value = a.step["stream"];
  const auto stream = db::stream::from_array_api(
      DeviceFrom(a.step["device"]),
      value.is_null() ? std::nullopt : std::optional<std::int64_t>(Signed(value)));
  json answer = Answer(stream.error());
  if (stream) {
    answer["stream"] = {{"backend", NameOf(stream->backend(), kBackendNames)},
                        {"kind", NameOf(stream->kind(), kStreamNames)},
                        {"device", ToJson(stream->device())},
                        {"handle", std::to_string(stream->handle())},
                        {"context", std::to_string(stream->context())}};
  }
  return answer;
}
inline json CallStreamHandoff(const Arguments& a) {
  const std::uint32_t how = BitsOf(a.step.value("handoff", json::array()), kHandoffNames);
  return Answer(db::handoff(StreamOf(a.step["producer"]), StreamOf(a.step["consumer"]),
                            static_cast<db::handoff_options>(how))
                    .error());
}
inline json CallStreamSynchronize(const Arguments& a) {
  return Answer(StreamOf(a.step["stream"]).synchronize().error());
}

inline db::context_entry EntryOf(const json& given) {
  const auto backend = static_cast<db::backend>(ValueOf(given["backend"], kBackendNames));
  const std::vector<unsigned char> uuid = BytesOf(given.value("uuid", ""));
  db::context_entry entry =
      db::context_entry(backend, DeviceFrom(given["device"]))
          .platform(NumberOr(given, "platform", 0))
          .native_device(NumberOr(given, "native_device", 0))
          .context(NumberOr(given, "context", 0))
          .uuid(uuid)
          .queue(NumberOr(given, "queue", 0),
                 static_cast<db::stream_kind>(given.contains("queue_kind")
                                                  ? ValueOf(given["queue_kind"], kStreamNames)
                                                  : 0));
  const std::uint32_t bits = BitsOf(given.value("properties", json::array()), kContextNames);
  entry = (bits & DLBRIDGE_CONTEXT_DEFAULT) != 0 ? entry.as_default() : entry;
  entry = (bits & DLBRIDGE_CONTEXT_REPLACE) != 0 ? entry.replace() : entry;
  entry = (bits & DLBRIDGE_CONTEXT_ENUMERATED) != 0 ? entry.enumerated() : entry;
  entry = (bits & DLBRIDGE_CONTEXT_PRIVATE) != 0 ? entry.made_for_table() : entry;
  if (bits > 15) {
    DLBridgeContextEntry raw = entry.raw();
    raw.properties = bits;
    entry = db::context_entry(raw);
  }
  return entry;
}
inline json CallContextRegister(const Arguments& a) {
  const db::context_entry entry = EntryOf(a.step["entry"]);
  Producer* memory = a.Has("in") ? a.In().memory : nullptr;
  auto made = memory != nullptr ? db::context_register(entry, [memory] { ++memory->deletes; })
                                : db::context_register(entry);
  if (made) {
    a.world.ids[a.step["out"]] = made->id();
    a.world.entries[a.step["out"]] = std::move(*made);
  }
  if (made && memory != nullptr) {
    a.world.Take(a.step["in"]);
  }
  return Answer(made.error());
}

inline json CallContextFind(const Arguments& a) {
  const auto found = db::context_find(DeviceFrom(a.step["device"]), NumberOr(a.step, "context", 0));
  json answer = Answer(found.error());
  if (found) {
    const DLBridgeContextEntry& entry = found->raw();
    answer["is"] = a.world.EntryName(entry.id);
    answer["entry"] = {
        {"backend", NameOf(entry.backend, kBackendNames)},
        {"device", ToJson(entry.device)},
        {"platform", std::to_string(entry.platform)},
        {"native_device", std::to_string(entry.native_device)},
        {"context", std::to_string(entry.context)},
        {"queue", std::to_string(entry.queue)},
        {"queue_kind", entry.queue_kind == 0 ? json() : NameOf(entry.queue_kind, kStreamNames)},
        {"properties", NamesOf(entry.properties, kContextNames)},
        {"uuid", Hex(entry.uuid, sizeof entry.uuid)}};
  }
  return answer;
}
// The range gives the entries; the C function reports the status at the end.
inline json CallContextNext(const Arguments& a) {
  json entries = json::array();
  std::uint64_t last = 0;
  for (const db::context_entry& entry : db::contexts()) {
    last = entry.id();
    if (a.world.EntryName(entry.id()) != "other") {
      entries.push_back(a.world.EntryName(entry.id()));
    }
  }
  db::error why;
  db::context_entry next;
  why.set(db::abi::context_next(&last, next.out(), why.sink()));
  json answer = Answer(why);
  answer["entries"] = entries;
  return answer;
}

inline json CallContextRetain(const Arguments& a) {
  auto lease = db::context_retain(a.world.IdOf(a.step["entry"]));
  static_cast<void>(lease->release());  // a later step ends it
  json answer = Answer(lease.error());
  answer["deleters"] = a.world.Deletes();
  return answer;
}
inline json CallContextRelease(const Arguments& a) {
  json answer = Answer(db::context_lease(a.world.IdOf(a.step["entry"])).end().error());
  answer["deleters"] = a.world.Deletes();
  return answer;
}
inline json CallContextUnregister(const Arguments& a) {
  const std::string name = a.step["entry"];
  const auto found = a.world.entries.find(name);
  db::error why;
  if (found != a.world.entries.end() && found->second) {
    why = found->second.end().error();
  } else {
    why = db::context_registration(a.world.IdOf(name)).end().error();
  }
  json answer = Answer(why);
  answer["deleters"] = a.world.Deletes();
  return answer;
}

}  // namespace dlbridge_cpp_test

#endif  // DLBRIDGE_CPP_TESTS_CORPUS_DEVICE_CALLS_H_
