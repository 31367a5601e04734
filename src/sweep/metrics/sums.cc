#include "sweep/metrics/sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace bitsweep::scoring {
namespace {

// Independent lanes hide the latency of the additions and let the compiler use whole registers.
constexpr std::size_t kLanes = 16;
constexpr std::size_t kBlock = 4096;

template <class Term>
[[gnu::always_inline]] inline double sum_block(std::size_t begin, std::size_t end, Term term) {
  std::array<double, kLanes> lanes{};
  std::size_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += term(i + j);
  }
  for (std::size_t j = 0; i < end; ++i, ++j) lanes[j] += term(i);
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

template <class Term>
[[gnu::always_inline]] inline double sum_blocks(std::size_t n, Term term) {
  double total = 0.0;
  for (std::size_t begin = 0; begin < n; begin += kBlock)
    total += sum_block(begin, std::min(n, begin + kBlock), term);
  return total;
}

}  // namespace

double sum_squared_error(std::span<const float> a, std::span<const float> b) {
  const float* x = a.data();
  const float* y = b.data();
  const std::size_t n = a.size();
  double total = 0.0;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = std::min(n, begin + kBlock);
    double block = sum_block(begin, end, [=](std::size_t i) {
      const double difference = x[i] - y[i];
      return difference * difference;
    });
    // A difference of two finite floats can overflow a float but never a double.
    if (!std::isfinite(block)) {
      block = sum_block(begin, end, [=](std::size_t i) {
        const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
        return difference * difference;
      });
    }
    total += block;
  }
  return total;
}

double sum_of_squares(std::span<const float> a) {
  const float* x = a.data();
  return sum_blocks(a.size(), [=](std::size_t i) {
    const double value = x[i];
    return value * value;
  });
}

double dot(std::span<const float> a, std::span<const float> b) {
  const float* x = a.data();
  const float* y = b.data();
  return sum_blocks(a.size(), [=](std::size_t i) {
    return static_cast<double>(x[i]) * static_cast<double>(y[i]);
  });
}

MinMax min_max(std::span<const float> values) {
  std::array<float, kLanes> low;
  std::array<float, kLanes> high;
  low.fill(values[0]);
  high.fill(values[0]);
  const float* x = values.data();
  const std::size_t n = values.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      low[j] = x[i + j] < low[j] ? x[i + j] : low[j];
      high[j] = x[i + j] > high[j] ? x[i + j] : high[j];
    }
  }
  for (; i < n; ++i) {
    low[0] = std::min(low[0], x[i]);
    high[0] = std::max(high[0], x[i]);
  }
  return {*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())};
}

bool all_finite(std::span<const float> values) { return std::isfinite(sum_of_squares(values)); }

double log_sum_exp(std::span<const float> values) {
  const float largest = *std::max_element(values.begin(), values.end());
  if (std::isinf(largest) && largest < 0.0F) return -std::numeric_limits<double>::infinity();
  const float* x = values.data();
  return static_cast<double>(largest) + std::log(sum_blocks(values.size(), [=](std::size_t i) {
           return std::exp(static_cast<double>(x[i] - largest));
         }));
}

}  // namespace bitsweep::scoring
