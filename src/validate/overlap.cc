// SPDX-License-Identifier: Apache-2.0
// Two elements share memory if some d != 0 has |d[i]| <= extent[i] - 1 and d . strides = 0. For
// most tensors the sorted strides decide. For the others a search chooses the steps d[i] axis by
// axis, the shortest axes first. The reach and the greatest common divisor of the remaining axes
// limit the steps that can still lead back to 0. For the last two axes they give the answer without
// a choice. After a bounded number of choices the answer is DLBRIDGE_UNDECIDED.
#include "validate/overlap.h"

#include "support/checked.h"

namespace dlbridge {
namespace {

// A tensor of 2^63 elements has at most 62 axes longer than 1.
constexpr int kMaxAxes = 64;
// Limit on the choices of the search, which takes less than a millisecond.
constexpr int kMaxChoices = 5000;
// Limit on the reach of all axes: sums in the search stay below twice this.
constexpr int64_t kMaxReach = int64_t{1} << 62;

struct Axis {
  int64_t steps;   // extent - 1, at least 1
  int64_t stride;  // absolute value
};

struct Axes {
  Axis axis[kMaxAxes];
  int count;
};

// --------------------------------------------------------------------- decided by sorted strides

// The absolute value of a stride. INT64_MIN becomes INT64_MAX: only an axis of extent 2 can have
// that stride, and all other axes together reach less than either value.
int64_t Magnitude(int64_t stride) {
  if (stride == INT64_MIN) {
    return INT64_MAX;
  }
  return stride < 0 ? -stride : stride;
}

// Collects the axes longer than 1, by ascending stride; false if there are more than a tensor can
// have.
bool Collect(int32_t ndim, const int64_t* shape, const int64_t* strides, Axes* out) {
  out->count = 0;
  for (int32_t i = 0; i < ndim; ++i) {
    if (shape[i] <= 1) {
      continue;
    }
    if (out->count == kMaxAxes) {
      return false;
    }
    const Axis axis = {shape[i] - 1, Magnitude(strides[i])};
    int at = out->count++;
    for (; at > 0 && out->axis[at - 1].stride > axis.stride; --at) {
      out->axis[at] = out->axis[at - 1];
    }
    out->axis[at] = axis;
  }
  return true;
}

// Joins axes that continue each other, as in any slice of a compact tensor.
void Merge(Axes* axes) {
  int kept = 0;
  for (int i = 1; i < axes->count; ++i) {
    Axis& last = axes->axis[kept];
    const Axis& next = axes->axis[i];
    if (static_cast<Wide>(last.stride) * (last.steps + 1) == next.stride) {
      last.steps = (last.steps + 1) * (next.steps + 1) - 1;
    } else {
      axes->axis[++kept] = next;
    }
  }
  axes->count = kept + 1;
}

// Removes each axis whose stride is longer than the reach of all shorter axes together: its slices
// cannot overlap. Returns the reach of the remaining axes.
Wide DropSeparating(Axes* axes) {
  Wide reach = 0;
  for (int i = 0; i < axes->count; ++i) {
    reach += static_cast<Wide>(axes->axis[i].steps) * axes->axis[i].stride;
  }
  while (axes->count > 0) {
    const Axis& longest = axes->axis[axes->count - 1];
    const Wide shorter = reach - static_cast<Wide>(longest.steps) * longest.stride;
    if (longest.stride <= shorter) {
      break;
    }
    reach = shorter;
    --axes->count;
  }
  return reach;
}

bool HasEqualStrides(const Axes& axes) {
  for (int i = 1; i < axes.count; ++i) {
    if (axes.axis[i].stride == axes.axis[i - 1].stride) {
      return true;
    }
  }
  return false;
}

// True if there are more elements than distinct offsets: some must overlap.
bool IsCrowded(const Axes& axes, Wide reach) {
  Wide count = 1;
  for (int i = 0; i < axes.count; ++i) {
    count *= static_cast<Wide>(axes.axis[i].steps) + 1;
  }
  return count > reach + 1;
}

// ----------------------------------------------------------------------------------- the search

// (a + b) mod m, for 0 <= a, b < m < 2^62.
int64_t AddModulo(int64_t a, int64_t b, int64_t m) { return a + b < m ? a + b : a + b - m; }

// a * b mod m. A 128-bit division would need the compiler's run-time library.
int64_t MultiplyModulo(int64_t a, int64_t b, int64_t m) {
  int64_t product = 0;
  if (!MulOverflows(a, b, &product)) {
    return product % m;
  }
  for (product = 0; b != 0; b >>= 1) {
    product = AddModulo(product, (b & 1) * a, m);
    a = AddModulo(a, a, m);
  }
  return product;
}

// The greatest common divisor, and the inverse of a / gcd modulo b / gcd.
int64_t GcdAndInverse(int64_t a, int64_t b, int64_t* inverse) {
  const int64_t modulus = b;
  int64_t x = 1;
  int64_t next_x = 0;
  while (b != 0) {
    const int64_t quotient = a / b;
    const int64_t rest = a - quotient * b;
    const int64_t rest_x = x - quotient * next_x;
    a = b;
    b = rest;
    x = next_x;
    next_x = rest_x;
  }
  *inverse = x < 0 ? x + modulus / a : x;
  return a;
}

// Divides towards minus infinity; b > 0.
int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The axes with the most steps first: the search tries the steps of all but the first two.
void SortBySteps(Axes* axes) {
  for (int i = 1; i < axes->count; ++i) {
    const Axis axis = axes->axis[i];
    int at = i;
    for (; at > 0 && axes->axis[at - 1].steps < axis.steps; --at) {
      axes->axis[at] = axes->axis[at - 1];
    }
    axes->axis[at] = axis;
  }
}

class Search {
 public:
  // `axes` has at least two axes, which together reach less than 2^62.
  explicit Search(const Axes& axes) : axes_(axes) {
    int64_t gcd = axes.axis[0].stride;
    int64_t reach = axes.axis[0].steps * gcd;
    for (int i = 1; i < axes.count; ++i) {
      const Axis& axis = axes.axis[i];
      Level& level = level_[i];
      level.reach = reach;
      level.gcd = GcdAndInverse(axis.stride, gcd, &level.inverse);
      level.modulus = gcd / level.gcd;
      gcd = level.gcd;
      reach += axis.steps * axis.stride;
    }
  }

  DLBridgeAnswer Run() { return Choose(axes_.count - 1, 0, true); }

 private:
  // For one axis: the reach of the axes before it, and the condition on its steps c, which is
  // c * stride = target modulo the greatest common divisor of the axes before it.
  struct Level {
    int64_t reach;
    int64_t gcd;  // of the axes before and this one
    int64_t modulus;
    int64_t inverse;
  };

  // Can the steps of the axes up to `i` add up to `target`? `zero`: all later axes have 0 steps.
  // Then -d is a solution whenever d is, so negative steps need not be tried.
  DLBridgeAnswer Choose(int i, int64_t target, bool zero) {
    const Axis& axis = axes_.axis[i];
    const Level& level = level_[i];
    if (target % level.gcd != 0) {
      return DLBRIDGE_NO;
    }
    // With 0 steps of axis 1, axis 0 would have 0 steps as well, and d would be 0.
    int64_t low = zero ? (i == 1 ? 1 : 0) : -axis.steps;
    low = Larger(low, -FloorDivide(level.reach - target, axis.stride));
    const int64_t high = Smaller(axis.steps, FloorDivide(level.reach + target, axis.stride));
    int64_t steps = FirstFrom(low, target, level);
    if (i == 1) {
      return steps <= high ? DLBRIDGE_YES : DLBRIDGE_NO;
    }
    for (; steps <= high; steps += level.modulus) {
      if (++choices_ > kMaxChoices) {
        return DLBRIDGE_UNDECIDED;
      }
      const auto answer = Choose(i - 1, target - steps * axis.stride, zero && steps == 0);
      if (answer != DLBRIDGE_NO) {
        return answer;
      }
    }
    return DLBRIDGE_NO;
  }

  // The least number of steps, at least `low`, after which the rest of `target` is a multiple of
  // the greatest common divisor of the axes before.
  static int64_t FirstFrom(int64_t low, int64_t target, const Level& level) {
    const int64_t quotient = Modulo(target / level.gcd, level.modulus);
    const int64_t residue = MultiplyModulo(quotient, level.inverse, level.modulus);
    return low + Modulo(residue - Modulo(low, level.modulus), level.modulus);
  }

  static int64_t Modulo(int64_t a, int64_t m) { return a % m < 0 ? a % m + m : a % m; }
  static int64_t Larger(int64_t a, int64_t b) { return a > b ? a : b; }
  static int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }

  const Axes& axes_;
  Level level_[kMaxAxes] = {};
  int choices_ = 0;
};

}  // namespace

DLBridgeAnswer SelfOverlap(int32_t ndim, const int64_t* shape, const int64_t* strides) {
  Axes axes;
  if (!Collect(ndim, shape, strides, &axes)) {
    return DLBRIDGE_UNDECIDED;
  }
  if (axes.count == 0) {
    return DLBRIDGE_NO;
  }
  if (axes.axis[0].stride == 0) {
    return DLBRIDGE_YES;
  }
  Merge(&axes);
  const Wide reach = DropSeparating(&axes);
  if (axes.count < 2) {
    return DLBRIDGE_NO;
  }
  if (HasEqualStrides(axes) || IsCrowded(axes, reach)) {
    return DLBRIDGE_YES;
  }
  SortBySteps(&axes);
  return reach < kMaxReach ? Search(axes).Run() : DLBRIDGE_UNDECIDED;
}

}  // namespace dlbridge
