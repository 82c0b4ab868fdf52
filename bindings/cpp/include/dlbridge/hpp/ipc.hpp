// SPDX-License-Identifier: Apache-2.0
// Tensors for other processes of the same host. File descriptors are owned.
#ifndef DLBRIDGE_HPP_IPC_HPP_
#define DLBRIDGE_HPP_IPC_HPP_

#include <array>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "dlbridge/hpp/convert.hpp"

DLBRIDGE_HPP_BEGIN

/// Owns a file descriptor and closes it once.
class unique_fd {
 public:
  constexpr unique_fd() noexcept = default;
  explicit constexpr unique_fd(std::int32_t fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    const unique_fd gone(std::exchange(fd_, other.release()));
    return *this;
  }
  unique_fd(const unique_fd&) = delete;
  unique_fd& operator=(const unique_fd&) = delete;
  ~unique_fd() { reset(); }

  /// The descriptor, which stays this owner's; -1 where there is none.
  std::int32_t get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] std::int32_t release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept {
    const std::int32_t gone = release();
#if defined(__unix__) || defined(__APPLE__)
    if (gone >= 0) {
      ::close(gone);
    }
#else
    static_cast<void>(gone);  // no export has descriptors there
#endif
  }

 private:
  std::int32_t fd_ = -1;
};

/// What describes a tensor to another process: bytes, and file descriptors that go with them
/// (SCM_RIGHTS) in their order. The descriptors are this object's.
class ipc_message {
 public:
  ipc_message() noexcept = default;
  /// Of what arrived: copies up to DLBRIDGE_IPC_MAX_SIZE bytes and takes the descriptors over,
  /// which are closed where they do not fit. Whether it is an export, ipc_import says.
  ipc_message(span<const unsigned char> bytes, span<unique_fd> fds) noexcept {
    size_ = bytes.size() < bytes_.size() ? bytes.size() : bytes_.size();
    if (size_ != 0) {
      std::memcpy(bytes_.data(), bytes.data(), size_);
    }
    for (unique_fd& fd : fds) {
      unique_fd taken(std::move(fd));
      if (fd_count_ < fds_.size()) {
        fds_[fd_count_++] = std::move(taken);
      }
    }
  }

  span<const unsigned char> bytes() const& noexcept { return {bytes_.data(), size_}; }
  span<const unsigned char> bytes() const&& = delete;
  span<const unique_fd> fds() const& noexcept { return {fds_.data(), fd_count_}; }
  span<const unique_fd> fds() const&& = delete;

 private:
  friend result<ipc_message> ipc_export_raw(const DLManagedTensorVersioned* tensor,
                                            std::uint32_t options) noexcept;
  std::array<unsigned char, DLBRIDGE_IPC_MAX_SIZE> bytes_;
  std::size_t size_ = 0;
  std::array<unique_fd, DLBRIDGE_IPC_MAX_FDS> fds_;
  std::size_t fd_count_ = 0;
};

/// What the importer may do.
enum class ipc_access : std::uint32_t {
  as_exported = 0,
  read_only = DLBRIDGE_IPC_READ_ONLY,
};

inline result<ipc_message> ipc_export_raw(const DLManagedTensorVersioned* tensor,
                                          std::uint32_t options) noexcept {
  result<ipc_message> made;
  ipc_message& message = detail::maker::value(made);
  std::int32_t fds[DLBRIDGE_IPC_MAX_FDS] = {};
  std::size_t count = 0;
  const DLBridgeStatus status =
      abi::ipc_export(tensor, options, static_cast<void*>(message.bytes_.data()),
                      message.bytes_.size(), &message.size_, static_cast<std::int32_t*>(fds),
                      std::size_t{DLBRIDGE_IPC_MAX_FDS}, &count, detail::maker::sink(made));
  if (detail::maker::finish(made, status)) {
    for (; message.fd_count_ < count; ++message.fd_count_) {
      message.fds_[message.fd_count_] = unique_fd(fds[message.fd_count_]);
    }
  }
  return made;
}

/// Describes a tensor, which stays its owner's, for another process. Memory of the host must be
/// shareable (allocate_spec, copy_spec); work on it must be done.
inline result<ipc_message> ipc_export(const tensor& from,
                                      ipc_access access = ipc_access::as_exported) noexcept {
  return ipc_export_raw(from.get(), static_cast<std::uint32_t>(access));
}

/// Makes a tensor of ours of what another process exported, validated as any foreign one. The
/// message stays the caller's.
inline result<tensor> ipc_import(const ipc_message& message,
                                 ipc_access access = ipc_access::as_exported,
                                 policy_ref by = {}) noexcept {
  std::int32_t fds[DLBRIDGE_IPC_MAX_FDS] = {};
  std::size_t count = 0;
  for (const unique_fd& fd : message.fds()) {
    fds[count++] = fd.get();
  }
  return detail::produced<tensor>([&](auto** out, DLBridgeError* sink) {
    return abi::ipc_import(static_cast<const void*>(message.bytes().data()), message.bytes().size(),
                           static_cast<const std::int32_t*>(fds), count,
                           static_cast<std::uint32_t>(access), by.raw(), out, sink);
  });
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_IPC_HPP_
