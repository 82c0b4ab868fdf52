// SPDX-License-Identifier: Apache-2.0
// Copies and releases on streams: those of the host, and what is rejected without a driver.
#include <gtest/gtest.h>

#include <array>

#include "foreign.h"

namespace dlbridge_cpp_test {
namespace {

namespace db = dlbridge;

const db::stream kHost = db::stream::host();
// A queue of a driver, which no call of these tests reaches.
const db::stream kQueue = db::stream::queue(db::backend::cuda, db::make_device(kDLCUDA), 4096);

TEST(ReleaseAfter, TakesEveryOwner) {
  Foreign source;
  EXPECT_TRUE(db::release_after(source.as_legacy(), kHost));
  EXPECT_TRUE(db::release_after(source.as_versioned(), kHost));
  EXPECT_TRUE(db::release_after(db::validate(source.as_legacy()).value(), kHost));
  EXPECT_TRUE(db::release_after(db::import(source.as_legacy()).value(), kHost));
  EXPECT_TRUE(db::release_after(db::any_foreign(source.as_versioned()), kHost));
  alignas(16) unsigned char memory[512];
  const db::storage into(memory, sizeof memory);
  EXPECT_TRUE(db::release_after(db::upgrade_into(source.as_legacy(), into).value(), kHost));
  EXPECT_TRUE(db::release_after(&source.legacy, kHost));
  void* managed = &source.versioned;
  EXPECT_TRUE(db::release_after(managed, db::kind::versioned, kHost));
  EXPECT_EQ(source.deletes, 8);
}

TEST(ReleaseAfter, TakesAnyListOfStreams) {
  Foreign source;
  const std::vector<db::stream> list(3, kHost);
  const std::array<db::stream, 2> pair = {kHost, kHost};
  EXPECT_TRUE(db::release_after(source.as_legacy(), list));
  EXPECT_TRUE(db::release_after(source.as_legacy(), pair));
  EXPECT_TRUE(db::release_after(source.as_legacy(), {kHost, kHost}));
  void* managed = &source.legacy;
  EXPECT_TRUE(db::release_after(managed, db::kind::legacy, list));
  EXPECT_EQ(source.deletes, 4);
}

TEST(ReleaseAfter, FailureLeavesTheOwner) {
  Foreign source;
  db::tensor owned = db::import(source.as_versioned()).value();
  const auto unset = db::release_after(std::move(owned), db::stream());
  EXPECT_EQ(unset.error().status(), db::status_code::invalid_argument);
  // NOLINTBEGIN(bugprone-use-after-move): a failure moves nothing
  EXPECT_TRUE(owned);
  const auto no_sync = db::stream::no_sync(db::backend::cuda, db::make_device(kDLCUDA));
  EXPECT_FALSE(db::release_after(std::move(owned), {kHost, no_sync}));
  const auto none = db::release_after(std::move(owned), db::span<const db::stream>());
  EXPECT_EQ(none.error().status(), db::status_code::invalid_argument);
  EXPECT_NE(std::string(none.error().message()).find("at least 1"), std::string::npos);
  EXPECT_TRUE(owned);
  EXPECT_EQ((owned.elements<const float, 2>().value()(1, 2)), 5);
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_EQ(source.deletes, 0);
  EXPECT_TRUE(db::release_after(std::move(owned), kHost));
  EXPECT_FALSE(owned);  // NOLINT(bugprone-use-after-move): a success empties the owner
  EXPECT_EQ(source.deletes, 1);
}

TEST(ReleaseAfter, RejectsAnEmptyOwnerAndOtherKinds) {
  EXPECT_EQ(db::release_after(db::tensor(), kHost).error().status(),
            db::status_code::invalid_argument);
  Foreign source;
  void* managed = &source.legacy;
  EXPECT_FALSE(db::release_after(managed, db::kind::borrowed, kHost));
  EXPECT_FALSE(db::release_after(managed, db::kind::unknown, kHost));
  EXPECT_EQ(source.deletes, 0);
}

// Other owners of the memory keep it.
TEST(ReleaseAfter, ReleasesOneOwner) {
  Foreign source;
  db::tensor owned = db::import(source.as_legacy()).value();
  const db::tensor shared = db::share(owned).value();
  EXPECT_TRUE(db::release_after(std::move(owned), kHost));
  EXPECT_EQ(source.deletes, 0);
  EXPECT_EQ((shared.elements<const float, 2>().value()(0, 1)), 1);
}

TEST(Collect, ReportsWhatIsHeld) {
  std::size_t left = 99;
  EXPECT_EQ(db::collect().value(), 0U);
  EXPECT_EQ(db::collect(db::collect_options::wait, &left).value(), 0U);
  EXPECT_EQ(left, 0U);
  left = 99;
  const auto unknown = db::collect(static_cast<db::collect_options>(1U << 20), &left);
  EXPECT_EQ(unknown.error().status(), db::status_code::too_new);
  EXPECT_EQ(*unknown, 0U);
}

TEST(CopyAsync, OnTheHostIsComplete) {
  Foreign source;
  db::tensor owned = db::import(source.as_legacy()).value();
  const db::tensor copy = db::copy_async(owned, kHost).value();
  owned.reset();
  EXPECT_EQ(source.deletes, 1);
  EXPECT_NE(copy.data(), source.elements.data());
  EXPECT_EQ((copy.elements<float, 2>().value()(1, 2)), 5);
}

TEST(CopyAsync, TakesASpec) {
  Foreign source;
  const db::tensor owned = db::import(source.as_legacy()).value();
  std::vector<float> target(7);
  const auto spec = db::copy_spec().on(kHost).into(db::buffer_of(target.data()), 28, 4);
  const db::tensor copy = db::copy_async(owned, spec).value();
  EXPECT_EQ(target[6], 5);
  EXPECT_EQ((copy.elements<float, 2>().value()(1, 2)), 5);
  EXPECT_EQ(db::copy_async(owned, db::copy_spec()).error().status(),
            db::status_code::invalid_argument);
  EXPECT_EQ(db::copy_async(owned, spec.allow_staging()).error().status(),
            db::status_code::invalid_argument);
  EXPECT_EQ(db::copy_async(owned, kQueue).error().status(), db::status_code::unsupported);
}

// The struct of a round trip is the producer's, which the library cannot hold.
TEST(CopyAsync, NeedsAnOwnedTensor) {
  Foreign source;
  const db::tensor foreign = db::tensor::assume_validated(&source.versioned);
  EXPECT_EQ(db::copy_async(foreign, kHost).error().status(), db::status_code::foreign_tensor);
}

TEST(WrapOnStream, IsReleasedByTheLastOwner) {
  std::vector<float> values(3);
  const std::int64_t shape[1] = {3};
  const auto spec = db::wrap_spec(db::buffer_of(values.data()), db::make_device(kDLCPU),
                                  db::dtype_of<float>::value, shape)
                        .release_on_stream();
  int calls = 0;
  const db::stream* seen = &kQueue;
  const auto note = [&](const db::buffer& /*memory*/, const db::stream* queue) {
    ++calls;
    seen = queue;
  };
  EXPECT_TRUE(db::release_after(db::wrap(spec, note).value(), kHost));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, nullptr);  // the host has no work
  EXPECT_EQ(db::wrap(spec).error().status(), db::status_code::invalid_argument);
}

TEST(Peers, AreUnknownWhereNoDriverIsAsked) {
  int local = 0;
  const auto info =
      db::pointer_info(&local, db::make_device(kDLCPU), db::pointer_options::peers).value();
  EXPECT_EQ(info.is(), db::memory_kind::host);
  EXPECT_FALSE(info.peers_known());
  EXPECT_FALSE(info.accessible_from(0));
  db::memory_info known = info;
  known.properties |= DLBRIDGE_POINTER_PEERS_KNOWN;
  known.peers = std::uint64_t{1} << 63 | 2;
  EXPECT_TRUE(known.accessible_from(1));
  EXPECT_TRUE(known.accessible_from(63));
  EXPECT_FALSE(known.accessible_from(0));
  EXPECT_FALSE(known.accessible_from(-1));
  EXPECT_FALSE(known.accessible_from(64));
}

TEST(Ipc, TakesStreams) {
  const std::int64_t shape[] = {3};
  const db::tensor shared =
      db::allocate(db::allocate_spec(db::dtype_of<float>::value, shape).shareable()).value();
  shared.elements<float, 1>().value()(1) = 5;
  const db::ipc_message message = db::ipc_export(shared, kHost).value();
  const db::tensor imported = db::ipc_import(message, kHost).value();
  EXPECT_EQ((imported.elements<const float, 1>().value()(1)), 5);
  // The library reads the queue of each call.
  EXPECT_FALSE(db::ipc_export(shared, db::stream()));
  EXPECT_FALSE(db::ipc_import(message, db::stream()));
}

}  // namespace
}  // namespace dlbridge_cpp_test
