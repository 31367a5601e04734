#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bitsweep::allocate {

/// Position in a list of points of falling score, for a wanted score.
///
/// `score(i)` evaluates point i (0 <= i < n), expensively; a search asks for as few as it can. The
/// result is the last point whose score reaches `target`, or 0 when none does. The scores are
/// assumed to fall; where they rise in between, the result still reaches the target unless it is 0.
using Search = int (*)(int n, double target, const std::function<double(int)>& score);

struct SearchInfo {
  std::string_view name;
  std::string_view summary;
  Search search = nullptr;
};

/// Binary, interpolation and brute force.
const std::vector<SearchInfo>& searches();
/// @throws Error(kInvalidArgument) naming the known ones.
const SearchInfo& find_search(std::string_view name);

int search_binary(int n, double target, const std::function<double(int)>& score);
int search_interpolation(int n, double target, const std::function<double(int)>& score);
int search_brute_force(int n, double target, const std::function<double(int)>& score);

}  // namespace bitsweep::allocate
