// SPDX-License-Identifier: Apache-2.0
// An extension with typed arguments on the C API of CPython alone. With MISUSE=n, code that the
// compiler must reject for the stated reason.
#include "functions.hpp"

namespace {

using namespace typed;

template <class Arg, class F>
PyObject* with(PyObject* object, F f) {
  const Arg given = Arg::import(object);
  return given ? db::py::guarded([&] { return f(given); }) : nullptr;
}

PyObject* sum_of(PyObject*, PyObject* object) {
  return with<points>(object, [](const auto& given) { return PyFloat_FromDouble(sum(given)); });
}
PyObject* negate_all(PyObject*, PyObject* object) {
  return with<writable>(object,
                        [](const auto& given) { return negate(given), Py_NewRef(Py_None); });
}
PyObject* negate_vouched(PyObject*, PyObject* object) {
  return with<vouched>(object, [](const auto& given) { return negate(given), Py_NewRef(Py_None); });
}
PyObject* numbers_of(PyObject*, PyObject* object) {
  return with<numbers>(object, [](const auto& given) {
    const int which = given.template holds<float>() ? 0 : given.template holds<double>() ? 1 : 2;
    return Py_BuildValue("(diLL)", sum_numbers(given), which,
                         static_cast<long long>(given.extent(0)),
                         static_cast<long long>(given.size()));
  });
}
PyObject* value_of(PyObject*, PyObject* object) {
  return with<scalar>(object, [](const auto& given) { return PyLong_FromLongLong(given()); });
}
PyObject* byte_count(PyObject*, PyObject* object) {
  return with<bytes>(object, [](const auto& given) { return PyLong_FromLongLong(given.size()); });
}
template <class Arg>
PyObject* accepts(PyObject*, PyObject* object) {
  return with<Arg>(object, [](const auto&) { return Py_NewRef(Py_True); });
}
PyObject* element(PyObject*, PyObject* arguments) {
  PyObject* object = nullptr;
  long long i = 0;
  long long j = 0;
  if (PyArg_ParseTuple(arguments, "OLL", &object, &i, &j) == 0) {
    return nullptr;
  }
  return with<points>(object, [&](const auto& given) {
    return PyFloat_FromDouble(static_cast<double>(given.at(i, j)));
  });
}
PyObject* throws(PyObject*, PyObject*) {
  return db::py::guarded([]() -> PyObject* { throw std::runtime_error("of the author"); });
}
PyObject* forward(PyObject*, PyObject* object) {
  return with<points>(object, [](const auto& given) { return db::py::to_python(given.owner()); });
}
PyObject* pass_on(PyObject*, PyObject* object) { return db::py::to_python(db::py::import(object)); }
PyObject* fails(PyObject*, PyObject* object) {
  return with<points>(object, [](const auto&) -> PyObject* {
    PyErr_SetString(PyExc_KeyError, "of the function");
    return nullptr;
  });
}
PyObject* release(PyObject*, PyObject* object) {
  points given = points::import(object);
  if (!given) {
    return nullptr;
  }
  release_elsewhere(std::move(given));
  return Py_NewRef(Py_None);
}

points kept;
PyObject* keep(PyObject*, PyObject* object) {
  points given = points::import(object);
  if (!given) {
    return nullptr;
  }
  kept = std::move(given);
  kept = std::move(*&kept);  // an arg that is assigned to itself stays as it is
  return PyFloat_FromDouble(sum(kept));
}
PyObject* sum_kept(PyObject*, PyObject*) { return PyFloat_FromDouble(sum(kept)); }
PyObject* drop(PyObject*, PyObject*) {
  kept = points();
  return Py_NewRef(Py_None);
}
PyObject* import_null(PyObject*, PyObject*) {
  return points::import(nullptr) ? Py_NewRef(Py_True) : nullptr;
}

PyMethodDef methods[] = {{"sum", sum_of, METH_O, nullptr},
                         {"negate", negate_all, METH_O, nullptr},
                         {"negate_vouched", negate_vouched, METH_O, nullptr},
                         {"numbers", numbers_of, METH_O, nullptr},
                         {"value", value_of, METH_O, nullptr},
                         {"byte_count", byte_count, METH_O, nullptr},
                         {"rows", accepts<rows>, METH_O, nullptr},
                         {"columns", accepts<columns>, METH_O, nullptr},
                         {"on_cuda", accepts<on_cuda>, METH_O, nullptr},
                         {"element", element, METH_VARARGS, nullptr},
                         {"throws", throws, METH_NOARGS, nullptr},
                         {"forward", forward, METH_O, nullptr},
                         {"pass_on", pass_on, METH_O, nullptr},
                         {"fails", fails, METH_O, nullptr},
                         {"release", release, METH_O, nullptr},
                         {"keep", keep, METH_O, nullptr},
                         {"sum_kept", sum_kept, METH_NOARGS, nullptr},
                         {"drop", drop, METH_NOARGS, nullptr},
                         {"import_null", import_null, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef_Slot slots[] = {
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, nullptr}};
PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "typed_plain", nullptr, 0, methods, slots, nullptr, nullptr, nullptr};

#if MISUSE == 1
// says: use of deleted function .*view|call to deleted member function 'view'
float misuse(PyObject* object) { return points::import(object).view()(0, 0); }
#elif MISUSE == 2
// says: an argument has one dlbridge::shape
bool misuse(PyObject* object) { return bool(db::py::arg<const float>::import(object)); }
#elif MISUSE == 3
// says: an argument has at most one device type
using both = db::py::arg<const float, db::shape<-1>, db::py::cpu, db::py::cuda>;
bool misuse(PyObject* object) { return bool(both::import(object)); }
#elif MISUSE == 4
// says: read bool tensors as dlbridge::boolean
bool misuse(PyObject* object) {
  return bool(db::py::arg<const bool, db::shape<-1> >::import(object));
}
#elif MISUSE == 5
// says: assignment of read-only location|cannot assign to return value
void misuse(const points& given) { given(0, 0) = 1; }
#elif MISUSE == 6
// says: either all element types of an argument are const, or none
using mixed = db::py::arg<db::py::one_of<const float, double>, db::shape<-1> >;
bool misuse(PyObject* object) { return bool(mixed::import(object)); }
#elif MISUSE == 7
// says: the demands of an argument are a shape, a device type
bool misuse(PyObject* object) {
  return bool(db::py::arg<const float, db::shape<-1>, int>::import(object));
}
#elif MISUSE == 8
// says: use of deleted function .*visit|call to deleted member function 'visit'
double misuse(PyObject* object) {
  return numbers::import(object).visit(
      [](const auto& view) { return view.size() > 0 ? 1.0 : 0.0; });
}
#elif MISUSE == 9
// says: use of deleted function .*data|call to deleted member function 'data'
const float* misuse(PyObject* object) { return points::import(object).data(); }
#endif

}  // namespace

PyMODINIT_FUNC PyInit_typed_plain() { return PyModuleDef_Init(&module); }
