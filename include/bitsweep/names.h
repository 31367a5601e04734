#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bitsweep {

/// The candidate that a person most likely meant by `name`: fewest edits, letter case ignored.
/// Empty when none is near.
std::string closest_name(std::string_view name, std::span<const std::string> candidates);

/// "a", "b" and 3 more: the first `limit` names in quotes; "none" without names.
std::string quoted_list(std::span<const std::string> names, std::size_t limit = 8);

}  // namespace bitsweep
