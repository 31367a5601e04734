#include "allocate/mix/sample_weight.h"

#include <cmath>

namespace bitsweep::allocate {

double sample_weight(std::span<const double> losses) {
  // The rounding of floats: what is below says nothing about quantizers.
  constexpr double kLeast = 1e-14;
  double sum = 0.0;
  for (const double loss : losses) sum += std::log(loss + kLeast);
  return losses.empty() ? 1.0 : std::exp(-sum / static_cast<double>(losses.size()));
}

}  // namespace bitsweep::allocate
