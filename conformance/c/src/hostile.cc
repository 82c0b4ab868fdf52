// SPDX-License-Identifier: Apache-2.0
// Broken tensors from the corpus.
#include "offered.h"
#include "trial.h"

namespace dlbridge_conformance {
namespace {

const Hostile* FindHostile(const char* name) {
  for (size_t i = 0; i < kHostileCount; ++i) {
    if (strcmp(kHostile[i].name, name) == 0) {
      return &kHostile[i];
    }
  }
  return nullptr;
}

Plan PlanOf(const Trial& trial, const Hostile& hostile) {
  // Enough for the shape [2, 3] of float32, which most of the broken tensors claim or started from.
  Plan plan = dlbridge_conformance::PlanOf(Float32());
  const bool cpu = hostile.device_type == kDLCPU && hostile.device_id == 0;
  plan.kind = hostile.kind;
  plan.version = hostile.version;
  plan.flags = hostile.flags;
  plan.dtype = hostile.dtype;
  plan.device = cpu ? trial.project.device
                    : DLDevice{static_cast<DLDeviceType>(hostile.device_type), hostile.device_id};
  plan.ndim = hostile.ndim;
  plan.shape = hostile.shape;
  plan.shape_count = hostile.shape_count;
  plan.strides = hostile.strides;
  plan.strides_count = hostile.strides_count;
  plan.byte_offset = hostile.byte_offset;
  if (hostile.null_data) {
    plan.memory = nullptr;
  }
  return plan;
}

// Whatever an accepted tensor is, reading it must be safe. The values mean nothing.
void Touch(Trial* trial, void* array) {
  Region* out = NewRegion("the buffer for values", 64, Side::kEnd);
  Message message;
  size_t written = 0;
  if (out != nullptr) {
    trial->project.read(trial->project.user, array, out->start, out->size, &written, message.text);
    FreeRegion(out);
  }
}

}  // namespace

bool RunHostileCheck(Trial* trial) {
  const Hostile* hostile = FindHostile(trial->check.name);
  if (hostile == nullptr) {
    return false;
  }
  const uint32_t feature = hostile->kind == DLBRIDGE_KIND_LEGACY ? DLBRIDGE_CONFORMANCE_LEGACY
                                                                 : DLBRIDGE_CONFORMANCE_VERSIONED;
  if (!HasFeatures(trial, feature)) {
    return true;
  }
  Plan plan = PlanOf(*trial, *hostile);
  plan.features = feature;
  Offered offered;
  void* array = nullptr;
  const Rejection rejection = hostile->must_reject ? Rejection::kRequired : Rejection::kAllowed;
  if (!MakeOffered(plan, trial->isolated, &offered)) {
    trial->Fail(0, Say("memory for the check"), Say("none"));
  } else if (Consume(trial, &offered, rejection, &array)) {
    if (array != nullptr) {
      Touch(trial, array);
    }
    Finish(trial, &offered, array);
  }
  return true;
}

}  // namespace dlbridge_conformance
