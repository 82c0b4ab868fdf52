/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Checks of tensors that an exchange table would export wrongly. Part of dlbridge/cpython_api.h. */
#ifndef DLBRIDGE_CPYTHON_GUARDS_H_
#define DLBRIDGE_CPYTHON_GUARDS_H_

#include "dlbridge/cpython/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls a method without arguments through its descriptor; returns a new reference. For an object that
 * only pretends to be a torch.Tensor, CPython raises TypeError. */
static inline PyObject* dlbridge_py_ask_method_(PyObject* descriptor, PyObject* object) {
#ifndef Py_LIMITED_API
  if (Py_IS_TYPE(descriptor, &PyMethodDescr_Type)) {
    PyMethodDef* method = ((PyMethodDescrObject*)descriptor)->d_method;
    if (method->ml_flags == METH_NOARGS && PyObject_TypeCheck(object, PyDescr_TYPE(descriptor))) {
      return method->ml_meth(object, NULL);
    }
  }
#endif
  return PyObject_CallFunctionObjArgs(descriptor, object, NULL);
}

/* Reads an attribute through its descriptor; returns a new reference. */
static inline PyObject* dlbridge_py_ask_attribute_(PyObject* descriptor, PyObject* object) {
#ifndef Py_LIMITED_API
  if (Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)) {
    PyGetSetDef* getset = ((PyGetSetDescrObject*)descriptor)->d_getset;
    if (getset->get != NULL && PyObject_TypeCheck(object, PyDescr_TYPE(descriptor))) {
      return getset->get(object, getset->closure);
    }
  }
#endif
  return PyObject_CallMethod(descriptor, "__get__", "O", object);
}

/* Returns the truth value 0 or 1, or -1; takes the reference. */
static inline int dlbridge_py_truth_(PyObject* value) {
  int truth = value == Py_True ? 1 : value == Py_False ? 0 : value != NULL ? PyObject_IsTrue(value) : -1;
  Py_XDECREF(value);
  return truth;
}

/* Returns a new reference to torch.Tensor, a base of `type`. */
static inline PyObject* dlbridge_py_torch_class_(PyTypeObject* type) {
  Py_ssize_t i, count;
  PyObject* found = (PyObject*)type;
  PyObject* bases = PyObject_GetAttrString((PyObject*)type, "__mro__");
  if (bases == NULL) {
    return NULL;
  }
  count = PyTuple_Check(bases) ? PyTuple_Size(bases) : 0;
  for (i = 0; i < count; ++i) {
    PyObject* base = PyTuple_GetItem(bases, i);
    if (dlbridge_py_is_(base, "torch", "Tensor")) {
      found = base;
      break;
    }
  }
  Py_INCREF(found);
  Py_DECREF(bases);
  return found;
}

#ifdef Py_GIL_DISABLED
/* Two threads may find the descriptors at the same time. Those of the first one are kept. */
static inline void dlbridge_py_keep_descriptors_(DLBridgePy* py, PyObject* requires_grad,
                                                 PyObject* is_conj, PyObject* is_neg) {
  int first;
  PyMutex_Lock(&py->mutex);
  first = py->requires_grad == NULL;
  if (first) {
    py->is_conj = is_conj;
    py->is_neg = is_neg;
    py->requires_grad = requires_grad;
  }
  PyMutex_Unlock(&py->mutex);
  if (!first) {
    Py_DECREF(requires_grad);
    Py_DECREF(is_conj);
    Py_DECREF(is_neg);
  }
}
static inline int dlbridge_py_knows_torch_(DLBridgePy* py) {
  int known;
  PyMutex_Lock(&py->mutex);
  known = py->requires_grad != NULL;
  PyMutex_Unlock(&py->mutex);
  return known;
}
#else
static inline void dlbridge_py_keep_descriptors_(DLBridgePy* py, PyObject* requires_grad,
                                                 PyObject* is_conj, PyObject* is_neg) {
  py->is_conj = is_conj;
  py->is_neg = is_neg;
  py->requires_grad = requires_grad;
}
static inline int dlbridge_py_knows_torch_(DLBridgePy* py) { return py->requires_grad != NULL; }
#endif

/* Finds the descriptors of torch.Tensor, starting from the type of a tensor. A subclass may override
 * them, and its versions apply neither to other tensors nor to the table's exports. */
static inline int dlbridge_py_meet_torch_(DLBridgePy* py, PyTypeObject* type) {
  PyObject *torch, *requires_grad, *is_conj, *is_neg;
  torch = dlbridge_py_torch_class_(type);
  if (torch == NULL) {
    return -1;
  }
  requires_grad = PyObject_GetAttrString(torch, "requires_grad");
  is_conj = requires_grad != NULL ? PyObject_GetAttrString(torch, "is_conj") : NULL;
  is_neg = is_conj != NULL ? PyObject_GetAttrString(torch, "is_neg") : NULL;
  Py_DECREF(torch);
  if (requires_grad == NULL || is_conj == NULL || is_neg == NULL) {
    Py_XDECREF(requires_grad);
    Py_XDECREF(is_conj);
    Py_XDECREF(is_neg);
    return -1;
  }
  dlbridge_py_keep_descriptors_(py, requires_grad, is_conj, is_neg);
  return 0;
}

/* Calls one of torch's methods and returns its truth value; 0 without a call if `code` rules it out. */
static inline int dlbridge_py_torch_says_(PyObject* method, PyObject* object, int possible) {
  return possible ? dlbridge_py_truth_(dlbridge_py_ask_method_(method, object)) : 0;
}

/* Returns 1 if the table exports the same as torch's __dlpack__, 0 if __dlpack__ must be called, which
 * rejects the tensor, -1 on error. `code` is the tensor's dtype code, or -1 if it is not known yet:
 * integers and booleans have no gradient and are never conjugated or negated, and only complex numbers
 * are conjugated. */
static inline int dlbridge_py_guard_torch_(DLBridgePy* py, PyObject* object, int code) {
  int requires_grad, conjugated, negated;
  if (code == kDLInt || code == kDLUInt || code == kDLBool) {
    return 1;
  }
  if (!dlbridge_py_knows_torch_(py) && dlbridge_py_meet_torch_(py, Py_TYPE(object)) < 0) {
    return -1;
  }
  requires_grad = dlbridge_py_truth_(dlbridge_py_ask_attribute_(py->requires_grad, object));
  conjugated = dlbridge_py_torch_says_(py->is_conj, object, code == kDLComplex || code == -1);
  negated = dlbridge_py_torch_says_(py->is_neg, object, 1);
  if (requires_grad < 0 || conjugated < 0 || negated < 0) {
    return -1;
  }
  if (negated) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNREPRESENTABLE, DLBRIDGE_RULE_NONE,
                        "expected a tensor whose memory holds its values, found a torch view that is "
                        "negated on reading: call its resolve_neg() first");
    return -1;
  }
  return !requires_grad && !conjugated;
}

/* As dlbridge_py_guard_torch_, for any guard. */
static inline int dlbridge_py_guard_(DLBridgePy* py, PyObject* object, int guard, int code) {
  return guard == DLBRIDGE_PY_GUARD_TORCH ? dlbridge_py_guard_torch_(py, object, code) : 1;
}

static inline int dlbridge_py_reject_fake_(void) {
  dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_INVALID_TENSOR, DLBRIDGE_RULE_DATA_NULL,
                      "expected a tensor with data, found a torch fake tensor, which has none");
  return -1;
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_GUARDS_H_ */
