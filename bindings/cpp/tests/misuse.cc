// SPDX-License-Identifier: Apache-2.0
// What the types forbid. With MISUSE defined as one of the numbers the file must not compile, and
// the compiler must say what stands behind `says` (a regular expression); as 0, every corrected
// twin must compile without a warning. misuse.sh tries them all; `flags` are for that number only.
#include <array>
#include <vector>

#include "dlbridge/dlbridge.hpp"

namespace db = dlbridge;

struct Pool {
  void* allocate(db::device /*on*/, std::uint64_t /*bytes*/, std::uint64_t /*alignment*/) {
    return nullptr;
  }
  void deallocate(db::device /*on*/, void* /*memory*/, std::uint64_t /*bytes*/,
                  std::uint64_t /*alignment*/) {}
};

// MISUSE 1: an element of a foreign tensor, which nobody has validated
// says: this tensor is not validated: validate, upgrade or adopt it first
float reads_an_element(db::foreign_legacy& tensor) {
#if MISUSE == 1
  return tensor.elements<const float, 2>().value()(0, 0);
#else
  const db::checked_legacy checked = db::validate(std::move(tensor)).value();
  return checked.elements<const float, 2>().value()(0, 0);
#endif
}

// MISUSE 2: the data of a borrowed struct
// says: this tensor is not validated: validate, upgrade or adopt it first
const void* reads_the_data(const DLTensor* tensor) {
#if MISUSE == 2
  return db::foreign_ref(tensor).data();
#else
  return db::validate(db::foreign_ref(tensor)).value().data();
#endif
}

// MISUSE 3: the shape of a foreign tensor
// says: this tensor is not validated: validate, upgrade or adopt it first
std::int64_t reads_the_shape(const db::foreign_versioned& tensor) {
#if MISUSE == 3
  return tensor.shape()[0];
#else
  return db::validate(tensor.get()).value().shape()[0];
#endif
}

// MISUSE 4: two owners of one tensor
// says: (use of deleted function|call to implicitly-deleted copy constructor)
db::tensor copies_an_owner(const db::tensor& tensor) {
#if MISUSE == 4
  return tensor;
#else
  return db::share(tensor).value();
#endif
}

// MISUSE 5: a view that outlives its owner
// says: (use of deleted function .*elements|call to deleted member function 'elements')
float keeps_a_view_of_a_temporary(const db::tensor& tensor) {
#if MISUSE == 5
  const auto view = db::share(tensor).value().elements<const float, 1>().value();
#else
  const db::tensor owner = db::share(tensor).value();
  const auto view = owner.elements<const float, 1>().value();
#endif
  return view(0);
}

// MISUSE 6: a shape that outlives its owner
// says: (use of deleted function .*shape|call to deleted member function 'shape')
std::int64_t keeps_a_shape_of_a_temporary(const db::tensor& tensor) {
#if MISUSE == 6
  return db::share(tensor).value().shape()[0];
#else
  return tensor.shape()[0];
#endif
}

// MISUSE 7: writing to what can only be read
// says: (assignment of read-only location|cannot assign to return value)
void writes_to_const(const db::tensor& tensor) {
#if MISUSE == 7
  tensor.elements<const float, 1>().value()(0) = 1;
#else
  tensor.elements<float, 1>().value()(0) = 1;
#endif
}

// MISUSE 8: read-only elements made writable
// says: (conversion from|no viable conversion from) .*strided_view<const float
float drops_const(const db::strided_view<const float, 1>& view) {
#if MISUSE == 8
  const db::strided_view<float, 1> other = view;
#else
  const db::strided_view<const float, 1> other = view;
#endif
  return other(0);
}

// MISUSE 9: a second owner of a tensor that is not ours
// says: only a tensor of ours can be shared and viewed: upgrade or adopt it first
db::tensor shares_a_foreign_tensor(db::foreign_versioned& tensor) {
#if MISUSE == 9
  return db::share(tensor).value();
#else
  return db::adopt(std::move(tensor)).value();
#endif
}

// MISUSE 10: a second owner of a tensor in the caller's storage
// says: a tensor in the caller's storage cannot have a second owner
db::tensor shares_what_is_stored(db::foreign_legacy& tensor, const db::storage& storage) {
#if MISUSE == 10
  const db::stored_tensor stored = db::upgrade_into(std::move(tensor), storage).value();
  return db::share(stored).value();
#else
  static_cast<void>(storage);
  return db::upgrade(std::move(tensor)).value();
#endif
}

// MISUSE 11: an owner that is consumed and kept
// says: the call consumes the owner: pass std::move\(owner\)
db::tensor forgets_to_move(db::foreign_legacy& tensor) {
#if MISUSE == 11
  return db::upgrade(tensor).value();
#else
  return db::upgrade(std::move(tensor)).value();
#endif
}

// MISUSE 12: an upgrade of what is versioned already
// says: the call takes the other kind of tensor
db::tensor upgrades_the_wrong_kind(db::foreign_versioned& tensor) {
#if MISUSE == 12
  return db::upgrade(std::move(tensor)).value();
#else
  return db::adopt(std::move(tensor)).value();
#endif
}

// MISUSE 13: a foreign byte as a C++ bool
// says: a foreign byte need not be 0 or 1: read bool tensors as dlbridge::boolean
bool reads_bool(const db::tensor& tensor) {
#if MISUSE == 13
  return tensor.elements<const bool, 1>().value()(0);
#else
  return tensor.elements<const db::boolean, 1>().value()(0);
#endif
}

// MISUSE 14: elements of a type without a dtype
// says: no DLPack dtype is known for this type: specialise dlbridge::dtype_of
bool reads_structs(const db::tensor& tensor) {
#if MISUSE == 14
  return tensor.elements<const Pool, 1>().has_value();
#else
  return tensor.elements<const float, 1>().has_value();
#endif
}

// MISUSE 15: an index too few
// says: as many indices as the view has axes
float forgets_an_index(const db::strided_view<float, 2>& view) {
#if MISUSE == 15
  return view(1);
#else
  return view(1, 0);
#endif
}

// MISUSE 16: a container that was meant to move in
// says: the container must move in: pass std::move\(container\)
db::tensor gives_an_lvalue(std::vector<float>& values) {
#if MISUSE == 16
  return db::wrap_owned(values).value();
#else
  return db::wrap_owned(std::move(values)).value();
#endif
}

// MISUSE 17: a view that owns nothing, as if it did
// says: a view owns no elements
db::tensor gives_a_view(std::vector<float>& values) {
#if MISUSE == 17
  return db::wrap_owned(db::span<float>(values)).value();
#else
  return db::wrap_borrowed(values).value();
#endif
}

// MISUSE 18: memory of a temporary
// says: (use of deleted function .*wrap_borrowed|call to deleted function 'wrap_borrowed')
db::tensor lends_a_temporary() {
#if MISUSE == 18
  return db::wrap_borrowed(std::vector<float>(3)).value();
#else
  return db::wrap_owned(std::vector<float>(3)).value();
#endif
}

// MISUSE 19: bits that are not elements in memory
// says: it is not known where this type's elements lie \(std::vector<bool> has none in memory\)
db::tensor lends_bits() {
#if MISUSE == 19
  std::vector<bool> values(3);
  return db::wrap_borrowed(values).value();
#else
  return db::wrap_owned(std::array<bool, 3>()).value();
#endif
}

// MISUSE 20: options that refer to a policy that is gone
// says: (use of deleted function .*by\(|call to deleted member function 'by')
db::tensor forgets_the_policy(db::foreign_legacy& tensor) {
#if MISUSE == 20
  const auto how = db::convert_options().by(db::policy().c_contiguous());
#else
  const db::policy demands = db::policy().c_contiguous();
  const auto how = db::convert_options().by(demands);
#endif
  return db::upgrade(std::move(tensor), how).value();
}

// MISUSE 21: options that refer to an allocator that is gone
// says: (use of deleted function .*memory\(|call to deleted member function 'memory')
db::tensor forgets_the_allocator(db::foreign_legacy& tensor, Pool& pool) {
#if MISUSE == 21
  const auto how = db::convert_options().copy().memory(db::allocator(pool));
#else
  const db::allocator memory(pool);
  const auto how = db::convert_options().copy().memory(memory);
#endif
  return db::upgrade(std::move(tensor), how).value();
}

// MISUSE 22: a callback that is gone when it is called
// says: (use of deleted function .*on_released|call to deleted member function 'on_released')
db::storage forgets_the_callback(void* memory, std::size_t size, void (*&freed)()) {
#if MISUSE == 22
  static_cast<void>(freed);
  return db::storage(memory, size).on_released([] {});
#else
  return db::storage(memory, size).on_released(freed);
#endif
}

// MISUSE 23: a tensor that was not looked at, as one that was
// says: (conversion from .*foreign<|no viable conversion from .*foreign<)
db::tensor trusts_without_looking(db::foreign_legacy& tensor) {
#if MISUSE == 23
  db::tensor made = db::upgrade(std::move(tensor), db::unchecked_options()).value();
#else
  db::tensor made = db::upgrade(std::move(tensor)).value();
#endif
  return made;
}

// MISUSE 24: ownership by accident
// says: (conversion from .*DLManagedTensor\*|no viable conversion from 'DLManagedTensor \*')
db::foreign_legacy takes_silently(DLManagedTensor* tensor) {
#if MISUSE == 24
  db::foreign_legacy owner = tensor;
#else
  db::foreign_legacy owner(tensor);
#endif
  return owner;
}

// MISUSE 25: a validated owner made by a cast
// says: (is private within this context|calling a private constructor of class)
db::checked_legacy casts_to_checked(db::foreign_legacy& tensor) {
#if MISUSE == 25
  return db::checked_legacy(tensor.release());
#else
  return db::validate(std::move(tensor)).value();
#endif
}

// MISUSE 26: a refusal that nobody looks at
// says: (ignoring return|ignoring returned value|Wunused-result)
void ignores_a_refusal(const db::stream& stream) {
#if MISUSE == 26
  stream.synchronize();
#else
  stream.synchronize().value();
#endif
}

// MISUSE 27: exceptions where there are none
// says: value\(\) throws, and exceptions are off: ask has_value\(\)
// flags: -fno-exceptions
bool throws_without_exceptions(db::foreign_legacy& tensor) {
  const auto made = db::validate(std::move(tensor));
#if MISUSE == 27
  return static_cast<bool>(made.value());
#else
  return made.has_value();
#endif
}

// MISUSE 28: a target that nobody has taught to view memory
// says: no way is known to make this type view memory: specialise map_traits
bool maps_to_anything(const db::tensor& tensor) {
#if MISUSE == 28
  return tensor.map<std::vector<float>>().has_value();
#else
  return tensor.map<db::strided_view<float, 1>>().has_value();
#endif
}

// MISUSE 29: a queue of one driver as any number
// says: no matching (function for call|conversion for)
db::stream takes_a_bare_handle(void* queue) {
#if MISUSE == 29
  return db::stream(queue);
#else
  return db::stream::queue(db::backend::cuda, db::make_device(kDLCUDA),
                           reinterpret_cast<std::uintptr_t>(queue));
#endif
}
