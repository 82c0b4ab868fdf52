// SPDX-License-Identifier: Apache-2.0
// Tensors of native memory: a pointer or handle, and the callback that releases it.
#include "describe/boundary.h"
#include "describe/device.h"
#include "describe/known_values.h"
#include "native/backend.h"
#include "native/table.h"
#include "protocol/convert.h"
#include "protocol/module.h"
#include "support/text.h"
#include "tensor/node.h"

namespace dlbridge {
namespace {

constexpr uint32_t kSkip = DLBRIDGE_CONVERT_SKIP_VALIDATION;

bool Has(const DLBridgeWrapSpec& spec, uint32_t option) { return (spec.options & option) != 0; }

DLBridgeStatus CheckNative(const DLBridgeWrapSpec& spec, DLBridgeError* error) {
  const int32_t type = TypeOf(spec.device);
  if (type == 0 && spec.device.device_id == 0) {
    return RejectArgument(error, "spec.device", "is not set");
  }
  if (Packed(spec.dtype) == 0) {
    return RejectArgument(error, "spec.dtype", "is not set");
  }
  const int32_t implied = ImpliedBufferKind(type);
  if (spec.buffer.kind != DLBRIDGE_BUFFER_DEFAULT && spec.buffer.kind != implied) {
    return RejectEnum(
        error, "spec.buffer.kind",
        "must be 0, or CL_MEM (2) for OpenCL, HANDLE (3) for Vulkan, Metal, WebGPU and VPI, else "
        "ADDRESS (1); turn SVM and USM into a cl_mem with CL_MEM_USE_HOST_PTR",
        spec.buffer.kind, kLastBuffer);
  }
  DLBRIDGE_TRY(CheckReserved(spec.buffer.reserved, "spec.buffer", error));
  if (!IsBackendOf(spec.buffer.backend, type)) {
    return RejectBackend(error, "spec.buffer.backend", spec.device, spec.buffer.backend);
  }
  if (Has(spec, DLBRIDGE_WRAP_RETAIN) && implied != DLBRIDGE_BUFFER_CL_MEM) {
    return RejectDevice(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.options",
                        "has DLBRIDGE_WRAP_RETAIN, which is only for OpenCL", spec.device);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckWrapOptions(const DLBridgeWrapSpec& spec, DLBridgeError* error) {
  DLBRIDGE_TRY(CheckOptionBits(spec.options, kKnownWrapBits, "spec.options", error));
  DLBRIDGE_TRY(CheckResultVersion(spec.version, "spec.version", error));
  if (spec.buffer_size != 0 && !Has(spec, DLBRIDGE_WRAP_LIMIT_BUFFER)) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.buffer_size",
                       "must be 0 without DLBRIDGE_WRAP_LIMIT_BUFFER", spec.buffer_size);
  }
  if (Has(spec, DLBRIDGE_WRAP_SKIP_VALIDATION) && spec.policy != nullptr) {
    return RejectArgument(error, "spec.options",
                          "has DLBRIDGE_WRAP_SKIP_VALIDATION, which excludes a policy, found a "
                          "policy");
  }
  if (Has(spec, DLBRIDGE_WRAP_SKIP_VALIDATION) && Has(spec, DLBRIDGE_WRAP_LIMIT_BUFFER)) {
    return RejectArgument(error, "spec.options",
                          "has DLBRIDGE_WRAP_SKIP_VALIDATION, which excludes "
                          "DLBRIDGE_WRAP_LIMIT_BUFFER, found both");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckRelease(const DLBridgeWrapSpec& spec, DLBridgeError* error) {
  return spec.release != nullptr || !Has(spec, DLBRIDGE_WRAP_RELEASE_ON_STREAM)
             ? DLBRIDGE_OK
             : RejectArgument(error, "spec.release",
                              "is NULL, but spec.options has DLBRIDGE_WRAP_RELEASE_ON_STREAM");
}

// Takes the smaller of the policy's buffer size and the spec's.
void LimitBuffer(uint64_t size, Options* options) {
  const Policy* policy = options->policy;
  if (policy->Has(DLBRIDGE_POLICY_LIMIT_BUFFER) && policy->buffer_size <= size) {
    return;
  }
  options->policy_storage = *policy;
  options->policy_storage.options |= DLBRIDGE_POLICY_LIMIT_BUFFER;
  options->policy_storage.buffer_size = size;
  options->policy_storage.demands = true;
  options->policy = &options->policy_storage;
}

// The options for the check of the layout.
DLBridgeStatus ReadWrapOptions(const DLBridgeWrapSpec& spec, Options* storage,
                               DLBridgeError* error) {
  DLBRIDGE_TRY(CheckWrapOptions(spec, error));
  DLBRIDGE_TRY(CheckRelease(spec, error));
  *storage = kDefaultOptions;
  storage->options = Has(spec, DLBRIDGE_WRAP_SKIP_VALIDATION) ? kSkip : 0;
  storage->version = SharedVersion(spec.version);
  DLBRIDGE_TRY(ResolvePolicy(spec.policy, &storage->policy_storage, &storage->policy, error));
  if (Has(spec, DLBRIDGE_WRAP_LIMIT_BUFFER)) {
    LimitBuffer(spec.buffer_size, storage);
  }
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

// Makes a node with arrays and layout that owns nothing yet.
DLBridgeStatus MakeWrapped(const DLTensor& tensor, const DLBridgeWrapSpec& spec,
                           const Options& options, Node** out, DLBridgeError* error) {
  const Subject subject = {
      tensor, spec.tensor_flags, {0, 0}, 0, (spec.tensor_flags & kReadOnly) == 0};
  DLBRIDGE_TRY(CheckSource(subject, options, error));
  Node* node = AllocateNode(tensor.ndim, sizeof(WrapTail));
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectMemory(error);
  }
  InitNode(node, tensor.ndim, spec.tensor_flags);
  FirstBroken sink(error);
  if (DLBRIDGE_UNLIKELY(!Snapshot(subject, options, node, &sink))) {
    DiscardNode(node);
    return sink.failure();
  }
  *out = node;
  return DLBRIDGE_OK;
}

bool HasMem(const DLBridgeWrapSpec& spec) {
  return TypeOf(spec.device) == kDLOpenCL && spec.buffer.handle != 0;
}

// Retains the table's entry of the memory's context. A cl_mem needs no entry: its driver knows the
// context.
DLBridgeStatus KeepContext(const DLBridgeWrapSpec& spec, WrapTail* tail, DLBridgeError* error) {
  if (spec.buffer.context == 0) {
    return DLBRIDGE_OK;
  }
  DLBridgeContextEntry found;
  if (HasMem(spec) &&
      SharedTable().find(spec.device, spec.buffer.context, &found) == DLBRIDGE_ERROR_NOT_FOUND) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(FindContext(spec.device, spec.buffer.context, &found, error));
  if (spec.buffer.backend != DLBRIDGE_BACKEND_NONE && spec.buffer.backend != found.backend) {
    char problem[80];
    TextWriter(problem, sizeof problem)
        .String("must be the backend of the context's entry in the table, ")
        .Signed(found.backend);
    return RejectEnum(error, "spec.buffer.backend", problem, spec.buffer.backend, kLastBackend);
  }
  if (SharedTable().retain(found.id) != DLBRIDGE_OK) {
    return RejectStatus(error, DLBRIDGE_ERROR_NOT_FOUND, "spec.buffer.context",
                        "was unregistered by another thread: keep it registered while it is used");
  }
  tail->entry = found.id;
  tail->driver = found.backend;
  return DLBRIDGE_OK;
}

// The buffer with the kind that its device implies.
DLBRIDGE_INLINE DLBridgeBuffer BufferOf(const DLBridgeWrapSpec& spec) {
  DLBridgeBuffer buffer = spec.buffer;
  buffer.kind = ImpliedBufferKind(TypeOf(spec.device));
  return buffer;
}

// Checks a cl_mem and retains it if that is asked for, or if no entry keeps its context.
DLBridgeStatus KeepHandle(const DLBridgeWrapSpec& spec, WrapTail* tail, DLBridgeError* error) {
  const bool named = spec.buffer.context != 0;
  const bool retain = Has(spec, DLBRIDGE_WRAP_RETAIN) || (named && tail->entry == 0);
  if (!HasMem(spec) || !(named || retain)) {
    return DLBRIDGE_OK;
  }
  const bool writable = (spec.tensor_flags & kReadOnly) == 0;
  DLBRIDGE_TRY(StartDriver(kOpenClBackend, error));
  DLBRIDGE_TRY(kOpenClBackend.check_handle(tail->buffer, spec.device, writable, error));
  if (retain) {
    DLBRIDGE_TRY(kOpenClBackend.retain_handle(tail->buffer, error));
    tail->retained = true;
  }
  return DLBRIDGE_OK;
}

}  // namespace

void EndKeeping(const WrapTail& tail) {
  if (tail.retained) {
    kOpenClBackend.release_handle(tail.buffer);
  }
  if (tail.entry != 0) {
    SharedTable().release(tail.entry);
  }
}

namespace {

// Acquires all that the tensor keeps besides its memory. On failure nothing stays acquired.
DLBridgeStatus Keep(const DLBridgeWrapSpec& spec, WrapTail* tail, DLBridgeError* error) {
  DLBridgeStatus status = KeepContext(spec, tail, error);
  if (status == DLBRIDGE_OK) {
    status = KeepHandle(spec, tail, error);
  }
  if (status == DLBRIDGE_OK && (spec.options & DLBRIDGE_WRAP_PIN_PRODUCER) != 0 &&
      spec.release != nullptr) {
    status = PinModule(reinterpret_cast<const void*>(spec.release), error);
  }
  if (status != DLBRIDGE_OK) {
    EndKeeping(*tail);
  }
  return status;
}

bool KeepsSomething(const DLBridgeWrapSpec& spec) {
  return spec.buffer.context != 0 ||
         (spec.options & (DLBRIDGE_WRAP_RETAIN | DLBRIDGE_WRAP_PIN_PRODUCER)) != 0;
}

// Field by field: compilers copy a local struct through the stack.
DLBRIDGE_INLINE void FillTail(const DLBridgeWrapSpec& spec, WrapTail* tail) {
  tail->release = spec.release;
  tail->context = spec.release_context;
  tail->buffer = BufferOf(spec);
  tail->entry = 0;
  tail->driver = DLBRIDGE_BACKEND_NONE;
  tail->retained = false;
  tail->on_stream = false;
}

// Makes `node` the root of the memory. The last step cannot fail.
DLBridgeStatus Own(const DLBridgeWrapSpec& spec, Node* node, DLBridgeError* error) {
  auto* tail = static_cast<WrapTail*>(node->tail());
  FillTail(spec, tail);
  tail->on_stream = Has(spec, DLBRIDGE_WRAP_RELEASE_ON_STREAM);
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

// Is the type known to the newest release and its data not a handle, and is the label canonical?
DLBRIDGE_INLINE bool IsUsualDevice(const DLDevice& device) {
  constexpr uint64_t kHandles =
      DeviceSet([](const DeviceType& type) { return type.data == DataIs::kHandle; });
  constexpr uint64_t kDevices = DevicesKnownTo(kNewestVersion) & ~kHandles;
  constexpr uint64_t kHostLike = DeviceSet([](const DeviceType& type) { return type.host_like; });
  const auto type = static_cast<uint32_t>(TypeOf(device));
  return type < 64 && ((kDevices >> type) & 1) != 0 &&
         (device.device_id == 0 || ((kHostLike >> type) & 1) == 0);
}

// Does the spec have only a layout, of an address and with known codes? Then it needs neither a
// driver nor the table. One comparison covers all fields that must be zero; struct_size is read
// before the rest.
DLBRIDGE_INLINE bool IsUsual(const DLBridgeWrapSpec* spec) {
  if (DLBRIDGE_UNLIKELY(SizeOf(spec) != sizeof *spec)) {
    return false;
  }
  const uint64_t rest =
      (spec->options & ~uint32_t{DLBRIDGE_WRAP_SKIP_VALIDATION}) | spec->version.major |
      spec->version.minor | spec->buffer_size | reinterpret_cast<uintptr_t>(spec->policy) |
      spec->buffer.context | spec->buffer.reserved | static_cast<uint32_t>(spec->buffer.backend) |
      (static_cast<uint32_t>(spec->buffer.kind) & ~uint32_t{DLBRIDGE_BUFFER_ADDRESS}) |
      (spec->tensor_flags & ~kAllFlags);
  return rest == 0 && !IsAbove(spec->ndim, DLBRIDGE_MAX_NDIM) &&
         (spec->shape != nullptr || spec->ndim == 0) && Packed(spec->dtype) != 0 &&
         spec->dtype.code < DtypesKnownTo(kNewestVersion) && IsUsualDevice(spec->device);
}

// Makes `node` the root of the memory of a usual spec, except for its arrays.
DLBRIDGE_INLINE void FillUsual(const DLBridgeWrapSpec& spec, uint64_t ndim, Node* node) {
  constexpr DLPackVersion kLabel = ToDLPack(kDefaultVersion);
  const RootFields fields = {spec.tensor_flags, kLabel.minor, SourceKind::kWrapped, false, false};
  InitRoot(node, ndim, fields, nullptr);
  DLManagedTensorVersioned& made = node->versioned;
  made.version.major = kLabel.major;
  made.version.minor = kLabel.minor;
  made.manager_ctx = node;
  made.deleter = DeleteVersioned;
  made.flags = spec.tensor_flags;
  made.dl_tensor.data = reinterpret_cast<void*>(spec.buffer.handle);
  made.dl_tensor.device = spec.device;
  made.dl_tensor.ndim = static_cast<int32_t>(ndim);
  made.dl_tensor.dtype = spec.dtype;
  auto* shape = reinterpret_cast<int64_t*>(node + 1);
  made.dl_tensor.shape = shape;
  made.dl_tensor.strides = shape + ndim;
  made.dl_tensor.byte_offset = spec.byte_offset;
  auto* tail = reinterpret_cast<WrapTail*>(shape + 2 * ndim);
  tail->release = spec.release;
  tail->context = spec.release_context;
  tail->buffer.backend = DLBRIDGE_BACKEND_NONE;
  tail->buffer.kind = DLBRIDGE_BUFFER_ADDRESS;
  tail->buffer.handle = spec.buffer.handle;
  tail->buffer.context = 0;
  tail->buffer.reserved = 0;
  tail->entry = 0;
  tail->driver = DLBRIDGE_BACKEND_NONE;
  tail->retained = false;
  tail->on_stream = false;
}

// Without validation: makes a node with everything as it was given.
DLBRIDGE_NOINLINE DLBridgeStatus WrapUnchecked(const DLBridgeWrapSpec& spec,
                                               DLManagedTensorVersioned** out,
                                               DLBridgeError* error) {
  const auto ndim = static_cast<uint32_t>(spec.ndim);
  auto* node = static_cast<Node*>(std::malloc(NodeSize(ndim) + sizeof(WrapTail)));
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectMemory(error);
  }
  FillUsual(spec, ndim, node);
  auto* shape = reinterpret_cast<int64_t*>(node + 1);
  CopyAxes(static_cast<int32_t>(ndim), spec.shape, spec.strides, shape, shape + ndim);
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

DLBridgeStatus WrapBy(const DLBridgeWrapSpec& spec, const Options& options,
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

DLBRIDGE_NOINLINE DLBridgeStatus WrapGenerally(const DLBridgeWrapSpec& spec,
                                               DLManagedTensorVersioned** out,
                                               DLBridgeError* error) {
  return WrapBy(spec, kDefaultOptions, out, error);
}

// Fast path: the spec has only a layout. A tensor that is not compact, is empty or breaks a rule
// takes the general path.
DLBRIDGE_NOINLINE DLBridgeStatus WrapValidated(const DLBridgeWrapSpec& spec,
                                               DLManagedTensorVersioned** out,
                                               DLBridgeError* error) {
  const Subject subject = {TensorOf(spec), spec.tensor_flags, {0, 0}, 0, true};
  if (DLBRIDGE_UNLIKELY(!IsPlainHead(subject) || spec.buffer.handle == 0)) {
    return WrapGenerally(spec, out, error);
  }
  Node* node = AllocateNode(spec.ndim, sizeof(WrapTail));
  if (DLBRIDGE_UNLIKELY(node == nullptr)) {
    return RejectMemory(error);
  }
  auto* shape = reinterpret_cast<int64_t*>(node + 1);
  const int64_t count =
      ScanPlain<true>(spec.ndim, spec.shape, spec.strides, shape, shape + spec.ndim);
  if (DLBRIDGE_UNLIKELY(count == 0 || !FitsPlain(subject, count))) {
    DiscardNode(node);
    return WrapGenerally(spec, out, error);
  }
  FillUsual(spec, static_cast<uint32_t>(spec.ndim), node);
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

DLBRIDGE_NOINLINE DLBridgeStatus WrapAsDemanded(const DLBridgeWrapSpec* spec,
                                                DLManagedTensorVersioned** out,
                                                DLBridgeError* error) {
  DLBRIDGE_TRY(CheckStruct(spec, "spec", error));
  Options options;
  DLBRIDGE_TRY(ReadWrapOptions(*spec, &options, error));
  DLBRIDGE_TRY(CheckNative(*spec, error));
  return WrapBy(*spec, options, out, error);
}

DLBridgeStatus WrapLegacy(const DLBridgeWrapSpec& spec, DLManagedTensor** out,
                          DLBridgeError* error) {
  if (spec.version.major != 0 || spec.version.minor != 0) {
    return RejectVersion(error, "spec.version", "must be {0, 0} for a legacy tensor", spec.version);
  }
  Options options;
  DLBRIDGE_TRY(ReadWrapOptions(spec, &options, error));
  DLBRIDGE_TRY(CheckNative(spec, error));
  const DLTensor tensor = TensorOf(spec);
  Options losses = options;
  losses.version = kLegacyVersion;
  DLBRIDGE_TRY(CheckLosses({tensor, spec.tensor_flags, {0, 0}, 0, true}, losses, error));
  Node* node = nullptr;
  DLBRIDGE_TRY(MakeWrapped(tensor, spec, options, &node, error));
  DLBRIDGE_TRY(Own(spec, node, error));
  FillLegacy(node, tensor, kDefaultVersion - kFirstVersioned);
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
  if (DLBRIDGE_LIKELY(dlbridge::IsUsual(spec))) {
    return spec->options == 0 ? dlbridge::WrapValidated(*spec, out, error)
                              : dlbridge::WrapUnchecked(*spec, out, error);
  }
  return dlbridge::WrapAsDemanded(spec, out, error);
}

DLBridgeStatus dlbridge_wrap_legacy(const DLBridgeWrapSpec* spec, DLManagedTensor** out,
                                    DLBridgeError* error) {
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(out);
  DLBRIDGE_TRY(dlbridge::CheckStruct(spec, "spec", error));
  return dlbridge::WrapLegacy(*spec, out, error);
}

}  // extern "C"
