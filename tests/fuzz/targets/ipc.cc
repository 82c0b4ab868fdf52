// SPDX-License-Identifier: Apache-2.0
// Descriptors and files of a hostile process. A model reads the descriptor as docs/ipc.md describes
// it and states whether the import must succeed. What was imported is read from end to end and
// compared with the file. No file descriptor and no mapping may be left.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
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

constexpr size_t kHead = 104;
constexpr int kSealShrink = 2;

GuardedMemory& Blocks() {
  static GuardedMemory memory(8);
  return memory;
}

// ---------------------------------------------------------------------------- what must not be
// left

int LowestFreeFd() {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  Check("a file descriptor is free", fd >= 0);
  close(fd);
  return fd;
}

// Mappings of memory files in this process.
size_t CountMappings() {
  static char text[1 << 20];
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  Check("/proc/self/maps can be read", fd >= 0);
  size_t size = 0;
  for (ssize_t got = 1; got > 0; size += static_cast<size_t>(got > 0 ? got : 0)) {
    got = read(fd, text + size, sizeof text - 1 - size);
  }
  close(fd);
  text[size] = 0;
  size_t count = 0;
  for (const char* at = text; (at = std::strstr(at, "/memfd:")) != nullptr; ++at) {
    ++count;
  }
  return count;
}

// ---------------------------------------------------------------------------------------- the file

// A file that a peer sends, and what the model needs to know of it.
struct File {
  int fd = -1;
  bool close = true;
  bool is_memory = false;
  bool sealed = false;
  bool writable = true;
  bool has_pages = true;
  uint64_t size = 0;
};

int MakeMemoryFile() { return static_cast<int>(syscall(SYS_memfd_create, "fuzz", 3U)); }

File TakeMemoryFile(Input* input) {
  File file;
  file.is_memory = true;
  file.fd = MakeMemoryFile();
  Check("a memory file", file.fd >= 0);
  file.size = input->OneIn(4) ? input->Below(9000) : 4096;
  file.has_pages = !input->OneIn(8) || file.size == 0;
  const auto size = static_cast<off_t>(file.size);
  if (file.has_pages && size != 0) {
    Check("pages of the file", posix_fallocate(file.fd, 0, size) == 0);
    for (uint8_t i = 0; i < 16; ++i) {
      const uint8_t value = static_cast<uint8_t>(17 * i + 3);
      Check("bytes of the file", pwrite(file.fd, &value, 1, size * i / 16) == 1);
    }
  } else {
    Check("a file of holes", ftruncate(file.fd, size) == 0);
  }
  const int seals = input->OneIn(8) ? static_cast<int>(input->Below(16)) : kSealShrink;
  // F_SEAL_WRITE (8) forbids a writable mapping.
  file.sealed = (seals & kSealShrink) != 0;
  file.writable = (seals & 8) == 0;
  Check("the seals", seals == 0 || fcntl(file.fd, 1033, seals) == 0);
  return file;
}

// The same file, open for reading only.
void Reopen(File* file) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    close(file->fd);
    file->fd = fd;
    file->writable = false;
  }
}

File TakeFile(Input* input) {
  File file;
  switch (input->OneIn(8) ? input->Below(8) : 0) {
    case 1:
      file.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
      break;
    case 2:
      file.fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      break;
    case 3: {
      int ends[2];
      Check("a pipe", pipe(ends) == 0);
      close(ends[1]);
      file.fd = ends[0];
      break;
    }
    case 4:
      file.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
      break;
    case 5:
      file.fd = input->Any<int32_t>() | 0x10000;  // not open
      file.close = false;
      break;
    default:
      file = TakeMemoryFile(input);
      if (input->OneIn(8)) {
        Reopen(&file);
      }
  }
  return file;
}

// ---------------------------------------------------------------------------------- the descriptor

template <class T>
void Put(std::vector<uint8_t>* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof value);
}
template <class T>
T Get(const std::vector<uint8_t>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

uint64_t ChecksumOf(std::vector<uint8_t> bytes) {
  std::fill(bytes.begin() + 16, bytes.begin() + 24, uint8_t{0});
  uint64_t sum = 0xcbf29ce484222325U;
  for (const uint8_t byte : bytes) {
    sum = (sum ^ byte) * 0x100000001b3U;
  }
  return sum;
}

// A descriptor of a tensor in the file, mostly a valid one.
std::vector<uint8_t> TakeDescriptor(Input* input, const File& file) {
  const auto ndim = static_cast<uint32_t>(input->Below(input->OneIn(16) ? 66 : 4));
  const uint32_t handle = input->OneIn(32) ? static_cast<uint32_t>(input->Below(300)) : 0;
  std::vector<uint8_t> bytes(kHead + 16 * ndim + handle);
  std::memcpy(bytes.data(), "DLBRIPC", 8);
  Put<uint32_t>(&bytes, 8, 1);
  Put(&bytes, 12, static_cast<uint32_t>(bytes.size()));
  Put<uint32_t>(&bytes, 24, 1);
  Put<int32_t>(&bytes, 28, DLBRIDGE_BACKEND_CPU);
  Put<int32_t>(&bytes, 32, kDLCPU);
  const DLDataType dtype = {static_cast<uint8_t>(input->Below(3)),
                            input->Pick<uint8_t>({8, 32, 4, 64}), 1};
  Put(&bytes, 40, dtype);
  Put(&bytes, 44, ndim);
  Put<uint64_t>(&bytes, 48, input->OneIn(4) ? input->Below(8) & ~kCopied : 0);
  Put<uint32_t>(&bytes, 56, 1);
  Put<uint32_t>(&bytes, 60, static_cast<uint32_t>(input->Below(5)));
  Put<uint64_t>(&bytes, 64, file.size);
  Put<uint64_t>(&bytes, 72, input->OneIn(3) ? input->Below(4200) : 0);
  Put<uint64_t>(&bytes, 80, input->OneIn(3) ? input->Below(300) : 0);
  Put(&bytes, 88, handle);
  Put<uint32_t>(&bytes, 92, 1);
  const bool wild = input->OneIn(8);
  int64_t stride = 1;
  for (uint32_t i = 0; i < ndim; ++i) {
    const int64_t extent = wild ? input->Number() : 1 + static_cast<int64_t>(input->Below(8));
    Put(&bytes, kHead + 8 * i, extent);
    Put(&bytes, kHead + 8 * (ndim + i), input->OneIn(6) ? input->Number() : stride);
    stride = wild ? 1 : stride * extent % 4096;
  }
  return bytes;
}

// Describes a tensor of no elements.
void MakeEmpty(std::vector<uint8_t>* bytes) {
  if (Get<uint32_t>(*bytes, 44) != 0) {
    Put<int64_t>(bytes, kHead, 0);
    for (const size_t at : {24, 28, 92}) {
      Put<uint32_t>(bytes, at, 0);
    }
    for (const size_t at : {64, 72, 80}) {
      Put<uint64_t>(bytes, at, 0);
    }
  }
}

// Changes fields before the checksum, as a hostile peer does, and bytes after it, as an accident
// does.
void Alter(Input* input, std::vector<uint8_t>* bytes) {
  const uint8_t way = input->Byte();
  if (way % 8 == 7) {
    MakeEmpty(bytes);
  } else if (way % 32 == 3) {  // of a file that has grown or shrunk since
    const uint64_t size = Get<uint64_t>(*bytes, 64);
    Put(bytes, 64, size + static_cast<uint64_t>(input->Between(-128, 127)));
  }
  static const size_t kFields[] = {8,  12, 24, 28, 32, 36, 40, 44, 48, 52, 56,
                                   60, 64, 68, 72, 76, 80, 84, 88, 92, 96, 100};
  for (uint64_t count = input->OneIn(2) ? input->Below(4) : 0; count != 0; --count) {
    const size_t at = kFields[input->Below(sizeof kFields / sizeof kFields[0])];
    Put(bytes, at,
        static_cast<uint32_t>(input->Flag() ? input->Any<uint32_t>()
                                            : static_cast<uint64_t>(input->Number())));
  }
  Put(bytes, 16, ChecksumOf(*bytes));
  if (input->OneIn(16)) {
    (*bytes)[input->Below(bytes->size())] ^= static_cast<uint8_t>(1U << input->Below(8));
  }
  if (input->OneIn(16)) {
    bytes->resize(input->Below(bytes->size() + 9));
  }
}

// --------------------------------------------------------------------------------------- the model

struct Peer {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  uint64_t flags = 0;
  uint64_t first = 0;  // of the first element in the file
  LayoutModel layout;
};

bool IsWhole(const std::vector<uint8_t>& bytes) {
  if (bytes.size() < kHead || std::memcmp(bytes.data(), "DLBRIPC", 8) != 0) {
    return false;
  }
  const auto format = Get<uint32_t>(bytes, 8);
  const auto ndim = Get<uint32_t>(bytes, 44);
  const auto handle = Get<uint32_t>(bytes, 88);
  return (format == 1 || format == 2) && Get<uint32_t>(bytes, 12) == bytes.size() &&
         Get<uint64_t>(bytes, 16) == ChecksumOf(bytes) && ndim <= 64 &&
         handle <= (format == 1 ? 256U : 2304U) && bytes.size() == kHead + 16 * ndim + handle &&
         Get<uint32_t>(bytes, 92) <= (format == 1 ? 4U : 253U) && Get<uint32_t>(bytes, 24) <= 2 &&
         Get<uint64_t>(bytes, 96) == 0;
}

// Are memory, backend, device and file descriptors those of a file of the host, or of no memory?
bool IsConsistent(const std::vector<uint8_t>& bytes, bool empty) {
  const bool plain = Get<uint32_t>(bytes, 8) == 1 && Get<uint32_t>(bytes, 88) == 0;
  if (empty) {
    return plain && Get<uint64_t>(bytes, 24) == 0 && Get<uint32_t>(bytes, 92) == 0 &&
           Get<uint64_t>(bytes, 64) == 0 && Get<uint64_t>(bytes, 72) == 0 &&
           Get<uint64_t>(bytes, 80) == 0;
  }
  return plain && Get<uint32_t>(bytes, 24) == 1 && Get<uint32_t>(bytes, 28) == 1 &&
         Get<uint32_t>(bytes, 32) == kDLCPU && Get<uint32_t>(bytes, 92) == 1;
}

void AddFile(const File& file, uint64_t size, bool read_only, Statuses* out) {
  if (!file.is_memory || !file.sealed || file.size != size || !file.has_pages ||
      (!read_only && !file.writable)) {
    out->insert(DLBRIDGE_ERROR_DESCRIPTOR);
  }
}

void AddPlace(const std::vector<uint8_t>& bytes, const LayoutModel& layout, Statuses* out) {
  const Wide size = Get<uint64_t>(bytes, 64);
  const Wide data = Get<uint64_t>(bytes, 72);
  const Wide origin = data + Get<uint64_t>(bytes, 80);
  if (data > size ||
      (layout.count != 0 && (origin + layout.begin < 0 || origin + layout.end > size))) {
    out->insert(DLBRIDGE_ERROR_DESCRIPTOR);
  }
}

void ReadArrays(const std::vector<uint8_t>& bytes, Peer* peer) {
  const auto ndim = Get<uint32_t>(bytes, 44);
  for (uint32_t i = 0; i < ndim; ++i) {
    peer->shape.push_back(Get<int64_t>(bytes, kHead + 8 * i));
    peer->strides.push_back(Get<int64_t>(bytes, kHead + 8 * (ndim + i)));
  }
  peer->layout.shape = peer->shape;
  peer->layout.strides = &peer->strides;
  peer->layout.item_bits = ItemBitsOf(Get<DLDataType>(bytes, 40), Get<uint64_t>(bytes, 48));
  peer->layout.Compute();
}

// The outcomes of an import; none: it must succeed.
Statuses Expect(const std::vector<uint8_t>& bytes, const File& file, size_t fd_count,
                bool wants_read_only, Peer* peer) {
  if (!IsWhole(bytes)) {
    return {DLBRIDGE_ERROR_DESCRIPTOR};
  }
  Statuses statuses;
  ReadArrays(bytes, peer);
  peer->flags = Get<uint64_t>(bytes, 48);
  peer->first = Get<uint64_t>(bytes, 72) + Get<uint64_t>(bytes, 80);
  if (Get<uint32_t>(bytes, 56) != 1) {
    statuses.insert(DLBRIDGE_ERROR_VERSION);
  }
  const auto device = Get<DLDevice>(bytes, 32);
  const auto dtype = Get<DLDataType>(bytes, 40);
  if (!IsValidDtype(dtype) || device.device_id < 0 || peer->layout.negative || !peer->layout.fits) {
    statuses.insert(DLBRIDGE_ERROR_INVALID_TENSOR);
  }
  const bool read_only = wants_read_only || (peer->flags & kReadOnly) != 0;
  if (Get<uint32_t>(bytes, 92) != fd_count || (peer->flags & kCopied) != 0 ||
      !IsConsistent(bytes, peer->layout.empty)) {
    statuses.insert(DLBRIDGE_ERROR_DESCRIPTOR);
  }
  // A driver's handle is for a driver, which this target has not.
  if (Get<uint32_t>(bytes, 24) == 2) {
    statuses.insert({DLBRIDGE_ERROR_UNAVAILABLE, DLBRIDGE_ERROR_DESCRIPTOR});
  }
  AddPlace(bytes, peer->layout, &statuses);
  AddCodes(device, dtype, peer->flags, 3, &statuses);
  if (!peer->layout.empty) {
    AddFile(file, Get<uint64_t>(bytes, 64), read_only, &statuses);
  }
  return statuses;
}

// --------------------------------------------------------------------------------------- the
// checks

void CheckBytes(const File& file, const Peer& peer, const DLTensor& tensor) {
  const auto size = static_cast<size_t>(peer.layout.end - peer.layout.begin);
  const auto from = static_cast<off_t>(static_cast<Wide>(peer.first) + peer.layout.begin);
  std::vector<uint8_t> expected(size);
  CheckEqual("bytes of the file", size,
             static_cast<size_t>(pread(file.fd, expected.data(), size, from)));
  const uint8_t* found = static_cast<const uint8_t*>(tensor.data) + tensor.byte_offset +
                         static_cast<int64_t>(peer.layout.begin);
  Check("the tensor has the bytes of the file", std::memcmp(expected.data(), found, size) == 0);
}

// A change of a writable tensor reaches the file.
void CheckWrite(const File& file, const Peer& peer, const DLTensor& tensor) {
  uint8_t* first = static_cast<uint8_t*>(tensor.data) + tensor.byte_offset;
  *first = static_cast<uint8_t>(*first + 1);
  uint8_t found = 0;
  Check("a byte of the file", pread(file.fd, &found, 1, static_cast<off_t>(peer.first)) == 1);
  CheckEqual("a byte that was written", *first, found);
}

void CheckImported(const File& file, const Peer& peer, bool wants_read_only,
                   const DLManagedTensorVersioned& imported) {
  const DLTensor& tensor = imported.dl_tensor;
  CheckEqual("the flags", peer.flags | (wants_read_only ? kReadOnly : 0), imported.flags);
  CheckEqual("ndim", peer.shape.size(), static_cast<size_t>(tensor.ndim));
  Check("the extents", std::equal(peer.shape.begin(), peer.shape.end(), tensor.shape));
  Check("the strides", std::equal(peer.strides.begin(), peer.strides.end(), tensor.strides));
  if (peer.layout.count == 0) {
    return;
  }
  CheckBytes(file, peer, tensor);
  if ((imported.flags & kReadOnly) == 0) {
    CheckWrite(file, peer, tensor);
  }
}

void Import(Input* input, const std::vector<uint8_t>& bytes, const File& file) {
  const bool read_only = input->OneIn(4);
  const auto fd_count = static_cast<size_t>(
      input->OneIn(16) ? input->Below(3) : (bytes.size() >= kHead ? Get<uint32_t>(bytes, 92) : 1));
  const bool given = fd_count <= 3;
  const int32_t fds[] = {file.fd, file.fd, file.fd};
  DLBridgeIpcImportSpec spec = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  spec.options = read_only ? DLBRIDGE_IPC_READ_ONLY : 0;
  uint8_t* block = Blocks().Take(bytes.size());
  std::copy(bytes.begin(), bytes.end(), block);
  spec.buffer = block;
  spec.buffer_size = bytes.size();
  spec.fd_count = given ? fd_count : 1;
  spec.fds = Blocks().Copy(fds, spec.fd_count * sizeof fds[0])[0];
  Peer peer;
  const Statuses statuses = Expect(bytes, file, spec.fd_count, read_only, &peer);
  const int fd = LowestFreeFd();
  const size_t mappings = statuses.empty() ? CountMappings() : 0;
  DLManagedTensorVersioned* imported = nullptr;
  DLBridgeError error = GarbageError();
  const DLBridgeStatus status = dlbridge_ipc_import(&spec, &imported, &error);
  CheckError(status, error);
  Check("either a tensor or an error", (status == DLBRIDGE_OK) == (imported != nullptr));
  if (statuses.empty()) {
    CheckStatus(DLBRIDGE_OK, status);
    CheckImported(file, peer, read_only, *imported);
    imported->deleter(imported);
    CheckEqual("mappings of memory files", mappings, CountMappings());
  } else if (statuses.count(status) == 0) {
    Fail("the status", dlbridge_status_name(*statuses.begin()), dlbridge_status_name(status));
  }
  CheckEqual("the lowest free file descriptor", fd, LowestFreeFd());
}

void ImportHostile(Input* input) {
  const File file = TakeFile(input);
  std::vector<uint8_t> bytes = TakeDescriptor(input, file);
  Alter(input, &bytes);
  Import(input, bytes, file);
  if (file.close) {
    close(file.fd);
  }
}

// ---------------------------------------------------------------------------------- an own export

DLManagedTensorVersioned* AllocateShareable(int64_t count, uint64_t flags) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
  spec.dtype = {kDLUInt, 8, 1};
  spec.ndim = 1;
  spec.shape = &count;
  spec.tensor_flags = flags;
  DLManagedTensorVersioned* tensor = nullptr;
  CheckStatus(DLBRIDGE_OK, dlbridge_allocate(&spec, &tensor, nullptr));
  return tensor;
}

// A view of `count` elements with a stride; NULL if that would leave the tensor.
DLManagedTensorVersioned* ViewOf(Input* input, const DLManagedTensorVersioned& tensor) {
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  const auto count = static_cast<int64_t>(input->Below(9));
  const int64_t stride = input->Between(-40, 40);
  spec.ndim = 1;
  spec.shape = &count;
  spec.strides = &stride;
  spec.offset = static_cast<int64_t>(input->Below(300));
  DLManagedTensorVersioned* view = nullptr;
  dlbridge_view(&tensor, &spec, &view, nullptr);
  return view;
}

// Exports with too little room first, then imports the export as it is and altered.
void ExportAndImport(Input* input) {
  const int before = LowestFreeFd();
  const auto count = static_cast<int64_t>(1 + input->Below(300));
  DLManagedTensorVersioned* tensor = AllocateShareable(count, input->OneIn(4) ? kReadOnly : 0);
  DLManagedTensorVersioned* view = input->Flag() ? ViewOf(input, *tensor) : nullptr;
  const DLManagedTensorVersioned& exported = view != nullptr ? *view : *tensor;
  const bool empty = exported.dl_tensor.shape[0] == 0;
  const int lowest = LowestFreeFd();
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  std::vector<uint8_t> bytes(input->Below(120));
  int32_t fds[1] = {-7};
  spec.buffer = bytes.empty() ? nullptr : bytes.data();
  spec.buffer_size = bytes.size();
  CheckStatus(empty && bytes.size() >= kHead + 16 ? DLBRIDGE_OK : DLBRIDGE_ERROR_BUFFER_TOO_SMALL,
              dlbridge_ipc_export(&exported, &spec, &sizes, nullptr));
  CheckEqual("bytes of the descriptor", uint64_t{kHead + 16}, sizes.buffer_size);
  CheckEqual("file descriptors", uint64_t{empty ? 0U : 1U}, sizes.fd_count);
  CheckEqual("the lowest free file descriptor", lowest, LowestFreeFd());
  bytes.resize(kHead + 16);
  spec.buffer = bytes.data();
  spec.buffer_size = bytes.size();
  spec.fds = fds;
  spec.fd_capacity = 1;
  spec.options = input->OneIn(4) ? DLBRIDGE_IPC_READ_ONLY : 0;
  CheckStatus(DLBRIDGE_OK, dlbridge_ipc_export(&exported, &spec, &sizes, nullptr));
  File file;
  file.fd = fds[0];
  file.is_memory = file.sealed = true;
  file.size = 4096;
  file.writable = spec.options == 0 && (exported.flags & kReadOnly) == 0;
  if (input->Flag()) {
    Alter(input, &bytes);
  }
  Import(input, bytes, file);
  if (!empty) {
    close(fds[0]);
  }
  if (view != nullptr) {
    view->deleter(view);
  }
  tensor->deleter(tensor);
  CheckEqual("the lowest free file descriptor", before, LowestFreeFd());
}

void Run(Input* input) {
  if (input->OneIn(5)) {
    ExportAndImport(input);
  } else {
    ImportHostile(input);
  }
  Blocks().Reset();
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return dlbridge_fuzz::RunWithoutDrivers(data, size, dlbridge_fuzz::Run);
}
