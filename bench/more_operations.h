// SPDX-License-Identifier: Apache-2.0
// The functions of the core that operations.h leaves out, and the C++ binding. Only their
// instructions are counted.
#ifndef DLBRIDGE_BENCH_MORE_OPERATIONS_H_
#define DLBRIDGE_BENCH_MORE_OPERATIONS_H_

#include <cstdint>
#include <dlbridge/dlbridge.hpp>
#include <utility>
#include <vector>

#include "operations.h"

namespace dlbridge_bench {

// A tensor that dlbridge owns, for the functions that need one.
class Owned {
 public:
  explicit Owned(const Shape& shape) : source_(shape) {
    Require(dlbridge_upgrade(source_.legacy(), nullptr, &tensor_, nullptr) == DLBRIDGE_OK,
            "upgrade");
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { dlbridge_release_versioned(tensor_); }
  DLManagedTensorVersioned* get() const { return tensor_; }
  DLTensor* tensor() const { return &tensor_->dl_tensor; }

 private:
  Source source_;
  DLManagedTensorVersioned* tensor_ = nullptr;
};

class ValidateLegacy {
 public:
  explicit ValidateLegacy(const Shape& shape) : source_(shape) {}
  void operator()() {
    Require(dlbridge_validate_legacy(source_.legacy(), nullptr, nullptr) == DLBRIDGE_OK, "legacy");
  }

 private:
  Source source_;
};

class ValidateVersioned {
 public:
  explicit ValidateVersioned(const Shape& shape) : source_(shape) {}
  void operator()() {
    Require(dlbridge_validate_versioned(source_.versioned(), nullptr, nullptr) == DLBRIDGE_OK,
            "versioned");
  }

 private:
  Source source_;
};

// With a policy: C order, float32, on the CPU.
class ValidateByPolicy {
 public:
  explicit ValidateByPolicy(const Shape& shape) : source_(shape) {
    policy_.contiguity = DLBRIDGE_CONTIGUITY_C;
    policy_.dtypes = &kFloat;
    policy_.dtype_count = 1;
    policy_.devices = &kCpu;
    policy_.device_count = 1;
  }
  void operator()() {
    Require(dlbridge_validate(&source_.tensor(), 0, &policy_, nullptr) == DLBRIDGE_OK, "policy");
  }

 private:
  static constexpr DLDataType kFloat = {kDLFloat, 32, 1};
  static constexpr DLDevice kCpu = {kDLCPU, 0};
  Source source_;
  DLBridgePolicy policy_ = DLBRIDGE_POLICY_INIT;
};

class View {
 public:
  explicit View(const Shape& shape) : owned_(shape) {
    spec_.ndim = owned_.tensor()->ndim;
    spec_.shape = owned_.tensor()->shape;
    spec_.strides = owned_.tensor()->strides;
  }
  void operator()() {
    DLManagedTensorVersioned* out = nullptr;
    Require(dlbridge_view(owned_.get(), &spec_, &out, nullptr) == DLBRIDGE_OK, "view");
    out->deleter(out);
  }

 private:
  Owned owned_;
  DLBridgeViewSpec spec_ = DLBRIDGE_VIEW_SPEC_INIT;
};

class Allocate {
 public:
  explicit Allocate(const Shape& shape) : source_(shape) {
    spec_.ndim = source_.tensor().ndim;
    spec_.shape = source_.tensor().shape;
    spec_.dtype = {kDLFloat, 32, 1};
  }
  void operator()() {
    DLManagedTensorVersioned* out = nullptr;
    Require(dlbridge_allocate(&spec_, &out, nullptr) == DLBRIDGE_OK, "allocate");
    out->deleter(out);
  }

 private:
  Source source_;
  DLBridgeAllocateSpec spec_ = DLBRIDGE_ALLOCATE_SPEC_INIT;
};

class Layout {
 public:
  explicit Layout(const Shape& shape) : source_(shape) {}
  void operator()() {
    Require(dlbridge_layout(&source_.tensor(), 0, &layout_, nullptr) == DLBRIDGE_OK, "layout");
  }

 private:
  Source source_;
  DLBridgeLayout layout_ = DLBRIDGE_LAYOUT_INIT;
};

class Diagnose {
 public:
  explicit Diagnose(const Shape& shape) : source_(shape) {}
  void operator()() {
    size_t count = 0;
    Require(dlbridge_diagnose(source_.legacy(), DLBRIDGE_KIND_LEGACY, 0, nullptr, nullptr, 0,
                              &count, nullptr) == DLBRIDGE_OK,
            "diagnose");
  }

 private:
  Source source_;
};

class TensorFormat {
 public:
  explicit TensorFormat(const Shape& shape) : source_(shape) {}
  void operator()() {
    size_t length = 0;
    Require(dlbridge_tensor_format(&source_.tensor(), 0, text_, sizeof text_, &length, nullptr) ==
                DLBRIDGE_OK,
            "format");
  }

 private:
  Source source_;
  char text_[1024];
};

class Identify {
 public:
  explicit Identify(const Shape& shape) : source_(shape) {}
  void operator()() {
    Require(dlbridge_identify(source_.versioned()) == DLBRIDGE_KIND_VERSIONED, "identify");
  }

 private:
  Source source_;
};

class RequiredVersion {
 public:
  explicit RequiredVersion(const Shape& shape) : source_(shape) {}
  void operator()() {
    DLPackVersion version;
    Require(dlbridge_required_version(&source_.tensor(), 0, &version, nullptr) == DLBRIDGE_OK,
            "required version");
  }

 private:
  Source source_;
};

// A dlbridge-owned tensor passes through.
class ExportOwned {
 public:
  explicit ExportOwned(const Shape& shape) : owned_(shape) {}
  void operator()() {
    void* out = nullptr;
    DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
    Require(dlbridge_export(owned_.get(), DLBRIDGE_KIND_VERSIONED, {1, 3}, nullptr, &out, &kind,
                            nullptr) == DLBRIDGE_OK,
            "export");
    Require(out == owned_.get(), "the same tensor");
  }

 private:
  Owned owned_;
};

class Negotiate {
 public:
  explicit Negotiate(const Shape& /*shape*/) {}
  void operator()() {
    DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
    DLPackVersion version;
    Require(dlbridge_negotiate({1, 1}, {1, 3}, &kind, &version, nullptr) == DLBRIDGE_OK,
            "negotiate");
  }
};

class DtypeNames {
 public:
  explicit DtypeNames(const Shape& /*shape*/) {}
  void operator()() {
    char text[32];
    size_t length = 0;
    DLDataType dtype = {kDLFloat, 32, 1};
    Require(dlbridge_dtype_format(dtype, text, sizeof text, &length, nullptr) == DLBRIDGE_OK &&
                dlbridge_dtype_parse(text, length, &dtype, nullptr) == DLBRIDGE_OK,
            "dtype");
  }
};

class DeviceNames {
 public:
  explicit DeviceNames(const Shape& /*shape*/) {}
  void operator()() {
    char text[32];
    size_t length = 0;
    DLDevice device = {kDLCUDA, 1};
    Require(dlbridge_device_format(device, text, sizeof text, &length, nullptr) == DLBRIDGE_OK &&
                dlbridge_device_parse(text, length, &device, nullptr) == DLBRIDGE_OK,
            "device");
  }
};

// The context table with one entry.
class ContextEntry {
 public:
  explicit ContextEntry(const Shape& /*shape*/) {
    entry_.backend = DLBRIDGE_BACKEND_CUDA;
    entry_.device = {kDLCUDA, 0};
    entry_.context = 1;
    Require(dlbridge_context_register(&entry_, &id_, nullptr) == DLBRIDGE_OK, "register");
  }
  ContextEntry(const ContextEntry&) = delete;
  ContextEntry& operator=(const ContextEntry&) = delete;
  ~ContextEntry() { dlbridge_context_unregister(id_, nullptr); }

 protected:
  DLBridgeContextEntry entry_ = DLBRIDGE_CONTEXT_ENTRY_INIT;
  uint64_t id_ = 0;
};

class ContextFind : public ContextEntry {
 public:
  using ContextEntry::ContextEntry;
  void operator()() {
    Require(dlbridge_context_find({kDLCUDA, 0}, 0, &entry_, nullptr) == DLBRIDGE_OK, "find");
  }
};

class ContextRetain : public ContextEntry {
 public:
  using ContextEntry::ContextEntry;
  void operator()() {
    Require(dlbridge_context_retain(id_, nullptr) == DLBRIDGE_OK &&
                dlbridge_context_release(id_, nullptr) == DLBRIDGE_OK,
            "retain");
  }
};

// ------------------------------------------------------------------------------- the C++ binding

class CppImport {
 public:
  explicit CppImport(const Shape& shape) : source_(shape) {}
  void operator()() { Require(dlbridge::import(source_.legacy()).has_value(), "C++ import"); }

 private:
  Source source_;
};

class CppShare {
 public:
  explicit CppShare(const Shape& shape)
      : source_(shape), tensor_(dlbridge::import(source_.legacy()).value()) {}
  void operator()() { Require(dlbridge::share(tensor_).has_value(), "C++ share"); }

 private:
  Source source_;
  dlbridge::tensor tensor_;
};

// Calls `visit.template Operation<Class>(name)` for each operation whose cost may depend on ndim,
// and `visit.template Single<Class>(name)` for the others.
template <typename Visitor>
void VisitMoreOperations(Visitor& visit) {
  visit.template Operation<ValidateLegacy>("validate_legacy");
  visit.template Operation<ValidateVersioned>("validate_versioned");
  visit.template Operation<ValidateByPolicy>("validate_by_policy");
  visit.template Operation<View>("view");
  visit.template Operation<Allocate>("allocate");
  visit.template Operation<Layout>("layout");
  visit.template Operation<Diagnose>("diagnose");
  visit.template Operation<TensorFormat>("tensor_format");
  visit.template Operation<Identify>("identify");
  visit.template Operation<RequiredVersion>("required_version");
  visit.template Operation<ExportOwned>("export_owned");
  visit.template Operation<CppImport>("cpp_import");
  visit.template Operation<CppShare>("cpp_share");
  visit.template Single<Negotiate>("negotiate");
  visit.template Single<DtypeNames>("dtype_names");
  visit.template Single<DeviceNames>("device_names");
  visit.template Single<ContextFind>("context_find");
  visit.template Single<ContextRetain>("context_retain");
}

}  // namespace dlbridge_bench

#endif  // DLBRIDGE_BENCH_MORE_OPERATIONS_H_
