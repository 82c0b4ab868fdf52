// SPDX-License-Identifier: Apache-2.0
// Arithmetic that reports overflow, and hints that keep error paths out of the hot path.
#ifndef DLBRIDGE_SRC_SUPPORT_CHECKED_H_
#define DLBRIDGE_SRC_SUPPORT_CHECKED_H_

#include <cstdint>

#define DLBRIDGE_LIKELY(condition) __builtin_expect(!!(condition), true)
#define DLBRIDGE_UNLIKELY(condition) __builtin_expect(!!(condition), false)
#define DLBRIDGE_COLD __attribute__((cold, noinline))
#define DLBRIDGE_NOINLINE __attribute__((noinline))
// Keeps the parameters of a function. gcc removes those that the function does not read, and a
// caller that passes on its own would then move the others.
#if defined(__GNUC__) && !defined(__clang__)
#define DLBRIDGE_NOCLONE __attribute__((noclone))
#else
#define DLBRIDGE_NOCLONE
#endif
// A library without drivers is optimised for its size.
#ifdef DLBRIDGE_WITHOUT_DEVICES
#define DLBRIDGE_INLINE inline
#else
#define DLBRIDGE_INLINE inline __attribute__((always_inline))
#endif
// Makes the compiler forget how an integer was computed. A loop then has one counter instead of a
// pointer for each array, and cheap values are computed again instead of being kept in memory.
#define DLBRIDGE_FORGET(integer) __asm__("" : "+r"(integer))
// DLBRIDGE_FORGET for two integers, after both were computed.
#define DLBRIDGE_FORGET_BOTH(one, other) __asm__("" : "+r"(one), "+r"(other))

namespace dlbridge {

// For sums and products that do not fit 64 bits.
__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): a using alias would warn

// True if the exact result does not fit `*out`.
template <class A, class B, class C>
[[nodiscard]] DLBRIDGE_INLINE bool AddOverflows(A a, B b, C* out) {
  return __builtin_add_overflow(a, b, out);
}

template <class A, class B, class C>
[[nodiscard]] DLBRIDGE_INLINE bool MulOverflows(A a, B b, C* out) {
  return __builtin_mul_overflow(a, b, out);
}

constexpr bool IsPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_CHECKED_H_
