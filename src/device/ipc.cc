// SPDX-License-Identifier: Apache-2.0
// Tensors from one process to another: what is exported, and what is made of an export.
#include <cstring>

#include "device.h"
#include "device/backend.h"
#include "device/descriptor.h"
#include "device/ipc_host.h"
#include "node.h"
#include "required.h"
#include "support/boundary.h"
#include "support/text.h"
#include "validate.h"

namespace dlbridge {
namespace {

constexpr uint32_t kKnownOptions = DLBRIDGE_IPC_READ_ONLY;

// What leaves this process.
struct Export {
  Descriptor descriptor;
  int32_t fds[DLBRIDGE_IPC_MAX_FDS];
};

// Bytes that a tensor touches, from element (0,...,0) on.
struct Reach {
  bool empty;
  int64_t begin;
  int64_t end;
};

// Finds the reach of a layout that nobody else writes to.
DLBridgeStatus FindReach(const Descriptor& layout, Reach* out, DLBridgeError* error) {
  Extent extent = ScanTensor<false>(layout.ndim, layout.shape, layout.strides, nullptr, nullptr);
  ByteExtent bytes = {0, 0, 0};
  FirstBroken sink(error);
  CheckExtent(layout.ndim, layout.shape, layout.strides, ItemBits(layout.dtype, layout.flags),
              &extent, &bytes, &sink);
  *out = {extent.count == 0, bytes.begin, bytes.end};
  return sink.status();
}

// Does what a tensor touches, `origin` bytes behind the start of its memory, stay inside?
bool IsInside(const Reach& reach, Wide origin, uint64_t size) {
  return origin + reach.begin >= 0 && origin + reach.end <= static_cast<Wide>(size);
}

// -------------------------------------------------------------------------------------- export

// Validates the tensor and takes what is to be told of it.
DLBridgeStatus Describe(const DLManagedTensorVersioned& tensor, Descriptor* out,
                        DLBridgeError* error) {
  DLBRIDGE_TRY(CheckMajor(tensor, error));
  const Subject subject = VersionedSubject(tensor);
  FirstBroken sink(error);
  if (!CheckHead(subject, kDefaultPolicy, &sink) ||
      !CheckLayout<true>(subject, kDefaultPolicy, out->shape, out->strides, &sink)) {
    return sink.failure();
  }
  const DLTensor& fields = tensor.dl_tensor;
  out->device = fields.device;
  out->dtype = fields.dtype;
  out->ndim = fields.ndim;
  // An owner may have loosened the flags of its struct, not those of the data. And who imports it
  // is never alone with it.
  const Node* own = OwnNode(&tensor);
  out->flags = (tensor.flags | (own != nullptr ? own->flags : 0)) & ~kCopied;
  out->version = tensor.version;
  out->byte_offset = fields.byte_offset;
  return CheckCodes(fields, tensor.flags, kNewestVersion, error);
}

// Says where `data` is, by where element (0,...,0) is; a `data` outside the memory is brought to
// it.
void PlaceData(uint64_t origin, uint64_t size, Descriptor* out) {
  const bool inside = origin >= out->byte_offset;
  out->size = size;
  out->data_offset = inside ? origin - out->byte_offset : origin;
  out->byte_offset = inside ? out->byte_offset : 0;
}

// The root behind a tensor, through tensors of ours that keep others of ours.
Node* RootOf(const DLManagedTensorVersioned& tensor) {
  Node* node = OwnNode(&tensor);
  while (node != nullptr && node->root->source_kind != SourceKind::kAllocation) {
    const Node& root = *node->root;
    if (root.source_kind == SourceKind::kWrapped) {
      return nullptr;  // memory that somebody else gave
    }
    node = root.source_kind == SourceKind::kLegacy
               ? OwnNode(static_cast<const DLManagedTensor*>(root.source))
               : OwnNode(static_cast<const DLManagedTensorVersioned*>(root.source));
  }
  return node != nullptr ? node->root : nullptr;
}

DLBRIDGE_COLD DLBridgeStatus RefuseHostMemory(DLBridgeError* error) {
  return RefuseStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the tensor's memory",
                      "is not of the shareable kind: allocate it with "
                      "DLBRIDGE_ALLOCATE_SHAREABLE, or copy it with DLBRIDGE_COPY_SHAREABLE");
}

DLBridgeStatus ExportHost(const DLManagedTensorVersioned& tensor, const Reach& reach, Export* out,
                          DLBridgeError* error) {
  Node* root = RootOf(tensor);
  const auto* tail = root != nullptr ? static_cast<AllocationTail*>(root->tail()) : nullptr;
  if (tail == nullptr || !IsShareable(*tail)) {
    return RefuseHostMemory(error);
  }
  const uint64_t origin = reinterpret_cast<uintptr_t>(tensor.dl_tensor.data) +
                          tensor.dl_tensor.byte_offset - reinterpret_cast<uintptr_t>(tail->memory);
  // An owner may have made its struct point elsewhere.
  if (!IsInside(reach, static_cast<Wide>(origin), tail->bytes)) {
    return RefuseHostMemory(error);
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
    return Refuse(error, {DLBRIDGE_RULE_ALLOCATION_BOUNDS, kNoAxis, handle.size,
                          static_cast<uint64_t>(last)});
  }
  Descriptor* descriptor = &out->descriptor;
  descriptor->memory = SharedAs::kDeviceHandle;
  descriptor->handle_length = handle.length;
  std::memcpy(descriptor->handle, handle.bytes, handle.length);
  PlaceData(handle.offset, handle.size, descriptor);
  descriptor->fd_count = handle.fd_count;
  std::memcpy(out->fds, handle.fds, sizeof out->fds);
  return DLBRIDGE_OK;
}

DLBridgeStatus ExportDevice(const DLTensor& tensor, const Reach& reach, Export* out,
                            DLBridgeError* error) {
  const Backend* backend = SharingBackend(TypeOf(tensor.device));
  if (backend == nullptr) {
    return RefuseStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "the tensor's device",
                        "has no memory that processes can share: copy it to the host with "
                        "DLBRIDGE_COPY_SHAREABLE");
  }
  DLBRIDGE_TRY(StartBackend(*backend, error));
  out->descriptor.backend = backend->id;
  // The first element: `data` itself may lie outside the allocation.
  DLBridgeBuffer buffer = dlbridge_buffer_address(tensor.data);
  buffer.backend = backend->id;
  buffer.handle += tensor.byte_offset;
  IpcHandle handle;
  std::memset(&handle, 0, sizeof handle);
  DLBRIDGE_TRY(backend->ipc_export(buffer, tensor.device, &handle, error));
  const DLBridgeStatus status = TakeHandle(handle, reach, out, error);
  if (status != DLBRIDGE_OK) {
    CloseFiles(handle.fds, handle.fd_count);
  }
  return status;
}

DLBridgeStatus ExportTensor(const DLManagedTensorVersioned& tensor, uint32_t options, Export* out,
                            DLBridgeError* error) {
  std::memset(out, 0, sizeof *out);
  Descriptor* descriptor = &out->descriptor;
  DLBRIDGE_TRY(Describe(tensor, descriptor, error));
  if ((options & DLBRIDGE_IPC_READ_ONLY) != 0) {
    descriptor->flags |= kReadOnly;
  }
  Reach reach = {};
  DLBRIDGE_TRY(FindReach(*descriptor, &reach, error));
  if (reach.empty) {
    descriptor->byte_offset = 0;
    return DLBRIDGE_OK;
  }
  return TypeOf(descriptor->device) == kDLCPU ? ExportHost(tensor, reach, out, error)
                                              : ExportDevice(tensor.dl_tensor, reach, out, error);
}

// Where the caller wants an export.
struct Target {
  void* buffer;
  size_t size;
  size_t* length;
  int32_t* fds;
  size_t fd_capacity;
  size_t* fd_count;
};

DLBridgeStatus CheckTarget(const Target& target, DLBridgeError* error) {
  if (target.buffer == nullptr && target.size != 0) {
    return RefuseArgument(error, "buffer", "must not be NULL where size is not 0");
  }
  if (target.fds == nullptr && target.fd_capacity != 0) {
    return RefuseArgument(error, "fds", "must not be NULL where fd_capacity is not 0");
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus HandOver(const Export& made, const Target& target, DLBridgeError* error) {
  uint8_t bytes[DLBRIDGE_IPC_MAX_SIZE];
  const size_t length = WriteDescriptor(made.descriptor, bytes);
  const uint32_t fd_count = made.descriptor.fd_count;
  *target.length = length;
  *target.fd_count = fd_count;
  if (length > target.size || fd_count > target.fd_capacity) {
    CloseFiles(made.fds, fd_count);
    return RefuseStatus(error, DLBRIDGE_ERROR_BUFFER_TOO_SMALL,
                        length > target.size ? "buffer" : "fds",
                        "has too little room for the export; what it needs is told");
  }
  std::memcpy(target.buffer, bytes, length);
  for (uint32_t i = 0; i < fd_count; ++i) {
    target.fds[i] = made.fds[i];
  }
  return DLBRIDGE_OK;
}

// -------------------------------------------------------------------------------------- import

DLBRIDGE_COLD DLBridgeStatus RefuseDescriptor(DLBridgeError* error, const char* problem) {
  return RefuseStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "the descriptor", problem);
}

bool IsHostFile(const Descriptor& peer) {
  return peer.backend == DLBRIDGE_BACKEND_CPU && TypeOf(peer.device) == kDLCPU &&
         peer.handle_length == 0 && peer.fd_count == 1;
}

bool IsDeviceHandle(const Descriptor& peer) {
  const Backend* backend = SharingBackend(TypeOf(peer.device));
  return backend != nullptr && peer.backend == backend->id && peer.handle_length != 0;
}

bool IsNothing(const Descriptor& peer) {
  return peer.backend == DLBRIDGE_BACKEND_NONE && peer.handle_length == 0 && peer.fd_count == 0 &&
         peer.size == 0 && peer.data_offset == 0 && peer.byte_offset == 0;
}

// Do the parts of a descriptor that is whole go together?
bool IsConsistent(const Descriptor& peer, bool empty) {
  if (empty) {
    return peer.memory == SharedAs::kNothing && IsNothing(peer);
  }
  return (peer.memory == SharedAs::kHostFile && IsHostFile(peer)) ||
         (peer.memory == SharedAs::kDeviceHandle && IsDeviceHandle(peer));
}

// What must hold before anything is mapped.
// Device and dtype, before anything is mapped for them; the memory stands in for its address.
DLBridgeStatus CheckHeadOf(const Descriptor& peer, DLBridgeError* error) {
  const DLTensor tensor = {const_cast<Descriptor*>(&peer),
                           peer.device,
                           peer.ndim,
                           peer.dtype,
                           const_cast<int64_t*>(peer.shape),
                           const_cast<int64_t*>(peer.strides),
                           0};
  FirstBroken sink(error);
  return CheckHead(BareSubject(&tensor, peer.flags, true), kDefaultPolicy, &sink) ? DLBRIDGE_OK
                                                                                  : sink.failure();
}

DLBridgeStatus CheckPeer(const Descriptor& peer, size_t fd_count, Reach* reach,
                         DLBridgeError* error) {
  if (peer.fd_count != fd_count) {
    return RefuseDescriptor(error, "does not go with as many file descriptors as came");
  }
  // Of the version alone the meaning of all the rest depends; the shape is given, a scalar's too.
  if (peer.version.major != kMajor) {
    return Refuse(error, {DLBRIDGE_RULE_VERSION_MAJOR, kNoAxis, kMajor, peer.version.major});
  }
  // A consumer may write to what was copied for it alone; this is shared.
  if ((peer.flags & kCopied) != 0) {
    return RefuseDescriptor(error, "says IS_COPIED of memory that is shared");
  }
  DLBRIDGE_TRY(CheckHeadOf(peer, error));
  DLBRIDGE_TRY(FindReach(peer, reach, error));
  if (!IsConsistent(peer, reach->empty)) {
    return RefuseDescriptor(error, "has a device, memory and file descriptors that do not fit");
  }
  const Wide origin = static_cast<Wide>(peer.data_offset) + peer.byte_offset;
  if (peer.data_offset > peer.size || (!reach->empty && !IsInside(*reach, origin, peer.size))) {
    return RefuseDescriptor(error, "has a tensor that leaves the memory it describes");
  }
  return DLBRIDGE_OK;
}

// Behind the tail of a root whose memory a driver has mapped.
struct MappingTail {
  AllocationTail tail;
  const Backend* backend;
  IpcMapping mapping;
};

void CloseMapping(void* context, DLDevice /*device*/, void* /*memory*/, uint64_t /*bytes*/,
                  uint64_t /*alignment*/) {
  const auto& mapped = *static_cast<const MappingTail*>(context);
  mapped.backend->ipc_close(mapped.mapping);
}

DLBridgeStatus OpenDevice(const Descriptor& peer, const int32_t* fds, MappingTail* out,
                          DLBridgeError* error) {
  const Backend* backend = SharingBackend(TypeOf(peer.device));
  DLBRIDGE_TRY(StartBackend(*backend, error));
  IpcHandle handle;
  std::memset(&handle, 0, sizeof handle);
  std::memcpy(handle.bytes, peer.handle, peer.handle_length);
  handle.length = peer.handle_length;
  handle.offset = peer.data_offset;
  handle.size = peer.size;
  handle.fd_count = peer.fd_count;
  for (uint32_t i = 0; i < peer.fd_count; ++i) {
    handle.fds[i] = fds[i];
  }
  std::memset(&out->mapping, 0, sizeof out->mapping);
  DLBRIDGE_TRY(backend->ipc_import(handle, peer.device, &out->mapping, error));
  if (out->mapping.size < peer.size) {
    backend->ipc_close(out->mapping);
    return RefuseDescriptor(error, "says more memory than the driver mapped");
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

// Maps what the descriptor speaks of, to the tail of the node.
DLBridgeStatus OpenMemory(const Descriptor& peer, const int32_t* fds, bool read_only,
                          MappingTail* out, DLBridgeError* error) {
  out->tail = {};
  out->tail.device = peer.device;
  switch (peer.memory) {
    case SharedAs::kHostFile:
      return ImportFile(fds[0], peer.size, read_only, &out->tail, error);
    case SharedAs::kDeviceHandle:
      return OpenDevice(peer, fds, out, error);
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

// The node owns its memory from the first step that can fail behind it.
DLBridgeStatus MakeImported(const Descriptor& peer, const int32_t* fds, bool read_only,
                            const Policy& policy, Node** out, DLBridgeError* error) {
  Node* node = AllocateNode(peer.ndim, sizeof(MappingTail));
  if (node == nullptr) {
    return RefuseMemory(error);
  }
  InitNode(node, peer.ndim, peer.flags | (read_only ? kReadOnly : 0));
  auto* tail = static_cast<MappingTail*>(node->tail());
  DLBridgeStatus status = OpenMemory(peer, fds, read_only, tail, error);
  if (status != DLBRIDGE_OK) {
    DiscardNode(node);
    return status;
  }
  FillImported(peer, tail->tail, node);
  status = CheckCodes(node->versioned.dl_tensor, node->flags, kNewestVersion, error);
  if (status == DLBRIDGE_OK) {
    status = Validate(VersionedSubject(node->versioned), policy, error);
  }
  if (status != DLBRIDGE_OK) {
    ReleaseNode(node);
    return status;
  }
  *out = node;
  return DLBRIDGE_OK;
}

DLBridgeStatus Import(const void* buffer, size_t length, const int32_t* fds, size_t fd_count,
                      uint32_t options, const DLBridgePolicy* policy, Node** out,
                      DLBridgeError* error) {
  Policy storage;
  const Policy* rules = nullptr;
  DLBRIDGE_TRY(ResolvePolicy(policy, &storage, &rules, error));
  if (length > DLBRIDGE_IPC_MAX_SIZE) {
    return RefuseDescriptor(error, "is longer than any can be");
  }
  // A copy: the peer may still write to memory that it shares with this process.
  uint8_t bytes[DLBRIDGE_IPC_MAX_SIZE];
  std::memcpy(bytes, buffer, length);
  Descriptor peer;
  DLBRIDGE_TRY(ReadDescriptor(bytes, length, &peer, error));
  Reach reach = {};
  DLBRIDGE_TRY(CheckPeer(peer, fd_count, &reach, error));
  const bool read_only = (options & DLBRIDGE_IPC_READ_ONLY) != 0 || (peer.flags & kReadOnly) != 0;
  return MakeImported(peer, fds, read_only, *rules, out, error);
}

}  // namespace
}  // namespace dlbridge

extern "C" {

// The ABI asks for so many.
// NOLINTNEXTLINE(readability-function-size)
DLBridgeStatus dlbridge_ipc_export(const DLManagedTensorVersioned* tensor, uint32_t options,
                                   void* buffer, size_t size, size_t* length, int32_t* fds,
                                   size_t fd_capacity, size_t* fd_count, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  DLBRIDGE_REQUIRE(length);
  DLBRIDGE_REQUIRE(fd_count);
  if ((options & ~dlbridge::kKnownOptions) != 0) {
    return dlbridge::RefuseArgument(error, "options", "has a bit that this library does not know");
  }
  const dlbridge::Target target = {buffer, size, length, fds, fd_capacity, fd_count};
  DLBRIDGE_TRY(dlbridge::CheckTarget(target, error));
  dlbridge::Export made;
  DLBRIDGE_TRY(dlbridge::ExportTensor(*tensor, options, &made, error));
  return dlbridge::HandOver(made, target, error);
}

DLBridgeStatus dlbridge_ipc_import(const void* buffer, size_t length, const int32_t* fds,
                                   size_t fd_count, uint32_t options, const DLBridgePolicy* policy,
                                   DLManagedTensorVersioned** out, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(buffer);
  DLBRIDGE_REQUIRE(out);
  if (fds == nullptr && fd_count != 0) {
    return dlbridge::RefuseArgument(error, "fds", "must not be NULL where fd_count is not 0");
  }
  if ((options & ~dlbridge::kKnownOptions) != 0) {
    return dlbridge::RefuseArgument(error, "options", "has a bit that this library does not know");
  }
  dlbridge::Node* node = nullptr;
  DLBRIDGE_TRY(dlbridge::Import(buffer, length, fds, fd_count, options, policy, &node, error));
  *out = &node->versioned;
  return DLBRIDGE_OK;
}

}  // extern "C"
