// SPDX-License-Identifier: Apache-2.0
// Backends, and queues of work as typed values that can be ordered one after another.
#ifndef DLBRIDGE_HPP_STREAM_HPP_
#define DLBRIDGE_HPP_STREAM_HPP_

#include <optional>

#include "dlbridge/hpp/element.hpp"
#include "dlbridge/hpp/result.hpp"

DLBRIDGE_HPP_BEGIN

/// The driver of a device.
enum class backend : std::int32_t {
  // [facts/enums.toml BACKEND]
  none = DLBRIDGE_BACKEND_NONE,
  cpu = DLBRIDGE_BACKEND_CPU,
  cuda = DLBRIDGE_BACKEND_CUDA,
  hip = DLBRIDGE_BACKEND_HIP,
  level_zero = DLBRIDGE_BACKEND_LEVEL_ZERO,
  opencl = DLBRIDGE_BACKEND_OPENCL,
  // [/facts]
};

enum class stream_kind : std::int32_t {
  unset = 0,
  // [facts/enums.toml STREAM]
  host = DLBRIDGE_STREAM_HOST,
  no_sync = DLBRIDGE_STREAM_NO_SYNC,
  queue = DLBRIDGE_STREAM_QUEUE,
  immediate_list = DLBRIDGE_STREAM_IMMEDIATE_LIST,
  // [/facts]
};

/// A queue of work, borrowed from its framework: a value that owns nothing. A default one is not
/// set, and functions reject it. No constructor takes a pointer only, so that a queue of one driver
/// cannot be mistaken for one of another.
class stream {
 public:
  constexpr stream() noexcept = default;
  constexpr explicit stream(const DLBridgeStream& raw) noexcept : raw_(raw) {}
  /// No queue: work is finished when a call returns.
  static stream host() noexcept { return of(backend::cpu, stream_kind::host, make_device(kDLCPU)); }
  /// The consumer on `where` orders its work itself.
  static stream no_sync(backend whose, const device& where) noexcept {
    return of(whose, stream_kind::no_sync, where);
  }
  /// A CUstream, hipStream_t, cl_command_queue or ze_command_queue_handle_t; the last needs its
  /// context.
  static stream queue(backend whose, const device& where, std::uint64_t handle,
                      std::uint64_t context = 0) noexcept {
    return of(whose, stream_kind::queue, where, handle, context);
  }
  /// Level Zero: an immediate ze_command_list_handle_t.
  static stream immediate_list(const device& where, std::uint64_t handle,
                               std::uint64_t context) noexcept {
    return of(backend::level_zero, stream_kind::immediate_list, where, handle, context);
  }
  /// The `stream` of the Python array API's __dlpack__; std::nullopt means None.
  static result<stream> from_array_api(const device& where,
                                       std::optional<std::int64_t> number = std::nullopt) noexcept {
    result<stream> made;
    detail::maker::finish(made, abi::stream_from_array_api(
                                    where, number.value_or(DLBRIDGE_ARRAY_API_STREAM_NONE),
                                    &detail::maker::value(made).raw_, detail::maker::sink(made)));
    return made;
  }

  stream_kind kind() const noexcept { return static_cast<stream_kind>(raw_.kind); }
  dlbridge::backend backend() const noexcept { return static_cast<enum backend>(raw_.backend); }
  dlbridge::device device() const noexcept { return raw_.device; }
  std::uint64_t handle() const noexcept { return raw_.handle; }
  std::uint64_t context() const noexcept { return raw_.context; }
  constexpr const DLBridgeStream* raw() const noexcept DLBRIDGE_HPP_BORROWS { return &raw_; }

  /// Waits on the host until all enqueued work is finished.
  result<void> synchronize() const noexcept {
    result<void> made;
    detail::maker::finish(made, abi::stream_synchronize(&raw_, detail::maker::sink(made)));
    return made;
  }

 private:
  static stream of(dlbridge::backend whose, stream_kind kind, const dlbridge::device& where,
                   std::uint64_t handle = 0, std::uint64_t context = 0) noexcept {
    return stream({static_cast<DLBridgeBackend>(whose), static_cast<std::int32_t>(kind), where,
                   handle, context, 0});
  }

  DLBridgeStream raw_ = {DLBRIDGE_BACKEND_NONE, 0, DLBRIDGE_NO_DEVICE, 0, 0, 0};
};

/// An optional queue.
using stream_ref = detail::optional_ref<stream>;

namespace detail {

// Waits for work that may still use the memory of a release callback; false where it cannot wait.
inline bool wait_for(const DLBridgeStream* queue) noexcept {
  return queue == nullptr || queue->kind == DLBRIDGE_STREAM_NO_SYNC ||
         abi::stream_synchronize(queue, nullptr) == DLBRIDGE_OK;
}

}  // namespace detail

/// What a hand-off may do beyond ordering two queues. Options can be combined.
enum class handoff_options : std::uint32_t {
  none = 0,
  // [facts/enums.toml HANDOFF]
  allow_host_wait = DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT,
  allow_capture = DLBRIDGE_HANDOFF_ALLOW_CAPTURE,
  // [/facts]
};
constexpr handoff_options operator|(handoff_options a, handoff_options b) noexcept {
  return static_cast<handoff_options>(static_cast<std::uint32_t>(a) |
                                      static_cast<std::uint32_t>(b));
}

/// Work already on `producer` happens before work that is put on `consumer` from now on. The host
/// does not wait, unless it is the consumer.
inline result<void> handoff(const stream& producer, const stream& consumer,
                            handoff_options how = handoff_options::none) noexcept {
  result<void> made;
  detail::maker::finish(
      made, abi::stream_handoff(producer.raw(), consumer.raw(), static_cast<std::uint32_t>(how),
                                detail::maker::sink(made)));
  return made;
}

DLBRIDGE_HPP_END

#endif  // DLBRIDGE_HPP_STREAM_HPP_
