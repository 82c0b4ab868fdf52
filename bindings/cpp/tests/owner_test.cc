// SPDX-License-Identifier: Apache-2.0
// Owners: each tensor is released once, whatever is done to its owner; validation, conversion,
// sharing; refusals with status, rule, axis and message.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "foreign.h"

namespace dlbridge_cpp_test {
namespace {

namespace db = dlbridge;

TEST(Owner, ReleasesOnce) {
  Foreign source;
  {
    db::foreign_legacy first = source.as_legacy();
    db::foreign_legacy second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): empty, which is defined
    EXPECT_TRUE(second);
    first = std::move(second);
    first = std::move(*&first);
    EXPECT_TRUE(first);
    EXPECT_EQ(source.deletes, 0);
    first.reset();
    EXPECT_EQ(source.deletes, 1);
    first.reset();
  }
  EXPECT_EQ(source.deletes, 1);
}

TEST(Owner, AssignmentReleasesWhatWasThere) {
  Foreign a;
  Foreign b;
  db::foreign_versioned owner = a.as_versioned();
  owner = b.as_versioned();
  EXPECT_EQ(a.deletes, 1);
  EXPECT_EQ(owner.release(), &b.versioned);
  EXPECT_FALSE(owner);
  EXPECT_EQ(b.deletes, 0);
}

TEST(Owner, NullDeletersAndOtherMajors) {
  Foreign source;
  source.legacy.deleter = nullptr;
  source.as_legacy().reset();
  source.versioned.version.major = 7;
  source.as_versioned().reset();
  EXPECT_EQ(source.deletes, 1);
  db::foreign_legacy(nullptr).reset();
}

TEST(Owner, IsAsLargeAsAPointer) {
  static_assert(sizeof(db::foreign_legacy) == sizeof(void*));
  static_assert(sizeof(db::checked_versioned) == sizeof(void*));
  static_assert(sizeof(db::tensor) == sizeof(void*));
  static_assert(!std::is_copy_constructible_v<db::tensor>);
  static_assert(!std::is_copy_assignable_v<db::tensor>);
  static_assert(std::is_nothrow_move_constructible_v<db::tensor>);
  static_assert(!std::is_convertible_v<DLManagedTensor*, db::foreign_legacy>);
  static_assert(!std::is_constructible_v<db::checked_legacy, db::foreign_legacy>);
  static_assert(!std::is_constructible_v<db::tensor, db::foreign_versioned>);
}

TEST(Owner, ThrowsThroughUnwinding) {
  Foreign source;
  const auto use = [&] {
    const db::tensor owned = db::upgrade(source.as_legacy()).value();
    const db::tensor shared = db::share(owned).value();
    throw std::runtime_error("unwind");
  };
  EXPECT_THROW(use(), std::runtime_error);
  EXPECT_EQ(source.deletes, 1);
}

TEST(Validate, OpensElements) {
  Foreign source;
  db::foreign_versioned foreign = source.as_versioned();
  const db::checked_versioned checked = db::validate(std::move(foreign)).value();
  const auto view = checked.elements<float, 2>().value();
  EXPECT_EQ(view(1, 2), 5);
  EXPECT_EQ(checked.shape()[1], 3);
  EXPECT_EQ(checked.data(), source.elements.data());
}

TEST(Validate, RefusalLeavesTheOwner) {
  Foreign source;
  source.versioned.dl_tensor.ndim = -1;
  db::foreign_versioned foreign = source.as_versioned();
  const auto refused = db::validate(std::move(foreign));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status(), db::status_code::invalid_tensor);
  EXPECT_EQ(refused.error().rule(), db::rule_code::ndim_negative);
  EXPECT_EQ(refused.error().axis(), -1);
  EXPECT_STREQ(refused.error().message(),
               "ndim is negative: expected at least 0, found -1; the producer must fix it");
  EXPECT_TRUE(foreign);  // NOLINT(bugprone-use-after-move): a refusal takes nothing
  EXPECT_EQ(source.deletes, 0);
  // The value that is not there is an empty owner.
  EXPECT_FALSE(*refused);
  EXPECT_EQ(refused->shape().size(), 0U);
}

TEST(Validate, ThrowsForThoseWhoWantThat) {
  Foreign source;
  source.legacy.dl_tensor.dtype.lanes = 0;
  try {
    static_cast<void>(db::upgrade(source.as_legacy()).value());
    FAIL() << "no exception";
  } catch (const std::exception& error) {
    const auto& why = dynamic_cast<const db::exception&>(error);
    EXPECT_EQ(why.status(), db::status_code::invalid_tensor);
    EXPECT_EQ(why.rule(), db::rule_code::dtype_lanes_zero);
    EXPECT_EQ(std::string(why.what()), why.error().message());
    EXPECT_NE(std::string(why.what()).find("lanes"), std::string::npos);
  }
  EXPECT_EQ(source.deletes, 1);  // the temporary owner still owned it
}

TEST(Convert, UpgradesSharesAndViews) {
  Foreign source;
  db::tensor owned = db::upgrade(source.as_legacy(), db::convert_options().writable()).value();
  db::tensor shared = db::share(owned).value();
  const std::int64_t row[] = {3};
  db::tensor second = db::view(shared, db::view_spec(row).offset(3)).value();
  owned.reset();
  shared.reset();
  EXPECT_EQ(source.deletes, 0);
  second.elements<float, 1>().value()(0) = 30;
  EXPECT_EQ(source.elements[3], 30);
  second.reset();
  EXPECT_EQ(source.deletes, 1);
}

TEST(Convert, ViewsStayInside) {
  Foreign source;
  const db::tensor owned = db::upgrade(source.as_legacy()).value();
  const std::int64_t shape[] = {7};
  const auto refused = db::view(owned, db::view_spec(shape));
  EXPECT_EQ(refused.error().status(), db::status_code::bounds);
  EXPECT_EQ(refused.error().rule(), db::rule_code::view_bounds);
  const std::int64_t strides[] = {1, 1};
  const auto unlike = db::view(owned, db::view_spec(shape).strides(strides));
  EXPECT_EQ(unlike.error().status(), db::status_code::invalid_argument);
}

TEST(Convert, EmptyOwnersAreRefused) {
  db::foreign_legacy none;
  EXPECT_EQ(db::upgrade(std::move(none)).error().status(), db::status_code::invalid_argument);
  const db::tensor gone;
  EXPECT_EQ(db::share(gone).error().status(), db::status_code::invalid_argument);
  EXPECT_EQ((gone.elements<const float, 1>().error().status()), db::status_code::invalid_argument);
  EXPECT_EQ(gone.ndim(), 0);
  EXPECT_EQ(gone.size(), 0);
  EXPECT_EQ(gone.data(), nullptr);
  EXPECT_TRUE(gone.shape().empty());
  EXPECT_TRUE(gone.read_only());
  EXPECT_EQ(db::validate(db::foreign_versioned()).error().status(),
            db::status_code::invalid_argument);
}

TEST(Convert, RoundTripHandsTheOriginalBack) {
  Foreign source;
  db::checked_legacy legacy = db::downgrade(source.as_versioned()).value();
  db::tensor back = db::upgrade(std::move(legacy)).value();
  EXPECT_EQ(back.get(), &source.versioned);
  // It is the producer's own: the type cannot know, so the call says it.
  const auto refused = db::share(back);
  EXPECT_EQ(refused.error().status(), db::status_code::not_ours);
  const db::tensor ours = db::adopt(std::move(back)).value();
  EXPECT_TRUE(db::share(ours));
}

TEST(Convert, ToWhatTheConsumerReads) {
  Foreign source;
  db::any_tensor any = db::convert(source.as_versioned(), {0, 8}).value();
  EXPECT_EQ(any.kind(), db::kind::legacy);
  EXPECT_EQ(any.ref().shape()[0], 2);
  db::checked_legacy legacy = std::move(any).legacy();
  EXPECT_TRUE(legacy);
  EXPECT_EQ(any.kind(), db::kind::ambiguous);  // NOLINT(bugprone-use-after-move)
  legacy.reset();
  EXPECT_EQ(source.deletes, 1);
}

TEST(Convert, UncheckedStaysClosed) {
  Foreign source;
  source.legacy.dl_tensor.shape[0] = -5;
  db::foreign_versioned made = db::upgrade(source.as_legacy(), db::unchecked_options()).value();
  EXPECT_EQ(db::validate(std::move(made)).error().rule(), db::rule_code::dim_negative);
}

TEST(Convert, IntoStorage) {
  Foreign source;
  alignas(16) unsigned char memory[512];
  void* freed = nullptr;
  const auto told = [&](void* storage) { freed = storage; };
  ASSERT_LE(db::upgrade_storage_size(2), sizeof memory);
  const db::storage into = db::storage(memory, sizeof memory).on_released(told);
  {
    const db::stored_tensor made = db::upgrade_into(source.as_legacy(), into).value();
    EXPECT_EQ(static_cast<void*>(made.get()), static_cast<void*>(memory));
    EXPECT_EQ((made.elements<const float, 2>().value()(1, 0)), 3);
  }
  EXPECT_EQ(freed, memory);
  EXPECT_EQ(source.deletes, 1);
}

TEST(Convert, ManyAreAllOrNothing) {
  Foreign a;
  Foreign b;
  db::foreign_legacy sources[2] = {a.as_legacy(), b.as_legacy()};
  db::tensor outs[2];
  b.legacy.dl_tensor.shape = nullptr;
  std::size_t failed = 9;
  const auto refused = db::upgrade_many(sources, outs, {}, &failed);
  EXPECT_EQ(refused.error().rule(), db::rule_code::shape_null);
  EXPECT_EQ(failed, 1U);
  EXPECT_TRUE(sources[0] && sources[1] && !outs[0]);
  b.legacy.dl_tensor.shape = b.shape;
  db::upgrade_many(sources, outs).value();
  EXPECT_FALSE(sources[0] || sources[1]);
  EXPECT_EQ(db::upgrade_many(sources, outs).error().status(), db::status_code::invalid_argument);
  EXPECT_EQ(a.deletes + b.deletes, 0);
  outs[0].reset();
  outs[1].reset();
  EXPECT_EQ(a.deletes + b.deletes, 2);
}

}  // namespace
}  // namespace dlbridge_cpp_test
