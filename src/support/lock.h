// SPDX-License-Identifier: Apache-2.0
// A lock that needs no initialiser at run time. It is for rare operations; look-ups take no lock.
#ifndef DLBRIDGE_SRC_SUPPORT_LOCK_H_
#define DLBRIDGE_SRC_SUPPORT_LOCK_H_

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <pthread.h>
#endif

namespace dlbridge {

#ifdef _WIN32

class Lock {
 public:
  void Acquire() { AcquireSRWLockExclusive(&lock_); }
  void Release() { ReleaseSRWLockExclusive(&lock_); }

 private:
  SRWLOCK lock_ = SRWLOCK_INIT;
};

#else

class Lock {
 public:
  void Acquire() { pthread_mutex_lock(&mutex_); }
  void Release() { pthread_mutex_unlock(&mutex_); }
  // For a forked child: the thread that held the lock does not exist there.
  void ResetInChild() { pthread_mutex_init(&mutex_, nullptr); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

#endif

class Locked {
 public:
  explicit Locked(Lock* lock) : lock_(lock) { lock_->Acquire(); }
  ~Locked() { lock_->Release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Lock* lock_;
};

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_SUPPORT_LOCK_H_
