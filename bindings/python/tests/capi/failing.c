/* SPDX-License-Identifier: Apache-2.0 */
/* An extension that calls a function while calls of libdlbridge.so to the C library fail, or while
 * Python's allocators fail. Compiled with tests/faults/hooks.c. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "dlbridge/dlbridge.h"
#include "faults/hooks.h"

enum { NOTHING, LIBRARY, PYTHON };

/* ------------------------------------------------------------------ Python's allocators that fail
 */

enum { DOMAINS = 3 };

static PyMemAllocatorEx g_real[DOMAINS];
static unsigned long g_thread; /* the only one that sees failures */
static int g_armed;
static int64_t g_seen, g_nth, g_failed;
static int g_forever;

/* Blocks of the current call. Memory that it gives back is there for it again: the latest such size
 * serves one allocation that is not larger. */
enum { BLOCKS = 64 };
static struct {
  void* memory;
  size_t size;
} g_blocks[BLOCKS];
static size_t g_block_count, g_given_back;

static int is_watched(void) { return g_armed && g_thread == PyThread_get_thread_ident(); }

static int fails(size_t size) {
  if (!is_watched()) return 0;
  ++g_seen;
  if (g_seen < g_nth || (g_seen > g_nth && !g_forever)) return 0;
  if (g_forever && size <= g_given_back) {
    g_given_back = 0;
    return 0;
  }
  ++g_failed;
  return 1;
}

static void* note(void* memory, size_t size) {
  if (is_watched() && g_block_count < BLOCKS) {
    g_blocks[g_block_count].memory = memory;
    g_blocks[g_block_count++].size = size;
  }
  return memory;
}

static void* failing_malloc(void* context, size_t size) {
  PyMemAllocatorEx* real = (PyMemAllocatorEx*)context;
  return fails(size) ? NULL : note(real->malloc(real->ctx, size), size);
}
static void* failing_calloc(void* context, size_t count, size_t size) {
  PyMemAllocatorEx* real = (PyMemAllocatorEx*)context;
  return fails(count * size) ? NULL : note(real->calloc(real->ctx, count, size), count * size);
}
static void* failing_realloc(void* context, void* memory, size_t size) {
  PyMemAllocatorEx* real = (PyMemAllocatorEx*)context;
  return fails(size) ? NULL : real->realloc(real->ctx, memory, size);
}
static void noting_free(void* context, void* memory) {
  PyMemAllocatorEx* real = (PyMemAllocatorEx*)context;
  size_t i;
  for (i = 0; memory != NULL && is_watched() && i < g_block_count; ++i) {
    if (g_blocks[i].memory == memory) {
      g_given_back = g_blocks[i].size;
      g_blocks[i].memory = NULL;
    }
  }
  real->free(real->ctx, memory);
}

static void install_allocators(void) {
  static const PyMemAllocatorDomain domains[DOMAINS] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM,
                                                        PYMEM_DOMAIN_OBJ};
  int i;
  for (i = 0; i < DOMAINS; ++i) {
    PyMemAllocatorEx mine = {NULL, failing_malloc, failing_calloc, failing_realloc, noting_free};
    PyMem_GetAllocator(domains[i], &g_real[i]);
    mine.ctx = &g_real[i];
    PyMem_SetAllocator(domains[i], &mine);
  }
}

static void arm(int source, int64_t nth, int forever) {
  if (source == LIBRARY) faults_arm(nth, forever);
  g_thread = PyThread_get_thread_ident();
  g_seen = 0;
  g_failed = 0;
  g_block_count = 0;
  g_given_back = 0;
  g_nth = nth;
  g_forever = forever;
  g_armed = source == PYTHON;
}

static int64_t disarm(int source) {
  g_armed = 0;
  return source == LIBRARY ? faults_disarm() : g_failed;
}

/* ----------------------------------------------------------------------------------- the module */

/* install(): hooks both. Returns the number of functions of the library that are hooked. */
static PyObject* install(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  install_allocators();
  return PyLong_FromLong(faults_install("libdlbridge.so"));
}

static int64_t g_last_failed;

/* call(source, nth, forever, function, args, kwargs): what the function returns or raises. */
static PyObject* call(PyObject* module, PyObject* args) {
  int source, forever;
  long long nth;
  PyObject *function, *positional, *keywords, *result;
  (void)module;
  if (!PyArg_ParseTuple(args, "iLpOO!O!", &source, &nth, &forever, &function, &PyTuple_Type,
                        &positional, &PyDict_Type, &keywords)) {
    return NULL;
  }
  arm(source, nth, forever);
  result = PyObject_Call(function, positional, keywords);
  g_last_failed = disarm(source);
  return result;
}

/* failed(): the number of failures in the last call, and the name of the library's last one. */
static PyObject* failed(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  return Py_BuildValue("(Ls)", (long long)g_last_failed, faults_last());
}

/* live(): the blocks and mappings that the library has not given back. */
static PyObject* live(PyObject* module, PyObject* nothing) {
  FaultsLive held;
  (void)module;
  (void)nothing;
  faults_live(&held);
  return Py_BuildValue("(LL)", (long long)held.blocks, (long long)held.mappings);
}

/* Deleters that need no Python: each counts in the integer at the context. */
static void count_legacy(DLManagedTensor* self) { ++*(int64_t*)self->manager_ctx; }
static void count_versioned(DLManagedTensorVersioned* self) { ++*(int64_t*)self->manager_ctx; }

static PyObject* deleters(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  return Py_BuildValue("(KK)", (unsigned long long)(uintptr_t)count_legacy,
                       (unsigned long long)(uintptr_t)count_versioned);
}

static PyMethodDef g_methods[] = {
    {"install", install, METH_NOARGS, NULL},   {"call", call, METH_VARARGS, NULL},
    {"failed", failed, METH_NOARGS, NULL},     {"live", live, METH_NOARGS, NULL},
    {"deleters", deleters, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "failing", NULL, -1, g_methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_failing(void) { return PyModule_Create(&g_module); }
