#include "words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/mix.h"

namespace bitsweep::cli {

std::string duration_text(double seconds) {
  if (seconds < 10.0) return fmt::format("{:.1f} s", std::max(seconds, 0.0));
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string count_text(std::int64_t count) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {
      {{1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  const auto value = static_cast<double>(count);
  for (const auto& [size, name] : kUnits) {
    if (value >= size) return fmt::format("{:.3g}{}", value / size, name);
  }
  return std::to_string(count);
}

std::string shortened(std::string_view name, std::size_t limit) {
  constexpr std::string_view kGap = "...";
  if (name.size() <= limit) return std::string(name);
  // Not through a character of several bytes.
  const auto is_inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(name[at]) & 0xC0U) == 0x80U;
  };
  std::size_t head = (limit - kGap.size()) / 2;
  std::size_t tail = name.size() - (limit - kGap.size() - head);
  while (head > 0 && is_inside(head)) --head;
  while (tail < name.size() && is_inside(tail)) ++tail;
  return std::string(name.substr(0, head)).append(kGap).append(name.substr(tail));
}

std::int64_t parse_size(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, static_cast<const char*>(text.data() + text.size()));
  std::erase(unit, ' ');
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c); });
  constexpr std::array<std::pair<const char*, double>, 14> kUnits = {{{"", 1.0},
                                                                      {"B", 1.0},
                                                                      {"K", 1e3},
                                                                      {"KB", 1e3},
                                                                      {"KIB", 0x1p10},
                                                                      {"M", 1e6},
                                                                      {"MB", 1e6},
                                                                      {"MIB", 0x1p20},
                                                                      {"G", 1e9},
                                                                      {"GB", 1e9},
                                                                      {"GIB", 0x1p30},
                                                                      {"T", 1e12},
                                                                      {"TB", 1e12},
                                                                      {"TIB", 0x1p40}}};
  const auto row = std::find_if(kUnits.begin(), kUnits.end(),
                                [&](const auto& candidate) { return unit == candidate.first; });
  const double bytes = row == kUnits.end() ? -1.0 : value * row->second;
  if (error != std::errc() || !(bytes >= 1.0) || bytes > 0x1p62) {
    throw Error(ErrorCode::kInvalidArgument, "options", "\"" + text + "\" is no size of memory",
                "write it as 800MB, 1.5GB or 2GiB");
  }
  return static_cast<std::int64_t>(bytes);
}

Candidate parse_bits(const std::string& text) {
  Candidate types = parse_mix_candidate(text);
  if (!types.activation.is_integer()) {
    throw Error(ErrorCode::kInvalidArgument, "options", "--bits " + text + " quantizes nothing",
                "write bits of weights and activations such as W8A8 or W4A8@block32");
  }
  return types;
}

// Some exporters make names of hundreds of characters: such a row is longer, the others are not
// padded to it.
constexpr std::size_t kWidestPadding = 48;

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].header.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    if (!columns_[c].right)
      width = std::min(width, std::max(kWidestPadding, columns_[c].header.size()));
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const auto& cell) {
    std::string text;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) text += "  ";
      text += columns_[c].right ? fmt::format("{:>{}}", cell(c), widths[c])
                                : fmt::format("{:<{}}", cell(c), widths[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line([&](std::size_t c) { return columns_[c].header; });
  for (const auto& row : rows_) line([&](std::size_t c) { return row[c]; });
  return out;
}

}  // namespace bitsweep::cli
