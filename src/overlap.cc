// SPDX-License-Identifier: Apache-2.0
// Two elements share memory where some d != 0 has |d[i]| <= extent[i] - 1 and d . strides = 0. Most
// tensors are settled by looking at sorted strides. What is left asks for a short vector of a
// lattice, the integer solutions of d . strides = 0, in the box of the extents: it is found, or
// excluded, by reducing a basis (LLL) and listing the few vectors of the ball around the box. That
// takes the same small effort however large the extents are, where a search over indices would not.
#include "overlap.h"

#include "support/checked.h"

namespace dlbridge {
namespace {

// A tensor of 2^63 elements has at most 62 axes longer than 1.
constexpr int kMaxAxes = 64;
// More axes than this, after simplification, are left undecided.
constexpr int kMaxLatticeAxes = 8;
constexpr int kMaxRank = kMaxLatticeAxes - 1;
// Bounds of effort, far above what 4 axes need.
constexpr int kMaxReductions = 20000;
constexpr int kMaxNodes = 20000;

struct Axis {
  int64_t steps;   // extent - 1, at least 1
  int64_t stride;  // absolute value
};

struct Axes {
  Axis axis[kMaxAxes];
  int count;
};

// libm is not linked: these are the few functions of it that are needed, for the ranges that come.

double Magnitude(double value) { return value < 0 ? -value : value; }

// Largest integer not above a value of less than 2^62.
int64_t Floor(double value) {
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) > value ? whole - 1 : whole;
}

constexpr double kTwoTo64 = 18446744073709551616.0;

// Conversions that would call the compiler's run-time library. By magnitude: the halves of a small
// negative number are large, and would cancel to nothing.
double ToDouble(Wide value) {
  if (value < 0) {
    return -ToDouble(-value);
  }
  return static_cast<double>(static_cast<uint64_t>(value >> 64)) * kTwoTo64 +
         static_cast<double>(static_cast<uint64_t>(value));
}
Wide FromDouble(double value) {
  if (value < 0) {
    return -FromDouble(-value);
  }
  const auto high = static_cast<uint64_t>(value / kTwoTo64);
  const double low = value - static_cast<double>(high) * kTwoTo64;
  return static_cast<Wide>(high) * (Wide{1} << 64) + static_cast<uint64_t>(low);
}

// A nearest integer to a value of less than 2^126. From 2^52 on doubles are integers.
Wide Nearest(double value) {
  return Magnitude(value) < 4503599627370496.0 ? Floor(value + 0.5) : FromDouble(value);
}

// Square root by Newton's method, never below the true one by more than rounding.
double Root(double value) {
  double root = value < 1 ? 1 : value;
  double next = (root + value / root) / 2;
  while (next < root) {
    root = next;
    next = (root + value / root) / 2;
  }
  return root;
}

int64_t Gcd(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// ------------------------------------------------------------------- settled by sorted strides

// Of INT64_MIN, which only an axis of extent 2 can have, the nearest that fits: all other axes
// together reach less than either.
int64_t Magnitude(int64_t stride) {
  if (stride == INT64_MIN) {
    return INT64_MAX;
  }
  return stride < 0 ? -stride : stride;
}

// The axes longer than 1 by ascending stride; false where there are more than a tensor can have.
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

// Axes that continue each other, as in any slice of a compact tensor, count as one.
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

// An axis whose stride is longer than all shorter axes together reach separates its slices: it
// goes. Returns the reach of what is left.
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

// More elements than places.
bool IsCrowded(const Axes& axes, Wide reach) {
  Wide count = 1;
  for (int i = 0; i < axes.count; ++i) {
    count *= static_cast<Wide>(axes.axis[i].steps) + 1;
  }
  return count > reach + 1;
}

// With two axes the shortest solution is known: d = (stride[1], -stride[0]) / gcd.
bool PairOverlaps(const Axis& a, const Axis& b) {
  const int64_t gcd = Gcd(a.stride, b.stride);
  return b.stride / gcd <= a.steps && a.stride / gcd <= b.steps;
}

// ---------------------------------------------------------------------------------- the lattice

using Vector = Wide[kMaxLatticeAxes];

class Lattice {
 public:
  explicit Lattice(const Axes& axes) : axes_(axes), size_(axes.count) {}

  DLBridgeAnswer HasVectorInBox() {
    if (!Build() || !Weigh() || !Reduce(rank_) || !Orthogonalise(rank_) || !IsWellConditioned()) {
      return DLBRIDGE_UNDECIDED;
    }
    int64_t coefficients[kMaxRank] = {};
    return Enumerate(rank_ - 1, 0, coefficients);
  }

 private:
  // A basis of all d with d . strides = 0, axis by axis: the solutions that the next axis adds come
  // from one that makes the greatest common divisor so far. False on overflow.
  bool Build() {
    for (int i = 0; i < size_; ++i) {
      inverse_[i] = 1;
    }
    Vector combination = {1};
    int64_t gcd = axes_.axis[0].stride;
    for (int i = 1; i < size_; ++i) {
      const int64_t stride = axes_.axis[i].stride;
      int64_t a = 0;
      int64_t b = 0;
      const int64_t next = ExtendedGcd(gcd, stride, &a, &b);
      Vector& added = basis_[rank_];
      for (int j = 0; j < size_; ++j) {
        added[j] = 0;
        if (MulOverflows(combination[j], static_cast<Wide>(stride / next), &added[j]) ||
            MulOverflows(combination[j], static_cast<Wide>(a), &combination[j])) {
          return false;
        }
      }
      added[i] = -(gcd / next);
      combination[i] = b;
      gcd = next;
      ++rank_;
      if (!Reduce(rank_) || !Shorten(rank_, &combination)) {
        return false;
      }
    }
    return true;
  }

  static int64_t ExtendedGcd(int64_t a, int64_t b, int64_t* x, int64_t* y) {
    int64_t x0 = 1;
    int64_t x1 = 0;
    int64_t y0 = 0;
    int64_t y1 = 1;
    while (b != 0) {
      const int64_t quotient = a / b;
      const int64_t rest = a % b;
      a = b;
      b = rest;
      const int64_t x2 = x0 - quotient * x1;
      x0 = x1;
      x1 = x2;
      const int64_t y2 = y0 - quotient * y1;
      y0 = y1;
      y1 = y2;
    }
    *x = x0;
    *y = y0;
    return a;
  }

  // From here on length is measured so that the box is the unit cube.
  bool Weigh() {
    for (int i = 0; i < size_; ++i) {
      inverse_[i] = 1.0 / static_cast<double>(axes_.axis[i].steps);
    }
    return true;
  }

  double Dot(const Vector& a, const double* b) const {
    double sum = 0;
    for (int i = 0; i < size_; ++i) {
      sum += ToDouble(a[i]) * inverse_[i] * b[i];
    }
    return sum;
  }

  // Gram-Schmidt of the first `rank` vectors from the integers; false where it is out of range.
  bool Orthogonalise(int rank) {
    for (int i = 0; i < rank; ++i) {
      for (int k = 0; k < size_; ++k) {
        star_[i][k] = ToDouble(basis_[i][k]) * inverse_[k];
      }
      for (int j = 0; j < i; ++j) {
        mu_[i][j] = Dot(basis_[i], star_[j]) / norm_[j];
        for (int k = 0; k < size_; ++k) {
          star_[i][k] -= mu_[i][j] * star_[j][k];
        }
      }
      norm_[i] = 0;
      for (int k = 0; k < size_; ++k) {
        norm_[i] += star_[i][k] * star_[i][k];
      }
      if (!(norm_[i] > 0) || !(norm_[i] < 1e300)) {
        return false;
      }
    }
    return true;
  }

  // a -= q * b, and whether that fitted.
  bool Subtract(Vector* a, Wide q, const Vector& b) const {
    for (int i = 0; i < size_; ++i) {
      Wide product = 0;
      if (MulOverflows(q, b[i], &product) || __builtin_sub_overflow((*a)[i], product, &(*a)[i])) {
        return false;
      }
    }
    return true;
  }

  // Takes from `vector` the nearest multiples of the first `count` basis vectors, last first, until
  // none is left; doubles hold 53 bits of a multiple, so that long ones need several rounds.
  bool Shorten(int count, Vector* vector) {
    if (!Orthogonalise(count)) {
      return false;
    }
    for (int round = 0; round < 64; ++round) {
      bool changed = false;
      for (int j = count - 1; j >= 0; --j) {
        const double multiple = Dot(*vector, star_[j]) / norm_[j];
        // A little more than a half: at a half, rounding would move it back and forth for ever.
        if (Magnitude(multiple) < 0.51) {
          continue;
        }
        if (!(Magnitude(multiple) < 1e37) || !Subtract(vector, Nearest(multiple), basis_[j])) {
          return false;
        }
        changed = true;
      }
      if (!changed) {
        return true;
      }
    }
    return false;
  }

  // LLL over the first `rank` vectors.
  bool Reduce(int rank) {
    int k = 1;
    for (int step = 0; step < kMaxReductions; ++step) {
      if (k >= rank) {
        return true;
      }
      if (!Shorten(k, &basis_[k]) || !Orthogonalise(k + 1)) {
        return false;
      }
      const double mu = mu_[k][k - 1];
      if (norm_[k] >= (0.99 - mu * mu) * norm_[k - 1]) {
        ++k;
        continue;
      }
      for (int i = 0; i < size_; ++i) {
        const Wide swapped = basis_[k][i];
        basis_[k][i] = basis_[k - 1][i];
        basis_[k - 1][i] = swapped;
      }
      k = k > 1 ? k - 1 : 1;
    }
    return false;
  }

  // A reduced basis is nearly orthogonal; if rounding spoiled it, no answer is better than a guess.
  bool IsWellConditioned() const {
    for (int i = 0; i < rank_; ++i) {
      double length = 0;
      for (int k = 0; k < size_; ++k) {
        const double value = ToDouble(basis_[i][k]) * inverse_[k];
        length += value * value;
      }
      if (!(norm_[i] > 1e-6 * length)) {
        return false;
      }
    }
    return true;
  }

  // All vectors of the ball around the box, by their coefficients from the last to the first.
  DLBridgeAnswer Enumerate(int level, double used, int64_t* coefficients) {
    if (++nodes_ > kMaxNodes) {
      return DLBRIDGE_UNDECIDED;
    }
    if (level < 0) {
      return IsInBox(coefficients) ? DLBRIDGE_YES : DLBRIDGE_NO;
    }
    double centre = 0;
    for (int j = level + 1; j < rank_; ++j) {
      centre -= static_cast<double>(coefficients[j]) * mu_[j][level];
    }
    // The ball has radius sqrt(axes); a little is added for rounding.
    const double left = (size_ * (1 + 1e-6) - used) / norm_[level];
    if (left < 0) {
      return DLBRIDGE_NO;
    }
    const double radius = Root(left) + 1e-6;
    if (!(radius < kMaxNodes) || !(Magnitude(centre) < 1e15)) {
      return DLBRIDGE_UNDECIDED;
    }
    const int64_t last = Floor(centre + radius);
    for (int64_t c = -Floor(radius - centre); c <= last; ++c) {
      coefficients[level] = c;
      const double off = static_cast<double>(c) - centre;
      const DLBridgeAnswer answer =
          Enumerate(level - 1, used + off * off * norm_[level], coefficients);
      if (answer != DLBRIDGE_NO) {
        return answer;
      }
    }
    return DLBRIDGE_NO;
  }

  // Exact, in integers: a vector other than 0 that no extent excludes. One that overflows is
  // outside.
  bool IsInBox(const int64_t* coefficients) const {
    Vector sum = {};
    bool zero = true;
    for (int j = 0; j < rank_; ++j) {
      zero = zero && coefficients[j] == 0;
      if (!Subtract(&sum, coefficients[j], basis_[j])) {
        return false;
      }
    }
    for (int i = 0; i < size_; ++i) {
      if (sum[i] > axes_.axis[i].steps || -sum[i] > axes_.axis[i].steps) {
        return false;
      }
    }
    return !zero;
  }

  const Axes& axes_;
  const int size_;
  int rank_ = 0;
  int nodes_ = 0;
  Vector basis_[kMaxRank] = {};
  double inverse_[kMaxLatticeAxes] = {};
  double star_[kMaxRank][kMaxLatticeAxes] = {};
  double mu_[kMaxRank][kMaxRank] = {};
  double norm_[kMaxRank] = {};
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
  if (axes.count == 2) {
    return PairOverlaps(axes.axis[0], axes.axis[1]) ? DLBRIDGE_YES : DLBRIDGE_NO;
  }
  if (axes.count > kMaxLatticeAxes) {
    return DLBRIDGE_UNDECIDED;
  }
  return Lattice(axes).HasVectorInBox();
}

}  // namespace dlbridge
