// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include <ctime>

#if defined(__linux__)
#include <unistd.h>
#endif

#include "offered.h"

namespace dlbridge_conformance {

void (*announce)(const Snippet& reproducer) = nullptr;

void Trial::Announce() const {
  if (announce != nullptr) {
    announce(reproducer);
  }
}

bool Trial::Fail(int32_t worse, const Line& what, const Line& instead) {
  if (!Failed()) {
    outcome = DLBRIDGE_CONFORMANCE_FAILED;
    severity = worse == 0 ? check.severity : worse;
    expected = what;
    found = instead;
  }
  return false;
}

bool Trial::Skip(const Line& reason) {
  if (outcome == DLBRIDGE_CONFORMANCE_PASSED) {
    outcome = DLBRIDGE_CONFORMANCE_SKIPPED;
    found = reason;
  }
  return false;
}

Line Quoted(const Message& message) {
  return Say("\"%.*s\"", DLBRIDGE_CONFORMANCE_MESSAGE_SIZE - 1, message.text);
}

// -------------------------------------------------------------------------------------- features

namespace {

const char* const kFeatureNames[] = {
    "legacy tensors", "versioned tensors", "strides",         "negative strides",
    "strides of 0",   "byte_offset",       "scalars",         "empty tensors",
    "read-only",      "copies on request", "sub-byte dtypes", "padded sub-byte dtypes",
    "unaligned data", "sharing memory",    "NULL deleters",   "exchange objects",
};

Line FeatureNames(uint32_t features) {
  Line line;
  for (size_t i = 0; i < sizeof kFeatureNames / sizeof *kFeatureNames; ++i) {
    if ((features >> i & 1U) != 0) {
      line.Add("%s%s", line.text[0] == 0 ? "" : ", ", kFeatureNames[i]);
    }
  }
  return line;
}

uint32_t Unsupported(const Trial& trial) {
  const DLBridgeConformanceProject& project = trial.project;
  return project.unsupported |
         (trial.check.producer ? project.producer_unsupported : project.consumer_unsupported);
}

bool IsExchange(const Trial& trial) { return strcmp(trial.check.group, "exchange") == 0; }

bool HasCallbacks(Trial* trial) {
  const DLBridgeConformanceProject& project = trial->project;
  if (IsExchange(*trial)) {
    return project.exchange_api != nullptr ||
           trial->Skip(Say("the project has no exchange_api callback"));
  }
  if (trial->check.producer) {
    return project.make != nullptr || trial->Skip(Say("the project has no make callback"));
  }
  return (project.consume != nullptr && project.read != nullptr && project.release != nullptr) ||
         trial->Skip(Say("the project has no consume, read or release callback"));
}

}  // namespace

bool HasFeatures(Trial* trial, uint32_t features) {
  if (!HasCallbacks(trial)) {
    return false;
  }
  const uint32_t missing = features & Unsupported(*trial);
  return missing == 0 ||
         trial->Skip(Say("declared as unsupported: %s", FeatureNames(missing).text));
}

bool HasDtype(Trial* trial, DLDataType dtype) {
  const DLBridgeConformanceProject& project = trial->project;
  if (project.dtypes == nullptr) {
    return true;
  }
  for (size_t i = 0; i < project.dtype_count; ++i) {
    if (memcmp(&project.dtypes[i], &dtype, sizeof dtype) == 0) {
      return true;
    }
  }
  return trial->Skip(Say("the dtype is not in the project's dtypes"));
}

bool RunEntry(Trial* trial, const Entry* entries, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(entries[i].name, trial->check.name) == 0) {
      if (HasFeatures(trial, entries[i].features)) {
        entries[i].run(trial);
      }
      return true;
    }
  }
  return false;
}

// ------------------------------------------------------------------------------------- producing

namespace {

DLBridgeConformanceRequest RequestOf(const Trial& trial, const Wanted& wanted) {
  DLBridgeConformanceRequest request;
  memset(&request, 0, sizeof request);
  request.struct_size = static_cast<uint32_t>(sizeof request);
  const bool versioned = (Unsupported(trial) & DLBRIDGE_CONFORMANCE_VERSIONED) == 0;
  request.kind = wanted.kind != DLBRIDGE_KIND_UNKNOWN ? wanted.kind
                 : versioned                          ? DLBRIDGE_KIND_VERSIONED
                                                      : DLBRIDGE_KIND_LEGACY;
  request.ndim = wanted.ndim;
  request.shape = wanted.ndim == 0 ? nullptr : wanted.shape;
  request.strides = wanted.strides;
  request.dtype = wanted.sample->dtype;
  request.features = wanted.features | static_cast<uint32_t>(request.kind == DLBRIDGE_KIND_LEGACY
                                                                 ? DLBRIDGE_CONFORMANCE_LEGACY
                                                                 : DLBRIDGE_CONFORMANCE_VERSIONED);
  request.device = wanted.device.device_type != 0 ? wanted.device : trial.project.device;
  request.tensor_flags = wanted.flags;
  request.max_version = {1, 3};
  request.values = ValuesOf(wanted, &request.value_bytes);
  request.queue = wanted.queue;
  request.consumer = wanted.consumer;
  return request;
}

void DescribeRequest(const DLBridgeConformanceRequest& request, Snippet* out) {
  out->text[0] = 0;
  out->Add("/* export an array of your library: */\n");
  out->Add("/* %s, dtype {%u, %u, %u}, device {%d, %d}, shape %s, strides %s, flags %llu */\n",
           request.kind == DLBRIDGE_KIND_LEGACY ? "DLManagedTensor" : "DLManagedTensorVersioned",
           request.dtype.code, request.dtype.bits, request.dtype.lanes, request.device.device_type,
           request.device.device_id, Numbers(request.shape, request.ndim).text,
           Numbers(request.strides, request.ndim).text,
           static_cast<unsigned long long>(request.tensor_flags));
}

const char* NameOf(DLBridgeKind kind) {
  return kind == DLBRIDGE_KIND_LEGACY      ? "DLBRIDGE_KIND_LEGACY"
         : kind == DLBRIDGE_KIND_VERSIONED ? "DLBRIDGE_KIND_VERSIONED"
                                           : "another number";
}

// The tensor that came back, as far as its head can be trusted.
bool Open(Trial* trial, const DLBridgeConformanceRequest& request, Made* made) {
  const DLBridgeConformanceExport& out = made->out;
  if (out.tensor == nullptr) {
    return trial->Fail(DLBRIDGE_CONFORMANCE_CRASH, Say("a tensor after DONE"), Say("NULL"));
  }
  if (out.kind != request.kind) {
    return trial->Fail(DLBRIDGE_CONFORMANCE_CRASH, Say("kind %s", NameOf(request.kind)),
                       Say("kind %d, %s", out.kind, NameOf(out.kind)));
  }
  if (out.kind == DLBRIDGE_KIND_LEGACY) {
    made->tensor = &static_cast<DLManagedTensor*>(out.tensor)->dl_tensor;
    return true;
  }
  auto* versioned = static_cast<DLManagedTensorVersioned*>(out.tensor);
  made->version = versioned->version;
  if (versioned->version.major != 1) {
    return trial->Fail(0, Say("version.major 1"), Say("%u", versioned->version.major));
  }
  made->flags = versioned->flags;
  made->tensor = &versioned->dl_tensor;
  return true;
}

bool JudgeNotDone(Trial* trial, DLBridgeConformanceAnswer answer, bool may_reject,
                  uint32_t features, const Message& message) {
  if (answer == DLBRIDGE_CONFORMANCE_REJECTED && message.text[0] == 0) {
    return trial->Fail(DLBRIDGE_CONFORMANCE_DEVIATION, Say("a rejection with a message"),
                       Say("a rejection without one"));
  }
  if (answer == DLBRIDGE_CONFORMANCE_REJECTED) {
    return may_reject || trial->Fail(0, Say("%s", trial->check.title),
                                     Say("a rejection: %s", Quoted(message).text));
  }
  if (answer == DLBRIDGE_CONFORMANCE_UNSUPPORTED) {
    return trial->Fail(DLBRIDGE_CONFORMANCE_DEVIATION,
                       Say("the request to be met, or its dtype or one of these declared as "
                           "unsupported: %s",
                           FeatureNames(features).text),
                       Say("the answer UNSUPPORTED: %s", Quoted(message).text));
  }
  return trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Say("an answer DLBRIDGE_CONFORMANCE_*"),
                     Say("the number %d", answer));
}

}  // namespace

const void* ValuesOf(const Wanted& wanted, size_t* bytes) {
  *bytes = wanted.values == nullptr ? wanted.sample->bytes : wanted.bytes;
  return wanted.values == nullptr ? wanted.sample->values : wanted.values;
}

bool Make(Trial* trial, const Wanted& wanted, Made* made) {
  memset(made, 0, sizeof *made);
  made->out.struct_size = static_cast<uint32_t>(sizeof made->out);
  const DLBridgeConformanceRequest request = RequestOf(*trial, wanted);
  DescribeRequest(request, &trial->reproducer);
  trial->Announce();
  Message message;
  const DLBridgeConformanceAnswer answer =
      trial->project.make(trial->project.user, &request, &made->out, message.text);
  if (answer != DLBRIDGE_CONFORMANCE_DONE) {
    made->tensor = nullptr;
    return JudgeNotDone(trial, answer, wanted.may_reject, request.features, message);
  }
  return Open(trial, request, made);
}

bool CheckShape(Trial* trial, const Wanted& wanted, const Made& made) {
  const DLTensor& tensor = *made.tensor;
  if (tensor.ndim != wanted.ndim) {
    return trial->Fail(0, Say("ndim %d", wanted.ndim), Say("%d", tensor.ndim));
  }
  if (wanted.ndim > 0 && (tensor.shape == nullptr ||
                          memcmp(tensor.shape, wanted.shape,
                                 static_cast<size_t>(wanted.ndim) * sizeof(int64_t)) != 0)) {
    return trial->Fail(0, Say("shape %s", Numbers(wanted.shape, wanted.ndim).text),
                       Say("%s", Numbers(tensor.shape, wanted.ndim).text));
  }
  const DLDataType dtype = wanted.sample->dtype;
  if (memcmp(&tensor.dtype, &dtype, sizeof dtype) != 0) {
    return trial->Fail(
        0, Say("dtype {%u, %u, %u}", dtype.code, dtype.bits, dtype.lanes),
        Say("{%u, %u, %u}", tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes));
  }
  return true;
}

bool CheckValues(Trial* trial, const Wanted& wanted, const Made& made) {
  size_t bytes = 0;
  const void* values = ValuesOf(wanted, &bytes);
  unsigned char found[256];
  if (!CheckShape(trial, wanted, made)) {
    return false;
  }
  memset(found, 0, sizeof found);
  if (bytes > sizeof found || !Gather(*made.tensor, made.flags, found, bytes)) {
    return trial->Fail(0, Say("%zu bytes of elements", bytes),
                       Say("data %s, dtype of another size, or packed elements with gaps",
                           made.tensor->data == nullptr ? "NULL" : "that is not NULL"));
  }
  return memcmp(found, values, bytes) == 0 ||
         trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Say("the values of the array"),
                     Difference(found, values, bytes));
}

void CallDeleter(const Made& made) {
  if (made.out.tensor == nullptr) {
    return;
  }
  if (made.out.kind == DLBRIDGE_KIND_LEGACY) {
    auto* tensor = static_cast<DLManagedTensor*>(made.out.tensor);
    if (tensor->deleter != nullptr) {
      tensor->deleter(tensor);
    }
    return;
  }
  auto* tensor = static_cast<DLManagedTensorVersioned*>(made.out.tensor);
  if (tensor->deleter != nullptr) {
    tensor->deleter(tensor);
  }
}

void Release(Trial* trial, void* array) {
  if (array != nullptr && trial->project.release != nullptr) {
    trial->project.release(trial->project.user, array);
  }
  if (trial->project.collect != nullptr) {
    trial->project.collect(trial->project.user);
  }
}

void Drop(Trial* trial, const Made& made) {
  CallDeleter(made);
  Release(trial, made.out.array);
}

// ------------------------------------------------------------------------------------- consuming

namespace {

bool CheckOwnership(Trial* trial, Offered* offered) {
  const bool deletes = (trial->project.options & DLBRIDGE_CONFORMANCE_REJECTION_DELETES) != 0 &&
                       offered->plan.has_deleter;
  const int wanted = deletes ? 1 : 0;
  const int found = offered->deletes.load();
  if (found == wanted) {
    if (!deletes) {
      CallOfferedDeleter(offered);
    }
    return true;
  }
  return trial->Fail(
      found > wanted ? DLBRIDGE_CONFORMANCE_CORRUPTION : DLBRIDGE_CONFORMANCE_LEAK,
      Say("%d calls of the deleter after a rejection, as the project's options say", wanted),
      Say("%d", found));
}

}  // namespace

bool Consume(Trial* trial, Offered* offered, Rejection rejection, void** array) {
  DLBridgeConformanceOffer offer;
  memset(&offer, 0, sizeof offer);
  offer.struct_size = static_cast<uint32_t>(sizeof offer);
  offer.tensor = offered->tensor;
  offer.kind = offered->plan.kind;
  offer.features = offered->plan.features;
  offer.queue = offered->plan.queue;
  trial->reproducer.text[0] = 0;
  Reproduce(offered->plan, &trial->reproducer);
  trial->reproducer.Add("/* import &t with your library */\n");
  trial->Announce();
  Message message;
  *array = nullptr;
  const DLBridgeConformanceAnswer answer =
      trial->project.consume(trial->project.user, &offer, array, message.text);
  if (answer == DLBRIDGE_CONFORMANCE_DONE) {
    if (*array == nullptr) {
      return trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Say("an array after DONE"),
                         Say("NULL"));
    }
    return rejection != Rejection::kRequired ||
           trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Say("%s", trial->check.title),
                       Say("the tensor was accepted"));
  }
  *array = nullptr;
  if (answer == DLBRIDGE_CONFORMANCE_UNSUPPORTED && rejection == Rejection::kRequired) {
    CallOfferedDeleter(offered);
    return true;
  }
  return JudgeNotDone(trial, answer, rejection != Rejection::kFails, offer.features, message) &&
         CheckOwnership(trial, offered);
}

bool CheckArray(Trial* trial, void* array, const void* values, size_t bytes) {
  Region* out = NewRegion("the buffer for values", bytes, Side::kEnd);
  if (out == nullptr) {
    return trial->Fail(DLBRIDGE_CONFORMANCE_CRASH, Say("memory for the check"), Say("none"));
  }
  Message message;
  size_t written = 0;
  const DLBridgeConformanceAnswer answer =
      trial->project.read(trial->project.user, array, out->start, bytes, &written, message.text);
  bool good = true;
  if (answer != DLBRIDGE_CONFORMANCE_DONE) {
    good = trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Say("the values of the imported array"),
                       Say("read answers %d: %s", answer, Quoted(message).text));
  } else if (written != bytes) {
    good = trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Say("an array of %zu bytes", bytes),
                       Say("%zu", written));
  } else if (bytes > 0 && memcmp(out->start, values, bytes) != 0) {
    good = trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Say("the values of the tensor"),
                       Difference(out->start, values, bytes));
  }
  FreeRegion(out);
  return good;
}

bool Finish(Trial* trial, Offered* offered, void* array) {
  if (array != nullptr) {
    Release(trial, array);
  }
  const int wanted = offered->plan.has_deleter ? 1 : 0;
  const int found = offered->deletes.load();
  if (found != wanted) {
    trial->Fail(found > wanted ? DLBRIDGE_CONFORMANCE_CORRUPTION : DLBRIDGE_CONFORMANCE_LEAK,
                Say("%d calls of the deleter", wanted), Say("%d", found));
  } else if (offered->wrong_self.load() != 0) {
    trial->Fail(DLBRIDGE_CONFORMANCE_CORRUPTION, Say("the deleter called with the tensor itself"),
                Say("another pointer"));
  }
  // A late call of the deleter still finds its struct where a failure is reported.
  if (!trial->Failed()) {
    FreeOffered(offered);
  }
  return !trial->Failed();
}

// ----------------------------------------------------------------------------------------- leaks

size_t ProcessMemory() {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Resident pages are the second number.
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == nullptr) {
    return 0;
  }
  unsigned long long size = 0;
  unsigned long long resident = 0;
  const int numbers = fscanf(file, "%llu %llu", &size, &resident);
  fclose(file);
  return numbers == 2 ? static_cast<size_t>(resident) * static_cast<size_t>(sysconf(_SC_PAGESIZE))
                      : 0;
#else
  return 0;
#endif
}

namespace {

// A leak of the smallest block of malloc in each round exceeds this after 60,000 rounds.
constexpr size_t kNoise = size_t{1} << 20;
constexpr size_t kSmallestBlock = 24;

struct Level {
  size_t memory;
  int64_t live;
};

Level Measure(Trial* trial) {
  const DLBridgeConformanceProject& project = trial->project;
  if (project.collect != nullptr) {
    project.collect(project.user);
  }
  return {ProcessMemory(), project.live == nullptr ? 0 : project.live(project.user)};
}

// Milliseconds of CPU and waiting since an unknown moment.
int64_t Now() {
  timespec now;
  timespec_get(&now, TIME_UTC);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

uint32_t Repeat(Trial* trial, bool (*round)(Trial*), uint32_t rounds, int64_t until) {
  uint32_t done = 0;
  while (done < rounds && round(trial)) {
    ++done;
    if (done % 256 == 0 && Now() > until) {
      break;
    }
  }
  return done;
}

}  // namespace

bool CheckLeak(Trial* trial, bool (*round)(Trial*)) {
  const int64_t until = Now() + trial->time_limit_ms * 6 / 10;
  Repeat(trial, round, trial->rounds / 10 + 1, until);
  const Level before = Measure(trial);
  const uint32_t rounds = Repeat(trial, round, trial->rounds, until);
  const Level after = Measure(trial);
  if (trial->outcome != DLBRIDGE_CONFORMANCE_PASSED) {
    return false;
  }
  if (after.live > before.live) {
    return trial->Fail(
        DLBRIDGE_CONFORMANCE_LEAK, Say("no more arrays than before"),
        Say("%lld more after %u rounds", static_cast<long long>(after.live - before.live), rounds));
  }
  const size_t growth = after.memory > before.memory ? after.memory - before.memory : 0;
  if (rounds * kSmallestBlock > kNoise && growth > kNoise) {
    return trial->Fail(DLBRIDGE_CONFORMANCE_LEAK, Say("a process that does not grow"),
                       Say("%zu bytes more after %u rounds", growth, rounds));
  }
  return true;
}

}  // namespace dlbridge_conformance
