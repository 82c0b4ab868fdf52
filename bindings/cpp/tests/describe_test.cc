// SPDX-License-Identifier: Apache-2.0
// Queries, results and their interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "foreign.h"

namespace dlbridge_cpp_test {
namespace {

namespace db = dlbridge;

TEST(Result, HasTheInterfaceOfExpected) {
  db::result<int> seven = 7;
  EXPECT_TRUE(seven.has_value());
  EXPECT_EQ(*seven, 7);
  EXPECT_EQ(seven.value(), 7);
  EXPECT_FALSE(seven.error());
  EXPECT_EQ(seven.value_or(1), 7);
  EXPECT_EQ(seven.transform([](int n) { return n * 2; }).value(), 14);
  EXPECT_EQ(
      seven.and_then([](int n) { return db::result<std::string>(std::to_string(n)); }).value(),
      "7");
  db::result<int> none = db::error(db::status_code::parse, db::rule_code::none, -1, "no %d", 3);
  EXPECT_FALSE(none);
  EXPECT_STREQ(none.error().message(), "no 3");
  EXPECT_EQ(none.value_or(1), 1);
  EXPECT_EQ(none.transform([](int n) { return n * 2; }).error().status(), db::status_code::parse);
  EXPECT_THROW(db::result<void>(none.error()).value(), db::exception);
  const auto four = [](const db::error&) { return db::result<int>(4); };
  EXPECT_EQ(db::result<int>(none.error()).or_else(four).value(), 4);
  EXPECT_NO_THROW(db::result<void>().value());
  // An error without an error status is still a failure.
  EXPECT_FALSE(db::result<int>(db::error()));
#if defined(__cpp_lib_expected)
  const std::expected<int, db::error> standard = db::result<int>(5);
  EXPECT_EQ(*standard, 5);
#endif
}

TEST(Names, AreThoseOfTheLibrary) {
  EXPECT_STREQ(db::name(db::status_code::bounds), "DLBRIDGE_ERROR_BOUNDS");
  EXPECT_STREQ(db::name(db::rule_code::allocation_bounds), "ALLOCATION_BOUNDS");
  EXPECT_STREQ(db::name(static_cast<db::status_code>(4711)), "UNKNOWN_STATUS");
  EXPECT_NE(std::string(db::text(db::status_code::forked)), "");
  EXPECT_NE(std::string(db::text(db::rule_code::handle_range)), "");
  EXPECT_EQ(db::to_string(db::make_dtype(kDLBfloat, 16, 4)), "bfloat16x4");
  EXPECT_EQ(db::to_string(db::make_device(kDLCUDA, 1)), "cuda:1");
  EXPECT_TRUE(db::equal(db::parse_dtype("float32").value(), db::dtype_of<float>::value));
  EXPECT_TRUE(db::equal(db::parse_device("cuda").value(), db::make_device(kDLCUDA)));
  EXPECT_EQ(db::parse_dtype("flaot32").error().status(), db::status_code::parse);
  EXPECT_FALSE(db::parse_dtype({}));
  char small[4];
  std::size_t length = 0;
  EXPECT_EQ(db::format_to(small, db::make_dtype(kDLFloat, 32), &length).error().status(),
            db::status_code::buffer_too_small);
  EXPECT_EQ(length, 7U);
  EXPECT_STREQ(small, "flo");
}

TEST(Names, LongOnesToo) {
  std::vector<std::int64_t> shape(60, 1);
  std::vector<std::int64_t> strides(60, 123456789);
  DLTensor borrowed = {};
  borrowed.ndim = 60;
  borrowed.dtype = {kDLFloat, 32, 1};
  borrowed.device = {kDLCPU, 0};
  borrowed.shape = shape.data();
  borrowed.strides = strides.data();
  EXPECT_GT(db::to_string(db::foreign_ref(&borrowed)).size(), 600U);
  EXPECT_EQ(db::to_string(db::foreign_ref()), "(no tensor)");
}

TEST(Describe, ForeignStructsOnlyWhereTheMajorIsKnown) {
  Foreign source;
  db::foreign_versioned owner = source.as_versioned();
  EXPECT_EQ(db::layout(db::borrow(owner).value()).value().element_count, 6);
  source.versioned.version.major = 2;
  const auto rejected = db::borrow(owner);
  EXPECT_EQ(rejected.error().rule(), db::rule_code::version_major);
  const db::foreign_legacy none;
  EXPECT_FALSE(db::borrow(none));
  EXPECT_EQ(db::required_version(db::foreign_ref(&source.versioned.dl_tensor)).value().minor, 2U);
}

TEST(Describe, FindsAll) {
  Foreign source;
  source.shape[0] = -1;
  source.legacy.dl_tensor.dtype.lanes = 0;
  const auto found = db::diagnose(&source.legacy).value();
  const auto broken = [&](db::rule_code rule) {
    return std::any_of(found.begin(), found.end(), [&](const db::finding& each) {
      return each.rule() == rule && each.severity() == db::severity::broken;
    });
  };
  EXPECT_TRUE(broken(db::rule_code::extent_negative));
  EXPECT_TRUE(broken(db::rule_code::dtype_lanes_zero));
  EXPECT_EQ(db::diagnose(db::foreign_ref(nullptr)).error().status(),
            db::status_code::invalid_argument);
  std::vector<std::int64_t> many(64, -1);
  source.legacy.dl_tensor.ndim = 64;
  source.legacy.dl_tensor.shape = many.data();
  source.legacy.dl_tensor.strides = many.data();
  EXPECT_GE(db::diagnose(&source.legacy).value().size(), 64U);
}

TEST(Describe, TakesATensorWhoseKindTheBytesDecide) {
  Foreign source;
  db::tensor owned = db::upgrade(source.as_legacy()).value();
  db::any_foreign taken = db::take(owned.release()).value();
  EXPECT_EQ(taken.kind(), db::kind::versioned);
  EXPECT_EQ(db::take(nullptr).error().status(), db::status_code::invalid_argument);
  Foreign broken;
  broken.versioned.dl_tensor.dtype.lanes = 0;  // the bytes fit neither kind
  void* neither = &broken.versioned;
  EXPECT_EQ(db::take(neither).error().status(), db::status_code::ambiguous);
  EXPECT_EQ(db::import(neither).error().status(), db::status_code::ambiguous);
  EXPECT_EQ(db::import(neither, db::kind::versioned).error().rule(),
            db::rule_code::dtype_lanes_zero);
  EXPECT_EQ(broken.deletes, 0);
  EXPECT_EQ(db::identify(nullptr), db::kind::unknown);
  // What was taken becomes a tensor by the same call as a void*.
  db::tensor imported = db::import(std::move(taken)).value();
  EXPECT_EQ(taken.kind(), db::kind::unknown);  // NOLINT(bugprone-use-after-move): emptied
  imported.reset();
  EXPECT_EQ(source.deletes, 1);
}

TEST(Describe, Agreement) {
  const db::offer offer = db::negotiate({1, 3}, {0, 8}).value();
  EXPECT_EQ(offer.kind, db::kind::legacy);
  EXPECT_EQ(db::negotiate({2, 0}, {1, 0}).error().status(), db::status_code::version);
  EXPECT_EQ(db::newest_dlpack().major, 1U);
  EXPECT_STREQ(db::library_version_string(), DLBRIDGE_VERSION_STRING);
  EXPECT_GT(db::library_version(), 0U);
  db::answer detail = db::answer::no;
  EXPECT_FALSE(db::host_accessible(db::make_device(kDLOneAPI), &detail));
  EXPECT_EQ(detail, db::answer::undecided);
  EXPECT_TRUE(db::host_accessible(kDLCPU));
  EXPECT_TRUE(db::module_pin(db::library_version_string()));
  EXPECT_EQ(db::abi::get_api()->abi, static_cast<unsigned>(DLBRIDGE_ABI));
}

TEST(Describe, StructAlone) {
  Foreign source;
  source.legacy.dl_tensor.shape[1] = -4;
  EXPECT_TRUE(db::inspect_struct(&source.legacy));
  source.legacy.dl_tensor.ndim = -4;
  EXPECT_EQ(db::inspect_struct(&source.legacy).error().rule(), db::rule_code::ndim_negative);
}

TEST(Policy, IsAConstant) {
  static constexpr db::policy demands =
      db::policy().c_contiguous().max_ndim(1).alignment(16).reject_unknown_flags();
  Foreign source;
  EXPECT_EQ(db::validate(&std::as_const(source.legacy), demands).error().rule(),
            db::rule_code::ndim_limit);
}

db::rule_code RuleOf(Foreign& source, const db::policy& demands) {
  return db::validate(&std::as_const(source.legacy), demands).error().rule();
}

TEST(Policy, LimitsOfNdim) {
  Foreign source;
  EXPECT_EQ(RuleOf(source, db::policy().ndim(2)), db::rule_code::none);
  EXPECT_EQ(RuleOf(source, db::policy().ndim(0, 1)), db::rule_code::ndim_limit);
  EXPECT_EQ(RuleOf(source, db::policy().max_ndim(0)), db::rule_code::ndim_limit);
  EXPECT_EQ(RuleOf(source, db::policy().min_ndim(3)), db::rule_code::ndim_limit);
  // Limits that exclude each other are an invalid argument.
  EXPECT_EQ(db::validate(&std::as_const(source.legacy), db::policy().min_ndim(3).max_ndim(2))
                .error()
                .status(),
            db::status_code::invalid_argument);
  EXPECT_EQ(RuleOf(source, db::policy().min_ndim(1).max_ndim(2)), db::rule_code::none);
  EXPECT_EQ(RuleOf(source, db::policy().max_ndim(2).min_ndim(1)), db::rule_code::none);
  EXPECT_EQ(RuleOf(source, db::policy().max_ndim(4).min_ndim(3)), db::rule_code::ndim_limit);
}

TEST(Policy, ExactShape) {
  Foreign source;
  const std::int64_t any_rows[] = {-1, 3};
  const std::int64_t four[] = {-1, 4};
  const std::int64_t cube[] = {2, 3, 1};
  EXPECT_EQ(RuleOf(source, db::policy().shape(any_rows)), db::rule_code::none);
  EXPECT_EQ(RuleOf(source, db::policy().shape(four)), db::rule_code::shape_mismatch);
  EXPECT_EQ(db::validate(&std::as_const(source.legacy), db::policy().shape(four)).error().axis(),
            1);
  EXPECT_EQ(RuleOf(source, db::policy().shape(cube)), db::rule_code::ndim_limit);
  EXPECT_EQ(RuleOf(source, db::policy().shape({})), db::rule_code::ndim_limit);
}

// The library reads as many extents as the limits state, so limits of another number are rejected.
TEST(Policy, LimitsThatContradictAShape) {
  Foreign source;
  const std::int64_t one[] = {-1};
  const std::int64_t two[] = {-1, 3};
  const db::policy shape = db::policy().shape(one);
  for (const db::policy& broken :
       {shape.ndim(64), shape.ndim(2), shape.max_ndim(64), shape.max_ndim(64).min_ndim(64),
        shape.ndim(0), shape.ndim(0).ndim(0), shape.ndim(64).ndim(64).ndim(2), shape.ndim(-1),
        shape.ndim(65), db::policy().shape<-1, 3>().ndim(64)}) {
    EXPECT_EQ(db::validate(&std::as_const(source.legacy), broken).error().status(),
              db::status_code::invalid_argument);
  }
  EXPECT_EQ(RuleOf(source, shape.shape(two)), db::rule_code::none);
  EXPECT_EQ(RuleOf(source, db::policy().shape(two).ndim(2)), db::rule_code::none);
  EXPECT_EQ(RuleOf(source, db::policy().ndim(1).shape(two)), db::rule_code::none);
  EXPECT_EQ(RuleOf(source, shape.shape<-1, 3>()), db::rule_code::none);
}

// A list without entries is an invalid argument, and never means "any".
TEST(Policy, EmptyListsAreRejected) {
  Foreign source;
  const std::vector<db::device> no_devices;
  const std::vector<db::dtype> no_dtypes;
  const DLManagedTensor* tensor = &source.legacy;
  EXPECT_EQ(db::validate(tensor, db::policy().devices(no_devices)).error().status(),
            db::status_code::invalid_argument);
  EXPECT_EQ(db::validate(tensor, db::policy().dtypes(no_dtypes)).error().status(),
            db::status_code::invalid_argument);
}

}  // namespace
}  // namespace dlbridge_cpp_test
