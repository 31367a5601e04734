#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <variant>

#include "bitsweep/passes.h"
#include "graph/attributes.h"
#include "graph/passes/linear_layer.h"
#include "graph/passes/model_edit.h"

namespace bitsweep {
namespace {

using graph::LinearLayer;
using graph::ModelEdit;
using graph::Refusal;

constexpr float kDefaultEpsilon = 1e-5F;

/// y = (x - mean) * scale + beta, with scale = gamma / sqrt(variance + epsilon).
struct BatchNorm {
  int node = -1;
  std::vector<double> gamma;
  std::vector<double> beta;
  std::vector<double> mean;
  std::vector<double> scale;

  std::size_t channels() const { return gamma.size(); }
};

std::variant<BatchNorm, Refusal> read_batch_norm(ModelEdit* edit, int node) {
  const onnx::NodeProto& n = edit->node(node);
  if (graph::int_attribute(n, "training_mode", 0) != 0) return Refusal("it is in training mode");
  if (graph::int_attribute(n, "spatial", 1) == 0)
    return Refusal("it normalizes every position by itself");
  for (int k = 1; k < n.output_size(); ++k) {
    if (!n.output(k).empty()) return Refusal("it gives out its statistics");
  }
  if (n.input_size() < 5) return Refusal("it lacks parameters");
  std::vector<double> values[4];
  for (int k = 0; k < 4; ++k) {
    onnx::TensorProto* message = edit->static_message(n.input(k + 1));
    if (message == nullptr) {
      return Refusal(
          fmt::format("its parameter \"{}\" is computed when the model runs", n.input(k + 1)));
    }
    values[k] = edit->read(*message);
    if (values[k].empty() || values[k].size() != values[0].size())
      return Refusal("its parameters have different sizes");
  }
  BatchNorm norm{.node = node, .gamma = values[0], .beta = values[1], .mean = values[2]};
  const double epsilon = graph::float_attribute(n, "epsilon", kDefaultEpsilon);
  for (std::size_t c = 0; c < norm.channels(); ++c) {
    norm.scale.push_back(norm.gamma[c] / std::sqrt(values[3][c] + epsilon));
    if (!std::isfinite(norm.scale[c]))
      return Refusal(fmt::format("the deviation of channel {} is zero or no number", c));
  }
  return norm;
}

/// A batch norm to be folded into a layer.
struct Match {
  int layer = -1;
  int norm = -1;
  bool forward = false;
};

std::vector<float> to_floats(const std::vector<double>& values) {
  std::vector<float> floats;
  for (const double v : values) floats.push_back(static_cast<float>(v));
  return floats;
}

class Folding {
 public:
  explicit Folding(const Model& model) : edit_(model) {}

  FoldBatchNormsResult run() {
    std::vector<int> norms;
    std::map<int, std::string> why;
    std::vector<Match> matches;
    for (int i = 0; i < edit_.num_nodes(); ++i) {
      if (!edit_.is(i, "BatchNormalization")) continue;
      norms.push_back(i);
      const Refusal behind = match_behind_layer(i, &matches);
      if (!behind.empty()) why[i] = behind;
    }
    // Matches were found in the model as it came; a layer may have one on each side.
    for (const int norm : norms) {
      if (why.count(norm) == 0) continue;
      const Refusal before = match_before_layer(norm, &matches);
      if (before.empty()) {
        why.erase(norm);
      } else {
        why[norm] += "; " + before;
      }
    }
    std::vector<FoldedBatchNorm> folded;
    for (const Match& match : matches) folded.push_back(fold(match));
    std::vector<KeptBatchNorm> kept;
    for (const auto& [norm, reason] : why) {
      kept.push_back({edit_.label(norm), reason});
      absorb_statistics(norm);
    }
    for (std::size_t i = 0; i < folded.size(); ++i)
      folded[i].layer_output = edit_.node(matches[i].layer).output(0);
    return {edit_.finish(), std::move(folded), std::move(kept)};
  }

 private:
  /// Empty when matched.
  Refusal match_behind_layer(int norm, std::vector<Match>* matches) {
    const auto read = read_batch_norm(&edit_, norm);
    if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
    const std::string& input = edit_.node(norm).input(0);
    const int node = edit_.producer(input);
    if (!is_linear_layer(edit_, node)) return "no layer in front of it";
    const std::string name = edit_.label(node);
    if (edit_.is_output(input))
      return fmt::format("\"{}\" in front of it is a graph output", input);
    if (edit_.only_reader(input) != norm)
      return fmt::format("\"{}\" in front of it has other readers", input);
    const auto layer = read_layer(&edit_, node);
    if (const auto* refusal = std::get_if<Refusal>(&layer))
      return fmt::format("\"{}\" in front of it: {}", name, *refusal);
    const auto& l = std::get<LinearLayer>(layer);
    // As the reference: other groups of a transposed convolution stay as they are.
    if (edit_.is(node, "ConvTranspose") && l.group != 1 && l.group != l.in_channels)
      return fmt::format("\"{}\" in front of it is a grouped ConvTranspose", name);
    if (edit_.is(node, "MatMul") && edit_.rank(edit_.node(node).input(0)) != 2)
      return fmt::format("\"{}\" in front of it is not known to give a matrix", name);
    if (static_cast<std::size_t>(l.out_channels) != std::get<BatchNorm>(read).channels())
      return fmt::format("\"{}\" in front of it has another number of channels", name);
    matches->push_back({.layer = node, .norm = norm});
    return {};
  }

  Refusal match_before_layer(int norm, std::vector<Match>* matches) {
    const auto read = read_batch_norm(&edit_, norm);
    if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
    const std::string output = edit_.node(norm).output(0);
    int node = edit_.only_reader(output);
    int reshape = -1;
    if (edit_.is(node, "Flatten") || edit_.is(node, "Reshape")) {
      reshape = node;
      node = edit_.only_reader(edit_.node(reshape).output(0));
    }
    if (!is_linear_layer(edit_, node)) return "no layer that alone reads it";
    const std::string name = edit_.label(node);
    const auto refuse = [&](std::string_view what) {
      return fmt::format("\"{}\" behind it {}", name, what);
    };
    const std::string fed = reshape >= 0 ? edit_.node(reshape).output(0) : output;
    if (edit_.node(node).input(0) != fed) return refuse("reads it as a parameter");
    if (edit_.is(node, "ConvTranspose")) return refuse("is a ConvTranspose");
    const auto layer = read_layer(&edit_, node);
    if (const auto* refusal = std::get_if<Refusal>(&layer))
      return refuse("cannot be changed: " + *refusal);
    const auto& l = std::get<LinearLayer>(layer);
    const auto channels = static_cast<std::int64_t>(std::get<BatchNorm>(read).channels());
    if (edit_.is(node, "Conv")) {
      if (reshape >= 0) return refuse("reads it reshaped");
      if (l.group != 1) return refuse("has groups");
      if (has_padding(edit_.node(node))) return refuse("pads its input");
    }
    if (edit_.is(node, "Gemm") && graph::int_attribute(edit_.node(node), "transA", 0) != 0)
      return refuse("transposes it");
    if (edit_.is(node, "MatMul") && edit_.rank(fed) != 2)
      return refuse("is not known to read a matrix");
    if (reshape >= 0) {
      if (l.in_channels % channels != 0 || !keeps_samples_apart(reshape, l.in_channels))
        return refuse("reads it in a shape that is not known to keep its channels in order");
    } else if (l.in_channels != channels) {
      return refuse("has another number of channels");
    }
    matches->push_back({.layer = node, .norm = norm, .forward = true});
    return {};
  }

  static bool has_padding(const onnx::NodeProto& conv) {
    if (const auto* a = graph::find_attribute(conv, "auto_pad")) {
      if (a->s() == "SAME_UPPER" || a->s() == "SAME_LOWER") return true;
    }
    const auto* pads = graph::find_attribute(conv, "pads");
    if (pads == nullptr) return false;
    for (const std::int64_t p : pads->ints()) {
      if (p != 0) return true;
    }
    return false;
  }

  /// True when each row behind the reshape is one sample of `features` values.
  bool keeps_samples_apart(int reshape, std::int64_t features) {
    const onnx::NodeProto& n = edit_.node(reshape);
    if (edit_.is(reshape, "Flatten")) return graph::int_attribute(n, "axis", 1) == 1;
    if (n.input_size() < 2 || graph::int_attribute(n, "allowzero", 0) != 0) return false;
    const onnx::TensorProto* target = edit_.static_message(n.input(1));
    if (target == nullptr) return false;
    const std::vector<std::int64_t> shape = edit_.read_integers(*target);
    if (shape.size() != 2) return false;
    if (shape[0] == 0) return true;
    const onnx::TypeProto::Tensor* before = edit_.declared(n.input(0));
    const onnx::TypeProto::Tensor* type = before != nullptr && before->has_shape()
                                              ? before
                                              : edit_.declared(norm_input_of(n.input(0)));
    if (type == nullptr || !type->has_shape() || type->shape().dim_size() < 2) return false;
    std::int64_t product = 1;
    for (int d = 1; d < type->shape().dim_size(); ++d) {
      if (!type->shape().dim(d).has_dim_value()) return false;
      product *= type->shape().dim(d).dim_value();
    }
    return product == features;
  }

  std::string norm_input_of(const std::string& output) const {
    const int norm = edit_.producer(output);
    return norm >= 0 ? edit_.node(norm).input(0) : std::string();
  }

  FoldedBatchNorm fold(const Match& match) {
    // Both can be read: they could when the match was found, and folding does not take that away.
    const auto norm = std::get<BatchNorm>(read_batch_norm(&edit_, match.norm));
    auto layer = std::get<LinearLayer>(read_layer(&edit_, match.layer));
    FoldedBatchNorm record{.layer = edit_.label(match.layer),
                           .layer_output = {},
                           .batch_norm = edit_.label(match.norm),
                           .forward = match.forward,
                           .gamma = to_floats(norm.gamma),
                           .beta = to_floats(norm.beta)};
    std::vector<double>& bias = layer.bias_values();
    if (match.forward) {
      const std::size_t repeat = static_cast<std::size_t>(layer.in_channels) / norm.channels();
      layer.for_each_weight([&](std::size_t out, std::size_t in, double& w) {
        const std::size_t c = in / repeat;
        bias[out] += w * (norm.beta[c] - norm.mean[c] * norm.scale[c]);
        w *= norm.scale[c];
      });
      const std::string input = edit_.node(match.norm).input(0);
      const int reader = edit_.only_reader(edit_.node(match.norm).output(0));
      write_layer(&edit_, std::move(layer));
      edit_.remove_node(match.norm);
      edit_.set_input(reader, 0, input);
    } else {
      layer.for_each_weight([&](std::size_t out, std::size_t, double& w) { w *= norm.scale[out]; });
      for (std::size_t c = 0; c < bias.size(); ++c)
        bias[c] = norm.beta[c] - (norm.mean[c] - bias[c]) * norm.scale[c];
      write_layer(&edit_, std::move(layer));
      edit_.remove_node(match.norm);
      edit_.redirect(edit_.node(match.norm).output(0), match.layer);
    }
    return record;
  }

  /// Leaves a scale and an offset only, so that their quantized forms are all there is.
  void absorb_statistics(int node) {
    const auto read = read_batch_norm(&edit_, node);
    if (std::holds_alternative<Refusal>(read)) return;
    const auto& norm = std::get<BatchNorm>(read);
    const std::vector<double> zeros(norm.channels(), 0.0);
    const std::vector<double> ones(norm.channels(), 1.0);
    std::vector<double> offset = norm.beta;
    for (std::size_t c = 0; c < offset.size(); ++c) offset[c] -= norm.mean[c] * norm.scale[c];
    const std::vector<double>* values[] = {&norm.scale, &offset, &zeros, &ones};
    const Shape shape = {static_cast<std::int64_t>(norm.channels())};
    for (int k = 0; k < 4; ++k) {
      const std::string tensor = edit_.node(node).input(k + 1);
      onnx::TensorProto* message = edit_.static_message(tensor);
      if (edit_.only_reader(tensor) == node) {
        edit_.write(message, shape, *values[k]);
      } else {
        edit_.set_input(node, k + 1,
                        edit_.add_initializer(tensor + "_of_" + edit_.label(node),
                                              message->data_type(), shape, *values[k]));
      }
    }
    graph::set_float(edit_.mutable_node(node), "epsilon", 0.0F);
  }

  ModelEdit edit_;
};

}  // namespace

FoldBatchNormsResult fold_batch_norms(const Model& model) { return Folding(model).run(); }

}  // namespace bitsweep
