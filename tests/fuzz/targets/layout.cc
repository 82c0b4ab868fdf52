// SPDX-License-Identifier: Apache-2.0
// dlbridge_layout, dlbridge_validate* and dlbridge_diagnose against a model in 128 bits, on tensors
// of any content and on real memory, of which each element is touched.
#include <algorithm>
#include <vector>

#include "fuzz/model/policy.h"
#include "fuzz/model/rules.h"
#include "fuzz/support/error.h"

namespace dlbridge_fuzz {
namespace {

GuardedMemory& Memory() {
  static GuardedMemory memory;
  return memory;
}

// ------------------------------------------------------------------------------ tensors

void TakeAxes(Input* input, ModelTensor* tensor) {
  const uint8_t way = input->Byte();
  tensor->ndim = way < 250 ? way % 7 : input->Pick({-1, INT32_MIN, 63, 64, 65, INT32_MAX});
  const auto axes = static_cast<size_t>(tensor->ndim > 0 && tensor->ndim <= 64 ? tensor->ndim : 0);
  const uint8_t kind = input->Byte();
  Wide product = 1;
  tensor->shape.resize(axes);
  tensor->strides.resize(axes);
  for (size_t i = axes; i-- > 0;) {
    tensor->shape[i] = kind % 4 == 3 ? input->Number() : input->Below(6);
    // Compact strides, strides near them, or anything.
    const auto compact = static_cast<int64_t>(product);
    tensor->strides[i] = kind % 8 < 2 || input->OneIn(3) ? compact : input->Number();
    product *= std::max<int64_t>(1, tensor->shape[i]);
    product = product > kLargest ? 1 : product;
  }
  if (kind % 8 == 5) {
    std::reverse(tensor->strides.begin(), tensor->strides.end());
  }
}

ModelTensor TakeTensor(Input* input) {
  ModelTensor tensor;
  TakeAxes(input, &tensor);
  tensor.dtype = TakeDtype(input);
  TakeDevice(input, &tensor.type, &tensor.id);
  tensor.flags = TakeFlags(input);
  const uint8_t pointers = input->Byte();
  tensor.has_shape = pointers % 32 != 31;
  tensor.has_strides = pointers % 4 != 3;
  const uint8_t data = input->Byte();
  tensor.data = data < 16 ? 0 : (data < 128 ? 0x7f0000001000U + data : uint64_t{1} << (data % 64));
  if (data >= 248) {
    tensor.data = 0 - (uint64_t{data} - 247);
  }
  tensor.byte_offset = input->OneIn(4) ? static_cast<uint64_t>(input->Number()) : input->Byte() % 4;
  tensor.major = input->OneIn(24) ? input->Pick<uint32_t>({0, 2, UINT32_MAX}) : 1;
  tensor.minor = input->Pick<uint32_t>({3, 0, 1, 2, 4, UINT32_MAX});
  return tensor;
}

// Gives a small valid tensor memory that it covers from its first to its last byte.
bool GiveMemory(ModelTensor* tensor) {
  if (tensor->ndim < 0 || tensor->ndim > 64 || !tensor->has_shape || tensor->dtype.lanes == 0 ||
      tensor->dtype.bits == 0) {
    return false;
  }
  const ModelLayout layout = LayoutOf(*tensor);
  const Wide size = layout.end - layout.begin;
  if (layout.negative || layout.too_many || layout.empty || size > 4096 || layout.count > 4096) {
    return false;
  }
  uint8_t* block = Memory().Take(static_cast<size_t>(size));
  tensor->type = 1;
  // 2^64 wraps: byte_offset may lead from an address far before the block to its start.
  tensor->data = reinterpret_cast<uintptr_t>(block) - static_cast<uint64_t>(layout.begin);
  tensor->byte_offset %= 4096;
  tensor->data -= tensor->byte_offset;
  return true;
}

// The structs of a tensor in guarded memory.
struct Placed {
  DLTensor* borrowed;
  DLManagedTensor* legacy;
  DLManagedTensorVersioned* versioned;
  DLTensor tensor;
};

Placed Place(const ModelTensor& model, bool readable_arrays) {
  DLTensor tensor = {};
  tensor.data = reinterpret_cast<void*>(model.data);
  tensor.device = ToDevice(model.type, model.id);
  tensor.ndim = model.ndim;
  tensor.dtype = model.dtype;
  tensor.byte_offset = model.byte_offset;
  // One array that ends at an unreadable page; the pointer is to that page if nothing may be read.
  const size_t axes = model.shape.size();
  for (const bool is_shape : {true, false}) {
    const std::vector<int64_t>& entries = is_shape ? model.shape : model.strides;
    auto* array = Memory().Take<int64_t>(axes);
    std::copy(entries.begin(), entries.end(), array);
    array = readable_arrays ? array : array + axes;
    if (is_shape ? model.has_shape : model.has_strides) {
      (is_shape ? tensor.shape : tensor.strides) = array;
    }
  }
  DLManagedTensor legacy = {};
  legacy.dl_tensor = tensor;
  DLManagedTensorVersioned versioned = {};
  versioned.version = {model.major, model.minor};
  versioned.flags = model.flags;
  versioned.dl_tensor = tensor;
  // Of another major only the version may be read.
  const size_t size = model.major == 1 ? sizeof versioned : sizeof versioned.version;
  return {Memory().Copy(tensor), Memory().Copy(legacy), Memory().Copy(versioned, size), tensor};
}

// ------------------------------------------------------------------------------- layout

struct Touched {
  Wide begin = 0;
  Wide end = 0;
};

// Writes each whole byte of each element in real memory.
Touched Touch(const ModelTensor& tensor, const ModelLayout& layout) {
  const Wide bits = static_cast<Wide>(ItemBits(tensor.dtype, tensor.flags));
  Touched touched;
  bool first = true;
  ForEachElement(tensor, layout, [&](Wide offset) {
    const Wide begin = FloorDivide(offset * bits, 8);
    const Wide end = CeilDivide((offset + 1) * bits, 8);
    touched.begin = first ? begin : std::min(touched.begin, begin);
    touched.end = first ? end : std::max(touched.end, end);
    first = false;
    for (Wide at = begin; at < end; ++at) {
      auto* byte = reinterpret_cast<volatile uint8_t*>(tensor.data + tensor.byte_offset +
                                                       static_cast<uint64_t>(at));
      *byte = static_cast<uint8_t>(*byte + 1);
    }
  });
  return touched;
}

bool HasLayout(const ModelTensor& tensor) {
  return tensor.ndim >= 0 && tensor.ndim <= 64 && tensor.dtype.bits != 0 &&
         tensor.dtype.lanes != 0 &&
         (DemandedBits(tensor.dtype.code) == 0 ||
          DemandedBits(tensor.dtype.code) == tensor.dtype.bits) &&
         (tensor.ndim == 0 || tensor.has_shape);
}

uint32_t Properties(const ModelTensor& tensor, const ModelLayout& layout) {
  uint32_t properties = layout.empty ? DLBRIDGE_LAYOUT_EMPTY : 0;
  properties |= IsContiguous(tensor, layout, true) ? DLBRIDGE_LAYOUT_C_CONTIGUOUS : 0;
  properties |= IsContiguous(tensor, layout, false) ? DLBRIDGE_LAYOUT_F_CONTIGUOUS : 0;
  for (size_t i = 0; i < tensor.shape.size() && !layout.empty; ++i) {
    if (tensor.shape[i] > 1 && layout.strides[i] == 0) {
      properties |= DLBRIDGE_LAYOUT_BROADCAST;
    }
    if (tensor.shape[i] > 1 && layout.strides[i] < 0) {
      properties |= DLBRIDGE_LAYOUT_NEGATIVE_STRIDES;
    }
  }
  const bool pads = ItemBits(tensor.dtype, tensor.flags) != ItemBits(tensor.dtype, 0);
  properties |= pads ? DLBRIDGE_LAYOUT_PADDED : 0;
  return properties | (IsHandle(tensor.type) ? DLBRIDGE_LAYOUT_OPAQUE : 0);
}

void CheckSigns(const ModelTensor& tensor, const ModelLayout& layout, const DLBridgeLayout& out) {
  uint64_t zero = 0;
  uint64_t negative = 0;
  for (size_t i = 0; i < tensor.shape.size() && !layout.empty; ++i) {
    const uint64_t bit = tensor.shape[i] > 1 ? uint64_t{1} << i : 0;
    zero |= layout.strides[i] == 0 ? bit : 0;
    negative |= layout.strides[i] < 0 ? bit : 0;
  }
  CheckEqual("broadcast_axes", zero, out.broadcast_axes);
  CheckEqual("negative_axes", negative, out.negative_axes);
}

void CheckLayout(const ModelTensor& tensor, const DLBridgeLayout& out, bool real) {
  const ModelLayout layout = LayoutOf(tensor);
  Check("a tensor with a layout", HasLayout(tensor) && !layout.negative && !layout.too_many &&
                                      !layout.too_large && !layout.too_far);
  CheckEqual("ndim", tensor.ndim, out.ndim);
  CheckEqual("item_bits", ItemBits(tensor.dtype, tensor.flags), uint64_t{out.item_bits});
  CheckEqual("element_count", static_cast<int64_t>(layout.count), out.element_count);
  CheckEqual("packed_bytes", static_cast<int64_t>(layout.packed), out.packed_bytes);
  CheckEqual("begin", static_cast<int64_t>(layout.begin), out.begin);
  CheckEqual("end", static_cast<int64_t>(layout.end), out.end);
  CheckEqual("alignment", AlignmentOf(tensor), out.alignment);
  CheckEqual("properties", Properties(tensor, layout), out.properties);
  CheckSigns(tensor, layout, out);
  const DLBridgeAnswer overlap = OverlapOf(tensor, layout);
  if (overlap != DLBRIDGE_UNDECIDED &&
      (out.self_overlap != DLBRIDGE_UNDECIDED || !MayGiveUp(tensor, layout))) {
    CheckEqual("self_overlap", overlap, out.self_overlap);
  }
  if (real) {
    const Touched touched = Touch(tensor, layout);
    CheckEqual("first byte touched", static_cast<int64_t>(touched.begin), out.begin);
    CheckEqual("end of the bytes touched", static_cast<int64_t>(touched.end), out.end);
  }
}

void TestLayout(Input* input, const ModelTensor& tensor, const Placed& placed, bool real) {
  const uint32_t known = sizeof(DLBridgeLayout);
  const uint32_t size =
      input->Pick<uint32_t>({known, known, known, known, 0, 8, known - 8, known + 16, 4096, 4097});
  const uint32_t room = size < 8 || size > 4096 ? 8 : size;
  uint8_t* out = Memory().Take(room, 8);
  std::memset(out, 0x5a, room);
  const uint32_t options = input->OneIn(16) ? 1U << (input->Byte() % 32) : 0;
  std::memcpy(out, &size, sizeof size);
  std::memcpy(out + 4, &options, sizeof options);
  const std::vector<uint8_t> before(out, out + room);
  DLBridgeError* error = NewError(&Memory());
  const DLBridgeStatus status =
      dlbridge_layout(placed.borrowed, tensor.flags, reinterpret_cast<DLBridgeLayout*>(out), error);
  CheckError(status, error);
  if (size < known || size > 4096 || options != 0) {
    Check("a wrong struct is rejected",
          status == DLBRIDGE_ERROR_INVALID_ARGUMENT || status == DLBRIDGE_ERROR_TOO_NEW);
  } else if (status == DLBRIDGE_OK) {
    DLBridgeLayout layout;
    std::memcpy(&layout, out, sizeof layout);
    CheckEqual("struct_size out", known, layout.struct_size);
    CheckEqual("bytes after the known ones are untouched", 0,
               std::memcmp(out + known, before.data() + known, room - known));
    CheckLayout(tensor, layout, real);
    return;
  } else if (HasLayout(tensor)) {
    const ModelLayout layout = LayoutOf(tensor);
    Check("a tensor without a layout", layout.negative || layout.too_many || layout.too_large ||
                                           layout.too_far || layout.far_in_elements ||
                                           layout.at_limit);
  }
  CheckEqual("a failing call writes nothing", 0, std::memcmp(out, before.data(), room));
}

// ------------------------------------------------------------------- validate, diagnose

struct Asked {
  Verdict verdict;
  const DLBridgePolicy* policy;
  Statuses faults;  // of the policy
  bool other_major;
};

void CheckValidation(const char* what, const Asked& asked, DLBridgeStatus status,
                     const DLBridgeError* error) {
  CheckError(status, error);
  if (!asked.faults.empty()) {
    // The major of a versioned tensor may be checked before the policy.
    Statuses faults = asked.faults;
    if (asked.other_major) {
      faults.insert(DLBRIDGE_ERROR_VERSION);
    }
    CheckStatus("a policy that is not legal", faults, status);
    return;
  }
  if (status == DLBRIDGE_OK) {
    if (!asked.verdict.valid()) {
      const Verdict& v = asked.verdict;
      const Broken& first = !v.early.empty() ? v.early[0] : (!v.stop.empty() ? v.stop : v.late)[0];
      Fail(what, dlbridge_rule_name(first.rule), "OK");
    }
    return;
  }
  if (!asked.verdict.MayReport({error->rule, error->axis})) {
    Fail(what, asked.verdict.valid() ? "OK" : "another rule",
         std::string(dlbridge_rule_name(error->rule)) + " on axis " + Text(error->axis));
  }
  CheckEqual(what, StatusOf(error->rule), status);
}

// Each finding is one of the model's, and those of the model that can be seen are there.
void CheckFindings(const Asked& asked, const DLBridgeFinding* findings, size_t count) {
  const Verdict& v = asked.verdict;
  Findings broken;
  Findings notes;
  for (size_t i = 0; i < count; ++i) {
    const DLBridgeFinding& one = findings[i];
    const bool is_broken = one.severity == DLBRIDGE_SEVERITY_BROKEN;
    CheckEqual("status of a finding", is_broken ? StatusOf(one.rule) : DLBRIDGE_OK, one.status);
    Check("texts end with NUL", std::memchr(one.expected, 0, sizeof one.expected) != nullptr &&
                                    std::memchr(one.found, 0, sizeof one.found) != nullptr);
    const Broken finding = {one.rule, one.axis};
    Findings* list = is_broken ? &broken : &notes;
    if (Contains(*list, finding)) {
      Fail("a finding", "each once", dlbridge_rule_name(one.rule));
    }
    const bool expected = is_broken ? v.MayReport(finding)
                                    : Contains(v.notes, finding) || Contains(v.may_note, finding);
    if (!expected) {
      Fail(is_broken ? "a broken rule" : "a note", "none",
           std::string(dlbridge_rule_name(one.rule)) + " on axis " + Text(one.axis));
    }
    list->push_back(finding);
  }
  const auto demand = [](const Findings& expected, const Findings& found) {
    for (const Broken& one : expected) {
      if (!Contains(found, one)) {
        Fail("diagnose", std::string(dlbridge_rule_name(one.rule)) + " on axis " + Text(one.axis),
             "no such finding");
      }
    }
  };
  demand(v.early, broken);
  if (!v.stop.empty()) {
    Check("the last finding is the one that stops",
          count != 0 && Contains(v.stop, {findings[count - 1].rule, findings[count - 1].axis}));
    return;
  }
  // Offsets at the limit may also stop.
  if (v.may.empty()) {
    demand(v.late, broken);
    demand(v.notes, notes);
  }
}

void TestDiagnose(Input* input, const void* tensor, DLBridgeKind kind, uint64_t flags,
                  const Asked& asked, DLBridgeStatus validated, const DLBridgeError* first) {
  constexpr size_t kMost = 48;
  const size_t capacity = input->OneIn(4) ? input->Below(4) : kMost;
  auto* findings = Memory().Take<DLBridgeFinding>(capacity);
  size_t count = 99;
  DLBridgeError* error = NewError(&Memory());
  const DLBridgeStatus status =
      dlbridge_diagnose(tensor, kind, flags, asked.policy, capacity != 0 ? findings : nullptr,
                        capacity, &count, error);
  CheckError(status, error);
  if (!asked.faults.empty()) {
    CheckStatus("a policy that is not legal", asked.faults, status);
    CheckEqual("count after a failure", size_t{99}, count);
    return;
  }
  CheckEqual("status of diagnose", DLBRIDGE_OK, status);
  const DLBridgeFinding* end = findings + std::min(capacity, count);
  const DLBridgeFinding* broken = std::find_if(
      findings, static_cast<DLBridgeFinding*>(const_cast<DLBridgeFinding*>(end)),
      [](const DLBridgeFinding& one) { return one.severity == DLBRIDGE_SEVERITY_BROKEN; });
  if (broken != end) {
    Check("validate rejects what diagnose finds broken", validated != DLBRIDGE_OK);
    CheckEqual("validate's rule is diagnose's first", broken->rule, first->rule);
    CheckEqual("validate's axis is diagnose's first", broken->axis, first->axis);
  } else if (count <= capacity) {
    CheckEqual("validate accepts what diagnose finds valid", DLBRIDGE_OK, validated);
  }
  if (count <= capacity) {
    CheckFindings(asked, findings, count);
  }
}

void TestKind(Input* input, ModelTensor tensor, DLBridgeKind kind, const Placed& placed,
              const DLBridgePolicy* policy) {
  tensor.versioned = kind == DLBRIDGE_KIND_VERSIONED;
  tensor.flags = kind == DLBRIDGE_KIND_LEGACY ? 0 : tensor.flags;
  const uint64_t flags = kind == DLBRIDGE_KIND_BORROWED ? tensor.flags : 0;
  const DLBridgePolicy by_default = DLBRIDGE_POLICY_INIT;
  Asked asked = {{},
                 policy,
                 policy != nullptr ? PolicyFaults(policy) : Statuses(),
                 tensor.versioned && tensor.major != 1};
  if (asked.faults.empty()) {
    asked.verdict = Judge(tensor, policy != nullptr ? *policy : by_default).Decide();
  }
  DLBridgeError* error = NewError(&Memory());
  DLBridgeStatus status = DLBRIDGE_OK;
  const void* object = placed.borrowed;
  if (kind == DLBRIDGE_KIND_LEGACY) {
    object = placed.legacy;
    status = dlbridge_validate_legacy(placed.legacy, policy, error);
    CheckValidation("dlbridge_validate_legacy", asked, status, error);
  } else if (kind == DLBRIDGE_KIND_VERSIONED) {
    object = placed.versioned;
    status = dlbridge_validate_versioned(placed.versioned, policy, error);
    CheckValidation("dlbridge_validate_versioned", asked, status, error);
  } else {
    status = dlbridge_validate(placed.borrowed, flags, policy, error);
    CheckValidation("dlbridge_validate", asked, status, error);
  }
  TestDiagnose(input, object, kind, flags, asked, status, error);
}

// Level DEVICE asks drivers about all memory but the CPU's.
bool MayStartDriver(const ModelTensor& tensor, const DLBridgePolicy* policy) {
  return policy != nullptr && policy->struct_size >= sizeof *policy &&
         policy->struct_size <= 4096 && policy->level == DLBRIDGE_LEVEL_DEVICE && tensor.type != 1;
}

void Run(Input* input) {
  ModelTensor tensor = TakeTensor(input);
  const bool real = input->Byte() % 4 != 0 && GiveMemory(&tensor);
  const DLBridgePolicy* policy = input->OneIn(4) ? nullptr : TakePolicy(input, &Memory());
  const bool only_struct = policy != nullptr && policy->struct_size == sizeof *policy &&
                           policy->level == DLBRIDGE_LEVEL_STRUCT;
  const Placed placed = Place(tensor, !only_struct);
  if (!MayStartDriver(tensor, policy)) {
    TestKind(input, tensor, DLBRIDGE_KIND_BORROWED, placed, policy);
    TestKind(input, tensor, DLBRIDGE_KIND_LEGACY, placed, policy);
    TestKind(input, tensor, DLBRIDGE_KIND_VERSIONED, placed, policy);
  }
  if (!only_struct) {
    TestLayout(input, tensor, placed, real);
  }
  CheckEqual("the tensor is only read", 0,
             std::memcmp(placed.borrowed, &placed.tensor, sizeof placed.tensor));
  for (size_t i = 0; i < tensor.shape.size() && !only_struct; ++i) {
    Check("the arrays are only read",
          (!tensor.has_shape || placed.tensor.shape[i] == tensor.shape[i]) &&
              (!tensor.has_strides || placed.tensor.strides[i] == tensor.strides[i]));
  }
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::Run(&input);
  dlbridge_fuzz::Memory().Reset();
  return 0;
}
