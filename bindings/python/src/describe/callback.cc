// SPDX-License-Identifier: Apache-2.0
// Python functions that the library calls from any thread, with or without the GIL. After the end
// of the interpreter they are not called, and their memory leaks: freeing it would be unsafe.
#include "describe.h"

namespace dlbridge::python {
namespace {

// Runs `body`, which must not throw: its caller is C.
template <class Function>
void InPython(Function body) noexcept {
  if (!nb::is_alive()) {
    return;
  }
  const PyGILState_STATE state = EnsureGil();
  try {
    body();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("a function that dlbridge called");
  } catch (const std::exception&) {
    // Out of memory for the arguments; it cannot be reported here.
  }
  PyGILState_Release(state);
}

// function(arguments...), which may wait for the GIL as any code in Python.
template <class... Arguments>
nb::object Ask(const nb::object& function, const Arguments&... arguments) {
  const nb::object objects[] = {nb::cast(arguments)...};
  PyObject* pointers[sizeof...(arguments)];
  for (size_t i = 0; i < sizeof...(arguments); ++i) {
    pointers[i] = objects[i].ptr();
  }
  PyObject* result = CallPython(function.ptr(), pointers, sizeof...(arguments));
  return result != nullptr ? nb::steal(result) : throw nb::python_error();
}

// None if no work may still use the memory.
nb::object FromStream(const DLBridgeStream* stream) {
  if (stream == nullptr) {
    return nb::none();
  }
  return nb::cast(Stream{stream->backend, stream->kind, FromDevice(stream->device), stream->handle,
                         stream->context});
}

template <class Argument>
void RunOnce(void* context, const Argument& argument) {
  InPython([&] {
    const nb::object function = nb::steal(static_cast<PyObject*>(context));
    Ask(function, argument());
  });
}

void* Allocate(void* context, DLDevice device, uint64_t bytes, uint64_t alignment,
               const DLBridgeStream* stream) {
  auto* self = static_cast<Allocator*>(context);
  void* memory = nullptr;
  InPython([&] {
    try {
      const nb::object block =
          Ask(self->allocate, FromDevice(device), bytes, alignment, FromStream(stream));
      memory = block.is_none() ? nullptr : At<void>(nb::cast<Address>(block));
      if (memory != nullptr) {
        nb::find(self).release();
      }
    } catch (nb::python_error& error) {
      self->Exchange(nb::borrow(error.value()));
    } catch (const nb::cast_error&) {
      self->Exchange(nb::borrow(PyExc_TypeError)("allocate must return an address or None"));
    }
  });
  return memory;
}

void Deallocate(void* context, DLDevice device, void* memory, uint64_t bytes, uint64_t alignment,
                const DLBridgeStream* stream) {
  auto* self = static_cast<Allocator*>(context);
  InPython([&] {
    const nb::object owner = nb::steal(nb::find(self).ptr());
    Ask(self->deallocate, FromDevice(device), AddressOf(memory), bytes, alignment,
        FromStream(stream));
  });
}

}  // namespace

Allocator::Allocator(nb::callable allocate_function, nb::callable deallocate_function)
    : allocate(std::move(allocate_function)), deallocate(std::move(deallocate_function)) {
  fields.context = this;
  fields.allocate = Allocate;
  fields.deallocate = Deallocate;
}

// The previous exception is returned, so that it ends after the lock: this may run Python code.
nb::object Allocator::Exchange(nb::object exception) {
  const nb::ft_lock_guard guard(mutex);
  std::swap(raised, exception);
  return exception;
}

void Allocator::Rethrow() {
  const nb::object exception = Exchange(nb::object());
  if (exception.is_valid()) {
    Raise(exception);
  }
}

void Once::OnBuffer(void* context, const DLBridgeBuffer* buffer, const DLBridgeStream* stream) {
  InPython([&] {
    const nb::object function = nb::steal(static_cast<PyObject*>(context));
    Ask(function, FromBuffer(*buffer), FromStream(stream));
  });
}
void Once::OnMemory(void* context, void* memory) {
  RunOnce(context, [&] { return AddressOf(memory); });
}
void Once::OnEntry(void* context, const DLBridgeContextEntry* entry) {
  RunOnce(context, [&] { return EntryAsDict(*entry); });
}

}  // namespace dlbridge::python
