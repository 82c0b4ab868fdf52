// SPDX-License-Identifier: Apache-2.0
// Typed arguments: one call makes a managed tensor elements of a known type, or returns the
// library's error.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "foreign.h"

namespace dlbridge_cpp_test {
namespace {

namespace db = dlbridge;

using Points = db::arg<const float, db::shape<-1, 3>>;
using Writable = db::arg<float, db::shape<2, -1>>;

TEST(Arg, ImportsAVoidPointer) {
  Foreign source;
  void* managed = &source.versioned;
  {
    const Points points = Points::import(managed).value();
    EXPECT_EQ(points(1, 2), 5);
    EXPECT_EQ(points.extent(0), 2);
    EXPECT_EQ(points.stride(0), 3);
    EXPECT_EQ(points.size(), 6);
    EXPECT_EQ(points.data(), source.elements.data());
    EXPECT_EQ(points.find(2, 0), nullptr);
    EXPECT_EQ(points.at(0, 1), 1);
    EXPECT_THROW(points.at(0, 3), db::exception);
    EXPECT_EQ(points.view()(1, 0), 3);
    EXPECT_TRUE(db::share(points.owner()));
    EXPECT_EQ(source.deletes, 0);
  }
  EXPECT_EQ(source.deletes, 1);
}

TEST(Arg, ImportsEachSource) {
  Foreign a;
  Foreign b;
  Foreign c;
  Foreign d;
  void* managed = &d.legacy;
  EXPECT_EQ(Points::import(&a.legacy).value().extent(0), 2);
  EXPECT_TRUE(Points::import(b.as_versioned()));
  EXPECT_TRUE(Points::import(db::import(&c.versioned).value()));
  EXPECT_TRUE(Points::import(managed, db::kind::legacy));
  EXPECT_EQ(a.deletes + b.deletes + c.deletes + d.deletes, 4);
}

TEST(Arg, TakesATensorThatMeetsItsDemands) {
  Foreign source;
  {
    const db::policy demands = Points::demands();
    const auto options = db::convert_options().policy(demands);
    db::tensor imported = db::import(&source.versioned, options).value();
    const Points points = Points::assume_validated(std::move(imported));
    EXPECT_EQ(points(1, 2), 5);
    EXPECT_EQ(source.deletes, 0);
  }
  EXPECT_EQ(source.deletes, 1);
  EXPECT_FALSE(Points::assume_validated(db::tensor()));
}

TEST(Arg, OwnsAndMoves) {
  Foreign source;
  Points first = Points::import(&source.versioned).value();
  Points second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): empty, which is defined
  EXPECT_EQ(first.extent(0), 0);
  EXPECT_EQ(first.size(), 0);
  EXPECT_EQ(first.find(0, 0), nullptr);
  first = std::move(second);
  EXPECT_EQ(first(1, 1), 4);
  const db::tensor taken = std::move(first).owner();
  EXPECT_EQ(first.find(0, 0), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(taken.ndim(), 2);
  EXPECT_EQ(source.deletes, 0);
  static_assert(!std::is_copy_constructible_v<Points>);
}

// The rule and axis of a rejected argument; the source must be untouched.
template <class Arg>
db::error Rejected(Foreign& source, db::access how = db::access::on_host) {
  const auto imported = Arg::import(&source.versioned, how);
  EXPECT_FALSE(imported);
  EXPECT_EQ(source.deletes, 0);
  EXPECT_FALSE(*imported);
  const auto checked = Arg::check(&std::as_const(source.versioned), how);
  EXPECT_EQ(checked.error().rule(), imported.error().rule());
  EXPECT_EQ(checked.error().axis(), imported.error().axis());
  EXPECT_STREQ(checked.error().message(), imported.error().message());
  return imported.error();
}

TEST(Arg, RejectsByTheLibrarysRules) {
  Foreign source;
  const db::error dtype = Rejected<db::arg<const double, db::shape<-1, 3>>>(source);
  EXPECT_EQ(dtype.status(), db::status_code::policy);
  EXPECT_EQ(dtype.rule(), db::rule_code::dtype_rejected);
  EXPECT_NE(std::string(dtype.message()).find("float64"), std::string::npos) << dtype.message();
  EXPECT_NE(std::string(dtype.message()).find("float32"), std::string::npos) << dtype.message();
  EXPECT_EQ((Rejected<db::arg<const float, db::shape<-1>>>(source).rule()),
            db::rule_code::ndim_limit);
  EXPECT_EQ((Rejected<db::arg<const float, db::shape<>>>(source).rule()),
            db::rule_code::ndim_limit);
  const db::error shape = Rejected<db::arg<const float, db::shape<-1, 4>>>(source);
  EXPECT_EQ(shape.rule(), db::rule_code::shape_mismatch);
  EXPECT_EQ(shape.axis(), 1);
  EXPECT_EQ((Rejected<db::arg<const float, db::shape<0, -1>>>(source).axis()), 0);
  using Cuda = db::arg<const float, db::shape<-1, 3>, db::contiguity::any, kDLCUDA>;
  EXPECT_EQ(Rejected<Cuda>(source).rule(), db::rule_code::device_rejected);
  using Fortran = db::arg<const float, db::shape<-1, 3>, db::contiguity::f>;
  EXPECT_EQ(Rejected<Fortran>(source).rule(), db::rule_code::contiguity);
  EXPECT_TRUE((db::arg<const float, db::shape<-1, 3>, db::contiguity::c>::check(&source.legacy)));
  source.versioned.dl_tensor.byte_offset = 2;
  EXPECT_EQ(Rejected<Points>(source).rule(), db::rule_code::alignment);
  source.versioned.dl_tensor.byte_offset = 0;
  source.versioned.flags = std::uint64_t{1} << 40;
  EXPECT_EQ(Rejected<Points>(source).rule(), db::rule_code::flags_unknown);
  source.versioned.flags = 0;
  source.shape[1] = -3;
  EXPECT_EQ(Rejected<Points>(source).rule(), db::rule_code::extent_negative);
  source.versioned.version.major = 2;
  EXPECT_EQ(Rejected<Points>(source).rule(), db::rule_code::version_major);
}

TEST(Arg, WritesOnlyWithPermission) {
  Foreign source;
  {
    const Writable writable = Writable::import(&source.versioned).value();
    writable(1, 2) = 50;
    EXPECT_EQ(source.elements[5], 50);
  }
  Foreign read_only;
  read_only.versioned.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  EXPECT_EQ(Rejected<Writable>(read_only).rule(), db::rule_code::not_writable);
  EXPECT_EQ(Rejected<Writable>(read_only, db::access::vouch_writable).rule(),
            db::rule_code::not_writable);
  EXPECT_TRUE(Points::check(&read_only.versioned));
  Foreign legacy;
  EXPECT_EQ(Writable::import(&legacy.legacy).error().rule(), db::rule_code::not_writable);
  EXPECT_EQ(Writable::check(&legacy.legacy).error().rule(), db::rule_code::not_writable);
  EXPECT_TRUE(Writable::check(&legacy.legacy, db::access::vouch_writable));
  EXPECT_TRUE(Writable::import(&legacy.legacy, db::access::vouch_writable));
  EXPECT_EQ(legacy.deletes, 1);
  Foreign overlapping;
  overlapping.strides[0] = 1;
  EXPECT_EQ(Rejected<Writable>(overlapping).rule(), db::rule_code::self_overlap);
  EXPECT_TRUE(Points::check(&overlapping.versioned));
}

TEST(Arg, ChecksBorrowedTensors) {
  Foreign source;
  const db::tensor imported = db::import(&source.versioned).value();
  EXPECT_EQ(Points::check(imported).value()(1, 2), 5);
  EXPECT_EQ(Points::check(imported.ref()).value()(1, 2), 5);
  EXPECT_TRUE(Writable::check(imported));
  EXPECT_TRUE(Writable::check(imported.ref()));
  Foreign other;
  const db::foreign_versioned foreign = other.as_versioned();
  EXPECT_EQ(Points::check(foreign).value()(0, 1), 1);
  const DLTensor borrowed = other.borrowed();
  EXPECT_TRUE(Points::check(db::foreign_ref(&borrowed)));
  EXPECT_EQ(Writable::check(db::foreign_ref(&borrowed)).error().rule(),
            db::rule_code::not_writable);
  const db::tensor empty;
  EXPECT_EQ(Points::check(empty).error().status(), db::status_code::invalid_argument);
  EXPECT_EQ(Points::check(empty.ref()).error().status(), db::status_code::invalid_argument);
  EXPECT_EQ(Points::import(db::tensor()).error().status(), db::status_code::invalid_argument);
}

TEST(Arg, ChecksAVoidPointer) {
  Foreign source;
  void* legacy = &source.legacy;
  void* versioned = &source.versioned;
  EXPECT_EQ(Points::check(legacy).value()(1, 2), 5);
  EXPECT_EQ(Points::check(versioned).value()(1, 2), 5);
  EXPECT_TRUE(Writable::check(versioned));
  EXPECT_EQ(Writable::check(legacy).error().rule(), db::rule_code::not_writable);
  void* null = nullptr;
  EXPECT_EQ(Points::check(null).error().status(), db::status_code::invalid_argument);
  source.versioned.dl_tensor.dtype.lanes = 0;  // broken, so that the bytes fit neither kind
  EXPECT_EQ(Points::check(versioned).error().status(), db::status_code::ambiguous);
  EXPECT_EQ(source.deletes, 0);
}

TEST(Arg, NullStridesAreCompact) {
  Foreign source;
  source.legacy.dl_tensor.strides = nullptr;
  const auto seen = Points::check(&source.legacy).value();
  EXPECT_EQ(seen.stride(0), 3);
  EXPECT_EQ(seen(1, 1), 4);
  source.versioned.dl_tensor.strides = nullptr;  // which DLPack 1.2 forbids
  EXPECT_EQ(Rejected<Points>(source).rule(), db::rule_code::strides_null);
}

TEST(Arg, ScalarsAndOtherDevices) {
  double value = 4.5;
  DLManagedTensor scalar = {
      {&value, {kDLCPU, 0}, 0, {kDLFloat, 64, 1}, nullptr, nullptr, 0}, nullptr, nullptr};
  EXPECT_EQ((db::arg<const double, db::shape<>>::check(&scalar).value()()), 4.5);
  Foreign source;
  source.versioned.dl_tensor.device = {kDLCUDA, 1};
  EXPECT_EQ(Points::check(&source.versioned).error().rule(), db::rule_code::device_rejected);
  using Cuda = db::arg<const float, db::shape<-1, 3>, db::contiguity::any, kDLCUDA>;
  const auto kernel = Cuda::check(&source.versioned).value();
  EXPECT_EQ(kernel.data(), source.elements.data());
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

#ifndef UNDER_TSAN
// A misbehaving producer's thread changes extents and strides while arguments are checked. No view
// may reach past the six elements, since the view has the values that were validated.
TEST(Arg, AnotherThreadChangesTheStruct) {
  Foreign source;
  std::atomic<bool> done{false};
  volatile std::int64_t* shape = source.shape;
  volatile std::int64_t* strides = source.strides;
  std::thread other([&] {
    for (int i = 0; !done; ++i) {
      shape[0] = i % 2 == 0 ? 2 : 1 << 30;
      strides[0] = i % 3 == 0 ? 3 : 1 << 20;
    }
  });
  using Two = db::arg<const float, db::shape<2, 3>, db::contiguity::c>;
  for (int i = 0; i < 20000; ++i) {
    const auto view = Two::check(&source.legacy);
    if (view) {
      ASSERT_EQ(view->extent(0), 2);
      ASSERT_EQ(view->stride(0), 3);
    }
  }
  done = true;
  other.join();
}
#endif

}  // namespace
}  // namespace dlbridge_cpp_test
