// SPDX-License-Identifier: Apache-2.0
// The measured operations. Each is a class whose constructor prepares, and whose call operator is
// one operation, release included. core_bench measures their time, core_instructions their
// instructions.
#ifndef DLBRIDGE_BENCH_OPERATIONS_H_
#define DLBRIDGE_BENCH_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "dlbridge/dlbridge.h"
#ifdef DLBRIDGE_BENCH_TVM_FFI
#include <tvm/ffi/c_api.h>
#endif

namespace dlbridge_bench {

enum class Strides { kNull, kGiven, kPermuted };

// A tensor whose data is never accessed, so it has none.
struct Shape {
  int32_t ndim = 4;
  Strides strides = Strides::kGiven;
  int64_t extent = 3;
};

// Hides a value from the optimiser.
template <typename T>
inline void Keep(T* value) {
  asm volatile("" : : "g"(value) : "memory");
}

inline void Require(bool fine, const char* what) {
  if (!fine) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::abort();
  }
}

inline void DeleteNothing(DLManagedTensor* /*self*/) {}
inline void DeleteNothing(DLManagedTensorVersioned* /*self*/) {}

// A producer's tensor: float32 on the CPU, with a deleter that does nothing, so that one struct
// serves every iteration.
class Source {
 public:
  explicit Source(const Shape& shape)
      : shape_(static_cast<size_t>(shape.ndim), shape.extent), strides_(shape_.size()) {
    FillStrides(shape);
    DLTensor& tensor = legacy_.dl_tensor;
    tensor.data = data_;
    tensor.device = {kDLCPU, 0};
    tensor.ndim = shape.ndim;
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = shape_.data();
    tensor.strides = shape.strides == Strides::kNull ? nullptr : strides_.data();
    legacy_.deleter = DeleteNothing;
    // NULL strides are legal up to 1.1.
    versioned_.version = {1, shape.strides == Strides::kNull ? 1U : 3U};
    versioned_.deleter = DeleteNothing;
    versioned_.dl_tensor = tensor;
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  DLManagedTensor* legacy() { return &legacy_; }
  DLManagedTensorVersioned* versioned() { return &versioned_; }
  const DLTensor& tensor() const { return legacy_.dl_tensor; }

 private:
  void FillStrides(const Shape& shape) {
    int64_t stride = 1;
    for (size_t i = strides_.size(); i-- > 0;) {
      strides_[i] = stride;
      stride *= shape.extent;
    }
    if (shape.strides != Strides::kPermuted) {
      return;
    }
    // The second axis moves to the end, as channels do in images.
    for (size_t i = 1; i + 1 < strides_.size(); ++i) {
      std::swap(strides_[i], strides_[i + 1]);
    }
  }

  alignas(64) char data_[64] = {};
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  DLManagedTensor legacy_ = {};
  DLManagedTensorVersioned versioned_ = {};
};

// No operation: the cost of the loop.
struct Nothing {
  explicit Nothing(const Shape& /*shape*/) {}
  void operator()() {}
};

// The unit of the ratios.
struct MallocFree {
  explicit MallocFree(const Shape& /*shape*/) {}
  void operator()() {
    void* memory = std::malloc(128);
    Keep(memory);
    std::free(memory);
  }
};

class Validate {
 public:
  explicit Validate(const Shape& shape) : source_(shape) {}
  void operator()() {
    Require(dlbridge_validate(&source_.tensor(), 0, nullptr, &error_) == DLBRIDGE_OK, "validate");
  }

 private:
  Source source_;
  DLBridgeError error_;
};

// Options without a set bit are not passed.
template <uint32_t kFlags>
class Upgrade {
 public:
  explicit Upgrade(const Shape& shape) : source_(shape) { options_.options = kFlags; }
  void operator()() {
    DLManagedTensorVersioned* out = nullptr;
    const DLBridgeConvertOptions* options = kFlags == 0 ? nullptr : &options_;
    Require(dlbridge_upgrade(source_.legacy(), options, &out, &error_) == DLBRIDGE_OK, "upgrade");
    out->deleter(out);
  }

 private:
  Source source_;
  DLBridgeConvertOptions options_ = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLBridgeError error_;
};

class UpgradeInto {
 public:
  explicit UpgradeInto(const Shape& shape)
      : source_(shape), memory_(dlbridge_upgrade_storage_size(shape.ndim) / sizeof(Block) + 1) {
    storage_.memory = memory_.data();
    storage_.size = memory_.size() * sizeof(Block);
  }
  void operator()() {
    DLManagedTensorVersioned* out = nullptr;
    const DLBridgeStatus status =
        dlbridge_upgrade_into(source_.legacy(), nullptr, &storage_, &out, &error_);
    Require(status == DLBRIDGE_OK, "upgrade_into");
    out->deleter(out);
  }

 private:
  struct alignas(16) Block {
    char bytes[16];
  };
  Source source_;
  std::vector<Block> memory_;
  DLBridgeStorage storage_ = DLBRIDGE_STORAGE_INIT;
  DLBridgeError error_;
};

class Downgrade {
 public:
  explicit Downgrade(const Shape& shape) : source_(shape) {}
  void operator()() {
    DLManagedTensor* out = nullptr;
    const DLBridgeStatus status = dlbridge_downgrade(source_.versioned(), nullptr, &out, &error_);
    Require(status == DLBRIDGE_OK, "downgrade");
    out->deleter(out);
  }

 private:
  Source source_;
  DLBridgeError error_;
};

class Share {
 public:
  explicit Share(const Shape& shape) : source_(shape) {
    const DLBridgeStatus status = dlbridge_upgrade(source_.legacy(), nullptr, &tensor_, &error_);
    Require(status == DLBRIDGE_OK, "upgrade");
  }
  ~Share() { tensor_->deleter(tensor_); }
  void operator()() {
    DLManagedTensorVersioned* out = nullptr;
    Require(dlbridge_share(tensor_, &out, &error_) == DLBRIDGE_OK, "share");
    out->deleter(out);
  }

 private:
  Source source_;
  DLManagedTensorVersioned* tensor_ = nullptr;
  DLBridgeError error_;
};

// As a host takes a tensor in, of a kind that it knows or does not know.
template <DLBridgeKind kKind>
class Import {
 public:
  explicit Import(const Shape& shape) : source_(shape) {}
  void operator()() {
    DLManagedTensorVersioned* out = nullptr;
    void* given = source_.legacy();
    if (kKind == DLBRIDGE_KIND_VERSIONED) {
      given = source_.versioned();
    }
    Require(dlbridge_import(given, kKind, nullptr, &out, &error_) == DLBRIDGE_OK, "import");
    out->deleter(out);
  }

 private:
  Source source_;
  DLBridgeError error_;
};

// From legacy to a consumer of DLPack 1.3.
class Export {
 public:
  explicit Export(const Shape& shape) : source_(shape) {}
  void operator()() {
    void* out = nullptr;
    DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
    const DLBridgeStatus status = dlbridge_export(source_.legacy(), DLBRIDGE_KIND_LEGACY, {1, 3},
                                                  nullptr, &out, &kind, &error_);
    Require(status == DLBRIDGE_OK, "export");
    auto* versioned = static_cast<DLManagedTensorVersioned*>(out);
    versioned->deleter(versioned);
  }

 private:
  Source source_;
  DLBridgeError error_;
};

constexpr size_t kBatch = 64;

// 64 tensors in one call; reports divide by 64. With kLoop 64 calls of dlbridge_upgrade.
template <bool kLoop>
class UpgradeMany {
 public:
  explicit UpgradeMany(const Shape& shape) {
    for (size_t i = 0; i < kBatch; ++i) {
      sources_.push_back(std::make_unique<Source>(shape));
      given_[i] = sources_.back()->legacy();
    }
  }
  void operator()() {
    for (size_t i = 0; kLoop && i < kBatch; ++i) {
      const DLBridgeStatus status = dlbridge_upgrade(given_[i], nullptr, &outs_[i], &error_);
      Require(status == DLBRIDGE_OK, "upgrade");
    }
    if (!kLoop) {
      Require(
          dlbridge_upgrade_many(given_, kBatch, nullptr, outs_, nullptr, &error_) == DLBRIDGE_OK,
          "upgrade_many");
    }
    for (DLManagedTensorVersioned* out : outs_) {
      out->deleter(out);
    }
  }

 private:
  std::vector<std::unique_ptr<Source>> sources_;
  DLManagedTensor* given_[kBatch];
  DLManagedTensorVersioned* outs_[kBatch];
  DLBridgeError error_;
};

// The dtype has no lanes.
template <bool kReported>
class Refuse {
 public:
  explicit Refuse(const Shape& shape) : source_(shape), tensor_(source_.tensor()) {
    tensor_.dtype.lanes = 0;
  }
  void operator()() {
    DLBridgeError* error = kReported ? &error_ : nullptr;
    Require(dlbridge_validate(&tensor_, 0, nullptr, error) == DLBRIDGE_ERROR_INVALID_TENSOR,
            "refuse");
  }

 private:
  Source source_;
  DLTensor tensor_;
  DLBridgeError error_;
};

// Native memory, as a framework exports its own.
template <uint32_t kOptions>
class Wrap {
 public:
  explicit Wrap(const Shape& shape) : source_(shape) {
    const DLTensor& tensor = source_.tensor();
    spec_.ndim = tensor.ndim;
    spec_.shape = tensor.shape;
    spec_.strides = tensor.strides;
    spec_.buffer = dlbridge_buffer_address(tensor.data);
    spec_.options = kOptions;
    spec_.device = tensor.device;
    spec_.dtype = tensor.dtype;
    spec_.release = ReleaseNothing;
  }
  void operator()() {
    DLManagedTensorVersioned* out = nullptr;
    Require(dlbridge_wrap(&spec_, &out, &error_) == DLBRIDGE_OK, "wrap");
    out->deleter(out);
  }

 private:
  static void ReleaseNothing(void* /*context*/, const DLBridgeBuffer* /*buffer*/,
                             const DLBridgeStream* /*stream*/) {}

  Source source_;
  DLBridgeWrapSpec spec_ = DLBRIDGE_WRAP_SPEC_INIT;
  DLBridgeError error_;
};

#ifdef DLBRIDGE_BENCH_TVM_FFI
// The peer's conversion from a legacy tensor to a versioned one.
class TvmImportExport {
 public:
  explicit TvmImportExport(const Shape& shape) : source_(shape) {}
  void operator()() {
    TVMFFIObjectHandle handle = nullptr;
    DLManagedTensorVersioned* out = nullptr;
    Require(TVMFFITensorFromDLPack(source_.legacy(), 0, 0, &handle) == 0, "tvm-ffi import");
    Require(TVMFFITensorToDLPackVersioned(handle, &out) == 0, "tvm-ffi export");
    out->deleter(out);
    TVMFFIObjectDecRef(handle);
  }

 private:
  Source source_;
};

// The peer's export of a tensor that it already has: the counterpart of share.
class TvmExport {
 public:
  explicit TvmExport(const Shape& shape) : source_(shape) {
    Require(TVMFFITensorFromDLPack(source_.legacy(), 0, 0, &handle_) == 0, "tvm-ffi import");
  }
  ~TvmExport() { TVMFFIObjectDecRef(handle_); }
  void operator()() {
    DLManagedTensorVersioned* out = nullptr;
    Require(TVMFFITensorToDLPackVersioned(handle_, &out) == 0, "tvm-ffi export");
    out->deleter(out);
  }

 private:
  Source source_;
  TVMFFIObjectHandle handle_ = nullptr;
};
#endif

// Calls `visit.template Operation<Class>(name)` for each operation except the loop itself.
template <typename Visitor>
void VisitOperations(Visitor& visit) {
  visit.template Operation<Validate>("validate");
  visit.template Operation<Upgrade<0>>("upgrade");
  visit.template Operation<Upgrade<DLBRIDGE_CONVERT_VOUCH_WRITABLE>>("upgrade_writable");
  visit.template Operation<Upgrade<DLBRIDGE_CONVERT_SKIP_VALIDATION>>("upgrade_vouched");
  visit.template Operation<UpgradeInto>("upgrade_into");
  visit.template Operation<Downgrade>("downgrade");
  visit.template Operation<Share>("share");
  visit.template Operation<Import<DLBRIDGE_KIND_LEGACY>>("import");
  visit.template Operation<Import<DLBRIDGE_KIND_UNKNOWN>>("import_unknown");
  visit.template Operation<Import<DLBRIDGE_KIND_VERSIONED>>("import_versioned");
  visit.template Operation<Export>("export");
  visit.template Operation<UpgradeMany<false>>("upgrade_many_64");
  visit.template Operation<UpgradeMany<true>>("upgrade_loop_64");
  visit.template Operation<Refuse<true>>("refuse_reported");
  visit.template Operation<Refuse<false>>("refuse");
  visit.template Operation<Wrap<DLBRIDGE_WRAP_SKIP_VALIDATION>>("wrap_vouched");
  visit.template Operation<Wrap<0>>("wrap");
#ifdef DLBRIDGE_BENCH_TVM_FFI
  visit.template Operation<TvmImportExport>("tvm_import_export");
  visit.template Operation<TvmExport>("tvm_export");
#endif
}

// The names of strides in the names of benchmarks and counts.
inline const char* NameOf(Strides strides) {
  switch (strides) {
    case Strides::kNull:
      return "null";
    case Strides::kGiven:
      return "given";
    case Strides::kPermuted:
      break;
  }
  return "permuted";
}

}  // namespace dlbridge_bench

#endif  // DLBRIDGE_BENCH_OPERATIONS_H_
