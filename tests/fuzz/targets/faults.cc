// SPDX-License-Identifier: Apache-2.0
// Programs of functions of the host inside which a call of the C library fails, once or for good.
// After a failure nothing has changed: the source is the caller's, no deleter has run, the library
// holds no memory, mapping or file of the call, and the same call without a failure works.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "dlbridge/dlbridge.h"
#include "fuzz/support/check.h"
#include "fuzz/support/faults.h"
#include "fuzz/support/hidden_drivers.h"
#include "fuzz/support/input.h"
#include "fuzz/support/status.h"

namespace dlbridge_fuzz {
namespace {

constexpr int64_t kElements = 24;

int g_deleted = 0;
template <class Managed>
void Delete(Managed* self) {
  ++g_deleted;
  delete self;
}

int64_t g_shape[] = {4, 6};
int64_t g_strides[] = {6, 1};
float g_data[kElements];

template <class Managed>
Managed* Produce() {
  auto* made = new Managed();
  made->dl_tensor = {g_data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, g_shape, g_strides, 0};
  made->deleter = Delete<Managed>;
  return made;
}
DLManagedTensorVersioned* Versioned() {
  auto* made = Produce<DLManagedTensorVersioned>();
  made->version = {1, 1};
  return made;
}

class Program {
 public:
  explicit Program(Input* input) : input_(*input) {}

  void Step() {
    switch (input_.Below(10)) {
      case 0:
        return Convert(dlbridge_import, Versioned(), DLBRIDGE_KIND_VERSIONED);
      case 1:
        return Convert(dlbridge_import, Produce<DLManagedTensor>(), DLBRIDGE_KIND_LEGACY);
      case 2:
        return Downgrade();
      case 3:
        return Share(false);
      case 4:
        return Share(true);
      case 5:
        return Allocate(0);
      case 6:
      case 7:
        return Travel();
      case 8:
        return Register();
      default:
        return Copy();
    }
  }

 private:
  // Makes a call until it succeeds: first with a failure inside, then without.
  template <class Call>
  void Try(Call call) {
    const Fault fault = Fault::Take(&input_, false);
    const int deleted = g_deleted;
    if (fault.nth != 0) {
      DLBridgeError error = GarbageError();
      CLibrary::Arm(fault);
      const DLBridgeStatus status = call(&error);
      const std::string failed = CLibrary::Disarm();
      CheckError(status, error);
      if (status == DLBRIDGE_OK) {
        return;
      }
      Check("a call fails only if another does", !failed.empty());
      CheckStatusAfterFault(status, failed);
      CheckEqual("deleters after a failure", deleted, g_deleted);
    }
    DLBridgeError error = GarbageError();
    CheckStatus(DLBRIDGE_OK, call(&error));
  }

  DLBridgeConvertOptions TakeOptions() {
    DLBridgeConvertOptions options = DLBRIDGE_CONVERT_OPTIONS_INIT;
    options.options = input_.Pick<uint32_t>(
        {0, DLBRIDGE_CONVERT_VOUCH_WRITABLE, DLBRIDGE_CONVERT_COPY, DLBRIDGE_CONVERT_CANONICAL,
         DLBRIDGE_CONVERT_PIN_PRODUCER, DLBRIDGE_CONVERT_FOLD_BYTE_OFFSET});
    return options;
  }

  template <class Function, class Managed>
  void Convert(Function convert, Managed* source, DLBridgeKind kind) {
    const DLBridgeConvertOptions options = TakeOptions();
    const int deleted = g_deleted;
    DLManagedTensorVersioned* tensor = nullptr;
    Try([&](DLBridgeError* error) { return convert(source, kind, &options, &tensor, error); });
    tensor->deleter(tensor);
    CheckEqual("deleters", deleted + 1, g_deleted);
  }

  void Downgrade() {
    const DLBridgeConvertOptions options = TakeOptions();
    const int deleted = g_deleted;
    DLManagedTensorVersioned* source = Versioned();
    DLManagedTensor* tensor = nullptr;
    Try([&](DLBridgeError* error) { return dlbridge_downgrade(source, &options, &tensor, error); });
    tensor->deleter(tensor);
    CheckEqual("deleters", deleted + 1, g_deleted);
  }

  void Share(bool as_view) {
    DLManagedTensorVersioned* tensor = nullptr;
    CheckStatus(DLBRIDGE_OK,
                dlbridge_import(Versioned(), DLBRIDGE_KIND_VERSIONED, nullptr, &tensor, nullptr));
    DLBridgeViewSpec spec = DLBRIDGE_VIEW_SPEC_INIT;
    spec.offset = static_cast<int64_t>(input_.Below(kElements));
    DLManagedTensorVersioned* other = nullptr;
    Try([&](DLBridgeError* error) {
      return as_view ? dlbridge_view(tensor, &spec, &other, error)
                     : dlbridge_share(tensor, &other, error);
    });
    const int deleted = g_deleted;
    tensor->deleter(tensor);
    CheckEqual("deleters before the last owner", deleted, g_deleted);
    other->deleter(other);
    CheckEqual("deleters", deleted + 1, g_deleted);
  }

  DLBridgeAllocateSpec AllocateSpec(uint32_t options) {
    DLBridgeAllocateSpec spec = DLBRIDGE_ALLOCATE_SPEC_INIT;
    spec.options = options;
    spec.dtype = {kDLFloat, 32, 1};
    spec.ndim = 2;
    spec.shape = g_shape;
    spec.alignment = uint64_t{1} << (6 + input_.Below(6));
    return spec;
  }
  void Allocate(uint32_t options) {
    const DLBridgeAllocateSpec spec = AllocateSpec(options);
    DLManagedTensorVersioned* tensor = nullptr;
    Try([&](DLBridgeError* error) { return dlbridge_allocate(&spec, &tensor, error); });
    std::memset(tensor->dl_tensor.data, 1, kElements * 4);
    tensor->deleter(tensor);
  }

  // To another process and back; the files that are open afterwards are those from before.
  void Travel() {
    const int before = NextFile();
    const DLBridgeAllocateSpec spec = AllocateSpec(DLBRIDGE_ALLOCATE_SHAREABLE);
    DLManagedTensorVersioned* tensor = nullptr;
    Try([&](DLBridgeError* error) { return dlbridge_allocate(&spec, &tensor, error); });
    auto* data = static_cast<uint8_t*>(tensor->dl_tensor.data);
    std::memset(data, input_.Byte(), kElements * 4);
    uint8_t bytes[1024];
    int32_t fd = -1;
    DLBridgeIpcExportSpec to = DLBRIDGE_IPC_EXPORT_SPEC_INIT;
    to.options = input_.Flag() ? DLBRIDGE_IPC_READ_ONLY : 0;
    to.buffer = bytes;
    to.buffer_size = sizeof bytes;
    to.fds = &fd;
    to.fd_capacity = 1;
    DLBridgeIpcSizes sizes = DLBRIDGE_IPC_SIZES_INIT;
    Try([&](DLBridgeError* error) { return dlbridge_ipc_export(tensor, &to, &sizes, error); });
    DLBridgeIpcImportSpec from = DLBRIDGE_IPC_IMPORT_SPEC_INIT;
    from.options = input_.Flag() ? DLBRIDGE_IPC_READ_ONLY : 0;
    from.buffer = bytes;
    from.buffer_size = sizes.buffer_size;
    from.fds = &fd;
    from.fd_count = sizes.fd_count;
    DLManagedTensorVersioned* other = nullptr;
    Try([&](DLBridgeError* error) { return dlbridge_ipc_import(&from, &other, error); });
    CheckEqual("the bytes of an import", 0,
               std::memcmp(other->dl_tensor.data, data, kElements * 4));
    CheckEqual("READ_ONLY", (to.options | from.options) != 0,
               (other->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0);
    CheckEqual("close", 0, close(fd));
    tensor->deleter(tensor);
    other->deleter(other);
    CheckEqual("the lowest file descriptor that is not used", before, NextFile());
  }
  static int NextFile() {
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    Check("a file descriptor", fd >= 0);
    close(fd);
    return fd;
  }

  void Register() {
    DLBridgeContextEntry entry = DLBRIDGE_CONTEXT_ENTRY_INIT;
    entry.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
    entry.device = {kDLOneAPI, static_cast<int32_t>(ids_.size())};
    entry.platform = 16;
    entry.native_device = 32;
    entry.context = 48;
    uint64_t id = 0;
    Try([&](DLBridgeError* error) { return dlbridge_context_register(&entry, &id, error); });
    ids_.push_back(id);
    if (input_.OneIn(3)) {
      Forget();
    }
  }
  void Forget() {
    for (const uint64_t id : ids_) {
      // It needs nothing that could fail.
      const Fault fault = Fault::Take(&input_, false);
      if (fault.nth != 0) {
        CLibrary::Arm(fault);
      }
      const DLBridgeStatus status = dlbridge_context_unregister(id, nullptr);
      CLibrary::Disarm();
      CheckStatus(DLBRIDGE_OK, status);
    }
    ids_.clear();
  }

  void Copy() {
    DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
    spec.options = input_.Flag() ? DLBRIDGE_COPY_SHAREABLE : 0;
    const DLTensor source = {g_data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, g_shape, g_strides, 0};
    DLManagedTensorVersioned* copy = nullptr;
    Try([&](DLBridgeError* error) { return dlbridge_copy(&source, 0, &spec, &copy, error); });
    const auto* data = static_cast<const char*>(copy->dl_tensor.data);
    const auto* expected = reinterpret_cast<const char*>(g_data);
    CheckEqual("the bytes of a copy", 0, std::memcmp(data, expected, sizeof g_data));
    copy->deleter(copy);
  }

 public:
  void Run() {
    for (int step = 0; step < 16 && !input_.empty(); ++step) {
      Step();
    }
    Forget();
  }

 private:
  Input& input_;
  std::vector<uint64_t> ids_;
};

int64_t LiveBlocks() {
#ifdef DLBRIDGE_FUZZ_FAULTS
  FaultsLive live;
  faults_live(&live);
  return live.blocks + live.mappings;
#else
  return 0;
#endif
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::HideDrivers();
  dlbridge_fuzz::CLibrary::Arm({});
  dlbridge_fuzz::CLibrary::Disarm();
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::Program(&input).Run();
  // What the table of contexts and the list of pinned modules keep is made by the first inputs.
  static int64_t most = 0;
  const int64_t live = dlbridge_fuzz::LiveBlocks();
  dlbridge_fuzz::Check("memory that the library holds", most == 0 || live <= most + 64);
  most = live > most ? live : most;
  return 0;
}
