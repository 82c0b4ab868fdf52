// SPDX-License-Identifier: Apache-2.0
// Tensors as mdspan and back: std::mdspan, or cuda::std::mdspan if CUDA_MDSPAN is defined. Prints
// each failed expectation; exit status 1 then.
#ifdef CUDA_MDSPAN
#include <cuda/std/array>
#include <cuda/std/mdspan>
namespace md = cuda::std;
#else
#include <array>
#include <mdspan>
namespace md = std;
#if !defined(__cpp_lib_mdspan)
#error "this standard library has no mdspan"
#endif
#endif

#include <cstdio>
#include <vector>

#include "dlbridge/dlbridge.hpp"

namespace {

namespace db = dlbridge;

int failures = 0;
void Expect(bool fulfilled, const char* what) {
  if (!fulfilled) {
    std::printf("failed: %s\n", what);
    ++failures;
  }
}
#define EXPECT(...) Expect((__VA_ARGS__), #__VA_ARGS__)

template <class Mdspan, class... Indices>
typename Mdspan::reference At(const Mdspan& view, Indices... indices) {
  return view.accessor().access(view.data_handle(),
                                static_cast<std::size_t>(view.mapping()(indices...)));
}

using Dynamic = md::dextents<std::int64_t, 2>;
using Strided = md::mdspan<float, Dynamic, md::layout_stride>;
using Right = md::mdspan<float, Dynamic>;
using Left = md::mdspan<float, Dynamic, md::layout_left>;

void ToViews(const db::tensor& tensor) {
  EXPECT(At(tensor.map<Strided>().value(), 1, 2) == 5);
  EXPECT(At(tensor.map<Right>().value(), 1, 2) == 5);
  EXPECT(At(tensor.map<md::mdspan<const float, Dynamic>>().value(), 1, 0) == 3);
  EXPECT(tensor.map<Left>().error().rule() == db::rule_code::contiguity);
  EXPECT((*tensor.map<Left>()).size() == 0);
  using Fixed = md::mdspan<float, md::extents<int, 2, md::dynamic_extent>>;
  EXPECT(At(tensor.map<Fixed>().value(), 0, 2) == 2);
  using Wrong = md::mdspan<float, md::extents<int, 3, md::dynamic_extent>>;
  EXPECT(!tensor.map<Wrong>());
  using Doubles = md::mdspan<double, Dynamic>;
  EXPECT(tensor.map<Doubles>().error().rule() == db::rule_code::dtype_rejected);
  using Cube = md::mdspan<float, md::dextents<int, 3>>;
  EXPECT(tensor.map<Cube>().error().rule() == db::rule_code::ndim_limit);
}

// mdspan's layouts can express neither negative strides nor overlapping elements.
void ToViewsThatCannotBe(const db::tensor& tensor) {
  const std::int64_t shape[] = {2, 3};
  const std::int64_t negative[] = {-3, 1};
  const db::tensor flipped =
      db::view(tensor, db::view_spec(shape).strides(negative).offset(3)).value();
  EXPECT(flipped.map<Strided>().error().rule() == db::rule_code::negative_stride);
  const std::int64_t broadcast[] = {0, 1};
  const db::tensor repeated = db::view(tensor, db::view_spec(shape).strides(broadcast)).value();
  using Reading = md::mdspan<const float, Dynamic, md::layout_stride>;
  EXPECT(repeated.map<Reading>().error().rule() == db::rule_code::zero_stride);
  EXPECT(repeated.map<Strided>().error().rule() == db::rule_code::self_overlap);
  const std::int64_t single[] = {1, 3};
  const std::int64_t any[] = {-7, 1};
  const db::tensor row = db::view(tensor, db::view_spec(single).strides(any)).value();
  EXPECT(At(row.map<Strided>().value(), 0, 2) == 2);
  EXPECT(At(row.map<Right>().value(), 0, 1) == 1);
  using Tiny = md::mdspan<float, md::dextents<signed char, 1>>;
  const db::tensor wide = db::wrap_owned(std::vector<float>(200)).value();
  EXPECT(!wide.map<Tiny>());
  using None = md::mdspan<float, Dynamic>;
  const std::int64_t nothing[] = {0, 3};
  const db::tensor empty = db::view(tensor, db::view_spec(nothing)).value();
  EXPECT(empty.map<None>().value().size() == 0);
  using Scalar = md::mdspan<float, md::extents<int>>;
  const db::tensor scalar =
      db::view(tensor, db::view_spec(db::span<const std::int64_t>()).offset(4)).value();
  EXPECT(At(scalar.map<Scalar>().value()) == 4);
}

// Overlapping elements by strides that are not 0; a reach beyond the range of the index type.
void ToViewsOfOtherReach() {
  const db::tensor flat = db::wrap_owned(std::vector<float>(10000)).value();
  const std::int64_t sliding[] = {8, 3};
  const std::int64_t ones[] = {1, 1};
  const db::tensor windows = db::view(flat, db::view_spec(sliding).strides(ones)).value();
  using Reading = md::mdspan<const float, Dynamic, md::layout_stride>;
  const auto overlapping = windows.map<Reading>();
  EXPECT(overlapping.error().rule() == db::rule_code::self_overlap);
  EXPECT(overlapping.error().axis() >= 0 && overlapping.error().message()[0] != 0);
  // No overlap, but an order that the layout cannot have.
  const std::int64_t square[] = {2, 2};
  const std::int64_t interleaved[] = {3, 2};
  const db::tensor mixed = db::view(flat, db::view_spec(square).strides(interleaved)).value();
  EXPECT(!mixed.map<Reading>());
  // The stride of an axis of one element is ignored, whichever axis is the fastest.
  const std::int64_t cube[] = {3, 1, 2};
  const std::int64_t fortran[] = {1, 77, 3};
  const db::tensor columns = db::view(flat, db::view_spec(cube).strides(fortran)).value();
  using Cube = md::mdspan<float, md::dextents<std::int64_t, 3>, md::layout_stride>;
  EXPECT(columns.map<Cube>().value().mapping().required_span_size() == 6);

  const std::int64_t large[] = {100, 100};
  const db::tensor plane = db::view(flat, db::view_spec(large)).value();
  using Small = md::dextents<signed char, 2>;
  EXPECT(plane.map<md::mdspan<float, Small>>().error().rule() == db::rule_code::offset_overflow);
  EXPECT(plane.map<md::mdspan<float, Small, md::layout_stride>>().error().rule() ==
         db::rule_code::offset_overflow);
  const std::int64_t fitting[] = {1, 127};
  const db::tensor line = db::view(flat, db::view_spec(fitting)).value();
  EXPECT((line.map<md::mdspan<float, Small>>()).has_value());
  EXPECT((line.map<md::mdspan<float, Small, md::layout_stride>>()).has_value());
  const std::int64_t none[] = {100, 0};
  const db::tensor nothing = db::view(flat, db::view_spec(none)).value();
  EXPECT((nothing.map<md::mdspan<float, Small>>()).has_value());
  // Without the 0, the product of the extents would overflow.
  const std::int64_t endless[] = {2, std::int64_t{1} << 40, std::int64_t{1} << 40, 0};
  const db::tensor vast = db::view(flat, db::view_spec(endless)).value();
  using Four = md::dextents<std::int64_t, 4>;
  EXPECT((vast.map<md::mdspan<float, Four>>()).has_value());
  const auto strided = vast.map<md::mdspan<float, Four, md::layout_stride>>();
  EXPECT(strided.has_value() || strided.error().message()[0] != 0);
}

void FromViews() {
  std::vector<float> values = {0, 1, 2, 3, 4, 5};
  Left columns(values.data(), 2, 3);
  const db::tensor lent = db::wrap_borrowed(columns).value();
  EXPECT(lent.data() == values.data() && lent.strides()[1] == 2);
  EXPECT(At(lent.map<Left>().value(), 1, 2) == 5);
  const md::mdspan<const float, Dynamic> reading(values.data(), 2, 3);
  EXPECT(db::wrap_borrowed(reading).value().read_only());
  const Strided every_other(values.data(), {Dynamic(2, 2), md::array<std::int64_t, 2>{{4, 1}}});
  const db::tensor sparse = db::wrap_borrowed(every_other).value();
  EXPECT(At(sparse.map<Strided>().value(), 1, 1) == 5);
}

}  // namespace

int main() {
  const db::tensor tensor = [] {
    const db::tensor flat = db::wrap_owned(std::vector<float>{0, 1, 2, 3, 4, 5}).value();
    const std::int64_t shape[] = {2, 3};
    return db::view(flat, db::view_spec(shape)).value();
  }();
  ToViews(tensor);
  ToViewsThatCannotBe(tensor);
  ToViewsOfOtherReach();
  FromViews();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
