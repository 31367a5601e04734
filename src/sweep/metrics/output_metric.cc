#include "sweep/metrics/output_metric.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "bitsweep/error.h"
#include "sweep/metrics/sums.h"

namespace bitsweep::scoring {
namespace {

// Columns in front of the metric's own sums.
constexpr std::size_t kSamples = 0;
constexpr std::size_t kBad = 1;
constexpr std::size_t kHeader = 2;

struct PreparedOutputs final : MetricReference {
  std::string metric;
  std::size_t num_outputs = 0;
  std::vector<OutputReference> outputs;
};

bool is_float(DataType type) { return is_quantizable_type(type) || type == DataType::kDouble; }

std::string output_text(int index) { return "output " + std::to_string(index); }

template <class Integer>
std::vector<std::int64_t> widened(const Tensor& tensor) {
  const auto* values = static_cast<const Integer*>(tensor.data());
  return {values, values + tensor.size()};
}

std::vector<std::int64_t> integers_of(const Tensor& labels, const std::string& metric) {
  switch (labels.type()) {
    case DataType::kInt64:
      return widened<std::int64_t>(labels);
    case DataType::kInt32:
      return widened<std::int32_t>(labels);
    case DataType::kInt16:
      return widened<std::int16_t>(labels);
    case DataType::kUint16:
      return widened<std::uint16_t>(labels);
    case DataType::kInt8:
      return widened<std::int8_t>(labels);
    case DataType::kUint8:
      return widened<std::uint8_t>(labels);
    default:
      throw Error(ErrorCode::kInvalidData, metric,
                  "the labels are " + std::string(data_type_name(labels.type())) + ", not integers",
                  "give the index of the right class of each row as int64");
  }
}

}  // namespace

std::unique_ptr<MetricAccumulator> OutputMetric::fresh() const {
  return make_metric(name_, options_);
}

std::vector<int> OutputMetric::default_outputs(std::span<const Tensor> reference) const {
  std::vector<int> chosen;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (is_float(reference[i].type())) chosen.push_back(static_cast<int>(i));
  }
  return chosen;
}

std::vector<int> OutputMetric::first_float_output(std::span<const Tensor> reference) const {
  std::vector<int> chosen = OutputMetric::default_outputs(reference);
  if (chosen.size() > 1) chosen.erase(chosen.begin() + 1, chosen.end());
  return chosen;
}

std::shared_ptr<const MetricReference> OutputMetric::prepare(std::span<const Tensor> reference,
                                                             const Tensor& labels) const {
  const std::vector<int> chosen =
      options_.outputs.empty() ? default_outputs(reference) : options_.outputs;
  if (chosen.empty()) {
    throw Error(
        ErrorCode::kInvalidArgument, name_, "the model has no floating-point output to compare",
        "use a metric of your own, or a model whose outputs are float32, float16 or bfloat16");
  }
  auto prepared = std::make_shared<PreparedOutputs>();
  prepared->metric = name_;
  prepared->num_outputs = reference.size();
  for (const int index : chosen) {
    if (static_cast<std::size_t>(index) >= reference.size()) {
      throw Error(ErrorCode::kInvalidArgument, name_,
                  "there is no " + output_text(index) + ", the model has " +
                      std::to_string(reference.size()),
                  "count the outputs from 0");
    }
    const Tensor& tensor = reference[static_cast<std::size_t>(index)];
    if (!is_float(tensor.type())) {
      throw Error(ErrorCode::kInvalidArgument, name_,
                  output_text(index) + " is " + std::string(data_type_name(tensor.type())) +
                      ", not floating point",
                  "choose another output");
    }
    OutputReference output;
    output.index = index;
    output.shape = tensor.shape();
    output.tensor = tensor.to_float();
    output.columns = tensor.shape().empty() ? 1 : static_cast<std::size_t>(tensor.shape().back());
    output.rows =
        output.columns == 0 ? 0 : static_cast<std::size_t>(tensor.size()) / output.columns;
    if (labels.defined()) output.labels = integers_of(labels, name_);
    if (tensor.size() > 0) describe(output);
    prepared->outputs.push_back(std::move(output));
  }
  return prepared;
}

void OutputMetric::add(const MetricReference& reference, std::span<const Tensor> simulated) {
  const auto* prepared = dynamic_cast<const PreparedOutputs*>(&reference);
  if (prepared == nullptr || prepared->metric != name_) {
    throw Error(ErrorCode::kInvalidArgument, name_, "the reference was prepared for another metric",
                "call prepare() of this accumulator");
  }
  if (prepared->num_outputs != simulated.size()) {
    throw Error(ErrorCode::kInvalidData, name_,
                "the float model has " + std::to_string(prepared->num_outputs) +
                    " outputs and the simulated one " + std::to_string(simulated.size()),
                "compare runs of the same model");
  }
  const std::size_t width = kHeader + num_sums_;
  std::vector<double> sample(prepared->outputs.size() * width, 0.0);
  for (std::size_t i = 0; i < prepared->outputs.size(); ++i) {
    const OutputReference& output = prepared->outputs[i];
    const Tensor& other = simulated[static_cast<std::size_t>(output.index)];
    if (other.shape().size() != output.shape.size() || !is_float(other.type())) {
      throw Error(ErrorCode::kInvalidData, name_,
                  output_text(output.index) + " is " + shape_text(output.shape) +
                      " in the float model and " + std::string(data_type_name(other.type())) + " " +
                      shape_text(other.shape()) + " in the simulated one",
                  "compare runs of the same model");
    }
    const std::span<double> sums(sample.data() + i * width, width);
    if (other.shape() != output.shape) {
      sums[kSamples] = 1.0;
      sums[kBad] = 1.0;
      continue;
    }
    if (num_elements(output.shape) == 0) continue;
    const Tensor values = other.to_float();
    sums[kSamples] = 1.0;
    if (!measure(output, values.floats(), sums.subspan(kHeader))) {
      std::fill(sums.begin() + kHeader, sums.end(), 0.0);
      sums[kBad] = 1.0;
    }
  }
  merge(sample);
}

void OutputMetric::merge(std::span<const double> state) {
  const std::size_t width = kHeader + num_sums_;
  if (state.empty()) return;
  if (state.size() % width != 0 || (!state_.empty() && state.size() != state_.size())) {
    throw Error(ErrorCode::kInvalidArgument, name_,
                "the partial result belongs to another metric or to other outputs",
                "join results of one metric with the same options");
  }
  if (state_.empty()) {
    state_.assign(state.begin(), state.end());
    return;
  }
  for (std::size_t at = 0; at < state.size(); at += width) {
    const std::span<double> into(state_.data() + at, width);
    const std::span<const double> from = state.subspan(at, width);
    // A side without measured samples has no sums to join (its minima and maxima are not set).
    const bool has_into = into[kSamples] > into[kBad];
    const bool has_from = from[kSamples] > from[kBad];
    if (has_into && has_from) {
      join(into.subspan(kHeader), from.subspan(kHeader));
    } else if (has_from) {
      std::copy(from.begin() + kHeader, from.end(), into.begin() + kHeader);
    }
    into[kSamples] += from[kSamples];
    into[kBad] += from[kBad];
  }
}

void OutputMetric::join(std::span<double> into, std::span<const double> from) const {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
}

std::vector<double> OutputMetric::output_scores() const {
  if (state_.empty()) {
    throw Error(ErrorCode::kNotReady, name_, "there are no samples to score",
                "add at least one sample");
  }
  std::vector<double> scores;
  for (std::size_t at = 0; at < state_.size(); at += kHeader + num_sums_) {
    const std::span<const double> sums(state_.data() + at, kHeader + num_sums_);
    if (sums[kSamples] == 0.0) {
      scores.push_back(std::numeric_limits<double>::quiet_NaN());
    } else {
      scores.push_back(sums[kBad] > 0.0 ? worst_score() : score_of(sums.subspan(kHeader)));
    }
  }
  return scores;
}

double OutputMetric::score() const {
  const bool higher = find_metric(name_).better == Better::kHigher;
  std::optional<double> worst;
  double sum = 0.0;
  double count = 0.0;
  for (const double score : output_scores()) {
    if (std::isnan(score)) continue;
    if (!worst || (higher ? score < *worst : score > *worst)) worst = score;
    sum += score;
    count += 1.0;
  }
  if (!worst) {
    throw Error(ErrorCode::kNotReady, name_, "the compared outputs hold no values in any sample",
                "use samples for which the model finds something");
  }
  return options_.reduction == OutputReduction::kMean ? sum / count : *worst;
}

void OutputMetric::require_finite(const OutputReference& output,
                                  std::span<const float> values) const {
  if (all_finite(values)) return;
  throw Error(ErrorCode::kInvalidData, name_,
              output_text(output.index) + " of the float model holds NaN or infinite values",
              "check the sample, or compare other outputs");
}

}  // namespace bitsweep::scoring
