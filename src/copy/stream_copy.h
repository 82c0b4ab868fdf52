// SPDX-License-Identifier: Apache-2.0
// Copies of contiguous memory.
#ifndef DLBRIDGE_SRC_COPY_STREAM_COPY_H_
#define DLBRIDGE_SRC_COPY_STREAM_COPY_H_

#include <cstdint>

namespace dlbridge {

// Like memcpy. From 32 MiB on it is StreamContiguous: memcpy of the C library bypasses the cache
// only from a size that depends on the shared cache, which may be hundreds of MiB.
void CopyContiguous(const char* from, char* to, int64_t bytes);

// Like memcpy, with stores that bypass the cache where the processor has vectors of 32 bytes.
// EndStreaming must be called at the end.
void StreamContiguous(const char* from, char* to, int64_t bytes);

// Orders stores that bypass the cache before later ones, which may tell another thread that the
// copy is complete.
void EndStreaming();

}  // namespace dlbridge

#endif  // DLBRIDGE_SRC_COPY_STREAM_COPY_H_
