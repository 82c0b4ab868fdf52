// SPDX-License-Identifier: Apache-2.0
#include "copy/stream_copy.h"

#include <cstring>

#include "copy/plane_copy.h"
#include "copy/vector_level.h"

#if DLBRIDGE_X86_KERNELS
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace dlbridge {

#if DLBRIDGE_X86_KERNELS

namespace {

constexpr int64_t kBatch = 4 * kLine;

// In both functions, `to` must be aligned to a line, and `bytes` a multiple of kBatch.
__attribute__((target("avx2"))) void StreamByHalves(const char* from, char* to, int64_t bytes) {
  constexpr int64_t kHalf = kLine / 2;
  for (int64_t i = 0; i < bytes; i += 4 * kHalf) {
    const auto* source = reinterpret_cast<const __m256i*>(from + i);
    auto* target = reinterpret_cast<__m256i*>(to + i);
    const __m256i a = _mm256_loadu_si256(source);
    const __m256i b = _mm256_loadu_si256(source + 1);
    const __m256i c = _mm256_loadu_si256(source + 2);
    const __m256i d = _mm256_loadu_si256(source + 3);
    _mm256_stream_si256(target, a);
    _mm256_stream_si256(target + 1, b);
    _mm256_stream_si256(target + 2, c);
    _mm256_stream_si256(target + 3, d);
  }
}
__attribute__((target("avx512f"))) void StreamByLines(const char* from, char* to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kBatch) {
    const auto* source = reinterpret_cast<const __m512i*>(from + i);
    auto* target = reinterpret_cast<__m512i*>(to + i);
    const __m512i a = _mm512_loadu_si512(source);
    const __m512i b = _mm512_loadu_si512(source + 1);
    const __m512i c = _mm512_loadu_si512(source + 2);
    const __m512i d = _mm512_loadu_si512(source + 3);
    _mm512_stream_si512(target, a);
    _mm512_stream_si512(target + 1, b);
    _mm512_stream_si512(target + 2, c);
    _mm512_stream_si512(target + 3, d);
  }
}

}  // namespace

void StreamContiguous(const char* from, char* to, int64_t bytes) {
  const VectorLevel level = GetVectorLevel();
  if (bytes < 2 * kBatch || level < VectorLevel::kAvx2) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  const auto excess = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine);
  const int64_t head = (kLine - excess) % kLine;
  const int64_t streamed = (bytes - head) / kBatch * kBatch;
  std::memcpy(to, from, static_cast<size_t>(head));
  const auto stream = level >= VectorLevel::kAvx512Vbmi ? StreamByLines : StreamByHalves;
  stream(from + head, to + head, streamed);
  const int64_t done = head + streamed;
  std::memcpy(to + done, from + done, static_cast<size_t>(bytes - done));
}

#else

void StreamContiguous(const char* from, char* to, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

#endif

void EndStreaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

void CopyContiguous(const char* from, char* to, int64_t bytes) {
  if (bytes >= kHuge) {
    StreamContiguous(from, to, bytes);
    EndStreaming();
  } else {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

}  // namespace dlbridge
