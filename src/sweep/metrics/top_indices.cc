#include "sweep/metrics/top_indices.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bitsweep::scoring {

std::vector<std::uint32_t> top_indices(std::span<const float> values, std::size_t k) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [values](std::uint32_t a, std::uint32_t b) {
    const float x = values[a];
    const float y = values[b];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(x);
    if (x > y) return true;
    if (x < y) return false;
    return a < b;
  };
  if (k < order.size()) {
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                     before);
    order.resize(k);
  }
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace bitsweep::scoring
