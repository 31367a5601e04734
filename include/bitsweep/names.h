#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bitsweep/error.h"
#include "bitsweep/export.h"

namespace BITSWEEP_EXPORT bitsweep {

/// The candidate that a person most likely meant by `name`: fewest edits, letter case ignored.
/// Empty when none is near.
std::string closest_name(std::string_view name, std::span<const std::string> candidates);

/// `did you mean "conv1"? `, with a blank behind it, for the beginning of a fix; empty when no
/// candidate is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// "a", "b" and 3 more: the first `limit` names in quotes; "none" without names.
std::string quoted_list(std::span<const std::string> names, std::size_t limit = 8);

/// What to throw when `kind` ("metric") has no `name`: suggests the closest one, lists all.
Error unknown_name(const std::string& where, const std::string& kind, std::string_view name,
                   std::span<const std::string> known);

}  // namespace BITSWEEP_EXPORT bitsweep
