#include "allocate/weight_grids.h"

#include "bitsweep/error.h"
#include "bitsweep/mix.h"
#include "quant/grid_layout.h"

namespace bitsweep::allocate {
namespace {

using Kind = WeightGranularity::Kind;

constexpr double kScaleBits = 32.0;  // a float32

bool has_axes(const Quantizer& weight, const WeightGranularity& granularity) {
  if (granularity.kind == Kind::kPerTensor) return true;
  const bool has_channels = weight.possible_channel_axis() >= 0;
  return granularity.kind == Kind::kPerChannel ? has_channels
                                               : has_channels && weight.possible_block_axis() >= 0;
}

std::int64_t input_channels(const Quantizer& weight) {
  return weight.tensor_shape().at(static_cast<std::size_t>(weight.possible_block_axis()));
}

bool divides(const Quantizer& weight, const WeightGranularity& granularity) {
  return granularity.kind != Kind::kBlock || input_channels(weight) % granularity.block_size == 0;
}

}  // namespace

Granularity granularity_of(const WeightGranularity& granularity, const Quantizer& weight,
                           const Granularity& present) {
  if (!has_axes(weight, granularity) || !divides(weight, granularity)) return present;
  if (granularity.kind == Kind::kPerTensor) return {};
  Granularity result{.channel_axis = weight.possible_channel_axis()};
  if (granularity.kind == Kind::kBlock) {
    result.block_axis = weight.possible_block_axis();
    result.block_size = granularity.block_size;
  }
  return result;
}

std::optional<std::string> misfit(const Simulation& simulation, const QuantizerGroup& group,
                                  const WeightGranularity& granularity) {
  if (group.parameters.empty()) return std::nullopt;
  bool is_taken = false;
  for (const std::string& name : group.parameters) {
    const Quantizer& weight = *simulation.quantizer(name);
    if (!has_axes(weight, granularity)) continue;
    is_taken = true;
    if (!divides(weight, granularity)) {
      return "\"" + name + "\" has " + std::to_string(input_channels(weight)) + " input channels";
    }
  }
  if (is_taken) return std::nullopt;
  return "\"" + group.parameters.front() + "\" has no axis for it";
}

double scale_bits(const Quantizer& weight, const Format& format, const Granularity& granularity) {
  if (!format.needs_encoding()) return 0.0;
  const auto cells =
      static_cast<double>(num_elements(grid_shape(granularity, weight.tensor_shape())));
  const double zero_point = weight.symmetric() || !format.is_integer() ? 0.0 : format.bitwidth;
  if (!granularity.blockwise() || !weight.lpbq()) return cells * (kScaleBits + zero_point);
  // Small integers for the blocks, a scale for each channel.
  const auto channels = static_cast<double>(
      weight.tensor_shape().at(static_cast<std::size_t>(granularity.channel_axis)));
  return cells * (weight.lpbq()->scale_bits + zero_point) + channels * kScaleBits;
}

}  // namespace bitsweep::allocate

namespace bitsweep {

std::vector<std::string> set_weight_granularity(Simulation& simulation,
                                                const WeightGranularity& granularity) {
  std::vector<std::string> fitting;
  std::vector<std::string> odd;
  for (const std::string& name : simulation.parameter_names()) {
    const Quantizer& weight = *simulation.quantizer(name);
    if (!weight.enabled() || !allocate::has_axes(weight, granularity)) continue;
    (allocate::divides(weight, granularity) ? fitting : odd).push_back(name);
  }
  if (fitting.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "types",
                "no weight of the model can be quantized " + weight_granularity_text(granularity),
                odd.empty() ? "choose another granularity"
                            : "choose a block size that divides the input channels of some");
  }
  for (const std::string& name : fitting) {
    Quantizer& weight = *simulation.quantizer(name);
    weight.set_granularity(allocate::granularity_of(granularity, weight, weight.granularity()));
  }
  return odd;
}

}  // namespace bitsweep
