// SPDX-License-Identifier: Apache-2.0
// Owners: each tensor is released once in every case; import, export, validation, conversion,
// sharing; errors with status, rule, axis and message.
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

TEST(Owner, AssignmentReleasesTheOldTensor) {
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

TEST(Validate, RejectionLeavesTheOwner) {
  Foreign source;
  source.versioned.dl_tensor.ndim = -1;
  db::foreign_versioned foreign = source.as_versioned();
  const auto rejected = db::validate(std::move(foreign));
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().status(), db::status_code::invalid_tensor);
  EXPECT_EQ(rejected.error().rule(), db::rule_code::ndim_negative);
  EXPECT_EQ(rejected.error().axis(), -1);
  EXPECT_NE(std::string(rejected.error().message()).find("-1"), std::string::npos);
  EXPECT_TRUE(foreign);  // NOLINT(bugprone-use-after-move): a failure moves nothing
  EXPECT_EQ(source.deletes, 0);
  // The value of a failure is an empty owner.
  EXPECT_FALSE(*rejected);
  EXPECT_EQ(rejected->shape().size(), 0U);
}

TEST(Validate, ValueThrows) {
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

TEST(Import, OfAVoidPointer) {
  Foreign source;
  void* managed = &source.versioned;
  {
    const db::tensor imported = db::import(managed).value();
    EXPECT_NE(imported.get(), &source.versioned);  // dlbridge-owned, with its own metadata
    EXPECT_EQ((imported.elements<float, 2>().value()(1, 2)), 5);
    EXPECT_TRUE(db::share(imported));
    source.shape[0] = 1 << 20;  // later changes by the producer have no effect
    EXPECT_EQ(imported.shape()[0], 2);
  }
  EXPECT_EQ(source.deletes, 1);
}

TEST(Import, OfEachSource) {
  Foreign a;
  Foreign b;
  Foreign c;
  Foreign d;
  EXPECT_TRUE(db::import(&a.legacy));
  EXPECT_TRUE(db::import(&b.versioned, db::convert_options().copy()));
  EXPECT_TRUE(db::import(c.as_legacy()));
  db::any_foreign any(d.as_versioned());
  EXPECT_TRUE(db::import(std::move(any)));
  EXPECT_FALSE(any);  // NOLINT(bugprone-use-after-move): empty, which is defined
  EXPECT_EQ(a.deletes + b.deletes + c.deletes + d.deletes, 4);
}

TEST(Import, FailureLeavesTheSource) {
  Foreign source;
  source.legacy.dl_tensor.ndim = -1;
  void* managed = &source.legacy;
  const auto rejected = db::import(managed, db::kind::legacy);
  EXPECT_EQ(rejected.error().rule(), db::rule_code::ndim_negative);
  EXPECT_EQ(source.deletes, 0);
  EXPECT_FALSE(db::release(managed, db::kind::unknown));
  EXPECT_EQ(source.deletes, 0);
  EXPECT_TRUE(db::release(managed, db::kind::legacy));
  EXPECT_EQ(source.deletes, 1);
  db::release(&source.versioned);
  EXPECT_EQ(source.deletes, 2);
  EXPECT_FALSE(db::import(db::any_foreign()));
  EXPECT_EQ(db::import(static_cast<void*>(nullptr)).error().status(),
            db::status_code::invalid_argument);
}

TEST(Import, LegacyIsReadOnlyUnlessVouched) {
  Foreign a;
  Foreign b;
  EXPECT_TRUE(db::import(&a.legacy).value().read_only());
  EXPECT_FALSE(db::import(&b.legacy, db::convert_options().vouch_writable()).value().read_only());
}

TEST(Import, UncheckedGivesNoElements) {
  Foreign source;
  source.versioned.dl_tensor.shape[0] = -5;
  db::foreign_versioned made = db::import(&source.versioned, db::unchecked_options()).value();
  EXPECT_EQ(db::validate(std::move(made)).error().rule(), db::rule_code::extent_negative);
}

TEST(Export, OfAVoidPointer) {
  Foreign source;
  void* managed = &source.versioned;
  db::any_tensor any = db::export_to(managed, {1, 3}).value();
  EXPECT_EQ(any.get(), managed);  // the consumer can read it unchanged
  EXPECT_EQ(db::export_to(std::move(any), {0, 0}).error().status(),
            db::status_code::invalid_argument);
  // NOLINTNEXTLINE(bugprone-use-after-move): a failure moves nothing
  db::any_tensor legacy = db::export_to(std::move(any), {0, 8}).value();
  EXPECT_FALSE(any);  // NOLINT(bugprone-use-after-move): empty, which is defined
  EXPECT_EQ(legacy.kind(), db::kind::legacy);
  db::release(static_cast<DLManagedTensor*>(legacy.release()));
  EXPECT_EQ(source.deletes, 1);
}

// No dangling reference: a temporary result gives its value by value.
TEST(Result, AutoReferenceKeepsTheOwner) {
  Foreign source;
  {
    auto&& kept = db::import(&source.legacy).value();
    const auto view = kept.elements<const float, 2>().value();
    EXPECT_EQ(source.deletes, 0);
    EXPECT_EQ(view(1, 2), 5);
    auto&& dereferenced = *db::share(kept);
    EXPECT_EQ(dereferenced.size(), 6);
    const auto& error = db::share(db::tensor()).error();
    EXPECT_EQ(error.status(), db::status_code::invalid_argument);
  }
  EXPECT_EQ(source.deletes, 1);
}

// The safe way to chain: the owner has a name, or moves into the function's own result.
TEST(Result, ChainsOfOwners) {
  Foreign source;
  auto imported = db::import(&source.legacy);
  const auto view =
      imported.and_then([](const db::tensor& t) { return t.elements<const float, 2>(); });
  EXPECT_EQ(view.value()(1, 2), 5);
  const db::tensor shared = db::share(*imported)
                                .and_then([](const db::tensor& t) { return db::share(t); })
                                .transform([](db::tensor&& t) { return std::move(t); })
                                .value();
  imported->reset();
  EXPECT_EQ((shared.elements<const float, 2>().value()(0, 1)), 1);
  DLManagedTensorVersioned* const handed =
      db::share(shared).transform([](db::tensor&& t) { return t.release(); }).value();
  db::release(handed);
}

TEST(Convert, UpgradesSharesAndViews) {
  Foreign source;
  db::tensor owned =
      db::upgrade(source.as_legacy(), db::convert_options().vouch_writable()).value();
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
  const auto rejected = db::view(owned, db::view_spec(shape));
  EXPECT_EQ(rejected.error().status(), db::status_code::bounds);
  EXPECT_EQ(rejected.error().rule(), db::rule_code::view_bounds);
  const std::int64_t strides[] = {1, 1};
  const auto unlike = db::view(owned, db::view_spec(shape).strides(strides));
  EXPECT_EQ(unlike.error().status(), db::status_code::invalid_argument);
}

TEST(Convert, EmptyOwnersAreRejected) {
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

TEST(Convert, RoundTripReturnsTheOriginal) {
  Foreign source;
  db::checked_legacy legacy = db::downgrade(source.as_versioned()).value();
  db::tensor back = db::upgrade(std::move(legacy)).value();
  EXPECT_EQ(back.get(), &source.versioned);
  // The struct is the producer's, which must be imported before it can be shared.
  const auto rejected = db::share(back);
  EXPECT_EQ(rejected.error().status(), db::status_code::foreign_tensor);
  const db::tensor owned = db::import(std::move(back)).value();
  EXPECT_TRUE(db::share(owned));
}

TEST(Export, ToTheStructThatTheConsumerReads) {
  Foreign source;
  db::any_tensor any = db::export_to(source.as_versioned(), {0, 8}).value();
  EXPECT_EQ(any.kind(), db::kind::legacy);
  EXPECT_EQ(any.ref().shape()[0], 2);
  db::checked_legacy legacy = std::move(any).legacy();
  EXPECT_TRUE(legacy);
  EXPECT_EQ(any.kind(), db::kind::unknown);  // NOLINT(bugprone-use-after-move)
  legacy.reset();
  EXPECT_EQ(source.deletes, 1);
}

TEST(Convert, UncheckedGivesNoElements) {
  Foreign source;
  source.legacy.dl_tensor.shape[0] = -5;
  db::foreign_versioned made = db::upgrade(source.as_legacy(), db::unchecked_options()).value();
  EXPECT_EQ(db::validate(std::move(made)).error().rule(), db::rule_code::extent_negative);
}

TEST(Convert, IntoStorage) {
  Foreign source;
  alignas(16) unsigned char memory[512];
  void* freed = nullptr;
  const auto note = [&](void* storage) { freed = storage; };
  ASSERT_LE(db::upgrade_storage_size(2), sizeof memory);
  const db::storage into = db::storage(memory, sizeof memory).release(note);
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
  const auto rejected = db::upgrade_many(sources, outs, {}, &failed);
  EXPECT_EQ(rejected.error().rule(), db::rule_code::shape_null);
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
