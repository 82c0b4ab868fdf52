// SPDX-License-Identifier: Apache-2.0
#include "thread.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <pthread.h>
#endif

namespace dlbridge_conformance {
namespace {

struct Job {
  void (*work)(void*);
  void* context;
};

#if defined(_WIN32)
DWORD WINAPI Start(void* given) {
  auto* job = static_cast<Job*>(given);
  job->work(job->context);
  return 0;
}
#else
void* Start(void* given) {
  auto* job = static_cast<Job*>(given);
  job->work(job->context);
  return nullptr;
}
#endif

}  // namespace

bool RunOnThread(void (*work)(void*), void* context) {
  Job job = {work, context};
#if defined(_WIN32)
  HANDLE thread = CreateThread(nullptr, 0, Start, &job, 0, nullptr);
  if (thread == nullptr) {
    return false;
  }
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
#else
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Start, &job) != 0) {
    return false;
  }
  pthread_join(thread, nullptr);
#endif
  return true;
}

}  // namespace dlbridge_conformance
