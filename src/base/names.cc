#include "bitsweep/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

namespace bitsweep {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Letters to change, insert, drop or swap with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::move(above);
    above = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = above[j - 1] + (same(i - 1, j - 1) ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string closest_name(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  // A third of the letters may differ; names of one or two letters may differ in one.
  std::size_t best_distance = std::max<std::size_t>(name.size() / 3, 1) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::string near = closest_name(name, candidates);
  return near.empty() ? "" : "did you mean \"" + near + "\"? ";
}

std::string quoted_list(std::span<const std::string> names, std::size_t limit) {
  if (names.empty()) return "none";
  std::string text;
  for (std::size_t i = 0; i < std::min(limit, names.size()); ++i)
    text += (i > 0 ? ", \"" : "\"") + names[i] + "\"";
  if (names.size() > limit) text += " and " + std::to_string(names.size() - limit) + " more";
  return text;
}

Error unknown_name(const std::string& where, const std::string& kind, std::string_view name,
                   std::span<const std::string> known) {
  return {ErrorCode::kInvalidArgument, where, fmt::format("no {} is named \"{}\"", kind, name),
          fmt::format("{}use one of: {}", did_you_mean(name, known), fmt::join(known, ", "))};
}

}  // namespace bitsweep
