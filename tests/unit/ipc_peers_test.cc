// SPDX-License-Identifier: Apache-2.0
// Hostile peers: another user, a peer that changes the file during an import, messages that are
// sent again after the exporter's death, and altered messages. Nothing stays open or mapped,
// READ_ONLY holds, and no access inside the tensor is a signal.
#include <gtest/gtest.h>

#ifdef __linux__

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "device/ipc_checks.h"
#include "support/child.h"
#include "support/scale.h"
#include "support/tensors.h"

namespace dlbridge_test {
namespace {

using Managed = DLManagedTensorVersioned;

// The headers of an old C library lack these constants of the kernel.
constexpr int kAddSeals = 1033;
constexpr int kSealShrink = 2;
constexpr unsigned kAllowSealing = 2;

Managed* Shareable(int64_t count) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
  spec.dtype = Dtype(kDLFloat, 32);
  spec.ndim = 1;
  spec.shape = &count;
  Managed* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_allocate(&spec, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}

IpcLetter LetterOf(const Managed* tensor, uint32_t options) {
  IpcLetter letter = {};
  Error error;
  EXPECT_EQ(IpcExport(tensor, options, {letter.bytes, sizeof letter.bytes, letter.fds, kIpcFds},
                      &letter.length, &letter.fd_count, &error),
            DLBRIDGE_OK)
      << error.message;
  return letter;
}

// File descriptors, and mappings of memory files.
struct Held {
  size_t files = 0;
  size_t mappings = 0;

  static Held Now() {
    Held held;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      held.files += entry.path().empty() ? 0 : 1;
    }
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      held.mappings += line.find("/memfd:") != std::string::npos ? 1 : 0;
    }
    return held;
  }
  bool operator==(const Held& other) const {
    return files == other.files && mappings == other.mappings;
  }
};

// ------------------------------------------------------------------------------- another user

constexpr uid_t kOther = 65533;

// Gives up all rights. Without PR_SET_DUMPABLE the files of /proc/self would be root's, and every
// open there would fail for that reason alone.
bool BecomeOther() {
  return setgroups(0, nullptr) == 0 && setgid(kOther) == 0 && setuid(kOther) == 0 &&
         prctl(PR_SET_DUMPABLE, 1) == 0;
}

std::string PathOf(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// The process can open its own files there: a rejection is due to the file.
void ExpectProcIsOpen() {
  const int own = static_cast<int>(syscall(SYS_memfd_create, "own", 0U));
  const int again = open(PathOf(own).c_str(), O_RDWR);
  EXPECT_GE(again, 0) << "/proc/self/fd cannot be used at all";
  close(again);
  close(own);
}

// What the owner of a read-only share may try in order to write.
void ExpectNoWayToWrite(int fd, void* mapped) {
  for (const int mode : {O_RDWR, O_WRONLY, O_RDWR | O_TRUNC}) {
    EXPECT_EQ(open(PathOf(fd).c_str(), mode), -1) << mode;
  }
  EXPECT_NE(fchmod(fd, 0666), 0);
  EXPECT_NE(chmod(PathOf(fd).c_str(), 0666), 0);
  EXPECT_NE(fcntl(fd, kAddSeals, kSealShrink), 0);
  EXPECT_NE(ftruncate(fd, 0), 0);
  EXPECT_NE(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_LT(write(fd, "x", 1), 0);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_NE(mprotect(mapped, 4096, PROT_READ | PROT_WRITE), 0);
  // This file writes through private read-only mappings; a shared one stays as it is.
  const int memory = open("/proc/self/mem", O_RDWR);
  EXPECT_LT(pwrite(memory, "x", 1, static_cast<off_t>(reinterpret_cast<uintptr_t>(mapped))), 1);
  close(memory);
}

class AnotherUser : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) {
      GTEST_SKIP() << "only root can become another user";
    }
  }
};

TEST_F(AnotherUser, CannotWriteToAReadOnlyShare) {
  Managed* tensor = Shareable(1024);
  static_cast<float*>(tensor->dl_tensor.data)[0] = 7;
  const IpcLetter letter = LetterOf(tensor, DLBRIDGE_IPC_READ_ONLY);
  EXPECT_TRUE(InChild([&] {
    dlbridge_release_versioned(tensor);
    ASSERT_TRUE(BecomeOther());
    ExpectProcIsOpen();
    Managed* out = nullptr;
    Error error;
    ASSERT_EQ(ImportLetter(letter, &out, &error), DLBRIDGE_OK) << error.message;
    EXPECT_NE(out->flags & kReadOnly, 0U);
    ExpectNoWayToWrite(letter.fds[0], out->dl_tensor.data);
    EXPECT_EQ(static_cast<float*>(out->dl_tensor.data)[0], 7);
    dlbridge_release_versioned(out);
  }));
  EXPECT_EQ(static_cast<float*>(tensor->dl_tensor.data)[0], 7);
  CloseFds(letter);
  dlbridge_release_versioned(tensor);
}

TEST_F(AnotherUser, WritesToAWritableShareOnly) {
  Managed* tensor = Shareable(1024);
  const IpcLetter letter = LetterOf(tensor, 0);
  EXPECT_TRUE(InChild([&] {
    dlbridge_release_versioned(tensor);
    ASSERT_TRUE(BecomeOther());
    Managed* out = nullptr;
    Error error;
    ASSERT_EQ(ImportLetter(letter, &out, &error), DLBRIDGE_OK) << error.message;
    static_cast<float*>(out->dl_tensor.data)[3] = 5;
    // The seals hold for every holder of the file.
    EXPECT_NE(ftruncate(letter.fds[0], 0), 0);
    EXPECT_NE(ftruncate(letter.fds[0], 1 << 20), 0);
    EXPECT_EQ(open(PathOf(letter.fds[0]).c_str(), O_RDWR), -1) << "the mode of the file is 0400";
    dlbridge_release_versioned(out);
  }));
  EXPECT_EQ(static_cast<float*>(tensor->dl_tensor.data)[3], 5);
  CloseFds(letter);
  dlbridge_release_versioned(tensor);
}

// The exporter is another user: its files are accepted, and cannot harm.
TEST_F(AnotherUser, MayExport) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  EXPECT_TRUE(InChild([&] {
    ASSERT_TRUE(BecomeOther());
    Managed* tensor = Shareable(1024);
    static_cast<float*>(tensor->dl_tensor.data)[1] = 3;
    const IpcLetter letter = LetterOf(tensor, DLBRIDGE_IPC_READ_ONLY);
    SendLetter(ends[1], letter);
    CloseFds(letter);
    dlbridge_release_versioned(tensor);
  }));
  const IpcLetter letter = ReceiveLetter(ends[0]);
  Managed* out = nullptr;
  Error error;
  ASSERT_EQ(ImportLetter(letter, &out, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(static_cast<float*>(out->dl_tensor.data)[1], 3);
  dlbridge_release_versioned(out);
  CloseFds(letter);
  close(ends[0]);
  close(ends[1]);
}

// ------------------------------------------------------------- a file that changes meanwhile

// One peer's file, which it changes until it is stopped.
constexpr off_t kSize = 65536;
constexpr int64_t kFloats16K = 16384;

void Disturb(int fd, Random* random) {
  switch (random->Between(0, 5)) {
    case 0:
      ftruncate(fd, random->Between(0, 2) * 4096);
      break;
    case 1:
      ftruncate(fd, kSize);
      break;
    case 2:
      ftruncate(fd, kSize * 2);
      break;
    case 3:
      fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, random->Between(0, 15) * 4096,
                8192);
      break;
    case 4:
      posix_fallocate(fd, 0, kSize);
      break;
    default:
      // Rarely, or the file would soon stop to change.
      if (random->OneIn(20)) {
        fcntl(fd, kAddSeals, kSealShrink);
      }
  }
}

// Reads and writes a byte of each page: a page that is missing is a signal, which ends the test.
void TouchAll(const Managed& tensor) {
  auto* bytes = static_cast<volatile unsigned char*>(tensor.dl_tensor.data);
  for (off_t at = 0; at < kSize; at += 4096) {
    bytes[at] = static_cast<unsigned char>(bytes[at] + 1);
  }
}

TEST(IpcPeer, ChangesTheFileDuringTheImport) {
  Managed* tensor = Shareable(kFloats16K);
  IpcLetter letter = LetterOf(tensor, 0);
  CloseFds(letter);
  const Held before = Held::Now();
  int accepted = 0;
  for (size_t round = 0; round < Scaled(300); ++round) {
    const int fd = static_cast<int>(syscall(SYS_memfd_create, "peer", kAllowSealing));
    ASSERT_EQ(posix_fallocate(fd, 0, kSize), 0);
    letter.fds[0] = fd;
    std::atomic<bool> stop{false};
    std::thread peer([&] {
      Random random(round);
      while (!stop.load(std::memory_order_relaxed)) {
        Disturb(fd, &random);
      }
    });
    for (int i = 0; i < 30; ++i) {
      Managed* out = nullptr;
      Error error;
      const DLBridgeStatus status = ImportLetter(letter, &out, &error);
      EXPECT_TRUE(status == DLBRIDGE_OK || status == DLBRIDGE_ERROR_DESCRIPTOR) << error.message;
      if (status == DLBRIDGE_OK) {
        ++accepted;
        TouchAll(*out);
        dlbridge_release_versioned(out);
      }
    }
    stop.store(true, std::memory_order_relaxed);
    peer.join();
    close(fd);
  }
  EXPECT_TRUE(Held::Now() == before);
  RecordProperty("accepted", accepted);
  dlbridge_release_versioned(tensor);
}

// Each change before the import has its own answer.
TEST(IpcPeer, ChangedTheFileBeforeTheImport) {
  const struct {
    const char* change;
    off_t size;
    bool hole;
    bool sealed;
    bool accepted;
  } kCases[] = {{"sealed", kSize, false, true, true},
                {"not sealed", kSize, false, false, false},
                {"shrunk, then sealed", kSize - 4096, false, true, false},
                {"grown, then sealed", kSize + 4096, false, true, false},
                {"with a hole, then sealed", kSize, true, true, false},
                {"empty", 0, false, true, false}};
  Managed* tensor = Shareable(kFloats16K);
  IpcLetter letter = LetterOf(tensor, 0);
  CloseFds(letter);
  for (const auto& tested : kCases) {
    SCOPED_TRACE(tested.change);
    const Held before = Held::Now();
    const int fd = static_cast<int>(syscall(SYS_memfd_create, "peer", kAllowSealing));
    ASSERT_EQ(posix_fallocate(fd, 0, kSize + 4096), 0);
    ASSERT_EQ(ftruncate(fd, tested.size), 0);
    if (tested.hole) {
      ASSERT_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 4096), 0);
    }
    if (tested.sealed) {
      ASSERT_EQ(fcntl(fd, kAddSeals, kSealShrink), 0);
    }
    letter.fds[0] = fd;
    Managed* out = nullptr;
    Error error;
    const DLBridgeStatus status = ImportLetter(letter, &out, &error);
    EXPECT_EQ(status, tested.accepted ? DLBRIDGE_OK : DLBRIDGE_ERROR_DESCRIPTOR) << error.message;
    if (out != nullptr) {
      TouchAll(*out);
      dlbridge_release_versioned(out);
    }
    close(fd);
    EXPECT_TRUE(Held::Now() == before);
  }
  dlbridge_release_versioned(tensor);
}

// Holes that are made after the import read as zeros, and shrinking is no longer possible.
TEST(IpcPeer, ChangesTheFileAfterTheImport) {
  Managed* tensor = Shareable(kFloats16K);
  const IpcLetter letter = LetterOf(tensor, 0);
  Managed* out = nullptr;
  ASSERT_EQ(ImportLetter(letter, &out, nullptr), DLBRIDGE_OK);
  TouchAll(*out);
  EXPECT_EQ(fallocate(letter.fds[0], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kSize), 0);
  EXPECT_NE(ftruncate(letter.fds[0], 0), 0);
  EXPECT_EQ(static_cast<unsigned char*>(out->dl_tensor.data)[0], 0);
  TouchAll(*out);
  CloseFds(letter);
  dlbridge_release_versioned(out);
  dlbridge_release_versioned(tensor);
}

// --------------------------------------------------------------- messages that are sent again

TEST(IpcPeer, IsDeadAndItsMessageComesAgain) {
  const Held before = Held::Now();
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  EXPECT_TRUE(InChild([&] {
    Managed* tensor = Shareable(kFloats16K);
    static_cast<float*>(tensor->dl_tensor.data)[9] = 9;
    SendLetter(ends[1], LetterOf(tensor, 0));
    _exit(0);  // without a release, as a process that is killed
  }));
  const IpcLetter letter = ReceiveLetter(ends[0]);
  std::vector<Managed*> imports;
  for (int i = 0; i < 50; ++i) {
    Managed* out = nullptr;
    Error error;
    ASSERT_EQ(ImportLetter(letter, &out, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(static_cast<float*>(out->dl_tensor.data)[9], 9);
    imports.push_back(out);
  }
  CloseFds(letter);
  for (Managed* import : imports) {
    dlbridge_release_versioned(import);
  }
  // The numbers of the file descriptors now mean nothing, or another file.
  Managed* out = nullptr;
  Error error;
  EXPECT_EQ(ImportLetter(letter, &out, &error), DLBRIDGE_ERROR_DESCRIPTOR) << error.message;
  const int other = open("/dev/null", O_RDWR);
  ASSERT_EQ(other, letter.fds[0]) << "the lowest free number is used again";
  EXPECT_EQ(ImportLetter(letter, &out, &error), DLBRIDGE_ERROR_DESCRIPTOR) << error.message;
  EXPECT_EQ(out, nullptr);
  for (const int fd : {other, ends[0], ends[1]}) {
    close(fd);
  }
  EXPECT_TRUE(Held::Now() == before);
}

// ---------------------------------------------------------------------------- altered messages

// A word of the message gets a value near a limit, or a random one.
void Alter(IpcLetter* letter, Random* random) {
  static const uint64_t kValues[] = {0,          1,          2,         4,          63,
                                     64,         65,         255,       256,        4095,
                                     4096,       65535,      65536,     65537,      INT32_MAX,
                                     UINT32_MAX, 1ULL << 32, INT64_MAX, 1ULL << 63, UINT64_MAX};
  const uint64_t value = random->OneIn(4) ? random->Bits() : random->Pick(kValues);
  const auto size = static_cast<size_t>(random->Between(1, 8));
  const auto last = static_cast<int64_t>(letter->length - size);
  std::memcpy(letter->bytes + random->Between(8, last), &value, size);
}

// The bytes that the elements of a tensor touch, computed apart from the library.
void ReadEnds(const DLTensor& tensor) {
  __int128 low = 0;
  __int128 high = 0;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] == 0) {
      return;
    }
    const __int128 reach = static_cast<__int128>(tensor.shape[axis] - 1) * tensor.strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t bits = static_cast<int64_t>(tensor.dtype.bits) * tensor.dtype.lanes;
  auto* first = static_cast<volatile const unsigned char*>(tensor.data) + tensor.byte_offset;
  const auto lowest = static_cast<int64_t>(low * bits / 8);
  const auto highest = static_cast<int64_t>((high * bits + bits - 1) / 8);
  EXPECT_GE(first[lowest] + first[highest], 0);
}

// DLBRIDGE_TEST_SCALE=50 tries a million.
TEST(IpcPeer, AltersItsMessages) {
  Managed* tensor = Shareable(kFloats16K);
  const int64_t shape[] = {16, 32, 16};
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  spec.ndim = 3;
  spec.shape = shape;
  spec.offset = 64;
  Managed* view = nullptr;
  ASSERT_EQ(dlbridge_view(tensor, &spec, &view, nullptr), DLBRIDGE_OK);
  const IpcLetter honest = LetterOf(view, 0);
  const Held before = Held::Now();
  Random random(20);
  size_t accepted = 0;
  const size_t count = Scaled(20000);
  for (size_t i = 0; i < count; ++i) {
    IpcLetter letter = honest;
    for (int64_t changes = random.Between(1, 3); changes != 0; --changes) {
      Alter(&letter, &random);
    }
    Sign(&letter);
    Managed* out = nullptr;
    Error error;
    if (ImportLetter(letter, &out, &error) == DLBRIDGE_OK) {
      ++accepted;
      ReadEnds(out->dl_tensor);
      dlbridge_release_versioned(out);
    } else {
      ASSERT_EQ(out, nullptr);
      ASSERT_NE(error.message[0], '\0');
    }
  }
  EXPECT_TRUE(Held::Now() == before);
  EXPECT_GT(accepted, 0U) << "the checksum rejects everything, so nothing else is tested";
  EXPECT_LT(accepted, count / 2);
  CloseFds(honest);
  dlbridge_release_versioned(view);
  dlbridge_release_versioned(tensor);
}

}  // namespace
}  // namespace dlbridge_test

#else

TEST(IpcPeer, NeedsMemoryFiles) { GTEST_SKIP() << "this system has no sealed memory files"; }

#endif
