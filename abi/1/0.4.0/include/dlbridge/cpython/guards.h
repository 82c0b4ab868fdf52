/* SPDX-License-Identifier: Apache-2.0 */
/** \file
 * Tensors that must not be exported, because their memory does not hold their values or their framework
 * would miss changes. Part of dlbridge/cpython_api.h. Every import raises the same BufferError for them.
 * Most types have no guard; torch.Tensor is asked what its dtype allows, and the rest of its reasons are
 * searched only after its export has failed. */
#ifndef DLBRIDGE_CPYTHON_GUARDS_H_
#define DLBRIDGE_CPYTHON_GUARDS_H_

#include "dlbridge/cpython/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a tensor is rejected. */
enum {
  DLBRIDGE_PY_REASON_NONE_ = 0,
  DLBRIDGE_PY_REASON_GRADIENT_,
  DLBRIDGE_PY_REASON_TANGENT_,
  DLBRIDGE_PY_REASON_CONJUGATED_,
  DLBRIDGE_PY_REASON_NEGATED_,
  DLBRIDGE_PY_REASON_FAKE_,
  DLBRIDGE_PY_REASON_MASKED_,
  DLBRIDGE_PY_REASON_TRACER_,
  DLBRIDGE_PY_REASON_TRANSFORMED_,
  DLBRIDGE_PY_REASON_NESTED_,
  DLBRIDGE_PY_REASON_LAYOUT_,
  DLBRIDGE_PY_REASON_META_,
  DLBRIDGE_PY_REASON_QUANTIZED_,
  DLBRIDGE_PY_REASON_NO_MEMORY_,
  DLBRIDGE_PY_REASON_UNINITIALIZED_,
  DLBRIDGE_PY_REASON_FREED_,
  DLBRIDGE_PY_REASON_FUNCTIONAL_,
  DLBRIDGE_PY_REASON_MASKED_TORCH_,
  DLBRIDGE_PY_REASON_TIME_,
  DLBRIDGE_PY_REASON_ML_DTYPES_,
  DLBRIDGE_PY_REASON_OBJECTS_,
  DLBRIDGE_PY_REASON_SPARSE_,
  DLBRIDGE_PY_REASON_FEW_BITS_
};

/* The message: what was expected, what was found, the remedy. */
static inline const char* dlbridge_py_reason_text_(int reason) {
  static const char* const texts[] = {
      "",
      "expected a tensor that takes no part in differentiation, found one that requires a gradient, "
      "which would miss changes made elsewhere: detach it, or use dlbridge.adapt(x, grad='detach')",
      "expected a tensor that takes no part in differentiation, found one with a tangent of torch's "
      "forward mode, which would be lost: detach it, or use dlbridge.adapt(x, grad='detach')",
      "expected a tensor whose memory holds its values, found a torch view that is conjugated on "
      "reading: call its resolve_conj() first, or use dlbridge.adapt(x, lazy='resolve')",
      "expected a tensor whose memory holds its values, found a torch view that is negated on "
      "reading: call its resolve_neg() first, or use dlbridge.adapt(x, lazy='resolve')",
      "expected a tensor with data, found a torch fake tensor, which has none: export a real tensor",
      "expected an array without a mask, found a masked one, whose mask would be lost: export its "
      "filled(value) or its data, and its mask",
      "expected an array with values, found a JAX tracer, which has none: export outside of jit, grad"
      " and vmap, or in jax.pure_callback",
      "expected a tensor outside of torch's function transforms, found one that vmap, grad or jvp "
      "wraps: export before or after the transform",
      "expected a tensor with one shape, found a nested torch tensor: export its unbind() one by one,"
      " or its to_padded_tensor(value)",
      "expected a tensor of the layout torch.strided, found a sparse or other one: export its "
      "to_dense()",
      "expected a tensor with data, found one on torch's device meta, which has none: make it on a "
      "real device, as by torch.empty_like(x, device='cpu')",
      "expected a tensor of numbers, found a quantized torch tensor, whose scale would be lost: "
      "export its dequantize() or its int_repr()",
      "expected a tensor with memory, found a torch tensor that computes its values and has none: "
      "export its clone(), or the tensors that it wraps",
      "expected a tensor with data, found an uninitialized torch parameter: materialize it first",
      "expected a tensor with memory, found a torch tensor whose storage was freed by resize_(0): "
      "gather its parameter, as in FSDP's summon_full_params, or resize its untyped_storage() and fill "
      "it",
      "expected a tensor with memory, found a torch functional tensor, which wraps another one: call "
      "torch._sync(x) and export torch._from_functional_tensor(x)",
      "expected an array without a mask, found a masked one, whose mask would be lost: export its "
      "to_tensor(value) or its get_data(), and its get_mask()",
      "expected numbers, found datetime64 or timedelta64 of NumPy, which DLPack does not have: export "
      "x.astype('int64')",
      "expected an array of a dtype that NumPy exports, found one of the package ml_dtypes: pass "
      "dlbridge.adapt(x)",
      "expected a tensor of numbers, found a TensorFlow tensor of strings, resources or variants: read "
      "strings by its numpy(), and export the values of a resource, as by a variable's read_value()",
      "expected a dense tensor, found a sparse one of Paddle: export its to_dense()",
      "expected a dtype that torch exports as it is, found one of 1 to 7 bits, such as torch.int4, which"
      " it exports as int8 or uint8: export its view(torch.uint8)",
  };
  return texts[reason];
}

/* Raises the BufferError for a reason; returns -1. */
static inline int dlbridge_py_reject_reason_(int reason) {
  const int no_data = reason == DLBRIDGE_PY_REASON_FAKE_ || reason == DLBRIDGE_PY_REASON_META_ ||
                      reason == DLBRIDGE_PY_REASON_NO_MEMORY_ ||
                      reason == DLBRIDGE_PY_REASON_FREED_ || reason == DLBRIDGE_PY_REASON_FUNCTIONAL_;
  return dlbridge_py_reject_(PyExc_BufferError,
                             no_data ? DLBRIDGE_ERROR_INVALID_TENSOR : DLBRIDGE_ERROR_UNREPRESENTABLE,
                             no_data ? DLBRIDGE_RULE_DATA_NULL : DLBRIDGE_RULE_NONE, "%s",
                             dlbridge_py_reason_text_(reason));
}

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

/* What the guard of torch needs: new references; the last three may be NULL. */
typedef struct DLBridgePyTorch_ {
  PyObject* requires_grad;
  PyObject* is_conj;
  PyObject* is_neg;
  PyObject* level_name;
  PyObject* forward_ad;
  PyObject* dtype;
  PyObject* few_bits;
} DLBridgePyTorch_;

static inline void dlbridge_py_drop_torch_(DLBridgePyTorch_* torch) {
  Py_XDECREF(torch->requires_grad);
  Py_XDECREF(torch->is_conj);
  Py_XDECREF(torch->is_neg);
  Py_XDECREF(torch->level_name);
  Py_XDECREF(torch->forward_ad);
  Py_XDECREF(torch->dtype);
  Py_XDECREF(torch->few_bits);
}

static inline void dlbridge_py_store_torch_(DLBridgePy* py, const DLBridgePyTorch_* torch) {
  DLBridgePyMore_* more = dlbridge_py_more_(py->life);
  py->is_conj = torch->is_conj;
  py->is_neg = torch->is_neg;
  more->level_name = torch->level_name;
  more->forward_ad = torch->forward_ad;
  more->dtype = torch->dtype;
  more->few_bits = torch->few_bits;
  py->requires_grad = torch->requires_grad;
}

#ifdef Py_GIL_DISABLED
/* Two threads may find the descriptors at the same time. Those of the first one are kept. */
static inline void dlbridge_py_keep_torch_(DLBridgePy* py, DLBridgePyTorch_* torch) {
  int first;
  PyMutex_Lock(&py->mutex);
  first = py->requires_grad == NULL;
  if (first) {
    dlbridge_py_store_torch_(py, torch);
  }
  PyMutex_Unlock(&py->mutex);
  if (!first) {
    dlbridge_py_drop_torch_(torch);
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
static inline void dlbridge_py_keep_torch_(DLBridgePy* py, DLBridgePyTorch_* torch) {
  dlbridge_py_store_torch_(py, torch);
}
static inline int dlbridge_py_knows_torch_(DLBridgePy* py) { return py->requires_grad != NULL; }
#endif

/* The names of torch's module of forward mode, a new reference; NULL without it. Importing torch imports
 * it. */
static inline PyObject* dlbridge_py_forward_ad_(void) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.autograd.forward_ad");
  return module != NULL && PyModule_Check(module) ? Py_NewRef(PyModule_GetDict(module)) : NULL;
}

/* Torch's dtypes of 1 to 7 bits, each of whose elements takes a byte: a new set; NULL, without an
 * exception, if torch is not imported. */
static inline PyObject* dlbridge_py_few_bits_(void) {
  static const char* const names[] = {"int1",  "int2",  "int3",  "int4",  "int5",  "int6",  "int7",
                                      "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7"};
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  PyObject* found = module != NULL ? PySet_New(NULL) : NULL;
  size_t i;
  for (i = 0; found != NULL && i < sizeof names / sizeof *names; ++i) {
    PyObject* dtype = PyObject_GetAttrString(module, names[i]); /* older versions lack some */
    if (dtype != NULL && PySet_Add(found, dtype) < 0) {
      Py_CLEAR(found);
    }
    Py_XDECREF(dtype);
    PyErr_Clear();
  }
  return found;
}

/* Finds the descriptors of torch.Tensor, starting from the type of a tensor. A subclass may override
 * them, and its versions apply neither to other tensors nor to the table's exports. */
static inline int dlbridge_py_meet_torch_(DLBridgePy* py, PyTypeObject* type) {
  DLBridgePyTorch_ torch = {NULL, NULL, NULL, NULL, NULL, NULL, NULL};
  PyObject* kind = dlbridge_py_torch_class_(type);
  if (kind == NULL) {
    return -1;
  }
  torch.requires_grad = PyObject_GetAttrString(kind, "requires_grad");
  torch.is_conj = torch.requires_grad != NULL ? PyObject_GetAttrString(kind, "is_conj") : NULL;
  torch.is_neg = torch.is_conj != NULL ? PyObject_GetAttrString(kind, "is_neg") : NULL;
  torch.level_name = torch.is_neg != NULL ? PyUnicode_InternFromString("_current_level") : NULL;
  if (torch.level_name != NULL) {
    torch.dtype = PyObject_GetAttrString(kind, "dtype");
    PyErr_Clear();
  }
  Py_DECREF(kind);
  if (torch.level_name == NULL) {
    dlbridge_py_drop_torch_(&torch);
    return -1;
  }
  torch.forward_ad = dlbridge_py_forward_ad_();
  torch.few_bits = dlbridge_py_few_bits_();
  if (dlbridge_py_check_state_(py) < 0) {
    dlbridge_py_drop_torch_(&torch);
    return -1;
  }
  dlbridge_py_keep_torch_(py, &torch);
  return 0;
}

/* Returns 1 if a level of torch's forward mode is entered, in which tensors may have a tangent. */
static inline int dlbridge_py_is_forward_(const DLBridgePy* py) {
  const DLBridgePyMore_* more = dlbridge_py_more_(py->life);
  PyObject* level;
  long number = -1;
  if (more != NULL && more->forward_ad != NULL) {
    level = PyDict_GetItemWithError(more->forward_ad, more->level_name);
    number = level != NULL && PyLong_CheckExact(level) ? PyLong_AsLong(level) : -1;
  }
  return number >= 0;
}

/* Returns 1 if the tensor has a tangent of forward mode. */
static inline int dlbridge_py_has_tangent_(const DLBridgePy* py, PyObject* object) {
  PyObject* unpack = PyDict_GetItemString(dlbridge_py_more_(py->life)->forward_ad, "unpack_dual");
  PyObject* pair = unpack != NULL ? PyObject_CallFunctionObjArgs(unpack, object, NULL) : NULL;
  PyObject* tangent = pair != NULL ? PyObject_GetAttrString(pair, "tangent") : NULL;
  const int found = tangent != NULL && tangent != Py_None;
  Py_XDECREF(tangent);
  Py_XDECREF(pair);
  PyErr_Clear();
  return found;
}

/* Calls one of torch's methods and returns its truth value; 0 without a call if `code` rules it out. */
static inline int dlbridge_py_torch_says_(PyObject* method, PyObject* object, int possible) {
  return possible ? dlbridge_py_truth_(dlbridge_py_ask_method_(method, object)) : 0;
}

/* Returns 1 if an attribute is this very object. */
static inline int dlbridge_py_has_value_(PyObject* object, const char* attribute, PyObject* expected) {
  PyObject* value = PyObject_GetAttrString(object, attribute);
  const int found = value == expected;
  Py_XDECREF(value);
  PyErr_Clear();
  return found;
}

/* Returns 1 if the text of an attribute is another one than `text`. */
static inline int dlbridge_py_differs_(PyObject* object, const char* attribute, const char* text) {
  PyObject* value = PyObject_GetAttrString(object, attribute);
  PyObject* words = value != NULL ? PyObject_Str(value) : NULL;
  const int differs = words != NULL && PyUnicode_CompareWithASCIIString(words, text) != 0;
  Py_XDECREF(words);
  Py_XDECREF(value);
  PyErr_Clear();
  return differs;
}

/* Returns 1 if a function of torch._C says so; the path is below torch._C. */
static inline int dlbridge_py_torch_finds_(PyObject* object, const char* owner, const char* name) {
  PyObject* place = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
  PyObject* below = place != NULL ? PyObject_GetAttrString(place, owner) : NULL;
  PyObject* found = below != NULL ? PyObject_CallMethod(below, name, "O", object) : NULL;
  const int says = found == Py_True;
  Py_XDECREF(found);
  Py_XDECREF(below);
  PyErr_Clear();
  return says;
}

/* Returns 1 if the storage of a torch tensor has no bytes. */
static inline int dlbridge_py_is_freed_(PyObject* object) {
  PyObject* storage = PyObject_CallMethod(object, "untyped_storage", NULL);
  PyObject* bytes = storage != NULL ? PyObject_CallMethod(storage, "nbytes", NULL) : NULL;
  const int freed = bytes != NULL && PyLong_Check(bytes) && PyLong_AsLongLong(bytes) == 0;
  Py_XDECREF(bytes);
  Py_XDECREF(storage);
  PyErr_Clear();
  return freed;
}

/* Why the data of a torch tensor is NULL, although it has elements. */
static inline int dlbridge_py_no_memory_reason_(PyObject* object) {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  PyObject* answer =
      torch != NULL ? PyObject_CallMethod(torch, "_is_functional_tensor", "O", object) : NULL;
  const int functional = answer == Py_True;
  Py_XDECREF(answer);
  PyErr_Clear();
  return functional                        ? DLBRIDGE_PY_REASON_FUNCTIONAL_
         : dlbridge_py_is_freed_(object) ? DLBRIDGE_PY_REASON_FREED_
                                         : DLBRIDGE_PY_REASON_NO_MEMORY_;
}

/* Why torch does not export this tensor; the order is that in which a reason implies the next ones. */
static inline int dlbridge_py_torch_reason_(PyObject* object) {
  PyObject* device;
  int is_meta;
  if (dlbridge_py_torch_finds_(object, "_functorch", "is_functorch_wrapped_tensor")) {
    return DLBRIDGE_PY_REASON_TRANSFORMED_;
  }
  if (dlbridge_py_has_value_(object, "is_nested", Py_True)) {
    return DLBRIDGE_PY_REASON_NESTED_;
  }
  if (dlbridge_py_differs_(object, "layout", "torch.strided")) {
    return DLBRIDGE_PY_REASON_LAYOUT_;
  }
  if (dlbridge_py_has_value_(object, "is_quantized", Py_True)) {
    return DLBRIDGE_PY_REASON_QUANTIZED_;
  }
  if (dlbridge_py_reads_((PyObject*)Py_TYPE(object), "__name__", "UninitializedParameter") ||
      dlbridge_py_reads_((PyObject*)Py_TYPE(object), "__name__", "UninitializedBuffer")) {
    return DLBRIDGE_PY_REASON_UNINITIALIZED_;
  }
  device = PyObject_GetAttrString(object, "device");
  is_meta = device != NULL && dlbridge_py_reads_(device, "type", "meta");
  Py_XDECREF(device);
  PyErr_Clear();
  return is_meta ? DLBRIDGE_PY_REASON_META_ : DLBRIDGE_PY_REASON_NONE_;
}

/* Why NumPy does not export this array, if there is a remedy. */
static inline int dlbridge_py_numpy_reason_(PyObject* object) {
  PyObject* dtype = PyObject_GetAttrString(object, "dtype");
  PyObject* kind = dtype != NULL ? PyObject_GetAttrString(dtype, "type") : NULL;
  int reason = DLBRIDGE_PY_REASON_NONE_;
  PyErr_Clear();
  if (kind != NULL && (dlbridge_py_is_(kind, "numpy", "datetime64") ||
                       dlbridge_py_is_(kind, "numpy", "timedelta64"))) {
    reason = DLBRIDGE_PY_REASON_TIME_;
  } else if (kind != NULL && dlbridge_py_reads_(kind, "__module__", "ml_dtypes") &&
             !dlbridge_py_reads_(kind, "__name__", "bcomplex32")) {
    reason = DLBRIDGE_PY_REASON_ML_DTYPES_;
  }
  Py_XDECREF(kind);
  Py_XDECREF(dtype);
  return reason;
}

/* Replaces the BufferError of an array that NumPy does not export by one with the remedy, if there is
 * one. */
static inline void dlbridge_py_explain_numpy_(PyObject* object) {
  int reason;
  DLBridgePyPending_ pending;
  if (!PyErr_ExceptionMatches(PyExc_BufferError)) {
    return;
  }
  pending = dlbridge_py_set_aside_();
  reason = dlbridge_py_reads_((PyObject*)Py_TYPE(object), "__module__", "numpy")
               ? dlbridge_py_numpy_reason_(object)
               : DLBRIDGE_PY_REASON_NONE_;
  dlbridge_py_put_back_(pending);
  if (reason != DLBRIDGE_PY_REASON_NONE_) {
    PyErr_Clear();
    dlbridge_py_reject_reason_(reason);
  }
}

/* The first line of the current exception's message, which is cleared; a new reference, or NULL. */
static inline PyObject* dlbridge_py_first_line_(PyObject* exception) {
  PyObject* text = PyObject_Str(exception);
  PyObject* lines = text != NULL ? PyUnicode_Splitlines(text, 0) : NULL;
  PyObject* first = lines != NULL && PyList_Size(lines) > 0 ? Py_NewRef(PyList_GetItem(lines, 0)) : NULL;
  Py_XDECREF(lines);
  Py_XDECREF(text);
  PyErr_Clear();
  return first;
}

/* Replaces the exception of a failed export of a torch tensor by the reason, if there is one. Texts of
 * C++ with a stack of calls become their first line. Returns -1. */
static inline int dlbridge_py_explain_torch_(PyObject* object) {
  PyObject *exception, *line;
  int reason, no_data;
  if (!PyErr_ExceptionMatches(PyExc_RuntimeError) && !PyErr_ExceptionMatches(PyExc_BufferError) &&
      !PyErr_ExceptionMatches(PyExc_ValueError)) {
    return -1;
  }
  exception = dlbridge_py_pending_();
  PyErr_Clear();
  no_data = dlbridge_py_reads_(exception, "rule", "DATA_NULL");
  reason = dlbridge_py_torch_reason_(object);
  if (reason == DLBRIDGE_PY_REASON_NONE_ && no_data) {
    reason = dlbridge_py_no_memory_reason_(object);
  }
  line = dlbridge_py_first_line_(exception);
  if (reason != DLBRIDGE_PY_REASON_NONE_) {
    dlbridge_py_reject_reason_(reason);
  } else if (line != NULL && PyObject_IsInstance(exception, PyExc_RuntimeError) == 1) {
    dlbridge_py_reject_(PyExc_BufferError, DLBRIDGE_ERROR_UNREPRESENTABLE, DLBRIDGE_RULE_NONE,
                        "expected a tensor that torch exports, found one that it rejects: %U", line);
  } else {
    PyErr_SetObject((PyObject*)Py_TYPE(exception), exception);
  }
  Py_XDECREF(line);
  Py_DECREF(exception);
  return -1;
}

/* Returns 1 if the table exports the values of this torch tensor; -1 with the reason otherwise. `code`
 * is the tensor's dtype code, or -1 if it is not known yet: integers and booleans have no gradient, and
 * only complex numbers are conjugated. */
static inline int dlbridge_py_guard_torch_(DLBridgePy* py, PyObject* object, int code) {
  const int is_discrete = code == kDLInt || code == kDLUInt || code == kDLBool;
  int requires_grad, conjugated, negated, dual, reason;
  if (!dlbridge_py_knows_torch_(py) && dlbridge_py_meet_torch_(py, Py_TYPE(object)) < 0) {
    return -1;
  }
  requires_grad =
      is_discrete ? 0 : dlbridge_py_truth_(dlbridge_py_ask_attribute_(py->requires_grad, object));
  if (requires_grad < 0) {
    return -1;
  }
  conjugated = dlbridge_py_torch_says_(py->is_conj, object, code == kDLComplex || code == -1);
  if (conjugated < 0) {
    return -1;
  }
  negated = dlbridge_py_torch_says_(py->is_neg, object, 1);
  if (negated < 0) {
    return -1;
  }
  dual = !is_discrete && dlbridge_py_is_forward_(py) && dlbridge_py_has_tangent_(py, object);
  if (!requires_grad && !conjugated && !negated && !dual) {
    return 1;
  }
  reason = dlbridge_py_torch_reason_(object);
  if (reason == DLBRIDGE_PY_REASON_NONE_) {
    reason = requires_grad ? DLBRIDGE_PY_REASON_GRADIENT_
             : dual        ? DLBRIDGE_PY_REASON_TANGENT_
             : negated     ? DLBRIDGE_PY_REASON_NEGATED_
                           : DLBRIDGE_PY_REASON_CONJUGATED_;
  }
  return dlbridge_py_reject_reason_(reason);
}

/* Returns 1 if the dtype of a torch tensor is exported as it is; -1 with the reason otherwise. */
static inline int dlbridge_py_guard_few_bits_(DLBridgePy* py, PyObject* object) {
  const DLBridgePyMore_* more = dlbridge_py_more_(py->life);
  PyObject* dtype;
  int found;
  if (more == NULL || more->dtype == NULL || more->few_bits == NULL) {
    return 1;
  }
  dtype = dlbridge_py_ask_attribute_(more->dtype, object);
  found = dtype != NULL ? PySet_Contains(more->few_bits, dtype) : -1;
  Py_XDECREF(dtype);
  if (found > 0) {
    return dlbridge_py_reject_reason_(DLBRIDGE_PY_REASON_FEW_BITS_);
  }
  return found < 0 ? -1 : 1;
}

/* As dlbridge_py_guard_torch_, for any guard. */
static inline int dlbridge_py_guard_(DLBridgePy* py, PyObject* object, int guard, int code) {
  return guard == DLBRIDGE_PY_GUARD_TORCH ? dlbridge_py_guard_torch_(py, object, code) : 1;
}

/* As dlbridge_py_guard_, with the tensor's dtype, or NULL if it is not known yet. Integers of a byte
 * may be torch's dtypes of 1 to 7 bits. */
static inline int dlbridge_py_guard_dtype_(DLBridgePy* py, PyObject* object, int guard,
                                           const DLDataType* dtype) {
  const int status = dlbridge_py_guard_(py, object, guard, dtype != NULL ? dtype->code : -1);
  const int is_byte =
      dtype == NULL || (dtype->bits == 8 && (dtype->code == kDLInt || dtype->code == kDLUInt));
  return status == 1 && guard == DLBRIDGE_PY_GUARD_TORCH && is_byte
             ? dlbridge_py_guard_few_bits_(py, object)
             : status;
}

/* Returns 1 if a TensorFlow tensor holds objects, by the name of its dtype. */
static inline int dlbridge_py_holds_objects_(PyObject* object) {
  PyObject* dtype = PyObject_GetAttrString(object, "dtype");
  PyObject* name = dtype != NULL ? PyObject_GetAttrString(dtype, "name") : NULL;
  const int found = name != NULL && PyUnicode_Check(name) &&
                    (PyUnicode_CompareWithASCIIString(name, "string") == 0 ||
                     PyUnicode_CompareWithASCIIString(name, "resource") == 0 ||
                     PyUnicode_CompareWithASCIIString(name, "variant") == 0);
  Py_XDECREF(name);
  Py_XDECREF(dtype);
  PyErr_Clear();
  return found;
}

/* Returns 1 if a Paddle tensor is sparse. */
static inline int dlbridge_py_is_sparse_(PyObject* object) {
  PyObject* answer = PyObject_CallMethod(object, "is_sparse", NULL);
  const int sparse = answer == Py_True;
  Py_XDECREF(answer);
  PyErr_Clear();
  return sparse;
}

/* Replaces the exception of a failed export of a Paddle tensor by the reason, if there is one. Asking
 * before the export would cost half as much as the export. Returns -1. */
static inline int dlbridge_py_explain_paddle_(PyObject* object) {
  PyObject* exception;
  if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) {
    return -1;
  }
  exception = dlbridge_py_pending_();
  PyErr_Clear();
  if (dlbridge_py_is_sparse_(object)) {
    dlbridge_py_reject_reason_(DLBRIDGE_PY_REASON_SPARSE_);
  } else {
    PyErr_SetObject((PyObject*)Py_TYPE(exception), exception);
  }
  Py_DECREF(exception);
  return -1;
}

/* Guards that need no tensor: returns 0, or -1 with the reason. */
static inline int dlbridge_py_guard_first_(PyObject* object, int guard) {
  switch (guard) {
    case DLBRIDGE_PY_GUARD_FAKE:
      return dlbridge_py_reject_reason_(DLBRIDGE_PY_REASON_FAKE_);
    case DLBRIDGE_PY_GUARD_MASKED:
      return dlbridge_py_reject_reason_(PyObject_HasAttrString(object, "get_mask")
                                            ? DLBRIDGE_PY_REASON_MASKED_TORCH_
                                            : DLBRIDGE_PY_REASON_MASKED_);
    case DLBRIDGE_PY_GUARD_TRACER:
      return dlbridge_py_reject_reason_(DLBRIDGE_PY_REASON_TRACER_);
    case DLBRIDGE_PY_GUARD_PADDLE:
      return dlbridge_py_has_value_(object, "stop_gradient", Py_False)
                 ? dlbridge_py_reject_reason_(DLBRIDGE_PY_REASON_GRADIENT_)
                 : 0;
    case DLBRIDGE_PY_GUARD_TIME:
      return dlbridge_py_reject_reason_(DLBRIDGE_PY_REASON_TIME_);
    case DLBRIDGE_PY_GUARD_TENSORFLOW:
      return dlbridge_py_holds_objects_(object)
                 ? dlbridge_py_reject_reason_(DLBRIDGE_PY_REASON_OBJECTS_)
                 : 0;
    default:
      return 0;
  }
}

#ifdef __cplusplus
}
#endif

#endif /* DLBRIDGE_CPYTHON_GUARDS_H_ */
