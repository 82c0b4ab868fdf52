// SPDX-License-Identifier: Apache-2.0
#include "copy/wide_tile.h"

#include <cstddef>
#include <cstdint>

#include "copy/plane_copy.h"
#include "copy/vector_level.h"
#include "support/checked.h"

#if DLBRIDGE_X86_KERNELS

#include <immintrin.h>

namespace dlbridge {
namespace {

// Unrolls the next loop, so that its vectors are in registers.
#if defined(__clang__)
#define DLBRIDGE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define DLBRIDGE_UNROLL _Pragma("GCC unroll 16")
#endif

#define DLBRIDGE_AVX2 __attribute__((target("avx2")))
#define DLBRIDGE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

// Each vector has parts of 16 bytes, which are squares that are transposed at the same time: part p
// of row r is a piece of line `p * kSide + r` of the tile. So the transposition needs no
// instruction that crosses parts, and the transposed rows are contiguous in the target.
struct Parts2 {
  using Vector = __m256i;
  static constexpr int kParts = 2;

  // Parts at `from` and each `step` bytes after it.
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static Vector Load(const char* from, int64_t step) {
    return Join(from, from + step);
  }
  // As Load, for parts at the offsets `at[0]`, `at[step]` and so on.
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static Vector Gather(const char* from, const int64_t* at,
                                                     int step) {
    return Join(from + at[0], from + at[step]);
  }
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static Vector LoadLine(const char* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  template <size_t kItem>
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static void Interleave(Vector a, Vector b, Vector* low,
                                                       Vector* high) {
    if constexpr (kItem == 1) {
      *low = _mm256_unpacklo_epi8(a, b);
      *high = _mm256_unpackhi_epi8(a, b);
    } else if constexpr (kItem == 2) {
      *low = _mm256_unpacklo_epi16(a, b);
      *high = _mm256_unpackhi_epi16(a, b);
    } else if constexpr (kItem == 4) {
      *low = _mm256_unpacklo_epi32(a, b);
      *high = _mm256_unpackhi_epi32(a, b);
    } else {
      *low = _mm256_unpacklo_epi64(a, b);
      *high = _mm256_unpackhi_epi64(a, b);
    }
  }
  template <bool kStreams>
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static void Store(char* to, Vector vector) {
    if constexpr (kStreams) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to), vector);
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), vector);
    }
  }

 private:
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static Vector Join(const char* a, const char* b) {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
  }
};

template <class Parts, size_t kItem, bool kStreams>
struct Tile;
template <class Parts, size_t kItem>
struct Squares;

struct Parts4 {
  using Vector = __m512i;
  static constexpr int kParts = 4;
  // All elements: gcc 12 warns of the instructions without a mask.
  static constexpr __mmask8 kAll8 = 0xff;
  static constexpr __mmask16 kAll16 = 0xffff;

  DLBRIDGE_AVX512 DLBRIDGE_INLINE static Vector Load(const char* from, int64_t step) {
    return Join(from, from + step, from + 2 * step, from + 3 * step);
  }
  DLBRIDGE_AVX512 DLBRIDGE_INLINE static Vector Gather(const char* from, const int64_t* at,
                                                       int step) {
    const int64_t* const half = at + step + step;
    return Join(from + at[0], from + at[step], from + half[0], from + half[step]);
  }
  DLBRIDGE_AVX512 DLBRIDGE_INLINE static Vector LoadLine(const char* from) {
    return _mm512_loadu_si512(from);
  }
  template <size_t kItem>
  DLBRIDGE_AVX512 DLBRIDGE_INLINE static void Interleave(Vector a, Vector b, Vector* low,
                                                         Vector* high) {
    if constexpr (kItem == 1) {
      *low = _mm512_unpacklo_epi8(a, b);
      *high = _mm512_unpackhi_epi8(a, b);
    } else if constexpr (kItem == 2) {
      *low = _mm512_unpacklo_epi16(a, b);
      *high = _mm512_unpackhi_epi16(a, b);
    } else if constexpr (kItem == 4) {
      *low = _mm512_maskz_unpacklo_epi32(kAll16, a, b);
      *high = _mm512_maskz_unpackhi_epi32(kAll16, a, b);
    } else {
      *low = _mm512_maskz_unpacklo_epi64(kAll8, a, b);
      *high = _mm512_maskz_unpackhi_epi64(kAll8, a, b);
    }
  }
  template <bool kStreams>
  DLBRIDGE_AVX512 DLBRIDGE_INLINE static void Store(char* to, Vector vector) {
    if constexpr (kStreams) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), vector);
    } else {
      _mm512_storeu_si512(to, vector);
    }
  }

 private:
  DLBRIDGE_AVX512 DLBRIDGE_INLINE static __m128i Part(const char* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  DLBRIDGE_AVX512 DLBRIDGE_INLINE static Vector Join(const char* a, const char* b, const char* c,
                                                     const char* d) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(Part(a)), Part(b), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(Part(c)), Part(d), 1);
    return _mm512_maskz_inserti64x4(kAll8, _mm512_castsi256_si512(low), high, 1);
  }
};

#define DLBRIDGE_PARTS Parts2
#define DLBRIDGE_TARGET DLBRIDGE_AVX2
#include "copy/wide_tile_kernel.inc"
#undef DLBRIDGE_PARTS
#undef DLBRIDGE_TARGET
#define DLBRIDGE_PARTS Parts4
#define DLBRIDGE_TARGET DLBRIDGE_AVX512
#include "copy/wide_tile_kernel.inc"
#undef DLBRIDGE_PARTS
#undef DLBRIDGE_TARGET

template <class Parts, bool kStreams>
WideTile TileOf(int64_t item) {
  switch (item) {
    case 1:
      return Tile<Parts, 1, kStreams>::Copy;
    case 2:
      return Tile<Parts, 2, kStreams>::Copy;
    case 4:
      return Tile<Parts, 4, kStreams>::Copy;
    case 8:
      return Tile<Parts, 8, kStreams>::Copy;
    case 16:
      return Tile<Parts, 16, kStreams>::Copy;
    default:
      return nullptr;
  }
}

template <class Parts>
CopyLattice LatticeOf(int64_t item) {
  switch (item) {
    case 1:
      return Squares<Parts, 1>::CopyAll;
    case 2:
      return Squares<Parts, 2>::CopyAll;
    case 4:
      return Squares<Parts, 4>::CopyAll;
    case 8:
      return Squares<Parts, 8>::CopyAll;
    case 16:
      return Squares<Parts, 16>::CopyAll;
    default:
      return nullptr;
  }
}

}  // namespace

WideLattice ChooseWideLattice(int64_t item, int64_t columns) {
  const VectorLevel level = GetVectorLevel();
  const int64_t bytes = columns * item;
  const int64_t halves = (bytes + 31) / 32;
  const int64_t wholes = (bytes + 63) / 64;
  // The last vector overlaps the previous one; a 64-byte vector overlaps more.
  if (level >= VectorLevel::kAvx512Vbmi && bytes >= 64 && 5 * halves >= 8 * wholes) {
    return {LatticeOf<Parts4>(item), true};
  }
  const bool fills = level >= VectorLevel::kAvx2 && bytes >= 32;
  return {fills ? LatticeOf<Parts2>(item) : nullptr, false};
}

ChosenTile ChooseWideTile(int64_t item) {
  const VectorLevel level = GetVectorLevel();
  if (level >= VectorLevel::kAvx512Vbmi) {
    return {TileOf<Parts4, false>(item), true, false};
  }
  return {level >= VectorLevel::kAvx2 ? TileOf<Parts2, false>(item) : nullptr, false, false};
}

ChosenTile ChooseStreamingTile(int64_t item, int64_t to_step) {
  const VectorLevel level = GetVectorLevel();
  if (to_step % kLine != 0) {
    return {nullptr, false, false};
  }
  if (level >= VectorLevel::kAvx512Vbmi) {
    return {TileOf<Parts4, true>(item), true, true};
  }
  // Measured: where the lines are whole pages apart, processors with AVX2 stream them slower than
  // they write them to the cache.
  const bool pays = level >= VectorLevel::kAvx2 && to_step % kPage != 0;
  return {pays ? TileOf<Parts2, true>(item) : nullptr, false, true};
}

}  // namespace dlbridge

#else

namespace dlbridge {

ChosenTile ChooseWideTile(int64_t /*item*/) { return {nullptr, false, false}; }
ChosenTile ChooseStreamingTile(int64_t /*item*/, int64_t /*to_step*/) {
  return {nullptr, false, false};
}

WideLattice ChooseWideLattice(int64_t /*item*/, int64_t /*columns*/) { return {nullptr, false}; }

}  // namespace dlbridge

#endif
