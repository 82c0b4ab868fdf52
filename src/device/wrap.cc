// SPDX-License-Identifier: Apache-2.0
// Tensors of native memory: a pointer or handle, and who is told when it is no longer used.
#include "convert.h"
#include "device.h"
#include "device/backend.h"
#include "device/table.h"
#include "module.h"
#include "node.h"
#include "support/boundary.h"

namespace dlbridge {
namespace {

constexpr uint32_t kKnownOptions =
    DLBRIDGE_WRAP_SKIP_VALIDATION | DLBRIDGE_WRAP_PIN_PRODUCER | DLBRIDGE_WRAP_RETAIN;

constexpr uint32_t kSkip = DLBRIDGE_CONVERT_SKIP_VALIDATION;

// The kind of buffer that belongs to a device type.
int32_t KindOf(int32_t type) {
  if (type == kDLOpenCL) {
    return DLBRIDGE_BUFFER_CL_MEM;
  }
  return DeviceTypeOf(type).data == DataIs::kHandle ? DLBRIDGE_BUFFER_HANDLE
                                                    : DLBRIDGE_BUFFER_ADDRESS;
}

DLBridgeStatus CheckNative(const DLBridgeWrapSpec& spec, DLBridgeError* error) {
  const int32_t type = TypeOf(spec.device);
  if (DLBRIDGE_UNLIKELY(spec.buffer.kind != KindOf(type))) {
    return RefuseArgument(error, "spec.buffer.kind",
                          "must be CL_MEM for OpenCL, HANDLE for Vulkan, Metal, WebGPU and VPI, "
                          "else ADDRESS; SVM and USM become a cl_mem by CL_MEM_USE_HOST_PTR");
  }
  if (DLBRIDGE_UNLIKELY(!IsBackendOf(spec.buffer.backend, type))) {
    return RefuseArgument(error, "spec.buffer.backend", "must be NONE or a backend of the device");
  }
  if (DLBRIDGE_UNLIKELY((spec.options & DLBRIDGE_WRAP_RETAIN) != 0 &&
                        spec.buffer.kind != DLBRIDGE_BUFFER_CL_MEM)) {
    return RefuseArgument(error, "spec.options", "must ask for RETAIN only with a CL_MEM");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckWrapOptions(const DLBridgeWrapSpec& spec, DLBridgeError* error) {
  if ((spec.options & ~kKnownOptions) != 0) {
    return RefuseArgument(error, "spec.options", "has a bit that this library does not know");
  }
  if (spec.reserved[0] != 0 || spec.reserved[1] != 0) {
    return RefuseArgument(error, "spec.reserved", "must be zero");
  }
  if (spec.version.major != kMajor && (spec.version.major != 0 || spec.version.minor != 0)) {
    return RefuseArgument(error, "spec.version", "must be of major 1, or {0, 0} for the newest");
  }
  const bool vouched = (spec.options & DLBRIDGE_WRAP_SKIP_VALIDATION) != 0;
  if (vouched && (spec.policy != nullptr || spec.buffer_size != UINT64_MAX)) {
    return RefuseArgument(error, "spec.options",
                          "must not skip validation where a policy or a buffer_size is given");
  }
  return DLBRIDGE_OK;
}

// What the layout is checked by. `storage` is used where the caller demands something.
DLBridgeStatus ReadWrapOptions(const DLBridgeWrapSpec& spec, Options* storage,
                               DLBridgeError* error) {
  DLBRIDGE_TRY(CheckWrapOptions(spec, error));
  *storage = kDefaultOptions;
  storage->flags = (spec.options & DLBRIDGE_WRAP_SKIP_VALIDATION) != 0 ? kSkip : 0;
  storage->version = SharedVersion(spec.version);
  const Policy* policy = nullptr;
  DLBRIDGE_TRY(ResolvePolicy(spec.policy, &storage->policy_storage, &policy, error));
  if (spec.buffer_size < policy->buffer_size) {
    storage->policy_storage = *policy;
    storage->policy_storage.buffer_size = spec.buffer_size;
    storage->policy_storage.demands = true;
    policy = &storage->policy_storage;
  }
  storage->policy = policy;
  return DLBRIDGE_OK;
}

DLBRIDGE_INLINE DLTensor TensorOf(const DLBridgeWrapSpec& spec) {
  return {reinterpret_cast<void*>(spec.buffer.handle),
          CanonicalDevice(spec.device),
          spec.ndim,
          spec.dtype,
          const_cast<int64_t*>(spec.shape),
          const_cast<int64_t*>(spec.strides),
          spec.byte_offset};
}

// A node with arrays and layout, not yet anybody's.
DLBRIDGE_INLINE DLBridgeStatus MakeWrapped(const DLTensor& tensor, const DLBridgeWrapSpec& spec,
                                           const Options& options, Node** out,
                                           DLBridgeError* error) {
  const Subject subject = BareSubject(&tensor, spec.flags, true);
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  Node* node = AllocateNode(tensor.ndim, sizeof(WrapTail));
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RefuseMemory(error);
  }
  InitNode(node, tensor.ndim, spec.flags);
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!Snapshot(subject, options, node, &sink))) {
    DiscardNode(node);
    return sink.failure();
  }
  *out = node;
  return DLBRIDGE_OK;
}

// The context that the memory belongs to, kept for the tensor.
DLBridgeStatus KeepContext(const DLBridgeWrapSpec& spec, uint64_t* entry, DLBridgeError* error) {
  if (spec.buffer.context == 0) {
    return DLBRIDGE_OK;
  }
  DLBridgeContextEntry found;
  DLBRIDGE_TRY(FindContext(spec.device, spec.buffer.context, &found, error));
  if (spec.buffer.backend != DLBRIDGE_BACKEND_NONE && spec.buffer.backend != found.backend) {
    return RefuseArgument(error, "spec.buffer.backend",
                          "must be that of the context, which the table has under another");
  }
  if (SharedTable().retain(found.id) != DLBRIDGE_OK) {
    return RefuseStatus(error, DLBRIDGE_ERROR_NOT_FOUND, "spec.buffer.context",
                        "was unregistered meanwhile: register it for as long as it is used");
  }
  *entry = found.id;
  return DLBRIDGE_OK;
}

DLBridgeStatus KeepHandle(const DLBridgeWrapSpec& spec, bool* retained, DLBridgeError* error) {
  const bool retain = (spec.options & DLBRIDGE_WRAP_RETAIN) != 0;
  if (spec.buffer.kind != DLBRIDGE_BUFFER_CL_MEM || spec.buffer.handle == 0 ||
      (spec.buffer.context == 0 && !retain)) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(StartBackend(kOpenClBackend, error));
  DLBRIDGE_TRY(kOpenClBackend.check_handle(spec.buffer, error));
  if (retain) {
    DLBRIDGE_TRY(kOpenClBackend.retain_handle(spec.buffer, error));
    *retained = true;
  }
  return DLBRIDGE_OK;
}

}  // namespace

void LetGo(const WrapTail& tail) {
  if (tail.retained) {
    kOpenClBackend.release_handle(tail.buffer);
  }
  if (tail.entry != 0) {
    SharedTable().release(tail.entry);
  }
}

namespace {

// All that the tensor keeps besides its memory; on failure it keeps nothing.
DLBridgeStatus Keep(const DLBridgeWrapSpec& spec, WrapTail* tail, DLBridgeError* error) {
  DLBridgeStatus status = KeepContext(spec, &tail->entry, error);
  if (status == DLBRIDGE_OK) {
    status = KeepHandle(spec, &tail->retained, error);
  }
  if (status == DLBRIDGE_OK && (spec.options & DLBRIDGE_WRAP_PIN_PRODUCER) != 0 &&
      spec.release != nullptr) {
    status = PinModule(reinterpret_cast<const void*>(spec.release), error);
  }
  if (status != DLBRIDGE_OK) {
    LetGo(*tail);
  }
  return status;
}

bool KeepsSomething(const DLBridgeWrapSpec& spec) {
  return spec.buffer.context != 0 ||
         (spec.options & (DLBRIDGE_WRAP_RETAIN | DLBRIDGE_WRAP_PIN_PRODUCER)) != 0;
}

// Field by field: through a struct of its own, compilers go by way of the stack.
DLBRIDGE_INLINE void FillTail(const DLBridgeWrapSpec& spec, WrapTail* tail) {
  tail->release = spec.release;
  tail->context = spec.release_context;
  tail->buffer = spec.buffer;
  tail->entry = 0;
  tail->retained = false;
}

// `node` becomes the root of the memory, whose last step cannot fail.
DLBridgeStatus Own(const DLBridgeWrapSpec& spec, Node* node, DLBridgeError* error) {
  auto* tail = static_cast<WrapTail*>(node->tail());
  FillTail(spec, tail);
  if (KeepsSomething(spec)) {
    const DLBridgeStatus status = Keep(spec, tail, error);
    if (status != DLBRIDGE_OK) {
      DiscardNode(node);
      return status;
    }
  }
  BecomeRoot(node, SourceKind::kWrapped, nullptr);
  return DLBRIDGE_OK;
}

// A type that the newest release knows, whose data is no handle, and a label that stays as it is.
DLBRIDGE_INLINE bool IsUsualDevice(const DLDevice& device) {
  constexpr uint64_t kHandles =
      DeviceSet([](const DeviceType& type) { return type.data == DataIs::kHandle; });
  constexpr uint64_t kDevices = DevicesKnownTo(kNewestVersion) & ~kHandles;
  constexpr uint64_t kHostLike = DeviceSet([](const DeviceType& type) { return type.host_like; });
  const auto type = static_cast<uint32_t>(TypeOf(device));
  return type < 64 && ((kDevices >> type) & 1) != 0 &&
         (device.device_id == 0 || ((kHostLike >> type) & 1) == 0);
}

// Nothing is asked for but a layout, of an address and with all codes known; it needs no driver, no
// table and no second look. One comparison for all that should be zero.
DLBRIDGE_INLINE bool IsUsual(const DLBridgeWrapSpec& spec) {
  const uint64_t rest =
      (spec.struct_size ^ sizeof spec) | (spec.options & ~uint32_t{DLBRIDGE_WRAP_SKIP_VALIDATION}) |
      Packed(spec.version) | ~spec.buffer_size | reinterpret_cast<uintptr_t>(spec.policy) |
      spec.reserved[0] | spec.reserved[1] | spec.buffer.context |
      static_cast<uint32_t>(spec.buffer.backend) |
      static_cast<uint32_t>(spec.buffer.kind ^ DLBRIDGE_BUFFER_ADDRESS) | (spec.flags & ~kAllFlags);
  return rest == 0 && spec.ndim >= 0 && (spec.shape != nullptr || spec.ndim == 0) &&
         spec.dtype.code < DtypesKnownTo(kNewestVersion) && IsUsualDevice(spec.device);
}

// The caller vouches: what is left is a node, in which everything stands as it was given.
DLBRIDGE_NOINLINE DLBridgeStatus WrapVouched(const DLBridgeWrapSpec& spec,
                                             DLManagedTensorVersioned** out, DLBridgeError* error) {
  const int32_t ndim = spec.ndim;
  Node* node = AllocateNode(ndim, sizeof(WrapTail));
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RefuseMemory(error);
  }
  InitNode(node, ndim, spec.flags);
  CopyAxes(ndim, spec.shape, spec.strides, node->shape(), node->strides());
  const DLTensor tensor = {reinterpret_cast<void*>(spec.buffer.handle),
                           spec.device,
                           ndim,
                           spec.dtype,
                           nullptr,
                           nullptr,
                           spec.byte_offset};
  FillVersioned(node, tensor, ToDLPack(kNewestVersion));
  FillTail(spec, static_cast<WrapTail*>(node->tail()));
  BecomeRoot(node, SourceKind::kWrapped, nullptr);
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

// Inlined into each of its callers, which differ in what is known of the options.
DLBRIDGE_INLINE DLBridgeStatus WrapBy(const DLBridgeWrapSpec& spec, const Options& options,
                                      DLManagedTensorVersioned** out, DLBridgeError* error) {
  const DLTensor tensor = TensorOf(spec);
  Node* node = nullptr;
  DLBRIDGE_TRY(MakeWrapped(tensor, spec, options, &node, error));
  DLBRIDGE_TRY(Own(spec, node, error));
  FillVersioned(node, tensor, ToDLPack(options.version));
  if (DLBRIDGE_UNLIKELY(!options.Has(kSkip) && HasZero(tensor.ndim, node->shape()))) {
    Reform(PlainOptions<DLBRIDGE_CONVERT_CANONICAL>::kValue, node, &node->versioned.dl_tensor);
  }
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

DLBRIDGE_NOINLINE DLBridgeStatus WrapValidated(const DLBridgeWrapSpec& spec,
                                               DLManagedTensorVersioned** out,
                                               DLBridgeError* error) {
  return WrapBy(spec, kDefaultOptions, out, error);
}

DLBRIDGE_NOINLINE DLBridgeStatus WrapAsDemanded(const DLBridgeWrapSpec& spec,
                                                DLManagedTensorVersioned** out,
                                                DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(&spec, "spec", error));
  DLBRIDGE_TRY(CheckNative(spec, error));
  Options options;
  DLBRIDGE_TRY(ReadWrapOptions(spec, &options, error));
  return WrapBy(spec, options, out, error);
}

DLBridgeStatus WrapLegacy(const DLBridgeWrapSpec& spec, DLManagedTensor** out,
                          DLBridgeError* error) {
  if (spec.version.major != 0 || spec.version.minor != 0) {
    return RefuseArgument(error, "spec.version", "must be {0, 0} for a legacy tensor");
  }
  Options options;
  DLBRIDGE_TRY(ReadWrapOptions(spec, &options, error));
  const DLTensor tensor = TensorOf(spec);
  DLBRIDGE_TRY(CheckLosses(tensor, spec.flags, options, error));
  Node* node = nullptr;
  DLBRIDGE_TRY(MakeWrapped(tensor, spec, options, &node, error));
  DLBRIDGE_TRY(Own(spec, node, error));
  FillLegacy(node, tensor);
  if (!options.Has(kSkip) && HasZero(tensor.ndim, node->shape())) {
    Reform(PlainOptions<DLBRIDGE_CONVERT_CANONICAL>::kValue, node, &node->legacy.dl_tensor);
  }
  *out = &node->legacy;
  return DLBRIDGE_OK;
}

}  // namespace

}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_wrap(const DLBridgeWrapSpec* spec, DLManagedTensorVersioned** out,
                             DLBridgeError* error) {
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(out);
  if (DLBRIDGE_UNLIKELY(!dlbridge::IsUsual(*spec))) {
    return dlbridge::WrapAsDemanded(*spec, out, error);
  }
  return spec->options == 0 ? dlbridge::WrapValidated(*spec, out, error)
                            : dlbridge::WrapVouched(*spec, out, error);
}

DLBridgeStatus dlbridge_wrap_legacy(const DLBridgeWrapSpec* spec, DLManagedTensor** out,
                                    DLBridgeError* error) {
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_TRY(dlbridge::CheckStruct(spec, "spec", error));
  DLBRIDGE_TRY(dlbridge::CheckNative(*spec, error));
  return dlbridge::WrapLegacy(*spec, out, error);
}

}  // extern "C"
