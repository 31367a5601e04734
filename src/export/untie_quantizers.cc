#include "export/untie_quantizers.h"

#include <memory>
#include <set>
#include <string>
#include <utility>

namespace bitsweep::exporting {

void untie_quantizers(Simulation& simulation) {
  std::set<const Quantizer*> seen;
  for (const std::string& name : simulation.tensor_names()) {
    const std::shared_ptr<Quantizer> shared = simulation.quantizer(name);
    if (seen.insert(shared.get()).second) continue;
    auto own = std::make_shared<Quantizer>(name);
    own->set_format(shared->format());
    own->set_scheme(shared->scheme());
    own->set_symmetric(shared->symmetric());
    own->set_possible_axes(shared->possible_channel_axis(), shared->possible_block_axis());
    own->set_enabled(shared->enabled());
    simulation.set_quantizer(name, std::move(own));
  }
}

}  // namespace bitsweep::exporting
