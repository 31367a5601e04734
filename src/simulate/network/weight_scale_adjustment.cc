#include "simulate/network/weight_scale_adjustment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "graph/placement/op_types.h"
#include "simulate/network/network.h"

namespace bitsweep::simulate {
namespace {

using graph::TensorId;

// Integer kernels keep bias and accumulator in 32 bits; the margin of 2^15 is that of the
// reference.
constexpr double kInt32Limit = 2147483648.0 - 32768.0;
// Requantization multiplies by input scale * weight scale / output scale, which must not vanish.
const double kSmallestMultiplier = std::exp2(-23.5);
constexpr float kSmallestNormalHalf = 6.103515625e-05F;
// No integer kernel multiplies wider inputs into 32 bits: their steps are so small that a weight
// whose scale fits the bias would be rounded to zero.
constexpr int kWidestKernelInput = 16;

class Adjuster {
 public:
  explicit Adjuster(Network& network) : network_(network) {
    const auto& sites = network.placement().sites;
    for (int s = 0; s < static_cast<int>(sites.size()); ++s)
      site_of_.emplace(sites[static_cast<std::size_t>(s)].tensor, s);
  }

  void adjust(const graph::Operator& op) {
    if (!graph::multiplies_by_weight(op.type) || op.inputs.empty()) return;
    const TensorId weight = parameter(op, "weight");
    Quantizer* w = ready_integer(weight);
    const Quantizer* x = effective_input(op.inputs.front());
    if (w == nullptr || x == nullptr || w->granularity().blockwise() || w->frozen()) return;

    Encoding encoding = *w->encoding();
    const bool integer_kernel = x->bitwidth() <= kWidestKernelInput;
    const auto sx = static_cast<float>(x->encoding()->cells.front().delta);
    const std::vector<std::vector<double>> bias = bias_per_scale(op, encoding.cells.size());
    const Quantizer* y = op.outputs.empty() ? nullptr : ready_integer(op.outputs.front());
    // The scale of a bias, written as a half, must not vanish.
    const TensorId bias_tensor = bias_of(op);
    const bool half_bias = bias_tensor != graph::kAbsent &&
                           network_.graph().tensor(bias_tensor).type == DataType::kFloat16;
    bool widened = false;
    for (std::size_t c = 0; c < encoding.cells.size(); ++c) {
      auto sw = static_cast<float>(encoding.cells[c].delta);
      if (integer_kernel) {
        for (const double b : bias[c]) sw = hold(sw, b, sx);
      }
      if (integer_kernel && y != nullptr) {
        const auto sy = static_cast<float>(y->encoding()->cells.front().delta);
        sw = std::max(sw, static_cast<float>(kSmallestMultiplier * sy / sx));
        const double step = static_cast<double>(sx) * sw;
        const double offset = std::nearbyint(y->encoding()->cells.front().offset * sy / step);
        for (const double b : bias[c])
          sw = hold(sw, (std::nearbyint(b / step) + offset) * step, sx);
      }
      if (half_bias && sx >= kSmallestNormalHalf && sx * sw < kSmallestNormalHalf) {
        sw =
            static_cast<float>(std::max<double>(sw, static_cast<double>(kSmallestNormalHalf) / sx));
      }
      AffineEncoding& cell = encoding.cells[c];
      widened = widened || sw > static_cast<float>(cell.delta);
      const auto offset = static_cast<float>(cell.offset);
      const float steps = std::exp2(static_cast<float>(w->bitwidth())) -
                          (w->symmetric() && w->strict_symmetric() ? 2.0F : 1.0F);
      cell.delta = sw;
      cell.min = sw * offset;
      cell.max = (steps + offset) * sw;
    }
    w->load_encoding(encoding);
    if (widened) {
      const int site = site_of_.at(weight);
      network_.set_note(
          site, network_.reason(site) +
                    "; its scale is wider than the values need, so that the bias of \"" + op.name +
                    "\" fits 32 bits");
    }
  }

 private:
  // The smallest scale >= sw whose 32-bit bias holds `value`.
  static float hold(float sw, double value, float sx) {
    return static_cast<float>(std::max<double>(sw, std::abs(value) / (kInt32Limit * sx)));
  }

  static TensorId bias_of(const graph::Operator& op) {
    const TensorId own = parameter(op, "bias");
    return own != graph::kAbsent ? own : op.added_bias;
  }

  static TensorId parameter(const graph::Operator& op, std::string_view kind) {
    for (const auto& [tensor, k] : op.parameters) {
      if (k == kind) return tensor;
    }
    return graph::kAbsent;
  }

  // The enabled, calibrated integer quantizer right on a tensor.
  Quantizer* ready_integer(TensorId t) const {
    const auto it = site_of_.find(t);
    if (t == graph::kAbsent || it == site_of_.end()) return nullptr;
    Quantizer* q = network_.quantizer(it->second).get();
    return q->enabled() && q->format().is_integer() && q->encoding() ? q : nullptr;
  }

  // The quantizer that decides a tensor's grid: its own, or the closest upstream through data
  // movement and casts.
  const Quantizer* effective_input(TensorId t) const {
    while (t != graph::kAbsent) {
      const auto it = site_of_.find(t);
      if (it != site_of_.end() && network_.quantizer(it->second)->enabled())
        return ready_integer(t);
      const int producer = network_.graph().tensor(t).producer;
      if (producer < 0 ||
          !graph::passes_values_through(network_.graph(), network_.graph().node(producer)))
        return nullptr;
      t = network_.graph().node(producer).inputs.front();
    }
    return nullptr;
  }

  // The bias values that each weight scale must hold: all of them for one scale; a zero without a
  // bias.
  std::vector<std::vector<double>> bias_per_scale(const graph::Operator& op,
                                                  std::size_t num_scales) const {
    std::vector<std::vector<double>> result(num_scales, {0.0});
    const TensorId id = bias_of(op);
    if (id == graph::kAbsent) return result;
    const Tensor bias = network_.graph().static_value(id).to_float();
    const std::span<const float> values = bias.floats();
    // One value per channel, or rows of them (C of Gemm); what is broadcast reaches every channel.
    const bool by_channel =
        !bias.shape().empty() && bias.shape().back() == static_cast<std::int64_t>(num_scales);
    for (std::size_t c = 0; c < num_scales; ++c) {
      result[c].clear();
      for (std::size_t i = by_channel ? c : 0; i < values.size(); i += by_channel ? num_scales : 1)
        result[c].push_back(values[i]);
    }
    return result;
  }

  Network& network_;
  std::map<TensorId, int> site_of_;
};

}  // namespace

void adjust_weight_scales(Network& network) {
  Adjuster adjuster(network);
  for (const graph::Operator& op : network.placement().operators) adjuster.adjust(op);
}

}  // namespace bitsweep::simulate
