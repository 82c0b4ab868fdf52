// SPDX-License-Identifier: Apache-2.0
// Tensors between processes: export and import.
#include <cstring>

#include "describe/boundary.h"
#include "describe/device.h"
#include "describe/known_values.h"
#include "describe/required.h"
#include "native/backend.h"
#include "native/descriptor.h"
#include "native/stream.h"
#include "support/text.h"
#include "tensor/ipc_host.h"
#include "tensor/owned.h"
#include "validate/rules.h"

namespace dlbridge {

namespace {

// The result of an export.
struct Export {
  Descriptor descriptor;
  int32_t fds[kMaxIpcFds];
};

// The bytes that a tensor touches, from element (0,...,0) on.
struct Reach {
  bool empty;
  int64_t begin;
  int64_t end;
};

// Finds the reach of a layout that no other thread writes to.
DLBridgeStatus FindReach(const Descriptor& layout, Reach* out, DLBridgeError* error) {
  Extent extent = ScanTensor<false>(layout.ndim, layout.shape, layout.strides, nullptr, nullptr);
  ByteExtent bytes = {0, 0, 0};
  FirstBroken sink(error);
  CheckExtent(layout.ndim, layout.shape, layout.strides, ItemBits(layout.dtype, layout.flags),
              &extent, &bytes, &sink);
  *out = {extent.count == 0, bytes.begin, bytes.end};
  return sink.status();
}

// Do the bytes that a tensor touches, from `origin` in its memory on, stay inside the memory?
bool IsInside(const Reach& reach, Wide origin, uint64_t size) {
  return origin + reach.begin >= 0 && origin + reach.end <= static_cast<Wide>(size);
}

// -------------------------------------------------------------------------------------- export

// Validates the tensor and copies the fields of its descriptor. IS_COPIED is dropped: the importer
// is not the only user of shared memory.
DLBridgeStatus Describe(const Subject& subject, Descriptor* out, DLBridgeError* error) {
  FirstBroken sink(error);
  if (!CheckHead(subject, kDefaultPolicy, &sink) ||
      !CheckLayout(subject, kDefaultPolicy, out->shape, out->strides, &sink)) {
    return sink.failure();
  }
  const DLTensor& tensor = subject.tensor;
  out->device = tensor.device;
  out->dtype = tensor.dtype;
  out->ndim = tensor.ndim;
  out->flags = subject.flags & ~kCopied;
  out->version = subject.label;
  out->byte_offset = tensor.byte_offset;
  return CheckCodes(tensor, subject.flags, kNewestVersion, error);
}

// Computes the offset of `data` from that of element (0,...,0). If `data` lies before the memory,
// the descriptor's `data` is the element instead.
void PlaceData(uint64_t origin, uint64_t size, Descriptor* out) {
  const bool inside = origin >= out->byte_offset;
  out->size = size;
  out->data_offset = inside ? origin - out->byte_offset : origin;
  out->byte_offset = inside ? out->byte_offset : 0;
}

// The root that has the memory of a tensor, found through dlbridge-owned tensors that keep other
// tensors; NULL for the memory of other libraries' tensors.
Node* RootOf(const DLManagedTensorVersioned& tensor) {
  Node* node = OwnNode(&tensor);
  while (node != nullptr && node->root->source_kind != SourceKind::kAllocation &&
         node->root->source_kind != SourceKind::kWrapped) {
    const Node& root = *node->root;
    node = root.source_kind == SourceKind::kLegacy
               ? OwnNode(static_cast<const DLManagedTensor*>(root.source))
               : OwnNode(static_cast<const DLManagedTensorVersioned*>(root.source));
  }
  return node != nullptr ? node->root : nullptr;
}

DLBRIDGE_COLD DLBridgeStatus RejectHostMemory(DLBridgeError* error) {
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the tensor's memory",
                      "is not shareable: allocate it with DLBRIDGE_ALLOCATE_SHAREABLE, or copy it "
                      "with DLBRIDGE_COPY_SHAREABLE");
}

DLBridgeStatus ExportHost(Node* root, const DLTensor& tensor, const Reach& reach, Export* out,
                          DLBridgeError* error) {
  const bool allocated = root != nullptr && root->source_kind == SourceKind::kAllocation;
  const auto* tail = allocated ? static_cast<AllocationTail*>(root->tail()) : nullptr;
  if (tail == nullptr || !IsShareable(*tail)) {
    return RejectHostMemory(error);
  }
  const uint64_t origin = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset -
                          reinterpret_cast<uintptr_t>(tail->memory);
  // The owner may have changed the data pointer of the struct.
  if (!IsInside(reach, static_cast<Wide>(origin), tail->bytes)) {
    return RejectHostMemory(error);
  }
  out->descriptor.memory = SharedAs::kHostFile;
  out->descriptor.backend = DLBRIDGE_BACKEND_CPU;
  PlaceData(origin, tail->bytes, &out->descriptor);
  out->descriptor.fd_count = 1;
  return ExportFile(*tail, (out->descriptor.flags & kReadOnly) != 0, out->fds, error);
}

// The backend that shares memory of a device type, or NULL.
const Backend* SharingBackend(int32_t device_type) {
  const BackendList list = BackendsOf(device_type);
  for (uint32_t i = 0; i < list.count; ++i) {
    if (list.backends[i]->ipc_export != nullptr && list.backends[i]->ipc_import != nullptr) {
      return list.backends[i];
    }
  }
  return nullptr;
}

DLBridgeStatus TakeHandle(const IpcHandle& handle, const Reach& reach, Export* out,
                          DLBridgeError* error) {
  if (!IsInside(reach, static_cast<Wide>(handle.offset), handle.size)) {
    const Wide last = static_cast<Wide>(handle.offset) + reach.end - 1;
    return Reject(error, {DLBRIDGE_RULE_ALLOCATION_BOUNDS, kNoAxis, handle.size,
                          static_cast<uint64_t>(last)});
  }
  Descriptor* descriptor = &out->descriptor;
  descriptor->format = handle.format;
  descriptor->memory = SharedAs::kDeviceHandle;
  descriptor->handle_length = handle.length;
  std::memcpy(descriptor->handle, handle.bytes, handle.length);
  PlaceData(handle.offset, handle.size, descriptor);
  descriptor->fd_count = handle.fd_count;
  std::memcpy(out->fds, handle.fds, sizeof out->fds);
  return DLBRIDGE_OK;
}

DLBRIDGE_COLD DLBridgeStatus RejectForeignQueue(DLBridgeBackend expected, DLBridgeBackend found,
                                                DLBridgeError* error) {
  char problem[160];
  TextWriter(problem, sizeof problem)
      .String("must be a queue of the memory's backend (")
      .Signed(expected)
      .String("), or NULL after you have waited for the work");
  return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.stream", problem, found);
}

// The context that wrapped memory was given with. A driver may know the memory in its other
// contexts too, but shares it only in this one.
uint64_t ContextOf(Node* root, DLBridgeBackend driver) {
  if (root == nullptr || root->source_kind != SourceKind::kWrapped) {
    return 0;
  }
  const auto& tail = *static_cast<const WrapTail*>(root->tail());
  return tail.driver == driver ? tail.buffer.context : 0;
}

DLBridgeStatus ExportDevice(Node* root, const DLTensor& tensor, const Reach& reach,
                            const DLBridgeStream* queue, Export* out, DLBridgeError* error) {
  const Backend* backend = SharingBackend(TypeOf(tensor.device));
  if (backend == nullptr) {
    return RejectDevice(error, DLBRIDGE_ERROR_UNSUPPORTED, "the tensor's device",
                        "has no memory that processes can share: copy it to the host with "
                        "DLBRIDGE_COPY_SHAREABLE",
                        tensor.device);
  }
  if (queue != nullptr && queue->backend != backend->id) {
    return RejectForeignQueue(backend->id, queue->backend, error);
  }
  DLBRIDGE_TRY(StartDriver(*backend, error));
  out->descriptor.backend = backend->id;
  // Use the first element: `data` itself may lie outside the allocation.
  DLBridgeBuffer buffer = dlbridge_buffer_address(tensor.data);
  buffer.backend = backend->id;
  buffer.context = ContextOf(root, backend->id);
  buffer.handle += tensor.byte_offset;
  IpcHandle handle;
  std::memset(&handle, 0, sizeof handle);
  handle.format = 1;
  const IpcRequest request = {reach.begin, reach.end, queue};
  DLBRIDGE_TRY(backend->ipc_export(buffer, tensor.device, request, &handle, error));
  const DLBridgeStatus status = TakeHandle(handle, reach, out, error);
  if (status != DLBRIDGE_OK) {
    CloseFiles(handle.fds, handle.fd_count);
  }
  return status;
}

// Host memory has no queue: the work on it must be finished.
DLBridgeStatus CheckHostStream(const DLBridgeStream* stream, DLBridgeError* error) {
  return stream == nullptr || stream->kind == DLBRIDGE_STREAM_HOST
             ? DLBRIDGE_OK
             : RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.stream",
                           "must be NULL or of kind HOST (1) for host memory: wait for the work on "
                           "it before the export",
                           stream->kind);
}

DLBridgeStatus ExportTensor(const DLManagedTensorVersioned& tensor, uint32_t options,
                            const DLBridgeStream* stream, Export* out, DLBridgeError* error) {
  std::memset(out, 0, sizeof *out);
  Descriptor* descriptor = &out->descriptor;
  descriptor->format = 1;
  Subject subject;
  DLBRIDGE_TRY(LoadVersioned(tensor, &subject, error));
  DLBRIDGE_TRY(Describe(subject, descriptor, error));
  if ((options & DLBRIDGE_IPC_READ_ONLY) != 0) {
    descriptor->flags |= kReadOnly;
  }
  Reach reach = {};
  const bool on_host = TypeOf(descriptor->device) == kDLCPU;
  DLBRIDGE_TRY(on_host ? CheckHostStream(stream, error) : DLBRIDGE_OK);
  DLBRIDGE_TRY(FindReach(*descriptor, &reach, error));
  if (reach.empty) {
    descriptor->byte_offset = 0;
    return DLBRIDGE_OK;
  }
  const DLBridgeStream* queue = stream != nullptr && IsQueue(*stream) ? stream : nullptr;
  return on_host ? ExportHost(RootOf(tensor), subject.tensor, reach, out, error)
                 : ExportDevice(RootOf(tensor), subject.tensor, reach, queue, out, error);
}

DLBridgeStatus CheckSpecStream(const DLBridgeStream* stream, DLBridgeError* error) {
  return stream == nullptr ? DLBRIDGE_OK : CheckStream(*stream, "spec.stream", error);
}

DLBridgeStatus ReadExportSpec(const DLBridgeIpcExportSpec* source, DLBridgeIpcExportSpec* spec,
                              DLBridgeError* error) {
  DLBRIDGE_TRY(ReadStruct(source, "spec", spec, error));
  DLBRIDGE_TRY(CheckOptionBits(spec->options, kKnownIpcBits, "spec.options", error));
  if (spec->buffer == nullptr && spec->buffer_size != 0) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.buffer",
                       "must not be NULL with a non-zero buffer_size", spec->buffer_size);
  }
  if (spec->fds == nullptr && spec->fd_capacity != 0) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.fds",
                       "must not be NULL with a non-zero fd_capacity", spec->fd_capacity);
  }
  return CheckSpecStream(spec->stream, error);
}

// Writes the sizes, and the export if it fits.
DLBridgeStatus HandOver(const Export& made, const DLBridgeIpcExportSpec& spec,
                        DLBridgeIpcSizes* sizes, DLBridgeError* error) {
  uint8_t bytes[kDescriptorMaxSize];
  const size_t length = WriteDescriptor(made.descriptor, bytes);
  const uint32_t fd_count = made.descriptor.fd_count;
  DLBridgeIpcSizes needed = DLBRIDGE_IPC_SIZES_INIT;
  needed.buffer_size = length;
  needed.fd_count = fd_count;
  WriteOut(needed, sizes);
  if (length > spec.buffer_size || fd_count > spec.fd_capacity) {
    CloseFiles(made.fds, fd_count);
    return length > spec.buffer_size
               ? RejectSize(error, "spec.buffer_size", length, spec.buffer_size)
               : RejectSize(error, "spec.fd_capacity", fd_count, spec.fd_capacity);
  }
  std::memcpy(spec.buffer, bytes, length);
  for (uint32_t i = 0; i < fd_count; ++i) {
    spec.fds[i] = made.fds[i];
  }
  return DLBRIDGE_OK;
}

// -------------------------------------------------------------------------------------- import

DLBRIDGE_COLD DLBridgeStatus RejectDescriptor(DLBridgeError* error, const char* problem) {
  return RejectStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "the descriptor", problem);
}

bool IsHostFile(const Descriptor& peer) {
  return peer.backend == DLBRIDGE_BACKEND_CPU && TypeOf(peer.device) == kDLCPU &&
         peer.format == 1 && peer.handle_length == 0 && peer.fd_count == 1;
}

bool IsDeviceHandle(const Descriptor& peer) {
  const Backend* backend = SharingBackend(TypeOf(peer.device));
  return backend != nullptr && peer.backend == backend->id && peer.handle_length != 0;
}

bool IsNothing(const Descriptor& peer) {
  return peer.format == 1 && peer.backend == DLBRIDGE_BACKEND_NONE && peer.handle_length == 0 &&
         peer.fd_count == 0 && peer.size == 0 && peer.data_offset == 0 && peer.byte_offset == 0;
}

// Are the parts of a well-formed descriptor consistent?
bool IsConsistent(const Descriptor& peer, bool empty) {
  if (empty) {
    return peer.memory == SharedAs::kNothing && IsNothing(peer);
  }
  return (peer.memory == SharedAs::kHostFile && IsHostFile(peer)) ||
         (peer.memory == SharedAs::kDeviceHandle && IsDeviceHandle(peer));
}

// Checks device and dtype before memory is mapped. The descriptor's address stands in for `data`.
DLBridgeStatus CheckHeadOf(const Descriptor& peer, DLBridgeError* error) {
  const DLTensor tensor = {const_cast<Descriptor*>(&peer),
                           peer.device,
                           peer.ndim,
                           peer.dtype,
                           const_cast<int64_t*>(peer.shape),
                           const_cast<int64_t*>(peer.strides),
                           0};
  FirstBroken sink(error);
  return CheckHead(BorrowedSubject(tensor, peer.flags, true), kDefaultPolicy, &sink)
             ? DLBRIDGE_OK
             : sink.failure();
}

DLBridgeStatus CheckPeer(const Descriptor& peer, size_t fd_count, Reach* reach,
                         DLBridgeError* error) {
  if (peer.fd_count != fd_count) {
    return RejectOther(error, DLBRIDGE_ERROR_DESCRIPTOR, "spec.fd_count", peer.fd_count, fd_count);
  }
  // The meaning of all other fields depends on the major version.
  if (peer.version.major != kMajor) {
    return Reject(error, {DLBRIDGE_RULE_VERSION_MAJOR, kNoAxis, kMajor, peer.version.major});
  }
  // IS_COPIED would permit the consumer to write, but the memory is shared.
  if ((peer.flags & kCopied) != 0) {
    return RejectDescriptor(error, "has the flag IS_COPIED, which shared memory cannot have");
  }
  DLBRIDGE_TRY(CheckHeadOf(peer, error));
  DLBRIDGE_TRY(FindReach(peer, reach, error));
  if (!IsConsistent(peer, reach->empty)) {
    return RejectDescriptor(
        error, "has a device, kind of memory and file descriptors that contradict each other");
  }
  const Wide origin = static_cast<Wide>(peer.data_offset) + peer.byte_offset;
  if (peer.data_offset > peer.size || (!reach->empty && !IsInside(*reach, origin, peer.size))) {
    return RejectDescriptor(error, "has a tensor that exceeds the memory it describes");
  }
  return DLBRIDGE_OK;
}

// The tail of a root whose memory a driver has mapped.
struct MappingTail {
  AllocationTail tail;
  const Backend* backend;
  IpcMapping mapping;
};

void CloseMapping(void* context, DLDevice /*device*/, void* /*memory*/, uint64_t /*bytes*/,
                  uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
  const auto& mapped = *static_cast<const MappingTail*>(context);
  mapped.backend->ipc_close(mapped.mapping);
}

DLBridgeStatus OpenDevice(const Descriptor& peer, const DLBridgeIpcImportSpec& spec,
                          MappingTail* out, DLBridgeError* error) {
  const Backend* backend = SharingBackend(TypeOf(peer.device));
  DLBRIDGE_TRY(StartDriver(*backend, error));
  IpcHandle handle;
  std::memset(&handle, 0, sizeof handle);
  std::memcpy(handle.bytes, peer.handle, peer.handle_length);
  handle.length = peer.handle_length;
  handle.format = peer.format;
  handle.offset = peer.data_offset;
  handle.size = peer.size;
  handle.fd_count = peer.fd_count;
  for (uint32_t i = 0; i < peer.fd_count; ++i) {
    handle.fds[i] = spec.fds[i];
  }
  // The work of a call without a queue is complete when it returns, so the host waits.
  const bool host_waits = spec.stream == nullptr || spec.stream->kind == DLBRIDGE_STREAM_HOST;
  std::memset(&out->mapping, 0, sizeof out->mapping);
  DLBRIDGE_TRY(backend->ipc_import(handle, peer.device, host_waits ? nullptr : spec.stream,
                                   &out->mapping, error));
  if (out->mapping.size < peer.size) {
    backend->ipc_close(out->mapping);
    return RejectDescriptor(error, "describes more memory than the driver mapped");
  }
  out->backend = backend;
  out->tail = {};
  out->tail.memory = reinterpret_cast<void*>(out->mapping.buffer.handle);
  out->tail.bytes = out->mapping.size;
  out->tail.device = out->mapping.device;
  out->tail.context = out;
  out->tail.deallocate = CloseMapping;
  return DLBRIDGE_OK;
}

// Maps the memory of the descriptor, and records it in the tail of the node.
DLBridgeStatus OpenMemory(const Descriptor& peer, const DLBridgeIpcImportSpec& spec, bool read_only,
                          MappingTail* out, DLBridgeError* error) {
  out->tail = {};
  out->tail.device = peer.device;
  switch (peer.memory) {
    case SharedAs::kHostFile:
      return ImportFile(spec.fds[0], peer.size, read_only, &out->tail, error);
    case SharedAs::kDeviceHandle:
      return OpenDevice(peer, spec, out, error);
    default:
      return DLBRIDGE_OK;
  }
}

void FillImported(const Descriptor& peer, const AllocationTail& tail, Node* node) {
  std::memcpy(node->shape(), peer.shape, sizeof(int64_t) * static_cast<size_t>(peer.ndim));
  std::memcpy(node->strides(), peer.strides, sizeof(int64_t) * static_cast<size_t>(peer.ndim));
  const uintptr_t data = reinterpret_cast<uintptr_t>(tail.memory) + peer.data_offset;
  const DLTensor tensor = {reinterpret_cast<void*>(data),
                           tail.device,
                           peer.ndim,
                           peer.dtype,
                           nullptr,
                           nullptr,
                           peer.byte_offset};
  FillVersioned(node, tensor, ToDLPack(SharedVersion(peer.version)));
  BecomeRoot(node, SourceKind::kAllocation, nullptr);
}

// Once the memory is open, the node owns it.
DLBridgeStatus MakeImported(const Descriptor& peer, const DLBridgeIpcImportSpec& spec,
                            bool read_only, const Policy& policy, Node** out,
                            DLBridgeError* error) {
  Node* node = AllocateNode(peer.ndim, sizeof(MappingTail));
  if (node == nullptr) {
    return RejectMemory(error);
  }
  InitNode(node, peer.ndim, peer.flags | (read_only ? kReadOnly : 0));
  auto* tail = static_cast<MappingTail*>(node->tail());
  DLBridgeStatus status = OpenMemory(peer, spec, read_only, tail, error);
  if (status != DLBRIDGE_OK) {
    DiscardNode(node);
    return status;
  }
  FillImported(peer, tail->tail, node);
  status = CheckCodes(node->versioned.dl_tensor, node->flags, kNewestVersion, error);
  if (status == DLBRIDGE_OK) {
    status = Validate(VersionedSubject(node->versioned, node->versioned.version), policy, error);
  }
  if (status != DLBRIDGE_OK) {
    ReleaseNode(node);
    return status;
  }
  *out = node;
  return DLBRIDGE_OK;
}

DLBridgeStatus ReadImportSpec(const DLBridgeIpcImportSpec* source, DLBridgeIpcImportSpec* spec,
                              DLBridgeError* error) {
  DLBRIDGE_TRY(ReadStruct(source, "spec", spec, error));
  DLBRIDGE_TRY(CheckOptionBits(spec->options, kKnownIpcBits, "spec.options", error));
  if (spec->buffer == nullptr) {
    return RejectArgument(error, "spec.buffer", "is not set");
  }
  if (spec->fds == nullptr && spec->fd_count != 0) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.fds",
                       "must not be NULL with a non-zero fd_count", spec->fd_count);
  }
  return CheckSpecStream(spec->stream, error);
}

DLBridgeStatus Import(const DLBridgeIpcImportSpec& spec, Node** out, DLBridgeError* error) {
  Policy storage;
  const Policy* rules = nullptr;
  DLBRIDGE_TRY(ResolvePolicy(spec.policy, &storage, &rules, error));
  if (spec.buffer_size > kDescriptorMaxSize) {
    return RejectValue(error, DLBRIDGE_ERROR_DESCRIPTOR, "spec.buffer_size", "must be at most 4096",
                       spec.buffer_size);
  }
  // A copy: the peer may still write to memory that it shares with this process.
  uint8_t bytes[kDescriptorMaxSize];
  std::memcpy(bytes, spec.buffer, spec.buffer_size);
  Descriptor peer;
  DLBRIDGE_TRY(ReadDescriptor(bytes, spec.buffer_size, &peer, error));
  Reach reach = {};
  DLBRIDGE_TRY(CheckPeer(peer, spec.fd_count, &reach, error));
  const bool read_only =
      (spec.options & DLBRIDGE_IPC_READ_ONLY) != 0 || (peer.flags & kReadOnly) != 0;
  return MakeImported(peer, spec, read_only, *rules, out, error);
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_ipc_export(const DLManagedTensorVersioned* tensor,
                                   const DLBridgeIpcExportSpec* spec, DLBridgeIpcSizes* sizes,
                                   DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(sizes);
  DLBridgeIpcExportSpec given;
  DLBRIDGE_TRY(dlbridge::ReadExportSpec(spec, &given, error));
  DLBRIDGE_TRY(dlbridge::CheckOut(sizes, "sizes", error));
  dlbridge::Export made;
  DLBRIDGE_TRY(dlbridge::ExportTensor(*tensor, given.options, given.stream, &made, error));
  return dlbridge::HandOver(made, given, sizes, error);
}

DLBridgeStatus dlbridge_ipc_import(const DLBridgeIpcImportSpec* spec,
                                   DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(spec);
  DLBRIDGE_REQUIRE(out);
  DLBridgeIpcImportSpec given;
  DLBRIDGE_TRY(dlbridge::ReadImportSpec(spec, &given, error));
  dlbridge::Node* node = nullptr;
  DLBRIDGE_TRY(dlbridge::Import(given, &node, error));
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

}  // extern "C"
