/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * DLPack for authors of CPython extensions. One call makes a validated DLManagedTensorVersioned of any
 * Python object that supports DLPack; another makes a capsule for a consumer of any DLPack version. C99
 * and C++11 on top of Python.h; the shared library itself never needs Python.
 *
 * This header includes its parts, in dlbridge/cpython/, which programs do not include themselves:
 * state.h, life.h and interpreter.h (DLBridgePy), errors.h, owners.h (dlbridge_py_wrap), options.h,
 * import.h, borrow.h, export.h (dlbridge_py_capsule), answer.h (dlbridge_py_dlpack), consumers.h,
 * offer.h (exchange tables), to_type.h, and what these need.
 *
 * Include Python.h first, as CPython requires. The version-specific API works from 3.10 on, the limited
 * API from 3.12 (Py_LIMITED_API >= 0x030c0000). Free-threaded builds compile too.
 *
 * STATE. A DLBridgePy caches names and types, one per interpreter. Put it in the module's state, call
 * dlbridge_py_init in Py_mod_exec, and dlbridge_py_traverse and dlbridge_py_clear in the module's
 * m_traverse, m_clear and m_free. Or, without module state, use the one of dlbridge_py_state().
 *
 * THREADS. Every function needs the GIL (an attached thread state) unless its comment states otherwise.
 * Deleters of tensors made here may run on any thread, with or without the GIL.
 *
 * STREAMS. The CPU needs no ordering. On other devices `stream` of the options is the consumer's stream,
 * as an integer of the Python array API; the default is the legacy default stream. The producer's
 * __dlpack__ orders its work before that stream; for an exchange table dlbridge_stream_handoff does.
 * Copies to the host wait for that work. dlbridge_py_to_type orders it before the current stream of the
 * type's framework.
 *
 * READ_ONLY. Implement __dlpack__ by dlbridge_py_dlpack: it gives the memory of a read-only tensor only
 * to consumers that are known to keep READ_ONLY, and copies on request. An exchange table refuses
 * read-only tensors; one offered by dlbridge_py_offer_keeping exports them, for consumers that keep the
 * flag. Arrays whose producer the program has registered as immutable, by register_producer of the
 * Python package, are imported and borrowed as read-only ones.
 *
 * ERRORS. A function that fails returns -1 or NULL with an exception set. Exceptions of a producer pass
 * through unchanged. The library raises BufferError (a broken or rejected tensor), TypeError (an object
 * without DLPack support), ValueError (an argument), MemoryError and RuntimeError (a driver), with its
 * message and the attributes `status`, `rule` (names), `axis` and `native_code` (of a driver). All but
 * `status` are None if they do not apply. On failure a tensor or capsule stays with its owner, unless
 * the function's comment states otherwise.
 * \since 0.3.0
 */
#ifndef DLBRIDGE_CPYTHON_API_H_
#define DLBRIDGE_CPYTHON_API_H_

#include "dlbridge/cpython/state.h"
#include "dlbridge/cpython/atomic.h"
#include "dlbridge/cpython/errors.h"
#include "dlbridge/cpython/owners.h"
#include "dlbridge/cpython/consumers.h"
#include "dlbridge/cpython/life.h"
#include "dlbridge/cpython/interpreter.h"
#include "dlbridge/cpython/types.h"
#include "dlbridge/cpython/options.h"
#include "dlbridge/cpython/accept.h"
#include "dlbridge/cpython/ask.h"
#include "dlbridge/cpython/guards.h"
#include "dlbridge/cpython/streams.h"
#include "dlbridge/cpython/table.h"
#include "dlbridge/cpython/immutable.h"
#include "dlbridge/cpython/import.h"
#include "dlbridge/cpython/borrow.h"
#include "dlbridge/cpython/export.h"
#include "dlbridge/cpython/answer.h"
#include "dlbridge/cpython/offer.h"
#include "dlbridge/cpython/to_type.h"

#endif /* DLBRIDGE_CPYTHON_API_H_ */
