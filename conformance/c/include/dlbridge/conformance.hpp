// SPDX-License-Identifier: Apache-2.0
// The conformance kit for C++17: a project is a class, and its exceptions become rejections.
//
// A class for dlbridge::conformance::Describe has
//   using Array = ...;
//   Managed make(const Request&, std::unique_ptr<Array>* array);   // may leave *array empty
//   std::unique_ptr<Array> consume(const Offer&);
//   std::vector<unsigned char> read(Array&);
// and may have
//   void write(Array&, const unsigned char* values, size_t size);
//   int64_t live();
// make and consume throw Unsupported for a feature that the project declares as missing, and any other
// exception to reject. The kit owns the result of make; consume owns its tensor unless it throws.
#ifndef DLBRIDGE_CONFORMANCE_HPP_
#define DLBRIDGE_CONFORMANCE_HPP_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "dlbridge/conformance.h"

namespace dlbridge::conformance {

using Request = DLBridgeConformanceRequest;
using Offer = DLBridgeConformanceOffer;

// A managed tensor and which struct it is.
struct Managed {
  void* tensor = nullptr;
  DLBridgeKind kind = DLBRIDGE_KIND_VERSIONED;
};

// The project lacks a feature of the request.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace internal {

inline void Say(char* message, const char* text) {
  std::snprintf(message, DLBRIDGE_CONFORMANCE_MESSAGE_SIZE, "%s", text);
}

template <typename Work>
DLBridgeConformanceAnswer Guard(char* message, Work&& work) noexcept {
  try {
    work();
    return DLBRIDGE_CONFORMANCE_DONE;
  } catch (const Unsupported& error) {
    Say(message, error.what());
    return DLBRIDGE_CONFORMANCE_UNSUPPORTED;
  } catch (const std::exception& error) {
    Say(message, error.what());
  } catch (...) {
    Say(message, "an exception that is no std::exception");
  }
  return DLBRIDGE_CONFORMANCE_REJECTED;
}

template <typename P, typename = void>
struct HasWrite : std::false_type {};
template <typename P>
struct HasWrite<P, std::void_t<decltype(std::declval<P&>().write(
                       std::declval<typename P::Array&>(), nullptr, size_t{}))>> : std::true_type {};

template <typename P, typename = void>
struct HasLive : std::false_type {};
template <typename P>
struct HasLive<P, std::void_t<decltype(std::declval<P&>().live())>> : std::true_type {};

template <typename P>
struct Callbacks {
  using Array = typename P::Array;

  static DLBridgeConformanceAnswer Make(void* user, const Request* request,
                                        DLBridgeConformanceExport* out, char* message) {
    return Guard(message, [&] {
      std::unique_ptr<Array> array;
      const Managed made = static_cast<P*>(user)->make(*request, &array);
      out->tensor = made.tensor;
      out->kind = made.kind;
      out->array = array.release();
    });
  }

  static DLBridgeConformanceAnswer Consume(void* user, const Offer* offer, void** array,
                                           char* message) {
    return Guard(message, [&] { *array = static_cast<P*>(user)->consume(*offer).release(); });
  }

  static DLBridgeConformanceAnswer Read(void* user, void* array, void* out, size_t size,
                                        size_t* written, char* message) {
    return Guard(message, [&] {
      const std::vector<unsigned char> values =
          static_cast<P*>(user)->read(*static_cast<Array*>(array));
      *written = values.size();
      if (!values.empty()) {
        std::memcpy(out, values.data(), values.size() < size ? values.size() : size);
      }
    });
  }

  static DLBridgeConformanceAnswer Write(void* user, void* array, const void* values, size_t size,
                                         char* message) {
    return Guard(message, [&] {
      static_cast<P*>(user)->write(*static_cast<Array*>(array),
                                   static_cast<const unsigned char*>(values), size);
    });
  }

  static void Release(void*, void* array) { delete static_cast<Array*>(array); }
  static int64_t Live(void* user) { return static_cast<P*>(user)->live(); }
};

}  // namespace internal

// The callbacks of `project`, which must outlive the run, as must `name`. Features, dtypes and devices can
// be set in the result.
template <typename P>
DLBridgeConformanceProject Describe(P& project, const char* name) {
  using Callbacks = internal::Callbacks<P>;
  DLBridgeConformanceProject out = dlbridge_conformance_project_init();
  out.name = name;
  out.user = &project;
  out.make = Callbacks::Make;
  out.consume = Callbacks::Consume;
  out.read = Callbacks::Read;
  out.release = Callbacks::Release;
  if constexpr (internal::HasWrite<P>::value) {
    out.write = Callbacks::Write;
  }
  if constexpr (internal::HasLive<P>::value) {
    out.live = Callbacks::Live;
  }
  return out;
}

}  // namespace dlbridge::conformance

#endif  // DLBRIDGE_CONFORMANCE_HPP_
