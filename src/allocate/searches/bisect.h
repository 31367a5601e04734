#pragma once

#include <algorithm>
#include <functional>

namespace bitsweep::allocate {

/// Narrows the interval between a point that misses the target and one that reaches it.
///
/// Both ends are looked at first, the far one (the cheapest) before the near one. `share` tells
/// where to look between two ends: the share of the way from the end that misses (score `low`) to
/// the end that reaches (score `high`). Source: spec of the reference, mixed precision section 6.3.
template <typename Share>
int bisect(int n, double target, const std::function<double(int)>& score, Share share) {
  int misses = n - 1;
  int reaches = 0;
  double low = score(misses);
  if (target <= low) return misses;
  double high = score(reaches);
  if (target >= high) return reaches;
  while (misses - reaches > 1) {
    const double way = share(low, high);
    const int step =
        std::clamp(static_cast<int>((misses - reaches) * way), 1, misses - reaches - 1);
    const int middle = misses - step;
    const double value = score(middle);
    if (value == target) return middle;
    (value < target ? misses : reaches) = middle;
    (value < target ? low : high) = value;
  }
  return reaches;
}

}  // namespace bitsweep::allocate
