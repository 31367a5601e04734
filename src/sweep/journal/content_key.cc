#include "sweep/journal/content_key.h"

#include "base/sha256.h"
#include "simulate/engine.h"
#include "simulate/reuse/feed_digest.h"
#include "simulate/runtime/runtime_version.h"

namespace bitsweep::journal {
namespace {

// Raised when the same content is scored in another way than before.
constexpr std::string_view kScheme = "bitsweep answers 1";

Key key_of_site(const std::string& tensor, const Quantizer& quantizer) {
  Sha256 hash;
  hash.add(tensor);
  hash.add(quantizer.format().name());
  if (const std::optional<Encoding>& encoding = quantizer.encoding()) {
    hash.add(encoding->format.name());
    hash.add_number(encoding->granularity.channel_axis);
    hash.add_number(encoding->granularity.block_axis);
    hash.add_number(encoding->granularity.block_size);
    for (const AffineEncoding& cell : encoding->cells) {
      hash.add_number(cell.min);
      hash.add_number(cell.max);
      hash.add_number(cell.delta);
      hash.add_number(cell.offset);
    }
  }
  return hash.digest();
}

}  // namespace

Key key_of(const Feed& feed) { return simulate::digest_of(feed); }

Key key_of(std::string_view metric, const MetricOptions& options, const Tensor& labels) {
  Sha256 hash;
  hash.add(metric);
  hash.add_number(options.k);
  hash.add_number(options.max_db);
  for (const int output : options.outputs) hash.add_number(output);
  if (labels.defined()) simulate::add_tensor(&hash, labels);
  return hash.digest();
}

StateKeys::StateKeys(const Simulation& simulation, std::string_view path) {
  Sha256 hash;
  hash.add(kScheme);
  hash.add(BITSWEEP_VERSION);
  hash.add(simulate::runtime_version());
  hash.add(simulation.model().content_hash());
  hash.add(path);
  base_ = hash.digest();
  const simulate::Network& network = simulation.engine().network();
  const auto& sites = network.placement().sites;
  for (std::size_t s = 0; s < sites.size(); ++s) {
    sites_.push_back(key_of_site(network.graph().tensor(sites[s].tensor).name,
                                 *network.quantizer(static_cast<int>(s))));
  }
}

Key StateKeys::of(const simulate::State& state) const {
  Sha256 hash;
  hash.add(base_);
  for (const int site : state) hash.add(sites_[static_cast<std::size_t>(site)]);
  return hash.digest();
}

}  // namespace bitsweep::journal
