// SPDX-License-Identifier: Apache-2.0
// The order of work between processes. The exporter's stream has work that is not done when it
// exports; the importer sees the result of that work. In the fake, work runs only when a wait in
// its own process requires it.
#include <thread>

#include "cuda_ipc_memory.h"
#include "ipc_checks.h"

namespace dlbridge_test {
namespace {

using Plain = CudaProcess<CudaDevice>;
using Pools = CudaProcess<PoolDevice>;
using Chunks = CudaProcess<ChunkDevice>;

constexpr size_t kAtFormat = 8;
constexpr size_t kAtHandle = kAtArrays + size_t{2} * 16;
constexpr size_t kAtEvent = kAtHandle + 24;

IpcLetter ExportWithStream(const DLManagedTensorVersioned* tensor, const DLBridgeStream& stream) {
  IpcLetter letter = {};
  Error error;
  EXPECT_EQ(IpcExport(tensor, 0, {letter.bytes, sizeof letter.bytes, letter.fds, kIpcFds, &stream},
                      &letter.length, &letter.fd_count, &error),
            DLBRIDGE_OK)
      << error.message;
  return letter;
}

DLBridgeStatus ImportWithStream(const IpcLetter& letter, const DLBridgeStream* stream,
                                DLManagedTensorVersioned** out, DLBridgeError* error) {
  return IpcImport(letter.bytes, letter.length, letter.fds, letter.fd_count, 0, nullptr, out, error,
                   stream);
}

CUstream NativeStream(TensorDevice* device) {
  return reinterpret_cast<CUstream>(static_cast<uintptr_t>(device->stream().handle));
}

struct Job {
  TensorDevice* device;
  DLBridgeBuffer memory;
};

// The work that fills the memory.
void FillNow(void* data) {
  const Job* job = static_cast<const Job*>(data);
  job->device->Fill(job->memory, SharedContent());
}

// Enqueues the work, exports, and lets the work run only after the importer has answered.
void ExportUnfinished(int socket, TensorDevice* device) {
  Job job = {device, device->Allocate(kSharedBytes)};
  device->Fill(job.memory, TensorBytes(kSharedBytes, 0xEE));
  EXPECT_CUDA(cuLaunchHostFunc(NativeStream(device), FillNow, &job));
  int released = 0;
  DLManagedTensorVersioned* tensor = WrapShared(job.memory, device->label(), &released);
  const IpcLetter letter = ExportWithStream(tensor, device->stream());
  SendLetter(socket, letter);
  CloseFds(letter);
  char answer = 0;
  EXPECT_EQ(read(socket, &answer, 1), 1);
  usleep(50000);  // an importer that does not wait reads the old content
  EXPECT_CUDA(cuStreamSynchronize(NativeStream(device)));
  EXPECT_EQ(read(socket, &answer, 1), 0);
  tensor->deleter(tensor);
  device->Free(job.memory);
}

// cuLaunchHostFunc and cuStreamSynchronize need the context.
template <class Device>
struct InCudaContext {
  template <class Part>
  void operator()(Part part) const {
    CudaProcess<Device>()([&](TensorDevice* device) {
      CUcontext context = nullptr;
      EXPECT_CUDA(cuStreamGetCtx(NativeStream(device), &context));
      EXPECT_CUDA(cuCtxPushCurrent(context));
      part(device);
      EXPECT_CUDA(cuCtxPopCurrent(&context));
    });
  }
};

void Answer(int socket) { EXPECT_EQ(write(socket, "i", 1), 1); }

void ExpectContentOn(const DLTensor& tensor, const DLBridgeStream& stream) {
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.stream = stream;
  Error error;
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(dlbridge_copy(&tensor, 0, &spec, &copy, &error), DLBRIDGE_OK) << error.message;
  const TensorBytes expected = SharedNumbers(3);
  EXPECT_EQ(std::memcmp(copy->dl_tensor.data, expected.data(), expected.size()), 0);
  copy->deleter(copy);
}

// The import does not block: the exporter's work runs only after it has returned.
void ImportOnStream(TensorDevice* device, const IpcLetter& letter, int socket) {
  const DLBridgeStream stream = device->stream();
  Error error;
  DLManagedTensorVersioned* tensor = nullptr;
  const int events = Counts().live_events;
  ASSERT_EQ(ImportWithStream(letter, &stream, &tensor, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Counts().live_events, events) << "the importer keeps no event";
  Answer(socket);
  ExpectContentOn(tensor->dl_tensor, stream);
  tensor->deleter(tensor);
}

TEST(CudaIpcEvent, AStreamWaitsForTheExportersWork) {
  BetweenTwoProcesses(InCudaContext<CudaDevice>(), ExportUnfinished, Plain(), ImportOnStream);
  BetweenTwoProcesses(InCudaContext<PoolDevice>(), ExportUnfinished, Pools(), ImportOnStream);
  BetweenTwoProcesses(InCudaContext<ChunkDevice>(), ExportUnfinished, Chunks(), ImportOnStream);
}

// Without a stream the call itself waits, and so it does for kind HOST.
TEST(CudaIpcEvent, TheHostWaitsForTheExportersWork) {
  DLBridgeStream host = DLBRIDGE_STREAM_INIT;
  host.kind = DLBRIDGE_STREAM_HOST;
  for (const DLBridgeStream* stream :
       {static_cast<const DLBridgeStream*>(nullptr), static_cast<const DLBridgeStream*>(&host)}) {
    BetweenTwoProcesses(InCudaContext<CudaDevice>(), ExportUnfinished, Plain(),
                        [=](TensorDevice*, const IpcLetter& letter, int socket) {
                          Answer(socket);
                          Error error;
                          DLManagedTensorVersioned* tensor = nullptr;
                          ASSERT_EQ(ImportWithStream(letter, stream, &tensor, &error), DLBRIDGE_OK)
                              << error.message;
                          const auto address =
                              reinterpret_cast<CUdeviceptr>(tensor->dl_tensor.data);
                          TensorBytes bytes(kSharedBytes);
                          fake_cuda_peek(address, bytes.data(), bytes.size());
                          EXPECT_EQ(bytes, SharedContent());
                          EXPECT_EQ(Counts().live_events, 0);
                          tensor->deleter(tensor);
                        });
  }
}

// NO_SYNC: the importer orders its work itself.
TEST(CudaIpcEvent, NoSyncDoesNotWait) {
  DLBridgeStream unordered = DLBRIDGE_STREAM_INIT;
  unordered.kind = DLBRIDGE_STREAM_NO_SYNC;
  BetweenTwoProcesses(
      InCudaContext<CudaDevice>(), ExportUnfinished, Plain(),
      [=](TensorDevice*, const IpcLetter& letter, int socket) {
        Error error;
        DLManagedTensorVersioned* tensor = nullptr;
        fake_cuda_clear_log();
        ASSERT_EQ(ImportWithStream(letter, &unordered, &tensor, &error), DLBRIDGE_OK)
            << error.message;
        EXPECT_EQ(CountIn(Log(), "Event"), 0);
        Answer(socket);
        tensor->deleter(tensor);
      });
}

// docs/streams.md lists the calls.
TEST(CudaIpcEvent, TheCallsOfAnImport) {
  BetweenTwoProcesses(
      InCudaContext<CudaDevice>(), ExportUnfinished, InCudaContext<CudaDevice>(),
      [](TensorDevice* device, const IpcLetter& letter, int socket) {
        const DLBridgeStream stream = device->stream();
        Error error;
        DLManagedTensorVersioned* tensor = nullptr;
        fake_cuda_clear_log();
        ASSERT_EQ(ImportWithStream(letter, &stream, &tensor, &error), DLBRIDGE_OK) << error.message;
        EXPECT_EQ(Log(),
                  "cuStreamGetCtx cuCtxPushCurrent_v2 cuCtxGetDevice cuStreamIsCapturing "
                  "cuCtxPopCurrent_v2 "
                  "cuCtxGetCurrent cuCtxGetDevice cuCtxPushCurrent_v2 "
                  "cuThreadExchangeStreamCaptureMode cuCtxGetId cuIpcOpenMemHandle_v2 "
                  "cuMemGetAddressRange_v2 cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 "
                  "cuStreamGetCtx cuCtxPushCurrent_v2 cuThreadExchangeStreamCaptureMode "
                  "cuIpcOpenEventHandle cuStreamWaitEvent cuEventDestroy_v2 "
                  "cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ");
        tensor->deleter(tensor);
        Answer(socket);
      });
}

TEST(CudaIpcEvent, TheDescriptorHasTheNewerFormat) {
  BetweenTwoProcesses(InCudaContext<CudaDevice>(), ExportUnfinished, Plain(),
                      [](TensorDevice*, const IpcLetter& letter, int socket) {
                        EXPECT_EQ(letter.bytes[kAtFormat], 2);
                        EXPECT_EQ(letter.length, kAtHandle + 152);
                        Answer(socket);
                      });
}

// Another stream than one of CUDA cannot wait, and a capture cannot wait for work outside it.
TEST(CudaIpcEvent, StreamsThatCannotWait) {
  BetweenTwoProcesses(InCudaContext<CudaDevice>(), ExportUnfinished, InCudaContext<CudaDevice>(),
                      [](TensorDevice* device, const IpcLetter& letter, int socket) {
                        Error error;
                        DLManagedTensorVersioned* tensor = nullptr;
                        DLBridgeStream foreign = device->stream();
                        foreign.backend = DLBRIDGE_BACKEND_OPENCL;
                        EXPECT_EQ(ImportWithStream(letter, &foreign, &tensor, &error),
                                  DLBRIDGE_ERROR_INVALID_ARGUMENT);
                        EXPECT_TRUE(error.Says("spec.stream")) << error.message;

                        CUstream native = NativeStream(device);
                        EXPECT_CUDA(cuStreamBeginCapture(native, CU_STREAM_CAPTURE_MODE_GLOBAL));
                        fake_cuda_clear_log();
                        const DLBridgeStream stream = device->stream();
                        EXPECT_EQ(ImportWithStream(letter, &stream, &tensor, &error),
                                  DLBRIDGE_ERROR_CAPTURE);
                        EXPECT_TRUE(error.Says("spec.stream is capturing")) << error.message;
                        EXPECT_EQ(CountIn(Log(), "Open"), 0) << "nothing may be opened";
                        CUgraph graph = nullptr;
                        EXPECT_CUDA(cuStreamEndCapture(native, &graph)) << "the capture is intact";
                        EXPECT_EQ(tensor, nullptr);
                        Answer(socket);
                      });
}

// A capture of another stream neither forbids the import nor is broken by it.
TEST(CudaIpcEvent, ACaptureOfAnotherStream) {
  BetweenTwoProcesses(InCudaContext<CudaDevice>(), ExportUnfinished, InCudaContext<CudaDevice>(),
                      [](TensorDevice* device, const IpcLetter& letter, int socket) {
                        CUstream other = nullptr;
                        EXPECT_CUDA(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
                        EXPECT_CUDA(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
                        ImportOnStream(device, letter, socket);
                        CUgraph graph = nullptr;
                        EXPECT_CUDA(cuStreamEndCapture(other, &graph));
                        EXPECT_CUDA(cuStreamDestroy(other));
                      });
}

// Each call of an import that waits fails once. A failure after the memory was opened closes it.
TEST(CudaIpcEvent, EachCallOfAnImport) {
  BetweenTwoProcesses(
      InCudaContext<CudaDevice>(), ExportUnfinished, Plain(),
      [](TensorDevice* device, const IpcLetter& letter, int socket) {
        const DLBridgeStream stream = device->stream();
        for (const char* call : {"cuStreamGetCtx", "cuStreamIsCapturing", "cuIpcOpenMemHandle_v2",
                                 "cuIpcOpenEventHandle", "cuStreamWaitEvent"}) {
          fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
          Error error;
          DLManagedTensorVersioned* tensor = nullptr;
          EXPECT_EQ(ImportWithStream(letter, &stream, &tensor, &error), DLBRIDGE_ERROR_DRIVER);
          EXPECT_TRUE(error.Says(std::string(call).substr(0, std::string(call).find('_')).c_str()))
              << error.message;
          EXPECT_EQ(fake_cuda_failures_left(), 0) << call;
          EXPECT_EQ(OpenMemory(), 0) << call;
          EXPECT_EQ(Counts().live_events, 0) << call;
        }
        fake_cuda_fail("cuEventSynchronize", CUDA_ERROR_UNKNOWN, 1);
        Error error;
        DLManagedTensorVersioned* tensor = nullptr;
        EXPECT_EQ(ImportWithStream(letter, nullptr, &tensor, &error), DLBRIDGE_ERROR_DRIVER);
        EXPECT_EQ(OpenMemory(), 0);
        EXPECT_EQ(Counts().live_events, 0);
        Answer(socket);
      });
}

// Whatever the bytes of the event are, the import ends and leaves nothing open.
TEST(CudaIpcEvent, EachByteOfTheEvent) {
  BetweenTwoProcesses(
      InCudaContext<CudaDevice>(), ExportUnfinished, Plain(),
      [](TensorDevice* device, const IpcLetter& letter, int socket) {
        const DLBridgeStream stream = device->stream();
        for (size_t i = kAtHandle; i < letter.length; ++i) {
          for (const uint8_t mask : {0x01, 0x80, 0xFF}) {
            IpcLetter altered = letter;
            altered.bytes[i] ^= mask;
            Sign(&altered);
            Error error;
            DLManagedTensorVersioned* tensor = nullptr;
            if (ImportWithStream(altered, &stream, &tensor, &error) == DLBRIDGE_OK) {
              tensor->deleter(tensor);
            }
            EXPECT_EQ(OpenMemory(), 0) << "byte " << i;
            EXPECT_EQ(Counts().live_events, 0) << "byte " << i;
          }
        }
        fake_cuda_forgive();  // the library does not read the handles of the driver
        Answer(socket);
      });
}

// -------------------------------------------------------------------------- the exporter's events

class CudaIpcExportEvents : public testing::Test {
 protected:
  // Runs in a process of its own: the library never destroys its events.
  template <class Part>
  static void WithTensor(Part part) {
    EXPECT_TRUE(InChild([&] {
      InCudaContext<CudaDevice>()([&](TensorDevice* device) {
        const DLBridgeBuffer memory = device->Allocate(kSharedBytes);
        int released = 0;
        DLManagedTensorVersioned* tensor = WrapShared(memory, device->label(), &released);
        part(device, tensor);
        tensor->deleter(tensor);
        device->Free(memory);
      });
    }));
  }

  static CUstream BusyStream() {
    CUstream stream = nullptr;
    EXPECT_CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT_CUDA(cuLaunchHostFunc(
        stream, [](void*) {}, nullptr));
    return stream;
  }

  static DLBridgeStatus Export(const DLManagedTensorVersioned* tensor, CUstream native,
                               IpcLetter* letter, DLBridgeError* error) {
    const DLBridgeStream stream = dlbridge_stream_cuda(native, 1);
    *letter = {};
    return IpcExport(tensor, 0,
                     {letter->bytes, sizeof letter->bytes, letter->fds, kIpcFds, &stream},
                     &letter->length, &letter->fd_count, error);
  }

  static std::string EventIn(const IpcLetter& letter) {
    return std::string(reinterpret_cast<const char*>(letter.bytes) + kAtEvent, 64);
  }
};

TEST_F(CudaIpcExportEvents, AStreamHasOneEvent) {
  WithTensor([](TensorDevice*, DLManagedTensorVersioned* tensor) {
    CUstream one = BusyStream();
    CUstream two = BusyStream();
    IpcLetter letter;
    Error error;
    ASSERT_EQ(Export(tensor, one, &letter, &error), DLBRIDGE_OK) << error.message;
    const std::string first = EventIn(letter);
    ASSERT_EQ(Export(tensor, one, &letter, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(EventIn(letter), first) << "a later record on the stream covers the earlier work";
    ASSERT_EQ(Export(tensor, two, &letter, &error), DLBRIDGE_OK) << error.message;
    EXPECT_NE(EventIn(letter), first) << "a record on another stream does not";
    EXPECT_EQ(Counts().events_created, 2);
    EXPECT_CUDA(cuStreamDestroy(one));
    EXPECT_CUDA(cuStreamDestroy(two));
  });
}

// docs/streams.md lists the calls.
TEST_F(CudaIpcExportEvents, TheCallsOfAnExport) {
  WithTensor([](TensorDevice* device, DLManagedTensorVersioned* tensor) {
    IpcLetter letter;
    Error error;
    ASSERT_EQ(Export(tensor, NativeStream(device), &letter, &error), DLBRIDGE_OK) << error.message;
    fake_cuda_clear_log();
    ASSERT_EQ(Export(tensor, NativeStream(device), &letter, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(
        Log(),
        "cuStreamGetCtx cuCtxPushCurrent_v2 cuCtxGetDevice cuStreamIsCapturing cuCtxPopCurrent_v2 "
        "cuPointerGetAttributes cuCtxPushCurrent_v2 cuThreadExchangeStreamCaptureMode "
        "cuPointerGetAttribute cuMemGetAddressRange_v2 cuIpcGetMemHandle "
        "cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 "
        "cuStreamGetCtx cuCtxPushCurrent_v2 cuThreadExchangeStreamCaptureMode cuCtxGetId "
        "cuStreamGetId cuEventRecord cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ");
  });
}

// The driver reuses handles of streams; the ids differ.
TEST_F(CudaIpcExportEvents, AStreamWithTheHandleOfADestroyedOne) {
  WithTensor([](TensorDevice*, DLManagedTensorVersioned* tensor) {
    IpcLetter letter;
    Error error;
    CUstream busy = BusyStream();
    ASSERT_EQ(Export(tensor, busy, &letter, &error), DLBRIDGE_OK) << error.message;
    CUstream old = BusyStream();
    ASSERT_EQ(Export(tensor, old, &letter, &error), DLBRIDGE_OK) << error.message;
    const std::string first = EventIn(letter);
    EXPECT_CUDA(cuStreamDestroy(old));
    CUstream fresh = BusyStream();
    ASSERT_EQ(Export(tensor, fresh, &letter, &error), DLBRIDGE_OK) << error.message;
    EXPECT_NE(EventIn(letter), first);
    EXPECT_CUDA(cuStreamDestroy(fresh));
    EXPECT_CUDA(cuStreamDestroy(busy));
  });
}

TEST_F(CudaIpcExportEvents, TheTableIsBounded) {
  WithTensor([](TensorDevice*, DLManagedTensorVersioned* tensor) {
    std::vector<CUstream> streams;
    IpcLetter letter;
    Error error;
    for (int i = 0; i < 64; ++i) {
      streams.push_back(BusyStream());
      ASSERT_EQ(Export(tensor, streams.back(), &letter, &error), DLBRIDGE_OK) << error.message;
    }
    EXPECT_EQ(Counts().events_created, 64);
    // All have unfinished work: no event can be recorded for another stream.
    streams.push_back(BusyStream());
    EXPECT_EQ(Export(tensor, streams.back(), &letter, &error), DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(error.Says("64 streams have unfinished work")) << error.message;
    ASSERT_EQ(Export(tensor, streams[7], &letter, &error), DLBRIDGE_OK) << error.message;
    // The event of a stream whose work is done can.
    const std::string seventh = EventIn(letter);
    EXPECT_CUDA(cuStreamSynchronize(streams[7]));
    ASSERT_EQ(Export(tensor, streams.back(), &letter, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(EventIn(letter), seventh);
    EXPECT_EQ(Counts().events_created, 64);
    EXPECT_EQ(Export(tensor, streams[7], &letter, &error), DLBRIDGE_ERROR_UNSUPPORTED)
        << "its event belongs to another stream now";
    for (CUstream stream : streams) {
      EXPECT_CUDA(cuStreamDestroy(stream));
    }
  });
}

// A context takes its events along.
TEST_F(CudaIpcExportEvents, ADestroyedContextFreesItsSlots) {
  WithTensor([](TensorDevice*, DLManagedTensorVersioned* tensor) {
    IpcLetter letter;
    Error error;
    for (int round = 0; round < 3; ++round) {
      CUcontext context = nullptr;
      EXPECT_CUDA(cuCtxCreate(&context, nullptr, 0, 1));
      for (int i = 0; i < 40; ++i) {
        ASSERT_EQ(Export(tensor, BusyStream(), &letter, &error), DLBRIDGE_OK) << error.message;
      }
      EXPECT_CUDA(cuCtxDestroy(context));
    }
    EXPECT_EQ(Counts().events_created, 120);
    EXPECT_EQ(Counts().live_events, 0);
  });
}

TEST_F(CudaIpcExportEvents, ACapturingStreamIsRejected) {
  WithTensor([](TensorDevice* device, DLManagedTensorVersioned* tensor) {
    CUstream native = NativeStream(device);
    EXPECT_CUDA(cuStreamBeginCapture(native, CU_STREAM_CAPTURE_MODE_GLOBAL));
    fake_cuda_clear_log();
    IpcLetter letter;
    Error error;
    EXPECT_EQ(Export(tensor, native, &letter, &error), DLBRIDGE_ERROR_CAPTURE);
    EXPECT_TRUE(error.Says("spec.stream is capturing")) << error.message;
    EXPECT_EQ(Log(),
              "cuStreamGetCtx cuCtxPushCurrent_v2 cuCtxGetDevice cuStreamIsCapturing "
              "cuCtxPopCurrent_v2 ");
    CUgraph graph = nullptr;
    EXPECT_CUDA(cuStreamEndCapture(native, &graph));
  });
}

TEST_F(CudaIpcExportEvents, EachCallThatFails) {
  WithTensor([](TensorDevice* device, DLManagedTensorVersioned* tensor) {
    CUstream native = NativeStream(device);
    IpcLetter letter;
    Error error;
    for (const char* call :
         {"cuStreamGetCtx", "cuStreamIsCapturing", "cuIpcGetMemHandle", "cuStreamGetId",
          "cuCtxGetId", "cuEventCreate", "cuIpcGetEventHandle", "cuEventRecord"}) {
      fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
      EXPECT_EQ(Export(tensor, native, &letter, &error), DLBRIDGE_ERROR_DRIVER) << call;
      EXPECT_TRUE(error.Says(call)) << error.message;
      EXPECT_EQ(fake_cuda_failures_left(), 0) << call;
      EXPECT_EQ(Counts().context_depth, 1) << call;
      EXPECT_LE(Counts().live_events, 1) << call;
    }
    ASSERT_EQ(Export(tensor, native, &letter, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(Counts().live_events, 1) << "the event whose record failed is used again";
  });
}

TEST_F(CudaIpcExportEvents, StreamsThatAreNotOfTheMemory) {
  WithTensor([](TensorDevice* device, DLManagedTensorVersioned* tensor) {
    DLBridgeStream stream = device->stream();
    IpcLetter letter = {};
    Error error;
    const auto export_with = [&] {
      return IpcExport(tensor, 0, {letter.bytes, sizeof letter.bytes, letter.fds, kIpcFds, &stream},
                       &letter.length, &letter.fd_count, &error);
    };
    stream.backend = DLBRIDGE_BACKEND_HIP;
    EXPECT_EQ(export_with(), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says("spec.stream must be a queue of the memory's backend")) << error.message;
    stream = DLBRIDGE_STREAM_INIT;
    EXPECT_EQ(export_with(), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says("spec.stream is not set")) << error.message;
    // No queue: the work is finished, as without a stream.
    for (const int32_t kind : {DLBRIDGE_STREAM_HOST, DLBRIDGE_STREAM_NO_SYNC}) {
      stream.kind = kind;
      EXPECT_EQ(export_with(), DLBRIDGE_OK) << error.message;
      EXPECT_EQ(letter.bytes[kAtFormat], 1);
    }
    EXPECT_EQ(Counts().events_created, 0);
  });
}

// Threads that export from one stream and from several: every export has an event, and the table
// holds. Run under TSan too.
TEST_F(CudaIpcExportEvents, Threads) {
  WithTensor([](TensorDevice*, DLManagedTensorVersioned* tensor) {
    CUstream shared = BusyStream();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      CUstream own = BusyStream();
      threads.emplace_back([=] {
        for (int round = 0; round < 50; ++round) {
          IpcLetter letter;
          Error error;
          EXPECT_EQ(Export(tensor, round % 2 == 0 ? own : shared, &letter, &error), DLBRIDGE_OK)
              << error.message;
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_LE(Counts().events_created, 8);
  });
}

}  // namespace
}  // namespace dlbridge_test
