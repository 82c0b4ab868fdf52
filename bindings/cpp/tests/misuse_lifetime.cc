// SPDX-License-Identifier: Apache-2.0
// Borrowed results that outlive their owner, for compilers with a lifetimebound attribute (clang);
// see misuse.cc.
// flags: -Wdangling -Wreturn-stack-address
#include "dlbridge/dlbridge.hpp"

namespace db = dlbridge;

// MISUSE 1: the message of a destroyed error
// says: temporary whose address is used as value of local variable 'why'
bool keeps_a_message(const db::tensor& tensor) {
#if MISUSE == 1
  const char* const why = db::share(tensor).error().message();
#else
  const auto shared = db::share(tensor);
  const char* const why = shared.error().message();
#endif
  return why[0] != '\0';
}

// MISUSE 2: the struct of a destroyed owner
// says: temporary whose address is used as value of local variable 'managed'
bool keeps_a_struct(const db::tensor& tensor) {
#if MISUSE == 2
  const DLManagedTensorVersioned* const managed = db::share(tensor).value().get();
#else
  const DLManagedTensorVersioned* const managed = tensor.get();
#endif
  return managed != nullptr;
}

// MISUSE 3: elements of a local owner
// says: address of stack memory associated with local variable 'imported' returned
db::result<db::strided_view<const float, 2>> returns_elements(void* managed,
                                                              const db::tensor& tensor) {
#if MISUSE == 3
  static_cast<void>(tensor);
  const db::tensor imported = db::import(managed).value();
  return imported.elements<const float, 2>();
#else
  static_cast<void>(managed);
  return tensor.elements<const float, 2>();
#endif
}

// MISUSE 4: the shape of a local owner
// says: address of stack memory associated with local variable 'imported' returned
db::span<const std::int64_t> returns_a_shape(void* managed, const db::tensor& tensor) {
#if MISUSE == 4
  static_cast<void>(tensor);
  const db::tensor imported = db::import(managed).value();
  return imported.shape();
#else
  static_cast<void>(managed);
  return tensor.shape();
#endif
}

// MISUSE 5: the value of a local result
// says: reference to stack memory associated with local variable 'shared' returned
const db::tensor& returns_a_value(const db::tensor& tensor) {
#if MISUSE == 5
  const auto shared = db::share(tensor);
  return shared.value();
#else
  return tensor;
#endif
}

// MISUSE 6: options that refer to a local policy
// says: address of stack memory associated with local variable 'demands' returned
db::convert_options returns_options(const db::policy& given) {
#if MISUSE == 6
  const db::policy demands = given.c_contiguous();
  return db::convert_options().policy(demands);
#else
  return db::convert_options().policy(given);
#endif
}

// MISUSE 7: the elements of a local argument
// says: reference to stack memory associated with local variable 'points' returned
using Points = db::arg<const float, db::shape<-1, 3>>;
const Points::view_type& returns_a_view(void* managed, const Points& given) {
#if MISUSE == 7
  static_cast<void>(given);
  const Points points = Points::import(managed).value();
  return points.view();
#else
  static_cast<void>(managed);
  return given.view();
#endif
}

// MISUSE 8: a spec with a name that refers to a braced list
// says: (temporary whose address is used as value of|array backing) .*local.*'spec'
db::tensor names_a_list(const db::tensor& tensor) {
#if MISUSE == 8
  const db::view_spec spec = db::view_spec({2, 3});
  return db::view(tensor, spec).value();
#else
  return db::view(tensor, db::view_spec({2, 3})).value();
#endif
}

// MISUSE 9: strides of a spec with a name that refers to a braced list
// says: (temporary whose address is used as value of|array backing) .*local.*'spec'
db::tensor names_a_list_of_strides(const db::tensor& tensor, const db::view_spec& given) {
#if MISUSE == 9
  const db::view_spec spec = given.strides({3, 1});
  return db::view(tensor, spec).value();
#else
  return db::view(tensor, given.strides({3, 1})).value();
#endif
}
