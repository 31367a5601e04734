#include "allocate/searches/search.h"

#include <string>
#include <vector>

#include "bitsweep/names.h"

namespace bitsweep::allocate {

const std::vector<SearchInfo>& searches() {
  static const std::vector<SearchInfo> kSearches = {
      {"binary", "halves the interval of positions", &search_binary},
      {"brute_force", "every point until one misses the target", &search_brute_force},
      {"interpolation", "divides the interval by the scores at its ends", &search_interpolation},
  };
  return kSearches;
}

const SearchInfo& find_search(std::string_view name) {
  std::vector<std::string> known;
  for (const SearchInfo& info : searches()) {
    if (info.name == name) return info;
    known.emplace_back(info.name);
  }
  throw unknown_name("mixed precision", "search", name, known);
}

}  // namespace bitsweep::allocate
