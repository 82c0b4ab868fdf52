// SPDX-License-Identifier: Apache-2.0
// Copies of the CUDA backend, box by box: bytes, driver calls, and the state after each failure.
#include <numeric>
#include <vector>

#include "device/cuda_fixture.h"
#include "native/backend.h"

namespace dlbridge_test {
namespace {

using dlbridge::CopyBox;
using dlbridge::CopyJob;
using dlbridge::kCudaBackend;
using Bytes = std::vector<unsigned char>;

// Bytes that differ from their neighbours.
Bytes Pattern(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  }
  return bytes;
}

// Copies a box byte by byte.
void Expect(const CopyBox& box, const Bytes& from, Bytes* to) {
  for (uint64_t z = 0; z < box.planes; ++z) {
    for (uint64_t y = 0; y < box.rows; ++y) {
      for (uint64_t x = 0; x < box.bytes; ++x) {
        (*to)[box.to_offset + z * box.to_plane_pitch + y * box.to_row_pitch + x] =
            from[box.from_offset + z * box.from_plane_pitch + y * box.from_row_pitch + x];
      }
    }
  }
}

class CudaCopy : public CudaTest {
 protected:
  static constexpr size_t kSize = 4096;

  void SetUp() override {
    CudaTest::SetUp();
    ASSERT_EQ(dlbridge::StartBackend(kCudaBackend, nullptr), DLBRIDGE_OK);
    source_ = Pattern(kSize);
    from_ = Allocate(kSize);
    to_ = Allocate(kSize);
    fake_cuda_poke(from_, source_.data(), kSize);
    fake_cuda_clear_log();
  }

  static dlbridge::CopySide OnDevice(CUdeviceptr address, int device = 0) {
    return {false, {kDLCUDA, device}, dlbridge_buffer_cuda(address)};
  }
  static dlbridge::CopySide OnHost(Bytes* bytes) {
    return {true, {kDLCPU, 0}, dlbridge_buffer_address(bytes->data())};
  }

  static CopyJob Job(const dlbridge::CopySide& from, const dlbridge::CopySide& to) {
    CopyJob job = {};
    job.from = from;
    job.to = to;
    return job;
  }

  static void MustCopy(CopyJob job, const CopyBox& box) {
    Error error;
    ASSERT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(kCudaBackend.copy_box(&job, box, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(kCudaBackend.copy_finish(&job, &error), DLBRIDGE_OK) << error.message;
  }

  static Bytes Peek(CUdeviceptr address) {
    Bytes bytes(kSize);
    fake_cuda_peek(address, bytes.data(), kSize);
    return bytes;
  }

  // Copies a box in all three directions and compares the bytes; `kind` is the expected driver
  // call.
  void CheckBox(const CopyBox& box, const char* kind) {
    Bytes expected(kSize, 0);
    Expect(box, source_, &expected);
    Bytes host(kSize, 0);
    MustCopy(Job(OnDevice(from_), OnHost(&host)), box);
    EXPECT_EQ(host, expected);
    EXPECT_NE(Log().find(std::string(kind)), std::string::npos) << kind;
    const Bytes zeros(kSize, 0);
    fake_cuda_poke(to_, zeros.data(), kSize);
    MustCopy(Job(OnHost(&source_), OnDevice(to_)), box);
    EXPECT_EQ(Peek(to_), expected);
    fake_cuda_poke(to_, zeros.data(), kSize);
    MustCopy(Job(OnDevice(from_), OnDevice(to_)), box);
    EXPECT_EQ(Peek(to_), expected);
    fake_cuda_clear_log();
  }

  Bytes source_;
  CUdeviceptr from_ = 0;
  CUdeviceptr to_ = 0;
};

constexpr char kBegin[] =
    "cuPointerGetAttributes cuCtxPushCurrent_v2 "
    "cuThreadExchangeStreamCaptureMode cuStreamCreate cuThreadExchangeStreamCaptureMode "
    "cuCtxPopCurrent_v2 ";
constexpr char kFinish[] =
    "cuCtxPushCurrent_v2 cuThreadExchangeStreamCaptureMode cuStreamSynchronize "
    "cuStreamDestroy_v2 cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ";

std::string Between(const std::string& call) {
  return "cuCtxPushCurrent_v2 cuThreadExchangeStreamCaptureMode " + call +
         " cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ";
}

TEST_F(CudaCopy, ARun) {
  const CopyBox box = {1000, 1, 1, 16, 0, 0, 32, 0, 0};
  Bytes host(kSize, 0);
  MustCopy(Job(OnDevice(from_), OnHost(&host)), box);
  EXPECT_EQ(Log(), kBegin + Between("cuMemcpyDtoHAsync_v2") + kFinish);
  MustCopy(Job(OnHost(&host), OnDevice(to_)), box);
  EXPECT_EQ(Log(), kBegin + Between("cuMemcpyHtoDAsync_v2") + kFinish);
  CheckBox(box, "cuMemcpyDtoHAsync_v2");
}

TEST_F(CudaCopy, ARectangle) {
  CheckBox({10, 20, 1, 3, 32, 0, 5, 16, 0}, "cuMemcpy2DAsync_v2");
  CheckBox({16, 20, 1, 0, 16, 0, 0, 64, 0}, "cuMemcpy2DAsync_v2");
}

TEST_F(CudaCopy, ABox) { CheckBox({10, 6, 5, 3, 32, 256, 5, 16, 96}, "cuMemcpy3DAsync_v2"); }

// The driver takes the plane pitch in rows; other pitches are copied plane by plane.
TEST_F(CudaCopy, PlanesThatAreNotWholeRowsApart) {
  CheckBox({10, 6, 5, 3, 32, 257, 5, 16, 96}, "cuMemcpy2DAsync_v2");
  CheckBox({4, 8, 3, 0, 32, 16, 5, 16, 128}, "cuMemcpy2DAsync_v2");
}

// Rows that overlap in the source, as in a broadcast, are copied one by one.
TEST_F(CudaCopy, ABroadcastRow) {
  CheckBox({10, 4, 1, 3, 0, 0, 0, 10, 0}, "cuMemcpyDtoHAsync_v2");
  CheckBox({10, 4, 3, 3, 0, 0, 0, 10, 40}, "cuMemcpyDtoHAsync_v2");
}

// Rows in reverse order: the pitch is negative, so it wraps.
TEST_F(CudaCopy, ReversedRows) {
  const CopyBox box = {8, 4, 1, 24, 0 - uint64_t{8}, 0, 0, 8, 0};
  CheckBox(box, "cuMemcpyDtoHAsync_v2");
}

TEST_F(CudaCopy, APitchAboveTheDevicesLimit) {
  const uint64_t pitch = (uint64_t{1} << 20) + 64;
  const CUdeviceptr large = Allocate(2 * pitch);
  fake_cuda_poke(large, source_.data(), 16);
  fake_cuda_poke(large + pitch, source_.data() + 16, 16);
  Bytes host(kSize, 0);
  MustCopy(Job(OnDevice(large), OnHost(&host)), {16, 2, 1, 0, pitch, 0, 0, 16, 0});
  EXPECT_EQ(Bytes(host.begin(), host.begin() + 32), Bytes(source_.begin(), source_.begin() + 32));
}

int Occurrences(const std::string& text, const std::string& word) {
  int found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

// Within a device the driver may refuse pitches that cuMemAllocPitch did not compute. Then each row
// is one call, and the driver is not asked again.
TEST_F(CudaCopy, ARefusedPitchIsCopiedRowByRow) {
  const struct {
    CopyBox box;
    const char* refused;
    int rows;
  } cases[] = {{{10, 20, 1, 3, 32, 0, 5, 16, 0}, "cuMemcpy2DAsync_v2 ", 40},
               {{10, 6, 5, 3, 32, 256, 5, 16, 96}, "cuMemcpy3DAsync_v2 ", 60},
               {{10, 6, 5, 3, 32, 257, 5, 16, 96}, "cuMemcpy2DAsync_v2 ", 60}};
  for (const auto& one : cases) {
    CopyJob job = Job(OnDevice(from_), OnDevice(to_));
    Error error;
    ASSERT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    EXPECT_FALSE(job.rows_alone);
    fake_cuda_clear_log();
    EXPECT_EQ(kCudaBackend.copy_box(&job, one.box, &error), DLBRIDGE_OK) << error.message;
    EXPECT_TRUE(job.rows_alone);
    EXPECT_EQ(kCudaBackend.copy_box(&job, one.box, &error), DLBRIDGE_OK) << error.message;
    const std::string log = Log();
    EXPECT_EQ(Occurrences(log, one.refused), 1) << log;
    EXPECT_EQ(Occurrences(log, "cuMemcpyDtoDAsync_v2 "), one.rows) << log;
    EXPECT_EQ(kCudaBackend.copy_finish(&job, &error), DLBRIDGE_OK) << error.message;
    Bytes expected(kSize, 0);
    Expect(one.box, source_, &expected);
    EXPECT_EQ(Peek(to_), expected);
    const Bytes zeros(kSize, 0);
    fake_cuda_poke(to_, zeros.data(), kSize);
  }
}

TEST_F(CudaCopy, AnAcceptedPitchIsOneCall) {
  const struct {
    CopyBox box;
    const char* call;
  } cases[] = {{{10, 4, 1, 3, 512, 0, 5, 1024, 0}, "cuMemcpy2DAsync_v2 "},
               {{10, 2, 2, 3, 512, 1024, 5, 512, 2048}, "cuMemcpy3DAsync_v2 "}};
  for (const auto& one : cases) {
    MustCopy(Job(OnDevice(from_), OnDevice(to_)), one.box);
    Bytes expected(kSize, 0);
    Expect(one.box, source_, &expected);
    EXPECT_EQ(Peek(to_), expected);
    const std::string log = Log();
    EXPECT_EQ(Occurrences(log, one.call), 1) << log;
    EXPECT_EQ(Occurrences(log, "cuMemcpyDtoDAsync"), 0) << log;
    const Bytes zeros(kSize, 0);
    fake_cuda_poke(to_, zeros.data(), kSize);
    fake_cuda_clear_log();
  }
}

// To and from the host an invalid value is an error.
TEST_F(CudaCopy, ARefusedPitchOfTheHostIsAnError) {
  Bytes host(kSize, 0);
  CopyJob job = Job(OnDevice(from_), OnHost(&host));
  Error error;
  ASSERT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
  fake_cuda_fail("cuMemcpy2DAsync_v2", CUDA_ERROR_INVALID_VALUE, 1);
  EXPECT_EQ(kCudaBackend.copy_box(&job, {8, 2, 1, 0, 8, 0, 0, 8, 0}, &error),
            DLBRIDGE_ERROR_DRIVER);
  EXPECT_EQ(kCudaBackend.copy_finish(&job, &error), DLBRIDGE_OK);
}

TEST_F(CudaCopy, BetweenContextsOfOneDevice) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 0));
  CUdeviceptr far = 0;
  EXPECT_CUDA(cuMemAlloc(&far, kSize));
  EXPECT_CUDA(cuCtxPopCurrent(&other));
  const CopyBox box = {10, 20, 1, 3, 32, 0, 5, 16, 0};
  MustCopy(Job(OnDevice(from_), OnDevice(far)), box);
  Bytes expected(kSize, 0);
  Expect(box, source_, &expected);
  EXPECT_EQ(Peek(far), expected);
  EXPECT_CUDA(cuCtxDestroy(other));
}

TEST_F(CudaCopy, VirtualMemoryThatIsNotMapped) {
  const CUdeviceptr reserved = fake_cuda_map_pieces(0, 4 * kSize, kSize, kSize, 2);
  Bytes host(2 * kSize, 0);
  for (const int hidden : {0, 1}) {
    fake_cuda_hide_unmapped(hidden);
    CopyJob job = Job(OnDevice(reserved), OnHost(&host));
    Error error;
    EXPECT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
    EXPECT_TRUE(error.Says("source")) << error.message;
    EXPECT_TRUE(error.Says("not mapped")) << error.message;
  }
  fake_cuda_hide_unmapped(0);
  // A copy may reach from one piece into the next.
  MustCopy(Job(OnDevice(reserved + kSize), OnHost(&host)), {2 * kSize, 1, 1, 0, 0, 0, 0, 0, 0});
}

TEST_F(CudaCopy, EmptyBoxesMakeNoCall) {
  CopyJob job = Job(OnDevice(from_), OnDevice(to_));
  Error error;
  ASSERT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
  fake_cuda_clear_log();
  for (const CopyBox& box : {CopyBox{0, 1, 1, 0, 0, 0, 0, 0, 0}, CopyBox{1, 0, 1, 0, 0, 0, 0, 0, 0},
                             CopyBox{1, 1, 0, 0, 0, 0, 0, 0, 0}}) {
    EXPECT_EQ(kCudaBackend.copy_box(&job, box, &error), DLBRIDGE_OK);
  }
  EXPECT_EQ(Log(), "");
  EXPECT_EQ(kCudaBackend.copy_finish(&job, &error), DLBRIDGE_OK);
}

TEST_F(CudaCopy, BetweenTwoDevices) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 1));
  CUdeviceptr far = 0;
  EXPECT_CUDA(cuMemAlloc(&far, kSize));
  EXPECT_CUDA(cuCtxPopCurrent(&other));
  const struct {
    CopyBox box;
    const char* call;
  } cases[] = {
      {{1000, 1, 1, 16, 0, 0, 32, 0, 0}, "cuMemcpyPeerAsync"},
      {{10, 20, 1, 3, 32, 0, 5, 16, 0}, "cuMemcpy3DPeerAsync"},
      {{10, 6, 5, 3, 32, 256, 5, 16, 96}, "cuMemcpy3DPeerAsync"},
      {{10, 6, 5, 3, 32, 257, 5, 16, 96}, "cuMemcpy3DPeerAsync"},
  };
  for (const auto& one : cases) {
    const Bytes zeros(kSize, 0);
    fake_cuda_poke(far, zeros.data(), kSize);
    fake_cuda_clear_log();
    MustCopy(Job(OnDevice(from_), OnDevice(far, 1)), one.box);
    Bytes expected(kSize, 0);
    Expect(one.box, source_, &expected);
    EXPECT_EQ(Peek(far), expected);
    EXPECT_NE(Log().find(one.call), std::string::npos) << one.call;
  }
  EXPECT_CUDA(cuCtxDestroy(other));
}

// Memory without a context is used in the primary context of its device.
TEST_F(CudaCopy, MemoryOfMapUsesThePrimaryContext) {
  const CUdeviceptr mapped = fake_cuda_map(0, kSize);
  fake_cuda_poke(mapped, source_.data(), kSize);
  Bytes host(kSize, 0);
  MustCopy(Job(OnDevice(mapped), OnHost(&host)), {kSize, 1, 1, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(host, source_);
  EXPECT_EQ(Counts().primary_retained, 1);
}

TEST_F(CudaCopy, ManagedAndPinnedMemory) {
  const Current current(context_);
  CUdeviceptr managed = 0;
  EXPECT_CUDA(cuMemAllocManaged(&managed, kSize, CU_MEM_ATTACH_GLOBAL));
  MustCopy(Job(OnDevice(from_), OnDevice(managed)), {kSize, 1, 1, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(managed), source_.data(), kSize), 0);
}

// On the caller's stream, the copy runs after the work already on that stream.
void Poke(void* data) {
  const unsigned char value = 99;
  fake_cuda_poke(*static_cast<CUdeviceptr*>(data), &value, 1);
}

TEST_F(CudaCopy, OnTheCallersStream) {
  CUstream stream = MakeStream();
  {
    const Current current(context_);
    EXPECT_CUDA(cuLaunchHostFunc(stream, Poke, &from_));
  }
  Bytes host(kSize, 0);
  CopyJob job = Job(OnDevice(from_), OnHost(&host));
  job.stream = dlbridge_stream_cuda(stream, 0);
  fake_cuda_clear_log();
  MustCopy(job, {1, 1, 1, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(host[0], 99);
  EXPECT_EQ(Log(),
            "cuPointerGetAttributes cuStreamGetCtx cuCtxPushCurrent_v2 cuCtxGetDevice "
            "cuStreamIsCapturing cuCtxPopCurrent_v2 " +
                Between("cuMemcpyDtoHAsync_v2") +
                "cuCtxPushCurrent_v2 cuThreadExchangeStreamCaptureMode cuStreamSynchronize "
                "cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ");
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

// A submitted copy is in the stream, and the host did not wait: pageable host memory is written
// when the mark is over.
TEST_F(CudaCopy, SubmittedItDoesNotWait) {
  CUstream stream = MakeStream();
  {
    const Current current(context_);
    EXPECT_CUDA(cuLaunchHostFunc(stream, Poke, &from_));
  }
  Bytes host(kSize, 0);
  CopyJob job = Job(OnDevice(from_), OnHost(&host));
  job.stream = dlbridge_stream_cuda(stream, 0);
  Error error;
  ASSERT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(kCudaBackend.copy_box(&job, {1, 1, 1, 0, 0, 0, 0, 0, 0}, &error), DLBRIDGE_OK);
  fake_cuda_clear_log();
  dlbridge::StreamMark mark = {};
  EXPECT_EQ(kCudaBackend.copy_submit(&job, &mark, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(Log(),
            "cuCtxPushCurrent_v2 cuThreadExchangeStreamCaptureMode cuMemAlloc_v2 "
            "cuPointerGetAttributes cuCtxGetId cuEventCreate cuEventRecord "
            "cuThreadExchangeStreamCaptureMode cuCtxPopCurrent_v2 ");
  EXPECT_EQ(host[0], 0) << "the host waited";
  bool over = true;
  EXPECT_EQ(kCudaBackend.mark_query(mark, &over, &error), DLBRIDGE_OK) << error.message;
  EXPECT_FALSE(over);
  EXPECT_EQ(kCudaBackend.mark_wait(mark, &error), DLBRIDGE_OK) << error.message;
  EXPECT_EQ(host[0], 99);
  kCudaBackend.mark_free(mark);
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(CudaCopy, ASubmissionThatFailsHasWaited) {
  CUstream stream = MakeStream();
  for (const char* call :
       {"cuCtxPushCurrent", "cuEventCreate", "cuEventRecord", "cuCtxPopCurrent"}) {
    Bytes host(kSize, 0);
    CopyJob job = Job(OnDevice(from_), OnHost(&host));
    job.stream = dlbridge_stream_cuda(stream, 0);
    Error error;
    ASSERT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    EXPECT_EQ(kCudaBackend.copy_box(&job, {kSize, 1, 1, 0, 0, 0, 0, 0, 0}, &error), DLBRIDGE_OK);
    const bool versioned = std::strncmp(call, "cuCtx", 5) == 0;
    fake_cuda_fail((std::string(call) + (versioned ? "_v2" : "")).c_str(), CUDA_ERROR_UNKNOWN, 1);
    dlbridge::StreamMark mark = {};
    EXPECT_EQ(kCudaBackend.copy_submit(&job, &mark, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(call)) << error.message;
    EXPECT_EQ(host, source_) << call << ": the call did not wait";
  }
  const Current current(context_);
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(CudaCopy, ACapturingStreamIsRejected) {
  CUstream stream = MakeStream();
  const Current current(context_);
  EXPECT_CUDA(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  Bytes host(kSize, 0);
  CopyJob job = Job(OnDevice(from_), OnHost(&host));
  job.stream = dlbridge_stream_cuda(stream, 0);
  Error error;
  EXPECT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_ERROR_CAPTURE);
  EXPECT_TRUE(error.Says("capturing")) << error.message;
  // A copy on a stream of the library still works during the capture.
  MustCopy(Job(OnDevice(from_), OnHost(&host)), {kSize, 1, 1, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(host, source_);
  CUgraph graph = nullptr;
  EXPECT_CUDA(cuStreamEndCapture(stream, &graph));
  EXPECT_CUDA(cuStreamDestroy(stream));
}

TEST_F(CudaCopy, MemoryThatCudaDoesNotKnow) {
  Bytes host(kSize, 0);
  Bytes no_device(kSize, 0);
  CopyJob job = Job(OnDevice(reinterpret_cast<CUdeviceptr>(no_device.data())), OnHost(&host));
  Error error;
  EXPECT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("source")) << error.message;
  job = Job(OnHost(&host), OnDevice(reinterpret_cast<CUdeviceptr>(no_device.data())));
  EXPECT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(error.Says("target")) << error.message;
}

TEST_F(CudaCopy, ATargetLabelOfAnotherDeviceIsRejected) {
  Bytes host(kSize, 0);
  dlbridge::CopySide target = OnDevice(to_);
  for (const int32_t id : {1, 7}) {
    target.device.device_id = id;
    CopyJob job = Job(OnHost(&host), target);
    Error error;
    EXPECT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_ERROR_INVALID_TENSOR);
    EXPECT_EQ(error.rule, DLBRIDGE_RULE_DEVICE_LABEL) << error.message;
    EXPECT_TRUE(error.Says(id == 1 ? "cuda:1" : "cuda:7")) << error.message;
  }
}

TEST_F(CudaCopy, EachCallOfTheBeginningThatFailsIsNamed) {
  const struct {
    const char* call;
    int nth;
    const char* named;
  } failing[] = {
      {"cuPointerGetAttributes", 1, "cuPointerGetAttributes"},
      {"cuPointerGetAttributes", 2, "cuPointerGetAttributes"},
      {"cuCtxPushCurrent_v2", 1, "cuCtxPushCurrent"},
      {"cuThreadExchangeStreamCaptureMode", 1, "cuThreadExchangeStreamCaptureMode"},
      {"cuStreamCreate", 1, "cuStreamCreate"},
      {"cuCtxPopCurrent_v2", 1, "cuCtxPopCurrent"},
  };
  for (const auto& one : failing) {
    CopyJob job = Job(OnDevice(from_), OnDevice(to_));
    fake_cuda_fail(one.call, CUDA_ERROR_UNKNOWN, one.nth);
    Error error;
    EXPECT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_ERROR_DRIVER) << one.call;
    EXPECT_TRUE(error.Says(one.named)) << error.message;
    EXPECT_EQ(Counts().live_streams, before_.live_streams) << one.call;
    EXPECT_EQ(Counts().context_depth, 0) << one.call;
  }
}

TEST_F(CudaCopy, EachCallOfABoxThatFailsIsNamed) {
  Bytes host(kSize, 0);
  const struct {
    const char* call;
    const char* named;
    CopyBox box;
    CopyJob job;
  } failing[] = {
      {"cuCtxPushCurrent_v2",
       "cuCtxPushCurrent",
       {8, 1, 1, 0, 0, 0, 0, 0, 0},
       Job(OnDevice(from_), OnDevice(to_))},
      {"cuMemcpyDtoDAsync_v2",
       "cuMemcpyDtoDAsync",
       {8, 1, 1, 0, 0, 0, 0, 0, 0},
       Job(OnDevice(from_), OnDevice(to_))},
      {"cuMemcpyDtoHAsync_v2",
       "cuMemcpyDtoHAsync",
       {8, 1, 1, 0, 0, 0, 0, 0, 0},
       Job(OnDevice(from_), OnHost(&host))},
      {"cuMemcpyHtoDAsync_v2",
       "cuMemcpyHtoDAsync",
       {8, 1, 1, 0, 0, 0, 0, 0, 0},
       Job(OnHost(&host), OnDevice(to_))},
      {"cuMemcpy2DAsync_v2",
       "cuMemcpy2DAsync",
       {8, 2, 1, 0, 8, 0, 0, 8, 0},
       Job(OnDevice(from_), OnHost(&host))},
      {"cuMemcpy3DAsync_v2",
       "cuMemcpy3DAsync",
       {8, 2, 2, 0, 8, 16, 0, 8, 16},
       Job(OnDevice(from_), OnHost(&host))},
  };
  for (const auto& one : failing) {
    CopyJob job = one.job;
    Error error;
    ASSERT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    fake_cuda_fail(one.call, CUDA_ERROR_UNKNOWN, 1);
    EXPECT_EQ(kCudaBackend.copy_box(&job, one.box, &error), DLBRIDGE_ERROR_DRIVER) << one.call;
    EXPECT_TRUE(error.Says(one.named)) << error.message;
    EXPECT_EQ(kCudaBackend.copy_finish(&job, &error), DLBRIDGE_OK);
    EXPECT_EQ(Counts().live_streams, before_.live_streams) << one.call;
  }
}

TEST_F(CudaCopy, PeerCopiesThatFailAreNamed) {
  CUcontext other = nullptr;
  EXPECT_CUDA(cuCtxCreate(&other, nullptr, 0, 1));
  CUdeviceptr far = 0;
  EXPECT_CUDA(cuMemAlloc(&far, kSize));
  EXPECT_CUDA(cuCtxPopCurrent(&other));
  for (const char* call : {"cuMemcpyPeerAsync", "cuMemcpy3DPeerAsync"}) {
    CopyJob job = Job(OnDevice(from_), OnDevice(far, 1));
    const uint64_t rows = std::strcmp(call, "cuMemcpyPeerAsync") == 0 ? 1 : 2;
    Error error;
    ASSERT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
    EXPECT_EQ(kCudaBackend.copy_box(&job, {8, rows, 1, 0, 8, 0, 0, 8, 0}, &error),
              DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(call)) << error.message;
    EXPECT_EQ(kCudaBackend.copy_finish(&job, &error), DLBRIDGE_OK);
  }
  EXPECT_CUDA(cuCtxDestroy(other));
}

TEST_F(CudaCopy, EachCallOfTheEndThatFailsIsNamed) {
  for (const char* call : {"cuStreamSynchronize", "cuStreamDestroy_v2"}) {
    CopyJob job = Job(OnDevice(from_), OnDevice(to_));
    Error error;
    ASSERT_EQ(kCudaBackend.copy_begin(&job, &error), DLBRIDGE_OK) << error.message;
    fake_cuda_fail(call, CUDA_ERROR_UNKNOWN, 1);
    EXPECT_EQ(kCudaBackend.copy_finish(&job, &error), DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(std::string(call).substr(0, 12).c_str())) << error.message;
    if (std::strcmp(call, "cuStreamDestroy_v2") == 0) {
      // The driver still has the stream: the test destroys it.
      const Current current(context_);
      EXPECT_CUDA(cuStreamDestroy(reinterpret_cast<CUstream>(job.state[1])));
    }
  }
}

}  // namespace
}  // namespace dlbridge_test
