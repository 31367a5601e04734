#include "simulate/network/live_sites.h"

#include <map>

namespace bitsweep::simulate {

std::vector<graph::Site> live_sites(const Network& network) {
  std::vector<graph::Site> sites = network.placement().sites;
  std::map<const Quantizer*, int> first;
  for (int i = 0; i < static_cast<int>(sites.size()); ++i) {
    graph::Site& site = sites[static_cast<std::size_t>(i)];
    const Quantizer& q = *network.quantizer(i);
    const auto [it, is_first] = first.emplace(&q, i);
    site.tied_to = is_first ? -1 : it->second;
    site.enabled = q.enabled();
    site.format = q.format();
    site.symmetric = q.symmetric();
    site.strict_symmetric = q.strict_symmetric();
    site.unsigned_symmetric = q.unsigned_symmetric();
    site.per_channel = !q.granularity().per_tensor();
    site.fixed_range = q.fixed_range();
  }
  return sites;
}

void apply_exception_rules(Network& network) {
  const std::vector<graph::Site> before = live_sites(network);
  std::vector<graph::Site> after = before;
  graph::apply_exception_rules(network.graph(), *network.placement().rules, after);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].tied_to >= 0) continue;
    Quantizer& q = *network.quantizer(static_cast<int>(i));
    q.set_format(after[i].format);
    q.set_symmetric(after[i].symmetric);
    if (before[i].per_channel && !after[i].per_channel) q.set_granularity({});
  }
}

}  // namespace bitsweep::simulate
