// SPDX-License-Identifier: Apache-2.0
// Tensors of native memory and of allocators, with any spec. A model states which statuses a call
// may return; after success every field is compared, and the release callback, the allocator and
// the entry of the context table are called exactly once, after the last owner. After a failure
// none has been called.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/model/layout.h"
#include "fuzz/support/check.h"
#include "fuzz/support/hidden_drivers.h"
#include "fuzz/support/input.h"
#include "fuzz/support/memory.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

constexpr int32_t kTableDevice = 500;  // an id that no other program registers

GuardedMemory& Blocks() {
  static GuardedMemory memory(8);
  return memory;
}

// ------------------------------------------------------------------------------------- the input

// The parts that wrap and allocate have in common.
struct Common {
  DLDevice device = ToDevice(kDLCPU, 0);
  DLDataType dtype = {kDLFloat, 32, 1};
  DLPackVersion version = {0, 0};
  uint64_t flags = 0;
  int32_t ndim = 0;
  std::vector<int64_t> shape;
};

DLDevice TakeDevice(Input* input) {
  const int32_t type = input->OneIn(4) ? static_cast<int32_t>(input->Between(-1, 30)) : kDLCPU;
  return ToDevice(type, input->OneIn(8) ? static_cast<int32_t>(input->Between(-2, 3)) : 0);
}

DLDataType TakeDtype(Input* input) {
  DLDataType dtype = {static_cast<uint8_t>(input->Below(3)), input->Pick<uint8_t>({32, 8, 64, 4}),
                      1};
  if (input->OneIn(6)) {
    dtype = {static_cast<uint8_t>(input->Below(21)), input->Pick<uint8_t>({8, 16, 6, 4, 0, 1, 255}),
             input->Pick<uint16_t>({1, 2, 3, 0, 0x7fff, 0x8000, 0xffff})};
  }
  return input->OneIn(64) ? DLDataType{0, 0, 0} : dtype;
}

Common TakeCommon(Input* input) {
  Common common;
  common.device = TakeDevice(input);
  common.dtype = TakeDtype(input);
  common.version = {input->OneIn(8) ? 1U : 0U, 0};
  common.version.minor = common.version.major != 0 ? static_cast<uint32_t>(input->Below(6)) : 0;
  if (input->OneIn(64)) {
    common.version = {input->OneIn(2) ? 0U : 2U, 5};
  }
  common.flags = input->OneIn(4) ? input->Below(8) : 0;
  common.flags |= input->OneIn(32) ? uint64_t{1} << input->Below(64) : 0;
  const bool wild = input->OneIn(4);
  common.ndim = static_cast<int32_t>(input->Below(input->OneIn(16) ? 67 : 5));
  for (int32_t i = 0; i < common.ndim; ++i) {
    common.shape.push_back(wild ? input->Number() : static_cast<int64_t>(input->Below(5)));
  }
  if (input->OneIn(64)) {
    common.ndim = static_cast<int32_t>(input->Pick<int64_t>({-1, INT32_MIN, INT32_MAX, 65}));
  }
  return common;
}

// The statuses that both may return.
Statuses ExpectCommon(const Common& common, bool shape_is_null) {
  Statuses statuses;
  if (common.version.major > 1 || (common.version.major == 0 && common.version.minor != 0)) {
    statuses.insert({DLBRIDGE_ERROR_VERSION, DLBRIDGE_ERROR_INVALID_ARGUMENT});
  }
  if (common.ndim < 0) {
    statuses.insert(DLBRIDGE_ERROR_INVALID_TENSOR);
  }
  if (common.ndim > DLBRIDGE_MAX_NDIM) {
    statuses.insert(DLBRIDGE_ERROR_POLICY);
  }
  if (common.ndim > 0 && shape_is_null) {
    statuses.insert(DLBRIDGE_ERROR_INVALID_TENSOR);
  }
  if (common.dtype.code == 0 && common.dtype.bits == 0 && common.dtype.lanes == 0) {
    statuses.insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  return statuses;
}

uint32_t MinorOf(DLPackVersion version) { return version.major == 1 ? version.minor : 3; }

// A copy of a spec that ends at an unreadable page, as a caller with an older or newer header has
// it.
// `*statuses` receives what that means.
template <class Spec>
const Spec* PlaceSpec(Input* input, const Spec& spec, Statuses* statuses) {
  struct Newer {
    Spec spec;
    uint64_t tail[2];
  };
  Newer newer = {spec, {0, 0}};
  size_t size = sizeof(Spec);
  if (input->OneIn(16)) {
    size = static_cast<size_t>(input->Pick<int64_t>(
        {sizeof(Newer), sizeof(Newer), sizeof(Spec) - 8, 4, 0, 4097, int64_t{UINT32_MAX}}));
    newer.spec.struct_size = static_cast<uint32_t>(size);
    newer.tail[1] = size == sizeof(Newer) && input->Flag() ? uint64_t{1} << 63 : 0;
    if (newer.tail[1] != 0) {
      *statuses = {DLBRIDGE_ERROR_TOO_NEW};
    } else if (size != sizeof(Newer)) {
      *statuses = {DLBRIDGE_ERROR_INVALID_ARGUMENT};
    }
  }
  const size_t readable = std::min(std::max<size_t>(size, 4), sizeof(Newer));
  return reinterpret_cast<const Spec*>(Blocks().Copy(newer, (readable + 7) / 8 * 8));
}

// ------------------------------------------------------------------------------------- the checks

struct Ended {
  int count = 0;
  uint64_t handle = 0;
  bool nests = false;

  static void Release(void* context, const DLBridgeBuffer* buffer, const DLBridgeStream* stream) {
    auto& self = *static_cast<Ended*>(context);
    ++self.count;
    self.handle = buffer->handle;
    Check("no stream", stream == nullptr);
    if (self.nests) {
      self.UseTheLibrary();
    }
  }
  // A callback may call the library.
  void UseTheLibrary() {
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.dtype = {kDLFloat, 32, 1};
    DLManagedTensorVersioned* tensor = nullptr;
    CheckStatus(DLBRIDGE_OK, dlbridge_allocate(&spec, &tensor, nullptr));
    tensor->deleter(tensor);
  }
};

std::vector<int64_t> CompactStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i) {
    const int64_t extent = std::max<int64_t>(shape[i - 1], 1);
    // Beside an extent of 0 the product may not fit; no element has that stride.
    strides[i - 2] =
        static_cast<int64_t>(static_cast<uint64_t>(strides[i - 1]) * static_cast<uint64_t>(extent));
  }
  return strides;
}

void CheckAxes(const DLTensor& tensor, const std::vector<int64_t>& shape,
               const std::vector<int64_t>* strides) {
  CheckEqual("ndim", shape.size(), static_cast<size_t>(tensor.ndim));
  Check("the extents", std::equal(shape.begin(), shape.end(), tensor.shape));
  if (strides != nullptr) {
    Check("the strides", std::equal(strides->begin(), strides->end(), tensor.strides));
  }
}

// Makes further owners, and releases all of them in the order that the input chooses. `ended` must
// not have a count before the last one.
template <class Managed>
void EndOwners(Input* input, Managed* tensor, const Ended& ended) {
  std::vector<DLManagedTensorVersioned*> owners;
  if constexpr (std::is_same<Managed, DLManagedTensorVersioned>::value) {
    for (uint64_t more = input->Below(3); more != 0; --more) {
      DLManagedTensorVersioned* share = nullptr;
      CheckStatus(DLBRIDGE_OK, dlbridge_share(tensor, &share, nullptr));
      Check("a share has the same data", share->dl_tensor.data == tensor->dl_tensor.data);
      CheckEqual("the flags of a share", tensor->flags, share->flags | (tensor->flags & kCopied));
      owners.push_back(share);
    }
    if (input->Flag()) {
      std::reverse(owners.begin(), owners.end());
    }
  }
  tensor->deleter(tensor);
  for (DLManagedTensorVersioned* owner : owners) {
    CheckEqual("releases before the last owner", 0, ended.count);
    owner->deleter(owner);
  }
}

// ------------------------------------------------------------------------------------------ wrap

struct Wrapped {
  Common common;
  std::vector<int64_t> strides;
  bool has_strides;
  DLBridgeWrapSpec spec;
  LayoutModel layout;
  bool skips;
};

int32_t ImpliedKind(int32_t type) {
  if (type == kDLOpenCL) {
    return DLBRIDGE_BUFFER_CL_MEM;
  }
  return IsHandle(type) ? DLBRIDGE_BUFFER_HANDLE : DLBRIDGE_BUFFER_ADDRESS;
}

bool IsBackendOf(int32_t backend, int32_t type) {
  switch (backend) {
    case DLBRIDGE_BACKEND_NONE:
      return true;
    case DLBRIDGE_BACKEND_CPU:
      return type == kDLCPU;
    case DLBRIDGE_BACKEND_CUDA:
      return type == kDLCUDA || type == kDLCUDAHost || type == kDLCUDAManaged;
    case DLBRIDGE_BACKEND_HIP:
      return type == kDLROCM || type == kDLROCMHost;
    case DLBRIDGE_BACKEND_LEVEL_ZERO:
      return type == kDLOneAPI;
    case DLBRIDGE_BACKEND_OPENCL:
      return type == kDLOneAPI || type == kDLOpenCL;
    default:
      return false;
  }
}

void TakeBuffer(Input* input, DLBridgeWrapSpec* spec) {
  spec->buffer.handle = input->OneIn(16) ? input->Any<uint64_t>() : 0x7000000000;
  spec->buffer.handle = input->OneIn(32) ? 0 : spec->buffer.handle;
  spec->byte_offset = input->OneIn(4) ? input->Below(4096) : 0;
  spec->byte_offset = input->OneIn(32) ? input->Any<uint64_t>() : spec->byte_offset;
  spec->buffer.kind = input->OneIn(16) ? static_cast<int32_t>(input->Between(-1, 5)) : 0;
  spec->buffer.backend = input->OneIn(16) ? static_cast<int32_t>(input->Between(-1, 7)) : 0;
  spec->buffer.reserved = input->OneIn(64) ? 1 : 0;
}

void TakeOptions(Input* input, Wrapped* wrapped) {
  DLBridgeWrapSpec* spec = &wrapped->spec;
  wrapped->skips = input->OneIn(8);
  spec->options = wrapped->skips ? DLBRIDGE_WRAP_SKIP_VALIDATION : 0;
  if (input->OneIn(4)) {
    spec->options |= DLBRIDGE_WRAP_LIMIT_BUFFER;
    spec->buffer_size = input->Below(600);
  }
  spec->options |= input->OneIn(8) ? DLBRIDGE_WRAP_RELEASE_ON_STREAM : 0;
  spec->options |= input->OneIn(64) ? 1U << input->Below(32) : 0;
  // Pinning takes the loader's lock, and RETAIN calls a driver: other tests cover them.
  spec->options &= ~uint32_t{DLBRIDGE_WRAP_PIN_PRODUCER | DLBRIDGE_WRAP_RETAIN};
  wrapped->skips = (spec->options & DLBRIDGE_WRAP_SKIP_VALIDATION) != 0;
}

Wrapped TakeWrapped(Input* input, Ended* ended) {
  Wrapped wrapped = {TakeCommon(input), {}, false, DLBRIDGE_WRAP_SPEC_INIT, {}, false};
  const Common& common = wrapped.common;
  DLBridgeWrapSpec* spec = &wrapped.spec;
  TakeBuffer(input, spec);
  TakeOptions(input, &wrapped);
  wrapped.has_strides = input->Flag();
  wrapped.strides = CompactStrides(common.shape);
  if (wrapped.has_strides && input->Flag()) {
    for (int64_t& stride : wrapped.strides) {
      stride = input->Number();
    }
  }
  spec->device = common.device;
  spec->dtype = common.dtype;
  spec->version = common.version;
  spec->tensor_flags = common.flags;
  spec->ndim = common.ndim;
  spec->release = input->OneIn(8) ? nullptr : Ended::Release;
  spec->release_context = ended;
  ended->nests = input->OneIn(8);
  return wrapped;
}

// The arrays in guarded memory; a NULL shape stays NULL.
void PlaceArrays(Input* input, Wrapped* wrapped) {
  const size_t bytes = wrapped->common.shape.size() * sizeof(int64_t);
  if (wrapped->common.shape.empty() || input->OneIn(64)) {
    return;
  }
  auto* shape = Blocks().Take<int64_t>(wrapped->common.shape.size());
  std::memcpy(shape, wrapped->common.shape.data(), bytes);
  wrapped->spec.shape = shape;
  if (wrapped->has_strides) {
    auto* strides = Blocks().Take<int64_t>(wrapped->strides.size());
    std::memcpy(strides, wrapped->strides.data(), bytes);
    wrapped->spec.strides = strides;
  }
}

void AddOptions(const Wrapped& wrapped, Statuses* statuses) {
  const DLBridgeWrapSpec& spec = wrapped.spec;
  const uint32_t known =
      DLBRIDGE_WRAP_SKIP_VALIDATION | DLBRIDGE_WRAP_LIMIT_BUFFER | DLBRIDGE_WRAP_RELEASE_ON_STREAM;
  if ((spec.options & 0xffU) != 0) {
    statuses->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  if ((spec.options & ~known & ~0xffU) != 0) {
    statuses->insert(DLBRIDGE_ERROR_TOO_NEW);
  }
  const bool limits = (spec.options & DLBRIDGE_WRAP_LIMIT_BUFFER) != 0;
  if ((spec.buffer_size != 0 && !limits) || (wrapped.skips && limits) ||
      ((spec.options & DLBRIDGE_WRAP_RELEASE_ON_STREAM) != 0 && spec.release == nullptr)) {
    statuses->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
}

void AddBuffer(const Wrapped& wrapped, Statuses* statuses) {
  const DLBridgeWrapSpec& spec = wrapped.spec;
  const int32_t type = TypeOf(spec.device);
  if (type == 0 && spec.device.device_id == 0) {
    statuses->insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  if ((spec.buffer.kind != 0 && spec.buffer.kind != ImpliedKind(type)) ||
      !IsBackendOf(spec.buffer.backend, type)) {
    statuses->insert({DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_ERROR_TOO_NEW});
  }
  if (spec.buffer.reserved != 0) {
    statuses->insert(DLBRIDGE_ERROR_TOO_NEW);
  }
}

void AddRules(const Wrapped& wrapped, Statuses* statuses) {
  const DLBridgeWrapSpec& spec = wrapped.spec;
  const auto* data = reinterpret_cast<const void*>(spec.buffer.handle);
  if (!IsValidDtype(spec.dtype) || spec.device.device_id < 0) {
    statuses->insert(DLBRIDGE_ERROR_INVALID_TENSOR);
  }
  if (spec.ndim >= 0 && spec.ndim <= DLBRIDGE_MAX_NDIM) {
    AddLayout(wrapped.layout, spec.device, data, spec.byte_offset, statuses);
  }
  const Wide begin = static_cast<Wide>(spec.byte_offset) + wrapped.layout.begin;
  const Wide end = static_cast<Wide>(spec.byte_offset) + wrapped.layout.end;
  const bool limits = (spec.options & DLBRIDGE_WRAP_LIMIT_BUFFER) != 0;
  if (limits && wrapped.layout.count != 0 && (begin < 0 || end > spec.buffer_size)) {
    statuses->insert(DLBRIDGE_ERROR_POLICY);
  }
}

Statuses ExpectWrapped(const Wrapped& wrapped) {
  Statuses statuses = ExpectCommon(wrapped.common, wrapped.spec.shape == nullptr);
  AddOptions(wrapped, &statuses);
  AddBuffer(wrapped, &statuses);
  AddCodes(wrapped.spec.device, wrapped.spec.dtype, wrapped.spec.tensor_flags,
           MinorOf(wrapped.spec.version), &statuses);
  if (!wrapped.skips) {
    AddRules(wrapped, &statuses);
  }
  return statuses;
}

// What a legacy tensor cannot record.
void AddLosses(const Wrapped& wrapped, Statuses* statuses) {
  const DLBridgeWrapSpec& spec = wrapped.spec;
  const bool padded = (spec.tensor_flags & kPadded) != 0 &&
                      ItemBitsOf(spec.dtype, kPadded) != ItemBitsOf(spec.dtype, 0);
  if ((spec.tensor_flags & kReadOnly) != 0 || padded || spec.dtype.code > kDLBool ||
      TypeOf(spec.device) > kDLHexagon) {
    statuses->insert(DLBRIDGE_ERROR_UNREPRESENTABLE);
  }
  if (spec.version.major != 0 || spec.version.minor != 0) {
    statuses->insert({DLBRIDGE_ERROR_VERSION, DLBRIDGE_ERROR_INVALID_ARGUMENT});
  }
}

void CheckWrapped(const Wrapped& wrapped, const DLTensor& tensor) {
  const DLBridgeWrapSpec& spec = wrapped.spec;
  const LayoutModel& layout = wrapped.layout;
  const bool emptied = layout.empty && !wrapped.skips;
  // Strides that are filled in mean nothing beside an extent that is not above 0 or too large.
  const bool compact = !wrapped.has_strides && !layout.empty && !layout.negative && layout.fits;
  const bool kept = wrapped.has_strides && !emptied;
  CheckAxes(tensor, wrapped.common.shape, compact || kept ? &wrapped.strides : nullptr);
  const bool host = IsHostLike(TypeOf(spec.device));
  CheckEqual("the device type", TypeOf(spec.device), TypeOf(tensor.device));
  CheckEqual("the device id", host && spec.device.device_id > 0 ? 0 : spec.device.device_id,
             tensor.device.device_id);
  Check("the dtype", std::memcmp(&tensor.dtype, &spec.dtype, sizeof spec.dtype) == 0);
  CheckEqual("the data", emptied ? 0 : spec.buffer.handle,
             uint64_t{reinterpret_cast<uintptr_t>(tensor.data)});
  Check("the byte offset", tensor.byte_offset == spec.byte_offset || emptied);
}

// After an error nothing was called, and the status is one of those expected.
void CheckOutcome(const Statuses& statuses, DLBridgeStatus status, const DLBridgeError& error,
                  const void* out, const Ended& ended) {
  CheckError(status, error);
  if (statuses.empty()) {
    CheckStatus(DLBRIDGE_OK, status);
  } else if (statuses.count(status) == 0) {
    Fail("the status", dlbridge_status_name(*statuses.begin()), dlbridge_status_name(status));
  }
  Check("either a tensor or an error", (status == DLBRIDGE_OK) == (out != nullptr));
  CheckEqual("releases", 0, ended.count);
}

void Wrap(Input* input) {
  Ended ended;
  Wrapped wrapped = TakeWrapped(input, &ended);
  PlaceArrays(input, &wrapped);
  wrapped.layout.shape = wrapped.common.shape;
  wrapped.layout.strides = wrapped.has_strides ? &wrapped.strides : nullptr;
  wrapped.layout.item_bits = ItemBitsOf(wrapped.spec.dtype, wrapped.spec.tensor_flags);
  wrapped.layout.Compute();
  Statuses statuses = ExpectWrapped(wrapped);
  DLBridgeError error = GarbageError();
  if (input->OneIn(3)) {
    AddLosses(wrapped, &statuses);
    const DLBridgeWrapSpec* spec = PlaceSpec(input, wrapped.spec, &statuses);
    DLManagedTensor* tensor = nullptr;
    const DLBridgeStatus status = dlbridge_wrap_legacy(spec, &tensor, &error);
    CheckOutcome(statuses, status, error, tensor, ended);
    if (tensor == nullptr) {
      return;
    }
    CheckWrapped(wrapped, tensor->dl_tensor);
    DLManagedTensorVersioned* upgraded = nullptr;
    if (input->Flag() && dlbridge_upgrade(tensor, nullptr, &upgraded, nullptr) == DLBRIDGE_OK) {
      CheckEqual("the flags after an upgrade", wrapped.spec.tensor_flags & ~kCopied,
                 upgraded->flags & ~kCopied);
      EndOwners(input, upgraded, ended);
    } else {
      EndOwners(input, tensor, ended);
    }
  } else {
    const DLBridgeWrapSpec* spec = PlaceSpec(input, wrapped.spec, &statuses);
    DLManagedTensorVersioned* tensor = nullptr;
    const DLBridgeStatus status = dlbridge_wrap(spec, &tensor, &error);
    CheckOutcome(statuses, status, error, tensor, ended);
    if (tensor == nullptr) {
      return;
    }
    CheckWrapped(wrapped, tensor->dl_tensor);
    CheckEqual("the flags", wrapped.spec.tensor_flags, tensor->flags);
    CheckEqual("the major version", 1U, tensor->version.major);
    CheckEqual("the minor version", std::min(MinorOf(wrapped.spec.version), 3U),
               tensor->version.minor);
    EndOwners(input, tensor, ended);
  }
  CheckEqual("releases", wrapped.spec.release != nullptr ? 1 : 0, ended.count);
  Check("the buffer of the callback",
        wrapped.spec.release == nullptr || ended.handle == wrapped.spec.buffer.handle);
}

// -------------------------------------------------------------------------------------- contexts

void ReleaseEntry(void* context, const DLBridgeContextEntry* /*entry*/) {
  ++static_cast<Ended*>(context)->count;
}

// A tensor keeps the entry of its context after that is unregistered.
void WrapInContext(Input* input) {
  Ended entry_end;
  Ended ended;
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = input->Flag() ? DLBRIDGE_BACKEND_LEVEL_ZERO : DLBRIDGE_BACKEND_OPENCL;
  entry.device = ToDevice(kDLOneAPI, kTableDevice);
  entry.native_device = 1;
  entry.context = 2;
  entry.release = ReleaseEntry;
  entry.release_context = &entry_end;
  uint64_t id = 0;
  CheckStatus(DLBRIDGE_OK, dlbridge_context_register(&entry, &id, nullptr));
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.device = entry.device;
  spec.dtype = {kDLFloat, 32, 1};
  spec.buffer.handle = 0x1000;
  spec.buffer.context = 2 + input->Below(2);
  spec.buffer.backend =
      input->Pick({DLBRIDGE_BACKEND_NONE, DLBRIDGE_BACKEND_LEVEL_ZERO, DLBRIDGE_BACKEND_OPENCL});
  spec.release = Ended::Release;
  spec.release_context = &ended;
  DLManagedTensorVersioned* tensor = nullptr;
  const DLBridgeStatus status = dlbridge_wrap(&spec, &tensor, nullptr);
  const bool named =
      spec.buffer.backend != DLBRIDGE_BACKEND_NONE && spec.buffer.backend != entry.backend;
  CheckStatus(spec.buffer.context != 2 ? DLBRIDGE_ERROR_NOT_FOUND
                                       : (named ? DLBRIDGE_ERROR_INVALID_ARGUMENT : DLBRIDGE_OK),
              status);
  CheckStatus(DLBRIDGE_OK, dlbridge_context_unregister(id, nullptr));
  CheckEqual("releases of the entry", tensor != nullptr ? 0 : 1, entry_end.count);
  if (tensor != nullptr) {
    EndOwners(input, tensor, ended);
  }
  CheckEqual("releases of the entry", 1, entry_end.count);
  CheckEqual("releases of the memory", tensor != nullptr ? 1 : 0, ended.count);
}

// -------------------------------------------------------------------------------------- allocate

struct Allocator {
  static constexpr uint64_t kMost = 8192;
  static constexpr uint64_t kMostAligned = 4096;  // the blocks begin at a page
  bool fails = false;
  int allocated = 0;
  int released = 0;
  void* memory = nullptr;
  uint64_t bytes = 0;
  uint64_t alignment = 0;
  DLDevice device = {};

  static void* Allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,
                        const DLBridgeStream* stream) {
    auto& self = *static_cast<Allocator*>(context);
    Check("a size, an alignment and no stream",
          bytes != 0 && alignment != 0 && (alignment & (alignment - 1)) == 0 && stream == nullptr);
    self.bytes = bytes;
    self.alignment = alignment;
    self.device = device;
    if (self.fails || bytes > kMost || alignment > kMostAligned) {
      return nullptr;
    }
    ++self.allocated;
    self.memory = Blocks().Take(static_cast<size_t>(bytes), static_cast<size_t>(alignment));
    return self.memory;
  }
  static void Deallocate(void* context, DLDevice device, void* memory, uint64_t bytes,
                         uint64_t alignment, const DLBridgeStream* stream) {
    auto& self = *static_cast<Allocator*>(context);
    ++self.released;
    Check("the values of the allocation",
          memory == self.memory && bytes == self.bytes && alignment == self.alignment &&
              std::memcmp(&device, &self.device, sizeof device) == 0 && stream == nullptr);
  }
};

struct Request {
  Common common;
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  DLBridgeAllocator functions = DLBRIDGE_ALLOCATOR_INIT;
  LayoutModel layout;
};

void TakeRequest(Input* input, Allocator* allocator, Request* request) {
  request->common = TakeCommon(input);
  const Common& common = request->common;
  DLBridgeAllocateSpec* spec = &request->spec;
  spec->options = input->OneIn(64) ? 1U << input->Below(32) : 0;
  spec->options &= ~uint32_t{DLBRIDGE_ALLOCATE_SHAREABLE};  // the target `ipc` has it
  spec->ndim = common.ndim;
  spec->dtype = common.dtype;
  spec->device = input->OneIn(8) ? ToDevice(0, 0) : common.device;
  spec->alignment = input->OneIn(4) ? uint64_t{1} << input->Below(14) : 0;
  spec->alignment = input->OneIn(64) ? input->Any<uint64_t>() : spec->alignment;
  // AddressSanitizer allocates up to 2^40 bytes, alignment included, and writes an eighth of that.
  constexpr uint64_t kSmall = uint64_t{1} << 30;
  if (spec->alignment > kSmall && spec->alignment <= kSmall << 10) {
    spec->alignment <<= 23;
  }
  spec->tensor_flags = common.flags;
  spec->version = common.version;
  if (!common.shape.empty() && !input->OneIn(64)) {
    auto* shape = Blocks().Take<int64_t>(common.shape.size());
    std::memcpy(shape, common.shape.data(), common.shape.size() * sizeof(int64_t));
    spec->shape = shape;
  }
  request->functions.context = allocator;
  request->functions.allocate = input->OneIn(64) ? nullptr : Allocator::Allocate;
  request->functions.deallocate = input->OneIn(64) ? nullptr : Allocator::Deallocate;
  allocator->fails = input->OneIn(8);
  request->layout.shape = common.shape;
  request->layout.item_bits = ItemBitsOf(common.dtype, common.flags);
  request->layout.Compute();
  // The system's allocator is asked for small memory only.
  const bool small = request->layout.packed <= Wide{1} << 20;
  spec->allocator = small && input->OneIn(3) ? nullptr : &request->functions;
}

Statuses ExpectAllocated(const Request& request, const Allocator& allocator) {
  const DLBridgeAllocateSpec& spec = request.spec;
  Common common = request.common;
  common.ndim = spec.ndim;
  Statuses statuses = ExpectCommon(common, spec.shape == nullptr);
  const int32_t type = TypeOf(spec.device);
  const bool is_default = type == 0 && spec.device.device_id == 0;
  const DLDevice device = is_default ? ToDevice(kDLCPU, 0) : spec.device;
  const bool power = (spec.alignment & (spec.alignment - 1)) == 0;
  const bool given = spec.allocator != nullptr;
  if ((spec.options & 0xffU) != 0 || !power ||
      (given &&
       (request.functions.allocate == nullptr || request.functions.deallocate == nullptr))) {
    statuses.insert(DLBRIDGE_ERROR_INVALID_ARGUMENT);
  }
  if ((spec.options & ~0xffU) != 0) {
    statuses.insert({DLBRIDGE_ERROR_TOO_NEW, DLBRIDGE_ERROR_INVALID_ARGUMENT});
  }
  if (!given && TypeOf(device) != kDLCPU) {
    statuses.insert(DLBRIDGE_ERROR_UNSUPPORTED);
  }
  if (!IsValidDtype(spec.dtype) || device.device_id < 0 || request.layout.negative ||
      !request.layout.fits) {
    statuses.insert(DLBRIDGE_ERROR_INVALID_TENSOR);
  }
  AddCodes(device, spec.dtype, spec.tensor_flags, MinorOf(spec.version), &statuses);
  const uint64_t alignment = spec.alignment != 0 ? spec.alignment : 256;
  if (request.layout.count != 0 &&
      (given ? allocator.fails || request.layout.packed > Allocator::kMost ||
                   alignment > Allocator::kMostAligned
             : !power || alignment > Wide{1} << 30)) {
    statuses.insert(DLBRIDGE_ERROR_OUT_OF_MEMORY);
  }
  return statuses;
}

void CheckAllocated(const Request& request, const Allocator& allocator,
                    const DLManagedTensorVersioned& managed) {
  const DLTensor& tensor = managed.dl_tensor;
  const std::vector<int64_t> strides = CompactStrides(request.common.shape);
  CheckAxes(tensor, request.common.shape, request.layout.empty ? nullptr : &strides);
  CheckEqual("the flags", request.spec.tensor_flags, managed.flags);
  CheckEqual("the byte offset", uint64_t{0}, tensor.byte_offset);
  const auto bytes = static_cast<size_t>(request.layout.packed);
  if (request.layout.empty) {
    Check("an empty tensor has no data", tensor.data == nullptr && allocator.allocated == 0);
    return;
  }
  const bool given = request.spec.allocator != nullptr;
  CheckEqual("allocations", given ? 1 : 0, allocator.allocated);
  if (given) {
    Check("the memory of the allocator", tensor.data == allocator.memory);
    CheckEqual("bytes", uint64_t{bytes}, allocator.bytes);
  }
  const uint64_t alignment = request.spec.alignment != 0 ? request.spec.alignment : 256;
  Check("the alignment", reinterpret_cast<uintptr_t>(tensor.data) % alignment == 0);
  std::memset(tensor.data, 0x3C, bytes);
}

void Allocate(Input* input) {
  Ended ended;
  Allocator allocator;
  Request request;
  TakeRequest(input, &allocator, &request);
  Statuses statuses = ExpectAllocated(request, allocator);
  const DLBridgeAllocateSpec* spec = PlaceSpec(input, request.spec, &statuses);
  DLManagedTensorVersioned* tensor = nullptr;
  DLBridgeError error = GarbageError();
  const DLBridgeStatus status = dlbridge_allocate(spec, &tensor, &error);
  CheckOutcome(statuses, status, error, tensor, ended);
  CheckEqual("releases", 0, allocator.released);
  if (tensor != nullptr) {
    CheckAllocated(request, allocator, *tensor);
    EndOwners(input, tensor, ended);
  }
  CheckEqual("releases", allocator.allocated, allocator.released);
}

void Run(Input* input) {
  const uint8_t way = input->Byte();
  if (way >= 248) {
    WrapInContext(input);
  } else if (way % 3 == 0) {
    Allocate(input);
  } else {
    Wrap(input);
  }
  Blocks().Reset();
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return dlbridge_fuzz::RunWithoutDrivers(data, size, dlbridge_fuzz::Run);
}
