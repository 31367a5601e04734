#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace bitsweep::sweeping {

/// What one state gave on one sample: for each metric, the sums that its score comes from.
using Answer = std::vector<std::vector<double>>;

/// Answers of one state by sample; absent where there is none (yet).
using AnswerRow = std::vector<std::optional<Answer>>;

/// By state.
using AnswerTable = std::vector<AnswerRow>;

/// Samples from the first one on that have an answer.
inline std::size_t num_answers(const AnswerRow& row) {
  std::size_t n = 0;
  while (n < row.size() && row[n]) ++n;
  return n;
}

}  // namespace bitsweep::sweeping
