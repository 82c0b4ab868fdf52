// SPDX-License-Identifier: Apache-2.0
#include "copy/byte_shuffle.h"

#include <cstring>
#include <utility>

#include "copy/copy_kernels.h"
#include "support/checked.h"

#if DLBRIDGE_X86_KERNELS
#include <immintrin.h>
#elif DLBRIDGE_ARM_KERNELS
#include <arm_neon.h>
#endif

namespace dlbridge {

#if DLBRIDGE_X86_KERNELS || DLBRIDGE_ARM_KERNELS

namespace {

// ------------------------------------------------------------------------------- planning

constexpr uint8_t kElsewhere = 0x80;

// The elements of a vector in ascending order of their source offsets: axes with longer distances
// are outer loops. If an axis reaches past the step of an outer one, the elements are not in order;
// the result is still correct, but there are more windows than necessary.
class Elements {
 public:
  Elements(const Group& group, int64_t groups, int64_t step) {
    for (int i = 0; i < group.axes; ++i) {
      Insert(group.axis[i]);
    }
    if (groups > 1) {
      Insert({groups, step, group.bytes});
    }
  }

  int64_t from() const { return from_; }
  int64_t to() const { return to_; }

  // False after the last element.
  bool Next() {
    for (int i = count_ - 1; i >= 0; --i) {
      from_ += axis_[i].from;
      to_ += axis_[i].to;
      if (++index_[i] < axis_[i].extent) {
        return true;
      }
      from_ -= axis_[i].from * axis_[i].extent;
      to_ -= axis_[i].to * axis_[i].extent;
      index_[i] = 0;
    }
    return false;
  }

 private:
  void Insert(PlaneAxis axis) {
    if (axis.from < 0) {
      from_ += (axis.extent - 1) * axis.from;
      to_ += (axis.extent - 1) * axis.to;
      axis.from = -axis.from;
      axis.to = -axis.to;
    }
    int at = count_++;
    for (; at > 0 && axis_[at - 1].from < axis.from; --at) {
      axis_[at] = axis_[at - 1];
    }
    axis_[at] = axis;
  }

  int count_ = 0;
  int64_t from_ = 0;
  int64_t to_ = 0;
  PlaneAxis axis_[kMaxGroupAxes + 1];
  int64_t index_[kMaxGroupAxes + 1] = {};
};

// A window without bytes of the target.
void OpenWindow(int64_t offset, int window, Shuffle* out) {
  out->offset[window] = offset;
  out->length[window] = 0;
  out->used[window] = 0;
  std::memset(out->place[window], kElsewhere, kMaxVector);
}

void AssignByte(int64_t to, int64_t window, int64_t place, Shuffle* out) {
  const auto end = static_cast<uint8_t>(place + 1);
  out->place[window][to] = static_cast<uint8_t>(place);
  out->length[window] = end > out->length[window] ? end : out->length[window];
  out->used[window] |= uint64_t{1} << to;
}

// Assigns one byte of the target to the current window, or to a new one if that does not reach it.
// Returns false if there would be too many windows.
bool PlaceByte(int64_t from, int64_t to, Shuffle* out) {
  int window = out->windows - 1;
  if (window < 0 || from < out->offset[window] || from - out->offset[window] >= out->width) {
    if (out->windows == kMaxWindows) {
      return false;
    }
    window = out->windows++;
    OpenWindow(from, window, out);
  }
  AssignByte(to, window, from - out->offset[window], out);
  return true;
}

bool PlanVector(const Group& group, const GroupRow& row, int64_t groups, Shuffle* out) {
  out->groups = groups;
  out->from_step = groups * row.from;
  out->to_step = groups * group.bytes;
  out->windows = 0;
  out->is_joined = false;
  Elements elements(group, groups, row.from);
  do {
    for (int64_t byte = 0; byte < group.item; ++byte) {
      if (!PlaceByte(elements.from() + byte, elements.to() + byte, out)) {
        return false;
      }
    }
  } while (elements.Next());
  out->reach = INT64_MIN;
  for (int i = 0; i < out->windows; ++i) {
    const int64_t end = out->offset[i] + out->width;
    out->reach = end > out->reach ? end : out->reach;
  }
  return true;
}

#if DLBRIDGE_X86_KERNELS

// The window and place of each target byte, as if the windows followed each other without gaps.
class Joining {
 public:
  explicit Joining(const Shuffle& plan) : bytes_(plan.to_step) {
    for (int64_t to = 0; to < bytes_; ++to) {
      int k = 0;
      while (((plan.used[k] >> to) & 1) == 0) {
        ++k;
      }
      const int64_t from = plan.offset[k] - plan.offset[0] + plan.place[k][to];
      window_[to] = from / plan.width;
      place_[to] = from % plan.width;
      windows_ = window_[to] >= windows_ ? window_[to] + 1 : windows_;
    }
  }

  // True if all places differ and all windows are used.
  bool Works() const {
    uint64_t places = 0;
    uint64_t windows = 0;
    for (int64_t to = 0; to < bytes_; ++to) {
      const uint64_t place = uint64_t{1} << place_[to];
      if (window_[to] >= kMaxJoined || (places & place) != 0) {
        return false;
      }
      places |= place;
      windows |= uint64_t{1} << window_[to];
    }
    return windows + 1 == uint64_t{1} << windows_;
  }

  void Apply(Shuffle* out) const {
    out->is_joined = true;
    out->windows = static_cast<int>(windows_);
    std::memset(out->joined_place, 0, sizeof out->joined_place);
    std::memset(out->taken, 0, sizeof out->taken);
    const int64_t first = out->offset[0];
    for (int k = 0; k < out->windows; ++k) {
      OpenWindow(first + k * out->width, k, out);
    }
    out->reach = first + windows_ * out->width;
    for (int64_t to = 0; to < bytes_; ++to) {
      AssignByte(to, window_[to], place_[to], out);
      out->joined_place[to] = static_cast<uint8_t>(place_[to]);
      out->taken[window_[to]][place_[to]] = 0xff;
    }
  }

 private:
  int64_t bytes_;
  int64_t windows_ = 0;
  int64_t window_[kMaxVector];
  int64_t place_[kMaxVector];
};

// Joins the windows if no two of them write the same position of the target. Example: every third
// element of a row.
void JoinWindows(Shuffle* out) {
  if (out->windows > 1 && out->windows <= kMaxJoined && out->width <= kMaxJoinedWidth &&
      GetVectorLevel() >= VectorLevel::kAvx2) {
    const Joining joining(*out);
    if (joining.Works()) {
      joining.Apply(out);
    }
  }
}

#else

void JoinWindows(Shuffle* /*out*/) {}

#endif

// ------------------------------------------------------------------------------- vectors

#if DLBRIDGE_X86_KERNELS

#define DLBRIDGE_SSSE3 __attribute__((target("ssse3")))
#define DLBRIDGE_AVX2 __attribute__((target("avx2")))
#define DLBRIDGE_VBMI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

struct Vector16 {
  __m128i bits;

  DLBRIDGE_SSSE3 DLBRIDGE_INLINE static Vector16 Load(const void* from) {
    return {_mm_loadu_si128(static_cast<const __m128i*>(from))};
  }
  DLBRIDGE_SSSE3 DLBRIDGE_INLINE static Vector16 Pick(Vector16 window, Vector16 place) {
    return {_mm_shuffle_epi8(window.bits, place.bits)};
  }
  DLBRIDGE_SSSE3 DLBRIDGE_INLINE static Vector16 Join(Vector16 a, Vector16 b) {
    return {_mm_or_si128(a.bits, b.bits)};
  }
  DLBRIDGE_SSSE3 DLBRIDGE_INLINE void Store(char* to) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bits);
  }
};

#else

#define DLBRIDGE_SSSE3

struct Vector16 {
  uint8x16_t bits;

  DLBRIDGE_INLINE static Vector16 Load(const void* from) {
    return {vld1q_u8(static_cast<const uint8_t*>(from))};
  }
  DLBRIDGE_INLINE static Vector16 Pick(Vector16 window, Vector16 place) {
    return {vqtbl1q_u8(window.bits, place.bits)};
  }
  DLBRIDGE_INLINE static Vector16 Join(Vector16 a, Vector16 b) {
    return {vorrq_u8(a.bits, b.bits)};
  }
  DLBRIDGE_INLINE void Store(char* to) const { vst1q_u8(reinterpret_cast<uint8_t*>(to), bits); }
};

#endif

// Copies `bytes` bytes, at most 32 and at least 1.
DLBRIDGE_INLINE void CopyShort(const char* from, char* to, int64_t bytes) {
  if (bytes >= 16) {
    MoveEnds<Bytes16>{bytes}(from, to);
  } else if (bytes >= 8) {
    MoveEnds<uint64_t>{bytes}(from, to);
  } else if (bytes >= 4) {
    MoveEnds<uint32_t>{bytes}(from, to);
  } else if (bytes >= 2) {
    MoveEnds<uint16_t>{bytes}(from, to);
  } else {
    *to = *from;
  }
}

struct Step {
  int64_t from;
  int64_t to;
};

// The vectors that a kernel copies. All rows have the same ones.
struct Vectors {
  PlaneAxis rows;
  int64_t count;  // of a row; at least one
  Step step;      // from one to the next
  bool has_last;  // one more, which may begin in the vector before it
  Step last;      // where it is, from the first group of the row
  Step gap;       // where the vectors are pairs: from the first of a pair to the second
  Step last_gap;  // the same in the last pair
};

// Vectors at the constant distance `step`.
struct Run {
  const char* from;
  char* to;
  int64_t count;
  Step gap;

  DLBRIDGE_INLINE void Next(const Step& step) {
    --count;
    from += step.from;
    to += step.to;
  }
};

// The vectors of all rows: each row has one run, and another one if there is a last vector. The
// kernels loop over them, since the positions of bytes take as long to load as a few vectors to
// copy.
class Runs {
 public:
  DLBRIDGE_INLINE Runs(const Vectors& vectors, const char* from, char* to)
      : vectors_(vectors), rows_(vectors.rows.extent), from_(from), to_(to) {}

  DLBRIDGE_INLINE Run run() const {
    // Field by field: compilers copy a whole Step through memory for each row.
    if (is_last_) {
      return {from_ + vectors_.last.from,
              to_ + vectors_.last.to,
              1,
              {vectors_.last_gap.from, vectors_.last_gap.to}};
    }
    return {from_, to_, vectors_.count, {vectors_.gap.from, vectors_.gap.to}};
  }
  const Step& step() const { return vectors_.step; }

  // False after the last run.
  DLBRIDGE_INLINE bool Next() {
    is_last_ = vectors_.has_last && !is_last_;
    if (is_last_) {
      return true;
    }
    if (--rows_ == 0) {
      return false;
    }
    from_ += vectors_.rows.from;
    to_ += vectors_.rows.to;
    return true;
  }

 private:
  const Vectors& vectors_;
  int64_t rows_;
  const char* from_;
  char* to_;
  bool is_last_ = false;
};

using CopyVectors = void (*)(const Shuffle& plan, const Vectors& vectors, const char* from,
                             char* to);

// The function of a kernel for a number of windows: Kernel::Fixed with their positions in
// registers, or Kernel::Any.
template <class Kernel, size_t... k>
void CallFixed(const Shuffle& plan, const Vectors& vectors, const char* from, char* to) {
  Kernel::Fixed(plan, vectors, from, to, std::index_sequence<k...>());
}
template <class Kernel>
CopyVectors ChooseVectors(int windows) {
  switch (windows) {
    case 1:
      return CallFixed<Kernel, 0>;
    case 2:
      return CallFixed<Kernel, 0, 1>;
    case 3:
      return CallFixed<Kernel, 0, 1, 2>;
    case 4:
      return CallFixed<Kernel, 0, 1, 2, 3>;
    default:
      return Kernel::Any;
  }
}

// The kernels of one kind of vectors. `Fixed` and `Any` copy vectors that are followed by enough
// memory that windows and vectors can be loaded and stored completely. `Exact` copies one vector
// and touches only bytes of its groups.
struct Kernel16 {
  using Plan = const Shuffle&;

  template <size_t... k>
  DLBRIDGE_SSSE3 static void Fixed(Plan plan, const Vectors& vectors, const char* from, char* to,
                                   std::index_sequence<k...> /*windows*/) {
    const Vector16 places[] = {Vector16::Load(plan.place[k])...};
    const int64_t offsets[] = {plan.offset[k]...};
    Runs runs(vectors, from, to);
    const Step step = runs.step();
    do {
      for (Run run = runs.run(); run.count > 0; run.Next(step)) {
        Vector16 vector = Vector16::Pick(Vector16::Load(run.from + offsets[0]), places[0]);
        ((k == 0 ? void()
                 : void(vector = Vector16::Join(
                            vector,
                            Vector16::Pick(Vector16::Load(run.from + offsets[k]), places[k])))),
         ...);
        vector.Store(run.to);
      }
    } while (runs.Next());
  }
  DLBRIDGE_SSSE3 static void Any(Plan plan, const Vectors& vectors, const char* from, char* to) {
    Runs runs(vectors, from, to);
    const Step step = runs.step();
    do {
      for (Run run = runs.run(); run.count > 0; run.Next(step)) {
        Vector16 vector = Vector16::Pick(Vector16::Load(run.from + plan.offset[0]),
                                         Vector16::Load(plan.place[0]));
        for (int k = 1; k < plan.windows; ++k) {
          const Vector16 window = Vector16::Load(run.from + plan.offset[k]);
          vector = Vector16::Join(vector, Vector16::Pick(window, Vector16::Load(plan.place[k])));
        }
        vector.Store(run.to);
      }
    } while (runs.Next());
  }
  DLBRIDGE_SSSE3 static void Exact(Plan plan, const char* from, char* to) {
    char buffer[16] = {};
    CopyShort(from + plan.offset[0], buffer, plan.length[0]);
    Vector16 vector = Vector16::Pick(Vector16::Load(buffer), Vector16::Load(plan.place[0]));
    for (int k = 1; k < plan.windows; ++k) {
      CopyShort(from + plan.offset[k], buffer, plan.length[k]);
      const Vector16 place = Vector16::Load(plan.place[k]);
      vector = Vector16::Join(vector, Vector16::Pick(Vector16::Load(buffer), place));
    }
    vector.Store(buffer);
    CopyShort(buffer, to, plan.to_step);
  }
};

#if DLBRIDGE_X86_KERNELS

// If the number of vectors is odd, one is copied twice.
DLBRIDGE_INLINE Vectors PairsOf(const Vectors& vectors) {
  const Step step = {vectors.step.from, vectors.step.to};
  const int64_t first_of_last = vectors.count - (vectors.has_last ? 1 : 2);
  const Step last = {first_of_last * step.from, first_of_last * step.to};
  Step last_gap = {vectors.last.from - last.from, vectors.last.to - last.to};
  if (!vectors.has_last) {
    const int64_t distance = vectors.count > 1 ? 1 : 0;
    last_gap = {distance * step.from, distance * step.to};
  }
  const bool has_pairs = vectors.count > 1;
  return {{vectors.rows.extent, vectors.rows.from, vectors.rows.to},
          has_pairs ? vectors.count / 2 : 1,
          {2 * step.from, 2 * step.to},
          has_pairs && (vectors.has_last || vectors.count % 2 != 0),
          {last.from, last.to},
          {has_pairs ? step.from : last_gap.from, has_pairs ? step.to : last_gap.to},
          {last_gap.from, last_gap.to}};
}

// Two vectors of Kernel16 at a time, one in each half of a register.
struct KernelPairs {
  using Plan = const Shuffle&;

  template <size_t... k>
  DLBRIDGE_AVX2 static void Fixed(Plan plan, const Vectors& vectors, const char* from, char* to,
                                  std::index_sequence<k...> windows) {
    const __m256i places[] = {Twice(plan.place[k])...};
    const int64_t offsets[] = {plan.offset[k]...};
    const Vectors pairs = PairsOf(vectors);
    Runs runs(pairs, from, to);
    const Step step = runs.step();
    do {
      const Run run = runs.run();
      if (run.gap.to == 16) {
        CopyRun<true>(run, step, places, offsets, windows);
      } else {
        CopyRun<false>(run, step, places, offsets, windows);
      }
    } while (runs.Next());
  }
  DLBRIDGE_AVX2 static void Any(Plan plan, const Vectors& vectors, const char* from, char* to) {
    const Vectors pairs = PairsOf(vectors);
    Runs runs(pairs, from, to);
    const Step step = runs.step();
    do {
      for (Run run = runs.run(); run.count > 0; run.Next(step)) {
        __m256i pair = _mm256_setzero_si256();
        for (int k = 0; k < plan.windows; ++k) {
          const __m256i window = Both(run.from + plan.offset[k], run.gap.from);
          pair = _mm256_or_si256(pair, _mm256_shuffle_epi8(window, Twice(plan.place[k])));
        }
        Store<false>(pair, run.to, run.gap.to);
      }
    } while (runs.Next());
  }
  static void Exact(Plan plan, const char* from, char* to) { Kernel16::Exact(plan, from, to); }

 protected:
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static __m256i Twice(const uint8_t* place) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(place)));
  }
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static __m256i Both(const char* from, int64_t step) {
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + step));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
  }
  // Two vectors that are adjacent need only one store of 32 bytes. Otherwise the first may overlap
  // the second, so that their order matters.
  template <bool kAdjacent>
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static void Store(__m256i pair, char* to, int64_t step) {
    if constexpr (kAdjacent) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), pair);
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(pair));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + step), _mm256_extracti128_si256(pair, 1));
    }
  }

 private:
  template <bool kAdjacent, size_t... k>
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static void CopyRun(Run run, const Step& step,
                                                    const __m256i* places, const int64_t* offsets,
                                                    std::index_sequence<k...> /*windows*/) {
    for (; run.count > 0; run.Next(step)) {
      __m256i pair = _mm256_shuffle_epi8(Both(run.from + offsets[0], run.gap.from), places[0]);
      ((k == 0 ? void()
               : void(pair = _mm256_or_si256(
                          pair, _mm256_shuffle_epi8(Both(run.from + offsets[k], run.gap.from),
                                                    places[k])))),
       ...);
      Store<kAdjacent>(pair, run.to, run.gap.to);
    }
  }
};

// As KernelPairs, for windows that are joined first.
struct KernelJoinedPairs : KernelPairs {
  template <size_t... k>
  DLBRIDGE_AVX2 static void Fixed(Plan plan, const Vectors& vectors, const char* from, char* to,
                                  std::index_sequence<k...> windows) {
    const __m256i masks[] = {Twice(plan.taken[k])...};
    const __m256i places = Twice(plan.joined_place);
    const int64_t offset = plan.offset[0];
    const Vectors pairs = PairsOf(vectors);
    Runs runs(pairs, from, to);
    const Step step = runs.step();
    do {
      const Run run = runs.run();
      if (run.gap.to == 16) {
        CopyRun<true>(run, step, offset, masks, places, windows);
      } else {
        CopyRun<false>(run, step, offset, masks, places, windows);
      }
    } while (runs.Next());
  }

 private:
  template <bool kAdjacent, size_t... k>
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static void CopyRun(Run run, const Step& step, int64_t offset,
                                                    const __m256i* masks, __m256i places,
                                                    std::index_sequence<k...> /*windows*/) {
    for (; run.count > 0; run.Next(step)) {
      __m256i pair = Both(run.from + offset, run.gap.from);
      ((k == 0
            ? void()
            : void(pair = _mm256_blendv_epi8(
                       pair, Both(run.from + offset + 16 * static_cast<int64_t>(k), run.gap.from),
                       masks[k]))),
       ...);
      Store<kAdjacent>(_mm256_shuffle_epi8(pair, places), run.to, run.gap.to);
    }
  }
};

// Without unrolling, the loop over one window takes up to 1.25 times as long at some code addresses
// (measured).
#if defined(__clang__)
#define DLBRIDGE_UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define DLBRIDGE_UNROLL_TWICE _Pragma("GCC unroll 2")
#endif

// Permutes words of 4 bytes, for which AVX2 has an instruction that crosses the halves of a
// register.
struct Kernel32 {
  using Plan = const Shuffle&;

  template <size_t... k>
  DLBRIDGE_AVX2 static void Fixed(Plan plan, const Vectors& vectors, const char* from, char* to,
                                  std::index_sequence<k...> windows) {
    const __m256i places[] = {Words(plan.place[k])...};
    const __m256i used[] = {Used(plan.place[k])...};
    const int64_t offsets[] = {plan.offset[k]...};
    const Step step = vectors.step;
    // Without `Runs`: many rows of few words are one vector and the last one.
    for (int64_t r = 0; r < vectors.rows.extent; ++r) {
      const char* source = from + r * vectors.rows.from;
      char* target = to + r * vectors.rows.to;
      DLBRIDGE_UNROLL_TWICE
      for (Run run = {source, target, vectors.count, {}}; run.count > 0; run.Next(step)) {
        CopyVector(run.from, run.to, places, used, offsets, windows);
      }
      if (vectors.has_last) {
        CopyVector(source + vectors.last.from, target + vectors.last.to, places, used, offsets,
                   windows);
      }
    }
  }
  DLBRIDGE_AVX2 static void Any(Plan plan, const Vectors& vectors, const char* from, char* to) {
    Runs runs(vectors, from, to);
    const Step step = runs.step();
    do {
      for (Run run = runs.run(); run.count > 0; run.Next(step)) {
        __m256i vector = _mm256_setzero_si256();
        for (int k = 0; k < plan.windows; ++k) {
          vector = Pick(vector, run.from + plan.offset[k], plan.place[k]);
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(run.to), vector);
      }
    } while (runs.Next());
  }
  DLBRIDGE_AVX2 static void Exact(Plan plan, const char* from, char* to) {
    char buffer[32] = {};
    __m256i vector = _mm256_setzero_si256();
    for (int k = 0; k < plan.windows; ++k) {
      CopyShort(from + plan.offset[k], buffer, plan.length[k]);
      vector = Pick(vector, buffer, plan.place[k]);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(buffer), vector);
    CopyShort(buffer, to, plan.to_step);
  }

 private:
  template <size_t... k>
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static void CopyVector(const char* from, char* to,
                                                       const __m256i* places, const __m256i* used,
                                                       const int64_t* offsets,
                                                       std::index_sequence<k...> /*windows*/) {
    __m256i vector = _mm256_permutevar8x32_epi32(Load(from + offsets[0]), places[0]);
    ((k == 0 ? void()
             : void(vector = _mm256_blendv_epi8(
                        vector, _mm256_permutevar8x32_epi32(Load(from + offsets[k]), places[k]),
                        used[k]))),
     ...);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), vector);
  }

 protected:
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static __m256i Load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  // The places of the first bytes of the words.
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static __m256i FirstBytes(const uint8_t* place) {
    return _mm256_and_si256(Load(place), _mm256_set1_epi32(0xff));
  }
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static __m256i Words(const uint8_t* place) {
    return _mm256_srli_epi32(FirstBytes(place), 2);
  }
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static __m256i Used(const uint8_t* place) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(kElsewhere), FirstBytes(place));
  }
  DLBRIDGE_AVX2 DLBRIDGE_INLINE static __m256i Pick(__m256i vector, const char* window,
                                                    const uint8_t* place) {
    const __m256i words = _mm256_permutevar8x32_epi32(Load(window), Words(place));
    return _mm256_blendv_epi8(vector, words, Used(place));
  }
};

struct KernelJoined32 : Kernel32 {
  template <size_t... k>
  DLBRIDGE_AVX2 static void Fixed(Plan plan, const Vectors& vectors, const char* from, char* to,
                                  std::index_sequence<k...> /*windows*/) {
    const __m256i masks[] = {Load(plan.taken[k])...};
    const __m256i places = Words(plan.joined_place);
    const int64_t offset = plan.offset[0];
    Runs runs(vectors, from, to);
    const Step step = runs.step();
    do {
      for (Run run = runs.run(); run.count > 0; run.Next(step)) {
        __m256i vector = Load(run.from + offset);
        ((k == 0 ? void()
                 : void(vector = _mm256_blendv_epi8(
                            vector, Load(run.from + offset + 32 * static_cast<int64_t>(k)),
                            masks[k]))),
         ...);
        vector = _mm256_permutevar8x32_epi32(vector, places);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(run.to), vector);
      }
    } while (runs.Next());
  }
};

// The masks `used` keep the target bytes that a window does not provide, so the places of these
// bytes may have any value.
struct Kernel64 {
  using Plan = const Shuffle&;

  template <size_t... k>
  DLBRIDGE_VBMI static void Fixed(Plan plan, const Vectors& vectors, const char* from, char* to,
                                  std::index_sequence<k...> /*windows*/) {
    const __m512i places[] = {_mm512_load_si512(plan.place[k])...};
    const int64_t offsets[] = {plan.offset[k]...};
    const __mmask64 used[] = {plan.used[k]...};
    const __mmask64 stored = Lowest(plan.to_step);
    Runs runs(vectors, from, to);
    const Step step = runs.step();
    do {
      for (Run run = runs.run(); run.count > 0; run.Next(step)) {
        __m512i vector = _mm512_maskz_permutexvar_epi8(~__mmask64{0}, places[0],
                                                       _mm512_loadu_si512(run.from + offsets[0]));
        ((k == 0
              ? void()
              : void(vector = _mm512_mask_permutexvar_epi8(
                         vector, used[k], places[k], _mm512_loadu_si512(run.from + offsets[k])))),
         ...);
        _mm512_mask_storeu_epi8(run.to, stored, vector);
      }
    } while (runs.Next());
  }
  DLBRIDGE_VBMI static void Any(Plan plan, const Vectors& vectors, const char* from, char* to) {
    const __mmask64 stored = Lowest(plan.to_step);
    Runs runs(vectors, from, to);
    const Step step = runs.step();
    do {
      for (Run run = runs.run(); run.count > 0; run.Next(step)) {
        __m512i vector = _mm512_setzero_si512();
        for (int k = 0; k < plan.windows; ++k) {
          vector =
              _mm512_mask_permutexvar_epi8(vector, plan.used[k], _mm512_load_si512(plan.place[k]),
                                           _mm512_loadu_si512(run.from + plan.offset[k]));
        }
        _mm512_mask_storeu_epi8(run.to, stored, vector);
      }
    } while (runs.Next());
  }
  DLBRIDGE_VBMI static void Exact(Plan plan, const char* from, char* to) {
    __m512i vector = _mm512_setzero_si512();
    for (int k = 0; k < plan.windows; ++k) {
      const __m512i window = _mm512_maskz_loadu_epi8(Lowest(plan.length[k]), from + plan.offset[k]);
      vector = _mm512_mask_permutexvar_epi8(vector, plan.used[k], _mm512_load_si512(plan.place[k]),
                                            window);
    }
    _mm512_mask_storeu_epi8(to, Lowest(plan.to_step), vector);
  }

 private:
  DLBRIDGE_INLINE static __mmask64 Lowest(int64_t bytes) { return ~uint64_t{0} >> (64 - bytes); }
};

#endif

// ------------------------------------------------------------------------------- rows

struct Range {
  int64_t begin;
  int64_t end;
};

// The vectors of `vectors` that can be loaded and stored completely.
Range WholeVectors(const Shuffle& plan, int64_t vectors, int64_t source_bytes,
                   int64_t target_bytes) {
  Range whole = {0, target_bytes < plan.width ? 0 : (target_bytes - plan.width) / plan.to_step + 1};
  const int64_t room = source_bytes - plan.reach;  // after the windows of the first vector
  if (plan.from_step > 0) {
    const int64_t end = room < 0 ? 0 : room / plan.from_step + 1;
    whole.end = end < whole.end ? end : whole.end;
  } else if (room < 0) {
    whole.begin = (-room - plan.from_step - 1) / -plan.from_step;
  }
  whole.end = whole.end < vectors ? whole.end : vectors;
  whole.begin = whole.begin < whole.end ? whole.begin : whole.end;
  return whole;
}

// The values that all rows of `groups` groups share.
struct RowWork {
  RowWork(const Shuffle& plan, const PlaneAxis& rows, int64_t groups)
      : bytes(groups * (plan.to_step / plan.groups)) {
    const int64_t rest = groups % plan.groups;
    vectors = {rows, groups / plan.groups, {plan.from_step, plan.to_step}, rest != 0, {}, {}, {}};
    // The last vector ends at the last group: some groups are copied twice.
    const int64_t before = plan.groups - rest;
    vectors.last.from = vectors.count * plan.from_step - before * (plan.from_step / plan.groups);
    vectors.last.to = bytes - plan.to_step;
    const int64_t highest = rest != 0 ? vectors.last.from : (vectors.count - 1) * plan.from_step;
    reach = plan.reach + (plan.from_step > 0 ? highest : 0);
    is_filled = plan.to_step == plan.width;
  }

  Vectors vectors;
  int64_t bytes;   // of the target
  int64_t reach;   // the end of the highest window, from the first group
  bool is_filled;  // vectors write no more than their bytes
};

// Copies a row at the end of the source, or one whose vectors write more than their bytes.
template <class Kernel>
void RunEdge(const Shuffle& plan, const RowWork& work, CopyVectors copy, const char* from, char* to,
             int64_t source_bytes) {
  const int64_t count = work.vectors.count;
  const Range whole = WholeVectors(plan, count, source_bytes, work.bytes);
  const auto exact = [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      Kernel::Exact(plan, from + i * plan.from_step, to + i * plan.to_step);
    }
  };
  exact(0, whole.begin);
  if (whole.begin < whole.end) {
    const Vectors vectors = {{1, 0, 0}, whole.end - whole.begin, work.vectors.step, false, {}, {},
                             {}};
    copy(plan, vectors, from + whole.begin * plan.from_step, to + whole.begin * plan.to_step);
  }
  exact(whole.end, count);
  if (work.vectors.has_last) {
    Kernel::Exact(plan, from + work.vectors.last.from, to + work.vectors.last.to);
  }
}

// The rows whose vectors can all be loaded and stored completely.
Range WholeRows(const RowWork& work, int64_t source_bytes) {
  const PlaneAxis& rows = work.vectors.rows;
  Range whole = {0, work.is_filled ? rows.extent : 0};
  const auto reaches_over = [&](int64_t row) {
    return source_bytes - row * rows.from < work.reach;
  };
  while (whole.begin < whole.end && reaches_over(whole.end - 1)) {
    --whole.end;
  }
  while (whole.begin < whole.end && reaches_over(whole.begin)) {
    ++whole.begin;
  }
  return whole;
}

template <class Kernel>
void RunRows(const Shuffle& plan, const PlaneAxis& rows, int64_t count, const char* from, char* to,
             const char* source_end) {
  RowWork work(plan, rows, count);
  const CopyVectors copy = ChooseVectors<Kernel>(plan.windows);
  const Range whole = WholeRows(work, source_end - from);
  const auto edges = [&](int64_t first, int64_t end) {
    for (int64_t r = first; r < end; ++r) {
      const char* source = from + r * rows.from;
      RunEdge<Kernel>(plan, work, copy, source, to + r * rows.to, source_end - source);
    }
  };
  edges(0, whole.begin);
  edges(whole.end, rows.extent);
  if (whole.begin < whole.end) {
    work.vectors.rows.extent = whole.end - whole.begin;
    copy(plan, work.vectors, from + whole.begin * rows.from, to + whole.begin * rows.to);
  }
}

}  // namespace

int64_t ShuffleWidth(int64_t grain) {
  switch (GetVectorLevel()) {
    case VectorLevel::kAvx512Vbmi:
      return 64;
    case VectorLevel::kAvx2:
      return grain % 4 == 0 ? 32 : 16;
    case VectorLevel::kShuffle:
      return 16;
    default:
      return 0;
  }
}

bool PlanShuffle(const Group& group, const GroupRow& row, int64_t width, Shuffle* out) {
  out->width = width;
  if (width == 0 || row.from == 0) {
    return false;
  }
  int64_t groups = width / group.bytes;
  groups = groups < row.extent ? groups : row.extent;
  for (; groups > 0; groups /= 2) {
    if (PlanVector(group, row, groups, out)) {
      JoinWindows(out);
      // A window costs a load, a shuffle and a join; a single element costs a load and a store.
      const int64_t cost = out->is_joined ? 2 * out->windows : 3 * out->windows;
      return cost + 3 < 2 * (out->to_step / group.item);
    }
  }
  return false;
}

void RunShuffle(const Shuffle& shuffle, const PlaneAxis& rows, int64_t count, const char* from,
                char* to, const char* source_end) {
#if DLBRIDGE_X86_KERNELS
  if (shuffle.width == 64) {
    return RunRows<Kernel64>(shuffle, rows, count, from, to, source_end);
  }
  if (shuffle.width == 32) {
    return shuffle.is_joined ? RunRows<KernelJoined32>(shuffle, rows, count, from, to, source_end)
                             : RunRows<Kernel32>(shuffle, rows, count, from, to, source_end);
  }
  if (GetVectorLevel() >= VectorLevel::kAvx2) {
    return shuffle.is_joined
               ? RunRows<KernelJoinedPairs>(shuffle, rows, count, from, to, source_end)
               : RunRows<KernelPairs>(shuffle, rows, count, from, to, source_end);
  }
#endif
  RunRows<Kernel16>(shuffle, rows, count, from, to, source_end);
}

#else

int64_t ShuffleWidth(int64_t /*grain*/) { return 0; }

bool PlanShuffle(const Group& /*group*/, const GroupRow& /*row*/, int64_t /*width*/,
                 Shuffle* /*out*/) {
  return false;
}

void RunShuffle(const Shuffle& /*shuffle*/, const PlaneAxis& /*rows*/, int64_t /*count*/,
                const char* /*from*/, char* /*to*/, const char* /*source_end*/) {}

#endif

}  // namespace dlbridge
