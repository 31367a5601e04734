#include <cmath>

#include "allocate/searches/bisect.h"
#include "allocate/searches/search.h"

namespace bitsweep::allocate {

int search_interpolation(int n, double target, const std::function<double(int)>& score) {
  return bisect(n, target, score, [target](double low, double high) {
    // Infinite scores leave nothing to interpolate.
    const double way = (target - low) / (high - low);
    return std::isfinite(way) ? way : 0.5;
  });
}

}  // namespace bitsweep::allocate
