#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "bitsweep/passes.h"
#include "graph/attributes.h"
#include "graph/passes/linear_layer.h"
#include "graph/passes/model_edit.h"

namespace bitsweep {
namespace {

using graph::LinearLayer;
using graph::ModelEdit;

/// Standard deviations below the mean that count as the least value of a channel.
constexpr double kDeviations = 3.0;

/// A layer of a chain.
struct Link {
  int node = -1;
  int activation =
      -1;  ///< Relu or PRelu in front of it, -1 when it reads the layer before directly
};

std::vector<double> largest_by(LinearLayer* layer, bool outputs) {
  std::vector<double> largest(
      static_cast<std::size_t>(outputs ? layer->out_channels : layer->in_channels), 0.0);
  layer->for_each_weight([&](std::size_t out, std::size_t in, double w) {
    double& of = largest[outputs ? out : in];
    of = std::max(of, std::abs(w));
  });
  return largest;
}

/// Nothing to balance where a channel is empty.
double usable(double scale) { return scale > 0 && std::isfinite(scale) ? scale : 1.0; }

void scale_outputs(LinearLayer* layer, const std::vector<double>& by) {
  layer->for_each_weight([&](std::size_t out, std::size_t, double& w) { w *= by[out]; });
  if (!layer->bias) return;
  for (std::size_t c = 0; c < by.size(); ++c) layer->bias->values[c] *= by[c];
}

void scale_inputs(LinearLayer* layer, const std::vector<double>& by) {
  layer->for_each_weight([&](std::size_t, std::size_t in, double& w) { w *= by[in]; });
}

std::vector<double> reciprocal(const std::vector<double>& values) {
  std::vector<double> result;
  for (const double v : values) result.push_back(1.0 / v);
  return result;
}

bool pads(const onnx::NodeProto& conv) {
  if (const auto* a = graph::find_attribute(conv, "auto_pad")) {
    if (a->s() == "SAME_UPPER" || a->s() == "SAME_LOWER") return true;
  }
  const auto* padding = graph::find_attribute(conv, "pads");
  return padding != nullptr && std::any_of(padding->ints().begin(), padding->ints().end(),
                                           [](std::int64_t p) { return p != 0; });
}

class Equalization {
 public:
  Equalization(const Model& model, std::vector<FoldedBatchNorm> folded,
               const EqualizeOptions& options)
      : edit_(model), options_(options), folded_(std::move(folded)) {
    for (const FoldedBatchNorm& norm : folded_) {
      if (!norm.forward) norms_[norm.layer_output] = &norm;
    }
  }

  EqualizeResult run() {
    std::vector<std::string> clips;
    if (options_.replace_relu6) clips = replace_clips();
    std::vector<std::vector<EqualizedPair>> sets;
    for (const std::vector<Link>& chain : chains()) {
      for (std::size_t i = 0; i + 1 < chain.size();) i += equalize_at(chain, i, &sets);
    }
    return {edit_.finish(), std::move(folded_), std::move(sets), std::move(clips)};
  }

 private:
  bool is_convolution(int node) const {
    return edit_.is(node, "Conv") || edit_.is(node, "ConvTranspose");
  }

  std::optional<LinearLayer> convolution(int node) {
    if (!is_convolution(node)) return std::nullopt;
    if (!options_.implied_group && graph::find_attribute(edit_.node(node), "group") == nullptr)
      return std::nullopt;
    auto read = read_layer(&edit_, node);
    if (!std::holds_alternative<LinearLayer>(read)) return std::nullopt;
    auto layer = std::get<LinearLayer>(std::move(read));
    if (layer.group != 1 && !layer.is_depthwise()) return std::nullopt;
    return layer;
  }

  /// The next layer when nothing but it, through one activation at most, sees the output.
  Link next(int node) {
    const std::string& output = edit_.node(node).output(0);
    int reader = edit_.only_reader(output);
    int activation = -1;
    if (edit_.is(reader, "Relu") || edit_.is(reader, "PRelu")) {
      if (edit_.node(reader).input(0) != output) return {};
      activation = reader;
      const std::string& activated = edit_.node(reader).output(0);
      reader = edit_.only_reader(activated);
      if (reader < 0 || edit_.node(reader).input(0) != activated) return {};
    } else if (reader < 0 || edit_.node(reader).input(0) != output) {
      return {};
    }
    return is_convolution(reader) ? Link{reader, activation} : Link{};
  }

  std::vector<std::vector<Link>> chains() {
    std::vector<Link> after(static_cast<std::size_t>(edit_.num_nodes()));
    std::vector<bool> is_next(after.size(), false);
    for (int i = 0; i < edit_.num_nodes(); ++i) {
      if (!convolution(i)) continue;
      const Link link = next(i);
      if (link.node < 0 || !convolution(link.node)) continue;
      after[static_cast<std::size_t>(i)] = link;
      is_next[static_cast<std::size_t>(link.node)] = true;
    }
    std::vector<std::vector<Link>> result;
    for (int i = 0; i < edit_.num_nodes(); ++i) {
      if (is_next[static_cast<std::size_t>(i)] || after[static_cast<std::size_t>(i)].node < 0)
        continue;
      std::vector<Link> chain = {{i, -1}};
      while (true) {
        const Link link = after[static_cast<std::size_t>(chain.back().node)];
        if (link.node < 0) break;
        chain.push_back(link);
      }
      result.push_back(std::move(chain));
    }
    return result;
  }

  /// Equalizes the set that begins at a link; returns how far the next set is.
  std::size_t equalize_at(const std::vector<Link>& chain, std::size_t at,
                          std::vector<std::vector<EqualizedPair>>* sets) {
    LinearLayer first = *convolution(chain[at].node);
    LinearLayer second = *convolution(chain[at + 1].node);
    if (first.out_channels != second.in_channels) return 1;
    if (!second.is_depthwise()) {
      const std::vector<double> scale = scale_two(&first, &second);
      sets->push_back({finish_pair(&first, &second, chain[at + 1].activation, scale)});
      write_layer(&edit_, std::move(first));
      write_layer(&edit_, std::move(second));
      return 1;
    }
    if (first.is_depthwise() || at + 2 >= chain.size()) return 1;
    LinearLayer third = *convolution(chain[at + 2].node);
    if (third.is_depthwise() || second.out_channels != third.in_channels) return 1;
    const auto [outer, inner] = scale_three(&first, &second, &third);
    sets->push_back({finish_pair(&first, &second, chain[at + 1].activation, outer),
                     finish_pair(&second, &third, chain[at + 2].activation, inner)});
    write_layer(&edit_, std::move(first));
    write_layer(&edit_, std::move(second));
    write_layer(&edit_, std::move(third));
    return 2;
  }

  static std::vector<double> scale_two(LinearLayer* first, LinearLayer* second) {
    const std::vector<double> r1 = largest_by(first, true);
    const std::vector<double> r2 = largest_by(second, false);
    std::vector<double> scale;
    for (std::size_t c = 0; c < r1.size(); ++c)
      scale.push_back(usable(r1[c] / std::sqrt(r1[c] * r2[c])));
    scale_outputs(first, reciprocal(scale));
    scale_inputs(second, scale);
    return scale;
  }

  static std::pair<std::vector<double>, std::vector<double>> scale_three(LinearLayer* first,
                                                                         LinearLayer* middle,
                                                                         LinearLayer* last) {
    const std::vector<double> r0 = largest_by(first, true);
    const std::vector<double> r1 = largest_by(middle, true);
    const std::vector<double> r2 = largest_by(last, false);
    std::vector<double> outer;
    std::vector<double> inner;
    for (std::size_t c = 0; c < r0.size(); ++c) {
      const double geometric_mean = std::cbrt(r0[c] * r1[c] * r2[c]);
      outer.push_back(usable(r0[c] / geometric_mean));
      inner.push_back(usable(geometric_mean / r2[c]));
    }
    scale_outputs(first, reciprocal(outer));
    scale_inputs(middle, outer);
    scale_outputs(middle, reciprocal(inner));
    scale_inputs(last, inner);
    return {outer, inner};
  }

  EqualizedPair finish_pair(LinearLayer* first, LinearLayer* second, int activation,
                            const std::vector<double>& scale) {
    EqualizedPair pair{.first = edit_.label(first->node),
                       .second = edit_.label(second->node),
                       .activation_between = activation >= 0,
                       .scale = {scale.begin(), scale.end()},
                       .absorbed = {}};
    const auto norm = norms_.find(edit_.node(first->node).output(0));
    if (!options_.absorb_high_biases || norm == norms_.end() || !first->bias || !second->bias ||
        pads(edit_.node(second->node)))
      return pair;
    std::vector<double> absorbed;
    for (std::size_t c = 0; c < scale.size(); ++c) {
      const double beta = norm->second->beta[c] / scale[c];
      const double deviation = std::abs(norm->second->gamma[c] / scale[c]);
      // Without an activation the whole mean can move.
      absorbed.push_back(activation >= 0 ? std::max(0.0, beta - kDeviations * deviation) : beta);
    }
    if (std::all_of(absorbed.begin(), absorbed.end(), [](double a) { return a == 0; })) return pair;
    for (std::size_t c = 0; c < absorbed.size(); ++c) first->bias->values[c] -= absorbed[c];
    second->for_each_weight([&](std::size_t out, std::size_t in, double w) {
      second->bias->values[out] += w * absorbed[in];
    });
    pair.absorbed.assign(absorbed.begin(), absorbed.end());
    return pair;
  }

  /// Clip with a minimum of 0 between two convolutions.
  std::vector<std::string> replace_clips() {
    std::vector<std::string> replaced;
    for (int i = 0; i < edit_.num_nodes(); ++i) {
      if (!edit_.is(i, "Clip") || edit_.is_output(edit_.node(i).output(0))) continue;
      if (!is_convolution(edit_.producer(edit_.node(i).input(0))) ||
          !is_convolution(edit_.only_reader(edit_.node(i).output(0))) || least(i) != 0.0)
        continue;
      replaced.push_back(edit_.label(i));
      for (int k = 1; k < edit_.node(i).input_size(); ++k) edit_.clear_input(i, k);
      onnx::NodeProto* clip = edit_.mutable_node(i);
      clip->set_op_type("Relu");
      clip->mutable_input()->DeleteSubrange(1, clip->input_size() - 1);
      clip->clear_attribute();
    }
    return replaced;
  }

  std::optional<double> least(int clip) {
    const onnx::NodeProto& n = edit_.node(clip);
    if (const auto* a = graph::find_attribute(n, "min")) return a->f();
    if (n.input_size() < 2 || n.input(1).empty()) return std::nullopt;
    const onnx::TensorProto* message = edit_.static_message(n.input(1));
    if (message == nullptr) return std::nullopt;
    const std::vector<double> values = edit_.read(*message);
    return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
  }

  ModelEdit edit_;
  EqualizeOptions options_;
  std::vector<FoldedBatchNorm> folded_;
  std::map<std::string, const FoldedBatchNorm*> norms_;  ///< by the tensor behind the layer
};

}  // namespace

EqualizeResult equalize_cross_layers(const Model& model, const EqualizeOptions& options) {
  FoldBatchNormsResult folded = fold_batch_norms(model);
  return Equalization(folded.model, std::move(folded.folded), options).run();
}

}  // namespace bitsweep
