// SPDX-License-Identifier: Apache-2.0
// Which process is this? Drivers do not survive a fork, and asking for the pid costs too much.
#ifndef DLBRIDGE_SRC_NATIVE_FORK_H_
#define DLBRIDGE_SRC_NATIVE_FORK_H_

#include <atomic>
#include <cstdint>

namespace dlbridge {

extern std::atomic<uint32_t> g_fork_generation;

// Counts the forks between the first process that watched and this one.
inline uint32_t ForkGeneration() { return g_fork_generation.load(std::memory_order_relaxed); }

// Counts from now on; called before the first driver is started. False where there is no memory.
bool WatchForks();

// What the child does first: locks that were held are free, and a backend that was being started by
// a thread that is gone counts as started.
void ResetBackendsInChild();
void ResetTableInChild();

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_NATIVE_FORK_H_
