#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/tensor.h"

namespace bitsweep::allocate {

/// Changes of the outputs of one state on one sample, as numbers one after the other, for a
/// journal: for each output its squared change, how many numbers follow, and the change itself,
/// folded when long. A single NaN when an output is not finite, or of another size than the float
/// one.
using OutputChange = std::vector<double>;

/// Positions of the outputs that count; empty: all that are floating point.
class ComparedOutputs {
 public:
  explicit ComparedOutputs(std::vector<int> positions) : positions_(std::move(positions)) {}
  bool has(std::size_t position) const;
  /// The name under which a journal keeps numbers of these outputs.
  std::string key(std::string_view what) const;

 private:
  std::vector<int> positions_;
};

/// What the state changed; outputs that are not compared or not floating point count as unchanged.
OutputChange change_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& reference,
                       const ComparedOutputs& compared);

bool is_finite(const OutputChange& change);

/// Squared change with each output in units of its weight; appends the change itself to `values`.
double weighted(const OutputChange& change, const std::vector<double>& weights,
                std::vector<float>* values);

}  // namespace bitsweep::allocate
