// SPDX-License-Identifier: Apache-2.0
#ifndef DLBRIDGE_CONFORMANCE_THREAD_H_
#define DLBRIDGE_CONFORMANCE_THREAD_H_

namespace dlbridge_conformance {

// Runs `work` on a new thread and waits for its end. False if there is none.
bool RunOnThread(void (*work)(void*), void* context);

}  // namespace dlbridge_conformance

#endif  // DLBRIDGE_CONFORMANCE_THREAD_H_
