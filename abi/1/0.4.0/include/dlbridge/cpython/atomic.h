/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Atomic integers and pointers. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_ATOMIC_H_
#define DLBRIDGE_CPYTHON_ATOMIC_H_

#include "dlbridge/cpython/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Atomic integers and pointers without <stdatomic.h>, which C++ and C99 lack. */
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static inline int64_t dlbridge_py_add_(int64_t* value, int64_t more) {
  return _InterlockedExchangeAdd64((volatile __int64*)value, more) + more;
}
static inline void* dlbridge_py_swap_(void** place, void* value) {
  return _InterlockedExchangePointer((void* volatile*)place, value);
}
static inline int dlbridge_py_replace_(void** place, void* expected, void* value) {
  return _InterlockedCompareExchangePointer((void* volatile*)place, value, expected) == expected;
}
static inline int dlbridge_py_load_(int* value) { return _InterlockedOr((volatile long*)value, 0); }
static inline void* dlbridge_py_look_at_(void** place) {
  return _InterlockedCompareExchangePointer((void* volatile*)place, NULL, NULL);
}
static inline void dlbridge_py_store_(int* place, int value) {
  _InterlockedExchange((volatile long*)place, value);
}
#else
static inline int64_t dlbridge_py_add_(int64_t* value, int64_t more) {
  return __atomic_add_fetch(value, more, __ATOMIC_ACQ_REL);
}
static inline void* dlbridge_py_swap_(void** place, void* value) {
  return __atomic_exchange_n(place, value, __ATOMIC_ACQ_REL);
}
static inline int dlbridge_py_replace_(void** place, void* expected, void* value) {
  return __atomic_compare_exchange_n(place, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
static inline int dlbridge_py_load_(int* value) { return __atomic_load_n(value, __ATOMIC_ACQUIRE); }
static inline void* dlbridge_py_look_at_(void** place) {
  return __atomic_load_n(place, __ATOMIC_RELAXED);
}
static inline void dlbridge_py_store_(int* place, int value) {
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
}
#endif

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_ATOMIC_H_ */
