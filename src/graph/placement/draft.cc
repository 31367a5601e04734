#include "graph/placement/draft.h"

#include <algorithm>

#include "graph/placement/op_types.h"

namespace bitsweep::graph {
namespace {

// The other inputs of Resize and Upsample are a region, scales and sizes: settings, not data.
bool is_setting(const Graph& graph, TensorId tensor) {
  const std::vector<Use>& uses = graph.tensor(tensor).uses;
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    const std::string& reader = graph.node(use.node).op_type;
    return use.input > 0 && (reader == "Resize" || reader == "Upsample");
  });
}

}  // namespace

Draft::Draft(const Graph& graph, const Rules& rules, const PlacementOptions& options)
    : graph_(graph),
      rules_(rules),
      options_(options),
      operators_(build_operators(graph, rules.passes)),
      site_of_tensor_(graph.tensors().size(), -1) {
  add_parameters();
  add_activations();
}

int Draft::add_site(TensorId tensor, TensorRole role) {
  const int site = static_cast<int>(sites_.size());
  Site& added = sites_.emplace_back();
  added.tensor = tensor;
  added.role = role;
  added.reason = "no rule enables it";
  site_of_tensor_[tensor] = site;
  quantizer_of_site_.push_back(static_cast<int>(quantizers_.size()));
  quantizers_.emplace_back().format =
      role == TensorRole::kParameter ? options_.parameter_format : options_.activation_format;
  return site;
}

void Draft::add_parameters() {
  for (std::size_t i = 0; i < operators().size(); ++i) {
    const Operator& op = operators()[i];
    for (std::size_t j = 0; j < op.parameters.size(); ++j) {
      const auto& [tensor, kind] = op.parameters[j];
      const ParameterAxes axes = operators_.axes[i][j];
      if (const int shared = site_of(tensor); shared >= 0) {
        // Two operators that count channels along different axes leave only one scale for all.
        if (sites_[shared].channel_axis != axes.channel) sites_[shared].channel_axis = -1;
        if (sites_[shared].block_axis != axes.block) sites_[shared].block_axis = -1;
        continue;
      }
      Site& site = sites_[add_site(tensor, TensorRole::kParameter)];
      site.parameter_kind = kind;
      site.channel_axis = axes.channel;
      site.block_axis = axes.block;
    }
  }
}

void Draft::add_activation(TensorId tensor) {
  if (tensor == kAbsent || site_of(tensor) >= 0 || operators_.inner_of[tensor] >= 0) return;
  const TensorInfo& info = graph_.tensor(tensor);
  if (!is_quantizable_type(info.type)) return;
  if (info.producer >= 0 && has_no_output_quantizer(graph_.node(info.producer).op_type)) return;
  if (is_setting(graph_, tensor)) return;
  add_site(tensor, TensorRole::kActivation);
}

void Draft::add_activations() {
  for (const TensorId input : graph_.inputs()) add_activation(input);
  for (int node = 0; node < static_cast<int>(graph_.nodes().size()); ++node) {
    const int index = operators_.operator_of_node[node];
    if (index < 0) {  // Constant
      if (graph_.node(node).is_dead) continue;
      for (const TensorId output : graph_.node(node).outputs) add_activation(output);
      continue;
    }
    const Operator& op = operators()[index];
    // Nothing runs a dead node, so a quantizer there could never get an encoding.
    if (op.nodes.back() != node || graph_.node(node).is_dead) continue;
    for (const TensorId input : op.inputs) {
      if (input == kAbsent || site_of(input) >= 0) continue;
      add_activation(input);
      if (site_of(input) >= 0) input_quantizers_.push_back(input);
    }
    for (const TensorId output : op.outputs) add_activation(output);
  }
}

bool Draft::is_shared(int site) const {
  return std::count(quantizer_of_site_.begin(), quantizer_of_site_.end(),
                    quantizer_of_site_[site]) > 1;
}

void Draft::tie_all(int site, int owner) {
  const int from = quantizer_of_site_[site];
  const int to = quantizer_of_site_[owner];
  std::replace(quantizer_of_site_.begin(), quantizer_of_site_.end(), from, to);
}

std::vector<int> Draft::input_sites(const Operator& op) const {
  std::vector<int> sites;
  for (const TensorId input : op.inputs) {
    const int site = site_of(input);
    if (site >= 0 && sites_[site].role == TensorRole::kActivation) sites.push_back(site);
  }
  return sites;
}

std::vector<int> Draft::output_sites(const Operator& op) const {
  std::vector<int> sites;
  for (const TensorId output : op.outputs) {
    if (const int site = site_of(output); site >= 0) sites.push_back(site);
  }
  return sites;
}

int Draft::effective_site(TensorId tensor) const {
  while (tensor != kAbsent) {
    if (const int site = site_of(tensor); site >= 0 && quantizer(site).enabled) return site;
    const int producer = graph_.tensor(tensor).producer;
    if (producer < 0 || !passes_values_through(graph_, graph_.node(producer))) return -1;
    tensor = graph_.node(producer).inputs[0];
  }
  return -1;
}

void Draft::load(const std::vector<Site>& sites) {
  for (int i = 0; i < static_cast<int>(sites.size()); ++i) {
    const Site& site = sites[i];
    if (site.tied_to >= 0) {
      tie(i, site.tied_to);
      continue;
    }
    // The quantizer that was made with the site: nobody has tied it to another one yet.
    quantizer_of_site_[i] = i;
    QuantizerDraft& settings = quantizer(i);
    settings.enabled = site.enabled;
    settings.format = site.format;
    settings.symmetric = site.symmetric;
    settings.strict_symmetric = site.strict_symmetric;
    settings.unsigned_symmetric = site.unsigned_symmetric;
    settings.per_channel = site.per_channel;
    settings.fixed_range = site.fixed_range;
  }
}

std::vector<Site> Draft::finish() const {
  std::vector<Site> sites = sites_;
  std::vector<int> first_site(quantizers_.size(), -1);
  for (int i = 0; i < static_cast<int>(sites.size()); ++i) {
    Site& site = sites[i];
    const QuantizerDraft& settings = quantizer(i);
    site.enabled = settings.enabled;
    site.format = settings.format;
    site.symmetric = settings.symmetric;
    site.strict_symmetric = settings.strict_symmetric;
    site.unsigned_symmetric = settings.unsigned_symmetric;
    site.per_channel = settings.per_channel;
    site.fixed_range = settings.fixed_range;
    int& first = first_site[quantizer_of_site_[i]];
    if (first < 0) {
      first = i;
    } else {
      site.tied_to = first;
    }
  }
  return sites;
}

}  // namespace bitsweep::graph
