// SPDX-License-Identifier: Apache-2.0
// Calls of every function of the library, each on the ways that need most: 64 axes, an error with a
// message, a copy. No call starts a driver. Every call may run on any number of threads at once.
//
// A row prepares its arguments, makes the calls through the given function, which may measure them,
// and releases everything. So nothing of a row outlives it.
#ifndef DLBRIDGE_TESTS_SUPPORT_EVERY_FUNCTION_H_
#define DLBRIDGE_TESTS_SUPPORT_EVERY_FUNCTION_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "support/ipc.h"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace dlbridge_test {

using Calling = std::function<void()>;
using Caller = std::function<void(const Calling&)>;

struct FunctionRow {
  const char* name;
  void (*run)(const Caller& call);
};

// Tensors of foreign code that were not released yet.
inline std::atomic<int64_t> g_foreign_tensors{0};

// A producer's tensor: `ndim` axes, all but the first two of extent 1. 4 elements.
template <class Managed>
class Foreign {
 public:
  explicit Foreign(int32_t ndim) {
    g_foreign_tensors.fetch_add(1);
    for (int32_t i = 0; i < DLBRIDGE_MAX_NDIM; ++i) {
      shape_[i] = i < 2 ? 2 : 1;
      strides_[i] = i == 0 ? 2 : 1;
    }
    managed_.dl_tensor = {data_, {kDLCPU, 0}, ndim, {kDLFloat, 32, 1}, shape_, strides_, 0};
    managed_.manager_ctx = this;
    managed_.deleter = [](Managed* self) { delete static_cast<Foreign*>(self->manager_ctx); };
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  Managed managed_ = {};

 private:
  ~Foreign() { g_foreign_tensors.fetch_sub(1); }

  int64_t shape_[DLBRIDGE_MAX_NDIM];
  int64_t strides_[DLBRIDGE_MAX_NDIM];
  alignas(64) float data_[4] = {1, 2, 3, 4};
};

inline DLManagedTensor* NewLegacy(int32_t ndim = 2) {
  return &(new Foreign<DLManagedTensor>(ndim))->managed_;
}
inline DLManagedTensorVersioned* NewVersioned(int32_t ndim = 2) {
  auto* tensor = &(new Foreign<DLManagedTensorVersioned>(ndim))->managed_;
  tensor->version = {1, 3};
  return tensor;
}

inline DLManagedTensorVersioned* NewOwned(int32_t ndim = 2) {
  DLManagedTensorVersioned* out = nullptr;
  EXPECT_EQ(dlbridge_import(NewVersioned(ndim), DLBRIDGE_KIND_VERSIONED, nullptr, &out, nullptr),
            DLBRIDGE_OK);
  return out;
}

inline DLManagedTensorVersioned* NewShareable() {
  static constexpr int64_t kShape[] = {2, 2};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.options = DLBRIDGE_ALLOCATE_SHAREABLE;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 2;
  spec.shape = kShape;
  DLManagedTensorVersioned* out = nullptr;
  EXPECT_EQ(dlbridge_allocate(&spec, &out, nullptr), DLBRIDGE_OK);
  return out;
}

inline DLBridgeStream HostStream() {
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  stream.kind = DLBRIDGE_STREAM_HOST;
  return stream;
}

// An entry that no other thread registers.
inline DLBridgeContextEntry NewEntry() {
  static std::atomic<int32_t> next{1000};
  DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
  entry.backend = DLBRIDGE_BACKEND_CUDA;
  entry.device = {kDLCUDA, next.fetch_add(1) & 0x3fffffff};
  entry.native_device = static_cast<uint64_t>(entry.device.device_id);
  entry.context = 4096;
  return entry;
}
inline uint64_t Registered(const DLBridgeContextEntry& entry) {
  uint64_t id = 0;
  EXPECT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  return id;
}

inline DLBridgeConvertOptions CopyingOptions() {
  DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
  options.options = DLBRIDGE_CONVERT_COPY;
  return options;
}

// Checks the status of a call where it is made.
inline void Expect(DLBridgeStatus status, DLBridgeStatus expected = DLBRIDGE_OK) {
  EXPECT_EQ(status, expected);
}

// ------------------------------------------------------------------------------------- describe

inline void CallConstants(const Caller& call) {
  call([] { EXPECT_NE(dlbridge_version(), 0U); });
}
inline void CallTensorFormat(const Caller& call) {
  DLManagedTensor* tensor = NewLegacy(64);
  char text[2048];
  call([&] {
    Expect(dlbridge_tensor_format(&tensor->dl_tensor, ~uint64_t{0}, text, sizeof text, nullptr,
                                  nullptr));
  });
  dlbridge_release_legacy(tensor);
}
inline void CallLayout(const Caller& call) {
  DLManagedTensor* tensor = NewLegacy(64);
  DLBridgeError error;
  call([&] {
    DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
    Expect(dlbridge_layout(&tensor->dl_tensor, 0, &layout, &error));
  });
  tensor->dl_tensor.ndim = -1;
  call([&] {
    DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
    Expect(dlbridge_layout(&tensor->dl_tensor, 0, &layout, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  });
  dlbridge_release_legacy(tensor);
}

// Overlapping axes, whose check needs the most memory.
template <class Call>
void WithOverlappingAxes(int32_t ndim, Call call) {
  int64_t shape[DLBRIDGE_MAX_NDIM];
  int64_t strides[DLBRIDGE_MAX_NDIM];
  float data[1024] = {};
  for (int32_t i = 0; i < ndim; ++i) {
    shape[i] = i < 8 ? 2 : 1;
    strides[i] = i < 8 ? 3 * i + 5 : 1;
  }
  const DLTensor tensor = {data, {kDLCPU, 0}, ndim, {kDLFloat, 32, 1}, shape, strides, 0};
  call(tensor);
}

inline void CallValidate(const Caller& call) {
  DLBridgePolicy policy = DLBRIDGE_POLICY_INIT;
  policy.options = DLBRIDGE_POLICY_REQUIRE_WRITABLE | DLBRIDGE_POLICY_VOUCH_WRITABLE;
  WithOverlappingAxes(64, [&](const DLTensor& tensor) {
    DLBridgeError error;
    call([&] { dlbridge_validate(&tensor, 0, &policy, &error); });
    call([&] { Expect(dlbridge_validate(&tensor, 0, nullptr, &error)); });
    DLTensor broken = tensor;
    broken.dtype.bits = 0;
    call([&] {
      Expect(dlbridge_validate(&broken, 0, nullptr, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
    });
  });
}
inline void CallValidateLegacy(const Caller& call) {
  DLManagedTensor* tensor = NewLegacy(64);
  DLBridgeError error;
  call([&] { Expect(dlbridge_validate_legacy(tensor, nullptr, &error)); });
  tensor->dl_tensor.data = nullptr;
  call([&] {
    Expect(dlbridge_validate_legacy(tensor, nullptr, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
  });
  dlbridge_release_legacy(tensor);
}
inline void CallValidateVersioned(const Caller& call) {
  DLManagedTensorVersioned* tensor = NewVersioned(64);
  DLBridgeError error;
  call([&] { Expect(dlbridge_validate_versioned(tensor, nullptr, &error)); });
  tensor->version.major = 2;
  call([&] {
    Expect(dlbridge_validate_versioned(tensor, nullptr, &error), DLBRIDGE_ERROR_VERSION);
  });
  dlbridge_release_versioned(tensor);
}
inline void CallDiagnose(const Caller& call) {
  WithOverlappingAxes(64, [&](const DLTensor& tensor) {
    DLBridgeFinding findings[16];
    size_t count = 0;
    call([&] {
      Expect(dlbridge_diagnose(&tensor, DLBRIDGE_KIND_BORROWED, 0, nullptr, findings, 16, &count,
                               nullptr));
    });
  });
}
inline void CallRequiredVersion(const Caller& call) {
  DLManagedTensor* tensor = NewLegacy();
  DLPackVersion version;
  call([&] { Expect(dlbridge_required_version(&tensor->dl_tensor, 0, &version, nullptr)); });
  dlbridge_release_legacy(tensor);
}
inline void CallIdentify(const Caller& call) {
  DLManagedTensor* tensor = NewLegacy();
  call([&] { EXPECT_EQ(dlbridge_identify(tensor), DLBRIDGE_KIND_LEGACY); });
  dlbridge_release_legacy(tensor);
}
inline void CallDtypeFormat(const Caller& call) {
  char text[64];
  call([&] { Expect(dlbridge_dtype_format({99, 255, 999}, text, sizeof text, nullptr, nullptr)); });
}
inline void CallDtypeParse(const Caller& call) {
  DLDataType dtype;
  DLBridgeError error;
  call([&] { Expect(dlbridge_dtype_parse("float8_e4m3fnx4", 15, &dtype, &error)); });
  call([&] { Expect(dlbridge_dtype_parse("nothing", 7, &dtype, &error), DLBRIDGE_ERROR_PARSE); });
}
inline void CallDeviceFormat(const Caller& call) {
  char text[64];
  call([&] {
    Expect(dlbridge_device_format({static_cast<DLDeviceType>(99), 7}, text, sizeof text, nullptr,
                                  nullptr));
  });
}
inline void CallDeviceParse(const Caller& call) {
  DLDevice device;
  DLBridgeError error;
  call([&] { Expect(dlbridge_device_parse("rocm_host:0", 11, &device, &error)); });
  call([&] { Expect(dlbridge_device_parse("nothing", 7, &device, &error), DLBRIDGE_ERROR_PARSE); });
}

// ----------------------------------------------------------------------------------- conversions

inline void CallUpgrade(const Caller& call) {
  const DLBridgeConvertOptions copying = CopyingOptions();
  for (const DLBridgeConvertOptions* options :
       {static_cast<const DLBridgeConvertOptions*>(nullptr), &copying}) {
    DLManagedTensor* tensor = NewLegacy(64);
    DLManagedTensorVersioned* out = nullptr;
    DLBridgeError error;
    call([&] { Expect(dlbridge_upgrade(tensor, options, &out, &error)); });
    dlbridge_release_versioned(out);
  }
}
inline void CallUpgradeInto(const Caller& call) {
  alignas(16) unsigned char memory[4096];
  DLBridgeStorage storage = DLBRIDGE_STORAGE_INIT;
  storage.memory = memory;
  storage.size = sizeof memory;
  DLManagedTensor* tensor = NewLegacy(64);
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeError error;
  call([&] { Expect(dlbridge_upgrade_into(tensor, nullptr, &storage, &out, &error)); });
  dlbridge_release_versioned(out);
}
inline void CallUpgradeMany(const Caller& call) {
  DLManagedTensor* tensors[8];
  for (DLManagedTensor*& tensor : tensors) {
    tensor = NewLegacy(64);
  }
  DLManagedTensorVersioned* outs[8] = {};
  DLBridgeError error;
  call([&] { Expect(dlbridge_upgrade_many(tensors, 8, nullptr, outs, nullptr, &error)); });
  for (DLManagedTensorVersioned* out : outs) {
    dlbridge_release_versioned(out);
  }
}
inline void CallDowngrade(const Caller& call) {
  DLManagedTensor* out = nullptr;
  DLBridgeError error;
  DLManagedTensorVersioned* tensor = NewVersioned(64);
  call([&] { Expect(dlbridge_downgrade(tensor, nullptr, &out, &error)); });
  dlbridge_release_legacy(out);
  tensor = NewVersioned(64);
  tensor->flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  const DLBridgeConvertOptions copying = CopyingOptions();
  call([&] {
    Expect(dlbridge_downgrade(tensor, nullptr, &out, &error), DLBRIDGE_ERROR_UNREPRESENTABLE);
  });
  call([&] { Expect(dlbridge_downgrade(tensor, &copying, &out, &error)); });
  dlbridge_release_legacy(out);
}
inline void CallImport(const Caller& call) {
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeError error;
  DLManagedTensor* legacy = NewLegacy(64);
  call([&] { Expect(dlbridge_import(legacy, DLBRIDGE_KIND_UNKNOWN, nullptr, &out, &error)); });
  dlbridge_release_versioned(out);
  const DLBridgeConvertOptions copying = CopyingOptions();
  DLManagedTensorVersioned* versioned = NewVersioned(64);
  call(
      [&] { Expect(dlbridge_import(versioned, DLBRIDGE_KIND_VERSIONED, &copying, &out, &error)); });
  dlbridge_release_versioned(out);
}
inline void CallExport(const Caller& call) {
  for (const DLPackVersion target : {DLPackVersion{0, 8}, DLPackVersion{1, 0}}) {
    DLManagedTensorVersioned* tensor = NewOwned(64);
    void* out = nullptr;
    DLBridgeKind kind = DLBRIDGE_KIND_UNKNOWN;
    DLBridgeError error;
    call([&] {
      Expect(
          dlbridge_export(tensor, DLBRIDGE_KIND_VERSIONED, target, nullptr, &out, &kind, &error));
    });
    call([&] { Expect(dlbridge_release(out, kind)); });
  }
}
inline void CallReleases(const Caller& call) {
  DLManagedTensor* legacy = NewLegacy();
  call([&] { dlbridge_release_legacy(legacy); });
  DLManagedTensorVersioned* owned = NewOwned();
  call([&] { dlbridge_release_versioned(owned); });
}
inline void CallShare(const Caller& call) {
  DLManagedTensorVersioned* tensor = NewOwned(64);
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeError error;
  call([&] { Expect(dlbridge_share(tensor, &out, &error)); });
  call([&] { dlbridge_release_versioned(tensor); });
  call([&] { dlbridge_release_versioned(out); });
}
inline void CallView(const Caller& call) {
  DLManagedTensorVersioned* tensor = NewOwned(64);
  int64_t shape[DLBRIDGE_MAX_NDIM];
  for (int64_t& extent : shape) {
    extent = 1;
  }
  DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
  spec.ndim = DLBRIDGE_MAX_NDIM;
  spec.shape = shape;
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeError error;
  call([&] { Expect(dlbridge_view(tensor, &spec, &out, &error)); });
  dlbridge_release_versioned(out);
  spec.offset = 100;
  call([&] { Expect(dlbridge_view(tensor, &spec, &out, &error), DLBRIDGE_ERROR_BOUNDS); });
  dlbridge_release_versioned(tensor);
}
inline void CallAllocate(const Caller& call) {
  static constexpr int64_t kShape[] = {64, 64};
  DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 2;
  spec.shape = kShape;
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeError error;
  call([&] { Expect(dlbridge_allocate(&spec, &out, &error)); });
  dlbridge_release_versioned(out);
}

// Transposes and sub-byte elements, which use all kinds of loops.
inline void CallCopy(const Caller& call) {
  static constexpr int64_t kShape[] = {32, 3, 40};
  static constexpr int64_t kStrides[] = {1, 1280, 32};
  std::vector<unsigned char> data(32 * 3 * 40 * 8);
  for (const DLDataType dtype : {DLDataType{kDLFloat, 32, 1}, DLDataType{kDLInt, 4, 1},
                                 DLDataType{kDLUInt, 8, 1}, DLDataType{kDLFloat, 64, 1}}) {
    const DLTensor tensor = {data.data(),
                             {kDLCPU, 0},
                             3,
                             dtype,
                             const_cast<int64_t*>(kShape),
                             const_cast<int64_t*>(kStrides),
                             0};
    const DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    DLManagedTensorVersioned* out = nullptr;
    DLBridgeError error;
    call([&] { Expect(dlbridge_copy(&tensor, 0, &spec, &out, &error)); });
    dlbridge_release_versioned(out);
  }
  DLManagedTensor* axes = NewLegacy(64);
  const DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  DLManagedTensorVersioned* out = nullptr;
  call([&] { Expect(dlbridge_copy(&axes->dl_tensor, 0, &spec, &out, nullptr)); });
  dlbridge_release_versioned(out);
  dlbridge_release_legacy(axes);
}
inline void CallCopyAsync(const Caller& call) {
  DLManagedTensorVersioned* tensor = NewOwned(64);
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream = HostStream();
  DLManagedTensorVersioned* out = nullptr;
  DLBridgeError error;
  call([&] { Expect(dlbridge_copy_async(tensor, &spec, &out, &error)); });
  dlbridge_release_versioned(out);
  dlbridge_release_versioned(tensor);
}
inline void CallWrap(const Caller& call) {
  static float data[4];
  static constexpr int64_t kShape[] = {2, 2};
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.buffer = dlbridge_buffer_address(data);
  spec.device = {kDLCPU, 0};
  spec.dtype = {kDLFloat, 32, 1};
  spec.ndim = 2;
  spec.shape = kShape;
  DLManagedTensorVersioned* out = nullptr;
  DLManagedTensor* legacy = nullptr;
  DLBridgeError error;
  call([&] { Expect(dlbridge_wrap(&spec, &out, &error)); });
  call([&] { dlbridge_release_versioned(out); });
  call([&] { Expect(dlbridge_wrap_legacy(&spec, &legacy, &error)); });
  call([&] { dlbridge_release_legacy(legacy); });
  spec.dtype.lanes = 0;
  call([&] { Expect(dlbridge_wrap(&spec, &out, &error), DLBRIDGE_ERROR_INVALID_TENSOR); });
}

// --------------------------------------------------------------------------------- negotiate, …

inline void CallNegotiate(const Caller& call) {
  DLBridgeKind kind = 0;
  DLPackVersion version;
  DLBridgeError error;
  call([&] { Expect(dlbridge_negotiate({1, 3}, {1, 1}, &kind, &version, &error)); });
}
inline void CallExchangeApiFind(const Caller& call) {
  static DLPackExchangeAPI table;
  const DLPackExchangeAPI* out = nullptr;
  DLBridgeError error;
  call([&] {
    Expect(dlbridge_exchange_api_find(&table.header, {1, 3}, &out, &error),
           DLBRIDGE_ERROR_NOT_FOUND);
  });
}
inline void CallModulePin(const Caller& call) {
  static const int inside = 0;
  DLBridgeError error;
  call([&] { Expect(dlbridge_module_pin(&inside, &error)); });
}
inline void CallBackendInfo(const Caller& call) {
  call([&] {
    DLBridgeBackendInfo info = DLBRIDGE_BACKEND_INFO_INIT;
    Expect(dlbridge_backend_info(DLBRIDGE_BACKEND_CPU, &info, nullptr));
  });
}
inline void CallPointerInfo(const Caller& call) {
  float value = 0;
  const DLBridgeBuffer buffer = dlbridge_buffer_address(&value);
  DLBridgeError error;
  call([&] {
    DLBridgePointerInfo info = DLBRIDGE_POINTER_INFO_INIT;
    Expect(dlbridge_pointer_info(&buffer, {kDLCPU, 0}, &info, &error));
  });
}
inline void CallStreams(const Caller& call) {
  DLBridgeStream stream;
  const DLBridgeStream host = HostStream();
  DLBridgeError error;
  call([&] { Expect(dlbridge_stream_from_array_api({kDLCUDA, 0}, 1, &stream, &error)); });
  call([&] { Expect(dlbridge_stream_handoff(&host, &host, 0, &error)); });
  call([&] { Expect(dlbridge_stream_synchronize(&host, &error)); });
}
inline void CallReleaseAfter(const Caller& call) {
  DLManagedTensorVersioned* tensor = NewOwned();
  const DLBridgeStream host = HostStream();
  size_t left = 0;
  DLBridgeError error;
  call([&] { Expect(dlbridge_release_after(tensor, DLBRIDGE_KIND_VERSIONED, &host, 1, &error)); });
  call([&] { Expect(dlbridge_collect(DLBRIDGE_COLLECT_WAIT, &left, &error)); });
}

// -------------------------------------------------------------------------------- context table

inline void CallContexts(const Caller& call) {
  const DLBridgeContextEntry entry = NewEntry();
  DLBridgeContextEntry found = DLBRIDGE_CONTEXT_ENTRY_INIT;
  DLBridgeError error;
  uint64_t id = 0;
  uint64_t cursor = 0;
  call([&] { Expect(dlbridge_context_register(&entry, &id, &error)); });
  call([&] { Expect(dlbridge_context_register(&entry, &id, &error), DLBRIDGE_ERROR_EXISTS); });
  call([&] { Expect(dlbridge_context_find(entry.device, 0, &found, &error)); });
  call([&] { Expect(dlbridge_context_next(&cursor, &found, &error)); });
  call([&] { Expect(dlbridge_context_retain(id, &error)); });
  call([&] { Expect(dlbridge_context_unregister(id, &error)); });
  call([&] { Expect(dlbridge_context_release(id, &error)); });
  call([&] { Expect(dlbridge_context_release(id, &error), DLBRIDGE_ERROR_NOT_FOUND); });
}

// --------------------------------------------------------------------------- between processes

#ifdef __linux__

inline void CallIpc(const Caller& call) {
  DLManagedTensorVersioned* tensor = NewShareable();
  std::vector<unsigned char> bytes(kIpcBytes);
  int32_t fds[kIpcFds];
  DLBridgeIpcExportSpec spec = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
  spec.buffer = bytes.data();
  spec.buffer_size = bytes.size();
  spec.fds = fds;
  spec.fd_capacity = kIpcFds;
  DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
  DLBridgeError error;
  call([&] { Expect(dlbridge_ipc_export(tensor, &spec, &sizes, &error)); });
  DLBridgeIpcImportSpec import = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
  import.buffer = bytes.data();
  import.buffer_size = static_cast<size_t>(sizes.buffer_size);
  import.fds = fds;
  import.fd_count = static_cast<size_t>(sizes.fd_count);
  DLManagedTensorVersioned* out = nullptr;
  call([&] { Expect(dlbridge_ipc_import(&import, &out, &error)); });
  call([&] { dlbridge_release_versioned(out); });
  for (uint64_t i = 0; i < sizes.fd_count; ++i) {
    close(fds[i]);
  }
  call([&] { dlbridge_release_versioned(tensor); });
}

#endif

// The name is that of the function, without its prefix, or of a group of small functions that are
// separated by spaces.
inline const std::vector<FunctionRow>& EveryFunction() {
  static const std::vector<FunctionRow> rows = {
      {"layout", CallLayout},
      {"tensor_format", CallTensorFormat},
      {"validate", CallValidate},
      {"validate_legacy", CallValidateLegacy},
      {"validate_versioned", CallValidateVersioned},
      {"diagnose", CallDiagnose},
      {"required_version", CallRequiredVersion},
      {"identify", CallIdentify},
      {"dtype_format", CallDtypeFormat},
      {"dtype_parse", CallDtypeParse},
      {"device_format", CallDeviceFormat},
      {"device_parse", CallDeviceParse},
      {"upgrade", CallUpgrade},
      {"upgrade_into", CallUpgradeInto},
      {"upgrade_many", CallUpgradeMany},
      {"downgrade", CallDowngrade},
      {"import", CallImport},
      {"export", CallExport},
      {"release release_legacy release_versioned", CallReleases},
      {"share", CallShare},
      {"view", CallView},
      {"allocate", CallAllocate},
      {"copy", CallCopy},
      {"copy_async", CallCopyAsync},
      {"wrap wrap_legacy", CallWrap},
      {"negotiate", CallNegotiate},
      {"exchange_api_find", CallExchangeApiFind},
      {"module_pin", CallModulePin},
      {"backend_info", CallBackendInfo},
      {"pointer_info", CallPointerInfo},
      {"stream_from_array_api stream_handoff stream_synchronize", CallStreams},
      {"release_after collect", CallReleaseAfter},
      {"context_register context_find context_next context_retain context_release "
       "context_unregister",
       CallContexts},
      {"dlpack_version host_accessible rule_name rule_text status_name status_text "
       "upgrade_storage_size version version_string get_api context_table_v1",
       CallConstants},
#ifdef __linux__
      {"ipc_export ipc_import", CallIpc},
#endif
  };
  return rows;
}

}  // namespace dlbridge_test

#endif  // DLBRIDGE_TESTS_SUPPORT_EVERY_FUNCTION_H_
