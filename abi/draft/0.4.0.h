/*
 * SPDX-License-Identifier: Apache-2.0
 * DRAFT of what 0.4.0 may add to ABI 1. It is not installed, not compiled into the library and not
 * a promise: it shows that each planned addition fits ABI 1. tests/headers/draft_test.py compiles
 * it.
 *
 * Two kinds of addition are allowed in ABI 1, and this file has no other:
 *   - a new function, type, constant or option bit, and
 *   - a new field at the end of a struct that begins with `struct_size`.
 * A grown struct is written here under a name of its own, with the fields of 0.3.0 and then the new
 * ones. The checks at the end of this file compare every earlier offset with dlbridge.h.
 */
#ifndef DLBRIDGE_ABI_DRAFT_0_4_0_H_
#define DLBRIDGE_ABI_DRAFT_0_4_0_H_

#include "dlbridge/dlbridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------
 * Stream-ordered copy: a new function. DLBridgeCopySpec and its `stream` are those of 0.3.0.
 * ------------------------------------------------------------------------------------------- */

/** As dlbridge_copy, but returns when the copy is enqueued on `spec->stream`, which must be set.
 * The library shares `source`, which must be dlbridge-owned, until the copy is done, so the caller
 * may release it at once. `*out` may be used by work on that stream; other streams need
 * dlbridge_stream_handoff. Staging is not possible: UNSUPPORTED. */
DLBRIDGE_API DLBridgeStatus dlbridge_copy_async(const DLManagedTensorVersioned* source,
                                                const DLBridgeCopySpec* spec,
                                                DLManagedTensorVersioned** out,
                                                DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * Stream-ordered release: new functions. The callbacks of 0.3.0 already take a stream.
 * ------------------------------------------------------------------------------------------- */

/** Releases `tensor` after the work that is now on each of `count` streams; the host does not wait.
 * Success: `tensor` belongs to the library, whose deleter runs at once with the stream
 * (dlbridge-owned memory whose callback takes one), or in a later dlbridge_stream_collect. Failure:
 * `tensor` is untouched and the caller's. */
DLBRIDGE_API DLBridgeStatus dlbridge_stream_release(DLManagedTensorVersioned* tensor,
                                                    const DLBridgeStream* streams, size_t count,
                                                    DLBridgeError* error);

/** Runs the deleters of tensors whose streams are done, on this thread. `*pending`, unless NULL,
 * receives how many are left. */
DLBRIDGE_API DLBridgeStatus dlbridge_stream_collect(size_t* pending, DLBridgeError* error);

/* ---------------------------------------------------------------------------------------------
 * IPC of memory pools, ordered by events: new option bits, and fields at the end of both specs.
 * The sizes are reported by dlbridge_ipc_export, so a longer descriptor needs no new struct.
 * ------------------------------------------------------------------------------------------- */

/** More bits of DLBridgeIpcExportSpec::options and DLBridgeIpcImportSpec::options. */
enum {
  /** Export: memory of a driver's pool, such as cudaMallocAsync; 0.3.0 rejects it as UNSUPPORTED.
   */
  DLBRIDGE_IPC_POOL = 1 << 9,
  /** Export: put an event after the work on `stream` into the descriptor, instead of requiring that
   * the work is finished. Import: `stream` waits for that event. */
  DLBRIDGE_IPC_EVENT = 1 << 10
};

/** DLBridgeIpcExportSpec of 0.4.0. */
typedef struct DLBridgeIpcExportSpec_0_4 {
  uint32_t struct_size;
  uint32_t options;
  void* buffer;
  size_t buffer_size;
  int32_t* fds;
  size_t fd_capacity;
  const DLBridgeStream* stream; /**< Queue of the work; read with EVENT, must be NULL without it. */
  uint64_t event;               /**< Native event to send; 0: the library makes one. */
} DLBridgeIpcExportSpec_0_4;

/** DLBridgeIpcImportSpec of 0.4.0. */
typedef struct DLBridgeIpcImportSpec_0_4 {
  uint32_t struct_size;
  uint32_t options;
  const void* buffer;
  size_t buffer_size;
  const int32_t* fds;
  size_t fd_count;
  const DLBridgePolicy* policy;
  const DLBridgeStream* stream; /**< Queue that waits for the event; must be NULL without EVENT. */
  uint64_t pool;                /**< Imported pool to open the memory from; 0: one is opened. */
} DLBridgeIpcImportSpec_0_4;

/* ---------------------------------------------------------------------------------------------
 * Peer access: fields at the end of DLBridgePointerInfo. A caller of 0.3.0 passes its size and gets
 * the fields that it knows.
 * ------------------------------------------------------------------------------------------- */

/** One more bit of DLBridgePointerInfo::properties. */
enum {
  /** `peer_devices` has the driver's answer; without it the backend cannot tell. */
  DLBRIDGE_POINTER_PEERS_KNOWN = 1 << 1
};

/** DLBridgePointerInfo of 0.4.0. */
typedef struct DLBridgePointerInfo_0_4 {
  uint32_t struct_size;
  uint32_t options;
  DLBridgeBackend backend;
  int32_t memory;
  DLDevice device;
  int32_t native_device;
  uint32_t properties;
  uint64_t base;
  uint64_t size;
  uint64_t context;
  uint64_t peer_devices; /**< Bit i: device i of the backend can access the memory now. */
  uint64_t peer_capable; /**< Bit i: it could, after peer access has been enabled. */
} DLBridgePointerInfo_0_4;

#ifdef __cplusplus
}
#endif

/* ---------------------------------------------------------------------------------------------
 * DLBridgeApi gets the members copy_async, stream_release and stream_collect at its end, and
 * DLBRIDGE_API_HAS tells whether the loaded library has them.
 *
 * Nothing of the C ABI: typed arguments of functions are a template of dlbridge.hpp over
 * DLBridgePolicy::dtypes, ndim and shape. The conformance kit is `dlbridge/conformance.h` with an
 * archive of its own, which calls the public functions as any client does.
 * ------------------------------------------------------------------------------------------- */

/* ---------------------------------------------------------------------------------------------
 * Each grown struct keeps the fields of 0.3.0, has its new fields directly after them, and a size
 * that is a multiple of 8. For C99 and C++11: a negative array size is an error.
 * ------------------------------------------------------------------------------------------- */

#define DLBRIDGE_DRAFT_CHECK(name, condition) \
  typedef char dlbridge_draft_##name[(condition) ? 1 : -1]
#define DLBRIDGE_DRAFT_KEEPS(type, field)                                      \
  DLBRIDGE_DRAFT_CHECK(type##_##field,                                         \
                       offsetof(type##_0_4, field) == offsetof(type, field) && \
                           sizeof(((type##_0_4*)0)->field) == sizeof(((type*)0)->field))
#define DLBRIDGE_DRAFT_GROWS(type, first) \
  DLBRIDGE_DRAFT_CHECK(type##_grows,      \
                       offsetof(type##_0_4, first) == sizeof(type) && sizeof(type##_0_4) % 8 == 0)

DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcExportSpec, struct_size);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcExportSpec, options);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcExportSpec, buffer);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcExportSpec, buffer_size);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcExportSpec, fds);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcExportSpec, fd_capacity);
DLBRIDGE_DRAFT_GROWS(DLBridgeIpcExportSpec, stream);

DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcImportSpec, struct_size);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcImportSpec, options);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcImportSpec, buffer);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcImportSpec, buffer_size);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcImportSpec, fds);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcImportSpec, fd_count);
DLBRIDGE_DRAFT_KEEPS(DLBridgeIpcImportSpec, policy);
DLBRIDGE_DRAFT_GROWS(DLBridgeIpcImportSpec, stream);

DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, struct_size);
DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, options);
DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, backend);
DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, memory);
DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, device);
DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, native_device);
DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, properties);
DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, base);
DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, size);
DLBRIDGE_DRAFT_KEEPS(DLBridgePointerInfo, context);
DLBRIDGE_DRAFT_GROWS(DLBridgePointerInfo, peer_devices);

/* New option bits are in the range of options, bits 8 to 30, and new. */
DLBRIDGE_DRAFT_CHECK(ipc_bits, ((DLBRIDGE_IPC_POOL | DLBRIDGE_IPC_EVENT) & 0xff) == 0 &&
                                   ((DLBRIDGE_IPC_POOL | DLBRIDGE_IPC_EVENT) &
                                    (int)DLBRIDGE_IPC_READ_ONLY) == 0 &&
                                   (DLBRIDGE_IPC_POOL & DLBRIDGE_IPC_EVENT) == 0);
DLBRIDGE_DRAFT_CHECK(pointer_bits, ((int)DLBRIDGE_POINTER_PEERS_KNOWN &
                                    (int)DLBRIDGE_POINTER_CONTEXT_ASSUMED) == 0);

#endif /* DLBRIDGE_ABI_DRAFT_0_4_0_H_ */
