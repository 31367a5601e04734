#include "report/network_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace bitsweep::report {

std::vector<std::size_t> network_order(const Simulation& simulation,
                                       const std::vector<std::vector<std::string>>& groups) {
  std::map<std::string, std::size_t> place;
  for (const OperatorInfo& op : simulation.operators()) {
    for (const auto* names : {&op.inputs, &op.outputs}) {
      for (const std::string& name : *names) place.emplace(name, place.size());
    }
  }
  std::vector<std::size_t> places;
  for (const std::vector<std::string>& group : groups) {
    std::size_t& least = places.emplace_back(std::numeric_limits<std::size_t>::max());
    for (const std::string& name : group) {
      if (const auto found = place.find(name); found != place.end())
        least = std::min(least, found->second);
    }
  }
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t group) { return places[group]; });
  return order;
}

}  // namespace bitsweep::report
