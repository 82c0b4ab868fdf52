// SPDX-License-Identifier: Apache-2.0
// Included before every source. Enables the bounds checks of the C library's functions where the
// compiler knows the bounds. Level 3 would add code to hot paths, which compute sizes at run time.
// The checks need optimisation. A definition on the command line and sanitizers take precedence.
#ifndef DLBRIDGE_SRC_SUPPORT_FORTIFY_H_
#define DLBRIDGE_SRC_SUPPORT_FORTIFY_H_

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DLBRIDGE_IS_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DLBRIDGE_IS_SANITIZED
#endif

#if defined(__OPTIMIZE__) && !defined(_FORTIFY_SOURCE) && !defined(DLBRIDGE_IS_SANITIZED)
#define _FORTIFY_SOURCE 2
#endif

#endif  // DLBRIDGE_SRC_SUPPORT_FORTIFY_H_
