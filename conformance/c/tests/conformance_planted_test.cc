// SPDX-License-Identifier: Apache-2.0
// The right array library passes; each fault that is planted into its callbacks is found by the
// check that is made for it.
#include <cstdlib>
#include <cstring>

#include "support.h"

namespace conformance_test {
namespace {

const DLBridgeConformanceProject right = array_project();

using Project = DLBridgeConformanceProject;
using Request = DLBridgeConformanceRequest;
using Export = DLBridgeConformanceExport;
using Offer = DLBridgeConformanceOffer;
using Answer = DLBridgeConformanceAnswer;

DLManagedTensorVersioned* Versioned(Export* out) {
  return static_cast<DLManagedTensorVersioned*>(out->tensor);
}

DLTensor* Fields(Export* out) {
  return out->kind == DLBRIDGE_KIND_LEGACY ? &static_cast<DLManagedTensor*>(out->tensor)->dl_tensor
                                           : &Versioned(out)->dl_tensor;
}

// A make that spoils what the right one has made.
template <void (*kSpoil)(const Request*, Export*)>
Answer SpoiltMake(void* user, const Request* request, Export* out, char* message) {
  const Answer answer = right.make(user, request, out, message);
  if (answer == DLBRIDGE_CONFORMANCE_DONE) {
    kSpoil(request, out);
  }
  return answer;
}

template <void (*kSpoil)(const Request*, Export*)>
void Make(Project* project) {
  project->make = SpoiltMake<kSpoil>;
}

// A consume that spoils the array that the right one has made.
template <void (*kSpoil)(const Offer*, Array*)>
Answer SpoiltConsume(void* user, const Offer* offer, void** array, char* message) {
  const Answer answer = right.consume(user, offer, array, message);
  if (answer == DLBRIDGE_CONFORMANCE_DONE) {
    kSpoil(offer, static_cast<Array*>(*array));
  }
  return answer;
}

template <void (*kSpoil)(const Offer*, Array*)>
void Consume(Project* project) {
  project->consume = SpoiltConsume<kSpoil>;
}

// -------------------------------------------------------------------------------------- producers

void NullStrides(const Request*, Export* out) { Fields(out)->strides = nullptr; }
void WrongStrides(const Request*, Export* out) {
  if (Fields(out)->ndim == 2 && out->kind == DLBRIDGE_KIND_VERSIONED) {
    Fields(out)->strides[0] += 1;
  }
}
void WrongDevice(const Request*, Export* out) { Fields(out)->device.device_id = 3; }
void NotReadOnly(const Request*, Export* out) {
  if (out->kind == DLBRIDGE_KIND_VERSIONED) {
    Versioned(out)->flags &= ~uint64_t{1};
  }
}
void AlwaysReadOnly(const Request*, Export* out) {
  if (out->kind == DLBRIDGE_KIND_VERSIONED) {
    Versioned(out)->flags |= 1;
  }
}
void NotCopied(const Request*, Export* out) {
  if (out->kind == DLBRIDGE_KIND_VERSIONED) {
    Versioned(out)->flags &= ~uint64_t{2};
  }
}
void UnknownFlag(const Request*, Export* out) {
  if (out->kind == DLBRIDGE_KIND_VERSIONED) {
    Versioned(out)->flags |= uint64_t{1} << 20;
  }
}
void NotPadded(const Request*, Export* out) {
  if (out->kind == DLBRIDGE_KIND_VERSIONED) {
    Versioned(out)->flags &= ~uint64_t{4};
  }
}
void DataOfEmpty(const Request*, Export* out) {
  if (Fields(out)->ndim == 2 && Fields(out)->shape[0] == 0) {
    Fields(out)->data = Fields(out)->shape;
  }
}
void ScalarAsVector(const Request*, Export* out) {
  if (Fields(out)->ndim == 0) {
    Fields(out)->ndim = 1;
    Fields(out)->shape[0] = Fields(out)->strides[0] = 1;
  }
}
void WrongDtype(const Request*, Export* out) {
  if (Fields(out)->dtype.code == kDLBfloat) {
    Fields(out)->dtype.code = kDLFloat;
  }
}
void ZeroBits(const Request*, Export* out) { Fields(out)->dtype.lanes = 0; }
void MajorTwo(const Request*, Export* out) {
  if (out->kind == DLBRIDGE_KIND_VERSIONED) {
    Versioned(out)->version.major = 2;
  }
}
void WrongKind(const Request* request, Export* out) {
  out->kind = request->kind == DLBRIDGE_KIND_LEGACY ? DLBRIDGE_KIND_VERSIONED : out->kind;
}

// Doubles that pass through float.
void Narrowed(const Request* request, Export* out) {
  if (request->dtype.code == kDLFloat && request->dtype.bits == 64) {
    auto* values = static_cast<double*>(Fields(out)->data);
    for (int i = 0; i < 6; ++i) {
      values[i] = static_cast<float>(values[i]);
    }
  }
}

void SecondByte(const Request* request, Export* out) {
  if (request->strides == nullptr && request->value_bytes == 24) {
    auto* data = static_cast<unsigned char*>(Fields(out)->data);
    auto* moved = static_cast<unsigned char*>(malloc(32));
    memcpy(moved + 1, data, 24);
    Fields(out)->data = moved + 1;
  }
}

template <typename Tensor>
void NoDelete(Tensor*) {}

void Leaks(const Request*, Export* out) {
  if (out->kind == DLBRIDGE_KIND_LEGACY) {
    static_cast<DLManagedTensor*>(out->tensor)->deleter = NoDelete;
  } else {
    Versioned(out)->deleter = NoDelete;
  }
}

// The memory of the tensor ends with the array: it is overwritten, as a reused block is.
void EndsWithArray(void* user, void* array) {
  const Array* dying = static_cast<Array*>(array);
  if (dying->memory != nullptr) {
    memset(dying->memory, 0xdd, 4);
  }
  right.release(user, array);
}

thread_local int home = 0;

void DeletesAtHome(DLManagedTensorVersioned* self) {
  if (home == 0) {
    abort();
  }
  self->deleter = nullptr;
}

void OneThread(const Request*, Export* out) {
  home = 1;
  if (out->kind == DLBRIDGE_KIND_VERSIONED) {
    Versioned(out)->deleter = DeletesAtHome;
  }
}

Answer AlwaysCopies(void* user, const Request* request, Export* out, char* message) {
  Request copy = *request;
  copy.tensor_flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
  const Answer answer = right.make(user, &copy, out, message);
  if (answer == DLBRIDGE_CONFORMANCE_DONE && out->kind == DLBRIDGE_KIND_VERSIONED) {
    Versioned(out)->flags &= ~uint64_t{2};
  }
  return answer;
}

Answer SaysCopied(void* user, const Request* request, Export* out, char* message) {
  const Answer answer = right.make(user, request, out, message);
  if (answer == DLBRIDGE_CONFORMANCE_DONE && out->kind == DLBRIDGE_KIND_VERSIONED) {
    Versioned(out)->flags |= 2;
  }
  return answer;
}

// The upload is not ordered before the consumer's work.
Answer NoOrder(void* user, const Request* request, Export* out, char* message) {
  Request copy = *request;

  if (copy.queue != nullptr && copy.consumer != nullptr) {
    copy.consumer = copy.queue;
  }

  return right.make(user, &copy, out, message);
}

Answer NoWait(void* user, const Request* request, Export* out, char* message) {
  Request copy = *request;
  if (copy.queue != nullptr && copy.consumer == nullptr) {
    copy.consumer = copy.queue;
  }
  return right.make(user, &copy, out, message);
}

// -------------------------------------------------------------------------------------- consumers

void Compact(const Offer*, Array* array) {
  int64_t stride = 1;
  for (int32_t i = array->ndim; i-- > 0;) {
    array->strides[i] = stride;
    stride *= array->shape[i];
  }
}
uint64_t OffsetOf(const Offer* offer) {
  return offer->kind == DLBRIDGE_KIND_LEGACY
             ? static_cast<DLManagedTensor*>(offer->tensor)->dl_tensor.byte_offset
             : static_cast<DLManagedTensorVersioned*>(offer->tensor)->dl_tensor.byte_offset;
}
void NoOffset(const Offer* offer, Array* array) { array->data -= OffsetOf(offer); }
void Positive(const Offer*, Array* array) {
  for (int32_t i = 0; i < array->ndim; ++i) {
    array->strides[i] = array->strides[i] < 0 ? -array->strides[i] : array->strides[i];
  }
}
void NeverWritable(const Offer*, Array* array) { array->read_only = 0; }
void OnTheHost(const Offer*, Array* array) { array->queue = nullptr; }
void ReadsBeyond(const Offer*, Array* array) {
  volatile unsigned char* data = array->data;
  if (array->ndim == 2 && array->shape[0] == 2) {
    (void)data[24];
  }
}
void NeverDeletes(const Offer*, Array* array) { array->source = nullptr; }
void DeletesTwice(const Offer* offer, Array* array) {
  if (offer->kind == DLBRIDGE_KIND_VERSIONED) {
    auto* tensor = static_cast<DLManagedTensorVersioned*>(array->source);
    if (tensor->deleter != nullptr) {
      tensor->deleter(tensor);
    }
  }
}
void DeletesAtOnce(const Offer*, Array* array) {
  dlbridge_release(array->source, array->source_kind);
  array->source = nullptr;
}
void WritesStrides(const Offer* offer, Array*) {
  if (offer->kind == DLBRIDGE_KIND_VERSIONED) {
    static_cast<DLManagedTensorVersioned*>(offer->tensor)->dl_tensor.byte_offset += 0;
    static_cast<DLManagedTensorVersioned*>(offer->tensor)->flags |= 0;
    volatile uint64_t* flags = &static_cast<DLManagedTensorVersioned*>(offer->tensor)->flags;
    *flags = *flags;
  }
}

Answer AcceptsMajorTwo(void* user, const Offer* offer, void** array, char* message) {
  if (offer->kind == DLBRIDGE_KIND_VERSIONED) {
    auto* tensor = static_cast<DLManagedTensorVersioned*>(offer->tensor);
    volatile int32_t ndim = tensor->dl_tensor.ndim;
    (void)ndim;
  }
  return right.consume(user, offer, array, message);
}

Answer AcceptsMajorZero(void* user, const Offer* offer, void** array, char* message) {
  auto* tensor = static_cast<DLManagedTensorVersioned*>(offer->tensor);
  if (offer->kind == DLBRIDGE_KIND_VERSIONED && tensor->version.major == 0) {
    tensor->version = {1, 0};
  }
  return right.consume(user, offer, array, message);
}

// Only the minor of its own build.
Answer RejectsNewMinors(void* user, const Offer* offer, void** array, char* message) {
  auto* tensor = static_cast<DLManagedTensorVersioned*>(offer->tensor);
  if (offer->kind == DLBRIDGE_KIND_VERSIONED && tensor->version.minor > DLPACK_MINOR_VERSION) {
    strcpy(message, "too new");
    return DLBRIDGE_CONFORMANCE_REJECTED;
  }
  return right.consume(user, offer, array, message);
}

// Needs strides whatever the version.
Answer ReadsStrides(void* user, const Offer* offer, void** array, char* message) {
  if (offer->kind == DLBRIDGE_KIND_LEGACY) {
    volatile int64_t* strides = static_cast<DLManagedTensor*>(offer->tensor)->dl_tensor.strides;
    if (static_cast<DLManagedTensor*>(offer->tensor)->dl_tensor.ndim > 0) {
      (void)strides[0];
    }
  }
  return right.consume(user, offer, array, message);
}

Answer RejectsSilently(void* user, const Offer* offer, void** array, char* message) {
  const Answer answer = right.consume(user, offer, array, message);
  message[0] = 0;
  return answer;
}

Answer DeletesRejected(void* user, const Offer* offer, void** array, char* message) {
  const Answer answer = right.consume(user, offer, array, message);
  if (answer == DLBRIDGE_CONFORMANCE_REJECTED) {
    dlbridge_release(offer->tensor, offer->kind);
  }
  return answer;
}

Answer CallsNullDeleter(void* user, const Offer* offer, void** array, char* message) {
  if (offer->kind == DLBRIDGE_KIND_VERSIONED &&
      static_cast<DLManagedTensorVersioned*>(offer->tensor)->deleter == nullptr) {
    abort();
  }
  return right.consume(user, offer, array, message);
}

Answer AcceptsNegativeExtent(void* user, const Offer* offer, void** array, char* message) {
  const Answer answer = right.consume(user, offer, array, message);
  if (answer == DLBRIDGE_CONFORMANCE_REJECTED && strstr(message, "xtent") != nullptr) {
    *array = calloc(1, sizeof(Array));
    static_cast<Array*>(*array)->owners = 1;
    return DLBRIDGE_CONFORMANCE_DONE;
  }
  return answer;
}

Answer LeaksOnRejection(void* user, const Offer* offer, void** array, char* message) {
  const Answer answer = right.consume(user, offer, array, message);
  if (answer == DLBRIDGE_CONFORMANCE_REJECTED) {
    Export out;
    Request request;
    memset(&out, 0, sizeof out);
    memset(&request, 0, sizeof request);
    const float value = 1;
    request.kind = DLBRIDGE_KIND_VERSIONED;
    request.dtype = {kDLFloat, 32, 1};
    request.values = &value;
    request.value_bytes = sizeof value;
    right.make(user, &request, &out, message);
  }
  return answer;
}

// Drops the source while its queue still uses it.
void DropsAtOnce(void* user, void* given) {
  static_cast<Array*>(given)->queue = nullptr;
  right.release(user, given);
}

// ----------------------------------------------------------------------------------------- tables

DLPackExchangeAPI table;

const DLPackExchangeAPI* RightTable() {
  return reinterpret_cast<const DLPackExchangeAPI*>(right.exchange_api(nullptr));
}

const DLPackExchangeAPIHeader* Spoilt(void*) { return &table.header; }

void Ring(Project* project) {
  table = *RightTable();
  table.header.prev_api = &table.header;
  project->exchange_api = Spoilt;
}

void NoAllocator(Project* project) {
  table = *RightTable();
  table.managed_tensor_allocator = nullptr;
  project->exchange_api = Spoilt;
}

void SilentAllocator(Project* project) {
  table = *RightTable();
  table.managed_tensor_allocator = [](DLTensor* prototype, DLManagedTensorVersioned** out,
                                      void* context, void (*)(void*, const char*, const char*)) {
    return RightTable()->managed_tensor_allocator(prototype, out, context,
                                                  [](void*, const char*, const char*) {});
  };
  project->exchange_api = Spoilt;
}

void LyingStream(Project* project) {
  table = *RightTable();
  table.current_work_stream = [](DLDeviceType, int32_t, void**) { return 0; };
  project->exchange_api = Spoilt;
}

void DeletingTable(Project* project) {
  table = *RightTable();
  table.managed_tensor_to_py_object_no_sync = [](DLManagedTensorVersioned* tensor, void** out) {
    const int result = RightTable()->managed_tensor_to_py_object_no_sync(tensor, out);
    if (result != 0) {
      dlbridge_release_versioned(tensor);
    }
    return result;
  };
  project->exchange_api = Spoilt;
}

void EmptyBorrow(Project* project) {
  table = *RightTable();
  table.dltensor_from_py_object_no_sync = [](void*, DLTensor*) { return 0; };
  project->exchange_api = Spoilt;
}

// ------------------------------------------------------------------------------------------------

struct Fault {
  const char* name;
  const char* check;  // the one that finds it
  int32_t severity;
  void (*plant)(Project*);
};

const Fault kFaults[] = {
    {"NullStrides", "strides-present", DLBRIDGE_CONFORMANCE_DEVIATION, Make<NullStrides>},
    {"WrongStrides", "shape-and-strides", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Make<WrongStrides>},
    {"WrongDevice", "device-id", DLBRIDGE_CONFORMANCE_DEVIATION, Make<WrongDevice>},
    {"NotReadOnly", "read-only-flag", DLBRIDGE_CONFORMANCE_CORRUPTION, Make<NotReadOnly>},
    {"AlwaysReadOnly", "writable-flag", DLBRIDGE_CONFORMANCE_DEVIATION, Make<AlwaysReadOnly>},
    {"NotCopied", "copy-flagged", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Make<NotCopied>},
    {"UnknownFlag", "flags-known", DLBRIDGE_CONFORMANCE_DEVIATION, Make<UnknownFlag>},
    {"NotPadded", "export-padded", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Make<NotPadded>},
    {"DataOfEmpty", "empty", DLBRIDGE_CONFORMANCE_DEVIATION, Make<DataOfEmpty>},
    {"ScalarAsVector", "scalar", DLBRIDGE_CONFORMANCE_DEVIATION, Make<ScalarAsVector>},
    {"WrongDtype", "export-bfloat16", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Make<WrongDtype>},
    {"ZeroBits", "struct-valid", DLBRIDGE_CONFORMANCE_CORRUPTION, Make<ZeroBits>},
    {"MajorTwo", "kind-versioned", DLBRIDGE_CONFORMANCE_DEVIATION, Make<MajorTwo>},
    {"WrongKind", "kind-legacy", DLBRIDGE_CONFORMANCE_CRASH, Make<WrongKind>},
    {"Narrowed", "export-float64", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Make<Narrowed>},
    {"SecondByte", "alignment", DLBRIDGE_CONFORMANCE_DEVIATION, Make<SecondByte>},
    {"Leaks", "deleter-releases", DLBRIDGE_CONFORMANCE_LEAK, Make<Leaks>},
    {"LeaksOften", "producer-leak", DLBRIDGE_CONFORMANCE_LEAK, Make<Leaks>},
    {"OneThread", "deleter-foreign-thread", DLBRIDGE_CONFORMANCE_CRASH, Make<OneThread>},
    {"EndsWithArray", "outlives-producer", DLBRIDGE_CONFORMANCE_WRONG_ANSWER,
     [](Project* project) { project->release = EndsWithArray; }},
    {"AlwaysCopies", "shares", DLBRIDGE_CONFORMANCE_WRONG_ANSWER,
     [](Project* project) { project->make = AlwaysCopies; }},
    {"AlwaysCopiesToo", "seen", DLBRIDGE_CONFORMANCE_WRONG_ANSWER,
     [](Project* project) { project->make = AlwaysCopies; }},
    {"SaysCopied", "not-copied", DLBRIDGE_CONFORMANCE_CORRUPTION,
     [](Project* project) { project->make = SaysCopied; }},
    {"NoOrder", "stream-export", DLBRIDGE_CONFORMANCE_WRONG_ANSWER,
     [](Project* project) { project->make = NoOrder; }},
    {"NoWait", "stream-export-host", DLBRIDGE_CONFORMANCE_WRONG_ANSWER,
     [](Project* project) { project->make = NoWait; }},

    {"Transposed", "layout-transposed", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Consume<Compact>},
    {"Gaps", "layout-gaps", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Consume<Compact>},
    {"Broadcast", "layout-broadcast", DLBRIDGE_CONFORMANCE_CRASH, Consume<Compact>},
    {"NoOffset", "layout-byte-offset", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Consume<NoOffset>},
    {"Positive", "layout-negative", DLBRIDGE_CONFORMANCE_CRASH, Consume<Positive>},
    {"Writable", "immutable-stays", DLBRIDGE_CONFORMANCE_CORRUPTION, Consume<NeverWritable>},
    {"OnTheHost", "stream-import", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Consume<OnTheHost>},
    {"ReadsBeyond", "layout-plain", DLBRIDGE_CONFORMANCE_CRASH, Consume<ReadsBeyond>},
    {"NeverDeletes", "deleter-once", DLBRIDGE_CONFORMANCE_LEAK, Consume<NeverDeletes>},
    {"DeletesTwice", "deleter-once", DLBRIDGE_CONFORMANCE_CORRUPTION, Consume<DeletesTwice>},
    {"DeletesAtOnce", "consumer-stays", DLBRIDGE_CONFORMANCE_CORRUPTION, Consume<DeletesAtOnce>},
    {"NotShared", "consumer-shares", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Consume<DeletesAtOnce>},
    {"WritesStrides", "struct-unchanged", DLBRIDGE_CONFORMANCE_CORRUPTION, Consume<WritesStrides>},
    {"AcceptsMajorTwo", "version-major-2", DLBRIDGE_CONFORMANCE_CRASH,
     [](Project* project) { project->consume = AcceptsMajorTwo; }},
    {"AcceptsMajorZero", "version-major-0", DLBRIDGE_CONFORMANCE_WRONG_ANSWER,
     [](Project* project) { project->consume = AcceptsMajorZero; }},
    {"RejectsNewMinors", "version-minor", DLBRIDGE_CONFORMANCE_DEVIATION,
     [](Project* project) { project->consume = RejectsNewMinors; }},
    {"ReadsStrides", "layout-null-strides", DLBRIDGE_CONFORMANCE_CRASH,
     [](Project* project) { project->consume = ReadsStrides; }},
    {"RejectsSilently", "hostile-ndim-negative-legacy", DLBRIDGE_CONFORMANCE_DEVIATION,
     [](Project* project) { project->consume = RejectsSilently; }},
    {"DeletesRejected", "hostile-ndim-negative-versioned", DLBRIDGE_CONFORMANCE_CORRUPTION,
     [](Project* project) { project->consume = DeletesRejected; }},
    {"LeavesRejected", "hostile-ndim-negative-legacy", DLBRIDGE_CONFORMANCE_LEAK,
     [](Project* project) { project->options = DLBRIDGE_CONFORMANCE_REJECTION_DELETES; }},
    {"CallsNullDeleter", "deleter-null", DLBRIDGE_CONFORMANCE_CRASH,
     [](Project* project) { project->consume = CallsNullDeleter; }},
    {"AcceptsNegativeExtent", "hostile-dim-negative-first-legacy",
     DLBRIDGE_CONFORMANCE_WRONG_ANSWER,
     [](Project* project) { project->consume = AcceptsNegativeExtent; }},
    {"LeaksOnRejection", "rejected-leak", DLBRIDGE_CONFORMANCE_LEAK,
     [](Project* project) { project->consume = LeaksOnRejection; }},
    {"DropsAtOnce", "stream-release", DLBRIDGE_CONFORMANCE_CORRUPTION,
     [](Project* project) { project->release = DropsAtOnce; }},

    {"Ring", "table-header", DLBRIDGE_CONFORMANCE_DEVIATION, Ring},
    {"NoAllocator", "table-members", DLBRIDGE_CONFORMANCE_CRASH, NoAllocator},
    {"SilentAllocator", "table-allocates-error", DLBRIDGE_CONFORMANCE_CRASH, SilentAllocator},
    {"LyingStream", "table-stream", DLBRIDGE_CONFORMANCE_DEVIATION, LyingStream},
    {"DeletingTable", "table-rejects", DLBRIDGE_CONFORMANCE_CORRUPTION, DeletingTable},
    {"EmptyBorrow", "table-borrow", DLBRIDGE_CONFORMANCE_WRONG_ANSWER, EmptyBorrow},
};

TEST(Planted, TheRightLibraryPassesEveryCheck) {
  const Ran ran = RunAll(right);
  EXPECT_EQ(ran.status, DLBRIDGE_OK) << ran.error.message;
  EXPECT_EQ(ran.Failures(), "");
  EXPECT_EQ(ran.summary.passed, dlbridge_conformance_check_count());
  EXPECT_EQ(dlbridge_conformance_exit_status(&ran.summary), 0);
}

class PlantedFault : public testing::TestWithParam<Fault> {};

TEST_P(PlantedFault, IsFoundByItsCheck) {
  const Fault& fault = GetParam();
  Project project = right;
  fault.plant(&project);
  const Ran ran = RunOnly(project, fault.check);
  ASSERT_EQ(ran.status, DLBRIDGE_OK) << ran.error.message;
  const auto found = ran.results.find(fault.check);
  ASSERT_NE(found, ran.results.end());
  EXPECT_EQ(found->second.outcome, DLBRIDGE_CONFORMANCE_FAILED) << found->second.found;
  EXPECT_EQ(found->second.severity, fault.severity)
      << found->second.expected << "; " << found->second.found;
  RecordProperty("found", found->second.found);
  EXPECT_NE(found->second.expected, "");
  EXPECT_NE(found->second.found, "");
  EXPECT_NE(found->second.specification, "");
  EXPECT_EQ(dlbridge_conformance_exit_status(&ran.summary), 1);
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFault, testing::ValuesIn(kFaults),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace conformance_test
