// SPDX-License-Identifier: Apache-2.0
// Results without exceptions. Compiles without exceptions and RTTI, in any language mode, after an
// official dlpack.h (OFFICIAL_DLPACK), and with a table from dlsym instead of linked functions
// (USE_TABLE, the library's file as argument). Exit status 1 on failure.
#ifdef OFFICIAL_DLPACK
#include <dlpack/dlpack.h>
#endif
#ifdef USE_TABLE
#include <dlfcn.h>

#include "dlbridge/dlbridge.h"
const DLBridgeApi* loaded_table();
#define DLBRIDGE_HPP_API loaded_table()
#endif
#include <cstdio>
#include <vector>
#if __has_include(<span>)
#include <span>
#endif

#include "dlbridge/dlbridge.hpp"

namespace db = dlbridge;

namespace {

int failures = 0;
void Expect(bool fulfilled, const char* what) {
  if (!fulfilled) {
    std::printf("failed: %s\n", what);
    ++failures;
  }
}
#define EXPECT(...) Expect((__VA_ARGS__), #__VA_ARGS__)

int deletes = 0;

void Upgrade() {
  float data[6] = {0, 1, 2, 3, 4, 5};
  std::int64_t shape[2] = {2, 3};
  DLManagedTensor legacy = {
      {data, db::make_device(kDLCPU), 2, {kDLFloat, 32, 1}, shape, nullptr, 0},
      nullptr,
      [](DLManagedTensor*) { ++deletes; }};
  {
    auto upgraded =
        db::upgrade(db::foreign_legacy(&legacy), db::convert_options().vouch_writable());
    EXPECT(upgraded.has_value());
    const auto shared = db::share(*upgraded);
    upgraded->reset();
    const auto view = shared->elements<float, 2>();
    EXPECT(view && (*view)(1, 2) == 5 && view->find(2, 0) == nullptr);
    EXPECT(deletes == 0);
  }
  EXPECT(deletes == 1);
  void* managed = &legacy;
  const auto imported = db::arg<const float, db::shape<-1, 3>>::import(managed, db::kind::legacy);
  EXPECT(imported && (*imported)(1, 2) == 5 && imported->find(2, 0) == nullptr);
  const auto other = db::arg<const float, db::shape<-1, 4>>::check(imported->owner());
  EXPECT(other.error().rule() == db::rule_code::shape_mismatch && other.error().axis() == 1);
  shape[1] = -1;
  const auto rejected = db::validate(db::foreign_legacy(&legacy));
  EXPECT(rejected.error().rule() == db::rule_code::extent_negative && rejected.error().axis() == 1);
  EXPECT(deletes == 2);
}

void Wrap() {
  std::vector<float> values(4, 1.5F);
  const auto owned = db::wrap_owned(std::move(values));
  EXPECT(owned && owned->size() == 4);
  EXPECT(db::to_string(*owned).find("float32") != std::string::npos);
  int freed = 0;
  double lent[2] = {};
  db::span<double> span(lent);
  EXPECT(db::wrap_borrowed(span, [&] { ++freed; }).has_value());
  EXPECT(freed == 1);
}

// Spans convert to std::span if the standard library has it.
void Spans() {
#if defined(__cpp_lib_span)
  const std::vector<float> values(3);
  const auto lent = db::wrap_borrowed(values);
  const std::span<const std::int64_t> shape = lent->shape();
  EXPECT(shape.size() == 1 && shape[0] == 3);
  const auto view = lent->elements<const float, 1>();
  const std::span<const float> elements = view->contiguous();
  EXPECT(elements.data() == values.data() && elements.size() == 3);
  EXPECT(db::view(*lent, db::view_spec(shape)).has_value());
  std::vector<float> own(3);
  const std::int64_t one[] = {1};
  const std::int64_t extent[] = {3};
  const db::strided_view<float, 1> writable(own.data(), extent, one);
  const std::span<float> all = writable.contiguous();
  EXPECT(all.data() == own.data() && all.size() == 3);
#endif
}

// A result converts to std::expected if the standard library has it.
// Shapes and strides as braced lists, also those that start with 0 or have one entry or none.
std::int64_t Extent(const db::result<db::tensor>& made, std::size_t axis) {
  return made ? made->shape()[axis] : -1;
}
void BracedLists() {
  const auto six = db::wrap_owned(std::vector<float>{0, 1, 2, 3, 4, 5}).value_or(db::tensor());
  const auto rows = db::view(six, {2, 3});
  EXPECT(rows && rows->shape().size() == 2 && rows->shape()[1] == 3);
  const auto turned = db::view(six, db::view_spec({3, 2}).strides({1, 3}));
  EXPECT(turned && (*turned->elements<const float, 2>())(2, 1) == 5);
  EXPECT(Extent(db::view(six, {6}), 0) == 6);
  EXPECT(Extent(db::view(six, {0}), 0) == 0);
  EXPECT(Extent(db::view(six, {0, 3}), 1) == 3);
  EXPECT(db::view(six, {}).has_value() && db::view(six, db::view_spec({})).has_value());
  EXPECT(db::view(six, {2, 4}).error().rule() == db::rule_code::view_bounds);
  EXPECT(Extent(db::allocate(db::dtype_of<float>::value, {2, 3}), 0) == 2);
  EXPECT(Extent(db::allocate(db::allocate_spec(db::dtype_of<float>::value, {0, 0})), 1) == 0);
  const std::int64_t shape[] = {2, 3};
  EXPECT(Extent(db::allocate(db::dtype_of<float>::value, shape), 1) == 3);
  static float memory[6] = {0, 1, 2, 3, 4, 5};
  const auto wrapped = db::wrap(db::wrap_spec(db::buffer_of(memory), db::make_device(kDLCPU),
                                              db::dtype_of<float>::value, {0, 3})
                                    .strides({3, 1}));
  EXPECT(wrapped && wrapped->strides()[0] == 3);
  const db::policy demands = db::policy().shape<-1, 3>();
  EXPECT(db::arg<const float, db::shape<2, 3>>::check(*rows).has_value());
  EXPECT(db::validate(rows->get(), demands).has_value());
  EXPECT(db::validate(turned->get(), demands).error().rule() == db::rule_code::shape_mismatch);
  EXPECT(db::validate(turned->get(), db::policy().shape<>()).error().rule() ==
         db::rule_code::ndim_limit);
}

void Expected() {
#if defined(__cpp_lib_expected)
  const std::expected<db::dtype, db::error> parsed = db::parse_dtype("int8");
  EXPECT(parsed.has_value() && parsed->bits == 8);
  const std::expected<db::dtype, db::error> rejected = db::parse_dtype("int");
  EXPECT(!rejected && rejected.error().status() == db::status_code::parse);
  const std::expected<void, db::error> pinned = db::module_pin(nullptr);
  EXPECT(!pinned);
#elif __cplusplus > 202002L && defined(__GLIBCXX__)
#error "this library should have std::expected"
#endif
}

// Without a driver: streams of the host.
void Async() {
  auto source = db::wrap_owned(std::vector<float>{1, 2, 3});
  auto copied = db::copy_async(*source, db::stream::host());
  EXPECT(copied && (*copied->elements<const float, 1>())(2) == 3);
  EXPECT(db::release_after(std::move(*source), db::stream::host()).has_value());
  EXPECT(source->get() == nullptr);
  EXPECT(!db::release_after(std::move(*copied), db::stream()) && copied->get() != nullptr);
  EXPECT(*db::collect(db::collect_options::wait) == 0);
}

void Describe() {
  EXPECT((*db::negotiate({1, 3}, {0, 8})).kind == db::kind::legacy);
  EXPECT(db::identify(nullptr) == db::kind::unknown);
  EXPECT(db::parse_dtype("bfloat16").has_value());
  EXPECT(db::stream::host().synchronize().has_value());
  EXPECT(db::context_find(db::make_device(kDLCPU)).error().status() ==
         db::status_code::unsupported);
}

}  // namespace

#ifdef USE_TABLE
namespace {
DLBridgeApi table = {};
}
const DLBridgeApi* loaded_table() { return &table; }

namespace {

bool Load(const char* file) {
  void* library = dlopen(file, RTLD_NOW);
  void* symbol = library != nullptr ? dlsym(library, "dlbridge_get_api") : nullptr;
  decltype(&dlbridge_get_api) get_api = nullptr;
  static_assert(sizeof get_api == sizeof symbol);
  std::memcpy(&get_api, &symbol, sizeof symbol);
  const DLBridgeApi* api = get_api != nullptr ? get_api(DLBRIDGE_ABI, sizeof *api) : nullptr;
  table = api != nullptr ? *api : table;
  return api != nullptr;
}

// The tensor stays the owner's where the library cannot hold it.
void OlderLibraryHoldsNothing() {
  const std::uint32_t size = table.struct_size;
  table.struct_size = offsetof(DLBridgeApi, copy_async);
  auto owned = db::wrap_owned(std::vector<float>{1, 2});
  const auto copied = db::copy_async(*owned, db::stream::host());
  EXPECT(copied.error().status() == db::status_code::unsupported);
  EXPECT(std::strstr(copied.error().message(), "lacks dlbridge_copy_async") != nullptr);
  const auto rejected = db::release_after(std::move(*owned), db::stream::host());
  EXPECT(rejected.error().status() == db::status_code::unsupported);
  EXPECT(owned->get() != nullptr);
  std::size_t left = 99;
  EXPECT(db::collect(db::collect_options::none, &left).error().status() ==
         db::status_code::unsupported);
  EXPECT(left == 0);
  table.struct_size = size;
}

// A library that is older than the header has a shorter table.
void OlderLibrary() {
  const std::uint32_t size = table.struct_size;
  table.struct_size = offsetof(DLBridgeApi, wrap);
  double value[1] = {};
  db::span<double> span(value);
  const auto rejected = db::wrap_borrowed(span);
  EXPECT(rejected.error().status() == db::status_code::unsupported);
  EXPECT(std::strstr(rejected.error().message(), "lacks dlbridge_wrap") != nullptr);
  table.struct_size = size;
}

}  // namespace
#endif

int main(int argc, char** argv) {
#ifdef USE_TABLE
  if (argc != 2 || !Load(argv[1])) {
    std::printf("no table\n");
    return 1;
  }
  OlderLibrary();
  OlderLibraryHoldsNothing();
#else
  static_cast<void>(argc);
  static_cast<void>(argv);
#endif
  Upgrade();
  Wrap();
  Async();
  Describe();
  BracedLists();
  Expected();
  Spans();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
