// SPDX-License-Identifier: Apache-2.0
// Detects a forked child: drivers do not survive a fork. getpid() would be too expensive.
#ifndef DLBRIDGE_SRC_NATIVE_FORK_H_
#define DLBRIDGE_SRC_NATIVE_FORK_H_

#include <atomic>
#include <cstdint>

namespace dlbridge {

extern std::atomic<uint32_t> g_fork_generation;

// The number of forks between the first process that called WatchForks and this one.
inline uint32_t ForkGeneration() { return g_fork_generation.load(std::memory_order_relaxed); }

// Starts counting; called before the first driver is started. False if there is no memory.
bool WatchForks();

// Called first in a forked child. Locks become free. A backend whose start was in progress in
// another thread counts as started.
void ResetBackendsInChild();
void ResetTableInChild();
// Leaks the tensors that wait for streams: no driver may be called for them.
void ResetPendingInChild();

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_FORK_H_
