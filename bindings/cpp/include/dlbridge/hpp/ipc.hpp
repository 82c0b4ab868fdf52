// SPDX-License-Identifier: Apache-2.0
// Tensors for other processes of the same host. File descriptors are owned.
#ifndef DLBRIDGE_HPP_IPC_HPP_
#define DLBRIDGE_HPP_IPC_HPP_

#include <vector>
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

#include "dlbridge/hpp/convert.hpp"
#include "dlbridge/hpp/stream.hpp"

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

  /// The descriptor, borrowed; -1 if there is none.
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
    static_cast<void>(gone);  // exports have no descriptors on this system
#endif
  }

 private:
  std::int32_t fd_ = -1;
};

/// The description of a tensor for another process: bytes, and file descriptors that go with them
/// (SCM_RIGHTS) in their order. It owns the descriptors. It holds vectors, so constructing one may
/// throw std::bad_alloc.
class ipc_message {
 public:
  ipc_message() noexcept = default;
  /// From received bytes and descriptors: copies the bytes and takes over the descriptors.
  /// ipc_import checks whether they are an export.
  ipc_message(span<const unsigned char> bytes, span<unique_fd> fds)
      : bytes_(bytes.begin(), bytes.end()) {
    fds_.reserve(fds.size());
    for (unique_fd& fd : fds) {
      fds_.push_back(std::move(fd));
    }
  }

  span<const unsigned char> bytes() const& noexcept DLBRIDGE_HPP_BORROWS { return bytes_; }
  span<const unsigned char> bytes() const&& = delete;
  span<const unique_fd> fds() const& noexcept DLBRIDGE_HPP_BORROWS { return fds_; }
  span<const unique_fd> fds() const&& = delete;

 private:
  friend result<ipc_message> ipc_export_raw(const DLManagedTensorVersioned* tensor,
                                            std::uint32_t options, stream_ref after);
  std::vector<unsigned char> bytes_;
  std::vector<unique_fd> fds_;
};

/// The access that the importer gets.
enum class ipc_access : std::uint32_t {
  as_exported = 0,
  read_only = DLBRIDGE_IPC_READ_ONLY,
};

inline result<ipc_message> ipc_export_raw(const DLManagedTensorVersioned* tensor,
                                          std::uint32_t options, stream_ref after) {
  result<ipc_message> made;
  ipc_message& message = detail::maker::value(made);
  std::vector<std::int32_t> fds;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  DLBridgeStatus status = DLBRIDGE_OK;
  do {  // the first call returns the sizes
    message.bytes_.resize(sizes.buffer_size);
    message.fds_.resize(sizes.fd_count);
    fds.resize(sizes.fd_count);
    DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
    spec.options = options;
    spec.buffer = message.bytes_.empty() ? nullptr : message.bytes_.data();
    spec.buffer_size = message.bytes_.size();
    spec.fds = fds.empty() ? nullptr : fds.data();
    spec.fd_capacity = fds.size();
    spec.stream = after.raw();
    sizes = DLBRIDGE_IPC_SIZES_INIT;
    status = abi::ipc_export(tensor, &spec, &sizes, detail::maker::sink(made));
  } while (status == DLBRIDGE_ERROR_BUFFER_TOO_SMALL &&
           (sizes.buffer_size > message.bytes_.size() || sizes.fd_count > fds.size()));
  const bool exported = detail::maker::finish(made, status);
  message.bytes_.resize(exported ? sizes.buffer_size : 0);
  message.fds_.resize(exported ? sizes.fd_count : 0);
  for (std::size_t i = 0; i < message.fds_.size(); ++i) {
    message.fds_[i] = unique_fd(fds[i]);
  }
  return made;
}

inline result<ipc_message> ipc_export_raw(const DLManagedTensorVersioned* tensor,
                                          std::uint32_t options) {
  return ipc_export_raw(tensor, options, {});
}

/// Describes a borrowed tensor for another process. Host memory must be
/// shareable (allocate_spec, copy_spec). Work on it must be finished, except that on the queue
/// `after`, for which the importer will wait. May throw std::bad_alloc.
inline result<ipc_message> ipc_export(const tensor& from,
                                      ipc_access access = ipc_access::as_exported) {
  return ipc_export_raw(from.get(), static_cast<std::uint32_t>(access));
}
inline result<ipc_message> ipc_export(const tensor& from, ipc_access access, stream_ref after) {
  return ipc_export_raw(from.get(), static_cast<std::uint32_t>(access), after);
}
inline result<ipc_message> ipc_export(const tensor& from, const stream& after) {
  return ipc_export(from, ipc_access::as_exported, after);
}

/// Makes a dlbridge-owned tensor from another process's export, validated like any foreign one.
/// The message is borrowed. If the export named a queue, the call waits for the exporter's work, or
/// the importer's queue `on` does.
inline result<tensor> ipc_import(const ipc_message& message, ipc_access access, policy_ref by,
                                 stream_ref on) noexcept {
  static_assert(sizeof(unique_fd) == sizeof(std::int32_t) && std::is_standard_layout_v<unique_fd>);
  DLBridgeIpcImportSpec spec = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  spec.options = static_cast<std::uint32_t>(access);
  spec.buffer = message.bytes().data();
  spec.buffer_size = message.bytes().size();
  // An owner has the layout of a descriptor.
  spec.fds =
      message.fds().empty() ? nullptr : reinterpret_cast<const std::int32_t*>(message.fds().data());
  spec.fd_count = message.fds().size();
  spec.policy = by.raw();
  spec.stream = on.raw();
  return detail::produced<tensor>(
      [&](auto** out, DLBridgeError* sink) { return abi::ipc_import(&spec, out, sink); });
}
inline result<tensor> ipc_import(const ipc_message& message,
                                 ipc_access access = ipc_access::as_exported,
                                 policy_ref by = {}) noexcept {
  return ipc_import(message, access, by, {});
}
inline result<tensor> ipc_import(const ipc_message& message, const stream& on) noexcept {
  return ipc_import(message, ipc_access::as_exported, {}, on);
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_IPC_HPP_
