// SPDX-License-Identifier: Apache-2.0
// Tensors between processes, in host memory: the imported tensor, the ownership of file
// descriptors, and the rejection of harmful input from a peer.
#include <gtest/gtest.h>

#include "dlbridge/dlbridge.h"
#include "support/tensors.h"

#ifdef __linux__

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/allocations.h"
#include "support/child.h"
#include "support/ipc.h"

namespace dlbridge_test {
namespace {

constexpr int kSealShrink = 2;
constexpr int kAddSeals = 1033;

using Bytes = std::vector<uint8_t>;

DLManagedTensorVersioned* Allocate(const Axes& shape, DLDataType dtype = Dtype(kDLFloat, 32),
                                   uint64_t flags = 0) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.ndim = static_cast<int32_t>(shape.size());
  spec.shape = shape.data();
  spec.dtype = dtype;
  spec.tensor_flags = flags;
  spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_allocate(&spec, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}

float* Floats(const DLManagedTensorVersioned* tensor) {
  return reinterpret_cast<float*>(static_cast<char*>(tensor->dl_tensor.data) +
                                  tensor->dl_tensor.byte_offset);
}

void Number(const DLManagedTensorVersioned* tensor, int count) {
  for (int i = 0; i < count; ++i) {
    Floats(tensor)[i] = static_cast<float>(i);
  }
}

size_t CountFiles(const char* folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}
size_t OpenFiles() { return CountFiles("/proc/self/fd"); }

// The number of mapped memory files.
size_t Mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("/memfd:") != std::string::npos ? 1 : 0;
  }
  return count;
}

// The message that one process sends to another. Its destructor closes the file descriptors.
struct Parcel {
  Bytes bytes;
  std::vector<int32_t> fds;

  Parcel() = default;
  Parcel(const Parcel&) = delete;
  Parcel& operator=(const Parcel&) = delete;
  Parcel(Parcel&& other) noexcept : bytes(std::move(other.bytes)), fds(std::move(other.fds)) {
    other.fds.clear();
  }
  ~Parcel() {
    for (const int32_t fd : fds) {
      close(fd);
    }
  }
};

Parcel MustExport(const DLManagedTensorVersioned* tensor, uint32_t options = 0) {
  uint8_t buffer[kIpcBytes];
  int32_t fds[kIpcFds];
  size_t length = 0;
  size_t count = 0;
  Error error;
  EXPECT_EQ(
      IpcExport(tensor, options, {buffer, sizeof buffer, fds, kIpcFds}, &length, &count, &error),
      DLBRIDGE_OK)
      << error.message;
  Parcel parcel;
  parcel.bytes.assign(buffer, buffer + length);
  parcel.fds.assign(fds, fds + count);
  return parcel;
}

DLBridgeStatus Import(const Bytes& bytes, const std::vector<int32_t>& fds, uint32_t options,
                      DLManagedTensorVersioned** out, Error* error,
                      const DLBridgePolicy* policy = nullptr) {
  // The data of an empty vector may be NULL, which is a different case.
  const uint8_t none = 0;
  return IpcImport(bytes.empty() ? &none : bytes.data(), bytes.size(), fds.data(), fds.size(),
                   options, policy, out, error);
}

DLManagedTensorVersioned* MustImport(const Parcel& parcel, uint32_t options = 0) {
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(Import(parcel.bytes, parcel.fds, options, &out, &error), DLBRIDGE_OK) << error.message;
  return out;
}

// The import fails with `status` and a message that contains `says`, and leaks no descriptor.
void ExpectRefused(const Bytes& bytes, const std::vector<int32_t>& fds, DLBridgeStatus status,
                   const char* says, uint32_t options = 0) {
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  const size_t files = OpenFiles();
  EXPECT_EQ(Import(bytes, fds, options, &out, &error), status) << error.message;
  EXPECT_TRUE(error.Says(says)) << error.message;
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(OpenFiles(), files);
}

// Whether the kernel can write to the memory for this process, tested without risking a signal.
bool IsWritable(void* memory) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  char byte = 0;
  std::memcpy(&byte, memory, 1);
  EXPECT_EQ(write(ends[1], &byte, 1), 1);
  const bool writable = read(ends[0], memory, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return writable;
}

// ------------------------------------------------------------------------------ imported tensor

TEST(Ipc, SharesTheMemoryItself) {
  DLManagedTensorVersioned* tensor = Allocate({2, 3});
  Number(tensor, 6);
  const Parcel parcel = MustExport(tensor);
  EXPECT_EQ(parcel.fds.size(), 1U);
  DLManagedTensorVersioned* arrived = MustImport(parcel);
  EXPECT_EQ(ShapeOf(arrived->dl_tensor), Axes({2, 3}));
  EXPECT_EQ(StridesOf(arrived->dl_tensor), Axes({3, 1}));
  EXPECT_EQ(arrived->flags, 0U);
  EXPECT_EQ(arrived->version.major, 1U);
  EXPECT_EQ(arrived->version.minor, 3U);
  EXPECT_NE(arrived->dl_tensor.data, tensor->dl_tensor.data);
  EXPECT_EQ(Floats(arrived)[5], 5.0F);
  Floats(arrived)[4] = 40.0F;
  EXPECT_EQ(Floats(tensor)[4], 40.0F);
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(Floats(arrived)[4], 40.0F) << "the memory lives as long as its last owner";
  dlbridge_release_versioned(arrived);
}

TEST(Ipc, DropsIsCopied) {
  DLManagedTensorVersioned* tensor = Allocate({2}, Dtype(kDLInt, 4), kCopied | kPadded);
  const Parcel parcel = MustExport(tensor);
  DLManagedTensorVersioned* arrived = MustImport(parcel);
  EXPECT_EQ(arrived->flags, kPadded);
  EXPECT_EQ(arrived->dl_tensor.dtype.bits, 4);
  dlbridge_release_versioned(arrived);
  dlbridge_release_versioned(tensor);
}

TEST(Ipc, ExportsViewsByTheirOwnOffsets) {
  DLManagedTensorVersioned* tensor = Allocate({4, 6});
  Number(tensor, 24);
  const Axes shape = {2, 3};
  const Axes strides = {-6, 2};
  DLManagedTensorVersioned* view = MustView(tensor, shape, &strides, 13);
  DLManagedTensorVersioned* share = MustShare(view);
  dlbridge_release_versioned(tensor);
  for (const DLManagedTensorVersioned* each : {view, share}) {
    const Parcel parcel = MustExport(each);
    DLManagedTensorVersioned* arrived = MustImport(parcel);
    EXPECT_EQ(StridesOf(arrived->dl_tensor), strides);
    EXPECT_EQ(Floats(arrived)[0], 13.0F);
    EXPECT_EQ(Floats(arrived)[-6 + 4], 11.0F);
    dlbridge_release_versioned(arrived);
  }
  dlbridge_release_versioned(view);
  dlbridge_release_versioned(share);
}

TEST(Ipc, RecognisesTheMemoryAfterConversions) {
  DLManagedTensorVersioned* tensor = Allocate({8});
  Number(tensor, 8);
  const Axes shape = {2};
  DLManagedTensorVersioned* view = MustView(tensor, shape, nullptr, 5);
  dlbridge_release_versioned(tensor);
  DLManagedTensorVersioned* back =
      MustUpgrade(MustDowngrade(view), DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET);
  EXPECT_EQ(back->dl_tensor.byte_offset, 0U);
  alignas(16) static char memory[512];
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = memory;
  storage.size = sizeof memory;
  DLManagedTensorVersioned* stored = nullptr;
  ASSERT_EQ(dlbridge_upgrade_into(MustDowngrade(back), nullptr, &storage, &stored, nullptr),
            DLBRIDGE_OK);
  const Parcel parcel = MustExport(stored);
  dlbridge_release_versioned(stored);
  DLManagedTensorVersioned* arrived = MustImport(parcel);
  EXPECT_EQ(Floats(arrived)[1], 6.0F);
  dlbridge_release_versioned(arrived);
}

TEST(Ipc, ScalarsAndManyAxesArrive) {
  for (const size_t ndim : {size_t{0}, size_t{64}}) {
    DLManagedTensorVersioned* tensor = Allocate(Axes(ndim, 1));
    Number(tensor, 1);
    const Parcel parcel = MustExport(tensor);
    EXPECT_LE(parcel.bytes.size(), kIpcBytes);
    DLManagedTensorVersioned* arrived = MustImport(parcel);
    EXPECT_EQ(ShapeOf(arrived->dl_tensor), Axes(ndim, 1));
    EXPECT_EQ(Floats(arrived)[0], 0.0F);
    dlbridge_release_versioned(arrived);
    dlbridge_release_versioned(tensor);
  }
}

TEST(Ipc, EmptyTensorsNeedNoFile) {
  DLManagedTensorVersioned* tensor = Allocate({3, 0});
  EXPECT_EQ(tensor->dl_tensor.data, nullptr);
  const Parcel parcel = MustExport(tensor);
  EXPECT_TRUE(parcel.fds.empty());
  DLManagedTensorVersioned* arrived = MustImport(parcel);
  EXPECT_EQ(ShapeOf(arrived->dl_tensor), Axes({3, 0}));
  EXPECT_EQ(arrived->dl_tensor.data, nullptr);
  dlbridge_release_versioned(arrived);
  dlbridge_release_versioned(tensor);
}

TEST(Ipc, LeavesNothingOpenOrMapped) {
  const size_t files = OpenFiles();
  const size_t maps = Mappings();
  {
    DLManagedTensorVersioned* tensor = Allocate({1000});
    EXPECT_EQ(OpenFiles(), files + 1);
    const Parcel parcel = MustExport(tensor);
    DLManagedTensorVersioned* arrived = MustImport(parcel);
    EXPECT_EQ(OpenFiles(), files + 2) << "an import keeps no descriptor open";
    EXPECT_EQ(Mappings(), maps + 2);
    DLManagedTensorVersioned* share = MustShare(arrived);
    dlbridge_release_versioned(arrived);
    EXPECT_EQ(Mappings(), maps + 2);
    dlbridge_release_versioned(share);
    dlbridge_release_versioned(tensor);
  }
  EXPECT_EQ(OpenFiles(), files);
  EXPECT_EQ(Mappings(), maps);
}

// ------------------------------------------------------------------------------ two processes

void Send(int socket, const Parcel& parcel) {
  iovec part = {const_cast<uint8_t*>(parcel.bytes.data()), parcel.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kIpcFds)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * parcel.fds.size());
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int) * parcel.fds.size());
  std::memcpy(CMSG_DATA(head), parcel.fds.data(), sizeof(int) * parcel.fds.size());
  EXPECT_EQ(sendmsg(socket, &message, 0), static_cast<ssize_t>(parcel.bytes.size()));
}

Parcel Receive(int socket) {
  Parcel parcel;
  parcel.bytes.resize(kIpcBytes);
  iovec part = {parcel.bytes.data(), parcel.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kIpcFds)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  EXPECT_GT(length, 0);
  parcel.bytes.resize(length > 0 ? static_cast<size_t>(length) : 0);
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    parcel.fds.resize((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(parcel.fds.data(), CMSG_DATA(head), sizeof(int) * parcel.fds.size());
  }
  return parcel;
}

// Another process, which runs `part` with its end of a socket.
class Peer {
 public:
  template <class Part>
  explicit Peer(Part part) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    std::fflush(nullptr);
    process_ = fork();
    if (process_ == 0) {
      close(ends[0]);
      part(ends[1]);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    close(ends[1]);
    socket_ = ends[0];
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { close(socket_); }

  int socket() const { return socket_; }
  void Kill() const {
    EXPECT_EQ(kill(process_, SIGKILL), 0);
    Wait();
  }
  int Wait() const {
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    return status;
  }

 private:
  pid_t process_ = -1;
  int socket_ = -1;
};

TEST(IpcProcesses, SeeEachOthersWrites) {
  const Peer peer([](int socket) {
    DLManagedTensorVersioned* tensor = Allocate({64, 64});
    Number(tensor, 64 * 64);
    Send(socket, MustExport(tensor));
    char byte = 0;
    EXPECT_EQ(recv(socket, &byte, 1, 0), 1);
    EXPECT_EQ(Floats(tensor)[17], -1.0F);
    dlbridge_release_versioned(tensor);
  });
  const Parcel parcel = Receive(peer.socket());
  DLManagedTensorVersioned* tensor = MustImport(parcel);
  EXPECT_EQ(Floats(tensor)[64 * 64 - 1], static_cast<float>(64 * 64 - 1));
  Floats(tensor)[17] = -1.0F;
  EXPECT_EQ(send(peer.socket(), "", 1, 0), 1);
  EXPECT_EQ(peer.Wait(), 0);
  dlbridge_release_versioned(tensor);
}

TEST(IpcProcesses, OutliveAnExporterThatWasKilled) {
  const size_t left = CountFiles("/dev/shm");
  const Peer peer([](int socket) {
    DLManagedTensorVersioned* tensor = Allocate({1000});
    Number(tensor, 1000);
    Send(socket, MustExport(tensor));
    pause();
  });
  const Parcel parcel = Receive(peer.socket());
  peer.Kill();
  DLManagedTensorVersioned* tensor = MustImport(parcel);
  EXPECT_EQ(Floats(tensor)[999], 999.0F);
  dlbridge_release_versioned(tensor);
  EXPECT_EQ(CountFiles("/dev/shm"), left);
}

TEST(IpcProcesses, AForkedChildReleasesOnlyItsOwnCopies) {
  DLManagedTensorVersioned* tensor = Allocate({4});
  Number(tensor, 4);
  DLManagedTensorVersioned* arrived = nullptr;
  {
    const Parcel parcel = MustExport(tensor);
    arrived = MustImport(parcel);
  }
  EXPECT_TRUE(InChild([&] {
    Floats(arrived)[2] = 20.0F;
    dlbridge_release_versioned(arrived);
    dlbridge_release_versioned(tensor);
  }));
  EXPECT_EQ(Floats(tensor)[2], 20.0F);
  dlbridge_release_versioned(arrived);
  dlbridge_release_versioned(tensor);
}

// ---------------------------------------------------------------------------------- read-only

TEST(IpcReadOnly, ExportsAreNotWritable) {
  DLManagedTensorVersioned* plain = Allocate({4});
  DLManagedTensorVersioned* marked = Allocate({4}, Dtype(kDLFloat, 32), kReadOnly);
  for (const bool by_option : {true, false}) {
    const Parcel parcel =
        MustExport(by_option ? plain : marked, by_option ? DLBRIDGE_IPC_READ_ONLY : 0);
    EXPECT_EQ(fcntl(parcel.fds[0], F_GETFL) & O_ACCMODE, O_RDONLY);
    struct stat file = {};
    EXPECT_EQ(fstat(parcel.fds[0], &file), 0);
    EXPECT_EQ(file.st_mode & 0777U, 0400U);
    EXPECT_EQ(mmap(nullptr, 16, PROT_READ | PROT_WRITE, MAP_SHARED, parcel.fds[0], 0), MAP_FAILED);
    DLManagedTensorVersioned* arrived = MustImport(parcel);
    EXPECT_EQ(arrived->flags, kReadOnly);
    EXPECT_FALSE(IsWritable(arrived->dl_tensor.data));
    EXPECT_NE(mprotect(arrived->dl_tensor.data, 16, PROT_READ | PROT_WRITE), 0);
    dlbridge_release_versioned(arrived);
  }
  dlbridge_release_versioned(plain);
  dlbridge_release_versioned(marked);
}

// Clearing the flag in the struct does not make the data writable.
TEST(IpcReadOnly, BelongsToTheDataAndNotToTheStruct) {
  DLManagedTensorVersioned* tensor = Allocate({4}, Dtype(kDLFloat, 32), kReadOnly);
  tensor->flags = 0;
  uint8_t buffer[kIpcBytes];
  int32_t fds[kIpcFds];
  size_t length = 0;
  size_t count = 0;
  Error error;
  EXPECT_EQ(IpcExport(tensor, 0, {buffer, sizeof buffer, fds, kIpcFds}, &length, &count, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("READ_ONLY")) << error.message;
  EXPECT_EQ(length + count, 0U);
  dlbridge_release_versioned(tensor);
}

TEST(IpcReadOnly, MayBeRequestedByTheImport) {
  DLManagedTensorVersioned* tensor = Allocate({4});
  const Parcel parcel = MustExport(tensor);
  DLManagedTensorVersioned* arrived = MustImport(parcel, DLBRIDGE_IPC_READ_ONLY);
  EXPECT_EQ(arrived->flags, kReadOnly);
  EXPECT_FALSE(IsWritable(arrived->dl_tensor.data));
  dlbridge_release_versioned(arrived);
  arrived = MustImport(parcel);
  EXPECT_TRUE(IsWritable(arrived->dl_tensor.data));
  dlbridge_release_versioned(arrived);
  dlbridge_release_versioned(tensor);
}

TEST(IpcReadOnly, IsCheckedByThePolicy) {
  DLManagedTensorVersioned* tensor = Allocate({4});
  const Parcel parcel = MustExport(tensor, DLBRIDGE_IPC_READ_ONLY);
  const DLBridgePolicy policy = Policy(DLBRIDGE_POLICY_REQUIRE_WRITABLE);
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  const size_t maps = Mappings();
  EXPECT_EQ(Import(parcel.bytes, parcel.fds, 0, &out, &error, &policy), DLBRIDGE_ERROR_POLICY);
  EXPECT_EQ(error.rule, DLBRIDGE_RULE_NOT_WRITABLE);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(Mappings(), maps);
  dlbridge_release_versioned(tensor);
}

// ---------------------------------------------------------------------------- foreign files

int MemoryFile(off_t size, int seals, bool holes = false) {
  const int fd = static_cast<int>(syscall(SYS_memfd_create, "test", 3U));
  EXPECT_GE(fd, 0);
  EXPECT_EQ(holes ? ftruncate(fd, size) : posix_fallocate(fd, 0, size), 0);
  if (seals != 0) {
    EXPECT_EQ(fcntl(fd, kAddSeals, seals), 0);
  }
  return fd;
}

// The files consist of whole pages, whatever the page size; the tensor leaves 288 bytes unused.
constexpr off_t kSize = 65536;

class IpcFiles : public testing::Test {
 protected:
  void SetUp() override {
    tensor_ = Allocate({16312});
    parcel_ = std::make_unique<Parcel>(MustExport(tensor_));
  }
  void TearDown() override { dlbridge_release_versioned(tensor_); }

  void Refuses(int fd, const char* says) const {
    ExpectRefused(parcel_->bytes, {fd}, DLBRIDGE_ERROR_DESCRIPTOR, says);
    close(fd);
  }

  DLManagedTensorVersioned* tensor_ = nullptr;
  std::unique_ptr<Parcel> parcel_;
};

TEST_F(IpcFiles, MayBeAnySealedMemoryFile) {
  const int fd = MemoryFile(kSize, kSealShrink);
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  ASSERT_EQ(Import(parcel_->bytes, {fd}, 0, &out, &error), DLBRIDGE_OK) << error.message;
  close(fd);
  EXPECT_EQ(Floats(out)[16311], 0.0F);
  dlbridge_release_versioned(out);
}

TEST_F(IpcFiles, MustBeSealedAndLargeEnough) {
  Refuses(MemoryFile(kSize, 0), "not sealed");
  Refuses(MemoryFile(kSize, 4), "not sealed");
  Refuses(MemoryFile(kSize / 2, kSealShrink), "size of the memory file");
  Refuses(MemoryFile(kSize, kSealShrink, true), "holes");
}

TEST_F(IpcFiles, MustBeMemory) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  Refuses(ends[0], "not refer to a memory file");
  Refuses(ends[1], "not refer to a memory file");
  Refuses(open("/", O_RDONLY | O_DIRECTORY), "not refer to a memory file");
  Refuses(open("/dev/null", O_RDWR), "not refer to a memory file");
  // A file that qemu-user does not emulate: emulated files are memory files.
  Refuses(open("/proc/self/mountinfo", O_RDONLY), "not refer to a memory file");
  std::string path = testing::TempDir() + "dlbridge_ipc_XXXXXX";
  const int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  unlink(path.c_str());
  EXPECT_EQ(ftruncate(file, kSize), 0);
  Refuses(file, "memory file");
  char shared[] = "/dev/shm/dlbridge_ipc_XXXXXX";
  const int named = mkstemp(shared);
  ASSERT_GE(named, 0);
  unlink(shared);
  EXPECT_EQ(posix_fallocate(named, 0, kSize), 0);
  Refuses(named, "not sealed");
  Refuses(-1, "not refer to a memory file");
  Refuses(1000000, "not refer to a memory file");
}

// Without a free huge page, access to a hole raises a signal.
TEST_F(IpcFiles, MustNotBeOnHugePages) {
  const int fd = static_cast<int>(syscall(SYS_memfd_create, "huge", 7U));
  if (fd < 0 || ftruncate(fd, off_t{1} << 30) != 0) {
    close(fd);
    GTEST_SKIP() << "there are no huge memory files";
  }
  EXPECT_EQ(fcntl(fd, kAddSeals, kSealShrink), 0);
  Refuses(fd, "not refer to a memory file");
}

TEST_F(IpcFiles, MustBeOpenForTheStatedAccess) {
  const std::string path = "/proc/self/fd/" + std::to_string(parcel_->fds[0]);
  const int reading = open(path.c_str(), O_RDONLY);
  ASSERT_GE(reading, 0);
  ExpectRefused(parcel_->bytes, {reading}, DLBRIDGE_ERROR_DESCRIPTOR,
                "not open for writing and reading");
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(Import(parcel_->bytes, {reading}, DLBRIDGE_IPC_READ_ONLY, &out, &error), DLBRIDGE_OK)
      << error.message;
  dlbridge_release_versioned(out);
  close(reading);
  const int writing = open(path.c_str(), O_WRONLY);
  if (writing >= 0) {
    ExpectRefused(parcel_->bytes, {writing}, DLBRIDGE_ERROR_DESCRIPTOR,
                  "not open for writing and reading");
    ExpectRefused(parcel_->bytes, {writing}, DLBRIDGE_ERROR_DESCRIPTOR, "does not permit",
                  DLBRIDGE_IPC_READ_ONLY);
    close(writing);
  } else {
    EXPECT_EQ(errno, EACCES);  // the file's mode permits reading only, except to root
  }
  Refuses(MemoryFile(kSize, kSealShrink | 8), "does not permit");
}

TEST_F(IpcFiles, MustMatchTheStatedCount) {
  const int32_t fd = parcel_->fds[0];
  ExpectRefused(parcel_->bytes, {}, DLBRIDGE_ERROR_DESCRIPTOR, "fd_count");
  ExpectRefused(parcel_->bytes, {fd, fd}, DLBRIDGE_ERROR_DESCRIPTOR, "fd_count");
  DLManagedTensorVersioned* empty = Allocate({0});
  const Parcel nothing = MustExport(empty);
  ExpectRefused(nothing.bytes, {fd}, DLBRIDGE_ERROR_DESCRIPTOR, "fd_count");
  dlbridge_release_versioned(empty);
}

// ---------------------------------------------------------------------------- altered bytes

TEST_F(IpcFiles, TruncatedDescriptorsAreRejected) {
  for (size_t length = 0; length < parcel_->bytes.size(); ++length) {
    ExpectRefused(Bytes(parcel_->bytes.begin(), parcel_->bytes.begin() + static_cast<long>(length)),
                  parcel_->fds, DLBRIDGE_ERROR_DESCRIPTOR, "the descriptor");
  }
  for (const size_t more : {size_t{1}, size_t{8}, size_t{4000}}) {
    Bytes longer = parcel_->bytes;
    longer.resize(longer.size() + more);
    ExpectRefused(longer, parcel_->fds, DLBRIDGE_ERROR_DESCRIPTOR,
                  more < 4000 ? "length" : "spec.buffer_size");
  }
}

TEST_F(IpcFiles, AlteredBytesAreRejected) {
  for (size_t at = 0; at < parcel_->bytes.size(); ++at) {
    for (unsigned change = 1; change < 256; ++change) {
      Bytes altered = parcel_->bytes;
      altered[at] = static_cast<uint8_t>(altered[at] ^ change);
      DLManagedTensorVersioned* out = nullptr;
      Error error;
      ASSERT_EQ(Import(altered, parcel_->fds, 0, &out, &error), DLBRIDGE_ERROR_DESCRIPTOR) << at;
    }
  }
}

TEST_F(IpcFiles, NewerFormatsAreReported) {
  Bytes newer = parcel_->bytes;
  newer[8] = 3;
  ExpectRefused(newer, parcel_->fds, DLBRIDGE_ERROR_DESCRIPTOR, "format 3, expected 1 or 2");
}

// A forged descriptor with a valid checksum.
template <class T>
Bytes With(const Bytes& bytes, size_t at, T value) {
  Bytes altered = bytes;
  std::memcpy(altered.data() + at, &value, sizeof value);
  std::memset(altered.data() + 16, 0, 8);
  uint64_t sum = 0xcbf29ce484222325U;
  for (const uint8_t byte : altered) {
    sum = (sum ^ byte) * 0x100000001b3U;
  }
  std::memcpy(altered.data() + 16, &sum, sizeof sum);
  return altered;
}

struct Forgery {
  size_t at;
  uint64_t value;
  size_t size;
  DLBridgeStatus status;
  const char* says;
};

const Forgery kForgeries[] = {
    {8, 0, 4, DLBRIDGE_ERROR_DESCRIPTOR, "corrupt"},
    {24, 0, 4, DLBRIDGE_ERROR_DESCRIPTOR, "contradict each other"},
    {24, 2, 4, DLBRIDGE_ERROR_DESCRIPTOR, "contradict each other"},
    {24, 3, 4, DLBRIDGE_ERROR_DESCRIPTOR, "kind of memory"},
    {28, DLBRIDGE_BACKEND_NONE, 4, DLBRIDGE_ERROR_DESCRIPTOR, "contradict each other"},
    {28, DLBRIDGE_BACKEND_CUDA, 4, DLBRIDGE_ERROR_DESCRIPTOR, "contradict each other"},
    {32, kDLCUDA, 4, DLBRIDGE_ERROR_DESCRIPTOR, "contradict each other"},
    {40, 99, 1, DLBRIDGE_ERROR_UNKNOWN_CODE, ""},
    {41, 0, 1, DLBRIDGE_ERROR_INVALID_TENSOR, "bits"},
    {42, 0, 2, DLBRIDGE_ERROR_INVALID_TENSOR, "lanes"},
    {42, 9, 2, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
    {44, 0xffffffff, 4, DLBRIDGE_ERROR_DESCRIPTOR, "axes"},
    {44, 2, 4, DLBRIDGE_ERROR_DESCRIPTOR, "arrays"},
    {44, 65, 4, DLBRIDGE_ERROR_DESCRIPTOR, "axes"},
    {48, 1 << 20, 8, DLBRIDGE_ERROR_UNKNOWN_CODE, ""},
    {56, 0, 4, DLBRIDGE_ERROR_VERSION, "version"},
    {56, 2, 4, DLBRIDGE_ERROR_VERSION, "version"},
    {64, 0, 8, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
    {64, kSize - 289, 8, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
    {64, kSize + 1, 8, DLBRIDGE_ERROR_DESCRIPTOR, "size of the memory file"},
    {64, UINT64_MAX, 8, DLBRIDGE_ERROR_DESCRIPTOR, "size of the memory file"},
    {72, 289, 8, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
    {72, UINT64_MAX, 8, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
    {80, 289, 8, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
    {80, UINT64_MAX, 8, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
    {88, 1, 4, DLBRIDGE_ERROR_DESCRIPTOR, "arrays"},
    {88, 257, 4, DLBRIDGE_ERROR_DESCRIPTOR, "arrays"},
    {92, 0, 4, DLBRIDGE_ERROR_DESCRIPTOR, "fd_count"},
    {92, 5, 4, DLBRIDGE_ERROR_DESCRIPTOR, "too many file descriptors"},
    {96, 1, 4, DLBRIDGE_ERROR_DESCRIPTOR, "does not know"},
    {100, 1, 4, DLBRIDGE_ERROR_DESCRIPTOR, "does not know"},
    {104, UINT64_MAX, 8, DLBRIDGE_ERROR_INVALID_TENSOR, "axis 0"},
    {104, 0, 8, DLBRIDGE_ERROR_DESCRIPTOR, "contradict each other"},
    {104, 16385, 8, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
    {104, INT64_MAX, 8, DLBRIDGE_ERROR_INVALID_TENSOR, ""},
    {112, INT64_MAX, 8, DLBRIDGE_ERROR_INVALID_TENSOR, ""},
    {112, UINT64_MAX, 8, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
    {112, 2, 8, DLBRIDGE_ERROR_DESCRIPTOR, "exceeds"},
};

TEST_F(IpcFiles, ForgedDescriptorsAreValidatedAsForeignTensors) {
  for (const Forgery& forgery : kForgeries) {
    SCOPED_TRACE(testing::Message() << forgery.at << " = " << forgery.value);
    Bytes patch = parcel_->bytes;
    std::memcpy(patch.data() + forgery.at, &forgery.value, forgery.size);
    ExpectRefused(With(patch, 16, uint64_t{0}), parcel_->fds, forgery.status, forgery.says);
  }
}

// A forged descriptor that stays inside the memory is harmless.
TEST_F(IpcFiles, ForgedButHarmlessDescriptorsAreAccepted) {
  const Bytes moved = With(With(parcel_->bytes, 72, uint64_t{288}), 60, uint32_t{77});
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  ASSERT_EQ(Import(moved, parcel_->fds, 0, &out, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(out->version.minor, 3U);
  dlbridge_release_versioned(out);
}

// ------------------------------------------------------------------------------------ arguments

TEST(IpcArguments, OfAnExportAreChecked) {
  DLManagedTensorVersioned* tensor = Allocate({4});
  uint8_t buffer[kIpcBytes];
  int32_t fd = -7;
  size_t length = 0;
  size_t count = 0;
  const auto expect = [&](DLBridgeStatus status, const char* says) {
    EXPECT_EQ(status, DLBRIDGE_ERROR_INVALID_ARGUMENT) << says;
  };
  Error e;
  expect(IpcExport(nullptr, 0, {buffer, 2048, &fd, 1}, &length, &count, &e), "tensor");
  expect(IpcExport(tensor, 1, {buffer, 2048, &fd, 1}, &length, &count, &e), "options");
  expect(IpcExport(tensor, 0, {nullptr, 2048, &fd, 1}, &length, &count, &e), "buffer");
  expect(IpcExport(tensor, 0, {buffer, 2048, nullptr, 1}, &length, &count, &e), "fds");
  const DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  expect(dlbridge_ipc_export(tensor, nullptr, &sizes, &e), "spec");
  expect(dlbridge_ipc_export(tensor, &spec, nullptr, &e), "sizes");
  sizes.options = 1;
  expect(dlbridge_ipc_export(tensor, &spec, &sizes, &e), "sizes.options");
  EXPECT_EQ(IpcExport(tensor, 1U << 9, {buffer, 2048, &fd, 1}, &length, &count, &e),
            DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_EQ(length + count, 0U);
  EXPECT_EQ(fd, -7);
  dlbridge_release_versioned(tensor);
}

TEST(IpcArguments, TooSmallBuffersReportBothSizes) {
  DLManagedTensorVersioned* tensor = Allocate({4});
  const size_t files = OpenFiles();
  uint8_t buffer[kIpcBytes];
  int32_t fd = -7;
  for (const bool room_for_bytes : {true, false}) {
    size_t length = 0;
    size_t count = 0;
    Error error;
    EXPECT_EQ(
        IpcExport(tensor, 0,
                  {buffer, room_for_bytes ? sizeof buffer : 119, &fd, room_for_bytes ? 0U : 1U},
                  &length, &count, &error),
        DLBRIDGE_ERROR_BUFFER_TOO_SMALL);
    EXPECT_TRUE(error.Says(room_for_bytes ? "fd_capacity" : "buffer_size")) << error.message;
    EXPECT_EQ(length, 120U);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(fd, -7);
  }
  size_t length = 0;
  size_t count = 0;
  EXPECT_EQ(IpcExport(tensor, 0, {nullptr, 0, nullptr, 0}, &length, &count, nullptr),
            DLBRIDGE_ERROR_BUFFER_TOO_SMALL);
  EXPECT_EQ(length, 120U);
  EXPECT_EQ(OpenFiles(), files);
  dlbridge_release_versioned(tensor);
}

TEST(IpcArguments, OfAnImportAreChecked) {
  const uint8_t bytes[8] = {};
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(IpcImport(nullptr, 8, nullptr, 0, 0, nullptr, &out, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(IpcImport(bytes, 8, nullptr, 1, 0, nullptr, &out, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(IpcImport(bytes, 8, nullptr, 0, 1, nullptr, &out, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(IpcImport(bytes, 8, nullptr, 0, 0, nullptr, nullptr, &error),
            DLBRIDGE_ERROR_INVALID_ARGUMENT);
  DLBridgePolicy policy = Policy(1U << 31);
  EXPECT_EQ(IpcImport(bytes, 8, nullptr, 0, 0, &policy, &out, &error), DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_EQ(IpcImport(bytes, 8, nullptr, 0, 1U << 9, nullptr, &out, &error),
            DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_EQ(dlbridge_ipc_import(nullptr, &out, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(out, nullptr);
}

void ExpectNoExport(const DLManagedTensorVersioned* tensor, DLBridgeStatus status,
                    const char* says) {
  uint8_t buffer[kIpcBytes];
  int32_t fds[kIpcFds];
  size_t length = 7;
  size_t count = 7;
  Error error;
  EXPECT_EQ(IpcExport(tensor, 0, {buffer, sizeof buffer, fds, kIpcFds}, &length, &count, &error),
            status)
      << error.message;
  EXPECT_TRUE(error.Says(says)) << error.message;
  EXPECT_EQ(length, 7U);
  EXPECT_EQ(count, 7U);
}

TEST(IpcArguments, OtherMemoryIsRejectedWithARemedy) {
  VersionedSource foreign;
  ExpectNoExport(foreign.get(), DLBRIDGE_ERROR_UNSUPPORTED, "DLBRIDGE_ALLOCATE_SHAREABLE");
  foreign.Release();
  const Axes shape = {4};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 1;
  spec.shape = shape.data();
  DLManagedTensorVersioned* plain = nullptr;
  ASSERT_EQ(dlbridge_allocate(&spec, &plain, nullptr), DLBRIDGE_OK);
  ExpectNoExport(plain, DLBRIDGE_ERROR_UNSUPPORTED, "DLBRIDGE_COPY_SHAREABLE");
  dlbridge_release_versioned(plain);
  DLManagedTensorVersioned* tensor = Allocate({4});
  const Parcel parcel = MustExport(tensor);
  DLManagedTensorVersioned* arrived = MustImport(parcel);
  ExpectNoExport(arrived, DLBRIDGE_ERROR_UNSUPPORTED, "shareable");
  dlbridge_release_versioned(arrived);
  void* data = tensor->dl_tensor.data;
  tensor->dl_tensor.data = &data;
  ExpectNoExport(tensor, DLBRIDGE_ERROR_UNSUPPORTED, "shareable");
  tensor->dl_tensor.data = static_cast<char*>(data) + sysconf(_SC_PAGESIZE) - 12;
  ExpectNoExport(tensor, DLBRIDGE_ERROR_UNSUPPORTED, "shareable");
  tensor->dl_tensor.data = data;
  dlbridge_release_versioned(tensor);
}

TEST(IpcArguments, InvalidAndDeviceTensorsAreRejected) {
  TensorSpec spec({2, -1}, {1, 1});
  VersionedSource broken(spec);
  ExpectNoExport(broken.get(), DLBRIDGE_ERROR_INVALID_TENSOR, "axis 1");
  broken.Release();
  spec = TensorSpec();
  spec.version = {2, 0};
  VersionedSource newer(spec);
  ExpectNoExport(newer.get(), DLBRIDGE_ERROR_VERSION, "");
  newer.Release();
  spec = TensorSpec();
  for (const int32_t type : {int32_t{kDLMetal}, int32_t{kDLOpenCL}}) {
    spec.device = Device(type);
    VersionedSource device(spec);
    ExpectNoExport(device.get(), DLBRIDGE_ERROR_UNSUPPORTED, "copy it to the host");
    device.Release();
  }
  spec = TensorSpec();
  spec.flags = 1 << 20;
  VersionedSource unknown(spec);
  ExpectNoExport(unknown.get(), DLBRIDGE_ERROR_UNKNOWN_CODE, "");
  unknown.Release();
}

// --------------------------------------------------------------------------- out of resources

TEST(IpcMemory, FailureLeaksNothing) {
  if (!Allocations::CanFail()) {
    GTEST_SKIP() << "a sanitizer or valgrind has its own malloc here";
  }
  DLManagedTensorVersioned* tensor = Allocate({4});
  const Parcel parcel = MustExport(tensor);
  const size_t files = OpenFiles();
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeStatus status = DLBRIDGE_OK;
  int64_t asked = 0;
  {
    const Allocations allocations(1);
    status = IpcImport(parcel.bytes.data(), parcel.bytes.size(), parcel.fds.data(), 1, 0, nullptr,
                       &out, nullptr);
    asked = allocations.asked();
  }
  EXPECT_EQ(status, DLBRIDGE_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(asked, 1) << "an import needs one allocation";
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(OpenFiles(), files);
  {
    uint8_t buffer[kIpcBytes];
    int32_t fd = -1;
    size_t length = 0;
    size_t count = 0;
    const Allocations allocations;
    status = IpcExport(tensor, 0, {buffer, sizeof buffer, &fd, 1}, &length, &count, nullptr);
    asked = allocations.asked();
    close(fd);
  }
  EXPECT_EQ(status, DLBRIDGE_OK);
  EXPECT_EQ(asked, 0) << "an export needs no allocation";
  dlbridge_release_versioned(tensor);
}

// Runs in a child, which has its own limit on open files.
TEST(IpcMemory, FileDescriptorsMayRunOut) {
  EXPECT_TRUE(InChild([] {
    DLManagedTensorVersioned* tensor = Allocate({4});
    std::vector<int> taken;
    for (int fd = dup(0); fd >= 0; fd = dup(0)) {
      taken.push_back(fd);
    }
    for (const uint32_t options : {0U, uint32_t{DLBRIDGE_IPC_READ_ONLY}}) {
      uint8_t buffer[kIpcBytes];
      int32_t fd = -7;
      size_t length = 0;
      size_t count = 0;
      Error error;
      EXPECT_EQ(
          IpcExport(tensor, options, {buffer, sizeof buffer, &fd, 1}, &length, &count, &error),
          DLBRIDGE_ERROR_OUT_OF_MEMORY)
          << error.message;
      EXPECT_EQ(fd, -7);
    }
    const Axes shape = {4};
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.dtype = {kDLFloat, 32, 1};
    spec.ndim = 1;
    spec.shape = shape.data();
    spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
    DLManagedTensorVersioned* out = nullptr;
    EXPECT_EQ(dlbridge_allocate(&spec, &out, nullptr), DLBRIDGE_ERROR_OUT_OF_MEMORY);
    for (const int fd : taken) {
      close(fd);
    }
    dlbridge_release_versioned(tensor);
  }));
}

// --------------------------------------------------------------------------------- allocation

DLBridgeStatus AllocateBy(const DLBridgeAllocateSpec& spec, Error* error) {
  DLManagedTensorVersioned* out = nullptr;
  const DLBridgeStatus status = dlbridge_allocate(&spec, &out, error);
  EXPECT_EQ(out == nullptr, status != DLBRIDGE_OK);
  dlbridge_release_versioned(out);
  return status;
}

TEST(IpcAllocate, ChecksItsOptions) {
  const Axes shape = {4};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.ndim = 1;
  spec.shape = shape.data();
  spec.dtype = Dtype(kDLFloat, 32);
  spec.options = 1U << 9;
  Error error;
  EXPECT_EQ(AllocateBy(spec, &error), DLBRIDGE_ERROR_TOO_NEW);
  EXPECT_TRUE(error.Says("options")) << error.message;
  spec.options = 1;
  EXPECT_EQ(AllocateBy(spec, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
  spec.device = Device(kDLCUDA);
  EXPECT_EQ(AllocateBy(spec, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("SHAREABLE")) << error.message;
  spec.device = Device(kDLCPU);
  DLBridgeAllocator allocator = DLBRIDGE_ALLOCATOR_INIT;
  allocator.allocate = [](void*, DLDevice, uint64_t, uint64_t,
                          const DLBridgeStream* /*stream*/) -> void* { return nullptr; };
  allocator.deallocate = [](void*, DLDevice, void*, uint64_t, uint64_t,
                            const DLBridgeStream* /*stream*/) {};
  spec.allocator = &allocator;
  EXPECT_EQ(AllocateBy(spec, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  spec.allocator = nullptr;
  spec.alignment = uint64_t{1} << 21;
  EXPECT_EQ(AllocateBy(spec, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("alignment")) << error.message;
  spec.alignment = 4096;
  EXPECT_EQ(AllocateBy(spec, &error), DLBRIDGE_OK);
}

TEST(IpcAllocate, MoreThanAvailableIsRejectedWithoutASignal) {
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 1;
  spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
  const size_t files = OpenFiles();
  for (const int64_t count : {int64_t{1} << 44, INT64_MAX / 4}) {
    spec.shape = &count;
    Error error;
    EXPECT_EQ(AllocateBy(spec, &error), DLBRIDGE_ERROR_OUT_OF_MEMORY) << error.message;
  }
  EXPECT_EQ(OpenFiles(), files);
}

TEST(IpcAllocate, MemoryIsSealedAndBacked) {
  DLManagedTensorVersioned* tensor = Allocate({5000});
  const Parcel parcel = MustExport(tensor);
  struct stat file = {};
  ASSERT_EQ(fstat(parcel.fds[0], &file), 0);
  EXPECT_GE(file.st_size, 20000);
  EXPECT_EQ(file.st_size % sysconf(_SC_PAGESIZE), 0);
  EXPECT_GE(file.st_blocks * 512, file.st_size);
  EXPECT_NE(ftruncate(parcel.fds[0], 4096), 0);
  EXPECT_NE(ftruncate(parcel.fds[0], 1 << 20), 0);
  EXPECT_NE(fcntl(parcel.fds[0], kAddSeals, 8), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->dl_tensor.data) % 4096, 0U);
  EXPECT_NE(fcntl(parcel.fds[0], F_GETFD) & FD_CLOEXEC, 0);
  dlbridge_release_versioned(tensor);
}

}  // namespace
}  // namespace dlbridge_test

#else

namespace dlbridge_test {
namespace {

TEST(Ipc, NeedsMemoryFiles) {
  const Axes shape = {4};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 1;
  spec.shape = shape.data();
  spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
  DLManagedTensorVersioned* out = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_allocate(&spec, &out, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("memory files")) << error.message;
  EXPECT_EQ(out, nullptr);
}

}  // namespace
}  // namespace dlbridge_test

#endif
