// SPDX-License-Identifier: Apache-2.0
// Containers as tensors and tensors as views, without a copy: std containers, Eigen, xtensor,
// strided views; read-only tensors.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <vector>

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#define HAS_EIGEN 1
#endif
#if __has_include(<xtensor/xarray.hpp>)
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#define HAS_XTENSOR 1
#endif
#if __has_include(<span>) && __cplusplus >= 202002L
#include <span>
#endif

#include "foreign.h"

namespace dlbridge_cpp_test {
namespace {

namespace db = dlbridge;

// An int4 that fills a byte.
struct PaddedInt4 {
  std::uint8_t byte = 0;
};
// Two int4 in one byte.
struct Int4Pair {
  std::uint8_t byte = 0;
};
// A range that passes its constness to the elements although it owns none.
struct DeepView {
  float* data() { return elements; }
  const float* data() const { return elements; }
  std::size_t size() const { return 1; }
  float* elements = nullptr;
};
static_assert(!db::memory_traits<DeepView>::owning);

}  // namespace
}  // namespace dlbridge_cpp_test

template <>
struct dlbridge::dtype_of<dlbridge_cpp_test::PaddedInt4> {
  static constexpr dlbridge::dtype value = dlbridge::make_dtype(kDLInt, 4);
};
template <>
struct dlbridge::dtype_of<dlbridge_cpp_test::Int4Pair> {
  static constexpr dlbridge::dtype value = dlbridge::make_dtype(kDLInt, 4, 2);
};

namespace dlbridge_cpp_test {
namespace {

TEST(Elements, OfLessThanAByte) {
  Foreign source;
  source.versioned.dl_tensor.dtype = db::make_dtype(kDLInt, 4);
  const auto checked = db::validate(source.as_versioned()).value();
  const auto packed =
      checked.elements<const PaddedInt4, 2>();  // the elements would need twice the memory
  EXPECT_EQ(packed.error().rule(), db::rule_code::dtype_rejected);
  EXPECT_STRNE(packed.error().message(), "");
  source.versioned.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  EXPECT_TRUE((checked.elements<const PaddedInt4, 2>()));
  source.versioned.dl_tensor.dtype.lanes = 2;
  EXPECT_TRUE((checked.elements<const Int4Pair, 2>()));
  source.versioned.flags = 0;
  EXPECT_TRUE((checked.elements<const Int4Pair, 2>()));
  std::vector<PaddedInt4> values(3);
  const db::tensor lent = db::wrap_borrowed(values).value();
  EXPECT_EQ(lent.flags(), DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
  EXPECT_TRUE((lent.elements<PaddedInt4, 1>()));
  const db::tensor inside = db::wrap_owned(std::move(values)).value();
  EXPECT_EQ(inside.flags(), DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
}

// Without the 0, the product of the extents would overflow.
TEST(Elements, EmptyWithLargeExtents) {
  constexpr std::int64_t large = std::int64_t{1} << 40;
  Foreign source;
  std::int64_t shape[] = {large, large, 0};
  source.versioned.dl_tensor.shape = shape;
  source.versioned.dl_tensor.ndim = 3;
  source.versioned.dl_tensor.strides = nullptr;
  source.versioned.version = {1, 1};
  for (int place = 0; place < 3; ++place) {
    shape[0] = shape[1] = shape[2] = large;
    shape[place] = 0;
    const auto checked = db::validate(source.as_versioned()).value();
    EXPECT_EQ(checked.size(), 0);
    const auto view = checked.elements<float, 3>().value();
    EXPECT_EQ(view.size(), 0);
    EXPECT_TRUE(view.is_c_contiguous());
    EXPECT_TRUE(view.contiguous().empty());
    EXPECT_TRUE((checked.elements<float, 3>().has_value()));
  }
}

TEST(Elements, EmptyAtAnOddAddress) {
  Foreign source;
  source.shape[0] = 0;
  source.versioned.dl_tensor.byte_offset = 1;
  const auto checked = db::validate(source.as_versioned()).value();
  const auto view = checked.elements<float, 2>();
  EXPECT_TRUE(view) << view.error().message();
}

TEST(Wrap, VectorMovesIn) {
  std::vector<float> values = {1, 2, 3};
  const float* data = values.data();
  db::tensor owned = db::wrap_owned(std::move(values)).value();
  EXPECT_EQ(owned.data(), data);
  EXPECT_FALSE(owned.read_only());
  const db::tensor shared = db::share(owned).value();
  owned.reset();
  EXPECT_EQ((shared.elements<float, 1>().value()(2)), 3);
}

TEST(Wrap, FailureLeavesTheVector) {
  std::vector<float> values = {1, 2, 3};
  const auto rejected = db::wrap_owned(std::move(values), {9, 0});
  EXPECT_FALSE(rejected);
  // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): a failure moves nothing
  EXPECT_EQ(values.size(), 3U);
}

TEST(Wrap, BorrowedAndConst) {
  std::vector<std::int16_t> values = {1, 2};
  const auto& constant = values;
  const db::tensor writable = db::wrap_borrowed(values).value();
  writable.elements<std::int16_t, 1>().value()(0) = 7;
  EXPECT_EQ(values[0], 7);
  const db::tensor read_only = db::wrap_borrowed(constant).value();
  EXPECT_TRUE(read_only.read_only());
  const auto rejected = read_only.elements<std::int16_t, 1>();
  EXPECT_EQ(rejected.error().status(), db::status_code::policy);
  EXPECT_EQ(rejected.error().rule(), db::rule_code::not_writable);
  EXPECT_EQ((read_only.elements<const std::int16_t, 1>().value()(1)), 2);
}

TEST(Wrap, CallsBackWhenMemoryIsFree) {
  std::vector<double> values(4);
  int freed = 0;
  {
    const db::tensor lent = db::wrap_borrowed(values, [&] { ++freed; }).value();
    const db::tensor second = db::share(lent).value();
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
}

TEST(Wrap, ArraysAndSpans) {
  using Pair = std::array<std::complex<float>, 2>;
  const db::tensor inside = db::wrap_owned(Pair{{{1, 2}, {3, 4}}}).value();
  EXPECT_EQ((inside.elements<std::complex<float>, 1>().value()(1)), std::complex<float>(3, 4));
  std::array<bool, 2> flags = {false, true};
  const db::tensor booleans = db::wrap_borrowed(flags).value();
  EXPECT_TRUE((booleans.elements<db::boolean, 1>().value()(1)));
  const db::span<const bool> view(flags.data(), 2);
  EXPECT_TRUE(db::wrap_borrowed(view).value().read_only());
  static_assert(!db::memory_traits<db::span<const bool>>::owning);
  static_assert(!db::memory_traits<db::span<float>>::owning);
  static_assert(db::memory_traits<std::array<float, 3>>::owning);
#if __has_include(<span>) && __cplusplus >= 202002L
  const std::span<bool> standard(flags);
  EXPECT_FALSE(db::wrap_borrowed(standard).value().read_only());
  static_assert(!db::memory_traits<std::span<float>>::owning);
#endif
}

TEST(Wrap, EmptyContainers) {
  const db::tensor none = db::wrap_owned(std::vector<int>()).value();
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE((none.elements<int, 1>().value().empty()));
}

TEST(Wrap, StridedViewsBothWays) {
  std::vector<float> values = {0, 1, 2, 3, 4, 5};
  const std::int64_t shape[] = {2, 3};
  const std::int64_t strides[] = {-3, 1};
  db::strided_view<float, 2> flipped(values.data() + 3, shape, strides);
  const db::tensor lent = db::wrap_borrowed(flipped).value();
  EXPECT_TRUE(db::layout(lent).value().has_negative_strides());
  const auto back = lent.map<db::strided_view<const float, 2>>().value();
  EXPECT_EQ(back(0, 0), 3);
  EXPECT_EQ(back(1, 2), 2);
  EXPECT_FALSE(back.is_c_contiguous());
  EXPECT_TRUE(back.contiguous().empty());
}

TEST(Elements, FindAndAt) {
  Foreign source;
  const auto checked = db::validate(source.as_versioned()).value();
  const db::strided_view<const float, 2> view = checked.elements<float, 2>().value();
  EXPECT_EQ(view.at(1, 2), 5);
  EXPECT_EQ(view.find(2, 0), nullptr);
  EXPECT_EQ(view.find(-1, 0), nullptr);
  EXPECT_EQ(view.find(0U, UINT64_MAX), nullptr);
  EXPECT_EQ(view.contiguous().size(), 6U);
  try {
    view.at(0, 3);
    FAIL();
  } catch (const db::exception& error) {
    EXPECT_EQ(error.status(), db::status_code::bounds);
    EXPECT_EQ(error.axis(), 1);
    EXPECT_STREQ(error.what(), "index out of its extent on axis 1: expected below 3, found 3");
  }
  EXPECT_THROW((db::strided_view<float, 1>().at(0)), db::exception);
}

template <class T, std::size_t Rank>
db::error Rejection(const db::checked_versioned& tensor, db::access how = db::access::on_host) {
  return tensor.elements<T, Rank>(how).error();
}

TEST(Elements, RefuseWhatTheyAreNot) {
  Foreign source;
  const auto checked = db::validate(source.as_versioned()).value();
  EXPECT_EQ((Rejection<float, 1>(checked).rule()), db::rule_code::ndim_limit);
  EXPECT_STREQ((Rejection<float, 3>(checked).message()),
               "ndim: expected 3, found 2; ask for as many axes as the tensor has");
  EXPECT_EQ((Rejection<std::int32_t, 2>(checked).rule()), db::rule_code::dtype_rejected);
  EXPECT_STREQ((Rejection<std::int32_t, 2>(checked).message()),
               "dtype: expected int32, found float32; convert it before the call");
  source.versioned.dl_tensor.byte_offset = 2;
  EXPECT_EQ((Rejection<float, 2>(checked).rule()), db::rule_code::alignment);
  source.versioned.dl_tensor.byte_offset = 0;
  source.versioned.dl_tensor.device = db::make_device(kDLCUDA);
  EXPECT_EQ((Rejection<float, 2>(checked).rule()), db::rule_code::device_rejected);
  EXPECT_FALSE((Rejection<float, 2>(checked, db::access::on_device)));
  source.versioned.dl_tensor.device = db::make_device(kDLOpenCL);
  EXPECT_TRUE((Rejection<float, 2>(checked, db::access::on_device)));
  EXPECT_EQ(checked.data(), nullptr);
  source.versioned.dl_tensor.device = db::make_device(kDLCUDAHost);
  EXPECT_FALSE((Rejection<float, 2>(checked)));
}

TEST(Elements, WritingNeedsASayAndNoOverlap) {
  Foreign source;
  const db::checked_legacy legacy = db::validate(source.as_legacy()).value();
  const auto unsaid = legacy.elements<float, 2>();
  EXPECT_EQ(unsaid.error().rule(), db::rule_code::not_writable);
  EXPECT_TRUE((legacy.elements<const float, 2>()));
  EXPECT_TRUE((legacy.elements<float, 2>(db::access::vouch_writable)));
  source.strides[0] = 1;  // rows overlap
  EXPECT_EQ((legacy.elements<float, 2>(db::access::vouch_writable).error().rule()),
            db::rule_code::self_overlap);
  EXPECT_TRUE((legacy.elements<const float, 2>()));
  Foreign read_only;
  read_only.versioned.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  const auto versioned = db::validate(read_only.as_versioned()).value();
  EXPECT_EQ((Rejection<float, 2>(versioned, db::access::vouch_writable).rule()),
            db::rule_code::not_writable);
  EXPECT_FALSE((Rejection<const float, 2>(versioned)));
}

TEST(Elements, RejectUnknownFlags) {
  Foreign source;
  source.versioned.flags = std::uint64_t{1} << 40;
  const auto checked = db::validate(source.as_versioned()).value();
  EXPECT_EQ((Rejection<const float, 2>(checked).rule()), db::rule_code::flags_unknown);
  source.versioned.flags = DLPACK_FLAG_BITMASK_IS_COPIED;
  EXPECT_FALSE((Rejection<const float, 2>(checked)));
}

TEST(Elements, NullStridesAreCompact) {
  Foreign source;
  source.legacy.dl_tensor.strides = nullptr;
  const auto checked = db::validate(source.as_legacy()).value();
  EXPECT_TRUE(checked.strides().empty());
  EXPECT_EQ((checked.elements<const float, 2>().value()(1, 1)), 4);
  EXPECT_TRUE((checked.elements<float, 2>(db::access::vouch_writable)));
}

TEST(Elements, OfABorrowedTensor) {
  Foreign source;
  const DLTensor borrowed = source.borrowed();
  const db::checked_ref checked = db::validate(db::foreign_ref(&borrowed)).value();
  EXPECT_EQ((checked.elements<const float, 2>().value()(0, 1)), 1);
  EXPECT_FALSE((checked.elements<float, 2>()));
  const DLManagedTensor* argument = &source.legacy;
  EXPECT_EQ(db::validate(argument).value().ndim(), 2);
}

#ifdef HAS_EIGEN
TEST(Eigen, BothWays) {
  Eigen::MatrixXd matrix(2, 3);
  matrix << 1, 2, 3, 4, 5, 6;
  const db::tensor lent = db::wrap_borrowed(matrix).value();
  EXPECT_EQ(lent.data(), matrix.data());
  EXPECT_EQ((lent.elements<double, 2>().value()(1, 2)), 6);
  auto map = lent.map<Eigen::Map<Eigen::MatrixXd>>().value();
  EXPECT_EQ(map, matrix);
  EXPECT_EQ(map.data(), matrix.data());
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto rejected = lent.map<Eigen::Map<RowMajor>>();
  EXPECT_EQ(rejected.error().rule(), db::rule_code::contiguity);
  EXPECT_EQ(rejected->size(), 0);
  static_assert(!std::is_move_assignable_v<db::result<Eigen::Map<Eigen::MatrixXd>>>);
  static_assert(!std::is_copy_assignable_v<db::result<Eigen::Map<Eigen::MatrixXd>>>);
  static_assert(std::is_copy_assignable_v<db::result<db::strided_view<float, 2>>>);
  static_assert(std::is_move_assignable_v<db::result<db::tensor>>);
  static_assert(db::memory_traits<Eigen::MatrixXd>::owning);
  static_assert(!db::memory_traits<Eigen::Map<Eigen::MatrixXd>>::owning);
  using AnyStrides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  EXPECT_EQ((lent.map<Eigen::Map<const RowMajor, 0, AnyStrides>>().value()(1, 2)), 6);
  using Outer = Eigen::OuterStride<>;
  EXPECT_EQ((lent.map<Eigen::Map<Eigen::MatrixXd, 0, Outer>>().value()(1, 2)), 6);
  using Fixed = Eigen::Matrix<double, 2, 3>;
  EXPECT_EQ((lent.map<Eigen::Map<Fixed>>().value()(0, 2)), 3);
  using Wrong = Eigen::Matrix<double, 3, 2>;
  EXPECT_FALSE((lent.map<Eigen::Map<Wrong>>()));
}

TEST(Eigen, WithoutRows) {
  for (const bool rows : {false, true}) {
    const std::int64_t shape[] = {rows ? 5 : 0, rows ? 0 : 5};
    const db::tensor empty =
        db::allocate(db::allocate_spec(db::dtype_of<double>::value, shape)).value();
    const auto map = empty.map<Eigen::Map<Eigen::MatrixXd>>();
    EXPECT_TRUE(map) << map.error().message();
    EXPECT_EQ((*map).cols(), shape[1]);
  }
}

TEST(Eigen, BlocksVectorsAndOwned) {
  Eigen::Matrix4f matrix = Eigen::Matrix4f::Zero();
  matrix(2, 3) = 9;
  auto block = matrix.block<2, 2>(1, 2);
  const db::tensor lent = db::wrap_borrowed(block).value();
  EXPECT_EQ((lent.elements<float, 2>().value()(1, 1)), 9);
  auto row = matrix.row(2);
  const db::tensor vector = db::wrap_borrowed(row).value();
  ASSERT_EQ(vector.ndim(), 1);
  EXPECT_EQ((vector.elements<float, 1>().value()(3)), 9);
  EXPECT_FALSE((vector.map<Eigen::Map<Eigen::VectorXf>>()));
  using Inner = Eigen::InnerStride<>;
  EXPECT_EQ((vector.map<Eigen::Map<Eigen::VectorXf, 0, Inner>>().value()(3)), 9);
  const db::tensor inside = db::wrap_owned(std::move(matrix)).value();
  EXPECT_EQ((inside.map<Eigen::Map<Eigen::Matrix4f>>().value()(2, 3)), 9);
}
#endif

#ifdef HAS_XTENSOR
template <class T, std::size_t Rank>
using Adaptor =
    xt::xtensor_adaptor<xt::xbuffer_adaptor<T*, xt::no_ownership>, Rank, xt::layout_type::dynamic>;

TEST(Xtensor, BothWays) {
  xt::xtensor<float, 2> array = {{1, 2, 3}, {4, 5, 6}};
  const db::tensor lent = db::wrap_borrowed(array).value();
  EXPECT_EQ(lent.data(), array.data());
  auto adaptor = lent.map<Adaptor<float, 2>>().value();
  EXPECT_EQ(adaptor(1, 2), 6);
  static_assert(!std::is_copy_assignable_v<db::result<Adaptor<float, 2>>>);
  static_assert(!db::memory_traits<Adaptor<float, 2>>::owning);
  using Adapted = decltype(xt::adapt(array.data(), array.size(), xt::no_ownership(),
                                     std::array<std::size_t, 2>()));
  static_assert(!db::memory_traits<Adapted>::owning);
  static_assert(db::memory_traits<xt::xtensor<float, 2>>::owning);
  static_assert(db::memory_traits<xt::xarray<double>>::owning);
  adaptor(0, 0) = 10;
  EXPECT_EQ(array(0, 0), 10);
  EXPECT_EQ(xt::sum(adaptor)(), 30);
  xt::xarray<float> late = {{1, 2, 3}, {4, 5, 6}};
  const float* data = late.data();
  const db::tensor owned = db::wrap_owned(std::move(late)).value();
  EXPECT_EQ(owned.data(), data);
  EXPECT_EQ((owned.elements<float, 2>().value()(1, 0)), 4);
}

TEST(Xtensor, ViewsWithOffsetsAndNegativeStrides) {
  xt::xtensor<int, 2> array = {{1, 2, 3}, {4, 5, 6}};
  auto columns = xt::view(array, xt::all(), xt::range(1, 3));
  const db::tensor lent = db::wrap_borrowed(columns).value();
  EXPECT_EQ((lent.elements<int, 2>().value()(1, 1)), 6);
  EXPECT_EQ((lent.map<Adaptor<int, 2>>().value()(1, 1)), 6);
  using xt::placeholders::_;
  auto flipped = xt::strided_view(array, {xt::range(_, _, -1)});
  const db::tensor upside_down = db::wrap_borrowed(flipped).value();
  EXPECT_EQ((upside_down.elements<int, 2>().value()(0, 0)), 4);
  EXPECT_EQ((upside_down.map<Adaptor<int, 2>>().error().rule()), db::rule_code::negative_stride);
}
#endif

}  // namespace
}  // namespace dlbridge_cpp_test
