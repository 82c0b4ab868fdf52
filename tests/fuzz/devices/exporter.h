// SPDX-License-Identifier: Apache-2.0
// A second process that exports memory of a driver, and lives as long as the fuzz target.
#ifndef DLBRIDGE_TESTS_FUZZ_DEVICES_EXPORTER_H_
#define DLBRIDGE_TESTS_FUZZ_DEVICES_EXPORTER_H_

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/devices/driver.h"
#include "fuzz/support/check.h"
#include "fuzz/support/child.h"

namespace dlbridge_fuzz {

// What the other process exports: `content`, which the memory has from a byte on.
struct Offer {
  int device = 0;
  DLBridgeBuffer memory = {};
  DLDevice label = {};
  uint64_t offset = 0;
  const DLBridgeStream* stream = nullptr;
  Bytes content;
};

inline Bytes Pattern(size_t size, size_t seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<uint8_t>(7 * i + 13 * seed + 5);
  }
  return bytes;
}

// Runs `offers` in a child process; construct it before this process uses the driver. `done` runs
// there when all is exported, and lets the device do its work.
class Exporter {
 public:
  template <class Offers, class Done>
  Exporter(Offers offers, Done done) {
    int ends[2] = {-1, -1};
    CheckEqual("sockets", 0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    if (StartChild() == 0) {
      close(ends[0]);
      for (const Offer& offer : offers()) {
        Send(ends[1], offer);
      }
      done();
      Header last = {};
      Check("the end is sent", send(ends[1], &last, sizeof last, 0) == sizeof last);
      char byte = 0;
      while (recv(ends[1], &byte, 1, 0) > 0) {
      }
      EndChild();
    }
    close(ends[1]);
    while (Receive(ends[0])) {
    }
    // Stays open: its end tells the child that this process is gone.
  }

  const std::vector<Exported>& exports() const { return exports_; }

 private:
  struct Header {
    uint32_t length;  // of the descriptor; 0: there is no more
    uint32_t files;
    uint32_t content;
    int32_t device;
  };
  static constexpr size_t kMostFiles = 8;
  union Control {
    cmsghdr header;
    char bytes[CMSG_SPACE(kMostFiles * sizeof(int32_t))];
  };

  static void Send(int socket, const Offer& offer) {
    DLBridgeWrapSpec wrap = DLBRIDGE_WRAP_SPEC_INIT;
    const auto shape = static_cast<int64_t>(offer.content.size());
    wrap.buffer = offer.memory;
    wrap.byte_offset = offer.offset;
    wrap.device = offer.label;
    wrap.dtype = {kDLUInt, 8, 1};
    wrap.ndim = 1;
    wrap.shape = &shape;
    DLManagedTensorVersioned* tensor = nullptr;
    CheckStatus(DLBRIDGE_OK, dlbridge_wrap(&wrap, &tensor, nullptr));
    uint8_t bytes[4096];
    int32_t files[kMostFiles];
    DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
    spec.buffer = bytes;
    spec.buffer_size = sizeof bytes;
    spec.fds = files;
    spec.fd_capacity = kMostFiles;
    spec.stream = offer.stream;
    DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
    DLBridgeError error = GarbageError();
    const DLBridgeStatus status = dlbridge_ipc_export(tensor, &spec, &sizes, &error);
    Check([&] { return std::string("an export of the other process: ") + error.message; },
          status == DLBRIDGE_OK);
    tensor->deleter(tensor);
    Header header = {static_cast<uint32_t>(sizes.buffer_size),
                     static_cast<uint32_t>(sizes.fd_count),
                     static_cast<uint32_t>(offer.content.size()), offer.device};
    iovec parts[3] = {{&header, sizeof header},
                      {bytes, header.length},
                      {const_cast<uint8_t*>(offer.content.data()), header.content}};
    Control control = {};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = 3;
    if (header.files != 0) {
      message.msg_control = &control;
      message.msg_controllen = CMSG_SPACE(header.files * sizeof(int32_t));
      control.header.cmsg_level = SOL_SOCKET;
      control.header.cmsg_type = SCM_RIGHTS;
      control.header.cmsg_len = CMSG_LEN(header.files * sizeof(int32_t));
      std::memcpy(CMSG_DATA(&control.header), files, header.files * sizeof(int32_t));
    }
    Check("an export is sent", sendmsg(socket, &message, 0) > 0);
    for (uint32_t i = 0; i < header.files; ++i) {
      close(files[i]);
    }
  }

  bool Receive(int socket) {
    Header header = {};
    Bytes bytes(1 << 16);
    iovec parts[2] = {{&header, sizeof header}, {bytes.data(), bytes.size()}};
    Control control = {};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    Check("an export of the other process",
          recvmsg(socket, &message, MSG_CMSG_CLOEXEC) >= static_cast<ssize_t>(sizeof header));
    if (header.length == 0) {
      return false;
    }
    Exported found;
    found.device = header.device;
    const auto begin = bytes.begin();
    found.descriptor.assign(begin, begin + header.length);
    found.content.assign(begin + header.length, begin + header.length + header.content);
    found.fds.resize(header.files);
    if (header.files != 0) {
      std::memcpy(found.fds.data(), CMSG_DATA(&control.header), header.files * sizeof(int32_t));
    }
    exports_.push_back(std::move(found));
    return true;
  }

  std::vector<Exported> exports_;
};

}  // namespace dlbridge_fuzz

#endif  // DLBRIDGE_TESTS_FUZZ_DEVICES_EXPORTER_H_
