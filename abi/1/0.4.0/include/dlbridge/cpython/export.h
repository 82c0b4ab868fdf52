/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Capsules for consumers of any DLPack version. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_EXPORT_H_
#define DLBRIDGE_CPYTHON_EXPORT_H_

#include "dlbridge/cpython/errors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names are compared by address first. A consumer that takes the tensor renames the capsule. */
static inline const char* dlbridge_py_versioned_name_(void) {
  static const char name[] = "dltensor_versioned";
  return name;
}
static inline const char* dlbridge_py_legacy_name_(void) {
  static const char name[] = "dltensor";
  return name;
}

/* The destructor releases the tensor if it was not taken, and keeps the current exception. */
static inline void dlbridge_py_destroy_versioned_(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (name == dlbridge_py_versioned_name_() ||
      (name != NULL && strcmp(name, "dltensor_versioned") == 0)) {
    dlbridge_py_release((DLManagedTensorVersioned*)PyCapsule_GetPointer(capsule, name));
  }
}
static inline void dlbridge_py_destroy_legacy_(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (name == dlbridge_py_legacy_name_() || (name != NULL && strcmp(name, "dltensor") == 0)) {
    DLBridgePyPending_ pending = dlbridge_py_set_aside_();
    dlbridge_release_legacy((DLManagedTensor*)PyCapsule_GetPointer(capsule, name));
    PyErr_Clear();
    dlbridge_py_put_back_(pending);
  }
}

/** Makes a capsule for consumers of DLPack 1. On success the capsule owns `tensor`.
 * \since 0.3.0 */
static inline PyObject* dlbridge_py_capsule_versioned(DLManagedTensorVersioned* tensor) {
  return PyCapsule_New(tensor, dlbridge_py_versioned_name_(), dlbridge_py_destroy_versioned_);
}

/** Makes a capsule for older consumers. On success the capsule owns `tensor`. \since 0.3.0 */
static inline PyObject* dlbridge_py_capsule_legacy(DLManagedTensor* tensor) {
  return PyCapsule_New(tensor, dlbridge_py_legacy_name_(), dlbridge_py_destroy_legacy_);
}

/* Relabels the tensor if its version is newer than the consumer's. */
static inline int dlbridge_py_label_(DLManagedTensorVersioned** tensor, DLPackVersion newest) {
  DLBridgeError error;
  DLBridgeConvertOptions convert = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLBridgeKind kind;
  void* out;
  if (newest.major > 1 || (*tensor)->version.minor <= newest.minor) {
    return 0;
  }
  convert.options = DLBRIDGE_CONVERT_SKIP_VALIDATION;
  if (dlbridge_export(*tensor, DLBRIDGE_KIND_VERSIONED, newest, &convert, &out, &kind, &error) !=
      DLBRIDGE_OK) {
    return dlbridge_py_raise(&error);
  }
  *tensor = (DLManagedTensorVersioned*)out;
  return 0;
}

static inline PyObject* dlbridge_py_capsule_downgraded_(DLManagedTensorVersioned* tensor,
                                                        const DLPackVersion* newest,
                                                        uint32_t options) {
  DLBridgeError error;
  DLBridgeConvertOptions convert = DLBRIDGE_CONVERT_OPTIONS_INIT;
  DLManagedTensor* legacy = NULL;
  PyObject* capsule;
  convert.options = options;
  if (newest != NULL) {
    convert.version = *newest;
  }
  if (dlbridge_downgrade(tensor, &convert, &legacy, &error) != DLBRIDGE_OK) {
    dlbridge_py_raise(&error);
    dlbridge_py_release(tensor);
    return NULL;
  }
  capsule = dlbridge_py_capsule_legacy(legacy);
  if (capsule == NULL) {
    dlbridge_release_legacy(legacy);
  }
  return capsule;
}

/** Makes a capsule for a consumer that reads DLPack up to `newest`. If `newest` is NULL or of major 0,
 * as for a __dlpack__ call without max_version, the capsule is legacy; else it is versioned, of at most
 * that version. `tensor` passes to the capsule and is released on failure: share it first if you still
 * need it. `options` are DLBRIDGE_CONVERT_* bits for the downgrade. Legacy cannot record READ_ONLY, so a
 * READ_ONLY tensor is rejected without DROP_READ_ONLY. \since 0.3.0 */
static inline PyObject* dlbridge_py_capsule(DLManagedTensorVersioned* tensor,
                                            const DLPackVersion* newest, uint32_t options) {
  PyObject* capsule;
  if (newest == NULL || newest->major == 0) {
    return dlbridge_py_capsule_downgraded_(tensor, newest, options);
  }
  if (dlbridge_py_label_(&tensor, *newest) < 0) {
    dlbridge_py_release(tensor);
    return NULL;
  }
  capsule = dlbridge_py_capsule_versioned(tensor);
  if (capsule == NULL) {
    dlbridge_py_release(tensor);
  }
  return capsule;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_EXPORT_H_ */
