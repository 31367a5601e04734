#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bitsweep/metric.h"

namespace bitsweep::scoring {

/// One float output of one sample, as rows of the last axis, with what the metric derived from it.
struct OutputReference {
  int index = 0;
  Shape shape;
  Tensor tensor;  ///< float32; describe() may keep less of it
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> facts;
  std::vector<std::uint32_t> picks;  ///< flat indices into `tensor`
  std::vector<std::int64_t> labels;  ///< one per row; empty without labels

  std::span<const float> values() const { return tensor.floats(); }
};

/// Base of the built-in metrics: chooses outputs, keeps a few sums for each, and reports the worst
/// output.
///
/// A metric says what it derives from the float output (describe), which sums one sample adds
/// (measure), and what score the sums stand for (score_of).
class OutputMetric : public MetricAccumulator {
 public:
  OutputMetric(std::string name, std::size_t num_sums, const MetricOptions& options)
      : name_(std::move(name)), num_sums_(num_sums), options_(options) {}

  std::unique_ptr<MetricAccumulator> fresh() const final;
  using MetricAccumulator::prepare;
  std::shared_ptr<const MetricReference> prepare(std::span<const Tensor> reference,
                                                 const Tensor& labels) const final;
  using MetricAccumulator::add;
  using MetricAccumulator::merge;
  void add(const MetricReference& reference, std::span<const Tensor> simulated) final;
  std::vector<double> state() const final { return state_; }
  void merge(std::span<const double> state) final;
  double score() const final;
  std::vector<double> output_scores() const final;

 protected:
  const std::string& name() const { return name_; }
  const MetricOptions& options() const { return options_; }

  /// Outputs to compare when the options name none.
  virtual std::vector<int> default_outputs(std::span<const Tensor> reference) const;
  /// Derives facts and picks; the default refuses non-finite values.
  virtual void describe(OutputReference& output) const { require_finite(output, output.values()); }
  /// Writes the sums of one sample. Returns false when the simulated values are not finite where
  /// they must be.
  virtual bool measure(const OutputReference& reference, std::span<const float> simulated,
                       std::span<double> sums) const = 0;
  /// Joins the sums of two sets of samples; the default adds them.
  virtual void join(std::span<double> into, std::span<const double> from) const;
  virtual double score_of(std::span<const double> sums) const = 0;
  /// Score when a simulated value was not finite.
  virtual double worst_score() const = 0;

  /// The first of the default outputs: for metrics that look at one.
  std::vector<int> first_float_output(std::span<const Tensor> reference) const;

  /// @throws Error(kInvalidData) that names the output.
  void require_finite(const OutputReference& output, std::span<const float> values) const;

 private:
  std::string name_;
  std::size_t num_sums_;
  MetricOptions options_;
  std::vector<double> state_;  ///< for each output: samples with elements, samples with bad values,
                               ///< the metric's sums
};

/// Worst score of metrics without an upper bound: finite, so that every JSON reader takes it.
inline constexpr double kWorstError = 3.4028234663852886e38;  // largest float32

}  // namespace bitsweep::scoring
