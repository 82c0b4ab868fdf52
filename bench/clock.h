// SPDX-License-Identifier: Apache-2.0
// Nanoseconds of a clock of the system, such as the CPU time of the process or of the thread.
#ifndef DLBRIDGE_BENCH_CLOCK_H_
#define DLBRIDGE_BENCH_CLOCK_H_

#include <time.h>

namespace dlbridge_bench {

inline double Now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

inline double CpuTime() { return Now(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace dlbridge_bench

#endif  // DLBRIDGE_BENCH_CLOCK_H_
