// SPDX-License-Identifier: Apache-2.0
#include "copy/vector_level.h"

#include <cstdint>

#if DLBRIDGE_X86_KERNELS
#include <cpuid.h>
#endif

namespace dlbridge {
namespace {

#if DLBRIDGE_X86_KERNELS

// Bits of cpuid, from the processor's manual.
constexpr uint32_t kSsse3 = 1U << 9;     // leaf 1, ecx
constexpr uint32_t kXsaveOn = 1U << 27;  // leaf 1, ecx: the operating system uses xsave
constexpr uint32_t kAvx = 1U << 28;      // leaf 1, ecx
constexpr uint32_t kAvx2 = 1U << 5;      // leaf 7, ebx
constexpr uint32_t kAvx512 = (1U << 16) | (1U << 30) | (1U << 31);  // leaf 7, ebx: F, BW, VL
constexpr uint32_t kVbmi = 1U << 1;                                 // leaf 7, ecx
// Bits of xcr0: the registers that the operating system saves.
constexpr uint32_t kYmm = 0x06;
constexpr uint32_t kZmm = 0xe6;

bool Has(uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; }

uint32_t SavedRegisters() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

VectorLevel Detect() {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !Has(c, kSsse3)) {
    return VectorLevel::kNone;
  }
  const uint32_t saved = Has(c, kXsaveOn | kAvx) ? SavedRegisters() : 0;
  if (!Has(saved, kYmm) || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || !Has(b, kAvx2)) {
    return VectorLevel::kShuffle;
  }
  const bool is_wide = Has(saved, kZmm) && Has(b, kAvx512) && Has(c, kVbmi);
  return is_wide ? VectorLevel::kAvx512Vbmi : VectorLevel::kAvx2;
}

#elif DLBRIDGE_ARM_KERNELS

VectorLevel Detect() { return VectorLevel::kShuffle; }

#else

VectorLevel Detect() { return VectorLevel::kNone; }

#endif

// The processor's level, and the level that tests allow; 0 before the first call. Threads that
// detect the level at the same time store the same value.
int g_best = 0;
int g_limit = static_cast<int>(VectorLevel::kAvx512Vbmi);

// Cached, since a hypervisor may intercept cpuid, which then takes microseconds.
int Best() {
  int best = __atomic_load_n(&g_best, __ATOMIC_RELAXED);
  if (best == 0) {
    best = static_cast<int>(Detect());
    __atomic_store_n(&g_best, best, __ATOMIC_RELAXED);
  }
  return best;
}

}  // namespace

VectorLevel GetVectorLevel() {
  const int best = Best();
  const int limit = __atomic_load_n(&g_limit, __ATOMIC_RELAXED);
  return static_cast<VectorLevel>(best < limit ? best : limit);
}

VectorLevel LimitVectorLevel(VectorLevel level) {
  __atomic_store_n(&g_limit, static_cast<int>(level), __ATOMIC_RELAXED);
  return GetVectorLevel();
}

}  // namespace dlbridge
