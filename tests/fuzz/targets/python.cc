// SPDX-License-Identifier: Apache-2.0
// The C API for CPython extensions on hostile objects: each call of __dlpack__, __dlpack_device__
// and of an exchange table does what the input decides, which may be an exception, a wrong or used
// capsule, a broken tensor, another import, or a change of its own type. Each producer's deleter
// runs exactly once, a result is an error exactly if an exception is set, and no reference is lost
// or left.
#include <Python.h>

#include <cstring>
#include <list>
#include <string>
#include <vector>

#include "dlbridge/cpython_api.h"
#include "fuzz/support/check.h"
#include "fuzz/support/hidden_drivers.h"
#include "fuzz/support/input.h"

namespace dlbridge_fuzz {
namespace {

constexpr int kMostDepth = 3;
constexpr int kMostSteps = 12;

// ----------------------------------------------------------------------------------- the producers

// A producer's tensor of either kind. Its bytes and arrays stay until the end of the input.
struct Producer {
  DLManagedTensor legacy = {};
  DLManagedTensorVersioned versioned = {};
  int64_t shape[3] = {2, 3, 1};
  int64_t strides[3] = {3, 1, 1};
  float data[64] = {1, 2, 3};  // six elements of at most 255 bits
  int deleted = 0;
};

// The decisions and the producers of the current input.
struct World {
  Input* input = nullptr;
  std::list<Producer> producers;
  PyObject* used = nullptr;  // a capsule that may be given again
  int depth = 0;
};
World* g_world = nullptr;

Input& Decide() { return *g_world->input; }

void Spoil(DLTensor* tensor) {
  Input& input = Decide();
  switch (input.Below(10)) {
    case 1:
      tensor->ndim = static_cast<int32_t>(input.Pick<int64_t>({-1, 65, INT32_MAX}));
      break;
    case 2:
      tensor->shape = nullptr;
      break;
    case 3:
      tensor->dtype = {static_cast<uint8_t>(input.Below(21)), input.Byte(), 1};
      break;
    case 4:
      tensor->shape[0] = input.Number();
      tensor->data = nullptr;  // no element may be read
      break;
    case 5:
      tensor->strides = nullptr;
      break;
    case 6:
      tensor->device.device_id = -1;
      break;
    case 7:
      tensor->dtype.lanes = 0;
      break;
    default:
      tensor->ndim = static_cast<int32_t>(input.Below(4));
  }
}

Producer* MakeProducer() {
  Input& input = Decide();
  g_world->producers.emplace_back();
  Producer* one = &g_world->producers.back();
  DLTensor tensor = {};
  tensor.data = one->data;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 2;
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = one->shape;
  tensor.strides = one->strides;
  if (input.OneIn(4)) {
    Spoil(&tensor);
  }
  one->legacy.dl_tensor = tensor;
  one->legacy.manager_ctx = one;
  one->legacy.deleter = [](DLManagedTensor* self) {
    ++static_cast<Producer*>(self->manager_ctx)->deleted;
  };
  one->versioned.dl_tensor = tensor;
  one->versioned.version = {input.OneIn(16) ? 2U : 1U, static_cast<uint32_t>(input.Below(5))};
  one->versioned.flags = input.OneIn(4) ? input.Below(8) : 0;
  one->versioned.flags |= input.OneIn(32) ? uint64_t{1} << 40 : 0;
  one->versioned.manager_ctx = one;
  one->versioned.deleter = [](DLManagedTensorVersioned* self) {
    ++static_cast<Producer*>(self->manager_ctx)->deleted;
  };
  return one;
}

// A capsule as the protocol describes it: its destructor releases a tensor that was not taken.
void DestroyCapsule(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (name == nullptr || std::strncmp(name, "used_", 5) == 0) {
    return;
  }
  auto* producer = static_cast<Producer*>(PyCapsule_GetContext(capsule));
  if (producer != nullptr) {
    ++producer->deleted;
  }
}

// Capsules whose name is wrong have a producer too, which only the destructor releases.
PyObject* MakeCapsule() {
  static const char* const kNames[] = {"dltensor_versioned",
                                       "dltensor_versioned",
                                       "dltensor",
                                       "dltensor_versione",
                                       "dltensor_versioned2",
                                       "tensor",
                                       ""};
  Producer* producer = MakeProducer();
  const char* name = kNames[Decide().Below(sizeof kNames / sizeof kNames[0])];
  void* pointer = std::strcmp(name, "dltensor") == 0 ? static_cast<void*>(&producer->legacy)
                                                     : &producer->versioned;
  PyObject* capsule = PyCapsule_New(pointer, name, DestroyCapsule);
  Check("a capsule", capsule != nullptr && PyCapsule_SetContext(capsule, producer) == 0);
  return capsule;
}

// ---------------------------------------------------------------------------------- hostile
// methods

PyObject* RaiseAny() {
  PyObject* const types[] = {PyExc_TypeError,     PyExc_BufferError, PyExc_AttributeError,
                             PyExc_ValueError,    PyExc_MemoryError, PyExc_KeyboardInterrupt,
                             PyExc_StopIteration, PyExc_RuntimeError};
  PyErr_SetString(types[Decide().Below(8)], "from the producer");
  return nullptr;
}

void ImportAnother();

// Changes what a type offers while it is being asked.
void ChangeType(PyObject* object) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (Decide().Flag()) {
    PyObject* text = PyUnicode_FromString("changed");
    PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", text);
    Py_DECREF(text);
  } else {
    PyObject_DelAttrString(type, "__dlpack__");
  }
  PyErr_Clear();
}

PyObject* Answer(PyObject* object) {
  Input& input = Decide();
  switch (input.Below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return MakeCapsule();
    case 4:
      return RaiseAny();
    case 5:
      Py_RETURN_NONE;
    case 6:
      return PyLong_FromLong(7);
    case 7:
      return g_world->used != nullptr ? Py_NewRef(g_world->used) : MakeCapsule();
    case 8:
      ImportAnother();
      return MakeCapsule();
    case 9:
      ChangeType(object);
      return MakeCapsule();
    case 10: {
      Py_XDECREF(g_world->used);
      g_world->used = MakeCapsule();
      return Py_NewRef(g_world->used);
    }
    default:
      return PyCapsule_New(object, nullptr, nullptr);
  }
}

PyObject* FastDlpack(PyObject* self, PyObject* const* /*arguments*/, Py_ssize_t /*count*/,
                     PyObject* /*names*/) {
  return Answer(self);
}

PyObject* OldDlpack(PyObject* self, PyObject* arguments, PyObject* keywords) {
  // Older producers reject keywords that they do not know.
  if (keywords != nullptr && PyDict_Size(keywords) > 0 && Decide().OneIn(3)) {
    PyErr_SetString(PyExc_TypeError, "got an unexpected keyword argument");
    return nullptr;
  }
  static_cast<void>(arguments);
  return Answer(self);
}

PyObject* DlpackDevice(PyObject* /*self*/, PyObject* /*none*/) {
  switch (Decide().Below(6)) {
    case 0:
      return RaiseAny();
    case 1:
      return PyLong_FromLong(1);
    case 2:
      return Py_BuildValue("(iii)", 1, 0, 0);
    case 3:
      return Py_BuildValue("(LL)", 1LL << 40, -1LL);
    default:
      return Py_BuildValue("(ii)", 1, 0);
  }
}

// ------------------------------------------------------------------------------------------ tables

int TableAllocate(DLTensor* /*prototype*/, DLManagedTensorVersioned** /*out*/, void* /*context*/,
                  void (* /*set_error*/)(void*, const char*, const char*)) {
  return -1;
}

int TableExport(void* object, DLManagedTensorVersioned** out) {
  switch (Decide().Below(6)) {
    case 0:
      RaiseAny();
      return -1;
    case 1:
      return -1;  // without an exception, which is wrong
    case 2:
      ChangeType(static_cast<PyObject*>(object));
      break;
    case 3:
      ImportAnother();
      break;
    default:
      break;
  }
  *out = &MakeProducer()->versioned;
  return 0;
}

int TableLend(void* /*object*/, DLTensor* out) {
  if (Decide().OneIn(4)) {
    RaiseAny();
    return -1;
  }
  Producer* lent = MakeProducer();
  lent->deleted = 1;  // it has no owner
  *out = lent->versioned.dl_tensor;
  return 0;
}

int TableImport(DLManagedTensorVersioned* /*tensor*/, void** /*out*/) { return -1; }

int TableStream(DLDeviceType /*type*/, int32_t /*id*/, void** out) {
  *out = nullptr;
  return 0;
}

const DLPackExchangeAPI* Tables() {
  static DLPackExchangeAPI lends = {{{1, 3}, nullptr}, TableAllocate, TableExport,
                                    TableImport,       TableLend,     TableStream};
  static DLPackExchangeAPI newer = {
      {{2, 0}, &lends.header}, nullptr, nullptr, nullptr, nullptr, nullptr};
  static DLPackExchangeAPI whole = {{{1, 2}, nullptr}, TableAllocate, TableExport,
                                    TableImport,       nullptr,       TableStream};
  const DLPackExchangeAPI* const tables[] = {&lends, &newer, &whole};
  return tables[Decide().Below(3)];
}

// ------------------------------------------------------------------------------------------- types

PyMethodDef* Methods() {
  static PyMethodDef fast[] = {
      {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(FastDlpack)),
       METH_FASTCALL | METH_KEYWORDS, nullptr},
      {"__dlpack_device__", DlpackDevice, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  static PyMethodDef old[] = {
      {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(OldDlpack)),
       METH_VARARGS | METH_KEYWORDS, nullptr},
      {"__dlpack_device__", DlpackDevice, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr}};
  return Decide().Flag() ? fast : old;
}

// A new type, whose table may be anything.
PyObject* MakeType() {
  PyType_Slot slots[] = {{Py_tp_methods, Methods()}, {0, nullptr}};
  PyType_Spec spec = {"fuzz.Hostile", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                      slots};
  PyObject* type = PyType_FromSpec(&spec);
  Check("a type", type != nullptr);
  PyObject* value = nullptr;
  switch (Decide().Below(6)) {
    case 0:
    case 1:
      value =
          PyCapsule_New(const_cast<DLPackExchangeAPI*>(Tables()), "dlpack_exchange_api", nullptr);
      break;
    case 2:
      value = PyCapsule_New(const_cast<DLPackExchangeAPI*>(Tables()), "other", nullptr);
      break;
    case 3:
      value = PyLong_FromLong(1);
      break;
    default:
      break;
  }
  if (value != nullptr) {
    Check("an attribute", PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", value) == 0);
    Py_DECREF(value);
  }
  return type;
}

PyObject* MakeObject(PyObject* type) {
  PyObject* object = PyObject_CallNoArgs(type);
  Check("an object", object != nullptr);
  return object;
}

// ----------------------------------------------------------------------------------------- the
// calls

// A failed call has set an exception; a successful one has not.
void CheckResult(bool failed) {
  Check("an exception exactly after a failure", failed == (PyErr_Occurred() != nullptr));
  PyErr_Clear();
}

DLBridgePyImportOptions TakeOptions(DLBridgePolicy* policy, DLDevice* device) {
  Input& input = Decide();
  DLBridgePyImportOptions options = DLBRIDGE_PY_IMPORT_OPTIONS_INIT;
  // SKIP_VALIDATION would be a lie: the tensors may be broken.
  options.options = static_cast<uint32_t>(input.Below(64)) << 8 & ~DLBRIDGE_PY_SKIP_VALIDATION;
  options.options = input.Flag() ? options.options & ~DLBRIDGE_PY_STREAM : options.options;
  options.options |= input.OneIn(32) ? 1U << input.Below(32) : 0;
  options.options &= ~DLBRIDGE_PY_SKIP_VALIDATION;
  options.stream = input.OneIn(8) ? input.Number() : 0;
  *policy = DLBRIDGE_POLICY_INIT;
  policy->options = input.Flag() ? DLBRIDGE_POLICY_REQUIRE_WRITABLE : 0;
  *device = {kDLCPU, static_cast<int32_t>(input.Below(2))};
  options.policy = input.OneIn(4) ? policy : nullptr;
  options.device = input.OneIn(8) ? device : nullptr;
  return options;
}

// Reads all elements of an accepted tensor, and releases it.
void Use(DLManagedTensorVersioned* tensor) {
  DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
  Check("an accepted tensor is valid",
        tensor->version.major == 1 &&
            dlbridge_layout(&tensor->dl_tensor, tensor->flags, &layout, nullptr) == DLBRIDGE_OK);
  tensor->deleter(tensor);
}

void Import(PyObject* object) {
  DLBridgePolicy policy;
  DLDevice device;
  const DLBridgePyImportOptions options = TakeOptions(&policy, &device);
  DLManagedTensorVersioned* tensor = nullptr;
  const int status = dlbridge_py_import(dlbridge_py_state(), object,
                                        Decide().Flag() ? &options : nullptr, &tensor);
  Check("either a tensor or an error", (status == 0) == (tensor != nullptr));
  CheckResult(status != 0);
  if (tensor != nullptr) {
    Use(tensor);
  }
}

void Borrow(PyObject* object) {
  DLBridgePolicy policy;
  DLDevice device;
  const DLBridgePyImportOptions options = TakeOptions(&policy, &device);
  DLBridgePyBorrowed borrowed;
  const int status = dlbridge_py_borrow(dlbridge_py_state(), object,
                                        Decide().Flag() ? &options : nullptr, &borrowed);
  CheckResult(status != 0);
  if (status == 0) {
    DLBridgeLayout layout = DLBRIDGE_LAYOUT_INIT;
    Check("a borrowed tensor is valid", dlbridge_layout(&borrowed.tensor, borrowed.tensor_flags,
                                                        &layout, nullptr) == DLBRIDGE_OK);
    dlbridge_py_give_back(&borrowed);
  }
}

void ImportCapsule() {
  PyObject* capsule = Decide().OneIn(8) ? PyLong_FromLong(3) : MakeCapsule();
  DLBridgePolicy policy;
  DLDevice device;
  const DLBridgePyImportOptions options = TakeOptions(&policy, &device);
  for (int i = 0; i < 2; ++i) {
    DLManagedTensorVersioned* tensor = nullptr;
    const int status = dlbridge_py_import_capsule(capsule, i == 0 ? &options : nullptr, &tensor);
    Check("either a tensor or an error", (status == 0) == (tensor != nullptr));
    CheckResult(status != 0);
    if (tensor != nullptr) {
      Use(tensor);
    }
  }
  Py_DECREF(capsule);
}

void ImportAnother() {
  if (++g_world->depth <= kMostDepth) {
    PyObject* type = MakeType();
    PyObject* object = MakeObject(type);
    Import(object);
    Py_DECREF(object);
    Py_DECREF(type);
  }
  --g_world->depth;
}

// A value that a consumer may pass as a keyword.
PyObject* TakeValue() {
  Input& input = Decide();
  switch (input.Below(9)) {
    case 0:
      return Py_NewRef(Py_None);
    case 1:
      return Py_NewRef(Py_True);
    case 2:
      return Py_NewRef(Py_False);
    case 3:
      return PyLong_FromLongLong(input.Number());
    case 4:
      return PyUnicode_FromString("text");
    case 5:
      return Py_BuildValue("(LL)", static_cast<long long>(input.Number()),
                           static_cast<long long>(input.Number()));
    case 6:
      return Py_BuildValue("(ii)", 1, static_cast<int>(input.Below(5)));
    case 7:
      return Py_BuildValue("(Os)", Py_None, "x");
    default:
      return PyTuple_New(static_cast<Py_ssize_t>(input.Below(4)));
  }
}

// A tensor of the library, which answers requests with any keywords.
void AnswerRequest() {
  static const char* const kKeywords[] = {"max_version", "dl_device", "copy",
                                          "stream",      "other",     ""};
  Input& input = Decide();
  Producer* producer = MakeProducer();
  DLManagedTensorVersioned* tensor = nullptr;
  if (dlbridge_import(&producer->versioned, DLBRIDGE_KIND_VERSIONED, nullptr, &tensor, nullptr) !=
      DLBRIDGE_OK) {
    ++producer->deleted;
    return;
  }
  PyObject* values[4] = {};
  const auto count = static_cast<Py_ssize_t>(input.Below(5));
  PyObject* names = PyTuple_New(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    values[i] = TakeValue();
    PyTuple_SetItem(names, i, PyUnicode_InternFromString(kKeywords[input.Below(6)]));
  }
  const Py_ssize_t before = Py_REFCNT(names);
  PyObject* capsule =
      dlbridge_py_dlpack(tensor, -1, values, input.OneIn(16) ? 1 : 0, count != 0 ? names : nullptr);
  CheckResult(capsule == nullptr);
  CheckEqual("references to the names", before, Py_REFCNT(names));
  if (capsule != nullptr && input.Flag()) {
    DLManagedTensorVersioned* taken = nullptr;
    CheckResult(dlbridge_py_import_capsule(capsule, nullptr, &taken) != 0);
    if (taken != nullptr) {
      taken->deleter(taken);
    }
  }
  Py_XDECREF(capsule);
  Py_DECREF(names);
  for (PyObject* value : values) {
    Py_XDECREF(value);
  }
  tensor->deleter(tensor);
}

// Memory that a Python object keeps alive.
void WrapOwner() {
  Input& input = Decide();
  PyObject* owner = PyByteArray_FromStringAndSize("0123456789abcdef", 16);
  const int64_t shape = input.OneIn(4) ? input.Number() : 4;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.device = {input.OneIn(8) ? kDLCUDA : kDLCPU, 0};
  spec.dtype = {kDLFloat, 32, static_cast<uint16_t>(input.OneIn(16) ? 0 : 1)};
  spec.ndim = 1;
  spec.shape = &shape;
  spec.options = DLBRIDGE_WRAP_LIMIT_BUFFER;
  spec.buffer_size = 16;
  spec.buffer = dlbridge_buffer_address(PyByteArray_AsString(owner));
  DLManagedTensorVersioned* tensor = nullptr;
  const int status = dlbridge_py_wrap(dlbridge_py_state(), owner, &spec, &tensor);
  CheckResult(status != 0);
  CheckEqual("references to the owner", Py_ssize_t{status == 0 ? 2 : 1}, Py_REFCNT(owner));
  if (status == 0) {
    const DLPackVersion newest = {input.Flag() ? 1U : 0U, static_cast<uint32_t>(input.Below(4))};
    PyObject* capsule = dlbridge_py_capsule(tensor, input.OneIn(4) ? nullptr : &newest, 0);
    CheckResult(capsule == nullptr);
    Py_XDECREF(capsule);
  }
  CheckEqual("references to the owner", Py_ssize_t{1}, Py_REFCNT(owner));
  Py_DECREF(owner);
}

// Calls on one object, after which nothing but the program holds it.
void UseObject() {
  PyObject* type = MakeType();
  PyObject* object = MakeObject(type);
  for (uint64_t calls = 1 + Decide().Below(3); calls != 0; --calls) {
    if (Decide().Flag()) {
      Import(object);
    } else {
      Borrow(object);
    }
    CheckEqual("references to the object", Py_ssize_t{1}, Py_REFCNT(object));
  }
  Py_DECREF(object);
  Py_DECREF(type);
}

void Run(Input* input) {
  World world;
  world.input = input;
  g_world = &world;
  for (int step = 0; step < kMostSteps && !input->empty(); ++step) {
    switch (input->Below(6)) {
      case 0:
        ImportCapsule();
        break;
      case 1:
        AnswerRequest();
        break;
      case 2:
        WrapOwner();
        break;
      default:
        UseObject();
    }
  }
  Py_CLEAR(world.used);
  for (const Producer& producer : world.producers) {
    CheckEqual("runs of a producer's deleter", 1, producer.deleted);
  }
  g_world = nullptr;
}

// With malloc, so that a sanitizer sees each object.
void StartPython() {
  static const bool started = [] {
    HideDrivers();
    PyPreConfig allocator;
    PyPreConfig_InitIsolatedConfig(&allocator);
    allocator.allocator = PYMEM_ALLOCATOR_MALLOC;
    Check("an allocator", PyStatus_Exception(Py_PreInitialize(&allocator)) == 0);
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.install_signal_handlers = 0;
    Check("an interpreter", PyStatus_Exception(Py_InitializeFromConfig(&config)) == 0);
    PyConfig_Clear(&config);
    return true;
  }();
  static_cast<void>(started);
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dlbridge_fuzz::StartPython();
  dlbridge_fuzz::Input input(data, size);
  dlbridge_fuzz::Run(&input);
  return 0;
}
