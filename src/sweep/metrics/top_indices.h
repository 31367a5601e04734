#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bitsweep::scoring {

/// Indices of the k largest values, in ascending order of index; of equal values the first ones
/// win. NaN counts as the largest, so that a caller who looks at the values finds it. `k` <=
/// values.size().
std::vector<std::uint32_t> top_indices(std::span<const float> values, std::size_t k);

}  // namespace bitsweep::scoring
