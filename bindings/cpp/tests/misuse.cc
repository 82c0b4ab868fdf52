// SPDX-License-Identifier: Apache-2.0
// Misuses that the types forbid. With MISUSE defined as the number of a misuse, the file must not
// compile, and the error must match the regular expression after `says`. With MISUSE=0 every
// corrected variant must compile without a warning. programs.cmake makes a test of each.
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

// An int4 in two bytes: one too many.
struct Wide {
  std::uint16_t bits = 0;
};
template <>
struct dlbridge::dtype_of<Wide> {
  static constexpr dlbridge::dtype value = dlbridge::make_dtype(kDLInt, 4);
};

// An int4 that fills a byte.
struct Nibble {
  std::uint8_t bits = 0;
};
template <>
struct dlbridge::dtype_of<Nibble> {
  static constexpr dlbridge::dtype value = dlbridge::make_dtype(kDLInt, 4);
};

// A range that passes its constness to the elements, and owns none.
struct DeepView {
  float* data() { return elements; }
  const float* data() const { return elements; }
  std::size_t size() const { return 1; }
  float* elements = nullptr;
};

// A view of one float whose assignment writes to it.
struct Reference {
  Reference() = default;
  explicit Reference(float* address) : target(address) {}
  Reference(const Reference&) = default;
  Reference& operator=(const Reference& other) {
    if (this != &other) {
      *target = *other.target;
    }
    return *this;
  }
  ~Reference() = default;
  float* target = nullptr;
};
template <>
struct dlbridge::map_traits<Reference> {
  using element_type = float;
  static constexpr std::size_t rank = 1;
  static dlbridge::result<Reference> make(const dlbridge::strided_view<float, 1>& view) {
    return Reference(view.data());
  }
};

// MISUSE 1: an element of a foreign tensor, which is not validated
// says: this tensor is not validated: import or validate it first
float reads_an_element(db::foreign_legacy& tensor) {
#if MISUSE == 1
  return tensor.elements<const float, 2>().value()(0, 0);
#else
  const db::checked_legacy checked = db::validate(std::move(tensor)).value();
  return checked.elements<const float, 2>().value()(0, 0);
#endif
}

// MISUSE 2: the data of a borrowed struct
// says: this tensor is not validated: import or validate it first
const void* reads_the_data(const DLTensor* tensor) {
#if MISUSE == 2
  return db::foreign_ref(tensor).data();
#else
  return db::validate(db::foreign_ref(tensor)).value().data();
#endif
}

// MISUSE 3: the shape of a foreign tensor
// says: this tensor is not validated: import or validate it first
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

// MISUSE 7: writing to read-only elements
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

// MISUSE 9: a second owner of a foreign tensor
// says: only a dlbridge-owned tensor can be shared and viewed: import it first
db::tensor shares_a_foreign_tensor(db::foreign_versioned& tensor) {
#if MISUSE == 9
  return db::share(tensor).value();
#else
  return db::import(std::move(tensor)).value();
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

// MISUSE 12: an upgrade of a versioned tensor
// says: the call takes the other kind of tensor
db::tensor upgrades_the_wrong_kind(db::foreign_versioned& tensor) {
#if MISUSE == 12
  return db::upgrade(std::move(tensor)).value();
#else
  return db::import(std::move(tensor)).value();
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

// MISUSE 17: wrap_owned of a view, which owns nothing
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

// MISUSE 19: a container without elements in memory
// says: it is not known where this type's elements lie \(std::vector<bool> has none in memory\)
db::tensor lends_bits() {
#if MISUSE == 19
  std::vector<bool> values(3);
  return db::wrap_borrowed(values).value();
#else
  return db::wrap_owned(std::array<bool, 3>()).value();
#endif
}

// MISUSE 20: options that refer to a destroyed policy
// says: (use of deleted function .*policy\(|call to deleted member function 'policy')
db::tensor forgets_the_policy(db::foreign_legacy& tensor) {
#if MISUSE == 20
  const auto how = db::convert_options().policy(db::policy().c_contiguous());
#else
  const db::policy demands = db::policy().c_contiguous();
  const auto how = db::convert_options().policy(demands);
#endif
  return db::upgrade(std::move(tensor), how).value();
}

// MISUSE 21: options that refer to a destroyed allocator
// says: (use of deleted function .*allocator\(|call to deleted member function 'allocator')
db::tensor forgets_the_allocator(db::foreign_legacy& tensor, Pool& pool) {
#if MISUSE == 21
  const auto how = db::convert_options().copy().allocator(db::allocator(pool));
#else
  const db::allocator memory(pool);
  const auto how = db::convert_options().copy().allocator(memory);
#endif
  return db::upgrade(std::move(tensor), how).value();
}

// MISUSE 22: a callback that is destroyed before it is called
// says: (use of deleted function .*release|call to deleted member function 'release')
db::storage forgets_the_callback(void* memory, std::size_t size, void (*&freed)()) {
#if MISUSE == 22
  static_cast<void>(freed);
  return db::storage(memory, size).release([] {});
#else
  return db::storage(memory, size).release(freed);
#endif
}

// MISUSE 23: a tensor that is not validated as a validated one
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

// MISUSE 26: an ignored error
// says: (ignoring return|ignoring returned value|Wunused-result)
void ignores_a_refusal(const db::stream& stream) {
#if MISUSE == 26
  stream.synchronize();
#else
  stream.synchronize().value();
#endif
}

// MISUSE 27: a target without map_traits
// says: no way is known to make this type view memory: specialise map_traits
bool maps_to_anything(const db::tensor& tensor) {
#if MISUSE == 27
  return tensor.map<std::vector<float>>().has_value();
#else
  return tensor.map<db::strided_view<float, 1>>().has_value();
#endif
}

// MISUSE 28: a queue from a plain number
// says: no matching (function for call|conversion for)
db::stream takes_a_bare_handle(void* queue) {
#if MISUSE == 28
  return db::stream(queue);
#else
  return db::stream::queue(db::backend::cuda, db::make_device(kDLCUDA),
                           reinterpret_cast<std::uintptr_t>(queue));
#endif
}

// MISUSE 29: a view from a member of a temporary result's value
// says: (use of deleted function .*operator->|overload resolution selected deleted operator '->')
std::int64_t looks_through_a_temporary(const db::tensor& tensor) {
#if MISUSE == 29
  return db::share(tensor)->shape()[0];
#else
  const db::result<db::tensor> shared = db::share(tensor);
  return shared->shape()[0];
#endif
}

// MISUSE 30: the shape of a destroyed view
// says: (use of deleted function .*shape|call to deleted member function 'shape')
std::int64_t keeps_a_shape_of_a_view(const db::tensor& tensor) {
#if MISUSE == 30
  const auto shape = tensor.elements<const float, 1>().value().shape();
#else
  const auto view = tensor.elements<const float, 1>().value();
  const auto shape = view.shape();
#endif
  return shape[0];
}

// MISUSE 31: the strides of a destroyed view
// says: (use of deleted function .*strides|call to deleted member function 'strides')
std::int64_t keeps_strides_of_a_view(const db::tensor& tensor) {
#if MISUSE == 31
  const auto strides = tensor.elements<const float, 1>().value().strides();
#else
  const auto view = tensor.elements<const float, 1>().value();
  const auto strides = view.strides();
#endif
  return strides[0];
}

// MISUSE 32: a struct whose owner is destroyed
// says: (use of deleted function .*borrow|call to deleted function 'borrow')
db::foreign_ref borrows_from_a_temporary(DLManagedTensorVersioned* tensor, bool& empty) {
#if MISUSE == 32
  const auto borrowed = db::borrow(db::foreign_versioned(tensor));
#else
  db::foreign_versioned owner(tensor);
  const auto borrowed = db::borrow(owner);
  static_cast<void>(owner.release());
#endif
  empty = !borrowed;
  return *borrowed;
}

// MISUSE 33: a legacy struct whose owner is destroyed
// says: (use of deleted function .*borrow|call to deleted function 'borrow')
db::foreign_ref borrows_from_a_legacy_temporary(DLManagedTensor* tensor) {
#if MISUSE == 33
  const auto borrowed = db::borrow(db::foreign_legacy(tensor));
#else
  db::foreign_legacy owner(tensor);
  const auto borrowed = db::borrow(owner);
  static_cast<void>(owner.release());
#endif
  return *borrowed;
}

// MISUSE 34: a spec that refers to a destroyed shape
// says: no matching (function for call|conversion for|constructor for)
db::tensor forgets_the_shape() {
#if MISUSE == 34
  const auto spec = db::allocate_spec(db::dtype_of<float>::value, std::vector<std::int64_t>{2, 3});
#else
  const std::vector<std::int64_t> shape = {2, 3};
  const auto spec = db::allocate_spec(db::dtype_of<float>::value, shape);
#endif
  return db::allocate(spec).value();
}

// MISUSE 35: a policy that refers to destroyed dtypes
// says: (no matching function|could not convert|no viable conversion|cannot convert)
db::policy forgets_the_dtypes() {
#if MISUSE == 35
  return db::policy().dtypes(std::vector<db::dtype>{db::dtype_of<float>::value});
#else
  static const db::dtype accepted[] = {db::dtype_of<float>::value};
  return db::policy().dtypes(accepted);
#endif
}

// MISUSE 36: an extent that is not an integer
// says: (no matching (function for call|conversion for|constructor for)|narrow)
db::tensor braces_extents() {
#if MISUSE == 36
  return db::allocate(db::allocate_spec(db::dtype_of<float>::value, {2, 1.5})).value();
#else
  return db::allocate(db::allocate_spec(db::dtype_of<float>::value, {2, 1})).value();
#endif
}

// MISUSE 37: const memory as writable memory
// says: (use of deleted function .*buffer_of|call to deleted function 'buffer_of')
db::buffer drops_const_of_memory(const float* data, float* own) {
#if MISUSE == 37
  static_cast<void>(own);
  return db::buffer_of(data);
#else
  static_cast<void>(data);
  return db::buffer_of(own);
#endif
}

const db::policy ConstPolicy() { return db::policy(); }  // NOLINT(readability-const-return-type)

// MISUSE 38: options that refer to a const temporary policy
// says: (use of deleted function .*policy\(|call to deleted member function 'policy')
db::convert_options forgets_a_const_policy(const db::convert_options& base,
                                           const db::policy& demands) {
#if MISUSE == 38
  static_cast<void>(demands);
  return base.policy(ConstPolicy());
#else
  static_cast<void>(&ConstPolicy);
  return base.policy(demands);
#endif
}

// MISUSE 39: const options that refer to a destroyed allocator
// says: (use of deleted function .*allocator\(|call to deleted member function 'allocator')
db::convert_options forgets_an_allocator(const db::convert_options& base, Pool& pool,
                                         const db::allocator& memory) {
#if MISUSE == 39
  static_cast<void>(memory);
  return base.allocator(db::allocator(pool));
#else
  static_cast<void>(pool);
  return base.allocator(memory);
#endif
}

// MISUSE 40: a type that is larger than its dtype
// says: the size of the type differs from its dlbridge::dtype_of
bool reads_a_wide_type(const db::tensor& tensor) {
#if MISUSE == 40
  return tensor.elements<const Wide, 1>().has_value();
#else
  return tensor.elements<const float, 1>().has_value();
#endif
}

// MISUSE 41: a view that passes its constness on, as if it owned its elements
// says: a view owns no elements
db::tensor gives_a_deep_view(std::vector<float>& values) {
#if MISUSE == 41
  return db::wrap_owned(DeepView{values.data()}).value();
#else
  DeepView view{values.data()};
  return db::wrap_borrowed(view).value();
#endif
}

// MISUSE 42: elements of one map copied into those of another
// says: (use of deleted function .*operator=|copy assignment operator is implicitly deleted)
bool assigns_a_map(const db::tensor& tensor) {
  auto first = tensor.map<Reference>();
#if MISUSE == 42
  first = tensor.map<Reference>();
#endif
  return first.has_value();
}

using Points = db::arg<const float, db::shape<-1, 3>>;

// MISUSE 43: a view of an owner that and_then passes as a temporary
// says: the function returns a view of a temporary owner
float chains_a_view(db::foreign_legacy& tensor) {
  const auto open = [](const db::tensor& t) { return t.elements<const float, 2>(); };
#if MISUSE == 43
  const auto view = db::import(std::move(tensor)).and_then(open).value();
#else
  const auto imported = db::import(std::move(tensor));
  const auto view = open(*imported).value();
#endif
  return view(1, 2);
}

// MISUSE 44: a view of an owner that transform passes as a temporary
// says: the function returns a view of a temporary owner
std::int64_t transforms_to_a_view(db::foreign_legacy& tensor) {
  const auto shape_of = [](const db::tensor& t) { return t.shape(); };
#if MISUSE == 44
  const auto shape = db::import(std::move(tensor)).transform(shape_of).value();
#else
  const auto imported = db::import(std::move(tensor)).value();
  const auto shape = shape_of(imported);
#endif
  return shape[0];
}

// MISUSE 45: a reference to a temporary owner
// says: the function returns a view of a temporary owner
std::int64_t transforms_to_a_reference(db::foreign_legacy& tensor) {
#if MISUSE == 45
  const auto back = [](const db::tensor& t) -> const db::tensor& { return t; };
#else
  const auto back = [](db::tensor&& t) { return std::move(t); };
#endif
  return db::import(std::move(tensor)).transform(back).value().size();
}

// MISUSE 46: a DLTensor, which has no owner, as a managed tensor
// says: expected a void\*, a managed tensor, or an owner of one
bool imports_a_borrowed_tensor(DLTensor* tensor, DLManagedTensor* managed) {
#if MISUSE == 46
  static_cast<void>(managed);
  return db::import(tensor).has_value();
#else
  static_cast<void>(tensor);
  return db::import(managed).has_value();
#endif
}

// MISUSE 47: the address of an owner as the address of a tensor
// says: expected a void\*, a managed tensor, or an owner of one
bool imports_an_address(db::foreign_versioned& tensor) {
#if MISUSE == 47
  return db::import(&tensor).has_value();
#else
  return db::import(std::move(tensor)).has_value();
#endif
}

// MISUSE 48: an owner that import consumes and the caller keeps
// says: the call consumes the owner: pass std::move\(owner\)
bool imports_without_moving(db::foreign_versioned& tensor) {
#if MISUSE == 48
  return db::import(tensor).has_value();
#else
  return db::import(std::move(tensor)).has_value();
#endif
}

// MISUSE 49: a kind for a type that states its kind
// says: a kind is given for a void\* only
bool imports_with_two_kinds(DLManagedTensor* tensor) {
#if MISUSE == 49
  return db::import(tensor, db::kind::versioned).has_value();
#else
  return db::import(tensor).has_value();
#endif
}

// MISUSE 50: writing through a read-only argument
// says: (assignment of read-only location|cannot assign to return value)
void writes_to_a_const_argument(const db::arg<float, db::shape<-1>>& writable,
                                const db::arg<const float, db::shape<-1>>& reading) {
#if MISUSE == 50
  static_cast<void>(writable);
  reading(0) = 1;
#else
  writable(0) = reading(0);
#endif
}

// MISUSE 51: too few indices for the shape of an argument
// says: as many indices as the view has axes
float forgets_an_index_of_an_argument(const Points& points) {
#if MISUSE == 51
  return points(1);
#else
  return points(1, 2);
#endif
}

// MISUSE 52: a view of a destroyed argument
// says: (use of deleted function .*view|call to deleted member function 'view')
float keeps_a_view_of_an_argument(void* managed) {
#if MISUSE == 52
  const auto view = Points::import(managed).value().view();
#else
  const Points points = Points::import(managed).value();
  const auto view = points.view();
#endif
  return view(0, 0);
}

// MISUSE 53: a view of a destroyed tensor
// says: (use of deleted function .*check|call to deleted function 'check')
float checks_a_temporary(const db::tensor& tensor) {
#if MISUSE == 53
  const auto view = Points::check(db::share(tensor).value()).value();
#else
  const auto view = Points::check(tensor).value();
#endif
  return view(0, 0);
}

// MISUSE 54: an argument of C++ bools
// says: a foreign byte need not be 0 or 1: read bool tensors as dlbridge::boolean
bool takes_bools(void* managed) {
#if MISUSE == 54
  return db::arg<const bool, db::shape<-1>>::import(managed).has_value();
#else
  return db::arg<const db::boolean, db::shape<-1>>::import(managed).has_value();
#endif
}

// MISUSE 55: an argument of a type without a dtype
// says: no DLPack dtype is known for this type: specialise dlbridge::dtype_of
bool takes_structs(void* managed) {
#if MISUSE == 55
  return db::arg<const Pool, db::shape<-1>>::import(managed).has_value();
#else
  return db::arg<const float, db::shape<-1>>::import(managed).has_value();
#endif
}

// MISUSE 56: a negative extent other than -1
// says: an extent is a number of elements, or -1 for any
bool takes_a_negative_extent(void* managed) {
#if MISUSE == 56
  return db::arg<const float, db::shape<-2>>::import(managed).has_value();
#else
  return db::arg<const float, db::shape<-1>>::import(managed).has_value();
#endif
}

// MISUSE 57: elements of memory without addresses
// says: memory of this device type is a handle: it has no elements to address
bool takes_handles(void* managed) {
#if MISUSE == 57
  using handles = db::arg<const float, db::shape<-1>, db::contiguity::any, kDLOpenCL>;
  return handles::import(managed).has_value();
#else
  using pointers = db::arg<const float, db::shape<-1>, db::contiguity::any, kDLCUDA>;
  return pointers::import(managed).has_value();
#endif
}

// MISUSE 58: an argument from a tensor without validation
// says: no matching (function for call|conversion for|member function)
bool skips_the_checks_of_an_argument(void* managed) {
#if MISUSE == 58
  return Points::import(managed, db::unchecked_options()).has_value();
#else
  return Points::import(managed, db::access::vouch_writable).has_value();
#endif
}

// MISUSE 59: a padded element, which needs a flag of the tensor
// says: an arg has elements of whole bytes
bool takes_padded_elements(void* managed) {
#if MISUSE == 59
  return db::arg<const Nibble, db::shape<-1>>::import(managed).has_value();
#else
  return db::import(managed).value_or(db::tensor()).ndim() == 1;
#endif
}

// MISUSE 60: an owner that a stream still uses, and that the caller keeps
// says: the call consumes the owner: pass std::move\(owner\)
bool releases_without_moving(db::tensor& tensor, const db::stream& queue) {
#if MISUSE == 60
  return db::release_after(tensor, queue).has_value();
#else
  return db::release_after(std::move(tensor), queue).has_value();
#endif
}

// MISUSE 61: a tensor whose kind the library would have to guess
// says: release_after of a void\* takes its kind as the second argument
bool releases_an_unknown_kind(void* managed, const db::stream& queue) {
#if MISUSE == 61
  return db::release_after(managed, queue).has_value();
#else
  return db::release_after(managed, db::kind::versioned, queue).has_value();
#endif
}

// MISUSE 62: an asynchronous copy of a tensor that the library cannot hold
// says: only a dlbridge-owned tensor can be shared and viewed: import it first
bool copies_a_foreign_tensor(db::checked_versioned& tensor, const db::stream& queue) {
#if MISUSE == 62
  return db::copy_async(tensor, queue).has_value();
#else
  const db::tensor imported = db::import(std::move(tensor)).value();
  return db::copy_async(imported, queue).has_value();
#endif
}

// MISUSE 63: a policy, which is used by later statements, that refers to a braced list
// says: (no matching function for call to .*shape|no matching member function for call to 'shape')
bool demands_a_list(const db::tensor& tensor) {
#if MISUSE == 63
  const db::policy demands = db::policy().shape({-1, 3});
#else
  const db::policy demands = db::policy().shape<-1, 3>();
#endif
  return db::validate(tensor.get(), demands).has_value();
}

// MISUSE 64: an allocator that refers to a destroyed pool
// says: (cannot bind non-const lvalue reference|no matching (function for call|conversion for))
db::allocator forgets_the_pool(Pool& pool) {
#if MISUSE == 64
  static_cast<void>(pool);
  return db::allocator(Pool());
#else
  return db::allocator(pool);
#endif
}

// MISUSE 65: a loop over the shape of a destroyed tensor
// says: (use of deleted function .*shape|call to deleted member function 'shape')
std::int64_t loops_over_a_temporary(const db::tensor& tensor) {
  std::int64_t sum = 0;
#if MISUSE == 65
  for (const std::int64_t extent : (*db::share(tensor)).shape()) {
#else
  for (const std::int64_t extent : tensor.shape()) {
#endif
    sum += extent;
  }
  return sum;
}

// MISUSE 66: a lease of an entry that was not retained
// says: (could not convert|no viable conversion)
db::context_lease invents_a_lease(std::uint64_t id) {
#if MISUSE == 66
  return id;
#else
  return db::context_retain(id).value();
#endif
}

// MISUSE 67: writable elements made of the parts of read-only ones
// says: no matching (function for call|constructor for|conversion for)
db::strided_view<float, 1> rebuilds_without_const(const db::strided_view<const float, 1>& view,
                                                  const db::strided_view<float, 1>& own) {
#if MISUSE == 67
  static_cast<void>(own);
  return db::strided_view<float, 1>(view.data(), view.shape().data(), view.strides().data());
#else
  static_cast<void>(view);
  return own;
#endif
}

// MISUSE 68: a text of a destroyed answer
// says: (use of deleted function .*operator->|overload resolution selected deleted operator '->')
bool keeps_a_text() {
#if MISUSE == 68
  const char* const file = db::backend_info(db::backend::cpu)->file;
#else
  const auto info = db::backend_info(db::backend::cpu).value();
  const char* const file = &info.file[0];
#endif
  return file[0] != '\0';
}
