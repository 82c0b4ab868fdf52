// SPDX-License-Identifier: Apache-2.0
// Checks of exported tensors.
#include "thread.h"
#include "trial.h"

namespace dlbridge_conformance {
namespace {

// Makes the tensor, runs `check` on it, and drops it.
void With(Trial* trial, const Wanted& wanted, bool (*check)(Trial*, const Wanted&, const Made&)) {
  Made made;
  if (!Make(trial, wanted, &made) || made.tensor == nullptr) {
    return;
  }
  if (check(trial, wanted, made)) {
    Drop(trial, made);
  }
}

// ------------------------------------------------------------------------------------ the structs

const int64_t kTransposed[] = {1, 2};

// Each kind of array that the project has: plain, transposed, empty, scalar, legacy.
size_t EveryArray(const Trial& trial, Wanted* out) {
  const DLBridgeConformanceProject& project = trial.project;
  const uint32_t missing = project.unsupported | project.producer_unsupported;
  size_t count = 0;
  out[count++] = Wanted();
  if ((missing & DLBRIDGE_CONFORMANCE_LEGACY) == 0) {
    out[count++].kind = DLBRIDGE_KIND_LEGACY;
  }
  if ((missing & DLBRIDGE_CONFORMANCE_STRIDES) == 0) {
    out[count].features = DLBRIDGE_CONFORMANCE_STRIDES;
    out[count].may_reject = true;
    out[count++].strides = kTransposed;
  }
  if ((missing & DLBRIDGE_CONFORMANCE_EMPTY) == 0) {
    out[count].features = DLBRIDGE_CONFORMANCE_EMPTY;
    out[count].values = "";
    out[count].may_reject = true;
    out[count++].shape[0] = 0;
  }
  if ((missing & DLBRIDGE_CONFORMANCE_SCALAR) == 0) {
    out[count].features = DLBRIDGE_CONFORMANCE_SCALAR;
    out[count].values = Float32().values;
    out[count].bytes = 4;
    out[count].may_reject = true;
    out[count++].ndim = 0;
  }
  return count;
}

void ForEveryArray(Trial* trial, bool (*check)(Trial*, const Wanted&, const Made&)) {
  Wanted wanted[5];
  const size_t count = EveryArray(*trial, wanted);
  for (size_t i = 0; i < count && trial->outcome == DLBRIDGE_CONFORMANCE_PASSED; ++i) {
    With(trial, wanted[i], check);
  }
}

bool IsValid(Trial* trial, const Wanted&, const Made& made) {
  DLBridgePolicy policy = dlbridge_policy_init();
  DLBridgeFinding findings[8];
  size_t count = 0;
  DLBridgeError error;
  const DLBridgeStatus status =
      dlbridge_diagnose(made.out.tensor, made.out.kind, 0, &policy, findings, 8, &count, &error);
  if (status != DLBRIDGE_OK) {
    return trial->Fail(0, Say("a tensor that can be read"), Say("%s", error.message));
  }
  for (size_t i = 0; i < count && i < 8; ++i) {
    // NULL strides have a check of their own.
    if (findings[i].severity == DLBRIDGE_SEVERITY_BROKEN &&
        findings[i].rule != DLBRIDGE_RULE_STRIDES_NULL) {
      return trial->Fail(0,
                         Say("%s: %s", dlbridge_rule_name(findings[i].rule), findings[i].expected),
                         Say("%s", findings[i].found));
    }
  }
  return true;
}

void StructValid(Trial* trial) { ForEveryArray(trial, IsValid); }

bool HasStrides(Trial* trial, const Wanted&, const Made& made) {
  const bool needed =
      made.out.kind == DLBRIDGE_KIND_VERSIONED && made.version.minor >= 2 && made.tensor->ndim > 0;
  return !needed || made.tensor->strides != nullptr ||
         trial->Fail(0, Say("strides"),
                     Say("NULL in a tensor of version %u.%u and ndim %d", made.version.major,
                         made.version.minor, made.tensor->ndim));
}

void StridesPresent(Trial* trial) { ForEveryArray(trial, HasStrides); }

bool HasLayout(Trial* trial, const Wanted& wanted, const Made& made) {
  if (!CheckShape(trial, wanted, made)) {
    return false;
  }
  const int64_t* strides = made.tensor->strides;
  if (wanted.strides != nullptr && strides == nullptr) {
    return trial->Fail(0, Say("strides %s", Numbers(wanted.strides, wanted.ndim).text),
                       Say("NULL"));
  }
  int64_t compact = 1;
  for (int32_t axis = wanted.ndim - 1; axis >= 0 && strides != nullptr; --axis) {
    const int64_t expected = wanted.strides != nullptr ? wanted.strides[axis] : compact;
    // Strides do not matter where no second element is.
    if (wanted.shape[axis] > 1 && wanted.shape[0] != 0 && strides[axis] != expected) {
      return trial->Fail(0, Say("stride %lld on axis %d", static_cast<long long>(expected), axis),
                         Say("%lld", static_cast<long long>(strides[axis])));
    }
    compact *= wanted.shape[axis];
  }
  return true;
}

void ShapeAndStrides(Trial* trial) { ForEveryArray(trial, HasLayout); }

bool HasValues(Trial* trial, const Wanted& wanted, const Made& made) {
  size_t bytes = 0;
  ValuesOf(wanted, &bytes);
  return bytes == 0 || CheckValues(trial, wanted, made);
}

// float32 {2, 3}, which has to work, and every other layout that the project has.
void Values(Trial* trial) { ForEveryArray(trial, HasValues); }

bool EmptyHasNoData(Trial* trial, const Wanted& wanted, const Made& made) {
  return CheckShape(trial, wanted, made) &&
         (made.tensor->data == nullptr ||
          trial->Fail(0, Say("data NULL in a tensor without elements"),
                      Say("%p", made.tensor->data)));
}

void Empty(Trial* trial) {
  Wanted wanted;
  wanted.features = DLBRIDGE_CONFORMANCE_EMPTY;
  wanted.values = "";
  wanted.shape[0] = 0;
  With(trial, wanted, EmptyHasNoData);
}

void Scalar(Trial* trial) {
  Wanted wanted;
  wanted.features = DLBRIDGE_CONFORMANCE_SCALAR;
  wanted.values = Float32().values;
  wanted.bytes = 4;
  wanted.ndim = 0;
  With(trial, wanted, CheckValues);
}

bool HasDevice(Trial* trial, const Wanted&, const Made& made) {
  const DLDevice device = trial->project.device;
  const DLDevice found = made.tensor->device;
  return (found.device_type == device.device_type && found.device_id == device.device_id) ||
         trial->Fail(0, Say("device {%d, %d}", device.device_type, device.device_id),
                     Say("{%d, %d}", found.device_type, found.device_id));
}

void DeviceId(Trial* trial) { ForEveryArray(trial, HasDevice); }

bool IsAligned(Trial* trial, const Wanted&, const Made& made) {
  const uint64_t address =
      reinterpret_cast<uintptr_t>(made.tensor->data) + made.tensor->byte_offset;
  const size_t item = made.tensor->dtype.bits / 8;
  return made.tensor->data == nullptr || item == 0 || address % item == 0 ||
         trial->Fail(0, Say("an address that is a multiple of %zu", item),
                     Say("0x%llx", static_cast<unsigned long long>(address)));
}

void Alignment(Trial* trial) { ForEveryArray(trial, IsAligned); }

// ---------------------------------------------------------------------------------------- flags

bool IsReadOnly(Trial* trial, const Wanted& wanted, const Made& made) {
  return (made.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0
             ? CheckValues(trial, wanted, made)
             : trial->Fail(0, Say("flags with READ_ONLY for an immutable array"),
                           Say("%llu", static_cast<unsigned long long>(made.flags)));
}

void ReadOnlyFlag(Trial* trial) {
  Wanted wanted;
  wanted.kind = DLBRIDGE_KIND_VERSIONED;
  wanted.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  wanted.features = DLBRIDGE_CONFORMANCE_READ_ONLY;
  wanted.may_reject = true;
  With(trial, wanted, IsReadOnly);
}

bool FlagIsClear(Trial* trial, const Made& made, uint64_t flag, const char* name) {
  return (made.flags & flag) == 0 ||
         trial->Fail(0, Say("flags without %s", name),
                     Say("%llu", static_cast<unsigned long long>(made.flags)));
}

bool IsWritable(Trial* trial, const Wanted&, const Made& made) {
  return FlagIsClear(trial, made, DLPACK_FLAG_BITMASK_READ_ONLY, "READ_ONLY");
}

bool IsNotCopied(Trial* trial, const Wanted&, const Made& made) {
  return FlagIsClear(trial, made, DLPACK_FLAG_BITMASK_IS_COPIED, "IS_COPIED");
}

bool HasKnownFlags(Trial* trial, const Wanted&, const Made& made) {
  return FlagIsClear(trial, made, ~uint64_t{7}, "bits that no DLPack release knows");
}

Wanted Versioned() {
  Wanted wanted;
  wanted.kind = DLBRIDGE_KIND_VERSIONED;
  return wanted;
}

void WritableFlag(Trial* trial) { With(trial, Versioned(), IsWritable); }
void NotCopied(Trial* trial) { With(trial, Versioned(), IsNotCopied); }
void FlagsKnown(Trial* trial) { With(trial, Versioned(), HasKnownFlags); }

// Overwrites the project's array, and expects the copy to stay.
bool IsCopy(Trial* trial, const Wanted& wanted, const Made& made) {
  if ((made.flags & DLPACK_FLAG_BITMASK_IS_COPIED) == 0) {
    return trial->Fail(0, Say("flags with IS_COPIED for a copy on request"),
                       Say("%llu", static_cast<unsigned long long>(made.flags)));
  }
  const unsigned char zeros[24] = {0};
  Message message;
  if (trial->project.write != nullptr && made.out.array != nullptr) {
    trial->project.write(trial->project.user, made.out.array, zeros, sizeof zeros, message.text);
  }
  return CheckValues(trial, wanted, made);
}

void CopyFlagged(Trial* trial) {
  Wanted wanted = Versioned();
  wanted.flags = DLPACK_FLAG_BITMASK_IS_COPIED;
  wanted.features = DLBRIDGE_CONFORMANCE_COPY;
  wanted.may_reject = true;
  With(trial, wanted, IsCopy);
}

// ---------------------------------------------------------------------------------------- dtypes

Wanted WantedDtype(const Sample& sample) {
  Wanted wanted;
  wanted.sample = &sample;
  wanted.may_reject = true;
  if (sample.dtype.bits < 8) {
    wanted.features = DLBRIDGE_CONFORMANCE_SUB_BYTE;
  }
  return wanted;
}

bool ExportDtype(Trial* trial) {
  const char* prefix = "export-";
  const Sample* sample = strncmp(trial->check.name, prefix, strlen(prefix)) == 0
                             ? FindSample(trial->check.name + strlen(prefix))
                             : nullptr;
  if (sample == nullptr) {
    return false;
  }
  const Wanted wanted = WantedDtype(*sample);
  if (HasFeatures(trial, wanted.features) && HasDtype(trial, sample->dtype)) {
    With(trial, wanted, CheckValues);
  }
  return true;
}

bool IsPadded(Trial* trial, const Wanted& wanted, const Made& made) {
  return (made.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0
             ? CheckValues(trial, wanted, made)
             : trial->Fail(0, Say("flags with IS_SUBBYTE_TYPE_PADDED"),
                           Say("%llu", static_cast<unsigned long long>(made.flags)));
}

void ExportPadded(Trial* trial) {
  const Sample& sample = *FindSample("float4-e2m1fn");
  unsigned char values[kSampleCount];
  Wanted wanted = WantedDtype(sample);
  wanted.kind = DLBRIDGE_KIND_VERSIONED;
  wanted.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  wanted.features = DLBRIDGE_CONFORMANCE_PADDED;
  wanted.values = values;
  wanted.bytes = Unpack(sample, values);
  if (HasDtype(trial, sample.dtype)) {
    With(trial, wanted, IsPadded);
  }
}

// ---------------------------------------------------------------------------------------- kinds

bool Anything(Trial*, const Wanted&, const Made&) { return true; }

void KindLegacy(Trial* trial) {
  Wanted wanted;
  wanted.kind = DLBRIDGE_KIND_LEGACY;
  wanted.may_reject = true;
  With(trial, wanted, Anything);
}

void KindVersioned(Trial* trial) { With(trial, Versioned(), Anything); }

// -------------------------------------------------------------------------------------- lifetime

bool RoundIsClean(Trial* trial) {
  Made made;
  if (!Make(trial, Wanted(), &made) || made.tensor == nullptr) {
    return false;
  }
  Drop(trial, made);
  return true;
}

void ProducerLeak(Trial* trial) { CheckLeak(trial, RoundIsClean); }

int64_t Live(Trial* trial) { return trial->project.live(trial->project.user); }

bool HasLive(Trial* trial) {
  return trial->project.live != nullptr || trial->Skip(Say("the project has no live callback"));
}

void DeleterReleases(Trial* trial) {
  Made made;
  if (!HasLive(trial)) {
    return;
  }
  const int64_t before = Live(trial);
  if (!Make(trial, Wanted(), &made) || made.tensor == nullptr) {
    return;
  }
  if (Live(trial) <= before) {
    trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER, Say("a live array while its tensor lives"),
                Say("no more than %lld before", static_cast<long long>(before)));
    return;
  }
  Drop(trial, made);
  if (Live(trial) != before) {
    trial->Fail(0, Say("%lld live arrays after the deleter", static_cast<long long>(before)),
                Say("%lld", static_cast<long long>(Live(trial))));
  }
}

// Reuses memory that was freed too early, so that its values change.
void Churn(Trial* trial) {
  const unsigned char other[24] = {0x5a};
  Wanted wanted;
  wanted.values = other;
  wanted.bytes = sizeof other;
  Made made[4];
  size_t count = 0;
  while (count < 4 && Make(trial, wanted, &made[count]) && made[count].tensor != nullptr) {
    ++count;
  }
  while (count > 0) {
    Drop(trial, made[--count]);
  }
}

void OutlivesProducer(Trial* trial) {
  Made made;
  if (!Make(trial, Wanted(), &made) || made.tensor == nullptr) {
    return;
  }
  Release(trial, made.out.array);
  Churn(trial);
  if (!trial->Failed() && CheckValues(trial, Wanted(), made)) {
    CallDeleter(made);
  }
}

void DeleterForeignThread(Trial* trial) {
  Made made;
  const int64_t before = trial->project.live == nullptr ? 0 : Live(trial);
  if (!Make(trial, Wanted(), &made) || made.tensor == nullptr) {
    return;
  }
  auto call = [](void* given) { CallDeleter(*static_cast<const Made*>(given)); };
  if (!RunOnThread(call, &made)) {
    trial->Skip(Say("no thread could be started"));
    return;
  }
  Release(trial, made.out.array);
  if (trial->project.live != nullptr && Live(trial) != before) {
    trial->Fail(0, Say("%lld live arrays after the deleter", static_cast<long long>(before)),
                Say("%lld", static_cast<long long>(Live(trial))));
  }
}

// --------------------------------------------------------------------------------------- sharing

bool CanWrite(Trial* trial, const Made& made) {
  const DLBridgeConformanceProject& project = trial->project;
  return (project.write != nullptr && project.read != nullptr && made.out.array != nullptr) ||
         trial->Skip(
             Say("the project has no write or read callback, or no array beside the tensor"));
}

const unsigned char kOther[24] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

bool ArraySeesTensor(Trial* trial, const Wanted& wanted, const Made& made) {
  if (!CanWrite(trial, made) || !CheckShape(trial, wanted, made)) {
    return false;
  }
  memcpy(static_cast<unsigned char*>(made.tensor->data) + made.tensor->byte_offset, kOther,
         sizeof kOther);
  return CheckArray(trial, made.out.array, kOther, sizeof kOther);
}

bool TensorSeesArray(Trial* trial, const Wanted& wanted, const Made& made) {
  if (!CanWrite(trial, made)) {
    return false;
  }
  Message message;
  const DLBridgeConformanceAnswer answer = trial->project.write(
      trial->project.user, made.out.array, kOther, sizeof kOther, message.text);
  if (answer != DLBRIDGE_CONFORMANCE_DONE) {
    return trial->Fail(0, Say("a writable array"),
                       Say("write answers %d: %s", answer, Quoted(message).text));
  }
  Wanted changed = wanted;
  changed.values = kOther;
  changed.bytes = sizeof kOther;
  return CheckValues(trial, changed, made);
}

void Shares(Trial* trial) { With(trial, Wanted(), ArraySeesTensor); }
void Seen(Trial* trial) { With(trial, Wanted(), TensorSeesArray); }

const Entry kEntries[] = {
    {"struct-valid", 0, StructValid},
    {"strides-present", DLBRIDGE_CONFORMANCE_VERSIONED, StridesPresent},
    {"shape-and-strides", 0, ShapeAndStrides},
    {"values", 0, Values},
    {"empty", DLBRIDGE_CONFORMANCE_EMPTY, Empty},
    {"scalar", DLBRIDGE_CONFORMANCE_SCALAR, Scalar},
    {"device-id", 0, DeviceId},
    {"alignment", 0, Alignment},
    {"read-only-flag", DLBRIDGE_CONFORMANCE_VERSIONED | DLBRIDGE_CONFORMANCE_READ_ONLY,
     ReadOnlyFlag},
    {"writable-flag", DLBRIDGE_CONFORMANCE_VERSIONED, WritableFlag},
    {"not-copied", DLBRIDGE_CONFORMANCE_VERSIONED, NotCopied},
    {"flags-known", DLBRIDGE_CONFORMANCE_VERSIONED, FlagsKnown},
    {"copy-flagged", DLBRIDGE_CONFORMANCE_VERSIONED | DLBRIDGE_CONFORMANCE_COPY, CopyFlagged},
    {"export-padded", DLBRIDGE_CONFORMANCE_VERSIONED | DLBRIDGE_CONFORMANCE_PADDED, ExportPadded},
    {"kind-legacy", DLBRIDGE_CONFORMANCE_LEGACY, KindLegacy},
    {"kind-versioned", DLBRIDGE_CONFORMANCE_VERSIONED, KindVersioned},
    {"producer-leak", 0, ProducerLeak},
    {"deleter-releases", 0, DeleterReleases},
    {"outlives-producer", 0, OutlivesProducer},
    {"deleter-foreign-thread", 0, DeleterForeignThread},
    {"shares", 0, Shares},
    {"seen", 0, Seen},
};

}  // namespace

bool RunProducerCheck(Trial* trial) {
  return RunEntry(trial, kEntries, sizeof kEntries / sizeof *kEntries) || ExportDtype(trial);
}

}  // namespace dlbridge_conformance
