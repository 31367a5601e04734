#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/export.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Two groups whose errors do not just add up.
struct InteractingPair {
  std::string first;
  std::string second;
  /// 2 <d1, d2> / (|d1|^2 + |d2|^2), in [-1, 1]: below 0 the errors cancel, above 0 the two are
  /// worse together than apart.
  double interaction = 0.0;
  double energy = 0.0;  ///< 2 <d1, d2>: what the pair adds to the squared error of the outputs
};

/// How the errors of groups add up: inner products of the changes (deltas) that each group,
/// quantized alone, makes to the outputs, over all samples. To first order the delta of a
/// configuration is the sum of its groups' deltas, so its squared error is x' G x.
///
/// Size: groups^2 doubles per output; an output of more than 8192 values per sample is projected to
/// that many by a fixed random sketch, which keeps inner products within about 1%.
struct Interactions {
  std::vector<std::string> groups;
  std::vector<std::size_t> rows;  ///< of each group in `gram`: tied groups share one
  std::size_t num_rows = 0;
  /// One per compared output.
  struct Output {
    int index = 0;
    std::vector<double> gram;    ///< num_rows^2, row by row; not finite where outputs were not
    double signal_energy = 0.0;  ///< sum of squares of the float outputs
    double num_values = 0.0;
    double min = 0.0;  ///< of the float outputs
    double max = 0.0;
  };
  std::vector<Output> outputs;

  /// Predicted score with just these groups quantized, by "sqnr", "psnr" or "mse", of the worst
  /// output. @throws Error(kInvalidArgument) for another metric, Error(kNotFound) for a group that
  /// is not there.
  double predict(std::span<const std::string> configuration, std::string_view metric = "sqnr",
                 double max_db = 100.0) const;
  /// The same from the groups' errors alone, as if they were independent.
  double predict_additive(std::span<const std::string> configuration,
                          std::string_view metric = "sqnr", double max_db = 100.0) const;
  /// The pairs with the largest |energy| of one output, strongest first; ties by name.
  std::vector<InteractingPair> strongest_pairs(std::size_t count, std::size_t output = 0) const;
};

}  // namespace BITSWEEP_EXPORT bitsweep
