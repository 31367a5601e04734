#include "simulate/network/quantizer_factory.h"

namespace bitsweep::simulate {
namespace {

std::shared_ptr<Quantizer> make_quantizer(const graph::Graph& graph, const graph::Site& site,
                                          Scheme scheme) {
  const graph::TensorInfo& tensor = graph.tensor(site.tensor);
  auto q = std::make_shared<Quantizer>(tensor.name);
  q->set_format(site.format);
  q->set_scheme(scheme);
  q->set_symmetric(site.symmetric);
  q->set_strict_symmetric(site.strict_symmetric);
  q->set_unsigned_symmetric(site.unsigned_symmetric);
  if (tensor.shape) q->set_tensor_shape(*tensor.shape);
  q->set_possible_axes(site.channel_axis, site.block_axis);
  if (site.per_channel) q->set_granularity({.channel_axis = site.channel_axis});
  if (site.fixed_range) q->set_fixed_range(site.fixed_range);
  q->set_enabled(site.enabled);
  return q;
}

}  // namespace

std::vector<std::shared_ptr<Quantizer>> make_quantizers(const graph::Graph& graph,
                                                        const graph::Placement& placement,
                                                        Scheme scheme) {
  std::vector<std::shared_ptr<Quantizer>> quantizers;
  quantizers.reserve(placement.sites.size());
  for (const graph::Site& site : placement.sites) {
    quantizers.push_back(site.tied_to >= 0 ? quantizers[static_cast<std::size_t>(site.tied_to)]
                                           : make_quantizer(graph, site, scheme));
  }
  return quantizers;
}

}  // namespace bitsweep::simulate
