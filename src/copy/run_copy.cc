// SPDX-License-Identifier: Apache-2.0
#include "copy/run_copy.h"

#include <cstring>

#include "copy/stream_copy.h"
#include "copy/vector_level.h"
#include "support/checked.h"

#if DLBRIDGE_X86_KERNELS
#include <immintrin.h>
#endif

namespace dlbridge {
namespace {

// The processor itself prefetches runs of at least this many bytes.
constexpr int64_t kLongRun = 512;

// Prefetches runs in the order in which they are copied, a few runs ahead.
class Ahead {
 public:
  Ahead(const Plane& plane, const char* from)
      : plane_(plane),
        from_(from),
        row_(kRuns / plane.column.extent),
        column_(kRuns % plane.column.extent) {}

  // Prefetches one run; none after the last of the plane.
  DLBRIDGE_INLINE void Prefetch() {
    if (row_ >= plane_.row.extent) {
      return;
    }
    const char* const run = from_ + row_ * plane_.row.from + column_ * plane_.column.from;
    for (int64_t at = 0; at < plane_.column.to; at += kLine) {
      __builtin_prefetch(run + at);
    }
    if (++column_ == plane_.column.extent) {
      column_ = 0;
      ++row_;
    }
  }

 private:
  static constexpr int64_t kRuns = 16;

  const Plane& plane_;
  const char* from_;
  int64_t row_;
  int64_t column_;
};

// Copies in the order of the target, so that its lines are written one after the other.
template <void (*kCopy)(const char*, char*, int64_t), bool kPrefetches>
void CopyRuns(const Plane& plane, const char* from, char* to) {
  Ahead ahead(plane, from);  // unused, and so not compiled, without prefetching
  for (int64_t r = 0; r < plane.row.extent; ++r) {
    const char* source = from + r * plane.row.from;
    char* target = to + r * plane.row.to;
    for (int64_t c = 0; c < plane.column.extent; ++c) {
      if (kPrefetches) {
        ahead.Prefetch();
      }
      kCopy(source + c * plane.column.from, target + c * plane.column.to, plane.column.to);
    }
  }
}

void StreamRuns(const Plane& plane, const char* from, char* to) {
  CopyRuns<StreamContiguous, false>(plane, from, to);
  EndStreaming();
}

void CopyByLibrary(const char* from, char* to, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

#if DLBRIDGE_X86_KERNELS

#define DLBRIDGE_AVX2 __attribute__((target("avx2")))

constexpr int64_t kVector = 32;
constexpr int64_t kBatch = 4 * kVector;

DLBRIDGE_AVX2 DLBRIDGE_INLINE __m256i LoadVector(const char* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
DLBRIDGE_AVX2 DLBRIDGE_INLINE void StoreVector(char* to, __m256i vector) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), vector);
}

// Replaces memcpy, which takes a few nanoseconds to choose its method. From a few KiB on, some C
// libraries use an instruction that is slow if source and target have different alignments. The
// last vector overlaps the previous one.
DLBRIDGE_AVX2 void CopyByVectors(const char* from, char* to, int64_t bytes) {
  int64_t at = 0;
  for (; at + kBatch <= bytes; at += kBatch) {
    const __m256i a = LoadVector(from + at);
    const __m256i b = LoadVector(from + at + kVector);
    const __m256i c = LoadVector(from + at + 2 * kVector);
    const __m256i d = LoadVector(from + at + 3 * kVector);
    StoreVector(to + at, a);
    StoreVector(to + at + kVector, b);
    StoreVector(to + at + 2 * kVector, c);
    StoreVector(to + at + 3 * kVector, d);
  }
  for (; at + kVector < bytes; at += kVector) {
    StoreVector(to + at, LoadVector(from + at));
  }
  StoreVector(to + bytes - kVector, LoadVector(from + bytes - kVector));
}

#endif

template <void (*kCopy)(const char*, char*, int64_t)>
CopyPlane RunsOf(const Plane& plane) {
  const bool prefetches = plane.bytes >= kFar && plane.column.to < kLongRun;
  return prefetches ? CopyRuns<kCopy, true> : CopyRuns<kCopy, false>;
}

}  // namespace

CopyPlane ChooseRuns(const Plane& plane) {
  // In shorter runs, writing the partial lines at both ends takes longer than streaming saves.
  constexpr int64_t kLeastStreamed = 4 << 10;
  if (plane.bytes >= kHuge && plane.column.to >= kLeastStreamed) {
    return StreamRuns;
  }
#if DLBRIDGE_X86_KERNELS
  if (GetVectorLevel() >= VectorLevel::kAvx2) {
    return RunsOf<CopyByVectors>(plane);
  }
#endif
  return RunsOf<CopyByLibrary>(plane);
}

}  // namespace dlbridge
