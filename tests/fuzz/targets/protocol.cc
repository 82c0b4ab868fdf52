// SPDX-License-Identifier: Apache-2.0
// Programs of up to 40 calls of import, export, upgrade, upgrade_into, upgrade_many, downgrade,
// share, view and release, against a model of owners, flags, versions, callbacks and bytes.
#include <algorithm>
#include <memory>
#include <vector>

#include "fuzz/model/convert.h"
#include "fuzz/model/identify.h"
#include "fuzz/model/owners.h"
#include "fuzz/model/policy.h"
#include "fuzz/support/error.h"

namespace dlbridge_fuzz {
namespace {

GuardedMemory& Memory() {
  static GuardedMemory memory(1024);
  return memory;
}

// A foreign tensor, which the program made.
struct Source {
  size_t size = 0;  // of its struct
  bool has_deleter = true;
  int64_t* shape = nullptr;
  int64_t* strides = nullptr;
};

struct Block {
  void* memory;
  uint64_t bytes;
  uint64_t alignment;
};

// The version of codes that no release has, in a foreign legacy tensor.
constexpr uint32_t kAnyMinor = UINT32_MAX - 7;

struct Region {
  uint64_t begin;
  uint64_t end;
};

// ------------------------------------------------------------------- what the library calls back

struct Program;
Program* g_program = nullptr;

void DeleteLegacy(DLManagedTensor* self);
void DeleteVersioned(DLManagedTensorVersioned* self);
void ReleaseStorage(void* context, void* memory);
void* Allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,
               const DLBridgeStream* stream);
void* AllocateNothing(void* /*context*/, DLDevice /*device*/, uint64_t /*bytes*/,
                      uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
  return nullptr;
}
void Deallocate(void* context, DLDevice device, void* memory, uint64_t bytes, uint64_t alignment,
                const DLBridgeStream* stream);

void* Context(size_t index) { return reinterpret_cast<void*>(0x1000 + index); }
size_t IndexOf(const void* context) { return reinterpret_cast<uintptr_t>(context) - 0x1000; }

// ----------------------------------------------------------------------------------- the program

struct Call {
  const DLBridgeConvertOptions* options = nullptr;
  Request request;
  Statuses faults;  // of the arguments
};

enum class Function { kUpgrade, kInto, kMany, kImport, kExport, kDowngrade };

struct Program {
  Input* input;
  Owners owners;
  std::vector<Source> sources;
  std::vector<Block> blocks;
  std::vector<Region> regions;  // memory that may be read
  std::vector<void*> storages;
  std::vector<bool> returned;  // whether a storage has a release callback
  Events events;               // that happened
  Events expected;             // of the model

  explicit Program(Input* in) : input(in) {
    g_program = this;
    Trace().clear();
  }

  // ------------------------------------------------------------------------- picking tensors

  Owned& At(int index) { return owners.tensors[static_cast<size_t>(index)]; }

  std::vector<int> Live(bool versioned, bool legacy) {
    std::vector<int> found;
    for (size_t i = 0; i < owners.tensors.size(); ++i) {
      const Owned& one = owners.tensors[i];
      if (one.live && (one.tensor.versioned ? versioned : legacy)) {
        found.push_back(static_cast<int>(i));
      }
    }
    return found;
  }
  int PickLive(bool versioned, bool legacy) {
    const std::vector<int> found = Live(versioned, legacy);
    return found.empty() ? kNone : found[input->Below(found.size())];
  }

  // ------------------------------------------------------------------------- foreign tensors

  ModelTensor TakeTensor() {
    ModelTensor tensor;
    tensor.ndim = static_cast<int32_t>(input->Below(4));
    const bool compact = input->OneIn(2);
    Wide product = 1;
    tensor.shape.resize(static_cast<size_t>(tensor.ndim));
    tensor.strides.resize(static_cast<size_t>(tensor.ndim));
    for (size_t i = tensor.shape.size(); i-- > 0;) {
      tensor.shape[i] = static_cast<int64_t>(input->Below(5));
      tensor.strides[i] = compact ? static_cast<int64_t>(product) : input->Between(-6, 6);
      product *= std::max<int64_t>(1, tensor.shape[i]);
    }
    tensor.dtype = TakeDtype(input);
    TakeDevice(input, &tensor.type, &tensor.id);
    tensor.has_strides = !input->OneIn(4);
    tensor.flags = TakeFlags(input);
    tensor.byte_offset = input->OneIn(3) ? input->Byte() : 0;
    tensor.major = 1;
    tensor.minor = input->Pick<uint32_t>({3, 0, 1, 2, 4, 9});
    GiveMemory(&tensor);
    if (input->OneIn(3)) {
      Alter(&tensor);
    }
    return tensor;
  }

  // Memory that the tensor covers exactly.
  void GiveMemory(ModelTensor* tensor) {
    const ModelLayout layout = LayoutOf(*tensor);
    const Wide size = layout.end - layout.begin;
    tensor->data = 0x500000001000;
    if (layout.negative || layout.too_many || layout.empty || size > 2048 || size <= 0) {
      return;
    }
    uint8_t* block = Memory().Take(static_cast<size_t>(size));
    const auto begin = reinterpret_cast<uintptr_t>(block);
    regions.push_back({begin, begin + static_cast<uint64_t>(size)});
    tensor->data = begin - static_cast<uint64_t>(layout.begin) - tensor->byte_offset;
  }

  // Changes one field to any value.
  void Alter(ModelTensor* tensor) {
    const size_t axis = tensor->shape.empty() ? 0 : input->Below(tensor->shape.size());
    switch (input->Below(11)) {
      case 0:
        tensor->data = input->Pick<uint64_t>({0, 1, 0x1000, 0x100000001, ~uint64_t{0}});
        break;
      case 1:
        tensor->byte_offset = static_cast<uint64_t>(input->Number());
        break;
      case 2:
        tensor->ndim = input->Pick({-1, 65, INT32_MIN, INT32_MAX});
        tensor->shape.clear();
        tensor->strides.clear();
        break;
      case 3:
        tensor->has_shape = tensor->ndim == 0;
        break;
      case 4:
        tensor->major = input->Pick<uint32_t>({0, 2, 255, 256, UINT32_MAX});
        break;
      case 5:
        tensor->minor = input->Any<uint32_t>();
        break;
      case 6:
        tensor->dtype = {input->Byte(), input->Byte(), input->Any<uint16_t>()};
        break;
      case 7:
        tensor->type = input->Any<int32_t>();
        break;
      case 8:
        tensor->id = input->Any<int32_t>();
        break;
      case 9:
        tensor->flags = input->Any<uint64_t>();
        break;
      default:
        if (!tensor->shape.empty()) {
          (input->Flag() ? tensor->shape : tensor->strides)[axis] = input->Number();
        }
        break;
    }
  }

  int64_t* Array(const std::vector<int64_t>& entries) {
    auto* array = Memory().Take<int64_t>(entries.size());
    std::copy(entries.begin(), entries.end(), array);
    return array;
  }

  void MakeForeign(bool versioned) {
    Source source;
    Owned owned;
    ModelTensor& tensor = owned.tensor;
    tensor = TakeTensor();
    tensor.versioned = versioned;
    if (!versioned) {
      tensor.flags = 0;
      tensor.major = 0;
      tensor.minor = 0;
    }
    source.has_deleter = !input->OneIn(8);
    source.shape = Array(tensor.shape);
    source.strides = Array(tensor.strides);
    owned.source = static_cast<int>(sources.size());
    DLTensor fields = {};
    fields.data = reinterpret_cast<void*>(tensor.data);
    fields.device = ToDevice(tensor.type, tensor.id);
    fields.ndim = tensor.ndim;
    fields.dtype = tensor.dtype;
    fields.shape = tensor.has_shape ? source.shape : nullptr;
    fields.strides = tensor.has_strides ? source.strides : nullptr;
    fields.byte_offset = tensor.byte_offset;
    if (versioned) {
      DLManagedTensorVersioned object = {{tensor.major, tensor.minor},
                                         Context(sources.size()),
                                         source.has_deleter ? DeleteVersioned : nullptr,
                                         tensor.flags,
                                         fields};
      source.size = sizeof object;
      owned.object = Memory().Copy(object);
    } else {
      DLManagedTensor object = {fields, Context(sources.size()),
                                source.has_deleter ? DeleteLegacy : nullptr};
      source.size = sizeof object;
      owned.object = Memory().Copy(object);
    }
    Trace() += versioned ? "a foreign versioned tensor\n" : "a foreign legacy tensor\n";
    sources.push_back(source);
    owners.tensors.push_back(owned);
  }

  // The producer changes its arrays, which the library has copied.
  void Scribble() {
    for (Owned& one : owners.tensors) {
      if (one.is_foreign() && !one.live && !one.tensor.shape.empty() && IsAlive(one.source) &&
          input->Flag()) {
        const size_t axis = input->Below(one.tensor.shape.size());
        const int64_t value = input->Number();
        one.tensor.shape[axis] = value;
        sources[static_cast<size_t>(one.source)].shape[axis] = value;
      }
    }
  }
  // It changes another field, which the library has copied as well.
  void ScribbleField() {
    for (Owned& one : owners.tensors) {
      if (one.is_foreign() && !one.live && IsAlive(one.source) && input->Flag()) {
        return ChangeField(&one);
      }
    }
  }
  void ChangeField(Owned* one) {
    ModelTensor& t = one->tensor;
    auto* versioned = static_cast<DLManagedTensorVersioned*>(one->object);
    DLTensor& fields =
        t.versioned ? versioned->dl_tensor : static_cast<DLManagedTensor*>(one->object)->dl_tensor;
    switch (input->Below(t.versioned ? 6 : 5)) {
      case 0:
        t.data += 64;
        fields.data = reinterpret_cast<void*>(t.data);
        break;
      case 1:
        ++t.id;
        fields.device.device_id = t.id;
        break;
      case 2:
        t.dtype = TakeDtype(input);
        fields.dtype = t.dtype;
        break;
      case 3:
        t.byte_offset += 1;
        fields.byte_offset = t.byte_offset;
        break;
      case 4:
        if (t.ndim > 0) {
          fields.ndim = --t.ndim;
          t.shape.pop_back();
          t.strides.pop_back();
        }
        break;
      default:
        t.flags ^= kCopied;
        versioned->flags = t.flags;
    }
  }
  bool IsAlive(int source) {
    const Event deleted = {Event::Of::kSource, static_cast<size_t>(source)};
    return std::find(expected.begin(), expected.end(), deleted) == expected.end();
  }

  // --------------------------------------------------------------------------------- options

  Call TakeCall(Function function, uint64_t legacy_minor = 8) {
    Call call;
    Request& request = call.request;
    request.to_legacy = function == Function::kDowngrade;
    if (request.to_legacy) {
      request.reads = Release(0, legacy_minor);
    }
    if (input->OneIn(3)) {
      return call;
    }
    DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
    options.options = TakeBits();
    options.tensor_flags = input->OneIn(4) ? TakeFlags(input) : 0;
    if (input->OneIn(3)) {
      options.version = {input->Pick<uint32_t>({1, 1, 0, 2}),
                         input->Pick<uint32_t>({0, 1, 2, 3, 4, 8, 200, UINT32_MAX})};
    }
    if (input->OneIn(4)) {
      options.policy = TakePolicy(input, &Memory());
    }
    options.allocator = TakeAllocator(&call);
    Statuses size_faults;
    call.options = PlaceOptions(options, &size_faults);
    call.faults.insert(size_faults.begin(), size_faults.end());
    if (size_faults.empty()) {
      ReadOptions(options, function, &call);
    }
    return call;
  }

  uint32_t TakeBits() {
    uint32_t bits = uint32_t{input->Any<uint16_t>()} << 8;
    bits &= uint32_t{input->Any<uint16_t>()} << 8;
    bits &= uint32_t{input->Any<uint16_t>()} << 8 | DLBRIDGE_CONVERT_VOUCH_WRITABLE;
    // Bits 16 and 17 are reached by the other byte; asking the system's loader is slow.
    bits |= input->OneIn(4) ? DLBRIDGE_CONVERT_ALLOW_NEWER_CODES : 0;
    bits |= input->OneIn(64) ? DLBRIDGE_CONVERT_PIN_PRODUCER : 0;
    bits |= input->OneIn(48) ? uint32_t{1} << (input->Byte() % 32) : 0;
    return bits;
  }

  // Another struct_size than the current one in a few cases.
  DLBridgeConvertOptions* PlaceOptions(DLBridgeConvertOptions options, Statuses* faults) {
    DLBridgeConvertOptions* placed = nullptr;
    if (!input->OneIn(24)) {
      placed = Memory().Copy(options);
    } else {
      const uint32_t size = input->Pick<uint32_t>({4, 8, 32, 40, 48, 64, 4096, 4097, 0});
      const uint32_t room = size < 4 || size > 4096 ? 4 : size;
      uint8_t* bytes = Memory().Take(room, 8);
      std::memset(bytes, 0, room);
      options.struct_size = size;
      std::memcpy(bytes, &options, std::min<size_t>(room, sizeof options));
      if (room > sizeof options && input->Flag()) {
        bytes[room - 1] = 1;
      }
      placed = reinterpret_cast<DLBridgeConvertOptions*>(bytes);
    }
    AddSizeFaults(placed, sizeof options, faults);
    return placed;
  }

  const DLBridgeAllocator* TakeAllocator(Call* call) {
    const uint8_t way = input->Byte();
    if (way < 160) {
      return nullptr;
    }
    DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
    allocator.context = this;
    allocator.allocate = way < 224 ? Allocate : AllocateNothing;
    allocator.deallocate = Deallocate;
    call->request.most_bytes = way >= 224 ? 0 : Memory().largest() - 256;
    if (way >= 250) {
      call->faults.insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
      (way % 2 == 0 ? allocator.struct_size = 8 : 0);
      allocator.allocate = way % 2 == 0 ? allocator.allocate : nullptr;
    }
    return Memory().Copy(allocator);
  }

  void AddVersionFaults(Statuses* faults) {
    faults->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
    faults->insert(DLBRIDGE_ERROR_VERSION);
    faults->insert(DLBRIDGE_ERROR_TOO_NEW);
  }

  void ReadOptions(const DLBridgeConvertOptions& options, Function function, Call* call) {
    Request& request = call->request;
    const DLPackVersion version = options.version;
    request.bits = options.options;
    request.tensor_flags = options.tensor_flags;
    request.policy = options.policy;
    AddOptionFaults(options.options, 0x3ff00, &call->faults);
    if (options.policy != nullptr) {
      const Statuses faults = PolicyFaults(options.policy);
      call->faults.insert(faults.begin(), faults.end());
      if (request.Has(DLBRIDGE_CONVERT_SKIP_VALIDATION)) {
        call->faults.insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
      }
    }
    const bool set = version.major != 0 || version.minor != 0;
    if (function == Function::kExport) {
      if (set) {
        AddVersionFaults(&call->faults);
      }
      return;  // the target decides
    }
    if (set && version.major != (request.to_legacy ? 0U : 1U)) {
      AddVersionFaults(&call->faults);
    } else if (set) {
      Want(version, &request);
    }
    const uint32_t for_legacy = DLBRIDGE_CONVERT_DROP_READ_ONLY | DLBRIDGE_CONVERT_DROP_PADDED |
                                DLBRIDGE_CONVERT_ALLOW_NEWER_CODES;
    const uint32_t not_here =
        function == Function::kDowngrade
            ? 0
            : for_legacy | (function == Function::kInto || function == Function::kMany
                                ? DLBRIDGE_CONVERT_COPY
                                : 0);
    if (request.Has(not_here)) {
      call->faults.insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
    }
  }

  static void Want(DLPackVersion version, Request* request) {
    if (request->to_legacy) {
      const bool older = version.minor != 0 && version.minor < 8;
      request->reads = Release(0, older ? version.minor : 8);
      return;
    }
    // No release has a minor above 99.
    request->reads = Release(1, std::min(version.minor, 99U));
    request->label = Release(1, std::min(version.minor, 3U));
  }

  // A policy that asks drivers about memory of a device would start them.
  bool MayStartDriver(const Call& call, int32_t type) {
    return call.request.policy != nullptr &&
           call.request.policy->struct_size >= sizeof(DLBridgePolicy) &&
           call.request.policy->struct_size <= 4096 &&
           call.request.policy->level == DLBRIDGE_LEVEL_DEVICE && type != 1;
  }

  // ------------------------------------------------------------------------ before each call

  // What is known of a source: the caller's flags are those of a legacy one.
  ModelTensor Known(const Owned& owned, const Request& request) {
    ModelTensor tensor = owned.tensor;
    if (!tensor.versioned) {
      tensor.flags |= request.tensor_flags;
      tensor.vouched = request.Has(DLBRIDGE_CONVERT_VOUCH_WRITABLE);
      // A library-made legacy tensor remembers whether it may be written to.
      tensor.vouched = tensor.vouched || !owned.is_foreign();
    }
    return tensor;
  }

  bool IsReadable(const ModelTensor& tensor) {
    const ModelLayout layout = LayoutOf(tensor);
    if (layout.negative || layout.too_many || layout.too_large || layout.too_far ||
        layout.far_in_elements || layout.at_limit) {
      return true;  // it is rejected
    }
    const uint64_t origin = tensor.data + tensor.byte_offset;
    const uint64_t begin = origin + static_cast<uint64_t>(layout.begin);
    const uint64_t end = origin + static_cast<uint64_t>(layout.end);
    return layout.empty || std::any_of(regions.begin(), regions.end(), [&](const Region& region) {
             return begin >= region.begin && begin <= end && end <= region.end;
           });
  }

  // COPY reads the data: it needs real memory. Returns false if the call must not be made.
  bool IsSafe(const Call& call, const ModelTensor& tensor) {
    if (MayStartDriver(call, tensor.type)) {
      return false;
    }
    if (!call.request.Has(DLBRIDGE_CONVERT_COPY) || (tensor.versioned && tensor.major != 1)) {
      return true;
    }
    const bool has_layout = tensor.ndim >= 0 && tensor.ndim <= 64 &&
                            (tensor.ndim == 0 || tensor.has_shape) && tensor.data != 0;
    return !has_layout || IsReadable(tensor);
  }

  // The kind to pass: UNKNOWN only where the bytes decide it, or decide nothing.
  DLBridgeKind TakeKind(const Owned& owned, Statuses* faults) {
    const DLBridgeKind kind =
        owned.tensor.versioned ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_LEGACY;
    if (input->OneIn(16)) {
      faults->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
      return input->Pick<DLBridgeKind>({3, 4, -1, 5});
    }
    if (!input->OneIn(3)) {
      return kind;
    }
    const DLBridgeKind found = owned.is_foreign() ? FirstBytes(owned.object).Kind() : kind;
    CheckEqual("dlbridge_identify", found, dlbridge_identify(owned.object));
    if (found == DLBRIDGE_KIND_AMBIGUOUS || found == DLBRIDGE_KIND_UNKNOWN) {
      faults->insert(DLBRIDGE_ERROR_AMBIGUOUS);
      return DLBRIDGE_KIND_UNKNOWN;
    }
    return found == kind ? DLBRIDGE_KIND_UNKNOWN : kind;
  }

  // ------------------------------------------------------------------------- after each call

  // Returns true if the call succeeded, as it must exactly if nothing is wrong.
  bool CheckStatus(const char* what, DLBridgeStatus status, const DLBridgeError* error,
                   const Statuses& statuses, const Faults& faults) {
    CheckError(status, error);
    const bool certain =
        !statuses.empty() ||
        std::any_of(faults.begin(), faults.end(), [](const Fault& fault) { return fault.certain; });
    if (status == DLBRIDGE_OK) {
      if (certain) {
        const Fault* first = faults.empty() ? nullptr : &faults[0];
        Fail(what,
             first != nullptr && first->rule > 0
                 ? dlbridge_rule_name(first->rule)
                 : dlbridge_status_name(first != nullptr ? first->status : *statuses.begin()),
             "OK");
      }
      return true;
    }
    const bool known =
        statuses.count(status) != 0 ||
        std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
          return fault.status == status && (fault.rule == kAnyRule || fault.rule == error->rule);
        });
    if (!known) {
      Fail(what, certain ? "another error" : "OK",
           std::string(dlbridge_status_name(status)) + ", rule " + dlbridge_rule_name(error->rule) +
               ": " + error->message);
    }
    return false;
  }

  void CheckEvents() {
    if (!(events == expected)) {
      Fail("callbacks", Text(expected), Text(events));
    }
  }

  void CheckArray(const char* what, const std::vector<int64_t>& entries, const int64_t* found) {
    for (size_t i = 0; i < entries.size(); ++i) {
      CheckEqual(what, entries[i], found[i]);
    }
  }

  // The struct of a live tensor is as the model has it.
  void CheckStruct(const Owned& owned) {
    const ModelTensor& t = owned.tensor;
    const DLTensor* fields = nullptr;
    if (t.versioned) {
      const auto* object = static_cast<DLManagedTensorVersioned*>(owned.object);
      CheckEqual("major", t.major, object->version.major);
      CheckEqual("minor", t.minor, object->version.minor);
      CheckEqual("flags", t.flags, object->flags);
      Check("a library-made tensor has a deleter",
            owned.is_foreign() || object->deleter != nullptr);
      fields = &object->dl_tensor;
    } else {
      fields = &static_cast<DLManagedTensor*>(owned.object)->dl_tensor;
    }
    CheckEqual("data", t.data, reinterpret_cast<uintptr_t>(fields->data));
    CheckEqual("device type", t.type, TypeOf(fields->device));
    CheckEqual("device id", t.id, fields->device.device_id);
    CheckEqual("ndim", t.ndim, fields->ndim);
    CheckEqual("dtype", 0, std::memcmp(&t.dtype, &fields->dtype, sizeof t.dtype));
    CheckEqual("byte_offset", t.byte_offset, fields->byte_offset);
    if (t.has_shape && !t.shape.empty()) {
      CheckArray("shape", t.shape, fields->shape);
    }
    CheckEqual("strides", t.has_strides || !owned.is_foreign(), fields->strides != nullptr);
    if (t.has_strides && !t.strides.empty()) {
      CheckArray("strides", t.strides, fields->strides);
    }
  }

  void CheckAll() {
    CheckEvents();
    for (const Owned& owned : owners.tensors) {
      if (owned.live) {
        CheckStruct(owned);
      }
    }
  }

  // ------------------------------------------------------------------------------ conversions

  // A conversion that made a new struct of tensor `from`, not by COPY.
  int Wrap(int from, const Owned& result) {
    Owned made = result;
    const Owned& old = At(from);
    const bool replaces = !old.is_foreign() && old.storage == kNone;
    if (replaces) {
      made.keep = old.keep;
    } else {
      made.keep = static_cast<int>(owners.keeps.size());
      owners.keeps.push_back({1, from, kNone});
    }
    At(from).live = false;
    owners.tensors.push_back(made);
    return static_cast<int>(owners.tensors.size()) - 1;
  }

  // The bits of all elements in C order, without padding.
  std::vector<bool> Elements(const ModelTensor& tensor) {
    const ModelLayout layout = LayoutOf(tensor);
    const uint64_t bits = ItemBits(tensor.dtype, 0);
    const Wide item = static_cast<Wide>(ItemBits(tensor.dtype, tensor.flags));
    std::vector<bool> elements;
    ForEachElement(tensor, layout, [&](Wide offset) {
      const auto start = static_cast<int64_t>(offset * item);
      for (uint64_t bit = 0; bit < bits; ++bit) {
        elements.push_back(
            Bit(tensor.data + tensor.byte_offset, start + static_cast<int64_t>(bit)));
      }
    });
    return elements;
  }
  static bool Bit(uint64_t address, int64_t bit) {
    const auto byte = static_cast<uint64_t>(bit >> 3);
    return (*reinterpret_cast<const uint8_t*>(address + byte) >> (bit & 7) & 1) != 0;
  }

  // The state before a call.
  struct Before {
    size_t blocks;
    std::vector<bool> elements;  // for COPY
  };

  // COPY: the result has memory of its own, and the source is released.
  void FinishCopy(int from, const ModelTensor& known, Owned result, const Before& before) {
    const void* object = result.object;
    const DLTensor& fields = result.tensor.versioned
                                 ? static_cast<const DLManagedTensorVersioned*>(object)->dl_tensor
                                 : static_cast<const DLManagedTensor*>(object)->dl_tensor;
    result.tensor.data = reinterpret_cast<uintptr_t>(fields.data);
    const ModelLayout layout = LayoutOf(known);
    CheckEqual("data of a copy is NULL", layout.empty, fields.data == nullptr);
    Keep keep;
    if (!layout.empty) {
      CheckEqual("a copy is aligned", uint64_t{0}, result.tensor.data % 256);
      const uint64_t bytes = static_cast<uint64_t>(LayoutOf(result.tensor).packed);
      regions.push_back({result.tensor.data, result.tensor.data + bytes});
      keep.region = static_cast<int>(regions.size()) - 1;
      Check("the elements of a copy", Elements(result.tensor) == before.elements);
      if (blocks.size() != before.blocks) {
        keep.block = static_cast<int>(before.blocks);
        CheckEqual("bytes of a copy", bytes, blocks[before.blocks].bytes);
      }
    }
    result.keep = static_cast<int>(owners.keeps.size());
    owners.keeps.push_back(keep);
    Drop(from);
    owners.tensors.push_back(result);
  }

  // What happens when the owner of a tensor releases it.
  void Drop(int index) {
    Events ended;
    owners.Release(index, &ended);
    for (const Event& event : ended) {
      const bool calls = event.of == Event::Of::kSource
                             ? sources[event.index].has_deleter
                             : event.of != Event::Of::kStorage || returned[event.index];
      if (calls) {
        expected.push_back(event);
      }
    }
    for (const Keep& keep : owners.keeps) {
      if (keep.owners == 0 && keep.region != kNone) {
        regions[static_cast<size_t>(keep.region)] = {1, 0};
      }
    }
  }

  // The tensor that a versioned result is, as far as the version and the flags go.
  Owned VersionedResult(const Owned& old, const ModelTensor& known, const Request& request,
                        void* object) {
    Owned result;
    result.object = object;
    result.tensor = Reformed(known, request);
    ModelTensor& t = result.tensor;
    t.versioned = true;
    t.vouched = false;
    const bool unknown = Needed(known) > request.label;
    const uint64_t label = request.label % 1000;
    t.major = 1;
    t.minor = static_cast<uint32_t>(label);
    if (unknown && (old.tensor.versioned || !old.is_foreign())) {
      t.minor = old.tensor.versioned ? old.tensor.minor : old.minor;
    }
    if (t.minor == kAnyMinor) {
      t.minor = static_cast<DLManagedTensorVersioned*>(object)->version.minor;
      Check("a version that exists", t.minor <= 3);
    }
    if (request.Has(DLBRIDGE_CONVERT_COPY)) {
      t.flags = (known.flags & ~kReadOnly) | kCopied;
    } else if (!old.tensor.versioned && old.is_foreign()) {
      t.flags = known.flags | (known.vouched ? 0 : kReadOnly);
    }
    return result;
  }

  Owned LegacyResult(const Owned& old, const ModelTensor& known, const Request& request,
                     void* object) {
    Owned result;
    result.object = object;
    result.tensor = Reformed(known, request);
    ModelTensor& t = result.tensor;
    t.versioned = false;
    t.vouched = false;
    t.major = 0;
    t.minor = 0;
    result.minor =
        old.tensor.versioned ? old.tensor.minor : (old.is_foreign() ? kAnyMinor : old.minor);
    result.wraps =
        old.tensor.versioned && !request.Reshapes() && (old.is_foreign() || old.storage != kNone);
    if (request.Has(DLBRIDGE_CONVERT_COPY)) {
      t.flags = (known.flags & ~(kReadOnly | (PaddingMatters(known) ? kPadded : 0))) | kCopied;
    } else if (!old.tensor.versioned && old.is_foreign()) {
      // What is not known to be writable is READ_ONLY.
      t.flags = known.flags | (known.vouched ? 0 : kReadOnly);
    }
    return result;
  }

  // May the library hand back the tensor that `old`, a legacy one, was made of?
  bool MayYield(const Owned& old, const Request& request) {
    if (!old.wraps || request.Reshapes() ||
        owners.keeps[static_cast<size_t>(old.keep)].owners != 1) {
      return false;
    }
    const Owned& original = At(owners.keeps[static_cast<size_t>(old.keep)].tensor);
    const ModelTensor& a = original.tensor;
    const ModelTensor& b = old.tensor;
    const bool same = a.data == b.data && a.type == b.type && a.id == b.id && a.ndim == b.ndim &&
                      std::memcmp(&a.dtype, &b.dtype, sizeof a.dtype) == 0 && a.shape == b.shape &&
                      (a.has_strides ? a.strides : CompactStrides(a)) == b.strides &&
                      a.byte_offset == b.byte_offset &&
                      a.flags == (b.flags | request.tensor_flags) && a.major == 1 &&
                      a.minor == old.minor;
    return same && FitsLabel(a, request) && FaultsOf(a, request).empty();
  }

  static bool FitsLabel(const ModelTensor& tensor, const Request& request) {
    return Release(1, std::min(tensor.minor, 99U)) <= request.reads ||
           (request.Has(DLBRIDGE_CONVERT_ALLOW_UNKNOWN) && Needed(tensor) > request.label);
  }

  // Takes over the result of a successful conversion of tensor `from`.
  void Accept(Function function, int from, const Request& request, void* object,
              const Before& before, int storage) {
    const Owned old = At(from);
    const ModelTensor known = Known(old, request);
    if (request.Has(DLBRIDGE_CONVERT_COPY)) {
      FinishCopy(from, known,
                 request.to_legacy ? LegacyResult(old, known, request, object)
                                   : VersionedResult(old, known, request, object),
                 before);
      return;
    }
    const bool to_same = old.tensor.versioned != request.to_legacy;
    const bool hands_back =
        to_same && !request.Reshapes() && function != Function::kDowngrade &&
        (function == Function::kExport || (!old.is_foreign() && old.storage == kNone)) &&
        (request.to_legacy || FitsLabel(old.tensor, request));
    if (hands_back) {
      CheckEqual("the tensor itself", const_cast<const void*>(old.object),
                 static_cast<const void*>(object));
      return;
    }
    const bool any = function == Function::kUpgrade || function == Function::kMany ||
                     function == Function::kExport;
    if (!request.to_legacy && !old.tensor.versioned && any && MayYield(old, request)) {
      GiveBack(from, object);
      return;
    }
    Owned result = request.to_legacy ? LegacyResult(old, known, request, object)
                                     : VersionedResult(old, known, request, object);
    Check("a new struct", object != old.object);
    const int made = Wrap(from, result);
    At(made).storage = storage;
  }

  // The legacy tensor is gone, and the tensor that it was made of is the caller's again.
  void GiveBack(int from, void* object) {
    Owned& old = At(from);
    Keep& keep = owners.keeps[static_cast<size_t>(old.keep)];
    Owned& original = At(keep.tensor);
    CheckEqual("the tensor that downgrade was given", const_cast<const void*>(original.object),
               static_cast<const void*>(object));
    keep.owners = 0;
    old.live = false;
    original.live = true;
  }

  std::vector<uint8_t> Bytes(const Owned& owned) {
    const auto* bytes = static_cast<const uint8_t*>(owned.object);
    const size_t size =
        owned.tensor.versioned ? sizeof(DLManagedTensorVersioned) : sizeof(DLManagedTensor);
    return std::vector<uint8_t>(bytes, bytes + size);
  }

  void Convert(Function function) {
    const bool to_legacy = function == Function::kDowngrade;
    const bool both = function == Function::kImport || function == Function::kExport;
    const int from = PickLive(to_legacy || both, !to_legacy);
    if (from == kNone) {
      return;
    }
    DLPackVersion target = {1, 3};
    Call call = TakeCall(function);
    if (function == Function::kExport) {
      target = {input->Pick<uint32_t>({1, 0, 1, 0, 1, 2}),
                input->Pick<uint32_t>({3, 0, 1, 2, 8, 4, 5, UINT32_MAX})};
      if (target.major > 1 || (target.major == 0 && target.minor == 0)) {
        AddVersionFaults(&call.faults);
      }
      call.request.to_legacy = target.major == 0;
      Want(target, &call.request);
    }
    const Owned old = At(from);
    const ModelTensor known = Known(old, call.request);
    if (!IsSafe(call, known)) {
      return;
    }
    DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
    if (both) {
      kind = TakeKind(old, &call.faults);
    }
    Faults faults = call.faults.empty() ? FaultsOf(known, call.request) : Faults();
    if (known.versioned && known.major != 1) {
      AddRule(DLBRIDGE_RULE_VERSION_MAJOR, &faults);
    }
    Before state = {blocks.size(), {}};
    if (call.request.Has(DLBRIDGE_CONVERT_COPY) && call.faults.empty() && faults.empty()) {
      state.elements = Elements(known);
    }
    const std::vector<uint8_t> before = Bytes(old);
    DLBridgeError* error = NewError(&Memory());
    void* const kUnset = &events;
    static constexpr const char* kNames[] = {
        "dlbridge_upgrade", "dlbridge_upgrade_into", "",
        "dlbridge_import",  "dlbridge_export",       "dlbridge_downgrade"};
    const char* name = kNames[static_cast<int>(function)];
    Trace() += std::string(name) + " of tensor " + Text(from) + ", options " +
               Text(call.request.bits) + (call.request.to_legacy ? ", to legacy\n" : "\n");
    void* out = kUnset;
    DLBridgeKind out_kind = 77;
    DLBridgeStatus status = DLBRIDGE_OK;
    int storage = kNone;
    Statuses statuses = call.faults;
    auto** versioned_out = reinterpret_cast<DLManagedTensorVersioned**>(&out);
    switch (function) {
      case Function::kUpgrade:
        status = dlbridge_upgrade(static_cast<DLManagedTensor*>(old.object), call.options,
                                  versioned_out, error);
        break;
      case Function::kInto: {
        const DLBridgeStorage* place = TakeStorage(old.tensor.ndim, &statuses);
        storage = static_cast<int>(storages.size()) - 1;
        status = dlbridge_upgrade_into(static_cast<DLManagedTensor*>(old.object), call.options,
                                       place, versioned_out, error);
        break;
      }
      case Function::kImport:
        status = dlbridge_import(old.object, kind, call.options, versioned_out, error);
        break;
      case Function::kExport:
        status = dlbridge_export(old.object, kind, target, call.options, &out, &out_kind, error);
        break;
      default:
        status = dlbridge_downgrade(static_cast<DLManagedTensorVersioned*>(old.object),
                                    call.options, reinterpret_cast<DLManagedTensor**>(&out), error);
        break;
    }
    if (!CheckStatus(name, status, error, statuses, faults)) {
      CheckEqual("out after a failure", static_cast<const void*>(kUnset),
                 static_cast<const void*>(out));
      Check("the input is untouched", Bytes(old) == before);
      blocks.resize(state.blocks);
      return;
    }
    if (function == Function::kExport) {
      CheckEqual("out_kind", target.major == 0 ? DLBRIDGE_KIND_LEGACY : DLBRIDGE_KIND_VERSIONED,
                 out_kind);
    }
    if (function == Function::kInto) {
      CheckEqual("the result is in the storage", static_cast<const void*>(storages.back()),
                 static_cast<const void*>(out));
    }
    Accept(function, from, call.request, out, state, storage);
  }

  const DLBridgeStorage* TakeStorage(int32_t ndim, Statuses* faults) {
    const size_t needed = dlbridge_upgrade_storage_size(ndim);
    CheckEqual("no size for an illegal ndim", ndim < 0 || ndim > 64, needed == 0);
    DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
    storage.size = needed + (input->OneIn(8) ? 64 : 0);
    storage.release = input->OneIn(8) ? nullptr : ReleaseStorage;
    storage.release_context = Context(storages.size());
    // It ends at an unreadable page, also where the size is too small.
    const bool small = input->OneIn(12) && needed != 0;
    storage.size = small ? needed - 8 : storage.size;
    storage.memory = Memory().Take(storage.size, 16);
    storages.push_back(storage.memory);
    returned.push_back(storage.release != nullptr);
    if (small) {
      faults->insert(DLBRIDGE_ERROR_BUFFER_TOO_SMALL);
    }
    if (input->OneIn(24)) {
      faults->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
      switch (input->Below(3)) {
        case 0:
          storage.memory = nullptr;
          break;
        case 1:
          storage.memory = static_cast<uint8_t*>(storage.memory) + 8;
          break;
        default:
          storage.options = 1;
          break;
      }
    }
    return Memory().Copy(storage);
  }

  // --------------------------------------------------------------------------------- batches

  void UpgradeMany() {
    const std::vector<int> legacy = Live(false, true);
    Call call = TakeCall(Function::kMany);
    const size_t count = legacy.empty() ? 0 : input->Below(5);
    auto** sources_of = Memory().Take<DLManagedTensor*>(count);
    auto** outs = Memory().Take<DLManagedTensorVersioned*>(count);
    std::vector<int> from;
    std::vector<Faults> faults(count);
    for (size_t i = 0; i < count; ++i) {
      const int one = legacy[input->Below(legacy.size())];
      const bool is_null = input->OneIn(32);
      sources_of[i] = is_null ? nullptr : static_cast<DLManagedTensor*>(At(one).object);
      const ModelTensor known = Known(At(one), call.request);
      if (!IsSafe(call, known)) {
        return;
      }
      faults[i] = is_null || !call.faults.empty() ? Faults() : FaultsOf(known, call.request);
      if (is_null || std::find(from.begin(), from.end(), one) != from.end()) {
        faults[i].push_back({DLBRIDGE_ERROR_INVALID_ARGUMENT});
      }
      from.push_back(is_null ? kNone : one);
    }
    const size_t bytes = count * sizeof(void*);
    std::memset(static_cast<void*>(outs), 0x11, bytes);
    const std::vector<uint8_t> unset(bytes, 0x11);
    size_t failed = 99;
    DLBridgeError* error = NewError(&Memory());
    const DLBridgeStatus status = dlbridge_upgrade_many(sources_of, count, call.options, outs,
                                                        input->OneIn(4) ? nullptr : &failed, error);
    Faults all;
    for (const Faults& one : faults) {
      all.insert(all.end(), one.begin(), one.end());
    }
    if (!CheckStatus("dlbridge_upgrade_many", status, error, call.faults, all)) {
      Check("outs after a failure",
            count == 0 || std::memcmp(outs, unset.data(), unset.size()) == 0);
      if (failed < count) {
        CheckStatus("the tensor that `failed` names", status, error, {}, faults[failed]);
      } else if (failed != 99) {
        CheckEqual("failed where no tensor is wrong", count, failed);
        Check("an argument is wrong", !call.faults.empty());
      }
      return;
    }
    Trace() += "dlbridge_upgrade_many of " + Text(count) + "\n";
    for (size_t i = 0; i < count; ++i) {
      Accept(Function::kMany, from[i], call.request, outs[i], {blocks.size(), {}}, kNone);
    }
  }

  // --------------------------------------------------------------------------- shares, views

  void Share() {
    const int from = PickLive(true, false);
    if (from == kNone) {
      return;
    }
    const Owned old = At(from);
    Faults faults;
    AddSharing(old, &faults);
    DLBridgeError* error = NewError(&Memory());
    DLManagedTensorVersioned* out = nullptr;
    const DLBridgeStatus status =
        dlbridge_share(static_cast<DLManagedTensorVersioned*>(old.object), &out, error);
    if (!CheckStatus("dlbridge_share", status, error, {}, faults)) {
      CheckEqual("out after a failure", static_cast<const void*>(nullptr),
                 static_cast<const void*>(out));
      return;
    }
    Trace() += "share of tensor " + Text(from) + "\n";
    Join(old, old.tensor, out);
  }

  void AddSharing(const Owned& old, Faults* faults) {
    if (old.is_foreign()) {
      faults->push_back({DLBRIDGE_ERROR_FOREIGN_TENSOR});
    } else if (old.storage != kNone) {
      AddRule(DLBRIDGE_RULE_IN_STORAGE, faults);
    }
  }

  void Join(const Owned& old, const ModelTensor& tensor, void* object) {
    Owned joined;
    joined.tensor = tensor;
    joined.object = object;
    joined.keep = old.keep;
    ++owners.keeps[static_cast<size_t>(old.keep)].owners;
    owners.tensors.push_back(joined);
  }

  void View() {
    const int from = PickLive(true, false);
    if (from == kNone) {
      return;
    }
    const Owned old = At(from);
    ModelTensor view = old.tensor;
    DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
    view.ndim = input->OneIn(24) ? input->Pick({-1, 65}) : static_cast<int32_t>(input->Below(4));
    view.shape.assign(static_cast<size_t>(view.ndim > 0 && view.ndim <= 64 ? view.ndim : 0), 0);
    view.strides = view.shape;
    for (size_t i = 0; i < view.shape.size(); ++i) {
      view.shape[i] = input->OneIn(8) ? input->Number() : static_cast<int64_t>(input->Below(4));
      view.strides[i] = input->OneIn(8) ? input->Number() : input->Between(-4, 4);
    }
    view.has_strides = !input->OneIn(3);
    const uint8_t way = input->Byte();
    view.has_shape = way % 24 != 23;
    spec.options = way % 12 == 5 ? 1U << way / 8 : 0;
    spec.ndim = view.ndim;
    spec.offset = input->OneIn(12) ? input->Number() : input->Between(-8, 8);
    spec.shape = view.has_shape ? Array(view.shape) : nullptr;
    spec.strides = view.has_strides ? Array(view.strides) : nullptr;
    if (input->OneIn(3)) {
      spec.dtype = input->Flag() ? old.tensor.dtype : TakeDtype(input);
      const bool is_set = spec.dtype.code != 0 || spec.dtype.bits != 0 || spec.dtype.lanes != 0;
      view.dtype = is_set ? spec.dtype : old.tensor.dtype;
    }
    const Faults faults = ViewFaults(old, spec, view);
    DLBridgeError* error = NewError(&Memory());
    DLManagedTensorVersioned* out = nullptr;
    const DLBridgeStatus status = dlbridge_view(static_cast<DLManagedTensorVersioned*>(old.object),
                                                Memory().Copy(spec), &out, error);
    if (!CheckStatus("dlbridge_view", status, error, {}, faults)) {
      CheckEqual("out after a failure", static_cast<const void*>(nullptr),
                 static_cast<const void*>(out));
      return;
    }
    const ModelLayout layout = LayoutOf(view);
    if (!layout.empty) {
      const Wide bytes =
          static_cast<Wide>(spec.offset) * static_cast<Wide>(ItemBits(view.dtype, view.flags)) / 8;
      MoveOrigin(bytes, &view);
    }
    if (!view.has_strides) {
      view.strides = CompactStrides(view);
    }
    view.has_strides = true;
    view.has_shape = true;
    Trace() += "view of tensor " + Text(from) + "\n";
    Join(old, view, out);
  }

  // A negative offset from the handle's start is in ViewFaults.
  static void MoveOrigin(Wide bytes, ModelTensor* view) {
    const Wide offset = static_cast<Wide>(view->byte_offset) + bytes;
    view->byte_offset = offset < 0 ? 0 : static_cast<uint64_t>(offset);
    view->data += offset < 0 ? static_cast<uint64_t>(offset) : 0;
  }

  static void AddRange(const ModelTensor& tensor, const ModelLayout& layout, Faults* faults) {
    for (const int64_t extent : tensor.shape) {
      if (extent < 0) {
        AddRule(DLBRIDGE_RULE_EXTENT_NEGATIVE, faults);
      }
    }
    if (layout.too_many) {
      AddRule(DLBRIDGE_RULE_COUNT_OVERFLOW, faults);
    }
    if (layout.too_large) {
      AddRule(DLBRIDGE_RULE_SIZE_OVERFLOW, faults);
    }
    if (layout.too_far || layout.far_in_elements || layout.at_limit) {
      AddRule(DLBRIDGE_RULE_OFFSET_OVERFLOW, faults, layout.too_far);
    }
  }

  Faults ViewFaults(const Owned& old, const DLBridgeViewSpec& spec, const ModelTensor& view) {
    Faults faults;
    AddSharing(old, &faults);
    const ModelTensor& parent = old.tensor;
    if (spec.options != 0) {  // the lowest byte is for the flags of DLPack
      faults.push_back(
          {spec.options < 0x100 ? DLBRIDGE_ERROR_INVALID_ARGUMENT : DLBRIDGE_ERROR_TOO_NEW});
    }
    if (spec.ndim < 0) {
      AddRule(DLBRIDGE_RULE_NDIM_NEGATIVE, &faults);
    } else if (spec.ndim > 64) {
      AddRule(DLBRIDGE_RULE_NDIM_LIMIT, &faults);
    } else if (spec.ndim > 0 && spec.shape == nullptr) {
      AddRule(DLBRIDGE_RULE_SHAPE_NULL, &faults);
    }
    const bool own_dtype = spec.dtype.code != 0 || spec.dtype.bits != 0 || spec.dtype.lanes != 0;
    if (own_dtype) {
      ModelTensor scalar;
      scalar.dtype = spec.dtype;
      scalar.data = 0x1000;
      AddVerdict(Judge(scalar, DLBRIDGE_POLICY_INIT).Decide(), &faults);
      if (ItemBits(spec.dtype, parent.flags) != ItemBits(parent.dtype, parent.flags)) {
        faults.push_back({DLBRIDGE_ERROR_INVALID_ARGUMENT});
      }
      ModelTensor relabelled = parent;
      relabelled.dtype = spec.dtype;
      if (Needed(relabelled) > Release(1, std::min(parent.minor, 99U))) {
        AddUnknown(relabelled, &faults);
        if (Needed(relabelled) != kNever) {
          AddRule(DLBRIDGE_RULE_REQUIRED_VERSION, &faults);
        }
      }
    }
    if (!faults.empty()) {
      return faults;
    }
    ModelTensor same = view;
    same.dtype = own_dtype ? spec.dtype : parent.dtype;
    const ModelLayout outer = LayoutOf(parent);
    const ModelLayout inner = LayoutOf(same);
    AddRange(parent, outer, &faults);
    AddRange(same, inner, &faults);
    if (!faults.empty() || inner.empty) {
      return faults;
    }
    const Wide first = spec.offset + inner.first;
    const Wide last = spec.offset + inner.last;
    if (outer.empty || first < outer.first || last > outer.last) {
      AddRule(DLBRIDGE_RULE_VIEW_BOUNDS, &faults);
      return faults;
    }
    const Wide bits =
        static_cast<Wide>(spec.offset) * static_cast<Wide>(ItemBits(same.dtype, same.flags));
    if (bits % 8 != 0) {
      AddRule(DLBRIDGE_RULE_VIEW_OFFSET, &faults);
    } else if (static_cast<Wide>(parent.byte_offset) + bits / 8 < 0 && !IsAddress(parent.type)) {
      AddRule(DLBRIDGE_RULE_HANDLE_RANGE, &faults);
    }
    return faults;
  }

  // ----------------------------------------------------------------- releases, the owner's edits

  void ReleaseOne() {
    const int index = PickLive(true, true);
    if (index == kNone) {
      return;
    }
    const Owned owned = At(index);
    const DLBridgeKind kind =
        owned.tensor.versioned ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_LEGACY;
    if (input->OneIn(8)) {
      CheckEqual("dlbridge_release of an unknown kind", DLBRIDGE_ERROR_INVALID_ARGUMENT,
                 dlbridge_release(owned.object, input->Pick<DLBridgeKind>({0, 3, 4, -1})));
      CheckEvents();
    }
    Trace() += "release of tensor " + Text(index) + "\n";
    Drop(index);
    if (input->Flag()) {
      CheckEqual("dlbridge_release", DLBRIDGE_OK, dlbridge_release(owned.object, kind));
    } else if (owned.tensor.versioned) {
      dlbridge_release_versioned(static_cast<DLManagedTensorVersioned*>(owned.object));
    } else {
      dlbridge_release_legacy(static_cast<DLManagedTensor*>(owned.object));
    }
  }

  // The owner of a library-made struct may change these fields. READ_ONLY binds.
  void Edit() {
    const int index = PickLive(true, true);
    if (index == kNone || At(index).is_foreign()) {
      return;
    }
    Trace() += "the owner edits tensor " + Text(index) + "\n";
    Owned& owned = At(index);
    ModelTensor& t = owned.tensor;
    auto* object = static_cast<DLManagedTensorVersioned*>(owned.object);
    DLTensor& fields =
        t.versioned ? object->dl_tensor : static_cast<DLManagedTensor*>(owned.object)->dl_tensor;
    const uint8_t way = input->Byte() % 8;
    const size_t axis = t.shape.empty() ? 0 : input->Below(t.shape.size());
    if (way < 4 && t.versioned) {
      object->flags |= kReadOnly;
      t.flags |= kReadOnly;
    } else if (way == 4) {
      t.byte_offset = static_cast<uint64_t>(input->Number());
      fields.byte_offset = t.byte_offset;
    } else if (way == 5) {
      t.dtype = TakeDtype(input);
      fields.dtype = t.dtype;
    } else if (way == 6) {
      TakeDevice(input, &t.type, &t.id);
      fields.device = ToDevice(t.type, t.id);
    } else if (way == 7 && !t.shape.empty()) {
      t.shape[axis] = input->Number();
      fields.shape[axis] = t.shape[axis];
    }
  }

  // Changes what the owner must not change, calls a function, and restores it.
  void Tamper() {
    const int index = PickLive(true, true);
    if (index == kNone || At(index).is_foreign()) {
      return;
    }
    Owned& owned = At(index);
    std::vector<uint8_t> before = Bytes(owned);
    auto* object = static_cast<DLManagedTensorVersioned*>(owned.object);
    auto* legacy = static_cast<DLManagedTensor*>(owned.object);
    DLTensor& fields = owned.tensor.versioned ? object->dl_tensor : legacy->dl_tensor;
    switch (input->Below(owned.tensor.versioned ? 6 : 3)) {
      case 0:
        fields.ndim += input->Pick({1, -1, 64, -100});
        break;
      case 1:
        fields.shape = input->Flag() ? nullptr : fields.shape + 1;
        break;
      case 2:
        fields.strides = input->Flag() ? nullptr : fields.strides - 1;
        break;
      case 3:
        object->version.minor += 1;
        break;
      case 4:
        object->version.major = input->Pick<uint32_t>({0, 2});
        break;
      default:
        if (input->Flag()) {
          object->flags |= kReadOnly;
          owned.tensor.flags |= kReadOnly;
          before = Bytes(owned);
        }
        // Clears READ_ONLY, which binds once a call has seen it, or changes another bit.
        object->flags ^= HasSeenReadOnly(owned) ? kReadOnly : kCopied;
        break;
    }
    const std::vector<uint8_t> changed = Bytes(owned);
    DLBridgeError* error = NewError(&Memory());
    const DLBridgeStatus status = CallOnTampered(owned);
    Check("a changed struct is rejected",
          status == DLBRIDGE_ERROR_INVALID_ARGUMENT || status == DLBRIDGE_ERROR_VERSION ||
              (status == DLBRIDGE_ERROR_UNSUPPORTED && owned.storage != kNone));
    static_cast<void>(error);
    Check("and untouched", Bytes(owned) == changed);
    std::memcpy(owned.object, before.data(), before.size());
  }

  // Shows the struct to the library.
  bool HasSeenReadOnly(const Owned& owned) {
    DLManagedTensorVersioned* share = nullptr;
    const auto* object = static_cast<DLManagedTensorVersioned*>(owned.object);
    if ((owned.tensor.flags & kReadOnly) == 0 ||
        dlbridge_share(object, &share, nullptr) != DLBRIDGE_OK) {
      return false;
    }
    dlbridge_release_versioned(share);
    return true;
  }

  DLBridgeStatus CallOnTampered(const Owned& owned) {
    auto* object = static_cast<DLManagedTensorVersioned*>(owned.object);
    auto* legacy = static_cast<DLManagedTensor*>(owned.object);
    DLManagedTensorVersioned* out = nullptr;
    DLManagedTensor* out_legacy = nullptr;
    void* out_any = nullptr;
    DLBridgeKind out_kind = 0;
    const DLPackVersion target = {input->Flag() ? 1U : 0U, 3};
    const DLBridgeKind kind =
        owned.tensor.versioned ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_LEGACY;
    DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
    options.options = DLBRIDGE_CONVERT_SKIP_VALIDATION;
    DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
    const DLBridgeConvertOptions* given = input->Flag() ? &options : nullptr;
    switch (input->Below(5)) {
      case 0:
        return dlbridge_import(owned.object, kind, given, &out, nullptr);
      case 1:
        return dlbridge_export(owned.object, kind, target, given, &out_any, &out_kind, nullptr);
      case 2:
        return owned.tensor.versioned ? dlbridge_share(object, &out, nullptr)
                                      : dlbridge_upgrade(legacy, given, &out, nullptr);
      case 3:
        return owned.tensor.versioned
                   ? dlbridge_view(object, &spec, &out, nullptr)
                   : dlbridge_upgrade_many(&legacy, 1, given, &out, nullptr, nullptr);
      default:
        return owned.tensor.versioned ? dlbridge_downgrade(object, given, &out_legacy, nullptr)
                                      : dlbridge_upgrade(legacy, nullptr, &out, nullptr);
    }
  }

  // ------------------------------------------------------------------------------------- run

  void Step() {
    Trace() += Text(owners.tensors.size()) + " tensors. ";
    constexpr size_t kMostLive = 12;
    const size_t live = Live(true, true).size();
    const uint8_t way = input->Byte() % 32;
    if (way < 5 || live == 0) {
      return live < kMostLive ? MakeForeign(way % 2 == 1) : ReleaseOne();
    }
    static constexpr Function kFunctions[] = {Function::kUpgrade, Function::kInto,
                                              Function::kImport, Function::kExport,
                                              Function::kDowngrade};
    if (way < 20) {
      return Convert(kFunctions[(way - 5U) / 3]);
    }
    if (way < 22) {
      return UpgradeMany();
    }
    if (way < 26) {
      return live >= kMostLive ? ReleaseOne() : (way < 24 ? Share() : View());
    }
    if (way < 28) {
      return Edit();
    }
    if (way == 28) {
      return Tamper();
    }
    if (way == 29) {
      return Scribble();
    }
    return way == 30 ? ScribbleField() : ReleaseOne();
  }

  void Run() {
    for (int step = 0; step < 40 && !input->empty(); ++step) {
      Step();
      CheckAll();
    }
    while (!Live(true, true).empty()) {
      ReleaseOne();
      CheckEvents();
    }
    for (const Keep& keep : owners.keeps) {
      CheckEqual("owners at the end", 0, keep.owners);
    }
  }
};

// ------------------------------------------------------------------------------------- callbacks

void EndSource(void* object, void* context) {
  const size_t index = IndexOf(context);
  Check("the deleter of a source of this program", index < g_program->sources.size());
  g_program->events.push_back({Event::Of::kSource, index});
  // What a deleter gets is the struct that the program made.
  const Source& source = g_program->sources[index];
  for (const Owned& owned : g_program->owners.tensors) {
    if (owned.source == static_cast<int>(index)) {
      CheckEqual("the deleter's struct", const_cast<const void*>(owned.object),
                 const_cast<const void*>(object));
      g_program->CheckStruct(owned);
    }
  }
  GuardedMemory::End(object, source.size);
}

void DeleteLegacy(DLManagedTensor* self) { EndSource(self, self->manager_ctx); }
void DeleteVersioned(DLManagedTensorVersioned* self) { EndSource(self, self->manager_ctx); }

void ReleaseStorage(void* context, void* memory) {
  const size_t index = IndexOf(context);
  Check("a storage of this program", index < g_program->storages.size());
  CheckEqual("the storage's memory", const_cast<const void*>(g_program->storages[index]),
             const_cast<const void*>(memory));
  g_program->events.push_back({Event::Of::kStorage, index});
}

void* Allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,
               const DLBridgeStream* stream) {
  CheckEqual("context of the allocator", static_cast<const void*>(g_program),
             const_cast<const void*>(context));
  Check("an allocation of the CPU without a stream", TypeOf(device) == 1 && stream == nullptr);
  CheckEqual("alignment", uint64_t{256}, alignment);
  Check("bytes to allocate", bytes != 0);
  if (bytes + alignment > Memory().largest()) {
    return nullptr;
  }
  void* memory = Memory().Take(static_cast<size_t>(bytes), static_cast<size_t>(alignment));
  g_program->blocks.push_back({memory, bytes, alignment});
  return memory;
}

void Deallocate(void* context, DLDevice device, void* memory, uint64_t bytes, uint64_t alignment,
                const DLBridgeStream* stream) {
  CheckEqual("context of the allocator", static_cast<const void*>(g_program),
             const_cast<const void*>(context));
  Check("a deallocation of the CPU without a stream", TypeOf(device) == 1 && stream == nullptr);
  for (size_t i = 0; i < g_program->blocks.size(); ++i) {
    const Block& block = g_program->blocks[i];
    if (block.memory == memory) {
      Check("the values of the allocation", block.bytes == bytes && block.alignment == alignment);
      g_program->events.push_back({Event::Of::kBlock, i});
      return;
    }
  }
  Fail("a deallocation", "a block", Text(memory));
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::Input input(data, size);
  const auto program = std::make_unique<dlbridge_fuzz::Program>(&input);
  program->Run();
  dlbridge_fuzz::Memory().Reset();
  return 0;
}
