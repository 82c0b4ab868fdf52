// SPDX-License-Identifier: Apache-2.0
#include "offered.h"

#include <initializer_list>

namespace dlbridge_conformance {
namespace {

const int64_t kShape[] = {2, 3};
const int64_t kStrides[] = {3, 1};

Offered* OwnerOf(void* context) { return static_cast<Offered*>(context); }

void CountDelete(Offered* offered, const void* self) {
  if (self != offered->tensor) {
    offered->wrong_self.fetch_add(1);
  }
  if (offered->deletes.fetch_add(1) == 0 && offered->seal) {
    for (Region* region : {offered->head, offered->shape, offered->strides, offered->memory}) {
      Protect(region, Access::kNone);
    }
  }
}

void DeleteLegacy(DLManagedTensor* self) { CountDelete(OwnerOf(self->manager_ctx), self); }

void DeleteVersioned(DLManagedTensorVersioned* self) {
  CountDelete(OwnerOf(self->manager_ctx), self);
}

// A copy of `count` numbers, or NULL if there are none to copy.
Region* CopyNumbers(const char* name, const int64_t* numbers, size_t count) {
  if (numbers == nullptr) {
    return nullptr;
  }
  Region* region = NewRegion(name, count * sizeof *numbers, Side::kEnd);
  if (region != nullptr && count > 0) {
    memcpy(region->start, numbers, count * sizeof *numbers);
  }
  return region;
}

void FillFields(const Plan& plan, const Offered& offered, DLTensor* out) {
  out->data = plan.memory == nullptr ? nullptr : offered.memory->start + plan.origin;
  out->device = plan.device;
  out->ndim = plan.ndim;
  out->dtype = plan.dtype;
  out->shape =
      offered.shape == nullptr ? nullptr : reinterpret_cast<int64_t*>(offered.shape->start);
  out->strides =
      offered.strides == nullptr ? nullptr : reinterpret_cast<int64_t*>(offered.strides->start);
  out->byte_offset = plan.byte_offset;
}

void FillVersioned(const Plan& plan, Offered* out) {
  DLManagedTensorVersioned whole;
  memset(&whole, 0, sizeof whole);
  whole.version = plan.version;
  whole.manager_ctx = out;
  whole.deleter = plan.has_deleter ? DeleteVersioned : nullptr;
  whole.flags = plan.flags;
  FillFields(plan, *out, &whole.dl_tensor);
  memcpy(out->head->start, &whole, out->head->size);
  auto* made = reinterpret_cast<DLManagedTensorVersioned*>(out->head->start);
  out->tensor = made;
  out->fields = plan.only_head ? nullptr : &made->dl_tensor;
}

void FillLegacy(const Plan& plan, Offered* out) {
  auto* made = reinterpret_cast<DLManagedTensor*>(out->head->start);
  FillFields(plan, *out, &made->dl_tensor);
  made->manager_ctx = out;
  made->deleter = plan.has_deleter ? DeleteLegacy : nullptr;
  out->tensor = made;
  out->fields = &made->dl_tensor;
}

size_t HeadBytes(const Plan& plan) {
  if (plan.kind == DLBRIDGE_KIND_LEGACY) {
    return sizeof(DLManagedTensor);
  }
  return plan.only_head ? offsetof(DLManagedTensorVersioned, dl_tensor)
                        : sizeof(DLManagedTensorVersioned);
}

bool Allocate(const Plan& plan, Offered* out) {
  out->head = NewRegion("the managed tensor", HeadBytes(plan), Side::kEnd);
  out->shape = CopyNumbers("the shape", plan.shape, plan.shape_count);
  out->strides = CopyNumbers("the strides", plan.strides, plan.strides_count);
  out->memory = plan.memory == nullptr ? nullptr : NewRegion("the data", plan.bytes, plan.side);
  return out->head != nullptr && (plan.shape == nullptr || out->shape != nullptr) &&
         (plan.strides == nullptr || out->strides != nullptr) &&
         (plan.memory == nullptr || out->memory != nullptr);
}

}  // namespace

bool MakeOffered(const Plan& plan, bool seal, Offered* out) {
  out->plan = plan;
  out->seal = seal;
  out->deletes.store(0);
  out->wrong_self.store(0);
  if (!Allocate(plan, out)) {
    FreeOffered(out);
    return false;
  }
  if (plan.memory != nullptr && plan.bytes > 0) {
    memcpy(out->memory->start, plan.memory, plan.bytes);
  }
  if (plan.kind == DLBRIDGE_KIND_LEGACY) {
    FillLegacy(plan, out);
  } else {
    FillVersioned(plan, out);
  }
  if (plan.read_only_struct) {
    Protect(out->head, Access::kRead);
    Protect(out->shape, Access::kRead);
    Protect(out->strides, Access::kRead);
  }
  if (plan.read_only_memory) {
    Protect(out->memory, Access::kRead);
  }
  return true;
}

void FreeOffered(Offered* offered) {
  FreeRegion(offered->head);
  FreeRegion(offered->shape);
  FreeRegion(offered->strides);
  FreeRegion(offered->memory);
  offered->head = offered->shape = offered->strides = offered->memory = nullptr;
}

void CallOfferedDeleter(Offered* offered) {
  if (!offered->plan.has_deleter) {
    return;
  }
  if (offered->plan.kind == DLBRIDGE_KIND_LEGACY) {
    DeleteLegacy(static_cast<DLManagedTensor*>(offered->tensor));
  } else {
    DeleteVersioned(static_cast<DLManagedTensorVersioned*>(offered->tensor));
  }
}

namespace {

// Longer memory is left out: a report must stay short.
constexpr size_t kShownBytes = 96;

void ReproduceMemory(const Plan& plan, Snippet* out) {
  const auto* content = static_cast<const unsigned char*>(plan.memory);
  out->Add("static unsigned char memory[%zu]", plan.bytes == 0 ? 1 : plan.bytes);
  if (plan.bytes > 0 && plan.bytes <= kShownBytes) {
    for (size_t i = 0; i < plan.bytes; ++i) {
      out->Add("%s0x%02x", i == 0 ? " = {\n    " : i % 12 == 0 ? ",\n    " : ", ", content[i]);
    }
    out->Add("}");
  }
  out->Add(";\n");
}

void ReproduceArray(const char* name, const int64_t* numbers, size_t count, Snippet* out) {
  if (numbers != nullptr && count > 0) {
    out->Add("int64_t %s[] = %s;\n", name, Numbers(numbers, static_cast<int64_t>(count)).text);
  }
}

}  // namespace

void Reproduce(const Plan& plan, Snippet* out) {
  const bool versioned = plan.kind != DLBRIDGE_KIND_LEGACY;
  if (plan.memory != nullptr) {
    ReproduceMemory(plan, out);
  }
  ReproduceArray("shape", plan.shape, plan.shape_count, out);
  ReproduceArray("strides", plan.strides, plan.strides_count, out);
  out->Add("%s t = {0};\n", versioned ? "DLManagedTensorVersioned" : "DLManagedTensor");
  if (versioned) {
    out->Add("t.version = (DLPackVersion){%u, %u};\nt.flags = %lluu;\n", plan.version.major,
             plan.version.minor, static_cast<unsigned long long>(plan.flags));
  }
  if (plan.has_deleter) {
    out->Add("t.deleter = count_and_free; /* a function that counts its calls */\n");
  }
  if (plan.only_head) {
    out->Add("/* nothing after t.flags is readable */\n");
    return;
  }
  out->Add("t.dl_tensor = (DLTensor){");
  if (plan.memory == nullptr) {
    out->Add("NULL, ");
  } else {
    out->Add("memory + %zu, ", plan.origin);
  }
  out->Add("{%d, %d}, %d, {%u, %u, %u}, %s, %s, %lluu};\n", plan.device.device_type,
           plan.device.device_id, plan.ndim, plan.dtype.code, plan.dtype.bits, plan.dtype.lanes,
           plan.shape == nullptr ? "NULL" : "shape", plan.strides == nullptr ? "NULL" : "strides",
           static_cast<unsigned long long>(plan.byte_offset));
}

Plan PlanOf(const Sample& sample) {
  Plan plan;
  plan.dtype = sample.dtype;
  plan.shape = kShape;
  plan.strides = kStrides;
  plan.shape_count = plan.strides_count = 2;
  plan.memory = sample.values;
  plan.bytes = sample.bytes;
  return plan;
}

}  // namespace dlbridge_conformance
