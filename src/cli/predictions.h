#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bitsweep/sweep.h"

namespace bitsweep::cli {

/// A configuration whose score is predicted from a sweep: these groups quantized, nothing else.
struct Configuration {
  std::string patterns;  ///< as the user wrote them
  std::vector<std::string> groups;
};

/// The groups that lists such as "conv*,fc.weight" choose. @throws Error(kInvalidArgument) for a
/// pattern that fits no group, and for a metric whose scores do not follow from squared errors.
std::vector<Configuration> find_configurations(const std::vector<std::string>& lists,
                                               const std::vector<SweepGroup>& groups,
                                               const std::string& metric);

/// What is predicted, one fact for each: "predicted for conv*" and the scores.
std::vector<std::pair<std::string, std::string>> prediction_facts(
    const std::vector<Configuration>& configurations, const SweepResult& result);

/// The same as a table.
std::string predictions_text(const std::vector<Configuration>& configurations,
                             const SweepResult& result);

}  // namespace bitsweep::cli
