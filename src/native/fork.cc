// SPDX-License-Identifier: Apache-2.0
#include "native/fork.h"

#ifndef _WIN32
#include <pthread.h>
#endif

namespace dlbridge {

std::atomic<uint32_t> g_fork_generation;

#ifdef _WIN32

bool WatchForks() { return true; }

#else
namespace {

std::atomic<bool> g_watching;

void InChild() {
  g_fork_generation.fetch_add(1, std::memory_order_relaxed);
  ResetBackendsInChild();
  ResetTableInChild();
  ResetPendingInChild();
}

}  // namespace

bool WatchForks() {
  if (g_watching.load(std::memory_order_acquire)) {
    return true;
  }
  // Two threads may both register the handler. A fork then counts twice, which is harmless.
  if (pthread_atfork(nullptr, nullptr, InChild) != 0) {
    return false;
  }
  g_watching.store(true, std::memory_order_release);
  return true;
}

#endif

}  // namespace dlbridge
