// SPDX-License-Identifier: Apache-2.0
#include "copy/byte_shuffle.h"

#include <cstring>
#include <utility>

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

// The elements of a vector in the order of the source, from the lowest. Axes with a longer distance
// are counted more slowly. That is the order if no axis reaches over the step of a slower one; else
// the result is correct, but there are more windows than necessary.
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

// Assigns one byte of the target to the current window, or to a new one if that does not reach it.
// Returns false if there would be too many windows.
bool PlaceByte(int64_t from, int64_t to, Shuffle* out) {
  int window = out->windows - 1;
  if (window < 0 || from < out->offset[window] || from - out->offset[window] >= out->width) {
    if (out->windows == kMaxWindows) {
      return false;
    }
    window = out->windows++;
    out->offset[window] = from;
    out->length[window] = 0;
    out->used[window] = 0;
    std::memset(out->place[window], kElsewhere, kMaxVector);
  }
  const int64_t place = from - out->offset[window];
  out->place[window][to] = static_cast<uint8_t>(place);
  out->length[window] =
      place >= out->length[window] ? static_cast<uint8_t>(place + 1) : out->length[window];
  out->used[window] |= uint64_t{1} << to;
  return true;
}

bool PlanVector(const Group& group, const GroupRow& row, int64_t groups, Shuffle* out) {
  out->groups = groups;
  out->from_step = groups * row.from;
  out->to_step = groups * group.bytes;
  out->windows = 0;
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

// ------------------------------------------------------------------------------- vectors

#if DLBRIDGE_X86_KERNELS

#define DLBRIDGE_SSSE3 __attribute__((target("ssse3")))
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

// The kernels of one width. `Whole` copies vectors that are followed by enough memory that windows
// and vectors can be loaded and stored completely. `Exact` copies one vector and touches only bytes
// of its groups.
struct Kernel16 {
  using Plan = const Shuffle&;

  template <size_t... k>
  DLBRIDGE_SSSE3 static void Fixed(Plan plan, const char* from, char* to, int64_t vectors,
                                   std::index_sequence<k...> /*windows*/) {
    const Vector16 places[] = {Vector16::Load(plan.place[k])...};
    const int64_t offsets[] = {plan.offset[k]...};
    for (; vectors > 0; --vectors, from += plan.from_step, to += plan.to_step) {
      Vector16 vector = Vector16::Pick(Vector16::Load(from + offsets[0]), places[0]);
      ((k == 0 ? void()
               : void(vector = Vector16::Join(
                          vector, Vector16::Pick(Vector16::Load(from + offsets[k]), places[k])))),
       ...);
      vector.Store(to);
    }
  }
  DLBRIDGE_SSSE3 static void Any(Plan plan, const char* from, char* to, int64_t vectors) {
    for (; vectors > 0; --vectors, from += plan.from_step, to += plan.to_step) {
      Vector16 vector =
          Vector16::Pick(Vector16::Load(from + plan.offset[0]), Vector16::Load(plan.place[0]));
      for (int k = 1; k < plan.windows; ++k) {
        const Vector16 window = Vector16::Load(from + plan.offset[k]);
        vector = Vector16::Join(vector, Vector16::Pick(window, Vector16::Load(plan.place[k])));
      }
      vector.Store(to);
    }
  }
  DLBRIDGE_SSSE3 static void Exact(Plan plan, const char* from, char* to) {
    char buffer[16] = {};
    std::memcpy(buffer, from + plan.offset[0], plan.length[0]);
    Vector16 vector = Vector16::Pick(Vector16::Load(buffer), Vector16::Load(plan.place[0]));
    for (int k = 1; k < plan.windows; ++k) {
      std::memcpy(buffer, from + plan.offset[k], plan.length[k]);
      const Vector16 place = Vector16::Load(plan.place[k]);
      vector = Vector16::Join(vector, Vector16::Pick(Vector16::Load(buffer), place));
    }
    vector.Store(buffer);
    std::memcpy(to, buffer, static_cast<size_t>(plan.to_step));
  }
};

#if DLBRIDGE_X86_KERNELS

// Bytes of the target that a window does not have keep their value (`used`), so that a place is any
// value there.
struct Kernel64 {
  using Plan = const Shuffle&;

  template <size_t... k>
  DLBRIDGE_VBMI static void Fixed(Plan plan, const char* from, char* to, int64_t vectors,
                                  std::index_sequence<k...> /*windows*/) {
    const __m512i places[] = {_mm512_load_si512(plan.place[k])...};
    const int64_t offsets[] = {plan.offset[k]...};
    const __mmask64 used[] = {plan.used[k]...};
    const __mmask64 stored = Lowest(plan.to_step);
    for (; vectors > 0; --vectors, from += plan.from_step, to += plan.to_step) {
      __m512i vector = _mm512_maskz_permutexvar_epi8(~__mmask64{0}, places[0],
                                                     _mm512_loadu_si512(from + offsets[0]));
      ((k == 0 ? void()
               : void(vector = _mm512_mask_permutexvar_epi8(
                          vector, used[k], places[k], _mm512_loadu_si512(from + offsets[k])))),
       ...);
      _mm512_mask_storeu_epi8(to, stored, vector);
    }
  }
  DLBRIDGE_VBMI static void Any(Plan plan, const char* from, char* to, int64_t vectors) {
    const __mmask64 stored = Lowest(plan.to_step);
    for (; vectors > 0; --vectors, from += plan.from_step, to += plan.to_step) {
      __m512i vector = _mm512_setzero_si512();
      for (int k = 0; k < plan.windows; ++k) {
        vector =
            _mm512_mask_permutexvar_epi8(vector, plan.used[k], _mm512_load_si512(plan.place[k]),
                                         _mm512_loadu_si512(from + plan.offset[k]));
      }
      _mm512_mask_storeu_epi8(to, stored, vector);
    }
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

template <class Kernel>
void RunWhole(const Shuffle& plan, const char* from, char* to, int64_t vectors) {
  switch (plan.windows) {
    case 1:
      return Kernel::Fixed(plan, from, to, vectors, std::make_index_sequence<1>());
    case 2:
      return Kernel::Fixed(plan, from, to, vectors, std::make_index_sequence<2>());
    case 3:
      return Kernel::Fixed(plan, from, to, vectors, std::make_index_sequence<3>());
    case 4:
      return Kernel::Fixed(plan, from, to, vectors, std::make_index_sequence<4>());
    default:
      return Kernel::Any(plan, from, to, vectors);
  }
}

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

template <class Kernel>
void RunRow(const Shuffle& plan, const char* from, char* to, int64_t count,
            const char* source_end) {
  const int64_t vectors = count / plan.groups;
  const int64_t bytes = count * (plan.to_step / plan.groups);
  const Range whole = WholeVectors(plan, vectors, source_end - from, bytes);
  const auto exact = [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      Kernel::Exact(plan, from + i * plan.from_step, to + i * plan.to_step);
    }
  };
  exact(0, whole.begin);
  RunWhole<Kernel>(plan, from + whole.begin * plan.from_step, to + whole.begin * plan.to_step,
                   whole.end - whole.begin);
  exact(whole.end, vectors);
  // The last vector ends at the last group: some groups are copied twice.
  const int64_t rest = count % plan.groups;
  if (rest != 0) {
    const int64_t before = plan.groups - rest;
    Kernel::Exact(plan, from + vectors * plan.from_step - before * (plan.from_step / plan.groups),
                  to + vectors * plan.to_step - before * (plan.to_step / plan.groups));
  }
}

}  // namespace

int64_t ShuffleWidth() {
  const VectorLevel level = GetVectorLevel();
  return level >= VectorLevel::kAvx512Vbmi ? 64 : level >= VectorLevel::kShuffle ? 16 : 0;
}

bool PlanShuffle(const Group& group, const GroupRow& row, Shuffle* out) {
  out->width = ShuffleWidth();
  if (out->width == 0 || row.from == 0) {
    return false;
  }
  int64_t groups = out->width / group.bytes;
  groups = groups < row.extent ? groups : row.extent;
  for (; groups > 0; groups /= 2) {
    if (PlanVector(group, row, groups, out)) {
      // A window takes a load and a shuffle, an element a load and a store.
      return int64_t{3} * (out->windows + 1) < 2 * (out->to_step / group.item);
    }
  }
  return false;
}

void RunShuffle(const Shuffle& shuffle, const char* from, char* to, int64_t count,
                const char* source_end) {
#if DLBRIDGE_X86_KERNELS
  if (shuffle.width == 64) {
    RunRow<Kernel64>(shuffle, from, to, count, source_end);
    return;
  }
#endif
  RunRow<Kernel16>(shuffle, from, to, count, source_end);
}

#else

int64_t ShuffleWidth() { return 0; }

bool PlanShuffle(const Group& /*group*/, const GroupRow& /*row*/, Shuffle* /*out*/) {
  return false;
}

void RunShuffle(const Shuffle& /*shuffle*/, const char* /*from*/, char* /*to*/, int64_t /*count*/,
                const char* /*source_end*/) {}

#endif

}  // namespace dlbridge
