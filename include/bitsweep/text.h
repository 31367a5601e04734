#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bitsweep/export.h"

namespace BITSWEEP_EXPORT bitsweep {

/// A score with its unit, as people read it: "23.41 dB", "0.9871".
std::string score_text(double score, std::string_view unit);

/// "2 runs", "1 run".
std::string plural(std::int64_t count, std::string_view noun);

}  // namespace BITSWEEP_EXPORT bitsweep
