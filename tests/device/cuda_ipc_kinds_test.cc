// SPDX-License-Identifier: Apache-2.0
// Memory of pools and of cuMemMap between processes, as RMM's pools and PyTorch's expandable
// segments allocate it.
#include <fcntl.h>

#include <map>
#include <memory>

#include "cuda_ipc_memory.h"
#include "ipc_checks.h"

namespace dlbridge_test {
namespace {

using Pools = CudaProcess<PoolDevice>;
using Chunks = CudaProcess<ChunkDevice>;
using Plain = CudaProcess<CudaDevice>;

// Offsets in the descriptor and, from the handle on, in CUDA's handle of format 2: docs/ipc.md.
constexpr size_t kAtFormat = 8;
constexpr size_t kAtFdCount = 92;
constexpr size_t kAtHandle = kAtArrays + size_t{2} * 16;
constexpr size_t kAtKind = kAtHandle;
constexpr size_t kAtEventFlag = kAtHandle + 4;
constexpr size_t kAtUuid = kAtHandle + 8;
constexpr size_t kAtSizes = kAtHandle + 152;

uint32_t WordAt(const IpcLetter& letter, size_t at) {
  uint32_t word = 0;
  std::memcpy(&word, letter.bytes + at, sizeof word);
  return word;
}

TEST(CudaIpcKinds, APool) {
  BetweenProcesses(Pools(), [](TensorDevice* device, const IpcLetter& letter) {
    EXPECT_EQ(WordAt(letter, kAtFormat), 2U) << "library 0.3.0 must reject it";
    EXPECT_EQ(WordAt(letter, kAtKind), 2U);
    EXPECT_EQ(letter.fd_count, 1U);
    CheckImport(device, letter, OpenMemory);
    CheckImport(device, letter, OpenMemory);
  });
}

TEST(CudaIpcKinds, ChunksOfMappedMemory) {
  BetweenProcesses(Chunks(), [](TensorDevice* device, const IpcLetter& letter) {
    EXPECT_EQ(WordAt(letter, kAtFormat), 2U) << "library 0.3.0 must reject it";
    EXPECT_EQ(WordAt(letter, kAtKind), 3U);
    EXPECT_EQ(letter.fd_count, 2U) << "the tensor lies in two of the three chunks";
    CheckImport(device, letter, OpenMemory);
    CheckImport(device, letter, OpenMemory);
  });
}

// Memory that 0.3.0 could export is still exported in its format.
TEST(CudaIpcKinds, MemoryOfCuMemAllocKeepsItsFormat) {
  BetweenProcesses(Plain(), [](TensorDevice* device, const IpcLetter& letter) {
    EXPECT_EQ(WordAt(letter, kAtFormat), 1U);
    EXPECT_EQ(letter.length, kAtHandle + 80);
    CheckImport(device, letter, OpenMemory);
  });
}

// Drivers return one address for both imports, and the first cuMemFree unmaps it.
TEST(CudaIpcKinds, TwoImportsOfOneAllocationOfAPool) {
  BetweenProcesses(Pools(), [](TensorDevice* device, const IpcLetter& letter) {
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    DLManagedTensorVersioned* tensors[2] = {};
    for (auto& tensor : tensors) {
      ASSERT_EQ(ImportLetter(letter, &tensor, &error), DLBRIDGE_OK) << error.message;
    }
    EXPECT_EQ(tensors[0]->dl_tensor.data, tensors[1]->dl_tensor.data);
    EXPECT_EQ(Counts().live_pools, 1);
    tensors[0]->deleter(tensors[0]);
    ExpectContent(tensors[1]->dl_tensor, SharedNumbers(3));
    tensors[1]->deleter(tensors[1]);
    EXPECT_EQ(Counts().live_pools, 0);
    CheckImport(device, letter, OpenMemory);
  });
}

TEST(CudaIpcKinds, TheImportersOrdinalsMayDiffer) {
  const auto import = [](TensorDevice*, const IpcLetter& letter, int) {
    DLBridgeError error = DLBRIDGE_ERROR_INIT;
    DLManagedTensorVersioned* tensor = nullptr;
    ASSERT_EQ(ImportLetter(letter, &tensor, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(tensor->dl_tensor.device.device_id, 0);
    ExpectContent(tensor->dl_tensor, SharedNumbers(3));
    tensor->deleter(tensor);
  };
  const auto reversed = [](auto process) {
    return [process](auto part) {
      setenv("FAKE_CUDA_REVERSED", "1", 1);
      process(part);
    };
  };
  BetweenTwoProcesses(Pools(), ExportTo, reversed(Pools()), import);
  BetweenTwoProcesses(Chunks(), ExportTo, reversed(Chunks()), import);
}

// The file descriptors keep the chunks; the data of a pool's pointer needs the exporter.
TEST(CudaIpcKinds, AnEndedExporter) {
  AfterTheExporter(Chunks(), [](TensorDevice* device, const IpcLetter& letter) {
    CheckImport(device, letter, OpenMemory);
  });
  AfterTheExporter(Pools(), [](TensorDevice*, const IpcLetter& letter) {
    ExpectNoImport(letter, DLBRIDGE_ERROR_DRIVER, "cuMemPoolImportPointer", OpenMemory);
    EXPECT_EQ(Counts().live_pools, 0);
  });
}

// A capture of the same thread on another stream survives the export, the import and the release.
struct Capture {
  Capture() {
    EXPECT_CUDA(cuCtxCreate(&context, nullptr, 0, 1));
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUcontext popped = nullptr;
    EXPECT_CUDA(cuCtxPopCurrent(&popped));
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    EXPECT_CUDA(cuCtxPushCurrent(context));
    CUgraph graph = nullptr;
    EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
    EXPECT_CUDA(cuStreamDestroy(stream));
    EXPECT_CUDA(cuCtxDestroy(context));
  }
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};

void ExportDuringACapture(int socket, TensorDevice* device) {
  const DLBridgeBuffer memory = device->Allocate(kSharedBytes);
  device->Fill(memory, SharedContent());
  int released = 0;
  DLManagedTensorVersioned* tensor = WrapShared(memory, device->label(), &released);
  IpcLetter letter;
  {
    const Capture capture;
    letter = ExportLetter(tensor);
  }
  SendLetter(socket, letter);
  CloseFds(letter);
  char end = 0;
  EXPECT_EQ(read(socket, &end, 1), 0);
  tensor->deleter(tensor);
  device->Free(memory);
}

void ImportDuringACapture(TensorDevice* device, const IpcLetter& letter, int /*socket*/) {
  const Capture capture;
  CheckImport(device, letter, OpenMemory);
}

TEST(CudaIpcKinds, DuringACaptureOfAnotherStream) {
  BetweenTwoProcesses(Plain(), ExportDuringACapture, Plain(), ImportDuringACapture);
  BetweenTwoProcesses(Pools(), ExportDuringACapture, Pools(), ImportDuringACapture);
  BetweenTwoProcesses(Chunks(), ExportDuringACapture, Chunks(), ImportDuringACapture);
}

// ---------------------------------------------------------------------------- foreign descriptors

// Whatever an altered descriptor leads to, nothing stays open.
void ImportAnything(const IpcLetter& letter) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* tensor = nullptr;
  if (ImportLetter(letter, &tensor, &error) == DLBRIDGE_OK) {
    tensor->deleter(tensor);
  }
  EXPECT_EQ(OpenMemory(), 0);
  EXPECT_EQ(Counts().live_pools, 0);
}

// With and without a valid checksum.
void CheckEachByte(TensorDevice*, const IpcLetter& letter) {
  const int files = OpenFiles();
  for (size_t i = 0; i < letter.length; ++i) {
    for (const uint8_t mask : {0x01, 0x80, 0xFF}) {
      IpcLetter altered = letter;
      altered.bytes[i] ^= mask;
      ExpectNoImport(altered, DLBRIDGE_ERROR_DESCRIPTOR, "", OpenMemory);
      Sign(&altered);
      ImportAnything(altered);
    }
  }
  EXPECT_EQ(OpenFiles(), files);
}

TEST(CudaIpcKinds, EachByteOfAPoolsDescriptor) { BetweenProcesses(Pools(), CheckEachByte); }
TEST(CudaIpcKinds, EachByteOfChunksDescriptor) { BetweenProcesses(Chunks(), CheckEachByte); }

IpcLetter WithWord(const IpcLetter& letter, size_t at, uint32_t word) {
  IpcLetter altered = letter;
  std::memcpy(altered.bytes + at, &word, sizeof word);
  Sign(&altered);
  return altered;
}

void CheckInvalid(TensorDevice*, const IpcLetter& letter) {
  for (const uint32_t kind : {0U, 1U, 4U, 5U - WordAt(letter, kAtKind)}) {
    ExpectNoImport(WithWord(letter, kAtKind, kind), DLBRIDGE_ERROR_DESCRIPTOR, "", OpenMemory);
  }
  ExpectNoImport(WithWord(letter, kAtEventFlag, 2), DLBRIDGE_ERROR_DESCRIPTOR, "kind", OpenMemory);
  ExpectNoImport(WithWord(letter, kAtFormat, 1), DLBRIDGE_ERROR_DESCRIPTOR, "", OpenMemory);
  ExpectNoImport(WithWord(letter, kAtFormat, 3), DLBRIDGE_ERROR_DESCRIPTOR, "expected 1 or 2",
                 OpenMemory);
  ExpectNoImport(WithWord(letter, kAtUuid, 7), DLBRIDGE_ERROR_UNAVAILABLE, "CUDA_VISIBLE_DEVICES",
                 OpenMemory);
  IpcLetter greedy = letter;
  uint64_t size = 0;
  std::memcpy(&size, greedy.bytes + kAtMemorySize, sizeof size);
  for (const uint64_t claimed : {size + 1, uint64_t{1} << 62}) {
    std::memcpy(greedy.bytes + kAtMemorySize, &claimed, sizeof claimed);
    Sign(&greedy);
    ExpectNoImport(greedy, DLBRIDGE_ERROR_DESCRIPTOR, "", OpenMemory);
  }
}

TEST(CudaIpcKinds, InvalidDescriptorsOfAPool) { BetweenProcesses(Pools(), CheckInvalid); }
TEST(CudaIpcKinds, InvalidDescriptorsOfChunks) { BetweenProcesses(Chunks(), CheckInvalid); }

// A size that a peer states for a chunk must not exceed the chunk.
TEST(CudaIpcKinds, SizesOfChunksThatAreNotTrue) {
  BetweenProcesses(Chunks(), [](TensorDevice*, const IpcLetter& letter) {
    // 2 and 1 granules: exchanged, the second chunk is too small.
    const uint64_t exchanged[2] = {kChunk, 2 * kChunk};
    IpcLetter altered = letter;
    std::memcpy(altered.bytes + kAtSizes, exchanged, sizeof exchanged);
    Sign(&altered);
    ExpectNoImport(altered, DLBRIDGE_ERROR_DRIVER, "cuMemMap", OpenMemory);
    // No multiples of the granularity, with the right sum.
    const uint64_t odd[2] = {2 * kChunk - 4096, kChunk + 4096};
    std::memcpy(altered.bytes + kAtSizes, odd, sizeof odd);
    Sign(&altered);
    ExpectNoImport(altered, DLBRIDGE_ERROR_DRIVER, "cuMemMap", OpenMemory);
    const uint64_t empty[2] = {3 * kChunk, 0};
    std::memcpy(altered.bytes + kAtSizes, empty, sizeof empty);
    Sign(&altered);
    ExpectNoImport(altered, DLBRIDGE_ERROR_DESCRIPTOR, "do not add up", OpenMemory);
  });
}

void CheckFiles(TensorDevice*, const IpcLetter& letter) {
  IpcLetter other = letter;
  --other.fd_count;
  ExpectNoImport(other, DLBRIDGE_ERROR_DESCRIPTOR, "spec.fd_count", OpenMemory);
  other = letter;
  other.fds[other.fd_count++] = 0;
  ExpectNoImport(other, DLBRIDGE_ERROR_DESCRIPTOR, "spec.fd_count", OpenMemory);
  // The descriptor and the caller agree on too many.
  other = WithWord(other, kAtFdCount, static_cast<uint32_t>(other.fd_count));
  ExpectNoImport(other, DLBRIDGE_ERROR_DESCRIPTOR, "number of file descriptors", OpenMemory);

  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  const int closed = dup(0);
  close(closed);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int wrong : {ends[0], null, closed}) {
    other = letter;
    other.fds[letter.fd_count - 1] = wrong;
    ExpectNoImport(other, DLBRIDGE_ERROR_DRIVER, "FromShareableHandle", OpenMemory);
  }
  other.fds[letter.fd_count - 1] = -1;
  ExpectNoImport(other, DLBRIDGE_ERROR_INVALID_ARGUMENT, "spec.fds", OpenMemory);
  close(null);
  close(ends[0]);
  close(ends[1]);
}

TEST(CudaIpcKinds, WrongFileDescriptorsOfAPool) { BetweenProcesses(Pools(), CheckFiles); }
TEST(CudaIpcKinds, WrongFileDescriptorsOfChunks) { BetweenProcesses(Chunks(), CheckFiles); }

// The driver rejects a pointer of another pool.
TEST(CudaIpcKinds, APointerOfAnotherPool) {
  BetweenProcesses(Pools(), [](TensorDevice*, const IpcLetter& letter) {
    IpcLetter other = letter;
    other.bytes[kAtHandle + 88 + 12] ^= 1;  // the fake's number of the pool
    Sign(&other);
    ExpectNoImport(other, DLBRIDGE_ERROR_DRIVER, "cuMemPoolImportPointer", OpenMemory);
  });
}

// ------------------------------------------------------------------------- calls of the driver

// The calls in a log, each with the number of its occurrence.
std::vector<std::pair<std::string, int>> CallsIn(const std::string& log) {
  std::vector<std::pair<std::string, int>> calls;
  std::map<std::string, int> counts;
  for (size_t at = 0; at < log.size();) {
    const size_t end = log.find(' ', at);
    const std::string call = log.substr(at, end - at);
    calls.emplace_back(call, ++counts[call]);
    at = end + 1;
  }
  return calls;
}

// Leaving the relaxed capture mode cannot be repeated.
void RestoreAfter(const std::string& call) {
  if (call == "cuThreadExchangeStreamCaptureMode") {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    EXPECT_CUDA(cuThreadExchangeStreamCaptureMode(&mode));
  }
}

// Fails each call of the import once.
void CheckEachImportCall(TensorDevice*, const IpcLetter& letter) {
  DLBridgeError error = DLBRIDGE_ERROR_INIT;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(ImportLetter(letter, &tensor, &error), DLBRIDGE_OK) << error.message;
  tensor->deleter(tensor);
  fake_cuda_clear_log();
  ASSERT_EQ(ImportLetter(letter, &tensor, &error), DLBRIDGE_OK) << error.message;
  const std::string log = Log();
  tensor->deleter(tensor);
  const int files = OpenFiles();
  for (const auto& call : CallsIn(log)) {
    // A failed release leaves a handle behind, with any driver. A primary context whose id cannot
    // be asked for is retained again.
    if (call.first == "cuMemRelease" || call.first == "cuCtxGetId") {
      continue;
    }
    fake_cuda_fail(call.first.c_str(), CUDA_ERROR_UNKNOWN, call.second);
    ExpectNoImport(letter, DLBRIDGE_ERROR_DRIVER,
                   call.first.substr(0, call.first.find('_')).c_str(), OpenMemory);
    EXPECT_EQ(fake_cuda_failures_left(), 0) << call.first;
    RestoreAfter(call.first);
    EXPECT_EQ(Counts().live_pools, 0) << call.first;
    EXPECT_EQ(Counts().live_chunks, 0) << call.first;
    EXPECT_EQ(Counts().context_depth, 0) << call.first;
    EXPECT_EQ(OpenFiles(), files) << call.first;
  }
}

TEST(CudaIpcKinds, EachCallOfAPoolsImport) { BetweenProcesses(Pools(), CheckEachImportCall); }
TEST(CudaIpcKinds, EachCallOfChunksImport) { BetweenProcesses(Chunks(), CheckEachImportCall); }

template <class Process>
void CheckEachExportCall(Process process) {
  EXPECT_TRUE(InChild([&] {
    process([](TensorDevice* device) {
      const DLBridgeBuffer memory = device->Allocate(kSharedBytes);
      int released = 0;
      DLManagedTensorVersioned* tensor = WrapShared(memory, device->label(), &released);
      CloseFds(ExportLetter(tensor));
      fake_cuda_clear_log();
      CloseFds(ExportLetter(tensor));
      const std::string log = Log();
      const int files = OpenFiles();
      for (const auto& call : CallsIn(log)) {
        if (call.first == "cuMemRelease" || call.first == "cuCtxGetId") {
          continue;
        }
        fake_cuda_fail(call.first.c_str(), CUDA_ERROR_UNKNOWN, call.second);
        IpcLetter letter = {};
        Error error;
        EXPECT_EQ(IpcExport(tensor, 0, {letter.bytes, sizeof letter.bytes, letter.fds, kIpcFds},
                            &letter.length, &letter.fd_count, &error),
                  DLBRIDGE_ERROR_DRIVER)
            << call.first;
        EXPECT_TRUE(error.Says(call.first.substr(0, call.first.find('_')).c_str()))
            << error.message;
        RestoreAfter(call.first);
        EXPECT_EQ(fake_cuda_failures_left(), 0) << call.first;
        EXPECT_EQ(OpenFiles(), files) << call.first;
        EXPECT_EQ(Counts().context_depth, 0) << call.first;
      }
      tensor->deleter(tensor);
      device->Free(memory);
    });
  }));
}

TEST(CudaIpcKinds, EachCallOfAPoolsExport) { CheckEachExportCall(Pools()); }
TEST(CudaIpcKinds, EachCallOfChunksExport) { CheckEachExportCall(Chunks()); }

// A buffer that is too small leaves no file descriptor open, and the descriptors of an export are
// closed when another program is executed.
template <class Process>
void CheckExportedFiles(Process process, size_t count) {
  EXPECT_TRUE(InChild([&] {
    process([&](TensorDevice* device) {
      const DLBridgeBuffer memory = device->Allocate(kSharedBytes);
      int released = 0;
      DLManagedTensorVersioned* tensor = WrapShared(memory, device->label(), &released);
      const int files = OpenFiles();
      size_t length = 0;
      size_t fds = 0;
      Error error;
      EXPECT_EQ(IpcExport(tensor, 0, {}, &length, &fds, &error), DLBRIDGE_ERROR_BUFFER_TOO_SMALL);
      EXPECT_EQ(fds, count);
      EXPECT_EQ(OpenFiles(), files);
      const IpcLetter letter = ExportLetter(tensor);
      for (size_t i = 0; i < letter.fd_count; ++i) {
        EXPECT_EQ(fcntl(letter.fds[i], F_GETFD), FD_CLOEXEC);
      }
      EXPECT_EQ(letter.length, length);
      CloseFds(letter);
      tensor->deleter(tensor);
      device->Free(memory);
    });
  }));
}

TEST(CudaIpcKinds, FileDescriptorsOfAnExport) {
  CheckExportedFiles(Pools(), 1);
  CheckExportedFiles(Chunks(), 2);
}

// ------------------------------------------------------------------------------------ refusals

// `tensor` has `elements` bytes.
void ExpectNoExport(CUdeviceptr address, int64_t elements, const char* text,
                    DLBridgeStatus status = DLBRIDGE_ERROR_UNSUPPORTED) {
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.ndim = 1;
  spec.shape = &elements;
  spec.buffer = dlbridge_buffer_cuda(address);
  spec.dtype = {kDLInt, 8, 1};
  spec.device = dlbridge_device_cuda(0);
  Error error;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(dlbridge_wrap(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
  const int files = OpenFiles();
  IpcLetter letter = {};
  EXPECT_EQ(IpcExport(tensor, 0, {letter.bytes, sizeof letter.bytes, letter.fds, kIpcFds},
                      &letter.length, &letter.fd_count, &error),
            status);
  EXPECT_TRUE(error.Says(text)) << error.message;
  EXPECT_EQ(OpenFiles(), files);
  tensor->deleter(tensor);
}

class CudaIpcRefusals : public CudaTest {};

// The bytes that a tensor touches decide which chunks are exported, also before its first element.
TEST_F(CudaIpcRefusals, NegativeStridesReachTheChunkBefore) {
  Segment segment(3);
  for (size_t i = 0; i < 3; ++i) {
    segment.Map(i, kChunk, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  }
  const int64_t shape = 16;
  const int64_t stride = -1;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.ndim = 1;
  spec.shape = &shape;
  spec.strides = &stride;
  spec.buffer = dlbridge_buffer_cuda(segment.base() + 2 * kChunk + 8);
  spec.dtype = {kDLInt, 8, 1};
  spec.device = kDevice;
  Error error;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(dlbridge_wrap(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
  const IpcLetter letter = ExportLetter(tensor);
  EXPECT_EQ(letter.fd_count, 2U) << "the second and the third chunk";
  uint64_t size = 0;
  std::memcpy(&size, letter.bytes + kAtMemorySize, sizeof size);
  EXPECT_EQ(size, 2 * kChunk);
  uint64_t offset = 0;
  std::memcpy(&offset, letter.bytes + kAtMemorySize + 8, sizeof offset);
  EXPECT_EQ(offset, kChunk + 8);
  CloseFds(letter);
  tensor->deleter(tensor);
}

TEST_F(CudaIpcRefusals, APoolThatWasNotCreatedForSharing) {
  const Current current(context_);
  CUstream stream = nullptr;
  EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr address = 0;
  EXPECT_CUDA(cuMemAllocAsync(&address, 64, stream));
  ExpectNoExport(address, 64, "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
  EXPECT_CUDA(cuMemFree(address));
  CUmemoryPool pool = MakePool(0, CU_MEM_HANDLE_TYPE_NONE);
  EXPECT_CUDA(cuMemAllocFromPoolAsync(&address, 64, pool, stream));
  ExpectNoExport(address, 64, "copy the tensor to memory of cuMemAlloc");
  EXPECT_CUDA(cuMemFree(address));
  EXPECT_CUDA(cuMemPoolDestroy(pool));
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(CudaIpcRefusals, ChunksThatWereNotCreatedForSharing) {
  Segment segment(2);
  segment.Map(0, kChunk, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  segment.Map(1, kChunk, 0, CU_MEM_HANDLE_TYPE_NONE);
  ExpectNoExport(segment.base() + kChunk - 8, 16, "TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC=1");
  ExpectNoExport(segment.base() + kChunk, 16, "without CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
}

TEST_F(CudaIpcRefusals, ChunksOfTwoDevices) {
  Segment segment(2);
  segment.Map(0, kChunk, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  segment.Map(1, kChunk, 1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  ExpectNoExport(segment.base() + kChunk - 8, 16, "on two devices");
}

TEST_F(CudaIpcRefusals, AHoleInsideTheTensor) {
  Segment segment(3);
  segment.Map(0, kChunk, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  segment.Map(2, kChunk, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  ExpectNoExport(segment.base() + 8, static_cast<int64_t>(2 * kChunk), "must be mapped as a whole");
  fake_cuda_forgive();  // a range that the driver does not know
}

TEST_F(CudaIpcRefusals, MoreChunksThanOneMessageCarries) {
  constexpr size_t kLimit = 253;
  Segment segment(kLimit + 1);
  for (size_t i = 0; i <= kLimit; ++i) {
    segment.Map(i, kChunk, 0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  }
  ExpectNoExport(segment.base(), static_cast<int64_t>((kLimit + 1) * kChunk), "found 254");
  // As many as the limit are exported.
  const int64_t elements = static_cast<int64_t>(kLimit * kChunk);
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.ndim = 1;
  spec.shape = &elements;
  spec.buffer = dlbridge_buffer_cuda(segment.base());
  spec.dtype = {kDLInt, 8, 1};
  spec.device = kDevice;
  Error error;
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(dlbridge_wrap(&spec, &tensor, &error), DLBRIDGE_OK) << error.message;
  const IpcLetter letter = ExportLetter(tensor);
  EXPECT_EQ(letter.fd_count, kLimit);
  CloseFds(letter);
  tensor->deleter(tensor);
}

}  // namespace
}  // namespace dlbridge_test
