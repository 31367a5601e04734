#include "allocate/searches/bisect.h"
#include "allocate/searches/search.h"

namespace bitsweep::allocate {

int search_binary(int n, double target, const std::function<double(int)>& score) {
  return bisect(n, target, score, [](double, double) { return 0.5; });
}

}  // namespace bitsweep::allocate
