#pragma once

#include <cstddef>
#include <span>

namespace bitsweep::scoring {

/// Sums in double over blocks of fixed size and a fixed number of lanes: the bits depend on the
/// values alone, not on the instruction set. Cost: one pass over the arrays at memory speed.

/// Sum of (a - b)^2. Finite exactly when every value of both arrays is finite.
double sum_squared_error(std::span<const float> a, std::span<const float> b);
/// Sum of a^2. Finite exactly when every value is finite.
double sum_of_squares(std::span<const float> a);
/// Sum of a * b. Not finite when a value is not finite.
double dot(std::span<const float> a, std::span<const float> b);

struct MinMax {
  float min;
  float max;
};
/// Smallest and largest value; `values` must hold at least one value and no NaN.
MinMax min_max(std::span<const float> values);

bool all_finite(std::span<const float> values);

/// log(sum(exp(values))), without overflow; -inf when all values are -inf.
double log_sum_exp(std::span<const float> values);

}  // namespace bitsweep::scoring
