// SPDX-License-Identifier: Apache-2.0
#include "copy/stream_copy.h"

#include <cstring>

#include "copy/vector_level.h"

#if DLBRIDGE_X86_KERNELS
#include <immintrin.h>
#endif

namespace dlbridge {

#if DLBRIDGE_X86_KERNELS

namespace {

constexpr int64_t kVector = 64;
constexpr int64_t kBatch = 4 * kVector;

// `to` must be aligned to 64 bytes, and `bytes` a multiple of kBatch.
__attribute__((target("avx512f"))) void Stream(const char* from, char* to, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kBatch) {
    const __m512i a = _mm512_loadu_si512(from + i);
    const __m512i b = _mm512_loadu_si512(from + i + kVector);
    const __m512i c = _mm512_loadu_si512(from + i + 2 * kVector);
    const __m512i d = _mm512_loadu_si512(from + i + 3 * kVector);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + kVector), b);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 2 * kVector), c);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + 3 * kVector), d);
  }
  _mm_sfence();
}

}  // namespace

void StreamContiguous(const char* from, char* to, int64_t bytes) {
  if (bytes < 2 * kBatch || GetVectorLevel() < VectorLevel::kAvx512Vbmi) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  const auto excess = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kVector);
  const int64_t head = (kVector - excess) % kVector;
  const int64_t streamed = (bytes - head) / kBatch * kBatch;
  std::memcpy(to, from, static_cast<size_t>(head));
  Stream(from + head, to + head, streamed);
  const int64_t done = head + streamed;
  std::memcpy(to + done, from + done, static_cast<size_t>(bytes - done));
}

#else

void StreamContiguous(const char* from, char* to, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

#endif

void CopyContiguous(const char* from, char* to, int64_t bytes) {
  constexpr int64_t kLeastStreamed = 64 << 20;
  if (bytes >= kLeastStreamed) {
    StreamContiguous(from, to, bytes);
  } else {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

}  // namespace dlbridge
