#include "bitsweep/text.h"

#include <fmt/format.h>

namespace bitsweep {

std::string score_text(double score, std::string_view unit) {
  if (unit == "dB") return fmt::format("{:.2f} dB", score);
  return unit.empty() ? fmt::format("{:.4g}", score) : fmt::format("{:.4g} {}", score, unit);
}

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace bitsweep
