// SPDX-License-Identifier: Apache-2.0
#include "tensor/ipc_host.h"

#include "describe/boundary.h"
#include "describe/device.h"
#include "support/text.h"

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <cerrno>
#endif

namespace dlbridge {

#if defined(__linux__) && defined(SYS_memfd_create)

namespace {

// Constants of the kernel that the headers of an old libc lack.
constexpr unsigned kCloseOnExec = 1;
constexpr unsigned kAllowSealing = 2;
constexpr unsigned kNoExecSeal = 8;
constexpr int kAddSeals = 1033;
constexpr int kGetSeals = 1034;
constexpr int kSealSeal = 1;
constexpr int kSealShrink = 2;
constexpr int kSealGrow = 4;
constexpr unsigned long kTmpfs = 0x01021994;

// Pages are allocated in parts of this size: a signal interrupts a call, which is then repeated and
// must be able to finish.
constexpr uint64_t kPart = uint64_t{64} << 20;

// Reports a failed system call.
DLBRIDGE_COLD DLBridgeStatus RejectSystem(DLBridgeError* error, const char* call, int code) {
  const bool scarce = code == ENOMEM || code == ENOSPC || code == EMFILE || code == ENFILE ||
                      code == EFBIG || code == EAGAIN;
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("failed with errno ")
      .Signed(code)
      .String(scarce ? ": no memory or file descriptor is left"
                     : ": this system cannot share memory");
  return RejectStatus(error, scarce ? DLBRIDGE_ERROR_OUT_OF_MEMORY : DLBRIDGE_ERROR_UNSUPPORTED,
                      call, problem);
}

int OpenMemoryFile() {
  const auto open = [](unsigned flags) {
    return static_cast<int>(
        syscall(SYS_memfd_create, "dlbridge", flags | kCloseOnExec | kAllowSealing));
  };
  // Kernels before 6.3 do not know the flag; some later ones require it.
  const int fd = open(kNoExecSeal);
  return fd >= 0 || errno != EINVAL ? fd : open(0);
}

// A size above these limits must be rejected here: with more memory than the machine has the
// process would be killed, and past the limit on the file size it would get a signal.
bool CanEverFit(uint64_t size) {
  struct sysinfo info;
  rlimit limit;
  if (sysinfo(&info) != 0 || getrlimit(RLIMIT_FSIZE, &limit) != 0) {
    return false;
  }
  const Wide all = (static_cast<Wide>(info.totalram) + info.totalswap) * info.mem_unit;
  return size <= all && size <= limit.rlim_cur;
}

// Allocates the pages now: a page that cannot be allocated later would cause a signal, not an
// error.
int AllocatePages(int fd, uint64_t size) {
  uint64_t done = 0;
  while (done < size) {
    const uint64_t part = size - done < kPart ? size - done : kPart;
    const int code = posix_fallocate(fd, static_cast<off_t>(done), static_cast<off_t>(part));
    if (code != 0 && code != EINTR) {
      return code;
    }
    done += code == 0 ? part : 0;
  }
  return 0;
}

// Fixes the size of the file, and keeps other users from opening it again.
int SealFile(int fd) {
  const bool sealed =
      fchmod(fd, S_IRUSR) == 0 && fcntl(fd, kAddSeals, kSealShrink | kSealGrow | kSealSeal) == 0;
  return sealed ? 0 : errno;
}

DLBridgeStatus FillFile(int fd, uint64_t size, void** memory, DLBridgeError* error) {
  int code = AllocatePages(fd, size);
  if (code != 0) {
    return RejectSystem(error, "fallocate", code);
  }
  code = SealFile(fd);
  if (code != 0) {
    return RejectSystem(error, "sealing a memory file", code);
  }
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) {
    return RejectSystem(error, "mmap", errno);
  }
  *memory = mapped;
  return DLBRIDGE_OK;
}

// A tail of shareable memory stores its file descriptor as the allocator's context.
void* ContextOf(int fd) { return reinterpret_cast<void*>(static_cast<uintptr_t>(fd)); }
int FileOf(const void* context) { return static_cast<int>(reinterpret_cast<uintptr_t>(context)); }

void FreeImported(void* /*context*/, DLDevice /*device*/, void* memory, uint64_t bytes,
                  uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
  munmap(memory, bytes);
}

void FreeShareable(void* context, DLDevice /*device*/, void* memory, uint64_t bytes,
                   uint64_t /*alignment*/, const DLBridgeStream* /*stream*/) {
  munmap(memory, bytes);
  close(FileOf(context));
}

void FillTail(void* memory, uint64_t size, AllocationTail* tail) {
  *tail = {};
  tail->memory = memory;
  tail->bytes = size;
  tail->device = MakeDevice(kDLCPU, 0);
}

DLBRIDGE_COLD DLBridgeStatus RejectFile(DLBridgeError* error, const char* problem) {
  return RejectStatus(error, DLBRIDGE_ERROR_DESCRIPTOR, "the file descriptor", problem);
}

// Rejects a file in which a peer could make a reader of the first `size` bytes fault. A reader is
// safe if the bytes are allocated and the file cannot shrink; a hole that is made later reads as
// zeros.
DLBridgeStatus CheckFile(int fd, uint64_t size, DLBridgeError* error) {
  const int seals = fcntl(fd, kGetSeals);
  struct stat file;
  struct statfs system;
  if (seals < 0 || fstat(fd, &file) != 0 || fstatfs(fd, &system) != 0 || !S_ISREG(file.st_mode) ||
      static_cast<unsigned long>(system.f_type) != kTmpfs) {
    return RejectFile(error, "does not refer to a memory file (memfd)");
  }
  if ((seals & kSealShrink) == 0) {
    return RejectFile(error, "refers to a memory file that is not sealed against shrinking");
  }
  // In a larger file, all pages that are counted below could lie past `size`.
  if (file.st_size < 0 || static_cast<uint64_t>(file.st_size) != size) {
    return RejectOther(error, DLBRIDGE_ERROR_DESCRIPTOR, "the size of the memory file", size,
                       static_cast<uint64_t>(file.st_size));
  }
  if (static_cast<Wide>(file.st_blocks) * 512 < static_cast<Wide>(size)) {
    return RejectFile(error, "refers to a memory file with holes");
  }
  return DLBRIDGE_OK;
}

// True if all pages were written to. Moves the position of the file and restores it.
bool HasNoHole(int fd, uint64_t size) {
  const off_t before = lseek(fd, 0, SEEK_CUR);
  const off_t hole = lseek(fd, 0, SEEK_HOLE);
  lseek(fd, before < 0 ? 0 : before, SEEK_SET);
  return hole >= 0 && static_cast<uint64_t>(hole) >= size;
}

// Makes the pages of the mapping present unless all of them were written to. The count of CheckFile
// is not sufficient, since pages can also be allocated past the end of a file. Kernels before 5.14
// cannot do it and return EINVAL, which is accepted.
DLBridgeStatus MakePresent(int fd, void* mapped, uint64_t size, DLBridgeError* error) {
  constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, newer than the oldest headers
  if (HasNoHole(fd, size) || madvise(mapped, size, kPopulateRead) == 0 || errno == EINVAL) {
    return DLBRIDGE_OK;
  }
  return RejectFile(error, "refers to a memory file whose pages cannot be loaded");
}

DLBridgeStatus CheckWritable(int fd, DLBridgeError* error) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDWR
             ? DLBRIDGE_OK
             : RejectFile(
                   error,
                   "is not open for writing and reading, as a writable tensor needs; one that "
                   "is open for reading can be imported with DLBRIDGE_IPC_READ_ONLY");
}

}  // namespace

DLBridgeStatus AcquireShareable(uint64_t bytes, uint64_t alignment, AllocationTail* tail,
                                DLBridgeError* error) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (alignment > page) {
    char problem[100];
    TextWriter(problem, sizeof problem)
        .String("must be at most ")
        .Unsigned(page)
        .String(", the size of a page, for SHAREABLE memory");
    return RejectValue(error, DLBRIDGE_ERROR_UNSUPPORTED, "spec.alignment", problem, alignment);
  }
  uint64_t size = 0;
  if (AddOverflows(bytes, page - 1, &size) || !CanEverFit(size)) {
    return RejectMemory(error);
  }
  size -= size % page;
  const int fd = OpenMemoryFile();
  if (fd < 0) {
    return RejectSystem(error, "memfd_create", errno);
  }
  void* memory = nullptr;
  const DLBridgeStatus status = FillFile(fd, size, &memory, error);
  if (status != DLBRIDGE_OK) {
    close(fd);
    return status;
  }
  FillTail(memory, size, tail);
  tail->context = ContextOf(fd);
  tail->deallocate = FreeShareable;
  return DLBRIDGE_OK;
}

bool IsShareable(const AllocationTail& tail) {
  return tail.memory != nullptr && tail.deallocate == FreeShareable;
}

DLBridgeStatus ExportFile(const AllocationTail& tail, bool read_only, int32_t* fd,
                          DLBridgeError* error) {
  const int file = FileOf(tail.context);
  if (!read_only) {
    *fd = fcntl(file, F_DUPFD_CLOEXEC, 0);
    return *fd >= 0 ? DLBRIDGE_OK : RejectSystem(error, "fcntl", errno);
  }
  // A duplicate would keep the access mode, so the file is opened again.
  char path[40];
  TextWriter(path, sizeof path).String("/proc/self/fd/").Signed(file);
  *fd = open(path, O_RDONLY | O_CLOEXEC);
  return *fd >= 0 ? DLBRIDGE_OK : RejectSystem(error, "open of /proc/self/fd for reading", errno);
}

DLBridgeStatus ImportFile(int32_t fd, uint64_t size, bool read_only, AllocationTail* tail,
                          DLBridgeError* error) {
  DLBRIDGE_TRY(CheckFile(fd, size, error));
  if (!read_only) {
    DLBRIDGE_TRY(CheckWritable(fd, error));
  }
  const int rights = read_only ? PROT_READ : PROT_READ | PROT_WRITE;
  void* mapped = mmap(nullptr, size, rights, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) {
    return errno == EPERM || errno == EACCES
               ? RejectFile(error, "does not permit the access that the descriptor states")
               : RejectSystem(error, "mmap", errno);
  }
  const DLBridgeStatus status = MakePresent(fd, mapped, size, error);
  if (status != DLBRIDGE_OK) {
    munmap(mapped, size);
    return status;
  }
  FillTail(mapped, size, tail);
  tail->deallocate = FreeImported;
  return DLBRIDGE_OK;
}

void CloseFiles(const int32_t* fds, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    close(fds[i]);
  }
}

#else

namespace {

DLBridgeStatus RejectSystem(DLBridgeError* error) {
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "memory of the host",
                      "cannot be shared on this system, which has no sealed memory files");
}

}  // namespace

DLBridgeStatus AcquireShareable(uint64_t /*bytes*/, uint64_t /*alignment*/,
                                AllocationTail* /*tail*/, DLBridgeError* error) {
  return RejectSystem(error);
}

bool IsShareable(const AllocationTail& /*tail*/) { return false; }

DLBridgeStatus ExportFile(const AllocationTail& /*tail*/, bool /*read_only*/, int32_t* /*fd*/,
                          DLBridgeError* error) {
  return RejectSystem(error);
}

DLBridgeStatus ImportFile(int32_t /*fd*/, uint64_t /*size*/, bool /*read_only*/,
                          AllocationTail* /*tail*/, DLBridgeError* error) {
  return RejectSystem(error);
}

void CloseFiles(const int32_t* /*fds*/, uint32_t /*count*/) {}

#endif

}  // namespace dlbridge
