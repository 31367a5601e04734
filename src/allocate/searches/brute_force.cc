#include <algorithm>

#include "allocate/searches/search.h"

namespace bitsweep::allocate {

int search_brute_force(int n, double target, const std::function<double(int)>& score) {
  for (int i = 0; i < n; ++i) {
    const double value = score(i);
    if (value == target) return i;
    if (value < target) return std::max(i - 1, 0);
  }
  return n - 1;
}

}  // namespace bitsweep::allocate
