/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * dlbridge_py_borrow: a tensor for the duration of a call. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_BORROW_H_
#define DLBRIDGE_CPYTHON_BORROW_H_

#include "dlbridge/cpython/import.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor that is borrowed for the duration of a call. \since 0.3.0 */
typedef struct DLBridgePyBorrowed {
  DLTensor tensor;                 /**< The tensor. */
  uint64_t tensor_flags;           /**< Its DLPack flags; READ_ONLY if writability is unknown. */
  DLManagedTensorVersioned* owner; /**< Released by dlbridge_py_give_back; NULL: the object owns it. */
} DLBridgePyBorrowed;

/* Returns 0 instead of the BufferError of a table that does not lend this tensor; -1 for others. */
static inline int dlbridge_py_is_not_lent_(void) {
  if (!PyErr_ExceptionMatches(PyExc_BufferError)) {
    return -1;
  }
  PyErr_Clear();
  return 0;
}

/* Borrows a tensor through the exchange table. Returns as dlbridge_py_by_table_. */
static inline int dlbridge_py_lend_(DLBridgePy* py, const DLBridgePyType* type, PyObject* object,
                                    const DLBridgePyImportOptions* options, DLBridgePyBorrowed* out) {
  int status, immutable;
  DLBridgeError error;
  if (type->table->dltensor_from_py_object_no_sync(object, &out->tensor) != 0) {
    dlbridge_py_table_failed_(Py_TYPE(object));
    return type->guard == DLBRIDGE_PY_GUARD_KEEPS ? dlbridge_py_is_not_lent_() : -1;
  }
  out->owner = NULL;
  if (out->tensor.dtype.bits < 8) {
    return 0; /* only an owner's flags record whether these elements are padded */
  }
  status = dlbridge_py_guard_dtype_(py, object, type->guard, &out->tensor.dtype);
  if (status != 1) {
    return status;
  }
  immutable = dlbridge_py_is_immutable_(py, Py_TYPE(object));
  if (immutable < 0) {
    return -1;
  }
  /* A borrowed tensor has no flags. torch never marks a tensor read-only, and types with
   * __dlbridge_c_exchange_api__ do not lend read-only ones. */
  out->tensor_flags = !immutable && (type->guard == DLBRIDGE_PY_GUARD_TORCH ||
                                     type->guard == DLBRIDGE_PY_GUARD_KEEPS ||
                                     (options->options & DLBRIDGE_PY_VOUCH_WRITABLE) != 0)
                          ? 0
                          : DLPACK_FLAG_BITMASK_READ_ONLY;
  if ((options->options & DLBRIDGE_PY_SKIP_VALIDATION) == 0 &&
      dlbridge_validate(&out->tensor, out->tensor_flags,
                        dlbridge_py_needed_(options, &out->tensor, out->tensor_flags),
                        &error) != DLBRIDGE_OK) {
    return dlbridge_py_raise_to_caller_(&error);
  }
  return dlbridge_py_order_(type->table, &out->tensor, options);
}

/* Borrows through the table, or else imports. Only an owned tensor records that it is writable. */
static inline int dlbridge_py_borrow_object_(DLBridgePy* py, PyObject* object,
                                             const DLBridgePyImportOptions* options,
                                             DLBridgePyBorrowed* out) {
  DLBridgePyType type;
  int status = 0;
  if (dlbridge_py_type_(py, Py_TYPE(object), &type) < 0) {
    return -1;
  }
  if (type.guard <= DLBRIDGE_PY_GUARD_TORCH && type.table != NULL &&
      type.table->dltensor_from_py_object_no_sync != NULL && !dlbridge_py_must_write_(options)) {
    status = dlbridge_py_lend_(py, &type, object, options, out);
    if (status < 0 && type.guard == DLBRIDGE_PY_GUARD_TORCH) {
      dlbridge_py_explain_torch_(object);
    }
  }
  if (status == 0) {
    status = dlbridge_py_by_type_(py, &type, object, options, &out->owner);
  }
  dlbridge_py_type_done_(&type);
  return status < 0 ? -1 : 0;
}

/** Borrows the tensor of any object that supports DLPack for the duration of a call. If the exchange
 * table of its type can lend tensors, nothing is allocated. `object` must stay alive and unchanged until
 * dlbridge_py_give_back. A capsule is taken, as by dlbridge_py_import. `options->device` and the COPY
 * options do not apply: ValueError if one is set.
 * \since 0.3.0 */
static inline int dlbridge_py_borrow(DLBridgePy* py, PyObject* object,
                                     const DLBridgePyImportOptions* options,
                                     DLBridgePyBorrowed* out) {
  static const DLBridgePyImportOptions usual = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  if (options == NULL) {
    options = &usual;
  } else if (dlbridge_py_check_options_(options) < 0) {
    return -1;
  }
  if (options->device != NULL || dlbridge_py_says_copy_(options)) {
    dlbridge_py_reject_(PyExc_ValueError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected no device and no copy for a tensor that is borrowed");
    return -1;
  }
  dlbridge_py_collect(py);
  out->owner = NULL;
  if ((PyCapsule_CheckExact(object) ? dlbridge_py_by_capsule_(object, options, &out->owner)
                                    : dlbridge_py_borrow_object_(py, object, options, out)) < 0) {
    return -1;
  }
  if (out->owner == NULL) {
    return 0; /* the table has lent it */
  }
  out->tensor = out->owner->dl_tensor;
  out->tensor_flags = out->owner->flags;
  return 0;
}

/** Ends a dlbridge_py_borrow. May be called with an exception set. \since 0.3.0 */
static inline void dlbridge_py_give_back(DLBridgePyBorrowed* borrowed) {
  dlbridge_py_release(borrowed->owner);
  borrowed->owner = NULL;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_BORROW_H_ */
