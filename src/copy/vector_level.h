// SPDX-License-Identifier: Apache-2.0
// The vector instructions that the processor and the operating system support.
//
// Kernels for other processors than the baseline's have the attribute `target`, so that all files
// are compiled with the same options.
#ifndef DLBRIDGE_SRC_COPY_VECTOR_LEVEL_H_
#define DLBRIDGE_SRC_COPY_VECTOR_LEVEL_H_

// Without __builtin_shufflevector, as in gcc before 12, elements are copied one by one.
#if !defined(DLBRIDGE_SHUFFLES) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define DLBRIDGE_SHUFFLES 1
#endif
#endif
#ifndef DLBRIDGE_SHUFFLES
#define DLBRIDGE_SHUFFLES 0
#endif

#if DLBRIDGE_SHUFFLES && defined(__x86_64__)
#define DLBRIDGE_X86_KERNELS 1
#else
#define DLBRIDGE_X86_KERNELS 0
#endif
#if DLBRIDGE_SHUFFLES && defined(__aarch64__)
#define DLBRIDGE_ARM_KERNELS 1
#else
#define DLBRIDGE_ARM_KERNELS 0
#endif

namespace dlbridge {

// A level includes all lower ones.
enum class VectorLevel : int {
  kNone = 1,    // the baseline of the architecture
  kShuffle,     // byte shuffles of 16 bytes: SSSE3, NEON
  kAvx2,        // vectors of 32 bytes
  kAvx512Vbmi,  // F, BW, VL and VBMI: vectors of 64 bytes with masks and byte shuffles
};

// Asks the processor at the first call.
VectorLevel GetVectorLevel();

// For tests: from now on GetVectorLevel returns `level`, or the processor's level if that is lower.
// Returns what GetVectorLevel returns from now on.
VectorLevel LimitVectorLevel(VectorLevel level);

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_VECTOR_LEVEL_H_
