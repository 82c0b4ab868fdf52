// SPDX-License-Identifier: Apache-2.0
// Checks of imported tensors: valid ones in every layout, and those of other versions.
#include <initializer_list>

#include "offered.h"
#include "thread.h"
#include "trial.h"

namespace dlbridge_conformance {
namespace {

// The device of the offers is the project's.
Plan PlainPlan(const Trial& trial) {
  Plan plan = PlanOf(Float32());
  plan.device = trial.project.device;
  const uint32_t missing = trial.project.unsupported | trial.project.consumer_unsupported;
  if ((missing & DLBRIDGE_CONFORMANCE_VERSIONED) != 0) {
    plan.kind = DLBRIDGE_KIND_LEGACY;
  }
  return plan;
}

bool OfferIn(Trial* trial, const Plan& plan, Offered* offered) {
  Plan whole = plan;
  whole.features |=
      static_cast<uint32_t>(plan.kind == DLBRIDGE_KIND_LEGACY ? DLBRIDGE_CONFORMANCE_LEGACY
                                                              : DLBRIDGE_CONFORMANCE_VERSIONED);
  return MakeOffered(whole, trial->isolated, offered) ||
         trial->Fail(DLBRIDGE_CONFORMANCE_CRASH, Say("memory for the check"), Say("none"));
}

// The usual check: the tensor arrives with these values, and its deleter runs once.
void Arrives(Trial* trial, const Plan& plan, Rejection rejection, const void* values,
             size_t bytes) {
  Offered offered;
  void* array = nullptr;
  if (OfferIn(trial, plan, &offered) && Consume(trial, &offered, rejection, &array) &&
      (array == nullptr || CheckArray(trial, array, values, bytes))) {
    Finish(trial, &offered, array);
  }
}

void ArrivesAsIs(Trial* trial, const Plan& plan, Rejection rejection) {
  Arrives(trial, plan, rejection, Float32().values, Float32().bytes);
}

// ---------------------------------------------------------------------------------------- kinds

void ConsumesLegacy(Trial* trial) {
  Plan plan = PlainPlan(*trial);
  plan.kind = DLBRIDGE_KIND_LEGACY;
  ArrivesAsIs(trial, plan, Rejection::kFails);
}

void ConsumesVersioned(Trial* trial) { ArrivesAsIs(trial, PlainPlan(*trial), Rejection::kFails); }

void DeleterNull(Trial* trial) {
  Plan plan = PlainPlan(*trial);
  plan.has_deleter = false;
  plan.features = DLBRIDGE_CONFORMANCE_NULL_DELETER;
  ArrivesAsIs(trial, plan, Rejection::kFails);
}

void VersionMajor(Trial* trial, uint32_t major, bool only_head) {
  Plan plan = PlainPlan(*trial);
  plan.version = {major, 0};
  plan.only_head = only_head;
  Offered offered;
  void* array = nullptr;
  if (OfferIn(trial, plan, &offered) && Consume(trial, &offered, Rejection::kRequired, &array)) {
    Finish(trial, &offered, array);
  }
}

void VersionMajor2(Trial* trial) { VersionMajor(trial, 2, true); }
void VersionMajor0(Trial* trial) { VersionMajor(trial, 0, false); }

void VersionMinor(Trial* trial) {
  Plan plan = PlainPlan(*trial);
  plan.version.minor = 99;
  ArrivesAsIs(trial, plan, Rejection::kFails);
}

void FlagsUnknown(Trial* trial) {
  Plan plan = PlainPlan(*trial);
  plan.version.minor = 99;
  plan.flags = uint64_t{1} << 40;
  ArrivesAsIs(trial, plan, Rejection::kAllowed);
}

void FlagsReadOnly(Trial* trial) {
  Plan plan = PlainPlan(*trial);
  plan.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  plan.read_only_memory = true;
  ArrivesAsIs(trial, plan, Rejection::kFails);
}

// -------------------------------------------------------------------------------------- layouts

void LayoutPlain(Trial* trial) { ArrivesAsIs(trial, PlainPlan(*trial), Rejection::kFails); }

// The bytes of the float32 sample in the order `order` of the elements.
struct Shuffled {
  uint32_t words[16];
};

Shuffled Shuffle(const int64_t* order, size_t count) {
  Shuffled out;
  memset(&out, 0xee, sizeof out);
  for (size_t i = 0; i < count; ++i) {
    memcpy(&out.words[order[i]], static_cast<const uint32_t*>(Float32().values) + i, 4);
  }
  return out;
}

// A layout of shape [2, 3] whose element i is at `order[i]` of `count` elements.
struct Layout {
  int64_t strides[2];
  int64_t order[6];
  size_t count;
  size_t origin;  // element (0, 0)
  uint32_t features;
};

void ArrivesIn(Trial* trial, const Layout& layout, Side side) {
  const Shuffled memory = Shuffle(layout.order, 6);
  Plan plan = PlainPlan(*trial);
  plan.strides = layout.strides;
  plan.memory = memory.words;
  plan.bytes = layout.count * 4;
  plan.origin = layout.origin * 4;
  plan.features = layout.features;
  plan.side = side;
  ArrivesAsIs(trial, plan, Rejection::kAllowed);
}

// Once with a guard page after the data, once with one before.
void ArrivesBothWays(Trial* trial, const Layout& layout) {
  ArrivesIn(trial, layout, Side::kEnd);
  if (!trial->Failed()) {
    ArrivesIn(trial, layout, Side::kBegin);
  }
}

void LayoutTransposed(Trial* trial) {
  ArrivesBothWays(trial, {{1, 2}, {0, 2, 4, 1, 3, 5}, 6, 0, DLBRIDGE_CONFORMANCE_STRIDES});
}

void LayoutNegative(Trial* trial) {
  ArrivesBothWays(trial, {{-3, -1},
                          {5, 4, 3, 2, 1, 0},
                          6,
                          5,
                          DLBRIDGE_CONFORMANCE_STRIDES | DLBRIDGE_CONFORMANCE_NEGATIVE_STRIDES});
}

void LayoutGaps(Trial* trial) {
  ArrivesBothWays(trial, {{7, 2}, {0, 2, 4, 7, 9, 11}, 12, 0, DLBRIDGE_CONFORMANCE_STRIDES});
}

void LayoutBroadcast(Trial* trial) {
  const int64_t strides[] = {0, 1};
  const auto* words = static_cast<const uint32_t*>(Float32().values);
  const uint32_t values[] = {words[0], words[1], words[2], words[0], words[1], words[2]};
  Plan plan = PlainPlan(*trial);
  plan.strides = strides;
  plan.bytes = 12;
  plan.features = DLBRIDGE_CONFORMANCE_STRIDES | DLBRIDGE_CONFORMANCE_ZERO_STRIDES;
  Arrives(trial, plan, Rejection::kAllowed, values, sizeof values);
}

void LayoutByteOffset(Trial* trial) {
  unsigned char memory[64 + 24];
  memset(memory, 0xee, sizeof memory);
  memcpy(memory + 64, Float32().values, 24);
  Plan plan = PlainPlan(*trial);
  plan.memory = memory;
  plan.bytes = sizeof memory;
  plan.byte_offset = 64;
  plan.features = DLBRIDGE_CONFORMANCE_BYTE_OFFSET;
  ArrivesAsIs(trial, plan, Rejection::kFails);
}

void LayoutNullStrides(Trial* trial) {
  const uint32_t missing = trial->project.unsupported | trial->project.consumer_unsupported;
  Plan plan = PlainPlan(*trial);
  plan.version = {1, 1};
  plan.strides = nullptr;
  for (const DLBridgeKind kind : {DLBRIDGE_KIND_LEGACY, DLBRIDGE_KIND_VERSIONED}) {
    const uint32_t feature =
        kind == DLBRIDGE_KIND_LEGACY ? DLBRIDGE_CONFORMANCE_LEGACY : DLBRIDGE_CONFORMANCE_VERSIONED;
    plan.kind = kind;
    if ((missing & feature) == 0 && !trial->Failed()) {
      ArrivesAsIs(trial, plan, Rejection::kFails);
    }
  }
}

void ArrivesEmpty(Trial* trial, bool with_data) {
  const int64_t shape[] = {0, 3};
  Plan plan = PlainPlan(*trial);
  plan.shape = shape;
  plan.memory = with_data ? plan.memory : nullptr;
  plan.bytes = 0;
  plan.features = DLBRIDGE_CONFORMANCE_EMPTY;
  Arrives(trial, plan, Rejection::kFails, "", 0);
}

void LayoutEmptyNull(Trial* trial) { ArrivesEmpty(trial, false); }
void LayoutEmpty(Trial* trial) { ArrivesEmpty(trial, true); }

void ArrivesScalar(Trial* trial, bool with_arrays) {
  static const int64_t nothing = 0;
  Plan plan = PlainPlan(*trial);
  plan.ndim = 0;
  plan.shape = plan.strides = with_arrays ? &nothing : nullptr;
  plan.shape_count = plan.strides_count = 0;
  plan.bytes = 4;
  plan.features = DLBRIDGE_CONFORMANCE_SCALAR;
  Arrives(trial, plan, Rejection::kFails, Float32().values, 4);
}

void LayoutScalar(Trial* trial) { ArrivesScalar(trial, true); }
void LayoutScalarNull(Trial* trial) { ArrivesScalar(trial, false); }

void LayoutSizeOne(Trial* trial) {
  const int64_t shape[] = {1, 6};
  const int64_t strides[] = {INT64_MIN, 1};
  Plan plan = PlainPlan(*trial);
  plan.shape = shape;
  plan.strides = strides;
  ArrivesAsIs(trial, plan, Rejection::kFails);
}

void LayoutUnaligned(Trial* trial) {
  unsigned char memory[25] = {0};
  memcpy(memory + 1, Float32().values, 24);
  Plan plan = PlainPlan(*trial);
  plan.memory = memory;
  plan.bytes = sizeof memory;
  plan.origin = 1;
  plan.features = DLBRIDGE_CONFORMANCE_UNALIGNED;
  // The end is at a page, so only the begin of a page leaves the data at an odd address.
  plan.side = Side::kBegin;
  ArrivesAsIs(trial, plan, Rejection::kAllowed);
}

void StructUnchanged(Trial* trial) {
  Plan plan = PlainPlan(*trial);
  plan.read_only_struct = true;
  ArrivesAsIs(trial, plan, Rejection::kFails);
  if (!trial->Failed() && plan.kind == DLBRIDGE_KIND_VERSIONED) {
    plan.version = {1, 1};
    plan.strides = nullptr;
    ArrivesAsIs(trial, plan, Rejection::kAllowed);
  }
}

// --------------------------------------------------------------------------------------- dtypes

bool ImportDtype(Trial* trial) {
  const char* prefix = "import-";
  const Sample* sample = strncmp(trial->check.name, prefix, strlen(prefix)) == 0
                             ? FindSample(trial->check.name + strlen(prefix))
                             : nullptr;
  if (sample == nullptr) {
    return false;
  }
  const Plan plain = PlainPlan(*trial);
  Plan plan = PlanOf(*sample);
  plan.kind = plain.kind;
  plan.device = plain.device;
  plan.features = sample->dtype.bits < 8 ? static_cast<uint32_t>(DLBRIDGE_CONFORMANCE_SUB_BYTE) : 0;
  if (HasFeatures(trial, plan.features) && HasDtype(trial, sample->dtype)) {
    Arrives(trial, plan, Rejection::kAllowed, sample->values, sample->bytes);
  }
  return true;
}

void ImportPadded(Trial* trial) {
  const Sample& sample = *FindSample("float4-e2m1fn");
  unsigned char values[kSampleCount];
  Plan plan = PlanOf(sample);
  plan.device = trial->project.device;
  plan.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  plan.features = DLBRIDGE_CONFORMANCE_PADDED;
  plan.memory = values;
  plan.bytes = Unpack(sample, values);
  if (HasDtype(trial, sample.dtype)) {
    Arrives(trial, plan, Rejection::kAllowed, values, plan.bytes);
  }
}

// ------------------------------------------------------------------------------------- lifetime

void DeleterOnce(Trial* trial) {
  Offered offered;
  void* array = nullptr;
  if (OfferIn(trial, PlainPlan(*trial), &offered) &&
      Consume(trial, &offered, Rejection::kFails, &array) &&
      CheckArray(trial, array, Float32().values, Float32().bytes)) {
    Finish(trial, &offered, array);
  }
}

struct Held {
  Trial* trial;
  void* array;
};

void DeleterOnThread(Trial* trial) {
  Offered offered;
  Held held = {trial, nullptr};
  if (!OfferIn(trial, PlainPlan(*trial), &offered) ||
      !Consume(trial, &offered, Rejection::kFails, &held.array)) {
    return;
  }
  auto release = [](void* given) {
    const Held* what = static_cast<const Held*>(given);
    Release(what->trial, what->array);
  };
  if (RunOnThread(release, &held)) {
    Finish(trial, &offered, nullptr);
  } else {
    trial->Skip(Say("no thread could be started"));
  }
}

void ConsumerStays(Trial* trial) {
  Offered offered;
  Offered other;
  void* array = nullptr;
  void* second = nullptr;
  const Plan plan = PlainPlan(*trial);
  if (!OfferIn(trial, plan, &offered) || !Consume(trial, &offered, Rejection::kFails, &array)) {
    return;
  }
  if (trial->project.collect != nullptr) {
    trial->project.collect(trial->project.user);
  }
  if (OfferIn(trial, plan, &other) && Consume(trial, &other, Rejection::kFails, &second) &&
      Finish(trial, &other, second) &&
      CheckArray(trial, array, Float32().values, Float32().bytes)) {
    Finish(trial, &offered, array);
  }
}

void ConsumerShares(Trial* trial) {
  Offered offered;
  void* array = nullptr;
  if (!OfferIn(trial, PlainPlan(*trial), &offered) ||
      !Consume(trial, &offered, Rejection::kFails, &array)) {
    return;
  }
  if (offered.deletes.load() != 0) {
    trial->Fail(0, Say("an array that shares the tensor's memory"),
                Say("the deleter has run before the array was released"));
    return;
  }
  const unsigned char other[24] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  memcpy(offered.memory->start, other, sizeof other);
  if (CheckArray(trial, array, other, sizeof other)) {
    Finish(trial, &offered, array);
  }
}

// The memory is protected: a write ends the process. A copy of the consumer's may be written to.
void ImmutableStays(Trial* trial) {
  Plan plan = PlainPlan(*trial);
  plan.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  plan.read_only_memory = true;
  Offered offered;
  void* array = nullptr;
  if (!OfferIn(trial, plan, &offered) || !Consume(trial, &offered, Rejection::kAllowed, &array)) {
    return;
  }
  if (array != nullptr) {
    const unsigned char zeros[24] = {0};
    Message message;
    trial->project.write(trial->project.user, array, zeros, sizeof zeros, message.text);
  }
  Finish(trial, &offered, array);
}

void ImmutableStaysIfWritten(Trial* trial) {
  if (trial->project.write == nullptr) {
    trial->Skip(Say("the project has no write callback"));
  } else {
    ImmutableStays(trial);
  }
}

// One tensor serves all rounds of a check: its deleter only counts.
Offered* repeated;

bool Round(Trial* trial, Rejection rejection) {
  void* array = nullptr;
  repeated->deletes.store(0);
  if (!Consume(trial, repeated, rejection, &array)) {
    return false;
  }
  if (array != nullptr) {
    Release(trial, array);
  }
  return repeated->deletes.load() == 1 ||
         trial->Fail(DLBRIDGE_CONFORMANCE_LEAK, Say("1 call of the deleter"),
                     Say("%d", repeated->deletes.load()));
}

bool AcceptedRound(Trial* trial) { return Round(trial, Rejection::kFails); }
bool RejectedRound(Trial* trial) { return Round(trial, Rejection::kRequired); }

void LeakOf(Trial* trial, const Plan& plan, bool (*round)(Trial*)) {
  Offered offered;
  if (!MakeOffered(plan, false, &offered)) {
    trial->Fail(DLBRIDGE_CONFORMANCE_CRASH, Say("memory for the check"), Say("none"));
    return;
  }
  repeated = &offered;
  CheckLeak(trial, round);
  FreeOffered(&offered);
}

void ConsumerLeak(Trial* trial) { LeakOf(trial, PlainPlan(*trial), AcceptedRound); }

// An extent of -1, which no consumer can accept.
void RejectedLeak(Trial* trial) {
  const int64_t shape[] = {2, -1};
  Plan plan = PlainPlan(*trial);
  plan.shape = shape;
  LeakOf(trial, plan, RejectedRound);
}

constexpr uint32_t kVersioned = DLBRIDGE_CONFORMANCE_VERSIONED;
constexpr uint32_t kStrides = DLBRIDGE_CONFORMANCE_STRIDES;

const Entry kEntries[] = {
    {"consumes-legacy", DLBRIDGE_CONFORMANCE_LEGACY, ConsumesLegacy},
    {"consumes-versioned", kVersioned, ConsumesVersioned},
    {"deleter-once", 0, DeleterOnce},
    {"deleter-null", DLBRIDGE_CONFORMANCE_NULL_DELETER, DeleterNull},
    {"deleter-on-thread", 0, DeleterOnThread},
    {"version-major-2", kVersioned, VersionMajor2},
    {"version-major-0", kVersioned, VersionMajor0},
    {"version-minor", kVersioned, VersionMinor},
    {"flags-unknown", kVersioned, FlagsUnknown},
    {"flags-read-only", kVersioned, FlagsReadOnly},
    {"layout-plain", 0, LayoutPlain},
    {"layout-transposed", kStrides, LayoutTransposed},
    {"layout-negative", kStrides | DLBRIDGE_CONFORMANCE_NEGATIVE_STRIDES, LayoutNegative},
    {"layout-broadcast", kStrides | DLBRIDGE_CONFORMANCE_ZERO_STRIDES, LayoutBroadcast},
    {"layout-gaps", kStrides, LayoutGaps},
    {"layout-byte-offset", DLBRIDGE_CONFORMANCE_BYTE_OFFSET, LayoutByteOffset},
    {"layout-null-strides", 0, LayoutNullStrides},
    {"layout-empty-null", DLBRIDGE_CONFORMANCE_EMPTY, LayoutEmptyNull},
    {"layout-empty", DLBRIDGE_CONFORMANCE_EMPTY, LayoutEmpty},
    {"layout-scalar", DLBRIDGE_CONFORMANCE_SCALAR, LayoutScalar},
    {"layout-scalar-null", DLBRIDGE_CONFORMANCE_SCALAR, LayoutScalarNull},
    {"layout-size-one", 0, LayoutSizeOne},
    {"layout-unaligned", DLBRIDGE_CONFORMANCE_UNALIGNED, LayoutUnaligned},
    {"import-padded", kVersioned | DLBRIDGE_CONFORMANCE_PADDED, ImportPadded},
    {"struct-unchanged", 0, StructUnchanged},
    {"consumer-shares", DLBRIDGE_CONFORMANCE_SHARING, ConsumerShares},
    {"consumer-stays", 0, ConsumerStays},
    {"immutable-stays", kVersioned | DLBRIDGE_CONFORMANCE_READ_ONLY, ImmutableStaysIfWritten},
    {"consumer-leak", 0, ConsumerLeak},
    {"rejected-leak", 0, RejectedLeak},
};

}  // namespace

bool RunConsumerCheck(Trial* trial) {
  return RunEntry(trial, kEntries, sizeof kEntries / sizeof *kEntries) || ImportDtype(trial);
}

}  // namespace dlbridge_conformance
