/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Takes tensors out of capsules: validation and ownership. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_ACCEPT_H_
#define DLBRIDGE_CPYTHON_ACCEPT_H_

#include "dlbridge/cpython/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Validates a versioned tensor without a conversion. */
static inline DLBridgeStatus dlbridge_py_validate_(const DLManagedTensorVersioned* tensor,
                                                   const DLBridgePyImportOptions* options,
                                                   DLBridgeError* error) {
  /* In another major only the version may be read. */
  const DLBridgePolicy* policy =
      tensor->version.major == 1 ? dlbridge_py_needed_(options, &tensor->dl_tensor, tensor->flags)
                                 : NULL;
  return dlbridge_validate_versioned(tensor, policy, error);
}

/* Returns 1 if these options add nothing to the library's defaults for this tensor. */
static inline int dlbridge_py_needs_no_options_(const void* tensor, DLBridgeKind kind,
                                                const DLBridgePyImportOptions* options) {
  const uint32_t changes = DLBRIDGE_PY_VOUCH_WRITABLE | DLBRIDGE_PY_SKIP_VALIDATION;
  const DLManagedTensorVersioned* versioned = (const DLManagedTensorVersioned*)tensor;
  if (options->policy != NULL || (options->options & changes) != 0) {
    return 0;
  }
  if (kind == DLBRIDGE_KIND_LEGACY) {
    return dlbridge_py_is_plain_(&((const DLManagedTensor*)tensor)->dl_tensor, 0);
  }
  return versioned->version.major == 1 &&
         dlbridge_py_is_plain_(&versioned->dl_tensor, versioned->flags);
}

/* Calls dlbridge_import with the equivalent of these options. The library reads the tensor again: its
 * defaults reject unknown codes and flags too, so a tensor that changes meanwhile is rejected. */
static inline DLBridgeStatus dlbridge_py_owned_(void* tensor, DLBridgeKind kind,
                                                const DLBridgePyImportOptions* options,
                                                DLManagedTensorVersioned** out,
                                                DLBridgeError* error) {
  DLBridgeConvertOptions convert = DLBRIDGE_CONVERT_OPTIONS_INIT;
  if (dlbridge_py_needs_no_options_(tensor, kind, options)) {
    return dlbridge_import(tensor, kind, NULL, out, error);
  }
  convert.options = DLBRIDGE_CONVERT_ALLOW_UNKNOWN;
  if ((options->options & DLBRIDGE_PY_VOUCH_WRITABLE) != 0) {
    convert.options |= DLBRIDGE_CONVERT_VOUCH_WRITABLE;
  }
  if ((options->options & DLBRIDGE_PY_SKIP_VALIDATION) != 0) {
    convert.options |= DLBRIDGE_CONVERT_SKIP_VALIDATION;
  } else {
    convert.policy = dlbridge_py_policy_(options);
  }
  return dlbridge_import(tensor, kind, &convert, out, error);
}

static inline int dlbridge_py_same_device_(DLDevice one, DLDevice other) {
  return (int64_t)one.device_type == (int64_t)other.device_type && one.device_id == other.device_id;
}

/* Turns a managed tensor into `*out`; on failure it stays the caller's. */
static inline int dlbridge_py_accept_(void* tensor, DLBridgeKind kind,
                                      const DLBridgePyImportOptions* options,
                                      DLManagedTensorVersioned** out) {
  DLBridgeError error;
  DLBridgeStatus status = DLBRIDGE_OK;
  if (kind != DLBRIDGE_KIND_VERSIONED || (options->options & DLBRIDGE_PY_OWNED) != 0) {
    status = dlbridge_py_owned_(tensor, kind, options, out, &error);
  } else {
    if ((options->options & DLBRIDGE_PY_SKIP_VALIDATION) == 0) {
      status = dlbridge_py_validate_((DLManagedTensorVersioned*)tensor, options, &error);
    }
    if (status == DLBRIDGE_OK) {
      *out = (DLManagedTensorVersioned*)tensor;
    }
  }
  return status == DLBRIDGE_OK ? 0 : dlbridge_py_raise_to_caller_(&error);
}

/* Rejects a capsule without a live tensor, with the reason. */
DLBRIDGE_PY_APART_ int dlbridge_py_reject_capsule_(const char* name) {
  if (name != NULL && strncmp(name, "used_dltensor", 13) == 0) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_NONE,
                        "expected a capsule whose tensor was not taken yet, found one named \"%s\": "
                        "request another from its producer",
                        name);
  } else {
    dlbridge_py_reject_(PyExc_TypeError, DLBRIDGE_ERROR_INVALID_ARGUMENT, DLBRIDGE_RULE_NONE,
                        "expected a capsule named \"dltensor\" or \"dltensor_versioned\", found "
                        "%s%.100s%s",
                        name != NULL ? "\"" : "", name != NULL ? name : "one without a name",
                        name != NULL ? "\"" : "");
  }
  return -1;
}

/* Renames the capsule after its tensor was taken, as the protocol requires: the tensor cannot be taken
 * again, and the destructor does not release it. */
static inline int dlbridge_py_take_(PyObject* capsule, const char* used,
                                    DLManagedTensorVersioned** out) {
  if (PyCapsule_SetName(capsule, used) != 0) {
    dlbridge_py_release(*out);
    *out = NULL;
    return -1;
  }
  return 0;
}

/* Takes the tensor out of a capsule that no other thread takes meanwhile. */
static inline int dlbridge_py_by_own_capsule_(PyObject* capsule,
                                              const DLBridgePyImportOptions* options,
                                              DLManagedTensorVersioned** out) {
  const char* name = PyCapsule_GetName(capsule);
  const int versioned = name != NULL && strcmp(name, "dltensor_versioned") == 0;
  void* tensor;
  if (!versioned && (name == NULL || strcmp(name, "dltensor") != 0)) {
    return dlbridge_py_reject_capsule_(name);
  }
  tensor = PyCapsule_GetPointer(capsule, name);
  if (tensor == NULL ||
      dlbridge_py_accept_(tensor, versioned ? DLBRIDGE_KIND_VERSIONED : DLBRIDGE_KIND_LEGACY, options,
                          out) < 0) {
    return -1;
  }
  return dlbridge_py_take_(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor", out);
}

/* Takes the tensor out of a capsule, by the protocol's rules. In free-threaded builds two threads may
 * import the same capsule: the lock makes the check of its name and the renaming one step. */
static inline int dlbridge_py_by_capsule_(PyObject* capsule, const DLBridgePyImportOptions* options,
                                          DLManagedTensorVersioned** out) {
#ifdef Py_GIL_DISABLED
  int status;
  Py_BEGIN_CRITICAL_SECTION(capsule);
  status = dlbridge_py_by_own_capsule_(capsule, options, out);
  Py_END_CRITICAL_SECTION();
  return status;
#else
  return dlbridge_py_by_own_capsule_(capsule, options, out);
#endif
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_ACCEPT_H_ */
