// SPDX-License-Identifier: Apache-2.0
// The kernels of a plane: they copy single elements, small squares, and rows.
//
// Vectors are the vector types of gcc and clang, 16 bytes wide, which every x86-64 and 64-bit Arm
// processor supports. Wider vectors gained nothing (measured) for data that is not in the cache.
#ifndef DLBRIDGE_SRC_COPY_COPY_KERNELS_H_
#define DLBRIDGE_SRC_COPY_COPY_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "copy/vector_level.h"
#include "support/checked.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace dlbridge {

// ------------------------------------------------------------------------------- one element

// Each of these moves one element. Elements need no alignment.
template <class T>
struct MoveWhole {
  explicit MoveWhole(int64_t /*item*/) {}
  DLBRIDGE_INLINE void operator()(const char* from, char* to) const {
    std::memcpy(to, from, sizeof(T));
  }
};

// For elements of sizeof(T) to 2 * sizeof(T) bytes: moves both ends, which may overlap.
template <class T>
struct MoveEnds {
  explicit MoveEnds(int64_t item) : tail(item - static_cast<int64_t>(sizeof(T))) {}
  DLBRIDGE_INLINE void operator()(const char* from, char* to) const {
    std::memcpy(to, from, sizeof(T));
    std::memcpy(to + tail, from + tail, sizeof(T));
  }
  int64_t tail;
};

struct Bytes16 {
  uint64_t halves[2];
};

// ------------------------------------------------------------------------------- vectors

// A vector of 16 bytes with elements of type T.
template <class T>
struct VectorOf {
  static constexpr size_t Lanes() { return 16 / sizeof(T); }
  typedef T Type __attribute__((vector_size(16)));  // NOLINT(modernize-use-using): an attribute
  using Indices = std::make_index_sequence<Lanes()>;
};

template <>
struct VectorOf<Bytes16> {
  static constexpr size_t Lanes() { return 1; }
  using Type = VectorOf<uint64_t>::Type;
};

template <class T>
DLBRIDGE_INLINE typename VectorOf<T>::Type Load(const char* from) {
  typename VectorOf<T>::Type vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

// Ordinary stores, through the cache.
struct Cached {
  template <class Vector>
  DLBRIDGE_INLINE static void Store(char* to, Vector vector) {
    std::memcpy(to, &vector, sizeof vector);
  }
};

#if defined(__SSE2__)
// Stores that bypass the cache, so that the lines of the target are not read first. `to` must be
// aligned to 16 bytes, and EndStreaming of stream_copy.h must be called at the end.
struct Streamed {
  template <class Vector>
  DLBRIDGE_INLINE static void Store(char* to, Vector vector) {
    __m128i bits;
    std::memcpy(&bits, &vector, sizeof bits);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), bits);
  }
};
#else
using Streamed = Cached;
#endif

#if DLBRIDGE_SHUFFLES

template <class T, size_t... i>
DLBRIDGE_INLINE typename VectorOf<T>::Type InterleaveLow(typename VectorOf<T>::Type a,
                                                         typename VectorOf<T>::Type b,
                                                         std::index_sequence<i...> /*lanes*/) {
  return __builtin_shufflevector(a, b, (i % 2) * sizeof...(i) + i / 2 ...);
}
template <class T, size_t... i>
DLBRIDGE_INLINE typename VectorOf<T>::Type InterleaveHigh(typename VectorOf<T>::Type a,
                                                          typename VectorOf<T>::Type b,
                                                          std::index_sequence<i...> /*lanes*/) {
  return __builtin_shufflevector(a, b, (i % 2) * sizeof...(i) + (sizeof...(i) + i) / 2 ...);
}
template <class T, size_t... i>
DLBRIDGE_INLINE typename VectorOf<T>::Type EvenLanes(typename VectorOf<T>::Type a,
                                                     typename VectorOf<T>::Type b,
                                                     std::index_sequence<i...> /*lanes*/) {
  return __builtin_shufflevector(a, b, 2 * i...);
}

// Swaps the halves of each lane of type T.
template <class T>
DLBRIDGE_INLINE typename VectorOf<T>::Type SwapHalves(typename VectorOf<T>::Type a) {
  return (a << (4 * sizeof(T))) | (a >> (4 * sizeof(T)));
}

// Written out for elements below 32 bits, for which gcc would split the vector.
template <class T>
DLBRIDGE_INLINE typename VectorOf<T>::Type ReverseLanes(typename VectorOf<T>::Type a) {
  if constexpr (sizeof(T) == 16) {
    return a;
  } else if constexpr (sizeof(T) == 8) {
    return __builtin_shufflevector(a, a, 1, 0);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_shufflevector(a, a, 3, 2, 1, 0);
  } else {
    using Double = std::conditional_t<sizeof(T) == 1, uint16_t, uint32_t>;
    const auto doubles = reinterpret_cast<typename VectorOf<Double>::Type>(a);
    return reinterpret_cast<typename VectorOf<T>::Type>(
        SwapHalves<Double>(ReverseLanes<Double>(doubles)));
  }
}

// A square with as many rows as a vector has lanes. Each round of the transposition interleaves the
// rows of both halves; after log2(lanes) rounds the rows are columns.
template <class T>
class Square {
  using Vector = typename VectorOf<T>::Type;
  using Lanes = typename VectorOf<T>::Indices;
  static constexpr size_t Count() { return VectorOf<T>::Lanes(); }

 public:
  DLBRIDGE_INLINE void Load(const char* from, int64_t step) { LoadAll(from, step, Lanes()); }
  DLBRIDGE_INLINE void Transpose() { Rounds<Count()>(); }
  DLBRIDGE_INLINE void Store(char* to, int64_t step) const { StoreAll(to, step, Lanes()); }
  // As Load and Store, with a table of offsets instead of a step.
  DLBRIDGE_INLINE void Gather(const char* from, const int64_t* at) { GatherAll(from, at, Lanes()); }
  DLBRIDGE_INLINE void Scatter(char* to, const int64_t* at) const { ScatterAll(to, at, Lanes()); }

 private:
  template <size_t... i>
  DLBRIDGE_INLINE void LoadAll(const char* from, int64_t step, std::index_sequence<i...> /*rows*/) {
    ((row_[i] = dlbridge::Load<T>(from + static_cast<int64_t>(i) * step)), ...);
  }
  template <size_t... i>
  DLBRIDGE_INLINE void StoreAll(char* to, int64_t step, std::index_sequence<i...> /*rows*/) const {
    (Cached::Store(to + static_cast<int64_t>(i) * step, row_[i]), ...);
  }
  template <size_t... i>
  DLBRIDGE_INLINE void GatherAll(const char* from, const int64_t* at,
                                 std::index_sequence<i...> /*rows*/) {
    ((row_[i] = dlbridge::Load<T>(from + at[i])), ...);
  }
  template <size_t... i>
  DLBRIDGE_INLINE void ScatterAll(char* to, const int64_t* at,
                                  std::index_sequence<i...> /*rows*/) const {
    (Cached::Store(to + at[i], row_[i]), ...);
  }
  template <size_t kLeft>
  DLBRIDGE_INLINE void Rounds() {
    if constexpr (kLeft > 1) {
      Interleave(std::make_index_sequence<Count() / 2>());
      Rounds<kLeft / 2>();
    }
  }
  template <size_t... i>
  DLBRIDGE_INLINE void Interleave(std::index_sequence<i...> /*pairs*/) {
    const Vector low[] = {InterleaveLow<T>(row_[i], row_[i + Count() / 2], Lanes())...};
    const Vector high[] = {InterleaveHigh<T>(row_[i], row_[i + Count() / 2], Lanes())...};
    ((row_[2 * i] = low[i], row_[2 * i + 1] = high[i]), ...);
  }

  Vector row_[Count()];
};

template <>
class Square<Bytes16> {
 public:
  DLBRIDGE_INLINE void Load(const char* from, int64_t /*step*/) {
    std::memcpy(&item_, from, sizeof item_);
  }
  DLBRIDGE_INLINE void Transpose() {}
  DLBRIDGE_INLINE void Store(char* to, int64_t /*step*/) const {
    std::memcpy(to, &item_, sizeof item_);
  }

 private:
  Bytes16 item_;
};

#endif  // DLBRIDGE_SHUFFLES

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_COPY_KERNELS_H_
