// SPDX-License-Identifier: Apache-2.0
#include "copy/fill.h"

#include <cstdint>
#include <cstring>

#include "copy/copy_kernels.h"
#include "copy/stream_copy.h"
#include "copy/vector_level.h"

#if DLBRIDGE_X86_KERNELS
#include <immintrin.h>
#endif

namespace dlbridge {
namespace {

// ------------------------------------------------------------------------------- any element

// The part already written is the source of the next part.
void Repeat(const char* from, int64_t item, int64_t count, char* to) {
  constexpr int64_t kPart = 4096;  // least size of a large part: the source stays in the cache
  const int64_t total = item * count;
  std::memcpy(to, from, static_cast<size_t>(item));
  int64_t source = item;
  for (int64_t done = item; done < total;) {
    const int64_t left = total - done;
    const int64_t bytes = source < left ? source : left;
    std::memcpy(to + done, to, static_cast<size_t>(bytes));
    done += bytes;
    source = source < kPart ? done : source;
  }
}

void RepeatElements(const Plane& plane, const char* from, char* to) {
  for (int64_t r = 0; r < plane.row.extent; ++r) {
    Repeat(from + r * plane.row.from, plane.column.to, plane.column.extent, to + r * plane.row.to);
  }
}

// ------------------------------------------------------------------------------- vectors

#if DLBRIDGE_SHUFFLES

// Copies of an element whose size divides 16.
struct Pattern {
  uint64_t halves[2];
};

template <class T>
DLBRIDGE_INLINE Pattern PatternOf(const char* from) {
  if constexpr (sizeof(T) == sizeof(Pattern)) {
    Pattern pattern;
    std::memcpy(&pattern, from, sizeof pattern);
    return pattern;
  } else {
    T item;
    std::memcpy(&item, from, sizeof item);
    const uint64_t half = item * (~uint64_t{0} / static_cast<T>(~T{0}));
    return {{half, half}};
  }
}

// Fills 8 to 15 bytes, or 4 to 7, by storing both ends, which may overlap.
template <class T>
DLBRIDGE_INLINE void FillEnds(const Pattern& pattern, char* to, int64_t bytes) {
  std::memcpy(to, &pattern, sizeof(T));
  std::memcpy(to + bytes - sizeof(T), &pattern, sizeof(T));
}

// Fills less than a vector.
DLBRIDGE_INLINE void FillShort(const Pattern& pattern, char* to, int64_t bytes) {
  if (bytes >= 8) {
    FillEnds<uint64_t>(pattern, to, bytes);
  } else if (bytes >= 4) {
    FillEnds<uint32_t>(pattern, to, bytes);
  } else {
    std::memcpy(to, &pattern, static_cast<size_t>(bytes));
  }
}

// Streaming shorter rows is slower, because the lines at their ends are written partially.
constexpr int64_t kLeastStreamed = 2048;

// From this length on, the stores between the first and the last line are aligned.
constexpr int64_t kLongRow = 4 * kLine;

// Fills less than a line.
DLBRIDGE_INLINE void FillPart(const Pattern& pattern, char* to, int64_t bytes) {
  if (bytes < 16) {
    FillShort(pattern, to, bytes);
    return;
  }
  for (int64_t at = 0; at + 16 < bytes; at += 16) {
    std::memcpy(to + at, &pattern, 16);
  }
  std::memcpy(to + bytes - 16, &pattern, 16);
}

struct Wide16 {
  using Vector = VectorOf<uint64_t>::Type;
  static constexpr int64_t kBytes = 16;

  DLBRIDGE_INLINE static Vector Of(const Pattern& pattern) {
    return Vector{pattern.halves[0], pattern.halves[1]};
  }
  DLBRIDGE_INLINE static void Store(char* to, Vector vector) { Cached::Store(to, vector); }
  DLBRIDGE_INLINE static void Stream(char* to, Vector vector) { Streamed::Store(to, vector); }
};

template <class Wide, class T>
struct Fill;

#define DLBRIDGE_WIDE Wide16
#define DLBRIDGE_TARGET
#include "copy/fill_kernel.inc"
#undef DLBRIDGE_WIDE
#undef DLBRIDGE_TARGET

#if DLBRIDGE_X86_KERNELS

#define DLBRIDGE_AVX2 __attribute__((target("avx2")))

struct Wide32 {
  using Vector = __m256i;
  static constexpr int64_t kBytes = 32;

  DLBRIDGE_AVX2 DLBRIDGE_INLINE static Vector Of(const Pattern& pattern) {
    return _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(pattern.halves)));
  }
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static void Store(char* to, Vector vector) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), vector);
  }
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static void Stream(char* to, Vector vector) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), vector);
  }
};

#define DLBRIDGE_WIDE Wide32
#define DLBRIDGE_TARGET DLBRIDGE_AVX2
#include "copy/fill_kernel.inc"
#undef DLBRIDGE_WIDE
#undef DLBRIDGE_TARGET

#define DLBRIDGE_AVX512 __attribute__((target("avx512f")))

struct Wide64 {
  using Vector = __m512i;
  static constexpr int64_t kBytes = 64;

  DLBRIDGE_AVX512 DLBRIDGE_INLINE static Vector Of(const Pattern& pattern) {
    constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the instruction without a mask
    return _mm512_maskz_broadcast_i32x4(
        kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(pattern.halves)));
  }
  DLBRIDGE_AVX512 DLBRIDGE_INLINE static void Store(char* to, Vector vector) {
    _mm512_storeu_si512(to, vector);
  }
  DLBRIDGE_AVX512 DLBRIDGE_INLINE static void Stream(char* to, Vector vector) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), vector);
  }
};

#define DLBRIDGE_WIDE Wide64
#define DLBRIDGE_TARGET DLBRIDGE_AVX512
#include "copy/fill_kernel.inc"
#undef DLBRIDGE_WIDE
#undef DLBRIDGE_TARGET

template <class T>
CopyPlane FillOf() {
  if (GetVectorLevel() >= VectorLevel::kAvx512Vbmi) {
    return Fill<Wide64, T>::Rows;
  }
  return GetVectorLevel() >= VectorLevel::kAvx2 ? Fill<Wide32, T>::Rows : Fill<Wide16, T>::Rows;
}

#else

template <class T>
CopyPlane FillOf() {
  return Fill<Wide16, T>::Rows;
}

#endif

#endif  // DLBRIDGE_SHUFFLES

}  // namespace

CopyPlane ChooseFill(int64_t item) {
#if DLBRIDGE_SHUFFLES
  switch (item) {
    case 1:
      return FillOf<uint8_t>();
    case 2:
      return FillOf<uint16_t>();
    case 4:
      return FillOf<uint32_t>();
    case 8:
      return FillOf<uint64_t>();
    case 16:
      return FillOf<Pattern>();
    default:
      return RepeatElements;
  }
#else
  (void)item;
  return RepeatElements;
#endif
}

}  // namespace dlbridge
