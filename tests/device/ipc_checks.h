// SPDX-License-Identifier: Apache-2.0
// Device tensors between two real processes through the C ABI: one exports and waits, the other
// imports the message from a socket. A test supplies the setup of a process's device.
#ifndef DLBRIDGE_TESTS_DEVICE_IPC_CHECKS_H_
#define DLBRIDGE_TESTS_DEVICE_IPC_CHECKS_H_

#include <fcntl.h>
#include <sys/socket.h>

#include <functional>

#include "support/child.h"
#include "support/ipc.h"
#include "tensor_checks.h"

namespace dlbridge_test {

// Offsets in the descriptor, from docs/ipc.md.
constexpr size_t kAtChecksum = 16;
constexpr size_t kAtMemorySize = 64;
constexpr size_t kAtArrays = 104;

// The message of the exporter.
struct IpcLetter {
  uint8_t bytes[kIpcBytes];
  size_t length;
  int32_t fds[kIpcFds];
  size_t fd_count;
};

inline void SendLetter(int socket, const IpcLetter& letter) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof letter.fds)] = {};
  iovec bytes = {const_cast<IpcLetter*>(&letter), sizeof letter};
  msghdr header = {};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  if (letter.fd_count != 0) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(letter.fd_count * sizeof(int32_t));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(letter.fd_count * sizeof(int32_t));
    std::memcpy(CMSG_DATA(rights), letter.fds, letter.fd_count * sizeof(int32_t));
  }
  EXPECT_EQ(sendmsg(socket, &header, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof letter));
}

// A length of 0 means that the exporter failed.
inline IpcLetter ReceiveLetter(int socket) {
  IpcLetter letter = {};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof letter.fds)] = {};
  iovec bytes = {&letter, sizeof letter};
  msghdr header = {};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  EXPECT_EQ(recvmsg(socket, &header, 0), static_cast<ssize_t>(sizeof letter));
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (rights != nullptr) {
    std::memcpy(letter.fds, CMSG_DATA(rights), letter.fd_count * sizeof(int32_t));
  }
  return letter;
}

inline void CloseFds(const IpcLetter& letter) {
  for (size_t i = 0; i < letter.fd_count; ++i) {
    EXPECT_EQ(close(letter.fds[i]), 0) << "an import leaves the descriptors";
  }
}

// Writes a valid checksum, as an attacker can.
inline void Sign(IpcLetter* letter) {
  uint64_t sum = 0xcbf29ce484222325U;
  for (size_t i = 0; i < letter->length; ++i) {
    const bool own = i >= kAtChecksum && i < kAtChecksum + sizeof sum;
    sum = (sum ^ (own ? 0 : letter->bytes[i])) * 0x100000001b3U;
  }
  std::memcpy(letter->bytes + kAtChecksum, &sum, sizeof sum);
}

inline DLBridgeStatus ImportLetter(const IpcLetter& letter, DLManagedTensorVersioned** out,
                                   DLBridgeError* error) {
  return IpcImport(letter.bytes, letter.length, letter.fds, letter.fd_count, 0, nullptr, out,
                   error);
}

// The exported tensor: 3 rows of 5 elements, every second element of rows of 20, from byte 100 of
// 4096.
constexpr size_t kSharedBytes = 4096;
constexpr uint64_t kSharedOffset = 100;
inline TensorBytes SharedContent() {
  TensorBytes bytes(kSharedBytes);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  }
  return bytes;
}

inline void CountIpcRelease(void* context, const DLBridgeBuffer* /*buffer*/,
                            const DLBridgeStream* /*stream*/) {
  ++*static_cast<int*>(context);
}

inline DLManagedTensorVersioned* WrapShared(const DLBridgeBuffer& memory, DLDevice label,
                                            int* released) {
  const int64_t shape[] = {3, 5};
  const int64_t strides[] = {20, 2};
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.ndim = 2;
  spec.shape = shape;
  spec.strides = strides;
  spec.buffer = memory;
  spec.byte_offset = kSharedOffset;
  spec.options = DLBRIDGE_WRAP_LIMIT_BUFFER;
  spec.buffer_size = kSharedBytes;
  spec.dtype = {kDLFloat, 32, 1};
  spec.device = label;
  spec.release = CountIpcRelease;
  spec.release_context = released;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* tensor = nullptr;
  EXPECT_EQ(dlbridge_wrap(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
  return tensor;
}

inline IpcLetter ExportLetter(const DLManagedTensorVersioned* tensor) {
  IpcLetter letter = {};
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  EXPECT_EQ(IpcExport(tensor, 0, {letter.bytes, sizeof letter.bytes, letter.fds, kIpcFds},
                      &letter.length, &letter.fd_count, &error),
            DLBRIDGE_OK)
      << error.message;
  return letter;
}

// Exports, and keeps the tensor until the importer closes its end of the socket.
inline void ExportTo(int socket, TensorDevice* device) {
  const DLBridgeBuffer memory = device->Allocate(kSharedBytes);
  device->Fill(memory, SharedContent());
  int released = 0;
  DLManagedTensorVersioned* tensor = WrapShared(memory, device->label(), &released);
  ASSERT_NE(tensor, nullptr);
  const IpcLetter letter = ExportLetter(tensor);
  SendLetter(socket, letter);
  CloseFds(letter);
  char end = 0;
  EXPECT_EQ(read(socket, &end, 1), 0);
  EXPECT_EQ(released, 0);
  tensor->deleter(tensor);
  EXPECT_EQ(released, 1);
  device->Free(memory);
}

// `exporter_process` and `process` set up the device of a process and pass it to a function.
// `export_to` runs in the exporter with its socket, `import` in the importer.
template <class ExporterProcess, class Export, class Process, class Import>
void BetweenTwoProcesses(ExporterProcess exporter_process, Export export_to, Process process,
                         Import import) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
  std::fflush(nullptr);
  const pid_t exporter = fork();
  if (exporter == 0) {
    close(sockets[1]);
    exporter_process([&](auto* device) { export_to(sockets[0], device); });
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  close(sockets[0]);
  EXPECT_TRUE(InChild([&] {
    const IpcLetter letter = ReceiveLetter(sockets[1]);
    process([&](auto* device) { import(device, letter, sockets[1]); });
    CloseFds(letter);
  }));
  close(sockets[1]);
  int status = -1;
  EXPECT_EQ(waitpid(exporter, &status, 0), exporter);
  EXPECT_EQ(status, 0) << "the exporter failed";
}

template <class Process, class Import>
void BetweenProcesses(Process process, Import import) {
  BetweenTwoProcesses(
      process, ExportTo, process,
      [&](TensorDevice* device, const IpcLetter& letter, int) { import(device, letter); });
}

// Like BetweenProcesses, but the exporter has ended before the importer starts.
template <class Process, class Import>
void AfterTheExporter(Process process, Import import) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
  EXPECT_TRUE(InChild([&] {
    shutdown(sockets[0], SHUT_RD);  // so that ExportTo does not wait
    process([&](TensorDevice* device) { ExportTo(sockets[0], device); });
  }));
  EXPECT_TRUE(InChild([&] {
    const IpcLetter letter = ReceiveLetter(sockets[1]);
    process([&](TensorDevice* device) { import(device, letter); });
    CloseFds(letter);
  }));
  close(sockets[0]);
  close(sockets[1]);
}

inline void ExpectContent(const DLTensor& tensor, const TensorBytes& expected) {
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(dlbridge_copy(&tensor, 0, &spec, &copy, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(std::memcmp(copy->dl_tensor.data, expected.data(), expected.size()), 0);
  copy->deleter(copy);
}

// The elements of the exported tensor, row by row.
inline TensorBytes SharedNumbers(int64_t rows) {
  const TensorBytes all = SharedContent();
  TensorBytes numbers;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < 5; ++column) {
      const auto at = kSharedOffset + static_cast<uint64_t>(row * 80 + column * 8);
      numbers.insert(numbers.end(), all.begin() + static_cast<ptrdiff_t>(at),
                     all.begin() + static_cast<ptrdiff_t>(at + 4));
    }
  }
  return numbers;
}

// The number of times that a log contains a call.
inline int CountIn(const std::string& log, const std::string& call) {
  int count = 0;
  for (size_t at = log.find(call); at != std::string::npos; at = log.find(call, at + 1)) {
    ++count;
  }
  return count;
}

// `device` is the device that the importer should find; `mappings` returns the driver's number of
// open mappings.
inline void CheckImport(TensorDevice* device, const IpcLetter& letter,
                        const std::function<int()>& mappings) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(ImportLetter(letter, &tensor, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(mappings(), 1);
  const DLTensor& fields = tensor->dl_tensor;
  EXPECT_EQ(static_cast<int32_t>(fields.device.device_type),
            static_cast<int32_t>(device->label().device_type));
  EXPECT_EQ(fields.device.device_id, device->label().device_id);
  ASSERT_EQ(fields.ndim, 2);
  EXPECT_EQ(fields.shape[0], 3);
  EXPECT_EQ(fields.shape[1], 5);
  EXPECT_EQ(fields.strides[0], 20);
  EXPECT_EQ(fields.strides[1], 2);
  EXPECT_EQ(fields.byte_offset, kSharedOffset);
  ExpectContent(fields, SharedNumbers(3));

  // A view outlives its tensor, and the mapping outlives both.
  const int64_t shape[] = {2, 5};
  const int64_t strides[] = {20, 2};
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  spec.ndim = 2;
  spec.shape = shape;
  spec.strides = strides;
  DLManagedTensorVersioned* view = nullptr;
  ASSERT_EQ(dlbridge_view(tensor, &spec, &view, &error), DLBRIDGE_OK) << error.message;
  tensor->deleter(tensor);
  EXPECT_EQ(mappings(), 1);
  ExpectContent(view->dl_tensor, SharedNumbers(2));
  view->deleter(view);
  EXPECT_EQ(mappings(), 0);
}

inline void ExpectNoImport(const IpcLetter& letter, DLBridgeStatus status, const char* part,
                           const std::function<int()>& mappings) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* tensor = nullptr;
  EXPECT_EQ(ImportLetter(letter, &tensor, &error), status) << error.message;
  EXPECT_NE(std::string(error.message).find(part), std::string::npos) << error.message;
  EXPECT_EQ(tensor, nullptr);
  EXPECT_EQ(mappings(), 0);
}

// Claims more memory than there is; the tensor itself stays inside.
inline void CheckGreed(const IpcLetter& letter, const std::function<int()>& mappings) {
  IpcLetter greedy = letter;
  uint64_t size = 0;
  std::memcpy(&size, greedy.bytes + kAtMemorySize, sizeof size);
  EXPECT_EQ(size, kSharedBytes);
  for (const uint64_t claimed : {size + 1, uint64_t{1} << 40, uint64_t{1} << 62}) {
    std::memcpy(greedy.bytes + kAtMemorySize, &claimed, sizeof claimed);
    Sign(&greedy);
    ExpectNoImport(greedy, DLBRIDGE_ERROR_DESCRIPTOR, "", mappings);
  }
}

// The handles of all drivers have 64 bytes, followed by the identity of the device.
inline void CheckUnknownDevice(const IpcLetter& letter, const std::function<int()>& mappings) {
  IpcLetter other = letter;
  constexpr size_t kInsideOfUuid = 70;
  other.bytes[kAtArrays + size_t{2} * 16 + kInsideOfUuid] ^= 0xFF;
  Sign(&other);
  ExpectNoImport(other, DLBRIDGE_ERROR_UNAVAILABLE, "device", mappings);
}

inline void CheckAltered(const IpcLetter& letter, const std::function<int()>& mappings) {
  IpcLetter other = letter;
  other.bytes[kAtArrays] ^= 1;
  ExpectNoImport(other, DLBRIDGE_ERROR_DESCRIPTOR, "checksum", mappings);
  other = letter;
  --other.length;
  ExpectNoImport(other, DLBRIDGE_ERROR_DESCRIPTOR, "differs from its own length field", mappings);
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_DEVICE_IPC_CHECKS_H_
