// SPDX-License-Identifier: Apache-2.0
// Shared by the files of the extension `_describe`: values, calls, and the classes of options.
#ifndef DLBRIDGE_PYTHON_DESCRIBE_H_
#define DLBRIDGE_PYTHON_DESCRIBE_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "gil.h"

namespace dlbridge::python {

namespace nb = nanobind;

// Values in Python: an address is an int, a small struct a tuple.
using Address = uintptr_t;
using Version = std::pair<uint32_t, uint32_t>;
using Device = std::pair<int32_t, int32_t>;
using Dtype = std::tuple<uint8_t, uint8_t, uint16_t>;
using Buffer = std::tuple<int32_t, int32_t, uint64_t, uint64_t>;
using Stream = std::tuple<int32_t, int32_t, Device, uint64_t, uint64_t>;
using Shape = std::optional<std::vector<int64_t>>;

template <class T>
T* At(Address address) {
  return reinterpret_cast<T*>(address);
}
inline Address AddressOf(const void* pointer) { return reinterpret_cast<Address>(pointer); }

DLDevice ToDevice(const Device& device);
Device FromDevice(const DLDevice& device);
inline DLPackVersion ToVersion(const Version& version) { return {version.first, version.second}; }
inline Version FromVersion(const DLPackVersion& version) { return {version.major, version.minor}; }
inline DLDataType ToDtype(const Dtype& dtype) {
  return {std::get<0>(dtype), std::get<1>(dtype), std::get<2>(dtype)};
}
inline DLBridgeBuffer ToBuffer(const Buffer& buffer) {
  return {std::get<0>(buffer), std::get<1>(buffer), std::get<2>(buffer), std::get<3>(buffer), 0};
}
inline Buffer FromBuffer(const DLBridgeBuffer& buffer) {
  return {buffer.backend, buffer.kind, buffer.handle, buffer.context};
}
DLBridgeStream ToStream(const Stream& stream);
inline const int64_t* Values(const Shape& shape) {
  static const int64_t kNone = 0;  // an empty list is not NULL
  return !shape ? nullptr : shape->empty() ? &kNone : shape->data();
}
// The number of axes: `ndim` if given, else that of the shape.
int32_t Axes(const Shape& shape, std::optional<int32_t> ndim);

// Containers without values; nanobind's constructors do not check that Python had memory for them.
inline nb::dict NewDict() {
  PyObject* made = PyDict_New();
  return made != nullptr ? nb::steal<nb::dict>(made) : throw nb::python_error();
}
inline nb::list NewList(size_t size = 0) {
  PyObject* made = PyList_New(static_cast<Py_ssize_t>(size));
  return made != nullptr ? nb::steal<nb::list>(made) : throw nb::python_error();
}
inline nb::tuple NewTuple(size_t size) {
  PyObject* made = PyTuple_New(static_cast<Py_ssize_t>(size));
  return made != nullptr ? nb::steal<nb::tuple>(made) : throw nb::python_error();
}

// The exception for a failed call, with `status`, `rule`, `axis` and `native_code`.
nb::object ExceptionFor(DLBridgeStatus status, const DLBridgeError& error);
[[noreturn]] void Raise(const nb::object& exception);

// Runs `call(DLBridgeError*)`; a failure becomes an exception.
template <class Function>
void Call(Function call) {
  DLBridgeError error;
  const DLBridgeStatus status = call(&error);
  if (status != DLBRIDGE_OK) {
    Raise(ExceptionFor(status, error));
  }
}

// Runs `call()`, which must not throw, without the GIL. gil.h states what it may contain.
template <class Function>
auto Released(Function call) {
  struct Work {
    Function& call;
    decltype(call()) result;
  } work{call, {}};
  RunWithoutGil(
      [](void* context) {
        Work* self = static_cast<Work*>(context);
        self->result = self->call();
      },
      &work);
  return work.result;
}

// Call without the GIL, for calls that may reach a driver or a foreign deleter, or copy memory.
template <class Function>
void CallReleased(Function call) {
  Call([&](DLBridgeError* error) { return Released([&] { return call(error); }); });
}

// Numbers for the results of a call that makes or consumes a tensor. An allocation that failed
// after the call would lose the tensor, so their memory is reserved before it.
class Results {
 public:
  explicit Results(size_t count = 1);
  // Makes an int, in the place of a reserved one if there is no other memory.
  nb::int_ Number(uint64_t value);
  nb::int_ Number(const void* pointer) { return Number(AddressOf(pointer)); }

 private:
  std::vector<nb::object> reserved_;
};

// A DLBridgePolicy and the arrays that it points to.
struct Policy {
  DLBridgePolicy fields = DLBRIDGE_POLICY_INIT;
  std::vector<DLDevice> devices;
  std::vector<DLDataType> dtypes;
  Shape shape;
};
inline const DLBridgePolicy* Fields(const Policy* policy) {
  return policy != nullptr ? &policy->fields : nullptr;
}

// A DLBridgeAllocator of two Python functions. Each live block keeps the object alive.
struct Allocator {
  Allocator(nb::callable allocate_function, nb::callable deallocate_function);
  // An exception of `allocate` replaces the library's OUT_OF_MEMORY.
  void Rethrow();
  nb::object Exchange(nb::object exception);

  DLBridgeAllocator fields = DLBRIDGE_ALLOCATOR_INIT;
  nb::object allocate;
  nb::object deallocate;
  nb::object raised;
  nb::ft_mutex mutex;  // protects `raised` in free-threaded builds
};
inline const DLBridgeAllocator* Fields(const Allocator* allocator) {
  return allocator != nullptr ? &allocator->fields : nullptr;
}

// A DLBridgeConvertOptions, and the Python objects whose fields it points to.
struct ConvertOptions {
  DLBridgeConvertOptions fields = DLBRIDGE_CONVERT_OPTIONS_INIT;
  nb::object policy;
  nb::object allocator;
};

// CallReleased for a call that uses `allocator`, which may be NULL.
template <class Function>
void CallAllocating(Allocator* allocator, Function call) {
  try {
    CallReleased(call);
  } catch (nb::python_error&) {
    if (allocator != nullptr) {
      allocator->Rethrow();
    }
    throw;
  }
}

// A Python function that C calls once as a release callback. This object owns it until `Passed`,
// which is not called after a failed call.
class Once {
 public:
  explicit Once(nb::object function) : function_(std::move(function)) {}
  bool given() const { return !function_.is_none(); }
  void* context() const { return given() ? function_.ptr() : nullptr; }
  void Passed() {
    if (given()) {
      function_.release();
    }
  }

  // The callbacks in C; `context` is the Python function.
  static void OnBuffer(void* context, const DLBridgeBuffer* buffer, const DLBridgeStream* stream);
  static void OnMemory(void* context, void* memory);
  static void OnEntry(void* context, const DLBridgeContextEntry* entry);

 private:
  nb::object function_;
};

nb::dict EntryAsDict(const DLBridgeContextEntry& entry);

void BindOptions(nb::module_* module);
void BindText(nb::module_* module);
void BindValidate(nb::module_* module);
void BindConvert(nb::module_* module);
void BindMake(nb::module_* module);
void BindDevice(nb::module_* module);
void BindContext(nb::module_* module);
void BindIpc(nb::module_* module);
void BindPython(nb::module_* module);

}  // namespace dlbridge::python

#endif  // DLBRIDGE_PYTHON_DESCRIBE_H_
